"""The metadata of version 3: the file ``zarr.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli import text
from gathercli.compute.storage import storage_of
from gathercli.errors import InputError
from gathercli.io.zarr.arrayspec import (
    FIXED,
    ArraySpec,
    codec_of,
    fill_of,
    invalid,
    name_and_options,
    one_of,
    quote,
    refuse_type,
    sizes,
)
from gathercli.spec.dtypes import STRING, DType
from gathercli.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.io.zarr.arrayspec import Codec

FILES: Final = ("zarr.json",)
ATTRIBUTES: Final = None

COMPRESSORS: Final[dict[str, dict[str, type]]] = {
    "blosc": {"cname": str, "clevel": int, "blocksize": int, "typesize": int, "shuffle": str},
    "zstd": {"level": int, "checksum": bool},
    "gzip": {"level": int},
}
"""The compressors and the types of their options."""

CODECS: Final = ("transpose", "bytes", "sharding_indexed", *COMPRESSORS, "crc32c")
"""All codecs."""

_OPTIONS: Final = COMPRESSORS | {"crc32c": {}}
_TEXT: Final = "fixed_length_utf32"
_KEYS: Final = {
    *("zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding"),
    *("fill_value", "codecs", "attributes", "storage_transformers", "dimension_names"),
}


def is_array(name: str, members: dict[str, Any]) -> bool:
    """Tell whether a metadata file describes an array."""
    kind = members.get("node_type")
    if kind not in ("array", "group"):
        raise InputError(
            f"the node_type of `{name}` is {text.value_text(kind)}",
            rule="format",
            expected="array or group",
        )
    return bool(kind == "array")


def parse(members: dict[str, Any]) -> ArraySpec:
    """Validate the metadata of an array."""
    for key in members.keys() - _KEYS:
        extra = members[key]
        if not isinstance(extra, dict) or extra.get("must_understand") is not False:
            raise invalid(f"the metadata has the member {quote(key)}", "only what zarr 3 defines")
    if members.get("storage_transformers"):
        raise invalid("the array has storage transformers", "none")
    shape = sizes(members, "shape", least=0)
    dtype, file_dtype = _dtype(members.get("data_type"))
    kind, options = name_and_options(members.get("chunk_grid"), "chunk_grid")
    if kind != "regular":
        raise invalid(f"the chunk grid is {quote(kind)}", "`regular`")
    grid = sizes(options, "chunk_shape", least=1, rank=len(shape))
    encoding, options = name_and_options(members.get("chunk_key_encoding"), "chunk_key_encoding")
    if encoding not in ("default", "v2"):
        raise invalid(f"the chunk key encoding is {quote(encoding)}", "`default` or `v2`")
    default = "/" if encoding == "default" else "."
    separator = one_of(options, "separator", (".", "/"), default=default)
    codecs, chunks = _codecs(members.get("codecs"), "codecs"), grid
    index: tuple[Codec, ...] = ()
    index_first = False
    if any(codec["name"] == "sharding_indexed" for codec in codecs):
        if len(codecs) > 1:
            names = listed([f"`{codec['name']}`" for codec in codecs], "and")
            raise invalid(f"the codecs are {names}", "`sharding_indexed` alone, or none")
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
    if isinstance(value, str) and value in FIXED:
        return FIXED[value], np.dtype(storage_of(FIXED[value]))
    if not isinstance(value, dict) or value.get("name") != _TEXT:
        refuse_type(value)
    size = name_and_options(value, "data_type")[1].get("length_bytes")
    if type(size) is not int or size % 4 or not 0 < size < 1 << 31:
        raise invalid(
            f"the length of the strings in bytes is {quote(size)}", "a multiple of 4", rule="dtype"
        )
    return STRING, np.dtype(f"U{size // 4}")


def _codec(value: object) -> Codec:
    """Validate a codec; return its name and configuration in one dictionary."""
    name, options = name_and_options(value, "codec")
    codec = codec_of(name, options, CODECS, _OPTIONS)
    if name == "blosc":
        one_of(options, "shuffle", ("noshuffle", "shuffle", "bitshuffle"), default="noshuffle")
    return codec


def _codecs(value: object, key: str) -> tuple[Codec, ...]:
    """Validate a list of codecs."""
    if not isinstance(value, list) or not value or len(value) > 2 * len(CODECS):
        raise invalid(f"the {key} is {quote(value)}", "a list of codecs")
    return tuple(_codec(each) for each in value)


def _sharding(
    codec: Codec, grid: tuple[int, ...]
) -> tuple[tuple[Codec, ...], tuple[int, ...], tuple[Codec, ...], bool]:
    """Validate the sharding codec.

    The index may have only the codecs ``bytes`` and ``crc32c``, so that its size is known.

    Returns
    -------
        The codecs and sizes of a chunk, the codecs of the index, and whether the index is first.
    """
    chunks = sizes(codec, "chunk_shape", least=1, rank=len(grid))
    if any(whole % part for whole, part in zip(grid, chunks, strict=True)):
        raise invalid(
            f"the chunks of a shard have the shape {list(chunks)}",
            f"sizes that divide those of the shard, {list(grid)}",
        )
    index = _codecs(codec.get("index_codecs", ["bytes", "crc32c"]), "index_codecs")
    names = [each["name"] for each in index]
    if names not in (["bytes"], ["bytes", "crc32c"]) or index[0].get("endian") == "big":
        words = listed([f"`{name}`" for name in names], "and")
        raise invalid(f"the index codecs are {words}", "`bytes`, little-endian, and `crc32c`")
    place = one_of(codec, "index_location", ("start", "end"), default="end")
    return _codecs(codec.get("codecs"), "codecs"), chunks, index, place == "start"


def _ordered(codecs: Sequence[Codec], dtype: np.dtype[Any], rank: int) -> np.dtype[Any]:
    """Check the order of the codecs; return `dtype` in their byte order."""
    names = [codec["name"] for codec in codecs]
    words = listed([f"`{name}`" for name in names], "and")
    if names.count("bytes") != 1 or "sharding_indexed" in names:
        raise invalid(f"the codecs are {words}", "`bytes` once")
    at = names.index("bytes")
    if any(name != "transpose" for name in names[:at]) or "transpose" in names[at:]:
        raise invalid(f"the codecs are {words}", "`transpose` before `bytes`, the others behind it")
    if sum(name in COMPRESSORS for name in names) > 1:
        raise invalid(f"the codecs are {words}", "one compressor")
    for codec in codecs[:at]:
        order = codec.get("order")
        if (
            not isinstance(order, list)
            or any(type(each) is not int for each in order)
            or sorted(order) != list(range(rank))
        ):
            raise invalid(
                f"the codec `transpose` is told {quote(order)}",
                f"{counted(rank, 'axis', 'axes', exact=True)}",
            )
    endian = codecs[at].get("endian")
    if endian not in ("little", "big", None) or (endian is None and dtype.itemsize > 1):
        raise invalid(f"the endian of the codec `bytes` is {quote(endian)}", "`little` or `big`")
    return dtype.newbyteorder(">" if endian == "big" else "<")


def to_json(spec: ArraySpec) -> tuple[str, dict[str, Any]]:
    """Return the name and the members of the metadata file of an unsharded array."""
    names = {} if spec.dimension_names is None else {"dimension_names": spec.dimension_names}
    dtype: Any = spec.dtype.name
    if spec.dtype is STRING:
        dtype = {"name": _TEXT, "configuration": {"length_bytes": spec.file_dtype.itemsize}}
    chunks = {"chunk_shape": list(spec.chunks)}
    keys = {"separator": spec.separator}
    return FILES[0], {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(spec.shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": chunks},
        "chunk_key_encoding": {"name": spec.key_encoding, "configuration": keys},
        "fill_value": spec.fill,
        "codecs": [_codec_to_json(codec) for codec in spec.codecs],
        "attributes": spec.attributes or {},
        **names,
    }


def _codec_to_json(codec: Codec) -> dict[str, Any]:
    options = {key: option for key, option in codec.items() if key != "name"}
    return {"name": codec["name"]} | ({"configuration": options} if options else {})
