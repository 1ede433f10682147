"""Arrays in chunks, read box by box."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.arrays.chunks import inside, sizes, slices, tiled
from gathercli.errors import GatherError, InputError, LimitError
from gathercli.io.formats.npy import check_strings
from gathercli.io.zarr import metadata, shards
from gathercli.io.zarr.chunkfiles import ChunkFiles
from gathercli.io.zarr.codecs import ChunkCodec
from gathercli.spec.dtypes import STRING, DType, described
from gathercli.spec.shapes import product
from gathercli.text import clean, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.arrays.chunks import Box
    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.folders import Folder
    from gathercli.io.zarr.arrayspec import ArraySpec
    from gathercli.io.zarr.chunkfiles import ChunkFile, Note

MAX_CHUNKS: Final = 1 << 18
"""Chunks accepted in what is read at once: a few bytes of metadata may promise any number."""


class Node:
    """An array or a group: a folder with metadata."""

    def __init__(self, version: int, document: dict[str, Any], *, is_array: bool) -> None:
        self._version, self._document, self.is_array = version, document, is_array

    @classmethod
    def at(cls, folder: Folder, path: str) -> Node | None:
        """Read the metadata of the folder at `path`; None if it has none."""
        for name, version in (("zarr.json", 3), (".zarray", 2), (".zgroup", 2)):
            file = os.path.join(path, name)
            if not os.path.lexists(file):
                continue
            document = metadata.document(folder, file)
            if version == 2:
                return cls(2, document, is_array=name == ".zarray")
            kind = document.get("node_type")
            if kind not in ("array", "group"):
                raise InputError(
                    f"the node_type of `{name}` is {shown(kind)}: expected array or group",
                    rule="format",
                )
            return cls(3, document, is_array=kind == "array")
        return None

    @cached_property
    def spec(self) -> ArraySpec:
        """What the metadata of an array says."""
        return metadata.parse(self._document, self._version)


class ZarrArray:
    """An array in chunks; the members are those of `arrays.chunks.ChunkedTensor`, and more.

    Several threads may read it at once.

    Parameters
    ----------
    note
        Is told the path and the state of each file that is read, None where it is absent; it may
        refuse to go on.

    Attributes
    ----------
    name, path
        How the user calls it, and its folder.
    reads
        How often each chunk was read, by its place in the grid of chunks.
    """

    decided = None
    """What decided the type: the metadata names it."""

    def __init__(self, name: str, path: str, spec: ArraySpec, note: Note | None = None) -> None:
        self.name, self.path, self.spec, self._note = name, path, spec, note
        self.reads: Counter[tuple[int, ...]] = Counter()
        self._lock = Lock()

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.spec.shape

    @property
    def in_memory(self) -> None:
        """Nothing: it is read in chunks."""
        return

    @property
    def chunks(self) -> tuple[int, ...]:
        """Sizes of what is read at once: of a shard, its chunks."""
        return self.spec.chunks

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy dtype of the elements in native byte order."""
        return self.spec.held.newbyteorder("=")

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.spec.nbytes

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of the elements of a chunk."""
        return self.spec.chunk_nbytes

    @property
    def version(self) -> int:
        """The version of the format."""
        return self.spec.version

    @property
    def codecs(self) -> str:
        """How chunks are packed, in a few words."""
        return self.spec.words

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    def read(self, box: Box, progress: Callable[[int], None] | None = None) -> AnyArray:
        """Return the elements of a box, reading each chunk that it meets once.

        Parameters
        ----------
        progress
            Is told how many bytes of elements were read.

        Raises
        ------
        InputError
            ``format``: a chunk is not what the metadata say.
        LimitError
            ``limit``: these are too many chunks.
        NoInputError
            ``unreadable``.
        """
        shape = sizes(box)
        if 0 in shape:
            return np.empty(shape, self.storage)
        met = _met(box, self.chunks)
        if met > MAX_CHUNKS:
            raise LimitError(
                f"{met} chunks of the array are to be read at once: expected at most {MAX_CHUNKS}",
                rule="limit",
                value=met,
            )
        with self._lock:
            self.reads.update(_places(box, self.chunks))
        if _met(box, self.spec.grid) == 1:
            elements = self._part(box)
            if elements is None:
                return self.spec.filled(shape)
            return np.array(elements, self.storage, order="C", copy=None)
        out = self.spec.filled(shape)
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
        """What unpacks chunks, made when the first is read."""
        return ChunkCodec(self.spec)

    @cached_property
    def _files(self) -> ChunkFiles:
        """Where the chunks are."""
        return ChunkFiles(self.path, self.name, self.spec, self._note)

    def _part(self, box: Box) -> AnyArray | None:
        """Read what lies in one file, in the byte order of it; None if there is no such file."""
        place = [start // size for (start, _), size in zip(box, self.spec.grid, strict=True)]
        key = self.spec.key(place)
        codec = self._codec
        try:
            file = self._files.open(key)
            if file is None:
                return None
            with file, np.errstate(all="ignore"):  # the sums of a delta may overflow
                elements = self._elements(codec, file, box)
            if self.dtype is STRING:
                check_strings(elements, rule="format")
        except (GatherError, MemoryError) as error:
            if isinstance(error, InputError):
                error.prefix(f"the chunk `{clean(key)}`")
            raise
        except Exception as error:
            raise InputError(
                f"the chunk `{clean(f'{self.name}/{key}')}` cannot be read "
                f"({reason(error)}): "
                f"expected {self.chunk_nbytes} bytes of elements, packed by {self.codecs}",
                rule="format",
                where=key,
            ) from error
        return elements

    def _elements(self, codec: ChunkCodec, file: ChunkFile, box: Box) -> AnyArray:
        """Read a box that lies in one file: of a chunk that is not packed only the rows of it."""
        spec = self.spec
        if spec.sharded:
            return shards.read(spec, codec, file, box)
        at = spec.inside(box)
        if spec.plain and box and file.size == spec.chunk_nbytes:
            first, *rest = at
            rows: AnyArray = file.rows(*first)[(slice(None), *slices(tuple(rest)))]
            return rows
        part: AnyArray = codec.decode(file.read())[slices(at)]
        return part


def reason(error: BaseException) -> str:
    """Say in one line what a package, or the system, says."""
    words = str(error).splitlines() or [type(error).__name__]
    return clean(words[0][:200])


def _met(box: Box, chunks: Sequence[int]) -> int:
    """Count the chunks that a box meets."""
    spans = zip(box, chunks, strict=True)
    return product([(stop - 1) // size - start // size + 1 for (start, stop), size in spans])


def _places(box: Box, chunks: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the places of the chunks that a box meets, in the grid of chunks."""
    for part in tiled(box, chunks):
        yield tuple(start // size for (start, _), size in zip(part, chunks, strict=True))
