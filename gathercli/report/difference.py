"""What sets two operator versions apart, and what that means for a model that moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gathercli.report.versions import aligned, hanging, said
from gathercli.spec.dtypes import in_words
from gathercli.spec.op import IndexRange, OffAxis, differences, heading
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op


def text(a: Op, b: Op, width: int | None) -> str:
    """Write the fields that differ, what `a` has above what `b` has, and what it means to move."""
    fields = differences(a, b)
    if not fields:
        return f"{a} and {b}: no difference\n"
    written = f"{a} → {b}\n"
    for field in fields:
        written += hanging(f"  {heading(field):<15}  - ", said(a, field), width)
        written += hanging(f"  {'':<15}  + ", said(b, field), width)
    return f"{written}\nto move a model\n{aligned(moving(a, b), width)}"


def as_json(a: Op, b: Op) -> dict[str, Any]:
    """Return the same for JSON."""
    return {
        "from": a.full_name,
        "to": b.full_name,
        "differences": [
            {"field": heading(field), "from": said(a, field), "to": said(b, field)}
            for field in differences(a, b)
        ],
        "moving": [{"what": what, "becomes": becomes} for what, becomes in moving(a, b)],
    }


def moving(a: Op, b: Op) -> Iterator[tuple[str, str]]:
    """Say what becomes of a model of version `a` as one of `b`: pairs of a matter and its fate."""
    if a.name != b.name:
        yield "the operator", f"{_copies(a)} → {_copies(b)}"
    if a.negative != b.negative:
        yield "an index from -s to -1", f"{a.negative} → {b.negative}"
    if a.out_of_range is not b.out_of_range:
        yield "an index outside [-s, s-1]", f"{a.out_of_range.done} → {b.out_of_range.done}"
    if a.has_batch_dims != b.has_batch_dims:
        yield "batch_dims other than 0", _taken(now=b.has_batch_dims)
    yield from _types("types of data", a.input("data").dtypes, b.input("data").dtypes)
    yield from _types("types of indices", a.input("indices").dtypes, b.input("indices").dtypes)
    yield from _axis(a, b)
    yield from _shapes(a, b)
    if options := _as_before(a, b):
        yield "to treat indices as before", options


def _types(what: str, a: Sequence[DType], b: Sequence[DType]) -> Iterator[tuple[str, str]]:
    for only, other, now in ((a, b, False), (b, a, True)):
        if names := in_words(dtype for dtype in only if dtype not in other):
            yield what, f"{listed(names, 'and')}: {_taken(now=now)}"


def _axis(a: Op, b: Op) -> Iterator[tuple[str, str]]:
    if a.axis.is_input and not b.axis.is_input:
        yield "the axis", "an input → an attribute, so it must be known beforehand"
    elif b.axis.is_input and not a.axis.is_input:
        yield "the axis", "an attribute → an input"
    if a.axis.default != b.axis.default:
        yield "no axis given", f"{_without_axis(a)} → {_without_axis(b)}"


def _shapes(a: Op, b: Op) -> Iterator[tuple[str, str]]:
    if a.off_axis and b.off_axis and a.off_axis is not b.off_axis:
        yield "indices smaller beside the axis", _taken(now=b.off_axis is OffAxis.AT_MOST)
        if a.narrows != b.narrows:
            yield "an inferred shape", f"may say {'more' if b.narrows else 'less'}"


def _copies(op: Op) -> str:
    return "single elements" if op.off_axis else "whole slices"


def _taken(*, now: bool) -> str:
    return "refused → taken" if now else "taken → refused"


def _without_axis(op: Op) -> str:
    return "refused" if op.axis.default is None else f"axis {op.axis.default}"


def _as_before(a: Op, b: Op) -> str:
    """Write the options with which `b` treats every index as `a` does; none if it does anyway."""
    if a.name != b.name:
        return ""
    options = []
    if a.index_range is not b.index_range:
        options.append(f"--negative {'wrap' if a.index_range is IndexRange.SIGNED else 'error'}")
    if a.out_of_range is not b.out_of_range:
        options.append(f"--out-of-range {a.out_of_range.value}")
    return " ".join(options)
