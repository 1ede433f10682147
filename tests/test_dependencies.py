"""The lower bounds of the dependencies are what the environment ``oldest`` of tox tries."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.version import Version

PROJECT: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
)
EXTRAS: Final = ("safetensors", "onnx", "cluster", "zarr", "pictures")
PEERS: Final = ("zarr",)
"""What the tests add, and `oldest` tries too."""


def used() -> list[Requirement]:
    """Return what the program and its extras need, and the peers of the tests."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    peers = [line for line in extras["test"] if Requirement(line).name in PEERS]
    return [Requirement(line) for line in (*lines, *peers)]


def test_the_oldest_of_every_dependency_is_tried() -> None:
    pinned = [Requirement(line) for line in PROJECT["tool"]["tox"]["env"]["oldest"]["deps"]]
    tried = {each.name: Version(next(iter(each.specifier)).version) for each in pinned}

    lowest = {each.name: Version(next(iter(each.specifier)).version) for each in used()}

    assert tried == lowest


def test_no_dependency_has_an_upper_bound() -> None:
    operators = {(each.name, part.operator) for each in used() for part in each.specifier}

    assert {operator for _, operator in operators} == {">="}
