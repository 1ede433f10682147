"""The provenance of every cell is that of the answer, for any call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

import gathercli
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.explain import gather_provenance
from gathercli.explain.provenance import Fate
from tests import oracle
from tests.random_calls import (
    Case,
    Dice,
    any_case,
    as_compared,
    as_passed,
    every_row,
    legal_case,
    moderately,
    oracle_answer,
    outcome,
    seeds,
)

if TYPE_CHECKING:
    from gathercli.explain.python import Explained
    from gathercli.spec.op import Op
    from tests.conftest import Run


def explain_case(op: Op, case: Case) -> Explained[Any]:
    how = case.attributes
    return gathercli.explain(
        op.family,
        as_passed(case.data, case.data_type),
        as_passed(case.indices, case.indices_type),
        axis=how.axis,
        batch_dims=how.batch_dims,
        version=op.id,
        negative=how.negative,
        out_of_range=how.out_of_range,
    )


def assert_cells_are_read_where_they_say(case: Case, explanation: Explained[Any], out: Any) -> None:
    dtype = dtype_of(as_passed(case.data, case.data_type).dtype)
    assert dtype is not None
    answer = Tensor(dtype, as_compared(out)).values()
    data = Tensor(dtype, case.data).values()
    cells = list(explanation.cells())
    assert [each.out for each in cells] == list(oracle.coordinates(out.shape))
    batch_dims = case.attributes.batch_dims
    for each in cells:
        k = case.indices[each.indices]
        assert each.k == (tuple(k) if isinstance(each.k, tuple) else k)
        if each.data is not None:
            if isinstance(each.k, tuple):
                start = (*each.indices[:batch_dims], *each.position)
                assert each.data[: len(start)] == start
            assert each.fate is Fate.COPIED
            same(answer[each.out], data[each.data])
            same(answer[each.out], each.value)
        else:
            assert each.fate is Fate.FILLED
            assert not answer[each.out]
            assert not each.value


def same(one: Any, other: Any) -> None:
    assert one == other or (one != one and other != other)  # noqa: PLR0124  (NaN)


@every_row
@moderately
@given(seed=seeds)
def test_a_cell_of_any_call_holds_what_is_where_its_way_ends(op: Op, seed: int) -> None:
    case = any_case(op, Dice(seed))
    expected = outcome(lambda: oracle_answer(op, case))
    try:
        explanation = explain_case(op, case)
    except gathercli.OperatorError as error:
        explanation = None
        refused_by = error.rule
    if explanation is None:
        assert refused_by == expected
        return
    if explanation.refusal is not None:
        assert explanation.refusal.rule == expected
        for each in explanation.cells():
            assert each.fate is Fate.COPIED or each.value in (None, 0, False, "", 0j)
    else:
        assert not isinstance(expected, str)
        assert_cells_are_read_where_they_say(case, explanation, expected)


@every_row
@moderately
@given(seed=seeds)
def test_every_way_is_that_of_a_legal_call(op: Op, seed: int) -> None:
    case = legal_case(op, Dice(seed))
    explanation = explain_case(op, case)
    assert explanation.refusal is None
    assert_cells_are_read_where_they_say(case, explanation, oracle_answer(op, case))


@pytest.mark.parametrize("outside", ["spec", "zero", "clamp", "wrap"])
def test_no_option_moves_an_index_that_another_refuses(outside: str, run: Run) -> None:
    words = ("--negative", "error", "--out-of-range", outside, "-f", "json")

    fields = json.loads(run("explain", "gather", "[10,20]", "0,-1,-2,-7,1", *words).out)

    assert [cell["position"] for cell in fields["cells"]] == [0, None, None, None, 1]
    assert [cell["fate"] for cell in fields["cells"]] == ["copied", *["refused"] * 3, "copied"]


def test_reads_of_very_many_indices_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather_provenance, "MOST_COUNTED_INDICES", 2)
    monkeypatch.setattr(gather_provenance, "MOST_SPARSE_INDICES", 2)
    text = str(gathercli.explain("gather", [1, 2], [1, 0, 1]))
    assert "read   not counted: there are 3 indices" in text
    assert "no letter" not in text
