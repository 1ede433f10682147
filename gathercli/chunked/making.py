"""What makes any box of an output: a call, or a copy, of tensors that are read in chunks."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from gathercli import engine
from gathercli.core.call import Operand
from gathercli.core.dims import Shape, product
from gathercli.core.picks import Picks, Sort, Treatment
from gathercli.core.positions import known
from gathercli.core.spec import OutOfRange
from gathercli.core.tiles import Held, cells, cuts, sizes
from gathercli.kernel import Kernel, Worker
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gathercli.core.call import Call
    from gathercli.core.dtypes import AnyArray
    from gathercli.core.tiles import Box, Span, Tiles

PIECE: Final = 1 << 18
"""Elements that are handed to their places at a time."""

INDEX_BYTES: Final = 48
"""What an index takes while it is worked with: its position, its chunk, its place among others."""

COPIES: Final = 3
"""How often a chunk is held while it is read or written: as stored, decoded, and copied."""

CHUNK: Final = 16 << 20
"""Bytes of a chunk of output where the data has none."""


def operand(tiles: Tiles) -> Operand:
    """Describe a tensor."""
    if isinstance(tiles, Held):
        return Operand.of(tiles.tensor)
    return Operand(Shape(tiles.shape), tiles.dtype)


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

    @property
    def alone(self) -> list[int]:
        """The output dimensions that walk along `indices` alone."""
        return [o for o, (d, _) in enumerate(self.walks) if d is None]

    def suited_chunks(self) -> tuple[int, ...]:
        """Choose chunks for the output: as those of `data` along its dimensions, and as large."""
        data = self.data
        if isinstance(data, Held):
            return suited(self.shape, [None] * len(self.shape), data.storage.itemsize)
        fixed = [None if d is None else data.chunks[d] for d, _ in self.walks]
        nbytes = product(data.chunks) * data.storage.itemsize
        return suited(self.shape, fixed, data.storage.itemsize, nbytes)

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


class Copied(NamedTuple):
    """A tensor that is copied as it is; the members are those of `Gathering`."""

    data: Tiles

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return self.data.shape

    @property
    def alone(self) -> list[int]:
        """No dimension: all of them are those of `data`."""
        return []

    def suited_chunks(self) -> tuple[int, ...]:
        """Choose chunks for the output: those of `data`."""
        data = self.data
        fixed = [None] * len(self.shape) if isinstance(data, Held) else data.chunks
        return suited(self.shape, fixed, data.storage.itemsize)

    def cost(self, box: Box) -> int:
        """Estimate the bytes held while a box is made."""
        itemsize = self.data.storage.itemsize
        read = 0 if isinstance(self.data, Held) else product(self.data.chunks) * itemsize
        return cells(box) * itemsize + read * COPIES

    def block(self, box: Box) -> AnyArray:
        """Make a box of the output, as `Gathering.block` does."""
        import numpy as np

        return np.ascontiguousarray(self.data.read(box))


Making: TypeAlias = "Gathering | Copied"


def suited(
    shape: Sequence[int], fixed: Sequence[int | None], itemsize: int, nbytes: int = CHUNK
) -> tuple[int, ...]:
    """Choose the sizes of chunks that are left open, from the last on, up to so many bytes.

    >>> suited((1000, 64, 8), (None, None, 8), 4, 4096)
    (2, 64, 8)
    """
    cells = nbytes // max(1, itemsize)
    chosen = [min(each or 1, max(1, n)) for n, each in zip(shape, fixed, strict=True)]
    for o in reversed(range(len(shape))):
        if fixed[o] is None:
            chosen[o] = max(1, min(shape[o], cells // product(chosen)))
    return tuple(chosen)


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
