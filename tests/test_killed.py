"""Whatever ends the process, and whenever: the output is absent, old or whole, and alone."""

from __future__ import annotations

import errno
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest

from gathercli.cli import main
from gathercli.io.formats.table import BY_SUFFIX
from tests.faults import Faults
from tests.processes import AGAIN, PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Ran

PROGRAM: Final = (sys.executable, "-m", "gathercli")
ROWS: Final = 8_000
ROW: Final = 200
POLL: Final = 0.0002
"""Seconds between two looks at a process: a thousandth of what a large write takes."""

SIZE: Final = 128 + ROWS * ROW * 16
"""Bytes of the large output: 26 MB."""

LARGE: Final = ("gather", f"zeros:100x{ROW}xc128", f"zeros:{ROWS}", "-q")
OLD: Final = b"old"
LINUX: Final = pytest.mark.skipif(
    not os.access("/proc/self/io", os.R_OK), reason="the system does not count what is written"
)
UNNAMED: Final = hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*PROGRAM, *words], cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0
    )


def written(process: subprocess.Popen[bytes]) -> int:
    """Return how many bytes a process has written; as if all of them once it has ended."""
    try:
        counts = Path(f"/proc/{process.pid}/io").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 10 * SIZE
    found = re.search(r"^wchar: (\d+)", counts, re.MULTILINE)
    return int(found[1]) if found and process.poll() is None else 10 * SIZE


def wait_for(process: subprocess.Popen[bytes], amount: int) -> None:
    """Return once a process has written an amount, or has ended."""
    wait_until(lambda: written(process) >= amount, POLL)


def left_in(folder: Path) -> list[str]:
    """List a folder, without the temporary files that a system without unnamed ones leaves."""
    names = sorted(os.listdir(folder))
    return names if UNNAMED else [name for name in names if not name.endswith(".tmp")]


def assert_old_or_whole(path: Path, old: bytes | None) -> bool:
    """Return whether it is whole."""
    if not path.exists():
        assert old is None
        return False
    if path.stat().st_size == SIZE:
        assert np.load(path, mmap_mode="r").shape == (ROWS, ROW)
        return True
    assert path.read_bytes() == old
    return False


# A large write, ended after some amount of it


@LINUX
@pytest.mark.parametrize("old", [OLD, None], ids=["old", "absent"])
def test_a_killed_write_leaves_the_target_old_or_whole_and_nothing_else(
    old: bytes | None, folder: Path
) -> None:
    path, draw = folder / "x.npy", random.Random(0)  # noqa: S311
    amounts = [0, 1, SIZE - 1, SIZE, *(draw.randrange(SIZE) for _ in range(4))]
    for amount in amounts:
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        with start(folder, *LARGE, "-o", "x.npy") as process:
            wait_for(process, amount)
            process.kill()
        assert assert_old_or_whole(path, old) or process.returncode == -signal.SIGKILL
        if old is not None:  # what replaces a file has a name of its own for a moment
            for beside in folder.glob(".x.npy.*.tmp"):
                assert assert_old_or_whole(beside, None)
                beside.unlink()
        assert [name for name in left_in(folder) if name != "x.npy"] == []


SIGNALS: Final = [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
each_signal = pytest.mark.parametrize(
    ("number", "status"), SIGNALS, ids=[number.name for number, _ in SIGNALS]
)


SIGNALLED: Final = """
import _signal, os, runpy, signal, sys, threading

number, amount = int(sys.argv.pop(1)), int(sys.argv.pop(1))
written, write, set_handler = 0, os.pwrite, _signal.signal
noticed, one = threading.Event(), threading.Lock()


def noticing(number, handler):
    def handle(*call):
        noticed.set()
        handler(*call)

    return set_handler(number, handle if callable(handler) else handler)


def pwrite(*call):
    global written
    done = write(*call)
    with one:
        before, written = written, written + done
    if before < amount <= written:
        os.kill(os.getpid(), number)
        if threading.current_thread() is not threading.main_thread():
            noticed.wait()
    return done


os.pwrite, _signal.signal = pwrite, noticing
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("gathercli", run_name="__main__")
"""
"""The program, which sends itself a signal once it has written an amount, and waits for it."""


@each_signal
def test_a_signal_in_a_large_write_ends_it_silently_and_leaves_the_old_file(
    number: signal.Signals, status: int, folder: Path
) -> None:
    path, draw = folder / "x.npy", random.Random(int(number))  # noqa: S311
    path.write_bytes(OLD)

    for amount in (1, draw.randrange(SIZE), SIZE // 2):
        ran = subprocess.run(
            [sys.executable, "-c", SIGNALLED, str(int(number)), str(amount), *LARGE, "-o", "x.npy"],
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )

        assert (ran.returncode, ran.stdout, ran.stderr) == (status, b"", b"")
        assert path.read_bytes() == OLD
        assert left_in(folder) == ["x.npy"]


@each_signal
def test_a_signal_while_a_fifo_is_read_ends_the_run_silently(
    number: signal.Signals, status: int, folder: Path
) -> None:
    os.mkfifo(folder / "pipe")

    with start(folder, "gather", "pipe", "0", "-o", "x.npy") as process:
        with open(folder / "pipe", "wb", buffering=0) as pipe:  # returns once it is being read
            pipe.write(b"[1")
            while process.poll() is None:  # one just before a call that waits does not end that
                process.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=AGAIN)
        out, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out, err) == (status, b"", b"")
    assert os.listdir(folder) == ["pipe"]


def test_a_program_under_nohup_goes_on_when_its_terminal_closes(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    line = f"trap '' HUP; exec {shlex.join(PROGRAM)} gather pipe 0, -o x.npy"

    with subprocess.Popen(["sh", "-c", line], cwd=folder) as process:
        with open(folder / "pipe", "wb", buffering=0) as pipe:  # returns once it is being read
            process.send_signal(signal.SIGHUP)
            pipe.write(b"[5]")
        status = process.wait(timeout=PATIENCE)

    assert status == 0
    assert np.load("x.npy").tolist() == [5]


# Between any two calls of the system


class Ended(NamedTuple):
    """How a process ended, and what it said."""

    status: int
    said: bytes


def ended_at(number: signal.Signals, at: int, words: list[str], faults: Faults) -> Ended:
    """Run in a process of its own, which gets a signal at one of its calls."""
    reader, writer = os.pipe()
    faults.at, faults.instead = at, lambda: os.kill(os.getpid(), number)
    child = os.fork()
    if child == 0:
        sys.settrace(None)  # nobody reads which lines a process that is about to end has run
        status = 99
        try:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for each in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(each, signal.SIG_DFL)
            with faults:
                status = main(words)
        finally:
            os._exit(status)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return Ended(os.waitstatus_to_exitcode(status), said)


def _restore(target: str) -> None:
    """Take back what a call wrote."""
    Path(target).unlink()
    if target == "x.npy":
        Path(target).write_bytes(OLD)


def each_end(
    number: signal.Signals, words: list[str], make: Callable[[], Faults]
) -> Iterator[tuple[str, Ended]]:
    """Send a signal at the first call, at the second…; give also the names of the calls."""
    assert main(words) == 0  # which does what is done once, such as imports
    _restore(words[4])
    with make() as faults:
        assert main(words) == 0
    _restore(words[4])
    for at, name in enumerate(faults.calls, 1):
        yield f"{name}, call {at}", ended_at(number, at, words, make())


TARGETS: Final = {
    "replacing": ["gather", "small.npy", "[2,0]", "-o", "x.npy"],
    "a new file": ["gather", "small.npy", "[2,0]", "-o", "new.npy"],
    "no clobber": ["gather", "small.npy", "[2,0]", "-o", "new.npy", "--no-clobber"],
}
each_target = pytest.mark.parametrize("words", TARGETS.values(), ids=TARGETS)
at_each_call = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


def prepare(folder: Path) -> tuple[bytes, list[str]]:
    np.save(folder / "small.npy", np.arange(3))
    np.save(folder / "whole.npy", np.array([2, 0]))
    (folder / "x.npy").write_bytes(OLD)
    return (folder / "whole.npy").read_bytes(), sorted(os.listdir(folder))


def problems(folder: Path, words: list[str], whole: bytes, names: list[str]) -> list[str]:
    """Say what is wrong in a folder after a run, and put it right."""
    target, found = folder / words[4], []
    old = None if target.name == "new.npy" else OLD
    held = target.read_bytes() if target.exists() else None
    if held not in (old, whole):
        found.append(f"the target holds {held!r:.60}")
    found += [f"{name} is left" for name in sorted({*os.listdir(folder)} - {*names, target.name})]
    for name in {*os.listdir(folder)} - {*names}:
        os.unlink(folder / name)
    if old is not None:
        target.write_bytes(old)
    return found


@pytest.mark.parametrize(
    ("target", "unnamed"), [*((name, True) for name in TARGETS), ("replacing", False)]
)
@at_each_call
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_signal_at_any_call_leaves_nothing_behind_and_is_silent(
    target: str, unnamed: bool, after: bool, folder: Path
) -> None:
    words = TARGETS[target]
    whole, names = prepare(folder)
    number = signal.SIGHUP if after else signal.SIGINT  # both are exceptions to the program
    found = []
    for at, ended in each_end(number, words, lambda: Faults(after=after, unnamed=unnamed)):
        if (ended.status, ended.said) != (dict(SIGNALS)[number], b""):
            found.append(f"{at}: status {ended.status}, {ended.said!r}")
        found += [f"{at}: {each}" for each in problems(folder, words, whole, names)]
    assert not found, "\n".join(found)


@each_target
@at_each_call
@pytest.mark.skipif(not UNNAMED, reason="the system has no files without a name")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_killed_at_any_call_leaves_nothing_behind(
    words: list[str], after: bool, folder: Path
) -> None:
    whole, names = prepare(folder)
    found, beside = [], 0
    for at, ended in each_end(signal.SIGKILL, words, lambda: Faults(after=after)):
        assert (ended.status, ended.said) == (-signal.SIGKILL, b"")
        if words[4] == "x.npy":  # what replaces a file has a name of its own for a moment
            for path in folder.glob(".x.npy.*.tmp"):
                assert path.read_bytes() == whole
                path.unlink()
                beside += 1
        found += [f"{at}: {each}" for each in problems(folder, words, whole, names)]
    assert not found, "\n".join(found)
    assert beside <= 2


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changes_folders(name: str, args: tuple[Any, ...]) -> bool:
    del args
    return name in {"mkdir", "rename", "replace", "rmdir", "scandir", "unlink"}


@at_each_call
@pytest.mark.parametrize("swaps", [True, False], ids=["swapped", "renamed"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_signal_at_any_call_leaves_one_array_and_nothing_else(
    swaps: bool, after: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not swaps:
        monkeypatch.setattr("gathercli.io.zarr.created.exchange", lambda *_: False)
    words = ["gather", "small.npy", "[2,0]", "-o", "x.zarr", "-q"]
    np.save("small.npy", np.arange(3))
    assert main(["convert", "small.npy", "x.zarr", "--chunks", "1", "-q"]) == 0
    old = files_in(folder)
    with Faults(only=changes_folders) as faults:
        assert main(words) == 0
    whole, found = files_in(folder), []
    for at, name in enumerate(faults.calls, 1):
        shutil.rmtree("x.zarr")
        assert main(["convert", "small.npy", "x.zarr", "--chunks", "1", "-q"]) == 0

        ended = ended_at(signal.SIGHUP, at, words, Faults(after=after, only=changes_folders))

        if ended != (129, b"") or files_in(folder) not in (old, whole):
            found.append(f"{name}, call {at}: {ended}, {sorted(files_in(folder))}")
    assert not found, "\n".join(found)


# Readers that go away, and places that are full


@pytest.mark.parametrize("fmt", ["npy", "json", "oip", "literal"])
@pytest.mark.parametrize("wanted", [0, 1, 100_000])
def test_a_reader_that_goes_away_ends_a_large_output_silently(
    fmt: str, wanted: int, folder: Path
) -> None:
    words = ("gather", "rand:10x2000xi8,high=9", "zeros:1000", "-f", fmt)

    with start(folder, *words) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        got = len(process.stdout.read(wanted))
        process.stdout.close()
        err = process.stderr.read()

    assert (process.wait(timeout=PATIENCE), got, err) == (141, wanted, b"")


@pytest.mark.parametrize("fmt", ["npy", "json", "oip", "literal"])
def test_a_large_output_to_a_full_device_is_74(fmt: str, folder: Path) -> None:
    words = ("gather", "rand:10x2000xi8,high=9", "zeros:100", "-f", fmt)

    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [*PROGRAM, *words], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert ran.returncode == 74
    assert ran.stderr.startswith(b"error: writing stopped (no space left on device)")
    assert ran.stderr.endswith(b"rule: output\n")


@pytest.mark.parametrize(
    "words",
    [
        *(("gather", "arange:5000", "arange:5000", "-o", f"x{s}") for s in BY_SUFFIX),
        *(("convert", "arange:5000", f"x{suffix}") for suffix in BY_SUFFIX),
        ("info", "arange:5000", "--save", "x.svg"),
        ("explain", "gather", "arange:5", "0", "--save", "x.html"),
        ("compare", "arange:5", "0", "--save", "x.svg"),
        (
            "translate",
            "gather-tree",
            *["zeros:1x1x1"] * 2,
            "1,",
            "1",
            "--to",
            "numpy",
            "-o",
            "x.py",
        ),
    ],
)
def test_an_output_that_stays_incomplete_is_named(words: tuple[str, ...], folder: Path) -> None:
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1000, 1000))

    ran = subprocess.run(
        [*PROGRAM, *words], cwd=folder, capture_output=True, check=False, preexec_fn=limit
    )

    assert ran.returncode == 74
    assert re.match(rb"error: `x\.\w+`: writing stopped \(file too large\)", ran.stderr)
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    "words",
    [
        ("gather", "arange:5", "0", "-f", "json", "-o"),
        ("gather", "arange:5", "0", "-f", "npy", "-o"),
        ("convert", "arange:5", "--to", "npy"),
    ],
)
def test_a_full_device_is_named(words: tuple[str, ...], run: Callable[..., Ran]) -> None:
    ran = run(*words, "/dev/full")

    assert ran.status == 74
    assert ran.err.startswith("error: `/dev/full`: writing stopped (no space left on device)")


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


@pytest.mark.parametrize(
    ("fmt", "status", "said"),
    [
        ("npy", 73, b"there is no room for it (file too large)"),  # known before the first byte
        ("json", 74, b"writing stopped (file too large)"),
    ],
)
def test_a_file_larger_than_the_system_allows_is_refused_and_the_old_one_stays(
    fmt: str, status: int, said: bytes, folder: Path
) -> None:
    path = folder / "x.out"
    path.write_bytes(OLD)
    words = ("gather", "rand:10x2000xi8,high=9", "zeros:1000", "-o", "x.out", "-f", fmt)

    ran = subprocess.run(
        [*PROGRAM, *words], cwd=folder, capture_output=True, check=False, preexec_fn=limit_files
    )

    assert (ran.returncode, ran.stdout) == (status, b"")
    assert said in ran.stderr
    assert path.read_bytes() == OLD
    assert os.listdir(folder) == ["x.out"]


def in_small_disk(folder: Path, options: str, line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in a file system of 1 MiB that only it sees, and list what is left."""
    (folder / "disk").mkdir()
    mount = f"mount -t tmpfs -o size=1m tmpfs disk && cd disk && echo old > x && {options}"
    line = line.replace("$G", shlex.join(PROGRAM))
    script = f"{{ {mount}; }} || exit 42; {line}; echo $?; cat x; ls -A"
    try:
        ran = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
    except FileNotFoundError:
        pytest.skip("no file system can be made here")
    if ran.returncode == 42 or b"unshare" in ran.stderr:
        pytest.skip("no file system can be made here")
    return ran


def test_a_disk_that_fills_up_is_74_and_the_old_file_stays(folder: Path) -> None:
    # A digit and a comma for each element would fit; most have two digits.
    line = "$G gather rand:10x2000xi8,high=99 zeros:250 -o x -f json"

    ran = in_small_disk(folder, "true", line)

    assert ran.stdout == b"74\nold\nx\n"
    assert b"`x`: writing stopped (no space left on device)" in ran.stderr


@pytest.mark.parametrize(
    "line",
    [
        "$G gather 5,6 zeros:200000 -o new.json",
        "$G gather 5,6 zeros:1500000 -o new.json -f pretty --force-format",
        "$G convert zeros:200000 new.json",
        "$G convert 1500000xu4=1 new.pb",
        "$G batch --op gather --data 5,6 --indices zeros:200000 --output new.json >&2",
    ],
)
def test_a_file_that_takes_less_than_the_elements_in_memory_fits(line: str, folder: Path) -> None:
    ran = in_small_disk(folder, "true", f"{line} -q; test -s new.*")

    assert ran.stdout.startswith(b"0\n"), ran.stderr


def test_a_disk_known_to_be_too_small_is_73_and_the_old_file_stays(folder: Path) -> None:
    line = "$G gather rand:10x2000xi8,high=9 zeros:4000 -o x -f npy"

    ran = in_small_disk(folder, "true", line)

    assert ran.stdout == b"73\nold\nx\n"
    assert re.search(rb"the result takes at least 8000000 bytes and the disk has \d+", ran.stderr)


def test_a_file_system_that_may_only_be_read_is_73(folder: Path) -> None:
    ran = in_small_disk(folder, "mount -o remount,ro .", "$G gather '[5,6]' 0, -o x -f npy")

    assert ran.stdout == b"73\nold\nx\n"
    assert b"(read-only file system)" in ran.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_is_73(folder: Path) -> None:
    (folder / "x.npy").write_bytes(OLD)
    folder.chmod(0o555)
    try:
        status = main(["gather", "[5,6]", "0,", "-o", "x.npy"])
    finally:
        folder.chmod(0o755)

    assert status == 73
    assert (folder / "x.npy").read_bytes() == OLD
    assert os.listdir(folder) == ["x.npy"]


def test_a_quota_that_is_used_up_is_told_by_name(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Faults(1, 2, only=lambda name, args: name == "write" and args[0] > 2) as faults:
        status = main(["gather", "[5,6]", "0,", "-o", "x.npy"])

    assert faults.number == errno.EDQUOT
    assert (status, os.strerror(errno.EDQUOT).lower() in capfd.readouterr().err) == (74, True)
    assert os.listdir(folder) == []


@pytest.mark.parametrize("megabytes", [40, 60, 75, 95])
@pytest.mark.parametrize("words", ["info 1,2", "check gather 1,2 0", "explain gather 1,2 0"])
def test_too_little_address_space_for_numpy_is_65(words: str, megabytes: int, folder: Path) -> None:
    size = megabytes * 10**6
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))

    ran = subprocess.run(
        [*PROGRAM, *words.split()],
        cwd=folder,
        capture_output=True,
        check=False,
        preexec_fn=limit,
        timeout=PATIENCE,
    )

    assert ran.returncode == 65
    assert ran.stderr == b"error: there is not enough memory for this\nrule: limit\n"
