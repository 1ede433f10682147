"""Metadata of version 3: the file ``zarr.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.arrays.tensor import storage_of
from gathercli.io.zarr.arrayspec import ArraySpec
from gathercli.io.zarr.members import (
    FIXED,
    check_fill,
    codec_of,
    named,
    one_of,
    refuse_type,
    refused,
    shown,
    sizes,
)
from gathercli.spec.dtypes import STRING, DType
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.io.zarr.arrayspec import Codec

COMPRESSORS: Final[dict[str, dict[str, type]]] = {
    "blosc": {"cname": str, "clevel": int, "blocksize": int, "typesize": int, "shuffle": str},
    "zstd": {"level": int, "checksum": bool},
    "gzip": {"level": int},
}
"""What makes bytes fewer, and the type of each member it may be told."""

CODECS: Final = ("transpose", "bytes", "sharding_indexed", *COMPRESSORS, "crc32c")
"""All codecs that are known."""

_OPTIONS: Final = COMPRESSORS | {"crc32c": {}}
_TEXT: Final = "fixed_length_utf32"
_KEYS: Final = {
    *("zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding"),
    *("fill_value", "codecs", "attributes", "storage_transformers", "dimension_names"),
}


def parse(found: dict[str, Any]) -> ArraySpec:
    """Check the members of an array."""
    for key in found.keys() - _KEYS:
        extra = found[key]
        if not isinstance(extra, dict) or extra.get("must_understand") is not False:
            raise refused(f"the metadata has the member {shown(key)}", "only what zarr 3 defines")
    if found.get("storage_transformers"):
        raise refused("the array has storage transformers", "none")
    shape = sizes(found, "shape", least=0)
    dtype, held = _dtype(found.get("data_type"))
    kind, told = named(found.get("chunk_grid"), "chunk_grid")
    if kind != "regular":
        raise refused(f"the chunk grid is {shown(kind)}", "`regular`")
    grid = sizes(told, "chunk_shape", least=1, rank=len(shape))
    keys, told = named(found.get("chunk_key_encoding"), "chunk_key_encoding")
    if keys not in ("default", "v2"):
        raise refused(f"the chunk key encoding is {shown(keys)}", "`default` or `v2`")
    separator = one_of(told, "separator", (".", "/"), default="/" if keys == "default" else ".")
    codecs, chunks = _codecs(found.get("codecs"), "codecs"), grid
    index: tuple[Codec, ...] = ()
    first = False
    if any(codec["name"] == "sharding_indexed" for codec in codecs):
        if len(codecs) > 1:
            names = listed([f"`{codec['name']}`" for codec in codecs], "and")
            raise refused(f"the codecs are {names}", "`sharding_indexed` alone, or none")
        codecs, chunks, index, first = _sharding(codecs[0], grid)
    held = _ordered(codecs, held, len(shape))
    check_fill(found, dtype)
    return ArraySpec(
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


def _dtype(value: object) -> tuple[DType, np.dtype[Any]]:
    """Read the type; the byte order comes with the codecs."""
    if isinstance(value, str) and value in FIXED:
        return FIXED[value], np.dtype(storage_of(FIXED[value]))
    if not isinstance(value, dict) or value.get("name") != _TEXT:
        refuse_type(value)
    size = named(value, "data_type")[1].get("length_bytes")
    if type(size) is not int or size % 4 or not 0 < size < 1 << 31:
        raise refused(f"the strings take {shown(size)} bytes", "a multiple of 4", rule="dtype")
    return STRING, np.dtype(f"U{size // 4}")


def _codec(value: object) -> Codec:
    """Read a codec; its configuration and its name in one dictionary."""
    name, told = named(value, "codec")
    codec = codec_of(name, told, CODECS, _OPTIONS)
    if name == "blosc":
        one_of(told, "shuffle", ("noshuffle", "shuffle", "bitshuffle"), default="noshuffle")
    return codec


def _codecs(value: object, key: str) -> tuple[Codec, ...]:
    """Read a list of codecs."""
    if not isinstance(value, list) or not value or len(value) > 2 * len(CODECS):
        raise refused(f"the {key} is {shown(value)}", "a list of codecs")
    return tuple(_codec(each) for each in value)


def _sharding(
    codec: Codec, grid: tuple[int, ...]
) -> tuple[tuple[Codec, ...], tuple[int, ...], tuple[Codec, ...], bool]:
    """Read how a shard is made: the codecs and sizes of its chunks, its index, and where that is.

    The index is of known size: only ``bytes`` and ``crc32c`` may write it.
    """
    chunks = sizes(codec, "chunk_shape", least=1, rank=len(grid))
    if any(whole % part for whole, part in zip(grid, chunks, strict=True)):
        raise refused(
            f"the chunks of a shard have the shape {list(chunks)}",
            f"sizes that divide those of the shard, {list(grid)}",
        )
    index = _codecs(codec.get("index_codecs", ["bytes", "crc32c"]), "index_codecs")
    names = [each["name"] for each in index]
    if names not in (["bytes"], ["bytes", "crc32c"]) or index[0].get("endian") == "big":
        said = listed([f"`{name}`" for name in names], "and")
        raise refused(f"the index codecs are {said}", "`bytes`, little-endian, and `crc32c`")
    place = one_of(codec, "index_location", ("start", "end"), default="end")
    return _codecs(codec.get("codecs"), "codecs"), chunks, index, place == "start"


def _ordered(codecs: Sequence[Codec], held: np.dtype[Any], rank: int) -> np.dtype[Any]:
    """Check the order of codecs, and return the type in the byte order they say."""
    names = [codec["name"] for codec in codecs]
    said = listed([f"`{name}`" for name in names], "and")
    if names.count("bytes") != 1 or "sharding_indexed" in names:
        raise refused(f"the codecs are {said}", "`bytes` once")
    at = names.index("bytes")
    if any(name != "transpose" for name in names[:at]) or "transpose" in names[at:]:
        raise refused(f"the codecs are {said}", "`transpose` before `bytes`, the others behind it")
    if sum(name in COMPRESSORS for name in names) > 1:
        raise refused(f"the codecs are {said}", "one compressor")
    for codec in codecs[:at]:
        order = codec.get("order")
        sound = isinstance(order, list) and all(type(each) is int for each in order)
        if not isinstance(order, list) or not sound or sorted(order) != list(range(rank)):
            raise refused(f"the codec `transpose` is told {shown(order)}", f"{rank} axes")
    endian = codecs[at].get("endian")
    if endian not in ("little", "big", None) or (endian is None and held.itemsize > 1):
        raise refused(f"the endian of the codec `bytes` is {shown(endian)}", "`little` or `big`")
    return held.newbyteorder(">" if endian == "big" else "<")


def described(spec: ArraySpec) -> tuple[str, dict[str, Any]]:
    """Return the name of the file of metadata, and what is in it, of an array without shards."""
    names = {} if spec.names is None else {"dimension_names": spec.names}
    dtype: Any = spec.dtype.name
    if spec.dtype is STRING:
        dtype = {"name": _TEXT, "configuration": {"length_bytes": spec.held.itemsize}}
    chunks = {"chunk_shape": list(spec.chunks)}
    return "zarr.json", {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(spec.shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": chunks},
        "chunk_key_encoding": {"name": spec.keys, "configuration": {"separator": spec.separator}},
        "fill_value": spec.fill,
        "codecs": [_as_json(codec) for codec in spec.codecs],
        "attributes": spec.attributes or {},
        **names,
    }


def _as_json(codec: Codec) -> dict[str, Any]:
    told = {key: value for key, value in codec.items() if key != "name"}
    return {"name": codec["name"], "configuration": told} if told else {"name": codec["name"]}
