"""Compare a result with an expected tensor."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import equal
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError, MismatchError
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.dtypes import DType, Kind
from gathercli.text import counted, json_string

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.compute.result import GatherOutput
    from gathercli.compute.storage import AnyArray

NUMBERS: Final = Kind.INT, Kind.UINT, Kind.FLOAT


class Tolerance(NamedTuple):
    """The largest difference that passes: atol + rtol * |expected|."""

    rtol: float = 0.0
    atol: float = 0.0

    def difference(
        self, result: GatherOutput, expected: Tensor | MismatchError
    ) -> MismatchError | None:
        """Compare shape, type and values with `read_expected`; return the first difference."""
        if isinstance(expected, MismatchError):
            return expected
        other_type = expected.typed and result.dtype is not expected.dtype
        if result.shape != expected.shape or other_type:
            return _mismatch(f"is {result}", str(result), str(expected))
        return self._first_difference(result, expected)

    def _first_difference(self, result: GatherOutput, expected: Tensor) -> MismatchError | None:
        """Compare values block by block; return the first difference with the number of all."""
        start = count = first = 0
        texts = "", ""
        part = result.parts()
        for block in expected.blocks():
            stop = start + block.size
            values = Tensor(result.dtype, part(start, stop)).values()
            targets = Tensor(expected.dtype, block).values()
            differs = ~self.near(result.dtype, values, targets)
            number = int(differs.sum())
            if number and not count:
                at = int(differs.argmax())
                first, texts = start + at, (text_of(values[at]), text_of(targets[at]))
            start, count = stop, count + number
            result.report_progress("compared", stop * int(result.storage.itemsize))
        if not count:
            return None
        where = cell(coordinate(first, result.shape))
        error = _mismatch(f"has {texts[0]} at `{where}`", *texts, count, start)
        error.where = where
        return error

    def near(self, dtype: DType, values: AnyArray, expected: AnyArray) -> AnyArray:
        """Return a mask of values within the tolerance; NaN equals NaN, -0.0 equals 0.0."""
        same = equal(dtype, values, expected)
        if (self.rtol or self.atol) and dtype.kind not in (Kind.BOOL, Kind.STRING):
            wide = np.complex128 if dtype.kind is Kind.COMPLEX else np.float64
            with np.errstate(all="ignore"):
                gap = (
                    _gap(values, expected)
                    if dtype.integral and values.dtype.kind == expected.dtype.kind
                    else np.abs(values.astype(wide) - expected.astype(wide))
                )
                near = gap <= self.atol + self.rtol * np.abs(expected.astype(wide))
            same |= near & np.isfinite(values.astype(wide)) & np.isfinite(expected.astype(wide))
        return same


def read_expected(
    read: Callable[[DType | None], Tensor], dtype: DType, tolerance: Tolerance
) -> Tensor | MismatchError:
    """Read the expected tensor, untyped text as the type of the result.

    Parameters
    ----------
    read
        Reads the tensor, untyped text as a type; as numbers of any type if None.
    tolerance
        If it is not zero, numbers that the type cannot represent are read as they are written.

    Returns
    -------
        The tensor, or a mismatch if the type cannot represent one of its values.
    """
    try:
        return read(dtype)
    except InputError as error:
        if error.rule != "dtype":
            raise
        if any(tolerance) and dtype.kind in NUMBERS:
            with suppress(InputError):
                written = read(None)
                if written.dtype.kind in NUMBERS:
                    return Tensor(
                        written.dtype, written.array, typed=False, decided_by=written.decided_by
                    )
        return MismatchError(
            f"the result is {dtype}, but {error.statement}",
            rule="expect",
            where=error.where,
            value=dtype.name,
            expected=error.expected,
            remark=error.remark,
        )


def are_equal(one: Tensor, other: Tensor) -> bool:
    """Return whether shapes and values are equal; types may differ."""
    return one.shape == other.shape and difference_at(one, other) is None


def difference_at(one: Tensor, other: Tensor) -> int | None:
    """Return the flat position of the first difference of tensors of one shape, or None."""
    if Kind.STRING in (one.dtype.kind, other.dtype.kind) and one.dtype is not other.dtype:
        return 0 if one.array.size else None
    dtype = one.dtype if one.dtype.kind in (Kind.FLOAT, Kind.COMPLEX) else other.dtype
    if one.dtype.kind != other.dtype.kind:
        differs = one.values() != other.values()
    else:
        differs = ~equal(dtype, one.values(), other.values())
    positions = np.flatnonzero(differs)
    return int(positions[0]) if positions.size else None


def _gap(values: AnyArray, expected: AnyArray) -> AnyArray:
    """Return the exact distance of integers: the larger minus the smaller, modulo 2^64."""
    one, other = values.astype(np.uint64), expected.astype(np.uint64)
    return np.where(values > expected, one - other, other - one)


def text_of(value: object) -> str:
    """Format a value as JSON does."""
    if isinstance(value, np.str_):
        return json_string(str(value))
    return str(value).lower() if isinstance(value, np.bool_) else str(value)


def _mismatch(
    what: str, value: str, expected: str, count: int | None = None, total: int = 0
) -> MismatchError:
    differ = ""
    if count is not None:
        of = f"of {counted(total, 'element')}"
        differ = f" ({counted(count, f'{of} differs', f'{of} differ')})"
    return MismatchError(
        f"the result {what}",
        rule="expect",
        value=value,
        expected=expected,
        remark=differ,
        count=count,
    )
