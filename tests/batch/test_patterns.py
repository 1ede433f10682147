"""A job for every file that a pattern finds, and for every setting that is tried."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.batch.patterns import FilePattern, Patterns, matrix_of
from tests.house import absent_slice

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run


pytestmark = pytest.mark.usefixtures("one_core")
ROWS = np.arange(6).reshape(3, 2)
OP = ("batch", "--op", "gather")
SET = (
    "axis, batch_dims, version, negative, out_of_range, data_dtype or indices_dtype, "
    "once, with different values, as in `axis=0,1`"
)


def _save(*names: str, cells: Any = ROWS) -> None:
    for name in names:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        np.save(name, cells) if name.endswith(".npy") else np.savez(name, k=cells)


def _jobs(data: str, matrix: dict[str, list[str]] | None = None, **filled: str) -> list[Any]:
    """Write down the jobs of a pattern."""
    files = FilePattern("data", "--data", data)
    found = Patterns("gather", files, {"indices": "0", **filled}, {}, matrix or {}).entries()
    return [json.loads(each.text) for each in found]


def _lines(ran: Ran) -> list[Any]:
    """Return the ids and results of a batch, which went well."""
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert {line["status"] for line in found} == {"ok"}, ran
    assert ran.status == 0
    return [(line["id"], line.get("result") and line["result"]["data"]) for line in found]


# Files


@pytest.mark.parametrize(
    "line",
    [
        "batch --op gather --indices 0 --data in/*/*.npy",
        "batch --op gather --indices 0 --data in/*/a.npy",
        "batch --op gather --indices 0 --data in/**/*.npy",
        "batch --op gather --indices 0 --data in/shut/*.npy",
        "batch --op gather --indices 0 --data in/shut/[ab].npy#k",
        "check in",
        "convert in/shut --to npz -d out",
    ],
)
def test_a_folder_that_cannot_be_searched_is_not_taken_for_an_empty_one(
    line: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if line == "check in" and (absent := absent_slice(["model"])):
        pytest.skip(f"the package is without {absent}")
    _save("in/open/a.npy", "in/shut/a.npy")
    for name in ("scandir", "listdir", "lstat"):
        _shut(monkeypatch, name)

    ran = run(*line.split())

    assert (ran.status, ran.out) == (66, "")
    assert ran.err.startswith("error: the folder `in/shut` cannot be searched (permission denied)")


def _shut(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let a function of the system refuse the folder `in/shut`, and what is in it."""
    call = getattr(os, name)

    def refuse(path: Any = ".", **options: Any) -> Any:
        inner = name == "lstat" and str(path).startswith("in/shut/")
        if inner or (name != "lstat" and str(path).rstrip("/") == "in/shut"):
            raise PermissionError(13, "Permission denied", path)
        return call(path, **options)

    monkeypatch.setattr(os, name, refuse)


def test_a_pattern_makes_a_job_a_file_in_the_order_of_their_names(folder: Path) -> None:
    del folder
    _save("in/b.npy", "in/a.npy", "in/c.npz", "in/d/e.npy", "in/.h.npy", "in/f.npy/g.npy")
    assert _jobs("in/*.npy", output="out/{stem}.json") == [
        {
            "id": "in/a.npy",
            "op": "gather",
            "data": "@in/a.npy",
            "indices": "0",
            "output": "out/a.json",
        },
        {
            "id": "in/b.npy",
            "op": "gather",
            "data": "@in/b.npy",
            "indices": "0",
            "output": "out/b.json",
        },
    ]


@pytest.mark.parametrize("root", ["in", "./in", "{}/in", "1", "a=b", "a,b", "{x}", "i n"])
def test_braces_stand_for_the_name_the_stem_and_the_folder_below_the_first_star(
    root: str, folder: Path
) -> None:
    root = root.replace("{}", str(folder))
    _save(f"{root}/a.npy", f"{root}/x/b.tar.npy", f"{root}/x/y/c.npy")
    jobs = _jobs(f"{root}/**/*.npy", output="out/{dir}/{name}", expect="want/{stem}")
    assert [job["data"] for job in jobs] == [
        f"@{root}/a.npy",
        f"@{root}/x/b.tar.npy",
        f"@{root}/x/y/c.npy",
    ]
    assert [job["output"] for job in jobs] == ["out/./a.npy", "out/x/b.tar.npy", "out/x/y/c.npy"]
    assert [job["expect"] for job in jobs] == ["want/a", "want/b.tar", "want/c"]


def test_a_folder_is_converted_by_one_command(run: Run, folder: Path) -> None:
    _save("in/a.npy", "in/x/b.npy")
    _save("idx/a.npy", cells=[1])
    _save("idx/x/b.npy", cells=[2])
    words = ("--indices", "idx/{dir}/{name}", "-o", "out/{dir}/{stem}.json")
    assert _lines(run(*OP, "--data", "in/**/*.npy", *words)) == [
        ("in/a.npy", None),
        ("in/x/b.npy", None),
    ]
    assert json.loads((folder / "out/a.json").read_bytes()) == [[2, 3]]
    assert json.loads((folder / "out/x/b.json").read_bytes()) == [[4, 5]]


def test_a_pattern_may_end_with_a_key(run: Run) -> None:
    _save("in/a.npz", "in/b.npz")
    for before in ("", "@"):
        ran = run(*OP, "--data", f"{before}in/*.npz#k", "--indices", "1")
        assert _lines(ran) == [("in/a.npz#k", [2, 3]), ("in/b.npz#k", [2, 3])]


def test_a_pattern_may_say_what_raw_bytes_are(run: Run) -> None:
    _save("x.npy")
    for name in ("a.bin", "b#.bin"):
        ROWS.astype("i4").tofile(name)
    ran = run(*OP, "--data", "bin:3x2xi32@*.bin", "--indices", "1", "-o", "{stem}.npy")
    assert _lines(ran) == [("a.bin", None), ("b#.bin", None)]
    assert np.load("b#.npy").tolist() == [2, 3]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("a b.npy", "a *.npy"),
        ("a'\"b.npy", "a*.npy"),
        ("x#y1.npy", "x#y*.npy"),
        ("1", "?"),
        ("1,2", "1*2"),
        ("a=b:c.npy", "a=*.npy"),
        ("[1].npy", "[[]*.npy"),
        ("[1].npy", "[[]1].npy"),
        ("[1].npy", "[1].npy"),
        ("1.npy", "[12].npy"),
        ("{stem}.npy", "{*.npy"),
        ("-1.npy", "-*.npy"),
        ("a\n\x1b.npy", "a*.npy"),
        (os.fsdecode(b"a\xff.npy"), "a*.npy"),
    ],
)
def test_a_name_may_hold_anything(name: str, pattern: str, run: Run, folder: Path) -> None:
    _save("x.npy")
    (folder / "x.npy").rename(folder / name)
    ran = run(*OP, "--data", pattern, "--indices", "1", "-o", "out/{name}.json")
    assert _lines(ran) == [(name, None)]
    assert json.loads((folder / "out" / f"{name}.json").read_bytes()) == [2, 3]


def test_a_file_without_a_star_has_braces_too(folder: Path) -> None:
    del folder
    _save("in/x/a.npy")
    (job,) = _jobs("in/x/a.npy", output="{dir}/{stem}-{name}")
    assert job["output"] == "./a-a.npy"


def test_a_literal_is_one_job(run: Run) -> None:
    for data in ("[5,6,7]", "5,6,7", '{"dtype":"int64","data":[5,6,7]}', "3xi64=5,6,7"):
        assert _lines(run(*OP, "--data", data, "--indices", "1")) == [(data, [6])]
    assert _lines(run(*OP, "--data", "arange:3", "--indices", "1")) == [("arange:3", [1])]


def test_braces_of_json_are_left_alone(run: Run) -> None:
    indices = '{"dtype":"int32","data":[2]}'
    assert _lines(run(*OP, "--data", "[5,6,7]", "--indices", indices)) == [("[5,6,7]", [7])]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (
            ["--data", "in/*.npz"],
            66,
            "`--data` is `in/*.npz`, and no file has such a name: expected some\nrule: missing",
        ),
        (
            ["--data", "[1,2"],
            65,
            "expecting ',' delimiter at line 1, column 5, at the end of the text: "
            "expected JSON\nhint: did you mean `'[1,2]'`?\nrule: literal",
        ),
        (
            ["--data", "in\x1b/*.npz"],
            66,
            "`--data` is `in\\x1b/*.npz`, and no file has such a name: expected some\n"
            "rule: missing",
        ),
        (
            ["--data", "in/*.npy", "--indices", "{stm}.npy"],
            2,
            "`--indices` has `{stm}`: expected {stem}, {name} or {dir}",
        ),
        (["--data", "[1]", "--indices", "{stem}"], 2, "`--indices` has `{stem}`: expected none"),
        (
            ["--data", "in/*.npy", "-o", "{axis}{stem}.npy"],
            2,
            "`--output` has `{axis}`: expected {stem}, {name} or {dir}\n"
            "hint: `--matrix` makes names for the settings it tries",
        ),
        (
            ["--data", "in/*.npy", "-o", "o.npy"],
            2,
            "`--output` is `o.npy`, but `--data` finds several files: "
            "expected {stem}, {name} or {dir} in it",
        ),
        (
            ["--data", "in/*.npy", "-o", "{stem}.npy", "--matrix", "axis=0,1"],
            2,
            "`--output` is `{stem}.npy`, but `--matrix` has 2 values of axis: "
            "expected {axis} in it",
        ),
        (
            ["--data", "in/**/*.npy", "-o", "{stem}.npy"],
            65,
            "the job of `in/x/a.npy`: `$.output` is `a.npy`, which is the output of the job of "
            "`in/a.npy` too: expected another file\nrule: job",
        ),
        (
            ["--data", "in/*.npy", "-o", "in/{name}"],
            65,
            "the job of `in/a.npy`: `$.output` is `in/a.npy`, which is an input of the job itself: "
            "expected another file\n"
            "also: 1 more job: the job of `in/b.npy`\nrule: job",
        ),
        (
            ["--data", "in/*.npy", "-o", "{stem}"],
            65,
            "the job of `in/a.npy`: `$.output`: `a` has no suffix: expected .npy, .npz, .json, "
            ".safetensors, .pb, .bin or .zarr\n"
            "also: 1 more job: the job of `in/b.npy`\nrule: job",
        ),
    ],
)
def test_a_pattern_that_cannot_be_filled_is_refused(
    words: list[str], status: int, message: str, run: Run
) -> None:
    _save("in/a.npy", "in/b.npy", "in/x/a.npy")
    words = words if "--indices" in words else [*words, "--indices", "0"]
    assert run(*OP, *words) == (status, "", f"error: {message}\n")


def test_a_folder_of_its_own_is_enough_for_an_output(folder: Path) -> None:
    del folder
    _save("in/a/x.npy", "in/b/x.npy")
    jobs = _jobs("in/*/x.npy", output="out/{dir}.npy")
    assert [job["output"] for job in jobs] == ["out/a.npy", "out/b.npy"]


# Settings


@pytest.mark.parametrize(
    "words",
    [
        ["--matrix", "axis=0,-1", "version=openvino-8,onnx-13"],
        ["--matrix=axis=0,-1", "--matrix", "version=openvino-8,onnx-13"],
        ["version=openvino-8,onnx-13", "--matrix", "axis=0,-1"],
    ],
)
def test_every_combination_of_settings_is_tried(words: list[str], run: Run, folder: Path) -> None:
    _save("a.npy")
    output = ("-o", "{axis}/{version}/{stem}.json")
    lines = _lines(run(*OP, "--data", "a.npy", "--indices", "1", *words, *output))
    assert {name for name, _ in lines} == {
        "a.npy axis=0 version=openvino-8",
        "a.npy axis=0 version=onnx-13",
        "a.npy axis=-1 version=openvino-8",
        "a.npy axis=-1 version=onnx-13",
    }
    assert json.loads((folder / "0/onnx-13/a.json").read_bytes()) == [2, 3]
    assert json.loads((folder / "-1/openvino-8/a.json").read_bytes()) == [1, 3, 5]


def test_settings_may_be_spelled_as_options_are() -> None:
    found = matrix_of("gather", ["out-of-range=zero,clamp", "batch_dims=0"])
    assert found == {"out_of_range": ["zero", "clamp"], "batch_dims": ["0"]}
    for name in ("{out-of-range}", "{out_of_range}"):
        jobs = _jobs("[1]", found, output=name + ".npy")
        assert [job["output"] for job in jobs] == ["zero.npy", "clamp.npy"]
    assert [job["batch_dims"] for job in jobs] == [0, 0]


def test_indices_may_hold_a_setting(run: Run) -> None:
    ran = run(*OP, "--data", "[[5,6],[7,8]]", "--indices", "[{axis}]", "--matrix", "axis=0,1")
    assert _lines(ran) == [("[[5,6],[7,8]] axis=0", [5, 6]), ("[[5,6],[7,8]] axis=1", [6, 8])]


def test_options_hold_for_every_job(run: Run) -> None:
    words = ("--axis", "1", "-V", "openvino-8", "--out-of-range", "clamp", "--data-dtype", "int8")
    ran = run(*OP, "--data", "[[5,6]]", "--indices", "9", *words)
    line = json.loads(ran.out)
    assert (line["operator"], line["result"]) == (
        "openvino.Gather-8",
        {"shape": [1], "datatype": "INT8", "data": [6]},
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["axes=0,1"], f"`--matrix` has `axes=0,1`: expected {SET}\nhint: did you mean `axis`?"),
        (
            ["axis=0", "Version=1"],
            f"`--matrix` has `Version=1`: expected {SET}\nhint: did you mean `version`?",
        ),
        (["op=gather"], f"`--matrix` has `op=gather`: expected {SET}"),
        (["axis"], f"`--matrix` has `axis`: expected {SET}"),
        (["axis="], f"`--matrix` has `axis=`: expected {SET}"),
        (["axis=0,,1"], f"`--matrix` has `axis=0,,1`: expected {SET}"),
        (["axis=0,0"], f"`--matrix` has `axis=0,0`: expected {SET}"),
        (["axis=0", "axis=1"], f"`--matrix` has `axis=1` again: expected {SET}"),
        (
            ["axis=0", "x"],
            "`x` is given beside `--op`: expected files of jobs, or `--op`\n"
            "hint: a pattern is quoted, so that the shell leaves it: `--data 'in/*.npy'`",
        ),
        (["axis=0", "--axis", "1"], "`--axis` is given, and in `--matrix` too: expected it once"),
        (
            ["version=openvino-8,onx13"],
            "no version `onx13` of gather: expected openvino-8, openvino-7, openvino-1, onnx-13, "
            "onnx-11 or onnx-1\nhint: did you mean `-V onnx-13`?\nrule: version",
        ),
        (["axis=0,one"], "`--axis` is `one`: expected an integer"),
        (["negative=warp"], "`--negative` is `warp`: expected spec, wrap or error"),
        (
            ["out_of_range=zero", "--out-of-range", "clamp"],
            "`--out-of-range` is given, and in `--matrix` too: expected it once",
        ),
    ],
)
def test_a_wrong_setting_is_refused(words: list[str], message: str, run: Run) -> None:
    assert run(*OP, "--data", "[1]", "--indices", "0", "--matrix", *words) == (
        2,
        "",
        f"error: {message}\n",
    )


def test_a_wrong_value_fails_its_jobs_alone(run: Run) -> None:
    ran = run(*OP, "--data", "[5]", "--indices", "0", "--matrix", "axis=0,9", "-q")
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert [(line["id"], line["rule"]) for line in found] == [
        ("[5] axis=0", None),
        ("[5] axis=9", "axis-range"),
    ]
    assert ran.status == 1


# What is no request


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            [],
            "there are no jobs: expected files of jobs, or `--op` and `--data`\n"
            "hint: `gathercli batch jobs.jsonl`",
        ),
        (["-", "-"], "`-` is given twice: expected it once\nhint: `gathercli batch jobs.jsonl`"),
        (
            ["jobs.jsonl", "./jobs.jsonl"],
            "`./jobs.jsonl` is given twice: expected it once\nhint: `gathercli batch ./jobs.jsonl`",
        ),
        (["--op", "gather"], "`--op` is given without `--data`: expected `--data` and `--indices`"),
        (
            ["--op", "gather", "--data", ""],
            "`--op` is given without `--data`: expected `--data` and `--indices`",
        ),
        (
            ["--op", "gather", "--data", "[1]", "--indices", ""],
            "`--op` is given without `--indices`: expected `--data` and `--indices`",
        ),
        (
            ["--op", "gathr", "--data", "[1]", "--indices", "0"],
            "`--op` is `gathr`: expected gather, gather-elements, gather-nd or gather-tree\n"
            "hint: did you mean `gathercli batch --op gather --data '[1]' --indices 0`?",
        ),
        (
            ["j.jsonl", "--op", "gather", "--data", "[1]", "--indices", "0"],
            "`j.jsonl` is given beside `--op`: expected files of jobs, or `--op`\n"
            "hint: a pattern is quoted, so that the shell leaves it: `--data 'in/*.npy'`",
        ),
        (
            ["j.jsonl", "--axis", "0"],
            "`--axis` is given without `--op`: expected it in the jobs themselves, or `--op`\n"
            "hint: `--op gather --data 'in/*.npy' --indices …` makes jobs without a file",
        ),
        (
            ["--matrix", "axis=0"],
            "`--matrix` is given without `--op`: expected it in the jobs themselves, or `--op`\n"
            "hint: `--op gather --data 'in/*.npy' --indices …` makes jobs without a file",
        ),
        (
            ["j.jsonl", "--resume"],
            "`--resume` is given without a report in a file: expected `--report FILE`\n"
            "hint: `--report report.jsonl` keeps what was done",
        ),
        (
            ["j.jsonl", "--resume", "--report", "-"],
            "`--resume` is given without a report in a file: expected `--report FILE`\n"
            "hint: `--report report.jsonl` keeps what was done",
        ),
        (
            ["j.jsonl", "--hash", "--report", "/dev/null"],
            "`--hash` is given without a report in a file: expected `--report FILE`\n"
            "hint: `--report report.jsonl` keeps what was done",
        ),
        *(
            (
                ["j.jsonl", "--dry-run", option, *value],
                f"`{option}` is given with `--dry-run`, which does no job: expected one of them",
            )
            for option, value in (("--report", ["r"]), ("--junit", ["r"]), ("--resume", []))
        ),
        *(
            (
                ["j.jsonl", "--timeout", text],
                f"`--timeout` is {text}: expected seconds, more than 0",
            )
            for text in ("0", "-1", "nan", "inf")
        ),
        *(
            (
                ["j.jsonl", "--max-failures", text],
                f"`--max-failures` is `{text}`: expected a number of jobs, or a percentage\n"
                "hint: `--max-failures 10` or `--max-failures 5%`",
            )
            for text in ("", "x", "-1", "1.5", "101%", "5 %", "%", "1e3", "٣", "1\n")
        ),
        (
            ["j.jsonl", "--max-failures", "1", "--fail-fast"],
            "`--max-failures` is `1`, beside `--fail-fast`: expected one of them\n"
            "hint: `--max-failures 10` or `--max-failures 5%`",
        ),
    ],
)
def test_a_wrong_command_is_refused(words: list[str], message: str, run: Run) -> None:
    ran = run("batch", *words)
    assert ran == (2, "", f"error: {message}\n".replace("1\n`", "1\\x0a`"))
    assert not os.path.exists("r")


@pytest.mark.parametrize("text", ["0", "10", "100%", "0.5%"])
def test_how_many_may_fail_is_a_number_or_a_percentage(text: str, run: Run) -> None:
    words = ("--data", "[1]", "--indices", "0", "--max-failures", text)
    assert run(*OP, *words, "-q").status == 0


# Every operator


STEPS = [[[1, 2]], [[3, 4]]]
PARENTS = [[[0, 0]], [[1, 0]]]
TREE = ("batch", "--op", "gather-tree")
TREE_INPUTS = (
    *("--step-ids", "[[[1]]]", "--parent-ids", "[[[0]]]"),
    *("--max-seq-len", "[1]", "--end-token", "9"),
)


def test_tuples_pick_from_each_file(run: Run) -> None:
    _save("in/a.npy")
    _save("in/b.npy", cells=ROWS + 10)
    words = ("--indices", "[[2,1]]", "--matrix", "version=openvino-8,onnx-11")

    ran = run("batch", "--op", "gather-nd", "--data", "in/*.npy", *words)

    assert _lines(ran) == [
        ("in/a.npy version=openvino-8", [5]),
        ("in/a.npy version=onnx-11", [5]),
        ("in/b.npy version=openvino-8", [15]),
        ("in/b.npy version=onnx-11", [15]),
    ]


def test_the_first_input_of_any_operator_finds_the_files(run: Run, folder: Path) -> None:
    _save("in/a.npy", "in/b.npy", cells=STEPS)
    _save("par/a.npy", "par/b.npy", cells=PARENTS)
    words = ("--parent-ids", "par/{stem}.npy", "--max-seq-len", "[2]", "--end-token", "9")

    ran = run(*TREE, "--step-ids", "in/*.npy", *words, "-o", "out/{stem}.json")

    assert _lines(ran) == [("in/a.npy", None), ("in/b.npy", None)]
    assert json.loads((folder / "out/b.json").read_bytes()) == [[[2, 1]], [[3, 4]]]


def test_a_type_of_any_input_may_be_tried(run: Run) -> None:
    types = ("parent_ids_dtype", "max_seq_len_dtype", "end_token_dtype")
    typed = [word for name in types for word in (f"--{name.replace('_', '-')}", "float32")]

    ran = run(*TREE, *TREE_INPUTS, *typed, "--matrix", "step_ids_dtype=float32")

    (line,) = [json.loads(line) for line in ran.out.splitlines()]
    assert (line["id"], line["dtype"]) == ("[[[1]]] step_ids_dtype=float32", "float32")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--data", "[1]"],
            "`--op` is given without `--step-ids`: expected `--step-ids`, `--parent-ids`, "
            "`--max-seq-len` and `--end-token`",
        ),
        (
            ["--step-ids", "[[[1]]]", "--parent-ids", "[[[0]]]", "--max-seq-len", "[1]"],
            "`--op` is given without `--end-token`: expected `--step-ids`, `--parent-ids`, "
            "`--max-seq-len` and `--end-token`",
        ),
        (
            [*TREE_INPUTS, "--indices", "0"],
            "`--indices` is given, which gather-tree does not take: expected `--step-ids`, "
            "`--parent-ids`, `--max-seq-len` and `--end-token`",
        ),
        (
            [*TREE_INPUTS, "--data-dtype", "int32"],
            "`--data-dtype` is given, which gather-tree does not take: expected `--axis`, "
            "`--batch-dims`, `--version`, `--negative`, `--out-of-range`, `--step-ids-dtype`, "
            "`--parent-ids-dtype`, `--max-seq-len-dtype` and `--end-token-dtype`",
        ),
        (
            [*TREE_INPUTS, "--matrix", "indices_dtype=int32"],
            "`--matrix` has `indices_dtype=int32`: expected axis, batch_dims, version, negative, "
            "out_of_range, step_ids_dtype, parent_ids_dtype, max_seq_len_dtype or "
            "end_token_dtype, once, with different values, as in `axis=0,1`\n"
            "hint: did you mean `end_token_dtype`?",
        ),
    ],
)
def test_what_an_operator_does_not_take_is_refused(
    words: list[str], message: str, run: Run
) -> None:
    assert run(*TREE, *words) == (2, "", f"error: {message}\n")


def test_a_pattern_of_steps_that_finds_nothing_names_its_option(run: Run) -> None:
    words = [word.replace("[[[1]]]", "in/*.npy") for word in TREE_INPUTS]

    ran = run(*TREE, *words)

    assert ran.status == 66
    assert ran.err.startswith("error: `--step-ids` is `in/*.npy`, and no file has such a name")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--indices", "idx/*.npy"], "`--indices 'idx/{stem}.npy'` is a file for each file of"),
        (["--indices", "idx/**/*.npy"], "`--indices 'idx/{stem}.npy'` is a file for each file of"),
        (["--indices", "0,", "-V", "onnx-11,onnx-13"], "`--matrix version=onnx-11,onnx-13` tries"),
    ],
)
def test_a_pattern_or_list_where_one_is_expected_gets_a_hint(
    words: list[str], hint: str, run: Run
) -> None:
    ran = run("batch", "--op", "gather", "--data", "arange:3", *words)

    assert (ran.status, ran.out) == (2, "")
    assert f"\nhint: {hint}" in ran.err


@pytest.mark.parametrize(("name", "others"), [("*.npy", "2 other files"), ("[ab].npy", "1 other")])
def test_a_file_whose_name_is_a_pattern_of_others_is_noted(
    name: str, others: str, run: Run
) -> None:
    for each in (name, "a.npy", "c.npy"):
        np.save(each, np.arange(3))

    ran = run("batch", "--op", "gather", "--data", name, "--indices", "0,")

    assert [line["id"] for line in map(json.loads, ran.out.splitlines())] == [name]
    assert ran.err.startswith(f"note: `--data {name}` names a file, the only one that is read; ")
    assert others in ran.err


@pytest.mark.parametrize(
    ("names", "words"), [(["*.npy"], []), (["*.npy", "a.npy"], ["-q"])], ids=["alone", "quiet"]
)
def test_a_file_whose_name_is_a_pattern_of_no_other_is_not_noted_nor_any_by_a_quiet_batch(
    names: list[str], words: list[str], run: Run
) -> None:
    for each in names:
        np.save(each, np.arange(3))

    ran = run("batch", "--op", "gather", "--data", "*.npy", "--indices", "0,", *words)

    assert (ran.status, "note" in ran.err) == (0, False)
