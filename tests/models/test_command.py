"""`gathercli model`: the list of nodes, and the verdict on each."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
import pytest
from onnx import helper

from gathercli.errors import TransferError
from gathercli.models.files import read
from tests.modelfiles import FLOAT, TOUR, Ir, constants, one_gather, onnx_model, tour_ir, value

if TYPE_CHECKING:
    from tests.conftest import Run


ENCODER: Final = f"{TOUR}/encoder.onnx"


def test_the_nodes_are_a_table_and_the_reasons_follow(run: Run) -> None:
    ran = run("model", ENCODER)

    lines = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    assert lines[0] == f"{ENCODER}: ONNX IR 8, opset 17; 3 of 3 nodes of the Gather family"
    assert [line.split()[0] for line in lines[2:6]] == [
        "node",
        "/words/Gather",
        "/positions/Gather",
        "/start/Gather",
    ]
    assert lines[-1].startswith("/positions/Gather: index 6 at `[3]` is outside axis 0")


def test_a_narrow_terminal_shows_a_node_over_several_lines(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")

    out = run("model", ENCODER).out

    assert (
        "/start/Gather\n  version     onnx.Gather-13\n  attributes  axis 1\n"
        "  inputs      data=words f32[batch,length,4] indices=first i64[]*\n"
        "  output      start f32[batch,4]\n"
        "  verdict     at run time\n"
    ) in out


def test_the_verdicts_have_colours(run: Run, tmp_path: Path) -> None:
    onnx_out = run("model", ENCODER, "--color", "always").out
    ir_out = run("model", f"{TOUR}/encoder.xml", "--color", "always").out
    proven = onnx_model(
        [helper.make_node("Gather", ["x", "i"], ["y"])],
        [value("x", FLOAT, [3])],
        [value("y", FLOAT, None)],
        constants(i=np.array([2])),
    )
    (tmp_path / "p.onnx").write_bytes(proven.SerializeToString())
    proven_out = run("model", str(tmp_path / "p.onnx"), "--color", "always").out

    assert "\x1b[31mrefused: index-range\x1b[0m" in onnx_out
    assert "\x1b[32mproven\x1b[0m" in proven_out
    assert "\x1b[33mfills\x1b[0m" in ir_out


def test_all_lists_the_tensors(run: Run) -> None:
    text = run("model", ENCODER, "--all").out
    line = json.loads(run("model", ENCODER, "--all", "-f", "json").out)

    assert text.endswith("embeddings  f32[6,4]\nrows        i64[4]\nfirst       i64[]\n")
    assert line["tensors"] == [
        {"name": "embeddings", "dtype": "float32", "shape": [6, 4]},
        {"name": "rows", "dtype": "int64", "shape": [4]},
        {"name": "first", "dtype": "int64", "shape": []},
    ]


def test_json_is_a_line_with_the_whole_verdict(run: Run) -> None:
    out = run("model", ENCODER, "-f", "json").out

    line = json.loads(out)
    _, positions, start = line.pop("nodes")
    assert out.count("\n") == 1
    assert line == {
        "file": ENCODER,
        "format": "onnx",
        "version": 8,
        "producer": "",
        "opsets": {"": 17},
        "total": 3,
    }
    assert positions["verdict"] == "refused"
    assert positions["error"]["rule"] == "index-range"
    assert (positions["error"]["where"], positions["error"]["value"]) == ("[3]", 6)
    assert start == {
        "name": "/start/Gather",
        "own_name": "/start/Gather",
        "path": [],
        "operator": "Gather",
        "opset": 17,
        "version": "onnx.Gather-13",
        "attributes": {"axis": 1},
        "inputs": {
            "data": {
                "value": "words",
                "dtype": "float32",
                "shape": ["batch", "length", 4],
                "constant": False,
            },
            "indices": {"value": "first", "dtype": "int64", "shape": [], "constant": True},
        },
        "outputs": [
            {"value": "start", "dtype": "float32", "shape": ["batch", 4], "inferred": ["batch", 4]}
        ],
        "verdict": "at run time",
        "checked": ["indices"],
        "adjustments": [],
        "unread": {},
        "error": None,
        "contradictions": [],
    }


def test_what_is_filled_is_said(run: Run) -> None:
    ran = run("model", f"{TOUR}/encoder.xml")

    assert ran.out.endswith(
        "/positions/Gather: 1 of 4 indices outside -6..5, zero-filled; first 6 at [3]\n"
    )


def test_a_model_without_the_family_has_a_heading_alone(tmp_path: Path, run: Run) -> None:
    onnx.save(onnx_model([helper.make_node("Relu", ["x"], ["y"])]), tmp_path / "m.onnx")

    ran = run("model", f"{tmp_path}/m.onnx")

    assert ran.out == (
        f"{tmp_path}/m.onnx: ONNX IR 8, opset 17; 0 of 1 node of the Gather family\n"
    )


def test_a_missing_bin_and_a_newer_opset_are_noted(tmp_path: Path, run: Run) -> None:
    tour_ir().save(tmp_path / "m.xml")
    (tmp_path / "m.bin").unlink()
    onnx.save(one_gather(opset=999), tmp_path / "m.onnx")

    ir, newer = run("model", f"{tmp_path}/m.xml"), run("model", f"{tmp_path}/m.onnx", "--no-infer")

    assert ir.err == f"note: there is no `{tmp_path}/m.bin`, so no constant was read\n"
    assert newer.err.startswith("note: onnx opset 999 is newer than")


def test_shapes_are_inferred_unless_no_infer_is_given(tmp_path: Path, run: Run) -> None:
    nodes = [
        helper.make_node("MatMul", ["w", "x"], ["h"]),
        helper.make_node("Gather", ["h", "i"], ["y"]),
    ]
    tensors = constants(w=np.zeros((5, 2), np.float32), i=[5])
    onnx.save(onnx_model(nodes, [value("x", FLOAT, [2, 3])], tensors=tensors), tmp_path / "m.onnx")

    inferred = run("model", f"{tmp_path}/m.onnx")
    plain = run("model", f"{tmp_path}/m.onnx", "--no-infer")

    assert "data=h f32[5,3] indices=i i64[1]*  f32[1,3]  refused: index-range" in inferred.out
    assert "data=h [...] indices=i i64[1]*  [...]   at run time" in plain.out


def test_names_do_not_reach_the_terminal_as_they_are(tmp_path: Path, run: Run) -> None:
    model = one_gather(indices=[99])
    model.graph.node[0].name = "\x1b[31m\u202e"
    model.producer_name = "\x07"
    onnx.save(model, tmp_path / "m.onnx")

    ran = run("model", f"{tmp_path}/m.onnx", "--all")

    assert not {"\x1b", "\x07", "\u202e"} & set(ran.out)
    assert "\\x1b[31m" in ran.out


def test_a_model_is_read_from_standard_input(run: Run) -> None:
    raw = Path(ENCODER).read_bytes()

    ran = run("model", "-", stdin=raw)

    assert ran.status == 0
    assert ran.out.startswith("-: ONNX IR 8")


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (None, 66, "there is no file"),
        (b"", 65, "it is not an ONNX model: it has no graph: expected"),
        (
            b"\x08\x07\x3a\x05",
            65,
            "truncated: it ends at byte 4, inside the field at byte 2: expected",
        ),
        (b"<net version='11'", 65, "the file is truncated: it ends at byte 17, inside an element"),
        (b"<html/>", 65, "the root of the .xml is <html>: expected <net> of an IR"),
    ],
)
def test_what_is_no_model_is_one_error(
    tmp_path: Path, run: Run, content: bytes | None, status: int, message: str
) -> None:
    if content is not None:
        (tmp_path / "m.onnx").write_bytes(content)

    ran = run("model", f"{tmp_path}/m.onnx")

    assert (ran.status, ran.out) == (status, "")
    assert message in ran.err
    assert ran.err.count("error: ") == 1


def varint(number: int) -> bytes:
    """Encode a number."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def save_sparse(path: Path, size: int) -> None:
    """Write a model with a tensor of `size` bytes at its end, of which the disk holds none."""
    small = onnx_model(
        [helper.make_node("Gather", ["w", "i"], ["y"])], tensors=constants(i=[0, -1])
    )
    tensor = b"\x08" + varint(size // 16) + b"\x08\x04\x10\x01\x42\x01w\x4a" + varint(size)
    graph = small.graph.SerializeToString() + b"\x2a" + varint(len(tensor) + size) + tensor
    small.ClearField("graph")
    raw = small.SerializeToString() + b"\x3a" + varint(len(graph) + size) + graph
    with path.open("wb") as file:
        file.write(raw)
        file.truncate(len(raw) + size)


def test_weights_are_never_read(tmp_path: Path) -> None:
    save_sparse(tmp_path / "m.onnx", 1 << 32)

    tracemalloc.start()
    model = read(f"{tmp_path}/m.onnx")
    row = model.tensors["w"].tensor().array[-1]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    model.close()

    assert str(model.nodes[0].inputs[0].operand) == "f32[268435456,4]"
    assert row.tolist() == [0, 0, 0, 0]
    assert peak < 1 << 20


def test_a_model_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    tour_ir().save(tmp_path / "m.xml")
    model = read(f"{tmp_path}/m.xml")

    os.utime(tmp_path / "m.bin", ns=(1, 1))

    with pytest.raises(TransferError, match=r"m\.bin` changed while it was read"):
        model.recheck()
    model.close()


def test_strings_of_an_ir_are_read(tmp_path: Path) -> None:
    ir = Ir()
    words = ["a", "", "bé"]
    raw = [word.encode() for word in words]
    offsets = np.cumsum([0, *map(len, raw)])
    packed = np.array([3, *offsets], "<u4").tobytes() + b"".join(raw)
    ir.constant("s", np.frombuffer(packed, np.uint8))
    path = ir.save(tmp_path / "m.xml")
    text = path.read_text()
    old = f'element_type="u8" shape="{len(packed)}"'
    assert old in text
    path.write_text(text.replace(old, 'element_type="string" shape="3"'))

    model = read(str(path))

    assert model.tensors["s"].tensor().array.tolist() == words
    model.close()


@pytest.mark.parametrize("rule", ["output-shape", "attribute", "inputs"])
def test_what_check_refuses_is_not_proven(folder: Path, run: Run, rule: str) -> None:
    more: dict[str, Any] = {"mode": 1} if rule == "attribute" else {}
    names = ["data", "i", *(["i"] if rule == "inputs" else [])]
    node = helper.make_node("Gather", names, ["out"], name="pick", **more)
    sizes = [3 if rule == "output-shape" else 1]
    tensors = constants(i=np.array([0]))
    model = onnx_model([node], [value("data", FLOAT, [4])], [value("out", FLOAT, sizes)], tensors)
    (folder / "m.onnx").write_bytes(model.SerializeToString())

    listed, checked = run("model", "m.onnx", "-f", "json"), run("check", "m.onnx")

    (line,) = json.loads(listed.out)["nodes"]
    (wrong,) = line["contradictions"] or [line["error"]]
    assert (line["verdict"], wrong["rule"]) == ("refused", rule)
    assert f"[{rule}]" in checked.out
    assert f"refused: {rule}" in run("model", "m.onnx").out


def test_a_node_with_constants_that_are_not_read_is_not_proven(folder: Path, run: Run) -> None:
    tour_ir().save(folder / "m.xml")
    (folder / "m.bin").unlink()

    ran = run("model", "m.xml")

    assert "  proven\n" not in ran.out
    assert "/positions/Gather: `indices` and `axis` are not checked: its elements are" in ran.out


def test_lines_of_a_narrow_terminal_end_at_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    narrow = run("model", ENCODER).out

    reasons = narrow[narrow.index("* is constant.") :]
    assert max(map(len, reasons.splitlines())) <= 60


def test_a_node_with_another_name_in_the_model_has_both(folder: Path, run: Run) -> None:
    nodes = [helper.make_node("Gather", ["d", "i"], [each], name="inner") for each in "ab"]
    tensors = constants(d=np.zeros(2, np.float32), i=[0])
    model = onnx_model(nodes, [], [value(each, FLOAT, None) for each in "ab"], tensors)
    (folder / "m.onnx").write_bytes(model.SerializeToString())

    out = run("model", "m.onnx").out

    assert "\na (inner)  onnx.Gather-13" in out
    assert "\nb (inner)  onnx.Gather-13" in out


LONG = 100_000
MOST = 8_000
"""The most characters of a line."""


def with_long_names(indices: list[int]) -> onnx.ModelProto:
    """Return a model whose nodes, tensors, attributes, dimensions and producer have long names."""
    names = {letter: letter * LONG for letter in "abcdenopsx"}
    given = constants(**{names["c"]: np.array(indices)})
    nodes = [
        helper.make_node("Gather", [names["d"], names["c"]], [names[out]], name=names[name])
        for out, name in ("on", "ba")
    ]
    nodes[1].attribute.append(helper.make_attribute(names["x"], 1))
    data = value(names["d"], FLOAT, [3, names["s"]])
    model = onnx_model(nodes, [data], [], given)
    model.producer_name = names["p"]
    model.opset_import.append(helper.make_opsetid(names["e"], 1))
    return model


@pytest.mark.parametrize("indices", [[7], [-1], [0]])
@pytest.mark.parametrize(
    "words",
    [
        ["check", "m.onnx"],
        ["check", "m.onnx", "-f", "pretty"],
        ["check", "m.onnx", "--to", "tensorrt"],
        ["model", "m.onnx"],
        ["model", "m.onnx", "--tensors"],
        ["info", "m.onnx"],
        ["info", "m.onnx", "--header"],
        ["gather", "m.onnx"],
        ["gather", "m.onnx#none"],
        ["explain", "m.onnx"],
        ["compare", "m.onnx"],
        ["translate", "m.onnx", "--to", "numpy"],
        ["diagnose", "m.onnx", "[1]"],
    ],
)
def test_a_line_of_text_has_few_characters_of_a_name(
    words: list[str], indices: list[int], run: Run, folder: Path
) -> None:
    (folder / "m.onnx").write_bytes(with_long_names(indices).SerializeToString())

    ran = run(*words)

    assert max(map(len, [*ran.out.splitlines(), *ran.err.splitlines()])) < MOST


@pytest.mark.parametrize("command", ["check", "model"])
def test_json_has_the_whole_name(command: str, run: Run, folder: Path) -> None:
    (folder / "m.onnx").write_bytes(with_long_names([7]).SerializeToString())

    ran = run(command, "m.onnx", "-f", "json")

    assert "n" * LONG in ran.out


def test_values_have_their_names_where_the_line_has_room(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    wide = run("model", ENCODER).out
    monkeypatch.setenv("COLUMNS", "120")
    narrow = run("model", ENCODER).out

    assert "  data=words f32[batch,length,4] indices=first i64[]*  " in wide
    assert "  start f32[batch,4]  " in wide
    assert "  f32[batch,length,4] i64[]*   f32[batch,4]  " in narrow
    assert max(map(len, narrow.splitlines())) <= 120


@pytest.fixture
def folder_of_two(folder: Path) -> Path:
    """Make a folder of the tour's encoder and of a file that is cut off."""
    onnx.save(one_gather(), folder / "a.onnx")
    (folder / "b.onnx").write_bytes(b"\x08\x07\x3a\x05")
    return folder


@pytest.mark.usefixtures("folder_of_two")
def test_the_models_of_a_folder_follow_each_other_and_one_may_fail(run: Run) -> None:
    ran = run("model", ".", ENCODER)

    assert ran.status == 65
    assert ran.out.startswith("./a.onnx: ONNX IR 8")
    assert f"\n\n{ENCODER}: ONNX IR 8" in ran.out
    assert "b.onnx: the file is truncated" in ran.err


@pytest.mark.usefixtures("folder_of_two")
def test_json_of_several_models_is_a_line_each(run: Run) -> None:
    lines = [json.loads(line) for line in run("model", ".", "-f", "json").out.splitlines()]

    assert [each["file"] for each in lines] == ["./a.onnx", "./b.onnx"]
    assert len(lines[0]["nodes"]) == 1
    assert lines[1]["error"]["status"] == 65


def test_notes_on_several_models_have_their_names(folder: Path, run: Run) -> None:
    onnx.save(one_gather(opset=999), folder / "a.onnx")

    ran = run("model", "a.onnx", ENCODER, "--no-infer")

    assert ran.err.startswith("note: a.onnx: onnx opset 999 is newer than")


def test_a_symbol_is_printed_as_the_model_has_it(folder: Path, run: Run) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["at"]),
        helper.make_node("Gather", ["w", "at"], ["y"]),
    ]
    given = [value("x", FLOAT, ["s55"]), value("w", FLOAT, ["s77", 2])]
    onnx.save(onnx_model(nodes, given, [value("y", FLOAT, None)]), folder / "m.onnx")

    out = run("model", "m.onnx").out

    assert "data=w f32[s77,2] indices=at i64[1,?]  f32[1,?,2]" in out
