"""Create zarr arrays: if a process dies, the array is absent, old or complete.

The chunks of a new array are written box by box and once each, from any thread or process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from gathercli.compute.chunks import BlockSource, ChunkGrid, CopyBlocks, cells, cut_boxes, inside
from gathercli.compute.result import source_of
from gathercli.compute.storage import Box, Room, slices, storage_of
from gathercli.compute.threads import ProgressCallback, share
from gathercli.errors import GatherError, LimitError, TransferError, UsageError, reason_of
from gathercli.io import write
from gathercli.io.folders import Folder, lies_in, walk
from gathercli.io.formats.content import malformed
from gathercli.io.stream import temporary_name
from gathercli.io.zarr.arrayspec import ArraySpec, ChunkCodec, Codec, zero_fill
from gathercli.io.zarr.metadata import VERSIONS, Node, document
from gathercli.io.zarr.stored import ZarrArray, writer_at
from gathercli.spec.dtypes import FLOAT64, STRING, DType
from gathercli.spec.shapes import product
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from gathercli.compute.tensor import ChunkedTensor, Result

    class BoxWorkers(Protocol):
        """Workers in other processes."""

        @property
        def threads(self) -> int:
            """The number of boxes computed at a time."""

        @property
        def memory(self) -> int | None:
            """The memory for a box in bytes; None for no limit."""

        def write(self, path: str, chunks: Sequence[int], boxes: Sequence[Box]) -> Generator[int]:
            """Compute boxes and write them to `path`; yield the number of elements in each."""


_REMOVE_TRIES: Final = 10  # attempts to remove a folder into which a thread may still be writing
_WORKING_FOLDER: Final = -100  # AT_FDCWD
_EXCHANGE_FLAG: Final = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
# The most files of an array that are checked before the work; all are when it is replaced.
MAX_CHECKED_NAMES: Final = 20_000

# The names of metadata and chunks.
_OWN_NAMES: Final = re.compile(
    r"zarr\.json|\.z(array|attrs|metadata)|c([./]\d+)*|\d+([./]\d+)*", re.ASCII
)


# What a new array is like that copies no other: its codec is the default one of the package zarr.
_DEFAULT_SPEC: Final = ArraySpec(
    version=3,
    dtype=FLOAT64,
    file_dtype=np.dtype("<f8"),
    shape=(),
    grid=(),
    chunks=(),
    codecs=({"name": "bytes", "endian": "little"}, {"name": "zstd", "level": 0, "checksum": False}),
    fill=0,
    key_encoding="default",
    separator="/",
)


class Creation(write.AtomicOutput):
    """An output that is an array; an existing array is replaced, anything else is an error."""

    def _find_target(self) -> None:
        self.temporary = self._old = ""
        self._own: os.stat_result | None = None
        # Whether `commit` renamed the array; another run may have replaced it since.
        self._renamed = False
        self._advise = partial(write.bad_folder, self.path.rstrip("/"))
        self._target = self._resolve()
        if self._within is not None and not lies_in(self._target, self._within):
            raise self._unwritable(*write.OUTSIDE)
        self._check_target(MAX_CHECKED_NAMES)

    @property
    def folder(self) -> str:
        """The parent folder of the array."""
        return os.path.dirname(self._target)

    def _resolve(self) -> str:
        """Resolve the path once, so that the checks and the renaming use the same one."""
        if not self.path:
            raise self._unwritable("the name is empty", "the name of a folder")
        with self._writable(self._advise):
            if write.is_stream(self.path.rstrip("/")):
                raise self._unwritable("it is a device or a pipe", "the name of a folder")
            folder, name = os.path.split(self.path.rstrip("/"))
            target = os.path.join(write.real_path(folder), name)
        if name in ("", ".", ".."):
            raise self._unwritable("its last part names no folder", "the name of a folder")
        if array := enclosing_array(target):
            raise self._unwritable(
                f"it lies in the array `{clean(array)}`", "a place outside of it"
            )
        return target

    def _check_target(self, most: int | None = None) -> None:
        target = self._target
        with self._writable(self._advise):
            if os.path.islink(target):
                raise self._unwritable("it is a symbolic link", "the name of a folder")
            if write.is_stream(target):
                raise self._unwritable("it is a device or a pipe", "the name of a folder")
            if not os.path.lexists(target):
                return
            if self._no_clobber:
                raise self._unwritable(*write.EXISTS)
            if why := obstacle(target, most):
                raise self._unwritable(why, "a new name, or a zarr array to replace")

    def open(
        self,
        shape: Sequence[int],
        dtype: DType,
        chunks: Sequence[int],
        source: ChunkedTensor | None = None,
        *,
        storage: np.dtype[Any] | None = None,
        copy_attributes: bool = False,
    ) -> None:
        """Create the array, without chunks, in a hidden folder beside the target.

        The sizes of a chunk are at least 1. The new array has the version, codecs, order and chunk
        names of `source`, if that is a zarr array, and on demand its attributes and dimension
        names. `storage` includes the width of strings; None for that of `source`. Raise InputError
        (``dtype``) if zarr lacks the type.
        """
        like = source.spec if isinstance(source, ZarrArray) else _DEFAULT_SPEC
        spec = _spec_like(like, tuple(shape), dtype, tuple(chunks), storage)
        ChunkCodec(spec)  # raises if a package is missing, before anything is created
        folder, name = os.path.split(self._target)
        # Set before `mkdir`, as a signal may arrive in between.
        self.temporary = os.path.join(folder, temporary_name(name))
        if not copy_attributes:
            spec = spec._replace(attributes=None, dimension_names=None)
        version = VERSIONS[spec.version]
        documents = {version.files[0]: version.to_json(spec)}
        if copy_attributes and isinstance(source, ZarrArray) and version.attributes is not None:
            path = os.path.join(source.path, version.attributes)
            if os.path.lexists(path):
                inner = Folder(source.name, source.path, None)
                documents[version.attributes] = document(inner, path)
        with self._writable(self._advise):
            os.mkdir(self.temporary)
            if os.path.realpath(self.temporary) != self.temporary:
                raise self._unwritable("a link has come in the way", "its folder to stay as it was")
            self._own = os.stat(self.temporary)
            for name, members in documents.items():
                with open(os.path.join(self.temporary, name), "x", encoding="utf-8") as out:
                    json.dump(members, out, indent=2)

    def write(
        self,
        result: Result,
        chunks: Sequence[int] | None = None,
        *,
        memory: int | None = None,
        threads: int = 1,
        progress: ProgressCallback | None = None,
        workers: BoxWorkers | None = None,
    ) -> None:
        """Create the array and write all its chunks, without `commit`.

        `chunks` are the sizes of a chunk, None to choose them; `memory` is in bytes, None for no
        limit. `progress` is called with the bytes of the output written so far and the total.
        `workers` are processes that compute the boxes, each with `workers.memory` bytes; None for
        this process. Raise UsageError if `chunks` has another rank than the output, LimitError if a
        chunk needs more than `memory`.
        """
        source = source_of(result)
        if workers is None:
            cut = partial(cut_boxes, source, memory=memory, threads=threads)
        else:
            least = workers.threads
            cut = partial(cut_boxes, source, memory=workers.memory, threads=1, least=least)
        if chunks is None:
            chunks, (threads, boxes) = _choose_chunks(source, cut)
        else:
            if len(chunks) != len(source.shape):
                rank, text = counted(len(source.shape), "dimension"), ",".join(map(str, chunks))
                what = f"has {counted(len(chunks), 'size')}, and the result has {rank}"
                raise UsageError(what, subject="--chunks", value=text, expected="one for each")
            threads, boxes = cut(chunks)
        data, itemsize = source.data, source.data.storage.itemsize
        total = product(source.shape) * itemsize
        if memory is not None:
            write.check_room(self.path, self.folder, total, packs=True)
        copies = isinstance(source, CopyBlocks) and source.elements is data
        storage = data.storage
        self.open(source.shape, data.dtype, chunks, data, storage=storage, copy_attributes=copies)
        counts: Generator[int]
        if workers is None:
            writer = writer_at(self.temporary)
            room = Room()
            counts = (fill(source, writer, chunks, box, threads, room=room) for box in boxes)
        else:
            counts = workers.write(self.temporary, chunks, boxes)
        done = 0
        try:
            with closing(counts):
                for count in counts:
                    done += count * itemsize
                    if progress is not None:
                        progress("gathered", done, total)
        except GatherError as error:
            if error.rule == "output":
                error.prefix(f"`{clean(self.path)}`")
            raise

    def _finish(self) -> None:
        self._check_target()
        if self._fsync:
            _sync(self.temporary)
        if os.path.lexists(self._target):
            self._renamed = exchange(self.temporary, self._target)
        if os.path.lexists(self._target) and not self._renamed:
            self._old = f"{self.temporary.removesuffix('.tmp')}.old"
            os.rename(self._target, self._old)
        if not self._renamed:
            os.rename(self.temporary, self._target)
            self._renamed = True
        if self._fsync:
            write.sync(self.folder)

    def _remove(self) -> None:
        """Remove the hidden folders; restore the old array if the new one was not renamed."""
        try:
            if self._old and os.path.lexists(self._old):
                # A signal may have arrived between the renaming and setting `_renamed`.
                if self._renamed or self._has_name():
                    _remove(self._old)
                else:
                    self._restore()
        finally:
            if self.temporary:
                _remove(self.temporary)

    def _has_name(self) -> bool:
        """Tell whether the target is this array, not that of another run."""
        try:
            return self._own is not None and os.path.samestat(self._own, os.stat(self._target))
        except OSError:
            return False

    def _restore(self) -> None:
        """Rename the old array back; the message of a failure contains its hidden name."""
        try:
            os.rename(self._old, self._target)
        except OSError as error:
            raise TransferError(
                f"`{clean(self.path)}` could not be put back ({reason_of(error)}): "
                f"the array that was there is now `{clean(self._old)}`"
            ) from None


def exchange(one: str, other: str) -> bool:
    """Exchange the names of two files or folders; return False if that is unsupported."""
    import ctypes

    library = ctypes.CDLL(None)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        rename, arguments = getattr(library, "renamex_np", None), (first, second, _EXCHANGE_FLAG)
    else:
        rename = getattr(library, "renameat2", None)
        arguments = (_WORKING_FOLDER, first, _WORKING_FOLDER, second, _EXCHANGE_FLAG)
    return rename is not None and bool(rename(*arguments) == 0)


def _remove(path: str) -> None:
    for _ in range(_REMOVE_TRIES):  # a thread may still be writing a chunk
        if not os.path.lexists(path):
            break
        try:
            shutil.rmtree(path, ignore_errors=True)
        except OSError as error:  # after a signal, `rmtree` may close a folder twice
            if isinstance(error.__context__, KeyboardInterrupt | SystemExit):
                raise error.__context__ from None
            raise


def _sync(path: str) -> None:
    """Flush a folder and everything below it to the disk."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            write.sync(os.path.join(folder, name))
        write.sync(folder)


def _spec_like(
    like: ArraySpec,
    shape: tuple[int, ...],
    dtype: DType,
    chunks: tuple[int, ...],
    storage: np.dtype[Any] | None,
) -> ArraySpec:
    """Return the metadata of a new array without shards."""
    if dtype.opaque:
        rule, value = "dtype", dtype.name
        raise malformed(f"zarr has no type {dtype}", "another type of data", rule=rule, value=value)
    file_dtype = storage_of(dtype) if storage is None else storage
    same = storage is None and dtype is like.dtype  # whatever the width of strings
    if same or file_dtype.newbyteorder("=") == like.file_dtype.newbyteorder("="):
        file_dtype = like.file_dtype
    elif dtype is STRING and file_dtype.itemsize == 0:
        file_dtype = np.dtype("U1")
    elif file_dtype.itemsize > 1:
        file_dtype = file_dtype.newbyteorder("<")
    codecs = (_adapt_codec(codec, file_dtype, len(shape), like) for codec in like.codecs)
    return like._replace(
        dtype=dtype,
        file_dtype=file_dtype,
        shape=shape,
        grid=chunks,
        chunks=chunks,
        codecs=tuple(codec for codec in codecs if codec is not None),
        fill=like.fill if dtype is like.dtype else zero_fill(dtype),
        shard_index=(),
        index_first=False,
    )


def _adapt_codec(
    codec: Codec, file_dtype: np.dtype[Any], rank: int, like: ArraySpec
) -> Codec | None:
    """Adapt a codec of `like` to another type and rank; return None if it does not apply."""
    name = codec["name"]
    if name == "bytes":
        return codec | {"endian": "big" if file_dtype.str[0] == ">" else "little"}
    if name == "transpose" and len(codec["order"]) != rank:
        return {"name": name, "order": list(range(rank))[::-1]} if like.fortran else None
    if file_dtype != like.file_dtype:
        if name == "delta":
            return None
        key = "elementsize" if name == "shuffle" else "typesize"
        if key in codec:
            return codec | {key: min(file_dtype.itemsize, 255)}
    return codec


def enclosing_array(path: str) -> str | None:
    """Return the folder of the array that contains a path at any depth; None if there is none."""
    while (folder := os.path.dirname(path)) != path:
        if os.path.lexists(os.path.join(folder, ".zarray")):
            return folder
        with suppress(GatherError, OSError):  # malformed metadata describe no array
            if Node.of_path(folder):
                return folder
        path = folder
    return None


def obstacle(path: str, most: int | None = None) -> str | None:
    """Return why a path must not be replaced; None for an array, judged by `most` of its files."""
    if not os.path.isdir(path):
        return "it is a file"
    spec = None
    with suppress(GatherError, OSError):
        node = Node.of_path(path)
        spec = node and node.spec
    if spec is None:
        return "it is a folder, and no zarr array"
    with closing(walk(path)) as entries:
        names = (name for name, _ in islice(entries, most))
        other = next((name for name in names if not _OWN_NAMES.fullmatch(name)), None)
    return other and f"it holds `{clean(other)}`, which is not part of an array"


def fill(
    source: BlockSource,
    writer: ZarrArray,
    chunks: Sequence[int],
    box: Box,
    threads: int = 1,
    *,
    room: Room | None = None,
) -> int:
    """Compute and write a box of whole chunks; return the number of its elements."""
    block = source.block(box, threads, room)
    grid = ChunkGrid(box, chunks)

    def put(number: int) -> None:
        part = grid.part(number)
        writer.write(part, block[slices(inside(part, box))])

    share(grid.number, lambda: put, threads)
    return cells(box)


def _choose_chunks(
    source: BlockSource, cut: Callable[[Sequence[int]], tuple[int, list[Box]]]
) -> tuple[Sequence[int], tuple[int, list[Box]]]:
    """Choose the sizes of the chunks by the data; halve them while a chunk exceeds the memory."""
    sizes = list(source.choose_chunks())
    while True:
        try:
            return sizes, cut(sizes)
        except LimitError:
            divisible = [o for o in source.index_dims if sizes[o] > 1] or range(len(sizes))
            largest = max(divisible, key=sizes.__getitem__, default=None)
            if largest is None or sizes[largest] == 1:
                raise
            sizes[largest] = -(-sizes[largest] // 2)
