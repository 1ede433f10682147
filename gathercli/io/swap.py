"""Exchange two names in the file system atomically."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

_CWD: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def exchange(one: str, other: str) -> bool:
    """Exchange the names of two files or folders; return False if that is unsupported."""
    library = ctypes.CDLL(None)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        rename, arguments = getattr(library, "renamex_np", None), (first, second, _EXCHANGE)
    else:
        rename = getattr(library, "renameat2", None)
        arguments = (_CWD, first, _CWD, second, _EXCHANGE)
    return rename is not None and bool(rename(*arguments) == 0)
