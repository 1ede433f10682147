"""Graphs written as OpenVINO IR of version 11: text of an .xml, bytes of a .bin; its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.conversion import store
from gathercli.compute.tensor import Tensor
from gathercli.io.formats.content import malformed
from gathercli.io.graphs.graph import Graph, GraphValue, decoded, raw_elements
from gathercli.spec.dtypes import BOOL, STRING, DType, dtype
from gathercli.spec.shapes import Place, product
from gathercli.text import in_bytes

_SHORT_NAMES: Final = """
i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e5m2 i4 u4 u2
"""
_OTHER_NAMES: Final = {
    "bool": "boolean",
    "string": "string",
    "float8_e4m3fn": "f8e4m3",
    "float8_e8m0fnu": "f8e8m0",
    "float4_e2m1fn": "f4e2m1",
}
# The types that OpenVINO has, each with its name in an attribute of an IR.
ELEMENT_TYPES: Final = {dtype(name): name for name in _SHORT_NAMES.split()} | {
    dtype(name): word for name, word in _OTHER_NAMES.items()
}


def precision(dtype: DType) -> str:
    """Return the name of a type in a port: ``FP32``, ``BOOL``; ours, if OpenVINO lacks the type."""
    if dtype is BOOL:
        return "BOOL"
    name = ELEMENT_TYPES.get(dtype, dtype.name).upper()
    return f"FP{name[1:]}" if name in ("F16", "F32", "F64") else name


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


def strings_of(buffer: Any, shape: tuple[int, ...], offset: int, size: int) -> Tensor:
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
    dims = "".join(f"<dim>{-1 if size is None else size}</dim>" for size in value.shape)
    kind, names = precision(value.dtype), names and f' names="{names}"'
    return f'        <port id="{number}" precision="{kind}"{names}>{dims}</port>\n'


def element_type(dtype: DType) -> str:
    """Return the name of a type in an attribute; ours, which OpenVINO refuses, if it has none."""
    return ELEMENT_TYPES.get(dtype, dtype.name)
