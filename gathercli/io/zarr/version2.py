"""Metadata of version 2: the file ``.zarray``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.arrays.tensor import dtype_of
from gathercli.io.zarr.arrayspec import ArraySpec
from gathercli.io.zarr.members import (
    check_fill,
    codec_of,
    one_of,
    refuse_type,
    refused,
    shown,
    sizes,
)

if TYPE_CHECKING:
    from gathercli.io.zarr.arrayspec import Codec

COMPRESSORS: Final[dict[str, dict[str, type]]] = {
    "blosc": {"cname": str, "clevel": int, "blocksize": int, "typesize": int, "shuffle": int},
    "zstd": {"level": int, "checksum": bool},
    "gzip": {"level": int},
    "zlib": {"level": int},
    "lz4": {"acceleration": int},
}
"""What makes bytes fewer, and the type of each member it may be told."""

FILTERS: Final = ("shuffle", "delta")
"""What comes before it."""

_TYPE: Final = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16|U[1-9]\d{0,8})", re.ASCII)


def parse(found: dict[str, Any]) -> ArraySpec:
    """Check the members of an array."""
    shape = sizes(found, "shape", least=0)
    chunks = sizes(found, "chunks", least=1, rank=len(shape))
    name = found.get("dtype")
    if not isinstance(name, str) or not _TYPE.fullmatch(name):
        refuse_type(name)
    try:
        held = np.dtype(name)
    except TypeError:  # strings too wide
        refuse_type(name)
    dtype = dtype_of(held)
    if dtype is None:
        refuse_type(name)
    order = one_of(found, "order", ("C", "F"))
    separator = one_of(found, "dimension_separator", (".", "/"), default=".")
    filters = found.get("filters")
    if not isinstance(filters, list | None):
        raise refused(f"the filters are {shown(filters)}", "a list of codecs, or null")
    codecs = [_filter(each, held) for each in filters or ()]
    if found.get("compressor") is not None:
        codecs.append(_codec(found["compressor"], tuple(COMPRESSORS)))
    check_fill(found, dtype)
    return ArraySpec(
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


def _codec(value: object, known: tuple[str, ...]) -> Codec:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise refused(f"the codec is {shown(value)}", "an object with an id")
    told = {key: each for key, each in value.items() if key != "id"}
    return codec_of(value["id"], told, known, COMPRESSORS)


def _filter(value: object, held: np.dtype[Any]) -> Codec:
    """Read a filter."""
    found = _codec(value, FILTERS)
    if found["name"] == "shuffle":
        size = found.get("elementsize", 4)
        if found.keys() - {"name", "elementsize"} or type(size) is not int or not 0 < size < 256:
            raise refused(f"the codec `shuffle` is told {shown(found)}", "an elementsize")
        return found
    names = [found.get("dtype"), found.get("astype", found.get("dtype"))]
    if found.keys() - {"name", "dtype", "astype"} or any(
        not isinstance(name, str) or not _TYPE.fullmatch(name) or "U" in name for name in names
    ):
        raise refused(f"the codec `delta` is told {shown(found)}", "a dtype and an astype")
    if names[0] != held.str:
        raise refused(f"the codec `delta` is of the type `{names[0]}`", f"`{held.str}`")
    return found


def described(spec: ArraySpec) -> tuple[str, dict[str, Any]]:
    """Return the name of the file of metadata, and what is in it."""
    filters = [_as_json(codec) for codec in spec.codecs if codec["name"] in FILTERS]
    compressors = [_as_json(codec) for codec in spec.codecs if codec["name"] not in FILTERS]
    return ".zarray", {
        "zarr_format": 2,
        "shape": list(spec.shape),
        "chunks": list(spec.chunks),
        "dtype": spec.held.str,
        "fill_value": spec.fill,
        "order": spec.order,
        "dimension_separator": spec.separator,
        "filters": filters or None,
        "compressor": compressors[0] if compressors else None,
    }


def _as_json(codec: Codec) -> dict[str, Any]:
    return {"id" if key == "name" else key: value for key, value in codec.items()}
