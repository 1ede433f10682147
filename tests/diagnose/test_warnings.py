"""Warnings of likely mistakes, and of what runtimes get wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.ops import FAMILIES
from gathercli.text import listed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run


def warned(ran: Ran) -> dict[str, str]:
    return {each["name"]: each["message"] for each in json.loads(ran.out)["warnings"]}


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ([], "openvino.Gather-8 takes the last slice"),
        (["-V", "onnx-1"], "onnx.Gather-1 refuses it"),
        (["-V", "onnx-1", "--negative", "wrap"], "onnx.Gather-1 takes the last slice"),
        (["-V", "onnx-1", "--out-of-range", "zero"], "onnx.Gather-1 fills with zeros"),
        (["-V", "onnx-1", "--out-of-range", "clamp"], "onnx.Gather-1 takes the first slice"),
        (["-V", "onnx-1", "--out-of-range", "wrap"], "onnx.Gather-1 takes the last slice"),
    ],
)
def test_minus_one_as_the_only_negative_index_may_mean_none(
    words: list[str], made: str, run: Run
) -> None:
    ran = run("check", "gather", "1.5,2,3", "-1,0,-1", *words, "-f", "json")
    start = '2 indices are -1 and no other is negative: if -1 means "none", know that '
    assert warned(ran) == {"minus-one": start + made}
    assert not warned(run("check", "gather", "1.5,2,3", "-1,-2", *words, "-f", "json"))


@pytest.mark.parametrize(
    ("policy", "fate"), [("spec", "takes the last position of its axis"), ("error", "refuses it")]
)
def test_minus_one_in_a_tuple_is_a_position_of_its_axis(policy: str, fate: str, run: Run) -> None:
    ran = run("check", "gather-nd", "arange:2x2", "[[0,-1],[1,1]]", "--negative", policy)

    assert f"know that openvino.GatherND-8 {fate}\n" in ran.out


def test_an_index_without_dimensions_drops_the_axis(run: Run) -> None:
    ran = run("check", "gather", "arange:2x3xf32", "1", "-V", "onnx-13", "-f", "json")
    assert warned(ran) == {
        "one-index": "`indices` is 0-D, so the result has no dimension for the axis (rank 1); "
        "indices of shape [1] would keep one of size 1 (rank 2)"
    }
    ran = run("check", "gather", "arange:2x3xf32", "[1]", "-V", "onnx-13", "-f", "json")
    assert warned(ran) == {
        "one-index": "`indices` has shape [1], so dimension 0 of the result stays, of size 1 "
        "(rank 2); a 0-D index would drop it (rank 1)"
    }


def test_types_that_some_versions_refuse_are_told(run: Run) -> None:
    rows = FAMILIES["gather"].ROWS
    takers = {
        "indices-type": [op for op in rows if "uint8" in map(str, op.inputs[1].dtypes)],
        "data-type": [op for op in rows if "bfloat16" in map(str, op.inputs[0].dtypes)],
    }

    ran = run("check", "gather", "3xbf16=0", "2xu8=1", "-f", "json")

    for name, what in (("indices-type", "uint8 indices"), ("data-type", "bfloat16 data")):
        able = listed([op.id for op in takers[name]], "and")
        others = listed([op.id for op in rows if op not in takers[name]], "and")
        assert warned(ran)[name] == f"{what}: {able} may take them, {others} not"


@pytest.mark.parametrize(
    ("token", "value"), [("2xi64=0 4294967296", 2**32), ("2xu32=0 4294967295", 2**32 - 1)]
)
def test_indices_that_32_bits_do_not_hold_are_told(token: str, value: int, run: Run) -> None:
    ran = run("check", "gather", "1.5,2", token, "-f", "json")
    assert warned(ran)["beyond-32-bits"] == (
        f"1 index does not fit 32 bits, first {value} at [1]: runtimes that cut them to 32 bits "
        "take another"
    )


@pytest.mark.parametrize(("beyond", "number"), [("", 0), (2**31, 1), (-(2**31) - 1, 1)])
def test_32_bits_hold_what_lies_between_their_bounds(
    beyond: int | str, number: int, run: Run
) -> None:
    token = f"{2 + number}xi64={2**31 - 1} {-(2**31)} {beyond}"

    ran = run("check", "gather", "1.5,2", token, "-f", "json")

    assert (
        warned(ran)
        .get("beyond-32-bits", "")
        .startswith(f"1 index does not fit 32 bits, first {beyond} at [2]:" if number else "")
    )
    assert ("beyond-32-bits" in warned(ran)) == bool(number)


@pytest.mark.parametrize(
    ("size", "indices", "said"),
    [
        (2**31, "0 1", None),
        (2**31, "0 2147483647", None),
        (2**31 + 1, "0 1", "the axis has 2 147 483 649 positions"),
        (2**31 + 1, "0 2147483648", "1 index does not fit 32 bits, first 2147483648 at [1]"),
    ],
)
def test_an_axis_that_32_bits_do_not_count_is_told(
    size: int, indices: str, said: str | None, run: Run, folder: Path
) -> None:
    data = np.lib.format.open_memmap(folder / "d.npy", "w+", "i1", (size,))
    del data

    ran = run("check", "gather", "d.npy", f"2xi64={indices}", "-f", "json")

    message = warned(ran).get("beyond-32-bits")
    assert (message and message.partition(":")[0]) == said


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["1,2,3", "9,0"], "openvino-cpu-short-lists"),
        (["zeros:2x0", "0,1"], "openvino-cpu-empty"),
        (["zeros:1x3x2xf32", "1x2xi64=0", "-a", "1", "-b", "1"], "openvino-cpu-batch-of-one"),
        (['2x2xstr="a" "b" "c" "d"', "1,0", "-V", "onnx-13"], "onnxruntime-strings"),
    ],
)
def test_runtimes_that_answer_wrongly_are_told(words: list[str], name: str, run: Run) -> None:
    assert list(warned(run("check", "gather", *words, "-f", "json"))) == [name]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["arange:3", "[[3]]"], ["tuple-bounds"]),
        (["arange:3", "[[-2]]", "-V", "openvino-5"], ["tuple-bounds"]),
        (["arange:3", "zeros:2x0xi64"], ["empty-tuples"]),
        (["arange:3", "1x1xi64=4294967296"], ["beyond-32-bits", "tuple-bounds", "constant-tuples"]),
        (['2xstr="a" "b"', "[[1]]"], ["tuples-of-strings"]),
        (["2xbf16=0", "[[1]]"], ["data-type", "tuples-of-bfloat16"]),
        (["arange:1x3", "[[0],[1]]", "-b", "1"], ["tuple-batches"]),
        (["arange:3", "1x1xi32=0", "-V", "onnx-13"], ["indices-type", "exported-tuples"]),
        (["arange:3", "[[2],[-1]]"], ["minus-one"]),
        (["arange:3", "[[2],[-2]]"], []),
        (['2xstr="a" "b"', "[[1]]", "-V", "onnx-13"], []),
    ],
)
def test_runtimes_that_gather_tuples_wrongly_are_told(
    words: list[str], names: list[str], run: Run
) -> None:
    assert list(warned(run("check", "gather-nd", *words, "-f", "json"))) == names


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["[[[1,2]]]", "[[[0,0]]]", "[0]", "9"], ["tree-lengths"]),
        (["1x1x1xi8=1", "1x1x1xi8=0", "1xi8=1", "xi8=9"], ["tree-types"]),
        (["[[[4294967296]]]", "[[[0]]]", "[1]", "9"], ["tree-types"]),
        (["[[[1,2]],[[3,4]]]", "[[[0,0]],[[2,0]]]", "[2]", "9"], ["tree-parents"]),
        (["[[[1,2]],[[3,4]]]", "[[[0,0]],[[1,0]]]", "[2]", "9"], []),
    ],
)
def test_runtimes_that_follow_beams_wrongly_are_told(
    words: list[str], names: list[str], run: Run
) -> None:
    assert list(warned(run("check", "gather-tree", *words, "-f", "json"))) == names


@pytest.mark.parametrize(
    "words",
    [
        ["1.5,2,3", "9,0"],
        ["zeros:65xi64", "99,0"],
        ["zeros:2x3x2xf32", "2x2xi64=0", "-a", "1", "-b", "1"],
        ['2x2xstr="a" "b" "c" "d"', "1,0", "-V", "onnx-13", "-a", "1"],
        ['2x2xstr="a" "b" "c" "d"', "1,0"],
    ],
)
def test_where_they_answer_rightly_nothing_is_said(words: list[str], run: Run) -> None:
    assert not warned(run("check", "gather", *words, "-f", "json"))
