"""Every command with each of its inputs wrong in turn, and the whole of what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pytest

import gathercli
from gathercli.ops import FAMILIES
from tests.messages import Block, blocks, words_of, write_wrong

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.conftest import Ran, Run


class Wrong(NamedTuple):
    """A tensor argument that every command refuses, and how it is refused."""

    token: str
    message: str
    rule: str
    status: int = 65
    hint: str | None = None


def as_wrong(block: Block) -> Wrong:
    """Return what a block of the table says of a token, whatever the role of that."""
    status, error, *_ = block.answer.splitlines()
    message = error.removeprefix("error: `data`: ")
    return Wrong(words_of(block)[1], message, block.rule, int(status), block.hint or None)


WRONG: Final = {block.title: as_wrong(block) for block in blocks("refusals")}
NEWEST: Final = {name: family.ROWS[0].full_name for name, family in FAMILIES.items()}
"""The row of a command that names no version."""

CALLS: Final[dict[str, tuple[tuple[str, ...], str | None]]] = {
    "gather": (("gather",), NEWEST["gather"]),
    "gather by another version": (("gather", "-V", "onnx-11"), "onnx.Gather-11"),
    "gather-elements": (("gather-elements", "-a", "0"), NEWEST["gather-elements"]),
    "gather-nd": (("gather-nd",), NEWEST["gather-nd"]),
    "check gather-nd": (("check", "gather-nd", "-V", "onnx-12"), "onnx.GatherND-12"),
    "shape": (("shape", "gather"), NEWEST["gather"]),
    "explain": (("explain", "gather"), NEWEST["gather"]),
    "check": (("check", "gather"), NEWEST["gather"]),
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
    write_wrong(folder)
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
    argv, row = CALLS[call]
    wrong = wrong_of(name, argv)

    ran = run(*argv, wrong.token, "[[0]]", *LIMIT)

    assert ran == (wrong.status, "", text(wrong, "data", f"  {row or ''}"))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_indices_are_refused_in_the_same_words_by_every_command(
    name: str, call: str, run: Run
) -> None:
    argv, row = CALLS[call]
    wrong = wrong_of(name, argv)

    ran = run(*argv, "[[1,2],[3,4]]", wrong.token, *LIMIT)

    call = "  " + "   ".join(filter(None, (row, "data i64[2,2]")))
    assert ran == (wrong.status, "", text(wrong, "indices", call))


@pytest.mark.no_cover
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", ["data", "indices"])
@pytest.mark.parametrize("name", WRONG)
def test_the_json_error_has_the_same_message(name: str, role: str, call: str, run: Run) -> None:
    argv, row = CALLS[call]
    wrong = wrong_of(name, argv)
    both = {"data": (wrong.token, "[[0]]"), "indices": ("[[1,2],[3,4]]", wrong.token)}

    ran = run(*argv, *both[role], *LIMIT, "--json-errors")

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
    wrong, argv = wrong_of(name, before), [*before, "gather-tree"]
    inputs = TREE | {role: wrong.token}
    earlier = list(TREE)[: list(TREE).index(role)]
    call = [NEWEST["gather-tree"], *(f"{each} {DESCRIBED[each]}" for each in earlier)]

    ran = run(*argv, *inputs.values(), *LIMIT)
    as_json = json.loads(run(*argv, *inputs.values(), *LIMIT, "--json-errors").err)

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

    assert_jobs_refused(ran, role, NEWEST["gather-tree"])


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
    argv, row = CALLS[call]
    wrong = wrong_of("a missing file", argv)

    ran = run(*argv, data, wrong.token, stdin=b"[[1,2],[3,4]]")

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

    assert_jobs_refused(ran, role, NEWEST["gather"])


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
    argv, row = CALLS[call]

    ran = run(*argv, "[[1,2],[3,4]]", "2xf32=0.5")

    assert ran == (
        65,
        "",
        f"error: `indices` is float32, which {row} does not take: expected {takes}\n"
        f"  {row}   data i64[2,2]   indices f32[2]\n"
        "hint: `--indices-dtype int64` converts them if every value is whole\n"
        "rule: indices-dtype\n",
    )
