"""What a refused call is advised, by what is known of its inputs alone."""

from __future__ import annotations

import numpy as np
import pytest

import gathercli
from gathercli.errors import (
    BatchDimsError,
    DtypeError,
    IndicesDepthError,
    InputError,
    OutOfRangeError,
    TreeShapeError,
)
from gathercli.frameworks.equivalents import arguments_of
from gathercli.ops import bind, gather, gather_nd, gather_tree
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import FLOAT64, INT64
from gathercli.spec.shapes import DEEPEST, UNKNOWN, AnyDim, Shape, as_shape, parse

INSIDE, OUTSIDE = [[0, 1], [1, 0]], [[5, 6], [7, 8]]


@pytest.mark.parametrize(
    ("data", "indices", "integers", "batch_dims", "is_swapped"),
    [
        ([3], [2, 2], None, 0, True),
        ([3, 3, 3], [2, 2], None, 0, False),
        ([2, 2], [2, 2], None, 0, True),
        ([2, 2], [2, 2], OUTSIDE, 0, True),
        ([2, 2], [2, 2], INSIDE, 0, False),
        ([2, 3], [2, 2], OUTSIDE, 0, False),
        ([UNKNOWN, 2], [2, 2], OUTSIDE, 0, False),
        ([2, UNKNOWN], [2, 2], OUTSIDE, 0, False),
        ([2, 9, 2], [2, 1, 2], [[[8, 1]], [[0, 0]]], 1, False),
        ([2, 9, 2], [2, 1, 2], [[[9, 1]], [[0, 0]]], 1, True),
        ([2, 9, 2], [2, 1, 2], [[[-9, -2]], [[0, 0]]], 1, False),
        ([2, 9, 2], [2, 1, 2], [[[-10, 0]], [[0, 0]]], 1, True),
        ([3, 9, 2], [3, 1, 2], [[[8, 1]], [[0, 0]], [[1, 1]]], 1, False),
        ([3, 9, 2], [3, 1, 2], [[[0, 5]], [[0, 0]], [[1, 1]]], 1, True),
        ([2, 2], [1, 3], [[0, 0, 0]], 0, True),
    ],
)
def test_tuples_and_data_are_swapped_if_they_would_fit(
    data: list[AnyDim],
    indices: list[int],
    integers: list[object] | None,
    batch_dims: int,
    is_swapped: bool,
) -> None:
    given = Operand(Shape(indices), FLOAT64, None, integers)

    with pytest.raises(DtypeError) as info:
        bind(gather_nd.ROWS[0], Operand(Shape(data), INT64), given, batch_dims=batch_dims)

    assert info.value.swapped == ("DATA" if is_swapped else "")


@pytest.mark.parametrize(
    ("data", "indices", "integers", "is_swapped"),
    [
        ([1], [2], None, True),
        ([], [2], None, True),
        ([2, 2], [2], None, False),
        ([], [], None, True),
        ([], [], 5, False),
        ([1], [], None, False),
    ],
)
def test_indices_and_data_are_said_to_be_swapped_by_their_ranks(
    data: list[int], indices: list[int], integers: object, is_swapped: bool
) -> None:
    with pytest.raises(DtypeError) as info:
        bind(
            gather.ROWS[0],
            Operand(Shape(data), INT64),
            Operand(Shape(indices), FLOAT64, None, integers),
            axis=0,
            shapes_only=True,
        )

    assert info.value.swapped == ("DATA" if is_swapped else "")


@pytest.mark.parametrize(
    ("steps", "lengths", "integers", "end", "hint"),
    [
        ([4, 2, 3], [], 4, [], "a length for each batch is `[4, 4]`"),
        ([4, 2, 3], [1, 2], [[4, 3]], [], "a length for each batch is `[4, 3]`"),
        ([4, 2, 3], [1, 3], [[4, 3, 1]], [], None),
        ([4, 2, 3], [], 4, [5], None),
        ([4, 2, 3], [], 4, [2], "max_seq_len comes first, and then end_token"),
        ([4, 2, 3], [], None, [], None),
        ([4, 3], [2], None, [], "the shape of one batch is [4,1,3]: steps, batches, beams"),
    ],
)
def test_an_input_of_beams_of_another_rank_is_advised_what_it_may_be(
    steps: list[int], lengths: list[int], integers: object, end: list[int], hint: str | None
) -> None:
    beams, longest, token = (Operand(Shape(each), INT64) for each in (steps, lengths, end))
    longest = longest._replace(integers=integers)

    with pytest.raises(TreeShapeError) as info:
        bind(gather_tree.ROWS[0], beams, beams, longest, token)

    assert info.value.hint == hint


@pytest.mark.parametrize(
    ("end", "integers", "hint"),
    [
        ([1], [7], "one token for all is `7`"),
        ([1, 1], [[7]], "one token for all is `7`"),
        (
            [2, 3],
            [[7, 7, 7], [7, 7, 7]],
            "the shape of one batch is [2,1,3]: steps, batches, beams",
        ),
        ([0], [], None),
        ([2], [7, 7], None),
        ([1], None, None),
    ],
)
def test_a_token_of_another_rank_is_advised_what_it_may_be(
    end: list[int], integers: object, hint: str | None
) -> None:
    beams, lengths = Operand(Shape([4, 5, 3]), INT64), Operand(Shape([5]), INT64)

    with pytest.raises(TreeShapeError) as info:
        bind(gather_tree.ROWS[0], beams, beams, lengths, Operand(Shape(end), INT64, None, integers))

    assert info.value.hint == hint


@pytest.mark.parametrize(
    ("parents", "lengths", "end", "hint"),
    [
        ([4, 1, 3], [1], [], "as one batch it is `[[[1, 2, 3]], [[4, 5, 6]]]`"),
        ([2, 3], [1], [], "the shape of one batch is [2,1,3]: steps, batches, beams"),
        ([4, 1, 3], [], [], "the shape of one batch is [2,1,3]: steps, batches, beams"),
        ([4, 1, 3], [1, 1], [], "the shape of one batch is [2,1,3]: steps, batches, beams"),
        ([4, 1, 3], [1], [1], "the shape of one batch is [2,1,3]: steps, batches, beams"),
    ],
)
def test_beams_without_a_batch_are_advised_one_if_all_else_fits(
    parents: list[int], lengths: list[int], end: list[int], hint: str
) -> None:
    steps = Operand(Shape([2, 3]), INT64, None, [[1, 2, 3], [4, 5, 6]])
    others = (Operand(Shape(each), INT64) for each in (parents, lengths, end))

    with pytest.raises(TreeShapeError) as info:
        bind(gather_tree.ROWS[0], steps, *others)

    assert info.value.hint == hint


@pytest.mark.parametrize(("length", "shown"), [(80, 80), (81, 80), (200, 80)])
def test_a_shape_of_80_characters_is_the_longest_that_is_shown_whole(
    length: int, shown: int
) -> None:
    text = "[" + "9" * (length - 3) + "-]"

    with pytest.raises(InputError) as info:
        parse(text)

    whole = text if length == shown else text[:77] + "..."
    assert f"the shape `{whole}`: " in info.value.message


@pytest.mark.parametrize(
    ("levels", "what"), [(500, "is not a dimension"), (502, "is not a JSON list")]
)
def test_a_shape_in_json_is_read_to_a_depth(levels: int, what: str) -> None:
    with pytest.raises(InputError) as lists:
        parse("[" * levels + '"a"' + "]" * levels)
    with pytest.raises(InputError) as objects:
        parse('[{"a":' * (levels // 2) + "0" + "}]" * (levels // 2))

    assert what in lists.value.message
    assert what in objects.value.message
    assert levels == DEEPEST or lists.value.value == "[" * 80


@pytest.mark.parametrize(
    ("data", "indices", "integers", "hint"),
    [
        ([5], [3], [4, 0, -5], "tuples of one number are"),
        ([5], [3], [4, 0, 5], None),
        ([5], [3], [4, 0, -6], None),
        ([5], [3], None, "takes numbers along an axis"),
        ([5], [1, 3], [[4, 0, 1]], None),
        ([0], [3], [0, 0, 0], None),
        ([0], [3], [-1, -1, -1], None),
        ([UNKNOWN], [3], [0, 0, 0], None),
        ([UNKNOWN, 5], [3], [0, 0, 0], None),
    ],
)
def test_numbers_in_place_of_tuples_are_advised_as_such_if_they_point_into_data(
    data: list[AnyDim], indices: list[int], integers: object, hint: str | None
) -> None:
    given = Operand(Shape(indices), INT64, None, integers)

    with pytest.raises(IndicesDepthError) as info:
        bind(gather_nd.ROWS[0], Operand(Shape(data), INT64), given)

    assert (info.value.hint is None) == (hint is None)
    assert (hint or "") in str(info.value.hint or "")


@pytest.mark.parametrize(
    ("batch_dims", "axis", "hint"),
    [
        (1, 0, "`axis=1` gathers on the first dimension after the batch"),
        (2, 1, "`axis=2` gathers on the first dimension after the batch"),
        (3, 2, None),
        (3, -1, None),
        (-1, 1, "`axis=2` gathers on the first dimension after the batch"),
    ],
)
def test_the_axis_after_the_batch_is_advised_if_there_is_one(
    batch_dims: int, axis: int, hint: str | None
) -> None:
    data = Operand(Shape([2, 2, 2]), INT64)

    with pytest.raises(BatchDimsError) as info:
        bind(gather.ROWS[0], data, data, axis=axis, batch_dims=batch_dims)

    assert (info.value.rule, info.value.value) == ("batch-dims-axis", batch_dims)
    assert info.value.hint == hint


@pytest.mark.parametrize("batch_dims", [-1, 1, "x", [0]])
def test_a_version_without_batches_takes_no_number_of_them_but_zero(batch_dims: object) -> None:
    row = next(row for row in gather.ROWS if not row.has_batch_dims)
    data, indices = Operand(Shape([2, 2]), INT64), Operand(Shape([2]), INT64)

    with pytest.raises(BatchDimsError, match="has no batch_dims"):
        bind(row, data, indices, batch_dims=batch_dims)

    assert bind(row, data, indices, batch_dims=0).shape == (2, 2)


@pytest.mark.parametrize(
    ("data", "indices", "batch_dims", "why"),
    [
        ([2, 2], [2, 1], -1, "-1, which is negative: expected 0 to 1"),
        ([2, 2], [2, 2, 1], 2, "2, which is not below the rank of `data`, 2: expected 0 to 1"),
        ([2, 2, 2], [2], 1, "1, which is not below the rank of `indices`, 1: expected 0"),
        (None, None, -1, "-1, which is negative: expected 0 or more"),
        (None, [2], 1, "1, which is not below the rank of `indices`, 1: expected 0"),
        ([2], None, 1, "1, which is not below the rank of `data`, 1: expected 0"),
    ],
)
def test_batches_of_tuples_leave_each_input_a_dimension(
    data: list[int] | None, indices: list[int] | None, batch_dims: int, why: str
) -> None:
    inputs = [
        Operand(Shape.of_unknown_rank() if each is None else Shape(each), INT64)
        for each in (data, indices)
    ]

    with pytest.raises(BatchDimsError) as info:
        bind(gather_nd.ROWS[0], *inputs, batch_dims=batch_dims, shapes_only=True)

    assert info.value.message == f"`batch_dims` is {why}"


def test_numbers_with_batches_are_not_advised_as_tuples() -> None:
    given = Operand(Shape([2, 5]), INT64, None, [[0] * 5] * 2)

    with pytest.raises(IndicesDepthError) as info:
        bind(gather_nd.ROWS[0], Operand(Shape([2, 3]), INT64), given, batch_dims=1)

    assert info.value.hint is None


@pytest.mark.parametrize("version", [row.id for row in gather.ROWS])
def test_an_index_that_is_to_be_an_error_on_an_empty_axis_has_no_hint(version: str) -> None:
    with pytest.raises(OutOfRangeError) as info:
        gathercli.gather(np.zeros(0), np.array([0]), version=version, out_of_range="error")

    assert info.value.hint is None


@pytest.mark.parametrize(("ndim", "counted"), [(0, "0 dimensions"), (2, "2 dimensions")])
def test_an_array_of_sizes_has_one_dimension(ndim: int, counted: str) -> None:
    with pytest.raises(InputError, match=f"^the shape is an array with {counted}"):
        as_shape(np.ones([1] * ndim, int))

    assert as_shape(np.array([2, 3])) == Shape([2, 3])


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("x[:]", []),
        ("x[:, :]", []),
        ("data[rows]", ["data", "rows", "--axis=0"]),
        ("data[:, rows]", ["data", "rows", "--axis=1"]),
        ("x[..., i]", ["x", "i", "--axis=-1"]),
        ("x[..., i, :]", ["x", "i", "--axis=-2"]),
        ("x[i, ...]", ["x", "i", "--axis=0"]),
        ("x[i, j]", []),
        ("x[mask]", []),
    ],
)
def test_one_subscript_is_one_axis(call: str, arguments: list[str]) -> None:
    assert arguments_of(call) == arguments


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("np.take(x, i, 0)", ["x", "i", "--axis=0"]),
        ("torch.embedding(x, i)", ["x", "i"]),
        ("torch.gather(x, i, 0)", ["x", "0", "--axis=i"]),
        ("np.take(x, (1, 2), {3: 4}[3])", ["x", "(1, 2)", "--axis={3: 4}[3]"]),
        ("np.take(x, i, 0, None, 1)", []),
        ("np.take(x)", []),
        ("np.take(x, axis=0)", []),
        ("np.take", []),
        ("f(x, i)", []),
        ("x", []),
    ],
)
def test_the_arguments_of_a_call_are_those_of_its_command(call: str, arguments: list[str]) -> None:
    assert arguments_of(call) == arguments
