"""Temporary files and folders; the error says how to choose another place for them."""

from __future__ import annotations

import tempfile
from typing import IO, TYPE_CHECKING, TypeVar

from gathercli.errors import TransferError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

ROOM = "a folder with room that can be written, which `TMPDIR` may name"
"""What is expected where a temporary file cannot be kept."""


def temporary_file() -> IO[bytes]:
    """Return a new unnamed file.

    Raises
    ------
    TransferError
        ``unreadable``: no folder can be written.
    """
    return _created("file", tempfile.TemporaryFile)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder, a context that removes it, as `temporary_file` does a file."""
    return _created("folder", lambda: tempfile.TemporaryDirectory(prefix="gathercli-"))


def _created(kind: str, create: Callable[[], _T]) -> _T:
    try:
        return create()
    except OSError as error:
        raise TransferError(
            f"a temporary {kind} cannot be created ({reason_of(error)})",
            rule="unreadable",
            expected=ROOM,
        ) from None
