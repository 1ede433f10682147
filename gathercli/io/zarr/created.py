"""Create zarr arrays atomically: if a process dies, the array is absent, old or complete."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from contextlib import closing, contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.storage import storage_of
from gathercli.errors import GatherError, TransferError, reason_of
from gathercli.io.folders import Folder, lies_in, walk
from gathercli.io.formats.content import malformed
from gathercli.io.stream import temporary_name
from gathercli.io.write import EXISTS, OUTSIDE, AtomicOutput, bad_folder, is_stream, real_path, sync
from gathercli.io.zarr import metadata
from gathercli.io.zarr.arrayspec import ArraySpec, zero_fill
from gathercli.io.zarr.chunkfiles import ChunkCodec
from gathercli.io.zarr.stored import Node, ZarrArray
from gathercli.spec.dtypes import STRING, DType
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.tensor import ChunkedTensor
    from gathercli.io.zarr.arrayspec import Codec


_REMOVE_TRIES: Final = 10  # attempts to remove a folder into which a thread may still be writing
# The default codec of the package zarr.
_DEFAULT_CODEC: Final[Codec] = {"name": "zstd", "level": 0, "checksum": False}
_WORKING_FOLDER: Final = -100  # AT_FDCWD
_EXCHANGE_FLAG: Final = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
# The most files of an array that are checked before the work; all are when it is replaced.
MAX_CHECKED_NAMES: Final = 20_000

# The names of metadata and chunks.
_OWN_NAMES: Final = re.compile(
    r"zarr\.json|\.z(array|attrs|metadata)|c([./]\d+)*|\d+([./]\d+)*", re.ASCII
)


class Creation(AtomicOutput):
    """An output that is an array; an existing array is replaced, anything else is an error."""

    def _find_target(self) -> None:
        self.temporary = self._old = ""
        self._own: os.stat_result | None = None
        # Whether `commit` renamed the array; another run may have replaced it since.
        self._renamed = False
        self._target = self._resolve()
        if self._within is not None and not lies_in(self._target, self._within):
            raise self._unwritable(*OUTSIDE)
        self._check_target(MAX_CHECKED_NAMES)

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

        The sizes of a chunk are at least 1. The new array has the version, codecs, order and chunk
        names of `source`, if that is a zarr array, and on demand its attributes and dimension
        names. `storage` includes the width of strings; None for that of `source`. Raise InputError
        (``dtype``) if zarr lacks the type.
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
            sync(self.folder)

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
            sync(os.path.join(folder, name))
        sync(folder)


def _choose_file_dtype(
    dtype: DType, like: ZarrArray | None, storage: np.dtype[Any] | None
) -> np.dtype[Any]:
    """Choose the numpy dtype of the elements in the files."""
    if dtype.opaque:
        raise malformed(
            f"zarr has no type {dtype}", "another type of data", rule="dtype", value=dtype.name
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
            ({"name": "bytes", "endian": _endian(file_dtype)}, _DEFAULT_CODEC),
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
    name = metadata.VERSIONS[like.spec.version].attributes
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
            if Node.of_path(folder):
                return folder
        path = folder
    return None


def obstacle(path: str, most: int | None = None) -> str | None:
    """Return why a file or folder must not be replaced; None for a pure array.

    At most `most` files are checked; None for all.
    """
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
