"""Atomic writes of zarr arrays: one is absent, old or complete, whichever process dies."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli.arrays.tensor import storage_of
from gathercli.errors import GatherError, InputError, OutputError, TransferError, reason_of
from gathercli.io.folders import Folder
from gathercli.io.links import lies_in
from gathercli.io.write import OUTSIDE, is_stream, persist
from gathercli.io.zarr import metadata
from gathercli.io.zarr.arrayspec import ArraySpec, zero
from gathercli.io.zarr.codecs import ChunkCodec
from gathercli.io.zarr.target import LOOKED, around, kept, settled
from gathercli.spec.dtypes import STRING, DType
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    import numpy as np

    from gathercli.io.zarr.arrayspec import Codec
    from gathercli.io.zarr.stored import ZarrArray

_TRIES: Final = 10
"""How often a folder is removed into which a thread may still be writing."""

_ZSTD: Final[Codec] = {"name": "zstd", "level": 0, "checksum": False}
"""How zarr itself packs a new array."""


class Creation:
    """One new array, used as a context: nothing remains of it unless `commit` was reached.

    Parameters
    ----------
    path
        Its folder. An array that has the name is replaced; nothing else is.
    no_clobber
        Whether an array that has the name is left alone.
    fsync
        Whether the chunks, and then the name, are on the disk before `commit` returns.
    within
        The real path of a folder out of which no link may lead; None for any place.

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
        self.temporary = self._old = ""
        self._own: os.stat_result | None = None
        self._had_name = False
        """Whether it got the name, which another run may have taken since."""
        self._target = self._settled()
        if within is not None and not lies_in(self._target, within):
            raise self._refused(*OUTSIDE)
        self._check_target(LOOKED)

    @property
    def folder(self) -> str:
        """The folder that it lies in."""
        return os.path.dirname(self._target)

    def _settled(self) -> str:
        """Find out once where the array goes: what is looked at and renamed is then the same."""
        if not self.path:
            raise self._refused("the name is empty", "the name of a folder")
        try:
            if is_stream(self.path.rstrip("/")):
                raise self._refused("it is a device or a pipe", "the name of a folder")
            target = settled(self.path)
        except (OSError, ValueError) as error:
            if isinstance(error, GatherError):
                raise
            raise self._refused(reason_of(error), "a folder that can be written") from None
        if not os.path.basename(target):
            raise self._refused("its last part names no folder", "the name of a folder")
        array = around(target)
        if array is not None:
            raise self._refused(f"it lies in the array `{clean(array)}`", "a place outside of it")
        return target

    def _check_target(self, most: int | None = None) -> None:
        """Refuse what cannot be replaced, looking at so many of its files."""
        target = self._target
        try:
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
            why = kept(target, most)
            if why is not None:
                raise self._refused(why, "a new name, or a zarr array to replace")
        except (OSError, ValueError) as error:
            if isinstance(error, GatherError):
                raise
            raise self._refused(reason_of(error), "a folder that can be written") from None

    def _refused(self, why: str, expected: str, hint: str | None = None) -> OutputError:
        return OutputError(
            f"`{clean(self.path)}` cannot be written ({why}): expected {expected}",
            rule="output",
            value=self.path,
            hint=hint,
        )

    def open(
        self,
        shape: Sequence[int],
        dtype: DType,
        chunks: Sequence[int],
        like: ZarrArray | None = None,
        *,
        storage: np.dtype[Any] | None = None,
        same: bool = False,
    ) -> None:
        """Make the array, without a chunk, in a hidden folder beside the target.

        Parameters
        ----------
        shape, dtype, chunks
            What it is; a chunk has a size from 1 on along each dimension.
        like
            The array whose version, codecs, order and names of files it takes.
        storage
            The numpy dtype, where that is not the one of `like`: of strings, for their width.
        same
            Whether it is the tensor of `like`, whose attributes it then keeps.

        Raises
        ------
        InputError
            ``dtype``: the format has no such type.
        OutputError
            ``output``.
        """
        held = _held(dtype, like, storage)
        spec = _planned(tuple(shape), dtype, held, tuple(chunks), like)
        ChunkCodec(spec)  # its packages are there, or nothing is made
        folder, name = os.path.split(self._target)
        short_name = os.fsdecode(os.fsencode(name)[:200])
        # Known before it is there: a signal may come.
        self.temporary = os.path.join(folder, f".{short_name}.{os.urandom(6).hex()}.tmp")
        if not same:
            spec = spec._replace(attributes=None, names=None)
        documents = dict([metadata.described(spec)])
        if same and like is not None:
            documents |= _attributes(like)
        try:
            os.mkdir(self.temporary)
            if os.path.realpath(self.temporary) != self.temporary:
                raise self._refused("a link has come in the way", "its folder to stay as it was")
            self._own = os.stat(self.temporary)
            for name, document in documents.items():
                with open(os.path.join(self.temporary, name), "x", encoding="utf-8") as out:
                    json.dump(document, out, indent=2)
        except OSError as error:
            if isinstance(error, GatherError):
                raise
            raise self._refused(reason_of(error), "a folder that can be written") from None

    def commit(self) -> None:
        """Give the array its name, replacing the one that had it.

        Raises
        ------
        OutputError
            ``output``: what has the name now, or anything in it, is no array or a part of one.
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
            if not self._had_name:
                os.rename(self.temporary, self._target)
                self._had_name = True
            if self._fsync:
                _sync_one(self.folder)
        except OSError as error:
            raise TransferError(
                f"`{clean(self.path)}` could not be finished ({reason_of(error)})", rule="output"
            ) from None

    def _swap(self) -> bool:
        """Take the place of the old array in one step, if the file system can; then it goes."""
        from gathercli.io.swap import swapped

        self._had_name = swapped(self.temporary, self._target)
        return self._had_name

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
        """Remove what has no name that anyone knows; the old array, unless it must come back."""
        try:
            if self._old and os.path.lexists(self._old):
                if self._had_name or self._has_name():  # after a signal only the latter is known
                    _remove(self._old)
                else:
                    self._restore()
        finally:
            if self.temporary:
                _remove(self.temporary)

    def _has_name(self) -> bool:
        """Tell whether what has the name is this array, and not that of another run."""
        try:
            return self._own is not None and os.path.samestat(self._own, os.stat(self._target))
        except OSError:
            return False

    def _restore(self) -> None:
        """Give the old array its name back.

        Raises
        ------
        TransferError
            ``output``: it keeps the name that it has, which the message tells.
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
        except OSError as error:  # it closes a folder again that was closed when a signal came
            if isinstance(error.__context__, KeyboardInterrupt | SystemExit):
                raise error.__context__ from None
            raise


def _sync(path: str) -> None:
    """Have all that is under a folder on the disk."""
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


def _held(dtype: DType, like: ZarrArray | None, storage: np.dtype[Any] | None) -> np.dtype[Any]:
    """Choose the numpy dtype of a new array."""
    if dtype.opaque:
        raise InputError(
            f"zarr has no type {dtype}: expected another type of data",
            rule="dtype",
            value=dtype.name,
        )
    if storage is None and like is not None and like.dtype is dtype:
        return like.spec.held
    held = storage_of(dtype) if storage is None else storage
    if like is not None and like.spec.held.newbyteorder("=") == held.newbyteorder("="):
        return like.spec.held
    if dtype is STRING and held.itemsize == 0:
        import numpy as np

        return np.dtype("U1")
    return held.newbyteorder("<") if held.itemsize > 1 else held


def _planned(
    shape: tuple[int, ...],
    dtype: DType,
    held: np.dtype[Any],
    chunks: tuple[int, ...],
    like: ZarrArray | None,
) -> ArraySpec:
    """Say what a new array is."""
    fill = zero(dtype)
    if like is None:
        packed = ({"name": "bytes", "endian": _endian(held)}, _ZSTD)
        return ArraySpec(
            3, dtype, held, shape, chunks, chunks, packed, fill, keys="default", separator="/"
        )
    if dtype is like.dtype:
        fill = like.spec.fill
    codecs = tuple(_adapted(codec, held, len(shape), like) for codec in like.spec.codecs)
    return like.spec._replace(
        dtype=dtype,
        held=held,
        shape=shape,
        grid=chunks,
        chunks=chunks,
        codecs=tuple(codec for codec in codecs if codec is not None),
        fill=fill,
        shard_index=(),
        index_first=False,
    )


def _attributes(like: ZarrArray) -> dict[str, Any]:
    """Read attributes that have a file of their own, by its name."""
    path = os.path.join(like.path, ".zattrs")
    if like.version != 2 or not os.path.lexists(path):
        return {}
    return {".zattrs": metadata.document(Folder(like.name, like.path, None), path)}


def _endian(held: np.dtype[Any]) -> str:
    return "big" if held.str[0] == ">" else "little"


def _adapted(codec: Codec, held: np.dtype[Any], rank: int, like: ZarrArray) -> Codec | None:
    """Fit a codec to another type or rank; None where it makes no sense for that."""
    name = codec["name"]
    if name == "bytes":
        return codec | {"endian": _endian(held)}
    if name == "transpose" and len(codec["order"]) != rank:
        return {"name": name, "order": list(range(rank))[::-1]} if like.spec.fortran else None
    if held != like.spec.held:
        if name == "delta":
            return None
        key = "elementsize" if name == "shuffle" else "typesize"
        if key in codec:
            return codec | {key: min(held.itemsize, 255)}
    return codec
