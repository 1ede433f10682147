"""The option `--save`: the files of a picture."""

from __future__ import annotations

import os

from gathercli.cli.command import Options, option
from gathercli.cli.groups import OUTPUT
from gathercli.cli.options import NO_CLOBBER
from gathercli.errors import UsageError
from gathercli.io.write import Output
from gathercli.text import clean


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
