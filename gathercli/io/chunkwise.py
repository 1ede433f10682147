"""Results as .zarr: each chunk computed and written once, by one of several threads."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from gathercli.arrays.blocks import CopyBlocks
from gathercli.arrays.chunks import ChunkGrid, cells, inside, slices
from gathercli.arrays.partition import cut_boxes
from gathercli.arrays.threads import share
from gathercli.errors import LimitError, OutputError, UsageError
from gathercli.spec.shapes import product
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Protocol

    from gathercli.arrays.blocks import BlockSource
    from gathercli.arrays.chunks import Box
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.io.zarr import Creation, Writer

    class Crew(Protocol):
        """Others who make boxes."""

        @property
        def threads(self) -> int:
            """How many boxes they make at a time."""

        @property
        def held(self) -> int | None:
            """Bytes of memory for each of those; None for any."""

        def make(self, path: str, chunks: Sequence[int], boxes: Sequence[Box]) -> Generator[int]:
            """Have boxes made and written to `path`; yield how many elements each had."""


def write(
    making: BlockSource,
    output: Creation,
    chunks: Sequence[int] | None = None,
    *,
    held: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
    crew: Crew | None = None,
) -> None:
    """Make the output, without giving it its name.

    Parameters
    ----------
    making
        A copy, or a call of which every index was checked.
    chunks
        The sizes of its chunks; None for those that suit the data.
    held
        Bytes of memory for it; None for any.
    threads
        How many may work.
    tick
        Is told how many bytes of the output were made, and of how many.
    crew
        Makes the boxes in place of this process, each with the memory that it says.

    Raises
    ------
    UsageError
        `chunks` are of another rank.
    LimitError
        ``limit``: a chunk takes more than `held`.
    OutputError, TransferError
        ``output``.
    """
    from gathercli.io.zarr import ZarrArray, writer

    if crew is None:
        cut = partial(cut_boxes, making, memory=held, threads=threads)
    else:
        cut = partial(cut_boxes, making, memory=crew.held, threads=1, least=crew.threads)
    if chunks is None:
        sizes, (threads, boxes) = _suited(making, cut)
    else:
        sizes = _checked(chunks, making.shape)
        threads, boxes = cut(sizes)
    itemsize = making.data.storage.itemsize
    total = product(making.shape) * itemsize
    if held is not None:
        _check_room(output, total)
    like = making.data if isinstance(making.data, ZarrArray) else None
    same = isinstance(making, CopyBlocks)
    output.open(
        making.shape, making.data.dtype, sizes, like, storage=making.data.storage, same=same
    )
    ended: Generator[int]
    if crew is None:
        made = writer(output.temporary)
        ended = (fill(making, made, sizes, box, threads) for box in boxes)
    else:
        ended = crew.make(output.temporary, sizes, boxes)
    done = 0
    with closing(ended):
        for number in ended:
            done += number * itemsize
            if progress is not None:
                progress("gathered", done, total)


def fill(
    making: BlockSource, made: Writer, chunks: Sequence[int], box: Box, threads: int = 1
) -> int:
    """Compute a box of whole chunks, and write each of them once; return its elements' number."""
    block = making.block(box, threads)
    tiling = ChunkGrid(box, chunks)

    def put(number: int) -> None:
        part = tiling.part(number)
        made.write(part, block[slices(inside(part, box))])

    share(tiling.number, lambda: put, threads)
    return cells(box)


def _suited(
    making: BlockSource, cut: Callable[[Sequence[int]], tuple[int, list[Box]]]
) -> tuple[Sequence[int], tuple[int, list[Box]]]:
    """Choose chunks that suit the data, smaller ones where memory is short."""
    sizes = list(making.choose_chunks())
    while True:
        try:
            return sizes, cut(sizes)
        except LimitError:
            open_ones = [o for o in making.index_dims if sizes[o] > 1] or range(len(sizes))
            largest = max(open_ones, key=sizes.__getitem__, default=None)
            if largest is None or sizes[largest] == 1:
                raise
            sizes[largest] = -(-sizes[largest] // 2)


def _checked(chunks: Sequence[int], shape: tuple[int, ...]) -> Sequence[int]:
    """Refuse chunks of another rank."""
    if len(chunks) != len(shape):
        raise UsageError(
            f"`--chunks` has {counted(len(chunks), 'size')}, and the result has "
            f"{counted(len(shape), 'dimension')}: expected one for each",
            rule="usage",
            value=",".join(map(str, chunks)),
        )
    return chunks


def _check_room(output: Creation, size: int) -> None:
    """Refuse what the disk has no room for, as far as that can be told."""
    try:
        disk = os.statvfs(output.folder)
    except OSError:  # who creates the output says why
        return
    free = disk.f_bavail * disk.f_frsize
    if size > free:
        raise OutputError(
            f"`{clean(output.path)}` cannot be written (the result takes {size} bytes before it is "
            f"compressed and the disk has {free}): expected room for it",
            rule="output",
            value=output.path,
            hint="`--max-bytes 0` tries it",
        )
