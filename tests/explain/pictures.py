"""Read what `explain` prints: the cells of each tensor with their letters, and the labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    At = tuple[int, ...]

_TITLE: Final = re.compile(r"(?:^|(?<= {4}))(?:data|indices|out)(?: i64\S*)?(?= {4}|$)")
_BATCH: Final = re.compile(r"(?:batch ([\d,]+)(?: → \d+)?|\[([\d,]+?)(?:,:)*\])(?= {4}|$)")
_FACET: Final = re.compile(r"\[([\d,]+),:,:\](?: +(\S+))?(?: +(\S+))?")
_NOTE: Final = re.compile(r" {3}(data\[[\d,:]*\]|zeros|refused)$")
_LEGEND: Final = re.compile(r"(?:^| {3})([A-Z]+) (data\[[\d,:]*\])(?= {3}|$)")


class Shown(NamedTuple):
    """A cell of a picture: its coordinates, its letter or mark, its text."""

    at: At
    label: str
    text: str


class Named(NamedTuple):
    """A label that names a part of `data`, and the cells that it is beside."""

    label: str
    cells: list[Shown]


class Read(NamedTuple):
    """A picture as it was read: the cells of each tensor, labels beside rows and facets, legend."""

    cells: dict[str, list[Shown]]
    labels: list[Named]
    legend: dict[str, str]


class _Block(NamedTuple):
    """The lines of a tensor below its title, and the leading coordinates that its cells share."""

    tensor: str
    lead: At
    lines: list[str]
    is_row: bool  # whether its title stands on the left of it, as where vectors are rows


def read_picture(
    text: str, *, lead: int, ranks: dict[str, int], out_is_row: bool, out_is_joined: bool
) -> Read:
    """Read a picture.

    Parameters
    ----------
    lead
        The leading dimensions that are panels.
    ranks
        The rank of each tensor, where a tuple of indices is one cell, without these dimensions.
    out_is_row
        Whether an output that is a vector stands along a line.
    out_is_joined
        Whether the leading dimensions are one in the output.
    """
    read = Read({name: [] for name in ranks}, [], {})
    lines = text.splitlines()
    read.legend.update(pair for line in lines for pair in _LEGEND.findall(line))
    for block in _blocks(lines, lead):
        rank = ranks[block.tensor]
        is_row = block.is_row or (block.tensor == "out" and out_is_row)
        has_columns = rank > 1 or (rank == 1 and is_row)
        leading = 1 if block.tensor == "out" and out_is_joined else lead
        _read_block(read, block, leading, has_columns=has_columns, has_rows=rank > has_columns)
    return read


def _blocks(lines: list[str], lead: int) -> Iterator[_Block]:
    """Yield the blocks of all panels: a title, and what is below it up to an empty line."""
    panels: list[tuple[int, At]] = [(0, ())]
    for n, line in enumerate(lines):
        headings = [(each.start(), _numbers(each[1] or each[2])) for each in _BATCH.finditer(line)]
        is_heading = headings and all(len(at) == lead for _, at in headings)
        if lead and is_heading and not _BATCH.sub("", line).strip(" …"):
            panels = headings
        titles = list(_TITLE.finditer(line))
        if not titles or (lead and "i64" in line):
            continue
        is_row = bool(_TITLE.sub("", line).strip())
        ends = [each.start() for each in titles[1:]] + [len(max(lines, key=len)) + 1]
        first = n + 1
        if is_row:
            first = next(m for m in range(n, 0, -1) if not lines[m - 1].strip(" …"))
            first += bool(not _BATCH.sub("", lines[first]).strip(" …") and lead)
        below = lines[first : next(m for m in range(n, len(lines)) if not lines[m].strip())]
        for title, end in zip(titles, ends, strict=True):
            at = next(at for start, at in reversed(panels) if start <= title.start())
            start = title.end() if is_row else title.start()
            part = [each[start:end].rstrip() for each in below]
            shown = [each for each in part if each.strip(" ⋮")]
            yield _Block(title[0].split()[0], at, shown, is_row)


def _numbers(text: str) -> At:
    return tuple(map(int, filter(None, text.split(","))))


def _read_block(
    read: Read, block: _Block, leading: int, *, has_columns: bool, has_rows: bool
) -> None:
    facet: At = ()
    facet_label, above, columns = "", dict[int, str](), list[int]()
    facet_cells: list[Shown] = []
    for line in block.lines:
        words = list(re.finditer(r"\S+", line))
        if heading := _FACET.fullmatch(line.strip()):
            facet, facet_label = _numbers(heading[1])[leading:], heading[2] or ""
            above, columns, facet_cells = {}, [], []
            if heading[3]:
                read.labels.append(Named(heading[3], facet_cells))
        elif has_columns and not columns and not all(word[0].isdecimal() for word in words):
            above = {word.end(): word[0] for word in words}  # a letter ends where its column does
        elif has_columns and not columns:
            columns = [int(word[0]) for word in words]
            above = {int(word[0]): above.get(word.end(), facet_label) for word in words}
        else:
            row, note = _read_row(
                line,
                columns if has_columns else None,
                has_rows=has_rows,
                is_labelled=has_rows or not block.is_row,
            )
            shown = [
                Shown((*block.lead, *facet, *at), label or above.get(column, facet_label), text)
                for column, (at, label, text) in zip(columns or [0], row, strict=True)
            ]
            read.cells[block.tensor].extend(shown)
            facet_cells += shown
            if note:
                read.labels.append(Named(note, shown))


def _read_row(
    line: str, columns: list[int] | None, *, has_rows: bool, is_labelled: bool
) -> tuple[list[Shown], str | None]:
    """Read the cells of a line by their coordinates in a facet, and the label behind them."""
    note = _NOTE.search(line)
    line = re.sub(r"\S+ → (\S+)", r"\1", line[: note.start()] if note else line)
    pairs, label = list[tuple[str, str]](), ""
    for word in line.replace("…", " ").split():
        if re.fullmatch(r"-?\d+|\([-\d,]*\)|none", word):
            pairs.append((label, word))
            label = ""
        else:
            label = re.sub("\N{MULTIPLICATION SIGN}.*", "", word)
    first: At = ()
    row_label = pairs[0][0] * is_labelled
    if has_rows:
        first, pairs = (int(pairs[0][1]),), pairs[1:]
    places = [first] if columns is None else [(*first, n) for n in columns]
    return [
        Shown(at, each or row_label, text) for at, (each, text) in zip(places, pairs, strict=True)
    ], note[1] if note else None
