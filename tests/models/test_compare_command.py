"""`gathercli compare MODEL OTHER`: pairs of nodes, what differs, and what both give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
import pytest
from onnx import helper

from gathercli.cli.registry import takes_models
from tests.modelfiles import FLOAT, INT32, INT64, TOUR, Ir, constants, onnx_model, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conftest import Run

ENCODER: Final = f"{TOUR}/encoder.onnx"
IR: Final = f"{TOUR}/encoder.xml"


def save(path: Path | str, *nodes: onnx.NodeProto, opset: int = 17, **tensors: Any) -> None:
    """Write a model of nodes that read `x`, f32[4,3], and indices at run time, `ids`, i64[2]."""
    given = [value("x", FLOAT, [4, 3]), value("ids", INT64, [2])]
    onnx.save(onnx_model(nodes, given, tensors=constants(**tensors), opset=opset), str(path))


def gather(name: str = "pick", *inputs: str, out: str = "", **attributes: Any) -> onnx.NodeProto:
    """Return a node."""
    names = inputs or ("x", "ids")
    return helper.make_node("Gather", names, [out or f"{name}/out"], name=name, **attributes)


def compared(run: Run, *words: str) -> dict[str, Any]:
    """Compare a.onnx with b.onnx; return the fields of the JSON."""
    fields: dict[str, Any] = json.loads(
        run("compare", "a.onnx", "b.onnx", *words, "-f", "json").out
    )
    return fields


def messages(fields: dict[str, Any], level: str = "difference") -> list[str]:
    """Return what differs in all pairs."""
    changes = (change for pair in fields["pairs"] for change in pair["changes"])
    return [each["message"] for each in changes if each["level"] == level]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.onnx b.xml", True),
        ("-f json A.ONNX b.onnx", True),
        ("a.onnx#x b.onnx#y", False),
        ("a.onnx 0,", False),
        ("[1,2] 0,", False),
        ("", False),
    ],
)
def test_two_models_are_the_other_form(line: str, *, expected: bool) -> None:
    assert takes_models("compare", line.split()) is expected


def test_a_model_is_the_same_as_itself(run: Run) -> None:
    ran = run("compare", ENCODER, ENCODER)

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("\n\n3 pairs: 3 same, 0 different\n")


def test_a_conversion_changes_what_an_index_outside_becomes(run: Run) -> None:
    ran = run("compare", ENCODER, IR)

    lines = ran.out.splitlines()
    assert ran.status == 1
    assert lines[3].split() == ["node", "matched", "by", "version", "verdict", "outcome"]
    assert "onnx.Gather-13 → openvino.Gather-8  refused: index-range → fills" in lines[5]
    assert "/words/Gather: an index outside the axis is refused → zero-filled" in lines
    assert lines[-3].startswith("hint: `--allow-outside` takes what becomes of an index outside")
    assert lines[-1] == "3 pairs: 0 same, 3 different"


def test_what_an_index_outside_becomes_may_be_allowed(run: Run) -> None:
    ran = run("compare", ENCODER, IR, "--allow-outside")

    assert "note: an index outside the axis is refused → zero-filled" in ran.out
    assert ran.out.endswith("3 pairs: 2 same, 1 different\n")


@pytest.mark.parametrize(("width", "start"), [(80, "/words/Gather\n  matched by  name"), (130, "")])
def test_a_table_that_is_too_wide_is_blocks(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: int, start: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    out = run("compare", ENCODER, IR).out

    assert (start or "node               matched by") in out
    assert max(map(len, out.splitlines())) <= width


def test_outcomes_have_colours_where_they_are_wanted(run: Run) -> None:
    same = run("compare", ENCODER, ENCODER, "--color", "always").out
    different = run("compare", ENCODER, IR, "--color", "always").out

    assert "\x1b[32msame\x1b[0m" in same
    assert "\x1b[31mdiffers: outside\x1b[0m" in different


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        (gather("a"), gather("a", out="z"), "name"),
        (gather("a", out="y"), gather("b", out="y"), "output"),
        (gather("a", out="y"), gather("y", out="z"), "output"),
        (gather("y", out="z"), gather("b", out="y"), "output"),
        (gather("a"), gather("b"), "inputs"),
        (gather("a", "x", "i"), gather("b", "x", "j"), "constants, in order"),
        (gather("a"), gather("b", "x", "other"), "shapes, in order"),
    ],
    ids=["name", "output", "output as name", "name as output", "inputs", "constants", "shapes"],
)
@pytest.mark.usefixtures("folder")
def test_nodes_are_matched_by_one_way_after_the_other(
    run: Run, one: onnx.NodeProto, other: onnx.NodeProto, how: str
) -> None:
    renamed = helper.make_node("Abs", ["ids"], ["other"])
    save("a.onnx", one, i=[1, 0], j=[1, 0])
    save("b.onnx", renamed, other, i=[1, 0], j=[1, 0])

    (pair,) = compared(run)["pairs"]

    assert pair["matched_by"] == how


@pytest.mark.usefixtures("folder")
def test_equal_constants_are_matched_in_order(run: Run) -> None:
    names = [("i", "p"), ("j", "q"), ("i", "r")]
    for path, start in (("a.onnx", "one"), ("b.onnx", "two")):
        nodes = [gather(f"{start}/{name}", "x", index) for index, name in names]
        order = nodes if start == "one" else [nodes[1], nodes[0], nodes[2]]
        save(path, *order, i=[1, 0], j=[2, 2])

    pairs = compared(run)["pairs"]

    assert [each["nodes"] for each in pairs] == [
        ["one/p", "two/p"],
        ["one/q", "two/q"],
        ["one/r", "two/r"],
    ]


@pytest.mark.usefixtures("folder")
def test_a_node_without_a_partner_is_a_difference(run: Run) -> None:
    save("a.onnx", gather("a"), gather("b", "x", "i"), i=[1])
    save("b.onnx", gather("a"))

    ran, fields = run("compare", "a.onnx", "b.onnx"), compared(run)

    assert ran.status == 1
    assert "b: only in a.onnx, onnx.Gather-13\n" in ran.out
    assert ran.out.endswith("1 pair: 1 same, 0 different; 1 node only in a.onnx\n")
    assert (fields["same"], fields["alone"]) == (False, [["b"], []])


CHANGED: Final[dict[str, Any]] = {
    "axis": (gather(axis=0), gather(axis=1), "`axis` 0 → 1"),
    "operator": (
        gather(),
        helper.make_node("GatherND", ["x", "ids"], ["pick/out"], name="pick"),
        "it is a Gather → a GatherND",
    ),
    "constant": (gather("pick", "x", "i"), gather("pick", "x", "j"), "`indices` at `[1]` is 0 → 2"),
    "run time": (gather("pick", "x", "i"), gather(), "`indices` is constant → given at run time"),
    "shape": (
        gather("pick", "x", "i"),
        gather("pick", "x", "k"),
        "`indices` has the shape [2] → [1]",
    ),
    "type": (gather("pick", "w", "ids"), gather("pick", "v", "ids"), "`data` float32 → float16"),
}


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.usefixtures("folder")
def test_what_differs_is_one_line(run: Run, name: str) -> None:
    one, other, message = CHANGED[name]
    row = np.zeros(3, np.float32)
    tensors: dict[str, Any] = {
        "i": [1, 0],
        "j": [1, 2],
        "k": [1],
        "w": row,
        "v": row.astype(np.float16),
    }
    save("a.onnx", one, **tensors)
    save("b.onnx", other, **tensors)

    fields = compared(run)

    assert fields["same"] is False
    assert message in messages(fields)


SAME: Final[dict[str, Any]] = {
    "axis from the end": (gather(axis=1), gather(axis=-1), None),
    "type of indices": (
        gather("pick", "x", "i"),
        gather("pick", "x", "short"),
        "`indices` int64 → int32",
    ),
    "index from the end": (
        gather("pick", "x", "i"),
        gather("pick", "x", "end"),
        "`indices` at `[0]` is 1 → -3, the same position",
    ),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.usefixtures("folder")
def test_what_reads_the_same_elements_is_no_difference(run: Run, name: str) -> None:
    one, other, note = SAME[name]
    tensors: dict[str, Any] = {"i": [1, 0], "short": np.array([1, 0], np.int32), "end": [-3, 0]}
    save("a.onnx", one, **tensors)
    save("b.onnx", other, **tensors)

    fields = compared(run)

    assert fields["same"] is True
    assert messages(fields, "note") == ([note] if note else [])


@pytest.mark.usefixtures("folder")
def test_what_no_index_reaches_is_no_difference(run: Run) -> None:
    ir = Ir()
    data = ir.parameter("x", "f32", [4, 3])
    ids, axis = ir.constant("i", np.array([1, 0])), ir.constant("axis", np.array(0))
    ir.layer("pick", "Gather", [data, ids, axis], "f32", [2, 3])
    ir.result("pick")
    ir.save(Path("b.xml"))
    save("a.onnx", gather("pick", "x", "i"), i=[1, 0])

    ran = run("compare", "a.onnx", "b.xml")

    assert ran.status == 0
    assert "onnx.Gather-13 → openvino.Gather-8  proven   same" in ran.out


@pytest.mark.usefixtures("folder")
def test_constants_that_are_not_read_are_not_the_same(run: Run) -> None:
    Path("b.xml").write_bytes(Path(IR).read_bytes())

    ran = run("compare", IR, "b.xml")

    assert ran.status == 1
    assert "/positions/Gather: `data` is not compared: its elements are" in ran.out


FED: Final = {
    "the input of the model": "ids=2,0",
    "the value": "cast=2,0",
    "the input of the node": "pick:indices=2,0",
    "the input of the only pair": "indices=2,0",
}


@pytest.mark.parametrize("feed", FED.values(), ids=FED)
@pytest.mark.usefixtures("folder")
def test_both_nodes_are_computed_by_their_own_version(run: Run, feed: str) -> None:
    cast = helper.make_node("Cast", ["ids"], ["cast"], to=INT32)
    save("a.onnx", cast, gather("pick", "w", "cast"), w=np.arange(3.0))
    save("b.onnx", cast, gather("pick", "w", "cast"), w=np.array([0.0, 9.0, 2.0]))

    (pair,) = compared(run, "--feed", feed)["pairs"]

    assert pair["computed"] == {"message": "the output is the same, f64[2]", "same": True}
    assert pair["same"] is False  # the constants differ


def computed(run: Run, *feeds: str) -> str:
    """Return what is said of the outputs of the only pair."""
    words = [word for feed in feeds for word in ("--feed", feed)]
    (pair,) = compared(run, *words)["pairs"]
    return str(pair["computed"]["message"])


@pytest.mark.parametrize(
    ("tensor", "feeds", "message"),
    [
        ([0.0, 5.0, 2.0], ["ids=2,1"], "the output at `[1]` is 1.0 → 5.0"),
        ([0.0, 5.0, 2.0], ["ids=2,9"], "the output is refused, index 9 at `[1]` is outside axis 0"),
        ([-0.0, 1.0, 2.0], ["ids=2,0"], "the output at `[1]` is 0.0 → -0.0"),
        (np.arange(3, dtype=np.float32), ["ids=2,0"], "the output is f64[2] → f32[2]"),
        ([0.0, 1.0, 2.0], ["data=1,2"], "not computed: `indices` of `pick` is not fed"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_outputs_are_compared_bit_for_bit(
    run: Run, tensor: Sequence[float], feeds: list[str], message: str
) -> None:
    save("a.onnx", gather("pick", "w", "ids"), w=np.arange(3.0))
    save("b.onnx", gather("pick", "w", "ids"), w=np.asarray(tensor))

    assert computed(run, *feeds).startswith(message)


@pytest.mark.usefixtures("folder")
def test_texts_are_compared_by_value(run: Run) -> None:
    for path, words in (("a.onnx", ["a", "b"]), ("b.onnx", ["a", "c"])):
        save(path, gather("pick", "w", "ids"), w=np.array(words, object))

    assert computed(run, "ids=0,0") == "the output is the same, str[2]"
    assert computed(run, "ids=0,1") == "the output at `[1]` is b → c"


def test_a_feed_that_no_node_takes_is_refused_with_what_can_be_fed(run: Run) -> None:
    wrong, bare = (run("compare", ENCODER, IR, "--feed", word) for word in ("foo=0,", "0,"))

    assert (wrong.status, bare.status) == (2, 2)
    assert (
        "`foo=0,` names no input of a pair: expected `tokens=` or `/start/Gather:data=`\n"
    ) in wrong.err


@pytest.mark.usefixtures("folder")
def test_models_without_the_family_are_the_same(run: Run) -> None:
    for path in ("a.onnx", "b.onnx"):
        save(path, helper.make_node("Relu", ["x"], ["y"]))

    ran, fed = (
        run("compare", "a.onnx", "b.onnx"),
        run("compare", "a.onnx", "b.onnx", "--feed", "x=1"),
    )

    assert (ran.status, fed.status) == (0, 2)
    assert ran.out.endswith("0 pairs: 0 same, 0 different\n")


def test_a_third_model_is_one_too_many(run: Run) -> None:
    ran = run("compare", ENCODER, IR, IR)

    assert ran.status == 2
    assert "is one argument too many: expected MODEL and OTHER" in ran.err


def shape_model(path: str, *nodes: onnx.NodeProto, **tensors: Any) -> None:
    """Write a model of nodes, one of which takes the first size of the shape of x."""
    shape = helper.make_node("Shape", ["x"], ["s"])
    save(path, shape, gather("size", "s", "first"), *nodes, first=0, **tensors)


def plain_ir(*, with_size: bool, index: Any = (1, 0), **attributes: Any) -> None:
    """Write b.xml, which has the node `pick` of x, and another of its shape if `with_size`."""
    ir = Ir()
    data = ir.parameter("x", "f32", [4, 3])
    ids, axis = ir.constant("i", np.array(index)), ir.constant("axis", np.array(0))
    ir.layer("pick", "Gather", [data, ids, axis], "f32", [2, 3], **attributes)
    ir.result("pick")
    if with_size:
        shape = ir.layer("s", "ShapeOf", [data], "i64", [2], opset="opset3", output_type="i64")
        one, zero = ir.constant("one", np.array([1])), ir.constant("zero", np.array(0))
        ir.result(ir.layer("made", "Gather", [shape, one, zero], "i64", [1]))
    ir.save(Path("b.xml"))


@pytest.mark.usefixtures("folder")
def test_sizes_that_only_one_model_takes_are_notes(run: Run) -> None:
    plain_ir(with_size=True)
    save("a.onnx", gather("pick", "x", "i"), i=[1, 0])

    ran, back = run("compare", "a.onnx", "b.xml"), run("compare", "b.xml", "a.onnx")

    line = "made: note: only in b.xml, openvino.Gather-8; it takes a size of a shape\n"
    assert (ran.status, back.status) == (0, 0)
    assert line in ran.out
    assert line in back.out
    assert ran.out.endswith("1 pair: 1 same, 0 different; 1 node only in b.xml (1 note)\n")


@pytest.mark.usefixtures("folder")
def test_a_size_that_a_converter_folds_is_a_note(run: Run) -> None:
    shape_model("a.onnx", gather("pick", "x", "i"), i=[1, 0])
    save("b.onnx", gather("pick", "x", "i"), i=[1, 0])

    fields = compared(run)

    assert (fields["same"], fields["alone"]) == (True, [[], []])
    assert fields["folded"] == [{"size": "it takes a size of a shape"}, {}]


@pytest.mark.parametrize(("kept", "same"), [([3.0, 1.0], True), ([3.0, 9.0], False)])
@pytest.mark.usefixtures("folder")
def test_a_node_of_constants_is_folded_if_its_elements_are_stored(
    run: Run, kept: list[float], *, same: bool
) -> None:
    add = helper.make_node("Add", ["ids", "c"], ["y"])
    save("a.onnx", gather("fold", "w", "i", out="c"), add, w=[0.0, 1.0, 2.0, 3.0], i=[3, 1])
    save("b.onnx", add, c=np.asarray(kept).reshape(1, 2))

    fields = compared(run)

    assert fields["same"] is same
    assert fields["folded"] == [{"fold": "`c` has its elements"} if same else {}, {}]
    assert fields["alone"] == [[] if same else ["fold"], []]


@pytest.mark.usefixtures("folder")
def test_one_size_may_have_another_rank(run: Run) -> None:
    shape_model("a.onnx")
    save("b.onnx", helper.make_node("Shape", ["x"], ["s"]), gather("size", "s", "first"), first=[0])

    fields = compared(run)

    assert fields["same"] is True
    assert messages(fields, "note") == ["`indices` has the shape [] → [1]"]


HALVES: Final = np.array([0.1, 1.0, 60000.0], np.float32)


@pytest.mark.parametrize(("changed", "same"), [(None, True), (0, False), (1, False)])
@pytest.mark.usefixtures("folder")
def test_data_may_be_rounded_to_float16_if_all_are(
    run: Run, changed: int | None, *, same: bool
) -> None:
    rounded = HALVES.astype(np.float16).astype(np.float32)
    if changed is not None:
        rounded[changed] = 0.125
    save("a.onnx", gather("pick", "w", "ids"), w=HALVES)
    save("b.onnx", gather("pick", "w", "ids"), w=rounded)

    there, back = compared(run), json.loads(run("compare", "b.onnx", "a.onnx", "-f", "json").out)

    assert (there["same"], back["same"]) == (same, same)
    note = "`data` at `[0]` is 0.1 → 0.099975586, as all elements are rounded to float16"
    assert messages(there, "note") == ([note] if same else [])


@pytest.mark.usefixtures("folder")
def test_data_that_float16_does_not_hold_have_changed(run: Run) -> None:
    save("a.onnx", gather("pick", "w", "ids"), w=np.array([0.1, 70000.0], np.float32))
    save("b.onnx", gather("pick", "w", "ids"), w=np.array([0.1, np.inf], np.float32))

    assert not compared(run)["same"]


MUTATED: Final[dict[str, Any]] = {
    "axis": gather("pick", "x", "i", axis=1),
    "index": gather("pick", "x", "j"),
    "negative index": gather("pick", "x", "k"),
    "order of indices": gather("pick", "x", "swapped"),
    "rank of indices": gather("pick", "x", "column"),
    "index at run time": gather("pick", "x", "ids"),
    "table": gather("pick", "table", "i"),
    "operator": helper.make_node("GatherElements", ["x", "column"], ["y"], name="pick"),
    "dropped": helper.make_node("Relu", ["x"], ["y"]),
    "sizes in place of elements": gather("size", "s", "i"),
}


@pytest.mark.parametrize("name", MUTATED)
@pytest.mark.usefixtures("folder")
def test_a_change_beside_what_is_folded_is_a_difference(run: Run, name: str) -> None:
    tensors: dict[str, Any] = {
        "i": [1, 0],
        "j": [1, 2],
        "k": [-2, 0],
        "swapped": [0, 1],
        "column": [[1], [0]],
        "table": np.ones((4, 3), np.float32),
    }
    plain_ir(with_size=True)
    shape = helper.make_node("Shape", ["x"], ["s"])
    save("a.onnx", shape, MUTATED[name], **tensors)

    ran = run("compare", "a.onnx", "b.xml")

    assert ran.status == 1


@pytest.mark.parametrize(
    ("index", "status"), [((1, 0), 0), ((-3, 0), 0), ((-2, 0), 1), ((3, 0), 1)]
)
@pytest.mark.usefixtures("folder")
def test_an_index_of_a_conversion_keeps_its_position(
    run: Run, index: tuple[int, int], status: int
) -> None:
    plain_ir(with_size=False, index=index, batch_dims=0)
    save("a.onnx", gather("pick", "x", "i"), i=[1, 0])

    assert run("compare", "a.onnx", "b.xml").status == status


@pytest.mark.parametrize("batch_dims", [0, 1])
@pytest.mark.usefixtures("folder")
def test_batch_dims_that_change_are_a_difference(run: Run, batch_dims: int) -> None:
    index = np.array([[[0]], [[2]]])
    for path, number in (("a.onnx", 1), ("b.onnx", batch_dims)):
        node = helper.make_node("GatherND", ["table", "i"], ["y"], name="pick", batch_dims=number)
        save(path, node, table=np.ones((2, 3, 2), np.float32), i=index)

    assert compared(run)["same"] is (batch_dims == 1)


@pytest.mark.usefixtures("folder")
def test_sizes_of_other_names_are_not_matched_by_guess(run: Run) -> None:
    plain_ir(with_size=True)
    shape_model("a.onnx", gather("pick", "x", "i"), i=[1, 0])

    ran = run("compare", "a.onnx", "b.xml")

    assert ran.status == 0
    assert ran.out.endswith("; 1 node only in a.onnx (1 note); 1 node only in b.xml (1 note)\n")
