"""The commands by name: the module of each, and a line of help."""

from __future__ import annotations

from gathercli.cli.declarations import Command
from gathercli.cli.parser import CommandLine
from gathercli.ops import FAMILIES, summary
from gathercli.records import Final, Sequence
from gathercli.slices import COMMAND_ORDER, SLICES, CommandEntry, given

_HELP: Final = {
    "shape": "Infer the output shape from shapes alone.",
    "check": "List illegal indices of a call or in models, and what every version does.",
    "compare": "Run the same inputs through every version and compare results.",
    "convert": "Convert tensors between the formats, whole folders of them.",
    "info": "Describe files: type, shape, statistics, a preview.",
    "ops": "List, describe, compare and find operator versions.",
    "man": "Show the manual.",
    "completion": "Print the completion script of a shell.",
}
_EVERY: Final = {
    **{name: CommandEntry("cli.commands.operators", summary(f)) for name, f in FAMILIES.items()},
    **{name: CommandEntry(f"cli.commands.{name}", text) for name, text in _HELP.items()},
    **{name: entry for each in SLICES for name, entry in each.commands.items()},
}
# The commands by name, in the order of help.
COMMANDS: Final = {name: _EVERY[name] for name in (*FAMILIES, *COMMAND_ORDER) if name in _EVERY}
# The commands that also take models in place of an operator and tensors, in that form.
OF_MODELS: Final = {name: entry for each in SLICES for name, entry in each.forms.items()}


def takes_models(name: str, words: Sequence[str]) -> bool:
    """Return whether the words after a command name models, so that its other form is meant.

    >>> takes_models("check", ["-f", "json", "m.onnx"])
    True
    >>> takes_models("check", ["gather", "m.onnx", "0,"])
    False
    """
    takes = given("takes", name)
    return takes is not None and takes(CommandLine.of(command_of(name), words))


def command_of(name: str, *, models: bool = False) -> Command:
    """Import a command, in its form for models if `models`."""
    entry = OF_MODELS[name] if models else COMMANDS[name]
    # The package `importlib` takes as long to import as the command's own module.
    module = __import__(f"gathercli.{entry.module}", fromlist=["run"])
    return Command(name, module.run, models=models)
