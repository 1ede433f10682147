"""A node of a model as the jobs of a batch: by a pattern, and by the key `node` of a job."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper

from gathercli.models import files, node_call
from gathercli.models.node_call import fed_call
from tests.modelfiles import FLOAT, INT64, TOUR, Ir, constants, onnx_model, value

if TYPE_CHECKING:
    from gathercli.models.graph import Model
    from tests.conftest import Ran, Run

pytestmark = pytest.mark.usefixtures("one_core")
WORDS = "encoder.onnx#/words/Gather"
EMBEDDINGS = np.load(f"{TOUR}/embeddings.npy")


@pytest.fixture(autouse=True)
def _models(folder: Path) -> None:
    """Put the models of the tour and two files of ids into the working folder."""
    for name in ("encoder.onnx", "encoder.xml", "encoder.bin"):
        shutil.copyfile(f"{TOUR}/{name}", folder / name)
    (folder / "ids").mkdir()
    np.save("ids/a.npy", [5, 0])
    np.save("ids/b.npy", [[1], [2]])


def _jobs(*jobs: dict[str, Any], name: str = "jobs.jsonl") -> str:
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(job)}\n" for job in jobs)
    return name


def _lines(ran: Ran) -> list[Any]:
    return [json.loads(line) for line in ran.out.splitlines()]


def _gathered(path: str = "m.onnx", axis: int = 0) -> None:
    """Save a model of a Gather that gets both inputs at run time."""
    node = helper.make_node("Gather", ["x", "i"], ["y"], axis=axis)
    inputs = [value("x", FLOAT, [3, 2]), value("i", INT64, [1])]
    onnx.save(onnx_model([node], inputs), path)


# Patterns


@pytest.mark.parametrize("feed", ["ids/*.npy", "indices=ids/*.npy", "tokens=ids/*.npy"])
def test_every_file_that_is_fed_makes_a_job(run: Run, feed: str) -> None:
    ran = run("batch", WORDS, "--feed", feed, "-o", "out/{stem}.npy", "-q")

    assert [(line["id"], line["status"], line["operator"]) for line in _lines(ran)] == [
        ("ids/a.npy", "ok", "onnx.Gather-13"),
        ("ids/b.npy", "ok", "onnx.Gather-13"),
    ]
    np.testing.assert_array_equal(np.load("out/a.npy"), EMBEDDINGS[[5, 0]], strict=True)
    np.testing.assert_array_equal(np.load("out/b.npy"), EMBEDDINGS[[[1], [2]]], strict=True)


def test_a_second_feed_is_named_after_the_file_of_the_first() -> None:
    _gathered()
    jobs = fed_call("m.onnx", ["d/{stem}.npy", "indices=ids/*.npy"], None)

    assert jobs.files.name == "indices"
    assert jobs.feeds["data"] == "d/{stem}.npy"


def test_both_inputs_of_a_job_may_be_fed(run: Run) -> None:
    _gathered()
    for name in ("a", "b"):
        np.save(f"{name}.npy", np.full((6, 2), ord(name), np.float32))

    ran = run("batch", "m.onnx", "--feed", "data={stem}.npy", "--feed", "indices=ids/*.npy", "-q")

    assert [line["result"]["data"] for line in _lines(ran)] == [[97.0] * 4, [98.0] * 4]


def test_options_and_the_matrix_take_precedence_over_the_node(run: Run) -> None:
    words = ("--matrix", "version=openvino-8,onnx-13", "axis=0,1", "--negative", "error")

    ran = run("batch", "encoder.onnx#/positions/Gather", "--feed", "indices=3,", *words, "-q")

    assert [(line["operator"], line["shape"]) for line in _lines(ran)] == [
        ("openvino.Gather-8", [1, 4]),
        ("openvino.Gather-8", [6, 1]),
        ("onnx.Gather-13", [1, 4]),
        ("onnx.Gather-13", [6, 1]),
    ]


def test_a_node_of_constants_alone_is_one_job(run: Run) -> None:
    ran = run("batch", "encoder.xml#/positions/Gather", "-q")

    ((line),) = _lines(ran)
    assert (line["status"], line["operator"], line["shape"]) == ("ok", "openvino.Gather-8", [4, 4])


def test_a_dry_run_infers_the_shapes_of_a_node(run: Run) -> None:
    ran = run("batch", WORDS, "--feed", "ids/*.npy", "--dry-run", "-q")

    assert [line["shape"] for line in _lines(ran)] == [[2, 4], [2, 1, 4]]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (
            (WORDS,),
            2,
            "`indices` (`tokens` in the model) of the node `/words/Gather` comes at run time",
        ),
        (("encoder.onnx#/word/Gather", "--feed", "0,"), 65, "has no node `/word/Gather`"),
        ((WORDS, "--feed", "x/*.npy"), 66, "`--feed` is `x/*.npy`, and no file has such a name"),
        ((WORDS, "--feed", "ids/*.npy", "--data", "1,"), 2, "`--data` is given beside the node"),
        ((WORDS, "ids/a.npy", "--feed", "0,"), 2, "`ids/a.npy` is given beside the node"),
        ((WORDS, "--feed", "ids/*.npy", "-o", "x.npy"), 2, "but `--feed` finds several files"),
        ((WORDS, "--feed", "0,", "--feed", "1,"), 2, "`--feed 1,` has no input"),
        ((WORDS, "--feed", "0,", "--step-ids-dtype", "int8"), 2, "which gather does not take"),
        (
            (WORDS, "--feed", "data={x}.npy", "--feed", "indices=ids/*.npy"),
            2,
            "`--feed` has `{x}`: expected {stem}, {name} or {dir}",
        ),
        (
            (WORDS, "--feed", "data=d/*.npy", "--feed", "indices=ids/*.npy"),
            2,
            "hint: `--feed indices='ids/{stem}.npy'` is a file for each file of `--feed`",
        ),
        (("encoder.onnx",), 65, "`encoder.onnx` is"),
    ],
)
def test_what_makes_no_jobs_of_a_node_is_refused(
    run: Run, words: tuple[str, ...], status: int, message: str
) -> None:
    ran = run("batch", *words)

    assert message in ran.err
    assert ran.status == status


def test_an_axis_at_run_time_is_given_by_option(run: Run) -> None:
    ir = Ir()
    inputs = [ir.parameter("x", "f32", [2, 2]), ir.parameter("i", "i64", [1])]
    ir.layer("pick", "Gather", [*inputs, ir.parameter("a", "i32", [])], "f32", [-1, -1])
    ir.save(Path("m.xml"))
    words = ("batch", "m.xml#pick", "--feed", "[[1,2],[3,4]]", "--feed", "1,", "-q")
    job = {"node": "m.xml#pick", "data": [[1, 2], [3, 4]], "indices": [1]}

    refused, typed = run(*words), run(*words, "--matrix", "axis=1")
    without, with_axis = run("batch", _jobs(job)), run("batch", _jobs(job | {"axis": 1}), "-q")

    assert "`axis` of the node `pick` comes at run time: expected `--axis`" in refused.err
    assert "`$.axis` is missing, which the node `pick` gets at run time" in without.err
    assert [line["result"]["data"] for ran in (typed, with_axis) for line in _lines(ran)] == [
        [2.0, 4.0],
        [2.0, 4.0],
    ]


def test_a_file_of_jobs_may_have_the_name_of_a_node(run: Run) -> None:
    name = _jobs({"op": "gather", "data": [5], "indices": [0]}, name="m.onnx#a")

    assert _lines(run("batch", name, "-q"))[0]["status"] == "ok"


# Jobs


def test_a_job_names_a_node_and_what_comes_at_run_time(run: Run) -> None:
    jobs = _jobs(
        {"id": "a", "node": WORDS, "indices": "ids/a.npy", "expect": EMBEDDINGS[[5, 0]].tolist()},
        {"id": "b", "node": WORDS, "indices": [9], "expect_error": "index-range"},
        {"id": "c", "node": "encoder.xml#/positions/Gather", "output": "out/c.npy"},
        {"id": "d", "op": "gather", "node": WORDS, "indices": [[1.0]], "version": 8, "axis": 1},
    )

    lines = _lines(run("batch", jobs, "-q"))

    assert [line["status"] for line in lines] == ["ok"] * 4
    assert [line["operator"] for line in lines[2:]] == ["openvino.Gather-8"] * 2
    assert lines[3]["shape"] == [6, 1, 1]
    assert np.load("out/c.npy").shape == (4, 4)


def test_a_model_is_beside_the_file_of_its_jobs(run: Run) -> None:
    os.mkdir("jobs")
    jobs = _jobs({"node": f"../{WORDS}", "indices": "../ids/a.npy"}, name="jobs/j.jsonl")

    assert _lines(run("batch", jobs, "-q"))[0]["status"] == "ok"


def test_a_job_of_a_node_is_explained(run: Run) -> None:
    jobs = _jobs({"id": "a", "node": WORDS, "indices": [5, 0]})

    title, *_ = run("explain", "--job", f"{jobs}#a").out.splitlines()

    assert title.startswith("Gather   axis 0 ")
    assert "   onnx.Gather-13   " in title


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"node": WORDS}, "`$.indices` is missing, which the node `/words/Gather` gets at run"),
        ({"node": "encoder.onnx#/word/Gather"}, "`$.node`: `encoder.onnx` has no node `/word/Gat"),
        ({"node": "none.onnx#a"}, "`$.node`: there is no file `none.onnx`"),
        ({"node": "a"}, "`$.node` is `a`: expected `model.onnx#NODE`"),
        (
            {"node": WORDS, "op": "gather-nd"},
            '`$.op` is `"gather-nd"`, but the node `/words/Gather',
        ),
        ({"node": 3}, "`$.op` is missing"),
        ({"op": "shape", "of": "gather", "node": WORDS}, '`$.op` is `"shape"`, but the node'),
    ],
)
def test_an_invalid_job_of_a_node_is_a_mistake(run: Run, job: dict[str, Any], message: str) -> None:
    ran = run("batch", _jobs(job))

    assert (ran.status, ran.out) == (65, "")
    assert f"jobs.jsonl, line 1: {message}" in ran.err


def test_text_that_is_no_json_is_an_error_of_its_line(run: Run) -> None:
    with open("j.jsonl", "w", encoding="utf-8") as file:
        file.write('{"node": 1,}\n')

    assert "j.jsonl, line 1: " in run("batch", "j.jsonl").err


def test_a_model_is_read_once_for_its_jobs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[str] = []
    read = files.read

    def note(path: str, options: files.ReadOptions) -> Model:
        paths.append(path)
        return read(path, options)

    monkeypatch.setattr(node_call, "read", note)
    monkeypatch.setattr(node_call, "_MOST_MODELS", 1)
    nodes = [WORDS, WORDS, "encoder.xml#/words/Gather", WORDS]

    ran = run(
        "batch", _jobs(*({"node": node, "indices": [0]} for node in nodes)), "--dry-run", "-q"
    )

    assert ran.status == 0
    assert paths == ["encoder.onnx", "encoder.xml", "encoder.onnx"]


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize(
    ("changed", "repeated"),
    [((), []), (("encoder.onnx",), ["a"]), (("encoder.bin",), ["b"]), (("m.onnx",), ["c"])],
)
def test_resume_repeats_the_jobs_of_a_changed_model(
    run: Run, changed: tuple[str, ...], repeated: list[str], *, hashed: bool
) -> None:
    _gathered()
    jobs = _jobs(
        {"id": "a", "node": WORDS, "indices": "ids/a.npy"},
        {"id": "b", "node": "encoder.xml#/words/Gather", "indices": [0]},
        {"id": "c", "node": "m.onnx", "data": [[1, 2], [3, 4]], "indices": [1]},
    )
    words = ("batch", jobs, "--report", "r.jsonl", "--resume", *(["--hash"] * hashed))
    run(*words)
    before = _lines_of("r.jsonl")
    for name in changed:
        if name == "m.onnx":
            _gathered(axis=1)
            continue
        with open(name, "rb") as file:
            content = bytearray(file.read())
        at = content.index(EMBEDDINGS.tobytes())
        content[at : at + 4] = np.float32(9).tobytes()
        with open(name, "wb") as file:
            file.write(content)
        os.utime(name, (1, 1))

    run(*words)

    after = _lines_of("r.jsonl")
    assert [old["id"] for old, new in zip(before, after, strict=True) if old != new] == repeated


def _lines_of(path: str) -> list[Any]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_weights_in_other_files_are_read_by_option(run: Run) -> None:
    os.mkdir("m")
    node = helper.make_node("Gather", ["w", "i"], ["y"])
    tensors = constants(w=np.arange(6, dtype=np.float32).reshape(3, 2), i=[2])
    onnx.save(
        onnx_model([node], tensors=tensors),
        "m/m.onnx",
        save_as_external_data=True,
        location="w.bin",
        size_threshold=0,
    )
    jobs = _jobs({"node": "m/m.onnx#y"})

    closed, read = run("batch", jobs, "-q"), run("batch", "m/m.onnx#y", "--external-data", "-q")
    run("batch", jobs, "--external-data", "--report", "r.jsonl")

    assert "in another file, which is not opened" in _lines(closed)[0]["message"]
    assert _lines(read)[0]["result"]["data"] == [4.0, 5.0]
    assert list(_lines_of("r.jsonl")[0]["stamp"]["inputs"]) == ["m/m.onnx", "m/w.bin"]


def test_a_batch_without_a_node_loads_nothing_of_models() -> None:
    jobs = _jobs({"op": "gather", "data": [5], "indices": [0], "title": "node"})
    code = (
        "import sys; from gathercli.cli.main import main; "
        f"main(['batch', '{jobs}', '-q']); "
        "print([name for name in sys.modules if name.startswith('gathercli.models')])"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.endswith("[]\n")
