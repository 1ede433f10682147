"""The equivalents of another framework's call, in words."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

from gathercli.report.versions import aligned
from gathercli.text import listed

if TYPE_CHECKING:
    from gathercli.spec.equivalents import Equivalent
    from gathercli.spec.op import Op


def text(each: Equivalent, nearest: Op, width: int | None) -> str:
    """Format a call: the equal versions, the differences, and code without differences."""
    pairs = [
        ("call", each.call),
        ("equals", f"{listed(each.rows, 'and')}, for legal indices"),
        ("index from -s to -1", _beside(each.negative, nearest.negative, nearest)),
        ("index outside [-s, s-1]", _beside(each.outside, nearest.out_of_range.done, nearest)),
        *(("" if at else "otherwise", line) for at, line in enumerate(each.differs)),
    ]
    fixes = (f"\nto be equal to {row}\n{indent(code, '  ')}\n" for row, code in each.fixes)
    return f"{each.name} beside {nearest}\n{aligned(pairs, width)}{''.join(fixes)}"


def as_json(each: Equivalent) -> dict[str, Any]:
    """Return the fields of a call for JSON."""
    fields = {"name": each.name, "aliases": each.aliases} | each._asdict()
    return fields | {"fixes": [{"equals": row, "code": code} for row, code in each.fixes]}


def _beside(theirs: str, ours: str, op: Op) -> str:
    return f"{theirs}, as in {op}" if theirs == ours else f"{theirs}; in {op} {ours}"
