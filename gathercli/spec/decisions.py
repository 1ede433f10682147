"""Decisions on questions where the specifications are silent: those of `decisions.toml`."""

from __future__ import annotations

from functools import cache

from gathercli.records import NamedTuple
from gathercli.spec.op import Op
from gathercli.text import table_beside


class Decision(NamedTuple):
    """The answer to an open question of a specification."""

    id: str  # a permanent short name: ``gather-8-range``
    rows: list[str]  # the full names of the versions concerned
    question: str  # the gap or contradiction in the texts
    choice: str
    reason: str
    evidence: str  # the source of the reason


_TEXTS = Decision._fields[2:]


@cache
def every_decision() -> tuple[Decision, ...]:
    """Return all decisions, by operator and question."""
    return tuple(
        Decision(name, each["rows"], *(" ".join(each[field].split()) for field in _TEXTS))
        for name, each in table_beside(__name__).items()
    )


def concerning(op: Op) -> tuple[Decision, ...]:
    """Return the decisions on a version."""
    return tuple(each for each in every_decision() if op.full_name in each.rows)
