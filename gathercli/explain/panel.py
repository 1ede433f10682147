"""What every picture paints: the tensors of a batch, cell by cell, its arrows, and the words.

A letter, with a colour, marks a part of the data, the indices that pick it and the cells it is
copied to. Painters for terminals and drawings read these cells and decide nothing about them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from gathercli.explain.provenance import Fate
from gathercli.report import header
from gathercli.report.grid import GridWriter
from gathercli.spec.shapes import Shape
from gathercli.text import counted, grouped, listed, table_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.explain.gather_provenance import Index, Unit
    from gathercli.explain.provenance import Provenance


OUT: Final = "out"  # the name of the output
# The name of the place of indices that point nowhere, in place of a tensor's.
OUTSIDE_PLACE: Final = "outside"
MOST_READ_OUT: Final = 12  # the most indices, or beams, that a description reads out
# The target of an index or a parent that points nowhere.
NO_TARGETS: Final = {Fate.FILLED: "none", Fate.REFUSED: "refused"}
At = tuple[int | None, ...]  # coordinates of a cell, or of a slice: None for all of a dimension
# The coordinates to show of each output dimension; None for as many as fit.
Window = tuple[slice | None, ...]
# The most rows or columns to show whole, and the number at each edge otherwise.
Limits = tuple[int, int]
Word: TypeAlias = tuple[str, str]  # text and a style, or a kind
Line: TypeAlias = list[Word]


MOST_ARROWED_CELLS: Final = 24  # the most output cells of a drawing with all of its arrows
CELL_TEXT: Final = 19  # the size of the text of cells,
SLIDE_TEXT: Final = 22  # and on a slide


class Marks(NamedTuple):
    """The marks of a picture, in Unicode or in ASCII."""

    arrow: str = " → "  # between an index and its position
    times: str = "\N{MULTIPLICATION SIGN}"  # before the number of reads of a cell
    rows: str = "⋮"  # in place of hidden rows
    columns: str = "…"
    nowhere: str = "·"  # the labels of cells that are filled,
    refused: str = "!"  # refused,
    hidden: str = "+"  # or read by hidden indices only
    ascii: bool = False


ASCII: Final = Marks(" -> ", "*", ":", "..", ".", ascii=True)


class Look(NamedTuple):
    """The appearance of a picture."""

    width: int | None  # the columns of the terminal; None for no limit
    precision: int = 6  # the significant digits of floats
    marks: Marks = Marks()
    window: Window = ()
    here: tuple[int, ...] | None = None  # the output cell to mark
    height: int | None = None  # the lines for the panels; None for no limit
    advice: str = "--window chooses others"  # how to see hidden cells
    arrows: str = "auto"  # those of a drawing: all, or some if there are many; or a choice
    down: bool | None = None  # whether a drawing flows down, else to the right; None to choose
    parts: int | None = None  # the most batches, and facets of a tensor; None for the usual

    def most_arrows(self, some: int, count: int, cells: int, share: float) -> int:
        """Return how many of `count` indices get arrows in a panel of a share of a drawing."""
        if self.arrows == "auto" and cells > MOST_ARROWED_CELLS * share:
            return some
        return count if self.arrows in ("auto", "all") else 0


class Placement(Enum):
    """The placement of a tensor's labels: at the smallest part with only one."""

    FACET = "facet"
    ROW = "row"
    COLUMN = "column"
    CELL = "cell"


class PanelCell(NamedTuple):
    """An element of a tensor."""

    text: str  # its value, nothing if refused
    tail: str = ""  # where an index or a parent leads, if that is another number
    letter: str = ""  # of the part of `data`, or those of beams
    color: int | None = None  # the number of the letter's colour, from 0
    fate: Fate | None = None  # of an index or an output cell; None in other tensors
    mark: str = ""  # what a terminal writes in place of the letter
    # ``negative`` for an index below 0, ``unread`` for a cell that nothing in the picture reads,
    # ``shared`` for one on several paths
    kinds: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What a terminal writes beside it."""
        return self.mark or self.letter


class PanelTensor(NamedTuple):
    """The part of a tensor in a picture; a tuple of indices is one cell."""

    name: str
    shape: tuple[int, ...]
    lead: tuple[int, ...]  # the leading coordinates, which all of its cells share
    coordinates: tuple[Sequence[int], ...]  # those of the other dimensions to show, ascending
    facets: list[tuple[int, ...]]  # the coordinates of those before the last two
    cells: dict[tuple[int, ...], PanelCell]  # by their coordinates, `lead` included
    place: Placement  # of the labels in a terminal
    words: str = ""  # its dtype and shape, if its title has room for them
    # from the coordinates of a row or facet to its note; None without notes
    note: Callable[[tuple[int, ...]], str] | None = None
    here: At | None = None  # the current cell; None if it is elsewhere
    upright: bool = False  # whether it stands upright if it is a vector, else it is a row
    floats: bool = False  # whether to align the points of a column
    left: bool = False  # whether to align values to the left
    # from coordinates to those of the whole tensor, if they differ
    named: Callable[[At], At] = lambda at: at

    # In a drawing:
    titles: Sequence[Word] = ()  # the lines above it, each with its kind
    title_part: float = 0  # the part on their left of the room that they need
    replaced: Collection[int] = ()  # the dimensions whose coordinate is by an index
    lane: float = 0  # the space between its cells if arrows run there,
    has_entries: bool = False  # and whether arrows come into cells there
    text_size: float = CELL_TEXT  # of its values

    @property
    def inner(self) -> tuple[int, ...]:
        """Its sizes without those of `lead`."""
        return self.shape[len(self.lead) :]

    @property
    def is_empty(self) -> bool:
        """Whether it has no cells to show."""
        return 0 in self.inner or not all(map(len, self.coordinates))

    def facet_name(self, facet: At) -> str:
        """Write the coordinates of a facet in the whole tensor: ``[2,:,:]``."""
        return f"[{coordinate_words(self.named((*self.lead, *facet, None, None)))}]"

    def facet_of(self, at: At) -> tuple[int, ...]:
        """Return the facet in which a cell or slice lies."""
        return tuple(n for n in at[len(self.lead) : -2] if n is not None)

    def shows(self, at: At) -> bool:
        """Return whether a cell or slice is in the picture."""
        pairs = zip(at[len(self.lead) :][-2:], self.coordinates[-2:], strict=True)
        inside = all(n is None or n in coords for n, coords in pairs)
        return inside and not self.is_empty and self.facet_of(at) in self.facets


class Link(NamedTuple):
    """An arrow without its way, between cells or slices of two tensors or of one."""

    names: tuple[str, str]  # the tensors at its ends
    source: At
    target: At
    at: tuple[int, ...]  # the coordinates of the index, or the batch and the beam, that it is for
    color: int | None = None
    fate: Fate = Fate.COPIED
    traced: bool = False  # whether it is on the path of the traced cell
    from_end: tuple[int, ...] = ()  # the dimensions of `data` on which its index counts so
    lane: float = 0  # of one within a tensor: the part of the space that its way leaves below

    @property
    def lands(self) -> bool:
        """Whether it ends in the output."""
        return self.names[1] == OUT

    @property
    def climbs(self) -> bool:
        """Whether it stays in one tensor."""
        return self.names[0] == self.names[1]


class Stance(Enum):
    """How the tensors of a drawing stand beside each other."""

    CENTRED = "centred"
    LINED_UP = "lined up"  # their cells, whose rows or columns are the same
    LEVEL = "level"  # from the top, with widths of their own in each batch


# The cells on the path of an output cell, by tensor; none for a cell of another panel.
Path = dict[str, list[tuple[int, ...]]]


class Panel(NamedTuple):
    """A batch in a picture: what is elsewhere is in another panel."""

    at: tuple[int, ...]  # the leading coordinates, shared by all tensors
    # of the data, of what picks them, and of the output
    tensors: tuple[PanelTensor, PanelTensor, PanelTensor]
    traces: dict[tuple[int, ...], Any]  # of output cells, batch dimensions apart, row-major
    title: Line  # above it in a terminal; empty for none

    # In a drawing:
    whole_traces: Sequence[Any]  # of cells whose source is in the picture, or that have none
    path: Callable[[Any], Path]  # from a trace or None
    # Choose what gets arrows, by the path of the traced cell and the share of the panel in the
    # arrows, from 0 to 1; return these, and of how many indices or beams they are.
    links: Callable[[Path, float], tuple[list[Link], int]]
    linkable: int  # the number of indices, or beams, that may have arrows
    sentences: Sequence[str] = ()  # what its indices pick, in words
    flows_down: bool = False  # whether arrows run downwards, else to the right
    stance: Stance = Stance.CENTRED
    from_end: frozenset[int] = frozenset()  # the dimensions of `data` to count from the end too
    points_outside: bool = False  # whether an index picks nothing
    heading: str = ""
    remarks: Sequence[str] = ()  # the meanings of further letters

    @property
    def flow(self) -> tuple[PanelTensor, PanelTensor, PanelTensor]:
        """The tensors in the order in which arrows pass them."""
        data, indices, out = self.tensors
        return indices, data, out

    @property
    def has_rows(self) -> bool:
        """Whether a vector is a row above or below another tensor."""
        return self.flows_down and any(len(t.inner) == 1 and not t.upright for t in self.tensors)

    @property
    def upright(self) -> Panel:
        """The panel with all vectors upright that are rows here, which takes less width."""
        if not self.has_rows:
            return self
        data, indices, out = (
            each._replace(upright=True, place=Placement.ROW if len(each.inner) == 1 else each.place)
            for each in self.tensors
        )
        return self._replace(tensors=(data, indices, out), flows_down=False)

    def formed(self, titles: int | None, *, is_slide: bool) -> Panel:
        """Return the panel with at most so many titles of each tensor."""
        size = SLIDE_TEXT if is_slide else CELL_TEXT
        changed = (
            each._replace(titles=each.titles[:titles], text_size=size) for each in self.tensors
        )
        data, indices, out = changed
        return self._replace(tensors=(data, indices, out))


class PanelChoice:
    """The part of a provenance in a picture, of at most so many whole rows and columns."""

    provenance: Any
    look: Look
    limits: tuple[int, int]
    panels: list[tuple[int, ...]]  # the leading coordinates of each
    lead_shape: tuple[int, ...]  # the sizes of those dimensions
    coordinates: list[Sequence[int]]  # those of the output and of inputs
    cells: int  # the number of output cells
    is_complete = True  # whether all that the visible indices pick is in the picture


def writer(tensor: Tensor, look: Look) -> Callable[[Any], str]:
    """Return a function that formats elements of a tensor."""
    write = GridWriter(tensor, look.precision)
    if not look.marks.ascii:
        return write
    return lambda value: write(value).encode("ascii", "backslashreplace").decode()


def index_text(k: Index) -> str:
    """Format an index: ``-1``, or a tuple: ``(1,2)``."""
    return f"({','.join(map(str, k))})" if isinstance(k, tuple) else str(k)


def coordinate_words(at: At) -> str:
    """Format coordinates: ``3,:``."""
    return ",".join(":" if n is None else str(n) for n in at)


def unit_text(unit: Unit) -> str:
    """Format the part of `data` that an index picks: ``data[3,:]``."""
    return f"data[{coordinate_words(unit)}]"


def letter_of(number: int) -> str:
    """Return the letter for a number: A to Z, then AA, AB and so on.

    They are capitals, as the letters of coordinates are small.

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('A', 'Z', 'AA')
    """
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


MOST_LEGEND_LETTERS: Final = 8  # the largest number of letters in a legend
# Of each kind of part how many are shown, how many there are, and its noun, one and many.
PictureParts = list[tuple[int, int, tuple[str, ...]]]


class Ends(NamedTuple):
    """The tensor and coordinates of the index of a cell, and of its source; the index itself."""

    pointer: tuple[str, tuple[int, ...]]
    source: tuple[str, tuple[int, ...]] | None
    numbers: tuple[int, ...] | None


class View(ABC):
    """The words of a provenance, and what a picture shows of it.

    The choices are those of the kind, `choice`, which `select` makes.
    """

    part: ClassVar[str]  # what has a letter of its own
    linked: ClassVar[tuple[str, ...]]  # what has arrows, one and many
    choice: ClassVar[Callable[..., PanelChoice]]  # what chooses a part of its provenance

    provenance: Provenance[Any]
    panel_dims: range  # the output dimensions that are panels of a picture
    without_panels: str = ""  # why there are none
    axis_words: Sequence[str] = ()  # what becomes of each axis of the data
    # the coordinates in the equation that an index replaces
    spans: Sequence[tuple[int, int, str]] = ()
    emphasis: Sequence[str] = ()  # what emphasis in the equation means
    stacks_widely = False  # whether tensors below each other have more room without a terminal

    def select(self, look: Look, rows: Limits, columns: Limits, *, whole: bool = False) -> Any:
        """Choose what to show within limits; with `whole` as if there were no current cell."""
        return self.choice(self.provenance, look, rows, columns, whole=whole)

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

    def json_parts(self, job: dict[str, str | None], blocks: Iterator[AnyArray]) -> Iterator[str]:
        """Yield a line of JSON in parts: fields of an explanation, then the trace of every cell.

        The further fields `job` are without those that are None; the blocks are the flat positions
        of output cells, shape (C,).
        """
        provenance, call = self.provenance, self.provenance.call
        fields: dict[str, Any] = {name: text for name, text in job.items() if text is not None}
        fields["operator"] = call.op.full_name
        fields |= {each.name: header.attr_number(call, each.name)[0] for each in call.op.attrs}
        fields |= call.policies
        for name, operand in call.inputs.items():
            fields[name] = header.TensorType.of(operand)._asdict()
        fields |= {
            "output": header.TensorType.of(call.data)._replace(shape=provenance.shape)._asdict(),
            "equation": provenance.equation,
            "formula": header.formula(call, Shape(provenance.shape)),
            "read": self.reads_json(),
            "refused": None if provenance.refusal is None else provenance.refusal.message,
        }
        head = json.dumps(fields, separators=(",", ":"))
        yield f'{head[:-1]},"cells":['
        comma = ""
        for cells in blocks:
            yield comma + ",".join(self.cells_json(cells))
            comma = ","
        yield "]}\n"


class Hue(NamedTuple):
    """A colour of a letter, as ``#rrggbb``; the table beside this module says more."""

    name: str
    fill: str
    ink: str


HUES: Final = tuple(Hue(**each) for each in table_beside(__name__)["hues"])
PLAIN_HUES: Final = 6  # those after these are striped, or dashed
ON_FILL: Final = "#000000"  # text on a fill
# What is refused: lines and text on a page; the first also a ground for text in `ON_REFUSED`.
REFUSED_ON_LIGHT: Final = "#b00020"
REFUSED_ON_DARK: Final = "#ff8a80"
ON_REFUSED: Final = "#ffffff"
# The styles in a terminal: of letters, and of refused cells.
STYLES: Final = tuple(
    f"{ON_FILL} on {hue.fill}{' underline' * (n >= PLAIN_HUES)}" for n, hue in enumerate(HUES)
)
REFUSED_STYLE: Final = f"{ON_REFUSED} on {REFUSED_ON_LIGHT}"
