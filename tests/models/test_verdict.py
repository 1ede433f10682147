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


def tree(path: Path, parents: Any, *, constant: bool = True) -> NodeVerdict:
    """Judge a GatherTree of two beams over two steps."""
    ir = Ir()
    steps = ir.constant("steps", np.array([[[1, 2]], [[3, 4]]], np.int32))
    inputs = [
        steps,
        ir.constant("parents", np.array(parents, np.int32)),
        ir.constant("lengths", np.array([2], np.int32))
        if constant
        else ir.parameter("lengths", "i32", [1]),
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


def test_parents_are_not_checked_unless_every_input_is_constant(tmp_path: Path) -> None:
    verdict = tree(tmp_path, [[[0, 0]], [[2, 0]]], constant=False)

    assert (verdict.word, verdict.checked) == ("at run time", ())


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
