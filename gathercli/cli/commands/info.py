"""`info`: what files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gathercli.cli.command import Options, argument, option
from gathercli.cli.groups import INPUT
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.options import TENSOR_HELP, Precision, SourceDtype, TextFormat, type_of
from gathercli.errors import GatherError, InputError
from gathercli.io.formats.table import FORMATS
from gathercli.io.write import STDOUT
from gathercli.report.info import MEMBERS, FileDescription, Info, as_json, text
from gathercli.report.terminal import rendered, wants_color, width_of

if TYPE_CHECKING:
    from gathercli.io.formats.content import Layout
    from gathercli.io.source import Source
    from gathercli.spec.dtypes import DType

Files = Annotated[list[str], argument("FILE...", TENSOR_HELP)]


class InfoOptions(Options):
    """What is asked of every file."""

    header: Annotated[
        bool, option(INPUT, "--header", help="Read no elements: type, shape and members alone.")
    ] = False
    data_dtype: SourceDtype = None
    memory: MemoryOptions
    fmt: TextFormat = "auto"
    precision: Precision = 6

    @property
    def declared(self) -> DType | None:
        """The type of what names none."""
        return type_of(self.data_dtype)


def run(files: Files, asked: InfoOptions, messages: Messages) -> int:
    """Describe every file."""
    from gathercli.io.source import Inputs

    Inputs.share_stdin(*files)
    shown: list[str] = []
    with messages.inputs(asked.memory.limits.memory) as inputs:

        def show(token: str) -> int:
            try:
                info = _info(inputs.open(token, declared=asked.declared), token, asked)
                text = _text(info, asked, messages.color, first=not shown)
                inputs.recheck()
                print_text(text)
                shown.append(token)
            finally:
                inputs.close_files()
            return InputError.status if any(each.refused for each in info.members) else 0

        status = messages.each(files, show)
    messages.print()
    return status


def _info(source: Source, token: str, asked: InfoOptions) -> Info:
    """Read what is asked for of a file, and no more."""
    from gathercli.arrays.summary import summarise

    names = source.content.names
    info = Info(source.file.name if source.file else token, source.content.format)
    if source.key is None and names is not None and len(names) != 1:
        shown = names if asked.fmt == "json" else names[:MEMBERS]
        members = (_member(source._replace(key=name), asked.declared) for name in shown)
        info = info._replace(members=tuple(members), hidden=len(names) - len(shown))
    else:
        info = info._replace(one=_described(source, source.layout(assumed=asked.declared)))
    if source.file is not None:  # of a stream, only when it was read as far as it should go
        info = info._replace(size=source.file.size)
    if info.one is None or asked.header:
        return info
    tensor = source.tensor(assumed=asked.declared)
    return info._replace(tensor=tensor, summary=summarise(tensor))


def _member(source: Source, declared: DType | None) -> FileDescription:
    """Describe a member, or say why it cannot be."""
    try:
        return _described(source, source.content.layout(source.key, declared))
    except GatherError as error:
        return FileDescription(source.key, refused=error.message)


def _described(source: Source, found: Layout) -> FileDescription:
    names = source.content.names
    ordered = FORMATS[source.content.format].ordered
    many = ordered and found.file_dtype.itemsize > 1 and found.file_dtype.kind != "U"
    big = found.file_dtype.byteorder == ">"
    return FileDescription(
        names[0] if source.key is None and names else source.key,
        found.dtype,
        found.shape,
        found.nbytes,
        "F" if found.fortran else "C",
        ("big" if big else "little") if many else None,
        chunked=found.chunks,
    )


def _text(info: Info, asked: InfoOptions, color: str, *, first: bool) -> str:
    if asked.fmt == "json":
        import json

        return json.dumps(as_json(info)) + "\n"
    out = text(info, width=width_of(STDOUT), precision=asked.precision)
    return ("" if first else "\n") + rendered(out, color=wants_color(color, STDOUT))
