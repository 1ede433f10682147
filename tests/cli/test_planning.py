"""What gathercli-planning(7) reckons is what happens."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from campaigns.benchmarks.planning import LARGE, LARGE_PLAIN, WORKERS, Plan, reads, table
from gathercli import ops
from gathercli.batch.cluster import TASKS_AHEAD
from gathercli.compute.blocks import (
    FLAT_INDEX_BYTES,
    INDEX_BYTES,
    SCATTERED_CELLS,
    TUPLE_BYTES,
    GatherBlocks,
)
from gathercli.compute.bound import BoundCall
from gathercli.compute.chunks import BOX_SHARE, CHUNK_COPIES, PROGRAM_BYTES, cut_boxes
from gathercli.compute.tensor import Tensor
from gathercli.frameworks.versions import find
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import dtype
from man.pages import page
from man.prose import Console, Terms
from tests.chunked import Chunks, gathering


@pytest.mark.parametrize("plan", [LARGE, LARGE_PLAIN])
def test_the_boxes_of_the_large_gather_are_those_that_would_be_made(plan: Plan) -> None:
    rows = LARGE.data // LARGE.row
    data = Chunks(np.broadcast_to(np.float32(0), (rows, 1024, 1024)), (4, 1024, 1024))
    data.reads_rows = plan.alone
    indices = Tensor(dtype("int64"), np.broadcast_to(np.int64(0), rows))
    call = ops.bind(find("openvino-8", "gather").op, Operand.of(data), Operand.of(indices), axis=0)
    made = GatherBlocks(BoundCall(call, data, indices))

    _, boxes = cut_boxes(made, made.choose_chunks(), LARGE.held, 1)

    assert len(boxes) == plan.boxes


@pytest.mark.parametrize("rows", [1, 4, 16])
@pytest.mark.parametrize("held", [900_000, 1_500_000, None])
def test_a_chunk_is_read_as_often_as_is_reckoned(rows: int, held: int | None) -> None:
    rng = np.random.default_rng(rows)
    made, data = gathering(rng.random((1024, 64)), rng.permutation(1024), (rows, 64))
    boxes = cut_boxes(made, (rows, 64), held, 1)[1]
    for box in boxes:
        made.block(box)

    counted = Counter(data.reads).total() / len(data.reads)

    assert counted == pytest.approx(reads(len(boxes), rows), rel=0.1)


def test_a_plan_says_what_order_costs() -> None:
    plan = Plan(8 * 10**9, 8 * 10**9, 16 << 20, 4 << 20, 10**9)

    assert plan.boxes == 13
    assert plan.random == pytest.approx(3.68, rel=0.1)  # as a worker was measured
    assert plan.sorted < 1.04


def test_the_page_has_the_table_that_is_reckoned() -> None:
    blocks = page("planning").blocks(f"A GATHER OF 10 TB ON {WORKERS} WORKERS")

    assert Console(table(LARGE, LARGE_PLAIN)) in blocks


def test_the_page_says_what_a_process_takes() -> None:
    (memory,) = page("planning").blocks("MEMORY")
    assert isinstance(memory, Terms)
    said = dict(memory.pairs)

    assert f"The program takes {PROGRAM_BYTES / 1e6:.0f} MB" in said["--max-bytes"]
    assert f"Of the rest, a process may use {BOX_SHARE:.0%}" in said["--max-bytes"]
    assert f"{INDEX_BYTES} bytes, of GatherElements {FLAT_INDEX_BYTES} where" in said["a box"]
    assert f"of GatherND {TUPLE_BYTES} more" in said["a box"]
    assert f"{CHUNK_COPIES} chunks of the data" in said["a box"]
    assert f"at most {SCATTERED_CELLS >> 10} Ki elements" in said["a box"]


def test_the_page_says_how_many_tasks_a_scheduler_knows() -> None:
    (others,) = page("planning").blocks("WHAT OTHERS HOLD")
    assert isinstance(others, Terms)

    tasks = f"It knows at most {TASKS_AHEAD} tasks per thread, however many boxes there are: "
    assert dict(others.pairs)["the scheduler"].startswith(f"{tasks}{TASKS_AHEAD * WORKERS} here")
