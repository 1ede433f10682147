"""gathercli-planning(7): what a gather of arrays in chunks reads, writes and holds."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.arrays.blocks import COPIES, FLAT_INDEX_BYTES, INDEX_BYTES, PIECE
from gathercli.arrays.partition import PROGRAM, SHARE
from gathercli.jobs.cluster import AHEAD
from gathercli.report.manual import Console, Page, Terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.report.manual import Block

NAME: Final = "planning"

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
    """

    data: int
    output: int
    chunk: int
    row: int
    held: int

    @property
    def box(self) -> int:
        """Bytes of a box of the output: whole chunks, as many as may be held."""
        piece = PIECE * 28  # of float32, and three coordinates
        room = (self.held - PROGRAM) * SHARE - COPIES * self.chunk - piece
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

PACKED, PLAIN, SORTED = "random, packed", "random, plain", "sorted, plain"

SPEED: Final = {PACKED: 95.0 * 1.87 / LARGE.random, PLAIN: 344.0, SORTED: 407.0}
"""MB of output that one worker made a second, as `python -m tests.benchmarks cluster` measured.

Packed chunks were read 1.87 times; it is reckoned as if reading them took all the time.
"""


def _size(count: float) -> str:
    for unit, each in (("TB", _TB), ("GB", _GB), ("MB", 10**6)):
        if count >= each:
            return f"{count / each:.3g} {unit}"
    return f"{count:.0f} B"


def _table(plan: Plan) -> str:
    """Reckon three orders of the indices side by side."""
    ways = {
        PACKED: (plan.random, plan.data * plan.random),
        PLAIN: (plan.random, float(plan.output)),
        SORTED: (plan.sorted, plan.data * plan.sorted),
    }
    taken = [_seconds(plan, way) for way in ways]
    moved = [read + plan.output for _, read in ways.values()]
    lines = [
        ["", *ways],
        ["a chunk is read, times", *(f"{times:.2f}" for times, _ in ways.values())],
        ["read in all", *(_size(read) for _, read in ways.values())],
        ["read by a worker", *(_size(read / WORKERS) for _, read in ways.values())],
        ["written by a worker", *([_size(plan.output / WORKERS)] * len(ways))],
        ["seconds for a box", *(f"{plan.box / 1e6 / SPEED[way]:.0f}" for way in ways)],
        ["minutes, as workers did", *(f"{each / 60:.0f}" for each in taken)],
        [
            "GB/s of the disks for that",
            *(f"{each / _GB / time:.0f}" for each, time in zip(moved, taken, strict=True)),
        ],
        [
            f"minutes, at {DISKS} GB/s of disks",
            *(f"{each / _GB / DISKS / 60:.0f}" for each in moved),
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


_DESCRIPTION: Final = (
    "An output in chunks (-o out.zarr) is made in boxes of whole chunks. For each box the indices "
    "that it needs are read, each chunk of the data that one of them points into is read once, and "
    "each chunk of the box is written once. So what a gather reads follows from the number of "
    "boxes, and that from the memory that is allowed. This page has the rules, what was measured "
    "beside them, and what they say of an array and of a cluster larger than any that was tried.",
)


def _memory() -> Terms:
    return Terms(
        (
            (
                "--max-bytes",
                f"Of what it leaves beside the {PROGRAM / 1e6:.0f} MB of the program, "
                f"{SHARE:.0%} may be taken by the box that a process makes; the rest is for "
                "memory that was freed and not given back. On "
                "workers --max-bytes is for each thread, 1 GiB if it is not given, and each has a "
                "process of its own beside that of the worker, which takes about 65 MB more.",
            ),
            (
                "a box",
                "Its elements; for each of its indices "
                f"{INDEX_BYTES} bytes, of GatherElements {FLAT_INDEX_BYTES} where no chunk of the "
                f"data ends in the box but along the axis; for each thread {COPIES} chunks of the "
                "data (as stored, unpacked, copied) and a piece of at most "
                f"{PIECE >> 10} Ki elements.",
            ),
            (
                "if it is too much",
                "Fewer threads work. If one chunk of the output is too much for one thread the "
                "call is refused, before anything is written (rule limit).",
            ),
        )
    )


_READS: Final = (
    "A chunk is read once for every box of which an index points into it. With B boxes along the "
    "indices, and k indices that point into a chunk,",
    Terms(
        (
            (
                "sorted",
                "About once: only where one box ends and the next begins is a chunk read twice.",
            ),
            (
                "in any order",
                "B (1 - (1 - 1/B)^k) times: never more than the boxes, and never more than the "
                "indices that point there. Many rows in a chunk make that B, few make it k.",
            ),
            (
                "GatherElements",
                "As many indices point into a chunk as it has elements, or more: B times, if they "
                "are in any order along the axis.",
            ),
            (
                "around the axis",
                "Boxes beside each other, not along the indices, need different chunks, if the "
                "chunks of the output end where those of the data do. They do if --chunks is not "
                "given.",
            ),
        )
    ),
    "Of a chunk that is packed all is read and unpacked each time. Of one that is stored as it is "
    "only what lies from the first to the last row that the box needs is read: with few indices "
    "in a chunk, about the bytes of the output, whatever the order. Chunks that no index points "
    "into are not read.",
)

_CHECKED: Final = (
    "Reckoned and counted, 2.1 GB of rows of 4 MB, 4 in a chunk, in any order (k is 4): 5 boxes, "
    "2.95 and 2.98 times; 19 boxes, 3.70 and 3.74; 43 boxes, 3.86 and 3.89. GatherElements of 512 "
    "MB in 16 boxes: 16 and 16. Sorted: 1 and 1.",
)

_ASSUMED: Final = Terms(
    (
        (
            "the arrays",
            "10 TB of float32 in chunks of [4,1024,1024] (16 MiB, 596,000 files), rows of 4 MB; "
            "the indices name each of the 2.4 million rows once, 19 MB of .npy; the output is as "
            "large.",
        ),
        (
            "the workers",
            f"{WORKERS} of one thread each, with --max-bytes 4G, on machines of which each has a "
            "core and 5 GB for it.",
        ),
        (
            "the speed",
            "Each worker is as fast as the one measured, which had a disk and a cache to itself: "
            "344, 407 and, packed, 95 MB/s of output, here divided by 2.1, as it read a chunk 1.87 "
            "times and not 4. Packing makes nothing smaller. This is the assumption that fails "
            "first: see below.",
        ),
    )
)

_LIMITS: Final = (
    "The disks, unless they are many. Workers as fast as the one measured ask the file system for "
    "tens of gigabytes a second in all. One that gives less sets the time: the sum of what is read "
    "and written, divided by what it gives, as in the last line. The work is mostly copying, but "
    "for packed chunks, which cost a core to unpack and to pack.",
    "One thing is done by one process alone, that which was asked: it looks at every index before "
    "anything is written. For the 19 MB here that is nothing. Where the indices are as large as "
    "the data (GatherElements) it reads all of them, at the speed of its disk, before the workers "
    "begin.",
)

_ELSEWHERE: Final = Terms(
    (
        (
            "the scheduler",
            f"At most {AHEAD} tasks for each thread are known to it, however many boxes there are: "
            f"{AHEAD * WORKERS} here, each a text of less than a kilobyte and what dask keeps of "
            "it. Measured: 63 MB when it starts, 66 with 300 tasks, 80 when 5000 had been done.",
        ),
        (
            "who asked",
            "75 MB measured, and the list of boxes, less than a kilobyte each. Texts of tasks lie "
            "in an unnamed file. Neither data nor output pass through it.",
        ),
        (
            "the disk",
            "The output has a hidden name beside its own until all of it is there; then it is "
            "renamed. There must be room for it, and for what it replaces.",
        ),
    )
)

_DIES: Final = (
    "A worker that dies loses the box that it was at: another makes all of that box again, and "
    "writes the same chunks again. So a death costs at most one box of the work of one worker. "
    "A box whose workers die one after the other is given up, and with it the output. If who "
    "asked, or the scheduler, goes away, no output is there: it is made as a whole or not at all, "
    "and does not resume. To resume, cut the work into jobs of a batch, each with an output "
    "of its own.",
)

_CHOOSE: Final = Terms(
    (
        (
            "sort the indices",
            "Where the order of the output does not matter. Each chunk is then read once, packed "
            "or not, with any memory.",
        ),
        (
            "more memory for a thread",
            "Twice as much is half as many boxes, which matters while there are fewer of them "
            "than indices that point into a chunk.",
        ),
        (
            "--chunks",
            "Those of the data, unless there is a reason: chunks of the output that end elsewhere "
            "around the axis have boxes share chunks of the data. Files of less than a megabyte "
            "cost more than their bytes (about a millisecond each); files larger than a hundredth "
            "of --max-bytes leave few of them to a box.",
        ),
        (
            "the chunks of the data",
            "Long along the axis that indices are random on, and narrow around it: a gather then "
            "needs whole chunks. Where rows of one chunk go to many boxes, few rows in a chunk "
            "are better. For random GatherElements along an axis of many chunks nothing else "
            "helps: with rows as wide as here, each box reads everything.",
        ),
        (
            "boxes and workers",
            "There are at least as many boxes as threads, if there are as many chunks. Three or "
            "more for each keep all of them at work until the end.",
        ),
    )
)

_UNTRIED: Final = (
    "More than two workers; more than one machine; a network, a network file system or an object "
    "store; more than 8 GB of data; more than one thread of a worker at once. Whatever this page "
    "says of those is reckoned, not seen.",
)


def page() -> Page:
    """Make the page."""
    return Page(
        f"gathercli-{NAME}",
        "what a gather of arrays in chunks reads, writes and holds, here and on many machines",
        (
            ("DESCRIPTION", _DESCRIPTION),
            ("MEMORY", (_memory(),)),
            ("READS", (*_READS, *_CHECKED)),
            ("MEASURED", (_MEASURED[0], Console(_MEASURED[1]), *_MEASURED[2:])),
            (f"A GATHER OF 10 TB ON {WORKERS} WORKERS", (*_large(),)),
            ("WHAT LIMITS IT", _LIMITS),
            ("WHAT OTHERS HOLD", (_ELSEWHERE,)),
            ("WHAT DIES", _DIES),
            ("WHAT TO CHOOSE", (_CHOOSE,)),
            ("NOT TRIED", _UNTRIED),
            (
                "SEE ALSO",
                ("gathercli-gather(1), gathercli-batch(1), gathercli-formats(5)",),
            ),
        ),
        number=7,
    )


_MEASURED: Final = (
    "On one machine, two shared cores of an Intel Xeon at 2.5 GHz with 24 GB and ext4, Python "
    "3.11, zarr 3.1.6, dask 2026.8; scheduler and workers of one thread on it; files "
    "in the cache of the "
    "system as far as there was room. 8.0 GB of float32 in chunks of [4,1024,1024], --max-bytes "
    "1G; random is each row once, sorted half of them; packed is an eighth of it, by zstd, random. "
    "MB/s are of output; MB held are of the process, on workers with that of the worker.",
    """\
                        seconds  MB/s  a chunk read  GB read  MB held
random, here, -j 2         20.3   393     3.66 times     8.48      586
random, 1 worker           23.2   344     3.68           8.52      670
random, 2 workers          19.4   412     3.68           8.53  671 each
sorted, here, -j 2          7.3   544     1.01           4.67      586
sorted, 1 worker            9.8   407     1.01           4.69      670
sorted, 2 workers           6.6   605     1.01           4.70  670 each
packed, here, -j 2          9.7   103     2.08           0.57      726
packed, 1 worker           10.5    95     1.87           0.53      731
packed, 2 workers           7.1   141     1.87           0.54  736 each""",
    "Two workers share the cores and the disk of one machine, so they say little of many. The same "
    "run twice differed by up to a factor of two, as the disk must take what is written; the "
    "numbers of reads and bytes did not. dask.array.take read each chunk once and held 4.3 GB for "
    "random, 1.1 GB for sorted; zarr's oindex held all of the output, 8.4 GB. Neither is possible "
    "in 1 GB.",
    "GatherElements of 1.07 GB with as many int32 indices in any order, all in chunks of "
    "[4,1024,1024]: 22 boxes, so each chunk 22 times, 25.8 GB read, 464 MB held; 35 s here and "
    "19 s by two workers.",
)


def _large() -> Iterator[Block]:
    """Reckon it."""
    plan = LARGE
    yield "Reckoned, not tried. What is assumed:"
    yield _ASSUMED
    yield (
        f"{SHARE:.0%} of 3.9 GB, less {COPIES} chunks and a piece, is a box of "
        f"{_size(plan.box)}, {plan.box // plan.chunk} chunks: {plan.boxes:,} boxes, "
        f"{ceil(plan.boxes / WORKERS)} for the worker that has most, each a task. "
        f"With k = 4 and B = {plan.boxes:,} a chunk is read {plan.random:.2f} times if the order "
        "is any."
    )
    yield Console(_table(plan))
    yield (
        f"Each worker holds up to {_size(plan.held * SHARE + 75e6 + 70e6)}, of which the box is "
        "most."
    )
