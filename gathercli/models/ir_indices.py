"""What leads to the indices of an OpenVINO IR, as a model of ONNX, whose integers have 64 bits.

The layers are those that mean the same; what others give comes at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from gathercli.compute.tensor import Tensor
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue, Value
from gathercli.io.graphs.onnx import onnx_bytes
from gathercli.io.graphs.tensorproto import ONNX_TYPES
from gathercli.io.graphs.wire import WireReader, span_of
from gathercli.models.facts import Facts, infer_facts, integers
from gathercli.models.layers import Body, Layer, Weights, parameter, type_of
from gathercli.spec.dtypes import BOOL, INT64, foreign
from gathercli.spec.shapes import LARGEST, Shape

if TYPE_CHECKING:
    from gathercli.compute.storage import AnyArray
    from gathercli.models.graph import Model

_OPSET: Final = 18
_MOST_BYTES: Final = 1 << 20  # the most bytes of a constant that is written
_Source: TypeAlias = tuple[str, str]  # the layer and the port of a value
_Numbers: TypeAlias = "Sequence[list[int] | None]"  # the integers of constant inputs


class _Same(NamedTuple):
    """An operator of ONNX that means the same of integers as a layer."""

    operator: str
    attributes: Mapping[str, Any] = {}
    inputs: Sequence[int] | None = None  # of the layer, by number; None for all
    literals: Sequence[int | list[int]] = ()  # more inputs


def _numpy(operator: str, **attributes: int) -> Callable[[Layer, _Numbers], _Same | None]:
    """Return the row of a layer whose inputs are broadcast as by NumPy."""

    def row(layer: Layer, _: _Numbers) -> _Same | None:
        is_plain = layer.data.get("auto_broadcast", "numpy") == "numpy"
        return _Same(operator, attributes) if is_plain else None

    return row


def _reduced(layer: Layer, _: _Numbers) -> _Same:
    return _Same(layer.type, {"keepdims": _flag(layer, "keep_dims")})


def _broadcast(layer: Layer, _: _Numbers) -> _Same | None:
    return _Same("Expand") if layer.data.get("mode", "numpy") == "numpy" else None


def _split(layer: Layer, numbers: _Numbers) -> _Same | None:
    axis = numbers[1] if len(numbers) > 1 else None
    if not axis:
        return None
    if layer.type == "VariadicSplit":
        lengths = numbers[2] if len(numbers) > 2 else None
        if lengths is None or min(lengths, default=0) < 0:  # one may be what is left
            return None
        return _Same("Split", {"axis": axis[0]}, (0,), (lengths,))
    return _Same("Split", {"axis": axis[0], "num_outputs": len(layer.outputs)}, (0,))


def _transposed(_: Layer, numbers: _Numbers) -> _Same | None:
    order = numbers[1] if len(numbers) > 1 else None
    return _Same("Transpose", {"perm": order}, (0,)) if order else None


def _top(layer: Layer, numbers: _Numbers) -> _Same | None:
    number = numbers[1] if len(numbers) > 1 else None
    largest = int(layer.data.get("mode", "max") == "max")
    attributes = {"axis": int(layer.data.get("axis", "-1")), "largest": largest}
    return _Same("TopK", attributes, (0,), (number,)) if number else None


def _clamped(layer: Layer, _: _Numbers) -> _Same:
    ends = [int(float(layer.data.get(name, "nan"))) for name in ("min", "max")]
    return _Same("Clip", literals=ends)


def _strided(layer: Layer, numbers: _Numbers) -> _Same | None:
    """Return a StridedSlice as a Slice, or as the one element that it takes of a list."""
    begin, end, steps = [*numbers[1:], None, None, None][:3]
    masks = {name: _mask(layer, name) for name in ("begin", "end", "new_axis", "ellipsis")}
    if begin is None or end is None or any(masks["new_axis"] + masks["ellipsis"]):
        return None
    if any(_mask(layer, "shrink_axis")):
        is_list = len(begin) == 1 and layer.inputs[0].dims[1:] == [] != layer.inputs[0].dims
        return _Same("Gather", {"axis": 0}, (0,), begin) if is_list else None
    steps = steps or [1] * len(begin)
    for ends, name, first in ((begin, "begin", True), (end, "end", False)):
        for at, masked in enumerate(masks[name][: len(ends)]):
            if masked:  # the end is ignored
                ends[at] = 0 if first == (steps[at] > 0) else LARGEST
                ends[at] = -LARGEST if not first and steps[at] < 0 else ends[at]
    return _Same("Slice", {}, (0,), (begin, end, list(range(len(begin))), steps))


def _mask(layer: Layer, name: str) -> list[int]:
    return [int(each) for each in layer.data.get(f"{name}_mask", "").split(",") if each.strip()]


def _converted(layer: Layer, _: _Numbers) -> _Same | None:
    dtype = type_of(layer.data.get("destination_type", ""))
    if dtype not in ONNX_TYPES or dtype is None or not dtype.integral:
        return None
    return _Same("Cast", {"to": ONNX_TYPES.index(dtype)})


def _gathered(_: Layer, numbers: _Numbers) -> _Same | None:
    axis = numbers[2] if len(numbers) > 2 else None
    return _Same("Gather", {"axis": axis[0]}, (0, 1)) if axis else None


def _flag(layer: Layer, name: str) -> int:
    return int(layer.data.get(name, "false").lower() in ("true", "1"))


_NAMES: Final = {"Subtract": "Sub", "Multiply": "Mul", "Minimum": "Min", "Maximum": "Max"} | {
    "FloorMod": "Mod",
    "Select": "Where",
    "Negative": "Neg",
    "ShapeOf": "Shape",
    "Add": "Add",
    **{name: name for name in ("Abs", "NonZero", "Range", "Tile", "Squeeze", "Unsqueeze")},
}
_SAME: Final[dict[str, Callable[[Layer, _Numbers], _Same | None]]] = {
    **{name: _numpy(operator) for name, operator in _NAMES.items()},
    "Mod": _numpy("Mod", fmod=1),
    "Clamp": _clamped,
    "Slice": lambda layer, _: _Same("Slice", inputs=(0, 1, 2, 4, 3)) if layer.inputs[4:] else None,
    "Concat": lambda layer, _: _Same("Concat", {"axis": int(layer.data["axis"])}),
    "Reshape": lambda layer, _: _Same("Reshape", {"allowzero": 1 - _flag(layer, "special_zero")}),
    "CumSum": lambda layer, _: _Same(
        "CumSum", {name: _flag(layer, name) for name in ("exclusive", "reverse")}
    ),
    "Convert": _converted,
    "StridedSlice": _strided,
    "Broadcast": _broadcast,
    "Transpose": _transposed,
    "Split": _split,
    "VariadicSplit": _split,
    "TopK": _top,
    "Gather": _gathered,
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ReduceSum"), _reduced),
}


class OnnxWriter:
    """A writer of the layers that lead to indices, each value with a name of its own."""

    def __init__(self, model: Model, weights: Weights) -> None:
        self._model, self._weights = model, weights
        self._names: dict[tuple[Body, _Source], str] = {}
        self._inputs: list[GraphValue] = []
        self._nodes: list[GraphNode] = []
        self._constants: dict[str, Tensor] = {}
        self.proven: set[tuple[Body, str]] = set()  # layers of Gather with no index outside

    def facts(self, names: Iterable[str]) -> tuple[Facts, str | None]:
        """Return what is known of values, and a note if that is not all."""
        data = self._constant(np.zeros(1, np.int64))
        for name in dict.fromkeys(names):  # so that a node of the family reads it
            self._add("Gather", (data, name))
        graph = Graph(
            tuple(self._inputs), self._nodes[-1].outputs, tuple(self._nodes), self._constants
        )
        wire = WireReader(onnx_bytes(graph, _OPSET), self._model.limit)
        spans = [part for field, part in wire.fields(wire.whole) if field == 7]
        bodies, note = infer_facts(wire, span_of(spans[0], "the graph"))
        return bodies.get(0, Facts()), note

    def add(self, body: Body, source: _Source) -> str:
        """Add a value with all that leads to it; return its name."""
        stack, begun = [source], set[_Source]()
        while stack:
            each = stack[-1]
            if (body, each) in self._names:
                stack.pop()
                continue
            same, sources = self._same(body, each)
            missing = [one for one in sources if (body, one) not in self._names]
            if missing and each not in begun:
                begun.add(each)
                stack += missing
                continue
            stack.pop()
            self._write(body, each, None if missing else same, sources)
        return self._names[body, source]

    def _same(self, body: Body, source: _Source) -> tuple[_Same | None, list[_Source]]:
        """Return the operator of the layer of a value with its inputs; none if there is none."""
        layer, known = body.layers[source[0]], self._value(body, source)
        row = _SAME.get(layer.type)
        sources = [layer.sources.get(port.id) for port in layer.inputs]
        if row is None or known.constant or None in sources:
            return None, []
        inputs = [each for each in sources if each is not None]
        try:
            same = row(layer, [integers(self._value(body, each)) for each in inputs])
        except (ValueError, KeyError, OverflowError):  # an attribute that is no number
            same = None
        if same is None:
            return None, []
        numbers = range(len(inputs)) if same.inputs is None else same.inputs
        return same, [inputs[number] for number in numbers if number < len(inputs)]

    def _write(
        self, body: Body, source: _Source, same: _Same | None, sources: Sequence[_Source]
    ) -> None:
        """Write a value: a constant, the output of a node, or what comes at run time."""
        layer = body.layers[source[0]]
        if same is None:
            self._names[body, source] = self._given(self._value(body, source))
            return
        inputs = [self._names[body, each] for each in sources]
        inputs += [self._constant(np.asarray(each, np.int64)) for each in same.literals]
        names = self._add(same.operator, inputs, same.attributes, len(layer.outputs))
        if layer.type == "Convert":
            names = self._add("Cast", names, {"to": ONNX_TYPES.index(INT64)})
        if layer.type == "Gather" and (body, layer.id) not in self.proven:  # others give 0
            zero = self._constant(np.asarray(0, np.int64))
            maybe = self._input(Value("", BOOL, Shape(())))
            names = self._add("Where", (maybe, names[0], zero))
        for name, port in zip(names, layer.outputs.values(), strict=True):
            self._names[body, (layer.id, port.id)] = name

    def _value(self, body: Body, source: _Source) -> Value:
        """Return what is known of a value."""
        layer = body.layers[source[0]]
        known = body.values.get(source)
        if layer.type == "Const" and not (known and (known.constant or known.unread)):
            known = body.values[source] = Value.of(layer.name, self._weights.of_layer(layer))
        if known is None and layer.type == "Parameter":
            known = body.captured(layer.id) or parameter(layer, layer.name)
        port = layer.outputs.get(source[1])
        return known or (port.value("") if port else Value(""))

    def _given(self, known: Value) -> str:
        """Write a constant, or what comes at run time; return its name."""
        constant = known.constant
        if not constant or constant.unread or constant.nbytes > _MOST_BYTES:
            return self._input(known)
        tensor = constant.read()
        if tensor.dtype.integral:
            return self._constant(tensor.values().astype(np.int64))
        self._constants[name := f"c{len(self._constants)}"] = tensor
        return name

    def _input(self, value: Value) -> str:
        """Write what comes at run time; return its name, or that of it in 64 bits."""
        sizes = tuple(size if isinstance(size, int) else None for size in value.shape)
        ranked = value.shape.rank is not None
        name = f"x{len(self._inputs)}"
        dtype = value.dtype or foreign("unknown")
        self._inputs.append(GraphValue(name, dtype, sizes if ranked else (), ranked))
        if not dtype.integral or dtype is INT64:
            return name
        return self._add("Cast", (name,), {"to": ONNX_TYPES.index(INT64)})[0]

    def _constant(self, array: AnyArray) -> str:
        name = f"c{len(self._constants)}"
        self._constants[name] = Tensor(INT64, array)
        return name

    def _add(
        self,
        operator: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Any] = {},
        outputs: int = 1,
    ) -> list[str]:
        """Write a node; return the names of its outputs."""
        names = [f"n{len(self._nodes)}.{number}" for number in range(outputs)]
        values = tuple(GraphValue(name, foreign("unknown"), (), ranked=False) for name in names)
        self._nodes.append(GraphNode(operator, tuple(inputs), values, attributes))
        return names
