"""OpenVINO IR: the layers of the family in an .xml and its bodies, with constants of the .bin.

The .xml is read by expat, as a stream; a DOCTYPE, which may define entities, is refused. Layers
have ids that are unique in their body only. A port without dimensions is 0-D or of unknown rank:
the layer behind it decides.
"""

from __future__ import annotations

from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat

from gathercli.errors import GatherError, InputError, LimitError
from gathercli.io.files import File, HeldFile
from gathercli.io.formats.content import malformed, truncated
from gathercli.io.graph import MAX_DEPTH, Constant, Value, check_held
from gathercli.io.ir.layers import (
    ELEMENT_TYPES,
    PORT_MAPS,
    Body,
    Layer,
    Port,
    attribute,
    integer,
    parameter,
    shape_of,
    type_of,
)
from gathercli.io.ir.weights import Weights
from gathercli.models import fold
from gathercli.models.graph import (
    NODE_BYTES,
    OPERATOR_FAMILIES,
    Model,
    ModelNode,
    node,
    unique_names,
)
from gathercli.models.inference import axis_of, infer_output, merged, with_call
from gathercli.text import clean, in_bytes, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


MAX_XML: Final = 1 << 28
"""The largest .xml in bytes."""

MOST_ELEMENTS: Final = 20_000_000
"""The most elements of an .xml."""

DEEPEST_ELEMENT: Final = 5 * MAX_DEPTH
"""The deepest nesting of elements; a body takes four levels."""

_LAYER, _PORT, _TEXT, _NAME = 600, 140, 60, 180
"""Bytes of memory, as were measured: of a layer, of a port or an edge, of a text, of a name."""

_TAG: Final = 32
"""Bytes of memory that a byte of a tag takes at most, if it has short attributes."""

_CUT: Final = [
    expat.errors.codes[each]
    for each in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
]
"""The errors that expat finds at the end of a file alone."""

_VERSIONS: Final = (10, 11)
_PART: Final = 1 << 16

_FOLDED: Final = ("Const", "Convert", "Reshape", "Unsqueeze", "Squeeze")
"""The layers that constants come from or pass through."""


def read_ir(file: File) -> Model:
    """Read an OpenVINO IR.

    Raises
    ------
    InputError, LimitError
        The file is no sound IR.
    """
    return _IrReader(file).read()


def layers_of(xml: bytes, weights: bytes) -> tuple[Mapping[str, Layer], Mapping[str, Constant]]:
    """Return the layers of an OpenVINO IR by id, without those of bodies, and its constants."""
    reader = _IrReader(HeldFile("model.xml", xml), HeldFile("model.bin", weights))
    model = reader.read()
    return reader.layers, model.tensors


class _IrReader:
    """A reader of one .xml; `read` may be called once."""

    def __init__(self, file: File, weights: File | None = None) -> None:
        self._file = file
        self.model = Model(file.name, "openvino", 0, file=file)
        self._weights = Weights(self.model.notes, file, weights)
        self._stack: list[str] = []
        self._bodies: list[Body] = []
        self._open: list[Body] = []
        self._handlers: dict[tuple[str, str], tuple[int, Callable[[dict[str, str]], None]]] = {
            ("input", "port"): (_PORT, self._start_input),
            ("output", "port"): (_PORT, self._start_output),
            ("port", "dim"): (_TEXT, self._start_dim),
            ("layer", "data"): (_PORT, self._start_data),
            ("layers", "layer"): (_LAYER, self._add_layer),
            ("edges", "edge"): (_PORT, self._add_edge),
            ("back_edges", "edge"): (_PORT, self._add_back_edge),
            **{("layer", name): (_LAYER, partial(self._start_body, name)) for name in PORT_MAPS},
            **{
                (name, "input"): (_PORT, partial(self._map_port, name))
                for name in PORT_MAPS.values()
            },
        }
        self._names: dict[str, str] = {}
        """The names of elements and attributes, which expat adds."""
        self._counted = 0
        self._text: list[str] | None = None
        self._port: Port | None = None
        self._number = 0
        self._nodes: list[ModelNode] = []

    def read(self) -> Model:
        """Parse the .xml and read the layers of each body."""
        parser = expat.ParserCreate(intern=self._names)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._character_data
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_doctype
        size = self._file.length(MAX_XML)
        if size > MAX_XML:
            raise LimitError(
                f"the .xml has {in_bytes(size)}",
                rule="limit",
                value=size,
                expected=f"at most {MAX_XML}",
            )
        try:
            raw = self._file.buffer()
            for start in range(0, size, _PART):
                part = raw[start : start + _PART]
                parser.Parse(part, False)
                pending = start + len(part) - parser.CurrentByteIndex  # of a tag without its end
                check_held(pending * _TAG, self._file.limit)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            if error.code in _CUT:
                raise truncated(size, "an OpenVINO IR", inside="an element") from None
            raise malformed(
                f"it is not XML: {expat.ErrorString(error.code)} in line {error.lineno}",
                "an OpenVINO IR",
            ) from None
        except GatherError:  # of a handler
            raise
        except (LookupError, ValueError) as error:  # the encoding that the .xml declares
            raise malformed(f"it is not XML: {error}", "an OpenVINO IR in UTF-8") from None
        for body in self._bodies:
            self._read_body(body)
        self.model.nodes = unique_names(self._nodes)
        return self.model

    @property
    def layers(self) -> Mapping[str, Layer]:
        """The layers of the model itself, by id."""
        return self._bodies[0].layers

    # The handlers of expat. The element around it decides what an element is, so that those of
    # `rt_info`, which may have any names, are passed over.

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._number += 1
        stack = self._stack
        if self._number > MOST_ELEMENTS or len(stack) >= DEEPEST_ELEMENT:
            raise LimitError(
                "the .xml has too many or too deep elements",
                rule="limit",
                expected=f"at most {MOST_ELEMENTS}, {DEEPEST_ELEMENT} deep",
            )
        if len(self._names) > self._counted:
            self.model.hold(_NAME * (len(self._names) - self._counted))
            self._counted = len(self._names)
        if stack:
            nbytes, handler = self._handlers.get((stack[-1], name), (0, None))
            if handler is not None:
                self.model.hold(nbytes + sum(_TEXT + len(each) for each in attributes.values()))
                handler(attributes)
        else:
            self._open_net(name, attributes)
        stack.append(name)

    def _start_input(self, attributes: dict[str, str]) -> None:
        self._port = Port(attributes)
        if self._layer is not None:
            self._layer.inputs.append(self._port)

    def _start_output(self, attributes: dict[str, str]) -> None:
        self._port = Port(attributes)
        if self._layer is not None:
            self._layer.outputs[self._port.id] = self._port

    def _start_dim(self, _: dict[str, str]) -> None:
        self._text = []

    def _start_data(self, attributes: dict[str, str]) -> None:
        if self._layer is not None:
            self._layer.data = attributes

    def _start_body(self, name: str, _: dict[str, str]) -> None:
        if self._layer is not None:
            outer, owner = self._open[-1], self._layer
            path = (*outer.path, owner.name or owner.type, name)
            self._open_body(Body(path, len(self._stack), outer, owner))

    def _map_port(self, name: str, attributes: dict[str, str]) -> None:
        if self._layer is not None and "axis" not in attributes:
            maps = self._layer.maps = self._layer.maps or {}
            ports = maps.setdefault(name, {})
            ports[attributes.get("internal_layer_id", "")] = attributes.get("external_port_id", "")

    def _add_back_edge(self, attributes: dict[str, str]) -> None:
        if self._layer is not None:
            changing = self._layer.changing = self._layer.changing or set()
            changing.add(attributes.get("to-layer", ""))

    def _open_body(self, body: Body) -> None:
        self._open.append(body)
        self._bodies.append(body)

    @property
    def _layer(self) -> Layer | None:
        return self._open[-1].last

    def _end(self, name: str) -> None:
        stack = self._stack
        stack.pop()
        if name == "dim" and self._text is not None:
            if self._port is not None:
                self._port.dims.append("".join(self._text))
            self._text = None
        elif name == "port":
            self._port = None
        elif name == "layer" and stack and stack[-1] == "layers":
            self._open[-1].last = None
        elif stack and len(stack) == self._open[-1].depth:
            self._open.pop()

    def _character_data(self, text: str) -> None:
        if self._text is not None:
            self.model.hold(len(text))
            self._text.append(text)

    def _open_net(self, name: str, attributes: dict[str, str]) -> None:
        if name != "net":
            raise malformed(f"the root of the .xml is <{clean(short(name))}>", "<net> of an IR")
        version = integer(attributes.get("version", "0"), "the version of the IR")
        if version not in _VERSIONS:
            raise malformed(f"the IR has version {version}", "10 or 11")
        self.model.version = version
        self._open_body(Body())

    def _add_layer(self, attributes: dict[str, str]) -> None:
        body, layer = self._open[-1], Layer(attributes)
        if layer.id in body.layers:
            raise malformed(f"two layers have the id `{clean(short(layer.id))}`", "every id once")
        self.model.count_node()
        body.layers[layer.id] = body.last = layer

    def _add_edge(self, attributes: dict[str, str]) -> None:
        layers = self._open[-1].layers
        to, source = attributes.get("to-layer", ""), attributes.get("from-layer", "")
        for each in (to, source):
            if each not in layers:
                raise malformed(
                    f"an edge names the layer `{clean(short(each))}`", "a layer of its body"
                )
        sources, port = layers[to].sources, attributes.get("to-port", "")
        if port in sources:
            what = f"two edges lead to the port `{clean(short(port))}` of `{clean(short(to))}`"
            raise malformed(what, "one edge to a port")
        sources[port] = source, attributes.get("from-port", "")

    # From layers to nodes

    def _read_body(self, body: Body) -> None:
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
                if inferred := infer_output(each):
                    port = next(iter(layer.outputs), "")
                    values[key, port] = merged(each.outputs[0], inferred)
            elif (folded := self._folded(layer, inputs)) is not None:
                values[key, next(iter(layer.outputs), "")] = folded
        self._nodes += (nodes[each.id] for each in wanted)
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
            follows = _is_wanted(layer) or layer.type in _FOLDED
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
        opset = layer.opset or 0
        each = node(layer.name, path, "openvino", layer.type, opset, attributes, inputs, outputs)
        axis = each.op.attr("axis") if each.op else None
        if axis and axis.is_input:
            value = inputs[2] if len(inputs) > 2 else None
            if value is not None:
                attributes["axis"] = axis_of(value)
        return each

    def _folded(self, layer: Layer, inputs: list[Value]) -> Value | None:
        """Return the output of a layer that constants come from or pass through."""
        name = layer.name
        if layer.type == "Const":
            return Value.of(name, self._constant(layer))
        if layer.type not in _FOLDED or not inputs:
            return None
        value = self._passed(layer, inputs)
        marked = (value or Value(name)).unread_from(inputs)
        return marked if marked.unread else value

    def _passed(self, layer: Layer, inputs: list[Value]) -> Value | None:
        """Return the output of a layer that its first input passes through."""
        name = layer.name
        if layer.type == "Convert":
            return fold.converted(inputs[0], name, type_of(layer.data.get("destination_type", "")))
        second = fold.integers(inputs[1]) if len(inputs) > 1 else None
        if second is None and len(inputs) > 1:
            return None
        if layer.type == "Reshape":
            copies = layer.data.get("special_zero", "true").lower() == "true"
            return fold.reshaped(inputs[0], name, second, zero_copies=copies)
        change = fold.unsqueezed if layer.type == "Unsqueeze" else fold.squeezed
        return change(inputs[0], name, second)

    def _constant(self, layer: Layer) -> Constant:
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
            return self._weights.constant(dtype, sizes, offset, size)
        except GatherError as error:
            error.prefix(f"the constant `{clean(short(layer.name))}`")
            raise

    def _add_tensors(self, body: Body) -> None:
        """Add the constants of a body, each checked against the .bin."""
        tensors = self.model.tensors
        for layer in body.layers.values():
            if layer.type == "Const":
                known = body.values.get((layer.id, next(iter(layer.outputs), "")))
                constant = known.constant if known else None
                tensors.setdefault(layer.name, constant or self._constant(layer))


def _is_family(layer: Layer) -> bool:
    return layer.type in OPERATOR_FAMILIES and layer.opset is not None


def _is_wanted(layer: Layer) -> bool:
    """Tell whether its inputs are read: it is of the family, or has a body that gets them."""
    return _is_family(layer) or layer.maps is not None


def _refuse_doctype(*_: object) -> None:
    raise malformed("the .xml has a DOCTYPE", "an IR, which has none")
