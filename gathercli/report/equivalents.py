"""What another framework's call corresponds to, in words."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

from gathercli.report.versions import aligned
from gathercli.text import listed

if TYPE_CHECKING:
    from gathercli.spec.equivalents import Equivalent
    from gathercli.spec.op import Op


def compared(each: Equivalent, nearest: Op) -> list[tuple[str, str]]:
    """Compare what becomes of indices with what the nearest row does: pairs of headings."""
    return [
        ("index from -s to -1", _beside(each.negative, nearest.negative)),
        ("index outside [-s, s-1]", _beside(each.outside, nearest.out_of_range.done)),
    ]


def text(each: Equivalent, nearest: Op, width: int | None) -> str:
    """Write a call out: what it equals, where it parts from that, what makes it equal."""
    pairs = [
        ("call", each.call),
        ("equals", f"{listed(each.rows, 'and')}, for legal indices"),
        *((what, said) for what, said in compared(each, nearest)),
        *(("otherwise" if not at else "", said) for at, said in enumerate(each.differs)),
    ]
    written = f"{each.name} beside {nearest}\n{aligned(pairs, width)}"
    for where, code in each.fixes:
        written += f"\nto be equal to {where}\n{indent(code, '  ')}\n"
    return written


def as_json(each: Equivalent) -> dict[str, Any]:
    """Return the same for JSON."""
    return {
        "name": each.name,
        "aliases": list(each.aliases),
        "call": each.call,
        "rows": list(each.rows),
        "negative": each.negative,
        "outside": each.outside,
        "differs": list(each.differs),
        "fixes": [{"equals": where, "code": code} for where, code in each.fixes],
    }


def _beside(theirs: str, ours: str) -> str:
    return theirs + (", as by the version" if theirs == ours else f"; the version: {ours}")
