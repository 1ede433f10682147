"""A process of a `Pool`: read tasks from standard input, write answers to stdout.

::

    task    number start stop  a job, and the span of its record in the spool
    answer                     `Outcome.record`

A task is a line of text. The process first writes ``ready``. It ends with its input, or as soon as
its parent is gone.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from gathercli.batch.outcome import Outcome
from gathercli.batch.work import Part, Settings, line_of
from gathercli.io.descriptors import STDOUT, write_all
from gathercli.io.files import STDIN
from gathercli.io.jobs.job import Job, read_again
from gathercli.io.jobs.jobfile import JobEntry
from gathercli.io.temporaries import set_owner
from gathercli.io.write import let_signals_unwind

if TYPE_CHECKING:
    from collections.abc import Iterator

READY: Final = b"ready\n"
GRACE: Final = 2.0
"""Seconds after SIGTERM for a process to remove its temporary files."""

_FIRST: Final = Job(id="first", op="gather", inputs={"data": [0], "indices": [0]})
"""A job that imports all modules before other jobs are timed."""

_PART: Final = 1 << 16


def main(fd: int, settings: Settings) -> None:
    """Run the jobs of all tasks; `fd` is the file of the spool."""
    set_owner(settings.owner)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the parent may ignore it
    let_signals_unwind()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides
    requests, answers = _take_over(STDIN), _take_over(STDOUT)
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    import gathercli.compute.array_run  # noqa: F401  (for most jobs, before any is timed)

    line_of(_FIRST, b"", settings)
    write_all(answers, READY)
    for number, start, stop in tasks(requests):
        write_all(answers, answer(number, os.pread(fd, stop - start, start), settings))


def _take_over(fd: int) -> int:
    """Move a standard stream to another descriptor, as a job may read ``/dev/stdin``."""
    stream = os.dup(fd)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, fd)
    os.close(null)
    return stream


def _end_with(fd: int) -> None:
    """End this process when its parent is gone, even during a job."""
    end = select.poll()
    end.register(fd, 0)
    end.poll()
    main_thread = threading.main_thread().ident
    if main_thread is not None:
        signal.pthread_kill(main_thread, signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(143)


def tasks(fd: int) -> Iterator[tuple[int, int, int]]:
    """Yield tasks as they arrive."""
    rest = b""
    while part := os.read(fd, _PART):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            number, start, stop = map(int, line.split())
            yield number, start, stop


def answer(number: int, record: bytes, settings: Settings) -> bytes:
    """Run a job and return its answer."""
    entry = JobEntry.parse(record)
    line = line_of(read_again(entry), entry.text, settings, Part.parse(entry.where))
    return Outcome.of(number, line).record()


def run() -> None:
    """Call `main` with the file of the spool and the settings in the arguments."""
    fd, settings = sys.argv[1:]
    try:
        main(int(fd), Settings(*json.loads(settings)))
    except ConnectionError:  # the parent is gone
        os._exit(1)


if __name__ == "__main__":
    run()
