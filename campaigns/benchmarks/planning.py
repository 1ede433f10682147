"""What gathercli-planning(7) reckons of a gather of arrays in chunks; its table is printed here.

``python -m campaigns.benchmarks.planning`` prints the table for `LARGE`, as the page has it.
"""

from __future__ import annotations

from math import ceil
from typing import Final, NamedTuple

from gathercli.compute.blocks import INDEX_BYTES, SCATTERED_CELLS
from gathercli.compute.chunks import BOX_SHARE, CHUNK_COPIES, LEAST_TASK_BYTES, PROGRAM_BYTES

_GB: Final = 10**9
_TB: Final = 10**12


def reads(boxes: int, pointing: float) -> float:
    """Reckon how often a chunk is read that so many indices of any of the boxes point into.

    >>> round(reads(19, 4), 2)
    3.7
    """
    return float(boxes * (1 - (1 - 1 / boxes) ** pointing))


class Plan(NamedTuple):
    """A gather along the first axis, of whole rows, whose output has the chunks of its data.

    Attributes
    ----------
    data, output
        Bytes of their elements.
    chunk, row
        Bytes of a chunk, and of what an index copies: some rows are a chunk.
    held
        Bytes that a thread may take: `--max-bytes`.
    alone
        Whether rows are read without the rest of their chunk, so that a larger box reads no less.
    """

    data: int
    output: int
    chunk: int
    row: int
    held: int
    alone: bool = False

    @property
    def box(self) -> int:
        """Bytes of a box of the output: whole chunks, as many as may be held."""
        piece = SCATTERED_CELLS * 28  # of float32, and three coordinates
        room = (self.held - PROGRAM_BYTES) * BOX_SHARE - CHUNK_COPIES * self.chunk - piece
        if self.alone:
            return LEAST_TASK_BYTES // self.chunk * self.chunk
        return int(room / (self.chunk + self.chunk // self.row * INDEX_BYTES)) * self.chunk

    @property
    def boxes(self) -> int:
        """How many they are."""
        return ceil(self.output / self.box)

    @property
    def random(self) -> float:
        """How often a chunk is read if the indices are in no order."""
        return reads(self.boxes, self.output / self.row / (self.data / self.chunk))

    @property
    def sorted(self) -> float:
        """How often a chunk is read if each of the indices is larger than the one before."""
        return 1 + (self.boxes - 1) / (self.data / self.chunk)


WORKERS: Final = 100
DISKS: Final = 10
"""GB a second that a file system may read and write in all."""

LARGE: Final = Plan(10 * _TB, 10 * _TB, 16 << 20, 4 << 20, 4 * _GB)
"""What the page reckons: a permutation of the rows of 10 TB."""

LARGE_PLAIN: Final = LARGE._replace(alone=True)

PACKED, PLAIN, SORTED = "random, packed", "random, plain", "sorted, plain"

SPEED: Final = {PACKED: 95.0 * 1.87 / LARGE.random, PLAIN: 344.0, SORTED: 407.0}
"""MB of output that one worker made a second, as `python -m campaigns.benchmarks cluster` measured.

Packed chunks were read 1.87 times; it is reckoned as if reading them took all the time.
"""


def _size(count: float) -> str:
    for unit, each in (("TB", _TB), ("GB", _GB), ("MB", 10**6)):
        if count >= each:
            return f"{count / each:.3g} {unit}"
    return f"{count:.0f} B"


def table(packed: Plan, plain: Plan) -> str:
    """Reckon three orders of the indices side by side."""
    plans = {PACKED: packed, PLAIN: plain, SORTED: plain}
    times = {PACKED: packed.random, PLAIN: plain.random, SORTED: plain.sorted}
    rows = float(plain.output)
    read = {PACKED: packed.data * packed.random, PLAIN: rows, SORTED: rows}
    taken = {way: _seconds(plan, way) for way, plan in plans.items()}
    moved = {way: read[way] + plan.output for way, plan in plans.items()}
    lines = [
        ["", *plans],
        ["a box", *(_size(plan.box) for plan in plans.values())],
        ["boxes", *(f"{plan.boxes:,}" for plan in plans.values())],
        ["a chunk is read, times", *(f"{each:.2f}" for each in times.values())],
        ["read in all", *(_size(each) for each in read.values())],
        ["read by a worker", *(_size(each / WORKERS) for each in read.values())],
        ["written by a worker", *(_size(plan.output / WORKERS) for plan in plans.values())],
        [
            "seconds for a box",
            *(f"{plan.box / 1e6 / SPEED[way]:.2g}" for way, plan in plans.items()),
        ],
        ["minutes, as workers did", *(f"{each / 60:.0f}" for each in taken.values())],
        [
            "GB/s of the disks for that",
            *(f"{moved[way] / _GB / each:.0f}" for way, each in taken.items()),
        ],
        [
            f"minutes, at {DISKS} GB/s of disks",
            *(f"{each / _GB / DISKS / 60:.0f}" for each in moved.values()),
        ],
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _seconds(plan: Plan, way: str) -> float:
    boxes = ceil(plan.boxes / WORKERS)  # of the worker that has most
    return boxes * plan.box / 1e6 / SPEED[way]


if __name__ == "__main__":
    print(table(LARGE, LARGE_PLAIN))
