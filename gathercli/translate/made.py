"""Made calls: tensors that a translation is tried on, like those of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.conversion import convert
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.ops import engine, indexed_inputs
from gathercli.spec.call import Operand
from gathercli.spec.coordinates import known
from gathercli.spec.dtypes import INT64, STRING, Kind
from gathercli.spec.op import OffAxis
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gathercli.compute.storage import AnyArray
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import IndexedAxis

LARGEST: Final = 4
"""The largest size of a made dimension."""

MOST_AXES: Final = 8
"""The most axes of made tensors that are longer than 1, so that no result is large."""

_LEGAL: Final = 0.6
"""How many of the calls have legal indices only."""

_SMALL: Final = 100
"""The values of made data are less than this, so that every type represents them."""


class MadeCall(NamedTuple):
    """A bound call with its tensors by name."""

    call: Call
    tensors: Mapping[str, Tensor]


def made_calls(
    call: Call, count: int, *, resizes: bool, seed: int = 0, bits: int = 64
) -> Iterator[MadeCall]:
    """Yield calls with the types, the ranks and the attributes of another.

    Parameters
    ----------
    resizes
        Whether the sizes differ, too.
    seed
        The start of the random numbers.
    bits
        The bits of a signed integer that represents each index.
    """
    maker = _Maker(call, np.random.default_rng(seed), bits)
    for _ in range(count):
        yield maker.make(resizes=resizes)


class _Maker:
    def __init__(self, call: Call, random: np.random.Generator, bits: int) -> None:
        self._call, self._random, self._bits = call, random, bits

    def make(self, *, resizes: bool) -> MadeCall:
        shapes = {name: known(each.shape) for name, each in self._call.inputs.items()}
        if resizes:
            shapes = self._resized(shapes)
        operands = [
            Operand(Shape(shapes[name]), each.dtype) for name, each in self._call.inputs.items()
        ]
        attrs: Any = dict(self._call.attrs)
        call = engine.bind(
            self._call.op,
            *operands,
            negative=self._call.negative.value,
            out_of_range=self._call.out_of_range.value,
            **attrs,
        )
        axes = indexed_inputs(call)
        tensors = {
            name: self._indices(call, axes[name], _typed(each))
            if name in axes
            else self._data(name, _typed(each), known(each.shape))
            for name, each in call.inputs.items()
        }
        return MadeCall(call, tensors)

    def _size(self) -> int:
        """Return a size: seldom 0."""
        return int(self._random.integers(0 if self._random.random() < 0.05 else 1, LARGEST + 1))

    def _sizes(self, shapes: dict[str, tuple[int, ...]]) -> dict[str, list[int]]:
        """Return sizes at random, of which few are larger than 1."""
        sizes = {name: [self._size() for _ in shape] for name, shape in shapes.items()}
        axes = [(name, at) for name, shape in shapes.items() for at in range(len(shape))]
        if len(axes) > MOST_AXES:
            for axis in self._random.permutation(len(axes))[MOST_AXES:]:
                name, at = axes[axis]
                sizes[name][at] = min(1, sizes[name][at])
        return sizes

    def _resized(self, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """Return other sizes that fit each other."""
        op, sizes = self._call.op, self._sizes(shapes)
        if op.followed is not None:
            steps, _, lengths, _ = sizes
            return {
                name: tuple(sizes[steps][1:2]) if name == lengths else tuple(sizes[steps])
                for name in sizes
            } | {list(sizes)[-1]: ()}
        data, indices = sizes.values()
        if op.elementwise:
            axis, _ = self._call.normalized
            for at in range(len(data)):
                if at != axis:
                    least = data[at] if op.off_axis is OffAxis.EQUAL else min(1, data[at])
                    indices[at] = int(self._random.integers(least, data[at] + 1))
        elif op.tuples:
            indices[-1] = shapes["indices"][-1]
        for at in range(self._call.batch_dims or 0):
            indices[at] = data[at]
        return {name: tuple(each) for name, each in sizes.items()}

    def _data(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        random, op = self._random, self._call.op
        if op.followed is not None:
            low, high = (-1, LARGEST + 2) if name == "max_seq_len" else (0, 6)
            low = max(low, dtype.bounds[0]) if dtype.integral else low
            return convert(Tensor(INT64, random.integers(low, high, shape)), dtype)
        if dtype is STRING:
            words = np.array([f"s{at}" for at in range(_SMALL)])
            return Tensor(dtype, words[random.integers(0, _SMALL, shape)])
        if dtype.opaque:
            bits = random.integers(0, 1 << dtype.bits, shape)
            return Tensor(dtype, bits.astype(storage_of(dtype)))
        high = 2 if dtype.kind is Kind.BOOL else _SMALL
        return Tensor(dtype, random.integers(0, high, shape).astype(storage_of(dtype)))

    def _indices(self, call: Call, axes: list[IndexedAxis], dtype: DType) -> Tensor:
        """Return indices: all legal, or a few that are not."""
        shape = known(call.inputs[axes[0].input].shape) if axes else ()
        if not axes:
            shape = known(call.indices.shape)
        array = np.zeros(shape, object)
        is_legal = self._random.random() < _LEGAL
        for along in axes:
            part = (..., along.component) if along.component is not None else ...
            cells = array[part]
            array[part] = self._along(call, along.size, np.shape(cells), dtype, is_legal=is_legal)
        if dtype.integral:
            return Tensor(dtype, array.astype(storage_of(dtype)))
        return convert(Tensor(INT64, array.astype(np.int64)), dtype)

    def _along(
        self, call: Call, size: int, shape: tuple[int, ...], dtype: DType, *, is_legal: bool
    ) -> AnyArray:
        least, most = dtype.bounds if dtype.integral else (-8, 8)
        low, high = call.legal(size) or (0, 0)
        low, high = max(low, least), min(high, most)
        indices = self._random.integers(low, high + 1, shape).astype(object)
        if not is_legal and indices.size:
            strange = [-1, size, size + 2, -size - 1, -size, 2**32, 2**32 - 1]
            if self._bits < 64:
                least, most = (
                    max(least, -(2 ** (self._bits - 1))),
                    min(most, 2 ** (self._bits - 1) - 1),
                )
            strange += [least, most]
            fitting = [each for each in strange if least <= each <= most]
            for _ in range(int(self._random.integers(1, 3))):
                at = int(self._random.integers(0, indices.size))
                flat = indices.reshape(-1)
                flat[at] = fitting[int(self._random.integers(0, len(fitting)))]
                indices = flat.reshape(shape)
        return indices


def _typed(operand: Operand) -> DType:
    if operand.dtype is None:
        raise LookupError("an input has no type")
    return operand.dtype
