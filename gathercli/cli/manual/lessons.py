"""The lessons of `demo`: the specifications' own examples, in the order a newcomer meets them."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.cli.operator import VARIABLE
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from gathercli.jobs.job import Job

_PACKAGE: Final = Path(__file__).parents[2]


class DemoLesson(NamedTuple):
    """One screen.

    Attributes
    ----------
    name, title
        What it is called, and what it shows.
    fixture
        The job that is explained, below ``fixtures/``.
    says
        What the operator does here.
    tries
        Command lines to go on with, and what each shows.
    """

    name: str
    title: str
    fixture: str
    says: str
    tries: tuple[tuple[str, str], ...]


LESSONS: Final = (
    DemoLesson(
        "gather",
        "take rows by their numbers",
        "onnx/gather-13/example-axis-0.json",
        "Gather copies slices of data. Along one axis - here 0, the rows - each index says which "
        "slice: the index takes the place of that coordinate, and all other coordinates stay. So "
        "in the shape of data the axis gives way to the whole shape of the indices: [3,2] with "
        "indices [2,2] becomes [2,2,2]. The same letter marks a row, the indices that pick it and "
        "where it lands. In the equation i are coordinates of the indices, s those after the axis.",
        (
            (
                "gathercli explain gather '[[1.0,1.2],[2.3,3.4],[4.5,5.7]]' 1",
                "a single index: the axis goes away",
            ),
            (
                "gathercli explain gather '[[1.0,1.2],[2.3,3.4],[4.5,5.7]]' 2,0,2 --step",
                "cell by cell",
            ),
            ("gathercli demo columns", "another axis"),
        ),
    ),
    DemoLesson(
        "columns",
        "take columns: another axis",
        "onnx/gather-13/example-axis-1.json",
        "On axis 1 the index takes the place of the second coordinate, so it picks columns. The "
        "row number stays, p in the equation, as do all coordinates before the axis. The shape "
        "again: [3,3] loses its second dimension, and [1,2], the shape of the indices, stands "
        "there instead.",
        (
            (
                "gathercli explain gather '[[1.0,1.2,1.9],[2.3,3.4,3.9]]' 0,2 -a 1 -V onnx-13",
                "a plain list of indices",
            ),
            (
                "gathercli shape gather '[N,3,C]' '[K]' -a 1 -V onnx-13 -f pretty",
                "the shape alone, with symbols",
            ),
            ("gathercli demo negative", "indices below zero"),
        ),
    ),
    DemoLesson(
        "negative",
        "count from the end",
        "openvino/gather-8/example-6.json",
        "Where a version's range is [-s, s-1], a negative index counts from the end of the axis: "
        "its size s is added, once. -1 is the last element. Versions whose range starts at 0 "
        "refuse a negative index instead.",
        (
            (
                "gathercli explain gather '[1,2,3,4,5]' 0,-2,-1 -V openvino-7",
                "a version that refuses",
            ),
            (
                "gathercli explain gather '[1,2,3,4,5]' 0,-2,-1 -V onnx-1 --negative wrap",
                "what runtimes do all the same",
            ),
            ("gathercli demo outside", "an index past the end"),
        ),
    ),
    DemoLesson(
        "outside",
        "an index past the end: zeros",
        "openvino/gather-8/example-7.json",
        "OpenVINO's Gather-8 fills with zeros what an index outside the axis would have picked, on "
        "either side: -20 + 5 is still below 0. Every other version refuses such an index. Real "
        "runtimes do neither reliably.",
        (
            ("gathercli compare '[1,2,3,4,5]' 3,10,-20", "every version's answer"),
            ("gathercli check gather '[1,2,3,4,5]' 3,10,-20", "which indices are illegal"),
            ("gathercli demo refused", "a refusal"),
        ),
    ),
    DemoLesson(
        "refused",
        "an index past the end: refused",
        "openvino/gather-1/outside-refused.json",
        "Gather-1 knows the indices 0 to s-1 alone, and says nothing of any other: such a call has "
        "no answer, so it is refused, with exit status 65. The picture shows where.",
        (
            (
                "gathercli explain gather '[1,2]' 5, -V openvino-1 --out-of-range clamp",
                "choose an answer yourself",
            ),
            ("gathercli demo batch-dims", "a batch at a time"),
        ),
    ),
    DemoLesson(
        "batch-dims",
        "each batch picks from its own data",
        "openvino/gather-8/example-2.json",
        "With batch_dims 1 the first dimension of data and indices is a batch: each row of indices "
        "picks from its own row of data, never from another. That coordinate is the same in all "
        "three tensors, and stands in the output once: [2,5] with indices [2,3] becomes [2,3], "
        "where without batch_dims it would be [2,2,3].",
        (
            (
                "gathercli explain gather arange:2x5 '[[0,0,4],[4,0,0]]' -a 1",
                "the same without batch_dims",
            ),
            ("gathercli demo batch-and-axis", "an axis beyond the batch"),
        ),
    ),
    DemoLesson(
        "batch-and-axis",
        "an axis beyond the batch",
        "openvino/gather-8/example-4.json",
        "The axis need not follow the batch at once. Here batch_dims is 1 and the axis 2: the "
        "dimension between them is copied as it is, and so are those after the axis.",
        (
            (
                "gathercli shape gather 2x64x128 2x32x21 -a 1 -b 1 -f pretty",
                "the shape of a larger one",
            ),
            ("gathercli demo gather-elements", "an index for every element"),
        ),
    ),
    DemoLesson(
        "gather-elements",
        "an index for every element",
        "openvino/gather-elements-6/example-3.json",
        "GatherElements takes one element for each index, not a slice. An index stands at the "
        "coordinates where its element will land; on the axis it replaces the coordinate, and the "
        "others stay: column j of the output comes from column j of data. So the output has the "
        "shape of the indices.",
        (
            (
                "gathercli explain gather '[[1,2,3],[4,5,6],[7,8,9]]' '[[1,0,1],[1,2,0]]'",
                "Gather on the same tensors",
            ),
            ("gathercli demo elements-axis", "along the rows"),
        ),
    ),
    DemoLesson(
        "elements-axis",
        "elements along the other axis",
        "openvino/gather-elements-6/example-2.json",
        "On axis 1 the index replaces the second coordinate: row i of the output comes from row i "
        "of data. Along the axis there may be more indices than elements, as each may be read "
        "again: \N{MULTIPLICATION SIGN}2 says that an element is read twice.",
        (
            (
                "gathercli explain gather-elements '[[1,7],[4,3]]' '[[1,1,0],[1,0,1]]' -a 1 "
                "--cell 1,2",
                "one cell in words",
            ),
            ("gathercli ops", "all versions, and what changed in each"),
        ),
    ),
)
"""Each shown by `demo NAME`, all by `demo --all`."""


def fixture(name: str) -> str:
    """Return the path of a fixture, in the installed package or in the source tree."""
    for folder in (_PACKAGE / "_data" / "fixtures", _PACKAGE.parent / "fixtures"):
        if folder.is_dir():
            return str(folder / name)
    raise FileNotFoundError(name)


def command_line(job: Job) -> str:
    """Write the command that explains a job whose tensors stand in it."""
    words = ["gathercli", "explain", job.op]
    words += [
        each if isinstance(each, str) else json.dumps(each, separators=(",", ":"))
        for each in (job.data, job.indices)
    ]
    default = FAMILIES[job.op].ROWS[0]
    for option, value, usual in (
        ("-a", job.axis, default.axis.default),
        ("-b", job.batch_dims, 0),
        ("-V", job.version, None if os.environ.get(VARIABLE) else default.id),
    ):
        if value not in (None, usual):
            words += [option, str(value)]
    return shlex.join(words)
