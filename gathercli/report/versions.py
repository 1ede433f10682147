"""The operator versions in words: how they came about, the list of all, one written out."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from gathercli.report.terminal import rendered
from gathercli.spec import rules
from gathercli.spec.decisions import concerning
from gathercli.spec.dtypes import DTYPES, PLAIN, in_words
from gathercli.spec.op import INTEGERS, heading
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op

HEADINGS: Final = ("version", "legal indices", "other indices", "batch_dims", "changes")


def cells(op: Op) -> tuple[str, ...]:
    """Return what a table says of a version, under `HEADINGS`."""
    batch_dims = "yes" if op.has_batch_dims else "-"
    return (op.full_name, op.index_range.value, op.out_of_range.done, batch_dims, op.changes)


def timeline(ops: Sequence[Op], width: int | None) -> str:
    """Tell what each version changed, oldest first, by operator and framework."""
    text = ""
    for name, named in groupby(ops, key=lambda op: op.name):
        text += f"{name}\n"
        for framework, rows in groupby(named, key=lambda op: op.framework):
            for at, op in enumerate(sorted(rows, key=lambda op: op.version)):
                start = f"  {'' if at else framework:<9} {op.version:>2}  "
                text += hanging(start, op.changes, width)
    return text


def table(ops: Sequence[Op], marked: Collection[Op] = ()) -> str:
    """Set side by side what the versions do with indices; what each changed is in `timeline`."""
    lines = [list(HEADINGS[:-1]), *([*cells(op)[:-1]] for op in ops)]
    for line, op in zip(lines[1:], ops, strict=True):
        line[0] += " *" if op in marked else ""
    widths = [2 + max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "".join(word.ljust(size) for word, size in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


def hanging(start: str, rest: str, width: int | None) -> str:
    """Write `rest` behind `start`, its further lines below its first."""
    room = max(24, (width or 0) - len(start))
    parts = [rest] if width is None else wrap(rest, room, break_on_hyphens=False)
    return start + f"\n{' ' * len(start)}".join(parts) + "\n"


def aligned(pairs: Iterable[tuple[str, str]], width: int | None, indent: int = 2) -> str:
    """Write pairs of a heading and what it says, what is said below each other."""
    pairs = list(pairs)
    size = max((len(name) for name, _ in pairs), default=0)
    return "".join(hanging(f"{' ' * indent}{name:<{size}}  ", said, width) for name, said in pairs)


def rule_names(op: Op) -> list[str]:
    """Name the rules that can refuse a call of a version, in the order they are tried."""
    impossible = {"axis-required"} if op.axis.default is not None else set[str]()
    impossible |= (
        {"batch-dims-range", "batch-dims-axis", "batch-shape"}
        if not op.has_batch_dims
        else {"batch-dims-unsupported"}
    )
    if not op.elementwise:
        impossible |= {"indices-rank", "elements-shape"}
    if len(op.input("data").dtypes) == len(DTYPES):
        impossible.add("data-dtype")
    return [name for name in rules.SAID if name not in impossible]


def said(op: Op, field: str) -> str:
    """Say in words what a field of a row holds."""
    words = _WORDS.get(field)
    return words(op) if words else str(getattr(op, field))


_WORDS: Final[dict[str, Callable[[Op], str]]] = {
    "axis": lambda op: (
        f"{'an input' if op.axis.is_input else 'an attribute'}, [-r, r-1] for data of rank r, "
        f"{'required' if op.axis.default is None else f'default {op.axis.default}'} "
        f"({op.axis.source})"
    ),
    "batch_dims": lambda op: (
        "[-M, M] for indices of rank M, not beyond the axis; default 0"
        if op.has_batch_dims
        else "not in this version"
    ),
    "data_types": lambda op: f"rank 1 or more; {_types(op.input('data').dtypes)}",
    "indices_types": lambda op: (
        f"{'the rank of data' if op.off_axis else 'any rank'}; {_types(op.input('indices').dtypes)}"
    ),
    "indices": lambda op: f"{op.index_range.value} for an axis of size s",
    "outside": lambda op: op.out_of_range.done,
    "off_axis": lambda op: op.off_axis.value if op.off_axis else "nothing to compare",
    "narrows": lambda op: (
        "dimensions that must be equal are narrowed to what both inputs allow"
        if op.narrows
        else "dimensions are those of one input"
    ),
}
_WRITTEN_OUT: Final = (
    "changes",
    "equation",
    "shape",
    "data_types",
    "indices_types",
    "axis",
    "batch_dims",
    "indices",
    "outside",
    "off_axis",
    "source",
)


_LEGEND: Final = """\
s is the size of the axis; where -s is legal, -1 is its last element.
More: gathercli ops VERSION, --diff A B, --like CALL, --decisions.
"""


def sheet(op: Op) -> list[tuple[str, str]]:
    """Write one version out: pairs of a heading and what it says."""
    fields = (field for field in _WRITTEN_OUT if field != "off_axis" or op.off_axis)
    return [
        ("command", f"gathercli {op.family} DATA INDICES -V {op.id}"),
        *((heading(field), said(op, field)) for field in fields),
    ]


def written(op: Op, width: int | None) -> str:
    """Write one version out as text, below its name."""
    return f"{op.full_name}\n" + "".join(
        hanging(f"  {name:<15}  ", text, width) for name, text in sheet(op)
    )


def sheets(ops: Iterable[Op], width: int | None) -> str:
    """Write versions out, one below the other, each with what can refuse and what was decided."""
    return "\n".join(
        written(op, width)
        + "  rules, in the order they are checked\n"
        + aligned(((name, rules.SAID[name]) for name in rule_names(op)), width, indent=4)
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
    """List versions: what changed from one to the next, then what each does with indices.

    Parameters
    ----------
    defaults, by
        The versions that run where none is named, and what says so if it is not the program.
    """
    mark = f"* runs where no version is named{by and f', by {by}'}.\n"
    return f"{timeline(ops, width)}\n{table(ops, defaults)}\n{mark}{_LEGEND}"


def colored(text: str, *, color: bool) -> str:
    """Colour what is written of versions for a terminal: names and headings."""
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
    """Return everything a version declares, for JSON."""
    return {
        "id": op.full_name,
        "version": op.id,
        "command": op.family,
        "framework": op.framework,
        "operator": op.name,
        "since": op.version,
        "axis": {
            "default": op.axis.default,
            "required": op.axis.default is None,
            "input": op.axis.is_input,
            "source": op.axis.source,
        },
        "batch_dims": op.has_batch_dims,
        "data_types": [dtype.name for dtype in op.input("data").dtypes],
        "indices_types": [dtype.name for dtype in op.input("indices").dtypes],
        "legal_indices": op.index_range.value,
        "other_indices": op.out_of_range.done,
        "off_axis": op.off_axis.value if op.off_axis else None,
        "equation": op.equation,
        "shape": op.shape,
        "rules": rule_names(op),
        "decisions": [each.id for each in concerning(op)],
        "changes": op.changes,
        "source": op.source,
    }
