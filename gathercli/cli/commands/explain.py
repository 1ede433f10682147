"""`explain`: where every output cell came from."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, NamedTuple

from gathercli.cli.command import Options, argument, option
from gathercli.cli.commands import cells
from gathercli.cli.commands.called import OpenCall, given, written
from gathercli.cli.groups import INPUT, OUTPUT, VIEW
from gathercli.cli.limits import Limits, MemoryOptions
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import OperatorOptions
from gathercli.cli.options import (
    INDICES_HELP,
    OP_HELP,
    TENSOR_HELP,
    NoClobber,
    Precision,
    TextFormat,
    TypeOptions,
)
from gathercli.errors import UsageError
from gathercli.io.write import STDOUT, Output
from gathercli.ops import family_of
from gathercli.report.terminal import rendered, wants_color, width_of
from gathercli.spec.shapes import Shape, product
from gathercli.text import clean, counted, grouped, listed

if TYPE_CHECKING:
    from gathercli.lessons.lesson import Lesson
    from gathercli.report.selection import Look, Window
    from gathercli.report.terminal import Styled


class CallOptions(Options):
    """A call in words, or a job in its place."""

    op: Annotated[str | None, argument("OP", OP_HELP)] = None
    data: Annotated[str | None, argument("DATA", TENSOR_HELP)] = None
    indices: Annotated[str | None, argument("INDICES", INDICES_HELP)] = None
    job: Annotated[
        str | None,
        option(
            INPUT,
            "--job",
            metavar="FILE#ID",
            help="Explain a job of a job file, in place of OP, DATA and INDICES; a file of one "
            "job needs no #ID.",
        ),
    ] = None
    operator: OperatorOptions
    types: TypeOptions

    def check(self) -> None:
        """Refuse a call of which something is missing, and one beside a job.

        Raises
        ------
        UsageError
            As said above, or OP is no operator.
        """
        if self.job is not None:
            beside = self.given().keys() - {"job"}
            if beside or self.operator.given() or self.types.given():
                raise UsageError(
                    "`--job` names the whole call: expected no other operator, tensor or attribute",
                    rule="usage",
                    value=self.job,
                )
            return
        words = (self.op or None, self.data, self.indices)
        if None in words:
            if self.op:
                family_of(self.op)
            raise UsageError(
                f"`{('OP', 'DATA', 'INDICES')[words.index(None)]}` is missing: "
                "expected OP, DATA and INDICES",
                rule="usage",
                hint="`gathercli explain gather '[10,20,30]' '[2,0]'`, or `--job FILE#ID`",
            )

    def read(self, limits: Limits, messages: Messages) -> OpenCall:
        """Read the tensors, and put the call together."""
        if self.job is not None:
            return written(self.job, limits, messages)
        self.operator.command = self.op or ""
        data = str(self.data), self.types.data_dtype
        indices = str(self.indices), self.types.indices_dtype
        return given(self.operator, data, indices, limits, messages)


class ExplainOptions(Options):
    """What is shown, and how."""

    window_text: Annotated[
        str | None,
        option(
            VIEW,
            "--window",
            metavar="SLICES",
            help="What to show of the output, a slice a dimension: 0:3,:,10:20. Default what fits.",
        ),
    ] = None
    cell_text: Annotated[
        str | None,
        option(
            VIEW,
            "--cell",
            metavar="I,J,...",
            help="Trace one output cell, step by step, in words and coordinates.",
        ),
    ] = None
    step: Annotated[
        bool,
        option(
            VIEW,
            "--step",
            help="Walk through the output cells: with keys on a terminal, a line a cell elsewhere.",
        ),
    ] = False
    ascii: Annotated[bool, option(VIEW, "--ascii", help="Use no characters beyond ASCII.")] = False
    fmt: TextFormat = "auto"
    precision: Precision = 6

    @cached_property
    def window(self) -> Window:
        """What to show of the output."""
        return cells.window(self.window_text)

    @cached_property
    def cell(self) -> tuple[int, ...] | None:
        """The cell to trace."""
        return cells.coordinates(self.cell_text)

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


class PictureFile(NamedTuple):
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
                instead=(os.path.splitext(self.path)[0] + ".svg",),
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


class PictureOptions(Options):
    """The files that keep the picture."""

    paths: Annotated[
        list[str] | None,
        option(
            OUTPUT,
            "--save",
            metavar="PATH",
            help="Also keep the picture: .svg, .html or .txt. Given again, keep it there too.",
        ),
    ] = None
    no_clobber: NoClobber = False

    def keeps(self) -> list[PictureFile]:
        """Return the files.

        Raises
        ------
        UsageError
            One is to be written twice.
        """
        files: dict[str, str] = {}
        for path in self.paths or ():
            file = os.path.realpath(path)
            if file in files:
                raise UsageError(
                    f"`--save` names `{clean(files[file])}` and `{clean(path)}`, which are one "
                    "file: expected different files",
                    rule="usage",
                    value=path,
                )
            files[file] = path
        return [PictureFile(path, self.no_clobber) for path in files.values()]


def run(
    call: CallOptions,
    memory: MemoryOptions,
    pictures: PictureOptions,
    asked: ExplainOptions,
    messages: Messages,
) -> int:
    """Show what was asked for; what is refused is shown in its place, and then refuses."""
    from gathercli.lessons.lesson import Lesson

    asked.check(saved=bool(pictures.paths))
    call.check()
    limits, keeps = memory.limits, pictures.keeps()
    with ExitStack() as stack:
        outputs = [stack.enter_context(keep.output()) for keep in keeps]
        for output in outputs:
            output.open()
        stack.enter_context(messages)
        called = stack.enter_context(call.read(limits, messages))
        lesson = Lesson(called.bound, progress=messages.progress())
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


def _show(
    lesson: Lesson, called: OpenCall, asked: ExplainOptions, look: Look, messages: Messages
) -> None:
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


def _text(lesson: Lesson, called: OpenCall, asked: ExplainOptions, look: Look) -> Styled:
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
