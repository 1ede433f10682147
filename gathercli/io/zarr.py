"""The format zarr, versions 2 and 3: folders of chunks, read and written with the `zarr` package.

The package reads and writes chunks. Outside it: metadata, which is checked before the package
sees it, and which alone tells what an array is; and the bounds that no chunk may exceed.
"""

from __future__ import annotations

import json as stdlib_json
import os
import shlex
import shutil
from collections import Counter
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli.core.dtypes import BFLOAT16, STRING, DType, Tensor
from gathercli.core.text import clean, closest, short, some
from gathercli.core.tiles import everything, sizes, slices, tiled
from gathercli.errors import GatherError, InputError, LimitError, OutputError, TransferError
from gathercli.io import zarrmeta
from gathercli.io.files import Folder
from gathercli.io.foreign import install, missing
from gathercli.io.npy import check_strings
from gathercli.io.write import is_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType, TracebackType

    import numpy as np

    from gathercli.core.dtypes import AnyArray
    from gathercli.core.tiles import Box
    from gathercli.io.content import Layout
    from gathercli.io.zarrmeta import Spec

MAX_MEMBERS: Final = 10_000
"""Arrays and groups of a group that are accepted."""

_TRIES: Final = 10
"""How often a folder is removed into which a thread may still be writing."""

_ZSTD: Final[dict[str, Any]] = {"name": "zstd", "level": 0, "checksum": False}
"""How zarr itself packs a new array."""


def _refused(what: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(f"{what}: expected {expected}", rule="format", expected=expected, hint=hint)


def _engine() -> ModuleType:
    """Import what reads and writes chunks.

    Raises
    ------
    InputError
        ``format``: the package is not installed.
    """
    try:
        from gathercli.io import zarrcodecs
    except ImportError:
        raise InputError(missing("zarr"), rule="format", hint=install("zarr")) from None
    return zarrcodecs


# Reading


class Zarr:
    """A zarr folder; `format` and the members are those of `content.Content`."""

    format = "zarr"

    def __init__(self, folder: Folder) -> None:
        """Read the metadata of the folder itself."""
        self._folder = folder
        self._path = folder.path
        self._root = _Node.at(folder, self._path)
        if self._root is None:
            raise _refused("the folder has no metadata", "a zarr array or group")

    @cached_property
    def names(self) -> Sequence[str] | None:
        """The names of the arrays in a group; None for an array."""
        if self._root is None or self._root.is_array:
            return None
        return sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        """Yield the names of the arrays in a group, and in the groups in it."""
        groups, seen = [""], 0
        while groups:
            group = groups.pop()
            with os.scandir(os.path.join(self._path, group)) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        continue
                    name = f"{group}/{entry.name}" if group else entry.name
                    try:
                        node = _Node.at(self._folder, entry.path)
                    except GatherError:
                        yield name  # who asks for it is told what is wrong
                        continue
                    if node is None:
                        continue
                    seen += 1
                    if seen > MAX_MEMBERS:
                        raise LimitError(
                            f"the group has more than {MAX_MEMBERS} members: expected at most that",
                            rule="limit",
                            value=seen,
                        )
                    if node.is_array:
                        yield name
                    else:
                        groups.append(name)

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Describe an array by its metadata."""
        del declared  # the metadata name the type
        return self._node(key)[1].layout

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Read all of an array.

        Raises
        ------
        LimitError
            ``limit``: it is larger than what may be held.
        """
        del declared, empty
        size, limit, tick = self._node(key)[1].nbytes, self._folder.limit, self._folder.tick
        if limit is not None and size > limit:
            raise LimitError.over(
                f"the array has {size} bytes to be held in memory",
                size,
                limit,
                instead="`info --header` describes it without reading it",
            )
        stored = self.tiles(key)
        progress = None if tick is None else lambda done: tick("read", done, size)
        return Tensor(stored.dtype, stored.read(everything(stored.shape), progress))

    def tiles(self, key: str | None) -> Stored:
        """Open an array to be read box by box.

        Raises
        ------
        LimitError
            ``limit``: a chunk is larger than what may be held.
        """
        path, spec = self._node(key)
        limit = self._folder.limit
        needed = max(spec.chunk_nbytes, spec.index_nbytes)
        if limit is not None and needed > limit:
            raise LimitError.over(
                f"a chunk of the array has {needed} bytes to be held in memory", needed, limit
            )
        name = self._folder.name if path == self._path else f"{self._folder.name}#{key}"
        return Stored(name, path, spec)

    def _node(self, key: str | None) -> tuple[str, Spec]:
        """Find the array `key`, or the only one."""
        if self._root is not None and self._root.is_array:
            if key is not None:
                raise _refused(
                    f"the folder is one array and has no member `{clean(key)}`", "no key"
                )
            return self._path, self._root.spec
        names = self.names or ()
        if key is None and len(names) == 1:
            key = names[0]
        if key is None or key not in names:
            near = closest(key, names) if key else next(iter(names), None)
            raise _refused(
                "the group has "
                + (some(f"`{clean(name)}`" for name in names) if names else "no arrays"),
                f"the array `{clean(short(key))}`" if key else "the name of one",
                f"name the array: `{shlex.quote(f'{self._folder.name}#{near}')}`" if near else None,
            )
        path = os.path.join(self._path, key)
        node = _Node.at(self._folder, path)
        if node is None or not node.is_array:
            raise _refused(f"`{clean(key)}` is no array any more", "it to stay as it was")
        return path, node.spec


class _Node:
    """An array or a group: a folder with metadata."""

    def __init__(self, version: int, document: dict[str, Any], *, is_array: bool) -> None:
        self._version, self._document, self.is_array = version, document, is_array

    @classmethod
    def at(cls, folder: Folder, path: str) -> _Node | None:
        """Read the metadata of the folder at `path`; None if it has none."""
        for name, version in (("zarr.json", 3), (".zarray", 2), (".zgroup", 2)):
            file = os.path.join(path, name)
            if not os.path.lexists(file):
                continue
            document = zarrmeta.document(folder, file)
            if version == 2:
                return cls(2, document, is_array=name == ".zarray")
            kind = document.get("node_type")
            if kind not in ("array", "group"):
                raise _refused(
                    f"the node_type of `{name}` is {clean(short(repr(kind)))}", "array or group"
                )
            return cls(3, document, is_array=kind == "array")
        return None

    @cached_property
    def spec(self) -> Spec:
        """What the metadata of an array says."""
        return zarrmeta.parse(self._document, self._version)


class Stored:
    """An array in chunks; the members are those of `core.tiles.Tiles`, and more.

    Several threads may read it at once.

    Attributes
    ----------
    name, path
        How the user calls it, and its folder.
    reads
        How often each chunk was read, by its place in the grid of chunks.
    """

    def __init__(self, name: str, path: str, spec: Spec) -> None:
        self.name, self.path, self.spec = name, path, spec
        self.reads: Counter[tuple[int, ...]] = Counter()
        self._lock = Lock()
        self._made: Any = None

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.spec.shape

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
        NoInputError
            ``unreadable``.
        """
        import numpy as np

        shape = sizes(box)
        if 0 in shape:
            return np.empty(shape, self.storage)
        made = self._array()
        with self._lock:
            self.reads.update(_places(box, self.chunks))
        done = 0
        out: AnyArray | None = None
        for part in tiled(box, self.spec.grid):
            found = self._part(made, part)
            if part == box:
                out = found
            else:
                if out is None:
                    out = np.empty(shape, self.storage)
                begins = tuple(
                    (start - first, stop - first)
                    for (start, stop), (first, _) in zip(part, box, strict=True)
                )
                out[slices(begins)] = found
            done += found.nbytes
            if progress is not None:
                progress(done)
        return np.empty(shape, self.storage) if out is None else out

    def _array(self) -> Any:
        """Return the array of the package, made when it is first read."""
        with self._lock:
            if self._made is None:
                self._made = _engine().array(self.spec, self.path, self.name)
            return self._made

    def _part(self, made: Any, box: Box) -> AnyArray:
        """Read what lies in one file."""
        import numpy as np

        from gathercli.io import zarrcodecs

        place = [start // size for (start, _), size in zip(box, self.spec.grid, strict=True)]
        key = self.spec.key(place)
        # zarr takes a millisecond to find that a file is absent, and there may be many.
        if not os.path.lexists(os.path.join(self.path, key)):
            return zarrcodecs.fill(self.spec, made, sizes(box))
        try:
            found = np.asarray(made[slices(box)]).astype(self.storage, copy=False)
            if self.dtype is STRING:
                check_strings(found, rule="format")
        except (GatherError, MemoryError) as error:
            if isinstance(error, InputError):
                error.within(f"the chunk `{clean(key)}`")
            raise
        except Exception as error:
            raise InputError(
                f"the chunk `{clean(f'{self.name}/{key}')}` cannot be read "
                f"({zarrcodecs.reason(error)}): "
                f"expected {self.chunk_nbytes} bytes of elements, packed by {self.codecs}",
                rule="format",
                where=key,
            ) from error
        return found


def _places(box: Box, chunks: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the places of the chunks that a box meets, in the grid of chunks."""
    for part in tiled(box, chunks):
        yield tuple(start // size for (start, _), size in zip(part, chunks, strict=True))


# Writing


class Creation:
    """One new array, used as a context: nothing remains of it unless `commit` was reached.

    Parameters
    ----------
    path
        Its folder. An array that has the name is replaced; nothing else is.
    no_clobber
        Whether an array that has the name is left alone.

    Raises
    ------
    OutputError
        ``output``: the target cannot be created.
    """

    def __init__(self, path: str, *, no_clobber: bool = False) -> None:
        self.path, self._no_clobber = path, no_clobber
        self._target = path.rstrip("/")
        self._made: list[str] = []
        self.temporary = ""
        self._check_target()

    def _check_target(self) -> None:
        """Refuse what cannot be replaced."""
        target = self._target
        if not target:
            raise self._refused("the name is empty", "the name of a folder")
        try:
            if is_stream(target):
                raise self._refused("it is a device or a pipe", "the name of a folder")
            if os.path.islink(target):
                raise self._refused("it is a symbolic link", "the name of a folder")
            if not os.path.lexists(target):
                return
            if self._no_clobber:
                raise self._refused(
                    "it exists", "a new name", "without `--no-clobber` it would be replaced"
                )
            if not os.path.isdir(target):
                raise self._refused("it is a file", "a new name, or a zarr array to replace")
            if not _is_array(target):
                raise self._refused(
                    "it is a folder, and no zarr array", "a new name, or a zarr array to replace"
                )
        except (OSError, ValueError) as error:
            if isinstance(error, GatherError):
                raise
            raise self._refused(_reason(error), "a folder that can be written") from None

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
        like: Stored | None = None,
        *,
        storage: np.dtype[Any] | None = None,
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

        Raises
        ------
        InputError
            ``dtype``: the format has no such type.
        OutputError
            ``output``.
        """
        held = _held(dtype, like, storage)
        spec = _planned(tuple(shape), dtype, held, tuple(chunks), like)
        _engine()
        folder, name = os.path.split(self._target)
        short_name = os.fsdecode(os.fsencode(name)[:200])
        self.temporary = os.path.join(folder, f".{short_name}.{os.urandom(6).hex()}.tmp")
        self._made.append(self.temporary)  # known before it is there: a signal may come
        file, document = zarrmeta.described(spec)
        try:
            os.mkdir(self.temporary)
            with open(os.path.join(self.temporary, file), "x", encoding="utf-8") as out:
                stdlib_json.dump(document, out, indent=2)
        except OSError as error:
            raise self._refused(_reason(error), "a folder that can be written") from None

    def commit(self) -> None:
        """Give the array its name, replacing the one that had it."""
        self._check_target()
        old = f"{self.temporary.removesuffix('.tmp')}.old.tmp"
        try:
            if not os.path.lexists(self._target):
                os.rename(self.temporary, self._target)
                self._made.clear()
                return
            self._replace(old)
        except OSError as error:
            raise TransferError(
                f"`{clean(self.path)}` could not be finished ({_reason(error)})", rule="output"
            ) from None
        self._made[:] = [old]

    def _replace(self, old: str) -> None:
        """Put the new array in the place of the old one, which comes back if that fails."""
        try:
            os.rename(self._target, old)
            os.rename(self.temporary, self._target)
        except BaseException:
            if os.path.lexists(old) and not os.path.lexists(self._target):
                os.rename(old, self._target)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._remove()
        except BaseException:  # a signal, before all was removed
            self._remove()
            raise

    def _remove(self) -> None:
        for path in self._made:
            for _ in range(_TRIES):  # a thread may still be writing a chunk
                if not os.path.lexists(path):
                    break
                shutil.rmtree(path, ignore_errors=True)


class Writer:
    """An array that is being created, to which several threads may write at once."""

    def __init__(self, path: str, spec: Spec) -> None:
        self._path, self._spec = path, spec
        self._made = _engine().array(spec, path, path, writes=True)

    def write(self, box: Box, block: AnyArray) -> None:
        """Write a box that consists of whole chunks, or ends where the array does.

        Raises
        ------
        TransferError
            ``output``: the writing was stopped.
        """
        from gathercli.io import zarrcodecs

        if 0 in sizes(box):
            return
        try:
            self._made[slices(box)] = block
        except OSError as error:
            if isinstance(error, GatherError):
                raise
            raise TransferError(
                f"writing stopped ({_reason(error)}), the output is not complete", rule="output"
            ) from None
        except (ValueError, TypeError, RuntimeError) as error:
            raise TransferError(
                f"zarr cannot write a chunk ({zarrcodecs.reason(error)}), "
                "the output is not complete",
                rule="output",
            ) from error


def writer(path: str) -> Writer:
    """Open an array that `Creation` made at `path`, perhaps in another process."""
    node = _Node.at(Folder(path, path, None), path)
    if node is None or not node.is_array:
        raise TransferError(f"`{clean(path)}` is gone: expected the new array", rule="output")
    return Writer(path, node.spec)


def _is_array(path: str) -> bool:
    """Tell whether a folder is a zarr array, so that another may replace it."""
    try:
        node = _Node.at(Folder(path, path, None), path)
    except (GatherError, OSError):
        return False
    return node is not None and node.is_array


def _held(dtype: DType, like: Stored | None, storage: np.dtype[Any] | None) -> np.dtype[Any]:
    """Choose the numpy dtype of a new array."""
    if dtype is BFLOAT16:
        raise InputError(
            "zarr has no type bfloat16: expected another type of data",
            rule="dtype",
            value=dtype.name,
        )
    if storage is None and like is not None and like.dtype is dtype:
        return like.spec.held
    held = dtype.storage() if storage is None else storage
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
    like: Stored | None,
) -> Spec:
    """Say what a new array is."""
    fill = zarrmeta.zero(dtype)
    if like is None:
        packed = ({"name": "bytes", "endian": _endian(held)}, _ZSTD)
        return zarrmeta.Spec(
            3, dtype, held, shape, chunks, chunks, packed, fill, keys="default", separator="/"
        )
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


def _endian(held: np.dtype[Any]) -> str:
    return "big" if held.str[0] == ">" else "little"


def _adapted(
    codec: dict[str, Any], held: np.dtype[Any], rank: int, like: Stored
) -> dict[str, Any] | None:
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


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
