"""Compute a small output by the `sources` of its family, in plain arithmetic on bytes."""

from __future__ import annotations

from gathercli.compute.bound import BoundCall, check_size, fill_bytes
from gathercli.compute.tensor import Tensor, is_packed, unpack
from gathercli.records import NamedTuple, lru_cache
from gathercli.spec.adjustments import Adjustment, IndexCount, IndexCounts, are_tuples, check_counts
from gathercli.spec.op import AxisGather, IndexedAxis, OutOfRange
from gathercli.spec.shapes import flat_positions, known, product

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.call import Call

MOST_BYTES = 1 << 17  # the largest output in bytes
# The most indices and runs of contiguous elements: more take longer than importing NumPy.
MOST_STEPS = 24_000
MOST_RUNS = 256  # the most runs of a call that is prepared for repetition
# The most steps once NumPy is imported: more take longer here than by arrays.
MOST_STEPS_WITH_NUMPY = 16


class Runs(NamedTuple):
    """Where each run of consecutive elements of an output comes from, for all values of indices."""

    input: int  # the number of the input of indices
    axes: Sequence[IndexedAxis]  # what they count along
    shape: tuple[int, ...]  # of the output
    length: int  # bytes of a run
    # For each run, row-major: the position of its index in `indices`, and the offsets in `data` of
    # the element that index 0 copies, and from one index to the next; in bytes.
    starts: Sequence[tuple[int, int, int]]


class SmallOutput(Tensor):
    """The output of a small call, already computed: a `GatherOutput`."""

    __slots__ = ("adjustments", "bound")

    bound: BoundCall
    adjustments: tuple[Adjustment, ...]
    threads = 1
    progress: ProgressCallback | None = None

    @classmethod
    def of(
        cls, bound: BoundCall, shape: tuple[int, ...], raw: bytes, adjustments: Sequence[Adjustment]
    ) -> Self:
        """Return the output of elements `raw`, row-major and little-endian."""
        output = cls.of_bytes(bound.data.dtype, shape, raw)
        output.bound, output.adjustments = bound, tuple(adjustments)
        return output

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return a function of two flat positions that returns the elements between them."""
        flat = self.array.reshape(-1)
        return lambda start, stop: flat[start:stop]

    def stored(self, out: AnyArray | None) -> Tensor:
        """Return the output, copied to `out` unless it is None."""
        if out is None:
            return self
        out[...] = self.array
        return Tensor(self.dtype, out)

    def report_progress(self, what: str, done: int) -> None:
        """Do nothing: the output is computed."""


class Points:
    """The positions that the indices of an input point to, or -1, by coordinates, for `sources`."""

    def __init__(self, positions: list[int], shape: tuple[int, ...]) -> None:
        self.positions, self._shape = positions, shape

    def __getitem__(self, at: tuple[int, ...]) -> int:
        """Return the position of the index at coordinates."""
        return self.positions[flat_positions(at, self._shape, none=False)]


class _Probe:
    """Records which index `sources` uses, and lets it point to `position`."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape, self.position, self.used = shape, 0, 0

    def __getitem__(self, at: tuple[int, ...]) -> int:
        self.used = flat_positions(at, self._shape, none=False)
        return self.position


@lru_cache(maxsize=64)
def runs_of(call: Call) -> Runs | None:
    """Return the runs of a call along one axis by `sources`, cached; None for none, or many."""
    if call.gather is None:
        return None
    ((name, axes),) = call.indexed.items()
    shape = known(call.inputs[name].shape)
    probe = _Probe(shape[:-1] if are_tuples(axes) else shape)
    dtype, output = call.data.dtype, known(call.shape)
    run, cells = _run_length(call.gather), product(output)
    if not cells or cells // run > MOST_RUNS:
        return None
    if dtype is None or cells * dtype.itemsize > MOST_BYTES:
        return None
    starts, itemsize = [], dtype.itemsize
    for cell in range(0, cells, run):
        probe.position = 0
        first = call.family.sources(call, {name: probe}, cell)
        probe.position = 1
        step = call.family.sources(call, {name: probe}, cell) - first
        starts.append((probe.used, first * itemsize, step * itemsize))
    number = list(call.inputs).index(name)
    return Runs(number, axes, output, run * itemsize, starts)


def gather(
    bound: BoundCall, max_bytes: int | None = None, *, most: int = MOST_STEPS
) -> SmallOutput | None:
    """Return the output of a call; None if it is not small, or a tensor has no bytes.

    `most` is the most indices and runs of contiguous elements together; errors are those of
    `gathercli.compute.run.run`.
    """
    call, tensors = bound.call, bound.in_memory
    if tensors is None or [
        each for each in tensors if each.raw is None or not is_packed(each.dtype)
    ]:
        return None
    if bound.repeated and (runs := runs_of(call)) is not None:
        return _gather_runs(bound, runs, tensors, max_bytes)
    if call.op.followed:
        return None
    shape, inputs = bound.shape, dict(zip(bound.tensors, tensors, strict=True))
    data, elements = tensors[0], tensors[0].raw or b""
    family, itemsize = call.family, data.dtype.itemsize
    run = _run_length(call.gather)
    cells = product(shape)
    indices = call.indexed
    steps = cells // (run or 1) + sum(product(inputs[name].shape) for name in indices)
    if cells * itemsize > MOST_BYTES or steps > most:
        return None
    check_size(data.dtype, shape, itemsize, max_bytes)
    points, adjustments = dict[str, Points](), list[Adjustment]()
    for name, axes in indices.items():
        points[name], more = _resolve(call, axes, inputs[name])
        adjustments += more
    filling = fill_bytes(call, data.dtype) * run if cells else b""
    parts = []
    for cell in range(0, cells, run or 1):
        at = family.sources(call, points, cell) * itemsize
        parts.append(elements[at : at + run * itemsize] if at >= 0 else filling)
    return SmallOutput.of(bound, shape, b"".join(parts), adjustments)


def _gather_runs(
    bound: BoundCall, runs: Runs, tensors: Sequence[Tensor], max_bytes: int | None
) -> SmallOutput:
    data, indices = tensors[0], tensors[runs.input]
    check_size(data.dtype, runs.shape, data.dtype.itemsize, max_bytes)
    points, adjustments = _resolve(bound.call, runs.axes, indices)
    elements, at, length = data.raw or b"", points.positions, runs.length
    starts = [first + at[used] * step for used, first, step in runs.starts]
    parts = [elements[start : start + length] for start in starts]
    if min(at) < 0:
        for n, (used, _, _) in enumerate(runs.starts):
            if at[used] < 0:
                parts[n] = fill_bytes(bound.call, data.dtype) * (length // data.dtype.itemsize)
    return SmallOutput.of(bound, runs.shape, b"".join(parts), adjustments)


def _run_length(gather: AxisGather | None) -> int:
    """Return how many consecutive elements are copied at once: the last dimensions of a slice."""
    length = 1
    if gather is not None:
        last = len(gather.view)
        for back, along in enumerate(reversed(gather.dim_map), 1):
            if along != (last - back, None):
                break
            length *= gather.view[last - back]
    return length


def _resolve(
    call: Call, axes: Sequence[IndexedAxis], indices: Tensor
) -> tuple[Points, list[Adjustment]]:
    """Check the indices of an input on its `axes`; return where they point, and adjustments."""
    flat, shape = unpack(indices.dtype, indices.raw or b""), indices.shape
    tuples = are_tuples(axes)
    width = len(axes) if tuples else 1
    if not tuples and flat and min(flat) >= 0 and max(flat) < axes[0].size:
        return Points(flat, shape), []
    counts = [IndexCounts(IndexCount(), IndexCount(), IndexCount()) for _ in axes]
    positions = []
    for at, k in enumerate(flat):
        n = at % width
        positions.append(_position(call, axes[n].size, k, at, counts[n]))
    adjustments = check_counts(call, axes, counts, shape)
    if tuples:
        shape, sizes = shape[:-1], [along.size for along in axes]
        each = (positions[at * width : (at + 1) * width] for at in range(product(shape)))
        # A tuple has no position over the axes if a component has none.
        positions = [flat_positions(k, sizes, none=min(k, default=0) < 0) for k in each]
    return Points(positions, shape), adjustments


def _position(call: Call, size: int, k: int, at: int, counts: IndexCounts) -> int:
    """Return the position of an index on an axis of `size`, -1 for none, and count it."""
    if 0 <= k < size:
        return k
    position = k + size if k < 0 and call.wraps_negative else k
    inside = 0 <= position < size
    if k < 0:
        counts.negative.add_one(k, at)
        if inside:
            counts.wrapped.add_one(k, at)
            return position
    counts.outside.add_one(k, at)
    outside = call.outside.position
    if not size or outside in (OutOfRange.ZERO, OutOfRange.ERROR):
        return -1  # a refused index has no position either
    if outside is OutOfRange.CLAMP:
        return 0 if k < 0 else size - 1
    return position % size
