"""The words of an explanation and what a picture shows of it, filled in for each kind."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from gathercli.explain.panel import Panel, PanelChoice
from gathercli.explain.provenance import telling_traces
from gathercli.report import header
from gathercli.spec.shapes import Shape
from gathercli.text import counted, grouped, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.panel import Look
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.selection import Limits
    from gathercli.explain.terminal.layout import Line

MOST_LEGEND_LETTERS: Final = 8
"""The largest number of letters in a legend."""
MOST_EXAMPLES: Final = 3
"""The largest number of worked examples below a picture."""
MOST_READ_OUT: Final = 12
"""The most indices, or beams, that a description reads out."""

ChosenPanel = TypeVar("ChosenPanel", bound=Panel)
Chosen = TypeVar("Chosen", bound=PanelChoice)
Explained = TypeVar("Explained", bound="Provenance[Any]")

PictureParts = list[tuple[int, int, tuple[str, ...]]]
"""Of each kind of part how many are shown, how many there are, and its noun, one and many."""


class Ends(NamedTuple):
    """The tensor and coordinates of the index of a cell, and of its source; the index itself."""

    pointer: tuple[str, tuple[int, ...]]
    source: tuple[str, tuple[int, ...]] | None
    numbers: tuple[int, ...] | None


class View(ABC, Generic[Explained, Chosen, ChosenPanel]):
    """The words of a kind of provenance, and what a picture shows of one."""

    part: ClassVar[str]
    """What has a letter of its own."""
    linked: ClassVar[tuple[str, ...]]
    """What has arrows, one and many."""

    @abstractmethod
    def select(self, provenance: Explained, look: Look, rows: Limits, columns: Limits) -> Chosen:
        """Choose what to show within limits of rows and columns."""

    @abstractmethod
    def attempts(
        self, provenance: Explained, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[Chosen, Sequence[bool]]]:
        """Yield choices of ever less, by preference, and whether to stack the tensors of each."""

    @abstractmethod
    def panel(self, selection: Chosen, at: tuple[int, ...]) -> ChosenPanel:
        """Read a panel."""

    @abstractmethod
    def panel_dims(self, provenance: Explained) -> range:
        """Return the output dimensions that are panels of a picture."""

    @abstractmethod
    def panel_title(self, selection: Chosen, at: tuple[int, ...]) -> Line:
        """Return the line above a panel; an empty one for none."""

    @abstractmethod
    def tensors(self, selection: Chosen, room: int) -> Text:
        """Format the types and shapes of the tensors, if their titles have no room for them."""

    @abstractmethod
    def notes(self, selection: Chosen, panels: Sequence[ChosenPanel], room: int) -> Iterator[Line]:
        """Explain the panels: letters, marks and examples."""

    @abstractmethod
    def parts(self, selection: Chosen, *, drawn: bool) -> PictureParts:
        """Count what a picture in characters, or one that is `drawn`, shows: first its cells."""

    @abstractmethod
    def reads(self, provenance: Explained) -> str:
        """Say how much of the data is read."""

    @abstractmethod
    def reads_json(self, provenance: Explained) -> dict[str, Any]:
        """Return how much of the data is read, for JSON."""

    @abstractmethod
    def trace_line(self, provenance: Explained, trace: Any, look: Look) -> Line:
        """Trace a cell in one line."""

    @abstractmethod
    def trace_steps(self, provenance: Explained, trace: Any, look: Look) -> Iterator[Line]:
        """Trace a cell step by step, in words and coordinates."""

    @abstractmethod
    def ends(self, provenance: Explained, trace: Any) -> Ends:
        """Return the index or parent of a cell, and its source."""

    @abstractmethod
    def cells_json(self, provenance: Explained, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""

    @abstractmethod
    def sentences(self, provenance: Explained, panels: Sequence[ChosenPanel]) -> Iterator[str]:
        """Say in words what each index or beam of a picture leads to."""

    def spans(self, provenance: Explained) -> Iterator[tuple[int, int, str]]:
        """Yield the coordinates in the equation that an index replaces, and those that stay."""
        del provenance
        yield from ()

    def axis_words(self, provenance: Explained) -> list[str]:
        """Return what becomes of each axis of the data."""
        del provenance
        return []

    def emphasis(self, provenance: Explained) -> list[str]:
        """Return what emphasis in the equation means."""
        del provenance
        return []

    def remarks(self, panels: Sequence[ChosenPanel]) -> list[str]:
        """Return the meanings of letters in a drawing."""
        del panels
        return []

    def room(self, look: Look, room: int) -> int:
        """Return the room for tensors below each other."""
        del look
        return room

    def is_followed(self, selection: Chosen, trace: Any) -> bool:
        """Return whether an example can be followed to its place in the data."""
        del selection, trace
        return True

    def without_panels(self, provenance: Explained) -> str:
        """Say why there are no panels."""
        del provenance
        return ""

    def examples(self, selection: Chosen, panels: Sequence[ChosenPanel]) -> list[Line]:
        """Trace up to three cells of panels, the most telling of their kinds."""
        provenance, look = selection.provenance, selection.look
        every = [trace for panel in panels for trace in panel.traces.values()]
        traces = [trace for trace in every if self.is_followed(selection, trace)]
        examples = telling_traces(provenance, traces or every)[:MOST_EXAMPLES]
        return [[("  ", ""), *self.trace_line(provenance, trace, look)] for trace in examples]

    def hidden(self, selection: Chosen, parts: PictureParts) -> str:
        """Say how much of the output and the data is shown; nothing if all is."""
        words = [
            f"{grouped(count)} of {counted(size, *noun)}"
            for count, size, noun in parts
            if count < size
        ]
        if not words:
            return ""
        text = f"{listed(words, 'and')} shown"
        is_chosen = selection.look.window or selection.cells >= selection.provenance.size
        return text if is_chosen else f"{text}; {selection.look.advice}"

    def description(self, provenance: Explained, panels: Sequence[ChosenPanel]) -> str:
        """Say in words what a call does."""
        call = provenance.call
        operands = [f"{name} {operand}" for name, operand in call.inputs.items()]
        words = ", ".join([listed(operands, "and"), *header.attributes(call)])
        opening = (
            f"{call.op.full_name} of {words}.",
            f"The output has the shape {Shape(provenance.shape)}.",
            f"Each of its cells is {provenance.equation}.",
        )
        return " ".join([*opening, *self.sentences(provenance, panels)])

    def summary_json(self, provenance: Explained) -> dict[str, Any]:
        """Return all fields of an explanation but its cells, for JSON."""
        call = provenance.call
        fields: dict[str, Any] = {"operator": call.op.full_name}
        fields |= {each.name: header.attr_number(call, each.name)[0] for each in call.op.attrs}
        fields |= dict(header.policies(call))
        for name, operand in call.inputs.items():
            fields[name] = header.tensor_json(operand.dtype, operand.shape)
        fields["output"] = header.tensor_json(call.data.dtype, provenance.shape)
        fields["equation"] = provenance.equation
        fields["formula"] = header.formula(call, Shape(provenance.shape))
        fields["read"] = self.reads_json(provenance)
        fields["refused"] = None if provenance.refusal is None else provenance.refusal.message
        return fields

    def json_parts(
        self, provenance: Explained, job: dict[str, str | None], blocks: Iterator[AnyArray]
    ) -> Iterator[str]:
        """Yield a line of JSON in parts: fields of an explanation, then the trace of every cell.

        The further fields `job` are without those that are None; the blocks are the flat positions
        of output cells, shape (C,).
        """
        fields = {name: value for name, value in job.items() if value is not None}
        head = json.dumps(fields | self.summary_json(provenance), separators=(",", ":"))
        yield f'{head[:-1]},"cells":['
        comma = ""
        for cells in blocks:
            yield comma + ",".join(self.cells_json(provenance, cells))
            comma = ","
        yield "]}\n"
