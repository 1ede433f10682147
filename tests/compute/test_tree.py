"""GatherTree: beams followed back under every policy, in every type, from and into every format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

import gathercli
from gathercli import ops
from gathercli.compute import native
from gathercli.compute.bound import BoundCall
from gathercli.compute.result import GatherResult
from gathercli.compute.run import run_arrays as bound_run
from gathercli.errors import OutOfRangeError
from gathercli.frameworks.versions import find
from gathercli.io.arraylike import arguments
from gathercli.io.formats.table import BY_SUFFIX
from gathercli.ops import FAMILIES
from gathercli.spec.call import CallContext
from gathercli.spec.dtypes import DTYPES
from tests import oracle, oracle_nd
from tests.conftest import only_error
from tests.random_calls import (
    NEGATIVE,
    OUT_OF_RANGE,
    TREE_TYPES,
    Dice,
    Tree,
    amply,
    as_compared,
    as_type,
    assert_same,
    assert_same_outcome,
    legal_tree,
    moderately,
    outcome,
    seeds,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Array, Run


STEPS = [[[1, 2]], [[3, 4]], [[5, 6]]]
PARENTS = [[[0, 0]], [[1, 0]], [[1, 1]]]
WORDS = ("[[[1,2]],[[3,4]],[[5,6]]]", "[[[0,0]],[[1,0]],[[1,1]]]", "[3]", "9")
ANSWER = "[[[1,1]],[[4,4]],[[5,6]]]"


def bound(*tensors: Any, **policies: Any) -> BoundCall:
    op = find("openvino-1", "gather-tree").op
    with CallContext(op) as context:
        inputs = arguments(context, tensors)
        return BoundCall(ops.bind(op, *context.inputs.values(), **policies), *inputs)


def stray_tree(dice: Dice) -> Tree:
    """Draw a call whose parents are often outside the axis."""
    type_name = dice.one_of(TREE_TYPES)
    tree = legal_tree(dice, type_name)
    parents = tree.parent_ids.copy()
    signed = not type_name.startswith("uint")
    for at in np.ndindex(parents.shape):
        if dice.number(0, 3) == 0:
            parents[at] = dice.number(-6 if signed else 0, 9)
    return Tree(tree.step_ids, parents, tree.max_seq_len, tree.end_token)


# Policies


@amply
@given(seed=seeds)
def test_every_policy_treats_parents_outside_the_axis_as_the_oracle_does(seed: int) -> None:
    dice = Dice(seed)
    tree, how = stray_tree(dice), (dice.one_of(NEGATIVE), dice.one_of(OUT_OF_RANGE))
    attributes = oracle.Attributes(negative=how[0], out_of_range=how[1])

    def got() -> Array:
        result: Array = gathercli.gather_tree(*tree.inputs, negative=how[0], out_of_range=how[1])
        return result

    def expected() -> Array:
        return as_compared(oracle_nd.gather_tree(*tree.inputs, attributes))

    assert_same_outcome(outcome(got), outcome(expected))


def test_a_parent_that_is_filled_names_no_beam_and_all_cells_before_it_are_zero() -> None:
    parents = [[[0, 0]], [[1, 0]], [[7, 1]]]

    output = gathercli.gather_tree(STEPS, parents, [3], 9, out_of_range="zero")

    assert output.tolist() == [[[0, 1]], [[0, 4]], [[5, 6]]]


def test_a_zero_cell_is_no_token_and_so_ends_no_beam() -> None:
    parents = [[[0, 0]], [[1, 0]], [[7, 1]]]

    output = gathercli.gather_tree(STEPS, parents, [3], 0, out_of_range="zero")

    assert output.tolist() == [[[0, 1]], [[0, 4]], [[5, 6]]]


@pytest.mark.parametrize("beams", [3, 5, 7])
@pytest.mark.parametrize("parent", [1e300, -1e300, 2.0**62, 2.0**63, -(2.0**63), 2.0**53 + 2, -1])
def test_a_float_parent_of_any_size_is_moved_exactly(parent: float, beams: int) -> None:
    steps = np.tile(np.arange(float(beams)), (2, 1, 1))
    inputs = steps, np.full_like(steps, parent), [2.0], 99.0

    wrapped = gathercli.gather_tree(*inputs, out_of_range="wrap")
    clamped = gathercli.gather_tree(*inputs, out_of_range="clamp")

    assert wrapped[0].tolist() == [[int(parent) % beams] * beams]
    assert clamped[0].tolist() == [[0 if parent < 0 else beams - 1] * beams]


@pytest.mark.parametrize(
    ("parent", "name"),
    [
        (1e300, "1e+300"),
        (-(2.0**62), "-4.611686018427388e+18"),
        (2.0**53 + 2, "9007199254740994"),
        (-7.0, "-7"),
    ],
)
def test_a_refused_float_parent_is_named_as_it_was_written(parent: float, name: str) -> None:
    inputs = [[[1.0, 2.0]], [[3.0, 4.0]]], [[[0.0, 0.0]], [[1.0, parent]]], [2.0], 9.0

    with pytest.raises(OutOfRangeError) as refused:
        gathercli.gather_tree(*inputs)

    assert str(refused.value).startswith(f"index {name} of `parent_ids` at `[1,0,1]` is outside")


def test_check_names_a_float_parent_as_it_was_written(run: Run) -> None:
    inputs = "[[[1.0,2]],[[3,4]]]", "[[[0.0,0]],[[1,1e300]]]", "[2.0]", "9.0"

    text = run("check", "gather-tree", *inputs).out

    assert "\n[1,0,1]  1e+300  refused\n" in text
    assert "index-range refuses 1, first 1e+300 at [1,0,1]\n" in text
    assert "warning: 1 index does not fit 32 bits, first 1e+300 at [1,0,1]: " in text
    assert text.count("e+300") == 3


def test_float_tokens_beyond_the_integers_of_64_bits_stay_apart() -> None:
    output = gathercli.gather_tree([[[1e300]], [[2e300]]], [[[0.0]], [[0.0]]], [2.0], 5e299)

    assert output.tolist() == [[[1e300]], [[2e300]]]


@pytest.mark.parametrize(
    ("policies", "used", "how"),
    [
        ({"out_of_range": "zero"}, 5, [("zero-filled", 3, -1, "[1,0,1]", "outside 0..1")]),
        ({"out_of_range": "clamp"}, 7, [("clamped", 4, -1, "[1,0,1]", "outside 0..1")]),
        ({"out_of_range": "wrap"}, 7, [("wrapped", 4, -1, "[1,0,1]", "outside 0..1")]),
        (
            {"negative": "wrap", "out_of_range": "clamp"},
            7,
            [
                ("counted from the end", 2, -1, "[1,0,1]", "negative"),
                ("clamped", 2, 9, "[1,1,1]", "outside -2..1"),
            ],
        ),
    ],
)
def test_adjustments_count_every_used_parent_once_and_no_other(
    policies: dict[str, str], used: int, how: list[tuple[str, int, int, str, str]]
) -> None:
    steps = np.ones((3, 2, 2), np.int64)
    parents = np.array([[[9, 9], [9, 9]], [[9, -1], [0, 9]], [[1, 1], [-2, 5]]])

    adjustments = bound_run(bound(steps, parents, [3, 3], 7, **policies)).adjustments

    assert [(a.how, a.number, a.value, a.where, a.legal) for a in adjustments] == how
    assert {a.total for a in adjustments} == {used}


@pytest.mark.parametrize(("policy", "beam"), [("clamp", 2), ("wrap", 0)])
def test_a_parent_beyond_the_integers_of_64_bits_is_moved_exactly(policy: str, beam: int) -> None:
    steps = np.array([[[0, 1, 2]]] * 2, np.uint64)
    parents = np.full_like(steps, 2**64 - 1)

    output = gathercli.gather_tree(steps, parents, [2], 9, out_of_range=policy)

    assert output[0].tolist() == [[beam] * 3]


def test_the_first_end_token_is_copied_as_the_step_has_it() -> None:
    steps = np.array([1.0, -0.0, 3.0]).reshape(3, 1, 1)

    output = gathercli.gather_tree(steps, np.zeros((3, 1, 1)), [3.0], 0.0)

    assert np.signbit(output).reshape(-1).tolist() == [False, True, False]


def test_parents_that_all_count_from_the_end_are_noted() -> None:
    steps, parents = np.ones((2, 1, 2), np.int64), [[[0, 0]], [[-1, -2]]]

    (adjustment,) = bound_run(bound(steps, parents, [2], 7, negative="wrap")).adjustments

    assert (adjustment.how, adjustment.number) == ("counted from the end", 2)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.5])
def test_a_parent_that_is_no_integer_is_refused(value: float) -> None:
    with pytest.raises(gathercli.OutOfRangeError, match="integer") as refused:
        gathercli.gather_tree([[[1.0]]], [[[value]]], [1.0], 9.0)

    assert refused.value.where == "[0,0,0]"


# Types and sizes


def test_the_first_end_token_is_copied_and_those_after_it_are_the_input() -> None:
    output = gathercli.gather_tree([[[-0.0]], [[1.0]]], [[[0.0]], [[0.0]]], [2.0], 0.0)

    assert np.signbit(output).reshape(-1).tolist() == [True, False]


@pytest.mark.parametrize("type_name", ["int8", "uint64", "bfloat16", "float16", "float32"])
def test_the_output_has_the_type_of_the_inputs(type_name: str) -> None:
    inputs = [as_type(each, type_name) for each in (STEPS, PARENTS, [3], 9)]

    output = gathercli.gather_tree(*inputs)

    assert output.dtype == inputs[0].dtype
    assert output.astype(float).tolist() == [[[1, 1]], [[4, 4]], [[5, 6]]]


def test_tokens_of_64_bits_are_exact() -> None:
    steps = np.array([[[2**64 - 1, 2**64 - 2]]], np.uint64)

    output = gathercli.gather_tree(steps, np.zeros_like(steps), [1], np.uint64(2**64 - 2))

    assert_same(output, steps)


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 0, 0)])
def test_a_tree_without_steps_batches_or_beams_is_empty(shape: tuple[int, ...]) -> None:
    ids = np.full(shape, 99)

    output = gathercli.gather_tree(ids, ids, np.full(shape[1], 5), 1)

    assert output.shape == shape


@pytest.mark.parametrize("command", ["check", "explain", "translate", "diagnose"])
@pytest.mark.parametrize("shape", ["0x2x3", "2x0x3", "2x3x0", "0x0x0"])
@pytest.mark.parametrize("type_name", ["f16", "f64", "i32"])
def test_every_command_takes_an_empty_tree(
    command: str, shape: str, type_name: str, run: Run
) -> None:
    batches = shape.split("x")[1]
    ids = f"zeros:{shape}x{type_name}"
    words = [ids, ids, f"{batches}x{type_name}=1", f"x{type_name}=1"]
    more = {"diagnose": [ids], "translate": ["--to", "numpy", "--quiet"]}

    ran = run(command, "gather-tree", *words, *more.get(command, []))

    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (-(2**63), [9, 9, 9]),
        (-1, [9, 9, 9]),
        (0, [9, 9, 9]),
        (1, [1, 9, 9]),
        (3, [1, 2, 3]),
        (2**63 - 1, [1, 2, 3]),
    ],
)
def test_a_length_is_cut_to_the_steps_that_there_are(length: int, expected: list[int]) -> None:
    output = gathercli.gather_tree([[[1]], [[2]], [[3]]], [[[0]]] * 3, [length], 9)

    assert output.reshape(-1).tolist() == expected


def test_a_length_is_cut_where_its_type_cannot_hold_the_number_of_steps() -> None:
    ids = np.zeros((300, 1, 1), np.int8)

    output = gathercli.gather_tree(ids, ids, np.array([127], np.int8), np.int8(1))

    assert output.reshape(-1).tolist() == [0] * 127 + [1] * 173


@pytest.mark.usefixtures("kernel_language")
def test_a_thousand_steps_are_followed() -> None:
    random = np.random.default_rng(0)
    steps, parents = random.integers(0, 99, (1000, 8, 4)), random.integers(0, 4, (1000, 8, 4))
    tree = Tree(steps, parents, np.full(8, 1000), np.array(-1))

    output = gathercli.gather_tree(*tree.inputs)

    assert_same(output, oracle_nd.gather_tree(*tree.inputs))


# One truth for one cell and for arrays of them


class Beams:
    """Beams as plain integers, by the coordinates of one cell."""

    def __init__(self, beams: Array) -> None:
        self.beams = beams

    def __getitem__(self, at: tuple[int, ...]) -> int:
        return int(self.beams[at])


@moderately
@given(seed=seeds)
def test_the_source_of_one_cell_is_plain_arithmetic_and_that_of_arrays(seed: int) -> None:
    tree = legal_tree(Dice(seed), "int64")
    with patch.object(native, "fill", None):
        result = bound_run(bound(*tree.inputs))
    assert isinstance(result, GatherResult)
    call, sources = result.bound.call, FAMILIES["gather-tree"].sources
    beams = result._points["parent_ids"].whole()

    together = sources(call, {"parent_ids": beams}, np.arange(beams.size))
    single = [sources(call, {"parent_ids": Beams(beams)}, cell) for cell in range(beams.size)]

    tokens = np.append(tree.step_ids, tree.end_token)
    assert all(type(source) is int for source in single)
    assert together.tolist() == single
    assert_same(tokens[together].reshape(beams.shape), result.whole().array)


# Inputs and outputs


@pytest.mark.parametrize("suffix", [".zarr", ".npy", ".json"])
def test_inputs_are_read_from_files(run: Run, suffix: str) -> None:
    names = [f"{name}{suffix}" for name in ("s", "p", "l", "e")]
    for word, name in zip(WORDS, names, strict=True):
        assert run("convert", word, name).status == 0

    assert run("gather-tree", *names) == (0, ANSWER + "\n", "")


@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_the_output_is_written_in_every_format(run: Run, folder: Path, suffix: str) -> None:
    name = f"out{suffix}"
    ran = run("gather-tree", *WORDS, "-o", name)

    token = f"bin:3x1x2xi64@{name}" if suffix == ".bin" else name
    assert ran.status == 0
    assert (folder / name).exists()
    assert run("convert", token, "-", "--to", "json").out == ANSWER + "\n"


def test_the_output_is_compared_with_what_is_expected(run: Run) -> None:
    assert run("gather-tree", *WORDS, "--expect", ANSWER).status == 0

    ran = run("gather-tree", *WORDS, "--expect", ANSWER.replace("6", "7"))

    assert ran.status == 1
    assert ran.err.startswith("error: the result has 6 at `[2,0,1]`: expected 7")


# Untyped inputs

MIXES = [
    ({"step_ids": "int8"}, "int8"),
    ({"parent_ids": "uint64"}, "uint64"),
    ({"max_seq_len": "float32"}, "float32"),
    ({"end_token": "bfloat16"}, "bfloat16"),
    ({"step_ids": "int16", "end_token": "int16"}, "int16"),
    ({}, "int64"),
]
SHORT = {dtype.name: dtype.short for dtype in DTYPES}
SHAPES = {"step_ids": "3x1x2x", "parent_ids": "3x1x2x", "max_seq_len": "1x", "end_token": "x"}
NAMES = tuple(SHAPES)
VALUES: dict[str, Any] = dict(zip(NAMES, (STEPS, PARENTS, [3], 9), strict=True))
every_mix = pytest.mark.parametrize(("types", "type_name"), MIXES)


def word_of(name: str, types: dict[str, str]) -> str:
    """Return an input as a literal, typed if it has a type."""
    if name not in types:
        return json.dumps(VALUES[name])
    numbers = " ".join(map(str, np.ravel(VALUES[name]).tolist()))
    return f"{SHAPES[name]}{types[name]}={numbers}"


@every_mix
def test_untyped_words_take_the_type_of_the_typed_ones(
    run: Run, types: dict[str, str], type_name: str
) -> None:
    ran = run("gather-tree", *(word_of(name, types) for name in NAMES), "-f", "literal")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"3x1x2x{SHORT[type_name]}=")


@every_mix
def test_untyped_values_of_a_job_take_the_type_of_the_typed_ones(
    run: Run, types: dict[str, str], type_name: str
) -> None:
    inputs = {name: word_of(name, types) if name in types else VALUES[name] for name in NAMES}

    ran = run("batch", "-", stdin=json.dumps({"op": "gather-tree", **inputs}).encode())

    assert json.loads(ran.out)["dtype"] == type_name


@every_mix
def test_lists_take_the_type_of_the_arrays(types: dict[str, str], type_name: str) -> None:
    inputs = [
        as_type(VALUES[name], types[name]) if name in types else VALUES[name] for name in NAMES
    ]

    assert gathercli.gather_tree(*inputs).dtype.name == type_name


def test_an_untyped_input_that_does_not_convert_is_refused_by_its_name(run: Run) -> None:
    words = ("3x1x2xi8=1 2 3 4 5 6", WORDS[1], "[300]", "9")

    line = only_error(run("gather-tree", *words))

    assert line.startswith("error: `max_seq_len`: the value at `[0]` is 300, which int8 cannot")


@pytest.mark.parametrize(
    "words",
    [
        "[[[1,2]]] [[[0,1.5]]] [1] 9",
        "[[[1,2]]] [[[0,1]]] [1.5] 9",
        "[[[1.5,2]]] [[[0,1]]] [1] 9",
        "1x1x2xi64=1 1x1x2xf32=0.5 [1] 9",
        "1x1x2xf64=1 1x1x2xf32=0.5 [1] 9",
        "1x1x2xi32=1 1x1x2xi64=0 1xbool=true 9",
    ],
)
def test_no_conversion_is_suggested_that_a_fraction_or_a_boolean_prevents(
    words: str, run: Run
) -> None:
    ran = run("gather-tree", *words.split())

    assert ran.err.endswith("\nrule: tree-dtype\n")
    assert "hint:" not in ran.err


def test_one_hint_names_every_input_to_convert(run: Run) -> None:
    ran = run("gather-tree", "1x1x2xi32=1", "1x1x2xi64=0", "1xi64=1", "xi64=9")

    assert (
        "\nhint: `--parent-ids-dtype int32 --max-seq-len-dtype int32 --end-token-dtype int32` "
        "convert them without loss or not at all\n"
    ) in ran.err


def test_steps_without_batches_are_told_their_shape(run: Run) -> None:
    ran = run("gather-tree", "[[1,2],[3,4]]", "[[0,0],[1,0]]", "[2]", "9")

    assert "\nhint: the shape of one batch is [2,1,2]: steps, batches, beams\n" in ran.err


def test_untyped_inputs_of_two_kinds_have_no_type_in_common(run: Run) -> None:
    ran = run("gather-tree", WORDS[0], WORDS[1], "[3.0]", "9")

    assert ran.err.splitlines()[-1] == "rule: tree-dtype"


def test_lists_without_elements_take_the_type_of_the_others(run: Run) -> None:
    ran = run("gather-tree", "[[[],[]]]", "[[[],[]]]", "[1,1]", "9", "-f", "literal")

    assert ran == (0, "1x2x0xi64=[[[][]]]\n", "")


def test_the_types_of_opaque_tokens_are_compared_by_value() -> None:
    steps = np.array([[[1, 9]], [[3, 4]]], ml_dtypes.bfloat16)

    output = gathercli.gather_tree(steps, [[[0, 0]], [[1, 0]]], [2], 9)

    assert output.astype(float).tolist() == [[[9, 1]], [[9, 4]]]


def test_a_refused_parent_is_outside_the_axis_of_beams(run: Run) -> None:
    ran = run("gather-tree", "[[[1,2]],[[3,4]]]", "[[[0,0]],[[0,5]]]", "[2]", "9")

    assert "index 5 of `parent_ids` at `[1,0,1]` is outside axis 2 of `step_ids`" in ran.err


def test_standard_input_is_read_once_and_holds_all_inputs_by_their_names(run: Run) -> None:
    ran = run("gather-tree", "-", "-", "[1]", "9")

    assert (ran.status, ran.err.splitlines()[-1]) == (
        2,
        "hint: one stream that holds all is `-#step_ids`, `-#parent_ids`, `-#max_seq_len` and "
        "`-#end_token`",
    )


@pytest.mark.parametrize("shape", [(2**33, 0, 1), (2**33, 1, 0), (0, 1, 2**33)])
def test_no_elements_take_no_time_and_no_memory_whatever_their_shape(
    shape: tuple[int, ...],
) -> None:
    empty = np.empty(shape, np.int64)

    output = gathercli.gather_tree(empty, empty, np.ones(shape[1], np.int64), 9)

    assert output.shape == shape
