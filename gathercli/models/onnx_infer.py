"""Shapes that the `onnx` package infers, in a process of its own with limits."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from gathercli.io.graphs.graph import Value
from gathercli.io.graphs.onnx import dimension
from gathercli.io.graphs.tensorproto import type_or_none
from gathercli.io.graphs.wire import Span, WireReader, encoded
from gathercli.models import infer_child
from gathercli.models.infer_child import ABSENT_STATUS, CPU_SECONDS
from gathercli.spec.shapes import MAX_RANK, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_MODEL_BYTES: Final = 128 << 20
"""The most bytes of a model without its weights."""

_SMALL_BYTES: Final = 4096
"""The bytes of a tensor that may decide a shape; the elements of others are left out."""

_GRAPH_FIELD, _INITIALIZER_FIELD, _NODE_FIELD = 7, 5, 1
_MODEL_FIELDS: Final = (1, 8, 25)
_GRAPH_FIELDS: Final = (2, 11, 12, 13)
_TENSOR_FIELDS: Final = (1, 2, 8)
"""The fields that are copied: of a graph also its nodes and, without elements, its tensors."""


def infer_values(wire: WireReader, graph: Span) -> tuple[dict[str, Value], str | None]:
    """Return the inferred values by name, and a note that says why there are none, or None."""
    parts: list[bytes] = []
    size = 0
    for part in _without_weights(wire, graph):
        size += len(part)
        if size > min(MOST_MODEL_BYTES, wire.limit or MOST_MODEL_BYTES):
            return {}, "the model is too large for onnx's shape inference"
        parts.append(part)
    command = [sys.executable, "-I", infer_child.__file__]
    try:
        process = subprocess.run(  # noqa: S603  (our own module)
            command,
            input=b"".join(parts),
            capture_output=True,
            timeout=2 * CPU_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}, "onnx's shape inference took too long"
    if process.returncode == ABSENT_STATUS:
        return {}, "some shapes are not known; `pip install 'gathercli[onnx]'` infers more"
    failed = "onnx's shape inference failed, so some shapes are not known"
    if process.returncode != 0:
        return {}, failed
    try:  # the process ran compiled code on the model, so that its answer is not trusted
        entries = json.loads(process.stdout)
        return {name: _value(name, *entry) for name, entry in entries.items()}, None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}, failed


def _value(name: str, number: int, dims: list[int | str | None] | None) -> Value:
    dtype = type_or_none(number)
    if dims is None or len(dims) > MAX_RANK:
        return Value(name, dtype, inferred=True)
    return Value(name, dtype, Shape(map(dimension, dims)), inferred=True)


def _without_weights(wire: WireReader, graph: Span) -> Iterator[bytes]:
    """Yield the parts of the model without the elements of large tensors."""
    yield from _copied(wire, wire.whole, _MODEL_FIELDS)
    parts = list(_copied(wire, graph, _GRAPH_FIELDS))
    for field, value in wire.fields(graph):
        if not isinstance(value, Span):
            continue
        if field == _INITIALIZER_FIELD:
            whole = value.size <= _SMALL_BYTES
            tensor = wire.bytes(value) if whole else b"".join(_copied(wire, value, _TENSOR_FIELDS))
            parts.append(encoded(field, tensor))
        elif field == _NODE_FIELD and (value.size <= _SMALL_BYTES or not _is_constant(wire, value)):
            parts.append(encoded(field, wire.bytes(value)))
    yield encoded(_GRAPH_FIELD, b"".join(parts))


def _is_constant(wire: WireReader, node: Span) -> bool:
    return any(
        field == 4 and isinstance(value, Span) and wire.bytes(value) == b"Constant"
        for field, value in wire.fields(node)
    )


def _copied(wire: WireReader, message: Span, fields: Iterable[int]) -> Iterator[bytes]:
    """Yield the encoded fields of a message that have the numbers `fields`."""
    for field, value in wire.fields(message):
        if field in fields:
            yield encoded(field, wire.bytes(value) if isinstance(value, Span) else value)
