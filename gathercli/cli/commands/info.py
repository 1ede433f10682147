"""`info`: describe the tensors in files."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.command import Options, argument, flag, option
from gathercli.cli.groups import INPUT, VIEW
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.messages import Messages
from gathercli.cli.options import (
    EXTERNAL_DATA,
    PRECISION,
    SOURCE_DTYPE,
    TENSOR_HELP,
    TEXT_FORMAT,
    type_of,
)
from gathercli.cli.windows import check_window, slices_of
from gathercli.errors import GatherError, Hint, InputError, UsageError
from gathercli.explain.pictures import PictureOptions
from gathercli.io.descriptors import STDOUT
from gathercli.io.formats.table import row_of
from gathercli.report.info import MEMBERS, FileDescription, Info, as_json, text
from gathercli.report.terminal import (
    PICTURE_WIDTH,
    depth,
    print_text,
    rendered,
    wants_color,
    width_of,
)
from gathercli.text import can_be_argument, clean, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.explain.heatmap import Plane
    from gathercli.explain.pictures import PictureFile
    from gathercli.io.formats.content import Layout
    from gathercli.io.source import Source
    from gathercli.report.terminal import Styled
    from gathercli.spec.dtypes import DType

FILES: Final = argument("FILE...", TENSOR_HELP, kind=list)


class HeatOptions(Options):
    """What a heat map shows."""

    heat: bool = flag(
        VIEW,
        "--heat",
        help="Also draw two dimensions by colour or shade, in bins that fit, by their means.",
    )
    window_text: str | None = option(
        VIEW,
        "--window",
        metavar="SLICES",
        help="What --heat and --save draw, a slice a dimension: 0,:,10:20. Default the last two "
        "dimensions, at 0 of the others.",
    )
    ascii: bool = flag(VIEW, "--ascii", help="Use no characters beyond ASCII.")

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
                rule="usage",
                subject="--window",
                value=self.window_text,
                expected="one coordinate for each of the others",
                hint="`--window 0,:,10:20` draws dimensions 1 and 2",
            ) from None


class InfoOptions(Options):
    """Options for every file."""

    header: bool = flag(INPUT, "--header", help="Read no elements: type, shape and members alone.")
    data_dtype: str | None = SOURCE_DTYPE
    external_data: bool = EXTERNAL_DATA
    memory: MemoryOptions
    fmt: str = TEXT_FORMAT
    precision: int = PRECISION
    heat: HeatOptions
    pictures: PictureOptions

    @property
    def declared(self) -> DType | None:
        """The type of untyped sources."""
        return type_of(self.data_dtype)

    def check(self, files: Sequence[str]) -> None:
        """Raise if options exclude or lack each other, or several files have one picture."""
        drawn = ["--heat"] * self.heat.heat + ["--save"] * bool(self.pictures.paths)
        if self.header and drawn:
            raise UsageError(
                f"`--header` and `{drawn[0]}` exclude each other",
                rule="usage",
                expected="one of them",
            )
        if self.heat.window and not drawn:
            raise UsageError(
                "says what `--heat` and `--save` draw",
                rule="usage",
                subject="--window",
                expected="one of them too",
            )
        if self.pictures.paths and len(files) > 1:
            raise UsageError(
                f"draws one tensor, and there are {counted(len(files), 'file')}",
                rule="usage",
                subject="--save",
                expected="one",
            )


def run(options: InfoOptions, messages: Messages, files: list[str] = FILES) -> int:
    """Describe every file."""
    from gathercli.io.source import Inputs

    options.check(files)
    Inputs.check_stdin(*files)
    printed = 0
    with ExitStack() as stack:
        outputs = options.pictures.opened(stack)
        inputs = stack.enter_context(messages.inputs(options.memory.limits.memory))
        inputs.external = options.external_data

        def show(token: str) -> int:
            nonlocal printed
            try:
                info = _info(inputs.open(token, declared=options.declared), token, options)
                text = _text(info, options, messages.color, first=not printed)
                if outputs:
                    _draw(info, options, outputs)
                inputs.recheck()
                for output in outputs:
                    output.commit()
                print_text(text)
                printed += 1
            finally:
                inputs.close_files()
            return InputError.status if any(each.refused for each in info.members) else 0

        status = messages.each(files, show)
    for output in outputs:
        messages.say(f"wrote {clean(output.path)}")
    messages.print()
    return status


def _info(source: Source, token: str, options: InfoOptions) -> Info:
    """Describe a source, reading no more than the options need."""
    from gathercli.compute.summary import summarise

    names = source.content.names
    info = Info(source.file.name if source.file else token, source.content.format)
    if source.key is None and names is not None and len(names) != 1:
        listed = names if options.fmt == "json" else names[:MEMBERS]
        members = (_member(source._replace(key=name), options.declared) for name in listed)
        info = info._replace(members=tuple(members), hidden=len(names) - len(listed))
    else:
        info = info._replace(one=_describe(source, source.layout(assumed=options.declared)))
    if source.file is not None:  # last, as the size of a stream needs its end
        info = info._replace(size=source.file.size)
    if info.one is None or options.header:
        return info
    tensor = source.tensor(assumed=options.declared)
    return info._replace(
        tensor=tensor, summary=summarise(tensor, fine=bool(options.pictures.paths))
    )


def _member(source: Source, declared: DType | None) -> FileDescription:
    """Describe a member, or return its error as the description."""
    try:
        return _describe(source, source.content.layout(source.key, declared))
    except GatherError as error:
        return FileDescription(source.key, refused=error.message)


def _describe(source: Source, layout: Layout) -> FileDescription:
    names, dtype = source.content.names, layout.storage
    ordered = row_of(source.content.format).ordered
    ordered = ordered and dtype.itemsize > 1 and dtype.kind != "U"
    return FileDescription(
        names[0] if source.key is None and names else source.key,
        layout.dtype,
        layout.shape,
        layout.nbytes,
        "F" if layout.fortran else "C",
        ("big" if dtype.byteorder == ">" else "little") if ordered else None,
        chunked=layout.chunks,
    )


def _text(info: Info, options: InfoOptions, color: str, *, first: bool) -> str:
    heat = options.heat.heat and info.tensor is not None
    if options.fmt == "json":
        import json

        fields = as_json(info)
        if heat and info.tensor is not None:
            fields["heat"] = _heat_json(info.tensor, options.heat)
        return json.dumps(fields) + "\n"
    width, colored = width_of(STDOUT), wants_color(color, STDOUT)
    out = text(info, width=width, precision=options.precision)
    if heat and info.tensor is not None:
        out.append("\n").append_text(_heat_text(info.tensor, options, width, colored=colored))
    return ("" if first else "\n") + rendered(out, color=colored)


def _draw(info: Info, options: InfoOptions, outputs: Sequence[PictureFile]) -> None:
    """Write the picture of a tensor; raise if it has none."""
    from gathercli.explain.terminal.heat import undrawable

    if info.tensor is None or info.summary is None:
        names = (each.name for each in info.members if each.name)
        name = next(filter(can_be_argument, names), None)
        raise UsageError(
            f"`{clean(info.file)}` has {counted(len(info.members) + info.hidden, 'tensor')}",
            rule="usage",
            expected="one to draw",
            hint=name and Hint("{source} is one of them", source=f"{info.file}#{name}"),
        )
    tensor, reason = info.tensor, undrawable(info.tensor)
    if reason is not None:
        raise UsageError(
            f"cannot draw `{clean(info.file)}`, as {reason}",
            rule="usage",
            subject="--save",
            expected="numbers",
        )
    from gathercli.explain.drawing.tensor_chart import tensor_chart

    chart = tensor_chart(info, tensor, info.summary, options.heat.plane(tensor.shape))

    def characters() -> Styled:
        out = text(info, width=PICTURE_WIDTH, precision=options.precision)
        return out.append("\n").append_text(
            _heat_text(tensor, options, PICTURE_WIDTH, colored=False)
        )

    for output in outputs:
        output.write_chart(chart, characters)


def _heat_text(tensor: Tensor, options: InfoOptions, width: int | None, *, colored: bool) -> Styled:
    """Draw the heat map of a tensor, or say why it has none."""
    from gathercli.explain.heatmap import heat_map
    from gathercli.explain.terminal import heat as report

    plane = options.heat.plane(tensor.shape)
    marks = report.ASCII_HEAT if options.heat.ascii else report.HeatMarks()
    if (reason := report.undrawable(tensor)) is not None:
        return report.no_heat(reason)
    colors = depth() if colored and depth() != "standard" else None
    layout = report.heat_layout(plane, width or PICTURE_WIDTH, marks, colors)
    bins = heat_map(tensor, plane, (layout.rows, layout.columns))
    title = report.title_of(tensor, bins, plane)
    write = f"{{:.{options.precision}g}}".format
    return report.heat_text(bins, plane, layout, marks, colors, title=title, write=write)


def _heat_json(tensor: Tensor, options: HeatOptions) -> dict[str, Any] | None:
    """Return the bins of the heat map for JSON; None if the tensor has none."""
    from gathercli.explain.heatmap import heat_map
    from gathercli.explain.terminal import heat as report

    plane = options.plane(tensor.shape)
    if report.undrawable(tensor) is not None:
        return None
    return report.heat_json(heat_map(tensor, plane, report.BINS), plane)
