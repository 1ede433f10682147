"""Two names of the file system that change places in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

_HERE: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def swapped(one: str, other: str) -> bool:
    """Let two files or folders change their names; tell whether they have.

    Nothing has happened where the system, the library or the file system cannot do it.
    """
    library = ctypes.CDLL(None)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        rename, words = getattr(library, "renamex_np", None), (first, second, _EXCHANGE)
    else:
        rename = getattr(library, "renameat2", None)
        words = (_HERE, first, _HERE, second, _EXCHANGE)
    return rename is not None and bool(rename(*words) == 0)
