"""What the `onnx` package finds out about a model, in a process of its own with limits.

It gets the model without the elements of its weights. The process ran compiled code on the bytes of
a file, so its answer is not trusted.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.conversion import cast as cast_tensor
from gathercli.compute.tensor import Tensor
from gathercli.io.graphs.graph import Constant, Value
from gathercli.io.graphs.onnx import dimension, node_fields
from gathercli.io.graphs.tensorproto import type_of, type_or_none
from gathercli.io.graphs.wire import Span, WireReader, encoded
from gathercli.models.bounds import Bounds
from gathercli.spec.dtypes import INT64, DType, Kind
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.shapes import MAX_RANK, UNKNOWN, AnyDim, Shape, product

MALFORMED: Final = "its tensor is malformed"  # why a value that a constant decides is not known
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
_GRAPH_FIELDS: Final = (_NODE_FIELD, 2, _INITIALIZER_FIELD, 11, 12, 13, 15)
# The fields that are copied; of tensors with many elements, which these lack.
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
    def parse(cls, entry: Mapping[str, Any], before: Facts) -> Facts:
        """Parse an answer of the process for a body; raise ValueError and others if it is none."""
        values = {name: _value(name, *each) for name, each in entry["values"].items()}
        constants, possible = dict[str, Value](), dict[str, Possible]()
        for name, (low, high) in entry.get("bounds", {}).items():
            ends = [np.asarray(each, np.float64) for each in (low, high)]  # None is NaN
            possible[name] = Possible(Bounds.of(*ends))
        for name, (*each, is_same) in entry.get("constants", {}).items():
            visits = _constants(*each)
            if is_same:
                constants[name] = Value.of(name, visits[0])
            else:
                possible[name] = possible.get(name, Possible())._replace(constants=visits)
        attributes = {name: each for name, each in entry.get("attributes", {}).items() if each}
        return cls({**before.values, **values}, constants, possible, attributes)


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
    return tuple(
        Constant(dtype, tuple(dims), partial(Tensor, dtype, array), depth=1, default=is_default)
        for array in (each.astype(dtype.name) for each in arrays)
    )


def merged(declared: Value, inferred: Value) -> Value:
    """Merge a declared and an inferred value, and keep the declared type.

    A dimension is the declared one unless that is unknown; but a size that was inferred is true
    whatever the model claims of a value that its nodes decide.
    """
    first, second = declared.shape, inferred.shape
    if declared.claim is not None and second.rank is not None:
        first, second = second, first
    shape = second if first.rank is None else first
    if first.rank == second.rank is not None:
        is_claim = declared.claim is not None  # which may name a size that was not inferred
        shape = Shape(
            two
            if two != UNKNOWN and (one == UNKNOWN or (is_claim and type(one) is not int))
            else one
            for one, two in zip(first, second, strict=True)
        )
    claimed = inferred.claimed or (declared.claimed and not _has_sizes(inferred.shape, shape))
    return inferred._replace(
        name=declared.name,
        dtype=declared.dtype or inferred.dtype,
        shape=shape,
        inferred=shape != declared.shape,
        unread=declared.unread or inferred.unread,
        source=declared.source or inferred.source,
        claim=declared.claim,
        claimed=claimed,
    )


def _has_sizes(inferred: Shape, shape: Shape) -> bool:
    return inferred.rank == shape.rank is not None and all(
        one == size or not isinstance(size, int) for one, size in zip(inferred, shape, strict=True)
    )


class Scope:
    """The values of a graph by name, and the graph around it."""

    def __init__(self, outer: Scope | None = None, *, is_function: bool = False) -> None:
        self.facts, self._outer = Facts(), outer
        inside = outer is not None and outer.is_function
        self.is_function: bool = is_function or inside
        self.values: dict[str, Value] = {}
        self.declared: dict[str, Value] = {}
        self.names: set[str] = set()  # that are defined so far, and hide those of the graph around
        self.undefined: dict[str, str] = {}  # those of `names` that nothing can compute, and why
        self.nodes: list[Span] = []
        self.noted: dict[str, str] = {}  # the operators of outputs that merge axes or are shapes
        # The operator and the inputs of the values that lead to an index, once they are asked for.
        self.makers: dict[str, tuple[str, ...]] = {}
        self.unordered: dict[str, str] | None = None  # the outputs of `nodes`, once one is missed

    def around(self) -> Iterator[Scope]:
        """Yield the scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope._outer  # noqa: SLF001  (its own class)

    def value(self, name: str) -> Value:
        """Return what is known of a value: from its node, declared or inferred, or nothing."""
        for scope in self.around():
            known = scope.values.get(name) or scope.declared.get(name)
            inferred = scope.facts.values.get(name)
            if known is not None or inferred is not None or name in scope.names:
                return self._combined(known or Value(name), inferred)
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


def infer_facts(wire: WireReader, graph: Span) -> tuple[dict[int, Facts], str | None]:
    """Return the facts by number of a body, and a note that says why there are none, or None."""
    import subprocess

    model = b"".join(_without_weights(wire, graph))
    if len(model) > min(MOST_MODEL_BYTES, wire.limit or MOST_MODEL_BYTES):
        return {}, "the model is too large for onnx's shape inference"
    path = json.dumps([folder for folder in sys.path if folder])
    try:
        process = subprocess.run(  # noqa: S603  (our own module)
            [sys.executable, "-I", "-c", _PROGRAM, path],
            input=model,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except OSError:
        return {}, "onnx's shape inference could not be started"
    except subprocess.TimeoutExpired as late:
        return _parsed(late.stdout or b"", "onnx's shape inference took too long")
    if process.returncode == ABSENT_STATUS:
        from gathercli.io.formats.foreign import install_line

        lacking = "some shapes are not known, some constants not evaluated"
        return {}, f"{lacking}; `{install_line('onnx', 'onnx')}` infers more"
    return _parsed(process.stdout)


def _parsed(text: bytes, late: str = "") -> tuple[dict[int, Facts], str | None]:
    """Return the facts in the answers of a process, and a note if they are not all."""
    failed = "onnx's shape inference failed, so some shapes are not known"
    notes = {"failed": failed, "exhausted": "the model has more constants than are evaluated"}
    facts, answer = dict[int, Facts](), {}
    try:
        for line in filter(None, text.split(b"\n")):  # one, if the process was stopped
            answer = json.loads(line)
            for number, each in answer["bodies"].items():
                facts[int(number)] = Facts.parse(each, facts.get(int(number), Facts()))
        return facts, late or next((note for key, note in notes.items() if answer[key]), None)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return facts, late or failed  # what is whole of it


def _without_weights(wire: WireReader, graph: Span) -> Iterator[bytes]:
    """Yield the parts of the model, without the elements of large tensors if it is not small."""
    if wire.whole.size <= WHOLE_BYTES:
        yield wire.bytes(wire.whole)
        return
    yield from _copied(wire, wire.whole, _MODEL_FIELDS)
    parts: list[bytes] = []
    start = at = graph.start  # of the fields that are copied at once
    for field, value in wire.fields(graph):
        if not isinstance(value, Span):
            continue
        is_large = value.size > _SMALL_BYTES
        if field not in _GRAPH_FIELDS or (is_large and _has_weights(wire, field, value)):
            parts.append(wire.bytes(Span(start, at)))
            if field == _INITIALIZER_FIELD:
                parts.append(encoded(field, b"".join(_copied(wire, value, _TENSOR_FIELDS))))
            start = value.stop
        at = value.stop
    yield encoded(_GRAPH_FIELD, b"".join((*parts, wire.bytes(Span(start, at)))))


def _is_integer(wire: WireReader, tensor: Span) -> bool:
    """Tell whether a tensor has a moderate number of integers."""
    return tensor.size <= _INTEGER_BYTES and any(
        field == 2 and value in _INTEGER_TYPES for field, value in wire.fields(tensor)
    )


def _has_weights(wire: WireReader, field: int, message: Span) -> bool:
    """Tell whether a large field of a graph is a tensor or a Constant that is no indices."""
    if field != _NODE_FIELD:
        return field == _INITIALIZER_FIELD and not _is_integer(wire, message)
    node = node_fields(wire, message)
    parts = (part for each in node.attributes for part in wire.fields(each))
    tensors = [each for number, each in parts if number == 5 and isinstance(each, Span)]
    return node.operator == "Constant" and not any(_is_integer(wire, each) for each in tensors)


def _copied(wire: WireReader, message: Span, fields: Iterable[int]) -> Iterator[bytes]:
    """Yield the encoded fields of a message that have the numbers `fields`."""
    for field, value in wire.fields(message):
        if field in fields:
            yield encoded(field, wire.bytes(value) if isinstance(value, Span) else value)


# Constants that follow from constants: behind a cast, or of another shape

_UINT8: Final = dtype_named("uint8")

MOST_INTEGERS: Final = 1024  # the most elements of a constant that decides a shape
# The most nodes behind which a constant is followed: each takes a few calls to read.
MOST_FOLDS: Final = 64


def integers(value: Value | None) -> list[int] | None:
    """Return the few integers of a constant input; None if it is no such constant."""
    constant = value and value.constant
    if not constant or constant.unread or not constant.dtype.integral:
        return None
    return None if product(constant.shape) > MOST_INTEGERS else _numbers(constant)


@lru_cache(1)
def _numbers(constant: Constant) -> list[int]:
    """Return the elements of a constant, which nodes in a row may share."""
    numbers: list[int] = constant.read().values().reshape(-1).tolist()
    return numbers


def literal(numbers: float | list[int], dtype: DType) -> Constant:
    """Return the constant of a number, or of a list of them."""
    array = np.asarray(numbers, dtype.name)
    return Constant(dtype, array.shape, lambda: Tensor(dtype, array))


def converted(value: Value, name: str, dtype: DType | None) -> Value:
    """Return the value of a Cast or Convert.

    Integers that the new type cannot hold lose their upper bits, as in C.
    """
    result = Value(name, dtype, value.shape, inferred=value.inferred, source=value.source)
    constant = value.constant
    if constant is None or dtype is None or constant.depth >= MOST_FOLDS:
        return result
    if not {Kind.STRING, Kind.COMPLEX}.isdisjoint((dtype.kind, constant.dtype.kind)):
        return result

    def load() -> Tensor:
        tensor = constant.read()
        if tensor.dtype is dtype:
            return tensor
        values = tensor.values()
        if dtype.kind is Kind.BOOL:
            return Tensor(dtype, values != 0)
        if values.dtype.kind in "biu" and dtype.integral and not dtype.narrow:
            return Tensor(dtype, values.astype(dtype.name))
        if values.dtype.kind == "b":
            tensor = Tensor(_UINT8, values.astype(np.uint8))
        array, _ = cast_tensor(tensor, dtype, truncate=True)
        return Tensor(dtype, array)

    return _with_constant(result, constant, dtype, constant.shape, load)


def _with_constant(
    value: Value,
    source: Constant,
    dtype: DType,
    shape: tuple[int, ...],
    load: Callable[[], Tensor],
    *,
    mapped: bool = False,
) -> Value:
    """Return a value with the elements that `load` makes of another constant."""
    constant = Constant(
        dtype,
        shape,
        load,
        source.unread,
        mapped=mapped,
        depth=source.depth + 1,
        limit=source.limit,
        default=source.default,
    )
    return value._replace(constant=constant, unread=constant.unread)


def reshaped(value: Value, name: str, target: Sequence[int] | None, *, zero_copies: bool) -> Value:
    """Return the value of a Reshape to a shape: -1 is what is left; None if it is not constant.

    0 stands for the size of the same dimension of the input if `zero_copies`.
    """
    if target is None or len(target) > MAX_RANK:
        return Value(name, value.dtype)
    sizes = value.shape.sizes
    dims = list(target)
    if sizes is None or (zero_copies and any(not n for n in dims[len(sizes) :])):
        return Value(name, value.dtype, Shape(UNKNOWN if n <= 0 else n for n in dims))
    if zero_copies:
        dims = [n or sizes[at] for at, n in enumerate(dims)]
    rest = product([n for n in dims if n != -1])
    if -1 in dims and rest and dims.count(-1) == 1 and product(sizes) % rest == 0:
        dims[dims.index(-1)] = product(sizes) // rest
    if any(n < 0 for n in dims) or product(dims) != product(sizes):
        return Value(name, value.dtype)
    return _viewed(value, name, tuple(dims))


def unsqueezed(value: Value, name: str, axes: Sequence[int] | None) -> Value:
    """Return the value of an Unsqueeze: a dimension of 1 at each axis of the output."""
    rank = value.shape.rank
    if axes is None or rank is None:
        return Value(name, value.dtype)
    total = rank + len(axes)
    places = {axis + total if axis < 0 else axis for axis in axes}
    if len(places) != len(axes) or not places <= set(range(total)):
        return Value(name, value.dtype)
    dims = iter(value.shape)
    shape = Shape(1 if at in places else next(dims) for at in range(total))
    return _viewed(value, name, shape)


def squeezed(value: Value, name: str, axes: Sequence[int] | None) -> Value:
    """Return the value of a Squeeze: without the dimensions of 1 at the axes, or without any."""
    rank = value.shape.rank
    if rank is None or (not axes and value.shape.sizes is None):
        return Value(name, value.dtype)
    if axes:
        places = {axis + rank if axis < 0 else axis for axis in axes}
    else:
        places = {at for at, n in enumerate(value.shape) if n == 1}
    if not places <= set(range(rank)) or any(value.shape[at] != 1 for at in places):
        return Value(name, value.dtype)
    return _viewed(value, name, Shape(n for at, n in enumerate(value.shape) if at not in places))


def _viewed(value: Value, name: str, shape: Sequence[AnyDim]) -> Value:
    """Return a value with the same elements in another shape, unknown if of too large a rank."""
    if len(shape) > MAX_RANK:
        return Value(name, value.dtype)
    constant = value.constant
    result = Value(name, value.dtype, Shape(shape), inferred=True)
    sizes = result.shape.sizes
    if constant is None or sizes is None or constant.depth >= MOST_FOLDS:
        return result

    def load() -> Tensor:
        tensor = constant.read()
        return Tensor(tensor.dtype, tensor.array.reshape(sizes))

    mapped = constant.mapped
    return _with_constant(result, constant, constant.dtype, sizes, load, mapped=mapped)


# The operators that constants come from or pass through.
FOLDED_OPERATORS: Final = ("Constant", "Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze")
# The opset from which Unsqueeze and Squeeze have their axes as an input.
_AXES_INPUT_SINCE: Final = 13
# The attributes of a Constant that are numbers, and their types.
_NUMBER_ATTRIBUTES: Final[dict[str, tuple[type[Any], DType]]] = {
    "value_int": (int, INT64),
    "value_ints": (list, INT64),
    "value_float": (float, type_of(1)),
}


def folded(
    operator: str, name: str, inputs: list[Value], attributes: dict[str, Any], opset: int
) -> Value | None:
    """Return the output of a node of `FOLDED_OPERATORS`; None if nothing is known of it."""
    if operator == "Constant":
        if isinstance(value := attributes.get("value"), Value):
            return value._replace(name=name)
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
    """Return the numbers of a Constant; None if it has others."""
    for name, (kind, dtype) in _NUMBER_ATTRIBUTES.items():
        numbers = attributes.get(name)
        if isinstance(numbers, kind):
            return literal(numbers, dtype)
    return None


def unread_from(value: Value, inputs: Iterable[Value]) -> Value:
    """Return the output of a node that could be constant, but for `inputs` that are unread."""
    inputs = list(inputs)
    reasons = [each.unread for each in inputs if each.unread]
    decided = all(each.unread or each.constant for each in inputs)
    return value._replace(unread=reasons[0]) if reasons and decided else value
