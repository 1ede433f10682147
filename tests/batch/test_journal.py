"""The file of a report, line by line."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from gathercli.batch import journal
from gathercli.batch.journal import Journal
from gathercli.batch.outcome import Outcome
from gathercli.batch.plan import Plan
from gathercli.errors import InputError, OutputError, TransferError
from gathercli.io.jobfile import JobEntry
from gathercli.io.write import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPORT: Final = Path("r.jsonl")

pytestmark = pytest.mark.usefixtures("folder")


def plan(names: str = "abc") -> Plan:
    """Plan a job for each letter."""
    texts = [f'{{"id":"{name}","op":"gather","data":[1],"indices":[0]}}' for name in names]
    return Plan(JobEntry(f"line {n}", "here", text.encode()) for n, text in enumerate(texts, 1))


with plan() as _found:
    TEXTS: Final = dict(zip(("a", "b", "c"), _found.texts, strict=True))


class Begin(Protocol):
    def __call__(self, path: str = "r.jsonl", *, resumes: bool = False) -> Journal:
        """Open a report of three jobs."""


@pytest.fixture
def begin() -> Iterator[Begin]:
    with plan() as jobs:

        def opened(path: str = "r.jsonl", *, resumes: bool = False) -> Journal:
            return Journal(path, jobs, resumes=resumes)

        yield opened


def line(name: str, status: str = "ok", **more: object) -> bytes:
    """Write a line of the report; what is more tells lines of a job apart."""
    stamp = {"job": TEXTS[name].to_bytes(8).hex()} if name in TEXTS else None
    return (
        json.dumps({"id": name, "status": status, "stamp": stamp, **more})
        .replace('"id": ', '"id":', 1)
        .encode()
        + b"\n"
    )


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the reports that are written anew."""
    paths: list[str] = []

    def noted(path: str) -> Output:
        paths.append(path)
        return Output(path)

    monkeypatch.setattr(journal, "Output", noted)
    return paths


@pytest.fixture(autouse=True)
def unchanged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Let no file of a job have changed; list what was asked."""
    asked: list[tuple[Any, ...]] = []

    def is_done(*given: object, digests: bool) -> bool:
        asked.append((*given, digests))
        return True

    monkeypatch.setattr(journal, "is_done", is_done)
    return asked


def resumed(found: Journal, *, failed: bool = False) -> list[tuple[int, str]]:
    """Go on with a report; return the number and the status of what is kept."""
    kept: list[tuple[int, str]] = []
    found.resume(
        failed=failed,
        digests=True,
        keep=lambda number, each: kept.append((number, each["status"])),
        progress=lambda: None,
    )
    return kept


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("a1 b1 c1", ""),
        ("a1 b1", ""),
        ("b1 a1 c1", "a1 b1 c1"),
        ("a1 c1 b1", "a1 b1 c1"),
        ("a1 a2 b1", "a2 b1"),
        ("a1 c1 c2", "a1 c2"),
        ("a1 z1 b1", "a1 b1"),
        ("a1 b1 z1", "a1 b1"),
    ],
)
def test_a_report_is_put_in_order_if_it_is_not(
    begin: Begin, before: str, after: str, rewritten: list[str]
) -> None:
    REPORT.write_bytes(b"".join(line(name, n=int(n)) for name, n in map(tuple, before.split())))

    with begin(resumes=True) as found:
        resumed(found)
        found.arrange()

    expected = (after or before).split()
    assert REPORT.read_bytes() == b"".join(line(name, n=int(n)) for name, n in map(tuple, expected))
    assert rewritten == (["r.jsonl"] if after else [])
    assert found.foreign == before.count("z")


@pytest.mark.parametrize("numbers", ["0 1 2", "01 2", "0 2 1", "12 0", "2"])
def test_lines_are_appended_as_they_come_and_put_in_order_at_the_end(
    begin: Begin, numbers: str, rewritten: list[str]
) -> None:
    with begin() as found:
        for part in numbers.split():
            found.write([Outcome(int(n), "ok", line("abc"[int(n)]), {}) for n in list(part)])
        come = REPORT.read_bytes()
        todo = list(found.todo())
        found.arrange()

    given = [int(n) for n in list(numbers) if n != " "]
    assert come == b"".join(line("abc"[n]) for n in given)
    assert todo == [n for n in range(3) if n not in given]
    assert REPORT.read_bytes() == b"".join(line("abc"[n]) for n in sorted(given))
    assert bool(rewritten) == (given != list(range(len(given))))


def test_of_a_job_that_is_done_again_the_new_line_stays(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "is_done", lambda *_, digests: not digests)
    REPORT.write_bytes(line("a", n=1))

    with begin(resumes=True) as found:
        resumed(found)
        found.write([Outcome(0, "ok", line("a", n=2), {})])
        found.arrange()

    assert REPORT.read_bytes() == line("a", n=2)


def test_a_write_that_fails_names_the_report(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_fd: int, _part: bytes, *, place: str) -> None:
        raise TransferError("no space left on device", rule="output", places=[place])

    monkeypatch.setattr(journal, "write_all", fail)

    with begin() as found, pytest.raises(TransferError) as info:
        found.write([Outcome(0, "ok", line("a"), {})])

    assert info.value.places == ["the report `r.jsonl`"]
    assert info.value.hint == "`--resume` does the rest when there is room for it"
    assert list(found.todo()) == [0, 1, 2]


def test_what_an_interrupt_left_of_a_write_is_cut_off(begin: Begin) -> None:
    with begin() as found:
        found.write([Outcome(0, "ok", line("a"), {})])
        os.write(found._fd, b'{"id":"b","sta')
        found.cut()
        found.write([Outcome(1, "ok", line("b"), {})])

        assert [text for _, text in found.lines()] == [line("a"), line("b")]
    assert REPORT.read_bytes() == line("a") + line("b")


@pytest.mark.parametrize("cut", [b"{", b'{"id"', b'{"id":', b'{"id":"c","status":"ok"}'])
def test_a_line_that_was_cut_is_ignored_and_overwritten(begin: Begin, cut: bytes) -> None:
    REPORT.write_bytes(line("a") + cut)

    with begin(resumes=True) as found:
        assert resumed(found) == [(0, "ok")]
        found.write([Outcome(1, "ok", line("b"), {})])

    assert REPORT.read_bytes() == line("a") + line("b")


@pytest.mark.parametrize("failed", [False, True])
def test_what_failed_is_kept_unless_it_is_to_be_repeated(begin: Begin, failed: bool) -> None:
    REPORT.write_bytes(line("a", "mismatch") + line("b") + line("c", "error"))

    with begin(resumes=True) as found:
        kept = resumed(found, failed=failed)

        assert list(found.todo()) == ([0, 2] if failed else [])
    assert kept == ([(1, "ok")] if failed else [(0, "mismatch"), (1, "ok"), (2, "error")])


def test_a_job_is_asked_for_by_what_its_line_notes(
    begin: Begin, unchanged: list[tuple[Any, ...]]
) -> None:
    REPORT.write_bytes(line("b", output="b.npy"))

    with begin(resumes=True) as found:
        resumed(found)

    text = TEXTS["b"].to_bytes(8)
    assert unchanged == [({"job": text.hex()}, text, "here", "b.npy", True)]


def test_a_job_whose_files_have_changed_is_to_do(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "is_done", lambda *_, digests: not digests)
    REPORT.write_bytes(line("a") + line("b"))

    with begin(resumes=True) as found:
        assert resumed(found) == []
        assert list(found.todo()) == [0, 1, 2]


def test_progress_is_told_of_each_line_when_it_is_read_and_when_it_is_compared(
    begin: Begin,
) -> None:
    REPORT.write_bytes(line("a") + line("z") + line("c"))
    told: list[int] = []

    with begin(resumes=True) as found:
        found.resume(
            failed=False,
            digests=False,
            keep=lambda number, _: told.append(number),
            progress=lambda: told.append(-1),
        )

    assert told == [-1, -1, -1, -1, 0, -1, 2]


@pytest.mark.parametrize(
    ("text", "is_own"),
    [
        (line("z"), False),
        (line("a", stamp=None) + line("z"), False),
        (line("a", stamp={"job": "00"}) + line("z"), False),
        (line("a") + line("z"), True),
        (line("a", stamp=None), True),
    ],
)
def test_a_report_with_lines_of_other_jobs_alone_is_refused(
    begin: Begin, text: bytes, is_own: bool
) -> None:
    REPORT.write_bytes(text)

    with begin(resumes=True) as found:
        if is_own:
            resumed(found)
            return
        with pytest.raises(InputError, match=r"`r\.jsonl` is a report of other jobs") as info:
            resumed(found)

    assert (info.value.rule, info.value.value) == ("job", "r.jsonl")


@pytest.mark.parametrize(
    "text",
    [
        b'{"id":"a","status":"ok"}\n',
        b'{"id":"a","status":"mismatch","output":null,"seconds":1}\n',
        b'{"id":"a","status":"error","output":"x","seconds":0.5}\n',
    ],
)
def test_a_line_has_an_id_and_a_status_and_perhaps_an_output_and_seconds(
    begin: Begin, text: bytes
) -> None:
    REPORT.write_bytes(text)

    with begin(resumes=True) as found:
        assert len(resumed(found)) == 1


@pytest.mark.parametrize(
    "text",
    [
        b"\x93NUMPY",  # without an end of line it is not a line that was cut either
        b"\x00" * 100,
        b"junk",
        b'{"status":"ok","id":"b"}',
        b"\n",
        b"[1]\n",
        b"{}\n",
        b'"id"\n',
        b'{"id":"\xff","status":"ok"}\n',
        b'{"id":null,"status":"ok"}\n',
        b'{"id":1,"status":"ok"}\n',
        b'{"id":"a","status":null}\n',
        b'{"id":"a","status":"fine"}\n',
        b'{"id":"a","status":["ok"]}\n',
        b'{"id":"a","status":"ok","output":1}\n',
        b'{"id":"a","status":"ok","output":[]}\n',
        b'{"id":"a","status":"ok","seconds":null}\n',
        b'{"id":"a","status":"ok","seconds":"x"}\n',
        b'{"id":"a","status":"ok","x":' + b"[" * 501 + b"]" * 501 + b"}\n",
        b"[" * 100_000 + b"\n",
    ],
)
@pytest.mark.parametrize("before", [b"", line("a")], ids=["first", "second"])
def test_what_is_no_line_is_refused_by_its_number(begin: Begin, before: bytes, text: bytes) -> None:
    REPORT.write_bytes(before + text)

    with (
        begin(resumes=True) as found,
        pytest.raises(InputError, match=r"`r\.jsonl`, line \d, is not a line") as info,
    ):
        resumed(found)

    assert (info.value.rule, info.value.value) == ("job", "r.jsonl")
    assert f"line {1 + len(before.splitlines())}," in info.value.message
    assert REPORT.read_bytes() == before + text


def test_ids_are_known_whatever_order_their_digests_have() -> None:
    names = [chr(code) for code in range(97, 123)]
    with plan("".join(names)) as jobs:
        find = journal._finder(jobs.ids)

    assert [find(name) for name in names] == list(range(26))
    assert [find(name) for name in ("A", "", "\ud800", "zz")] == [None] * 4


# Opening


def refusal(call: Callable[[], object]) -> tuple[str, object, str | None]:
    with pytest.raises(OutputError) as info:
        call()
    assert info.value.rule == "output"
    message = re.fullmatch(r"the report `.*` cannot be written (.*)", info.value.message)
    assert message
    return message[1], info.value.value, info.value.hint


def test_a_report_that_exists_is_begun_only_to_be_resumed(begin: Begin) -> None:
    REPORT.write_bytes(b"")

    for call in (begin, lambda: journal.check("r.jsonl", resumes=False)):
        message, value, hint = refusal(call)
        assert (message, value) == ("(it exists): expected a new name", "r.jsonl")
        assert hint is not None
        assert hint.startswith("`--resume` does ")
    journal.check("r.jsonl", resumes=True)
    journal.check("/dev/stdout", resumes=False)
    journal.check("new.jsonl", resumes=False)
    begin(resumes=True).__exit__()


def test_a_new_report_is_of_its_owner_to_write_and_inherited_by_no_program(begin: Begin) -> None:
    before = os.umask(0)
    try:
        with begin() as found:
            assert REPORT.stat().st_mode & 0o777 == 0o666
            assert not os.get_inheritable(found._fd)
            assert fcntl.fcntl(found._fd, fcntl.F_GETFL) & os.O_APPEND
    finally:
        os.umask(before)


def test_a_report_that_another_run_writes_is_refused_and_closed(begin: Begin) -> None:
    with begin():
        held = os.listdir("/dev/fd")

        ran = refusal(lambda: begin(resumes=True))

        assert ran == ("(another run is writing it): expected to be alone", "r.jsonl", None)
        assert len(os.listdir("/dev/fd")) == len(held)
    begin(resumes=True).__exit__()


def test_a_report_at_descriptor_zero_that_cannot_be_locked_is_closed_too(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, None)

    saved = os.dup(0)
    monkeypatch.setattr(fcntl, "flock", fail)
    os.close(0)
    try:
        ran = refusal(begin)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(0)
    finally:
        os.dup2(saved, 0)
        os.close(saved)

    assert ran == ("(): expected a file to write", "r.jsonl", None)


def test_a_report_that_cannot_be_locked_is_refused_with_the_reason_and_closed(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    held = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(fcntl, "flock", fail)

    ran = refusal(begin)

    assert ran == ("(no locks available): expected a file to write", "r.jsonl", None)
    assert len(os.listdir("/dev/fd")) == held


def test_a_folder_is_no_report(begin: Begin) -> None:
    os.mkdir("r.jsonl")

    ran = refusal(lambda: begin(resumes=True))

    assert ran == ("(is a directory): expected a file to write", "r.jsonl", None)


@pytest.mark.parametrize("then", ["replaced", "removed"])
def test_a_report_that_is_replaced_before_it_is_locked_is_opened_again(
    begin: Begin, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, times = fcntl.flock, list[int]()

    def lock_late(fd: int, how: int) -> None:
        if not times:
            os.rename("r.jsonl", "old")
            if then == "replaced":
                REPORT.write_bytes(b"new")
        times.append(fd)
        lock(fd, how)

    REPORT.write_bytes(b"old")
    monkeypatch.setattr(fcntl, "flock", lock_late)
    held = len(os.listdir("/dev/fd"))

    with begin(resumes=True) as found:
        assert os.path.samestat(os.fstat(found._fd), os.stat("r.jsonl"))

    assert len(times) == 2
    assert len(os.listdir("/dev/fd")) == held


def test_a_report_at_descriptor_zero_that_is_removed_is_opened_again(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, times = fcntl.flock, list[int]()

    def lock_late(fd: int, how: int) -> None:
        if not times:
            os.unlink("r.jsonl")
        times.append(fd)
        lock(fd, how)

    saved = os.dup(0)
    monkeypatch.setattr(fcntl, "flock", lock_late)
    os.close(0)
    try:
        begin(resumes=True).__exit__()
    finally:
        os.dup2(saved, 0)
        os.close(saved)

    assert times == [0, 0]


def test_a_report_leaves_no_descriptor_open(begin: Begin) -> None:
    held = len(os.listdir("/dev/fd"))

    with begin() as found:
        resumed(found)
        found.write([Outcome(1, "ok", line("b"), {}), Outcome(0, "ok", line("a"), {})])
        found.arrange()

    assert len(os.listdir("/dev/fd")) == held
