"""Protection from programs that shorten a mapped file while it is read.

Reading a page that is gone raises SIGBUS, which ends the process without a message. Handlers of the
module `signal` run between two instructions of Python, and here one instruction fails for ever. So
this handler is a callback of ctypes: it maps zeros in place of the whole file, and sets `lost`. The
work goes on, and before anything is committed `File.recheck` raises, as for any changed input: with
its name, after temporary files are removed, in a batch as one failed job.

Reading rows of 8 bytes with `pread` in place of a mapping took 157 times as long.
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
"""Machines on which Linux has this `_Action`, `_ADDRESS` and `_FIXED`."""

_SIGINFO: Final = 4
_ADDRESS: Final = 16
"""The offset of the address in a ``siginfo_t``."""

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
    """The memory of a mapped file; `lost` tells whether zeros have replaced it."""

    def __init__(self, mapped: mmap.mmap) -> None:
        import numpy as np

        self.lost = False
        self.start: int = np.frombuffer(mapped, np.uint8).ctypes.data
        self.stop = self.start + len(mapped)
        # Without views of the file, the memory may be reused.
        self._mapped = weakref.ref(mapped, lambda _: _mappings.discard(self))

    def clear(self) -> bool:
        """Map zeros; return False if that fails."""
        self.lost = True  # before any thread reads the zeros
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
        size = self.stop - self.start
        return bool(_libc.mmap(self.start, size, mmap.PROT_READ, flags, -1, 0) != _FAILED)


_mappings: set[Mapping] = set()
_before: list[_Action] = []
"""The previous action on SIGBUS, once ours is set."""


def guard(mapped: mmap.mmap) -> Mapping | None:
    """Make this process survive that a mapped file is shortened; return None if it cannot.

    Not for a library: signals belong to the program.
    """
    if sys.platform != "linux" or os.uname().machine not in _HOSTS or sys.maxsize < 1 << 32:
        return None
    mapping = Mapping(mapped)
    _mappings.add(mapping)
    if not _before:
        _before.append(_Action())
        # The mask blocks all other signals in this thread meanwhile.
        own = _Action(ctypes.cast(_handler, ctypes.c_void_p), (2**64 - 1,) * 16, _SIGINFO)
        _libc.sigaction(signal.SIGBUS, ctypes.byref(own), ctypes.byref(_before[0]))
    return mapping


def _on_fault(_number: int, info: int, _context: int) -> None:
    """Clear the mapping of the failed address; for any other restore the previous action."""
    address = ctypes.c_void_p.from_address(info + _ADDRESS).value or 0
    for each in tuple(_mappings):
        # Of two threads that fail, the later one repeats its read.
        if each.start <= address < each.stop and (each.lost or each.clear()):
            return
    _libc.sigaction(signal.SIGBUS, ctypes.byref(_before.pop()), None)
    signal.raise_signal(signal.SIGBUS)


_libc: Final = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_handler: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_on_fault)
