"""The differences of two operator versions, and their effects on a model that moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gathercli.report.versions import aligned, hanging, trait_text
from gathercli.spec.dtypes import in_words
from gathercli.spec.op import IndexRange, OffAxis, differences, heading
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Attr, Op


def text(a: Op, b: Op, width: int | None) -> str:
    """Format the traits that differ, `a` above `b`, and the effects of moving a model."""
    traits = differences(a, b)
    if not traits:
        return f"{a} and {b}: no difference\n"
    lines = f"{a} → {b}\n"
    for trait in traits:
        lines += hanging(f"  {heading(trait):<15}  - ", trait_text(a, trait), width)
        lines += hanging(f"  {'':<15}  + ", trait_text(b, trait), width)
    return f"{lines}\nto move a model\n{aligned(moving(a, b), width)}"


def as_json(a: Op, b: Op) -> dict[str, Any]:
    """Return the differences for JSON."""
    return {
        "from": a.full_name,
        "to": b.full_name,
        "differences": [
            {"field": heading(each), "from": trait_text(a, each), "to": trait_text(b, each)}
            for each in differences(a, b)
        ],
        "moving": [{"what": what, "becomes": becomes} for what, becomes in moving(a, b)],
    }


def moving(a: Op, b: Op) -> Iterator[tuple[str, str]]:
    """Yield the changes for a model that moves from `a` to `b`: pairs of a heading and a text."""
    if a.name != b.name:
        yield "the operator", f"{_copies(a)} → {_copies(b)}"
    if a.negative != b.negative:
        yield "an index from -s to -1", f"{a.negative} → {b.negative}"
    if a.out_of_range is not b.out_of_range:
        yield "an index outside [-s, s-1]", f"{a.out_of_range.done} → {b.out_of_range.done}"
    if a.has_batch_dims != b.has_batch_dims:
        yield "batch_dims other than 0", _taken(now=b.has_batch_dims)
    names, others = ([each.name for each in op.inputs] for op in (a, b))
    if names != others:
        yield "the inputs", f"{listed(names, 'and')} → {listed(others, 'and')}"
    for name in names:
        if name in others:
            yield from _types(f"types of {name}", a.input(name).dtypes, b.input(name).dtypes)
    yield from _axis(a, b)
    yield from _shapes(a, b)
    if options := _as_before(a, b):
        yield "to treat indices as before", options


def _types(what: str, a: Sequence[DType], b: Sequence[DType]) -> Iterator[tuple[str, str]]:
    for only, other, now in ((a, b, False), (b, a, True)):
        if names := in_words(dtype for dtype in only if dtype not in other):
            yield what, f"{listed(names, 'and')}: {_taken(now=now)}"


def _axis(a: Op, b: Op) -> Iterator[tuple[str, str]]:
    x, y = a.attr("axis"), b.attr("axis")
    if x is None or y is None:
        if x is not y:
            yield "an axis", _taken(now=y is not None)
        return
    if x.is_input and not y.is_input:
        yield "the axis", "an input → an attribute, so it must be known beforehand"
    elif y.is_input and not x.is_input:
        yield "the axis", "an attribute → an input"
    if x.default != y.default:
        yield "no axis given", f"{_without_axis(x)} → {_without_axis(y)}"


def _shapes(a: Op, b: Op) -> Iterator[tuple[str, str]]:
    if a.off_axis and b.off_axis and a.off_axis is not b.off_axis:
        yield "indices smaller beside the axis", _taken(now=b.off_axis is OffAxis.AT_MOST)
        if a.narrows != b.narrows:
            yield "an inferred shape", f"may say {'more' if b.narrows else 'less'}"
    if a.flattens_batch is not b.flattens_batch:
        yield "batch_dims above 1", f"{_batches(a)} → {_batches(b)}"
    if a.tuples and b.tuples and a.shortest_tuple != b.shortest_tuple:
        yield "tuples without numbers", _taken(now=not b.shortest_tuple)


def _copies(op: Op) -> str:
    if op.followed:
        return "beams followed back"
    if op.tuples:
        return "slices at tuples"
    return "single elements" if op.elementwise else "whole slices"


def _batches(op: Op) -> str:
    return "one dimension of the output" if op.flattens_batch else "as many dimensions"


def _taken(*, now: bool) -> str:
    return "refused → taken" if now else "taken → refused"


def _without_axis(axis: Attr) -> str:
    return "refused" if axis.default is None else f"axis {axis.default}"


def _as_before(a: Op, b: Op) -> str:
    """Return the options with which `b` treats every index as `a` does."""
    if a.name != b.name:
        return ""
    options = []
    if a.index_range is not b.index_range:
        options.append(f"--negative {'wrap' if a.index_range is IndexRange.SIGNED else 'error'}")
    if a.out_of_range is not b.out_of_range:
        options.append(f"--out-of-range {a.out_of_range.value}")
    return " ".join(options)
