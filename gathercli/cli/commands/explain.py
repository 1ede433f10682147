"""`explain`: where every output cell came from."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gathercli.cli import options as opt
from gathercli.cli.commands import cells
from gathercli.cli.commands.called import Called, given, written
from gathercli.cli.groups import INPUT, OUTPUT, VIEW
from gathercli.cli.limits import Limits
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import Operator
from gathercli.errors import UsageError
from gathercli.io.write import STDOUT, Output
from gathercli.ops import family_of
from gathercli.report.terminal import rendered, wants_color, width_of
from gathercli.spec.op import Negative, OutOfRange
from gathercli.spec.shapes import Shape, product
from gathercli.text import clean, counted, grouped, listed

if TYPE_CHECKING:
    from gathercli.lessons.lesson import Lesson
    from gathercli.report.selection import Look, Window
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
        rich_help_panel=INPUT,
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="SLICES",
        help="What to show of the output, a slice a dimension: 0:3,:,10:20. Default what fits.",
        show_default=False,
        rich_help_panel=VIEW,
    ),
]
CellOption = Annotated[
    str | None,
    typer.Option(
        "--cell",
        metavar="I,J,...",
        help="Trace one output cell, step by step, in words and coordinates.",
        show_default=False,
        rich_help_panel=VIEW,
    ),
]
Step = Annotated[
    bool,
    typer.Option(
        "--step",
        help="Walk through the output cells: with keys on a terminal, a line a cell elsewhere.",
        rich_help_panel=VIEW,
    ),
]
Ascii = Annotated[
    bool,
    typer.Option("--ascii", help="Use no characters beyond ASCII.", rich_help_panel=VIEW),
]
Save = Annotated[
    list[str] | None,
    typer.Option(
        "--save",
        metavar="PATH",
        help="Also keep the picture: .svg, .html or .txt. Given again, keep it there too.",
        show_default=False,
        rich_help_panel=OUTPUT,
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
    tensors = (data, data_dtype), (indices, indices_dtype)
    asked = _Asked(cells.window(window), cells.coordinates(cell), step, ascii_only, fmt, precision)
    asked.check(saved=bool(save))
    return partial(
        _run,
        _reader(operator, *tensors) if job is None else _job_reader(job, operator, *tensors),
        Limits.parse(max_bytes),
        asked,
        [_Keep(path, no_clobber) for path in save or ()],
        Messages(quiet, color, json_errors=json_errors),
    )


def _reader(
    operator: Operator, data: tuple[str | None, str | None], indices: tuple[str | None, str | None]
) -> Callable[[Limits, Messages], Called]:
    """Return what reads the call that words name."""
    words = (operator.command or None, data[0], indices[0])
    if data[0] is None or indices[0] is None or not operator.command:
        if operator.command:
            family_of(operator.command)
        raise UsageError(
            f"`{('OP', 'DATA', 'INDICES')[words.index(None)]}` is missing: "
            "expected OP, DATA and INDICES",
            rule="usage",
            hint="`gathercli explain gather '[10,20,30]' '[2,0]'`, or `--job FILE#ID`",
        )
    return partial(given, operator, (data[0], data[1]), (indices[0], indices[1]))


def _job_reader(job: str, operator: Operator, *tensors: object) -> Callable[..., Called]:
    """Return what reads the call of a job; words beside it are refused."""
    nothing = Operator("", None, "0", None, "spec", "spec"), (None, None), (None, None)
    if (operator, *tensors) != nothing:
        raise UsageError(
            "`--job` names the whole call: expected no other operator, tensor or attribute",
            rule="usage",
            value=job,
        )
    return partial(written, job)


class _Asked(NamedTuple):
    """What is shown, and how."""

    window: Window
    cell: tuple[int, ...] | None
    step: bool
    ascii: bool
    fmt: str
    precision: int

    def check(self, *, saved: bool) -> None:
        """Refuse what cannot be asked for together."""
        chosen = {
            "--cell": self.cell is not None,
            "--step": self.step,
            "--window": self.window != (),
        }
        names = [name for name, asked in chosen.items() if asked]
        if self.step:
            names += ["-f json"] * (self.fmt == "json") + ["--save"] * saved
        if len(names) > 1:
            words = listed((f"`{name}`" for name in names), "and")
            raise UsageError(f"{words} exclude each other: expected one of them", rule="usage")

    def look(self, lesson: Lesson, width: int | None) -> Look:
        """Fit what was asked for to a lesson; refuse what it does not have."""
        from gathercli.report.layout import ASCII, Marks
        from gathercli.report.selection import Look

        if len(self.window) > len(lesson.shape):
            raise UsageError(
                f"`--window` has {counted(len(self.window), 'slice')}, but the output has rank "
                f"{len(lesson.shape)}: expected at most one a dimension",
                rule="usage",
            )
        if self.cell is not None:
            lesson.cell(self.cell)
        self._check_window(lesson)
        return Look(width, self.precision, ASCII if self.ascii else Marks(), self.window)

    def _check_window(self, lesson: Lesson) -> None:
        """Refuse a window that chooses nothing, or more than a picture shows."""
        from gathercli.report.selection import BATCHES, CELLS, COLUMNS, lead_of

        shape = lesson.shape
        many = [min(size, COLUMNS[0][0]) for size in shape]
        for j, (chosen, size) in enumerate(zip(self.window, shape, strict=False)):
            many[j] = len(range(size)[chosen or slice(None)])
            if size and not many[j]:
                raise UsageError(
                    f"`--window` chooses nothing of dimension {j}, whose size is {size}: "
                    f"expected some of 0 to {size - 1}",
                    rule="usage",
                )
        if self.window and self.fmt != "json" and product(many) > CELLS:
            raise UsageError(
                f"`--window` chooses {grouped(product(many))} cells or so, but a picture shows "
                f"{grouped(CELLS)}: expected fewer",
                rule="usage",
                hint="`-f json` writes any number of them",
            )
        panels = product(many[: lead_of(lesson)])
        if self.window and self.fmt != "json" and panels > BATCHES:
            raise UsageError(
                f"`--window` chooses {grouped(panels)} batches or so, but a picture shows "
                f"{BATCHES}: expected fewer",
                rule="usage",
                hint="`-f json` writes any number of them",
            )


class _Keep(NamedTuple):
    """Where the picture is kept."""

    path: str
    no_clobber: bool

    def output(self) -> Output:
        """Make the output; refuse a name that says no format, and one that cannot be written."""
        from gathercli.report.picture import SUFFIXES

        if not self.path.endswith(SUFFIXES):
            raise UsageError(
                f"the suffix of `{clean(self.path)}` names no picture: "
                "expected .svg, .html or .txt",
                rule="usage",
                value=self.path,
            )
        return Output(self.path, no_clobber=self.no_clobber)

    def content(self, text: Styled, title: str) -> bytes:
        """Write a picture in the format of the suffix."""
        from gathercli.report import picture

        content = text.plain
        if self.path.endswith(".svg"):
            content = picture.svg(text, title)
        elif self.path.endswith(".html"):
            content = picture.html(text, title)
        return content.encode(errors="backslashreplace")


def _run(
    read: Callable[[Limits, Messages], Called],
    limits: Limits,
    asked: _Asked,
    keeps: list[_Keep],
    messages: Messages,
) -> int:
    """Show what was asked for; what is refused is shown in its place, and then refuses."""
    from gathercli.lessons.lesson import Lesson

    _check_paths([keep.path for keep in keeps])
    with ExitStack() as stack:
        outputs = [stack.enter_context(keep.output()) for keep in keeps]
        for output in outputs:
            output.open()
        stack.enter_context(messages)
        called = stack.enter_context(read(limits, messages))
        lesson = Lesson(called.bound, tick=messages.progress())
        messages.clear()
        messages.notes += map(str, lesson.adjustments)
        look = asked.look(lesson, width_of(STDOUT))
        _show(lesson, called, asked, look, messages)
        if keeps:
            from gathercli.report.selection import WIDTH

            text = _text(lesson, called, asked, look._replace(width=WIDTH))
            title = f"gathercli explain: {lesson.call.op}, {lesson.equation}"
            for keep, output in zip(keeps, outputs, strict=True):
                output.stream.write(keep.content(text, title))
        called.inputs.recheck()
        for output in outputs:
            output.commit()
            messages.say(f"wrote {clean(output.path)}")
    if lesson.refusal is not None:
        raise lesson.refusal
    messages.print()
    return 0


def _check_paths(paths: list[str]) -> None:
    """Refuse a file that is to be written twice."""
    files: dict[str, str] = {}
    for path in paths:
        file = os.path.realpath(path)
        if file in files:
            raise UsageError(
                f"`--save` names `{clean(files[file])}` and `{clean(path)}`, which are one file: "
                "expected different files",
                rule="usage",
                value=path,
            )
        files[file] = path


def _show(lesson: Lesson, called: Called, asked: _Asked, look: Look, messages: Messages) -> None:
    from gathercli.cli.manual.keys import has_keys

    color = wants_color(messages.color, STDOUT)
    if asked.fmt == "json":
        about = {"title": called.title, "source": called.source}
        chosen = cells.positions(lesson, asked.window, asked.cell)
        for part in cells.as_json(lesson, about, chosen):
            print_text(part)
    elif not asked.step:
        print_text(rendered(_text(lesson, called, asked, look), color=color))
    elif not lesson.size:
        print_text(f"the output {Shape(lesson.shape)} has no cells\n")
    elif has_keys():
        _walk(lesson, look, color=color)
    else:
        _lines(lesson, look, color=color)


def _text(lesson: Lesson, called: Called, asked: _Asked, look: Look) -> Styled:
    from gathercli.report.lesson import about, picture
    from gathercli.report.trace import text_of, told

    if asked.cell is not None:
        return text_of(told(lesson, lesson.trace(*asked.cell), look))
    return about(called.title, called.source).append_text(picture(lesson, look))


def _lines(lesson: Lesson, look: Look, *, color: bool) -> None:
    """Print a line a cell."""
    from gathercli.report.trace import said, text_of

    for some in cells.positions(lesson, (), None):
        lines = (said(lesson, trace, look) for trace in lesson.traces(some))
        if color:
            print_text(rendered(text_of(lines), color=True))
        else:
            print_text("".join("".join(word for word, _ in line) + "\n" for line in lines))


def _walk(lesson: Lesson, look: Look, *, color: bool) -> None:
    """Walk through the cells with keys."""
    from gathercli.cli.manual.keys import Keys, room
    from gathercli.report.layout import folded
    from gathercli.report.lesson import panels
    from gathercli.report.selection import WIDTH
    from gathercli.report.trace import text_of, told
    from gathercli.spec.coordinates import coordinate

    def screen(number: int) -> str:
        here = coordinate(number, lesson.shape)
        now = look._replace(width=width_of(STDOUT), here=here)
        text = text_of(told(lesson, lesson.trace(*here), now))
        text.append(f"{grouped(number + 1)} of {counted(lesson.size, 'cell')}\n\n", "bold")
        text = folded(text, now.width or WIDTH)
        left = room() - text.plain.count("\n")
        text.append_text(panels(lesson, now._replace(height=left)))
        return rendered(text, color=color)

    with Keys() as keys:
        keys.walk(lesson.size, screen)
