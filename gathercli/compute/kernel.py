"""Copy any range of the output of a gather along one axis, by ``numpy.take`` of whole chunks.

Each output dimension corresponds to a dimension of `data`, of `indices`, or of both
(`AxisGather.dim_map`). The position in memory of an output element is a sum: a step for each
coordinate, and a step along the axis for the index. Contiguous dimensions are merged into one loop.
The contiguous elements of `data` after the last index are one chunk. Chunks are taken by rows,
directly from `data`, if consecutive outer coordinates use the same indices; otherwise by the sums,
computed for a block of chunks at a time.

All indices are legal, so ``take`` may clip: it then neither buffers nor checks, and releases the
interpreter's lock. It copies bytes of any type, byte order and alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute import native
from gathercli.compute.indices import IndexKind, ResolvedIndices
from gathercli.compute.native import NativePlan, NativeWorker
from gathercli.compute.storage import AnyArray, Memory
from gathercli.spec.op import AxisGather, DimMap
from gathercli.spec.shapes import product

# Bytes of output computed at a time: few enough for a cache, many enough for a system call.
BLOCK_BYTES: Final = 1 << 20
LOCATED_CHUNKS: Final = 1 << 17  # the number of chunks to locate at a time
CACHE_BYTES: Final = 512 << 10  # bytes of `data` that stay in a core's cache, as in `gather.c`


class Loop(NamedTuple):
    """A loop over output coordinates."""

    size: int  # the number of coordinates
    data: int  # the step of a coordinate in `data`, in elements; 0 for a shared element
    indices: int  # the same in `indices`


class Kernel:
    """The output of a gather along one axis of `data`, of any type, memory order and byte order.

    `dim_map` has the dimensions of `data` and of `indices`, or None, for each output dimension. The
    indices of `points` are checked before or on use.
    """

    def __init__(self, dim_map: DimMap, data: AnyArray, axis: int, points: ResolvedIndices) -> None:
        memory = Memory.of(data)
        self.dtype, self.points, self.axis_size = data.dtype, points, data.shape[axis]
        itemsize = data.dtype.itemsize
        step = memory.steps[axis]
        loops = _merged(dim_map, data, memory, points)
        # The innermost loop is one chunk if it runs through adjacent elements under one index.
        chunk = 1
        if loops and loops[-1].size and (loops[-1].data, loops[-1].indices) == (1, 0):
            chunk = loops[-1].size
            if self.axis_size == 1:
                step = chunk  # the only position is 0, so that any step will do
            # An offset is a number of chunks, the rows of `bytes`: the step of the axis and of each
            # loop around must be whole chunks; for 3 columns of rows of 4 the step is not.
            if step % chunk or any(loop.data % chunk for loop in loops[:-1]):
                chunk = 1
            else:
                loops.pop()
        self.loops = tuple(Loop(n, data // chunk, index) for n, data, index in loops)
        self.chunk, self.step = chunk, step // chunk
        self.size = product([loop.size for loop in self.loops]) * chunk
        # No chunk begins in the elements behind the last whole one, as all steps are whole chunks.
        chunks = memory.flat.size // chunk if chunk else 0
        self.bytes = memory.flat[: chunks * chunk].view(np.uint8).reshape(chunks, chunk * itemsize)
        self.spans = _spans(self.loops)
        self.by_rows = [self._goes_by_rows(level) for level in range(len(self.loops))]
        most = min(BLOCK_BYTES // max(1, itemsize), LOCATED_CHUNKS * chunk)
        self.block = _aligned(max(1, most), [span * chunk for span in self.spans])

    @property
    def uses_each_once(self) -> bool:
        """Whether each index picks one contiguous run of `data`, so that it is read once."""
        return self.size == self.points.size * self.chunk

    @property
    def goes_by_columns(self) -> bool:
        """Whether each column of the output has its own column of `data`, in a large one.

        Then the kernel in C copies a few columns at a time, the faster the more rows a part has:
        row by row would read each column again.
        """
        if len(self.loops) < 2:
            return False
        rows, columns = self.loops[-2:]
        if rows.data or not (columns.data and columns.indices):
            return False
        reach: int = self.axis_size * columns.size * columns.data * self.bytes.shape[-1]
        return reach > CACHE_BYTES

    def worker(self) -> NativeWorker | Worker:
        """Return a worker for one thread."""
        return self.threaded(1) or Worker(self)

    def threaded(self, threads: int) -> NativeWorker | None:
        """Return a worker in C that has threads of its own; None if C does not serve this one."""
        indices = self.points
        if (
            native.fill is None
            or not native.reads(indices.flat)
            or not self.size
            or not self.bytes.size
            or self.axis_size > native.MOST_POSITIONS
            or max(len(self.loops), len(indices.policies)) > native.MOST_LOOPS
        ):
            return None
        cells = self.block
        if self.goes_by_columns:
            cells = max(cells, -(-self.size // threads))
        part = cells * self.dtype.itemsize
        plan = NativePlan(native.fill, np.array(self._numbers(), np.int64), part, threads)
        checked = indices.kind is not IndexKind.UNSEEN
        return NativeWorker(plan, self.dtype, self.bytes, indices.flat, checked)

    def _numbers(self) -> list[int]:
        """Return sizes, steps and policies, in the order in which `gather.c` reads them."""
        indices = self.points
        chunk, itemsize = self.bytes.shape[-1], indices.flat.itemsize
        loops = self.loops or ((1, 0, 0),)
        numbers = [
            chunk,
            self.step * chunk,
            itemsize.bit_length() - 1 + 4 * (indices.flat.dtype.kind == "u"),
            native.OUTSIDE_CODES[indices.policies[0].outside],
            len(loops),
            len(indices.policies),
        ]
        for size, data, index in loops:
            numbers += size, data * chunk, index * itemsize
        for j, (policy, step) in enumerate(zip(indices.policies, indices.strides, strict=True)):
            added = policy.size if policy.wraps else 0
            numbers += policy.size, added, step, j * indices.distance * itemsize
        return numbers

    def signature(self, gather: AxisGather, tuples: int, *rest: int) -> list[int]:
        """Return what of a gather does not depend on sizes, in the order in which `again.c` reads.

        `tuples` is whether the indices are, and `rest` what the kernel does not know.
        """
        points, (type_of_index, outside) = self.points, self._numbers()[2:4]
        numbers = [self.dtype.itemsize, type_of_index, outside, int(points.policies[0].wraps)]
        numbers += [gather.axis, len(points.policies), len(gather.view) + len(points.policies) - 1]
        numbers += [len(points.shape) + tuples, len(gather.dim_map)]
        numbers += [BLOCK_BYTES, LOCATED_CHUNKS, CACHE_BYTES, tuples, *rest]
        return numbers + [-1 if n is None else n for pair in gather.dim_map for n in pair]

    def _goes_by_rows(self, level: int) -> bool:
        """Return whether a loop with all inner loops is copied by rows, directly from `data`.

        A row of `data` is `axis_size` adjacent chunks, so that `take` goes along it: outside at
        most one loop from row to row, inside at most one from index to adjacent index.
        """
        loops = self.loops[level:]
        shared = [loop for loop in loops if loop.indices == 0]
        picked = [loop for loop in loops if loop.indices]
        return (
            self.step == 1
            and [*shared, *picked] == list(loops)
            and all(loop.data == self.axis_size for loop in shared)
            and all((loop.data, loop.indices) == (0, 1) for loop in picked)
            and len(shared) <= 1 >= len(picked)
        )


def _merged(dim_map: DimMap, data: AnyArray, memory: Memory, points: ResolvedIndices) -> list[Loop]:
    """Return a loop for each output dimension; contiguous dimensions share one."""
    loops = list[Loop]()
    shape = points.shape
    for d, i in dim_map:
        loop = Loop(
            data.shape[d] if i is None and d is not None else shape[i or 0],
            0 if d is None else memory.steps[d],
            0 if i is None else points.steps[i],
        )
        if loop.size == 1:
            continue
        last = loops[-1] if loops else None
        if last and last[1:] == (loop.data * loop.size, loop.indices * loop.size):
            loops[-1] = loop._replace(size=last.size * loop.size)
        else:
            loops.append(loop)
    return loops


def _spans(loops: Sequence[Loop]) -> list[int]:
    """Return the number of chunks that a coordinate of each loop spans."""
    spans = [1]
    for loop in reversed(loops[1:]):
        spans.append(spans[-1] * loop.size)
    return list(reversed(spans)) if loops else []


def _aligned(cells: int, spans: Sequence[int]) -> int:
    """Shorten a block of elements to whole runs of the largest loop inside it."""
    for span in spans:
        if 0 < span <= cells:
            return cells // span * span
    return cells


def _clear(target: AnyArray, none: AnyArray) -> None:
    """Set to zero the chunks, shape (N.., bytes), that `none`, shape (N..), marks."""
    width = target.shape[-1]
    if width in (2, 4, 8):  # measured: faster as one integer each
        target.view(f"u{width}")[..., 0][none] = 0
    else:
        target[none] = 0


class _Place(NamedTuple):
    """The start of a range: a number of chunks in `data`, and of elements in `indices`."""

    data: int
    indices: int

    def on(self, loop: Loop, count: int) -> _Place:
        """Advance by `count` coordinates of a loop."""
        return _Place(self.data + count * loop.data, self.indices + count * loop.indices)


class Worker:
    """A copier of ranges of the output, with the buffers of one thread."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._bases: dict[int, AnyArray | None] = {}
        self._positions = np.empty(0, np.int64)

    def fill(self, start: int, stop: int, out: AnyArray) -> None:
        """Copy the output elements from `start` to before `stop`, flat positions, row-major.

        `out` has shape ((stop - start) * itemsize,), uint8, for them in native byte order.
        """
        kernel = self._kernel
        if not kernel.bytes.size:
            out[:] = 0
        else:
            self._stretch(0, start, stop, _Place(0, 0), out)
        if not kernel.dtype.isnative:
            out.view(kernel.dtype).byteswap(inplace=True)

    def _stretch(self, level: int, start: int, stop: int, place: _Place, out: AnyArray) -> None:
        """Copy a range of the loop at a level: first the partial ends, then the middle."""
        kernel = self._kernel
        if level == len(kernel.loops):
            self._part(start, stop, place, out)
            return
        # A range is the end of one coordinate (head), whole coordinates, the start of one (tail).
        loop, itemsize = kernel.loops[level], kernel.dtype.itemsize
        span = kernel.spans[level] * kernel.chunk
        (first, head), (last, tail) = divmod(start, span), divmod(stop, span)
        if first == last:
            self._stretch(level + 1, head, tail, place.on(loop, first), out)
            return
        if head:
            size = (span - head) * itemsize
            self._stretch(level + 1, head, span, place.on(loop, first), out[:size])
            out, first = out[size:], first + 1
        if tail:
            size = out.size - tail * itemsize
            self._stretch(level + 1, 0, tail, place.on(loop, last), out[size:])
            out = out[:size]
        if last > first:
            self._whole(level, last - first, place.on(loop, first), out)

    def _part(self, start: int, stop: int, place: _Place, out: AnyArray) -> None:
        kernel = self._kernel
        at = int(self._points(place, (1,), (0,))[0])
        if at < 0:
            out[:] = 0
        else:
            itemsize = kernel.dtype.itemsize
            chunk = kernel.bytes[place.data + at * kernel.step]
            out[:] = chunk[start * itemsize : stop * itemsize]

    def _whole(self, level: int, count: int, place: _Place, out: AnyArray) -> None:
        """Copy `count` whole coordinates of the loop at a level."""
        kernel = self._kernel
        loop, width = kernel.loops[level], out.size // count
        if kernel.by_rows[level]:
            self._rows(level, count, place, out)
            return
        # The number of coordinates with indices or positions that fit in the buffer.
        fit = LOCATED_CHUNKS // kernel.spans[level]
        for at in range(0, count, max(fit, 1)):
            part = out[at * width : (at + max(fit, 1)) * width]
            there = place.on(loop, at)
            if fit:
                self._take(level, part.size // width, there, part)
            else:
                self._whole(level + 1, kernel.loops[level + 1].size, there, part)

    def _rows(self, level: int, count: int, place: _Place, out: AnyArray) -> None:
        """Copy rows directly from `data`.

        The loop at `level` is over rows that share their indices, or over the chunks of one row;
        `count` of its coordinates are copied.
        """
        kernel = self._kernel
        first, *inner = kernel.loops[level:]
        rows, picked = (1, count) if first.indices else (count, inner[0].size if inner else 1)
        at = self._points(place, (picked,), (1,))
        size, width = kernel.axis_size, kernel.bytes.shape[-1]
        source = kernel.bytes[place.data :][: rows * size].reshape(rows, size, width)
        target = out.reshape(rows, picked, width)
        source.take(at, 1, target, "clip")
        if kernel.points.fills and (none := at < 0).any():
            _clear(target, np.broadcast_to(none, (rows, picked)))

    def _take(self, level: int, count: int, place: _Place, out: AnyArray) -> None:
        """Copy `count` coordinates of the loop at a level by the positions of their chunks."""
        kernel = self._kernel
        loops = kernel.loops[level:]
        shape = (count, *(loop.size for loop in loops[1:]))
        at = self._points(place, shape, tuple(loop.indices for loop in loops))
        none = at < 0 if kernel.points.fills else None
        # `at` may lie in the same scratch: each sum overwrites its own position alone. From a -1
        # comes any sum: `clip` keeps it inside `data`, and `_clear` drops what it takes.
        sums = self._scratch(shape)
        if kernel.step != 1:
            at = np.multiply(at, kernel.step, out=sums)
        base = self._base(level)
        if base is not None:
            at = np.add(at, base[:count], out=sums)
        target = out.reshape(*shape, -1)
        kernel.bytes[place.data :].take(at, 0, target, "clip")
        if none is not None and none.any():
            _clear(target, none)

    def _points(self, place: _Place, shape: tuple[int, ...], steps: tuple[int, ...]) -> AnyArray:
        """Return the positions of the indices from a place on, at distances `steps`."""
        return self._kernel.points.part(place.indices, shape, steps, self._scratch)

    def _scratch(self, shape: tuple[int, ...]) -> AnyArray:
        size = product(shape)
        if self._positions.size < size:
            self._positions = np.empty(size, np.int64)
        return self._positions[:size].reshape(shape)

    def _base(self, level: int) -> AnyArray | None:
        """Return the offsets of coordinates in a block; None if all are 0."""
        if level not in self._bases:
            kernel = self._kernel
            loops = kernel.loops[level:]
            most = min(loops[0].size, LOCATED_CHUNKS // kernel.spans[level])
            base = np.zeros((), np.int64)
            for size, loop in zip([most, *(loop.size for loop in loops[1:])], loops, strict=True):
                base = np.add.outer(base, np.arange(size) * loop.data)
            self._bases[level] = base if any(loop.data for loop in loops) else None
        return self._bases[level]
