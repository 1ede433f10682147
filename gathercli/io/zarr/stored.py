"""Arrays in chunks, as the metadata describe them and the `zarr` package reads them."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from gathercli.arrays.chunks import inside, sizes, slices, tiled
from gathercli.errors import GatherError, InputError, LimitError
from gathercli.io.formats.foreign import install, missing
from gathercli.io.formats.npy import check_strings
from gathercli.io.links import check_place
from gathercli.io.zarr import meta
from gathercli.spec.dtypes import STRING, DType, described
from gathercli.spec.shapes import product
from gathercli.text import clean, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType
    from typing import TypeAlias

    import numpy as np

    from gathercli.arrays.chunks import Box
    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.files import Folder
    from gathercli.io.zarr.meta import Spec

    Note: TypeAlias = Callable[[str, os.stat_result | None], None]

MAX_CHUNKS: Final = 1 << 18
"""Chunks accepted in what is read at once: a few bytes of metadata may promise any number."""


def engine() -> ModuleType:
    """Import what reads and writes chunks.

    Raises
    ------
    InputError
        ``format``: the package is not installed.
    """
    try:
        from gathercli.io.zarr import codecs
    except ImportError:
        raise InputError(missing("zarr"), rule="format", hint=install("zarr")) from None
    return codecs


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
            document = meta.document(folder, file)
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
    def spec(self) -> Spec:
        """What the metadata of an array says."""
        return meta.parse(self._document, self._version)


class ZarrArray:
    """An array in chunks; the members are those of `core.tiles.ChunkedTensor`, and more.

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

    def __init__(self, name: str, path: str, spec: Spec, note: Note | None = None) -> None:
        self.name, self.path, self.spec, self._note = name, path, spec, note
        self.reads: Counter[tuple[int, ...]] = Counter()
        self._lock = Lock()
        self._made: Any = None
        self._absent = ""
        """The last folder in which a chunk was looked for and was not."""

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
        import numpy as np

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
        made = self._array()
        with self._lock:
            self.reads.update(_places(box, self.chunks))
        if _met(box, self.spec.grid) == 1:
            found = self._part(made, box)
            return engine().fill(self.spec, made, shape) if found is None else found
        out: AnyArray = engine().fill(self.spec, made, shape)
        done = 0
        for part in tiled(box, self.spec.grid):
            found = self._part(made, part)
            if found is None:
                continue
            out[slices(inside(part, box))] = found
            done += found.nbytes
            if progress is not None:
                progress(done)
        if progress is not None:
            progress(out.nbytes)
        return out

    def _array(self) -> Any:
        """Return the array of the package, made when it is first read."""
        with self._lock:
            if self._made is None:
                self._made = engine().array(self.spec, self.path, self.name, self._note)
            return self._made

    def _part(self, made: Any, box: Box) -> AnyArray | None:
        """Read what lies in one file; None if there is no such file."""
        place = [start // size for (start, _), size in zip(box, self.spec.grid, strict=True)]
        key = self.spec.key(place)
        # zarr takes a millisecond to find that a file is absent, and there may be many.
        path = os.path.join(self.path, key)
        import numpy as np

        from gathercli.io.zarr import codecs, shards

        try:
            if not os.path.lexists(path):
                self._check_absent(os.path.dirname(path))
                if self._note is not None:
                    self._note(path, None)
                return None
            plain: AnyArray | None = made.store.plain(key, box)
            if plain is not None:
                return plain.astype(self.storage, copy=False)
            with np.errstate(all="ignore"):  # the sums of a delta may overflow
                if shards.suits(self.spec):
                    some = shards.read(self.spec, made, key, box)
                    if some is None:
                        return None
                    found = some
                else:
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
                f"({codecs.reason(error)}): "
                f"expected {self.chunk_nbytes} bytes of elements, packed by {self.codecs}",
                rule="format",
                where=key,
            ) from error
        return found

    def _check_absent(self, folder: str) -> None:
        """Refuse to find nothing where a link leads out of the folder."""
        if folder != self._absent:
            check_place(os.path.realpath(folder), os.path.realpath(self.path))
            self._absent = folder


def _met(box: Box, chunks: Sequence[int]) -> int:
    """Count the chunks that a box meets."""
    spans = zip(box, chunks, strict=True)
    return product([(stop - 1) // size - start // size + 1 for (start, stop), size in spans])


def _places(box: Box, chunks: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the places of the chunks that a box meets, in the grid of chunks."""
    for part in tiled(box, chunks):
        yield tuple(start // size for (start, _), size in zip(part, chunks, strict=True))
