"""What becomes of indices outside their axis: counts of them, refusals and adjustments."""

from __future__ import annotations

from gathercli.errors import Hint, OutOfRangeError
from gathercli.records import Any, NamedTuple, Sequence
from gathercli.spec.call import Call, version_that
from gathercli.spec.op import FRAMEWORKS, FROM_THE_END, IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import cell, coordinates, product
from gathercli.text import counted, grouped, interval

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.spec.op import IndexedAxis


class IndexCount:
    """The number of indices of one kind, with the flat position and the value of the first.

    The first is the least position, row-major; both mean nothing where the number is 0.
    """

    def __init__(self) -> None:
        self.number, self.first = 0, 0
        self.value: float = 0

    def add(self, mask: Any, block: Any, start: int, step: int = 1) -> None:
        """Count the indices of a block (C,) that a bool `mask` (C,) marks.

        The block lies at the flat position `start`, its indices `step` apart. Blocks may come in
        any order.
        """
        number = int(mask.sum())
        if not number:
            return
        at = int(mask.argmax())
        if not self.number or start + at * step < self.first:
            self.first, self.value = start + at * step, int(block[at])
        self.number += number

    def add_one(self, value: int, at: int) -> None:
        """Count an index at a flat position after those counted before."""
        if not self.number:
            self.first, self.value = at, value
        self.number += 1

    def clear(self) -> None:
        """Reset the count."""
        self.number, self.first, self.value = 0, 0, 0

    def __or__(self, other: IndexCount) -> IndexCount:
        """Add two disjoint counts."""
        union = IndexCount()
        union.number = self.number + other.number
        nearest = min(
            (each for each in (self, other) if each.number),
            key=lambda count: count.first,
            default=union,
        )
        union.first, union.value = nearest.first, nearest.value
        return union


class IndexCounts(NamedTuple):
    """Counts of negative indices, and of indices outside the axis."""

    negative: IndexCount  # k < 0
    wrapped: IndexCount  # those of them that are on the axis after s is added
    outside: IndexCount  # not on the axis, with s added if the policy wraps

    def unwrapped(self) -> IndexCounts:
        """Return the counts without adding s to any index."""
        return IndexCounts(self.negative, IndexCount(), self.wrapped | self.outside)


class Adjustment(NamedTuple):
    """The treatment of indices that do not address `data`."""

    how: str  # ``zero-filled``, ``clamped``, ``wrapped``, ``counted from the end``
    number: int  # of these indices
    total: int  # of all indices
    value: float  # of the first, row-major
    where: str  # its coordinates in `indices`
    legal: str  # the range that they are outside of, in words

    def __str__(self) -> str:
        return (
            f"{grouped(self.number)} of {counted(self.total, 'index', 'indices')} "
            f"{self.legal}, {self.how}; "
            f"first {self.value} at {self.where}"
        )


def are_tuples(axes: Sequence[IndexedAxis]) -> bool:
    """Return whether the last dimension of an input of indices holds tuples."""
    return not axes or axes[0].component is not None


def check_counts(
    call: Call,
    axes: Sequence[IndexedAxis],
    counts: Sequence[IndexCounts],
    shape: tuple[int, ...],
    *,
    used: int | None = None,
) -> list[Adjustment]:
    """Return the adjustments of indices outside their axis, or raise `OutOfRangeError`.

    The counts are those of each axis, with s added to negative indices if the call does so. `shape`
    is that of the indices, of which `used` count; None for all.
    """
    if not call.op.checks_empty and 0 in call.shape:
        return []
    used = product(shape) if used is None else used
    outside, pairs = call.outside, [*zip(axes, counts, strict=True)]
    if call.negative is Negative.ERROR:
        negative = [(along, each.negative) for along, each in pairs]
        _refuse_first(call, "index-negative", negative, shape, used)
    refused = [
        (along, each.outside)
        for along, each in pairs
        if outside.refuses or (along.size == 0 and not outside.fills)
    ]
    rule = "index-undefined" if outside is OutOfRange.UNDEFINED else "index-range"
    _refuse_first(call, rule, refused, shape, used)
    wraps = call.wraps_negative and call.op.index_range is IndexRange.UNSIGNED
    several = len(axes) > 1
    wrapped = [("negative", each.wrapped) for each in counts if wraps]
    moved = [(_outside_axis(call, along, several=several), each.outside) for along, each in pairs]
    adjustments = []
    for how, cases in ((FROM_THE_END, wrapped), (outside.done, moved)):
        hits = [(legal, count) for legal, count in cases if count.number]
        if hits:
            first = min((count for _, count in hits), key=lambda count: count.first)
            number = sum(count.number for _, count in hits)
            legal = " or ".join(dict.fromkeys(legal for legal, _ in hits))
            where = cell(coordinates(first.first, shape))
            adjustments.append(Adjustment(how, number, used, first.value, where, legal))
    return adjustments


def _outside_axis(call: Call, along: IndexedAxis, *, several: bool) -> str:
    """Write what indices on an axis are outside of, and which axis, if there are several."""
    if several and not along.size:
        return f"on axis {along.axis}, which is empty"
    where = f" on axis {along.axis}" if several else ""
    return outside_of(call.legal(along.size)) + where


def outside_of(legal: tuple[int, int] | None) -> str:
    """Describe indices outside a legal range; None is the range of an empty axis.

    >>> outside_of((-5, 4)), outside_of(None)
    ('outside -5..4', 'on an empty axis')
    """
    return f"outside {legal[0]}..{legal[1]}" if legal else "on an empty axis"


def _refuse_first(
    call: Call,
    rule: str,
    counts: Sequence[tuple[IndexedAxis, IndexCount]],
    shape: tuple[int, ...],
    used: int,
) -> None:
    """Raise for the first index, row-major, in the counts of any axis, which break a rule."""
    hits = [(along, count) for along, count in counts if count.number]
    if not hits:
        return
    along, first = min(hits, key=lambda hit: hit[1].first)
    value, where = first.value, cell(coordinates(first.first, shape))
    if rule == "index-negative":
        why, hint = "is negative, and `negative` is `error`", None
    else:
        data = call.op.inputs[0].name
        why = f"is outside axis {along.axis} of `{data}`, whose size is {along.size}"
        why += f", and {call.op} promises nothing" * (rule == "index-undefined")
        hint = _hint(call, along.size, value)
    of = "" if along.input == "indices" else f" of `{along.input}`"
    legal, number = call.legal(along.size), sum(count.number for _, count in hits)
    raise OutOfRangeError(
        f"index {value}{of} at `{where}` {why}",
        rule=rule,
        where=where,
        value=value,
        expected=interval(*legal) if legal else "no index at all, as the axis is empty",
        remark=f" ({grouped(number)} of {counted(used, 'index', 'indices')})",
        count=number,
        hint=hint,
    )


def _hint(call: Call, size: int, value: float) -> Hint | None:
    """Name a version or a setting that takes an index outside an axis; None if the call has one."""
    is_version = call.op.framework in FRAMEWORKS  # else another is another framework's call
    fills = is_version and version_that(
        call,
        lambda op: op.out_of_range is OutOfRange.ZERO,
        "fills such slices with zeros",
        out_of_range="zero",
    )
    if not size and call.out_of_range in (OutOfRange.CLAMP, OutOfRange.WRAP):
        text = "an empty axis has nothing to clamp or wrap to; {out_of_range} fills"
        return Hint(text, out_of_range="zero")
    if not size and call.out_of_range is OutOfRange.SPEC:
        text = "on an empty axis only {out_of_range} gives an answer"
        return fills or Hint(text, out_of_range="zero")
    if -size <= value < 0 and not call.wraps_negative and call.negative is Negative.SPEC:
        counts = "counts negative indices from the end"
        signed = is_version and version_that(
            call, lambda op: op.index_range is IndexRange.SIGNED, counts
        )
        return signed or Hint(f"{{negative}} {counts}", negative="wrap")
    if call.out_of_range is OutOfRange.SPEC:
        text = "{out_of_range} fills such cells with zeros, `clamp` and `wrap` move them"
        return fills or Hint(text, out_of_range="zero")
    return None


def integer_values_error(name: str, value: object, where: str) -> OutOfRangeError:
    """Return the error for a value of GatherTree that is no integer."""
    what = f"`{name}` is {value} at `{where}`, which is not an integer"
    rule = "integer-values"
    return OutOfRangeError(what, rule=rule, where=where, value=str(value), expected="whole numbers")
