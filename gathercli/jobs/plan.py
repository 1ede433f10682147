"""All jobs of a batch, looked at before the first is run.

What is validated is what runs: the text of every job is copied to an unnamed file, and of each
only its place there and a few digests are held.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from gathercli.errors import GatherError, InputError, LimitError, TransferError
from gathercli.io import save
from gathercli.io.formats.table import creator, names_chunks
from gathercli.io.write import is_stream
from gathercli.jobs import job as jobs
from gathercli.jobs.fingerprints import digest
from gathercli.jobs.jobfile import WrittenJob
from gathercli.jobs.mistakes import Mistakes
from gathercli.jobs.paths import LONGEST, JobPaths
from gathercli.text import clean, json_string, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.jobs.job import Job

_DIGITS: Final = "Q"


class Text(NamedTuple):
    """A job in the spool: where it was written, where its paths start, and its JSON."""

    where: str
    folder: str
    text: bytes

    @classmethod
    def parse(cls, record: bytes) -> Text:
        """Take apart what `record` put together."""
        where, folder, text = record.split(b"\0", 2)
        return cls(os.fsdecode(where), os.fsdecode(folder), text)

    def record(self) -> bytes:
        """Put it together; no path, and no place in a file, holds a NUL."""
        return b"\0".join((os.fsencode(self.where), os.fsencode(self.folder), self.text))

    def job(self) -> Job:
        """Read the job, which was read before."""
        return jobs.read(WrittenJob(self.where, self.folder, self.text))


class Spool:
    """The text of jobs in an unnamed file; as a context it closes it.

    Attributes
    ----------
    fd
        The file.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed with this)
        self.fd = self._file.fileno()
        self._starts = array(_DIGITS, [0])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, found: Text) -> None:
        """Keep the text of a job behind the others."""
        record = found.record()
        self._file.write(record)
        self._starts.append(self._starts[-1] + len(record))

    def flush(self) -> None:
        """Let other processes see what was added."""
        self._file.flush()

    def clear(self) -> None:
        """Forget all jobs."""
        self._file.seek(0)
        self._file.truncate()
        del self._starts[1:]

    def span(self, number: int) -> tuple[int, int]:
        """Tell from where to where in the file a job stands."""
        return self._starts[number], self._starts[number + 1]

    def text(self, number: int) -> Text:
        """Return a job as it was written."""
        start, stop = self.span(number)
        return Text.parse(os.pread(self.fd, stop - start, start))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class Plan(Spool):
    """The jobs of a batch, valid together.

    Parameters
    ----------
    written
        As they are written down.
    anywhere
        Whether outputs may lie outside the folder of their job.
    taken
        Files that no job may write, with what they are: ``the report``.

    Attributes
    ----------
    ids, texts
        Digests of the ids, and of the texts.

    Raises
    ------
    InputError
        ``job``: something is wrong with one job, or with two together; ``version``: nothing
        answers to the version of a job. It has the other mistakes too.
    """

    def __init__(
        self,
        written: Iterable[WrittenJob],
        *,
        anywhere: bool = False,
        taken: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.ids, self.texts = array(_DIGITS), array(_DIGITS)
        self._places = JobPaths(anywhere=anywhere, taken=taken or {})
        self._mistakes = Mistakes()
        self._order = array(_DIGITS)
        """Of each job its number among all that were read, malformed ones too."""
        self._read = 0
        try:
            self._take(written)
            self._check()
        except BaseException:
            self._file.close()
            raise

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, Text, Job]]:
        """Read some jobs again."""
        for number in numbers:
            found = self.text(number)
            yield number, found, found.job()

    def _take(self, written: Iterable[WrittenJob]) -> None:
        """Look at all jobs, and keep their text."""
        try:
            for found in written:
                self._add(found)
                self._read += 1
            self.flush()
        except (InputError, LimitError) as error:  # what follows cannot be cut into jobs
            self._mistakes.add(self._read, error)
        except OSError as error:
            if isinstance(error, GatherError):
                raise
            raise TransferError(
                f"the jobs could not be kept in a temporary file ({error.strerror})",
                rule="unreadable",
            ) from None

    def _add(self, found: WrittenJob) -> None:
        """Keep a job that can be read, whatever else is wrong with it."""
        try:
            job = jobs.read(found)
        except InputError as error:
            self._mistakes.add(self._read, error)
            return
        try:
            _check_output(job, found.where)
            self._places.add(len(self), job, found.where)
        except InputError as error:
            self._mistakes.add(self._read, error)
        self.add(Text(found.where, found.folder, found.text))
        self._order.append(self._read)
        self.ids.append(int.from_bytes(digest(job.id.encode(errors="surrogatepass"))))
        self.texts.append(int.from_bytes(digest(found.text)))

    def _check(self) -> None:
        """Refuse what is wrong with jobs, alone and together."""
        for number, error in chain(self._repeated(), self._places.mistakes(self)):
            self._mistakes.add(self._order[number], error)
        self._mistakes.check()
        if not len(self):
            raise InputError("there is no job: expected at least one", rule="job")

    def _repeated(self) -> Iterator[tuple[int, InputError]]:
        """Find the jobs whose id another one before them has."""
        seen: dict[str, str] = {}
        for number, found, job in self.read(_alike(self.ids)):
            if job.id in seen:
                error = InputError(
                    f"{found.where}: `$.id` is `{json_string(short(job.id))}`, "
                    f"as at {seen[job.id]}: expected a new one",
                    rule="job",
                    where=found.where,
                    value=job.id,
                )
                yield number, error
            else:
                seen[job.id] = found.where


def _alike(digests: array[int]) -> list[int]:
    """Find the numbers of the jobs whose digest another has too."""
    import numpy as np

    found = np.frombuffer(digests, np.uint64)
    ordered = np.sort(found)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    numbers: list[int] = np.flatnonzero(np.isin(found, twice)).tolist() if twice.size else []
    return numbers


def _check_output(job: Job, where: str) -> None:
    if job.output is None:
        return
    if len(job.output) > LONGEST:
        what = f"it has {len(job.output)} characters: expected the name of a file"
        raise _refused(where, what, job.output)
    try:
        fmt = save.format_of(job.output)
    except GatherError as error:
        raise _refused(where, error.message.split(", or a format")[0], job.output) from None
    if names_chunks(job.output):
        try:
            creator(fmt)(os.path.join(job.folder, job.output))
        except GatherError as error:
            raise _refused(where, error.message, job.output) from None
        return
    why = _no_file(os.path.join(job.folder, job.output))
    if why is not None:
        what = f"`{clean(job.output)}` {why}: expected the name of a file"
        raise _refused(where, what, job.output)


def _no_file(path: str) -> str | None:
    """Say why a path can be no file; None if it can."""
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


def _refused(where: str, what: str, output: str) -> InputError:
    return InputError(f"{where}: `$.output`: {what}", rule="job", where=where, value=output)
