"""The lessons of `demo`; loaded if the slice is there."""

from __future__ import annotations

import json

from man import prose
from man.prose import Block, Console, Terms


def lessons() -> str:
    """Return the lessons as `gathercli.explain.demo` reads them: a JSON object each."""
    every = [_lesson(*section) for section in prose.sections("explain/lessons").items()]
    return json.dumps(every, indent=1, ensure_ascii=False) + "\n"


def _lesson(name: str, blocks: tuple[Block, ...]) -> dict[str, object]:
    title, says, terms, proof, *tries = blocks
    if not isinstance(terms, Terms) or not isinstance(proof, Console):
        raise TypeError(name)
    labels = dict(terms.pairs)
    return {
        "name": name,
        "title": title,
        "says": says,
        "answer": labels.pop("Answer"),
        "terms": labels,
        "proof": proof.text,
        "tries": [pair for each in tries if isinstance(each, Terms) for pair in each.pairs],
    }
