"""Errors for command lines that cannot be parsed, with a suggested line."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.declarations import HELP, VERSION, Option
from gathercli.cli.hints import (
    PICTURE_FORMATS,
    complete,
    did_you_mean,
    inputs_as_arguments,
    members_of_all,
    rejoin,
    shell_line,
    similar_option,
    suggest_example,
    translate,
    translate_value,
    values_of,
)
from gathercli.cli.parser import (
    EQUALS_SIGN,
    MISSING,
    NO_OPTION,
    NO_VALUE,
    ONE_DASH,
    TOO_MANY,
    TWICE,
    WRONG_VALUE,
    CommandLine,
    WordsError,
    looks_negative,
    parse,
)
from gathercli.errors import UsageError
from gathercli.io.formats.table import BY_SUFFIX
from gathercli.ops import FAMILIES
from gathercli.text import closest, counted, listed, short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.cli.declarations import Parameter
    from gathercli.cli.parser import Word

_INTEGER: Final = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_PROGRAM: Final = "`gathercli --version` prints the program's version"


def refusal(line: CommandLine, error: WordsError) -> UsageError:
    """Return the error for a line whose words the declarations refuse.

    Raise that of an unknown operator, whatever else is wrong.
    """
    if line.metavars[:1] == ["OP"] and (name := _operator(line)) is not None:
        from gathercli.ops.versions import family_of

        family_of(name)
    usage = _REFUSALS[error.problem](line, error.subject)
    if usage.advice is None and error.problem not in (ONE_DASH, EQUALS_SIGN, TWICE):
        what = "options" if line.command else "commands"
        command = f"gathercli {line.command}".rstrip()
        if "MODEL..." in line.metavars:
            command += " model.onnx"
        usage.hint = f"`{command} --help` lists the {what}"
    return usage


def program_refusal(words: Sequence[str]) -> UsageError | None:
    """Return the error for words that begin with no command; None if they ask for help."""
    first, line = words[0], CommandLine.read("", (VERSION, HELP), words)
    if first == "-" or not first.startswith("-"):
        return no_command(first)
    if looks_negative(first):
        return refusal(line, WordsError(NO_OPTION, first[:2]))
    try:
        if parse({"version": VERSION}, words[:1]) is None:
            return None
    except WordsError as error:
        return refusal(line, error)
    return UsageError(
        f"stands alone, but `{words[1]}` follows it",
        subject="--version",
        value=words[1],
        expected="nothing",
        hint="a version of an operator comes after its command, as in `gather … -V onnx-13`",
    )


def _operator(line: CommandLine) -> str | None:
    """Return the first argument; None if it may be the value of an unknown option."""
    for word in line.words:
        if word.option is None:
            return word.text
        if not word.is_value and line.param(word.option) is None:
            return None
    return None


def _equals_sign(line: CommandLine, text: str) -> UsageError:
    """Return the error for ``-a=1``, which would be the value ``=1``."""
    name, _, value = text.partition("=")
    return UsageError(
        f"`{short(text)}` has an equals sign",
        value=text,
        expected=f"`{short(f'{name} {value}')}`",
        hint=did_you_mean(_translation(line)),
    )


def _one_dash(line: CommandLine, text: str) -> UsageError:
    """Return the error for a long option with one dash."""
    name = text.partition("=")[0]
    word = next(each for each in line.words if each.text == text and not each.is_value)
    return UsageError(
        f"`{name}` has one dash",
        value=name,
        expected=f"`-{name}`",
        hint=did_you_mean(line.replace(word, "-" + text)),
    )


def _twice(line: CommandLine, option: Option) -> UsageError:
    """Return the error for a second value of an option that takes one only."""
    del line
    name = option.names[0]
    return UsageError(f"`{name}` is given twice", value=name, expected="it once")


def no_command(name: str) -> UsageError:
    """Return the error for an unknown command."""
    from gathercli.cli.manual.pages import TOPICS
    from gathercli.cli.registry import COMMANDS
    from gathercli.ops.unknown import foreign_name_error

    page = f"`gathercli man {name}` is a page"
    hint = page if name in TOPICS else "`gathercli --help` lists the commands"
    if usage := foreign_name_error(name, "no command"):
        usage.hint = usage.advice or hint
        return usage
    near = closest(name.lower().replace("_", "-"), [*COMMANDS, "help", "version"])
    return UsageError(
        f"no command `{short(name)}`",
        value=name,
        hint=hint,
        instead=("--version" if near == "version" else near,) if near else (),
    )


def _no_option(line: CommandLine, option: str) -> UsageError:
    owner = line.command or "gathercli"
    hint = _other_form(line, option)
    if hint is None:
        hint = _option_hint(line, option) if line.command else _program_hint(line, option)
    return UsageError(f"{owner} has no option `{short(option)}`", value=option, hint=hint)


def _other_form(line: CommandLine, option: str) -> str | None:
    """Say that an option is one of a command's other form: that for models, or for a call."""
    from gathercli.cli.registry import OF_MODELS, command_of

    if line.command not in OF_MODELS:
        return None
    for_models = "MODEL..." in line.metavars
    other = command_of(line.command, models=not for_models).parameters.values()
    if not any(option in getattr(each, "names", ()) for each in other):
        return None
    form = "OP DATA INDICES" if for_models else "MODEL..."
    return f"`{option}` is an option of `gathercli {line.command} {form}`"


def _option_hint(line: CommandLine, option: str) -> str | None:
    """Suggest a replacement for an unknown option of a command."""
    from gathercli.cli.registry import COMMANDS

    word = next(
        each
        for each in line.words
        if each.option is not None
        and not each.is_value
        and (each.text.startswith(option) or (each.text[1:2] != "-" and option[1:] in each.text))
    )
    if inputs_hint := inputs_as_arguments(line, option):
        return inputs_hint
    similar = similar_option(line, option)
    param = line.param(similar) if similar else None
    takes_value = param is not None and param.count and ":" not in option
    if takes_value and _lacks_value(line, word, option):
        return _version_hint(param, str(similar))
    texts = line.texts
    if option == "--job" and option in texts[:-1] and "explain" in COMMANDS:
        return did_you_mean(["explain", "--job", texts[texts.index(option) + 1]])
    if similar and len(line.arguments) < line.required:
        return f"did you mean `{similar}`?"
    return did_you_mean(_translation(line))


def _translation(line: CommandLine) -> list[str]:
    """Return the command and the translated words; an empty list if it lacks an option."""
    translation = translate(line)
    return [line.command, *translation.texts] if translation else []


def _lacks_value(line: CommandLine, word: Word, option: str) -> bool:
    """Return whether no word after an option can be its value."""
    if word.text != option:
        return False
    following = line.words[line.position(word) + 1 :][:1]
    return not following or following[0].option is not None or len(line.arguments) <= line.required


def _program_hint(line: CommandLine, option: str) -> str | None:
    """Suggest a line for an unknown option before the command, or without one."""
    from gathercli.cli.registry import COMMANDS

    texts = line.texts
    at = next((n for n, text in enumerate(texts) if text in COMMANDS), None)
    if at is not None:
        return did_you_mean([*texts[at:], *texts[:at]])
    if option in ("-v", "-V"):
        return _PROGRAM
    similar = similar_option(line, option)
    return did_you_mean([similar]) if similar else None


def _no_value(line: CommandLine, option: str) -> UsageError:
    """Return the error for an option without its value, or a flag with one."""
    param = line.param(option)
    if param.kind is bool:
        word = next(each for each in reversed(line.words) if each.option == option)
        return UsageError(
            f"is given a value, `{word.value}`",
            subject=option,
            value=word.text,
            expected="none",
            hint=did_you_mean(line.replace(word, option)),
        )
    count = sum(word.option == option and word.value is not None for word in line.words)
    has = f"{count} of {counted(param.count, 'value')}" if count else "no value"
    return UsageError(
        f"has {has}",
        subject=option,
        value=option,
        expected=f"`{option} {param.metavar}`",
        hint=_version_hint(param, option),
    )


def _version_hint(param: Any, option: str) -> str | None:
    """Return how to print the program's version, for a ``--version`` without its value."""
    if "--version" in param.names:
        return f"{_PROGRAM}; `gathercli ops` lists what `{option}` takes"
    return None


def _missing(line: CommandLine, param: Parameter) -> UsageError:
    from gathercli.cli.manual.prose import EXAMPLES

    operator, inputs = _operator_inputs(line)
    topic = f"{line.command}-models" if "MODEL..." in line.metavars else line.command
    lines = [each.command for each in EXAMPLES.get(topic, ())]
    example = next((each for each in lines if f" {operator} " in each), None)
    hint = f"`{example or lines[0]}` is an example" if lines else ""
    if isinstance(param, Option):
        option, values = param.names[0], values_of(param)
        expected = listed(values) if values else f"`{option} {param.metavar}`"
        hint = complete(line, inputs) or hint
        return UsageError("is missing", subject=option, expected=expected, hint=hint)
    is_last = param.metavar == "INDICES" and line.command in ("gather", "compare")
    if is_last and (short_line := shell_line([line.command, *line.arguments, "0,", *line.options])):
        hint = f"`{short_line}` is an example"
    if is_last:
        hint += ", and `-` reads INDICES from standard input"
    if operator is not None and not (is_last and inputs == ["-"]):
        op = FAMILIES[operator].ROWS[0]
        if example is None or members_of_all(op, inputs):
            hint = suggest_example(line.command, op, inputs, line.options)
    choices, names = param.choices, _arguments(line, operator)
    expected = listed(choices) if choices else listed(names, "and")
    first = str(param.metavar).partition(" ")[0].removesuffix("...")
    if operator is not None:  # whose names the inputs have
        first = names[line.metavars.index(str(param.metavar))]
    return UsageError(f"`{first}` is missing", expected=expected, hint=hint)


def _operator_inputs(line: CommandLine) -> tuple[str | None, list[str]]:
    """Return the operator that a line names, and the inputs on the line."""
    if line.command in FAMILIES:
        return line.command, line.arguments
    operator, *inputs = line.arguments or [""]
    return (operator, inputs) if operator in FAMILIES else (None, [])


def _arguments(line: CommandLine, operator: str | None) -> list[str]:
    """Return the names of the arguments, those of the operator if there is one."""
    names = [name for name in line.metavars if not name.endswith("]...")]
    if operator and names[0] == "OP":
        return ["OP", *(each.name.upper() for each in FAMILIES[operator].ROWS[0].inputs)]
    return names


def _wrong_value(line: CommandLine, param: Parameter) -> UsageError:
    words = [each for each in line.words if each.option in (param.names or (None,))]
    word = words[-1] if param.names else words[0]
    value = word.text if word.value is None else word.value
    similar = translate_value(param, value) if param.choices else None
    expected = listed(param.choices) if param.choices else _range(param)
    hint = _picture(line, value)
    if hint is None and similar:
        hint = did_you_mean(line.replace(word, word.text.removesuffix(value) + similar))
    return UsageError(
        f"`{word.option or param.metavar}` is `{short(value)}`",
        value=value,
        expected=expected,
        hint=hint,
    )


def _picture(line: CommandLine, value: str) -> str | None:
    """Suggest `--save` if `value` is a picture format."""
    if value.lower() not in PICTURE_FORMATS or not line.param("--save"):
        return None
    others = [word.text for word in line.words if "--format" not in line.option_names(word)]
    return did_you_mean([line.command, *others, "--save", f"picture.{value.lower()}"])


def _range(param: Any) -> str:
    """Describe the numbers that an option accepts."""
    what = "an integer" if param.kind is int else "a number"
    if param.min is None:
        return what
    if param.max is None:
        return f"{what} from {param.min} on"
    return f"{what} from {param.min} to {param.max}"


def _too_many(line: CommandLine, extra: str) -> UsageError:
    most = len(line.metavars)
    expected = listed(line.metavars, "and")
    usage = UsageError(
        f"`{short(extra)}` is one argument too many",
        value=extra,
        expected=expected,
        hint=did_you_mean(*_with_fewer(line, most))
        or _only_version(line)
        or (_lesson_hint(line) if line.command == "demo" else _list_hint(line)),
    )
    usage.is_extra = True
    return usage


def _only_version(line: CommandLine) -> str | None:
    """Suggest `check` for as many inputs as only an operator of one version has."""
    if line.command != "compare":
        return None
    rows = (family.ROWS for family in FAMILIES.values() if len(family.ROWS) == 1)
    op = next((op for (op,) in rows if len(op.inputs) == len(line.arguments)), None)
    checked = op and shell_line(["check", op.family, *line.arguments])
    return (
        f"{op} is the only version with {counted(len(line.arguments), 'input')}: `{checked}`"
        if op
        else None
    )


def _with_fewer(line: CommandLine, most: int) -> list[list[str]]:
    """Return likely lines with at most `most` arguments."""
    for before, word in pairwise(line.words):
        if before.is_value and before.text.lower() == "opset" and _INTEGER.fullmatch(word.text):
            # -V opset 13
            others = line._replace(words=tuple(each for each in line.words if each is not word))
            return [others.replace(before, f"{before.text} {word.text}")]
        if _repeats(line, before) and word.option is None:  # -aa 0
            return [line.replace(before, before.text[:2])]
    translation = translate(line)
    if translation and translation != line and len(translation.arguments) <= most:
        return [_translation(line)]
    fewer = _without_operator(line, most) or _joined(line, most)
    return [[line.command, *words, *line.options] for words in fewer]


def _repeats(line: CommandLine, word: Word) -> bool:
    """Return whether letters follow the letter of an integer option."""
    param = line.param(word.text[:2])
    is_integer = param is not None and param.metavar == "INT"
    return is_integer and not word.is_value and word.text[2:].isalpha()


def _lesson_hint(line: CommandLine) -> str | None:
    """Suggest the lesson whose name has blanks on the line, or all lessons."""
    name = "-".join(line.arguments).lower()
    is_lesson = any(name in param.known() for param in line.params)
    return (
        did_you_mean(["demo", name]) if is_lesson else "`gathercli demo --all` shows every lesson"
    )


def _list_hint(line: CommandLine) -> str | None:
    """Explain how to write a list, if all arguments are integers."""
    from gathercli.cli.manual.prose import EXAMPLES

    example = next((each.command for each in EXAMPLES.get(line.command, ())), "")
    if "," not in example or not all(map(_INTEGER.fullmatch, line.arguments)):
        return None
    return f"a list of numbers is one word, as in `{example}`"


def _without_operator(line: CommandLine, most: int) -> list[list[str]]:
    """Drop the name of an operator if the command takes none."""
    first, *others = line.arguments
    named = line.metavars[0] == "DATA" and first.replace("_", "-") in FAMILIES
    return [others] if named and len(others) == most else []


def _joined(line: CommandLine, most: int) -> list[list[str]]:
    """Join arguments that a shell split, so that at most `most` remain."""
    words = rejoin(line.arguments)
    lists = [words] if len(words) == most else []
    if len(words) > most > 1:
        data, *after = words[most - 2 :]
        if _INTEGER.fullmatch(data):  # 0-D data have no axis
            return lists
        numbers = [word.rstrip(",") for word in after]
        if all(map(_INTEGER.fullmatch, numbers)):
            lists.append([*words[: most - 1], ",".join(numbers)])
        if len(after) == 2:
            lists += _last_as_option(line, words)
    return lists


def _last_as_option(line: CommandLine, words: Sequence[str]) -> list[list[str]]:
    """Turn one of the last two words into an option: the axis, or the output."""
    *others, middle, last = words
    axis = line.param("--axis")
    has_axis = axis is not None and not axis.hidden
    if _INTEGER.fullmatch(last):
        is_axis = has_axis and not middle.endswith(",")
        return [[*others, middle, "--axis", last]] if is_axis else []
    output = next((name for name in ("-o", "--save") if line.param(name)), None)
    suffix = os.path.splitext(last)[1]
    is_output = suffix in BY_SUFFIX if output == "-o" else suffix[1:] in PICTURE_FORMATS
    if output and is_output and not os.path.lexists(last):
        return [[*others, middle, output, last]]
    # DATA, axis, INDICES: the order of other frameworks
    if has_axis and _INTEGER.fullmatch(middle):
        is_tensor = os.path.lexists(last) or not last.isidentifier()
        return [[*others, last, "-a", middle]] if is_tensor else []
    return []


_REFUSALS: Final[dict[str, Callable[[CommandLine, Any], UsageError]]] = {
    NO_OPTION: _no_option,
    NO_VALUE: _no_value,
    ONE_DASH: _one_dash,
    EQUALS_SIGN: _equals_sign,
    TWICE: _twice,
    WRONG_VALUE: _wrong_value,
    MISSING: _missing,
    TOO_MANY: _too_many,
}
"""What words each problem of `parser`."""
