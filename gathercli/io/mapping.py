"""Mapped files that another program shortens while they are read.

Whoever reads a page that is gone is sent SIGBUS, which ends a process without a word. Handlers of
the module `signal` run between two instructions of Python, and here one instruction fails for
ever. So this handler is a callback of ctypes: it maps zeros in the place of the whole file, and
notes that. The work goes on, and before anything is committed `File.recheck` refuses what came of
it like any other input that changed: by name, with everything temporary removed, in a batch as one
failed job.

Rows read with `pread` in place of a mapping took 157 times as long where they had 8 bytes.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import weakref
from typing import Final

_HOSTS: Final = ("x86_64", "aarch64")
"""Machines whose Linux has this `_Action`, `_ADDRESS` and `_FIXED`."""

_SIGINFO: Final = 4
_ADDRESS: Final = 16
"""Where in a ``siginfo_t`` the address of a fault is."""

_FIXED: Final = 0x10
_FAILED: Final = ctypes.c_void_p(-1).value


class _Action(ctypes.Structure):
    """The C library's ``struct sigaction``."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Mapping:
    """The memory where a file is mapped; `lost` says whether zeros are there instead."""

    def __init__(self, mapped: mmap.mmap) -> None:
        import numpy as np

        self.lost = False
        self.start: int = np.frombuffer(mapped, np.uint8).ctypes.data
        self.stop = self.start + len(mapped)
        # Once nobody views the file, the memory is anybody's.
        self._mapped = weakref.ref(mapped, lambda _: _mappings.discard(self))

    def clear(self) -> bool:
        """Map zeros; say whether that could be done."""
        self.lost = True  # before anybody can read them
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
        size = self.stop - self.start
        return bool(_libc.mmap(self.start, size, mmap.PROT_READ, flags, -1, 0) != _FAILED)


_mappings: set[Mapping] = set()
_before: list[_Action] = []
"""What was done on SIGBUS before, since it is handled here."""


def guard(mapped: mmap.mmap) -> Mapping | None:
    """Let this process survive that a mapped file is shortened; None where it cannot.

    Not for a library, which leaves the signals to the program.
    """
    if sys.platform != "linux" or os.uname().machine not in _HOSTS or sys.maxsize < 1 << 32:
        return None
    mapping = Mapping(mapped)
    _mappings.add(mapping)
    if not _before:
        _before.append(_Action())
        # No other signal comes to this thread meanwhile.
        own = _Action(ctypes.cast(_handler, ctypes.c_void_p), (2**64 - 1,) * 16, _SIGINFO)
        _libc.sigaction(signal.SIGBUS, ctypes.byref(own), ctypes.byref(_before[0]))
    return mapping


def _on_fault(_number: int, info: int, _context: int) -> None:
    """Clear the mapping of the address that failed; leave any other to what was done before."""
    address = ctypes.c_void_p.from_address(info + _ADDRESS).value or 0
    for each in tuple(_mappings):
        # Of two threads that failed, the later one tries again.
        if each.start <= address < each.stop and (each.lost or each.clear()):
            return
    _libc.sigaction(signal.SIGBUS, ctypes.byref(_before.pop()), None)
    signal.raise_signal(signal.SIGBUS)


_libc: Final = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_handler: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_on_fault)
