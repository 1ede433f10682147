"""The public names of the package."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gathercli
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.call import Family
    from tests.conftest import Array

STUB = Path(gathercli.__file__).with_suffix(".pyi")


def test_the_stub_of_the_package_gives_types_to_its_public_names_and_to_no_others() -> None:
    imports = [
        each for each in ast.parse(STUB.read_text()).body if isinstance(each, ast.ImportFrom)
    ]

    homes = {each.names[0].name: str(each.module) for each in imports}

    assert sorted([*homes, "__version__"]) == sorted(dir(gathercli))
    for name, home in homes.items():
        assert getattr(gathercli, name) is getattr(import_module(home), name), name


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
