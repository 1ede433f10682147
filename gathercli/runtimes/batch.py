"""Run the jobs of a plan in other runtimes too, and report where these disagree."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from gathercli.batch.journal import open_locked, place_of
from gathercli.compute.bound import of_one_type
from gathercli.compute.compare import compared
from gathercli.compute.verdicts import Case
from gathercli.errors import GatherError, LimitError
from gathercli.io.descriptors import STDOUT, write_all
from gathercli.io.jobs import SHAPE, Job, bind_call, row_of
from gathercli.io.source import Inputs
from gathercli.io.write import Output, is_stream
from gathercli.report.terminal import print_text
from gathercli.runtimes.verdict import OUTCOME_WORDS, Expected, RuntimeOutcome, runtime_json
from gathercli.spec.call import Operand
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.batch.batch_run import BatchRequest
    from gathercli.cli.slice_options import Absence
    from gathercli.runtimes.verdict import Runtimes, RuntimeVerdict


class RuntimeBatch:
    """A run of the jobs of a plan in runtimes; a line of report for each disagreement."""

    def __init__(self, processes: Runtimes, request: BatchRequest, *, allow_absent: bool) -> None:
        self._processes, self._allow_absent = processes, allow_absent
        self._pretty = request.is_pretty
        self._plan, self._running, self._reporting, self._messages, self._external = request
        self._counts: dict[str, Counter[RuntimeOutcome]] = {}
        self._absences: list[Absence] = []
        self._failed = 0

    def run(self) -> int:
        """Run the jobs and return the exit status: 1 if a runtime disagrees, or a job fails."""
        with ExitStack() as stack:
            write = self._writer(stack)
            for _, job in self._plan.read(range(len(self._plan))):
                for line in self._lines(job):
                    write(line)
            for process in self._processes.present:
                self._counts.setdefault(process.full_name, Counter())
            self._absences = self._processes.absences
            for each in self._absences:
                write({"id": None, **each.json()})
        self._sum_up()
        fine = {RuntimeOutcome.AGREES}
        disagrees = any(counts.keys() - fine for counts in self._counts.values())
        is_absent = self._absences and not self._allow_absent
        return int(self._failed > 0 or disagrees or bool(is_absent))

    def _writer(self, stack: ExitStack) -> Callable[[dict[str, Any]], None]:
        """Return the function that writes a line of report."""
        if self._pretty:
            return lambda line: print_text(_text(line))
        if self._reporting.path is None:
            return lambda line: write_all(STDOUT, _json(line))
        path = self._reporting.path
        if is_stream(path):
            output = stack.enter_context(Output(path))
            output.open()
            return lambda line: output.stream.write(_json(line))
        fd = open_locked(path, resumes=False)
        stack.callback(os.close, fd)
        return lambda line: write_all(fd, _json(line), place=place_of(path))

    def _lines(self, job: Job) -> Iterator[dict[str, Any]]:
        """Yield a line for each disagreement, or one for an error of the job."""
        if job.op == SHAPE:
            return
        try:
            with Inputs(self._running.memory.limits.memory, folder=job.folder) as inputs:
                inputs.external = self._external
                for each in self._verdicts(job, inputs):
                    name = " ".join(filter(None, (each.call.runtime, each.version)))
                    self._counts.setdefault(name, Counter())[each.outcome] += 1
                    if each.disagrees:
                        yield {"id": job.id, **_fields(each, job)}
        except GatherError as error:
            self._failed += 1
            yield {"id": job.id, "outcome": "error", "rule": error.rule, "message": error.message}

    def _verdicts(self, job: Job, inputs: Inputs) -> Iterator[RuntimeVerdict]:
        op = row_of(job, self._messages.notes)
        tensors = of_one_type(op, [job.tensor(each.name, inputs) for each in op.inputs])
        case = Case(lambda row: bind_call(job, row, map(Operand.of, tensors)), *tensors)
        comparison = compared([op], case, self._running.memory.limits.result, named={op})
        error = comparison.verdicts[0].error
        if isinstance(error, LimitError):  # of ours, which says nothing about the version
            raise error
        expected = Expected(comparison, case)
        yield from self._processes.verdicts([op], case.tensors, job.attrs, expected)
        inputs.recheck()

    def _sum_up(self) -> None:
        """Print what each runtime did: on stdout with the pretty report, else on stderr."""
        lines = [f"{counted(len(self._plan), 'job')}"]
        lines[0] += f", {self._failed} failed" if self._failed else ""
        for name, counts in self._counts.items():
            words = ((OUTCOME_WORDS[each.value], n) for each, n in counts.most_common())
            parts = [counted(n, each["one"], each["many"]) for each, n in words]
            called = counted(counts.total(), "call")
            lines.append(f"{name}  {': '.join(filter(None, (called, ', '.join(parts))))}")
        lines += [f"{each.runtime}  {each.why}" for each in self._absences]
        text = "".join(f"{line}\n" for line in lines)
        if self._pretty:
            print_text(text)
        elif not self._messages.is_silent:
            self._messages.write(text)


def _fields(each: RuntimeVerdict, job: Job) -> dict[str, Any]:
    fields = runtime_json(each, "the version") | {"operator": row_of(job, []).full_name}
    return {key: value for key, value in fields.items() if key not in ("group", "differs_from")}


def _json(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _text(line: dict[str, Any]) -> str:
    parts = [line["id"], line.get("runtime"), line.get("version"), line.get("call")]
    words = "  ".join(clean(part) for part in parts if part)
    return f"{words}  {clean(line['message'])}\n"
