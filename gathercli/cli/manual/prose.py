"""The prose of the manual: Markdown files, whose ``{{placeholders}}`` the declarations fill.

``# NAME(SECTION)`` and a summary come first, then ``## HEADINGS`` over paragraphs, fenced lines,
and terms, whose meaning is on the lines after them, behind ``:``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gathercli.report.manual import Console, Page, Terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gathercli.report.manual import Block

    Values = Mapping[str, str | Terms | Console | tuple[Block, ...]]

FOLDER: Final = Path(__file__).parent
_PLACE: Final = re.compile(r"\{\{([\w-]+)\}\}")
_TITLE: Final = re.compile(r"# (\S+)\((\d)\)")
_PART: Final = re.compile(r"^```\n(.*?)\n```$|^(\S.*?)(?=\n\n|\n*\Z)", re.DOTALL | re.MULTILINE)
"""Fenced lines, or what stands up to an empty line."""


def page(name: str, values: Values | None = None) -> Page:
    """Make a page of ``NAME.md``.

    Parameters
    ----------
    values
        What stands in the place of each placeholder: words within a text, or blocks of their own.

    Raises
    ------
    KeyError
        A placeholder has no value.
    """
    head, *sections = _read(name)
    title, summary = head.split("\n\n")
    found = _TITLE.fullmatch(title)
    if found is None:
        raise ValueError(title)
    return Page(
        found[1], _words(summary, values or {}), tuple(_sections(sections, values)), int(found[2])
    )


def sections(name: str, values: Values | None = None) -> dict[str, tuple[Block, ...]]:
    """Return the blocks under each heading of ``NAME.md``."""
    return dict(_sections(_read(name)[1:], values))


def _read(name: str) -> list[str]:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return [part.strip("\n") for part in re.split(r"^## ", text, flags=re.MULTILINE)]


def _sections(texts: list[str], values: Values | None) -> Iterator[tuple[str, tuple[Block, ...]]]:
    for text in texts:
        heading, _, body = text.partition("\n")
        yield heading, tuple(_together(_blocks(body, values or {})))


def _blocks(text: str, values: Values) -> Iterator[Block]:
    for found in _PART.finditer(text):
        if found[1] is not None:
            yield Console(found[1])
            continue
        part = found[2]
        place = _PLACE.fullmatch(part)
        value = values[place[1]] if place else part
        if not isinstance(value, str):
            yield from value if isinstance(value, tuple) else (value,)
        elif "\n:   " in value:
            term, meaning = value.split("\n:   ")
            yield Terms(((_words(term, values), _words(meaning, values)),))
        else:
            yield _words(value, values)


def _together(blocks: Iterator[Block]) -> Iterator[Block]:
    """Put terms that follow each other into one list."""
    pairs: tuple[tuple[str, str], ...] = ()
    for block in blocks:
        if isinstance(block, Terms):
            pairs += block.pairs
            continue
        if pairs:
            yield Terms(pairs)
            pairs = ()
        yield block
    if pairs:
        yield Terms(pairs)


def _words(text: str, values: Values) -> str:
    """Fill the placeholders of a text, and join its lines."""
    return _PLACE.sub(lambda place: str(values[place[1]]), " ".join(text.split()))
