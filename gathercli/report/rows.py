"""The operator versions in words: the list of all, and one written out."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from gathercli.core import rules
from gathercli.core.dtypes import DTYPES
from gathercli.core.spec import INTEGERS
from gathercli.core.text import listed
from gathercli.report.terminal import rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.core.dtypes import DType
    from gathercli.core.spec import Op

HEADINGS = ("version", "legal indices", "other indices", "batch_dims", "changes")
NARROW = 100
_VALUE_RULES = ("index-negative", "index-range", "limit")


def cells(op: Op) -> tuple[str, ...]:
    """Return what the list says of a version, under `HEADINGS`."""
    batch_dims = "yes" if op.batch_dims else "-"
    return (op.full_name, op.indices.value, op.outside.done, batch_dims, op.changes)


def table(ops: Iterable[Op], width: int | None) -> str:
    """List versions in aligned columns; the last one wraps where a width is given."""
    lines = [HEADINGS, *map(cells, ops)]
    widths = [2 + max(len(line[at]) for line in lines) for at in range(len(HEADINGS) - 1)]
    narrow = width is not None and width < NARROW
    text = ""
    for line in lines:
        start = "".join(word.ljust(size) for word, size in zip(line, widths, strict=False))
        if narrow:  # what changed goes below the version
            text += start.rstrip() + "\n"
        text += hanging("    " if narrow else start, line[-1], width)
    return text


def hanging(start: str, rest: str, width: int | None) -> str:
    """Write `rest` behind `start`, its further lines below its first."""
    room = max(24, (width or 0) - len(start))
    parts = [rest] if width is None else wrap(rest, room, break_on_hyphens=False)
    return start + f"\n{' ' * len(start)}".join(parts) + "\n"


def rule_names(op: Op) -> list[str]:
    """Name the rules that can refuse a call of a version, in the order they are tried."""
    impossible = {"axis-required"} if op.axis.default is not None else set[str]()
    impossible |= (
        {"batch-dims-range", "batch-dims-axis", "batch-shape"}
        if not op.batch_dims
        else {"batch-dims-unsupported"}
    )
    if op.off_axis is None:
        impossible |= {"indices-rank", "elements-shape"}
    if len(op.data_types) == len(DTYPES):
        impossible.add("data-dtype")
    names = (rule.__name__.replace("_", "-") for rule in rules.RULES)
    return [name for name in (*names, *_VALUE_RULES) if name not in impossible]


def sheet(op: Op) -> list[tuple[str, str]]:
    """Write one version out: pairs of a heading and what it says."""
    default = "required" if op.axis.default is None else f"default {op.axis.default}"
    pairs = [
        ("command", f"gathercli {op.family} DATA INDICES -V {op.id}"),
        ("changes", op.changes),
        ("equation", op.equation),
        ("shape", op.shape),
        ("data", f"rank 1 or more; {_types(op.data_types)}"),
        (
            "indices",
            ("the rank of data; " if op.off_axis else "any rank; ") + _types(op.indices_types),
        ),
        ("axis", f"[-r, r-1] for data of rank r, {default} ({op.axis.source})"),
        (
            "batch_dims",
            "[-M, M] for indices of rank M, not beyond the axis; default 0"
            if op.batch_dims
            else "not in this version",
        ),
        ("legal indices", f"{op.indices.value} for an axis of size s"),
        ("other indices", op.outside.done),
    ]
    if op.off_axis:
        pairs.append(("beside the axis", op.off_axis.value))
    return [*pairs, ("rules", ", ".join(rule_names(op))), ("source", op.source)]


def sheets(ops: Sequence[Op], width: int | None) -> str:
    """Write versions out, one below the other."""
    return "\n".join(
        f"{op.full_name}\n"
        + "".join(hanging(f"  {name:<15}  ", text, width) for name, text in sheet(op))
        for op in ops
    )


def shown(ops: Sequence[Op], width: int | None, *, whole: bool, color: bool) -> str:
    """Write versions for a terminal or a pipe: a line each, or each written out."""
    text = sheets(ops, width) if whole else table(ops, width)
    if not color:
        return text
    from rich.text import Text

    styled = Text(text)
    styled.highlight_regex(r"(?m)^(version .*|(openvino|onnx)\.\S+)", "bold")
    styled.highlight_regex(r"(?m)^  [a-z][a-z_ ]{13}[a-z ]", "cyan")
    return rendered(styled, color=True)


def _types(types: tuple[DType, ...]) -> str:
    if types == INTEGERS:
        return "any integer type"
    if len(types) > len(DTYPES) // 2:
        missing = [dtype.name for dtype in DTYPES if dtype not in types]
        return "any type" + (f" but {listed(missing, 'and')}" if missing else "")
    return listed(dtype.name for dtype in types)


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
        "batch_dims": op.batch_dims,
        "data_types": [dtype.name for dtype in op.data_types],
        "indices_types": [dtype.name for dtype in op.indices_types],
        "legal_indices": op.indices.value,
        "other_indices": op.outside.done,
        "off_axis": op.off_axis.value if op.off_axis else None,
        "equation": op.equation,
        "shape": op.shape,
        "rules": rule_names(op),
        "changes": op.changes,
        "source": op.source,
    }
