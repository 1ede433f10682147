"""An operator that is declared in one file, with three inputs and no axis, works everywhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli import ops
from gathercli.batch.work import Settings, line_of
from gathercli.cli.registry import COMMANDS, CommandEntry
from gathercli.compute.bound import BoundCall
from gathercli.compute.run import run_arrays as gather
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError, OperatorError, OutOfRangeError
from gathercli.spec import rules, type_rules
from gathercli.spec.call import Call, CallContext, Operand
from gathercli.spec.dtypes import DTYPES, INT64
from gathercli.spec.op import (
    FRAMEWORKS,
    INTEGERS,
    Attr,
    Framework,
    IndexedAxis,
    IndexRange,
    Input,
    Op,
    OutOfRange,
)
from gathercli.spec.shapes import Position, Shape, coordinates, flat_positions
from man.pages import page
from man.prose import markdown
from tests.jobs import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conftest import Run

# The family: out[i] = data[rows[i], columns[i]]

COMMAND = "gather-points"
SUMMARY = "Gather points by their rows and columns"

TEST_2 = Op(
    framework="test",
    name="GatherPoints",
    version=2,
    family=COMMAND,
    inputs=(
        Input("data", DTYPES),
        Input("rows", INTEGERS, values=True, doc="The row of each point"),
        Input("columns", INTEGERS, values=True, doc="The column of each point"),
    ),
    attrs=(Attr("batch_dims", default=0, doc="Leading dimensions that are batches"),),
    index_range=IndexRange.SIGNED,
    out_of_range=OutOfRange.ERROR,
    equation="out[i] = data[rows[i], columns[i]]",
    shape="rows[0:]",
    changes="negative indices count from the end; adds `batch_dims`",
)
TEST_1 = TEST_2._replace(
    version=1, attrs=(), index_range=IndexRange.UNSIGNED, changes="the first version"
)

ROWS: tuple[Op, ...] = (TEST_2, TEST_1)
RULES: tuple[Callable[[Call], None], ...] = (type_rules.data_dtype, rules.batch_dims_unsupported)


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
    family = sys.modules[__name__]
    monkeypatch.setitem(ops.FAMILIES, COMMAND, family)
    monkeypatch.setitem(FRAMEWORKS, "test", Framework("test", 2, "nowhere but here", "nowhere"))
    entry = CommandEntry("cli.commands.operators", ops.summary(family))
    monkeypatch.setitem(COMMANDS, COMMAND, entry)
    for name in ("shape", "explain", "translate", "diagnose"):  # which are inspected anew
        monkeypatch.setitem(COMMANDS, name, COMMANDS[name]._replace(help="Take any operator."))


def gather_points(rows: list[int], columns: list[int], op: Op = TEST_2, **how: Any) -> Any:
    tensors = [Tensor(INT64, np.array(each)) for each in (DATA.tolist(), rows, columns)]
    with CallContext(op) as context:
        context.inputs |= {
            each.name: Operand.of(tensor) for each, tensor in zip(op.inputs, tensors, strict=True)
        }
        call = ops.bind(op, *context.inputs.values(), **how)
        return gather(BoundCall(call, *tensors)).whole().array


def test_three_inputs_and_no_axis_are_gathered_by_the_sources_of_the_family() -> None:
    points = gather_points([2, 0, -1], [3, -4, 0])

    assert points.tolist() == [DATA[2, 3], DATA[0, 0], DATA[2, 0]]


def test_a_large_output_is_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gathercli.compute.result.SOURCE_CELLS", 7)
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
    call = ops.bind(TEST_2, *tensors, shapes_only=True)

    assert str(call.shape) == "[2]"
    narrow = TEST_2._replace(inputs=(Input("data", (INT64,)), *TEST_2.inputs[1:]))
    with pytest.raises(OperatorError):
        ops.bind(narrow, Operand(Shape([3, 4]), DTYPES[0]), *tensors[1:])


# Through the command, and as a job

ARGUMENTS = (COMMAND, "[[0,1,2,3],[4,5,6,7],[8,9,10,11]]", "2,0,-1", "3,-4,0")


def test_the_command_takes_an_argument_for_each_input(run: Run) -> None:
    assert run(*ARGUMENTS).out == "[11,0,8]\n"


def test_the_command_has_the_options_of_the_inputs_and_attributes(run: Run) -> None:
    text = run(COMMAND, "--help", "--all").out

    assert f"Usage: gathercli {COMMAND} [OPTIONS] DATA ROWS COLUMNS\n" in text
    assert "Gather points by their rows and columns: test 1, 2." in text
    assert "COLUMNS  The column of each point, given likewise.  [required]" in text
    for name in ("--data-dtype", "--rows-dtype", "--columns-dtype", "--batch-dims"):
        assert f"{name} " in text
    assert "--axis" not in text
    assert "Leading dimensions that are batches (test 2); default 0." in " ".join(text.split())


def test_the_manual_has_a_page_without_prose_and_examples() -> None:
    made = page(COMMAND)

    assert [heading for heading, _ in made.sections] == [
        *("SYNOPSIS", "DESCRIPTION", "ARGUMENTS AND OPTIONS"),
        *("VERSIONS", "INDICES", "SEE ALSO"),
    ]
    text = markdown(made.sections)
    assert f"gathercli {COMMAND} [OPTIONS] DATA ROWS COLUMNS" in text
    assert "test.GatherPoints-2" in text


@pytest.mark.parametrize("arguments", [(), ("[[1]]",), ("[[1]]", "0,"), ("1", "2", "3", "4")])
def test_a_line_with_too_few_or_too_many_inputs_is_refused(
    arguments: tuple[str, ...], run: Run
) -> None:
    ran = run(COMMAND, *arguments)

    assert ran.status == 2
    assert "expected DATA, ROWS and COLUMNS\n" in ran.err


def test_the_command_declares_the_type_of_each_input(run: Run) -> None:
    ran = run(*ARGUMENTS, "--columns-dtype", "int8", "--data-dtype", "f32", "-f", "literal")

    assert ran.out == "3xf32=[11.0 0.0 8.0]\n"


def test_a_refusal_shows_every_input(run: Run) -> None:
    ran = run(*ARGUMENTS[:-1], "3,0,4")

    assert (ran.status, ran.err.splitlines()[:2]) == (
        65,
        [
            "error: index 4 of `columns` at `[2]` is outside axis 1 of `data`, whose size is 4: "
            "expected -4 to 3 (1 of 3 indices)",
            "  test.GatherPoints-2   data i64[3,4]   rows i64[3]   columns i64[3]",
        ],
    )


def test_an_attribute_that_a_version_lacks_is_refused_by_its_rule(run: Run) -> None:
    ran = run(*ARGUMENTS, "-V", "test.GatherPoints-1", "-b", "1")

    assert "`batch_dims` is 1, but test.GatherPoints-1 has no batch_dims" in ran.err


def test_commands_of_any_operator_take_more_arguments_for_it(run: Run) -> None:
    shape = run("shape", COMMAND, "3x4", "5", "5")
    missing = run("shape", COMMAND, "3x4", "5")
    surplus = run("shape", "gather", "3x4", "5", "5")

    assert shape.out == "[5]\n"
    assert missing.err.startswith(
        "error: `COLUMNS` is missing: expected DATA, ROWS and COLUMNS of gather-points\n"
    )
    assert surplus.err.startswith(
        "error: `5` is one argument too many: expected DATA and INDICES of gather\n"
    )


def test_a_call_along_no_axis_has_no_picture(run: Run) -> None:
    ran = run("explain", *ARGUMENTS)

    assert (ran.status, ran.err) == (
        2,
        "error: test.GatherPoints-2 gathers along no axis: expected an operator with a picture\n",
    )


@pytest.mark.parametrize("line", ["translate {} --to numpy", "diagnose {} 11,0,9"])
def test_what_treats_one_input_of_indices_refuses_several(line: str, run: Run) -> None:
    words = [word for each in line.split() for word in (ARGUMENTS if each == "{}" else [each])]

    ran = run(*words)

    assert (ran.status, ran.err.splitlines()[0]) == (
        2,
        "error: test.GatherPoints-2 reads indices from `rows` and `columns`: "
        "expected an operator with one input of indices",
    )


def test_a_job_has_a_key_for_each_input() -> None:
    job = {"op": COMMAND, "data": DATA.tolist(), "rows": [2, 0], "columns": [3, -4]}
    typed = job | {"columns_dtype": "int8", "batch_dims": 0, "expect": [11, 0]}

    lines = [line_of(parse(each, where="here"), Settings()) for each in (job, typed)]

    assert [(line.status, line.operator, line.shape) for line in lines] == [
        ("ok", "test.GatherPoints-2", [2])
    ] * 2


def test_a_job_must_have_every_input() -> None:
    with pytest.raises(InputError) as refusal:
        parse({"op": COMMAND, "data": [[1]], "rows": [0]}, where="here")

    assert refusal.value.message.startswith("here: `$.columns` is missing: expected a list")
