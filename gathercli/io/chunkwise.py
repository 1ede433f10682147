"""Write results in chunks: compute box by box, and write each chunk once."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from gathercli.arrays.blocks import CopyBlocks
from gathercli.arrays.chunks import ChunkGrid, cells, inside, slices
from gathercli.arrays.partition import cut_boxes
from gathercli.arrays.threads import share
from gathercli.errors import LimitError, UsageError
from gathercli.io.write import unwritable
from gathercli.spec.shapes import product
from gathercli.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Protocol

    from gathercli.arrays.blocks import BlockSource
    from gathercli.arrays.chunks import Box
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.io.zarr import Creation, Writer

    class BoxWorkers(Protocol):
        """Workers in other processes."""

        @property
        def threads(self) -> int:
            """The number of boxes they compute at a time."""

        @property
        def memory(self) -> int | None:
            """The bytes of memory for a box; None for no limit."""

        def write(self, path: str, chunks: Sequence[int], boxes: Sequence[Box]) -> Generator[int]:
            """Compute boxes and write them to `path`; yield the number of elements of each."""


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
    """Create the output and write all chunks; `Creation.commit` then gives it its name.

    Parameters
    ----------
    source
        The boxes of a tensor, or of the output of a call with checked indices.
    chunks
        The sizes of the chunks; None to choose them.
    memory
        The bytes of memory to use; None for no limit.
    threads
        The number of threads.
    progress
        Called with the bytes of the output written so far and the total.
    workers
        Computes the boxes in place of this process, each with `workers.memory` bytes.

    Raises
    ------
    UsageError
        The rank of `chunks` is not that of the output.
    LimitError
        ``limit``: a chunk takes more than `memory`.
    OutputError, TransferError
        ``output``.
    """
    if workers is None:
        cut = partial(cut_boxes, source, memory=memory, threads=threads)
    else:
        cut = partial(cut_boxes, source, memory=workers.memory, threads=1, least=workers.threads)
    if chunks is None:
        sizes, (threads, boxes) = _choose_chunks(source, cut)
    else:
        sizes = _checked(chunks, source.shape)
        threads, boxes = cut(sizes)
    data = source.data
    itemsize = data.storage.itemsize
    total = product(source.shape) * itemsize
    if memory is not None:
        _check_room(output, total)
    same = isinstance(source, CopyBlocks)
    output.open(source.shape, data.dtype, sizes, data, storage=data.storage, same=same)
    numbers: Generator[int]
    if workers is None:
        writer = output.writer(output.temporary)
        numbers = (fill(source, writer, sizes, box, threads) for box in boxes)
    else:
        numbers = workers.write(output.temporary, sizes, boxes)
    done = 0
    with closing(numbers):
        for number in numbers:
            done += number * itemsize
            if progress is not None:
                progress("gathered", done, total)


def fill(
    source: BlockSource, writer: Writer, chunks: Sequence[int], box: Box, threads: int = 1
) -> int:
    """Compute a box of whole chunks, and write them; return the number of its elements."""
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
    """Choose chunks that suit the data, smaller ones if memory is scarce."""
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


def _checked(chunks: Sequence[int], shape: tuple[int, ...]) -> Sequence[int]:
    """Return `chunks`; raise if their rank is not that of the output."""
    if len(chunks) != len(shape):
        raise UsageError(
            f"`--chunks` has {counted(len(chunks), 'size')}, and the result has "
            f"{counted(len(shape), 'dimension')}: expected one for each",
            rule="usage",
            value=",".join(map(str, chunks)),
        )
    return chunks


def _check_room(output: Creation, size: int) -> None:
    """Raise if the disk has no room for the output, if its free space is known."""
    try:
        disk = os.statvfs(output.folder)
    except OSError:  # `Creation.open` has the message
        return
    free = disk.f_bavail * disk.f_frsize
    if size > free:
        why = f"the result takes {size} bytes before it is compressed and the disk has {free}"
        raise unwritable(output.path, why, "room for it", "`--max-bytes 0` tries it")
