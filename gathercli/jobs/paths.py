"""Where jobs read and write: no output may be in the way of another job."""

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

    from gathercli.jobs.job import Job
    from gathercli.jobs.plan import Plan

JOB_FILE: Final = "a file of jobs"
"""What is said of a file that holds jobs."""

LONGEST: Final = 4096
"""Characters of a path, which a long literal is not."""

_MOST_FOLDERS: Final = 1000
"""Folders whose real paths are held: each job may have its own."""


class JobPaths:
    """The files of all jobs, by digests of their real paths.

    Parameters
    ----------
    anywhere
        Whether outputs may lie outside the folder of their job.
    taken
        Files that no job may write, with what they are.
    """

    def __init__(self, *, anywhere: bool, taken: dict[str, str]) -> None:
        self._anywhere = anywhere
        self._folders: dict[str, str] = {}
        self._taken = {self._real("", path): what for path, what in taken.items()}
        self._inputs, self._outputs, self._writers = array("Q"), array("Q"), array("Q")
        self._above, self._last = array("Q"), ""
        """The folders of outputs, and the last of them."""

    def add(self, number: int, job: Job, where: str) -> None:
        """Look at the files of a job.

        Raises
        ------
        InputError
            ``job``: the output lies outside the folder, or is taken.
        """
        for path in self._candidates(job):
            what = self._taken.get(path)
            if what is not None and what != JOB_FILE:
                raise InputError(
                    f"{where}: `{clean(path)}`, which the job reads, is {what}: "
                    "expected another file for it",
                    rule="job",
                    where=where,
                    value=path,
                )
            self._inputs.append(_number(path))
        if job.output is None:
            return
        path = self._real(job.folder, job.output)
        folder = self._folder(job.folder)
        if not self._anywhere and os.path.commonpath((folder, path)) != folder:
            error = _refused(
                where,
                job,
                "lies outside the folder of the job",
                f"a file in `{clean(job.folder or '.')}`",
            )
            error.hint = "`--allow-outside` lets it be written"
            raise error
        if path in self._taken:
            raise _refused(where, job, f"is {self._taken[path]}")
        self._outputs.append(_number(path))
        self._writers.append(number)
        above = self._note_folders(os.path.dirname(path), folder)
        if above is not None:
            raise _refused(where, job, f"lies below {above}")

    def mistakes(self, plan: Plan) -> Iterator[tuple[int, InputError]]:
        """Find the jobs whose output is that of another, or an input, and say what is wrong."""
        if not self._outputs:
            return
        import numpy as np

        outputs, writers = (np.frombuffer(a, np.uint64) for a in (self._outputs, self._writers))
        ordered = np.sort(outputs)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        inputs, folders = (np.frombuffer(a, np.uint64) for a in (self._inputs, self._above))
        read, above = np.intersect1d(outputs, inputs), np.intersect1d(outputs, folders)
        held = np.intersect1d(folders, inputs)  # an input that is a folder of chunks
        suspects = np.concatenate((twice, read, above, held))
        if suspects.size:
            # An output below another is alike to none: where there may be one, all are compared.
            some = above.size or held.size
            among = writers if some else writers[np.isin(outputs, suspects)]
            yield from self._clashes(plan, among.tolist(), reads=bool(read.size or held.size))

    def _clashes(
        self, plan: Plan, writers: list[int], *, reads: bool
    ) -> Iterator[tuple[int, InputError]]:
        """Find the jobs that are in each other's way; digests that are equal need not mean it."""
        seen: dict[str, _Writer] = {}
        for number, found, job in plan.read(writers):
            path = self._real(job.folder, job.output or "")
            writer = _Writer(number, found.where, job)
            if path in seen:
                yield writer.refused(f"is the output of {seen[path].where} too")
            else:
                seen[path] = writer
        folders: dict[str, str] = {}
        for path, writer in seen.items():
            parent = os.path.dirname(path)
            while parent not in seen and parent != os.path.dirname(parent):
                folders[parent] = path
                parent = os.path.dirname(parent)
            if parent in seen:
                yield writer.refused(f"lies below the output of {seen[parent].where}")
        for number, found, job in plan.read(range(len(plan) if reads else 0)):
            for path in self._candidates(job):
                if path in seen:
                    writer = seen.pop(path)
                    own = "the job itself" if writer.number == number else found.where
                    yield writer.refused(f"is an input of {own}")
                elif path in folders and folders[path] in seen and names_chunks(path):
                    writer = seen.pop(folders[path])
                    yield writer.refused(f"lies in an input of {found.where}")

    def _note_folders(self, path: str, root: str) -> str | None:
        """Note the folders that an output is in, up to that of its job.

        Returns
        -------
            What one of them is, if it is a file that no job may write.
        """
        if path == self._last:
            return None
        self._last = path
        while path not in (root, os.path.dirname(path)):
            if path in self._taken:
                return self._taken[path]
            self._above.append(_number(path))
            path = os.path.dirname(path)
        return None

    def _candidates(self, job: Job) -> Iterator[str]:
        """Name the files that the tokens of a job may stand for, by their real paths."""
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
        """Return the real path of a file, which need not be there."""
        path = os.path.join(folder, name)
        parent, last = os.path.split(path)
        if last in ("", ".", "..") or os.path.islink(path):
            return real_path(path)
        return os.path.join(self._folder(parent), last)

    def _folder(self, path: str) -> str:
        """Return the real path of a folder, looked up once."""
        if path not in self._folders:
            if len(self._folders) >= _MOST_FOLDERS:
                self._folders.clear()
            self._folders[path] = real_path(path)
        return self._folders[path]


class _Writer(NamedTuple):
    """A job that has an output, its number and its place."""

    number: int
    where: str
    job: Job

    def refused(self, what: str) -> tuple[int, InputError]:
        """Say what is wrong with its output, and of which job."""
        return self.number, _refused(self.where, self.job, what)


def _refused(where: str, job: Job, what: str, expected: str = "another file") -> InputError:
    return InputError(
        f"{where}: `$.output` is `{clean(job.output or '')}`, which {what}: expected {expected}",
        rule="job",
        where=where,
        value=job.output,
    )


def _number(path: str) -> int:
    return int.from_bytes(digest(os.fsencode(path)))


def _may_be_name(token: str) -> bool:
    """Tell whether a file can have a name: a NUL or half of a surrogate pair is in none."""
    try:
        return b"\0" not in os.fsencode(token)
    except UnicodeEncodeError:
        return False
