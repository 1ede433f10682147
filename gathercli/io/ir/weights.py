"""The .bin beside an OpenVINO .xml."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.conversion import store
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, InputError
from gathercli.io.formats.content import check_pointer, malformed
from gathercli.io.graph import Constant
from gathercli.io.ir.layers import ELEMENT_TYPES, integer, shape_of, type_of
from gathercli.io.stored import decoded, open_beside, raw_elements, stored
from gathercli.spec.coordinates import Place
from gathercli.spec.dtypes import STRING, DType
from gathercli.spec.shapes import product
from gathercli.text import clean, counted, in_bytes, short

if TYPE_CHECKING:
    from gathercli.io.files import File
    from gathercli.io.ir.layers import Layer

_START: Final = 64
"""Bytes that tell a pointer of Git LFS."""


class Weights:
    """The .bin beside an .xml, which is opened for its size and mapped for its elements."""

    def __init__(self, notes: list[str], xml: File, file: File | None = None) -> None:
        self._notes, self._xml, self._file = notes, xml, file
        self._buffer: Any = None
        self._opened = file is not None

    def of_layer(self, layer: Layer) -> Constant:
        """Return the constant of a Const layer; its errors have the name of the layer."""
        data = layer.data
        try:
            dtype = type_of(data.get("element_type", ""))
            if dtype not in ELEMENT_TYPES:
                word = clean(short(data.get("element_type", "")))
                raise InputError(
                    f"its type is `{word}`", rule="dtype", value=word, expected="a type of OpenVINO"
                )
            sizes = shape_of(data.get("shape", "")).sizes
            if sizes is None:
                raise malformed(f"its shape is `{clean(short(data['shape']))}`", "known sizes")
            offset = integer(data.get("offset", ""), "its offset")
            size = integer(data.get("size", ""), "its size")
            return self._constant(dtype, sizes, offset, size)
        except GatherError as error:
            error.prefix(f"the constant `{clean(short(layer.name))}`")
            raise

    def _constant(self, dtype: DType, shape: tuple[int, ...], offset: int, size: int) -> Constant:
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
                lambda: _strings(self._bytes(), shape, offset, size),
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


def _strings(buffer: Any, shape: tuple[int, ...], offset: int, size: int) -> Tensor:
    """Read strings.

    Their number N, N + 1 offsets of their bytes, and the bytes in UTF-8; the numbers are 32-bit
    integers, little-endian.
    """
    number = product(shape)
    if size < 4 * (number + 2):
        raise malformed(f"the strings take {in_bytes(size)}", f"{4 * (number + 2)} or more")
    head = np.frombuffer(buffer, "<u4", number + 2, offset).tolist()
    start = offset + 4 * (number + 2)
    ends = head[1:]
    if head[0] != number or sorted(ends) != ends or start + ends[-1] > offset + size:
        raise malformed("the offsets of the strings are wrong", "offsets in order")
    words = [
        decoded(bytes(buffer[start + one : start + other]), f"strings[{at}]")
        for at, (one, other) in enumerate(pairwise(ends))
    ]
    return Tensor(STRING, store(words, STRING, Place("strings", (number,))).reshape(shape))


def weights_of(tensor: Tensor) -> bytes:
    """Return the elements of a constant as the .bin has them.

    Elements of less than a byte are packed, the first one in the lowest bits. Of strings there are
    their number, the ends of each, and the texts.
    """
    if tensor.dtype is STRING:
        words = [str(each).encode() for each in tensor.array.reshape(-1)]
        ends = np.cumsum([0, *map(len, words)])
        return np.array([len(words), *ends], "<u4").tobytes() + b"".join(words)
    return raw_elements(tensor)
