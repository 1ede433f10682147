"""What the files of a job were like when it was done: whether it must be done again."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import GatherError
from gathercli.io.files import Fingerprint, fingerprint_of
from gathercli.io.folders import Folder, files_of, fingerprint_folder
from gathercli.io.source import Inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.jobs.job import Job

_PART: Final = 1 << 20
_MOST_DIGESTS: Final = 1024
_digests: dict[tuple[int, ...], str] = {}
"""Of files and folders, by what changes whenever they are written."""

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would wait for a writer


class Fingerprints(NamedTuple):
    """What a line of the report says of the files of its job.

    Attributes
    ----------
    job
        The digest of its text, as hexadecimal digits.
    inputs
        By name: size, nanoseconds of the last writing, and perhaps the digest of the content;
        None for a file that was not there. For a folder see `fingerprint_folder`.
    output
        Size, and perhaps the digest; None when nothing was written.
    """

    job: str
    inputs: dict[str, list[Any] | None]
    output: list[Any] | None

    @classmethod
    def of(cls, inputs: Inputs, job: Job, *, hashed: bool) -> Fingerprints:
        """Look at the files that were read, which are still open, and at the output."""
        found: dict[str, list[Any] | None] = {}
        for name, file in inputs.named.items():
            found[name] = None
            if file is not None:
                found[name] = [*file.fingerprint]
                if hashed and isinstance(file, Folder):
                    found[name] = _stamp_at(file.path, hashed=True)
                elif hashed and file.regular:
                    found[name] = [*file.fingerprint, _digest_of(file.fd)]
        path = job.output and os.path.join(job.folder, job.output)
        return cls("", found, _output(path, hashed=hashed) if path else None)

    @classmethod
    def seen(cls, job: Job, text: bytes, *, hashed: bool) -> Fingerprints:
        """Look at the files that a job names, whose process could not say what it read."""
        found: dict[str, list[Any] | None] = {}
        inputs = Inputs(None, folder=job.folder)
        for token in job.tensors:
            with suppress(GatherError):
                name = inputs.file_of(token)[0] if isinstance(token, str) else None
                if name is not None:
                    found[name] = _stamp_at(os.path.join(job.folder, name), hashed=hashed)
        return cls(digest(text).hex(), found, None)

    def to_json(self) -> dict[str, Any]:
        """Return what the line holds."""
        return self._asdict()


def digest(text: bytes) -> bytes:
    """Return eight bytes by which a text is known."""
    return hashlib.blake2b(text, digest_size=8).digest()


def is_done(stamp: Any, job: bytes, folder: str, output: str | None, *, hashed: bool) -> bool:
    """Tell whether a job need not be done again: neither it nor its files have changed.

    Parameters
    ----------
    stamp
        What `Fingerprints.to_json` returned, or anything else that a line may hold.
    job
        The digest of the text of the job.
    output
        The file it writes, if it does.
    hashed
        Whether contents are compared, not the times of writing.
    """
    if not isinstance(stamp, dict) or stamp.get("job") != job.hex():
        return False
    inputs = stamp.get("inputs")
    if not isinstance(inputs, dict):
        return False
    known = stamp.get("output")
    if output is not None and known is not None:
        now = _output(os.path.join(folder, output), hashed=hashed)
        if now is None or not isinstance(known, list) or known[: len(now)] != now:
            return False
    return all(
        _is_same(os.path.join(folder, name), known, hashed=hashed) for name, known in inputs.items()
    )


def _is_same(path: str, known: Any, *, hashed: bool) -> bool:
    try:
        now = _stamp(path)
        if not hashed:
            return isinstance(known, list) and known[:2] == list(now)
        if not isinstance(known, list) or len(known) != 3 or known[0] != now.size:
            return False
    except (OSError, ValueError):
        return known is None
    try:
        return bool(known[2] == _digest_at(path))
    except OSError:  # a pipe, or a disk that fails
        return False


def _stamp(path: str) -> Fingerprint:
    """Take what changes with a file, or with any of those in a folder."""
    return fingerprint_folder(path) if os.path.isdir(path) else fingerprint_of(os.stat(path))


def _stamp_at(path: str, *, hashed: bool) -> list[Any] | None:
    try:
        stamp = [*_stamp(path)]
        special = not os.path.isdir(path) and not stat.S_ISREG(os.stat(path).st_mode)
        return stamp if not hashed or special else [*stamp, _digest_at(path)]
    except (OSError, ValueError):
        return None


def _output(path: str, *, hashed: bool) -> list[Any] | None:
    """Describe an output; None when it is not there."""
    try:
        return [_stamp(path).size, *([_digest_at(path)] if hashed else ())]
    except (OSError, ValueError):
        return None


def _digest_at(path: str) -> str:
    """Return the digest of what a file, or a folder, holds."""
    if os.path.isdir(path):
        return _digest_under(path)
    fd = os.open(path, _FLAGS)
    try:
        return _digest_of(fd)
    finally:
        os.close(fd)


def _digest_under(path: str) -> str:
    """Return the digest of the names and contents of all files under a folder."""
    files = sorted(files_of(path))
    states = ((name, each.st_ino, *fingerprint_of(each), each.st_ctime_ns) for name, each in files)
    known = os.stat(path).st_ino, hash(tuple(states))

    def made() -> str:
        found = hashlib.blake2b(digest_size=16)
        for name, status in files:
            text = f"{_content(os.path.join(path, name), status.st_mode)} ".encode()
            raw = os.fsencode(name)
            found.update(text + len(raw).to_bytes(8, "little") + raw)
        return found.hexdigest()

    return _once(known, made)


def _content(path: str, mode: int) -> str:
    """Return what stands for the content of a file: of a link where it leads, of a pipe nothing."""
    if stat.S_ISLNK(mode):
        return hashlib.blake2b(os.fsencode(os.readlink(path)), digest_size=16).hexdigest()
    if not stat.S_ISREG(mode):
        return ""
    fd = os.open(path, _FLAGS)
    try:
        return _made_digest(fd)
    finally:
        os.close(fd)


def _digest_of(fd: int) -> str:
    """Return the digest of a file's content."""
    status = os.fstat(fd)
    known = status.st_dev, status.st_ino, *fingerprint_of(status), status.st_ctime_ns
    return _once(known, lambda: _made_digest(fd))


def _once(known: tuple[int, ...], made: Callable[[], str]) -> str:
    """Make a digest, or return it: of what many jobs name it is made once."""
    if known not in _digests:
        if len(_digests) >= _MOST_DIGESTS:
            _digests.clear()
        _digests[known] = made()
    return _digests[known]


def _made_digest(fd: int) -> str:
    """Read a file, wherever its descriptor stands."""
    found, place = hashlib.blake2b(digest_size=16), 0
    while part := os.pread(fd, _PART, place):
        found.update(part)
        place += len(part)
    return found.hexdigest()
