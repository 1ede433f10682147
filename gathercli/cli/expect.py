"""`--expect`: the result beside a tensor that it should equal."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from gathercli.core.dtypes import DType, Kind, Tensor, equal
from gathercli.core.positions import cell, coordinate
from gathercli.core.text import counted, grouped, json_string
from gathercli.errors import InputError, MismatchError, UsageError

if TYPE_CHECKING:
    from gathercli.core.dtypes import AnyArray
    from gathercli.engine import Run
    from gathercli.io.source import Inputs


class Expectation(NamedTuple):
    """The tensor expected and how near the result must be to it."""

    given: str | None
    rtol: float
    atol: float

    def read(self, inputs: Inputs, dtype: DType) -> Tensor | MismatchError | None:
        """Read the expected tensor; a plain list takes the type of the result.

        Returns
        -------
            A mismatch when the list holds what the type cannot; None when nothing is expected.
        """
        for option, tolerance in (("rtol", self.rtol), ("atol", self.atol)):
            if not isfinite(tolerance):
                raise UsageError(
                    f"`--{option}` is {tolerance}: expected a number from 0 on",
                    rule="usage",
                    value=str(tolerance),
                )
        if self.given is None:
            return None
        try:
            return inputs.tensor(self.given, "expect", assumed=dtype, empty=dtype)
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

    def difference(self, result: Run, expected: Tensor | MismatchError) -> MismatchError | None:
        """Compare shape, type and values; name the first difference and how many there are."""
        if isinstance(expected, MismatchError):
            error = expected
        elif result.shape != expected.shape or result.dtype is not expected.dtype:
            error = _mismatch(f"is {result}", str(result), str(expected))
        else:
            found = self._first_difference(result, expected)
            if found is None:
                return None
            error = found
        call = result.call
        error.met(call.op.full_name, str(call.data), str(call.indices))
        return error

    def _first_difference(self, result: Run, expected: Tensor) -> MismatchError | None:
        """Go through both block by block; name the first difference, and how many there are."""
        start = count = at = 0
        found = hoped = ""
        part = result.parts()
        for block in expected.blocks():
            stop = start + block.size
            got = Tensor(result.dtype, part(start, stop)).values()
            wanted = Tensor(result.dtype, block).values()
            differs = ~self._near(result.dtype, got, wanted)
            number = int(differs.sum())
            if number and not count:
                first = int(differs.argmax())
                at, found, hoped = start + first, _shown(got[first]), _shown(wanted[first])
            start, count = stop, count + number
            result.told("compared", stop * int(result.storage.itemsize))
        if not count:
            return None
        where = cell(coordinate(at, result.shape))
        error = _mismatch(f"has {found} at `{where}`", found, hoped, count, start)
        error.where = where
        return error

    def _near(self, dtype: DType, got: AnyArray, wanted: AnyArray) -> AnyArray:
        """Tell element by element what is near enough; NaN equals NaN, -0.0 equals 0.0."""
        import numpy as np

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


def _gap(got: AnyArray, wanted: AnyArray) -> AnyArray:
    """Subtract integers exactly: the smaller from the larger, modulo 2^64."""
    import numpy as np

    one, other = got.astype(np.uint64), wanted.astype(np.uint64)
    return np.where(got > wanted, one - other, other - one)


def _shown(value: object) -> str:
    """Write a value as JSON does."""
    import numpy as np

    if isinstance(value, np.str_):
        return json_string(str(value))
    return str(value).lower() if isinstance(value, np.bool_) else str(value)


def _mismatch(
    what: str, value: str, expected: str, count: int | None = None, total: int = 0
) -> MismatchError:
    many = f" ({grouped(count)} of {counted(total, 'element')} differ)" if count is not None else ""
    return MismatchError(
        f"the result {what}: expected {expected}{many}",
        rule="expect",
        value=value,
        expected=expected,
        count=count,
    )
