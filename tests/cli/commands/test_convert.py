from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
import safetensors.numpy

from gathercli.io.formats.table import FORMATS
from tests.tensorfiles import archive, saved

if TYPE_CHECKING:
    from tests.conftest import Program, Run


def names(folder: Path) -> list[str]:
    """List all files below a folder."""
    return sorted(
        os.path.relpath(os.path.join(at, name), folder)
        for at, _, files in os.walk(folder)
        for name in files
    )


@pytest.fixture
def files(folder: Path) -> Path:
    """Make three sources of one tensor each, and an archive of two."""
    np.save(folder / "a.npy", np.array([1, 2]))
    (folder / "b.json").write_text("[[0.5]]")
    (folder / "bad.json").write_text("[1,")
    np.savez(folder / "m.npz", x=np.array([5, 6]), y=np.array([True]))
    return folder


# One file


def test_the_suffix_names_the_format(run: Run, files: Path) -> None:
    assert run("convert", "a.npy", "c.json") == (0, "", "")
    assert (files / "c.json").read_text() == "[1,2]\n"
    assert run("convert", "b.json", "c.NPY") == (0, "", "")
    assert np.load("c.NPY").tolist() == [[0.5]]


OTHERS: Final = {
    "npy": "literal",
    "npz": "npy",
    "json": "npy",
    "safetensors": "json",
    "pb": "bin",
    "bin": "oip",
    "zarr": "json",
    "NPY": "json",
}


@pytest.mark.parametrize("suffix", OTHERS)
def test_a_known_suffix_and_another_format_exclude_each_other(
    suffix: str, run: Run, files: Path
) -> None:
    name, fmt = f"c.{suffix}", OTHERS[suffix]

    ran = run("convert", "a.npy", name, "--to", fmt)

    assert ran == (
        2,
        "",
        f"error: `{name}` has the suffix `.{suffix.lower()}`, and the format is `--to {fmt}`: "
        "expected one format\n"
        f"hint: `--force-format` writes {fmt} into it all the same\n",
    )
    assert not (files / name).exists()


@pytest.mark.parametrize("suffix", OTHERS)
def test_a_format_that_is_forced_beats_the_suffix(suffix: str, run: Run, files: Path) -> None:
    name, fmt = f"c.{suffix}", OTHERS[suffix]

    ran = run("convert", "a.npy", name, "--to", fmt, "--force-format", "-q")

    assert ran == (0, "", "")
    assert (files / name).read_bytes() == run("convert", "a.npy", "-", "--to", fmt, "-q").raw


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_format_and_its_own_suffix_or_an_unknown_one_go_together(
    fmt: str, run: Run, files: Path
) -> None:
    for name in (f"c{FORMATS[fmt].suffix}", "c.dat", "c"):
        assert run("convert", "a.npy", name, "--to", fmt, "-q") == (0, "", "")

        assert (files / name).exists()


def test_an_array_in_chunks_is_no_folder_for_files(run: Run, files: Path) -> None:
    assert run("convert", "a.npy", "x.zarr").status == 0
    before = names(files)

    ran = run("convert", "a.npy", "x.zarr", "--to", "npy")

    assert ran.status == 2
    assert "`x.zarr` has the suffix `.zarr`, and the format is `--to npy`" in ran.err
    assert names(files) == before


def test_standard_output_gets_json_unless_another_format_is_asked_for(
    run: Run, files: Path
) -> None:
    raw = (files / "a.npy").read_bytes()
    assert run("convert", "a.npy", "-") == (0, "[1,2]\n", "")
    assert run("convert", "-", "-", "--to", "npy", stdin=b"[1,2]").raw == raw
    assert run("convert", "a.npy", "/dev/stdout", "--to", "npy").raw == raw
    assert names(files) == ["a.npy", "b.json", "bad.json", "m.npz"]


def test_a_member_is_converted_alone(run: Run, files: Path) -> None:
    assert run("convert", "m.npz#x", "-") == (0, "[5,6]\n", "")
    assert run("convert", "m.npz#y", "y.npy") == (0, "", "")
    assert np.load(files / "y.npy").tolist() == [True]


def test_a_literal_and_a_generator_are_sources_too(run: Run, folder: Path) -> None:
    assert run("convert", "rand:2xf16,seed=3", "r.npy") == (0, "", "")
    assert run("convert", "2xf16=0.5", "r.npy") == (0, "", "")
    assert np.load(folder / "r.npy").tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["x.npy", "./x.npy", "link.npy", "../{}/x.npy"])
def test_a_file_may_become_itself(name: str, run: Run, folder: Path) -> None:
    np.save(folder / "x.npy", np.arange(100_000))
    (folder / "link.npy").symlink_to("x.npy")
    target = name.format(folder.name)
    assert run("convert", "x.npy", target, "--dtype", "int32") == (0, "", "")
    found = np.load(folder / "x.npy")
    assert (found.dtype, found.tolist()) == (np.dtype("int32"), list(range(100_000)))
    assert names(folder) == ["link.npy", "x.npy"]
    assert (folder / "link.npy").is_symlink()


def test_json_may_be_tidied_in_its_place(run: Run, folder: Path) -> None:
    (folder / "x.json").write_text("\ufeff[ [1, 2.50],\n [3, NaN] ]", encoding="utf-8")
    assert run("convert", "x.json", "x.json") == (0, "", "")
    assert (folder / "x.json").read_text() == '[[1.0,2.5],[3.0,"NaN"]]\n'


def test_what_is_refused_leaves_the_file_that_was_there(run: Run, files: Path) -> None:
    before = (files / "a.npy").read_bytes()
    for words in (
        ("bad.json", "a.npy"),
        ("m.npz", "a.npy"),
        ("b.json", "a.npy", "--dtype", "int8"),
        ("b.json", "a.npy", "--dtype", "nosuch"),
        ("[1]", "a.npy", "--no-clobber"),
        ("[1]", "a.npy", "--max-bytes", "7"),
    ):
        ran = run("convert", *words)
        assert ran.status in (2, 65, 73)
        assert ran.err.startswith("error: ")
        assert (files / "a.npy").read_bytes() == before
    assert names(files) == ["a.npy", "b.json", "bad.json", "m.npz"]


def test_no_clobber_refuses_only_what_is_there(run: Run, files: Path) -> None:
    assert run("convert", "[1]", "new.json", "--no-clobber") == (0, "", "")
    assert run("convert", "[2]", "new.json", "--no-clobber") == (
        73,
        "",
        "error: `new.json` cannot be written (it exists): expected a new name\n"
        "hint: without `--no-clobber` it would be replaced\nrule: output\n",
    )
    ran = run("convert", "a.npy", "b.json", "-d", ".", "--to", "npy", "--no-clobber")
    assert ran.status == 73
    assert (files / "b.npy").exists()


def test_a_limit_is_named_with_what_it_met(run: Run, folder: Path) -> None:
    assert run("convert", "zeros:1000", "x.npy", "--max-bytes", "7999").status == 65
    with open(folder / "big", "wb") as file:
        file.truncate(80_000)
    assert run("convert", "bin:10000xf64@big", "x.npy", "--max-bytes", "79K") == (
        65,
        "",
        "error: the output takes 80000 bytes: expected at most 79000 bytes\n"
        "hint: `--max-bytes 0` lifts the limit\nrule: limit\n",
    )
    assert run("convert", "bin:10000xf64@big", "x.npy", "--max-bytes", "0").status == 0


def test_a_declared_type_reads_what_names_none(run: Run, folder: Path) -> None:
    (folder / "x.json").write_text("[0.1,2]")
    ran = run("convert", "x.json", "x.npy", "--data-dtype", "f32")
    assert ran == (0, "", "")
    assert np.load(folder / "x.npy").dtype == np.float32
    assert run("convert", "x.npy", "-", "--data-dtype", "f64").out == "[0.10000000149011612,2.0]\n"
    ran = run("convert", "x.npy", "-", "--data-dtype", "i8")
    assert ran.status == 65
    assert ran.err.startswith("error: x.npy: the value at `[0]` is 0.1, which int8 cannot hold")


def test_bfloat16_goes_through_npy_with_a_note_and_a_declared_type(run: Run, folder: Path) -> None:
    note = (
        "note: bfloat16 is written as <V2, which numpy reads as two bytes an element; "
        "`--data-dtype bfloat16` reads it here\n"
    )
    assert run("convert", "2xbf16=1.5 -0.0", "x.npy") == (0, "", note)
    assert np.load(folder / "x.npy").dtype == np.dtype("V2")
    assert run("convert", "x.npy", "-", "--data-dtype", "bf16") == (0, "[1.5,-0.0]\n", "")


@pytest.mark.parametrize(
    ("way", "out", "status"),
    [
        ("quoted", '[1.0,"NaN","-Infinity"]\n', 0),
        ("bare", "[1.0,NaN,-Infinity]\n", 0),
        ("null", "[1.0,null,null]\n", 0),
        ("error", "", 65),
    ],
)
def test_numbers_that_json_lacks_are_written_as_asked(
    way: str, out: str, status: int, run: Run, folder: Path
) -> None:
    ran = run("convert", "3xf32=1 nan -inf", "-", "--nonfinite", way)
    assert (ran.status, ran.out) == (status, out)
    if status:
        assert "nan at `[1]`, which `--nonfinite error` refuses" in ran.err
        assert run("convert", "3xf32=1 nan -inf", "x.json", "--nonfinite", way).status == 65
        assert names(folder) == []


@pytest.mark.parametrize("source", ["2x0x3xf32=", "2xc64=1+2j"])
def test_the_note_on_what_json_does_not_keep_names_an_option_of_this_command(
    source: str, run: Run
) -> None:
    ran = run("convert", source, "-")
    assert ran.status == 0
    assert ran.err.startswith("note: plain JSON cannot carry ")
    assert "`--to oip`" in ran.err
    assert "-f" not in ran.err


@pytest.mark.parametrize("fmt", ["npy", "npz", "safetensors", "pb", "bin"])
@pytest.mark.parametrize("target", ["-", "/dev/stdout", "/dev/fd/1"])
def test_binary_never_goes_to_a_terminal(target: str, fmt: str, run: Run) -> None:
    ran = run("convert", "[1]", target, "--to", fmt, "-q", terminal=(1,))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {fmt} is binary, and ")
    assert "expected a file or a pipe" in ran.err


def test_the_hint_about_binary_names_what_this_command_has(run: Run) -> None:
    ran = run("convert", "[1]", "-", "--to", "npy", terminal=(1, 2))
    assert "hint:" in ran.err
    assert "`-o " not in ran.err


def test_text_goes_to_a_terminal_as_to_a_pipe(run: Run) -> None:
    for fmt in ("json", "oip", "literal"):
        words = ("convert", '["\\u001b[31m"]', "-", "--to", fmt)
        ran = run(*words, terminal=(1, 2))
        assert ran == run(*words)
        assert "\x1b" not in ran.out


def test_a_person_is_told_what_was_written(run: Run, files: Path) -> None:
    assert files
    assert run("convert", "a.npy", "c.npy", terminal=(2,)).err == "wrote c.npy: i64[2]\n"
    assert run("convert", "m.npz", "c.npz", terminal=(2,)).err == "wrote c.npz: 2 tensors\n"
    assert run("convert", "m.npz", "d.npz", "-q", terminal=(2,)).err == ""


def test_fsync_puts_the_bytes_and_then_the_name_on_the_disk(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    fsync, link = os.fsync, os.link

    def syncing(fd: int) -> None:
        seen.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        fsync(fd)

    def linking(*words: Any, **rest: Any) -> None:
        seen.append("name")
        link(*words, **rest)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "link", linking)
    assert run("convert", "[1]", "w.npy").status == 0
    assert seen == ["name"]
    seen.clear()
    assert run("convert", "[1]", "x.npy", "--fsync").status == 0
    assert seen == ["file", "name", "folder"]
    seen.clear()
    assert run("convert", "x.npy", "-d", "out", "--to", "pb", "--fsync").status == 0
    assert seen == ["file", "name", "folder"]
    assert (folder / "out/x.pb").exists()


def test_an_input_that_changes_while_it_is_read_is_74_and_nothing_is_written(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gathercli.io import save

    real = save.write

    def changing(*words: Any, **rest: Any) -> None:
        os.utime(files / "a.npy", ns=(1, 1))
        real(*words, **rest)

    monkeypatch.setattr(save, "write", changing)
    ran = run("convert", "a.npy", "c.json")
    assert ran.status == 74
    assert "`a.npy` changed while it was read" in ran.err
    assert not (files / "c.json").exists()


# Archives


@pytest.mark.parametrize("target", ["c.npz", "c.json", "c.safetensors"])
def test_an_archive_becomes_one_file_where_the_format_holds_several(
    target: str, run: Run, files: Path
) -> None:
    assert files
    assert run("convert", "m.npz", target) == (0, "", "")
    assert run("convert", f"{target}#x", "-") == (0, "[5,6]\n", "")
    assert run("convert", f"{target}#y", "-") == (0, "[true]\n", "")
    assert run("convert", target, "-") == (0, '{"x":[5,6],"y":[true]}\n', "")


@pytest.mark.parametrize("fmt", ["npz", "json", "oip", "safetensors"])
def test_an_archive_in_a_folder_stays_one_file_where_the_format_holds_several(
    fmt: str, run: Run, files: Path
) -> None:
    assert run("convert", "m.npz", "-d", "out", "--to", fmt) == (0, "", "")
    (name,) = names(files / "out")
    assert run("convert", f"out/{name}#x", "-") == (0, "[5,6]\n", "")


@pytest.mark.parametrize(
    ("fmt", "suffix"), [("npy", "npy"), ("pb", "pb"), ("literal", "txt"), ("bin", "bin")]
)
def test_an_archive_becomes_a_file_for_every_member_where_it_does_not(
    fmt: str, suffix: str, run: Run, files: Path
) -> None:
    assert run("convert", "m.npz", "-d", "out", "--to", fmt, "-q") == (0, "", "")
    assert names(files / "out") == [f"m.x.{suffix}", f"m.y.{suffix}"]
    assert run("convert", "m.npz", "c", "--to", fmt) == (
        65,
        "",
        "error: m.npz: the archive has `x` and `y`: expected the name of one\n"
        "hint: name the member: `'m.npz#x'`\nrule: npz\n",
    )


@pytest.mark.parametrize("fmt", ["npz", "oip", "safetensors"])
def test_the_only_member_of_an_archive_keeps_its_name(fmt: str, run: Run, folder: Path) -> None:
    safetensors.numpy.save_file({"emb": np.arange(2)}, folder / "x.safetensors")
    np.savez(folder / "x.npz", emb=np.arange(2))
    for at, source in enumerate(("x.npz", "x.safetensors", "x.npz#emb")):
        target = f"y{at}"

        assert run("convert", source, target, "--to", fmt) == (0, "", "")

        found = json.loads(run("info", target, "-f", "json").out)
        assert found.get("name", "emb" if fmt == "oip" else None) == "emb"
        assert run("convert", f"{target}#emb", "-") == (0, "[0,1]\n", "")


def test_names_of_members_never_become_paths(run: Run, folder: Path) -> None:
    raw = saved(np.array([7]))
    evil = ["../up.npy", "/abs.npy", "a/b.npy", "..npy", "...npy", "~/x.npy", "-x.npy", "c:\\d.npy"]
    (folder / "m.npz").write_bytes(archive(dict.fromkeys(evil, raw)))
    (folder / "in").mkdir()
    assert run("convert", "m.npz", "-d", "in", "--to", "npy") == (0, "", "")
    found = names(folder)
    assert len(found) == 1 + len(evil)
    assert all(name == "m.npz" or name.startswith("in/m.") for name in found)
    assert all(name.count("/") <= 1 for name in found)
    assert not (folder.parent / "up.npy").exists()
    assert run("convert", "m.npz#../up", "-d", "in", "--to", "json").status == 0
    assert (folder / "in/m..._up.json").exists()


def test_members_that_would_become_one_file_are_refused(run: Run, folder: Path) -> None:
    raw = saved(np.arange(2))
    (folder / "m.npz").write_bytes(archive({"a/b.npy": raw, "a_b.npy": raw}))
    assert run("convert", "m.npz", "-d", "out", "--to", "npy") == (
        2,
        "",
        "error: two members would both become `m.a_b.npy`: expected different names\n"
        "hint: `--to npz` or safetensors keeps them in one file\n",
    )
    assert names(folder) == ["m.npz"]
    assert run("convert", "m.npz", "-d", "out", "--to", "safetensors").status == 0


def test_a_member_and_a_source_that_would_become_one_file_are_refused(
    run: Run, folder: Path
) -> None:
    np.savez(folder / "m.npz", a=np.arange(2), b=np.arange(3))
    np.save(folder / "m.a.npy", np.arange(9))
    ran = run("convert", "m.npz", "m.a.npy", "-d", "out", "--to", "npy")
    assert ran.status == 2
    assert "`m.a" in ran.err
    found = folder / "out" / "m.a.npy"
    assert not found.exists() or np.load(found).size == 2  # the first is not overwritten


@pytest.mark.parametrize("fmt", ["npz", "safetensors", "oip"])
def test_no_two_members_of_an_output_have_one_name(fmt: str, run: Run, folder: Path) -> None:
    (folder / "x.json").write_text('{"":[1],"output":[2]}')
    ran = run("convert", "x.json", "y", "--to", fmt)
    if ran.status:
        assert ran.status == 65
        assert "bug" not in ran.err
    else:
        assert run("convert", "y#output", "-") == (0, "[2]\n", "")


UNNAMED: Final = {
    "x.npz": ("the archive has `` and `b`: expected the name of one", "member", "npz"),
    "x.safetensors": ("the file has `` and `b`: expected the name of one", "tensor", "format"),
    "x.json": (
        'the document holds "" and "b": expected one tensor, or the key of one',
        "tensor",
        "json",
    ),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_a_tensor_without_a_name_is_not_chosen_among_others(
    name: str, run: Run, folder: Path
) -> None:
    message, noun, rule = UNNAMED[name]
    (folder / "y.json").write_text('{"":[1],"b":[2]}')
    assert run("convert", "y.json", name).status == 0
    before = names(folder)

    ran = run("convert", name, "x.npy")

    hint = f"hint: name the {noun}: `'{name}#b'`\nrule: {rule}\n"
    assert ran == (65, "", f"error: {name}: {message}\n{hint}")
    assert names(folder) == before
    assert run("gather", name, "0").status == 65
    assert run("gather", f"{name}#b", "0").out == "2\n"
    assert run("convert", name, "-").out == '{"":[1],"b":[2]}\n'
    assert run("convert", name, "-d", "out", "--to", "json", "-q").status == 0


def test_the_only_tensor_of_an_archive_may_be_without_a_name(run: Run, folder: Path) -> None:
    (folder / "x.npz").write_bytes(archive({".npy": saved(np.arange(3))}))

    assert run("convert", "x.npz", "-") == (0, "[0,1,2]\n", "")

    assert run("convert", "x.npz#.npy", "-") == (0, "[0,1,2]\n", "")


def test_a_name_that_ends_like_a_file_of_an_archive_is_no_other_name(
    run: Run, folder: Path
) -> None:
    (folder / "x.json").write_text('{"a.npy":[1],"a":[2]}')
    assert run("convert", "x.json", "x.npz") == (0, "", "")
    assert run("convert", "x.npz#a.npy", "-").out == "[1]\n"
    assert run("convert", "x.npz", "-") == (0, '{"a.npy":[1],"a":[2]}\n', "")


@pytest.mark.parametrize("name", ["a\0b", "\0", "a/\0"])
def test_a_name_that_an_archive_cannot_hold_is_refused(name: str, run: Run, folder: Path) -> None:
    (folder / "x.json").write_text(json.dumps({name: [1], "a": [2]}))
    ran = run("convert", "x.json", "x.npz")
    assert ran.status == 65
    assert "bug" not in ran.err
    assert names(folder) == ["x.json"]


@pytest.mark.parametrize("key", ["data", "outputs", "inputs", "datatype", "dtype"])
def test_no_name_of_a_member_turns_json_into_another_document(
    key: str, run: Run, folder: Path
) -> None:
    raw = saved(np.zeros(0))
    members = {f"{key}.npy": raw, "data.npy": raw, "z.npy": saved(np.ones(1))}
    (folder / "x.npz").write_bytes(archive(members))
    ran = run("convert", "x.npz", "y.json")
    if ran.status == 0:
        assert run("convert", "y.json#z", "-") == (0, "[1.0]\n", "")
    else:
        assert ran.status == 65


def test_members_of_one_archive_are_sources_of_their_own(run: Run, files: Path) -> None:
    assert run("convert", "m.npz#x", "m.npz#y", "-d", "out", "--to", "json") == (0, "", "")
    assert names(files / "out") == ["m.x.json", "m.y.json"]
    raw = (files / "m.npz").read_bytes()
    assert run("convert", "-#x", "-#y", "-d", "out", "--to", "json", stdin=raw) == (0, "", "")
    assert (files / "out/stdin.x.json").read_text() == "[5,6]\n"


@pytest.mark.parametrize("target", ["x.npy", "x.zarr"])
def test_a_target_in_a_working_folder_that_was_removed_is_named(
    target: str, program: Program
) -> None:
    ran = program(f"mkdir gone; cd gone; rmdir ../gone; $G convert '[1,2]' {target}")

    assert (ran.returncode, ran.stdout) == (73, b"")
    assert ran.stderr.startswith(b"error: `%s` cannot be written (" % target.encode())


NAMED: Final = [
    (["--max-bytes", "100", "--to", "npy"], "the output takes"),
    (["--to", "zarr", "--chunks", "2,3"], "`--chunks` has 2 sizes"),
    (["--to", "safetensors", "--data-dtype", "string"], "the type is int64"),
    (["--to", "npy", "--dtype", "int8"], "the value at `[128]` is 128"),
]


@pytest.mark.parametrize(("words", "what"), NAMED, ids=[what for _, what in NAMED])
@pytest.mark.parametrize("more", [[], ["--json-errors"]], ids=["text", "json"])
def test_of_many_files_every_error_names_the_file(
    words: list[str], what: str, more: list[str], run: Run
) -> None:
    for name in ("a.npy", "b.npy"):
        np.save(name, np.arange(1000))

    ran = run("convert", "a.npy", "b.npy", "-d", "out", *words, *more)

    errors = [line for line in ran.err.splitlines() if "error" in line]
    starts = ["error: ", '{"error": "'][len(more)]
    assert [
        line.startswith(f"{starts}{name}: {what}")
        for name, line in zip(("a.npy", "b.npy"), errors, strict=True)
    ] == [True, True]


def test_an_error_that_names_its_file_names_it_once(run: Run) -> None:
    Path("a.npy").write_bytes(b"\x93NUMPY")

    ran = run("convert", "a.npy", "none.npy", "-d", "out", "--to", "npy")

    assert [line for line in ran.err.splitlines() if line.startswith("error: ")] == [
        "error: a.npy: the file is truncated: it ends at byte 6: expected a header",
        "error: there is no file `none.npy`: expected a file, or a literal such as 0,0,4",
    ]


def test_of_several_tensors_in_one_file_the_one_without_a_type_is_named(run: Run) -> None:
    np.save("a.npy", np.arange(3))
    np.save("b.npy", np.array(["text"]))

    ran = run("convert", "a.npy", "b.npy", "both.safetensors")

    assert ran.err.startswith("error: b: the format has no type string: expected ")


# Several sources, folders, and what their files are called


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
    (["a.npy", "c.npy", "--lossy"], "`--lossy` is given without `--dtype`: expected both\n"),
    (
        ["a.npy", "c.npy", "--force-format"],
        "`--force-format` is given without `--to`: expected both\n",
    ),
    (
        ["a.npy", "b.json", "c.json", "--to", "npy"],
        "`c.json` has the suffix `.json`, and the format is `--to npy`: expected one format\n"
        "hint: `-d out` writes a file for every source\n",
    ),
    (["a.npy", "c.npy", "--truncate"], "`--truncate` is given without `--dtype`: expected both\n"),
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
    assert names(folder / "out") == ["a.json", "b.json", "z.json"]
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
