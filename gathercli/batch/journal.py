"""The report as a file, to which one write appends the lines of the jobs that have just ended.

The file is locked while a run writes it. A killed run may leave an incomplete line, which is
ignored. Of several lines of a job the last counts. At its end a run sorts the lines by job. By the
stamps of the files of a job in its line, a later run decides whether to repeat it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, Final

from gathercli.batch.outcome import ERROR, MISMATCH, OK, Outcome, digest
from gathercli.batch.plan import Plan
from gathercli.errors import GatherError, InputError, OutputError, TransferError
from gathercli.io.descriptors import write_all
from gathercli.io.files import File, Fingerprint, fingerprint_of
from gathercli.io.folders import files_of, fingerprint_folder, format_of_folder
from gathercli.io.formats.jsontext import is_deep
from gathercli.io.jobs import Job
from gathercli.io.source import Inputs, reference_of
from gathercli.io.write import Output, is_stream
from gathercli.text import clean

_NO_OFFSET: Final = -1
_LINE_START: Final = b'{"id":'  # the start of every line, by which an incomplete one is recognized

_RESUME_HINT: Final = (
    "`--resume` does what it does not have yet, `--resume-failed` also what failed; or remove it"
)


class Journal(AbstractContextManager["Journal"]):
    """A context for an open report file, which may exist if the run `resumes` it.

    OutputError (``output``) says that it exists, is locked by another run, or cannot be written.
    `foreign` is the number of lines of jobs outside the plan, which `arrange` drops.
    """

    def __init__(self, path: str, plan: Plan, *, resumes: bool) -> None:
        self.path, self._plan = path, plan
        self._fd = open_locked(path, resumes=resumes)
        self._offsets = array("q", [_NO_OFFSET]) * len(plan)  # the offset of the line of each job
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

        Parameters are whether to repeat failed jobs, whether to compare files by content, what is
        called with the number and the line of each job that is not repeated, and what is called
        after each line. InputError (``job``) says that the file is not a report of these jobs.
        """
        find = _finder(self._plan.ids)
        is_own = False
        for offset, line in self._read():
            progress()
            number = find(str(line["id"]))
            if number is None:
                self.foreign += 1
                self._sorted = False
                continue
            stamp = line.get("stamp")
            earlier = stamp.get("job") if isinstance(stamp, dict) else None
            is_own |= earlier == self._text_digest(number).hex()
            self._sorted &= number == self._count
            self._count += 1
            self._offsets[number] = offset
        if self.foreign and not is_own:
            what = f"`{clean(self.path)}` is a report of other jobs"
            raise InputError(what, rule="job", value=self.path, expected="one of these")
        os.ftruncate(self._fd, self._end)
        for number, text in self.lines():
            progress()
            line, job = json.loads(text), self._text_digest(number)
            is_kept = not (failed and line["status"] != OK)
            folder = self._plan.entry(number).folder
            if is_kept and is_done(
                line.get("stamp"), job, folder, line.get("output"), digests=digests
            ):
                keep(number, line)
            else:
                self._offsets[number] = _NO_OFFSET

    def _text_digest(self, number: int) -> bytes:
        return self._plan.texts[number].to_bytes(8)

    def _read(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the offset and the content of each complete line."""
        with open(os.dup(self._fd), "rb") as file:
            for number, text in enumerate(file, 1):
                is_whole = text.endswith(b"\n")
                if not is_whole and _LINE_START.startswith(text[: len(_LINE_START)]):
                    break
                line = _parse(text) if is_whole else None
                if line is None:
                    what = f"`{clean(self.path)}`, line {number}, is not a line of a report"
                    expected = "a report of these jobs"
                    raise InputError(what, rule="job", value=self.path, expected=expected)
                yield self._end, line
                self._end += len(text)

    def todo(self) -> Iterator[int]:
        """Yield the numbers of the jobs without a line."""
        return (number for number, offset in enumerate(self._offsets) if offset == _NO_OFFSET)

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
                if offset != _NO_OFFSET:
                    file.seek(offset)
                    yield number, file.readline()

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _finder(ids: array[int]) -> Callable[[str], int | None]:
    """Return the function that finds the number of the job with an id by digests of all ids."""
    import numpy as np

    digests = np.frombuffer(ids, np.uint64)
    order = np.argsort(digests, kind="stable")

    def find(name: str) -> int | None:
        key = np.uint64(int.from_bytes(digest(name.encode(errors="surrogatepass"))))
        at = digests.searchsorted(key, sorter=order)
        found = at < len(order) and digests[order[at]] == key
        return int(order[at]) if found else None

    return find


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
        raise _unwritable(path, FileExistsError())


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
        except OSError as error:
            if fd < 0 or not isinstance(error, FileNotFoundError):
                if fd >= 0:
                    os.close(fd)
                raise _unwritable(path, error) from None
        os.close(fd)  # the file was removed or replaced between open and flock


def _unwritable(path: str, error: OSError) -> OutputError:
    reason = (error.strerror or "").lower(), "a file to write"
    why, expected = _REASONS.get(type(error), reason)
    what = f"{place_of(path)} cannot be written ({why})"
    hint = _RESUME_HINT if isinstance(error, FileExistsError) else None
    return OutputError(what, rule="output", value=path, expected=expected, hint=hint)


# Why a report cannot be opened or locked, and what is expected.
_REASONS: Final[dict[type[OSError], tuple[str, str]]] = {
    FileExistsError: ("it exists", "a new name"),
    FileNotFoundError: ("there is no such folder", "one that is there"),
    BlockingIOError: ("another run is writing it", "to be alone"),
}

_hash: Final = partial(hashlib.blake2b, digest_size=16)
_MAX_CACHED_DIGESTS: Final = 1 << 16
# A cache of digests of files, by numbers that change with every write.
_digests: dict[tuple[int, ...], str] = {}
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would wait for a writer


def stamp_of(inputs: Inputs, job: Job, *, digests: bool) -> dict[str, Any]:
    """Return what a line of the report says of the files of a job, whose inputs are open.

    ``job`` is the digest of its text. Of ``inputs`` and ``output`` it has the fingerprints by name
    (the size of the output), with `digests` each with a digest of the content; None for a file that
    does not exist.
    """
    by_name: dict[str, list[Any] | None] = {}
    for name, file in inputs.files_by_name.items():
        if isinstance(file, File):
            by_name[name] = _state_of(file, digests=digests and file.regular)
            for each in file.beside:  # a model, such as its weights
                inside = os.path.relpath(each.path, os.path.dirname(file.path) or ".")
                beside = os.path.join(os.path.dirname(name), inside)
                by_name[beside] = _state_of(each, digests=digests)
        elif file is not None and not digests:
            by_name[name] = [*file.fingerprint]
        else:  # a folder, or what is absent or was refused
            by_name[name] = _state_at(os.path.join(job.folder, name), digests=digests)
    output = _output(job.output_path, digests=digests) if job.output else None
    return {"job": digest(job.text).hex(), "inputs": by_name, "output": output}


def stamp_of_names(job: Job, *, digests: bool) -> dict[str, Any]:
    """Return the stamp of a job by the paths of its inputs, after its process died."""
    inputs = Inputs(None, folder=job.folder)
    for token in job.tensors:
        with suppress(GatherError):
            name = reference_of(token, job.folder).path if isinstance(token, str) else None
            if name is not None:
                inputs.files_by_name[name] = None
    return stamp_of(inputs, replace(job, output=None), digests=digests)


def is_done(stamp: Any, job: bytes, folder: str, output: str | None, *, digests: bool) -> bool:
    """Return whether a job, by digest of its text, and its files are as a stamp (any JSON) says."""
    if not isinstance(stamp, dict) or stamp.get("job") != job.hex():
        return False
    inputs, before = stamp.get("inputs"), stamp.get("output")
    if not isinstance(inputs, dict):
        return False
    if output is not None and before is not None:
        now = _output(os.path.join(folder, output), digests=digests)
        if now is None or not isinstance(before, list) or before[: len(now)] != now:
            return False
    return all(
        _is_same(os.path.join(folder, name), before, digests=digests)
        for name, before in inputs.items()
    )


def _is_same(path: str, before: Any, *, digests: bool) -> bool:
    """Return whether an input has this result of `_state_at`; an absent one has None."""
    now = _state_at(path, digests=digests)
    if now is None or not isinstance(before, list):
        return now is None and before is None
    if not digests:
        return before[:2] == now
    if len(now) == 3:
        return before[2:] == now[2:]
    # What has no digest is compared by its numbers, but the content of a pipe is gone.
    return before == now and not stat.S_ISFIFO(os.stat(path).st_mode)


def _state_of(file: File, *, digests: bool) -> list[Any]:
    """Return the fingerprint and optionally the digest of an open file."""
    return [*file.fingerprint, *([_digest_of(os.fstat(file.fd), file.stream)] if digests else ())]


def _state_at(path: str, *, digests: bool) -> list[Any] | None:
    """Return the fingerprint and optionally the digest of an input; None if it does not exist.

    What has no content, such as a pipe or a folder without chunks, has no digest.
    """
    try:
        state: list[Any] = [*_fingerprint(path)]
        if digests and (os.path.isfile(path) or format_of_folder(path)):
            with suppress(OSError):  # it cannot be read
                state.append(_digest_at(path))
    except (OSError, ValueError):
        return None
    return state


def _fingerprint(path: str) -> Fingerprint:
    """Return the fingerprint of a file, or of a folder of chunks with all its files."""
    status = os.stat(path)
    is_folder = stat.S_ISDIR(status.st_mode) and format_of_folder(path)
    return fingerprint_folder(path) if is_folder else fingerprint_of(status)


def _output(path: str, *, digests: bool) -> list[Any] | None:
    """Return the size and optionally the digest of an output; None if it does not exist."""
    try:
        return [_fingerprint(path)[0], *([_digest_at(path)] if digests else ())]
    except (OSError, ValueError):
        return None


def _digest_at(path: str) -> str:
    """Return the digest of a file, or of the names and contents of all files under a folder.

    Of a link there the content is its target; other kinds have none.
    """
    if not os.path.isdir(path):
        return _digest_of(os.stat(path), partial(_open, path))
    total = _hash()
    for name, status in sorted(files_of(path)):
        file, content = os.path.join(path, name), ""
        if stat.S_ISLNK(status.st_mode):
            content = _hash(os.fsencode(os.readlink(file))).hexdigest()
        elif stat.S_ISREG(status.st_mode):
            content = _digest_of(status, partial(_open, file))
        raw = os.fsencode(name)
        total.update(f"{content} ".encode() + len(raw).to_bytes(8, "little") + raw)
    return total.hexdigest()


def _open(path: str) -> BinaryIO:
    return open(os.open(path, _OPEN_FLAGS), "rb")


def _digest_of(status: os.stat_result, opened: Callable[[], Any]) -> str:
    """Return the digest of the content of a file with a status, computed once."""
    key = status.st_dev, status.st_ino, *fingerprint_of(status), status.st_ctime_ns
    if key not in _digests:
        if len(_digests) >= _MAX_CACHED_DIGESTS:
            _digests.clear()
        with opened() as file:
            _digests[key] = hashlib.file_digest(file, _hash).hexdigest()
    return _digests[key]
