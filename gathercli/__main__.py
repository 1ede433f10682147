"""``python -m gathercli``, and the entry point of the installed command."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import NoReturn


def run() -> NoReturn:
    """Run the command and exit without the interpreter's teardown, a fifth of a short run."""
    import _signal  # type: ignore[import-not-found]

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # it is not ignored
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until `main` lets signals unwind
    _speak_utf_8()
    for fd in (0, 1, 2):  # the next file opened must not get the number of a closed stream
        try:
            os.fstat(fd)
        except OSError:
            # Opened the wrong way round: reading from it, or writing to it, still fails.
            os.open(os.devnull, os.O_RDONLY if fd else os.O_WRONLY)

    # numpy's BLAS starts a thread for each core, which a gather never uses: on two cores they took
    # a third of the CPU time of a tiny gather.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    sys.meta_path.insert(0, RoomForNumPy)

    import gc

    gc.disable()  # a short run leaves few cycles, and large lists would start many searches
    try:
        from gathercli.cli.main import main

        os._exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # after the last line of `main`
        status = 130
    except MemoryError:  # while modules were loaded to print an error
        os.write(2, b"error: there is not enough memory for this\nrule: limit\n")
        status = 65
    os._exit(status)


class RoomForNumPy:
    """A finder of modules that raises MemoryError where NumPy would end the process."""

    # Bytes of address space; with less, OpenBLAS exits with the status of a negative answer.
    LEAST = 100_000_000

    @classmethod
    def find_spec(cls, name: str, *_: object) -> None:
        """Raise before NumPy is imported, if the process may have too little address space."""
        if name != "numpy":
            return
        try:
            import resource
        except ImportError:  # a system without limits
            return
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < cls.LEAST:
            raise MemoryError


def _speak_utf_8() -> None:
    """Use UTF-8 for arguments, file names and help.

    In an ASCII locale, Python uses UTF-8 too unless ``PYTHONUTF8=0`` forbids it; only a restart of
    the interpreter can change that.
    """
    if sys.getfilesystemencoding() == "ascii" and sys.executable:
        environ = {**os.environ, "PYTHONUTF8": "1"}  # for the processes of a batch, too
        os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], environ)  # noqa: S606
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    run()
