"""`reproduce`: a folder that shows what a runtime does, and needs nothing but the runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conftest import only_error

if TYPE_CHECKING:
    from tests.conftest import Run


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_runtime_that_agrees_is_said_to_and_nothing_is_written(folder: Path, run: Run) -> None:
    ran = run("reproduce", "gather", "[10,20]", "-1,0", "--for", "numpy", "-o", "out")

    calls = "np.take(data, indices, axis=0) and data[indices]"
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"numpy {np.__version__} agrees, so nothing is written: {calls}\n"
    assert files(folder) == set()


def test_a_call_that_the_version_refuses_has_no_expected_result(folder: Path, run: Run) -> None:
    run("reproduce", "gather", "[10,20]", "-1,", "-V", "onnx-1", "--for", "numpy", "-o", "out")

    text = (folder / "out" / "report.md").read_text()
    assert "gives [20], where the version refuses" in text
    assert "So the call is an error, by the rule `index-range`: index -1 at `[0]` is" in text
    assert "expected.npy" not in files(folder / "out")


def test_a_runtime_that_is_not_installed_gets_its_folder_only_if_it_may_be_absent(
    python: str, folder: Path, run: Run
) -> None:
    words = ("reproduce", "gather", "[1,2]", "1,", "--for", f"torch={python}", "-o", "out")

    strict = run(*words)
    is_written = (folder / "out").exists()
    ran = run(*words, "--allow-absent")

    assert (strict.status, is_written, ran.status) == (1, False, 0)
    assert strict.out == ran.out
    assert ran.out == "torch cannot be started: OSError: libtorch.so: cannot open\n"
    text = (folder / "out" / "report.md").read_text()
    assert "`python reproduce.py` in this folder calls it where it is installed.\n" in text
    assert "The script was not run, as here torch cannot be started: OSError" in text


def test_a_result_that_changes_is_unsteady_in_title_and_table(python: str, run: Run) -> None:
    words = ("reproduce", "gather", "[4,7]", "1,", "-V", "onnx-13", "-o", "out")

    ran = run(*words, "--for", f"onnxruntime={python}")

    text = Path("out", "report.md").read_text()
    assert (
        ran.out == "onnxruntime 9.9.9, Gather-13: unsteady: three runs differ at [0]: 0, 1 and 2\n"
    )
    assert text.startswith(f"# {ran.out}")
    assert "| Gather-13 | unsteady: three runs differ at [0]: 0, 1 and 2 |\n" in text
    assert "Other runs give other values" in text
    assert "=165 python reproduce.py\n" in text


def test_a_folder_that_has_files_is_left_alone(folder: Path, run: Run) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine").touch()

    ran = run("reproduce", "gather", "[1,2]", "1,", "--for", "numpy", "-o", "out")

    assert ran.status == 73
    assert only_error(ran) == "error: `out` exists: expected the name of a new folder"
    assert files(folder) == {"out"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--for", "onnxruntime"], "`--for` is `onnxruntime`, which has no call of openvino.Ga"),
        (["--for", "torch,numpy"], "`--for` is `torch,numpy`: expected one runtime"),
        (["--for", "numpy", "-b", "1"], "`--for` is `numpy`, which has no call of openvino.Gather"),
        (
            ["--for", "openvino", "--data-dtype", "complex64"],
            "`--for` is `openvino`, which has no c",
        ),
    ],
)
def test_a_call_that_the_runtime_does_not_have_is_refused(
    options: list[str], message: str, folder: Path, run: Run
) -> None:
    ran = run("reproduce", "gather", "[[1,2]]", "[[1]]", "-o", "out", *options)

    assert ran.status in (2, 65)
    assert only_error(ran).startswith(f"error: {message}")
    assert files(folder) == set()
