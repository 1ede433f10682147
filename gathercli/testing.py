"""For tests of an operator or a runtime of one's own: `assert_gathers`, and `cases` of a version.

These are all those of Gather-13, put to onnxruntime by pytest::

    def answer(case):
        session = onnxruntime.InferenceSession(case.model())
        return session.run(None, case.inputs)[0]

    @pytest.mark.parametrize("case", cases("gather", version="onnx-13"), ids=str)
    def test_gather(case):
        case.assert_answer(answer)
"""

from __future__ import annotations

from gathercli.records import Any  # what checkers of types read is in `testing.pyi`
from gathercli.slices import given


def assert_gathers(
    out: Any,
    *inputs: Any,
    op: str = "gather",
    version: Any = None,
    axis: Any = None,
    batch_dims: Any = None,
    rtol: float = 0,
    atol: float = 0,
) -> None:
    """Raise `AssertionError` if an output is not what a version gives for inputs.

    The inputs, `version`, `axis` and `batch_dims` are as for `gathercli.gather` and its like; the
    elements may differ by ``atol + rtol * abs(expected)``. The type of an array counts.

    >>> data, indices = [10, 20, 30], [-1, -2, 0]
    >>> assert_gathers([10, 10, 10], data, indices, version="onnx-13")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: the output is not what onnx.Gather-13 gives:
    2 of 3 cells differ:
      [0] is 10: expected 30, data[2], as indices[0] is -1
      [1] is 10: expected 20, data[1], as indices[1] is -2
    what explains it:
      3 of 3: indices are clamped to the axis, negative ones to 0 (known: xla.gather; ...
    """
    __tracebackhide__ = True  # so that pytest shows the line that asserts
    call = {"axis": axis, "batch_dims": batch_dims}
    call = {name: value for name, value in call.items() if value is not None}
    if why := given("tests", "mismatch")(op, inputs, out, (rtol, atol), version=version, **call):
        raise AssertionError(why)


def cases(op: str, *, version: Any = None, kind: Any = None, dtypes: Any = None) -> Any:
    """Return the calls of a version as `ConformanceCase`, the same ones each time.

    `version` is as for `gathercli.gather`; `kind` is ``legal``, ``illegal`` or ``odd``, and
    `dtypes` names the types of data, both None for all.
    """
    return given("tests", "cases")(op, version=version, kind=kind, dtypes=dtypes)
