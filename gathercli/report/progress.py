"""How far a long piece of work is: one line on a terminal, which goes away when it is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

DELAY: Final = 1.0
"""Seconds of work after which it is worth a word."""

KNOWN: Final = 0.5
"""Seconds of one stage after which its rate is known."""

EVERY: Final = 0.1
"""Seconds between two states of the line."""


class Progress:
    """The line; call it with what is being done, how many bytes of it are, and of how many.

    Parameters
    ----------
    write
        Takes the characters.
    width
        Columns of the terminal.
    clock
        Counts seconds.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        width: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._width, self._clock = write, width, clock
        self._begun = self._stage = clock()
        self._what = ""
        self._drawn = 0.0
        self._shown = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say where the work is; a `total` of 0 is not known."""
        now = self._clock()
        if what != self._what:
            self._what, self._stage = what, now
        if now - self._begun < DELAY or now - self._drawn < EVERY:
            return
        self._drawn = now
        text = f"{what} {_size(done)}"
        if total:
            text += f" of {_size(total)}  {100 * done // total} %"
        if done and now - self._stage >= KNOWN:
            rate = done / max(now - self._stage, 1e-3)
            text += f"  {_size(int(rate))}/s"
            if total:
                text += f"  {duration((total - done) / rate)} left"
        self._show(text[: self._width - 1])

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            # and the ^C that a terminal writes behind it
            self._write("\r" + " " * min(self._shown + 2, self._width - 1) + "\r")
            self._shown = 0

    def _show(self, text: str) -> None:
        self._write("\r" + text.ljust(self._shown))
        self._shown = len(text)


def _size(count: int) -> str:
    """Write a number of bytes with three digits.

    >>> _size(999), _size(1_234_567), _size(12_300_000_000)
    ('999 B', '1.23 MB', '12.3 GB')
    """
    number, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 999.5:
            break
        number, unit = number / 1000, larger
    return f"{number:.3g} {unit}"


def duration(seconds: float, *, exact: bool = False) -> str:
    """Write a time as people say it.

    Parameters
    ----------
    exact
        Whether tenths of a second matter.

    >>> duration(7.2), duration(83), duration(7500), duration(7.24, exact=True)
    ('8 s', '1 min 23 s', '2 h 5 min', '7.2 s')
    """
    if exact and seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2g} s"
    whole = int(seconds) + 1 if seconds % 1 else int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
