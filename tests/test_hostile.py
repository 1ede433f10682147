from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from tests.hostile import json as json_cases
from tests.hostile import terminal
from tests.hostile.case import split
from tests.hostile.judge import (
    COLOUR,
    assert_as_expected,
    assert_as_expected_in_json,
    assert_fit,
    assert_one_refusal,
    snapshot,
)
from tests.hostile.make import ONE, PACKED, bomb, changed, entry, npy
from tests.hostile.table import ALL, CASES, FILES, QUICK, SLOW
from tests.processes import AGAIN, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.conftest import Run
    from tests.hostile.case import Case

MANY: Final = 200
LINUX: Final = sys.platform == "linux"
DATA_REFUSED: Final = 65
REPEATED: Final = pytest.mark.no_cover
"""Thousands of runs take twice as long where lines are counted, and others have counted them."""
BYTES: Final = (0x00, 0x0A, 0x1B, 0x20, 0x27, 0x28, 0x2D, 0x30, 0x39, 0x5C, 0x7F, 0x80, 0xFF)
"""What a byte of a header is replaced by."""


def with_json_errors(argv: tuple[str, ...]) -> tuple[str, ...]:
    if argv[0].startswith("-"):
        return (*argv, "--json-errors")
    return (argv[0], "--json-errors", *argv[1:])


def test_every_case_has_an_id_of_its_own() -> None:
    assert len(CASES) == len(ALL)
    assert len(CASES) > 3 * MANY


@REPEATED
@pytest.mark.parametrize("name", QUICK)
def test_a_hostile_case_is_the_right_answer_or_one_clear_error(name: str, run: Run) -> None:
    case = CASES[name]
    stdin = case.make()
    before = snapshot()
    ran = run(*case.argv, stdin=stdin)
    assert snapshot() == before
    assert_as_expected(case, ran.status, ran.out, ran.err)
    said = [line[7:1900] for line in ran.err.splitlines() if line.startswith("error: ")]
    ran = run(*with_json_errors(case.argv), stdin=stdin)
    assert snapshot() == before
    assert_as_expected_in_json(case, ran.status, ran.out, ran.err)
    varies = case.rule in (None, "limit") or "disk has" in said[0]  # what is free is no constant
    if not varies and "\\" not in said[0]:
        assert json.loads(ran.err)["error"].startswith(said[0][:1000])


@REPEATED
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_as_hostile_on_standard_input(name: str, run: Run, folder: Path) -> None:
    case = FILES[name]
    case.make()
    (path,) = folder.iterdir()
    raw = path.read_bytes()
    path.unlink()

    ran = run("gather", "-", "0", stdin=raw)

    assert (ran.status, ran.out) == (case.status, "")
    assert_one_refusal(ran.err, case.status, case.rule)
    assert ran.err.startswith("error: `data`: standard input: ")
    assert snapshot() == {}


@REPEATED
@pytest.mark.parametrize("case", terminal.CASES, ids=lambda case: case.id)
def test_a_terminal_gets_no_byte_that_is_not_ours(case: Case, run: Run) -> None:
    stdin = case.make()
    for words in ((), ("--color", "always"), ("--full",)):
        if case.argv[0] not in ("gather", "gather-elements") and words == ("--full",):
            continue
        argv = (case.argv[0], *words, *case.argv[1:])
        ran = run(*argv, stdin=stdin, terminal=(1, 2))
        assert_fit(COLOUR.sub("", ran.out))
        assert_fit(COLOUR.sub("", ran.err))


# Every byte of small files


def outcome(run: Run, raw: bytes, name: str) -> Any:
    """Run on a file; return the tensor that came out, or None where it was refused."""
    with suppress(FileNotFoundError):
        os.unlink(name)  # a new file is made several times as fast as one is emptied
    with open(name, "wb") as file:
        file.write(raw)
    ran = run("gather", name, "[]", "-f", "npy", "-q")
    if ran.status != 0:
        assert (ran.status, ran.out) == (DATA_REFUSED, "")
        assert_one_refusal(ran.err, ran.status, ran.err.split("rule: ")[-1].strip())
        return None
    assert ran.err == ""
    return np.load(io.BytesIO(ran.raw))


@REPEATED
def test_a_npy_file_cut_anywhere_is_refused(run: Run) -> None:
    whole = npy()
    for length in range(len(whole)):
        assert outcome(run, whole[:length], "x.npy") is None
    assert outcome(run, whole, "x.npy").shape == (0,)


@REPEATED
@pytest.mark.parametrize("byte", BYTES)
def test_a_npy_file_with_any_byte_of_its_header_changed_is_what_numpy_says_or_refused(
    byte: int, run: Run
) -> None:
    whole = npy()
    for at in range(len(whole) - 24):
        raw = changed(whole, at, bytes([byte]))
        found = outcome(run, raw, "x.npy")
        if found is not None:
            expected = np.load(io.BytesIO(raw), allow_pickle=False)
            assert found.dtype == expected.dtype.newbyteorder("=")
            assert found.shape[1:] == expected.shape[1:]


@REPEATED
@pytest.mark.parametrize("whole", [ONE, PACKED], ids=["stored", "packed"])
def test_an_archive_cut_anywhere_is_refused(whole: bytes, run: Run) -> None:
    for length in range(len(whole)):
        assert outcome(run, whole[:length], "x.npz") is None
    assert outcome(run, whole, "x.npz").shape == (0,)


@REPEATED
@pytest.mark.parametrize("byte", [0x00, 0x08, 0xFF])
@pytest.mark.parametrize("whole", [ONE, PACKED], ids=["stored", "packed"])
def test_an_archive_with_any_byte_changed_is_what_it_was_or_refused(
    whole: bytes, byte: int, run: Run
) -> None:
    for at in range(len(whole)):
        found = outcome(run, changed(whole, at, bytes([byte])), "x.npz")
        assert found is None or (found.dtype, found.shape) == (np.int64, (0,))


REQUEST: Final = json_cases.request(
    json_cases.typed(name="a"), json_cases.typed([1], "FP32", [0.5], name="b"), id="x"
)


@REPEATED
def test_a_request_cut_anywhere_is_refused(run: Run, folder: Path) -> None:
    path = folder / "x.json"
    for length in range(len(REQUEST)):
        path.write_bytes(REQUEST[:length])
        ran = run("gather", "x.json#a", "0")
        assert (ran.status, ran.out) == (DATA_REFUSED, "")
        assert_one_refusal(ran.err, DATA_REFUSED, "json" if length else "format")


@REPEATED
@pytest.mark.parametrize("byte", [0x00, 0x0A, 0x22, 0x30, 0x5D, 0x80])
def test_a_request_with_any_byte_changed_is_one_in_json_or_refused(
    byte: int, run: Run, folder: Path
) -> None:
    path = folder / "x.json"
    for at in range(len(REQUEST)):
        raw = changed(REQUEST, at, bytes([byte]))
        path.write_bytes(raw)
        ran = run("gather", "x.json#a", "0")
        if ran.status == 0:
            inputs = json.loads(raw)["inputs"]
            (tensor,) = [each for each in inputs if each.get("name") == "a"]
            assert json.loads(ran.out) == tensor["data"][0]
        else:
            assert (ran.status, ran.out) == (DATA_REFUSED, "")
            assert_one_refusal(ran.err, DATA_REFUSED, ran.err.split("rule: ")[-1].strip())


def test_a_byte_that_is_no_utf_8_is_named_by_its_place(run: Run, folder: Path) -> None:
    path = folder / "x.json"
    for at in range(60):
        path.write_bytes(b'["' + b"a" * at + b'\xfe"]')
        assert f"byte {at + 2} is 0xfe" in run("gather", "x.json", "0").err


@REPEATED
@pytest.mark.parametrize(
    "whole",
    ["2x3xi32=[[0 0 4][4 0 0]]", 'xstr="a\\u0041"', "rand:3x2xf32,seed=7", '[[1,2.5e1],["NaN"]]'],
)
def test_a_literal_cut_anywhere_is_a_tensor_or_one_error(whole: str, run: Run) -> None:
    for length in range(len(whole)):
        ran = run("gather", whole[:length], "[]")
        assert ran.status in (0, DATA_REFUSED, 66)
        if ran.status:
            assert_one_refusal(ran.err, ran.status, ran.err.split("rule: ")[-1].strip())


# Processes of bounded memory and time

BOUNDED: Final = 'ulimit -d 350000; ulimit -t 20; exec "$@"' if LINUX else 'exec "$@"'


def bounded(
    argv: Iterable[str], *, stdin: bytes = b"", **streams: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a process with 300 MB of memory and 20 seconds of a processor."""
    streams = streams or {"stdout": subprocess.PIPE}
    return subprocess.run(
        ["bash", "-c", BOUNDED, "bash", sys.executable, "-m", "gathercli", *argv],
        input=stdin,
        stderr=subprocess.PIPE,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        **streams,
    )


HEAVY: Final = (
    "npy-of-3-GiB-whose-header-is-all-of-it",
    "npy-of-3-GiB-of-zeros-is-mapped-and-not-held",
    "npy-of-4.6e18-strings-of-no-width",
    "npy-whose-header-is-9000-opening-parentheses",
    "npy-of-objects-that-spring-a-trap",
    "npz-of-300-MB-in-300-KB",
    "npz-of-300-MB-that-says-it-has-24",
    "npz-of-300-MB-that-says-2-GB-hold-them",
    "npz-packed-by-bzip2-16000-fold",
    "npz-whose-members-all-are-one",
    "json-of-5-MB-of-[",
    "json-of-an-integer-of-a-million-digits",
    "literal-of-100000-open-brackets",
    "literal-of-a-generator-of-2^640",
    "pickle-of-protocol-4-with-a-trap",
    "128-bytes-of-file-ask-for-64-GiB-of-zeros",
    "128-bytes-of-file-ask-for-2^60-pairs-of-brackets",
    "name-of-a-device-that-never-ends",
)
OUTCOMES: Final = (
    "uint64-2^64-1-is-an-index-past-the-end-and-not--1",
    "nasty-characters-in-the-expected-value",
    "usage-of-standard-input-twice",
    "json-ragged-at-its-end",
    "name-of-a-socket",
    "output-to-a-folder",
    "output-to-a-full-device-as-npy",
)
"""A case of every exit status that a command line alone can bring about."""


@pytest.mark.parametrize("name", sorted({*SLOW, *HEAVY, *OUTCOMES}))
@pytest.mark.usefixtures("folder")
def test_a_process_of_little_memory_and_time_says_the_same(name: str) -> None:
    case = CASES[name]
    stdin = case.make()
    before = snapshot()
    ran = bounded(case.argv, stdin=stdin)
    assert snapshot() == before
    err = ran.stderr.decode()
    assert ran.returncode == case.status, err
    assert ran.stdout.decode() == case.out
    if case.rule is not None:
        assert_one_refusal(err, case.status, case.rule)


def test_every_status_has_a_process() -> None:
    assert {CASES[name].status for name in OUTCOMES} == {0, 1, 2, 65, 66, 73, 74}


UNFORESEEN: Final = "there is not enough memory"
"""What is said once a run has already taken all that it may have."""
WIDE: Final = json.dumps(["x" * 10**6, *[""] * 1000]).encode()
BOMBS: Final[dict[str, tuple[str, Callable[[], bytes], bytes]]] = {
    "a string of a megabyte beside a thousand empty ones": ("x.json", lambda: WIDE, b'""\n'),
    "an archive of 250 MB in 250 KB": ("x.npz", lambda: bomb(250), b"0\n"),
    "an archive of 2 GB in 2 MB": ("x.npz", lambda: bomb(2000), b""),
    "an archive of 2 GB that says 2 GB hold it": (
        "x.npz",
        lambda: entry(bomb(2000), "packed", 2**31),
        b"",
    ),
    "an archive of 100 MB in 100 KB": ("x.npz", lambda: bomb(100), b"0\n"),
    "half a million lists of nothing": (
        "x.json",
        lambda: b"[" + b"[]," * 500_000 + b"[]]",
        b"[]\n",
    ),
    "a million numbers": ("x.json", lambda: b"[" + b"0," * 10**6 + b"0]", b"0\n"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_swells_is_answered_or_refused_within_bounds(
    name: str, folder: Path
) -> None:
    path, make, answer = BOMBS[name]
    (folder / path).write_bytes(make())
    ran = bounded(["gather", path, "1", "-q"])
    if ran.returncode == 0:
        assert (ran.stdout, ran.stderr) == (answer, b"")
    else:
        assert (ran.returncode, ran.stdout) == (DATA_REFUSED, b"")
        err = ran.stderr.decode()
        assert_one_refusal(err, DATA_REFUSED, "npz" if err.endswith("rule: npz\n") else "limit")
        assert UNFORESEEN not in err


def test_a_reader_that_went_away_is_141_and_silence(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = bounded(["gather", "arange:99999", "arange:99999"], stdout=writer)
    os.close(writer)

    assert (ran.returncode, ran.stderr) == (141, b"")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
@pytest.mark.parametrize("words", ["", "-o x.npy", "-o x.npy --json-errors", "--expect 5"])
def test_a_signal_while_a_pipe_is_read_is_its_status_and_silence(
    words: str, number: signal.Signals, status: int, folder: Path
) -> None:
    os.mkfifo("pipe")
    argv = [sys.executable, "-m", "gathercli", "gather", "pipe", "0", *split(words)]

    with (
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        open("pipe", "wb", buffering=0) as pipe,  # waits for the program to open it
    ):
        pipe.write(b"[5,")
        while process.poll() is None:  # Python may miss a signal just before it reads
            process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=AGAIN)
        out, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out, err) == (status, b"", b"")
    assert [path.name for path in folder.iterdir()] == ["pipe"]
