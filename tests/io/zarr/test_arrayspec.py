"""Orders, names of chunk files, and fill values."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from zarr import codecs as zc

from tests.io.zarr.peer import (
    X,
    alter_metadata,
    both,
    create,
    files_of,
    identical,
    open_array,
    peer_reads,
    peer_writes,
    read,
    refusal,
)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "options",
    [
        {"zarr_format": 2, "order": "F"},
        {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
        {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "."}},
        {"chunk_key_encoding": {"name": "default", "separator": "."}},
        {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
        {"serializer": zc.BytesCodec(endian="big")},
    ],
    ids=str,
)
def test_orders_and_names_of_chunks_are_read_and_used_for_a_copy(options: dict[str, Any]) -> None:
    peer_writes("x.zarr", X, **options)

    assert identical(read("x.zarr"), X)

    create("y.zarr", X, (2, 3), open_array("x.zarr"))

    assert sorted(files_of("y.zarr")) == sorted(set(files_of("x.zarr")) - {".zattrs"})
    assert identical(peer_reads("y.zarr"), X)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("f4", float("nan")),
        ("f8", float("-inf")),
        ("i4", -7),
        ("u8", 2**64 - 1),
        ("?", True),
        ("c8", complex(1, -2)),
        ("<U3", "é"),
        ("f4", -0.0),
    ],
)
@both
def test_absent_chunks_hold_the_fill_value(dtype: str, fill: Any, version: int) -> None:
    peer_writes("x.zarr", np.empty(0, dtype), shape=(3, 4), zarr_format=version, fill_value=fill)

    assert identical(read("x.zarr"), np.full((3, 4), fill, dtype))
    assert files_of("x.zarr") in (["zarr.json"], [".zarray", ".zattrs"], [".zattrs", ".zarray"])


@pytest.mark.usefixtures("folder")
def test_a_fill_value_that_is_null_is_zero() -> None:
    peer_writes("x.zarr", np.empty(0, "<U3"), shape=(2, 3), zarr_format=2)

    alter_metadata("x.zarr", fill_value=None)

    assert identical(read("x.zarr"), np.zeros((2, 3), "<U3"))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("dtype", "fill", "bits"),
    [
        ("f4", "0x7fc00001", b"\x01\x00\xc0\x7f"),  # a NaN that the word does not say
        ("f8", "NaN", struct.pack("<d", float("nan"))),
        ("f2", "-Infinity", struct.pack("<e", float("-inf"))),
        ("c8", ["0x3f800000", "Infinity"], struct.pack("<2f", 1, float("inf"))),
        ("i2", -7.0, struct.pack("<h", -7)),
        ("?", 1, b"\x01"),
    ],
)
def test_a_fill_value_may_be_a_word_or_bits(dtype: str, fill: Any, bits: bytes) -> None:
    peer_writes("x.zarr", np.empty(0, dtype), shape=(1, 2))
    alter_metadata("x.zarr", fill_value=fill)

    assert read("x.zarr").tobytes() == bits * 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("fill", ["0x", "nan", "0x7fc0000", "0xzzzzzzzz", [1, 2], {}])
def test_a_fill_value_that_is_no_number_is_refused(fill: Any) -> None:
    peer_writes("x.zarr", np.empty(0, "f4"), shape=(1, 2))
    alter_metadata("x.zarr", fill_value=fill)

    assert str(refusal("x.zarr")).startswith("x.zarr: the fill value is ")
