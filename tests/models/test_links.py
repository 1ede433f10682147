"""Data of a model behind a link, as in the cache of Hugging Face: a hint that copies them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data

from tests.modelfiles import Ir, one_gather

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]

ODD = "it's a {model} $HOME \x1b"


def link_to_blobs(*paths: Path) -> None:
    """Put files into a folder of blobs, and links to them in their places."""
    os.makedirs("blobs", exist_ok=True)
    for number, path in enumerate(paths):
        blob = Path("blobs", str(number))
        os.replace(path, blob)
        os.symlink(os.path.relpath(blob, path.parent), path)


def make_onnx(folder: Path, name: str) -> Path:
    path = folder / f"{name}.onnx"
    model = one_gather(indices=[2, 0])
    convert_model_to_external_data(model, location=f"{name}.data", size_threshold=0)
    onnx.save(model, path)
    link_to_blobs(path, folder / f"{name}.data")
    return path


def make_ir(folder: Path, name: str) -> Path:
    ir = Ir()
    data = ir.parameter("data", "f32", [3])
    indices, axis = ir.constant("indices", np.array([2, 0])), ir.constant("axis", np.array(0))
    ir.layer("pick", "Gather", [data, indices, axis], "f32", [2], batch_dims=0)
    ir.result("pick")
    path = ir.save(folder / f"{name}.xml")
    link_to_blobs(path, path.with_suffix(".bin"))
    return path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["model", ODD, "-n"])
@pytest.mark.parametrize("make", [make_onnx, make_ir])
@pytest.mark.parametrize("place", [".", "snap shots"])
def test_the_hint_copies_a_model_and_what_a_link_beside_it_leads_to(
    make: Callable[[Path, str], Path], name: str, place: str, run: Run
) -> None:
    os.makedirs(place, exist_ok=True)
    path = make(Path(place), name)
    refused = run("check", f"./{path}", "--external-data")

    hint = re.search(r"hint: `(mkdir .*)` copies what the link leads to; (.*) is", refused.err)

    assert refused.status == 66
    assert hint is not None
    subprocess.run(["/bin/bash", "-c", hint[1]], check=True)
    copied = run("check", f"copy/{path.name}", "--external-data")
    assert "1 model, 1 node, no finding" in copied.out


@pytest.mark.usefixtures("folder")
def test_a_link_that_leads_nowhere_has_no_hint(run: Run) -> None:
    path = make_onnx(Path(), "model")
    os.remove("blobs/1")

    ran = run("check", str(path), "--external-data")

    assert ran.status == 66
    assert "hint:" not in ran.err
