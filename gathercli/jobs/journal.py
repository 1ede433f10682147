"""The report as a file: a line when a job has ended, in one piece; what it says is done.

The file is locked while a run writes it. A line that was cut, by whatever ended a run, is no line.
Where a job was done again its last line counts, and a run that comes to its end puts the lines in
the order of the jobs.
"""

from __future__ import annotations

import fcntl
import json
import os
from array import array
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli.errors import InputError, OutputError
from gathercli.io.formats.fast import is_deep
from gathercli.io.write import Output, is_stream, write_all
from gathercli.jobs.fingerprints import digest, is_done
from gathercli.jobs.work import ERROR, MISMATCH, OK
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.jobs.plan import Plan

_NONE: Final = -1
_START: Final = b'{"id":'
"""With what every line starts; only such a line can have been cut."""

_HINT: Final = (
    "`--resume` does what it does not have yet, `--resume-failed` also what failed; or remove it"
)


class Journal:
    """A report that is being written; as a context it closes the file.

    Parameters
    ----------
    path
        Where it is, or will be.
    resumes
        Whether it may be there already.

    Raises
    ------
    OutputError
        ``output``: it is there, another run writes it, or it cannot be written.
    """

    def __init__(self, path: str, plan: Plan, *, resumes: bool) -> None:
        check(path, resumes=resumes)
        self.path, self._plan = path, plan
        self._fd = _locked(path, resumes=resumes)
        self._file = open(os.dup(self._fd), "rb")  # noqa: SIM115  (closed with this)
        self._lines = array("q", [_NONE]) * len(plan)
        """Where the line of each job starts."""
        self._end = self._count = 0
        self._ordered = True
        self.strange = 0
        """Lines of jobs that are not among these, which are left out in the end."""

    def resume(
        self,
        *,
        failed: bool,
        hashed: bool,
        tell: Callable[[int, dict[str, Any]], object],
        progress: Callable[[], object],
    ) -> None:
        """Read what is there, and find what need not be done again.

        Parameters
        ----------
        failed
            Whether what failed is to be done again.
        hashed
            Whether files are compared by their contents.
        tell
            Is given the number and the line of every job that need not be done, once.
        tick
            Is called now and then.

        Raises
        ------
        InputError
            ``job``: it is no report, or one of other jobs.
        """
        places = _Places(self._plan.ids)
        strange = same = 0
        for at, line in self._read():
            progress()
            number = places.find(str(line["id"]))
            if number is None:
                strange += 1
                self._ordered = False
                continue
            same += self._is_of(number, line)
            self._ordered &= number == self._count
            self._count += 1
            self._lines[number] = at
        self.strange = strange
        if strange and not same:
            raise InputError(
                f"`{clean(self.path)}` is a report of other jobs: expected one of these",
                rule="job",
                value=self.path,
            )
        os.ftruncate(self._fd, self._end)
        for number, at in enumerate(self._lines):
            if at == _NONE:
                continue
            progress()
            line = self._at(at)
            if (failed and line["status"] != OK) or not self._holds(number, line, hashed=hashed):
                self._lines[number] = _NONE
                self._ordered = False
            else:
                tell(number, line)

    def _holds(self, number: int, line: dict[str, Any], *, hashed: bool) -> bool:
        found = self._plan.text(number)
        stamp, text = line.get("stamp"), self._plan.texts[number].to_bytes(8)
        return is_done(stamp, text, found.folder, line.get("output"), hashed=hashed)

    def _is_of(self, number: int, line: dict[str, Any]) -> bool:
        """Tell whether a line is of the job as it is now."""
        stamp = line.get("stamp")
        digest_then = stamp.get("job") if isinstance(stamp, dict) else None
        return bool(digest_then == self._plan.texts[number].to_bytes(8).hex())

    def _read(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Read every whole line, and where it starts."""
        with open(os.dup(self._fd), "rb") as file:
            file.seek(0)
            for number, text in enumerate(file, 1):
                whole = text.endswith(b"\n")
                if not whole and _START.startswith(text[: len(_START)]):
                    break
                line = _line(text) if whole else None
                if line is None:
                    raise InputError(
                        f"`{clean(self.path)}`, line {number}, is no line of a report: "
                        "expected a report of these jobs",
                        rule="job",
                        value=self.path,
                    )
                yield self._end, line
                self._end += len(text)

    def todo(self) -> Iterator[int]:
        """Return the numbers of the jobs that are to be done."""
        return (number for number, at in enumerate(self._lines) if at == _NONE)

    def write(self, number: int, line: bytes) -> None:
        """Add the line of a job."""
        write_all(self._fd, line)
        self._ordered &= number == self._count
        self._lines[number] = self._end
        self._count += 1
        self._end += len(line)

    def arrange(self) -> None:
        """Put the lines in the order of the jobs, one for each."""
        if self._ordered:
            return
        with Output(self.path) as output:
            output.open(self._end)
            for line in self.lines():
                output.stream.write(line)
            output.commit()

    def lines(self) -> Iterator[bytes]:
        """Return the line of every job that has one, in their order."""
        with open(os.dup(self._fd), "rb") as file:
            for at in self._lines:
                if at != _NONE:
                    file.seek(at)
                    yield file.readline()

    def _at(self, place: int) -> dict[str, Any]:
        self._file.seek(place)
        found: dict[str, Any] = json.loads(self._file.readline())
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        os.close(self._fd)


class _Places:
    """Finds jobs by their ids."""

    def __init__(self, ids: array[int]) -> None:
        import numpy as np

        found = np.frombuffer(ids, np.uint64)
        self._order = np.argsort(found, kind="stable")
        self._sorted = array("Q", found[self._order].tobytes())

    def find(self, name: str) -> int | None:
        """Return the number of the job, if there is one."""
        wanted = int.from_bytes(digest(name.encode(errors="surrogatepass")))
        at = bisect_left(self._sorted, wanted)
        if at < len(self._sorted) and self._sorted[at] == wanted:
            return int(self._order[at])
        return None


def _line(text: bytes) -> dict[str, Any] | None:
    """Read a line of a report, as far as it is relied on; None if it is none."""
    found = None
    with suppress(ValueError, RecursionError):
        found = None if is_deep(text.decode()) else json.loads(text)
    fits = (
        isinstance(found, dict)
        and isinstance(found.get("id"), str)
        and found.get("status") in (OK, MISMATCH, ERROR)
        and isinstance(found.get("output"), str | None)
        and isinstance(found.get("seconds", 0), int | float)
    )
    return found if fits else None


def check(path: str, *, resumes: bool) -> None:
    """Refuse a report that is there and is not to be gone on with."""
    if not resumes and os.path.lexists(path) and not is_stream(path):
        raise _refused(path, "it exists", "a new name", _HINT)


def _locked(path: str, *, resumes: bool) -> int:
    """Open a report that no other run writes."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    while True:
        fd = -1
        try:
            fd = os.open(path, flags | (0 if resumes else os.O_EXCL), 0o666)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        except FileExistsError:
            raise _refused(path, "it exists", "a new name", _HINT) from None
        except FileNotFoundError:
            if fd < 0:
                raise _refused(path, "there is no such folder", "one that is there") from None
        except BlockingIOError:
            os.close(fd)
            raise _refused(path, "another run is writing it", "to be alone") from None
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            raise _refused(path, (error.strerror or "").lower(), "a file to write") from None
        os.close(fd)  # it was replaced while we opened it


def _refused(path: str, why: str, expected: str, hint: str | None = None) -> OutputError:
    return OutputError(
        f"the report `{clean(path)}` cannot be written ({why}): expected {expected}",
        rule="output",
        value=path,
        hint=hint,
    )
