"""OpenVINO IR: the nodes of the family in the layers of a model and its bodies.

What leads to their indices is written as a model of ONNX where the layers mean the same, so that
one process finds out what constants decide in both formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, TypeAlias

import numpy as np

from gathercli.compute.storage import AnyArray
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError, LimitError
from gathercli.io.files import File
from gathercli.io.formats.content import malformed
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue, Value
from gathercli.io.graphs.onnx import onnx_bytes
from gathercli.io.graphs.tensorproto import ONNX_TYPES
from gathercli.io.graphs.wire import WireReader, span_of
from gathercli.models import facts as inference
from gathercli.models import layers
from gathercli.models.graph import (
    NODE_BYTES,
    OPERATOR_FAMILIES,
    Model,
    ModelNode,
    input_names,
    merged_indices,
    output_of,
    unique_names,
    watched,
    with_call,
)
from gathercli.models.targets import LAYER_STEPS, IrStep, steps_of
from gathercli.spec.dtypes import BOOL, INT64, foreign
from gathercli.spec.shapes import Shape
from gathercli.text import clean, short

# The layers that constants come from or pass through.
_FOLDED_LAYERS: Final = ("Const", "Convert", "Reshape", "Unsqueeze", "Squeeze")


def read_ir(file: File, *, infer: bool = False) -> Model:
    """Read an OpenVINO IR, by the option `infer` of `ReadOptions`.

    Raise InputError or LimitError if the file is no sound one.
    """
    model = Model(file.name, "openvino", 0, file=file)
    reader = layers.IrReader(file, model)
    reader.read()
    model.version = reader.version
    nodes = _NodeReader(model, layers.Weights(model.notes, file))
    for body in reader.bodies:
        nodes.read_body(body)
    if infer:
        nodes.infer()
    model.nodes = unique_names(nodes.nodes)
    return model


class _NodeReader:
    """A reader of the nodes in bodies, outer ones first."""

    def __init__(self, model: Model, weights: layers.Weights) -> None:
        self.model, self._weights = model, weights
        self.nodes: list[ModelNode] = []
        self._places: list[tuple[layers.Body, str]] = []  # the body and the layer of each node

    def infer(self) -> None:
        """Add to the nodes what follows of their indices from constants and bounds."""
        writer = _OnnxWriter(self._stored)
        names: dict[int, tuple[int, str]] = {}  # by number of a node: its input, and the value
        for at, ((body, key), node) in enumerate(zip(self._places, self.nodes, strict=True)):
            rows = (node.op or node.family.ROWS[0]).inputs
            number = next(n for n, row in enumerate(rows) if row.values)
            layer = body.layers[key]
            if number < len(node.inputs) and node.inputs[number].constant is None:
                source = layer.sources.get(layer.inputs[number].id)
                if source is not None:
                    names[at] = number, writer.add(body, source)
        if not names:
            return
        facts, note = writer.facts((name for _, name in names.values()), self.model.limit)
        self.model.notes += filter(None, [note])
        for at, (number, name) in names.items():
            node, known = self.nodes[at], facts.constants.get(name)
            inputs = list(node.inputs)
            if known is not None and known.constant is not None:
                dtype = inputs[number].dtype or INT64
                constant = inference.converted(known, name, dtype).constant
                inputs[number] = inputs[number]._replace(constant=constant)
            possible = {number: facts.possible.get(name, inference.Possible())}
            node = node._replace(inputs=tuple(inputs), possible=possible)
            added = writer.merged_indices(node, *self._places[at], facts)
            self.nodes[at] = node._replace(merged_indices=added)

    def read_body(self, body: layers.Body) -> None:
        """Read the layers of the family, in order, with what leads to them."""
        wanted = [each for each in body.layers.values() if _is_family(each)]
        order = self._before(body, [each for each in body.layers.values() if _is_wanted(each)])
        values = body.values
        nodes: dict[str, ModelNode] = {}
        for key in order:
            layer = body.layers[key]
            inputs = [self._input(layer, port, body) for port in layer.inputs]
            if _is_family(layer):
                self.model.hold(NODE_BYTES)
                nodes[key] = each = with_call(self._node(layer, body, inputs))
                if output := output_of(each):
                    values[key, next(iter(layer.outputs), "")] = output
            elif (folded := self._folded(layer, inputs)) is not None:
                values[key, next(iter(layer.outputs), "")] = folded
        self.nodes += (nodes[each.id] for each in wanted)
        self._places += ((body, each.id) for each in wanted)
        self._add_tensors(body)

    def _before(self, body: layers.Body, wanted: list[layers.Layer]) -> list[str]:
        """Return the ids of layers and of what they need through constants, dependencies first."""
        graph: dict[str, list[str]] = {}
        stack = [each.id for each in wanted]
        while stack:
            key = stack.pop()
            if key in graph:
                continue
            layer = body.layers[key]
            follows = _is_wanted(layer) or layer.type in _FOLDED_LAYERS
            graph[key] = [source for source, _ in layer.sources.values()] if follows else []
            stack += graph[key]
        places = {key: at for at, key in enumerate(body.layers)}
        if all(places[one] < places[key] for key, sources in graph.items() for one in sources):
            return sorted(graph, key=places.__getitem__)  # which is the order of most files
        try:
            return list(TopologicalSorter(graph).static_order())
        except CycleError:
            raise malformed("the layers of a body form a cycle", "edges without one") from None

    def _input(self, layer: layers.Layer, port: layers.Port, body: layers.Body) -> Value:
        """Return what is known of an input: from the layer behind it, and as the port declares."""
        declared = port.value("")
        source = layer.sources.get(port.id)
        if source is None:
            return declared
        behind = body.layers[source[0]]
        output = behind.outputs.get(source[1])
        name = behind.name
        known = body.values.get(source)
        if known is None and behind.type == "Parameter":
            known = body.captured(behind.id) or layers.parameter(behind, name)
        if known is None:
            known = output.value(name) if output else Value(name)
        if behind.type == "Parameter" and not body.path:
            known = known._replace(source=name)
        body.values[source] = known  # which many layers may read
        if known.shape.rank is None and declared.shape.rank is not None:
            known = known._replace(shape=declared.shape)
        if known.name == name and known.dtype is not None:
            return known
        return known._replace(name=name, dtype=known.dtype or declared.dtype)

    def _node(self, layer: layers.Layer, body: layers.Body, inputs: list[Value]) -> ModelNode:
        """Return the node of a layer; its axis may be an input."""
        attributes: dict[str, Any] = {
            name: layers.attribute(layer.data[name])
            for name in ("axis", "batch_dims")
            if name in layer.data
        }
        outputs = [
            port.value(port.names.split(",")[0] or layer.name or layer.id)
            for port in layer.outputs.values()
        ]
        opset, ports = layer.opset or 0, (tuple(inputs), tuple(outputs))
        node = ModelNode(
            layer.name, body.path, "openvino", layer.type, opset, attributes, *ports
        ).resolved()
        faults = [
            *node.faults,
            *layers.wrong_edges(layer, input_names(node.op or node.family.ROWS[0]), body),
        ]
        axis = node.op.attr("axis") if node.op else None
        if axis and axis.is_input:
            value = inputs[2] if len(inputs) > 2 else Value("")
            attributes["axis"] = self._axis_of(value)
            faults += layers.wrong_axis(value)
        data = _unconverted(body, layer.sources.get(layer.inputs[0].id)) if inputs else None
        behind = body.layers[data[0]] if data else layer
        sources = [data, *(behind.sources.values() if behind.type == "Concat" else ())]
        takes_sizes = "ShapeOf" in {body.layers[each[0]].type for each in sources if each}
        return node._replace(faults=tuple(faults), takes_sizes=takes_sizes)

    def _folded(self, layer: layers.Layer, inputs: list[Value]) -> Value | None:
        """Return the output of a layer that constants come from or pass through."""
        name = layer.name
        if layer.type == "Const":
            return self._stored(layer)
        if layer.type not in _FOLDED_LAYERS or not inputs:
            return None
        try:
            value = self._passed(layer, inputs)
        except (InputError, LimitError) as error:  # of a shape or of axes
            self.model.add_malformed(error)
            return Value(name, unread=inference.MALFORMED)
        marked = inference.unread_from(value or Value(name), inputs)
        return marked if marked.unread else value

    def _passed(self, layer: layers.Layer, inputs: list[Value]) -> Value | None:
        """Return the output of a layer that its first input passes through."""
        name = layer.name
        if layer.type == "Convert":
            return inference.converted(
                inputs[0], name, layers.type_of(layer.data.get("destination_type", ""))
            )
        second = inference.integers(inputs[1]) if len(inputs) > 1 else None
        if second is None and len(inputs) > 1:
            return None
        if layer.type == "Reshape":
            copies = layer.data.get("special_zero", "true").lower() == "true"
            return inference.reshaped(inputs[0], name, second, zero_copies=copies)
        change = inference.unsqueezed if layer.type == "Unsqueeze" else inference.squeezed
        return change(inputs[0], name, second)

    def _add_tensors(self, body: layers.Body) -> None:
        """Add the constants of a body, each checked against the .bin."""
        tensors = self.model.tensors
        for layer in body.layers.values():
            if layer.type == "Const":
                known = body.values.get((layer.id, next(iter(layer.outputs), "")))
                constant = (known or self._stored(layer)).constant
                if constant is not None:
                    tensors.setdefault(layer.name, constant)

    def _stored(self, layer: layers.Layer) -> Value:
        """Return the value of a Const layer, without a constant if it is malformed."""
        try:
            constant = self._weights.of_layer(layer)
        except (InputError, LimitError) as error:
            if error.rule == "format" and error.advice is not None:  # the .bin is a pointer
                raise
            error.where = layer.name
            self.model.add_malformed(error)
            return Value(layer.name, unread=inference.MALFORMED)
        place = f"the constant `{clean(short(layer.name))}`"
        return Value.of(layer.name, watched(constant, place, layer.name))

    def _axis_of(self, value: Value) -> Any:
        """Return the axis that an input decides: `MOST_INTEGERS` elements at most, or "unknown"."""
        if value.constant is None or value.unread:
            return "unknown"
        try:
            axis = value.constant.read().values()
        except (InputError, LimitError) as error:
            self.model.add_malformed(error)
            return "unknown"
        if axis.size > inference.MOST_INTEGERS:
            axis = axis.reshape(-1)[: inference.MOST_INTEGERS]
        return axis.tolist()[0] if axis.shape == (1,) else axis.tolist()


def _is_family(layer: layers.Layer) -> bool:
    return layer.type in OPERATOR_FAMILIES and layer.opset is not None


def _is_wanted(layer: layers.Layer) -> bool:
    """Tell whether its inputs are read: it is of the family, or has a body that gets them."""
    return _is_family(layer) or layer.maps is not None


# What leads to indices, as a model of ONNX, whose integers have 64 bits

_OPSET: Final = 18
_MOST_BYTES: Final = 1 << 20  # the most bytes of a constant that is written
_Source: TypeAlias = tuple[str, str]  # the layer and the port of a value


# The layers that exporters write for ``x[i, j]``, as `merged_indices` knows them.
_TRACED_LAYERS: Final = {each: each for each in ("Reshape", "Transpose", "Gather", "Add")} | {
    "ShapeOf": "Shape",
    "Multiply": "Mul",
}
_MOST_CONVERTS: Final = 4  # in a row


def _unconverted(body: layers.Body, source: _Source | None) -> _Source | None:
    """Return the value that is converted to another, if it is."""
    for _ in range(_MOST_CONVERTS):
        layer = body.layers[source[0]] if source else None
        if layer is None or layer.type != "Convert":
            break
        source = next(iter(layer.sources.values()), None)
    return source


class _IntegerGraph:
    """A graph of ONNX in the making, whose integers have 64 bits; `facts` says what follows."""

    def __init__(self) -> None:
        self._inputs: list[GraphValue] = []
        self._nodes: list[GraphNode] = []
        self._constants: dict[str, Tensor] = {}

    def facts(self, names: Iterable[str], limit: int | None) -> tuple[inference.Facts, str | None]:
        """Return what is known of values, and a note if that is not all."""
        data = self.constant(np.zeros(1, np.int64))
        for name in dict.fromkeys(names):  # so that a node of the family reads it
            self.node("Gather", (data, name))
        graph = Graph(
            tuple(self._inputs), self._nodes[-1].outputs, tuple(self._nodes), self._constants
        )
        wire = WireReader(onnx_bytes(graph, _OPSET), limit)
        spans = [part for field, part in wire.fields(wire.whole) if field == 7]
        bodies, note = inference.infer_facts(wire, span_of(spans[0], "the graph"))
        return bodies.get(0, inference.Facts()), note

    def given(self, known: Value) -> str:
        """Write a constant, or what comes at run time; return its name."""
        constant = known.constant
        if not constant or constant.unread or constant.nbytes > _MOST_BYTES:
            return self.input(known)
        tensor = constant.read()
        if tensor.dtype.integral:
            return self.constant(tensor.values().astype(np.int64))
        self._constants[name := f"c{len(self._constants)}"] = tensor
        return name

    def input(self, value: Value) -> str:
        """Write what comes at run time; return its name, or that of it in 64 bits."""
        sizes = tuple(size if isinstance(size, int) else None for size in value.shape)
        ranked = value.shape.rank is not None
        name = f"x{len(self._inputs)}"
        dtype = value.dtype or foreign("unknown")
        self._inputs.append(GraphValue(name, dtype, sizes if ranked else (), ranked))
        if not dtype.integral or dtype is INT64:
            return name
        return self.node("Cast", (name,), {"to": ONNX_TYPES.index(INT64)})[0]

    def constant(self, array: AnyArray) -> str:
        """Write integers; return their name."""
        name = f"c{len(self._constants)}"
        self._constants[name] = Tensor(INT64, array)
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Any] = {},
        outputs: int = 1,
    ) -> list[str]:
        names = [f"n{len(self._nodes)}.{number}" for number in range(outputs)]
        values = tuple(GraphValue(name, foreign("unknown"), (), ranked=False) for name in names)
        self._nodes.append(GraphNode(operator, tuple(inputs), values, attributes))
        return names


class _OnnxWriter(_IntegerGraph):
    def __init__(self, stored: Callable[[layers.Layer], Value]) -> None:
        super().__init__()
        self._stored = stored
        self._names: dict[tuple[layers.Body, _Source], str] = {}
        self._scopes: dict[layers.Body, inference.Scope] = {}

    def add(self, body: layers.Body, source: _Source) -> str:
        """Add a value with all that leads to it; return its name."""
        stack, begun = [source], set[_Source]()
        while stack:
            each = stack[-1]
            if (body, each) in self._names:
                stack.pop()
                continue
            steps, sources = self._steps(body, each)
            missing = [one for one in sources.values() if (body, one) not in self._names]
            if missing and each not in begun:
                begun.add(each)
                stack += missing
                continue
            stack.pop()
            self._write(body, each, [] if missing else steps, sources)
        return self._names[body, source]

    def _steps(self, body: layers.Body, source: _Source) -> tuple[list[IrStep], dict[int, _Source]]:
        """Return the operators of the layer of a value with its inputs; none if there are none."""
        layer, known = body.layers[source[0]], self._value(body, source)
        sources = [layer.sources.get(port.id) for port in layer.inputs]
        if layer.type not in LAYER_STEPS or layer.opset is None or known.constant:
            return [], {}
        inputs = [each for each in sources if each is not None]
        if len(inputs) < len(sources):
            return [], {}
        steps = steps_of(layer, [inference.integers(self._value(body, each)) for each in inputs])
        read = {number for step in steps for number in step.inputs if number is not None}
        return steps, {number: inputs[number] for number in sorted(read) if number >= 0}

    def _write(
        self,
        body: layers.Body,
        source: _Source,
        steps: Sequence[IrStep],
        sources: Mapping[int, _Source],
    ) -> None:
        """Write a value: a constant, the output of nodes, or what comes at run time."""
        layer = body.layers[source[0]]
        if not steps:
            self._names[body, source] = self.given(self._value(body, source))
            return
        values = {number: self._names[body, each] for number, each in sources.items()}
        names = list[str]()
        for at, step in enumerate(steps):
            maybe = Value("", BOOL, Shape(()))
            inputs = [self.input(maybe) if n is None else values[n] for n in step.inputs]
            inputs += map(self.constant, step.literals)
            is_last = at == len(steps) - 1
            outputs = len(layer.outputs) if is_last else 1
            names = self.node(step.operator, inputs, step.attributes, outputs)
            values[-1 - at] = names[0]
        for name, port in zip(names, layer.outputs.values(), strict=True):
            self._names[body, (layer.id, port.id)] = name

    def merged_indices(
        self, node: ModelNode, body: layers.Body, key: str, facts: inference.Facts
    ) -> tuple[str, ...]:
        """Return what is added in an index on merged axes, as the function of the name does."""
        layer = body.layers[key]
        sources = [_unconverted(body, layer.sources.get(port.id)) for port in layer.inputs[:2]]
        if [each and body.layers[each[0]].type for each in sources] != ["Reshape", "Add"]:
            return ()
        if body not in self._scopes:
            self._scopes[body] = self._scope(body, facts)
        values = tuple(map(Value, map(str, sources)))
        found = merged_indices(node._replace(inputs=values), self._scopes[body])
        return tuple(filter(None, (self._scopes[body].value(each).source for each in found)))

    def _scope(self, body: layers.Body, facts: inference.Facts) -> inference.Scope:
        """Return what `merged_indices` asks for; the `source` of a value is the name of a layer."""
        scope = inference.Scope()
        for each in body.layers.values():
            if each.type in _TRACED_LAYERS and each.outputs:
                inputs = [_unconverted(body, each.sources.get(port.id)) for port in each.inputs]
                place = f"{(each.id, next(iter(each.outputs)))}"
                scope.makers[place] = (_TRACED_LAYERS[each.type], *map(str, inputs))
                for one in filter(None, inputs):
                    known, name = self._value(body, one), body.layers[one[0]].name
                    scope.values[f"{one}"] = known._replace(name=f"{one}", source=name)
        possible = {
            f"{_unconverted(body, one)}": facts.possible[name]
            for (inner, one), name in self._names.items()
            if inner is body and name in facts.possible
        }
        scope.facts = inference.Facts(possible=possible)
        return scope

    def _value(self, body: layers.Body, source: _Source) -> Value:
        layer = body.layers[source[0]]
        known = body.values.get(source)
        if layer.type == "Const" and not (known and (known.constant or known.unread)):
            known = body.values[source] = self._stored(layer)
        if known is None and layer.type == "Parameter":
            known = body.captured(layer.id) or layers.parameter(layer, layer.name)
        port = layer.outputs.get(source[1])
        return known or (port.value("") if port else Value(""))
