"""Every path of the kernel beside `sources`, with blocks, buffers and limits made small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import gathercli
from gathercli import ops
from gathercli.compute import check, indices, kernel, result
from gathercli.compute.bound import BoundCall
from gathercli.compute.result import SourceKernel
from gathercli.compute.run import answer
from gathercli.compute.run import run_arrays as run
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import OutOfRangeError
from gathercli.frameworks.versions import find
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.spec.call import Operand
from gathercli.spec.op import OffAxis
from tests.cases import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op
    from tests.conftest import Array


TYPES = ("u1", "<i2", ">i2", "<f4", ">f8", "<c16", ">c8", "<U3", ">U2", "?")
INDEX_TYPES = ("<i4", ">i4", "<i8", ">i8", "u1", "i1", ">u2", "<u8")
pytestmark = pytest.mark.usefixtures("kernel_language")
SMALL = drawn(200)
MANY: Final = 2048
"""Cells of an output that take a second where each is a block: another is drawn instead."""


@dataclass(frozen=True)
class Small:
    """How small the parts are made."""

    block: int
    cells: int
    each: int
    most_kept: int
    threads: int


@dataclass(frozen=True)
class Made:
    """A call ready to run, and what makes it."""

    run: result.GatherResult
    data: Array
    whole: Callable[..., Tensor]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Put back what the tests change."""
    before = [(module, dict(vars(module))) for module in (check, kernel, indices, result)]
    methods = {name: getattr(kernel.Worker, name) for name in ("_part", "_rows", "_take")}
    yield
    for module, names in before:
        vars(module).update(names)
    for name, method in methods.items():
        setattr(kernel.Worker, name, method)


def made_small(small: Small) -> None:
    for module, name, value in (
        (kernel, "BLOCK_BYTES", small.block),
        (kernel, "LOCATED_CHUNKS", small.cells),
        (kernel, "CACHE_BYTES", small.each),
        (check, "BLOCK_INDICES", small.cells),
        (indices, "MOST_KEPT_INDICES", small.most_kept),
        (indices, "TUPLES_AT_A_TIME", small.cells),
        (check, "MOST_KEPT_INDICES", small.most_kept),
        (check, "LEAST_SHARED_BLOCKS", 0),
        (result, "LEAST_SHARED_BYTES", 0),
    ):
        assert hasattr(module, name)
        setattr(module, name, value)


smalls = st.builds(
    Small,
    block=st.sampled_from((1, 7, 16, 64, 1 << 20)),
    cells=st.sampled_from((1, 2, 3, 5, 8, 64, 1 << 16)),
    each=st.sampled_from((0, 4, 40, 1 << 15)),
    most_kept=st.sampled_from((0, 1 << 20)),
    threads=st.sampled_from((1, 1, 2, 3)),
)
sizes = st.sampled_from((1, 2, 2, 3, 4, 5, 0))


def unaligned(array: Array) -> Array:
    odd: Array = np.ndarray(array.shape, array.dtype, np.zeros(array.nbytes + 1, np.uint8), 1)
    odd[...] = array
    return odd


def turned(array: Array) -> Array:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0)


def unneeded(array: Array) -> Array:
    """Let the strides that no element needs be absurd: NumPy keeps them as they are."""
    absurd = (-array.itemsize, 1 << 62, -(1 << 61) - 1, 3, 0)
    strides = [
        absurd[d % len(absurd)] if n < 2 or not array.size else stride
        for d, (n, stride) in enumerate(zip(array.shape, array.strides, strict=True))
    ]
    return np.lib.stride_tricks.as_strided(array, array.shape, strides, writeable=False)


LAYOUTS: Final[dict[str, Callable[[Array], Array]]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "unaligned": unaligned,
    "steps": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "columns": lambda array: np.concatenate((array, array[..., :1]), -1)[..., :-1],
    "backwards": lambda array: np.ascontiguousarray(array[::-1])[::-1],
    "broadcast": lambda array: np.broadcast_to(array[:1], array.shape),  # all like the first
    "turned": turned,
    "unneeded": unneeded,
    "unneeded of steps": lambda array: unneeded(np.repeat(array, 2, axis=-1)[..., ::2]),
}


def in_layout(array: Array, layout: str) -> Array:
    """Lay elements out otherwise."""
    return LAYOUTS[layout](array) if array.ndim else array


def some_data(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    element_type = np.dtype(draw(st.sampled_from(TYPES)))
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    values = (numbers + 1).astype(str) if element_type.kind == "U" else numbers * 3 + 1
    return in_layout(values.astype(element_type), draw(st.sampled_from(list(LAYOUTS))))


def some_indices(draw: st.DrawFn, shape: tuple[int, ...], size: int | Array) -> Array:
    index_type = np.dtype(draw(st.sampled_from(INDEX_TYPES)))
    low = 0 if index_type.kind == "u" else -size - draw(st.sampled_from((0, 0, 3)))
    high = size + draw(st.sampled_from((0, 0, 2)))
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    plain = draw(st.booleans()) and np.all(size)
    values = random.integers(0, size, shape) if plain else random.integers(low, high + 1, shape)
    return in_layout(np.asarray(values).astype(index_type), draw(st.sampled_from(list(LAYOUTS))))


@st.composite
def gathers(draw: st.DrawFn) -> Made:
    """Make a call of Gather, wherever the batches, the axis and the indices are."""
    batch = tuple(draw(st.lists(sizes, max_size=2)))
    before, after = (tuple(draw(st.lists(sizes, max_size=2))) for _ in range(2))
    size = draw(sizes)
    data = some_data(draw, (*batch, *before, size, *after))
    indices = some_indices(draw, (*batch, *draw(st.lists(sizes, max_size=3))), size)
    axis = len(batch) + len(before)
    how = {"axis": axis, "batch_dims": len(batch)}
    return made(draw, gathercli.OPERATORS[0], (data, indices), (size,), how)


@st.composite
def element_gathers(draw: st.DrawFn) -> Made:
    """Make a call of GatherElements, of all of `data` or of its first rows and columns."""
    op = draw(st.sampled_from(FAMILIES["gather-elements"].ROWS))
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=4)))
    axis = draw(st.integers(0, len(shape) - 1))
    less = draw(st.sampled_from((0, 0, 1))) if op.off_axis is OffAxis.AT_MOST else 0
    wanted = [max(0, n - less) for n in shape]
    wanted[axis] = draw(st.integers(0, 6))
    indices = some_indices(draw, tuple(wanted), shape[axis])
    kinds = [np.dtype(t) for t in ("<i4", ">i4", "<i8", ">i8")]
    if indices.dtype not in kinds:
        indices = indices.astype(draw(st.sampled_from(kinds)))
    return made(draw, op, (some_data(draw, shape), indices), (shape[axis],), {"axis": axis})


@st.composite
def tuple_gathers(draw: st.DrawFn) -> Made:
    """Make a call of GatherND, by tuples of up to three indices."""
    op = draw(st.sampled_from(FAMILIES["gather-nd"].ROWS))
    batch = tuple(draw(st.lists(sizes, max_size=2))) if op.attr("batch_dims") else ()
    indexed = tuple(draw(st.lists(sizes, min_size=op.shortest_tuple, max_size=3)))
    slices = tuple(draw(st.lists(sizes, min_size=0 if indexed else 1, max_size=2)))
    lead = tuple(draw(st.lists(sizes, max_size=2)))
    tuples = some_indices(draw, (*batch, *lead, len(indexed)), np.array(indexed, np.int64))
    if len(op.input("indices").dtypes) == 1:
        tuples = tuples.astype(draw(st.sampled_from(("<i8", ">i8"))))
    how = {"batch_dims": len(batch)} if batch else {}
    return made(draw, op, (some_data(draw, (*batch, *indexed, *slices)), tuples), indexed, how)


def made(
    draw: st.DrawFn,
    op: Op,
    inputs: tuple[Array, Array],
    indexed: tuple[int, ...],
    attributes: dict[str, Any],
) -> Made:
    """Bind a call whose indices count along axes of the sizes `indexed`."""
    data = inputs[0]
    named = [Tensor(named_type(array), array) for array in inputs]
    small = draw(smalls)
    made_small(small)
    ways = ("zero",) if 0 in indexed else ("zero", "clamp", "wrap")
    call = ops.bind(
        op,
        *map(Operand.of, named),
        **attributes,
        negative=draw(st.sampled_from(("spec", "wrap"))),
        out_of_range=draw(st.sampled_from(ways)),
    )
    whole = partial(answer, BoundCall(call, *named), threads=small.threads)
    output = run(BoundCall(call, *named), threads=small.threads)
    assert isinstance(output, result.GatherResult)
    assume(np.prod(output.shape) <= MANY)
    return Made(output, data, whole)


def named_type(array: Array) -> DType:
    element_type = dtype_of(array.dtype)
    assert element_type is not None
    return element_type


def named_by_sources(case: Made) -> Array:
    """Return what `sources` names."""
    run = case.run
    cells = np.arange(int(np.prod(run.shape)))
    at = FAMILIES[run.bound.call.op.family].sources(
        run.bound.call, {"indices": run._points["indices"].whole()}, cells
    )
    padded = np.append(case.data.reshape(-1), np.zeros(1, case.data.dtype))
    return padded[at].reshape(run.shape).astype(run.storage)


def raw(array: Array) -> bytes:
    return array.tobytes()


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "cases", [gathers(), element_gathers(), tuple_gathers()], ids=["gather", "elements", "tuples"]
)
def test_every_path_gives_what_the_sources_name(cases: st.SearchStrategy[Made]) -> None:
    @SMALL
    @given(case=cases, cells=st.sampled_from((1, 2, 3, 7, 100)))
    def check(case: Made, cells: int) -> None:
        run, wanted = case.run, named_by_sources(case)
        assert raw(case.whole().array) == raw(wanted)
        assert raw(run.whole().array) == raw(wanted)
        assert b"".join(map(raw, run.blocks())) == raw(wanted)
        assert b"".join(map(raw, run.blocks(cells))) == raw(wanted)
        placed = bytearray(run.nbytes)

        def put(part: Array, at: int) -> None:
            placed[at : at + part.size] = raw(part)

        run.place(put)
        assert bytes(placed) == raw(wanted)
        own = np.empty(run.shape, run.storage)
        case.whole(out=own)
        assert raw(own) == raw(wanted)
        assert by_sources(run, cells) == raw(wanted)

    check()


def by_sources(run: result.GatherResult, cells: int) -> bytes:
    """Return what is copied from where `sources` says, so many cells at a time."""
    call, out = run.bound.call, np.empty(run.nbytes, np.uint8)
    copying = SourceKernel(call, run.bound.loaded(), run._points)
    itemsize, total = run.storage.itemsize, run.nbytes // run.storage.itemsize
    for start in range(0, total, cells):
        stop = min(start + cells, total)
        copying.fill(start, stop, out[start * itemsize : stop * itemsize])
    return raw(out)


def test_the_cases_take_every_path_of_numpy(kernel_language: str) -> None:
    if kernel_language == "C":
        return
    seen: set[str] = set()
    names = ("_part", "_rows", "_take")
    for name in names:
        plain = getattr(kernel.Worker, name)

        def noting(*args: Any, name: str = name, plain: Any = plain) -> None:
            seen.add(name)
            plain(*args)

        setattr(kernel.Worker, name, noting)
    columns: set[bool] = set()
    ready: set[tuple[str, bool]] = set()

    @SMALL
    @given(case=st.one_of(gathers(), element_gathers()))
    def run(case: Made) -> None:
        computed = case.run._kernel
        assert isinstance(computed, kernel.Kernel)
        columns.add(computed.goes_by_columns)
        ready.add((str(computed.points.kind), computed.points.fills))
        case.run.whole()

    run()
    assert seen == set(names)
    assert columns == {True, False}
    assert len(ready) == 5


@pytest.mark.parametrize("width", [np.int8, np.int64, np.complex128])
def test_zeros_are_where_the_indices_of_their_own_batch_are_outside(width: type) -> None:
    data: Array = np.arange(1, 16).reshape(3, 5).astype(width)
    indices = np.zeros((3, 1 << 15), np.int64)
    indices[1, [0, 7]] = 9
    indices[2, [3, 7, -1]] = -9

    out = gathercli.gather(data, indices, axis=1, batch_dims=1)

    wanted = np.repeat(data[:, :1], 1 << 15, 1)
    wanted[1, [0, 7]] = 0
    wanted[2, [3, 7, -1]] = 0
    assert (out == wanted).all()


def test_some_columns_of_a_wider_array_are_gathered_by_rows_of_its_own_width() -> None:
    data = np.arange(40).reshape(8, 5)[:, :3]
    stacked = np.arange(60).reshape(3, 4, 5)[:, :, :3]
    apart = as_strided(np.arange(21), (3, 2, 3), (56, 24, 8))  # 7 elements from one to the next

    rows = gathercli.gather(data, np.array([2, 0, 7]))
    inner = gathercli.gather(stacked, np.array([3, 1]), axis=1)
    last = gathercli.gather(apart, np.array([1]), axis=1)

    assert (rows == data[[2, 0, 7]]).all()
    assert (inner == stacked[:, [3, 1]]).all()
    assert (last == apart[:, [1]]).all()


def test_one_element_of_each_of_several_windows_is_gathered() -> None:
    windows = as_strided(np.arange(9), (2, 2, 3), (24, 24, 8))  # each starts where a row does

    one = gathercli.gather(windows, np.array(1), axis=2)

    assert (one == windows[:, :, 1]).all()


@pytest.mark.parametrize("index_type", ["<i4", ">i8", "i1", "<u8", "u1"])
@pytest.mark.parametrize("layout", ["C", "F", "steps"])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_first_refused_index_is_named_whichever_thread_sees_it(
    index_type: str, layout: str, workers: int
) -> None:
    check.BLOCK_INDICES, check.LEAST_SHARED_BLOCKS = 2, 0  # type: ignore[misc]
    values = np.zeros((5, 4))
    values[[2, 3, 4], [3, 0, 1]] = 9, 7, 9
    indices, ones = in_layout(values.astype(index_type), layout), np.ones(3, np.float32)
    data = Tensor(named_type(ones), ones)
    named = Tensor(named_type(indices), indices)
    call = ops.bind(OPERATORS[0], Operand.of(data), Operand.of(named), axis=0, out_of_range="error")

    with pytest.raises(OutOfRangeError, match=r"is 9 at `\[2,3\]`.*3 of 20|9 at") as caught:
        run(BoundCall(call, data, named), threads=workers)

    assert caught.value.where == "[2,3]"
    assert caught.value.count == 3


@pytest.mark.parametrize("size", [127, 128, 129, 255, 256, 257, 300])
@pytest.mark.parametrize("index_type", ["i1", "u1", ">i2", "<u2", "<i4", ">u8"])
@pytest.mark.parametrize("version", ["openvino-8", "openvino-7"])
def test_types_narrower_than_the_axis_address_it(size: int, index_type: str, version: str) -> None:
    low, high = int(np.iinfo(index_type).min), int(np.iinfo(index_type).max)
    values = [low, high, 0, 1, min(high, size), min(high, size - 1)]
    if version == "openvino-7":
        values = [k for k in values if 0 <= k < size]
    data = np.arange(1, size + 1)
    wanted = [int(data[k]) if -size <= k < size else 0 for k in values]
    for few in (0, 1 << 20):
        indices.MOST_KEPT_INDICES = few  # type: ignore[misc]
        got = gathercli.gather(data, np.array(values, index_type), version=version)
        assert got.tolist() == wanted


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("workers", [1, 3])
def test_columns_of_large_data_are_copied_in_parts_of_many_rows(axis: int, workers: int) -> None:
    data = np.arange(2 * 1500 * 300, dtype=np.float32).reshape(2, 1500, 300)
    flat = data.reshape(3000, 300) if axis == 0 else data
    rows = np.random.default_rng(0).integers(-flat.shape[axis], flat.shape[axis], flat.shape)
    tensors = [Tensor(dtype_of(each.dtype), each) for each in (flat, rows)]  # type: ignore[arg-type]
    call = ops.bind(find("onnx-13", "gather-elements")[0], *map(Operand.of, tensors), axis=axis)
    output = run(BoundCall(call, *tensors), threads=workers)
    placed = np.empty(flat.nbytes, np.uint8)

    def put(part: Any, at: int) -> None:
        placed[at : at + part.size] = part

    output.place(put)

    wanted = np.take_along_axis(flat, rows % flat.shape[axis], axis)
    assert np.array_equal(placed.view(np.float32).reshape(flat.shape), wanted)
    assert np.array_equal(output.whole().array, wanted)
