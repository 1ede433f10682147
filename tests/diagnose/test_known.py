"""Who is said to make a mistake is of a hypothesis that exists, and of a call like that."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pytest

import gathercli
from gathercli.diagnose import diagnosis
from gathercli.diagnose.call_hypotheses import _TREE_SENTENCES, layouts, readings
from gathercli.diagnose.index_hypotheses import CONVERSIONS, TREATMENTS, orders
from gathercli.diagnose.output_hypotheses import placements
from gathercli.frameworks import every_framework, every_row
from gathercli.spec.dtypes import DTYPES

SHAPE: Final = (4, 4, 4)
FACTS: Final = [*diagnosis._FACTS, *(each for file in every_framework() for each in file.known)]
TABLES: Final[dict[str, set[str]]] = {
    "conversion": {each.name for each in CONVERSIONS},
    "treatment": {each.name for each in TREATMENTS},
    "order": {each.name for n in (1, 2) for each in orders((4, 4, n), tuples=n > 1)},
    "layout": {each.name for each in layouts(SHAPE)},
    "reading": {each.name for dtype in DTYPES for each in readings(dtype)},
    "placement": {
        each.name
        for right in (SHAPE, (4, 4, 8), (4, 4, 2), (4, 4), (4, 4, 4, 4), (16, 4))
        for each in placements(right, SHAPE)
    },
    "frame": {f"{name} ignored" for name in _TREE_SENTENCES} | {"flattened"},
}


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact["who"])
def test_a_fact_is_of_a_hypothesis_that_exists(fact: dict[str, Any]) -> None:
    (table,) = TABLES.keys() & fact.keys()
    operators = {f"{row.op.framework}.{row.op.name}" for row in every_row("gather")}
    known = {*TABLES[table], *(re.sub(r"\d+", "n", each) for each in TABLES[table])}
    types = {each.name for each in DTYPES}

    assert fact[table] in known
    assert {*fact} <= {table, "who", "operators", "data", "indices", "short_list", "positive"}
    assert {*fact.get("data", "").split(), *fact.get("indices", "").split()} <= types
    assert operators


def test_what_is_said_of_a_release_is_of_one_in_which_it_was_seen() -> None:
    for file in every_framework():
        seen = {file.release, *(str(each.get("release", file.release)) for each in file.mistakes)}
        for fact in file.known:
            for release in re.findall(r"\d+\.\d[\d.]*\d|\d+\.\d+", fact["who"]):
                assert release in seen, fact


def known(op: str, data: Any, indices: Any, wrong: Any, **settings: Any) -> str:
    report = gathercli.diagnose(op, data, indices, wrong, **settings)
    return "; ".join(who for each in report.explanations if each.first for who in each.known)


def test_what_runtimes_do_is_named_with_the_runtime() -> None:
    data = np.arange(20, dtype=np.float32).reshape(5, 4)
    far = np.array([(1 << 32) + 3, 2, 4])
    words = np.array([["a", "b"], ["c", "d"]])

    assert "OpenVINO" in known("gather", data, far, data[[3, 2, 4]], version="openvino-8")
    assert "OpenVINO" in known(
        "gather", data, [-1, 2], np.where([[False], [True]], data[[4, 2]], 0), version="openvino-7"
    )
    assert "OpenVINO" in known(
        "gather-nd", data, [[0, 5], [1, 2]], data[[1, 1], [1, 2]], version="openvino-8"
    )
    assert "onnxruntime" in known(
        "gather", words, [1, 0], [["c", ""], ["a", ""]], version="onnx-13", axis=0
    )
    assert "OpenVINO" in known(
        "gather",
        np.array([1e300, 0.1, 0.2]),
        [0, 1, 2, 1],
        np.array([np.finfo("f4").max, np.float32(0.1), np.float32(0.2), np.float32(0.1)]).astype(
            float
        ),
        axis=0,
    )
    assert "onnx.reference" in known(
        "gather-elements",
        data,
        [[7, 0, 1, 2]],
        data[[[2, 0, 1, 2]], [[0, 1, 2, 3]]],
        version="onnx-13",
        axis=0,
    )


def test_a_condition_keeps_a_runtime_out() -> None:
    ints = np.arange(5, dtype=np.int32) + 10
    wrong = np.array([12, 1397777772, 21906], np.int32)

    short = known("gather", ints, [2, 7, -9], wrong, axis=0)
    floats = known("gather", ints.astype(np.float32), [2, 7, -9], wrong.astype(np.float32), axis=0)

    assert "OpenVINO 2026.4.1 on the CPU, of 1-D integers" in short
    assert "OpenVINO 2026.4.1 on the CPU, of 1-D integers" not in floats
