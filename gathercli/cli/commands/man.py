"""`man`: show the manual without man(1)."""

from __future__ import annotations

from typing import Final

from gathercli.cli.declarations import Answer, argument
from gathercli.cli.generated import TOPICS, page, page_text, terms
from gathercli.cli.messages import ErrorOptions
from gathercli.cli.registry import COMMANDS
from gathercli.errors import UsageError
from gathercli.frameworks.unknown import foreign_name_error
from gathercli.text import closest, listed

_WIDEST: Final = 100

TOPIC: Final = argument(
    "[COMMAND]", f"A command, or one of the topics {listed(TOPICS, 'and')}.", default=None
)


def run(*, topic: str | None = TOPIC, errors: ErrorOptions) -> Answer:
    """Return a page of the manual."""
    del errors  # used for errors alone
    if topic is not None:
        topic = topic.removeprefix("gathercli").removeprefix("-") or None
    topics = [*COMMANDS, *TOPICS]
    if topic is not None and topic not in topics:
        near = closest(topic, topics)
        hint = f"did you mean `gathercli man {near}`?" if near else None
        if any(topic in names.split(", ") for names, _ in terms(page(None), "RULES")):
            hint = "`gathercli man` explains the rules, under RULES"
        raise foreign_name_error(topic, "no page") or UsageError(
            f"no page `{topic}`", value=topic, expected=listed(topics), hint=hint
        )

    def text(width: int | None, color: bool) -> str:
        return page_text(page(topic), min(width or 80, _WIDEST), color=color)

    return Answer(text, paged=True)
