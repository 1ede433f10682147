"""The format zarr, versions 2 and 3: folders of chunks.

The metadata define an array and bound the size of its chunks, packed and unpacked. They are checked
before use. The codecs are those of `numcodecs`.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Final

from gathercli.compute.blocks import CopyBlocks
from gathercli.compute.chunks import everything
from gathercli.compute.streamed import BlockResult
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, LimitError
from gathercli.io.formats.content import key_hint
from gathercli.io.zarr.arrayspec import invalid
from gathercli.io.zarr.chunkwriter import Writer, writer
from gathercli.io.zarr.created import Creation
from gathercli.io.zarr.stored import Node, ZarrArray
from gathercli.text import clean, in_bytes, short, some

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.result import Result
    from gathercli.io.folders import Folder
    from gathercli.io.formats.content import Layout
    from gathercli.io.zarr.arrayspec import ArraySpec
    from gathercli.spec.dtypes import DType

__all__ = ["Creation", "Writer", "Zarr", "ZarrArray", "writer"]

MAX_MEMBERS: Final = 10_000
"""Arrays and groups accepted in a group."""


class Zarr:
    """A zarr folder, a `content.Content`."""

    format = "zarr"

    def __init__(self, folder: Folder) -> None:
        """Read the metadata of the folder itself."""
        self._folder = folder
        self._path = folder.path
        self._root = Node.at(folder, self._path)
        if self._root is None:
            raise invalid("no zarr.json or .zarray in it", "a zarr array or group")

    @cached_property
    def names(self) -> Sequence[str] | None:
        """The sorted names of the arrays in a group; None for an array."""
        if self._root is None or self._root.is_array:
            return None
        return sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        """Yield the names of all arrays below the root group."""
        groups, members = [""], 0
        while groups:
            group = groups.pop()
            with os.scandir(os.path.join(self._path, group)) as entries:
                for entry in entries:
                    hidden = entry.name.startswith(".") and entry.name.endswith((".tmp", ".old"))
                    if hidden or not entry.is_dir(follow_symlinks=False):
                        continue
                    name = f"{group}/{entry.name}" if group else entry.name
                    try:
                        node = Node.at(self._folder, entry.path)
                    except GatherError:
                        yield name  # reading it raises the error again
                        continue
                    if node is None:
                        continue
                    members += 1
                    if members > MAX_MEMBERS:
                        raise LimitError(
                            f"the group has more than {MAX_MEMBERS} members",
                            rule="limit",
                            value=members,
                            expected="at most that",
                        )
                    if node.is_array:
                        yield name
                    else:
                        groups.append(name)

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Return the layout of an array."""
        del declared  # the metadata state the type
        return self._node(key)[1].layout

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Read a whole array; raise LimitError if it is larger than the limit."""
        del declared, empty
        size, limit, progress = self._node(key)[1].nbytes, self._folder.limit, self._folder.progress
        if limit is not None and size > limit:
            raise LimitError.over(
                f"the array has {in_bytes(size)} to be held in memory",
                size,
                limit,
                instead="`info --header` describes it without reading it",
            )
        array = self.chunked(key)
        report = None if progress is None else lambda done: progress("read", done, size)
        return Tensor(array.dtype, array.read(everything(array.shape), report))

    def chunked(self, key: str | None) -> ZarrArray:
        """Open an array to read by boxes; raise LimitError if a chunk is larger than the limit."""
        path, spec = self._node(key)
        limit = self._folder.limit
        needed = max(spec.chunk_nbytes, spec.index_nbytes)
        if limit is not None and needed > limit:
            raise LimitError.over(
                f"a chunk of the array has {in_bytes(needed)} to be held in memory", needed, limit
            )
        name = self._folder.name if path == self._path else f"{self._folder.name}#{key}"
        return ZarrArray(name, path, spec, self._folder.watch, self._folder.notes)

    def _member(self, key: str) -> ArraySpec | None:
        """Look up the array `key` without listing the group; return None if there is none."""
        path, node = self._path, self._root
        for name in key.split("/"):
            path = os.path.join(path, name)
            plain = name not in ("", ".", "..") and "\0" not in name
            if node is None or node.is_array or not plain or os.path.islink(path):
                return None
            node = Node.at(self._folder, path)
        return node.spec if node is not None and node.is_array else None

    def _node(self, key: str | None) -> tuple[str, ArraySpec]:
        """Return the path and metadata of the array `key`; None means the only one."""
        if self._root is not None and self._root.is_array:
            if key is not None:
                raise invalid(f"the folder is one array and has no member `{clean(key)}`", "no key")
            return self._path, self._root.spec
        if key is not None and (spec := self._member(key)) is not None:
            return os.path.join(self._path, key), spec
        names = self.names or ()
        if key is None and len(names) == 1:
            key = names[0]
        if key is None or key not in names:
            raise invalid(
                "the group has "
                + (some(f"`{clean(name)}`" for name in names) if names else "no arrays"),
                f"the array `{clean(short(key))}`" if key else "the name of one",
                hint=key_hint(self._folder.name, key, names, "array"),
            )
        path = os.path.join(self._path, key)
        node = Node.at(self._folder, path)
        if node is None or not node.is_array:
            raise invalid(f"`{clean(key)}` is no longer an array", "it to stay as it was")
        return path, node.spec


def losses(result: Result, path: str | None, option: str) -> Iterator[str]:
    """Yield a note if an array is copied without its shards."""
    del option
    blocks = result.source() if isinstance(result, BlockResult) else None
    array = blocks.data if isinstance(blocks, CopyBlocks) else None
    if isinstance(array, ZarrArray) and array.spec.sharded:
        yield f"{clean(path or '')} is written without shards, each chunk as a file"
