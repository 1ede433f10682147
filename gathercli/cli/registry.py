"""The commands by name: the module of each, and a line of help."""

from __future__ import annotations

from gathercli.cli.declarations import Command
from gathercli.cli.parser import CommandLine
from gathercli.ops import FAMILIES, summary
from gathercli.records import Final, NamedTuple, Sequence
from gathercli.slices import SLICES, SUMMARIES, SUMMARIES_OF_MODELS, given


class CommandEntry(NamedTuple):
    """The module with a command's function ``run``, and a line of help."""

    module: str
    help: str


_OF_THE_CORE: Final = ("shape", "check", "compare", "convert", "info", "ops", "man", "completion")
_MODULES: Final = {name: f"cli.commands.{name}" for name in _OF_THE_CORE} | {
    name: module for each in SLICES for name, module in each.commands.items()
}
# The commands by name, in the order of help.
COMMANDS: Final = {
    **{name: CommandEntry("cli.commands.operators", summary(f)) for name, f in FAMILIES.items()},
    **{
        name: CommandEntry(_MODULES[name], SUMMARIES[name])
        for name in SUMMARIES
        if name in _MODULES
    },
}
# The commands that also take models in place of an operator and tensors, in that form.
OF_MODELS: Final = {
    name: CommandEntry(module, SUMMARIES_OF_MODELS[name])
    for each in SLICES
    for name, module in each.forms.items()
}


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
