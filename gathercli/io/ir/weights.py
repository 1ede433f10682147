"""The .bin beside an OpenVINO .xml."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import InputError
from gathercli.io.formats.content import check_pointer, malformed
from gathercli.io.graph import Constant
from gathercli.io.ir.strings import strings
from gathercli.io.stored import open_beside, stored
from gathercli.spec.dtypes import STRING, DType
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from gathercli.io.files import File

_START: Final = 64
"""Bytes that tell a pointer of Git LFS."""


class Weights:
    """The .bin beside an .xml, which is opened for its size and mapped for its elements."""

    def __init__(self, notes: list[str], xml: File, file: File | None = None) -> None:
        self._notes, self._xml, self._file = notes, xml, file
        self._buffer: Any = None
        self._opened = file is not None

    def constant(self, dtype: DType, shape: tuple[int, ...], offset: int, size: int) -> Constant:
        """Return a constant, after checking that it lies in the .bin."""
        if not self._opened:
            self._opened = True
            self._file = self._open()
        if self._file is None:
            reason = "its elements are in the .bin, which is missing"

            def refuse() -> Any:
                raise InputError(reason, rule="missing", expected="it beside the .xml")

            return Constant(dtype, shape, refuse, unread=reason)
        if offset + size > self._file.size:
            check_pointer(self._file.start(_START))
            raise malformed(
                f"its elements are at bytes {offset} to {offset + size}, "
                f"but the .bin has only {counted(self._file.size, 'byte')}",
                "them inside the .bin",
            )
        if dtype is STRING:
            return Constant(
                dtype,
                shape,
                lambda: strings(self._bytes(), shape, offset, size),
                limit=self._xml.limit,
            )
        return stored(self._bytes, dtype, shape, offset, size, self._xml.limit)

    def _open(self) -> File | None:
        """Open the .bin; None, and a note, if there is none."""
        xml = self._xml
        path, suffix = os.path.splitext(xml.path)
        whole, name = f"{path}.bin", f"{os.path.splitext(xml.name)[0]}.bin"
        if suffix.lower() != ".xml" or not os.path.lexists(whole):
            self._notes.append(f"there is no `{clean(name)}`, so no constant was read")
            return None
        file = open_beside(xml.path, os.path.basename(whole), xml.limit)
        file.guarded = xml.guarded
        xml.beside.append(file)
        return file

    def _bytes(self) -> Any:
        if self._buffer is None and self._file is not None:
            self._buffer = self._file.buffer()
        return self._buffer
