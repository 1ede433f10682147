"""Write to open descriptors, such as stdout; imports nothing that takes time."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

    from gathercli.errors import TransferError

STDOUT: Final = 1
STDERR: Final = 2


def write_all(
    fd: int, part: bytes | memoryview, position: int | None = None, *, place: str | None = None
) -> None:
    """Write all bytes to a descriptor, at `position` of the file or behind what was written.

    `place` names the file in errors, None a stream of the process. A closed pipe raises
    BrokenPipeError, any other failure TransferError (``output``).
    """
    view = memoryview(part)
    try:
        while view:
            if position is None:
                view = view[os.write(fd, view) :]
            else:
                number = os.pwrite(fd, view, position)
                view, position = view[number:], position + number
    except BrokenPipeError:
        raise
    except OSError as error:
        raise incomplete(error, place) from None


def incomplete(error: OSError, place: str | None) -> TransferError:
    """Return the error for an output that is not complete."""
    from gathercli.errors import TransferError

    what = f"writing stopped ({(error.strerror or '').lower()}), the output is not complete"
    return TransferError(what, places=[place] if place else [])
