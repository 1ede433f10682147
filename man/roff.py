"""Pages of the manual as roff for man(1)."""

from __future__ import annotations

from collections.abc import Iterator

from man.prose import Block, Console, Page, Terms


def roff(page: Page) -> str:
    """Format a page as roff for man(1)."""
    lines = [
        '.\\" Written by `python -m man.generate`; edit the declarations instead.',
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
