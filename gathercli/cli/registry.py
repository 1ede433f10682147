"""The commands by name: the module of each, and a line of help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.ops import FAMILIES, summary

if TYPE_CHECKING:
    from typer.core import TyperCommand

    from gathercli.cli.command import Command


class CommandEntry(NamedTuple):
    """The module with a command's function ``run``, and a line of help."""

    module: str
    help: str


COMMANDS: Final = {
    **{name: CommandEntry("gather", summary(family)) for name, family in FAMILIES.items()},
    "shape": CommandEntry("shape", "Infer the output shape from shapes alone."),
    "explain": CommandEntry("explain", "Draw where every output cell came from."),
    "check": CommandEntry("check", "List illegal indices, and what every version makes of a call."),
    "compare": CommandEntry("compare", "Put the same inputs through every version: who agrees."),
    "batch": CommandEntry("batch", "Do thousands of jobs from a file, and report on each."),
    "convert": CommandEntry(
        "convert", "Convert tensors between the formats, whole folders of them."
    ),
    "info": CommandEntry("info", "Describe files: type, shape, statistics, a preview."),
    "model": CommandEntry("model", "List the Gather nodes of a model, and what each refuses."),
    "demo": CommandEntry("demo", "Show the examples of the specifications as short lessons."),
    "ops": CommandEntry("ops", "The operator versions: list, write out, compare, find."),
    "man": CommandEntry("man", "Show the manual."),
    "completion": CommandEntry("completion", "Print the completion script of a shell."),
}


def command_of(name: str) -> Command:
    """Import a command."""
    from importlib import import_module

    from gathercli.cli.command import Command

    return Command(name, import_module(f"gathercli.cli.commands.{COMMANDS[name].module}").run)


def load(name: str) -> TyperCommand:
    """Import a command and let typer inspect its parameters."""
    from gathercli.cli.group import typer_command

    return typer_command(command_of(name), COMMANDS[name].help)
