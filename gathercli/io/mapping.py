"""Survive the truncation of a mapped file by another program.

Reading a missing page raises SIGBUS, which kills the process without a message. Handlers of the
module `signal` run between two Python instructions, but here one instruction fails repeatedly. So
the handler is a ctypes callback: it maps zeros over the whole file and sets `lost`. The work goes
on, and before a commit `File.recheck` raises as for any changed input.

Reading rows of 8 bytes with `pread` instead took 157 times as long.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import weakref
from typing import Final

# The machines on which `_Action`, `_ADDRESS_OFFSET` and `_FIXED_FLAG` are correct.
_MACHINES: Final = ("x86_64", "aarch64")
_SIGINFO_FLAG: Final = 4
_ADDRESS_OFFSET: Final = 16  # the offset of the address in a ``siginfo_t``
_FIXED_FLAG: Final = 0x10
_BUFFER_WORDS: Final = 16  # more than a ``Py_buffer`` has, of which the first is the address
_FAILED_ADDRESS: Final = ctypes.c_void_p(-1).value


class _Action(ctypes.Structure):
    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def _address(memory: mmap.mmap) -> int:
    view = (ctypes.c_void_p * _BUFFER_WORDS)()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(memory), view, 0)
    ctypes.pythonapi.PyBuffer_Release(view)
    return view[0] or 0


class Mapping:
    """The memory of a mapped file; `lost` is True after zeros replaced it."""

    def __init__(self, memory: mmap.mmap) -> None:
        self.lost = False
        self.start = _address(memory)
        self.stop = self.start + len(memory)
        # Without views of the file, the system may reuse its addresses.
        self._memory = weakref.ref(memory, lambda _: _mappings.discard(self))

    def clear(self) -> bool:
        """Map zeros over the memory; return False on failure."""
        self.lost = True  # before any thread reads the zeros
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED_FLAG
        size = self.stop - self.start
        return bool(_libc.mmap(self.start, size, mmap.PROT_READ, flags, -1, 0) != _FAILED_ADDRESS)


_mappings: set[Mapping] = set()
_previous: list[_Action] = []  # the previous action on SIGBUS, after `guard` replaced it


def guard(memory: mmap.mmap) -> Mapping | None:
    """Survive the truncation of a mapped file, in a program alone; return None if unsupported."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES or sys.maxsize < 1 << 32:
        return None
    mapping = Mapping(memory)
    _mappings.add(mapping)
    if not _previous:
        _previous.append(_Action())
        # The mask blocks all other signals in this thread during the handler.
        action = _Action(ctypes.cast(_handler, ctypes.c_void_p), (2**64 - 1,) * 16, _SIGINFO_FLAG)
        _libc.sigaction(signal.SIGBUS, ctypes.byref(action), ctypes.byref(_previous[0]))
    return mapping


def _on_fault(_number: int, info: int, _context: int) -> None:
    """Clear the mapping that contains the address; without one restore the previous action."""
    address = ctypes.c_void_p.from_address(info + _ADDRESS_OFFSET).value or 0
    for each in tuple(_mappings):
        # If two threads fail, the later one repeats its read.
        if each.start <= address < each.stop and (each.lost or each.clear()):
            return
    _libc.sigaction(signal.SIGBUS, ctypes.byref(_previous.pop()), None)
    signal.raise_signal(signal.SIGBUS)


_libc: Final = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_handler: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_on_fault)
