"""Screens on a terminal that keys walk through."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final, Self

from gathercli.io.descriptors import STDOUT
from gathercli.io.files import STDIN
from gathercli.report.terminal import height_of, is_terminal, print_text, width_of
from gathercli.text import table_beside

_WORDS: Final = table_beside(__name__)
_MEANING: Final = {key: word for word, keys in _WORDS.items() for key in keys}
_KEY: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[ -~]|\x1b[^[O]|[^\x1b]", re.DOTALL)

_WAIT: Final = 0.05  # seconds after which an Escape is the Escape key, not the start of a sequence


def has_keys() -> bool:
    """Return whether stdin and stdout are terminals."""
    return is_terminal(STDIN) and is_terminal(STDOUT)


class Keys:
    """A context that reads keys and restores the terminal at its end."""

    def __init__(self) -> None:
        self._saved: Any = None
        self._pressed = ""
        self._signals, self._woken = os.pipe()
        self._before = -1

    def __enter__(self) -> Self:
        import signal
        import termios
        import tty

        self._saved = termios.tcgetattr(STDIN)
        signal.signal(signal.SIGWINCH, lambda *_: None)
        # `select` misses a signal that arrives just before it, but not the byte written for it.
        os.set_blocking(self._woken, False)
        self._before = signal.set_wakeup_fd(self._woken)
        try:
            tty.setcbreak(STDIN)
            ours = termios.tcgetattr(STDIN)
            # Ctrl-Z would leave the alternate screen active: disable it.
            ours[6][termios.VSUSP] = bytes([os.fpathconf(STDIN, "PC_VDISABLE")])
            termios.tcsetattr(STDIN, termios.TCSANOW, ours)
            print_text("\x1b[?1049h\x1b[?25l")
        except BaseException:  # an interrupt: Python calls no `__exit__` then
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        import signal
        import termios

        signal.set_wakeup_fd(self._before)
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        termios.tcsetattr(STDIN, termios.TCSADRAIN, self._saved)
        for fd in (self._signals, self._woken):
            os.close(fd)
        print_text("\x1b[?25h\x1b[?1049l")

    def read(self) -> str:
        """Wait for a key; return ``next``, ``back``, ``first``, ``last``, ``answer`` or ``quit``.

        Return ``same`` if the terminal is resized.
        """
        from select import select

        while True:
            match = _KEY.match(self._pressed)
            if match is None:
                wait = _WAIT if self._pressed else None
                ready, _, _ = select([STDIN, self._signals], [], [], wait)
                if self._signals in ready:
                    os.read(self._signals, 64)
                    return "same"
                if ready:
                    more = os.read(STDIN, 64).decode("ascii", "replace")
                    if not more:  # the terminal is closed
                        return "quit"
                    self._pressed += more
                    continue
            key = match[0] if match else self._pressed
            self._pressed = self._pressed[len(key) :]
            if key in _MEANING:
                return _MEANING[key]

    def walk(
        self,
        lay: Callable[[int], tuple[int, int]],
        screen: Callable[[int], str],
        answer: Callable[[int], str] | None = None,
    ) -> None:
        """Show screens, and move between them with keys until one quits.

        `lay` lays them out for the size of the terminal: it returns the new number of one, and the
        number of all. Only the first `room()` lines of a screen are shown; `answer` answers the
        question of one.
        """
        answered = False
        at, count = lay(0)
        while at < count:
            text = answer(at) if answer and answered else screen(at)
            self._show(text, ("lesson" if answered else "answer") if answer else "")
            key = self.read()
            while key == "answer" and not answer:
                key = self.read()
            if key == "quit":
                return
            if key == "answer" or (key == "back" and answered):
                answered = not answered
            elif key == "same":
                at, count = lay(at)
            else:
                answered = False
                at = {"next": at + 1, "back": at - 1, "first": 0, "last": count - 1}[key]
                at = max(0, min(at, count - 1))

    @staticmethod
    def _show(text: str, turned: str) -> None:
        """Show the first `room()` lines of a text, and the keys, in short if they do not fit.

        `turned` is what the key of answers turns to; blank where there are none.
        """
        lines = text.rstrip("\n").split("\n")[: room()]
        below = [""] * (room() - len(lines))
        answers = f"?: {turned}   " if turned else ""
        legend = f"space: next   b: back   {answers}g, G: first, last   q: quit"
        if (width_of(STDOUT) or 0) <= len(legend):
            legend = f"keys: space b {'? ' if turned else ''}g G q"
        print_text("\x1b[2J\x1b[H" + "\n".join([*lines, *below, f"{legend} "]))


def room() -> int:
    """Return the number of lines above the legend of the keys."""
    return max(height_of(STDOUT) - 1, 1)
