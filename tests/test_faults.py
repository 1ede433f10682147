"""Whichever call of the system fails: one message, the right status, nothing spoilt or left."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import re
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest

import gathercli
from gathercli.errors import GatherError
from gathercli.io.jobs import jobs
from tests.faults import VARIETIES, Faults

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run

OLD: Final = b"old"
OLD_MODE: Final = 0o640
JSON: Final = b"[[1,2,3],[4,5,6]]"
REQUEST: Final = (
    b'{"inputs":[{"name":"data","shape":[3],"datatype":"INT64","data":[5,6,7]},'
    b'{"name":"indices","shape":[1],"datatype":"INT64","data":[9]}]}'
)


class Scenario(NamedTuple):
    """A command line, the file it writes, and where it finds itself.

    Attributes
    ----------
    target, old
        The output, and what it holds before; None for stdout, and for no file.
    unnamed
        Whether the file system has files without a name.
    """

    line: str
    target: str | None = None
    old: bytes | None = OLD
    stdin: bytes = b""
    unnamed: bool = True

    @property
    def words(self) -> list[str]:
        """The command line, word by word."""
        return self.line.split(" ")


SCENARIOS: Final = {
    "small npy to npy": Scenario("gather small.npy [2,0] -o x.npy", "x.npy"),
    "mapped npy to npy": Scenario("gather large.npy [2,0] -o x.npy", "x.npy"),
    "a new file": Scenario("gather small.npy [2,0] -o x.npy", "x.npy", None),
    "npz to json": Scenario("gather x.npz#a [0] -o x.json", "x.json"),
    "json to npz": Scenario("gather in.json [1,0] -o y.npz", "y.npz"),
    "stdin to oip": Scenario("gather -#data -#indices -o x.out -f oip", "x.out", stdin=REQUEST),
    "an npz on stdin": Scenario("gather -#b [1] -o x.out -f literal", "x.out", stdin=b"npz"),
    "all to literal": Scenario("gather-elements small.npy small.npy -a 0 -o x -f literal", "x"),
    "no clobber": Scenario("gather small.npy [2] -o new.npy --no-clobber", "new.npy", None),
    "over its input": Scenario("gather own.npy [2,0] -o own.npy", "own.npy"),
    "over its mapped input": Scenario("gather large.npy [1,0] -o large.npy", "large.npy"),
    "through a link": Scenario("gather small.npy [1] -o link.npy", "x.npy"),
    "named": Scenario("gather small.npy [2,0] -o x.npy", "x.npy", unnamed=False),
    "named and new": Scenario("gather large.npy [2] -o x.npy", "x.npy", None, unnamed=False),
    "named, no clobber": Scenario(
        "gather small.npy [2] -o new.npy --no-clobber", "new.npy", None, unnamed=False
    ),
    "stdout": Scenario("gather small.npy [2,0]"),
    "stdout, with a note": Scenario("gather large.npy [70000,0]"),
    "npy on stdout": Scenario("gather small.npy [2,0] -f npy"),
    "the pretty view": Scenario("gather x.npz#b in.json -f pretty"),
    "an expectation": Scenario("gather small.npy [2,0] --expect expected.json"),
    "the shape of a file": Scenario("shape gather @large.npy [2,2]"),
    "the shape of a member": Scenario("shape gather x.npz#a [2,2]"),
}


def prepare(folder: Path) -> None:
    """Write the inputs."""
    np.save(folder / "small.npy", np.arange(3))
    np.save(folder / "own.npy", np.arange(3))
    np.save(folder / "large.npy", np.arange(1 << 14))
    np.savez_compressed(folder / "x.npz", a=np.arange(3), b=np.arange(4.0))
    (folder / "in.json").write_bytes(JSON)
    (folder / "expected.json").write_text("[2,0]")
    (folder / "link.npy").symlink_to("x.npy")


class Bench:
    """A folder in which a scenario is run again and again."""

    def __init__(self, scenario: Scenario, run: Run, folder: Path) -> None:
        self.scenario, self._run, self._folder = scenario, run, folder
        prepare(folder)
        stdin = (folder / "x.npz").read_bytes()
        self._stdin = stdin if scenario.stdin == b"npz" else scenario.stdin
        target, self._link = scenario.target, folder / "link.npy"
        self._target = None if target is None else folder / target
        self.old = scenario.old if target else None
        if self._target is not None and self._target.exists():
            self.old = self._target.read_bytes()
        self.good, self.whole = self.once(self.faults())
        assert self.good.status == 0, self.good
        assert self._target is None or self.whole not in (None, self.old)
        self._names = sorted(os.listdir(folder))

    def faults(self, at: int = 0, variety: int = 0, **rest: Any) -> Faults:
        """Make faults for the file system that the scenario has."""
        return Faults(at, variety, unnamed=self.scenario.unnamed, **rest)

    def once(self, faults: Faults) -> tuple[Ran, bytes | None]:
        """Run with faults from the same start; return also what the target then holds."""
        if self._target is not None and (self._held() != self.old or self._mode() != OLD_MODE):
            self._target.unlink(missing_ok=True)
            if self.old is not None:
                self._target.write_bytes(self.old)
                self._target.chmod(OLD_MODE)
        if not self._link.is_symlink():
            self._link.unlink(missing_ok=True)
            self._link.symlink_to("x.npy")
        with faults:
            ran = self._run(*self.scenario.words, stdin=self._stdin)
        return ran, self._held()

    def _held(self) -> bytes | None:
        there = self._target is not None and self._target.exists()
        return self._target.read_bytes() if self._target is not None and there else None

    def _mode(self) -> int:
        """Return the mode of the target, and that of the old one where there is no file."""
        if self._target is None or not self._target.exists():
            return OLD_MODE
        return stat.S_IMODE(self._target.stat().st_mode)

    def problems(self, faults: Faults) -> list[str]:
        """Run with faults; say what is wrong then."""
        before = len(os.listdir("/dev/fd"))
        ran, held = self.once(faults)
        found = self._wrong_output(ran, held, faults) + self._wrong_words(ran)
        if len(os.listdir("/dev/fd")) > before:
            gc.collect()
            if len(os.listdir("/dev/fd")) > before:
                found.append("a descriptor stays open")
        return found + self._litter(faults)

    def _litter(self, faults: Faults) -> list[str]:
        stray = set(os.listdir(self._folder)) - set(self._names)
        for name in stray:
            os.unlink(self._folder / name)
        if faults.failed == "unlink" or faults.forever:  # then nothing can be done
            stray = {name for name in stray if not re.fullmatch(r"\..+\.tmp", name)}
        return [f"{name} is left" for name in stray]

    def _wrong_output(self, ran: Ran, held: bytes | None, faults: Faults) -> list[str]:
        if ran.status == 0:
            whole = ran.out == self.good.out and ran.err in (self.good.err, "")
            found = [] if whole and held == self.whole else ["status 0, and the output is wrong"]
            if not self._link.is_symlink():
                found.append("the link was replaced")
            if self.old is not None and self._mode() != OLD_MODE:
                found.append(f"the mode became {self._mode():o}")
            return found
        found = []
        if not self.good.out.startswith(ran.out):
            found.append("stdout is wrong")
        before = set(faults.calls[: faults.at - 1])
        may_hold = [self.whole if before & {"replace", "rename"} else self.old]
        if "link" in before and self.old is None:  # to the target itself, or to a name beside it
            may_hold.append(self.whole)
        if held not in may_hold:
            found.append(f"the target holds {held!r:.40}")
        return found

    def _wrong_words(self, ran: Ran) -> list[str]:
        if ran.status == 0:
            return []
        found = [] if ran.status in (66, 73, 74) else [f"status {ran.status}: {ran.err!r}"]
        lines = ran.err.splitlines()
        shaped = lines[:1] and lines[0].startswith("error: ") and lines[-1].startswith("rule: ")
        if not shaped or not 2 <= len(lines) <= 4 or "Traceback" in ran.err:
            found.append(f"the message is {ran.err!r}")
        return found


@pytest.fixture
def bench(request: pytest.FixtureRequest, run: Run, folder: Path) -> Bench:
    return Bench(SCENARIOS[request.param], run, folder)


every_scenario = pytest.mark.parametrize("bench", SCENARIOS, indirect=True)


def until_none_fails(bench: Bench, start: int, *, forever: bool = False) -> list[str]:
    """Let the first call fail, the second…; return what goes wrong, at which."""
    found: list[str] = []
    for number in range(1, 300):
        faults = bench.faults(number, (number + start) % VARIETIES, forever=forever)
        problems = bench.problems(faults)
        if faults.failed is None:
            assert problems == []
            assert len(faults.calls) == number - 1
            return found
        code = errno.errorcode[faults.number]
        found += [f"call {number}, {faults.failed} ({code}): {each}" for each in problems]
    return [*found, "the calls never end"]


@every_scenario
@pytest.mark.parametrize(  # so that a call fails in more than one way
    "start", [0, pytest.param(2, marks=pytest.mark.no_cover)]
)
def test_whichever_call_fails_nothing_is_spoilt_and_the_status_is_right(
    bench: Bench, start: int
) -> None:
    assert until_none_fails(bench, start) == []


@pytest.mark.no_cover
@every_scenario
def test_when_every_call_fails_from_one_on_nothing_is_spoilt_either(bench: Bench) -> None:
    assert until_none_fails(bench, 0, forever=True) == []


@every_scenario
def test_reads_and_writes_that_move_only_a_part_change_nothing(bench: Bench) -> None:
    faults = bench.faults(short=True)
    assert bench.problems(faults) == []
    ran, held = bench.once(bench.faults(short=True))
    assert (ran, held) == (bench.good, bench.whole)
    assert {"read", "pread", "write"} & set(faults.calls)


def closes_what_was_written(name: str, args: tuple[Any, ...]) -> bool:
    if name != "close":
        return False
    return fcntl.fcntl(args[0], fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY


@pytest.mark.parametrize(
    "bench",
    [name for name, scenario in SCENARIOS.items() if scenario.target is not None],
    indirect=True,
)
def test_a_write_whose_failure_only_close_tells_is_noticed_before_the_file_has_its_name(
    bench: Bench,
) -> None:
    ran, held = bench.once(bench.faults(1, only=closes_what_was_written))

    assert (ran.status, ran.out) == (74, "")
    assert ran.err.endswith("rule: output\n")
    assert held == bench.old


@pytest.mark.parametrize("variety", range(VARIETIES))
def test_the_python_interface_raises_one_of_ours_and_leaves_nothing(
    variety: int, folder: Path
) -> None:
    prepare(folder)
    names = sorted(os.listdir(folder))
    for number in range(1, 100):
        (folder / "own.npy").write_bytes(OLD)
        faults, raised = Faults(number, variety), None
        with faults:
            try:
                loaded = gathercli.load("x.npz#a")
                gathercli.save("own.npy", loaded)
            except GatherError as error:
                raised = error
        assert sorted(os.listdir(folder)) == names
        if raised is not None:
            assert raised.status in (66, 73, 74)
        if faults.failed is None:
            assert np.load(folder / "own.npy").tolist() == [0, 1, 2]
            return
    pytest.fail("the calls never end")


@pytest.mark.parametrize("variety", range(VARIETIES))
def test_a_job_file_that_cannot_be_read_is_66(variety: int, folder: Path) -> None:
    (folder / "x.jsonl").write_text('{"id":"a","op":"gather","data":[1],"indices":[0]}\n')
    faults = Faults(1, variety)
    statuses = []
    for number in range(1, 100):
        faults = Faults(number, variety)
        with faults:
            try:
                jobs("x.jsonl")
            except GatherError as error:
                statuses.append(error.status)
        if faults.failed is None:
            break
    assert set(statuses) == {66}
    assert len(statuses) >= 2


def test_the_calls_that_matter_are_counted(run: Run, folder: Path) -> None:
    prepare(folder)
    seen: set[str] = set()
    for name in ("npz to json", "over its mapped input", "stdin to oip"):
        scenario = SCENARIOS[name]
        with Faults() as faults:
            run(*scenario.words, stdin=scenario.stdin)
        seen |= set(faults.calls)
    assert seen >= {"open", "read", "pread", "fstat", "stat", "mmap", "dup", "close"}
    assert seen >= {"write", "link", "replace", "statvfs"}
