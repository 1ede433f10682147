"""What follows from the constants of a model: in its graph, in bodies, in functions, and in IR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
import pytest
from onnx import helper

from campaigns.scopes import scope
from gathercli.models.evaluation import Evaluation
from gathercli.models.files import ReadOptions, read
from gathercli.models.lint import examined
from gathercli.models.verdict import judge
from tests.modelfiles import BOOL, FLOAT, INT64, Ir, constants, onnx_model, value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gathercli.models.graph import Model
    from gathercli.models.verdict import NodeVerdict

make = helper.make_node
PICK_D: Final = make("Gather", ["d", "i"], ["y"], name="pick")
PICK: Final = make("Gather", ["x", "i"], ["y"], name="pick")
"""The node that is judged: x has five rows."""


def judged(
    tmp_path: Path,
    nodes: Sequence[onnx.NodeProto],
    functions: Sequence[onnx.FunctionProto] = (),
    opset: int = 17,
    **tensors: Any,
) -> list[NodeVerdict]:
    """Return the verdicts on the nodes of a model with the inputs x, n, c and m."""
    inputs = [
        value("x", FLOAT, [5, 4]),
        value("n", INT64, [3]),
        value("c", BOOL, []),
        value("m", INT64, []),
    ]
    opsets = [helper.make_opsetid("f", 1)]
    model = onnx_model(
        nodes,
        inputs,
        [value("y", FLOAT, None)],
        constants(**tensors),
        functions=functions,
        opset=opset,
        opsets=opsets,
    )
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    return [judge(each) for each in read(str(tmp_path / "m.onnx"), ReadOptions(infer=True)).nodes]


SPARSE: Final = helper.make_sparse_tensor(constants(values=[9])[0], constants(places=[[1]])[0], [3])

CONSTANT: Final[dict[str, tuple[list[onnx.NodeProto], dict[str, Any], str]]] = {
    "Concat": ([make("Concat", ["a", "b"], ["i"], axis=0)], {"a": [1], "b": [7]}, "7 at `[1]`"),
    "Slice": (
        [make("Slice", ["a", "b", "d"], ["i"])],
        {"a": [1, 9, 3], "b": [1], "d": [2]},
        "9 at `[0]`",
    ),
    "Range": ([make("Range", ["a", "b", "d"], ["i"])], {"a": 0, "b": 9, "d": 2}, "6 at `[3]`"),
    "Where": ([make("Where", ["w", "a", "b"], ["i"])], {"w": [True], "a": [6], "b": [0]}, "6 at"),
    "Shape": ([make("Shape", ["x"], ["i"])], {}, "5 at `[0]`"),
    "OneHot of a depth in a list": (
        [make("OneHot", ["a", "b", "d"], ["i"])],
        {"a": [1], "b": [3], "d": [0, 5]},
        "5 at `[0,1]`",
    ),
    "values in the order of a Unique": (
        [make("Unique", ["a"], ["u"], sorted=0), make("Slice", ["u", "b", "d"], ["i"])],
        {"a": [[3, 9, 3, 1]], "b": [1], "d": [2]},
        "9 at `[0]`",
    ),
    "positions of a Unique": (
        [make("Unique", ["a"], ["", "", "i"], sorted=0)],
        {"a": [[7, 6], [5, 4], [3, 6], [2, 7]]},
        "5 at `[6]`",
    ),
    "CastLike": (
        [make("CastLike", ["a", "n"], ["i"])],
        {"a": np.array([5], np.int32)},
        "5 at `[0]`",
    ),
    "ConstantOfShape": (
        [make("ConstantOfShape", ["a"], ["i"], value=constants(v=[9])[0])],
        {"a": [2]},
        "9 at `[0]`",
    ),
    "a sparse constant": ([make("Constant", [], ["i"], sparse_value=SPARSE)], {}, "9 at `[1]`"),
    "a sparse tensor behind a product": (
        [make("Constant", [], ["s"], sparse_value=SPARSE), make("Mul", ["s", "a"], ["i"])],
        {"a": 2},
        "18 at `[1]`",
    ),
    "bounds outside": ([make("Clip", ["n", "a", "b"], ["i"])], {"a": 9, "b": 14}, "9 to 14"),
}


@pytest.mark.parametrize("name", CONSTANT)
def test_an_index_that_constants_decide_is_refused(tmp_path: Path, name: str) -> None:
    nodes, tensors, index = CONSTANT[name]

    (verdict,) = judged(tmp_path, [*nodes, PICK], **tensors)

    assert verdict.word == "refused"
    assert index in str(verdict.error)


@pytest.mark.parametrize(
    ("nodes", "tensors", "word"),
    [
        ([make("ArgMax", ["x"], ["i"], axis=0)], {}, "proven"),
        ([make("Mod", ["n", "a"], ["i"])], {"a": 5}, "proven"),
        ([make("Mod", ["n", "a"], ["i"])], {"a": 6}, "at run time"),
        ([make("Clip", ["n", "a", "b"], ["i"])], {"a": -5, "b": 4}, "proven"),
        ([make("Identity", ["n"], ["i"])], {}, "at run time"),
        ([make("Clip", ["n", "", "a"], ["i"])], {"a": -9}, "refused"),
        (
            [make("GatherElements", ["a", "b"], ["g"]), make("Mod", ["g", "d"], ["i"])],
            {"a": [0, 1], "b": [2**63 - 1], "d": 5},
            "proven",
        ),
        ([make("RandomUniformLike", ["n"], ["r"]), make("Cast", ["r"], ["i"], to=7)], {}, "at"),
        ([make("Range", ["a", "b", "d"], ["i"])], {"a": 0, "b": 2 * 10**9, "d": 1}, "at run time"),
    ],
)
def test_an_index_is_proven_by_its_bounds(
    tmp_path: Path, nodes: list[onnx.NodeProto], tensors: dict[str, Any], word: str
) -> None:
    *_, verdict = judged(tmp_path, [*nodes, PICK], **tensors)

    assert verdict.word.startswith(word)


def test_each_number_of_a_tuple_has_its_own_bounds(tmp_path: Path) -> None:
    nodes = [
        make("ArgMax", ["x"], ["j"], axis=1),
        make("Concat", ["k", "j"], ["i"], axis=1),
        make("GatherND", ["x", "i"], ["y"]),
    ]

    (verdict,) = judged(tmp_path, nodes, k=[[0], [1], [2], [3], [4]])

    assert verdict.word == "proven"


def test_the_default_of_an_input_is_no_constant_for_good(tmp_path: Path) -> None:
    inputs = [value("x", FLOAT, [5]), value("a", INT64, [1])]
    nodes = [make("Add", ["a", "a"], ["i"]), PICK]
    model = onnx_model(nodes, inputs, [value("y", FLOAT, None)], constants(a=[1]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    (node,) = read(str(tmp_path / "m.onnx"), ReadOptions(infer=True)).nodes

    constant = node.inputs[1].constant
    assert constant is not None
    assert constant.default
    assert judge(node).word == "at run time"


@pytest.mark.parametrize(
    ("operator", "rows", "index", "found"),
    [
        ("Relu", 9, 7, ("refused", ["value-shape", "index-range"])),
        ("Relu", 4, 4, ("proven", ["value-shape"])),
        ("Relu", 5, 4, ("proven", [])),
        ("Unheard", 5, 4, ("at run time", [])),
        ("Unheard", 5, 5, ("refused", ["index-range"])),
    ],
    ids=[
        "more rows than there are",
        "fewer rows than there are",
        "the rows that there are",
        "an operator of which nothing is known",
        "an index outside what is claimed",
    ],
)
def test_what_a_model_claims_of_an_intermediate_value_proves_nothing(
    tmp_path: Path, operator: str, rows: int, index: int, found: tuple[str, list[str]]
) -> None:
    domain = "" if operator == "Relu" else "example"
    nodes = [make(operator, ["x"], ["r"], domain=domain), make("Gather", ["r", "i"], ["y"])]
    inputs, outputs = [value("x", FLOAT, [5, 4])], [value("y", FLOAT, None)]
    opsets = [helper.make_opsetid("example", 1)]
    model = onnx_model(nodes, inputs, outputs, constants(i=[index]), opsets=opsets)
    model.graph.value_info.append(value("r", FLOAT, [rows, 4]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    (node,) = read(str(tmp_path / "m.onnx"), ReadOptions(infer=True)).nodes

    assert (judge(node).word, [each.rule for each in examined(node)[1]]) == found


def test_what_a_body_claims_of_its_inputs_proves_nothing(tmp_path: Path) -> None:
    steps = [make("Identity", ["on"], ["again"]), make("Identity", ["state"], ["kept"])]
    inputs = [value("at", INT64, []), value("on", BOOL, []), value("state", FLOAT, [9])]
    outputs = [value("again", BOOL, []), value("kept", FLOAT, None), value("picked", FLOAT, None)]
    pick = make("Gather", ["state", "index"], ["picked"])
    body = helper.make_graph([*steps, pick], "body", inputs, outputs, constants(index=7))
    loop = make("Loop", ["most", "c", "row"], ["last", "y"], body=body)
    nodes = [make("Squeeze", ["x", "ends"], ["row"]), loop]
    model = onnx_model(
        nodes,
        [value("x", FLOAT, [5, 1]), value("c", BOOL, [])],
        [value("y", FLOAT, None)],
        constants(most=2, ends=[1]),
    )
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    (node,) = read(str(tmp_path / "m.onnx"), ReadOptions(infer=True)).nodes

    assert judge(node).word != "proven"


def branch(name: str, first: onnx.NodeProto) -> onnx.GraphProto:
    """Return a body that gathers from a value `d` of its own."""
    pick = make("Gather", ["d", "i"], [name], name=name)
    return helper.make_graph([first, pick], name, [], [value(name, FLOAT, None)])


def test_two_branches_may_use_one_name_for_other_shapes(tmp_path: Path) -> None:
    node = make(
        "If",
        ["c"],
        ["y"],
        then_branch=branch("then", make("Transpose", ["x"], ["d"])),
        else_branch=branch("else", make("Relu", ["x"], ["d"])),
    )

    verdicts = judged(tmp_path, [node], i=[4])

    assert {each.node.name: each.word for each in verdicts} == {"then": "refused", "else": "proven"}


@pytest.mark.parametrize("is_inside", [False, True])
def test_an_if_has_no_shape_of_one_branch_alone(is_inside: bool, tmp_path: Path) -> None:
    def body(node: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph([node], "b", [], [value(node.output[0], FLOAT, None)])

    # Of axes in another order nothing is inferred before opset 10.
    other = body(make("Slice", ["x"], ["p"], starts=[0, 1], ends=[3, 3], axes=[1, 0]))
    one = body(make("Identity", ["x"], ["o"]))
    node = make("If", ["c"], ["d"], then_branch=one, else_branch=other)
    if is_inside:
        node.output[0] = "e"
        node = make("If", ["c"], ["d"], then_branch=body(node), else_branch=body(node))

    (verdict,) = judged(tmp_path, [node, PICK_D], opset=9, i=[4])

    assert verdict.word == "at run time"


def test_a_name_of_a_body_hides_that_around_it(tmp_path: Path) -> None:
    def named(name: str) -> onnx.GraphProto:
        return branch(name, make("Unheard", ["x"], ["d"], domain="f"))

    node = make("If", ["c"], ["y"], then_branch=named("then"), else_branch=named("else"))

    verdicts = judged(tmp_path, [make("Relu", ["x"], ["d"]), node], i=[400])

    assert [each.word for each in verdicts] == ["at run time"] * 2


LOOP: Final = helper.make_graph(
    [
        make("Gather", ["k", "t"], ["row"], name="rows"),
        make("Gather", ["x", "row"], ["out"], name="pick"),
        make("Identity", ["go"], ["on"]),
    ],
    "loop",
    [value("t", INT64, []), value("go", BOOL, [])],
    [value("on", BOOL, []), value("out", FLOAT, None)],
)


@pytest.mark.parametrize(
    ("trips", "words"),
    [
        (2, ["proven", "proven"]),
        (-1, ["at run time", "at run time"]),
        (3, ["proven", "refused"]),
        (5, ["refused", "refused"]),
        (None, ["at run time", "at run time"]),
        (1000, ["at run time", "at run time"]),
    ],
)
def test_each_iteration_of_a_loop_has_its_own_index(
    tmp_path: Path, trips: int | None, words: list[str]
) -> None:
    node = make("Loop", ["m" if trips is None else "trips", ""], ["y"], body=LOOP)
    tensors: dict[str, Any] = {} if trips is None else {"trips": trips}

    verdicts = judged(tmp_path, [node], k=[0, 1, 7], **tensors)

    assert [each.word for each in verdicts] == words


@pytest.mark.parametrize(("rows", "word"), [([[0], [8]], "refused"), ([[0], [4]], "proven")])
def test_each_row_of_a_scan_is_checked(tmp_path: Path, rows: Any, word: str) -> None:
    body = helper.make_graph(
        [make("Gather", ["x", "row"], ["out"])],
        "scan",
        [value("row", INT64, None)],
        [value("out", FLOAT, None)],
    )

    (verdict,) = judged(
        tmp_path, [make("Scan", ["rows"], ["y"], body=body, num_scan_inputs=1)], rows=rows
    )

    assert verdict.word == word


def function(*, axis: bool = False) -> onnx.FunctionProto:
    """Return a function of one Gather, of which the caller may choose the axis."""
    made = helper.make_function(
        "f",
        "F",
        ["p", "q"],
        ["r"],
        [make("Gather", ["p", "q"], ["r"])],
        [helper.make_opsetid("", 17)],
        ["axis"] if axis else [],
    )
    if axis:
        made.node[0].attribute.append(
            onnx.AttributeProto(name="axis", ref_attr_name="axis", type=onnx.AttributeProto.INT)
        )
    return made


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["four"], "proven"),
        (["five"], "refused"),
        (["four", "five"], "refused"),
        (["four", "n"], "at run time"),
        (["five", "n"], "refused"),
    ],
)
def test_every_call_of_a_function_is_looked_at(
    tmp_path: Path, arguments: list[str], word: str
) -> None:
    outputs = ["y", "z"]
    calls = [
        make("F", ["x", argument], [output], domain="f")
        for argument, output in zip(arguments, outputs, strict=False)
    ]

    (verdict,) = judged(tmp_path, calls, [function()], four=[4], five=[5])

    assert verdict.word == word


def test_a_function_has_the_attributes_of_its_call(tmp_path: Path) -> None:
    call = make("F", ["x", "four"], ["y"], domain="f", axis=1)

    (verdict,) = judged(tmp_path, [call], [function(axis=True)], four=[4])

    assert "outside axis 1" in str(verdict.error)


def test_a_model_with_too_many_steps_keeps_what_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    node = make("Loop", ["trips", ""], ["y"], body=LOOP)
    model = onnx_model([node], [value("x", FLOAT, [5])], [], constants(trips=60, k=[0, 1, 7]))
    monkeypatch.setattr("gathercli.models.onnx_nodes.MOST_STEPS", 20)
    whole = Evaluation(model)

    whole.plan()
    whole.run()

    assert whole.is_exhausted
    assert list(whole.facts) == [0]


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies_are_judged_as_they_run(seed: int) -> None:
    assert scope(seed)


def test_functions_that_call_themselves_end() -> None:
    recursive = helper.make_function(
        "f",
        "F",
        ["p", "q"],
        ["r"],
        [make("F", ["p", "q"], ["r"], domain="f")],
        [helper.make_opsetid("", 17)],
    )
    model = onnx_model([make("F", ["x", "x"], ["y"], domain="f")], functions=[recursive])
    whole = Evaluation(model)

    whole.plan()
    whole.run()

    assert whole.is_exhausted


INFERRED = ReadOptions(infer=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.xml"


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "word"),
    [
        ("Concat", [[1], [7]], {"axis": 0}, "fills"),
        ("Add", [[1], [3]], {}, "proven"),
        ("Subtract", [[1], [7]], {}, "fills"),
        ("Mod", [None, [5]], {}, "proven"),
        ("FloorMod", [None, [5]], {}, "proven"),
        ("FloorMod", [None, [6]], {}, "at run time"),
        ("Clamp", [None], {"min": "-5", "max": "4"}, "proven"),
        ("Clamp", [None], {"min": "7", "max": "9"}, "fills"),
        ("Divide", [[14], [2]], {}, "fills"),
        ("StridedSlice", [[1, 9], [1], [2], [1]], {"begin_mask": "0", "end_mask": "0"}, "fills"),
        ("StridedSlice", [[1, 9], [0], [1], [1]], {"shrink_axis_mask": "1"}, "proven"),
        ("Slice", [[1, 9], [1], [2], [1], [0]], {}, "fills"),
        ("Transpose", [[[1, 9]], [1, 0]], {}, "fills"),
        ("VariadicSplit", [[1, 9], [0], [2]], {}, "fills"),
        ("Gather", [[1, 9], [0], [0]], {"batch_dims": 0}, "proven"),
    ],
)
def test_the_indices_of_an_ir_are_followed_too(
    tmp_path: Path, kind: str, inputs: list[Any], attributes: dict[str, Any], word: str
) -> None:
    ir = Ir()
    ports = [
        ir.parameter("n", "i64", [3]) if each is None else ir.constant(f"c{n}", ints(each))
        for n, each in enumerate(inputs)
    ]
    indices = ir.layer("made", kind, ports, "i64", [1], opset="opset8", **attributes)
    data, axis = ir.parameter("x", "f32", [5, 4]), ir.constant("axis", np.array(0))
    ir.result(ir.layer("pick", "Gather", [data, indices, axis], "f32", [1, 4], batch_dims=0))

    model = read(str(ir.save(tmp_path / "m.xml")), ReadOptions(infer=True))

    assert judge(model.node("pick")).word == word


# What OpenVINO 2026.4 gives for constants; None where it does not say, or ONNX has nothing like it.
LAYERS: list[tuple[str, str, list[Any], dict[str, Any], Any]] = [
    ("Divide", "i64", [[7, -7, 7], [2, 2, -2]], {"m_pythondiv": "true"}, [3, -4, -4]),
    ("Divide", "i32", [[7, -7, 7], [2, 2, -2]], {"m_pythondiv": "false"}, [3, -3, -3]),
    ("Divide", "u8", [[6, 8], [4, 3]], {"m_pythondiv": "false"}, None),
    ("Pad", "i64", [[1, 2, 3], [1], [2], 7], {"pad_mode": "constant"}, [7, 1, 2, 3, 7, 7]),
    ("Pad", "i32", [[1, 2, 3], [-1], [1], 7], {"pad_mode": "constant"}, [2, 3, 7]),
    ("Pad", "i64", [[1, 2, 3], [2], [-1]], {"pad_mode": "edge"}, [1, 1, 1, 2]),
    ("Pad", "i64", [[1, 2, 3], [2], [1]], {"pad_mode": "reflect"}, [3, 2, 1, 2, 3, 2]),
    ("Pad", "u8", [[1, 2, 3], [2], [1]], {"pad_mode": "symmetric"}, [2, 1, 1, 2, 3, 3]),
    ("Pad", "i64", [[1, 2, 3], [2], [1]], {"pad_mode": "wrap"}, None),
    ("Roll", "i64", [[[1, 2, 3], [4, 5, 6]], [1, -1], [0, 1]], {}, [[5, 6, 4], [2, 3, 1]]),
    ("Roll", "i32", [[1, 2, 3], [1, 1], [0, -1]], {}, [2, 3, 1]),
    ("OneHot", "i64", [[0, 2, -1], 3, 5, 1], {"axis": -1}, [[5, 1, 1], [1, 1, 5], [1, 1, 1]]),
    ("OneHot", "i32", [[0, 2], 3, 5, 1], {"axis": 0}, [[5, 1], [1, 1], [1, 5]]),
    ("OneHot", "i64", [1, 3, 5, 1], {"axis": 0}, [1, 5, 1]),
    ("ScatterUpdate", "i64", [[1, 2, 3], [2, 0], [7, 8], 0], {}, [8, 2, 7]),
    ("ScatterUpdate", "i64", [[1, 2, 3], [2, 2], [7, 8], 0], {}, None),
    ("ScatterElementsUpdate", "i32", [[[1, 2]], [[1, 0]], [[7, 8]], 1], {}, [[8, 7]]),
    ("ScatterElementsUpdate", "i64", [[1, 2], [0], [7], 0], {"reduction": "sum"}, None),
    ("ScatterNDUpdate", "i64", [[[1, 2], [3, 4]], [[1]], [[7, 8]]], {}, [[1, 2], [7, 8]]),
    ("ScatterNDUpdate", "i64", [[1, 2], [[0], [0]], [7, 8]], {}, None),
    ("Broadcast", "i64", [[[1], [2]], [1, 2]], {"mode": "bidirectional"}, [[1, 1], [2, 2]]),
    ("Broadcast", "i64", [[1, 2], [2, 2], [1]], {"mode": "explicit"}, None),
    ("VariadicSplit", "i64", [[1, 2, 3], 0, [-1]], {}, [1, 2, 3]),
    ("Gather", "i64", [[1, 2, 3], [-1, 0], 0], {"batch_dims": 0}, [3, 1]),
    ("Gather", "i64", [[1, 2, 3], [3, -4, 1], 0], {"batch_dims": 0}, [0, 0, 2]),
    ("Gather", "i64", [[[1, 2], [3, 4]], [1, -3], 0], {"batch_dims": 0}, [[3, 4], [0, 0]]),
    ("Gather", "i64", [[[1, 2], [3, 4]], [[1], [0]], 1], {"batch_dims": 1}, None),
    (
        "ReverseSequence",
        "i64",
        [[[1, 2, 3], [4, 5, 6]], [1, 3]],
        {"batch_axis": 0, "seq_axis": 1},
        [[1, 2, 3], [6, 5, 4]],
    ),
    ("Clamp", "i64", [[0, -1, 9]], {"min": "0.5", "max": "2.5"}, [1, 1, 2]),
    ("Clamp", "i64", [[5, -1]], {"min": "0", "max": "3.4e+38"}, [5, 0]),
    ("Reverse", "i64", [[[1, 2], [3, 4]], [1]], {"mode": "index"}, [[2, 1], [4, 3]]),
    ("ReduceProd", "i64", [[2, 3], [0]], {"keep_dims": "false"}, 6),
    ("Subtract", "i32", [[5, 6], [6, 5]], {}, [-1, 1]),
    ("Subtract", "u8", [[5, 6], [6, 5]], {}, None),
    ("Slice", "i64", [[1, 2, 3], [-1], [-9], [-1], [0]], {}, [3, 2, 1]),
    ("Slice", "i64", [[1, 2, 3], [-9], [9], [-1], [0]], {}, None),
]


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Return a model with all of `LAYERS`, each before a Gather that its number names."""
    ir = Ir()
    for number, layer in enumerate(LAYERS):
        add_layer(ir, f"{number}", *layer[:-1])
    return read(str(ir.save(tmp_path_factory.mktemp("ir") / "m.xml")), INFERRED)


@pytest.mark.parametrize("number", range(len(LAYERS)), ids=[each[0] for each in LAYERS])
def test_layers_give_what_openvino_gives(layers: Model, number: int) -> None:
    values = LAYERS[number][-1]

    found = layers.node(f"{number}").inputs[1].constant

    assert (found is None) == (values is None)
    if found is not None:
        np.testing.assert_array_equal(found.tensor().array, values)
        assert found.shape == np.shape(values)


def add_layer(  # noqa: PLR0917
    ir: Ir, name: str, kind: str, dtype: str, inputs: list[Any], attributes: dict[str, Any]
) -> None:
    """Add a layer of constants, of which all but a few numbers have one type, and a Gather."""
    array = {"i64": np.int64, "i32": np.int32, "u8": np.uint8}[dtype]
    numbers = {"Pad": (1, 2), "Roll": (1, 2), "OneHot": (1,)}.get(kind, ())
    ports = [
        ir.constant(f"{name}.{n}", ints(each) if n in numbers else np.array(each, array))
        for n, each in enumerate(inputs)
    ]
    opset = {"Pad": "opset12", "ReverseSequence": "opset1", "Reverse": "opset1"}.get(kind, "opset8")
    made = ir.layer(
        f"{name}.made", kind, ports, dtype, np.shape(inputs[0]), opset=opset, **attributes
    )
    wide = ir.layer(f"{name}.wide", "Convert", [made], "i64", [], destination_type="i64")
    data, axis = ir.parameter(f"{name}.x", "f32", [-1]), ir.constant(f"{name}.axis", np.array(0))
    ir.result(ir.layer(name, "Gather", [data, wide, axis], "f32", [], batch_dims=0))


@pytest.mark.parametrize(("opset", "low"), [("opset8", 0), ("opset7", None)])
def test_an_index_outside_gives_0_since_version_8(path: Path, opset: str, low: int | None) -> None:
    add_layer(ir := Ir(), "pick", "Gather", "i64", [[5, 6], [9], 0], {"batch_dims": 0})
    text = ir.save(path).read_text()
    path.write_text(
        text.replace('type="Gather" version="opset8"', f'type="Gather" version="{opset}"', 1)
    )

    constant = read(str(path), INFERRED).node("pick").inputs[1].constant

    assert (None if constant is None else int(constant.read().values()[0])) == low


def test_a_layer_of_an_extension_is_not_taken_for_one_of_openvino(path: Path) -> None:
    add_layer(ir := Ir(), "pick", "Add", "i64", [[1], [2]], {})
    text = ir.save(path).read_text()
    path.write_text(text.replace('type="Add" version="opset8"', 'type="Add" version="mine"'))

    assert read(str(path), INFERRED).node("pick").inputs[1].constant is None


def test_a_constant_that_leads_to_indices_may_be_malformed(path: Path) -> None:
    add_layer(ir := Ir(), "pick", "Add", "i64", [[1], [2]], {})
    text = ir.save(path).read_text()
    path.write_text(text.replace('offset="8" size="8"', 'offset="8" size="7"'))

    model = read(str(path), INFERRED._replace(tolerant=True))

    assert model.node("pick").inputs[1].constant is None
    assert len(model.malformed) == 1


def test_an_empty_constant_has_a_byte_as_openvino_writes_it(path: Path) -> None:
    add_layer(ir := Ir(), "pick", "Concat", "i64", [[1], []], {"axis": 0})
    path.write_text(ir.save(path).read_text().replace('size="0"', 'size="1"'))

    constant = read(str(path), INFERRED).node("pick").inputs[1].constant

    assert constant is not None
    assert constant.shape == (1,)


def ints(value: Any) -> Any:
    """Return an array of 64-bit integers."""
    return np.array(value, np.int64)
