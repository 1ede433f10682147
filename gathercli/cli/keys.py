"""Single keys of a terminal, for what a person walks through."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, Self

from gathercli.cli.main import print_text
from gathercli.report.terminal import is_terminal

if TYPE_CHECKING:
    from typing import Any

STDIN: Final = 0
STDOUT: Final = 1

_WORDS: Final = {
    "next": (" ", "n", "j", "l", "\r", "\n", "\x1b[C", "\x1b[B", "\x1bOC", "\x1bOB", "\x1b[6~"),
    "back": ("p", "k", "h", "b", "\x7f", "\x1b[D", "\x1b[A", "\x1bOD", "\x1bOA", "\x1b[5~"),
    "first": ("g", "0", "\x1b[H", "\x1b[1~", "\x1bOH"),
    "last": ("G", "$", "\x1b[F", "\x1b[4~", "\x1bOF"),
    "quit": ("q", "\x1b", "\x04", ""),
}
_MEANING: Final = {key: word for word, keys in _WORDS.items() for key in keys}


def has_keys() -> bool:
    """Tell whether a person sits in front: keys come in, and what is drawn is seen."""
    return is_terminal(STDIN) and is_terminal(STDOUT)


class Keys:
    """Keys as they are pressed; as a context it leaves the terminal as it was.

    Parameters
    ----------
    screen
        Whether a screen of its own is used, which goes away at the end.
    """

    def __init__(self, *, screen: bool) -> None:
        self._screen = screen
        self._saved: Any = None

    def __enter__(self) -> Self:
        import termios
        import tty

        self._saved = termios.tcgetattr(STDIN)
        tty.setcbreak(STDIN)
        if self._screen:
            print_text("\x1b[?1049h\x1b[?25l")
        return self

    def __exit__(self, *_: object) -> None:
        import termios

        termios.tcsetattr(STDIN, termios.TCSADRAIN, self._saved)
        if self._screen and sys.stdout is not None:
            print_text("\x1b[?25h\x1b[?1049l")

    def read(self) -> str:
        """Wait for a key; return ``next``, ``back``, ``first``, ``last`` or ``quit``."""
        while True:
            key = os.read(STDIN, 16).decode("ascii", "replace")
            if key in _MEANING:
                return _MEANING[key]
