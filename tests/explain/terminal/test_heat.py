from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.explain.heatmap import Scale
from gathercli.explain.terminal.picture import level

if TYPE_CHECKING:
    from tests.conftest import Ran, Run


TIMES = "\N{MULTIPLICATION SIGN}"


def heat(ran: Ran) -> str:
    """Return the part of an output from the heat map on."""
    assert ran.status == 0, ran.err
    return ran.out[ran.out.rindex("heat map of") :]


def test_shades_and_marks_need_no_color(run: Run) -> None:
    ran = run("info", "--heat", '[[0,1,2,3],["NaN",5,"Infinity",4.9]]')

    assert heat(ran) == (
        "heat map of [0:2,0:4]\n"
        "   0   2\n"
        "0  ··░░▒▒▓▓\n"
        f"1  {TIMES}{TIMES}██∞∞██\n"
        f"0 ·░▒▓█ 5   {TIMES} 1 NaN   ∞ 1 infinite\n"
    )


def test_the_highest_level_includes_the_highest_number() -> None:
    assert level(Scale(0, 1), 0.55, "0123456789") == "5"
    assert level(Scale(0, 1), 1, "0123456789") == "9"


def test_digits_and_letters_need_no_unicode(run: Run) -> None:
    ran = run("info", "--heat", "--ascii", '[[0,1,2,3],["NaN",5,"Infinity",4.9]]')

    assert heat(ran) == (
        "heat map of [0:2,0:4]\n"
        "   0   2\n"
        "0  00224466\n"
        "1  xx99ii99\n"
        "0 0123456789 5   x 1 NaN   i 1 infinite\n"
    )


def test_a_large_tensor_is_binned_and_its_largest_value_named(run: Run) -> None:
    array = np.zeros((1000, 400))
    array[123, 45] = -7
    np.save("a.npy", array)

    text = heat(run("info", "--heat", "a.npy"))

    assert text.startswith("heat map of [0:1000,0:400]   means of 20 x 95 bins of up to 50 x 5\n")
    assert text.endswith("largest |value| 7 in [100:150,42:46]\n")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("columns", [1, 2, 9, 92, 93, 94, 95, 96, 97, 300, 5000])
def test_no_coordinate_stands_beyond_the_last_column(run: Run, columns: int) -> None:
    _, heading, row, *_ = heat(run("info", "--heat", f"arange:1x{columns}")).splitlines()

    assert len(heading) <= len(row) <= 100


@pytest.mark.parametrize(("depth", "code"), [("", "48;5;17"), ("truecolor", "48;2;0;34;78")])
def test_colors_are_those_of_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, depth: str, code: str
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", depth)

    text = heat(run("info", "--heat", "--color", "always", "arange:1x2"))

    assert f"\x1b[{code}m  \x1b[0m" in text


def test_a_terminal_of_few_colors_has_shades(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLORTERM", "")

    assert "··██" in heat(run("info", "--heat", "--color", "always", "arange:1x2"))


def test_many_rows_share_lines_where_there_is_color(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("COLUMNS", "60")

    text = heat(run("info", "--heat", "--color", "always", "arange:35x2xf32"))

    plain = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    assert plain[2:5] == [" 0  ▀▀", " 2  ▀▀", " 4  ▀▀"]
    assert plain[19] == "34  ▀▀"


def test_a_mark_stands_on_its_bin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    array = np.zeros((60, 10))
    array[3, 4] = np.nan
    np.save("a.npy", array)

    text = heat(run("info", "--heat", "--color", "always", "a.npy"))

    assert f"{TIMES} 1 NaN" in text
    assert "\x1b[1;38;2;" in text


def test_a_window_chooses_the_slice(run: Run) -> None:
    by_default = heat(run("info", "--heat", "arange:2x3x4"))
    second = heat(run("info", "--heat", "arange:2x3x4", "--window", "1,:,1:3"))
    across = heat(run("info", "--heat", "arange:2x3x4", "--window", ":,2"))

    assert by_default.startswith("heat map of [0,0:3,0:4]\n")
    assert second.startswith("heat map of [1,0:3,1:3]\n   1\n")
    assert "\n13 ·░▒▓█ 22\n" in second
    assert across.startswith("heat map of [0:2,2,0:4]\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--window", ":,:,:"), "keeps more than two dimensions"),
        (("--window", ":,:,:,:"), "the tensor has rank 3: expected at most one a dimension"),
        (("--window", "5"), "chooses nothing of dimension 0, whose size is 2"),
        (("--window", "a"), "expected slices such as 0:3,:,10:20"),
        (("--header",), "`--header` and `--heat` exclude each other"),
    ],
)
def test_an_option_that_fits_no_slice_is_refused(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    ran = run("info", "--heat", "arange:2x3x4", *words)

    assert ran.status == 2
    assert message in ran.err


def test_a_window_without_a_heat_map_is_refused(run: Run) -> None:
    ran = run("info", "arange:2x3x4", "--window", "0")

    assert (ran.status, "expected one of them too" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("token", "reason"), [('["a"]', "strings are no numbers"), ("[]", "it has no elements")]
)
def test_what_has_no_heat_map_says_why(run: Run, token: str, reason: str) -> None:
    ran = run("info", "--heat", token)

    assert ran.status == 0
    assert ran.out.endswith(f"\nno heat map: {reason}\n")
    assert json.loads(run("info", "--heat", token, "-f", "json").out)["heat"] is None


def test_other_kinds_of_numbers_have_one(run: Run) -> None:
    booleans = heat(run("info", "--heat", "2x2xbool=true false true true"))
    complex_ = heat(run("info", "--heat", "2x2xc64=3+4j 0 nan+1j 1"))
    scalar = heat(run("info", "--heat", "7"))

    assert "0  ██··\n1  ████\n" in booleans
    assert complex_.startswith("heat map of absolute values in [0:2,0:2]\n")
    assert f"0  ██··\n1  {TIMES}{TIMES}░░\n" in complex_
    assert "0  ▒▒\n7 ·░▒▓█ 7\n" in scalar


def test_json_has_the_bins(run: Run) -> None:
    fields = json.loads(run("info", "--heat", '[[1,"NaN"],["Infinity",4]]', "-f", "json").out)

    assert fields["heat"] == {
        "slice": "[0:2,0:2]",
        "rows": [0, 1, 2],
        "columns": [0, 1, 2],
        "mean": [[1.0, None], [None, 4.0]],
        "min": [[1.0, None], [None, 4.0]],
        "max": [[1.0, None], [None, 4.0]],
        "nan": [[0, 1], [0, 0]],
        "inf": [[0, 0], [1, 0]],
    }


def test_no_finite_element_leaves_marks_alone(run: Run) -> None:
    text = heat(run("info", "--heat", "2xf32=nan nan"))

    assert text == f"heat map of [0:2]\n   0\n0  {TIMES}{TIMES}{TIMES}{TIMES}\n{TIMES} 2 NaN\n"


def test_words_wrap_on_a_narrow_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    array = np.arange(60000.0).reshape(200, 300)
    array[0, 0], array[0, 1] = np.nan, np.inf
    np.save("a.npy", array)

    lines = heat(run("info", "--heat", "a.npy")).splitlines()

    assert lines[:2] == ["heat map of [0:200,0:300]", "means of 20 x 35 bins of up to 10 x 9"]
    assert lines[-4:] == [
        f"1362 ·░▒▓█ 58645   {TIMES} 1 NaN",
        "∞ 1 infinite",
        "largest |value| 59999 in",
        "[190:200,291:300]",
    ]
    assert max(map(len, lines)) <= 40
