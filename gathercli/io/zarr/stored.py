"""The format zarr, versions 2 and 3: folders of chunks, read and written box by box.

The metadata define an array and bound the size of its chunks, packed and unpacked. They are checked
before use. The codecs are those of `numcodecs`.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from mmap import PAGESIZE, mmap
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.compute.chunks import CopyBlocks, count_chunks, everything, inside, sizes, tiled
from gathercli.compute.result import BlockResult
from gathercli.compute.storage import AnyArray, Box, slices
from gathercli.compute.tensor import Result, Tensor
from gathercli.errors import GatherError, InputError, LimitError, TransferError
from gathercli.io.descriptors import incomplete
from gathercli.io.files import free_memory, unreadable
from gathercli.io.folders import Folder, check_place, open_in
from gathercli.io.formats import content
from gathercli.io.formats.npy import check_strings
from gathercli.io.zarr.arrayspec import ArraySpec, ChunkCodec, grid_coordinates, strip_checksum
from gathercli.io.zarr.metadata import Node
from gathercli.spec.dtypes import STRING, described
from gathercli.spec.shapes import product
from gathercli.text import clean, counted, in_bytes, short

if TYPE_CHECKING:
    from gathercli.compute.tensor import ChunkedTensor

MAX_GROUP_MEMBERS: Final = 10_000  # arrays and groups accepted in a group
# The most chunks read at once: a few bytes of metadata may declare any number.
MAX_READ_CHUNKS: Final = 1 << 18
_ABSENT_CHUNK: Final = (1 << 64) - 1

# Of the free memory, the share that Linux lets wait for the disk before it begins to write.
WAITING_SHARE: Final = 10
PAST_CACHE_BYTES: Final = 4 << 20  # bytes of a write past the cache


def _bytes_at(fd: int, start: int, length: int) -> AnyArray:
    """Read bytes of a file; raise ValueError if it ends before the last one."""
    raw = np.empty(length, np.uint8)
    done = 0
    while done < length:  # a read may be short
        count = os.preadv(fd, [raw[done:].data], start + done)
        if not count:
            raise ValueError(f"it is cut before byte {start + length}")
        done += count
    return raw


class ZarrArray:
    """A thread-safe `ChunkedTensor` stored as a zarr array in the folder `path`.

    `on_read` is called with the path and status of each file before it is read; None for an absent
    one. One of the notes for the user says how many chunks were absent.
    """

    decided_by = None  # the metadata state the type
    in_memory = None  # the elements are read in chunks

    def __init__(
        self,
        name: str,
        path: str,
        spec: ArraySpec,
        on_read: Callable[[str, os.stat_result | None], None] = lambda *_: None,
        notes: list[str] | None = None,
    ) -> None:
        self.name, self.path, self.spec = name, path, spec
        self.dtype, self.shape, self.chunks = spec.dtype, spec.shape, spec.chunks
        self.storage, self.reads_rows = spec.file_dtype.newbyteorder("="), spec.plain
        self._lock, self._on_read = Lock(), on_read
        self._absent: set[tuple[int, ...]] = set()
        self._notes = [] if notes is None else notes
        self._real = os.path.realpath(path)
        self._checked_folder = ""  # the last folder with an absent file
        self._pages: list[AnyArray] = []  # those that no thread has, for `_write_past_cache`

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    @cached_property
    def _codec(self) -> ChunkCodec:
        """The codec of the chunks; its packages are imported with the first use."""
        return ChunkCodec(self.spec)

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
        content.check_number(what, count, MAX_READ_CHUNKS)
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

    def _part(self, box: Box) -> AnyArray | None:
        """Read a box within one file, in the file's byte order; None if the file is absent."""
        key = self.spec.key(box)
        codec = self._codec
        try:
            opened = self._open(key)
            if opened is None:
                self._add_absent(box)
                return None
            fd, status = opened
            try:
                self._on_read(os.path.join(self.path, key), status)
                with np.errstate(all="ignore"):  # sums of the delta filter may overflow
                    elements = self._elements(codec, fd, status.st_size, box)
            finally:
                os.close(fd)
            if self.dtype is STRING:
                check_strings(elements, rule="format")
        except (GatherError, MemoryError) as error:
            if isinstance(error, InputError):
                error.prefix(f"the chunk `{clean(key)}`")
            raise
        except Exception as error:
            what = f"the chunk `{clean(f'{self.name}/{key}')}` cannot be read ({_reason(error)})"
            size = f"{in_bytes(self.spec.chunk_nbytes)} of elements"
            expected = f"{size}, packed by {self.spec.codec_names}"
            raise InputError(what, where=key, expected=expected) from error
        return elements

    def _open(self, key: str) -> tuple[int, os.stat_result] | None:
        """Open a file for reading; return None if it is absent.

        Raise ValueError if the file is not regular, or a link is broken or leads out of the folder,
        and NoInputError if it cannot be read.
        """
        path = os.path.join(self.path, key)
        try:
            return open_in(path, self._real)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(path):
                raise ValueError("it links to nothing") from None
            folder = os.path.dirname(path)
            if folder != self._checked_folder:  # a link may lead out of the folder of the array
                check_place(os.path.realpath(folder), self._real)
                self._checked_folder = folder
            self._on_read(path, None)
            return None
        except OSError as error:
            raise unreadable(f"{self.name}/{key}", error) from None

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

    def _elements(self, codec: ChunkCodec, fd: int, size: int, box: Box) -> AnyArray:
        """Read a box within one file of `size` bytes; raise ValueError for a wrong size."""
        spec = self.spec
        if not size and spec.chunk_nbytes:
            raise ValueError("it is empty")
        if size > spec.max_file:
            raise ValueError(f"it has {in_bytes(size)}, more than a chunk can have")
        if spec.sharded:
            return self._of_shard(codec, fd, size, box)
        at = spec.inside_chunk(box)
        if spec.plain and box and size == spec.chunk_nbytes:  # read only the rows of the box
            (first, stop), row_nbytes = at[0], size // spec.chunks[0]
            raw = _bytes_at(fd, first * row_nbytes, (stop - first) * row_nbytes)
            chunk = raw.view(spec.file_dtype).reshape(stop - first, *spec.chunks[1:])
            at = ((0, stop - first), *at[1:])
        else:
            chunk = codec.decode(_bytes_at(fd, 0, size))
        part: AnyArray = chunk[slices(at)]
        return part

    def _of_shard(self, codec: ChunkCodec, fd: int, size: int, box: Box) -> AnyArray:
        """Read a box within one shard; its index has the start and length of each chunk."""
        spec = self.spec
        # Read the file once for all of its chunks, which are contiguous.
        whole = _bytes_at(fd, 0, size) if sizes(box) == spec.grid else None

        def read(start: int, length: int) -> AnyArray:
            """Read bytes, of which the index in the file may say anything."""
            stop = start + length
            if not 0 <= start < stop <= size:
                raise ValueError(f"it has {in_bytes(size)}, and none at {start} to {stop}")
            if length > max(spec.max_packed, spec.index_nbytes):
                raise ValueError(f"its part has {in_bytes(length)}, more than a chunk can have")
            return _bytes_at(fd, start, length) if whole is None else whole[start:stop]

        raw = read(0 if spec.index_first else size - spec.index_nbytes, spec.index_nbytes)
        if len(spec.shard_index) > 1:
            raw = strip_checksum(raw)
        index = raw.view("<u8").reshape(*spec.chunks_per_file, 2)
        out = spec.fill_array(sizes(box))
        for part in tiled(box, spec.chunks):
            coordinates = zip(grid_coordinates(part, spec.chunks), index.shape, strict=False)
            start, length = index[tuple(at % count for at, count in coordinates)].tolist()
            if start == length == _ABSENT_CHUNK:
                self._add_absent(part)
                continue
            chunk = codec.decode(read(start, length))
            out[slices(inside(part, box))] = chunk[slices(spec.inside_chunk(part))]
        return out

    def write(self, box: Box, elements: AnyArray) -> None:
        """Write a chunk from any thread; behind the end of the array it has the fill value."""
        spec, codec = self.spec, self._codec
        try:
            if elements.shape != spec.chunks:
                chunk = spec.fill_array(spec.chunks)
                chunk[slices(spec.inside_chunk(box))] = elements
                elements = chunk
            self._write_file(spec.key(box), codec.encode(elements))
        except FileNotFoundError:
            raise _vanished(self.path) from None
        except OSError as error:
            raise incomplete(error, None) from None
        except (ValueError, TypeError, RuntimeError) as error:
            what = f"a chunk cannot be packed ({_reason(error)}), the output is not complete"
            raise TransferError(what) from error

    def _write_file(self, key: str, packed: memoryview) -> None:
        """Write a file atomically; do not create the folder of the array, which may be gone."""
        *folders, _ = key.split("/")
        for depth in range(1, len(folders) + 1):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(self.path, *folders[:depth]))
        path = os.path.join(self.path, key)
        partial = f"{path}.{os.urandom(6).hex()}.partial"
        try:
            with open(partial, "xb") as file:
                done = self._write_past_cache(file.fileno(), packed) if self._is_large else 0
                file.write(packed[done:])
            os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial)
            raise

    @cached_property
    def _is_large(self) -> bool:
        """Whether the array is larger than what the system lets wait for the disk."""
        return product(self.shape) * self.storage.itemsize > free_memory() // WAITING_SHARE

    def _write_past_cache(self, fd: int, packed: memoryview) -> int:
        """Write whole pages without a copy in the system's cache; return how many bytes.

        They are fewer after a short write, and none where the file system cannot. All the cache
        would get is new pages: on a virtual machine, whose host must find each, they took four
        times as long as the disk.
        """
        done, stop = 0, len(packed) // PAGESIZE * PAGESIZE
        flag = getattr(os, "O_DIRECT", 0)  # macOS has none
        if not flag or stop < PAST_CACHE_BYTES:
            return 0
        try:
            pages = self._pages.pop()
        except IndexError:  # the other threads have them
            pages = np.frombuffer(mmap(-1, PAST_CACHE_BYTES), np.uint8)
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        try:
            fcntl.fcntl(fd, fcntl.F_SETFL, flags | flag)
            while done < stop:
                piece = np.frombuffer(packed[done : min(done + pages.size, stop)], np.uint8)
                if piece.ctypes.data % PAGESIZE:  # such a write must begin with a page
                    pages[: piece.size] = piece
                    piece = pages[: piece.size]
                done += os.write(fd, piece.data)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        finally:
            fcntl.fcntl(fd, fcntl.F_SETFL, flags)
            self._pages.append(pages)
        return done


def _reason(error: BaseException) -> str:
    """Return the first line of an error from a package or the system."""
    lines = str(error).splitlines() or [type(error).__name__]
    return clean(lines[0][:200])


def _vanished(path: str) -> TransferError:
    return TransferError(f"`{clean(path)}` is gone", expected="the new array")


def writer_at(path: str) -> ZarrArray:
    """Return the array at `path`, which this or another process created, to write its chunks."""
    node = Node.of_path(path)
    if node is None:
        raise _vanished(path)
    return ZarrArray(path, path, node.spec)


class Zarr(content.Content):
    """A zarr folder."""

    format = "zarr"
    noun, none = "array", "no arrays"

    def __init__(self, folder: Folder) -> None:
        """Read the metadata of the folder itself."""
        self._folder = folder
        root = Node.at(folder, folder.path)
        if root is None:
            raise content.malformed("no zarr.json or .zarray in it", "a zarr array or group")
        self._root = root
        self.has = "the folder is one array and has" if root.is_array else "the group has"

    @cached_property
    def names(self) -> Sequence[str] | None:  # type: ignore[override]
        """The sorted names of the arrays in a group; None for an array."""
        return None if self._root.is_array else sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        """Yield the names of all arrays below the root group."""
        groups, members = [""], 0
        while groups:
            group = groups.pop()
            with os.scandir(os.path.join(self._folder.path, group)) as entries:
                for entry in entries:
                    hidden = entry.name.startswith(".") and entry.name.endswith((".tmp", ".old"))
                    if hidden or not entry.is_dir(follow_symlinks=False):
                        continue
                    name = os.path.join(group, entry.name)
                    try:
                        node = Node.at(self._folder, entry.path)
                    except GatherError:
                        yield name  # reading it raises the error again
                        continue
                    if node is None:
                        continue
                    members += 1
                    if members > MAX_GROUP_MEMBERS:
                        what = f"the group has more than {MAX_GROUP_MEMBERS} members"
                        raise LimitError(what, value=members, expected="at most that")
                    if node.is_array:
                        yield name
                    else:
                        groups.append(name)

    def layout(self, key: str | None, types: content.ElementTypes) -> content.Layout:
        """Return the layout of an array."""
        del types  # the metadata state the type
        return self._node(key)[1].layout

    def tensor(self, key: str | None, types: content.ElementTypes) -> Tensor:
        """Read a whole array; raise LimitError if it is larger than the limit."""
        size = self.layout(key, types).nbytes
        limit, progress = self._folder.limit, self._folder.progress
        instead = "`info --header` describes it without reading it"
        content.check_limit(
            f"the array has {in_bytes(size)} to be held in memory", size, limit, instead
        )
        array = self._array(key)
        report = None if progress is None else lambda done: progress("read", done, size)
        return Tensor(array.dtype, array.read(everything(array.shape), report))

    def chunked(self, key: str | None, types: content.ElementTypes) -> ChunkedTensor:
        """Open an array, or read all of one that is to be converted."""
        array = self._array(key)
        return array if types.declared in (None, array.dtype) else self.tensor(key, types)

    def _array(self, key: str | None) -> ZarrArray:
        """Open an array; raise LimitError if a chunk is larger than the limit."""
        path, spec = self._node(key)
        limit = self._folder.limit
        needed = max(spec.chunk_nbytes, spec.index_nbytes)
        what = f"a chunk of the array has {in_bytes(needed)} to be held in memory"
        content.check_limit(what, needed, limit)
        name = self._folder.name if path == self._folder.path else f"{self._folder.name}#{key}"
        return ZarrArray(name, path, spec, self._folder.watch, self._folder.notes)

    def _member(self, key: str) -> ArraySpec | None:
        """Look up the array `key` without listing the group; return None if there is none."""
        path = self._folder.path
        node: Node | None = self._root
        for name in key.split("/"):
            path = os.path.join(path, name)
            plain = name not in ("", ".", "..") and "\0" not in name
            if node is None or node.is_array or not plain or os.path.islink(path):
                return None
            node = Node.at(self._folder, path)
        return node.spec if node is not None and node.is_array else None

    def _node(self, key: str | None) -> tuple[str, ArraySpec]:
        """Return the path and metadata of the array `key`; None means the only one."""
        if self._root.is_array:
            if key is not None:
                raise self.no_member(key)
            return self._folder.path, self._root.spec
        if key is None:
            key = self.find(None, self.names or (), self._folder.name)
        if (spec := self._member(key)) is not None:
            return os.path.join(self._folder.path, key), spec
        self.find(key, self.names or (), self._folder.name)  # raises if it was never an array
        raise content.malformed(f"`{clean(key)}` is no longer an array", "it to stay as it was")


def losses(result: Result, path: str | None, option: str) -> Iterator[str]:
    """Yield a note if an array is copied without its shards."""
    del option
    blocks = result.source() if isinstance(result, BlockResult) else None
    array = blocks.elements if isinstance(blocks, CopyBlocks) else None
    if isinstance(array, ZarrArray) and array.spec.sharded:
        yield f"{clean(path or '')} is written without shards, each chunk as a file"
