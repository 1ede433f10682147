"""`translate`: the text, the files, the report and the refusals of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gathercli.translate.targets import translation_targets
from tests.conftest import only_error
from tests.translate.pairs import translation_of

if TYPE_CHECKING:
    from tests.conftest import Run


CALL = ("translate", "gather", "[[1.5,2],[3,4]]", "[[0,-1],[1,7]]", "-a", "1", "-b", "1")
ENCODER = "fixtures/tour/encoder.onnx"


def test_a_pipe_gets_the_text_alone(run: Run) -> None:
    ran = run(*CALL, "--to", "numpy")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith('"""openvino.Gather-8, axis 1, batch_dims 1: ')


def test_a_note_of_what_is_not_exact_goes_to_stderr(run: Run) -> None:
    call = ("gather", "2xf32=1 2", "1xi32=0", "-V", "onnx-13")

    ran = run("translate", *call, "--to", "openvino-8")

    assert ran.out.startswith('<?xml version="1.0"?>')
    assert ran.err == (
        "note: Gather-8 refuses no index: one outside -s to s-1, which onnx.Gather-13 refuses, "
        "gives zeros\n"
        "note: its constants are in a .bin file, which `-o NAME.xml` writes beside it\n"
    )


def test_a_text_that_is_whole_has_no_note_on_constants(run: Run) -> None:
    ran = run(*CALL, "--to", "onnx-13")

    assert (ran.status, "constants are in" in ran.err) == (0, False)


def test_the_pretty_report_has_the_text_and_the_proof(run: Run) -> None:
    ran = run(*CALL, "--to", "onnx-13", "-f", "pretty")

    assert "  output = GatherND <batch_dims = 1> (padded, tuples)\n}\n" in ran.out
    assert "openvino.Gather-8   axis 1   batch_dims 1 " in ran.out
    assert "ONNX, opset 13: 10 nodes, for tensors of these sizes\n" in ran.out
    assert "equal on the given tensors and on 100 made ones, by our evaluation\n" in ran.out


def test_the_pretty_report_alone_has_the_notes(run: Run) -> None:
    call = ("translate", "gather-tree", "[[[1.0]]]", "[[[0.0]]]", "[1.0]", "0.0", "--to", "numpy")

    pretty, piped = run(*call, "-f", "pretty"), run(*call)

    note = "a fractional parent or length such as 0.5, which the version refuses, is truncated"
    assert note in pretty.out.replace("\n         ", "\n ")
    assert (pretty.err, piped.err) == ("", f"note: {note} to an integer\n")


def test_an_ir_is_written_with_its_bin(run: Run, folder: Path) -> None:
    words = ("translate", "gather-elements", "[1,2]", "-1,", "-V", "onnx-13", "--to", "openvino-8")

    ran = run(*words, "-o", "new.xml")

    assert ran.status == 0
    assert sorted(path.name for path in folder.iterdir()) == ["new.bin", "new.xml"]
    assert run("model", "new.xml").status == 0


def test_json_has_the_proof_and_the_notes(run: Run) -> None:
    words = ("translate", "gather", "[1,2]", "[0]", "-V", "onnx-13", "--to", "jax")

    fields = json.loads(run(*words, "-f", "json").out)

    assert fields["operator"] == "onnx.Gather-13"
    assert fields["target"] == "jax"
    assert fields["proof"]["given"] == "equal"
    assert fields["proof"]["equal"] + fields["proof"]["both refuse"] == 100
    assert fields["runtimes"] == []
    assert "jax.jit" in fields["notes"][0]


def test_a_node_of_a_model_is_translated(run: Run) -> None:
    model = Path(__file__).parents[2] / ENCODER

    ran = run(
        "translate", f"{model}#/words/Gather", "--feed", "[[0,1]]", "--to", "torch", "--quiet"
    )

    assert ran.status == 0
    assert ran.out.endswith("    return data[indices]\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "mlx"), "`--to` is `mlx`: expected onnx, openvino, torch"),
        (("--to", "torch", "-o", "x.onnx"), "is a .py file: expected that suffix"),
        (("--to", "onnx-13", "-o", "-"), "is written to .onnx files only: expected the name of"),
        (("--to", "torch", "--with", "jax"), "`--with` names `jax`, which does not run torch"),
        (("--to", "numpy", "--timeout", "3"), "`--timeout` is given without `--with`"),
    ],
)
def test_a_wrong_option_is_refused(words: tuple[str, ...], message: str, run: Run) -> None:
    ran = run(*CALL, *words)

    assert ran.status == 2
    assert message in only_error(ran)


def test_a_target_is_required(run: Run) -> None:
    ran = run(*CALL)

    assert ran.status == 2
    assert only_error(ran) == (
        "error: `--to` is missing: expected onnx, openvino, torch, tensorflow, jax, numpy, tflite, "
        "onnx-13 or openvino-8"
    )


@pytest.mark.parametrize(("framework", "newest"), [("onnx", "onnx-13"), ("openvino", "openvino-8")])
def test_a_framework_stands_for_its_newest_target(framework: str, newest: str, run: Run) -> None:
    ran, wanted = run(*CALL, "--to", framework), run(*CALL, "--to", newest)

    assert ran == wanted
    assert ran.status == 0


@pytest.mark.parametrize("option", ["--negative", "--out-of-range"])
def test_an_option_that_no_target_has_for_beams_is_the_one_that_was_given(
    option: str, run: Run
) -> None:
    tree = ("[[[1]]]", "[[[0]]]", "[1]", "0")
    value = {"--negative": "wrap", "--out-of-range": "clamp"}[option]

    ran = run("translate", "gather-tree", *tree, "--to", "numpy", option, value)

    assert only_error(ran).startswith(
        f"error: `{option}` is given with openvino.GatherTree-1, whose beams no target finds "
    )


def test_a_call_that_the_version_refuses_is_translated_too(run: Run) -> None:
    ran = run(
        "translate", "gather", "[1,2]", "[9]", "-V", "onnx-13", "--to", "numpy", "-f", "pretty"
    )

    assert ran.status == 0
    assert "refuses the given tensors, as the version does, and equal on " in ran.out


def test_a_bin_of_something_else_is_kept(run: Run, folder: Path) -> None:
    (folder / "x.bin").write_text("old")

    ran = run(*CALL, "--to", "openvino-8", "-o", "x.xml")

    assert ran.status == 73
    assert "`x.bin` cannot be written (it exists without `x.xml`" in only_error(ran)
    assert [path.name for path in folder.iterdir()] == ["x.bin"]
    assert (folder / "x.bin").read_text() == "old"


def test_an_ir_replaces_an_earlier_one(run: Run, folder: Path) -> None:
    words = (*CALL, "--to", "openvino-8", "-o", "x.xml")
    run(*words)
    (folder / "x.bin").write_text("old")

    ran = run(*words)

    assert ran.status == 0
    assert (folder / "x.bin").read_bytes() != b"old"


def test_a_result_larger_than_the_limit_of_memory_is_refused(run: Run) -> None:
    ran = run(*CALL, "--to", "numpy", "--max-bytes", "30")

    assert ran.status == 65
    assert "takes 32 bytes" in only_error(ran)


def test_the_file_of_onnx_is_that_of_the_translation(run: Run, folder: Path) -> None:
    run(
        "translate",
        "gather",
        "2x3xf32=0",
        "2xi64=0",
        "-V",
        "onnx-13",
        "--to",
        "onnx-13",
        "-o",
        "x.onnx",
    )

    expected = translation_of("onnx.Gather-13", "2x3xf32=0; 2xi64=0", "onnx-13")

    assert (folder / "x.onnx").read_bytes() == expected.files[".onnx"]


@pytest.mark.parametrize("to", [each.name for each in translation_targets()])
@pytest.mark.parametrize("indices", ["[[0,1]]", "[[0,7]]"])
@pytest.mark.parametrize("operator", ["gather-nd", "gather"])
def test_a_target_that_refuses_no_index_is_not_said_to_refuse(
    to: str, indices: str, operator: str, run: Run
) -> None:
    ran = run("translate", operator, "[[1,2],[3,4]]", indices, "--to", to, "-f", "json")

    fields = json.loads(ran.out)
    refuses_none = any("refuses no index:" in note for note in fields["notes"])
    assert not (
        refuses_none and "both refuse" in fields["proof"] and fields["proof"]["both refuse"]
    )
    assert refuses_none == (to in ("openvino-8", "tflite") and operator == "gather-nd")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ("gather", "arange:2x2", "3", "-V", "numpy.take"),
            "numpy.take changes its inputs before it gathers",
            "`gathercli ops --like numpy.take` names the nearest version",
        ),
        (
            ("gather-elements", "arange:2x2", "[[0,1]]", "-a", "0", "-V", "torch.take_along_dim"),
            "torch.take_along_dim changes its inputs before it gathers",
            "`gathercli ops --like torch.take_along_dim` names the nearest version",
        ),
        (
            ("gather", "1.5,2", "0", "--out-of-range", "nan"),
            "`--out-of-range` of openvino.Gather-8 is `nan`, which no translation repeats",
            "`--out-of-range zero` is an example",
        ),
        (
            ("gather", "2xf32=1", "xi32=0", "-V", "webnn"),
            "`--out-of-range` of webnn.gather is `undefined`, which no translation repeats",
            "`--out-of-range zero` is an example",
        ),
    ],
)
def test_what_no_program_repeats_is_refused(
    words: tuple[str, ...], message: str, hint: str, run: Run
) -> None:
    ran = run("translate", *words, "--to", "numpy")

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {message}")
    assert f"hint: {hint}\n" in ran.err


def test_the_call_of_a_framework_that_gathers_from_its_inputs_is_translated(run: Run) -> None:
    ran = run(
        "translate", "gather", "1,2", "0,1", "-V", "torch.index_select", "-a", "0", "--to", "onnx"
    )

    assert (ran.status, ran.err) == (0, "")


def test_an_index_without_dimensions_is_translated(run: Run) -> None:
    answer = run("translate", "gather", "[10,20]", "1", "--to", "numpy", "-f", "json")

    assert json.loads(answer.out)["proof"]["given"] == "equal"
