"""OpenVINO IR: the nodes of the family in the layers of a model and its bodies."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final

from gathercli.io.formats.content import malformed
from gathercli.io.graphs.graph import Value
from gathercli.io.graphs.ir import Weights
from gathercli.io.graphs.layers import IrReader, attribute, parameter, type_of
from gathercli.models.graph import (
    MOST_INTEGERS,
    NODE_BYTES,
    OPERATOR_FAMILIES,
    Model,
    ModelNode,
    converted,
    integers,
    output_of,
    reshaped,
    squeezed,
    unique_names,
    unsqueezed,
    with_call,
)

if TYPE_CHECKING:
    from gathercli.io.files import File
    from gathercli.io.graphs.layers import Body, Layer, Port

# The layers that constants come from or pass through.
_FOLDED_LAYERS: Final = ("Const", "Convert", "Reshape", "Unsqueeze", "Squeeze")


def read_ir(file: File) -> Model:
    """Read an OpenVINO IR; raise InputError or LimitError if the file is no sound one."""
    model = Model(file.name, "openvino", 0, file=file)
    reader = IrReader(file, model)
    reader.read()
    model.version = reader.version
    nodes = _NodeReader(model, Weights(model.notes, file))
    for body in reader.bodies:
        nodes.read_body(body)
    model.nodes = unique_names(nodes.nodes)
    return model


class _NodeReader:
    """A reader of the nodes in bodies, outer ones first."""

    def __init__(self, model: Model, weights: Weights) -> None:
        self.model, self._weights = model, weights
        self.nodes: list[ModelNode] = []

    def read_body(self, body: Body) -> None:
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
                nodes[key] = each = with_call(self._node(layer, body.path, inputs))
                if output := output_of(each):
                    values[key, next(iter(layer.outputs), "")] = output
            elif (folded := self._folded(layer, inputs)) is not None:
                values[key, next(iter(layer.outputs), "")] = folded
        self.nodes += (nodes[each.id] for each in wanted)
        self._add_tensors(body)

    def _before(self, body: Body, wanted: list[Layer]) -> list[str]:
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
        try:
            return list(TopologicalSorter(graph).static_order())
        except CycleError:
            raise malformed("the layers of a body form a cycle", "edges without one") from None

    def _input(self, layer: Layer, port: Port, body: Body) -> Value:
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
            known = body.captured(behind.id) or parameter(behind, name)
        if known is None:
            known = output.value(name) if output else Value(name)
        body.values[source] = known  # which many layers may read
        if known.shape.rank is None and declared.shape.rank is not None:
            known = known._replace(shape=declared.shape)
        return known._replace(name=name, dtype=known.dtype or declared.dtype)

    def _node(self, layer: Layer, path: tuple[str, ...], inputs: list[Value]) -> ModelNode:
        """Return the node of a layer; its axis may be an input."""
        attributes: dict[str, Any] = {
            name: attribute(layer.data[name])
            for name in ("axis", "batch_dims")
            if name in layer.data
        }
        outputs = [
            port.value(port.names.split(",")[0] or layer.name) for port in layer.outputs.values()
        ] or [Value(layer.name)]
        opset, ports = layer.opset or 0, (tuple(inputs), tuple(outputs))
        node = ModelNode(
            layer.name, path, "openvino", layer.type, opset, attributes, *ports
        ).resolved()
        axis = node.op.attr("axis") if node.op else None
        if axis and axis.is_input and len(inputs) > 2:
            attributes["axis"] = _axis_of(inputs[2])
        return node

    def _folded(self, layer: Layer, inputs: list[Value]) -> Value | None:
        """Return the output of a layer that constants come from or pass through."""
        name = layer.name
        if layer.type == "Const":
            return Value.of(name, self._weights.of_layer(layer))
        if layer.type not in _FOLDED_LAYERS or not inputs:
            return None
        value = self._passed(layer, inputs)
        marked = (value or Value(name)).unread_from(inputs)
        return marked if marked.unread else value

    def _passed(self, layer: Layer, inputs: list[Value]) -> Value | None:
        """Return the output of a layer that its first input passes through."""
        name = layer.name
        if layer.type == "Convert":
            return converted(inputs[0], name, type_of(layer.data.get("destination_type", "")))
        second = integers(inputs[1]) if len(inputs) > 1 else None
        if second is None and len(inputs) > 1:
            return None
        if layer.type == "Reshape":
            copies = layer.data.get("special_zero", "true").lower() == "true"
            return reshaped(inputs[0], name, second, zero_copies=copies)
        change = unsqueezed if layer.type == "Unsqueeze" else squeezed
        return change(inputs[0], name, second)

    def _add_tensors(self, body: Body) -> None:
        """Add the constants of a body, each checked against the .bin."""
        tensors = self.model.tensors
        for layer in body.layers.values():
            if layer.type == "Const":
                known = body.values.get((layer.id, next(iter(layer.outputs), "")))
                constant = known.constant if known else None
                tensors.setdefault(layer.name, constant or self._weights.of_layer(layer))


def _axis_of(value: Value) -> Any:
    """Return the axis that an input decides: `MOST_INTEGERS` elements at most, or "unknown"."""
    if value.constant is None or value.unread:
        return "unknown"
    axis = value.constant.read().values()
    if axis.size > MOST_INTEGERS:
        axis = axis.reshape(-1)[:MOST_INTEGERS]
    return axis.tolist()[0] if axis.shape == (1,) else axis.tolist()


def _is_family(layer: Layer) -> bool:
    return layer.type in OPERATOR_FAMILIES and layer.opset is not None


def _is_wanted(layer: Layer) -> bool:
    """Tell whether its inputs are read: it is of the family, or has a body that gets them."""
    return _is_family(layer) or layer.maps is not None
