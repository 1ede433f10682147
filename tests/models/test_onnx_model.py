"""The nodes of ONNX models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gathercli.errors import GatherError, InputError
from gathercli.io.graphs import tensorproto
from gathercli.io.graphs.tensorproto import ONNX_TYPES
from gathercli.models.command import model_json
from gathercli.models.files import ReadOptions, read
from gathercli.models.lint import examined
from gathercli.models.verdict import judge
from tests.modelfiles import FLOAT, INT32, INT64, constants, one_gather, onnx_model, value

if TYPE_CHECKING:
    from pathlib import Path

    from gathercli.models.graph import Model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.onnx"


def reread(model: onnx.ModelProto, path: Path, **options: Any) -> Model:
    """Write a model and read it."""
    path.write_bytes(model.SerializeToString())
    return read(str(path), ReadOptions(**options))


def described(model: Model) -> list[tuple[str, str, list[str]]]:
    """Return the names, the rows and the inputs of the nodes."""
    return [
        (each.name, str(each.op), [str(v.operand) for v in each.named_inputs.values()])
        for each in model.nodes
    ]


def body(name: str, **attributes: Any) -> onnx.GraphProto:
    """Return a body of one Gather of the value `x` around it."""
    node = helper.make_node("Gather", ["x", "first"], [f"{name}_out"], **attributes)
    out = value(f"{name}_out", FLOAT, None)
    return helper.make_graph([node], name, [], [out], constants(first=[0]))


def test_the_types_are_those_of_the_package() -> None:
    ours = {"float": "float32", "double": "float64"}

    for name, number in TensorProto.DataType.items():
        dtype = ONNX_TYPES[number]
        word = (dtype.name if dtype else "undefined").replace("_", "")
        assert word.startswith(ours.get(name.lower(), name.lower()))


def test_the_nodes_of_the_main_graph_are_read_in_order(path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["y"], name="a", axis=1),
        helper.make_node("GatherElements", ["y", "e"], ["z"], name="b"),
        helper.make_node("GatherND", ["z", "n"], ["w"], name="c", batch_dims=1),
        helper.make_node("Relu", ["w"], ["r"]),
    ]
    inputs = [
        value("x", FLOAT, ["N", 4]),
        value("i", INT64, [3]),
        value("e", INT64, ["N", 2]),
        value("n", INT64, ["N", 1]),
    ]

    model = reread(onnx_model(nodes, inputs), path)

    assert described(model) == [
        ("a", "onnx.Gather-13", ["f32[N,4]", "i64[3]"]),
        ("b", "onnx.GatherElements-13", ["f32[N,3]", "i64[N,2]"]),
        ("c", "onnx.GatherND-13", ["f32[N,2]", "i64[N,1]"]),
    ]
    assert [each.attributes for each in model.nodes] == [{"axis": 1}, {}, {"batch_dims": 1}]
    assert (model.number, model.opsets, model.version) == (4, {"": 17}, 8)


@pytest.mark.parametrize(
    ("opset", "row"), [(1, "Gather-1"), (10, "Gather-1"), (11, "Gather-11"), (21, "Gather-13")]
)
def test_the_opset_of_the_model_decides_the_row(path: Path, opset: int, row: str) -> None:
    model = reread(one_gather(opset=opset), path)

    assert str(model.nodes[0].op) == f"onnx.{row}"


def test_an_operator_that_the_opset_lacks_is_refused(path: Path) -> None:
    (node,) = reread(one_gather("GatherND", opset=10), path).nodes

    verdict = judge(node)

    assert node.op is None
    assert verdict.error is not None
    assert verdict.error.rule == "version"
    assert "onnx has GatherND from opset 11 on" in verdict.error.message


def test_a_newer_opset_than_the_newest_known_is_noted(path: Path) -> None:
    (node,) = reread(one_gather(opset=999), path).nodes

    assert node.note is not None
    assert "newer than" in node.note


def test_nodes_of_bodies_have_their_path_and_see_the_values_around(path: Path) -> None:
    condition = helper.make_node(
        "If", ["c"], ["r"], name="if", then_branch=body("then"), else_branch=body("else", axis=1)
    )
    inputs = [value("c", TensorProto.BOOL, []), value("x", FLOAT, [4, 5])]

    model = reread(onnx_model([condition], inputs), path)

    assert sorted((each.path, each.name) for each in model.nodes) == [
        (("if", "else_branch"), "else_out"),
        (("if", "then_branch"), "then_out"),
    ]
    assert {str(each.inputs[0].operand) for each in model.nodes} == {"f32[4,5]"}


def test_nodes_of_functions_are_read_with_the_opset_of_the_function(path: Path) -> None:
    node = helper.make_node("Gather", ["a", "b"], ["c"])
    function = helper.make_function(
        "my", "Pick", ["a", "b"], ["c"], [node], [helper.make_opsetid("", 12)]
    )
    call = helper.make_node("Pick", ["x", "i"], ["y"], domain="my")
    model = onnx_model([call], opsets=[helper.make_opsetid("my", 1)], functions=[function])

    (read_node,) = reread(model, path).nodes

    assert (read_node.path, read_node.name) == (("my.Pick",), "c")
    assert str(read_node.op) == "onnx.Gather-11"


def test_a_parameter_of_a_function_leaves_the_axis_unknown(path: Path) -> None:
    node = helper.make_node("Gather", ["a", "b"], ["c"])
    node.attribute.append(
        onnx.AttributeProto(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="axis")
    )
    function = helper.make_function(
        "my", "Pick", ["a", "b"], ["c"], [node], [helper.make_opsetid("", 17)], ["axis"]
    )

    (read_node,) = reread(onnx_model([], functions=[function]), path).nodes
    _, (finding,) = examined(read_node)

    assert read_node.attributes == {"axis": "unknown"}
    assert judge(read_node).word == "not read"
    assert (finding.rule, finding.level) == ("unread", "note")


def test_a_node_of_another_domain_is_none_of_the_family(path: Path) -> None:
    node = helper.make_node("Gather", ["a", "b"], ["c"], domain="com.example")

    assert not reread(onnx_model([node]), path).nodes


CHAINS: Final = {
    "Identity": ([helper.make_node("Identity", ["k"], ["i"])], [0, 10], "i64[2]"),
    "Cast": ([helper.make_node("Cast", ["k"], ["i"], to=INT32)], [0, 10], "i32[2]"),
    "Cast of a float": (
        [
            helper.make_node("Cast", ["k"], ["f"], to=FLOAT),
            helper.make_node("Cast", ["f"], ["i"], to=INT64),
        ],
        [0, 10],
        "i64[2]",
    ),
    "Unsqueeze": ([helper.make_node("Unsqueeze", ["k", "zero"], ["i"])], [[0, 10]], "i64[1,2]"),
    "Squeeze": (
        [
            helper.make_node("Unsqueeze", ["k", "zero"], ["u"]),
            helper.make_node("Squeeze", ["u"], ["i"]),
        ],
        [0, 10],
        "i64[2]",
    ),
    "Reshape": ([helper.make_node("Reshape", ["k", "shape"], ["i"])], [[0], [10]], "i64[2,1]"),
    "Constant": ([helper.make_node("Constant", [], ["i"], value_ints=[0, 10])], [0, 10], "i64[2]"),
    "Constant of a tensor": (
        [helper.make_node("Constant", [], ["i"], value=numpy_helper.from_array(np.array([0, 10])))],
        [0, 10],
        "i64[2]",
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_constants_are_followed(path: Path, name: str) -> None:
    nodes, values, operand = CHAINS[name]
    gather = helper.make_node("Gather", ["x", "i"], ["y"])
    model = onnx_model(
        [*nodes, gather],
        [value("x", FLOAT, [10, 3])],
        tensors=constants(k=[0, 10], zero=[0], shape=[-1, 1]),
    )

    (node,) = reread(model, path).nodes
    verdict = judge(node)

    constant = node.inputs[1].constant
    assert constant is not None
    assert constant.tensor().array.tolist() == values
    assert str(node.inputs[1].operand) == operand
    assert verdict.error is not None
    assert verdict.error.message.startswith("index 10 at ")


@pytest.mark.parametrize(
    ("shape", "opset", "indices", "message"),
    [
        ((10, 3), 13, [0, 10], "whose size is 10: expected -10 to 9 (1 of 2 indices)"),
        ((10, 3), 10, [-1], "whose size is 10: expected 0 to 9 (1 of 1 index)"),
        (("N", 3), 10, [-1], "whose size is not known: expected 0 or more (1 of 1 index)"),
        (None, 10, [-1], "whose size is not known: expected 0 or more (1 of 1 index)"),
        (("N", 3), 13, [-1], None),
        (None, 13, [9999], None),
        ((0, 3), 13, [0], "whose size is 0: expected no index at all"),
    ],
)
def test_constant_indices_are_checked_as_far_as_the_size_is_known(
    path: Path, shape: Any, opset: int, indices: list[int], message: str | None
) -> None:
    (node,) = reread(one_gather(data=shape, indices=indices, opset=opset), path).nodes

    verdict = judge(node)

    if message is None:
        assert (verdict.error, verdict.checked) == (None, ("indices",))
    else:
        assert verdict.error is not None
        assert verdict.error.rule == "index-range"
        assert message in verdict.error.message


def test_constant_tuples_are_checked_by_component(path: Path) -> None:
    (node,) = reread(one_gather("GatherND", (3, "M"), [[0, 7], [3, 0]]), path).nodes

    verdict = judge(node)

    assert verdict.error is not None
    assert "index 3 at `[1,0]` is outside axis 0" in verdict.error.message


@pytest.mark.parametrize(
    ("attributes", "operator", "rule"),
    [
        ({"axis": 2}, "Gather", "axis-range"),
        ({"axis": 1.5}, "Gather", "axis-type"),
        ({"batch_dims": 9}, "GatherND", "batch-dims-range"),
        ({"batch_dims": 1}, "Gather", "batch-dims-unsupported"),
    ],
)
def test_attributes_are_judged(
    path: Path, attributes: dict[str, Any], operator: str, rule: str
) -> None:
    (node,) = reread(one_gather(operator, indices=[[0]], **attributes), path).nodes

    error = judge(node).error

    assert error is not None
    assert error.rule == rule


def test_attributes_of_every_kind_are_listed_as_text(path: Path) -> None:
    tensor = numpy_helper.from_array(np.array([1]))
    model = one_gather(axis=float("nan"), mode="fast", t=tensor, some=[1, 2], real=[0.5])
    listed = reread(model, path)

    line = model_json(listed, map(judge, listed.nodes), tensors=True)

    assert line["nodes"][0]["attributes"] == {
        "axis": "nan",
        "mode": "fast",
        "t": "a tensor of shape [1]",
        "some": [1, 2],
        "real": "None",
    }


def test_a_node_that_lacks_an_input_is_refused(path: Path) -> None:
    model = onnx_model([helper.make_node("Gather", ["x"], ["y"])])

    error = judge(reread(model, path).nodes[0]).error

    assert error is not None
    assert error.message == "it has 1 input: expected `data` and `indices`"


def test_a_sequence_is_no_data(path: Path) -> None:
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    node = helper.make_node("Gather", ["x", "i"], ["y"])
    model = onnx_model([node], [sequence, value("i", INT64, [1])])

    error = judge(reread(model, path).nodes[0]).error

    assert error is not None
    assert error.rule == "data-dtype"


STORED: Final = [
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.INT8,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.UINT8,
    TensorProto.UINT32,
    TensorProto.UINT64,
    TensorProto.BOOL,
    TensorProto.COMPLEX64,
    TensorProto.COMPLEX128,
    TensorProto.FLOAT8E5M2,
    TensorProto.INT4,
    TensorProto.UINT4,
    TensorProto.FLOAT4E2M1,
]


@pytest.mark.parametrize("raw", [False, True], ids=["fields", "raw"])
@pytest.mark.parametrize("kind", STORED, ids=TensorProto.DataType.Name)
def test_initializers_of_every_type_are_read(path: Path, kind: int, raw: bool) -> None:
    numbers = np.array([[0, 1, 1], [1, 0, 1]])
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    values = numbers.astype(dtype)
    tensor = (
        numpy_helper.from_array(values, "t")
        if raw
        else helper.make_tensor("t", kind, [2, 3], values.reshape(-1).tolist())
    )

    model = reread(onnx_model([], tensors=[tensor]), path)

    array = model.tensors["t"].tensor().values()
    assert array.astype(np.complex128).tolist() == numbers.tolist()


def test_large_numbers_of_every_sign_are_decoded(path: Path) -> None:
    numbers = [0, 1, -1, 2**63 - 1, -(2**63), 127, 128, 300]
    tensor = helper.make_tensor("t", INT64, [8], numbers)

    model = reread(onnx_model([], tensors=[tensor]), path)

    assert model.tensors["t"].tensor().array.tolist() == numbers


@pytest.mark.parametrize("block", [10, 11, 1000])
def test_numbers_are_decoded_in_blocks(
    path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(tensorproto, "_VARINT_BLOCK", block)
    numbers = [(-1) ** n * (3**n % 2**63) for n in range(200)]

    tensor = helper.make_tensor("t", INT64, [200], numbers)

    model = reread(onnx_model([], tensors=[tensor]), path)

    assert model.tensors["t"].tensor().array.tolist() == numbers


def test_strings_are_decoded(path: Path) -> None:
    tensor = numpy_helper.from_array(np.array(["a", "é"], object), "t")

    model = reread(onnx_model([], tensors=[tensor]), path)

    assert model.tensors["t"].tensor().array.tolist() == ["a", "é"]


def test_raw_elements_are_a_view_of_the_file(path: Path) -> None:
    array = np.arange(1 << 16, dtype=np.float32)

    model = reread(onnx_model([], tensors=constants(w=array)), path)
    tensor = model.tensors["w"].tensor()

    np.testing.assert_array_equal(tensor.array, array)
    assert not tensor.array.flags.owndata
    assert not tensor.array.flags.writeable


def external(path: Path, location: str, **settings: int) -> Model:
    """Read a model whose indices are in another file."""
    model = one_gather(indices=[0, 10])
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    for key, number in settings.items():
        tensor.external_data.add(key=key, value=str(number))
    return reread(model, path, external=True)


def test_external_data_are_read_by_option_from_beside_the_model(path: Path) -> None:
    (path.parent / "w.bin").write_bytes(b"....." + np.array([0, 10]).tobytes())

    model = external(path, "w.bin", offset=5, length=16)

    assert model.tensors["indices"].tensor().array.tolist() == [0, 10]
    closed = read(str(path))
    assert closed.notes == [
        "some indices are in another file, which is read only with `--external-data`"
    ]
    assert closed.tensors["indices"].unread
    assert judge(closed.nodes[0]).checked == ()
    with pytest.raises(InputError, match="in another file, which is not opened"):
        closed.tensors["indices"].tensor()


@pytest.mark.parametrize("location", ["/etc/passwd", "../w.bin", "a/../w.bin", "", ".", "a\\b"])
def test_external_data_elsewhere_are_refused(path: Path, location: str) -> None:
    with pytest.raises(GatherError, match="expected a file beside the model"):
        external(path, location)


def test_external_data_behind_a_link_are_refused(path: Path) -> None:
    (path.parent / "real.bin").write_bytes(bytes(16))
    (path.parent / "link.bin").symlink_to("real.bin")
    (path.parent / "folder").mkdir()
    (path.parent / "there").symlink_to("folder")
    (path.parent / "folder" / "w.bin").write_bytes(bytes(16))
    os.mkfifo(path.parent / "pipe")

    for location in ("link.bin", "there/w.bin", "pipe", "folder", "absent"):
        with pytest.raises(GatherError):
            external(path, location)
    assert external(path, "folder/w.bin").tensors["indices"].tensor().array.tolist() == [0, 0]


def test_external_data_beyond_the_file_are_refused(path: Path) -> None:
    (path.parent / "w.bin").write_bytes(bytes(16))

    with pytest.raises(InputError, match="at bytes 8 to 24 of a file of 16"):
        external(path, "w.bin", offset=8)


def test_the_package_infers_what_is_not_declared(path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["w", "x"], ["h"]),
        helper.make_node("Gather", ["h", "i"], ["y"], axis=1),
    ]
    model = onnx_model(
        nodes,
        [value("x", FLOAT, [64, 3])],
        tensors=constants(w=np.zeros((500, 64), np.float32), i=[3]),
    )

    plain, inferred = reread(model, path), reread(model, path, infer=True)

    assert judge(plain.nodes[0]).word == "at run time"
    assert str(inferred.nodes[0].inputs[0].operand) == "f32[500,3]"
    assert judge(inferred.nodes[0]).word == "refused"


def test_a_model_on_which_the_package_fails_is_read_with_a_note(path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x"], ["h"], kernel_shape=[-1]),
        helper.make_node("Gather", ["h", "i"], ["y"]),
    ]
    model = onnx_model(nodes, [value("x", FLOAT, [1])])
    model.ClearField("opset_import")
    model.ir_version = 2  # which has none

    result = reread(model, path, infer=True)

    assert len(result.nodes) == 1
    assert result.notes == ["onnx's shape inference failed, so some shapes are not known"]
