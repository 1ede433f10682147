"""Raw elements: tokens, sizes, and what is refused."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def test_raw_bytes_are_little_endian_and_row_major(run: Run, folder: Path) -> None:
    (folder / "x").write_bytes(bytes(range(12)))
    assert run("convert", "bin:2x3xi16@x", "-").out == "[[256,770,1284],[1798,2312,2826]]\n"
    assert run("convert", "bin:3xu32@x", "-").out == "[50462976,117835012,185207048]\n"
    (folder / "y").write_bytes(b"\x80\x3f\xc0\x7f")
    assert run("convert", "bin:2xbf16@y", "-").out == '[1.0,"NaN"]\n'
    (folder / "z").write_bytes(b"\0\1\2")
    assert run("convert", "bin:3xbool@z", "-").out == "[false,true,true]\n"


def test_raw_bytes_are_written_as_numpy_would(run: Run, folder: Path) -> None:
    note = "note: raw bytes carry neither type nor shape; `bin:2x3xf32@x.bin` reads them\n"
    assert run("convert", "arange:2x3xf32", "x.bin") == (0, "", note)
    expected = np.arange(6, dtype="<f4").tobytes()
    assert (folder / "x.bin").read_bytes() == expected
    piped = run("convert", "arange:2x3xf32", "-", "--to", "bin", "-q")
    assert (piped.status, piped.raw, piped.err) == (0, expected, "")


def test_raw_bytes_come_from_a_pipe_a_fifo_and_any_name(run: Run, folder: Path) -> None:
    raw = np.array([7, 8], "<i8").tobytes()
    assert run("convert", "bin:2xi64@-", "-", stdin=raw) == (0, "[7,8]\n", "")
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(raw,))
    writer.start()
    assert run("convert", "bin:2xi64@pipe", "-") == (0, "[7,8]\n", "")
    writer.join()
    for name in ("a b", "x#y", "@x", "[1]", "bin:1xi8@x", "x\ny"):
        (folder / name).write_bytes(raw)
        assert run("convert", f"bin:2xi64@{name}", "-") == (0, "[7,8]\n", "")
    assert run("gather", "bin:2xi64@x#y", "bin:2xi64@x#y", "-q").out == "[0,0]\n"


def test_raw_standard_input_is_read_for_one_tensor_only(run: Run) -> None:
    ran = run("gather", "bin:2xi64@-", "bin:2xi64@-", stdin=b"\0" * 16)
    assert ran.status == 2
    assert ran.err.startswith("error: `-` is used twice")
    assert run("gather", "bin:2xi64@-", "-", stdin=b"\0" * 16).status == 2


@pytest.mark.parametrize(
    ("token", "message", "hint"),
    [
        ("bin:3xi32@x", "x: the file has 8 bytes: expected 12, for i32[3]", "bin:2xi32@x"),
        ("bin:1xi32@x", "x: the file has 8 bytes: expected 4, for i32[1]", "bin:2xi32@x"),
        ("bin:9x2xi8@x", "x: the file has 8 bytes: expected 18, for i8[9,2]", "bin:4x2xi8@x"),
        ("bin:i32@x", "x: the file has 8 bytes: expected 4, for i32[]", "bin:2xi32@x"),
        ("bin:3x3xi8@x", "x: the file has 8 bytes: expected 9, for i8[3,3]", None),
        ("bin:5x0xi8@x", "x: the file has 8 bytes: expected 0, for i8[5,0]", None),
        ("bin:0xi64@x", "x: the file has 8 bytes: expected 0, for i64[0]", "bin:1xi64@x"),
        (
            "bin:2xi32@empty",
            "empty: the file has 0 bytes: expected 8, for i32[2]",
            "bin:0xi32@empty",
        ),
    ],
)
def test_raw_bytes_of_another_size_are_refused_with_the_size_that_fits(
    token: str, message: str, hint: str | None, run: Run, folder: Path
) -> None:
    (folder / "x").write_bytes(b"abcdefgh")
    (folder / "empty").write_bytes(b"")
    advice = f"hint: `{hint}` has that many\n" if hint else ""
    assert run("convert", token, "-") == (65, "", f"error: {message}\n{advice}rule: format\n")


@pytest.mark.parametrize(
    "token",
    [
        "bin:",
        "bin:x",
        "bin:2xi32",
        "bin:2xi32@",
        "bin:@x",
        "bin:2@x",
        "bin:2x@x",
        "bin:-1xi32@x",
        "bin: 2xi32@x",
        "bin:2 xi32@x",
        "bin:+2xi32@x",
        "bin:?xi32@x",
        "bin:2xI32@x",
        "bin:2xi32x@x",
        "bin:[2]xi32@x",
        "bin:٣xi32@x",
    ],
)
def test_a_raw_token_that_says_too_little_is_refused_with_an_example(
    token: str, run: Run, folder: Path
) -> None:
    (folder / "x").write_bytes(b"abcdefgh")
    ran = run("convert", token, "-")
    assert (ran.status, ran.out) == (65, "")
    assert ran.err.startswith("error: `")
    assert ran.err.endswith("rule: literal\n")
    assert "expected " in ran.err


@pytest.mark.parametrize("name", ["f33", "str", "string", "float", "f8", "v2", "object"])
def test_raw_bytes_of_no_known_type_are_refused_by_its_name(
    name: str, run: Run, folder: Path
) -> None:
    (folder / "x").write_bytes(b"abcdefgh")
    assert run("convert", f"bin:2x{name}@x", "-") == (
        65,
        "",
        f"error: `{name}` in `bin:2x{name}@x` is not a type of raw bytes: "
        "expected one such as f32, i64 or bf16\nrule: literal\n",
    )


@pytest.mark.parametrize(
    "shape", ["9" * 20 + "x", "9" * 5000 + "x", "4294967296x" * 2, "0x" + "9" * 19 + "x", "1x" * 65]
)
def test_a_raw_shape_that_nothing_holds_is_a_limit(shape: str, run: Run, folder: Path) -> None:
    (folder / "x").write_bytes(b"")
    ran = run("convert", f"bin:{shape}f64@x", "-")
    assert (ran.status, ran.out) == (65, "")
    assert ran.err.endswith("rule: limit\n")
    assert len(ran.err) < 400


@pytest.mark.parametrize(
    ("token", "rule"),
    [
        ("bin:1xi8@nosuch", "missing"),
        ("bin:1xi8@.", "unreadable"),
        ("bin:0xi8@/dev/zero", "unreadable"),
    ],
)
def test_raw_bytes_that_are_not_there_are_66(token: str, rule: str, run: Run) -> None:
    ran = run("convert", token, "-")
    assert (ran.status, ran.out) == (66, "")
    assert ran.err.endswith(f"rule: {rule}\n")


def test_a_file_named_as_a_raw_token_is_noted(run: Run, folder: Path) -> None:
    (folder / "x").write_bytes(b"\1\2")
    (folder / "bin:2xi8@x").write_text("[9]")
    ran = run("convert", "bin:2xi8@x", "-")
    assert (ran.status, ran.out) == (0, "[1,2]\n")
    assert ran.err == (
        "note: `bin:2xi8@x` was read as raw elements; the file of that name is `@bin:2xi8@x`\n"
    )
    assert run("convert", "@bin:2xi8@x", "-") == (0, "[9]\n", "")


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("bin:3xi8@x", ""),
        ("bin:2xi8@x", "the file has 3 bytes: expected 2, for i8[2]"),
        ("bin:4xi8@x", "the file has 3 bytes: expected 4, for i8[4]"),
        ("bin:2xi8@x", "hint: `bin:3xi8@x` has that many"),
        ("bin:4x1xi8@x", "hint: `bin:3x1xi8@x` has that many"),
        ("bin:1x2xi8@x", "rule: format"),
        ("bin:" + "1x" * 64 + "i8@x", "the file has 3 bytes: expected 1"),
        ("bin:" + "1x" * 65 + "i8@x", "expected rank at most 64 and less than 2^63 bytes"),
        (f"bin:{2**63 - 1}xi8@x", "the file has 3 bytes: expected 9223372036854775807"),
        (f"bin:{2**63}xi8@x", "declares the shape [9223372036854775808]: expected rank"),
        (f"bin:{2**62}xi16@x", "declares the shape [4611686018427387904]: expected rank"),
        (f"bin:0x{2**62}xi16@x", "declares the shape [0, 4611686018427387904]: expected rank"),
        (f"bin:0x{2**63 - 1}xi8@x", "the file has 3 bytes: expected 0"),
    ],
)
def test_raw_bytes_are_as_many_as_the_shape_needs(
    token: str, message: str, run: Run, folder: Path
) -> None:
    (folder / "x").write_bytes(b"\1\2\3")

    ran = run("gather", token, "0")

    assert ran.status == (65 if message else 0)
    assert message in ran.err

    if token.startswith(("bin:1x2", "bin:0x")):
        assert "has that many" not in ran.err
