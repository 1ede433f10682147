"""The nodes of OpenVINO IRs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.errors import GatherError, InputError, NoInputError
from gathercli.models.files import ReadOptions, read
from gathercli.models.verdict import judge
from tests.modelfiles import Ir, tour_ir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gathercli.models.graph import Model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.xml"


def reread(ir: Ir, path: Path) -> Model:
    """Write a model and read it."""
    return read(str(ir.save(path)))


def gather(  # noqa: PLR0917
    ir: Ir,
    data: str,
    indices: str,
    name: str = "pick",
    axis: Any = 0,
    opset: str = "opset8",
    shape: tuple[int, ...] = (),
) -> str:
    """Add a Gather with a constant axis."""
    along = ir.constant(f"{name}/axis", np.array(axis, np.int32))
    return ir.layer(name, "Gather", [data, indices, along], "f32", shape, opset=opset)


@pytest.mark.parametrize("version", [10, 11])
def test_the_layers_of_both_versions_are_read(path: Path, version: int) -> None:
    ir = tour_ir()
    ir.version = version

    model = reread(ir, path)

    assert (model.format, model.version, model.number) == ("openvino", version, 11)
    assert [each.name for each in model.nodes] == [
        "/words/Gather",
        "/positions/Gather",
        "/start/Gather",
    ]
    assert [judge(each).word for each in model.nodes] == ["at run time", "fills", "at run time"]


@pytest.mark.parametrize("version", [7, 9, 12])
def test_other_versions_are_refused(path: Path, version: int) -> None:
    ir = Ir(version)

    with pytest.raises(InputError, match=f"version {version}: expected 10 or 11"):
        reread(ir, path)


@pytest.mark.parametrize(
    ("opset", "row", "word"),
    [("opset1", 1, "refused"), ("opset7", 7, "refused"), ("opset13", 8, "proven")],
)
def test_the_opset_of_a_layer_decides_its_row(path: Path, opset: str, row: int, word: str) -> None:
    ir = Ir()
    data, indices = ir.parameter("x", "f32", [4, 2]), ir.constant("i", np.array([-1]))
    gather(ir, data, indices, opset=opset, shape=(1, 2))

    (node,) = reread(ir, path).nodes

    assert str(node.op) == f"openvino.Gather-{row}"
    assert judge(node).word == word


def test_a_layer_of_an_extension_is_none_of_the_family(path: Path) -> None:
    ir = Ir()
    data, indices = ir.parameter("x", "f32", [4, 2]), ir.constant("i", np.array([0]))
    gather(ir, data, indices, opset="extension")

    assert not reread(ir, path).nodes


def test_every_operator_of_the_family_has_its_inputs(path: Path) -> None:
    ir = Ir()
    x, i = ir.parameter("x", "f32", [4, 2]), ir.parameter("i", "i64", [3, 2])
    ir.layer("e", "GatherElements", [x, i], "f32", [3, 2], opset="opset6", axis=0)
    ir.layer("n", "GatherND", [x, i], "f32", [3], batch_dims=0)
    steps = [ir.parameter(name, "i32", [5, 1, 2]) for name in ("s", "p")]
    rest = [ir.parameter("m", "i32", [1]), ir.parameter("t", "i32", [])]
    ir.layer("t0", "GatherTree", steps + rest, "i32", [5, 1, 2], opset="opset1")

    nodes = reread(ir, path).nodes

    assert [str(each.op) for each in nodes] == [
        "openvino.GatherElements-6",
        "openvino.GatherND-8",
        "openvino.GatherTree-1",
    ]
    assert [str(value.operand) for value in nodes[2].inputs] == [
        "i32[5,1,2]",
        "i32[5,1,2]",
        "i32[1]",
        "i32[]",
    ]
    assert [judge(each).word for each in nodes] == ["at run time"] * 3


def test_a_parameter_tells_intervals_and_an_unknown_rank_from_a_scalar(path: Path) -> None:
    ir = Ir()
    data = ir.parameter("x", "f32", [-1, -1], "2..5,?")
    indices = ir.parameter("i", "i64", [], "...")
    gather(ir, data, indices)

    (node,) = reread(ir, path).nodes

    assert [str(value.operand) for value in node.inputs] == ["f32[2..5,?]", "i64[...]", "i32[]"]


def test_an_index_beyond_the_largest_size_is_refused(path: Path) -> None:
    ir = Ir()
    data = ir.parameter("x", "f32", [-1, 2], "2..5,2")
    gather(ir, data, ir.constant("i", np.array([5])), opset="opset7")

    error = judge(reread(ir, path).nodes[0]).error

    assert error is not None
    assert "axis 0 of `data`, whose size is at most 5: expected 0 to 4" in error.message


@pytest.mark.parametrize("axis", [1, [1], -1])
def test_a_constant_axis_is_an_attribute(path: Path, axis: Any) -> None:
    ir = Ir()
    data, indices = ir.parameter("x", "f32", [4, 2]), ir.constant("i", np.array([0]))
    gather(ir, data, indices, axis=axis)

    (node,) = reread(ir, path).nodes

    assert node.attributes == {"axis": np.ravel(axis)[0]}
    assert str(judge(node).shape) == "[4,1]"


def test_an_axis_that_comes_at_run_time_is_unknown(path: Path) -> None:
    ir = Ir()
    inputs = [
        ir.parameter("x", "f32", [4, 2]),
        ir.parameter("i", "i64", [3]),
        ir.parameter("a", "i32", []),
    ]
    ir.layer("pick", "Gather", inputs, "f32", [-1, -1], batch_dims=0)

    (node,) = reread(ir, path).nodes

    assert node.attributes == {"batch_dims": 0, "axis": "unknown"}
    assert judge(node).word == "at run time"


@pytest.mark.parametrize("axis", [[0, 1], [[0]]])
def test_an_axis_of_two_elements_or_two_dimensions_is_refused(path: Path, axis: Any) -> None:
    ir = Ir()
    gather(ir, ir.parameter("x", "f32", [4, 2]), ir.constant("i", np.array([0])), axis=axis)

    error = judge(reread(ir, path).nodes[0]).error

    assert error is not None
    assert error.rule == "axis-type"


def test_constants_are_followed_through_layers(path: Path) -> None:
    ir = Ir()
    data = ir.parameter("x", "f32", [4, 2])
    stored = ir.constant("k", np.array([0, 9], np.int32))
    wide = ir.layer("c", "Convert", [stored], "i64", [2], opset="opset1", destination_type="i64")
    axes = ir.constant("axes", np.array([0]))
    deep = ir.layer("u", "Unsqueeze", [wide, axes], "i64", [1, 2], opset="opset1")
    target = ir.constant("target", np.array([2, 0]))
    flat = ir.layer("r", "Reshape", [deep, target], "i64", [2, 1], opset="opset1")
    gather(ir, data, flat, opset="opset7")

    error = judge(reread(ir, path).nodes[0]).error

    assert error is None or "index 9" in error.message


def inner(shape: tuple[int, ...]) -> str:
    """Return the body of a layer: a Gather of its input, with ids of its own."""
    ir = Ir()
    data = ir.parameter("in", "f32", shape)
    indices, axis = ir.stored_outside("i", (1,)), ir.stored_outside("a", (1,))
    ir.layer("inner", "Gather", [data, indices, axis], "f32", [1, 2])
    return ir.body


def test_bodies_have_ids_and_names_of_their_own(path: Path) -> None:
    ir = Ir()
    ir.constant("zero", np.array([0]))
    data = ir.parameter("x", "f32", [4, 2])
    condition = ir.parameter("c", "boolean", [])
    branches = "".join(f"<{name}>{inner((4, 2))}</{name}>" for name in ("then_body", "else_body"))
    ir.layer("if", "If", [condition, data], "f32", [1, 2], body=branches)
    loop = f"<port_map><input/></port_map><body>{inner((1, 2))}</body>"
    ir.layer("loop", "Loop", [data], "f32", [1, 2], opset="opset5", body=loop)
    nested = f"<body>{inner((1, 2))}</body>"
    ir.layer("ti", "TensorIterator", [data], "f32", [1, 2], opset="opset1", body=nested)
    gather(ir, data, "zero", name="outer")

    model = reread(ir, path)

    assert [(each.path, each.name) for each in model.nodes] == [
        ((), "outer"),
        (("if", "then_body"), "if/then_body/inner"),
        (("if", "else_body"), "if/else_body/inner"),
        (("loop", "body"), "loop/body/inner"),
        (("ti", "body"), "ti/body/inner"),
    ]
    assert [str(each.inputs[0].shape) for each in model.nodes] == [
        "[4,2]",
        "[4,2]",
        "[4,2]",
        "[1,2]",
        "[1,2]",
    ]


@pytest.mark.parametrize(
    ("more", "edge", "is_constant"),
    [("", "", True), (' axis="0"', "", False), ("", '<edge from-layer="3" to-layer="1"/>', False)],
    ids=["captured", "sliced", "carried"],
)
def test_a_constant_outside_a_body_is_followed_unless_iterations_change_it(
    path: Path, more: str, edge: str, is_constant: bool
) -> None:
    body = Ir()
    data, indices = body.parameter("d", "f32", [4, 2]), body.parameter("k", "i64", [2])
    axis = body.stored_outside("a", ())
    body.layer("inner", "Gather", [data, indices, axis], "f32", [2, 2])
    ir = Ir()
    ir.constant("zero", np.array(0))
    stored = ir.constant("stored", np.array([0, 9], np.int32))
    wide = ir.layer("wide", "Convert", [stored], "i64", [2], destination_type="i64")
    outer = ir.parameter("x", "f32", [4, 2])
    ports = "".join(
        f'<input external_port_id="{at}" internal_layer_id="{at}"{more}/>' for at in (0, 1)
    )
    loop = f"<port_map>{ports}</port_map><back_edges>{edge}</back_edges><body>{body.body}</body>"
    ir.layer("loop", "Loop", [outer, wide], "f32", [2, 2], opset="opset5", body=loop)

    (node,) = reread(ir, path).nodes
    verdict = judge(node)

    assert (node.inputs[1].constant is not None) == is_constant
    assert (verdict.word == "fills") == is_constant


def test_constants_are_views_of_the_bin(path: Path) -> None:
    ir = Ir()
    array = np.arange(1 << 15, dtype=np.float32)
    ir.constant("w", array)

    tensor = reread(ir, path).tensors["w"].tensor()

    np.testing.assert_array_equal(tensor.array, array)
    assert not tensor.array.flags.owndata


def test_without_its_bin_a_model_is_read_and_its_constants_are_not(path: Path) -> None:
    tour_ir().save(path)
    path.with_suffix(".bin").unlink()

    model = read(str(path))

    assert model.notes == [f"there is no `{path.with_suffix('.bin')}`, so no constant was read"]
    assert judge(model.nodes[1]).checked == ()
    with pytest.raises(InputError, match=r"in the \.bin, which is missing"):
        model.tensors["rows"].tensor()


def a_link(weights: Path) -> None:
    weights.rename(weights.with_name("blob"))
    weights.symlink_to("blob")


def a_link_away(weights: Path) -> None:
    weights.unlink()
    weights.symlink_to("/etc/passwd")


def a_link_to_nothing(weights: Path) -> None:
    weights.unlink()
    weights.symlink_to("nothing")


def a_pipe(weights: Path) -> None:
    weights.unlink()
    os.mkfifo(weights)


def a_folder(weights: Path) -> None:
    weights.unlink()
    weights.mkdir()


@pytest.mark.parametrize(
    ("put", "kind"),
    [
        (a_link, "a link"),
        (a_link_away, "a link"),
        (a_link_to_nothing, "a link"),
        (a_pipe, "no regular file"),
        (a_folder, "no regular file"),
    ],
)
def test_a_bin_that_is_no_regular_file_is_not_opened(
    path: Path, put: Callable[[Path], None], kind: str
) -> None:
    tour_ir().save(path)
    put(path.with_suffix(".bin"))

    with pytest.raises(NoInputError) as refusal:
        read(str(path))

    what = f"`{path.stem}.bin` is {kind}: expected a regular file beside the model"
    assert refusal.value.message.endswith(f": {what}")


@pytest.mark.parametrize("put", [a_link_away, a_pipe])
def test_a_bin_that_is_replaced_after_the_check_is_refused_without_waiting(
    path: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], None]
) -> None:
    tour_ir().save(path)
    weights = path.with_suffix(".bin")
    opened = os.open

    def swapped(name: Any, *args: Any, **options: Any) -> int:
        if str(name) == weights.name:
            put(weights)
        return opened(name, *args, **options)

    monkeypatch.setattr(os, "open", swapped)

    with pytest.raises(NoInputError, match=r"expected a re(gular|adable) file"):
        read(str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('offset="96" size="32"', 'offset="960" size="32"', "but the .bin has only 144 bytes"),
        ('offset="96" size="32"', 'offset="96" size="31"', "has 31 bytes of elements"),
        ('offset="96" size="32"', 'offset="-1" size="32"', "its offset is `-1`"),
        ('offset="96" size="32"', 'offset="9999999999999999999999"', "its offset is"),
        ('shape="4" offset', 'shape="4,?" offset', "its shape is `4,?`"),
        ('element_type="i64" shape="4"', 'element_type="u1" shape="4"', "its type is `u1`"),
        ("<net ", "<!DOCTYPE net><net ", "has a DOCTYPE"),
        ("<net ", '<!DOCTYPE n [<!ENTITY a "b">]><net ', "has a DOCTYPE"),
        ("</net>", "", "the file is truncated: it ends at byte"),
        ('id="1"', 'id="0"', "two layers have the id `0`"),
        ('from-layer="0"', 'from-layer="99"', "names the layer `99`"),
        ("<dim>-1</dim><dim>4</dim>", "<dim>six</dim>", "a dimension is `six`"),
        ('shape="?,?"', f'shape="{"?," * 99}"', "has 100 dimensions"),
    ],
)
def test_a_malformed_model_has_one_clear_error(
    path: Path, old: str, new: str, message: str
) -> None:
    text = tour_ir().save(path).read_text(encoding="utf-8")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(GatherError) as raised:
        read(str(path))

    assert message in raised.value.message
    assert raised.value.message.startswith(str(path))


def test_layers_in_a_cycle_are_refused(path: Path) -> None:
    ir = Ir()
    data = ir.parameter("x", "f32", [2])
    ir.layer("a", "Convert", [data], "f32", [2], destination_type="f32")
    ir.layer("b", "Convert", ["a"], "f32", [2], destination_type="f32")
    gather(ir, data, "b")
    ir._edges[0] = '<edge from-layer="2" from-port="1" to-layer="1" to-port="0"/>'

    with pytest.raises(InputError, match="form a cycle"):
        reread(ir, path)


OUTPUT: str = '<port id="3" precision="FP32"><dim>2</dim></port></output>'
AXIS_EDGE: str = '<edge from-layer="2" from-port="0" to-layer="3" to-port="2"/>'


@pytest.mark.parametrize(
    ("old", "new", "rule", "message"),
    [
        (AXIS_EDGE, "", "inputs", "`axis` has no edge: expected one that leads to it"),
        (
            'from-layer="1" from-port="0"',
            'from-layer="1" from-port="7"',
            "undefined",
            "`indices` comes from the port `7` of `i`: expected an output port of the layer",
        ),
        (
            "</edges>",
            '<edge from-layer="0" from-port="0" to-layer="3" to-port="9"/></edges>',
            "inputs",
            "an edge leads to the input port `9`: expected an input port of the layer",
        ),
        (
            '<port id="2" precision="I32"></port></input>',
            '<port id="1" precision="I32"></port></input>',
            "inputs",
            "it has the input port `1` more than once: expected each once",
        ),
        (
            OUTPUT,
            OUTPUT.replace("</output>", '<port id="4" precision="FP32"/></output>'),
            "outputs",
            "it has 2 outputs: expected one",
        ),
        (f"<output>{OUTPUT}", "", "outputs", "it has no output: expected one"),
        (
            'batch_dims="0"',
            'batch_dims="1.0"',
            "batch-dims-range",
            "`batch_dims` is `1.0`: expected one integer",
        ),
        (
            'batch_dims="0"',
            'batch_dims=""',
            "batch-dims-range",
            "`batch_dims` is ``: expected one integer",
        ),
    ],
)
def test_what_is_missing_or_malformed_of_a_layer_refuses_it(
    path: Path, old: str, new: str, rule: str, message: str
) -> None:
    ir = Ir()
    data, indices = ir.parameter("data", "f32", [9]), ir.parameter("i", "i64", [2])
    along = ir.constant("axis", np.array(0, np.int32))
    ir.layer("pick", "Gather", [data, indices, along], "f32", [2], batch_dims=0)
    text = ir.save(path).read_text()
    assert old in text
    path.write_text(text.replace(old, new))

    verdict = judge(read(str(path)).nodes[0])

    assert verdict.word == "refused"
    assert verdict.error is not None
    assert (verdict.error.rule, verdict.error.message) == (rule, message)


@pytest.mark.parametrize("opset", ["opset1", "opset7", "opset8"])
def test_no_axis_is_made_up(path: Path, opset: str) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [9]), ir.constant("i", np.array([0]))]
    ir.layer("pick", "Gather", inputs, "f32", [1], opset=opset)

    (node,) = reread(ir, path).nodes

    assert node.attributes["axis"] == "unknown"
    error = judge(node).error
    assert error is not None
    assert error.message == "it has 2 inputs: expected `data`, `indices` and `axis`"


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("f32", [], "`axis` is float32: expected an integer type"),
        ("i64", [2], "`axis` has the shape [2]: expected one integer"),
        ("i64", [1, 1], "`axis` has the shape [1,1]: expected one integer"),
    ],
)
def test_an_axis_at_run_time_is_one_integer(
    path: Path, kind: str, shape: list[int], message: str
) -> None:
    ir = Ir()
    inputs = [ir.parameter("data", "f32", [9]), ir.constant("i", np.array([0]))]
    inputs.append(ir.parameter("axis", kind, shape))
    ir.layer("pick", "Gather", inputs, "f32", [1])

    error = judge(reread(ir, path).nodes[0]).error

    assert error is not None
    assert (error.rule, error.message) == ("axis-type", message)


def test_the_model_of_the_tour_is_that_of_the_tests() -> None:
    from tests.modelfiles import TOUR, tour_onnx

    assert (TOUR / "encoder.xml").read_text(encoding="utf-8") == tour_ir().text
    assert (TOUR / "encoder.bin").read_bytes() == tour_ir().weights
    assert (TOUR / "encoder.onnx").read_bytes() == tour_onnx().SerializeToString(deterministic=True)


def on_merged_axes(*, factor: int | None = None, converts: int = 1, natural: bool = False) -> Ir:
    """Return x[i, j] of x f32[4,3,2] as a converter writes it, of merged axes and i * n + j."""
    ir = Ir()
    x = ir.parameter("x", "f32", [4, 3, 2])
    i, j = (ir.parameter(name, "i64", [5]) for name in "ij")
    sizes = ir.layer("sizes", "ShapeOf", [x], "i64", [3])
    n = gather(ir, sizes, ir.constant("one", np.array([1])), "size", shape=(1,))
    if factor is not None:
        n = ir.constant("factor", np.array([factor]))
    if natural:
        j = ir.layer("natural", "Clamp", [j], "i64", [5], min=0, max=2)
    for number in range(converts):
        j = ir.layer(f"convert{number}", "Convert", [j], "i64", [5], destination_type="i64")
    row = ir.layer("row", "Multiply", [i, n], "i64", [5])
    at = ir.layer("at", "Add", [j, row], "i64", [5])
    whole = ir.constant("whole", np.array([12, 2]))
    flat = ir.layer("flat", "Reshape", [x, whole], "f32", [12, 2], special_zero="false")
    ir.result(gather(ir, flat, at, shape=(5, 2)))
    return ir


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({}, ("j",)),
        ({"factor": 3}, ("j",)),
        ({"factor": 5}, ()),
        ({"converts": 0}, ("j",)),
        ({"natural": True}, ()),
    ],
)
def test_an_index_on_merged_axes_is_known_by_its_layers(
    path: Path, fields: dict[str, Any], names: tuple[str, ...]
) -> None:
    ir = on_merged_axes(**fields)

    model = read(str(ir.save(path)), ReadOptions(infer=True))

    assert model.nodes[-1].merged_indices == names
