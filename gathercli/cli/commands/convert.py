"""`convert`: tensors from any format to any other, one file or a folder of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from gathercli.arrays.blocks import CopyBlocks
from gathercli.arrays.cast import CastTensor
from gathercli.arrays.streamed import BlockResult
from gathercli.cli import options as opt
from gathercli.cli.commands.targets import (
    Target,
    check_copy,
    check_path,
    named_files,
    named_members,
    outputs,
    places,
)
from gathercli.cli.groups import OUTPUT
from gathercli.cli.limits import Limits
from gathercli.cli.messages import Messages
from gathercli.cli.sink import WriteOptions, binary_refused, losses
from gathercli.errors import GatherError, LimitError, UsageError
from gathercli.io import save
from gathercli.io.files import cores
from gathercli.io.write import STDOUT, Checked, Stream, make_folder
from gathercli.report.terminal import is_terminal
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from gathercli.arrays.result import Result
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.io.formats.encode import Named
    from gathercli.io.source import Inputs, Source
    from gathercli.spec.dtypes import DType

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC... DEST",
        help="Tensors, given as everywhere, or folders of files, and the file to write (- is "
        "stdout); several with -d, where DEST is a folder, or where its format holds several.",
        show_default=False,
    ),
]
To = Annotated[
    Literal["npy", "npz", "json", "oip", "literal", "safetensors", "pb", "bin", "zarr"] | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="npy, npz, json, oip, literal, safetensors, pb (ONNX), bin (raw bytes) or zarr; "
        "without it the suffix of DEST says so.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Directory = Annotated[
    str | None,
    typer.Option(
        "--directory",
        "-d",
        metavar="DIR",
        help="Write a file for every source into this folder, which is made if it is not there.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
ToDtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="DTYPE",
        help="Convert the elements to this type; refused if a value would change.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Lossy = Annotated[
    bool,
    typer.Option(
        "--lossy",
        help="Let --dtype round to the nearest, half to even; nothing wraps or becomes infinite.",
        rich_help_panel=OUTPUT,
    ),
]
Truncate = Annotated[
    bool,
    typer.Option(
        "--truncate",
        help="As --lossy, but make integers of floats towards zero.",
        rich_help_panel=OUTPUT,
    ),
]


class _Watched:
    """Takes bytes for a stream, and tells how many they are of about `total`."""

    def __init__(self, stream: Checked, total: int, tick: ProgressCallback | None) -> None:
        self._stream, self._total, self._tick = stream, total, tick
        self._written = 0

    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        self._stream.write(part)
        self._written += len(part)
        if self._tick is not None:
            self._tick("wrote", self._written, max(self._written, self._total))

    def place(self, result: object) -> bool:
        """Say that all comes in order: what is converted is no result of an operator."""
        del result
        return False


class _Asked(NamedTuple):
    """What is asked for every source.

    Attributes
    ----------
    to, force
        The format, and whether it is written whatever the suffix.
    declared, wanted
        The types of untyped input, and of the output.
    lossy, truncate
        As `CastTensor` takes them.
    """

    to: str | None
    force: bool
    directory: str | None
    declared: DType | None
    wanted: DType | None
    lossy: bool
    truncate: bool
    nonfinite: str
    limits: Limits
    keeping: WriteOptions
    chunks: tuple[int, ...] | None

    @property
    def changes(self) -> bool:
        """Whether more is asked for than another format."""
        return bool(self.wanted or self.declared or self.chunks) or self.nonfinite != "quoted"


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    paths: Paths,
    to: To = None,
    force_format: opt.ForceFormat = False,
    directory: Directory = None,
    to_dtype: ToDtype = None,
    lossy: Lossy = False,
    truncate: Truncate = False,
    data_dtype: opt.SourceDtype = None,
    max_bytes: opt.MaxBytes = None,
    chunks: opt.Chunks = None,
    no_clobber: opt.NoClobber = False,
    fsync: opt.Fsync = False,
    nonfinite: opt.Nonfinite = "quoted",
    color: opt.Color = "auto",
    quiet: opt.Quiet = False,
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    limits, keeping = Limits.parse(max_bytes), WriteOptions(no_clobber, fsync)
    sizes = opt.chunks_of(chunks, paths[-1], to or "auto")
    types = opt.type_of(data_dtype), opt.type_of(to_dtype)
    return partial(
        _run,
        paths,
        _Asked(
            to,
            force_format,
            directory,
            *types,
            lossy or truncate,
            truncate,
            nonfinite,
            limits,
            keeping,
            sizes,
        ),
        Messages(quiet, color, json_errors=json_errors, debug=debug),
    )


def _run(paths: list[str], asked: _Asked, messages: Messages) -> int:
    from gathercli.io.source import Inputs

    _check_loss(asked)
    sources, target = places(paths, asked.to, asked.directory, force=asked.force)
    Inputs.share_stdin(*sources)
    with (
        messages,
        messages.inputs(asked.limits.held, messages.progress()) as inputs,
    ):
        files: dict[str, str] = {}
        if target.folder is None and len(sources) > 1:
            named_files(sources, inputs)
            _merge(sources, target, asked, inputs, messages)
            messages.print()
            return 0
        if target.folder is not None:
            files = named_files(sources, inputs)
        written: dict[str | None, str] = {}

        def write(token: str, output: tuple[str | None, list[Source]]) -> int:
            path, members = output
            check_path(path, token, files, written)
            _check_memory(members, asked)
            # What is asked of one tensor binds it; of many it is for those that name no type.
            one = len(members) == 1
            results = [_named(member, asked, messages, binding=one) for member in members]
            if target.folder is not None:
                make_folder(target.folder)
            _write(target.fmt, path, results, asked, inputs, messages)
            written[path] = token
            return 0

        def convert(token: str) -> int:
            try:
                source = inputs.open(token, declared=asked.declared)
                if not asked.changes:
                    check_copy(source, target, asked.to)
                return messages.each(outputs(source, token, target), partial(write, token))
            finally:
                inputs.close_files()

        status = messages.each(sources, convert)
    if not (status and messages.json_errors):
        messages.print()
    return status


def _check_loss(asked: _Asked) -> None:
    """Refuse an option on loss that would do nothing."""
    option = "--truncate" if asked.truncate else "--lossy"
    if asked.lossy and asked.wanted is None:
        raise UsageError(f"`{option}` is given without `--dtype`: expected both", rule="usage")
    if asked.truncate and asked.wanted is not None and not asked.wanted.integral:
        raise UsageError(
            f"`--truncate` is given with `--dtype {asked.wanted}`: expected an integer type",
            rule="usage",
            value=asked.wanted.name,
            hint="`--lossy` in its place converts to the nearest value",
        )


def _merge(
    sources: list[str], target: Target, asked: _Asked, inputs: Inputs, messages: Messages
) -> None:
    """Write the tensors of several sources to one file."""
    opened = [inputs.open(token, declared=asked.declared) for token in sources]
    named = named_members(sources, opened)
    _check_memory(list(named.values()), asked)
    results = [(name, _named(member, asked, messages)[1]) for name, member in named.items()]
    _write(target.fmt, target.path, results, asked, inputs, messages)


def _check_memory(members: list[Source], asked: _Asked) -> None:
    """Refuse to hold more tensors together than memory may."""
    mapped = members[0].content.format == "safetensors"
    if len(members) == 1 or asked.limits.held is None or mapped:
        return
    total = sum(member.layout(assumed=asked.declared).nbytes for member in members)
    if total > asked.limits.held:
        what = f"the {len(members)} tensors take {total} bytes together"
        raise LimitError.over(what, total, asked.limits.held)


def _named(source: Source, asked: _Asked, messages: Messages, *, binding: bool = False) -> Named:
    """Read a tensor, convert it if that is asked for, and name it as it was named."""
    declared = asked.declared if binding else None
    name = "output" if source.key is None else source.key
    if source.content.format == "zarr" and asked.wanted is None:
        stored = source.tiles(declared=declared)
        if stored.in_memory is None:
            threads, progress = cores(), messages.progress()
            source_of = CopyBlocks(stored)
            return name, BlockResult(
                source_of, asked.limits.held, threads=threads, progress=progress
            )
    tensor = source.tensor(declared=declared, assumed=asked.declared)
    if asked.wanted is None or asked.wanted is tensor.dtype:
        return name, tensor
    try:
        made = CastTensor(tensor, asked.wanted, lossy=asked.lossy, truncate=asked.truncate)
    except GatherError as error:
        source.name(error)
        raise
    if made.note:
        messages.notes.append(f"{source}: {made.note}" if asked.directory else made.note)
    return name, made


def _write(
    fmt: str,
    path: str | None,
    results: list[Named],
    asked: _Asked,
    inputs: Inputs,
    messages: Messages,
) -> None:
    """Write one file; it gets its name only when all of it is there."""
    if fmt == "zarr":
        if path is None:
            raise UsageError("zarr is a folder: expected a name for it", rule="usage", value="-")
        _write_chunks(path, results[0][1], asked, inputs, messages)
        return
    size = sum(result.nbytes for _, result in results)
    most = asked.limits.file
    if most is not None and size > most:
        raise LimitError.over(f"the output takes {size} bytes", size, most)
    for _, result in results:
        messages.notes += losses(fmt, result, path, option="--to")
    write = partial(
        save.write, fmt, results, nonfinite=asked.nonfinite, max_bytes=asked.limits.held
    )
    if path is None:
        if save.is_binary(fmt) and is_terminal(STDOUT):
            raise binary_refused(fmt, "stdout", way="")
        write(out=Checked(Stream(STDOUT), inputs))
        inputs.recheck()
        return
    with asked.keeping.output(path) as output:
        output.open(size)
        if save.is_binary(fmt) and output.is_terminal:
            raise binary_refused(fmt, f"`{clean(path)}`", way="")
        out = Checked(output.stream, inputs)
        write(out=_Watched(out, size, messages.progress()))
        inputs.recheck()
        output.commit()
    what = str(results[0][1]) if len(results) == 1 else counted(len(results), "tensor")
    messages.say(f"wrote {clean(path)}: {what}")


def _write_chunks(
    path: str, result: Result, asked: _Asked, inputs: Inputs, messages: Messages
) -> None:
    """Write one tensor in chunks; it gets its name only when all of it is there."""
    from gathercli.io import chunkwise
    from gathercli.io.zarr import ZarrArray

    making = result.source()
    if isinstance(making.data, ZarrArray) and making.data.spec.sharded:
        messages.notes.append(f"{clean(path)} is written without shards, each chunk as a file")
    with asked.keeping.creation(path) as output:
        chunkwise.write(
            making,
            output,
            asked.chunks,
            held=asked.limits.held,
            threads=cores(),
            tick=messages.progress(),
        )
        inputs.recheck()
        output.commit()
    messages.say(f"wrote {clean(path)}: {result}")
