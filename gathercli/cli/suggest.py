"""Suggest a corrected command line after an error."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from gathercli.cli.dialects import translate
from gathercli.cli.line import CommandLine
from gathercli.errors import UsageError, VersionError
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.slices import given, given_names
from gathercli.spec.framework_calls import arguments_of, find_equivalent
from gathercli.text import closest, listed, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gathercli.cli.command import Parameter
    from gathercli.errors import GatherError
    from gathercli.spec.equivalents import Equivalent
    from gathercli.spec.op import Op

LONGEST: Final = 400
"""The largest number of characters of a command line in a hint."""

_SPLIT: Final = ("json", "literal", "missing", "shape-text")
"""The rules that refuse a list that a shell split at blanks."""


def shell_line(words: Iterable[str]) -> str | None:
    """Quote a command line for a shell; return None if it is too long for a hint."""
    line = " ".join(("gathercli", *map(shell_word, words)))
    return line if len(line) <= LONGEST else None


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
        line = shell_line(_swap_inputs(words))
        return f"{error.swapped} comes first: `{line}`" if line else None
    if isinstance(error, VersionError) and error.elsewhere:
        return did_you_mean(_change_operator(words, str(error.value), *error.elsewhere))
    if error.instead and error.value in words:
        return _replace_value(words, str(error.value), *error.instead)
    return _add_operator(words, error)


def _read(words: Sequence[str]) -> CommandLine:
    from gathercli.cli.registry import command_of

    return CommandLine.of(command_of(words[0]), words[1:])


def _quote_lists(words: Sequence[str]) -> str | None:
    """Suggest the rejoined line, or a rejoined word if arguments are still missing."""
    line = _read(words)
    if len(line.arguments) >= sum(not name.startswith("[") for name in line.metavars):
        return did_you_mean(words)
    quoted = next(shell_word(word) for word in words if " " in word)
    return f"a shell takes words apart at blanks: `{quoted}` is one"


def _swap_inputs(words: Sequence[str]) -> list[str]:
    """Swap the last two arguments."""
    *_, data, indices = (at for at, word in enumerate(_read(words).words, 1) if word.option is None)
    swapped = list(words)
    swapped[data], swapped[indices] = swapped[indices], swapped[data]
    return swapped


def _change_operator(words: Sequence[str], value: str, command: str, version: str) -> list[str]:
    """Replace the operator by the one with the version.

    Parameters
    ----------
    value
        The version as the user wrote it.
    command, version
        The operator with the version, and the name of the version there.

    Returns
    -------
        The new words; an empty list if the line lacks the operator or the version.
    """
    from gathercli.cli.registry import COMMANDS
    from gathercli.ops import find

    if words[0] not in COMMANDS:
        return []
    line = _read(words)
    changed = list(words)
    for at, word in enumerate(line.words, 1):
        if "--version" in line.option_names(word) and word.text.endswith(value):
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
    changed[operator] = ("--op=" if changed[operator].startswith("--op=") else "") + command
    has_axis = any("--axis" in line.option_names(word) for word in line.words)
    axis = find(version, command).op.attr("axis")
    requires_axis = axis is not None and axis.default is None
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
    call = find_equivalent(value)
    corrected: list[str] | None = [*before, name, *rest, *options]
    if call is None:
        return did_you_mean(corrected or ())
    if before and before[-1].startswith("-"):  # the value of an option
        op = next(op for op in OPERATORS if op.full_name == call.rows[0])
        if len(op.inputs) != len(next(iter(FAMILIES.values())).ROWS[0].inputs):
            corrected = None
    else:
        corrected = _write_call(call, [*before, name], arguments_of(value) or rest, options)
    line = shell_line(corrected) if corrected else None
    more = f"`gathercli ops --like {shell_word(call.name)}` has the rest"
    return f"`{line}`; {more}" if line else more


def _write_call(
    call: Equivalent, head: list[str], words: Sequence[str], options: Sequence[str]
) -> list[str] | None:
    """Translate a call of another framework to a command line.

    Parameters
    ----------
    head
        The command, and the operator if the command requires one.
    words
        The arguments and options of the call.
    options
        Alternating names and values that make the command equal the call.

    Returns
    -------
        The words; None if the command does not accept them.
    """
    line = translate(_read([head[0], *words]))
    if line is None:
        return None
    present = {id(line.param(word.option)) for word in line.words if word.option}
    tensors = _order(call, line.arguments, has_axis=id(line.param("--axis")) in present)
    if tensors is None:
        return None
    added = [
        word
        for pair in zip(options[::2], options[1::2], strict=True)
        if id(line.param(pair[0])) not in present
        for word in pair
    ]
    return [*head, *tensors, *line.options, *added]


def _order(call: Equivalent, words: list[str], *, has_axis: bool) -> list[str] | None:
    """Reorder the arguments of another framework's call for the command."""
    op = next(op for op in OPERATORS if op.full_name == call.rows[0])
    inputs = [each.name for each in op.inputs]
    if not words:
        return _sample(op)
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
    return ["arange:2x3", "[1,2]"] if op.tuples else ["arange:3", "[2]"]


def suggest_example(
    command: str, op: Op, inputs: Sequence[str] = (), options: Sequence[str] = ()
) -> str:
    """Suggest a complete line for a command that lacks inputs of an operator.

    Parameters
    ----------
    inputs, options
        Those on the line. If a single input has members with the names of all, they are suggested.
    """
    members = members_of_all(op, inputs)
    head = [command] if command == op.family else [command, op.family]
    axis = op.attr("axis")
    lacks_axis = axis is not None and axis.default is None
    if lacks_axis and not any(word.startswith(("-a", "--axis")) for word in options):
        options = [*options, "--axis", "0"]
    line = shell_line([*head, *(members or _sample(op)), *options])
    return f"`{line}` {'names the members' if members else 'is an example'}"


def complete(line: CommandLine, inputs: Sequence[str]) -> str | None:
    """Suggest a line with the options that it lacks; return None if it lacks inputs too."""
    operator = line.arguments[0] if line.arguments else ""
    if operator not in FAMILIES or len(inputs) != len(FAMILIES[operator].ROWS[0].inputs):
        return None
    added: list[str] = []
    for param in line.params:
        if param.is_required and param.names:
            texts = [word.text for word in line.words if word.option in param.names]
            added += () if texts else (param.names[0], _value_for(line, param))
    completed = shell_line([line.command, *(word.text for word in line.words), *added])
    return f"`{completed}` is an example" if completed else None


def _value_for(line: CommandLine, param: Parameter) -> str:
    """Return a value of a required option, which may depend on ``--output``."""
    example = given("examples", str(param.metavar))
    if example is None:
        return "new"
    output = line.param("--output").names
    return str(example([word.text for word in line.words if word.option in output]))


def values_of(param: Parameter) -> list[str]:
    """Return the choices of a parameter, or the values that a slice gives it."""
    return list(given("values", str(param.metavar)) or param.choices)


def members_of_all(op: Op, inputs: Sequence[str]) -> list[str]:
    """Return the members of the only input that have the names of all inputs; nothing if one lacks.

    Standard input may have them; nobody can look.
    """
    if len(inputs) != 1:
        return []
    from gathercli.cli.names import completions

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
        name, mark, value = word.text.partition("=")
        if word.option is None or word.is_value or name not in names:
            rest.append(word.text)
        else:
            inputs[name] = value if mark else next(words, word).text
    others = CommandLine.read(line.command, line.params, rest)
    head = [operator] if operator in others.arguments else []
    free = iter(others.arguments[len(head) :])
    arguments = [inputs.get(name) or next(free, "") for name in names]
    if not all(arguments) or any(free):
        return suggest_example(line.command, op, (), others.options)
    return did_you_mean([line.command, *head, *arguments, *others.options])


def _add_operator(words: Sequence[str], error: GatherError) -> str | None:
    """Insert an operator before its inputs, or suggest the lesson with a word's name."""
    from gathercli.cli.registry import COMMANDS, command_of

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


def diagnosis_hint(words: Sequence[str], options: Mapping[str, object]) -> str | None:
    """Return the command line that diagnoses an expected output; None if no slice does.

    Parameters
    ----------
    words
        The operator, its inputs and the output.
    options
        The options that are set, by name.
    """
    if "diagnose" not in given_names("commands"):
        return None
    typed = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    line = shell_line(["diagnose", *words, *typed])
    is_read_again = not any(word == "-" or word.startswith("-#") for word in words)
    command = line if line is not None and is_read_again else "gathercli diagnose"
    return f"`{command}` names what explains the expected tensor"
