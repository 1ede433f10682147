"""Read, validate and write the metadata of arrays and groups, versions 2 and 3.

A file cannot load code: only the codecs that are listed here are accepted, no plugins.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import text
from gathercli.compute.storage import dtype_of, storage_of
from gathercli.errors import InputError
from gathercli.io.folders import open_in
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.content import check_number, check_shape, malformed
from gathercli.io.zarr.arrayspec import (
    PLAIN_TYPES,
    ArraySpec,
    codec_of,
    fill_of,
    name_and_options,
    one_of,
    quote,
    refuse_type,
    sizes,
)
from gathercli.spec.dtypes import STRING, DType
from gathercli.spec.shapes import product
from gathercli.text import counted, in_bytes, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.io.folders import Folder
    from gathercli.io.zarr.arrayspec import Codec

MAX_METADATA_BYTES: Final = 16 << 20  # the largest metadata file in bytes
# The most chunks in a shard: a few bytes of metadata may declare any number.
MAX_SHARD_CHUNKS: Final = 1 << 15


def document(folder: Folder, path: str) -> dict[str, Any]:
    """Read a metadata file.

    Raise InputError (``format``) if it is not a JSON object, or a link leads out of the folder, and
    LimitError if it is too large.
    """
    inner, name = os.path.split(path)
    try:
        fd, status = open_in(path, os.path.realpath(inner))
    except ValueError as error:
        raise malformed(
            f"`{name}` {str(error).removeprefix('it ')}", "one with JSON text"
        ) from None
    try:
        check_number(f"`{name}` has {in_bytes(status.st_size)}", status.st_size, MAX_METADATA_BYTES)
        folder.watch(path, status)
        raw = b""
        while part := os.read(fd, status.st_size - len(raw)):
            raw += part
    finally:
        os.close(fd)
    try:
        members = json.parse(raw, rule="format")
    except InputError as error:
        error.prefix(f"`{name}`")
        raise
    if not isinstance(members, dict):
        raise malformed(f"`{name}` is not a JSON object", "one")
    return members


def parse(members: dict[str, Any], version: int) -> ArraySpec:
    """Validate the metadata of an array.

    Raise InputError if they are malformed or a feature is not supported, LimitError if the tensor,
    a chunk or a shard is too large.
    """
    number = members.get("zarr_format")
    if number != version or type(number) is not int:
        raise malformed(f"the zarr_format is {quote(number)}", f"{version}")
    spec = VERSIONS[version].parse(members)
    check_shape("the array has", spec.shape, spec.file_dtype.itemsize)
    check_shape("a chunk of the array has", spec.grid, spec.file_dtype.itemsize)
    count = product(spec.chunks_per_file)
    check_number(f"a shard holds {counted(count, 'chunk', exact=True)}", count, MAX_SHARD_CHUNKS)
    return spec


# Version 3


# The compressors and the types of their options.
COMPRESSORS_3: Final[dict[str, dict[str, type]]] = {
    "blosc": {"cname": str, "clevel": int, "blocksize": int, "typesize": int, "shuffle": str},
    "zstd": {"level": int, "checksum": bool},
    "gzip": {"level": int},
}

CODECS_3: Final = ("transpose", "bytes", "sharding_indexed", *COMPRESSORS_3, "crc32c")  # all codecs
_OPTIONS_3: Final = COMPRESSORS_3 | {"crc32c": {}}
_STRING_TYPE: Final = "fixed_length_utf32"
_KEYS_3: Final = {
    *("zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding"),
    *("fill_value", "codecs", "attributes", "storage_transformers", "dimension_names"),
}


def _is_array_3(name: str, members: dict[str, Any]) -> bool:
    """Tell whether a metadata file describes an array."""
    kind = members.get("node_type")
    if kind not in ("array", "group"):
        raise malformed(f"the node_type of `{name}` is {text.value_text(kind)}", "array or group")
    return bool(kind == "array")


def _parse_3(members: dict[str, Any]) -> ArraySpec:
    """Validate the metadata of an array."""
    for key in members.keys() - _KEYS_3:
        extra = members[key]
        if not isinstance(extra, dict) or extra.get("must_understand") is not False:
            raise malformed(f"the metadata has the member {quote(key)}", "only what zarr 3 defines")
    if members.get("storage_transformers"):
        raise malformed("the array has storage transformers", "none")
    shape = sizes(members, "shape", least=0)
    dtype, file_dtype = _dtype(members.get("data_type"))
    kind, options = name_and_options(members.get("chunk_grid"), "chunk_grid")
    if kind != "regular":
        raise malformed(f"the chunk grid is {quote(kind)}", "`regular`")
    grid = sizes(options, "chunk_shape", least=1, rank=len(shape))
    encoding, options = name_and_options(members.get("chunk_key_encoding"), "chunk_key_encoding")
    if encoding not in ("default", "v2"):
        raise malformed(f"the chunk key encoding is {quote(encoding)}", "`default` or `v2`")
    default = "/" if encoding == "default" else "."
    separator = one_of(options, "separator", (".", "/"), default=default)
    codecs, chunks = _codecs(members.get("codecs"), "codecs"), grid
    index: tuple[Codec, ...] = ()
    index_first = False
    if any(codec["name"] == "sharding_indexed" for codec in codecs):
        if len(codecs) > 1:
            names = listed([f"`{codec['name']}`" for codec in codecs], "and")
            raise malformed(f"the codecs are {names}", "`sharding_indexed` alone, or none")
        codecs, chunks, index, index_first = _sharding(codecs[0], grid)
    attributes = members.get("attributes")
    return ArraySpec(
        3,
        dtype,
        _ordered(codecs, file_dtype, len(shape)),
        shape,
        grid,
        chunks,
        codecs,
        fill_of(members, dtype),
        key_encoding=encoding,
        separator=separator,
        shard_index=index,
        index_first=index_first,
        attributes=attributes if isinstance(attributes, dict) else None,
        dimension_names=_dimension_names(members.get("dimension_names"), len(shape)),
    )


def _dimension_names(value: object, rank: int) -> list[str | None] | None:
    """Return the names of the dimensions; None if they are malformed."""
    if not isinstance(value, list) or len(value) != rank:
        return None
    return value if all(isinstance(each, str | None) for each in value) else None


def _dtype(value: object) -> tuple[DType, np.dtype[Any]]:
    """Return the element type and the numpy dtype; the codecs define the byte order."""
    if isinstance(value, str) and value in PLAIN_TYPES:
        return PLAIN_TYPES[value], np.dtype(storage_of(PLAIN_TYPES[value]))
    if not isinstance(value, dict) or value.get("name") != _STRING_TYPE:
        refuse_type(value)
    size = name_and_options(value, "data_type")[1].get("length_bytes")
    if type(size) is not int or size % 4 or not 0 < size < 1 << 31:
        raise malformed(
            f"the length of the strings in bytes is {quote(size)}", "a multiple of 4", rule="dtype"
        )
    return STRING, np.dtype(f"U{size // 4}")


def _codec_3(value: object) -> Codec:
    """Validate a codec; return its name and configuration in one dictionary."""
    name, options = name_and_options(value, "codec")
    codec = codec_of(name, options, CODECS_3, _OPTIONS_3)
    if name == "blosc":
        one_of(options, "shuffle", ("noshuffle", "shuffle", "bitshuffle"), default="noshuffle")
    return codec


def _codecs(value: object, key: str) -> tuple[Codec, ...]:
    """Validate a list of codecs."""
    if not isinstance(value, list) or not value or len(value) > 2 * len(CODECS_3):
        raise malformed(f"the {key} is {quote(value)}", "a list of codecs")
    return tuple(_codec_3(each) for each in value)


def _sharding(
    codec: Codec, grid: tuple[int, ...]
) -> tuple[tuple[Codec, ...], tuple[int, ...], tuple[Codec, ...], bool]:
    """Return the codecs and sizes of a chunk of a sharding codec, and the codecs of the index.

    The index may have only the codecs ``bytes`` and ``crc32c``, so that its size is known. Also
    return whether it is first.
    """
    chunks = sizes(codec, "chunk_shape", least=1, rank=len(grid))
    if any(whole % part for whole, part in zip(grid, chunks, strict=True)):
        raise malformed(
            f"the chunks of a shard have the shape {list(chunks)}",
            f"sizes that divide those of the shard, {list(grid)}",
        )
    index = _codecs(codec.get("index_codecs", ["bytes", "crc32c"]), "index_codecs")
    names = [each["name"] for each in index]
    if names not in (["bytes"], ["bytes", "crc32c"]) or index[0].get("endian") == "big":
        words = listed([f"`{name}`" for name in names], "and")
        raise malformed(f"the index codecs are {words}", "`bytes`, little-endian, and `crc32c`")
    place = one_of(codec, "index_location", ("start", "end"), default="end")
    return _codecs(codec.get("codecs"), "codecs"), chunks, index, place == "start"


def _ordered(codecs: Sequence[Codec], dtype: np.dtype[Any], rank: int) -> np.dtype[Any]:
    """Check the order of the codecs; return `dtype` in their byte order."""
    names = [codec["name"] for codec in codecs]
    words = listed([f"`{name}`" for name in names], "and")
    if names.count("bytes") != 1 or "sharding_indexed" in names:
        raise malformed(f"the codecs are {words}", "`bytes` once")
    at = names.index("bytes")
    if any(name != "transpose" for name in names[:at]) or "transpose" in names[at:]:
        raise malformed(
            f"the codecs are {words}", "`transpose` before `bytes`, the others behind it"
        )
    if sum(name in COMPRESSORS_3 for name in names) > 1:
        raise malformed(f"the codecs are {words}", "one compressor")
    for codec in codecs[:at]:
        order = codec.get("order")
        if (
            not isinstance(order, list)
            or any(type(each) is not int for each in order)
            or sorted(order) != list(range(rank))
        ):
            raise malformed(
                f"the codec `transpose` is told {quote(order)}",
                f"{counted(rank, 'axis', 'axes', exact=True)}",
            )
    endian = codecs[at].get("endian")
    if endian not in ("little", "big", None) or (endian is None and dtype.itemsize > 1):
        raise malformed(f"the endian of the codec `bytes` is {quote(endian)}", "`little` or `big`")
    return dtype.newbyteorder(">" if endian == "big" else "<")


def _to_json_3(spec: ArraySpec) -> tuple[str, dict[str, Any]]:
    """Return the name and the members of the metadata file of an unsharded array."""
    names = {} if spec.dimension_names is None else {"dimension_names": spec.dimension_names}
    dtype: Any = spec.dtype.name
    if spec.dtype is STRING:
        dtype = {"name": _STRING_TYPE, "configuration": {"length_bytes": spec.file_dtype.itemsize}}
    chunks = {"chunk_shape": list(spec.chunks)}
    keys = {"separator": spec.separator}
    return "zarr.json", {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(spec.shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": chunks},
        "chunk_key_encoding": {"name": spec.key_encoding, "configuration": keys},
        "fill_value": spec.fill,
        "codecs": [_codec_to_json_3(codec) for codec in spec.codecs],
        "attributes": spec.attributes or {},
        **names,
    }


def _codec_to_json_3(codec: Codec) -> dict[str, Any]:
    options = {key: option for key, option in codec.items() if key != "name"}
    return {"name": codec["name"]} | ({"configuration": options} if options else {})


# Version 2: the files ``.zarray``, ``.zgroup`` and ``.zattrs``

# The compressors and the types of their options.
COMPRESSORS_2: Final[dict[str, dict[str, type]]] = {
    "blosc": {"cname": str, "clevel": int, "blocksize": int, "typesize": int, "shuffle": int},
    "zstd": {"level": int, "checksum": bool},
    "gzip": {"level": int},
    "zlib": {"level": int},
    "lz4": {"acceleration": int},
}

FILTERS_2: Final = ("shuffle", "delta")  # the filters, applied before the compressor
_TYPE_2: Final = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16|U[1-9]\d{0,8})", re.ASCII)


def _is_array_2(name: str, _: dict[str, Any]) -> bool:
    """Tell whether a metadata file describes an array."""
    return name == ".zarray"


def _parse_2(members: dict[str, Any]) -> ArraySpec:
    """Validate the metadata of an array."""
    shape = sizes(members, "shape", least=0)
    chunks = sizes(members, "chunks", least=1, rank=len(shape))
    name = members.get("dtype")
    if not isinstance(name, str) or not _TYPE_2.fullmatch(name):
        refuse_type(name)
    try:
        file_dtype = np.dtype(name)
    except TypeError:  # strings too wide
        refuse_type(name)
    dtype = dtype_of(file_dtype)
    if dtype is None or file_dtype.itemsize < 0:  # of strings too wide, in NumPy 2.0
        refuse_type(name)
    order = one_of(members, "order", ("C", "F"))
    separator = one_of(members, "dimension_separator", (".", "/"), default=".")
    filters = members.get("filters")
    if not isinstance(filters, list | None):
        raise malformed(f"the filters are {quote(filters)}", "a list of codecs, or null")
    codecs = [_filter(each, file_dtype) for each in filters or ()]
    if members.get("compressor") is not None:
        codecs.append(_codec_2(members["compressor"], tuple(COMPRESSORS_2)))
    fill = fill_of(members, dtype)
    types, sizes_ = (dtype, file_dtype), (shape, chunks, chunks)
    return ArraySpec(2, *types, *sizes_, tuple(codecs), fill, order, separator=separator)


def _codec_2(value: object, names: tuple[str, ...]) -> Codec:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise malformed(f"the codec is {quote(value)}", "an object with an id")
    options = {key: option for key, option in value.items() if key != "id"}
    if value["id"] == "blosc" and options.get("typesize", 0) is None:
        del options["typesize"]  # numcodecs 0.16.0 writes null for the size of the elements
    return codec_of(value["id"], options, names, COMPRESSORS_2)


def _filter(value: object, file_dtype: np.dtype[Any]) -> Codec:
    """Check a filter."""
    codec = _codec_2(value, FILTERS_2)
    if codec["name"] == "shuffle":
        size = codec.get("elementsize", 4)
        if codec.keys() - {"name", "elementsize"} or type(size) is not int or not 0 < size < 256:
            raise malformed(f"the codec `shuffle` is told {quote(codec)}", "an elementsize")
        return codec
    names = [codec.get("dtype"), codec.get("astype", codec.get("dtype"))]
    if codec.keys() - {"name", "dtype", "astype"} or any(
        not isinstance(name, str) or not _TYPE_2.fullmatch(name) or "U" in name for name in names
    ):
        raise malformed(f"the codec `delta` is told {quote(codec)}", "a dtype and an astype")
    if names[0] != file_dtype.str:
        raise malformed(f"the codec `delta` is of the type `{names[0]}`", f"`{file_dtype.str}`")
    return codec


def _to_json_2(spec: ArraySpec) -> tuple[str, dict[str, Any]]:
    """Return the name and the members of the metadata file of an array."""
    filters = [_codec_to_json_2(codec) for codec in spec.codecs if codec["name"] in FILTERS_2]
    compressors = [
        _codec_to_json_2(codec) for codec in spec.codecs if codec["name"] not in FILTERS_2
    ]
    return ".zarray", {
        "zarr_format": 2,
        "shape": list(spec.shape),
        "chunks": list(spec.chunks),
        "dtype": spec.file_dtype.str,
        "fill_value": spec.fill,
        "order": spec.order,
        "dimension_separator": spec.separator,
        "filters": filters or None,
        "compressor": compressors[0] if compressors else None,
    }


def _codec_to_json_2(codec: Codec) -> dict[str, Any]:
    return {"id" if key == "name" else key: value for key, value in codec.items()}


class Version(NamedTuple):
    """A version of the format."""

    files: tuple[str, ...]  # the names of the metadata files; the first that exists is read
    attributes: str | None  # the file of the user's attributes; None: they are in the metadata
    is_array: Callable[[str, dict[str, Any]], bool]  # whether a metadata file describes an array
    parse: Callable[[dict[str, Any]], ArraySpec]
    to_json: Callable[[ArraySpec], tuple[str, dict[str, Any]]]  # a file of an array without shards


# The versions in the order of preference.
VERSIONS: Final = {
    3: Version(("zarr.json",), None, _is_array_3, _parse_3, _to_json_3),
    2: Version((".zarray", ".zgroup"), ".zattrs", _is_array_2, _parse_2, _to_json_2),
}
