"""What is wrong with a command line, and the line that was probably meant."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.dialects import PICTURES, choices_of, near, translated, value_here
from gathercli.cli.line import CommandLine
from gathercli.errors import UsageError, VersionError
from gathercli.spec.equivalents import arguments_of, named
from gathercli.text import closest, listed, shell_word, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.cli.line import Word
    from gathercli.errors import GatherError
    from gathercli.spec.equivalents import Equivalent

LONGEST: Final = 400
"""Characters of a command line that a hint repeats."""

_INTEGER: Final = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_PROGRAM: Final = "`gathercli --version` prints the program's version"


def typed(words: Iterable[str]) -> str | None:
    """Write a command line as a shell takes it; None for one that is too long to read."""
    line = " ".join(("gathercli", *map(shell_word, words)))
    return line if len(line) <= LONGEST else None


def _meant(*lines: Iterable[str]) -> str | None:
    """Ask for one of some command lines."""
    written = [f"`{line}`" for line in map(typed, filter(None, lines)) if line]
    return f"did you mean {listed(written)}?" if written else None


def refusal(line: CommandLine, error: Exception) -> UsageError:
    """Put what typer refuses in our words.

    Parameters
    ----------
    error
        One of typer's failures; what it is about is told by what it has.

    Raises
    ------
    UsageError
        What stands in the place of an operator is none, whatever else is wrong.
    """
    if line.params[0].metavar == "OP" and (op := _operator(line)) is not None:
        from gathercli.ops import family_of

        family_of(op)
    param, option = getattr(error, "param", None), getattr(error, "option_name", None)
    if hasattr(error, "possibilities"):
        found = _no_option(line, str(option))
    elif option is not None:
        found = _no_value(line, str(option))
    elif hasattr(error, "param_type"):
        found = _missing(line, param)
    elif param is not None:
        found = _wrong_value(line, param)
    else:
        found = _too_many(line)
    if found.hint is None:
        what = "options" if line.command else "commands"
        found.hint = f"`{f'gathercli {line.command}'.rstrip()} --help` lists the {what}"
    return found


def _operator(line: CommandLine) -> str | None:
    """Find what stands in the place of an operator; it may be the value of an unknown option."""
    for word in line.words:
        if word.option is None:
            return word.text
        if not word.is_value and line.param(word.option) is None:
            return None
    return None


def equals_sign(line: CommandLine, word: Word) -> UsageError:
    """Make the refusal of ``-a=1``, whose value would be ``=1``."""
    name, _, value = word.text.partition("=")
    return UsageError(
        f"`{short(word.text)}` has an equals sign: expected `{short(f'{name} {value}')}`",
        rule="usage",
        value=word.text,
        expected=f"{name} {value}",
        hint=_meant(_translated(line)),
    )


def one_dash(line: CommandLine, word: Word) -> UsageError:
    """Make the refusal of an option with one dash in the place of two."""
    name = word.text.partition("=")[0]
    return UsageError(
        f"`{name}` has one dash: expected `-{name}`",
        rule="usage",
        value=name,
        expected="-" + name,
        hint=_meant(_replaced(line, word, "-" + word.text)),
    )


def no_command(name: str) -> UsageError:
    """Make the refusal of a name that is no command."""
    from gathercli.cli.main import COMMANDS
    from gathercli.ops import elsewhere

    hint = "`gathercli --help` lists the commands"
    if found := elsewhere(name, "no command"):
        found.hint = found.hint or hint
        return found
    known = [*COMMANDS, "help", "version"]
    near = closest(name.lower().replace("_", "-"), known)
    return UsageError(
        f"no command `{short(name)}`",
        rule="usage",
        value=name,
        hint=hint,
        instead=("--version" if near == "version" else near,) if near else (),
    )


def _replaced(line: CommandLine, word: Word, *texts: str) -> list[str]:
    """Return all words, others in the place of one."""
    at = next(n for n, each in enumerate(line.words) if each is word)
    before, after = line.words[:at], line.words[at + 1 :]
    command = [line.command] if line.command else []
    return [*command, *(each.text for each in before), *texts, *(each.text for each in after)]


def _no_option(line: CommandLine, option: str) -> UsageError:
    whose = line.command or "gathercli"
    found = UsageError(f"{whose} has no option `{short(option)}`", rule="usage", value=option)
    if not line.command:
        found.hint = _before_command(line, option)
        return found
    word = next(
        each
        for each in line.words
        if each.option is not None
        and not each.is_value
        and (each.text.startswith(option) or (each.text[1:2] != "-" and option[1:] in each.text))
    )
    own = near(line, option)
    param = line.param(own) if own else None
    if (
        param is not None
        and not param.is_flag
        and ":" not in option
        and _lacks_value(line, word, option)
    ):
        found.hint = _value_hint(line, own or "")
    elif (job := _job_hint(line, option)) is not None:
        found.hint = job
    elif own and len(line.arguments) < sum(bool(param.required) for param in line.params):
        found.hint = f"did you mean `{own}`?"
    else:
        found.hint = _meant(_translated(line))
    return found


def _translated(line: CommandLine) -> list[str]:
    """Return the words of a command line as its command has them; none if they are not known."""
    meant = translated(line)
    return [line.command, *(word.text for word in meant.words)] if meant else []


def _job_hint(line: CommandLine, option: str) -> str | None:
    """Say which command takes a job of a file."""
    texts = [word.text for word in line.words]
    if option != "--job" or option not in texts[:-1]:
        return None
    return _meant(["explain", "--job", texts[texts.index(option) + 1]])


def _lacks_value(line: CommandLine, word: Word, option: str) -> bool:
    """Tell whether nothing stands behind an option that could be its value."""
    if word.text != option:
        return False
    at = next(n for n, each in enumerate(line.words) if each is word)
    behind = line.words[at + 1 : at + 2]
    needed = sum(bool(param.required) for param in line.params)
    return not behind or behind[0].option is not None or len(line.arguments) <= needed


def _before_command(line: CommandLine, option: str) -> str | None:
    """Say what is meant by an option that stands before the command, or without one."""
    from gathercli.cli.main import COMMANDS

    texts = [word.text for word in line.words]
    at = next((n for n, text in enumerate(texts) if text in COMMANDS), None)
    if at is not None:
        return _meant([*texts[at:], *texts[:at]])
    if option in ("-v", "-V"):
        return _PROGRAM
    own = near(line, option)
    return _meant([own]) if own else None


def _no_value(line: CommandLine, option: str) -> UsageError:
    """Refuse an option without its value, or a flag with one."""
    param = line.param(option)
    word = next(each for each in reversed(line.words) if each.option == option)
    if param.is_flag:
        return UsageError(
            f"`{option}` is given a value, `{word.text.partition('=')[2]}`: expected none",
            rule="usage",
            value=word.text,
            hint=_meant(_replaced(line, word, option)),
        )
    expected = f"{option} {param.metavar}"
    return UsageError(
        f"`{option}` has no value: expected `{expected}`",
        rule="usage",
        value=option,
        expected=expected,
        hint=_value_hint(line, option),
    )


def _value_hint(line: CommandLine, option: str) -> str | None:
    """Say what an option without a value may have meant."""
    if "--version" in line.param(option).opts:
        return f"{_PROGRAM}; `gathercli ops` lists what `{option}` takes"
    return None


def _missing(line: CommandLine, param: Any) -> UsageError:
    from gathercli.cli.manual.examples import EXAMPLES

    example = EXAMPLES[line.command][0].command
    more = ""
    if param.metavar == "INDICES" and line.command in ("gather", "compare"):
        example = typed([line.command, *line.arguments, "0,", *line.options]) or example
        more = ", and `-` reads INDICES from standard input"
    expected = listed(choices_of(param)) if choices_of(param) else _usage(line)
    first = param.metavar.partition(" ")[0].removesuffix("...")
    return UsageError(
        f"`{first}` is missing: expected {expected}",
        rule="usage",
        expected=expected,
        hint=f"`{example}` is an example{more}",
    )


def _usage(line: CommandLine) -> str:
    named = [param.metavar for param in line.params if param.param_type_name == "argument"]
    return listed(named, "and")


def _wrong_value(line: CommandLine, param: Any) -> UsageError:
    choices = choices_of(param)
    word, value = _value_of(line, param)
    name = f"`{word.option}`" if word.option else f"`{param.metavar}`"
    own = value_here(param, value) if choices else None
    expected = listed(choices) if choices else _range(param.type)
    return UsageError(
        f"{name} is `{short(value)}`: expected {expected}",
        rule="usage",
        value=value,
        expected=expected,
        hint=_picture(line, value)
        or (_meant(_replaced(line, word, word.text.removesuffix(value) + own)) if own else None),
    )


def _picture(line: CommandLine, value: str) -> str | None:
    """Say how a picture is kept, if its format was asked for."""
    if value.lower() not in PICTURES or not line.param("--save"):
        return None
    others = [word.text for word in line.words if "--format" not in _names(line, word)]
    return _meant([line.command, *others, "--save", f"picture.{value.lower()}"])


def _names(line: CommandLine, word: Word) -> list[str]:
    """Return all names of the option that a word is, or belongs to."""
    param = line.param(word.option or "")
    return list(param.opts) if param else []


def _value_of(line: CommandLine, param: Any) -> tuple[Word, str]:
    """Find the word with the value that was refused, and the value."""
    if param.param_type_name == "argument":
        (word,) = [word for word in line.words if word.option is None][:1]
        return word, word.text
    word = next(each for each in reversed(line.words) if each.option in param.opts)
    if word.is_value:
        return word, word.text
    name, mark, value = word.text.partition("=")
    if not mark or name not in param.opts:  # -fxml
        value = word.text[word.text.index(str(word.option)[1]) + 1 :]
    return word, value


def _range(kind: Any) -> str:
    """Say which numbers a type takes."""
    what = "an integer" if "int" in kind.name else "a number"
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    what += "" if low is None else f" from {low}"
    return what if low is None else what + (" on" if high is None else f" to {high}")


def _too_many(line: CommandLine) -> UsageError:
    given = line.arguments
    most = sum(param.param_type_name == "argument" for param in line.params)
    meant = translated(line)
    if meant and meant != line and len(meant.arguments) <= most:
        lines = [_translated(line)]
    else:
        fewer = _without_operator(line, given, most) or _fewer(line, given, most)
        lines = [[line.command, *words, *line.options] for words in fewer]
    for before, word in pairwise(line.words):
        if before.is_value and before.text.lower() == "opset" and _INTEGER.fullmatch(word.text):
            others = line._replace(words=tuple(each for each in line.words if each is not word))
            lines = [_replaced(others, before, f"{before.text} {word.text}")]
        if _repeats(line, before) and word.option is None:
            lines = [_replaced(line, before, before.text[:2])]
    return UsageError(
        f"`{short(given[most])}` is one argument too many: expected {_usage(line)}",
        rule="usage",
        value=given[most],
        expected=_usage(line),
        hint=_meant(*lines) or _one_word(line, given),
    )


def _repeats(line: CommandLine, word: Word) -> bool:
    """Tell whether letters follow that of an option for an integer: ``-aa 0``."""
    param = line.param(word.text[:2])
    is_integer = param is not None and param.metavar == "INT"
    return is_integer and not word.is_value and word.text[2:].isalpha()


def _one_word(line: CommandLine, given: Sequence[str]) -> str | None:
    """Say how a list is written, where nobody can tell which numbers belong to which."""
    from gathercli.cli.manual.examples import EXAMPLES

    if not all(map(_INTEGER.fullmatch, given)):
        return None
    return f"a list of numbers is one word, as in `{EXAMPLES[line.command][0].command}`"


def _without_operator(line: CommandLine, given: Sequence[str], most: int) -> list[list[str]]:
    """Leave out the name of an operator where a command takes none."""
    from gathercli.ops import FAMILIES

    first = next(param for param in line.params if param.param_type_name == "argument")
    named = first.metavar == "DATA" and given[0].replace("_", "-") in FAMILIES
    return [list(given[1:])] if named and len(given) == most + 1 else []


def _fewer(line: CommandLine, given: Sequence[str], most: int) -> list[list[str]]:
    """Put together what a shell took apart, so that there are no more arguments than may be."""
    words = rejoined(given)
    found = [words] if len(words) == most else []
    if len(words) > most > 1:
        data, *after = words[most - 2 :]
        if _INTEGER.fullmatch(data):  # which has no axis
            return found
        listed_last = [word.rstrip(",") for word in after]
        if all(map(_INTEGER.fullmatch, listed_last)):
            found.append([*words[: most - 1], ",".join(listed_last)])
        if len(after) == 2:
            found += _three(line, words)
    return found


def _three(line: CommandLine, words: list[str]) -> list[list[str]]:
    """Tell what the last of DATA, INDICES and one word more is: an axis, indices, an output."""
    *others, middle, last = words
    has_axis = line.param("--axis") is not None
    if _INTEGER.fullmatch(last):
        is_axis = has_axis and not middle.endswith(",")
        return [[*others, middle, "--axis", last]] if is_axis else []
    output = next((name for name in ("-o", "--save") if line.param(name)), None)
    if output and not os.path.lexists(last) and _is_output(last, output):
        return [[*others, middle, output, last]]
    is_order = _INTEGER.fullmatch(middle) and (os.path.lexists(last) or not last.isidentifier())
    return [[*others, last, "-a", middle]] if has_axis and is_order else []


def _is_output(name: str, option: str) -> bool:
    """Tell whether a name has a suffix that the option for the output knows."""
    from gathercli.io.formats.table import BY_SUFFIX

    suffix = os.path.splitext(name)[1]
    return suffix in BY_SUFFIX if option == "-o" else suffix[1:] in PICTURES


def rejoined(words: Sequence[str]) -> list[str]:
    """Join words that a shell took apart at the blanks in a list: ``[1,``, ``2]``.

    >>> rejoined(["[1,", "2]", "0"]), rejoined(["[1", "2"])
    (['[1, 2]', '0'], ['[1', '2'])
    """
    found: list[str] = []
    depth = 0
    for word in words:
        if depth:
            found[-1] += f" {word}"
        else:
            found.append(word)
        if depth or re.match(r"[\[{]|[\w]*=\[", word):
            depth += sum(map(word.count, "[{")) - sum(map(word.count, "]}"))
    return found if depth == 0 else list(words)


def better(words: Sequence[str], error: GatherError) -> str | None:
    """Say which command line was probably meant, if what was refused tells."""
    if error.rule in _SPLIT and (joined := rejoined(words)) != list(words):
        return _whole(joined)
    if error.swapped:
        line = typed(_swapped(words))
        return f"DATA comes first: `{line}`" if line else None
    if isinstance(error, VersionError) and error.elsewhere:
        return _meant(_by_operator(words, str(error.value), *error.elsewhere))
    if not error.instead or error.value not in words:
        return _operator_forgotten(words, error)
    at = list(words).index(str(error.value))
    head, *options = error.instead
    before, rest = words[:at], list(words[at + 1 :])
    each = named(str(error.value))
    if words[0] in ("help", "man"):
        each, rest, options = None, [], []
    if each is None:
        return _meant([*before, head, *rest, *options])
    if before and before[-1].startswith("-"):  # an option that takes an operator
        found: list[str] | None = [*before, head, *rest, *options]
    else:
        found = _equal(each, [*before, head], arguments_of(str(error.value)) or rest, options)
    line = typed(found) if found else None
    more = f"`gathercli ops --like {shell_word(each.name)}` has the rest"
    return f"`{line}`; {more}" if line else more


def _by_operator(words: Sequence[str], value: str, command: str, version: str) -> list[str]:
    """Write a line with the operator that has a version; nothing where it does not name both."""
    from gathercli.cli.main import COMMANDS, load
    from gathercli.ops import FAMILIES, find

    if words[0] not in COMMANDS:
        return []
    line = CommandLine.read(words[0], load(words[0]).params, words[1:])
    found = list(words)
    for at, word in enumerate(line.words, 1):
        if "--version" in _names(line, word) and word.text.endswith(value):
            found[at] = word.text.removesuffix(value) + version
    op = "--op="
    operator = next((n for n, word in enumerate(found) if word.removeprefix(op) in FAMILIES), None)
    if operator is None or not (version == value or found != list(words)):
        return []
    found[operator] = (op if found[operator].startswith(op) else "") + command
    has_axis = any("--axis" in _names(line, word) for word in line.words)
    requires_axis = find(version, command).op.axis.default is None
    return [*found, "--axis", "0"] if requires_axis and not has_axis else found


_SPLIT: Final = ("json", "literal", "missing", "shape-text")
"""The rules that refuse a list which a shell took apart."""


def _whole(words: Sequence[str]) -> str | None:
    """Show a line, of which a shell took words apart; only these if there are then too few."""
    from gathercli.cli.main import load

    params = load(words[0]).params
    line = CommandLine.read(words[0], params, words[1:])
    named = [str(param.metavar) for param in params if param.param_type_name == "argument"]
    if len(line.arguments) >= sum(not name.startswith("[") for name in named):
        return _meant(words)
    quoted = [shell_word(word) for word in words if " " in word]
    return f"a shell takes words apart at blanks: `{quoted[0]}` is one"


def _operator_forgotten(words: Sequence[str], error: GatherError) -> str | None:
    """Put an operator before its inputs, or name the lesson that explains a word."""
    from gathercli.cli.main import COMMANDS, load

    if not error.message.startswith("no operator `") or error.instead or words[0] not in COMMANDS:
        return None
    params = load(words[0]).params
    line = CommandLine.read(words[0], params, words[1:])
    if params[0].metavar != "OP" or error.value not in line.arguments[:1]:
        return None
    if len(line.arguments) == 1:
        from gathercli.cli.manual.lessons import LESSONS

        names = [each.name for each in LESSONS]
        near = closest(line.arguments[0].lower().replace("_", "-"), names, cutoff=0.8)
        return _meant(["demo", near]) if near else None
    return _meant([words[0], "gather", *words[1:]]) if len(line.arguments) == 2 else None


def _swapped(words: Sequence[str]) -> list[str]:
    """Swap the last two arguments of a command line, which are DATA and INDICES."""
    from gathercli.cli.main import load

    line = CommandLine.read(words[0], load(words[0]).params, words[1:])
    *_, data, indices = line.arguments
    places = [at for at, word in enumerate(line.words, 1) if word.option is None]
    swapped = list(words)
    swapped[places[-2]], swapped[places[-1]] = indices, data
    return swapped


def _equal(
    each: Equivalent, head: list[str], words: list[str], options: list[str]
) -> list[str] | None:
    """Write another framework's call as a command; None where its words are not understood.

    Parameters
    ----------
    head
        The command, and the operator if it takes one.
    words
        The arguments and options of the call.
    options
        What makes the command equal the call: names and values in turn.
    """
    from gathercli.cli.main import load

    params = load(head[0]).params
    line = translated(CommandLine.read(head[0], params, words))
    if line is None:
        return None
    typed_options = {id(line.param(word.option)) for word in line.words if word.option}
    tensors = _ordered(each, line.arguments, has_axis=id(line.param("--axis")) in typed_options)
    if tensors is None:
        return None
    added = [
        word
        for pair in zip(options[::2], options[1::2], strict=True)
        if id(line.param(pair[0])) not in typed_options
        for word in pair
    ]
    return [*head, *tensors, *line.options, *added]


def _ordered(each: Equivalent, words: list[str], *, has_axis: bool) -> list[str] | None:
    """Put the arguments of another framework's call in the order that they have here."""
    if not words:
        return ["arange:3", "[2]"]
    names = each.arguments or ("data", "indices")
    if has_axis or len(words) == 2:
        names = tuple(name for name in names if name != "axis")
    if len(words) != len(names):
        return None
    found = dict(zip(names, words, strict=True))
    axis = ["--axis", found["axis"]] if "axis" in found else []
    return [found["data"], found["indices"], *axis]
