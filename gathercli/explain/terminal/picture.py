"""Paint an explanation in characters: panels, as many cells as fit, and what is said of them."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from gathercli.explain.explained_call import view_of
from gathercli.explain.selection import COLUMN_LIMITS, WIDE_COLUMN_LIMITS
from gathercli.explain.terminal.layout import append, arrange, draw, flat, in_rows, widest
from gathercli.report import header
from gathercli.report.terminal import PICTURE_WIDTH
from gathercli.spec.shapes import Shape, product

if TYPE_CHECKING:
    from gathercli.explain.panel import Line, Look, Panel, PanelChoice, View
    from gathercli.explain.provenance import Provenance


class PanelLines:
    """The panels of a choice in characters, each drawn once."""

    def __init__(self, view: View, selection: PanelChoice) -> None:
        self._view, self.selection, self._marks = view, selection, selection.look.marks
        self._drawn: dict[tuple[int, ...], tuple[Panel, list[list[Line]]]] = {}

    @property
    def panels(self) -> list[Panel]:
        """The panels drawn so far."""
        return [panel for panel, _ in self._drawn.values()]

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, and the tensors of each, below each other if `stacked`."""
        if self._view.without_panels:
            return [[(self._view.without_panels, "dim")]]
        gap: list[Line] = [[(self._marks.columns, "dim")]]
        shape = self.selection.lead_shape
        blocks: list[list[Line]] = []
        last = -1
        for at in self.selection.panels:
            number = flat(at, shape)
            if number != last + 1:
                blocks.append(gap)
            if at not in self._drawn:
                panel = self._view.panel(self.selection, at)
                drawn = [draw(each, self._marks) for each in panel.tensors]
                self._drawn[at] = panel, drawn
            panel, drawn = self._drawn[at]
            lines = arrange(panel.tensors, drawn, stacked=stacked)
            blocks.append([panel.title, *lines] if panel.title else lines)
            last = number
        if blocks and last + 1 < product(shape):
            blocks.append(gap)
        return in_rows(blocks, room)


def picture_of(provenance: Provenance[Any], look: Look) -> Text:
    """Draw the provenance of every output cell."""
    call, out, view = provenance.call, Shape(provenance.shape), view_of(provenance)
    panels, lines = _fitting(view, look)
    selection, room = panels.selection, look.width or PICTURE_WIDTH
    text = header.title(call, look.width, where=_ranges(provenance), room=room)
    text.append_text(view.tensors(selection, room))
    text.append("\n")
    append(text, lines)
    append(text, view.notes(selection, panels.panels, room))
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
    _, lines = _fitting(view_of(provenance), look)
    fits = look.height is None or len(lines) <= look.height
    if not fits or widest(lines) > (look.width or PICTURE_WIDTH):
        return Text("no room for the picture\n", "dim italic")
    text = Text()
    append(text, lines)
    return text


def _fitting(view: View, look: Look) -> tuple[PanelLines, list[Line]]:
    """Return the most panels that fit, else the fewest, and their lines.

    Prefer those where the data show all that the visible indices pick.
    """
    # The bracket after the current cell may be one column to the right of the last line.
    room = (look.width or PICTURE_WIDTH) - (look.here is not None)
    fallback: tuple[PanelLines, list[Line]] | None = None
    columns = WIDE_COLUMN_LIMITS if room > PICTURE_WIDTH else COLUMN_LIMITS
    for selection, ways in view.attempts(look, columns):
        panels = PanelLines(view, selection)
        if fallback is not None and (1 in selection.limits or not selection.is_complete):
            continue
        for stacked in ways:
            lines = panels.lines(room, stacked=stacked)
            wide = stacked and view.stacks_widely and look.width is None
            fits = widest(lines) <= (2 * room if wide else room)
            if fits and (look.height is None or len(lines) <= look.height):
                if selection.is_complete:
                    return panels, lines
                fallback = fallback or (panels, lines)
    return fallback or (panels, lines)


def _ranges(provenance: Provenance[Any]) -> str:
    """Format the range of each letter of the equation."""
    if not provenance.shape or 0 in provenance.shape:
        return ""
    pairs = zip(provenance.letters, provenance.panel_shape, strict=True)
    return f"for {', '.join(f'{name} in 0..{size - 1}' for name, size in pairs)}"
