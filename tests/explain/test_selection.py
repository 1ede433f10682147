"""The cells that a picture shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gathercli.explain.selection import without_single_gaps

if TYPE_CHECKING:
    from tests.conftest import Run


def test_what_is_hidden_alone_is_shown_where_there_is_room() -> None:
    assert without_single_gaps([0, 2, 5], 7, 5) == [0, 1, 2, 5, 6]
    assert without_single_gaps([0, 2], 4, 2) == [0, 2]


def test_a_window_chooses_what_is_shown(run: Run) -> None:
    ran = run("explain", "gather", "arange:100x100", "7,9,-1", "--window", "1:,40:42")
    assert ran.status == 0
    table = ran.out.split("\n\n")[1]
    assert table == (
        "indices i64[3]    data i64[100,100]         out i64[3,100]\n"
        "                             40    41                 40    41\n"
        "  ⋮                  0  …    40    41  …      ⋮\n"
        "A 1   9              ⋮                      A 1  …   940   941  …   data[9,:]\n"
        "B 2  -1 → 99      A  9  …   940   941  …    B 2  …  9940  9941  …   data[99,:]\n"
        "                     ⋮\n"
        "                  B 99  …  9940  9941  …"
    )
    assert "4 of 300 cells of out shown\n" in ran.out
    cells = json.loads(
        run("explain", "gather", "arange:100x100", "7,9", "--window", "-1,:2", "-f", "json").out
    )["cells"]
    assert [cell["out"] for cell in cells] == [[1, 0], [1, 1]]


def test_a_window_that_is_too_wide_keeps_the_ends_of_the_axis(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    out = run("explain", "gather", "arange:40x40", "3,9,-1", "--window", "0:3,:").out

    table = out.partition("\ndata ")[2].splitlines()
    assert [line.split()[0] for line in table[2:9]] == ["0", "⋮", "A", "⋮", "B", "⋮", "C"]


@pytest.mark.parametrize("window", ["", "a", "1:2:3", "1 2", "0:1,0:1,0:1"])
def test_an_unreadable_window_is_a_usage_error(run: Run, window: str) -> None:
    ran = run("explain", "gather", "arange:4x3", "3,0,1", f"--window={window}")
    assert (ran.status, ran.out) == (2, "")
    assert "`--window`" in ran.err
