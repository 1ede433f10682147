"""Models as files: the names in errors, links beside them, and the memory that they may take."""

from __future__ import annotations

import os
import re
import subprocess
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.external_data_helper import convert_model_to_external_data

from gathercli.errors import LimitError
from gathercli.io.graphs.wire import encoded
from gathercli.models.files import ReadOptions, read
from tests.modelfiles import TOUR, Ir, one_gather, tour_ir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.conftest import Run


COMMANDS: Final = (
    "convert {} out.npy",
    "info {}",
    "gather {} 0",
    "check gather {} 0",
    "explain gather {} 0",
    "compare {} 0",
    "translate gather {} 0 --to numpy",
)


def absent(name: str) -> None:
    del name


def linked(name: str) -> None:
    os.symlink("elsewhere", name)


def piped(name: str) -> None:
    os.mkfifo(name)


def save_onnx(location: str) -> None:
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    node = helper.make_node("Gather", ["w", "i"], ["out"])
    ends = [helper.make_tensor_value_info(name, 7, None) for name in ("i", "out")]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [weights])
    onnx.save(helper.make_model(graph), "x.onnx")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("put", [absent, linked, piped])
@pytest.mark.parametrize("location", ["weights", "file/weights"])
def test_an_error_of_external_data_names_the_model(
    command: str, put: Callable[[str], None], location: str, folder: Path, run: Run
) -> None:
    save_onnx(location)
    (folder / "file").touch()  # which is no folder
    put("weights")

    ran = run(*command.format("x.onnx#w").split(), "--external-data")

    assert ran.status == 66
    assert "x.onnx: the tensor at byte " in ran.err
    assert ran.err.count("x.onnx: ") == 1


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("put", [linked, piped])
def test_an_error_of_the_bin_names_the_ir(
    command: str, put: Callable[[str], None], folder: Path, run: Run
) -> None:
    tour_ir().save(folder / "x.xml")
    os.unlink("x.bin")
    put("x.bin")

    ran = run(*command.format("x.xml#embeddings").split())

    assert ran.status == 66
    assert "x.xml: the constant " in ran.err
    assert ran.err.count("x.xml: ") == 1


ODD = "it's a {model} $HOME \x1b"


def link_to_blobs(*paths: Path) -> None:
    """Put files into a folder of blobs, and links to them in their places."""
    os.makedirs("blobs", exist_ok=True)
    for number, path in enumerate(paths):
        blob = Path("blobs", str(number))
        os.replace(path, blob)
        os.symlink(os.path.relpath(blob, path.parent), path)


def make_onnx(folder: Path, name: str) -> Path:
    path = folder / f"{name}.onnx"
    model = one_gather(indices=[2, 0])
    convert_model_to_external_data(model, location=f"{name}.data", size_threshold=0)
    onnx.save(model, path)
    link_to_blobs(path, folder / f"{name}.data")
    return path


def make_ir(folder: Path, name: str) -> Path:
    ir = Ir()
    data = ir.parameter("data", "f32", [3])
    indices, axis = ir.constant("indices", np.array([2, 0])), ir.constant("axis", np.array(0))
    ir.layer("pick", "Gather", [data, indices, axis], "f32", [2], batch_dims=0)
    ir.result("pick")
    path = ir.save(folder / f"{name}.xml")
    link_to_blobs(path, path.with_suffix(".bin"))
    return path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["model", ODD, "-n"])
@pytest.mark.parametrize("make", [make_onnx, make_ir])
@pytest.mark.parametrize("place", [".", "snap shots"])
def test_the_hint_copies_a_model_and_what_a_link_beside_it_leads_to(
    make: Callable[[Path, str], Path], name: str, place: str, run: Run
) -> None:
    os.makedirs(place, exist_ok=True)
    path = make(Path(place), name)
    refused = run("check", f"./{path}", "--external-data")

    hint = re.search(r"hint: `(mkdir .*)` copies what the link leads to; (.*) is", refused.err)

    assert refused.status == 66
    assert hint is not None
    subprocess.run(["/bin/bash", "-c", hint[1]], check=True)
    copied = run("check", f"copy/{path.name}", "--external-data")
    assert "1 model, 1 node: 1 proven; no finding" in copied.out


@pytest.mark.usefixtures("folder")
def test_a_link_that_leads_nowhere_has_no_hint(run: Run) -> None:
    path = make_onnx(Path(), "model")
    os.remove("blobs/1")

    ran = run("check", str(path), "--external-data")

    assert ran.status == 66
    assert "hint:" not in ran.err


LIMIT: Final = 1_000_000
COUNT: Final = 100_000
LAYER: Final = '<layer id="0" name="p" type="If" version="opset8">'


def net(layers: str, edges: str = "") -> bytes:
    """Return an IR of one body."""
    text = f"<layers>{layers}</layers><edges>{edges}</edges>"
    return f'<net name="n" version="11">{text}</net>'.encode()


def layer(*parts: str) -> bytes:
    """Return an IR of one layer."""
    return net(f"{LAYER}{''.join(parts)}</layer>")


def each(text: str) -> str:
    """Return a text with every number in it."""
    return "".join(text.format(n) for n in range(COUNT))


def model(graph: bytes, *fields: bytes) -> bytes:
    """Return an ONNX model of opset 17."""
    opset = encoded(8, b"\x10\x11")
    return b"\x08\x08" + opset + encoded(7, graph) + b"".join(fields)


def one_node(*fields: bytes) -> bytes:
    """Return an ONNX model of one Gather."""
    return model(encoded(1, encoded(4, b"Gather") + b"".join(fields)))


def words(start: bytes = b"") -> Iterable[bytes]:
    return (start + b"%d" % n for n in range(COUNT))


INT64_FIELD, FLAG = b"\x10\x07", b"\x08\x01"
PARTS: Final[dict[str, Callable[[], bytes]]] = {
    "IR of input ports": lambda: layer("<input>", "<port/>" * COUNT, "</input>"),
    "IR of output ports": lambda: layer("<output>", each('<port id="{}"/>'), "</output>"),
    "IR of dimensions": lambda: layer("<input><port>", each("<dim>{}</dim>"), "</port></input>"),
    "IR of a long dimension": lambda: layer("<input><port><dim>", "1" * 9_000_000, "</dim>"),
    "IR of layers": lambda: net(each('<layer id="{}"/>')),
    "IR of edges": lambda: net(
        '<layer id="0"/>', each('<edge from-layer="0" to-layer="0" to-port="{}"/>')
    ),
    "IR of attributes": lambda: net(f'<layer id="0"><data {each("a{}=" + chr(34) * 2 + " ")}/>'),
    "IR of a long attribute": lambda: net(f'<layer id="{"1" * 9_000_000}"/>'),
    "IR of names": lambda: net(each("<x{}/>")),
    "IR of back edges": lambda: layer(
        "<back_edges>", each('<edge to-layer="{}"/>'), "</back_edges>"
    ),
    "IR of maps": lambda: layer("<port_map>", each('<input internal_layer_id="{}"/>')),
    "ONNX of nodes": lambda: model(encoded(1, b"") * COUNT),
    "ONNX of inputs of a node": lambda: one_node(encoded(1, b"") * COUNT),
    "ONNX of a long name": lambda: one_node(encoded(3, b"n" * 9_000_000)),
    "ONNX of integers": lambda: one_node(
        encoded(5, encoded(1, b"axis") + encoded(8, b"\x01" * COUNT))
    ),
    "ONNX of integers one by one": lambda: one_node(
        encoded(5, encoded(1, b"axis") + b"\x40\x01" * COUNT)
    ),
    "ONNX of Gathers": lambda: model(
        b"".join(encoded(1, encoded(2, word) + encoded(4, b"Gather")) for word in words())
    ),
    "ONNX of values": lambda: model(
        b"".join(encoded(13, encoded(1, word) + encoded(2, b"")) for word in words())
    ),
    "ONNX of tensors": lambda: model(
        b"".join(encoded(5, INT64_FIELD + encoded(8, word)) for word in words())
    ),
    "ONNX of elements one by one": lambda: model(encoded(5, INT64_FIELD + b"\x38\x01" * COUNT)),
    "ONNX of entries of a file": lambda: model(encoded(5, INT64_FIELD + encoded(13, b"") * COUNT)),
    "ONNX of functions": lambda: model(b"", encoded(25, b"") * COUNT),
    "ONNX of opsets": lambda: model(b"", *(encoded(8, encoded(1, word)) for word in words())),
}
"""Files of a part over and over, each some bytes of text and many more in memory."""


@pytest.mark.no_cover
@pytest.mark.parametrize("content", PARTS.values(), ids=PARTS)
def test_a_model_takes_no_more_memory_than_it_may(
    content: Callable[[], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "model.xml"
    path.write_bytes(content())
    tracemalloc.start()

    try:
        with pytest.raises(LimitError, match=r"of the model take .* held in memory: expected at"):
            read(str(path), ReadOptions(limit=LIMIT))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 5 * LIMIT + 2_000_000  # a tag of the last part that was read


@pytest.mark.parametrize("name", ["encoder.onnx", "encoder.xml"])
def test_an_ordinary_model_takes_little(name: str) -> None:
    model = read(str(TOUR / name), ReadOptions(limit=40_000))

    assert len(model.nodes) == 3


LIMITED: Final = (
    ("check", "m.xml"),
    ("model", "m.xml"),
    ("info", "m.xml"),
    ("convert", "m.xml#rows", "x.npy"),
    ("gather", "m.xml#rows", "0"),
    ("gather", "m.xml#/positions/Gather"),
    ("shape", "m.xml#/positions/Gather"),
    ("translate", "m.xml#/positions/Gather", "--to", "numpy"),
    ("batch", "m.xml#/positions/Gather"),
    ("batch", "jobs.jsonl"),
)


@pytest.mark.parametrize("command", LIMITED, ids=" ".join)
def test_every_command_that_reads_a_model_limits_it(
    command: tuple[str, ...], run: Run, folder: Path
) -> None:
    tour_ir().save(folder / "m.xml")
    (folder / "jobs.jsonl").write_text('{"node": "m.xml#/positions/Gather"}\n')

    ran = run(*command, "--max-bytes", "4000")

    assert ran.status == 65
    assert "the parts of the model take " in ran.err
    assert "`--max-bytes 0`" in ran.err
