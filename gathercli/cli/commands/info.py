"""`info`: describe the tensors in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.declarations import INPUT, Options, argument, flag
from gathercli.cli.messages import Messages
from gathercli.cli.options import PRECISION, TENSOR_HELP, TEXT_FORMAT, SourceOptions
from gathercli.cli.slice_options import PictureOptions
from gathercli.errors import GatherError, InputError
from gathercli.io.descriptors import STDOUT
from gathercli.io.formats.content import ElementTypes, Layout
from gathercli.io.formats.table import row_of
from gathercli.report.info import MOST_LISTED_MEMBERS, FileDescription, Info, as_json, text
from gathercli.report.terminal import Styled, print_text, rendered, wants_color, width_of

if TYPE_CHECKING:
    from gathercli.io.source import Source

FILES: Final = argument("FILE...", TENSOR_HELP, kind=list)


class TensorPictureOptions(PictureOptions):
    """The options for pictures of a tensor: in files, and beside its text."""

    def check(self, files: Sequence[str], *, header: bool) -> None:
        """Raise if the options exclude or lack each other, or do not suit the files."""

    def append(
        self, out: Styled, info: Info, width: int | None, precision: int, *, colored: bool
    ) -> None:
        """Append a picture to the text of a file."""

    def fields(self, info: Info) -> dict[str, Any]:
        """Return what a picture has for the JSON of a file."""
        del info
        return {}


class InfoOptions(Options):
    """Options for every file."""

    header: bool = flag(INPUT, "--header")
    sources: SourceOptions
    fmt: str = TEXT_FORMAT
    precision: int = PRECISION
    pictures: TensorPictureOptions


def run(options: InfoOptions, messages: Messages, files: list[str] = FILES) -> int:
    """Describe every file."""
    from gathercli.io.source import check_stdin

    options.pictures.check(files, header=options.header)
    check_stdin(*files)
    printed = 0
    types = ElementTypes(assumed=options.sources.declared)
    with options.pictures.opened() as saved, options.sources.inputs(messages) as inputs:

        def show(token: str) -> int:
            nonlocal printed
            try:
                info = _info(inputs.open(token, types), token, options)
                text = _text(info, options, messages.color, first=not printed)
                if saved.files:
                    options.pictures.draw(saved.files, info, options.precision)
                inputs.recheck()
                saved.commit()
                print_text(text)
                printed += 1
            finally:
                inputs.close_files()
            return InputError.status if any(each.refused for each in info.members) else 0

        status = messages.each(files, show)
    messages.say(*saved.remarks)
    messages.print()
    return status


def _info(source: Source, token: str, options: InfoOptions) -> Info:
    """Describe a source, reading no more than the options need."""
    from gathercli.compute.summary import summarise

    names = source.content.names
    info = Info(source.file.name if source.file else token, source.content.format)
    if source.key is None and names is not None and len(names) != 1:
        listed = names if options.fmt == "json" else names[:MOST_LISTED_MEMBERS]
        members = (_member(source._replace(key=name)) for name in listed)
        info = info._replace(members=tuple(members), hidden=len(names) - len(listed))
    else:
        info = info._replace(one=_describe(source, source.layout()))
    if source.file is not None:  # last, as the size of a stream needs its end
        info = info._replace(size=source.file.size)
    if info.one is None or options.header:
        return info
    tensor = source.tensor()
    summary = summarise(tensor, fine=bool(options.pictures.paths))
    return info._replace(tensor=tensor, summary=summary)


def _member(source: Source) -> FileDescription:
    """Describe a member, or return its error as the description."""
    try:
        return _describe(source, source.content.layout(source.key, source.types))
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
    if options.fmt == "json":
        import json

        return json.dumps(as_json(info) | options.pictures.fields(info)) + "\n"
    width, colored = width_of(STDOUT), wants_color(color, STDOUT)
    out = text(info, width=width, precision=options.precision)
    options.pictures.append(out, info, width, options.precision, colored=colored)
    return ("" if first else "\n") + rendered(out, color=colored)
