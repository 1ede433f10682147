"""A call and the tensors it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gathercli.arrays.chunks import everything
from gathercli.arrays.tensor import Tensor
from gathercli.engine import infer
from gathercli.spec.call import Operand
from gathercli.spec.coordinates import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType

_Tensor = TypeVar("_Tensor", bound="ChunkedTensor | Operand")


class BoundCall:
    """A call that every rule of shapes and types agreed to, and the tensors it is of.

    Parameters
    ----------
    call
        The row, the inputs described, and the attributes.
    tensors
        The inputs, in the order of the row: in memory, mapped, or read chunk by chunk.
    """

    def __init__(self, call: Call, *tensors: ChunkedTensor) -> None:
        self.call = call
        self.tensors = dict(zip(call.inputs, tensors, strict=True))

    @property
    def data(self) -> ChunkedTensor:
        """What is gathered: the first input."""
        return next(iter(self.tensors.values()))

    @property
    def indices(self) -> ChunkedTensor:
        """What says where."""
        return self.tensors["indices"]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return known(infer(self.call))

    @property
    def in_memory(self) -> tuple[Tensor, ...] | None:
        """The inputs, if none of them has to be read chunk by chunk."""
        tensors = tuple(each.in_memory for each in self.tensors.values())
        whole = tuple(each for each in tensors if each is not None)
        return whole if len(whole) == len(tensors) else None

    def loaded(self) -> dict[str, Tensor]:
        """Return the inputs by name, those in chunks read as a whole."""
        return {
            name: each.in_memory
            or Tensor(each.dtype, np.asarray(each.read(everything(each.shape)), each.storage))
            for name, each in self.tensors.items()
        }


def of_one_type(tensors: Sequence[_Tensor]) -> list[_Tensor]:
    """Give the tensors whose type untyped text decided the type of a tensor that states its own.

    Raises
    ------
    InputError
        ``dtype``: a tensor does not convert to it without loss.
    """
    dtype = next((each.dtype for each in tensors if each.decided is None), None)
    return [each if each.decided is None else _as_type(each, dtype) for each in tensors]


def _as_type(tensor: Any, dtype: DType | None) -> Any:
    if dtype is None or tensor.dtype is dtype:
        return tensor
    if isinstance(tensor, Operand):
        return tensor._replace(dtype=dtype)
    from gathercli.arrays.conversion import convert

    return convert(tensor, dtype)
