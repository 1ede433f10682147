"""A node of a model as a call: `gathercli gather model.onnx#NODE --feed ids.npy`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
import onnx.backend.test
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case import node

from gathercli.cli.registry import COMMANDS, command_of
from gathercli.models.node_call import CALL_COMMANDS
from tests.modelfiles import FLOAT, INT32, TOUR, Ir, constants, one_gather, onnx_model, value

if TYPE_CHECKING:
    from onnx.backend.test.case.test_case import TestCase

    from tests.conftest import Ran, Run

ENCODER: Final = f"{TOUR}/encoder.onnx"
IR: Final = f"{TOUR}/encoder.xml"
CONVERTED: Final = Path(onnx.backend.test.__file__ or "").parent / "data" / "pytorch-converted"


def cases() -> dict[str, TestCase]:
    """Return the node tests of the operators that the package ships.

    The modules add their cases when they are imported; to collect all would take seconds.
    """
    for name in ("gather", "gatherelements", "gathernd"):
        import_module(f"onnx.backend.test.case.node.{name}")
    return {each.name: each for each in node._NodeTestCases if "gather" in each.name}


CASES: Final = cases()


@pytest.mark.parametrize("name", CASES)
def test_a_node_test_of_onnx_gives_its_output(name: str, tmp_path: Path, run: Run) -> None:
    case = CASES[name]
    assert case.model is not None
    assert case.data_sets is not None
    (tmp_path / "m.onnx").write_bytes(case.model.SerializeToString())
    ((inputs, (expected,)),) = case.data_sets
    feeds = []
    for at, array in enumerate(inputs):
        np.save(tmp_path / f"{at}.npy", array)
        feeds += ["--feed", f"{tmp_path}/{at}.npy"]
    model = f"{tmp_path}/m.onnx"
    (listed,) = json.loads(run("model", model, "-f", "json").out)["nodes"]

    ran = run("gather", f"{model}#{listed['name']}", *feeds, "-o", f"{tmp_path}/out.npy")

    assert ran == (0, "", "")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected, strict=True)
    assert listed["operator"] == case.model.graph.node[0].op_type
    assert [each["shape"] for each in listed["inputs"].values()] == [
        list(array.shape) for array in inputs
    ]
    assert listed["outputs"][0]["inferred"] == list(expected.shape)
    assert listed["verdict"] == "at run time"


def test_the_cases_are_those_of_every_operator() -> None:
    operators = [each.model.graph.node[0].op_type for each in CASES.values() if each.model]

    assert set(operators) == {"Gather", "GatherElements", "GatherND"}
    assert len(operators) >= 10


@pytest.mark.parametrize("name", ["test_Embedding", "test_Embedding_sparse"])
def test_a_model_of_another_exporter_gives_its_output(name: str, tmp_path: Path, run: Run) -> None:
    folder = CONVERTED / name
    (path,) = folder.glob("test_data_set_0/input_0.pb")
    ids = numpy_helper.to_array(onnx.load_tensor(path))
    expected = numpy_helper.to_array(onnx.load_tensor(folder / "test_data_set_0" / "output_0.pb"))
    np.save(tmp_path / "ids.npy", ids)
    (listed,) = json.loads(run("model", f"{folder}/model.onnx", "-f", "json").out)["nodes"]

    ran = run(
        "gather",
        f"{folder}/model.onnx#{listed['name']}",
        "--feed",
        f"{tmp_path}/ids.npy",
        "-o",
        f"{tmp_path}/out.npy",
    )

    assert ran.status == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_a_fed_node_is_the_call_that_it_stands_for(run: Run) -> None:
    tokens = f"{TOUR}/tokens.npy"

    ran = run("gather", f"{ENCODER}#/words/Gather", "--feed", tokens)

    assert ran == run("gather", f"{TOUR}/embeddings.npy", tokens, "-V", "onnx-13")


@pytest.mark.parametrize("feed", ["indices=5,0", "tokens=5,0", "5,0"])
def test_an_input_is_fed_by_its_name_or_that_of_its_value_or_in_order(run: Run, feed: str) -> None:
    ran = run("gather", f"{ENCODER}#/words/Gather", f"--feed={feed}")

    assert ran.out == "[[5.0,5.1,5.2,5.3],[0.0,0.1,0.2,0.3]]\n"


def test_a_constant_input_can_be_fed_by_name(run: Run) -> None:
    ran = run("gather", f"{ENCODER}#/positions/Gather", "--feed", "indices=5,")

    assert ran.out == "[[5.0,5.1,5.2,5.3]]\n"


def test_the_version_of_the_node_decides_what_constants_give(run: Run) -> None:
    refused = run("gather", f"{ENCODER}#/positions/Gather")
    filled = run("gather", f"{IR}#/positions/Gather", "-f", "literal")
    moved = run("gather", f"{ENCODER}#/positions/Gather", "-V", "openvino-8", "-f", "literal")

    assert (refused.status, filled.status, moved.status) == (65, 0, 0)
    assert "index 6 at `[3]` is outside axis 0" in refused.err
    assert filled.out == moved.out
    assert "5.3" not in filled.out


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (("explain", "gather"), "Gather   axis 0"),
        (("explain",), "Gather   axis 0"),
        (("check", "gather"), "onnx.Gather-13   axis 0"),
        (("check",), "onnx.Gather-13   axis 0"),
        (("compare",), "data f32[6,4]   indices i64[4]   axis 0"),
        (("shape", "gather"), "[4,4]"),
        (("shape",), "[4,4]"),
        (("reproduce", "--for", "numpy", "-o", "out", "gather"), "numpy "),
        (("reproduce", "--for", "numpy", "-o", "out"), "numpy "),
        (("translate", "--to", "numpy", "gather"), '"""onnx.Gather-13'),
        (("translate", "--to", "numpy"), '"""onnx.Gather-13'),
        (("diagnose", "gather"), "onnx.Gather-13   axis 0"),
        (("diagnose",), "onnx.Gather-13   axis 0"),
    ],
)
def test_every_command_that_takes_a_call_takes_a_node(
    run: Run, words: tuple[str, ...], start: str
) -> None:
    outputs = ["zeros:4x4xf32"] if "diagnose" in words else []

    ran = run(*words, f"{ENCODER}#/positions/Gather", *outputs)

    assert ran.out.startswith(start)


def test_every_command_with_an_option_to_feed_a_node_takes_one() -> None:
    feeding = {name for name in COMMANDS if "feed" in command_of(name).parameters}

    assert feeding == {*CALL_COMMANDS, "batch"}


def test_the_shape_of_a_node_needs_no_feed(run: Run) -> None:
    ran = run("shape", f"{ENCODER}#/words/Gather")
    fed = run("shape", f"{ENCODER}#/words/Gather", "--feed", "indices=2x5")

    assert (ran.out, fed.out) == ("[batch,length,4]\n", "[2,5,4]\n")


def test_a_shape_that_the_model_does_not_declare_is_inferred(tmp_path: Path, run: Run) -> None:
    nodes = [
        helper.make_node("MatMul", ["w", "x"], ["h"]),
        helper.make_node("Gather", ["h", "i"], ["y"]),
    ]
    tensors = constants(w=np.zeros((5, 2), np.float32), i=[4, 0])
    model = onnx_model(nodes, [value("x", FLOAT, [2, 3])], tensors=tensors)
    onnx.save(model, tmp_path / "m.onnx")

    assert run("shape", f"{tmp_path}/m.onnx#y").out == "[2,3]\n"


def test_the_operator_of_the_node_runs_whichever_command_is_typed(tmp_path: Path, run: Run) -> None:
    gather = helper.make_node("GatherND", ["x", "i"], ["y"])
    model = onnx_model([gather], tensors=constants(x=[[1, 2], [3, 4]], i=[[1, 0]]))
    onnx.save(model, tmp_path / "m.onnx")

    assert run("gather", f"{tmp_path}/m.onnx#y").out == "[3]\n"


def test_an_input_at_run_time_must_be_fed(run: Run) -> None:
    ran = run("gather", f"{ENCODER}#/words/Gather")

    assert ran.status == 2
    assert (
        "`indices` (`tokens` in the model) of the node `/words/Gather` comes at run time: "
        "expected `--feed`"
    ) in ran.err


def test_a_feed_without_an_input_is_refused(run: Run) -> None:
    ran = run("gather", f"{ENCODER}#/words/Gather", "--feed", "0,", "--feed", "1,")

    assert ran.status == 2
    assert "`--feed 1,` has no input: of the node `/words/Gather` 1 input comes at run" in ran.err


def test_a_feed_without_a_node_is_refused(run: Run) -> None:
    ran = run("gather", "1,2", "0", "--feed", "1,")

    assert ran.status == 2
    assert "`--feed` is `1,`, but no node of a model is given" in ran.err


def test_a_feed_has_the_type_that_the_model_declares(tmp_path: Path, run: Run) -> None:
    gather = helper.make_node("Gather", ["x", "i"], ["y"])
    inputs = [value("x", TensorProto.FLOAT16, [3]), value("i", INT32, [1])]
    onnx.save(onnx_model([gather], inputs), tmp_path / "m.onnx")

    ran = run("gather", f"{tmp_path}/m.onnx#y", "--feed=1,2,3", "--feed=1,", "-f", "literal")

    assert ran.out == "1xf16=[2.0]\n"


def test_an_axis_at_run_time_must_be_typed(tmp_path: Path, run: Run) -> None:
    ir = Ir()
    inputs = [ir.parameter("x", "f32", [2, 2]), ir.parameter("i", "i64", [1])]
    ir.layer("pick", "Gather", [*inputs, ir.parameter("a", "i32", [])], "f32", [-1, -1])
    ir.save(tmp_path / "m.xml")
    words = ("gather", f"{tmp_path}/m.xml#pick", "--feed", "[[1,2],[3,4]]", "--feed", "1,")

    refused, typed = run(*words), run(*words, "--axis", "1")

    assert refused.status == 2
    assert "`axis` of the node `pick` comes at run time: expected `--axis`" in refused.err
    assert typed.out == "[[2.0],[4.0]]\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope", "has no node `nope` of the Gather family"),
        ("/word/Gather", f"did you mean `'{ENCODER}#/words/Gather'`?"),
    ],
)
def test_an_unknown_node_is_refused(run: Run, name: str, message: str) -> None:
    ran = run("gather", f"{ENCODER}#{name}")

    assert ran.status == 65
    assert message in ran.err


def test_an_operator_that_the_opset_lacks_is_no_call(tmp_path: Path, run: Run) -> None:
    gather = helper.make_node("GatherND", ["x", "i"], ["y"])
    onnx.save(onnx_model([gather], opset=10), tmp_path / "m.onnx")

    ran = run("gather", f"{tmp_path}/m.onnx#y")

    assert ran.status == 2
    assert "no version `onnx-10` of gather-nd" in ran.err


@pytest.mark.parametrize(
    ("token", "out"),
    [
        (f"{ENCODER}#rows", "[0,1,2,6]\n"),
        (f"{IR}#rows", "[0,1,2,6]\n"),
        (f"@{ENCODER}#/positions/Gather:indices", "[0,1,2,6]\n"),
    ],
)
def test_the_tensors_of_a_model_are_tensors(run: Run, token: str, out: str) -> None:
    assert run("convert", token, "-").out == out


def test_a_tensor_of_a_model_is_gathered_from(run: Run) -> None:
    assert run("gather", f"{ENCODER}#embeddings", f"{ENCODER}#first").out == "[0.0,0.1,0.2,0.3]\n"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("#rowz", "hint: name the tensor: "),
        ("", "the model stores `embeddings`, `rows` and `first`: expected the name of one"),
        ("#/words/Gather", "`/words/Gather` is a node: expected a tensor"),
        ("#/words/Gather:indices", "expected the tensor `/words/Gather:indices`"),
    ],
)
def test_what_is_no_tensor_of_a_model_is_refused(run: Run, key: str, message: str) -> None:
    ran = run("gather", f"@{ENCODER}{key}", "0")

    assert ran.status == 65
    assert message in ran.err


def test_a_converted_tensor_takes_memory_within_the_limit(tmp_path: Path, run: Run) -> None:
    nodes = [
        helper.make_node("Cast", ["w"], ["wide"], to=FLOAT),
        helper.make_node("Gather", ["wide", "i"], ["y"]),
    ]
    tensors = constants(w=np.zeros((1000, 4), np.float16), i=[0])
    onnx.save(onnx_model(nodes, tensors=tensors), tmp_path / "m.onnx")
    node = f"{tmp_path}/m.onnx#y"

    refused = run("gather", node, "--max-bytes", "50000")
    allowed = run("gather", node, "--max-bytes", "64000")
    stored = run("gather", f"{tmp_path}/m.onnx#w", "0", "--max-bytes", "8000")

    assert "16000 bytes would take 64000 when converted" in refused.err
    assert (refused.status, allowed.status, stored.status) == (65, 0, 0)


def test_info_lists_the_tensors_of_a_model(run: Run) -> None:
    ran = run("info", ENCODER)

    assert ran.status == 0
    assert "  embeddings   float32[6,4]   96 bytes\n" in ran.out


def test_the_names_of_nodes_and_tensors_are_completed(run: Run) -> None:
    ran = run("__names", "tensor", f"{ENCODER}#")

    names = [line.rpartition("#")[2] for line in ran.out.splitlines()]
    assert names == [
        "embeddings",
        "rows",
        "first",
        "/words/Gather",
        "/positions/Gather",
        "/start/Gather",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("gather", "0,"),
        ("info",),
        ("convert", "-"),
        ("shape gather", "[1]"),
        ("reproduce gather", "0,", "--for", "numpy", "-o", "out"),
    ],
)
def test_tensors_in_other_files_are_read_by_option(
    tmp_path: Path, run: Run, words: tuple[str, ...]
) -> None:
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    gather = helper.make_node("Gather", ["w", "i"], ["y"])
    model = onnx_model([gather], tensors=constants(w=array, i=[2]))
    onnx.save(
        model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    command, *rest = words
    argv = [*command.split(), f"{tmp_path}/m.onnx#w", *rest]

    closed, read = run(*argv), run(*argv, "--external-data")
    node = run("gather", f"{tmp_path}/m.onnx#y", "--external-data")

    assert (closed.status, read.status) == (0 if command == "shape gather" else 65, 0)
    assert command == "shape gather" or "in another file, which is not opened" in closed.err
    assert node.out == "[[4.0,5.0]]\n"


def test_a_job_takes_the_tensors_of_a_model(tmp_path: Path, run: Run) -> None:
    job: dict[str, Any] = {
        "id": "a",
        "op": "gather",
        "version": "onnx-13",
        "axis": 0,
        "data": f"{ENCODER}#embeddings",
        "indices": f"{ENCODER}#first",
    }
    (tmp_path / "jobs.jsonl").write_text(json.dumps(job) + "\n")

    ran: Ran = run("batch", f"{tmp_path}/jobs.jsonl")

    assert ran.status == 0
    assert '"status":"ok"' in ran.out


def test_a_model_of_one_node_needs_no_name(tmp_path: Path, run: Run) -> None:
    gather = helper.make_node("Gather", ["x", "i"], ["y"])
    onnx.save(onnx_model([gather], tensors=constants(x=[7, 8], i=1)), tmp_path / "m.onnx")

    assert run("gather", f"{tmp_path}/m.onnx").out == "8\n"
    assert run("shape", f"{tmp_path}/m.onnx").out == "[]\n"


def test_a_model_of_several_nodes_needs_a_name(run: Run) -> None:
    ran = run("explain", ENCODER)

    assert ran.status == 65
    assert "has 3 nodes of the Gather family: expected the name of one, `/words/Gather`" in ran.err
    assert f"hint: `'{ENCODER}#/words/Gather'` is the first" in ran.err


def test_an_output_with_the_suffix_of_a_model_is_none(run: Run) -> None:
    ran = run("gather", "1,2", "0", "-o", "x.onnx")

    assert (ran.status, ran.err.splitlines()[-1]) == (2, "rule: usage") or ran.status == 2


def test_the_name_of_a_node_may_hold_the_mark(tmp_path: Path, run: Run) -> None:
    model = one_gather(data=[2], indices=[1])
    model.graph.node[0].name = "a#b/c#d"
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    ran = run("gather", f"{tmp_path}/m.onnx#a#b/c#d", "--feed", "[7,8]")

    assert (ran.status, ran.out) == (0, "[8.0]\n")


def test_a_feed_has_the_type_that_is_inferred(tmp_path: Path, run: Run) -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("Gather", ["y", "i"], ["out"], name="pick"),
    ]
    model = onnx_model(nodes, [value("x", FLOAT, [3])], tensors=constants(i=np.array([1])))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    assert run("gather", f"{tmp_path}/m.onnx", "--feed", "arange:3").out == "[1.0]\n"


def test_compare_of_a_node_lists_its_operator_and_others_on_request(run: Run) -> None:
    words = ("compare", f"{ENCODER}#/positions/Gather", "-f", "json")
    of_node, asked = run(*words), run(*words, "--ops", "gather,gather-elements")

    assert "onnx.Gather-13" in of_node.out
    assert "GatherElements" not in of_node.out
    assert "GatherElements" in asked.out


def test_a_command_of_another_operator_refuses_a_node(run: Run) -> None:
    ran = run("gather-nd", f"{ENCODER}#/positions/Gather")

    assert ran.status == 2
    assert "the node `/positions/Gather` is a Gather: expected `gather`" in ran.err


@pytest.mark.parametrize("option", ["--feed", "-a"])
def test_an_option_of_a_node_without_its_value_is_refused(run: Run, option: str) -> None:
    ran = run("gather", f"{ENCODER}#/words/Gather", "--feed=0,", option)

    assert (ran.status, f"`{option}` has no value" in ran.err) == (2, True)


def test_the_closest_input_is_suggested_for_a_feed(run: Run) -> None:
    ran = run("gather", f"{ENCODER}#/words/Gather", "--feed", "indice=5,0")

    assert ran.status == 2
    assert "hint: did you mean `--feed indices=5,0`?" in ran.err


@pytest.mark.parametrize("literal", ["2xi64=0", "xi64=0"])
def test_a_feed_may_be_a_literal_with_an_equals_sign(run: Run, literal: str) -> None:
    assert run("shape", f"{ENCODER}#/words/Gather", "--feed", literal).status == 0


def test_a_node_without_inputs_at_run_time_takes_no_feed(run: Run) -> None:
    ran = run("gather", f"{ENCODER}#/positions/Gather", "--feed", "1,")

    assert "no input of the node `/positions/Gather` comes at run time" in ran.err


def test_an_input_of_unknown_rank_is_fed_from_a_file_in_the_hint(tmp_path: Path, run: Run) -> None:
    model = one_gather(data=None)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    ran = run("gather", f"{tmp_path}/m.onnx#pick")

    assert "hint: `--feed data=data.npy` feeds a file" in ran.err


def test_random_numbers_have_the_type_that_the_model_declares(tmp_path: Path, run: Run) -> None:
    (tmp_path / "m.onnx").write_bytes(one_gather(indices=[0]).SerializeToString())

    ran = run("gather", f"{tmp_path}/m.onnx", "--feed", "rand:10x3", "-f", "literal")

    assert ran.out.startswith("1x3xf32=")


def fed_through(folder: Path, *nodes: onnx.NodeProto, **tensors: Any) -> str:
    """Write a model whose indices come from its input `ids` through nodes; return its node."""
    gather = helper.make_node("Gather", ["w", "i"], ["y"], name="pick")
    given = constants(w=np.arange(6, dtype=np.float32).reshape(3, 2), **tensors)
    onnx.save(
        onnx_model([*nodes, gather], [value("ids", INT32, [2])], tensors=given), folder / "m.onnx"
    )
    return "m.onnx#pick"


def test_an_input_of_the_model_that_is_only_cast_feeds_the_node(folder: Path, run: Run) -> None:
    node = fed_through(
        folder,
        helper.make_node("Identity", ["ids"], ["same"]),
        helper.make_node("Cast", ["same"], ["i"], to=TensorProto.INT64),
    )
    np.save(folder / "ids.npy", np.array([2, 0], np.int32))

    assert run("gather", node, "--feed", "ids=ids.npy").out == "[[4.0,5.0],[0.0,1.0]]\n"


def test_an_input_that_is_reshaped_before_the_node_is_named_as_none_of_it(
    folder: Path, run: Run
) -> None:
    reshape = helper.make_node("Reshape", ["ids", "shape"], ["i"])
    node = fed_through(folder, reshape, shape=[2, 1])

    ran = run("gather", node, "--feed", "ids=ids.npy")

    assert ran.status == 2
    assert "the node has no input `ids`: expected `data=`, `indices=`, `w=` or `i=`" in ran.err


def test_an_input_of_both_is_fed_to_both(folder: Path, run: Run) -> None:
    gather = helper.make_node("Gather", ["x", "x"], ["y"], name="pick")
    onnx.save(onnx_model([gather], [value("x", INT32, [2])]), folder / "m.onnx")

    assert run("gather", "m.onnx#pick", "--feed", "x=1,0").out == "[0,1]\n"


def test_an_input_of_an_ir_that_is_only_converted_feeds_the_node(folder: Path, run: Run) -> None:
    ir = Ir()
    ids = ir.parameter("ids", "i64", [-1])
    data, axis = ir.constant("w", np.array([5, 6], np.int32)), ir.constant("axis", np.array(0))
    cast = ir.layer("cast", "Convert", [ids], "i32", [-1], destination_type="i32")
    ir.layer("pick", "Gather", [data, cast, axis], "i32", [-1])
    ir.result("pick")
    ir.save(folder / "m.xml")

    assert run("gather", "m.xml#pick", "--feed", "ids=1,0").out == "[6,5]\n"


def test_a_wrong_output_of_a_node_is_diagnosed(run: Run) -> None:
    words = f"{ENCODER}#/words/Gather", "--feed", "tokens=5,-1"
    wrong = "[[5,5.1,5.2,5.3],[0,0.1,0.2,0.3]]"

    ran = run("diagnose", *words, wrong)
    lacking = run("diagnose", *words)

    assert (ran.status, lacking.status) == (0, 2)
    assert "indices are clamped to the axis, negative ones to 0" in ran.out
    assert lacking.err.startswith("error: `WRONG` is missing")


def test_a_fed_node_is_translated_and_reproduced(folder: Path, run: Run) -> None:
    words = f"{ENCODER}#/words/Gather", "--feed", "tokens=5,-1"

    translated = run("translate", *words, "--to", "numpy", "-o", "out.py")
    reproduced = run("reproduce", *words, "--for", "numpy", "-o", "out")

    assert (translated.status, reproduced.status) == (0, 0)
    assert "return data[indices]" in (folder / "out.py").read_text()
    assert "agrees" in reproduced.out


def test_the_help_of_a_command_reads_no_model(run: Run) -> None:
    assert run("gather", "no.onnx#pick", "--help").out.startswith("Usage: gathercli gather")
