"""A result beside the tensor that it should equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gathercli.arrays.tensor import Tensor, equal
from gathercli.errors import InputError, MismatchError
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.dtypes import DType, Kind
from gathercli.text import counted, grouped, json_string

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.result import GatherOutput
    from gathercli.arrays.tensor import AnyArray


class Tolerance(NamedTuple):
    """How near a result must be to what is expected: within atol + rtol * |expected|."""

    rtol: float = 0.0
    atol: float = 0.0

    def difference(
        self, result: GatherOutput, expected: Tensor | MismatchError
    ) -> MismatchError | None:
        """Compare shape, type and values; name the first difference and how many there are.

        Parameters
        ----------
        expected
            What `read_expected` returned.
        """
        if isinstance(expected, MismatchError):
            error = expected
        elif result.shape != expected.shape or result.dtype is not expected.dtype:
            error = _mismatch(f"is {result}", str(result), str(expected))
        else:
            found = self._first_difference(result, expected)
            if found is None:
                return None
            error = found
        result.bound.call.add_call(error)
        return error

    def _first_difference(self, result: GatherOutput, expected: Tensor) -> MismatchError | None:
        """Go through both block by block; name the first difference, and how many there are."""
        start = count = at = 0
        found = wished = ""
        part = result.parts()
        for block in expected.blocks():
            stop = start + block.size
            got = Tensor(result.dtype, part(start, stop)).values()
            wanted = Tensor(result.dtype, block).values()
            differs = ~self._near(result.dtype, got, wanted)
            number = int(differs.sum())
            if number and not count:
                first = int(differs.argmax())
                at, found, wished = start + first, _shown(got[first]), _shown(wanted[first])
            start, count = stop, count + number
            result.report_progress("compared", stop * int(result.storage.itemsize))
        if not count:
            return None
        where = cell(coordinate(at, result.shape))
        error = _mismatch(f"has {found} at `{where}`", found, wished, count, start)
        error.where = where
        return error

    def _near(self, dtype: DType, got: AnyArray, wanted: AnyArray) -> AnyArray:
        """Tell element by element what is near enough; NaN equals NaN, -0.0 equals 0.0."""
        same = equal(dtype, got, wanted)
        if (self.rtol or self.atol) and dtype.kind not in (Kind.BOOL, Kind.STRING):
            wide = np.complex128 if dtype.kind is Kind.COMPLEX else np.float64
            with np.errstate(all="ignore"):
                gap = (
                    _gap(got, wanted)
                    if dtype.integral
                    else np.abs(got.astype(wide) - wanted.astype(wide))
                )
                near = gap <= self.atol + self.rtol * np.abs(wanted.astype(wide))
            same |= near & np.isfinite(got.astype(wide)) & np.isfinite(wanted.astype(wide))
        return same


def read_expected(read: Callable[[], Tensor], dtype: DType) -> Tensor | MismatchError:
    """Read the expected tensor, whose type is that of the result where it has none of its own.

    Returns
    -------
        A mismatch when it holds what the type cannot.

    Raises
    ------
    GatherError
        As `read` raises it.
    """
    try:
        return read()
    except InputError as error:
        if error.rule != "dtype":
            raise
        return MismatchError(
            f"the result is {dtype}, but {error.message}",
            rule="expect",
            where=error.where,
            value=dtype.name,
            expected=str(error.value),
        )


def _gap(got: AnyArray, wanted: AnyArray) -> AnyArray:
    """Subtract integers exactly: the smaller from the larger, modulo 2^64."""
    one, other = got.astype(np.uint64), wanted.astype(np.uint64)
    return np.where(got > wanted, one - other, other - one)


def _shown(value: object) -> str:
    """Write a value as JSON does."""
    if isinstance(value, np.str_):
        return json_string(str(value))
    return str(value).lower() if isinstance(value, np.bool_) else str(value)


def _mismatch(
    what: str, value: str, expected: str, count: int | None = None, total: int = 0
) -> MismatchError:
    many = (
        f" ({grouped(count)} of {counted(total, 'element')} differ{'s' * (count == 1)})"
        if count is not None
        else ""
    )
    return MismatchError(
        f"the result {what}: expected {expected}{many}",
        rule="expect",
        value=value,
        expected=expected,
        count=count,
    )
