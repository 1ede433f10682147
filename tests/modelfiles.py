"""Small models for tests: ONNX by `onnx.helper`, OpenVINO IR as text.

`python -m tests.modelfiles` writes those of the tour.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOUR: Final = Path(__file__).parents[1] / "fixtures" / "tour"

FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
BOOL = TensorProto.BOOL


def value(name: str, kind: int, shape: Sequence[int | str | None] | None) -> onnx.ValueInfoProto:
    """Return a declared value."""
    return helper.make_tensor_value_info(name, kind, shape)


def constants(**arrays: Any) -> list[onnx.TensorProto]:
    """Return initializers; lists are int64."""
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def onnx_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] = (),
    outputs: Sequence[onnx.ValueInfoProto] = (),
    tensors: Sequence[onnx.TensorProto] = (),
    *,
    opset: int = 17,
    values: Sequence[onnx.ValueInfoProto] = (),
    **fields: Any,
) -> onnx.ModelProto:
    """Return a model of one graph."""
    graph = helper.make_graph(nodes, "graph", inputs, outputs, tensors, value_info=values)
    opsets = [helper.make_opsetid("", opset), *fields.pop("opsets", ())]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, **fields)


def one_gather(
    operator: str = "Gather",
    data: Sequence[int | str | None] | None = (10, 3),
    indices: Any = (0, 10),
    *,
    opset: int = 17,
    kind: int = FLOAT,
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a model of one node, with constant indices; data come at run time."""
    node = helper.make_node(operator, ["data", "indices"], ["out"], name="pick", **attributes)
    return onnx_model(
        [node],
        [value("data", kind, data)],
        [value("out", kind, None)],
        constants(indices=np.asarray(indices, np.int64)),
        opset=opset,
    )


class Ir:
    """An OpenVINO IR in the making, layer by layer."""

    def __init__(self, version: int = 11) -> None:
        self.version = version
        self._layers: list[str] = []
        self._edges: list[str] = []
        self._shapes: dict[str, tuple[str, Sequence[int]]] = {}
        self.weights = b""

    def parameter(self, name: str, kind: str, shape: Sequence[int], text: str = "") -> str:
        """Add an input; -1 is an unknown size, `text` a shape as OpenVINO writes it."""
        text = text or ",".join("?" if size < 0 else str(size) for size in shape)
        return self._add(
            name, "Parameter", "opset1", {"shape": text, "element_type": kind}, kind, shape
        )

    def constant(self, name: str, array: Any) -> str:
        """Add a constant."""
        array = np.asarray(array)
        kind = {"i": "i", "u": "u", "f": "f"}[array.dtype.kind] + str(8 * array.itemsize)
        data = {
            "element_type": kind,
            "shape": ", ".join(map(str, array.shape)),
            "offset": len(self.weights),
            "size": array.nbytes,
        }
        self.weights += array.tobytes()
        return self._add(name, "Const", "opset1", data, kind, array.shape)

    def stored_outside(self, name: str, shape: Sequence[int]) -> str:
        """Add an int64 constant at the start of the .bin, which the model around a body writes."""
        data = {"element_type": "i64", "shape": ",".join(map(str, shape)), "offset": 0, "size": 8}
        return self._add(name, "Const", "opset1", data, "i64", shape)

    def layer(
        self,
        name: str,
        operator: str,
        inputs: Sequence[str],
        kind: str,
        shape: Sequence[int],
        *,
        opset: str = "opset8",
        body: str = "",
        **data: Any,
    ) -> str:
        """Add a layer."""
        return self._add(name, operator, opset, data, kind, shape, inputs, body)

    def result(self, *names: str) -> None:
        """Make layers the outputs of the model."""
        for each in names:
            self._add(f"{each}/sink", "Result", "opset1", {}, "", (), [each])

    def _add(  # noqa: PLR0917
        self,
        name: str,
        operator: str,
        opset: str,
        data: Mapping[str, Any],
        kind: str,
        shape: Sequence[int],
        inputs: Sequence[str] = (),
        body: str = "",
    ) -> str:
        number = len(self._layers)
        names = list(self._shapes)
        ports = "".join(self._port(at, *self._shapes[each]) for at, each in enumerate(inputs))
        for at, each in enumerate(inputs):
            source = names.index(each)
            port = self._layers[source].count("<port") - 1
            self._edges.append(
                f'<edge from-layer="{source}" from-port="{port}" '
                f'to-layer="{number}" to-port="{at}"/>'
            )
        attributes = "".join(f' {key}="{word}"' for key, word in data.items())
        self._shapes[name] = kind, shape
        self._layers.append(
            f'<layer id="{number}" name="{name}" type="{operator}" version="{opset}">'
            + (f"<data{attributes}/>" if data else "")
            + (f"<input>{ports}</input>" if ports else "")
            + (f"<output>{self._port(len(inputs), kind, shape)}</output>" if kind else "")
            + f"{body}</layer>"
        )
        return name

    @staticmethod
    def _port(at: int, kind: str, shape: Sequence[int]) -> str:
        dims = "".join(f"<dim>{size}</dim>" for size in shape)
        names = {"f": "FP", "i": "I", "u": "U", "b": "BOOL"}
        words = {"boolean": "BOOL", "string": "STRING"}
        precision = words.get(kind) or names[kind[0]] + kind[1:]
        return f'<port id="{at}" precision="{precision}">{dims}</port>'

    @property
    def body(self) -> str:
        """The layers and edges, as a body in a layer has them."""
        return f"<layers>{''.join(self._layers)}</layers><edges>{''.join(self._edges)}</edges>"

    @property
    def text(self) -> str:
        """The .xml."""
        text = (
            f'<?xml version="1.0"?>\n<net name="net" version="{self.version}">{self.body}</net>\n'
        )
        return text.replace("<layer ", "\n<layer ").replace("<edge ", "\n<edge ")

    def save(self, path: Path) -> Path:
        """Write the .xml and its .bin."""
        path.write_text(self.text, encoding="utf-8")
        path.with_suffix(".bin").write_bytes(self.weights)
        return path


EMBEDDINGS: Final = np.load(TOUR / "embeddings.npy")


def tour_onnx() -> onnx.ModelProto:
    """Return the encoder of the tour: one node looks tokens up, one has a row too many."""
    nodes = [
        helper.make_node("Gather", ["embeddings", "tokens"], ["words"], name="/words/Gather"),
        helper.make_node("Gather", ["embeddings", "rows"], ["positions"], name="/positions/Gather"),
        helper.make_node("Gather", ["words", "first"], ["start"], name="/start/Gather", axis=1),
    ]
    return onnx_model(
        nodes,
        [value("tokens", INT64, ["batch", "length"])],
        [value("start", FLOAT, ["batch", 4]), value("positions", FLOAT, [4, 4])],
        constants(embeddings=EMBEDDINGS, rows=[0, 1, 2, 6], first=0),
    )


def tour_ir() -> Ir:
    """Return the encoder of the tour as OpenVINO has it."""
    ir = Ir()
    tokens = ir.parameter("tokens", "i64", [-1, -1])
    embeddings = ir.constant("embeddings", EMBEDDINGS)
    rows = ir.constant("rows", np.array([0, 1, 2, 6]))
    zero, one = (ir.constant(f"axis_{n}", np.array(n, np.int32)) for n in (0, 1))
    first = ir.constant("first", np.array(0))
    words = ir.layer(
        "/words/Gather", "Gather", [embeddings, tokens, zero], "f32", [-1, -1, 4], batch_dims=0
    )
    ir.layer("/positions/Gather", "Gather", [embeddings, rows, zero], "f32", [4, 4], batch_dims=0)
    ir.layer("/start/Gather", "Gather", [words, first, one], "f32", [-1, 4], batch_dims=0)
    ir.result("/start/Gather", "/positions/Gather")
    return ir


if __name__ == "__main__":
    (TOUR / "encoder.onnx").write_bytes(tour_onnx().SerializeToString(deterministic=True))
    tour_ir().save(TOUR / "encoder.xml")
