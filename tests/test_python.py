"""The functions of Python return what the commands print."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import gathercli

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.report.terminal import Report
    from tests.conftest import Run

ENCODER: Final = str(Path(__file__).parents[1] / "fixtures" / "tour" / "encoder.onnx")
STEPS: Final = [[[1, 2]], [[3, 4]]]
PARENTS: Final = [[[7, 7]], [[0, 5]]]

REPORTS: Final[dict[str, Callable[[], Report]]] = {
    "check gather 10,20,30 2,7": lambda: gathercli.check("gather", [10, 20, 30], [2, 7]),
    "check gather-elements [[1,2],[3,4]] [[0,-9]] -a 1 -V onnx-13": lambda: gathercli.check(
        "gather-elements", [[1, 2], [3, 4]], [[0, -9]], axis=1, version="onnx-13"
    ),
    "check gather-nd arange:3x4 [[0,1],[3,-5]]": lambda: gathercli.check(
        "gather-nd", np.arange(12).reshape(3, 4), [[0, 1], [3, -5]]
    ),
    "check gather-tree [[[1,2]],[[3,4]]] [[[7,7]],[[0,5]]] 2, 9": lambda: gathercli.check(
        "gather-tree", STEPS, PARENTS, [2], 9
    ),
    "compare 10,20,30 2,-1,7": lambda: gathercli.compare([10, 20, 30], [2, -1, 7]),
    "compare 10,20,30 2,-1,7 --axis 0 --negative wrap --out-of-range clamp": (
        lambda: gathercli.compare(
            [10, 20, 30], [2, -1, 7], axis=0, negative="wrap", out_of_range="clamp"
        )
    ),
    "compare [[1.5,2.0],[3.0,4.0]] [[1,0]] --axis 1 --ops gather,torch.gather --of onnx,torch": (
        lambda: gathercli.compare(
            [[1.5, 2.0], [3.0, 4.0]], [[1, 0]], axis=1, ops="gather,torch.gather", of="onnx,torch"
        )
    ),
    "diagnose gather arange:5xf32 3,8,-20 3,4,0": lambda: gathercli.diagnose(
        "gather", np.arange(5, dtype=np.float32), [3, 8, -20], [3, 4, 0]
    ),
    "diagnose gather-tree [[[1,2]],[[3,4]]] [[[0,0]],[[1,0]]] 2, 9 [[[1,2]],[[3,4]]]": (
        lambda: gathercli.diagnose(
            "gather-tree", STEPS, [[[0, 0]], [[1, 0]]], [[[1, 2]], [[3, 4]]], [2], 9
        )
    ),
    "translate gather-elements [[1,2],[3,4]] [[0],[1]] -a 1 -V onnx-13 --to torch": (
        lambda: gathercli.translate(
            "gather-elements", [[1, 2], [3, 4]], [[0], [1]], axis=1, version="onnx-13", to="torch"
        )
    ),
    "translate gather 10,20,30 2,7 --to openvino": lambda: gathercli.translate(
        "gather", [10, 20, 30], [2, 7], to="openvino"
    ),
    "ops onnx-13": lambda: gathercli.versions("onnx-13"),
    "ops gather": lambda: gathercli.versions("gather"),
    "ops --diff openvino-8 onnx-13": lambda: gathercli.versions(diff=("openvino-8", "onnx-13")),
    "ops --like torch.gather": lambda: gathercli.versions(like="torch.gather"),
    f"model {ENCODER}": lambda: gathercli.nodes(ENCODER),
    f"check {ENCODER} --to openvino,onnx-12": lambda: gathercli.check_model(
        ENCODER, to="openvino,onnx-12"
    ),
}
"""Command lines, and calls that return their answers."""


@pytest.fixture(params=REPORTS)
def line(request: pytest.FixtureRequest) -> str:
    """Name a command line."""
    return str(request.param)


def test_a_report_prints_and_stores_what_the_command_does(
    line: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    report = REPORTS[line]()

    assert str(report) == run(*line.split(), "-f", "pretty").out.rstrip("\n")
    assert report.to_json() == json.loads(run(*line.split(), "-f", "json").out)
    assert repr(report) == str(report)


def test_a_notebook_shows_a_report_in_its_styles(line: str) -> None:
    report = REPORTS[line]()

    page = report._repr_html_()

    assert html.unescape(re.sub(r"<[^>]+>", "", page)) == report.styled(100).plain


def test_a_report_is_frozen(line: str) -> None:
    report: Any = REPORTS[line]()
    field = next((name for name in vars(report) if not name.startswith("_")), None)
    if field is None:
        pytest.skip("it has no fields")

    with pytest.raises(AttributeError):
        setattr(report, field, None)


def test_every_illegal_index_is_listed_on_demand() -> None:
    first = gathercli.check("gather", [1], range(1, 31))
    every = gathercli.check("gather", [1], range(1, 31), every=True)

    assert first.illegal is not None
    assert every.illegal is not None
    assert (len(first.illegal.shown), len(every.illegal.shown)) == (20, 30)
    assert "10 more; every=True lists them" in str(first)


REFUSALS: Final[dict[str, Callable[[], object]]] = {
    "`axis` is 4, but `data` has rank 1: expected -1 to 0\n"
    "hint: the last dimension is `axis=-1`": lambda: gathercli.check("gather", [1], 0, axis=4),
    "`of` names `tensor`: expected openvino, onnx, coreml, jax, numpy, tensorflow, tensorrt, "
    "tflite, torch, webnn or xla\n"
    "hint: did you mean `tensorrt`?": lambda: gathercli.compare([1], 0, of="tensor"),
    '`ops` is `,`: expected names with commas between\nhint: `ops="gather,onnx-13"`': lambda: (
        gathercli.compare([1], 0, ops=",")
    ),
    "`lossy` is given without `dtype`: expected both": (
        lambda: gathercli.convert("[1,2]", "out.npy", lossy=True)
    ),
    "no target `torchh`: expected onnx, openvino, torch, tensorflow, jax, numpy, tflite, onnx-13 "
    "or openvino-8\nhint: did you mean `torch`?": (
        lambda: gathercli.translate("gather", [1], 0, to="torchh")
    ),
    "`out_of_range` of openvino.Gather-8 is `nan`, which no translation repeats: expected error, "
    'zero, clamp or wrap\nhint: `out_of_range="zero"` is an example': (
        lambda: gathercli.translate("gather", [1.5], 0, out_of_range="nan", to="torch")
    ),
    "`indices` (`tokens` in the model) of the node `/words/Gather` comes at run time: expected "
    'feeds\nhint: `{"indices": numpy.zeros((2, 2), "int64")}` feeds zeros': (
        lambda: gathercli.node(ENCODER, "/words/Gather").run()
    ),
    "the node has no input `indicess`: expected `data`, `embeddings`, `indices` or `tokens`\n"
    'hint: did you mean `"indices"`?': (
        lambda: gathercli.node(ENCODER, "/words/Gather").run({"indicess": 0})
    ),
    "`window` is `x`: expected slices such as 0:3,:,10:20": (
        lambda: gathercli.explain("gather", [1], 0).window("x")
    ),
    "`path` is `a.onnx`, and the translation to numpy is a .py file: expected that suffix": (
        lambda: gathercli.translate("gather", [1], 0, to="numpy").save("a.onnx")
    ),
}
"""What an exception says in the words of Python."""


@pytest.mark.parametrize("said", REFUSALS)
def test_an_error_is_worded_for_python(said: str) -> None:
    with pytest.raises(gathercli.GatherError) as raised:
        REFUSALS[said]()

    assert str(raised.value) == said


def test_a_file_is_converted(folder: Path) -> None:
    gathercli.save("a.npy", [[1.5, 2.0]])

    gathercli.convert(folder / "a.npy", "a.json", dtype="int8", lossy=True)

    assert (folder / "a.json").read_text() == "[[2,2]]\n"


def test_a_notebook_tells_the_story_of_a_model(folder: Path) -> None:
    report = gathercli.check_model(ENCODER, to="openvino")
    finding = next(each for each in report.models[0].findings if each.level == "error")
    assert (finding.node, finding.rule, report.status) == ("/positions/Gather", "index-range", 1)

    positions = gathercli.node(ENCODER, finding.node)
    assert (positions.version, positions.verdict) == ("onnx.Gather-13", "refused")
    explanation = positions.explain()
    assert isinstance(explanation.refusal, gathercli.OutOfRangeError)

    explanation.window("0:2").save("positions.svg")
    assert (folder / "positions.svg").read_text().startswith("<svg")

    words = gathercli.node(ENCODER, "/words/Gather")
    output = words.run([[5, 0]])
    assert output.shape == (1, 2, 4)
    assert words.check({"tokens": [[9]]}).verdicts[0].rule is None
    wrong = np.zeros_like(output)
    assert gathercli.diagnose("gather", gathercli.load(f"{ENCODER}#embeddings"), [[5, 0]], wrong)

    versions = gathercli.compare([10, 20, 30], [2, -1, 7], of="openvino,onnx")
    assert versions.groups == {"A": ["openvino.Gather-8"]}
