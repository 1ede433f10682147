"""Fingerprints of the files of a job, by which a later run decides whether to repeat it."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import GatherError
from gathercli.io.files import File, Fingerprint, fingerprint_of
from gathercli.io.folders import Folder, files_of, fingerprint_folder, format_of_folder
from gathercli.io.source import Inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.io.jobs.job import Job

_PART: Final = 1 << 20
_MOST_DIGESTS: Final = 1024
_digests: dict[tuple[int, ...], str] = {}
"""A cache of digests of files and folders, by numbers that change with every write."""

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would wait for a writer


class Fingerprints(NamedTuple):
    """The files of a job in its line of the report.

    Attributes
    ----------
    job
        The digest of the text of the job, as hexadecimal digits.
    inputs
        The `Fingerprint` of each file, with ``--hash`` also the digest of its content; None for a
        file that does not exist.
    output
        The size, with ``--hash`` also the digest; None without an output.
    """

    job: str
    inputs: dict[str, list[Any] | None]
    output: list[Any] | None

    @classmethod
    def of(cls, inputs: Inputs, job: Job, text: bytes, *, digests: bool) -> Fingerprints:
        """Return the fingerprints of the open inputs and the output of a job."""
        by_name: dict[str, list[Any] | None] = {}
        for name, file in inputs.files_by_name.items():
            if file is None:  # it is absent, or was refused
                refused = os.path.join(job.folder, name)
                by_name[name] = _fingerprint_at(refused, digests=digests)
                continue
            by_name[name] = [*file.fingerprint]
            if digests and isinstance(file, Folder):
                by_name[name] = _fingerprint_at(file.path, digests=True)
            elif digests and file is not None and file.regular:
                by_name[name] = [*file.fingerprint, _digest_of(file.fd)]
            if isinstance(file, File):
                by_name |= _beside(file, os.path.dirname(name), digests=digests)
        path = job.output and os.path.join(job.folder, job.output)
        output = _output(path, digests=digests) if path else None
        return cls(digest(text).hex(), by_name, output)

    @classmethod
    def of_names(cls, job: Job, text: bytes, *, digests: bool) -> Fingerprints:
        """Return the fingerprints of the inputs of a job by their paths, after its process died."""
        by_name: dict[str, list[Any] | None] = {}
        inputs = Inputs(None, folder=job.folder)
        for token in job.tensors:
            with suppress(GatherError):
                name = inputs.file_of(token)[0] if isinstance(token, str) else None
                if name is not None:
                    by_name[name] = _fingerprint_at(os.path.join(job.folder, name), digests=digests)
        return cls(digest(text).hex(), by_name, None)


def _beside(file: File, folder: str, *, digests: bool) -> dict[str, list[Any] | None]:
    """Return the fingerprints of the files beside a model, such as its weights, by name."""
    start = os.path.dirname(file.path) or "."
    return {
        os.path.join(folder, os.path.relpath(each.path, start)): [
            *each.fingerprint,
            *([_digest_of(each.fd)] if digests else ()),
        ]
        for each in file.beside
    }


def digest(text: bytes) -> bytes:
    """Return a digest of 8 bytes."""
    return hashlib.blake2b(text, digest_size=8).digest()


def is_done(
    fingerprints: Any, job: bytes, folder: str, output: str | None, *, digests: bool
) -> bool:
    """Return whether a job and its files are unchanged.

    Parameters
    ----------
    fingerprints
        `Fingerprints` as JSON, or any invalid value.
    job
        The digest of the text of the job.
    output
        The path of the output; None without one.
    digests
        Whether to compare contents, not times.
    """
    if not isinstance(fingerprints, dict) or fingerprints.get("job") != job.hex():
        return False
    inputs = fingerprints.get("inputs")
    if not isinstance(inputs, dict):
        return False
    before = fingerprints.get("output")
    if output is not None and before is not None:
        now = _output(os.path.join(folder, output), digests=digests)
        if now is None or not isinstance(before, list) or before[: len(now)] != now:
            return False
    return all(
        _is_same(os.path.join(folder, name), before, digests=digests)
        for name, before in inputs.items()
    )


def _is_same(path: str, before: Any, *, digests: bool) -> bool:
    """Return whether an input has this result of `_fingerprint_at`; an absent one has None."""
    try:
        now = _fingerprint(path)
    except (OSError, ValueError):
        return before is None
    if not isinstance(before, list):
        return False
    if not digests:
        return before[:2] == list(now)
    if stat.S_ISFIFO(os.stat(path).st_mode):  # whose content is gone
        return False
    return before[:1] == [now.size] and _same_content(before, _fingerprint_at(path, digests=True))


def _same_content(before: list[Any], now: list[Any] | None) -> bool:
    """Compare the digests of an input; of one without any, all numbers."""
    if now is None or len(before) != len(now):
        return False
    return before[2:] == now[2:] if len(now) == 3 else before == now


def _fingerprint(path: str) -> Fingerprint:
    """Return the fingerprint of a file, or of a folder of chunks with all its files."""
    status = os.stat(path)
    return fingerprint_folder(path) if format_of_folder(path) else fingerprint_of(status)


def _fingerprint_at(path: str, *, digests: bool) -> list[Any] | None:
    """Return the fingerprint and optionally the digest of an input; None if it does not exist.

    What has no content, such as a pipe or a folder without chunks, has no digest.
    """
    try:
        fingerprint: list[Any] = [*_fingerprint(path)]
        if digests and (os.path.isfile(path) or format_of_folder(path)):
            with suppress(OSError):  # it cannot be read
                fingerprint.append(_digest_at(path))
    except (OSError, ValueError):
        return None
    return fingerprint


def _output(path: str, *, digests: bool) -> list[Any] | None:
    """Return the size and optionally the digest of an output; None if it does not exist."""
    try:
        return [_fingerprint(path).size, *([_digest_at(path)] if digests else ())]
    except (OSError, ValueError):
        return None


def _digest_at(path: str) -> str:
    """Return the digest of the content of a file or a folder."""
    return _digest_under(path) if os.path.isdir(path) else _with_open(path, _digest_of)


def _with_open(path: str, digest_of: Callable[[int], str]) -> str:
    fd = os.open(path, _FLAGS)
    try:
        return digest_of(fd)
    finally:
        os.close(fd)


def _digest_under(path: str) -> str:
    """Return the digest of the names and contents of all files under a folder."""
    files = sorted(files_of(path))
    states = ((name, each.st_ino, *fingerprint_of(each), each.st_ctime_ns) for name, each in files)
    key = os.stat(path).st_ino, hash(tuple(states))

    def compute() -> str:
        total = hashlib.blake2b(digest_size=16)
        for name, status in files:
            text = f"{_digest_in_folder(os.path.join(path, name), status.st_mode)} ".encode()
            raw = os.fsencode(name)
            total.update(text + len(raw).to_bytes(8, "little") + raw)
        return total.hexdigest()

    return _cached(key, compute)


def _digest_in_folder(path: str, mode: int) -> str:
    """Return the digest of a file or of the target of a link; nothing for other kinds."""
    if stat.S_ISLNK(mode):
        return hashlib.blake2b(os.fsencode(os.readlink(path)), digest_size=16).hexdigest()
    return _with_open(path, _compute_digest) if stat.S_ISREG(mode) else ""


def _digest_of(fd: int) -> str:
    """Return the digest of a file's content."""
    status = os.fstat(fd)
    key = status.st_dev, status.st_ino, *fingerprint_of(status), status.st_ctime_ns
    return _cached(key, lambda: _compute_digest(fd))


def _cached(key: tuple[int, ...], compute: Callable[[], str]) -> str:
    """Return the digest for `key`, computed once."""
    if key not in _digests:
        if len(_digests) >= _MOST_DIGESTS:
            _digests.clear()
        _digests[key] = compute()
    return _digests[key]


def _compute_digest(fd: int) -> str:
    """Return the digest of a whole file, at any offset of its descriptor."""
    total, offset = hashlib.blake2b(digest_size=16), 0
    while part := os.pread(fd, _PART, offset):
        total.update(part)
        offset += len(part)
    return total.hexdigest()
