"""`gathercli.translate`: a call in another framework, as code or as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gathercli.cli.slice_options import RuntimeOptions
from gathercli.io.arraylike import typed
from gathercli.python import opened
from gathercli.translate.command import proved
from gathercli.translate.proof import TranslationReport
from gathercli.translate.targets import target

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@typed
def translate(
    op: str,
    data: ArrayLike,
    indices: ArrayLike,
    *more: ArrayLike,
    to: str,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    version: str | int | None = None,
    negative: str = "spec",
    out_of_range: str = "spec",
) -> TranslationReport:
    """Write a call in another framework, and prove it on these tensors and on made ones.

    Parameters
    ----------
    op, data, indices, more, axis, batch_dims, version, negative, out_of_range
        As for `gathercli.check`.
    to
        ``numpy``, ``torch``, ``tensorflow``, ``jax`` or ``tflite`` for code, ``onnx`` or
        ``openvino`` for a graph.

    Raises
    ------
    OperatorError
        A rule of shapes, types or attributes refuses the call.
    VersionError, UsageError
        There is no such version, operator or target; or the target cannot express the call.

    Examples
    --------
    >>> report = translate("gather", [10, 20, 30], [2, -1], version="onnx-13", to="numpy")
    >>> print(report.text.splitlines()[-1].strip(), report.proof["differs"])
    return data[indices] 0
    """
    settings: dict[str, Any] = {"axis": axis, "batch_dims": batch_dims}
    settings |= {"negative": negative, "out_of_range": out_of_range}
    with opened(op, (data, indices, *more), version, **settings) as call:
        return TranslationReport.of(proved(call.bound(), target(to), RuntimeOptions()))
