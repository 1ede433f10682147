"""Bind the calls of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli import ops
from gathercli.compute.bound import BoundCall, of_one_type
from gathercli.io.jobs.job import SHAPE
from gathercli.ops.versions import family_of, find
from gathercli.spec.call import Operand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.compute.tensor import ChunkedTensor
    from gathercli.compute.verdicts import Case
    from gathercli.io.jobs.job import Job
    from gathercli.io.source import Inputs
    from gathercli.spec.call import Call, CallContext
    from gathercli.spec.op import Op

_MOST_CALLS: Final = 64  # the most calls in the cache
# A cache of calls, by all that the rules of shapes, types and attributes depend on.
_calls: dict[tuple[Any, ...], Call] = {}


def row_of(job: Job, notes: list[str]) -> Op:
    """Return the version of a job, or the default of its operator; append a note to `notes`."""
    family = family_of(job.operator)
    choice = find(family.ROWS[0].id if job.version is None else job.version, family.COMMAND)
    if choice.note:
        notes.append(choice.note)
    return choice.op


def bind(job: Job, op: Op, inputs: Inputs) -> BoundCall:
    """Bind the call of a job to its inputs; inputs stored in chunks are read on demand."""
    return _bind_tensors(job, op, [job.chunked(each.name, inputs) for each in op.inputs])


def bind_in_memory(job: Job, op: Op, inputs: Inputs, context: CallContext) -> BoundCall:
    """Bind the call of a job to its inputs, read into memory and described to `context`."""
    tensors = [job.tensor(each.name, inputs) for each in op.inputs]
    context.describe(tensors)
    return _bind_tensors(job, op, tensors)


def bind_operands(job: Job, op: Op, inputs: Inputs) -> Call:
    """Bind the call of a job to the shapes and types of its inputs."""
    described = [job.described(each.name, inputs) for each in op.inputs]
    return _shared_call(job, op, of_one_type(op, described))[0]


def case_of(job: Job, op: Op, inputs: Inputs) -> Case:
    """Return the inputs of a job, read into memory, with the function that binds its call."""
    from gathercli.compute.verdicts import Case

    tensors = of_one_type(op, [job.tensor(each.name, inputs) for each in op.inputs])
    return Case(lambda row: _bind_call(job, row, map(Operand.of, tensors)), *tensors)


def _bind_tensors(job: Job, op: Op, tensors: Sequence[ChunkedTensor]) -> BoundCall:
    """Bind a call to its inputs."""
    tensors = of_one_type(op, tensors)
    call, is_known = _shared_call(job, op, tensors)
    return BoundCall(call, *tensors, repeated=is_known)


def _shared_call(job: Job, op: Op, inputs: Sequence[ChunkedTensor | Operand]) -> tuple[Call, bool]:
    """Return the call of jobs that differ in the elements of their inputs alone.

    Also return whether an earlier job had it.
    """
    if not all(type(value) is int for value in job.attrs.values()):  # True and 1.0 equal 1
        return _bind_call(job, op, map(Operand.of, inputs)), False
    # Whether the rules accept a call depends on these; on elements only hints do.
    key = (
        id(op),  # which the call keeps alive
        job.op == SHAPE,
        job.negative,
        job.out_of_range,
        *job.attrs.items(),
        *[(each.shape, each.dtype, each.decided_by) for each in inputs],
    )
    call = _calls.get(key)
    if call is not None:
        return call, True
    call = _bind_call(job, op, map(Operand.of, inputs))
    if len(_calls) >= _MOST_CALLS:
        _calls.clear()
    _calls[key] = call
    return call, False


def _bind_call(job: Job, op: Op, operands: Iterable[Operand]) -> Call:
    return ops.bind(
        op,
        *operands,
        negative=job.negative,
        out_of_range=job.out_of_range,
        shapes_only=job.op == SHAPE,
        **job.attrs,
    )
