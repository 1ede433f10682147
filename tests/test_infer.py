"""What inference says of partly known shapes: a line a case, in the words of the specifications."""

from __future__ import annotations

from typing import Any, Final

import pytest

from gathercli import GatherError, explain, infer_shape
from gathercli.errors import UsageError

Case = tuple[str, str, str, str, dict[str, Any], str]

GATHER: Final[list[Case]] = [
    # version, the sentence, data, indices, attributes, the shape or the rule that refuses
    ("openvino-8", "all known", "[2,5,3]", "[4]", {"axis": 1}, "[2,4,3]"),
    ("openvino-8", "the axis is 0 by default", "[2,5]", "[4]", {}, "[4,5]"),
    ("openvino-8", "the axis disappears with a 0-D index", "[2,5,3]", "[]", {"axis": 1}, "[2,3]"),
    ("openvino-8", "nothing is left of a vector", "[5]", "[]", {}, "[]"),
    ("openvino-8", "an index of one keeps a dimension", "[5]", "[1]", {}, "[1]"),
    ("openvino-8", "a negative axis", "[2,5,3]", "[4]", {"axis": -1}, "[2,5,4]"),
    ("openvino-8", "the axis as a list of one", "[2,5]", "[4]", {"axis": [1]}, "[2,4]"),
    ("openvino-8", "an axis of two", "[2,5]", "[4]", {"axis": [1, 0]}, "axis-type"),
    ("openvino-8", "an axis of shape 1x1", "[2,5]", "[4]", {"axis": [[1]]}, "axis-type"),
    ("openvino-8", "an axis of none", "[2,5]", "[4]", {"axis": []}, "axis-type"),
    (
        "openvino-8",
        "the batch narrows to what both can be",
        "[1..7,20,20]",
        "[7..10,3,8]",
        {"axis": 1, "batch_dims": 1},
        "[7,3,8,20]",
    ),
    (
        "openvino-7",
        "the batch narrows to what both can be",
        "[1..7,20,20]",
        "[7..10,3,8]",
        {"axis": 1, "batch_dims": 1},
        "[7,3,8,20]",
    ),
    (
        "openvino-8",
        "the batch of one is unknown",
        "[?,1..5,3]",
        "[?,2]",
        {"axis": 1, "batch_dims": 1},
        "[?,2,3]",
    ),
    (
        "openvino-8",
        "the other dimensions are copied",
        "[2,1..5,3..,N]",
        "[2,?,K,0..9]",
        {"axis": 2, "batch_dims": 1},
        "[2,1..5,?,K,0..9,N]",
    ),
    (
        "openvino-8",
        "the size of the axis is of no matter",
        "[2,?,3]",
        "[4..6]",
        {"axis": 1},
        "[2,4..6,3]",
    ),
    (
        "openvino-8",
        "a symbol stays beside an unknown",
        "[N,5]",
        "[?,2]",
        {"axis": 1, "batch_dims": 1},
        "[N,2]",
    ),
    (
        "openvino-8",
        "a symbol of the indices stays too",
        "[?,5]",
        "[N,2]",
        {"axis": 1, "batch_dims": 1},
        "[N,2]",
    ),
    (
        "openvino-8",
        "a symbol gives way to a number",
        "[N,5]",
        "[3,2]",
        {"axis": 1, "batch_dims": 1},
        "[3,2]",
    ),
    (
        "openvino-8",
        "a symbol gives way to an interval",
        "[2..3,5]",
        "[N,2]",
        {"axis": 1, "batch_dims": 1},
        "[2..3,2]",
    ),
    (
        "openvino-8",
        "equal symbols stay",
        "[N,5]",
        "[N,2]",
        {"axis": 1, "batch_dims": 1},
        "[N,2]",
    ),
    (
        "openvino-8",
        "of two symbols that of data stays",
        "[N,5]",
        "[M,2]",
        {"axis": 1, "batch_dims": 1},
        "[N,2]",
    ),
    (
        "openvino-8",
        "two batch dimensions",
        "[?,3..,7]",
        "[2,..5,4]",
        {"axis": 2, "batch_dims": 2},
        "[2,3..5,4]",
    ),
    (
        "openvino-8",
        "every index is a batch",
        "[2,3,?]",
        "[2,?]",
        {"axis": 2, "batch_dims": 2},
        "[2,3]",
    ),
    (
        "openvino-8",
        "batch_dims from the end of the indices",
        "[2,5]",
        "[2,4]",
        {"axis": 1, "batch_dims": -1},
        "[2,4]",
    ),
    (
        "openvino-8",
        "batch_dims of minus the rank of the indices is none",
        "[5]",
        "[2,4,3]",
        {"batch_dims": -3},
        "[2,4,3]",
    ),
    (
        "openvino-8",
        "batches that cannot be equal",
        "[1..3,5]",
        "[4..,2]",
        {"axis": 1, "batch_dims": 1},
        "batch-shape",
    ),
    (
        "openvino-7",
        "batches that are not equal",
        "[2,5]",
        "[3,2]",
        {"axis": 1, "batch_dims": 1},
        "batch-shape",
    ),
    (
        "openvino-8",
        "a batch of one does not broadcast",
        "[2,5]",
        "[1,2]",
        {"axis": 1, "batch_dims": 1},
        "batch-shape",
    ),
    (
        "openvino-8",
        "a batch behind the first cannot be equal",
        "[?,2,5]",
        "[?,3,1]",
        {"axis": 2, "batch_dims": 2},
        "batch-shape",
    ),
    ("openvino-8", "data of unknown rank", "[...]", "[2,3]", {"axis": 1}, "[...]"),
    ("openvino-8", "indices of unknown rank", "[2,3]", "[...]", {"axis": 1}, "[...]"),
    ("openvino-8", "both of unknown rank", "[...]", "[...]", {"axis": 1}, "[...]"),
    ("openvino-1", "data of unknown rank", "[...]", "[2,3]", {"axis": 1}, "[...]"),
    ("openvino-1", "both of unknown rank", "[...]", "[...]", {"axis": -7}, "[...]"),
    (
        "openvino-8",
        "an unknown axis leaves the batch and the rank",
        "[2,1,200,400]",
        "[2,2]",
        {"axis": "unknown", "batch_dims": 1},
        "[2,?,?,?]",
    ),
    (
        "openvino-7",
        "an unknown axis leaves the batch and the rank",
        "[2,1,200,400]",
        "[2,2]",
        {"axis": "unknown", "batch_dims": 1},
        "[2,?,?,?]",
    ),
    ("openvino-8", "an unknown axis, no batch", "[2,5]", "[3]", {"axis": "?"}, "[?,?]"),
    ("openvino-1", "an unknown axis, no batch", "[2,5]", "[3,4]", {"axis": "unknown"}, "[?,?,?]"),
    ("openvino-8", "an unknown axis, a 0-D index", "[2,5]", "[]", {"axis": "unknown"}, "[?]"),
    (
        "openvino-8",
        "an unknown axis meets the batch",
        "[1..7,5]",
        "[7..9,3]",
        {"axis": "unknown", "batch_dims": 1},
        "[7,?]",
    ),
    (
        "openvino-8",
        "an unknown axis does not hide unequal batches",
        "[2,5]",
        "[3,3]",
        {"axis": "unknown", "batch_dims": 1},
        "batch-shape",
    ),
    (
        "openvino-8",
        "no axis is beyond the batch",
        "[2,5]",
        "[2,5]",
        {"axis": "unknown", "batch_dims": 2},
        "batch-dims-axis",
    ),
    (
        "openvino-8",
        "an unknown axis of unknown data",
        "[...]",
        "[3]",
        {"axis": "unknown"},
        "[...]",
    ),
    (
        "openvino-8",
        "the axis is checked once the rank is known",
        "[?,?]",
        "[...]",
        {"axis": 2},
        "axis-range",
    ),
    ("openvino-8", "a negative axis likewise", "[?,?]", "[...]", {"axis": -3}, "axis-range"),
    ("openvino-8", "a negative axis of unknown data", "[...]", "[2]", {"axis": -9}, "[...]"),
    ("openvino-8", "a large axis of unknown data", "[...]", "[2]", {"axis": 9}, "[...]"),
    (
        "openvino-8",
        "batch_dims above the axis, all ranks unknown",
        "[...]",
        "[...]",
        {"axis": 0, "batch_dims": 1},
        "batch-dims-axis",
    ),
    (
        "openvino-8",
        "batch_dims counted from the end above the axis",
        "[...]",
        "[?,?]",
        {"axis": 0, "batch_dims": -1},
        "batch-dims-axis",
    ),
    (
        "openvino-8",
        "a negative axis of unknown data is not below batch_dims yet",
        "[...]",
        "[?,?]",
        {"axis": -1, "batch_dims": 2},
        "[...]",
    ),
    (
        "openvino-8",
        "a negative axis of known data is below batch_dims",
        "[?,?]",
        "[?,?]",
        {"axis": -2, "batch_dims": 1},
        "batch-dims-axis",
    ),
    (
        "openvino-8",
        "negative batch_dims of unknown indices are not above the axis yet",
        "[2,3]",
        "[...]",
        {"axis": 0, "batch_dims": -1},
        "[...]",
    ),
    (
        "openvino-8",
        "batch_dims above the rank of the indices",
        "[...]",
        "[?]",
        {"axis": 5, "batch_dims": 2},
        "batch-dims-range",
    ),
    (
        "openvino-8",
        "batch_dims below minus the rank of the indices",
        "[...]",
        "[?]",
        {"axis": 5, "batch_dims": -2},
        "batch-dims-range",
    ),
    (
        "openvino-8",
        "batch_dims of a 0-D index",
        "[2,3]",
        "[]",
        {"axis": 1, "batch_dims": -1},
        "batch-dims-range",
    ),
    (
        "openvino-8",
        "unknown indices leave batch_dims above their rank unchecked",
        "[?,?,?]",
        "[...]",
        {"axis": 2, "batch_dims": 2},
        "[...]",
    ),
    ("openvino-8", "0-D data", "[]", "[2]", {}, "data-rank"),
    ("openvino-8", "0-D data, unknown indices", "[]", "[...]", {}, "data-rank"),
    ("openvino-8", "empty dimensions", "[0,5]", "[0]", {}, "[0,5]"),
    ("openvino-8", "an empty axis gives zeros", "[0,5]", "[3]", {}, "[3,5]"),
    ("openvino-1", "no batch", "[2,5]", "[2,3]", {"axis": 1}, "[2,2,3]"),
    ("openvino-1", "symbols are kept", "[N,5,C]", "[K,2]", {"axis": 1}, "[N,K,2,C]"),
    (
        "openvino-1",
        "batch_dims",
        "[...]",
        "[...]",
        {"axis": 1, "batch_dims": 1},
        "batch-dims-unsupported",
    ),
    ("onnx-13", "symbols are kept", '["N",3,"C"]', '["K"]', {"axis": 1}, "[N,K,C]"),
    ("onnx-13", "the same symbol twice", "[N,3]", "[N]", {"axis": 1}, "[N,N]"),
    ("onnx-13", "intervals are copied", "[1..5,3]", "[2..]", {"axis": 1}, "[1..5,2..]"),
    ("onnx-13", "the axis is 0 by default", "[5,N]", "[2,3]", {"axis": None}, "[2,3,N]"),
    ("onnx-11", "a 0-D index", "[5,N]", "[]", {"axis": -1}, "[5]"),
    ("onnx-1", "two dimensions of indices", "[5,N]", "[?,2]", {"axis": 0}, "[?,2,N]"),
    ("onnx-13", "data of unknown rank", "[...]", "[2]", {}, "[...]"),
    ("onnx-13", "indices of unknown rank", "[2]", "[...]", {}, "[...]"),
    ("onnx-13", "the axis past the last", "[2,3]", "[...]", {"axis": 2}, "axis-range"),
    ("onnx-13", "an axis is known", "[2,3]", "[4]", {"axis": "unknown"}, "axis-type"),
    ("onnx-1", "an axis is known", "[...]", "[4]", {"axis": "?"}, "axis-type"),
    ("onnx-13", "batch_dims", "[2,3]", "[2]", {"batch_dims": 1}, "batch-dims-unsupported"),
    ("onnx-11", "0-D data", "[]", "[2]", {}, "data-rank"),
]

ELEMENTS: Final[list[Case]] = [
    ("openvino-6", "all known", "[2,5]", "[2,3]", {"axis": 1}, "[2,3]"),
    (
        "openvino-6",
        "the dimensions beside the axis narrow",
        "[?,2..4,1..5,?,4..8,2..4]",
        "[?,3..6,6..10,4..8,?,4..6]",
        {"axis": 2},
        "[?,3..4,6..10,4..8,4..8,4]",
    ),
    (
        "openvino-6",
        "a negative axis counts from the end",
        "[?,2..4,1..5,?,4..8,2..4]",
        "[?,3..6,6..10,4..8,?,4..6]",
        {"axis": -4},
        "[?,3..4,6..10,4..8,4..8,4]",
    ),
    ("openvino-6", "the axis is that of the indices", "[9,2]", "[1..5,2]", {"axis": 0}, "[1..5,2]"),
    ("openvino-6", "beside the axis a number decides", "[9,2]", "[3,?]", {"axis": 0}, "[3,2]"),
    ("openvino-6", "a symbol beside the axis", "[9,N]", "[3,?]", {"axis": 0}, "[3,N]"),
    ("openvino-6", "a symbol and a number", "[9,N]", "[3,2]", {"axis": 0}, "[3,2]"),
    ("openvino-6", "two symbols", "[9,N]", "[3,M]", {"axis": 0}, "[3,N]"),
    ("openvino-6", "a symbol on the axis", "[9,2]", "[K,2]", {"axis": 0}, "[K,2]"),
    ("openvino-6", "data of unknown rank", "[...]", "[?,2..4,N]", {"axis": 0}, "[?,2..4,N]"),
    ("openvino-6", "indices of unknown rank", "[9,2..4,N]", "[...]", {"axis": 1}, "[9,?,N]"),
    ("openvino-6", "indices of unknown rank, the end", "[9,2]", "[...]", {"axis": -1}, "[9,?]"),
    ("openvino-6", "both of unknown rank", "[...]", "[...]", {"axis": 1}, "[...]"),
    ("openvino-6", "both of unknown rank, from the end", "[...]", "[...]", {"axis": -9}, "[...]"),
    ("openvino-6", "ranks that differ", "[2,3]", "[2]", {"axis": 0}, "indices-rank"),
    ("openvino-6", "0-D data", "[]", "[]", {"axis": 0}, "data-rank"),
    ("openvino-6", "0-D indices", "[...]", "[]", {"axis": 0}, "indices-rank"),
    ("openvino-6", "cannot be equal", "[2,1..3]", "[2,4..6]", {"axis": 0}, "elements-shape"),
    ("openvino-6", "smaller beside the axis", "[2,3]", "[2,2]", {"axis": 0}, "elements-shape"),
    ("openvino-6", "one does not broadcast", "[2,3]", "[2,1]", {"axis": 0}, "elements-shape"),
    ("openvino-6", "larger on the axis", "[2,3]", "[2,9]", {"axis": 1}, "[2,9]"),
    ("openvino-6", "the axis is required", "[2,3]", "[2,3]", {"axis": None}, "axis-required"),
    ("openvino-6", "the axis is an attribute", "[2]", "[2]", {"axis": "unknown"}, "axis-type"),
    ("openvino-6", "the axis past the last", "[?,?]", "[?,?]", {"axis": 2}, "axis-range"),
    (
        "openvino-6",
        "the axis past the last of the indices",
        "[...]",
        "[?]",
        {"axis": 1},
        "axis-range",
    ),
    ("openvino-6", "the axis past the last of data", "[?]", "[...]", {"axis": -2}, "axis-range"),
    (
        "openvino-6",
        "batch_dims",
        "[2]",
        "[2]",
        {"axis": 0, "batch_dims": 1},
        "batch-dims-unsupported",
    ),
    ("onnx-13", "the shape of the indices", "[9,N]", "[?,K]", {"axis": 0}, "[?,K]"),
    ("onnx-13", "nothing is narrowed", "[9,2..4]", "[3,1..6]", {"axis": 0}, "[3,1..6]"),
    ("onnx-11", "nothing is narrowed", "[9,2]", "[3,?]", {"axis": 0}, "[3,?]"),
    ("onnx-13", "smaller beside the axis", "[9,3]", "[4,2]", {"axis": 0}, "[4,2]"),
    ("onnx-13", "none beside the axis", "[9,3]", "[4,0]", {"axis": 0}, "[4,0]"),
    ("onnx-13", "larger on the axis", "[9,3]", "[99,3]", {"axis": 0}, "[99,3]"),
    ("onnx-13", "larger beside the axis", "[9,3]", "[4,4]", {"axis": 0}, "elements-shape"),
    ("onnx-13", "one does not broadcast", "[9,1]", "[4,3]", {"axis": 0}, "elements-shape"),
    ("onnx-13", "surely larger", "[9,1..3]", "[4,4..]", {"axis": 0}, "elements-shape"),
    ("onnx-11", "surely larger", "[9,1..3]", "[4,4..6]", {"axis": -2}, "elements-shape"),
    ("onnx-13", "perhaps larger", "[9,1..3]", "[4,3..6]", {"axis": 0}, "[4,3..6]"),
    ("onnx-13", "larger than a symbol, perhaps", "[9,N]", "[4,99]", {"axis": 0}, "[4,99]"),
    ("onnx-13", "data of unknown rank", "[...]", "[3,N]", {"axis": 0}, "[3,N]"),
    ("onnx-13", "indices of unknown rank", "[3,N]", "[...]", {"axis": 0}, "[...]"),
    ("onnx-13", "both of unknown rank", "[...]", "[...]", {"axis": 0}, "[...]"),
    ("onnx-13", "the axis is 0 by default", "[9,3]", "[4,3]", {"axis": None}, "[4,3]"),
    ("onnx-11", "the default axis", "[9,3]", "[9,4]", {"axis": None}, "elements-shape"),
    ("onnx-13", "ranks that differ", "[2,3]", "[2,3,1]", {"axis": 0}, "indices-rank"),
    ("onnx-13", "0-D data", "[]", "[...]", {"axis": 0}, "data-rank"),
    ("onnx-13", "0-D indices", "[2]", "[]", {"axis": 0}, "indices-rank"),
    ("onnx-13", "the axis past the last", "[2,3]", "[2,3]", {"axis": -3}, "axis-range"),
    ("onnx-13", "the axis is an attribute", "[2]", "[2]", {"axis": "?"}, "axis-type"),
]


def _named(family: str, cases: list[Case]) -> list[Any]:
    return [
        pytest.param(family, case, id=f"{family} {case[0]}: {case[1]}, {case[2]} by {case[3]}")
        for case in cases
    ]


@pytest.mark.parametrize(
    ("family", "case"), [*_named("gather", GATHER), *_named("gather-elements", ELEMENTS)]
)
def test_inference_says_as_much_as_the_shapes_say(family: str, case: Case) -> None:
    version, _, data, indices, attributes, answer = case
    if answer.startswith("["):
        shape = infer_shape(family, data, indices, version=version, **attributes)
        assert str(shape) == answer
        return

    with pytest.raises(GatherError) as caught:
        infer_shape(family, data, indices, version=version, **attributes)

    assert caught.value.rule == answer


def test_shapes_of_sizes_give_a_tuple_of_sizes() -> None:
    assert infer_shape("gather", (2, 5), (2, 3), axis=1, batch_dims=1) == (2, 3)


def test_none_and_minus_one_are_unknown_sizes() -> None:
    assert str(infer_shape("gather", (None, 5), (-1, 3), axis=1)) == "[?,?,3]"


def test_the_default_version_of_gather_is_openvinos_newest() -> None:
    assert str(infer_shape("gather", "[2,5]", "[2]", axis=1, batch_dims=1)) == "[2]"


def test_the_default_version_of_gather_elements_narrows() -> None:
    assert str(infer_shape("gather_elements", "[4,N]", "[2,?]", axis=0)) == "[2,N]"


def test_an_operator_that_does_not_exist_is_refused() -> None:
    with pytest.raises(GatherError) as caught:
        infer_shape("gathr", "[2]", "[2]")

    assert caught.value.message == (
        "no operator `gathr`: expected gather, gather-elements, gather-nd or gather-tree"
    )
    assert (caught.value.hint, caught.value.status) == ("did you mean `gather`?", 2)


@pytest.mark.parametrize("shapes", [("[2,3]", "[2]", "[]"), ("[2,3]", "[2]", "[]", "[]", "[]")])
def test_an_operator_takes_a_shape_for_each_of_its_inputs(shapes: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refusal:
        infer_shape("gather-tree", *shapes)

    assert refusal.value.message == (
        f"gather-tree takes 4 shapes, not {len(shapes)}: "
        "expected step_ids, parent_ids, max_seq_len and end_token"
    )


def test_an_operator_takes_each_of_its_inputs_and_no_other() -> None:
    with pytest.raises(UsageError, match="gather takes 2 inputs, not 3: expected data and indices"):
        explain("gather", [1, 2], [0], [0])
