"""What `info` prints of tensors, as text and as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.compute.tensor import Tensor
from gathercli.io import save
from gathercli.spec.dtypes import DTYPES
from tests.io.formats.test_formats import raw_token, specials
from tests.tensorfiles import archive, encoded, npy, saved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


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
