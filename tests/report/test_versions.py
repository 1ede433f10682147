"""What sets two versions apart, and what it means to move between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import pytest

from gathercli.frameworks import FrameworkRow, every_row
from gathercli.ops import OPERATORS, gather, gather_nd
from gathercli.report import versions
from gathercli.spec.dtypes import BFLOAT16, FLOAT64
from gathercli.spec.op import Adaptation, Attr, IndexRange, Input, OffAxis, Op, OutOfRange
from tests.conftest import Ran

Run = Callable[..., Ran]

PAIRS: Final = [(a, b) for a, b in product(OPERATORS, repeat=2) if a is not b]
every_pair = pytest.mark.parametrize(("a", "b"), PAIRS, ids=[f"{a} {b}" for a, b in PAIRS])

ROW: Final = gather.OPENVINO_8
OTHER: Final[dict[str, dict[str, Any]]] = {
    "axis": {"attrs": (Attr("axis", None), *ROW.attrs[1:])},
    "batch_dims": {"attrs": ROW.attrs[:1]},
    "data": {"inputs": (Input("data", (BFLOAT16,)), *ROW.inputs[1:])},
    "indices": {"inputs": (*ROW.inputs[:1], Input("indices", (BFLOAT16,), values=True))},
    "legal indices": {"index_range": IndexRange.UNSIGNED},
    "other indices": {"out_of_range": OutOfRange.CLAMP},
    "beside the axis": {"off_axis": OffAxis.EQUAL},
    "inference": {"narrows": False},
    "empty outputs": {"checks_empty": False},
    "equation": {"equation": "out = data"},
    "shape": {"shape": "[]"},
}
ON_TUPLES: Final = gather_nd.ONNX_13
NAMING: Final[dict[str, Any]] = {
    "framework": "x",
    "name": "x",
    "version": 9,
    "family": "x",
    "elementwise": True,
    "tuples": True,
    "flattens_batch": True,
    "one_type": True,
    "changes": "x",
    "prefix": "x",
    "text": "x",
}
CALL_OF_TF: Final = ROW._replace(
    attrs=(ROW.attrs[0]._replace(default=None), *ROW.attrs[1:]),
    adapts=Adaptation(axis_of_batch=True),
)
# Of a call of a framework, each of which changes a trait.
CALL: Final[dict[str, tuple[str, Op]]] = {
    "rank 2 or more; ": ("data", ROW._replace(least_rank=2)),
    "rank 2; ": ("data", ROW._replace(least_rank=2, most_rank=2)),
    "0 alone": ("axis", ROW._replace(only_axis=0)),
    "; with elements, if there is an index": ("data", ROW._replace(full="data")),
    "; the axis not empty, if there is an index": ("data", ROW._replace(full="axis")),
    "default batch_dims": ("axis", CALL_OF_TF),
    "rank 1 to 5; ": ("data", ROW._replace(most_rank=5)),
    "rank 1 at most; ": ("indices", ROW._replace(most_index_rank=1)),
    "rank 1; ": ("indices", ROW._replace(least_index_rank=1, most_index_rank=1)),
    "; 1 at most": ("batch_dims", ROW._replace(most_batch_dims=1)),
    ", 0-D as 1-D; ": ("data", ROW._replace(adapts=Adaptation(scalars=("data",)))),
    "; float64 as bfloat16": ("data", ROW._replace(adapts=Adaptation(narrow={FLOAT64: BFLOAT16}))),
    "; the last 32 bits are read": ("indices", ROW._replace(adapts=Adaptation(index_bits=32))),
    "without one data are flattened": ("axis", ROW._replace(adapts=Adaptation(flattens=True))),
    ", or one of them is 1": ("beside the axis", ROW._replace(adapts=Adaptation(broadcasts=True))),
}


def test_every_field_of_a_row_makes_a_difference_or_names_the_row() -> None:
    changed = {field for fields in OTHER.values() for field in fields}

    of_calls = {
        "refuses_negative",
        "adapts",
        "least_rank",
        "only_axis",
        "full",
        "most_rank",
        "least_index_rank",
        "most_index_rank",
        "most_batch_dims",
    }
    assert {*changed, *NAMING, *of_calls, "shortest_tuple"} == set(Op._fields)


def test_the_ranks_of_tuples_make_a_difference() -> None:
    ((name, _, after),) = versions.differences(ON_TUPLES, ON_TUPLES._replace(most_index_rank=5))
    assert name == "indices"
    assert ", tuples in the last dimension, rank 5 at most; " in after


@pytest.mark.parametrize("said", CALL)
def test_what_a_call_of_a_framework_does_to_its_inputs_makes_a_difference(said: str) -> None:
    trait, other = CALL[said]

    ((name, before, after),) = versions.differences(ROW, other)
    assert name == trait
    assert said in after
    assert said not in before
    assert versions.difference_text(ROW, other, None).splitlines()[0] == f"{ROW} → {other}"


@pytest.mark.parametrize("row", every_row(), ids=lambda row: row.name)
def test_a_call_and_the_version_nearest_to_it_are_compared(row: FrameworkRow) -> None:
    text = versions.difference_text(row.op, row.nearest, 80)

    assert max(map(len, text.splitlines())) <= 80
    assert "to move a model\n\n" not in text
    sheet = versions.sheets([row.op], 80)
    assert max(map(len, sheet.splitlines())) <= 80
    assert not any(line.endswith("  ") for line in sheet.splitlines())


@pytest.mark.parametrize("row", every_row(), ids=lambda row: row.name)
def test_the_options_named_for_a_call_give_its_answers(row: FrameworkRow, run: Run) -> None:
    other = row.nearest
    options = dict(versions.moving(row.op, other)).get("to treat indices as before", "").split()
    axis = ["-a", "0"] if row.op.attr("axis") else []
    cells = {"gather-nd": "[[{}]]"}.get(row.op.family, "[{}]")

    def answers(op: Op, *options: str) -> list[tuple[int, str]]:
        ran = [
            run(op.family, "3xi32=1,2,3", cells.format(k), *axis, "-V", op.id, "-q", *options)
            for k in (-4, -1, 2, 3)
        ]
        return [(each.status, each.out) for each in ran]

    if row.op.family != "gather-tree" and options:
        assert answers(other, *options) == answers(row.op)


def test_the_shortest_tuple_makes_a_difference() -> None:
    other = ON_TUPLES._replace(shortest_tuple=0)

    ((name, *_),) = versions.differences(ON_TUPLES, other)
    assert name == "shortest tuple"
    assert dict(versions.moving(ON_TUPLES, other)) == {"tuples without numbers": "refused → taken"}
    assert dict(versions.moving(other, ON_TUPLES)) == {"tuples without numbers": "taken → refused"}


@pytest.mark.parametrize("trait", OTHER)
def test_rows_that_differ_in_a_trait_differ_in_it_alone(trait: str) -> None:
    other = ROW._replace(**OTHER[trait])

    ((name, before, after),) = versions.differences(ROW, other)
    assert name == trait
    assert before != after


def test_a_name_is_no_difference() -> None:
    assert versions.differences(gather.OPENVINO_8, gather.OPENVINO_8._replace(**NAMING)) == []


@every_pair
def test_a_difference_is_the_same_backwards(a: Op, b: Op) -> None:
    there, back = versions.difference_json(a, b), versions.difference_json(b, a)
    backwards = [
        {"field": each["field"], "from": each["to"], "to": each["from"]}
        for each in back["differences"]
    ]
    assert sorted(there["differences"], key=str) == sorted(backwards, key=str)
    assert there["differences"]
    assert there["moving"]


@pytest.mark.parametrize("width", [80, 120])
@every_pair
def test_no_line_is_wider_than_the_terminal(a: Op, b: Op, width: int) -> None:
    text = versions.difference_text(a, b, width)
    assert [line for line in text.splitlines() if len(line) > width] == []
    assert text.split() == versions.difference_text(a, b, None).split()


@pytest.mark.parametrize(
    ("a", "b"), [(a, b) for a, b in PAIRS if a.family == b.family], ids=lambda op: op.full_name
)
def test_the_options_that_are_named_give_the_old_answers(a: Op, b: Op, run: Run) -> None:
    options = dict(versions.moving(a, b)).get("to treat indices as before", "").split()

    def answers(op: Op, *options: str) -> list[tuple[int, str]]:
        words = ["-a", "0"] if op.attr("axis") else []
        ran = [
            run(op.family, "[1,2,3]", f"[{k}]", *words, "-V", op.full_name, "-q", *options)
            for k in (-4, -1, 2, 3)
        ]
        return [(each.status, each.out) for each in ran]

    assert answers(b, *options) == answers(a)


def test_the_difference_of_two_versions(run: Run) -> None:
    ran = run("ops", "--diff", "openvino.Gather-7", "openvino-8")
    assert (ran.status, ran.err) == (0, "")
    assert (
        ran.out
        == """\
openvino.Gather-7 → openvino.Gather-8
  legal indices    - [0, s-1] for an axis of size s
                   + [-s, s-1] for an axis of size s
  other indices    - refused
                   + zero-filled

to move a model
  an index from -s to -1      refused → counted from the end
  an index outside [-s, s-1]  refused → zero-filled
  to treat indices as before  --negative error --out-of-range error
"""
    )


def test_the_difference_of_two_frameworks_says_what_the_other_requires(run: Run) -> None:
    out = run("ops", "--diff", "onnx-13", "openvino.GatherElements-6").out
    head, moving = out.split("\n\n")
    assert head.startswith("onnx.GatherElements-13 → openvino.GatherElements-6\n")
    assert moving == (
        "to move a model\n"
        "  an index from -s to -1           counted from the end → refused\n"
        "  types of data                    float8, float6, float4, int4 and int2 types: refused → "
        "taken\n"
        "  no axis given                    axis 0 → refused\n"
        "  indices smaller beside the axis  taken → refused\n"
        "  an inferred shape                may say more\n"
        "  to treat indices as before       --negative wrap\n"
    )


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        (
            "openvino.GatherElements-6",
            "onnx-12",
            "openvino.GatherElements-6 → onnx.GatherElements-11",
        ),
        ("openvino.GatherND-5", "8", "openvino.GatherND-5 → openvino.GatherND-8"),
        ("onnx.Gather-13", "openvino-6", "onnx.Gather-13 → openvino.Gather-1"),
        ("openvino.GatherTree-1", "onnx-13", "openvino.GatherTree-1 → onnx.Gather-13"),
        (
            "openvino.Gather-8",
            "onnx.GatherElements-13",
            "openvino.Gather-8 → onnx.GatherElements-13",
        ),
    ],
)
def test_an_opset_means_the_operator_of_the_other_version_or_else_gather(
    a: str, b: str, names: str, run: Run
) -> None:
    out = run("ops", "--diff", a, b).out

    assert out.splitlines()[0] == names
    assert out.count(" → openvino.") + out.count(" → onnx.") == 1


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        (
            "onnx-12",
            "onnx-13",
            [
                "onnx.Gather-11 → onnx.Gather-13",
                "onnx.GatherElements-11 → onnx.GatherElements-13",
                "onnx.GatherND-12 → onnx.GatherND-13",
            ],
        ),
        (
            "openvino-7",
            "openvino-8",
            [
                "openvino.Gather-7 → openvino.Gather-8",
                "openvino.GatherElements-6 and openvino.GatherElements-6: no difference",
                "openvino.GatherND-5 → openvino.GatherND-8",
                "openvino.GatherTree-1 and openvino.GatherTree-1: no difference",
            ],
        ),
        ("onnx-9", "onnx-10", ["onnx.Gather-1 and onnx.Gather-1: no difference"]),
    ],
)
def test_the_difference_of_two_opsets_has_every_operator_of_both(
    a: str, b: str, names: list[str], run: Run
) -> None:
    ran = run("ops", "--diff", a, b)
    pairs = json.loads(run("ops", "--diff", a, b, "-f", "json").out)

    lines = ran.out.splitlines()
    assert [line for line in lines if line.startswith(("onnx.", "openvino."))] == names
    assert ran.err == ""
    assert len(pairs) == len(names) or len(names) == 1


def test_operators_of_one_opset_alone_are_named_in_a_note(run: Run) -> None:
    ran = run("ops", "--diff", "onnx-11", "openvino-5")

    assert ran.err == (
        "note: GatherElements left out: only onnx-11 has a version\n"
        "note: GatherTree left out: only openvino-5 has a version\n"
    )


def test_the_difference_of_two_versions_on_tuples(run: Run) -> None:
    ran = run("ops", "--diff", "openvino.GatherND-5", "onnx-13")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith(
        """\
  shortest tuple   - 0 numbers
                   + 1 number
  inference        - dimensions that must be equal are narrowed to what both inputs allow
                   + dimensions are those of one input
  equation         - out[q, i, s] = data[p, t, s], t = indices[p, i, :], q = p as one coordinate
                   + out[p, i, s] = data[p, t, s], t = indices[p, i, :]
  shape            - [product(indices[:b])] + indices[b:-1] + data[b+k:], k = indices[-1]
                   + indices[:-1] + data[b+k:], k = indices[-1]

to move a model
  an index from -s to -1      refused → counted from the end
  types of data               float8, float6, float4, int4 and int2 types: taken → refused
  types of indices            int8, int16, int32, uint8, uint16, uint32 and uint64: taken → refused
  batch_dims above 1          one dimension of the output → as many dimensions
  tuples without numbers      taken → refused
  to treat indices as before  --negative error
"""
    )


def test_operators_with_other_inputs_are_moved_between_by_their_names(run: Run) -> None:
    moving = run("ops", "--diff", "openvino.Gather-1", "openvino.GatherTree-1").out.split("\n\n")[1]

    assert moving == (
        "to move a model\n"
        "  the operator  whole slices → beams followed back\n"
        "  the inputs    data and indices → step_ids, parent_ids, max_seq_len and end_token\n"
        "  an axis       taken → refused\n"
    )


def test_a_difference_in_json(run: Run) -> None:
    ran = run("ops", "--diff", "onnx.Gather-11", "onnx-13", "-f", "json")
    assert json.loads(ran.out) == {
        "from": "onnx.Gather-11",
        "to": "onnx.Gather-13",
        "differences": [
            {
                "field": "data",
                "from": "rank 1 or more; any type but bfloat16, float8, float6, float4, int4 and "
                "int2 types",
                "to": "rank 1 or more; any type but float8, float6, float4, int4 and int2 types",
            }
        ],
        "moving": [{"what": "types of data", "becomes": "bfloat16: refused → taken"}],
    }


def test_an_unknown_version_is_refused_naming_the_nearest(run: Run) -> None:
    ran = run("ops", "--diff", "openvino-8", "onx.Gather-11")
    assert ran.status == 2
    assert "\nhint: did you mean `onnx.Gather-11`?\n" in ran.err


def test_a_note_on_a_newer_opset_is_printed_once(run: Run) -> None:
    ran = run("ops", "--diff", "onnx.Gather-11", "openvino-99")
    assert ran.status == 0
    assert [line[:30] for line in ran.err.splitlines()] == ["note: openvino opset 99 is new"]


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["onnx-13", "--decisions"], "`ID` and `--decisions`"),
        (["--diff", "7", "8", "--like", "np.take"], "`--diff` and `--like`"),
        (["8", "--like", "", "--decisions"], "`ID`, `--like` and `--decisions`"),
    ],
)
def test_two_views_at_once_are_refused(words: list[str], given: str, run: Run) -> None:
    ran = run("ops", *words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: {given} are given: expected one of them\n"


def test_a_call_that_equals_no_version_is_set_beside_the_one_that_it_is_like() -> None:
    row = every_row("gather")[0]._replace(rows=())

    assert "  equals " not in versions.equivalent_text(row, 80)
