"""The answers of the script of a page, beside those of the command."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli import explain
from gathercli.errors import OperatorError
from gathercli.explain.drawing import page
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.explained_call import view_of
from gathercli.explain.panel import Look
from gathercli.ops import FAMILIES, rule_name

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT: Final = "".join(
    (Path(page.__file__).parent / name).read_text(encoding="utf-8")
    for name in ("answer.js", "words.js")
)
CALLS: Final = 2000

# What answers a list of calls in a script, as JSON.
ASKED: Final = """
const answers = calls.map(({ model, version, call }) => {
  const row = models[model].rows.find((each) => each.full_name === version);
  const answered = { ...answer(models[model], row, call), model: models[model] };
  const { rule, shape, inputs, cells } = answered;
  if (!shape) return { rule };
  return {
    rule: rule ?? null,
    shape,
    equation: equationOf(models[model], answered),
    lines: cells.flatMap((_, flat) => traceOf(models[model], answered, flat)),
    cells: cells.map((cell) => [
      cell.source < 0 ? null : coordinatesOf(cell.source, inputs[0].shape),
      cell.fate,
      textOf(models[model], answered, cell),
    ]),
  };
});
"""

# A call of each operator, whose page has the rows of its versions; and calls of frameworks.
MODELS: Final[dict[str, tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "gather": (([[1, 2], [3, 4]], [0]), {}),
    "gather-elements": (([[1, 2], [3, 4]], [[0, 1]]), {"axis": 0}),
    "gather-nd": (([[1, 2], [3, 4]], [[0]]), {}),
    "gather-tree": (([[[1]]], [[[0]]], [1], 9), {}),
}
FRAMEWORKS: Final = {
    "gather": ("numpy.take", "torch.index_select", "tensorflow.gather", "jax", "webnn", "tflite"),
    "gather-elements": ("torch.gather", "torch.take_along_dim", "numpy.take_along_axis", "coreml"),
    "gather-nd": ("tensorflow", "tflite"),
    "gather-tree": (),
}
POLICIES: Final[tuple[dict[str, str], ...]] = (
    {},
    {},
    {"negative": "error"},
    {"negative": "wrap"},
    {"out_of_range": "zero"},
    {"out_of_range": "clamp"},
    {"out_of_range": "wrap"},
    {"out_of_range": "error", "negative": "wrap"},
)


def models() -> Iterator[tuple[str, dict[str, str], dict[str, Any]]]:
    """Yield the operator, the policies and the content of pages of calls."""
    for op, (inputs, attrs) in MODELS.items():
        for version in (FAMILIES[op].ROWS[0].id, *FRAMEWORKS[op]):
            for policies in POLICIES:
                named: dict[str, Any] = {"version": version} | attrs | policies
                if op == "gather":
                    named["axis"] = 0
                made, look = explain(op, *inputs, **named), Look(100)
                content = page.page_content(made, look, scene_of(made, look, has_steps=False))
                yield op, policies, content["call"]


def draws(op: str, rng: random.Random) -> tuple[list[np.ndarray[Any, Any]], dict[str, int | None]]:
    """Draw the inputs and attributes of a call, of which many are refused."""
    if op == "gather-tree":
        t, b, w = (rng.choice((0, 1, 2, 3, 4)), rng.choice((0, 1, 2)), rng.choice((1, 2, 3)))
        shape = [t, b, w]
        if rng.random() < 0.1:
            shape[rng.randrange(3)] += 1
        parents = filled(rng, shape, -1 if rng.random() < 0.3 else 0, w + (rng.random() < 0.3))
        lengths = filled(rng, [b + (rng.random() < 0.05)], -1, t + 2)
        steps = filled(rng, [t, b, w], 0, 5)
        return [steps, parents, lengths, np.array(rng.randrange(5))], {}
    data = [rng.choice((0, 1, 2, 2, 3, 3, 4)) for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 4)))]
    rank, often = len(data), rng.random() < 0.7  # whether the attributes are more likely legal
    axis = rng.randrange(-rank, max(1, rank)) if often else rng.choice((None, 0, 1, -1, 2, 7, -5))
    if op == "gather-elements" and rng.random() < 0.2:
        axis = None
    batch_dims = rng.choice((None, None, 0, 1)) if often else rng.choice((None, 1, 2, -1, -3, 5))
    indices = [rng.choice((0, 1, 2, 3)) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    if op == "gather-elements":
        indices = [size if rng.random() < 0.6 else rng.choice((0, 1, 1, 2, 3)) for size in data]
        indices = indices[: rng.choice((None, None, None, 1))]
    elif rng.random() < 0.7:
        indices[: rank - 1] = data[: min(len(indices), rank - 1)]
    if op == "gather-nd" and indices and rng.random() < 0.9:
        indices[-1] = rng.randrange(rank + 1)
    most, least = max([1, *data]), max(1, min(data, default=1))
    ends = rng.choice(((0, least), (0, least), (-least, least), (-most - 2, most + 2)))
    values = filled(rng, indices, *ends)
    if rng.random() < 0.03 and values.size:
        values.flat[rng.randrange(values.size)] = rng.choice((2**62, -(2**63), 2**31))
    attrs = {} if op == "gather-nd" and often else {"axis": axis}
    return [filled(rng, data, 0, 90), values], {**attrs, "batch_dims": batch_dims}


def filled(rng: random.Random, shape: list[int], low: int, high: int) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape))
    return np.array([rng.randrange(low, high) for _ in range(count)], np.int64).reshape(shape)


def expected(op: str, version: str, inputs: list[Any], attrs: dict[str, Any]) -> dict[str, Any]:
    """Return what the command answers: the rule that refuses, or the shape and the cells."""
    try:
        made: Any = explain(op, *inputs, version=version, **attrs)
    except OperatorError as error:
        return {"rule": error.rule}
    rule = made.refusal and made.refusal.rule
    source = "step_ids" if op == "gather-tree" else "data"
    names = {"zero-filled": "filled"}
    cells = [
        [
            each[source],
            names.get(each["fate"], each["fate"]),
            "" if each["value"] is None else str(each["value"]),
        ]
        for each in made.to_json()["cells"]
    ]
    view = view_of(made)
    traces = [line for trace in made.cells() for line in view.trace_steps(trace, Look(None))]
    lines = ["".join(word for word, _ in line) for line in traces]
    answered = {"rule": rule, "shape": list(made.shape), "equation": made.equation}
    return answered | {"lines": lines, "cells": cells}


def asked() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield calls with what the command answers."""
    rng = random.Random(33)  # noqa: S311
    known = list(enumerate(models()))
    while True:
        number, (op, policies, content) = rng.choice(known)
        inputs, attrs = draws(op, rng)
        if content["inputs"][1]["dtype"] == "i32" and not np.array_equal(
            inputs[1], inputs[1].astype(np.int32)
        ):
            continue  # which such a type does not hold
        row = rng.choice(content["rows"])["full_name"]
        call = {
            "inputs": [
                {"shape": each.shape, "values": [str(n) for n in each.reshape(-1).tolist()]}
                for each in inputs
            ],
            "attrs": {"axis": None, "batch_dims": None} | attrs,
        }
        yield (
            {"model": number, "version": row, "call": call},
            expected(op, row, inputs, attrs | policies),
        )


def run(script: str, request: pytest.FixtureRequest) -> Any:
    """Return the result of a script, from Node or else a browser."""
    node = shutil.which("node")
    if node is None:
        page = request.getfixturevalue("browser").new_page()
        return page.evaluate(f"() => {{ {script} return answers; }}")
    script += "console.log(JSON.stringify(answers));"
    ran = subprocess.run(
        [node, "-"], input=script, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.no_cover
def test_the_page_answers_random_calls_as_the_command_does(request: pytest.FixtureRequest) -> None:
    calls, answers = zip(*islice(asked(), CALLS), strict=True)

    got = run(
        f"{SCRIPT}\nconst models = {json.dumps([each for *_, each in models()])};\n"
        f"const calls = {json.dumps(calls)};\n{ASKED}\n",
        request,
    )

    wrong = [trio for trio in zip(calls, got, answers, strict=True) if trio[1] != trio[2]]
    assert wrong == []
    rules = Counter(each["rule"] for each in answers)
    assert rules[None] > CALLS / 4
    assert len(rules) >= 15


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_script_has_every_rule(family: Any) -> None:
    names = [rule_name(rule) for rule in family.RULES]

    assert [name for name in names if f'"{name}": ' not in SCRIPT] == []
