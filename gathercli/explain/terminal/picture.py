"""Paint an explanation in characters: panels, as many cells as fit, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from rich.text import Text

from gathercli.explain.explained_call import view_of
from gathercli.explain.panel import Line, Look, Panel, PanelChoice, View
from gathercli.explain.provenance import Provenance
from gathercli.explain.selection import COLUMN_LIMITS, WIDE_COLUMN_LIMITS
from gathercli.explain.terminal.layout import append, arrange, draw, flat, in_rows, widest
from gathercli.report import header
from gathercli.report.terminal import PICTURE_WIDTH
from gathercli.spec.shapes import Shape, product


def picture_of(provenance: Provenance[Any], look: Look) -> Text:
    """Draw the provenance of every output cell."""
    call, out, view = provenance.call, Shape(provenance.shape), view_of(provenance)
    selection, panels, lines = _fitting(view, look)
    room = look.width or PICTURE_WIDTH
    text = header.title(call, look.width, where=_ranges(provenance), room=room)
    text.append_text(view.tensors(selection, room))
    text.append("\n")
    append(text, lines)
    append(text, view.notes(selection, panels, room))
    text.append("\n").append_text(header.steps(call, out, look.width))
    text.append("read   ", "dim").append(view.reads() + "\n")
    parts = view.parts(selection, drawn=False)
    if hidden := view.hidden(selection, parts):
        if sum(count < size for count, size, _ in parts) > 1:
            hidden = "\n".join(wrap(hidden, room, break_on_hyphens=False))  # keeps `--window`
        text.append(hidden + "\n", "dim italic")
    return text


def panels_of(provenance: Provenance[Any], look: Look) -> Text:
    """Draw the tensors alone, if they fit the width and the height of the look."""
    *_, lines = _fitting(view_of(provenance), look)
    fits = look.height is None or len(lines) <= look.height
    if not fits or widest(lines) > (look.width or PICTURE_WIDTH):
        return Text("no room for the picture\n", "dim italic")
    text = Text()
    append(text, lines)
    return text


def _fitting(view: View, look: Look) -> tuple[PanelChoice, list[Panel], list[Line]]:
    """Return the choice with the most panels that fit, else the fewest, these and their lines.

    Prefer those where the data show all that the visible indices pick.
    """
    # The bracket after the current cell may be one column to the right of the last line.
    room = (look.width or PICTURE_WIDTH) - (look.here is not None)
    fallback: tuple[PanelChoice, list[Panel], list[Line]] | None = None
    columns = WIDE_COLUMN_LIMITS if room > PICTURE_WIDTH else COLUMN_LIMITS
    for selection, ways in view.attempts(look, columns):
        if fallback is not None and (1 in selection.limits or not selection.is_complete):
            continue
        panels = [view.panel(selection, at) for at in selection.panels]
        drawn = [[draw(each, look.marks) for each in panel.tensors] for panel in panels]
        for stacked in ways:
            blocks = [
                [panel.title] * bool(panel.title) + arrange(panel.tensors, parts, stacked=stacked)
                for panel, parts in zip(panels, drawn, strict=True)
            ]
            lines = in_rows(_with_gaps(selection, blocks), room)
            if view.without_panels:
                lines = [[(view.without_panels, "dim")]]
            wide = stacked and view.stacks_widely and look.width is None
            fits = widest(lines) <= (2 * room if wide else room)
            if fits and (look.height is None or len(lines) <= look.height):
                if selection.is_complete:
                    return selection, panels, lines
                fallback = fallback or (selection, panels, lines)
    return fallback or (selection, panels, lines)


def _with_gaps(selection: PanelChoice, blocks: Sequence[list[Line]]) -> Iterator[list[Line]]:
    """Yield the blocks of panels, with a mark in place of those that are hidden."""
    gap: list[Line] = [[(selection.look.marks.columns, "dim")]]
    last = -1
    for at, block in zip(selection.panels, blocks, strict=True):
        number = flat(at, selection.lead_shape)
        if number != last + 1:
            yield gap
        yield block
        last = number
    if blocks and last + 1 < product(selection.lead_shape):
        yield gap


def _ranges(provenance: Provenance[Any]) -> str:
    """Format the range of each letter of the equation."""
    if not provenance.shape or 0 in provenance.shape:
        return ""
    pairs = zip(provenance.letters, provenance.panel_shape, strict=True)
    return f"for {', '.join(f'{name} in 0..{size - 1}' for name, size in pairs)}"
