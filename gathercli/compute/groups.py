"""Group versions by equal output, and locate the first difference between groups."""

from __future__ import annotations

from math import prod
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gathercli.compute.array_run import run, unchecked
from gathercli.compute.check import CELLS
from gathercli.compute.storage import equal
from gathercli.compute.tensor import Tensor
from gathercli.compute.threads import share
from gathercli.compute.verdicts import number_illegal, verdict
from gathercli.errors import OperatorError
from gathercli.ops import indexed_inputs
from gathercli.spec.coordinates import coordinate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gathercli.compute.bound import BoundCall
    from gathercli.compute.result import GatherOutput
    from gathercli.compute.verdicts import Case, Verdict
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op
    from gathercli.spec.shapes import Shape


class Difference(NamedTuple):
    """The first difference between two groups.

    Attributes
    ----------
    groups, shapes
        The letters and the output shapes of both groups.
    at, values
        The first cell that differs, and both its values, 0-D; None if the shapes differ.
    """

    groups: tuple[str, str]
    shapes: tuple[Shape, Shape]
    at: tuple[int, ...] | None = None
    values: tuple[Tensor, Tensor] | None = None


class Group(NamedTuple):
    """Versions with equal output: a letter, the output shape, and the call of one of them."""

    letter: str
    shape: Shape
    bound: BoundCall


class Comparison(NamedTuple):
    """The versions on the same inputs.

    Attributes
    ----------
    verdicts, letters
        The verdict of each version, and the letter of its group; None if it refuses.
    differences
        The first difference between each pair of groups.
    left_out
        The verdict of one version of each operator on tuples that is left out.
    group_calls
        The groups in order, each with the call of one of its versions.
    """

    verdicts: tuple[Verdict, ...]
    letters: tuple[str | None, ...]
    differences: tuple[Difference, ...]
    left_out: tuple[Verdict, ...] = ()
    group_calls: tuple[Group, ...] = ()

    @property
    def groups(self) -> dict[str, list[Op]]:
        """The versions of every group."""
        groups: dict[str, list[Op]] = {}
        for each, letter in zip(self.verdicts, self.letters, strict=True):
            if letter is not None:
                groups.setdefault(letter, []).append(each.op)
        return groups


def _applicable(rows: Sequence[Op], case: Case, named: Collection[Op]) -> list[Op]:
    """Drop operators on tuples that accept the shapes and attributes in no version."""
    families = {op.family for op in rows if not op.tuples or _is_bound(op, case)}
    return [op for op in rows if op in named or op.family in families]


def _is_bound(op: Op, case: Case) -> bool:
    try:
        case.bind(op)
    except OperatorError:
        return False
    return True


def compared(
    rows: Sequence[Op], case: Case, max_bytes: int | None = None, named: Collection[Op] = ()
) -> Comparison:
    """Group the versions that accept; gather only if two results could be equal.

    Parameters
    ----------
    max_bytes
        The largest size of a result.
    named
        Versions to keep, as the user named them, whether they apply or not.
    """
    ops = _applicable(rows, case, named)
    verdicts = tuple(verdict(op, case, max_bytes) for op in ops)
    left_out = {op.family: verdict(op, case) for op in rows if op not in ops}
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
        key = self._key(each.bound.call), each.shape
        if key not in self._letters:
            self._letters[key] = self._find(each.bound, each.shape)
        return self._letters[key]

    def _key(self, call: Call) -> object:
        """Return everything but the tensors that the output depends on."""
        counts = [
            each
            for name, axes in indexed_inputs(call).items()
            for each in self._case.counts(call.op, name, axes)
        ]
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
            differences.append(Difference(letters, shapes, coordinate(first, one.shape), values))
        self.groups.append(Group(letter, shape, bound))
        self.differences += differences
        return letter

    def _output(self, bound: BoundCall) -> GatherOutput:
        """Return the output of a call, computed once."""
        case, op = self._case, bound.call.op
        if op not in self._outputs:
            self._outputs[op] = run(
                bound, max_bytes=self._max_bytes, threads=case.threads, progress=case.progress
            )
        return self._outputs[op]


def first_elements(group: Group, case: Case, most: int) -> Tensor:
    """Return the first elements of the output of a group, flat, at most so many."""
    output: GatherOutput | None = unchecked(group.bound, reports=False)
    if output is None:
        output = run(group.bound, threads=case.threads, progress=case.progress)
    part = output.parts()(0, min(most, prod(output.shape)))
    return Tensor(output.dtype, part.reshape(-1).copy())


def _cell(result: GatherOutput, position: int) -> Tensor:
    part = result.parts()(position, position + 1)
    return Tensor(result.dtype, part.reshape(()).copy())


def first_difference(one: GatherOutput, other: GatherOutput) -> int | None:
    """Return the flat position of the first difference of two outputs; None if they are equal.

    Both have one shape and type.
    """
    total, lock = prod(one.shape), Lock()
    first = total

    def worker() -> Callable[[int], None]:
        parts = one.parts(), other.parts()

        def compare(number: int) -> None:
            nonlocal first
            start = number * CELLS
            if start >= first:  # an earlier difference is known
                return
            stop = min(start + CELLS, total)
            values = [Tensor(one.dtype, part(start, stop)).values() for part in parts]
            differs = np.flatnonzero(~equal(one.dtype, *values))
            if differs.size:
                with lock:
                    first = min(first, start + int(differs[0]))

        return compare

    share(
        -(-total // CELLS),
        worker,
        one.threads,
        lambda done: one.report_progress("compared", done * CELLS * one.storage.itemsize),
    )
    return None if first == total else first
