"""Rules on the element types of inputs."""

from __future__ import annotations

import pytest

from gathercli.errors import (
    DtypeError,
)
from gathercli.ops import bind, gather
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import BOOL, COMPLEX128, FLOAT64, STRING, DType
from gathercli.spec.shapes import Shape


@pytest.mark.parametrize(
    ("of", "where", "integers", "hint"),
    [
        (FLOAT64, None, [1, 2], "as integers they are `[1, 2]`"),
        (FLOAT64, "$[0]", [1, 2], "as integers they are `[1, 2]`"),
        (
            FLOAT64,
            None,
            None,
            '`numpy.asarray(indices, "int64")` converts whole values; '
            "it cuts off fractions, which are not indices",
        ),
        (FLOAT64, "$[0]", None, None),
        (BOOL, None, [0, 2], "the positions of true are `[0, 2]`"),
        (BOOL, None, None, "the positions of true are indices: `numpy.flatnonzero(mask)`"),
        (STRING, None, None, None),
        (STRING, "$[0]", None, None),
        (COMPLEX128, None, None, None),
    ],
)
def test_indices_of_another_type_are_advised_the_integers_that_they_may_be(
    of: DType, where: str | None, integers: object, hint: str | None
) -> None:
    data, indices = Operand(Shape([2, 2]), FLOAT64), Operand(Shape([2]), of, where, integers)

    with pytest.raises(DtypeError) as info:
        bind(gather.ROWS[0], data, indices, axis=0)

    assert info.value.hint == hint
