"""Each kind of mistake, alone and with another, is named first or tied with the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from campaigns import mistakes
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.diagnose.diagnosis import diagnose
from gathercli.errors import InputError

if TYPE_CHECKING:
    from typing import Any

    from gathercli.diagnose.diagnosis import Diagnosis


ONE = 20


def tensor(array: Any) -> Tensor:
    array = np.asarray(array)
    dtype = dtype_of(array.dtype)
    assert dtype is not None
    return Tensor(dtype, array)


def names(op: str, *arrays: Any, wrong: Any, **options: Any) -> list[tuple[str, ...]]:
    """Name the first explanations."""
    return [each.names for each in found(op, *arrays, wrong=wrong, **options).first]


def found(op: str, *arrays: Any, wrong: Any, **options: Any) -> Diagnosis:
    return diagnose(op, *map(tensor, arrays), wrong=tensor(wrong), **options)


def test_one_mistake_is_named_of_nineteen_in_twenty() -> None:
    named = sum(mistakes.is_named(mistakes.case(seed, 1)) for seed in range(ONE))

    assert named >= 0.95 * ONE


def test_a_right_output_needs_no_explanation() -> None:
    diagnosis = found("gather", [10, 20, 30], [2, -1, 7], wrong=[30, 30, 0], axis=0)

    assert diagnosis.is_right
    assert diagnosis.best.names == ()


def test_frameworks_are_known_by_what_they_do() -> None:
    diagnosis = found("gather", [1, 2, 3, 4, 5], [3, 10, -20], wrong=[4, 5, 1], axis=0)

    assert "jax.numpy.take with mode clip" in diagnosis.best.known
    assert "jax.getitem" in diagnosis.first[1].known


def test_refused_cells_are_diagnosed_apart_from_right_ones() -> None:
    diagnosis = found(
        "gather", [10, 20, 30], [2, 7, 3], wrong=[30, 20, 10], axis=0, version="onnx-13"
    )

    assert diagnosis.refused == (2, 1, 1)
    assert diagnosis.best.names == ("modulo",)
    assert diagnosis.is_whole


def test_batch_dims_that_tensorflow_drops_are_missed() -> None:
    data = np.arange(6.0).reshape(2, 3)
    indices = [[0, 1], [1, 0]]

    diagnosis = found("gather", data, indices, wrong=data[np.array(indices)], axis=1, batch_dims=1)

    assert ("Gather axis 0  batch_dims 0",) in [each.names for each in diagnosis.explanations]


@pytest.mark.parametrize(
    ("wrong", "name"),
    [([[[1, 2]], [[3, 4]]], "parents ignored"), ([[[2, 1]], [[9, 9]]], "lengths ignored")],
)
def test_what_gather_tree_ignores_is_named(wrong: Any, name: str) -> None:
    steps, parents = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
    lengths = [2] if name == "parents ignored" else [1]
    if name == "lengths ignored":
        wrong = [[[2, 1]], [[3, 4]]]

    first = names("gather-tree", steps, parents, lengths, 9, wrong=wrong)

    assert (name,) in first


def test_parents_are_followed_as_another_runtime_treats_them() -> None:
    steps = np.arange(1, 7).reshape(3, 1, 2)
    parents = [[[0, 0]], [[-1, 5]], [[1, 0]]]

    diagnosis = found("gather-tree", steps, parents, [3], 99, wrong=[[[2, 1]], [[4, 3]], [[5, 6]]])

    assert diagnosis.is_whole
    assert ("clamped",) in [each.names for each in diagnosis.first]


def test_one_wrong_cell_is_no_proof_but_of_what_was_done_to_an_index() -> None:
    rows = found("gather", [1, 2, 3, 4], [3, 2, 1], wrong=[4, 0, 2], axis=0)
    clamped = found("gather", [10, 20, 30], [0, 3], wrong=[10, 30], axis=0)

    assert not rows.is_whole
    assert clamped.is_whole


def test_a_shape_that_nothing_gives_is_refused() -> None:
    with pytest.raises(InputError, match=r"no hypothesis gives an output of the shape") as info:
        found("gather", [1, 2, 3], [0], wrong=np.zeros((5, 7, 11)), axis=0)

    assert info.value.rule == "diagnosis"
