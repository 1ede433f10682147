"""Output cells as they are asked for, and their ways as data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gathercli.errors import UsageError
from gathercli.spec.coordinates import cell as coordinates_text
from gathercli.spec.shapes import product
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.arrays.tensor import AnyArray
    from gathercli.lessons.lesson import Lesson
    from gathercli.report.selection import Window

CELLS: Final = 1 << 12
"""Cells written at a time."""


def positions(lesson: Lesson, window: Window, cell: tuple[int, ...] | None) -> Iterator[AnyArray]:
    """Yield the flat positions of the output cells that were asked for, some at a time."""
    import numpy as np

    if cell is not None:
        window = tuple(slice(n, n + 1) for n in lesson.cell(cell))
    chosen = [
        range(size)[window[j] or slice(None)] if j < len(window) else range(size)
        for j, size in enumerate(lesson.shape)
    ]
    count = product([len(each) for each in chosen])
    for start in range(0, count, CELLS):
        rest = np.arange(start, min(start + CELLS, count))
        cells, step = np.zeros_like(rest), 1
        for each, size in zip(reversed(chosen), reversed(lesson.shape), strict=True):
            cells += (rest % len(each) + each.start) * step
            rest, step = rest // len(each), step * size
        yield cells


def as_json(
    lesson: Lesson, about: dict[str, str | None], blocks: Iterator[AnyArray]
) -> Iterator[str]:
    """Write everything known of a lesson, and the way of every cell, as one line of JSON.

    Parameters
    ----------
    about
        What else is known of it; None for what is not.
    """
    import json

    from gathercli.io.formats.encode import json_words
    from gathercli.lessons.lesson import Fate
    from gathercli.report.lesson import summary_json

    known = {name: said for name, said in about.items() if said is not None}
    head = json.dumps(known | summary_json(lesson), separators=(",", ":"))
    yield f'{head[:-1]},"cells":['
    between = ""
    for cells in blocks:
        block = lesson.block(cells)
        ways = zip(
            block.ways(),
            block.k.tolist(),
            block.positions.tolist(),
            json_words(block.held),
            strict=True,
        )
        words = []
        for (out, at, data), index, position, value in ways:
            fate = lesson.fate(index, position)
            copied = fate is Fate.COPIED
            words.append(
                f'{{"out":{coordinates_text(out)},"indices":{coordinates_text(at)},"index":{index},'
                f'"position":{position if copied else "null"},'
                f'"data":{coordinates_text(data) if copied else "null"},"fate":"{fate.value}",'
                f'"value":{"null" if fate is Fate.REFUSED else value}}}'
            )
        yield between + ",".join(words)
        between = ","
    yield "]}\n"


def coordinates(text: str | None) -> tuple[int, ...] | None:
    """Read coordinates: ``0,-1`` or ``[0,-1]``."""
    if text is None:
        return None
    body = text.strip().removeprefix("[").removesuffix("]").strip()
    if not body:
        return ()
    words = [word.strip() for word in body.split(",")]
    if not all(re.fullmatch(r"[+-]?\d{1,18}", word, re.ASCII) for word in words):
        raise UsageError(
            f"`--cell` is `{clean(text[:80])}`: expected coordinates such as 0,2",
            rule="usage",
            value=text,
        )
    return tuple(map(int, words))


def window(text: str | None) -> Window:
    """Read slices: ``0:3,:,10:20``; a number is one coordinate."""
    if text is None:
        return ()
    slices: list[slice] = []
    for word in text.strip().removeprefix("[").removesuffix("]").split(","):
        found = re.fullmatch(r"\s*([+-]?\d{1,18})?\s*(:)?\s*([+-]?\d{1,18})?\s*", word, re.ASCII)
        if not found or not (found[1] or found[2]) or (found[3] and not found[2]):
            raise UsageError(
                f"`--window` is `{clean(text[:80])}`: expected slices such as 0:3,:,10:20",
                rule="usage",
                value=text,
            )
        start, stop = (None if found[n] is None else int(found[n]) for n in (1, 3))
        if not found[2] and start is not None:
            stop = start + 1 or None
        slices.append(slice(start, stop))
    return tuple(slices)
