"""`convert`: write tensors in another format: to a file, stdout, or a folder of files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cached_property, partial
from typing import NamedTuple

from gathercli.cli.declarations import OUTPUT, argument, flag, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import SourceOptions, type_of
from gathercli.cli.output import WriteOptions, losses
from gathercli.compute.chunks import CopyBlocks
from gathercli.compute.conversion import CastTensor
from gathercli.compute.result import BlockResult
from gathercli.compute.tensor import Result
from gathercli.compute.threads import ProgressCallback
from gathercli.errors import GatherError, LimitError, OutputError, UsageError
from gathercli.io import save
from gathercli.io.files import cores, new_name
from gathercli.io.folders import is_plain_folder, tensor_files
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.table import BY_SUFFIX, FORMATS, is_chunked, names_chunks, row_of
from gathercli.io.source import Inputs, Source, check_stdin, reference_of
from gathercli.io.stream import ByteTarget
from gathercli.io.write import is_stream, make_folder, real_path
from gathercli.spec.dtypes import DType
from gathercli.text import UNSAFE, clean, counted, in_bytes, listed, shell_word


class ConvertOptions(WriteOptions):
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
        help=listed(f"{name} ({row.about})" if row.about else name for name, row in FORMATS.items())
        + "; without it the suffix of DEST says so.",
    )
    directory: str | None = option(OUTPUT, "--directory", "-d", metavar="DIR")
    dtype: str | None = option(OUTPUT, "--dtype", metavar="DTYPE")
    lossy: bool = flag(OUTPUT, "--lossy")
    truncate: bool = flag(OUTPUT, "--truncate")
    reading: SourceOptions

    @cached_property
    def target_dtype(self) -> DType | None:
        """The type of the output."""
        return type_of(self.dtype)

    @property
    def changes(self) -> bool:
        """Whether an option changes more than the format."""
        declared = self.reading.declared
        return bool(self.target_dtype or declared or self.chunks) or self.nonfinite != "quoted"

    def check(self) -> None:
        """Raise for invalid chunks, and for `--lossy` or `--truncate` without effect."""
        self.check_chunks(self.paths[-1], self.to or "auto")
        option = "--truncate" if self.truncate else "--lossy"
        if (self.lossy or self.truncate) and self.target_dtype is None:
            raise UsageError("is given without `--dtype`", subject=option, expected="both")
        if self.truncate and self.target_dtype is not None and not self.target_dtype.integral:
            name, what = self.target_dtype.name, f"is given with `--dtype {self.target_dtype}`"
            expected = "an integer type"
            hint = "`--lossy` in its place converts to the nearest value"
            raise UsageError(what, subject=option, value=name, expected=expected, hint=hint)


def run(options: ConvertOptions, messages: Messages) -> int:
    """Convert every source."""
    options.check()
    sources, target = split_paths(options)
    check_stdin(*sources)
    with messages, options.reading.inputs(messages, messages.progress()) as inputs:
        conversion = _Conversion(options, target, inputs, messages)
        if len(sources) > 1 or target.folder is not None:
            conversion.files = check_names(sources, inputs)
        merges = len(sources) > 1 and target.folder is None
        status = conversion.merge(sources) if merges else messages.each(sources, conversion.convert)
    if not (status and messages.json_errors):
        messages.print()
    return status


class _Conversion:
    """The conversion of sources to a target; `files` are the sources by real path."""

    def __init__(
        self, options: ConvertOptions, target: Target, inputs: Inputs, messages: Messages
    ) -> None:
        self.options, self.target, self.inputs, self.messages = options, target, inputs, messages
        self.limits = options.reading.memory.limits
        self.files: dict[str, str] = {}
        self.types = ElementTypes(assumed=options.reading.declared)
        self.written: dict[str, str] = {}

    def convert(self, token: str) -> int:
        """Convert the tensors of a source; return the status."""
        try:
            source = self.inputs.open(token, self.types)
            if not self.options.changes:
                check_copy(source, self.target, self.options.to)
            outputs = outputs_of(source, token, self.target)
            write = partial(self._write_output, token)
            return self.messages.each(outputs, write, lambda output: str(output[1][0]))
        finally:
            self.inputs.close_files()

    def merge(self, sources: list[str]) -> int:
        """Write the tensors of several sources to one file, named after files and keys."""
        named: dict[str, Source] = {}
        opened = [self.inputs.open(token, self.types) for token in sources]
        for token, source in zip(sources, opened, strict=True):
            members = _members(source)
            for member in members if len(members) > 1 else [source]:
                name = _name(token, source.file.name if source.file else None, member.key)
                if name in named:
                    raise both_become("two tensors", name, name)
                named[name] = member
        self._write(self.target.path, named)
        return 0

    def _write_output(self, token: str, output: tuple[str | None, list[Source]]) -> int:
        path, members = output
        file = path or ""  # none for stdout, which is the only output
        if file in self.written:
            both = f"`{clean(self.written[file])}` and `{clean(token)}`"
            raise both_become(both, file, file)
        if path is not None and self.files.get(real_path(path), token) != token:
            what = f"`{clean(token)}` would become `{clean(path)}`, which is a source itself"
            raise UsageError(what, value=path, expected="another folder")
        if len(members) == 1:  # of several tensors --data-dtype only declares untyped ones
            members = [members[0]._replace(types=ElementTypes(self.types.assumed))]
        self._write(path, {"output" if each.key is None else each.key: each for each in members})
        self.written[file] = token
        return 0

    def _write(self, path: str | None, members: dict[str, Source]) -> None:
        """Convert tensors, and write them, atomically to a file."""
        fmt, options, messages = self.target.fmt, self.options, self.messages
        limits, progress = self.limits, messages.progress()
        self._check_memory([*members.values()])
        results = [(name, self._read(member)) for name, member in members.items()]
        if self.target.folder is not None:
            make_folder(self.target.folder)
        size = sum(result.nbytes for _, result in results)
        if is_chunked(fmt):
            if path is None:
                raise UsageError(f"{fmt} is a folder", value="-", expected="a name for it")
        elif limits.result is not None and size > limits.result:
            raise LimitError.over(f"the output takes {in_bytes(size)}", size, limits.result)
        for _, result in results:
            messages.notes += losses(fmt, result, path, option="--to")

        def encode(out: ByteTarget) -> None:
            stream = _ProgressStream(out, size, progress) if path else out
            nonfinite = options.nonfinite
            save.write(fmt, results, stream, nonfinite=nonfinite, max_bytes=limits.memory)

        options.store(
            path,
            fmt,
            results,
            self.inputs,
            encode,
            way="",
            memory=limits.memory,
            threads=cores(),
            progress=progress,
        )
        if path is not None:
            one = str(results[0][1]) if len(results) == 1 else counted(len(results), "tensor")
            messages.say(f"wrote {clean(path)}: {one}")

    def _check_memory(self, members: list[Source]) -> None:
        most, mapped = self.limits.memory, row_of(members[0].content.format).mapped
        if len(members) == 1 or most is None or mapped:
            return
        total = sum(member.layout().nbytes for member in members)
        if total > most:
            what = f"the {len(members)} tensors take {in_bytes(total)} together"
            raise LimitError.over(what, total, most)

    def _read(self, source: Source) -> Result:
        options, progress = self.options, self.messages.progress()
        if is_chunked(source.content.format) and options.target_dtype is None:
            array = source.chunked()
            if array.in_memory is None:
                blocks, memory = CopyBlocks(array), self.limits.memory
                return BlockResult(blocks, memory, threads=cores(), progress=progress)
        tensor = source.tensor()
        if options.target_dtype is None or options.target_dtype is tensor.dtype:
            return tensor
        lossy = options.lossy or options.truncate
        try:
            cast = CastTensor(tensor, options.target_dtype, lossy=lossy, truncate=options.truncate)
        except GatherError as error:
            source.name(error)
            raise
        if cast.note:
            note = f"{source}: {cast.note}" if options.directory else cast.note
            self.messages.notes.append(note)
        return cast


class _ProgressStream(ByteTarget):
    """A target in order that reports progress; `size` is an estimate of the total in bytes."""

    def __init__(self, stream: ByteTarget, size: int, progress: ProgressCallback | None) -> None:
        self._stream, self._size, self._progress = stream, size, progress
        self._written = 0

    def write(self, part: bytes | memoryview) -> None:
        self._stream.write(part)
        self._written += len(part)
        if self._progress is not None:
            self._progress("wrote", self._written, max(self._written, self._size))


class Target(NamedTuple):
    """The target of a conversion; both names are None for stdout."""

    fmt: str  # a key of `FORMATS`
    path: str | None = None
    folder: str | None = None


def split_paths(options: ConvertOptions) -> tuple[list[str], Target]:
    """Split the paths into sources and the target, the last one without `-d`; choose the format."""
    to, folder = options.to, options.directory
    *tokens, last = options.paths
    if folder is not None:
        tokens = options.paths
    elif not tokens:
        what = f"there is only `{clean(last)}`"
        expected = "sources and then a file, or `-d DIR`"
        raise UsageError(what, value=last, expected=expected, hint=_for_one(last, to))
    elif _is_folder(last, to):
        folder = last
    sources = [source for token in tokens for source in _in_folder(token)]
    if folder is not None:
        if to is None:
            what = "a folder has no suffix"
            hint = "`--to npy` (or another) names it"
            raise UsageError(what, expected="the format of its files", hint=hint)
        return sources, Target(to, folder=folder)
    several, exists = len(sources) > 1, _exists(last)
    instead = _each_in_folder(to) if several or exists else None
    save.check_format(last, to, option="--to", force=options.force_format, instead=instead)
    if several and exists:
        raise _would_replace(last, f"{len(sources)} sources", _beside(tokens, last, to))
    fmt = to or ("json" if last == "-" else save.format_of_output(last))
    if several and not FORMATS[fmt].several:
        what = f"`{clean(last)}` holds one tensor, and there are {len(sources)} sources"
        expected = "a folder for them, or a format that holds several"
        raise UsageError(what, value=last, expected=expected, hint=_for_several(last, to))
    return sources, Target(fmt, path=None if last == "-" else last)


def _in_folder(token: str) -> list[str]:
    """List the tensor files of a folder; return any other token itself."""
    path = token.removeprefix("@")
    if not is_plain_folder(path) or (path == token and reference_of(token).path is None):
        return [token]
    return [os.path.join(token, name) for name in tensor_files(path)] or [token]


def _exists(path: str) -> bool:
    """Return whether writing a target would replace a file or folder."""
    return path != "-" and os.path.exists(path) and not is_stream(path)


def _each_in_folder(to: str | None, fmt: str = "") -> str:
    """Suggest a folder for the files; without `to` also a format other than `fmt`."""
    option = "" if to else f" --to {'json' if fmt == 'npy' else 'npy'}"
    return f"`-d {new_name('out', '')}{option}` writes a file for every source"


def _for_one(source: str, to: str | None) -> str:
    if is_plain_folder(source):
        return _each_in_folder(to)
    stem, suffix = os.path.splitext(source) if os.path.exists(source) else ("out", "")
    wanted = FORMATS[to].suffix if to else ".json" if suffix == ".npy" else ".npy"
    return f"`{shell_word(new_name(stem, wanted))}` after it is a file to write"


def _beside(sources: Sequence[str], path: str, to: str | None) -> str:
    """Suggest a target for several sources in place of a file that exists."""
    stem, suffix = os.path.splitext(path)
    if any(os.path.splitext(source)[1] == suffix for source in sources):  # probably a source
        fmt = BY_SUFFIX.get(suffix, "")
        holds = suffix if fmt and FORMATS[fmt].several else FORMATS["npz"].suffix
        every, every_in_one = _each_in_folder(to, fmt), shell_word(new_name("all", holds))
        return f"{every}, `{every_in_one}` after them holds all"
    return f"`{shell_word(new_name(stem, suffix))}` in its place is a new file"


def _would_replace(path: str, what: str, hint: str) -> OutputError:
    """Return the error for a file that is probably a source, not the target."""
    problem = f"`{clean(path)}` exists, and {what} would replace it"
    return OutputError(problem, value=path, expected="a new name, or `-d DIR`", hint=hint)


def check_copy(source: Source, target: Target, to: str | None) -> None:
    """Raise if a conversion only copies a file over another, as the target is probably missing."""
    path, file = target.path, source.file
    if path is None or file is None or not _exists(path) or source.content.format != target.fmt:
        return
    is_stored = file.name != "-" and (file.regular or is_chunked(target.fmt))
    if not is_stored or source.key is not None or real_path(file.name) == real_path(path):
        return
    hint = f"{_each_in_folder(to, target.fmt)}; cp replaces a file with another"
    raise _would_replace(path, f"a copy of `{clean(file.name)}`", hint)


def _for_several(path: str, to: str | None) -> str:
    """Suggest a target for several tensors in place of a file for one."""
    if path == "-":
        return "`--to npz` holds several tensors"
    stem = os.path.splitext(path)[0]
    file = shell_word(new_name(stem, ".npz")) + (" --to npz" if to else "")
    folder = shell_word(f"{stem}/") + f" --to {to or save.format_of(path)}"
    return f"`{file}` in its place holds several tensors, `{folder}` is a folder for them"


def _is_folder(path: str, to: str | None) -> bool:
    """Return whether the target is a folder of files; a folder of chunks is not."""
    if names_chunks(path):
        return path.endswith("/") and to is not None and not is_chunked(to)
    return path.endswith("/") or os.path.isdir(path)


def check_names(sources: Sequence[str], inputs: Inputs) -> dict[str, str]:
    """Raise if two sources would become files of one name; return the tokens by real path."""
    tokens: dict[str, str] = {}
    files: dict[str, str] = {}
    for token in sources:
        path, key, *_ = reference_of(token, max_bytes=inputs.max_bytes)
        name = _name(token, path, key)
        if name in tokens:
            both = f"`{clean(tokens[name])}` and `{clean(token)}`"
            raise both_become(both, name, token)
        tokens[name] = token
        files[real_path(path or "")] = token
    return files


def both_become(which: str, name: str, value: str, hint: str | None = None) -> UsageError:
    """Return the error for two sources or tensors that would become one file or tensor."""
    what = f"{which} would both become `{clean(name)}`"
    return UsageError(what, value=value, expected="different names", hint=hint)


def _members(source: Source) -> list[Source]:
    """Return the tensors of a source, one of which it may name."""
    keys = [] if source.key is not None else source.content.names or []
    return [source._replace(key=key) for key in keys] or [source]


def _name(token: str, path: str | None, key: str | None) -> str:
    """Return the name of the file that a source becomes, without its suffix."""
    if path is None:
        what = f"`{clean(token)}` is not a file to name the output after"
        hint = "`gathercli convert TENSOR FILE` writes one"
        raise UsageError(what, value=token, expected="a file", hint=hint)
    stem = "stdin" if path == "-" else os.path.splitext(os.path.basename(path))[0]
    # The name of a member is a key, not a path.
    return stem if key is None else stem + "." + re.sub(f"/|{UNSAFE}", "_", key)


def outputs_of(source: Source, token: str, target: Target) -> list[tuple[str | None, list[Source]]]:
    """Return the files to write of a source, None for stdout, each with its tensors."""
    fmt, members = FORMATS[target.fmt], _members(source)
    if target.folder is None:
        refused = len(members) > 1 and not fmt.several  # reading the archive names its members
        return [(target.path, [source] if refused else members)]
    path = source.file.name if source.file else None
    outputs: dict[str, list[Source]] = {}
    for group in [members] if fmt.several else [[member] for member in members]:
        is_whole = len(group) == len(members) and source.key is None
        name = _name(token, path, None if is_whole else group[0].key) + fmt.suffix
        if name in outputs:
            hint = "`--to npz` or safetensors keeps them in one file"
            raise both_become("two members", name, name, hint)
        outputs[name] = group
    return [(os.path.join(target.folder, name), group) for name, group in outputs.items()]
