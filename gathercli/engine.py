"""From a call to its answer: bind, check, infer, run.

::

    bind(op, data, indices, axis…)   ->  Call    every rule of shapes and types has agreed
    infer(call)                      ->  Shape   the output shape, even from partly known shapes
    run(call, data, indices)         ->  Run     every index was checked; the output follows

Nothing here opens a file or prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from gathercli.core import rules
from gathercli.core.call import Call, Operand
from gathercli.core.dims import LARGEST, MAX_RANK, Shape, product
from gathercli.core.dtypes import DType, Tensor, described
from gathercli.core.positions import coordinate, known
from gathercli.core.spec import Indices, Negative, Op, OutOfRange
from gathercli.core.text import counted, grouped, listed
from gathercli.errors import GatherError, LimitError, UsageError
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.core.dtypes import AnyArray

BLOCK_CELLS: Final = 1 << 17
"""Output cells computed at a time: the int64 positions of a block stay in the cache."""

_Choice = TypeVar("_Choice", Negative, OutOfRange)


def bind(
    op: Op,
    data: Operand,
    indices: Operand,
    *,
    axis: Any = None,
    batch_dims: Any = 0,
    negative: str = "spec",
    out_of_range: str = "spec",
    shapes_only: bool = False,
) -> Call:
    """Put a call together and try every rule that shapes, types and attributes decide.

    Parameters
    ----------
    axis
        An integer, a 0-D or one-element tensor of one, ``"unknown"``, or None for the version's
        default.
    batch_dims
        An integer.
    negative, out_of_range
        Values of `Negative` and `OutOfRange`.
    shapes_only
        Whether the call is only inferred, so that an axis that is an input may be unknown.

    Raises
    ------
    OperatorError
        The first rule that refuses.
    UsageError
        `negative` or `out_of_range` is none of the choices.
    """
    call = Call(
        op,
        FAMILIES[op.family].ROWS,
        data,
        indices,
        op.axis.default if axis is None else axis,
        batch_dims,
        _choice(Negative, "negative", negative),
        _choice(OutOfRange, "out-of-range", out_of_range),
        shapes_only,
    )
    try:
        for rule in rules.RULES:
            rule(call)
    except GatherError as error:
        error.met(op.full_name, str(data), str(indices))
        raise
    return call


def _choice(choices: type[_Choice], name: str, given: str) -> _Choice:
    try:
        return choices(given)
    except ValueError:
        expected = listed(choice.value for choice in choices)
        raise UsageError(
            f"`--{name}` is {given!r}: expected {expected}",
            rule="usage",
            value=given,
            expected=expected,
        ) from None


def infer(call: Call) -> Shape:
    """Return the output shape of a bound call, as far as the inputs' shapes say."""
    return FAMILIES[call.op.family].infer(call)


class Treated(NamedTuple):
    """Indices that did not simply address `data`.

    Attributes
    ----------
    how
        What was done: ``zero-filled``, ``clamped``, ``wrapped``, ``counted from the end``.
    number, total
        How many, of how many.
    value, where
        The first of them, row-major, and its coordinates in `indices`.
    legal
        What they were outside of.
    """

    how: str
    number: int
    total: int
    value: int
    where: str
    legal: str

    def __str__(self) -> str:
        return (
            f"{grouped(self.number)} of {counted(self.total, 'index', 'indices')} "
            f"{self.legal}, {self.how}; "
            f"first {self.value} at {self.where}"
        )


class Run(NamedTuple):
    """A call whose every index was checked, ready to give its output.

    Attributes
    ----------
    call, shape, dtype
        The call, and the output's shape and type.
    treated
        What became of indices outside the axis.
    data, picks
        The data, and every index as a position on the axis, -1 for none.
    """

    call: Call
    shape: tuple[int, ...]
    dtype: DType
    treated: tuple[Treated, ...]
    data: Tensor
    picks: AnyArray

    def blocks(self, cells: int = BLOCK_CELLS) -> Iterator[AnyArray]:
        """Yield the output in row-major order, flat, up to `cells` elements at a time."""
        import numpy as np

        flat = self.data.array.reshape(-1)
        sources = FAMILIES[self.call.op.family].sources
        total = product(self.shape)
        for start in range(0, total, cells):
            at = sources(self.call, self.picks, np.arange(start, min(start + cells, total)))
            copied = at >= 0
            if copied.all():
                block = flat[at]
            else:  # zero, False or "" where nothing is copied
                block = np.zeros(at.shape, flat.dtype)
                block[copied] = flat[at[copied]]
            yield block.astype(block.dtype.newbyteorder("="), copy=False)

    @property
    def storage(self) -> Any:
        """The numpy dtype of the blocks."""
        return self.data.array.dtype.newbyteorder("=")

    @property
    def nbytes(self) -> int:
        """Bytes the output takes."""
        return product(self.shape) * int(self.storage.itemsize)

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    def whole(self) -> Tensor:
        """Return all of the output."""
        import numpy as np

        try:
            out = np.empty(product(self.shape), self.storage)
        except MemoryError as error:
            raise no_memory(error) from None
        start = 0
        for block in self.blocks():
            out[start : start + block.size] = block
            start += block.size
        return Tensor(self.dtype, out.reshape(self.shape))


def no_memory(error: MemoryError) -> LimitError:
    """Turn numpy's refusal to allocate into ours."""
    return LimitError(f"there is not enough memory ({error})", rule="limit")


def run(call: Call, data: Tensor, indices: Tensor, *, max_bytes: int | None = None) -> Run:
    """Check every index and the size of the result.

    Parameters
    ----------
    call
        What `bind` returned for these tensors.
    max_bytes
        How large the result may be; None for any size that exists.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    LimitError
        ``limit``.
    """
    try:
        picks, treated = _pick(call, indices.array)
        shape = known(infer(call))
        _check_size(shape, data, max_bytes)
    except GatherError as error:
        error.met(call.op.full_name, str(call.data), str(call.indices))
        raise
    return Run(call, shape, data.dtype, treated, data, picks)


def _pick(call: Call, indices: AnyArray) -> tuple[AnyArray, tuple[Treated, ...]]:
    """Turn every index into a position on the axis, or -1 for none.

    First the negative ones, then those outside, as `--negative` and `--out-of-range` say. All in
    int64 (uint64 stays what it is until it is known to fit), so that no value changes its meaning.

    Returns
    -------
        int64 of the shape of `indices`, and what was done to which.
    """
    import numpy as np

    s, shape = call.size, indices.shape
    given = indices.astype(indices.dtype.newbyteorder("="), copy=False).reshape(-1)
    treated = []
    at = given if given.dtype == np.uint64 else given.astype(np.int64)
    negative = at < 0
    if negative.any():
        if call.negative is Negative.ERROR:
            raise rules.index_negative(call, *_first(negative, given, shape))
        if call.wraps_negative:
            at[negative] += s  # s >= 0: even -2^63 + s fits
            wrapped = negative & (at >= 0)
            if call.op.indices is Indices.UNSIGNED and wrapped.any():
                treated.append(_treated("counted from the end", wrapped, given, shape, "negative"))
    outside = (at < 0) | (at >= s)
    if outside.any():
        how = call.outside
        if how is OutOfRange.ERROR or (s == 0 and how is not OutOfRange.ZERO):
            raise rules.index_range(call, *_first(outside, given, shape))
        if how is OutOfRange.ZERO:
            at = np.where(outside, -1, at.astype(np.int64))
        elif how is OutOfRange.CLAMP:
            at = np.clip(at, 0, s - 1)
        else:
            at = at % s
        legal = f"outside 0..{s - 1}" if s else "on an empty axis"
        treated.append(_treated(how.done, outside, given, shape, legal))
    return at.astype(np.int64, copy=False).reshape(shape), tuple(treated)


def _first(marked: AnyArray, given: AnyArray, shape: tuple[int, ...]) -> tuple[int, str, int, int]:
    """Return value and coordinates of the first marked index, how many are, and of how many."""
    position = int(marked.argmax())
    where = f"[{','.join(map(str, coordinate(position, shape)))}]"
    return int(given[position]), where, int(marked.sum()), given.size


def _treated(
    how: str, marked: AnyArray, given: AnyArray, shape: tuple[int, ...], legal: str
) -> Treated:
    value, where, count, total = _first(marked, given, shape)
    return Treated(how, count, total, value, where, legal)


def _check_size(shape: tuple[int, ...], data: Tensor, max_bytes: int | None) -> None:
    """Refuse a result that is too large before any of it is allocated."""
    result = described(data.dtype, ",".join(map(str, shape)))
    if len(shape) > MAX_RANK:
        raise LimitError(
            f"the result {result} has rank {len(shape)}: expected at most {MAX_RANK}",
            rule="limit",
            value=len(shape),
            expected=f"rank at most {MAX_RANK}",
        )
    itemsize = data.array.dtype.itemsize
    size = product(shape) * itemsize
    spanned = product([n for n in shape if n]) * itemsize
    if max_bytes is not None and size > max_bytes:
        raise LimitError.over(f"the result {result} takes {size} bytes", size, max_bytes)
    if spanned > LARGEST:
        raise LimitError(
            f"the result {result} spans {spanned} bytes, more than can be addressed: "
            f"expected at most {LARGEST} bytes",
            rule="limit",
            value=spanned,
            expected=f"at most {LARGEST} bytes",
        )
