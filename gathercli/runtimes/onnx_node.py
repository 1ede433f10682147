"""An ONNX model with a single node, encoded by hand: it needs no package to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import OperatorError
from gathercli.io.onnx.tensorproto import TYPES
from gathercli.io.onnx.wire import encoded, text_field
from gathercli.ops import engine
from gathercli.spec.call import Operand
from gathercli.spec.coordinates import known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op

OLDEST_OPSET: Final = 7
"""The oldest opset that onnxruntime supports; older versions of an operator are part of it."""

IR_VERSION: Final = 8
_INTEGER: Final = 2
"""The type of an attribute."""


def onnx_model(op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]) -> bytes:
    """Return a model of one node, whose inputs are `tensors` and whose result is ``output``.

    Parameters
    ----------
    op
        A version of ONNX.
    attrs
        The attributes that the node sets.
    """
    data = next(iter(tensors.values()))
    node = b"".join(
        (
            *(text_field(1, name) for name in tensors),
            text_field(2, "output"),
            text_field(4, op.name),
            *(encoded(5, attribute(name, value)) for name, value in attrs.items()),
        )
    )
    graph = b"".join(
        (
            encoded(1, node),
            text_field(2, op.family),
            *(
                encoded(11, value_info(name, each.dtype, each.shape))
                for name, each in tensors.items()
            ),
            encoded(12, value_info("output", data.dtype, _output_shape(op, tensors, attrs))),
        )
    )
    opset = encoded(2, max(op.version, OLDEST_OPSET))
    return encoded(1, IR_VERSION) + encoded(7, graph) + encoded(8, opset)


def _output_shape(
    op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]
) -> tuple[int, ...] | None:
    """Return the shape of the result; None if the version refuses the call."""
    try:
        call = engine.bind(op, *map(Operand.of, tensors.values()), **dict[str, Any](attrs))
    except OperatorError:
        return None
    return known(engine.infer(call))


def attribute(name: str, value: int) -> bytes:
    """Encode an attribute that is an integer."""
    return text_field(1, name) + encoded(3, value % 2**64) + encoded(20, _INTEGER)


def value_info(name: str, dtype: DType, shape: Sequence[int | str] | None = None) -> bytes:
    """Return the declaration of a value; without `shape`, its rank is unknown."""
    tensor = encoded(1, TYPES.index(dtype) if dtype in TYPES else 0)
    if shape is not None:
        tensor += encoded(2, b"".join(encoded(1, _dimension(size)) for size in shape))
    return text_field(1, name) + encoded(2, encoded(1, tensor))


def _dimension(size: int | str) -> bytes:
    return text_field(2, size) if isinstance(size, str) else encoded(1, size)
