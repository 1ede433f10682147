"""The option `--save`: the files of a picture, and what `check` and `compare` draw there."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

from gathercli.cli.command import option
from gathercli.cli.groups import OUTPUT
from gathercli.cli.options import NO_CLOBBER
from gathercli.cli.pictures import PictureOptions
from gathercli.errors import UsageError
from gathercli.io.write import Output
from gathercli.text import clean

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import ExitStack

    from gathercli.compute.verdicts import CheckedCall
    from gathercli.explain.drawing.chart import Chart
    from gathercli.report.terminal import Styled
    from gathercli.spec.call import Call


class PictureFile(Output):
    """The file of a picture.

    Parameters
    ----------
    aspect
        The ratio of width to height of a drawing, if one was asked for.
    """

    def __init__(self, path: str, aspect: tuple[int, int] | None, *, no_clobber: bool) -> None:
        super().__init__(path, no_clobber=no_clobber)
        self.aspect = aspect

    def write_drawing(self, svg: str, title: str, description: str) -> None:
        """Write an SVG in the format of the file's suffix, with a title and an alternative text."""
        from gathercli.explain.drawing.files import encode

        self.stream.write(encode(svg, self.path, title, description))

    def write_chart(self, chart: Chart, text: Callable[[], Styled]) -> None:
        """Write a chart.

        Parameters
        ----------
        text
            Returns the same in characters, for a terminal.
        """
        if self.path.endswith(".txt"):
            self.stream.write(text().plain.encode(errors="backslashreplace"))
        elif self.path.endswith(".html"):
            from gathercli.explain.drawing.chart import page

            self.stream.write(page(chart, aspect=self.aspect).encode())
        else:
            self.write_drawing(chart.svg(aspect=self.aspect), chart.title, chart.description)


class SaveOptions(PictureOptions):
    """The files of the picture."""

    paths: list[str] | None = option(
        OUTPUT,
        "--save",
        metavar="PATH",
        kind=list,
        help="Also keep the picture: .svg, .png, .pdf, .html or .txt. Given again, "
        "keep it there too.",
    )
    aspect_text: str | None = option(
        OUTPUT,
        "--aspect",
        metavar="W:H",
        help="Give a saved drawing margins to this ratio of width to height, such as 16:9.",
        once=True,
        rare=True,
    )
    no_clobber: bool = NO_CLOBBER

    @property
    def aspect(self) -> tuple[int, int] | None:
        """The ratio of width to height; None for that of the drawing."""
        if self.aspect_text is None:
            return None
        parts = re.fullmatch(r"([1-9]\d{0,3}):([1-9]\d{0,3})", self.aspect_text.strip(), re.ASCII)
        if not parts:
            raise UsageError(
                f"is `{clean(self.aspect_text[:80])}`",
                rule="usage",
                subject="--aspect",
                value=self.aspect_text,
                expected="a width and a height such as 16:9",
            )
        return int(parts[1]), int(parts[2])

    def outputs(self) -> list[PictureFile]:
        """Return the files; raise for two paths to one file, or an unknown suffix."""
        paths: dict[str, str] = {}
        for path in self.paths or ():
            file = os.path.realpath(path)
            if file in paths:
                raise UsageError(
                    f"names `{clean(paths[file])}` and `{clean(path)}`, which are one file",
                    rule="usage",
                    subject="--save",
                    value=path,
                    expected="different files",
                )
            paths[file] = path
        return [self._output(path) for path in paths.values()]

    def opened(self, stack: ExitStack) -> list[PictureFile]:
        """Return the files, open until the stack is closed; raise as `outputs` does.

        Raise also if the ratio is unreadable, or there is nothing to save.
        """
        if self.aspect is not None and not self.paths:
            raise UsageError(
                "is of a saved picture", rule="usage", subject="--aspect", expected="`--save` too"
            )
        outputs = [stack.enter_context(output) for output in self.outputs()]
        for output in outputs:
            output.open()
        return outputs

    def _output(self, path: str) -> PictureFile:
        from gathercli.explain.drawing.files import CONVERTED, DRAWN

        if not path.endswith((*DRAWN, ".html", ".txt")):
            raise UsageError(
                f"the suffix of `{clean(path)}` is not a picture format",
                rule="usage",
                value=path,
                expected=".svg, .png, .pdf, .html or .txt",
                instead=(os.path.splitext(path)[0] + ".svg",),
            )
        if path.endswith(CONVERTED) and find_spec("typst") is None:
            from gathercli.io.formats.foreign import not_installed

            raise not_installed("typst", "pictures", UsageError, "usage")
        return PictureFile(path, self.aspect, no_clobber=self.no_clobber)


class IllegalPictures(SaveOptions):
    """The pictures of `check`."""

    def draw(self, outputs: Sequence[PictureFile], result: CheckedCall, call: Call) -> None:
        """Write the picture of the illegal indices of the chosen version."""
        from itertools import islice

        from gathercli.cli.commands.check import SHOWN
        from gathercli.compute.verdicts import illegal, legal_ends, number_illegal
        from gathercli.compute.warnings import warnings
        from gathercli.explain.drawing.illegal_chart import illegal_chart
        from gathercli.report import verdicts as report
        from gathercli.report.terminal import PICTURE_WIDTH

        case, verdicts = result.case, report.verdict_lines(result)
        chart = illegal_chart(call, case, report.headline(call, case), verdicts)

        def characters() -> Styled:
            text = report.opening(result, PICTURE_WIDTH)
            first = list(islice(illegal(call, case), SHOWN))
            listing = report.Listing.of(
                case.indices.shape, [each.value for each in first], legal_ends(call)
            )
            if first:
                text.append(listing.heading() + "".join(map(listing.line, first)))
                text.append(report.more(number_illegal(call, case) - len(first)))
            return text.append_text(report.closing(result, list(warnings(result)), PICTURE_WIDTH))

        for output in outputs:
            output.write_chart(chart, characters)


class VersionPictures(SaveOptions):
    """The pictures of `compare`."""

    def draw(
        self,
        outputs: Sequence[PictureFile],
        call: str,
        tables: Sequence[tuple[tuple[str, ...], Sequence[tuple[str, ...]]]],
        lines: Sequence[str],
        characters: Callable[[], Styled],
    ) -> None:
        """Write the picture of a comparison, as `versions_chart` draws it."""
        from gathercli.explain.drawing.versions_chart import Table, versions_chart

        chart = versions_chart(call, [Table(*each) for each in tables], lines)
        for output in outputs:
            output.write_chart(chart, characters)
