"""The output that is diagnosed, compared with what hypotheses predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gathercli.compute.storage import dtype_of
from gathercli.diagnose.prediction import ElementPool
from gathercli.spec.dtypes import FLOAT64, STRING
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from gathercli.compute.compare import Tolerance
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor


class ObservedOutput:
    """The output that is diagnosed.

    Attributes
    ----------
    tensor, shape, cells
        The output, its shape and the number of its cells.
    storage
        The dtype of its elements as values.
    """

    def __init__(self, tensor: Tensor, tolerance: Tolerance) -> None:
        self.tensor, self.shape = tensor, tensor.shape
        self.cells = product(tensor.shape)
        self._pool, self._tolerance = ElementPool([tensor]), tolerance
        self.storage = self._pool.storage

    def held(self, cells: AnyArray) -> AnyArray:
        """Return what the output holds in some cells."""
        return self._pool.values(cells)

    def agrees(self, values: AnyArray, held: AnyArray) -> AnyArray:
        """Return a mask of equal elements; numbers of two types are compared as numbers."""
        if (values.dtype.kind == "U") != (held.dtype.kind == "U"):
            return np.zeros(values.shape, bool)
        kinds = {values.dtype.kind, held.dtype.kind}
        if kinds & set("iu") and "f" in kinds and not any(self._tolerance):
            return _equal_numbers(values, held)
        if values.dtype.kind == "U":
            dtype = STRING
        elif {values.dtype.kind, held.dtype.kind} & set("fc"):
            dtype = (
                FLOAT64 if "c" not in (values.dtype.kind, held.dtype.kind) else self.tensor.dtype
            )
        else:
            dtype = dtype_of(values.dtype) or self.tensor.dtype
        near: AnyArray = self._tolerance.near(dtype, values, held)
        return near


def _equal_numbers(one: AnyArray, other: AnyArray) -> AnyArray:
    """Compare integers and floats exactly, element by element."""
    floats, integers = (one, other) if one.dtype.kind == "f" else (other, one)
    ends = np.iinfo(integers.dtype)
    with np.errstate(all="ignore"):
        wide = floats.astype(np.float64)
        inside = (wide >= float(ends.min)) & (wide < 2.0 ** int(ends.max).bit_length())
        whole = inside & (np.trunc(wide) == wide)
        equal: AnyArray = whole & (np.where(whole, wide, 0).astype(integers.dtype) == integers)
    return equal
