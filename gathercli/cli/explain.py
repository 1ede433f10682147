"""`explain`: where every output cell came from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gathercli.cli import cells
from gathercli.cli import options as opt
from gathercli.cli.called import Called, given, written
from gathercli.cli.limits import Limits
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import Operator
from gathercli.core.spec import Negative, OutOfRange
from gathercli.core.text import clean, counted
from gathercli.errors import UsageError
from gathercli.io.write import STDOUT, Output
from gathercli.report.terminal import height_of, rendered, wants_color, width_of

if TYPE_CHECKING:
    from gathercli.lesson import Lesson
    from gathercli.report.shown import Look, Window
    from gathercli.report.terminal import Styled

Op = Annotated[
    str | None,
    typer.Argument(metavar="OP", help="gather or gather-elements.", show_default=False),
]
Data = Annotated[
    str | None, typer.Argument(metavar="DATA", help=opt.TENSOR_HELP, show_default=False)
]
Indices = Annotated[
    str | None,
    typer.Argument(metavar="INDICES", help="Integers, given in the same ways.", show_default=False),
]
JobOption = Annotated[
    str | None,
    typer.Option(
        "--job",
        metavar="FILE#ID",
        help="Explain a job of a job file, in place of OP, DATA and INDICES; a file of one job "
        "needs no #ID.",
        show_default=False,
        rich_help_panel="Input",
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="SLICES",
        help="What to show of the output, a slice a dimension: 0:3,:,10:20. Default what fits.",
        show_default=False,
        rich_help_panel="View",
    ),
]
CellOption = Annotated[
    str | None,
    typer.Option(
        "--cell",
        metavar="I,J,...",
        help="Trace one output cell, step by step, in words and coordinates.",
        show_default=False,
        rich_help_panel="View",
    ),
]
Step = Annotated[
    bool,
    typer.Option(
        "--step",
        help="Walk through the output cells: with keys on a terminal, a line a cell elsewhere.",
        rich_help_panel="View",
    ),
]
Ascii = Annotated[
    bool,
    typer.Option("--ascii", help="Use no characters beyond ASCII.", rich_help_panel="View"),
]
Save = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="PATH",
        help="Also keep the picture: .svg, .html or .txt.",
        show_default=False,
        rich_help_panel="Result",
    ),
]


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    op: Op = None,
    data: Data = None,
    indices: Indices = None,
    job: JobOption = None,
    axis: opt.Axis = None,
    batch_dims: opt.BatchDims = "0",
    version: opt.Version = None,
    negative: opt.NegativeChoice = Negative.SPEC,
    out_of_range: opt.OutOfRangeChoice = OutOfRange.SPEC,
    data_dtype: opt.DataDtype = None,
    indices_dtype: opt.IndicesDtype = None,
    max_bytes: opt.MaxBytes = None,
    window: WindowOption = None,
    cell: CellOption = None,
    step: Step = False,
    ascii_only: Ascii = False,
    save: Save = None,
    no_clobber: opt.NoClobber = False,
    fmt: opt.TextFormat = "auto",
    precision: opt.Precision = 6,
    color: opt.Color = "auto",
    quiet: opt.Quiet = False,
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    del debug  # main finds it in the words
    operator = Operator(op or "", axis, batch_dims, version, negative.value, out_of_range.value)
    words = (op, data, indices)
    if job is None:
        if op is None or data is None or indices is None:
            missing = ("OP", "DATA", "INDICES")[words.index(None)]
            raise UsageError(
                f"missing argument `{missing}`",
                rule="usage",
                hint="`gathercli explain gather '[10,20,30]' '[2,0]'`, or `--job FILE#ID`",
            )
        read = partial(given, operator, (data, data_dtype), (indices, indices_dtype))
    else:
        if any(word is not None for word in words) or operator != Operator(
            "", None, "0", None, "spec", "spec"
        ):
            raise UsageError(
                "`--job` names the whole call: expected no other operator, tensor or attribute",
                rule="usage",
                value=job,
            )
        read = partial(written, job)
    if sum((cell is not None, step, window is not None)) > 1:
        raise UsageError(
            "`--cell`, `--step` and `--window` exclude each other: expected one of them",
            rule="usage",
        )
    asked = _Asked(cells.window(window), cells.coordinates(cell), step, ascii_only, fmt, precision)
    keep = None if save is None else _Keep(save, no_clobber)
    return partial(
        _run,
        read,
        Limits.parse(max_bytes),
        asked,
        keep,
        Messages(quiet, color, json_errors=json_errors),
    )


class _Asked(NamedTuple):
    """What is shown, and how."""

    window: Window
    cell: tuple[int, ...] | None
    step: bool
    ascii: bool
    fmt: str
    precision: int

    def look(self, lesson: Lesson, width: int | None) -> Look:
        """Fit what was asked for to a lesson; refuse what it does not have."""
        from gathercli.report.panels import ASCII, Marks
        from gathercli.report.shown import Look

        if len(self.window) > len(lesson.shape):
            raise UsageError(
                f"`--window` has {counted(len(self.window), 'slice')}, but the output has rank "
                f"{len(lesson.shape)}: expected at most one a dimension",
                rule="usage",
            )
        if self.cell is not None:
            cells.at(lesson, self.cell)
        return Look(width, self.precision, ASCII if self.ascii else Marks(), self.window)


class _Keep(NamedTuple):
    """Where the picture is kept."""

    path: str
    no_clobber: bool

    def check(self) -> None:
        """Refuse a name that says no format, and one that cannot be written."""
        from gathercli.report.picture import SUFFIXES

        if not self.path.endswith(SUFFIXES):
            raise UsageError(
                f"the suffix of `{clean(self.path)}` names no picture: "
                f"expected .svg, .html or .txt",
                rule="usage",
                value=self.path,
            )
        Output(self.path, no_clobber=self.no_clobber)

    def write(self, text: Styled, title: str) -> None:
        """Keep a picture."""
        from gathercli.report import picture

        content = text.plain
        if self.path.endswith(".svg"):
            content = picture.svg(text, title)
        elif self.path.endswith(".html"):
            content = picture.html(text, title)
        with Output(self.path, no_clobber=self.no_clobber) as output:
            output.open()
            output.stream.write(content.encode(errors="backslashreplace"))
            output.commit()


def _run(
    read: Callable[[Limits, Messages], Called],
    limits: Limits,
    asked: _Asked,
    keep: _Keep | None,
    messages: Messages,
) -> int:
    """Show what was asked for; what is refused is shown in its place, and then refuses."""
    from gathercli.lesson import Lesson

    if keep is not None:
        keep.check()
    with messages, read(limits, messages) as called:
        tick = messages.progress()
        lesson = Lesson(called.call, called.data, called.indices, tick=tick)
        messages.clear()
        messages.notes += map(str, lesson.treated)
        look = asked.look(lesson, width_of(STDOUT))
        _show(lesson, asked, look, messages)
        if keep is not None:
            from gathercli.report.shown import WIDTH

            text = _text(lesson, asked, look._replace(width=WIDTH))
            keep.write(text, f"gathercli explain: {lesson.call.op}, {lesson.equation}")
            messages.say(f"wrote {clean(keep.path)}")
        called.inputs.recheck()
    if lesson.refusal is not None:
        raise lesson.refusal
    messages.print()
    return 0


def _show(lesson: Lesson, asked: _Asked, look: Look, messages: Messages) -> None:
    from gathercli.cli.keys import has_keys

    if asked.fmt == "json":
        for part in cells.as_json(lesson, cells.positions(lesson, asked.window, asked.cell)):
            print_text(part)
    elif asked.step and has_keys():
        _walk(lesson, look, messages.color)
    elif asked.step:
        _lines(lesson, asked, look)
    else:
        text = _text(lesson, asked, look)
        print_text(rendered(text, color=wants_color(messages.color, STDOUT)))


def _text(lesson: Lesson, asked: _Asked, look: Look) -> Styled:
    from gathercli.report.lesson import picture
    from gathercli.report.trace import text_of, told

    if asked.cell is None:
        return picture(lesson, look)
    return text_of(told(lesson, lesson.trace(*cells.at(lesson, asked.cell)), look))


def _lines(lesson: Lesson, asked: _Asked, look: Look) -> None:
    """Print a line a cell."""
    from gathercli.report.trace import said

    for some in cells.positions(lesson, asked.window, asked.cell):
        lines = (said(lesson, trace, look) for trace in lesson.traces(some))
        print_text("".join("".join(word for word, _ in line) + "\n" for line in lines))


def _walk(lesson: Lesson, look: Look, color: str) -> None:
    """Walk through the cells with keys."""
    from gathercli.cli.keys import Keys
    from gathercli.core.positions import coordinate
    from gathercli.report.lesson import picture
    from gathercli.report.trace import text_of, told

    at = 0
    with Keys(screen=True) as keys:
        while lesson.size:
            here = coordinate(at, lesson.shape)
            trace = lesson.trace(*here)
            text = text_of(told(lesson, trace, look))
            text.append(f"\n{at + 1} of {counted(lesson.size, 'cell')}", "bold")
            text.append("   space: next   b: back   g, G: first, last   q: quit\n\n", "dim")
            text.append_text(picture(lesson, look._replace(here=here)))
            shown = rendered(text, color=wants_color(color, STDOUT)).split("\n")
            print_text("\x1b[2J\x1b[H" + "\n".join(shown[: height_of(STDOUT) - 1]))
            key = keys.read()
            if key == "quit":
                return
            steps = {"next": at + 1, "back": at - 1, "first": 0, "last": lesson.size - 1}
            at = max(0, min(steps[key], lesson.size - 1))
