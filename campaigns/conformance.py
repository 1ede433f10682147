"""The cases of `gathercli.testing` in runtimes: ``python -m campaigns.conformance [ROW]...``.

``GATHERCLI_PEERS=torch=/venv/bin/python,…`` names the Pythons that have the runtimes. Every case of
every version that a runtime has models of, and of every row that it has code for, is called in each
of its ways, in a process of its own. What is wrong is counted by the mistake that the file of the
framework declares; the first case of each is printed. What no case finds of the declared mistakes,
and what none of them explains, comes last.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import GatherError
from gathercli.frameworks import FrameworkRow, every_framework
from gathercli.io.arraylike import as_numpy
from gathercli.ops import OPERATORS
from gathercli.runtimes.calls import MODEL_THREADS, ONE_THREAD, WAYS, openvino_model
from gathercli.runtimes.client import RuntimeProcess, runtimes_of
from gathercli.runtimes.conformance import ConformanceCase, cases_of
from gathercli.runtimes.declared import (
    NAMES,
    OPENVINO,
    Mistake,
    known_mistake,
    mistakes_of,
    runtimes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.cli.slice_options import Observation
    from gathercli.spec.op import Op

SECONDS: Final = 60.0


class Caller(NamedTuple):
    """A row as a runtime is called by it."""

    op: Op
    way: str = ""
    code: str = ""  # none for a model
    functions: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.op.full_name, self.way)))

    def call(self, process: RuntimeProcess, case: ConformanceCase) -> Observation | None:
        """Call the runtime; None if the code has no words for such attributes."""
        if not self.code:
            threads = 1 if self.way == ONE_THREAD else MODEL_THREADS
            return process.call(case.tensors, model=self._files(case), threads=threads)
        own = {each.name: each.default for each in self.op.attrs}
        words: dict[str, Any] = {"axis": 0, "batch_dims": 0, **own, **case.attributes}
        rank, axis = len(case.data.shape), words["axis"]
        is_place = axis is not None and -rank <= axis < rank
        if not is_place and ("{before}" in self.code or "{position}" in self.code):
            return None
        place = axis % rank if is_place else 0
        code = self.code.format(**words, position=place, before=":, " * place)
        files = {"functions.py": self.functions.encode()} if self.functions else None
        is_wide = not (self.op.adapts and self.op.adapts.narrow)
        return process.call(case.tensors, code=" ".join(code.split()), model=files, x64=is_wide)

    def _files(self, case: ConformanceCase) -> dict[str, bytes]:
        if self.op.framework != OPENVINO:
            return case.files()
        model = openvino_model(self.op, case.tensors, case.attributes, self.way)
        return {"model.xml": model.xml.encode(), "model.bin": model.weights}


def callers(runtime: str) -> Iterator[Caller]:
    """Yield the versions of the models of a runtime, and the rows that it has code for."""
    models = runtimes()[runtime].models
    for op in OPERATORS:
        if op.framework in models:
            for way in WAYS if op.framework == OPENVINO else ("",):
                yield Caller(op, way)
    for of in every_framework():
        rows: list[FrameworkRow] = [*of.rows, *of.ways] if of.runtime == runtime else []
        yield from (
            Caller(each.op, each.way, each.code, of.functions) for each in rows if each.code
        )


def wrong(case: ConformanceCase, seen: Observation) -> str:
    """Return what is wrong with what a runtime did; empty if nothing is."""
    if seen.problem in ("dies", "hangs", "unsteady"):
        return f"it {seen.problem} {seen.message or ''}\n{case}: {case.why}"
    result = RuntimeError(seen.message) if seen.tensor is None else as_numpy(seen.tensor)
    try:
        case.check(result)
    except AssertionError as error:
        return str(error)
    return ""


def known(caller: Caller, runtime: str, case: ConformanceCase, seen: Observation) -> Mistake | None:
    """Return the declared mistake that is true of a case."""
    return known_mistake(
        mistakes_of(caller.op.framework, runtime),
        case.tensors,
        seen.tensor,
        **{"axis": None, "batch_dims": 0, **case.attributes},
        row=caller.op.name,
        way=caller.way,
        refused=case.rule,
        problem=seen.problem or "",
    )


class Findings:
    """What the cases found in a runtime."""

    def __init__(self, runtime: str) -> None:
        self.runtime = runtime
        self.known: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.unknown: list[str] = []

    def ask(self, caller: Caller, process: RuntimeProcess) -> tuple[int, int]:
        """Ask all cases of a row; return how many were called, and how many answers are wrong."""
        types, called, bad = runtimes()[self.runtime].types, 0, 0
        for case in cases_of(caller.op):
            if types and any(each.dtype not in types for each in case.tensors.values()):
                continue
            try:
                seen = caller.call(process, case)
            except GatherError as error:  # there is no such model
                print(f"  {caller} {case}: {error}", flush=True)
                continue
            if seen is None:
                continue
            called += 1
            if not (said := wrong(case, seen)):
                continue
            bad += 1
            mistake = known(caller, self.runtime, case, seen)
            if mistake is None:
                self.unknown.append(f"{caller}: {said}")
                continue
            self.known[mistake.what] += 1
            self.examples.setdefault(mistake.what, f"{caller}, {case}")
        return called, bad

    def report(self, name: str) -> None:
        """Print the mistakes that were found, those that were not, and the unknown ones."""
        print(f"\n{name}: wrong answers by mistake")
        for what, count in self.known.most_common():
            print(f"  {count:5} {what}\n        {self.examples[what]}")
        declared = {
            each.what: each
            for of in every_framework()
            for each in mistakes_of(of.name, self.runtime)
        }
        for what in declared.keys() - self.known.keys():
            print(f"      0 {what}")
        print(f"{name}: {len(self.unknown)} wrong answers of no declared mistake")
        for said in self.unknown:
            print("  " + "\n    ".join(said.splitlines()[:6]))


def main() -> None:
    """Ask every row of every runtime, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--with", dest="names", default=",".join(NAMES))
    parser.add_argument("rows", nargs="*", help="full names, or those of frameworks")
    words = parser.parse_args()
    for peer in runtimes_of(os.environ.get("GATHERCLI_PEERS", ",".join(NAMES))):
        if peer.name not in words.names.split(","):
            continue
        findings = Findings(peer.name)
        with RuntimeProcess(peer, SECONDS) as process:
            if absence := process.absence():
                print(f"{peer.name} {absence.why}", flush=True)
                continue
            for each in callers(peer.name):
                if words.rows and not {each.op.full_name, each.op.framework} & {*words.rows}:
                    continue
                called, bad = findings.ask(each, process)
                print(
                    f"{process.full_name:24} {each!s:40} {called:4} cases, {bad:3} wrong",
                    flush=True,
                )
            name = process.full_name
        findings.report(name)


if __name__ == "__main__":
    main()
