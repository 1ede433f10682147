"""The words of a command line, and what each of them is: an option, its value, or an argument."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NEGATIVE: Final = re.compile(r"-(?:\d|\.\d|inf|nan|#)", re.IGNORECASE)
"""How a word starts that is no option but a tensor: ``-1,0``, ``-.5``, ``-#data``."""


class Word(NamedTuple):
    """One word.

    Attributes
    ----------
    option
        The name of the option that it is, or whose value it is; None for an argument.
    is_value
        Whether it is the value of that option.
    """

    text: str
    option: str | None = None
    is_value: bool = False


class CommandLine(NamedTuple):
    """What was typed for a command.

    Attributes
    ----------
    command
        Its name; empty for the program.
    params
        What typer knows of its arguments and options.
    words
        Those behind the name.
    """

    command: str
    params: Sequence[Any]
    words: tuple[Word, ...]

    @classmethod
    def read(cls, command: str, params: Sequence[Any], args: Sequence[str]) -> CommandLine:
        """Tell options, their values and arguments apart."""
        return cls(command, params, tuple(_read(params, args)))

    @property
    def arguments(self) -> list[str]:
        """The words that are arguments."""
        return [word.text for word in self.words if word.option is None]

    @property
    def options(self) -> list[str]:
        """The others."""
        return [word.text for word in self.words if word.option is not None]

    def param(self, option: str) -> Any:
        """Find the option of a name."""
        return next((param for param in self.params if option in param.opts), None)


def _read(params: Sequence[Any], args: Sequence[str]) -> Iterator[Word]:
    number = {
        name: 0 if param.is_flag else param.nargs
        for param in params
        if param.param_type_name == "option"
        for name in param.opts
    }
    rest, option = 0, ""  # values of an option that are to come
    for at, text in enumerate(args):
        if rest:
            yield Word(text, option, is_value=True)
            rest -= 1
        elif text == "--":
            yield Word(text, text)
            yield from map(Word, args[at + 1 :])
            return
        elif text[:1] != "-" or text == "-" or NEGATIVE.match(text):
            yield Word(text)
        elif text.startswith("--"):
            option, mark, _ = text.partition("=")
            rest = 0 if mark else number.get(option, 0)
            yield Word(text, option)
        else:  # letters, of which the last may have its value behind it
            for n, letter in enumerate(text[1:], 2):
                option = f"-{letter}"
                if number.get(option):
                    rest = number[option] if n == len(text) else 0
                    break
            yield Word(text, option)


def check_dashes(line: CommandLine) -> None:
    """Refuse ``-axis`` and ``-a=1``, which would be `-a` with the values ``xis`` and ``=1``.

    Raises
    ------
    UsageError
        A word is the name of an option with one dash less, or has ``=`` behind a letter.
    """
    for word in line.words:
        if word.option is None or word.is_value or word.text.startswith("--"):
            continue
        if len(word.text) > 2 and line.param("-" + word.text.partition("=")[0]):
            from gathercli.cli.usage import one_dash

            raise one_dash(line, word)
        if word.text[2:3] == "=" and line.param(word.text[:2]):
            from gathercli.cli.usage import equals_sign

            raise equals_sign(line, word)
