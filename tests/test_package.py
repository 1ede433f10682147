"""The public names of the package."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import gathercli
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.call import Family
    from tests.conftest import Array

STUB = Path(gathercli.__file__).with_suffix(".pyi")


def test_the_stub_of_the_package_gives_types_to_its_public_names_and_to_no_others() -> None:
    body = ast.parse(STUB.read_text()).body
    imports = [each for each in body if isinstance(each, ast.ImportFrom)]
    written = {each.name for each in body if isinstance(each, ast.FunctionDef)}

    homes = {
        each.names[0].name: str(each.module)
        for each in imports
        if str(each.module).startswith("gathercli")
    }

    assert sorted([*homes, *written, "__version__"]) == sorted(dir(gathercli))
    for name, home in homes.items():
        assert getattr(gathercli, name) is getattr(import_module(home), name), name


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_stub_of_an_operator_has_its_parameters_and_defaults(family: Family) -> None:
    name = family.COMMAND.replace("-", "_")
    written = [
        each
        for each in ast.parse(STUB.read_text()).body
        if isinstance(each, ast.FunctionDef) and each.name == name
    ]

    parameters = inspect.signature(getattr(gathercli, name)).parameters

    assert len(written) == 4
    for each in written:
        given = [*each.args.args, *each.args.kwonlyargs]
        defaults = [default and ast.literal_eval(default) for default in each.args.kw_defaults]
        assert [one.arg for one in given] == [*parameters]
        assert (
            defaults[:-1]
            == [one.default for one in parameters.values() if one.kind.value == 3][:-1]
        )


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_default_version_in_python_is_that_of_the_command(family: Family) -> None:
    function = getattr(gathercli, family.COMMAND.replace("-", "_"))

    parameters = inspect.signature(function).parameters

    assert parameters["version"].default == family.ROWS[0].id


@pytest.mark.usefixtures("kernel_language")
@pytest.mark.parametrize(
    "result",
    [
        lambda: gathercli.gather([1, 2, 3], [0, 2]),
        lambda: gathercli.gather([1, 2, 3], 1),
        lambda: gathercli.gather([], 0),
        lambda: gathercli.gather([1.5, 2.5], []),
        lambda: gathercli.gather([True], [4], out_of_range="wrap"),
        lambda: gathercli.gather_elements([1, 2, 3], [0], axis=0),
        lambda: gathercli.gather_nd([[1, 2], [3, 4]], [[]]),
        lambda: gathercli.gather_tree([[[1, 2]]], [[[0, 0]]], [1], 9),
    ],
)
def test_a_result_can_be_written_to(result: Callable[[], Array]) -> None:
    array = result()

    array[...] = 1

    assert (array == 1).all()


PROGRAM: Final = """
import numpy as np
from typing import assert_type

import gathercli

data = np.zeros((2, 3))
assert_type(gathercli.gather(data, [1, 0]).ndim, int)
assert_type(gathercli.gather([[1, 2], [3, 4]], [1, 0]).ndim, int)
assert_type(gathercli.gather_nd(data, [[1, 0]], like="numpy").ndim, int)
check = gathercli.check("gather", data, [1, 5], version="onnx-13")
assert_type(check.verdicts[0].verdict, str)
assert check.illegal is not None
assert_type(check.illegal.shown[0].at, tuple[int, ...])
assert_type(gathercli.compare(data, [1], of="onnx").rows[0].group, str | None)
explanation = gathercli.explain("gather", [10, 20], [1])
explanation.window("0:1").save("picture.svg")
assert_type(gathercli.diagnose("gather", data, [1], data[:1]).explanations[0].sentence, str)
assert_type(gathercli.translate("gather", data, [1], to="numpy").text, str)
nodes = gathercli.nodes("model.onnx")
assert_type([each.name for each in nodes], list[str])
assert_type(nodes[0].verdict, str)
node = gathercli.node("model.onnx", "/words/Gather")
assert_type(node.run({"tokens": [[1]]}).ndim, int)
assert_type(node.check([[1]]).total, int)
findings = gathercli.check_model("model.onnx", to="openvino").models[0].findings
assert_type(findings[0].level, str)
gathercli.save("x.npy", gathercli.load("x.npz#x"))
gathercli.convert("x.npy", "x.json", dtype="int8")
assert_type(gathercli.infer_shape("gather", "[N,3]", (2,)).rank, int | None)
try:
    gathercli.gather(data, [9], version="onnx-13")
except gathercli.OutOfRangeError as error:
    assert_type(error.rule, str)
    assert_type(error.where, str | None)
"""
"""A program that calls every function."""


def test_a_program_that_calls_every_function_is_typed_strictly(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file="),
            *("--cache-dir", str(tmp_path / "cache"), str(program)),
        ],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert checked.stdout == "Success: no issues found in 1 source file\n"


def test_the_first_screen_of_help_names_every_function() -> None:
    functions = {name for name in dir(gathercli) if inspect.isfunction(getattr(gathercli, name))}

    lines = pydoc.plain(pydoc.render_doc(gathercli)).splitlines()
    screen = lines[:24]

    assert len(lines) < 60
    assert functions <= {*re.findall(r"\w+", " ".join(screen))}


@pytest.mark.parametrize("name", dir(gathercli))
def test_a_function_says_what_it_raises(name: str) -> None:
    function = getattr(gathercli, name)
    if inspect.isfunction(function):
        assert "Raises\n" in str(function.__doc__)
