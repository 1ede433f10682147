"""The boxes of an output that are made one by one, so that few of them need the same chunk."""

from __future__ import annotations

from itertools import product as combinations
from math import ceil
from typing import TYPE_CHECKING, Final

from gathercli.arrays.blocks import COPIES
from gathercli.arrays.chunks import cells, cuts, everything, tiled
from gathercli.errors import LimitError
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.arrays.blocks import BlockSource
    from gathercli.arrays.chunks import Box

WORTH: Final = 64 << 20
"""Bytes of output that are worth a task, whatever it must read."""


PROGRAM: Final = 96 << 20
"""Bytes that the program itself takes."""

SHARE, LEAST = 2 / 3, 0.4
"""How much of the rest boxes may take, as not all that is freed is there again at once; and how
much of all memory they may take even if the program has no room for more."""

WHOLE: Final = 1 << 30
"""Bytes that a box may take where any number may be held."""


def divided(
    making: BlockSource,
    chunks: Sequence[int] | None,
    held: int | None,
    threads: int,
    *,
    least: int = 1,
) -> tuple[int, list[Box]]:
    """Cut an output into boxes as large as memory allows.

    Parameters
    ----------
    chunks
        Those of the output, which are not divided; None where boxes follow each other row-major.
    held
        Bytes of memory for the program, a box, and what is read for it; None for any.
    threads
        How many work on a box; fewer where memory is short.
    least
        How many boxes there should be, if there are as many chunks.

    Returns
    -------
        How many threads, and the boxes.

    Raises
    ------
    LimitError
        ``limit``: the smallest box, and what is read for it, takes more.
    """
    if 0 in making.shape:
        return 1, []
    most = WHOLE if held is None else int(max((held - PROGRAM) * SHARE, held * LEAST))
    while True:
        try:
            if chunks is None:
                return threads, _slabs(making, most, threads)
            return threads, _tasks(making, chunks, most, threads, least)
        except LimitError:
            if threads == 1:
                raise
            threads //= 2


def _tasks(
    making: BlockSource, chunks: Sequence[int], most: int, threads: int, least: int
) -> list[Box]:
    """Cut an output into boxes of whole chunks.

    A box grows first along what walks along `indices` alone: all that it covers there is served
    by one reading of `data`.
    """
    shape = making.shape
    counts = [-(-n // size) for n, size in zip(shape, chunks, strict=True)]
    grown = [1] * len(shape)

    def box(times: Sequence[int]) -> Box:
        return tuple((0, min(t * c, n)) for t, c, n in zip(times, chunks, shape, strict=True))

    def cost(times: Sequence[int]) -> int:
        nbytes = making.data.storage.itemsize * product(chunks)
        writers = min(threads, product(times))
        written = making.data.storage.itemsize * cells(box(times)) + writers * COPIES * nbytes
        return max(making.cost(box(times), threads), written)

    def fits(times: Sequence[int]) -> bool:
        number = product([-(-count // t) for count, t in zip(counts, times, strict=True)])
        return number >= least and cost(times) <= most

    _check(cost(grown), most)
    alone = making.alone
    others = [o for o in range(len(shape)) if o not in alone]
    for o in reversed(alone):
        grown[o] = _grow(grown, o, counts[o], fits)
    for o in reversed(others):
        if cells(box(grown)) * making.data.storage.itemsize < WORTH:
            grown[o] = _grow(grown, o, counts[o], fits)
    steps = [t * c for t, c in zip(grown, chunks, strict=True)]
    spans = [list(cuts((0, n), step)) for n, step in zip(shape, steps, strict=True)]
    # Boxes that need the same chunks follow each other: the system may still hold them.
    dims = [*others, *alone]
    found = combinations(*(spans[o] for o in dims))
    return [tuple(each[dims.index(o)] for o in range(len(shape))) for each in found]


def _slabs(making: BlockSource, most: int, threads: int) -> list[Box]:
    """Cut an output into boxes that follow each other row-major."""
    shape = making.shape
    steps = [1] * len(shape)

    def fits(times: Sequence[int]) -> bool:
        return making.cost(everything(times), threads) <= most

    _check(making.cost(everything(steps), threads), most)
    for o in reversed(range(len(shape))):
        steps[o] = _grow(steps, o, shape[o], fits)
        if steps[o] < shape[o]:
            break
    return list(tiled(everything(shape), steps))


def _check(cost: int, most: int) -> None:
    """Refuse the smallest box if it is too large."""
    if cost > most:
        enough = min(cost / LEAST, PROGRAM + cost / SHARE)
        raise LimitError(
            f"a chunk of the result, and what is read for it, takes about {cost} bytes: "
            f"expected at most {most} bytes, which is what the limit leaves for it",
            rule="limit",
            value=cost,
            expected=f"at most {most} bytes",
            hint=f"`--max-bytes {ceil(enough / 10**6)}M`, or smaller chunks (`--chunks`)",
        )


def _grow(grown: Sequence[int], o: int, count: int, fits: Callable[[Sequence[int]], bool]) -> int:
    """Find how many chunks of a dimension a box may have."""

    def times(number: int) -> list[int]:
        return [*grown[:o], number, *grown[o + 1 :]]

    low, high = 1, count
    while low < high:
        middle = (low + high + 1) // 2
        if fits(times(middle)):
            low = middle
        else:
            high = middle - 1
    return low
