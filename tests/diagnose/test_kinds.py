"""Mistakes that real code makes, made here by plain NumPy, are named first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from tests.diagnose.test_diagnosis import found, names

if TYPE_CHECKING:
    from collections.abc import Callable

DATA: Final = np.random.default_rng(3).permutation(900)[:84].reshape(7, 3, 4) + 100.0
K: Final = np.array([2, -1, 6, -7, 0, -3, 5, 5, 1])
FAR: Final = np.array([2, 9, -9, -1, 14, -3, 0])

INDICES: Final[dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]] = {
    "remainder": (np.array([9, -2, -9, 3, 15, -8]), np.array([2, -1, -1, 3, 1, -1])),
    "absolute remainder": (np.array([9, -2, -9, 3, 15, -8]), np.array([2, 2, 2, 3, 1, 1])),
    "padding": (K, np.where(K == -1, -1, K % 7)),
    "clamped above": (FAR, np.where(FAR < 0, -1, np.minimum(FAR, 6))),
    "clamped above after wrapping": (FAR, np.array([2, 6, -1, 6, 6, 4, 0])),
    "clamped below": (FAR, np.where(FAR > 6, -1, np.maximum(FAR, 0))),
    "clamped below after wrapping": (FAR, np.array([2, -1, 0, 6, -1, 4, 0])),
    "made positive": (np.array([2, -1, 6, -5, 0, -3]), np.array([2, 1, 6, 5, 0, 3])),
    "negative ones moved by one less": (K[[0, 1, 2, 4, 5]], np.array([2, 5, 6, 0, 3])),
    "masked": (np.array([6, 2, 0, 5, 3, 1]), np.array([6, 2, 0, 4, 2, 0])),
    "sorted along axis 0": (np.array([5, 1, 6, 0, 3, 2]), np.array([0, 1, 2, 3, 5, 6])),
    "of the place before": (np.array([2, 6, 3, 1, 5]), np.array([0, 2, 6, 3, 1])),
    "read as words of 32 bits": (np.array([3, 1, 2, 5, 6]), np.array([3, 0, 1, 0, 2])),
}
"""Indices, and the rows that cells hold in their place; -1 for zeros."""


@pytest.mark.parametrize("name", INDICES)
def test_what_became_of_indices_is_named(name: str) -> None:
    indices, rows = INDICES[name]
    wrong = np.where((rows < 0)[:, None, None], 0, DATA[rows])

    assert (name,) in names("gather", DATA, indices, wrong=wrong, axis=0)


def test_indices_of_another_batch_are_named() -> None:
    data = np.arange(10.0, 22).reshape(3, 4)
    indices = np.array([[0, 2, 1], [3, 3, 0], [1, 0, 2]])
    call: dict[str, Any] = {"axis": 1, "batch_dims": 1}
    before = np.take_along_axis(data, np.roll(indices, 1, 0), 1)
    first = np.take_along_axis(data, np.broadcast_to(indices[:1], indices.shape), 1)

    assert ("of the row before along axis 0",) in names(
        "gather", data, indices, wrong=before, **call
    )
    assert ("of the first row along axis 0",) in names("gather", data, indices, wrong=first, **call)


def test_indices_saturated_to_8_bits_are_named() -> None:
    data, indices = np.arange(1000, 1200), np.array([3, 150, 127, 190, 60, 128])

    first = names("gather", data, indices, wrong=data[np.minimum(indices, 127)], axis=0)

    assert ("saturated to 8 bits",) in first


FLAT: Final = DATA.reshape(-1)
LAYOUTS: Final[dict[str, np.ndarray[Any, Any]]] = {
    "moved by 3, zeros": np.concatenate([FLAT[3:], np.zeros(3)]),
    "moved by -2, zeros": np.concatenate([np.zeros(2), FLAT[:-2]]),
    "axis 0 back to front": DATA[::-1],
    "axis 1 back to front": DATA[:, ::-1],
    "stored in the order [1,2,0]": DATA.transpose(1, 2, 0).ravel(),
    "stored in the order [0,2,1]": DATA.transpose(0, 2, 1).ravel(),
    "pitch 5, zeros": np.concatenate([FLAT, np.zeros(21)]).reshape(21, 5)[:, :4],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_how_data_is_read_is_named(name: str) -> None:
    wrong = LAYOUTS[name].reshape(DATA.shape)[K]

    assert (name,) in names("gather", DATA, K, wrong=wrong, axis=0)


READINGS: Final[dict[str, Callable[[Any], Any]]] = {
    "scaled by 0.25": lambda v: v * 0.25,
    "added -128": lambda v: v - 128,
    "quantised": lambda v: (
        np.rint(v / (np.abs(DATA - 500).max() / 127)) * (np.abs(DATA - 500).max() / 127)
    ),
    "no negatives": lambda v: np.maximum(v, 0),
}


@pytest.mark.parametrize("name", READINGS)
def test_what_became_of_elements_is_named(name: str) -> None:
    data = DATA - 500
    wrong = READINGS[name](data)[K].astype(np.float32)

    first = names("gather", data.astype(np.float32), K, wrong=wrong, axis=0)

    assert (name,) in first


ROWS: Final[dict[str, list[int]]] = {
    "rows doubled along axis 0": [0, 0, 1, 1, 2, 2, 3, 3, 4],
    "interleaved along axis 0": [0, 2, 4, 6, 8, 1, 3, 5, 7],
}


@pytest.mark.parametrize("name", ROWS)
def test_where_rows_of_the_output_come_is_named(name: str) -> None:
    assert (name,) in names("gather", DATA, K, wrong=DATA[K][ROWS[name]], axis=0)


def test_a_padded_output_and_an_unwritten_end_are_named() -> None:
    right = DATA[K]
    padded, cut = np.zeros((right.size // 4, 5)), right.copy()
    padded[:, :4] = right.reshape(-1, 4)
    cut.reshape(-1)[50:] = 0

    padded = padded.reshape(-1)[: right.size].reshape(right.shape)
    first = names("gather", DATA, K, wrong=padded, axis=0)

    assert ("pitch 5",) in first
    assert ("cells from 50 zero",) in names("gather", DATA, K, wrong=cut, axis=0)


STEPS: Final = np.random.default_rng(5).integers(10, 90, (5, 2, 4))
# ruff: noqa: ARG005  (a parent depends on one or another of the places)
PARENTS: Final = np.random.default_rng(6).integers(0, 4, (5, 2, 4))


def tree(lengths: Any = (5, 3), parents: Any = None, pad: int = 99) -> np.ndarray[Any, Any]:
    """Follow beams back, a parent at step l, batch b, beam w and place p by a function."""
    out = np.full(STEPS.shape, pad)
    link = parents or (lambda step, b, w, p: PARENTS[step, b, p])
    for b, length in enumerate(lengths):
        for w in range(4):
            out[length - 1, b, w] = STEPS[length - 1, b, w]
            p = PARENTS[length - 1, b, w] if parents is None else link(length - 1, b, w, w)
            for step in range(length - 2, -1, -1):
                out[step, b, w] = STEPS[step, b, p]
                p = link(step, b, w, p)
    return out


def forward() -> np.ndarray[Any, Any]:
    """Follow beams from the first step on."""
    out = np.full(STEPS.shape, 99)
    for b, length in enumerate((5, 3)):
        for w in range(4):
            p = w
            for step in range(length):
                out[step, b, w] = STEPS[step, b, p]
                p = PARENTS[step, b, p]
    return out


TREES: Final[dict[str, Callable[[], np.ndarray[Any, Any]]]] = {
    "length short": lambda: tree((4, 2)),
    "first length": lambda: tree((5, 5)),
    "padding": lambda: tree(pad=0),
    "all": STEPS.copy,
    "parents": lambda: tree(parents=lambda step, b, w, p: w),
    "own column": lambda: tree(parents=lambda step, b, w, p: PARENTS[step, b, w]),
    "forward": forward,
}


@pytest.mark.parametrize("name", TREES)
def test_what_a_search_of_beams_mistakes_is_named(name: str) -> None:
    diagnosis = found("gather-tree", STEPS, PARENTS, [5, 3], 99, wrong=TREES[name]())

    assert (f"{name} ignored",) in [each.names for each in diagnosis.first]


PLACES: Final[dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]] = {
    "reversed along axis 0": lambda k: k[::-1],
    "of the row after along axis 1": lambda k: np.roll(k, -1, 1),
    "of the first row along axis 1": lambda k: np.broadcast_to(k[:, :1], k.shape),
    "in Fortran order": lambda k: k.T.reshape(k.shape),
}


@pytest.mark.parametrize("name", PLACES)
def test_indices_in_other_places_are_named(name: str) -> None:
    indices = np.array([[2, 6, 0, 5], [1, 3, 4, 2], [0, 4, 6, 1]])

    assert (name,) in names("gather", DATA, indices, wrong=DATA[PLACES[name](indices)], axis=0)


TUPLES: Final = np.array([[2, 0], [1, -1], [-3, 1], [6, -2], [-1, -3], [0, 2]])
COMPONENTS: Final[dict[str, np.ndarray[Any, Any]]] = {
    "only the first wrapped": np.array([[2, 0], [-1, -1], [4, 1], [-1, -1], [-1, -1], [0, 2]]),
    "only the first wrapped, clamped": np.array([[2, 0], [1, 0], [4, 1], [6, 0], [6, 0], [0, 2]]),
    "only the last wrapped": np.array([[2, 0], [1, 2], [-1, -1], [6, 1], [-1, -1], [0, 2]]),
}
"""The tuples that cells hold in place of `TUPLES`; (-1, -1) for zeros."""


@pytest.mark.parametrize("name", COMPONENTS)
def test_what_became_of_one_number_of_tuples_is_named(name: str) -> None:
    at = COMPONENTS[name]
    wrong = np.where((at[:, 0] < 0)[:, None], 0, DATA[at[:, 0], at[:, 1]])

    assert (name,) in names("gather-nd", DATA, TUPLES, wrong=wrong)


def test_a_slice_that_is_read_as_if_it_were_all_that_is_stored_is_named() -> None:
    stored = np.random.default_rng(8).permutation(1000)[: 7 * 3 * 6].reshape(7, 3, 6) + 0.5
    slices = {
        "4 of 6 along axis 2": stored[:, :, :4],
        "every second along axis 2": stored[..., ::2],
    }
    for name, data in slices.items():
        wrong = stored.reshape(-1)[: data.size].reshape(data.shape)[K]

        diagnosis = found("gather", np.ascontiguousarray(data), K, wrong=wrong, axis=0)

        assert (name,) in [each.names for each in diagnosis.first]
        score = diagnosis.best.explanation.score
        assert score.explained + score.foreign == score.total > score.foreign > 0


def test_two_mistakes_of_one_kind_are_named() -> None:
    indices = np.array([3, 260, -250, 6, 5, 2, 511, 1])
    cut = DATA[np.clip(indices.astype(np.int8) + 1, -7, 6)]
    turned = DATA[K][::-1].copy()
    turned[:, :, 2:] = 0

    first = names("gather", DATA, indices, wrong=cut, axis=0)
    placed = names("gather", DATA, K, wrong=turned, axis=0)

    assert ("cut to 8 bits", "one too large") in first
    assert any({"reversed along axis 0", "rows 2 to 3 zero along axis 2"} == {*n} for n in placed)


def test_the_end_of_a_large_output_that_was_not_written_is_named() -> None:
    data, indices = np.arange(1.0, 201).reshape(50, 4), np.arange(100_000) % 50
    wrong = data[indices]
    wrong[90_000:] = 0

    assert ("cells from 360000 zero",) in names("gather", data, indices, wrong=wrong, axis=0)


def test_memory_that_was_never_written_is_told_from_zeros() -> None:
    wrong = DATA[K]
    wrong.reshape(-1)[60:] = np.random.default_rng(9).normal(size=wrong.size - 60)

    diagnosis = found("gather", DATA, K, wrong=wrong, axis=0)

    assert diagnosis.best.names == ("cells from 60 unwritten",)
    assert diagnosis.best.explanation.score.foreign == wrong.size - 60
