"""`gathercli.explain` draws and traces."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gathercli
from gathercli.explain.provenance import Fate

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def test_python_draws_and_traces() -> None:
    explanation = gathercli.explain("gather", [[10, 11], [20, 21]], [1, -2, 9])
    assert str(explanation).startswith("Gather   axis 0   batch_dims 0   out[i, s] =")
    assert not str(explanation).endswith("\n")
    assert explanation.shape == (3, 2)
    assert explanation.equation == "out[i, s] = data[indices[i], s]"
    assert explanation.cell(2, 0).fate is Fate.FILLED
    assert [each.value for each in explanation.cells()] == [20, 21, 10, 11, 0, 0]
    assert explanation.cell(-1, np.int8(-2)).out == (2, 0)
    odd: Any = np.array([0])
    for at in ((0, 2), (3, 0), (0,), (0, 0, 0), (0, "x"), (0, 0.0), (odd, 0)):
        with pytest.raises(gathercli.UsageError, match="the output has no cell"):
            explanation.cell(*at)
    with pytest.raises(gathercli.UsageError, match="no cell at all"):
        gathercli.explain("gather", [1], []).cell(0)
    assert '<img alt="openvino.Gather-8' in explanation._repr_html_()
    refused = gathercli.explain("gather", [1, 2], [5], version=7)
    assert isinstance(refused.refusal, gathercli.OutOfRangeError)
    with pytest.raises(gathercli.AxisError):
        gathercli.explain("gather-elements", [1, 2], [0])


def test_a_repl_draws_what_is_explained_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    explanation = gathercli.explain("gather", np.arange(400).reshape(4, 100), [3, 1])

    sys.displayhook(explanation)
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "50")
    sys.displayhook(explanation)
    narrow = capsys.readouterr().out

    assert whole.startswith("Gather   axis 0   batch_dims 0   out[i, s] =")
    assert 50 < max(map(len, whole.splitlines())) <= 100
    assert max(map(len, narrow.splitlines())) <= 55
    assert narrow.endswith("\n12 of 200 cells of out shown; cell() tells of others\n")
    assert narrow == f"{explanation}\n"


def test_python_saves_what_the_command_saves(run: Run, folder: Path) -> None:
    explanation = gathercli.explain("gather", [[10, 11], [20, 21]], [1, -2])
    form: dict[str, Any] = {"size": "640x360", "theme": "dark", "bare": True, "arrows": "path"}
    words = ("--size", "640x360", "--theme", "dark", "--bare", "--arrows", "path")

    explanation.save("python-{n}.svg", **form)
    explanation.save("python.svg", animate=True, aspect="4:3")
    run("explain", "gather", "[[10,11],[20,21]]", "[1,-2]", *words, "--save", "command-{n}.svg")

    for n in range(1, 5):
        drawing = (folder / f"python-{n}.svg").read_bytes()
        assert drawing == (folder / f"command-{n}.svg").read_bytes()
    assert b"<animate " in (folder / "python.svg").read_bytes()
    assert len([*folder.iterdir()]) == 9


@pytest.mark.parametrize(
    ("path", "form", "message"),
    [
        ("a.svg", {"theme": "blue"}, "`theme` is `blue`: expected light, dark or transparent"),
        ("a.svg", {"arrows": "some"}, "`arrows` is `some`: expected auto, all, path or none"),
        ("a.html", {"theme": "dark"}, "`theme` is of drawings alone"),
        ("a.svg", {"aspect": "4:3", "size": "16x9"}, "does not have the ratio"),
        ("a.svg", {"size": (16, 9)}, "expected text"),
    ],
)
def test_python_refuses_the_forms_that_the_command_refuses(
    path: str, form: dict[str, Any], message: str, folder: Path
) -> None:
    explanation = gathercli.explain("gather", [10, 11], [1])

    with pytest.raises(gathercli.UsageError) as raised:
        explanation.save(path, **form)

    assert message in str(raised.value)
    assert not [*folder.iterdir()]


def test_a_repl_draws_what_is_refused() -> None:
    refused = gathercli.explain("gather", [1, 2], [5], version=7)

    assert "out[0] = data[indices[0]] = data[5 → none]: refused" in repr(refused)


def test_a_repl_shows_the_operators_as_a_table() -> None:
    heading, first, *others = repr(gathercli.OPERATORS).splitlines()

    assert heading.split() == ["version", "legal", "indices", "other", "indices", "batch_dims"]
    assert first == "openvino.Gather-8          [-s, s-1]      zero-filled    yes"
    assert len(others) == len(gathercli.OPERATORS) - 1
    assert repr(gathercli.OPERATORS[:2]) == "(<openvino.Gather-8>, <openvino.Gather-7>)"
    assert str(gathercli.OPERATORS) == repr(gathercli.OPERATORS)
