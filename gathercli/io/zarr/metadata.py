"""Read, validate and write the metadata of arrays and groups, versions 2 and 3.

A file cannot load code: only the codecs that are listed here are accepted, no plugins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from json import dumps
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from gathercli.compute.storage import dtype_of, storage_of
from gathercli.errors import InputError
from gathercli.io.folders import Folder, open_in
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.content import check_number, check_shape, malformed
from gathercli.io.zarr.arrayspec import ArraySpec, Codec, options_of, parse_fill
from gathercli.spec.dtypes import DTYPES, STRING, DType
from gathercli.spec.shapes import LARGEST, product
from gathercli.text import clean, counted, in_bytes, listed, short, value_text

# Codecs, each with its options and their types; None for options that are checked elsewhere.
_OptionTypes: TypeAlias = Mapping[str, Mapping[str, type] | None]

MAX_METADATA_BYTES: Final = 16 << 20  # the largest metadata file in bytes
# The most chunks in a shard: a few bytes of metadata may declare any number.
MAX_SHARD_CHUNKS: Final = 1 << 15
# The types that have a plain name in version 3.
PLAIN_TYPES: Final = {each.name: each for each in DTYPES if not each.opaque and each is not STRING}


def document(folder: Folder, path: str) -> dict[str, Any]:
    """Read a metadata file.

    Raise InputError (``format``) if it is not a JSON object, or a link leads out of the folder, and
    LimitError if it is too large.
    """
    inner, name = os.path.split(path)
    try:
        fd, status = open_in(path, os.path.realpath(inner))
    except ValueError as error:
        what = f"`{name}` {str(error).removeprefix('it ')}"
        raise malformed(what, "one with JSON text") from None
    with open(fd, "rb") as file:
        check_number(f"`{name}` has {in_bytes(status.st_size)}", status.st_size, MAX_METADATA_BYTES)
        folder.watch(path, status)
        raw = file.read(status.st_size)
    try:
        members = json.parse(raw, rule="format")
    except InputError as error:
        error.prefix(f"`{name}`")
        raise
    if not isinstance(members, dict):
        raise malformed(f"`{name}` is not a JSON object", "one")
    return members


class Node:
    """An array or a group: a folder with metadata."""

    def __init__(self, version: int, members: dict[str, Any], *, is_array: bool) -> None:
        self._version, self._members, self.is_array = version, members, is_array

    @classmethod
    def at(cls, folder: Folder, path: str) -> Node | None:
        """Read the metadata of the folder at `path`; return None if it has none."""
        for number, version in VERSIONS.items():
            for name in version.files:
                file = os.path.join(path, name)
                if os.path.lexists(file):
                    members = document(folder, file)
                    return cls(number, members, is_array=version.is_array(name, members))
        return None

    @classmethod
    def of_path(cls, path: str) -> Node | None:
        """Return the node of an array at a path that is no input; None if there is no array."""
        node = cls.at(Folder(path, path, None), path)
        return node if node is not None and node.is_array else None

    @cached_property
    def spec(self) -> ArraySpec:
        """The valid metadata of an array.

        Raise InputError if they are malformed or a feature is not supported, LimitError if the
        tensor, a chunk or a shard is too large.
        """
        number = self._members.get("zarr_format")
        if number != self._version or type(number) is not int:
            raise _wrong("zarr_format", number, f"{self._version}")
        spec = VERSIONS[self._version].parse(self._members)
        check_shape("the array has", spec.shape, spec.file_dtype.itemsize)
        check_shape("a chunk of the array has", spec.grid, spec.file_dtype.itemsize)
        count = product(spec.chunks_per_file)
        what = f"a shard holds {counted(count, 'chunk', exact=True)}"
        check_number(what, count, MAX_SHARD_CHUNKS)
        return spec


# Members of both versions


def _quote(value: object) -> str:
    return clean(short(f"`{value}`" if isinstance(value, str) else dumps(value)))


def _wrong(member: str, value: object, expected: str, *, rule: str = "format") -> InputError:
    return malformed(f"the {member} is {_quote(value)}", expected, rule=rule)


def _words(names: Iterable[str], conjunction: str = "or") -> str:
    return listed([f"`{name}`" for name in names], conjunction)


def _sizes(
    members: dict[str, Any], key: str, *, least: int, rank: int | None = None
) -> tuple[int, ...]:
    """Return the member `key`, a list of sizes of at least `least`."""
    value = members.get(key)
    if not isinstance(value, list) or not all(
        type(size) is int and least <= size <= LARGEST for size in value
    ):
        raise _wrong(key, value, f"a list of sizes from {least} on")
    if rank is not None and len(value) != rank:
        raise malformed(
            f"the {key} has {counted(len(value), 'size', exact=True)}", f"{rank}, as the shape has"
        )
    return tuple(value)


def _one_of(
    members: dict[str, Any], key: str, words: tuple[str, ...], *, default: str | None = None
) -> str:
    value = members.get(key, default)
    if not isinstance(value, str) or value not in words:
        raise _wrong(key, value, _words(words))
    return value


def _unsupported_type(value: object) -> InputError:
    return _wrong("type", value, listed([*PLAIN_TYPES, "strings of a fixed width"]), rule="dtype")


def _fill(members: dict[str, Any], dtype: DType) -> Any:
    """Return the fill value, a valid element or null."""
    if "fill_value" not in members:
        raise malformed("the fill value is missing", f"one of {dtype}")
    value = members["fill_value"]
    try:
        if value is not None:
            parse_fill(value, dtype)
    except (ValueError, TypeError, OverflowError):
        raise _wrong("fill value", value, f"one of {dtype}") from None
    return value


def _codec(name: str, options: dict[str, Any], known: _OptionTypes) -> Codec:
    """Check the name of a codec and the types of its options."""
    if name not in known:
        raise _wrong("codec", name, _words(known))
    if (types := known[name]) is not None:
        for key, option in options.items():
            if type(option) is not types.get(key):
                expected = listed(types, "and") if types else "nothing"
                raise _wrong(f"codec `{name}` is told that {_quote(key)}", option, expected)
    if name == "blosc":
        _one_of(options, "cname", ("lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"))
    return {"name": name, **options}


# Version 3

_COMPRESSORS_3: Final[dict[str, dict[str, type]]] = {
    "blosc": {"cname": str, "clevel": int, "blocksize": int, "typesize": int, "shuffle": str},
    "zstd": {"level": int, "checksum": bool},
    "gzip": {"level": int},
}
_CODECS_3: Final[_OptionTypes] = {
    **dict.fromkeys(("transpose", "bytes", "sharding_indexed")),
    **_COMPRESSORS_3,
    "crc32c": {},
}
_STRING_TYPE: Final = "fixed_length_utf32"
_KEYS_3: Final = {
    *("zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding"),
    *("fill_value", "codecs", "attributes", "storage_transformers", "dimension_names"),
}


def _is_array_3(name: str, members: dict[str, Any]) -> bool:
    kind = members.get("node_type")
    if kind not in ("array", "group"):
        raise malformed(f"the node_type of `{name}` is {value_text(kind)}", "array or group")
    return bool(kind == "array")


def _parse_3(members: dict[str, Any]) -> ArraySpec:
    for key in members.keys() - _KEYS_3:
        extra = members[key]
        if not isinstance(extra, dict) or extra.get("must_understand") is not False:
            raise malformed(
                f"the metadata has the member {_quote(key)}", "only what zarr 3 defines"
            )
    if members.get("storage_transformers"):
        raise malformed("the array has storage transformers", "none")
    shape = _sizes(members, "shape", least=0)
    dtype, file_dtype = _dtype_3(members.get("data_type"))
    kind, options = _named(members.get("chunk_grid"), "chunk_grid")
    if kind != "regular":
        raise _wrong("chunk grid", kind, "`regular`")
    grid = _sizes(options, "chunk_shape", least=1, rank=len(shape))
    encoding, options = _named(members.get("chunk_key_encoding"), "chunk_key_encoding")
    if encoding not in ("default", "v2"):
        raise _wrong("chunk key encoding", encoding, "`default` or `v2`")
    default = "/" if encoding == "default" else "."
    separator = _one_of(options, "separator", (".", "/"), default=default)
    codecs = _codecs_3(members.get("codecs"), "codecs")
    packing: dict[str, Any] = {"chunks": grid, "codecs": codecs}
    if any(codec["name"] == "sharding_indexed" for codec in codecs):
        if len(codecs) > 1:
            names = _words((codec["name"] for codec in codecs), "and")
            raise malformed(f"the codecs are {names}", "`sharding_indexed` alone, or none")
        packing = _sharding(codecs[0], grid)
    attributes = members.get("attributes")
    return ArraySpec(
        3,
        dtype,
        _ordered(packing["codecs"], file_dtype, len(shape)),
        shape,
        grid,
        fill=_fill(members, dtype),
        key_encoding=encoding,
        separator=separator,
        attributes=attributes if isinstance(attributes, dict) else None,
        dimension_names=_dimension_names(members.get("dimension_names"), len(shape)),
        **packing,
    )


def _named(value: object, key: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the configuration in an object, or a name without configuration."""
    if isinstance(value, str):
        return value, {}
    if isinstance(value, dict) and not value.keys() - {"name", "configuration", "must_understand"}:
        name, configuration = value.get("name"), value.get("configuration", {})
        if isinstance(name, str) and isinstance(configuration, dict):
            return name, configuration
    raise _wrong(key, value, "an object with a name and a configuration")


def _dimension_names(value: object, rank: int) -> list[str | None] | None:
    """Return the names of the dimensions; None if they are malformed."""
    if not isinstance(value, list) or len(value) != rank:
        return None
    return value if all(isinstance(each, str | None) for each in value) else None


def _dtype_3(value: object) -> tuple[DType, np.dtype[Any]]:
    """Return the element type and the numpy dtype; the codecs define the byte order."""
    if isinstance(value, str) and value in PLAIN_TYPES:
        return PLAIN_TYPES[value], np.dtype(storage_of(PLAIN_TYPES[value]))
    if not isinstance(value, dict) or value.get("name") != _STRING_TYPE:
        raise _unsupported_type(value)
    size = _named(value, "data_type")[1].get("length_bytes")
    if type(size) is not int or size % 4 or not 0 < size < 1 << 31:
        raise _wrong("length of the strings in bytes", size, "a multiple of 4", rule="dtype")
    return STRING, np.dtype(f"U{size // 4}")


def _codecs_3(value: object, key: str) -> tuple[Codec, ...]:
    """Validate a list of codecs; return the name and the configuration of each in one object."""
    if not isinstance(value, list) or not value or len(value) > 2 * len(_CODECS_3):
        raise _wrong(key, value, "a list of codecs")
    codecs = []
    for each in value:
        codec = _codec(*_named(each, "codec"), _CODECS_3)
        if codec["name"] == "blosc":
            shuffles = ("noshuffle", "shuffle", "bitshuffle")
            _one_of(codec, "shuffle", shuffles, default="noshuffle")
        codecs.append(codec)
    return tuple(codecs)


def _sharding(codec: Codec, grid: tuple[int, ...]) -> dict[str, Any]:
    """Return the members of an `ArraySpec` that a sharding codec decides.

    The index may have only the codecs ``bytes`` and ``crc32c``, so that its size is known.
    """
    chunks = _sizes(codec, "chunk_shape", least=1, rank=len(grid))
    if any(whole % part for whole, part in zip(grid, chunks, strict=True)):
        what = f"the chunks of a shard have the shape {list(chunks)}"
        raise malformed(what, f"sizes that divide those of the shard, {list(grid)}")
    index = _codecs_3(codec.get("index_codecs", ["bytes", "crc32c"]), "index_codecs")
    names = [each["name"] for each in index]
    if names not in (["bytes"], ["bytes", "crc32c"]) or index[0].get("endian") == "big":
        expected = "`bytes`, little-endian, and `crc32c`"
        raise malformed(f"the index codecs are {_words(names, 'and')}", expected)
    place = _one_of(codec, "index_location", ("start", "end"), default="end")
    return {
        "chunks": chunks,
        "codecs": _codecs_3(codec.get("codecs"), "codecs"),
        "shard_index": index,
        "index_first": place == "start",
    }


def _ordered(codecs: Sequence[Codec], dtype: np.dtype[Any], rank: int) -> np.dtype[Any]:
    """Check the order of the codecs; return `dtype` in their byte order."""
    names = [codec["name"] for codec in codecs]
    what = f"the codecs are {_words(names, 'and')}"
    if names.count("bytes") != 1 or "sharding_indexed" in names:
        raise malformed(what, "`bytes` once")
    at = names.index("bytes")
    if any(name != "transpose" for name in names[:at]) or "transpose" in names[at:]:
        raise malformed(what, "`transpose` before `bytes`, the others behind it")
    if sum(name in _COMPRESSORS_3 for name in names) > 1:
        raise malformed(what, "one compressor")
    for codec in codecs[:at]:
        order = codec.get("order")
        if (
            not isinstance(order, list)
            or any(type(each) is not int for each in order)
            or sorted(order) != list(range(rank))
        ):
            axes = counted(rank, "axis", "axes", exact=True)
            raise malformed(f"the codec `transpose` is told {_quote(order)}", axes)
    endian = codecs[at].get("endian")
    if endian not in ("little", "big", None) or (endian is None and dtype.itemsize > 1):
        raise _wrong("endian of the codec `bytes`", endian, "`little` or `big`")
    return dtype.newbyteorder(">" if endian == "big" else "<")


def _to_json_3(spec: ArraySpec) -> dict[str, Any]:
    names = {} if spec.dimension_names is None else {"dimension_names": spec.dimension_names}
    dtype: Any = spec.dtype.name
    if spec.dtype is STRING:
        dtype = _configured(_STRING_TYPE, {"length_bytes": spec.file_dtype.itemsize})
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(spec.shape),
        "data_type": dtype,
        "chunk_grid": _configured("regular", {"chunk_shape": list(spec.chunks)}),
        "chunk_key_encoding": _configured(spec.key_encoding, {"separator": spec.separator}),
        "fill_value": spec.fill,
        "codecs": [_configured(codec["name"], options_of(codec)) for codec in spec.codecs],
        "attributes": spec.attributes or {},
        **names,
    }


def _configured(name: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"name": name} | ({"configuration": options} if options else {})


# Version 2: the files ``.zarray``, ``.zgroup`` and ``.zattrs``

_COMPRESSORS_2: Final[_OptionTypes] = {
    **_COMPRESSORS_3,
    "blosc": _COMPRESSORS_3["blosc"] | {"shuffle": int},
    "zlib": {"level": int},
    "lz4": {"acceleration": int},
}
_FILTERS_2: Final[_OptionTypes] = {"shuffle": None, "delta": None}  # before the compressor
_TYPE_2: Final = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16|U[1-9]\d{0,8})", re.ASCII)


def _parse_2(members: dict[str, Any]) -> ArraySpec:
    shape = _sizes(members, "shape", least=0)
    chunks = _sizes(members, "chunks", least=1, rank=len(shape))
    name, dtype = members.get("dtype"), None
    if _is_type_2(name):
        with suppress(TypeError):  # strings too wide, or of no size, in NumPy 2.0
            file_dtype = np.dtype(name)
            dtype = dtype_of(file_dtype) if file_dtype.itemsize >= 0 else None
    if dtype is None:
        raise _unsupported_type(name)
    order = _one_of(members, "order", ("C", "F"))
    separator = _one_of(members, "dimension_separator", (".", "/"), default=".")
    filters = members.get("filters")
    if not isinstance(filters, list | None):
        raise malformed(f"the filters are {_quote(filters)}", "a list of codecs, or null")
    codecs = [_filter(each, file_dtype) for each in filters or ()]
    if members.get("compressor") is not None:
        codecs.append(_codec_2(members["compressor"], _COMPRESSORS_2))
    fill = _fill(members, dtype)
    types, sizes = (dtype, file_dtype), (shape, chunks, chunks)
    return ArraySpec(2, *types, *sizes, tuple(codecs), fill, order, separator=separator)


def _is_type_2(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and _TYPE_2.fullmatch(name) is not None


def _codec_2(value: object, known: _OptionTypes) -> Codec:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise _wrong("codec", value, "an object with an id")
    options = {key: option for key, option in value.items() if key != "id"}
    if value["id"] == "blosc" and options.get("typesize", 0) is None:
        del options["typesize"]  # numcodecs 0.16.0 writes null for the size of the elements
    return _codec(value["id"], options, known)


def _filter(value: object, file_dtype: np.dtype[Any]) -> Codec:
    codec = _codec_2(value, _FILTERS_2)
    if codec["name"] == "shuffle":
        size = codec.get("elementsize", 4)
        if codec.keys() - {"name", "elementsize"} or type(size) is not int or not 0 < size < 256:
            raise malformed(f"the codec `shuffle` is told {_quote(codec)}", "an elementsize")
        return codec
    names = [codec.get("dtype"), codec.get("astype", codec.get("dtype"))]
    if codec.keys() - {"name", "dtype", "astype"} or any(
        not _is_type_2(name) or "U" in name for name in names
    ):
        raise malformed(f"the codec `delta` is told {_quote(codec)}", "a dtype and an astype")
    if names[0] != file_dtype.str:
        raise malformed(f"the codec `delta` is of the type `{names[0]}`", f"`{file_dtype.str}`")
    return codec


def _to_json_2(spec: ArraySpec) -> dict[str, Any]:
    codecs = [{"id": codec["name"], **options_of(codec)} for codec in spec.codecs]
    filters = [codec for codec in codecs if codec["id"] in _FILTERS_2]
    return {
        "zarr_format": 2,
        "shape": list(spec.shape),
        "chunks": list(spec.chunks),
        "dtype": spec.file_dtype.str,
        "fill_value": spec.fill,
        "order": spec.order,
        "dimension_separator": spec.separator,
        "filters": filters or None,
        "compressor": next((codec for codec in codecs if codec not in filters), None),
    }


class Version(NamedTuple):
    """A version of the format."""

    files: tuple[str, ...]  # of metadata, the first that of an array; the first that exists is read
    attributes: str | None  # the file of the user's attributes; None: they are in the metadata
    is_array: Callable[[str, dict[str, Any]], bool]  # whether a metadata file describes an array
    parse: Callable[[dict[str, Any]], ArraySpec]
    to_json: Callable[[ArraySpec], dict[str, Any]]  # of an array without shards


# The versions in the order of preference.
VERSIONS: Final = {
    3: Version(("zarr.json",), None, _is_array_3, _parse_3, _to_json_3),
    2: Version(
        (".zarray", ".zgroup"), ".zattrs", lambda name, _: name == ".zarray", _parse_2, _to_json_2
    ),
}
