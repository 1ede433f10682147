"""Hostile metadata of version 3."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.zarr.peer import (
    BYTES,
    ZSTD,
    X,
    alter_metadata,
    peer_writes,
    refusal,
    sharding,
)

HOSTILE: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "version 4": ({"zarr_format": 4}, "format", "the zarr_format is 4: expected 3"),
    "version True": ({"zarr_format": True}, "format", "zarr_format is true"),
    "no shape": ({"shape": ...}, "format", "the shape is null"),
    "a negative size": ({"shape": [-1, 7]}, "format", "expected a list of sizes from 0 on"),
    "a size of a float": ({"shape": [5.0, 7]}, "format", "the shape is [5.0, 7]"),
    "a size that is true": ({"shape": [True, 7]}, "format", "the shape is [true, 7]"),
    "a huge size": ({"shape": [2**63, 7]}, "format", "the shape is [9223372036854775808, 7]"),
    "a huge shape": ({"shape": [2**40, 2**40]}, "limit", "less than 2^63 bytes"),
    "no chunk": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 3]}}},
        "format",
        "the chunk_shape is [0, 3]: expected a list of sizes from 1 on",
    ),
    "another rank": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}},
        "format",
        "the chunk_shape has 1 size: expected 2",
    ),
    "a large chunk": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 20, 3]}}},
        "limit",
        "a chunk of the array has 12582912 bytes to be held in memory",
    ),
    "a huge chunk": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**62, 2**62]}}},
        "limit",
        "a chunk of the array has the shape",
    ),
    "an irregular grid": (
        {"chunk_grid": {"name": "rectangular", "configuration": {}}},
        "format",
        "the chunk grid is `rectangular`: expected `regular`",
    ),
    "unknown names of chunks": (
        {"chunk_key_encoding": {"name": "../evil", "configuration": {}}},
        "format",
        "expected `default` or `v2`",
    ),
    "a separator": (
        {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/../"}}},
        "format",
        "the separator is `/../`: expected `.` or `/`",
    ),
    "a storage transformer": (
        {"storage_transformers": [{"name": "x", "configuration": {}}]},
        "format",
        "storage transformers",
    ),
    "an unknown member": ({"extra": 1}, "format", "the metadata has the member `extra`"),
    "an unknown type": ({"data_type": "r24"}, "dtype", "the type is `r24`: expected bool, int8"),
    "bfloat16": ({"data_type": "bfloat16"}, "dtype", "the type is `bfloat16`"),
    "strings of any length": ({"data_type": "string"}, "dtype", "strings of a fixed width"),
    "a date": (
        {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s"}}},
        "dtype",
        'the type is {"name": "numpy.datetime64"',
    ),
    "half a character": (
        {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}},
        "dtype",
        "the length of the strings in bytes is 6: expected a multiple of 4",
    ),
    "no fill value": ({"fill_value": ...}, "format", "the fill value is missing"),
    "a fill value of lists": ({"fill_value": [[1]]}, "format", "the fill value is [[1]]"),
    "a fill value that is too large": (
        {"fill_value": 1 << 31},
        "format",
        "the fill value is 2147483648: expected one of int32",
    ),
    "a fill value of a word": (
        {"fill_value": "x"},
        "format",
        "the fill value is `x`: expected one of int32",
    ),
    "an unknown codec": (
        {"codecs": [BYTES, {"name": "numcodecs.pickle"}]},
        "format",
        "the codec is `numcodecs.pickle`: expected `transpose`, `bytes`",
    ),
    "vlen": ({"codecs": [{"name": "vlen-utf8"}]}, "format", "the codec is `vlen-utf8`"),
    "no codecs": ({"codecs": []}, "format", "the codecs is []"),
    "two compressors": ({"codecs": [BYTES, ZSTD, ZSTD]}, "format", "expected one compressor"),
    "codecs in no order": ({"codecs": [ZSTD, BYTES]}, "format", "the codecs are `zstd` and"),
    "no bytes": ({"codecs": [ZSTD]}, "format", "the codecs are `zstd`: expected `bytes` once"),
    "no byte order": ({"codecs": ["bytes"]}, "format", "expected `little` or `big`"),
    "a codec told nonsense": (
        {"codecs": [BYTES, {"name": "gzip", "configuration": {"level": "9"}}]},
        "format",
        "the codec `gzip` is told that `level` is `9`: expected level",
    ),
    "axes that are none": (
        {"codecs": [{"name": "transpose", "configuration": {"order": [0, 2]}}, BYTES]},
        "format",
        "the codec `transpose` is told [0, 2]: expected 2 axes",
    ),
    "chunks that do not fit": (
        {"codecs": sharding(chunk_shape=[2, 2])},
        "format",
        "expected sizes that divide those of the shard, [2, 3]",
    ),
    "shards in shards": ({"codecs": sharding(codecs=sharding())}, "format", "`bytes` once"),
    "a packed index": (
        {"codecs": sharding(index_codecs=[BYTES, ZSTD])},
        "format",
        "the index codecs are `bytes` and `zstd`",
    ),
    "a shard that is packed": ({"codecs": [*sharding(), ZSTD]}, "format", "alone"),
    "many chunks in a shard": (
        {
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 10, 3 << 10]}},
            "codecs": sharding(chunk_shape=[1, 1]),
        },
        "limit",
        "a shard holds 3145728 chunks: expected at most 32768",
    ),
    "another kind of node": ({"node_type": "plan"}, "format", "the node_type of `zarr.json` is"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("members", "rule", "words"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_metadata_are_refused_by_name(
    members: dict[str, Any], rule: str, words: str
) -> None:
    peer_writes("x.zarr", X, zarr_format=3)
    alter_metadata("x.zarr", **members)

    error = refusal("x.zarr")

    assert error.rule == rule
    assert words in str(error)
    assert len(str(error)) < 500
