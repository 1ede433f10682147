"""What models of very many parts take of memory: at most what `--max-bytes` allows, about."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Final

import pytest

from gathercli.errors import LimitError
from gathercli.io.onnx.wire import encoded
from gathercli.models import ReadOptions, read
from tests.modelfiles import TOUR, tour_ir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]

LIMIT: Final = 2_000_000
COUNT: Final = 200_000
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


INT64, FLAG = b"\x10\x07", b"\x08\x01"
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
        b"".join(encoded(5, INT64 + encoded(8, word)) for word in words())
    ),
    "ONNX of elements one by one": lambda: model(encoded(5, INT64 + b"\x38\x01" * COUNT)),
    "ONNX of entries of a file": lambda: model(encoded(5, INT64 + encoded(13, b"") * COUNT)),
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


COMMANDS: Final = (
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


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_that_reads_a_model_limits_it(
    command: tuple[str, ...], run: Run, folder: Path
) -> None:
    tour_ir().save(folder / "m.xml")
    (folder / "jobs.jsonl").write_text('{"node": "m.xml#/positions/Gather"}\n')

    ran = run(*command, "--max-bytes", "4000")

    assert ran.status == 65
    assert "the parts of the model take " in ran.err
    assert "`--max-bytes 0`" in ran.err
