"""Measure `batch`: jobs per second with outputs written, memory of many jobs, and dry runs.

Each way is a whole process and makes its outputs anew, as replacing files costs more. Those of
earlier rounds stay until the end: for minutes after files were deleted, ext4 takes half as long
again to create others. The shell loop does a few jobs, and its time is scaled. Memory is the peak
of what is resident of the process that was started, without those that do the jobs.
"""

from __future__ import annotations

import filecmp
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from campaigns.benchmarks.files import GATHERCLI, TAKE
from campaigns.benchmarks.measure import Row, Timed, interleaved, interleaved_processes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

JOBS: Final = 10_000
SHELL: Final = 60
"""Jobs that the shell loop does."""

DRY: Final = 100_000
"""Jobs of a dry run."""

CALL: Final[dict[str, object]] = {"data": [1, 2, 3, 4, 5], "indices": [3, 1, -2]}
"""What an inline job asks."""

WAYS: Final = {f"{JOBS} jobs, outputs written": [], f"{JOBS} jobs, -j 1": ["-j", "1"]}
INLINE: Final = {f"10^{n} inline jobs": 10**n for n in (3, 4, 5, 6)}
DRY_CALLS: Final[dict[str, dict[str, object]]] = {
    f"dry run, {DRY} inline jobs": CALL,
    f"dry run, {DRY} file jobs": {"data": "d.npy", "indices": "i.npy"},
}
CASES: Final = (*WAYS, *INLINE, *DRY_CALLS)

EVERY: Final = 0.01
"""Seconds between two looks at the memory."""

LOOP: Final = """\
import os
import numpy as np
os.mkdir("out")
for n in range({jobs}):
    found = np.take(np.load(f"in/{{n}}.npy"), np.load(f"idx/{{n}}.npy"), 0)
    with open(f"out/{{n}}.tmp", "wb") as file:
        np.save(file, found)
    os.replace(f"out/{{n}}.tmp", f"out/{{n}}.npy")
"""
"""Writes as atomically: an output has its name when all of it is there."""

ONE: Final = (
    TAKE.format(axis=0).replace("'d.npy'", "'in/$n.npy'").replace("'i.npy'", "'idx/$n.npy'")
)
SHELL_LOOP: Final = f"""\
mkdir out
for n in $(seq 0 {SHELL - 1}); do {{python}} -c "{ONE.replace("'one.npy'", "'out/$n.npy'")}"; done
"""


def prepare(folder: Path) -> None:
    """Make the files of the jobs, and the jobs."""
    random = np.random.default_rng(0)
    for name in ("in", "idx"):
        (folder / name).mkdir()
    for n in range(JOBS):
        np.save(folder / "in" / f"{n}.npy", random.random((16, 8), np.float32))
        np.save(folder / "idx" / f"{n}.npy", random.integers(0, 16, 8))
    write(
        folder / "jobs.jsonl",
        (
            {"data": f"in/{n}.npy", "indices": f"idx/{n}.npy", "output": f"out/{n}.npy"}
            for n in range(JOBS)
        ),
    )


def write(path: Path, jobs: Iterable[dict[str, object]]) -> None:
    """Write a file of jobs, each a gather along the first axis."""
    with path.open("w", encoding="utf-8") as file:
        for n, job in enumerate(jobs):
            file.write(json.dumps({"id": str(n), "op": "gather", "axis": 0, **job}) + "\n")


def speed(rounds: int, folder: Path, names: dict[str, list[str]]) -> list[Row]:
    """Time all jobs: ours, a loop in one process, a process for each; on the clock, and of CPU."""
    prepare(folder)
    cpu: dict[str, list[float]] = {}

    def ran(name: str, command: list[str]) -> Timed:
        def forget() -> None:
            if (folder / "out").exists():
                (folder / "out").rename(folder / f"out{time.time_ns()}")
            (folder / "r.jsonl").unlink(missing_ok=True)

        def run() -> None:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, cwd=folder, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            cpu.setdefault(name, []).append(taken)

        return Timed(run, forget)

    batch = [GATHERCLI, "batch", "jobs.jsonl", "--report", "r.jsonl", "-q"]
    loop, shell = "numpy loop", "shell loop"
    ways = {name: ran(name, [*batch, *words]) for name, words in names.items()}
    ways[loop] = ran(loop, [sys.executable, "-c", LOOP.format(jobs=JOBS)])
    ways[shell] = ran(shell, ["sh", "-c", SHELL_LOOP.format(python=sys.executable)])
    check(folder, ways[loop], [ways[name] for name in names])
    cpu.clear()
    seconds = interleaved(ways, rounds)
    seconds[shell] *= JOBS / SHELL
    rows = []
    for name in names:
        shown = {"gathercli": seconds[name], loop: seconds[loop], shell: seconds[shell]}
        rows.append(Row(name, shown, {loop: 0.9, shell: 0.01}, {"jobs/s": JOBS / seconds[name]}))
        used = {"gathercli": statistics.median(cpu[name]), loop: statistics.median(cpu[loop])}
        rows.append(Row(f"{name}, CPU", used, {loop: 1.0}))
    return rows


def check(folder: Path, loop: Timed, ours: list[Timed]) -> None:
    """Compare what the ways write."""
    loop.run()
    (folder / "out").rename(folder / "want")
    names = [f"{n}.npy" for n in range(JOBS)]
    for way in ours:
        way.before()
        way.run()
        _, *wrong = filecmp.cmpfiles(folder / "out", folder / "want", names, shallow=False)
        if any(wrong):
            raise SystemExit("the loop answers differently")
    shutil.rmtree(folder / "want")


def memory(command: list[str], folder: Path) -> float:
    """Run a command; return the megabytes that were resident of it at most, without its children.

    What the system says of a child that has ended counts the children of that too.
    """
    most = 0
    with subprocess.Popen(command, cwd=folder) as process:
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as lines:
                    found = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
            except OSError:
                found = []
            most = max([most, *found])
            time.sleep(EVERY)
        if process.returncode:
            raise SystemExit(f"{command} failed")
    return most * 1024 / 1e6


def dry_runs(rounds: int, folder: Path, only: str = "", jobs: int = DRY) -> list[Row]:
    """Time dry runs beside the runs: of inline jobs, and of jobs that name two files each."""
    for name, array in (("d.npy", np.ones((16, 8), np.float32)), ("i.npy", np.arange(8))):
        np.save(folder / name, array)
    run, rows = "run", list[Row]()
    for name, call in DRY_CALLS.items():
        if only not in name:
            continue
        write(folder / "dry.jsonl", (call for _ in range(jobs)))
        batch = [GATHERCLI, "batch", "dry.jsonl", "-q"]
        commands = {"gathercli": [*batch, "--dry-run"], run: batch}
        wall, cpu = interleaved_processes(commands, rounds, folder)
        rows += [Row(name, wall, {run: 0.33}), Row(f"{name}, CPU", cpu, {run: 0.33})]
    return rows


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Run both: speed, then memory, which is looked at once for each number of jobs."""
    chosen = {name: words for name, words in WAYS.items() if only in name}
    rows = speed(rounds, folder, chosen) if chosen else []
    before: tuple[int, float] | None = None
    for name, count in INLINE.items():
        if only not in name:
            continue
        write(folder / "inline.jsonl", (CALL for _ in range(count)))
        report = f"{count}.jsonl"
        start = time.perf_counter()
        held = memory([GATHERCLI, "batch", "inline.jsonl", "--report", report, "-q"], folder)
        taken = time.perf_counter() - start
        also = {"jobs/s": count / taken, "MB resident": held}
        if before is not None:
            also["bytes a job (200)"] = (held - before[1]) * 1e6 / (count - before[0])
        before = count, held
        rows.append(Row(name, {"gathercli": taken}, {}, also))
        start = time.perf_counter()
        resume = [GATHERCLI, "batch", "inline.jsonl", "--report", report, "--resume", "-q"]
        also = {"MB resident": memory(resume, folder)}
        rows.append(
            Row(f"{name}, all done before", {"gathercli": time.perf_counter() - start}, {}, also)
        )
    return [*rows, *dry_runs(rounds, folder, only)]
