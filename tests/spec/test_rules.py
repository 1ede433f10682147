from __future__ import annotations

import inspect
from traceback import extract_tb
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from gathercli import errors, gather, gather_elements, gather_nd, gather_tree, infer_shape
from gathercli.ops import FAMILIES, rule_name
from gathercli.spec import rules
from tests.messages import NAMES, blocks, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.call import Call, Family

NO_BFLOAT16, HUGE, TREE, STEPS, PARENTS = (
    NAMES[name] for name in ("BFLOAT16", "HUGE", "TREE", "STEPS", "PARENTS")
)


REFUSALS: Final = blocks("rules")


def refused(call: Callable[[], object]) -> errors.GatherError:
    with pytest.raises(errors.GatherError) as caught:
        call()
    return caught.value


def test_every_rule_has_a_refused_call() -> None:
    assert {block.rule for block in REFUSALS} == {"version", *rules.statements()}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_an_operator_tries_its_rules_in_the_order_of_the_manual(family: Family) -> None:
    names = [rule_name(rule) for rule in family.RULES]

    assert names == [name for name in rules.statements() if name in names]


def test_what_each_rule_says_is_listed() -> None:
    names = {rule_name(rule) for family in FAMILIES.values() for rule in family.RULES}

    assert rules.statements().keys() == names | {*rules.VALUE_RULES, "limit"}


RULES: Final = dict.fromkeys(rule for family in FAMILIES.values() for rule in family.RULES)


@pytest.mark.parametrize("rule", RULES, ids=rule_name)
def test_each_function_is_named_as_the_rule_it_raises(rule: Callable[[Call], None]) -> None:
    calls = [each.typed.removeprefix(">>> ") for each in REFUSALS if each.rule == rule_name(rule)]

    raisers = [extract_tb(refusal(call).__traceback__)[-1].name for call in calls]

    assert rule.__name__ in raisers


SEVERAL: Final = (
    ("version", "data-dtype", lambda: gather(NO_BFLOAT16, [0], version="onnx-0")),
    ("data-dtype", "indices-dtype", lambda: gather(NO_BFLOAT16, [0.5], version="onnx-11")),
    (
        "data-dtype",
        "indices-dtype of a type that no operator has",
        lambda: gather(NO_BFLOAT16, np.array([None]), version="onnx-11"),
    ),
    ("indices-dtype", "data-rank", lambda: gather(3, [0.5])),
    ("data-rank", "indices-rank", lambda: gather_elements(3, [0], axis=0)),
    ("data-rank", "axis-required", lambda: gather_elements(3, 0)),
    ("data-rank", "axis-range", lambda: gather(3, [0], axis=5)),
    ("indices-rank", "axis-required", lambda: gather_elements([1], [[0]])),
    ("indices-dtype", "indices-rank", lambda: gather_nd([1], 0.5)),
    ("data-rank", "indices-rank of tuples", lambda: gather_nd(3, 0)),
    ("indices-rank", "axis-unsupported", lambda: infer_shape("gather-nd", "[1]", "[]", axis=0)),
    (
        "axis-unsupported",
        "batch-dims-unsupported",
        lambda: infer_shape("gather-nd", "[1,1]", "[1,1]", axis=0, batch_dims=1, version=11),
    ),
    ("batch-dims-range", "indices-depth", lambda: gather_nd([1], [[0, 0]], batch_dims=1)),
    ("indices-depth", "batch-shape", lambda: gather_nd([[1]], [[0, 0]] * 2, batch_dims=1)),
    ("batch-shape", "index-range", lambda: gather_nd([[1]], [[7]] * 2, batch_dims=1)),
    ("tree-dtype", "tree-shape", lambda: gather_tree(STEPS, [True], [2], 9)),
    (
        "axis-unsupported",
        "tree-shape",
        lambda: infer_shape("gather-tree", "[1]", *TREE[1:], axis=0),
    ),
    (
        "batch-dims-unsupported",
        "tree-shape",
        lambda: infer_shape("gather-tree", "[1]", *TREE[1:], batch_dims=1),
    ),
    ("tree-shape", "integer-values", lambda: gather_tree([0.5], [[[0.0]]], [1.0], 9.0)),
    (
        "integer-values",
        "index-range",
        lambda: gather_tree([[[1.0]]] * 2, [[[0.0]], [[7.0]]], [2.0], 0.5),
    ),
    ("axis-required", "elements-shape", lambda: gather_elements([[1]], [[0, 0]])),
    ("axis-required", "index-range", lambda: gather_elements([1], [9])),
    (
        "axis-type",
        "batch-dims-unsupported",
        lambda: gather([1], [0], axis=0.5, batch_dims=1, version="onnx-1"),
    ),
    (
        "axis-range",
        "batch-dims-unsupported",
        lambda: gather([1], [0], axis=7, batch_dims=1, version="onnx-1"),
    ),
    ("axis-range", "batch-dims-range", lambda: gather([1], [0], axis=7, batch_dims=9)),
    (
        "batch-dims-unsupported",
        "batch-dims-range",
        lambda: gather([1], [0], batch_dims=9, version="openvino-1"),
    ),
    (
        "batch-dims-unsupported",
        "elements-shape",
        lambda: infer_shape("gather-elements", "[1,1]", "[1,2]", axis=0, batch_dims=1),
    ),
    ("batch-dims-range", "batch-dims-axis", lambda: gather([1], [0], batch_dims=2)),
    ("batch-dims-axis", "batch-shape", lambda: gather([[1]], [[0], [0]], batch_dims=1)),
    ("batch-dims-axis", "index-range", lambda: gather([[1]], [[7]], batch_dims=1, version=7)),
    (
        "batch-shape",
        "index-range",
        lambda: gather([[1]], [[7], [7]], axis=1, batch_dims=1, version=7),
    ),
    ("elements-shape", "index-range", lambda: gather_elements([[1]], [[7, 7]], axis=0)),
    (
        "index-negative",
        "an earlier index-range",
        lambda: gather([1], [7, -1], negative="error", version=7),
    ),
    ("limit", "index-negative", lambda: gather(HUGE, [-1, -1], negative="error")),
    ("limit", "index-range", lambda: gather(HUGE, [0, 0], version=7)),
)


@pytest.mark.parametrize(
    ("first", "call"),
    [pytest.param(first, call, id=f"{first} before {second}") for first, second, call in SEVERAL],
)
def test_of_two_broken_rules_the_first_is_reported(first: str, call: Callable[[], object]) -> None:
    assert refused(call).rule == first


def test_the_larger_dimension_of_onnx_gather_elements_is_refused() -> None:
    error = refused(lambda: gather_elements([[1, 2]], [[0, 0, 0]], axis=0, version="onnx-13"))

    assert (error.rule, error.where, error.value) == ("elements-shape", "dimension 1", "3")
    assert error.expected == "0 to 2"
    assert str(error).startswith(
        "dimension 1 of `indices` is 3, but that of `data` is 2: expected 0 to 2"
    )


def test_a_version_with_smaller_ones_is_not_advised_for_what_may_only_be_larger() -> None:
    error = refused(lambda: infer_shape("gather-elements", "[2,1..3]", "[2,5..]", axis=0))

    assert error.rule == "elements-shape"
    assert error.hint is None


def test_an_empty_axis_is_not_said_to_clamp_or_wrap() -> None:
    error = refused(lambda: gather_elements([], [0], axis=0))

    assert error.rule == "index-range"
    assert "clamp" not in str(error.hint)


def test_the_axis_of_a_message_is_a_number_however_it_was_passed() -> None:
    error = refused(lambda: gather_elements([[1]], [[0, 0]], axis=np.array([0])))

    assert "only axis 0 may differ" in str(error)


def test_an_unknown_axis_is_for_shapes_and_refused_by_a_run() -> None:
    assert refused(lambda: gather([1], [0], axis="unknown")).rule == "axis-type"


def test_an_axis_of_five_thousand_digits_is_out_of_range() -> None:
    assert refused(lambda: gather([1], [0], axis=10**5000)).rule == "axis-range"


def test_the_axis_of_unknown_data_is_held_against_the_rank_of_the_indices() -> None:
    error = refused(lambda: infer_shape("gather-elements", "[...]", "[2,2]", axis=5))

    assert error.rule == "axis-range"
    assert error.expected == "-2 to 1"


def test_the_elements_have_no_default_axis_in_openvinos_shapes_either() -> None:
    assert refused(lambda: infer_shape("gather-elements", "[2]", "[2]")).rule == "axis-required"


def test_a_result_of_more_dimensions_than_numpy_has_is_refused() -> None:
    error = refused(lambda: gather(np.zeros((1,) * 64), np.zeros((1, 1), np.int64)))

    assert (error.rule, error.value, error.expected) == ("limit", 65, "at most 64")
    assert str(error).endswith(" has rank 65: expected at most 64")


def test_an_empty_result_is_not_said_to_take_too_many_bytes() -> None:
    error = refused(lambda: gather(HUGE, np.zeros((2, 0), np.int64)))

    assert error.rule == "limit"
    assert "takes 0 bytes" not in str(error)


KINDS: Final = (
    errors.UsageError,
    errors.VersionError,
    errors.OperatorError,
    errors.DtypeError,
    errors.AxisError,
    errors.BatchDimsError,
    errors.RankError,
    errors.IndicesDepthError,
    errors.ElementsShapeError,
    errors.TreeShapeError,
    errors.OutOfRangeError,
    errors.LimitError,
    errors.InputError,
    errors.NoInputError,
    errors.OutputError,
    errors.TransferError,
)
STATUS: Final = {
    errors.UsageError: 2,
    errors.VersionError: 2,
    errors.NoInputError: 66,
    errors.OutputError: 73,
    errors.TransferError: 74,
}
FILES: Final = (errors.NoInputError, errors.OutputError, errors.TransferError)


@pytest.mark.parametrize("kind", KINDS)
def test_every_refusal_is_a_value_error_or_where_files_fail_an_os_error(
    kind: type[errors.GatherError],
) -> None:
    assert issubclass(kind, errors.GatherError)
    assert issubclass(kind, OSError if kind in FILES else ValueError)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_failure_has_its_exit_status(kind: type[errors.GatherError]) -> None:
    assert kind.status == STATUS.get(kind, 65)


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (errors.DtypeError, TypeError),
        (errors.OutOfRangeError, IndexError),
        (errors.LimitError, MemoryError),
    ],
)
def test_some_refusals_are_what_python_calls_them(
    kind: type[errors.GatherError], also: type[Exception]
) -> None:
    assert issubclass(kind, also)


def test_no_refusal_was_forgotten_here() -> None:
    kinds = {
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.GatherError)
    }

    assert kinds == {errors.GatherError, errors.MismatchError, *KINDS}


def test_a_refusal_knows_the_row_and_both_tensors() -> None:
    error = refused(lambda: gather([[1, 2]], [7], axis=1, version="onnx-13"))

    assert error.operator == "onnx.Gather-13"
    assert error.inputs == {"data": "i64[1,2]", "indices": "i64[1]"}
