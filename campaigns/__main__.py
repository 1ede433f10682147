"""``python -m campaigns NAME [--seconds N] [--seed N] [--only SEED]``."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import gathercli
from campaigns import mistakes, nd, scopes, translations, ways
from tests import oracle, random_calls, test_killed

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.op import Op


JOBS: Final = 300
"""Jobs of one batch that is killed."""

PATIENCE: Final = 60
"""Seconds after which a process hangs."""


def call(seed: int) -> str:
    """Draw a call of Gather or GatherElements, legal or not, and ask the package and the oracle."""
    dice = random_calls.Dice(seed)
    op: Op = dice.one_of(random_calls.AXIS_ROWS)
    case = random_calls.any_case(op, dice)

    random_calls.assert_as_the_oracle_says(op, case)

    outcome = random_calls.outcome(lambda: random_calls.oracle_answer(op, case))
    return outcome if isinstance(outcome, str) else "answered"


def shape(seed: int) -> str:
    """Draw partly known shapes, and ask the package and the oracle for the output's."""
    dice = random_calls.Dice(seed)
    op: Op = dice.one_of(random_calls.AXIS_ROWS)
    data, indices = random_calls.partly_known(dice), random_calls.partly_known(dice)
    axis = dice.number(-3, 2)
    batch_dims = dice.number(-3, 3) if dice.number(0, 1) else 0

    def inferred() -> str:
        to, of = oracle.text(data), oracle.text(indices)
        result = gathercli.infer_shape(
            op.family, to, of, axis=axis, batch_dims=batch_dims, version=op.id
        )
        return str(result)

    def expected() -> str:
        return oracle.text(oracle.infer(op.full_name, data, indices, axis, batch_dims))

    answer = random_calls.outcome(expected)
    assert random_calls.outcome(inferred) == answer
    return "answered" if answer.startswith("[") else answer


def write(seed: int) -> str:
    """Kill a large write at a random byte: the target is old or whole, and alone."""
    draw = random.Random(seed)  # noqa: S311
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = draw.choice((None, test_killed.OLD))
        if old is not None:
            (folder / "out.npy").write_bytes(old)
        process = test_killed.start(folder, *test_killed.LARGE, "-o", "out.npy")
        test_killed.wait_for(process, draw.randrange(test_killed.SIZE))
        process.kill()
        process.communicate(timeout=PATIENCE)

        whole = test_killed.assert_old_or_whole(folder / "out.npy", old)

        expected = ["out.npy"] if whole or old is not None else []
        assert test_killed.left_in(folder) == expected
    return "whole" if whole else "old"


def batch(seed: int) -> str:
    """Kill a batch again and again: each job is done once, and each output is right."""
    draw = random.Random(seed)  # noqa: S311
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_jobs(folder / "jobs.jsonl")
        words = ("batch", "jobs.jsonl", "--report", "r.jsonl", "--resume", "-q", "-j", "2")
        times: dict[str, int] = {}
        kills = 0
        while len(times) < JOBS:
            process = test_killed.start(folder, *words)
            deadline = time.monotonic() + PATIENCE
            wanted = len(times) + draw.randrange(1, JOBS // 4)
            while process.poll() is None and len(_reported(folder)) < wanted:
                assert time.monotonic() < deadline, "the batch hangs"
            process.kill()
            process.communicate(timeout=PATIENCE)
            kills += process.returncode < 0
            for job in _reported(folder):
                when = (folder / "out" / f"{job}.npy").stat().st_mtime_ns
                assert times.setdefault(job, when) == when, f"{job} was done twice"

        for at in range(JOBS):
            assert np.load(folder / "out" / f"{at}.npy").tolist() == [at + 8, at + at % 9]
        assert len(os.listdir(folder / "out")) == JOBS
    return f"{kills} kills"


def _write_jobs(path: Path) -> None:
    lines = [
        json.dumps(
            {
                "id": str(at),
                "op": "gather",
                "data": list(range(at, at + 9)),
                "indices": [8, at % 9],
                "output": f"out/{at}.npy",
            }
        )
        for at in range(JOBS)
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _reported(folder: Path) -> list[str]:
    """List the jobs with a complete line in the report."""
    report = folder / "r.jsonl"
    raw = report.read_bytes() if report.exists() else b""
    complete = raw[: raw.rfind(b"\n") + 1]
    return [json.loads(line)["id"] for line in complete.splitlines()]


CAMPAIGNS: Final[dict[str, Callable[[int], str]]] = {
    "calls": call,
    "shapes": shape,
    **nd.CAMPAIGNS,
    **mistakes.CAMPAIGNS,
    **translations.CAMPAIGNS,
    "scopes": scopes.scope,
    "words": ways.words,
    "writes": write,
    "batches": batch,
}


def main() -> int:
    """Try until the time is over; return whether anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("name", choices=CAMPAIGNS)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0, help="where the seeds start")
    parser.add_argument("--only", type=int, help="repeat the trial of this seed")
    words = parser.parse_args()
    seeds = itertools.count(words.seed) if words.only is None else [words.only]
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + words.seconds
    for seed in seeds:
        try:
            outcomes[CAMPAIGNS[words.name](seed)] += 1
        except Exception:  # noqa: BLE001  (whatever it is, it is wrong)
            traceback.print_exc()
            print(f"again: python -m campaigns {words.name} --only {seed}")
            return 1
        if time.monotonic() > end:
            break
    print(f"{outcomes.total()} {words.name}, none wrong")
    for outcome, count in outcomes.most_common():
        print(f"{count:>9} {outcome}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
