"""Hypotheses about the output: how its cells were placed, after they were gathered.

Each names, for cells of the output, the cell of the right one that it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray
from gathercli.diagnose.call_hypotheses import permuted, pitches
from gathercli.spec.shapes import cell, product
from gathercli.text import counted, table_beside

# A function of flat cells of the output to those of the right output; -1 holds zero.
Cells = Callable[[AnyArray], AnyArray]
Placements = Iterator["OutputPlacement"]
# Names, sentences, and functions of rows of the output to right ones; -1 for zero.
Rows = Iterable[tuple[str, str, Cells]]
# A function of an axis to a mask of its rows that differ, as far as both outputs go; of -1 to
# one of all cells.
Fit = Callable[[int], AnyArray]


_TABLE: Final = table_beside(__name__)  # sentences, by the names of hypotheses


def then(one: OutputPlacement, other: OutputPlacement) -> OutputPlacement:
    """Return what does both, the second to what the first made."""

    def cells(flat: AnyArray) -> AnyArray:
        placed = other.cells(flat)
        return np.where(placed < 0, placed, one.cells(np.maximum(placed, 0)))

    names, sentences = f"{one.name}; {other.name}", f"{one.sentence}; {other.sentence}"
    return OutputPlacement(names, sentences, cells, one.rare + other.rare)


MAX_PERMUTED_RANK: Final = 5  # the largest rank of which every permutation is tried


class OutputPlacement(NamedTuple):
    """A hypothesis about the output."""

    name: str
    sentence: str  # what became of the output
    cells: Cells  # the cell of the right output in each cell; -1 for zero, or `UNWRITTEN`
    rare: int = 0  # how far it ranks behind others that explain as much


UNWRITTEN: Final = -2  # in place of a cell: what lay in memory
IN_ORDER: Final = OutputPlacement("", "", lambda cells: cells)
ZEROS: Final = OutputPlacement(
    "zeros", "the output is zeros", lambda cells: np.full_like(cells, -1)
)


def _by_rows(right: Sequence[int], shape: Sequence[int], axis: int, rows: Rows) -> Placements:
    """Yield placements by what they do to rows along an axis, the only one that may differ."""
    of = f"along axis {axis}"
    for name, sentence, row in rows:
        cells = _along(shape, axis, right, row)
        yield OutputPlacement(f"{name} {of}", f"{sentence}, {of}", cells)


def _along(shape: Sequence[int], axis: int, right: Sequence[int], row: Cells) -> Cells:
    """Return a function of cells from one of rows, as in `Rows`."""
    inner, size = product(shape[axis + 1 :]), shape[axis]

    def cells(flat: AnyArray) -> AnyArray:
        outer, rest = np.divmod(flat, size * inner)
        at, s = np.divmod(rest, inner)
        rows = row(at)
        return np.where(rows < 0, -1, (outer * right[axis] + rows) * inner + s)

    return cells


def placements(
    right: tuple[int, ...], shape: tuple[int, ...], fit: Fit | None = None
) -> Placements:
    """Yield the placements that turn a right output into one of a shape, which has elements.

    Without `fit` these are only those that need none.
    """
    if not product(right):
        if fit is None:
            yield ZEROS
    elif fit is None:
        yield from _plain(right, shape)
    elif right == shape:
        yield from (each._replace(rare=2) for each in _fitted(shape, fit))
    elif len(right) == len(shape):
        yield from (each._replace(rare=2) for each in _fitted_rows(right, shape, fit))


def _plain(right: tuple[int, ...], shape: tuple[int, ...]) -> Placements:
    if product(right) == product(shape):
        yield from _rearranged(right, shape)
    if right == shape:
        yield from _blocks(shape)
        for axis, size in enumerate(shape):
            if size > 1:
                yield from _by_rows(shape, shape, axis, _moves(size))
    elif len(right) == len(shape):
        only = _only_axis(right, shape)
        if only is not None:  # rows are missing, repeated or added
            n, m = right[only], shape[only]
            yield from _by_rows(right, shape, only, _fewer(n, m) if m < n else _more(n, m))
    elif len(right) == len(shape) + 1:
        yield from _one_row(right, shape)
    elif len(right) == len(shape) - 1:
        yield from _repeated_whole(right, shape)


def _rearranged(right: tuple[int, ...], shape: tuple[int, ...]) -> Placements:
    """Yield transposes, another shape, and Fortran order."""
    rank = len(right)
    if right != shape:
        yield OutputPlacement(
            "reshaped", f"the output is reshaped from {cell(right)}", lambda cells: cells
        )
    back = tuple(reversed(range(rank)))
    orders = list(permutations(range(rank)))[1:] if rank <= MAX_PERMUTED_RANK else [back]
    for axes in orders:
        if tuple(right[axis] for axis in axes) == shape and sum(n > 1 for n in right) > 1:
            text = "transposed" if axes == back else f"transposed to axes {cell(axes)}"
            yield OutputPlacement(text, f"the output is {text}", permuted(right, axes))
    if right == shape and rank > 1:
        for name, sentence, cells in _moves(product(shape)):
            yield OutputPlacement(
                name.replace("row", "cell") + " of all", sentence.replace("row", "cell"), cells
            )
    width = shape[-1] if rank > 1 and right == shape else 0
    for pitch in sorted(n for n in pitches(width) if n > width) if width else ():
        words = f"rows of {counted(width, 'element')} are written {pitch} apart"
        yield OutputPlacement(f"pitch {pitch}", words, partial(_padded, width=width, pitch=pitch))
    if sum(n > 1 for n in right) > 1:
        # The buffer holds the transpose of the right output, row-major, and has another shape.
        words = "the output in Fortran order is read row-major"
        yield OutputPlacement("Fortran order", words, permuted(right, back))
        read = permuted(tuple(reversed(shape)), tuple(reversed(range(len(shape)))))
        yield OutputPlacement("row-major as Fortran", "the output is read in Fortran order", read)


def _padded(cells: AnyArray, width: int, pitch: int) -> AnyArray:
    row, column = np.divmod(cells, pitch)
    return np.where(column < width, row * width + column, -1)


def _blocks(shape: tuple[int, ...]) -> Placements:
    """Yield blocks of the last dimensions of which only the first element is right."""
    yield ZEROS
    sizes = {
        product(shape[axis:]): product(shape[axis + 1 :]) for axis in reversed(range(len(shape)))
    }
    for block, inner in sizes.items():
        if block > 1:
            yield from _block(block, inner)


def _block(n: int, inner: int) -> Placements:
    """Yield blocks of `n` elements of which the first, or the first `inner`, are right."""
    for few in sorted({1, max(1, inner)} - {n}):
        which = "the first element" if few == 1 else f"the first {few}"
        words = f"each block of {n} has only {which}, and zeros"
        name = f"first of {n}" if few == 1 else f"first {few} of {n}"
        yield OutputPlacement(
            name, words, partial(lambda cells, few: np.where(cells % n < few, cells, -1), few=few)
        )
    words = f"the first element of each block of {n} fills it"
    yield OutputPlacement(f"first of {n} repeated", words, lambda cells: cells - cells % n)


def _worded(table: str, rows: Mapping[str, Cells], **fields: object) -> Rows:
    """Return rows with the sentences of a table; names and sentences have `fields`."""
    return [
        (name.format(**fields), sentence.format(**fields), rows[name])
        for name, sentence in _TABLE[table].items()
    ]


def _moves(n: int) -> Rows:
    """Return what makes n rows all the same, turns them round or moves them by one."""
    half = -(-n // 2)
    rows: dict[str, Cells] = {
        "first repeated": np.zeros_like,
        "last repeated": lambda row: np.full_like(row, n - 1),
        "reversed": lambda row: n - 1 - row,
        "rows late": lambda row: row - 1,
        "rows stale": lambda row: np.maximum(row - 1, 0),
        "rows early": lambda row: np.where(row + 1 < n, row + 1, -1),
        "rows turned": lambda row: (row - 1) % n,
        "rows turned back": lambda row: (row + 1) % n,
        "rows doubled": lambda row: row // 2,
        "half again": lambda row: row % half,
        "swapped in pairs": lambda row: np.where((row ^ 1) < n, row ^ 1, row),
        "interleaved": lambda row: np.where(row < half, 2 * row, 2 * (row - half) + 1),
    }
    return _worded("moves", rows)


def _only_axis(right: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    axes = [d for d, (one, other) in enumerate(zip(right, shape, strict=True)) if one != other]
    return axes[0] if len(axes) == 1 else None


def _fewer(n: int, m: int) -> Rows:
    """Yield what leaves m of n rows."""
    rows = f"{counted(n - m, 'row is', 'rows are')} missing".removeprefix("1 ")
    yield "last rows missing", f"the last {rows}", lambda row: row
    yield "first rows missing", f"the first {rows}", lambda row: row + n - m
    for step in {n // m, -(-n // m)} if m else ():
        if step > 1 and (m - 1) * step < n:
            sentence = f"only one row of {step} is there"
            yield f"one row of {step}", sentence, partial(np.multiply, step)


def _more(n: int, m: int) -> Rows:
    """Yield what makes m of n rows."""
    yield "zeros after", "rows of zeros follow", lambda row: np.where(row < n, row, -1)
    yield "zeros before", "rows of zeros precede", lambda row: np.maximum(row - m + n, -1)
    yield "last again", "the last row is repeated", lambda row: np.minimum(row, n - 1)
    yield "first again", "the first row is repeated", lambda row: np.maximum(row - m + n, 0)
    yield "all again", "the rows follow again", lambda row: row % n
    if m % n == 0:
        times = m // n
        yield f"each {times} times", f"each row is repeated {times} times", lambda row: row // times


def _one_row(right: tuple[int, ...], shape: tuple[int, ...]) -> Placements:
    """Yield outputs that lack a dimension, of which only one row is there."""
    for axis in range(len(right)):
        if right[:axis] + right[axis + 1 :] != shape or right[axis] < 2:
            continue
        thin = (*shape[:axis], 1, *shape[axis:])
        for name, at in (("first", 0), ("last", right[axis] - 1)):
            yield OutputPlacement(
                f"only the {name} of axis {axis}",
                f"only the {name} row along axis {axis} is there",
                _along(thin, axis, right, partial(np.full_like, fill_value=at)),
            )


def _repeated_whole(right: tuple[int, ...], shape: tuple[int, ...]) -> Placements:
    """Yield outputs with one more dimension, along which they are repeated."""
    for axis in range(len(shape)):
        if shape[:axis] + shape[axis + 1 :] == right and shape[axis] > 1:
            thin = (*right[:axis], 1, *right[axis:])
            yield OutputPlacement(
                f"repeated along a new axis {axis}",
                f"the output is repeated along a new axis {axis}",
                _along(shape, axis, thin, np.zeros_like),
            )


def _fitted_rows(right: tuple[int, ...], shape: tuple[int, ...], fit: Fit) -> Placements:
    """Yield rows that are missing or added in the middle, from the first that differs."""
    axis = _only_axis(right, shape)
    if axis is None:
        return
    differs = np.flatnonzero(fit(axis))
    if differs.size:
        first, change = int(differs[0]), shape[axis] - right[axis]
        rows = _removed(first, -change) if change < 0 else _added(first, change)
        yield from _by_rows(right, shape, axis, rows)


def _removed(first: int, number: int) -> Rows:
    which = f"row {first}" if number == 1 else f"rows {first} to {first + number - 1}"
    are = "is" if number == 1 else "are"
    yield (
        f"{which} missing",
        f"{which} {are} missing",
        lambda row: np.where(row < first, row, row + number),
    )


def _added(first: int, more: int) -> Rows:
    last, are = max(0, first - 1), "is" if more == 1 else "are"
    yield (
        f"row {last} again",
        f"row {last} is there {more + 1} times",
        lambda row: np.where(row < first, row, np.maximum(row - more, last)),
    )
    yield (
        f"zeros from {first}",
        f"{counted(more, 'row')} of zeros {are} put in at {first}",
        lambda row: np.where(row < first, row, np.where(row < first + more, -1, row - more)),
    )


def _fitted(shape: tuple[int, ...], fit: Fit) -> Placements:
    """Yield runs of rows that are zero, stale, repeated or missing, in an output of right shape."""
    for axis, size in enumerate(shape):
        differs = np.flatnonzero(fit(axis)) if size > 1 else np.empty(0, int)
        if differs.size and (differs.size < size or not axis):
            rows = _of_differing(size, int(differs[0]), int(differs[-1]))
            yield from _by_rows(shape, shape, axis, rows)
    differs = np.flatnonzero(fit(-1)) if len(shape) > 1 else np.empty(0, int)
    if differs.size and differs[-1] + 1 == product(shape):
        first = int(differs[0])
        yield unwritten(first)
        if min(first, differs.size) >= MIN_UNWRITTEN and differs.size == differs[-1] + 1 - first:
            yield unwritten(first, zeros=False)
        for n in (each for each in BLOCKS if each <= first):
            words = f"the cells from {first} on hold those {n} before"
            earlier = partial(lambda cells, n: np.where(cells < first, cells, cells - n), n=n)
            yield OutputPlacement(f"cells from {first} as {n} before", words, earlier, 2)


BLOCKS: Final = (4, 8, 16, 32)  # the cells of the blocks in which an output may be written


def unwritten(first: int, *, zeros: bool = True) -> OutputPlacement:
    """Return what leaves the cells from one on unwritten: zeros, or whatever lay there."""
    held, kind = (-1, "zero") if zeros else (UNWRITTEN, "unwritten")
    words = f"the cells from {first} on were not written" + ", and hold zeros" * zeros
    return OutputPlacement(
        f"cells from {first} {kind}", words, lambda cells: np.where(cells < first, cells, held), 2
    )


MIN_UNWRITTEN: Final = 8  # the least number of right cells, and of foreign ones behind them


def _of_differing(size: int, first: int, last: int) -> Rows:
    """Return what may have become of the rows from the first to the last that differs."""
    is_one = first == last
    which = f"row {first}" if is_one else f"rows {first} to {last}"
    was, holds = ("was", "holds") if is_one else ("were", "hold")
    before, after = max(0, first - 1), min(size - 1, last + 1)

    def held(value: int) -> Cells:
        return lambda row: np.where((row >= first) & (row <= last), value, row)

    def without(row: AnyArray, end: int) -> AnyArray:
        return np.where(row < first, row, np.where(row + 1 < size, row + 1, end))

    rows: dict[str, Cells] = {
        "{which} zero": held(-1),
        "{which} stale": held(before),
        "{which} as row 0": held(0),
        "{which} ahead": held(after),
        "row {first} missing": partial(without, end=-1),
        "row {first} missing, last again": partial(without, end=size - 1),
        "row {before} twice": lambda row: np.where(row < first, row, row - 1),
        "rows {first} and {last} swapped": lambda row: np.where(
            row == first, last, np.where(row == last, first, row)
        ),
    }
    fields = {"which": which, "was": was, "holds": holds, "first": first, "last": last}
    return _worded("differing", rows, **fields, before=before, after=after)
