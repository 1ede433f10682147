"""The sections on models of the pages of commands; loaded if the slice is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from gathercli.models.targets import ConversionTarget, every_target, target_names
from gathercli.models.verdict import MODEL_STATEMENTS
from gathercli.ops import FAMILIES
from gathercli.spec.dtypes import INT64, PLAIN
from gathercli.spec.op import Adaptation, Op
from gathercli.text import listed
from man import prose
from man.prose import Block, Terms

EMPTY_CELL: Final = "-"  # a cell with nothing to say

_TARGET_HEADINGS: Final = (
    "`--to`",
    "index from -s to -1",
    "other index",
    "refuses",
    "limits",
    "known by",
)


def sections(command: str, parameters: tuple[Block, ...]) -> dict[str, tuple[Block, ...]]:
    """Return the sections of a command.

    `parameters` describes the arguments and options of its form for models.
    """
    rules = tuple((name, text.replace("`", "")) for name, text in MODEL_STATEMENTS.items())
    more = {
        "MODELS": parameters,
        "RULES OF MODELS": (Terms(rules),),
        "TARGETS": (Terms(tuple(_targets())),),
    }
    texts = prose.sections(f"models/{command}")
    return {title: (*each, *more[title]) for title, each in texts.items()}


def _targets() -> Iterator[tuple[str, str]]:
    """Yield what is known of each target."""
    (_, *headings), rows = targets_table()
    for name, *cells in rows:
        pairs = zip(headings, cells, strict=True)
        parts = (f"{heading}: {cell}" for heading, cell in pairs if cell != EMPTY_CELL)
        yield name.strip("`"), "; ".join(parts).replace("`", "") + "."


def targets_table() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the headings and the rows of the table of targets, for people."""
    return _TARGET_HEADINGS, [_cells(each) for each in every_target()]


def _cells(each: ConversionTarget) -> tuple[str, ...]:
    found = {command: each.row(family.ROWS[0]) for command, family in FAMILIES.items()}
    rows = {command: row for command, row in found.items() if row is not None}
    lacks = [f"no {command}" for command in FAMILIES if command not in rows]
    types = {command: types for command, row in rows.items() if (types := _refused(row))}
    limits = {command: _limits(row) for command, row in rows.items()}
    shared = {limit: limit for own in limits.values() for limit in own}
    for limit in shared:
        own = [command for command in rows if limit in limits[command]]
        shared[limit] += "" if len(own) == len(rows) else f" in {listed(own, 'and')}"
    opset, number = re.subn(r"\d+$", "OPSET", each.name)
    is_opset = bool(number) and opset in target_names()
    return (
        f"`{opset if is_opset else each.name}`",
        _by_family({command: row.negative for command, row in rows.items()}, rows),
        _by_family({command: row.out_of_range.done for command, row in rows.items()}, rows),
        "; ".join([*lacks, *filter(None, [_by_family(types, rows)])]) or EMPTY_CELL,
        "; ".join(shared.values()) or EMPTY_CELL,
        "; ".join(dict.fromkeys([*(row.source for row in rows.values()), *each.sources])),
    )


def _by_family(texts: Mapping[str, str], rows: Mapping[str, Op]) -> str:
    """Write the text that all operators share, or those of each."""
    commands: dict[str, list[str]] = {}
    for command, text in texts.items():
        commands.setdefault(text, []).append(command)
    if len(commands) == 1 and len(texts) == len(rows):
        return next(iter(commands))
    return "; ".join(f"{listed(names, 'and')}: {text}" for text, names in commands.items())


def _refused(row: Op) -> str:
    """Write the types of data that versions of the operator take, and a row does not."""
    how, taken = row.adapts or Adaptation(), row.inputs[0].dtypes
    known = {each for op in FAMILIES[row.family].ROWS for each in op.inputs[0].dtypes}
    types = [each for each in PLAIN if each in known and how.narrow.get(each, each) not in taken]
    return ", ".join(each.name for each in types)


def _limits(row: Op) -> list[str]:
    """Write the limits of a row in words."""
    how = row.adapts or Adaptation()
    limits = [", ".join(f"{wide} as {other}" for wide, other in how.narrow.items())]
    if how.index_bits < INT64.bits:
        limits.append(f"indices in {how.index_bits} bits")
    if row.most_tensor_rank is not None:
        limits.append(f"rank {row.most_tensor_rank} at most")
    else:
        ranks = {"data": row.most_rank, "indices": row.most_index_rank}
        limits += [f"{name} of rank {n} at most" for name, n in ranks.items() if n is not None]
    if row.most_batch_dims is not None:
        limits.append(f"{row.most_batch_dims} batch dimension")
    if not row.has_batch_dims and FAMILIES[row.family].ROWS[0].has_batch_dims:
        limits.append("no batch dimensions")
    return [limit for limit in limits if limit]
