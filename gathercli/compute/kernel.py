"""Copy any range of the output of a gather along one axis, by ``numpy.take`` of whole chunks.

Each output dimension corresponds to a dimension of `data`, of `indices`, or of both
(`AxisGather.dim_map`). The position in memory of an output element is a sum: a step for each
coordinate, and a step along the axis for the index. Contiguous dimensions are merged into one loop.
The contiguous elements of `data` after the last index are one chunk. Chunks are taken in one of
three ways:

rows
    directly from `data`, if consecutive outer coordinates use the same indices;
positions
    by the sums, computed for a block of chunks at a time;
columns
    by the sums, for all rows of a few columns at a time, if each column has its own elements of
    `data` and all of them exceed a core's cache.

All indices are legal, so ``take`` may clip: it then neither buffers nor checks, and releases the
interpreter's lock. It copies bytes of any type, byte order and alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from gathercli.compute import native
from gathercli.compute.indices import IndexKind, ResolvedIndices
from gathercli.compute.native import NativePlan, NativeWorker
from gathercli.compute.storage import AnyArray, Memory
from gathercli.spec.op import DimMap
from gathercli.spec.shapes import product

# Bytes of output computed at a time: few enough for a cache, many enough for a system call.
BLOCK_BYTES: Final = 1 << 20
LOCATED_CHUNKS: Final = 1 << 17  # the number of chunks to locate at a time
# Bytes of output from which a separate call of `take` is worth its time.
LEAST_TAKE_BYTES: Final = 1 << 15
CACHE_BYTES: Final = 512 << 10  # bytes of `data` that stay in a core's cache, as in `_native.c`
LINE_BYTES: Final = 64  # bytes of a line of the cache
# Coordinates below which starting numpy's innermost loop costs more than it saves.
LEAST_INNER_LOOP: Final = 32


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
        self.ways = [self._way(level) for level in range(len(self.loops))]
        self.columns = self._columns()
        most = min(BLOCK_BYTES // max(1, itemsize), LOCATED_CHUNKS * chunk)
        self.block = _aligned(max(1, most), [span * chunk for span in self.spans])

    @property
    def uses_each_once(self) -> bool:
        """Whether each index picks one contiguous run of `data`, so that it is read once."""
        return self.size == self.points.size * self.chunk

    @property
    def goes_by_columns(self) -> bool:
        """Whether each column of the output has its own column of `data`, in a large one.

        Then columns are copied a few at a time, the faster the more rows a part has.
        """
        return "columns" in self.ways

    def worker(self) -> NativeWorker | Worker:
        """Return a worker for one thread."""
        return self.threaded(1) or Worker(self)

    def threaded(self, threads: int) -> NativeWorker | None:
        """Return a worker in C that starts up to `threads` threads itself.

        None if the kernel in C was not built or does not serve this one.
        """
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
        """Return sizes, steps and policies, in the order in which `_native.c` reads them."""
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

    def _way(self, level: int) -> Literal["rows", "each", "columns", "positions"]:
        """Choose the way to copy a loop with all inner loops.

        By ``rows``, by the rows of ``each`` coordinate in turn, by ``columns`` or by ``positions``.
        """
        loops = self.loops[level:]
        # All rows take from the same columns of `data`, each column from its own: where these
        # exceed the cache, row by row would read each of them again.
        if len(loops) == 2 and not loops[0].data and loops[1].data and loops[1].indices:
            inner = loops[1].size * loops[1].data * self.bytes.shape[-1]
            if self.axis_size * inner > CACHE_BYTES:
                return "columns"
        # A row of `data` is `axis_size` adjacent chunks, so that `take` goes along it: outside at
        # most one loop from row to row, inside at most one from index to adjacent index.
        if self.step == 1 and len(loops) <= 2:
            shared = [loop for loop in loops if loop.indices == 0]
            picked = [loop for loop in loops if loop.indices]
            if (
                [*shared, *picked] == list(loops)
                and all(loop.data == self.axis_size for loop in shared)
                and all((loop.data, loop.indices) == (0, 1) for loop in picked)
                and len(shared) <= 1 >= len(picked)
            ):
                return "rows"
        large = self.spans[level] * self.bytes.shape[-1] >= LEAST_TAKE_BYTES
        if large and len(loops) > 1 and self._way(level + 1) == "rows":
            return "each"
        return "positions"

    def _columns(self) -> int:
        """Return the number of columns to copy at a time."""
        width = self.bytes.shape[-1]
        column: int = self.axis_size * width * (self.loops[-1].data if self.loops else 1)
        columns = CACHE_BYTES // max(1, column)
        if columns * width < LINE_BYTES:  # measured: of more than the cache, two lines at a time
            columns = 2 * LINE_BYTES // max(1, width)
        return max(1, min(columns, LOCATED_CHUNKS))


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


def _windows(chunks: AnyArray, shape: tuple[int, ...], step: int) -> AnyArray:
    """View chunks as an array of `shape`, with a step of `step` chunks in the first dimension."""
    *_, size, width = shape
    return np.ndarray(shape, np.uint8, chunks, 0, (step * width, size * width, width, 1))


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
        """Copy part of one chunk."""
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
        loop, width, way = kernel.loops[level], out.size // count, kernel.ways[level]
        if way == "rows":
            self._rows(level, 1, count, place, out)
            return
        inner = kernel.loops[level + 1].size if level + 1 < len(kernel.loops) else 1
        # The number of coordinates with indices or positions that fit in the buffer.
        fit = LOCATED_CHUNKS // kernel.spans[level]
        if way == "each":
            fit = 4 * LOCATED_CHUNKS // kernel.loops[-1].size
        elif way == "columns":
            fit = LOCATED_CHUNKS // kernel.columns
        for at in range(0, count, max(fit, 1)):
            part = out[at * width : (at + max(fit, 1)) * width]
            here, there = part.size // width, place.on(loop, at)
            if way == "each":
                self._rows(level + 1, here, inner, there, part)
            elif way == "columns":
                self._columns(level, here, there, part)
            elif fit:
                self._take(level, here, there, part)
            else:
                self._whole(level + 1, inner, there, part)

    def _rows(self, level: int, times: int, count: int, place: _Place, out: AnyArray) -> None:
        """Copy rows directly from `data`.

        The loop at `level` is over rows that share their indices, or over the chunks of one row;
        `count` of its coordinates are copied for each of `times` coordinates of the loop around it.
        """
        kernel = self._kernel
        first, *inner = kernel.loops[level:]
        rows, picked = (1, count) if first.indices else (count, inner[0].size if inner else 1)
        # Rows of one time share their indices: (times, rows, size) of `data` by (times, picked).
        around = kernel.loops[level - 1] if times > 1 else Loop(1, 0, 0)
        at = self._points(place, (times, picked), (around.indices, 1))
        size, width = kernel.axis_size, kernel.bytes.shape[-1]
        sources = _windows(kernel.bytes[place.data :], (times, rows, size, width), around.data)
        targets = out.reshape(times, rows, picked, width)
        for source, at_row, target in zip(sources, at, targets, strict=True):
            source.take(at_row, 1, target, "clip")
        if kernel.points.fills:
            none = at < 0
            for time in range(times):
                if none[time].any():
                    _clear(targets[time], np.broadcast_to(none[time], (rows, picked)))

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

    def _columns(self, level: int, count: int, place: _Place, out: AnyArray) -> None:
        """Copy `count` coordinates of the loop at a level, a few columns of all rows at a time."""
        kernel = self._kernel
        rows, columns = kernel.loops[level:]
        width = kernel.bytes.shape[-1]
        target = out.reshape(count, columns.size, width)
        # So few columns at a time that what all rows pick from them stays in the cache.
        for first in range(0, columns.size, kernel.columns):
            here, n = place.on(columns, first), min(kernel.columns, columns.size - first)
            at = self._points(here, (count, n), (rows.indices, columns.indices))
            none = at < 0 if kernel.points.fills else None
            sums = np.multiply(at, kernel.step, out=self._scratch(at.shape))
            sums += np.arange(n) * columns.data
            block = kernel.bytes[here.data :].take(sums, 0, mode="clip")
            if none is not None and none.any():
                _clear(block, none)
            target[:, first : first + n] = block

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
        if level in self._bases:
            return self._bases[level]
        kernel = self._kernel
        loops = kernel.loops[level:]
        most = min(loops[0].size, LOCATED_CHUNKS // kernel.spans[level])
        sizes = [most, *(loop.size for loop in loops[1:])]
        # A loop without a step in `data` adds nothing, and its dimension is left to broadcasting.
        base: AnyArray | None = None
        for after, (size, loop) in enumerate(zip(reversed(sizes), reversed(loops), strict=True)):
            if loop.data:
                steps = (np.arange(size) * loop.data).reshape(-1, *(1,) * after)
                base = steps if base is None else base + steps
        if base is not None:
            base = base.reshape((1,) * (len(sizes) - base.ndim) + base.shape)
            if base.shape[-1] < LEAST_INNER_LOOP:
                base = np.ascontiguousarray(np.broadcast_to(base, sizes))
        self._bases[level] = base
        return base
