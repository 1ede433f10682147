"""Files of other formats are refused with Python that converts them."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.tensorfiles import archive, assert_refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def pickled(protocol: int) -> bytes:
    return pickle.dumps(np.arange(3), protocol=protocol)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["x.pkl", "x.npy", "x"])
def test_a_pickle_is_refused_unread_with_the_line_that_converts_it(
    protocol: int, name: str, run: Run, folder: Path
) -> None:
    (folder / name).write_bytes(pickled(protocol))
    ran = run("gather", name, "0")
    assert "pickle" in assert_refused(ran, "format")
    assert "allow_pickle=True" in ran.err


def test_a_pickle_runs_nothing(run: Run, folder: Path) -> None:
    for raw in (
        b"cos\nsystem\n(S'touch pwned'\ntR.",
        b"\x80\x02cos\nsystem\nU\x0btouch pwned\x85R.",
    ):
        (folder / "x.npy").write_bytes(raw)
        assert run("gather", "x.npy", "0").status == 65
    assert os.listdir(folder) == ["x.npy"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.h5", b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "h5py.File("),
        ("x.csv", b"1,2\n3,4\n", "numpy.loadtxt("),
        ("x.csv", b"a,b\n3,4\n", "numpy.loadtxt("),
        ("x.csv", b"1\n2\n", "numpy.loadtxt("),
        ("x.txt", b"1,2\n3,4\n", "numpy.loadtxt("),
        ("it's.csv", b"1,2\n", "numpy.loadtxt("),
        ("m.pt", archive({"m/data.pkl": b"\x80\2."}), "torch.load("),
    ],
)
def test_a_known_foreign_format_is_refused_with_the_line_that_converts_it(
    name: str, content: bytes, words: str, run: Run, folder: Path
) -> None:
    (folder / name).write_bytes(content)
    ran = run("gather", name, "0")
    assert ran.status == 65
    hint = next(line for line in ran.err.splitlines() if line.startswith("hint: "))
    assert words in hint


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the input is empty"),
        (b" \n\t", "the input is empty"),
        (bytes(range(256)), "starts with the bytes 00 01 02"),
        (b"\xff" * 100, "starts with the bytes ff ff"),
        (b"\x89PNG\r\n\x1a\n\0\0", "starts with the bytes 89 50 4e"),
        (b"\x1f\x8b\x08" + b"\0" * 20, "the input is compressed"),
    ],
)
def test_junk_is_refused_by_its_first_bytes(
    content: bytes, words: str, run: Run, folder: Path
) -> None:
    (folder / "x.npy").write_bytes(content)
    assert words in assert_refused(run("gather", "x.npy", "0"), "format")
    assert words in assert_refused(run("gather", "-", "0", stdin=content), "format")
