"""The words of an explanation and what a picture shows of it, filled in for each kind."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from gathercli.explain.provenance import telling_traces
from gathercli.report import header
from gathercli.spec.shapes import Shape
from gathercli.text import counted, grouped, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.panel import Line, Look, Panel, PanelChoice
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.selection import Limits

MOST_LEGEND_LETTERS: Final = 8
"""The largest number of letters in a legend."""
MOST_EXAMPLES: Final = 3
"""The largest number of worked examples below a picture."""

PictureParts = list[tuple[int, int, tuple[str, ...]]]
"""Of each kind of part how many are shown, how many there are, and its noun, one and many."""


class Ends(NamedTuple):
    """The tensor and coordinates of the index of a cell, and of its source; the index itself."""

    pointer: tuple[str, tuple[int, ...]]
    source: tuple[str, tuple[int, ...]] | None
    numbers: tuple[int, ...] | None


class View(ABC):
    """The words of a provenance, and what a picture shows of it.

    The choices are those of the kind, which `select` makes.
    """

    part: ClassVar[str]
    """What has a letter of its own."""
    linked: ClassVar[tuple[str, ...]]
    """What has arrows, one and many."""

    provenance: Provenance[Any]
    panel_dims: range  # the output dimensions that are panels of a picture
    without_panels: str = ""  # why there are none
    axis_words: Sequence[str] = ()  # what becomes of each axis of the data
    # the coordinates in the equation that an index replaces, and those that stay
    spans: Sequence[tuple[int, int, str]] = ()
    emphasis: Sequence[str] = ()  # what emphasis in the equation means
    stacks_widely = False  # whether tensors below each other have more room without a terminal

    @abstractmethod
    def select(
        self, look: Look, rows: Limits, columns: Limits, *, whole: bool = False
    ) -> PanelChoice:
        """Choose what to show within limits; with `whole` as if there were no current cell."""

    @abstractmethod
    def attempts(
        self, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[PanelChoice, Sequence[bool]]]:
        """Yield choices of ever less, by preference, and whether to stack the tensors of each."""

    @abstractmethod
    def panel(self, selection: Any, at: tuple[int, ...]) -> Panel:
        """Read a panel."""

    @abstractmethod
    def tensors(self, selection: Any, room: int) -> Text:
        """Format the types and shapes of the tensors, if their titles have no room for them."""

    @abstractmethod
    def notes(self, selection: Any, panels: Sequence[Panel], room: int) -> Iterator[Line]:
        """Explain the panels: letters, marks and examples."""

    @abstractmethod
    def parts(self, selection: Any, *, drawn: bool) -> PictureParts:
        """Count what a picture in characters, or one that is `drawn`, shows: first its cells."""

    @abstractmethod
    def reads(self) -> str:
        """Say how much of the data is read."""

    @abstractmethod
    def reads_json(self) -> dict[str, Any]:
        """Return how much of the data is read, for JSON."""

    @abstractmethod
    def trace_line(self, trace: Any, look: Look) -> Line:
        """Trace a cell in one line."""

    @abstractmethod
    def trace_steps(self, trace: Any, look: Look) -> Iterator[Line]:
        """Trace a cell step by step, in words and coordinates."""

    @abstractmethod
    def ends(self, trace: Any) -> Ends:
        """Return the index or parent of a cell, and its source."""

    @abstractmethod
    def cells_json(self, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""

    @abstractmethod
    def sentences(self, panels: Sequence[Panel]) -> Iterable[str]:
        """Say in words what each index or beam of a picture leads to."""

    def is_followed(self, selection: Any, trace: Any) -> bool:
        """Return whether an example can be followed to its place in the data."""
        del selection, trace
        return True

    def examples(self, selection: PanelChoice, panels: Sequence[Panel]) -> list[Line]:
        """Trace up to three cells of panels, the most telling of their kinds."""
        every = [trace for panel in panels for trace in panel.traces.values()]
        traces = [trace for trace in every if self.is_followed(selection, trace)]
        examples = telling_traces(self.provenance, traces or every)[:MOST_EXAMPLES]
        return [[("  ", ""), *self.trace_line(trace, selection.look)] for trace in examples]

    def hidden(self, selection: PanelChoice, parts: PictureParts) -> str:
        """Say how much of the output and the data is shown; nothing if all is."""
        words = [
            f"{grouped(count)} of {counted(size, *noun)}"
            for count, size, noun in parts
            if count < size
        ]
        if not words:
            return ""
        text = f"{listed(words, 'and')} shown"
        is_chosen = selection.look.window or selection.cells >= self.provenance.size
        return text if is_chosen else f"{text}; {selection.look.advice}"

    def description(self, panels: Sequence[Panel]) -> str:
        """Say in words what a call does."""
        call = self.provenance.call
        operands = [f"{name} {operand}" for name, operand in call.inputs.items()]
        words = ", ".join([listed(operands, "and"), *header.attributes(call)])
        opening = (
            f"{call.op.full_name} of {words}.",
            f"The output has the shape {Shape(self.provenance.shape)}.",
            f"Each of its cells is {self.provenance.equation}.",
        )
        return " ".join([*opening, *self.sentences(panels)])

    def summary_json(self) -> dict[str, Any]:
        """Return all fields of an explanation but its cells, for JSON."""
        provenance, call = self.provenance, self.provenance.call
        fields: dict[str, Any] = {"operator": call.op.full_name}
        fields |= {each.name: header.attr_number(call, each.name)[0] for each in call.op.attrs}
        fields |= dict(header.policies(call))
        for name, operand in call.inputs.items():
            fields[name] = header.tensor_json(operand.dtype, operand.shape)
        return fields | {
            "output": header.tensor_json(call.data.dtype, provenance.shape),
            "equation": provenance.equation,
            "formula": header.formula(call, Shape(provenance.shape)),
            "read": self.reads_json(),
            "refused": None if provenance.refusal is None else provenance.refusal.message,
        }

    def json_parts(self, job: dict[str, str | None], blocks: Iterator[AnyArray]) -> Iterator[str]:
        """Yield a line of JSON in parts: fields of an explanation, then the trace of every cell.

        The further fields `job` are without those that are None; the blocks are the flat positions
        of output cells, shape (C,).
        """
        fields = {name: value for name, value in job.items() if value is not None}
        head = json.dumps(fields | self.summary_json(), separators=(",", ":"))
        yield f'{head[:-1]},"cells":['
        comma = ""
        for cells in blocks:
            yield comma + ",".join(self.cells_json(cells))
            comma = ","
        yield "]}\n"
