"""Compare results: with an expected tensor, and those of all versions with each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.bound import BoundCall
from gathercli.compute.run import run
from gathercli.compute.storage import AnyArray, equal
from gathercli.compute.tensor import Tensor
from gathercli.compute.threads import share
from gathercli.errors import InputError, MismatchError
from gathercli.spec.call import Call
from gathercli.spec.dtypes import DType, Kind
from gathercli.spec.op import Op
from gathercli.spec.shapes import Shape, cell, coordinates
from gathercli.text import counted, json_string

if TYPE_CHECKING:
    from gathercli.compute.run import GatherOutput
    from gathercli.compute.verdicts import Case, Verdict


NUMBER_KINDS: Final = Kind.INT, Kind.UINT, Kind.FLOAT

# Cells of two outputs that are compared at a time: they stay in a core's cache.
COMPARED_CELLS: Final = 1 << 16


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
        where = cell(coordinates(first, result.shape))
        of = f"of {counted(start, 'element')}"
        remark = f" ({counted(count, f'{of} differs', f'{of} differ')})"
        what = f"has {texts[0]} at `{where}`"
        return _mismatch(what, *texts, remark=remark, where=where, count=count)

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
    """Read an expected tensor, or return a mismatch if the type cannot represent one of its values.

    `read` returns the tensor as a type if its text states none. With a tolerance a value that the
    type does not have is compared as it is written.
    """
    try:
        return read(dtype)
    except InputError as error:
        if error.rule != "dtype":
            raise
        if any(tolerance) and dtype.kind in NUMBER_KINDS:
            with suppress(InputError):
                written = read(None)
                if written.dtype.kind in NUMBER_KINDS:
                    decided_by = written.decided_by
                    return Tensor(written.dtype, written.array, typed=False, decided_by=decided_by)
        what, where, remark = f"is {dtype}, but {error.statement}", error.where, error.remark
        return _mismatch(what, dtype.name, error.expected, remark=remark, where=where)


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


def _mismatch(what: str, value: str, expected: str | None, **more: Any) -> MismatchError:
    what = f"the result {what}"
    return MismatchError(what, rule="expect", value=value, expected=expected, **more)


class Difference(NamedTuple):
    """The first difference between two groups."""

    groups: tuple[str, str]  # their letters
    shapes: tuple[Shape, Shape]
    # the first cell that differs; None if the shapes differ, and so the values
    at: tuple[int, ...] | None = None
    values: tuple[Tensor, Tensor] | None = None  # both values of that cell, 0-D


class Group(NamedTuple):
    """Versions with equal output: a letter, the output shape, and the call of one of them."""

    letter: str
    shape: Shape
    bound: BoundCall


class Comparison(NamedTuple):
    """The versions on the same inputs."""

    verdicts: tuple[Verdict, ...]
    letters: tuple[str | None, ...]  # of the group of each version; None if it refuses
    differences: tuple[Difference, ...]  # the first between each pair of groups
    left_out: tuple[Verdict, ...] = ()  # of one version of each operator on tuples that is left out
    # the groups in order, each with the call of one of its versions
    group_calls: tuple[Group, ...] = ()

    @property
    def groups(self) -> dict[str, list[Op]]:
        """The versions of every group."""
        groups: dict[str, list[Op]] = {}
        for each, letter in zip(self.verdicts, self.letters, strict=True):
            if letter is not None:
                groups.setdefault(letter, []).append(each.op)
        return groups


def compared(
    rows: Sequence[Op], case: Case, max_bytes: int | None = None, named: Collection[Op] = ()
) -> Comparison:
    """Group the versions that accept; gather only if two results could be equal.

    No result may exceed `max_bytes`. The versions `named` by the user are kept, applicable or not.
    """
    from gathercli.compute.verdicts import verdict

    every = {op: verdict(op, case, max_bytes) for op in rows}
    # An operator on tuples is left out if it takes the shapes and attributes in no version.
    families = {op.family for op in rows if not op.tuples or every[op].bound is not None}
    kept = {op: op in named or op.family in families for op in rows}
    verdicts = tuple(each for op, each in every.items() if kept[op])
    left_out = {op.family: each for op, each in reversed(every.items()) if not kept[op]}
    grouping = _Grouping(case, max_bytes)
    letters = tuple(map(grouping.letter, verdicts))
    grouping.differences.sort(key=lambda difference: difference.groups)
    differences, others = tuple(grouping.differences), tuple(left_out.values())
    return Comparison(verdicts, letters, differences, others, tuple(grouping.groups))


class _Grouping:
    """Groups and their differences, as verdicts are added."""

    def __init__(self, case: Case, max_bytes: int | None) -> None:
        self._case, self._max_bytes = case, max_bytes
        self.differences: list[Difference] = []
        self.groups: list[Group] = []
        self._letters: dict[object, str] = {}
        self._outputs: dict[Op, GatherOutput] = {}

    def letter(self, each: Verdict) -> str | None:
        """Return the letter of the group of a verdict; None if it refuses."""
        if each.error is not None or each.bound is None or each.shape is None:
            return None
        tensors = (*map(id, each.bound.tensors.values()),)
        key = self._key(each.bound.call), each.shape, tensors
        if key not in self._letters:
            self._letters[key] = self._find(each.bound, each.shape)
        return self._letters[key]

    def _key(self, call: Call) -> object:
        """Return everything but the tensors that the output depends on."""
        from gathercli.compute.verdicts import number_illegal

        counts = [*self._case.counts_of(call)]
        negative = any(each.negative.number for each in counts)
        outside = any(each.outside.number for each in counts)
        is_illegal = (negative or outside) and number_illegal(call, self._case)
        wraps = call.wraps_negative if negative else None
        attrs = call.axis, call.batch_dims
        return call.op.family, attrs, wraps, call.outside if is_illegal else None

    def _find(self, bound: BoundCall, shape: Shape) -> str:
        """Return the letter of the group with equal output, or of a new group."""
        letter, differences = chr(ord("A") + len(self.groups)), list[Difference]()
        for group in self.groups:
            letters, shapes = (group.letter, letter), (group.shape, shape)
            if group.shape != shape:
                differences.append(Difference(letters, shapes))
                continue
            one, other = self._output(group.bound), self._output(bound)
            first = first_difference(one, other)
            if first is None:
                return group.letter
            values = _cell(one, first), _cell(other, first)
            differences.append(Difference(letters, shapes, coordinates(first, one.shape), values))
        self.groups.append(Group(letter, shape, bound))
        self.differences += differences
        return letter

    def _output(self, bound: BoundCall) -> GatherOutput:
        case, op = self._case, bound.call.op
        if op not in self._outputs:
            self._outputs[op] = run(
                bound, max_bytes=self._max_bytes, threads=case.threads, progress=case.progress
            )
        return self._outputs[op]


def first_elements(group: Group, case: Case, most: int) -> Tensor:
    """Return the first elements of the output of a group, flat, at most so many."""
    output = run(group.bound, threads=case.threads, progress=case.progress)
    if not output.nbytes:  # nor is there an index to read
        return Tensor(output.dtype, np.empty(0, group.bound.data.storage))
    part = output.parts()(0, min(most, prod(output.shape)))
    return Tensor(output.dtype, part.reshape(-1).copy())


def _cell(result: GatherOutput, position: int) -> Tensor:
    part = result.parts()(position, position + 1)
    return Tensor(result.dtype, part.reshape(()).copy())


def first_difference(one: GatherOutput, other: GatherOutput) -> int | None:
    """Return the flat position of the first difference of two outputs; None if they are equal.

    Both have one shape, and their types are of one kind.
    """
    total, lock = prod(one.shape), Lock()
    first = total

    def worker() -> Callable[[int], None]:
        parts = one.parts(), other.parts()

        def compare(number: int) -> None:
            nonlocal first
            start = number * COMPARED_CELLS
            if start >= first:  # an earlier difference is known
                return
            stop = min(start + COMPARED_CELLS, total)
            values = [Tensor(one.dtype, part(start, stop)).values() for part in parts]
            differs = np.flatnonzero(~equal(one.dtype, *values))
            if differs.size:
                with lock:
                    first = min(first, start + int(differs[0]))

        return compare

    share(
        -(-total // COMPARED_CELLS),
        worker,
        one.threads,
        lambda done: one.report_progress("compared", done * COMPARED_CELLS * one.storage.itemsize),
    )
    return None if first == total else first
