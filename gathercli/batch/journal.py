"""The report as a file, to which one write appends the lines of the jobs that have just ended.

The file is locked while a run writes it. A killed run may leave an incomplete line, which is
ignored. Of several lines of a job the last counts. At its end a run sorts the lines by job.
"""

from __future__ import annotations

import fcntl
import json
import os
from array import array
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli.batch.fingerprints import digest, is_done
from gathercli.batch.outcome import ERROR, MISMATCH, OK
from gathercli.errors import InputError, OutputError, TransferError
from gathercli.io.descriptors import write_all
from gathercli.io.formats.fast import is_deep
from gathercli.io.write import Output, is_stream
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.batch.outcome import Outcome
    from gathercli.batch.plan import Plan

_NONE: Final = -1
_START: Final = b'{"id":'
"""The start of every line, by which an incomplete one is recognized."""

_HINT: Final = (
    "`--resume` does what it does not have yet, `--resume-failed` also what failed; or remove it"
)


class Journal:
    """A context for an open report file.

    Parameters
    ----------
    resumes
        Whether the file may exist.

    Attributes
    ----------
    foreign
        The number of lines of jobs outside the plan; `arrange` drops them.

    Raises
    ------
    OutputError
        ``output``: the file exists, is locked by another run, or cannot be written.
    """

    def __init__(self, path: str, plan: Plan, *, resumes: bool) -> None:
        self.path, self._plan = path, plan
        self._fd = open_locked(path, resumes=resumes)
        self._file = open(os.dup(self._fd), "rb")  # noqa: SIM115  (closed with this)
        self._offsets = array("q", [_NONE]) * len(plan)
        """The offset of the line of each job."""
        self._end = self._count = 0
        self._sorted = True
        self.foreign = 0

    def resume(
        self,
        *,
        failed: bool,
        digests: bool,
        keep: Callable[[int, dict[str, Any]], object],
        progress: Callable[[], object],
    ) -> None:
        """Read the lines of an earlier run; drop those of jobs to repeat.

        Parameters
        ----------
        failed
            Whether to repeat failed jobs.
        digests
            Whether to compare files by content.
        keep
            Called with the number and line of each job that is not repeated.
        progress
            Called after each line.

        Raises
        ------
        InputError
            ``job``: the file is not a report of these jobs.
        """
        numbers = _Numbers(self._plan.ids)
        own = 0
        for offset, line in self._read():
            progress()
            number = numbers.find(str(line["id"]))
            if number is None:
                self.foreign += 1
                self._sorted = False
                continue
            own += self._has_text_of(number, line)
            self._sorted &= number == self._count
            self._count += 1
            self._offsets[number] = offset
        if self.foreign and not own:
            raise InputError(
                f"`{clean(self.path)}` is a report of other jobs",
                rule="job",
                value=self.path,
                expected="one of these",
            )
        os.ftruncate(self._fd, self._end)
        for number in range(len(self._offsets)):
            if self._offsets[number] == _NONE:
                continue
            progress()
            line = self._line(number)
            if (failed and line["status"] != OK) or not self._is_done(
                number, line, digests=digests
            ):
                self._offsets[number] = _NONE
            else:
                keep(number, line)

    def _is_done(self, number: int, line: dict[str, Any], *, digests: bool) -> bool:
        """Return whether the job and its files are unchanged."""
        folder, text = self._plan.entry(number).folder, self._plan.texts[number].to_bytes(8)
        return is_done(line.get("stamp"), text, folder, line.get("output"), digests=digests)

    def _has_text_of(self, number: int, line: dict[str, Any]) -> bool:
        """Return whether a line was written for the present text of the job."""
        stamp = line.get("stamp")
        earlier = stamp.get("job") if isinstance(stamp, dict) else None
        return bool(earlier == self._plan.texts[number].to_bytes(8).hex())

    def _read(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the offset and the content of each complete line."""
        with open(os.dup(self._fd), "rb") as file:
            for number, text in enumerate(file, 1):
                is_whole = text.endswith(b"\n")
                if not is_whole and _START.startswith(text[: len(_START)]):
                    break
                line = _parse(text) if is_whole else None
                if line is None:
                    raise InputError(
                        f"`{clean(self.path)}`, line {number}, is not a line of a report",
                        rule="job",
                        value=self.path,
                        expected="a report of these jobs",
                    )
                yield self._end, line
                self._end += len(text)

    def todo(self) -> Iterator[int]:
        """Yield the numbers of the jobs without a line."""
        return (number for number, offset in enumerate(self._offsets) if offset == _NONE)

    def write(self, outcomes: list[Outcome]) -> None:
        """Append the lines of jobs, by one write."""
        try:
            lines = b"".join([outcome.line for outcome in outcomes])
            write_all(self._fd, lines, place=place_of(self.path))
        except TransferError as error:
            error.hint = "`--resume` does the rest when there is room for it"
            raise
        at = self._end
        for number, _, line, _ in outcomes:
            self._sorted &= number == self._count
            self._offsets[number] = at
            self._count += 1
            at += len(line)
        self._end = at

    def cut(self) -> None:
        """Remove the lines of a `write` that an interruption ended, which are written again."""
        os.ftruncate(self._fd, self._end)

    def arrange(self) -> None:
        """Sort the lines by job, and keep the last line of each."""
        if self._sorted:
            return
        with Output(self.path) as output:
            output.open(self._end)
            for _, line in self.lines():
                output.stream.write(line)
            output.commit()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each job, in order, and its line."""
        with open(os.dup(self._fd), "rb") as file:
            for number, offset in enumerate(self._offsets):
                if offset != _NONE:
                    file.seek(offset)
                    yield number, file.readline()

    def _line(self, number: int) -> dict[str, Any]:
        self._file.seek(self._offsets[number])
        line: dict[str, Any] = json.loads(self._file.readline())
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        os.close(self._fd)


class _Numbers:
    """The numbers of jobs by their ids."""

    def __init__(self, ids: array[int]) -> None:
        import numpy as np

        digests = np.frombuffer(ids, np.uint64)
        self._order = np.argsort(digests, kind="stable")
        self._digests = array("Q", digests[self._order].tobytes())

    def find(self, name: str) -> int | None:
        """Return the number of the job with this id; None if there is none."""
        key = int.from_bytes(digest(name.encode(errors="surrogatepass")))
        at = bisect_left(self._digests, key)
        if at < len(self._digests) and self._digests[at] == key:
            return int(self._order[at])
        return None


def _parse(text: bytes) -> dict[str, Any] | None:
    """Parse a line of a report and check its keys; return None if it is invalid."""
    line = None
    with suppress(ValueError, RecursionError):
        line = None if is_deep(text.decode()) else json.loads(text)
    fits = (
        isinstance(line, dict)
        and isinstance(line.get("id"), str)
        and line.get("status") in (OK, MISMATCH, ERROR)
        and isinstance(line.get("output"), str | None)
        and isinstance(line.get("seconds", 0), int | float)
    )
    return line if fits else None


def check(path: str, *, resumes: bool) -> None:
    """Raise if a report exists and `resumes` is False."""
    if not resumes and os.path.lexists(path) and not is_stream(path):
        raise _unwritable(path, "it exists", "a new name", _HINT)


def place_of(path: str) -> str:
    """Return a report as the place of an error."""
    return f"the report `{clean(path)}`"


def open_locked(path: str, *, resumes: bool) -> int:
    """Open and lock a report; raise if another run has locked it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    while True:
        fd = -1
        try:
            fd = os.open(path, flags | (0 if resumes else os.O_EXCL), 0o666)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        except FileExistsError:
            raise _unwritable(path, "it exists", "a new name", _HINT) from None
        except FileNotFoundError:
            if fd < 0:
                raise _unwritable(path, "there is no such folder", "one that is there") from None
        except BlockingIOError:
            os.close(fd)
            raise _unwritable(path, "another run is writing it", "to be alone") from None
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            raise _unwritable(path, (error.strerror or "").lower(), "a file to write") from None
        os.close(fd)  # the file was replaced between open and flock


def _unwritable(path: str, why: str, expected: str, hint: str | None = None) -> OutputError:
    return OutputError(
        f"{place_of(path)} cannot be written ({why})",
        rule="output",
        value=path,
        expected=expected,
        hint=hint,
    )
