"""`compare`: the same inputs through every version, who agrees, and where the others differ."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from gathercli.cli.commands.compare import every_op
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from tests.conftest import Ran, Run


SINGLE = [op for op in every_op() if not op.tuples]
"""The versions and calls whose indices are no tuples."""

GATHER, ELEMENTS = (
    [str(op) for op in every_op() if op.family == family]
    for family in ("gather", "gather-elements")
)


VERSIONS = ("--of", "openvino,onnx")


def found(ran: Ran) -> dict[str, Any]:
    assert (ran.status, ran.err) == (0, "")
    answer: dict[str, Any] = json.loads(ran.out)
    return answer


def test_versions_that_agree_have_a_letter_and_the_others_a_reason(run: Run) -> None:
    assert run("compare", "arange:3x3", "[[2,0]]", "-a", "0", *VERSIONS) == (
        0,
        "data i64[3,3]   indices i64[1,2]   axis 0   batch_dims 0\n"
        "\n"
        "version                    shape    group  outcome\n"
        + "".join(f"{op!s:<25}  [1,2,3]  A      values\n" for op in FAMILIES["gather"].ROWS)
        + "openvino.GatherElements-6           -      elements-shape refuses\n"
        "onnx.GatherElements-13     [1,2]    B      values\n"
        "onnx.GatherElements-11     [1,2]    B      values\n"
        "\n"
        "elements-shape  dimension 1 of `indices` is 2, but that of `data` is 3: expected 3, as "
        "only axis 0 may differ, and 1 does not broadcast\n"
        "axis-unsupported  `axis` is 0, but GatherND has no axis: its versions are left out\n"
        "\n"
        "A and B  have the shapes [1,2,3] and [1,2]\n"
        "A = [[[6,7,8],[0,1,2]]]\n"
        "B = [[6,1]]\n",
        "",
    )


def test_tuples_are_compared_too_where_one_version_takes_them(run: Run) -> None:
    words = ["compare", "arange:1x2x3x2", "zeros:1x2x1xi64", "-b", "2", "--ops", "gather-nd,8"]

    assert run(*words, *VERSIONS) == (
        0,
        "data i64[1,2,3,2]   indices i64[1,2,1]   default axis   batch_dims 2\n"
        "\n"
        "version              shape    group  outcome\n"
        "openvino.Gather-8             -      batch-dims-axis refuses\n"
        "openvino.GatherND-8  [1,2,2]  A      values\n"
        "openvino.GatherND-5  [2,2]    B      values\n"
        "onnx.GatherND-13     [1,2,2]  A      values\n"
        "onnx.GatherND-12     [1,2,2]  A      values\n"
        "onnx.GatherND-11              -      batch-dims-unsupported refuses\n"
        "\n"
        "batch-dims-axis  `batch_dims` is 2, but `axis` is 0: expected 0\n"
        "batch-dims-unsupported  `batch_dims` is 2, but the version has no batch_dims: expected 0\n"
        "\n"
        "A and B  have the shapes [1,2,2] and [2,2]\n"
        "A = [[[0,1],[6,7]]]\n"
        "B = [[0,1],[6,7]]\n",
        "",
    )


@pytest.mark.parametrize("options", [["-a", "0"], []])
def test_tuples_that_no_version_takes_are_left_out(options: list[str], run: Run) -> None:
    rows = found(run("compare", "arange:3x3", "[[2,0,1]]", *options, "-f", "json"))["rows"]

    assert [row["version"] for row in rows] == list(map(str, SINGLE))


def test_a_version_on_tuples_that_is_named_stays(run: Run) -> None:
    words = ["compare", "1,2", "0", "-f", "json", "--ops"]

    versions = {
        names: [row["version"] for row in found(run(*words, names))["rows"]]
        for names in ("8", "8,onnx.GatherND-13", "openvino-1")
    }

    assert versions == {
        "8": ["openvino.Gather-8"],
        "8,onnx.GatherND-13": ["openvino.Gather-8", "onnx.GatherND-13"],
        "openvino-1": ["openvino.Gather-1"],
    }


@pytest.mark.parametrize(("options", "axis"), [((), ""), (("--axis", "0"), "   axis 0")])
def test_an_axis_is_named_where_a_version_has_one_or_it_is_passed(
    options: tuple[str, ...], axis: str, run: Run
) -> None:
    ran = run("compare", "--ops", "gather-nd", "arange:2x2", "[[0,1]]", *options)

    assert ran.out.startswith(f"data i64[2,2]   indices i64[1,2]{axis}   batch_dims 0\n")


def test_an_operator_with_other_inputs_is_refused(run: Run) -> None:
    assert run("compare", "1,2", "0", "--ops", "gather,gather-tree") == (
        2,
        "",
        "error: `--ops` names openvino.GatherTree-1, which takes STEP_IDS, PARENT_IDS, MAX_SEQ_LEN "
        "and END_TOKEN: expected versions of DATA and INDICES\n"
        "rule: version\n",
    )


def test_json_has_everything(run: Run) -> None:
    words = ["--ops", "openvino.Gather-8,onnx.Gather-1", "-f", "json"]

    assert found(run("compare", "5,6,7", "1,-7", *words)) == {
        "data": {"shape": [3], "datatype": "INT64"},
        "indices": {"shape": [2], "datatype": "INT64"},
        "axis": None,
        "batch_dims": 0,
        "negative": "spec",
        "out_of_range": "spec",
        "rows": [
            {
                "version": "openvino.Gather-8",
                "shape": [2],
                "outcome": "values",
                "rule": None,
                "message": "1 zero-filled, first -7 at [1]",
                "filled": 1,
                "group": "A",
            },
            {
                "version": "onnx.Gather-1",
                "shape": [2],
                "outcome": "refused",
                "rule": "index-range",
                "message": "index -7 at `[1]` is outside axis 0 of `data`, whose size is 3: "
                "expected 0 to 2 (1 of 2 indices)",
                "filled": 0,
                "group": None,
            },
        ],
        "groups": {"A": ["openvino.Gather-8"]},
        "differences": [],
    }

    moved = found(run("compare", "5,6,7", "-1,-7", *words, "--out-of-range", "clamp"))

    assert moved["differences"] == [{"groups": ["A", "B"], "at": [0], "values": [7, 5]}]

    shapes = found(run("compare", "arange:2x2", "[[0,1]]", "-a", "0", "-f", "json"))

    assert shapes["differences"] == [{"groups": ["A", "B"], "shapes": [[1, 2, 2], [1, 2]]}]


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ("gather-elements", ELEMENTS),
        ("onnx-13, gather", [*GATHER[:6], "onnx.GatherElements-13", *GATHER[6:]]),
        (
            "np.take, torch",
            ["numpy.take", *(name for name in GATHER + ELEMENTS if "torch" in name)],
        ),
        ("openvino.Gather-8", ["openvino.Gather-8"]),
        ("8", ["openvino.Gather-8"]),
        ("onnx-1,openvino-7,onnx-1", ["openvino.Gather-7", "onnx.Gather-1"]),
    ],
)
def test_some_versions_are_chosen_and_keep_their_order(
    names: str, chosen: list[str], run: Run
) -> None:
    answer = found(run("compare", "1,2", "0", "--ops", names, "-f", "json"))

    assert [each["version"] for each in answer["rows"]] == chosen


def test_other_frameworks_follow_by_their_answers(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    names = "onnx.Gather-13,numpy.take,jax.numpy.take,jax.getitem,torch.getitem,torch.embedding"

    ran = run("compare", "[1.5,-2]", "0,5", "-a", "0", "--ops", names)

    assert ran.out.partition("\n\n")[2] == (
        "version         shape  group  outcome\n"
        "onnx.Gather-13  [2]    -      index-range refuses 1, first 5 at [1]\n"
        "\n"
        "group  other frameworks\n"
        "A      1 filled with NaN or an extreme of the type, first 5 at [1], as float32\n"
        "         jax.numpy.take\n"
        "B      1 clamped, first 5 at [1], as float32\n"
        "         jax.getitem\n"
        "-      index-range refuses 1, first 5 at [1]\n"
        "         numpy.take, torch.getitem\n"
        "-      call-rank refuses: `data` has rank 1, which it does not take: expected\n"
        "       rank 2\n"
        "         torch.embedding\n"
        "\n"
        "A and B  first differ at [1]: NaN and -2.0\n"
        'A = [1.5,"NaN"]\n'
        "B = [1.5,-2.0]\n"
    )


def test_groups_of_other_frameworks_are_compared_with_the_first_alone(run: Run) -> None:
    names = "openvino-8,jax.numpy.take,jax.getitem,torch.take_along_dim"
    words = ["compare", "5,6,7", "0,9", "-a", "0", "--ops", names]

    ran, answer = run(*words), found(run(*words, "-f", "json"))

    assert re.findall("(.) and (.)  first differ", ran.out) == [("A", each) for each in "BCD"]
    pairs = ["".join(each["groups"]) for each in answer["differences"]]
    assert pairs == ["AB", "AC", "AD", "BC", "BD", "CD"]


def test_answers_are_compared_by_value_and_narrower_types_are_named(run: Run) -> None:
    words = ["--ops", "numpy.take,jax.numpy.take,jax.getitem", "-a", "0"]

    ran = run("compare", "2xu64=5 18446744073709551615", "0", *words)

    assert ran.out.partition("\n\n")[2] == (
        "version         shape  group  outcome\n"
        "jax.numpy.take  []     A      values, as uint32\n"
        "jax.getitem     []     A      values, as uint32\n"
        "numpy.take      []     A      values\n"
        "\n"
        "all give the same\n"
        "A = 5\n"
    )


@pytest.mark.parametrize("index", ["4294967297", "-4294967295"])
def test_indices_are_judged_as_a_framework_reads_them(index: str, run: Run) -> None:
    """JAX keeps 32 bits of an index, NumPy 64."""
    words = ["--ops", "numpy.take,jax.numpy.take", "-f", "json"]

    rows = found(run("compare", "5,6", index, *words))["rows"]

    assert [(row["version"], row["outcome"], row["rule"]) for row in rows] == [
        ("jax.numpy.take", "values", None),
        ("numpy.take", "refused", "index-range"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--of", "torch-2"], "names `torch-2`: expected openvino, onnx, "),
        (["--of", "onnx,"], "names ``: expected openvino, onnx"),
        (["--of", "onnx", "--ops", "torch.gather"], "is `onnx`, and `--ops` names nothing of "),
    ],
)
def test_a_framework_that_is_none_is_a_usage_error(words: list[str], said: str, run: Run) -> None:
    ran = run("compare", "1,2", "0", *words)

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: `--of` {said}")


@pytest.mark.parametrize("names", ["", "gather,", "gathr", "openvino.Gather-9", "1"])
def test_a_version_that_is_none_is_a_usage_error(names: str, run: Run) -> None:
    ran = run("compare", "1,2", "0", "--ops", names)

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith("rule: version\n")


@pytest.mark.parametrize(
    ("indices", "ops", "said"),
    [
        ("0,1", "gather", "all give the same"),
        ("0,-1", "gather", "all that accept give the same"),
        ("0,9", "gather", "only openvino.Gather-8 gives values"),
        ("0,9", "onnx-13", "every version refuses"),
    ],
)
def test_the_versions_that_agree_are_named(run: Run, indices: str, ops: str, said: str) -> None:
    assert (
        run("compare", "5,6,7", indices, "--ops", ops, *VERSIONS)
        .out.split("\n\n")[-1]
        .splitlines()[0]
        == said
    )


@pytest.mark.parametrize(
    ("data", "indices"),
    [
        ("arange:4", "3,1"),
        ("arange:2x3", "[[1,0]]"),
        ("arange:3", "2"),
        ("arange:3x2x0", "1,0"),
        ("[1.5,2,0]", "[[0],[-3]]"),
        ('["a\\u001b","é"]', "1,0"),
        ("2xc64=1+2j nan", "0,1"),
        ("arange:40x50", "rand:30xi64,high=40"),
        ("arange:4000", "rand:4000xi64,high=4000"),
    ],
)
@pytest.mark.parametrize("width", ["30", "80", "2000"])
def test_each_letter_has_the_beginning_of_its_result(
    data: str, indices: str, width: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("gather", data, indices, "-q", "-f", "json").out.rstrip("\n")

    monkeypatch.setenv("COLUMNS", width)
    ran = run("compare", data, indices, "--ops", "openvino-8")

    shown = re.search(r"^A = (.*)$", ran.out, re.MULTILINE)
    assert shown
    assert len(shown[0]) <= int(width)
    if shown[1] != "no elements":
        beginning = shown[1].removesuffix("…")
        assert whole.startswith(beginning)
        assert beginning == whole or len(shown[0]) == int(width) or whole.count(",") > 510


def test_the_status_is_0_even_if_all_refuse(run: Run) -> None:
    ran = run("compare", "1,2", "0.5")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("\n\nevery version refuses\n")
    assert run("compare", "nosuch.npy", "0").status == 66
    assert run("compare", "[1", "0").status == 65
    assert json.loads(run("compare", "[1", "0", "--json-errors").err)["operator"] is None


def test_a_result_beyond_the_limit_is_refused_and_never_made(run: Run) -> None:
    words = ["compare", "zeros:10", "zeros:5x20xi64", "--ops", "gather"]

    assert "all that accept give the same" in run(*words).out

    ran = run(*words, "--max-bytes", "799", "--out-of-range", "zero")

    assert ran.status == 65  # the literal itself is larger

    empty = ["compare", "zeros:0x1000000000", "[0,1,2]", "--ops", "openvino.Gather-8"]

    assert "limit refuses" in run(*empty).out
    assert " A " in run(*empty, "--max-bytes", "0").out


def test_a_narrow_terminal_puts_the_reason_below(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ["compare", "zeros:10x10x10x10x10", "zeros:10x10x10x9x1xi64", "--color", "never"]

    ran = run(*words, "-a", "4", terminal=(1,))

    assert all(len(line) <= 80 for line in ran.out.splitlines())
    assert "  A      values\n" in ran.out
    assert "\nelements-shape  dimension 3 of" in ran.out


@pytest.mark.parametrize(
    ("op", "data", "indices", "shown"),
    [
        ("gather-nd", "arange:2x2x3x2xf32", "[[[0,0],[1,1]],[[0,1],[2,0]]]", "1 clamped"),
        ("gather", "arange:3x2x1", "zeros:0x2x1xi64", "A = no elements"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_output_of_moved_indices_and_of_none_is_shown(
    op: str, data: str, indices: str, shown: str, run: Run
) -> None:
    for path, tensor in (("d.npy", data), ("i.npy", indices)):
        run("convert", tensor, path)

    line = ("compare", "d.npy", "i.npy", "--ops", op, "--out-of-range", "clamp")
    ran = run(*line, *(("-b", "1") if op == "gather-nd" else ()))

    assert (ran.status, ran.err) == (0, "")
    assert shown in ran.out


def test_a_framework_goes_by_its_short_name(run: Run) -> None:
    assert run("compare", "1,2", "0", "--of", "tf") == run(
        "compare", "1,2", "0", "--of", "tensorflow"
    )
