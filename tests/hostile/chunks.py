"""Folders of chunks whose links lead out of them: to what nobody should read as a tensor."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.hostile.case import Case, answered, refused

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET: Final = "root:x:0"
"""Eight bytes beside the folder, as many as a chunk has."""

BYTES: Final = {"name": "bytes"}
INDEX: Final = {"name": "bytes", "configuration": {"endian": "little"}}
SHARDED: Final = {
    "name": "sharding_indexed",
    "configuration": {"chunk_shape": [4], "codecs": [BYTES], "index_codecs": [INDEX]},
}
OUT: Final = "links out of its folder"


def array(path: str, *, codec: dict[str, Any] = BYTES) -> Path:
    """Make an array of two chunks of eight bytes, without a chunk."""
    folder = Path(path)
    (folder / "c").mkdir(parents=True)
    told = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [16],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [codec],
    }
    (folder / "zarr.json").write_text(json.dumps(told))
    Path("secret").write_text(SECRET)
    return folder


def _metadata(name: str, content: dict[str, Any]) -> Callable[[], None]:
    def make() -> None:
        Path("x.zarr").mkdir()
        Path("elsewhere.json").write_text(json.dumps(content))
        os.symlink("../elsewhere.json", f"x.zarr/{name}")

    return make


def _chunk(*, codec: dict[str, Any] = BYTES) -> Callable[[], None]:
    return lambda: os.symlink("../../secret", array("x.zarr", codec=codec) / "c/0")


def _absolute() -> None:
    os.symlink(os.path.abspath("secret"), array("x.zarr") / "c/0")


def _twice() -> None:
    os.symlink("1", array("x.zarr") / "c/0")
    os.symlink("../../secret", "x.zarr/c/1")


def _folder(name: str) -> Callable[[], None]:
    def make() -> None:
        os.mkdir("elsewhere")
        (array("x.zarr") / "c").rmdir()
        Path("elsewhere", name).write_text(SECRET)
        os.symlink("../elsewhere", "x.zarr/c")

    return make


def _neighbour() -> None:
    """Make a folder whose name begins as that of the array does."""
    array("x.zarr.old")
    Path("x.zarr.old/c/0").write_text(SECRET)
    os.symlink("../../x.zarr.old/c/0", array("x.zarr") / "c/0")


def _member() -> None:
    array("elsewhere")
    os.mkdir("x.zarr")
    Path("x.zarr/zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    os.symlink("../elsewhere", "x.zarr/a")


def _within() -> None:
    os.symlink("1", array("real.zarr") / "c/0")
    Path("real.zarr/c/1").write_bytes(bytes(range(8)))
    os.symlink("real.zarr", "x.zarr")


GATHER: Final = "gather x.zarr 0"
LINKS: Final[list[tuple[str, str, str, Callable[[], None]]]] = [
    ("metadata of version 3", GATHER, f"`zarr.json` {OUT}",
     _metadata("zarr.json", {"zarr_format": 3, "node_type": "array"})),
    ("metadata of version 2", GATHER, f"`.zarray` {OUT}", _metadata(".zarray", {"zarr_format": 2})),
    ("metadata of a group", "info x.zarr", f"`.zgroup` {OUT}",
     _metadata(".zgroup", {"zarr_format": 2})),
    ("a chunk", GATHER, f"`x.zarr/c/0` cannot be read (it {OUT})", _chunk()),
    ("a chunk and is converted", "convert x.zarr - --to bin", f"(it {OUT})", _chunk()),
    ("a chunk by the root", GATHER, f"(it {OUT})", _absolute),
    ("a chunk through another", GATHER, f"(it {OUT})", _twice),
    ("a chunk to a folder of a longer name", GATHER, f"(it {OUT})", _neighbour),
    ("a shard", GATHER, f"(it {OUT})", _chunk(codec=SHARDED)),
    ("the folder of the chunks", GATHER, f"(it {OUT})", _folder("0")),
    ("the folder of chunks that are absent", GATHER, f"(it {OUT})", _folder("1")),
    ("a member of a group", "gather x.zarr#a 0", "the group has no arrays", _member),
]  # fmt: skip

CASES: Final[list[Case]] = [
    *(
        Case(
            id=f"a link out of a folder of chunks as {sentence}".replace(" ", "-"),
            argv=tuple(line.split()),
            rule="format",
            words=(words,),
            absent=("root", "114"),
            setup=setup,
        )
        for sentence, line, words, setup in LINKS
    ),
    answered("links to a folder of chunks and within it", "gather x.zarr [3,15]", "[3,7]\n",
             setup=_within),
    refused("a chunk that links to itself", GATHER, "unreadable", "symbolic links", status=66,
            setup=lambda: os.symlink("0", array("x.zarr") / "c/0")),
]  # fmt: skip
