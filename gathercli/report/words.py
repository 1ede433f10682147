"""What goes to stderr: errors and notes as text, errors as one line of JSON, the progress line."""

from __future__ import annotations

import re
import time
from math import isfinite

from gathercli.errors import GatherError
from gathercli.records import Any, Callable, Final, Iterator
from gathercli.text import clean, counted

LONGEST_MESSAGE = 2000  # the largest number of characters of a message
_WORDS = r" *(?:`[^`]*`|[^ ])+"  # the unbreakable pieces of a line: words, and quotations to paste
_PARTS = r" *(?:[^ ]| (?! ))+"  # the pieces of a line with several blanks between them

_BOLD_RED, _CYAN, _YELLOW, _DIM, _OFF = "\x1b[1;31m", "\x1b[36m", "\x1b[33m", "\x1b[2m", "\x1b[0m"


def error_text(error: GatherError, *, color: bool, width: int | None = None) -> str:
    """Format an error: the message, the call, a hint, the rule; then its other errors likewise.

    Errors of one rule name it once, at their end. Lines wrap at `width` columns, if there is one.
    """
    lines: list[tuple[str, str, str]] = []
    errors = [error, *error.others]
    several = len({each.rule for each in errors}) > 1
    for each in errors:
        lines += _lines(each)
        if each.rule != "usage" and (several or each is errors[-1]):
            lines.append((f"rule: {each.rule}", _DIM, ""))
    return "".join(_marked(*line, color, width) for line in lines)


def _lines(error: GatherError) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of an error alone: a mark, its style, a text."""
    chosen = f" ({error.version_from})" if error.version_from else ""
    call = [error.operator + chosen] if error.operator else []
    call += [f"{name} {each}" for name, each in error.inputs.items()]
    yield "error:", _BOLD_RED, error.message
    if call:
        yield " ", "", "   ".join(call)
    if error.rest:
        yield "also:", _CYAN, f"{counted(error.number - 1, 'more job')}: {error.rest}"
    if error.advice:
        yield "hint:", _CYAN, error.advice


def cut(line: str) -> str:
    """Shorten a long line in the middle, as its end has the expected value."""
    if len(line) <= LONGEST_MESSAGE:
        return line
    return f"{line[: LONGEST_MESSAGE * 3 // 4]}…{line[-LONGEST_MESSAGE // 4 :]}"


def error_json(error: GatherError) -> str:
    """Format an error as one line of JSON with every field.

    Errors of other causes are in one more field, `others`.
    """
    import json

    fields = error_fields(error)
    if error.others:
        fields["others"] = [*map(error_fields, error.others)]
    return json.dumps(fields) + "\n"


def error_fields(error: GatherError) -> dict[str, Any]:
    """Return the fields of an error for JSON, without further errors."""
    return {
        "error": cut(error.message),
        "status": error.status,
        "rule": error.rule,
        "operator": error.operator,
        "version_from": error.version_from,
        **({"data": None, "indices": None} | error.inputs),
        "where": _plain(error.where),
        "value": _plain(error.value),
        "expected": _plain(error.expected),
        "count": error.count,
        "hint": _plain(error.advice),
        **({"number": error.number, "rest": error.rest} if error.rest else {}),
    }


def _plain(value: object) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else cut(str(value))


def note_text(note: str, *, color: bool, width: int | None = None) -> str:
    """Format a note, with the parameters of `error_text`."""
    return _marked("note:", _YELLOW, note, color, width)


def _marked(mark: str, style: str, text: str, color: bool, width: int | None) -> str:
    """Format a line of text after a mark, wrapped with a hanging indent."""
    line = cut(f"{mark} {clean(text)}" if text else mark)
    line = _folded(line, len(mark) + 1, width, _WORDS if mark.strip() else _PARTS)
    return (f"{style}{mark}{_OFF}{line[len(mark) :]}" if color and style else line) + "\n"


def _folded(line: str, indent: int, width: int | None, pieces: str) -> str:
    r"""Wrap a line between pieces; the pattern matches a piece with the blanks before it.

    >>> print(_folded("hint: try `gathercli ops` instead", 6, 22, _WORDS))
    hint: try
          `gathercli ops`
          instead
    """
    if width is None or _columns(line) <= width:
        return line
    lines, used = "", 0
    for piece in re.findall(pieces, line):
        word = piece.lstrip(" ")
        if used > indent and used + _columns(piece) > width:
            lines += "\n" + " " * indent + word
            used = indent + _columns(word)
        else:
            lines += piece
            used += _columns(piece)
    return lines


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


PROGRESS_DELAY: Final = 1.0  # seconds of work before the line appears
RATE_DELAY: Final = 0.5  # seconds of a stage before its rate appears
PROGRESS_INTERVAL: Final = 0.1  # seconds between two updates of the line


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
    """The progress line; call it with the name of a stage, the bytes done and the total bytes."""

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
        if now - self._start < PROGRESS_DELAY or now - self._update < PROGRESS_INTERVAL:
            return
        self._update = now
        text = f"{stage} {_size(done)}"
        if total:
            text += f" of {_size(total)}  {100 * done // total} %"
        seconds = now - self._stage_start
        if done and seconds >= RATE_DELAY:
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
