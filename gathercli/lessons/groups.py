"""Which versions give the same, and where the others first differ."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from gathercli.arrays.bound import BoundCall
from gathercli.arrays.counts import CELLS
from gathercli.arrays.run import run
from gathercli.arrays.tensor import Tensor, equal
from gathercli.arrays.threads import share
from gathercli.lessons.verdicts import number_illegal, verdict
from gathercli.spec.coordinates import coordinate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gathercli.arrays.result import GatherOutput
    from gathercli.lessons.verdicts import Case, Verdict
    from gathercli.spec.op import Op
    from gathercli.spec.shapes import Shape


class Difference(NamedTuple):
    """Where two groups part.

    Attributes
    ----------
    groups
        Their letters.
    shapes
        Their shapes.
    at, values
        The first cell that differs, and what each holds there, 0-D; None where the shapes differ.
    """

    groups: tuple[str, str]
    shapes: tuple[Shape, Shape]
    at: tuple[int, ...] | None = None
    values: tuple[Tensor, Tensor] | None = None


class Group(NamedTuple):
    """Rows that give the same: a letter, their shape, and one of them."""

    letter: str
    shape: Shape
    member: Verdict


class Comparison(NamedTuple):
    """What each row gives, the group it is in (None: it refuses), and where groups differ."""

    verdicts: tuple[Verdict, ...]
    letters: tuple[str | None, ...]
    differences: tuple[Difference, ...]

    @property
    def groups(self) -> dict[str, list[Op]]:
        """The rows of every group."""
        found: dict[str, list[Op]] = {}
        for each, letter in zip(self.verdicts, self.letters, strict=True):
            if letter is not None:
                found.setdefault(letter, []).append(each.op)
        return found


def compared(rows: Iterable[Op], case: Case, max_bytes: int | None = None) -> Comparison:
    """Put every row that accepts in a group; results are made only where they could be the same.

    Parameters
    ----------
    max_bytes
        How large a result may be.
    """
    verdicts = tuple(verdict(op, case, max_bytes) for op in rows)
    groups, differences = list[Group](), list[Difference]()
    runs = _Runs(case, max_bytes)
    by_declaration: dict[object, str] = {}
    letters = list[str | None]()
    for each in verdicts:
        key = _declared(each, case)
        if key is not None and key not in by_declaration:
            letter, found = _grouped(each, groups, runs)
            by_declaration[key] = letter
            differences += found
        letters.append(None if key is None else by_declaration[key])
    differences.sort(key=lambda difference: difference.groups)
    return Comparison(verdicts, tuple(letters), tuple(differences))


def _declared(each: Verdict, case: Case) -> object:
    """Return all that the result depends on; None where there is none."""
    if each.error is not None or each.call is None:
        return None
    call, found = each.call, case.tallies(each.call.size)
    illegal = number_illegal(call, case) if found.negative.number or found.outside.number else 0
    wraps = call.wraps_negative if found.negative.number else None
    return call.op.family, call.places, wraps, call.outside if illegal else None


def _grouped(each: Verdict, groups: list[Group], runs: _Runs) -> tuple[str, list[Difference]]:
    """Find the group of a verdict, or found one and tell how it differs from all before."""
    if each.shape is None:
        raise LookupError("only what accepts is in a group")
    letter, differences = chr(ord("A") + len(groups)), list[Difference]()
    for group in groups:
        pair, shapes = (group.letter, letter), (group.shape, each.shape)
        if group.shape != each.shape:
            differences.append(Difference(pair, shapes))
            continue
        one, other = (runs.of(member) for member in (group.member, each))
        first = first_difference(one, other)
        if first is None:
            return group.letter, []
        values = _cell(one, first), _cell(other, first)
        differences.append(Difference(pair, shapes, coordinate(first, one.shape), values))
    groups.append(Group(letter, each.shape, each))
    return letter, differences


class _Runs:
    """The results that are compared, each made ready once."""

    def __init__(self, case: Case, max_bytes: int | None) -> None:
        self._case, self._max_bytes = case, max_bytes
        self._made: dict[Op, GatherOutput] = {}

    def of(self, each: Verdict) -> GatherOutput:
        """Return the result of a verdict that accepts."""
        if each.call is None:
            raise LookupError("only what accepts can run")
        case = self._case
        if each.op not in self._made:
            self._made[each.op] = run(
                BoundCall(each.call, case.data, case.indices),
                max_bytes=self._max_bytes,
                threads=case.threads,
                progress=case.progress,
            )
        return self._made[each.op]


def _cell(result: GatherOutput, position: int) -> Tensor:
    part = result.parts()(position, position + 1)
    return Tensor(result.dtype, part.reshape(()).copy())


def first_difference(one: GatherOutput, other: GatherOutput) -> int | None:
    """Compare two results of one shape and type, part by part.

    Returns
    -------
        The flat position of the first cell that differs; None where there is none.
    """
    from threading import Lock

    import numpy as np

    total, lock = prod(one.shape), Lock()
    first = total

    def worker() -> Callable[[int], None]:
        parts = one.parts(), other.parts()

        def compare(number: int) -> None:
            nonlocal first
            start = number * CELLS
            if start >= first:  # what was found already comes before
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
