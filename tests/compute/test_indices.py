"""What is known of indices taken together, and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.compute import native
from gathercli.compute.indices import (
    MOST_KEPT_INDICES,
    TUPLES_AT_A_TIME,
    IndexKind,
    IndexPolicy,
    ResolvedIndices,
    index_kind,
    resolve,
    tuple_kind,
)
from gathercli.compute.native import UnexpectedIndicesError
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
    resolved = ResolvedIndices(indices, [POLICY], kind)

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
        ((0, -100), IndexKind.SIGNED),
        ((-4, 0), IndexKind.MIXED),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("index_type", [np.int8, np.int64])
def test_a_tuple_at_a_bound_of_either_axis_is_of_the_narrowest_kind(
    last: tuple[int, int], kind: IndexKind, before: int, index_type: type
) -> None:
    tuples: npt.NDArray[Any] = np.zeros((before + 2, 2), index_type)
    tuples[before] = last

    assert tuple_kind(tuples.reshape(-1), AXES) is kind


def test_no_unsigned_index_of_a_tuple_counts_from_the_end() -> None:
    tuples = np.array([0, 0, 2**64 - 1, 0], np.uint64)

    assert tuple_kind(tuples, AXES) is IndexKind.MIXED
    assert tuple_kind(np.array([2, 199], np.uint8), AXES) is IndexKind.PLAIN


def test_a_negative_index_of_a_tuple_is_not_signed_where_none_counts_from_the_end() -> None:
    policies = [policy._replace(wraps=False) for policy in AXES]

    assert tuple_kind(np.array([-1, 0]), policies) is IndexKind.MIXED


@pytest.mark.parametrize("index_type", [">i8", "<i8", ">u8", "i1"])
def test_positions_of_tuples_of_one_index_are_in_native_byte_order(index_type: str) -> None:
    resolved = ResolvedIndices(
        np.array([[2], [0], [1]], index_type), AXES[:1], IndexKind.PLAIN, tuples=True
    )

    positions = resolved.whole()

    assert positions.dtype == np.int64
    assert positions.tolist() == [2, 0, 1]


def test_tuples_of_another_byte_order_are_checked_by_their_values_not_their_bytes() -> None:
    resolved = ResolvedIndices(np.array([[0, 0], [2**56, 0]], ">i8"), AXES, tuples=True)

    with pytest.raises(UnexpectedIndicesError):
        resolved.whole()


# Beside plain loops

HELD = [f"{order}{kind}{size}" for order in "<>" for kind in "iu" for size in (1, 2, 4, 8)]
OUTSIDE = [OutOfRange.ZERO, OutOfRange.CLAMP, OutOfRange.WRAP, OutOfRange.ERROR]


def room(shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    return np.full(shape, 77, np.int64)


def around(size: int, index_type: str) -> npt.NDArray[Any]:
    """Return the indices of a type at each bound of an axis, and its extremes."""
    most = np.iinfo(index_type)
    each = [-2 * size, -size - 1, -size, -1, 0, 1, size - 1, size, 2 * size + 1]
    each += [most.min, most.max]
    return np.array([k for k in each if most.min <= k <= most.max], index_type)


def position(k: int, policy: IndexPolicy) -> int | None:
    """Return where an index points, -1 for nowhere; None if the call is refused."""
    size = policy.size
    p = k + size if policy.wraps and k < 0 else k
    if 0 <= p < size:
        return p
    if policy.outside is OutOfRange.ZERO:
        return -1
    if policy.outside is OutOfRange.ERROR or not size:
        return None
    if policy.outside is OutOfRange.CLAMP:
        return 0 if k < 0 else size - 1
    return p % size


@pytest.mark.parametrize("index_type", HELD)
@pytest.mark.parametrize("size", [0, 1, 3, 127, 128, 200, 2**40])
@pytest.mark.parametrize("wraps", [True, False])
@pytest.mark.parametrize("outside", OUTSIDE, ids=lambda policy: policy.name)
def test_each_index_points_where_a_loop_says(
    index_type: str, size: int, wraps: bool, outside: OutOfRange
) -> None:
    policy, indices = IndexPolicy(size, wraps, outside), around(size, index_type)
    expected = [position(k, policy) for k in indices.tolist()]
    legal = np.array(
        [k for k, p in zip(indices.tolist(), expected, strict=True) if p is not None], index_type
    )

    positions = resolve(legal, policy)

    assert positions.dtype == np.int64
    assert positions.tolist() == [p for p in expected if p is not None]


@pytest.mark.parametrize("index_type", HELD)
@pytest.mark.parametrize("size", [0, 1, 3, 127, 128, 200, 2**40])
@pytest.mark.parametrize("wraps", [True, False])
def test_the_kind_of_each_index_is_the_narrowest(index_type: str, size: int, wraps: bool) -> None:
    policy = IndexPolicy(size, wraps, OutOfRange.ZERO)

    for k in around(size, index_type):
        is_signed = wraps and -size <= int(k) < size
        kind = IndexKind.SIGNED if is_signed else IndexKind.MIXED
        kind = IndexKind.PLAIN if 0 <= int(k) < size else kind

        assert index_kind(np.array([k, k], index_type), policy) is kind
        assert index_kind(np.array([k, 0, k, 0], index_type)[::2], policy) is kind


def test_no_indices_are_plain() -> None:
    assert index_kind(np.zeros((0, 2), np.int8), POLICY._replace(size=0)) is IndexKind.PLAIN


@pytest.mark.parametrize("index_type", ["<i4", ">i4", "<i8", ">i8", "<u2"])
@pytest.mark.parametrize("kind", [IndexKind.PLAIN, IndexKind.UNSEEN, IndexKind.MIXED])
@pytest.mark.usefixtures("kernel_language")
def test_a_part_of_indices_has_the_positions_of_those(index_type: str, kind: IndexKind) -> None:
    indices = np.array([[0, 2, 1], [2, 1, 0]], index_type)

    resolved = ResolvedIndices(indices, [POLICY], kind)

    assert (resolved.shape, resolved.size, resolved.steps) == ((2, 3), 6, (3, 1))
    assert resolved.whole().tolist() == indices.tolist()
    assert resolved.part(1, (2, 2), (3, 1), room).tolist() == [[2, 1], [1, 0]]
    assert resolved.part(1, (2, 2), (3, 1), room).dtype == np.int64


@pytest.mark.usefixtures("kernel_language")
def test_indices_that_count_from_the_end_or_fill_are_resolved_in_every_part() -> None:
    for index_type in ("<i2", ">i8", "<i8"):
        signed = ResolvedIndices(np.array([-1, 0, -3], index_type), [POLICY], IndexKind.SIGNED)
        mixed = ResolvedIndices(
            np.array([-4, 3, -1], index_type), [POLICY], IndexKind.MIXED, fills=True
        )

        assert signed.part(0, (3,), (1,), room).tolist() == [2, 0, 0]
        assert mixed.part(0, (3,), (1,), room).tolist() == [-1, -1, 2]
        assert (signed.fills, mixed.fills) == (False, True)


def test_an_unchecked_index_outside_the_axis_is_unexpected_in_its_part_alone() -> None:
    resolved = ResolvedIndices(np.array([0, 3]), [POLICY])

    assert resolved.part(0, (1,), (1,), room).tolist() == [0]
    with pytest.raises(UnexpectedIndicesError):
        resolved.part(1, (1,), (1,), room)


def test_positions_of_a_few_checked_indices_are_stored_where_the_kernel_in_c_reads_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "fill", None)

    few, many = (
        ResolvedIndices(np.full(number, -1, np.int8), [POLICY], IndexKind.SIGNED).along(None)
        for number in (MOST_KEPT_INDICES, MOST_KEPT_INDICES + 1)
    )
    unseen = ResolvedIndices(np.array([-1], np.int8), [POLICY]).along(None)

    assert few.flat[:2].tolist() == [2, 2]
    assert few.policies == [POLICY._replace(wraps=False)]
    assert [each.flat[0] for each in (many, unseen)] == [-1, -1]
    assert few.part(5, (2,), (1,), room).tolist() == [2, 2]


def test_the_kernel_in_c_is_given_what_it_reads() -> None:
    indices = np.array([[1, 0], [2, 1]], np.int16)

    one = ResolvedIndices(indices, [POLICY])
    many = ResolvedIndices(indices, AXES, IndexKind.PLAIN, tuples=True)

    assert (one.policies, one.strides, one.distance) == ([POLICY], [1], 0)
    assert (many.policies, many.strides, many.distance) == (AXES, [200, 1], 1)


def flat(components: list[int], policies: list[IndexPolicy]) -> int:
    """Return the position of a tuple over the axes, row-major; -1 for nowhere."""
    row_major = 0
    for k, policy in zip(components, policies, strict=True):
        p = position(k, policy)
        assert p is not None
        if p < 0:
            return -1
        row_major = row_major * policy.size + p
    return row_major


@pytest.mark.parametrize("index_type", ["<i2", ">i4", "<i8", ">i8"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("outside", OUTSIDE[:3], ids=lambda policy: policy.name)
def test_each_tuple_points_where_a_loop_says(index_type: str, k: int, outside: OutOfRange) -> None:
    policies = [IndexPolicy(size, True, outside) for size in (4, 3, 5)[:k]]
    draw = np.random.default_rng(0)
    ranges = [
        (IndexKind.PLAIN, [0] * k, [policy.size for policy in policies]),
        (IndexKind.SIGNED, [-policy.size for policy in policies], [p.size for p in policies]),
        (IndexKind.MIXED, [-9] * k, [9] * k),
    ]

    for kind, low, high in ranges:
        tuples = draw.integers(low, high, (3, 5, k)).astype(index_type)
        expected = [[flat(each, policies) for each in row] for row in tuples.tolist()]
        resolved = ResolvedIndices(
            tuples, policies, kind, fills=kind is IndexKind.MIXED, tuples=True
        )
        unseen = ResolvedIndices(tuples, policies, tuples=True)

        assert (resolved.shape, resolved.size) == ((3, 5), 15)
        assert resolved.whole().tolist() == expected
        assert resolved.part(5 * k, (2, 2), (5 * k, k), room).tolist() == [
            row[:2] for row in expected[1:]
        ]
        if kind is not IndexKind.MIXED:
            assert unseen.whole().tolist() == expected


@pytest.mark.parametrize("k", [1, 2, 3])
def test_many_tuples_are_located_block_by_block(k: int) -> None:
    policies = [IndexPolicy(size, True, OutOfRange.ZERO) for size in (300, 200, 250)[:k]]
    tuples = np.random.default_rng(0).integers(-310, 310, (2 * TUPLES_AT_A_TIME + 3, k))
    positions = ResolvedIndices(tuples, policies, IndexKind.MIXED, fills=True, tuples=True).whole()

    assert positions.tolist() == [flat(each, policies) for each in tuples.tolist()]


def test_large_indices_that_count_from_the_end_keep_their_bits() -> None:
    policies = [IndexPolicy(size, True, OutOfRange.ZERO) for size in (30_001, 31_001)]
    tuples = np.array([[30_000, -31_001], [-30_001, 31_000], [16_384, -1], [8_192, 16_385]], "i2")

    positions = ResolvedIndices(tuples, policies, IndexKind.SIGNED, tuples=True).whole()
    each = ResolvedIndices(tuples[:, 0], policies[:1], IndexKind.SIGNED).whole()

    assert positions.tolist() == [flat(row, policies) for row in tuples.tolist()]
    assert each.tolist() == [30_000, 0, 16_384, 8_192]


@pytest.mark.usefixtures("kernel_language")
def test_tuples_are_found_where_the_axes_do_not_follow_each_other() -> None:
    policies = [IndexPolicy(size, True, OutOfRange.ZERO) for size in (4, 3)]
    tuples = np.array([[0, 0], [1, 2], [-1, -1], [3, 3], [2, 1]])
    resolved = ResolvedIndices(tuples, policies, IndexKind.MIXED, fills=True, tuples=True)

    stepped = resolved.along([10, 2])
    (step,) = stepped.steps

    assert (stepped.shape, stepped.size, stepped.fills) == ((5,), 5, True)
    assert stepped.part(0, (5,), (step,), room).tolist() == [0, 14, 34, -1, 22]
    assert stepped.part(2 * step, (2, 3), (0, step), room).tolist() == [[34, -1, 22]] * 2
