"""A file that is cut off anywhere is called truncated, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import gathercli
from gathercli.errors import GatherError
from gathercli.io.formats.table import FORMATS
from tests.modelfiles import tour_ir, tour_onnx

if TYPE_CHECKING:
    from pathlib import Path


BINARY = [name for name, row in FORMATS.items() if row.binary and row.sniff]


def message_of(name: str) -> str:
    """Return the message of the error for a tensor file."""
    with pytest.raises(GatherError) as raised:
        gathercli.load(name)

    return raised.value.message


@pytest.mark.parametrize("fmt", BINARY)
def test_a_tensor_file_of_any_smaller_size_is_called_truncated(fmt: str, folder: Path) -> None:
    path = folder / f"x{FORMATS[fmt].suffix}"
    gathercli.save(path, np.arange(6).reshape(2, 3))
    whole = path.read_bytes()
    unsaid = []

    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        if "truncated" not in message_of(str(path)):
            unsaid.append(size)

    assert unsaid == []


def test_an_archive_of_packed_members_of_any_smaller_size_is_called_truncated(folder: Path) -> None:
    path = folder / "x.npz"
    np.savez_compressed(path, a=np.arange(6), b=np.arange(3))
    whole = path.read_bytes()
    unsaid = []

    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        if "truncated" not in message_of(f"{path}#a"):
            unsaid.append(size)

    assert unsaid == []


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
def test_a_model_of_any_smaller_size_is_called_truncated(suffix: str, folder: Path) -> None:
    models = pytest.importorskip("gathercli.models.files")
    path = folder / f"x{suffix}"
    if suffix == ".onnx":
        path.write_bytes(tour_onnx().SerializeToString())
    else:
        tour_ir().save(path)
    whole = path.read_bytes().rstrip()
    unsaid = []

    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(GatherError) as raised:
            models.read(str(path), models.ReadOptions())
        if "truncated" not in raised.value.message:
            unsaid.append(whole[:size])

    assert [part for part in unsaid if len(part) > 3] == []  # no graph begins in three bytes


def test_a_broken_file_of_its_full_size_is_not_called_truncated(folder: Path) -> None:
    path = folder / "x.npz"
    np.savez(path, a=np.arange(6))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"PK\1\2", b"PK\1\3"))

    message = message_of(str(path))

    assert "no zip archive" in message
