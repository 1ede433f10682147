"""A translated call: its files, and what they compute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Final

from gathercli.io.ir.graphs import ir_files, read_ir_graph
from gathercli.io.onnx.graphs import onnx_bytes, read_onnx
from gathercli.text import counted
from gathercli.translate.evaluate import ONNX, OPENVINO, evaluated, evaluated_graph
from gathercli.translate.ir_graph import OPSETS, ir_graph
from gathercli.translate.lowering import lowered
from gathercli.translate.onnx_graph import OPSET, onnx_graph, onnx_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gathercli.compute.tensor import Tensor
    from gathercli.io.graph import Graph
    from gathercli.spec.call import Call
    from gathercli.translate.program import Program
    from gathercli.translate.targets import TranslationTarget


class Translation(ABC):
    """A call in another framework.

    Attributes
    ----------
    call, target
        The call, and the target.
    program
        Its program.
    files
        The files by suffix; the first one is the translation itself.
    text
        The translation as text.
    """

    files: Mapping[str, bytes]
    text: str

    def __init__(self, call: Call, target: TranslationTarget) -> None:
        self.call, self.target = call, target
        self.program: Program = lowered(call, target)

    @property
    def any_size(self) -> bool:
        """Whether it serves tensors of other sizes, of the same ranks."""
        return self.program.fits_all_sizes

    @property
    @abstractmethod
    def size(self) -> str:
        """How large it is, for people: ``5 nodes``."""

    @abstractmethod
    def evaluate(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return what the files compute, by our own evaluation."""


class OnnxTranslation(Translation):
    """A call as a model of ONNX."""

    def __init__(self, call: Call, target: TranslationTarget) -> None:
        super().__init__(call, target)
        graph = onnx_graph(self.program)
        self.files = {".onnx": onnx_bytes(graph, OPSET)}
        self.text = onnx_text(graph)

    @cached_property
    def graph(self) -> Graph:
        """The graph as it is read from the file."""
        return read_onnx(self.files[".onnx"])

    @property
    def size(self) -> str:
        """The number of its nodes."""
        return _nodes(self.graph)

    def evaluate(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Run the graph of the file."""
        return evaluated_graph(self.graph, ONNX, tensors)


class OpenVinoTranslation(Translation):
    """A call as an IR of OpenVINO."""

    def __init__(self, call: Call, target: TranslationTarget) -> None:
        super().__init__(call, target)
        self._ir = files = ir_files(ir_graph(self.program), OPSETS)
        self.files = {".xml": files.xml.encode(), ".bin": files.weights}
        self.text = files.xml

    @cached_property
    def graph(self) -> Graph:
        """The graph as it is read from the files."""
        return read_ir_graph(self._ir)

    @property
    def size(self) -> str:
        """The number of its nodes."""
        return _nodes(self.graph)

    def evaluate(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Run the graph of the files."""
        return evaluated_graph(self.graph, OPENVINO, tensors)


class CodeTranslation(Translation):
    """A call as a function in Python."""

    def __init__(self, call: Call, target: TranslationTarget) -> None:
        from gathercli.translate.code import code

        super().__init__(call, target)
        self.text = code(self.program, call, target)
        self.files = {".py": self.text.encode()}

    @property
    def any_size(self) -> bool:
        """Whether it serves tensors of other sizes: code reads them."""
        return True

    @property
    def size(self) -> str:
        """The number of its lines."""
        return counted(len(self.text.splitlines()), "line")

    def evaluate(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Run the program."""
        return evaluated(self.program, self.target, tensors)


def _nodes(graph: Graph) -> str:
    from gathercli.text import counted

    return counted(len(graph.nodes), "node")


_KINDS: Final[dict[str, Callable[[Call, TranslationTarget], Translation]]] = {
    ".onnx": OnnxTranslation,
    ".xml": OpenVinoTranslation,
    ".py": CodeTranslation,
}
"""The translations by the suffix of their targets."""


def translated(call: Call, target: TranslationTarget) -> Translation:
    """Translate a bound call.

    Raises
    ------
    UsageError
        The target cannot express it.
    """
    return _KINDS[target.suffix](call, target)
