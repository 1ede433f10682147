"""Metadata files are sound JSON in regular files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest
import zarr
from numcodecs import Blosc

import gathercli
from tests.io.zarr.peer import BYTES, ZSTD, X, alter_metadata, peer_writes, refusal, sharding

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"zarr_format":3,"zarr_format":3}', "repeated"),
        ("[]", "not a JSON object"),
        ("", "expected JSON"),
        ("{", "expected JSON"),
        ("\xff", "expected UTF-8"),
    ],
    ids=["depth", "keys twice", "a list", "nothing", "half", "bytes"],
)
@pytest.mark.parametrize("name", ["zarr.json", ".zarray", ".zgroup"])
def test_metadata_that_are_not_valid_json_are_refused(name: str, text: str, words: str) -> None:
    os.mkdir("x.zarr")
    with open(f"x.zarr/{name}", "wb") as out:
        out.write(text.encode("latin-1"))

    error = refusal("x.zarr")

    assert error.rule == "format"
    assert words in str(error)
    assert f"`{name}`" in str(error)


@pytest.mark.usefixtures("folder")
def test_metadata_that_are_no_regular_file_are_refused_at_once() -> None:
    os.mkdir("x.zarr")

    os.mkfifo("x.zarr/zarr.json")

    assert "`zarr.json` is not a regular file" in str(refusal("x.zarr"))

    os.unlink("x.zarr/zarr.json")

    os.symlink("/dev/zero", "x.zarr/zarr.json")

    assert "`zarr.json` is not a regular file" in str(refusal("x.zarr"))

    os.unlink("x.zarr/zarr.json")

    os.symlink("zarr.json", "x.zarr/zarr.json")

    assert refusal("x.zarr").status == 66

    os.unlink("x.zarr/zarr.json")
    with open("x.zarr/zarr.json", "wb") as out:
        out.truncate(17 << 20)

    assert refusal("x.zarr").rule == "limit"


@pytest.mark.usefixtures("folder")
def test_a_layout_needs_no_package() -> None:
    peer_writes("x.zarr", X)
    code = """
import sys
from gathercli.cli import main
assert main(["info", "--header", "x.zarr"]) == 0
assert main(["shape", "gather", "x.zarr", "2,3"]) == 0
assert not {"zarr", "numcodecs"} & set(sys.modules)
sys.modules["numcodecs"] = None
assert main(["info", "x.zarr"]) == 65
"""

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "the format needs the package numcodecs: expected it to be installed" in ran.stderr
    assert "pip install 'gathercli[zarr]'" in ran.stderr


WRONG_2: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
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
@pytest.mark.parametrize(("members", "rule", "words"), WRONG_2.values(), ids=WRONG_2)
def test_wrong_metadata_of_version_2_are_refused_by_name(
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


WRONG_3: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
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
@pytest.mark.parametrize(("members", "rule", "words"), WRONG_3.values(), ids=WRONG_3)
def test_wrong_metadata_of_version_3_are_refused_by_name(
    members: dict[str, Any], rule: str, words: str
) -> None:
    peer_writes("x.zarr", X, zarr_format=3)
    alter_metadata("x.zarr", **members)

    error = refusal("x.zarr")

    assert error.rule == rule
    assert words in str(error)
    assert len(str(error)) < 500
