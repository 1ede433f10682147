"""Which tests reach which line: measured once, asked for every mutant."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import time
from functools import cache
from typing import TYPE_CHECKING, Final

from campaigns.mutation.mutants import ROOT, definitions, source_of

if TYPE_CHECKING:
    import pytest


LAST: Final = 1 << 30


class Reach:
    """Which tests reach which line, and how long each takes."""

    def __init__(self, folder: str) -> None:
        from coverage import CoverageData

        self.seconds, self.failed = dict[str, float](), list[str]()
        data = CoverageData(os.path.join(folder, "reach"))
        for name in os.listdir(folder):
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    seconds, failed = json.load(file)
                self.seconds |= seconds
                self.failed += failed
            elif name.startswith("reach."):
                part = CoverageData(os.path.join(folder, name))
                part.read()
                data.update(part)
        self._tests: dict[str, dict[int, set[str]]] = {}
        for measured in data.measured_files():
            path = measured.rpartition("/gathercli/")[2]
            lines = data.contexts_by_lineno(measured)
            known = self._tests.setdefault(path, {})
            for at, tests in lines.items():
                known[at] = known.get(at, set()) | set(tests) - {""}

    def __call__(self, path: str, line: int) -> list[str]:
        """Name the tests for a mutant: first those that reach what few others reach beside it."""
        rarity = self._of(path, line, set()) or self._rarity(path, (1, LAST), (1, LAST))
        known = rarity.keys() & self.seconds.keys()
        return sorted(known, key=lambda test: (rarity[test], self.seconds[test]))

    def _of(self, path: str, line: int, seen: set[str]) -> dict[str, int]:
        """Find the tests of a line; for one that only an import reaches, those of its use."""
        name, node = _definition(path, line)
        if isinstance(node, ast.FunctionDef):
            first, last = node.body[0].lineno, node.end_lineno or 0
            lines = _statement(path, line) if line >= first else (first, last)
            return self._rarity(path, lines, (node.lineno, last))
        if node is None or name in seen:
            return {}
        found = self._naming(name)
        seen.add(name)
        uses = [(user, at) for user in self._tests for at in _uses(user, name)]
        for in_functions in (True, False):  # and in other constants if there is none
            for user, at in uses if in_functions or not found else ():
                if in_functions == isinstance(_definition(user, at)[1], ast.FunctionDef):
                    for test, number in self._of(user, at, seen).items():
                        found[test] = min(number, found.get(test, LAST))
        return found

    def _naming(self, name: str) -> dict[str, int]:
        """Find the tests that name a constant, beside its own module: they may have imported it."""
        files = {test.partition("::")[0] for test in self.seconds}
        naming = {each for each in files if each.startswith("tests/") and _names(each, name)}
        tests = [test for test in self.seconds if test.partition("::")[0] in naming]
        return dict.fromkeys(tests, len(tests))

    def _rarity(self, path: str, lines: tuple[int, int], whole: tuple[int, int]) -> dict[str, int]:
        """Name the tests that reach `lines`, with the fewest that reach any line of `whole`."""
        tests = self._among(path, *lines)
        found = dict.fromkeys(tests, LAST)
        for at, these in self._tests.get(path, {}).items():
            if whole[0] <= at <= whole[1]:
                for test in these & tests:
                    found[test] = min(found[test], len(these))
        return found

    def _among(self, path: str, first: int, last: int) -> set[str]:
        lines = self._tests.get(path, {})
        return set().union(*(tests for at, tests in lines.items() if first <= at <= last))


@cache
def _names(file: str, name: str) -> bool:
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        return re.search(rf"\b{name.rpartition('.')[2]}\b", text.read()) is not None


@cache
def _definition(path: str, line: int) -> tuple[str, ast.stmt | None]:
    """Return the function or constant that a line is of, and its name."""
    for name, node in _definitions(path):
        if node.lineno <= line <= (node.end_lineno or 0):
            return name, node
    return "", None


@cache
def _definitions(path: str) -> list[tuple[str, ast.stmt]]:
    return list(definitions(ast.parse(source_of(path)).body))


@cache
def _uses(path: str, name: str) -> list[int]:
    word = re.compile(rf"\b{name.rpartition('.')[2]}\b")
    return [at for at, text in enumerate(source_of(path).splitlines(), 1) if word.search(text)]


@cache
def _statements(path: str) -> list[tuple[int, int]]:
    found = []
    for node in ast.walk(ast.parse(source_of(path))):
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or 0
            found.append((node.lineno, max(end, node.lineno)))
    return found


def _statement(path: str, line: int) -> tuple[int, int]:
    """Return the lines of the innermost statement, without the body of one that has a body."""
    around = [(a, b) for a, b in _statements(path) if a <= line <= b]
    return min(around, key=lambda lines: lines[1] - lines[0], default=(line, line))


class Measure:
    """pytest plugin: records the tests' times and tells coverage which test runs."""

    def __init__(self, folder: str) -> None:
        import coverage

        self._folder, self._seconds, self._failed = folder, dict[str, float](), list[str]()
        settings = os.path.join(folder, "coverage.ini")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(
                f"[run]\ndata_file = {folder}/reach\nparallel = true\n"
                f"context = ${{TEST-}}\nsource = {os.getcwd()}/gathercli\n"
            )
        os.environ |= {"COVERAGE_PROCESS_START": settings, "COVERAGE_CORE": "ctrace"}
        self._coverage = coverage.Coverage(config_file=settings, context="")

    def pytest_runtestloop(self) -> None:
        """Count lines from here on, those of tests marked `no_cover` too."""
        self._coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Name the test to the coverage of this process and of those it starts."""
        self._coverage.switch_context(nodeid)
        os.environ["TEST"] = nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the phases of a test; one that fails while it is measured is not used."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed and report.nodeid not in self._failed:
            self._failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Save."""
        self._coverage.stop()
        self._coverage.save()
        name = f"{time.time_ns()}.json"
        with open(os.path.join(self._folder, name), "w", encoding="utf-8") as file:
            sound = {test: n for test, n in self._seconds.items() if test not in self._failed}
            json.dump([sound, self._failed], file)


class Select:
    """pytest plugin: runs the tests named, in that order, and notes the last one.

    A test that takes far longer than it did ends the process.
    """

    def __init__(self, seconds: dict[str, float], note: str) -> None:
        self._seconds, self._note = seconds, note
        self._order = {test: at for at, test in enumerate(seconds)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose and sort."""
        items[:] = [item for item in items if item.nodeid in self._order]
        items.sort(key=lambda item: self._order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note the test and set an alarm, which ends the process."""
        signal.alarm(20 + int(10 * self._seconds[nodeid]))
        with open(self._note, "w", encoding="utf-8") as file:
            file.write(nodeid)
