"""Where jobs read and write: no output may be in the way of another job."""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Final

from gathercli.batch.stamps import digest
from gathercli.core.text import clean
from gathercli.errors import InputError
from gathercli.io import save
from gathercli.io.write import real_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.batch.plan import Plan
    from gathercli.io.job import Job, Key

JOB_FILE: Final = "a file of jobs"
"""What is said of a file that holds jobs."""

_INPUTS: Final[tuple[Key, ...]] = ("data", "indices", "expect")
LONGEST: Final = 4096
"""Characters of a path, which a long literal is not."""

_MOST_FOLDERS: Final = 1000
"""Folders whose real paths are held: each job may have its own."""


class Places:
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
        self._count = 0

    def add(self, job: Job, where: str) -> None:
        """Look at the files of the next job.

        Raises
        ------
        InputError
            ``job``: the output lies outside the folder, or is taken.
        """
        number, self._count = self._count, self._count + 1
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

    def check(self, plan: Plan) -> None:
        """Compare the files of all jobs.

        Raises
        ------
        InputError
            ``job``: two have one output, or an output is an input.
        """
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
            self._explain(plan, among.tolist(), reads=bool(read.size or held.size))

    def _explain(self, plan: Plan, writers: list[int], *, reads: bool) -> None:
        """Find the jobs that are in each other's way; digests that are equal need not mean it."""
        seen: dict[str, tuple[str, Job]] = {}
        for _, found, job in plan.read(writers):
            path = self._real(job.folder, job.output or "")
            if path in seen:
                raise _refused(found.where, job, f"is the output of {seen[path][0]} too")
            seen[path] = found.where, job
        folders: dict[str, str] = {}
        for path, (where, job) in seen.items():
            parent = os.path.dirname(path)
            while parent not in seen and parent != os.path.dirname(parent):
                folders[parent] = path
                parent = os.path.dirname(parent)
            if parent in seen:
                raise _refused(where, job, f"lies below the output of {seen[parent][0]}")
        for _, found, job in plan.read(range(len(plan) if reads else 0)):
            for path in self._candidates(job):
                if path in seen:
                    where, writer = seen[path]
                    what = (
                        "an input of the job itself"
                        if where == found.where
                        else (f"an input of {found.where}")
                    )
                    raise _refused(where, writer, f"is {what}")
                if path in folders and save.is_zarr(path):
                    where, writer = seen[folders[path]]
                    raise _refused(where, writer, f"lies in an input of {found.where}")

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
        for key in _INPUTS:
            token = getattr(job, key)
            if not isinstance(token, str) or len(token) > LONGEST or not _may_be_name(token):
                continue
            name = token.partition("@")[2] if token.startswith("bin:") else token.removeprefix("@")
            yield self._real(job.folder, name)
            folder, mark, _ = name.partition(".zarr/")
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
