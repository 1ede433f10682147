"""The options of `info` for pictures: a tensor as colours, beside its text and in files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from gathercli.cli.commands.info import TensorPictureOptions
from gathercli.cli.declarations import VIEW, flag, option
from gathercli.errors import Hint, UsageError
from gathercli.explain.pictures import SaveOptions, check_window, slices_of
from gathercli.report.info import text
from gathercli.report.terminal import PICTURE_WIDTH, depth
from gathercli.text import can_be_argument, clean, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.summary import Summary
    from gathercli.compute.tensor import Tensor
    from gathercli.explain.heatmap import Plane
    from gathercli.explain.pictures import PictureFile
    from gathercli.report.info import Info
    from gathercli.report.terminal import Styled


class HeatOptions(SaveOptions, TensorPictureOptions):
    """The pictures of `info`: what a heat map shows, and the files."""

    heat: bool = flag(VIEW, "--heat")
    window_text: str | None = option(VIEW, "--window", metavar="SLICES")
    ascii: bool = flag(VIEW, "--ascii", rare=True)

    @cached_property
    def window(self) -> tuple[slice, ...]:
        """The slices to draw."""
        return () if self.window_text is None else slices_of("--window", self.window_text)

    def plane(self, shape: tuple[int, ...]) -> Plane:
        """Return the dimensions to draw of a tensor; raise if it lacks the window."""
        from gathercli.explain.heatmap import plane

        check_window(self.window, shape, "tensor")
        try:
            return plane(shape, self.window)
        except ValueError:
            raise UsageError(
                f"is `{clean(self.window_text or '')}`, which keeps more than two dimensions",
                subject="--window",
                value=self.window_text,
                expected="one coordinate for each of the others",
                hint="`--window 0,:,10:20` draws dimensions 1 and 2",
            ) from None

    def check(self, files: Sequence[str], *, header: bool) -> None:
        """Raise if options exclude or lack each other, or several files have one picture."""
        drawn = ["--heat"] * self.heat + ["--save"] * bool(self.paths)
        if header and drawn:
            expected = "one of them"
            raise UsageError(f"`--header` and `{drawn[0]}` exclude each other", expected=expected)
        if self.window and not drawn:
            what = "says what `--heat` and `--save` draw"
            raise UsageError(what, subject="--window", expected="one of them too")
        if self.paths and len(files) > 1:
            what = f"draws one tensor, and there are {counted(len(files), 'file')}"
            raise UsageError(what, subject="--save", expected="one")

    def draw(self, outputs: Sequence[PictureFile], info: Info, precision: int) -> None:
        """Write the picture of a tensor; raise if it has none."""
        from gathercli.explain.drawing.tensor_chart import tensor_chart

        tensor, summary = _drawable(info)
        chart = tensor_chart(info, tensor, summary, self.plane(tensor.shape))

        def characters() -> Styled:
            out = text(info, width=PICTURE_WIDTH, precision=precision)
            heat = self._text(tensor, PICTURE_WIDTH, precision, colored=False)
            return out.append("\n").append_text(heat)

        for output in outputs:
            output.write_chart(chart, characters)

    def append(
        self, out: Styled, info: Info, width: int | None, precision: int, *, colored: bool
    ) -> None:
        """Append the heat map to the text of a file, or why it has none."""
        if self.heat and info.tensor is not None:
            heat = self._text(info.tensor, width or PICTURE_WIDTH, precision, colored=colored)
            out.append("\n").append_text(heat)

    def fields(self, info: Info) -> dict[str, Any]:
        """Return the bins of the heat map for JSON; None if the tensor has none."""
        if not self.heat or info.tensor is None:
            return {}
        from gathercli.explain.heatmap import heat_map
        from gathercli.explain.terminal import picture as heat

        plane = self.plane(info.tensor.shape)
        if heat.undrawable(info.tensor) is not None:
            return {"heat": None}
        return {"heat": heat.heat_json(heat_map(info.tensor, plane, heat.MOST_JSON_BINS))}

    def _text(self, tensor: Tensor, width: int, precision: int, *, colored: bool) -> Styled:
        """Draw the heat map of a tensor, or say why it has none."""
        from rich.text import Text

        from gathercli.explain.heatmap import heat_map
        from gathercli.explain.terminal import picture as heat

        plane = self.plane(tensor.shape)
        if (reason := heat.undrawable(tensor)) is not None:
            return Text(f"no heat map: {reason}\n", "dim")
        marks = heat.ASCII_HEAT if self.ascii else heat.HeatMarks()
        colors = depth() if colored and depth() != "standard" else None
        layout = heat.heat_layout(plane, width, marks, colors)
        bins = heat_map(tensor, plane, (layout.rows, layout.columns))
        write = f"{{:.{precision}g}}".format
        return heat.heat_text(bins, layout, title=heat.title_of(tensor, bins), write=write)


def _drawable(info: Info) -> tuple[Tensor, Summary]:
    """Return the one tensor of a file, with its summary; raise if it cannot be drawn."""
    from gathercli.explain.terminal.picture import undrawable

    if info.tensor is None or info.summary is None:
        names = (each.name for each in info.members if each.name)
        name = next(filter(can_be_argument, names), None)
        what = f"`{clean(info.file)}` has {counted(len(info.members) + info.hidden, 'tensor')}"
        hint = name and Hint("{source} is one of them", source=f"{info.file}#{name}")
        raise UsageError(what, expected="one to draw", hint=hint)
    if (reason := undrawable(info.tensor)) is not None:
        what = f"cannot draw `{clean(info.file)}`, as {reason}"
        raise UsageError(what, subject="--save", expected="numbers")
    return info.tensor, info.summary
