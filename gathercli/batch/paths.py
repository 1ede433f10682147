"""Check the paths of jobs: no output may overwrite a file of another job.

Of each path a hash is kept, and jobs whose hashes are equal are read again and compared.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.io.folders import lies_in
from gathercli.io.formats.table import CHUNKED, names_chunks
from gathercli.io.jobfile import job_error
from gathercli.io.write import real_path
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.errors import InputError
    from gathercli.io.jobs import Job

    JobReader = Callable[[Sequence[int]], Iterator[tuple[int, str, Job]]]

JOB_FILE: Final = "a file of jobs"
"""The description of a file of jobs in messages."""

MAX_PATH: Final = 4096
"""The most characters of a path; a longer token is a literal."""

_CHUNKED_MARKS: Final = tuple(f"{suffix}/" for suffix in CHUNKED)
"""The ends of names of folders that are tensors, in a path."""

_MAX_CACHED_FOLDERS: Final = 1000
"""The most folders in the cache of real paths."""


class JobPaths:
    """The files of all jobs, by hashes of their real paths.

    `reserved` describes the files that no job may write.
    """

    def __init__(self, *, allow_outside: bool, reserved: dict[str, str]) -> None:
        self._allow_outside = allow_outside
        self._folders: dict[str, str] = {}
        self._reserved = {self._real("", path): what for path, what in reserved.items()}
        self._inputs, self._outputs, self._writers = array("q"), array("q"), array("q")
        """The hashes of the paths of inputs and outputs, and the jobs of the outputs."""
        self._parents, self._last = array("q"), ""
        """The hashes of folders of outputs, and the last of these folders."""

    def add(self, number: int, job: Job, where: str, *, is_link: bool = True) -> None:
        """Add the files of a job; raise if its output is reserved or outside its folder."""
        for path in self._candidates(job):
            what = self._reserved.get(path)
            if what is not None and what != JOB_FILE:
                what = f"`{clean(path)}`, which the job reads, is {what}"
                raise job_error(where, what, "another file for it", value=path)
            self._inputs.append(hash(path))
        if job.output is None:
            return
        path = self._real(job.folder, job.output, is_link=is_link)
        folder = self._folder(job.folder)
        if not self._allow_outside and not lies_in(path, folder):
            expected = f"a file in `{clean(job.folder or '.')}`"
            error = _output_error(where, job, "lies outside the folder of the job", expected)
            error.hint = "`--allow-outside` lets it be written"
            raise error
        if path in self._reserved:
            raise _output_error(where, job, f"is {self._reserved[path]}")
        self._outputs.append(hash(path))
        self._writers.append(number)
        self._add_parents(os.path.dirname(path), folder, job, where)

    def mistakes(self, read: JobReader, jobs: int) -> Iterator[tuple[int, InputError]]:
        """Yield errors for outputs that conflict with an output or input of another job.

        Only the jobs of equal hashes are read again and compared.
        """
        outputs, parents = set(self._outputs), set(self._parents)
        suspects = set(repeated(self._outputs)) | outputs.intersection(self._inputs)
        reads = not outputs.isdisjoint(self._inputs)
        inside = not parents.isdisjoint(self._inputs)
        if inside or not outputs.isdisjoint(parents):
            suspects = outputs  # the hash of an output below another equals no other
        if suspects:
            pairs = zip(self._outputs, self._writers, strict=True)
            writers = [writer for output, writer in pairs if output in suspects]
            readers = range(jobs if reads or inside else 0)
            yield from self._conflicts(read, writers, readers)

    def _conflicts(
        self, read: JobReader, writers: Sequence[int], readers: Sequence[int]
    ) -> Iterator[tuple[int, InputError]]:
        """Compare the outputs of `writers` with each other, and with the inputs of `readers`."""
        outputs: dict[str, _Writer] = {}
        for number, where, job in read(writers):
            path = self._real(job.folder, job.output or "")
            writer = _Writer(number, where, job)
            if path in outputs:
                yield writer.error(f"is the output of {outputs[path].where} too")
            else:
                outputs[path] = writer
        inside: dict[str, str] = {}
        """An output below each folder."""
        for path, writer in outputs.items():
            parent = os.path.dirname(path)
            while parent not in outputs and parent != os.path.dirname(parent):
                inside[parent] = path
                parent = os.path.dirname(parent)
            if parent in outputs:
                yield writer.error(f"lies below the output of {outputs[parent].where}")
        for number, where, job in read(readers):
            for path in self._candidates(job):
                if path in outputs:
                    writer = outputs.pop(path)
                    reader = "the job itself" if writer.number == number else where
                    yield writer.error(f"is an input of {reader}")
                elif inside.get(path) in outputs and names_chunks(path):
                    writer = outputs.pop(inside[path])
                    yield writer.error(f"lies in an input of {where}")

    def _add_parents(self, path: str, root: str, job: Job, where: str) -> None:
        """Add the folders of an output up to that of its job; raise if one is reserved."""
        if path == self._last:
            return
        self._last = path
        while path not in (root, os.path.dirname(path)):
            if path in self._reserved:
                raise _output_error(where, job, f"lies below {self._reserved[path]}")
            self._parents.append(hash(path))
            path = os.path.dirname(path)

    def _candidates(self, job: Job) -> Iterator[str]:
        """Yield the real paths of all files that the tokens of a job may name."""
        for token in job.tensors:
            if not isinstance(token, str) or len(token) > MAX_PATH or not _may_be_name(token):
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


class _Writer(NamedTuple):
    """A job with an output: its number, its place and the job."""

    number: int
    where: str
    job: Job

    def error(self, what: str) -> tuple[int, InputError]:
        """Return its number and the error about its output."""
        return self.number, _output_error(self.where, self.job, what)


def _output_error(where: str, job: Job, what: str, expected: str = "another file") -> InputError:
    what = f"`$.output` is `{clean(job.output or '')}`, which {what}"
    return job_error(where, what, expected, value=job.output)


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
    if token.isascii():
        return "\0" not in token
    try:
        return b"\0" not in os.fsencode(token)
    except UnicodeEncodeError:
        return False
