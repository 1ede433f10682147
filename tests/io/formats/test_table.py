"""The table of formats: a made-up format needs a module and a row, and nothing else."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gathercli
from gathercli.compute.tensor import Tensor
from gathercli.io.formats.content import Content, ElementTypes
from gathercli.io.formats.table import (
    BY_SUFFIX,
    FORMATS,
    MODELS,
    Format,
    is_chunked,
    load,
    names_chunks,
    row_of,
)
from gathercli.spec.dtypes import INT64

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gathercli.io.files import File
    from gathercli.io.formats.encode import TextOptions
    from gathercli.io.formats.npy import NamedResult
    from tests.conftest import Run


MARK = b"#cells "


class Cells(Content):
    """A list of integers, a line each, below a line that counts them."""

    format = "cells"

    def __init__(self, file: File) -> None:
        super().__init__(file)
        lines = bytes(file.buffer()).decode().split("\n")[1:-1]
        self._array = np.array(lines, np.int64)

    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        del key, types
        return Tensor(INT64, self._array)


def cells_file(results: Sequence[NamedResult], options: TextOptions) -> Iterator[bytes]:
    del options
    ((_, result),) = results
    elements = result.whole().array.reshape(-1).tolist()
    yield f"#cells {len(elements)}\n".encode()
    yield from (f"{each}\n".encode() for each in elements)


@pytest.fixture
def _cells(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("made_up")
    module.Cells, module.cells_file = Cells, cells_file
    row = Format(
        ".cells",
        ".cells",
        sniff=lambda start: start.startswith(MARK),
        reader="made_up:Cells",
        writer="made_up:cells_file",
    )
    monkeypatch.setitem(sys.modules, "made_up", module)
    monkeypatch.setitem(FORMATS, "cells", row)
    monkeypatch.setitem(BY_SUFFIX, ".cells", "cells")


@pytest.mark.usefixtures("_cells")
def test_a_new_row_reads_files_by_their_first_bytes(run: Run, folder: Path) -> None:
    (folder / "x").write_text("#cells 3\n5\n6\n7\n")

    assert run("gather", "x", "2,0") == (0, "[7,5]\n", "")
    assert gathercli.load("x").tolist() == [5, 6, 7]
    assert "cells" in run("info", "x").out


@pytest.mark.usefixtures("_cells")
def test_a_new_row_writes_files_by_their_suffix(run: Run, folder: Path) -> None:
    assert run("gather", "[5,6,7]", "2,0", "-o", "y.cells").status == 0
    assert (folder / "y.cells").read_text() == "#cells 2\n7\n5\n"

    gathercli.save("z.cells", np.array([1, 2]))
    assert (folder / "z.cells").read_text() == "#cells 2\n1\n2\n"


@pytest.mark.usefixtures("_cells")
def test_a_new_row_is_converted_in_both_directions(run: Run, folder: Path) -> None:
    (folder / "x.cells").write_text("#cells 2\n-1\n9\n")

    assert run("convert", "x.cells", "x.npy") == (0, "", "")
    assert run("convert", "x.npy", "y.cells") == (0, "", "")

    assert np.load("x.npy").tolist() == [-1, 9]
    assert (folder / "y.cells").read_text() == (folder / "x.cells").read_text()


@pytest.mark.usefixtures("_cells")
def test_messages_offer_a_new_row_as_a_format_of_one_tensor(run: Run, folder: Path) -> None:
    np.savez(folder / "two.npz", a=[1], b=[2])
    os.mkdir("files")
    (folder / "files/x.cells").write_text("#cells 1\n4\n")

    assert ".zarr or .cells\n" in run("convert", "[1]", "x.what").err
    assert "x.cells` holds one tensor" in run("convert", "[1]", "[2]", "x.cells").err
    assert "hint: it holds `files/x.cells`\n" in run("gather", "files", "0").err


@pytest.mark.parametrize("name", FORMATS | MODELS)
def test_every_function_that_a_row_names_exists(name: str) -> None:
    row = row_of(name)

    paths = (row.reader, row.writer, row.losses)

    assert all(callable(load(path)) for path in paths if path)
    assert row.writer or name not in FORMATS


def test_a_suffix_tells_whether_an_output_is_a_folder_of_chunks() -> None:
    assert [names_chunks(name) for name in ("x.zarr", "X.ZARR/", "x.npy", "zarr")] == [
        True,
        True,
        False,
        False,
    ]
    assert not is_chunked("pretty")


def test_the_manual_describes_every_format(run: Run) -> None:
    lines = set(map(str.strip, run("man", "formats").out.splitlines()))

    described = {line.rpartition(" (")[2].removesuffix(")") for line in lines}
    assert (FORMATS | MODELS).keys() <= described
