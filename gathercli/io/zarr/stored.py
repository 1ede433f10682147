"""The format zarr, versions 2 and 3: folders of chunks, read box by box.

The metadata define an array and bound the size of its chunks, packed and unpacked. They are checked
before use. The codecs are those of `numcodecs`.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.blocks import CopyBlocks
from gathercli.compute.chunks import count_chunks, everything, inside, sizes, slices, tiled
from gathercli.compute.streamed import BlockResult
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, InputError, LimitError
from gathercli.io.folders import Folder
from gathercli.io.formats.content import (
    check_limit,
    check_number,
    malformed,
    no_member,
    unknown_name,
)
from gathercli.io.formats.npy import check_strings
from gathercli.io.zarr import chunkfiles, metadata
from gathercli.io.zarr.chunkfiles import ChunkCodec, ChunkFiles
from gathercli.spec.dtypes import STRING, described
from gathercli.text import clean, counted, in_bytes, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.compute.chunks import Box
    from gathercli.compute.result import Result
    from gathercli.compute.storage import AnyArray
    from gathercli.io.formats.content import Layout
    from gathercli.io.zarr.arrayspec import ArraySpec
    from gathercli.io.zarr.chunkfiles import ChunkFile, FileCallback
    from gathercli.spec.dtypes import DType

MAX_GROUP_MEMBERS: Final = 10_000  # arrays and groups accepted in a group
# The most chunks read at once: a few bytes of metadata may declare any number.
MAX_READ_CHUNKS: Final = 1 << 18


class Node:
    """An array or a group: a folder with metadata."""

    def __init__(self, version: int, members: dict[str, Any], *, is_array: bool) -> None:
        self._version, self._members, self.is_array = version, members, is_array

    @classmethod
    def at(cls, folder: Folder, path: str) -> Node | None:
        """Read the metadata of the folder at `path`; return None if it has none."""
        for number, version in metadata.VERSIONS.items():
            for name in version.files:
                file = os.path.join(path, name)
                if os.path.lexists(file):
                    members = metadata.document(folder, file)
                    return cls(number, members, is_array=version.is_array(name, members))
        return None

    @classmethod
    def of_path(cls, path: str) -> Node | None:
        """Return the node of an array at a path that is no input; None if there is no array."""
        node = cls.at(Folder(path, path, None), path)
        return node if node is not None and node.is_array else None

    @cached_property
    def spec(self) -> ArraySpec:
        """The valid metadata of an array."""
        return metadata.parse(self._members, self._version)


class ZarrArray:
    """A thread-safe `ChunkedTensor` stored as a zarr array in the folder `path`.

    `on_read` is that of `ChunkFiles`; one of the notes for the user says how many chunks were
    absent.
    """

    decided_by = None  # the metadata state the type
    in_memory = None  # the elements are read in chunks

    def __init__(
        self,
        name: str,
        path: str,
        spec: ArraySpec,
        on_read: FileCallback | None = None,
        notes: list[str] | None = None,
    ) -> None:
        self.name, self.path, self.spec = name, path, spec
        self.dtype, self.shape, self.chunks = spec.dtype, spec.shape, spec.chunks
        self.storage = spec.file_dtype.newbyteorder("=")
        self.reads: Counter[tuple[int, ...]] = Counter()
        self._lock, self._files = Lock(), ChunkFiles(path, name, spec, on_read)
        self._absent: set[tuple[int, ...]] = set()
        self._notes = [] if notes is None else notes

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    def read(self, box: Box, progress: Callable[[int], None] | None = None) -> AnyArray:
        """Return the elements of a box; read each chunk once.

        `progress` is called with the bytes of elements read so far. Raise InputError if a chunk is
        malformed, LimitError if the box overlaps too many, NoInputError if one cannot be read.
        """
        shape = sizes(box)
        if 0 in shape:
            return np.empty(shape, self.storage)
        count = count_chunks(box, self.chunks)
        what = f"{counted(count, 'chunk', exact=True)} of the array are to be read at once"
        check_number(what, count, MAX_READ_CHUNKS)
        with self._lock:
            parts = tiled(box, self.chunks)
            self.reads.update(grid_coordinates(part, self.chunks) for part in parts)
        if count_chunks(box, self.spec.grid) == 1:
            elements = self._part(box)
            if elements is None:
                return self.spec.fill_array(shape)
            return np.array(elements, self.storage, order="C", copy=None)
        out = self.spec.fill_array(shape)
        done = 0
        for part in tiled(box, self.spec.grid):
            elements = self._part(part)
            if elements is None:
                continue
            out[slices(inside(part, box))] = elements
            done += elements.nbytes
            if progress is not None:
                progress(done)
        if progress is not None:
            progress(out.nbytes)
        return out

    @cached_property
    def _codec(self) -> ChunkCodec:
        """The codec of the chunks; its packages are imported with the first read."""
        return ChunkCodec(self.spec)

    def _part(self, box: Box) -> AnyArray | None:
        """Read a box within one file, in the file's byte order; None if the file is absent."""
        key = self.spec.key(grid_coordinates(box, self.spec.grid))
        codec = self._codec
        try:
            file = self._files.open(key)
            if file is None:
                self._add_absent(box)
                return None
            with closing(file), np.errstate(all="ignore"):  # sums of the delta filter may overflow
                elements = self._elements(codec, file, box)
            if self.dtype is STRING:
                check_strings(elements, rule="format")
        except (GatherError, MemoryError) as error:
            if isinstance(error, InputError):
                error.prefix(f"the chunk `{clean(key)}`")
            raise
        except Exception as error:
            raise InputError(
                f"the chunk `{clean(f'{self.name}/{key}')}` cannot be read ({reason(error)})",
                where=key,
                expected=(
                    f"{in_bytes(self.spec.chunk_nbytes)} of elements, packed by "
                    f"{self.spec.codec_names}"
                ),
            ) from error
        return elements

    def _add_absent(self, box: Box) -> None:
        """Count the chunks of a box as absent, in a note."""
        parts = tiled(box, self.chunks)
        with self._lock:
            before = self._absent_note()
            self._absent.update(grid_coordinates(part, self.chunks) for part in parts)
            if before in self._notes:
                self._notes.remove(before)
            self._notes.append(self._absent_note())

    def _absent_note(self) -> str:
        """Say how many chunks were absent, and what was read in their place."""
        value, count = clean(short(str(self.spec.fill_array(())))), len(self._absent)
        are = "chunk is absent and reads" if count == 1 else "chunks are absent and read"
        return f"{count} {are} as the fill value {value or '``'}: {clean(self.name)}"

    def _elements(self, codec: ChunkCodec, file: ChunkFile, box: Box) -> AnyArray:
        """Read a box within one file; of an unpacked chunk, only the rows of the box."""
        spec = self.spec
        if spec.sharded:
            return chunkfiles.read(spec, codec, file, box, self._add_absent)
        at = spec.inside_chunk(box)
        if spec.plain and box and file.size == spec.chunk_nbytes:
            rows: AnyArray = file.rows(*at[0])[(slice(None), *slices(at[1:]))]
            return rows
        part: AnyArray = codec.decode(file.read())[slices(at)]
        return part


class Zarr:
    """A zarr folder, a `content.Content`."""

    format = "zarr"

    def __init__(self, folder: Folder) -> None:
        """Read the metadata of the folder itself."""
        self._folder = folder
        self._path = folder.path
        self._root = Node.at(folder, self._path)
        if self._root is None:
            raise malformed("no zarr.json or .zarray in it", "a zarr array or group")

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
                    if members > MAX_GROUP_MEMBERS:
                        raise LimitError(
                            f"the group has more than {MAX_GROUP_MEMBERS} members",
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
        instead = "`info --header` describes it without reading it"
        check_limit(f"the array has {in_bytes(size)} to be held in memory", size, limit, instead)
        array = self.chunked(key)
        report = None if progress is None else lambda done: progress("read", done, size)
        return Tensor(array.dtype, array.read(everything(array.shape), report))

    def chunked(self, key: str | None) -> ZarrArray:
        """Open an array to read by boxes; raise LimitError if a chunk is larger than the limit."""
        path, spec = self._node(key)
        limit = self._folder.limit
        needed = max(spec.chunk_nbytes, spec.index_nbytes)
        what = f"a chunk of the array has {in_bytes(needed)} to be held in memory"
        check_limit(what, needed, limit)
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
                raise no_member("the folder is one array and has", key)
            return self._path, self._root.spec
        if key is not None and (spec := self._member(key)) is not None:
            return os.path.join(self._path, key), spec
        names = self.names or ()
        if key is None and len(names) == 1:
            key = names[0]
        if key is None or key not in names:
            raise unknown_name(
                "the group has", key, names, "array", self._folder.name, none="no arrays"
            )
        path = os.path.join(self._path, key)
        node = Node.at(self._folder, path)
        if node is None or not node.is_array:
            raise malformed(f"`{clean(key)}` is no longer an array", "it to stay as it was")
        return path, node.spec


def losses(result: Result, path: str | None, option: str) -> Iterator[str]:
    """Yield a note if an array is copied without its shards."""
    del option
    blocks = result.source() if isinstance(result, BlockResult) else None
    array = blocks.data if isinstance(blocks, CopyBlocks) else None
    if isinstance(array, ZarrArray) and array.spec.sharded:
        yield f"{clean(path or '')} is written without shards, each chunk as a file"


def reason(error: BaseException) -> str:
    """Return the first line of an error from a package or the system."""
    lines = str(error).splitlines() or [type(error).__name__]
    return clean(lines[0][:200])


def grid_coordinates(box: Box, chunks: Sequence[int]) -> tuple[int, ...]:
    """Return the coordinates in the grid of the chunk that contains the first cell of a box."""
    return tuple(start // size for (start, _), size in zip(box, chunks, strict=True))
