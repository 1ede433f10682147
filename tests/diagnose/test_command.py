"""The status and the words of `diagnose`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("gather", "1,2,3", "0,5", "1,0"), 0),
        (("gather", "1,2,3", "0,5", "1,3"), 0),
        (("gather", "1,2,3,4", "0,1,2", "1,2,77"), 1),
        (("gather", "1,2,3", "0,5", "5x7x3xi64=1"), 65),
        (("gather", "1,2,3", "0,5"), 2),
        (("gather", "1.5,2", "0,1", "1.6,2.1", "--atol", "0.2"), 0),
        (("gather", "1.5,2", "0,1", "1.6,2.1", "--atol", "nan"), 2),
    ],
)
def test_the_status_says_how_much_is_explained(
    run: Run, words: tuple[str, ...], status: int
) -> None:
    assert run("diagnose", *words).status == status


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("arange:2x3", "2,0", "[[2,0],[5,3]]", "-a", "2"),
            "the version refuses the call: `axis` is 2, but `data` has rank 2: expected -2 to 1",
        ),
        (
            ("arange:2x3", "2,0", "[[2,0],[5,3]]", "-a", "2"),
            "4 of 4  the call is Gather axis 1  batch_dims 0",
        ),
        (
            ("10,20,30", "0,7", "10,20", "-V", "13"),
            "the version refuses the indices of 1 cell; of 1 other cell 1 is right",
        ),
        (("10,20,30", "0,1", "2xi32=10,20"), "the type is int32: expected int64"),
        (("10,20,30,40", "0,1,2", "10,20,0"), "only 1 cell differs, which proves nothing"),
        (
            ("arange:3xf32", "0,7", "0,99"),
            "of them 1 holds foreign memory: the index points outside of all elements",
        ),
        (("10,20,30", "1,0", "[[20,10]]"), "the shape is [1,2]: expected [2]"),
    ],
)
def test_a_line_says_what_is_wrong(run: Run, words: tuple[str, ...], line: str) -> None:
    assert line in run("diagnose", "gather", *words).out.splitlines()


def test_json_has_the_verdict_and_the_explanations(run: Run) -> None:
    report = json.loads(run("diagnose", "gather", "1,2,3", "0,6", "1,3", "-f", "json").out)

    assert report["verdict"] == "named"
    assert report["explanations"][0]["names"] == ["clamped"]
    assert report["differing"] == {"count": 1, "at": [1], "value": "3", "expected": "0"}


def test_an_output_file_may_have_a_type_that_numpy_lacks(run: Run, folder: Path) -> None:
    np.save(folder / "wrong.npy", np.array([0x4040, 0x3F80], np.uint16).view("V2"))

    result = run(
        "diagnose", "gather", "3xbf16=1 2 3", "2,0", "wrong.npy", "--wrong-dtype", "bfloat16"
    )

    assert result.status == 0
    assert "right: all of 2 cells" in result.out
