"""Programs that tests start, wait for and end; and the pipes and terminals beside them."""

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE: Final = 120
"""Seconds after which what should happen will not any more, however busy the machine is."""

AGAIN: Final = 10
"""Seconds after which a signal that a process did not take is sent once more."""

PROGRAM: Final = (sys.executable, "-m", "gathercli")


def one_call(line: str) -> list[str] | None:
    """Return the arguments of a line of shell that is one call of the program, or None."""
    is_plain = re.fullmatch(r"gathercli (?:[^\"'$&()*;<>?\\`{|}~\n]|'[^']*')*", line)
    return shlex.split(line)[1:] if is_plain and " #" not in line else None


@contextmanager
def start(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program; end it, and the processes of its jobs, whatever happens."""
    pipe = subprocess.PIPE
    command = [*PROGRAM, *words]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, process_group=0) as process:
        try:
            yield process
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """List the processes that do the jobs of a batch."""
    path = f"/proc/{process.pid}/task/{process.pid}/children"
    return list(map(int, Path(path).read_text("ascii").split()))


def wait_until(fits: Callable[[], Any], every: float = 0.01) -> Any:
    """Return what `fits` returns, once that is true; ask it `every` so many seconds."""
    deadline = time.monotonic() + PATIENCE
    while not (found := fits()):
        assert time.monotonic() < deadline
        time.sleep(every)
    return found


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def writer(pipe: str) -> int | None:
    """Open a pipe for writing, if a process has opened it for reading."""
    with suppress(OSError):
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    return None


class Feed:
    """A pipe that a job reads, which waits for it; as a context it closes it."""

    def __init__(self, pipe: str) -> None:
        self._pipe = pipe
        self._fd: int | None = None
        os.mkfifo(pipe)

    def is_read(self) -> bool:
        """Tell whether a process waits for it; what was opened once is not opened again."""
        if self._fd is None:
            self._fd = writer(self._pipe)
            return self._fd is not None
        end = select.poll()
        end.register(self._fd, 0)
        return not end.poll(0)

    def write(self, content: bytes) -> None:
        """Write all that the job reads."""
        assert self._fd is not None
        os.write(self._fd, content)
        self.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def opened(pipe: str) -> int:
    """Open a pipe for writing, once a process has opened it for reading."""
    return int(wait_until(lambda: writer(pipe)))


@contextmanager
def on_terminal(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start the program with a terminal as its stderr; end it, whatever happens."""
    ours, theirs = os.openpty()
    pipe = subprocess.PIPE
    command = [*PROGRAM, *words]
    with subprocess.Popen(command, stdout=pipe, stderr=theirs, process_group=0) as process:
        os.close(theirs)
        try:
            yield process, ours
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()
            os.close(ours)


def read_until(fd: int, text: bytes | None) -> bytes:
    """Read what a terminal is sent: until it has a text, or (None) until nobody can send more."""
    said, deadline = b"", time.monotonic() + PATIENCE
    with suppress(OSError):  # EIO: the other side is closed
        while text is None or text not in said:
            left = max(0.0, deadline - time.monotonic())  # a progress bar says something for ever
            assert select.select([fd], [], [], left)[0], said
            said += os.read(fd, 1 << 16)
    return said
