"""``python -m gathercli``, and the entry point of the installed command."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def run() -> NoReturn:
    """Run the command and leave without the interpreter's teardown, a fifth of a short run."""
    for fd in (0, 1, 2):  # a closed one must not become the next file that is opened
        try:
            os.fstat(fd)
        except OSError:
            # Reading from it, or writing to it, fails as it should.
            os.open(os.devnull, os.O_RDONLY if fd else os.O_WRONLY)

    import gc

    gc.disable()  # a short run leaves no cycles worth a search, and large lists cost many
    try:
        from gathercli.cli.main import main

        status = main(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were loaded
        status = 130
    os._exit(status)


if __name__ == "__main__":
    run()
