"""Rules on the element types of inputs."""

from __future__ import annotations

from operator import attrgetter

import pytest

from gathercli.errors import DtypeError, RankError
from gathercli.frameworks import every_row
from gathercli.ops import OPERATORS, bind, gather
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import BOOL, COMPLEX128, DTYPES, FLOAT64, STRING, DType, dtype
from gathercli.spec.op import Op
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


@pytest.mark.parametrize(
    "op",
    [
        op
        for op in (*OPERATORS, *(row.op for row in every_row()))
        if any(each.name == "indices" for each in op.inputs)
    ],
    ids=lambda op: op.id,
)
def test_integers_of_any_type_that_a_version_refuses_are_advised_one_that_it_takes(op: Op) -> None:
    axis = 0 if op.attr("axis") else None
    data, shape = Operand(Shape([2]), dtype("float32")), Shape([1, 1] if op.tuples else [1])
    types = op.input("indices").dtypes
    refused = dict[DType, str]()

    for each in filter(attrgetter("integral"), DTYPES):
        try:
            bind(op, data, Operand(shape, each), axis=axis)
        except DtypeError as error:
            refused[each] = str(error.hint)
        except RankError:  # which follows
            assert each in types or op.adapts

    assert set(refused.values()) <= {
        f'`numpy.asarray(indices, "{each.name}")` converts them {fit}'
        for each in types
        for fit in ("without loss", "if each fits")
    }
