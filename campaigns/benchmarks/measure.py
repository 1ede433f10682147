"""Interleaved rounds and medians: only the ratios within one run mean anything."""

from __future__ import annotations

import resource
import shlex
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@dataclass
class Row:
    """One case: the median seconds of each way to do it, ours first, and what else was found.

    `goals` are the largest ratios aimed at, of our time to that of a way.
    """

    name: str
    seconds: dict[str, float]
    goals: dict[str, float] = field(default_factory=dict)
    also: dict[str, float] = field(default_factory=dict)

    @property
    def ours(self) -> float:
        return next(iter(self.seconds.values()))

    def ratios(self) -> dict[str, float]:
        """Return our time relative to that of each other way."""
        return {way: self.ours / taken for way, taken in list(self.seconds.items())[1:]}


class Timed(NamedTuple):
    """A way to do it, and what is done before each time, off the clock."""

    run: Callable[[], object]
    before: Callable[[], object] = lambda: None


def interleaved(ways: Mapping[str, Timed], rounds: int, *, quiet: bool = False) -> dict[str, float]:
    """Do each way once a round; return the median seconds of each.

    If `quiet`, those of the faster half of the rounds, as what runs beside them only slows.
    """
    taken = list[dict[str, float]]()
    for _ in range(rounds):
        seconds = {}
        for name, way in ways.items():
            way.before()
            start = time.perf_counter()
            way.run()
            seconds[name] = time.perf_counter() - start
        taken.append(seconds)
    if quiet:
        taken = sorted(taken, key=lambda seconds: sum(seconds.values()))[: -(-rounds // 2)]
    return {name: statistics.median(seconds[name] for seconds in taken) for name in ways}


def run(command: list[str], folder: Path, status: int = 0) -> None:
    """Run a command that should exit with `status`; if it does not, end with what it says.

    That is the last line of its stderr or, of our command, the error and its hint, which names the
    extra that is missing.
    """
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True)
    if done.returncode != status:
        lines = done.stderr.decode(errors="replace").splitlines()
        said = [line for line in lines if line.startswith(("error:", "hint:"))] or lines[-1:]
        ended = f"`{shlex.join(command)}` exited with {done.returncode}: expected {status}"
        raise SystemExit("\n".join([ended, *said]))


def interleaved_processes(
    commands: Mapping[str, list[str]],
    rounds: int,
    folder: Path,
    statuses: Mapping[str, int] = MappingProxyType({}),
) -> tuple[dict[str, float], dict[str, float]]:
    """Run each command once a round, its stdout a pipe; return median seconds: wall, and CPU.

    The status that each should exit with is 0 if none is given.
    """
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            run(command, folder, statuses.get(name, 0))
            wall[name].append(time.perf_counter() - start)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return (
        {name: statistics.median(times) for name, times in wall.items()},
        {name: statistics.median(times) for name, times in cpu.items()},
    )


def table(title: str, rows: list[Row]) -> str:
    """Write rows as text: our milliseconds, and how many times those of each other way they are."""
    ways = list(dict.fromkeys(way for row in rows for way in row.ratios()))
    also = list(dict.fromkeys(name for row in rows for name in row.also))
    heads = [title, "ms", *(f"/ {way}" for way in ways), *also]
    lines = [heads]
    for row in rows:
        ratios = row.ratios()
        cells = [row.name, f"{row.ours * 1000:.1f}"]
        for way in ways:
            goal = f" ({row.goals[way]:g})" if way in row.goals else ""
            cells.append(f"{_ratio(ratios[way])}{goal}" if way in ratios else "")
        cells += [f"{row.also[name]:.4g}" if name in row.also else "" for name in also]
        lines.append(cells)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.02 else f"{ratio:.2g}"
