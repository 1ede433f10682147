"""Cast tensors to another type, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.conversion import cast, check_kinds, conversion_error, whole
from gathercli.compute.storage import place, storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError
from gathercli.spec.dtypes import BOOL, STRING, DType, Kind, described
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.compute.storage import AnyArray


_BYTE: Final = dtype_named("uint8")


class CastTensor:
    """A tensor converted to `dtype`, a `Result`.

    Parameters
    ----------
    lossy
        Whether values may change: to the nearest, ties to even, or to true or false. None becomes
        infinite or wraps around.
    truncate
        Whether floats are truncated to integers instead, with `lossy`.

    Raises
    ------
    InputError
        ``dtype``: the types do not convert, a value would change, or it is out of range.
    """

    def __init__(
        self, tensor: Tensor, dtype: DType, *, lossy: bool, truncate: bool = False
    ) -> None:
        types = (tensor.dtype, dtype)
        boolean = BOOL in types and STRING not in types
        if not (lossy and boolean):
            try:
                check_kinds(*types)
            except InputError as error:
                error.hint = "`--lossy` converts between booleans and numbers" if boolean else None
                raise
        self._tensor, self.dtype, self._lossy, self._truncate = tensor, dtype, lossy, truncate
        self.shape, self.raw = tensor.shape, None
        self.storage = tensor.storage if tensor.dtype is dtype else storage_of(dtype)
        self.note = self._check()

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return self._tensor.array.size * int(self.storage.itemsize)

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    def blocks(self) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat."""
        for block in self._tensor.blocks():
            yield self._cast(block)[0]

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Pass the bytes to `put` in blocks, each with its offset."""
        place(self.blocks(), put)

    def whole(self) -> Tensor:
        """Return the converted tensor in memory."""
        array = self._cast(self._tensor.array.reshape(-1))[0]
        return Tensor(self.dtype, array.reshape(self.shape))

    def _cast(self, block: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return the elements of a block as `dtype`, and a mask of those with equal values."""
        part = Tensor(self._tensor.dtype, block)
        if part.dtype is self.dtype:
            return block, np.ones(block.shape, np.bool_)
        if self.dtype is BOOL:
            truths: AnyArray = part.values() != 0
            return truths, truths == part.values()
        if part.dtype is BOOL:
            part = Tensor(_BYTE, (block != 0).view(np.uint8))
        return cast(part, self.dtype, truncate=self._truncate)

    def _check(self) -> str | None:
        """Raise for the first value that does not convert; return a note on changed values."""
        if self._tensor.dtype is self.dtype:
            return None
        start = changed = 0
        first = None
        for block in self._tensor.blocks():
            array, unchanged = self._cast(block)
            bad = ~unchanged & self._out_of_range(block, array) if self._lossy else ~unchanged
            if bad.any():
                raise self._refusal(start + int(bad.argmax()))
            if not unchanged.all():
                first = start + int(unchanged.argmin()) if first is None else first
                changed += int((~unchanged).sum())
            start += block.size
        if first is None:
            return None
        total = counted(self._tensor.array.size, "element")
        how = "changed to" if self.dtype is BOOL else "rounded to the nearest"
        if self._truncate:
            how = "truncated to"
        return f"{grouped(changed)} of {total} {how} {self.dtype}, {self._at(first)}"

    def _out_of_range(self, block: AnyArray, array: AnyArray) -> Any:
        """Return a mask of the values that are out of range: wrapped or infinite in `array`."""
        values = Tensor(self._tensor.dtype, block).values()
        if self.dtype.integral:
            bottom, top = self.dtype.bounds
            if self._tensor.dtype.integral:
                return (values < bottom) | (values > top)
            with np.errstate(invalid="ignore"):  # a signalling NaN
                wide = whole(values, truncate=self._truncate).astype(np.float64)
            return ~((wide >= float(bottom)) & (wide < float(top + 1)))
        if self.dtype.narrow:
            from gathercli.compute.narrow import nearest

            return ~nearest(values.astype(np.float64), self.dtype)[1]
        if self.dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
            return np.isinf(Tensor(self.dtype, array).values()) & np.isfinite(values)
        return np.zeros(block.shape, np.bool_)

    def _refusal(self, at: int) -> InputError:
        error = conversion_error(self._tensor, at, self.dtype)
        if self._lossy:
            error.expected = "one that is within its range"
        error.hint = "; ".join(self._advice()) or None
        return error

    def _advice(self) -> Iterator[str]:
        """Yield hints to the options with which every element converts."""
        source = self._tensor.dtype
        if not self._lossy and self._fits(truncate=False):
            floats = {self.dtype.kind, source.kind} == {Kind.FLOAT}
            if floats and not self._tensor.typed and self._reads_as_text():
                yield f"`--data-dtype {self.dtype}` reads the text as {self.dtype}"
            yield "`--lossy` converts to the nearest value"
        truncates = self.dtype.integral and source.kind is Kind.FLOAT
        if truncates and not self._truncate and self._fits(truncate=True):
            yield "`--truncate` converts towards zero"

    def _fits(self, *, truncate: bool) -> bool:
        """Return whether every element converts with ``--lossy``."""
        try:
            CastTensor(self._tensor, self.dtype, lossy=True, truncate=truncate)
        except InputError:
            return False
        return True

    def _reads_as_text(self) -> bool:
        """Return whether the text of the elements reads as `dtype`, without rounding integers."""
        for block in self._tensor.blocks():
            values = Tensor(self._tensor.dtype, block).values()
            if (~self._cast(block)[1] & (values == np.floor(values))).any():
                return False
        return True

    def _at(self, at: int) -> str:
        from gathercli.spec.coordinates import coordinate

        where = ",".join(map(str, coordinate(at, self.shape)))
        return f"the first {self._tensor.at(at)!s} at [{where}]"
