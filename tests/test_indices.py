"""What is known of indices taken together, and their positions."""

from __future__ import annotations

import numpy as np
import pytest

from gathercli.arrays.indices import IndexKind, IndexPolicy, ResolvedIndices, index_kind
from gathercli.spec.op import OutOfRange

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
