"""Check the paths of jobs: no output may overwrite a file of another job."""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.errors import InputError
from gathercli.io.formats.table import CHUNKED, names_chunks
from gathercli.io.write import real_path
from gathercli.jobs.fingerprints import digest
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from gathercli.jobs.job import Job
    from gathercli.jobs.plan import Plan

JOB_FILE: Final = "a file of jobs"
"""The description of a file of jobs in messages."""

LONGEST: Final = 4096
"""The most characters of a path; a longer token is a literal."""

_MOST_FOLDERS: Final = 1000
"""The most folders in the cache of real paths."""


class JobPaths:
    """The files of all jobs, by digests of their real paths.

    Parameters
    ----------
    allow_outside
        Whether outputs may lie outside the folder of their job.
    reserved
        The files that no job may write, with their descriptions.
    """

    def __init__(self, *, allow_outside: bool, reserved: dict[str, str]) -> None:
        self._allow_outside = allow_outside
        self._folders: dict[str, str] = {}
        self._reserved = {self._real("", path): what for path, what in reserved.items()}
        self._inputs, self._outputs, self._writers = array("Q"), array("Q"), array("Q")
        self._parents, self._last = array("Q"), ""
        """The digests of folders of outputs, and the last of these folders."""

    def add(self, number: int, job: Job, where: str) -> None:
        """Add the files of a job; raise if its output is reserved or outside its folder."""
        for path in self._candidates(job):
            what = self._reserved.get(path)
            if what is not None and what != JOB_FILE:
                raise InputError(
                    f"{where}: `{clean(path)}`, which the job reads, is {what}: "
                    "expected another file for it",
                    rule="job",
                    where=where,
                    value=path,
                )
            self._inputs.append(_digest_number(path))
        if job.output is None:
            return
        path = self._real(job.folder, job.output)
        folder = self._folder(job.folder)
        if not self._allow_outside and os.path.commonpath((folder, path)) != folder:
            expected = f"a file in `{clean(job.folder or '.')}`"
            error = _output_error(where, job, "lies outside the folder of the job", expected)
            error.hint = "`--allow-outside` lets it be written"
            raise error
        if path in self._reserved:
            raise _output_error(where, job, f"is {self._reserved[path]}")
        self._outputs.append(_digest_number(path))
        self._writers.append(number)
        self._add_parents(os.path.dirname(path), folder, job, where)

    def mistakes(self, plan: Plan) -> Iterator[tuple[int, InputError]]:
        """Yield errors for outputs that conflict with an output or input of another job.

        Only the paths of jobs with equal digests are compared.
        """
        if not self._outputs:
            return
        import numpy as np

        outputs, writers, inputs, parents = (
            np.frombuffer(digests, np.uint64)
            for digests in (self._outputs, self._writers, self._inputs, self._parents)
        )
        twice, read = repeated(outputs), np.intersect1d(outputs, inputs)
        below, inside = np.intersect1d(outputs, parents), np.intersect1d(parents, inputs)
        if below.size or inside.size:  # the digest of an output below another matches no other
            suspects = writers
        else:
            suspects = writers[np.isin(outputs, np.concatenate((twice, read)))]
        if suspects.size:
            reads = bool(read.size or inside.size)
            yield from self._conflicts(plan, suspects.tolist(), reads=reads)

    def _conflicts(
        self, plan: Plan, writers: list[int], *, reads: bool
    ) -> Iterator[tuple[int, InputError]]:
        """Compare the outputs of `writers` with each other, and if `reads` with all inputs."""
        outputs: dict[str, _Writer] = {}
        for number, where, job in plan.read(writers):
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
        for number, where, job in plan.read(range(len(plan) if reads else 0)):
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
            self._parents.append(_digest_number(path))
            path = os.path.dirname(path)

    def _candidates(self, job: Job) -> Iterator[str]:
        """Yield the real paths of all files that the tokens of a job may name."""
        for token in job.tensors:
            if not isinstance(token, str) or len(token) > LONGEST or not _may_be_name(token):
                continue
            name = token.partition("@")[2] if token.startswith("bin:") else token.removeprefix("@")
            yield self._real(job.folder, name)
            for suffix in CHUNKED:
                folder, mark, _ = name.partition(f"{suffix}/")
                if mark:
                    yield self._real(job.folder, folder + mark)
            if "#" in name:
                yield self._real(job.folder, name.rpartition("#")[0])

    def _real(self, folder: str, name: str) -> str:
        """Return the real path of a file, which need not exist."""
        path = os.path.join(folder, name)
        parent, last = os.path.split(path)
        if last in ("", ".", "..") or os.path.islink(path):
            return real_path(path)
        return os.path.join(self._folder(parent), last)

    def _folder(self, path: str) -> str:
        """Return the real path of a folder, using the cache."""
        if path not in self._folders:
            if len(self._folders) >= _MOST_FOLDERS:
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
    return InputError(
        f"{where}: `$.output` is `{clean(job.output or '')}`, which {what}: expected {expected}",
        rule="job",
        where=where,
        value=job.output,
    )


def repeated(digests: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the values that occur more than once.

    >>> import numpy as np
    >>> repeated(np.array([3, 1, 3, 2], np.uint64)).tolist()
    [3]
    """
    import numpy as np

    values = np.sort(digests)
    twice: NDArray[np.uint64] = values[1:][values[1:] == values[:-1]]
    return twice


def _digest_number(path: str) -> int:
    return int.from_bytes(digest(os.fsencode(path)))


def _may_be_name(token: str) -> bool:
    """Return whether a token can be a path: without NUL or lone surrogates."""
    try:
        return b"\0" not in os.fsencode(token)
    except UnicodeEncodeError:
        return False
