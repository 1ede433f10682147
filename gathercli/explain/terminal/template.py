"""The template of a lesson in characters and as JSON; the views of the families fill it in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from gathercli.explain.panel import Panel, PanelChoice
from gathercli.explain.selection import COLUMN_LIMITS, WIDE_COLUMN_LIMITS
from gathercli.explain.telling import telling_traces
from gathercli.explain.terminal.layout import append, arrange, draw, flat, in_rows, widest
from gathercli.explain.terminal.trace import letters
from gathercli.report import header
from gathercli.report.terminal import PICTURE_WIDTH
from gathercli.spec.shapes import Shape, product

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.look import Look
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.selection import Limits
    from gathercli.explain.terminal.layout import Line

LEGEND_LETTERS: Final = 8
"""The largest number of letters in a legend."""
EXAMPLES: Final = 3
"""The largest number of worked examples below a picture."""

ChosenPanel = TypeVar("ChosenPanel", bound=Panel)
Chosen = TypeVar("Chosen", bound=PanelChoice)
Explained = TypeVar("Explained", bound="Provenance[Any]")


class PanelView(ABC, Generic[Chosen, ChosenPanel]):
    """The panels of a selection in characters, each drawn once, and what is said of them."""

    def __init__(self, selection: Chosen) -> None:
        self.selection, self.look = selection, selection.look
        self._drawn: dict[tuple[int, ...], tuple[ChosenPanel, list[list[Line]]]] = {}

    @abstractmethod
    def panel(self, at: tuple[int, ...]) -> ChosenPanel:
        """Read a panel."""

    @abstractmethod
    def panel_title(self, at: tuple[int, ...]) -> Line:
        """Return the line above a panel; an empty one for none."""

    @abstractmethod
    def tensors(self) -> Text:
        """Format the types and shapes of the tensors, if their titles have no room for them."""

    @abstractmethod
    def notes(self) -> Iterator[Line]:
        """Explain the panels: letters, marks and examples."""

    @abstractmethod
    def hidden(self) -> str:
        """Describe how much of the output is hidden."""

    @property
    def panels(self) -> list[ChosenPanel]:
        """The panels drawn so far."""
        return [panel for panel, _ in self._drawn.values()]

    @property
    def room(self) -> int:
        """The columns of notes."""
        return self.look.width or PICTURE_WIDTH

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, and the tensors of each, below each other if `stacked`."""
        gap: list[Line] = [[(self.look.marks.columns, "dim")]]
        shape = self.selection.lead_shape
        blocks: list[list[Line]] = []
        last = -1
        for at in self.selection.panels:
            number = flat(at, shape)
            if number != last + 1:
                blocks.append(gap)
            if at not in self._drawn:
                panel = self.panel(at)
                drawn = [draw(each, self.look.marks) for each in panel.tensors]
                self._drawn[at] = panel, drawn
            panel, drawn = self._drawn[at]
            title = self.panel_title(at)
            lines = arrange(panel.tensors, drawn, stacked=stacked)
            blocks.append([title, *lines] if title else lines)
            last = number
        if blocks and last + 1 < product(shape):
            blocks.append(gap)
        return in_rows(blocks, room)


Drawn = TypeVar("Drawn", bound=PanelView[Any, Any])


class View(ABC, Generic[Explained, Drawn]):
    """The words and pictures of a kind of lesson."""

    @abstractmethod
    def attempts(
        self, lesson: Explained, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[Drawn, Sequence[bool]]]:
        """Yield views of ever less, by preference, and whether to stack the tensors of each."""

    @abstractmethod
    def panel_dims(self, lesson: Explained) -> range:
        """Return the output dimensions that are panels of a picture."""

    @abstractmethod
    def reads(self, lesson: Explained) -> str:
        """Say how much of the data is read."""

    @abstractmethod
    def reads_json(self, lesson: Explained) -> dict[str, Any]:
        """Return how much of the data is read, for JSON."""

    @abstractmethod
    def trace_line(self, lesson: Explained, trace: Any, look: Look) -> Line:
        """Trace a cell in one line."""

    @abstractmethod
    def trace_steps(self, lesson: Explained, trace: Any, look: Look) -> Iterator[Line]:
        """Trace a cell step by step, in words and coordinates."""

    @abstractmethod
    def cells_json(self, lesson: Explained, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""

    def picture(self, lesson: Explained, look: Look) -> Text:
        """Draw the provenance of every output cell."""
        call, out = lesson.call, Shape(lesson.shape)
        view, lines = self._fitting(lesson, look)
        text = header.title(call, look.width, where=_ranges(lesson), room=view.room)
        text.append_text(view.tensors())
        text.append("\n")
        append(text, lines)
        append(text, view.notes())
        text.append("\n").append_text(header.steps(call, out, look.width))
        text.append("read   ", "dim").append(self.reads(lesson) + "\n")
        if hidden := view.hidden():
            text.append(hidden + "\n", "dim italic")
        return text

    def panels(self, lesson: Explained, look: Look) -> Text:
        """Draw the tensors alone, if they fit the width and the height of the look."""
        from rich.text import Text

        view, lines = self._fitting(lesson, look)
        fits = look.height is None or len(lines) <= look.height
        if not fits or widest(lines) > view.room:
            return Text("no room for the picture\n", "dim italic")
        text = Text()
        append(text, lines)
        return text

    def _fitting(self, lesson: Explained, look: Look) -> tuple[Drawn, list[Line]]:
        """Return the largest view that fits, else the smallest, and its lines.

        Prefer one where the data show all that the visible indices pick.
        """
        # The bracket after the current cell may be one column to the right of the last line.
        room = (look.width or PICTURE_WIDTH) - (look.here is not None)
        fallback: tuple[Drawn, list[Line]] | None = None
        columns = WIDE_COLUMN_LIMITS if room > PICTURE_WIDTH else COLUMN_LIMITS
        for view, ways in self.attempts(lesson, look, columns):
            selection = view.selection
            if fallback is not None and (1 in selection.limits or not selection.is_complete):
                continue
            for stacked in ways:
                lines = view.lines(room, stacked=stacked)
                fits = widest(lines) <= (self.stacked_room(look, room) if stacked else room)
                if fits and (look.height is None or len(lines) <= look.height):
                    if selection.is_complete:
                        return view, lines
                    fallback = fallback or (view, lines)
        return fallback or (view, lines)

    def stacked_room(self, look: Look, room: int) -> int:
        """Return the room for tensors below each other."""
        del look
        return room

    def examples(
        self, lesson: Explained, panels: Iterable[Panel], shown: Any, look: Look
    ) -> Iterator[Line]:
        """Trace up to three cells of panels, the most telling of their kinds."""
        every = [trace for panel in panels for trace in panel.traces.values()]
        # Prefer examples that can be followed to their place in the data.
        traces = list(filter(shown, every))
        for trace in telling_traces(lesson, traces or every)[:EXAMPLES]:
            yield [("  ", ""), *self.trace_line(lesson, trace, look)]

    def summary_json(self, lesson: Explained) -> dict[str, Any]:
        """Return all fields of a lesson but its cells, for JSON."""
        call = lesson.call
        fields: dict[str, Any] = {"operator": call.op.full_name}
        fields |= {each.name: header.attr_number(call, each.name)[0] for each in call.op.attrs}
        fields |= dict(header.policies(call))
        for name, operand in call.inputs.items():
            fields[name] = header.tensor_json(operand.dtype, operand.shape)
        first = next(iter(call.inputs.values()))
        fields["output"] = header.tensor_json(first.dtype, lesson.shape)
        fields["equation"] = lesson.equation
        fields["formula"] = header.formula(call, Shape(lesson.shape))
        fields["read"] = self.reads_json(lesson)
        fields["refused"] = None if lesson.refusal is None else lesson.refusal.message
        return fields


def _ranges(lesson: Provenance[Any]) -> str:
    """Format the range of each letter of the equation."""
    if not lesson.shape or 0 in lesson.shape:
        return ""
    pairs = zip(letters(lesson), lesson.panel_shape, strict=True)
    return f"for {', '.join(f'{name} in 0..{size - 1}' for name, size in pairs)}"
