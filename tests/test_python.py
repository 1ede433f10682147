"""The functions of Python return what the commands print."""

from __future__ import annotations

import copy
import html
import json
import pickle
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


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301


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


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_report_says_the_same(line: str, again: Callable[[Any], Any]) -> None:
    report = REPORTS[line]()

    other = again(report)

    assert other == report == REPORTS[line]()
    assert hash(other) == hash(report)
    assert other.to_json() == report.to_json()
    assert other.plain(80) == report.plain(80)
    assert getattr(other, "status", 0) == getattr(report, "status", 0)
    assert again(other)._repr_html_()


def test_a_report_keeps_what_its_caller_changes() -> None:
    data, indices = np.arange(12.0).reshape(3, 4), np.array([0, 2, 7])
    reports = [
        gathercli.check("gather", data, indices),
        gathercli.explain("gather", data, indices),
        gathercli.compare(data, indices),
    ]
    before = [repr(each) for each in reports]

    data[:], indices[:] = 99, 1

    assert [repr(each) for each in reports] == before


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
    "`ops` is of type `dict`: expected text, a list of names or None": (
        lambda: gathercli.compare([1], 0, ops={})
    ),
    "`to` is of type `module`: expected text, a list of names or None": (
        lambda: gathercli.check_model(ENCODER, to=np)  # type: ignore[arg-type]
    ),
    "`models` is of type `bytes`: expected text or a path": (
        lambda: gathercli.check_model(ENCODER, b"")  # type: ignore[arg-type]
    ),
    "`slices` is of type `tuple`: expected text": (
        lambda: gathercli.explain("gather", [1], 0).window((0, 1))  # type: ignore[arg-type]
    ),
    "`diff` has 1 name: expected two names": (
        lambda: gathercli.versions(diff=("a",))  # type: ignore[arg-type]
    ),
    "`name` is of type `int`: expected text or None": (
        lambda: gathercli.node(ENCODER, 0)  # type: ignore[arg-type]
    ),
    "`op` is of type `function`: expected text": (
        lambda: gathercli.check(gathercli.gather, [1], 0)  # type: ignore[arg-type]
    ),
    "`every` is of type `str`: expected True or False": (
        lambda: gathercli.check("gather", [1], 0, every="no")  # type: ignore[arg-type]
    ),
    "`version` is of type `list`: expected the name of a version": (
        lambda: gathercli.gather([1], 0, version=["onnx-13"])  # type: ignore[call-overload]
    ),
    "`like` is `numpy`, and the result is `out`: expected None": (
        lambda: gathercli.gather([1], 0, like="numpy", out=np.zeros((), int))
    ),
    'it is the text "a.npy": expected an array or nested lists\n'
    'hint: read what it names: `gathercli.load("a.npy")`': lambda: gathercli.save("b.npy", "a.npy"),
    "`tokens` and `indices` feed one input twice: expected a feed for each": (
        lambda: gathercli.node(ENCODER, "/words/Gather").run({"tokens": [[1]], "indices": [[2]]})
    ),
    "`indices` is i64[2]: expected i64[batch,length], as the model says": (
        lambda: gathercli.node(ENCODER, "/words/Gather").run(np.array([1, 2]))
    ),
    "`indices` is i32[1,1]: expected i64[batch,length], as the model says": (
        lambda: gathercli.node(ENCODER, "/words/Gather").check(np.array([[1]], "i4"))
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


@pytest.mark.parametrize("said", REFUSALS)
@pytest.mark.parametrize("again", [copy.deepcopy, pickled])
def test_a_copy_of_an_exception_says_the_same(said: str, again: Callable[[Any], Any]) -> None:
    with pytest.raises(gathercli.GatherError) as raised:
        REFUSALS[said]()

    other = again(raised.value)

    assert (type(other), str(other)) == (raised.type, said)


def test_a_pickled_node_runs_and_a_pickled_translation_is_saved(folder: Path) -> None:
    node = pickled(gathercli.node(ENCODER, "/words/Gather"))
    translation = pickled(gathercli.translate("gather", [1], [0], to="onnx"))

    translation.save("one.onnx")

    assert node.run([[5, 0]]).shape == (1, 2, 4)
    assert (folder / "one.onnx").stat().st_size


def test_a_model_that_is_not_read_is_named(folder: Path) -> None:
    (folder / "none.onnx").write_bytes(b"none")

    report = gathercli.check_model(ENCODER, folder / "none.onnx")

    assert str(report).startswith(f"{ENCODER}: /positions/Gather")
    assert f"\n{folder / 'none.onnx'}: " in str(report)


def test_a_list_that_holds_itself_is_refused() -> None:
    first: list[Any] = []
    first.append(first)
    last: list[Any] = [1]
    last.append(last)
    typed: list[Any] = [np.int8(1)]
    typed.append(typed)

    for each in (first, last, typed):
        with pytest.raises((gathercli.InputError, gathercli.LimitError)):
            gathercli.gather(each, [0])


def test_a_type_is_one_of_numpy_or_a_name() -> None:
    types = (np.float32, np.dtype("f4"), "f32", "float32", np.array([1.5], "f4").dtype)

    assert {gathercli.load("[1,2]", dtype=each).dtype for each in types} == {np.dtype("f4")}


def test_a_node_takes_other_settings_than_its_own() -> None:
    node = gathercli.nodes(ENCODER)["/words/Gather"]

    with pytest.raises(gathercli.OutOfRangeError, match="out_of_range="):
        node.run([[9]])

    assert not node.run([[9]], out_of_range="zero").any()
    assert not node.run([[9]], version="openvino-8").any()


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
