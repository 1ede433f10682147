"""The targets of translations, as the files of frameworks say them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import gathercli
from gathercli.frameworks import every_framework
from gathercli.translate.targets import target, target_names, translation_targets

PACKAGE = Path(gathercli.__file__).parent
CUPY = """
title = "CuPy"
release = "14.0"
short = ["cp"]

[each]
legal = '[-s, s-1]'
data = 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64'
indices = 'int32 int64'

[rows.take_along_axis]
like = 'openvino.GatherElements-6'
call = 'cp.take_along_axis(data, indices, axis)'
code = 'cp.take_along_axis(data, indices, axis={axis})'
outside = 'wrap'

[rows.getitem]
like = 'openvino.Gather-1'
call = 'x[i]'
code = 'data[{before}indices]'
outside = 'wrap'

[rows.getitem_nd]
like = 'onnx.GatherND-13'
batch_dims = false
call = 'x[i, j]'
outside = 'wrap'

[program]
like = 'numpy'
module = 'cp'
imports = ['import cupy as cp']
"""


def test_the_targets_are_the_frameworks_that_have_a_program() -> None:
    have = {each.name for each in every_framework() if each.program}

    assert have == {each.framework for each in translation_targets()}
    assert target_names() == (
        *("onnx", "openvino", "torch", "tensorflow", "jax", "numpy", "tflite"),
        *("onnx-13", "openvino-8"),
    )


def test_an_operator_of_an_opset_does_what_its_runtime_does() -> None:
    operators = target("openvino").operators

    refuses = {family: each.refuses for family, each in operators.items()}

    assert refuses == {
        "gather": False,
        "gather-elements": True,
        "gather-nd": False,
        "gather-tree": True,
    }
    assert not operators["gather-elements"].refuses_negative


def test_a_framework_is_a_target_by_a_file_of_its_own(tmp_path: Path) -> None:
    for each in PACKAGE.iterdir():
        (tmp_path / "gathercli").mkdir(exist_ok=True)
        if each.name != "frameworks":
            (tmp_path / "gathercli" / each.name).symlink_to(each)
    shutil.copytree(PACKAGE / "frameworks", tmp_path / "gathercli" / "frameworks")
    (tmp_path / "gathercli" / "frameworks" / "cupy.toml").write_text(CUPY)
    words = ("translate", "gather-nd", "[[1,2],[3,4]]", "[[0],[-1]]", "-b", "1")

    ran = subprocess.run(
        [sys.executable, "-m", "gathercli", *words, "--to", "cupy"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[2:] == [
        "import cupy as cp",
        "",
        "",
        "def gather_nd(data, indices):",
        '    """Return out[p] = data[p, indices[p, 0]]."""',
        "    sizes = cp.array(data.shape[1:2])",
        "    if ((indices < -sizes) | (indices >= sizes)).any():",
        '        raise IndexError("an index is outside the axis")',
        "    p = cp.arange(data.shape[0])",
        "    return data[p, indices[..., 0]]",
    ]
