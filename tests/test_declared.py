"""Files of a few bytes that declare very many indices: the size of the result is checked first."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
import pytest

from gathercli.compute import array_run as arrays_run
from gathercli.compute import streamed, tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]

MANY: Final = 10**12
SIDE: Final = 10**4
SHAPES: Final = {"i": (MANY,), "t": (MANY, 1), "steps": (SIDE, SIDE, SIDE), "lengths": (SIDE,)}
"""The tensors of all families: indices, tuples, step_ids and parent_ids, max_seq_len."""


def zarr(name: str, shape: tuple[int, ...]) -> str:
    """Declare an array of int64 without a chunk."""
    chunks = [min(1000, n) for n in shape]
    members = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "int64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    path = Path(f"{name}.zarr")
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps(members))
    return str(path)


def npy(name: str, shape: tuple[int, ...]) -> str:
    """Declare an array of int64 in a sparse file."""
    path = Path(f"{name}.npy")
    with path.open("wb") as file:
        header = {"descr": "<i8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 8 * int(np.prod(shape)))
    return str(path)


def safetensors(name: str, shape: tuple[int, ...]) -> str:
    """Declare an array of int64 in a sparse file."""
    path, size = Path(f"{name}.safetensors"), 8 * int(np.prod(shape))
    text = json.dumps({"x": {"dtype": "I64", "shape": shape, "data_offsets": [0, size]}}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(file.tell() + size)
    return str(path)


CALLS: Final = {
    "gather": "gather 1,2 {i}",
    "gather-elements": "gather-elements 1,2 {i} -a 0",
    "gather-nd": "gather-nd 1,2 {t}",
    "gather-tree": "gather-tree {steps} {steps} {lengths} 0",
}


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where an index is read."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise AssertionError("an index was read")

    for module, name in (
        (arrays_run, "check_indices"),
        (streamed, "check_indices"),
        (tree, "follow_parents"),
    ):
        monkeypatch.setattr(module, name, fail)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("declare", [zarr, npy, safetensors])
def test_a_result_that_is_too_large_is_refused_before_any_index_is_read(
    declare: Callable[[str, tuple[int, ...]], str], call: str, run: Run
) -> None:
    words = call.format(**{name: declare(name, shape) for name, shape in SHAPES.items()}).split()

    refused = {end: run(*words, *end.split()) for end in ("", "-o x.npy", "-o x.zarr")}
    lifted = run(*words, "-o", "x.npy", "--max-bytes", "0")

    for end, ran in refused.items():
        assert (ran.status, ran.out) == (73 if "zarr" in end else 65, ""), ran.err
        assert "the result" in ran.err
    assert lifted.status == 73
    assert "the disk has" in lifted.err
    assert not list(Path().glob("x.*"))
