"""Streams that go on: how much of them is read, and how much of it is held."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.io import files
from tests.processes import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


MORE: Final = 1 << 21
"""Bytes that a pipe, and one reading of it, may take beyond what was asked for."""


@pytest.mark.parametrize("command", ["gather a.npy [0,1] -o", "convert a.npy"])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json", ".safetensors", ".pb", ".bin", ""])
def test_a_pipe_gets_the_format_of_its_suffix(
    command: str, suffix: str, folder: Path, run: Run
) -> None:
    np.save("a.npy", np.array([1.5, 2]))
    os.mkfifo(f"pipe{suffix}")
    held = os.open(f"pipe{suffix}", os.O_RDWR)  # so that no open waits for a reader
    run(*command.split(), f"file{suffix or '.json'}", "-q")

    ran = run(*command.split(), f"pipe{suffix}", "-q")

    got = os.read(held, 1 << 16)
    os.close(held)
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert got == (folder / f"file{suffix or '.json'}").read_bytes()


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def safetensors(count: int, *, more: str = "") -> bytes:
    offsets = {"dtype": "U8", "shape": [count], "data_offsets": [0, count]}
    header = json.dumps({"a": offsets}).encode() + more.encode()
    return len(header).to_bytes(8, "little") + header + bytes(count)


PROGRAM: Final = (sys.executable, "-m", "gathercli")


def fed(
    first: bytes, rest: bytes, *words: str, program: tuple[str, ...] = PROGRAM
) -> tuple[int, str, int]:
    """Feed a stream, without end if there is a `rest`; return the status, stderr, what it took."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*program, *words], bufsize=0, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe
    ) as process:
        assert process.stdin is not None
        taken = process.stdin.write(first[: 1 << 16]) or 0
        with suppress(BrokenPipeError):
            for part in chain([first[taken:]], repeat(rest) if rest else ()):
                taken += process.stdin.write(part) or 0
                assert taken < 1 << 30
        _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, err.decode(), taken


@pytest.mark.parametrize("command", ["info", "gather"])
@pytest.mark.parametrize("count", [3, 300_000, files.BUFFERED_BYTES])
def test_a_npy_stream_is_refused_at_the_first_byte_too_many(command: str, count: int) -> None:
    words = ("info", "-") if command == "info" else ("gather", "-", "0")
    first = npy(np.zeros(count, np.uint8))

    status, err, taken = fed(first, bytes(1 << 16), *words)

    at_hand = f"it has {count + 1} bytes of elements or more"
    assert status == 65
    assert f"the file is longer than it says: {at_hand}: expected {count}, for u8[{count}]" in err
    assert taken <= len(first) + MORE


@pytest.mark.parametrize("count", [3, 300_000])
def test_raw_elements_of_a_stream_are_refused_at_the_first_byte_too_many(count: int) -> None:
    status, err, taken = fed(b"", bytes(1 << 16), "info", f"bin:{count}xu8@-")

    assert status == 65
    assert err == (
        f"error: standard input: the file has {count + 1} bytes or more: "
        f"expected {count}, for u8[{count}]\nrule: format\n"
    )
    assert taken <= count + MORE


@pytest.mark.parametrize("more", ["", "x", '{"b":{"data_offsets":[0,9999999999999999999999]}}'])
def test_a_safetensors_stream_is_refused_at_the_first_byte_too_many(more: str) -> None:
    status, err, taken = fed(safetensors(300_000, more=more), bytes(1 << 16), "info", "-")

    assert status == 65
    assert err.startswith("error: standard input: it is not a sound .safetensors file (")
    assert taken <= 300_000 + MORE


def test_an_onnx_stream_is_refused_where_it_takes_more_than_may_be_held() -> None:
    start = b"\x08\x03\x10\x02\x4a\xff\xff\xff\xff\x07"  # raw_data of 2^31 - 1 bytes

    status, err, taken = fed(start, bytes(1 << 16), "info", "-", "--max-bytes", "40M")

    assert (status, "rule: limit" in err) == (65, True)
    assert taken <= 40_000_000 + MORE


def test_a_stream_that_declares_more_than_may_be_held_is_not_kept_on_the_disk() -> None:
    first = npy(np.zeros(3, np.uint8)).replace(b"(3,), }        ", b"(300000000,), }")

    status, err, taken = fed(first, bytes(1 << 16), "info", "-", "--max-bytes", "100M")

    assert status == 65
    assert "the input has 300000128 bytes to be held in memory: expected at most 100000000" in err
    assert taken <= files.BUFFERED_BYTES + MORE


@pytest.mark.parametrize("extra", [0, 1, -1])
def test_a_stream_of_the_declared_length_is_read_whatever_its_size(
    extra: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BUFFERED_BYTES", 1 << 15)
    monkeypatch.setattr(files, "_STREAM_PART", 1 << 12)
    for count in (10, 5_000, 20_000, 40_000):
        raw = npy(np.arange(count, dtype=np.uint8))
        raw = raw + b"\0" * extra if extra > 0 else raw[: len(raw) + extra]

        ran = run("gather", "-", f"[{count - 1}]", stdin=raw)

        if extra:
            word = "truncated" if extra < 0 else "longer than it says"
            assert ran.status == 65
            assert f"the file is {word}: it has {count + extra} bytes" in ran.err
        else:
            assert ran == (0, f"[{(count - 1) % 256}]\n", "")


TEXTS: Final[dict[str, tuple[bytes, bytes]]] = {
    "integers": (b"[", b"1," * 30_000),
    "fractions": (b"[", b"0.123456789," * 5000),
    "lists": (b"[", b"[1]," * 15_000),
    "strings": (b"[", b'"abcdefgh",' * 5000),
    "a string": (b'["', b"a" * 60_000),
    "a string with a wide character": ('["\U0001f600'.encode(), b"a" * 60_000),
    "blanks": (b"[", b" " * 60_000),
}
CHILD: Final = """
import resource, subprocess, sys
status = subprocess.run([sys.executable, "-m", "gathercli", *sys.argv[1:]], check=False).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count in other units")
@pytest.mark.parametrize("name", TEXTS)
def test_an_endless_text_holds_no_more_than_the_limit(name: str) -> None:
    first, rest = TEXTS[name]
    words, program = ("info", "-", "--max-bytes", "50M"), (sys.executable, "-c", CHILD)
    _, nothing, _ = fed(npy(np.arange(9)), b"", *words, program=program)

    status, err, _ = fed(first, rest, *words, program=program)

    *message, peak = err.splitlines()
    assert (status, message[-1]) == (65, "rule: limit")
    assert "when parsed: expected at most 50000000 bytes" in message[0]
    assert int(peak) - int(nothing) < 50_000_000 // 1024
