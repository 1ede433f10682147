"""What `gathercli.testing` gives to those who test an operator or a runtime of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import gathercli
from gathercli.frameworks import every_row
from gathercli.ops import OPERATORS
from gathercli.testing import assert_gathers, cases
from tests import oracle, random_calls

if TYPE_CHECKING:
    from pathlib import Path

    from gathercli.runtimes.conformance import ConformanceCase
    from gathercli.spec.op import Op

ROWS: Final = (*OPERATORS, *(each.op for each in every_row()))

DATA: Final = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
INDICES: Final = np.array([[0, -1], [2, -2]])


def message(out: Any, *inputs: Any, **call: Any) -> list[str]:
    """Return the lines of the error of an assertion that fails."""
    with pytest.raises(AssertionError) as caught:
        assert_gathers(out, *inputs, **call)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("out", "inputs", "call"),
    [
        (DATA[INDICES], (DATA, INDICES), {"version": "onnx-13"}),
        (DATA[:, INDICES], (DATA, INDICES), {"axis": 1, "version": "np.take"}),
        (DATA[INDICES].tolist(), (DATA, INDICES), {}),
        ([10, 0], ([10, 20], [0, 7]), {}),
        ([1.05], ([1.0, 2.0], [0]), {"atol": 0.1}),
        ([1.05], ([1.0, 2.0], [0]), {"rtol": 0.1}),
        ([float("nan")], ([float("nan")], [0]), {}),
        (["b"], (["a", "b"], [1]), {}),
        ([[1, 4]], ([[1, 2], [3, 4]], [[0, 1]]), {"op": "gather-elements", "axis": 0}),
        ([2], ([[1, 2], [3, 4]], [[0, 1]]), {"op": "gather_nd"}),
        ([[[9]]], ([[[5]]], [[[0]]], [0], 9), {"op": "gather-tree"}),
    ],
)
def test_an_output_that_is_right_passes(
    out: Any, inputs: tuple[Any, ...], call: dict[str, Any]
) -> None:
    assert_gathers(out, *inputs, **call)


def test_an_output_that_is_wrong_is_refused_with_its_cells_and_what_explains_it() -> None:
    out = DATA[np.maximum(INDICES, 0)]

    lines = message(out, DATA, INDICES, version="onnx-13")

    assert lines[:3] == [
        "the output is not what onnx.Gather-13 gives:",
        "6 of 12 cells differ:",
        "  [0,1,0] is 1.0: expected 10.0, data[3,0], as indices[0,1] is -1",
    ]
    assert lines[7:10] == [
        "  ...",
        "what explains it:",
        "  12 of 12: indices are clamped to the axis, negative ones to 0 (known: xla.gather; "
        "jax.numpy.take with mode clip; numpy.take with mode clip; ncnn's Embed, embed.cpp at "
        "a4d2ea1d; 2 more)",
    ]


@pytest.mark.parametrize(
    ("out", "inputs", "call", "line"),
    [
        (DATA[:2], (DATA, [0, 1, 2]), {}, "its shape is [2, 3]: expected [3, 3]"),
        (DATA[:1].astype(float), (DATA, [0]), {}, "its type is float64: expected float32"),
        (DATA[:, [1]], (DATA, [1]), {}, "  4 of 4: the call is Gather axis 1  batch_dims 0"),
        ([10, 20], ([10, 20], [0, 7]), {}, "  [1] is 20: expected 0, a fill, as indices[1] is 7"),
        ([1], ([[1, 2], [3, 4]], [[0, 1]]), {"op": "gather-nd"},
         "  [0] is 1: expected 2, data[0,1], as indices[0] is [0, 1]"),
        ([[[5]]], ([[[5]]], [[[0]]], [0], 9), {"op": "gather-tree"}, "  [0,0,0] is 5: expected 9"),
        (np.zeros(1, int), (np.zeros(0), [0]), {}, "its type is int64: expected float64"),
        ([7.0], (np.zeros(0), [0]), {}, "  [0] is 7.0: expected 0.0, a fill, as indices[0] is 0"),
        (["a"], ([1], [0]), {}, "its type is string: expected int64"),
        ([[[1]]], ([1, 2, 3], [[0, 1]]), {}, "nothing known explains it"),
        (None, ([1], [0]), {},
         "the output is no array: it is None: expected an array or nested lists"),
        ([1], ([1], [3]), {"version": "onnx-13"},
         "no output is right: onnx.Gather-13 refuses the call by the rule index-range"),
    ],
)  # fmt: skip
def test_a_line_says_what_is_wrong(
    out: Any, inputs: tuple[Any, ...], call: dict[str, Any], line: str
) -> None:
    assert line in message(out, *inputs, **call)


def test_a_version_that_does_not_exist_is_no_assertion() -> None:
    with pytest.raises(gathercli.VersionError):
        assert_gathers([1], [1], [0], version="nothing")


@pytest.mark.parametrize("op", ROWS, ids=str)
def test_cases_have_names_of_their_own_and_a_kind_that_is_true(op: Op) -> None:
    every = cases(op.family, version=op.id)

    assert len({str(each) for each in every}) == len(every) > 20
    assert {each.kind for each in every} == {"legal", "illegal", "odd"}
    assert all(each.refused == bool(each.rule) == bool(each.refusal) for each in every)
    assert all(each.kind == "odd" or each.refused == (each.kind == "illegal") for each in every)
    assert {(each.op, each.version) for each in every} == {(op.family, op.id)}


@pytest.mark.parametrize("op", [*random_calls.AXIS_ROWS, *random_calls.TUPLE_ROWS], ids=str)
def test_a_case_expects_what_the_oracle_says(op: Op) -> None:
    for case in cases(op.family, version=op.id):
        types = [each.dtype.name for each in case.tensors.values()]
        arrays = [each.array for each in case.tensors.values()]
        axis = op.attr("axis")
        attributes = oracle.Attributes(
            case.attributes.get("axis", axis and axis.default), case.attributes.get("batch_dims", 0)
        )
        drawn = random_calls.Case(arrays[0], types[0], arrays[1], types[1], attributes)

        answer = random_calls.outcome(lambda: random_calls.oracle_answer(op, drawn))  # noqa: B023

        expected = case.rule if case.expected is None else case.expected
        random_calls.assert_same_outcome(expected, answer)


def test_cases_are_the_same_each_time() -> None:
    once, again = (cases("gather", version="onnx-13") for _ in range(2))

    assert list(map(repr, once)) == list(map(repr, again))
    assert all(
        one.data.tobytes() == other.data.tobytes()
        and one.indices.tobytes() == other.indices.tobytes()
        for one, other in zip(once, again, strict=True)
        if one.data.dtype != object
    )


def test_cases_are_chosen_by_their_kind_and_the_types_of_data() -> None:
    odd = cases("gather", version="onnx-13", kind="odd", dtypes=["bool", "bfloat16"])

    assert list(map(str, odd)) == ["odd-data-bool", "odd-data-bfloat16"]


def test_cases_of_no_kind_are_refused() -> None:
    with pytest.raises(
        gathercli.UsageError, match=r"`kind` is `wrong`: expected legal, illegal or"
    ):
        cases("gather", kind="wrong")  # type: ignore[arg-type]


def test_a_case_is_frozen() -> None:
    case = cases("gather")[0]

    with pytest.raises(FrozenInstanceError):
        case.name = "another"  # type: ignore[misc]


def take(case: ConformanceCase) -> Any:
    """Answer as ONNX's Gather does."""
    array, indices = case.data, case.indices
    if indices.dtype.name not in ("int32", "int64") or array.dtype.name in (
        "int4",
        "float8_e4m3fn",
    ):
        raise TypeError("a type")
    if not array.ndim:
        raise ValueError("no axis")
    return np.take(array, indices, case.attributes.get("axis", 0))


@pytest.mark.parametrize("case", cases("gather", version="onnx-13"), ids=str)
def test_a_right_runtime_passes_every_case(case: ConformanceCase) -> None:
    if str(case) != "odd-empty-before-outside":  # which np.take does not check
        case.assert_answer(take)


@pytest.mark.parametrize(
    ("answer", "name", "line"),
    [
        (lambda case: take(case).astype("f8"), "legal-rank-1-axis+0", "its type is float64: "),
        (lambda case: np.take(case.data, case.indices, 0, mode="clip"), "illegal-index+3",
         r"onnx.Gather-13 refuses the call, which gives float32\[4, 2\] \[\["),
        (lambda case: case.missing, "legal-rank-1-axis+0",
         "onnx.Gather-13 takes the call, which is refused: AttributeError: "),
        (lambda _: None, "illegal-axis-behind", "which gives object"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_told_with_the_case(answer: Any, name: str, line: str) -> None:
    (case,) = (each for each in cases("gather", version="onnx-13") if str(each) == name)

    with pytest.raises(AssertionError, match=line) as caught:
        case.assert_answer(answer)

    assert str(caught.value).endswith(f"{case}: {case.why} ({case.row.source})")


def test_what_a_framework_leaves_open_may_be_anything() -> None:
    (case,) = (each for each in cases("gather", version="webnn") if str(each) == "illegal-index+3")

    case.check([1])
    case.check(IndexError())


@pytest.mark.parametrize("version", ["onnx-13", "openvino-8"])
def test_a_case_has_a_model_with_its_attributes(version: str) -> None:
    every = cases(
        "gather-elements" if version == "x" else "gather", version=version, dtypes=["float32"]
    )

    models = {str(each): each.files() for each in every}

    files = {"onnx-13": ["model.onnx"], "openvino-8": ["model.xml", "model.bin"]}[version]
    assert all(list(each) == files for each in models.values())
    assert every[0].model() == models[str(every[0])][files[0]]


def test_a_case_of_a_call_has_no_model() -> None:
    with pytest.raises(gathercli.UsageError, match=r"numpy\.take is of no model"):
        cases("gather", version="np.take")[0].model()


def reference(case: ConformanceCase) -> Any:
    """Answer by onnx."""
    outputs: Any = ReferenceEvaluator(case.model()).run(None, dict(case.inputs))
    return outputs[0]


def test_the_reference_of_onnx_answers_the_legal_cases() -> None:
    for case in cases("gather", version="onnx-13", kind="legal", dtypes=["float32", "int64"]):
        case.assert_answer(reference)


SUITE: Final = """
import numpy as np
import pytest
from gathercli.testing import assert_gathers, cases

@pytest.mark.parametrize("case", cases("gather", version="onnx-13", kind="legal"), ids=str)
def test_gather(case):
    case.assert_answer(lambda case: np.take(case.data, abs(case.indices), case.attributes["axis"]))

def test_one():
    assert_gathers([10, 10], [10, 20, 30], [0, -1], version="onnx-13")
"""


def test_a_suite_tells_under_pytest_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_suite.py"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 1
    assert "FAILED test_suite.py::test_gather[legal-index-1] - AssertionError" in done.stdout
    assert "E         [1] is 10: expected 30, data[2], as indices[1] is -1\n" in done.stdout
    assert "gathercli/" not in re.sub(r"(?m)^rootdir.*", "", done.stdout)


def test_to_import_it_takes_neither_numpy_nor_pytest() -> None:
    code = "import sys, gathercli.testing; print({'numpy', 'pytest'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert done.stdout == b"set()\n"


def test_a_misspelt_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="verison"):
        assert_gathers([10], [10, 20], [-2], verison="openvino-7")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="knd"):
        cases("gather", knd="legal")  # type: ignore[call-arg]


def test_a_mistake_of_the_test_itself_is_no_refusal() -> None:
    def broken(case: Any) -> object:
        return case.nonsense

    case = cases("gather", version="onnx-13", kind="illegal")[0]

    with pytest.raises(AttributeError, match="nonsense"):
        case.assert_answer(broken)
