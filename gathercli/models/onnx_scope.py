"""The values of ONNX graphs by name, with the types and shapes that they declare."""

from __future__ import annotations

from typing import Final

from gathercli.io.formats.content import malformed
from gathercli.io.graph import Value
from gathercli.io.onnx.tensorproto import type_or_none
from gathercli.io.onnx.wire import Span, WireReader, number_of, span_of
from gathercli.models.inference import merged
from gathercli.models.onnx_infer import dimension
from gathercli.spec.dtypes import foreign
from gathercli.spec.shapes import MAX_RANK, UNKNOWN, AnyDim, Shape

_KINDS: Final = {4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}
"""The types of TypeProto other than tensors, by field."""


class Scope:
    """The values of a graph by name, and the graph around it."""

    def __init__(
        self, inferred: dict[str, Value] | None = None, outer: Scope | None = None
    ) -> None:
        self._inferred, self._outer = inferred or {}, outer
        self.values: dict[str, Value] = {}
        self.declared: dict[str, Value] = {}

    def value(self, name: str) -> Value:
        """Return what is known of a value: from its node, declared or inferred, or nothing."""
        scope: Scope | None = self
        while scope is not None:
            known = scope.values.get(name) or scope.declared.get(name)
            if known is not None:
                inferred = self._inferred.get(name)
                return merged(known, inferred) if inferred and not known.constant else known
            scope = scope._outer  # noqa: SLF001  (its own class)
        return self._inferred.get(name) or Value(name)

    def declare(self, wire: WireReader, message: Span) -> str:
        """Add the type and shape that a ValueInfoProto declares; return its name."""
        name, kind = "", None
        for field, value in wire.fields(message):
            if field == 1:
                name = wire.text(span_of(value, "the name of a value"))
            elif field == 2:
                kind = span_of(value, "a type")
        if kind is not None:
            self.declared[name] = _typed(wire, name, kind)
        return name


def _typed(wire: WireReader, name: str, message: Span) -> Value:
    """Return the value of a TypeProto."""
    dtype, shape = None, Shape.of_unknown_rank()
    for field, value in wire.fields(message):
        if field in _KINDS:
            dtype = foreign(_KINDS[field])
        elif field == 1:
            for inner, part in wire.fields(span_of(value, "a type")):
                if inner == 1:
                    dtype = type_or_none(number_of(part, "`elem_type`"))
                elif inner == 2:
                    shape = _shape(wire, span_of(part, "a shape"))
    return Value(name, dtype, shape)


def _shape(wire: WireReader, message: Span) -> Shape:
    dims: list[AnyDim] = []
    for field, value in wire.fields(message):
        if field == 1:
            dims.append(_dim(wire, span_of(value, "a dimension")))
        if len(dims) > MAX_RANK:
            raise malformed("a value has too many dimensions", f"at most {MAX_RANK}")
    return Shape(dims)


def _dim(wire: WireReader, message: Span) -> AnyDim:
    for field, value in wire.fields(message):
        if field == 1:  # modulo 2^64, so that a negative size is above the largest
            return dimension(number_of(value, "a dimension"))
        if field == 2:
            return dimension(wire.text(span_of(value, "a dimension")))
    return UNKNOWN
