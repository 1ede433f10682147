from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gathercli
from gathercli import ops
from gathercli.frameworks.versions import find
from gathercli.ops import FAMILIES
from gathercli.report.header import formula, header
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import dtype
from gathercli.spec.shapes import parse
from tests.cases import drawn

if TYPE_CHECKING:
    from gathercli.spec.call import Call
    from tests.conftest import Array


carefully = drawn(150)


def operand(text: str) -> Operand:
    """Read ``i64[2,5]``, or a shape without a type."""
    match = re.fullmatch(r"([a-z]\w*)?(\[.*\])", text)
    assert match
    return Operand(parse(match[2]), dtype(match[1]) if match[1] else None)


def called(command: str, data: str, indices: str, **options: Any) -> Call:
    """Bind a call from described operands; `version` names the row."""
    family = FAMILIES[command]
    version = options.pop("version", family.ROWS[0].id)
    op = find(version, command).op
    return ops.bind(op, operand(data), operand(indices), shapes_only=True, **options)


def headed(call: Call, width: int | None = 80) -> str:
    return header(call, call.shape, width).plain


def told(command: str, data: str, indices: str, **options: Any) -> str:
    """Return the shape formula of a call."""
    call = called(command, data, indices, **options)
    return "  =  ".join(formula(call, call.shape))


# whole headers


def test_the_header_of_gather_has_row_attributes_equation_tensors_and_formula() -> None:
    assert headed(called("gather", "i64[2,5]", "i64[2,3]", axis=1, batch_dims=1)) == (
        "openvino.Gather-8   axis 1   batch_dims 1   out[p, i] = data[p, indices[p, i]]\n"
        "data i64[2,5]   indices i64[2,3]   out i64[2,3]\n"
        "shape  data[:1] + indices[1:] + data[2:]  =  [2] + [3] + []  =  [2,3]\n"
    )


def test_the_header_of_gather_elements_has_no_batch_dims() -> None:
    assert headed(called("gather-elements", "f32[3,3]", "i32[2,3]", axis=0)) == (
        "openvino.GatherElements-6   axis 0   out[i, j] = data[indices[i, j], j]\n"
        "data f32[3,3]   indices i32[2,3]   out f32[2,3]\n"
        "shape  indices[0:]  =  [2,3]\n"
    )


def test_a_default_axis_is_shown_like_an_explicit_one() -> None:
    assert headed(called("gather", "str[4]", "i64[]", version="onnx-13")) == (
        "onnx.Gather-13   axis 0   out = data[indices]\n"
        "data str[4]   indices i64[]   out str[]\n"
        "shape  data[:0] + indices[0:] + data[1:]  =  [] + [] + []  =  []\n"
    )


def test_negative_attributes_are_followed_by_what_they_count_to() -> None:
    call = called("gather", "i64[2,5,7]", "i64[2,3]", axis=-1, batch_dims=-1)
    assert headed(call).splitlines()[0] == "openvino.Gather-8   axis -1 → 2   batch_dims -1 → 1"


def test_a_negative_axis_of_gather_elements_is_followed_by_what_it_counts_to() -> None:
    call = called("gather-elements", "i64[2,3]", "i64[2,3]", axis=-2)
    assert headed(call).startswith("openvino.GatherElements-6   axis -2 → 0   out[i, j]")


def test_a_negative_axis_stays_negative_if_the_rank_is_unknown() -> None:
    call = called("gather", "[...]", "[2]", axis=-1)
    assert headed(call, None).startswith("openvino.Gather-8   axis -1   batch_dims 0   out[p,")


@pytest.mark.parametrize("axis", ["unknown", "?"])
def test_an_unknown_axis_is_a_question_mark_and_leaves_the_row_s_own_formula(axis: str) -> None:
    assert headed(called("gather", "[2,1,200]", "[2,2]", axis=axis, batch_dims=1), 200) == (
        "openvino.Gather-8   axis ?   batch_dims 1   "
        "out[p, i, s] = data[p, indices[p[:batch_dims], i], s]\n"
        "data [2,1,200]   indices [2,2]   out [2,?,?]\n"
        "shape  data[:axis] + indices[batch_dims:] + data[axis+1:]  =  [2,?,?]\n"
    )


def test_data_of_unknown_rank_leaves_the_sum_out() -> None:
    assert headed(called("gather", "[...]", "[2,3]", axis=1), 200) == (
        "openvino.Gather-8   axis 1   batch_dims 0   "
        "out[p, i, s] = data[p, indices[p[:batch_dims], i], s]\n"
        "data [...]   indices [2,3]   out [...]\n"
        "shape  data[:1] + indices[0:] + data[2:]  =  [...]\n"
    )


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"negative": "wrap"}, "   --negative wrap   "),
        ({"negative": "error"}, "   --negative error   "),
        ({"out_of_range": "clamp"}, "   --out-of-range clamp   "),
        (
            {"negative": "error", "out_of_range": "zero"},
            "   --negative error   --out-of-range zero   ",
        ),
    ],
    ids=str,
)
def test_options_that_change_the_specification_are_shown(
    options: dict[str, str], shown: str
) -> None:
    line = headed(called("gather", "[5]", "[3]", **options), None).splitlines()[0]
    assert line == f"openvino.Gather-8   axis 0   batch_dims 0{shown}out[i] = data[indices[i]]"


def test_options_left_to_the_specification_are_not_shown() -> None:
    call = called("gather", "[5]", "[3]", negative="spec", out_of_range="spec")
    assert "--" not in headed(call)


# the formula


@pytest.mark.parametrize(
    ("data", "indices", "options", "text"),
    [
        ("[4,3]", "[3]", {}, "data[:0] + indices[0:] + data[1:]  =  [] + [3] + [3]  =  [3,3]"),
        (
            "[1,2,3,4]",
            "[5,6]",
            {"axis": 2},
            "data[:2] + indices[0:] + data[3:]  =  [1,2] + [5,6] + [4]  =  [1,2,5,6,4]",
        ),
        (
            "[N,3,C]",
            "[K]",
            {"axis": 1},
            "data[:1] + indices[0:] + data[2:]  =  [N] + [K] + [C]  =  [N,K,C]",
        ),
        (
            "[?,1..5,3]",
            "[?,2]",
            {"axis": 1, "batch_dims": 1},
            "data[:1] + indices[1:] + data[2:]  =  [?] + [2] + [3]  =  [?,2,3]",
        ),
    ],
    ids=str,
)
def test_the_formula_has_its_numbers_its_terms_and_its_sum(
    data: str, indices: str, options: dict[str, int], text: str
) -> None:
    assert told("gather", data, indices, **options) == text


@pytest.mark.parametrize(
    ("data", "indices", "options", "text"),
    [
        ("[2,3,4]", "[5,2]", {}, "indices[:-1] + data[2:]  =  [5] + [4]  =  [5,4]"),
        (
            "[2,3,4]",
            "[2,5,1]",
            {"batch_dims": 1},
            "indices[:-1] + data[2:]  =  [2,5] + [4]  =  [2,5,4]",
        ),
        (
            "[2,3,4]",
            "[5,0]",
            {"version": "openvino-8"},
            "indices[:-1] + data[0:]  =  [5] + [2,3,4]  =  [5,2,3,4]",
        ),
        (
            "[2,3,4]",
            "[6,2]",
            {"version": "onnx-11"},
            "indices[:-1] + data[2:]  =  [6] + [4]  =  [6,4]",
        ),
        (
            "[2,3,4]",
            "[2,3,5,1]",
            {"version": "openvino-5", "batch_dims": 2},
            "[product(indices[:2])] + indices[2:-1] + data[3:]  =  [6] + [5] + []  =  [6,5]",
        ),
        (
            "[2,3,4]",
            "[2,5,1]",
            {"version": "openvino-5", "batch_dims": 1},
            "indices[:1] + indices[1:-1] + data[2:]  =  [2] + [5] + [4]  =  [2,5,4]",
        ),
        ("[2,3,4]", "[5,?]", {}, "indices[:-1] + data[b+k:], k = indices[-1]  =  [...]"),
        ("[...]", "[5,2]", {}, "indices[:-1] + data[2:]  =  [...]"),
    ],
    ids=str,
)
def test_the_formula_of_tuples_has_their_length(
    data: str, indices: str, options: dict[str, Any], text: str
) -> None:
    assert told("gather-nd", data, indices, **options) == text


def test_an_equation_too_long_for_a_line_breaks_where_its_clauses_end() -> None:
    call = called("gather-nd", "[2,3,4,5]", "[2,3,7,1]", version="openvino-5", batch_dims=2)

    lines = headed(call, 60).splitlines()

    assert lines[1:4] == [
        "out[q, i, s] = data[p, t, s],",
        "t = indices[p, i, :],",
        "q = p as one coordinate",
    ]


def test_a_formula_of_two_digit_axes_keeps_them_whole() -> None:
    text = told("gather", "[" + ",".join(["1"] * 12) + "]", "[7]", axis=10)
    assert text.startswith("data[:10] + indices[0:] + data[11:]  =  [1,1,1,1,1,1,1,1,1,1] + [7]")


def test_the_formula_says_that_indices_narrow_batch_dimensions() -> None:
    assert told("gather", "[?,5,3]", "[2,4]", axis=1, batch_dims=1) == (
        "data[:1] + indices[1:] + data[2:]  =  [?] + [4] + [3]  =  [?,4,3]"
        "  =  [2,4,3] where both inputs agree"
    )


def test_the_formula_says_that_data_narrows_gather_elements() -> None:
    assert told("gather-elements", "[?,2..4]", "[?,3..6]", axis=0) == (
        "indices[0:]  =  [?,3..6]  =  [?,3..4] where both inputs agree"
    )


def test_onnx_narrows_nothing_and_says_nothing_of_it() -> None:
    assert told("gather-elements", "[2,5]", "[?,3]", axis=1, version="onnx-13") == (
        "indices[0:]  =  [?,3]"
    )


# widths


@pytest.mark.parametrize(("width", "lines"), [(None, 3), (78, 3), (77, 4)])
def test_the_equation_has_a_line_of_its_own_where_it_does_not_fit(
    width: int | None, lines: int
) -> None:
    call = called("gather", "i64[2,5]", "i64[2,3]", axis=1, batch_dims=1)
    text = headed(call, width).splitlines()
    assert len(text) == lines
    assert text[lines - 3].endswith("out[p, i] = data[p, indices[p, i]]")
    assert max(map(len, text)) <= (width or 78)


def test_no_line_of_a_5d_header_is_wider_than_80_columns() -> None:
    call = called("gather", "i64[2,2,2,3,4]", "i64[2]")
    assert max(map(len, headed(call, 80).splitlines())) <= 80


def test_a_header_without_a_width_is_three_lines() -> None:
    call = called("gather", "i64[" + ",".join(["1"] * 60) + "]", "i64[2]")
    assert len(headed(call, None).splitlines()) == 3


def test_the_header_is_bold_and_dim_and_leaves_colours_to_the_letters_of_pictures() -> None:
    call = called("gather", "i64[2,5]", "i64[3]", axis=1)

    text = header(call, call.shape, 80)

    styles = {text.plain[span.start : span.end].strip(): str(span.style) for span in text.spans}
    names = ("openvino.Gather-8", "data", "indices", "out")
    assert {styles.pop(name) for name in names} == {"bold"}
    assert set(styles.values()) == {"dim"}


# the equation


@pytest.mark.parametrize(
    ("command", "data", "indices", "options", "text"),
    [
        ("gather", "[5]", "[]", {}, "out = data[indices]"),
        ("gather", "[5,6]", "[]", {"axis": 1}, "out[p] = data[p, indices]"),
        ("gather", "[5,6]", "[3]", {}, "out[i, s] = data[indices[i], s]"),
        (
            "gather",
            "[2,3,5,6]",
            "[2,3,4]",
            {"axis": 2, "batch_dims": 2},
            "out[p0, p1, i, s] = data[p0, p1, indices[p0, p1, i], s]",
        ),
        (
            "gather",
            "[2,5,6,7]",
            "[3,4]",
            {"axis": 1},
            "out[p, i0, i1, s0, s1] = data[p, indices[i0, i1], s0, s1]",
        ),
        ("gather-elements", "[5]", "[3]", {"axis": 0}, "out[i] = data[indices[i]]"),
        (
            "gather-elements",
            "[2,3,4]",
            "[2,3,9]",
            {"axis": 2},
            "out[i, j, k] = data[i, j, indices[i, j, k]]",
        ),
    ],
    ids=str,
)
def test_the_equation_has_a_letter_for_every_coordinate(
    command: str, data: str, indices: str, options: dict[str, int], text: str
) -> None:
    call = called(command, data, indices, **options)
    assert FAMILIES[command].equation(call) == text


def evaluated(equation: str, data: Array, indices: Array, shape: tuple[int, ...]) -> Array:
    """Work an equation out cell by cell, as Python reads it."""
    left, right = equation.split(" = ")
    names = re.findall(r"[a-z]\d*", left.removeprefix("out"))
    assert len(names) == len(set(names)) == len(shape)
    out = np.empty(shape, data.dtype)
    for at in np.ndindex(shape):
        letters = dict(zip(names, at, strict=True))
        cell = {"__builtins__": {}, "data": data, "indices": indices, **letters}
        out[at] = eval(right, cell)  # noqa: S307  (the equation of our own header)
    return out


SIZES: Final = st.integers(1, 3)


@given(
    before=st.lists(SIZES, max_size=3),
    size=SIZES,
    after=st.lists(SIZES, max_size=2),
    picked=st.lists(SIZES, max_size=3),
    batch=st.integers(0, 3),
    seed=st.integers(0, 99),
)
@carefully
def test_the_equation_of_gather_is_what_gather_does(
    *, before: list[int], size: int, after: list[int], picked: list[int], batch: int, seed: int
) -> None:
    batch = min(batch, len(before))
    data = np.arange(np.prod([*before, size, *after])).reshape(*before, size, *after)
    indices = np.random.default_rng(seed).integers(0, size, (*before[:batch], *picked))
    axis = len(before)
    out = gathercli.gather(data, indices, axis=axis, batch_dims=batch)
    described = [f"[{','.join(map(str, array.shape))}]" for array in (data, indices)]
    equation = FAMILIES["gather"].equation(
        called("gather", *described, axis=axis, batch_dims=batch)
    )
    np.testing.assert_array_equal(evaluated(equation, data, indices, out.shape), out)


@given(
    shape=st.lists(SIZES, min_size=1, max_size=7),
    axis=st.integers(0, 6),
    picked=SIZES,
    seed=st.integers(0, 99),
)
@carefully
def test_the_equation_of_gather_elements_is_what_gather_elements_does(
    shape: list[int], axis: int, picked: int, seed: int
) -> None:
    axis %= len(shape)
    data = np.arange(np.prod(shape)).reshape(shape)
    drawn = (*shape[:axis], picked, *shape[axis + 1 :])
    indices = np.random.default_rng(seed).integers(0, shape[axis], drawn)
    out = gathercli.gather_elements(data, indices, axis=axis)
    described = [f"[{','.join(map(str, array.shape))}]" for array in (data, indices)]
    equation = FAMILIES["gather-elements"].equation(
        called("gather-elements", *described, axis=axis)
    )
    np.testing.assert_array_equal(evaluated(equation, data, indices, out.shape), out)


@given(
    data=st.lists(SIZES, min_size=1, max_size=6),
    indices=st.lists(SIZES, max_size=4),
    axis=st.integers(-6, 5),
)
@carefully
def test_the_steps_of_a_formula_are_equal(data: list[int], indices: list[int], axis: int) -> None:
    axis = axis % len(data) - (len(data) if axis < 0 else 0)
    described = [str(sizes).replace(" ", "") for sizes in (data, indices)]
    call = called("gather", *described, axis=axis)
    steps = formula(call, call.shape)
    scope = {"__builtins__": {}, "data": data, "indices": indices}
    values = [eval(step, scope) for step in steps]  # noqa: S307  (the steps of our own header)
    assert all(one == other for one, other in pairwise(values))
    assert len(steps) == 3
