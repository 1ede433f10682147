"""An operator that is declared in one file, with three inputs and no axis, works everywhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli import engine, ops
from gathercli.arrays.bound import BoundCall
from gathercli.arrays.run import run
from gathercli.arrays.tensor import Tensor
from gathercli.errors import OperatorError, OutOfRangeError
from gathercli.spec import rules
from gathercli.spec.call import Call, Operand
from gathercli.spec.coordinates import Position, coordinates, flat_positions
from gathercli.spec.dtypes import DTYPES, INT64
from gathercli.spec.op import INTEGERS, IndexedAxis, IndexRange, Input, Op, OutOfRange
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The family: out[i] = data[rows[i], columns[i]]

COMMAND = "gather-points"

TEST_2 = Op(
    framework="test",
    name="GatherPoints",
    version=2,
    family=COMMAND,
    inputs=(
        Input("data", DTYPES),
        Input("rows", INTEGERS, values=True),
        Input("columns", INTEGERS, values=True),
    ),
    attrs=(),
    index_range=IndexRange.SIGNED,
    out_of_range=OutOfRange.ERROR,
    elementwise=False,
    off_axis=None,
    narrows=False,
    equation="out[i] = data[rows[i], columns[i]]",
    shape="rows[0:]",
    changes="negative indices count from the end",
    source="nowhere but here",
)
TEST_1 = TEST_2._replace(version=1, index_range=IndexRange.UNSIGNED, changes="the first version")

ROWS: tuple[Op, ...] = (TEST_2, TEST_1)
RULES: tuple[Callable[[Call], None], ...] = (rules.data_dtype,)


def infer(call: Call) -> Shape:
    """Return the shape of `rows`."""
    return call.inputs["rows"].shape


def equation(call: Call) -> str:
    """Return the row's own."""
    return call.op.equation


def indexed_axes(call: Call) -> tuple[IndexedAxis, ...]:
    """Return the first dimension for `rows`, the second for `columns`."""
    height, width = (int(str(size)) for size in call.data.shape)
    return IndexedAxis("rows", 0, height), IndexedAxis("columns", 1, width)


def sources(call: Call, points: Mapping[str, Any], cells: Position) -> Position:
    """Return the flat position of each point."""
    i = coordinates(cells, infer(call))
    row, column = points["rows"][i], points["columns"][i]
    return flat_positions((row, column), call.data.shape, none=(row < 0) | (column < 0))


def as_gather(call: Call) -> None:
    """Say that it is no gather along one axis."""
    del call


# Its tests

DATA = np.arange(12).reshape(3, 4)


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package know the family."""
    monkeypatch.setitem(ops.FAMILIES, COMMAND, sys.modules[__name__])


def gather_points(rows: list[int], columns: list[int], op: Op = TEST_2, **how: Any) -> Any:
    tensors = [Tensor(INT64, np.array(each)) for each in (DATA.tolist(), rows, columns)]
    call = engine.bind(op, *map(Operand.of, tensors), **how)
    return run(BoundCall(call, *tensors)).whole().array


def test_three_inputs_and_no_axis_are_gathered_by_the_sources_of_the_family() -> None:
    points = gather_points([2, 0, -1], [3, -4, 0])

    assert points.tolist() == [DATA[2, 3], DATA[0, 0], DATA[2, 0]]


def test_a_large_output_is_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gathercli.arrays.sources.CELLS", 7)
    rows, columns = np.arange(100) % 3, np.arange(100) % 4

    points = gather_points(rows.tolist(), columns.tolist())

    assert (points == DATA[rows, columns]).all()


def test_a_refusal_names_the_input_the_axis_and_the_legal_range() -> None:
    with pytest.raises(OutOfRangeError) as refusal:
        gather_points([0, 1], [0, 4])

    assert refusal.value.message == (
        "index 4 of `columns` at `[1]` is outside axis 1 of `data`, whose size is 4: "
        "expected -4 to 3 (1 of 2 indices)"
    )
    assert refusal.value.inputs == {"data": "i64[3,4]", "rows": "i64[2]", "columns": "i64[2]"}


def test_the_row_decides_about_negative_indices() -> None:
    with pytest.raises(OutOfRangeError, match=r"index -1 of `rows` .* expected 0 to 2"):
        gather_points([-1], [0], TEST_1)


def test_options_treat_indices_as_they_do_for_every_family() -> None:
    points = gather_points([0, 9], [0, 0], out_of_range="zero")

    assert points.tolist() == [0, 0]


def test_rules_of_the_family_refuse() -> None:
    tensors = [Operand(Shape([3, 4]), None), Operand(Shape([2]), INT64), Operand(Shape([2]), INT64)]
    call = engine.bind(TEST_2, *tensors, shapes_only=True)

    assert str(engine.infer(call)) == "[2]"
    narrow = TEST_2._replace(inputs=(Input("data", (INT64,)), *TEST_2.inputs[1:]))
    with pytest.raises(OperatorError):
        engine.bind(narrow, Operand(Shape([3, 4]), DTYPES[0]), *tensors[1:])
