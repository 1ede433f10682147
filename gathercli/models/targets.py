"""The targets of a conversion, and the operators they run in place of those of a model.

::

    target("tflite")  ->  ConversionTarget  ->  Op    whose rules and policies say what changes

A target is a framework, a version of one that counts those (``coreml-ios16``), or an opset
(``onnx-17``). Its operators are the rows in `gathercli.frameworks`, which say all of it: nothing
here asks a target by name. `steps_of` converts the layers of OpenVINO that lead to indices to ONNX.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from math import ceil, floor
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gathercli.compute.storage import AnyArray
from gathercli.errors import OperatorError, UsageError, VersionError
from gathercli.frameworks import FrameworkFile, every_framework
from gathercli.frameworks.versions import find
from gathercli.io.graphs.tensorproto import ONNX_TYPES
from gathercli.models.facts import MOST_INTEGERS
from gathercli.models.graph import Model, ModelNode, fits
from gathercli.models.layers import Layer, type_of
from gathercli.models.verdict import NOTE, Finding
from gathercli.ops import FAMILIES, bind
from gathercli.spec.adapt import narrowed
from gathercli.spec.call import Call
from gathercli.spec.dtypes import INT64, DType
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.op import FRAMEWORKS, Adaptation, IndexedAxis, Op
from gathercli.spec.shapes import LARGEST
from gathercli.text import closest, counted, listed


class ConversionTarget(NamedTuple):
    """What a model is converted to."""

    name: str  # the value of `--to`
    rows: Sequence[Op]  # the first of a family stands for those of other frameworks
    sources: Sequence[str] = ()  # from where more is known than each row says

    def row(self, op: Op, call: Call | None = None) -> Op | None:
        """Return the row that runs in place of a version; None if there is no such operator.

        Of several of one name it is the first that takes the call, else the last.
        """
        own = [each for each in self.rows if each.family == op.family]
        if not own:
            return None
        name = min(own, key=lambda each: each.full_name != op.full_name).full_name
        *others, last = (each for each in own if each.full_name == name)
        return next((each for each in others if call is not None and _takes(each, call)), last)

    def named(self, row: Op) -> str:
        """Return the name of a row in findings; that of the target if the row is a version."""
        return self.name if row.version else row.full_name


def _takes(row: Op, call: Call) -> bool:
    try:
        bind(row, *call.inputs.values(), shapes_only=True, **call.attrs)
    except OperatorError:
        return False
    return True


def _of_framework(each: FrameworkFile) -> list[ConversionTarget]:
    """Return the targets of a framework: one for each number, or itself if it counts none."""
    numbers, targets = dict.fromkeys(row.op.id for row in each.rows if row.op.version), []
    for name in numbers or [each.name]:
        rows = (
            row for row in each.target if row not in each.rows or row.op.id in (name, f"{row.op}")
        )
        targets.append(ConversionTarget(name, [row.op for row in rows], each.sources))
    return targets


@cache
def _named_targets() -> dict[str, ConversionTarget]:
    """Return the targets by all their names, but for opsets: first those that have versions.

    The short names of a framework, and its own, are those of its first target.
    """
    targets: dict[str, ConversionTarget] = {}
    for each in sorted(every_framework(), key=lambda each: each.name not in FRAMEWORKS):
        if each.target:
            own = _of_framework(each)
            targets |= {one.name: one for one in own}
            targets |= dict.fromkeys((each.name, *each.short), own[0])
    return targets


def _opset(framework: str, opset: int) -> ConversionTarget:
    name, rows = f"{framework}-{opset}", []
    for command in FAMILIES:
        with suppress(VersionError):  # an opset before the operator
            rows.append(find(name, command).op)
    return ConversionTarget(name, rows)


@cache
def _counted() -> tuple[str, ...]:
    """Return the frameworks whose opsets are targets: those without a target of their own."""
    return tuple(name for name in FRAMEWORKS if name not in _named_targets())


def target_names() -> tuple[str, ...]:
    """Return the values of `--to`."""
    first, *others = dict.fromkeys(each.name for each in _named_targets().values())
    return first, *(f"{name}-OPSET" for name in _counted()), *others


def target(word: str) -> ConversionTarget:
    """Return a target, such as ``tflite``, ``onnx-17``, or ``onnx`` for its newest opset.

    Raise `UsageError` if there is none.

    >>> target("onnx-12").rows[0], target("xla").rows[0].out_of_range.done
    (<onnx.Gather-11>, 'clamped')
    >>> target("coreml").name
    'coreml-ios17'
    """
    name = word.strip().lower()
    if name in _named_targets():
        return _named_targets()[name]
    match = re.fullmatch(rf"({'|'.join(_counted())})(?:-(\d{{1,3}}))?", name, re.ASCII)
    if match:
        newest = FRAMEWORKS[match[1]].newest_opset
        if 0 < (opset := int(match[2] or newest)) <= newest:
            return _opset(match[1], opset)
        expected = f"{match[1]}-1 to {match[1]}-{newest}"
        raise UsageError(f"no target `{name}`", value=word, expected=expected)
    near = closest(name, [*_named_targets(), *_counted()])
    what = f"no target `{word.strip()[:40]}`"
    hint = f"did you mean `{near}`?" if near and near != name else None
    raise UsageError(what, value=word, expected=listed(target_names()), hint=hint)


def every_target() -> list[ConversionTarget]:
    """Return all targets, of opsets the newest, for tables."""
    first, *others = {id(each): each for each in _named_targets().values()}.values()
    return [first, *map(target, _counted()), *others]


# What a row says of a call


def limits(moved: Call, row: Op, name: str) -> Iterator[Finding]:
    """Yield batch dimensions and ranks beyond those of the row of a target."""
    most, batch_dims = row.most_batch_dims, moved.batch_dims
    if most is not None and batch_dims is not None and batch_dims > most:
        message = f"`batch_dims` is {batch_dims}: {name} has {most} at most"
        yield Finding("batch-dims-most", message, value=batch_dims)
    shapes = {each: operand.shape for each, operand in moved.inputs.items()}
    most_of = {
        "data": row.most_rank,
        "indices": row.most_index_rank,
        "output": row.most_tensor_rank,
    }
    for each, shape in (shapes | {"output": moved.shape}).items():
        most = most_of.get(each)
        if most is not None and (shape.rank or 0) > most:
            message = f"`{each}` has rank {shape.rank}: {name} has {most} at most"
            yield Finding("rank-most", message, value=shape.rank)


def index_bounds(row: Op, dtype: DType | None) -> tuple[int, int]:
    """Return the least and the largest index of a type that a row reads."""
    how = row.adapts or Adaptation()
    return (narrowed(dtype, how, how.index_bits) or INT64).bounds


def bits(array: AnyArray, axes: Sequence[IndexedAxis], row: Op, name: str) -> Iterator[Finding]:
    """Yield a legal index that does not fit in the bits of indices of a row."""
    least, most = int(array.min()), int(array.max())
    low, high = index_bounds(row, dtype_named(array.dtype.name))
    fits = low <= least and most <= high
    if not fits and max(most, -least - 1) < max(along.size for along in axes):
        value, bits = most if most > high else least, high.bit_length() + (low < 0)
        message = f"index {value} does not fit in the {bits} bits of indices in {name}"
        yield Finding("index-width", message, value=value)


def narrowed_types(model: Model, target: ConversionTarget) -> Iterator[Finding]:
    """Yield the types of data that a target computes in others, one note for all of their nodes."""
    types: dict[tuple[DType, DType], list[ModelNode]] = {}
    for node in model.nodes:
        row = target.row(node.op, node.call) if node.op is not None else None
        wide = node.inputs[0].dtype if node.inputs else None
        if row is None or row.adapts is None or wide is None or row.framework == node.framework:
            continue  # what the model is computed as already is no change
        if (other := row.adapts.narrow.get(wide)) and not fits(node, other):
            types.setdefault((wide, other), []).append(node)
    for (wide, other), nodes in types.items():
        others = f" of this and {counted(len(nodes) - 1, 'more node')}" if len(nodes) > 1 else ""
        message = f"`data`{others} is {wide}, which {target.name} computes as {other}"
        finding = Finding("data-width", message, NOTE, value=wide.name)
        names = tuple(each.name for each in nodes)
        yield finding.on(nodes[0])._replace(target=target.name, nodes=names)


def across_targets(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings, those on indices that several targets read differently as one."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for n, each in enumerate(findings):
        same = (each.where, each.value, each.expected, each.number)
        groups.setdefault(
            (each.node, each.rule, *(same if each.rule == "index-legal" else (n,))), []
        ).append(each)
    for first, *others in groups.values():
        yield first._replace(
            target=listed([first.target, *(each.target for each in others)], "and"),
            does={name: fate for each in (first, *others) for name, fate in each.does.items()},
        )


# What the layers of OpenVINO that lead to indices are in ONNX, of integers of 64 bits

_Numbers: TypeAlias = "Sequence[Any]"  # the integers of constant inputs in lists, None for others


class IrStep(NamedTuple):
    """A node of ONNX that does a layer, or a part of one."""

    operator: str
    attributes: Mapping[str, Any] = {}
    # Those of the layer, by number; -1 is the first step, -2 the second; None is not known.
    inputs: Sequence[int | None] = ()
    literals: Sequence[Any] = ()  # more inputs: integers, or nested lists of them


def steps_of(layer: Layer, numbers: _Numbers) -> list[IrStep]:
    """Return what does the same as a layer; none if ONNX has nothing, or it is not known."""
    try:
        found = LAYER_STEPS[layer.type](layer, numbers)
        steps = found if isinstance(found, list) else [found] if found else []
        literals = [[np.asarray(each, np.int64) for each in step.literals] for step in steps]
    # An attribute that is no number, a missing input, an axis outside, an input at run time.
    except (ValueError, LookupError, OverflowError, TypeError):
        return []
    read = {number for step in steps for number in step.inputs if number is not None}
    if not steps or max(read, default=0) >= len(layer.inputs):
        return []
    steps = [each._replace(literals=own) for each, own in zip(steps, literals, strict=True)]
    return steps + (_limited(layer.dtype, -len(steps)) if layer.type in _WIDENING else [])


def _limited(dtype: DType | None, number: int) -> list[IrStep]:
    """Return integers that a type may not hold: they lose upper bits, or are its nearest."""
    if dtype is None or dtype is INT64 or not (cast := _cast(dtype, number)):
        return []
    nearest = IrStep("Clip", {}, (number,), [np.asarray(each) for each in dtype.bounds])
    return [*cast, nearest, IrStep("Where", {}, (None, number - 2, number - 3))]


def _cast(dtype: DType | None, number: int) -> list[IrStep]:
    """Return integers of 64 bits that were of a type between; none for other types."""
    if dtype is None or dtype not in ONNX_TYPES or not dtype.integral:
        return []
    to = [{"to": ONNX_TYPES.index(each)} for each in (dtype, INT64)]
    return [IrStep("Cast", to[0], (number,)), IrStep("Cast", to[1], (min(number, 0) - 1,))]


def _all(operator: str, layer: Layer, attributes: Mapping[str, Any] = {}) -> IrStep:
    return IrStep(operator, attributes, range(len(layer.inputs)))


def _numpy(operator: str, layer: Layer, attributes: Mapping[str, Any] = {}) -> IrStep | None:
    """Return a layer whose inputs are broadcast as by NumPy."""
    is_plain = layer.data.get("auto_broadcast", "numpy") == "numpy"
    return _all(operator, layer, attributes) if is_plain else None


def _divided(layer: Layer, numbers: _Numbers) -> list[IrStep] | None:
    """Return a Divide, which rounds down or towards 0; that of other types may do neither."""
    whole, name = _numpy("Div", layer), layer.dtype.name if layer.dtype else ""
    if whole is None or name not in ("int32", "int64") or 0 in (numbers[1] or ()):
        return None
    if not layer.flag("m_pythondiv", default="true"):
        return [whole]
    exact = IrStep("Sub", {}, (0, -1))  # what the divisor divides
    return [IrStep("Mod", {}, (0, 1)), exact, IrStep("Div", {}, (-2, 1))]


def _split(layer: Layer, numbers: _Numbers) -> IrStep:
    axis = numbers[1][0]
    if layer.type == "Split":
        return IrStep("Split", {"axis": axis, "num_outputs": len(layer.outputs)}, (0,))
    lengths = list(numbers[2])
    if -1 in lengths:  # which is what the others leave
        lengths[lengths.index(-1)] = layer.inputs[0].sizes[axis] - sum(lengths) - 1
    return IrStep("Split", {"axis": axis}, (0,), (lengths,))


def _top(layer: Layer, numbers: _Numbers) -> IrStep:
    largest = int(layer.data.get("mode", "max") == "max")
    attributes = {"axis": int(layer.data.get("axis", "-1")), "largest": largest}
    return IrStep("TopK", attributes, (0,), (list(numbers[1]),))


def _clamped(layer: Layer, _: _Numbers) -> IrStep:
    ends = ceil(float(layer.data["min"])), floor(float(layer.data["max"]))
    return IrStep("Clip", {}, (0,), [min(max(each, -LARGEST), LARGEST) for each in ends])


def _strided(layer: Layer, numbers: _Numbers) -> IrStep | None:
    """Return a StridedSlice as a Slice, or as the one element that it takes of a list."""
    begin, end, steps = [*numbers[1:], None][:3]
    masks = {name: layer.mask(name) for name in ("begin", "end", "new_axis", "ellipsis")}
    steps = steps or [1] * len(begin)
    if any(masks["new_axis"] + masks["ellipsis"]) or _starts_before(begin, steps):
        return None
    if any(layer.mask("shrink_axis")):
        is_list = len(begin) == 1 and layer.inputs[0].dims[1:] == [] != layer.inputs[0].dims
        return IrStep("Gather", {"axis": 0}, (0,), (begin,)) if is_list else None
    for ends, name, first in ((begin, "begin", True), (end, "end", False)):
        for at, masked in enumerate(masks[name][: len(ends)]):
            if masked:  # the end is ignored
                ends[at] = 0 if first == (steps[at] > 0) else LARGEST
                ends[at] = -LARGEST if not first and steps[at] < 0 else ends[at]
    return IrStep("Slice", {}, (0,), (begin, end, list(range(len(begin))), steps))


def _starts_before(begin: Sequence[int] | None, steps: Sequence[int] | None) -> bool:
    """Tell whether a slice may go down from before its axis, which NumPy takes for empty."""
    return min(steps or [1]) < 0 and min(begin or [0]) < -1


def _gathered(layer: Layer, numbers: _Numbers) -> list[IrStep] | None:
    """Return a Gather, which gives 0 for an index outside since version 8, before it anything."""
    sizes, axis, wraps = layer.inputs[0].sizes, numbers[2][0], (layer.opset or 0) >= 8
    if int(layer.data.get("batch_dims", "0")) != 0:
        return None
    after, last = len(sizes) - 1 - axis % len(sizes), sizes[axis] - 1
    if last < 0:  # it is not known which are outside
        return [IrStep("Gather", {"axis": axis}, (0, 1)), IrStep("Where", {}, (None, -1), (0,))]
    return [
        IrStep("Clip", {}, (1,), (~last if wraps else 0, last)),
        IrStep("Gather", {"axis": axis}, (0, -1)),
        IrStep("Equal", {}, (1, -1)),
        IrStep("Unsqueeze", {}, (-3,), (list(range(-after, 0)),)),
        IrStep("Where", {}, (None,), (0, 0) if wraps else (-LARGEST, LARGEST)),
        IrStep("Where", {}, (-4, -2, -5)),
    ]


def _moved(
    layer: Layer, places: Callable[[NDArray[Any], int], NDArray[Any]]
) -> list[IrStep] | None:
    sizes = layer.inputs[0].sizes
    if not sizes or min(sizes) < 0 or max(sizes) > MOST_INTEGERS:
        return None
    moved = {axis: places(np.arange(size), axis) for axis, size in enumerate(sizes)}
    return [IrStep("Gather", {"axis": axis}, (-axis,), (rows,)) for axis, rows in moved.items()]


def _padded(layer: Layer, numbers: _Numbers) -> list[IrStep] | None:
    """Return a Pad; negative numbers take rows away."""
    begin, end, value = [*numbers[1:], [0]][:3]
    mode: Any = layer.data["pad_mode"]
    pads = [max(each, 0) for each in begin + end]
    starts = [max(-each, 0) for each in begin]
    ends = [each if each < 0 else LARGEST for each in end]
    if mode == "constant":
        rest = IrStep("Slice", {}, (-1,), (starts, ends, list(range(len(begin)))))
        return [IrStep("Pad", {}, (0,), (pads, value[0])), rest]
    if mode not in ("edge", "reflect", "symmetric"):
        return None
    widths = [*zip(pads, pads[len(begin) :], strict=False)]
    return _moved(layer, lambda rows, at: np.pad(rows, widths[at], mode)[starts[at] : ends[at]])


def _rolled(layer: Layer, numbers: _Numbers) -> list[IrStep] | None:
    shifts = np.zeros(len(layer.inputs[0].dims), np.int64)
    np.add.at(shifts, list(numbers[2]), list(numbers[1]))  # an axis may be named twice
    return _moved(layer, lambda rows, axis: np.roll(rows, shifts[axis]))


def _one_hot(layer: Layer, numbers: _Numbers) -> list[IrStep] | None:
    """Return a OneHot as a comparison: ONNX counts negative indices from the end."""
    depth, axis, rank = numbers[1][0], int(layer.data["axis"]), len(layer.inputs[0].dims)
    ignores = layer.data.get("negative_indices_mode", "ignore_negative") == "ignore_negative"
    is_ranked = rank or axis < 0 or numbers[0] is not None  # else it may be unknown
    if not ignores or not is_ranked or depth > MOST_INTEGERS:
        return None
    each = np.arange(depth).reshape(-1, *[1] * (rank - axis if axis >= 0 else -1 - axis))
    equal = IrStep("Equal", {}, (-1,), (each,))
    return [IrStep("Unsqueeze", {}, (0,), ([axis],)), equal, IrStep("Where", {}, (-2, 2, 3))]


def _scattered(layer: Layer, numbers: _Numbers) -> list[IrStep] | None:
    """Return an update of elements of which no two are in one place, and none is combined."""
    indices, sizes = numbers[1], layer.inputs[1].sizes
    if layer.data.get("reduction", "none") != "none" or min(indices) < 0:
        return None
    places = np.asarray(indices).reshape(sizes)
    steps = [IrStep("ScatterND", {}, (0, 1, 2))]
    if layer.type == "ScatterUpdate":
        if numbers[3] != [0]:
            return None
        places = places[..., np.newaxis]
        steps = [IrStep("Unsqueeze", {}, (1,), ([-1],)), IrStep("ScatterND", {}, (0, -1, 2))]
    elif layer.type == "ScatterElementsUpdate":
        steps = [IrStep("ScatterElements", {"axis": numbers[3][0]}, (0, 1, 2))]
        every = np.indices(sizes)
        every[numbers[3][0]] = places
        places = np.moveaxis(every, 0, -1)
    rows = places.reshape(-1, places.shape[-1])
    return steps if len(np.unique(rows, axis=0)) == len(rows) else None


_SAME_NAMES: Final = (
    {"Subtract": "Sub", "Multiply": "Mul", "Minimum": "Min", "Maximum": "Max"}
    | {"FloorMod": "Mod", "Select": "Where", "Negative": "Neg", "ShapeOf": "Shape"}
    | {"LessEqual": "LessOrEqual", "GreaterEqual": "GreaterOrEqual", "LogicalNot": "Not"}
    | {"LogicalAnd": "And", "LogicalOr": "Or", "LogicalXor": "Xor"}
    | {name: name for name in ("Add", "Abs", "NonZero", "Range", "Tile", "Squeeze", "Unsqueeze")}
    | {name: name for name in ("Less", "Greater", "Equal")}
)
# What may give integers that their type does not hold.
_WIDENING: Final = (
    *("Add", "Subtract", "Multiply", "Negative", "Abs"),
    *("CumSum", "ReduceSum", "ReduceProd"),
)
_BROADCAST_MODES: Final = (None, "numpy", "bidirectional")
LAYER_STEPS: Final[dict[str, Callable[[Layer, _Numbers], list[IrStep] | IrStep | None]]] = {
    **dict.fromkeys(_SAME_NAMES, lambda layer, _: _numpy(_SAME_NAMES[layer.type], layer)),
    "Mod": lambda layer, _: _numpy("Mod", layer, {"fmod": 1}),
    "Divide": _divided,
    "Clamp": _clamped,
    "Slice": lambda _, numbers: (
        None if _starts_before(numbers[1], numbers[3]) else IrStep("Slice", {}, (0, 1, 2, 4, 3))
    ),
    "Concat": lambda layer, _: _all("Concat", layer, {"axis": int(layer.data["axis"])}),
    "Reshape": lambda layer, _: _all(
        "Reshape", layer, {"allowzero": 1 - layer.flag("special_zero")}
    ),
    "CumSum": lambda layer, _: _all(
        "CumSum", layer, {name: layer.flag(name) for name in ("exclusive", "reverse")}
    ),
    "Convert": lambda layer, _: _cast(type_of(layer.data["destination_type"]), 0),
    "StridedSlice": _strided,
    "Broadcast": lambda layer, _: (
        IrStep("Expand", {}, (0, 1)) if layer.data.get("mode") in _BROADCAST_MODES else None
    ),
    "Transpose": lambda _, numbers: (
        IrStep("Transpose", {"perm": numbers[1]}, (0,)) if numbers[1] else None
    ),
    **dict.fromkeys(("Split", "VariadicSplit"), _split),
    "TopK": _top,
    "Gather": _gathered,
    "Pad": _padded,
    "Roll": _rolled,
    "OneHot": _one_hot,
    "Reverse": lambda layer, numbers: _moved(
        layer, lambda rows, axis: rows[::-1] if axis in numbers[1] else rows
    ),
    "ReverseSequence": lambda layer, _: IrStep(
        "ReverseSequence",
        {"batch_axis": int(layer.data["batch_axis"]), "time_axis": int(layer.data["seq_axis"])},
        (0, 1),
    ),
    **dict.fromkeys(("ScatterUpdate", "ScatterElementsUpdate", "ScatterNDUpdate"), _scattered),
    **dict.fromkeys(
        ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"),
        lambda layer, _: _all(layer.type, layer, {"keepdims": layer.flag("keep_dims")}),
    ),
}
