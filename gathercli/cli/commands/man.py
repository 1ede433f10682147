"""`man`: show the manual without man(1)."""

from __future__ import annotations

from typing import Final

from gathercli.cli.declarations import Answer, argument
from gathercli.cli.messages import ErrorOptions
from gathercli.cli.registry import COMMANDS
from gathercli.errors import UsageError
from gathercli.ops.unknown import foreign_name_error
from gathercli.text import closest, listed

_WIDEST: Final = 100

TOPIC: Final = argument(
    "[COMMAND]",
    "A command, or one of the topics formats, jobs, operators and planning.",
    default=None,
)


def run(*, topic: str | None = TOPIC, errors: ErrorOptions) -> Answer:
    """Return a page of the manual."""
    del errors  # used for errors alone
    from gathercli.cli.pages import TOPICS, page
    from gathercli.cli.prose import page_text

    if topic is not None:
        topic = topic.removeprefix("gathercli").removeprefix("-") or None
    topics = [*COMMANDS, *TOPICS]
    if topic is not None and topic not in topics:
        near = closest(topic, topics)
        hint = f"did you mean `gathercli man {near}`?" if near else None
        if topic in _rules():
            hint = "`gathercli man` explains the rules, under RULES"
        raise foreign_name_error(topic, "no page") or UsageError(
            f"no page `{topic}`", value=topic, expected=listed(topics), hint=hint
        )

    def text(width: int | None, color: bool) -> str:
        return page_text(page(topic), min(width or 80, _WIDEST), color=color)

    return Answer(text, paged=True)


def _rules() -> set[str]:
    """Return the names of the rules that the manual explains."""
    from gathercli.cli.pages import page
    from gathercli.cli.prose import Terms

    blocks = page(None).blocks("RULES")
    terms = (term for block in blocks if isinstance(block, Terms) for term, _ in block.pairs)
    return {name for term in terms for name in term.split(", ")}
