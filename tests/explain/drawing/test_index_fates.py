from __future__ import annotations

import numpy as np
import pytest

from gathercli import explain
from gathercli.explain.drawing.index_fates import IndexFates, index_fates
from tests import oracle, oracle_nd

SIZE = 3
DATA = np.arange(1, SIZE + 1)


def outcome_of(fates: IndexFates, version: str, k: int) -> tuple[str, str]:
    """Return what becomes of an index, as the script of the page finds it, and why."""
    spans = fates.versions[version]
    span = next(each for each in spans if each.last is None or k <= each.last)
    if span.rule == "is":
        return str(span.value), span.why
    number = int(span.value)
    return str(k + number if span.rule == "plus" else k % number), span.why


def judged(version: str, k: int, attributes: oracle.Attributes) -> str:
    """Return what a version makes of an index on an axis of `SIZE`, by the oracle."""
    judge, indices = (oracle_nd, [[k]]) if ".GatherND" in version else (oracle, [k])
    try:
        out = judge.run(
            version,
            DATA,
            np.array(indices),
            attributes,
            data_type="int64",
            indices_type="int64",
        )
    except oracle.Refused:
        return "refused"
    return str(out[0] - 1) if out[0] else "none"


def fates_of(op: str, axis: int | None, **policies: str) -> IndexFates:
    indices = [[0]] if op == "gather-nd" else [0]
    (fates,) = index_fates(explain(op, DATA, indices, axis=axis, **policies), [])
    return fates


@pytest.mark.parametrize(
    "policies",
    [
        {},
        {"negative": "error"},
        {"negative": "wrap", "out_of_range": "clamp"},
        {"out_of_range": "wrap"},
    ],
    ids=str,
)
@pytest.mark.parametrize("op", ["gather", "gather-elements", "gather-nd"])
def test_each_version_has_the_fate_of_each_value_that_the_oracle_has(
    op: str, policies: dict[str, str]
) -> None:
    axis = None if op == "gather-nd" else 0

    fates = fates_of(op, axis, **policies)

    assert fates.values == list(range(-SIZE - 2, SIZE + 2))
    values = [*fates.values, *(-(2**63), -(2**53) - 1, -300, 300, 2**53 + 1, 2**63 - 1)]
    attributes = oracle.Attributes(
        axis,
        negative=policies.get("negative", "spec"),
        out_of_range=policies.get("out_of_range", "spec"),
    )
    for version in fates.versions:
        assert [outcome_of(fates, version, k)[0] for k in values] == [
            judged(version, k, attributes) for k in values
        ]


@pytest.mark.parametrize(
    ("policies", "k", "outcome"),
    [
        ({}, 1, ("1", "a position")),
        ({}, -1, ("2", "counted from the end")),
        ({}, 3, ("none", "zero-filled")),
        ({"out_of_range": "clamp"}, 4, ("2", "clamped")),
        ({"out_of_range": "error"}, 3, ("refused", "")),
    ],
)
def test_a_fate_has_a_reason(policies: dict[str, str], k: int, outcome: tuple[str, str]) -> None:
    fates = fates_of("gather", 0, **policies)

    assert outcome_of(fates, "openvino.Gather-8", k) == outcome


def test_a_version_that_refuses_the_call_names_its_rule() -> None:
    lesson = explain("gather", [[1], [2]], [[0], [0]], axis=1, batch_dims=1)

    (fates,) = index_fates(lesson, [])

    refused = ("", "refuses the call: batch-dims-unsupported")
    assert {outcome_of(fates, "onnx.Gather-13", k) for k in (-(10**20), 0, 10**20)} == {refused}
    assert (fates.axis, fates.size) == (1, 1)


@pytest.mark.parametrize("policy", ["spec", "error", "zero", "clamp", "wrap"])
def test_an_empty_axis_has_no_position_for_any_index(policy: str) -> None:
    lesson = explain("gather", np.zeros((0, 2)), np.zeros(0, int), out_of_range=policy)

    (fates,) = index_fates(lesson, [])

    seen = {outcome_of(fates, name, k)[0] for name in fates.versions for k in (-1, 0, 10**20)}
    assert seen <= {"none", "refused"}


def test_a_large_axis_has_values_at_its_ends_and_those_drawn() -> None:
    lesson = explain("gather", np.zeros(1000), [500])

    (fates,) = index_fates(lesson, [(500,)])

    assert fates.values == [*range(-1002, -997), *range(-2, 3), 500, *range(997, 1002)]


def test_each_number_of_a_tuple_and_the_parents_of_beams_have_an_axis() -> None:
    tuples = index_fates(explain("gather-nd", np.zeros((2, 3)), [[0, 1]]), [])
    beams = index_fates(explain("gather-tree", [[[1, 2]]], [[[0, 0]]], [1], 9), [])
    empty = index_fates(explain("gather-nd", [1, 2], np.zeros((1, 0), int)), [])

    assert [(each.axis, each.size, each.component) for each in tuples] == [(0, 2, 0), (1, 3, 1)]
    assert [(each.axis, each.size, each.component) for each in beams] == [(2, 2, None)]
    assert empty == []
