"""All jobs of a batch, validated before the first one runs.

The text of each valid job is copied to an unnamed file, so that later changes of its file have no
effect. Memory contains only the offset of the copy, a few digests, and hashes of paths: jobs whose
digests or hashes are equal are read again and compared.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final, Self

from gathercli.batch.outcome import Mistakes, Outcome, digest
from gathercli.errors import GatherError, InputError, LimitError, TransferError
from gathercli.io import jobs, save
from gathercli.io.folders import lies_in
from gathercli.io.formats.table import CHUNKED, names_chunks
from gathercli.io.jobfile import JobEntry, error_at, job_error
from gathercli.io.jobs import Job
from gathercli.io.stream import EXPECTED_ROOM, temporary_file
from gathercli.io.write import descriptor_of, is_stream, real_path
from gathercli.text import clean, counted, json_string, short

JOB_FILE: Final = "a file of jobs"  # the description of a file of jobs in messages

# So many jobs that processes for them start before all are validated.
MANY_JOBS: Final = 1000

_DIGEST_TYPECODE: Final = "Q"

_MAX_PATH: Final = 4096  # the most characters of a path; a longer token is a literal
# The ends of names of folders that are tensors, in a path.
_CHUNKED_MARKS: Final = tuple(f"{suffix}/" for suffix in CHUNKED)
_MAX_CACHED_FOLDERS: Final = 1000  # the most folders in the cache of real paths


class Spool:
    """A context for an unnamed file of jobs, each a record; TransferError if the disk is full."""

    def __init__(self) -> None:
        self._file = temporary_file()
        self.fd = self._file.fileno()
        self._starts = array(_DIGEST_TYPECODE, [0])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, record: bytes) -> None:
        """Append the record of a job."""
        self._keep(self._file.write, record)
        self._starts.append(self._starts[-1] + len(record))

    def flush(self) -> None:
        """Make the records visible to `record` and to other processes."""
        self._keep(self._file.flush)

    @staticmethod
    def _keep(write: Callable[..., object], *record: bytes) -> None:
        try:
            write(*record)
        except OSError as error:
            what = f"the jobs could not be kept in a temporary file ({error.strerror})"
            raise TransferError(what, rule="unreadable", expected=EXPECTED_ROOM) from None

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
    those with paths like others' with ``compared``, and the number of jobs so far; `has_many` is
    called when there are `MANY_JOBS`. `infer` returns the outcome of a job by its number, if no
    process is needed for it; `inferred` has their records, blank without an outcome. InputError
    (``job``, ``version``) lists all mistakes.
    """

    def __init__(
        self,
        entries: Iterable[JobEntry],
        *,
        allow_outside: bool = False,
        reserved: dict[str, str] | None = None,
        limit: int | None = None,
        progress: Callable[[str, int], object] = lambda *_: None,
        has_many: Callable[[Spool], object] = lambda _: None,
        infer: Callable[[int, Job], Outcome | None] | None = None,
    ) -> None:
        super().__init__()
        self._progress, self._has_many, self._infer = progress, has_many, infer
        self.inferred = None if infer is None else Spool()
        self.ids, self.texts = array(_DIGEST_TYPECODE), array(_DIGEST_TYPECODE)
        self._paths = _JobPaths(allow_outside=allow_outside, reserved=reserved or {})
        self._mistakes = Mistakes()
        self._kinds = jobs.JobKinds(limit)
        # The position of each job among all entries, including malformed ones.
        self._positions = array(_DIGEST_TYPECODE)
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

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, Job]]:
        """Parse jobs again; yield each with its number."""
        for count, number in enumerate(numbers, 1):
            self._progress("compared", count)
            yield number, jobs.read_again(self.record(number))

    def output_folders(self, numbers: Iterable[int]) -> set[str]:
        """Return the folders into which jobs write."""
        paths = (job.output_path for _, job in self.read(numbers) if job.output)
        return {os.path.dirname(path.rstrip("/")) for path in paths}

    def _read_all(self, entries: Iterable[JobEntry]) -> None:
        """Read all jobs and copy their text."""
        try:
            for entry in entries:
                self._read(entry)
                self._entries += 1
                self._progress("validated", self._entries)
                if self._entries == MANY_JOBS:
                    self._has_many(self)
        except (InputError, LimitError) as error:  # the rest cannot be split into jobs
            self._mistakes.add(self._entries, error)
        self.flush()
        if self.inferred is not None:
            self.inferred.flush()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self.inferred is not None:
            self.inferred.__exit__(*error)

    def _read(self, entry: JobEntry) -> None:
        """Read a job; copy it even if its output is invalid, for the other checks."""
        try:
            entry = self._kinds.expand(entry)
            job = jobs.read(entry)
        except InputError as error:
            self._mistakes.add(self._entries, error)
            return
        try:
            self._paths.add(len(self), job)
        except InputError as error:
            self._mistakes.add(self._entries, error)
        if self.inferred is not None and self._infer is not None:
            outcome = self._infer(len(self), job)
            self.inferred.add(b"" if outcome is None else outcome.record())
        self.add(entry.record())
        self._positions.append(self._entries)
        self.ids.append(int.from_bytes(digest(job.id.encode(errors="surrogatepass"))))
        self.texts.append(int.from_bytes(digest(entry.text)))

    def _check(self) -> None:
        """Raise for conflicts between jobs, and for all earlier mistakes."""
        for number, error in chain(self._repeated(), self._paths.conflicts(self.read)):
            self._mistakes.add(self._positions[number], error)
        self._mistakes.check()
        if not len(self):
            raise InputError("there is no job", rule="job", expected="at least one")

    def _repeated(self) -> Iterator[tuple[int, InputError]]:
        """Yield errors for jobs with the id of an earlier one."""
        seen: dict[str, str] = {}
        twice = repeated(self.ids)
        for number, job in self.read(at for at, each in enumerate(self.ids) if each in twice):
            if job.id in seen:
                what = f"`$.id` is `{json_string(short(job.id))}`, as at {seen[job.id]}"
                yield number, job_error(job.where, what, "a new one", value=job.id)
            else:
                seen[job.id] = job.where


class _JobPaths:
    """The files of all jobs, by hashes of real paths; no job may write `reserved` ones."""

    def __init__(self, *, allow_outside: bool, reserved: dict[str, str]) -> None:
        self._allow_outside = allow_outside
        self._folders: dict[str, str] = {}
        self._reserved = {self._real("", path): what for path, what in reserved.items()}
        # The hashes of the paths of inputs and outputs, and the jobs of each.
        self._inputs, self._readers = array("q"), array(_DIGEST_TYPECODE)
        self._outputs, self._writers = array("q"), array(_DIGEST_TYPECODE)
        # The hashes of folders of outputs, and the last of these folders.
        self._parents, self._last = array("q"), ""

    def add(self, number: int, job: Job) -> None:
        """Add the files of a job; raise if its output is reserved or cannot be written."""
        try:
            is_link = job.output is not None and _check_output(job.output_path, job.output)
        except GatherError as refusal:
            raise error_at(job.where, refusal, "`$.output`", value=job.output) from None
        for path in self._candidates(job):
            what = self._reserved.get(path)
            if what is not None and what != JOB_FILE:
                what = f"`{clean(path)}`, which the job reads, is {what}"
                raise job_error(job.where, what, "another file for it", value=path)
            self._inputs.append(hash(path))
            self._readers.append(number)
        if job.output is None:
            return
        path = self._real(job.folder, job.output, is_link=is_link)
        folder = self._folder(job.folder)
        if not self._allow_outside and not lies_in(path, folder):
            expected = f"a file in `{clean(job.folder or '.')}`"
            error = _output_error(job, "lies outside the folder of the job", expected)
            error.hint = "`--allow-outside` lets it be written"
            raise error
        if path in self._reserved:
            raise _output_error(job, f"is {self._reserved[path]}")
        self._outputs.append(hash(path))
        self._writers.append(number)
        parent = os.path.dirname(path)
        if parent == self._last:
            return
        self._last = parent
        while parent not in (folder, os.path.dirname(parent)):
            if parent in self._reserved:
                raise _output_error(job, f"lies below {self._reserved[parent]}")
            self._parents.append(hash(parent))
            parent = os.path.dirname(parent)

    def conflicts(
        self, read: Callable[[Iterable[int]], Iterator[tuple[int, Job]]]
    ) -> Iterator[tuple[int, InputError]]:
        """Yield errors for outputs that conflict with an output or input of another job.

        Only jobs with equal hashes are read again and compared; all that write, if a hash is that
        of a folder.
        """
        outputs, folders, inputs = set(self._outputs), set(self._parents), set(self._inputs)
        alike = repeated(self._outputs) | outputs & inputs
        is_folder = not folders.isdisjoint(outputs | inputs)
        written = outputs | folders
        writers = zip(self._writers, self._outputs, strict=True)
        readers = zip(self._readers, self._inputs, strict=True)
        yield from self._compared(
            read(number for number, path in writers if is_folder or path in alike),
            read(dict.fromkeys(job for job, path in readers if path in written)),
        )

    def _compared(
        self, writing: Iterator[tuple[int, Job]], reading: Iterator[tuple[int, Job]]
    ) -> Iterator[tuple[int, InputError]]:
        """Compare the outputs of `writing` with each other and with the inputs of `reading`."""
        writers: dict[str, tuple[int, Job]] = {}
        for number, job in writing:
            path = self._real(job.folder, job.output or "")
            if path in writers:
                what = f"is the output of {writers[path][1].where} too"
                yield number, _output_error(job, what)
            else:
                writers[path] = number, job
        below: dict[str, str] = {}
        """An output below each folder."""
        for path, (number, job) in writers.items():
            parent = os.path.dirname(path)
            while parent not in writers and parent != os.path.dirname(parent):
                below[parent] = path
                parent = os.path.dirname(parent)
            if parent in writers:
                what = f"lies below the output of {writers[parent][1].where}"
                yield number, _output_error(job, what)
        for reader, reading_job in reading:
            for path in self._candidates(reading_job):
                if path in writers:
                    number, job = writers.pop(path)
                    where = "the job itself" if number == reader else reading_job.where
                    yield number, _output_error(job, f"is an input of {where}")
                elif below.get(path) in writers and names_chunks(path):
                    number, job = writers.pop(below[path])
                    yield number, _output_error(job, f"lies in an input of {reading_job.where}")

    def _candidates(self, job: Job) -> Iterator[str]:
        """Yield the real paths of all files that the tokens of a job may name."""
        for token in job.tensors:
            if not isinstance(token, str) or len(token) > _MAX_PATH or not _may_be_name(token):
                continue
            name = token.partition("@")[2] if token.startswith("bin:") else token.removeprefix("@")
            yield self._real(job.folder, name)
            for mark in _CHUNKED_MARKS:
                if mark in name:
                    yield self._real(job.folder, name.partition(mark)[0] + mark)
            if "#" in name:
                yield self._real(job.folder, name.rpartition("#")[0])

    def _real(self, folder: str, name: str, *, is_link: bool = True) -> str:
        """Return the real path of a file, which need not exist and, if so said, is no link."""
        path = os.path.join(folder, name) if folder else name
        start = path.rfind("/") + 1
        last = path[start:]
        if last in ("", ".", "..") or (is_link and os.path.islink(path)):
            return real_path(path)
        parent = self._folder(path[:start])
        return f"{parent}/{last}" if parent != "/" else f"/{last}"

    def _folder(self, path: str) -> str:
        """Return the real path of a folder, using the cache."""
        if path not in self._folders:
            if len(self._folders) >= _MAX_CACHED_FOLDERS:
                self._folders.clear()
            self._folders[path] = real_path(path)
        return self._folders[path]


def _output_error(job: Job, what: str, expected: str = "another file") -> InputError:
    output = job.output or ""
    what = f"`$.output` is `{clean(output)}`, which {what}"
    return job_error(job.where, what, expected, value=output)


def _check_output(path: str, output: str) -> bool:
    """Raise if an output of this name cannot be written; return whether it may be a link."""
    expected = "the name of a file"
    if len(output) > _MAX_PATH:
        raise InputError(f"it has {counted(len(output), 'character')}", expected=expected)
    fmt = save.format_of(output)
    if names_chunks(output):
        save.creator(fmt)(path)
    elif _is_plain(path):
        return False
    elif obstacle := _obstacle(path):
        raise InputError(f"`{clean(output)}` {obstacle}", expected=expected)
    return True


def _is_plain(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return descriptor_of(path) is None
    except (OSError, ValueError):
        return False


def _obstacle(path: str) -> str | None:
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


def repeated(values: array[int]) -> set[int]:
    """Return the values that occur more than once.

    >>> repeated(array("q", [3, 1, 3, 2]))
    {3}
    """
    if len(set(values)) == len(values):
        return set()
    seen, twice = set[int](), set[int]()
    for value in values:
        (twice if value in seen else seen).add(value)
    return twice


def _may_be_name(token: str) -> bool:
    """Return whether a token can be a path: without NUL or lone surrogates."""
    try:
        return b"\0" not in os.fsencode(token)
    except UnicodeEncodeError:
        return False
