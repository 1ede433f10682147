"""The running of a batch: what its jobs report, and that none takes the others with it."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from gathercli.batch import batch_run, journal, pool
from gathercli.batch.batch_run import RunOptions
from gathercli.batch.plan import Plan
from gathercli.batch.work import READY_LINE, Settings, line_of
from gathercli.io.descriptors import write_all
from tests.jobs import parse
from tests.processes import (
    PATIENCE,
    PROGRAM,
    Feed,
    children,
    is_gone,
    on_terminal,
    opened,
    read_until,
    start,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.batch.outcome import Outcome
    from tests.conftest import Program, Run


pytestmark = pytest.mark.usefixtures("one_core")
KEYS: Final = ["id", "status", "rule", "message", "operator", "shape", "dtype"]
FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
LINUX: Final = pytest.mark.skipif(
    not os.path.isdir("/proc/self/task"), reason="the system does not list the processes"
)


def job(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "op": "gather", "data": [5, 6, 7], "indices": [2, 0], **more}


def write_jobs(*written: dict[str, Any]) -> str:
    Path("jobs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in written), "ascii")
    return "jobs.jsonl"


def lines(text: str | bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def statuses(text: str | bytes) -> list[tuple[str, str, str | None]]:
    return [(line["id"], line["status"], line["rule"]) for line in lines(text)]


class Clock:
    """The time of the pool, which passes where a test says so: a thousand seconds at once."""

    def __init__(self) -> None:
        self.now = 0.0
        self._deadline = time.monotonic() + PATIENCE
        self.passes: Callable[[], bool] = lambda: False

    def pass_by(self) -> None:
        """Let time pass."""
        self.now += 1000

    def monotonic(self) -> float:
        """Return what time it is; a batch that hangs asks for ever."""
        assert time.monotonic() < self._deadline, "the batch hangs"
        if self.passes():
            self.pass_by()
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(pool, "time", found)
    return found


# The report


def test_every_fixture_is_as_it_expects(run: Run) -> None:
    folders = [str(FIXTURES / name) for name in ("openvino", "onnx")]
    ran = run("batch", *folders, "-q")
    assert ran.status == 0
    assert {line["status"] for line in lines(ran.out)} == {"ok"}
    assert len(lines(ran.out)) == sum(len(list(Path(f).rglob("*.json"))) for f in folders)


def test_a_line_on_stdout_has_the_keys_in_order_and_a_typed_result(run: Run) -> None:
    ran = run("batch", write_jobs(job("a")), "-q")
    (line,) = lines(ran.out)
    assert list(line) == [*KEYS, "result", "seconds"]
    assert ran.out.startswith(
        '{"id":"a","status":"ok","rule":null,"message":null,"operator":"openvino.Gather-8",'
        '"shape":[2],"dtype":"int64","result":{"shape":[2],"datatype":"INT64","data":[7,5]},'
        '"seconds":'
    )
    assert 0 < line["seconds"] < PATIENCE


def test_a_line_counts_the_adjusted_indices_of_a_job(run: Run) -> None:
    filled = job("a", indices=[9, 0, -9])
    wrapped = job("b", indices=[9, 0], out_of_range="wrap", output="b.npy")

    first, second = lines(run("batch", write_jobs(filled, wrapped), "-q").out)

    assert list(first) == [*KEYS, "result", "seconds", "adjusted"]
    assert list(second) == [*KEYS, "output", "seconds", "adjusted"]
    assert (first["adjusted"], second["adjusted"]) == ({"zero-filled": 2}, {"wrapped": 1})


def test_a_line_of_a_job_with_an_output_names_it_and_holds_no_result(run: Run) -> None:
    ran = run("batch", write_jobs(job("a", output="new/folder/a.npy")), "-q")
    (line,) = lines(ran.out)
    assert list(line) == [*KEYS, "output", "seconds"]
    assert line["output"] == "new/folder/a.npy"
    assert np.load("new/folder/a.npy").tolist() == [7, 5]


def test_a_line_in_a_file_also_says_what_the_files_were_like(run: Run) -> None:
    np.save("x.npy", np.arange(3))
    listed = job("a", data="x.npy"), job("b", output="b.json")
    assert run("batch", write_jobs(*listed), "-q", "--report", "r.jsonl") == (0, "", "")
    first, second = lines(Path("r.jsonl").read_bytes())
    assert list(first) == [*KEYS, "result", "seconds", "stamp"]
    assert list(second) == [*KEYS, "output", "seconds", "stamp"]
    status = os.stat("x.npy")
    assert first["stamp"]["inputs"] == {"x.npy": [status.st_size, status.st_mtime_ns]}
    assert second["stamp"]["output"] == [os.path.getsize("b.json")]


@pytest.mark.parametrize("name", ["b.npy", "b.npz", "b.json", "b.safetensors"])
def test_an_output_has_the_format_of_its_suffix(name: str, run: Run) -> None:
    ran = run("batch", write_jobs(job("a", output=name)), "-q")
    assert statuses(ran.out) == [("a", "ok", None)]
    assert run("gather", name, "0,1", "-f", "json").out == "[7,5]\n"


def test_ids_that_no_terminal_should_see_come_back_escaped(run: Run) -> None:
    ids = ["\ud800", "\x1b[31m\x9b\x7f", "\u202e[/]", "é\n", "\U0001f600", "<&\"'\ufffe"]
    ran = run("batch", write_jobs(*map(job, ids)), "-q", "--report", "-", "--junit", "j.xml")
    assert [line["id"] for line in lines(ran.out)] == ids
    assert ran.out.isascii()
    assert "\x1b" not in ran.out
    assert len(ET.parse("j.xml").findall(".//testcase")) == len(ids)  # noqa: S314


@pytest.mark.parametrize("report", ["r.jsonl", None])
def test_lines_are_in_the_order_of_the_jobs_even_if_the_first_takes_long(
    report: str | None, folder: Path
) -> None:
    os.mkfifo("pipe")
    names = [f"j{number}" for number in range(30)]
    listed = [job("slow", indices="pipe"), *map(job, names)]
    words = ["--report", report] if report else []
    with start("batch", write_jobs(*listed), "-q", "-j", "2", *words) as process:
        fd = opened("pipe")
        if report:  # what has ended is in the file, whatever came before it
            wait_until(lambda: Path(report).read_bytes().count(b"\n") == len(names))
        os.write(fd, b"[1]")
        os.close(fd)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    found = lines(Path(report).read_bytes() if report else out)
    assert [line["id"] for line in found] == ["slow", *names]
    assert sorted(os.listdir(folder)) == ["jobs.jsonl", "pipe", *filter(None, [report])]


def test_what_has_ended_is_handed_on_when_an_earlier_job_is_interrupted(folder: Path) -> None:
    del folder
    listed = [job("slow", indices="pipe"), *(job(str(n), output=f"{n}.npy") for n in range(20))]
    words = ("batch", write_jobs(*listed), "-j", "2")

    with Feed("pipe"), on_terminal(*words) as (process, terminal):
        read_until(terminal, b"20 of 21 jobs")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
        said = read_until(terminal, None)

    assert [line["id"] for line in lines(out)] == [str(n) for n in range(20)]
    assert re.search(rb"21 jobs: .*20 ok.*1 not done", said)


def test_a_dry_run_waits_for_no_pipe(run: Run) -> None:
    os.mkfifo("pipe")
    ran = run("batch", write_jobs(job("a", data="pipe")), "--dry-run", "-q")
    (line,) = lines(ran.out)
    assert (line["rule"], line["message"]) == (
        "unreadable",
        "`data`: `pipe` is a pipe, which a dry run does not read: expected a file",
    )


# What jobs expect


def test_a_result_that_is_too_large_for_its_line_is_refused_and_fits_a_file(run: Run) -> None:
    listed = job("a", indices=[0] * 100), job("b", indices=[0] * 100, output="b.npy")
    ran = run("batch", write_jobs(*listed), "-q", "--max-bytes", "800")
    assert [line["status"] for line in lines(ran.out)] == ["ok", "ok"]
    ran = run("batch", write_jobs(job("a", data="zeros:50", indices="zeros:900")), "-q")
    assert [line["status"] for line in lines(ran.out)] == ["ok"]
    ran = run("batch", write_jobs(*listed), "-q", "--max-bytes", "799")
    assert {line["rule"] for line in lines(ran.out)} == {"limit"}


# Workers that are killed while they write


ENDINGS: Final[list[tuple[list[str], str]]] = [([], "died"), (["--timeout", "3"], "timeout")]


def _left(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


@LINUX
@pytest.mark.parametrize(("words", "rule"), ENDINGS, ids=["killed", "too late"])
def test_what_a_killed_worker_had_written_of_an_array_is_removed(
    words: list[str], rule: str, folder: Path
) -> None:
    large = job("a", data="zeros:1x200000", indices="zeros:20000", output="out/o.zarr")
    (folder / "out").mkdir()
    (folder / "out" / ".o.zarr.0123456789ab.tmp").mkdir()  # of another command

    with start("batch", write_jobs(large), "-q", "-j", "1", *words) as process:
        wait_until(lambda: len(_left(folder / "out")) > 1)
        if not words:
            os.kill(children(process)[0], signal.SIGKILL)
        out, _ = process.communicate(timeout=PATIENCE)

    assert [each["rule"] for each in lines(out)] == [rule]
    assert _left(folder / "out") == [".o.zarr.0123456789ab.tmp"]


@LINUX
def test_what_a_killed_batch_had_written_of_an_array_is_removed_when_it_is_resumed(
    folder: Path, run: Run
) -> None:
    large = job("a", data="zeros:1x200000", indices="zeros:20000", output="out/o.zarr")
    words = ("batch", write_jobs(large), "-q", "-j", "1", "--report", "r.jsonl")
    (folder / "out").mkdir()
    with start(*words) as process:
        wait_until(lambda: _left(folder / "out"))
        os.kill(process.pid, signal.SIGSTOP)  # neither sees the other die, and tidies up
        for each in (*children(process), process.pid):
            os.kill(each, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    left = _left(folder / "out")
    write_jobs(job("a", data="arange:3", output="out/o.zarr"))

    resumed = run(*words, "--resume")

    assert (len(left), resumed.status) == (1, 0)
    assert os.listdir(folder / "out") == ["o.zarr"]


# Jobs that do not end, or end their process


@pytest.mark.parametrize("more", [[], ["--retries", "3"]])
def test_a_job_that_takes_too_long_is_ended_and_the_others_are_done(
    more: list[str], clock: Clock, run: Run
) -> None:
    listed = [job("slow", data="pipe"), *map(job, "abcdef")]

    with Feed("pipe") as feed:
        clock.passes = feed.is_read
        ran = run("batch", write_jobs(*listed), "-q", "--timeout", "0.5", "-j", "1", *more)

    found = statuses(ran.out)
    assert found == [("slow", "error", "timeout"), *((name, "ok", None) for name in "abcdef")]
    assert lines(ran.out)[0]["message"] == "it took longer than the 0.5 s of `--timeout`"


@pytest.mark.parametrize(
    "is_slow",
    [lambda worker: not worker.ready, lambda worker: worker.ready and len(worker.tasks) > 1],
    ids=["the start of its process", "the job before it"],
)
def test_the_time_of_a_job_does_not_count(
    is_slow: Callable[[pool._Worker], bool], clock: Clock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, names = pool._Worker.receive, [str(number) for number in range(20)]

    def receive_late(worker: pool._Worker, part: bytes) -> Iterator[Outcome]:
        if is_slow(worker) and not clock.now:
            clock.pass_by()
        return receive(worker, part)

    monkeypatch.setattr(pool._Worker, "receive", receive_late)
    monkeypatch.setattr(pool, "_READ_BYTES", len(READY_LINE))  # so that no answer comes with it
    ran = run("batch", write_jobs(*map(job, names)), "-q", "-j", "1", "--timeout", "0.1")

    assert statuses(ran.out) == [(name, "ok", None) for name in names]
    assert clock.now


QUICK: Final = [str(number) for number in range(20)]
"""Jobs after which a process is given a few more beforehand."""


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[pool._Worker]:
    """List the processes that a batch starts."""
    begun: list[pool._Worker] = []
    begin = pool._Worker.__init__

    def noted(worker: pool._Worker, *given: Any, **more: Any) -> None:
        begun.append(worker)
        begin(worker, *given, **more)

    monkeypatch.setattr(pool._Worker, "__init__", noted)
    return begun


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes start when three jobs are validated."""
    monkeypatch.setattr("gathercli.batch.plan.MANY_JOBS", 3)


@pytest.mark.usefixtures("few_are_many")
def test_processes_start_while_jobs_are_validated_and_do_them(
    workers: list[pool._Worker], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    check = Plan._check

    def look(plan: Plan) -> None:
        found.append(len(workers))
        check(plan)

    monkeypatch.setattr(Plan, "_check", look)
    ran = run("batch", write_jobs(*map(job, "abcde")), "-q", "-j", "2")

    assert statuses(ran.out) == [(name, "ok", None) for name in "abcde"]
    assert found == [2]
    assert [worker.process.returncode for worker in workers] == [-signal.SIGKILL] * 2


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    "words",
    [("--dry-run",), ("--report", "r.jsonl", "--resume")],
    ids=["a dry run", "what was done before"],
)
def test_no_process_starts_for_jobs_that_may_need_none(
    words: tuple[str, ...], workers: list[pool._Worker], run: Run
) -> None:
    jobs = write_jobs(*map(job, "abcde"))
    run("batch", jobs, "-q", "--report", "r.jsonl")
    del workers[:]

    run("batch", jobs, "-q", *words)

    assert not workers


@pytest.mark.usefixtures("few_are_many")
def test_processes_that_started_for_refused_jobs_end(workers: list[pool._Worker], run: Run) -> None:
    ran = run("batch", write_jobs(*map(job, "abcda")), "-q", "-j", "2")

    assert ran.status == 65
    assert [worker.process.returncode for worker in workers] == [-signal.SIGKILL] * 2


def run_with_a_slow_job(run: Run, *words: str) -> list[tuple[str, str, str | None]]:
    """Do a job that waits for a pipe after quick ones and before others, by one process."""
    listed = [*map(job, QUICK), job("slow", data="pipe"), *map(job, "abcdef")]
    ran = run("batch", write_jobs(*listed), "-q", "-j", "1", "--report", "r.jsonl", *words)
    assert (ran.out, ran.err) == ("", "")
    return statuses(Path("r.jsonl").read_bytes())


def waits_before_others(feed: Feed, workers: list[pool._Worker]) -> bool:
    """Tell whether the slow job is the first that the first process, alone, has not answered."""
    is_read = feed.is_read()
    assert not is_read or len(workers) == 1
    return is_read and workers[0].tasks[0] == len(QUICK)


def test_jobs_that_a_dead_process_was_given_are_done_by_another(
    clock: Clock, workers: list[pool._Worker], run: Run
) -> None:
    def kill() -> bool:
        if waits_before_others(feed, workers):
            workers[0].process.kill()
        return False

    with Feed("pipe") as feed:
        clock.passes = kill
        found = run_with_a_slow_job(run)

    assert [each for each in found if each[1:] != ("ok", None)] == [("slow", "error", "died")]
    assert [name for name, *_ in found] == [*QUICK, "slow", *"abcdef"]
    assert len(workers) == 2


def test_jobs_that_a_late_process_was_given_are_done_by_another(
    clock: Clock, workers: list[pool._Worker], run: Run
) -> None:
    with Feed("pipe") as feed:
        clock.passes = lambda: waits_before_others(feed, workers)
        found = run_with_a_slow_job(run, "--timeout", "5")

    assert [each for each in found if each[1:] != ("ok", None)] == [("slow", "error", "timeout")]
    assert [name for name, *_ in found] == [*QUICK, "slow", *"abcdef"]
    assert len(workers) == 2


def test_a_job_that_ends_just_before_its_process_is_killed_is_done_and_the_next_not_late(
    clock: Clock, workers: list[pool._Worker], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = subprocess.Popen.kill

    def answered_and_killed(process: subprocess.Popen[bytes]) -> None:
        monkeypatch.setattr(subprocess.Popen, "kill", kill)
        feed.write(b"[5,6,7]")
        assert select.select([workers[0].socket], [], [], PATIENCE)[0]
        kill(process)

    monkeypatch.setattr(subprocess.Popen, "kill", answered_and_killed)
    with Feed("pipe") as feed:
        clock.passes = lambda: waits_before_others(feed, workers)
        found = run_with_a_slow_job(run, "--timeout", "5")

    assert found == [(name, "ok", None) for name in (*QUICK, "slow", *"abcdef")]
    assert len(workers) == 2


@pytest.mark.usefixtures("clock")
def test_jobs_of_a_process_that_ends_before_it_begins_are_done_by_another(
    workers: list[pool._Worker], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = pool._Worker.read

    def read_or_kill(worker: pool._Worker) -> bytes:
        if worker is not workers[0]:
            return read(worker)
        worker.process.kill()
        return b""

    monkeypatch.setattr(pool._Worker, "read", read_or_kill)
    ran = run("batch", write_jobs(*map(job, "abc")), "-q", "-j", "1")

    assert statuses(ran.out) == [(name, "ok", None) for name in "abc"]
    assert len(workers) == 2


def test_processes_that_end_before_they_begin_are_not_started_for_ever(
    workers: list[pool._Worker], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(worker: pool._Worker) -> bytes:
        worker.process.kill()
        return b""

    monkeypatch.setattr(pool._Worker, "read", kill)
    ran = run("batch", write_jobs(job("a")), "-q")

    assert ran == (
        74,
        "",
        "error: processes for the jobs ended before they began, with SIGKILL\n"
        "hint: `--debug` shows what they say\n"
        "rule: output\n",
    )
    assert len(workers) == pool.MAX_EARLY_DEATHS + 1


def test_a_batch_starts_as_many_processes_as_there_are_cores(
    workers: list[pool._Worker], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_run, "cores", lambda: 2)

    assert run("batch", write_jobs(*map(job, "abc")), "-q").status == 0

    assert len(workers) == 2


def test_no_process_is_left_when_a_batch_has_ended(workers: list[pool._Worker], run: Run) -> None:
    assert run("batch", write_jobs(*map(job, "abcd")), "-q", "-j", "2").status == 0

    assert [worker.process.returncode for worker in workers] == [-signal.SIGKILL] * 2


def test_processes_that_are_at_a_job_are_asked_to_end_before_they_are_killed(
    workers: list[pool._Worker], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: pool.Pool) -> None:
        if feed.is_read():
            raise KeyboardInterrupt

    monkeypatch.setattr(pool, "GRACE_SECONDS", PATIENCE)
    monkeypatch.setattr(pool.Pool, "_kill_late", interrupted)
    with Feed("pipe") as feed:
        ran = run("batch", write_jobs(job("a", data="pipe")), "-q")

    assert ran.status == 130
    assert [worker.process.returncode for worker in workers] == [143]


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_an_interrupt_after_a_write_leaves_each_line_once(
    turn: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter(range(99))

    def write_and_interrupt(fd: int, part: bytes, *, place: str) -> None:
        write_all(fd, part, place=place)
        if next(turns) == turn:
            raise KeyboardInterrupt

    monkeypatch.setattr(journal, "write_all", write_and_interrupt)

    ran = run("batch", write_jobs(*map(job, "abcd")), "-q", "-j", "1", "--report", "r.jsonl")

    written = [name for name, _, _ in statuses(Path("r.jsonl").read_bytes())]
    assert ran.status in (0, 130)  # a few lines may go out together
    assert written == sorted(set(written))
    assert ran.status == 130 or written == list("abcd")


@LINUX
def test_an_input_cut_while_it_is_mapped_is_one_failed_job(folder: Path) -> None:
    os.mkfifo("pipe")
    np.save("x.npy", np.zeros(1 << 20))
    listed = [job("a"), job("b", data="x.npy", indices="pipe", output="b.npy"), *map(job, "cdef")]
    with start("batch", write_jobs(*listed), "-q", "-j", "1") as process:
        fd = opened("pipe")  # which is read when the data have been mapped
        os.truncate("x.npy", 4096)
        os.write(fd, b"[1000000]")
        os.close(fd)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, b"")
    assert [status for _, status, _ in statuses(out)] == ["ok", "error", *["ok"] * 4]
    failed = lines(out)[1]
    message = "`x.npy` changed while it was read: expected it to stay as it was"
    assert (failed["rule"], failed["message"]) == ("unreadable", message)
    assert list(failed) == [*KEYS, "output", "seconds", "cause", "fault"]
    assert failed["operator"] == "openvino.Gather-8"
    assert "b.npy" not in os.listdir(folder)


@LINUX
def test_a_process_that_is_killed_is_one_failed_job(folder: Path) -> None:
    os.mkfifo("pipe")
    listed = [job("a"), job("b", data="pipe"), *map(job, "cdef")]
    with start("batch", write_jobs(*listed), "-q", "-j", "1") as process:
        fd = opened("pipe")
        for pid in children(process):
            os.kill(pid, signal.SIGKILL)
        os.close(fd)
        out, _ = process.communicate(timeout=PATIENCE)
    assert [status for _, status, _ in statuses(out)] == ["ok", "error", *["ok"] * 4]
    assert lines(out)[1]["message"] == "its process ended with SIGKILL"
    assert sorted(os.listdir(folder)) == ["jobs.jsonl", "pipe"]


def test_a_job_does_not_take_longer_because_the_report_is_read_slowly(
    clock: Clock, workers: list[pool._Worker], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = ({"data": "zeros:9", "indices": f"zeros:{size}"} for size in (40_000, 999_999))
    listed = [job(str(number), **(large if number % 2 else small)) for number in range(8)]

    def write_slowly(fd: int, line: bytes) -> None:
        """Let time pass where every job that is under way has begun to answer."""
        for worker in workers:
            assert not worker.tasks or select.select([worker.socket], [], [], PATIENCE)[0]
        clock.pass_by()
        write_all(fd, line)

    monkeypatch.setattr(batch_run, "write_all", write_slowly)
    ran = run("batch", write_jobs(*listed), "-q", "-j", "2", "--timeout", "2")

    assert statuses(ran.out) == [(str(number), "ok", None) for number in range(8)]


def test_a_job_cannot_read_what_its_process_is_told(program: Program) -> None:
    listed = [job("a", data="/dev/stdin"), job("b", data="@/dev/fd/0"), job("c")]
    ran = program("batch", write_jobs(*listed), "-q", "-j", "1")
    assert [status for _, status, _ in statuses(ran.stdout)] == ["error", "error", "ok"]


def test_more_processes_than_the_system_allows_are_not_started(program: Program) -> None:
    write_jobs(*(job(str(number), data="zeros:100") for number in range(40)))
    ran = program("ulimit -n 16; $G batch jobs.jsonl -q -j 40")
    assert (ran.returncode, ran.stderr, len(lines(ran.stdout))) == (0, b"", 40)


# Faults, and when to stop


class Failing:
    """Fails as a disk does, so often."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.pauses: list[float] = []

    def __call__(self, path: str, flags: int, mode: int = 0o777) -> int:
        if path == "x.npy" and self.times:
            self.times -= 1
            raise OSError(5, "Input/output error")
        return _OPEN(path, flags, mode)


_OPEN: Final = os.open


@pytest.mark.parametrize(
    ("times", "retries", "status", "pauses"),
    [
        (0, 2, "ok", []),
        (1, 0, "error", []),
        (1, 2, "ok", [0.1]),
        (2, 2, "ok", [0.1, 0.2]),
        (3, 2, "error", [0.1, 0.2]),
        (9, 9, "ok", [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_job_is_tried_again_after_a_fault(
    times: int, retries: int, status: str, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("x.npy", np.arange(5, 8))
    failing = Failing(times)
    monkeypatch.setattr(os, "open", failing)
    monkeypatch.setattr(time, "sleep", failing.pauses.append)
    text = json.dumps(job("a", data="x.npy")).encode()
    line = line_of(parse(text, where="here"), Settings(retries=retries))
    assert line.status == status
    assert failing.pauses == pytest.approx(pauses)
    assert line.rule == (None if status == "ok" else "unreadable")


@pytest.mark.usefixtures("folder")
def test_what_is_no_fault_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    for more in ({"data": "none.npy"}, {"axis": 3}, {"expect": [0, 0]}):
        text = json.dumps(job("a", **more)).encode()
        line = line_of(parse(text, where="here"), Settings(retries=5))
        assert (line.status != "ok", pauses) == (True, [])


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ([], 20),
        (["--fail-fast"], 3),
        (["--max-failures", "1"], 5),
        (["--max-failures", "10%"], 7),
        (["--max-failures", "100%"], 20),
    ],
)
def test_no_job_begins_after_too_many_have_failed(words: list[str], done: int, run: Run) -> None:
    listed = [job(str(n), axis=n % 2 * (n > 1), output=f"out/{n}.npy") for n in range(1, 21)]
    ran = run("batch", write_jobs(*listed), "-j", "1", *words)
    assert (ran.status, len(lines(ran.out))) == (1, done)
    written = [line for line in lines(ran.out) if line["status"] == "ok"]
    assert len(os.listdir("out")) == len(written)
    assert ("too many have failed" in ran.err) == (done < 20)


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ({"fail_fast": True}, 0),
        ({"max_failures": "2"}, 2),
        ({"max_failures": "12.5%"}, 1),
        ({"max_failures": "20%"}, 1),
        ({}, float("inf")),
    ],
)
def test_a_limit_is_a_number_or_a_share(words: dict[str, Any], most: float) -> None:
    options = RunOptions(**{"fail_fast": False, "max_failures": None, **words})

    assert options.most_failures(8) == most


def test_failures_of_an_earlier_run_count_for_no_limit(run: Run) -> None:
    report = ("-q", "--report", "r.jsonl", "-j", "1")
    run("batch", write_jobs(job("a", axis=1)), *report)
    listed = write_jobs(job("a", axis=1), *map(job, "bcd"))
    assert run("batch", listed, *report, "--resume", "--fail-fast").status == 1
    assert [line["id"] for line in lines(Path("r.jsonl").read_bytes())] == list("abcd")


# Readers that go away, and signals


def many(number: int) -> str:
    return write_jobs(*(job(f"j{n}", output=f"out/{n}.npy") for n in range(number)))


def test_a_reader_that_goes_away_ends_the_batch_silently(program: Program) -> None:
    many(300)
    line = f"{shlex.join(PROGRAM)} batch jobs.jsonl | head -1 | wc -l; echo ${{PIPESTATUS[0]}}"
    ran = program(line)
    assert (ran.stdout, ran.stderr) == (b"1\n141\n", b"")


def test_a_full_device_is_74(program: Program) -> None:
    many(20)
    ran = program("$G batch jobs.jsonl -q >/dev/full")
    assert ran.returncode == 74
    assert ran.stderr.startswith(b"error: writing stopped (no space left on device)")


@LINUX
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_a_signal_leaves_a_usable_report_and_no_process(
    number: signal.Signals, status: int, folder: Path
) -> None:
    os.mkfifo("pipe")
    listed = [*map(job, "abc"), job("d", data="pipe", output="d.npy"), *map(job, "efg")]
    with start("batch", write_jobs(*listed), "-q", "-j", "2", "--report", "r.jsonl") as process:
        fd = opened("pipe")
        wait_until(lambda: Path("r.jsonl").read_bytes().count(b"\n") == 6)
        workers = children(process)
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE) == status
        wait_until(lambda: all(map(is_gone, workers)))
        assert process.communicate() == (b"", b"")
        os.close(fd)
    found = sorted(statuses(Path("r.jsonl").read_bytes()))
    assert found == [(name, "ok", None) for name in "abcefg"]
    assert sorted(os.listdir(folder)) == ["jobs.jsonl", "pipe", "r.jsonl"]


def test_an_interrupt_says_how_far_it_came_and_how_to_go_on(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with start("batch", write_jobs(job("a", data="pipe")), "--report", "r.jsonl") as process:
        fd = opened("pipe")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        os.close(fd)
    assert process.returncode == 130
    assert err.startswith(b"1 job: 0 ok, 1 not done   ")
    assert err.endswith(b"\ninterrupted; `--resume` does the rest\n")


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_a_report_may_go_where_it_is_not_kept(name: str, program: Program) -> None:
    many(2)
    ran = program("batch", "jobs.jsonl", "-q", "--report", name)
    assert (ran.returncode, len(lines(ran.stdout)), ran.stderr) == (0, 2, b"")


def test_an_interrupt_takes_the_bar_away_before_it_says_more(folder: Path) -> None:
    del folder
    words = ("batch", write_jobs(job("a", data="pipe")), "--report", "r.jsonl")

    with Feed("pipe") as feed, on_terminal(*words) as (process, terminal):
        wait_until(feed.is_read)
        said = read_until(terminal, b"0 failed")
        process.send_signal(signal.SIGINT)
        said += read_until(terminal, None)

    assert process.returncode == 130
    after = said.decode().rpartition("0 failed")[2]
    assert re.match(r"\r +\r\x1b\[1m1 job: ", after)


@pytest.mark.parametrize("output", ["out/x.npy", "out/new/x.npy", "out/x.zarr", "out/new/x.zarr"])
@pytest.mark.parametrize("words", [(), ("--allow-outside",)], ids=" ".join)
def test_a_link_that_comes_after_the_jobs_were_looked_at_is_not_written_through(
    words: tuple[str, ...], output: str, folder: Path
) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    os.makedirs(folder / "jobs/out")
    os.chdir(folder / "jobs")
    jobs = write_jobs(job("a", data="pipe", output=output))
    os.mkfifo("pipe")
    with start("batch", jobs, "-q", "--report", "r.jsonl", *words) as process:
        fd = opened("pipe")

        os.rename("out", "moved")
        os.symlink(elsewhere, "out")
        os.write(fd, b"[5,6,7]")
        os.close(fd)

        status = process.wait(PATIENCE)
    if words:
        assert (status, len(os.listdir(elsewhere))) == (0, 1)
        return
    assert status == 1
    (line,) = lines(Path("r.jsonl").read_bytes())
    assert (line["rule"], line["message"]) == (
        "output",
        f"`{output}` cannot be written (a link leads out of the folder of the job): "
        "expected a file in it",
    )
    assert os.listdir(elsewhere) == os.listdir("moved") == []


# Memory


def peak(number: int) -> int:
    """Return the bytes of memory that a batch took at most, without those of its processes."""
    many_inline = (json.dumps({**job(f"{n:08}")}) + "\n" for n in range(number))
    Path("jobs.jsonl").write_text("".join(many_inline), "ascii")
    code = (
        "import resource, sys; from gathercli.cli import main; status = main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); "
        "sys.exit(status)"
    )
    words = ("batch", "jobs.jsonl", "-q", "--dry-run")
    ran = subprocess.run(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
        timeout=2 * PATIENCE,
    )
    return int(ran.stderr) * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.usefixtures("folder")
def test_memory_grows_by_at_most_200_bytes_a_job() -> None:
    small, large = 1_000, 10_000

    grown = peak(large) - peak(small)

    assert grown < 200 * (large - small) + (3 << 19)
