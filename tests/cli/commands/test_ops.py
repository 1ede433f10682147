from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

import gathercli
from gathercli.cli.main import main
from gathercli.frameworks import every_row as every_call
from gathercli.ops import FAMILIES, OPERATORS, gather_tree
from gathercli.report import versions as rows
from gathercli.spec.decisions import every_decision
from gathercli.spec.dtypes import DTYPES, PLAIN
from gathercli.spec.op import FRAMEWORKS, IndexRange, OutOfRange
from tests.conftest import only_error

if TYPE_CHECKING:
    from tests.conftest import Run


CALLS: Final = [each.op for name in FAMILIES for each in every_call(name)]
every_row = pytest.mark.parametrize("op", OPERATORS, ids=str)

FIELDS: Final = [
    "id",
    "version",
    "command",
    "framework",
    "operator",
    "since",
    "axis",
    "batch_dims",
    "data_types",
    "indices_types",
    "legal_indices",
    "other_indices",
    "off_axis",
    "equation",
    "shape",
    "rules",
    "decisions",
    "changes",
    "source",
    "default",
]


BATCHED = (
    "openvino.Gather-7",
    "openvino.Gather-8",
    "openvino.GatherND-5",
    "openvino.GatherND-8",
    "onnx.GatherND-12",
    "onnx.GatherND-13",
)
"""The versions with batch_dims."""


@pytest.fixture(autouse=True)
def _no_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def printed(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """Run ``gathercli ops`` and return what it prints."""
    status = main(["ops", *words])
    out, err = capfd.readouterr()
    assert (status, err) == (0, "")
    return out


def as_json(capfd: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(printed(capfd, *words, "-f", "json"))


# the list


def test_the_list_tells_the_history_and_has_a_line_for_every_version(
    capfd: pytest.CaptureFixture[str],
) -> None:
    legal = {IndexRange.SIGNED: "[-s, s-1]", IndexRange.UNSIGNED: "[0, s-1]"}
    others = {OutOfRange.ZERO: "zero-filled", OutOfRange.ERROR: "refused"}

    history, table, calls, notes = printed(capfd).split("\n\n")

    names = [line for line in history.splitlines() if not line.startswith(" ")]
    assert names == [family.ROWS[0].name for family in FAMILIES.values()]
    assert history.count("\n") + 1 == len(names) + len(OPERATORS)
    for op in OPERATORS:
        assert re.search(rf"^  .* {op.version}  {re.escape(op.changes)}$", history, re.MULTILINE)
    defaults = [family.ROWS[0] for family in FAMILIES.values()]
    assert table.splitlines() == [
        "version                      legal indices  other indices  batch_dims",
        *(
            f"{op}{' *' if op in defaults else '':<{27 - len(str(op))}}  "
            f"{legal[op.index_range]:<13}  {others[op.out_of_range]:<13}  "
            f"{'yes' if op.has_batch_dims else '-'}"
            for op in OPERATORS
        ),
    ]
    title, *lines = calls.splitlines()
    assert title == "calls of other frameworks, which are versions too"
    assert [line.split(maxsplit=1) for line in lines] == [
        [name, ", ".join(each.op.id for each in every_call(name))] for name in FAMILIES
    ]
    assert notes == (
        "* runs where no version is named.\n"
        "s is the size of the axis; where -s is legal, -1 is its last element.\n"
        "More: gathercli ops VERSION, --diff A B, --like CALL, --decisions.\n"
    )


def test_the_history_wraps_what_changed_under_itself() -> None:
    assert (
        rows.timeline(OPERATORS[:1], 60)
        == """\
Gather
  openvino   8  negative indices count from the end; any
                other index gives zeros
"""
    )


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_of_the_list_is_wider_than_the_terminal(width: int) -> None:
    assert [line for line in rows.listing(OPERATORS, width).splitlines() if len(line) > width] == []


@pytest.mark.parametrize("width", [80, 100, 120])
@every_row
def test_no_line_of_a_sheet_is_wider_than_the_terminal(op: Any, width: int) -> None:
    assert [line for line in rows.sheets([op], width).splitlines() if len(line) > width] == []


def test_wrapping_changes_no_word() -> None:
    whole, wrapped = rows.sheets(OPERATORS, None), rows.sheets(OPERATORS, 80)

    assert whole.split() == wrapped.split()
    assert rows.listing(OPERATORS, None).split() == rows.listing(OPERATORS, 60).split()


def test_colour_changes_no_character(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (
        [],
        ["onnx-13"],
        ["--diff", "7", "8"],
        ["--like", "torch.gather"],
        ["--decisions"],
    ):
        plain = printed(capfd, *words)
        colored = printed(capfd, *words, "--color", "always")
        assert "\x1b[1m" in colored
        assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


# one version


def test_a_version_of_gather_written_out(capfd: pytest.CaptureFixture[str]) -> None:
    decided = [each for each in every_decision() if "openvino.Gather-8" in each.rows]

    assert printed(capfd, "openvino.Gather-8") == (
        "openvino.Gather-8\n"
        "  command          gathercli gather DATA INDICES -V openvino-8\n"
        "  changes          negative indices count from the end; any other index gives zeros\n"
        "  equation         out[p, i, s] = data[p, indices[p[:batch_dims], i], s]\n"
        "  shape            data[:axis] + indices[batch_dims:] + data[axis+1:]\n"
        "  data             rank 1 or more; any type\n"
        "  indices          any rank; any integer type\n"
        "  axis             an input, [-r, r-1] for data of rank r, default 0 "
        "(required by the specification, a scalar or 1-D tensor; gathercli uses 0 without it)\n"
        "  batch_dims       [-M, M] for indices of rank M, not beyond the axis; default 0\n"
        "  legal indices    [-s, s-1] for an axis of size s\n"
        "  other indices    zero-filled\n"
        "  source           OpenVINO operation set, Gather-8\n"
        "  rules, in the order they are checked\n"
        "    indices-dtype     `indices` has an integer type of the version's list.\n"
        "    data-rank         `data` has rank 1 or more.\n"
        "    axis-type         The axis is one integer.\n"
        "    axis-range        The axis is between -r and r-1, for `data` of rank r.\n"
        "    batch-dims-range  batch_dims is between -M and M, for `indices` of rank M; of "
        "GatherND it is 0 or more, and less than both ranks.\n"
        "    batch-dims-axis   batch_dims is not beyond the axis, both counted from the front.\n"
        "    batch-shape       The first batch_dims dimensions of `data` and `indices` are equal.\n"
        "    index-negative    No index is negative, where `--negative error` asks for that.\n"
        "    index-range       Every index lies on the axis, where the version or "
        "`--out-of-range` does not replace it.\n"
        "    limit             What is held, and a result, stays below `--max-bytes`, the rank "
        "below 65.\n"
        "  decisions, where the text is silent or contradicts itself\n"
    ) + rows.aligned(
        ((each.id, f"{each.question} Decision: {each.choice}") for each in decided), None, indent=4
    )
    assert [each.id for each in decided][:2] == ["gather-8-range", "batch-dims-lowest"]


def test_a_version_of_gather_elements_written_out(capfd: pytest.CaptureFixture[str]) -> None:
    out = printed(capfd, "onnx.GatherElements-11")

    assert out.startswith(
        "onnx.GatherElements-11\n"
        "  command          gathercli gather-elements DATA INDICES -V onnx-11\n"
        "  changes          the first version\n"
        "  equation         out[c] = data[c with c[axis] := indices[c]]\n"
        "  shape            indices[0:]\n"
        "  data             rank 1 or more; any type but bfloat16, float8, float6, float4, int4 "
        "and int2 types\n"
        "  indices          the rank of data; int32 or int64\n"
        "  axis             an attribute, [-r, r-1] for data of rank r, default 0 "
        "(INT, optional; the schema's default is 0)\n"
        "  batch_dims       not in this version\n"
        "  legal indices    [-s, s-1] for an axis of size s\n"
        "  other indices    refused\n"
        "  beside the axis  indices.shape[d] <= data.shape[d]\n"
        "  source           ONNX operator schemas, GatherElements (opset 11)\n"
        "  rules, in the order they are checked\n"
    )


def test_the_axis_that_openvino_s_gather_elements_requires_is_said(
    capfd: pytest.CaptureFixture[str],
) -> None:
    out = printed(capfd, "openvino.GatherElements-6")
    text = "an attribute, [-r, r-1] for data of rank r, required (Required: yes)"

    assert f"\n  axis             {text}\n" in out
    assert "\n    axis-required " in out


@every_row
def test_the_command_of_a_sheet_runs_that_version(
    op: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    line = printed(capfd, op.full_name).splitlines()[1]
    _, program, *words = line.split()
    assert program == "gathercli"
    shapes = {"DATA": "[5]", "INDICES": "[1]", "MAX_SEQ_LEN": "[2]", "END_TOKEN": "[]"}
    shapes |= dict.fromkeys(("STEP_IDS", "PARENT_IDS"), "[3,2,1]")
    words = [shapes.get(word, word) for word in words]
    axis = ["--axis", "0"] if op.attr("axis") else []
    assert main(["shape", *words, *axis, "-f", "pretty"]) == 0
    assert capfd.readouterr().out.startswith(f"{op.full_name}   {'axis 0   ' if axis else ''}")


# opsets


@pytest.mark.parametrize(
    ("version", "names"),
    [
        (
            "openvino-9",
            [
                "openvino.Gather-8",
                "openvino.GatherElements-6",
                "openvino.GatherND-8",
                "openvino.GatherTree-1",
            ],
        ),
        ("openvino-3", ["openvino.Gather-1", "openvino.GatherTree-1"]),
        (
            "openvino-6",
            [
                "openvino.Gather-1",
                "openvino.GatherElements-6",
                "openvino.GatherND-5",
                "openvino.GatherTree-1",
            ],
        ),
        ("onnx-1", ["onnx.Gather-1"]),
        ("onnx-10", ["onnx.Gather-1"]),
        ("onnx-12", ["onnx.Gather-11", "onnx.GatherElements-11", "onnx.GatherND-12"]),
        ("onnx-21", ["onnx.Gather-13", "onnx.GatherElements-13", "onnx.GatherND-13"]),
        ("8", ["openvino.Gather-8", "openvino.GatherND-8"]),
        ("6", ["openvino.GatherElements-6"]),
        ("12", ["onnx.GatherND-12"]),
        ("13", ["onnx.Gather-13", "onnx.GatherElements-13", "onnx.GatherND-13"]),
        ("onnx.Gather-1", ["onnx.Gather-1"]),
    ],
)
def test_an_opset_writes_out_the_versions_it_runs(
    version: str, names: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    heads = [line for line in printed(capfd, version).splitlines() if line[:1] not in ("", " ")]

    assert heads == names


def test_two_versions_stand_one_below_the_other(capfd: pytest.CaptureFixture[str]) -> None:
    each = [printed(capfd, f"onnx.{name}-11") for name in ("Gather", "GatherElements", "GatherND")]

    assert printed(capfd, "onnx-11") == "\n".join(each)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_opset_newer_than_the_newest_known_is_taken_with_a_note(
    framework: str, capfd: pytest.CaptureFixture[str]
) -> None:
    newer = FRAMEWORKS[framework].newest_opset + 1
    assert main(["ops", f"{framework}-{newer}"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"{framework}.Gather-")
    assert err.startswith(f"note: {framework} opset {newer} is newer than ")


def test_an_unknown_version_is_refused_naming_the_nearest(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["ops", "openvino.Gather-9"]) == 2
    out, err = capfd.readouterr()
    assert not out
    assert err.splitlines() == [
        "error: no operator version `openvino.Gather-9`: expected one of "
        + " ".join(map(str, OPERATORS)),
        "hint: did you mean `gathercli ops openvino.Gather-8`?",
        "rule: version",
    ]


def test_a_number_that_two_frameworks_have_is_refused_naming_both(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["ops", "1"]) == 2
    err = capfd.readouterr().err
    assert "openvino-1 and onnx-1 both have it" in err


# JSON


def test_a_version_in_json_has_every_field(capfd: pytest.CaptureFixture[str]) -> None:
    fields = as_json(capfd, "onnx.GatherElements-11")

    assert list(fields) == FIELDS
    assert fields == {
        "id": "onnx.GatherElements-11",
        "version": "onnx-11",
        "command": "gather-elements",
        "framework": "onnx",
        "operator": "GatherElements",
        "since": 11,
        "axis": {
            "default": 0,
            "required": False,
            "input": False,
            "source": "INT, optional; the schema's default is 0",
        },
        "batch_dims": False,
        "data_types": [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
            "string",
        ],
        "indices_types": ["int32", "int64"],
        "legal_indices": "[-s, s-1]",
        "other_indices": "refused",
        "off_axis": "indices.shape[d] <= data.shape[d]",
        "equation": "out[c] = data[c with c[axis] := indices[c]]",
        "shape": "indices[0:]",
        "rules": [
            "data-dtype",
            "indices-dtype",
            "data-rank",
            "indices-rank",
            "axis-type",
            "axis-range",
            "batch-dims-unsupported",
            "elements-shape",
            "index-negative",
            "index-range",
            "limit",
        ],
        "decisions": ["error-is-refusal", "elements-at-most"],
        "changes": "the first version",
        "source": "ONNX operator schemas, GatherElements (opset 11)",
        "default": False,
    }


def test_the_list_in_json_has_every_version_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    versions = as_json(capfd)

    assert [row["id"] for row in versions] == [str(op) for op in (*OPERATORS, *CALLS)]
    assert all(
        list(row) == FIELDS for row in versions if row["command"] in ("gather", "gather-elements")
    )
    extra = {field for row in versions for field in set(row) ^ set(FIELDS)}
    assert extra == {
        "data_types",
        "indices_types",
        "shortest_tuple",
        *(f"{each.name}_types" for each in gather_tree.OPENVINO_1.inputs),
    }


def test_an_opset_in_json_is_a_list_of_its_versions(capfd: pytest.CaptureFixture[str]) -> None:
    versions = as_json(capfd, "onnx-13")

    names = ["onnx.Gather-13", "onnx.GatherElements-13", "onnx.GatherND-13"]
    assert [row["id"] for row in versions] == names


@every_row
def test_json_says_of_every_version_what_its_row_says(
    op: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    fields = as_json(capfd, op.full_name)
    if op.one_type:
        assert_numbers_alone_are_taken(fields)
        return
    assert (fields["axis"] is None) is (op.name == "GatherND")
    assert fields["axis"] is None or fields["axis"]["default"] == op.attr("axis").default
    axis = fields["axis"] or {"required": False, "input": False}
    assert axis["required"] is (op.full_name == "openvino.GatherElements-6")
    assert axis["input"] is (op.full_name.startswith("openvino.Gather-"))
    assert fields["batch_dims"] is (op.full_name in BATCHED)
    assert ("batch-shape" in fields["rules"]) is fields["batch_dims"]
    onnx = op.framework == "onnx"
    plain = {dtype.name for dtype in PLAIN} - ({"bfloat16"} if onnx and op.version < 13 else set())
    narrow = {dtype.name for dtype in DTYPES} - {dtype.name for dtype in PLAIN}
    assert set(fields["data_types"]) == (plain if onnx else plain | narrow)
    assert ("data-dtype" in fields["rules"]) is onnx
    unsigned = {"uint8", "uint16", "uint32", "uint64", "int8", "int16"}
    any_integer = op.full_name.startswith(("openvino.Gather-", "openvino.GatherND-"))
    only_wide = onnx and op.name == "GatherND"
    wide = {"int64"} if only_wide else {"int32", "int64"}
    assert set(fields["indices_types"]) - unsigned == wide
    assert (set(fields["indices_types"]) >= unsigned) is any_integer
    assert fields.get("shortest_tuple") == (int(onnx) if op.name == "GatherND" else None)


def assert_numbers_alone_are_taken(fields: dict[str, Any]) -> None:
    """Check the JSON of the version of GatherTree."""
    numbers = [
        d.name for d in DTYPES if d.name not in ("bool", "complex64", "complex128", "string")
    ]
    assert fields["axis"] is None
    assert fields["batch_dims"] is False
    for name in ("step_ids", "parent_ids", "max_seq_len", "end_token"):
        assert fields[f"{name}_types"] == numbers
    assert fields["rules"] == [
        "tree-dtype",
        "axis-unsupported",
        "batch-dims-unsupported",
        "tree-shape",
        "integer-values",
        "index-negative",
        "index-range",
        "limit",
    ]


def test_ops_lists_every_version_and_writes_one_out(run: Run) -> None:
    listing = run("ops")
    assert (listing.status, listing.err) == (0, "")
    names = [line.split()[0] for line in listing.out.split("\n\n")[1].splitlines()]
    assert names == ["version", *map(str, gathercli.OPERATORS)]
    one = run("ops", "openvino.Gather-8")
    assert one.out.startswith("openvino.Gather-8\n")
    assert "zero-filled" in one.out
    assert run("ops", "7") == run("ops", "openvino.Gather-7")
    assert run("ops", "openvino-8", "-f", "pretty").out.startswith("openvino.Gather-8\n")
    assert run("ops", "onnx-12").out.count("\n\n") == 2  # three families have it


def test_ops_writes_json(run: Run) -> None:
    every = json.loads(run("ops", "-f", "json").out)
    assert [op["id"] for op in every] == list(map(str, (*gathercli.OPERATORS, *CALLS)))
    one = json.loads(run("ops", "onnx.Gather-11", "-f", "json").out)
    assert one == next(op for op in every if op["id"] == "onnx.Gather-11")
    assert one["indices_types"] == ["int32", "int64"]


def test_ops_prints_a_note_for_a_newer_opset(run: Run) -> None:
    ran = run("ops", "onnx-99")

    assert ran.status == 0
    assert "note: onnx opset 99 is newer than " in ran.err


def test_ops_refuses_an_unknown_version(run: Run) -> None:
    ran = run("ops", "onnx.Gather-14")
    assert ran.status == 2
    only_error(ran)
    assert "hint: did you mean `gathercli ops onnx.Gather-1" in ran.err
    assert ran.err.endswith("rule: version\n")


def test_the_name_of_an_operator_lists_its_versions(run: Run) -> None:
    versions = json.loads(run("ops", "gather_elements", "-f", "json").out)

    assert len(versions) == 3 + len(every_call("gather-elements"))
    assert run("ops", "gather").out.startswith("Gather\n")


@pytest.mark.parametrize("name", ["GatherND", "gather_nd", "gather-nd", "GATHERND"])
def test_an_operator_is_listed_by_any_spelling_of_its_name(name: str, run: Run) -> None:
    ran = run("ops", name)

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("GatherND\n")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--diff", "openvino-8", "gather-7"), "did you mean `openvino.Gather-7`?"),
        (("--diff", "a", "b"), "`gathercli ops` lists the versions"),
        (("Gather-8",), "did you mean `gathercli ops openvino.Gather-8`?"),
        (("GatherND-8",), "did you mean `gathercli ops openvino.GatherND-8`?"),
        (("gather_nd-12",), "did you mean `gathercli ops onnx.GatherND-12`?"),
        (
            ("gather1",),
            "did you mean `gathercli ops openvino.Gather-1` or `gathercli ops onnx.Gather-1`?",
        ),
        (("gather-tree-9",), "`gathercli ops GatherTree` lists its versions"),
    ],
)
def test_a_version_that_no_operator_has_gets_a_hint(
    words: tuple[str, ...], hint: str, run: Run
) -> None:
    ran = run("ops", *words)

    assert f"hint: {hint}\n" in ran.err


@pytest.mark.parametrize("words", [["--diff", "openvino-8"], ["--diff=openvino-8"]])
def test_a_difference_of_one_version_lacks_the_other(words: list[str], run: Run) -> None:
    ran = run("ops", *words)

    assert ran.status == 2
    assert ran.err.startswith("error: `--diff` has 1 of 2 values: expected `--diff A B`\n")
