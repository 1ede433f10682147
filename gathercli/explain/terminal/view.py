"""Select the view of a lesson, and write a lesson as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gathercli.text import clean, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.terminal.template import View


def job_title(title: str | None, source: str | None) -> Text:
    """Format the title and the source of a job, if it has them."""
    from rich.text import Text

    text = Text()
    for words, style in ((title, "bold"), (source, "dim")):
        if words:
            text.append(clean(short(words, 200)) + "\n", style)
    return text.append("\n" if text else "")


def view_of(lesson: Provenance[Any]) -> View[Any, Any]:
    """Return the view of a lesson."""
    if lesson.call.op.followed:
        from gathercli.explain.terminal.beam_view import BEAMS

        return BEAMS
    from gathercli.explain.terminal.gather_view import GATHERS

    return GATHERS


def json_parts(
    lesson: Provenance[Any], job: dict[str, str | None], blocks: Iterator[AnyArray]
) -> Iterator[str]:
    """Yield one line of JSON in parts: the fields of a lesson, then the trace of every cell.

    Parameters
    ----------
    job
        Further fields, without those that are None.
    blocks
        Flat positions of output cells, shape (C,).
    """
    view = view_of(lesson)
    fields = {name: value for name, value in job.items() if value is not None}
    head = json.dumps(fields | view.summary_json(lesson), separators=(",", ":"))
    yield f'{head[:-1]},"cells":['
    comma = ""
    for cells in blocks:
        yield comma + ",".join(view.cells_json(lesson, cells))
        comma = ","
    yield "]}\n"
