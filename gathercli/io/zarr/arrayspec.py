"""The metadata of an array, the same for both versions of the format, and checks of its members."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np

from gathercli.compute.chunks import ChunkLayout
from gathercli.compute.storage import storage_of
from gathercli.io.formats.content import Layout, malformed
from gathercli.spec.dtypes import BOOL, DTYPES, STRING, DType, Kind
from gathercli.spec.shapes import LARGEST, product
from gathercli.text import clean, counted, listed, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray


Codec = dict[str, Any]  # the name of a codec, under the key ``name``, and its options
SLACK_BYTES: Final = 1 << 10  # bytes that headers and checksums may add to a chunk
# The types that have a plain name in version 3.
PLAIN_TYPES: Final = {each.name: each for each in DTYPES if not each.opaque and each is not STRING}


class ArraySpec(NamedTuple):
    """The metadata of an array."""

    version: int  # of the format: 2 or 3
    dtype: DType
    file_dtype: np.dtype[Any]  # of the elements in the files
    shape: tuple[int, ...]
    grid: tuple[int, ...]  # the shape of a file, and
    chunks: tuple[int, ...]  # of a chunk; they differ for a shard
    # of a chunk, in the order of encoding; in version 2 the filters and the compressor
    codecs: tuple[Codec, ...]
    fill: Any  # the fill value as JSON; None for zero
    order: str = "C"  # the memory order of version 2, ``C`` or ``F``
    key_encoding: str = "v2"  # of chunk files: ``default`` or ``v2``,
    separator: str = "."  # with ``.`` or ``/``
    shard_index: tuple[Codec, ...] = ()  # the codecs of the index of a shard,
    index_first: bool = False  # and whether it precedes the chunks
    attributes: dict[str, Any] | None = None  # the user's attributes,
    dimension_names: list[str | None] | None = None  # and the names of the dimensions, in version 3

    @property
    def sharded(self) -> bool:
        """Whether files are shards, each with an index of its chunks."""
        return bool(self.shard_index)

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return product(self.shape) * self.file_dtype.itemsize

    @property
    def chunk_nbytes(self) -> int:
        """The size of an unpacked chunk in bytes."""
        return product(self.chunks) * self.file_dtype.itemsize

    @property
    def chunks_per_file(self) -> tuple[int, ...]:
        """The number of chunks in a file along each dimension."""
        return tuple(whole // part for whole, part in zip(self.grid, self.chunks, strict=True))

    @property
    def index_nbytes(self) -> int:
        """The size of the index of a shard in bytes."""
        checksums = sum(codec["name"] == "crc32c" for codec in self.shard_index)
        return 16 * product(self.chunks_per_file) + 4 * checksums if self.sharded else 0

    @property
    def max_packed(self) -> int:
        """The largest valid packed chunk in bytes; incompressible data grow a little."""
        return self.chunk_nbytes + self.chunk_nbytes // 8 + SLACK_BYTES

    @property
    def max_file(self) -> int:
        """The largest valid file in bytes."""
        chunks = product(self.chunks_per_file) if self.sharded else 1
        return self.max_packed * chunks + self.index_nbytes

    @property
    def fortran(self) -> bool:
        """Whether the first dimension varies fastest in the files."""
        axes = list(range(len(self.shape)))
        return self.order == "F" or any(
            codec["name"] == "transpose" and codec["order"] == axes[::-1] != axes
            for codec in self.codecs
        )

    @property
    def plain(self) -> bool:
        """Whether files are unpacked chunks in row-major order."""
        packed = any(codec["name"] != "bytes" for codec in self.codecs)
        return not (packed or self.sharded or self.order == "F" or self.dtype is STRING)

    @property
    def pipeline(self) -> tuple[Codec, ...]:
        """The codecs from elements to bytes, with ``order`` as a transposition."""
        axes = list(range(len(self.shape)))[::-1]
        ordered = ({"name": "transpose", "order": axes},) if self.order == "F" else ()
        return (*ordered, *self.codecs)

    @property
    def codec_names(self) -> str:
        """A summary of the codecs: ``blosc(lz4)+shuffle``, ``none``."""
        return "+".join(_brief(each) for each in self.codecs if each["name"] != "bytes") or "none"

    @property
    def layout(self) -> Layout:
        """The layout of the elements in the files."""
        shards = self.grid if self.sharded else None
        chunked = ChunkLayout(self.version, self.chunks, shards, self.codec_names)
        return Layout(self.dtype, self.shape, self.file_dtype, 0, self.fortran, chunked)

    def fill_array(self, shape: Sequence[int]) -> AnyArray:
        """Return an array of the fill value, in native byte order."""
        dtype = self.file_dtype.newbyteorder("=")
        if self.fill is None:
            return np.zeros(shape, dtype)
        with np.errstate(over="ignore"):  # the value may be too large for the type
            return np.full(shape, parse_fill(self.fill, self.dtype), dtype)

    def inside_chunk(self, box: Box) -> Box:
        """Translate a box within one chunk to coordinates of the chunk."""
        return tuple(
            (start % size, stop - start + start % size)
            for (start, stop), size in zip(box, self.chunks, strict=True)
        )

    def key(self, coordinates: Sequence[int]) -> str:
        """Return the relative path of the chunk file at `coordinates` in the grid."""
        names = list(map(str, coordinates))
        if self.key_encoding == "default":
            return self.separator.join(["c", *names])
        return self.separator.join(names) or "0"


def _brief(codec: Codec) -> str:
    """Return the name of a codec; for blosc also its compressor and shuffle."""
    if codec["name"] != "blosc":
        return str(codec["name"])
    shuffle = codec.get("shuffle", 0)
    if isinstance(shuffle, int):
        shuffle = {1: "shuffle", 2: "bitshuffle", -1: "autoshuffle"}.get(shuffle, "noshuffle")
    return f"blosc({codec['cname']})" + ("" if shuffle == "noshuffle" else f"+{shuffle}")


def parse_fill(value: Any, dtype: DType) -> Any:
    """Convert a fill value from JSON; raise ValueError or OverflowError if it does not fit."""
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
    """Convert a JSON number, the name of a non-finite one, or the hex digits of its bits."""
    if isinstance(value, str) and value.startswith("0x") and len(value) in (6, 10, 18):
        return np.frombuffer(bytes.fromhex(value[2:]), f">f{len(value) // 2 - 1}")[0]
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, bool | int | float):
        return float(value)
    raise ValueError("no number")


def zero_fill(dtype: DType) -> Any:
    """Return the fill value of a new array, as JSON."""
    if dtype is STRING:
        return ""
    if dtype is BOOL:
        return False
    return [0.0, 0.0] if dtype.kind is Kind.COMPLEX else 0


def quote(value: object) -> str:
    """Format a value of the metadata for a message."""
    return clean(short(f"`{value}`" if isinstance(value, str) else dumps(value)))


def sizes(
    members: dict[str, Any], key: str, *, least: int, rank: int | None = None
) -> tuple[int, ...]:
    """Return the member `key`, a list of sizes of at least `least`."""
    value = members.get(key)
    if not isinstance(value, list) or not all(
        type(size) is int and least <= size <= LARGEST for size in value
    ):
        raise malformed(f"the {key} is {quote(value)}", f"a list of sizes from {least} on")
    if rank is not None and len(value) != rank:
        raise malformed(
            f"the {key} has {counted(len(value), 'size', exact=True)}", f"{rank}, as the shape has"
        )
    return tuple(value)


def one_of(
    members: dict[str, Any], key: str, words: tuple[str, ...], *, default: str | None = None
) -> str:
    """Return the member `key`, one of `words`."""
    value = members.get(key, default)
    if not isinstance(value, str) or value not in words:
        raise malformed(f"the {key} is {quote(value)}", listed(f"`{word}`" for word in words))
    return value


def name_and_options(value: object, key: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the configuration in an object, or a name without configuration."""
    if isinstance(value, str):
        return value, {}
    if isinstance(value, dict) and not value.keys() - {"name", "configuration", "must_understand"}:
        name, configuration = value.get("name"), value.get("configuration", {})
        if isinstance(name, str) and isinstance(configuration, dict):
            return name, configuration
    raise malformed(f"the {key} is {quote(value)}", "an object with a name and a configuration")


def refuse_type(value: object) -> NoReturn:
    """Raise for an unsupported element type."""
    expected = listed([*PLAIN_TYPES, "strings of a fixed width"])
    raise malformed(f"the type is {quote(value)}", expected, rule="dtype")


def fill_of(members: dict[str, Any], dtype: DType) -> Any:
    """Return the fill value, a valid element or null."""
    if "fill_value" not in members:
        raise malformed("the fill value is missing", f"one of {dtype}")
    value = members["fill_value"]
    try:
        if value is not None:
            parse_fill(value, dtype)
    except (ValueError, TypeError, OverflowError):
        raise malformed(f"the fill value is {quote(value)}", f"one of {dtype}") from None
    return value


def codec_of(
    name: str,
    options: dict[str, Any],
    names: Sequence[str],
    option_types: Mapping[str, Mapping[str, type]],
) -> Codec:
    """Check the name of a codec, and the types of its options if `option_types` has them."""
    if name not in names:
        raise malformed(f"the codec is {quote(name)}", listed(f"`{each}`" for each in names))
    if (types := option_types.get(name)) is not None:
        for key, option in options.items():
            if type(option) is not types.get(key):
                expected = listed(types, "and") if types else "nothing"
                raise malformed(
                    f"the codec `{name}` is told that {quote(key)} is {quote(option)}", expected
                )
    if name == "blosc":
        one_of(options, "cname", ("lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"))
    return {"name": name, **options}
