"""The option `--save`: the files of a picture, and what the commands but `explain` draw there."""

from __future__ import annotations

import os
import re
from functools import partial
from importlib.util import find_spec
from typing import ClassVar, Final

from gathercli.cli.declarations import OUTPUT, flag, option
from gathercli.cli.options import NO_CLOBBER
from gathercli.cli.slice_options import PictureFiles, PictureOptions
from gathercli.errors import UsageError
from gathercli.io.write import Output
from gathercli.report.terminal import PICTURE_WIDTH
from gathercli.text import clean, counted, grouped, listed

TYPE_CHECKING = False  # as in `gathercli.errors`

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from gathercli.compute.verdicts import CheckedCall
    from gathercli.explain.drawing.chart import Chart
    from gathercli.explain.drawing.scene import Scene
    from gathercli.explain.drawing.svg import Sheet
    from gathercli.report.terminal import Styled
    from gathercli.report.verdicts import CheckReport


STEP: Final = "{n}"  # the number of a step in the path of its picture
MOST_STEPS: Final = 100  # the most pictures of steps of a path
# The arrows of a drawing: all, or some of many; all; those of the way to the cell; or none.
ARROWS: Final = ("auto", "all", "path", "none")
_DRAWN: Final = (".svg", ".png", ".pdf")


class PictureFile(Output):
    """The file of a picture, on a sheet for a drawing."""

    def __init__(self, path: str, options: SaveOptions) -> None:
        super().__init__(path, no_clobber=options.no_clobber)
        self.options = options

    def write_drawing(self, svg: str, title: str, description: str) -> None:
        """Write an SVG in the format of the file's suffix, with a title and an alternative text."""
        from gathercli.explain.drawing.svg import encode

        self.stream.write(encode(svg, self.path, title, description, self.options.sheet))

    def write_scene(self, scene: Scene) -> None:
        """Write the drawing of an explanation."""
        from gathercli.explain.drawing.svg import svg

        self.write_drawing(svg(scene, self.options.sheet), scene.title, scene.description)

    def write_chart(self, chart: Chart, text: Callable[[], Styled]) -> None:
        """Write a chart, or the text that says the same in characters, for a terminal."""
        sheet = self.options.sheet
        if self.path.endswith(".txt"):
            self.stream.write(text().plain.encode(errors="backslashreplace"))
        elif self.path.endswith(".html"):
            from gathercli.explain.drawing.chart import page

            self.stream.write(page(chart, sheet).encode())
        else:
            self.write_drawing(chart.svg(sheet), chart.title, chart.description)


class SaveOptions(PictureOptions):
    """The files of the picture."""

    paths: list[str] | None = option(OUTPUT, "--save", metavar="PATH", kind=list)
    aspect_text: str | None = option(OUTPUT, "--aspect", metavar="W:H", once=True, rare=True)
    size_text: str | None = option(OUTPUT, "--size", metavar="WxH", once=True, rare=True)
    theme: str | None = option(
        OUTPUT, "--theme", metavar="THEME", choices=("light", "dark", "transparent"), rare=True
    )
    no_clobber: bool = NO_CLOBBER
    bare: bool = False
    animate: bool = False
    arrows: str = ARROWS[0]
    # The options of a drawing's form, and the suffixes of the files that have it.
    forms: ClassVar = {"aspect_text": (*_DRAWN, ".html"), "size_text": _DRAWN, "theme": _DRAWN}

    @property
    def stepped(self) -> list[str]:
        """The paths with a place for the number of a step."""
        return [path for path in self.paths or () if STEP in path]

    @property
    def sheet(self) -> Sheet:
        """The sheet of a drawing; raise if a ratio or a size does not parse, or they disagree."""
        from gathercli.explain.drawing.svg import Sheet

        expected = "a width and a height such as"
        size = _pair("--size", self.size_text, "x", f"{expected} 1920x1080")
        aspect = _pair("--aspect", self.aspect_text, ":", f"{expected} 16:9") or size
        if aspect and size and abs(size[0] * aspect[1] - size[1] * aspect[0]) >= max(aspect):
            what = (
                f"`--size {self.size_text}` does not have the ratio `--aspect {self.aspect_text}`"
            )
            raise UsageError(what, expected="one of them, or two that agree within a pixel")
        return Sheet(aspect, size, self.theme)

    def opened(self) -> PictureFiles:
        """Return the files.

        Raise for two paths to one file, an unknown suffix, or a form that is unknown, of nothing to
        save, or not that of all files.
        """
        for name in filter(self.changed().__contains__, self.forms):
            form, suffixes = f"--{name.removesuffix('_text')}", self.forms[name]
            value, choices = getattr(self, name), self._own()[name].choices
            if choices and value not in choices:  # in Python
                raise unparsed(form, value, listed(choices))
            if not self.paths:
                raise UsageError("is of a saved picture", subject=form, expected="`--save` too")
            if not all(path.endswith(suffixes) for path in self.paths):
                expected = f"`--save` of {listed(suffixes)}"
                raise UsageError("is of drawings alone", subject=form, expected=expected)
            self.sheet  # noqa: B018  (to check them)
        if self.stepped and "animate" not in self.forms:
            what = f"of {STEP} is of the steps of `explain`"
            raise UsageError(what, subject="--save", expected="a path without it")
        paths: dict[str, str] = {}
        for path in self.paths or ():
            file = os.path.realpath(path)
            if file in paths:
                what = f"names `{clean(paths[file])}` and `{clean(path)}`, which are one file"
                raise UsageError(what, subject="--save", value=path, expected="different files")
            paths[file] = path
        return PictureFiles([self.output(path) for path in paths.values()])

    def output(self, path: str) -> PictureFile:
        """Return the file of a path; raise for an unknown suffix, or one that lacks a package."""
        if not path.endswith((*_DRAWN, ".html", ".txt")):
            raise UsageError(
                f"the suffix of `{clean(path)}` is not a picture format",
                value=path,
                expected=".svg, .png, .pdf, .html or .txt",
                instead=(os.path.splitext(path)[0] + ".svg",),
            )
        if path.endswith(_DRAWN[1:]) and find_spec("typst") is None:
            from gathercli.io.formats.foreign import not_installed

            raise not_installed("typst", "pictures", UsageError, "usage")
        return PictureFile(path, self)


class StepPictures(SaveOptions):
    """The pictures of `explain`, of one cell or of each in turn."""

    bare: bool = flag(OUTPUT, "--bare", rare=True)
    animate: bool = flag(OUTPUT, "--animate", rare=True)
    arrows: str = option(
        OUTPUT, "--arrows", metavar="WHICH", choices=ARROWS, default=ARROWS[0], rare=True
    )
    forms: ClassVar = {
        **dict.fromkeys(("bare", "arrows"), (*_DRAWN, ".html")),
        **SaveOptions.forms,
        "animate": (".svg",),
    }

    def opened(self) -> PictureFiles:
        """Return the files; those of steps, whose number is not known yet, are opened later."""
        files = super().opened().files
        if not all(path.endswith(_DRAWN) for path in self.stepped):
            what, expected = f"of {STEP} is of drawings alone", f"`--save` of {listed(_DRAWN)}"
            raise UsageError(what, subject="--save", expected=expected)
        if self.stepped and self.animate:
            what = f"`--animate` and `--save` of {STEP} exclude each other"
            raise UsageError(what, expected="one of them")
        return PictureFiles([each for each in files if each.path not in self.stepped])

    def steps(self, saved: PictureFiles, count: int) -> Iterator[PictureFile]:
        """Yield the open files of the steps, of each path in turn."""
        if count > MOST_STEPS:
            what = f"would be {grouped(count)} pictures of steps"
            expected = f"at most {MOST_STEPS}"
            hint = "`--window` chooses fewer cells"
            raise UsageError(what, subject="--save", expected=expected, hint=hint)
        for path in self.stepped:
            for n in range(count):
                file = self.output(path.replace(STEP, str(n + 1).zfill(len(str(count)))))
                saved.enter_context(file).open()
                saved.files = [*saved.files, file]
                yield file


class IllegalPictures(SaveOptions):
    """The pictures of `check`."""

    def draw(self, files: Sequence[PictureFile], result: CheckedCall, report: CheckReport) -> None:
        """Write the picture of the illegal indices of the chosen version."""
        from gathercli.explain.drawing.illegal_chart import illegal_chart
        from gathercli.report.verdicts import headline, verdict_lines

        call, case = result.chosen.call, result.case
        if call is not None:
            chart = illegal_chart(call, case, headline(call, case), verdict_lines(result))
            for output in files:
                output.write_chart(chart, partial(report.styled, PICTURE_WIDTH))


class VersionPictures(SaveOptions):
    """The pictures of `compare`."""

    def draw(self, files: Sequence[PictureFile], *parts: Any) -> None:
        """Write a comparison: the arguments of `versions_chart`, then its text in characters."""
        from gathercli.explain.drawing.chart import versions_chart

        chart = versions_chart(*parts[:-1])
        for output in files:
            output.write_chart(chart, parts[-1])


class WrongPictures(SaveOptions):
    """The pictures of `diagnose`."""

    def draw(self, files: Sequence[PictureFile], *parts: Any) -> None:
        """Write where an output is wrong: the arguments of `wrong_chart`, then its text."""
        from gathercli.explain.drawing.illegal_chart import wrong_chart

        if files:
            chart = wrong_chart(*parts[:-1])
            for output in files:
                output.write_chart(chart, parts[-1])


def slices_of(option: str, text: str) -> tuple[slice, ...]:
    """Parse slices, one a dimension, of the option of this name; a number is one coordinate."""
    words = text.strip().removeprefix("[").removesuffix("]").split(",")
    slices = []
    for word in words:
        parts = re.fullmatch(r"\s*([+-]?\d{1,18})?\s*(:)?\s*([+-]?\d{1,18})?\s*", word, re.ASCII)
        if not parts or not (parts[1] or parts[2]) or (parts[3] and not parts[2]):
            raise unparsed(option, text, "slices such as 0:3,:,10:20")
        start, stop = (None if parts[n] is None else int(parts[n]) for n in (1, 3))
        if not parts[2] and start is not None:
            stop = start + 1 or None
        slices.append(slice(start, stop))
    return tuple(slices)


def check_window(window: Sequence[slice | None], shape: Sequence[int], noun: str) -> None:
    """Raise if a window has more slices than the tensor has dimensions, or one is empty."""
    if len(window) > len(shape):
        what = f"has {counted(len(window), 'slice')}, but the {noun} has rank {len(shape)}"
        raise UsageError(what, subject="--window", expected="at most one a dimension")
    for j, (part, size) in enumerate(zip(window, shape, strict=False)):
        if size and not len(range(size)[part or slice(None)]):
            what = f"chooses nothing of dimension {j}, whose size is {size}"
            raise UsageError(what, subject="--window", expected=f"some of 0 to {size - 1}")


def _pair(option: str, text: str | None, mark: str, expected: str) -> tuple[int, int] | None:
    """Parse two numbers around a mark; None for no text."""
    if text is None:
        return None
    parts = re.fullmatch(rf"([1-9]\d{{0,3}}){mark}([1-9]\d{{0,3}})", text.strip(), re.ASCII)
    if not parts:
        raise unparsed(option, text, expected)
    return int(parts[1]), int(parts[2])


def unparsed(option: str, text: str | None, expected: str) -> UsageError:
    """Return the error for an option whose text does not parse."""
    what = f"is `{clean((text or '')[:80])}`"
    return UsageError(what, subject=option, value=text, expected=expected)
