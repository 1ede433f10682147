"""Suggest a corrected command line: the words of another program or call, lists, operators."""

from __future__ import annotations

import os
import re
from itertools import pairwise

from gathercli.cli.declarations import Parameter
from gathercli.cli.parser import CommandLine
from gathercli.cli.registry import COMMANDS, command_of
from gathercli.errors import GatherError, UsageError, VersionError
from gathercli.frameworks import FrameworkRow
from gathercli.frameworks.equivalents import arguments_of, find_equivalent
from gathercli.ops import FAMILIES
from gathercli.records import Final, Iterable, Sequence
from gathercli.slices import given
from gathercli.spec.op import OTHER_NAMES, Op
from gathercli.text import beginning, closest, listed, shell_word, table_beside

LAST_ARGUMENT: Final = "DEST"  # the argument that is an option in other programs; it comes last

# Options of other programs, with the options here in order of preference.
FOREIGN_OPTIONS: Final[dict[str, list[str]]] = table_beside(__name__)["options"]

# Values of other programs, by option.
FOREIGN_VALUES: Final = {
    "--out-of-range": OTHER_NAMES,
    "--to": {"np": "numpy", "pytorch": "torch", "tf": "tensorflow"},
}

PICTURE_FORMATS: Final = ("svg", "html", "txt")  # the formats of `--save`, which its suffix selects

_DASHES: Final = re.compile(r"[\u2010-\u2015\u2212]+(?=[a-zA-Z])")
_SETTING: Final = re.compile(r"([a-z][a-z_-]*)=(.*)", re.DOTALL)


def similar_option(line: CommandLine, option: str) -> str | None:
    """Return the visible option of a command most similar to an unknown one, or None."""
    names = [name for param in line.params if not param.hidden for name in param.names]
    has_last = any(str(param.metavar).endswith(LAST_ARGUMENT) for param in line.params)
    translations = FOREIGN_OPTIONS.get(option, [])
    for name in (*translations, option.swapcase()):
        if name in names or (name == LAST_ARGUMENT and has_last):
            return name
    if translations:
        return None
    word = option.lower().replace("_", "-").lstrip("-")
    long = [name[2:] for name in names if name.startswith("--")]
    similar = closest(word, long, cutoff=0.7) or (word and beginning(word, long))
    return f"--{similar}" if similar else None


def translate(line: CommandLine) -> CommandLine | None:
    """Translate all options and values of a line; return None if the command lacks one."""
    texts: list[str] = []
    last: list[str] = []
    words = iter(line.words)
    for word in words:
        text = _with_dashes(line, word.text)
        is_argument = word.option is None and text == word.text
        are_letters = text[1:2] != "-" and text[2:3] not in ("", "=") and line.param(text[:2])
        if is_argument or word.is_value or text == "--" or are_letters:
            if word.option not in (None, "--") and word.param is None:
                return None
            texts.append(text)
            continue
        name, mark, value = re.split(r"([=:])|\Z", text, maxsplit=1)
        value = value if mark else None
        similar = name if line.param(name) else similar_option(line, name)
        if similar is None:
            return None
        param = line.param(similar)  # None for the last argument
        if not mark and (param is None or param.count == 1):
            following = next(words, None)
            if following is None or (following.option is not None and not following.is_value):
                return None
            value = following.text
        if param and value is not None and (value := translate_value(param, value, name)) is None:
            return None
        if param is None:
            last.append(str(value))
        elif mark and similar.startswith("--"):
            texts.append(f"{similar}={value}")
        else:
            texts += [similar] if value is None else [similar, value]
    return CommandLine.read(line.command, line.params, [*texts, *last])


def _with_dashes(line: CommandLine, text: str) -> str:
    """Add ASCII dashes to ``axis=1``, or to an option with a longer dash."""
    if _DASHES.match(text):
        return _DASHES.sub("--", text, count=1)
    setting = _SETTING.fullmatch(text)
    if setting and not os.path.lexists(text):
        name = f"--{setting[1].replace('_', '-')}"
        param = line.param(name)
        return text if param is None or param.hidden else f"{name}={setting[2]}"
    return text


def translate_value(param: Parameter, value: str, name: str = "") -> str | None:
    """Return the value of a parameter for that of the option `name` elsewhere, or None."""
    if name == "--opset" and re.fullmatch(r"\d+", value, re.ASCII):
        return f"onnx-{value}"
    foreign: dict[str, str] = FOREIGN_VALUES.get(max(param.names, key=len, default=""), {})
    value_here, choices = foreign.get(value.lower(), value), param.choices
    if not choices or value_here in choices:
        return value_here if choices else value
    return closest(value.lower(), choices)


LONGEST_HINT_LINE: Final = 400  # the largest number of characters of a command line in a hint
# The rules that refuse a list that a shell split at blanks.
_SPLIT: Final = ("json", "literal", "missing", "shape-text")


def shell_line(words: Iterable[str]) -> str | None:
    """Quote a command line for a shell; return None if it is too long for a hint."""
    line = " ".join(("gathercli", *map(shell_word, words)))
    return line if len(line) <= LONGEST_HINT_LINE else None


def did_you_mean(*lines: Iterable[str]) -> str | None:
    """Suggest command lines, without empty ones."""
    quoted = [f"`{line}`" for line in map(shell_line, filter(None, lines)) if line]
    return f"did you mean {listed(quoted)}?" if quoted else None


def rejoin(words: Sequence[str]) -> list[str]:
    """Join the pieces of a list that a shell split at blanks: ``[1,``, ``2]``.

    >>> rejoin(["[1,", "2]", "0"]), rejoin(["[1", "2"])
    (['[1, 2]', '0'], ['[1', '2'])
    """
    joined: list[str] = []
    depth = 0
    for word in words:
        if depth:
            joined[-1] += f" {word}"
        else:
            joined.append(word)
        if depth or re.match(r"[\[{]|[\w]*=\[", word):
            depth += sum(map(word.count, "[{")) - sum(map(word.count, "]}"))
    return joined if depth == 0 else list(words)


def suggest(words: Sequence[str], error: GatherError) -> str | None:
    """Return a hint with a corrected command line, or None."""
    was_split = error.rule in _SPLIT or (isinstance(error, UsageError) and error.is_extra)
    if was_split and (joined := rejoin(words)) != list(words):
        return _quote_lists(joined)
    if error.swapped:
        line = _read(words)
        *_, data, indices = (at for at, word in enumerate(line.words) if word.option is None)
        swapped = line.replace(data, words[indices + 1])
        swapped[indices + 1] = words[data + 1]
        shown = shell_line(swapped)
        return f"{error.swapped} comes first: `{shown}`" if shown else None
    if isinstance(error, VersionError) and error.elsewhere:
        return did_you_mean(_change_operator(words, str(error.value), *error.elsewhere))
    if error.instead and error.value in words:
        return _replace_value(words, str(error.value), *error.instead)
    return _add_operator(words, error)


def _read(words: Sequence[str]) -> CommandLine:
    return CommandLine.of(command_of(words[0]), words[1:])


def _quote_lists(words: Sequence[str]) -> str | None:
    """Suggest the rejoined line, or a rejoined word if arguments are still missing."""
    line = _read(words)
    if len(line.arguments) >= sum(not name.startswith("[") for name in line.metavars):
        return did_you_mean(words)
    quoted = next(shell_word(word) for word in words if " " in word)
    return f"a shell takes words apart at blanks: `{quoted}` is one"


def _change_operator(words: Sequence[str], value: str, command: str, version: str) -> list[str]:
    """Replace the operator by `command`, and its version `value` by `version`.

    The words are empty if the line lacks either.
    """
    from gathercli.frameworks.versions import find

    if words[0] not in COMMANDS:
        return []
    line = _read(words)
    changed = list(words)
    for at, word in enumerate(line.words, 1):
        if "--version" in word.names and word.text.endswith(value):
            changed[at] = word.text.removesuffix(value) + version
    if version != value and changed == list(words):
        return []
    names = (n for n, word in enumerate(changed) if word.removeprefix("--op=") in FAMILIES)
    operator = next(names, None)
    if operator is None:
        return []
    other = changed[operator].removeprefix("--op=")
    if len(FAMILIES[other].ROWS[0].inputs) != len(FAMILIES[command].ROWS[0].inputs):
        return []
    changed[operator] = changed[operator].removesuffix(other) + command
    requires_axis = find(version, command).op.requires_axis
    has_axis = any("--axis" in word.names for word in line.words)
    return [*changed, "--axis", "0"] if requires_axis and not has_axis else changed


def _replace_value(words: Sequence[str], value: str, name: str, *options: str) -> str | None:
    """Suggest a line with `name` in place of `value`, and options at its end.

    If `value` is a call of another framework, translate its arguments too.
    """
    at = list(words).index(value)
    for n, (option, word) in enumerate(pairwise(words), 1):
        if word == value and option.startswith("--"):  # rather than an argument that is equal
            at = n
            break
    before, rest = words[:at], words[at + 1 :]
    if words[0] in ("help", "man"):
        return did_you_mean([*before, name])
    call = find_equivalent(value) if options else None
    plain = [*before, name, *rest, *options]
    if call is None:
        return did_you_mean(plain)
    op, corrected = call.op, plain
    if not (before and before[-1].startswith("-")):
        corrected = _write_call(call, op, [*before, name], arguments_of(value) or rest, options)
    elif len(op.inputs) != len(next(iter(FAMILIES.values())).ROWS[0].inputs):
        corrected = []  # the value of an option
    elif op.requires_axis and not any("--axis" in word.names for word in _read(words).words):
        corrected = [*plain, "--axis", "0"]
    if re.search(r"mode[\s='\"]+clip", " ".join(words)):  # no option makes negative indices 0
        corrected = []
    line = shell_line(corrected) if corrected else None
    more = f"`gathercli ops --like {shell_word(call.name)}` has the rest"
    return f"`{line}`; {more}" if line else more


def _write_call(
    call: FrameworkRow, op: Op, head: list[str], words: Sequence[str], options: Sequence[str]
) -> list[str]:
    """Translate a call of another framework to a command line; empty if the command lacks a part.

    `head` is the command with its operator `op`; `options` are names and values, in turn, that make
    the command equal the call.
    """
    line = translate(_read([head[0], *words]))
    if line is None:
        return []
    present = {name for word in line.words for name in word.names}
    tensors = _order(call, op, line.arguments, has_axis="--axis" in present)
    if tensors is None:
        return []
    added = [
        word
        for pair in zip(options[::2], options[1::2], strict=True)
        if pair[0] not in present
        for word in pair
    ]
    if op.requires_axis and "--axis" not in {*present, *tensors}:
        added += ["--axis", "0"]
    return [*head, *tensors, *line.options, *added]


def _order(call: FrameworkRow, op: Op, words: list[str], *, has_axis: bool) -> list[str] | None:
    """Reorder the arguments of another framework's call for the command."""
    if not words:
        return _sample(op)
    inputs = [each.name for each in op.inputs]
    names = call.arguments or tuple(inputs)
    if has_axis or len(words) == len(inputs):
        names = tuple(name for name in names if name in inputs)
    if len(words) != len(names):
        return None
    values = dict(zip(names, words, strict=True))
    axis = ["--axis", values["axis"]] if "axis" in values else []
    return [*(values[name] for name in inputs), *axis]


def _sample(op: Op) -> list[str]:
    """Return small inputs of an operator; they are valid shapes too."""
    if len(op.inputs) > len(("data", "indices")):
        return ["arange:2x1x2", "zeros:2x1x2xi64", "[1]", "xi64=9"]
    sizes = "x".join(["3"] * max(op.least_rank, 1))
    return ["arange:2x3", "[1,2]"] if op.tuples else [f"arange:{sizes}", "[2]"]


def suggest_example(
    command: str, op: Op, inputs: Sequence[str] = (), options: Sequence[str] = ()
) -> str:
    """Suggest a complete line for a command that lacks inputs.

    It has those of the members of a single one, if their names are those of all inputs.
    """
    members = members_of_all(op, inputs)
    head = [command] if command == op.family else [command, op.family]
    if op.requires_axis and not any(word.startswith(("-a", "--axis")) for word in options):
        options = [*options, "--axis", "0"]
    line = shell_line([*head, *(members or _sample(op)), *options])
    return f"`{line}` {'names the members' if members else 'is an example'}"


def complete(line: CommandLine, op: Op | None, inputs: Sequence[str]) -> str | None:
    """Suggest a line with the options that it lacks; return None if it lacks inputs too."""
    if op is None or len(inputs) != len(op.inputs):
        return None
    added: list[str] = []
    present = {word.param for word in line.words}
    output = [word.text for word in line.words if "--output" in word.names]
    for param in line.params:
        if param.is_required and param.names and param not in present:
            example = given("examples", str(param.metavar))
            added += [param.names[0], "new" if example is None else str(example(output))]
    completed = shell_line([line.command, *line.texts, *added])
    return f"`{completed}` is an example" if completed else None


def members_of_all(op: Op, inputs: Sequence[str]) -> list[str]:
    """Return the members of the only input that have the names of all inputs; nothing if one lacks.

    Standard input may have them; nobody can look.
    """
    if len(inputs) != 1:
        return []
    from gathercli.cli.commands.completion import completions

    path = inputs[0].rpartition("#")[0] or inputs[0]
    names = [f"{path}#{each.name}" for each in op.inputs]
    known = completions("tensor", f"{path}#").splitlines()
    return names if path == "-" or set(names) <= set(known) else []


def inputs_as_arguments(line: CommandLine, option: str) -> str | None:
    """Suggest a line whose inputs are arguments, if they are options as those of `batch`."""
    operator = next((word for word in (line.command, *line.arguments) if word in FAMILIES), None)
    if operator is None:
        return None
    op = FAMILIES[operator].ROWS[0]
    names = ["--" + each.name.replace("_", "-") for each in op.inputs]
    if option not in names:
        return None
    inputs: dict[str, str] = {}
    rest: list[str] = []
    words = iter(line.words)
    for word in words:
        if word.option not in names or word.is_value:
            rest.append(word.text)
        else:
            inputs[str(word.option)] = next(words, word).text if word.value is None else word.value
    others = CommandLine.read(line.command, line.params, rest)
    head = [operator] if operator in others.arguments else []
    free = iter(others.arguments[len(head) :])
    arguments = [inputs.get(name) or next(free, "") for name in names]
    if not all(arguments) or any(free):
        return suggest_example(line.command, op, (), others.options)
    return did_you_mean([line.command, *head, *arguments, *others.options])


def _add_operator(words: Sequence[str], error: GatherError) -> str | None:
    """Insert an operator before its inputs, or suggest the lesson with a word's name."""
    is_operator = isinstance(error, UsageError) and error.is_operator
    if not is_operator or error.instead or words[0] not in COMMANDS:
        return None
    line = _read(words)
    if line.metavars[:1] != ["OP"] or error.value not in line.arguments[:1]:
        return None
    if len(line.arguments) == 1:
        lessons = command_of("demo").arguments[0].known() if "demo" in COMMANDS else ()
        names = [name for name in lessons if not name.isdecimal()]
        name = closest(line.arguments[0].lower().replace("_", "-"), names, cutoff=0.8)
        return did_you_mean(["demo", name]) if name else None
    return did_you_mean([words[0], "gather", *words[1:]]) if len(line.arguments) == 2 else None
