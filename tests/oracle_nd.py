"""What every version of GatherND and GatherTree means, in plain loops: as `oracle` does.

It knows nothing of the package. The rules are tried in this order: types, ranks, batch_dims, the
length of the tuples, equal batch dimensions; then the values: whether any is negative where that is
refused, then whether any is outside its axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.oracle import (
    ANY_INTEGER,
    NARROW,
    Array,
    Attributes,
    Coordinate,
    Dimension,
    Dimensions,
    Refused,
    coordinates,
    meet,
    moved,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

INT64: Final = frozenset({"int64"})


@dataclass(frozen=True)
class Version:
    """What sets a version of GatherND apart.

    `signed`: the range of a legal index is [-s, s-1], else [0, s-1]; `depth`: the shortest legal
    tuple; `flattens`: the batch dimensions of the output become one; `narrows`: inference keeps
    of a batch dimension what both inputs can be, else that of the indices.
    """

    signed: bool
    batch_dims: bool
    depth: int
    flattens: bool
    narrows: bool
    indices_types: frozenset[str]
    bfloat16: bool


VERSIONS: Final = {
    "openvino.GatherND-5": Version(
        signed=False,
        batch_dims=True,
        depth=0,
        flattens=True,
        narrows=True,
        indices_types=ANY_INTEGER,
        bfloat16=True,
    ),
    "openvino.GatherND-8": Version(
        signed=True,
        batch_dims=True,
        depth=0,
        flattens=False,
        narrows=True,
        indices_types=ANY_INTEGER,
        bfloat16=True,
    ),
    "onnx.GatherND-11": Version(
        signed=True,
        batch_dims=False,
        depth=1,
        flattens=False,
        narrows=False,
        indices_types=INT64,
        bfloat16=False,
    ),
    "onnx.GatherND-12": Version(
        signed=True,
        batch_dims=True,
        depth=1,
        flattens=False,
        narrows=False,
        indices_types=INT64,
        bfloat16=False,
    ),
    "onnx.GatherND-13": Version(
        signed=True,
        batch_dims=True,
        depth=1,
        flattens=False,
        narrows=False,
        indices_types=INT64,
        bfloat16=True,
    ),
}


def run(
    name: str,
    data: Array,
    indices: Array,
    attributes: Attributes,
    *,
    data_type: str,
    indices_type: str,
) -> Array:
    """Compute the output of a call, cell by cell: out[c, s] = data[c[:b], *indices[c], s]."""
    version, b = VERSIONS[name], attributes.batch_dims
    if data_type == "bfloat16" and not version.bfloat16:
        raise Refused("data-dtype")
    if name.startswith("onnx.") and data_type.startswith(NARROW):
        raise Refused("data-dtype")
    if indices_type not in version.indices_types:
        raise Refused("indices-dtype")
    _check_ranks(version, len(data.shape), len(indices.shape), b)
    k = indices.shape[-1]
    _check_depth(version, k, len(data.shape), b)
    for d in range(b):
        if data.shape[d] != indices.shape[d]:
            raise Refused("batch-shape")
    sizes = data.shape[b : b + k]
    places = positions(version, sizes, indices, attributes)
    lead, tail = indices.shape[:-1], data.shape[b + k :]
    out = np.zeros(lead + tail, data.dtype)
    for c in coordinates(lead):
        components = [places[(*c, j)] for j in range(k)]
        if None in components:
            continue
        for s in coordinates(tail):
            out[c + s] = data[(*c[:b], *components, *s)]
    if version.flattens and b > 1:
        return out.reshape((math.prod(lead[:b]), *lead[b:], *tail))
    return out


def _check_ranks(version: Version, n: int | None, m: int | None, b: int) -> None:
    """Refuse ranks and batch_dims, as far as they are known."""
    if n == 0:
        raise Refused("data-rank")
    if m == 0:
        raise Refused("indices-rank")
    if b != 0 and not version.batch_dims:
        raise Refused("batch-dims-unsupported")
    if b < 0 or any(rank is not None and b >= rank for rank in (n, m)):
        raise Refused("batch-dims-range")


def _check_depth(version: Version, k: int, n: int, b: int) -> None:
    if k < version.depth or k > n - b:
        raise Refused("indices-depth")


def positions(
    version: Version, sizes: Sequence[int], indices: Array, attributes: Attributes
) -> dict[Coordinate, int | None]:
    """Find the position of each component, None for none: first the negative, then the outside.

    Component j of a tuple counts along the axis of size `sizes[j]`.
    """
    in_front: dict[Coordinate, int] = {}
    for c in coordinates(indices.shape):
        k = int(indices[c])
        if k < 0 and attributes.negative == "error":
            raise Refused("index-negative")
        if k < 0 and (
            attributes.negative == "wrap" or (attributes.negative == "spec" and version.signed)
        ):
            k = k + sizes[c[-1]]
        in_front[c] = k
    how = "error" if attributes.out_of_range == "spec" else attributes.out_of_range
    return {
        c: k if 0 <= k < sizes[c[-1]] else moved(k, sizes[c[-1]], how) for c, k in in_front.items()
    }


# Shapes that are partly unknown.


def infer(name: str, data: Dimensions, indices: Dimensions, batch_dims: int) -> Dimensions:
    """Infer the output shape."""
    version, b = VERSIONS[name], batch_dims
    n = None if data is None else len(data)
    m = None if indices is None else len(indices)
    _check_ranks(version, n, m, b)
    if data is None or indices is None:
        return None
    k = indices[-1]
    if isinstance(k, int):
        _check_depth(version, k, len(data), b)
    heads = [meet(data[d], indices[d], "batch-shape") for d in range(b)]
    if not isinstance(k, int):
        return None
    if not version.narrows:
        heads = indices[:b]
    if version.flattens and b > 1:
        heads = [product(heads)]
    return heads + indices[b:-1] + data[b + k :]


def product(dimensions: Sequence[Dimension]) -> Dimension:
    """Multiply sizes as intervals; the product with a symbol is one of no known end."""
    least = 1
    most: float = 1
    for d in dimensions:
        low, high = _ends(d)
        least = least * low
        most = 0 if 0 in (most, high) else most * high
    if least == most:
        return least
    return least, None if most == math.inf else int(most)


def _ends(d: Dimension) -> tuple[int, float]:
    if isinstance(d, str):
        return 0, math.inf
    if isinstance(d, int):
        return d, d
    return d[0], math.inf if d[1] is None else d[1]


# GatherTree

GATHER_TREE: Final = "openvino.GatherTree-1"

PLAIN: Final = Attributes()
TREE_TYPES: Final = ANY_INTEGER | {"float16", "bfloat16", "float32", "float64"}
"""The plain ones; of the narrow ones all are numbers too."""


def gather_tree(
    step_ids: Array,
    parent_ids: Array,
    max_seq_len: Array,
    end_token: Array,
    attributes: Attributes = PLAIN,
) -> Array:
    """Follow each beam back from its last step, then end it after its first end token.

    A cell is zero where a parent after it, filled, names no beam.
    """
    inputs = (step_ids, parent_ids, max_seq_len, end_token)
    names = {array.dtype.name for array in inputs}
    if len(names) > 1 or any(t not in TREE_TYPES and not t.startswith(NARROW) for t in names):
        raise Refused("tree-dtype")
    infer_tree(*(list(array.shape) for array in inputs))
    for array in inputs:
        for c in coordinates(array.shape):
            if not float(array[c]).is_integer():
                raise Refused("integer-values")
    t, b, w = step_ids.shape
    end = end_token[()]
    out = np.full_like(step_ids, end)
    refusals: set[str] = set()
    for batch in range(b):
        steps = max(0, min(t, int(max_seq_len[batch])))
        for beam in range(w):
            tokens = _tokens(
                step_ids[:steps, batch], parent_ids[:steps, batch], beam, attributes, refusals
            )
            out[:steps, batch, beam] = _ended(tokens, end)
    for rule in ("index-negative", "index-range"):
        if rule in refusals:
            raise Refused(rule)
    return out


def _tokens(
    steps: Array, parents: Array, beam: int, attributes: Attributes, refusals: set[str]
) -> list[object]:
    """Return the tokens of a beam, from its first step to its last, None where it has none."""
    tokens: list[object] = []
    at: int | None = beam
    for step in range(len(steps) - 1, -1, -1):
        tokens.insert(0, None if at is None else steps[step, at])
        if at is not None and step:
            at = _before(int(parents[step, at]), steps.shape[1], attributes, refusals)
    return tokens


def _before(parent: int, beams: int, attributes: Attributes, refusals: set[str]) -> int | None:
    """Return the beam that a parent names, None for none."""
    if parent < 0 and attributes.negative == "error":
        refusals.add("index-negative")
        return None
    if -beams <= parent < 0 and attributes.negative == "wrap":
        return parent + beams
    how = "error" if attributes.out_of_range == "spec" else attributes.out_of_range
    try:
        return parent if 0 <= parent < beams else moved(parent, beams, how)
    except Refused as refusal:
        refusals.add(refusal.rule)
        return None


def _ended(tokens: list[object], end: object) -> list[object]:
    """Replace what comes after the first end token, and what is no token by 0."""
    length = tokens.index(end) if end in tokens else len(tokens)
    return [
        end if step > length else 0 if token is None else token for step, token in enumerate(tokens)
    ]


def infer_tree(
    step_ids: Dimensions, parent_ids: Dimensions, max_seq_len: Dimensions, end_token: Dimensions
) -> Dimensions:
    """Infer the output shape of GatherTree."""
    ranks: tuple[tuple[Dimensions, int], ...] = (
        (step_ids, 3),
        (parent_ids, 3),
        (max_seq_len, 1),
        (end_token, 0),
    )
    for shape, rank in ranks:
        if shape is not None and len(shape) != rank:
            raise Refused("tree-shape")
    if step_ids is None or parent_ids is None:
        merged = parent_ids if step_ids is None else step_ids
    else:
        both = zip(step_ids, parent_ids, strict=True)
        merged = [meet(step, parent, "tree-shape") for step, parent in both]
    if merged is None or max_seq_len is None:
        return merged
    return [merged[0], meet(merged[1], max_seq_len[0], "tree-shape"), merged[2]]
