"""The process that does jobs: tasks come on its standard input, lines of report leave on stdout.

::

    task    number start stop           where the job stands in the plan's file
    answer  number status length notes  and then the line, of so many bytes

Both are text; a process starts with ``ready``, and ends where its input does, or at once when
who started it is gone.
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

from gathercli.io.files import STDIN
from gathercli.io.write import STDOUT, let_signals_unwind, write_all
from gathercli.jobs.job import Job
from gathercli.jobs.plan import Text
from gathercli.jobs.work import Part, Settings, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

READY: Final = b"ready\n"
GRACE: Final = 2.0
"""Seconds for a process to remove what it has begun, when it is told to end."""

_FIRST: Final = Job(id="first", op="gather", inputs={"data": [0], "indices": [0]})
"""Done before the others, so that none of them waits until modules are loaded."""

_PART: Final = 1 << 16


def main(fd: int, settings: Settings) -> None:
    """Do what is asked for until nothing more is.

    Parameters
    ----------
    fd
        The plan's file.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # by which it is told to end, is not ignored
    let_signals_unwind()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process decides
    given, answers = _own(STDIN), _own(STDOUT)
    threading.Thread(target=_end_with, args=(given,), daemon=True).start()
    line_of(_FIRST, b"", settings)
    write_all(answers, READY)
    for number, start, stop in tasks(given):
        write_all(answers, answer(number, os.pread(fd, stop - start, start), settings))


def _own(fd: int) -> int:
    """Take a standard stream away from the jobs, which may name ``/dev/stdin``."""
    taken = os.dup(fd)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, fd)
    os.close(nothing)
    return taken


def _end_with(fd: int) -> None:
    """End this process when nobody can give it tasks any more, even if its job waits for ever."""
    end = select.poll()
    end.register(fd, 0)
    end.poll()
    main_thread = threading.main_thread().ident
    if main_thread is not None:
        signal.pthread_kill(main_thread, signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(143)


def tasks(fd: int) -> Iterator[tuple[int, int, int]]:
    """Read tasks as they come."""
    held = b""
    while part := os.read(fd, _PART):
        *lines, held = (held + part).split(b"\n")
        for line in lines:
            number, start, stop = map(int, line.split())
            yield number, start, stop


def answer(number: int, record: bytes, settings: Settings) -> bytes:
    """Do a job, and write down how it ended."""
    found = Text.parse(record)
    done = line_of(found.job(), found.text, settings, Part.parse(found.where))
    line = bytes(done)
    notes = json.dumps(done.kinds()) if done.notes or done.adjustments else "{}"
    return b"%d %s %d %s\n%s" % (number, done.status.encode(), len(line), notes.encode(), line)


def run() -> None:
    """Start with what the command line says: the file, the settings."""
    fd, settings = sys.argv[1:]
    try:
        main(int(fd), Settings(*json.loads(settings)))
    except ConnectionError:  # nobody wants to know any more
        os._exit(1)


if __name__ == "__main__":
    run()
