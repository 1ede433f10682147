"""Errors for command lines that cannot be parsed, with a suggested line."""

from __future__ import annotations

import os
from itertools import pairwise

from gathercli.cli import hints
from gathercli.cli.declarations import HELP, VERSION, Parameter
from gathercli.cli.parser import CommandLine, Problem, WordsError, looks_negative, parse
from gathercli.cli.registry import COMMANDS, OF_MODELS, command_of
from gathercli.errors import UsageError
from gathercli.io.formats.table import BY_SUFFIX
from gathercli.ops import FAMILIES
from gathercli.records import Callable, Final, Sequence
from gathercli.slices import given
from gathercli.text import closest, counted, is_integer, listed, short

_PROGRAM: Final = "`gathercli --version` prints the program's version"


def refusal(line: CommandLine, error: WordsError) -> UsageError:
    """Return the error for words that the declarations refuse; an unknown operator comes first."""
    for word in line.words if line.metavars[:1] == ["OP"] else ():
        if word.option is None:
            from gathercli.frameworks.versions import family_of

            family_of(word.text)
            break
        if not word.is_value and word.param is None:
            break  # the next word may be its value
    usage = _REFUSALS[error.problem](line, error)
    if usage.advice is None and error.problem not in (
        Problem.ONE_DASH,
        Problem.EQUALS_SIGN,
        Problem.TWICE,
    ):
        what = "options" if line.command else "commands"
        model = ["model.onnx"] if line.is_of_models else []
        command = " ".join(["gathercli", *filter(None, [line.command]), *model])
        usage.hint = f"`{command} --help` lists the {what}"
    return usage


def program_refusal(words: Sequence[str]) -> UsageError | None:
    """Return the error for words that begin with no command; None if they ask for help."""
    first, line = words[0], CommandLine.read("", (VERSION, HELP), words)
    if first == "-" or not first.startswith("-"):
        return _no_command(first)
    if looks_negative(first):
        return refusal(line, WordsError(Problem.NO_OPTION, first[:2]))
    try:
        if parse({"version": VERSION}, words[:1]) is None:
            return None
    except WordsError as error:
        return refusal(line, error)
    what = f"stands alone, but `{words[1]}` follows it"
    hint = "a version of an operator comes after its command, as in `gather … -V onnx-13`"
    return UsageError(what, subject="--version", value=words[1], expected="nothing", hint=hint)


def _no_command(name: str) -> UsageError:
    from gathercli.cli.generated import TOPICS
    from gathercli.frameworks.equivalents import not_here
    from gathercli.frameworks.unknown import foreign_name_error

    page = f"`gathercli man {name}` is a page"
    hint = page if name in TOPICS else "`gathercli --help` lists the commands"
    word, known = name.lower().replace("_", "-"), [*COMMANDS, "help", "version"]
    near = closest(word, known, cutoff=0.85) if name.isidentifier() and not not_here(name) else None
    # Reading the calls of all frameworks takes as long as an empty Python.
    if not near and (usage := foreign_name_error(name, "no command")):
        usage.hint = usage.advice or hint
        return usage
    near = near or closest(word, known)
    instead = ("--version" if near == "version" else near,) if near else ()
    return UsageError(f"no command `{short(name)}`", value=name, hint=hint, instead=instead)


def _equals_sign(line: CommandLine, error: WordsError) -> UsageError:
    name, _, value = error.subject.partition("=")
    what = f"`{short(error.subject)}` has an equals sign"
    expected = f"`{short(f'{name} {value}')}`"
    hint = hints.did_you_mean(_translation(line))
    return UsageError(what, value=error.subject, expected=expected, hint=hint)


def _one_dash(line: CommandLine, error: WordsError) -> UsageError:
    name = error.subject.partition("=")[0]
    what = f"`{name}` has one dash"
    hint = hints.did_you_mean(line.replace(error.at, "-" + error.subject))
    return UsageError(what, value=name, expected=f"`-{name}`", hint=hint)


def _twice(_: CommandLine, error: WordsError) -> UsageError:
    name = error.subject.names[0]
    return UsageError(f"`{name}` is given twice", value=name, expected="it once")


def _no_option(line: CommandLine, error: WordsError) -> UsageError:
    option = error.subject
    suggest = _option_hint if line.command else _program_hint
    what = f"{line.command or 'gathercli'} has no option `{short(option)}`"
    hint = _other_form(line, option) or suggest(line, option, error.at)
    return UsageError(what, value=option, hint=hint)


def _other_form(line: CommandLine, option: str) -> str | None:
    """Say that an option is one of a command's other form: that for models, or for a call."""
    if line.command not in OF_MODELS:
        return None
    other = CommandLine.of(command_of(line.command, models=not line.is_of_models), ())
    form = " ".join(other.metavars)
    is_option = other.param(option) is not None
    return f"`{option}` is an option of `gathercli {line.command} {form}`" if is_option else None


def _option_hint(line: CommandLine, option: str, at: int) -> str | None:
    if inputs_hint := hints.inputs_as_arguments(line, option):
        return inputs_hint
    similar = hints.similar_option(line, option)
    param = line.param(similar) if similar else None
    is_word, following = line.words[at].text == option, line.words[at + 1 : at + 2]
    is_full = len(line.arguments) > line.required
    lacks_value = is_word and not (following and following[0].option is None and is_full)
    if similar and param and param.count and ":" not in option and lacks_value:
        return _version_hint(param, similar)
    if option == "--job" and is_word and following and "explain" in COMMANDS:
        return hints.did_you_mean(["explain", "--job", following[0].text])
    if similar and len(line.arguments) < line.required:
        return f"did you mean `{similar}`?"
    return hints.did_you_mean(_translation(line))


def _translation(line: CommandLine) -> list[str]:
    """Return the command and the translated words; an empty list if it lacks an option."""
    translation = hints.translate(line)
    return [line.command, *translation.texts] if translation else []


def _program_hint(line: CommandLine, option: str, _: int) -> str | None:
    """Suggest a line for an unknown option before the command, or without one."""
    texts = line.texts
    at = next((n for n, text in enumerate(texts) if text in COMMANDS), None)
    if at is not None:
        return hints.did_you_mean([*texts[at:], *texts[:at]])
    if option in ("-v", "-V"):
        return _PROGRAM
    similar = hints.similar_option(line, option)
    return hints.did_you_mean([similar]) if similar else None


def _no_value(line: CommandLine, error: WordsError) -> UsageError:
    option, param = error.subject, line.param(error.subject)
    if param.kind is bool:
        word = line.words[error.at]
        what = f"is given a value, `{word.value}`"
        hint = hints.did_you_mean(line.replace(error.at, option))
        return UsageError(what, subject=option, value=word.text, expected="none", hint=hint)
    count = sum(word.option == option and word.value is not None for word in line.words)
    has = f"{count} of {counted(param.count, 'value')}" if count else "no value"
    what = f"has {has}"
    expected = f"`{option} {param.metavar}`"
    hint = _version_hint(param, option)
    return UsageError(what, subject=option, value=option, expected=expected, hint=hint)


def _version_hint(param: Parameter, option: str) -> str | None:
    """Return how to print the program's version, for a ``--version`` without its value."""
    if "--version" in param.names:
        return f"{_PROGRAM}; `gathercli ops` lists what `{option}` takes"
    return None


def _missing(line: CommandLine, error: WordsError) -> UsageError:
    param = error.subject
    operator, inputs = line.command, line.arguments
    if operator not in FAMILIES:
        operator, inputs = "".join(inputs[:1]), inputs[1:]
    op = FAMILIES[operator].ROWS[0] if operator in FAMILIES else None
    lines = _examples(line)
    example = next((each for each in lines if op and f" {operator} " in each), None)
    hint = f"`{example or lines[0]}` is an example" if lines else ""
    if param.names:
        option = param.names[0]
        values = given("values", str(param.metavar)) or param.choices
        expected = listed(values) if values else f"`{option} {param.metavar}`"
        hint = hints.complete(line, op, inputs) or hint
        return UsageError("is missing", subject=option, expected=expected, hint=hint)
    is_last = param.metavar == "INDICES" and line.command in ("gather", "compare")
    if is_last:
        if short_line := hints.shell_line([line.command, *line.arguments, "0,", *line.options]):
            hint = f"`{short_line}` is an example"
        hint += ", and `-` reads INDICES from standard input"
    names = [name for name in line.metavars if not name.endswith("]...")]
    first = str(param.metavar).partition(" ")[0].removesuffix("...")
    if op is not None:
        if is_last and inputs == ["-"]:
            both = hints.shell_line([line.command, "-#data", "-#indices", *line.options])
            hint = f"`{both}` reads both from standard input"
        elif example is None or hints.members_of_all(op, inputs):
            hint = hints.suggest_example(line.command, op, inputs, line.options)
        if names[0] == "OP":
            names = ["OP", *(each.name.upper() for each in op.inputs)]
        first = names[line.metavars.index(str(param.metavar))]
    expected = listed(param.choices) if param.choices else listed(names, "and")
    return UsageError(f"`{first}` is missing", expected=expected, hint=hint)


def _examples(line: CommandLine) -> list[str]:
    """Return the lines that the manual has for a command."""
    from gathercli.cli.generated import examples

    topic = f"{line.command}-models" if line.is_of_models else line.command
    return [example for _, example in examples(topic)]


def _wrong_value(line: CommandLine, error: WordsError) -> UsageError:
    param = error.subject
    own = [n for n, each in enumerate(line.words) if each.option in (param.names or (None,))]
    at = own[-1 if param.names else 0]
    word = line.words[at]
    value = word.text if word.value is None else word.value
    hint = None
    if value.lower() in hints.PICTURE_FORMATS and line.param("--save"):
        others = [each.text for each in line.words if each.param is not param]
        hint = hints.did_you_mean([line.command, *others, "--save", f"picture.{value.lower()}"])
    elif param.choices and (similar := hints.translate_value(param, value)):
        hint = hints.did_you_mean(line.replace(at, word.text.removesuffix(value) + similar))
    what = f"`{word.option or param.metavar}` is `{short(value)}`"
    expected = listed(param.choices) if param.choices else _range(param)
    return UsageError(what, value=value, expected=expected, hint=hint)


def _range(param: Parameter) -> str:
    what = "an integer" if param.kind is int else "a number"
    if param.min is None:
        return what
    if param.max is None:
        return f"{what} from {param.min} on"
    return f"{what} from {param.min} to {param.max}"


def _too_many(line: CommandLine, error: WordsError) -> UsageError:
    suggest = {"compare": _only_version, "demo": _lesson_hint}.get(line.command)
    hint = hints.did_you_mean(*_with_fewer(line, len(line.metavars)))
    hint = hint or (suggest and suggest(line)) or _list_hint(line)
    what = f"`{short(error.subject)}` is one argument too many"
    expected = listed(line.metavars, "and")
    usage = UsageError(what, value=error.subject, expected=expected, hint=hint)
    usage.is_extra = True
    return usage


def _only_version(line: CommandLine) -> str | None:
    """Suggest `check` for as many inputs as only an operator of one version has."""
    count = len(line.arguments)
    for family in FAMILIES.values():
        if len(family.ROWS) == 1 and len(family.ROWS[0].inputs) == count:
            checked = hints.shell_line(["check", family.COMMAND, *line.arguments])
            what = counted(count, "input")
            return f"{family.ROWS[0]} is the only version with {what}: `{checked}`"
    return None


def _lesson_hint(line: CommandLine) -> str | None:
    """Suggest the lesson whose name has blanks on the line, or all lessons."""
    name = "-".join(line.arguments).lower()
    if any(name in param.known() for param in line.params):
        return hints.did_you_mean(["demo", name])
    return "`gathercli demo --all` shows every lesson"


def _list_hint(line: CommandLine) -> str | None:
    """Explain how to write a list, if all arguments are integers."""
    example = next(iter(_examples(line)), "")
    if "," not in example or not all(map(is_integer, line.arguments)):
        return None
    return f"a list of numbers is one word, as in `{example}`"


def _with_fewer(line: CommandLine, most: int) -> list[list[str]]:
    """Return likely lines with at most `most` arguments."""
    for at, (before, word) in enumerate(pairwise(line.words)):
        if before.is_value and before.text.lower() == "opset" and is_integer(word.text):
            return [line.replace(at, f"{before.text} {word.text}", words=2)]  # -V opset 13
        param = None if before.is_value else line.param(before.text[:2])
        is_repeated = param is not None and param.metavar == "INT" and before.text[2:].isalpha()
        if is_repeated and word.option is None:  # -aa 0
            return [line.replace(at, before.text[:2])]
    translation = hints.translate(line)
    if translation and translation != line and len(translation.arguments) <= most:
        return [_translation(line)]
    first, *others = line.arguments
    is_named = line.metavars[0] == "DATA" and first.replace("_", "-") in FAMILIES
    fewer = [others] if is_named and len(others) == most else _joined(line, most)
    return [[line.command, *words, *line.options] for words in fewer]


def _joined(line: CommandLine, most: int) -> list[list[str]]:
    """Join arguments that a shell split, so that at most `most` remain."""
    words = hints.rejoin(line.arguments)
    lists = [words] if len(words) == most else []
    if len(words) > most > 1:
        data, *after = words[most - 2 :]
        if is_integer(data):  # 0-D data have no axis
            return lists
        numbers = [word.rstrip(",") for word in after]
        if all(map(is_integer, numbers)):
            lists.append([*words[: most - 1], ",".join(numbers)])
        if len(after) == 2:
            lists += _last_as_option(line, words)
    return lists


def _last_as_option(line: CommandLine, words: Sequence[str]) -> list[list[str]]:
    """Turn one of the last two words into an option: the axis, or the output."""
    *others, middle, last = words
    axis = line.param("--axis")
    has_axis = axis is not None and not axis.hidden
    if is_integer(last):
        is_axis = has_axis and not middle.endswith(",")
        return [[*others, middle, "--axis", last]] if is_axis else []
    output = next((name for name in ("-o", "--save") if line.param(name)), None)
    suffix = os.path.splitext(last)[1]
    is_output = suffix in BY_SUFFIX if output == "-o" else suffix[1:] in hints.PICTURE_FORMATS
    if output and is_output and not os.path.lexists(last):
        return [[*others, middle, output, last]]
    # DATA, axis, INDICES: the order of other frameworks
    is_tensor = os.path.lexists(last) or not last.isidentifier()
    return [[*others, last, "-a", middle]] if has_axis and is_integer(middle) and is_tensor else []


# What words each problem.
_REFUSALS: Final[dict[Problem, Callable[[CommandLine, WordsError], UsageError]]] = {
    Problem.NO_OPTION: _no_option,
    Problem.NO_VALUE: _no_value,
    Problem.ONE_DASH: _one_dash,
    Problem.EQUALS_SIGN: _equals_sign,
    Problem.TWICE: _twice,
    Problem.WRONG_VALUE: _wrong_value,
    Problem.MISSING: _missing,
    Problem.TOO_MANY: _too_many,
}
