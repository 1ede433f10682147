"""Write arrays box by box and each chunk once, from any thread or process."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from gathercli.compute.blocks import CopyBlocks
from gathercli.compute.chunks import ChunkGrid, cells, inside, sizes, slices, tiled
from gathercli.compute.streamed import cut_boxes
from gathercli.compute.threads import share
from gathercli.errors import GatherError, LimitError, TransferError, UsageError, reason_of
from gathercli.io.write import check_room
from gathercli.io.zarr.chunkfiles import ChunkCodec, ChunkFiles
from gathercli.io.zarr.stored import Node, grid_coordinates, reason
from gathercli.spec.shapes import product
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Protocol

    from gathercli.compute.blocks import BlockSource
    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.zarr.arrayspec import ArraySpec
    from gathercli.io.zarr.created import Creation

    class BoxWorkers(Protocol):
        """Workers in other processes."""

        @property
        def threads(self) -> int:
            """The number of boxes computed at a time."""

        @property
        def memory(self) -> int | None:
            """The memory for a box in bytes; None for no limit."""

        def write(self, path: str, chunks: Sequence[int], boxes: Sequence[Box]) -> Generator[int]:
            """Compute boxes and write them to `path`; yield the number of elements in each."""


def write(
    source: BlockSource,
    output: Creation,
    chunks: Sequence[int] | None = None,
    *,
    memory: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
    workers: BoxWorkers | None = None,
) -> None:
    """Create `output` and write all its chunks, without `Creation.commit`.

    The source has the elements of a tensor, or of the output of a call with checked indices.
    `chunks` are the sizes of a chunk, None to choose them; `memory` is in bytes, None for no limit.
    `progress` is called with the bytes of the output written so far and the total. `workers` are
    processes that compute the boxes, each with `workers.memory` bytes; None for this process. Raise
    UsageError if `chunks` has another rank than the output, LimitError if a chunk needs more than
    `memory`.
    """
    if workers is None:
        cut = partial(cut_boxes, source, memory=memory, threads=threads)
    else:
        cut = partial(cut_boxes, source, memory=workers.memory, threads=1, least=workers.threads)
    if chunks is None:
        chunks, (threads, boxes) = _choose_chunks(source, cut)
    else:
        _check_rank(chunks, source.shape)
        threads, boxes = cut(chunks)
    data, itemsize = source.data, source.data.storage.itemsize
    total = product(source.shape) * itemsize
    if memory is not None:
        check_room(output.path, output.folder, total, packs=True)
    copies = isinstance(source, CopyBlocks)
    output.open(
        source.shape, data.dtype, chunks, data, storage=data.storage, copy_attributes=copies
    )
    counts: Generator[int]
    if workers is None:
        writer = writer_at(output.temporary)
        counts = (fill(source, writer, chunks, box, threads) for box in boxes)
    else:
        counts = workers.write(output.temporary, chunks, boxes)
    done = 0
    try:
        with closing(counts):
            for count in counts:
                done += count * itemsize
                if progress is not None:
                    progress("gathered", done, total)
    except GatherError as error:
        if error.rule == "output":
            error.prefix(f"`{clean(output.path)}`")
        raise


def fill(
    source: BlockSource, writer: Writer, chunks: Sequence[int], box: Box, threads: int = 1
) -> int:
    """Compute and write a box of whole chunks; return the number of its elements."""
    block = source.block(box, threads)
    grid = ChunkGrid(box, chunks)

    def put(number: int) -> None:
        part = grid.part(number)
        writer.write(part, block[slices(inside(part, box))])

    share(grid.number, lambda: put, threads)
    return cells(box)


def _choose_chunks(
    source: BlockSource, cut: Callable[[Sequence[int]], tuple[int, list[Box]]]
) -> tuple[Sequence[int], tuple[int, list[Box]]]:
    """Choose the sizes of the chunks by the data; halve them while a chunk exceeds the memory."""
    sizes = list(source.choose_chunks())
    while True:
        try:
            return sizes, cut(sizes)
        except LimitError:
            divisible = [o for o in source.index_dims if sizes[o] > 1] or range(len(sizes))
            largest = max(divisible, key=sizes.__getitem__, default=None)
            if largest is None or sizes[largest] == 1:
                raise
            sizes[largest] = -(-sizes[largest] // 2)


def _check_rank(chunks: Sequence[int], shape: tuple[int, ...]) -> None:
    """Raise if `chunks` does not have one size for each dimension of `shape`."""
    if len(chunks) != len(shape):
        raise UsageError(
            f"has {counted(len(chunks), 'size')}, and the result has "
            f"{counted(len(shape), 'dimension')}",
            subject="--chunks",
            value=",".join(map(str, chunks)),
            expected="one for each",
        )


class Writer:
    """A thread-safe writer of the chunks of a new array."""

    def __init__(self, path: str, spec: ArraySpec) -> None:
        self._path, self._spec = path, spec
        self._files, self._codec = ChunkFiles(path, path, spec), ChunkCodec(spec)

    def write(self, box: Box, block: AnyArray) -> None:
        """Write a box of whole chunks, which the end of the array may cut."""
        if 0 in sizes(box):
            return
        try:
            for part in tiled(box, self._spec.chunks):
                self._write_chunk(part, block[slices(inside(part, box))])
        except FileNotFoundError:
            raise _vanished(self._path) from None
        except OSError as error:
            if isinstance(error, GatherError):
                raise
            raise TransferError(
                f"writing stopped ({reason_of(error)}), the output is not complete"
            ) from None
        except (ValueError, TypeError, RuntimeError) as error:
            raise TransferError(
                f"a chunk cannot be packed ({reason(error)}), the output is not complete"
            ) from error

    def _write_chunk(self, part: Box, elements: AnyArray) -> None:
        """Write a chunk, padded with the fill value beyond the end of the array."""
        spec = self._spec
        if elements.shape != spec.chunks:
            chunk = spec.fill_array(spec.chunks)
            chunk[slices(spec.inside_chunk(part))] = elements
            elements = chunk
        key = spec.key(grid_coordinates(part, spec.chunks))
        self._files.write(key, self._codec.encode(elements))


def writer_at(path: str) -> Writer:
    """Return a writer for the array at `path`, which this or another process created."""
    node = Node.of_path(path)
    if node is None:
        raise _vanished(path)
    return Writer(path, node.spec)


def _vanished(path: str) -> TransferError:
    return TransferError(f"`{clean(path)}` is gone", expected="the new array")
