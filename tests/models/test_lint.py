"""The findings of models, of which most were reported by people who met them in a runtime."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gathercli.models.files import ReadOptions, read
from gathercli.models.lint import examined, findings
from gathercli.models.targets import target
from gathercli.models.verdict import ERROR, NOTE, WARNING, Judged
from tests.modelfiles import FLOAT, INT32, INT64, TOUR, Ir, constants, one_gather, onnx_model, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gathercli.models.verdict import Finding

EXPORTED: Final = sorted((TOUR.parent / "models").glob("*.onnx"))


def of_model(
    model: onnx.ModelProto | Ir, folder: Path, to: str = "", **options: Any
) -> list[Finding]:
    """Return the findings of a model, with targets separated by commas."""
    if isinstance(model, Ir):
        path = model.save(folder / "m.xml")
    else:
        path = folder / "m.onnx"
        path.write_bytes(model.SerializeToString())
    targets = [target(name) for name in to.split(",") if name]
    with closing(read(str(path))) as opened:
        return list(findings(opened, targets, **options))


def declared(
    data: Sequence[Any], indices: Any, out: Sequence[Any], kind: int = FLOAT, **attributes: Any
) -> onnx.ModelProto:
    """Return a Gather with constant indices that declares the shape of its output."""
    node = helper.make_node("Gather", ["data", "indices"], ["out"], name="pick", **attributes)
    return onnx_model(
        [node],
        [value("data", FLOAT, data)],
        [value("out", kind, out)],
        constants(indices=np.asarray(indices, np.int64)),
    )


def tuples(data: Sequence[int], shape: Sequence[int], batch_dims: int, out: Sequence[int]) -> Ir:
    """Return a GatherND-5 that declares the shape of its output."""
    ir = Ir(10)
    first = ir.parameter("data", "f32", data)
    second = ir.constant("indices", np.zeros(shape, np.int64))
    layer = ir.layer(
        "pick", "GatherND", [first, second], "f32", out, opset="opset5", batch_dims=batch_dims
    )
    ir.result(layer)
    return ir


class Report(NamedTuple):
    """A model that somebody reported, and its finding.

    Attributes
    ----------
    model
        A function that makes the model.
    rule, value
        The rule and the value of the finding.
    words
        What the message says: the legal range.
    does
        What versions and targets do with the index.
    to
        The targets.
    """

    model: Any
    rule: str
    value: object
    words: str
    does: dict[str, str] = {}  # noqa: RUF012  (a field of a tuple)
    to: str = ""


REFUSED: Final = {"onnx.Gather-13": "refused"}
BEFORE_11: Final = {
    "onnx.Gather-1": "refused",
    "onnxruntime": "counted from the end",
    "onnx.reference": "counted from the end",
}
REPORTS: Final = {
    "openvino 35687, a row of 12 that becomes zeros": Report(
        lambda: one_gather(data=[12], indices=[0, 3, 6, 9, 12, 1]),
        "index-range", 12, "expected -12 to 11 (1 of 6 indices)",
        REFUSED | {"openvino": "zero-filled"}, "openvino",
    ),
    "onnx 2179, what a runtime does with it": Report(
        lambda: one_gather(data=[4, 2], indices=[[-5, 0]], opset=13),
        "index-range", -5, "expected -4 to 3 (1 of 2 indices)", REFUSED,
    ),
    "TensorRT 4774, rows of zeros": Report(
        lambda: one_gather(data=[5, 4], indices=[0, 5, 9], opset=18),
        "index-range", 5, "expected -5 to 4 (2 of 3 indices)",
        REFUSED | {"tensorrt.Gather": "undefined"}, "tensorrt",
    ),
    "TensorRT 1229, negative indices": Report(
        lambda: one_gather(data=[38, 10], indices=-1, opset=11, axis=1),
        "index-legal", -1, "expected 0 to 9 for tensorrt",
        {"tensorrt.Gather": "undefined"}, "tensorrt",
    ),
    "onnxruntime 1533, -1 before opset 11": Report(
        lambda: one_gather(data=[2, 3], indices=[-1], opset=10),
        "index-range", -1, "expected 0 to 1 (1 of 1 index)", BEFORE_11,
    ),
    "onnxruntime 25251, Gather": Report(
        lambda: one_gather(data=[3], indices=[3]), "index-range", 3, "expected -3 to 2", REFUSED,
    ),
    "onnxruntime 25251, GatherElements": Report(
        lambda: one_gather("GatherElements", [3, 1], [[3]], axis=0),
        "index-range", 3, "expected -3 to 2",
        {"onnx.GatherElements-13": "refused", "openvino": "refused"}, "openvino",
    ),
    "onnxruntime 25251, GatherND": Report(
        lambda: one_gather("GatherND", [3], [[3]]), "index-range", 3, "expected -3 to 2",
        {"onnx.GatherND-13": "refused", "openvino": "undefined"}, "openvino",
    ),
    "onnxruntime 28108, an embedding of more elements than 32 bits count": Report(
        lambda: one_gather(data=[262_144, 8960], indices=[255_999]),
        "position-width", 255_999, "reads position 2293759999 of `data`: expected 2147483647 at",
    ),
    "onnx2tf 275, -1 in a detector": Report(
        lambda: one_gather(data=[300, 4], indices=[0, -1], axis=0),
        "index-legal", -1, "expected 0 to 299 for tflite (1 of 2 indices)",
        {"tflite.GATHER": "refused"}, "tflite",
    ),
    "tvm 20297, tuples": Report(
        lambda: one_gather("GatherND", [2, 3], [[0, 2], [1, 3]]),
        "index-range", 3, "outside axis 1 of `data`, whose size is 3: expected -3 to 2",
        {"onnx.GatherND-13": "refused"},
    ),
    "tvm 20297, elements": Report(
        lambda: one_gather("GatherElements", [3, 2], [[-4, 0]]),
        "index-range", -4, "expected -3 to 2", {"onnx.GatherElements-13": "refused"},
    ),
    "openvino 7379, batch dimensions that version 5 merges": Report(
        lambda: tuples([1, 64, 64, 320], [1, 64, 64, 1, 1], 3, [1, 64, 64, 1]),
        "output-shape", "[1,64,64,1]", "[4096,1] follows from its inputs",
    ),
    "pytorch 68003, a dimension that an exporter dropped": Report(
        lambda: declared([2, 3], 0, [1, 3]),
        "output-shape", "[1,3]", "[3] follows from its inputs: expected rank 1",
    ),
    "pytorch 85127, a dimension that an exporter added": Report(
        lambda: declared([2, 2, 3], [2], [2, 2], axis=2),
        "output-shape", "[2,2]", "[2,2,1] follows from its inputs: expected rank 3",
    ),
    "onnx-mlir 1754, a component counts along the axis behind the batch": Report(
        lambda: one_gather("GatherND", [2, 3, 4], [[[2]], [[3]]], batch_dims=1),
        "index-range", 3, "outside axis 1 of `data`, whose size is 3: expected -3 to 2",
        {"onnx.GatherND-13": "refused"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_a_reported_model_has_one_finding_with_value_range_and_fates(
    name: str, tmp_path: Path
) -> None:
    report = REPORTS[name]

    (finding,) = of_model(report.model(), tmp_path, report.to)

    assert (finding.node, finding.rule, finding.value) == ("pick", report.rule, report.value)
    assert report.words in finding.text
    assert finding.does == report.does


@pytest.mark.parametrize("path", EXPORTED, ids=lambda path: path.stem)
def test_an_exported_model_has_no_finding(path: Path) -> None:
    with closing(read(str(path), ReadOptions(infer=True))) as model:
        assert model.nodes
        assert list(findings(model)) == []


RULES: Final[dict[str, tuple[Callable[[], onnx.ModelProto], str, object]]] = {
    "an axis beyond the rank": (lambda: one_gather(indices=[0], axis=2), "axis-range", 2),
    "batch_dims of a Gather that has none": (
        lambda: one_gather(indices=[0], batch_dims=1), "batch-dims-unsupported", 1,
    ),
    "batch_dims as large as a rank": (
        lambda: one_gather("GatherND", [2, 3], [[0]], batch_dims=2), "batch-dims-range", 2,
    ),
    "an axis of tuples": (
        lambda: one_gather("GatherND", [2, 3], [[0]], axis=0), "axis-unsupported", 0,
    ),
    "an attribute that no version has": (
        lambda: one_gather(indices=[0], axes=1), "attribute", "axes",
    ),
    "tuples longer than the rank": (
        lambda: one_gather("GatherND", [2], [[0, 0]]), "indices-depth", 2,
    ),
    "indices of another rank": (
        lambda: one_gather("GatherElements", [2, 3], [0]), "indices-rank", 1,
    ),
    "indices larger beside the axis": (
        lambda: one_gather("GatherElements", [2, 1], [[0, 0]]), "elements-shape", "2",
    ),
    "an operator before its opset": (
        lambda: one_gather("GatherND", [2], [[0]], opset=10), "version", "onnx-10",
    ),
    "bfloat16 before opset 13": (
        lambda: one_gather(indices=[0], kind=TensorProto.BFLOAT16, opset=11),
        "data-dtype", "bfloat16",
    ),
    "another type of the output": (
        lambda: declared([3, 2], [0], [1, 2], INT32), "output-dtype", "int32",
    ),
    "a size of the output that differs": (
        lambda: declared(["n", 2], [0, 1], ["k", 3]), "output-shape", "[k,3]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_shapes_types_and_attributes_is_a_finding(name: str, tmp_path: Path) -> None:
    make, rule, number = RULES[name]

    (finding,) = of_model(make(), tmp_path)

    assert (finding.rule, finding.value, finding.level) == (rule, number, "error")


@pytest.mark.parametrize(("number", "words"), [(1, "1 input"), (3, "3 inputs")])
def test_an_input_too_few_or_too_many_is_a_finding(number: int, words: str, tmp_path: Path) -> None:
    node = helper.make_node("Gather", ["data"] * number, ["out"], name="pick")
    model = onnx_model([node], [value("data", INT64, [3])], [value("out", INT64, None)])

    (finding,) = of_model(model, tmp_path)

    assert finding.rule == "inputs"
    assert finding.message == f"it has {words}: expected `data` and `indices`"


def test_zeros_of_a_version_are_a_warning_or_a_note_by_option(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [3]), ir.constant("i", np.array([3, 0]))]
    inputs.append(ir.constant("axis", np.array(0)))
    ir.result(ir.layer("pick", "Gather", inputs, "f32", [2], batch_dims=0))

    (finding,) = of_model(ir, tmp_path, "openvino")
    (filled,) = of_model(ir, tmp_path, allow_fill=True)

    assert (
        finding.text
        == "index 3 at `[0]` is outside -3..2 (1 of 2 indices); openvino.Gather-8 gives zeros"
    )
    assert (finding.level, filled.level) == ("warning", NOTE)


def test_an_index_that_is_refused_stays_an_error_where_fills_are_allowed(tmp_path: Path) -> None:
    (finding,) = of_model(one_gather(indices=[10]), tmp_path, "openvino", allow_fill=True)

    assert finding.level == "error"


def test_a_negative_index_of_an_unknown_size_is_illegal_where_none_is_legal(tmp_path: Path) -> None:
    model = one_gather(data=["n", 2], indices=[-1], opset=10)

    (finding,) = of_model(model, tmp_path)

    assert finding.rule == "index-range"
    assert "expected 0 or more" in finding.message


@pytest.mark.parametrize("dims", [["n"], None])
def test_what_is_not_known_is_no_finding(dims: Any, tmp_path: Path) -> None:
    assert of_model(one_gather(data=dims, indices=[7, -7]), tmp_path) == []


def test_an_axis_longer_than_its_indices_count_is_a_finding(tmp_path: Path) -> None:
    node = helper.make_node("Gather", ["data", "indices"], ["out"], name="pick")
    inputs = [value("data", FLOAT, [2**31 + 1]), value("indices", INT32, ["n"])]
    model = onnx_model([node], inputs, [value("out", FLOAT, None)])

    width, positions = of_model(model, tmp_path)

    assert (width.rule, width.level) == ("index-width", "warning")
    assert (positions.rule, positions.level) == ("position-width", NOTE)


CHANGES: Final[dict[str, tuple[Callable[[], onnx.ModelProto], str, str]]] = {
    "tflite lacks float64": (
        lambda: one_gather(indices=[0], kind=TensorProto.DOUBLE), "tflite", "data-dtype",
    ),
    "openvino wants equal sizes beside the axis": (
        lambda: one_gather("GatherElements", [3, 4], [[1, 0]]), "openvino", "elements-shape",
    ),
    "coreml has few dimensions": (
        lambda: one_gather(data=[1, 2, 1, 2, 1, 2], indices=[0]), "coreml", "rank-most",
    ),
    "webnn has no batch dimensions": (
        lambda: one_gather("GatherND", [2, 3], [[0], [1]], batch_dims=1), "webnn",
        "batch-dims-unsupported",
    ),
    "an older opset counts nothing from the end": (
        lambda: one_gather(indices=[-1]), "onnx-10", "index-legal",
    ),
    "an older opset lacks the operator": (
        lambda: one_gather("GatherND", [3], [[0]]), "onnx-9", "operator",
    ),
    "xla clamps": (lambda: one_gather(indices=[-1]), "xla", "index-legal"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_on_the_way_to_a_target_is_a_warning(name: str, tmp_path: Path) -> None:
    make, to, rule = CHANGES[name]

    results = of_model(make(), tmp_path, to)

    assert {(each.rule, each.target, each.level) for each in results} == {
        (rule, target(to).name, "warning")
    }


def test_batch_dimensions_beyond_those_of_a_target_are_a_warning(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [2, 2, 3]), ir.parameter("i", "i64", [2, 2, 1])]
    inputs.append(ir.constant("axis", np.array(2)))
    ir.result(ir.layer("pick", "Gather", inputs, "f32", [2, 2, 1], batch_dims=2))

    finding, *at_run_time = of_model(ir, tmp_path, "tensorrt")

    assert [each.level for each in at_run_time] == ["note"]
    assert finding.message == "`batch_dims` is 2: tensorrt.Gather has 1 at most"


def test_one_batch_dimension_is_as_many_as_tensorrt_has(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [2, 3]), ir.parameter("i", "i64", [2, 1])]
    inputs.append(ir.constant("axis", np.array(1)))
    ir.result(ir.layer("pick", "Gather", inputs, "f32", [2, 1], batch_dims=1))

    assert {each.rule for each in of_model(ir, tmp_path, "tensorrt")} == {"index-run-time"}


@pytest.mark.parametrize("index", [2**32, -(2**32)])
def test_an_index_beyond_the_bits_of_a_target_is_a_warning(index: int, tmp_path: Path) -> None:
    model = one_gather(data=[2**33], indices=[index])

    rules = {each.rule for each in of_model(model, tmp_path, "openvino")}

    assert rules == {"index-width", "position-width"}


def test_an_illegal_index_is_one_finding_however_wide(tmp_path: Path) -> None:
    (finding,) = of_model(one_gather(indices=[2**32 + 1]), tmp_path, "openvino")

    assert (finding.rule, finding.value) == ("index-range", 2**32 + 1)


def test_tuples_into_data_of_unknown_rank_are_no_finding_of_any_target(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("x", "f32", [], "..."), ir.constant("i", np.array([-1]))]
    ir.layer("pick", "GatherND", inputs, "f32", [], opset="opset8", batch_dims=0)

    found = of_model(ir, tmp_path, "tensorrt,xla,openvino")

    assert {each.rule for each in found} == {"index-run-time"}


@pytest.mark.parametrize(("index", "counts"), [(-10, True), (-11, False), (10, False)])
def test_a_refused_index_says_which_runtimes_count_it_from_the_end(
    index: int, *, counts: bool, tmp_path: Path
) -> None:
    (finding,) = of_model(one_gather(indices=[index], opset=10), tmp_path)

    assert finding.does == (BEFORE_11 if counts else {"onnx.Gather-1": "refused"})


def test_data_in_fewer_bits_is_one_note_for_all_nodes(tmp_path: Path) -> None:
    names = ["a", "b"]
    nodes = [helper.make_node("Gather", ["data", "i"], [name], name=name) for name in names]
    outputs = [value(name, INT64, None) for name in names]
    model = onnx_model(nodes, [value("data", INT64, [3])], outputs, constants(i=[0]))

    (finding,) = of_model(model, tmp_path, "openvino")

    assert (finding.rule, finding.level, finding.node) == ("data-width", NOTE, "a")
    assert finding.nodes == ("a", "b")
    assert finding.message == (
        "`data` of this and 1 more node is int64, which openvino computes as int32"
    )


def test_sizes_of_shapes_and_what_a_target_computes_already_are_not_noted(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["data"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "i"], ["size"], name="size"),
        helper.make_node("Gather", ["data", "size"], ["out"], name="pick"),
    ]
    data, out = value("data", FLOAT, ["N", 3]), value("out", FLOAT, None)
    model = onnx_model(nodes, [data], [out], constants(i=[0]))
    ir = Ir()
    inputs = [ir.parameter("data", "i64", [3]), ir.constant("i", np.array([0]))]
    inputs.append(ir.constant("axis", np.array(0)))
    ir.result(ir.layer("pick", "Gather", inputs, "i64", [1], opset="opset8"))

    path = tmp_path / "sizes.onnx"
    path.write_bytes(model.SerializeToString())
    with closing(read(str(path), ReadOptions(infer=True))) as opened:
        rules = [each.rule for each in findings(opened, [target("openvino")])]
    assert rules == ["index-run-time"]
    assert list(of_model(ir, tmp_path, "openvino")) == []


def tree(*, lengths: Any = None) -> Ir:
    """Return a GatherTree whose parents come at run time."""
    ir = Ir()
    inputs = [ir.parameter(each, "i32", [3, 1, 2]) for each in ("steps", "parents")]
    inputs.append(
        ir.parameter("lengths", "i32", [1])
        if lengths is None
        else ir.constant("lengths", np.array(lengths, np.int32))
    )
    inputs.append(ir.parameter("end", "i32", []))
    ir.result(ir.layer("walk", "GatherTree", inputs, "i32", [3, 1, 2], opset="opset1"))
    return ir


def with_default() -> onnx.ModelProto:
    """Return a Gather whose indices are the default of an input."""
    model = one_gather(indices=[0])
    model.graph.input.append(value("indices", INT64, [1]))
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            tree(),
            "`parent_ids` (`parents`) and `max_seq_len` (`lengths`) come at run time; "
            "constants prove it",
        ),
        (tree(lengths=[3]), "`parent_ids` (`parents`) comes at run time; constants prove it"),
        (
            with_default(),
            "a caller may replace the default of `indices`; "
            "an initializer that is no input cannot be replaced",
        ),
        (
            one_gather("GatherND", None, [[0]]),
            "the rank of `data`, or the length of the tuples of `indices`, is not known; "
            "known shapes prove it",
        ),
        (
            one_gather("GatherND", [4, "N"], [[0, 1]]),
            "index 1 of `indices` is inside axis 1 of `data` (`N`) unless that has fewer than 2; "
            "a fixed size in the model proves it",
        ),
        (
            one_gather(data=None, indices=[2]),
            "index 2 of `indices` is inside axis 0 of `data` unless that has fewer than 3; "
            "a fixed size in the model proves it",
        ),
    ],
)
def test_a_node_that_is_not_proven_says_why(
    model: onnx.ModelProto | Ir, message: str, tmp_path: Path
) -> None:
    (finding,) = of_model(model, tmp_path, require_proven=True)

    assert (finding.rule, finding.level, finding.message) == ("unproven", ERROR, message)


def moved_out(model: onnx.ModelProto) -> onnx.ModelProto:
    """Store the first tensor of a model in another file, which does not exist."""
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    return model


@pytest.mark.parametrize(("allowed", "level"), [(False, WARNING), (True, NOTE)])
def test_constants_that_are_not_read_are_a_warning_unless_allowed(
    tmp_path: Path, level: str, *, allowed: bool
) -> None:
    model = moved_out(one_gather(indices=[0, 99]))

    (finding,) = of_model(model, tmp_path, allow_unread=allowed)

    assert (finding.rule, finding.level) == ("unread", level)


def test_an_axis_in_a_missing_file_is_not_checked(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [9]), ir.parameter("i", "i64", [2])]
    inputs.append(ir.constant("axis", np.array(0)))
    ir.result(ir.layer("pick", "Gather", inputs, "f32", [2], batch_dims=0))
    path = ir.save(tmp_path / "m.xml")
    path.with_suffix(".bin").unlink()

    with closing(read(str(path))) as model:
        (finding,) = findings(model)

    assert finding.message == (
        "`axis` is not checked: its elements are in the .bin, which is missing"
    )


@pytest.mark.parametrize("operator", ["Reshape", "Unsqueeze"])
def test_indices_behind_a_shape_that_is_not_read_are_not_checked(
    tmp_path: Path, operator: str
) -> None:
    nodes = [
        helper.make_node(operator, ["numbers", "shape"], ["indices"]),
        helper.make_node("Gather", ["data", "indices"], ["out"], name="pick"),
    ]
    inputs, outputs = [value("data", FLOAT, [9])], [value("out", FLOAT, None)]
    tensors = constants(shape=[1], numbers=[0])
    model = moved_out(onnx_model(nodes, inputs, outputs, tensors))

    (finding,) = of_model(model, tmp_path)

    assert (finding.rule, finding.level) == ("unread", WARNING)


def test_indices_behind_a_layer_whose_shape_is_missing_are_not_checked(tmp_path: Path) -> None:
    ir = Ir()
    numbers = [ir.constant("numbers", np.array([7])), ir.constant("shape", np.array([1, 1]))]
    indices = ir.layer("reshape", "Reshape", numbers, "i64", [1, 1], opset="opset1")
    data = ir.parameter("data", "f32", [3])
    ir.result(ir.layer("pick", "GatherND", [data, indices], "f32", [1], batch_dims=0))
    path = ir.save(tmp_path / "m.xml")
    path.with_suffix(".bin").unlink()

    with closing(read(str(path))) as model:
        (finding,) = findings(model)

    assert finding.message.startswith("`indices` is not checked")


@pytest.mark.parametrize(
    ("version", "level", "end"),
    [
        (3, ERROR, "(1 of 2 indices)"),
        (4, WARNING, "(1 of 2 indices), in a default that a caller may replace"),
    ],
)
def test_an_initializer_that_is_an_input_is_a_default(
    version: int, level: str, end: str, tmp_path: Path
) -> None:
    model = one_gather(indices=[0, 10])
    model.graph.input.append(value("indices", INT64, [2]))
    model.ir_version = version

    (finding,) = of_model(model, tmp_path)

    assert (finding.rule, finding.level) == ("index-range", level)
    assert finding.message.endswith(end)


def test_a_default_behind_a_cast_is_one(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["wide"], ["narrow"], to=INT32),
        helper.make_node("Unsqueeze", ["narrow", "axes"], ["indices"]),
        helper.make_node("Gather", ["data", "indices"], ["out"]),
    ]
    inputs = [value("data", FLOAT, [10, 3]), value("wide", INT64, [])]
    model = onnx_model(nodes, inputs, [value("out", FLOAT, None)], constants(wide=10, axes=[0]))

    (finding,) = of_model(model, tmp_path)

    assert (finding.rule, finding.level) == ("index-range", WARNING)


def model_of_type(folder: Path, number: int) -> Path:
    """Return a model of one node whose indices are in a typed field; the last is illegal."""
    model = one_gather(indices=[0])
    indices = helper.make_tensor("indices", INT64, [number], [*([1] * (number - 1)), 10])
    model.graph.initializer[0].CopyFrom(indices)
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(("limit", "rule"), [(31_999, "unread"), (32_000, "index-range")])
def test_indices_that_are_decoded_are_checked_within_the_limit(
    limit: int, rule: str, tmp_path: Path
) -> None:
    path = model_of_type(tmp_path, 1000)

    with closing(read(str(path), ReadOptions(limit=limit))) as model:
        (finding,) = findings(model)

    assert finding.rule == rule


def test_the_limit_holds_behind_a_cast(tmp_path: Path) -> None:
    model = onnx_model(
        [
            helper.make_node("Cast", ["wide"], ["indices"], to=INT32),
            helper.make_node("Gather", ["data", "indices"], ["out"]),
        ],
        [value("data", FLOAT, [10, 3])],
        [value("out", FLOAT, None)],
        constants(wide=np.full(1000, 10)),
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())

    with closing(read(str(path), ReadOptions(limit=15_999))) as opened:
        (finding,) = findings(opened)

    assert finding.text == (
        "`indices` is not checked: its elements take 16000 bytes of memory, more than 15999"
    )


def test_elements_that_are_decoded_are_dropped_after_their_node(tmp_path: Path) -> None:
    path = model_of_type(tmp_path, 1000)

    with closing(read(str(path))) as model:
        constant = model.tensors["indices"]
        first = constant.tensor()
        list(findings(model))

        assert constant.tensor() is not first


def test_a_position_from_the_end_may_be_beyond_32_bits(tmp_path: Path) -> None:
    (finding,) = of_model(one_gather(data=[2**20, 2**12], indices=[0, -1]), tmp_path)

    assert (finding.rule, finding.value, finding.where) == ("position-width", -1, "[1]")


@pytest.mark.parametrize(("kind", "size"), [(INT32, "n"), (TensorProto.INT64, 2**31 - 1)])
def test_a_size_that_indices_may_reach_is_no_finding(
    kind: int, size: int | str, tmp_path: Path
) -> None:
    node = helper.make_node("Gather", ["data", "indices"], ["out"], name="pick")
    inputs = [value("data", FLOAT, [size]), value("indices", kind, ["k"])]

    assert of_model(onnx_model([node], inputs, [value("out", FLOAT, None)]), tmp_path) == []


def test_narrow_indices_may_count_less_than_the_axis(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [200]), ir.parameter("i", "i8", [2])]
    inputs.append(ir.constant("axis", np.array(0)))
    ir.result(ir.layer("pick", "Gather", inputs, "f32", [2], batch_dims=0))

    assert of_model(ir, tmp_path) == []


def test_an_inferred_output_contradicts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(declared([3], [0], [2]).SerializeToString())
    with closing(read(str(path))) as model:
        (node,) = model.nodes
        (out,) = node.outputs

        inferred = node._replace(outputs=(out._replace(inferred=True, claim=None),))

        assert [each.rule for each in examined(node)[1]] == ["output-shape"]
        assert examined(inferred)[1] == []


def test_what_a_target_does_alike_is_no_finding(tmp_path: Path) -> None:
    assert of_model(one_gather(indices=[-1]), tmp_path, "openvino,webnn,onnx-18") == []


def test_an_older_opset_refuses_what_counts_from_the_end(tmp_path: Path) -> None:
    (finding,) = of_model(one_gather(indices=[-1]), tmp_path, "onnx-9")

    assert finding.does == {"onnx-9": "refused"}


def test_positions_are_counted_exactly(tmp_path: Path) -> None:
    model = one_gather(data=[2**40, 2**62], indices=[0, 3, -1], axis=1)

    (finding,) = of_model(model, tmp_path)

    assert finding.value == 0
    assert f"reads position {(2**40 - 1) * 2**62} of" in finding.message


def test_openvino_runs_its_own_versions_as_they_are(tmp_path: Path) -> None:
    ir = tuples([2, 2, 3], [2, 2, 1], 2, [4])

    assert of_model(ir, tmp_path, "openvino") == []


def test_a_negative_index_has_no_promise_in_an_older_version_of_openvino(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [3]), ir.constant("i", np.array([-1]))]
    inputs.append(ir.constant("axis", np.array(0)))
    ir.result(ir.layer("pick", "Gather", inputs, "f32", [1], opset="opset7", batch_dims=0))

    (finding,) = of_model(ir, tmp_path, "openvino,tflite")

    assert finding.does == {
        "openvino.Gather-7": "refused",
        "openvino": "undefined",
        "tflite.GATHER": "refused",
    }


def test_beams_are_known_to_openvino_alone(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter(name, "i32", [4, 1, 2]) for name in ("steps", "parents")]
    inputs += [ir.parameter("lengths", "i32", [1]), ir.parameter("end", "i32", [])]
    ir.result(ir.layer("walk", "GatherTree", inputs, "i32", [4, 1, 2], opset="opset1"))

    results = of_model(ir, tmp_path, "openvino,xla")

    assert [each.message for each in results] == ["xla has no GatherTree"]


def test_a_parent_that_no_beam_follows_is_no_finding(tmp_path: Path) -> None:
    ir = Ir()
    inputs = [ir.parameter("steps", "i64", [2, 1, 1])]
    inputs.append(ir.constant("parents", np.array([[[2**40]], [[0]]])))
    inputs += [ir.parameter("lengths", "i64", [1]), ir.parameter("end", "i64", [])]
    ir.result(ir.layer("walk", "GatherTree", inputs, "i64", [2, 1, 1], opset="opset1"))

    results = of_model(ir, tmp_path, "openvino")

    assert results == []


def typed(*nodes: onnx.NodeProto, **arrays: Any) -> onnx.ModelProto:
    """Return a model of which the tensor `bad` has one number too many, which its reader meets."""
    inputs, outputs = [value("data", FLOAT, [9])], [value("out", FLOAT, None)]
    tensors = constants(**arrays)
    bad = TensorProto(name="bad", data_type=INT64, dims=[2], int64_data=[0, 1, 2])
    return onnx_model(nodes, inputs, outputs, [*tensors, bad])


PICK: Final = helper.make_node("Gather", ["data", "bad"], ["out"], name="pick")
MALFORMED: Final[dict[str, onnx.ModelProto]] = {
    "indices": typed(PICK),
    "indices of two nodes": typed(
        PICK, helper.make_node("Gather", ["data", "bad"], ["other"], name="again")
    ),
    "indices behind a Cast": typed(
        helper.make_node("Cast", ["bad"], ["i"], to=INT32),
        helper.make_node("Gather", ["data", "i"], ["out"], name="pick"),
    ),
    "the shape of a Reshape": typed(
        helper.make_node("Reshape", ["c", "bad"], ["i"]),
        helper.make_node("Gather", ["data", "i"], ["out"], name="pick"),
        c=[0],
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_elements_that_are_malformed_are_one_finding(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(MALFORMED[name].SerializeToString())
    judged: dict[str, Judged] = {}

    with closing(read(str(path), ReadOptions(tolerant=True))) as model:
        (finding,) = findings(model, judged=judged)

    what = "`bad`: the field int64_data has 3 values: expected 2, for [2]"
    assert finding.message.split(", ", 1)[1] == what
    assert (finding.rule, finding.level, finding.node) == ("format", "error", "")
    assert {each.word for each in judged.values()} == {"not read"}


def test_a_malformed_tensor_that_no_node_needs_is_a_finding(tmp_path: Path) -> None:
    pick = helper.make_node("Gather", ["data", "c"], ["out"], name="pick")
    model = typed(pick, c=[0])
    model.graph.initializer[1].raw_data = b"1"
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    judged: dict[str, Judged] = {}

    with closing(read(str(path), ReadOptions(tolerant=True))) as opened:
        (finding,) = findings(opened, judged=judged)

    assert "`bad`: the elements are in raw_data and in int64_data" in finding.message
    assert judged == {"pick": Judged("proven")}


def test_a_malformed_value_of_a_node_leaves_the_next_unread(tmp_path: Path) -> None:
    tensor = TensorProto(data_type=INT64, dims=[2], raw_data=b"1")
    nodes = [
        helper.make_node("Constant", [], ["c"], value=tensor),
        helper.make_node("Gather", ["data", "c"], ["out"], name="pick"),
    ]
    path = tmp_path / "m.onnx"
    model = onnx_model(nodes, [value("data", FLOAT, [9])], [value("out", FLOAT, [2])])
    path.write_bytes(model.SerializeToString())
    judged: dict[str, Judged] = {}

    with closing(read(str(path), ReadOptions(tolerant=True))) as opened:
        (finding,) = findings(opened, judged=judged)

    assert "the tensor has 1 byte of elements" in finding.message
    assert judged == {"pick": Judged("not read")}


# What is missing or malformed of a node


def renamed(number: int, name: str) -> Callable[[onnx.ModelProto], object]:
    """Return a change of the name of an input."""
    return lambda model: model.graph.node[0].input.__setitem__(number, name)


def with_axis(**fields: Any) -> Callable[[onnx.ModelProto], object]:
    """Return a change that adds an axis."""
    return lambda model: model.graph.node[0].attribute.add(name="axis", **fields)


def with_outputs(*names: str) -> Callable[[onnx.ModelProto], object]:
    """Return a change of the outputs."""

    def change(model: onnx.ModelProto) -> None:
        model.graph.node[0].ClearField("output")
        model.graph.node[0].output.extend(names)

    return change


def twice(model: onnx.ModelProto) -> None:
    with_axis(i=0, type=2)(model)
    with_axis(i=1, type=2)(model)


def later(model: onnx.ModelProto) -> None:
    renamed(1, "j")(model)
    model.graph.node.append(helper.make_node("Identity", ["indices"], ["j"]))


def deeper(model: onnx.ModelProto) -> None:
    renamed(1, "k")(model)
    nodes = [
        helper.make_node("Own", ["zz", "data"], ["j"], domain="own"),
        helper.make_node("Cast", ["j"], ["k"], to=INT64),
        model.graph.node[0],
    ]
    model.graph.ClearField("node")
    model.graph.node.extend(nodes)


NONE_SUCH: Final = "expected an input, a tensor, or the output of an earlier node"
INTEGER: Final = "expected one integer"
FAULTS: Final[dict[str, tuple[Callable[[onnx.ModelProto], object], str, str]]] = {
    "no indices": (renamed(1, ""), "inputs", "`indices` is left out: expected a value"),
    "no data": (renamed(0, ""), "inputs", "`data` is left out: expected a value"),
    "unknown indices": (
        renamed(1, "zz"),
        "undefined",
        f"`indices` is `zz`, which nothing defines: {NONE_SUCH}",
    ),
    "unknown data": (
        renamed(0, "zz"),
        "undefined",
        f"`data` is `zz`, which nothing defines: {NONE_SUCH}",
    ),
    "indices of what is unknown": (
        deeper,
        "undefined",
        f"`indices` depends on `zz`, which nothing defines: {NONE_SUCH}",
    ),
    "indices of a later node": (
        later,
        "undefined",
        f"`indices` is `j`, which a later node defines: {NONE_SUCH}",
    ),
    "its own output": (
        renamed(1, "out"),
        "undefined",
        f"`indices` is `out`, which comes from a cycle of nodes: {NONE_SUCH}",
    ),
    "two outputs": (with_outputs("out", "o"), "outputs", "it has 2 outputs: expected one"),
    "an empty second output": (
        with_outputs("out", ""),
        "outputs",
        "it has 2 outputs: expected one",
    ),
    "no output": (with_outputs(), "outputs", "it has no output: expected one"),
    "an empty output": (with_outputs(""), "outputs", "it has no output: expected one"),
    "an output that is an input": (
        with_outputs("data"),
        "outputs",
        "its output, `data`, has the name of another value: expected a name of its own",
    ),
    "an axis twice": (twice, "attribute", "it has the attribute `axis` twice: expected it once"),
    "an axis in a list": (with_axis(ints=[0], type=7), "axis-type", f"`axis` is [0]: {INTEGER}"),
    "a whole float": (with_axis(f=1, type=1), "axis-type", f"`axis` is 1.0: {INTEGER}"),
    "a digit": (with_axis(s=b"0", type=3), "axis-type", f"`axis` is `0`: {INTEGER}"),
    "two values": (with_axis(i=0, ints=[0], type=2), "axis-type", f"`axis` is [0]: {INTEGER}"),
    "the type of a float": (
        with_axis(i=0, type=1),
        "axis-type",
        f"`axis` has another type: {INTEGER}",
    ),
    "batch dimensions of none": (
        lambda model: model.graph.node[0].attribute.add(name="batch_dims", i=0, type=2),
        "attribute",
        "onnx.Gather-13 has no attribute `batch_dims`: expected `axis`",
    ),
    "an attribute of no function": (
        with_axis(ref_attr_name="axis", type=2),
        "axis-type",
        f"`axis` refers to an attribute of a function, but is in none: {INTEGER}",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_missing_or_malformed_of_a_node_is_a_finding(name: str, tmp_path: Path) -> None:
    change, rule, message = FAULTS[name]
    model = one_gather(indices=[0])
    change(model)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    judged: dict[str, Judged] = {}

    with closing(read(str(path), ReadOptions(infer=True))) as opened:
        (finding,) = findings(opened, judged=judged)

    assert (finding.rule, finding.level, finding.message) == (rule, "error", message)
    assert judged == {"pick": Judged("refused")}


def test_an_axis_of_zero_may_be_left_out_of_its_attribute(tmp_path: Path) -> None:
    model = one_gather(indices=[0])
    with_axis(type=2)(model)

    assert of_model(model, tmp_path) == []


def test_an_attribute_has_no_type_in_the_first_version_of_the_format(tmp_path: Path) -> None:
    model = one_gather(indices=[0], opset=1)
    with_axis(i=1)(model)
    model.ir_version = 1

    assert of_model(model, tmp_path) == []


def test_a_fault_is_said_where_the_family_meets_it_first(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["zz", "i"], ["a"], name="first"),
        helper.make_node("Gather", ["a", "i"], ["out"], name="second"),
    ]
    model = onnx_model(nodes, [value("i", INT64, [1])], [value("out", FLOAT, None)])

    assert [each.node for each in of_model(model, tmp_path)] == ["first"]


def if_of(name: str) -> onnx.NodeProto:
    """Return an If whose branches have an output of a name, which they need not define."""
    graphs = [
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["known"])], "g", [], [value(name, FLOAT, None)]
        )
        for _ in range(2)
    ]
    return helper.make_node("If", ["c"], ["h"], then_branch=graphs[0], else_branch=graphs[1])


OF_FUNCTION: Final = helper.make_function(
    "f",
    "F",
    ["p", "q"],
    ["r"],
    [
        helper.make_node("Gather", ["p", "i"], ["own"], name="own"),
        helper.make_node("Relu", ["zz"], ["data"]),
        helper.make_node("Gather", ["data", "p"], ["r"], name="unknown"),
        helper.make_node("Gather", ["p", "q"], ["s"], name="argument"),
    ],
    [helper.make_opsetid("", 17)],
)
NOT_DEFINED: Final[dict[str, tuple[list[onnx.NodeProto], dict[str, str]]]] = {
    "the output of a branch": (
        [if_of("zz")],
        {"pick": "`data` depends on `zz`, which nothing defines"},
    ),
    "a node of a branch that nothing uses": ([if_of("known")], {}),
    "an argument of a function": (
        [helper.make_node("F", ["x", "yy"], ["h"], domain="f")],
        {
            "own": "`indices` is `i`, which nothing defines",
            "unknown": "`data` depends on `zz`, which nothing defines",
            "argument": "`indices` depends on `yy`, which nothing defines",
            "pick": "`data` depends on `yy`, which nothing defines",
        },
    ),
    "two nodes": (
        [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Abs", ["x"], ["h"])],
        {"pick": "`data` is `h`, which is defined twice"},
    ),
    "a node and an input": (
        [helper.make_node("Relu", ["j"], ["x"]), helper.make_node("Abs", ["x"], ["h"])],
        {"pick": "`data` depends on `x`, which is defined twice"},
    ),
}


@pytest.mark.parametrize("name", NOT_DEFINED)
def test_a_value_without_one_definition_is_an_error_of_the_nodes_behind(
    name: str, tmp_path: Path
) -> None:
    nodes, expected = NOT_DEFINED[name]
    inputs = [value("x", FLOAT, [4]), value("j", INT64, [1]), value("c", TensorProto.BOOL, [])]
    pick = helper.make_node("Gather", ["h", "j"], ["y"], name="pick")
    functions = [OF_FUNCTION] if nodes[0].domain else []
    opsets = [helper.make_opsetid("f", 1)]
    model = onnx_model(
        [*nodes, pick], inputs, [value("y", FLOAT, None)], functions=functions, opsets=opsets
    )

    found = {each.node: each for each in of_model(model, tmp_path)}

    messages = {name: each.message.partition(":")[0] for name, each in found.items()}
    assert messages == expected
    assert {each.rule for each in found.values()} <= {"undefined"}


def branches(*nodes: onnx.NodeProto) -> onnx.NodeProto:
    """Return an If with the nodes in both branches."""
    graphs = [helper.make_graph(nodes, "g", [], [value("a", FLOAT, None)]) for _ in range(2)]
    return helper.make_node("If", ["c"], ["out"], then_branch=graphs[0], else_branch=graphs[1])


INSIDE: Final = helper.make_node("Gather", ["data", "i"], ["a"], name="inside")
LOOP: Final = helper.make_graph(
    [
        helper.make_node("Gather", ["data", "number"], ["a"]),
        helper.make_node("Identity", ["going"], ["goes"]),
    ],
    "g",
    [value("number", INT64, []), value("going", TensorProto.BOOL, [])],
    [value("goes", TensorProto.BOOL, []), value("a", FLOAT, None)],
)
SCAN: Final = helper.make_graph(
    [helper.make_node("Gather", ["data", "row"], ["a"])],
    "g",
    [value("row", INT64, [])],
    [value("a", FLOAT, None)],
)
CALL: Final = helper.make_node("pick", ["data", "i"], ["out"], domain="own")
OWN: Final = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
FUNCTION: Final = helper.make_function(
    "own", "pick", ["x", "n"], ["y"], [helper.make_node("Gather", ["x", "n"], ["y"])], OWN
)
SPARSE: Final = helper.make_sparse_tensor(
    helper.make_tensor("i", INT64, [1], [1]), helper.make_tensor("", INT64, [1], [0]), [3]
)
SOUND: Final[dict[str, tuple[list[onnx.NodeProto], list[str], dict[str, Any]]]] = {
    "a value around a branch": ([branches(INSIDE)], ["c", "i"], {}),
    "a value of a node around a branch": (
        [helper.make_node("Abs", ["j"], ["i"]), branches(INSIDE)],
        ["c", "j"],
        {},
    ),
    "a value two branches away": ([branches(branches(INSIDE))], ["c", "i"], {}),
    "a number of a Loop": ([helper.make_node("Loop", ["j", ""], ["out"], body=LOOP)], ["j"], {}),
    "a row of a Scan": (
        [helper.make_node("Scan", ["i"], ["out"], body=SCAN, num_scan_inputs=1)],
        ["i"],
        {},
    ),
    "an input of a function": ([CALL], ["i"], {"functions": [FUNCTION], "opsets": OWN[1:]}),
    "the second output of an unknown operator": (
        [
            helper.make_node("Own", ["j"], ["k", "i"], domain="other"),
            helper.make_node("Gather", ["data", "i"], ["out"]),
        ],
        ["j"],
        {},
    ),
    "a value behind an input that is left out": (
        [
            helper.make_node("Clip", ["j", "", "j"], ["i"]),
            helper.make_node("Gather", ["data", "i"], ["out"]),
        ],
        ["j"],
        {},
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_defined_somewhere_is_no_finding(name: str, tmp_path: Path) -> None:
    nodes, names, fields = SOUND[name]
    kinds = {"c": (TensorProto.BOOL, []), "i": (INT64, [3]), "j": (INT64, [])}
    inputs = [value("data", FLOAT, [9]), *(value(each, *kinds[each]) for each in names)]
    model = onnx_model(nodes, inputs, [value("out", FLOAT, None)], **fields)

    assert of_model(model, tmp_path) == []


def test_an_attribute_of_a_caller_has_the_type_of_an_integer(tmp_path: Path) -> None:
    node = helper.make_node("Gather", ["x", "n"], ["y"], name="pick")
    node.attribute.add(name="axis", ref_attr_name="along", type=3)
    function = helper.make_function("own", "pick", ["x", "n"], ["y"], [node], OWN, ["along"])
    inputs = [value("data", FLOAT, [9]), value("i", INT64, [3])]
    outputs = [value("out", FLOAT, None)]
    model = onnx_model([CALL], inputs, outputs, functions=[function], opsets=OWN[1:])

    (finding,) = of_model(model, tmp_path)

    assert finding.message == "`axis` has another type: expected one integer"


def test_a_sparse_tensor_is_defined(tmp_path: Path) -> None:
    model = one_gather(indices=[0])
    model.graph.ClearField("initializer")
    model.graph.sparse_initializer.append(SPARSE)
    renamed(1, "i")(model)

    assert of_model(model, tmp_path) == []


def test_a_name_that_nothing_defines_is_found_in_bodies_and_functions(tmp_path: Path) -> None:
    lost = helper.make_node("Gather", ["x", "i"], ["y"], name="lost")
    function = helper.make_function("own", "pick", ["x", "n"], ["y"], [lost], OWN)
    nodes = [branches(INSIDE), helper.make_node("pick", ["data", "out"], ["o"], domain="own")]
    nodes.append(helper.make_node("Abs", ["data"], ["i"]))
    inputs = [value("data", FLOAT, [9]), value("c", TensorProto.BOOL, [])]
    outputs = [value("o", FLOAT, None)]
    model = onnx_model(nodes, inputs, outputs, functions=[function], opsets=OWN[1:])

    results = of_model(model, tmp_path)

    assert [(each.node.split("/")[-1], each.message.partition(":")[0]) for each in results] == [
        ("inside", "`indices` is `i`, which a later node defines"),
        ("inside", "`indices` is `i`, which a later node defines"),
        ("lost", "`indices` is `i`, which nothing defines"),
    ]


BEHIND: Final[dict[str, list[onnx.NodeProto]]] = {
    "Cast": [helper.make_node("Cast", ["c"], ["i"], to=INT64)],
    "Identity": [helper.make_node("Identity", ["c"], ["i"])],
    "Unsqueeze": [helper.make_node("Unsqueeze", ["c", "zero"], ["i"])],
    "Squeeze": [
        helper.make_node("Unsqueeze", ["c", "zero"], ["u"]),
        helper.make_node("Squeeze", ["u", "zero"], ["i"]),
    ],
    "Reshape": [helper.make_node("Reshape", ["c", "shape"], ["i"])],
}


@pytest.mark.parametrize("name", BEHIND)
def test_a_constant_is_checked_behind_other_nodes(name: str, tmp_path: Path) -> None:
    last = helper.make_node("Gather", ["data", "i"], ["out"], name="pick")
    arrays = constants(c=[0, 9], zero=[0], shape=[2, 1])
    inputs, outputs = [value("data", FLOAT, [3])], [value("out", FLOAT, None)]

    (finding,) = of_model(onnx_model([*BEHIND[name], last], inputs, outputs, arrays), tmp_path)

    assert (finding.rule, finding.value) == ("index-range", 9)


def test_a_node_in_a_body_is_found_by_its_name(tmp_path: Path) -> None:
    inner = helper.make_node("Gather", ["data", "i"], ["a"], name="inside")
    branches = [
        helper.make_graph([inner], "g", [], [value("a", FLOAT, None)], constants(i=[number]))
        for number in (2, 3)
    ]
    outer = helper.make_node(
        "If", ["yes"], ["out"], name="choice", then_branch=branches[0], else_branch=branches[1]
    )
    inputs = [value("data", FLOAT, [3]), value("yes", TensorProto.BOOL, [])]

    (finding,) = of_model(onnx_model([outer], inputs, [value("out", FLOAT, None)]), tmp_path)

    assert (finding.node, finding.value) == ("choice/else_branch/inside", 3)


def merged(
    *index: onnx.NodeProto, merging: Sequence[onnx.NodeProto] = (), **tensors: Any
) -> onnx.ModelProto:
    """Return ``x[i, j]`` of x, f32[4,3,2], as an exporter writes it, with nodes of the index."""
    nodes = [
        *(merging or [helper.make_node("Flatten", ["x"], ["flat"], axis=2)]),
        *index,
        helper.make_node("Gather", ["flat", "at"], ["y"], name="pick"),
    ]
    given = [value("x", FLOAT, [4, 3, 2]), *(value(each, INT64, [5]) for each in "ijk")]
    return onnx_model(nodes, given, tensors=constants(**tensors))


TIMES: Final = helper.make_node("Mul", ["i", "n"], ["row"])
PLUS: Final = helper.make_node("Add", ["j", "row"], ["at"])
SIZE: Final = [
    helper.make_node("Shape", ["x"], ["sizes"]),
    helper.make_node("Gather", ["sizes", "one"], ["n"]),
]
TRANSPOSED: Final = [
    helper.make_node("Transpose", ["x"], ["turned"], perm=[0, 1, 2]),
    helper.make_node("Reshape", ["turned", "whole"], ["flat"]),
]

MERGED: Final = {
    "a constant size": (merged(TIMES, PLUS, n=[3]), "`j`"),
    "the size of the shape": (merged(*SIZE, TIMES, PLUS, one=[1]), "`j`"),
    "Transpose and Reshape": (merged(TIMES, PLUS, merging=TRANSPOSED, whole=[-1, 2], n=[3]), "`j`"),
    "a constant index below zero": (
        merged(TIMES, helper.make_node("Add", ["j", "c"], ["at"]), c=[-1] * 5, n=[3]),
        "",
    ),
    "three indices": (
        merged(
            helper.make_node("Mul", ["j", "n"], ["column"]),
            helper.make_node("Add", ["k", "column"], ["sum"]),
            helper.make_node("Mul", ["n", "m"], ["both"]),
            helper.make_node("Mul", ["i", "both"], ["row"]),
            helper.make_node("Add", ["sum", "row"], ["at"]),
            n=[3],
            m=[4],
        ),
        "`j` or `k`",
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_an_index_on_merged_axes_is_a_note(name: str, tmp_path: Path) -> None:
    model, names = MERGED[name]

    found = [each for each in of_model(model, tmp_path) if each.rule == "merged-index"]

    assert [each.level for each in found] == [NOTE] * bool(names)
    assert all(f"a negative {names} reads a row of the neighbour" in each.text for each in found)


NOT_MERGED: Final = {
    "another factor": merged(TIMES, PLUS, n=[5]),
    "no product": merged(helper.make_node("Add", ["j", "i"], ["at"])),
    "no sum": merged(helper.make_node("Mul", ["i", "n"], ["at"]), n=[3]),
    "axes that stay": merged(
        TIMES, PLUS, merging=[helper.make_node("Identity", ["x"], ["flat"])], n=[3]
    ),
    "the second index is a constant": merged(
        TIMES, helper.make_node("Add", ["c", "row"], ["at"]), c=[0, 1, 2, 0, 1], n=[3]
    ),
    "a sum of itself": merged(helper.make_node("Add", ["at"], ["at"])),
    "operators without inputs": merged(
        helper.make_node("Mul", [], ["row"]), helper.make_node("Gather", [], ["n"]), PLUS
    ),
    "a product of itself": merged(
        helper.make_node("Mul", ["n", "n"], ["n"]), helper.make_node("Mul", ["i", "n"], ["at"])
    ),
    "data without a shape": merged(
        TIMES, PLUS, merging=[helper.make_node("Reshape", [], ["flat"])], n=[3]
    ),
    "a long sum": merged(
        *(helper.make_node("Add", [f"s{n}", "j"], [f"s{n + 1}"]) for n in range(20)),
        helper.make_node("Add", ["s20", "i"], ["at"]),
    ),
}


@pytest.mark.parametrize("name", NOT_MERGED)
def test_other_arithmetic_of_indices_is_no_finding(name: str, tmp_path: Path) -> None:
    rules = [each.rule for each in of_model(NOT_MERGED[name], tmp_path)]

    assert "merged-index" not in rules


def test_an_index_with_a_bound_of_zero_is_no_finding(tmp_path: Path) -> None:
    column = [
        helper.make_node("Mod", ["k", "n"], ["j0"]),
        helper.make_node("Add", ["j0", "row"], ["at"]),
    ]
    (tmp_path / "m.onnx").write_bytes(merged(TIMES, *column, n=[3]).SerializeToString())

    for infer in (True, False):
        with closing(read(str(tmp_path / "m.onnx"), ReadOptions(infer=infer))) as model:
            rules = [each.rule for each in findings(model)]

        assert rules == ([] if infer else ["merged-index"])
