"""Notes on stderr, collected while a command runs and printed once its result is out."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from gathercli.errors import TransferError
from gathercli.report.terminal import is_terminal, wants_color
from gathercli.report.words import note_text

STDERR: Final = 2


class Messages:
    """What the user should know beside the result.

    Parameters
    ----------
    quiet
        Whether `--quiet` was given.
    color
        The value of `--color`.
    """

    def __init__(self, quiet: bool, color: str) -> None:
        self.quiet, self.color = quiet, color
        self.notes: list[str] = []

    @property
    def watched(self) -> bool:
        """Whether a person reads stderr."""
        return not self.quiet and is_terminal(STDERR)

    def print(self) -> None:
        """Print the notes."""
        if self.notes and not self.quiet:
            self._say("".join(note_text(n, color=self._colored()) for n in self.notes))

    def say(self, text: str) -> None:
        """Tell a person something that scripts need not know."""
        if self.watched:
            self._say(text + "\n")

    def _colored(self) -> bool:
        return wants_color(self.color, STDERR)

    @staticmethod
    def _say(text: str) -> None:
        from gathercli.io.write import write_all

        with suppress(TransferError, BrokenPipeError):  # nobody listens
            write_all(STDERR, text.encode(errors="backslashreplace"))
