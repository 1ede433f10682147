from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
import safetensors.numpy

from gathercli.compute import summary
from gathercli.compute.tensor import Tensor
from gathercli.spec.dtypes import DTYPES, Kind
from tests.tensorfiles import encoded, npy, saved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


# Headers alone


def test_header_reads_no_elements(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(summary, "summarise", refuse)
    monkeypatch.setattr(Tensor, "blocks", refuse)
    np.savez(folder / "m.npz", a=np.zeros(2), b=np.zeros(3))
    for token in ("m.npz", "m.npz#b", "[1,2]", "arange:5"):
        assert run("info", "--header", token).status == 0
    assert run("info", "--header", "m.npz#b").out.endswith(
        "float64[3]   3 elements   24 bytes of data   little-endian\n"
    )
    found = json.loads(run("info", "--header", "arange:5", "-f", "json").out)
    assert "min" not in found
    assert "preview" not in found


def test_the_header_of_a_file_larger_than_memory_is_read_at_once(run: Run, folder: Path) -> None:
    size = 1 << 40
    header = npy("'|i1'", f"({size},)", b"")
    with open(folder / "x.npy", "wb") as file:
        file.write(header)
        try:
            file.truncate(len(header) + size)
        except OSError:
            pytest.skip("the file system takes no such file")
    out = run("info", "--header", "x.npy").out
    assert f"int8[{size}]   1 099 511 627 776 elements" in out


def test_the_header_of_a_member_is_known_although_its_elements_are_damaged(
    run: Run, folder: Path
) -> None:
    np.savez(folder / "m.npz", a=np.arange(10_000))
    raw = bytearray((folder / "m.npz").read_bytes())
    raw[40_000:40_010] = b"\xff" * 10
    (folder / "m.npz").write_bytes(raw)
    assert "int64[10000]" in run("info", "--header", "m.npz").out
    ran = run("info", "m.npz")
    assert ran.status == 65
    assert ran.err.endswith("rule: npz\n")


# Several files, other sources


def test_what_is_broken_does_not_keep_the_others(run: Run, folder: Path) -> None:
    (folder / "bad.json").write_text("[1,")
    ran = run("info", "3xbool=true", "bad.json", "nosuch.npy", "xbool=false")
    assert ran.status == 65
    first, second = ran.out.split("\n\n\n")[0], ran.out.split("xbool=false   literal")[1]
    assert first.startswith("3xbool=true   literal\n")
    assert second.startswith("\nbool[]   1 element")
    assert ran.err == (
        "error: bad.json: expecting value at line 1, column 4, at the end of the text: "
        "expected JSON\nrule: json\n"
        "error: there is no file `nosuch.npy`: expected a file, or a literal such as 0,0,4\n"
        "rule: missing\n"
    )
    assert run("info", "nosuch.npy", "bad.json").status == 66


def test_several_files_stand_apart_by_a_blank_line(run: Run) -> None:
    one = run("info", "3xbool=true").out
    assert run("info", "3xbool=true", "3xbool=true").out == f"{one}\n{one}"


def test_json_errors_are_one_line_each(run: Run, folder: Path) -> None:
    (folder / "bad.json").write_text("[1,")
    ran = run("info", "bad.json", "[1]", "nosuch.npy", "-f", "json", "--json-errors")
    assert [json.loads(line)["status"] for line in ran.err.splitlines()] == [65, 66]
    assert [json.loads(line)["file"] for line in ran.out.splitlines()] == ["[1]"]


def test_standard_input_and_its_members_are_described(run: Run, folder: Path) -> None:
    np.savez(folder / "m.npz", a=np.array([True]), b=np.arange(3))
    raw = (folder / "m.npz").read_bytes()
    assert run("info", "-", stdin=b"[true]").out.startswith("-   json   6 bytes\nbool[1]   1 ele")
    assert "  a   bool[1]    1 byte\n" in run("info", "-", stdin=raw).out
    ran = run("info", "bin:2xi8@-", stdin=b"\1\2")
    assert ran.out.startswith("-   bin   2 bytes\nint8[2]   2 elements   2 bytes of data\n")
    assert run("info", "-", "-", stdin=raw).status == 2


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (["-#a"], "-#a   npz   "),
        (["-#b", "-#a"], "-#b   npz   "),
        (["-1,0"], "-1,0   literal\n"),
        (["-1"], "-1   literal\n"),
        (["[1]", "-.5"], "[1]   literal\n"),
    ],
)
def test_what_starts_with_a_dash_is_a_tensor_without_two_dashes_before_it(
    words: list[str], start: str, run: Run, folder: Path
) -> None:
    np.savez(folder / "m.npz", a=np.array([True]), b=np.arange(3))
    ran = run("info", *words, stdin=(folder / "m.npz").read_bytes())
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(start)


def test_a_fifo_is_described(run: Run, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(saved(np.arange(2)),))
    writer.start()
    assert run("info", "pipe").out.startswith("pipe   npy   144 bytes\nint64[2]   ")
    writer.join()


def test_no_name_goes_raw_to_the_terminal(run: Run, folder: Path) -> None:
    name = "a\x1b[31m\u202e\nb[red]"
    safetensors.numpy.save_file({name: np.zeros(2), "\x9b": np.zeros(1)}, folder / name)
    for words in (("info", name), ("info", f"{name}#{name}"), ("info", name, "-f", "json")):
        ran = run(*words, "--color", "never", terminal=(1, 2))
        assert ran.status == 0
        assert not any(sign in ran.out for sign in "\x1b\u202e\x9b")
        assert "b[red]" in ran.out


def test_a_name_that_is_no_text_is_described(run: Run, folder: Path) -> None:
    name = os.fsdecode(b"\xff.npy")
    np.save(folder / name, np.arange(2))
    assert run("info", name).out.startswith("\\xff.npy   npy   ")
    assert json.loads(run("info", name, "-f", "json").out)["file"] == name


# Refusals and limits


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (
            [],
            2,
            "`FILE` is missing: expected FILE...\n"
            "hint: `gathercli info '[[1,2],[3,8]]'` is an example\n",
        ),
        (
            ["[1]", "--data-dtype", "nosuch"],
            2,
            "unknown dtype `nosuch`: expected one of bool int8 int16 int32 int64 uint8 uint16 "
            "uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string, "
            "or one such as float8_e4m3fn, int4\n"
            "rule: dtype\n",
        ),
        (
            ["[1]", "-f", "oip"],
            2,
            "`-f` is `oip`: expected auto, pretty or json\n"
            "hint: `gathercli info --help` lists the options\n",
        ),
        (
            ["zeros:1000", "--max-bytes", "1K"],
            65,
            "the tensor i64[1000] takes 8000 bytes: expected at most 1000 bytes\n"
            "hint: `--max-bytes 0` lifts the limit\nrule: limit\n",
        ),
        (
            ["m.npz#c"],
            65,
            "m.npz: the archive has `a` and `b`: expected the member `c`\nrule: npz\n",
        ),
        (
            ["x.npy#c"],
            65,
            "x.npy: a .npy file holds one tensor and no member `c`: expected no key\n"
            "hint: `x.npy`\nrule: npy\n",
        ),
    ],
)
def test_a_refusal_says_what_was_found_and_what_was_expected(
    words: list[str], status: int, message: str, run: Run, folder: Path
) -> None:
    np.save(folder / "x.npy", np.arange(2))
    np.savez(folder / "m.npz", a=np.arange(2), b=np.arange(2))
    assert run("info", *words) == (status, "", f"error: {message}")


def test_a_mapped_file_is_described_within_a_small_limit(run: Run, folder: Path) -> None:
    np.save(folder / "x.npy", np.arange(1 << 18))
    ran = run("info", "x.npy", "--max-bytes", "1K")
    assert (ran.status, ran.err) == (0, "")
    assert "max        262143 at [262143]\n" in ran.out
    assert run("info", "-", "--max-bytes", "1K", stdin=b"[" + b" " * 2000 + b"1]").status == 65


def test_bfloat16_saved_as_opaque_bytes_needs_its_type(run: Run, folder: Path) -> None:
    held = next(held for held in DTYPES if held.name == "bfloat16")
    (folder / "x.npy").write_bytes(encoded(Tensor(held, np.array([0x3F80], "u2")), "npy"))
    assert "`--data-dtype bfloat16` reads it" in run("info", "x.npy").err
    out = run("info", "x.npy", "--data-dtype", "bf16").out
    assert out.splitlines()[1] == "bfloat16[1]   1 element   2 bytes of data   little-endian"
    assert held.kind is Kind.FLOAT
