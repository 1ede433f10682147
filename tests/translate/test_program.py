"""Code that a translation writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.translate.targets import translation_targets
from tests.translate.test_command import CALL

if TYPE_CHECKING:
    from tests.conftest import Run


def test_code_that_is_written_runs_by_itself(run: Run, folder: Path) -> None:
    ran = run(*CALL, "--to", "numpy", "-o", "take.py", "--with", "numpy")

    assert ran.status == 0
    assert f"numpy {np.__version__} agrees on all 101 calls\n" in ran.out
    code = (
        "import numpy as np, take; "
        "print(take.gather(np.array([[1.5,2],[3,4]]), np.array([[0,-1],[1,7]])).tolist())"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=True, text=True)
    assert done.stdout == "[[1.5, 2.0], [4.0, 0.0]]\n"


def test_an_existing_file_is_kept_with_no_clobber(run: Run, folder: Path) -> None:
    (folder / "x.py").write_text("old")

    ran = run(*CALL, "--to", "numpy", "-o", "x.py", "--no-clobber")

    assert ran.status == 73
    assert (folder / "x.py").read_text() == "old"


@pytest.mark.parametrize("to", [each.name for each in translation_targets()])
def test_a_written_translation_is_quiet(to: str, run: Run, folder: Path) -> None:
    name = {"onnx-13": "x.onnx", "openvino-8": "x.xml"}.get(to, "x.py")

    ran = run("translate", "gather", "[1,2]", "[0]", "--to", to, "-o", name, "-q")

    assert ran == (0, "", "")
    assert (folder / name).exists()
