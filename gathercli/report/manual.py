"""Manual pages, as roff for man(1) and as text for any terminal."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from gathercli.report.terminal import rendered

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms with their explanations."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Console:
    """Lines that are not wrapped: commands after ``$`` and their output."""

    text: str


Block: TypeAlias = str | Terms | Console


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the manual; `sections` are headings with their blocks."""

    name: str
    summary: str
    sections: tuple[tuple[str, tuple[Block, ...]], ...]
    number: int = 1

    @property
    def file_name(self) -> str:
        """The name of its file: ``gathercli-gather.1``."""
        return f"{self.name}.{self.number}"

    def blocks(self, heading: str) -> tuple[Block, ...]:
        """Return the blocks of a section."""
        return dict(self.sections)[heading]


def text(page: Page, width: int = 80) -> Iterator[tuple[str, str]]:
    """Format a page as lines of text.

    Yields
    ------
        A style (``heading``, ``term``, ``console``, ``body``) and a line.
    """
    yield "heading", "NAME"
    yield from _block_text(f"{page.name} - {page.summary}", width)
    for heading, blocks in page.sections:
        yield "body", ""
        yield "heading", heading
        for at, block in enumerate(blocks):
            if at:
                yield "body", ""
            yield from _block_text(block, width)


def page_text(page: Page, width: int, *, color: bool) -> str:
    """Format a page as text, in colour or plain."""
    if not color:
        return "".join(f"{line}\n" for _, line in text(page, width))
    from rich.text import Text

    styles = {"heading": "bold", "term": "cyan", "console": "green"}
    out = Text()
    for style, line in text(page, width):
        out.append(f"{line}\n", styles.get(style, ""))
    return rendered(out, color=True)


def _block_text(block: Block, width: int) -> Iterator[tuple[str, str]]:
    if isinstance(block, Console):
        for line in block.text.splitlines():
            yield "console", f"    {line}".rstrip()
    elif isinstance(block, Terms):
        for term, meaning in block.pairs:
            yield "term", f"    {term}"
            for line in textwrap.wrap(meaning, width - 12, break_on_hyphens=False):
                yield "body", f"            {line}"
    else:
        for line in textwrap.wrap(block, width - 4, break_on_hyphens=False):
            yield "body", f"    {line}"


def roff(page: Page) -> str:
    """Format a page as roff for man(1)."""
    lines = [
        '.\\" Written by `python -m gathercli.cli.manual.generate`; edit the declarations instead.',
        f'.TH {page.name.upper()} {page.number} "" "gathercli" "gathercli manual"',
        ".SH NAME",
        f"{_escaped(page.name)} \\- {_escaped(page.summary)}",
    ]
    for heading, blocks in page.sections:
        lines.append(f'.SH "{heading}"')
        for at, block in enumerate(blocks):
            lines += _block_roff(block, first=not at)
    return "\n".join(lines) + "\n"


def _block_roff(block: Block, *, first: bool) -> Iterator[str]:
    if isinstance(block, Console):
        lines = (_escaped(line) or "\\&" for line in block.text.splitlines())
        yield from (".PP", ".RS 4", ".EX", *lines, ".EE", ".RE")
    elif isinstance(block, Terms):
        for term, meaning in block.pairs:
            yield from (".TP", f"\\fB{_escaped(term)}\\fR", _escaped(meaning))
    else:
        yield from (() if first else (".PP",))
        yield _escaped(block)


def _escaped(words: str) -> str:
    words = words.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    words = words.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    words = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in words)
    return "\\&" + words if words.startswith((".", "\\(aq")) else words
