"""The benchmarks run; what they measure is no test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from campaigns.benchmarks import batch, cluster, kernels, memory, peers
from campaigns.benchmarks.__main__ import SUITES, main
from campaigns.benchmarks.measure import Row, run, table

ROOT = Path(__file__).parents[2]


def test_a_suite_prints_its_figures_as_data() -> None:
    words = ["startup", "--rounds", "1", "--only=--version", "--json"]
    command = [sys.executable, "-m", "campaigns.benchmarks", *words]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    found = json.loads(printed)
    assert set(found) == {"machine", "startup"}
    assert [row["name"] for row in found["startup"]] == ["--version", "--version, CPU"]
    for row in found["startup"]:
        assert row["goals"] == {"python -c pass": 1.5}
        assert all(seconds > 0 for seconds in row["seconds"].values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["txt"], "argument suite: 'txt' is none of startup, rare, files,"),
        (["--rounds", "0"], "argument --rounds: '0' is not 1 or more"),
        (["--rounds", "few"], "argument --rounds: 'few' is not 1 or more"),
        (["kernels", "--threads", "-1"], "argument --threads: '-1' is not 1 or more"),
        (["cluster", "--size", "nan"], "argument --size: 'nan' is no number above 0"),
        *(
            ([suite, "--only", "rows of 3"], "no case has 'rows of 3' in its name: expected a part")
            for suite in SUITES
        ),
        (["--only", "rows of 3"], "no case has 'rows of 3' in its name: expected a part"),
    ],
    ids=" ".join,
)
def test_words_that_select_nothing_are_usage_errors(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["campaigns.benchmarks", *words])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert f"error: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import gone", "ModuleNotFoundError: No module named 'gone'"),
        (
            "print('error: no'); raise SystemExit('error: no x\\nhint: `pip install x`\\nrule: y')",
            "error: no x\nhint: `pip install x`",
        ),
        ("raise SystemExit(1)", ""),
    ],
)
def test_a_command_that_fails_ends_the_suite_with_what_it_says(
    source: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        run([sys.executable, "-c", source], tmp_path)

    first, _, rest = str(ended.value).partition("\n")
    assert first.endswith(" exited with 1: expected 0")
    assert rest == said


def test_the_batch_suite_measures_the_memory_of_jobs() -> None:
    command = [sys.executable, "-m", "campaigns.benchmarks", "batch", "--only", "10^3", "--json"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    row, resumed = json.loads(printed)["batch"]

    assert row["name"] == "10^3 inline jobs"
    assert 5 < row["also"]["MB resident"] < 500
    assert row["also"]["jobs/s"] > 0
    assert resumed["name"] == "10^3 inline jobs, all done before"


def test_the_batch_suite_times_the_same_outputs_of_every_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(batch, "JOBS", 20)
    monkeypatch.setattr(batch, "SHELL_LOOP", batch.SHELL_LOOP.replace("seq 0 59", "seq 0 1"))

    first, cpu, second, _ = batch.speed(1, tmp_path, {"all": [], "one": ["-j", "1"]})

    assert first.goals == second.goals == {"numpy loop": 0.9, "shell loop": 0.01}
    assert (cpu.name, cpu.goals) == ("all, CPU", {"numpy loop": 1.0})
    assert all(seconds > 0 for seconds in cpu.seconds.values())
    assert list(first.seconds) == ["gathercli", "numpy loop", "shell loop"]
    assert first.seconds["shell loop"] == second.seconds["shell loop"]


def test_the_batch_suite_times_dry_runs_beside_runs(tmp_path: Path) -> None:
    rows = batch.dry_runs(1, tmp_path, jobs=20)

    assert [row.name for row in rows[:2]] == [
        "dry run, 100000 inline jobs",
        "dry run, 100000 inline jobs, CPU",
    ]
    assert [list(row.ratios()) for row in rows] == [["run"]] * 4


@pytest.mark.parametrize(
    "case",
    [
        kernels.Case("gather", (20, 3), (30,), kind="negative"),
        kernels.Case("elements", (4, 5), (4, 5), 1),
        kernels.Case("tuples", (4, 5, 3), (30, 2), kind="negative"),
        kernels.Case("tuples", (4, 5, 3), (30, 2), kind="sorted", index_type="i4"),
        kernels.Case("tuples", (4, 3, 5, 2), (4, 3, 6, 1), batch=2),
        kernels.Case("beams", (90, 3, 4), (90, 3, 4), dtype="i4", index_type="i4"),
        kernels.Case("mixed beams", (90, 3, 4), (90, 3, 4), dtype="i4", index_type="i4"),
    ],
)
def test_the_ways_in_memory_answer_alike(case: kernels.Case) -> None:
    call = (case.op, *kernels.made(case), case.axis, case.batch)

    ways = {"gathercli": peers.by_gathercli(1)(*call), "numpy": peers.by_numpy(*call)}

    kernels.check({name: way() for name, way in ways.items()})


def test_the_cluster_suite_counts_readings_of_every_way(tmp_path: Path) -> None:
    cluster.store(tmp_path / "d.zarr", 8, packed=False)
    rows = cluster.gathers(1, tmp_path, "all", np.arange(8)[::-1], {})
    ours, *peers = rows
    assert (ours.name, len(peers)) == ("all, here", len(cluster.PEERS))
    assert set(ours.ratios()) == set(cluster.PEERS)
    for row in rows:
        assert row.also["reads a chunk"] == 1
        assert 20 < row.also["MB"] < 1000
    assert 4.1 < ours.also["GB read"] * 1000 < 100  # the last reads may be between two looks


@pytest.mark.parametrize("case", memory.CASES, ids=lambda case: case.name)
def test_the_memory_suite_gives_every_way_the_same_budget(
    case: memory.Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "PEERS", {"zarr oindex": memory.OINDEX})
    count = case.chunks[0]
    cluster.store(tmp_path / "d.zarr", count, packed=case.packed, chunks=case.chunks)
    np.save(tmp_path / "i.npy", cluster.picked("random", count))

    rows = memory.gathers(1, tmp_path, case, {"500M": 5 * 10**8})

    ways = ("-j 1", "-j 2", "zarr oindex")
    assert [row.name for row in rows] == [f"{case.name}, 500M, {way}" for way in ways]
    assert [list(row.ratios()) for row in rows] == [["zarr oindex"], ["zarr oindex"], []]
    assert all(row.also["MB"] < 600 for row in rows[:2])
    assert all(row.also["reads a chunk"] >= 1 for row in rows)


def test_a_peer_is_asked_for_whole_chunks_of_the_output_as_far_as_its_budget_holds_them() -> None:
    rows = [memory.rows_in(budget, (4, 1024, 1024)) for budget in memory.BUDGETS.values()]

    assert rows == [8, 64, 304]
    assert memory.rows_in(10**8, (64, 128, 128)) == 1


def test_the_cluster_suite_does_all_jobs_on_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(batch, "JOBS", 20)

    with cluster.cluster(1, tmp_path / "dask") as workers:
        rows = cluster.jobs(1, tmp_path, {"1 worker": workers})

    assert [row.name for row in rows] == ["20 jobs, -j 1", "20 jobs, -j 2", "20 jobs, 1 worker"]
    assert rows[-1].also["MB of a worker"] > 50


def test_a_table_gives_our_time_and_its_ratio_to_that_of_others() -> None:
    rows = [
        Row("rows", {"gathercli": 0.5, "numpy": 1.0, "cp": 0.25}, {"cp": 0.9}),
        Row("one", {"gathercli": 0.001, "numpy": 0.004}, {}, {"MB": 12.0}),
        Row("far", {"gathercli": 0.001, "numpy": 0.16}),
    ]

    assert table("a suite", rows) == (
        "a suite     ms  / numpy        / cp  MB\n"
        "rows     500.0     0.50  2.00 (0.9)\n"
        "one        1.0     0.25              12\n"
        "far        1.0   0.0063"
    )
