"""The decisions where the specifications are silent, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.report.versions import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.spec.decisions import Decision


def text(decisions: Iterable[Decision], width: int | None) -> str:
    """Format decisions in full, one below the other."""
    fields = ("question", "choice", "reason", "evidence")
    return "\n".join(
        f"{each.id}\n"
        + aligned(
            [("versions", " ".join(each.rows)), *((name, getattr(each, name)) for name in fields)],
            width,
        )
        for each in decisions
    )
