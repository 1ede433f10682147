"""What a command and the processes it has work done by take, and which files they open (Linux)."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import subprocess
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

EVERY: Final = 0.02
"""Seconds between two looks."""

_OPEN: Final = 0x20
_CLOSED: Final = 0x10
_HEAD: Final = struct.Struct("iIII")


class Seen(NamedTuple):
    """What was seen of one run.

    Attributes
    ----------
    own, others
        Megabytes that were resident at most: of the command, and of each of the others with the
        processes that they started, whose peaks are added up.
    read
        Gigabytes that all of them read, from files and from each other, as far as was seen.
    stopped
        Whether it was stopped, as it took more than it may.
    """

    own: float
    others: list[float]
    read: float
    stopped: bool = False


class Opened:
    """Counts, as a context, how often each file of a folder is opened to be read, by anyone.

    The system may tell of two openings of one file as one if nothing happens between them.
    """

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self._folder, self._ends = folder, threading.Event()

    def __enter__(self) -> Self:
        system = ctypes.CDLL(None, use_errno=True)
        self._fd = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        path = os.fsencode(self._folder)
        if self._fd < 0 or system.inotify_add_watch(self._fd, path, _OPEN | _CLOSED) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._thread = threading.Thread(target=self._count)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        os.close(self._fd)

    def _count(self) -> None:
        while True:
            ends = self._ends.is_set()
            if not select.select([self._fd], [], [], 0.1)[0]:
                if ends:
                    return
                continue
            found, at = os.read(self._fd, 1 << 16), 0
            while at < len(found):
                _, mask, _, size = _HEAD.unpack_from(found, at)
                name = found[at + _HEAD.size : at + _HEAD.size + size].rstrip(b"\0")
                if mask & _OPEN:
                    self.counts[os.fsdecode(name)] += 1
                at += _HEAD.size + size


def watched(
    command: Sequence[str], folder: Path, others: Sequence[int] = (), most: float | None = None
) -> Seen:
    """Run a command, and look at the memory of it, and of others that work for it.

    Parameters
    ----------
    others
        Their process ids.
    most
        Megabytes that the command may take before it is stopped.
    """
    own, stopped = 0.0, False
    peaks: list[dict[int, float]] = [{} for _ in others]
    before = {one: _read(one) for pid in others for one in _tree(pid)}
    read: dict[int, int] = {}
    with subprocess.Popen(command, cwd=folder) as process:
        while process.poll() is None:
            own = max(own, _peak(process.pid))
            read[process.pid] = _read(process.pid) or read.get(process.pid, 0)
            if most is not None and own > most:
                process.kill()
                stopped = True
            for pid, each in zip(others, peaks, strict=True):
                for one in _tree(pid):
                    each[one] = max(each.get(one, 0.0), _now(one))
                    read[one] = max(read.get(one, 0), _read(one) - before.get(one, 0))
            time.sleep(EVERY)
        if process.returncode and not stopped:
            raise SystemExit(f"{command} failed")
    held = [sum(each.values()) for each in peaks]
    return Seen(own, held, sum(read.values()) / 1e9, stopped)


def _status(pid: int, what: str) -> float:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as lines:
            return next((int(x.split()[1]) for x in lines if x.startswith(what)), 0) * 1024 / 1e6
    except OSError:
        return 0.0


def _peak(pid: int) -> float:
    return _status(pid, "VmHWM")


def _now(pid: int) -> float:
    """Return what is resident, as a peak may be of the run before."""
    return _status(pid, "VmRSS")


def _read(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as lines:
            return int(next(lines).split()[1])
    except (OSError, StopIteration):
        return 0


def _tree(pid: int) -> Iterator[int]:
    """Yield a process, and those that it started."""
    yield pid
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found = file.read().split()
        except OSError:
            continue
        for child in found:
            yield from _tree(int(child))


@contextmanager
def started(command: Sequence[str], folder: Path) -> Iterator[int]:
    """Keep a process running; it ends with the context."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
