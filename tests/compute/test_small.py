"""Small calls: computed from bytes they equal those computed by arrays, to the last byte."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.lib.format as numpy_format
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from gathercli.compute import small, tensor
from gathercli.compute.bound import BoundCall
from gathercli.compute.run import run_arrays as run_by_arrays
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import (
    CODES,
    Tensor,
    element_texts,
    float32_text,
    nested,
    pack,
    unpack,
)
from gathercli.errors import GatherError, LimitError
from gathercli.io.formats import npy
from gathercli.io.formats.encode import digits
from gathercli.ops import OPERATORS, bind, gather_nd, gather_tree
from gathercli.ops.gather import ROWS
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import BFLOAT16, BOOL, DTYPES, FLOAT64, INT64, STRING, Kind, dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.compute.run import GatherOutput
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op

FLOAT32, UINT8 = dtype("float32"), dtype("uint8")
PACKED = (*CODES, BFLOAT16)
WITHOUT_BEAMS = [op for op in OPERATORS if not op.followed]


def tensor_of_bytes(of: DType, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Tensor:
    return Tensor.of_bytes(of, array.shape, np.ascontiguousarray(array).tobytes())


def outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except GatherError as error:
        return type(error), error.rule, str(error)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Op, Tensor, Tensor, dict[str, object]]:
    """Draw an operator version with inputs that it often accepts."""
    op = draw(st.sampled_from(WITHOUT_BEAMS))
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    batch = draw(st.integers(0, len(shape) - 1)) if op.has_batch_dims else 0
    lead = shape[:batch]
    if op.elementwise:
        index_shape = [draw(st.integers(0, size)) for size in shape]
    else:
        index_shape = lead + draw(st.lists(st.integers(0, 3), max_size=2))
        index_shape += [draw(st.integers(0, len(shape) - batch))] * op.tuples
    of = draw(st.sampled_from([each for each in PACKED if each in op.inputs[0].dtypes]))
    size = int(np.prod(shape))
    data = np.arange(size * of.itemsize, dtype=np.uint8)
    elements = Tensor.of_bytes(of, tuple(shape), (data % 2 if of is BOOL else data).tobytes())
    most = draw(st.sampled_from([1, 2, 4, 6]))
    number = int(np.prod(index_shape))
    drawn = draw(st.lists(st.integers(-most, most), min_size=number, max_size=number))
    indices = tensor_of_bytes(INT64, np.array(drawn, np.int64).reshape(index_shape))
    options: dict[str, object] = {
        "negative": draw(st.sampled_from(["spec", "wrap", "error"])),
        "out_of_range": draw(st.sampled_from(["spec", "error", "zero", "clamp", "wrap"])),
    }
    if op.attr("axis"):
        options["axis"] = draw(st.integers(batch, max(len(shape) - 1, batch)))
    if op.has_batch_dims:
        options["batch_dims"] = batch
    return op, elements, indices, options


@given(calls())
def test_bytes_and_arrays_give_one_answer(
    drawn: tuple[Op, Tensor, Tensor, dict[str, object]],
) -> None:
    op, data, indices, options = drawn

    def answer(gather: Callable[[BoundCall], object], *, repeats: bool = False) -> object:
        call = bind(op, Operand.of(data), Operand.of(indices), **options)  # type: ignore[arg-type]
        result = gather(BoundCall(call, data, indices, repeated=repeats))
        assert result is not None
        return result

    def shown(result: object) -> object:
        whole = result.whole()  # type: ignore[attr-defined]
        notes = list(map(str, result.adjustments))  # type: ignore[attr-defined]
        return whole.dtype, whole.shape, whole.array.tobytes(), notes

    expected = outcome(lambda: shown(answer(run_by_arrays)))
    assert outcome(lambda: shown(answer(small.gather))) == expected
    assert outcome(lambda: shown(answer(small.gather, repeats=True))) == expected


@pytest.mark.parametrize("of", PACKED, ids=str)
def test_a_tensor_of_bytes_is_that_of_its_array(of: DType) -> None:
    raw = np.random.default_rng(0).integers(0, 2 if of is BOOL else 256, 6 * of.itemsize, np.uint8)

    tensor = Tensor.of_bytes(of, (2, 3), raw.tobytes())

    array = Tensor(of, tensor.array)
    assert (tensor.nbytes, str(tensor)) == (array.nbytes, str(array))
    assert repr(tensor.integers) == repr(array.integers)
    assert tensor.array.tobytes() == raw.tobytes()


@pytest.mark.parametrize(
    ("of", "values", "kinds"),
    [
        (INT64, [2**63], {int}),
        (INT64, [True], {bool}),
        (UINT8, [-1], {int}),
        (FLOAT32, [1e39], {float}),
        (FLOAT32, [2**24 + 1], {int}),
        (dtype("float16"), [65520.0], {float}),
        (FLOAT64, ["NaN"], {str}),
        (BFLOAT16, [1.0], {float}),
        (INT64, [0] * 20_000, {int}),
    ],
    ids=str,
)
def test_what_needs_more_care_is_not_packed(
    of: DType, values: list[object], kinds: set[type]
) -> None:
    assert pack(of, values, kinds) is None


@given(st.lists(st.floats(width=16)))
def test_floats_are_rounded_as_arrays_round_them(values: list[float]) -> None:
    for of in (dtype("float16"), FLOAT32, FLOAT64):
        raw = pack(of, values, {float}) or b""

        assert raw == np.array(values, of.name).tobytes()
        assert repr(unpack(of, raw)) == repr(np.array(values, of.name).tolist())


@given(st.lists(st.floats(width=32), max_size=30))
def test_float32_has_the_digits_that_arrays_have(values: list[float]) -> None:
    assert list(map(float32_text, values)) == digits(np.array(values, np.float32))


def test_every_float16_and_power_of_two_has_the_digits_that_arrays_have() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    powers = np.arange(256, dtype=np.uint32) << 23
    bits = np.concatenate([powers, powers + 1, powers[1:] - 1])
    values = np.concatenate([halves, bits.view(np.float32)])

    written = list(map(float32_text, values.tolist()))

    assert written == digits(values)


@pytest.mark.parametrize("of", [each for each in PACKED if each.kind is not Kind.FLOAT], ids=str)
def test_integers_and_booleans_are_written_in_json(of: DType) -> None:
    array = np.array([0, 1, 1, 0], of.name)

    written = element_texts(of, memoryview(array.tobytes()), {})

    assert written == ["false", "true", "true", "false"] if of is BOOL else ["0", "1", "1", "0"]


@given(st.lists(st.integers(0, 3), max_size=4).map(tuple))
def test_a_list_is_nested_as_arrays_nest_it(shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape)

    assert nested(array.reshape(-1).tolist(), shape) == array.tolist()


@pytest.mark.parametrize("name", [*sorted({each.name for each in CODES}), "complex64", "<U5"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3), (1,) * 32, (10**9, 0, 10**9)], ids=str)
def test_a_header_is_what_numpy_writes_and_is_read_without_it(
    name: str, shape: tuple[int, ...]
) -> None:
    expected = io.BytesIO()
    descr = np.dtype(name).str
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    numpy_format.write_array_header_1_0(expected, fields)

    header = npy.encode_header(descr, shape)

    assert header == expected.getvalue()
    layout = npy.ordinary_layout(header)
    if name in ("complex64", "<U5"):
        assert layout is None
    else:
        assert layout is not None
        assert (layout.dtype.name, layout.shape, layout.offset) == (name, shape, len(header))


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '>i8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<i8', 'fortran_order': True, 'shape': (2,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (02,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), 'shape': (3,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), } 1",
        "{'fortran_order': False, 'descr': '<i8', 'shape': (2,), }",
    ],
)
def test_any_other_header_is_left_to_numpy(text: str) -> None:
    header = _header(text.encode().ljust(117) + b"\n")

    assert npy.ordinary_layout(header) is None


@pytest.mark.parametrize(
    ("after", "cut"), [(b"\n ", 0), (b"\n" + b" " * 200, 100)], ids=["newline inside", "cut short"]
)
def test_a_header_that_numpy_would_refuse_or_doubt_is_not_ordinary(after: bytes, cut: int) -> None:
    text = b"{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }"
    header = _header(text.ljust(117) + after)

    assert npy.ordinary_layout(header[: len(header) - cut]) is None


def _header(raw: bytes) -> bytes:
    return b"\x93NUMPY\1\0" + len(raw).to_bytes(2, "little") + raw


# At the bounds


def raw_of(of: DType, *values: float) -> bytes:
    return np.array(values, bfloat16 if of is BFLOAT16 else storage_of(of)).tobytes()


def test_the_types_that_are_packed_are_those_of_whole_bytes_and_bfloat16() -> None:
    lacking = {each for each in DTYPES if each.opaque or each.kind in (Kind.COMPLEX, Kind.STRING)}

    assert set(PACKED) == {each for each in DTYPES if each not in lacking} | {BFLOAT16}


@pytest.mark.parametrize("of", PACKED, ids=str)
def test_bytes_are_the_numbers_that_numpy_reads(of: DType) -> None:
    values = [True, False, True] if of is BOOL else [1, 0, 3]

    assert unpack(of, raw_of(of, *values)) == values


@pytest.mark.parametrize(("bits", "exact"), [(16, 2**11), (32, 2**24), (64, 2**53)])
def test_an_integer_is_packed_as_a_float_up_to_the_last_that_has_all_before_it(
    bits: int, exact: int
) -> None:
    of = dtype(f"float{bits}")

    assert pack(of, [exact, -exact, 0.5], {int, float}) == raw_of(of, exact, -exact, 0.5)
    assert pack(of, [exact + 1], {int}) is None
    assert pack(of, [-exact - 1], {int}) is None


@pytest.mark.parametrize(
    ("of", "values", "kinds"),
    [
        (FLOAT32, [0.5], {float}),
        (FLOAT32, [1], {int}),
        (FLOAT32, [], set[type]()),
        (BOOL, [True], {bool}),
        (INT64, [-(2**63)], {int}),
        (dtype("uint64"), [2**64 - 1], {int}),
    ],
    ids=str,
)
def test_what_a_type_holds_is_packed(of: DType, values: list[float], kinds: set[type]) -> None:
    assert pack(of, values, kinds) == raw_of(of, *values)


def test_a_few_values_are_packed_and_written_here_and_more_by_arrays() -> None:
    assert (
        pack(INT64, [7] * tensor.MOST_PACKED_VALUES, {int})
        == bytes([7, *[0] * 7]) * tensor.MOST_PACKED_VALUES
    )
    assert pack(INT64, [7] * (tensor.MOST_PACKED_VALUES + 1), {int}) is None
    for of in (INT64, dtype("int8")):
        raw = memoryview(bytes(of.itemsize * (tensor.MOST_TEXTS + 1)))
        assert element_texts(of, raw[: -of.itemsize], {}) == ["0"] * tensor.MOST_TEXTS
        assert element_texts(of, raw, {}) is None


def bound(data: Tensor, indices: list[int], axis: int = 0) -> BoundCall:
    given = tensor_of_bytes(INT64, np.array(indices, np.int64))
    call = bind(ROWS[0], Operand.of(data), Operand.of(given), axis=axis)
    return BoundCall(call, data, given)


def zeros(*shape: int, of: DType = UINT8) -> Tensor:
    return tensor_of_bytes(of, np.zeros(shape, of.name))


@pytest.mark.parametrize("of", [UINT8, INT64], ids=str)
def test_an_output_is_small_up_to_a_size_in_bytes(of: DType) -> None:
    most = small.MOST_BYTES // of.itemsize

    assert small.gather(bound(zeros(2, most // 2, of=of), [1, 0]))
    assert small.gather(bound(zeros(1, most + 1, of=of), [0])) is None


@pytest.mark.parametrize("repeats", [True, False])
def test_a_small_output_is_refused_above_a_limit(repeats: bool) -> None:
    given = bound(zeros(3, 2, of=INT64), [0, 2])
    given.repeated = repeats

    assert small.gather(given, 32)
    with pytest.raises(LimitError):
        small.gather(given, 31)


@pytest.mark.parametrize("axis", [0, 1])
def test_an_output_is_small_up_to_a_number_of_indices_and_runs(axis: int) -> None:
    steps = (2 + 2, 2 * 3 + 2)[axis]
    call = bound(zeros(3, 3), [0, 1], axis=axis)

    assert small.gather(call, most=steps)
    assert small.gather(call, most=steps - 1) is None
    assert small.gather(bound(zeros(1), [0] * (small.MOST_STEPS // 2)))
    assert small.gather(bound(zeros(1), [0] * (small.MOST_STEPS // 2 + 1))) is None


def test_runs_are_prepared_for_an_output_of_few_and_small_ones() -> None:
    def has_runs(data: Tensor, indices: list[int]) -> bool:
        return small.runs_of(bound(data, indices).call) is not None

    assert has_runs(zeros(1), [0] * small.MOST_RUNS)
    assert not has_runs(zeros(1), [0] * (small.MOST_RUNS + 1))
    for of in (UINT8, INT64):
        most = small.MOST_BYTES // of.itemsize
        assert has_runs(zeros(2, most // 2, of=of), [0, 0])
        assert not has_runs(zeros(1, most + 1, of=of), [0])
    assert not has_runs(zeros(3), [])


def test_runs_are_prepared_once_for_a_call() -> None:
    call = bound(zeros(3), [0, 2]).call

    assert small.runs_of(call) is small.runs_of(call)


def test_a_run_says_which_index_it_uses_and_where_that_points() -> None:
    data = tensor_of_bytes(FLOAT32, np.zeros((2, 3, 4), np.float32))

    runs = small.runs_of(bound(data, [0, 2], axis=1).call)

    assert runs is not None
    assert (runs.input, runs.shape, runs.length) == (1, (2, 2, 4), 16)
    assert list(runs.starts) == [(0, 0, 16), (1, 0, 16), (0, 48, 16), (1, 48, 16)]


def test_a_small_output_is_read_in_parts_and_stored_where_one_says() -> None:
    data = tensor_of_bytes(INT64, np.arange(12, dtype=np.int64).reshape(3, 4))
    output = small.gather(bound(data, [2, 0]))
    room = np.empty((2, 4), np.int64)

    assert output is not None
    assert output.parts()(2, 5).tolist() == [10, 11, 0]
    assert output.stored(None) is output
    assert output.stored(room).array is room
    assert room.tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert (output.threads, output.progress) == (1, None)


@pytest.mark.parametrize("op", WITHOUT_BEAMS, ids=str)
@pytest.mark.parametrize("negative", ["spec", "wrap", "error"])
@pytest.mark.parametrize("outside", ["error", "zero", "clamp", "wrap"])
def test_each_index_of_a_small_call_points_where_arrays_say(
    op: Op, negative: str, outside: str
) -> None:
    def shown(result: GatherOutput | None) -> object:
        assert result is not None
        notes = list(map(str, result.adjustments))
        return result.whole().shape, result.whole().array.tobytes(), notes

    data = tensor_of_bytes(UINT8, np.arange(1, 7, dtype=np.uint8).reshape(3, 2))
    shape = (2, 2) if op.elementwise else (2, 1) if op.tuples else (2,)
    for k in (-7, -4, -3, -1, 0, 2, 3, 8):
        indices = tensor_of_bytes(INT64, np.resize(np.array([k, 1, 0], np.int64), shape))
        options = {"axis": 0} if op.attr("axis") else {}
        call = bind(
            op,
            Operand.of(data),
            Operand.of(indices),
            negative=negative,
            out_of_range=outside,
            **options,  # type: ignore[arg-type]
        )
        prepared = BoundCall(call, data, indices, repeated=True)
        plain = BoundCall(call, data, indices)

        expected = outcome(partial(lambda bound: shown(run_by_arrays(bound)), plain))

        assert outcome(partial(lambda bound: shown(small.gather(bound)), plain)) == expected
        assert outcome(partial(lambda bound: shown(small.gather(bound)), prepared)) == expected


@pytest.mark.parametrize("shape", [(3, 0), (3, 0, 2), (0, 2)])
def test_a_small_output_may_be_empty(shape: tuple[int, ...]) -> None:
    output = small.gather(bound(zeros(*shape), [1] if shape[0] else []))

    assert output is not None
    assert output.array.shape == (bool(shape[0]), *shape[1:])


def test_tuples_of_a_small_call_point_row_major() -> None:
    data = tensor_of_bytes(INT64, np.arange(24).reshape(2, 3, 4))
    indices = tensor_of_bytes(INT64, np.array([[1, 2], [-1, 0], [0, 1]]))
    call = bind(gather_nd.ROWS[0], Operand.of(data), Operand.of(indices))

    for repeated in (False, True):
        output = small.gather(BoundCall(call, data, indices, repeated=repeated))

        assert output is not None
        assert output.array.tolist() == [[20, 21, 22, 23], [12, 13, 14, 15], [4, 5, 6, 7]]


def test_elements_are_written_one_by_one() -> None:
    nonfinite = {"nan": "NaN", "inf": "Infinity"}

    def written(of: DType, *values: float) -> list[str] | None:
        return element_texts(of, memoryview(raw_of(of, *values)), nonfinite)

    assert written(INT64, 3, -7, 2**62) == ["3", "-7", str(2**62)]
    assert written(BOOL, True, False) == ["true", "false"]
    assert written(FLOAT32, 0.1, -1.5, np.nan, np.inf) == ["0.1", "-1.5", "NaN", "Infinity"]
    assert written(FLOAT64, 0.1, 1e300, np.nan) == ["0.1", "1e+300", "NaN"]
    assert written(BFLOAT16, 1.0, -0.5) == ["1.0", "-0.5"]
    assert element_texts(INT64, None, nonfinite) is None
    assert element_texts(STRING, memoryview(bytes(4)), nonfinite) is None


def test_a_call_of_arrays_is_not_small() -> None:
    call = bound(zeros(3), [1])
    data = call.tensors["data"]
    assert isinstance(data, Tensor)

    assert small.gather(call)
    assert small.gather(BoundCall(call.call, Tensor(data.dtype, data.array), call.indices)) is None


def test_the_first_index_on_an_empty_axis_is_outside_and_not_negative() -> None:
    data, indices = zeros(0, 2), tensor_of_bytes(INT64, np.array([0]))
    call = bind(
        ROWS[0], Operand.of(data), Operand.of(indices), negative="error", out_of_range="zero"
    )

    output = small.gather(BoundCall(call, data, indices))
    expected = run_by_arrays(BoundCall(call, data, indices))

    assert output is not None
    assert list(map(str, output.adjustments)) == list(map(str, expected.adjustments))
    assert output.array.tolist() == [[0, 0]]


@pytest.mark.parametrize("value", [135685392.0, 284270816.0, 1071967168.0])
def test_a_float32_between_two_of_fewer_digits_that_are_even_has_its_own(value: float) -> None:
    own = np.format_float_scientific(np.float32(value))

    assert float32_text(value) == repr(float(own))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (109200576.0, "109200580.0"),  # as near to the next, whose bits are odd
        (9.928240574655291e24, "9.92824e+24"),  # seven digits would be 9.928241
        (7.038531308148791e-26, "7.0385313e-26"),  # 7.038531e-26 is a little nearer to the next
        (3.4028234663852886e38, "3.4028235e+38"),  # the largest
    ],
)
def test_a_float32_has_the_fewest_digits_that_read_back(value: float, written: str) -> None:
    assert np.float32(value) == value == np.float32(float(written))
    assert float32_text(value) == written
    assert digits(np.array([value], np.float32)) == [written]


def test_beams_are_not_small() -> None:
    beams = tensor_of_bytes(INT64, np.zeros((1, 1, 1), np.int64))
    lengths, end = (tensor_of_bytes(INT64, np.zeros(each, np.int64)) for each in ((1,), ()))
    tensors = (beams, beams, lengths, end)
    call = bind(gather_tree.ROWS[0], *map(Operand.of, tensors))

    assert small.gather(BoundCall(call, *tensors)) is None


def test_tuples_of_three_dimensions_keep_them() -> None:
    data = tensor_of_bytes(INT64, np.arange(6).reshape(2, 3))
    indices = tensor_of_bytes(INT64, np.array([[[1, 2], [0, 1]], [[-1, 0], [0, 0]]]))
    call = bind(gather_nd.ROWS[0], Operand.of(data), Operand.of(indices))

    output = small.gather(BoundCall(call, data, indices))

    assert output is not None
    assert output.array.tolist() == [[5, 1], [3, 0]]
