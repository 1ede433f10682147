"""What the metadata of a zarr array says, versions 2 and 3, checked before anything acts on it.

Read without the `zarr` package: a name in a file loads nothing. Only the codecs below are known,
and none of them runs code of a file or of a plugin.
"""

from __future__ import annotations

import os
import re
from json import dumps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from gathercli.arrays.chunks import ChunkLayout
from gathercli.arrays.tensor import dtype_of, storage_of
from gathercli.errors import InputError, LimitError
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.content import Layout, check_shape
from gathercli.io.links import open_in
from gathercli.spec.dtypes import BOOL, DTYPES, STRING, DType
from gathercli.spec.shapes import LARGEST, product
from gathercli.text import Overflow, clean, listed, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from gathercli.io.files import Folder

MAX_METADATA: Final = 16 << 20
"""Bytes of metadata accepted."""

MAX_INNER: Final = 1 << 15
"""Chunks of one shard accepted: a few bytes of metadata may promise any number."""

SLACK: Final = 1 << 10
"""Bytes by which headers and sums may lengthen a chunk."""

COMPRESSORS: Final = {2: ("blosc", "zstd", "gzip", "zlib", "lz4"), 3: ("blosc", "zstd", "gzip")}
"""The codecs that make bytes fewer, by version."""

FILTERS: Final = ("shuffle", "delta")
"""The filters of version 2."""

CODECS: Final = ("transpose", "bytes", "sharding_indexed", *COMPRESSORS[3], "crc32c")
"""The codecs of version 3."""

_BLOSC: Final = {"cname": str, "clevel": int, "blocksize": int, "typesize": int}
_OPTIONS: Final[dict[tuple[int, str], dict[str, type]]] = {
    (2, "blosc"): _BLOSC | {"shuffle": int},
    (3, "blosc"): _BLOSC | {"shuffle": str},
    (2, "zstd"): {"level": int, "checksum": bool},
    (3, "zstd"): {"level": int, "checksum": bool},
    (2, "gzip"): {"level": int},
    (3, "gzip"): {"level": int},
    (2, "zlib"): {"level": int},
    (2, "lz4"): {"acceleration": int},
    (3, "crc32c"): {},
}
"""What a compressor may be told, and the type of each."""

_FIXED: Final = {each.name: each for each in DTYPES if not each.opaque and each is not STRING}
_TEXT: Final = "fixed_length_utf32"
_TYPE: Final = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16|U[1-9]\d{0,8})", re.ASCII)
_KEYS: Final = {
    *("zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding"),
    *("fill_value", "codecs", "attributes", "storage_transformers", "dimension_names"),
}


class Spec(NamedTuple):
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
    codecs: tuple[dict[str, Any], ...]
    fill: Any
    order: str = "C"
    keys: str = "v2"
    separator: str = "."
    shard_index: tuple[dict[str, Any], ...] = ()
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
    def words(self) -> str:
        """The codecs in a few words."""
        said = (_said(codec) for codec in self.codecs if codec["name"] != "bytes")
        return "+".join(said) or "none"

    @property
    def layout(self) -> Layout:
        """How the elements lie in the files."""
        shards = self.grid if self.sharded else None
        chunked = ChunkLayout(self.version, self.chunks, shards, self.words)
        return Layout(self.dtype, self.shape, self.held, 0, self.fortran, chunked)

    def key(self, place: Sequence[int]) -> str:
        """Name the file of the chunk, or shard, at `place` in the grid, in the folder."""
        words = [str(each) for each in place]
        if self.keys == "default":
            return self.separator.join(["c", *words])
        return self.separator.join(words) or "0"


def _said(codec: dict[str, Any]) -> str:
    """Name a codec, and the parts of one that has some."""
    if codec["name"] != "blosc":
        return str(codec["name"])
    shuffle = codec.get("shuffle", 0)
    if isinstance(shuffle, int):
        shuffle = {1: "shuffle", 2: "bitshuffle", -1: "autoshuffle"}.get(shuffle, "noshuffle")
    return f"blosc({codec['cname']})" + ("" if shuffle == "noshuffle" else f"+{shuffle}")


def _refused(what: str, expected: str, *, rule: str = "format") -> InputError:
    return InputError(f"{what}: expected {expected}", rule=rule, expected=expected)


def _shown(value: object) -> str:
    """Write a value of the metadata for a message."""
    return clean(short(f"`{value}`" if isinstance(value, str) else dumps(value)))


# The files


def document(folder: Folder, path: str) -> dict[str, Any]:
    """Read a file of metadata, strictly.

    Raises
    ------
    InputError
        ``format``: it is no JSON object in a regular file, or a link leads out of the folder.
    LimitError
        ``limit``: it is too large.
    """
    inner, name = os.path.split(path)
    try:
        fd, status = open_in(path, os.path.realpath(inner))
    except ValueError as error:
        raise _refused(f"`{name}` {str(error).removeprefix('it ')}", "one with JSON text") from None
    try:
        if status.st_size > MAX_METADATA:
            raise LimitError(
                f"`{name}` has {status.st_size} bytes: expected at most {MAX_METADATA}",
                rule="limit",
                value=status.st_size,
            )
        folder.note(path, status)
        raw = b""
        while part := os.read(fd, status.st_size - len(raw)):
            raw += part
    finally:
        os.close(fd)
    try:
        found = json.parse(raw, rule="format")
    except InputError as error:
        error.within(f"`{name}`")
        raise
    if not isinstance(found, dict):
        raise _refused(f"`{name}` is no JSON object", "one")
    return found


# Their members


def parse(found: dict[str, Any], version: int) -> Spec:
    """Check the metadata of an array.

    Raises
    ------
    InputError
        ``format``, ``dtype``: it is malformed, or asks for what is not read.
    LimitError
        ``limit``: nothing can hold the tensor, or one chunk of it.
    """
    if found.get("zarr_format") != version or type(found["zarr_format"]) is not int:
        raise _refused(f"the zarr_format is {_shown(found.get('zarr_format'))}", f"{version}")
    spec = _parse_3(found) if version == 3 else _parse_2(found)
    check_shape("the array has", spec.shape, spec.held.itemsize)
    check_shape("a chunk of the array has", spec.grid, spec.held.itemsize)
    if product(spec.inner) > MAX_INNER:
        raise LimitError(
            f"a shard holds {product(spec.inner)} chunks: expected at most {MAX_INNER}",
            rule="limit",
            value=product(spec.inner),
        )
    return spec


def _parse_2(found: dict[str, Any]) -> Spec:
    import numpy as np

    shape = _sizes(found, "shape", least=0)
    chunks = _sizes(found, "chunks", least=1, rank=len(shape))
    name = found.get("dtype")
    if not isinstance(name, str) or not _TYPE.fullmatch(name):
        _refuse_type(name)
    try:
        held = np.dtype(name)
    except TypeError:  # strings too wide
        _refuse_type(name)
    dtype = dtype_of(held)
    if dtype is None:
        _refuse_type(name)
    order = _one_of(found, "order", ("C", "F"))
    separator = _one_of(found, "dimension_separator", (".", "/"), default=".")
    filters = found.get("filters")
    if not isinstance(filters, list | None):
        raise _refused(f"the filters are {_shown(filters)}", "a list of codecs, or null")
    codecs = [_filter(each, held) for each in filters or ()]
    if found.get("compressor") is not None:
        codecs.append(_codec(found["compressor"], 2, COMPRESSORS[2]))
    _check_fill(found, dtype)
    return Spec(
        2,
        dtype,
        held,
        shape,
        chunks,
        chunks,
        tuple(codecs),
        found["fill_value"],
        order,
        separator=separator,
    )


def _parse_3(found: dict[str, Any]) -> Spec:
    for key in found.keys() - _KEYS:
        extra = found[key]
        if not isinstance(extra, dict) or extra.get("must_understand") is not False:
            raise _refused(f"the metadata has the member {_shown(key)}", "only what zarr 3 defines")
    if found.get("storage_transformers"):
        raise _refused("the array has storage transformers", "none")
    shape = _sizes(found, "shape", least=0)
    dtype, held = _type_3(found.get("data_type"))
    kind, told = _named(found.get("chunk_grid"), "chunk_grid")
    if kind != "regular":
        raise _refused(f"the chunk grid is {_shown(kind)}", "`regular`")
    grid = _sizes(told, "chunk_shape", least=1, rank=len(shape))
    keys, told = _named(found.get("chunk_key_encoding"), "chunk_key_encoding")
    if keys not in ("default", "v2"):
        raise _refused(f"the chunk key encoding is {_shown(keys)}", "`default` or `v2`")
    separator = _one_of(told, "separator", (".", "/"), default="/" if keys == "default" else ".")
    codecs, chunks = _codecs(found.get("codecs"), "codecs"), grid
    index: tuple[dict[str, Any], ...] = ()
    first = False
    if any(codec["name"] == "sharding_indexed" for codec in codecs):
        if len(codecs) > 1:
            names = listed([f"`{codec['name']}`" for codec in codecs], "and")
            raise _refused(f"the codecs are {names}", "`sharding_indexed` alone, or none")
        codecs, chunks, index, first = _sharding(codecs[0], grid)
    held = _ordered(codecs, held, len(shape))
    _check_fill(found, dtype)
    return Spec(
        3,
        dtype,
        held,
        shape,
        grid,
        chunks,
        codecs,
        found["fill_value"],
        keys=keys,
        separator=separator,
        shard_index=index,
        index_first=first,
        attributes=_attributes(found.get("attributes")),
        names=_dimension_names(found.get("dimension_names"), len(shape)),
    )


def _attributes(value: object) -> dict[str, Any] | None:
    """Return attributes that may be written again; nothing else is done with them."""
    return value if isinstance(value, dict) else None


def _dimension_names(value: object, rank: int) -> list[str | None] | None:
    """Return names that may be written again; nothing else is done with them."""
    if not isinstance(value, list) or len(value) != rank:
        return None
    return value if all(isinstance(each, str | None) for each in value) else None


def _sizes(
    found: dict[str, Any], key: str, *, least: int, rank: int | None = None
) -> tuple[int, ...]:
    """Read a list of sizes."""
    value = found.get(key)
    good = isinstance(value, list) and all(
        type(size) is int and least <= size <= LARGEST for size in value
    )
    if not isinstance(value, list) or not good:
        raise _refused(f"the {key} is {_shown(value)}", f"a list of sizes from {least} on")
    if rank is not None and len(value) != rank:
        raise _refused(f"the {key} has {len(value)} sizes", f"{rank}, as the shape has")
    return tuple(value)


def _one_of(
    found: dict[str, Any], key: str, words: tuple[str, ...], *, default: str | None = None
) -> str:
    """Read a word of a few."""
    value = found.get(key, default)
    if value not in words or not isinstance(value, str):
        raise _refused(f"the {key} is {_shown(value)}", listed(f"`{word}`" for word in words))
    return value


def _named(value: object, key: str) -> tuple[str, dict[str, Any]]:
    """Read a name, and the configuration that comes with it."""
    if isinstance(value, str):
        return value, {}
    told = value.get("configuration", {}) if isinstance(value, dict) else None
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("name"), str)
        or not isinstance(told, dict)
        or value.keys() - {"name", "configuration", "must_understand"}
    ):
        raise _refused(f"the {key} is {_shown(value)}", "an object with a name and a configuration")
    return value["name"], told


def _refuse_type(value: object) -> NoReturn:
    expected = f"{listed([*_FIXED, 'strings of a fixed width'])}"
    raise _refused(f"the type is {_shown(value)}", expected, rule="dtype")


def _type_3(value: object) -> tuple[DType, np.dtype[Any]]:
    """Read the type of version 3; the byte order comes with the codecs."""
    import numpy as np

    if isinstance(value, str) and value in _FIXED:
        return _FIXED[value], np.dtype(storage_of(_FIXED[value]))
    if not isinstance(value, dict) or value.get("name") != _TEXT:
        _refuse_type(value)
    size = _named(value, "data_type")[1].get("length_bytes")
    if type(size) is not int or size % 4 or not 0 < size < 1 << 31:
        raise _refused(f"the strings take {_shown(size)} bytes", "a multiple of 4", rule="dtype")
    return STRING, np.dtype(f"U{size // 4}")


def _check_fill(found: dict[str, Any], dtype: DType) -> None:
    """Refuse a fill value that is no value of the type at all; zarr reads the digits."""
    if "fill_value" not in found:
        raise _refused("the fill value is missing", f"one of {dtype}")
    value = found["fill_value"]
    parts = value if isinstance(value, list) and len(value) == 2 else [value]
    scalar = all(isinstance(part, bool | int | float | str) for part in parts)
    if value is not None and (not scalar or isinstance(value, Overflow)):
        raise _refused(f"the fill value is {_shown(value)}", f"one of {dtype}")


# The codecs


def _codec(value: object, version: int, known: Sequence[str]) -> dict[str, Any]:
    """Read a codec of a few; its configuration and its name in one dictionary."""
    if version == 3:
        name, told = _named(value, "codec")
    elif isinstance(value, dict) and isinstance(value.get("id"), str):
        name, told = value["id"], {key: each for key, each in value.items() if key != "id"}
    else:
        raise _refused(f"the codec is {_shown(value)}", "an object with an id")
    if name not in known:
        raise _refused(f"the codec is {_shown(name)}", listed(f"`{each}`" for each in known))
    options = _OPTIONS.get((version, name))
    if options is not None:
        for key, option in told.items():
            if key not in options or type(option) is not options[key]:
                expected = listed(options, "and") if options else "nothing"
                raise _refused(
                    f"the codec `{name}` is told that {_shown(key)} is {_shown(option)}", expected
                )
    if name == "blosc":
        _one_of(told, "cname", ("lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"))
        if version == 3:
            _one_of(told, "shuffle", ("noshuffle", "shuffle", "bitshuffle"), default="noshuffle")
    return {"name": name, **told}


def _filter(value: object, held: np.dtype[Any]) -> dict[str, Any]:
    """Read a filter of version 2."""
    found = _codec(value, 2, FILTERS)
    if found["name"] == "shuffle":
        size = found.get("elementsize", 4)
        if found.keys() - {"name", "elementsize"} or type(size) is not int or not 0 < size < 256:
            raise _refused(f"the codec `shuffle` is told {_shown(found)}", "an elementsize")
        return found
    names = [found.get("dtype"), found.get("astype", found.get("dtype"))]
    if found.keys() - {"name", "dtype", "astype"} or any(
        not isinstance(name, str) or not _TYPE.fullmatch(name) or "U" in name for name in names
    ):
        raise _refused(f"the codec `delta` is told {_shown(found)}", "a dtype and an astype")
    if names[0] != held.str:
        raise _refused(f"the codec `delta` is of the type `{names[0]}`", f"`{held.str}`")
    return found


def _codecs(value: object, key: str) -> tuple[dict[str, Any], ...]:
    """Read a list of codecs of version 3."""
    if not isinstance(value, list) or not value or len(value) > 2 * len(CODECS):
        raise _refused(f"the {key} is {_shown(value)}", "a list of codecs")
    return tuple(_codec(each, 3, CODECS) for each in value)


def _sharding(
    codec: dict[str, Any], grid: tuple[int, ...]
) -> tuple[tuple[dict[str, Any], ...], tuple[int, ...], tuple[dict[str, Any], ...], bool]:
    """Read how a shard is made: the codecs and sizes of its chunks, its index, and where that is.

    The index is of known size: only ``bytes`` and ``crc32c`` may write it.
    """
    chunks = _sizes(codec, "chunk_shape", least=1, rank=len(grid))
    if any(whole % part for whole, part in zip(grid, chunks, strict=True)):
        raise _refused(
            f"the chunks of a shard have the shape {list(chunks)}",
            f"sizes that divide those of the shard, {list(grid)}",
        )
    index = _codecs(codec.get("index_codecs", ["bytes", "crc32c"]), "index_codecs")
    names = [each["name"] for each in index]
    if names not in (["bytes"], ["bytes", "crc32c"]) or index[0].get("endian") == "big":
        said = listed([f"`{name}`" for name in names], "and")
        raise _refused(f"the index codecs are {said}", "`bytes`, little-endian, and `crc32c`")
    place = _one_of(codec, "index_location", ("start", "end"), default="end")
    return _codecs(codec.get("codecs"), "codecs"), chunks, index, place == "start"


def _ordered(codecs: Sequence[dict[str, Any]], held: np.dtype[Any], rank: int) -> np.dtype[Any]:
    """Check the order of codecs, and return the type in the byte order they say."""
    names = [codec["name"] for codec in codecs]
    said = listed([f"`{name}`" for name in names], "and")
    if names.count("bytes") != 1 or "sharding_indexed" in names:
        raise _refused(f"the codecs are {said}", "`bytes` once")
    at = names.index("bytes")
    if any(name != "transpose" for name in names[:at]) or "transpose" in names[at:]:
        raise _refused(f"the codecs are {said}", "`transpose` before `bytes`, the others behind it")
    if sum(name in COMPRESSORS[3] for name in names) > 1:
        raise _refused(f"the codecs are {said}", "one compressor")
    for codec in codecs[:at]:
        order = codec.get("order")
        sound = isinstance(order, list) and all(type(each) is int for each in order)
        if not isinstance(order, list) or not sound or sorted(order) != list(range(rank)):
            raise _refused(f"the codec `transpose` is told {_shown(order)}", f"{rank} axes")
    endian = codecs[at].get("endian")
    if endian not in ("little", "big", None) or (endian is None and held.itemsize > 1):
        raise _refused(f"the endian of the codec `bytes` is {_shown(endian)}", "`little` or `big`")
    return held.newbyteorder(">" if endian == "big" else "<")


# What is written


def described(spec: Spec) -> tuple[str, dict[str, Any]]:
    """Return the name of the file of metadata, and what is in it, of an array without shards."""
    shape, chunks = list(spec.shape), list(spec.chunks)
    if spec.version == 2:
        filters = [_as_2(codec) for codec in spec.codecs if codec["name"] in FILTERS]
        compressors = [_as_2(codec) for codec in spec.codecs if codec["name"] not in FILTERS]
        return ".zarray", {
            "zarr_format": 2,
            "shape": shape,
            "chunks": chunks,
            "dtype": spec.held.str,
            "fill_value": spec.fill,
            "order": spec.order,
            "dimension_separator": spec.separator,
            "filters": filters or None,
            "compressor": compressors[0] if compressors else None,
        }
    named = {} if spec.names is None else {"dimension_names": spec.names}
    typed: Any = spec.dtype.name
    if spec.dtype is STRING:
        typed = {"name": _TEXT, "configuration": {"length_bytes": spec.held.itemsize}}
    return "zarr.json", {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": typed,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": spec.keys, "configuration": {"separator": spec.separator}},
        "fill_value": spec.fill,
        "codecs": [_as_3(codec) for codec in spec.codecs],
        "attributes": spec.attributes or {},
        **named,
    }


def _as_2(codec: dict[str, Any]) -> dict[str, Any]:
    return {"id" if key == "name" else key: value for key, value in codec.items()}


def _as_3(codec: dict[str, Any]) -> dict[str, Any]:
    told = {key: value for key, value in codec.items() if key != "name"}
    return {"name": codec["name"], "configuration": told} if told else {"name": codec["name"]}


def zero(dtype: DType) -> Any:
    """Return the fill value of a new array, as the metadata says it."""
    if dtype is STRING:
        return ""
    if dtype is BOOL:
        return False
    return [0.0, 0.0] if dtype.kind.value == "complex" else 0
