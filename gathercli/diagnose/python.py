"""What explains an output that is wrong: `gathercli.diagnose`, and for an assertion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.compare import Tolerance, read_expected, text_of
from gathercli.compute.run import answer
from gathercli.compute.tensor import Tensor
from gathercli.diagnose.diagnosis import DiagnosisReport, share, shown
from gathercli.diagnose.diagnosis import diagnose as search
from gathercli.errors import InputError, MismatchError, OperatorError
from gathercli.frameworks.versions import row_of
from gathercli.io.arraylike import arguments, as_tensor, typed
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.values import tensor_of
from gathercli.python import opened
from gathercli.spec.call import Call, CallContext, Operand
from gathercli.spec.dtypes import DTYPES, INT64, Kind
from gathercli.spec.shapes import cell, coordinates, product
from gathercli.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op


@typed
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
    suggest: bool = False,
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
    suggest
        Whether to look for a call that tells explanations that tie apart.

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
                suggest=suggest,
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


# Assertions

MAX_LISTED: Final = 5  # the most wrong cells in the text of an assertion


def mismatch(
    op: str | Op,
    inputs: Sequence[Any],
    out: Any,
    tolerance: tuple[float, float] = (0.0, 0.0),
    *,
    version: str | int | None = None,
    **attrs: Any,
) -> str | None:
    """Return in words why an array is not what a row gives for inputs; None if it is.

    The row is that of a version of a command. The tolerance is relative, then absolute.
    """
    row, near = row_of(op, version), Tolerance(*tolerance)
    try:
        with CallContext(row) as context:
            tensors = arguments(context, inputs)
            call = ops.bind(row, *context.inputs.values(), **attrs)
            expected = answer(BoundCall(call, *tensors))
    except OperatorError as error:
        return f"no output is right: {row} refuses the call by the rule {error.rule}\n{error}"
    try:
        got = as_tensor(out, expected.dtype)
    except InputError as error:
        return f"the output is no array: {error.message}"
    checked = CheckedOutput(call, tensors, attrs, got, expected)
    lines = list(checked.differences(near))
    if got.shape != expected.shape or any(line.startswith(" ") for line in lines):
        lines += checked.reasons(near)
    return "\n".join((f"the output is not what {row} gives:", *lines)) if lines else None


class CheckedOutput(NamedTuple):
    """An output of a call, beside the right one."""

    call: Call
    tensors: Sequence[Tensor]
    attrs: Mapping[str, Any]
    got: Tensor
    expected: Tensor

    def differences(self, near: Tolerance) -> Iterator[str]:
        """Yield lines on the type, the shape, and the first cells that differ."""
        got, expected = self.got, self.expected
        are_numbers = {got.dtype.kind, expected.dtype.kind} <= _NUMBERS
        if got.dtype is not expected.dtype and (got.typed or not are_numbers):
            yield f"its type is {got.dtype}: expected {expected.dtype}"
        if got.shape != expected.shape:
            yield f"its shape is {list(got.shape)}: expected {list(expected.shape)}"
        elif got.dtype is expected.dtype or are_numbers:
            same = near.near(expected.dtype, got.values(), expected.values())
            cells = np.flatnonzero(~same)
            if cells.size:
                of = f"of {counted(same.size, 'cell')}"
                yield f"{counted(cells.size, f'{of} differs', f'{of} differ')}:"
                yield from map(self._cell, cells[:MAX_LISTED].tolist())
            if cells.size > MAX_LISTED:
                yield "  ..."

    def _cell(self, position: int) -> str:
        """Return a line on a cell: what it holds, what it should, and which index says so."""
        c = coordinates(position, self.got.shape)
        held, right = (
            text_of(each.values().reshape(-1)[position]) for each in (self.got, self.expected)
        )
        line, gather = f"  {cell(c)} is {held}: expected {right}", self.call.gather
        if gather is None:
            return line
        place = int(self._places.array.reshape(-1)[position]) - 1
        pairs = zip(gather.dim_map, c, strict=True)
        picked = tuple(n for _, n in sorted((i, n) for (_, i), n in pairs if i is not None))
        indices = self.call.indices.shape.sizes or ()
        index = self.tensors[1].array.reshape(indices)[picked].tolist()
        source = cell(coordinates(place, self.tensors[0].shape)) if place >= 0 else ""
        what = f"data{source}" if source else "a fill"
        return f"{line}, {what}, as indices{cell(picked)} is {index}"

    @property
    def _places(self) -> Tensor:
        """The position in `data` of each cell, from 1 on; 0 or less for a fill."""
        data, *others = self.call.op.inputs
        row = self.call.op._replace(inputs=(data._replace(dtypes=DTYPES), *others))
        shape = self.tensors[0].shape
        given = Tensor(INT64, np.arange(1, product(shape) + 1).reshape(shape)), self.tensors[1]
        return answer(BoundCall(ops.bind(row, *map(Operand.of, given), **self.attrs), *given))

    def reasons(self, near: Tolerance) -> Iterator[str]:
        """Yield the mistakes that explain most cells, and who is known to make each."""
        row, attrs = self.call.op, self.attrs
        try:
            found = search(row, *self.tensors, wrong=self.got, tolerance=near, **attrs)
        except InputError:  # nothing gives an output of this shape
            yield "nothing known explains it"
            return
        yield "what explains it:" if found.likely else "nothing known explains it"
        for each in shown(found) if found.likely else ():
            known = f" (known: {each.credits})" if each.known else ""
            yield f"  {share(each)}: {each.sentence}{known}"


_NUMBERS: Final = {Kind.BOOL, Kind.INT, Kind.UINT, Kind.FLOAT, Kind.COMPLEX}  # comparable types
