"""The command `check` on models and folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from onnx import helper

from gathercli.cli.registry import takes_models
from tests.hostile.irs import put
from tests.hostile.models import external
from tests.modelfiles import BOOL, FLOAT, INT64, TOUR, constants, one_gather, onnx_model, value
from tests.reports import junit_cases, sarif_run

if TYPE_CHECKING:
    from tests.conftest import Run


FINE: Final = one_gather(indices=[0]).SerializeToString()
WRONG: Final = one_gather(indices=[0, 10]).SerializeToString()
LINE: Final = (
    "{}: pick: error: index 10 at `[1]` is outside axis 0 of `data`, whose size is 10: "
    "expected -10 to 9 (1 of 2 indices); onnx.Gather-13 refuses it  [index-range]\n"
)


@pytest.fixture
def models(folder: Path) -> Path:
    """Make a folder of models, of files that are none, and of a link."""
    (folder / "m/deep").mkdir(parents=True)
    (folder / "m/a.onnx").write_bytes(FINE)
    (folder / "m/deep/b.ONNX").write_bytes(WRONG)
    (folder / "m/pom.xml").write_text("<project><network/></project>")
    (folder / "m/notes.txt").write_text("none")
    (folder / "m/c.xml").write_bytes((TOUR / "encoder.xml").read_bytes())
    (folder / "m/c.bin").write_bytes((TOUR / "encoder.bin").read_bytes())
    os.symlink("a.onnx", folder / "m/link.onnx")
    return folder / "m"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.onnx", True),
        ("-f json a.XML", True),
        (". --to xla", True),
        ("--to=xla", True),
        ("gather x.onnx 0,", False),
        ("-a 1 gather x.onnx 0,", False),
        ("x.npy", False),
        ("", False),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_first_argument_chooses_the_form(line: str, *, expected: bool) -> None:
    assert takes_models("check", line.split()) is expected
    assert not takes_models("explain", line.split())


def test_a_folder_named_like_an_operator_is_the_operator(folder: Path) -> None:
    (folder / "gather").mkdir()

    assert not takes_models("check", ["gather", "1", "0"])


def test_a_finding_is_one_line_and_the_status_1(folder: Path, run: Run) -> None:
    (folder / "x.onnx").write_bytes(WRONG)

    ran = run("check", "x.onnx")

    assert (ran.status, ran.err) == (1, "")
    assert ran.out == LINE.format("x.onnx") + "1 model, 1 node: 1 refused; 1 error\n"


def test_a_finding_is_wrapped_on_a_terminal(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.onnx").write_bytes(WRONG)
    monkeypatch.setenv("COLUMNS", "60")

    ran = run("check", "x.onnx", "--color", "never", terminal=(1, 2))

    first, second, *_, last = ran.out.splitlines()
    assert (first, second[:24]) == ("x.onnx: pick", "  error: index 10 at `[1")
    assert all(len(each) <= 60 for each in ran.out.splitlines())
    assert last == "1 model, 1 node: 1 refused; 1 error"


@pytest.mark.usefixtures("models")
def test_a_folder_is_searched_for_models_in_order(run: Run) -> None:
    ran = run("check", "m", "m/a.onnx")

    assert (ran.status, ran.err) == (1, "")
    first, second, last = ran.out.splitlines()
    assert first.startswith("m/c.xml: /positions/Gather: warning: index 6 at `[3]`")
    assert second + "\n" == LINE.format("m/deep/b.ONNX")
    assert last == (
        "3 models, 5 nodes: 1 proven, 2 at run time, 1 refused, 1 fills; 1 error, 1 warning"
    )


@pytest.mark.usefixtures("models")
def test_notes_fail_no_check(run: Run) -> None:
    ran = run("check", "m/c.xml", "--allow-fill", "--to", "openvino")

    assert ran.status == 0
    assert ran.out.endswith("1 model, 3 nodes: 2 at run time, 1 fills; 1 note\n")


@pytest.mark.parametrize(
    ("words", "status", "tag"), [((), 1, "failure"), (("--allow-unread",), 0, "skipped")]
)
def test_a_node_that_is_not_checked_passes_no_test(
    models: Path, run: Run, words: tuple[str, ...], status: int, tag: str
) -> None:
    (models / "c.bin").unlink()

    ran = run("check", "m/c.xml", "--junit", "out.xml", *words)

    cases = junit_cases(Path("out.xml").read_bytes())
    assert ran.status == status
    assert [each.tag for case in cases for each in case] == [tag] * 3
    assert ran.out.endswith("3 not read; 3 warnings\n" if status else "3 not read; 3 notes\n")


def indexed(data: list[Any], indices: Any, *between: Any, **tensors: Any) -> Any:
    """Return a Gather of run-time data and indices, a constant or what nodes make of `ids`."""
    pick = helper.make_node("Gather", ["data", "i"], ["out"], name="pick")
    inputs = [
        value("data", FLOAT, data),
        *([] if indices is not None else [value("i", INT64, [2])]),
    ]
    if between:
        inputs = [inputs[0], value("ids", INT64, [2])]
    arrays = tensors | ({} if indices is None else {"i": indices})
    return onnx_model([*between, pick], inputs, [value("out", FLOAT, None)], constants(**arrays))


REMAINDER: Final = helper.make_node("Mod", ["ids", "five"], ["i"])
OPEN_NODES: Final[dict[str, tuple[Any, str, Any, Any]]] = {
    "`indices` (`i`) can be any number, and the size of axis 0 of `data` is 4: expected -4 to 3; "
    "a Clip proves it": (indexed([4, 2], None), "`indices` (`i`)", "any number", "-4 to 3"),
    "`indices` (`i`) can be any number, and the size of axis 0 of `data` (`N`) is not known; "
    "a fixed size and a Clip prove it": (
        indexed(["N", 2], None),
        "`indices` (`i`)",
        "any number",
        None,
    ),
    "`indices` (`i`) can be 0 to 4, and the size of axis 0 of `data` is 4: expected -4 to 3; "
    "a Clip proves it": (
        indexed([4, 2], None, REMAINDER, five=5),
        "`indices` (`i`)",
        "0 to 4",
        "-4 to 3",
    ),
    "index -1 of `indices` (`i`) is inside axis 0 of `data` (`N`) unless that is empty; "
    "a fixed size in the model proves it": (
        indexed(["N", 2], -1),
        "axis 0 of `data` (`N`)",
        "N",
        "1 or more",
    ),
    "indices 0 to 4 of `indices` (`i`) are inside axis 0 of `data` unless that has fewer than 5; "
    "a fixed size in the model proves it": (
        indexed([None, 2], None, REMAINDER, five=5),
        "axis 0 of `data`",
        "?",
        "5 or more",
    ),
}


@pytest.mark.parametrize("message", OPEN_NODES)
def test_a_node_that_is_not_proven_says_what_is_open(folder: Path, run: Run, message: str) -> None:
    model, *fields = OPEN_NODES[message]
    (folder / "x.onnx").write_bytes(model.SerializeToString())

    report = json.loads(run("check", "x.onnx", "--require-proven", "-f", "json").out)

    ((finding,), (judged,)) = (report["models"][0][key] for key in ("findings", "judged"))
    assert (finding["rule"], finding["level"], finding["message"]) == ("unproven", "error", message)
    assert [finding["where"], finding["value"], finding["expected"]] == fields
    assert judged == {
        "node": "pick",
        "operator": "onnx.Gather-13",
        "verdict": "at run time",
        "open": finding,
    }


def test_nodes_at_run_time_are_named_where_a_target_treats_them_otherwise(
    folder: Path, run: Run
) -> None:
    (folder / "x.onnx").write_bytes(indexed([4, 2], None).SerializeToString())

    ran = run("check", "x.onnx", "--to", "openvino", "--sarif", "out.sarif")

    (result,) = sarif_run(Path("out.sarif").read_text())["results"]
    places = result["locations"][0]["logicalLocations"]
    assert "note: 1 node is decided at run time, `pick`: an index outside the axis, " in ran.out
    assert [each["fullyQualifiedName"] for each in places] == ["x.onnx#pick"]


def test_quiet_leaves_out_notes_and_counts_them(folder: Path, run: Run) -> None:
    (folder / "x.onnx").write_bytes(indexed([4, 2], None).SerializeToString())

    ran = run("check", "x.onnx", "--to", "openvino", "-q")

    assert ran.out == "1 model, 1 node: 1 at run time; 1 note\n"


def test_nodes_of_one_name_are_told_apart_by_their_bodies(folder: Path, run: Run) -> None:
    bodies = {}
    for each in ("then", "else"):
        pick = helper.make_node("Gather", ["data", "i"], [each], name="pick")
        bodies[f"{each}_branch"] = helper.make_graph([pick], each, [], [value(each, FLOAT, None)])
    node = helper.make_node("If", ["condition"], ["out"], name="if", **bodies)
    inputs = [value("condition", BOOL, []), value("data", FLOAT, [4])]
    model = onnx_model([node], inputs, [value("out", FLOAT, None)], constants(i=[9]))
    (folder / "x.onnx").write_bytes(model.SerializeToString())

    ran = run("check", "x.onnx")

    assert "x.onnx: then (pick in if/then_branch): error: index 9" in ran.out
    assert "x.onnx: else (pick in if/else_branch): error: index 9" in ran.out


@pytest.mark.parametrize("name", ["junit", "sarif"])
def test_a_report_is_a_file_and_no_pipe(folder: Path, run: Run, name: str) -> None:
    (folder / "x.onnx").write_bytes(FINE)

    ran = run("check", "x.onnx", f"--{name}", "-")

    assert ran.status == 2
    assert f"`--{name}` is `-`, but stdout has the findings: expected the name of a file" in ran.err


def test_a_comma_at_the_end_of_targets_names_none(folder: Path, run: Run) -> None:
    (folder / "x.onnx").write_bytes(FINE)

    assert run("check", "x.onnx", "--to", "openvino,").status == 0
    assert "no target" in run("check", "x.onnx", "--to", "").err


def test_a_note_that_models_share_is_printed_once(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcde":
        (folder / f"{name}.onnx").write_bytes(indexed(["N", 2], None).SerializeToString())
    monkeypatch.setattr("gathercli.models.onnx_model.infer_facts", lambda *_: ({}, "unknown"))

    ran = run("check", ".")

    assert ran.err == "note: ./a.onnx, ./b.onnx, ./c.onnx and 2 more: unknown\n"


def malformed(indices: bytes) -> bytes:
    """Return a model of two nodes with the same malformed indices, and of one without."""
    nodes = [
        helper.make_node("Gather", ["data", each], [f"o{at}"], name=f"pick{at}")
        for at, each in enumerate(("bad", "bad", "good"))
    ]
    inputs, outputs = [value("data", FLOAT, [4])], [value(f"o{at}", FLOAT, None) for at in range(3)]
    model = onnx_model(nodes, inputs, outputs, constants(bad=[0, 1], good=[3]))
    model.graph.initializer[0].raw_data = indices
    return bytes(model.SerializeToString())


def test_a_malformed_tensor_is_one_finding_and_the_other_nodes_are_checked(
    folder: Path, run: Run
) -> None:
    (folder / "m.onnx").write_bytes(malformed(bytes(15)))

    ran = run("check", "m.onnx", "--junit", "out.xml", "--sarif", "out.sarif")

    what = "`bad`: the tensor has 15 bytes of elements: expected 16, for [2] of int64"
    head, message = ran.out.splitlines()[0].split(", ", 1)
    assert (ran.status, message) == (1, f"{what}  [format]")
    assert head.startswith("m.onnx: error: the tensor at byte ")
    assert ran.out.endswith("1 model, 3 nodes: 1 proven, 2 not read; 1 error\n")
    cases = junit_cases(Path("out.xml").read_bytes())
    kinds = {case.get("name"): [each.tag for each in case] for case in cases}
    assert kinds == {
        "m.onnx#pick0": ["skipped"],
        "m.onnx#pick1": ["skipped"],
        "m.onnx#pick2": [],
        "m.onnx": ["failure"],
    }
    (result,) = json.loads(Path("out.sarif").read_text())["runs"][0]["results"]
    assert result["message"]["text"].endswith(what)
    (model,) = of_json(run, "m.onnx")["models"]
    assert model["verdicts"] == {"not read": 2, "proven": 1}
    assert [each["rule"] for each in model["findings"]] == ["format"]


def test_a_malformed_tensor_refuses_what_is_no_check_of_the_whole_model(
    folder: Path, run: Run
) -> None:
    (folder / "m.onnx").write_bytes(malformed(bytes(15)))

    listed, ran = run("model", "m.onnx"), run("gather", "m.onnx#pick0", "--feed", "4xf32=1")

    assert (listed.status, ran.status) == (65, 65)
    assert "`bad`: the tensor has 15 bytes" in listed.err
    assert "`bad`: the tensor has 15 bytes" in ran.err


def test_an_empty_folder_is_no_input(folder: Path, run: Run) -> None:
    (folder / "m").mkdir()

    ran = run("check", "m", "--junit", "m.xml", "--sarif", "m.sarif")

    assert ran.status == 66
    (case,) = junit_cases(Path("m.xml").read_bytes())
    run_of_sarif = sarif_run(Path("m.sarif").read_text())
    (notification,) = run_of_sarif["invocations"][0]["toolExecutionNotifications"]
    assert (case.get("name"), case[0].tag) == ("m", "error")
    assert notification["message"]["text"].startswith("there is no model in `m`")
    assert ran.err.startswith("error: there is no model in `m`: expected files that end in .onnx")


def test_a_model_that_is_not_read_decides_the_status(folder: Path, run: Run) -> None:
    (folder / "a.onnx").write_bytes(WRONG)
    (folder / "b.onnx").write_bytes(b"\x0a")

    ran = run("check", "a.onnx", "b.onnx")

    assert ran.status == 65
    assert (
        ran.out
        == LINE.format("a.onnx") + "2 models, 1 node: 1 refused; 1 error, 1 model not read\n"
    )
    assert ran.err.startswith("error: b.onnx: ")


def of_json(run: Run, *words: str) -> dict[str, Any]:
    return dict(json.loads(run("check", "-f", "json", *words).out))


@pytest.mark.usefixtures("models")
def test_json_has_every_model_with_its_findings(run: Run) -> None:
    report = of_json(run, "m", "--to", "openvino,openvino,tflite", "nope.onnx")

    assert report["targets"] == ["openvino", "tflite"]
    fine, _, wrong, absent = report["models"]
    assert fine == {
        "model": "m/a.onnx",
        "nodes": 1,
        "verdicts": {"proven": 1},
        "judged": [
            {"node": "pick", "operator": "onnx.Gather-13", "verdict": "proven", "open": None}
        ],
        "findings": [],
    }
    (finding,) = wrong["findings"]
    assert (finding["node"], finding["value"], finding["expected"]) == ("pick", 10, "-10 to 9")
    assert finding["does"] == {
        "onnx.Gather-13": "refused",
        "openvino": "zero-filled",
        "tflite.GATHER": "refused",
    }
    assert (absent["error"]["status"], absent["findings"]) == (66, [])


@pytest.mark.usefixtures("models")
def test_junit_has_a_test_for_each_node_and_an_error_for_each_other_file(
    folder: Path, run: Run
) -> None:
    (folder / "m/z.onnx").write_bytes(b"")

    ran = run("check", "m", "--junit", "out.xml")

    cases = junit_cases(Path("out.xml").read_bytes())
    kinds = [[each.tag for each in case] for case in cases]
    assert ran.status == 65
    assert [case.get("name") for case in cases][-2:] == ["m/z.onnx", "m/deep/b.ONNX#pick"]
    assert [case.get("file") for case in cases][-3:] == ["m/c.xml", "m/z.onnx", "m/deep/b.ONNX"]
    assert kinds == [[], ["system-out"], ["failure"], ["system-out"], ["error"], ["failure"]]
    assert cases[1][0].text == (
        "at run time: `indices` (`tokens`) can be any number, and the size of axis 0 of `data` is "
        "6: expected -6 to 5; a Clip proves it"
    )


@pytest.mark.usefixtures("models")
def test_the_reports_name_files_from_the_root_of_the_repository(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git").mkdir()
    (folder / "m/z.onnx").write_bytes(b"")
    monkeypatch.chdir("m/deep")

    ran = run("check", "..", "--junit", "out.xml", "--sarif", "out.sarif", "--to", "openvino")

    cases = junit_cases(Path("out.xml").read_bytes())
    sarif = sarif_run(Path("out.sarif").read_text())
    failed = sarif["invocations"][0]["toolExecutionNotifications"]
    places = [
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in (*sarif["results"], *failed)
    ]
    broken = [case.get("file") for case in cases for each in case if each.tag != "system-out"]
    assert ran.status == 65
    assert {*places} == {"m/c.xml", "m/deep/b.ONNX", "m/z.onnx"}
    assert broken == ["m/c.xml", "m/z.onnx", "m/deep/b.ONNX"]
    assert [case.get("name") for case in cases][:2] == ["m/a.onnx#pick", "m/c.xml#/words/Gather"]


@pytest.mark.usefixtures("models")
def test_sarif_has_every_finding(run: Run) -> None:
    ran = run("check", "m", "--sarif", "out.sarif")

    results = sarif_run(Path("out.sarif").read_text())["results"]
    assert ran.status == 1
    assert [each["level"] for each in results] == ["warning", "error"]


OTHER: Final = "note: {} is no model: its root is <{}>\n"


@pytest.mark.parametrize(
    ("content", "root"),
    [
        (b"<project><net/></project>", "project"),
        (b'<?xml version="1.0"?>\n<!-- a <net > -->\n<a:b\n/>', "a:b"),
        ("\ufeff<testsuites>".encode(), "testsuites"),
        ("<\x1b />".encode("utf-16"), r"\x1b"),
    ],
)
def test_a_named_xml_of_another_kind_is_passed_over(
    folder: Path, run: Run, content: bytes, root: str
) -> None:
    (folder / "o.xml").write_bytes(content)
    (folder / "x.onnx").write_bytes(FINE)

    alone = run("check", "o.xml", "--junit", "out.xml", "--sarif", "out.sarif")
    both = run("check", "o.xml", "x.onnx")

    assert alone == (0, "0 models, 0 nodes; no finding\n", OTHER.format("o.xml", root))
    assert both == (0, "1 model, 1 node: 1 proven; no finding\n", OTHER.format("o.xml", root))
    assert junit_cases(Path("out.xml").read_bytes()) == []
    assert sarif_run(Path("out.sarif").read_text())["results"] == []


@pytest.mark.parametrize(
    "content", [b"", b"text", b"<!-- <project>", b"<ne", b"<net><layer></net>"]
)
def test_a_named_xml_that_may_be_a_model_is_read(folder: Path, run: Run, content: bytes) -> None:
    (folder / "o.xml").write_bytes(content)

    assert run("check", "o.xml").status == 65


@pytest.mark.usefixtures("models")
def test_the_reports_are_two_files(run: Run) -> None:
    ran = run("check", "m", "--sarif", "out", "--junit", "./out")

    assert ran.status == 2
    assert "which is the JUnit file" in ran.err
    assert not os.path.exists("out")


def test_notes_name_their_model(models: Path, run: Run) -> None:
    (models / "c.bin").unlink()
    (models / "a.onnx").write_bytes(one_gather(indices=[0], opset=99).SerializeToString())

    ran = run("check", "m/c.xml", "m/a.onnx")

    first, second = ran.err.splitlines()
    assert (ran.status, first[:18]) == (1, "note: m/c.xml: the")
    assert second.startswith("note: m/a.onnx: onnx opset 99 is newer than")


def test_progress_is_in_bytes(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gathercli.report.words.PROGRESS_DELAY", 0.0)
    for name in "ab":
        (folder / f"{name}.onnx").write_bytes(FINE)

    ran = run("check", ".", terminal=(1, 2))

    assert f"checked {len(FINE)} B of {2 * len(FINE)} B" in ran.err or "checked 0 B" in ran.err


@pytest.mark.usefixtures("models")
def test_an_option_of_tensors_is_not_one_of_models(run: Run) -> None:
    assert run("check", "m/a.onnx", "--axis", "0").status == 2
    assert run("check", "gather", "0,", "0,", "--to", "xla").status == 2
    assert run("check", "m/a.onnx", "--to", "nothing").status == 2


def test_the_help_of_models_has_their_examples(run: Run) -> None:
    ran = run("check", "x.onnx", "--help")

    assert ran.out.startswith("Usage: gathercli check [OPTIONS] MODEL...")
    assert "gathercli check encoder.onnx --to openvino" in ran.out


OPENED: Final = """
import os, sys
from gathercli.cli.main import main
opened = set()
sys.addaudithook(lambda event, args: event == "open" and opened.add(str(args[0])))
for name in sorted(name for name in os.listdir("models") if "." in name):
    main(["check", f"models/{name}", "--external-data", "--no-infer"])
print(*sorted(each for each in opened if "secret" in each or "passwd" in each), file=sys.__stdout__)
"""


def test_no_hostile_model_opens_a_file_that_nobody_named(folder: Path) -> None:
    (folder / "models").mkdir()
    (folder / "secret").write_bytes(bytes(16))
    os.symlink("../secret", folder / "models/link")
    os.symlink("..", folder / "models/links")
    places = ("../secret", "a/../../secret", "/etc/passwd", "link", "links/secret")
    for number, place in enumerate(places):
        (folder / f"models/{number}.onnx").write_bytes(external(location=place))
    text = put("<net", '<!DOCTYPE net [<!ENTITY e SYSTEM "../secret">]><net')
    (folder / "models/x.xml").write_text(text.replace('name="pick"', 'name="&e;"'))

    process = subprocess.run(
        [sys.executable, "-c", OPENED], capture_output=True, check=True, text=True
    )

    assert process.stdout.splitlines()[-1] == ""
    # Two cannot be read, and three are malformed tensors.
    assert process.stderr.count("error: ") == 3
    assert process.stdout.count("error: the tensor") == 3


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("check nowhere/", 66, "there is no file `nowhere/`"),
        ("check gather [1] 0 --to xla", 2, "hint: `--to` is an option of `gathercli check MODEL"),
        ("check m/a.onnx -V onnx-13", 2, "hint: `-V` is an option of `gathercli check OP DATA"),
        ("check m/a.onnx --nope", 2, "hint: `gathercli check model.onnx --help` lists"),
        ("check m/a.onnx#pick --to xla", 2, "`m/a.onnx#pick` names a node: expected whole models"),
        ("model m/none", 66, "there is no model in `m/none`: expected files that end in .onnx"),
        ("model m/x.npy", 65, "m/x.npy: it is a file of tensors, .npy: expected an ONNX model"),
        ("model m/lfs.onnx", 65, "m/lfs.onnx: it is a pointer of Git LFS: expected the file"),
        ("check m/c.xml", 65, "hint: `git lfs pull` gets it"),
        ("info m/lfs.npy", 65, "m/lfs.npy: it is a pointer of Git LFS: expected the file itself"),
    ],
)
def test_what_was_meant_is_said(
    run: Run, models: Path, line: str, status: int, message: str
) -> None:
    (models / "none").mkdir()
    (models / "x.npy").write_bytes((TOUR / "embeddings.npy").read_bytes())
    for name in ("lfs.onnx", "lfs.npy", "c.bin"):
        (models / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:ab\n")

    ran = run(*line.split())

    assert ran.status == status
    assert message in ran.err


def test_an_index_that_two_targets_refuse_is_one_line(folder: Path, run: Run) -> None:
    (folder / "x.onnx").write_bytes(one_gather(indices=[-1]).SerializeToString())

    ran = run("check", "x.onnx", "--to", "tflite,onnx-10")

    finding, total = ran.out.splitlines()
    assert "expected 0 to 9 for tflite and onnx-10 (1 of 1 index)" in finding
    assert "; tflite.GATHER refuses it and onnx-10 refuses it  [index-legal]" in finding
    assert total == "1 model, 1 node: 1 proven; 1 warning"
    assert len(of_json(run, "x.onnx", "--to", "tflite,onnx-10")["models"][0]["findings"]) == 2


@pytest.mark.parametrize("workers", ["2", "9"])
def test_models_that_are_checked_side_by_side_are_reported_in_order(
    models: Path, run: Run, workers: str
) -> None:
    for name in "efgh":
        (models / f"{name}.onnx").write_bytes((models / "a.onnx").read_bytes())

    ran, one_by_one = (run("check", "m", "-f", "json", "-j", each) for each in (workers, "1"))

    assert len(json.loads(ran.out)["models"]) > 4
    assert (ran.out, ran.err) == (one_by_one.out, one_by_one.err)
