"""Hypotheses about the call and its data.

Another operator, axis or batch_dims is called, or a part of the call is left out; elements of
`data` lie elsewhere, or something became of their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import permutations
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.compute.storage import AnyArray
from gathercli.errors import OperatorError
from gathercli.ops import FAMILIES, gather, gather_elements, gather_nd
from gathercli.spec.call import Call, Operand
from gathercli.spec.dtypes import BFLOAT16, DType, Kind
from gathercli.spec.op import Op
from gathercli.spec.shapes import Shape, cell, product
from gathercli.text import counted, table_beside

# The row of each operator that refuses the fewest shapes.
_ROWS: Final = {
    row.family: row for row in (gather.OPENVINO_8, gather_elements.ONNX_13, gather_nd.OPENVINO_8)
}

_TABLE: Final = table_beside(__name__)
_TREE_SENTENCES: Final[dict[str, str]] = _TABLE["trees"]


class Frame(NamedTuple):
    """A hypothesis about the call; the call itself has no name."""

    name: str
    sentence: str  # what is called in place of the call
    departures: int  # the number of its differences from the call
    row: Op  # that is called
    attrs: dict[str, Any]
    flat: bool = False  # whether `data` is read as one dimension
    ignores: str = ""  # what GatherTree ignores or mistakes: a key of `_TREE_SENTENCES`

    def call(self, inputs: dict[str, tuple[int, ...]]) -> Call | None:
        """Bind the call to inputs of these shapes; None if the row refuses them."""
        shapes = list(inputs.values())
        if self.flat:
            shapes[0] = (product(shapes[0]),)
        operands = [Operand(Shape(shape)) for shape in shapes]
        policies = {"out_of_range": "zero"} if self.row.followed is not None else {}
        with suppress(OperatorError):
            return ops.bind(self.row, *operands, shapes_only=True, **policies, **self.attrs)
        return None


def frames(call: Call | None, row: Op, attrs: dict[str, Any]) -> Iterator[Frame]:
    """Yield the call itself, unless the version refuses it, and calls that ignore a part of it."""
    if call is not None:
        yield Frame("", "", 0, row, attrs)
    if row.followed is not None:
        for ignores, sentence in _TREE_SENTENCES.items():
            yield Frame(f"{ignores} ignored", sentence, 1, row, {}, ignores=ignores)


def other_frames(call: Call | None, row: Op, data: tuple[int, ...], rank: int) -> Iterator[Frame]:
    """Yield the calls that differ from one on data of a shape and indices of a rank."""
    if row.followed is not None:
        return
    axis = None if call is None else call.axis
    b = 0 if call is None or call.batch_dims is None else call.batch_dims
    for family, other in _ROWS.items():
        axes = range(len(data)) if other.attr("axis") else [None]
        batches = range(min(len(data), rank) + 1) if other.attr("batch_dims") else [None]
        for each in axes:
            for batch in batches:
                changes = _changes(row, family, (axis, each), (b, batch))
                if not changes and call is not None:
                    continue
                settings = {"axis": each, "batch_dims": batch}
                settings = {name: value for name, value in settings.items() if value is not None}
                text = "  ".join(f"{name} {value}" for name, value in settings.items())
                name = f"{FAMILIES[family].ROWS[0].name} {text}".strip()
                yield Frame(name, f"the call is {name}", max(1, len(changes)), other, settings)
    words = "data is flattened, and gathered along its only axis"
    yield Frame("flattened", words, 1, gather.OPENVINO_8, {"axis": 0}, flat=True)


def _changes(row: Op, family: str, axes: tuple[Any, Any], batches: tuple[Any, Any]) -> list[str]:
    """Return the names of what differs; an attribute that either call lacks does not."""
    changes = ["operator"] if family != row.family else []
    if None not in axes and axes[0] != axes[1]:
        changes.append("axis")
    if (batches[1] is not None or family == row.family) and batches[0] != (batches[1] or 0):
        changes.append("batch_dims")
    return changes


class DataLayout(NamedTuple):
    """A hypothesis about the places of elements."""

    name: str
    sentence: str  # how `data` is read
    # from flat positions to those that are read instead, which may be outside
    moved: Callable[[AnyArray], AnyArray]
    axes: tuple[int, ...] | None = None  # of `data` as the call sees them; None for their own order
    alone: bool = True  # whether it is tried with no other mistake
    zeros: bool = False  # whether there are zeros outside of `data`

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that the call sees."""
        return shape if self.axes is None else tuple(shape[axis] for axis in self.axes)


IN_PLACE: Final = DataLayout("", "", lambda at: at, alone=False)


def permuted(right: Sequence[int], axes: Sequence[int]) -> Callable[[AnyArray], AnyArray]:
    """Return a function of flat positions in ``transpose(right, axes)`` to those in it."""
    shape, back = [right[axis] for axis in axes], np.argsort(axes)

    def positions(flat: AnyArray) -> AnyArray:
        at = np.unravel_index(flat, shape)
        position: AnyArray = np.ravel_multi_index([at[axis] for axis in back], right)
        return position.astype(np.int64)

    return positions


def layouts(shape: tuple[int, ...]) -> Iterator[DataLayout]:
    """Yield the layouts of `data` of a shape."""
    rank = len(shape)
    back = tuple(reversed(range(rank)))
    orders = permutations(range(rank)) if rank <= MAX_PERMUTED_RANK else iter([back])
    for axes in orders:
        moved = [axis for axis, own in enumerate(axes) if axis != own]
        if not moved:
            continue
        order, read = cell(axes), permuted(shape, axes)
        swaps = f"axes {moved[0]} and {moved[1]} swapped" if len(moved) == 2 else ""
        seen, words = f"transposed to axes {order}", f"data is transposed to axes {order}"
        stored = f"data is stored in the order of axes {order}, and read in its own"
        if axes == back:
            seen, words, stored = "transposed", "data is transposed", _FORTRAN
        elif swaps:
            seen, words = swaps, swaps.replace(" swapped", " of data are swapped")
        alone = axes != back and not swaps and axes not in CHANNELS
        yield DataLayout(seen, words, read, axes, alone=alone)
        name = "Fortran order" if axes == back else f"stored in the order {order}"
        yield DataLayout(name, stored, read, alone=alone)
    yield from _moved_layouts(shape)
    for axis in range(1, rank):
        first = partial(lambda at, size: at % size, size=max(1, product(shape[axis:])))
        words = f"data is that of the first row along axis {axis - 1} for all of them"
        yield DataLayout(f"first row along axis {axis - 1}", words, moved=first, alone=False)
    for axis, size in enumerate(shape):
        flip = partial(_flipped, inner=product(shape[axis + 1 :]), size=size)
        words = f"axis {axis} of data is read back to front"
        yield DataLayout(f"axis {axis} back to front", words, moved=flip, alone=False)
        yield from _slices(shape, axis)


def _moved_layouts(shape: tuple[int, ...]) -> Iterator[DataLayout]:
    """Yield layouts whose elements, or rows, begin elsewhere."""
    rank, width = len(shape), shape[-1] if shape else 1
    inner = {product(shape[axis:]) for axis in range(1, rank)}
    moves: list[tuple[str, str, Callable[[AnyArray], AnyArray]]] = []
    for n in sorted({1, 2, 3, 4, 8, 16, *inner, *(2 * each for each in inner)}):
        count = counted(n, "element")
        moves.append((f"moved by {n}", f"data is read {count} further on", partial(np.add, n)))
        before = f"data is read {count} before its start"
        moves.append((f"moved by {-n}", before, partial(np.add, -n)))
    for pitch in sorted({2 * width, *pitches(width)}):
        words = f"rows of {counted(width, 'element')} are read as if they were {pitch} apart"
        moves.append((f"pitch {pitch}", words, partial(_apart, width=width, pitch=pitch)))
    for name, words, move in moves:
        yield DataLayout(name, words, moved=move, alone=False)
        alone, beyond = name.startswith("moved"), f"{words}; outside are zeros"
        yield DataLayout(f"{name}, zeros", beyond, moved=move, alone=alone, zeros=True)


def _slices(shape: tuple[int, ...], axis: int) -> Iterator[DataLayout]:
    """Yield layouts of data that are a part along an axis of what is stored."""
    size = shape[axis]
    below, as_whole = product(shape[axis + 1 :]), "is read as if it were all of it"
    for stored in sorted({*range(size + 1, size + 5), 2 * size} - {size}) if axis else ():
        words = f"data is {size} of {stored} stored rows along axis {axis}, and {as_whole}"
        cut = partial(_sliced, inner=below, size=size, stored=stored)
        yield DataLayout(f"{size} of {stored} along axis {axis}", words, moved=cut)
    words = f"data is one of two stored rows along axis {axis}, and {as_whole}"
    cut = partial(_sliced, inner=below, size=1, stored=2)
    yield DataLayout(f"every second along axis {axis}", words, moved=cut)


def _sliced(at: AnyArray, inner: int, size: int, stored: int) -> AnyArray:
    """Return positions in the first of rows that are stored; before `data` for those of others."""
    outer, rest = np.divmod(at, stored * inner)
    return np.where(rest < size * inner, outer * size * inner + rest, -1)


def _flipped(at: AnyArray, inner: int, size: int) -> AnyArray:
    along = at // inner % size
    moved: AnyArray = at + (size - 1 - 2 * along) * inner
    return moved


def _apart(at: AnyArray, width: int, pitch: int) -> AnyArray:
    row, column = np.divmod(at, max(width, 1))
    moved: AnyArray = row * pitch + column
    return moved


def pitches(width: int) -> set[int]:
    """Return how far rows may be apart: one more or less, or up to a multiple of 4, 8 or 16."""
    return {max(1, width - 1), width + 1, *(-(-width // n) * n for n in (4, 8, 16))} - {width}


CHANNELS: Final = {(0, 2, 3, 1), (0, 3, 1, 2)}  # NHWC and NCHW, one from the other
MAX_PERMUTED_RANK: Final = 4  # the largest rank of data of which every order of axes is tried
_FORTRAN: Final = "data in Fortran order is read row-major"


class Reading(NamedTuple):
    """A hypothesis about the values of elements."""

    name: str
    sentence: str  # what became of the values
    function: Callable[[AnyArray], AnyArray]  # from values, as from `Tensor.values`, to other ones
    narrow: str = ""  # the type that a conversion target computes in, if it is one that does so
    near: float = 0.0  # the relative tolerance of elements that are taken for equal
    rare: bool = False  # whether it ranks behind others that explain as much


def _made(name: str, function: Callable[[AnyArray], AnyArray], narrow: str = "") -> Reading:
    """Return the reading that makes elements what its name says."""
    return Reading(name, f"elements are {name}", function, narrow=narrow)


def _worded(name: str, function: Callable[[AnyArray], AnyArray]) -> Reading:
    return Reading(name, _TABLE["readings"][name], function)


def _cast(dtype: str) -> Callable[[AnyArray], AnyArray]:
    def cast(values: AnyArray) -> AnyArray:
        with np.errstate(all="ignore"):
            return values.astype(dtype)

    return cast


def _float32_within(values: AnyArray) -> AnyArray:
    most = float(np.finfo(np.float32).max)
    return np.where(np.isinf(values), values, np.clip(values, -most, most)).astype(np.float32)


def _saturated(dtype: str) -> Callable[[AnyArray], AnyArray]:
    ends = np.iinfo(dtype)
    return lambda values: np.clip(values, ends.min, ends.max)


def _float_bits(values: AnyArray) -> AnyArray:
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(values, np.float32).view(np.uint32)


def then(one: Reading, other: Reading) -> Reading:
    """Return what does both, the second to what the first made."""
    names, sentences = f"{one.name}; {other.name}", f"{one.sentence}; {other.sentence}"
    near = max(one.near, other.near)
    return Reading(names, sentences, lambda v: other.function(one.function(v)), near=near)


def bfloat16(values: AnyArray) -> AnyArray:
    """Round to the nearest bfloat16, ties to even; the result is float32."""
    bits = _float_bits(values)
    near = bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))
    rounded = np.where(np.isnan(bits.view(np.float32)), bits, near) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def _normal(values: AnyArray) -> AnyArray:
    floats = values if values.dtype.kind == "f" else values.astype(np.float64)
    return np.where(np.abs(floats) < np.finfo(floats.dtype).tiny, 0, values)


def _bits_as(name: str) -> Callable[[AnyArray], AnyArray]:
    """Return a function of integers to the bits of their values as floats of a type."""
    return lambda v: v.astype(name).view(f"i{np.dtype(name).itemsize}")


def _stored(dtype: DType) -> Callable[[AnyArray], AnyArray]:
    if dtype is BFLOAT16:
        return lambda values: (_float_bits(values) >> 16).astype(np.uint16)
    return lambda values: np.ascontiguousarray(values, dtype.name)


def _as_bits(dtype: DType, name: str, *, swaps: bool = False) -> Callable[[AnyArray], AnyArray]:
    """Return a function that reads the bits of elements as another type of their size."""
    stored = _stored(dtype)

    def read(values: AnyArray) -> AnyArray:
        elements = stored(values).byteswap() if swaps else stored(values)
        if name == "bfloat16":  # as float32
            return (elements.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return elements.view(name)

    return read


AS_STORED: Final = Reading("", "", lambda values: values)

_NUMBERS: Final = Kind.INT, Kind.UINT, Kind.FLOAT


def readings(dtype: DType) -> Iterator[Reading]:
    """Yield the readings of elements of a type."""
    if dtype.kind is Kind.COMPLEX:
        yield _worded("real part", np.real)
    if dtype.kind not in _NUMBERS or dtype.narrow:
        return
    if dtype.integral:
        yield from _cuts(dtype)
    yield from _roundings(dtype)
    for name in _SAME_SIZE.get(dtype.bits, ()):
        if name != dtype.name:
            words = f"the bits of elements are read as {name}"
            yield Reading(f"bits read as {name}", words, _as_bits(dtype, name))
    if dtype.bits > 8:
        yield _worded("bytes swapped", _as_bits(dtype, dtype.name, swaps=True))
    yield _worded("truth", lambda v: (v != 0).astype(v.dtype))
    if dtype.kind is not Kind.UINT:
        yield _worded("no negatives", lambda v: np.maximum(v, 0))
        yield _worded("made positive", np.abs)
        yield _worded("negated", np.negative)


def fitted_readings(right: AnyArray, held: AnyArray, most: float, near: float) -> Iterator[Reading]:
    """Yield what made elements others by one number, and steps of 8 bits up to a largest element.

    `right` are elements as they should be, `held` what cells have in their place, and `near` is the
    rounding of their types.
    """
    if right.dtype.kind not in "iuf" or held.dtype.kind not in "iuf":
        return
    finite = np.isfinite(right) & np.isfinite(held)
    with np.errstate(all="ignore"):
        one, other = right[finite].astype(np.float64), held[finite].astype(np.float64)
    if one.size < 2:
        return
    far = max(FAR, 4 * near) if held.dtype.kind == "f" else near
    with np.errstate(all="ignore"):
        ratios, added = (other / one)[one != 0], np.median(other - one)
        factors = {2.0, float(np.abs(other).sum() / np.abs(one).sum())}  # in whatever order
        factors |= {float(np.median(ratios))} if ratios.size else set()
        tried: list[float] = []
    for factor in sorted(factors, key=lambda each: abs(each - 2)):
        is_new = not any(abs(factor - each) < FAR * abs(each) for each in tried)
        if np.isfinite(factor) and factor and abs(factor - 1) > far and is_new:
            tried.append(factor)
            words = f"elements are multiplied by {factor:.9g}"
            name = f"scaled by {factor:.9g}"
            yield Reading(name, words, partial(np.multiply, factor), near=near)
    if abs(added) > far * np.median(np.abs(one)):
        words = f"{added:.9g} is added to elements"
        yield Reading(f"added {added:.9g}", words, partial(np.add, added), near=near)
    step = most / 127
    if right.dtype.kind == "f" and 0 < step < np.inf:
        words = f"elements are quantised to 8 bits, in steps of {step:.6g}"
        yield Reading("quantised", words, lambda v: np.rint(v / step) * step, near=near)


FAR: Final = 1e-3  # a smaller relative difference is taken for rounding


def _cuts(dtype: DType) -> Iterator[Reading]:
    for bits in (32, 16, 8):
        if bits >= dtype.bits:
            continue
        for letter, kind in (("i", ""), ("u", "unsigned ")):
            narrow = f"{'u' if kind else ''}int{bits}"
            yield _made(f"cut to {bits} {kind}bits", _cast(f"{letter}{bits // 8}"), narrow)
        saturated = _saturated(f"{'u' if dtype.kind is Kind.UINT else 'i'}{bits // 8}")
        yield _made(f"saturated to {bits} bits", saturated)


def _roundings(dtype: DType) -> Iterator[Reading]:
    """Yield the readings as floats of fewer bits."""
    rows = (
        ("float64", dtype.integral and dtype.bits > 32, _cast("f8")),
        ("float32", dtype.integral or dtype.bits > 32, _cast("f4")),
        ("float16", dtype.name != "float16", _cast("f2")),
        ("bfloat16", dtype is not BFLOAT16, bfloat16),
    )
    for name, differs, function in rows:
        if differs:
            yield _made(f"rounded to {name}", function, name)
    if dtype.name == "float64":
        limited = _made("rounded to float32, at most its greatest", _float32_within)
        yield limited._replace(rare=True)
    if dtype is not BFLOAT16:
        upper = np.uint32(0xFFFF0000)
        yield _made("truncated to bfloat16", lambda v: (_float_bits(v) & upper).view(np.float32))
    if dtype.kind is Kind.FLOAT:
        yield _worded("fraction dropped", np.trunc)
        yield _worded("no special values", np.nan_to_num)
        yield _worded("no denormal numbers", _normal)
    elif dtype.bits >= 32:
        for name in (f"float{dtype.bits}", "float32")[: dtype.bits // 32]:
            words = f"elements are the bits of their values as {name}"
            yield Reading(f"bits as {name}", words, _bits_as(name), rare=True)


# The types whose bits an element may be read as.
_SAME_SIZE: Final[dict[int, tuple[str, ...]]] = {
    8: ("int8", "uint8"),
    16: ("float16", "bfloat16", "int16", "uint16"),
    32: ("float32", "int32", "uint32"),
    64: ("float64", "int64", "uint64"),
}


def _of_float(number: float) -> Callable[[np.dtype[Any]], Any]:
    return lambda dtype: number if dtype.kind in "fc" else None


def _jax(dtype: np.dtype[Any]) -> Any:
    """Return NaN; the least signed integer, the greatest unsigned one, or true."""
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return ends.max if dtype.kind == "u" else ends.min
    return _of_float(float("nan"))(dtype)


def _extreme(end: str) -> Callable[[np.dtype[Any]], Any]:
    def extreme(dtype: np.dtype[Any]) -> Any:
        if dtype.kind in "iu":
            value = getattr(np.iinfo(dtype), end)
            return value or None  # the least unsigned integer is a fill with zero
        return getattr(np.finfo(dtype), end) if dtype.kind == "f" else None

    return extreme


# The value of a fill in an array of a dtype; None if the dtype has no such value.
FILLS: Final[dict[str, Callable[[np.dtype[Any]], Any]]] = {
    "zero": lambda dtype: "" if dtype.kind == "U" else 0,
    "nan": _jax,
    "low": _extreme("min"),
    "high": _extreme("max"),
    "infinity": _of_float(float("inf")),
    "minus infinity": _of_float(float("-inf")),
    "minus one": lambda dtype: -1 if dtype.kind in "ifc" else None,
}
