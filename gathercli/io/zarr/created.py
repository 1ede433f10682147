"""Create zarr arrays atomically: if a process dies, the array is absent, old or complete."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from gathercli.compute.storage import storage_of
from gathercli.errors import GatherError, InputError, TransferError, reason_of
from gathercli.io.folders import Folder
from gathercli.io.links import lies_in
from gathercli.io.temporaries import temporary_name
from gathercli.io.write import (
    EXISTS,
    OUTSIDE,
    bad_folder,
    is_stream,
    persist,
    real_path,
    unwritable,
)
from gathercli.io.zarr import metadata
from gathercli.io.zarr.arrayspec import ArraySpec, zero_fill
from gathercli.io.zarr.chunkwriter import Writer, writer
from gathercli.io.zarr.codecs import ChunkCodec
from gathercli.io.zarr.stored import Node, ZarrArray
from gathercli.spec.dtypes import STRING, DType
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.tensor import ChunkedTensor
    from gathercli.io.zarr.arrayspec import Codec


_TRIES: Final = 10
"""Attempts to remove a folder into which a thread may still be writing."""

_ZSTD: Final[Codec] = {"name": "zstd", "level": 0, "checksum": False}
"""The default codec of the package zarr."""

_CWD: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS

MAX_NAMES: Final = 20_000
"""The most files of an array that are checked before the work; all are when it is replaced."""

_OWN: Final = re.compile(
    r"zarr\.json|\.z(array|attrs|metadata)|c([./]\d+)*|\d+([./]\d+)*", re.ASCII
)
"""The names of metadata and chunks."""


class Creation:
    """A context that creates an array; without `commit` nothing remains of it.

    Parameters
    ----------
    path
        The folder of the array. An existing array is replaced, anything else is an error.
    no_clobber
        Whether an existing array is an error.
    fsync
        Whether `commit` waits until the chunks, and then the name, are on the disk.
    within
        The real path of a folder that must contain the array; None for no restriction.

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
        self._unwritable = partial(unwritable, path)
        self.temporary = self._old = ""
        self._own: os.stat_result | None = None
        self._renamed = False
        """Whether `commit` renamed the array; another run may have replaced it since."""
        self._target = self._resolve()
        if within is not None and not lies_in(self._target, within):
            raise self._unwritable(*OUTSIDE)
        self._check_target(MAX_NAMES)

    @staticmethod
    def writer(path: str) -> Writer:
        """Return a writer for the temporary array at `path`, also in another process."""
        return writer(path)

    @property
    def folder(self) -> str:
        """The parent folder of the array."""
        return os.path.dirname(self._target)

    def _resolve(self) -> str:
        """Resolve the path once, so that the checks and the renaming use the same one."""
        if not self.path:
            raise self._unwritable("the name is empty", "the name of a folder")
        with self._writable():
            if is_stream(self.path.rstrip("/")):
                raise self._unwritable("it is a device or a pipe", "the name of a folder")
            target = resolve_target(self.path)
        if not os.path.basename(target):
            raise self._unwritable("its last part names no folder", "the name of a folder")
        if array := enclosing_array(target):
            raise self._unwritable(
                f"it lies in the array `{clean(array)}`", "a place outside of it"
            )
        return target

    def _check_target(self, most: int | None = None) -> None:
        """Raise if the target must not be replaced; check at most `most` of its files."""
        target = self._target
        with self._writable():
            if os.path.islink(target):
                raise self._unwritable("it is a symbolic link", "the name of a folder")
            if is_stream(target):
                raise self._unwritable("it is a device or a pipe", "the name of a folder")
            if not os.path.lexists(target):
                return
            if self._no_clobber:
                raise self._unwritable(*EXISTS)
            if why := obstacle(target, most):
                raise self._unwritable(why, "a new name, or a zarr array to replace")

    @contextmanager
    def _writable(self) -> Iterator[None]:
        """Convert OSError, and the ValueError for a NUL in a path, to `OutputError`."""
        try:
            yield
        except (OSError, ValueError) as error:
            if isinstance(error, GatherError):
                raise
            why = bad_folder(self.path.rstrip("/"), error)
            raise self._unwritable(*why, number=getattr(error, "errno", None)) from None

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

        Parameters
        ----------
        shape, dtype, chunks
            Its shape and type, and the sizes of a chunk, each at least 1.
        source
            The source tensor. The new array has the version, codecs, order and chunk names of a
            zarr array.
        storage
            The numpy dtype, which includes the width of strings; None for that of `source`.
        copy_attributes
            Whether to copy the attributes and dimension names of `source`.

        Raises
        ------
        InputError
            ``dtype``: zarr lacks the type.
        OutputError
            ``output``.
        """
        like = source if isinstance(source, ZarrArray) else None
        file_dtype = _choose_file_dtype(dtype, like, storage)
        spec = _new_spec(tuple(shape), dtype, file_dtype, tuple(chunks), like)
        ChunkCodec(spec)  # raises if a package is missing, before anything is created
        folder, name = os.path.split(self._target)
        # Set before `mkdir`, as a signal may arrive in between.
        self.temporary = os.path.join(folder, temporary_name(name))
        if not copy_attributes:
            spec = spec._replace(attributes=None, dimension_names=None)
        documents = dict([metadata.VERSIONS[spec.version].to_json(spec)])
        if copy_attributes and like is not None:
            documents |= _attributes(like)
        with self._writable():
            os.mkdir(self.temporary)
            if os.path.realpath(self.temporary) != self.temporary:
                raise self._unwritable("a link has come in the way", "its folder to stay as it was")
            self._own = os.stat(self.temporary)
            for name, document in documents.items():
                with open(os.path.join(self.temporary, name), "x", encoding="utf-8") as out:
                    json.dump(document, out, indent=2)

    def commit(self) -> None:
        """Rename the array to the target, replacing an older array.

        Raises
        ------
        OutputError
            ``output``: the target is no longer replaceable.
        TransferError
            ``output``: a system call failed.
        """
        self._check_target()
        try:
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
                _sync_one(self.folder)
        except OSError as error:
            raise TransferError(
                f"`{clean(self.path)}` could not be finished ({reason_of(error)})", rule="output"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        persist(self._remove)

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
                f"the array that was there is now `{clean(self._old)}`",
                rule="output",
            ) from None


def exchange(one: str, other: str) -> bool:
    """Exchange the names of two files or folders; return False if that is unsupported."""
    import ctypes

    library = ctypes.CDLL(None)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        rename, arguments = getattr(library, "renamex_np", None), (first, second, _EXCHANGE)
    else:
        rename = getattr(library, "renameat2", None)
        arguments = (_CWD, first, _CWD, second, _EXCHANGE)
    return rename is not None and bool(rename(*arguments) == 0)


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
    """Flush a folder and everything below it to the disk."""
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


def _choose_file_dtype(
    dtype: DType, like: ZarrArray | None, storage: np.dtype[Any] | None
) -> np.dtype[Any]:
    """Choose the numpy dtype of the elements in the files."""
    if dtype.opaque:
        raise InputError(
            f"zarr has no type {dtype}",
            rule="dtype",
            value=dtype.name,
            expected="another type of data",
        )
    if storage is None and like is not None and like.dtype is dtype:
        return like.spec.file_dtype
    storage = storage_of(dtype) if storage is None else storage
    if like is not None and like.storage == storage.newbyteorder("="):
        return like.spec.file_dtype
    if dtype is STRING and storage.itemsize == 0:
        return np.dtype("U1")
    return storage.newbyteorder("<") if storage.itemsize > 1 else storage


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
    codecs = (_adapt_codec(codec, file_dtype, len(shape), like) for codec in like.spec.codecs)
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
    """Return the user's attributes by file name, if they have a file of their own."""
    name = metadata.VERSIONS[like.spec.version].ATTRIBUTES
    if name is None or not os.path.lexists(path := os.path.join(like.path, name)):
        return {}
    return {name: metadata.document(Folder(like.name, like.path, None), path)}


def _endian(dtype: np.dtype[Any]) -> str:
    return "big" if dtype.str[0] == ">" else "little"


def _adapt_codec(
    codec: Codec, file_dtype: np.dtype[Any], rank: int, like: ZarrArray
) -> Codec | None:
    """Adapt a codec of `like` to another type and rank; return None if it does not apply."""
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


def resolve_target(path: str) -> str:
    """Resolve links and ``..`` in all but the last part of a path.

    The last part becomes empty if it is ``.`` or ``..``.
    """
    folder, name = os.path.split(path.rstrip("/"))
    return os.path.join(real_path(folder), "" if name in (".", "..") else name)


def enclosing_array(path: str) -> str | None:
    """Return the folder of the array that contains a path at any depth; None if there is none."""
    while (folder := os.path.dirname(path)) != path:
        if os.path.lexists(os.path.join(folder, ".zarray")):
            return folder
        with suppress(GatherError, OSError):  # malformed metadata describe no array
            node = Node.at(Folder(folder, folder, None), folder)
            if node is not None and node.is_array:
                return folder
        path = folder
    return None


def obstacle(path: str, most: int | None = None) -> str | None:
    """Return why a file or folder must not be replaced; None for a pure array.

    Parameters
    ----------
    most
        The number of files to check; None for all.
    """
    if not os.path.isdir(path):
        return "it is a file"
    if not _is_array(path):
        return "it is a folder, and no zarr array"
    names = islice(_names(path), most)
    other = next((name for name in names if not _OWN.fullmatch(name)), None)
    return other and f"it holds `{clean(other)}`, which is not part of an array"


def _is_array(path: str) -> bool:
    """Tell whether a folder is a zarr array with valid metadata."""
    with suppress(GatherError, OSError):
        node = Node.at(Folder(path, path, None), path)
        return node is not None and node.is_array and node.spec is not None
    return False


def _names(path: str) -> Iterator[str]:
    """Yield the relative paths of all files and folders below a folder."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(path, folder)) as scan:
            entries = list(scan)
        for entry in entries:
            yield f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{folder}{entry.name}/")
