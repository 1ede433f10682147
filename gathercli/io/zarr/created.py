"""Create zarr arrays atomically: one is absent, old or complete, whenever a process dies."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from gathercli.arrays.tensor import storage_of
from gathercli.errors import GatherError, InputError, TransferError, reason_of
from gathercli.io.folders import Folder
from gathercli.io.links import lies_in
from gathercli.io.write import OUTSIDE, is_stream, persist, unwritable
from gathercli.io.zarr import metadata
from gathercli.io.zarr.arrayspec import ArraySpec, zero_fill
from gathercli.io.zarr.chunkwriter import Writer, writer
from gathercli.io.zarr.codecs import ChunkCodec
from gathercli.io.zarr.stored import ZarrArray
from gathercli.io.zarr.target import MAX_NAMES, enclosing_array, resolve_target, why_kept
from gathercli.spec.dtypes import STRING, DType
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.io.zarr.arrayspec import Codec

_TRIES: Final = 10
"""Attempts to remove a folder into which a thread may still be writing."""

_ZSTD: Final[Codec] = {"name": "zstd", "level": 0, "checksum": False}
"""The codec that the package zarr chooses for a new array."""


class Creation:
    """One new array, used as a context: nothing remains of it unless `commit` was reached.

    Parameters
    ----------
    path
        Its folder. An array of this name is replaced; nothing else is.
    no_clobber
        Whether to replace nothing.
    fsync
        Whether to write the chunks, and then the name, to the disk before `commit` returns.
    within
        The real path of a folder that it must lie in, whatever links there are; None for any.

    Raises
    ------
    OutputError
        ``output``: the target cannot be created.
    """

    def __init__(
        self,
        path: str,
        *,
        no_clobber: bool = False,
        fsync: bool = False,
        within: str | None = None,
    ) -> None:
        self.path, self._no_clobber, self._fsync = path, no_clobber, fsync
        self._refused = partial(unwritable, path)
        self.temporary = self._old = ""
        self._own: os.stat_result | None = None
        self._renamed = False
        """Whether the array got its name, which another run may have taken since."""
        self._target = self._resolve()
        if within is not None and not lies_in(self._target, within):
            raise self._refused(*OUTSIDE)
        self._check_target(MAX_NAMES)

    @staticmethod
    def writer(path: str) -> Writer:
        """Open the temporary array at a path, perhaps in another process, to write its chunks."""
        return writer(path)

    @property
    def folder(self) -> str:
        """The folder in which the array lies."""
        return os.path.dirname(self._target)

    def _resolve(self) -> str:
        """Resolve the path once, so that what is checked and what is renamed are the same."""
        if not self.path:
            raise self._refused("the name is empty", "the name of a folder")
        with self._writable():
            if is_stream(self.path.rstrip("/")):
                raise self._refused("it is a device or a pipe", "the name of a folder")
            target = resolve_target(self.path)
        if not os.path.basename(target):
            raise self._refused("its last part names no folder", "the name of a folder")
        array = enclosing_array(target)
        if array is not None:
            raise self._refused(f"it lies in the array `{clean(array)}`", "a place outside of it")
        return target

    def _check_target(self, most: int | None = None) -> None:
        """Raise if the target must not be replaced; look at up to `most` of its files."""
        target = self._target
        with self._writable():
            if os.path.islink(target):
                raise self._refused("it is a symbolic link", "the name of a folder")
            if is_stream(target):
                raise self._refused("it is a device or a pipe", "the name of a folder")
            if not os.path.lexists(target):
                return
            if self._no_clobber:
                raise self._refused(
                    "it exists", "a new name", "without `--no-clobber` it would be replaced"
                )
            why = why_kept(target, most)
            if why is not None:
                raise self._refused(why, "a new name, or a zarr array to replace")

    @contextmanager
    def _writable(self) -> Iterator[None]:
        """Turn errors of the system, and of a NUL in a path, into `OutputError`."""
        try:
            yield
        except (OSError, ValueError) as error:
            if isinstance(error, GatherError):
                raise
            raise self._refused(reason_of(error), "a folder that can be written") from None

    def open(
        self,
        shape: Sequence[int],
        dtype: DType,
        chunks: Sequence[int],
        source: ChunkedTensor | None = None,
        *,
        storage: np.dtype[Any] | None = None,
        same: bool = False,
    ) -> None:
        """Create the array, without chunks, in a hidden folder beside the target.

        Parameters
        ----------
        shape, dtype, chunks
            Its shape and type, and the sizes of a chunk, each at least 1.
        source
            The tensor; an array gives its version, codecs, order and names of chunk files.
        storage
            The numpy dtype, if it is not that of `source`: of strings, it tells their width.
        same
            Whether the elements are those of `source`, so that its attributes are copied too.

        Raises
        ------
        InputError
            ``dtype``: zarr does not have the type.
        OutputError
            ``output``.
        """
        like = source if isinstance(source, ZarrArray) else None
        file_dtype = _file_dtype(dtype, like, storage)
        spec = _new_spec(tuple(shape), dtype, file_dtype, tuple(chunks), like)
        ChunkCodec(spec)  # raises if a package is missing, before anything is created
        folder, name = os.path.split(self._target)
        short_name = os.fsdecode(os.fsencode(name)[:200])
        # Set before the folder exists: a signal may come between the two.
        self.temporary = os.path.join(folder, f".{short_name}.{os.urandom(6).hex()}.tmp")
        if not same:
            spec = spec._replace(attributes=None, dimension_names=None)
        documents = dict([metadata.VERSIONS[spec.version].described(spec)])
        if same and like is not None:
            documents |= _attributes(like)
        with self._writable():
            os.mkdir(self.temporary)
            if os.path.realpath(self.temporary) != self.temporary:
                raise self._refused("a link has come in the way", "its folder to stay as it was")
            self._own = os.stat(self.temporary)
            for name, document in documents.items():
                with open(os.path.join(self.temporary, name), "x", encoding="utf-8") as out:
                    json.dump(document, out, indent=2)

    def commit(self) -> None:
        """Give the array its name, and replace the array of that name.

        Raises
        ------
        OutputError
            ``output``: by now, the name is that of something that must not be replaced.
        TransferError
            ``output``: the disk failed.
        """
        self._check_target()
        try:
            if self._fsync:
                _sync(self.temporary)
            if os.path.lexists(self._target) and not self._swap():
                self._old = f"{self.temporary.removesuffix('.tmp')}.old"
                os.rename(self._target, self._old)
            if not self._renamed:
                os.rename(self.temporary, self._target)
                self._renamed = True
            if self._fsync:
                _sync_one(self.folder)
        except OSError as error:
            raise TransferError(
                f"`{clean(self.path)}` could not be finished ({reason_of(error)})", rule="output"
            ) from None

    def _swap(self) -> bool:
        """Exchange the names of the old and the new array in one step, if the file system can."""
        from gathercli.io.swap import exchange

        self._renamed = exchange(self.temporary, self._target)
        return self._renamed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        persist(self._remove)

    def _remove(self) -> None:
        """Remove the hidden folders; but restore the old array if the new one got no name."""
        try:
            if self._old and os.path.lexists(self._old):
                if self._renamed or self._has_name():  # a signal may have come before `_renamed`
                    _remove(self._old)
                else:
                    self._restore()
        finally:
            if self.temporary:
                _remove(self.temporary)

    def _has_name(self) -> bool:
        """Tell whether the name is that of this array, and not of another run's."""
        try:
            return self._own is not None and os.path.samestat(self._own, os.stat(self._target))
        except OSError:
            return False

    def _restore(self) -> None:
        """Give the old array its name back.

        Raises
        ------
        TransferError
            ``output``: it keeps its hidden name, which the message tells.
        """
        try:
            os.rename(self._old, self._target)
        except OSError as error:
            raise TransferError(
                f"`{clean(self.path)}` could not be put back ({reason_of(error)}): "
                f"the array that was there is now `{clean(self._old)}`",
                rule="output",
            ) from None


def _remove(path: str) -> None:
    for _ in range(_TRIES):  # a thread may still be writing a chunk
        if not os.path.lexists(path):
            break
        try:
            shutil.rmtree(path, ignore_errors=True)
        except OSError as error:  # after a signal, `rmtree` may close a folder twice
            if isinstance(error.__context__, KeyboardInterrupt | SystemExit):
                raise error.__context__ from None
            raise


def _sync(path: str) -> None:
    """Write all files and folders under a folder to the disk."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            _sync_one(os.path.join(folder, name))
        _sync_one(folder)


def _sync_one(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _file_dtype(
    dtype: DType, like: ZarrArray | None, storage: np.dtype[Any] | None
) -> np.dtype[Any]:
    """Choose the numpy dtype of the elements in the files."""
    if dtype.opaque:
        raise InputError(
            f"zarr has no type {dtype}: expected another type of data",
            rule="dtype",
            value=dtype.name,
        )
    if storage is None and like is not None and like.dtype is dtype:
        return like.spec.file_dtype
    held = storage_of(dtype) if storage is None else storage
    if like is not None and like.storage == held.newbyteorder("="):
        return like.spec.file_dtype
    if dtype is STRING and held.itemsize == 0:
        return np.dtype("U1")
    return held.newbyteorder("<") if held.itemsize > 1 else held


def _new_spec(
    shape: tuple[int, ...],
    dtype: DType,
    file_dtype: np.dtype[Any],
    chunks: tuple[int, ...],
    like: ZarrArray | None,
) -> ArraySpec:
    """Return the metadata of a new array."""
    if like is None:
        return ArraySpec(
            3,
            dtype,
            file_dtype,
            shape,
            chunks,
            chunks,
            ({"name": "bytes", "endian": _endian(file_dtype)}, _ZSTD),
            zero_fill(dtype),
            key_encoding="default",
            separator="/",
        )
    codecs = (_adapted(codec, file_dtype, len(shape), like) for codec in like.spec.codecs)
    return like.spec._replace(
        dtype=dtype,
        file_dtype=file_dtype,
        shape=shape,
        grid=chunks,
        chunks=chunks,
        codecs=tuple(codec for codec in codecs if codec is not None),
        fill=like.spec.fill if dtype is like.dtype else zero_fill(dtype),
        shard_index=(),
        index_first=False,
    )


def _attributes(like: ZarrArray) -> dict[str, Any]:
    """Read the user's attributes if they are in a file of their own; return them by its name."""
    name = metadata.VERSIONS[like.spec.version].ATTRIBUTES
    if name is None or not os.path.lexists(path := os.path.join(like.path, name)):
        return {}
    return {name: metadata.document(Folder(like.name, like.path, None), path)}


def _endian(dtype: np.dtype[Any]) -> str:
    return "big" if dtype.str[0] == ">" else "little"


def _adapted(codec: Codec, file_dtype: np.dtype[Any], rank: int, like: ZarrArray) -> Codec | None:
    """Adapt a codec of `like` to another type and rank; None if it does not apply to them."""
    name = codec["name"]
    if name == "bytes":
        return codec | {"endian": _endian(file_dtype)}
    if name == "transpose" and len(codec["order"]) != rank:
        return {"name": name, "order": list(range(rank))[::-1]} if like.spec.fortran else None
    if file_dtype != like.spec.file_dtype:
        if name == "delta":
            return None
        key = "elementsize" if name == "shuffle" else "typesize"
        if key in codec:
            return codec | {key: min(file_dtype.itemsize, 255)}
    return codec
