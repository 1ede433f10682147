"""Format operator versions: a list, a sheet, their differences, equal calls, the decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import indent, wrap
from typing import Any, Final

from gathercli import ops as operators
from gathercli.frameworks import FrameworkRow, framework
from gathercli.ops import FAMILIES, rule_name
from gathercli.report.terminal import highlighted, rendered
from gathercli.spec import rules
from gathercli.spec.decisions import Decision, concerning
from gathercli.spec.dtypes import DTYPES, PLAIN, DType, in_words
from gathercli.spec.op import INTEGERS, Adaptation, IndexRange, Input, OffAxis, Op, OutOfRange
from gathercli.text import counted, listed

_HEADINGS: Final = ("version", "legal indices", "other indices", "batch_dims")


def timeline(ops: Sequence[Op], width: int | None) -> str:
    """List the changes of each version, oldest first, by operator and framework."""
    text = ""
    for name, versions in groupby(ops, key=lambda op: op.name):
        text += f"{name}\n"
        for whose, rows in groupby(versions, key=lambda op: op.framework):
            for at, op in enumerate(sorted(rows, key=lambda op: op.version)):
                start = f"  {'' if at else whose:<9} {op.version:>2}  "
                text += hanging(start, op.changes, width)
    return text


def table(ops: Sequence[Op], marked: Collection[Op] = ()) -> str:
    """Tabulate the treatment of indices by version, with a star at `marked` versions."""
    rows = [
        (
            f"{op}{' *' * (op in marked)}",
            op.index_range.value,
            op.out_of_range.done,
            "yes" if op.has_batch_dims else "-",
        )
        for op in ops
    ]
    return columns([_HEADINGS, *rows], None)


class Operators(tuple["Op", ...]):
    """Operator versions; their `repr` is the table of `gathercli ops`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return table(self).rstrip("\n")


# Every operator version, newest first in each framework, as `gathercli.OPERATORS`.
OPERATORS: Final = Operators(operators.OPERATORS)
# The fewest columns for the last word of a line; with less it starts a new line.
LEAST_LAST_COLUMNS: Final = 24


def hanging(start: str, rest: str, width: int | None) -> str:
    """Format `rest` after `start`, wrapped with a hanging indent."""
    room = max(24, (width or 0) - len(start))
    parts = [rest] if width is None else wrap(rest, room, break_on_hyphens=False)
    return start + f"\n{' ' * len(start)}".join(parts) + "\n"


def columns(lines: Sequence[Sequence[str]], width: int | None) -> str:
    """Align the columns of a table; the last column wraps, on separate lines if necessary."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ""
    for *words, last in lines:
        start = "".join(word.ljust(n + 2) for word, n in zip(words, widths, strict=False))
        if width is not None and len(start) + min(len(last), LEAST_LAST_COLUMNS) > width:
            text += start.rstrip() + "\n"
            start = "    "
        text += hanging(start, last, width)
    return text


def aligned(pairs: Iterable[tuple[str, str]], width: int | None, indent: int = 2) -> str:
    """Format pairs of a heading and a text in two columns."""
    pairs = list(pairs)
    size = max((len(name) for name, _ in pairs), default=0)
    return "".join(hanging(f"{' ' * indent}{name:<{size}}  ", text, width) for name, text in pairs)


def rule_names(op: Op) -> list[str]:
    """Return the rules that can refuse a call of a version, in checking order."""
    impossible = set[str]()
    if not op.requires_axis:
        impossible.add("axis-required")
    if op.has_batch_dims:
        impossible.add("batch-dims-unsupported")
    else:
        impossible |= {"batch-dims-range", "batch-dims-axis", "batch-shape"}
    if len(op.inputs[0].dtypes) == len(DTYPES):
        impossible.add("data-dtype")
    most = op.most_rank, op.most_index_rank, op.most_batch_dims, op.only_axis
    if all(each is None for each in most) and not op.least_rank:
        impossible.add("call-rank")
    impossible.add("index-range" if op.out_of_range is OutOfRange.UNDEFINED else "index-undefined")
    checked = set(map(rule_name, FAMILIES[op.family].RULES))
    checked |= {"index-negative", "index-range", "index-undefined", "limit"}
    if op.followed:
        checked.add("integer-values")
    return [name for name in rules.statements() if name in checked - impossible]


_ABSENT: Final = "not in this version"


def traits(op: Op) -> dict[str, tuple[object, str]]:
    """Return the traits of a version by their headings: the value of each, and its words."""
    axis, adapts = op.attr("axis"), op.adapts or Adaptation()
    off_axis = op.off_axis.value if op.off_axis else "nothing to compare"
    off_axis += ", or one of them is 1" * adapts.broadcasts
    tuples = counted(op.shortest_tuple, "number") if op.tuples else "no tuples"
    sizes = (
        "dimensions that must be equal are narrowed to what both inputs allow"
        if op.narrows
        else "dimensions are those of one input"
    )
    return {
        "axis": ((axis, op.only_axis, adapts.flattens, adapts.axis_of_batch), _axis_text(op)),
        "batch_dims": ((op.has_batch_dims, op.most_batch_dims), _batch_dims_text(op)),
        **{each.name: (_input_traits(op, each), _input_text(op, each)) for each in op.inputs},
        "legal indices": (op.index_range, f"{op.index_range.value} for an axis of size s"),
        "other indices": (op.out_of_range, op.out_of_range.done),
        "empty outputs": (
            op.checks_empty,
            "indices are checked" if op.checks_empty else "no index is checked",
        ),
        "beside the axis": (off_axis, off_axis),
        "shortest tuple": (op.shortest_tuple, tuples),
        "inference": (op.narrows, sizes),
        "equation": (op.equation, op.equation),
        "shape": (op.shape, op.shape),
    }


def differences(a: Op, b: Op) -> list[tuple[str, str, str]]:
    """Return the traits in which two versions differ: the heading, and the words of both."""
    of_a, of_b, none = traits(a), traits(b), (None, _ABSENT)
    pairs = [(name, of_a.get(name, none), of_b.get(name, none)) for name in of_a | of_b]
    return [(name, x, y) for name, (one, x), (other, y) in pairs if one != other]


def _input_traits(op: Op, each: Input) -> tuple[object, ...]:
    adapts = op.adapts or Adaptation()
    if each.values:
        ranks = op.least_index_rank, op.most_index_rank
        return each.dtypes, *ranks, each.name in adapts.scalars, adapts.index_bits
    return each.dtypes, *_data_ranks(op), each.name in adapts.scalars, adapts.narrow, op.full


def _data_ranks(op: Op) -> tuple[int, int | None]:
    return op.least_rank or int(op.most_rank is not None), op.most_rank


def _input_text(op: Op, each: Input) -> str:
    adapts = op.adapts or Adaptation()
    if each.values:
        usual = "the rank of data" if op.off_axis else "any rank"
        limits = _ranks(op.least_index_rank, op.most_index_rank)
        cut = [f"the last {adapts.index_bits} bits are read"] * (adapts.index_bits < 64)
    else:
        usual, limits = "rank 1 or more", _ranks(*_data_ranks(op))
        cut = [f"{wide} as {narrow}" for wide, narrow in adapts.narrow.items()]
        cut += ["with elements, if there is an index"] * (op.full == "data")
        cut += ["the axis not empty, if there is an index"] * (op.full == "axis")
    rank = ", ".join(filter(None, (each.rank, limits))) or usual
    rank += ", 0-D as 1-D" * (each.name in adapts.scalars)
    return "; ".join((rank, _types(each.dtypes), *cut))


def _ranks(least: int, most: int | None) -> str:
    """Describe the ranks that the call of a framework takes; empty if it takes any."""
    if most is None:
        return f"rank {least} or more" if least else ""
    if not least:
        return f"rank {most} at most"
    return f"rank {most}" if least == most else f"rank {least} to {most}"


def _axis_text(op: Op) -> str:
    axis, adapts = op.attr("axis"), op.adapts or Adaptation()
    if axis is None:
        return _ABSENT
    if op.only_axis is not None:
        return f"{op.only_axis} alone"
    kind = "an input" if axis.is_input else "an attribute"
    default = "required" if axis.default is None else f"default {axis.default}"
    default = "default batch_dims" if adapts.axis_of_batch else default
    default = "without one data are flattened" if adapts.flattens else default
    source = f" ({axis.source})" if axis.source else ""
    return f"{kind}, [-r, r-1] for data of rank r, {default}{source}"


def _batch_dims_text(op: Op) -> str:
    if not op.has_batch_dims:
        return _ABSENT
    most = "" if op.most_batch_dims is None else f"; {op.most_batch_dims} at most"
    if op.tuples:
        return f"[0, min(N, M)-1] for ranks N of data and M of indices; default 0{most}"
    return f"[-M, M] for indices of rank M, not beyond the axis; default 0{most}"


_LEGEND: Final = """\
s is the size of the axis; where -s is legal, -1 is its last element.
More: gathercli ops VERSION, --diff A B, --like CALL, --decisions.
"""


def _command(op: Op) -> str:
    inputs = " ".join(each.name.upper() for each in op.inputs)
    return f"gathercli {op.family} {inputs} -V {op.id}"


def version_text(op: Op, width: int | None) -> str:
    """Format the sheet of a version: its traits below its name."""
    words = {name: text for name, (_, text) in traits(op).items()}
    names = ["equation", "shape", *(each.name for each in op.inputs), "axis", "batch_dims"]
    names += ["legal indices", "other indices"]
    names += ["empty outputs"] * (not op.checks_empty)
    names += ["beside the axis"] * bool(op.off_axis) + ["shortest tuple"] * op.tuples
    calls = [row for row in framework(op.framework).rows if row.op is op] if op.text else []
    lines = [
        ("command", _command(op)),
        *(("call", row.call) for row in calls),
        *[("changes", op.changes)] * bool(op.changes),
        *((name, words[name]) for name in names),
        *(("nearest", str(row.nearest)) for row in calls),
        *(pair for row in calls for pair in _otherwise(row)),
        ("source", op.source),
    ]
    return f"{op.full_name}\n" + "".join(
        hanging(f"  {name:<15}  ", text, width) for name, text in lines
    )


def sheets(ops: Iterable[Op], width: int | None) -> str:
    """Format the sheets of versions, with the rules and decisions of each."""
    texts, said = list[str](), rules.statements()
    for op in ops:
        decisions = [
            (each.id, f"{each.question} Decision: {each.choice}") for each in concerning(op)
        ]
        texts.append(
            version_text(op, width)
            + "  rules, in the order they are checked\n"
            + aligned(((each, said[each]) for each in rule_names(op)), width, indent=4)
            + "  decisions, where the text is silent or contradicts itself\n" * bool(decisions)
            + aligned(decisions, width, indent=4)
        )
    return "\n".join(texts)


def listing(
    ops: Sequence[Op],
    width: int | None,
    defaults: Collection[Op] = (),
    by: str = "",
    calls: Iterable[Op] = (),
) -> str:
    """List versions: the changes of each, the treatment of indices, and calls of frameworks.

    A star marks the `defaults`, which the setting `by` selects, if any.
    """
    names: dict[str, list[str]] = {}
    for op in calls:
        names.setdefault(op.family, []).append(f"{op.id}{' *' * (op in defaults)}")
    others = aligned(((family, ", ".join(own)) for family, own in names.items()), width)
    others = others and f"calls of other frameworks, which are versions too\n{others}"
    mark = f"* runs where no version is named{by and f', by {by}'}.\n"
    parts = (timeline(ops, width), table(ops, defaults), others, mark + _LEGEND)
    return "\n".join(filter(None, parts))


# The styles of names and headings.
_STYLES: Final = (
    (r"(?m)^(?:version  .*|\S+(?=  )|\S.*(?<!\.)$)", "bold"),
    (r"(?m)^  [a-z](?:\S| (?! ))*(?=  |$)", "cyan"),
)


def colored(text: str, *, color: bool) -> str:
    """Colour names and headings."""
    return rendered(highlighted(text, _STYLES), color=True) if color else text


def _types(types: tuple[DType, ...]) -> str:
    if types == INTEGERS:
        return "any integer type"
    if len(types) > len(PLAIN) // 2:
        missing = in_words(dtype for dtype in DTYPES if dtype not in types)
        return "any type" + (f" but {listed(missing, 'and')}" if missing else "")
    return listed(in_words(types))


def version_json(op: Op) -> dict[str, Any]:
    """Return all fields of a version for JSON."""
    axis = op.attr("axis")
    return {
        "id": op.full_name,
        "version": op.id,
        "command": op.family,
        "framework": op.framework,
        "operator": op.name,
        "since": op.version,
        "axis": axis
        and {
            "default": axis.default,
            "required": op.requires_axis,
            "input": axis.is_input,
            "source": axis.source,
        },
        "batch_dims": op.has_batch_dims,
        **{f"{each.name}_types": [dtype.name for dtype in each.dtypes] for each in op.inputs},
        "legal_indices": op.index_range.value,
        "other_indices": op.out_of_range.done,
        "off_axis": op.off_axis.value if op.off_axis else None,
        **({"shortest_tuple": op.shortest_tuple} if op.tuples else {}),
        "equation": op.equation,
        "shape": op.shape,
        "rules": rule_names(op),
        "decisions": [each.id for each in concerning(op)],
        "changes": op.changes,
        "source": op.source,
    }


def difference_text(a: Op, b: Op, width: int | None) -> str:
    """Format the traits that differ, `a` above `b`, and the effects of moving a model."""
    lines = ""
    for name, x, y in differences(a, b):
        lines += hanging(f"  {name:<15}  - ", x, width) + hanging(f"  {'':<15}  + ", y, width)
    if not lines:
        return f"{a} and {b}: no difference\n"
    moves = aligned(moving(a, b), width)
    return f"{a} → {b}\n{lines}" + (moves and f"\nto move a model\n{moves}")


def difference_json(a: Op, b: Op) -> dict[str, Any]:
    """Return the differences for JSON."""
    return {
        "from": a.full_name,
        "to": b.full_name,
        "differences": [{"field": name, "from": x, "to": y} for name, x, y in differences(a, b)],
        "moving": [{"what": what, "becomes": becomes} for what, becomes in moving(a, b)],
    }


def moving(a: Op, b: Op) -> Iterator[tuple[str, str]]:
    """Yield the changes for a model that moves from `a` to `b`: pairs of a heading and a text."""
    yield from _changes(_fates(a), _fates(b))
    for each in a.inputs:
        for other in b.inputs:
            if each.name == other.name:
                yield from _type_changes(f"types of {each.name}", each.dtypes, other.dtypes)
    x, y = a.attr("axis"), b.attr("axis")
    if x and y and x.is_input is not y.is_input:
        attribute = "an attribute, so it must be known beforehand"
        yield "the axis", f"an input → {attribute}" if x.is_input else "an attribute → an input"
    yield from _changes(_forms(a), _forms(b))
    if a.off_axis and b.off_axis and a.narrows != b.narrows:
        yield "an inferred shape", f"may say {'more' if b.narrows else 'less'}"
    if options := _as_before(a, b):
        yield "to treat indices as before", options


def _changes(a: dict[str, str], b: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is other words for two versions that both have any."""
    for what, words in a.items():
        if words and b[what] and words != b[what]:
            yield what, f"{words} → {b[what]}"


def _fates(op: Op) -> dict[str, str]:
    """Return what a version does with its inputs, and with each kind of index."""
    copies = "single elements" if op.elementwise else "whole slices"
    copies = "slices at tuples" if op.tuples else copies
    return {
        "the operator": "beams followed back" if op.followed else copies,
        "an index from -s to -1": op.negative,
        "an index outside [-s, s-1]": op.out_of_range.done,
        "batch_dims other than 0": _taken(now=op.has_batch_dims),
        "the inputs": listed((each.name for each in op.inputs), "and"),
    }


def _forms(op: Op) -> dict[str, str]:
    """Return the forms of a call and of its output; blank for what a version does not have."""
    axis, off_axis = op.attr("axis"), op.off_axis
    default = f"axis {axis.default}" if axis and axis.default is not None else "refused"
    adapts = op.adapts or Adaptation()
    default = "the axis batch_dims" if adapts.axis_of_batch else default
    return {
        "an axis": _taken(now=axis is not None),
        "no axis given": ("data flattened" if adapts.flattens else default) if axis else "",
        "indices smaller beside the axis": (
            _taken(now=off_axis is OffAxis.AT_MOST) if off_axis else ""
        ),
        "batch_dims above 1": (
            "one dimension of the output" if op.flattens_batch else "as many dimensions"
        ),
        "tuples without numbers": _taken(now=not op.shortest_tuple) if op.tuples else "",
    }


def _taken(*, now: bool) -> str:
    return "taken" if now else "refused"


def _type_changes(what: str, a: Sequence[DType], b: Sequence[DType]) -> Iterator[tuple[str, str]]:
    for only, other, change in ((a, b, "taken → refused"), (b, a, "refused → taken")):
        if names := in_words(dtype for dtype in only if dtype not in other):
            yield what, f"{listed(names, 'and')}: {change}"


def _as_before(a: Op, b: Op) -> str:
    """Return the options with which `b` treats every index as `a` does."""
    if a.family != b.family:
        return ""
    if a.index_range is not b.index_range is IndexRange.SIGNED and not a.out_of_range.refuses:
        return ""  # no option treats a negative index as any other
    options = []
    if a.index_range is not b.index_range:
        options.append(f"--negative {'wrap' if a.index_range is IndexRange.SIGNED else 'error'}")
    if a.out_of_range not in (b.out_of_range, OutOfRange.UNDEFINED):
        options.append(f"--out-of-range {a.out_of_range.value}")
    return " ".join(options)


def decisions_text(decisions: Iterable[Decision], width: int | None) -> str:
    """Format decisions in full, one below the other."""
    fields = ("question", "choice", "reason", "evidence")
    return "\n".join(
        f"{each.id}\n"
        + aligned(
            [("versions", " ".join(each.rows)), *((name, getattr(each, name)) for name in fields)],
            width,
        )
        for each in decisions
    )


def equivalent_text(each: FrameworkRow, width: int | None) -> str:
    """Format a call: the equal versions, the differences, and code without differences."""
    nearest = each.nearest
    equals = [f"{listed(each.rows, 'and')}, for legal indices"] if each.rows else []
    pairs = [
        ("call", each.call),
        ("here", _command(each.op)),
        *(("equals", line) for line in equals),
        ("index from -s to -1", _beside(each.op.negative, nearest.negative, nearest)),
        ("index outside [-s, s-1]", _beside(each.outside, nearest.out_of_range.done, nearest)),
        *_otherwise(each),
    ]
    fixes = (f"\nto be equal to {row}\n{indent(code, '  ')}\n" for row, code in each.fixes.items())
    return f"{each.name} beside {nearest}\n{aligned(pairs, width)}{''.join(fixes)}"


def equivalent_json(each: FrameworkRow) -> dict[str, Any]:
    """Return the fields of a call for JSON."""
    return {
        "name": each.name,
        "aliases": each.aliases,
        "call": each.call,
        "here": _command(each.op),
        "rows": each.rows,
        "negative": each.op.negative,
        "outside": each.outside,
        "differs": each.differs,
        "fixes": [{"equals": row, "code": code} for row, code in each.fixes.items()],
    }


def _otherwise(each: FrameworkRow) -> list[tuple[str, str]]:
    return [("" if at else "otherwise", line) for at, line in enumerate(each.differs)]


def _beside(theirs: str, ours: str, op: Op) -> str:
    return f"{theirs}, as in {op}" if theirs == ours else f"{theirs}; in {op} {ours}"
