"""The prose of the manual: Markdown files with ``{{placeholders}}``.

A page starts with ``# NAME(SECTION)`` and a summary. Its ``## HEADINGS`` have paragraphs, fenced
lines, and terms with their meaning on the next lines, after ``:``.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gathercli.report.manual import Console, Page, Terms
from gathercli.slices import SLICES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gathercli.report.manual import Block

    Values = Mapping[str, str | Terms | Console | tuple[Block, ...]]

FOLDER: Final = Path(__file__).parent
_PLACE: Final = re.compile(r"\{\{([\w-]+)\}\}")
_TITLE: Final = re.compile(r"# (\S+)\((\d)\)")
_PART: Final = re.compile(r"^```\n(.*?)\n```$|^(\S.*?)(?=\n\n|\n*\Z)", re.DOTALL | re.MULTILINE)
"""Fenced lines, or a paragraph."""

PLACES: Final = (
    *("check-pictures", "compare-pictures", "info-pictures"),
    *("compare-runtimes", "batch-runtimes", "translate-runtimes"),
)
"""The placeholders for what a slice adds to a command of another room; blank without it."""


def page(name: str, values: Values | None = None) -> Page:
    """Return the page of ``NAME.md``.

    Parameters
    ----------
    values
        The values of the placeholders: text within a text, or blocks for a whole paragraph.

    Raises
    ------
    KeyError
        A placeholder has no value.
    """
    head, *sections = _read(name)
    title, summary = head.split("\n\n")
    heading = _TITLE.fullmatch(title)
    if heading is None:
        raise ValueError(title)
    blocks = tuple(_sections(sections, values))
    return Page(heading[1], _words(summary, values or {}), blocks, int(heading[2]))


def sections(name: str | Path, values: Values | None = None) -> dict[str, tuple[Block, ...]]:
    """Return the blocks under each heading of ``NAME.md``, or of another file."""
    return dict(_sections(_read(name)[1:], values))


def sections_of_all(name: str, values: Values | None = None) -> dict[str, tuple[Block, ...]]:
    """Return the blocks under each heading of ``NAME.md``, and of the files of that name of slices.

    A heading of a slice that is one of `PLACES` stands for its placeholder in the file of the core,
    and in those of slices after it.
    """
    given: dict[str, tuple[Block, ...]] = {}
    filled: dict[str, Any] = {**dict.fromkeys(PLACES, ()), **(values or {})}
    for path in (FOLDER.parents[1] / each.name / f"{name}.md" for each in SLICES):
        if path.exists():
            given |= sections(path, filled)
            filled |= {place: given.pop(place) for place in PLACES if place in given}
    return sections(name, filled) | given


def _read(name: str | Path) -> list[str]:
    path = name if isinstance(name, Path) else FOLDER / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    return [part.strip("\n") for part in re.split(r"^## ", text, flags=re.MULTILINE)]


def _sections(texts: list[str], values: Values | None) -> Iterator[tuple[str, tuple[Block, ...]]]:
    for text in texts:
        heading, _, body = text.partition("\n")
        yield heading, tuple(_join_terms(_blocks(body, values or {})))


def _blocks(text: str, values: Values) -> Iterator[Block]:
    for match in _PART.finditer(text):
        fenced, part = match.groups()
        if fenced is not None:
            yield Console(fenced)
            continue
        place = _PLACE.fullmatch(part)
        value = values[place[1]] if place else part
        if not isinstance(value, str):
            yield from value if isinstance(value, tuple) else (value,)
        elif "\n:   " in value:
            term, meaning = value.split("\n:   ")
            yield Terms(((_words(term, values), _words(meaning, values)),))
        else:
            yield _words(value, values)


def _join_terms(blocks: Iterator[Block]) -> Iterator[Block]:
    """Join consecutive terms into one list."""
    for is_terms, group in groupby(blocks, lambda block: isinstance(block, Terms)):
        if is_terms:
            yield Terms(
                tuple(pair for each in group if isinstance(each, Terms) for pair in each.pairs)
            )
        else:
            yield from group


def _words(text: str, values: Values) -> str:
    """Join the lines of a text, and fill its placeholders; those of no blocks with nothing."""

    def fill(place: re.Match[str]) -> str:
        value = values[place[1]]
        return " ".join(map(str, value if isinstance(value, tuple) else (value,)))

    return _PLACE.sub(fill, " ".join(text.split())).rstrip()
