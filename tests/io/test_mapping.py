"""Mapped files that another program shortens, at moments that pipes decide and no clock."""

from __future__ import annotations

import io
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.compute import summary
from gathercli.errors import TransferError
from gathercli.io import mapping, write
from gathercli.io.files import File
from gathercli.io.source import Inputs
from tests.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Program, Run


pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="SIGBUS ends a process on this system",
)

COUNT: Final = 1 << 20
SHORT: Final = 4096
CHANGED: Final = "`x.npy` changed while it was read: expected it to stay as it was"


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


MANY: Final = npy(np.random.default_rng(7).integers(0, COUNT, COUNT))


@pytest.fixture
def x(folder: Path) -> Path:
    """Make a file that is mapped, a pipe, and a file that is to stay."""
    np.save("x.npy", np.arange(2 * COUNT).reshape(COUNT, 2) + 1)
    os.mkfifo("pipe")
    Path("out.npy").write_text("old")
    return folder / "x.npy"


def shorten(path: Path, then: bytes) -> threading.Thread:
    """Shorten a file when the pipe has a reader, who waits for that and then gets `then`."""

    def work() -> None:
        with open("pipe", "wb") as pipe:
            os.truncate(path, SHORT)
            pipe.write(then)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def shortened(path: Path, then: bytes, run: Callable[[], Any]) -> Any:
    thread = shorten(path, then)
    found = run()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return found


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("indices", [MANY, b"[1000000]"], ids=["many", "one"])
def test_a_file_that_is_shortened_is_one_refusal_and_leaves_nothing(
    threads: str, indices: bytes, x: Path, program: Program
) -> None:
    words = ("gather", "x.npy", "pipe", "-o", "out.npy", "-j", threads)

    ran = shortened(x, indices, lambda: program(*words))

    shape = f"[{COUNT}]" if indices is MANY else "[1]"
    assert (ran.returncode, ran.stdout) == (74, b"")
    assert ran.stderr.decode() == (
        f"error: {CHANGED}\n"
        f"  openvino.Gather-8   data i64[{COUNT},2]   indices i64{shape}\n"
        "rule: unreadable\n"
    )
    assert sorted(os.listdir()) == ["out.npy", "pipe", "x.npy"]
    assert Path("out.npy").read_text() == "old"


@pytest.mark.parametrize(
    "words",
    [
        ("gather", "x.npy", "pipe"),
        ("gather", "x.npy", "pipe", "-f", "pretty"),
        ("gather", "x.npy", "pipe", "-o", "new.npy"),
        ("gather", "x.npy", "pipe", "-o", "new.zarr"),
        ("gather", "bin:1048576x2xi64@x.npy", "pipe", "-o", "out.npy"),
        ("gather-elements", "x.npy", "pipe", "-V", "onnx-13", "--axis", "0"),
        ("compare", "x.npy", "pipe"),
    ],
    ids=" ".join,
)
def test_whatever_is_asked_for_nothing_comes_of_what_is_gone(
    words: tuple[str, ...], x: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "_OWN_FDS", "none")  # so that files that are begun have names
    if words[1].startswith("bin:"):
        x.write_bytes(bytes(16 * COUNT))
    elements = words[0] == "gather-elements"
    indices = npy(np.full((2, 2), COUNT - 1)) if elements else b"[1000000]"

    ran = shortened(x, indices, lambda: run(*words, "--json-errors"))

    error = json.loads(ran.err)
    assert (ran.status, ran.out) == (74, "")
    assert (error["error"], error["status"], error["rule"]) == (CHANGED, 74, "unreadable")
    assert sorted(os.listdir()) == ["out.npy", "pipe", "x.npy"]
    assert Path("out.npy").read_text() == "old"


@pytest.mark.parametrize(
    "words",
    [
        ("check", "gather", "x.npy", "pipe"),
        ("explain", "gather", "x.npy", "pipe", "--save", "a.svg"),
    ],
    ids=" ".join,
)
def test_what_a_person_has_seen_by_then_is_refused_after_it(
    words: tuple[str, ...], x: Path, run: Run
) -> None:
    ran = shortened(x, b"[1000000]", lambda: run(*words))

    assert ran.status == 74
    assert ran.err.splitlines() == [f"error: {CHANGED}", "rule: unreadable"]
    assert sorted(os.listdir()) == ["out.npy", "pipe", "x.npy"]


def test_a_description_is_not_printed_of_what_is_gone(
    x: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = summary.summarise

    def late(tensor: Any, **options: Any) -> Any:
        os.truncate(x, SHORT)
        return real(tensor, **options)

    monkeypatch.setattr(summary, "summarise", late)

    ran = run("info", "x.npy")

    assert ran == (74, "", f"error: {CHANGED}\nrule: unreadable\n")


@pytest.mark.parametrize("fmt", ["npy", "npz", "json", "safetensors", "bin"])
@pytest.mark.parametrize("target", ["-", "pipe"])
def test_what_is_written_when_a_file_is_shortened_ends_there(
    fmt: str, target: str, x: Path, program: Program
) -> None:
    whole = program("convert", "x.npy", "-", "--to", fmt).stdout
    command = f"$G convert x.npy {target} --to {fmt}{' | cat > pipe' * (target == '-')}"
    seen: list[bytes] = []

    def read() -> None:
        with open("pipe", "rb", buffering=0) as pipe:
            seen.append(pipe.read(SHORT))
            os.truncate(x, SHORT)
            while part := pipe.read(1 << 20):
                seen.append(part)

    thread = threading.Thread(target=read)
    thread.start()
    ran = program(f"set -o pipefail; {command}")
    thread.join(PATIENCE)

    assert (ran.returncode, ran.stdout) == (74, b"")
    assert ran.stderr.decode() == f"error: {CHANGED}\nrule: unreadable\n"
    assert len(b"".join(seen)) < len(whole)
    assert whole.startswith(b"".join(seen))


def test_indices_that_are_gone_after_they_were_checked_pick_nothing(
    x: Path, program: Program
) -> None:
    x.write_bytes(npy(np.full(COUNT, 2)))
    words = ("gather", "[5,6,7]", "x.npy", "--expect", "pipe", "-o", "out.npy")

    ran = shortened(x, b"[7]", lambda: program(*words))

    assert ran.returncode == 74
    assert "changed while" in ran.stderr.decode()
    assert Path("out.npy").read_text() == "old"


@pytest.mark.usefixtures("x")
def test_all_mapped_files_may_be_shortened_at_once() -> None:
    for name in "abcd":
        np.save(f"{name}.npy", np.arange(COUNT))
    with Inputs(None) as inputs:
        tensors = [inputs.tensor(f"{name}.npy", "data").array[SHORT:] for name in "abcd"]
        sums: list[int] = []
        for name in "abcd":
            os.truncate(f"{name}.npy", SHORT)

        threads = [
            threading.Thread(target=lambda: sums.extend(map(total, tensors))) for _ in "1234"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)

        assert sums == [0] * 16
        with pytest.raises(TransferError, match=r"`a\.npy` changed while it was read"):
            inputs.recheck()
        inputs.close_files()


def total(array: Any) -> int:
    return int(array.sum())


def test_the_end_of_a_context_refuses_what_nobody_asked_for_before(x: Path) -> None:
    inputs = Inputs(None).__enter__()
    array = inputs.tensor("x.npy", "data").array
    os.truncate(x, SHORT)
    assert array[-1, -1] == 0

    with pytest.raises(TransferError, match="changed while it was read"):
        inputs.__exit__(None)


def test_a_file_that_is_empty_when_it_is_mapped_has_changed(x: Path) -> None:
    with Inputs(None) as inputs:
        source = inputs.open(f"bin:{COUNT * 2}xi64@x.npy")
        x.write_bytes(bytes(16 * COUNT))
        source = inputs.open(f"bin:{COUNT * 2}xi64@x.npy")
        os.truncate(x, 0)
        with pytest.raises(TransferError, match=r"`x\.npy` changed while it was read"):
            source.tensor()


@pytest.mark.usefixtures("x")
def test_memory_that_is_free_again_is_left_alone() -> None:
    with Inputs(None) as inputs:
        array = inputs.tensor("x.npy", "data").array
        before = len(mapping._mappings)

        del array

        assert len(mapping._mappings) == before - 1


OTHERS: Final = {
    "a file that a library has mapped": "array = gathercli.load('x.npy'); cut(); array.sum()",
    "a file that others have mapped": "own(); array = theirs(); cut(); array.sum()",
    "a signal that another program sends": "own(); os.kill(os.getpid(), signal.SIGBUS); own()",
    "a system without room": (
        "mapping._libc.mmap = lambda *_: mapping._FAILED_ADDRESS; array = own(); cut(); array.sum()"
    ),
}


@pytest.mark.usefixtures("x")
@pytest.mark.parametrize("what", OTHERS)
def test_any_other_bus_error_ends_the_process_as_before(what: str) -> None:
    script = f"""
import os, signal, numpy as np, gathercli
from gathercli.io import mapping
from gathercli.io.source import Inputs
def own(): return Inputs(None).tensor("x.npy", "data").array
def theirs(): return np.load("x.npy", mmap_mode="r")
def cut(): os.truncate("x.npy", {SHORT})
{OTHERS[what]}
"""

    ran = subprocess.run(
        ["bash", "-c", f"ulimit -c 0; exec {shlex.join([sys.executable, '-c', script])}"],
        check=False,
        timeout=PATIENCE,
    )

    assert ran.returncode == -signal.SIGBUS


@pytest.mark.usefixtures("x")
def test_other_systems_go_on_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    with Inputs(None) as inputs:
        array = inputs.tensor("x.npy", "data").array

        file = inputs.files_by_name["x.npy"]

        assert isinstance(file, File)
        assert (array[-1, -1], file._mappings) == (2 * COUNT, [])
