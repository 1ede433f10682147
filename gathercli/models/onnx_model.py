"""ONNX models: the nodes of the family in every graph, body and function.

The fields of the messages are those of `onnx.proto`. Only what the family needs is decoded:
names, types, and the nodes that constants pass through.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from gathercli.errors import GatherError
from gathercli.io.files import File
from gathercli.io.formats.content import malformed
from gathercli.io.graphs.graph import Constant, Value, open_beside
from gathercli.io.graphs.onnx import NodeFields, attribute, node_fields, value_info
from gathercli.io.graphs.tensorproto import NOT_OPENED, TensorProto, type_of, type_or_none
from gathercli.io.graphs.wire import (
    NUMBER_BYTES,
    SPAN_BYTES,
    Span,
    WireReader,
    number_of,
    signed,
    span_of,
)
from gathercli.models.facts import Facts, infer_facts
from gathercli.models.graph import (
    MAX_DEPTH,
    NODE_BYTES,
    OPERATOR_FAMILIES,
    Model,
    ModelNode,
    converted,
    integers,
    literal,
    merged,
    output_of,
    reshaped,
    squeezed,
    unique_names,
    unread_from,
    unsqueezed,
    with_call,
)
from gathercli.spec.dtypes import INT64, DType
from gathercli.spec.shapes import UNKNOWN
from gathercli.text import clean, short

_ONNX_DOMAINS: Final = ("", "ai.onnx")

_IR_VERSION, _PRODUCER, _PRODUCER_VERSION = 1, 2, 3
_MODEL_GRAPH, _OPSETS, _MODEL_FUNCTIONS = 7, 8, 25  # the fields of ModelProto
# Bytes of memory, as were measured: of a declared value, a constant, a name, an opset.
_DECLARED_BYTES, _CONSTANT_BYTES, _NAME_BYTES, _OPSET_BYTES = 450, 600, 200, 150
_IMPORTS_SINCE: Final = 3  # the `ir_version` from which a model imports operator sets
# The `ir_version` from which an initializer is the default of the input of its name.
_DEFAULTS_SINCE: Final = 4
# The opset from which Unsqueeze and Squeeze have their axes as an input.
_AXES_INPUT_SINCE: Final = 13
# The operators that constants come from or pass through.
_FOLDED_OPERATORS: Final = ("Constant", "Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze")

# The attributes of a Constant that are numbers, and their types.
_NUMBER_ATTRIBUTES: Final[dict[str, tuple[type[Any], DType]]] = {
    "value_int": (int, INT64),
    "value_ints": (list, INT64),
    "value_float": (float, type_of(1)),
}


def read_onnx(file: File, *, external: bool, infer: bool) -> Model:
    """Read an ONNX model, by the `ReadOptions` of these names.

    Raise InputError, LimitError or NoInputError if the file is no sound model, or a tensor is in a
    file that cannot be read.
    """
    reader = _OnnxReader(file, external=external)
    model = reader.read()
    if infer and any(
        number or value.dtype is None or value.shape.rank is None or UNKNOWN in value.shape
        for node in model.nodes
        for number, value in enumerate(node.inputs)
        if value.constant is None
    ):
        reader.infer()
    if any(NOT_OPENED in each.unread.values() for each in model.nodes):
        model.notes.append(
            "some indices are in another file, which is read only with `--external-data`"
        )
    return model


class _Scope:
    """The values of a graph by name, and the graph around it."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self._outer, self.facts = outer, Facts()
        self.values: dict[str, Value] = {}
        self.declared: dict[str, Value] = {}
        self.defined: set[str] = set()  # outputs of nodes, which hide those of the graph around

    def value(self, name: str) -> Value:
        """Return what is known of a value: from its node, declared or inferred, or nothing."""
        scope: _Scope | None = self
        while scope is not None:
            known = scope.values.get(name) or scope.declared.get(name)
            inferred = scope.facts.values.get(name)
            if known is not None or inferred is not None or name in scope.defined:
                return self._combined(known or Value(name), inferred)
            scope = scope._outer  # noqa: SLF001  (its own class)
        return self._combined(Value(name), None)

    def _combined(self, known: Value, inferred: Value | None) -> Value:
        """Return what the model says of a value with what was found out."""
        if known.constant is not None:
            return known
        constant = self.facts.constants.get(known.name)
        if constant is not None and not known.unread:
            return constant
        inferred = self.facts.values.get(known.name) or inferred
        return merged(known, inferred) if inferred else known


class _OnnxReader:
    """A reader of one model."""

    def __init__(self, file: File, *, external: bool) -> None:
        self._file, self._external = file, external
        self._wire = WireReader(file.buffer(), file.limit)
        self.model = Model(file.name, "onnx", 0, file=file)
        self._nodes: list[ModelNode] = []
        self._opset = 0
        self._beside: dict[str, File] = {}
        self._graph: Span | None = None
        self._scopes: list[_Scope] = []  # of all graphs and functions, in the order of the file
        self._scope_of: list[_Scope] = []  # of each node

    def infer(self) -> None:
        """Add to the nodes what the `onnx` package finds out."""
        if self._graph is None:
            return
        facts, note = infer_facts(self._wire, self._graph)
        self.model.notes += filter(None, [note])
        for number, scope in enumerate(self._scopes):
            scope.facts = facts.get(number, scope.facts)
        for at, (node, scope) in enumerate(zip(self._nodes, self._scope_of, strict=True)):
            self._nodes[at] = self._known(node, scope)
        self.model.nodes = unique_names(self._nodes)

    def _scope(self, outer: _Scope | None = None) -> _Scope:
        """Return the scope of the next graph or function."""
        self._scopes.append(_Scope(outer))
        return self._scopes[-1]

    def _known(self, node: ModelNode, scope: _Scope) -> ModelNode:
        """Return a node with what is known of its values, and add its output to its scope."""
        inputs, outputs = (
            tuple(scope.value(each.name) for each in values)
            for values in (node.inputs, node.outputs)
        )
        attributes, facts = node.attributes, scope.facts
        if node.is_template and outputs:
            attributes = {**attributes, **facts.attributes.get(outputs[0].name, {})}
        possible = {
            number: facts.possible[each.name]
            for number, each in enumerate(inputs)
            if each.name in facts.possible
        }
        node = node._replace(
            inputs=inputs, outputs=outputs, attributes=attributes, possible=possible, call=None
        )
        node = with_call(node)
        if output := output_of(node):
            scope.values[output.name] = output
        return node

    def read(self) -> Model:
        """Read the model."""
        wire, model = self._wire, self.model
        parts: dict[int, list[Span]] = {_MODEL_GRAPH: [], _MODEL_FUNCTIONS: []}
        for field, value in wire.fields(wire.whole):
            if field == _IR_VERSION:
                model.version = number_of(value, "`ir_version`")
            elif field in (_PRODUCER, _PRODUCER_VERSION):
                text = wire.text(span_of(value, "the producer"))
                model.producer = f"{model.producer} {text}".strip()
            elif field == _OPSETS:
                self._add_opset(model.opsets, span_of(value, "`opset_import`"))
            elif field in parts:
                what = "the graph" if field == _MODEL_GRAPH else "a function"
                parts[field].append(span_of(value, what))
        graphs, functions = parts.values()
        if not graphs:
            raise malformed(
                "it is not an ONNX model: it has no graph", "a ModelProto or an OpenVINO IR"
            )
        if graphs[1:]:
            raise malformed("the model has two graphs", "one")
        if not model.opsets and model.version >= _IMPORTS_SINCE:  # they follow the graph
            raise malformed(
                "the model has no `opset_import`, so it may be truncated",
                f"one, as in each model of IR version {_IMPORTS_SINCE} or newer",
            )
        self._opset, self._graph = model.opsets.get("", 1), graphs[0]
        self._read_graph(graphs[0], (), self._scope())
        for each in functions:
            self._read_function(each)
        model.nodes = unique_names(self._nodes)
        return model

    def _add_opset(self, opsets: dict[str, int], message: Span) -> None:
        domain, version = "", 1
        for field, value in self._wire.fields(message):
            if field == 1:
                domain = self._wire.text(span_of(value, "a domain"))
            elif field == 2:
                version = signed(number_of(value, "an opset"))
        self.model.hold(_OPSET_BYTES + len(domain))
        opsets["" if domain in _ONNX_DOMAINS else domain] = version

    def _read_function(self, message: Span) -> None:
        """Read the nodes of a function, of whose inputs nothing is known."""
        wire, opsets = self._wire, dict[str, int]()
        domain = name = ""
        nodes: list[Span] = []
        scope = self._scope()
        for field, value in wire.fields(message):
            if field == 1:
                name = wire.text(span_of(value, "the name of a function"))
            elif field == 7:
                nodes.append(span_of(value, "a node"))
            elif field == 9:
                self._add_opset(opsets, span_of(value, "`opset_import`"))
            elif field == 10:
                domain = wire.text(span_of(value, "a domain"))
            elif field == 12:
                self._declare(scope, span_of(value, "`value_info`"))
        self._opset = opsets.get("", self.model.opsets.get("", 1))
        path = (f"{domain}.{name}" if domain else name,)
        self._read_nodes(nodes, path, scope)

    def _read_graph(self, message: Span, path: tuple[str, ...], scope: _Scope) -> None:
        """Read the tensors, the declared values and the nodes of a graph."""
        if len(path) > 2 * MAX_DEPTH:
            raise malformed("a body is too deep in others", f"at most {MAX_DEPTH} around it")
        wire = self._wire
        nodes: list[Span] = []
        inputs: list[str] = []
        for field, value in wire.fields(message):
            if field == 1:
                nodes.append(span_of(value, "a node"))
            elif field == 5:
                name, constant = self._tensor(span_of(value, "an initializer"))
                scope.values[name] = Value.of(name, constant)
                self.model.tensors.setdefault(name, constant)
            elif field in (11, 12, 13):
                name = self._declare(scope, span_of(value, "a value"))
                inputs += [name] if field == 11 else []
        if self.model.version >= _DEFAULTS_SINCE:
            for name in inputs:
                value = scope.values.get(name)
                if value is not None and value.constant is not None:
                    value.constant.default = True
                    shape = scope.declared[name].shape if name in scope.declared else value.shape
                    scope.values[name] = value._replace(shape=shape)
        self._read_nodes(nodes, path, scope)

    def _declare(self, scope: _Scope, message: Span) -> str:
        """Add the type and shape that a ValueInfoProto declares to a scope; return its name."""
        name, value = value_info(self._wire, message)
        if value is not None:
            scope.declared[name] = value
        self.model.hold(_DECLARED_BYTES + len(name))
        return name

    def _tensor(self, message: Span) -> tuple[str, Constant]:
        """Return the name and the constant of a TensorProto; its errors have the name."""
        external = self._open_beside if self._external else None
        wire, before = self._wire, self._wire.count
        try:
            proto = TensorProto(wire, message)
            name, constant = proto.name, proto.constant(external)
            # The constant keeps the fields that have its elements.
            fields = wire.count - before
            self.model.hold(_CONSTANT_BYTES + SPAN_BYTES * fields + len(name))
        except GatherError as error:
            error.prefix(f"the tensor at byte {message.start}{self._name_of(message)}")
            raise
        return name, constant

    def _name_of(self, message: Span) -> str:
        """Return the name of a malformed tensor, for its error."""
        with suppress(GatherError):
            for field, value in self._wire.fields(message):
                if field == 8 and isinstance(value, Span):
                    return f", `{clean(short(self._wire.text(value)))}`"
        return ""

    def _open_beside(self, location: str) -> File:
        if location not in self._beside:
            parts = location.split("/")
            if "\0" in location or "\\" in location or not {"", ".", ".."}.isdisjoint(parts):
                what = f"the elements are in `{clean(location)}`"
                raise malformed(what, "a file beside the model", value=location)
            model = self._file
            file = self._beside[location] = open_beside(model.path, location, model.limit)
            file.guarded = model.guarded
            model.beside.append(file)
        return self._beside[location]

    def _read_nodes(self, messages: list[Span], path: tuple[str, ...], scope: _Scope) -> None:
        self.model.hold(SPAN_BYTES * len(messages))
        for message in messages:
            self.model.count_node()
            fields = node_fields(self._wire, message)
            if fields.domain in _ONNX_DOMAINS:
                if fields.operator in OPERATOR_FAMILIES and fields.operator != "GatherTree":
                    self._add_node(fields, path, scope)
                    continue
                if fields.operator in _FOLDED_OPERATORS:
                    self._fold(fields, scope)
                    continue
            if path:
                scope.defined.update(self._texts(fields.outputs))
            for each in fields.attributes:
                self._read_bodies(each, fields, path, scope)

    def _texts(self, spans: Iterable[Span]) -> list[str]:
        return [self._wire.text(each) for each in spans]

    def _read_bodies(
        self, message: Span, fields: NodeFields, path: tuple[str, ...], scope: _Scope
    ) -> None:
        """Read the graphs in an attribute of a node."""
        name, graphs = "", []
        for field, value in self._wire.fields(message):
            if field == 1:
                name = self._wire.text(span_of(value, "the name of an attribute"))
            elif field in (6, 11):
                graphs.append(span_of(value, "a graph"))
        own = fields.name or (self._texts(fields.outputs[:1]) or [fields.operator])[0]
        for graph in graphs:
            self._read_graph(graph, (*path, own, name), self._scope(scope))

    def _add_node(self, fields: NodeFields, path: tuple[str, ...], scope: _Scope) -> None:
        """Add a node of the family, and infer its output."""
        inputs, outputs = (
            tuple(map(Value, self._texts(spans))) for spans in (fields.inputs, fields.outputs)
        )
        names = sum(_NAME_BYTES + len(value.name) for value in (*inputs, *outputs))
        self.model.hold(NODE_BYTES + names + len(fields.name))
        attributes = self._attributes(fields)
        node = ModelNode(
            fields.name, path, "onnx", fields.operator, self._opset, attributes, inputs, outputs
        )
        self._nodes.append(self._known(node.resolved(), scope))
        self._scope_of.append(scope)

    def _attributes(self, fields: NodeFields) -> dict[str, Any]:
        attributes = dict(
            attribute(self._wire, each, lambda message: self._tensor(message)[1])
            for each in fields.attributes
        )
        lists = [each for each in attributes.values() if isinstance(each, list)]
        self.model.hold(NUMBER_BYTES * sum(map(len, lists)))
        return attributes

    def _fold(self, fields: NodeFields, scope: _Scope) -> None:
        """Add the output of a node that constants pass through."""
        if not fields.outputs:
            return
        name = self._wire.text(fields.outputs[0])
        inputs = [scope.value(each) for each in self._texts(fields.inputs)]
        attributes = self._attributes(fields)
        value = _folded(fields.operator, name, inputs, attributes, self._opset)
        if value is None:
            return
        self.model.hold(_CONSTANT_BYTES + len(name))
        declared = scope.declared.get(name)
        scope.values[name] = merged(declared, value) if declared else value
        if fields.operator == "Constant" and value.constant is not None:
            self.model.tensors.setdefault(name, value.constant)


def _folded(
    operator: str, name: str, inputs: list[Value], attributes: dict[str, Any], opset: int
) -> Value | None:
    """Return the output of a node of `_FOLDED_OPERATORS`; None if nothing is known of it."""
    if operator == "Constant":
        constant = _constant(attributes)
        return Value.of(name, constant) if constant else None
    if not inputs:
        return None
    value = _passed(operator, name, inputs, attributes, opset) or Value(name, inputs[0].dtype)
    return unread_from(value, inputs)


def _passed(
    operator: str, name: str, inputs: list[Value], attributes: dict[str, Any], opset: int
) -> Value | None:
    """Return the output of a node that its first input passes through."""
    data = inputs[0]
    if operator == "Identity":
        return data._replace(name=name)
    if operator == "Cast":
        return converted(data, name, type_or_none(attributes.get("to")))
    given = attributes.get("shape" if operator == "Reshape" else "axes")
    numbers = given if isinstance(given, list) else None
    if len(inputs) > 1 and (operator == "Reshape" or opset >= _AXES_INPUT_SINCE):
        numbers = integers(inputs[1])
        if numbers is None:
            return None
    if operator == "Reshape":
        copies = attributes.get("allowzero", 0) == 0
        return reshaped(data, name, numbers, zero_copies=copies)
    change = unsqueezed if operator == "Unsqueeze" else squeezed
    return change(data, name, numbers)


def _constant(attributes: dict[str, Any]) -> Constant | None:
    """Return the value of a Constant; None if it is no tensor of numbers."""
    value = attributes.get("value")
    if isinstance(value, Constant):
        return value
    for name, (kind, dtype) in _NUMBER_ATTRIBUTES.items():
        numbers = attributes.get(name)
        if isinstance(numbers, kind):
            return literal(numbers, dtype)
    return None
