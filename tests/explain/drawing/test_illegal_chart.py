from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.explain.drawing.charts import SVG, parse, rectangles, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]


def drawn(run: Run, folder: Path, *words_: str, status: int = 1) -> Any:
    ran = run("check", *words_, "--save", "x.svg")
    assert ran.status == status, ran.err
    return parse((folder / "x.svg").read_text(encoding="utf-8"))


def test_illegal_indices_are_hatched_with_their_values_and_places(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "1.5,2,3,4,5", "[[3,10],[-20,0]]")

    cells = rectangles(root, "cell")

    assert [each.texts for each in cells] == [("3",), ("10",), ("-20",), ("0",)]
    assert [each.hatched for each in cells] == [False, True, True, False]
    assert [each.tooltip for each in cells if each.tooltip] == [
        "10 at [0,1], zero-filled",
        "-20 at [1,0], zero-filled",
    ]
    assert "2 of 4 indices outside -5..4" in words(root)


def test_refused_indices_have_the_color_of_refusals(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "[1,2]", "[5]", "-V", "onnx-13")

    (group,) = (each for each in root.iter(f"{SVG}g") if "cell" in (each.get("class") or ""))
    assert group.get("class") == "cell small refused"


def test_bins_of_many_indices_count_exactly(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(2)
    indices = rng.integers(-12, 12, (3, 40, 90))
    np.save(folder / "i.npy", indices)
    listed = json.loads(run("check", "gather", "arange:10", "i.npy", "--all", "-f", "json").out)

    found = rectangles(drawn(run, folder, "gather", "arange:10", "i.npy"), "illegal")

    numbers = [int(each.tooltip.split(" of ")[0].replace(" ", "")) for each in found]
    assert sum(numbers) == listed["illegal"]["count"]
    assert all(each.hatched for each in found)
    place = re.search(r"first (-?\d+) at \[(\d+),(\d+),(\d+)\]", found[7].tooltip)
    assert place is not None
    value, *at = map(int, place.groups())
    assert indices[tuple(at)] == value


def test_a_call_without_illegal_indices_says_so(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "[1,2,3]", "[0,-1]", status=0)

    assert "all legal" in words(root)
    assert not any(each.hatched for each in rectangles(root))


def test_each_component_of_tuples_has_its_line(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather-nd", "arange:3x4", "[[0,1],[5,-9]]")

    assert [each for each in words(root, "title") if "along" in each] == [
        "component 0: values along axis 0 of size 3, not to scale",
        "component 1: values along axis 1 of size 4, not to scale",
    ]


def test_no_indices_leave_the_verdicts(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "[1,2]", "[]", status=0)

    assert words(root, "title") == ["verdicts"]


@pytest.mark.parametrize("version", ["openvino-8", "onnx-13"])
def test_the_verdict_of_every_version_stands_below(run: Run, folder: Path, version: str) -> None:
    root = drawn(run, folder, "gather", "[1,2]", "[5]", "-V", version)

    assert "onnx.Gather-13" in words(root, "word")
    assert "1 zero-filled, first 5 at [0]" in words(root, "word")
