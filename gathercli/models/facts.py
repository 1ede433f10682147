"""What the `onnx` package finds out about a model, in a process of its own with limits.

It gets the model without the elements of its weights. The process ran compiled code on the bytes of
a file, so its answer is not trusted.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.tensor import Tensor
from gathercli.io.graphs.graph import Constant, Value
from gathercli.io.graphs.onnx import dimension
from gathercli.io.graphs.tensorproto import type_or_none
from gathercli.io.graphs.wire import Span, WireReader, encoded
from gathercli.models.bounds import Bounds
from gathercli.spec.shapes import MAX_RANK, Shape

ABSENT_STATUS: Final = 3  # the exit status if the package is not installed
SECONDS: Final = 40  # that the process may take
MOST_MODEL_BYTES: Final = 128 << 20  # the most bytes of a model without its weights
WHOLE_BYTES: Final = 4 << 20  # the most bytes of a model that is passed as it is
# The bytes of a tensor that may decide a shape; the elements of others are left out,
_SMALL_BYTES: Final = 4096
# but for integers, which may be indices.
_INTEGER_BYTES: Final = 1 << 20
_INTEGER_TYPES: Final = (2, 3, 4, 5, 6, 7, 9, 12, 13)

_PROGRAM: Final = (
    "import importlib.util, json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    f"importlib.util.find_spec('onnx') or sys.exit({ABSENT_STATUS}); "
    "from gathercli.models.evaluation import main; sys.exit(main())"
)

_GRAPH_FIELD, _INITIALIZER_FIELD, _NODE_FIELD = 7, 5, 1
_MODEL_FIELDS: Final = (1, 8, 25)
_GRAPH_FIELDS: Final = (2, 11, 12, 13, 15)
# The fields that are copied: of a graph also its nodes and, without elements, its tensors.
_TENSOR_FIELDS: Final = (1, 2, 8)


class Possible(NamedTuple):
    """What a value can be that differs between visits of a body, or comes at run time."""

    bounds: Bounds | None = None
    constants: tuple[Constant, ...] = ()  # in the visits that have one


class Facts(NamedTuple):
    """What is known of the values of one body, by name."""

    values: Mapping[str, Value] = {}  # types and shapes
    constants: Mapping[str, Value] = {}
    possible: Mapping[str, Possible] = {}
    attributes: Mapping[str, Mapping[str, int]] = {}  # of nodes in a function, by output

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Facts:
        """Parse the answer of the process for a body; raise ValueError and others if it is none."""
        values = {name: _value(name, *each) for name, each in entry["values"].items()}
        constants, possible = dict[str, Value](), dict[str, Possible]()
        for name, (low, high) in entry["bounds"].items():
            ends = [np.asarray(each, np.float64) for each in (low, high)]  # None is NaN
            possible[name] = Possible(Bounds.of(*ends))
        for name, (*each, is_same) in entry["constants"].items():
            visits = _constants(*each)
            if is_same:
                constants[name] = Value.of(name, visits[0])
            else:
                possible[name] = possible.get(name, Possible())._replace(constants=visits)
        attributes = {name: each for name, each in entry["attributes"].items() if each}
        return cls(values, constants, possible, attributes)


def _value(name: str, number: int, dims: list[int | str | None] | None) -> Value:
    dtype = type_or_none(number)
    if dims is None or len(dims) > MAX_RANK:
        return Value(name, dtype, inferred=True)
    return Value(name, dtype, Shape(map(dimension, dims)), inferred=True)


def _constants(
    number: int, dims: list[int], texts: list[str], is_default: bool
) -> tuple[Constant, ...]:
    """Return the constants of the visits of a body."""
    dtype = type_or_none(number)
    if dtype is None or len(dims) > MAX_RANK:
        raise ValueError("a constant has another type")
    storage = np.dtype(dtype.name).newbyteorder("<")
    arrays = [np.frombuffer(base64.b64decode(text), storage).reshape(dims) for text in texts]
    tensors = [Tensor(dtype, array.astype(dtype.name)) for array in arrays]
    return tuple(
        Constant(dtype, tuple(dims), partial(_same, tensor), depth=1, default=is_default)
        for tensor in tensors
    )


def _same(tensor: Tensor) -> Tensor:
    return tensor


def infer_facts(wire: WireReader, graph: Span) -> tuple[dict[int, Facts], str | None]:
    """Return the facts by number of a body, and a note that says why there are none, or None."""
    import subprocess

    parts: list[bytes] = []
    size = 0
    for part in _without_weights(wire, graph):
        size += len(part)
        if size > min(MOST_MODEL_BYTES, wire.limit or MOST_MODEL_BYTES):
            return {}, "the model is too large for onnx's shape inference"
        parts.append(part)
    path = json.dumps([folder for folder in sys.path if folder])
    try:
        process = subprocess.run(  # noqa: S603  (our own module)
            [sys.executable, "-I", "-c", _PROGRAM, path],
            input=b"".join(parts),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}, "onnx's shape inference took too long"
    if process.returncode == ABSENT_STATUS:
        from gathercli.io.formats.foreign import install_line

        return {}, f"some shapes are not known; `{install_line('onnx', 'onnx')}` infers more"
    return _parsed(process.stdout if process.returncode == 0 else b"")


def _parsed(text: bytes) -> tuple[dict[int, Facts], str | None]:
    """Return the facts in an answer, and a note if it has not all."""
    failed = "onnx's shape inference failed, so some shapes are not known"
    try:
        answer = json.loads(text)
        facts = {int(number): Facts.parse(each) for number, each in answer["bodies"].items()}
        notes = {"failed": failed, "exhausted": "the model has more constants than are evaluated"}
        return facts, next((note for key, note in notes.items() if answer[key]), None)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return {}, failed


def _without_weights(wire: WireReader, graph: Span) -> Iterator[bytes]:
    """Yield the parts of the model, without the elements of large tensors if it is not small."""
    if wire.whole.size <= WHOLE_BYTES:
        yield wire.bytes(wire.whole)
        return
    yield from _copied(wire, wire.whole, _MODEL_FIELDS)
    parts = list(_copied(wire, graph, _GRAPH_FIELDS))
    for field, value in wire.fields(graph):
        if not isinstance(value, Span):
            continue
        if field == _INITIALIZER_FIELD:
            whole = value.size <= _SMALL_BYTES or _is_integer(wire, value)
            tensor = wire.bytes(value) if whole else b"".join(_copied(wire, value, _TENSOR_FIELDS))
            parts.append(encoded(field, tensor))
        elif field == _NODE_FIELD and not _has_weights(wire, value):
            parts.append(encoded(field, wire.bytes(value)))
    yield encoded(_GRAPH_FIELD, b"".join(parts))


def _is_integer(wire: WireReader, tensor: Span) -> bool:
    """Tell whether a tensor has a moderate number of integers."""
    return tensor.size <= _INTEGER_BYTES and any(
        field == 2 and value in _INTEGER_TYPES for field, value in wire.fields(tensor)
    )


def _has_weights(wire: WireReader, node: Span) -> bool:
    """Tell whether a node is a Constant with many elements that are no indices."""
    if node.size <= _SMALL_BYTES:
        return False
    parts = [(field, value) for field, value in wire.fields(node) if isinstance(value, Span)]
    if not any(field == 4 and wire.bytes(value) == b"Constant" for field, value in parts):
        return False
    tensors = [
        tensor
        for field, value in parts
        if field == 5
        for inner, tensor in wire.fields(value)
        if inner == 5 and isinstance(tensor, Span)
    ]
    return not any(_is_integer(wire, each) for each in tensors)


def _copied(wire: WireReader, message: Span, fields: Iterable[int]) -> Iterator[bytes]:
    """Yield the encoded fields of a message that have the numbers `fields`."""
    for field, value in wire.fields(message):
        if field in fields:
            yield encoded(field, wire.bytes(value) if isinstance(value, Span) else value)
