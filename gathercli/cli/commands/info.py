"""`info`: what files hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from gathercli.cli import options as opt
from gathercli.cli.groups import INPUT
from gathercli.cli.limits import Limits
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.errors import GatherError, InputError
from gathercli.io.write import STDOUT
from gathercli.report.info import MEMBERS, Described, Info, as_json, text
from gathercli.report.terminal import rendered, wants_color, width_of

if TYPE_CHECKING:
    from gathercli.io.formats.content import Layout
    from gathercli.io.source import Source
    from gathercli.spec.dtypes import DType

_BINARY: Final = frozenset({"npy", "npz", "safetensors", "bin", "zarr"})
"""Formats whose elements have a byte order in the file."""

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help=opt.TENSOR_HELP, show_default=False),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header", help="Read no elements: type, shape and members alone.", rich_help_panel=INPUT
    ),
]


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    files: Files,
    header: Header = False,
    data_dtype: opt.SourceDtype = None,
    max_bytes: opt.MaxBytes = None,
    fmt: opt.TextFormat = "auto",
    precision: opt.Precision = 6,
    color: opt.Color = "auto",
    quiet: opt.Quiet = False,
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    return partial(
        _run,
        files,
        _Asked(header, opt.type_of(data_dtype), Limits.parse(max_bytes), fmt, precision),
        Messages(quiet, color, json_errors=json_errors, debug=debug),
    )


class _Asked(NamedTuple):
    """What is asked of every file."""

    header: bool
    declared: DType | None
    limits: Limits
    fmt: str
    precision: int


def _run(files: list[str], asked: _Asked, messages: Messages) -> int:
    from gathercli.io.source import Inputs

    Inputs.share_stdin(*files)
    shown: list[str] = []
    with messages.inputs(asked.limits.held) as inputs:

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


def _info(source: Source, token: str, asked: _Asked) -> Info:
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


def _member(source: Source, declared: DType | None) -> Described:
    """Describe a member, or say why it cannot be."""
    try:
        return _described(source, source.content.layout(source.key, declared))
    except GatherError as error:
        return Described(source.key, refused=error.message)


def _described(source: Source, found: Layout) -> Described:
    names = source.content.names
    many = found.held.itemsize > 1 and found.held.kind != "U" and source.content.format in _BINARY
    big = found.held.byteorder == ">"
    return Described(
        names[0] if source.key is None and names else source.key,
        found.dtype,
        found.shape,
        found.nbytes,
        "F" if found.fortran else "C",
        ("big" if big else "little") if many else None,
        chunked=found.chunked,
    )


def _text(info: Info, asked: _Asked, color: str, *, first: bool) -> str:
    if asked.fmt == "json":
        import json

        return json.dumps(as_json(info)) + "\n"
    out = text(info, width=width_of(STDOUT), precision=asked.precision)
    return ("" if first else "\n") + rendered(out, color=wants_color(color, STDOUT))
