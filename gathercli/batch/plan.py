"""All jobs of a batch, validated before the first one runs.

The text of each valid job is copied to an unnamed file, so that later changes of its file have no
effect. Memory contains only the offset of the copy and a few digests.
"""

from __future__ import annotations

import os
import stat
from array import array
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

from gathercli.batch.outcome import cause_of, digest
from gathercli.batch.paths import MAX_PATH, JobPaths, repeated
from gathercli.errors import GatherError, InputError, LimitError, TransferError
from gathercli.io import jobs, save
from gathercli.io.formats.table import names_chunks
from gathercli.io.jobfile import ITEM, LINE, JobEntry, job_error, place_of
from gathercli.io.stream import EXPECTED_ROOM, temporary_file
from gathercli.io.write import descriptor_of, is_stream
from gathercli.text import clean, counted, json_string, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gathercli.io.jobs import Job


_DIGEST_TYPECODE: Final = "Q"

MAX_KEPT_PLACES: Final = 10_000
"""The most further mistakes reported by place, as there may be millions."""

MAX_LISTED_PLACES: Final = 20
"""The most places listed for a cause; a range of lines counts as one."""


class Spool:
    """A context for an unnamed file of jobs, each a record of bytes.

    TransferError (``unreadable``) says that the disk has no room for it.
    """

    def __init__(self) -> None:
        self._file = temporary_file()
        self.fd = self._file.fileno()
        self._starts = array(_DIGEST_TYPECODE, [0])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, record: bytes) -> None:
        """Append the record of a job."""
        try:
            self._file.write(record)
        except OSError as error:
            raise _not_kept(error) from None
        self._starts.append(self._starts[-1] + len(record))

    def flush(self) -> None:
        """Make the records visible to `record` and to other processes."""
        try:
            self._file.flush()
        except OSError as error:
            raise _not_kept(error) from None

    def clear(self) -> None:
        """Remove all records."""
        self._file.seek(0)
        self._file.truncate()
        del self._starts[1:]

    def span(self, number: int) -> tuple[int, int]:
        """Return the start and stop of a record in the file."""
        return self._starts[number], self._starts[number + 1]

    def record(self, number: int) -> bytes:
        """Return the record of a job."""
        start, stop = self.span(number)
        return os.pread(self.fd, stop - start, start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # of a full disk, to which a record was left to write
            self._file.close()


class Plan(Spool):
    """The valid jobs of a batch, with digests of their ids and of their texts.

    `reserved` describes the files that no job may write, ``the report``; `limit` is the most bytes
    of memory that a model may take. `progress` is called for each job with ``validated``, then for
    those with paths like others' with ``compared``, and the number of jobs so far; `inspect` with
    each valid job and its JSON, in order. InputError (``job``, ``version``) lists all mistakes.
    """

    def __init__(
        self,
        entries: Iterable[JobEntry],
        *,
        allow_outside: bool = False,
        reserved: dict[str, str] | None = None,
        limit: int | None = None,
        progress: Callable[[str, int], object] = lambda *_: None,
        inspect: Callable[[Job, bytes], object] = lambda *_: None,
    ) -> None:
        super().__init__()
        self._progress, self._inspect = progress, inspect
        self.ids, self.texts = array(_DIGEST_TYPECODE), array(_DIGEST_TYPECODE)
        self._paths = JobPaths(allow_outside=allow_outside, reserved=reserved or {})
        self._mistakes = Mistakes()
        self._kinds = jobs.JobKinds(limit)
        self._positions = array(_DIGEST_TYPECODE)
        """The position of each job among all entries, including malformed ones."""
        self._entries = 0
        try:
            self._read_all(entries)
            self._check()
            self._progress = lambda *_: None  # jobs that are read later are not validated
        except BaseException:
            self.__exit__()
            raise

    def entry(self, number: int) -> JobEntry:
        """Return the entry of a job, without line and column."""
        return JobEntry.parse(self.record(number))

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, str, Job]]:
        """Parse jobs again; yield the number, the place and the job."""
        for count, number in enumerate(numbers, 1):
            self._progress("compared", count)
            entry = self.entry(number)
            yield number, entry.where, jobs.read_again(entry)

    def output_folders(self, numbers: Iterable[int]) -> set[str]:
        """Return the folders into which jobs write."""
        paths = (
            os.path.join(job.folder, job.output.rstrip("/"))
            for _, _, job in self.read(numbers)
            if job.output is not None
        )
        return set(map(os.path.dirname, paths))

    def _read_all(self, entries: Iterable[JobEntry]) -> None:
        """Read all jobs and copy their text."""
        try:
            for entry in entries:
                self._read(entry)
                self._entries += 1
                self._progress("validated", self._entries)
            self.flush()
        except (InputError, LimitError) as error:  # the rest cannot be split into jobs
            self._mistakes.add(self._entries, error)

    def _read(self, entry: JobEntry) -> None:
        """Read a job; copy it even if its output is invalid, for the other checks."""
        try:
            entry = self._kinds.expand(entry)
            job = jobs.read(entry)
        except InputError as error:
            self._mistakes.add(self._entries, error)
            return
        try:
            is_link = _check_output(job, entry.where)
            self._paths.add(len(self), job, entry.where, is_link=is_link)
        except InputError as error:
            self._mistakes.add(self._entries, error)
        self.add(entry.record())
        self._inspect(job, entry.text)
        self._positions.append(self._entries)
        self.ids.append(int.from_bytes(digest(job.id.encode(errors="surrogatepass"))))
        self.texts.append(int.from_bytes(digest(entry.text)))

    def _check(self) -> None:
        """Raise for conflicts between jobs, and for all earlier mistakes."""
        for number, error in chain(self._repeated(), self._paths.mistakes(self.read, len(self))):
            self._mistakes.add(self._positions[number], error)
        self._mistakes.check()
        if not len(self):
            raise InputError("there is no job", rule="job", expected="at least one")

    def _repeated(self) -> Iterator[tuple[int, InputError]]:
        """Yield errors for jobs with the id of an earlier one."""
        seen: dict[str, str] = {}
        for number, where, job in self.read(_duplicates(self.ids)):
            if job.id in seen:
                what = f"`$.id` is `{json_string(short(job.id))}`, as at {seen[job.id]}"
                yield number, job_error(where, what, "a new one", value=job.id)
            else:
                seen[job.id] = where


def _not_kept(error: OSError) -> TransferError:
    """Return the error for a disk without room for the jobs."""
    what = f"the jobs could not be kept in a temporary file ({error.strerror})"
    return TransferError(what, rule="unreadable", expected=EXPECTED_ROOM)


def _duplicates(digests: array[int]) -> list[int]:
    """Return the numbers of jobs whose digest occurs more than once."""
    twice = repeated(digests)
    return [number for number, each in enumerate(digests) if each in twice] if twice else []


def _check_output(job: Job, where: str) -> bool:
    """Raise if the output of a job cannot be written; return whether it may be a link."""
    if job.output is None:
        return False
    if len(job.output) > MAX_PATH:
        raise _no_output(where, job.output, f"it has {counted(len(job.output), 'character')}")
    try:
        fmt = save.format_of(job.output)
        if names_chunks(job.output):
            save.creator(fmt)(os.path.join(job.folder, job.output))
            return True
    except GatherError as error:
        raise InputError.of(
            error,
            rule="job",
            places=(where, "`$.output`", *error.places),
            where=where,
            value=job.output,
            hint=None,
        ) from None
    why, is_link = _look_up(os.path.join(job.folder, job.output))
    if why is not None:
        raise _no_output(where, job.output, f"`{clean(job.output)}` {why}")
    return is_link


def _look_up(path: str) -> tuple[str | None, bool]:
    """Return why a path cannot be an output file, if so, and whether it may be a link."""
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            return None, False
    except FileNotFoundError:
        if descriptor_of(path) is None:
            return None, False
    except (OSError, ValueError):
        pass  # as below
    return _why_no_file(path), True


def _why_no_file(path: str) -> str | None:
    """Return why a path cannot be an output file; None if it can."""
    try:
        if os.path.isdir(path):
            return "is a folder"
        return "is a device or a pipe" if is_stream(path) else None
    except NotADirectoryError:
        return "lies below a file"
    except OSError as error:
        return f"cannot be a file ({error.strerror})"
    except ValueError:
        return "holds what no name can"


def _no_output(where: str, output: str, what: str) -> InputError:
    """Return the error for an output that no file can be."""
    return InputError(
        what,
        rule="job",
        places=(where, "`$.output`"),
        where=where,
        value=output,
        expected="the name of a file",
    )


class _Cause:
    """The mistakes of one cause: their number, the first of them, and places of all."""

    def __init__(self, position: int, error: GatherError) -> None:
        self.number, self.position, self.error = 0, position, error
        self.places: list[tuple[int, str]] = []

    def add(self, position: int, error: GatherError) -> None:
        """Add the mistake of the job at a position in its files."""
        self.number += 1
        if position < self.position:
            self.position, self.error = position, error
        if len(self.places) < MAX_KEPT_PLACES:
            self.places.append((position, str(error.where)))

    def summed_up(self) -> GatherError:
        """Return the first mistake, with the number and the places of the others."""
        _, *others = sorted(self.places)
        self.error.number = self.number
        self.error.rest = places(where for _, where in others)
        return self.error


class Mistakes:
    """The mistakes of jobs, by cause."""

    def __init__(self) -> None:
        self._causes: dict[str, _Cause] = {}

    def add(self, position: int, error: GatherError) -> None:
        """Add the mistake of the job at a position in its files."""
        self._causes.setdefault(cause_of(error), _Cause(position, error)).add(position, error)

    def check(self) -> None:
        """Raise the first mistake, with those of other causes; do nothing if there is none."""
        if not self._causes:
            return
        causes = sorted(self._causes.values(), key=lambda cause: cause.position)
        first, *others = [cause.summed_up() for cause in causes]
        total = sum(cause.number for cause in causes)
        first.others, first.count = others, total if total > 1 else None
        raise first


def places(wheres: Iterable[str]) -> str:
    """Summarize the places of jobs.

    >>> places(["a.jsonl, line 3", "a.jsonl, line 4", "a.jsonl, line 9", "b.json, $[0]", "c.json"])
    'a.jsonl, lines 3-4, 9; b.json, $[0]; c.json'
    """
    by_file: dict[tuple[str, str], list[list[int]]] = {}
    for file, form, number in map(place_of, wheres):
        ranges = by_file.setdefault((file, form), [])
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words, left = [], MAX_LISTED_PLACES
    for (file, form), ranges in by_file.items():
        numbers = [f"{a}-{b}" if a < b else f"{a}" for a, b in ranges[:left]]
        if numbers:
            several = len(numbers) > 1 or "-" in numbers[0]
            words.append(f"{short(file)}{_PLACE_FORMS[form, several].format(', '.join(numbers))}")
        left -= len(ranges)
    return "; ".join(words) + ("…" if left < 0 else "")


_PLACE_FORMS: Final = {
    (LINE, False): ", line {}",
    (LINE, True): ", lines {}",
    (ITEM, False): ", $[{}]",
    (ITEM, True): ", $[{}]",
    ("", False): "",
}
