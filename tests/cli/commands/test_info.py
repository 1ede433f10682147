from __future__ import annotations

import json
import os
import re
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
import safetensors.numpy

from gathercli.compute import summary
from gathercli.compute.tensor import Tensor
from gathercli.io import save
from gathercli.spec.dtypes import DTYPES, Kind
from tests.io.formats.test_formats import raw_token, specials
from tests.tensorfiles import archive, encoded, npy, saved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


# The whole text, one of each kind

TEXTS: Final = {
    '[1.5,"NaN","Infinity",-2]': (
        '[1.5,"NaN","Infinity",-2]   literal\n'
        "float64[4]   4 elements   32 bytes of data\n"
        "min        -2 at [3]\n"
        "max        inf at [2]\n"
        "mean       -0.25 of the finite\n"
        "NaN        1\n"
        "infinite   1\n"
        "histogram  -2 █              █ 1.5   16 bins, at most 1 in one\n"
        "\n"
        "[0]  [1]  [2]  [3]\n"
        "1.5  nan  inf   -2\n"
    ),
    "2xf32=nan nan": (
        "2xf32=nan nan   literal\n"
        "float32[2]   2 elements   8 bytes of data\n"
        "NaN        2\n"
        "infinite   0\n"
        "\n"
        "[0]  [1]\n"
        "nan  nan\n"
    ),
    "2x3xi16=5 -1 5 0 7 7": (
        "2x3xi16=5 -1 5 0 7 7   literal\n"
        "int16[2,3]   6 elements   12 bytes of data   C order\n"
        "min        -1 at [0,1]\n"
        "max        7 at [1,1]\n"
        "mean       3.83333\n"
        "histogram  -1 ▄▄    █ █ 7   9 bins, at most 2 in one\n"
        "\n"
        "   0   1  2\n"
        "0  5  -1  5\n"
        "1  0   7  7\n"
    ),
    "[18446744073709551615,0]": (
        "[18446744073709551615,0]   literal\n"
        "uint64[2]   2 elements   16 bytes of data\n"
        "min        0 at [1]\n"
        "max        18446744073709551615 at [0]\n"
        "mean       9.22337e+18\n"
        "histogram  0 █              █ 18446744073709551615   16 bins, at most 1 in one\n"
        "\n"
        "                 [0]  [1]\n"
        "18446744073709551615    0\n"
    ),
    "2x2xbool=true false true true": (
        "2x2xbool=true false true true   literal\n"
        "bool[2,2]   4 elements   4 bytes of data   C order\n"
        "true       3 of 4\n"
        "\n"
        "      0      1\n"
        "0  true  false\n"
        "1  true   true\n"
    ),
    "2xc64=1+2j nan+1j": (
        "2xc64=1+2j nan+1j   literal\n"
        "complex64[2]   2 elements   16 bytes of data\n"
        "mean       1+2j of the finite\n"
        "NaN        1\n"
        "infinite   0\n"
        "\n"
        " [0]     [1]\n"
        "1+2j  nan+1j\n"
    ),
    '["a","\\u001b[31m"]': (
        '["a","\\u001b[31m"]   literal\n'
        "string[2]   2 elements   40 bytes of data\n"
        "longest    5 characters\n"
        "\n"
        "[0]  [1]\n"
        '"a"  "\\x1b[31m"\n'
    ),
    "2x0xf16=": (
        "2x0xf16=   literal\n"
        "float16[2,0]   0 elements   0 bytes of data   C order\n"
        "NaN        0\n"
        "infinite   0\n"
        "\n"
        "empty: no elements\n"
    ),
    "[]": (
        "[]   literal\n"
        "float64[0]   0 elements   0 bytes of data\n"
        "NaN        0\n"
        "infinite   0\n"
        "\n"
        "empty: no elements\n"
    ),
    "xbf16=1.5": (
        "xbf16=1.5   literal\n"
        "bfloat16[]   1 element   2 bytes of data\n"
        "min        1.5 at []\n"
        "max        1.5 at []\n"
        "mean       1.5\n"
        "NaN        0\n"
        "infinite   0\n"
        "histogram  1.5 █ 1.5   1 bin, at most 1 in one\n"
        "\n"
        "1.5\n"
    ),
    "zeros:3": (
        "zeros:3   literal\n"
        "int64[3]   3 elements   24 bytes of data\n"
        "min        0 at [0]\n"
        "max        0 at [0]\n"
        "mean       0\n"
        "histogram  0 █ 0   1 bin, at most 3 in one\n"
        "\n"
        "[0]  [1]  [2]\n"
        "  0    0    0\n"
    ),
}


@pytest.mark.parametrize("token", TEXTS)
def test_a_tensor_of_every_kind_is_described(token: str, run: Run) -> None:
    assert run("info", token) == (0, TEXTS[token], "")


def test_a_file_says_its_bytes_its_order_and_its_byte_order(run: Run, folder: Path) -> None:
    np.save(folder / "x.npy", np.asfortranarray(np.array([[1, 2], [3, 4]], ">i4")))
    head = "int32[2,2]   4 elements   16 bytes of data   Fortran order   big-endian\n"
    assert run("info", "x.npy").out.startswith(f"x.npy   npy   144 bytes\n{head}min        1 at ")
    assert run("info", "--header", "x.npy") == (0, f"x.npy   npy   144 bytes\n{head}", "")
    found = json.loads(run("info", "x.npy", "-f", "json").out)
    assert (found["order"], found["byte_order"], found["preview"]) == ("F", "big", [1, 2, 3, 4])


def test_an_archive_is_listed_and_a_member_described(run: Run, folder: Path) -> None:
    np.savez(folder / "m.npz", weights=np.zeros((10, 200)), b=np.array(True))
    size = (folder / "m.npz").stat().st_size
    assert run("info", "m.npz") == (
        0,
        f"m.npz   npz   {size:,} bytes\n".replace(",", " ")
        + "  weights   float64[10,200]   16 000 bytes\n"
        "  b         bool[]            1 byte\n",
        "",
    )
    assert run("info", "m.npz#b").out.endswith(
        "bool[]   1 element   1 byte of data\ntrue       1 of 1\n\ntrue\n"
    )


def test_a_member_that_cannot_be_described_does_not_hide_the_others(run: Run, folder: Path) -> None:
    members = {"good.npy": saved(np.arange(2)), "bad.npy": npy("'|O'"), "\x1b[31m.txt": b"?"}
    (folder / "m.npz").write_bytes(archive(members))
    ran = run("info", "m.npz")
    assert (ran.status, ran.err) == (65, "")
    good, bad, text = (line.split(maxsplit=1) for line in ran.out.splitlines()[1:])
    assert (good[0], good[1].split()) == ("good", ["int64[2]", "16", "bytes"])
    assert bad[0] == "bad"
    assert bad[1].startswith("the member `bad.npy`: the type is object, which only pickle")
    assert text == [
        "\\x1b[31m.txt",
        "the member `\\x1b[31m.txt` is not a .npy file: expected .npy members",
    ]
    found = json.loads(run("info", "m.npz", "-f", "json").out)["members"]
    assert [sorted(each) == ["error", "name"] for each in found] == [False, True, True]


@pytest.mark.parametrize("fmt", ["json", "oip", "safetensors", "npz"])
def test_every_format_of_several_tensors_is_listed(fmt: str, run: Run, folder: Path) -> None:
    np.savez(folder / "m.npz", a=np.arange(3), bb=np.zeros((2, 2)))
    assert run("convert", "m.npz", "x", "--to", fmt).status == 0
    ran = run("info", "x")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[0].split("   ")[:2] == ["x", fmt]
    assert ran.out.splitlines()[1:] == [
        "  a    int64[3]       24 bytes",
        "  bb   float64[2,2]   32 bytes",
    ]


@pytest.mark.parametrize("fmt", [fmt for fmt in save.STREAMED_FORMATS if fmt != "literal"])
def test_a_file_of_every_format_has_the_same_summary(fmt: str, run: Run, folder: Path) -> None:
    held = DTYPES[2]  # int16
    tensor = Tensor(held, np.array([[5, -1], [7, 7]], np.int16))
    (folder / "x").write_bytes(encoded(tensor, fmt))
    token = raw_token(tensor, "x") if fmt == "bin" else "x"
    ran = run("info", token, "-f", "json", "--data-dtype", "i16")
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert (found["file"], found["format"]) == ("x", fmt)
    assert found["bytes"] == (folder / "x").stat().st_size
    assert (found["dtype"], found["shape"], found["data_bytes"]) == ("int16", [2, 2], 8)
    assert found["min"] == {"value": -1, "at": [0, 1]}
    assert found["max"] == {"value": 7, "at": [1, 0]}
    assert (found["mean"], found["preview"]) == (4.5, [5, -1, 7, 7])


# Widths


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("token", ["arange:4x100", "rand:3x50xf32", "zeros:30x30x30xi8", "x.npz"])
def test_a_terminal_is_filled_no_further_than_its_width(
    token: str, width: int, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(folder / "x.npz", a=np.arange(3), b=np.zeros((2, 2)))
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("info", token, "--color", "never", terminal=(1,)).out
    beyond = [line for line in out.splitlines() if len(line) > width]
    assert [
        line for line in beyond if "bytes of data" not in line and "histogram" not in line
    ] == []
    if token == "arange:4x100":
        shown = next(line for line in out.splitlines() if line.startswith("0 "))
        assert len(shown) > width // 2 or "…" in shown


def test_a_pipe_has_one_width_unless_columns_gives_it_another(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = run("info", "arange:4x100").out.splitlines()
    monkeypatch.setenv("COLUMNS", "40")
    narrow = run("info", "arange:4x100").out.splitlines()

    assert rows[-2].startswith("3  300  301  302  303  304  305  306  307  308  …  391")
    assert rows[-1] == "82 of 100 columns not shown"
    assert narrow[-2:] == ["3  300  301  302  …  397  398  399", "94 of 100 columns not shown"]


def test_long_tensors_show_their_first_and_last_rows(run: Run) -> None:
    out = run("info", "arange:20x2").out
    assert out.endswith(
        "     0   1\n 0   0   1\n 1   2   3\n 2   4   5\n ⋮\n17  34  35\n18  36  37\n19  38  39\n"
        "14 of 20 rows not shown\n"
    )
    assert "--full" not in out


def test_precision_and_colour_are_obeyed(run: Run) -> None:
    words = ("info", "[0.123456789,2]")
    assert "mean       1.06\n" in run(*words, "--precision", "3").out
    assert "mean       1.0617283945\n" in run(*words, "--precision", "12").out
    colored = run(*words, "--color", "always").out
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == run(*words).out
    assert run(*words, "-f", "pretty") == run(*words)


# JSON


def test_json_is_one_line_a_file_with_every_field(run: Run, folder: Path) -> None:
    np.save(folder / "x.npy", np.array([[1.5, np.nan], [np.inf, -2]], np.float32))
    ran = run("info", "x.npy", "[1]", "-f", "json")
    assert (ran.status, ran.err) == (0, "")
    first, second = map(json.loads, ran.out.splitlines())
    assert first == {
        "file": "x.npy",
        "format": "npy",
        "bytes": 144,
        "name": None,
        "dtype": "float32",
        "shape": [2, 2],
        "data_bytes": 16,
        "order": "C",
        "byte_order": "little",
        "min": {"value": -2.0, "at": [1, 1]},
        "max": {"value": "Infinity", "at": [1, 0]},
        "mean": -0.25,
        "nan": 1,
        "inf": 1,
        "histogram": {
            "edges": [-2 + 3.5 / 16 * at for at in range(17)],
            "counts": [1, *[0] * 14, 1],
        },
        "preview": [1.5, "NaN", "Infinity", -2.0],
    }
    assert (second["file"], second["format"], second["bytes"]) == ("[1]", "literal", None)
    assert (second["order"], second["byte_order"]) == ("C", None)


@pytest.mark.parametrize(
    ("token", "fields"),
    [
        ("3xbool=true", {"true": 3, "preview": [True] * 3}),
        ('2xstr="ab"', {"longest": 2, "preview": ["ab", "ab"]}),
        ("xc64=1-2j", {"mean": [1.0, -2.0], "nan": 0, "inf": 0, "preview": [[1.0, -2.0]]}),
        ("1xc64=nan", {"nan": 1, "inf": 0, "preview": [["NaN", 0.0]]}),
        ("1xf32=nan", {"nan": 1, "inf": 0, "preview": ["NaN"]}),
        ("0xi8=", {"preview": []}),
        ("0xf64=", {"nan": 0, "inf": 0, "preview": []}),
    ],
)
def test_json_names_only_what_the_type_has(token: str, fields: dict[str, Any], run: Run) -> None:
    found = json.loads(run("info", token, "-f", "json").out)
    common = ("file", "format", "bytes", "name", "dtype", "shape", "data_bytes", "order")
    assert {k: v for k, v in found.items() if k not in (*common, "byte_order")} == fields


def test_the_preview_is_of_ten_elements_in_the_digits_of_their_type(run: Run) -> None:
    assert json.loads(run("info", "arange:50", "-f", "json").out)["preview"] == list(range(10))
    ran = run("info", "2xf32=0.1", "-f", "json")
    assert '"preview": [0.1, 0.1]' in ran.out
    assert '"min": {"value": 0.1,' in ran.out


@pytest.mark.parametrize("held", DTYPES, ids=str)
def test_json_is_json_for_the_edges_of_every_type(held: Any, run: Run, folder: Path) -> None:
    (folder / "x").write_bytes(encoded(specials(held), "npy"))
    ran = run("info", "x", "-f", "json", "--data-dtype", held.name)
    assert (ran.status, ran.err) == (0, "")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found = json.loads(ran.out, parse_constant=refuse)
    assert found["dtype"] == held.name
    assert len(found["preview"]) == min(10, specials(held).array.size)
    if held.integral:
        assert (found["min"]["value"], found["max"]["value"]) == held.bounds
    pretty = run("info", "x", "--data-dtype", held.name)
    assert (pretty.status, pretty.err) == (0, "")


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
