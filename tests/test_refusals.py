"""Every command with each of its inputs wrong in turn, and the whole of what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pytest

import gathercli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]


class Wrong(NamedTuple):
    """A tensor argument that every command refuses, and how it is refused."""

    token: str
    message: str
    rule: str
    status: int = 65
    hint: str | None = None


MISSING: Final = "there is no file `no.npy`: expected a file, "
LIFTS: Final = "`--max-bytes 0` lifts the limit"

WRONG: Final = {
    "a missing file": Wrong("no.npy", MISSING + "or a literal such as 0,0,4", "missing", 66),
    "a folder": Wrong(
        "a.folder",
        "`a.folder` is a directory: expected a file",
        "unreadable",
        66,
        "a zarr folder has `zarr.json`, `.zarray` or `.zgroup`; this has none",
    ),
    "malformed JSON": Wrong(
        "twice.json", 'twice.json: the key "a" is repeated: expected it once', "json"
    ),
    "a value that is none": Wrong(
        "none.json",
        "none.json: the value at `$[1]` is null: expected a number, a boolean, a string or a list",
        "json",
    ),
    "a ragged literal": Wrong(
        "[[1],[2,3]]",
        "the list at `$[1]` has length 2: expected length 1, like its siblings",
        "ragged",
        hint="every list of a dimension has the same length",
    ),
    "a ragged file": Wrong(
        "ragged.json",
        "ragged.json: the list at `$[1]` has length 2: expected length 1, like its siblings",
        "ragged",
        hint="every list of a dimension has the same length",
    ),
    "a literal of no type": Wrong(
        "2xq=1",
        "`q` in the literal is not a type: expected one such as i64, f32 or bf16",
        "literal",
    ),
    "a mixture": Wrong(
        "[[true,1]]",
        "the value at `$[0][1]` is 1, among booleans: expected one sort of values, booleans or "
        "numbers or strings",
        "dtype",
    ),
    "a generator of too much": Wrong(
        "zeros:1000",
        "the tensor i64[1000] takes 8000 bytes: expected at most 5000 bytes",
        "limit",
        hint=LIFTS,
    ),
    "a file of too much": Wrong(
        "large.json",
        "large.json: the input has 6001 bytes to be held in memory: expected at most 5000 bytes",
        "limit",
        hint=f"{LIFTS}; a .npy file is mapped and not held",
    ),
    "a .npy without its end": Wrong(
        "cut.npy", "cut.npy: the file is truncated: it ends at byte 6: expected a header", "npy"
    ),
    "a member that is not there": Wrong(
        "two.npz#c", "two.npz: the archive has `a` and `b`: expected the member `c`", "npz"
    ),
    "bytes of another size": Wrong(
        "bin:2xi64@none.json",
        "none.json: the file has 8 bytes: expected 16, for i64[2]",
        "format",
        hint="`bin:1xi64@none.json` has that many",
    ),
}

CALLS: Final[dict[str, tuple[tuple[str, ...], str | None]]] = {
    "gather": (("gather",), "openvino.Gather-8"),
    "gather by another version": (("gather", "-V", "onnx-11"), "onnx.Gather-11"),
    "gather-elements": (("gather-elements", "-a", "0"), "openvino.GatherElements-6"),
    "gather-nd": (("gather-nd",), "openvino.GatherND-8"),
    "check gather-nd": (("check", "gather-nd", "-V", "onnx-12"), "onnx.GatherND-12"),
    "shape": (("shape", "gather"), "openvino.Gather-8"),
    "explain": (("explain", "gather"), "openvino.Gather-8"),
    "check": (("check", "gather"), "openvino.Gather-8"),
    "compare": (("compare",), None),
}
"""The commands that take both tensors, and the row that a refusal names."""

TREE: Final = {
    "step_ids": "2x1x2xi64=1 2 3 4",
    "parent_ids": "2x1x2xi64=0 0 1 0",
    "max_seq_len": "1xi64=2",
    "end_token": "9",
}
"""The inputs of GatherTree, and what a refusal of a later one calls them."""
DESCRIBED: Final = {"step_ids": "i64[2,1,2]", "parent_ids": "i64[2,1,2]", "max_seq_len": "i64[1]"}

LIMIT: Final = ("--max-bytes", "5000")


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Make what is wrong, and tensors of several formats that are right."""
    (folder / "a.folder").mkdir()
    (folder / "twice.json").write_text('{"a":[1],"a":[2]}')
    (folder / "none.json").write_text("[1,null]")
    (folder / "ragged.json").write_text("[[1],[2,3]]")
    (folder / "large.json").write_text(f"[{' ' * 5998}1]")
    (folder / "cut.npy").write_bytes(b"\x93NUMPY")
    np.savez(folder / "two.npz", a=np.arange(2), b=np.arange(2))
    square = np.array([[1, 2], [3, 4]])
    np.save(folder / "square.npy", square)
    (folder / "square.json").write_text("[[1,2],[3,4]]")
    gathercli.save(folder / "square.zarr", square)
    return folder


def text(wrong: Wrong, role: str, call: str) -> str:
    """Write the whole refusal as it is printed."""
    lines = [f"error: `{role}`: {wrong.message}" if role else f"error: {wrong.message}"]
    lines += [call] if call.strip() else []
    lines += [f"hint: {wrong.hint}"] if wrong.hint else []
    return "\n".join([*lines, f"rule: {wrong.rule}\n"])


def wrong_of(name: str, words: Iterable[str]) -> Wrong:
    """Return a wrong token; `shape` takes shapes where others take literals."""
    wrong = WRONG[name]
    if "shape" not in words:
        return wrong
    message = wrong.message.replace("a literal such as 0,0,4", "a shape such as [2,3]")
    return wrong._replace(message=message)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_are_refused_in_the_same_words_by_every_command(
    name: str, call: str, run: Run
) -> None:
    words, row = CALLS[call]
    wrong = wrong_of(name, words)

    ran = run(*words, wrong.token, "[[0]]", *LIMIT)

    assert ran == (wrong.status, "", text(wrong, "data", f"  {row or ''}"))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_indices_are_refused_in_the_same_words_by_every_command(
    name: str, call: str, run: Run
) -> None:
    words, row = CALLS[call]
    wrong = wrong_of(name, words)

    ran = run(*words, "[[1,2],[3,4]]", wrong.token, *LIMIT)

    call = "  " + "   ".join(filter(None, (row, "data i64[2,2]")))
    assert ran == (wrong.status, "", text(wrong, "indices", call))


@pytest.mark.no_cover
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", ["data", "indices"])
@pytest.mark.parametrize("name", WRONG)
def test_the_json_error_has_the_same_message(name: str, role: str, call: str, run: Run) -> None:
    words, row = CALLS[call]
    wrong = wrong_of(name, words)
    both = {"data": (wrong.token, "[[0]]"), "indices": ("[[1,2],[3,4]]", wrong.token)}

    ran = run(*words, *both[role], *LIMIT, "--json-errors")

    fields = json.loads(ran.err)
    assert {key: fields[key] for key in ("error", "status", "rule", "hint")} == {
        "error": f"`{role}`: {wrong.message}",
        "status": wrong.status,
        "rule": wrong.rule,
        "hint": wrong.hint,
    }
    assert [fields[key] for key in ("operator", "data", "indices")] == [
        row,
        "i64[2,2]" if role == "indices" else None,
        None,
    ]


@pytest.mark.parametrize(
    ("before", "name"),
    [
        *(((), name) for name in WRONG),
        *(((before,), "a missing file") for before in ("check", "shape", "explain")),
    ],
)
@pytest.mark.parametrize("role", TREE)
def test_a_wrong_input_of_gather_tree_is_refused_in_the_same_words(
    name: str, role: str, before: tuple[str, ...], run: Run
) -> None:
    wrong, words = wrong_of(name, before), [*before, "gather-tree"]
    inputs = TREE | {role: wrong.token}
    earlier = list(TREE)[: list(TREE).index(role)]
    call = ["openvino.GatherTree-1", *(f"{each} {DESCRIBED[each]}" for each in earlier)]

    ran = run(*words, *inputs.values(), *LIMIT)
    as_json = json.loads(run(*words, *inputs.values(), *LIMIT, "--json-errors").err)

    assert ran == (wrong.status, "", text(wrong, role, "  " + "   ".join(call)))
    assert {key: as_json[key] for key in ("error", "rule", "hint", *earlier)} == {
        "error": f"`{role}`: {wrong.message}",
        "rule": wrong.rule,
        "hint": wrong.hint,
        **{each: DESCRIBED[each] for each in earlier},
    }


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("role", TREE)
def test_a_wrong_input_of_a_gather_tree_job_is_refused_in_the_same_words(
    role: str, run: Run, files: Path
) -> None:
    jobs = (
        {"id": name, "op": "gather-tree", **TREE, role: wrong.token}
        for name, wrong in WRONG.items()
    )
    (files / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))

    ran = run("batch", "jobs.jsonl", "--report", "-", *LIMIT)

    assert_jobs_refused(ran, role, "openvino.GatherTree-1")


def assert_jobs_refused(ran: Ran, role: str, row: str) -> None:
    """Check that a batch of a job for each wrong tensor refuses them in the words of commands."""
    report = {line["id"]: line for line in map(json.loads, ran.out.splitlines())}
    assert (ran.status, report.keys()) == (1, WRONG.keys())
    for name, wrong in WRONG.items():
        line = report[name]
        message = wrong.message.replace(", or a literal such as 0,0,4", "")
        assert (name, line["rule"], line["operator"]) == (name, wrong.rule, row)
        assert line["message"].startswith(f"`{role}`: {message}")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("data", ["square.npy", "square.json", "square.zarr", "arange:2x2", "-"])
def test_a_refusal_of_indices_describes_data_from_any_source(
    data: str, call: str, run: Run
) -> None:
    words, row = CALLS[call]
    wrong = wrong_of("a missing file", words)

    ran = run(*words, data, wrong.token, stdin=b"[[1,2],[3,4]]")

    call = "  " + "   ".join(filter(None, (row, "data i64[2,2]")))
    assert ran == (wrong.status, "", text(wrong, "indices", call))


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("words", [("info", ""), ("convert", "out.npy"), ("convert", "-")])
def test_a_wrong_file_alone_is_refused_in_the_same_words(
    words: tuple[str, str], name: str, run: Run, files: Path
) -> None:
    wrong, (command, target) = WRONG[name], words

    ran = run(command, wrong.token, *filter(None, (target,)), *LIMIT)

    assert ran == (wrong.status, "", text(wrong, "", ""))
    assert not (files / "out.npy").exists()


@pytest.mark.parametrize("name", sorted(WRONG.keys() - {"a mixture"}))  # which is another type
def test_a_wrong_expectation_is_refused_in_the_same_words(name: str, run: Run) -> None:
    wrong = WRONG[name]

    ran = run("gather", "[1,2]", "0", "--expect", wrong.token, *LIMIT)

    assert ran == (wrong.status, "", text(wrong, "expect", ""))


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize(("role", "other"), [("data", "indices"), ("indices", "data")])
def test_a_wrong_tensor_of_a_job_is_refused_in_the_same_words(
    role: str, other: str, run: Run, files: Path
) -> None:
    jobs = (
        {"id": name, "op": "gather", role: wrong.token, other: [0]} for name, wrong in WRONG.items()
    )
    (files / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))

    ran = run("batch", "jobs.jsonl", "--report", "-", *LIMIT)

    assert_jobs_refused(ran, role, "openvino.Gather-8")


@pytest.mark.parametrize(
    ("call", "takes"),
    [
        ("gather", "int8, int16, int32, int64, uint8, uint16, uint32 or uint64"),
        ("gather by another version", "int32 or int64"),
        ("gather-elements", "int32 or int64"),
        ("gather-nd", "int8, int16, int32, int64, uint8, uint16, uint32 or uint64"),
        ("shape", "int8, int16, int32, int64, uint8, uint16, uint32 or uint64"),
        ("explain", "int8, int16, int32, int64, uint8, uint16, uint32 or uint64"),
    ],
)
def test_typed_indices_that_are_not_integers_are_refused_with_the_types_of_the_version(
    call: str, takes: str, run: Run
) -> None:
    words, row = CALLS[call]

    ran = run(*words, "[[1,2],[3,4]]", "2xf32=0.5")

    assert ran == (
        65,
        "",
        f"error: `indices` is float32, which {row} does not take: expected {takes}\n"
        f"  {row}   data i64[2,2]   indices f32[2]\n"
        "hint: `--indices-dtype int64` converts them if every value is whole\n"
        "rule: indices-dtype\n",
    )
