"""`convert`: write tensors in another format, to one file or a folder."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from gathercli.cli.command import Options, argument, flag, option
from gathercli.cli.groups import OUTPUT
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.messages import Messages
from gathercli.cli.options import (
    CHUNKS,
    EXTERNAL_DATA,
    FORCE_FORMAT,
    NONFINITE,
    SOURCE_DTYPE,
    type_of,
)
from gathercli.cli.output import WriteOptions, chunks_of, losses
from gathercli.cli.targets import (
    Target,
    check_copy,
    check_names,
    check_path,
    named_members,
    outputs_of,
    split_paths,
)
from gathercli.compute.blocks import CopyBlocks
from gathercli.compute.cast import CastTensor
from gathercli.compute.result import source_of
from gathercli.compute.streamed import BlockResult
from gathercli.errors import GatherError, LimitError, UsageError
from gathercli.io import save
from gathercli.io.files import cores
from gathercli.io.formats.table import FORMATS, is_chunked, row_of
from gathercli.io.write import make_folder
from gathercli.text import clean, counted, in_bytes, listed

if TYPE_CHECKING:
    from gathercli.cli.limits import Limits
    from gathercli.compute.result import Result
    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.formats.raw import NamedResult
    from gathercli.io.source import Inputs, Source
    from gathercli.spec.dtypes import DType

    FormatName = str
else:
    FormatName = Literal[tuple(FORMATS)]  # only the parser reads this type


class _ProgressStream:
    """A stream that reports progress; `size` is an estimate of the total in bytes."""

    def __init__(
        self, stream: save.CheckedStream, size: int, progress: ProgressCallback | None
    ) -> None:
        self._stream, self._size, self._progress = stream, size, progress
        self._written = 0

    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        self._stream.write(part)
        self._written += len(part)
        if self._progress is not None:
            self._progress("wrote", self._written, max(self._written, self._size))

    def place(self, result: object) -> bool:
        """Return False: the bytes must come in order to be counted."""
        del result
        return False


def _describe(name: str) -> str:
    about = FORMATS[name].about
    return f"{name} ({about})" if about else name


class ConvertOptions(Options):
    """The tensors to convert, and how."""

    paths: list[str] = argument(
        "SRC... DEST",
        "Tensors, given as everywhere, or folders of files, and the file to write (- is "
        "stdout); several with -d, where DEST is a folder, or where its format holds several.",
        kind=list,
    )
    to: str | None = option(
        OUTPUT,
        "--to",
        metavar="FORMAT",
        choices=tuple(FORMATS),
        help=f"{listed(map(_describe, FORMATS))}; without it the suffix of DEST says so.",
    )
    force_format: bool = FORCE_FORMAT
    directory: str | None = option(
        OUTPUT,
        "--directory",
        "-d",
        metavar="DIR",
        help="Write a file for every source into this folder, which is made if it is not there.",
    )
    dtype: str | None = option(
        OUTPUT,
        "--dtype",
        metavar="DTYPE",
        help="Convert the elements to this type; refused if a value would change.",
    )
    lossy: bool = flag(
        OUTPUT,
        "--lossy",
        help="Let --dtype round to the nearest, half to even; nothing wraps or becomes infinite.",
    )
    truncate: bool = flag(
        OUTPUT, "--truncate", help="As --lossy, but make integers of floats towards zero."
    )
    data_dtype: str | None = SOURCE_DTYPE
    external_data: bool = EXTERNAL_DATA
    memory: MemoryOptions
    chunks: str | None = CHUNKS
    write_options: WriteOptions
    nonfinite: str = NONFINITE

    @property
    def limits(self) -> Limits:
        """The limits on an output and on memory."""
        return self.memory.limits

    @cached_property
    def chunk_sizes(self) -> tuple[int, ...] | None:
        """The sizes of the chunks of the output; None to choose them."""
        return chunks_of(self.chunks, self.paths[-1], self.to or "auto")

    @cached_property
    def declared(self) -> DType | None:
        """The type of untyped sources."""
        return type_of(self.data_dtype)

    @cached_property
    def target_dtype(self) -> DType | None:
        """The type of the output."""
        return type_of(self.dtype)

    @property
    def changes(self) -> bool:
        """Whether an option changes more than the format."""
        return bool(self.target_dtype or self.declared or self.chunks) or self.nonfinite != "quoted"

    def check(self) -> None:
        """Raise for invalid chunks, and for `--lossy` or `--truncate` without effect."""
        _ = self.chunk_sizes  # raises for invalid sizes
        option = "--truncate" if self.truncate else "--lossy"
        if (self.lossy or self.truncate) and self.target_dtype is None:
            raise UsageError(
                "is given without `--dtype`", rule="usage", subject=option, expected="both"
            )
        if self.truncate and self.target_dtype is not None and not self.target_dtype.integral:
            raise UsageError(
                f"is given with `--dtype {self.target_dtype}`",
                rule="usage",
                subject="--truncate",
                value=self.target_dtype.name,
                expected="an integer type",
                hint="`--lossy` in its place converts to the nearest value",
            )


def run(options: ConvertOptions, messages: Messages) -> int:
    """Convert every source."""
    from gathercli.io.source import Inputs

    options.check()
    sources, target = split_paths(
        options.paths, options.to, options.directory, force=options.force_format
    )
    Inputs.check_stdin(*sources)
    with (
        messages,
        messages.inputs(options.limits.memory, messages.progress()) as inputs,
    ):
        inputs.external = options.external_data
        files: dict[str, str] = {}
        if target.folder is None and len(sources) > 1:
            check_names(sources, inputs)
            _merge(sources, target, options, inputs, messages)
            messages.print()
            return 0
        if target.folder is not None:
            files = check_names(sources, inputs)
        written: dict[str | None, str] = {}

        def write(token: str, output: tuple[str | None, list[Source]]) -> int:
            path, members = output
            check_path(path, token, files, written)
            _check_memory(members, options)
            # --data-dtype converts a single tensor, but of several only declares untyped ones.
            one = len(members) == 1
            results = [_read(member, options, messages, converts=one) for member in members]
            if target.folder is not None:
                make_folder(target.folder)
            _write(target.fmt, path, results, options, inputs, messages)
            written[path] = token
            return 0

        def convert(token: str) -> int:
            try:
                source = inputs.open(token, declared=options.declared)
                if not options.changes:
                    check_copy(source, target, options.to)
                outputs = outputs_of(source, token, target)
                return messages.each(outputs, partial(write, token), _member)
            finally:
                inputs.close_files()

        status = messages.each(sources, convert)
    if not (status and messages.json_errors):
        messages.print()
    return status


def _member(output: tuple[str | None, list[Source]]) -> str:
    """Return the name of the member that an output is of."""
    return str(output[1][0])


def _merge(
    sources: list[str], target: Target, options: ConvertOptions, inputs: Inputs, messages: Messages
) -> None:
    """Write the tensors of several sources to one file."""
    members = named_members(
        sources, [inputs.open(token, declared=options.declared) for token in sources]
    )
    _check_memory(list(members.values()), options)
    results = [(name, _read(member, options, messages)[1]) for name, member in members.items()]
    _write(target.fmt, target.path, results, options, inputs, messages)


def _check_memory(members: list[Source], options: ConvertOptions) -> None:
    """Raise if several tensors together exceed the memory limit."""
    mapped = row_of(members[0].content.format).mapped
    if len(members) == 1 or options.limits.memory is None or mapped:
        return
    total = sum(member.layout(assumed=options.declared).nbytes for member in members)
    if total > options.limits.memory:
        what = f"the {len(members)} tensors take {in_bytes(total)} together"
        raise LimitError.over(what, total, options.limits.memory)


def _read(
    source: Source, options: ConvertOptions, messages: Messages, *, converts: bool = False
) -> NamedResult:
    """Read and convert a tensor; if `converts`, `--data-dtype` applies to typed tensors too."""
    declared = options.declared if converts else None
    name = "output" if source.key is None else source.key
    if is_chunked(source.content.format) and options.target_dtype is None:
        array = source.chunked(declared=declared)
        if array.in_memory is None:
            memory, progress = options.limits.memory, messages.progress()
            return name, BlockResult(CopyBlocks(array), memory, threads=cores(), progress=progress)
    tensor = source.tensor(declared=declared, assumed=options.declared)
    if options.target_dtype is None or options.target_dtype is tensor.dtype:
        return name, tensor
    lossy = options.lossy or options.truncate
    try:
        cast = CastTensor(tensor, options.target_dtype, lossy=lossy, truncate=options.truncate)
    except GatherError as error:
        source.name(error)
        raise
    if cast.note:
        messages.notes.append(f"{source}: {cast.note}" if options.directory else cast.note)
    return name, cast


def _write(
    fmt: str,
    path: str | None,
    results: list[NamedResult],
    options: ConvertOptions,
    inputs: Inputs,
    messages: Messages,
) -> None:
    """Write an output, atomically to a file."""
    if is_chunked(fmt):
        if path is None:
            raise UsageError(
                f"{fmt} is a folder", rule="usage", value="-", expected="a name for it"
            )
        _write_chunks(fmt, path, results[0][1], options, inputs, messages)
        return
    size = sum(result.nbytes for _, result in results)
    limit = options.limits.result
    if limit is not None and size > limit:
        raise LimitError.over(f"the output takes {in_bytes(size)}", size, limit)
    for _, result in results:
        messages.notes += losses(fmt, result, path, option="--to")

    def encode(out: save.CheckedStream) -> None:
        stream = _ProgressStream(out, size, messages.progress()) if path else out
        nonfinite, memory = options.nonfinite, options.limits.memory
        save.write(fmt, results, stream, nonfinite=nonfinite, max_bytes=memory)

    room = save.least_sum(fmt, results)
    options.write_options.write(path, fmt, room, inputs, encode, way="")
    if path is None:
        return
    what = str(results[0][1]) if len(results) == 1 else counted(len(results), "tensor")
    messages.say(f"wrote {clean(path)}: {what}")


def _write_chunks(
    fmt: str,
    path: str,
    result: Result,
    options: ConvertOptions,
    inputs: Inputs,
    messages: Messages,
) -> None:
    """Write a tensor in chunks."""
    messages.notes += losses(fmt, result, path, option="--to")
    options.write_options.write_chunks(
        path,
        fmt,
        source_of(result),
        inputs,
        chunks=options.chunk_sizes,
        memory=options.limits.memory,
        threads=cores(),
        progress=messages.progress(),
    )
    messages.say(f"wrote {clean(path)}: {result}")
