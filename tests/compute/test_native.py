"""The kernel in C answers as NumPy's way does, bit for bit; so do repeated calls."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest

import gathercli
from gathercli import ops
from gathercli.compute import kernel, native, result
from gathercli.compute.bound import BoundCall
from gathercli.compute.run import run_arrays as run
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, OutOfRangeError, TransferError
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import INT64
from gathercli.spec.shapes import known, product
from tests.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.storage import AnyArray


pytestmark = pytest.mark.skipif(native.fill is None, reason="built without the kernel in C")


TYPES: Final = ("u1", "f2", "f4", "f8", "c16", "U3", "U8", "U16", ">i4")
MOST: Final = 1 << 21
"""The most elements of an output, which take 134 MB as text of 16 characters."""

LARGEST: Final = 1 << 22
"""The largest product of the sizes of both inputs, which bounds the output: it stays in memory."""

INDEX_TYPES: Final = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4")


class Trial(NamedTuple):
    """A call at random; blocks of the kernel are shorter than some of its dimensions."""

    gather: Callable[..., AnyArray]
    inputs: tuple[AnyArray, ...]
    options: dict[str, Any]

    def answer(self) -> tuple[tuple[int, ...], bytes] | str:
        """Return the shape and the bytes of the output, or the message of the refusal."""
        try:
            output = self.gather(*self.inputs, **self.options)
        except GatherError as error:
            return str(error)
        return output.shape, output.tobytes()


def some_shape(choose: random.Random, rank: int, most: int = 3000) -> list[int]:
    """Return a shape whose first dimension may be long."""
    sizes = [choose.randint(1, 9) for _ in range(rank)]
    if sizes:
        sizes[0] = choose.choice((sizes[0], choose.randint(1, 80), choose.randint(1, most)))
    return sizes


def trial(choose: random.Random) -> Trial:
    """Return a call of any family that the kernel serves, with at most `MOST` output elements."""
    family = choose.choice(("gather", "gather-elements", "gather-nd"))
    shape = some_shape(choose, choose.randint(1, 4), 800)
    axis = choose.randrange(len(shape))
    batch = choose.choice((0, 0, choose.randint(0, axis)))
    size: Any = shape[axis]
    types: tuple[str, ...] = INDEX_TYPES
    options = {"axis": axis}
    if family == "gather":
        wanted = [*shape[:batch], *some_shape(choose, choose.randint(0, 2))]
        options["batch_dims"] = batch
    elif family == "gather-elements":
        wanted, types = list(shape), ("i4", "i8")
        wanted[axis] = choose.randint(1, 90)
    else:
        k = choose.randint(1, len(shape) - batch)
        wanted = [*shape[:batch], *some_shape(choose, choose.randint(0, 2)), k]
        size, options = np.array(shape[batch : batch + k]), {"batch_dims": batch}
    sizes = known(gathercli.infer_shape(family, shape, wanted, **options)) or ()
    if math.prod(sizes) > MOST:
        return trial(choose)
    if product(shape) * product(wanted) > LARGEST:
        return trial(choose)
    numbers = np.random.default_rng(choose.getrandbits(32))
    low, high = choose.choice(((0 * size, size), (-size, size), (-size - 2, size + 2)))
    data = numbers.integers(0, 99, shape).astype(choose.choice(TYPES))
    indices = numbers.integers(low, high, wanted).astype(choose.choice(types))
    policies = {
        "out_of_range": choose.choice(("spec", "zero", "clamp", "wrap", "error")),
        "negative": choose.choice(("spec", "wrap", "error")),
        "threads": choose.choice((1, 3)),
    }
    gather = getattr(gathercli, family.replace("-", "_"))
    data, indices = (
        choose.choice((np.ascontiguousarray, np.asfortranarray, with_gaps))(array)
        for array in (data, indices)
    )
    return Trial(gather, (data, indices), options | policies)


def beams_trial(choose: random.Random) -> Trial:
    """Return a call of GatherTree, whose parents, lengths and floats may be any."""
    numbers = np.random.default_rng(choose.getrandbits(32))
    size, batches, beams = (choose.choice((0, 1, choose.randint(1, 40))) for _ in range(3))
    strays, odd = choose.random() < 0.3, choose.random() < 0.1
    ids = numbers.integers(0, choose.choice((3, 99)), (size, batches, beams))
    parents = numbers.integers(0, max(1, beams), ids.shape)
    if strays:
        parents = np.where(numbers.random(ids.shape) < 0.1, numbers.integers(-3, 45, ()), parents)
    lengths = numbers.integers(-2, size + 3, batches)
    if choose.random() < 0.5:
        lengths[:] = size
    dtype = choose.choice(("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4"))
    with np.errstate(invalid="ignore"):
        inputs = [each.astype(dtype) for each in (ids, parents, lengths, np.array(2))]
    if odd and dtype.startswith("f"):
        array = choose.choice([each for each in inputs if each.size])
        array.flat[choose.randrange(array.size)] = choose.choice((np.nan, 0.5, -0.0, 6e4, np.inf))
    lay_out = choose.choice((np.ascontiguousarray, np.asfortranarray, with_gaps))
    inputs[:2] = map(lay_out, inputs[:2])
    options = {
        "out_of_range": choose.choice(("spec", "zero", "clamp", "wrap", "error")),
        "negative": choose.choice(("spec", "wrap", "error")),
    }
    return Trial(gathercli.gather_tree, tuple(inputs), options)


def with_gaps(array: AnyArray) -> AnyArray:
    """Lay an array out with unused elements between its own."""
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


@pytest.mark.parametrize("seed", range(20))
def test_c_answers_as_numpy_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)  # noqa: S311
    monkeypatch.setattr(result, "LEAST_SHARED_BYTES", choose.choice((0, 1 << 22)))
    monkeypatch.setattr(kernel, "BLOCK_BYTES", choose.choice((200, 1 << 20)))
    for _ in range(40):
        call = trial(choose)

        with monkeypatch.context() as patch:
            by_c = call.answer()
            patch.setattr(native, "fill", None)
            by_numpy = call.answer()

        assert by_c == by_numpy, call


@pytest.mark.parametrize("seed", range(20))
def test_c_follows_beams_as_numpy_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)  # noqa: S311
    for _ in range(40):
        call = beams_trial(choose)

        by_c = [call.answer() for _ in range(3)]  # from the third time on by a plan
        with monkeypatch.context() as patch:
            patch.setattr(native, "fill", None)
            by_numpy = call.answer()

        assert by_c == [by_numpy] * 3, call


def test_a_repeated_tree_has_a_plan_that_leaves_illegal_parents_to_numpy() -> None:
    ids, parents = np.arange(12).reshape(3, 2, 2), np.zeros((3, 2, 2), np.int64)
    inputs = ids, parents, np.array([3, 2]), np.array(99)
    expected = [[[0, 0], [2, 2]], [[4, 4], [6, 7]], [[8, 9], [99, 99]]]

    outputs = [gathercli.gather_tree(*inputs).tolist() for _ in range(4)]
    parents[2, 0, 1] = 2
    with pytest.raises(OutOfRangeError) as refused:
        gathercli.gather_tree(*inputs)

    assert outputs == [expected] * 4
    assert refused.value.where == "[2,0,1]"


TREE: Final = ("i", 3, 2, 2)


def follow(*buffers: AnyArray, sizes: Sequence[Any] = TREE) -> bool:
    from gathercli.compute import _native

    return _native.fill_tree(*sizes, *buffers)


def tree_buffers() -> list[AnyArray]:
    shapes = (3, 2, 2), (3, 2, 2), (3, 2, 2), (2,), ()
    return [np.ones(shape, np.int32) for shape in shapes]


@pytest.mark.parametrize("place", range(5))
def test_a_buffer_of_another_size_than_the_tree_is_refused(place: int) -> None:
    buffers = tree_buffers()
    assert follow(*buffers)
    buffers[place] = np.ones(5, np.int32)

    with pytest.raises(ValueError, match="do not fit the sizes of the tree"):
        follow(*buffers)


@pytest.mark.parametrize(
    "sizes", [("e", 3, 2, 2), ("i", 0, 2, 2), ("i", 3, -2, -2), ("i", 1, 12, 1 << 31)]
)
def test_a_type_or_size_that_c_does_not_serve_is_left_to_numpy(sizes: tuple[Any, ...]) -> None:
    assert not follow(*tree_buffers(), sizes=sizes)


def test_sizes_whose_product_has_more_than_64_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        follow(*tree_buffers(), sizes=("i", *[(1 << 31) - 2] * 3))


def test_any_range_of_the_output_is_copied() -> None:
    choose = random.Random(1)  # noqa: S311
    data = np.arange(6 * 5 * 7, dtype="f4").reshape(6, 5, 7)
    indices = np.array([[4, 0, -1], [2, 2, 9]])
    for axis in range(3):
        gathered = _run(data, indices, axis)
        whole = gathered.whole().array.reshape(-1)
        part = gathered.parts()
        for _ in range(100):
            start, stop = sorted(choose.randint(0, whole.size) for _ in range(2))

            assert (part(start, stop) == whole[start:stop]).all()


def _run(
    data: AnyArray, indices: AnyArray, axis: int, out_of_range: str = "zero"
) -> result.GatherResult:
    tensors = [Tensor(dtype_of(array.dtype) or INT64, array) for array in (data, indices)]
    call = ops.bind(
        gathercli.OPERATORS[0], *map(Operand.of, tensors), axis=axis, out_of_range=out_of_range
    )
    gathered = run(BoundCall(call, *tensors))
    assert isinstance(gathered, result.GatherResult)
    return gathered


def test_indices_that_change_after_their_check_reach_no_other_memory() -> None:
    data, indices = np.arange(10), np.arange(10)
    part = _run(data, indices, 0).parts()
    indices[4] = 10**12

    with_zero = part(0, 10)  # openvino-8 fills what is outside

    assert with_zero.tolist() == [0, 1, 2, 3, 0, 5, 6, 7, 8, 9]


def test_a_refused_index_that_appears_after_the_check_is_an_error() -> None:
    indices = np.arange(10)
    part = _run(np.arange(10), indices, 0, "error").parts()
    indices[4] = 10**12

    with pytest.raises(TransferError, match="`indices` changed while they were read"):
        part(0, 10)


def test_the_first_refused_index_of_many_is_named() -> None:
    indices = np.zeros(5000, "i4")
    indices[[3000, 4000]] = 77

    with pytest.raises(OutOfRangeError, match=r"index 77 at `\[3000\]` is outside"):
        gathercli.gather(np.arange(10), indices, version="onnx-13")


@pytest.mark.parametrize("index_type", ["i8", "u8"])
@pytest.mark.parametrize("place", [0, 3, 99])
def test_an_index_of_more_than_32_bits_is_not_taken_for_its_low_half(
    index_type: str, place: int
) -> None:
    indices = np.zeros(100, index_type)
    indices[place] = 2**32 + 1

    output = gathercli.gather(np.arange(1, 11), indices)

    assert output[place] == 0
    assert output.sum() == 99


# chunk, step, type, outside, loops, axes; size, data, index; size, added, step, offset
PLAN: Final = (4, 4, 3, 0, 1, 1, 5, 0, 8, 10, 10, 1, 0)


def copy(
    out: AnyArray,
    data: AnyArray,
    indices: AnyArray,
    plan: Sequence[int] = PLAN,
    start: int = 0,
    *,
    part: int = 1 << 62,
    threads: int = 1,
) -> bool:
    assert native.fill
    return native.fill(out, data, indices, np.array(plan), start, part, threads)


@pytest.mark.parametrize(
    ("place", "number", "complaint"),
    [
        (0, 0, "unknown kind"),
        (0, 8, "beyond its buffer"),
        (0, -1, "unknown kind"),
        (1, 5, "beyond its buffer"),
        (1, -4, "unknown kind"),
        (1, 1 << 62, "beyond its buffer"),
        (2, 8, "unknown kind"),
        (3, 4, "unknown kind"),
        (3, 1 << 32, "unknown kind"),
        (4, 2, "unknown kind"),
        (4, -1, "unknown kind"),
        (5, 1 << 60, "unknown kind"),
        (6, 6, "beyond its buffer"),
        (6, 0, "empty loop"),
        (6, 1 << 62, "beyond its buffer"),
        (7, 1, "beyond its buffer"),
        (7, -1, "beyond its buffer"),
        (8, 9, "beyond its buffer"),
        (8, 1 << 61, "beyond its buffer"),
        (9, 11, "axis of no size"),
        (9, 0, "axis of no size"),
        (10, 5, "axis of no size"),
        (11, 2, "beyond its buffer"),
        (11, -1, "too many positions"),
        (11, 1 << 31, "too many positions"),
        (12, 8, "beyond its buffer"),
        (12, -8, "axis of no size"),
    ],
)
def test_a_plan_that_leaves_a_buffer_is_refused(place: int, number: int, complaint: str) -> None:
    data, indices, out = np.arange(10, dtype="f4"), np.arange(5), np.zeros(5, "f4")
    assert copy(out, data, indices)
    assert out.tolist() == [0, 1, 2, 3, 4]
    plan = list(PLAN)
    plan[place] = number

    with pytest.raises(ValueError, match=complaint):
        copy(out, data, indices, plan)


@pytest.mark.parametrize("start", [-4, 4, 1 << 62])
def test_a_range_beyond_the_output_is_refused(start: int) -> None:
    data, indices, out = np.arange(10, dtype="f4"), np.arange(5), np.zeros(5, "f4")

    with pytest.raises(ValueError, match="a range beyond the output"):
        copy(out, data, indices, start=start)


@pytest.mark.parametrize("part", [0, -1])
def test_parts_without_bytes_are_refused(part: int) -> None:
    data, indices, out = np.arange(10, dtype="f4"), np.arange(5), np.zeros(5, "f4")

    with pytest.raises(ValueError, match="empty parts"):
        copy(out, data, indices, part=part)


@pytest.mark.parametrize("part", [1, 3, 4, 7, 19, 20, 21, 1 << 62])
@pytest.mark.parametrize("threads", [-1, 0, 1, 2, 5, 1000])
def test_threads_share_the_parts_of_a_range(part: int, threads: int) -> None:
    data, indices, out = np.arange(10, dtype="f4"), np.arange(5), np.zeros(5, "f4")

    assert copy(out, data, indices, part=part, threads=threads)

    assert out.tolist() == [0, 1, 2, 3, 4]


def test_a_refused_index_in_any_part_refuses_the_range() -> None:
    data, out = np.arange(10, dtype="f4"), np.zeros(5, "f4")
    for place in range(5):
        indices = np.arange(5)
        indices[place] = 10

        assert not copy(out, data, indices, part=4, threads=3)


@pytest.mark.parametrize("shift", [0, 4, 16])
@pytest.mark.parametrize("width", [16, 36, 64, 80, 256, 4096, 10_000])
def test_rows_of_an_output_beyond_the_caches_are_copied(width: int, shift: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, (50, width), "u1")
    indices = np.arange((17 << 20) // width) % 50
    out = np.zeros(indices.size * width + shift, "u1")[shift:]

    gathercli.gather(data, indices, out=out.reshape(-1, width), threads=2)

    assert (out.reshape(-1, width) == data[indices]).all()


def test_an_output_that_is_read_only_is_refused() -> None:
    data, indices, out = np.arange(10, dtype="f4"), np.arange(5), np.zeros(5, "f4")
    out.flags.writeable = False

    with pytest.raises(ValueError, match="read-only"):
        copy(out, data, indices)


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """Start without plans."""
    kept: dict[Any, Any] = {}
    monkeypatch.setattr(native, "_plans", kept)
    return kept


def repeated(data: AnyArray, indices: AnyArray, **options: Any) -> AnyArray:
    """Return the output of a call that has a plan."""
    for _ in range(2):
        gathercli.gather(data, np.zeros_like(indices), **options)
    output: AnyArray = gathercli.gather(data, indices, **options)
    return output


@pytest.mark.parametrize("seed", range(5))
def test_a_call_answers_alike_each_time(seed: int) -> None:
    choose = random.Random(seed)  # noqa: S311
    for _ in range(20):
        call = trial(choose)

        answers = [call.answer() for _ in range(4)]

        assert answers == answers[:1] * 4, call


def test_the_third_call_has_a_plan(plans: dict[Any, Any]) -> None:
    data, indices = np.arange(12.0).reshape(3, 4), np.array([2, 0])

    output = repeated(data, indices)

    assert any(plans.values())
    assert output.tolist() == data[[2, 0]].tolist()


def test_other_values_of_data_and_indices_give_another_output() -> None:
    repeated(np.arange(5), np.array([1, 2]))

    assert gathercli.gather(np.arange(5, 10), np.array([-1, 9])).tolist() == [9, 0]


def test_a_call_with_a_plan_refuses_an_index_as_the_first_call_does() -> None:
    data, indices = np.arange(5), np.array([[1, 2], [3, 5]])
    with pytest.raises(OutOfRangeError) as first:
        gathercli.gather(data, indices, version="onnx-13")

    with pytest.raises(OutOfRangeError) as later:
        repeated(data, indices, version="onnx-13")

    assert str(later.value) == str(first.value)


@pytest.mark.parametrize("axis", [True, 1.0, "1", np.array(1), None])
def test_an_axis_that_equals_another_is_judged_by_its_type(axis: Any) -> None:
    data, indices = np.arange(6).reshape(2, 3), np.array([1])
    first = _answer(data, indices, axis=axis)
    repeated(data, indices, axis=1)

    assert _answer(data, indices, axis=axis) == first


def _answer(data: AnyArray, indices: AnyArray, **options: Any) -> object:
    try:
        return gathercli.gather(data, indices, **options).tolist()
    except GatherError as error:
        return str(error)


def test_bytes_in_foreign_order_are_not_taken_for_native_ones() -> None:
    data, indices = np.arange(5, dtype="<i4"), np.array([1, 3])
    repeated(data, indices)

    for dtype in ("<i4", ">i4"):
        assert repeated(data.astype(dtype), indices).tolist() == [1, 3]
        assert gathercli.gather(data, indices.astype(dtype)).tolist() == [1, 3]


def test_arrays_with_gaps_and_arrays_without_are_told_apart() -> None:
    data, indices = np.arange(10).reshape(5, 2), np.array([4, 1])
    repeated(data, indices)

    for gapped in (np.asfortranarray(data), np.repeat(data, 2, 1)[:, ::2]):
        assert gathercli.gather(gapped, indices).tolist() == [[8, 9], [2, 3]]


def test_an_output_array_is_used_and_returned() -> None:
    data, indices, out = np.arange(5.0), np.array([4, 1]), np.empty(2)

    assert repeated(data, indices, out=out) is out
    assert out.tolist() == [4, 1]


@pytest.mark.parametrize(
    "out",
    [
        np.empty(3),
        np.empty(2, "f4"),
        np.empty(2, ">f8"),
        np.empty((2, 2))[:, 0],
        np.broadcast_to(np.float64(0), 2),
        [0.0, 0.0],
    ],
)
def test_an_output_array_that_does_not_fit_is_refused_as_the_first_time(out: Any) -> None:
    data, indices = np.arange(5.0), np.array([4, 1])
    first = _answer(data, indices, out=out)
    repeated(data, indices)

    assert isinstance(first, str)
    assert _answer(data, indices, out=out) == first


def test_an_output_array_that_shares_memory_is_refused() -> None:
    data, indices = np.arange(5.0), np.array([4, 1])
    repeated(data, indices)

    with pytest.raises(GatherError, match="shares memory with an input"):
        gathercli.gather(data, indices, out=data[:2])


def test_the_number_of_plans_is_limited(plans: dict[Any, Any]) -> None:
    for most in range(1, 200):
        repeated(np.arange(5), np.array([0]), threads=most)

    assert len(plans) == native.MOST_PLANS


def sized_trial(choose: random.Random, call: Trial) -> Trial:
    """Return a call alike on arrays of other sizes, which may not fit each other, or be empty."""
    numbers = np.random.default_rng(choose.getrandbits(32))
    data, indices = (list(each.shape) for each in call.inputs[:2])
    together = choose.random() < 0.8  # change a dimension that both have in both
    for d in range(len(data)):
        size = choose.choice((0, 1, 1, choose.randint(1, 40), choose.randint(1, 400)))
        if choose.random() < 0.5 and math.prod(data) // max(1, data[d]) * size < LARGEST:
            if together and d < len(indices) and data[d] == indices[d]:
                indices[d] = size
            data[d] = size
    for i in range(len(indices)):
        size = choose.choice((0, 1, choose.randint(1, 40)))
        if choose.random() < (0.1 if together else 0.3):
            indices[i] = size
    if math.prod(data) * math.prod(indices) > LARGEST:
        return sized_trial(choose, call)
    least = min(data) if data else 1
    low, high = choose.choice(((0, max(1, least)), (-least, max(1, least)), (-9, 99)))
    types = [each.dtype for each in call.inputs]
    inputs = (
        numbers.integers(0, 99, data).astype(types[0]),
        numbers.integers(low, high, indices).astype(types[1]),
    )
    return call._replace(inputs=inputs)


@pytest.mark.parametrize("seed", range(10))
def test_a_call_alike_on_other_sizes_answers_as_the_first_of_its_kind(
    seed: int, plans: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(seed)  # noqa: S311
    monkeypatch.setattr(result, "LEAST_SHARED_BYTES", choose.choice((0, 1 << 22)))
    monkeypatch.setattr(kernel, "BLOCK_BYTES", choose.choice((200, 1 << 20)))
    for _ in range(30):
        call = trial(choose)
        call.answer()
        call.answer()
        for _ in range(6):
            other = sized_trial(choose, call)
            kept = dict(plans)

            answer = other.answer()

            plans.clear()
            assert answer == other.answer(), other
            plans |= kept


def served(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note which calls the kernel in C answers at once, from the next plan on."""
    answers: list[bool] = []
    again = native.fill_again

    def noted(*args: Any) -> AnyArray | None:
        output = again(*args)
        answers.append(output is not None)
        return output

    monkeypatch.setattr(native, "fill_again", noted)
    return answers


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_types_of_ml_dtypes_come_back_as_they_are(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.arange(8).astype(getattr(ml_dtypes, name))
    for _ in range(4):
        output = gathercli.gather(data, np.array([3, 9]))

        assert output.dtype == data.dtype
        assert output.tolist() == [3, 0]


def test_beams_of_lists_beside_arrays_are_converted_each_time() -> None:
    ids, parents = np.array([[[1, 2]], [[3, 4]]]), [[[0.0, 0.0]], [[1.0, 0.0]]]
    for _ in range(4):
        output = gathercli.gather_tree(ids, parents, np.array([2]), np.array(9))

        assert output.tolist() == [[[2, 1]], [[3, 4]]]


def test_a_plan_serves_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = served(monkeypatch)
    for n in range(2, 30):
        data = np.arange(n * (n + 1) * 3).reshape(n, n + 1, 3)
        at = np.arange(n) % 2
        gathercli.gather(data, at[:-1], axis=1)
        gathercli.gather(data, np.tile(at, (n, 1)), axis=1, batch_dims=1)
        gathercli.gather_nd(data, np.stack([at, at], 1))
        gathercli.gather_elements(data, data % 2, axis=0)
        gathercli.gather_elements(data, data[:1, :1, :1], axis=1, version="onnx-13")
        gathercli.gather(data.tolist(), at.tolist())

    assert answers == [True] * 6 * 26


@pytest.mark.parametrize(
    ("data", "indices"),
    [((3, 4), (2, 4)), ((3, 4), (3, 5)), ((1, 4), (3, 2)), ((0, 4), (0, 2)), ((3, 0), (3, 2))],
)
def test_a_plan_leaves_sizes_that_a_rule_may_refuse_to_the_rule(
    data: tuple[int, ...], indices: tuple[int, ...]
) -> None:
    inputs = np.zeros(data), np.zeros(indices, int)
    first = _answer(*inputs, axis=1, batch_dims=1)
    repeated(np.zeros((3, 5)), np.zeros((3, 2), int), axis=1, batch_dims=1)

    assert _answer(*inputs, axis=1, batch_dims=1) == first


def test_beams_of_other_sizes_have_the_plan_of_the_first() -> None:
    for size in (2, 3, 4, 5):
        ids = np.arange(size * 6).reshape(size, 2, 3)
        parents = np.zeros_like(ids)
        lengths, end = np.array([size, size]), np.array(0)
        output = gathercli.gather_tree(ids, parents, lengths, end)
        native._plans.clear()
        assert (output == gathercli.gather_tree(ids, parents, lengths, end)).all()
        with pytest.raises(GatherError, match=r"max_seq_len"):
            gathercli.gather_tree(ids, parents, lengths[:1], end)


def test_a_signature_of_other_arrays_is_left_alone() -> None:
    for numbers in ([], [8] * 16, [8] * 17, [8, 3, 1, 1, 5, 1, 1, 1, 1, *[99] * 8, -1, 0]):
        signature = np.array(numbers, np.int64)
        inputs = np.arange(5.0), np.array([1])

        assert native.fill_again(signature, np.empty, inputs[0].dtype, None, *inputs) is None


def test_threads_repeat_more_calls_than_are_kept() -> None:
    errors: list[BaseException] = []

    def call(seed: int) -> None:
        choose = random.Random(seed)  # noqa: S311
        for _ in range(300):
            size = choose.randrange(1, 3 * native.MOST_PLANS)
            try:
                assert gathercli.gather(np.arange(size), np.array([size - 1])).tolist() == [
                    size - 1
                ]
            except BaseException as error:  # noqa: BLE001  (a thread has no other way out)
                errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)

    assert not errors


@pytest.mark.parametrize("index_type", ["i4", "i8"])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 6, 8, 12, 16, 24])
def test_short_rows_of_large_data_are_copied_by_any_indices(width: int, index_type: str) -> None:
    numbers = np.random.default_rng(width)
    data = numbers.integers(0, 256, (1_000_000 // width, width), "u1")
    size = len(data)
    indices = numbers.integers(0, size, 3_000).astype(index_type)
    indices[1_000:1_500:3] -= size
    indices[2_000::500] = size + 3

    output = gathercli.gather(data, indices)

    expected = data[indices % size]
    expected[indices >= size] = 0
    assert (output == expected).all()


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("size", [40, 3_000])
def test_rows_of_their_own_indices_are_copied_from_memory(size: int, width: int) -> None:
    numbers = np.random.default_rng(size)
    data = numbers.integers(0, 99, (50, size)).astype(f"f{width}")
    indices = numbers.integers(-size, size, (50, size))

    output = gathercli.gather_elements(data, indices, axis=1, version="onnx-13", threads=2)

    assert (output == np.take_along_axis(data, indices, 1)).all()


SHARED: Final = """
import os, threading
import numpy as np
import gathercli
from gathercli.compute import result

result.LEAST_SHARED_BYTES = 0
data, indices = np.arange(3_000_000), np.random.default_rng(0).integers(0, 3_000_000, 700_000)
def agrees():
    return (gathercli.gather(data, indices, threads=3) == data[indices]).all()
"""


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            "assert agrees()\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    os._exit(0 if agrees() and agrees() else 1)\n"
            "assert agrees()\n"
            "assert os.waitpid(child, 0)[1] == 0\n",
            id="in a child",
        ),
        pytest.param(
            "found = []\n"
            "append = lambda: found.append(agrees())\n"
            "callers = [threading.Thread(target=append) for _ in range(8)]\n"
            "for caller in callers: caller.start()\n"
            "for caller in callers: caller.join()\n"
            "assert found == [True] * 8\n",
            id="at once",
        ),
    ],
)
def test_threads_that_wait_serve_calls(call: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", SHARED + call]

    subprocess.run(command, check=True)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="nothing tells the threads")
def test_threads_that_wait_end_when_there_is_no_work_and_start_again() -> None:
    call = (
        "import time\n"
        "def threads(): return len(os.listdir('/proc/self/task'))\n"
        "def wait_until(fits):\n"
        f"    end = time.monotonic() + {PATIENCE}\n"
        "    while not fits():\n"
        "        assert time.monotonic() < end\n"
        "        time.sleep(0.01)\n"
        "alone = threads()\n"
        "wait_until(lambda: agrees() and threads() > alone)\n"
        "wait_until(lambda: threads() == alone)\n"
        "wait_until(lambda: agrees() and threads() > alone)\n"
    )
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}

    subprocess.run([sys.executable, "-c", SHARED + call], check=True, env=environment)
