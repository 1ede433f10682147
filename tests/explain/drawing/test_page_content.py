from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli import explain
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.drawing.page import TextTable, index_fates, page_content
from gathercli.explain.panel import Look
from tests import oracle, oracle_nd

if TYPE_CHECKING:
    from collections.abc import Sequence


SIZE = 3
DATA = np.arange(1, SIZE + 1)


def outcome_of(fates: dict[str, Any], version: str, k: int) -> tuple[str, str]:
    """Return what becomes of an index, as the script of the page finds it, and why."""
    spans = fates["versions"][version]
    span = next(each for each in spans if each["last"] is None or k <= int(each["last"]))
    if span["rule"] == "is":
        return span["value"], span["why"]
    number = int(span["value"])
    return str(k + number if span["rule"] == "plus" else k % number), span["why"]


def judged(version: str, k: int, attributes: oracle.Attributes) -> str:
    """Return what a version makes of an index on an axis of `SIZE`, by the oracle."""
    judge, indices = (oracle_nd, [[k]]) if ".GatherND" in version else (oracle, [k])
    try:
        out = judge.run(
            version, DATA, np.array(indices), attributes, data_type="int64", indices_type="int64"
        )
    except oracle.Refused:
        return "refused"
    return str(out[0] - 1) if out[0] else "none"


def fates_of(op: str, axis: int | None, **policies: str) -> dict[str, Any]:
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

    assert fates["values"] == [str(k) for k in range(-SIZE - 2, SIZE + 2)]
    values = [
        *map(int, fates["values"]),
        *(-(2**63), -(2**53) - 1, -300, 300, 2**53 + 1, 2**63 - 1),
    ]
    attributes = oracle.Attributes(
        axis,
        negative=policies.get("negative", "spec"),
        out_of_range=policies.get("out_of_range", "spec"),
    )
    for version in {*fates["versions"]} & {*oracle.VERSIONS, *oracle_nd.VERSIONS}:
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
    explanation = explain("gather", [[1], [2]], [[0], [0]], axis=1, batch_dims=1)

    (fates,) = index_fates(explanation, [])

    refused = ("", "refuses the call: batch-dims-unsupported")
    assert {outcome_of(fates, "onnx.Gather-13", k) for k in (-(10**20), 0, 10**20)} == {refused}
    assert (fates["axis"], fates["size"]) == (1, "1")


@pytest.mark.parametrize("policy", ["spec", "error", "zero", "clamp", "wrap"])
def test_an_empty_axis_has_no_position_for_any_index(policy: str) -> None:
    explanation = explain("gather", np.zeros((0, 2)), np.zeros(0, int), out_of_range=policy)

    (fates,) = index_fates(explanation, [])

    seen = {outcome_of(fates, name, k)[0] for name in fates["versions"] for k in (-1, 0, 10**20)}
    assert seen <= {"none", "refused"}


def test_a_large_axis_has_values_at_its_ends_and_those_drawn() -> None:
    explanation = explain("gather", np.zeros(1000), [500])

    (fates,) = index_fates(explanation, [(500,)])

    values = [*range(-1002, -997), *range(-2, 3), 500, *range(997, 1002)]
    assert fates["values"] == [str(k) for k in values]


def test_each_number_of_a_tuple_and_the_parents_of_beams_have_an_axis() -> None:
    tuples = index_fates(explain("gather-nd", np.zeros((2, 3)), [[0, 1]]), [])
    beams = index_fates(explain("gather-tree", [[[1, 2]]], [[[0, 0]]], [1], 9), [])
    empty = index_fates(explain("gather-nd", [1, 2], np.zeros((1, 0), int)), [])

    axes = [
        [(each["axis"], each["size"], each["component"]) for each in fates]
        for fates in (tuples, beams)
    ]
    assert axes == [[(0, "2", 0), (1, "3", 1)], [(2, "2", None)]]
    assert empty == []


def content_of(*call: Any, **attributes: Any) -> dict[str, Any]:
    explanation, look = explain(*call, **attributes), Look(100)
    return page_content(explanation, look, scene_of(explanation, look))


def texts_of(templates: Sequence[Sequence[str]], lines: Sequence[str], numbers: str) -> list[str]:
    """Return lines from their numbers, as the script of the page does."""
    texts = []
    for number in numbers.split(","):
        template, *values = lines[int(number)].split(" ")
        parts = templates[int(template)]
        texts.append("".join(a + b for a, b in zip(parts, [*values, ""], strict=True)))
    return texts


@pytest.mark.parametrize(
    "lines", [["a[1,2] = 007", "a[3,4] = 1.5e-05", "1", "", "x"], ['"1 \u0663 </script>"', "0 0"]]
)
def test_lines_come_back_as_they_were(lines: list[str]) -> None:
    table = TextTable()

    numbers = table.numbers([[(text, "bold"), ("!", "")] for text in lines])

    assert texts_of([*table.templates], [*table.lines], numbers) == [f"{text}!" for text in lines]


def test_lines_that_differ_in_numbers_alone_share_a_template() -> None:
    table = TextTable()

    numbers = [table.number(text) for text in ("k is 1", "k is 23", "k is 1")]

    assert (numbers, len(table.templates), len(table.lines)) == ([0, 1, 0], 1, 2)


def test_each_drawn_cell_has_the_ids_of_its_index_and_its_source() -> None:
    content = content_of("gather", [[1, 2], [3, 4]], [1, 9])

    assert content["tensors"] == ("out", "data", "indices")
    ids = [cell.split(" ")[:3] for cell in content["cells"]]
    assert ids == [
        ["0-0-0", "2-0", "1-1-0"],
        ["0-0-1", "2-0", "1-1-1"],
        ["0-1-0", "2-1", "-"],
        ["0-1-1", "2-1", "-"],
    ]
    assert content["indices"] == {"indices-0": ["1"], "indices-1": ["9"]}


def test_only_cells_of_the_drawing_are_in_the_content() -> None:
    content = content_of("gather", np.zeros((100, 100)), np.zeros(100, int))

    assert content["total"] == "10 000"
    assert 0 < len(content["cells"]) < 1000


def test_an_index_that_a_browser_cannot_count_to_keeps_its_digits() -> None:
    content = content_of("gather", [1, 2], np.array([1, 2**63], np.uint64))

    assert content["indices"] == {"indices-0": ["1"], "indices-1": ["9223372036854775808"]}
    assert content["fates"][0]["values"][-1] == "9223372036854775808"
