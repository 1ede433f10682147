"""A batch on a real scheduler and real workers: the same report, whatever dies."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli import __version__
from gathercli.batch import batch_run, cluster
from gathercli.batch import dask_task as task
from gathercli.batch.work import Settings
from gathercli.cli import main
from gathercli.io.jobfile import JobEntry
from tests.batch.dask_cluster import HERE, Dask
from tests.batch.test_batch_run import FIXTURES, LINUX, job, lines, statuses, write_jobs
from tests.batch.test_resume import REPORT, lines_in, reported, when
from tests.batch.test_work import EXPECTING
from tests.processes import PATIENCE, Feed, is_gone, opened, start, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.batch.outcome import Outcome
    from gathercli.batch.pool import JobQueue
    from tests.conftest import Program, Ran, Run


pytestmark = pytest.mark.usefixtures("folder")
TO_FILE: Final = ("batch", "jobs.jsonl", "-q", "--report", "r.jsonl")


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """Start a scheduler for one test."""
    with Dask(tmp_path_factory.mktemp("dask")) as found:
        yield found


def untimed(text: str | bytes) -> list[dict[str, Any]]:
    """Read lines of report without the seconds that jobs took."""
    return [{key: v for key, v in line.items() if key != "seconds"} for line in lines(text)]


def both(run: Run, url: str, *words: str) -> Ran:
    """Run a batch here and there, hold the lines of the report to be the same, and return one."""
    here = run("batch", *words, "-q")
    there = run("batch", *words, "-q", "--scheduler", url)
    assert (there.status, untimed(there.out), there.err) == (here.status, untimed(here.out), "")
    return there


# The same report


def test_the_conformance_jobs_have_the_report_of_a_local_run(run: Run, dask: Dask) -> None:
    folders = [str(FIXTURES / name) for name in ("openvino", "onnx")]

    for name, more in (("here", ()), ("there", ("--scheduler-file", dask.file))):
        assert run("batch", *folders, "-q", "--report", name, *more) == (0, "", "")

    report = Path("there").read_bytes()
    assert {status for _, status, _ in statuses(report)} == {"ok"}
    assert untimed(report) == untimed(Path("here").read_bytes())


def test_what_jobs_expect_is_judged_as_here(run: Run, dask: Dask) -> None:
    listed = [job(str(at), **more) for at, (more, _, _) in enumerate(EXPECTING)]
    ran = both(run, dask.url, write_jobs(*listed))
    assert [tuple(how) for _, *how in statuses(ran.out)] == [tuple(how) for _, *how in EXPECTING]


def test_paths_start_where_they_do_here_whatever_their_bytes(run: Run, dask: Dask) -> None:
    folder = os.fsdecode(b"in\xff\n")
    os.makedirs(f"{folder}/a")
    os.chdir(folder)
    np.save("x.npy", np.arange(5, 8))
    shutil.copy("x.npy", "a/\udcff.npy")
    listed = [
        job("\ud800", data="\udcff.npy", output="out/o.npy"),
        job("none", data="none.npy"),
        job("above", data="../x.npy", indices=9),
    ]
    Path("a/jobs.json").write_text(json.dumps(listed), "ascii")
    ran = both(run, dask.url, "a/jobs.json")
    assert [status for _, status, _ in statuses(ran.out)] == ["ok", "error", "ok"]
    assert np.load("a/out/o.npy").tolist() == [7, 5]


def test_outputs_have_the_bytes_they_have_here(run: Run, dask: Dask) -> None:
    for name, more in (("here", ()), ("there", ("--scheduler", dask.url))):
        listed = [
            job(
                str(at),
                data=f"rand:9x{at}xf32,seed={at}",
                indices=[8, 0],
                output=f"{name}/{at}.npy",
            )
            for at in range(1, 40)
        ]
        assert run("batch", write_jobs(*listed), "-q", *more).status == 0
    names = sorted(os.listdir("here"))
    assert (len(names), names) == (39, sorted(os.listdir("there")))
    for name in names:
        assert Path("here", name).read_bytes() == Path("there", name).read_bytes()


@pytest.mark.parametrize(
    "words",
    [["--dry-run"], ["--max-bytes", "799"], ["--retries", "1", "--max-failures", "90%"]],
    ids=" ".join,
)
def test_the_options_of_a_run_mean_what_they_mean_here(
    words: list[str], run: Run, dask: Dask
) -> None:
    os.mkdir("file")
    listed = [
        job("a", indices=[0] * 100),
        job("b", axis=1),
        job("c", data="file"),
        job("d", output="file/d.npy"),
        job("e", data="/dev/stdin"),
        job("f", data="@/dev/fd/0"),
        {"id": "s", "op": "shape", "of": "gather", "data": "[?,3]", "indices": "[2]"},
    ]
    ran = both(run, dask.url, write_jobs(*listed), *words)
    assert (ran.status, len(lines(ran.out))) == (1, len(listed))


@pytest.mark.parametrize(
    ("words", "fewest"),
    [(["--fail-fast"], 3), (["--max-failures", "2"], 7), (["--max-failures", "1%"], 7)],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_no_job_begins_after_too_many_have_failed(
    words: list[str], fewest: int, run: Run, dask: Dask
) -> None:
    listed = [job(str(n), axis=n % 2 * (n > 1), output=f"out/{n}.npy") for n in range(1, 201)]
    ran = run("batch", write_jobs(*listed), "--scheduler", dask.url, *words)
    assert ran.status == 1
    assert fewest <= len(lines(ran.out)) < len(listed)
    assert "too many have failed" in ran.err
    written = [line for line in lines(ran.out) if line["status"] == "ok"]
    assert len(os.listdir("out")) == len(written)


def test_a_job_that_takes_too_long_is_ended_and_the_others_are_done(run: Run, dask: Dask) -> None:
    os.mkfifo("pipe")
    listed = [job("a"), job("b", data="pipe"), *map(job, "cdefgh")]
    ran = run("batch", write_jobs(*listed), "--scheduler", dask.url, "--timeout", "5")
    assert [rule for _, _, rule in statuses(ran.out)] == [None, "timeout", *[None] * 6]


@LINUX
def test_an_input_cut_while_it_is_mapped_is_one_failed_job(dask: Dask) -> None:
    os.mkfifo("pipe")
    np.save("x.npy", np.zeros(1 << 20))
    listed = [job("a"), job("b", data="x.npy", indices="pipe", output="b.npy"), *map(job, "cdef")]
    with start("batch", write_jobs(*listed), "-q", "--scheduler", dask.url) as process:
        fd = opened("pipe")  # which is read when the data have been mapped
        os.truncate("x.npy", 4096)
        os.write(fd, b"[1000000]")
        os.close(fd)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, b"")
    assert [status for _, status, _ in statuses(out)] == ["ok", "error", *["ok"] * 4]
    message = "`x.npy` changed while it was read: expected it to stay as it was"
    assert lines(out)[1]["message"] == message
    assert [worker.exitcode for worker in dask.workers] == [None, None]


@pytest.mark.parametrize("words", [[], ["--hash"]], ids=["times", "contents"])
def test_a_report_is_gone_on_with_here_or_there(words: list[str], run: Run, dask: Dask) -> None:
    np.save("x.npy", np.arange(3))
    write_jobs(job("a", data="x.npy"), job("b", output="b.npy"), job("c", axis=1))
    there = ("--scheduler", dask.url)
    assert run(*TO_FILE, *words, *there).status == 1
    whole = REPORT.read_bytes()
    for more in ((), there):
        ran = run(*TO_FILE, *words, "--resume", "--junit", "j.xml", *more)
        assert (ran.status, REPORT.read_bytes()) == (1, whole)
        assert Path("j.xml").read_bytes().count(b"<testcase") == 3
    os.unlink("b.npy")
    np.save("x.npy", np.arange(9))
    assert run(*TO_FILE, *words, "--resume", *there).status == 1
    assert [how for _, how, _ in statuses(REPORT.read_bytes())] == ["ok", "ok", "error"]
    assert REPORT.read_bytes().splitlines()[2] == whole.splitlines()[2]
    assert run(*TO_FILE, *words, "--resume").status == 1


def test_lines_that_are_large_come_whole(run: Run, dask: Dask) -> None:
    listed = [job(str(at), data="rand:9", indices="zeros:50000") for at in range(3)]

    ran = both(run, dask.url, write_jobs(*listed))

    assert len(ran.out) > 3 * 50_000 * 15


def test_lines_are_in_the_order_of_the_jobs_even_if_the_first_takes_long(dask: Dask) -> None:
    os.mkfifo("pipe")
    names = [f"j{number}" for number in range(30)]
    listed = [job("slow", indices="pipe"), *(job(name, output=f"out/{name}.npy") for name in names)]
    with start("batch", write_jobs(*listed), "-q", "--scheduler", dask.url) as process:
        fd = opened("pipe")
        wait_until(lambda: os.path.isdir("out") and os.listdir("out"))
        os.write(fd, b"[1]")
        os.close(fd)
        out, _ = process.communicate(timeout=PATIENCE)
    assert [line["id"] for line in lines(out)] == ["slow", *names]


# Workers that die or are not there


def many(number: int) -> list[dict[str, Any]]:
    listed = [
        job(f"j{at}", data=list(range(at, at + 9)), indices=[8, at % 9], output=f"out/{at}.npy")
        for at in range(number)
    ]
    write_jobs(*listed)
    return listed


def has_lines(number: int) -> bool:
    return lines_in(REPORT) >= number


def check_many(listed: list[dict[str, Any]]) -> None:
    """Hold the report to have every job once and well, and the outputs to be right."""
    assert list(reported()) == [each["id"] for each in listed]
    assert {how for _, how, _ in statuses(REPORT.read_bytes())} == {"ok"}
    for at in range(len(listed)):
        assert np.load(f"out/{at}.npy").tolist() == [at + 8, at + at % 9]
    assert len(os.listdir("out")) == len(listed)


def test_workers_killed_five_times_at_a_random_moment_lose_nothing_and_repeat_nothing(
    own: Dask,
) -> None:
    draw, each = random.Random(0), 120  # noqa: S311
    listed = many(9 * each)
    own.add(2)
    own.ready(2)
    known: dict[str, tuple[bytes, int]] = {}
    with start(*TO_FILE, "--scheduler-file", own.file) as process:
        for kill in range(5):
            wanted = kill * each + draw.randrange(1, each)
            wait_until(partial(has_lines, wanted))
            own.kill(draw.choice(own.workers))
            own.add()
            found = reported()
            assert all(found[name] == line for name, (line, _) in known.items())
            known |= {name: (found[name], when(name)) for name in found.keys() - known.keys()}
            assert process.poll() is None
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, b"", b"")
    check_many(listed)
    found = reported()
    assert len(known) > 2 * each
    again = {name for name, (_, at) in known.items() if when(name) != at}
    assert (again, {name: found[name] for name in known}) == (
        set(),
        {name: line for name, (line, _) in known.items()},
    )


@LINUX
def test_only_the_job_whose_workers_die_again_and_again_has_died(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    os.mkfifo(folder / "pipe")
    listed = [*map(job, "ab"), job("c", data="pipe"), *map(job, "defgh")]
    setting = {"distributed.scheduler.allowed-failures": 0}
    with Dask(tmp_path_factory.mktemp("dask"), settings=setting) as own:
        own.add(3)
        own.ready(3)
        words = ["batch", write_jobs(*listed), "-q", "--scheduler", own.url]
        with start(*words) as process:
            fds = []  # open to the end, as what is tried again may read before one is closed
            for _ in range(2):  # with others, and alone
                fds.append(opened("pipe"))
                child, parent = reader(folder / "pipe")
                own.kill(next(each for each in own.workers if each.pid == parent))
                wait_until(partial(is_gone, child))
            out, err = process.communicate(timeout=PATIENCE)
        for fd in fds:
            os.close(fd)
    assert (process.returncode, err) == (1, b"")
    assert [rule for _, _, rule in statuses(out)] == [None, None, "died", *[None] * 5]
    assert lines(out)[2]["message"] == "the workers that did it died, one after the other"


def reader(pipe: Path) -> tuple[int, int]:
    """Find the process that has a pipe open, and its parent, once it has."""
    found: list[int] = []

    def is_there() -> bool:
        for link in Path("/proc").glob("[0-9]*/fd/*"):
            with suppress(OSError):
                if os.readlink(link) == str(pipe) and link.parts[2] != str(os.getpid()):
                    status = Path(*link.parts[:3], "stat").read_text("utf-8")
                    parent = status.rpartition(")")[2].split()[1]
                    found[:] = int(link.parts[2]), int(parent)
        return bool(found)

    wait_until(is_there)
    return found[0], found[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "note: the scheduler has no workers: waiting for one\n3 jobs: 3 ok   "),
        (["-q"], "note: the scheduler has no workers: waiting for one\n"),
        (["--json-errors"], '{"note": "the scheduler has no workers: waiting for one"}\n'),
    ],
    ids=" ".join,
)
def test_it_is_said_that_there_are_no_workers_and_gone_on_when_one_comes(
    words: list[str], said: str, run: Run, own: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    remark = batch_run.Batch._remark

    def add_worker(batch: batch_run.Batch, text: str) -> None:
        remark(batch, text)
        own.add()

    monkeypatch.setattr(cluster, "MAX_WAIT", 0.1)
    monkeypatch.setattr(batch_run.Batch, "_remark", add_worker)
    ran = run("batch", write_jobs(*map(job, "abc")), "--scheduler", own.url, *words)

    assert (ran.status, len(lines(ran.out))) == (0, 3)
    assert ran.err.startswith(said) if not words else ran.err == said


def test_a_worker_with_another_version_is_named(
    run: Run, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "__version__", "9.9")
    ran = run("batch", write_jobs(job("a")), "--scheduler", dask.url)
    assert (ran.status, ran.out) == (74, "")
    assert (
        f" has gathercli {__version__}): expected gathercli 9.9 and the files of this machine\n"
    ) in ran.err
    assert ran.err.startswith("error: a worker cannot do the jobs (the one at tcp://")


OLDER: Final = """\
import gathercli
from distributed import versions
from importlib.metadata import version

versions.version = lambda name: "0.1" if name == "gathercli" else version(name)
gathercli.__version__ = "0.1"  # what a release of 2024 asks
"""
"""What makes a worker have another version of gathercli."""


def test_the_versions_of_all_workers_are_compared_before_the_first_job(own: Dask, run: Run) -> None:
    Path("older.py").write_text(OLDER, "ascii")
    own.add(2)
    own.add(1, "--preload", os.path.abspath("older.py"))
    own.ready(3)
    listed = [job(str(number), output=f"{number}.npy") for number in range(3)]

    ran = run("batch", write_jobs(*listed), "--scheduler", own.url)

    assert (ran.status, ran.out) == (74, "")
    assert " has gathercli 0.1): expected gathercli " in ran.err
    assert [name for name in os.listdir() if name.endswith(".npy")] == []


def test_a_worker_that_does_not_see_the_folder_is_named(
    run: Run, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getcwd", lambda: "/none/here")
    ran = run("batch", write_jobs(job("a")), "--scheduler", dask.url)
    assert (ran.status, ran.out) == (74, "")
    assert re.match(
        "error: a worker cannot do the jobs "
        r"\(the one at tcp://127\.0\.0\.1:\d+ has no folder `/none/here`\): expected gathercli ",
        ran.err,
    ), ran.err


# A scheduler that is not there, or goes away


def test_nobody_at_the_address_is_an_error_within_seconds(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cluster.MAX_WAIT <= 5
    monkeypatch.setattr(cluster, "MAX_WAIT", 0.3)
    listed = write_jobs(job("a", output="a.npy"))
    with socket.create_server((HERE, 0)) as silent:
        port = silent.getsockname()[1]
        for url in (f"tcp://{HERE}:1", f"tcp://{HERE}:{port}", "tcp://no.such.host.invalid:1"):
            ran = run("batch", listed, "--scheduler", url)
            assert (ran.status, ran.out) == (74, "")
            assert ran.err.startswith(f"error: the scheduler `{url}` cannot be reached (")
            assert "rule: scheduler\n" in ran.err
    assert os.listdir() == ["jobs.jsonl"]


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (None, 66, "(no such file or directory)"),
        (b"", 66, "cannot be read"),
        (b"\x93NUMPY", 66, "cannot be read"),
        (b"[" * 100_000, 66, "cannot be read"),
        (b" " * (1 << 21) + b"{}", 66, "cannot be read"),
        (b"[]", 65, "has no address"),
        (b"{}", 65, "has no address"),
        (b'{"address":1}', 65, "has no address"),
        (b'{"address":"inproc://1/2/3"}', 65, "has no address"),
        (b'{"address":"tcp://127.0.0.1:1"}', 74, "`tcp://127.0.0.1:1` cannot be reached"),
    ],
)
def test_a_file_that_no_scheduler_wrote_is_refused(
    content: bytes | None, status: int, said: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MAX_WAIT", 0.2)
    if content is not None:
        Path("f").write_bytes(content)
    ran = run("batch", write_jobs(job("a")), "--scheduler-file", "f")
    assert (ran.status, ran.out, said in ran.err) == (status, "", True), ran.err


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_no_file_of_a_scheduler(make: Callable[[str], None], run: Run) -> None:
    make("f")
    ran = run("batch", write_jobs(job("a")), "--scheduler-file", "f")
    assert (ran.status, ran.out, "expected the file of a scheduler" in ran.err) == (66, "", True)


def test_a_scheduler_that_is_killed_is_an_error_and_the_rest_is_done_here(
    own: Dask, folder: Path
) -> None:
    listed = many(600)
    os.mkfifo(folder / "pipe")
    listed[500]["indices"] = "pipe"
    write_jobs(*listed)
    own.add(2)
    with start(*TO_FILE, "--scheduler", own.url) as process:
        fd = opened("pipe")
        wait_until(lambda: lines_in(REPORT) > 300)
        own.scheduler.kill()
        out, err = process.communicate(timeout=PATIENCE)
        os.close(fd)
    assert (process.returncode, out) == (74, b"")
    assert err == (
        b"error: the scheduler went away: expected it to stay until all jobs are done\n"
        b"hint: a batch with `--report FILE` is gone on with by `--resume`\nrule: scheduler\n"
    )
    known = reported()
    listed = many(600)
    assert main([*TO_FILE, "--resume"]) == 0
    check_many(listed)
    assert {name: line for name, line in reported().items() if name in known} == known


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupt_cancels_what_is_queued_and_ends_what_runs(
    number: signal.Signals, status: int, dask: Dask, folder: Path
) -> None:
    os.mkfifo(folder / "pipe")
    blocked = [job(f"b{at}", data="pipe") for at in range(8)]
    write_jobs(*map(job, "abc"), *blocked)
    with start(*TO_FILE, "--scheduler", dask.url) as process:
        fd = opened("pipe")
        wait_until(lambda: lines_in(REPORT) == 3)
        process.send_signal(number)
        assert process.communicate(timeout=PATIENCE) == (b"", b"")
    os.close(fd)
    assert process.returncode == status
    assert sorted(reported()) == list("abc")
    with dask.client() as client:
        wait_until(lambda: client.run_on_scheduler(tasks) == 0)
    wait_until(lambda: not is_read("pipe"))
    known = reported()
    os.unlink("pipe")
    np.save("pipe.npy", np.arange(3))
    os.rename("pipe.npy", "pipe")
    assert main([*TO_FILE, "--resume", "--scheduler", dask.url]) == 0
    assert len(reported()) == 11
    assert {name: line for name, line in reported().items() if name in known} == known


def tasks(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def is_read(pipe: str) -> bool:
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


# TLS


def test_tls_is_spoken_where_that_is_asked_for(
    run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    words = [
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-days",
        "2",
    ]
    made = ["openssl", "req", "-x509", *words, "-subj", "/CN=localhost"]
    subprocess.run(made, check=True, capture_output=True)
    key, cert = os.path.abspath("key.pem"), os.path.abspath("cert.pem")
    tls = ["--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key]
    with Dask(tmp_path_factory.mktemp("dask"), "--protocol", "tls", *tls) as own:
        own.add()
        listed = write_jobs(*map(job, "abc"))
        assert own.url.startswith("tls://")
        ran = run("batch", listed, "-q", "--scheduler", own.url, *tls)
        assert [status for _, status, _ in statuses(ran.out)] == ["ok"] * 3
        ran = run("batch", listed, "--scheduler", own.url, *tls[:3], "jobs.jsonl")
        assert (ran.status, ran.out, "cannot be reached" in ran.err) == (74, "", True)
        for address in (["--scheduler", own.url], ["--scheduler-file", own.file]):
            ran = run("batch", listed, *address)
            assert (ran.status, ran.out) == (2, "")
            assert "speaks TLS, and `--tls-ca-file` is not given: expected" in ran.err
        ran = run("batch", listed, "--scheduler", own.url, *tls[:3], "none.pem")
        assert (ran.status, ran.out, "`none.pem` cannot be read" in ran.err) == (66, "", True)
        plain = own.url.replace("tls", "tcp")
        for more in ([], tls):
            ran = run("batch", listed, "--scheduler", plain, *more)
            assert (ran.status, ran.out, "cannot be reached (it speaks TLS)" in ran.err) == (
                *(74, "", True),
            )
            assert f"\nhint: `--scheduler {own.url} --tls-ca-file " in ran.err


def test_tls_to_a_scheduler_without_it_is_said(run: Run, dask: Dask) -> None:
    Path("a.pem").write_text("", "ascii")
    tls = ["--tls-ca-file", "a.pem", "--tls-cert", "a.pem"]

    ran = run("batch", write_jobs(job("a")), "--scheduler", dask.url.replace("tcp", "tls"), *tls)

    assert (ran.status, ran.out) == (74, "")
    assert "cannot be reached (it does not speak TLS): expected tcp://" in ran.err


def test_another_server_at_the_address_is_no_scheduler(run: Run) -> None:
    listed = write_jobs(job("a"))
    with socket.create_server((HERE, 0)) as server:

        def greet() -> None:
            with server.accept()[0] as caller:
                caller.sendall(b"SSH-2.0-OpenSSH_9.6\r\n" + bytes(4096))
                caller.settimeout(PATIENCE)
                with suppress(OSError):
                    caller.recv(1)

        threading.Thread(target=greet, daemon=True).start()
        url = f"tcp://{HERE}:{server.getsockname()[1]}"
        ran = run("batch", listed, "--scheduler", url)
    assert (ran.status, ran.out) == (74, "")
    assert ran.err.startswith(f"error: the scheduler `{url}` cannot be reached (")


def test_a_scheduler_that_is_stopped_has_gone_away(
    own: Dask, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "STOPPED_AFTER", 1.0)
    monkeypatch.setattr(cluster, "MAX_WAIT", 0.1)
    own.add()
    own.ready(1)
    wait = cluster.Cluster.wait

    def stop(workers: cluster.Cluster, queue: JobQueue, seconds: float) -> Iterator[Outcome]:
        if feed.is_read():
            monkeypatch.setattr(cluster, "MAX_WAIT", 1.0)
            os.kill(own.scheduler.pid or 0, signal.SIGSTOP)
        return wait(workers, queue, seconds)

    monkeypatch.setattr(cluster.Cluster, "wait", stop)
    with Feed("pipe") as feed:
        try:
            ran = run("batch", write_jobs(job("a", data="pipe")), "--scheduler", own.url)
        finally:
            os.kill(own.scheduler.pid or 0, signal.SIGCONT)

    assert (ran.status, ran.out) == (74, "")
    assert "error: the scheduler went away" in ran.err


# Words that are refused, and dask that is not there


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler", "tcp://h:1", "--scheduler-file", "f"], "expected one of them"),
        (["--scheduler", "tcp://h:1", "-j", "2"], "whose workers do the jobs"),
        (["--scheduler-file", "f", "--workers", "2"], "whose workers do the jobs"),
        (["--tls-ca-file", "c"], "`--tls-ca-file` is given without `--scheduler`"),
        (["--tls-key", "c"], "`--tls-key` is given without `--scheduler`"),
        (["--scheduler", "tls://h:1", "--tls-ca-file", "c"], "without `--tls-cert`"),
        (["--scheduler", "tls://h:1", "--tls-key", "c"], "without `--tls-ca-file`"),
        (["--scheduler", "tls://h:1"], "`--tls-ca-file` is not given"),
        (["--scheduler", "h:1"], "expected tcp://HOST:PORT or tls://HOST:PORT"),
        (["--scheduler", "tcp://h"], "expected tcp://HOST:PORT or tls://HOST:PORT"),
        (["--scheduler", "http://h:1"], "expected tcp://HOST:PORT or tls://HOST:PORT"),
        (["--scheduler", ""], "expected tcp://HOST:PORT or tls://HOST:PORT"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_options_that_contradict_each_other_are_refused(
    words: list[str], said: str, run: Run
) -> None:
    ran = run("batch", write_jobs(job("a")), *words)
    assert (ran.status, ran.out, said in ran.err) == (2, "", True), ran.err


def test_without_dask_it_is_said_how_to_get_it(program: Program) -> None:
    write_jobs(job("a"))
    code = (
        "import sys; sys.modules['distributed'] = None; from gathercli.cli import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    words = ["batch", "jobs.jsonl", "--scheduler", "tcp://127.0.0.1:1"]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"hint: `python -m pip install 'gathercli[cluster]'`\n" in ran.stderr
    assert program("batch", "jobs.jsonl", "-q").returncode == 0


# A task, as a worker does it


def given(*, divided: bool = False) -> tuple[Any, ...]:
    return tuple(Settings(divided=divided)), os.fsencode(os.getcwd())


def records(*listed: dict[str, Any]) -> list[tuple[int, bytes]]:
    texts = [json.dumps(each).encode() for each in listed]
    return [(at, JobEntry("", "", text).record()) for at, text in enumerate(texts, 7)]


@pytest.fixture
def unkept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End processes that have nothing to do when a test ends, and no task before its jobs."""
    monkeypatch.setattr(task, "IDLE_SECONDS", PATIENCE)
    monkeypatch.setattr(task, "MAX_TASK_SECONDS", PATIENCE)
    monkeypatch.setattr(task, "_is_wanted", lambda: True)
    yield
    for process in tuple(task._idle):
        process.timer.cancel()
        process._end()


@pytest.mark.usefixtures("unkept")
def test_a_task_does_its_jobs_and_another_goes_on_with_its_process() -> None:
    for _ in range(2):
        seconds, answers = task.do(__version__, given(), records(job("a"), job("b", axis=1)))
        assert [(number, status) for number, status, *_ in answers] == [(7, "ok"), (8, "error")]
        assert 0 < seconds < PATIENCE
        (process,) = task._idle
    assert len(process.jobs) == 0


@pytest.mark.usefixtures("unkept")
def test_a_process_that_nothing_is_asked_of_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "IDLE_SECONDS", 0.0)

    task.do(__version__, given(), records(job("a")))

    wait_until(lambda: not task._idle)


@pytest.mark.usefixtures("unkept")
@pytest.mark.parametrize(("name", "value"), [("MAX_ANSWER_BYTES", 1), ("MAX_TASK_SECONDS", 0.0)])
def test_a_task_begins_no_more_jobs_when_it_was_long_or_has_much_to_say(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, name, value)
    listed = [job(str(at)) for at in range(200)]
    _, answers = task.do(__version__, given(), records(*listed))
    assert 1 <= len(answers) < 100


@pytest.mark.parametrize(("status", "state"), [("running", "cancelled"), ("closing", "executing")])
def test_a_task_ends_its_process_when_nobody_wants_it(
    status: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo("pipe")
    tasks = {"key": SimpleNamespace(state=state)}
    worker = SimpleNamespace(
        state=SimpleNamespace(tasks=tasks),
        status=SimpleNamespace(name=status),
        get_current_task=lambda: "key",
    )
    monkeypatch.setattr(task, "get_worker", lambda: worker)
    with pytest.raises(RuntimeError, match="nobody wants this task"):
        task.do(__version__, given(), records(job("a", data="pipe")))
    assert (is_read("pipe"), task._idle) == (False, [])


@pytest.mark.usefixtures("unkept")
def test_a_task_divides_the_memory_of_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SimpleNamespace(memory_limit=6000)
    worker = SimpleNamespace(memory_manager=memory, state=SimpleNamespace(nthreads=3))
    monkeypatch.setattr(task, "get_worker", lambda: worker)
    Path("x.json").write_text(f"[{'1,' * 600}1]", "ascii")
    listed = records(job("a", data="x.json"))
    _, answers = task.do(__version__, given(divided=True), listed)
    assert (answers[0][1], b"at most 1000 bytes" in answers[0][2]) == ("error", True)


def test_a_task_is_refused_by_a_worker_that_cannot_do_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "get_worker", lambda: SimpleNamespace(address="tcp://h:1"))
    with pytest.raises(RuntimeError) as caught:
        task.do("9.9", given(), [])
    assert str(caught.value) == f"the one at tcp://h:1 has gathercli {__version__}, not 9.9"
    here = given()
    folder.rename(folder.with_name("gone"))
    with pytest.raises(RuntimeError, match=r"^the one at tcp://h:1 has no folder `"):
        task.do(__version__, here, [])
