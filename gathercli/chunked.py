"""From chunk to chunk: any box of the output, from the chunks of `data` that its indices are in.

::

    box of the output  ->  box of `indices`  ->  positions, sorted by the chunk that they are in
    each of those chunks, read once          ->  its elements, where they belong in the box

So what is held is a box of the output, its indices, and one chunk of `data`; and a chunk is read
once for every box that needs it. Nothing here opens a file or prints.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import product as combinations
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli import engine
from gathercli.core.dims import product
from gathercli.core.dtypes import Tensor
from gathercli.core.picks import Picks, Sort, Tallies, Tally, Treatment, tallied
from gathercli.core.positions import coordinate, known
from gathercli.core.spec import Indices, Negative, OutOfRange
from gathercli.core.threads import share
from gathercli.core.tiles import Held, cells, cuts, everything, sizes, tiled
from gathercli.errors import GatherError, LimitError
from gathercli.kernel import BLOCK, Kernel, Worker
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    import numpy as np

    from gathercli.core.call import Call
    from gathercli.core.dtypes import AnyArray
    from gathercli.core.tiles import Box, Span, Tiles
    from gathercli.engine import Tick, Treated

PIECE: Final = 1 << 18
"""Elements that are handed to their places at a time."""

INDEX_BYTES: Final = 48
"""What an index takes while it is worked with: its position, its chunk, its place among others."""

COPIES: Final = 3
"""How often a chunk is held while it is read or written: as stored, decoded, and copied."""

WORTH: Final = 64 << 20
"""Bytes of output that are worth a task, whatever it must read."""


class Gathering(NamedTuple):
    """A bound call and the tensors it is of, which are read chunk by chunk."""

    call: Call
    data: Tiles
    indices: Tiles

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return known(engine.infer(self.call))

    @property
    def walks(self) -> Sequence[tuple[int | None, int | None]]:
        """For each output dimension, those of `data` and of `indices` it walks along."""
        return FAMILIES[self.call.op.family].walks(self.call)

    def cost(self, box: Box) -> int:
        """Estimate the bytes held while a box is made."""
        indices = cells(self._indices_box(box))
        chunks = [(self.data, self.data.chunks)] if not isinstance(self.data, Held) else []
        if not isinstance(self.indices, Held):
            chunks.append((self.indices, self.indices.chunks))
        read = sum(product(sizes) * tiles.storage.itemsize for tiles, sizes in chunks)
        itemsize = self.data.storage.itemsize
        made = cells(box) * itemsize
        pieces = min(made, PIECE * (itemsize + 8 * len(self.shape)))
        return made + indices * INDEX_BYTES + read * COPIES + pieces

    def block(self, box: Box) -> AnyArray:
        """Make a box of the output, whose indices are all legal.

        Returns
        -------
            The shape of the box, C-ordered, in native byte order.
        """
        import numpy as np

        positions = engine.positions(self.call, self.indices.read(self._indices_box(box)))
        out = np.zeros(sizes(box), self.data.storage)
        if out.size:
            self._fill(box, positions, out)
        return out

    def _indices_box(self, box: Box) -> Box:
        spans = {i: span for span, (_, i) in zip(box, self.walks, strict=True) if i is not None}
        return tuple(spans[i] for i in range(len(self.indices.shape)))

    def _fill(self, box: Box, positions: AnyArray, out: AnyArray) -> None:
        """Cut a box where chunks of `data` end, along all dimensions but the axis."""
        axis = self.call.places[0]
        spans = {d: span for span, (d, _) in zip(box, self.walks, strict=True) if d is not None}
        dims = [d for d in range(len(self.data.shape)) if d != axis]
        for cut in combinations(*(list(cuts(spans[d], self.data.chunks[d])) for d in dims)):
            at = dict(zip(dims, cut, strict=True))
            parts: list[Any] = []
            picked: dict[int, slice] = {}
            for whole, (d, i) in zip(box, self.walks, strict=True):
                start, stop = whole if d is None else at[d]
                parts.append(slice(start - whole[0], stop - whole[0]))
                if i is not None:
                    picked[i] = parts[-1]
            of: Any = (*(picked[i] for i in range(positions.ndim)), ...)  # a view, even of 0-D
            _Part(self, at, positions[of], out[(*parts, ...)]).fill()


class _Part:
    """A part of a box that is in one chunk of `data` along every dimension but the axis.

    Parameters
    ----------
    at
        For every dimension of `data` but the axis, its span there.
    positions
        Where the indices of the part point, -1 for none.
    out
        The part, all zeros.
    """

    def __init__(
        self, gathering: Gathering, at: dict[int, Span], positions: AnyArray, out: AnyArray
    ) -> None:
        self._gathering, self._at, self._positions, self._out = gathering, at, positions, out
        self._axis, self._walks = gathering.call.places[0], gathering.walks
        self._shares = any(None not in walk for walk in self._walks)
        """Whether the indices differ from one coordinate of `data` to another."""

    def fill(self) -> None:
        """Read every chunk that any position is in, once."""
        import numpy as np

        positions = self._positions
        size = self._gathering.data.chunks[self._axis]
        first, last = int(positions.min()), int(positions.max())
        if last < 0:
            return
        if max(first, 0) // size == last // size:
            self._from_one(positions, first < 0)
            return
        numbers = (positions // size).reshape(-1)  # -1 stays, and comes first
        if last // size < np.iinfo(np.int16).max:
            numbers = numbers.astype(np.int16)  # which numpy sorts in linear time
        order = numbers.argsort(kind="stable")
        numbers = numbers[order]
        starts = np.flatnonzero(np.diff(numbers)) + 1
        for start, stop in zip([0, *starts], [*starts, len(order)], strict=True):
            if numbers[start] >= 0:
                self._scatter(order[start:stop])

    def _read(self, first: int, last: int) -> AnyArray:
        """Read the positions from first to last, which are in one chunk."""
        dims = range(len(self._gathering.data.shape))
        box = tuple((first, last + 1) if d == self._axis else self._at[d] for d in dims)
        return self._gathering.data.read(box)

    def _from_one(self, positions: AnyArray, fills: bool) -> None:
        """Fill the part from a single chunk."""
        import numpy as np

        first = int(positions[positions >= 0].min() if fills else positions.min())
        chunk = self._read(first, int(positions.max()))
        where = np.where(positions < 0, -1, positions - first) if fills else positions - first
        size = chunk.shape[self._axis]
        how = Treatment(size, wraps=False, outside=OutOfRange.ZERO)
        picks = Picks(where, how, Sort.PLAIN, fills=fills)
        kernel = Kernel(self._walks, chunk, self._axis, picks)
        whole = self._out.flags.c_contiguous
        made = self._out if whole else np.empty(self._out.shape, self._out.dtype)
        Worker(kernel).fill(0, made.size, made.reshape(-1).view(np.uint8))
        if not whole:
            self._out[...] = made

    def _scatter(self, order: AnyArray) -> None:
        """Hand the elements of one chunk to their places.

        Parameters
        ----------
        order
            The flat places of the indices whose positions are in the chunk.
        """
        import numpy as np

        places = np.unravel_index(order, self._positions.shape)
        positions = self._positions[places]
        first = int(positions.min())
        chunk = self._read(first, int(positions.max()))
        positions -= first
        put = self._put_shared if self._shares else self._put
        free = product(
            [n for n, (_, i) in zip(self._out.shape, self._walks, strict=True) if i is None]
        )
        step = max(1, PIECE // max(1, free))
        for start in range(0, order.size, step):
            part = slice(start, start + step)
            put(chunk, positions[part], tuple(each[part] for each in places))

    def _put(self, chunk: AnyArray, positions: AnyArray, places: tuple[AnyArray, ...]) -> None:
        """Store what all of `data` around the axis shares its indices for."""
        walked = [o for o, (_, i) in enumerate(self._walks) if i is not None]
        taken = chunk.take(positions, self._axis)
        index: list[Any] = [slice(None)] * self._out.ndim
        for o, each in zip(walked, places, strict=True):
            index[o] = each
        self._out[tuple(index)] = taken

    def _put_shared(
        self, chunk: AnyArray, positions: AnyArray, places: tuple[AnyArray, ...]
    ) -> None:
        """Store what has indices of its own at every coordinate that `data` shares with them."""
        walks = list(enumerate(self._walks))
        at: dict[int | None, AnyArray] = {d: places[i] for _, (d, i) in walks if i is not None}
        at[self._axis] = positions
        free = [(o, d) for o, (d, i) in walks if i is None and d is not None]
        picked = [d for d in range(chunk.ndim) if d in at]
        walked = [o for o, (_, i) in walks if i is not None]
        source = chunk.transpose(*picked, *(d for _, d in free))
        target = self._out.transpose(*walked, *(o for o, _ in free))
        target[places] = source[tuple(at[d] for d in picked)]


def examined(gathering: Gathering, *, threads: int = 1, tick: Tick | None = None) -> list[Treated]:
    """Look at every index, chunk by chunk, as `engine.examined` does.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    """
    call, indices = gathering.call, gathering.indices
    if isinstance(indices, Held):
        return engine.examined(call, indices.tensor.array, threads=threads, tick=tick)[1]
    boxes = list(tiled(everything(indices.shape), _larger(indices)))
    found, lock = Tallies(Tally(), Tally(), Tally()), Lock()
    how = Treatment(call.size, call.wraps_negative, call.outside)
    counts = call.negative is Negative.ERROR or call.op.indices is Indices.UNSIGNED

    def look(number: int) -> None:
        nonlocal found
        box = boxes[number]
        seen, _ = tallied(indices.read(box), how, counts=counts)
        for tally in seen:
            _place(tally, box, indices.shape)
        with lock:
            found = Tallies(*(one | other for one, other in zip(found, seen, strict=True)))

    total = product(indices.shape) * indices.storage.itemsize
    told = None if tick is None else lambda done: tick("checked", total * done // len(boxes), total)
    share(len(boxes), lambda: look, threads, told)
    return engine.judged(call, found, indices.shape)


def _larger(tiles: Tiles) -> list[int]:
    """Return sizes of boxes of whole chunks that are worth looking at one by one."""
    grown = list(tiles.chunks)
    for d in reversed(range(len(grown))):
        room = (BLOCK // tiles.storage.itemsize) // max(1, product(grown))
        grown[d] *= max(1, min(room, -(-tiles.shape[d] // grown[d])))
    return grown


def _place(tally: Tally, box: Box, shape: Sequence[int]) -> None:
    """Count the first of a box among all: what is row-major in a box is so in the whole."""
    at = 0
    for inner, (start, _), size in zip(
        coordinate(tally.first, sizes(box)), box, shape, strict=True
    ):
        at = at * size + start + inner
    tally.first = at


def tasks(
    gathering: Gathering, chunks: Sequence[int], most: int | None, *, threads: int
) -> list[Box]:
    """Cut the output into boxes of whole chunks, so that few need the same chunk of `data`.

    A box grows first along what walks along `indices` alone: all that it covers there is served
    by one reading of `data`.

    Parameters
    ----------
    chunks
        The chunks of the output.
    most
        Bytes that may be held for a box; None for any.
    threads
        How many boxes there should be at least, if there are as many chunks.

    Raises
    ------
    LimitError
        ``limit``: a single chunk takes more.
    """
    shape = gathering.shape
    counts = [-(-n // size) for n, size in zip(shape, chunks, strict=True)]
    if 0 in counts:
        return []
    grown = [1] * len(shape)

    def box(times: Sequence[int]) -> Box:
        return tuple((0, min(t * c, n)) for t, c, n in zip(times, chunks, shape, strict=True))

    def fits(times: Sequence[int], least: int) -> bool:
        number = product([-(-count // t) for count, t in zip(counts, times, strict=True)])
        return number >= least and (most is None or gathering.cost(box(times)) <= most)

    if not fits(grown, 0):
        cost = gathering.cost(box(grown))
        raise LimitError(
            f"a chunk of the result, and what is read for it, takes about {cost} bytes: "
            f"expected at most {most} bytes",
            rule="limit",
            value=cost,
            expected=f"at most {most} bytes",
            hint="smaller chunks (`--chunks`), or a higher `--max-bytes`",
        )
    alone = [o for o, (d, _) in enumerate(gathering.walks) if d is None]
    others = [o for o in range(len(shape)) if o not in alone]
    for o in reversed(alone):
        grown[o] = _grow(grown, o, counts[o], lambda times: fits(times, threads))
    for o in reversed(others):
        if cells(box(grown)) * gathering.data.storage.itemsize < WORTH:
            grown[o] = _grow(grown, o, counts[o], lambda times: fits(times, 4 * threads))
    steps = [t * c for t, c in zip(grown, chunks, strict=True)]
    spans = [list(cuts((0, n), step)) for n, step in zip(shape, steps, strict=True)]
    # Boxes that need the same chunks follow each other: the system may still hold them.
    dims = [*others, *alone]
    found = combinations(*(spans[o] for o in dims))
    return [tuple(each[dims.index(o)] for o in range(len(shape))) for each in found]


def _grow(grown: Sequence[int], o: int, count: int, fits: Callable[[Sequence[int]], bool]) -> int:
    """Find how many chunks of a dimension a box may have."""

    def times(number: int) -> list[int]:
        return [*grown[:o], number, *grown[o + 1 :]]

    low, high = 1, count
    while low < high:
        middle = (low + high + 1) // 2
        if fits(times(middle)):
            low = middle
        else:
            high = middle - 1
    return low


def slabs(gathering: Gathering, most: int | None, *, threads: int) -> list[Box]:
    """Cut the output into boxes that follow each other row-major, as `tasks` does."""
    shape = gathering.shape
    if 0 in shape:
        return []
    steps = [1] * len(shape)
    most_rows = max(1, shape[0] // threads) if shape else 1

    def fits(times: Sequence[int]) -> bool:
        enough = not times or times[0] <= most_rows
        return enough and (most is None or gathering.cost(everything(times)) <= most)

    for o in reversed(range(len(shape))):
        steps[o] = _grow(steps, o, shape[o], fits)
        if steps[o] < shape[o]:
            break
    return list(tiled(everything(shape), steps))


class Run(engine.Run):
    """A call whose output is made slab by slab, from chunks; every index was checked."""

    def __init__(
        self,
        gathering: Gathering,
        treated: Iterable[Treated],
        most: int | None,
        *,
        threads: int,
        tick: Tick | None,
    ) -> None:
        self.call, self.dtype, self.treated = gathering.call, gathering.data.dtype, tuple(treated)
        self.shape, self.threads, self._tick = gathering.shape, threads, tick
        self._gathering = gathering
        self._slabs = slabs(gathering, most, threads=threads)
        ends = [0]
        for box in self._slabs:
            ends.append(ends[-1] + cells(box))
        self._ends = ends

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy dtype of the elements, in native byte order."""
        return self._gathering.data.storage

    @property
    def nbytes(self) -> int:
        """Bytes the output takes."""
        return self._ends[-1] * self.storage.itemsize

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return what gives any part of the output, as `engine.Run.parts` does."""
        import numpy as np

        held: tuple[int, AnyArray] = -1, np.empty(0, self.storage)

        def part(start: int, stop: int) -> AnyArray:
            nonlocal held
            found: list[AnyArray] = []
            while start < stop:
                number = bisect_right(self._ends, start) - 1
                if held[0] != number:
                    held = number, self._gathering.block(self._slabs[number]).reshape(-1)
                base, end = self._ends[number], min(stop, self._ends[number + 1])
                found.append(held[1][start - base : end - base])
                start = end
            return found[0] if len(found) == 1 else np.concatenate([held[1][:0], *found])

        return part

    def blocks(self, cells: int | None = None) -> Iterator[AnyArray]:
        """Yield the output in row-major order, flat, up to `cells` elements at a time."""
        cells = cells or max(1, BLOCK // self.storage.itemsize)
        part, total = self.parts(), self._ends[-1]
        for start in range(0, total, cells):
            stop = min(start + cells, total)
            yield part(start, stop)
            self.told("gathered", stop * self.storage.itemsize)

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Give the output slab by slab, by several threads, as `engine.Run.place` does."""
        import numpy as np

        itemsize = self.storage.itemsize

        def do(number: int) -> None:
            block = self._gathering.block(self._slabs[number]).reshape(-1)
            put(block.view(np.uint8), self._ends[number] * itemsize)

        def told(done: int) -> None:
            self.told("gathered", self._ends[done] * itemsize)

        share(len(self._slabs), lambda: do, self.threads, told)

    def whole(self) -> Tensor:
        """Return all of the output."""
        import numpy as np

        try:
            out = np.empty(self.shape, self.storage)
        except MemoryError as error:
            raise engine.no_memory(error) from None
        flat = out.reshape(-1).view(np.uint8)

        def put(part: AnyArray, at: int) -> None:
            flat[at : at + part.size] = part

        self.place(put)
        return Tensor(self.dtype, out)


def run(
    gathering: Gathering,
    *,
    max_bytes: int | None = None,
    held: int | None = None,
    threads: int = 1,
    tick: Tick | None = None,
) -> Run:
    """Check every index and the size of the result, as `engine.run` does.

    Parameters
    ----------
    held
        Bytes that may be held at a time; None for any.
    """
    call = gathering.call
    try:
        treated = examined(gathering, threads=threads, tick=tick)
        engine.check_size(gathering.shape, gathering.data, max_bytes)
    except GatherError as error:
        error.met(call.op.full_name, str(call.data), str(call.indices))
        raise
    most = None if held is None else held // (2 * threads)
    return Run(gathering, treated, most, threads=threads, tick=tick)
