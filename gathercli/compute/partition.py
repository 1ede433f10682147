"""Cut an output into boxes that fit in memory and rarely need the same chunk."""

from __future__ import annotations

from itertools import product as combinations
from math import ceil
from typing import TYPE_CHECKING, Final

from gathercli.compute.blocks import COPIES
from gathercli.compute.chunks import cells, cuts, everything, tiled
from gathercli.errors import LimitError
from gathercli.spec.shapes import product
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.blocks import BlockSource
    from gathercli.compute.chunks import Box

WORTH: Final = 64 << 20
"""Bytes of output that make a box worth a task, whatever it reads."""

PROGRAM: Final = 96 << 20
"""Bytes of the program itself."""

SHARE, LEAST = 2 / 3, 0.4
"""The share of the remaining memory for a box, as freed memory does not return at once; and the
share of all memory that a box may use in any case."""

WHOLE: Final = 1 << 30
"""Bytes of a box without a memory limit."""


def cut_boxes(
    source: BlockSource,
    chunks: Sequence[int] | None,
    memory: int | None,
    threads: int,
    *,
    least: int = 1,
) -> tuple[int, list[Box]]:
    """Cut an output into boxes as large as memory allows.

    Parameters
    ----------
    chunks
        The chunks of the output, each in one box; None for boxes that are contiguous, row-major.
    memory
        Bytes for the program, a box and its input; None for no limit.
    threads
        The largest number of threads; fewer are used if memory is short.
    least
        The smallest number of boxes, if there are as many chunks.

    Returns
    -------
        The number of threads, and the boxes.

    Raises
    ------
    LimitError
        ``limit``: the smallest box and its input do not fit in memory.
    """
    if 0 in source.shape:
        return 1, []
    most = WHOLE if memory is None else int(max((memory - PROGRAM) * SHARE, memory * LEAST))
    while True:
        try:
            if chunks is None:
                return threads, _slabs(source, most, threads)
            return threads, _chunk_boxes(source, chunks, most, threads, least)
        except LimitError:
            if threads == 1:
                raise
            threads //= 2


def _chunk_boxes(
    source: BlockSource, chunks: Sequence[int], most: int, threads: int, least: int
) -> list[Box]:
    """Cut an output into boxes of whole chunks.

    A box grows first along the dimensions of `indices` alone, where a larger box reads no more
    chunks of `data` than two smaller ones.
    """
    shape, itemsize = source.shape, source.data.storage.itemsize
    counts = [-(-n // size) for n, size in zip(shape, chunks, strict=True)]
    factors = [1] * len(shape)  # chunks of a box along each dimension

    def box(factors: Sequence[int]) -> Box:
        # The box at the origin: no other box of these factors is larger.
        return tuple((0, min(f * c, n)) for f, c, n in zip(factors, chunks, shape, strict=True))

    def cost(factors: Sequence[int]) -> int:
        writers = min(threads, product(factors))
        output = itemsize * (cells(box(factors)) + writers * COPIES * product(chunks))
        # The box is written after it is computed: the two costs do not add up.
        return max(source.cost(box(factors), threads), output)

    def fits(factors: Sequence[int]) -> bool:
        number = product([-(-count // f) for count, f in zip(counts, factors, strict=True)])
        return number >= least and cost(factors) <= most

    _check(cost(factors), most)
    alone = source.index_dims
    others = [o for o in range(len(shape)) if o not in alone]
    for o in reversed(alone):
        factors[o] = _grow(factors, o, counts[o], fits)
    for o in reversed(others):
        if cells(box(factors)) * itemsize < WORTH:
            factors[o] = _grow(factors, o, counts[o], fits)
    steps = [f * c for f, c in zip(factors, chunks, strict=True)]
    spans = [list(cuts((0, n), step)) for n, step in zip(shape, steps, strict=True)]
    # Boxes of the same chunks follow each other: the system may still cache these.
    dims = [*others, *alone]
    boxes = combinations(*(spans[o] for o in dims))
    return [tuple(box[dims.index(o)] for o in range(len(shape))) for box in boxes]


def _slabs(source: BlockSource, most: int, threads: int) -> list[Box]:
    """Cut an output into contiguous boxes, row-major."""
    shape = source.shape
    steps = [1] * len(shape)

    def cost(steps: Sequence[int]) -> int:
        return source.cost(everything(steps), threads)

    _check(cost(steps), most)
    for o in reversed(range(len(shape))):
        steps[o] = _grow(steps, o, shape[o], lambda steps: cost(steps) <= most)
        # Several rows are contiguous only if they are whole.
        if steps[o] < shape[o]:
            break
    return list(tiled(everything(shape), steps))


def _check(cost: int, most: int) -> None:
    """Raise `LimitError` if the smallest box is too large."""
    if cost > most:
        # The inverse of `most` in `cut_boxes`: a limit with which this box fits.
        enough = min(cost / LEAST, PROGRAM + cost / SHARE)
        raise LimitError(
            f"a chunk of the result, and what is read for it, takes about {in_bytes(cost)}",
            rule="limit",
            value=cost,
            expected=f"at most {in_bytes(most)}",
            remark=", which is what the limit leaves for it",
            hint=f"`--max-bytes {ceil(enough / 10**6)}M`, or smaller chunks (`--chunks`)",
        )


def _grow(factors: Sequence[int], o: int, most: int, fits: Callable[[Sequence[int]], bool]) -> int:
    """Return the largest factor of dimension `o`, up to `most`, with which a box fits."""
    low, high = 1, most
    # Invariant: `low` fits, no factor above `high` does; a larger box never costs less.
    while low < high:
        middle = (low + high + 1) // 2
        if fits([*factors[:o], middle, *factors[o + 1 :]]):
            low = middle
        else:
            high = middle - 1
    return low
