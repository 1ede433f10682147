"""Text for a terminal: no raw bytes, colours, widths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run


@pytest.mark.parametrize("token", ["\x1b[31m.npy", "\x9b31m", "a\u202eb", "x\x07", "\u200b", "a\n"])
def test_control_characters_of_a_name_are_escaped(token: str, run: Run) -> None:
    below = f"{token}/x.npy"
    for words in ([token, "0"], ["[1]", token], ["[1]", "0", "-o", below], ["[1]", "0", token]):
        err = run("gather", *words).err
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", err)
        assert err.count("error: ") == 1
        starts = ("error: ", "hint: ", "rule: ", "  ")
        assert all(line.startswith(starts) for line in err.splitlines())


def test_markup_in_a_name_is_printed_as_text(run: Run) -> None:
    assert "`[/bold].npy`" in run("gather", "@[/bold].npy", "0").err
    assert run("gather", '["[/]","[red]x"]', "0,1", "-f", "pretty").status == 0


COLORS: Final[list[tuple[list[str], dict[str, str], bool, bool]]] = [
    ([], {}, False, False),
    ([], {}, True, True),
    ([], {"TERM": "dumb"}, True, False),
    ([], {"CLICOLOR": "0"}, True, False),
    ([], {"CLICOLOR": "1"}, False, False),
    ([], {"CLICOLOR_FORCE": "1"}, False, True),
    ([], {"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, False, True),
    ([], {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, False, True),
    ([], {"FORCE_COLOR": "1"}, False, True),
    ([], {"FORCE_COLOR": "1", "CLICOLOR": "0", "TERM": "dumb"}, False, True),
    ([], {"NO_COLOR": "1"}, True, False),
    ([], {"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
    ([], {"NO_COLOR": ""}, True, True),
    (["--color", "always"], {"NO_COLOR": "1"}, False, True),
    (["--color=always"], {"TERM": "dumb"}, False, True),
    (["--color", "never"], {"FORCE_COLOR": "1"}, True, False),
    (["--color", "auto"], {"NO_COLOR": "1"}, True, False),
]


@pytest.mark.parametrize("case", COLORS, ids=str)
def test_colour_is_decided_in_one_order_for_results_errors_and_notes(
    case: tuple[list[str], dict[str, str], bool, bool], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, environment, terminal, colored = case
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fds = (1, 2) if terminal else ()
    result = run("gather", "[1,2]", "[0,5]", "-f", "pretty", *words, terminal=fds)

    refused = run("gather", "[1,2]", "[0,5]", "-V", "onnx-13", *words, terminal=fds)

    assert (result.status, refused.status) == (0, 65)
    assert ["\x1b[" in text for text in (result.out, result.err, refused.err)] == [colored] * 3


@pytest.mark.parametrize("words", [["ops"], ["ops", "8"], ["man"], ["shape", "gather", "2", "3"]])
def test_other_commands_obey_color_too(words: list[str], run: Run) -> None:
    pretty = ["-f", "pretty"] if words[0] != "man" else []

    assert "\x1b[" in run(*words, *pretty, "--color", "always").out
    assert "\x1b[" not in run(*words, *pretty).out


def test_colour_does_not_change_the_text(run: Run) -> None:
    words = ("gather", "arange:3x3", "[0,9]", "-f", "pretty")
    colored = run(*words, "--color", "always")

    plain = run(*words)

    assert re.sub(r"\x1b\[[\d;]*m", "", colored.out) == plain.out
    assert re.sub(r"\x1b\[[\d;]*m", "", colored.err) == plain.err


def test_a_pipe_is_cut_only_to_the_width_of_columns(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("gather", "arange:1x30", "0,", "-f", "pretty")

    whole = run(*words).out
    monkeypatch.setenv("COLUMNS", "40")
    cut = run(*words).out
    as_json = run("gather", "[1]", "arange:9x9", "-q").out

    assert " 29\n" in whole
    assert "not shown" not in whole
    assert "   0  1  2  3  4     25  26  27  28  29\n" in cut
    assert "\n20 of 30 columns not shown;\n" in cut
    assert len(as_json.splitlines()) == 1


@pytest.mark.parametrize(
    "columns", ["", "0", "-3", "wide", "9" * 5000, "\N{ARABIC-INDIC DIGIT NINE}x"]
)
def test_columns_without_a_positive_number_is_ignored(
    run: Run, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("gather", "arange:1x30", "0,", "-f", "pretty")
    plain = run(*words)

    monkeypatch.setenv("COLUMNS", columns)

    assert run(*words) == plain
    assert run(*words, "--color", "never", terminal=(1,)).status == 0


def test_errors_and_notes_are_wrapped_on_a_terminal_only(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = ("gather", "[1,2]", "5,", "-V", "onnx-13", "--color", "never")
    filled = ("gather", "[1,2]", "0,5,-9", "--color", "never")
    monkeypatch.setenv("COLUMNS", "60")

    piped, noted = run(*refused).err, run(*filled).err
    error, note = run(*refused, terminal=(2,)).err, run(*filled, terminal=(2,)).err

    assert [line[:5] for line in piped.splitlines()] == ["error", "  onn", "hint:", "rule:"]
    assert noted.count("\n") == 1
    assert error.split() == piped.split()
    assert note.split() == noted.split()
    assert max(map(len, error.splitlines())) <= 60 < max(map(len, piped.splitlines()))
    assert max(map(len, note.splitlines())) <= 60 < len(noted)
