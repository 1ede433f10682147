"""What is explained: a call of a command line or a job, its provenance, and the view of that."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import InputError, UsageError
from gathercli.ops import FAMILIES
from gathercli.spec.call import CallContext
from gathercli.text import clean, closest, counted, listed, shell_word, some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.cli.call import CallOptions
    from gathercli.cli.messages import Messages
    from gathercli.cli.options import Limits
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.threads import ProgressCallback
    from gathercli.explain.panel import View
    from gathercli.explain.provenance import Provenance
    from gathercli.io.jobs import Job
    from gathercli.io.source import Inputs


# The default id of a job: its file and its place in it.
_PLACE_ID: Final = re.compile(r"(.+)(?::\d+|\[\d+\])", re.DOTALL)


class ExplainedCall(NamedTuple):
    """A bound call with open input files."""

    bound: BoundCall
    inputs: Inputs
    context: CallContext  # names the call in errors
    title: str | None = None  # of the job, if the call is from one
    source: str | None = None
    job: Job | None = None


@contextmanager
def of_words(call: CallOptions) -> Iterator[ExplainedCall]:
    """Read the inputs of a command line and bind the call; close the input files at the end."""
    opened = call.open()
    with opened.inputs:
        yield ExplainedCall(opened.bound(), opened.inputs, opened.context)


@contextmanager
def of_job(job: Job, limits: Limits, messages: Messages) -> Iterator[ExplainedCall]:
    """Read the inputs of a job and bind its call; close the input files at the end."""
    from gathercli.io.jobs import bind, row_of
    from gathercli.io.source import Inputs

    op = row_of(job, messages.notes)
    with Inputs(limits.memory, notes=messages.notes, folder=job.folder) as inputs:
        with CallContext(op) as context:
            bound = bind(job, op, inputs, context)
        yield ExplainedCall(bound, inputs, context, job.title, job.source, job)


def job_named(token: str) -> Job:
    """Return the job that ``FILE#ID`` names; a file of one job needs no ID.

    A default ID, such as ``jobs.jsonl:3``, needs no file. Raise `UsageError` if the file has no
    such job, or several jobs and there is no ID, and `InputError` for a shape job.
    """
    import os

    from gathercli.io import jobs

    path, key = token, ""
    while not os.path.lexists(path) and "#" in path:  # an ID may contain one too
        path, _, more = path.rpartition("#")
        key = f"{more}#{key}" if key else more
    if not key and not os.path.lexists(path) and (placed := _PLACE_ID.fullmatch(path)):
        path, key = placed[1], os.path.normpath(path)
    listed_jobs = jobs.jobs(path)
    chosen = [job for job in listed_jobs if not key or job.id == key]
    if len(chosen) != 1:
        ids = [job.id for job in listed_jobs]
        what = counted(len(chosen), "job") if chosen else "no job"
        if key:
            what += f" `{clean(key)}`"
            near = closest(key, ids)
            hint = near and f"did you mean `{clean(path)}#{clean(near)}`?"
        else:  # the first that has cells
            near = next((job.id for job in listed_jobs if job.op != jobs.SHAPE), None)
            hint = near and f"`--job {shell_word(f'{path}#{near}')}` is the first"
        what, expected = f"`{clean(path)}` has {what}", f"one of {some(map(clean, ids))}"
        raise UsageError(what, value=token, expected=expected, hint=hint or None)
    (job,) = chosen
    if job.op == jobs.SHAPE:
        what = f"the job `{clean(job.id)}` infers a shape, which has no cells"
        expected, hint = (
            f"a {listed(FAMILIES)} job",
            "`gathercli shape` shows how a shape comes about",
        )
        raise InputError(what, rule="job", value=job.id, expected=expected, hint=hint)
    return job


def provenance_of(bound: BoundCall, *, progress: ProgressCallback | None = None) -> Provenance[Any]:
    """Return the provenance of the output of a bound call.

    Raise `LimitError` if the output would have more dimensions, or elements, than there can be.
    """
    if bound.call.op.followed:
        from gathercli.explain.beams import BeamProvenance

        return BeamProvenance(bound)
    from gathercli.explain.gather_provenance import GatherProvenance

    return GatherProvenance(bound, progress=progress)


def view_of(provenance: Any) -> View:
    """Return the view of a provenance."""
    if provenance.call.op.followed:
        from gathercli.explain.beam_view import BeamView

        return BeamView(provenance)
    from gathercli.explain.gather_view import GatherView

    return GatherView(provenance)
