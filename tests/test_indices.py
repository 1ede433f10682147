"""What is known of indices taken together, and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.arrays.indices import (
    FOLD,
    IndexKind,
    IndexPolicy,
    ResolvedIndices,
    ResolvedTuples,
    index_kind,
    tuple_kind,
)
from gathercli.arrays.native import UnexpectedIndicesError
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    import numpy.typing as npt

POLICY = IndexPolicy(3, wraps=True, outside=OutOfRange.ZERO)


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (2, IndexKind.PLAIN),
        (3, IndexKind.MIXED),
        (-1, IndexKind.SIGNED),
        (-3, IndexKind.SIGNED),
        (-4, IndexKind.MIXED),
    ],
)
def test_an_index_at_a_bound_is_of_the_narrowest_kind(index: int, kind: IndexKind) -> None:
    assert index_kind(np.array([0, index]), POLICY) is kind


@pytest.mark.parametrize("kind", [IndexKind.PLAIN, IndexKind.UNSEEN])
def test_positions_of_big_endian_indices_are_in_native_byte_order(kind: IndexKind) -> None:
    indices = np.array([2, 0, 1], ">i8")
    resolved = ResolvedIndices(indices, POLICY, kind)

    positions = resolved.part(0, (3,), (1,), lambda shape: np.empty(shape, np.int64))

    assert positions.dtype.isnative
    assert positions.tolist() == [2, 0, 1]


AXES = [IndexPolicy(size, wraps=True, outside=OutOfRange.ERROR) for size in (3, 200)]
"""Axes of two sizes, one of them larger than the largest int8."""


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ((2, 127), IndexKind.PLAIN),
        ((3, 0), IndexKind.MIXED),
        ((-1, 0), IndexKind.SIGNED),
        ((-3, -128), IndexKind.SIGNED),
        ((-4, 0), IndexKind.MIXED),
    ],
)
@pytest.mark.parametrize("before", [0, 1, FOLD - 1, FOLD, 3 * FOLD])
@pytest.mark.parametrize("held", [np.int8, np.int64])
def test_a_tuple_at_a_bound_of_either_axis_is_of_the_narrowest_kind(
    last: tuple[int, int], kind: IndexKind, before: int, held: type
) -> None:
    tuples: npt.NDArray[Any] = np.zeros((before + FOLD, 2), held)
    tuples[before] = last

    assert tuple_kind(tuples.reshape(-1), AXES) is kind


def test_no_unsigned_index_of_a_tuple_counts_from_the_end() -> None:
    tuples = np.array([0, 0, 2**64 - 1, 0], np.uint64)

    assert tuple_kind(tuples, AXES) is IndexKind.MIXED
    assert tuple_kind(np.array([2, 199], np.uint8), AXES) is IndexKind.PLAIN


def test_a_negative_index_of_a_tuple_is_not_signed_where_none_counts_from_the_end() -> None:
    policies = [policy._replace(wraps=False) for policy in AXES]

    assert tuple_kind(np.array([-1, 0]), policies) is IndexKind.MIXED


@pytest.mark.parametrize("last", [3, -4])
def test_the_last_tuple_behind_those_that_are_folded_is_checked_too(last: int) -> None:
    tuples = np.zeros((2 * FOLD + 1, 2), np.int64)
    tuples[-1, 0] = last

    assert tuple_kind(tuples.reshape(-1), AXES) is IndexKind.MIXED


@pytest.mark.parametrize("held", [">i8", "<i8", ">u8", "i1"])
def test_positions_of_tuples_of_one_index_are_in_native_byte_order(held: str) -> None:
    resolved = ResolvedTuples(np.array([[2], [0], [1]], held), AXES[:1], IndexKind.PLAIN)

    positions = resolved.whole()

    assert positions.dtype == np.int64
    assert positions.tolist() == [2, 0, 1]


def test_tuples_of_another_byte_order_are_checked_by_their_values_not_their_bytes() -> None:
    resolved = ResolvedTuples(np.array([[0, 0], [2**56, 0]], ">i8"), AXES)

    with pytest.raises(UnexpectedIndicesError):
        resolved.whole()
