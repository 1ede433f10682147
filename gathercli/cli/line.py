"""The words of a command line for hints, with the parameters that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gathercli.cli.command import HELP, Argument
from gathercli.cli.parser import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.cli.command import Command, Parameter
    from gathercli.cli.parser import Word


class CommandLine(NamedTuple):
    """The words after a command.

    Attributes
    ----------
    command
        Its name; empty for the program itself.
    params
        Its parameters, and `--help`.
    """

    command: str
    params: Sequence[Any]  # of `Parameter`: whether an option is meant depends on the words
    words: tuple[Word, ...]

    @classmethod
    def read(cls, command: str, params: Sequence[Parameter], args: Sequence[str]) -> CommandLine:
        """Classify the words `args` by the parameters of a command."""
        return cls(command, params, tuple(words_of(params, args)))

    @classmethod
    def of(cls, command: Command, args: Sequence[str]) -> CommandLine:
        """Classify the words after a command."""
        return cls.read(command.name, (*command.parameters.values(), HELP), args)

    @property
    def arguments(self) -> list[str]:
        """The arguments, in order."""
        return [word.text for word in self.words if word.option is None]

    @property
    def options(self) -> list[str]:
        """The options and their values, in order."""
        return [word.text for word in self.words if word.option is not None]

    @property
    def metavars(self) -> list[str]:
        """The names of the command's arguments."""
        return [str(each.metavar) for each in self.params if isinstance(each, Argument)]

    @property
    def required(self) -> int:
        """The number of required parameters."""
        return sum(param.is_required for param in self.params)

    def param(self, option: str) -> Any:
        """Return the parameter with an option, or None."""
        return next((param for param in self.params if option in param.names), None)

    def option_names(self, word: Word) -> list[str]:
        """Return every name of the option of a word."""
        param = self.param(word.option or "")
        return list(param.names) if param else []

    def position(self, word: Word) -> int:
        """Return the position of a word, compared by identity."""
        return next(at for at, each in enumerate(self.words) if each is word)

    def replace(self, word: Word, text: str) -> list[str]:
        """Return the command and its words, with `text` in place of one."""
        texts = [each.text for each in self.words]
        texts[self.position(word)] = text
        return [self.command, *texts] if self.command else texts
