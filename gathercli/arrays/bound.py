"""A call and the tensors it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gathercli.engine import infer
from gathercli.spec.coordinates import known

if TYPE_CHECKING:
    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.arrays.tensor import Tensor
    from gathercli.spec.call import Call


class BoundCall(NamedTuple):
    """A call that every rule of shapes and types agreed to, and the tensors it is of.

    Attributes
    ----------
    call
        The row, the inputs described, and the attributes.
    data, indices
        The inputs: in memory, mapped, or read chunk by chunk.
    """

    call: Call
    data: ChunkedTensor
    indices: ChunkedTensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return known(infer(self.call))

    @property
    def in_memory(self) -> tuple[Tensor, Tensor] | None:
        """The inputs, if none of them has to be read chunk by chunk."""
        data, indices = self.data.in_memory, self.indices.in_memory
        return None if data is None or indices is None else (data, indices)
