"""Notes on stderr, collected while a command runs and printed once its result is out."""

from __future__ import annotations

from contextlib import suppress

from gathercli.errors import TransferError
from gathercli.io.write import STDERR, write_all
from gathercli.report.terminal import is_terminal, wants_color


class Messages:
    """What the user should know beside the result.

    Parameters
    ----------
    quiet
        Whether `--quiet` was given.
    color
        The value of `--color`.
    json_errors
        Whether a refusal is to be the only line on stderr.
    """

    def __init__(self, quiet: bool, color: str, *, json_errors: bool = False) -> None:
        self.quiet, self.color, self.json_errors = quiet, color, json_errors
        self.notes: list[str] = []

    @property
    def watched(self) -> bool:
        """Whether a person reads stderr."""
        return not self.quiet and is_terminal(STDERR)

    def print(self) -> None:
        """Print the notes."""
        if self.notes and not self.quiet:
            from gathercli.report.words import note_text

            self._say("".join(note_text(n, color=self._colored()) for n in self.notes))

    def say(self, text: str) -> None:
        """Tell a person something that scripts need not know."""
        if self.watched:
            self._say(text + "\n")

    def _colored(self) -> bool:
        return wants_color(self.color, STDERR)

    @staticmethod
    def _say(text: str) -> None:
        with suppress(TransferError, BrokenPipeError):  # nobody listens
            write_all(STDERR, text.encode(errors="backslashreplace"))
