"""Arrays in chunks that count how often each chunk is read, and calls of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gathercli import ops
from gathercli.compute.blocks import GatherBlocks
from gathercli.compute.bound import BoundCall
from gathercli.compute.chunks import tiled
from gathercli.compute.storage import Box, dtype_of, slices
from gathercli.compute.tensor import Tensor
from gathercli.frameworks.versions import find
from gathercli.spec.call import Operand

if TYPE_CHECKING:
    from gathercli.spec.dtypes import DType


class Chunks:
    """An array in chunks, which records every box that is read, and counts it for its chunks."""

    def __init__(self, array: Any, chunks: tuple[int, ...]) -> None:
        self.array, self.chunks = array, chunks
        self.reads: Counter[tuple[int, ...]] = Counter()
        self.boxes: list[Box] = []

    @property
    def dtype(self) -> DType:
        dtype = dtype_of(self.array.dtype)
        assert dtype is not None
        return dtype

    decided_by = None
    reads_rows = False

    @property
    def storage(self) -> Any:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def in_memory(self) -> None:
        return None

    def read(self, box: Box) -> Any:
        self.boxes.append(box)
        for part in tiled(box, self.chunks):
            at = tuple(start // size for (start, _), size in zip(part, self.chunks, strict=True))
            self.reads[at] += 1
        return self.array[slices(box)].copy()


def gathering(
    data: Any, indices: Any, chunks: tuple[int, ...], axis: int = 0, **attributes: Any
) -> tuple[GatherBlocks, Chunks]:
    held = Chunks(data, chunks)
    picked = Tensor(dtype_of(indices.dtype), indices)  # type: ignore[arg-type]
    call = ops.bind(
        find("openvino-8", "gather").op,
        Operand.of(Tensor(held.dtype, data)),
        Operand.of(picked),
        axis=axis,
        **attributes,
    )
    return GatherBlocks(BoundCall(call, held, picked)), held
