"""Select the module that draws a lesson and formats it as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.look import Look
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.terminal.layout import Line

    class View(Protocol):
        """A module that draws a kind of lesson."""

        def picture(self, lesson: Any, look: Look) -> Text:
            """Draw the provenance of every output cell."""

        def panels(self, lesson: Any, look: Look) -> Text:
            """Draw the tensors alone, if they fit the width and the height of the look."""

        def panel_dims(self, lesson: Any) -> Sequence[int]:
            """Return the output dimensions that are panels of a picture."""

        def trace_line(self, lesson: Any, trace: Any, look: Look) -> Line:
            """Trace a cell in one line."""

        def trace_steps(self, lesson: Any, trace: Any, look: Look) -> Iterator[Line]:
            """Trace a cell step by step, in words and coordinates."""

        def summary_json(self, lesson: Any) -> dict[str, Any]:
            """Return all fields of a lesson but its cells, for JSON."""

        def cells_json(self, lesson: Any, cells: AnyArray) -> Iterator[str]:
            """Yield the JSON of output cells from their flat positions, shape (C,), int64."""


def view_of(lesson: Provenance[Any]) -> View:
    """Return the module that draws a lesson."""
    from gathercli.explain.terminal import beam_view
    from gathercli.explain.terminal import lesson as gathers

    return beam_view if lesson.call.op.followed else gathers


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
