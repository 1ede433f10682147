"""Folders and several sources to convert, and what their files are called."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from tests.cli.commands.test_convert import files, names
from tests.tensorfiles import saved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

__all__ = ["files"]


BROKEN: Final = (
    "error: bad.json: expecting value at line 1, column 4, at the end of the text: "
    "expected JSON\nrule: json\n"
)


def test_a_folder_is_made_with_its_parents(run: Run, files: Path) -> None:
    assert run("convert", "a.npy", "b.json", "-d", "new/deep", "--to", "pb") == (0, "", "")
    assert names(files / "new") == ["deep/a.pb", "deep/b.pb"]


@pytest.mark.parametrize("target", ["out", "out/", "./out", "link"])
def test_a_folder_may_come_last_instead(target: str, run: Run, files: Path) -> None:
    (files / "out").mkdir()
    (files / "link").symlink_to("out")
    assert run("convert", "a.npy", "b.json", target, "--to", "npz") == (0, "", "")
    assert names(files / "out") == ["a.npz", "b.npz"]


def test_a_name_that_ends_with_a_slash_is_a_folder_to_be_made(run: Run, files: Path) -> None:
    assert run("convert", "a.npy", "new/", "--to", "json") == (0, "", "")
    assert names(files / "new") == ["a.json"]


def test_sources_of_other_folders_come_into_the_one_folder(run: Run, files: Path) -> None:
    (files / "in").mkdir()
    np.save(files / "in/c.d.npy", np.arange(2))
    source = str(files / "in/c.d.npy")
    assert run("convert", source, "./a.npy", "@b.json", "-d", "out", "--to", "json").status == 0
    assert names(files / "out") == ["a.json", "b.json", "c.d.json"]


def test_a_folder_may_be_converted_in_its_place(run: Run, files: Path) -> None:
    words = ("--to", "npy", "--dtype", "f32", "-q")
    assert run("convert", "a.npy", "b.json", "-d", ".", *words) == (0, "", "")
    assert [np.load(files / f"{name}.npy").dtype.name for name in "ab"] == ["float32"] * 2


def test_what_is_broken_does_not_keep_the_others(run: Run, files: Path) -> None:
    ran = run("convert", "a.npy", "bad.json", "b.json", "-d", "out", "--to", "npy")
    assert ran == (65, "", BROKEN)
    assert names(files / "out") == ["a.npy", "b.npy"]


def test_the_status_is_that_of_the_first_refusal(run: Run, files: Path) -> None:
    assert files
    words = ("-d", "out", "--to", "npy")
    assert run("convert", "nosuch.npy", "bad.json", "a.npy", *words).status == 66
    assert run("convert", "bad.json", "nosuch.npy", "a.npy", *words).status == 65
    ran = run("convert", "a.npy", "nosuch.npy", "bad.json", *words)
    assert ran.status == 66
    assert ran.err.count("error: ") == 2


def test_an_output_that_cannot_be_written_does_not_keep_the_others(run: Run, files: Path) -> None:
    (files / "out/a.npy").mkdir(parents=True)
    ran = run("convert", "a.npy", "b.json", "-d", "out", "--to", "npy")
    assert ran == (
        73,
        "",
        "error: a.npy: `out/a.npy` cannot be written (it is a directory): expected the name of a "
        "file\nrule: output\n",
    )
    assert names(files / "out") == ["b.npy"]


def test_json_errors_are_one_line_a_refusal_and_nothing_else(run: Run, files: Path) -> None:
    assert files
    words = ("-d", "out", "--to", "npy", "--json-errors")
    ran = run("convert", "bad.json", "a.npy", "nosuch.npy", *words)
    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert [(line["status"], line["rule"]) for line in lines] == [(65, "json"), (66, "missing")]
    ran = run("convert", "a.npy", "--json-errors")
    (line,) = ran.err.splitlines()
    assert json.loads(line)["status"] == ran.status == 2


def test_json_errors_are_not_mixed_with_notes(run: Run, files: Path) -> None:
    assert files
    words = ("-d", "out", "--to", "bin", "--json-errors")
    ran = run("convert", "bad.json", "a.npy", *words)
    assert [json.loads(line)["rule"] for line in ran.err.splitlines()] == ["json"]


def test_notes_say_which_file_they_are_about_and_quiet_silences_them(run: Run, files: Path) -> None:
    assert files
    words = ("convert", "a.npy", "b.json", "-d", "out", "--to", "bin")
    assert run(*words) == (
        0,
        "",
        "note: raw bytes carry neither type nor shape; `bin:2xi64@out/a.bin` reads them\n"
        "note: raw bytes carry neither type nor shape; `bin:1x1xf64@out/b.bin` reads them\n",
    )
    assert run(*words, "-q") == (0, "", "")


def test_a_note_on_changed_elements_says_in_which_file(run: Run, files: Path) -> None:
    (files / "c.json").write_text("[0.1]")
    ran = run("convert", "b.json", "c.json", "-d", "out", "--to", "npy", "--dtype", "i8", "--lossy")
    assert (ran.status, ran.out) == (0, "")
    first, second = ran.err.splitlines()
    assert "1 of 1 element rounded" in first
    assert "b.json" in first
    assert "c.json" in second


def test_standard_input_becomes_a_file_named_so(run: Run, files: Path) -> None:
    assert run("convert", "-", "a.npy", "-d", "out", "--to", "json", stdin=b"[7]").status == 0
    assert names(files / "out") == ["a.json", "stdin.json"]
    assert run("convert", "bin:2xi8@-", "out", "--to", "json", stdin=b"\1\2").status == 0
    assert (files / "out/stdin.json").read_text() == "[1,2]\n"


def test_a_fifo_among_the_sources_is_read_once(run: Run, files: Path) -> None:
    os.mkfifo(files / "pipe.x")
    writer = threading.Thread(target=(files / "pipe.x").write_bytes, args=(b"[7]",))
    writer.start()
    assert run("convert", "a.npy", "pipe.x", "-d", "out", "--to", "json") == (0, "", "")
    writer.join()
    assert (files / "out/pipe.json").read_text() == "[7]\n"


def test_raw_sources_are_named_after_their_files(run: Run, files: Path) -> None:
    (files / "r.raw").write_bytes(bytes(16))
    assert run("convert", "bin:2xi64@r.raw", "-d", "out", "--to", "json") == (0, "", "")
    assert names(files / "out") == ["r.json"]


# What is refused before anything is read or written


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["a.npy", "a.json"], "`a.npy` and `a.json` would both become `a`"),
        (["a.npy", "a.npy"], "`a.npy` and `a.npy` would both become `a`"),
        (["a.npy", "./a.npy"], "`a.npy` and `./a.npy` would both become `a`"),
        (["b.json", "in/b.json"], "`b.json` and `in/b.json` would both become `b`"),
        (["m.npz#x", "m.x.npy"], "`m.npz#x` and `m.x.npy` would both become `m.x`"),
        (["a.npy", "bin:1xi8@a.raw"], "`a.npy` and `bin:1xi8@a.raw` would both become `a`"),
        (["-", "stdin.npy"], "`-` and `stdin.npy` would both become `stdin`"),
    ],
)
def test_sources_that_would_become_one_file_are_refused(
    sources: list[str], message: str, run: Run, files: Path
) -> None:
    before = names(files)
    assert run("convert", *sources, "-d", "out", "--to", "npy") == (
        2,
        "",
        f"error: {message}: expected different names\n",
    )
    assert names(files) == before
    assert not (files / "out").exists()


def test_an_output_that_is_another_source_is_refused(run: Run, folder: Path) -> None:
    np.savez(folder / "m.npz", a=np.arange(2), b=np.arange(3))
    (folder / "out").mkdir()
    np.save(folder / "out/m.a.npy", np.arange(9))
    ran = run("convert", "m.npz", "out/m.a.npy", "-d", "out", "--to", "npy")
    assert ran.status == 2
    assert ran.err.startswith(
        "error: m.npz#a: `m.npz` would become `out/m.a.npy`, which is a source itself: "
        "expected another folder\n"
    )
    assert np.load(folder / "out/m.a.npy").size == 9


def test_a_link_to_another_source_is_not_written_through(run: Run, files: Path) -> None:
    (files / "out").mkdir()
    (files / "out/a.json").symlink_to("../b.json")
    before = (files / "b.json").read_text()
    ran = run("convert", "a.npy", "b.json", "-d", "out", "--to", "json")
    assert ran.status == 2
    assert (files / "b.json").read_text() == before


USAGE: Final = [
    (
        ["a.npy"],
        "there is only `a.npy`: expected sources and then a file, or `-d DIR`\n"
        "hint: `a.json` after it is a file to write\n",
    ),
    (
        ["a.npy", "b.json", "c.npy"],
        "`c.npy` holds one tensor, and there are 2 sources: expected a folder for them, or a "
        "format that holds several\n"
        "hint: `c.npz` in its place holds several tensors, `c/ --to npy` is a folder for them\n",
    ),
    (
        ["a.npy", "-d", "out"],
        "a folder has no suffix: expected the format of its files\n"
        "hint: `--to npy` (or another) names it\n",
    ),
    (
        ["a.npy", "."],
        "a folder has no suffix: expected the format of its files\n"
        "hint: `--to npy` (or another) names it\n",
    ),
    (
        ["a.npy", "c"],
        "`c` has no suffix: expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr\n"
        "hint: the suffix names the format, as in `c.npy`\n",
    ),
    (
        ["a.npy", "c.\x1b[31m"],
        "`c.\\x1b[31m` has the suffix `.\\x1b[31m`: expected .npy, .npz, .json, .safetensors, "
        ".pb, .bin or .zarr\n"
        "hint: the suffix names the format, as in `c.npy`\n",
    ),
    (
        ["[1]", "-d", "out", "--to", "npy"],
        "`[1]` is not a file to name the output after: expected a file\n"
        "hint: `gathercli convert TENSOR FILE` writes one\n",
    ),
    (
        ["a.npy", "c.npy", "--lossy"],
        "`--lossy` is given without `--dtype`: expected both\n",
    ),
    (
        ["a.npy", "c.npy", "--force-format"],
        "`--force-format` is given without `--to`: expected both\n",
    ),
    (
        ["a.npy", "b.json", "c.json", "--to", "npy"],
        "`c.json` has the suffix `.json`, and the format is `--to npy`: expected one format\n"
        "hint: `-d out` writes a file for every source\n",
    ),
    (
        ["a.npy", "c.npy", "--truncate"],
        "`--truncate` is given without `--dtype`: expected both\n",
    ),
    (
        ["a.npy", "c.npy", "--lossy", "--truncate", "--dtype", "f16"],
        "`--truncate` is given with `--dtype float16`: expected an integer type\n"
        "hint: `--lossy` in its place converts to the nearest value\n",
    ),
    (
        ["-", "-", "-d", "out", "--to", "npy"],
        "`-` is used twice, but standard input can be read only once: expected it for one tensor\n"
        "hint: one stream that holds both is `-#data` and `-#indices`\n",
    ),
    (
        ["a.npy", "c.npy", "--to", "xml"],
        "`--to` is `xml`: expected npy, npz, json, oip, literal, safetensors, pb, bin or zarr\n"
        "hint: `gathercli convert --help` lists the options\n",
    ),
    (
        ["a.npy", "c.npy", "--dtype", "flot32"],
        "unknown dtype `flot32`: expected one of bool int8 int16 int32 int64 uint8 uint16 uint32 "
        "uint64 float16 bfloat16 float32 float64 complex64 complex128 string, "
        "or one such as float8_e4m3fn, int4\n"
        "hint: did you mean `float32`?\nrule: dtype\n",
    ),
    (
        [],
        "`SRC` is missing: expected SRC... DEST\n"
        "hint: `gathercli convert arange:2x3 - --dtype bf16 --to literal` is an example\n",
    ),
]


@pytest.mark.parametrize(("words", "message"), USAGE)
def test_a_usage_error_is_one_message_and_nothing_is_made(
    words: list[str], message: str, run: Run, files: Path
) -> None:
    before = sorted(os.listdir(files))
    assert run("convert", *words) == (2, "", f"error: {message}")
    assert sorted(os.listdir(files)) == before


def test_a_folder_that_cannot_be_made_is_73(run: Run, files: Path) -> None:
    assert files
    assert run("convert", "b.json", "-d", "a.npy/out", "--to", "npy") == (
        73,
        "",
        "error: the folder `a.npy/out` cannot be made (not a directory): "
        "expected one that can be written\nrule: output\n",
    )
    assert run("convert", "b.json", "-d", "a.npy", "--to", "npy").status == 73


def test_no_folder_is_left_behind_when_nothing_could_be_read(run: Run, files: Path) -> None:
    assert run("convert", "nosuch.npy", "-d", "out", "--to", "npy").status == 66
    assert not (files / "out").exists()


def test_several_sources_become_one_file_of_a_format_that_holds_several(
    run: Run, folder: Path
) -> None:
    np.save(folder / "a.npy", np.arange(2))
    np.savez(folder / "z.npz", x=np.array([1.5]), y=np.array([True]))
    assert run("convert", "a.npy", "z.npz", "all.json") == (0, "", "")
    assert (folder / "all.json").read_text() == '{"a":[0,1],"z.x":[1.5],"z.y":[true]}\n'
    assert run("convert", "a.npy", "z.npz#x", "-").out == '{"a":[0,1],"z.x":[1.5]}\n'
    ran = run("convert", "a.npy", "./a.npy", "b.npz")
    assert (ran.status, ran.out) == (2, "")
    assert "would both become `a`" in ran.err
    assert not (folder / "b.npz").exists()


def test_a_type_is_declared_for_those_members_that_name_none(run: Run, folder: Path) -> None:
    np.savez(folder / "m.npz", half=np.zeros(2, "V2"), ids=np.arange(2))
    assert run("convert", "m.npz", "m.json", "--data-dtype", "bf16").status == 0
    assert (folder / "m.json").read_text() == '{"half":[0.0,0.0],"ids":[0,1]}\n'


# A target that was forgotten


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (
            "a.npy b.npy",
            "`b.npy` exists, and a copy of `a.npy` would replace it",
            "`-d out --to json` writes a file for every source; cp replaces a file with another",
        ),
        (
            "a.npy b.npy --to npy",
            "`b.npy` exists, and a copy of `a.npy` would replace it",
            "`-d out` writes a file for every source; cp replaces a file with another",
        ),
        (
            "x.npz y.npz",
            "`y.npz` exists, and a copy of `x.npz` would replace it",
            "`-d out --to npy` writes a file for every source; cp replaces a file with another",
        ),
        (
            "bin:2xi64@x.bin y.bin",
            "`y.bin` exists, and a copy of `x.bin` would replace it",
            "`-d out --to npy` writes a file for every source; cp replaces a file with another",
        ),
        (
            "x.zarr y.zarr",
            "`y.zarr` exists, and a copy of `x.zarr` would replace it",
            "`-d out --to npy` writes a file for every source; cp replaces a file with another",
        ),
        (
            "a.npy x.npz y.npz",
            "`y.npz` exists, and 2 sources would replace it",
            "`-d out --to npy` writes a file for every source, `all.npz` after them holds all",
        ),
        (
            "a.npy b.npy c.npy",
            "`c.npy` exists, and 2 sources would replace it",
            "`-d out --to json` writes a file for every source, `all.npz` after them holds all",
        ),
        (
            "a.npy b.npy y.npz",
            "`y.npz` exists, and 2 sources would replace it",
            "`y-1.npz` in its place is a new file",
        ),
    ],
)
def test_a_file_that_is_rather_a_source_than_the_target_is_not_replaced(
    words: str, what: str, hint: str, run: Run, folder: Path
) -> None:
    for name in ("a.npy", "b.npy", "c.npy", "x.npz", "y.npz", "x.bin", "y.bin", "x.zarr", "y.zarr"):
        assert run("convert", "1,2", name, "-q").status == 0
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    ran = run("convert", *words.split())

    assert ran == (
        73,
        "",
        f"error: {what}: expected a new name, or `-d DIR`\nhint: {hint}\nrule: output\n",
    )
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "words",
    [
        "a.npy b.npy --dtype int8",
        "v.npy b.npy --data-dtype bfloat16",
        "a.npy b.json",
        "b.json b.npy",
        "m.npz#x b.npy",
        "x.zarr y.zarr --chunks 1",
        "2xi64=1 b.npy",
        "- b.npy",
    ],
)
def test_a_file_that_becomes_something_else_is_replaced(words: str, run: Run, folder: Path) -> None:
    for name in ("a.npy", "b.npy", "b.json", "x.zarr", "y.zarr"):
        assert run("convert", "1,2", name).status == 0
    np.savez(folder / "m.npz", x=np.array([5]), y=np.array([6]))
    np.save(folder / "v.npy", np.zeros(2, "V2"))

    ran = run("convert", *words.split(), "-q", stdin=saved(np.array([7])))

    assert ran == (0, "", "")


def test_a_format_for_a_file_that_exists_suggests_a_folder(run: Run, folder: Path) -> None:
    for name in ("a.npy", "b.npy"):
        np.save(folder / name, np.array([1]))

    ran = run("convert", "a.npy", "b.npy", "--to", "safetensors")

    assert ran == (
        2,
        "",
        "error: `b.npy` has the suffix `.npy`, and the format is `--to safetensors`: "
        "expected one format\nhint: `-d out` writes a file for every source\n",
    )


# Folders of files


def test_a_folder_stands_for_the_tensors_in_it(run: Run, folder: Path) -> None:
    for name in ("in/b.npy", "in/a.npy", "in/deep/c.npy", "in/.hidden.npy"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        np.save(folder / name, np.array([1]))
    (folder / "in/notes.txt").write_text("no tensor")
    assert run("convert", "2xi64=3", "in/z.zarr").status == 0

    into_a_folder = run("convert", "in", "-d", "out", "--to", "json")
    into_a_file = run("convert", "in/", "-", "--to", "json")

    assert into_a_folder == (0, "", "")
    assert names(folder / "out") == [
        "a.json",
        "b.json",
        "z.json",
    ]
    assert into_a_file == (0, '{"a":[1],"b":[1],"z":[3,3]}\n', "")


def test_a_folder_without_tensors_is_refused(run: Run, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in/notes.txt").write_text("no tensor")

    ran = run("convert", "in", "-d", "out", "--to", "json")

    assert ran == (
        66,
        "",
        "error: `in` is a directory: expected a file\n"
        "hint: a zarr folder has `zarr.json`, `.zarray` or `.zgroup`; this has none\n"
        "rule: unreadable\n",
    )
    assert not (folder / "out").exists()


def test_a_list_is_no_folder_of_that_name(run: Run, folder: Path) -> None:
    (folder / "7").mkdir()
    np.save(folder / "7/a.npy", np.array([1]))

    literal, files = run("convert", "7", "-", "-q"), run("convert", "@7", "-", "-q")

    assert (literal.out, files.out) == ("7\n", "[1]\n")
