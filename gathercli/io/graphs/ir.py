"""Graphs written as OpenVINO IR of version 11, text of an .xml and bytes of a .bin; the weights."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.conversion import store
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, InputError
from gathercli.io.files import File
from gathercli.io.formats.content import check_pointer, malformed
from gathercli.io.graphs.graph import (
    Constant,
    Graph,
    GraphValue,
    decoded,
    open_beside,
    raw_elements,
    stored,
)
from gathercli.io.graphs.layers import ELEMENT_TYPES, Layer, integer, precision, shape_of, type_of
from gathercli.spec.dtypes import STRING, DType
from gathercli.spec.shapes import Place, product
from gathercli.text import clean, counted, in_bytes, short

_POINTER_BYTES: Final = 64  # bytes that tell a pointer of Git LFS


class Weights:
    """The .bin beside an .xml, which is opened for its size and mapped for its elements."""

    def __init__(self, notes: list[str], xml: File, file: File | None = None) -> None:
        self._notes, self._xml = notes, xml
        if file is not None:
            self._file = file

    @cached_property
    def _file(self) -> File | None:
        """The .bin; None, and a note, if there is none."""
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

    @cached_property
    def _buffer(self) -> Any:
        return self._file.buffer() if self._file is not None else None

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
        if self._file is None:
            reason = "its elements are in the .bin, which is missing"

            def refuse() -> Any:
                raise InputError(reason, rule="missing", expected="it beside the .xml")

            return Constant(dtype, shape, refuse, unread=reason)
        if offset + size > self._file.size:
            check_pointer(self._file.start(_POINTER_BYTES))
            raise malformed(
                f"its elements are at bytes {offset} to {offset + size}, "
                f"but the .bin has only {counted(self._file.size, 'byte')}",
                "them inside the .bin",
            )
        if dtype is STRING:
            return Constant(
                dtype,
                shape,
                lambda: _strings(self._buffer, shape, offset, size),
                limit=self._xml.limit,
            )
        return stored(lambda: self._buffer, dtype, shape, offset, size, self._xml.limit)


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


class IrFiles(NamedTuple):
    """The text of the .xml, and the bytes of the .bin."""

    xml: str
    weights: bytes


def ir_files(graph: Graph, opsets: Mapping[str, int], name: str = "gather") -> IrFiles:
    """Return the files of a graph; `opsets` are those of its operators, by default the first."""
    layers: list[str] = []
    edges: list[str] = []
    places: dict[str, tuple[int, GraphValue, int]] = {}  # of a value: its layer, and its port there

    def add(
        title: str,
        kind: str,
        data: Mapping[str, Any],
        inputs: Sequence[str] = (),
        output: GraphValue | None = None,
    ) -> None:
        """Add a layer with its attributes and ports, and the edges that lead to it."""
        number, entries = len(layers), ""
        for at, each in enumerate(inputs):
            layer, value, port = places[each]
            ends = f'from-layer="{layer}" from-port="{port}" to-layer="{number}" to-port="{at}"'
            edges.append(f"    <edge {ends}/>\n")
            entries += _port(at, value) if output else f'        <port id="{at}"/>\n'
        exits = ""
        if output is not None:
            places[output.name] = number, output, len(inputs)
            exits = _port(len(inputs), output, "" if kind == "Const" else output.name)
        attributes = "".join(f' {key}="{value}"' for key, value in data.items())
        version = f"opset{opsets.get(kind, 1)}"
        parts = (
            f'    <layer id="{number}" name="{title}" type="{kind}" version="{version}">\n',
            attributes and f"      <data{attributes}/>\n",
            entries and f"      <input>\n{entries}      </input>\n",
            exits and f"      <output>\n{exits}      </output>\n",
            "    </layer>\n",
        )
        layers.append("".join(parts))

    weights = b""
    for port in graph.inputs:
        shape = ",".join("?" if size is None else str(size) for size in port.shape)
        data = {"shape": shape, "element_type": element_type(port.dtype)}
        add(port.name, "Parameter", data, output=port)
    for key, tensor in graph.constants.items():
        raw, shape = weights_of(tensor), ",".join(map(str, tensor.shape))
        data = {"element_type": element_type(tensor.dtype), "shape": shape}
        data |= {"offset": str(len(weights)), "size": str(len(raw))}
        add(key, "Const", data, output=GraphValue(key, tensor.dtype, tensor.shape))
        weights += raw
    for node in graph.nodes:
        add(node.name, node.operator, node.attributes, node.inputs, *node.outputs)
    add("result", "Result", {}, [port.name for port in graph.outputs])
    parts = ("  <layers>\n", *layers, "  </layers>\n", "  <edges>\n", *edges, "  </edges>\n")
    head = f'<?xml version="1.0"?>\n<net name="{name}" version="11">\n'
    return IrFiles(f"{head}{''.join(parts)}</net>\n", weights)


def _port(number: int, value: GraphValue, names: str = "") -> str:
    """Return a port of a layer; a negative size is unknown."""
    dims = "".join(f"<dim>{-1 if size is None else size}</dim>" for size in value.shape)
    kind, names = precision(value.dtype), names and f' names="{names}"'
    return f'        <port id="{number}" precision="{kind}"{names}>{dims}</port>\n'


def element_type(dtype: DType) -> str:
    """Return the name of a type in an attribute; ours, which OpenVINO refuses, if it has none."""
    return ELEMENT_TYPES.get(dtype, dtype.name)
