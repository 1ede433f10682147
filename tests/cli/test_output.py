"""Results: formats, output files, non-finite values, the view of a terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from tests.conftest import only_error

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Program, Run


FORMATS: Final = {
    "json": "[4,0]\n",
    "auto": "[4,0]\n",
    "literal": "2xi64=[4 0]\n",
    "oip": (
        '{"outputs":[{"name":"output","shape":[2],"datatype":"INT64","parameters":'
        '{"operator":"openvino.Gather-8","axis":0,"batch_dims":0,"zero_filled":1},'
        '"data":[4,0]}]}\n'
    ),
    "pretty": (
        "openvino.Gather-8   axis 0   batch_dims 0   out[i] = data[indices[i]]\n"
        "data i64[5]   indices i64[2]   out i64[2]\n"
        "shape  data[:0] + indices[0:] + data[1:]  =  [] + [2] + []  =  [2]\n"
        "\n"
    ),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("option", ["-f", "--format"])
def test_every_text_format_goes_to_stdout(fmt: str, option: str, run: Run) -> None:
    ran = run("gather", "[1,2,3,4,5]", "[3,10]", option, fmt)

    assert ran.status == 0
    assert ran.err == "note: 1 of 2 indices outside -5..4, zero-filled; first 10 at [1]\n"
    assert ran.out.startswith(FORMATS[fmt])
    assert fmt == "pretty" or ran.out == FORMATS[fmt]


def test_npy_in_a_pipe_is_what_numpy_saves(run: Run, folder: Path) -> None:
    ran = run("gather", "[1,2,3]", "[2,0]", "-f", "npy")
    np.save(folder / "x.npy", np.array([3, 1]))

    assert (ran.status, ran.raw, ran.err) == (0, (folder / "x.npy").read_bytes(), "")


def test_one_run_feeds_the_next_in_every_format_a_pipe_carries(run: Run) -> None:
    for fmt in ("json", "npy", "oip"):
        first = run("gather", "2x2xf32=1 2 3 4", "[1,0]", "-f", fmt)
        assert run("gather", "-", "0,", stdin=first.raw) == (0, "[[3.0,4.0]]\n", "")


def test_the_suffix_of_the_output_picks_the_format_and_stdout_stays_empty(
    run: Run, folder: Path
) -> None:
    for name in ("out.npy", "out.npz", "out.json", "OUT.NPY"):
        assert run("gather", "[1,2,3]", "[2,0]", "-o", name) == (0, "", "")
    assert np.load(folder / "out.npy").tolist() == [3, 1]
    assert np.load(folder / "OUT.NPY").tolist() == [3, 1]
    with np.load(folder / "out.npz") as archive:
        assert archive.files == ["output"]
        assert archive["output"].tolist() == [3, 1]
    assert (folder / "out.json").read_text() == "[3,1]\n"


@pytest.mark.parametrize("fmt", ["json", "oip", "literal", "pretty"])
def test_force_format_overrides_the_suffix(fmt: str, run: Run, folder: Path) -> None:
    words = ("gather", "[1,2,3]", "[2,0]", "-f", fmt)
    on_stdout = run(*words)

    assert run(*words, "--output", "x.npy", "--force-format") == (0, "", "")

    assert (folder / "x.npy").read_text() == on_stdout.out


def test_the_output_dash_is_stdout(run: Run, folder: Path) -> None:
    assert run("gather", "[1,2,3]", "[2,0]", "-o", "-") == (0, "[3,1]\n", "")
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (
            "out.txt",
            "has the suffix `.txt`: expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr",
        ),
        ("out", "has no suffix: expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr"),
        (".npy", "has no suffix: expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr"),
    ],
)
def test_an_unknown_suffix_without_a_format_is_a_usage_error(
    name: str, what: str, run: Run, folder: Path
) -> None:
    assert run("gather", "[1]", "0", "-o", name) == (
        2,
        "",
        f"error: `{name}` {what}\n"
        f"hint: the suffix names the format, as in `{name.removesuffix('.txt')}.npy`\n",
    )
    assert os.listdir(folder) == []


@pytest.mark.parametrize("command", ["gather", "gather-elements"])
@pytest.mark.parametrize(
    ("name", "fmt"),
    [("out.npy", "json"), ("out.json", "npy"), ("a/out.NPY", "pretty"), ("out.zarr", "literal")],
)
def test_a_format_other_than_that_of_the_suffix_is_refused(
    command: str, name: str, fmt: str, run: Run, folder: Path
) -> None:
    (folder / "a").mkdir()
    words = (command, "[1]", "[0]", "--axis", "0", "-o", name, "-f", fmt)

    ran = run(*words)

    assert ran == (
        2,
        "",
        f"error: `{name}` has the suffix `{os.path.splitext(name)[1].lower()}`, and the format is "
        f"`-f {fmt}`: expected one format\n"
        f"hint: `--force-format` writes {fmt} into it all the same\n",
    )
    assert not (folder / name).exists()
    assert run(*words, "--force-format").status == 0
    assert (folder / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "fmt"),
    [("x.npy", "npy"), ("x.json", "json"), ("y.json", "oip"), ("x.txt", "pretty"), ("x", "npy")],
)
def test_a_format_that_the_suffix_allows_is_accepted(
    name: str, fmt: str, run: Run, folder: Path
) -> None:
    assert run("gather", "[1]", "[0]", "-o", name, "-f", fmt) == (0, "", "")

    assert (folder / name).exists()


def test_force_format_without_a_format_is_refused(run: Run) -> None:
    assert run("gather", "[1]", "[0]", "--force-format") == (
        2,
        "",
        "error: `--force-format` is given without `-f`: expected both\n",
    )


def test_no_clobber_keeps_an_existing_file(run: Run, folder: Path) -> None:
    (folder / "x.npy").write_text("mine")

    ran = run("gather", "[1]", "0", "-o", "x.npy", "--no-clobber")

    assert ran.status == 73
    assert "`x.npy`" in only_error(ran)
    assert (folder / "x.npy").read_text() == "mine"
    assert run("gather", "[1]", "0", "-o", "y.npy", "--no-clobber") == (0, "", "")


@pytest.mark.parametrize("name", ["nosuch/x.npy", "file/x.npy", "folder.npy", "."])
def test_an_output_that_cannot_be_created_is_73(name: str, run: Run, folder: Path) -> None:
    (folder / "file").write_text("mine")
    (folder / "folder.npy").mkdir()

    ran = run("gather", "[1]", "0", "-o", name, "-f", "npy")

    assert ran.status == 73
    assert f"`{name}`" in only_error(ran)
    assert ran.err.endswith("rule: output\n")
    assert sorted(os.listdir(folder)) == ["file", "folder.npy"]


def test_an_empty_name_of_an_output_is_refused_before_anything_is_read(run: Run) -> None:
    ran = run("gather", "[1]", "0", "-o", "", "-f", "npy")
    assert ran.status in (2, 73)
    only_error(ran)


@pytest.mark.parametrize(
    ("way", "out"),
    [
        ("quoted", '["NaN","Infinity","-Infinity",1.5]'),
        ("bare", "[NaN,Infinity,-Infinity,1.5]"),
        ("null", "[null,null,null,1.5]"),
    ],
)
def test_json_writes_non_finite_floats_as_the_option_says(way: str, out: str, run: Run) -> None:
    words = ("gather", "4xf32=nan inf -inf 1.5", "0,1,2,3", "--nonfinite", way)

    assert run(*words) == (0, out + "\n", "")
    assert f'"data":{out}' in run(*words, "-f", "oip").out


@pytest.mark.parametrize("fmt", ["json", "oip"])
def test_nonfinite_error_refuses_before_the_first_byte(fmt: str, run: Run, folder: Path) -> None:
    words = ("gather", "3xf32=1 nan inf", "0,1,2", "--nonfinite", "error", "-f", fmt)
    for output in ("-", "x.json"):
        ran = run(*words, "-o", output)
        assert ran.status == 65
        assert "nan at `[1]`" in only_error(ran)

    assert os.listdir(folder) == []
    assert run("gather", "3xf32=1 nan inf", "0,", "--nonfinite", "error").status == 0


@pytest.mark.parametrize(
    ("words", "out", "note"),
    [
        (["2xc64=1+2j 3", "0,"], "[[1.0,2.0]]", "plain JSON cannot carry complex numbers"),
        (["zeros:0x3", "[]"], "[]", "plain JSON cannot carry the shape [0,3]"),
        (["zeros:2x0x3", "[1]"], "[[]]", "plain JSON cannot carry the shape [1,0,3]"),
    ],
)
def test_a_note_recommends_another_format_where_plain_json_loses_something(
    words: list[str], out: str, note: str, run: Run
) -> None:
    ran = run("gather", *words)

    assert (ran.status, ran.out) == (0, out + "\n")
    assert ran.err.startswith(f"note: {note}")
    assert "oip" in ran.err
    assert "npy" in ran.err
    assert run("gather", *words, "-q").err == ""
    assert run("gather", *words, "-f", "oip").err == ""


def test_bfloat16_is_written_as_two_opaque_bytes_with_a_note(run: Run, folder: Path) -> None:
    ran = run("gather", "2xbf16=1 -2", "0,1", "-o", "b.npy")
    assert ran.status == 0
    assert ran.err.startswith("note: bfloat16 is written as <V2")
    assert np.load(folder / "b.npy").view(np.uint16).tolist() == [0x3F80, 0xC000]
    assert run("gather", "b.npy", "1", "--data-dtype", "bfloat16") == (0, "-2.0\n", "")
    refused = run("gather", "b.npy", "1")
    assert refused.status == 65
    assert "--data-dtype bfloat16" in refused.err


def test_precision_applies_to_the_view_but_not_to_json(run: Run) -> None:
    words = ("gather", "[0.123456789,2]", "0,1")

    assert "0.123457" in run(*words, "-f", "pretty").out
    assert "0.123 " in run(*words, "-f", "pretty", "--precision", "3").out
    assert run(*words, "--precision", "3").out == "[0.123456789,2.0]\n"


def test_full_shows_every_row(run: Run) -> None:
    words = ("gather", "arange:2000x3", "arange:2000", "-f", "pretty")

    short, whole = run(*words).out, run(*words, "--full").out

    assert "1 994 of 2 000 rows not shown" in short
    assert "not shown" not in whole
    assert len(whole.splitlines()) > 2000


@pytest.mark.parametrize("shape", ["4000x2", "4000", "2x4000"])
def test_showing_all_of_a_tensor_takes_time_in_proportion_to_its_size(shape: str, run: Run) -> None:
    rows = shape.split("x", maxsplit=1)[0]

    ran = run("gather", f"arange:{shape}", f"arange:{rows}", "-f", "pretty", "--full")

    assert ran.status == 0


def test_a_terminal_gets_the_pretty_view_and_a_pipe_the_list(run: Run) -> None:
    view = run("gather", "[1,2,3]", "[2,0]", "--color", "never", terminal=(1,))

    assert view == (0, run("gather", "[1,2,3]", "[2,0]", "-f", "pretty").out, "")
    assert run("gather", "[1,2,3]", "[2,0]", "-f", "json", terminal=(1,)).out == "[3,1]\n"


def test_binary_never_goes_to_a_terminal(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "[2,0]", "-f", "npy", terminal=(1,))
    assert ran.status == 2
    assert "binary" in only_error(ran)
    for fd in ("1", "/dev/stdout"):
        name = fd if fd.startswith("/") else f"/dev/fd/{fd}"
        ran = run("gather", "[1,2,3]", "[2,0]", "-f", "npy", "-o", name, terminal=(1,))
        assert ran.status == 2
        assert "binary" in only_error(ran)


def test_a_terminal_is_told_which_file_was_written(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "[2,0]", "-o", "x.npy", terminal=(2,))

    assert ran == (0, "", "wrote x.npy: i64[2]\n")
    assert run("gather", "[1,2,3]", "[2,0]", "-o", "x.npy", "-q", terminal=(2,)).err == ""


def test_the_output_dev_stdout_is_written_at_the_position_of_stdout(
    program: Program, folder: Path
) -> None:
    ran = program(
        "(echo first; $G gather '[7]' 0 -o /dev/stdout -f json; echo last) > x; cat x; "
        "echo more > y; $G gather '[7]' 0 -o /dev/stdout -f json >> y; cat y"
    )

    assert ran.stdout == b"first\n7\nlast\nmore\n7\n"
    assert sorted(os.listdir(folder)) == ["x", "y"]


def test_a_large_text_is_written_in_blocks_without_a_seam(run: Run) -> None:
    ran = run("gather", "zeros:1x400000xu8", "0,0", "-q")

    assert ran.out == "[" + ",".join(["[" + ",".join("0" * 400_000) + "]"] * 2) + "]\n"


def test_a_device_gets_the_format_of_a_pipe(run: Run) -> None:
    assert run("gather", "[7]", "0", "-o", "/dev/stdout") == (0, "7\n", "")


def test_an_unknown_suffix_is_refused_before_an_input_is_read(run: Run) -> None:
    assert run("gather", "missing.npy", "0", "-o", "x.txt").status == 2
