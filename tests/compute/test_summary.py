from __future__ import annotations

import io
from fractions import Fraction
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.storage import storage_of
from gathercli.compute.summary import BINS, FINE_BINS, Histogram, Summary, summarise
from gathercli.compute.tensor import Tensor
from gathercli.report.info import FileDescription, Info, as_json
from gathercli.spec.dtypes import PLAIN, DType, Kind, dtype
from tests.io.formats.test_formats import specials
from tests.tensorfiles import amply, often, tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Array


INTEGERS: Final = tuple(element_type for element_type in PLAIN if element_type.integral)
FLOATS: Final = tuple(element_type for element_type in PLAIN if element_type.kind is Kind.FLOAT)
REALS: Final = INTEGERS + FLOATS
every_real = pytest.mark.parametrize("element_type", REALS, ids=str)
every_float = pytest.mark.parametrize("element_type", FLOATS, ids=str)


def of(values: Any, name: str) -> Tensor:
    element_type = dtype(name)
    return Tensor(element_type, np.array(values, storage_of(element_type)))


def elements(tensor: Tensor) -> list[Any]:
    numbers: list[Any] = tensor.values().reshape(-1).tolist()
    return numbers


@pytest.fixture(params=[1, 3, 1 << 17], ids="blocks of {}".format)
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Read tensors in blocks of another size."""
    real = Tensor.blocks

    def cut(tensor: Tensor, cells: int = int(request.param)) -> Iterator[Array]:
        return real(tensor, cells)

    monkeypatch.setattr(Tensor, "blocks", cut)
    return int(request.param)


def first(values: list[Any], wanted: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Find the coordinates of the first element that equals `wanted`."""
    at = next(at for at, value in enumerate(values) if value == wanted)
    return tuple(map(int, np.unravel_index(at, shape)))


def count(values: list[Any], histogram: Histogram) -> list[int]:
    """Count elements bin by bin, as the docstring says a histogram does."""
    low, high = histogram.edges[:-1], histogram.edges[1:]
    counts = [sum(a <= v < b for v in values) for a, b in zip(low, high, strict=True)]
    counts[-1] += sum(v == high[-1] for v in values)
    return counts


def assert_right(tensor: Tensor, summary: Summary) -> None:
    """Compare a summary of reals with plain Python."""
    values = elements(tensor)
    numbers = [v for v in values if v == v]  # noqa: PLR0124  (no NaN)
    finite = [v for v in numbers if isfinite(v)]
    for extreme, wanted in (
        (summary.minimum, min(numbers, default=None)),
        (summary.maximum, max(numbers, default=None)),
    ):
        if wanted is None:
            assert extreme is None
        else:
            assert extreme is not None
            assert (extreme.value, extreme.at) == (wanted, first(values, wanted, tensor.shape))
            assert type(extreme.value) is (int if tensor.dtype.integral else float)
    floats = tensor.dtype.kind is Kind.FLOAT
    assert summary.nan == (sum(map(isnan, values)) if floats else None)
    assert summary.infinite == (len(numbers) - len(finite) if floats else None)
    assert (summary.true, summary.longest) == (None, None)
    assert_mean(summary.mean, finite)
    assert_histogram(summary.histogram, finite)


def assert_mean(mean: Any, finite: list[Any]) -> None:
    if not finite:
        assert mean is None
        return
    true = sum(map(Fraction, finite), Fraction(0)) / len(finite)
    assert type(mean) is float
    assert mean == true.numerator / true.denominator  # Python rounds this once


def assert_histogram(histogram: Histogram | None, finite: list[Any]) -> None:
    if not finite:
        assert histogram is None
        return
    assert histogram is not None
    edges, counts = histogram
    assert len(edges) == len(counts) + 1 <= BINS + 1
    assert list(edges[:-1]) == sorted({*edges[:-1]})
    assert edges[-1] > edges[-2] or edges == (finite[0],) * 2
    assert edges[0] == min(finite)
    assert edges[-1] >= max(finite)
    assert all(map(isfinite, edges))
    assert sum(counts) == len(finite)
    assert list(counts) == count(finite, histogram)


# Against plain Python


@every_real
@amply
@given(draw=st.data())
def test_a_summary_is_what_plain_python_says(draw: st.DataObject, element_type: DType) -> None:
    tensor = draw.draw(tensors(element_type))
    assert_right(tensor, summarise(tensor))


@every_real
@pytest.mark.usefixtures("blocks")
def test_blocks_of_any_size_give_the_same_summary(element_type: DType) -> None:
    for tensor in (
        specials(element_type),
        Tensor(element_type, np.tile(specials(element_type).array, (2, 3))),
    ):
        assert_right(tensor, summarise(tensor))


@often
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40))
def test_the_mean_of_int64_is_exact_and_rounded_once(numbers: list[int]) -> None:
    tensor = of(numbers, "int64")
    assert_right(tensor, summarise(tensor))


@often
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40))
def test_the_mean_of_uint64_is_exact_and_rounded_once(numbers: list[int]) -> None:
    tensor = of(numbers, "uint64")
    assert_right(tensor, summarise(tensor))


@often
@given(
    st.lists(
        st.floats(width=64) | st.sampled_from([1.7e308, -1.7e308, 5e-324, -0.0, 1e290, 1e16]),
        min_size=1,
        max_size=40,
    )
)
def test_the_summary_of_any_doubles_is_right(numbers: list[float]) -> None:
    tensor = of(numbers, "float64")
    assert_right(tensor, summarise(tensor))


@pytest.mark.parametrize(
    ("numbers", "name", "mean"),
    [
        ([2**63 - 1, 2**63 - 1, 2**63 - 2], "int64", float(2**63)),
        ([-(2**63), 2**63 - 1], "int64", -0.5),
        ([2**64 - 1] * 3, "uint64", float(2**64)),
        ([2**53 + 1, 2**53 + 1], "int64", float(2**53)),
        ([-1, 1], "int8", 0.0),
        ([1.7e308] * 4, "float64", 1.7e308),
        ([1.7e308, -1.7e308, 3.0], "float64", 1.0),
        ([3.4e38] * 9, "float32", float(np.float32(3.4e38))),
        ([65504.0] * 100, "float16", 65504.0),
        ([5e-324], "float64", 5e-324),
        ([1, 2, nan, inf, -inf], "float32", 1.5),
        ([0.0, -0.0], "float64", 0.0),
        ([1e16, 1, -1e16, 1], "float64", 0.5),
        ([1e308, 5e-324, -1e308], "float64", 5e-324 / 3),
        ([0.1] * 3, "float64", 0.1),
    ],
)
def test_a_mean_neither_overflows_nor_wraps_nor_loses_a_bit(
    numbers: list[Any], name: str, mean: float
) -> None:
    assert summarise(of(numbers, name)).mean == mean


@pytest.mark.parametrize("spread", [0, 30, 300, 1000])
def test_the_mean_of_many_numbers_is_their_exact_sum_divided(spread: int) -> None:
    draw = np.random.default_rng(spread)
    numbers = np.ldexp(draw.random(150_000) - 0.5, draw.integers(-spread, spread + 1, 150_000))
    nearly = -numbers * draw.choice([1.0, 1.0 + 2**-52], 150_000)
    numbers = draw.permutation(np.append(numbers, nearly))

    mean = summarise(Tensor(dtype("float64"), numbers)).mean

    assert mean == sum(map(units, numbers.tolist())) / (numbers.size << 1074)


def units(number: float) -> int:
    """Count the smallest float64 in a number."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (2**1074 // denominator)


@pytest.mark.parametrize("apart", [1, 2, 3, 20, 1000])
@every_float
def test_numbers_that_are_nearly_equal_have_edges_in_order(element_type: DType, apart: int) -> None:
    for start in (0x0000, 0x2E66, 0x3C00, 0x3F80, 0x3DCD):
        bits = np.array([start << (element_type.bits - 16)] * 2, f"u{element_type.bits // 8}")
        bits[1] += apart
        tensor = Tensor(element_type, bits.view(storage_of(element_type)))

        summary = summarise(tensor)

        assert_right(tensor, summary)
        edges = as_json(
            Info(
                "x",
                "npy",
                0,
                one=FileDescription(None, element_type),
                tensor=tensor,
                summary=summary,
            )
        )
        shown = edges["histogram"]["edges"]
        assert shown == sorted(set(shown))


def test_a_few_small_numbers_are_not_lost_beside_others_that_cancel() -> None:
    blocks = np.zeros(3 << 17)

    blocks[0], blocks[1 << 17], blocks[1 << 18] = 1e200, 3.0, -1e200

    assert summarise(Tensor(dtype("float64"), blocks)).mean == 3.0 / blocks.size


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_all_nan_has_neither_extremes_nor_a_mean(name: str) -> None:
    element_type = dtype(name)
    pattern = {
        "float16": 0x7E00,
        "bfloat16": 0x7FC0,
        "float32": 0x7FC00000,
        "float64": 0x7FF8 << 48,
    }
    width = element_type.itemsize

    array = np.full((2, 2), pattern[name], f"u{width}").view(storage_of(element_type))

    assert summarise(Tensor(element_type, array)) == Summary(nan=4, infinite=0)


def test_all_infinite_has_extremes_but_no_mean_and_no_histogram() -> None:
    summary = summarise(of([[inf, inf], [-inf, inf]], "float32"))

    assert summary.minimum == (-inf, (1, 0))
    assert summary.maximum == (inf, (0, 0))
    assert (summary.mean, summary.nan, summary.infinite, summary.histogram) == (None, 0, 4, None)


def test_infinite_extremes_leave_the_histogram_to_what_is_finite() -> None:
    summary = summarise(of([inf, 1.0, 3.0, -inf, nan], "float64"))

    assert summary.histogram is not None
    assert (summary.histogram.edges[0], summary.histogram.edges[-1]) == (1.0, 3.0)
    assert sum(summary.histogram.counts) == 2


@every_real
def test_an_empty_tensor_has_no_extremes(element_type: DType) -> None:
    summary = summarise(Tensor(element_type, np.zeros((2, 0), storage_of(element_type))))

    floats = element_type.kind is Kind.FLOAT

    assert summary == (Summary(nan=0, infinite=0) if floats else Summary())


@every_real
def test_a_single_element_is_everything(element_type: DType) -> None:
    one = Tensor(element_type, specials(element_type).array[2])
    value = one.values().item()

    summary = summarise(one)

    assert summary.minimum == summary.maximum == (value, ())
    assert summary.mean == float(value)
    assert summary.histogram is not None
    assert summary.histogram.counts == (1,)


@pytest.mark.parametrize("numbers", [[0.0, -0.0], [-0.0, 0.0], [1.0, -0.0, 0.0], [-1.0, 0.0, -0.0]])
def test_the_sign_of_an_extreme_zero_is_that_of_the_element_it_points_to(
    numbers: list[float],
) -> None:
    for repeat in (1, 40):
        tensor = Tensor(dtype("float64"), np.repeat(np.array(numbers), repeat))
        summary = summarise(tensor)
        for extreme in (summary.minimum, summary.maximum):
            assert extreme is not None
            assert str(extreme.value) == str(tensor.array[extreme.at])


# The first of equals, in any memory


@every_real
@pytest.mark.usefixtures("blocks")
def test_the_first_of_equal_extremes_is_named(element_type: DType) -> None:
    array = np.zeros((3, 4), storage_of(element_type))
    one = 0x3F80 if element_type.name == "bfloat16" else 1
    array[0, 3] = array[2, 1] = one
    array[0, 0] = array[1, 2] = 2 * one if element_type.name != "bfloat16" else 0x4000

    summary = summarise(Tensor(element_type, array))

    assert summary.minimum == (0, (0, 1))
    assert summary.maximum == (2, (0, 0))


@pytest.mark.parametrize(
    "element_type",
    [element_type for element_type in REALS if element_type.name != "bfloat16"],
    ids=str,
)
def test_byte_and_memory_order_change_nothing(element_type: DType) -> None:
    plain = np.array([[3, 1, 2], [1, 3, 0]], storage_of(element_type))

    swapped = np.asfortranarray(plain.astype(plain.dtype.newbyteorder(">")))

    assert summarise(Tensor(element_type, swapped)) == summarise(Tensor(element_type, plain))

    raw = io.BytesIO()

    np.save(raw, plain)

    assert summarise(Tensor(element_type, swapped.T)) == summarise(
        Tensor(element_type, np.ascontiguousarray(plain.T))
    )


def test_extremes_are_found_behind_the_first_block() -> None:
    many = np.arange(1 << 18, dtype=np.int32) % 1000
    many[200_000], many[200_001], many[200_002] = -5, 2000, -5

    summary = summarise(Tensor(dtype("int32"), many.reshape(2, -1)))

    assert summary.minimum == (-5, (1, 200_000 - (1 << 17)))
    assert summary.maximum == (2000, (1, 200_001 - (1 << 17)))
    assert summary.mean == int(many.sum()) / many.size
    assert summary.histogram is not None
    assert sum(summary.histogram.counts) == many.size
    assert summary.histogram.counts[-1] == 1


# Histograms


@pytest.mark.parametrize(
    ("numbers", "name", "edges", "counts"),
    [
        ([5], "int8", (5, 6), (1,)),
        ([1, 2, 2, 4], "uint8", (1, 2, 3, 4, 5), (1, 2, 0, 1)),
        ([0, 15], "int64", tuple(range(17)), (1, *[0] * 14, 1)),
        ([0, 16], "int64", tuple(range(0, 19, 2)), (1, *[0] * 7, 1)),
        ([-128, 127], "int8", tuple(range(-128, 129, 16)), (1, *[0] * 14, 1)),
        (
            [-(2**63), 2**63 - 1],
            "int64",
            tuple(range(-(2**63), 2**63 + 1, 2**60)),
            (1, *[0] * 14, 1),
        ),
        ([0, 2**64 - 1], "uint64", tuple(range(0, 2**64 + 1, 2**60)), (1, *[0] * 14, 1)),
        ([2.5, 2.5], "float32", (2.5, 2.5), (2,)),
        ([0.0, 1.0, 16.0], "float64", tuple(map(float, range(17))), (1, 1, *[0] * 13, 1)),
    ],
)
def test_bins_are_of_one_width_and_hold_their_lower_edge(
    numbers: list[Any], name: str, edges: tuple[Any, ...], counts: tuple[int, ...]
) -> None:
    assert summarise(of(numbers, name)).histogram == (edges, counts)


@pytest.mark.parametrize(
    "numbers",
    [
        [-1.7e308, 1.7e308, 0.0],
        [0.0, 5e-324],
        [1.0, 1.0 + 2**-52],
        [1e308, np.nextafter(1e308, inf)],
        [-5e-324, 0.0, 5e-324],
        list(np.linspace(0.1, 0.7, 17)),
    ],
)
def test_a_histogram_of_a_wide_or_narrow_range_counts_everything(numbers: list[float]) -> None:
    tensor = of(numbers, "float64")
    assert_right(tensor, summarise(tensor))


# Other types


def test_booleans_are_counted_whatever_byte_says_true() -> None:
    raw = np.array([[0, 1], [2, 255]], np.uint8).view(np.bool_)

    assert summarise(Tensor(dtype("bool"), raw)) == Summary(true=3)
    assert summarise(of([], "bool")) == Summary(true=0)


def test_strings_have_the_length_of_the_longest() -> None:
    assert summarise(of(["a", "😀é\0b", ""], "string")) == Summary(longest=4)
    assert summarise(of([], "string")) == Summary(longest=0)
    assert summarise(of([""], "string")) == Summary(longest=0)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_numbers_have_a_mean_and_counts(name: str) -> None:
    values = [1 + 2j, 3 - 4j, complex(nan, 1), complex(inf, 0), complex(0, -inf), complex(inf, nan)]

    assert summarise(of(values, name)) == Summary(mean=2 - 1j, nan=2, infinite=2)
    assert summarise(of([complex(nan, 0)], name)) == Summary(nan=1, infinite=0)
    assert summarise(of([], name)) == Summary(nan=0, infinite=0)


def test_the_mean_of_large_complex_numbers_does_not_overflow() -> None:
    mean = summarise(of([complex(1.7e308, -1.7e308)] * 3, "complex128")).mean

    assert isinstance(mean, complex)
    assert [mean.real, mean.imag] == pytest.approx([1.7e308, -1.7e308])


@every_float
def test_no_bits_of_a_float_bring_a_warning(element_type: DType) -> None:
    width = f"u{element_type.itemsize}"
    bits = np.concatenate(
        [specials(element_type).array.view(width), ~specials(element_type).array.view(width)]
    ).view(storage_of(element_type))
    assert_right(Tensor(element_type, bits), summarise(Tensor(element_type, bits)))


# The histogram of a picture


@every_real
def test_a_fine_histogram_counts_as_a_coarse_one_does(element_type: DType) -> None:
    tensor = specials(element_type)
    finite = [v for v in elements(tensor) if isfinite(v)]

    summary = summarise(tensor, fine=True)

    assert summary._replace(fine=None) == summarise(tensor)
    assert summary.fine is not None
    assert len(summary.fine.counts) <= FINE_BINS
    assert list(summary.fine.counts) == count(finite, summary.fine)


def test_an_empty_tensor_has_no_fine_histogram() -> None:
    assert summarise(of([], "float32"), fine=True).fine is None
