"""ONNX models: the nodes of the family in every graph, body and function.

The fields of the messages are those of `onnx.proto`. Only what the family needs is decoded:
names, types, and the nodes that constants pass through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from gathercli.errors import GatherError, InputError, LimitError, OperatorError
from gathercli.io.files import File
from gathercli.io.formats.content import malformed
from gathercli.io.graphs.graph import Value
from gathercli.io.graphs.onnx import NodeFields, attribute, value_info
from gathercli.io.graphs.tensorproto import NOT_OPENED, TensorProto
from gathercli.io.graphs.wire import (
    NUMBER_BYTES,
    SPAN_BYTES,
    Span,
    WireReader,
    number_of,
    signed,
    span_of,
)
from gathercli.models.facts import FOLDED_OPERATORS, MALFORMED, Scope, folded, infer_facts, merged
from gathercli.models.graph import (
    MAX_DEPTH,
    MERGING_OPERATORS,
    NODE_BYTES,
    OPERATOR_FAMILIES,
    TRACED_OPERATORS,
    Model,
    ModelNode,
    lacks_facts,
    merged_indices,
    output_of,
    placed,
    unique_names,
    unordered,
    watched,
    with_call,
)
from gathercli.models.reading import node_texts, open_beside
from gathercli.spec.shapes import Shape
from gathercli.text import as_written, clean, short

_ONNX_DOMAINS: Final = ("", "ai.onnx")

_IR_VERSION, _PRODUCER, _PRODUCER_VERSION = 1, 2, 3
_MODEL_GRAPH, _OPSETS, _MODEL_FUNCTIONS = 7, 8, 25  # the fields of ModelProto
# Bytes of memory, as were measured: of a declared value, a constant, a name, an opset, an output.
_DECLARED_BYTES, _CONSTANT_BYTES, _NAME_BYTES, _OPSET_BYTES, _OUTPUT_BYTES = 450, 600, 200, 150, 120
_SHORT_BYTES: Final = 64  # of an attribute that many nodes may have
_IMPORTS_SINCE: Final = 3  # the `ir_version` from which a model imports operator sets
# The `ir_version` from which an initializer is the default of the input of its name.
_DEFAULTS_SINCE: Final = 4
_TYPES_SINCE: Final = 2  # the `ir_version` from which an attribute has a type
_INTEGER_TYPE: Final = 2  # the type of an attribute that is an integer
# The rules of the attributes that are one.
_INTEGER_RULES: Final = {"axis": "axis-type", "batch_dims": "batch-dims-range"}


def read_onnx(file: File, *, external: bool, infer: bool) -> Model:
    """Read an ONNX model, by the `ReadOptions` of these names.

    Raise InputError, LimitError or NoInputError if the file is no sound model, or a tensor is in a
    file that cannot be read.
    """
    reader = _OnnxReader(file, external=external)
    model = reader.read()
    if infer and any(map(lacks_facts, model.nodes)):
        reader.infer()
    if any(NOT_OPENED in each.unread.values() for each in model.nodes):
        model.notes.append(
            "some indices are in another file, which is read only with `--external-data`"
        )
    return model


def _place_of(message: Span, name: str) -> tuple[str, str]:
    """Return the name and the position of a tensor, for its errors."""
    named = f", `{clean(short(name))}`" if name else ""
    return f"the tensor at byte {message.start}{named}", f"byte {message.start}"


class _OnnxReader:
    def __init__(self, file: File, *, external: bool) -> None:
        self._file, self._external = file, external
        self._wire = WireReader(file.buffer(), file.limit)
        self.model = Model(file.name, "onnx", 0, file=file)
        self._nodes: list[ModelNode] = []
        self._opset = 0
        self._beside: dict[str, File] = {}
        self._graph: Span | None = None
        self._scopes: list[Scope] = []  # of all graphs and functions, in the order of the file
        self._scope_of: list[Scope] = []  # of each node
        # The short attributes of nodes by their bytes, and whether in a function, if none is wrong.
        self._sound: dict[tuple[Any, ...] | None, dict[str, Any]] = {}
        # The inputs of functions that a call leaves undefined, by domain and name, and why.
        self._calls: dict[tuple[str, str], dict[int, str]] = {}

    def infer(self) -> None:
        """Add to the nodes what the `onnx` package finds out."""
        if self._graph is None:
            return
        facts, note = infer_facts(self._wire, self._graph)
        self.model.notes += filter(None, [note])
        for number, scope in enumerate(self._scopes):
            scope.facts = facts.get(number, scope.facts)
        self.model.nodes = tuple(map(self._known, self.model.nodes, self._scope_of))

    def _scope(self, outer: Scope | None = None, *, is_function: bool = False) -> Scope:
        self._scopes.append(Scope(outer, is_function=is_function))
        return self._scopes[-1]

    def _known(self, node: ModelNode, scope: Scope) -> ModelNode:
        """Return a node with what is known of its values, and add its output to its scope."""
        inputs = tuple(scope.value(each.name) for each in node.inputs)
        outputs = tuple(scope.value(each.name) for each in node.outputs)
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
        operator = scope.noted.get(inputs[0].name) if inputs else None
        # What is stored or folded is no sum.
        if inputs[1:] and operator in MERGING_OPERATORS and inputs[1].name not in scope.values:
            self._trace(scope)
            node = node._replace(merged_indices=merged_indices(node, scope))
        node = node._replace(takes_sizes=operator == "Shape")
        node = with_call(node)
        if output := output_of(node):
            scope.values[output.name] = output
        return node

    def _trace(self, scope: Scope) -> None:
        """Note the nodes that make the values of a scope, once."""
        for message in () if scope.makers else scope.nodes:
            fields = node_texts(self._wire, message)
            if fields.operator in TRACED_OPERATORS and fields.outputs:
                name, inputs = fields.outputs[0], fields.inputs
                self.model.hold(sum(_NAME_BYTES + len(each) for each in (name, *inputs)))
                scope.makers[name] = fields.operator, *inputs

    def read(self) -> Model:
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
        scope, inputs = self._scope(is_function=True), list[str]()
        for field, value in wire.fields(message):
            if field == 1:
                name = wire.text(span_of(value, "the name of a function"))
            elif field == 4:
                inputs.append(wire.text(span_of(value, "an input of a function")))
            elif field == 7:
                nodes.append(span_of(value, "a node"))
            elif field == 9:
                self._add_opset(opsets, span_of(value, "`opset_import`"))
            elif field == 10:
                domain = wire.text(span_of(value, "a domain"))
            elif field == 12:
                self._declare(scope, span_of(value, "`value_info`"), is_claim=True)
        self._opset = opsets.get("", self.model.opsets.get("", 1))
        scope.names.update(inputs)
        absent = self._calls.get((domain, name), {})
        scope.undefined |= {inputs[n]: why for n, why in absent.items() if n < len(inputs)}
        path = (f"{domain}.{name}" if domain else name,)
        self._read_nodes(nodes, path, scope)

    def _read_graph(self, message: Span, path: tuple[str, ...], scope: Scope) -> list[str]:
        """Read the tensors, declared values and nodes of a graph; return its outputs."""
        if len(path) > 2 * MAX_DEPTH:
            raise malformed("a body is too deep in others", f"at most {MAX_DEPTH} around it")
        wire = self._wire
        nodes: list[Span] = []
        inputs, outputs = list[str](), list[str]()
        claims = (11, 12, 13) if path else (12, 13)
        for field, value in wire.fields(message):
            if field == 1:
                nodes.append(span_of(value, "a node"))
            elif field in (5, 15):
                self._store(span_of(value, "an initializer"), scope, is_sparse=field == 15)
            elif field in (11, 12, 13):
                name = self._declare(scope, span_of(value, "a value"), is_claim=field in claims)
                inputs += [name] if field == 11 else []
                outputs += [name] if field == 12 else []
        scope.names.update(inputs)
        self._mark(inputs, scope, is_body=bool(path))
        self._read_nodes(nodes, path, scope)
        return outputs

    def _mark(self, inputs: Iterable[str], scope: Scope, *, is_body: bool) -> None:
        """Mark the defaults of the inputs of a graph, and what comes at run time if it is no body.

        An initializer of the same name is the default, which a caller may replace by another size.
        """
        for name in inputs:
            declared = scope.declared.get(name, Value(name))
            known = scope.values.get(name)
            if known is None:
                scope.declared[name] = declared if is_body else declared._replace(source=name)
            elif known.constant is not None and self.model.version >= _DEFAULTS_SINCE:
                known.constant.default = True
                shape = declared.shape if name in scope.declared else known.shape
                scope.values[name] = known._replace(shape=shape)

    def _declare(self, scope: Scope, message: Span, *, is_claim: bool) -> str:
        """Add the type and shape that a ValueInfoProto declares to a scope; return its name.

        It is a claim of a value that is no input, as the nodes decide its shape.
        """
        name, value = value_info(self._wire, message)
        if value is not None:
            claim = value.shape if is_claim and value.shape.rank is not None else None
            scope.declared[name] = value._replace(claim=claim, claimed=claim is not None)
        self.model.hold(_DECLARED_BYTES + len(name))
        return name

    def _tensor(self, message: Span) -> Value:
        """Return the value of a TensorProto, without a constant if it is malformed.

        Raise if the bytes of the message are malformed, or a file cannot be read.
        """
        external = self._open_beside if self._external else None
        wire, before = self._wire, self._wire.count
        value = Value("", unread=MALFORMED)
        try:
            proto = TensorProto(wire, message)
            value = Value(proto.name, proto.dtype, Shape(proto.shape), unread=MALFORMED)
            constant = proto.constant(external)
        except GatherError as error:
            name = value.name or self._name_of(message)
            placed(error, *_place_of(message, name))
            if not isinstance(error, InputError | LimitError):
                raise
            self.model.add_malformed(error)
            return value._replace(name=name)
        # The constant keeps the fields that have its elements.
        fields = wire.count - before
        self.model.hold(_CONSTANT_BYTES + SPAN_BYTES * fields + len(value.name))
        return Value.of(value.name, watched(constant, *_place_of(message, value.name)))

    def _name_of(self, message: Span) -> str:
        """Return the name of a tensor, of which other fields may be malformed."""
        name = dict(self._wire.fields(message)).get(8)
        return "" if name is None else self._wire.text(span_of(name, "the name of a tensor"))

    def _store(self, message: Span, scope: Scope, *, is_sparse: bool) -> None:
        """Add an initializer to a scope; of a sparse one the name, which is that of its values."""
        if is_sparse:
            parts = dict(self._wire.fields(message))
            values = span_of(parts.get(1, message), "the values of a sparse tensor")
            scope.names.add(self._name_of(values))
            return
        value = self._tensor(message)
        scope.values[value.name] = value
        scope.names.add(value.name)
        if value.constant is not None:
            self.model.tensors.setdefault(value.name, value.constant)

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

    def _read_nodes(self, messages: list[Span], path: tuple[str, ...], scope: Scope) -> None:
        self.model.hold(SPAN_BYTES * len(messages))
        scope.nodes = messages
        for message in messages:
            self.model.count_node()
            fields = node_texts(self._wire, message)
            inputs, outputs = fields.inputs, fields.outputs
            undefined = self._undefined(inputs, scope)
            is_own = fields.domain in _ONNX_DOMAINS
            if is_own and fields.operator in (*MERGING_OPERATORS, "Shape"):
                scope.noted.update(dict.fromkeys(outputs, fields.operator))
            if is_own and fields.operator in OPERATOR_FAMILIES and fields.operator != "GatherTree":
                self._add_node(fields, path, scope, undefined)
                undefined = {}  # which are found here
            elif is_own and fields.operator in FOLDED_OPERATORS:
                self._fold(fields, scope)
            else:
                if undefined:
                    absent = {
                        n: why for n, name in enumerate(inputs) if (why := undefined.get(name))
                    }
                    self._calls.setdefault((fields.domain, fields.operator), absent)
                for each in fields.attributes:
                    undefined = undefined | self._read_bodies(each, fields, path, scope)
            self.model.hold(_OUTPUT_BYTES * len(outputs) + sum(map(len, outputs)))
            for name in () if scope.names.isdisjoint(outputs) else outputs:
                if name and name in scope.names:
                    why = f"`{clean(short(name))}`, which is defined twice"
                    scope.undefined.setdefault(name, why)
            scope.names.update(outputs)
            for why in undefined.values():
                scope.undefined.update(dict.fromkeys(outputs, why))

    def _undefined(self, names: Sequence[str], scope: Scope) -> dict[str, str]:
        """Return the names that nothing can compute, or which need such a value, and why."""
        if not scope.undefined and scope.names.issuperset(names):  # as nearly always
            return {}
        reasons = {name: self._missing(name, scope) for name in names if name}
        return {name: why for name, why in reasons.items() if why}

    def _missing(self, name: str, scope: Scope) -> str:
        """Say why nothing can compute a value; empty text if something can."""
        for each in scope.around():
            if name in each.names:
                return each.undefined.get(name, "")
        why = "which nothing defines"
        for each in scope.around():
            if each.unordered is None:
                self.model.hold(NODE_BYTES * len(each.nodes))
                nodes = (node_texts(self._wire, node) for node in each.nodes)
                each.unordered = unordered(
                    {name: node.inputs for node in nodes for name in node.outputs}
                )
            if name in each.unordered:
                why = each.unordered[name]
                break
        return f"`{clean(short(name))}`, {why}"

    def _read_bodies(
        self, message: Span, fields: NodeFields, path: tuple[str, ...], scope: Scope
    ) -> dict[str, str]:
        """Read the graphs in an attribute of a node; return their outputs that are undefined."""
        name, graphs = "", []
        for field, value in self._wire.fields(message):
            if field == 1:
                name = self._wire.text(span_of(value, "the name of an attribute"))
            elif field in (6, 11):
                graphs.append(span_of(value, "a graph"))
        own = fields.name or (fields.outputs or [fields.operator])[0]
        undefined: dict[str, str] = {}
        for graph in graphs:
            inner = self._scope(scope)
            outputs = self._read_graph(graph, (*path, own, name), inner)
            undefined |= self._undefined(outputs, inner)
        return undefined

    def _add_node(
        self, fields: NodeFields, path: tuple[str, ...], scope: Scope, undefined: Mapping[str, str]
    ) -> None:
        """Add a node of the family, and infer its output; some inputs may be undefined."""
        wrong, key = list[OperatorError](), None
        if all(each.size <= _SHORT_BYTES for each in fields.attributes):
            key = (scope.is_function, *map(self._wire.bytes, fields.attributes))
        if (attributes := self._sound.get(key)) is None:
            attributes = self._attributes(fields, lambda message: self._tensor(message).constant)
            wrong += self._wrong_attributes(fields, scope)
            if key and not wrong and all(type(each) is int for each in attributes.values()):
                self._sound[key] = attributes
        inputs, outputs = (tuple(map(Value, each)) for each in (fields.inputs, fields.outputs))
        names = sum(_NAME_BYTES + len(value.name) for value in (*inputs, *outputs))
        self.model.hold(NODE_BYTES + names + len(fields.name))
        node = ModelNode(
            fields.name, path, "onnx", fields.operator, self._opset, attributes, inputs, outputs
        ).resolved()
        faults = (*node.faults, *self._faults(node, scope, undefined), *wrong)
        self._nodes.append(self._known(node._replace(faults=faults), scope))
        self._scope_of.append(scope)

    def _faults(
        self, node: ModelNode, scope: Scope, undefined: Mapping[str, str]
    ) -> Iterator[OperatorError]:
        """Yield what is missing or malformed of a node, beside the number of its inputs."""
        for role, value in zip(node.named_inputs, node.inputs, strict=False):
            if not value.name:
                yield OperatorError("is left out", rule="inputs", subject=role, expected="a value")
            elif why := undefined.get(value.name):
                verb = "is" if why.startswith(f"`{clean(short(value.name))}`,") else "depends on"
                expected = "an input, a tensor, or the output of an earlier node"
                rule = "undefined"
                yield OperatorError(f"{verb} {why}", rule=rule, subject=role, expected=expected)
        names = [each.name for each in node.outputs]
        if len(names) == 1 and names[0] in scope.names and names[0]:
            what = f"its output, `{clean(short(names[0]))}`, has the name of another value"
            yield OperatorError(what, rule="outputs", value=names[0], expected="a name of its own")

    def _wrong_attributes(self, fields: NodeFields, scope: Scope) -> Iterator[OperatorError]:
        """Yield attributes that are given twice, and those of an integer that are of another type.

        Only in a function an attribute refers to one of its caller.
        """
        names = Counter[str]()
        for message in fields.attributes:
            parts = dict(self._wire.fields(message))
            name, value = attribute(self._wire, message, lambda _: None)
            names[name] += 1
            if names[name] == 2:
                what = f"it has the attribute `{clean(short(name))}` twice"
                yield OperatorError(what, rule="attribute", value=name, expected="it once")
            if name not in _INTEGER_RULES:
                continue
            untyped = self.model.version < _TYPES_SINCE
            known = {1, 3, 13, 20, *([21] if scope.is_function else [])}
            if not parts.keys() <= known or parts.get(20, untyped * 2) != _INTEGER_TYPE:
                what = f"is {as_written(value)}"
                if 21 in parts and not scope.is_function:
                    what = "refers to an attribute of a function, but is in none"
                elif isinstance(value, int | None) or value == "unknown":
                    what = "has another type"
                rule = _INTEGER_RULES[name]
                yield OperatorError(what, rule=rule, subject=name, expected="one integer")

    def _attributes(self, fields: NodeFields, tensor: Callable[[Span], Any]) -> dict[str, Any]:
        attributes = dict(attribute(self._wire, each, tensor) for each in fields.attributes)
        lists = [each for each in attributes.values() if isinstance(each, list)]
        self.model.hold(NUMBER_BYTES * sum(map(len, lists)))
        return attributes

    def _fold(self, fields: NodeFields, scope: Scope) -> None:
        """Add the output of a node that constants pass through."""
        if not fields.outputs:
            return
        name = fields.outputs[0]
        inputs = [scope.value(each) for each in fields.inputs]
        attributes = self._attributes(fields, self._tensor)
        try:
            value = folded(fields.operator, name, inputs, attributes, self._opset)
        except (InputError, LimitError) as error:  # of a shape or of axes
            self.model.add_malformed(error)
            value = Value(name, unread=MALFORMED)
        if value is None:
            return
        self.model.hold(_CONSTANT_BYTES + len(name))
        declared = scope.declared.get(name)
        scope.values[name] = merged(declared, value) if declared else value
        if fields.operator == "Constant" and value.constant is not None:
            self.model.tensors.setdefault(name, value.constant)
