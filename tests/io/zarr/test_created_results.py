"""Commands on .zarr: the same results as on .npy, each chunk written once, nothing half done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr

from gathercli.batch import work
from gathercli.compute import check
from gathercli.errors import LimitError
from gathercli.io.zarr.created import Creation
from gathercli.io.zarr.stored import writer_at
from gathercli.spec.dtypes import INT64, dtype
from tests.jobs import parse
from tests.processes import PATIENCE, wait_until

if TYPE_CHECKING:
    from tests.conftest import Run


from typing import TYPE_CHECKING

from tests.io.test_stream import anonymous, runs_with

if TYPE_CHECKING:
    from tests.conftest import Run


DATA = (5, 6, 7)


def stored(path: Path | str, array: Any, chunks: tuple[int, ...], **options: Any) -> None:
    """Write an array in chunks with the package itself."""
    made = zarr.create_array(
        str(path), shape=array.shape, chunks=chunks, dtype=array.dtype, **options
    )
    made[...] = array


def read(path: Path | str) -> Any:
    found: Any = zarr.open_array(str(path), mode="r")
    return np.asarray(found[...])


@pytest.fixture
def data(folder: Path) -> Any:
    """Write one tensor as .npy, and as .zarr of both versions and in shards."""
    array = np.random.default_rng(1).standard_normal(DATA).astype("f4")
    np.save(folder / "x.npy", array)
    stored(folder / "x2.zarr", array, (2, 3, 4), zarr_format=2)
    stored(folder / "x3.zarr", array, (2, 3, 4))
    stored(folder / "xs.zarr", array, (2, 3, 2), shards=(4, 6, 4))
    return array


def indices(name: str, shape: tuple[int, ...], low: int, high: int) -> None:
    """Make a tensor of indices in both formats."""
    array = np.random.default_rng(2).integers(low, high, shape)
    np.save(f"{name}.npy", array)
    stored(f"{name}.zarr", array, tuple(max(1, n - 1) for n in shape))


def both(run: Run, command: str, source: str, picked: str, *words: str) -> None:
    """Run a call on .npy and on .zarr, and compare result, notes and status."""
    wanted = run(command, "x.npy", f"{picked}.npy", *words, "-o", "want.npy")
    for given in (f"{picked}.npy", f"{picked}.zarr"):
        found = run(command, source, given, *words, "-o", "out.zarr")
        assert found == wanted
        piped = run(command, source, given, *words, "-o", "out.npy")
        assert piped == wanted
        if wanted.status == 0:
            expected = np.load("want.npy")
            assert read("out.zarr").tobytes() == expected.tobytes()
            assert read("out.zarr").dtype == expected.dtype
            assert Path("out.npy").read_bytes() == Path("want.npy").read_bytes()


@pytest.mark.parametrize("source", ["x2.zarr", "x3.zarr", "xs.zarr"])
@pytest.mark.parametrize(
    ("axis", "batch_dims"), [(0, 0), (1, 0), (2, 0), (-1, 0), (1, 1), (2, 1), (2, 2), (-1, -1)]
)
def test_gather_takes_every_axis_with_batch_dims_zeros_and_negatives(
    run: Run, data: Any, source: str, axis: int, batch_dims: int
) -> None:
    del data
    shared = batch_dims if batch_dims >= 0 else batch_dims + 2
    indices("i", (*DATA[:shared], 4), -9, 9)
    both(run, "gather", source, "i", f"--axis={axis}", f"--batch-dims={batch_dims}")


@pytest.mark.parametrize("version", ["openvino-1", "openvino-7", "onnx-1", "onnx-11", "onnx-13"])
@pytest.mark.parametrize("ways", [(), ("--negative", "wrap", "--out-of-range", "clamp")])
def test_every_version_of_gather_reads_and_writes_chunks(
    run: Run, data: Any, version: str, ways: tuple[str, ...]
) -> None:
    del data
    indices("i", (2, 3), -6, 9)
    both(run, "gather", "x3.zarr", "i", "--axis=1", "--version", version, *ways)


@pytest.mark.parametrize("source", ["x2.zarr", "x3.zarr", "xs.zarr"])
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_gather_elements_takes_every_axis(run: Run, data: Any, source: str, axis: int) -> None:
    del data
    shape = list(DATA)
    shape[axis] = 8
    indices("e", tuple(shape), -5, 5)
    both(run, "gather-elements", source, "e", f"--axis={axis}")


def test_an_index_that_is_refused_leaves_no_output(run: Run, data: Any) -> None:
    del data
    indices("i", (3, 3), 0, 50)

    both(run, "gather", "x3.zarr", "i", "--version", "onnx-13")

    assert not os.path.exists("out.zarr")
    assert not [name for name in os.listdir() if name.endswith(".tmp")]


def test_the_option_chunks_decides_the_chunks(run: Run, data: Any) -> None:
    assert run("gather", "x3.zarr", "0,4,2", "-o", "o.zarr", "--chunks", "2,6,3").status == 0

    made = zarr.open_array("o.zarr", mode="r")

    assert made.chunks == (2, 6, 3)
    assert (read("o.zarr") == data[[0, 4, 2]]).all()


def test_the_chunks_are_like_those_of_the_data(run: Run, data: Any) -> None:
    del data
    for source, version in (("x2.zarr", 2), ("x3.zarr", 3)):
        run("gather", source, "0,4,2,1", "-o", f"o{version}.zarr")
        made = zarr.open_array(f"o{version}.zarr", mode="r")
        assert made.chunks == (2, 3, 4)
        assert made.metadata.zarr_format == version


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("-o", "o.zarr", "--chunks", "2,3"),
            "`--chunks` has 2 sizes, and the result has 3 dimensions: expected one for each",
        ),
        (("-o", "o.zarr", "--chunks", "0,1,1"), "`--chunks` is `0,1,1`: expected sizes from 1 on"),
        (
            ("-o", "o.npy", "--chunks", "1,1,1"),
            "`--chunks` is given, and the output is o.npy: expected a .zarr output",
        ),
        (
            ("-o", "o.zarr", "-f", "npy", "--chunks", "1,1,1"),
            "`--chunks` is given, and the output is npy: expected a .zarr output",
        ),
        (
            ("--chunks", "1,1,1"),
            "`--chunks` is given, and the output is stdout: expected a .zarr output",
        ),
    ],
)
def test_invalid_chunks_are_refused(
    run: Run, data: Any, words: tuple[str, ...], message: str
) -> None:
    del data

    found = run("gather", "x3.zarr", "0,1", *words)

    assert found.status == 2
    assert f"error: {message}\n" in found.err
    assert not os.path.exists("o.zarr")


def test_an_array_is_replaced_whole_and_nothing_else_is(run: Run, data: Any) -> None:
    assert run("gather", "x3.zarr", "0,1,2,3", "-o", "o.zarr").status == 0
    assert run("gather", "x3.zarr", "4,", "-o", "o.zarr").status == 0
    assert (read("o.zarr") == data[[4]]).all()
    assert run("gather", "x3.zarr", "4,", "-o", "o.zarr", "--no-clobber").status == 73

    Path("d.zarr").mkdir()
    Path("d.zarr", "mine.txt").write_text("mine")

    found = run("gather", "x3.zarr", "4,", "-o", "d.zarr")

    assert found.status == 73
    assert os.listdir("d.zarr") == ["mine.txt"]

    Path("o.zarr", "mine.txt").write_text("mine")

    found = run("gather", "x3.zarr", "4,", "-o", "o.zarr")

    assert found.status == 73
    assert "it holds `mine.txt`, which is not part of an array" in found.err
    assert Path("o.zarr", "mine.txt").read_text() == "mine"


def test_the_name_of_an_output_may_end_as_that_of_a_folder(run: Run, data: Any) -> None:
    for _ in range(2):
        assert run("gather", "x3.zarr", "4,", "-o", "o.zarr/").status == 0
        assert (read("o.zarr") == data[[4]]).all()


def test_an_output_may_replace_its_input(run: Run, data: Any) -> None:
    assert run("gather", "x3.zarr", "4,0", "-o", "x3.zarr").status == 0
    assert (read("x3.zarr") == data[[4, 0]]).all()


@pytest.mark.parametrize("shape", [(), (0,), (0, 4)])
def test_scalars_and_empty_tensors_are_written_in_chunks(
    run: Run, data: Any, shape: tuple[int, ...]
) -> None:
    np.save("i.npy", np.zeros(shape, np.int64))

    assert run("gather", "x3.zarr", "i.npy", "-o", "o.zarr").status == 0
    assert read("o.zarr").shape == shape + DATA[1:]
    assert run("gather", "o.zarr", "2xi64=0", "--axis=-1", "-o", "p.npy").status == 0
    assert np.load("p.npy").shape == (*shape, DATA[1], 2)

    np.save("s.npy", np.float32(3))

    assert run("convert", "s.npy", "s.zarr").status == 0
    assert read("s.zarr").shape == ()

    del data


@pytest.mark.parametrize("size", [1 << 41, 10**15, 10**17])
@pytest.mark.parametrize(
    "words",
    [
        ["zeros:3x0", "-o", "o.npy"],
        ["zeros:3x0", "-o", "o.zarr"],
        ["zeros:3x0", "-o", "o.zarr", "--max-bytes", "0"],
        ["zeros:3", "--max-bytes", "0", "-f", "npy"],
        ["zeros:3", "-o", "o.npy", "--max-bytes", "0"],
    ],
)
def test_no_run_begins_to_read_more_indices_than_a_limit(
    size: int, words: list[str], run: Run, folder: Path
) -> None:
    zarr.create_array(str(folder / "k.zarr"), shape=(size,), chunks=(1 << 20,), dtype="i8")
    data, *options = words

    ran = run("gather", data, "k.zarr", *options)

    assert (ran.status, ran.out) == (LimitError.status, "")
    assert f"the indices, {size} elements, are too many to be read: expected at most " in ran.err


def test_indices_of_an_empty_result_are_bounded_by_the_limit_of_the_result(
    run: Run, folder: Path
) -> None:
    zarr.create_array(str(folder / "k.zarr"), shape=(1001,), chunks=(7,), dtype="i8")
    words = ["gather", "zeros:3x0", "k.zarr", "-o", "o.npy", "--max-bytes"]

    refused, read = run(*words, "1000"), run(*words, "0")

    assert refused.err == (
        "error: the indices, 1001 elements, are too many to be read: expected at most 1000\n"
        "  openvino.Gather-8   data i64[3,0]   indices i64[1001]\n"
        "hint: `--max-bytes 0` lifts the limit\n"
        "rule: limit\n"
    )
    assert np.load("o.npy").shape == (1001, 0)
    assert read.status == 0


def test_a_few_rows_are_gathered_of_an_array_larger_than_memory(run: Run, folder: Path) -> None:
    made = zarr.create_array(
        str(folder / "huge.zarr"), shape=(1 << 30, 1 << 10), chunks=(1 << 10, 1 << 10), dtype="f8"
    )
    made[5] = np.arange(1 << 10)

    found = run("gather", "huge.zarr", "5,-1", "--max-bytes", "100M", "-f", "npy", "-o", "o.npy")

    assert found.status == 0
    assert (np.load("o.npy") == [np.arange(1 << 10), np.zeros(1 << 10)]).all()
    assert run("shape", "gather", "huge.zarr", "3,2").out == "[3,2,1024]\n"
    assert run("info", "huge.zarr", "--max-bytes", "100M").status == LimitError.status
    assert run("info", "huge.zarr", "--header").status == 0


def test_chunks_are_smaller_where_memory_is_short(run: Run, folder: Path) -> None:
    array = np.arange(2_000_000.0).reshape(1000, 2000)
    stored(folder / "x.zarr", array, (10, 2000))
    np.save("i.npy", np.arange(1000))
    for most, least in (("1G", 10), ("1500K", 5)):
        words = ("x.zarr", "i.npy", "-o", "o.zarr", "--max-bytes", most)
        assert run("gather", *words).status == 0
        assert (read("o.zarr") == array).all()
        assert zarr.open_array("o.zarr", mode="r").chunks[0] <= least


@pytest.mark.parametrize("target", ["o.npy", "o.npz", "o.json", "o.bin", "-", "o.zarr"])
@pytest.mark.parametrize(
    "words",
    [
        ("gather", "x.zarr", "arange:1000", "-o"),
        ("gather-elements", "x.zarr", "i.zarr", "--axis", "0", "-o"),
        ("convert", "x.zarr"),
    ],
    ids=lambda words: str(words[0]),
)
def test_a_result_of_chunks_is_limited_as_any_other_but_for_chunks(
    words: tuple[str, ...], target: str, run: Run, folder: Path
) -> None:
    array = np.arange(200_000.0).reshape(1000, 200)
    stored(folder / "x.zarr", array, (100, 200))
    stored(folder / "i.zarr", np.arange(1000).repeat(200).reshape(1000, 200), (100, 200))
    words = (*words, target, "-q", *(("--to", "json") if words[0] + target == "convert-" else ()))

    allowed = run(*words, "--max-bytes", "1600000")
    shutil.rmtree("o.zarr", ignore_errors=True)  # which `convert` would not replace
    refused = run(*words, "--max-bytes", "1599999")

    assert allowed.status == 0, allowed.err
    if target == "o.zarr":
        assert refused.status == 0, refused.err
        assert (read("o.zarr") == array).all()
    else:
        assert (refused.status, refused.out) == (65, "")
        assert "takes 1600000 bytes: expected at most 1599999 bytes" in refused.err
        assert refused.err.endswith("hint: `--max-bytes 0` lifts the limit\nrule: limit\n")


@pytest.mark.parametrize("words", [(), ("--dry-run",)], ids=" ".join)
def test_the_output_of_a_job_of_chunks_is_limited_as_any_other_but_for_chunks(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    array = np.arange(200_000.0).reshape(1000, 200)
    stored(folder / "x.zarr", array, (10, 200))
    job = {"op": "gather", "data": "x.zarr", "indices": "arange:1000"}
    jobs = [job | {"id": name, "output": name} for name in ("o.npy", "o.json", "o.zarr")]
    Path("j.jsonl").write_text("".join(json.dumps(each) + "\n" for each in jobs))

    def ended(limit: str) -> list[str]:
        ran = run("batch", "j.jsonl", "-q", "--max-bytes", limit, *words)
        return [json.loads(line)["rule"] or "ok" for line in ran.out.splitlines()]

    assert ended("1600000") == ["ok", "ok", "ok"]
    assert ended("1599999") == ["limit", "limit", "ok"]


def test_chunks_may_be_larger_than_memory(run: Run, folder: Path) -> None:
    array = np.arange(2_000_000.0).reshape(1000, 2000)
    stored(folder / "x.zarr", array, (10, 2000))
    for words in (("convert", "x.zarr"), ("gather", "x.zarr", "arange:1000", "-o")):
        assert run(*words, "o.zarr", "--max-bytes", "3M").status == 0
        assert (read("o.zarr") == array).all()

    assert run("gather", "x.zarr", "arange:1000", "--max-bytes", "3M", "-f", "pretty").status == 65


def test_an_output_in_a_folder_that_is_absent_is_refused(run: Run, data: Any) -> None:
    del data
    for name, why in (("none/o.zarr", "no such file or directory"), ("x.npy/o.zarr", "")):
        found = run("gather", "x3.zarr", "1,", "-o", name)
        assert found.status == 73
        assert f"`{name}` cannot be written ({why}" in found.err


def test_expect_compares_an_output_in_chunks(run: Run, data: Any) -> None:
    np.save("w.npy", data[[1, 2]])

    assert run("gather", "x3.zarr", "1,2", "--expect", "w.npy", "-o", "o.zarr").status == 0

    stored("w.zarr", data[[1, 3]], (1, 6, 7))

    found = run("gather", "x3.zarr", "1,2", "--expect", "w.zarr", "-o", "o.zarr")

    assert found.status == 1
    assert "at `[1,0,0]`" in found.err


def test_expect_is_compared_before_an_input_is_replaced(run: Run, data: Any) -> None:
    np.save("w.npy", data[[1, 0]])

    assert run("gather", "x3.zarr", "1,0", "--expect", "w.npy", "-o", "x3.zarr").status == 0

    stored("i.zarr", np.array([1, 0]), (1,))

    assert run("gather", "x2.zarr", "i.zarr", "--expect", "w.npy", "-o", "i.zarr").status == 0
    assert (read("i.zarr") == data[[1, 0]]).all()


def test_one_of_two_runs_is_last_and_nothing_else_is_lost(folder: Path) -> None:
    stored(folder / "r.zarr", np.array([0]), (1,))
    one, other = Creation("r.zarr"), Creation("r.zarr")
    for value, made in ((1, one), (2, other)):
        made.open((1,), INT64, (1,))
        writer_at(made.temporary).write(((0, 1),), np.array([value]))
    with other:
        with one:
            one.commit()
            os.rename("r.zarr", "aside")  # as the other does while it replaces it
        assert not os.path.exists("r.zarr")
        os.rename("aside", "r.zarr")
        other.commit()

    assert (os.listdir(), read("r.zarr").tolist()) == (["r.zarr"], [2])


def test_a_member_is_read_whatever_becomes_of_its_neighbours(run: Run, data: Any) -> None:
    zarr.open_group("g.zarr", mode="w")
    stored("g.zarr/a", data, (5, 6, 7))
    stored("g.zarr/b", data, (5, 6, 7))
    Path("g.zarr/b/zarr.json").write_text("garbage")

    stored("g.zarr/.c.0123.tmp", data, (5, 6, 7))

    assert run("gather", "g.zarr#a", "1,", "-o", "o.npy").status == 0
    assert "tmp" not in run("info", "g.zarr", "-f", "json").out

    for name in ("../x3.zarr", "a/..", "", ".", "a/c"):
        assert run("gather", f"g.zarr#{name}", "1,").status == 65


def test_the_fill_value_is_kept(run: Run, folder: Path) -> None:
    array = np.arange(6, dtype="i2")
    stored(folder / "x.zarr", array, (2,), fill_value=-9)
    stored(folder / "y.zarr", array, (2,), fill_value=-9, zarr_format=2)
    for name in ("x.zarr", "y.zarr"):
        for words in (("convert", name, "o.zarr"), ("gather", name, "0,9", "-o", "o.zarr")):
            shutil.rmtree("o.zarr", ignore_errors=True)
            assert run(*words).status == 0
            assert zarr.open_array("o.zarr", mode="r").fill_value == -9

    assert read("o.zarr").tolist() == [0, 0]


def test_convert_writes_and_reads_chunks(run: Run, data: Any) -> None:
    assert run("convert", "x.npy", "c.zarr", "--chunks", "1,6,7").status == 0
    assert zarr.open_array("c.zarr", mode="r").chunks == (1, 6, 7)
    assert (read("c.zarr") == data).all()
    assert run("convert", "c.zarr", "c.npy") == (0, "", "")
    assert Path("c.npy").read_bytes() == Path("x.npy").read_bytes()
    assert run("convert", "xs.zarr", "cs.zarr").status == 0
    assert (read("cs.zarr") == data).all()
    assert run("convert", "x2.zarr", "w.zarr", "--dtype", "float64").status == 0
    assert read("w.zarr").dtype == np.float64
    assert run("convert", "x.npy", "-d", "made", "--to", "zarr").status == 0
    assert (read("made/x.zarr") == data).all()
    assert run("convert", "x.npy", "-", "--to", "zarr").status == 2


@pytest.mark.parametrize("version", [2, 3])
def test_a_copy_keeps_the_attributes_of_an_array_and_a_gather_does_not(
    run: Run, folder: Path, version: Any
) -> None:
    names = {"dimension_names": ["time", None]} if version == 3 else {}
    said = {"units": "K", "scale": 0.1, "of": [1, {"ü": None}]}
    options: Any = {"zarr_format": version, "attributes": said, **names}

    stored(folder / "x.zarr", np.arange(6).reshape(2, 3), (1, 2), **options)

    assert run("convert", "x.zarr", "y.zarr").status == 0

    made = zarr.open_array("y.zarr", mode="r")

    assert dict(made.attrs) == said
    assert getattr(made.metadata, "dimension_names", None) == (("time", None) if names else None)
    assert run("convert", "y.zarr", "y.zarr", "--chunks", "2,3").status == 0
    assert dict(zarr.open_array("y.zarr", mode="r").attrs) == said
    assert run("gather", "x.zarr", "0,", "-o", "z.zarr").status == 0

    made = zarr.open_array("z.zarr", mode="r")

    assert dict(made.attrs) == {}
    assert getattr(made.metadata, "dimension_names", None) is None


def test_malformed_attributes_are_not_copied(run: Run, data: Any) -> None:
    text = json.loads(Path("x3.zarr/zarr.json").read_text())
    text |= {"attributes": [1], "dimension_names": ["a"]}

    Path("x3.zarr/zarr.json").write_text(json.dumps(text))

    assert run("convert", "x3.zarr", "y.zarr").status == 0
    assert (read("y.zarr") == data).all()


def test_a_copy_without_shards_says_so(run: Run, data: Any) -> None:
    ran = run("convert", "xs.zarr", "y.zarr")

    assert (ran.status, ran.err) == (
        0,
        "note: y.zarr is written without shards, each chunk as a file\n",
    )
    assert (read("y.zarr") == data).all()
    assert zarr.open_array("y.zarr", mode="r").shards is None


def test_a_damaged_chunk_leaves_no_output(run: Run, data: Any) -> None:
    del data
    chunk = next(path for path in Path("x3.zarr/c").rglob("*") if path.is_file())
    chunk.write_bytes(b"garbage")

    found = run("gather", "x3.zarr", "0,1,2,3,4", "-o", "o.zarr")

    assert found.status == 65
    assert "x3.zarr" in found.err
    assert not [name for name in os.listdir() if name.startswith((".o", "o"))]


@pytest.mark.parametrize("output", ["o.zarr", "o.npy"])
@pytest.mark.parametrize("index", [4, 99])
def test_indices_that_change_between_check_and_use_leave_no_output(
    run: Run, data: Any, output: str, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    del data
    stored("i.zarr", np.array([0, 1, 2]), (2,))
    check_chunks = check.check_chunks

    def changing(*args: Any, **options: Any) -> Any:
        found = check_chunks(*args, **options)
        zarr.open_array("i.zarr", mode="r+")[1] = index
        return found

    monkeypatch.setattr(check, "check_chunks", changing)

    found = run("gather", "x3.zarr", "i.zarr", "-o", output)

    assert found.status == 74
    assert "`i.zarr` changed while it was read" in found.err
    assert not [name for name in os.listdir() if name.startswith((".o", "o"))]


def test_a_part_with_a_refused_index_is_not_written(data: Any) -> None:
    del data
    stored("i.zarr", np.array([0, 1, 99]), (2,))
    text = {"id": "a", "op": "gather", "version": "onnx-13", "data": "x3.zarr"}
    with Creation("o.zarr") as made:
        made.open((3, 6, 7), dtype("float32"), (3, 6, 7))
        part = work.Part(made.temporary, (3, 6, 7), ((0, 3), (0, 6), (0, 7)))
        job = parse(text | {"indices": "i.zarr"}, where=part.where)
        line = work.line_of(job, work.Settings())
        assert os.listdir(made.temporary) == ["zarr.json"]

    assert (line.status, line.rule) == ("error", "unreadable")
    assert line.message is not None
    assert "`indices` changed while they were read" in line.message


def test_jobs_read_and_write_chunks(run: Run, data: Any) -> None:
    jobs = [
        {"id": "a", "op": "gather", "data": "x3.zarr", "indices": [1, 2], "output": "a/a.zarr"},
        {"id": "b", "op": "gather", "data": "x2.zarr", "indices": [0], "output": "b.npy"},
        {"id": "c", "op": "shape", "of": "gather", "data": "xs.zarr", "indices": "2", "axis": 1},
    ]

    Path("j.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))

    assert run("batch", "j.jsonl", "--report", "r.jsonl", "-j1", "-q").status == 0
    assert (read("a/a.zarr") == data[[1, 2]]).all()
    assert (np.load("b.npy") == data[[0]]).all()

    first = Path("r.jsonl").read_text()

    assert run("batch", "j.jsonl", "--report", "r.jsonl", "--resume", "-j1", "-q").status == 0
    assert Path("r.jsonl").read_text() == first

    zarr.open_array("x3.zarr", mode="r+")[2] = 0

    assert run("batch", "j.jsonl", "--report", "r.jsonl", "--resume", "-j1", "-q").status == 0
    assert (read("a/a.zarr")[1] == 0).all()


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"data": "x3.zarr", "output": "x3.zarr"}, "which is an input of the job itself"),
        ({"data": "x3.zarr", "output": "x3.zarr/c/o.npy"}, "which lies in an input of"),
        ({"data": "x3.zarr/c", "output": "x3.zarr"}, "which is an input of the job itself"),
        ({"data": "x3.zarr", "output": "plain.zarr"}, "it is a folder, and no zarr array"),
    ],
)
def test_jobs_keep_out_of_each_others_chunks(
    run: Run, data: Any, job: dict[str, str], message: str
) -> None:
    del data
    Path("plain.zarr").mkdir()
    Path("j.jsonl").write_text(json.dumps({"id": "a", "op": "gather", "indices": [0]} | job))

    found = run("batch", "j.jsonl", "-j1")

    assert found.status == 65
    assert message in found.err


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_removes_the_unfinished_array(
    number: signal.Signals, status: int, folder: Path
) -> None:
    made = zarr.create_array(
        str(folder / "x.zarr"), shape=(600, 512, 512), chunks=(1, 512, 512), dtype="f8"
    )
    del made  # all zeros, and so without files
    words = ["gather", "x.zarr", "arange:600xi64", "-o", "o.zarr", "--max-bytes", "100M"]
    process = subprocess.Popen([sys.executable, "-m", "gathercli", *words])
    wait_until(lambda: any(name.endswith(".tmp") for name in os.listdir()))
    for _ in range(2):  # a terminal that closes is told by the system and by the shell
        process.send_signal(number)

    assert process.wait(PATIENCE) == status
    assert os.listdir() == ["x.zarr"]


@pytest.mark.no_cover
@pytest.mark.parametrize("source", ["x2.zarr", "x3.zarr", "xs.zarr", "x.npy"])
@pytest.mark.parametrize(
    ("batch_dims", "depth"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (2, 1)]
)
def test_tuples_of_any_length_and_batch_dims_read_and_write_chunks(
    run: Run, data: Any, source: str, batch_dims: int, depth: int
) -> None:
    del data
    indices("i", (*DATA[:batch_dims], 4, depth), -5, 5)
    both(run, "gather-nd", source, "i", f"--batch-dims={batch_dims}")


@pytest.mark.parametrize("version", ["openvino-5", "openvino-8", "onnx-12", "onnx-13"])
@pytest.mark.parametrize(
    "words", [(), ("--negative=wrap", "--out-of-range=zero"), ("--out-of-range=clamp",)]
)
def test_every_version_of_gather_nd_reads_and_writes_chunks(
    run: Run, data: Any, version: str, words: tuple[str, ...]
) -> None:
    del data
    indices("i", (*DATA[:2], 3, 1), -9, 9)
    both(run, "gather-nd", "x3.zarr", "i", "--version", version, "--batch-dims=2", *words)


def test_an_output_whose_batches_are_one_has_its_own_chunks(run: Run, data: Any) -> None:
    at = np.random.default_rng(0).integers(0, 7, (5, 6, 2, 1))
    stored("i.zarr", at, (2, 4, 1, 1))
    words = ("-V", "openvino-5", "-b", "2", "-o", "o.zarr", "--chunks", "7,2")

    assert run("gather-nd", "x3.zarr", "i.zarr", *words).status == 0

    assert zarr.open_array("o.zarr", mode="r").chunks == (7, 2)
    wanted = np.take_along_axis(data, at[..., 0], 2).reshape(30, 2)
    assert (read("o.zarr") == wanted).all()


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("x3.zarr", "i.zarr"), "json"),
        (("x.npy", "i.zarr", "-f", "npy"), "npy"),
        (("x3.zarr", "i.npy", "-f", "npy", "--max-bytes", "100M"), "npy"),
    ],
    ids=" ".join,
)
def test_a_pipe_takes_what_a_file_does(data: Any, words: tuple[str, ...], out: str) -> None:
    del data
    indices("i", (40, 2), -5, 5)
    program = (sys.executable, "-m", "gathercli", "gather-nd")

    piped = subprocess.run([*program, *words], capture_output=True, check=True).stdout

    subprocess.run([*program, "x.npy", "i.npy", "-o", f"want.{out}"], check=True)
    assert piped == Path(f"want.{out}").read_bytes()


@pytest.fixture
def beams(folder: Path) -> Any:
    """Make the inputs of a tree as .npy and, but for the last, as .zarr."""
    rng = np.random.default_rng(0)
    arrays = rng.integers(0, 3, (7, 4, 3)), rng.integers(0, 3, (7, 4, 3)), np.array([7, 2, 0, 5])
    for name, array in zip("spl", arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
        stored(folder / f"{name}.zarr", array, (3, 2, 2)[: array.ndim], zarr_format=2)
    return arrays


def test_beams_are_followed_in_chunks_as_in_whole_tensors(run: Run, beams: Any) -> None:
    del beams
    assert run("gather-tree", "s.npy", "p.npy", "l.npy", "1", "-o", "want.npy").status == 0

    for kind in ("npy", "zarr"):
        for out in ("o.zarr", "o.npy"):
            words = (*(f"{name}.{kind}" for name in "spl"), "1", "-o", out)
            assert run("gather-tree", *words).status == 0

        assert (read("o.zarr") == np.load("want.npy")).all()
        assert Path("o.npy").read_bytes() == Path("want.npy").read_bytes()

    made = zarr.open_array("o.zarr", mode="r")
    assert made.chunks == (3, 2, 2)
    assert made.metadata.zarr_format == 2


def test_a_parent_that_is_refused_leaves_no_output(run: Run, beams: Any) -> None:
    del beams
    zarr.open_array("p.zarr", mode="r+")[5, 0] = 9

    found = run("gather-tree", "s.zarr", "p.zarr", "l.zarr", "1", "-o", "o.zarr")

    assert found.status == 65
    assert "rule: index-range" in found.err
    assert not [name for name in os.listdir() if name.startswith((".o", "o"))]


def test_a_tree_that_memory_cannot_take_is_refused(run: Run, beams: Any) -> None:
    del beams
    words = ("gather-tree", "s.zarr", "p.zarr", "l.zarr", "1", "-o", "o.zarr", "--max-bytes")
    cells = 7 * 4 * 3
    size = cells * (8 + 8) + (2 * cells + 4) * 8

    found = run(*words, str(size - 1))

    assert found.status == 65
    assert f"the result takes {size} bytes of memory with what is read for it" in found.err
    assert run(*words, str(size)).status == 0


def test_no_worker_follows_a_part_of_the_beams(run: Run, beams: Any) -> None:
    del beams

    words = ("s.zarr", "p.zarr", "l.zarr", "1", "-o", "o.zarr")
    found = run("gather-tree", *words, "--scheduler", "tcp://127.0.0.1:1")

    assert found.status == 2
    assert "follows `parent_ids` through all steps" in found.err


def test_jobs_of_tuples_and_of_trees_write_chunks(run: Run, data: Any, beams: Any) -> None:
    del beams
    steps = {"step_ids": "s.zarr", "parent_ids": "p.zarr", "max_seq_len": "l.npy", "end_token": 1}
    listed: list[dict[str, Any]] = [
        {"id": "a", "op": "gather-nd", "data": "x3.zarr", "indices": [[1, 2], [4, 0]]},
        {"id": "b", "op": "gather-tree", **steps},
    ]
    Path("j.jsonl").write_text(
        "".join(json.dumps(job | {"output": f"{job['id']}.zarr"}) + "\n" for job in listed)
    )

    assert run("batch", "j.jsonl", "-q").status == 0

    assert (read("a.zarr") == data[[1, 4], [2, 0]]).all()
    assert read("b.zarr").shape == (7, 4, 3)


@pytest.mark.parametrize("output", ["o.npy", "o.zarr"])
def test_memory_does_not_grow_with_the_tuples(folder: Path, output: str) -> None:
    stored(folder / "x.zarr", np.ones((300, 400, 8), "f4"), (50, 50, 8))
    at = np.random.default_rng(0).integers(0, 300, (4_000_000, 2), np.int32)
    stored(folder / "few.zarr", at[:10], (10, 2))
    stored(folder / "many.zarr", at, (100_000, 1))
    options = ["-o", output, "--max-bytes", "130M", "-j", "1", "-q"]

    few = anonymous(["gather-nd", "x.zarr", "few.zarr", *options], folder)

    assert runs_with(few + 60, ["gather-nd", "x.zarr", "many.zarr", *options], folder)
