"""An OpenVINO IR with a single operation: the text of its .xml, and the bytes of its .bin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.tensor import Tensor
from gathercli.io.ir.layers import ELEMENT_TYPES, precision
from gathercli.io.stored import raw_elements
from gathercli.spec.dtypes import INT64, STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
CONSTANT: Final = "constant"
ONE_THREAD: Final = "in one thread"
WAYS: Final = (STATIC, DYNAMIC, CONSTANT, ONE_THREAD)
"""How a model gets the indices: with sizes in the model, with unknown ones, or as a constant; or it
has static sizes and runs in one thread, in which the plugin for processors loses exceptions."""


class OpenVinoModel(NamedTuple):
    """The text of the .xml, the bytes of the .bin, and the inputs that come at run time."""

    xml: str
    weights: bytes
    inputs: tuple[str, ...]


def openvino_model(
    op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int], way: str = STATIC
) -> OpenVinoModel:
    """Return a model of one operation; an attribute that is an input becomes a constant.

    Parameters
    ----------
    op
        A version of OpenVINO.
    way
        One of `WAYS`.
    """
    feeds = tuple(each.name for each in op.inputs if way != CONSTANT or not each.values)
    first, weights = op.inputs[0].name, b""
    layers: list[str] = []
    operands = dict(tensors)
    for each in op.attrs:
        if each.is_input:
            operands[each.name] = Tensor(INT64, np.array(attrs[each.name]))
    for number, (name, tensor) in enumerate(operands.items()):
        if name in feeds:
            sizes = _sizes(tensor, is_dynamic=way == DYNAMIC)
            layers.append(parameter_text(number, name, tensor.dtype, sizes))
        else:
            start = len(weights)
            weights += weights_of(tensor)
            layers.append(constant_text(number, name, tensor, start, len(weights) - start))
    ports = [
        (name, each.dtype, _sizes(each, is_dynamic=way == DYNAMIC and name in feeds))
        for name, each in operands.items()
    ]
    settings = {each.name: attrs[each.name] for each in op.attrs if not each.is_input}
    last = len(ports)
    layers += [_operation(last, op, ports, settings, tensors[first].dtype), result_text(last + 1)]
    edges = [edge_text(number, 0, last, number) for number in range(last)]
    edges.append(edge_text(last, last, last + 1, 0))
    text = "".join(
        (
            '<?xml version="1.0"?>\n',
            f'<net name="{op.family}" version="11">\n',
            *("  <layers>\n", *layers, "  </layers>\n"),
            *("  <edges>\n", *edges, "  </edges>\n"),
            "</net>\n",
        )
    )
    return OpenVinoModel(text, weights, feeds)


def element_type(dtype: DType) -> str:
    """Return the name of a type in an attribute; ours, which OpenVINO refuses, if it has none."""
    return ELEMENT_TYPES.get(dtype, dtype.name)


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


def _sizes(tensor: Tensor, *, is_dynamic: bool) -> list[int]:
    return [-1] * len(tensor.shape) if is_dynamic else list(tensor.shape)


def port_text(number: int, dtype: DType, sizes: Iterable[int], names: str = "") -> str:
    """Return a port of a layer; a negative size is unknown."""
    dims = "".join(f"<dim>{size}</dim>" for size in sizes)
    names = names and f' names="{names}"'
    return f'        <port id="{number}" precision="{precision(dtype)}"{names}>{dims}</port>\n'


def layer_text(number: int, name: str, kind: str, version: str, *parts: str) -> str:
    """Return a layer; `parts` are its attributes and its ports."""
    head = f'<layer id="{number}" name="{name}" type="{kind}" version="{version}">'
    return "".join((f"    {head}\n", *parts, "    </layer>\n"))


def ports_text(kind: str, *ports: str) -> str:
    """Return the ports of a kind: ``input`` or ``output``."""
    return "".join((f"      <{kind}>\n", *ports, f"      </{kind}>\n"))


def parameter_text(number: int, name: str, dtype: DType, sizes: Sequence[int]) -> str:
    """Return the layer of an input; a negative size is unknown."""
    shape = ",".join("?" if size < 0 else str(size) for size in sizes)
    return layer_text(
        number,
        name,
        "Parameter",
        "opset1",
        f'      <data shape="{shape}" element_type="{element_type(dtype)}"/>\n',
        ports_text("output", port_text(0, dtype, sizes, name)),
    )


def constant_text(number: int, name: str, tensor: Tensor, start: int, size: int) -> str:
    """Return the layer of a constant, whose elements are at `start` in the .bin."""
    shape = ",".join(map(str, tensor.shape))
    place = f'offset="{start}" size="{size}"'
    return layer_text(
        number,
        name,
        "Const",
        "opset1",
        f'      <data element_type="{element_type(tensor.dtype)}" shape="{shape}" {place}/>\n',
        ports_text("output", port_text(0, tensor.dtype, tensor.shape)),
    )


def _operation(
    number: int,
    op: Op,
    ports: list[tuple[str, DType, list[int]]],
    settings: Mapping[str, int],
    dtype: DType,
) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in settings.items())
    data = f"      <data{attributes}/>\n" if attributes else ""
    inputs = (port_text(at, kind, sizes) for at, (_, kind, sizes) in enumerate(ports))
    output = port_text(len(ports), dtype, (), "output")
    return layer_text(
        number,
        op.family,
        op.name,
        f"opset{op.version}",
        data,
        ports_text("input", *inputs),
        ports_text("output", output),
    )


def result_text(number: int) -> str:
    """Return the layer of the result."""
    return layer_text(
        number, "result", "Result", "opset1", ports_text("input", '        <port id="0"/>\n')
    )


def edge_text(layer: int, port: int, to_layer: int, to_port: int) -> str:
    """Return an edge from a port of a layer to that of another."""
    ends = f'from-layer="{layer}" from-port="{port}" to-layer="{to_layer}" to-port="{to_port}"'
    return f"    <edge {ends}/>\n"
