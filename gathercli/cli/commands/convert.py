"""`convert`: write tensors in another format, to one file or a folder."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from gathercli.cli.commands.convert_destination import (
    OutputTensors,
    Target,
    both_become,
    check_copy,
    check_names,
    named_members,
    outputs_of,
    split_paths,
)
from gathercli.cli.declarations import OUTPUT, Options, argument, flag, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import (
    CHUNKS,
    EXTERNAL_DATA,
    FORCE_FORMAT,
    NONFINITE,
    SOURCE_DTYPE,
    MemoryOptions,
    type_of,
)
from gathercli.cli.output import WriteOptions, chunks_of, losses
from gathercli.compute.chunks import CopyBlocks
from gathercli.compute.conversion import CastTensor
from gathercli.compute.result import BlockResult, source_of
from gathercli.errors import GatherError, LimitError, UsageError
from gathercli.io import save
from gathercli.io.files import cores
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.table import FORMATS, is_chunked, row_of
from gathercli.io.source import Inputs
from gathercli.io.write import make_folder, real_path
from gathercli.text import clean, counted, in_bytes, listed

if TYPE_CHECKING:
    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.formats.npy import NamedResult
    from gathercli.io.source import Source
    from gathercli.spec.dtypes import DType


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
            raise UsageError("is given without `--dtype`", subject=option, expected="both")
        if self.truncate and self.target_dtype is not None and not self.target_dtype.integral:
            raise UsageError(
                f"is given with `--dtype {self.target_dtype}`",
                subject="--truncate",
                value=self.target_dtype.name,
                expected="an integer type",
                hint="`--lossy` in its place converts to the nearest value",
            )


def run(options: ConvertOptions, messages: Messages) -> int:
    """Convert every source."""
    from gathercli.io.source import check_stdin

    options.check()
    sources, target = split_paths(
        options.paths, options.to, options.directory, force=options.force_format
    )
    check_stdin(*sources)
    with messages, messages.inputs(options.memory.limits.memory, messages.progress()) as inputs:
        inputs.external = options.external_data
        conversion = _Conversion(options, target, inputs, messages)
        if target.folder is None and len(sources) > 1:
            check_names(sources, inputs)
            conversion.merge(sources)
            status = 0
        else:
            if target.folder is not None:
                conversion.files = check_names(sources, inputs)
            status = messages.each(sources, conversion.convert)
    if not (status and messages.json_errors):
        messages.print()
    return status


class _Conversion:
    """The conversion of sources to a target; `files` are the sources by real path."""

    def __init__(
        self, options: ConvertOptions, target: Target, inputs: Inputs, messages: Messages
    ) -> None:
        self.options, self.target, self.inputs, self.messages = options, target, inputs, messages
        self.files: dict[str, str] = {}
        self.written: dict[str | None, str] = {}

    def convert(self, token: str) -> int:
        """Convert the tensors of a source; return the status."""
        try:
            source = self.inputs.open(token, ElementTypes(assumed=self.options.declared))
            if not self.options.changes:
                check_copy(source, self.target, self.options.to)
            outputs = outputs_of(source, token, self.target)
            write = partial(self._write_output, token)
            return self.messages.each(outputs, write, lambda output: str(output[1][0]))
        finally:
            self.inputs.close_files()

    def _write_output(self, token: str, output: OutputTensors) -> int:
        path, members = output
        self._check_path(path, token)
        self._check_memory(members)
        # --data-dtype converts a single tensor, but of several only declares untyped ones.
        one = len(members) == 1
        results = [self._read(member, converts=one) for member in members]
        if self.target.folder is not None:
            make_folder(self.target.folder)
        self._write(path, results)
        self.written[path] = token
        return 0

    def _check_path(self, path: str | None, token: str) -> None:
        """Raise if an output would replace a source, or an output before it."""
        if path is not None and path in self.written:
            both = f"`{clean(self.written[path])}` and `{clean(token)}`"
            raise both_become(both, path, path)
        other = token if path is None else self.files.get(real_path(path), token)
        if other != token:
            raise UsageError(
                f"`{clean(token)}` would become `{clean(path or '')}`, which is a source itself",
                value=path,
                expected="another folder",
            )

    def merge(self, sources: list[str]) -> None:
        """Write the tensors of several sources to one file."""
        types = ElementTypes(assumed=self.options.declared)
        opened = [self.inputs.open(token, types) for token in sources]
        members = named_members(sources, opened)
        self._check_memory(list(members.values()))
        results = [(name, self._read(member)[1]) for name, member in members.items()]
        self._write(self.target.path, results)

    def _check_memory(self, members: list[Source]) -> None:
        """Raise if several tensors together exceed the memory limit."""
        mapped, most = row_of(members[0].content.format).mapped, self.options.memory.limits.memory
        if len(members) == 1 or most is None or mapped:
            return
        total = sum(member.layout().nbytes for member in members)
        if total > most:
            what = f"the {len(members)} tensors take {in_bytes(total)} together"
            raise LimitError.over(what, total, most)

    def _read(self, source: Source, *, converts: bool = False) -> NamedResult:
        """Read and convert a tensor; if `converts`, `--data-dtype` applies to typed tensors too."""
        options, progress = self.options, self.messages.progress()
        if converts:
            source = source._replace(types=ElementTypes(options.declared))
        name = "output" if source.key is None else source.key
        if is_chunked(source.content.format) and options.target_dtype is None:
            array = source.chunked()
            if array.in_memory is None:
                blocks, memory = CopyBlocks(array), options.memory.limits.memory
                return name, BlockResult(blocks, memory, threads=cores(), progress=progress)
        tensor = source.tensor()
        if options.target_dtype is None or options.target_dtype is tensor.dtype:
            return name, tensor
        lossy = options.lossy or options.truncate
        try:
            cast = CastTensor(tensor, options.target_dtype, lossy=lossy, truncate=options.truncate)
        except GatherError as error:
            source.name(error)
            raise
        if cast.note:
            note = f"{source}: {cast.note}" if options.directory else cast.note
            self.messages.notes.append(note)
        return name, cast

    def _write(self, path: str | None, results: list[NamedResult]) -> None:
        """Write an output, atomically to a file."""
        fmt, options, messages = self.target.fmt, self.options, self.messages
        limits, progress = options.memory.limits, messages.progress()
        size = sum(result.nbytes for _, result in results)
        if is_chunked(fmt):
            if path is None:
                raise UsageError(f"{fmt} is a folder", value="-", expected="a name for it")
        elif limits.result is not None and size > limits.result:
            raise LimitError.over(f"the output takes {in_bytes(size)}", size, limits.result)
        for _, result in results:
            messages.notes += losses(fmt, result, path, option="--to")

        def encode(out: save.CheckedStream) -> None:
            stream = _ProgressStream(out, size, progress) if path else out
            nonfinite = options.nonfinite
            save.write(fmt, results, stream, nonfinite=nonfinite, max_bytes=limits.memory)

        if path is not None and is_chunked(fmt):
            options.write_options.write_chunks(
                path,
                fmt,
                source_of(results[0][1]),
                self.inputs,
                chunks=options.chunk_sizes,
                memory=limits.memory,
                threads=cores(),
                progress=progress,
            )
        else:
            room = save.least_sum(fmt, results)
            options.write_options.write(path, fmt, room, self.inputs, encode, way="")
        if path is not None:
            one = str(results[0][1]) if len(results) == 1 else counted(len(results), "tensor")
            messages.say(f"wrote {clean(path)}: {one}")


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
