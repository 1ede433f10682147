"""What an array in chunks is, as its metadata say; both versions of the format in one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.arrays.chunks import ChunkLayout
from gathercli.arrays.tensor import storage_of
from gathercli.io.formats.content import Layout
from gathercli.spec.dtypes import BOOL, STRING, DType, Kind
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.arrays.chunks import Box
    from gathercli.arrays.tensor import AnyArray

Codec = dict[str, Any]
"""The name of a codec, with the key ``name``, and what the codec is told."""

SLACK: Final = 1 << 10
"""Bytes by which headers and sums may lengthen a chunk."""


class ArraySpec(NamedTuple):
    """What the metadata of an array says.

    Attributes
    ----------
    version
        2 or 3.
    dtype, held, shape
        The type, as numpy holds it in the files, and the sizes of the dimensions.
    grid, chunks
        Sizes of what one file holds, and of what is read at once: less, in a shard.
    codecs
        In the order of writing, each with the key ``name``; in version 2 the filters, then the
        compressor, in version 3 those of the chunks, whether they lie in shards or not.
    fill
        What the elements of an absent chunk are, as the file says it; None for zero.
    order
        Version 2: ``C`` or ``F``.
    keys, separator
        How the files are named: ``default`` or ``v2``, with ``.`` or ``/``.
    shard_index, index_first
        The codecs of a shard's index, and whether it comes before the chunks.
    attributes, names
        Version 3: what the user says of the array, and the names of its dimensions.
    """

    version: int
    dtype: DType
    held: np.dtype[Any]
    shape: tuple[int, ...]
    grid: tuple[int, ...]
    chunks: tuple[int, ...]
    codecs: tuple[Codec, ...]
    fill: Any
    order: str = "C"
    keys: str = "v2"
    separator: str = "."
    shard_index: tuple[Codec, ...] = ()
    index_first: bool = False
    attributes: dict[str, Any] | None = None
    names: list[str | None] | None = None

    @property
    def sharded(self) -> bool:
        """Whether a file holds several chunks, or may."""
        return bool(self.shard_index)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return product(self.shape) * self.held.itemsize

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of the elements of a chunk."""
        return product(self.chunks) * self.held.itemsize

    @property
    def inner(self) -> tuple[int, ...]:
        """How many chunks a file holds, along each dimension."""
        return tuple(whole // part for whole, part in zip(self.grid, self.chunks, strict=True))

    @property
    def index_nbytes(self) -> int:
        """Bytes of the index of a shard."""
        sums = sum(codec["name"] == "crc32c" for codec in self.shard_index)
        return 16 * product(self.inner) + 4 * sums if self.sharded else 0

    @property
    def packed(self) -> int:
        """Bytes that no sound chunk exceeds: codecs may add a little to what cannot be reduced."""
        return self.chunk_nbytes + self.chunk_nbytes // 8 + SLACK

    @property
    def most(self) -> int:
        """Bytes that no sound file exceeds."""
        return self.packed * (product(self.inner) if self.sharded else 1) + self.index_nbytes

    @property
    def fortran(self) -> bool:
        """Whether the first dimension varies fastest in the files."""
        ranked = list(range(len(self.shape)))
        return self.order == "F" or any(
            codec["name"] == "transpose" and codec["order"] == ranked[::-1] != ranked
            for codec in self.codecs
        )

    @property
    def plain(self) -> bool:
        """Whether a file holds the elements of a chunk as they are, row-major."""
        packed = any(codec["name"] != "bytes" for codec in self.codecs)
        return not (packed or self.sharded or self.order == "F" or self.dtype is STRING)

    @property
    def steps(self) -> tuple[Codec, ...]:
        """The codecs from elements to bytes; those of version 2 begin as version 3 says it."""
        if self.version == 3:
            return self.codecs
        axes = list(range(len(self.shape)))[::-1]
        ordered = ({"name": "transpose", "order": axes},) if self.order == "F" else ()
        return (*ordered, {"name": "bytes"}, *self.codecs)

    @property
    def words(self) -> str:
        """The codecs in a few words."""
        words = (_words(codec) for codec in self.codecs if codec["name"] != "bytes")
        return "+".join(words) or "none"

    @property
    def layout(self) -> Layout:
        """How the elements lie in the files."""
        shards = self.grid if self.sharded else None
        chunked = ChunkLayout(self.version, self.chunks, shards, self.words)
        return Layout(self.dtype, self.shape, self.held, 0, self.fortran, chunked)

    def filled(self, sizes: Sequence[int]) -> AnyArray:
        """Make elements of absent chunks, in native byte order."""
        held = self.held.newbyteorder("=")
        if self.fill is None:
            return np.zeros(sizes, held)
        with np.errstate(over="ignore"):  # it may be too large for the type
            return np.full(sizes, fill_value(self.fill, self.dtype), held)

    def inside(self, part: Box) -> Box:
        """Return a part of one chunk by the coordinates it has there."""
        firsts = (start // size * size for (start, _), size in zip(part, self.chunks, strict=True))
        return tuple((a - at, b - at) for (a, b), at in zip(part, firsts, strict=True))

    def key(self, place: Sequence[int]) -> str:
        """Name the file of the chunk, or shard, at `place` in the grid, in the folder."""
        words = [str(each) for each in place]
        if self.keys == "default":
            return self.separator.join(["c", *words])
        return self.separator.join(words) or "0"


def _words(codec: Codec) -> str:
    """Name a codec, and the parts of one that has some."""
    if codec["name"] != "blosc":
        return str(codec["name"])
    shuffle = codec.get("shuffle", 0)
    if isinstance(shuffle, int):
        shuffle = {1: "shuffle", 2: "bitshuffle", -1: "autoshuffle"}.get(shuffle, "noshuffle")
    return f"blosc({codec['cname']})" + ("" if shuffle == "noshuffle" else f"+{shuffle}")


def fill_value(value: Any, dtype: DType) -> Any:
    """Return the element that a fill value of the metadata says; see `zero` for the other way.

    Raises
    ------
    ValueError, OverflowError
        It says none.
    """
    if dtype is STRING:
        if isinstance(value, str):
            return value
    elif dtype.kind is Kind.COMPLEX:
        if isinstance(value, list) and len(value) == 2:
            return complex(_number(value[0]), _number(value[1]))
    elif dtype.kind is Kind.FLOAT:
        return _number(value)
    elif isinstance(value, bool | int) or (isinstance(value, float) and value.is_integer()):
        return np.array(int(value), np.int8 if dtype is BOOL else storage_of(dtype))[()]
    raise ValueError("no value of the type")


def _number(value: Any) -> Any:
    """Return a real number, which is a word or the digits of its bits where JSON has none."""
    if isinstance(value, str) and value.startswith("0x") and len(value) in (6, 10, 18):
        return np.frombuffer(bytes.fromhex(value[2:]), f">f{len(value) // 2 - 1}")[0]
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, bool | int | float):
        return float(value)
    raise ValueError("no number")


def zero(dtype: DType) -> Any:
    """Return the fill value of a new array, as the metadata says it."""
    if dtype is STRING:
        return ""
    if dtype is BOOL:
        return False
    return [0.0, 0.0] if dtype.kind is Kind.COMPLEX else 0
