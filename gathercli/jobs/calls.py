"""From a job to the call it writes down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli import engine
from gathercli.arrays.bound import BoundCall, of_one_type
from gathercli.jobs.job import SHAPE
from gathercli.ops import family_of, find
from gathercli.spec.call import Operand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.io.source import Inputs
    from gathercli.jobs.job import Job
    from gathercli.spec.call import Call, CallContext
    from gathercli.spec.op import Op


def row_of(job: Job, notes: list[str]) -> Op:
    """Find the version that a job names, or the default of its operator.

    Parameters
    ----------
    notes
        Takes what the user should know of how the version was resolved.

    Raises
    ------
    VersionError
        ``version``.
    """
    family = family_of(job.operator)
    found = find(family.ROWS[0].id if job.version is None else job.version, family.COMMAND)
    if found.note:
        notes.append(found.note)
    return found.op


def bound(job: Job, op: Op, inputs: Inputs) -> BoundCall:
    """Read the tensors of a job, those in chunks chunk by chunk, and put its call together.

    Raises
    ------
    GatherError
        What is refused in a tensor, or the first rule that refuses the call.
    """
    return _bound(job, op, [job.chunked(each.name, inputs) for each in op.inputs])


def bound_in_memory(job: Job, op: Op, inputs: Inputs, context: CallContext) -> BoundCall:
    """Put the call of a job together, as `bound` does; its tensors are read as a whole.

    Parameters
    ----------
    context
        Takes the inputs, once all are read.
    """
    tensors = [job.tensor(each.name, inputs) for each in op.inputs]
    context.describe(tensors)
    return _bound(job, op, tensors)


def described(job: Job, op: Op, inputs: Inputs) -> Call:
    """Put the call of a job together from shapes and types alone, reading headers where it can.

    Raises
    ------
    GatherError
        As from `bound`, as far as shapes and types tell.
    """
    operands = [job.operand(each.name, inputs) for each in op.inputs]
    return _bind(job, op, of_one_type(op, operands))


def _bound(job: Job, op: Op, tensors: Sequence[ChunkedTensor]) -> BoundCall:
    tensors = of_one_type(op, tensors)
    return BoundCall(_bind(job, op, map(Operand.of, tensors)), *tensors)


def _bind(job: Job, op: Op, operands: Iterable[Operand]) -> Call:
    return engine.bind(
        op,
        *operands,
        negative=job.negative,
        out_of_range=job.out_of_range,
        shapes_only=job.op == SHAPE,
        **job.attrs,
    )
