"""Dimensions and shapes, what meets, and the coordinates of cells."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli import InputError, infer_shape
from gathercli.spec.shapes import (
    UNKNOWN,
    AnyDim,
    Dim,
    Place,
    Shape,
    as_shape,
    at,
    cell,
    coordinates,
    flat_positions,
    high,
    known,
    letters,
    low,
    meet,
    meet_all,
    multiply,
    parse,
    product,
)
from tests.cases import drawn

N, M = Dim(name="N"), Dim(name="M")

READ: Final = [
    ("[2,?,1..5,3..,N]", "[2,?,1..5,3..,N]"),
    ("[]", "[]"),
    ("[...]", "[...]"),
    ("...", "[...]"),
    ("[ ... ]", "[...]"),
    ('["..."]', "[...]"),
    ("[ ]", "[]"),
    ("2x5", "[2,5]"),
    ("2,5", "[2,5]"),
    ("5", "[5]"),
    ("[5]", "[5]"),
    ("0", "[0]"),
    ("[0,0]", "[0,0]"),
    ("2 x 5", "[2,5]"),
    (" [2,5] ", "[2,5]"),
    ("[ 2 , 5 ]", "[2,5]"),
    ("?x3", "[?,3]"),
    ("?", "[?]"),
    ("_", "[?]"),
    ("-1", "[?]"),
    ("[_,-1,?]", "[?,?,?]"),
    ("-1x3", "[?,3]"),
    ("_x3", "[?,3]"),
    ("1..5x3", "[1..5,3]"),
    ("3..x3", "[3..,3]"),
    ("Nx3", "[N,3]"),
    ("3xN", "[3,N]"),
    ("N,3", "[N,3]"),
    ("max", "[max]"),
    ("[max]", "[max]"),
    ("axb", "[axb]"),
    ("ax_", "[a,?]"),
    ("x", "[x]"),
    ("x2", "[x2]"),
    ("N", "[N]"),
    ("[batch_size,seq2]", "[batch_size,seq2]"),
    ("[é]", "[é]"),
    ("3..3", "[3]"),
    ("[0..0]", "[0]"),
    ("0..", "[?]"),
    ("[1 .. 5]", "[1..5]"),
    ("[0..5]", "[0..5]"),
    ("[007]", "[7]"),
    ("[00000000000000000000000007]", "[7]"),
    ("[9223372036854775807]", "[9223372036854775807]"),
    ('["N",2,"1..5","?"]', "[N,2,1..5,?]"),
    ('["N", null, -1, "-1"]', "[N,?,?,?]"),
    ("[null,2]", "[?,2]"),
    ('["2","3.."]', "[2,3..]"),
    ("[..5]", "[0..5]"),
    ("[..]", "[?]"),
    ("()", "[]"),
    ("torch.Size([])", "[]"),
]


@pytest.mark.parametrize(("text", "printed"), READ)
def test_a_shape_is_read_and_printed_without_blanks(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


@pytest.mark.parametrize("text", sorted({printed for _, printed in READ}))
def test_a_printed_shape_reads_back(text: str) -> None:
    assert parse(text) == parse(str(parse(text)))
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ",",
        "[,]",
        "[2,]",
        "[,2]",
        "2,,3",
        "2x",
        "2xx3",
        "[2x5]",
        "[2",
        "2]",
        "[[2]]",
        "[2,[3]]",
        "-2",
        "[-3]",
        "+2",
        "2.5",
        "[1...5]",
        "[...,2]",
        "[2,...]",
        "[5..1]",
        "[-1..5]",
        "[N..5]",
        "[1..N]",
        "[N+1]",
        "[a-b]",
        "[2 3]",
        "[a b]",
        "[*]",
        "[1e3]",
        "[2N]",
        "[²]",
        "[½]",
        "[٣]",
        "[1..²]",
        "{2}",
        '["N",true]',
        '["N",1.5]',
        '["N",[2]]',
        '["N",{}]',
        '["N"',
        '{"N":2}',
        '"N"',
        '["a b"]',
        "[9223372036854775808]",
        "[1..9223372036854775808]",
        "[99999999999999999999999999]",
    ],
)
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.rule == "shape-text"
    assert caught.value.status == 65


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[2,3.5]", "the shape `[2,3.5]`: `3.5` is not a dimension"),
        ("[5..1]", "the shape `[5..1]`: the interval `5..1` is empty"),
        ("2x-3", "the shape `2x-3`: `-3` is not a dimension"),
        (
            "[9223372036854775808]",
            "the shape `[9223372036854775808]`: `9223372036854775808` is larger than 2^63-1",
        ),
        ('["N",', 'the shape `["N",`: it is not a JSON list of dimensions'),
    ],
)
def test_a_refusal_names_the_shape_and_what_is_wrong_in_it(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.message == message
    assert caught.value.hint == (
        "a shape is written `[2,?,1..5,N]`, and `[...]` when its rank is unknown"
    )


def test_an_array_is_no_shape_but_has_one() -> None:
    with pytest.raises(InputError) as caught:
        as_shape(np.zeros((2, 3)))

    assert str(caught.value) == (
        "the shape is an array with 2 dimensions: expected a list of sizes\n"
        "hint: `array.shape` is the shape of an array"
    )
    assert as_shape(np.array([2, 3])) == (2, 3)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(-2, "[-2]"), (2**63, "[9223372036854775808]"), (10**5000, "…")],
    ids=["below", "above", "far above"],
)
def test_a_size_that_no_tensor_has_is_said_to_be_outside(size: int, shown: str) -> None:
    with pytest.raises(InputError) as caught:
        as_shape([size])

    said = f"the shape `{shown}`: a size is below -1 or larger than 2^63-1"
    assert caught.value.message == said


@pytest.mark.parametrize("text", ["[{}]", "[1..{}]"])
def test_of_a_long_size_forty_digits_are_shown(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text.format("12345" * 10))

    assert f"`{'12345' * 8}` is larger than 2^63-1" in caught.value.message
    assert caught.value.value == "12345" * 8


def test_a_long_text_is_cut_in_the_refusal() -> None:
    with pytest.raises(InputError) as caught:
        parse("[" + "1," * 99 + "*]")
    assert caught.value.message.startswith("the shape `[1,1,1,")
    assert caught.value.message.endswith("...`: `*` is not a dimension")
    assert len(caught.value.message) < 120


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ((2, 5), "[2,5]"),
        ([2, -1, None], "[2,?,?]"),
        ([2, "N", "1..5"], "[2,N,1..5]"),
        ((), "[]"),
        ([], "[]"),
        ((Dim(1, 5), N, UNKNOWN), "[1..5,N,?]"),
        ((Dim(3, 3),), "[3]"),
        ((2**63 - 1,), "[9223372036854775807]"),
        (["..."], "[...]"),
        ([...], "[...]"),
        (np.zeros((2, 5)).shape, "[2,5]"),
        (np.array([2, 5]), "[2,5]"),
        ((np.int64(2), np.uint8(5)), "[2,5]"),
        (Shape([2, 5]), "[2,5]"),
        ("2x5", "[2,5]"),
        (range(3), "[0,1,2]"),
    ],
)
def test_a_shape_is_read_from_python(given: Any, printed: str) -> None:
    assert str(as_shape(given)) == printed


@pytest.mark.parametrize(
    "given",
    [
        5,
        None,
        2.5,
        (2, 2.0),
        (True,),
        (np.True_,),
        (np.float64(2),),
        (-2,),
        (2**63,),
        (10**5000,),
        ((2,),),
        (Dim(5, 3),),
        (Dim(-1, 3),),
        (Dim(-1),),
        ("...", 2),
        (..., 2),
        ("",),
        (b"2",),
        b"23",
        {2: 3},
        {2, 3},
    ],
    ids=lambda given: str(type(given)),
)
def test_what_is_no_shape_in_python_is_refused(given: Any) -> None:
    with pytest.raises(InputError) as caught:
        as_shape(given)
    assert caught.value.rule == "shape-text"


def test_a_dimension_is_no_shape() -> None:
    with pytest.raises(InputError):
        infer_shape("gather", Dim(1, 5), "[2]")


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (Dim(), "?"),
        (Dim(0), "?"),
        (Dim(3), "3.."),
        (Dim(1, 5), "1..5"),
        (Dim(0, 5), "0..5"),
        (N, "N"),
    ],
)
def test_a_dimension_is_printed(dim: Dim, text: str) -> None:
    assert str(dim) == text


@pytest.mark.parametrize(
    ("shape", "dims"),
    [("[N,2,1..5,?,3..]", ["N", 2, "1..5", "?", "3.."]), ("[]", []), ("[...]", ["..."])],
)
def test_a_shape_for_json_has_numbers_and_texts(shape: str, dims: list[int | str]) -> None:
    assert parse(shape).to_json() == dims
    assert as_shape(dims) == parse(shape)


@pytest.mark.parametrize(
    ("dim", "least", "most"),
    [(7, 7, 7), (Dim(1, 5), 1, 5), (Dim(3), 3, None), (UNKNOWN, 0, None), (N, 0, None)],
)
def test_a_dimension_has_bounds(dim: AnyDim, least: int, most: int | None) -> None:
    assert (low(dim), high(dim)) == (least, most)


MEETS: Final[list[tuple[AnyDim, AnyDim, AnyDim | None]]] = [
    (2, 2, 2),
    (0, 0, 0),
    (2, 3, None),
    (2, 1, None),
    (2, UNKNOWN, 2),
    (UNKNOWN, 2, 2),
    (UNKNOWN, UNKNOWN, UNKNOWN),
    (2, Dim(1, 5), 2),
    (Dim(1, 5), 2, 2),
    (Dim(1, 5), 5, 5),
    (Dim(1, 5), 6, None),
    (0, Dim(1, 5), None),
    (Dim(1, 5), UNKNOWN, Dim(1, 5)),
    (UNKNOWN, Dim(1, 5), Dim(1, 5)),
    (Dim(1, 5), Dim(3, 9), Dim(3, 5)),
    (Dim(3, 9), Dim(1, 5), Dim(3, 5)),
    (Dim(1, 7), Dim(7, 10), 7),
    (Dim(7, 10), Dim(1, 7), 7),
    (Dim(1, 5), Dim(6, 9), None),
    (Dim(6, 9), Dim(1, 5), None),
    (Dim(3), 2, None),
    (Dim(3), 3, 3),
    (Dim(3), Dim(5), Dim(5)),
    (Dim(3), UNKNOWN, Dim(3)),
    (Dim(3), Dim(1, 5), Dim(3, 5)),
    (Dim(5), Dim(1, 5), 5),
    (Dim(6), Dim(1, 5), None),
    (N, N, N),
    (N, UNKNOWN, N),
    (UNKNOWN, N, N),
    (N, 2, 2),
    (2, N, 2),
    (N, 0, 0),
    (N, Dim(1, 5), Dim(1, 5)),
    (Dim(1, 5), N, Dim(1, 5)),
    (N, Dim(3), Dim(3)),
    (N, M, N),
    (M, N, M),
]


@pytest.mark.parametrize(
    ("data", "indices", "both"), [pytest.param(*row, id=f"{row[0]} and {row[1]}") for row in MEETS]
)
def test_two_dimensions_that_must_be_equal_meet(
    data: AnyDim, indices: AnyDim, both: AnyDim | None
) -> None:
    met = meet(data, indices)
    assert met == both
    assert type(met) is type(both)


@drawn(300)
@given(
    a=st.tuples(st.integers(0, 6), st.none() | st.integers(0, 6)),
    b=st.tuples(st.integers(0, 6), st.none() | st.integers(0, 6)),
)
def test_the_meet_holds_exactly_the_sizes_that_both_hold(
    a: tuple[int, int | None], b: tuple[int, int | None]
) -> None:
    def sizes(dim: AnyDim) -> set[int]:
        most = high(dim)
        return set(range(low(dim), 9 if most is None else most + 1))

    one, other = (Dim(0, 3) if (d[1] or 9) < d[0] else Dim(*d) for d in (a, b))
    met = meet(one, other)
    assert (sizes(met) if met is not None else set()) == sizes(one) & sizes(other)
    assert meet(other, one) == met


def test_shapes_meet_dimension_by_dimension() -> None:
    assert str(meet_all(parse("[2,?,N]"), parse("[?,1..5,M]"))) == "[2,1..5,N]"


def test_shapes_that_cannot_be_equal_do_not_meet() -> None:
    with pytest.raises(ValueError, match=r"\[2,3\] and \[2,4\] do not meet"):
        meet_all(parse("[2,3]"), parse("[2,4]"))
    with pytest.raises(ValueError, match="zip"):
        meet_all(parse("[2]"), parse("[2,3]"))


@pytest.mark.parametrize(
    ("factors", "times"),
    [
        ("[]", 1),
        ("[2,3]", 6),
        ("[2,1..5]", Dim(2, 10)),
        ("[2,3..]", Dim(6)),
        ("[0,3..]", 0),
        ("[0..2,3..]", Dim(0)),
        ("[N,2]", Dim(0)),
        ("[N,0]", 0),
    ],
)
def test_sizes_are_multiplied_as_intervals(factors: str, times: AnyDim) -> None:
    assert multiply(parse(factors)) == times


def test_a_shape_equals_the_tuple_of_its_dimensions() -> None:
    assert parse("[2,5]") == (2, 5)
    assert parse("[2,5]") == Shape([2, 5])
    assert parse("[2,?]") == (2, Dim())
    assert (2, 5) == parse("[2,5]")  # noqa: SIM300  (the other way round)
    assert parse("[2,5]") != (5, 2)
    assert parse("[2,N]") != parse("[2,M]")
    assert parse("[2,?]") != parse("[2,0..9]")


def test_an_unknown_rank_is_not_a_rank_of_zero() -> None:
    unknown = Shape.of_unknown_rank()
    assert unknown == parse("[...]")
    assert unknown != parse("[]")
    assert parse("[]") != unknown
    assert unknown != ()
    assert () != unknown  # noqa: SIM300  (the other way round)
    assert parse("[]") == ()


def test_equal_shapes_have_equal_hashes() -> None:
    assert hash(parse("[2,5]")) == hash((2, 5))
    assert len({parse("[]"), (), parse("[...]"), Shape.of_unknown_rank()}) == 2


def test_the_rank_and_the_sizes_are_known_or_not() -> None:
    assert (parse("[2,?]").rank, parse("[2,?]").sizes) == (2, None)
    assert (parse("[2,5]").rank, parse("[2,5]").sizes) == (2, (2, 5))
    assert (parse("[]").rank, parse("[]").sizes) == (0, ())
    assert (parse("[...]").rank, parse("[...]").sizes) == (None, None)


def test_slices_and_sums_of_shapes_are_shapes() -> None:
    shape = parse("[N,2,1..5]")
    assert str(shape[:1] + shape[2:]) == "[N,1..5]"
    assert str(shape + (7,)) == "[N,2,1..5,7]"  # noqa: RUF005  (the sum is what is tested)
    assert isinstance(shape[1:], Shape)
    assert shape[0] == N
    assert shape[-1] == Dim(1, 5)


def test_a_shape_shows_its_text() -> None:
    assert repr(parse("2x?")) == "Shape('[2,?]')"


@pytest.mark.parametrize("text", ["[2,?,1..5,N]", "[...]", "[]"])
def test_a_shape_survives_copying_and_pickling(text: str) -> None:
    shape = parse(text)
    assert copy.deepcopy(shape) == shape
    assert pickle.loads(pickle.dumps(shape)) == shape  # noqa: S301  (our own bytes)
    assert str(copy.copy(shape)) == text


def test_a_product_does_not_overflow() -> None:
    assert product([2**40, 2**40]) == 2**80
    assert product([]) == 1
    assert product([2**40, 0]) == 0


SHAPES = [(), (1,), (5,), (2, 3), (4, 1, 3), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cells_are_numbered_row_major_there_and_back(shape: tuple[int, ...]) -> None:
    cells = list(itertools.product(*map(range, shape)))
    many = [np.array(each) for each in zip(*cells, strict=True)]
    numbers = np.arange(len(cells))

    for number, each in enumerate(cells):
        assert coordinates(number, shape) == each
        assert flat_positions(each, shape, none=False) == number
        assert flat_positions(each, shape, none=True) == -1
        assert Place("$", shape)(number) == "$" + "".join(f"[{k}]" for k in each)
    if shape:
        positions = flat_positions(many, shape, none=numbers == 0)
        assert positions.tolist() == [-1, *numbers[1:].tolist()]
        assert np.array_equal(np.array(coordinates(numbers, shape)), np.array(many))


@pytest.mark.parametrize("cell", [(1,), (1, 2, 3)])
def test_a_cell_has_a_coordinate_for_each_dimension(cell: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"zip\(\)"):
        flat_positions(cell, (2, 3), none=False)


def test_of_a_shape_the_known_sizes_count() -> None:
    assert known(Shape([2, UNKNOWN, 0])) == (2, 0)


def test_cells_are_written_as_code_and_as_json() -> None:
    assert (letters("p", 0), letters("p", 1), letters("p", 2)) == ([], ["p"], ["p0", "p1"])
    assert (at("x", []), at("x", ["p"]), at("x", ["p", "k"])) == ("x", "x[p]", "x[p, k]")
    assert (cell([]), cell([1]), cell([1, 2])) == ("[]", "[1]", "[1,2]")
