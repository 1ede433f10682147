"""The target of `convert`: a file, stdout, or a folder of files named after the sources."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gathercli.errors import OutputError, UsageError
from gathercli.io import save
from gathercli.io.folders import is_plain_folder, tensor_files
from gathercli.io.formats.table import BY_SUFFIX, FORMATS, is_chunked, names_chunks
from gathercli.io.source import reference_of
from gathercli.io.write import is_stream, new_name, real_path
from gathercli.text import UNSAFE, clean, shell_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.io.source import Inputs, Source


class Target(NamedTuple):
    """The target of a conversion; both names are None for stdout."""

    fmt: str  # a key of `FORMATS`
    path: str | None = None
    folder: str | None = None


OutputTensors: TypeAlias = "tuple[str | None, list[Source]]"
"""An output file, None for stdout, and its tensors."""


def split_paths(
    paths: Sequence[str], to: str | None, folder: str | None, *, force: bool
) -> tuple[list[str], Target]:
    """Split paths into sources and the target, the last one without `folder`; choose the format.

    `to` is the value of `--to`, which the suffix of the target may contradict by `force`.
    """
    *tokens, last = paths
    if folder is not None:
        tokens = list(paths)
    elif not tokens:
        raise UsageError(
            f"there is only `{clean(last)}`",
            value=last,
            expected="sources and then a file, or `-d DIR`",
            hint=_for_one(last, to),
        )
    elif _is_folder(last, to):
        folder = last
    sources = [source for token in tokens for source in _in_folder(token)]
    if folder is not None:
        if to is None:
            raise UsageError(
                "a folder has no suffix",
                expected="the format of its files",
                hint="`--to npy` (or another) names it",
            )
        return sources, Target(to, folder=folder)
    several, exists = len(sources) > 1, _exists(last)
    instead = _each_in_folder(to) if several or exists else None
    save.check_format(last, to, option="--to", force=force, instead=instead)
    if several and exists:
        raise _would_replace(last, f"{len(sources)} sources", _beside(tokens, last, to))
    fmt = to or ("json" if last == "-" else save.format_of_output(last))
    if several and not FORMATS[fmt].several:
        raise UsageError(
            f"`{clean(last)}` holds one tensor, and there are {len(sources)} sources",
            value=last,
            expected="a folder for them, or a format that holds several",
            hint=_for_several(last, to),
        )
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
    """Suggest a target for one source."""
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
    return OutputError(
        f"`{clean(path)}` exists, and {what} would replace it",
        rule="output",
        value=path,
        expected="a new name, or `-d DIR`",
        hint=hint,
    )


def check_copy(source: Source, target: Target, to: str | None) -> None:
    """Raise if a conversion would only copy a file over another, as the target is probably missing.

    The elements of the source do not change; `to` is the value of `--to`.
    """
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
    return UsageError(
        f"{which} would both become `{clean(name)}`",
        value=value,
        expected="different names",
        hint=hint,
    )


def named_members(tokens: Sequence[str], sources: Sequence[Source]) -> dict[str, Source]:
    """Name the tensors of several sources after their files, with the key if a file has several."""
    named: dict[str, Source] = {}
    for token, source in zip(tokens, sources, strict=True):
        members = _members(source)
        for member in members if len(members) > 1 else [source]:
            name = _name(token, source.file.name if source.file else None, member.key)
            if name in named:
                raise both_become("two tensors", name, name)
            named[name] = member
    return named


def _members(source: Source) -> list[Source]:
    """Return the tensors of a source, one of which it may name."""
    keys = [] if source.key is not None else source.content.names or []
    return [source._replace(key=key) for key in keys] or [source]


def _name(token: str, path: str | None, key: str | None) -> str:
    """Return the name of the file that a source becomes, without its suffix."""
    if path is None:
        raise UsageError(
            f"`{clean(token)}` is not a file to name the output after",
            value=token,
            expected="a file",
            hint="`gathercli convert TENSOR FILE` writes one",
        )
    stem = "stdin" if path == "-" else os.path.splitext(os.path.basename(path))[0]
    # The name of a member is a key, not a path.
    return stem if key is None else stem + "." + re.sub(f"/|{UNSAFE}", "_", key)


def outputs_of(source: Source, token: str, target: Target) -> list[OutputTensors]:
    """Return the output files of a source, each with its tensors.

    In a folder, a format of a single tensor has a file for each member of an archive.
    """
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
