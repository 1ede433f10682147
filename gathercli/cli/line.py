"""Classify the words of a command line as options, their values, and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gathercli.cli.plain import is_option

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


class Word(NamedTuple):
    """A word of a command line.

    Attributes
    ----------
    option
        The name of the option, also for its value; None for an argument.
    is_value
        Whether it is the value of that option.
    """

    text: str
    option: str | None = None
    is_value: bool = False


class CommandLine(NamedTuple):
    """The words after a command.

    Attributes
    ----------
    command
        Its name; empty for the program itself.
    params
        Its parameters in typer.
    """

    command: str
    params: Sequence[Any]
    words: tuple[Word, ...]

    @classmethod
    def read(cls, command: str, params: Sequence[Any], args: Sequence[str]) -> CommandLine:
        """Classify the words `args` by the parameters of a command."""
        return cls(command, params, tuple(_read(params, args)))

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
        return [str(each.metavar) for each in self.params if each.param_type_name == "argument"]

    @property
    def required(self) -> int:
        """The number of required parameters."""
        return sum(bool(param.required) for param in self.params)

    def param(self, option: str) -> Any:
        """Return the parameter with an option, or None."""
        return next((param for param in self.params if option in param.opts), None)

    def option_names(self, word: Word) -> list[str]:
        """Return every name of the option of a word."""
        param = self.param(word.option or "")
        return list(param.opts) if param else []

    def position(self, word: Word) -> int:
        """Return the position of a word, compared by identity."""
        return next(at for at, each in enumerate(self.words) if each is word)

    def replace(self, word: Word, text: str) -> list[str]:
        """Return the command and its words, with `text` in place of one."""
        texts = [each.text for each in self.words]
        texts[self.position(word)] = text
        return [self.command, *texts] if self.command else texts


def _read(params: Sequence[Any], args: Sequence[str]) -> Iterator[Word]:
    values = {
        name: 0 if param.is_flag else param.nargs
        for param in params
        if param.param_type_name == "option"
        for name in param.opts
    }
    rest, option = 0, ""  # the number of values that follow, and their option
    for at, text in enumerate(args):
        if rest:
            yield Word(text, option, is_value=True)
            rest -= 1
        elif text == "--":
            yield Word(text, text)
            yield from map(Word, args[at + 1 :])
            return
        elif not is_option(text):
            yield Word(text)
        elif text.startswith("--"):
            option, mark, _ = text.partition("=")
            rest = 0 if mark else values.get(option, 0)
            yield Word(text, option)
        else:  # letters; the last may have its value attached
            for n, letter in enumerate(text[1:], 2):
                option = f"-{letter}"
                if values.get(option):
                    rest = values[option] if n == len(text) else 0
                    break
            yield Word(text, option)


def check_once(line: CommandLine, once: Collection[str]) -> None:
    """Refuse a second value of an option that takes one only.

    Parameters
    ----------
    once
        The first names of such options.

    Raises
    ------
    UsageError
        An option is given twice.
    """
    present: set[str] = set()
    for word in line.words:
        name = None if word.is_value else next(iter(line.option_names(word)), None)
        if name in once and name in present:
            from gathercli.errors import UsageError

            raise UsageError(
                f"`{name}` is given twice", rule="usage", value=name, expected="it once"
            )
        present.add(name or "")


def check_dashes(line: CommandLine) -> None:
    """Raise `UsageError` for ``-axis`` and ``-a=1``, which typer reads as `-a xis` and `-a =1`."""
    for word in line.words:
        if word.option is None or word.is_value or word.text.startswith("--"):
            continue
        if len(word.text) > 2 and line.param("-" + word.text.partition("=")[0]):
            from gathercli.cli.usage import one_dash

            raise one_dash(line, word)
        if word.text[2:3] == "=" and line.param(word.text[:2]):
            from gathercli.cli.usage import equals_sign

            raise equals_sign(line, word)
