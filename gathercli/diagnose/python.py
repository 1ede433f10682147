"""`gathercli.diagnose`: what explains an output that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.compute.compare import Tolerance, read_expected
from gathercli.diagnose.diagnosis import DiagnosisReport
from gathercli.diagnose.diagnosis import diagnose as search
from gathercli.errors import MismatchError
from gathercli.io.arraylike import as_tensor
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.values import tensor_of
from gathercli.python import opened

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gathercli.compute.tensor import Tensor
    from gathercli.spec.dtypes import DType


def diagnose(
    op: str,
    data: ArrayLike,
    indices: ArrayLike,
    wrong: ArrayLike,
    *more: ArrayLike,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike | None = None,
    version: str | int | None = None,
    negative: str = "spec",
    out_of_range: str = "spec",
    rtol: float = 0.0,
    atol: float = 0.0,
) -> DiagnosisReport:
    """Find what explains an output that is wrong, and who is known to do that.

    Parameters
    ----------
    op, data, indices, more, axis, batch_dims, version, negative, out_of_range
        As for `gathercli.check`.
    wrong
        The output, of any shape and type; a list has the type of `data` if that can hold it.
    rtol, atol
        Elements that differ by ``atol + rtol * |expected|`` at most are equal.

    Raises
    ------
    InputError
        Nothing that is known gives an output of this shape.
    VersionError, UsageError
        There is no such version or operator.

    Examples
    --------
    >>> report = diagnose("gather", [0, 1, 2, 3, 4], [3, 8, -20], [3, 4, 0])
    >>> report.explanations[0].sentence
    'indices are clamped to the axis, negative ones to 0'
    """
    tolerance = Tolerance(rtol, atol)
    with opened(op, (data, indices, *more), version) as call:
        return DiagnosisReport.of(
            search(
                call.row,
                *call.tensors,
                wrong=_wrong(wrong, call.tensors[0].dtype, tolerance),
                tolerance=tolerance,
                negative=negative,
                out_of_range=out_of_range,
                axis=axis,
                batch_dims=batch_dims,
            )
        )


def _wrong(value: ArrayLike, dtype: DType, tolerance: Tolerance) -> Tensor:
    """Return the output; a list as the type of the data, if that can represent it."""
    if isinstance(value, list | tuple):
        tensor = read_expected(
            lambda assumed: tensor_of(value, ElementTypes(None, assumed, dtype)), dtype, tolerance
        )
        if not isinstance(tensor, MismatchError):
            return tensor
    return as_tensor(value, dtype)
