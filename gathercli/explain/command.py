"""`explain`: the provenance of every output cell."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.cli.call import CallOptions, TensorOptions
from gathercli.cli.declarations import OPERATOR, VIEW, Answer, Options, argument, flag, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import OP_HELP, PRECISION, TEXT_FORMAT
from gathercli.errors import UsageError
from gathercli.explain import explained_call
from gathercli.explain.pictures import StepPictures, check_window, slices_of, unparsed
from gathercli.frameworks.versions import family_of
from gathercli.io.descriptors import STDOUT
from gathercli.ops import OPERATORS
from gathercli.report.terminal import PICTURE_WIDTH, print_text, rendered, wants_color, width_of
from gathercli.spec.shapes import Shape, coordinates, product
from gathercli.text import clean, grouped, listed, shell_word, short

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from gathercli.cli.slice_options import PictureFiles
    from gathercli.explain.drawing.scene import Scene
    from gathercli.explain.panel import Look, View, Window
    from gathercli.explain.pictures import PictureFile, SaveOptions
    from gathercli.explain.provenance import Provenance
    from gathercli.report.terminal import Styled
    from gathercli.spec.op import Op


# The most cells of an output that is compared with the one that a job expects.
MOST_COMPARED_CELLS: Final = 1 << 16


class OptionalTensors(TensorOptions):
    """The inputs of an operator, optional as a job has its own."""

    required = False


class OptionalCall(CallOptions):
    """A call, unless a job has it."""

    tensors: OptionalTensors


class ExplainedOptions(Options):
    """A call as arguments, or a job."""

    op: str | None = argument("OP", OP_HELP, default=None)
    job: str | None = option(OPERATOR, "--job", metavar="FILE#ID")
    call: OptionalCall

    def check(self) -> None:
        """Raise if an argument is missing, OP is no operator, or a job comes with arguments."""
        if self.job is not None:
            beside = self.changed().keys() - {"job"}
            if beside or self.call.operator.typed() or self.call.tensors.typed():
                what, hint = "names the whole call", None
                if self.op and not any(self.call.tensors.words) and "#" not in self.job:
                    hint = f"did you mean `--job {shell_word(f'{self.job}#{self.op}')}`?"
                expected, job = "no other operator, tensor or attribute", self.job
                raise UsageError(what, subject="--job", value=job, expected=expected, hint=hint)
            return
        op = family_of(self.op).ROWS[0] if self.op else None
        words = [self.op or None, *self.call.tensors.words]
        if None in words:
            raise self._incomplete(op, words)

    def _incomplete(self, op: Op | None, words: list[str | None]) -> UsageError:
        names, hint = self.call.tensors.names, "`gathercli explain gather '[10,20,30]' '[2,0]'`"
        if op is not None and op is not OPERATORS[0]:
            from gathercli.cli.hints import suggest_example

            names = [each.name.upper() for each in op.inputs]
            hint = suggest_example("explain", op, [word for word in words[1:] if word is not None])
        names = ["OP", *names]
        what = f"`{names[words.index(None)]}` is missing"
        return UsageError(what, expected=listed(names, "and"), hint=f"{hint}, or `--job FILE#ID`")

    def read(self) -> AbstractContextManager[explained_call.ExplainedCall]:
        """Read the tensors and bind the call."""
        if self.job is not None:
            return explained_call.of_job(
                explained_call.job_named(self.job), self.call.memory.limits, self.call.messages
            )
        self.call.operator.command = self.op or ""
        return explained_call.of_words(self.call)


class ExplainOptions(Options):
    """The part of the output to show, and its format."""

    window_text: str | None = option(VIEW, "--window", metavar="SLICES")
    cell_text: str | None = option(VIEW, "--cell", metavar="I,J,...", once=True)
    step: bool = flag(VIEW, "--step")
    ascii: bool = flag(VIEW, "--ascii", rare=True)
    fmt: str = TEXT_FORMAT
    precision: int = PRECISION

    @cached_property
    def window(self) -> Window:
        """The slices of the output to show: ``0:3,:,10:20``; a number is one coordinate."""
        return () if self.window_text is None else slices_of("--window", self.window_text)

    @cached_property
    def cell(self) -> tuple[int, ...] | None:
        """The coordinates of the cell to trace: ``0,-1``, ``[0,-1]``, ``(0,-1)``, ``out[0,-1]``."""
        if self.cell_text is None:
            return None
        text = self.cell_text.strip()
        if brackets := re.fullmatch(r"(?:out\s*)?\[(.*)\]|\((.*?),?\s*\)", text):
            text = (brackets[1] or brackets[2] or "").strip()
        words = [word.strip() for word in text.split(",")] if text else []
        if not all(re.fullmatch(r"[+-]?\d{1,18}", word, re.ASCII) for word in words):
            raise unparsed("--cell", self.cell_text, "coordinates such as 0,2")
        return tuple(map(int, words))

    def check(self, *, saved: bool) -> None:
        """Raise if options exclude each other."""
        chosen = {
            "--cell": self.cell is not None,
            "--step": self.step,
            "--window": self.window != (),
            "-f json": self.step and self.fmt == "json",
            "--save": self.step and saved,
        }
        names = [name for name, is_set in chosen.items() if is_set]
        if len(names) > 1:
            words = listed((f"`{name}`" for name in names), "and")
            raise UsageError(f"{words} exclude each other", expected="one of them")

    def look(self, provenance: Provenance[Any], width: int | None) -> Look:
        """Return the look of an explanation; raise if it lacks the cell or the window."""
        from gathercli.explain.panel import ASCII, Look, Marks

        check_window(self.window, provenance.shape, "output")
        if self.cell is not None:
            provenance.normalized(self.cell)
        if self.window and self.fmt != "json":
            self._check_size(provenance)
        return Look(width, self.precision, ASCII if self.ascii else Marks(), self.window)

    def _check_size(self, provenance: Provenance[Any]) -> None:
        from gathercli.explain.selection import COLUMN_LIMITS, MOST_WINDOW_CELLS, MOST_WINDOW_PANELS

        sizes = [min(size, COLUMN_LIMITS[0][0]) for size in provenance.shape]
        for j, (part, size) in enumerate(zip(self.window, provenance.shape, strict=False)):
            sizes[j] = len(range(size)[part or slice(None)])
        panels = product([sizes[j] for j in explained_call.view_of(provenance).panel_dims])
        for count, most, noun in (
            (product(sizes), MOST_WINDOW_CELLS, "cells"),
            (panels, MOST_WINDOW_PANELS, "batches"),
        ):
            if count > most:
                what = f"chooses {grouped(count)} {noun} or so, but a picture shows {grouped(most)}"
                hint = "`-f json` writes any number of them"
                raise UsageError(what, subject="--window", expected="fewer", hint=hint)


def run(
    call: ExplainedOptions, pictures: StepPictures, options: ExplainOptions, messages: Messages
) -> Answer:
    """Draw the call or trace its cells, including a refused index, then raise its error."""
    options.check(saved=bool(pictures.paths))
    call.check()
    with pictures.opened() as saved, messages, call.read() as open_call:
        provenance = explained_call.provenance_of(open_call.bound, progress=messages.progress())
        messages.clear()
        messages.notes += map(str, provenance.adjustments)
        messages.notes += _mismatch(open_call, provenance)
        look = options.look(provenance, width_of(STDOUT))
        view = explained_call.view_of(provenance)
        shown = Shown(provenance, view, options, look, open_call.title, open_call.source)
        text = shown.answer(color=wants_color(messages.color, STDOUT))
        shown.save(pictures, saved)
        open_call.inputs.recheck()
        saved.commit()
        if provenance.refusal is not None:
            open_call.context.add_to(provenance.refusal)
    error = provenance.refusal
    return Answer(lambda _, color: rendered(text, color=color), remarks=saved.remarks, error=error)


def _mismatch(
    open_call: explained_call.ExplainedCall, provenance: Provenance[Any]
) -> Iterator[str]:
    """Yield a note if the job expects another output than a small call has."""
    job, bound = open_call.job, open_call.bound
    if job is None or job.expect is None or provenance.refusal is not None:
        return
    if product(bound.shape) > MOST_COMPARED_CELLS:
        return
    from gathercli.compute.compare import Tolerance, read_expected
    from gathercli.compute.run import run as gather

    result, tolerance = gather(bound), Tolerance(job.rtol, job.atol)
    expected = read_expected(
        lambda dtype: job.tensor("expect", open_call.inputs, assumed=dtype), result.dtype, tolerance
    )
    difference = tolerance.difference(result, expected)
    if difference is not None:
        yield f"{difference.message}; `gathercli diagnose` names what explains such an output"


class Shown(NamedTuple):
    """What is shown of a call, and how."""

    provenance: Provenance[Any]
    view: View
    options: ExplainOptions
    look: Look
    title: str | None = None  # of a job
    source: str | None = None

    def answer(self, *, color: bool) -> Styled:
        """Return the text to print; empty after printing cells as JSON, as lines or by key."""
        from gathercli.explain.keys import has_keys
        from gathercli.explain.terminal.layout import text_of

        if self.options.fmt == "json":
            for part in self.json_parts():
                print_text(part)
        elif not self.options.step:
            return self._text(self.look)
        elif not self.provenance.size:
            return text_of([[(f"the output {Shape(self.provenance.shape)} has no cells", "")]])
        elif has_keys():
            self._walk(color=color)
        else:
            self._print_lines(color=color)
        return text_of([])

    def save(self, options: StepPictures, saved: PictureFiles) -> None:
        """Write the open files, and one for each cell where a path has a place for its number."""
        for output in saved.files:
            self.draw(output)
        if options.stepped:
            _, *scenes = self._scenes(options)
            files = options.steps(saved, len(scenes))
            for file, scene in zip(files, scenes * len(options.stepped), strict=True):
                file.write_scene(scene)

    def draw(self, output: PictureFile) -> None:
        """Write the file of a picture."""
        look = self.look._replace(width=PICTURE_WIDTH)
        if output.path.endswith(".txt"):
            output.stream.write(self._text(look).plain.encode(errors="backslashreplace"))
            return
        is_page = output.path.endswith(".html")
        scene, *steps = self._scenes(output.options, has_steps=not is_page)
        if output.options.animate:
            from gathercli.explain.drawing.svg import animated

            output.stream.write(animated(steps or [scene], output.options.sheet).encode())
        elif is_page:
            from gathercli.explain.drawing.page import page

            title = f"gathercli explain: {self.provenance.call.op}, {self.provenance.equation}"
            look = look._replace(arrows=output.options.arrows)
            output.stream.write(page(self.provenance, look, scene, title).encode())
        else:
            output.write_scene(scene)

    def _scenes(self, options: SaveOptions, *, has_steps: bool = True) -> list[Scene]:
        """Draw the call, and each cell where it is animated or a picture has a file for each."""
        from gathercli.explain.drawing.explanation import scenes_of

        return scenes_of(
            self.provenance,
            self.look._replace(width=PICTURE_WIDTH, arrows=options.arrows),
            self.options.cell,
            steps=options.animate or bool(options.stepped),
            title=self.title,
            has_steps=has_steps,
            bare=options.bare,
            aspect=options.sheet.aspect,
            is_sized=options.sheet.size is not None,
        )

    def _text(self, look: Look) -> Styled:
        """Draw in characters, below the title and the source of a job; or trace the one cell."""
        from rich.text import Text

        from gathercli.explain.terminal.layout import text_of
        from gathercli.explain.terminal.picture import picture_of

        if self.options.cell is not None:
            return text_of(self.view.trace_steps(self.provenance.cell(*self.options.cell), look))
        text = Text()
        for words, style in ((self.title, "bold"), (self.source, "dim")):
            if words:
                text.append(clean(short(words, 200)) + "\n", style)
        text.append("\n" if text else "")
        return text.append_text(picture_of(self.provenance, look))

    def json_parts(self) -> Iterator[str]:
        """Yield the cells of the window, or the one cell, as an object, block by block."""
        from gathercli.explain.selection import window_cells

        window = self.options.window
        if self.options.cell is not None:
            window = tuple(slice(n, n + 1) for n in self.provenance.normalized(self.options.cell))
        job = {"title": self.title, "source": self.source}
        return self.view.json_parts(job, window_cells(self.provenance, window))

    def _print_lines(self, *, color: bool) -> None:
        """Print a line for each cell, block by block."""
        from gathercli.explain.selection import window_cells
        from gathercli.explain.terminal.layout import text_of

        for cells in window_cells(self.provenance, ()):
            traces = self.provenance.traces(cells)
            lines = (self.view.trace_line(trace, self.look) for trace in traces)
            if color:
                print_text(rendered(text_of(lines), color=True))
            else:
                print_text("".join("".join(word for word, _ in line) + "\n" for line in lines))

    def _walk(self, *, color: bool) -> None:
        """Show one cell at a time; keys move between them."""
        from gathercli.explain.keys import Keys, room
        from gathercli.explain.terminal.layout import folded, text_of
        from gathercli.explain.terminal.picture import panels_of
        from gathercli.report.header import title

        provenance = self.provenance

        def screen(number: int) -> str:
            here = coordinates(number, provenance.shape)
            look = self.look._replace(width=width_of(STDOUT), here=here)
            width = look.width or PICTURE_WIDTH
            # What changes with the cell stands below the picture, which stays where it is.
            version = provenance.call.op.full_name
            text = folded(title(provenance.call, width, room=width, last=version), width)
            text.append(f"cell {grouped(number + 1)} of {grouped(provenance.size)}\n\n", "bold")
            words = folded(text_of(self.view.trace_steps(provenance.cell(*here), look)), width)
            height = room() - text.plain.count("\n") - words.plain.count("\n") - 1
            text.append_text(panels_of(provenance, look._replace(height=height)))
            return rendered(text.append("\n").append_text(words), color=color)

        with Keys() as keys:
            keys.walk(lambda at: (at, provenance.size), screen)
