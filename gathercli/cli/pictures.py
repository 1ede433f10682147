"""The option `--save`: the files of a picture."""

from __future__ import annotations

import os

from gathercli.cli.command import Options, option
from gathercli.cli.groups import OUTPUT
from gathercli.cli.options import NO_CLOBBER
from gathercli.errors import UsageError
from gathercli.io.write import Output
from gathercli.text import clean

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from gathercli.drawing.chart import Chart
    from gathercli.report.terminal import Styled


class PictureOptions(Options):
    """The files of the picture."""

    paths: list[str] | None = option(
        OUTPUT,
        "--save",
        metavar="PATH",
        kind=list,
        help="Also keep the picture: .svg, .html or .txt. Given again, keep it there too.",
    )
    no_clobber: bool = NO_CLOBBER

    def outputs(self) -> list[Output]:
        """Return the files; raise for two paths to one file, or an unknown suffix."""
        paths: dict[str, str] = {}
        for path in self.paths or ():
            file = os.path.realpath(path)
            if file in paths:
                raise UsageError(
                    f"`--save` names `{clean(paths[file])}` and `{clean(path)}`, which are one "
                    "file: expected different files",
                    rule="usage",
                    value=path,
                )
            paths[file] = path
        return [self._output(path) for path in paths.values()]

    def opened(self, stack: ExitStack) -> list[Output]:
        """Return the files, open until the stack is closed; raise as `outputs` does."""
        outputs = [stack.enter_context(output) for output in self.outputs()]
        for output in outputs:
            output.open()
        return outputs

    def _output(self, path: str) -> Output:
        from gathercli.report.picture import SUFFIXES

        if not path.endswith(SUFFIXES):
            raise UsageError(
                f"the suffix of `{clean(path)}` is not a picture format: "
                "expected .svg, .html or .txt",
                rule="usage",
                value=path,
                instead=(os.path.splitext(path)[0] + ".svg",),
            )
        return Output(path, no_clobber=self.no_clobber)


def encoded(path: str, chart: Chart, text: Callable[[], Styled]) -> bytes:
    """Return the content of the file of a chart, by the suffix of its path.

    Parameters
    ----------
    text
        Returns the same in characters, for a terminal.
    """
    if path.endswith(".txt"):
        return text().plain.encode(errors="backslashreplace")
    if path.endswith(".html"):
        from gathercli.drawing.chart import page

        return page(chart).encode()
    return chart.svg().encode()
