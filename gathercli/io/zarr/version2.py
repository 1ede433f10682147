"""The metadata of version 2: the files ``.zarray``, ``.zgroup`` and ``.zattrs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.storage import dtype_of
from gathercli.io.zarr.arrayspec import (
    ArraySpec,
    codec_of,
    fill_of,
    invalid,
    one_of,
    quote,
    refuse_type,
    sizes,
)

if TYPE_CHECKING:
    from gathercli.io.zarr.arrayspec import Codec

FILES: Final = (".zarray", ".zgroup")
ATTRIBUTES: Final = ".zattrs"

COMPRESSORS: Final[dict[str, dict[str, type]]] = {
    "blosc": {"cname": str, "clevel": int, "blocksize": int, "typesize": int, "shuffle": int},
    "zstd": {"level": int, "checksum": bool},
    "gzip": {"level": int},
    "zlib": {"level": int},
    "lz4": {"acceleration": int},
}
"""The compressors and the types of their options."""

FILTERS: Final = ("shuffle", "delta")
"""The filters, applied before the compressor."""

_TYPE: Final = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16|U[1-9]\d{0,8})", re.ASCII)


def is_array(name: str, _: dict[str, Any]) -> bool:
    """Tell whether a metadata file describes an array."""
    return name == ".zarray"


def parse(members: dict[str, Any]) -> ArraySpec:
    """Validate the metadata of an array."""
    shape = sizes(members, "shape", least=0)
    chunks = sizes(members, "chunks", least=1, rank=len(shape))
    name = members.get("dtype")
    if not isinstance(name, str) or not _TYPE.fullmatch(name):
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
        raise invalid(f"the filters are {quote(filters)}", "a list of codecs, or null")
    codecs = [_filter(each, file_dtype) for each in filters or ()]
    if members.get("compressor") is not None:
        codecs.append(_codec(members["compressor"], tuple(COMPRESSORS)))
    fill = fill_of(members, dtype)
    types, sizes_ = (dtype, file_dtype), (shape, chunks, chunks)
    return ArraySpec(2, *types, *sizes_, tuple(codecs), fill, order, separator=separator)


def _codec(value: object, names: tuple[str, ...]) -> Codec:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise invalid(f"the codec is {quote(value)}", "an object with an id")
    options = {key: option for key, option in value.items() if key != "id"}
    if value["id"] == "blosc" and options.get("typesize", 0) is None:
        del options["typesize"]  # numcodecs 0.16.0 writes null for the size of the elements
    return codec_of(value["id"], options, names, COMPRESSORS)


def _filter(value: object, file_dtype: np.dtype[Any]) -> Codec:
    """Check a filter."""
    codec = _codec(value, FILTERS)
    if codec["name"] == "shuffle":
        size = codec.get("elementsize", 4)
        if codec.keys() - {"name", "elementsize"} or type(size) is not int or not 0 < size < 256:
            raise invalid(f"the codec `shuffle` is told {quote(codec)}", "an elementsize")
        return codec
    names = [codec.get("dtype"), codec.get("astype", codec.get("dtype"))]
    if codec.keys() - {"name", "dtype", "astype"} or any(
        not isinstance(name, str) or not _TYPE.fullmatch(name) or "U" in name for name in names
    ):
        raise invalid(f"the codec `delta` is told {quote(codec)}", "a dtype and an astype")
    if names[0] != file_dtype.str:
        raise invalid(f"the codec `delta` is of the type `{names[0]}`", f"`{file_dtype.str}`")
    return codec


def to_json(spec: ArraySpec) -> tuple[str, dict[str, Any]]:
    """Return the name and the members of the metadata file of an array."""
    filters = [_codec_to_json(codec) for codec in spec.codecs if codec["name"] in FILTERS]
    compressors = [_codec_to_json(codec) for codec in spec.codecs if codec["name"] not in FILTERS]
    return FILES[0], {
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


def _codec_to_json(codec: Codec) -> dict[str, Any]:
    return {"id" if key == "name" else key: value for key, value in codec.items()}
