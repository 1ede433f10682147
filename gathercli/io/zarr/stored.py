"""Stored arrays, read box by box."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.chunks import count_chunks, inside, sizes, slices, tiled
from gathercli.errors import GatherError, InputError, LimitError
from gathercli.io.formats.npy import check_strings
from gathercli.io.zarr import metadata, shards
from gathercli.io.zarr.chunkfiles import ChunkFiles
from gathercli.io.zarr.codecs import ChunkCodec
from gathercli.spec.dtypes import STRING, described
from gathercli.text import clean, counted, in_bytes, short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray
    from gathercli.io.folders import Folder
    from gathercli.io.zarr.arrayspec import ArraySpec
    from gathercli.io.zarr.chunkfiles import ChunkFile, FileCallback

MAX_CHUNKS: Final = 1 << 18
"""The most chunks read at once: a few bytes of metadata may declare any number."""


class Node:
    """An array or a group: a folder with metadata."""

    def __init__(self, version: int, members: dict[str, Any], *, is_array: bool) -> None:
        self._version, self._members, self.is_array = version, members, is_array

    @classmethod
    def at(cls, folder: Folder, path: str) -> Node | None:
        """Read the metadata of the folder at `path`; return None if it has none."""
        for number, version in metadata.VERSIONS.items():
            for name in version.FILES:
                file = os.path.join(path, name)
                if os.path.lexists(file):
                    members = metadata.document(folder, file)
                    return cls(number, members, is_array=version.is_array(name, members))
        return None

    @cached_property
    def spec(self) -> ArraySpec:
        """The valid metadata of an array."""
        return metadata.parse(self._members, self._version)


class ZarrArray:
    """A thread-safe `ChunkedTensor` stored as a zarr array.

    Parameters
    ----------
    name, path
        The name in messages, and the folder.
    on_read
        Called with the path and status of each file before it is read; None for an absent file.
    notes
        A list of notes for the user, one of which says how many chunks were absent.

    Attributes
    ----------
    storage
        The numpy dtype of the elements in native byte order.
    reads
        The number of reads of each chunk, by its coordinates in the grid of chunks.
    """

    decided_by = None
    """The metadata state the type."""
    in_memory = None
    """The elements are read in chunks."""

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

        Parameters
        ----------
        progress
            Called with the bytes of elements read so far.

        Raises
        ------
        InputError
            ``format``: a chunk is malformed.
        LimitError
            ``limit``: the box overlaps too many chunks.
        NoInputError
            ``unreadable``.
        """
        shape = sizes(box)
        if 0 in shape:
            return np.empty(shape, self.storage)
        count = count_chunks(box, self.chunks)
        if count > MAX_CHUNKS:
            raise LimitError(
                f"{counted(count, 'chunk', exact=True)} of the array are to be read at once",
                rule="limit",
                value=count,
                expected=f"at most {MAX_CHUNKS}",
            )
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
                rule="format",
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
            return shards.read(spec, codec, file, box, self._add_absent)
        at = spec.inside_chunk(box)
        if spec.plain and box and file.size == spec.chunk_nbytes:
            rows: AnyArray = file.rows(*at[0])[(slice(None), *slices(at[1:]))]
            return rows
        part: AnyArray = codec.decode(file.read())[slices(at)]
        return part


def reason(error: BaseException) -> str:
    """Return the first line of an error from a package or the system."""
    lines = str(error).splitlines() or [type(error).__name__]
    return clean(lines[0][:200])


def grid_coordinates(box: Box, chunks: Sequence[int]) -> tuple[int, ...]:
    """Return the coordinates in the grid of the chunk that contains the first cell of a box."""
    return tuple(start // size for (start, _), size in zip(box, chunks, strict=True))
