"""Format operator versions as text: their changes, the list of all, a sheet of one."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from gathercli.ops import FAMILIES
from gathercli.report.terminal import rendered
from gathercli.spec import rules
from gathercli.spec.decisions import concerning
from gathercli.spec.dtypes import DTYPES, PLAIN, in_words
from gathercli.spec.op import INTEGERS, heading
from gathercli.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op

HEADINGS: Final = ("version", "legal indices", "other indices", "batch_dims", "changes")


def cells(op: Op) -> tuple[str, ...]:
    """Return the cells of a version in a table with `HEADINGS`."""
    batch_dims = "yes" if op.has_batch_dims else "-"
    return (op.full_name, op.index_range.value, op.out_of_range.done, batch_dims, op.changes)


def timeline(ops: Sequence[Op], width: int | None) -> str:
    """List the changes of each version, oldest first, by operator and framework."""
    text = ""
    for name, versions in groupby(ops, key=lambda op: op.name):
        text += f"{name}\n"
        for framework, rows in groupby(versions, key=lambda op: op.framework):
            for at, op in enumerate(sorted(rows, key=lambda op: op.version)):
                start = f"  {'' if at else framework:<9} {op.version:>2}  "
                text += hanging(start, op.changes, width)
    return text


def table(ops: Sequence[Op], marked: Collection[Op] = ()) -> str:
    """Tabulate the treatment of indices by version, with a star at `marked` versions."""
    lines: list[tuple[str, ...]] = [HEADINGS[:-1]]
    lines += [(f"{op}{' *' * (op in marked)}", *cells(op)[1:-1]) for op in ops]
    widths = [2 + max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "".join(word.ljust(size) for word, size in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


class Operators(tuple["Op", ...]):
    """Operator versions; their `repr` is the table of `gathercli ops`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return table(self).rstrip("\n")


OPERATORS: Final = Operators(op for family in FAMILIES.values() for op in family.ROWS)
"""Every operator version, newest first in each framework, as `gathercli.OPERATORS`."""


def hanging(start: str, rest: str, width: int | None) -> str:
    """Format `rest` after `start`, wrapped with a hanging indent."""
    room = max(24, (width or 0) - len(start))
    parts = [rest] if width is None else wrap(rest, room, break_on_hyphens=False)
    return start + f"\n{' ' * len(start)}".join(parts) + "\n"


def aligned(pairs: Iterable[tuple[str, str]], width: int | None, indent: int = 2) -> str:
    """Format pairs of a heading and a text in two columns."""
    pairs = list(pairs)
    size = max((len(name) for name, _ in pairs), default=0)
    return "".join(hanging(f"{' ' * indent}{name:<{size}}  ", text, width) for name, text in pairs)


def rule_names(op: Op) -> list[str]:
    """Return the rules that can refuse a call of a version, in checking order."""
    axis, impossible = op.attr("axis"), set[str]()
    if axis is None or axis.default is not None:
        impossible.add("axis-required")
    if op.has_batch_dims:
        impossible.add("batch-dims-unsupported")
    else:
        impossible |= {"batch-dims-range", "batch-dims-axis", "batch-shape"}
    if len(op.inputs[0].dtypes) == len(DTYPES):
        impossible.add("data-dtype")
    checked = {rule.__name__.replace("_", "-") for rule in FAMILIES[op.family].RULES}
    checked |= {"index-negative", "index-range", "limit"}
    if op.followed:
        checked.add("integer-values")
    return [name for name in rules.STATEMENTS if name in checked - impossible]


_ABSENT: Final = "not in this version"


def trait_text(op: Op, trait: str) -> str:
    """Describe a trait of a version in words."""
    if trait.endswith("_types"):
        return _input_text(op, trait.removesuffix("_types"))
    write = _TRAITS.get(trait)
    return write(op) if write else str(getattr(op, trait))


def _input_text(op: Op, name: str) -> str:
    each = next((each for each in op.inputs if each.name == name), None)
    if each is None:
        return _ABSENT
    rank = "rank 1 or more"
    if each.values:
        rank = "the rank of data" if op.off_axis else "any rank"
    return f"{each.rank or rank}; {_types(each.dtypes)}"


def _axis_text(op: Op) -> str:
    axis = op.attr("axis")
    if axis is None:
        return _ABSENT
    kind = "an input" if axis.is_input else "an attribute"
    default = "required" if axis.default is None else f"default {axis.default}"
    return f"{kind}, [-r, r-1] for data of rank r, {default} ({axis.source})"


def _batch_dims_text(op: Op) -> str:
    if op.tuples:
        return "[0, min(N, M)-1] for ranks N of data and M of indices; default 0"
    return "[-M, M] for indices of rank M, not beyond the axis; default 0"


_TRAITS: Final[dict[str, Callable[[Op], str]]] = {
    "axis": _axis_text,
    "batch_dims": lambda op: _batch_dims_text(op) if op.has_batch_dims else _ABSENT,
    "indices": lambda op: f"{op.index_range.value} for an axis of size s",
    "outside": lambda op: op.out_of_range.done,
    "shortest_tuple": lambda op: (
        counted(op.shortest_tuple, "number", "numbers") if op.tuples else "no tuples"
    ),
    "off_axis": lambda op: op.off_axis.value if op.off_axis else "nothing to compare",
    "narrows": lambda op: (
        "dimensions that must be equal are narrowed to what both inputs allow"
        if op.narrows
        else "dimensions are those of one input"
    ),
}
_LEGEND: Final = """\
s is the size of the axis; where -s is legal, -1 is its last element.
More: gathercli ops VERSION, --diff A B, --like CALL, --decisions.
"""


def sheet(op: Op) -> list[tuple[str, str]]:
    """Return the lines of the sheet of a version: pairs of a heading and a text."""
    inputs = " ".join(each.name.upper() for each in op.inputs)
    names = ["changes", "equation", "shape", *(f"{each.name}_types" for each in op.inputs)]
    names += ["axis", "batch_dims", "indices", "outside"]
    names += ["off_axis"] * bool(op.off_axis) + ["shortest_tuple"] * op.tuples + ["source"]
    return [
        ("command", f"gathercli {op.family} {inputs} -V {op.id}"),
        *((heading(name), trait_text(op, name)) for name in names),
    ]


def version_text(op: Op, width: int | None) -> str:
    """Format the sheet of a version below its name."""
    return f"{op.full_name}\n" + "".join(
        hanging(f"  {name:<15}  ", text, width) for name, text in sheet(op)
    )


def sheets(ops: Iterable[Op], width: int | None) -> str:
    """Format the sheets of versions, with the rules and decisions of each."""
    return "\n".join(
        version_text(op, width)
        + "  rules, in the order they are checked\n"
        + aligned(((name, rules.STATEMENTS[name]) for name in rule_names(op)), width, indent=4)
        + "  decisions, where the text is silent or contradicts itself\n"
        + aligned(
            ((each.id, f"{each.question} Decision: {each.choice}") for each in concerning(op)),
            width,
            indent=4,
        )
        for op in ops
    )


def listing(
    ops: Sequence[Op], width: int | None, defaults: Collection[Op] = (), by: str = ""
) -> str:
    """List versions: the changes of each, then the treatment of indices.

    Parameters
    ----------
    defaults, by
        The default versions, and the setting that selects them, if any.
    """
    mark = f"* runs where no version is named{by and f', by {by}'}.\n"
    return f"{timeline(ops, width)}\n{table(ops, defaults)}\n{mark}{_LEGEND}"


def colored(text: str, *, color: bool) -> str:
    """Colour names and headings."""
    if not color:
        return text
    from rich.text import Text

    styled = Text(text)
    styled.highlight_regex(r"(?m)^(?:version  .*|\S+(?=  )|\S.*(?<!\.)$)", "bold")
    styled.highlight_regex(r"(?m)^  [a-z](?:\S| (?! ))*(?=  |$)", "cyan")
    return rendered(styled, color=True)


def _types(types: tuple[DType, ...]) -> str:
    if types == INTEGERS:
        return "any integer type"
    if len(types) > len(PLAIN) // 2:
        missing = in_words(dtype for dtype in DTYPES if dtype not in types)
        return "any type" + (f" but {listed(missing, 'and')}" if missing else "")
    return listed(in_words(types))


def as_json(op: Op) -> dict[str, Any]:
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
            "required": axis.default is None,
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
