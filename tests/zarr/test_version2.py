"""Hostile metadata of version 2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import zarr
from numcodecs import Blosc

import gathercli
from tests.zarr.peer import (
    X,
    alter_metadata,
    peer_writes,
    refusal,
)

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "objects": ({"dtype": "|O"}, "dtype", "the type is `|O`: expected bool"),
    "records": ({"dtype": [["a", "<i4"]]}, "dtype", 'the type is [["a", "<i4"]]'),
    "dates": ({"dtype": "<M8[s]"}, "dtype", "the type is `<M8[s]`"),
    "bytes": ({"dtype": "|S3"}, "dtype", "the type is `|S3`"),
    "long doubles": ({"dtype": "<f16"}, "dtype", "the type is `<f16`"),
    "wide strings": (
        {"dtype": "<U500000000", "fill_value": ""},
        "limit",
        "has 70000000000 bytes to be held",
    ),
    "strings of no width": ({"dtype": "<U0"}, "dtype", "the type is `<U0`"),
    "strings without end": ({"dtype": "<U999999999"}, "dtype", "the type is `<U999999999`"),
    "a pickle": ({"filters": [{"id": "pickle"}]}, "format", "the codec is `pickle`: expected"),
    "vlen": ({"filters": [{"id": "vlen-utf8"}]}, "format", "`shuffle` or `delta`"),
    "filters that are none": ({"filters": {"id": "delta"}}, "format", "the filters are"),
    "an unknown compressor": ({"compressor": {"id": "bz2"}}, "format", "the codec is `bz2`"),
    "a compressor without a name": ({"compressor": {"level": 1}}, "format", "an object with an id"),
    "blosc without a name": ({"compressor": {"id": "blosc"}}, "format", "the cname is null"),
    "blosc with a bad name": (
        {"compressor": {"id": "blosc", "cname": "\x1b[31m"}},
        "format",
        "the cname is `\\x1b[31m`: expected `lz4`, `lz4hc`",
    ),
    "an order": ({"order": "A"}, "format", "the order is `A`: expected `C` or `F`"),
    "a separator": ({"dimension_separator": "-"}, "format", "the dimension_separator is `-`"),
    "no chunks": ({"chunks": [2, 0]}, "format", "the chunks is [2, 0]"),
    "no fill value": ({"fill_value": ...}, "format", "the fill value is missing"),
    "delta of another type": (
        {"filters": [{"id": "delta", "dtype": "<f8"}]},
        "format",
        "the codec `delta` is of the type `<f8`: expected `<i4`",
    ),
    "delta of strings": (
        {"filters": [{"id": "delta", "dtype": "<i4", "astype": "<U9"}]},
        "format",
        "expected a dtype and an astype",
    ),
    "a shuffle of nothing": (
        {"filters": [{"id": "shuffle", "elementsize": 0}]},
        "format",
        "expected an elementsize",
    ),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("members", "rule", "words"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_metadata_are_refused_by_name(
    members: dict[str, Any], rule: str, words: str
) -> None:
    peer_writes("x.zarr", X, zarr_format=2)
    alter_metadata("x.zarr", **members)

    error = refusal("x.zarr")

    assert error.rule == rule
    assert words in str(error)
    assert len(str(error)) < 500


def test_blosc_may_leave_the_size_of_its_elements_open(folder: Path) -> None:
    zarr.create_array(
        "x.zarr", shape=(4,), chunks=(2,), dtype="i4", zarr_format=2, compressors=Blosc()
    )[:] = [3, 1, 4, 1]
    metadata = json.loads((folder / "x.zarr/.zarray").read_text(encoding="utf-8"))
    metadata["compressor"]["typesize"] = None
    (folder / "x.zarr/.zarray").write_text(json.dumps(metadata), encoding="utf-8")

    assert gathercli.load("x.zarr").tolist() == [3, 1, 4, 1]
