"""What the cells of an index outside the axis get that copies nothing: zeros, NaN or an extreme."""

from __future__ import annotations

import math

from gathercli.compute.tensor import pack
from gathercli.spec.call import Call
from gathercli.spec.dtypes import DType, Kind
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import Place


def fill_bytes(call: Call, dtype: DType) -> bytes:
    """Return the bytes of an element that the cells of an index outside the axis get."""
    value = fill_value(call)
    if value is None:
        return bytes(dtype.itemsize)
    packed = pack(dtype, [value], {type(value)})
    if packed is not None:
        return packed
    from gathercli.compute.conversion import store

    return store([value], dtype, Place("$", ())).tobytes()


def fill_value(call: Call) -> bool | float | None:
    """Return what the cells of an index outside the axis get; None for zeros, or none at all.

    The extreme of a type is NaN, the least of signed and the greatest of unsigned integers, or
    true.
    """
    dtype = call.data.dtype
    if dtype is None or call.outside not in (OutOfRange.NAN, OutOfRange.EXTREME):
        return None
    if dtype.kind is Kind.BOOL:
        return True
    return dtype.bounds[dtype.kind is Kind.UINT] if dtype.integral else math.nan
