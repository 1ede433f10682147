"""Tensors of as many dimensions as NumPy has, 64, and of more: every command, and every family."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from gathercli import ops
from gathercli.compute.storage import elements_at
from gathercli.ops.gather import OPENVINO_8
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import INT64
from gathercli.spec.shapes import Shape, known, product
from gathercli.translate.proof import MOST_MADE_AXES, MOST_MADE_SIZE, made_calls
from gathercli.translate.targets import translation_targets

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Run


def one(rank: int, text: str) -> str:
    """Return a literal of one element."""
    return "x".join(["1"] * rank) + text


def calls(rank: int) -> dict[str, list[str]]:
    """Return calls of each family on one element, with batches and without."""
    data, indices, last = one(rank, "xf32=5"), one(rank, "xi64=0"), str(rank - 1)
    return {
        "gather": ["gather", data, "0,"],
        "batched gather": ["gather", data, indices, "-b", last, "-a", last],
        "gather-elements": ["gather-elements", data, indices, "-a", last],
        "gather-nd": ["gather-nd", data, f"1x{rank}xi64=0"],
        "batched gather-nd": ["gather-nd", data, indices, "-b", last],
    }


COMMANDS: Final[dict[str, Callable[[list[str]], list[str]]]] = {
    "itself": lambda call: call,
    "to .npy": lambda call: [*call, "-o", "x.npy"],
    "to .zarr": lambda call: [*call, "-o", "x.zarr"],
    "to .json": lambda call: [*call, "-o", "x.json"],
    "explain": lambda call: ["explain", *call],
    "explain as JSON": lambda call: ["explain", *call, "-f", "json"],
    "explain to .svg": lambda call: ["explain", *call, "--save", "x.svg"],
    "explain to .html": lambda call: ["explain", *call, "--save", "x.html"],
    "check": lambda call: ["check", *call],
    "diagnose": lambda call: ["diagnose", *call[:3], call[1], *call[3:]],
}


@pytest.mark.no_cover
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("family", calls(2))
def test_a_call_of_64_dimensions_is_answered(family: str, command: str, run: Run) -> None:
    ran = run(*COMMANDS[command](calls(64)[family]))

    assert ran.status == 0, ran.err


@pytest.mark.no_cover
@pytest.mark.parametrize("target", [each.name for each in translation_targets()])
@pytest.mark.parametrize("family", ["gather-elements", "batched gather-nd"])
def test_a_call_of_64_dimensions_is_translated(family: str, target: str, run: Run) -> None:
    call = [*calls(64)[family], "--out-of-range", "zero"]

    ran = run("translate", *call, "--to", target, "-f", "json")

    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["proof"]["differs"] == 0


def test_a_translation_that_needs_a_dimension_too_many_is_refused(run: Run) -> None:
    ran = run("translate", *calls(64)["batched gather"], "--to", "onnx-13")

    assert ran.status == 65
    assert "a tensor on the way has rank 65: expected at most 64" in ran.err


@pytest.mark.parametrize("rank", [20, 64])
def test_made_calls_of_many_dimensions_are_small(rank: int) -> None:
    data = Operand(Shape([1] * rank), INT64)
    call = ops.bind(OPENVINO_8, data, Operand(Shape([1]), INT64), axis=0)

    made = list(made_calls(call, 100, resizes=True))

    cells = [product(known(each.call.shape)) for each in made]
    assert 100 < max(cells) <= MOST_MADE_SIZE**MOST_MADE_AXES


@pytest.mark.parametrize("command", COMMANDS)
def test_one_dimension_more_than_numpy_has_is_refused(command: str, run: Run) -> None:
    ran = run(*COMMANDS[command](calls(65)["gather"]))

    assert ran.status == 65
    assert "expected rank at most 64" in ran.err


def test_a_call_whose_result_has_a_dimension_too_many_is_refused(run: Run) -> None:
    for command in ("gather", "explain", "check", "translate"):
        lead = ["gather"] if command == "gather" else [command, "gather"]
        target = ["--to", "numpy"] if command == "translate" else []

        ran = run(*lead, one(64, "xf32=5"), "[[0]]", *target)

        assert ran.status == 65
        assert "has rank 65: expected at most 64" in ran.err


def test_the_elements_at_coordinates_of_64_dimensions_are_those_of_the_others() -> None:
    shape = [1] * 64
    shape[2], shape[40] = 2, 3
    array = np.arange(6).reshape(shape)
    at = [np.zeros(6, int)] * 64
    at[2], at[40] = (part.reshape(-1) for part in np.indices((2, 3)))

    assert elements_at(array, tuple(at)).tolist() == [0, 1, 2, 3, 4, 5]
    assert elements_at(array[..., :0], tuple(each[:0] for each in at)).tolist() == []
    assert elements_at(array, (0, 0, *at[2:])).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("rank", [20, 64])
def test_a_tensor_of_many_dimensions_is_described_and_converted(
    rank: int, run: Run, folder: Path
) -> None:
    for words in (["info"], ["info", "--heat"], ["convert", "x.npy"], ["convert", "x.json"]):
        ran = run(words[0], one(rank, "xf32=5"), *words[1:])

        assert ran.status == 0, ran.err
    assert np.load(folder / "x.npy").ndim == rank
