"""The progress of long work: one line on a terminal, cleared at the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

DELAY: Final = 1.0
"""Seconds of work before the line appears."""

KNOWN: Final = 0.5
"""Seconds of a stage before its rate appears."""

EVERY: Final = 0.1
"""Seconds between two updates of the line."""


class StatusLine:
    """A line of a terminal of `width` columns that is rewritten in place."""

    def __init__(self, write: Callable[[str], object], width: int) -> None:
        self._write, self._width = write, width
        self._columns = 0

    def show(self, text: str) -> None:
        """Replace the line."""
        text = text[: self._width - 1]
        shown = self._columns
        # counted before it is written: an interrupt between the two would leave the line
        self._columns = max(shown, len(text))
        self._write("\r" + text.ljust(shown))
        self._columns = len(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._columns:
            # two more columns for the ^C that a terminal echoes
            self._write("\r" + " " * min(self._columns + 2, self._width - 1) + "\r")
            self._columns = 0


class Progress(StatusLine):
    """The progress line; call it with the name of a stage, the bytes done and the total bytes.

    Parameters
    ----------
    write
        A function that writes text to the terminal.
    width
        The columns of the terminal.
    clock
        A function that returns seconds.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        width: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(write, width)
        self._clock = clock
        self._start = self._stage_start = clock()
        self._stage = ""
        self._update = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Update the line if an update is due; a `total` of 0 is unknown."""
        now = self._clock()
        if stage != self._stage:
            self._stage, self._stage_start = stage, now
        if now - self._start < DELAY or now - self._update < EVERY:
            return
        self._update = now
        text = f"{stage} {_size(done)}"
        if total:
            text += f" of {_size(total)}  {100 * done // total} %"
        seconds = now - self._stage_start
        if done and seconds >= KNOWN:
            rate = done / max(seconds, 1e-3)
            text += f"  {_size(int(rate))}/s"
            if total:
                text += f"  {duration((total - done) / rate)} left"
        self.show(text)


def _size(count: int) -> str:
    """Format a number of bytes with three digits.

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
    """Format a duration in words, rounded up; under a minute with two digits if `exact`.

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
