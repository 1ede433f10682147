"""Results of versions beside each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.cli.commands.compare import every_op
from gathercli.compute.compare import COMPARED_CELLS
from gathercli.spec.op import OUT_OF_RANGE_CHOICES
from tests.cli.commands.test_compare import SINGLE, found

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


MODELS: Final = ("--of", "openvino,onnx")  # whose versions change no data


def test_the_first_cell_that_differs_is_shown(run: Run) -> None:
    words = ["--ops", "openvino.Gather-8,openvino.Gather-1", "--out-of-range", "clamp"]

    assert run("compare", "5,6,7", "-1,-7", *words) == (
        0,
        "data i64[3]   indices i64[2]   default axis   batch_dims 0   --out-of-range clamp\n"
        "\n"
        "version            shape  group  outcome\n"
        "openvino.Gather-8  [2]    A      1 clamped, first -7 at [1]\n"
        "openvino.Gather-1  [2]    B      2 clamped, first -1 at [0]\n"
        "\n"
        "A and B  first differ at [0]: 7 and 5\n"
        "A = [7,5]\n"
        "B = [5,5]\n",
        "",
    )


@pytest.mark.parametrize(
    ("data", "values", "written"),
    [
        ("[NaN,2.5]", ["NaN", 2.5], "NaN and 2.5"),
        ("2xc64=1+2j 3", [[1.0, 2.0], [3.0, 0.0]], "[1.0,2.0] and [3.0,0.0]"),
        ("[true,false]", [True, False], "true and false"),
        ('["a\\u001b[2J","b"]', ["a\x1b[2J", "b"], '"a\\u001b[2J" and "b"'),
        ("2xbf16=1.5 2", [1.5, 2.0], "1.5 and 2.0"),
        ("2xu64=18446744073709551615 0", [2**64 - 1, 0], "18446744073709551615 and 0"),
    ],
)
def test_values_of_every_kind_are_shown(data: str, values: Any, written: str, run: Run) -> None:
    """Without a sign in the range, -1 is moved to the first cell."""
    words = ["compare", data, "-2,-1", "--out-of-range", "clamp", "--ops", "gather", *MODELS]

    differs = found(run(*words, "-f", "json"))["differences"]

    assert differs == [{"groups": ["A", "B"], "at": [1], "values": [values[1], values[0]]}]

    first, second = written.split(" and ")

    assert f"\nA and B  first differ at [1]: {second} and {first}\n" in run(*words).out


@pytest.mark.parametrize("data", ["[NaN,NaN]", "2xc64=nan nan", "[0.0,-0.0]"])
def test_nan_equals_nan_and_zero_its_negative(data: str, run: Run) -> None:
    """Without a sign in the range, both indices are moved to the first cell."""
    words = ["compare", data, "-1,-2", "--out-of-range", "clamp", "--ops", "gather", *MODELS]

    assert "\n\nall give the same\nA = " in run(*words).out


def test_long_results_are_compared_block_by_block(run: Run, folder: Path) -> None:
    indices = np.zeros(3 * COMPARED_CELLS + 5, np.int64)
    indices[[-3, -1]] = -1
    np.save(folder / "i.npy", indices)
    words = ["compare", "1.5,2.5", "i.npy", "--ops", "gather", "--out-of-range", "clamp"]
    for threads in ("1", "3"):
        answer = found(run(*words, "-j", threads, "-f", "json"))
        at = [3 * COMPARED_CELLS + 2]
        assert answer["differences"] == [{"groups": ["A", "B"], "at": at, "values": [2.5, 1.5]}]


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(24))
def test_the_outcome_is_that_of_the_command_of_each_version(seed: int, run: Run) -> None:
    rng = np.random.default_rng(seed)
    rank = 1 + seed % 3
    s = int(rng.integers(0 if seed % 5 == 0 else 1, 4))
    shape = [s, *(int(n) for n in rng.integers(1, 3, rank - 1))]
    few = [int(rng.integers(0, 4)), *shape[1:]]
    data = rng.integers(0, 3, shape).astype("f4")
    indices = rng.integers(-s - (seed % 2), s + (seed % 3 == 0) + 1, few)
    options = ["--data-dtype", "float32", "--negative", str(rng.choice(["spec", "wrap", "error"]))]
    options += ["--out-of-range", str(rng.choice(OUT_OF_RANGE_CHOICES))]
    options += ["-b", "1", "-a", "1"] if seed % 4 == 3 and rank > 1 else ["-a", "0"]
    np.save("d.npy", data)
    np.save("i.npy", indices)
    answer = found(run("compare", "d.npy", "i.npy", *options, "-f", "json"))

    assert [row["version"] for row in answer["rows"]] == list(map(str, SINGLE))
    check_outcomes(answer, ["d.npy", "i.npy", *options], run)


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(16))
def test_the_outcome_of_tuples_is_that_of_the_command_of_each_version(seed: int, run: Run) -> None:
    rng = np.random.default_rng(seed)
    batch = [int(n) for n in rng.integers(1, 3, seed % 3)]
    sizes = [int(n) for n in rng.integers(1, 4, 1 + seed % 2)]
    shape = [*batch, *(int(n) for n in rng.integers(0, 3, 1)), len(sizes)]
    np.save("d.npy", rng.integers(0, 3, [*batch, *sizes, 2]).astype("f4"))
    np.save("i.npy", rng.integers(-2, 3, shape))
    options = ["-b", str(len(batch)), "--negative", str(rng.choice(["spec", "wrap", "error"]))]
    options += ["--out-of-range", str(rng.choice(OUT_OF_RANGE_CHOICES))]
    answer = found(run("compare", "d.npy", "i.npy", *options, "--ops", "gather-nd", "-f", "json"))

    assert [row["version"] for row in answer["rows"]] == [str(op) for op in every_op() if op.tuples]
    check_outcomes(answer, ["d.npy", "i.npy", *options], run)


def check_outcomes(answer: dict[str, Any], words: list[str], run: Run) -> None:
    """Compare the rows and groups of an answer with what the command of each version prints."""
    outputs: dict[str, list[str]] = {}
    ops = {op.full_name: op for op in every_op()}
    for row in answer["rows"]:
        op = ops[row["version"]]
        line = [op.family, *words, "-V", op.id]
        ran = run(*line, "-f", "literal", "-q", "--json-errors")
        assert row["outcome"] == ("values" if ran.status == 0 else "refused")
        if ran.status:
            error = json.loads(ran.err)
            assert (row["rule"], row["message"]) == (error["rule"], error["error"])
            assert row["group"] is None
        else:
            assert "x".join(map(str, row["shape"])) == ran.out.split("xf32=")[0]
            outputs.setdefault(ran.out, []).append(op.full_name)
            noted = run(*line, "-f", "literal").err
            assert (row["filled"] > 0) == ("filled" in noted)

    assert list(answer["groups"].values()) == list(outputs.values())
    assert len(answer["differences"]) == len(outputs) * (len(outputs) - 1) // 2
