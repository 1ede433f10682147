from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.report import grid
from gathercli.spec.dtypes import PLAIN, Kind, dtype
from gathercli.spec.shapes import product
from tests import cases

if TYPE_CHECKING:
    from tests.conftest import Array

    Cells = dict[tuple[int, ...], int]

ESC: Final = "\x1b"
NUMERIC: Final = [d.name for d in PLAIN if d.kind in (Kind.INT, Kind.UINT, Kind.FLOAT)]

carefully = cases.drawn(300)


def drawn(
    values: object,
    type_name: str = "int64",
    *,
    width: int | None = 80,
    precision: int = 6,
    full: bool = False,
) -> str:
    """Lay values out as text without colour."""
    held = storage_of(dtype(type_name))
    if type_name == "bfloat16":
        array: Array = np.asarray(values, ml_dtypes.bfloat16).view(np.uint16)
    elif type_name == "string":
        array = np.asarray(values, np.str_)
    else:
        array = np.asarray(values, held)
    tensor = Tensor(dtype(type_name), array)
    return grid.layout(tensor, width=width, precision=precision, full=full).plain


def arange(*shape: int) -> Array:
    return np.arange(product(shape)).reshape(shape)


def shown(text: str, rank: int) -> Cells:
    """Read the cells of an integer tensor of rank 1 or more back from its text."""
    cells_by_place: Cells = {}
    facet: tuple[int, ...] = ()
    columns: list[int] = []
    for line in grid_part(text):
        if named := re.fullmatch(r"\[([\d,]+),:,:\]", line):
            facet, columns = tuple(map(int, named[1].split(","))), []
            continue
        words = [word for word in line.split() if word not in ("…", "⋮")]
        if not words:
            columns = columns if "⋮" in line else []
        elif not columns:
            columns = [int(word.strip("[]")) for word in words]
        elif rank == 1:
            cells_by_place |= {(column,): int(w) for column, w in zip(columns, words, strict=True)}
        else:
            row, *cells = map(int, words)
            cells_by_place |= {
                (*facet, row, column): k for column, k in zip(columns, cells, strict=True)
            }
    return cells_by_place


def grid_part(text: str) -> list[str]:
    """Return the lines above the count of what is not shown."""
    parts = text.splitlines()
    counted = (at for at, line in enumerate(parts) if re.match(r"[\d ]*\d of \d", line))
    return parts[: next(counted, len(parts))]


def lines(*parts: str) -> str:
    """Write lines one below the other."""
    return "".join(f"{part}\n" for part in parts)


def grid_lines(text: str) -> list[str]:
    """Return the lines with cells or column numbers: neither facet names nor the count."""
    return [line for line in grid_part(text) if not line.endswith(",:,:]")]


def widest(text: str) -> int:
    return max(map(cell_len, text.splitlines()))


# whole tensors, rank by rank


def test_a_0d_tensor_is_its_value() -> None:
    assert drawn(7) == "7\n"


def test_a_1d_tensor_has_its_positions_in_brackets_above_it() -> None:
    assert drawn([4, -10, 0]) == lines("[0]  [1]  [2]", "  4  -10    0")


def test_a_2d_tensor_has_its_coordinates_at_the_edges() -> None:
    assert drawn([[0, 10, 200], [-3, 4, 5]]) == lines(
        "    0   1    2", "0   0  10  200", "1  -3   4    5"
    )


def test_row_numbers_of_two_digits_stand_right_aligned() -> None:
    text = drawn(arange(11, 1)).splitlines()
    assert (text[0], text[1], text[11]) == ("     0", " 0   0", "10  10")


def test_a_3d_tensor_is_named_facets_with_a_blank_line_between() -> None:
    assert drawn(arange(2, 2, 2)) == lines(
        "[0,:,:]", "   0  1", "0  0  1", "1  2  3", "", "[1,:,:]", "   0  1", "0  4  5", "1  6  7"
    )


def test_a_5d_tensor_names_every_leading_coordinate() -> None:
    assert drawn(arange(1, 2, 2, 1, 2)) == (
        "[0,0,0,:,:]\n"
        "   0  1\n"
        "0  0  1\n"
        "\n"
        "[0,0,1,:,:]\n"
        "   0  1\n"
        "0  2  3\n"
        "\n"
        "[0,1,0,:,:]\n"
        "   0  1\n"
        "0  4  5\n"
        "\n"
        "[0,1,1,:,:]\n"
        "   0  1\n"
        "0  6  7\n"
    )


def test_columns_have_one_width_in_all_facets() -> None:
    assert drawn([[[1, 2]], [[300, 4]]]) == lines(
        "[0,:,:]", "     0  1", "0    1  2", "", "[1,:,:]", "     0  1", "0  300  4"
    )


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4), (0, 0)], ids=str)
def test_a_tensor_without_elements_says_so(shape: tuple[int, ...]) -> None:
    assert drawn(np.zeros(shape)) == "empty: no elements\n"


# types


@pytest.mark.parametrize("name", NUMERIC)
def test_every_real_type_shows_its_small_numbers_alike(name: str) -> None:
    assert drawn([[1, 20]], name) == "   0   1\n0  1  20\n"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("int8", -128, "-128"),
        ("int64", -(2**63), "-9223372036854775808"),
        ("uint64", 2**64 - 1, "18446744073709551615"),
        ("bool", True, "true"),
        ("bool", False, "false"),
        ("float64", 0.1, "0.1"),
        ("float64", 1e300, "1e+300"),
        ("float64", -0.0, "-0"),
        ("float64", 123456.789, "123457"),
        ("float32", 0.1, "0.1"),
        ("float16", 0.1, "0.0999756"),
        ("float16", 65504, "65504"),
        ("bfloat16", 3.140625, "3.14062"),
        ("float32", np.nan, "nan"),
        ("float16", np.inf, "inf"),
        ("bfloat16", -np.inf, "-inf"),
        ("complex64", 1 + 2j, "1+2j"),
        ("complex128", complex(-1.5, -0.0), "-1.5-0j"),
        ("complex128", complex(np.nan, np.inf), "nan+infj"),
        ("complex128", complex(np.inf, -np.inf), "inf-infj"),
        ("string", "two words", '"two words"'),
        ("string", "", '""'),
    ],
)
def test_a_value_of_every_type_is_formatted(name: str, value: object, text: str) -> None:
    assert drawn(value, name) == text + "\n"


def test_big_endian_elements_show_their_values() -> None:
    tensor = Tensor(dtype("int32"), np.array([1, 2], ">i4"))
    assert grid.layout(tensor, width=80, precision=6, full=False).plain == "[0]  [1]\n  1    2\n"


def test_booleans_stand_right_aligned_as_words() -> None:
    assert drawn([[True, False], [False, False]], "bool") == lines(
        "       0      1", "0   true  false", "1  false  false"
    )


def test_complex_numbers_stand_right_aligned() -> None:
    assert drawn([[1 + 2j, 5j], [10.5 - 3j, -5]], "complex64") == lines(
        "         0      1", "0     1+2j   0+5j", "1  10.5-3j  -5+0j"
    )


def test_decimal_points_of_a_column_stand_under_each_other() -> None:
    assert drawn([[1.5, 3], [100.25, 20], [-2, 4]], "float64") == lines(
        "        0   1", "0    1.5    3", "1  100.25  20", "2   -2      4"
    )


def test_nan_and_infinity_end_where_the_integers_end() -> None:
    assert drawn([[1.25], [np.nan], [-np.inf]], "float32") == lines(
        "         0", "0     1.25", "1   nan", "2  -inf"
    )


def test_a_column_with_an_exponent_is_right_aligned() -> None:
    assert drawn([[1e30], [0.5]], "float64") == lines("       0", "0  1e+30", "1    0.5")


@pytest.mark.parametrize(
    ("precision", "text"), [(1, "0.7"), (3, "0.667"), (6, "0.666667"), (17, "0.66666666666666663")]
)
def test_precision_is_the_number_of_significant_digits(precision: int, text: str) -> None:
    assert drawn(2 / 3, "float64", precision=precision) == text + "\n"


def test_precision_leaves_integers_alone() -> None:
    assert drawn(1234567, precision=2) == "1234567\n"


# strings


def test_strings_stand_left_aligned_in_quotes() -> None:
    assert drawn([["a", "b"], ["longer", ""]], "string") == lines(
        "   0         1", '0  "a"       "b"', '1  "longer"  ""'
    )


def test_wide_characters_count_as_two_columns() -> None:
    assert drawn([["日本", "x"], ["abc", "y"]], "string") == lines(
        "   0       1", '0  "日本"  "x"', '1  "abc"   "y"'
    )


def test_combining_characters_take_no_column() -> None:
    accented = "e\u0301"
    assert drawn([[accented, "x"], ["e", "y"]], "string") == (
        f'   0    1\n0  "{accented}"  "x"\n1  "e"  "y"\n'
    )


def test_a_long_string_ends_in_an_ellipsis() -> None:
    assert drawn("x" * 24, "string") == '"' + "x" * 24 + '"\n'
    assert drawn("x" * 25, "string") == '"' + "x" * 23 + '…"\n'


@pytest.mark.parametrize("code", [0x00, 0x07, 0x0A, 0x0D, 0x1B, 0x7F, 0x85, 0x9B, 0x2028, 0x202E])
def test_what_a_terminal_acts_on_is_never_shown_raw(code: int) -> None:
    text = drawn([[f"a{chr(code)}b"]], "string")
    assert chr(code) not in text.replace("\n", "")
    assert text.splitlines()[1] == f'0  "a\\{f"x{code:02x}" if code < 256 else f"u{code:04x}"}b"'


@pytest.mark.parametrize("code", [0x061C, 0x200B, 0x200F, 0x202A, 0x2066, 0x2069, 0xFEFF])
def test_direction_marks_and_invisible_characters_are_escaped(code: int) -> None:
    assert drawn(chr(code), "string") == f'"\\u{code:04x}"\n'


def test_a_quote_inside_a_string_cannot_be_taken_for_its_end() -> None:
    assert drawn([['a"  "b']], "string") != drawn([["a", "b"]], "string")
    assert drawn('a"  "b', "string") == '"a\\"  \\"b"\n'


# elision


def test_forty_rows_are_shown_and_forty_one_are_not() -> None:
    assert len(drawn(arange(40, 1)).splitlines()) == 41
    assert drawn(arange(41, 1)) == lines(
        "     0",
        " 0   0",
        " 1   1",
        " 2   2",
        " ⋮",
        "38  38",
        "39  39",
        "40  40",
        "35 of 41 rows not shown; --full shows all",
    )


def test_columns_beyond_the_width_leave_as_many_of_the_first_and_last_as_fit() -> None:
    assert drawn(arange(2, 100)) == (
        "     0    1    2    3    4    5    6      93   94   95   96   97   98   99\n"
        "0    0    1    2    3    4    5    6  …   93   94   95   96   97   98   99\n"
        "1  100  101  102  103  104  105  106  …  193  194  195  196  197  198  199\n"
        "86 of 100 columns not shown; --full shows all\n"
    )


def test_a_long_1d_tensor_leaves_as_many_of_the_first_and_last_as_fit() -> None:
    text = drawn(arange(2000), width=70).splitlines()

    assert text[:2] == [
        "[0]  [1]  [2]  [3]  [4]     [1995]  [1996]  [1997]  [1998]  [1999]",
        "  0    1    2    3    4  …    1995    1996    1997    1998    1999",
    ]
    assert text[2].startswith("1 990 of 2 000 ")


@pytest.mark.parametrize("array", [arange(2, 300), arange(300)], ids=["columns", "elements"])
def test_a_wider_terminal_shows_more_columns_until_there_is_no_room_for_two(array: Array) -> None:
    for width in range(40, 240):
        _, line, *_ = drawn(array, width=width).splitlines()

        assert width - 2 * len("  [299]") < len(line) <= width


def test_columns_too_wide_for_six_are_the_first_and_last_three_in_blocks() -> None:
    text = drawn(arange(2, 100), width=20)

    assert [line.split() for line in text.splitlines() if line.startswith("1")] == [
        ["1", "100", "101", "102"],
        ["1", "…", "197", "198", "199"],
    ]


def test_where_there_is_no_width_a_thousand_columns_are_whole_and_six_of_more() -> None:
    assert "not shown" not in drawn(arange(2, 1000), width=None)
    assert "995 of 1 001 columns" in drawn(arange(2, 1001), width=None)


def test_counts_of_what_is_not_shown_are_exact_and_grouped() -> None:
    text = drawn(np.broadcast_to(np.int64(1), (2000, 3000)))
    assert text.splitlines()[-1] == (
        "1 994 of 2 000 rows, 2 984 of 3 000 columns not shown; --full shows all"
    )


def test_two_facets_of_each_leading_axis_are_shown() -> None:
    text = drawn(arange(5, 4, 3, 2))
    assert [line for line in text.splitlines() if line.startswith("[")] == [
        "[0,0,:,:]",
        "[0,3,:,:]",
        "[4,0,:,:]",
        "[4,3,:,:]",
    ]
    assert text.splitlines()[-1] == "16 of 20 facets not shown; --full shows all"


def test_an_elided_grid_of_wide_strings_breaks_into_blocks_within_the_width() -> None:
    text = drawn([["x" * 30] * 50], "string", width=64)
    assert widest(text) <= 64
    assert text.count("…") == 6 + 1  # six strings cut short, one gap of columns


def test_full_shows_every_row_and_column() -> None:
    text = drawn(arange(50, 50), full=True)
    assert shown(text, 2) == {(r, c): 50 * r + c for r in range(50) for c in range(50)}
    assert "not shown" not in text


def test_full_breaks_columns_into_blocks_that_fit_the_width() -> None:
    assert drawn(arange(2, 7), width=12, full=True) == (
        "   0  1  2\n"
        "0  0  1  2\n"
        "1  7  8  9\n"
        "\n"
        "    3   4\n"
        "0   3   4\n"
        "1  10  11\n"
        "\n"
        "    5   6\n"
        "0   5   6\n"
        "1  12  13\n"
    )


def test_full_without_a_width_is_one_block() -> None:
    text = drawn(arange(1, 500), width=None, full=True)
    assert len(text.splitlines()) == 2
    assert len(shown(text, 2)) == 500


def test_nothing_in_a_pipe_is_cut_to_a_width() -> None:
    text = drawn([[10**15] * 30], width=None)
    assert len(shown(text, 2)) == 30
    assert widest(text) == 1 + 30 * 18


def test_many_columns_that_fit_a_wide_terminal_are_all_shown() -> None:
    text = drawn([[7] * 45], width=200)
    assert len(shown(text, 2)) == 45


def test_a_1d_tensor_as_wide_as_the_terminal_is_shown_whole() -> None:
    assert drawn([1, 2, 3, 4, 5, 6, 7], width=33) == lines(
        "[0]  [1]  [2]  [3]  [4]  [5]  [6]", "  1    2    3    4    5    6    7"
    )


def test_a_wide_facet_between_narrow_ones_counts_for_what_fits() -> None:
    text = drawn([[[1] * 20], [[10**12] * 20], [[1] * 20]])
    assert text.endswith("\n14 of 20 columns not shown; --full shows all\n")


def test_a_gap_at_the_start_of_a_block_keeps_its_distance() -> None:
    assert drawn([10**8 + n for n in range(8)], width=40) == (
        "      [0]        [1]        [2]\n"
        "100000000  100000001  100000002\n"
        "\n"
        "         [5]        [6]        [7]\n"
        "…  100000005  100000006  100000007\n"
        "2 of 8 elements not shown;\n"
        "--full shows all\n"
    )


def test_the_count_of_what_is_not_shown_fits_the_width_too() -> None:
    text = drawn(np.broadcast_to(np.int64(1), (1000, 1000, 1000)))
    assert text.endswith("--full shows all\n")
    assert widest(text) <= 80


# laws

TENSORS = st.tuples(
    st.one_of(
        st.tuples(st.integers(1, 120)),
        st.tuples(st.integers(1, 60), st.integers(1, 60)),
        st.tuples(st.integers(1, 9), st.integers(1, 12), st.integers(1, 40)),
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9)),
        st.tuples(*[st.integers(1, 3)] * 7),
    ),
    st.integers(1, 9),
    st.integers(0, 2**20),
)


def scattered(shape: tuple[int, ...], digits: int, seed: int) -> Array:
    """Make integers of one to `digits` digits, of both signs."""
    random = np.random.default_rng(seed)
    magnitude = 10 ** random.integers(0, digits, shape, endpoint=True)
    return random.integers(-magnitude, magnitude, endpoint=True)


@given(tensor=TENSORS, width=st.one_of(st.none(), st.integers(24, 200)), full=st.booleans())
@carefully
def test_every_cell_stands_at_its_row_and_column(
    tensor: tuple[tuple[int, ...], int, int], *, width: int | None, full: bool
) -> None:
    array = scattered(*tensor)
    cells = shown(drawn(array, width=width, full=full), array.ndim)
    assert cells == {at: int(array[at]) for at in cells}
    for axis, size in enumerate(array.shape):
        positions = sorted({at[axis] for at in cells})
        most = 3 if axis >= array.ndim - 2 else 1
        if axis == array.ndim - 1:
            most = max(3, len(positions) // 2)
        ends = sorted({*range(min(most, size)), *range(max(0, size - most), size)})
        assert positions in ([*range(size)], ends)
    assert not full or len(cells) == array.size


@given(tensor=TENSORS, width=st.integers(24, 200), full=st.booleans())
@carefully
def test_no_line_is_wider_than_the_terminal(
    tensor: tuple[tuple[int, ...], int, int], *, width: int, full: bool
) -> None:
    text = drawn(scattered(*tensor), width=width, full=full)
    assert max(map(len, grid_lines(text))) <= width


@given(tensor=TENSORS, width=st.integers(24, 200))
@carefully
def test_a_tensor_that_fits_forty_rows_and_the_width_is_shown_whole(
    tensor: tuple[tuple[int, ...], int, int], width: int
) -> None:
    array = scattered(*tensor)
    whole = drawn(array, width=None, full=True)
    if product(array.shape[:-1]) <= 40 and max(map(len, grid_lines(whole))) <= width:
        assert drawn(array, width=width) == whole


@given(tensor=TENSORS, width=st.integers(24, 200))
@carefully
def test_columns_too_wide_for_the_terminal_are_left_out_and_counted(
    tensor: tuple[tuple[int, ...], int, int], width: int
) -> None:
    array = scattered(*tensor)
    columns = array.shape[-1]
    whole = drawn(array, width=None, full=True)
    if columns > 6 and max(map(len, grid_lines(whole))) > width and array.size <= 40 * columns:
        text = drawn(array, width=width)
        left = columns - len({at[-1] for at in shown(text, array.ndim)})
        assert 0 < left <= columns - 6
        assert f" {left} of {columns} " in " " + text.replace("\n", " ")


# only shown cells are formatted


@pytest.mark.parametrize(
    "shape",
    [
        (1_000_000,),
        (1, 1_000_000),
        (1_000_000, 1),
        (1000, 1000),
        (100, 100, 10, 10),
        (4,) * 10,
        (2,) * 20,
        (1,) * 44 + (2,) * 20,
        (2,) * 20 + (1,) * 44,
    ],
    ids=lambda shape: f"rank{len(shape)}",
)
@pytest.mark.parametrize("name", ["int64", "float32", "bfloat16"])
def test_a_million_cells_are_not_formatted_for_the_few_that_are_shown(
    shape: tuple[int, ...], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    formatted: list[object] = []
    write = grid.GridWriter.__call__

    def counting(self: grid.GridWriter, value: object) -> str:
        formatted.append(value)
        return write(self, value)

    monkeypatch.setattr(grid.GridWriter, "__call__", counting)
    tensor = Tensor(dtype(name), np.zeros(shape, storage_of(dtype(name))))
    text = grid.layout(tensor, width=80, precision=6, full=False).plain
    assert "not shown" in text
    assert len(formatted) <= 1000


def test_a_tensor_of_64_dimensions_of_one_element_is_shown_whole() -> None:
    assert drawn(np.full((1,) * 64, 5)) == lines("[" + "0," * 62 + ":,:]", "   0", "0  5")
