"""The help of commands, and its plain text; typer draws that of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Final

from gathercli.cli.declarations import ALL, HELP, VERSION, Command, Parameter
from gathercli.cli.generated import examples
from gathercli.cli.registry import COMMANDS, OF_MODELS, command_of
from gathercli.ops import OPERATORS
from gathercli.text import counted, listed

ARGUMENTS: Final = "Arguments"
MOST_HELP_EXAMPLES: Final = 3
WIDEST_HELP: Final = 100
NARROWEST_HELP: Final = 50
# The width of the column of names beyond which the text begins on the next line.
WIDEST_NAME: Final = 30

PROGRAM: Final = "gathercli"
PROGRAM_HELP: Final = (
    f"{listed(dict.fromkeys(op.name for op in OPERATORS), 'and')}, exactly as each OpenVINO and "
    "ONNX version says."
)
START: Final = f"Start with: gathercli {'demo' if 'demo' in COMMANDS else 'man'}"


class CommandHelp:
    """What the help of a command says in any form, with its rare options if `every`."""

    def __init__(self, command: Command, *, every: bool) -> None:
        name = command.name
        of_models = f"{name} model.onnx"
        forms = [command]
        if name in OF_MODELS and not command.models:
            forms.append(command_of(name, models=True))
        self.usages = [(f"{PROGRAM} {name} ", _words(each)) for each in forms]
        self.summary = (OF_MODELS if command.models else COMMANDS)[name].help
        if len(forms) > 1:
            self.summary += f" `{PROGRAM} {of_models} --help` has the options for models."
        self.parameters = command.shown(every=every)
        topic = f"{name}-models" if command.models else name
        self.examples = examples(topic)[:MOST_HELP_EXAMPLES]
        self.pointers = [f"Rules and examples: {PROGRAM} man {name}"]
        if rare := len(command.shown(every=True)) - len(self.parameters):
            more = f"{PROGRAM} {of_models if command.models else name} {HELP.names[0]} {ALL}"
            self.pointers.insert(0, f"{counted(rare, 'more option')}: {more}")


def _words(command: Command) -> str:
    """Return what follows the name of a command, an optional argument in brackets."""
    words = ["[OPTIONS]"]
    for each in command.arguments:
        name = str(each.metavar)
        words.append(name if each.is_required or name.startswith("[") else f"[{name}]")
    return " ".join(words)


def help_of(command: Command, width: int, *, every: bool = False) -> str:
    """Return the help of a command as plain text."""
    said = CommandHelp(command, every=every)
    groups: dict[str, list[tuple[str, str]]] = {}
    for each in said.parameters.values():
        group = each.group if each.names else ARGUMENTS
        groups.setdefault(group, []).append((each.label, _text(each)))
    return "\n".join(
        [
            _usage(said.usages, width),
            _wrapped(said.summary, width),
            *(f"{name}:\n{_terms(pairs, width)}" for name, pairs in groups.items()),
            "Examples:\n" + "".join(f"  {shows}\n    {line}\n" for shows, line in said.examples),
            "".join(_wrapped(each, width) for each in said.pointers),
        ]
    )


def help_of_program(width: int) -> str:
    """Return the help of the program as plain text."""
    options = [(each.label, _text(each)) for each in (VERSION, HELP)]
    commands = [(name, each.help) for name, each in COMMANDS.items()]
    return "\n".join(
        [
            _usage([(f"{PROGRAM} ", "[OPTIONS] COMMAND [ARGS]...")], width),
            _wrapped(PROGRAM_HELP, width),
            f"Options:\n{_terms(options, width)}",
            f"Commands:\n{_terms(commands, width)}",
            _wrapped(START, width),
        ]
    )


def _inner(width: int) -> int:
    """Return how many columns the text has."""
    return max(min(width, WIDEST_HELP) - 2, NARROWEST_HELP)


def _usage(forms: list[tuple[str, str]], width: int) -> str:
    lines: list[str] = []
    for program, words in forms:
        lines.append(_wrapped(words, width, f"{'       ' if lines else 'Usage: '}{program}"))
    return "".join(lines)


def _wrapped(text: str, width: int, first: str = "  ") -> str:
    lines = textwrap.wrap(text, _inner(width) - len(first), break_on_hyphens=False)
    return first + f"\n{' ' * len(first)}".join(lines) + "\n"


def _terms(pairs: Iterable[tuple[str, str]], width: int) -> str:
    """Lay out names and what they mean in two columns."""
    pairs = list(pairs)
    column = min(max(len(name) for name, _ in pairs), WIDEST_NAME) + 2
    inner = max(_inner(width) - column - 2, 10)
    lines: list[str] = []
    for name, text in pairs:
        start = f"  {name:{column}}" if len(name) <= column - 2 else " " * (column + 2)
        lines += [] if start.strip() or not name else [f"  {name}"]
        rest = textwrap.wrap(text, inner, break_on_hyphens=False) or [""]
        lines += [f"{start}{rest[0]}".rstrip(), *(" " * (column + 2) + each for each in rest[1:])]
    return "".join(f"{line}\n" for line in lines)


def _text(parameter: Parameter) -> str:
    """Return the help of a parameter, and what it must be."""
    marks = []
    if not parameter.min is parameter.max is None:
        least = "" if parameter.min is None else f"{parameter.min}<="
        most = "" if parameter.max is None else f"<={parameter.max}"
        marks.append(f"{least}x{most}" if most else f"x>={parameter.min}")
    if parameter.is_required:
        marks.append("required")
    return f"{parameter.help}  [{'; '.join(marks)}]" if marks else parameter.help
