"""A framework that is like NumPy is called by its file alone."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from gathercli import frameworks, text
from gathercli.runtimes import declared
from tests.runtimes.fakes import fake_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Run

FILE = """
title = "Like NumPy"
release = "1"

[runtimes.numlike]
imports = { nl = 'numlike' }
aliases = ['nl']
tensor = 'nl.asarray({})'
array = 'result.get()'
refusals = [['index-range', 'index (?P<index>-?\\d+) is too large']]

[[mistakes]]
what = 'take drops the last index'
row = 'take'
where = ['not empty indices']

[rows.take]
like = 'openvino.Gather-1'
call = 'nl.take(data, indices, axis)'
legal = '[-s, s-1]'
outside = 'error'
code = "nl.take(data, indices, {axis})"

[rows.rows]
like = 'openvino.Gather-1'
call = 'nl.rows(data, indices)'
legal = '[-s, s-1]'
outside = 'error'
only_axis = 0
least_rank = 2
code = "nl.rows(data, indices)"
"""

MODULE = """
import numpy as np

__version__ = "1.5"


class Tensor:
    def __init__(self, array):
        self.array = array

    def get(self):
        return self.array


def asarray(array):
    return Tensor(array)


def take(data, indices, axis):
    assert isinstance(data, Tensor)
    if (indices.array > 100).any():
        raise IndexError(f"index {indices.array.max()} is too large")
    return Tensor(np.take(data.array, indices.array[:2], axis))


def rows(data, indices):
    return Tensor(data.array[indices.array] + 1)
"""


@pytest.fixture
def numlike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Declare a framework, and return a Python that has it."""

    def table(module: str, name: str | None = None) -> dict[str, Any]:
        own = module == "gathercli.frameworks.numlike"
        return tomllib.loads(FILE) if own else text.table_beside(module, name)

    # not that of files: rows stay the objects that other tests hold
    caches = (frameworks.names, declared.runtimes)
    every = (*frameworks.names(), "numlike")
    monkeypatch.setattr(frameworks, "names", lambda: every)
    monkeypatch.setattr(frameworks, "table_beside", table)
    for each in caches:
        each.cache_clear()
    yield fake_python(tmp_path / "venv", {"numlike": MODULE})
    for each in caches:
        each.cache_clear()


def test_a_framework_is_called_by_its_file_alone(numlike: str, run: Run) -> None:
    words = ("--ops", "onnx.Gather-13", "--with", f"numlike={numlike}")

    one = run("compare", "[[1,2],[3,4]]", "[1,0]", "-a", "0", *words).out
    other = run("compare", "[[1,2],[3,4]]", "[1,0,0]", "-a", "1", *words).out
    third = run("compare", "[1,2]", "[200]", "-a", "0", *words).out

    assert [re.split(" {2,}", line)[1:] for line in one.splitlines()[-2:]] == [
        ["nl.take(data, indices, 0)", "[2,2]", "A", "agrees", "agrees"],
        ["nl.rows(data, indices)", "[2,2]", "none", "departs", "differs from A at [0,0]: 4 and 3"],
    ]
    assert other.splitlines()[-1].startswith("numlike 1.5  nl.take(data, indices, 1)")
    assert other.endswith("differs from A in shape; known of 1: take drops the last index\n")
    assert "refuses, as the version does: IndexError: index 200" in third.replace("every", "the")


def test_another_name_of_a_runtime_is_hinted(numlike: str, run: Run) -> None:
    ran = run("compare", "[1,2]", "[0]", "--with", f"nl={numlike}")

    assert ran.status == 2
    assert "hint: did you mean `numlike`?" in ran.err
