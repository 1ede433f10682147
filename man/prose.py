"""Pages of the manual: read from Markdown with ``{{placeholders}}``, written without them.

A page starts with ``# NAME(SECTION)`` and a summary. Its ``## HEADINGS`` have paragraphs, fenced
lines, and terms with their meaning on the next lines, after ``:``. In ``examples.md`` a command has
fenced lines: ``# DESCRIPTION``, ``$ COMMAND``, and the output, or ``...`` if that is too long for a
page; those without a description are for the manual alone. A test runs each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from gathercli.slices import SLICES


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms with their explanations."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Console:
    """Lines that are not wrapped: commands after ``$`` and their output."""

    text: str


Block: TypeAlias = str | Terms | Console
Section: TypeAlias = tuple[str, tuple[Block, ...]]  # a heading with its blocks


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the manual."""

    name: str
    summary: str
    sections: tuple[Section, ...]
    number: int = 1

    @property
    def file_name(self) -> str:
        """The name of its file: ``gathercli-gather.1``."""
        return f"{self.name}.{self.number}"

    def blocks(self, heading: str) -> tuple[Block, ...]:
        """Return the blocks of a section."""
        return dict(self.sections)[heading]


Values: TypeAlias = Mapping[str, str | Terms | Console | tuple[Block, ...]]

# The prose of the core; that of a slice is in a folder of its name.
FOLDER: Final = Path(__file__).parent / "prose"

_PLACE: Final = re.compile(r"\{\{([\w-]+)\}\}")
_TITLE: Final = re.compile(r"# (\S+)\((\d)\)")
# Fenced lines, or a paragraph.
_PART: Final = re.compile(r"^```\n(.*?)\n```$|^(\S.*?)(?=\n\n|\n*\Z)", re.DOTALL | re.MULTILINE)

# The placeholders for what a slice adds to a command of another room; blank without it.
PLACES: Final = (
    *("check-pictures", "compare-pictures", "info-pictures"),
    *("compare-runtimes", "batch-runtimes", "translate-runtimes"),
)


def page(name: str, values: Values | None = None) -> Page:
    """Return the page of ``NAME.md``.

    The values of its placeholders are text within a text, or blocks for a whole paragraph.
    """
    head, *sections = _read(name)
    title, summary = head.split("\n\n")
    heading = _TITLE.fullmatch(title)
    if heading is None:
        raise ValueError(title)
    blocks = tuple(_sections(sections, values))
    return Page(heading[1], _words(summary, values or {}), blocks, int(heading[2]))


def sections(name: str, values: Values | None = None) -> dict[str, tuple[Block, ...]]:
    """Return the blocks under each heading of ``NAME.md``."""
    return dict(_sections(_read(name)[1:], values))


def sections_of_all(name: str, values: Values | None = None) -> dict[str, tuple[Block, ...]]:
    """Return the blocks under each heading of ``NAME.md``, and of the files of that name of slices.

    A heading of a slice that is one of `PLACES` stands for its placeholder in the file of the core,
    and in those of slices after it.
    """
    given: dict[str, tuple[Block, ...]] = {}
    filled: dict[str, Any] = {**dict.fromkeys(PLACES, ()), **(values or {})}
    for each in SLICES:
        if (FOLDER / each.name / f"{name}.md").exists():
            given |= sections(f"{each.name}/{name}", filled)
            filled |= {place: given.pop(place) for place in PLACES if place in given}
    return sections(name, filled) | given


def _read(name: str) -> list[str]:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return [part.strip("\n") for part in re.split(r"^## ", text, flags=re.MULTILINE)]


def _sections(texts: list[str], values: Values | None) -> Iterator[Section]:
    for text in texts:
        heading, _, body = text.partition("\n")
        yield heading, tuple(_blocks(body, values or {}))


def _blocks(text: str, values: Values) -> list[Block]:
    """Return the blocks of a text, consecutive terms in one."""
    blocks: list[Block] = []
    for match in _PART.finditer(text):
        fenced, part = match.groups()
        place = part and _PLACE.fullmatch(part)
        value = Console(fenced) if part is None else values[place[1]] if place else part
        if isinstance(value, str):
            term, mark, meaning = value.partition("\n:   ")
            pair = _words(term, values), _words(meaning, values)
            value = Terms((pair,)) if mark else pair[0]
        for each in value if isinstance(value, tuple) else (value,):
            before = blocks[-1] if blocks else None
            if isinstance(each, Terms) and isinstance(before, Terms):
                blocks[-1] = Terms(before.pairs + each.pairs)
            else:
                blocks.append(each)
    return blocks


def _words(text: str, values: Values) -> str:
    """Join the lines of a text, and fill its placeholders; those of no blocks with nothing."""

    def fill(place: re.Match[str]) -> str:
        value = values[place[1]]
        return " ".join(map(str, value if isinstance(value, tuple) else (value,)))

    return _PLACE.sub(fill, " ".join(text.split())).rstrip()


_EXAMPLE: Final = re.compile(r"(?:^# (.*)\n)?^\$ (.*)\n?((?:^(?![#$] ).*\n?)*)", re.MULTILINE)


class Example(NamedTuple):
    """A command line and its output."""

    shows: str  # a description; empty for the manual's own examples
    command: str
    output: str | None  # of the command; None if it is too long


def _examples_in(blocks: tuple[Block, ...]) -> Iterator[Example]:
    """Read the examples of a command."""
    text = "\n".join(each.text for each in blocks if isinstance(each, Console))
    for shows, command, output in _EXAMPLE.findall(text):
        shown = None if output.startswith("...") else output.rstrip("\n")
        yield Example(shows, command, shown)


EXAMPLES: Final = {
    command: tuple(_examples_in(blocks)) for command, blocks in sections_of_all("examples").items()
}


def console(command: str) -> str:
    """Format the examples of a command for the manual; nothing if it has none."""
    lines = ((f"$ {each.command}", each.output) for each in EXAMPLES.get(command, ()))
    return "\n".join(part for pair in lines for part in pair if part)


def markdown(sections: Iterable[Section]) -> str:
    """Write sections as a page of the manual: a paragraph or a meaning is one line."""
    return "\n".join(
        f"# {heading}\n" + "\n".join(map(_block_markdown, blocks)) for heading, blocks in sections
    )


def _block_markdown(block: Block) -> str:
    if isinstance(block, Console):
        return "".join(f"{line}\n" for line in ("```", *block.text.splitlines(), "```"))
    if isinstance(block, Terms):
        return "".join(f"{term}\n:   {meaning}\n" for term, meaning in block.pairs)
    return f"{block}\n"
