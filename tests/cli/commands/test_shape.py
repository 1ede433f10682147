"""`shape`: the output shape as text and as JSON, and its refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conftest import only_error

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["gather", "[?,1..5,3]", "[?,2]", "-a", "1", "-b", "1"], "[?,2,3]"),
        (["gather", "2x5", "3"], "[3,5]"),
        (["gather", "[N,3]", "[K]"], "[K,3]"),
        (["gather", '["N",2,"1..5","?"]', "[]"], "[2,1..5,?]"),
        (["gather", "[2,_,-1,3..3,0..]", "[]"], "[?,?,3,?]"),
        (["gather", "2", "[]"], "[]"),
        (["gather", "[...]", "[2]"], "[...]"),
        (["gather", "2x1x200", "2x2", "--axis", "unknown", "-b", "1"], "[2,?,?]"),
        (["gather", "2x1x200", "2x2", "--axis", "?"], "[?,?,?,?]"),
        (["gather", "-1,2", "[2]"], "[2,2]"),
        (["gather", "[9223372036854775807,8]", "[1]"], "[1,8]"),
        (["gather", "[[1,2],[3,4]]", "[[0]]"], "[1,1,2]"),
        (["gather", "2x3xf32=0", "[5]"], "[5,3]"),
        (["gather-elements", "[2,3]", "[?,3]", "-a", "0"], "[?,3]"),
        (["gather-elements", "[2,3]", "[4,1]", "-V", "onnx-13"], "[4,1]"),
    ],
)
def test_shape_prints_the_shape_as_text_and_as_json(words: list[str], out: str, run: Run) -> None:
    assert run("shape", *words) == (0, out + "\n", "")
    as_json = run("shape", *words, "-f", "json")
    assert as_json.status == 0
    assert len(as_json.out.splitlines()) == 1
    again = run("shape", "gather", as_json.out.strip(), "[]", "-a", "0")
    assert again.status == (65 if out == "[]" else 0)


def test_shape_writes_json_without_blanks(run: Run) -> None:
    ran = run("shape", "gather", "[N,2,1..5,?]", "[K]", "-a", "3", "-f", "json")

    assert ran == (0, '["N",2,"1..5","K"]\n', "")


def test_shape_shows_the_formula_in_the_pretty_view(run: Run) -> None:
    assert run("shape", "gather", "2x5", "[N]", "-a", "1", "-f", "pretty") == (
        0,
        "openvino.Gather-8   axis 1   batch_dims 0   out[p, i] = data[p, indices[i]]\n"
        "data [2,5]   indices [N]   out [2,N]\n"
        "shape  data[:1] + indices[0:] + data[2:]  =  [2] + [N] + []  =  [2,N]\n",
        "",
    )


def test_a_word_that_is_neither_a_shape_nor_a_file_is_refused(run: Run) -> None:
    ran = run("shape", "gather", "2x5", "nofile.npy")

    assert ran.status == 66
    assert "there is no file `nofile.npy`: expected a file, or a shape such as [2,3]\n" in ran.err
    as_json = json.loads(run("shape", "gather", "nofile.npy", "[2]", "--json-errors").err)
    assert as_json["expected"] == "a file, or a shape such as [2,3]"


def test_shape_reads_a_tensor_file_and_standard_input(run: Run, folder: Path) -> None:
    np.save(folder / "a.npy", np.zeros((4, 3), np.float32))

    assert run("shape", "gather", "a.npy", "[2]") == (0, "[2,3]\n", "")
    assert run("shape", "gather", "-", "[2]", stdin=b"[[1],[2]]") == (0, "[2,1]\n", "")
    assert "f32[4,3]" in run("shape", "gather", "a.npy", "[2]", "-f", "pretty").out


@pytest.mark.parametrize(
    ("words", "status", "rule"),
    [
        (["gather", "[2,3", "[2]"], 65, "shape-text"),
        (["gather", "[5..3]", "[2]"], 65, "shape-text"),
        (["gather", "[9223372036854775808]", "[2]"], 65, "shape-text"),
        (["gather", "[2,3.5]", "[2]"], 65, "shape-text"),
        (["gather", "nosuch.npy", "[2]"], 66, "missing"),
        (["gather", "[2,3]", "2xf32=0"], 65, "indices-dtype"),
        (["gather", "[2,3]", "[1]", "--indices-dtype", "bool"], 65, "indices-dtype"),
        (["gather", "[2,3]", "[1]", "-a", "?", "-V", "onnx-13"], 65, "axis-type"),
        (["gather", "[2,3]", "[1]", "-a", "2"], 65, "axis-range"),
        (["gather", "[]", "[1]"], 65, "data-rank"),
        (["gather-elements", "[2,3]", "[2,3]"], 65, "axis-required"),
        (["gather-elements", "[2,3]", "[2,4]", "-a", "0"], 65, "elements-shape"),
        (["gather-elements", "[2,3]", "[2]", "-a", "0"], 65, "indices-rank"),
        (["gather", "[2,3]", "[3]", "-b", "1", "-a", "1"], 65, "batch-shape"),
        (["gather", "[2,3]", "[3]", "-V", "onnx-0"], 2, "version"),
        (["gather", "[2,3]", "[3]", "--data-dtype", "flot"], 2, "dtype"),
    ],
)
def test_shape_refuses_the_calls_that_the_operator_refuses(
    words: list[str], status: int, rule: str, run: Run
) -> None:
    ran = run("shape", *words)
    assert ran.status == status
    only_error(ran)
    assert ran.err.endswith(f"rule: {rule}\n")


def test_the_shape_of_a_member_is_read_from_its_header(run: Run, folder: Path) -> None:
    np.savez_compressed(folder / "x.npz", np.zeros((2, 3)))

    assert run("shape", "gather", "x.npz", "[4]") == (0, "[4,3]\n", "")


def test_a_declared_type_does_not_hide_the_type_of_a_header(run: Run, folder: Path) -> None:
    np.save(folder / "d.npy", np.zeros(2, bool))

    assert run("shape", "gather", "[3]", "d.npy", "--indices-dtype", "int64").status == 65


def test_a_shape_that_is_also_the_name_of_a_file_gets_a_note(run: Run, folder: Path) -> None:
    (folder / "2x3").touch()

    ran = run("shape", "gather", "2x3", "[1]")

    assert (ran.out, ran.err) == (
        "[1,3]\n",
        "note: `2x3` was read as a shape; the file of that name is `@2x3`\n",
    )


def test_shape_reads_a_list_that_may_be_indices_as_a_shape_with_a_note(run: Run) -> None:
    odd, plain = run("shape", "gather", "[4,3]", "0,3,0"), run("shape", "gather", "[4,3]", "1,2")

    note = "note: `0,3,0` was read as a shape; indices of these values have the shape `[3]`\n"
    assert odd == (0, "[0,3,0,3]\n", note)
    assert plain == (0, "[1,2,3]\n", "")


def test_none_in_a_shape_is_an_unknown_size(run: Run) -> None:
    assert run("shape", "gather", "[None,3]", "[2]", "-a", "1").out == "[?,2]\n"
