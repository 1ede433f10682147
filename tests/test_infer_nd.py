"""What inference says of GatherND and GatherTree: a line a case, as in `test_infer`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

import gathercli
from tests import oracle, oracle_nd

if TYPE_CHECKING:
    from collections.abc import Callable

Case = tuple[str, str, str, str, int, str]

NDS: Final[list[Case]] = [
    # version, the sentence, data, indices, batch_dims, the shape or the rule that refuses
    ("openvino-8", "the tuples are replaced by slices", "[3,4,5]", "[7,2]", 0, "[7,5]"),
    ("openvino-8", "a tuple as long as the rank", "[3,4]", "[7,8,2]", 0, "[7,8]"),
    ("openvino-8", "one tuple", "[3,4]", "[1]", 0, "[4]"),
    ("openvino-8", "one tuple as long as the rank", "[3,4]", "[2]", 0, "[]"),
    ("openvino-5", "one tuple as long as the rank", "[3]", "[1]", 0, "[]"),
    ("openvino-8", "a tuple of none copies the data", "[3,N]", "[7,0]", 0, "[7,3,N]"),
    ("openvino-5", "one tuple of none is the data", "[3,1..4]", "[0]", 0, "[3,1..4]"),
    ("openvino-8", "a tuple of none in a batch", "[2,3,5]", "[2,3,0]", 2, "[2,3,5]"),
    ("openvino-5", "a tuple of none in two batches", "[2,3,5]", "[2,3,0]", 2, "[6,5]"),
    ("openvino-8", "empty dimensions", "[0,5]", "[0,1]", 0, "[0,5]"),
    (
        "openvino-8",
        "the sizes that are picked from are of no matter",
        "[?,N,2..9,5]",
        "[3..4,3]",
        0,
        "[3..4,5]",
    ),
    (
        "openvino-8",
        "the other dimensions are copied",
        "[9,?,N,1..3,4..]",
        "[K,?,2..5,2]",
        0,
        "[K,?,2..5,N,1..3,4..]",
    ),
    (
        "openvino-5",
        "the other dimensions are copied",
        "[9,?,N,1..3,4..]",
        "[K,?,2..5,2]",
        0,
        "[K,?,2..5,N,1..3,4..]",
    ),
    ("openvino-8", "a symbol on both sides", "[9,N]", "[N,1]", 0, "[N,N]"),
    ("openvino-5", "one batch", "[30,2,100,35]", "[30,2,3,1]", 1, "[30,2,3,100,35]"),
    ("openvino-8", "one batch", "[30,2,100,35]", "[30,2,3,1]", 1, "[30,2,3,100,35]"),
    ("openvino-5", "one batch narrows", "[1..7,20,20]", "[7..10,3,1]", 1, "[7,3,20]"),
    ("openvino-8", "one batch narrows", "[1..7,20,20]", "[7..10,3,1]", 1, "[7,3,20]"),
    ("openvino-5", "one batch is unknown", "[?,5]", "[?,2,1]", 1, "[?,2]"),
    ("openvino-8", "one batch is unknown", "[?,5]", "[?,2,1]", 1, "[?,2]"),
    ("openvino-5", "one batch has no upper end", "[3..,5]", "[..8,2,1]", 1, "[3..8,2]"),
    ("openvino-8", "one batch has no upper end", "[3..,5]", "[..8,2,1]", 1, "[3..8,2]"),
    ("openvino-8", "a number decides a batch", "[?,5]", "[4,2,1]", 1, "[4,2]"),
    ("openvino-8", "a symbol stays beside an unknown batch", "[N,5]", "[?,1]", 1, "[N]"),
    ("openvino-8", "a symbol of the indices stays too", "[?,5]", "[N,1]", 1, "[N]"),
    ("openvino-5", "of two symbols that of data stays", "[N,5]", "[M,1]", 1, "[N]"),
    ("openvino-8", "a symbol gives way to an interval", "[N,5]", "[2..3,1]", 1, "[2..3]"),
    ("openvino-5", "two batches", "[30,2,100,35]", "[30,2,3,1]", 2, "[60,3,35]"),
    ("openvino-8", "two batches", "[30,2,100,35]", "[30,2,3,1]", 2, "[30,2,3,35]"),
    ("openvino-5", "three batches", "[1,64,64,320]", "[1,64,64,1,1]", 3, "[4096,1]"),
    ("openvino-8", "three batches", "[1,64,64,320]", "[1,64,64,1,1]", 3, "[1,64,64,1]"),
    (
        "openvino-5",
        "two batches that are intervals",
        "[4..6,6..7,5]",
        "[4..6,6..7,1]",
        2,
        "[24..42]",
    ),
    (
        "openvino-8",
        "two batches that are intervals",
        "[4..6,6..7,5]",
        "[4..6,6..7,1]",
        2,
        "[4..6,6..7]",
    ),
    ("openvino-5", "two batches that narrow", "[4..6,6..7,5]", "[3..5,7..9,2,1]", 2, "[28..35,2]"),
    ("openvino-8", "two batches that narrow", "[4..6,6..7,5]", "[3..5,7..9,2,1]", 2, "[4..5,7,2]"),
    ("openvino-5", "two batches, each known from one side", "[2,?,5]", "[?,3,1]", 2, "[6]"),
    ("openvino-8", "two batches, each known from one side", "[2,?,5]", "[?,3,1]", 2, "[2,3]"),
    (
        "openvino-5",
        "three batches, all known from the indices",
        "[?,?,?,5]",
        "[2,3,4,1]",
        3,
        "[24]",
    ),
    (
        "openvino-8",
        "three batches, all known from the indices",
        "[?,?,?,5]",
        "[2,3,4,1]",
        3,
        "[2,3,4]",
    ),
    ("openvino-5", "two unknown batches", "[?,?,5]", "[?,?,1]", 2, "[?]"),
    ("openvino-8", "two unknown batches", "[?,?,5]", "[?,?,1]", 2, "[?,?]"),
    ("openvino-5", "two batches without upper ends", "[2..,3..,5]", "[?,?,1]", 2, "[6..]"),
    ("openvino-8", "two batches without upper ends", "[2..,3..,5]", "[?,?,1]", 2, "[2..,3..]"),
    ("openvino-5", "two batches with upper ends only", "[..4,..5,9]", "[?,?,1]", 2, "[0..20]"),
    ("openvino-8", "two batches with upper ends only", "[..4,..5,9]", "[?,?,1]", 2, "[0..4,0..5]"),
    ("openvino-5", "none beside an unknown batch", "[0,?,5]", "[?,?,1]", 2, "[0]"),
    ("openvino-8", "none beside an unknown batch", "[0,?,5]", "[?,?,1]", 2, "[0,?]"),
    ("openvino-5", "a symbol in a product is unknown", "[N,3,5]", "[?,3,2,1]", 2, "[?,2]"),
    ("openvino-8", "a symbol in a batch stays", "[N,3,5]", "[?,3,2,1]", 2, "[N,3,2]"),
    ("openvino-5", "a symbol times one is unknown too", "[N,1,5]", "[?,1,2,1]", 2, "[?,2]"),
    (
        "openvino-5",
        "the slices stand behind the product",
        "[1..2,3..4,9,N]",
        "[1..2,2..3,7,1]",
        2,
        "[3..6,7,N]",
    ),
    ("openvino-5", "the length of the tuples is unknown", "[2,3]", "[2,?]", 0, "[...]"),
    ("openvino-8", "the length of the tuples is unknown", "[2,3]", "[2,?]", 0, "[...]"),
    ("openvino-5", "the length of the tuples is an interval", "[2,3]", "[?,1..2]", 0, "[...]"),
    ("openvino-8", "the length of the tuples is an interval", "[2,3]", "[?,1..2]", 0, "[...]"),
    ("openvino-5", "the length of the tuples is a symbol", "[2,3]", "[4,K]", 0, "[...]"),
    ("openvino-8", "the length of the tuples is a symbol", "[2,3]", "[4,K]", 0, "[...]"),
    ("openvino-5", "the length is surely too large, but not known", "[2,3]", "[3..5]", 0, "[...]"),
    ("openvino-8", "the length is surely too large, but not known", "[2,3]", "[3..5]", 0, "[...]"),
    ("openvino-5", "the length is unknown in a batch", "[2,?,5]", "[?,3,?]", 2, "[...]"),
    ("openvino-8", "the length is unknown in a batch", "[2,?,5]", "[?,3,?]", 2, "[...]"),
    ("openvino-5", "data of unknown rank", "[...]", "[2,1]", 0, "[...]"),
    ("openvino-8", "data of unknown rank", "[...]", "[2,1]", 0, "[...]"),
    ("openvino-5", "indices of unknown rank", "[2,3]", "[...]", 1, "[...]"),
    ("openvino-8", "indices of unknown rank", "[2,3]", "[...]", 1, "[...]"),
    ("openvino-5", "both of unknown rank", "[...]", "[...]", 7, "[...]"),
    ("openvino-8", "both of unknown rank", "[...]", "[...]", 7, "[...]"),
    ("openvino-5", "0-D data", "[]", "[1]", 0, "data-rank"),
    ("openvino-8", "0-D data", "[]", "[1]", 0, "data-rank"),
    ("openvino-8", "0-D data, unknown indices", "[]", "[...]", 0, "data-rank"),
    ("openvino-5", "0-D indices", "[2]", "[]", 0, "indices-rank"),
    ("openvino-8", "0-D indices", "[2]", "[]", 0, "indices-rank"),
    ("openvino-8", "0-D indices, unknown data", "[...]", "[]", 0, "indices-rank"),
    ("openvino-5", "batch_dims of the rank of data", "[2]", "[2,1,1]", 1, "batch-dims-range"),
    ("openvino-8", "batch_dims of the rank of data", "[2]", "[2,1,1]", 1, "batch-dims-range"),
    ("openvino-5", "batch_dims of the rank of the indices", "[2,3]", "[2]", 1, "batch-dims-range"),
    ("openvino-8", "batch_dims of the rank of the indices", "[2,3]", "[2]", 1, "batch-dims-range"),
    (
        "openvino-5",
        "batch_dims beyond the indices, unknown data",
        "[...]",
        "[2,1]",
        2,
        "batch-dims-range",
    ),
    (
        "openvino-8",
        "batch_dims beyond the indices, unknown data",
        "[...]",
        "[2,1]",
        2,
        "batch-dims-range",
    ),
    (
        "openvino-5",
        "batch_dims beyond the data, unknown indices",
        "[2]",
        "[...]",
        1,
        "batch-dims-range",
    ),
    (
        "openvino-8",
        "batch_dims beyond the data, unknown indices",
        "[2]",
        "[...]",
        1,
        "batch-dims-range",
    ),
    ("openvino-5", "negative batch_dims", "[2,3]", "[2,1]", -1, "batch-dims-range"),
    ("openvino-8", "negative batch_dims", "[2,3]", "[2,1]", -1, "batch-dims-range"),
    (
        "openvino-8",
        "negative batch_dims, both ranks unknown",
        "[...]",
        "[...]",
        -1,
        "batch-dims-range",
    ),
    ("openvino-5", "batches that differ", "[2,5]", "[3,1]", 1, "batch-shape"),
    ("openvino-8", "batches that differ", "[2,5]", "[3,1]", 1, "batch-shape"),
    ("openvino-5", "data of one batch does not broadcast", "[1,5]", "[3,1]", 1, "batch-shape"),
    ("openvino-8", "data of one batch does not broadcast", "[1,5]", "[3,1]", 1, "batch-shape"),
    ("openvino-5", "indices of one batch do not broadcast", "[3,5]", "[1,1]", 1, "batch-shape"),
    ("openvino-8", "indices of one batch do not broadcast", "[3,5]", "[1,1]", 1, "batch-shape"),
    ("openvino-5", "batches that cannot be equal", "[1..3,4]", "[5..6,1]", 1, "batch-shape"),
    ("openvino-8", "batches that cannot be equal", "[1..3,4]", "[5..6,1]", 1, "batch-shape"),
    ("openvino-8", "the second batch cannot be equal", "[?,2,5]", "[?,3..,1]", 2, "batch-shape"),
    ("openvino-8", "batches that differ, the length unknown", "[2,5]", "[3,?]", 1, "batch-shape"),
    ("openvino-5", "a tuple longer than the rank", "[2,3]", "[4,3]", 0, "indices-depth"),
    ("openvino-8", "a tuple longer than the rank", "[2,3]", "[4,3]", 0, "indices-depth"),
    (
        "openvino-5",
        "a tuple longer than the rank after the batch",
        "[2,5]",
        "[2,2]",
        1,
        "indices-depth",
    ),
    (
        "openvino-8",
        "a tuple longer than the rank after the batch",
        "[2,5]",
        "[2,2]",
        1,
        "indices-depth",
    ),
    ("openvino-8", "one long tuple", "[?,?]", "[9]", 0, "indices-depth"),
    (
        "openvino-8",
        "the length is checked before the batches",
        "[2,5]",
        "[3,9]",
        1,
        "indices-depth",
    ),
    ("onnx-13", "symbols are kept", '["N",3,"C"]', '["K",2]', 0, "[K,C]"),
    ("onnx-12", "intervals are copied", "[?,1..5]", "[2..,?,1]", 0, "[2..,?,1..5]"),
    ("onnx-11", "a tuple as long as the rank", "[N,M]", "[K,L,2]", 0, "[K,L]"),
    ("onnx-11", "one tuple as long as the rank", "[N,M]", "[2]", 0, "[]"),
    ("onnx-13", "one batch", "[N,3,C]", "[N,K,1]", 1, "[N,K,C]"),
    ("onnx-13", "two batches stay two", "[2,3,4,5]", "[2,3,7,1]", 2, "[2,3,7,5]"),
    ("onnx-12", "the batch is that of the indices", "[3,5]", "[?,1]", 1, "[?]"),
    ("onnx-13", "nothing is narrowed", "[1..7,5]", "[7..10,2,1]", 1, "[7..10,2]"),
    ("onnx-13", "the length of the tuples is unknown", "[2,3]", "[4,?]", 0, "[...]"),
    ("onnx-11", "the length of the tuples is a symbol", "[2,3]", "[4,K]", 0, "[...]"),
    ("onnx-13", "data of unknown rank", "[...]", "[4,1]", 0, "[...]"),
    ("onnx-12", "indices of unknown rank", "[2,3]", "[...]", 0, "[...]"),
    ("onnx-13", "a tuple of none", "[2,3]", "[4,0]", 0, "indices-depth"),
    ("onnx-11", "one tuple of none", "[?]", "[0]", 0, "indices-depth"),
    ("onnx-12", "a tuple longer than the rank", "[2,3]", "[4,3]", 0, "indices-depth"),
    (
        "onnx-13",
        "a tuple longer than the rank after the batch",
        "[2,3]",
        "[2,2]",
        1,
        "indices-depth",
    ),
    ("onnx-13", "batches that differ", "[2,3]", "[4,1]", 1, "batch-shape"),
    ("onnx-12", "batches that cannot be equal", "[1..3,3]", "[4..,1]", 1, "batch-shape"),
    ("onnx-11", "batch_dims", "[2,3]", "[2,1]", 1, "batch-dims-unsupported"),
    ("onnx-13", "negative batch_dims", "[2,3]", "[2,1]", -1, "batch-dims-range"),
    ("onnx-12", "batch_dims of the rank of data", "[2]", "[2,1,1]", 1, "batch-dims-range"),
    ("onnx-13", "0-D data", "[]", "[...]", 0, "data-rank"),
    ("onnx-11", "0-D indices", "[...]", "[]", 0, "indices-rank"),
    ("openvino-5", "one batch of pairs", "[8,3,11,12]", "[8,4,2]", 1, "[8,4,12]"),
    ("openvino-8", "one batch of pairs", "[8,3,11,12]", "[8,4,2]", 1, "[8,4,12]"),
    ("openvino-5", "one batch of triples", "[8,3,11,12]", "[8,4,3]", 1, "[8,4]"),
    ("openvino-8", "one batch of triples", "[8,3,11,12]", "[8,4,3]", 1, "[8,4]"),
    (
        "openvino-5",
        "one batch, all intervals",
        "[2..6,3..7,8..10,12..14]",
        "[4..8,6..10,2]",
        1,
        "[4..6,6..10,12..14]",
    ),
    (
        "openvino-8",
        "one batch, all intervals",
        "[2..6,3..7,8..10,12..14]",
        "[4..8,6..10,2]",
        1,
        "[4..6,6..10,12..14]",
    ),
    (
        "openvino-5",
        "two batches of pairs, all intervals",
        "[2..6,3..7,8..10,12..14]",
        "[4..8,6..10,2]",
        2,
        "[24..42]",
    ),
    (
        "openvino-8",
        "two batches of pairs, all intervals",
        "[2..6,3..7,8..10,12..14]",
        "[4..8,6..10,2]",
        2,
        "[4..6,6..7]",
    ),
    (
        "openvino-5",
        "two batches of slices, all intervals",
        "[2..6,3..7,8..10,12..14]",
        "[4..8,6..10,1]",
        2,
        "[24..42,12..14]",
    ),
    (
        "openvino-8",
        "two batches of slices, all intervals",
        "[2..6,3..7,8..10,12..14]",
        "[4..8,6..10,1]",
        2,
        "[4..6,6..7,12..14]",
    ),
    (
        "openvino-5",
        "two batches of data that is hardly known",
        "[7,?,?,12,?]",
        "[7,5,3,1]",
        2,
        "[35,3,12,?]",
    ),
    (
        "openvino-8",
        "two batches of data that is hardly known",
        "[7,?,?,12,?]",
        "[7,5,3,1]",
        2,
        "[7,5,3,12,?]",
    ),
    ("openvino-5", "one row of tuples", "[2,2,2]", "[1,1]", 0, "[1,2,2]"),
    ("openvino-8", "one row of tuples", "[2,2,2]", "[1,1]", 0, "[1,2,2]"),
]

TREES: Final[list[tuple[str, ...]]] = [
    # the sentence, step_ids, parent_ids, max_seq_len, end_token, the shape or the rule
    ("all known", "[5,2,3]", "[5,2,3]", "[2]", "[]", "[5,2,3]"),
    ("empty dimensions", "[0,2,0]", "[0,2,0]", "[2]", "[]", "[0,2,0]"),
    ("each dimension narrows", "[1..4,2..,?]", "[3..9,1..3,5]", "[3..8]", "[]", "[3..4,3,5]"),
    ("each narrows", "[2..5,4..8,3..6]", "[3..7,3..7,1..4]", "[2..6]", "[]", "[3..5,4..6,3..4]"),
    ("a number decides", "[?,2,?]", "[5,?,3]", "[?]", "[]", "[5,2,3]"),
    ("the lengths decide the batch", "[?,?,?]", "[?,?,?]", "[3]", "[]", "[?,3,?]"),
    ("lengths of unknown rank", "[5,?,3]", "[5,1..4,3]", "[...]", "[]", "[5,1..4,3]"),
    ("an unknown number of lengths", "[?,1..2,3]", "[4,?,?]", "[?]", "[]", "[4,1..2,3]"),
    ("symbols are kept", "[T,B,W]", "[?,?,?]", "[?]", "[]", "[T,B,W]"),
    ("a symbol gives way to a number", "[T,B,W]", "[T,B,4]", "[2]", "[]", "[T,2,4]"),
    ("of two symbols that of the steps stays", "[T,B,W]", "[S,C,V]", "[L]", "[]", "[T,B,W]"),
    ("steps of unknown rank", "[...]", "[1,?,3]", "[?]", "[...]", "[1,?,3]"),
    ("parents of unknown rank", "[1,?,3]", "[...]", "[2]", "[]", "[1,2,3]"),
    ("only lengths are known", "[...]", "[...]", "[3]", "[]", "[...]"),
    ("nothing is known", "[...]", "[...]", "[...]", "[...]", "[...]"),
    ("an end token of unknown rank", "[5,2,3]", "[5,2,3]", "[2]", "[...]", "[5,2,3]"),
    ("steps of rank 2", "[2,3]", "[2,3]", "[3]", "[]", "tree-shape"),
    ("steps of rank 2, the others unknown", "[1,2]", "[...]", "[...]", "[...]", "tree-shape"),
    ("parents of rank 4, the others unknown", "[...]", "[1,2,3,4]", "[...]", "[...]", "tree-shape"),
    ("parents of another rank", "[1,2,3]", "[?,?]", "[2]", "[]", "tree-shape"),
    ("parents of another size", "[1,2,3]", "[1,2,4]", "[2]", "[]", "tree-shape"),
    ("parents that cannot be equal", "[1..3,2,3]", "[4..,2,3]", "[2]", "[]", "tree-shape"),
    ("one does not broadcast", "[5,2,3]", "[1,2,3]", "[2]", "[]", "tree-shape"),
    ("another number of lengths", "[1,2,3]", "[1,2,3]", "[3]", "[]", "tree-shape"),
    ("another number of lengths, steps unknown", "[...]", "[?,2,3]", "[3]", "[]", "tree-shape"),
    ("lengths that cannot be equal", "[?,1..2,3]", "[4,?,?]", "[3..]", "[]", "tree-shape"),
    ("one length does not broadcast", "[5,2,3]", "[5,2,3]", "[1]", "[]", "tree-shape"),
    ("0-D lengths", "[1,2,3]", "[1,2,3]", "[]", "[]", "tree-shape"),
    ("lengths of rank 2, the others unknown", "[...]", "[...]", "[2,2]", "[]", "tree-shape"),
    ("an end token in a list", "[1,2,3]", "[1,2,3]", "[2]", "[1]", "tree-shape"),
    ("an end token in a list, the others unknown", "[...]", "[...]", "[...]", "[?]", "tree-shape"),
]


def _id(case: tuple[Any, ...]) -> str:
    *inputs, answer = case
    return f"{', '.join(map(str, inputs))} -> {answer}"


every_nd = pytest.mark.parametrize("case", NDS, ids=_id)
every_tree = pytest.mark.parametrize("case", TREES, ids=_id)


def _dimension(word: str | int) -> oracle.Dimension:
    if isinstance(word, int) or word.isdigit():
        return int(word)
    if word == "?":
        return oracle.UNKNOWN
    low, dots, high = word.partition("..")
    return (int(low or 0), int(high) if high else None) if dots else word


def _dimensions(shape: str) -> oracle.Dimensions:
    if shape == "[...]":
        return None
    words = json.loads(shape) if '"' in shape else [d for d in shape[1:-1].split(",") if d]
    return [_dimension(word) for word in words]


def _said(infer: Callable[[], oracle.Dimensions]) -> str:
    try:
        return oracle.text(infer())
    except oracle.Refused as refusal:
        return refusal.rule


@every_nd
def test_the_oracle_infers_gather_nd(case: Case) -> None:
    version, _, data, indices, batch_dims, answer = case
    name = version.replace("-", ".GatherND-")
    shapes = _dimensions(data), _dimensions(indices)

    assert _said(lambda: oracle_nd.infer(name, *shapes, batch_dims)) == answer


@every_tree
def test_the_oracle_infers_gather_tree(case: tuple[str, ...]) -> None:
    _, *texts, answer = case
    steps, parents, lengths, end = map(_dimensions, texts)

    assert _said(lambda: oracle_nd.infer_tree(steps, parents, lengths, end)) == answer


@every_nd
def test_inference_of_gather_nd_says_as_much_as_the_shapes_say(case: Case) -> None:
    version, _, data, indices, batch_dims, answer = case
    _assert_infers(answer, "gather-nd", data, indices, batch_dims=batch_dims, version=version)


@every_tree
def test_inference_of_gather_tree_says_as_much_as_the_shapes_say(case: tuple[str, ...]) -> None:
    _, *shapes, answer = case
    _assert_infers(answer, "gather-tree", *shapes)


def _assert_infers(answer: str, *call: str, **attributes: Any) -> None:
    if answer.startswith("["):
        assert str(gathercli.infer_shape(*call, **attributes)) == answer
        return
    with pytest.raises(gathercli.GatherError) as caught:
        gathercli.infer_shape(*call, **attributes)
    assert caught.value.rule == answer
