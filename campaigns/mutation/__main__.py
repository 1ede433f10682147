"""The command: measure, mutate, test, report."""

from __future__ import annotations

import argparse
import difflib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from importlib import import_module
from itertools import chain, count
from typing import TYPE_CHECKING, Final, NamedTuple

from campaigns.mutation.mutants import (
    FILES,
    ROOT,
    Mutant,
    draw,
    equivalents,
    mutants,
    program,
    source_of,
)
from campaigns.mutation.reach import Measure, Reach, Select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

COPIED: Final = (
    *("gathercli", "tests", "campaigns", "fixtures", "man", ".ci", ".github"),
    *("README.md", "LICENSE", "pyproject.toml"),
)
UNRELATED: Final = ("tests/test_wheel.py",)
"""A test that builds the package and nothing else."""

PRELOADED: Final = ("pytest", "hypothesis", "numpy", "ml_dtypes", "typer", "rich", "onnx")
"""Modules that every forked process would import again."""

ENOUGH: Final = 60.0
"""Seconds of tests that try one mutant; what none of them notices counts as survived."""

UNCHANGED: Final = "unchanged"
"""The operator of what is tried first, to see that tests fail by mutants alone."""

MEMORY: Final = 8 << 30
"""Bytes of address space of a test process: a mutant without a limit ends there."""


_TIMES: Final = count(1)


class Tried(NamedTuple):
    """A mutant and how it ended, and the last test.

    ``killed``, ``timeout``, ``survived``, or ``equivalent`` if no test can notice it.
    """

    mutant: Mutant
    how: str
    test: str
    tests: int
    seconds: float


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.mutation")
    parser.add_argument("areas", nargs="*", default=[""], help="files or folders of gathercli/")
    parser.add_argument("--tests", nargs="+", default=["gathercli", "tests"], help="or none")
    parser.add_argument("--measured", metavar="FOLDER", help="keep there what tests reach")
    parser.add_argument("--sample", type=int, metavar="N", help="draw N mutants of each area")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    given = parser.parse_args(argv)
    if os.geteuid() == 0:
        _say("run this as an ordinary user: as root a mutated writer might replace a device")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in PRELOADED:
        with suppress(ImportError):
            import_module(name)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copies = [os.path.join(folder, str(number)) for number in range(given.j)]
        _copy(copies[0])
        measured = given.measured or folder
        status = _measure(copies[0], measured, given.tests) if given.tests != ["none"] else 0
        reach = Reach(measured)
        _say("".join(f"fails when it is measured: {test}\n" for test in reach.failed))
        if status not in {0, 1} or len(reach.failed) > len(reach.seconds) // 50:
            with open(f"{copies[0]}.log", encoding="utf-8", errors="replace") as log:
                print(log.read()[-8000:], "The tests fail without a mutant.", sep="\n")
            return 1
        for copy in copies[1:]:
            shutil.copytree(copies[0], copy)
        _say(f"{len(reach.seconds)} tests measured in {time.monotonic() - started:.0f} s")
        made = [each for area in given.areas for each in _made(area, given.sample, given.seed)]
        paths = dict.fromkeys(each.path for each in made)
        first = [Mutant(path, 0, UNCHANGED, source_of(path)) for path in paths]
        tried = _try_all(first + made, copies, reach)
    _report(tried, time.monotonic() - started)
    return 0


def _made(area: str, sample: int | None, seed: int) -> list[Mutant]:
    """Make the mutants of a file or folder, or a sample of those that the operators make."""
    paths = [path for path in FILES if path.startswith(area)]
    if sample is None:
        return [each for path in paths for each in mutants(path)]
    return draw(paths, sample, seed)


def _measure(copy: str, folder: str, tests: list[str]) -> int:
    child = _fork(copy, lambda: _pytest(copy, Measure(folder), tests))
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        _end(child)  # and by an interrupt the tests themselves


def _end(child: int) -> None:
    """End a process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _copy(copy: str) -> None:
    os.mkdir(copy)
    for name in COPIED:
        found = os.path.join(ROOT, name)
        if os.path.isdir(found):
            shutil.copytree(found, os.path.join(copy, name))
        else:
            shutil.copy2(found, copy)


def _fork(copy: str, task: Callable[[], int]) -> int:
    """Fork a process that works in a copy; its status is what the task returns."""
    if child := os.fork():
        return child
    status = 70
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.chdir(copy)
        os.makedirs(f"{copy}.tmp", exist_ok=True)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        log = os.open(f"{copy}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for at, fd in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(fd, at)
        os.environ |= {"PYTHONPATH": copy, "TMPDIR": f"{copy}.tmp"}
        sys.path[0] = copy
        for name in [name for name in sys.modules if name.startswith(("tests", "campaigns"))]:
            del sys.modules[name]
        status = task()
    finally:
        os._exit(status)


def _pytest(copy: str, plugin: object, words: Iterable[str]) -> int:
    import pytest

    common = ["-q", "--tb=short", f"--basetemp={copy}.tmp/run"]
    common += ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
    common += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    common += [f"--ignore={name}" for name in UNRELATED]
    return int(pytest.main([*common, *words], [plugin]))


def _start(mutant: Mutant, copy: str, seconds: dict[str, float]) -> int:
    """Write a mutant and fork a process that tests it."""
    path = os.path.join(copy, "gathercli", mutant.path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(mutant.source)
    time_of_its_own = next(_TIMES)  # so that no compiled file seems to be that of the mutant
    os.utime(path, (time_of_its_own, time_of_its_own))
    files = {test: test.partition("::")[0] for test in seconds}
    first = [test for test in seconds if files[test] == next(iter(files.values()))][:40]

    def task() -> int:
        """Try the first tests alone, since collecting many files takes longer than most tests."""
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        for chosen in (first, [test for test in seconds if test not in first]):
            select = Select({test: seconds[test] for test in chosen}, f"{copy}.test")
            named = dict.fromkeys(files[test] for test in chosen)
            status = _pytest(copy, select, ["-x", *named]) if chosen else 0
            if status not in {0, 5}:  # 5: the mutant gave the tests other names
                return status
        return 0

    return _fork(copy, task)


def _try_all(todo: list[Mutant], copies: list[str], reach: Reach) -> list[Tried]:
    """Try every mutant, one in each copy at a time; first by the tests that killed its siblings."""
    tried: list[Tried] = []
    total = sum(mutant.operator != UNCHANGED for mutant in todo)
    kills: Counter[tuple[str, str]] = Counter()
    free, running = copies[:], dict[int, tuple[Mutant, str, int, float]]()
    queue: Iterator[Mutant] = iter(todo)
    try:
        while True:
            while free and (mutant := next(queue, None)):
                known = Counter(
                    {test: n for (path, test), n in kills.items() if path == mutant.path}
                )
                tests = _enough(reach(mutant.path, mutant.line), known, reach.seconds)
                copy = free.pop()
                child = _start(mutant, copy, tests)
                running[child] = mutant, copy, len(tests), time.monotonic()
            if not running:
                return tried
            child, status = os.waitpid(-1, 0)
            mutant, copy, number, started = running.pop(child)
            ended = _ended(mutant, copy, status, number, time.monotonic() - started)
            _clean_up(child, mutant, copy)
            free.append(copy)
            if mutant.operator == UNCHANGED:
                if ended.how != "survived":  # a test that leans on others is of no use here
                    _say(f"fails without a mutant, after others: {ended.test}")
                    del reach.seconds[ended.test]
                    queue = chain([mutant], queue)
                continue
            kills[mutant.path, ended.test] += ended.how in {"killed", "timeout"}
            tried.append(ended)
            _tell(ended, f"{len(tried)}/{total}")
    finally:
        for child in running:
            _end(child)
            os.waitpid(child, 0)


def _enough(tests: list[str], kills: Counter[str], seconds: dict[str, float]) -> dict[str, float]:
    """Choose tests, the first ones and those that killed other mutants of the file.

    These come first, then those of the same functions, since the next mutant is often a case of
    other parameters, then the quickest.
    """
    functions: Counter[str] = Counter()
    for test, number in kills.items():
        functions[test.partition("[")[0]] += number
    total = 0.0
    chosen = list[str]()
    for test in sorted(tests, key=lambda test: -kills[test]):
        if total + seconds[test] <= ENOUGH or not chosen:  # a slow one leaves room to quick ones
            chosen.append(test)
            total += seconds[test]
    chosen.sort(key=lambda test: (-kills[test], -functions[test.partition("[")[0]], seconds[test]))
    return {test: seconds[test] for test in chosen}


def _ended(mutant: Mutant, copy: str, status: int, number: int, seconds: float) -> Tried:
    test = ""
    with suppress(FileNotFoundError), open(f"{copy}.test", encoding="utf-8") as file:
        test = file.read()
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return Tried(mutant, "timeout", test, number, seconds)
    how = "killed"
    if os.waitstatus_to_exitcode(status) == 0 or not number:
        how = "equivalent" if program(mutant.source) in equivalents(mutant.path) else "survived"
    return Tried(mutant, how, test, number, seconds)


def _clean_up(child: int, mutant: Mutant, copy: str) -> None:
    """End what the tests left behind and put the original back."""
    _end(child)
    with suppress(FileNotFoundError):
        os.unlink(f"{copy}.test")
    shutil.rmtree(f"{copy}.tmp", ignore_errors=True)
    original = os.path.join(ROOT, "gathercli", mutant.path)
    shutil.copy2(original, os.path.join(copy, "gathercli", mutant.path))


def _tell(ended: Tried, count: str) -> None:
    """Say how a mutant ended, and show a survivor as a difference."""
    path, line, operator, changed = ended.mutant
    place = f"{path}:{line} {operator}"
    _say(f"{count} {ended.how} {place} {ended.seconds:.1f} s {ended.tests} {ended.test}")
    if ended.how == "survived":
        before, after = source_of(path).splitlines(), changed.splitlines()
        difference = difflib.unified_diff(before, after, n=1, lineterm="")
        print(f"{place} survived {ended.tests} tests", *[*difference][3:], "", sep="\n", flush=True)


def _report(tried: list[Tried], seconds: float) -> None:
    """Print the counts, and the share that was noticed of all and of those that can be."""
    names = ("killed", "timeout", "equivalent", "survived")
    print(f"{'file':<24}{'mutants':>10}" + "".join(f"{name:>12}" for name in names), "  noticed")
    for path in [*dict.fromkeys(each.mutant.path for each in tried), ""]:
        how = Counter(each.how for each in tried if path in ("", each.mutant.path))
        noticed, total = how["killed"] + how["timeout"], how.total()
        print(
            f"{path or 'all':<24}{total:>10}" + "".join(f"{how[name]:>12}" for name in names),
            f"{100 * noticed / total:>7.1f} %",
            f"{100 * noticed / max(total - how['equivalent'], 1):>7.1f} %",
        )
    print(f"{seconds / 60:.0f} minutes")


if __name__ == "__main__":
    sys.exit(main())
