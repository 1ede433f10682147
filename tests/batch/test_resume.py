"""A report that is gone on with: what it says is done is not done again, whatever ended the run."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
import zarr

from gathercli.batch import journal
from gathercli.batch.journal import Journal
from gathercli.cli import main
from gathercli.errors import OutputError
from tests.batch.test_batch_run import LINUX, job, lines, statuses, write_jobs
from tests.processes import PATIENCE, children, is_gone, opened, start, wait_until
from tests.test_killed import in_small_disk

if TYPE_CHECKING:
    from tests.conftest import Run


REPORT: Final = Path("r.jsonl")
WORDS: Final = ("batch", "jobs.jsonl", "-q", "-j", "1", "--report", "r.jsonl")


def reported() -> dict[str, bytes]:
    """Return the whole lines of the report, by their jobs; each may be there once."""
    *whole, _ = REPORT.read_bytes().split(b"\n")
    found = {json.loads(line)["id"]: line for line in whole}
    assert len(found) == len(whole)
    return found


def again(*words: str) -> set[str]:
    """Resume a run, and tell which jobs it did again; the others keep their line."""
    text = REPORT.read_bytes()  # with a time that no job takes
    REPORT.write_bytes(re.sub(rb'"seconds":[0-9.e-]+', b'"seconds":1e9', text))
    before = reported()
    main([*WORDS, "--resume", *words])
    after = reported()
    listed = enumerate(lines(Path("jobs.jsonl").read_bytes()), 1)
    assert list(after) == [each.get("id", f"jobs.jsonl:{line}") for line, each in listed]
    return {name for name, line in after.items() if before.get(name) != line}


def prepare() -> None:
    """Do a job of each sort: inline, of a file, with an output, failed, of a file that is not."""
    np.save("x.npy", np.arange(3))
    write_jobs(
        job("inline"),
        job("file", data="x.npy"),
        job("output", output="o.npy"),
        job("failed", axis=1),
        job("missing", data="none.npy"),
        job("mismatch", expect=[0, 0]),
    )
    assert main(WORDS) == 1
    assert [how for _, how, _ in statuses(REPORT.read_bytes())] == [
        *("ok", "ok", "ok", "error", "error", "mismatch")
    ]


@pytest.fixture
def done(folder: Path) -> Path:
    prepare()
    return folder


# Whether a job is done again


@pytest.mark.usefixtures("done")
def test_nothing_is_done_again_where_nothing_has_changed(capfd: pytest.CaptureFixture[str]) -> None:
    whole, status = REPORT.read_bytes(), os.stat("o.npy")
    assert main([*WORDS, "--resume"]) == 1
    assert REPORT.read_bytes() == whole
    assert os.stat("o.npy") == status
    main(["batch", "jobs.jsonl", "--report", "r.jsonl", "--resume"])
    said = capfd.readouterr().err
    assert said.startswith("6 jobs: 3 ok, 1 mismatch, 2 errors   ")
    assert "6 done before\n" in said


@pytest.mark.usefixtures("done")
def test_what_failed_is_done_again_where_that_is_asked_for() -> None:
    assert again("--resume-failed") == {"failed", "missing", "mismatch"}


@pytest.mark.usefixtures("done")
def test_a_job_is_done_again_when_its_output_is_gone_or_has_another_size() -> None:
    os.unlink("o.npy")
    assert again() == {"output"}
    assert np.load("o.npy").tolist() == [7, 5]
    os.truncate("o.npy", 100)
    assert again() == {"output"}
    assert np.load("o.npy").tolist() == [7, 5]


@pytest.mark.usefixtures("done")
def test_a_job_is_done_again_when_an_input_has_another_time_or_size_or_has_come() -> None:
    os.utime("x.npy", ns=(1, 1))
    assert again() == {"file"}
    np.save("x.npy", np.arange(9))
    os.utime("x.npy", ns=(1, 1))
    assert again() == {"file"}
    os.rename("x.npy", "none.npy")
    assert again() == {"file", "missing"}
    assert {name: how for name, how, _ in statuses(REPORT.read_bytes())}["missing"] == "ok"


@pytest.mark.usefixtures("done")
def test_a_job_that_was_written_anew_is_done_again_and_one_that_is_gone_leaves_the_report() -> None:
    text = Path("jobs.jsonl").read_text("ascii")
    written = [*lines(text)[1:], job("new")]
    written[0]["title"] = "Other words."
    write_jobs(*reversed(written))
    assert again() == {"file", "new"}


def test_jobs_without_ids_are_known_again_until_lines_move(folder: Path) -> None:
    del folder
    listed = [{key: v for key, v in job("", data=[at]).items() if key != "id"} for at in range(3)]
    for each in listed:
        each["indices"] = [0]
    write_jobs(*listed)
    assert main(WORDS) == 0
    assert list(reported()) == ["jobs.jsonl:1", "jobs.jsonl:2", "jobs.jsonl:3"]

    assert again() == set()
    listed[1]["title"] = "Other words."
    write_jobs(*listed)
    assert again() == {"jobs.jsonl:2"}
    write_jobs(*listed[:1], job("new"), *listed[1:])
    assert again() == {"new", "jobs.jsonl:3", "jobs.jsonl:4"}


def test_contents_are_compared_where_that_is_asked_for(folder: Path) -> None:
    np.save("x.npy", np.arange(3))
    write_jobs(job("file", data="x.npy"), job("output", output="o.npy"))
    assert main([*WORDS, "--hash"]) == 0
    os.utime("x.npy", ns=(1, 1))
    assert again("--hash") == set()
    np.save("x.npy", np.arange(3, 6))
    os.utime("x.npy", ns=(1, 1))
    assert again("--hash") == {"file"}
    np.save("o.npy", np.array([1, 2]))
    assert again("--hash") == {"output"}
    assert np.load("o.npy").tolist() == [7, 5]
    assert sorted(os.listdir(folder)) == ["jobs.jsonl", "o.npy", "r.jsonl", "x.npy"]


def chunks(path: str, array: Any) -> None:
    zarr.create_array(
        path, shape=array.shape, chunks=(2,), dtype=array.dtype, compressors=None, overwrite=True
    )[...] = array


@pytest.mark.usefixtures("folder")
def test_a_folder_has_changed_when_an_old_file_in_it_has() -> None:
    chunks("x.zarr", np.arange(6))
    for number in range(3):
        os.utime(f"x.zarr/c/{number}", (number, number))
    write_jobs(job("a", data="x.zarr"))
    assert main([*WORDS]) == 0
    assert again() == set()
    np.arange(7, 9).tofile("x.zarr/c/1")
    os.utime("x.zarr/c/1", (2, 2))  # as old as the newest, and as large
    assert again() == {"a"}
    os.rename("x.zarr/c/1", "x.zarr/c/7")
    assert again() == {"a"}
    assert again() == set()


@pytest.mark.usefixtures("folder")
def test_the_contents_of_a_folder_are_compared_where_that_is_asked_for() -> None:
    chunks("x.zarr", np.arange(6))
    os.symlink("nowhere", "x.zarr/link")
    os.mkfifo("x.zarr/pipe")
    write_jobs(job("file", data="x.zarr"), job("output", output="o.zarr"))
    assert main([*WORDS, "--hash"]) == 0
    stamp = json.loads(reported()["file"])["stamp"]["inputs"]["x.zarr"]
    assert [type(each) for each in stamp] == [int, int, str]
    os.utime("x.zarr/c/1", (1, 1))
    assert again("--hash") == set()
    np.arange(7, 9).tofile("x.zarr/c/1")
    os.utime("x.zarr/c/1", (1, 1))
    assert again("--hash") == {"file"}
    chunk = Path("o.zarr/c/0")
    sound = chunk.read_bytes()
    chunk.write_bytes(bytes(len(sound)))
    assert again("--hash") == {"output"}
    assert chunk.read_bytes() == sound
    os.unlink("x.zarr/link")
    os.symlink("nowhen", "x.zarr/link")
    assert again("--hash") == {"file"}
    assert again("--hash") == set()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", [(), ("--hash",)], ids=" ".join)
def test_a_folder_has_changed_when_what_a_link_in_it_leads_to_has(words: tuple[str, ...]) -> None:
    chunks("x.zarr", np.arange(6))
    os.rename("x.zarr/c/1", "x.zarr/real")
    os.symlink("../real", "x.zarr/c/1")
    write_jobs(job("a", data="x.zarr"))
    assert main([*WORDS, *words]) == 0
    assert again(*words) == set()

    np.arange(7, 9).tofile("x.zarr/real")

    assert again(*words) == {"a"}
    os.rename("x.zarr/real", "real")
    os.unlink("x.zarr/c/1")
    os.symlink("../../real", "x.zarr/c/1")  # where nobody would see that it changes
    assert again(*words) == {"a"}
    assert statuses(reported()["a"]) == [("a", "error", "format")]


@pytest.mark.usefixtures("done")
def test_contents_that_were_not_noted_are_not_known_to_be_the_same() -> None:
    assert again("--hash") == {"file", "output"}
    assert again("--hash") == set()


def test_a_pipe_as_an_input_is_never_the_same_again(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    write_jobs(job("a", data="pipe"), job("b"))
    for more in ((), ("--resume",)):
        with start(*WORDS, "--hash", *more) as process:
            fd = opened("pipe")
            os.write(fd, b"[1,2,3]")
            os.close(fd)
            assert process.wait(timeout=PATIENCE) == 0


# Reports that cannot be gone on with, or need not


@pytest.mark.usefixtures("folder")
def test_a_report_that_is_not_there_yet_is_begun(run: Run) -> None:
    write_jobs(job("a"))
    assert run(*WORDS, "--resume") == (0, "", "")
    assert list(reported()) == ["a"]


def test_a_report_that_is_there_is_refused_and_stays(run: Run) -> None:
    write_jobs(job("a", output="a.npy"))
    REPORT.write_bytes(b"old")
    ran = run(*WORDS)
    assert (ran.status, ran.out) == (73, "")
    assert ran.err == (
        "error: the report `r.jsonl` cannot be written (it exists): expected a new name\n"
        "hint: `--resume` does what it does not have yet, `--resume-failed` also what failed; "
        "or remove it\n"
        "rule: output\n"
    )
    assert (REPORT.read_bytes(), sorted(os.listdir())) == (b"old", ["jobs.jsonl", "r.jsonl"])


def test_what_is_no_report_is_refused_with_its_line_and_stays(run: Run) -> None:
    write_jobs(job("a"))
    REPORT.write_bytes(b'{"id":"a","status":"ok"}\njunk')
    ran = run(*WORDS, "--resume")
    assert (ran.status, ran.out) == (65, "")
    assert ran.err == (
        "error: `r.jsonl`, line 2, is not a line of a report: "
        "expected a report of these jobs\n"
        "rule: job\n"
    )
    assert REPORT.read_bytes() == b'{"id":"a","status":"ok"}\njunk'


def test_a_report_that_cannot_be_put_in_order_is_still_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def arrange(_: Journal) -> None:
        raise OutputError("no room", rule="output")

    monkeypatch.setattr(Journal, "arrange", arrange)
    write_jobs(job("a"))
    ran = run(*(word for word in WORDS if word != "-q"), "--junit", "j.xml")
    assert (ran.status, Path("j.xml").exists()) == (0, True)
    assert "\nthe report is not in the order of the jobs: no room\n" in ran.err


@pytest.mark.parametrize("words", [[], ["--hash"]], ids=["times", "contents"])
def test_a_job_that_took_too_long_notes_its_files_all_the_same(words: list[str], run: Run) -> None:
    np.save("d.npy", np.array([7, 5]))
    os.mkfifo("pipe")
    write_jobs(job("a", data="d.npy", indices="pipe"))
    assert run(*WORDS, *words, "--timeout", "0.5").status == 1
    inputs = json.loads(REPORT.read_bytes())["stamp"]["inputs"]
    assert len(inputs["d.npy"]) == (3 if words else 2)
    os.unlink("pipe")
    np.save("pipe", np.array([0]))
    os.rename("pipe.npy", "pipe")
    assert run(*WORDS, *words, "--resume").status == 0


def test_lines_of_jobs_that_are_gone_are_left_out_and_it_is_said(run: Run) -> None:
    write_jobs(*map(job, "abc"))
    run(*WORDS)
    write_jobs(job("b"))
    ran = run(*(word for word in WORDS if word != "-q"), "--resume")
    assert "\n2 lines of other jobs left out of the report\n" in ran.err
    assert [json.loads(line)["id"] for line in REPORT.read_bytes().splitlines()] == ["b"]


def test_a_report_that_shares_ids_alone_is_of_other_jobs(run: Run) -> None:
    write_jobs(*map(job, "abc"))
    run(*WORDS)
    write_jobs(*(job(name, data=[8, 9]) for name in "ab"))
    content = REPORT.read_bytes()
    ran = run(*WORDS, "--resume")
    assert (ran.status, "is a report of other jobs" in ran.err) == (65, True)
    assert REPORT.read_bytes() == content


@pytest.mark.parametrize(
    "stamp",
    [
        *(None, 1, {}, {"job": 1}, {"job": "JOB"}, {"job": "JOB", "inputs": 1}),
        {"job": "JOB", "inputs": {"\0": None, "\ud800": None, "x": 1}, "output": None},
        {"job": "JOB", "inputs": {}, "output": 1},
    ],
)
def test_a_line_whose_stamp_was_meddled_with_counts_for_nothing(stamp: Any, run: Run) -> None:
    write_jobs(job("a", output="a.npy"))
    run(*WORDS)
    (line,) = lines(REPORT.read_bytes())
    known = line["stamp"]["job"]
    line["stamp"] = json.loads(json.dumps(stamp).replace("JOB", known))
    REPORT.write_text(json.dumps(line) + "\n", "ascii")
    assert run(*WORDS, "--resume") == (0, "", "")
    (line,) = lines(REPORT.read_bytes())
    assert (line["stamp"]["job"], line["stamp"]["output"]) == (known, [144])


def test_a_report_in_a_folder_that_is_not_there_is_refused(run: Run) -> None:
    write_jobs(job("a", output="a.npy"))
    for more in ((), ("--resume",)):
        ran = run("batch", "jobs.jsonl", "--report", "none/r.jsonl", *more)
        assert ran == (
            73,
            "",
            "error: the report `none/r.jsonl` cannot be written (there is no such folder): "
            "expected one that is there\nrule: output\n",
        )
    assert os.listdir() == ["jobs.jsonl"]


@pytest.mark.parametrize("words", [["--resume"], ["--resume-failed"], ["--hash"]])
@pytest.mark.parametrize("report", [[], ["--report", "-"], ["--report", "/dev/stdout"]])
def test_there_is_nothing_to_resume_without_a_report_in_a_file(
    words: list[str], report: list[str], run: Run
) -> None:
    ran = run("batch", write_jobs(job("a")), *words, *report)
    assert (ran.status, ran.out) == (2, "")


def test_a_report_through_a_link_is_gone_on_with_behind_it(run: Run) -> None:
    write_jobs(*map(job, "ab"))
    os.mkdir("other")
    Path("other/r").write_bytes(b"")
    os.symlink("other/r", "r.jsonl")
    assert run(*WORDS, "--resume", "--fail-fast").status == 0
    assert os.readlink("r.jsonl") == "other/r"
    assert list(reported()) == ["a", "b"]


def test_a_report_on_a_disk_that_fills_up_is_74_and_gone_on_with_where_there_is_room(
    folder: Path,
) -> None:
    write_jobs(*(job(str(number), data="zeros:9", indices="zeros:30000") for number in range(20)))
    line = "$G batch ../jobs.jsonl -q --report r; echo $?; mount -o remount,size=9m .; "
    ran = in_small_disk(folder, "true", line + "$G batch ../jobs.jsonl -q --report r --resume")
    assert ran.stdout == b"74\n0\nold\nr\nx\n"
    assert ran.stderr.decode() == (
        "error: the report `r`: writing stopped (no space left on device), "
        "the output is not complete\n"
        "hint: `--resume` does the rest when there is room for it\n"
        "rule: output\n"
    )


def test_what_failed_on_a_full_disk_names_the_option_that_does_it_again(folder: Path) -> None:
    write_jobs(
        job("a", data="zeros:9", indices="zeros:300000", output="disk/a.npy"),
        job("b", data="none.npy"),
    )
    batch = "$G batch ../jobs.jsonl --report ../r"

    ran = in_small_disk(folder, "true", f"{batch}; mount -o remount,size=9m .; {batch} --resume")

    first, again = ran.stderr.decode().split("2 jobs: ")[1:]
    for text in (first, again):
        assert "1 job failed to read or write: `--resume-failed` does what failed again" in text


def test_failures_of_names_in_the_jobs_name_no_option_to_do_them_again(run: Run) -> None:
    os.mkdir("folder.npy")
    os.symlink("loop.npy", "loop.npy")
    os.symlink("folder.npy", "link.npy")
    for name in ("socket.npy", "out.npy"):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(name)
    wrong = ["none.npy", "/dev/zero", "folder.npy", "loop.npy", "link.npy", "socket.npy"]
    mistaken = [*(job(name, data=name) for name in wrong), job("writes", output="out.npy")]

    ran = run("batch", write_jobs(*mistaken), "--report", "r.jsonl")

    assert {how for _, how, _ in statuses(REPORT.read_bytes())} == {"error"}
    assert "--resume-failed" not in ran.err


# One run at a time


@LINUX
def test_two_runs_on_one_report_exclude_each_other_until_the_first_is_killed(run: Run) -> None:
    os.mkfifo("pipe")
    write_jobs(job("a"), job("b", data="pipe"))
    with start(*WORDS) as process:
        fd = opened("pipe")
        workers = children(process)
        wait_until(lambda: REPORT.read_bytes().endswith(b"\n"))
        with start(*WORDS, "--resume") as other:
            _, err = other.communicate(timeout=PATIENCE)
        assert (other.returncode, b"(another run is writing it)" in err) == (73, True)
        process.kill()
        process.wait(timeout=PATIENCE)
        write_jobs(job("a"))
        first = reported()["a"]
        assert run(*WORDS, "--resume") == (0, "", "")  # at once
        assert reported() == {"a": first}
        os.close(fd)
        wait_for_end(workers)


# Killed, again and again


KILLS: Final = 10
EACH: Final = 40
"""Jobs of which the first waits for a pipe, so that no run comes to its end before it is killed."""

AHEAD: Final = 20
"""Jobs, more than a process is given beforehand, that may be behind the one that waits."""


@LINUX
def test_killed_ten_times_a_batch_is_done_once_and_right(folder: Path) -> None:
    draw, number = random.Random(0), KILLS * EACH  # noqa: S311
    listed = [
        job(f"j{at}", data=list(range(at, at + 9)), indices=[8, at % 9], output=f"out/{at}.npy")
        for at in range(number)
    ]
    contents: dict[str, str] = {}
    for turn in range(KILLS):
        pipe, waiting = f"i{turn}.json", listed[turn * EACH]
        contents[pipe] = json.dumps(waiting["indices"])
        waiting["indices"] = pipe
        os.mkfifo(pipe)
    write_jobs(*listed)
    words = (*WORDS[:3], "-j", "2", "--report", "r.jsonl", "--resume")
    known: dict[str, tuple[bytes, int]] = {}

    for turn, (pipe, content) in enumerate(contents.items(), 1):
        with start(*words) as process:
            fd = opened(pipe)
            wanted = draw.randrange(len(known) + 1, turn * EACH - AHEAD)
            wait_for_lines(wanted)
            workers = children(process)
            process.kill()
        wait_for_end(workers)
        os.close(fd)
        os.unlink(pipe)
        Path(pipe).write_text(content, "ascii")

        assert process.returncode == -signal.SIGKILL
        found = reported()
        assert_kept(known, found)
        known |= {name: (line, when(name)) for name, line in found.items() if name not in known}

    assert main(words) == 0
    found = reported()
    assert list(found) == [each["id"] for each in listed]
    assert_kept(known, found)
    for at in range(number):
        assert np.load(f"out/{at}.npy").tolist() == [at + 8, at + at % 9]
    assert len(os.listdir(folder / "out")) == number


def assert_kept(known: dict[str, tuple[bytes, int]], found: dict[str, bytes]) -> None:
    """Assert that no job was done again: its line and its output are as they were."""
    assert {name: (found[name], when(name)) for name in known} == known


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_lines(number: int) -> None:
    wait_until(lambda: lines_in(REPORT) >= number)


def wait_for_end(workers: list[int]) -> None:
    wait_until(lambda: all(map(is_gone, workers)))


def when(name: str) -> int:
    """Tell when the output of a job was written."""
    return os.stat(f"out/{name[1:]}.npy").st_mtime_ns


def test_a_job_whose_id_is_no_text_is_not_done_again(run: Run) -> None:
    write_jobs(job("\ud800"), job("?"))
    assert run(*WORDS).status == 0
    report = REPORT.read_bytes()

    assert run(*WORDS, "--resume").status == 0

    assert REPORT.read_bytes() == report


@pytest.mark.usefixtures("folder")
def test_only_so_many_digests_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_MAX_CACHED_DIGESTS", 2)
    monkeypatch.setattr(journal, "_digests", {})
    for name in "abc":
        Path(name).write_text(name, "ascii")

        journal._digest_at(name)

    assert len(journal._digests) == 1


def _refused_inputs() -> list[str]:
    """Make inputs that are there and cannot be opened."""
    os.mkdir("folder")
    os.mkdir("full")
    Path("full/note.txt").write_text("no array", "ascii")
    return ["folder", "full", "/dev/zero", "/dev/null"]


@pytest.mark.parametrize("more", [(), ("--hash",)], ids=["times", "hash"])
def test_a_job_of_an_input_that_cannot_be_opened_is_not_done_for_ever(
    more: tuple[str, ...], run: Run
) -> None:
    words = ("batch", write_jobs(*(job(name, data=name) for name in _refused_inputs())))
    report = ("--report", "r.jsonl", *more)
    assert run(*words, *report).status == 1
    before = REPORT.read_bytes()

    again = run(*words, *report, "--resume")

    assert "4 done before" in again.err
    assert REPORT.read_bytes() == before


@pytest.mark.parametrize("more", [(), ("--hash",)], ids=["times", "hash"])
def test_a_job_of_a_folder_is_done_when_it_has_become_an_array(
    more: tuple[str, ...], run: Run
) -> None:
    os.mkdir("a.zarr")
    words = ("batch", write_jobs(job("a", data="a.zarr")), "--report", "r.jsonl", "-q", *more)
    assert run(*words).status == 1
    os.rmdir("a.zarr")
    assert run("convert", "arange:9", "a.zarr", "-q").status == 0

    again = run(*words, "--resume")

    assert again.status == 0
