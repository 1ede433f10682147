"""Treatments and conversions are what their names say, index by index."""

from __future__ import annotations

import numpy as np
import pytest

from gathercli.diagnose.index_hypotheses import CONVERSIONS, READ, TREATMENTS, exact, orders

K = np.array([0, 2, 3, 7, -1, -3, -4, -9])
SIZE = 3


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("wrapped once", [0, 2, None, None, 2, 0, None, None]),
        ("zero-filled", [0, 2, None, None, None, None, None, None]),
        ("modulo", [0, 2, 0, 1, 2, 0, 2, 0]),
        ("clamped", [0, 2, 2, 2, 0, 0, 0, 0]),
        ("clamped after wrapping", [0, 2, 2, 2, 2, 0, 0, 0]),
        ("no bounds check", [0, 2, 3, 7, -1, -3, -4, -9]),
        ("no bounds check after wrapping", [0, 2, 3, 7, 2, 0, -1, -6]),
        ("modulo another axis", [0, 2, 3, 2, 4, 2, 1, 1]),
        ("clamped to another axis", [0, 2, 3, 4, 0, 0, 0, 0]),
    ],
)
def test_a_treatment_is_what_its_name_says(name: str, positions: list[int | None]) -> None:
    (row,) = (each for each in TREATMENTS if each.name == name)

    at, fates = row.function(K, SIZE, 5)

    read = [p if fate == READ else None for p, fate in zip(at, fates, strict=True)]
    assert read == positions


@pytest.mark.parametrize(
    ("name", "converted"),
    [
        ("cut to 32 bits", [0, -1, 300, -200]),
        ("cut to 8 bits", [0, -1, 44, 56]),
        ("cut to 8 unsigned bits", [0, 255, 44, 56]),
        ("one too large", [(1 << 32) + 1, 0, 301, -199]),
        ("negative ones moved by another axis", [1 << 32, 4, 300, -195]),
        ("rounded to float16", [1 << 62, -1, 300, -200]),
    ],
)
def test_a_conversion_is_what_its_name_says(name: str, converted: list[int]) -> None:
    (row,) = (each for each in CONVERSIONS if each.name == name)

    k = row.function(np.array([1 << 32, -1, 300, -200]), SIZE, 5)

    assert k.tolist() == converted


def test_an_unsigned_index_beyond_int64_stays_congruent_and_outside() -> None:
    k = np.array([(1 << 64) - 1, 1 << 63, 5], np.uint64)

    numbers = exact(k, 7)

    assert (numbers % 7).tolist() == [int(each) % 7 for each in k]
    assert (numbers >= 0).all()


@pytest.mark.parametrize("kind", [*np.typecodes["Integer"], *np.typecodes["UnsignedInteger"]])
def test_every_order_of_indices_of_any_type_leaves_integers(kind: str) -> None:
    rows = np.array([[np.iinfo(kind).max], [1], [1], [0]], kind)

    placed = {each.name: each.places(rows).dtype.kind for each in orders(rows.shape, tuples=False)}

    assert {"repeated outside", "different ones first", "inverse along axis 0"} <= {*placed}
    assert {*placed.values()} <= {"i", "u"}
