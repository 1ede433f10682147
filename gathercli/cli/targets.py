"""Where `convert` writes: a file, standard output, or a folder of files named after the sources."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from gathercli.errors import OutputError, UsageError
from gathercli.io import save
from gathercli.io.folders import is_plain_folder, tensor_files
from gathercli.io.formats.table import BY_SUFFIX, FORMATS, is_chunked, names_chunks
from gathercli.io.source import Inputs
from gathercli.io.write import is_stream, new_name, real_path
from gathercli.text import UNSAFE, clean, shell_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.io.source import Source


class Target(NamedTuple):
    """Where the tensors go.

    Attributes
    ----------
    fmt
        A key of `FORMATS`.
    path, folder
        The file to write, or the folder to fill; both None is stdout.
    """

    fmt: str
    path: str | None = None
    folder: str | None = None


def places(
    paths: Sequence[str], to: str | None, folder: str | None, *, force: bool
) -> tuple[list[str], Target]:
    """Tell the sources from the target, and find the format of the target.

    Parameters
    ----------
    paths
        What was typed: sources, and the target last unless `folder` is given.
    to, folder
        The values of `--to` and `--directory`.
    force
        Whether the format is written whatever the suffix of the target.

    Raises
    ------
    UsageError
        There is no target, or not one for so many sources, or no format, or two.
    """
    *typed, last = paths
    if folder is not None:
        typed = list(paths)
    elif not typed:
        raise UsageError(
            f"there is only `{clean(last)}`: expected sources and then a file, or `-d DIR`",
            rule="usage",
            value=last,
            hint=_for_one(last, to),
        )
    elif _is_folder(last, to):
        folder = last
    sources = [source for token in typed for source in _in_folder(token)]
    if folder is not None:
        if to is None:
            raise UsageError(
                "a folder has no suffix: expected the format of its files",
                rule="usage",
                hint="`--to npy` (or another) names it",
            )
        return sources, Target(to, folder=folder)
    several, exists = len(sources) > 1, _exists(last)
    instead = _each_in_folder(to) if several or exists else None
    save.check_format(last, to, option="--to", force=force, instead=instead)
    if several and exists:
        raise _refused(last, f"{len(sources)} sources", _beside(typed, last, to))
    fmt = _format(last, to)
    if len(sources) > 1 and not FORMATS[fmt].several:
        raise UsageError(
            f"`{clean(last)}` holds one tensor, and there are {len(sources)} sources: "
            "expected a folder for them, or a format that holds several",
            rule="usage",
            value=last,
            hint=_for_several(last, to),
        )
    return sources, Target(fmt, path=None if last == "-" else last)


def _in_folder(token: str) -> list[str]:
    """List the files that a folder stands for: those whose suffix names a format."""
    path = token.removeprefix("@")
    if not is_plain_folder(path) or (path == token and Inputs(None).file_of(token)[0] is None):
        return [token]
    return [os.path.join(token, name) for name in tensor_files(path)] or [token]


def _exists(path: str) -> bool:
    """Tell whether writing a target would replace something."""
    return path != "-" and os.path.exists(path) and not is_stream(path)


def _each_in_folder(to: str | None, fmt: str = "") -> str:
    """Say what writes a file for every source; without `to` into one that is not of type `fmt`."""
    option = "" if to else f" --to {'json' if fmt == 'npy' else 'npy'}"
    return f"`-d {new_name('out', '')}{option}` writes a file for every source"


def _for_one(source: str, to: str | None) -> str:
    """Say where a source goes that has no target."""
    if is_plain_folder(source):
        return _each_in_folder(to)
    stem, suffix = os.path.splitext(source) if os.path.exists(source) else ("out", "")
    wanted = FORMATS[to].suffix if to else ".json" if suffix == ".npy" else ".npy"
    return f"`{shell_word(new_name(stem, wanted))}` after it is a file to write"


def _beside(sources: Sequence[str], path: str, to: str | None) -> str:
    """Say where several sources go in place of a file that exists."""
    stem, suffix = os.path.splitext(path)
    if any(os.path.splitext(source)[1] == suffix for source in sources):  # which is one of them
        fmt = BY_SUFFIX.get(suffix, "")
        holds = suffix if fmt and FORMATS[fmt].several else FORMATS["npz"].suffix
        every, every_in_one = _each_in_folder(to, fmt), shell_word(new_name("all", holds))
        return f"{every}, `{every_in_one}` after them holds all"
    return f"`{shell_word(new_name(stem, suffix))}` in its place is a new file"


def _refused(path: str, what: str, hint: str) -> OutputError:
    """Refuse to replace a file that is rather a source than a target."""
    return OutputError(
        f"`{clean(path)}` exists, and {what} would replace it: expected a new name, or `-d DIR`",
        rule="output",
        value=path,
        hint=hint,
    )


def check_copy(source: Source, target: Target, to: str | None) -> None:
    """Refuse to copy a file over another, which is a target that was forgotten.

    Parameters
    ----------
    source
        What is converted, with nothing that changes it but perhaps its format.
    to
        The value of `--to`.

    Raises
    ------
    OutputError
        ``output``: the target exists, and is another file of the same format.
    """
    path, file = target.path, source.file
    if path is None or file is None or not _exists(path) or source.content.format != target.fmt:
        return
    is_stored = file.name != "-" and (file.regular or is_chunked(target.fmt))
    if not is_stored or source.key is not None or real_path(file.name) == real_path(path):
        return
    hint = f"{_each_in_folder(to, target.fmt)}; cp replaces a file with another"
    raise _refused(path, f"a copy of `{clean(file.name)}`", hint)


def _for_several(path: str, to: str | None) -> str:
    """Say what takes several tensors in place of a file that takes one."""
    if path == "-":
        return "`--to npz` holds several tensors"
    stem = os.path.splitext(path)[0]
    file = shell_word(new_name(stem, ".npz")) + (" --to npz" if to else "")
    folder = shell_word(f"{stem}/") + f" --to {to or save.format_of(path)}"
    return f"`{file}` in its place holds several tensors, `{folder}` is a folder for them"


def _is_folder(path: str, to: str | None) -> bool:
    """Tell whether the target is a folder for files; one of chunks is an output of its own."""
    if names_chunks(path):
        return path.endswith("/") and to is not None and not is_chunked(to)
    return path.endswith("/") or os.path.isdir(path)


def _format(path: str, to: str | None) -> str:
    """Find the format of a single output; a stream without one is JSON."""
    if to is not None:
        return to
    return "json" if path == "-" or is_stream(path) else save.format_of(path)


def named_files(sources: Sequence[str], inputs: Inputs) -> dict[str, str]:
    """Refuse, before anything is read, sources that would become files of one name.

    Returns
    -------
        The real path of every source's file, and the token that names it.
    """
    taken: dict[str, str] = {}
    files: dict[str, str] = {}
    for token in sources:
        path, key = inputs.file_of(token)
        name = _name(token, path, key)
        if name in taken:
            raise UsageError(
                f"`{clean(taken[name])}` and `{clean(token)}` would both become "
                f"`{clean(name)}`: expected different names",
                rule="usage",
                value=token,
            )
        taken[name] = token
        files[real_path(path or "")] = token
    return files


def check_path(
    path: str | None, token: str, files: dict[str, str], written: dict[str | None, str]
) -> None:
    """Refuse an output that would replace another source, or what another source became.

    Parameters
    ----------
    files
        What `named_files` returned.
    written
        The outputs so far, and the tokens they came from.
    """
    if path is not None and path in written:
        raise UsageError(
            f"`{clean(written[path])}` and `{clean(token)}` would both become "
            f"`{clean(path)}`: expected different names",
            rule="usage",
            value=path,
        )
    other = token if path is None else files.get(real_path(path), token)
    if other != token:
        raise UsageError(
            f"`{clean(token)}` would become `{clean(path or '')}`, which is a source itself: "
            "expected another folder",
            rule="usage",
            value=path,
        )


def named_members(sources: Sequence[str], opened: Sequence[Source]) -> dict[str, Source]:
    """Name the tensors of several sources in one file: after their files, and their keys if many.

    Raises
    ------
    UsageError
        Two would have one name.
    """
    named: dict[str, Source] = {}
    for token, source in zip(sources, opened, strict=True):
        keys = [] if source.key is not None else source.content.names or []
        members = [source._replace(key=key) for key in keys] if len(keys) > 1 else [source]
        for member in members:
            name = _name(token, source.file.name if source.file else None, member.key)
            if name in named:
                raise UsageError(
                    f"two tensors would both become `{clean(name)}`: expected different names",
                    rule="usage",
                    value=name,
                )
            named[name] = member
    return named


def _name(token: str, path: str | None, key: str | None) -> str:
    """Name the file that a source becomes, without its suffix."""
    if path is None:
        raise UsageError(
            f"`{clean(token)}` is no file to name the output after: expected a file",
            rule="usage",
            value=token,
            hint="`gathercli convert TENSOR FILE` writes one",
        )
    stem = "stdin" if path == "-" else os.path.splitext(os.path.basename(path))[0]
    # The name of a member is a key and never a path.
    return stem if key is None else stem + "." + re.sub(f"/|{UNSAFE}", "_", key)


def outputs(source: Source, token: str, target: Target) -> list[tuple[str | None, list[Source]]]:
    """Say which files a source becomes, and the tensors in each.

    A format of one tensor takes a file for each member of an archive, if there is a folder.

    Raises
    ------
    UsageError
        Two members would become one file.
    """
    keys = [] if source.key is not None else source.content.names or []
    fmt = FORMATS[target.fmt]
    members = [source._replace(key=key) for key in keys] or [source]
    if target.folder is None:
        one = len(members) > 1 and not fmt.several  # which refuses, naming the members
        return [(target.path, [source] if one else members)]
    groups = [members] if fmt.several else [[member] for member in members]
    path = source.file.name if source.file else None
    named = {}
    for group in groups:
        alone = len(group) == len(members) and source.key is None
        key = None if alone else group[0].key
        name = _name(token, path, key) + fmt.suffix
        if name in named:
            raise UsageError(
                f"two members would both become `{clean(name)}`: expected different names",
                rule="usage",
                value=name,
                hint="`--to npz` or safetensors keeps them in one file",
            )
        named[name] = group
    return [(os.path.join(target.folder, name), group) for name, group in named.items()]
