"""What every version means, in plain loops: the judge of the package, of which it knows nothing.

Elements are read and written one coordinate at a time; every number that decides something is a
Python integer. A refusal is `Refused`, named by its rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"
Coordinate: TypeAlias = tuple[int, ...]


class Refused(Exception):  # noqa: N818  (a refusal is an answer, not a mistake)
    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


ANY_INTEGER: Final = frozenset(
    {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
)
INT32_OR_INT64: Final = frozenset({"int32", "int64"})


@dataclass(frozen=True)
class Version:
    """What sets a version apart.

    `signed`: the range of a legal index is [-s, s-1], else [0, s-1]; `outside`: what other indices
    get; `off_axis`: how the dimensions beside the axis of GatherElements compare, None for Gather.
    """

    signed: bool
    outside: str
    batch_dims: bool
    off_axis: str | None
    axis: int | None
    axis_can_be_unknown: bool
    indices_types: frozenset[str]
    bfloat16: bool


NARROW: Final = ("float8_", "float6_", "float4_", "int4", "uint4", "int2", "uint2")
"""How the names of types begin that ONNX's lists have not."""

VERSIONS: Final = {
    "openvino.Gather-1": Version(
        signed=False,
        outside="error",
        batch_dims=False,
        off_axis=None,
        axis=0,
        axis_can_be_unknown=True,
        indices_types=ANY_INTEGER,
        bfloat16=True,
    ),
    "openvino.Gather-7": Version(
        signed=False,
        outside="error",
        batch_dims=True,
        off_axis=None,
        axis=0,
        axis_can_be_unknown=True,
        indices_types=ANY_INTEGER,
        bfloat16=True,
    ),
    "openvino.Gather-8": Version(
        signed=True,
        outside="zero",
        batch_dims=True,
        off_axis=None,
        axis=0,
        axis_can_be_unknown=True,
        indices_types=ANY_INTEGER,
        bfloat16=True,
    ),
    "onnx.Gather-1": Version(
        signed=False,
        outside="error",
        batch_dims=False,
        off_axis=None,
        axis=0,
        axis_can_be_unknown=False,
        indices_types=INT32_OR_INT64,
        bfloat16=False,
    ),
    "onnx.Gather-11": Version(
        signed=True,
        outside="error",
        batch_dims=False,
        off_axis=None,
        axis=0,
        axis_can_be_unknown=False,
        indices_types=INT32_OR_INT64,
        bfloat16=False,
    ),
    "onnx.Gather-13": Version(
        signed=True,
        outside="error",
        batch_dims=False,
        off_axis=None,
        axis=0,
        axis_can_be_unknown=False,
        indices_types=INT32_OR_INT64,
        bfloat16=True,
    ),
    "openvino.GatherElements-6": Version(
        signed=False,
        outside="error",
        batch_dims=False,
        off_axis="equal",
        axis=None,
        axis_can_be_unknown=False,
        indices_types=INT32_OR_INT64,
        bfloat16=True,
    ),
    "onnx.GatherElements-11": Version(
        signed=True,
        outside="error",
        batch_dims=False,
        off_axis="at most",
        axis=0,
        axis_can_be_unknown=False,
        indices_types=INT32_OR_INT64,
        bfloat16=False,
    ),
    "onnx.GatherElements-13": Version(
        signed=True,
        outside="error",
        batch_dims=False,
        off_axis="at most",
        axis=0,
        axis_can_be_unknown=False,
        indices_types=INT32_OR_INT64,
        bfloat16=True,
    ),
}


@dataclass(frozen=True)
class Attributes:
    axis: int | None = None
    batch_dims: int = 0
    negative: str = "spec"
    out_of_range: str = "spec"


def run(
    name: str,
    data: Array,
    indices: Array,
    attributes: Attributes,
    *,
    data_type: str,
    indices_type: str,
) -> Array:
    """Compute the output of a call, cell by cell."""
    version = VERSIONS[name]
    if data_type == "bfloat16" and not version.bfloat16:
        raise Refused("data-dtype")
    if name.startswith("onnx.") and data_type.startswith(NARROW):
        raise Refused("data-dtype")
    if indices_type not in version.indices_types:
        raise Refused("indices-dtype")
    axis, b = places(version, data.shape, indices.shape, attributes)
    for d in range(b):
        if data.shape[d] != indices.shape[d]:
            raise Refused("batch-shape")
    if version.off_axis is not None:
        for d in range(len(data.shape)):
            more, less = indices.shape[d] > data.shape[d], indices.shape[d] < data.shape[d]
            if d != axis and (more or (less and version.off_axis == "equal")):
                raise Refused("elements-shape")
    picks = picked(version, data.shape[axis], indices, attributes)
    if version.off_axis is not None:
        return elements(data, indices.shape, picks, axis)
    return slices(data, indices.shape, picks, axis, b)


def elements(
    data: Array, shape: Coordinate, picks: dict[Coordinate, int | None], axis: int
) -> Array:
    """out[c] = data[c with c[axis] := indices[c]]."""
    out = np.zeros(shape, data.dtype)
    for c in coordinates(shape):
        k = picks[c]
        if k is not None:
            out[c] = data[(*c[:axis], k, *c[axis + 1 :])]
    return out


def slices(
    data: Array, indices: Coordinate, picks: dict[Coordinate, int | None], axis: int, b: int
) -> Array:
    """out[p, i, s] = data[p, indices[p[:batch_dims], i], s]."""
    m = len(indices) - b
    out = np.zeros(data.shape[:axis] + indices[b:] + data.shape[axis + 1 :], data.dtype)
    for c in coordinates(out.shape):
        p, i, s = c[:axis], c[axis : axis + m], c[axis + m :]
        k = picks[p[:b] + i]
        if k is not None:
            out[c] = data[(*p, k, *s)]
    return out


def places(
    version: Version, data: Coordinate, indices: Coordinate, attributes: Attributes
) -> tuple[int, int]:
    """Normalise axis and batch_dims, or refuse."""
    n, m = len(data), len(indices)
    if n == 0:
        raise Refused("data-rank")
    if version.off_axis is not None and m != n:
        raise Refused("indices-rank")
    axis = version.axis if attributes.axis is None else attributes.axis
    if axis is None:
        raise Refused("axis-required")
    if axis < -n or axis > n - 1:
        raise Refused("axis-range")
    axis = axis + n if axis < 0 else axis
    b = attributes.batch_dims
    if b != 0 and not version.batch_dims:
        raise Refused("batch-dims-unsupported")
    if b < 0:
        b = b + m
    if b < 0 or b > m:
        raise Refused("batch-dims-range")
    if b > axis:
        raise Refused("batch-dims-axis")
    return axis, b


def coordinates(shape: Coordinate) -> Iterator[Coordinate]:
    return product(*(range(size) for size in shape))


def picked(
    version: Version, s: int, indices: Array, attributes: Attributes
) -> dict[Coordinate, int | None]:
    """Find the position each index means, None for none: first the negative, then the outside."""
    in_front: dict[Coordinate, int] = {}
    for c in coordinates(indices.shape):
        k = int(indices[c])
        if k < 0 and attributes.negative == "error":
            raise Refused("index-negative")
        if k < 0 and (
            attributes.negative == "wrap" or (attributes.negative == "spec" and version.signed)
        ):
            k = k + s
        in_front[c] = k
    how = version.outside if attributes.out_of_range == "spec" else attributes.out_of_range
    return {c: k if 0 <= k < s else moved(k, s, how) for c, k in in_front.items()}


def moved(k: int, s: int, how: str) -> int | None:
    """Say where an index outside [0, s) goes, None for nowhere."""
    if how == "zero":
        return None
    if how == "error" or s == 0:
        raise Refused("index-range")
    if how == "clamp":
        return 0 if k < 0 else s - 1
    return k % s


# Shapes that are partly unknown.

Dimension: TypeAlias = int | str | tuple[int, int | None]
"""A size, a symbol, or the interval from its first to its last size (None: without end)."""
Dimensions: TypeAlias = list[Dimension] | None
"""A shape; None when not even the rank is known."""

UNKNOWN: Final = (0, None)


def text(shape: Dimensions) -> str:
    if shape is None:
        return "[...]"
    return "[" + ",".join(_text(d) for d in shape) + "]"


def _text(d: Dimension) -> str:
    if isinstance(d, int | str):
        return str(d)
    first, last = d
    if last is None:
        return "?" if first == 0 else f"{first}.."
    return f"{first}..{last}"


def _least(d: Dimension) -> int:
    if isinstance(d, str):
        return 0
    return d if isinstance(d, int) else d[0]


def _most(d: Dimension) -> int | None:
    if isinstance(d, str):
        return None
    return d if isinstance(d, int) else d[1]


def meet(of_data: Dimension, of_indices: Dimension, rule: str) -> Dimension:
    """Keep what two dimensions that must be equal can both be."""
    if isinstance(of_data, str):
        return of_data if isinstance(of_indices, str) or of_indices == UNKNOWN else of_indices
    if isinstance(of_indices, str):
        return of_indices if of_data == UNKNOWN else of_data
    first = max(_least(of_data), _least(of_indices))
    ends = [end for end in (_most(of_data), _most(of_indices)) if end is not None]
    if not ends:
        return first, None
    if first > min(ends):
        raise Refused(rule)
    return first if first == min(ends) else (first, min(ends))


def infer(
    name: str, data: Dimensions, indices: Dimensions, axis: int | str | None, batch_dims: int
) -> Dimensions:
    """Infer the output shape; an `axis` of "unknown" is an input whose value is not known."""
    version = VERSIONS[name]
    if data == []:
        raise Refused("data-rank")
    if version.off_axis is None:
        return _infer_gather(version, data, indices, axis, batch_dims)
    return _infer_elements(version, data, indices, axis, batch_dims)


def _axis(version: Version, axis: int | str | None, rank: int | None) -> int | None:
    """Normalise an axis as far as the rank allows; None when it stays unknown."""
    axis = version.axis if axis is None else axis
    if axis is None:
        raise Refused("axis-required")
    if isinstance(axis, str):
        if not version.axis_can_be_unknown:
            raise Refused("axis-type")
        return None
    if rank is None:
        return axis if axis >= 0 else None
    if axis < -rank or axis > rank - 1:
        raise Refused("axis-range")
    return axis + rank if axis < 0 else axis


def _infer_gather(
    version: Version, data: Dimensions, indices: Dimensions, axis: int | str | None, batch_dims: int
) -> Dimensions:
    n = None if data is None else len(data)
    m = None if indices is None else len(indices)
    front = _axis(version, axis, n)
    if batch_dims != 0 and not version.batch_dims:
        raise Refused("batch-dims-unsupported")
    if m is not None and not -m <= batch_dims <= m:
        raise Refused("batch-dims-range")
    b = batch_dims if batch_dims >= 0 else None if m is None else batch_dims + m
    highest = front if front is not None else n - 1 if n is not None and axis == "unknown" else None
    if b is not None and highest is not None and b > highest:
        raise Refused("batch-dims-axis")
    if data is None or indices is None or b is None:
        return None
    heads = [meet(data[d], indices[d], "batch-shape") for d in range(b)]
    if front is None:
        return heads + [UNKNOWN] * (len(data) + len(indices) - 1 - 2 * b)
    return heads + data[b:front] + indices[b:] + data[front + 1 :]


def _infer_elements(
    version: Version, data: Dimensions, indices: Dimensions, axis: int | str | None, batch_dims: int
) -> Dimensions:
    if indices == [] or (data is not None and indices is not None and len(data) != len(indices)):
        raise Refused("indices-rank")
    ranks = [len(shape) for shape in (data, indices) if shape is not None]
    front = _axis(version, axis, ranks[0] if ranks else None)
    if batch_dims != 0:
        raise Refused("batch-dims-unsupported")
    if data is not None and indices is not None:
        for d, (of_data, of_indices) in enumerate(zip(data, indices, strict=True)):
            if d == front:
                continue
            most = _most(of_data)
            if version.off_axis == "equal":
                meet(of_data, of_indices, "elements-shape")
            elif most is not None and _least(of_indices) > most:
                raise Refused("elements-shape")
    if version.off_axis == "at most" or data is None:
        return indices
    if indices is None:
        return [UNKNOWN if d == front else dim for d, dim in enumerate(data)]
    return [
        of_indices if d == front else meet(of_data, of_indices, "elements-shape")
        for d, (of_data, of_indices) in enumerate(zip(data, indices, strict=True))
    ]


def admits(shape: Dimensions, sizes: Sequence[int], symbols: dict[str, int]) -> bool:
    """Tell whether a partly known shape can be `sizes`, its symbols being what `symbols` says."""
    if shape is None:
        return True
    return len(shape) == len(sizes) and all(
        symbols[d] == size if isinstance(d, str) else _within(d, size)
        for d, size in zip(shape, sizes, strict=True)
    )


def _within(d: int | tuple[int, int | None], size: int) -> bool:
    most = _most(d)
    return _least(d) <= size and (most is None or size <= most)
