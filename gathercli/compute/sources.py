"""Compute the output of a call that is no gather along an axis, by the `sources` of its family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.ops.engine import infer
from gathercli.spec.coordinates import known
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.compute.kernel import Points
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.spec.call import Call, Family

CELLS: Final = 1 << 15
"""Output cells computed at a time: their positions stay in the cache."""


class SourceKernel:
    """The output of a call by the `sources` of its family, with the members of `Kernel`.

    Parameters
    ----------
    tensors
        The inputs by name; the first has the elements.
    points
        The resolved indices of each input of indices.
    """

    def __init__(
        self,
        family: Family,
        call: Call,
        tensors: Mapping[str, Tensor],
        points: Mapping[str, Points],
    ) -> None:
        data, *more = (
            tensors[each.name].array
            for n, each in enumerate(call.op.inputs)
            if each.copied or not n
        )
        self.dtype, self.size = data.dtype, product(known(infer(call)))
        self.block = CELLS
        self.uses_each_once = self.goes_by_columns = False
        self._family, self._call = family, call
        self._copied = [each.reshape(-1) for each in (data, *more)]
        self._points = {name: each.whole() for name, each in points.items()}

    def worker(self) -> SourceKernel:
        """Return the kernel itself, as threads share no state."""
        return self

    def threaded(self, threads: int) -> None:
        """Return None, as `Kernel.threaded` does where no worker starts threads itself."""

    def fill(self, start: int, stop: int, out: AnyArray) -> None:
        """Copy the output elements from `start` to before `stop` to `out`.

        `out` has shape ((stop - start) * itemsize,), uint8, for elements in native byte order.
        """
        native = self.dtype.newbyteorder("=")
        cells = np.arange(start, stop)
        at = self._family.sources(self._call, self._points, cells)
        elements = np.zeros(stop - start, native)
        for each in self._copied:
            copied = (at >= 0) & (at < each.size)
            elements[copied] = each[at[copied]]
            at = at - each.size
        out[:] = elements.view(np.uint8)
