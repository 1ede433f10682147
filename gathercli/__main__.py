"""``python -m gathercli``, and the entry point of the installed command."""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn


def run() -> NoReturn:
    """Run the command and leave without the interpreter's teardown, a fifth of a short run."""
    _speak_utf_8()
    for fd in (0, 1, 2):  # a closed one must not become the next file that is opened
        try:
            os.fstat(fd)
        except OSError:
            # Reading from it, or writing to it, fails as it should.
            os.open(os.devnull, os.O_RDONLY if fd else os.O_WRONLY)

    # numpy's BLAS starts a thread for each core, and none of them has anything to do here: on two
    # cores that was a third of the CPU time of a tiny gather.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    import gc

    gc.disable()  # a short run leaves no cycles worth a search, and large lists cost many
    try:
        from gathercli.cli.main import main

        status = main(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were loaded
        status = 130
    os._exit(status)


def _speak_utf_8() -> None:
    """Read arguments and name files in UTF-8, which holds ASCII, and write help in it.

    A locale of ASCII says nothing of other bytes. Python takes them for UTF-8 there, unless
    ``PYTHONUTF8=0`` forbids it; only a new start of the interpreter can change that.
    """
    if sys.getfilesystemencoding() == "ascii" and sys.executable:
        environ = {**os.environ, "PYTHONUTF8": "1"}  # for the processes of a batch, too
        os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], environ)  # noqa: S606
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    run()
