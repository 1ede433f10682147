"""The sections on models of the page of `check`; loaded if the slice is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gathercli.models.findings import MODEL_STATEMENTS
from gathercli.models.targets import ONNX, ConversionTarget, every_target
from gathercli.ops import FAMILIES, gather
from gathercli.spec.dtypes import INT64, PLAIN
from gathercli.spec.op import REFUSED, IndexRange
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


def sections(parameters: tuple[Block, ...]) -> dict[str, tuple[Block, ...]]:
    """Return the sections; `parameters` describes the arguments and options of the form."""
    rules = tuple((name, text.replace("`", "")) for name, text in MODEL_STATEMENTS.items())
    more = {
        "MODELS": parameters,
        "RULES OF MODELS": (Terms(rules),),
        "TARGETS": (Terms(tuple(_targets())),),
    }
    return {title: (*each, *more[title]) for title, each in prose.sections("models/check").items()}


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
    is_onnx = each.name.startswith(f"{ONNX}-")
    negative = _by_family({name: op.negative for name, op in each.operators.items()})
    if is_onnx:
        negative += f"; {REFUSED} before opset {_first_signed()}, but not by onnxruntime"
    return (
        f"`{ONNX}-OPSET`" if is_onnx else f"`{each.name}`",
        negative,
        _by_family({name: op.outside for name, op in each.operators.items()}),
        _refused(each),
        _limits(each),
        f"{each.evidence}: {each.title}; {'; '.join(each.sources)}",
    )


def _first_signed() -> int:
    """Return the first opset of ONNX whose Gather counts negative indices from the end."""
    return min(
        op.version
        for op in gather.ROWS
        if op.framework == ONNX and op.index_range is IndexRange.SIGNED
    )


def _by_family(fates: Mapping[str, str]) -> str:
    """Write the fate that all operators share, or those of each."""
    commands: dict[str, list[str]] = {}
    for command, fate in fates.items():
        commands.setdefault(fate, []).append(command)
    if len(commands) == 1:
        return next(iter(commands))
    return "; ".join(f"{listed(names, 'and')}: {fate}" for fate, names in commands.items())


def _refused(each: ConversionTarget) -> str:
    """Write the operators and the types of data that a target lacks."""
    lacks = [command for command in FAMILIES if command not in each.operators]
    data = {dtype for op in each.operators.values() for dtype in op.op.inputs[0].dtypes}
    types = [dtype.name for dtype in PLAIN if dtype not in data]
    return ", ".join([*lacks, *types]) or EMPTY_CELL


def _limits(each: ConversionTarget) -> str:
    """Write the limits of a target in words."""
    limits = []
    if each.narrow:
        limits.append(", ".join(f"{wide} as {narrow}" for wide, narrow in each.narrow.items()))
    if each.index_bits < INT64.bits:
        limits.append(f"indices in {each.index_bits} bits")
    if each.most_rank is not None:
        limits.append(f"rank {each.most_rank} at most")
    limits += [
        f"{op.most_batch_dims} batch dimension in {command}"
        for command, op in each.operators.items()
        if op.most_batch_dims is not None
    ]
    limits += [
        f"no batch dimensions in {command}"
        for command, op in each.operators.items()
        if FAMILIES[command].ROWS[0].has_batch_dims and not op.op.has_batch_dims
    ]
    return "; ".join(limits) or EMPTY_CELL
