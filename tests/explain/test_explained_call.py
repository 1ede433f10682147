"""Jobs, and calls from other sources, that are explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


JOBS: Final = (
    '{"id":"a","op":"gather","data":[1,2,3],"indices":[-1],"version":"onnx-13"}\n'
    '{"id":"b","op":"gather-elements","data":"d.npy","indices":[[0,1]],"axis":0,'
    '"version":"onnx-13"}\n'
    '{"id":"s","op":"shape","of":"gather","data":"[2]","indices":"[3]"}\n'
)


def test_a_job_is_explained(run: Run, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "jobs.jsonl").write_text(JOBS)
    np.save(folder / "sub" / "d.npy", np.array([[1, 2], [3, 4]]))
    ran = run("explain", "--job", "sub/jobs.jsonl#b", "--step")
    assert ran.out.endswith("out[0,1] = data[indices[0,1],1] = data[1,1] = 4\n")
    assert run("explain", "--job", "sub/jobs.jsonl#a").out.startswith("Gather   axis 0")
    (folder / "a#b").mkdir()
    (folder / "a#b" / "j.jsonl").write_text(JOBS.replace('"id":"a"', '"id":"x#1"'))
    assert run("explain", "--job", "a#b/j.jsonl#x#1").out.startswith("Gather   axis 0")
    titled = '{"id":"t","title":"A\\u001b[31m","source":"B","op":"gather","data":[1],"indices":0}'
    (folder / "t.json").write_text(titled)
    assert run("explain", "--job", "t.json").out.startswith("A\\x1b[31m\nB\n\nGather   axis 0")
    fields = json.loads(run("explain", "--job", "t.json", "-f", "json").out)
    assert (fields["title"], fields["source"]) == ("A\x1b[31m", "B")
    one = folder / "one.json"
    one.write_text(JOBS.splitlines()[0])
    assert run("explain", "--job", "one.json").status == 0


@pytest.mark.parametrize(
    "token", ["jobs.jsonl:2", "./jobs.jsonl:2", "jobs.jsonl#jobs.jsonl:2", "jobs.json[1]"]
)
def test_a_job_without_an_id_is_explained_by_where_it_stands(
    token: str, run: Run, folder: Path
) -> None:
    call: dict[str, Any] = {"op": "gather", "indices": 0, "axis": 0}
    listed = [call | {"data": [number], "title": f"Number {number}."} for number in range(3)]
    (folder / "jobs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in listed))
    (folder / "jobs.json").write_text(json.dumps(listed))

    ran = run("explain", "--job", token)

    assert ran.status == 0
    assert ran.out.startswith("Number 1.\n")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--job", "j.jsonl"), 2, "has 3 jobs: expected one of a, b and s"),
        (("--job", "j.jsonl#c"), 2, "has no job `c`"),
        (("--job", "j.jsonl:1"), 2, "has no job `j.jsonl:1`: expected one of a, b and s"),
        (("--job", "none.jsonl:1"), 66, "`none.jsonl` cannot be read"),
        (("--job", "j.jsonl#s"), 65, "infers a shape, which has no cells"),
        (("--job", "none.jsonl#a"), 66, "no such file"),
        (("--job", "j.jsonl#a", "-a", "1"), 2, "`--job` names the whole call"),
        (("gather", "[1]", "0", "--job", "j.jsonl#a"), 2, "`--job` names the whole call"),
        (("--job", "j.jsonl", "a b"), 2, "did you mean `--job 'j.jsonl#a b'`?"),
        (("gather", "[1]"), 2, "`INDICES` is missing"),
        ((), 2, "`OP` is missing"),
        (("gather", "[1]", "0", "--step", "--cell", "[]"), 2, "exclude each other"),
        (("gather", "[1]", "0", "--step", "-f", "json"), 2, "`--step` and `-f json` exclude"),
        (("gather", "[1]", "0", "--step", "--save", "p.svg"), 2, "`--step` and `--save` exclude"),
        (("--job", "j.jsonl#a", "--data-dtype", "f64"), 2, "`--job` names the whole call"),
        (("gather", "[1]", "0,", "--window", "5:6"), 2, "chooses nothing of dimension 0"),
        (("gather", "arange:200x200", "0", "--window", ":"), 0, ""),
        (("gather", "arange:200x200", "zeros:200xi64", "--window", ":,:"), 2, "40 000 cells"),
        (
            ("gather", "zeros:500x2", "zeros:500x1xi8", "-a", "1", "-b", "1", "--window", ":"),
            2,
            "500 batches",
        ),
        (("gater", "[1]", "0"), 2, "did you mean `gathercli explain gather '[1]' 0`?"),
        (("gather", "-", "-"), 2, "used twice"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_contradictory_options_are_refused(
    run: Run, folder: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    (folder / "j.jsonl").write_text(JOBS)
    ran = run("explain", *words)
    assert (ran.status, bool(ran.out)) == (status, not status)
    assert said in ran.err
