"""The verdict on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.compute.check import count
from gathercli.models import verdict as verdicts
from gathercli.models.files import read
from gathercli.models.verdict import NodeVerdict, judge
from tests.modelfiles import Ir

if TYPE_CHECKING:
    from pathlib import Path


def tree(path: Path, parents: Any) -> NodeVerdict:
    """Judge a GatherTree of two beams over two steps."""
    ir = Ir()
    steps = ir.constant("steps", np.array([[[1, 2]], [[3, 4]]], np.int32))
    inputs = [
        steps,
        ir.constant("parents", np.array(parents, np.int32)),
        ir.constant("lengths", np.array([2], np.int32)),
        ir.constant("end", np.array(9, np.int32)),
    ]
    ir.layer("tree", "GatherTree", inputs, "i32", [2, 1, 2], opset="opset1")
    (node,) = read(str(ir.save(path / "m.xml"))).nodes
    return judge(node)


@pytest.mark.parametrize(
    ("parents", "word", "checked"),
    [
        ([[[0, 0]], [[1, 0]]], "proven", ("parent_ids",)),
        ([[[7, 7]], [[1, 0]]], "proven", ("parent_ids",)),
        ([[[0, 0]], [[2, 0]]], "refused", ()),
    ],
)
def test_the_parents_of_a_tree_are_checked_where_they_are_used(
    tmp_path: Path, parents: Any, word: str, checked: tuple[str, ...]
) -> None:
    verdict = tree(tmp_path, parents)

    assert (verdict.word, verdict.checked) == (word, checked)


@pytest.mark.parametrize(
    ("parents", "lengths", "word"),
    [
        ([[[0, 0]], [[1, 0]]], [2], "proven"),
        ([[[0, 0]], [[2, 0]]], [2], "refused"),
        ([[[0, 0]], [[2, 0]]], [1], "proven"),  # of one step no parent is used
        ([[[0, 0]], [[-1, 0]]], [9], "refused"),  # more steps than there are
        ([[[0, 0]], [[1, 0]]], None, "proven"),  # however many steps there are
        ([[[7, 7]], [[1, 0]]], None, "proven"),
        ([[[0, 0]], [[2, 0]]], None, "at run time"),  # no length is refused by all
        (None, [1], "proven"),
        (None, [0], "proven"),
        (None, [2], "at run time"),
        (None, None, "at run time"),
    ],
)
def test_parents_are_followed_whatever_the_steps_and_the_end_are(
    tmp_path: Path, parents: Any, lengths: list[int] | None, word: str
) -> None:
    ir = Ir()
    constant = {"parents": parents, "lengths": lengths}
    shapes = {"steps": [2, 1, 2], "parents": [2, 1, 2], "lengths": [1], "end": []}
    inputs = [
        ir.constant(name, np.array(constant[name], np.int32))
        if constant.get(name) is not None
        else ir.parameter(name, "i32", shape)
        for name, shape in shapes.items()
    ]
    ir.layer("tree", "GatherTree", inputs, "i32", [2, 1, 2], opset="opset1")
    (node,) = read(str(ir.save(tmp_path / "m.xml"))).nodes

    assert judge(node).word == word


def test_parents_of_one_step_are_never_used(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter(name, "i32", [1, -1, -1]) for name in ("steps", "parents")]
    inputs += [ir.parameter("lengths", "i32", [-1]), ir.parameter("end", "i32", [])]
    ir.layer("tree", "GatherTree", inputs, "i32", [1, -1, -1], opset="opset1")
    (node,) = read(str(ir.save(tmp_path / "m.xml"))).nodes

    assert judge(node).word == "proven"


def test_steps_that_cannot_be_read_hide_no_verdict(tmp_path: Path) -> None:
    verdict = tree(tmp_path, [[[0, 0]], [[1, 0]]])
    steps = verdict.node.inputs[0]._replace(unread="its elements are elsewhere")

    node = verdict.node._replace(inputs=(steps, *verdict.node.inputs[1:]))

    assert (judge(node).word, node.unread) == ("proven", {})


def test_tuples_into_data_of_unknown_rank_are_not_checked(tmp_path: Path) -> None:
    ir = Ir()
    data = ir.parameter("x", "f32", [], "...")
    indices = ir.constant("i", np.array([[-1]]))
    ir.layer("pick", "GatherND", [data, indices], "f32", [], opset="opset5", batch_dims=0)
    (node,) = read(str(ir.save(tmp_path / "m.xml"))).nodes

    verdict = judge(node)

    assert (verdict.word, verdict.checked, str(verdict.shape)) == ("at run time", (), "[...]")


@pytest.mark.parametrize("sizes", ["...", "3,?"])
def test_tuples_of_unknown_length_have_no_axes(tmp_path: Path, sizes: str) -> None:
    ir = Ir()
    data = ir.parameter("x", "f32", [4, 4])
    indices = ir.parameter("i", "i64", [], sizes)
    ir.layer("pick", "GatherND", [data, indices], "f32", [], opset="opset5", batch_dims=0)
    (node,) = read(str(ir.save(tmp_path / "m.xml"))).nodes

    call = judge(node).call

    assert call is not None
    assert verdicts.widest_axes(call, "indices") == ()


def test_indices_that_nodes_share_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [9]), ir.constant("indices", np.array([1, 9]))]
    inputs.append(ir.constant("axis", np.array(0)))
    for name in "abc":
        ir.layer(name, "Gather", inputs, "f32", [2], batch_dims=0)
    counted: list[object] = []

    def counting(*args: Any, **options: Any) -> Any:
        counted.append(args)
        return count(*args, **options)

    monkeypatch.setattr(verdicts, "count", counting)
    model = read(str(ir.save(tmp_path / "m.xml")))
    words = [judge(node).word for node in model.nodes]
    model.close()

    assert words == ["fills", "fills", "fills"]
    assert len(counted) == 1
