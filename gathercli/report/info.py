"""Describe files and their tensors, as text and as JSON."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.report.terminal import PICTURE_WIDTH
from gathercli.spec.dtypes import FLOAT64, DType, Kind
from gathercli.spec.shapes import cell, product
from gathercli.text import clean, counted, grouped, short, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from gathercli.compute.chunks import ChunkLayout
    from gathercli.compute.summary import Summary
    from gathercli.compute.tensor import Tensor

MOST_PREVIEW_ELEMENTS: Final = 10  # the largest number of elements of a preview in JSON
MOST_PREVIEW_ROWS: Final = 10  # the largest number of rows of a preview to show whole
MOST_LISTED_MEMBERS: Final = 100  # the largest number of tensors of a file in text

_BARS: Final = " ▁▂▃▄▅▆▇█"


class FileDescription(NamedTuple):
    """The header of one tensor of a file, or the error of reading it."""

    name: str | None
    dtype: DType | None = None
    shape: tuple[int, ...] = ()
    nbytes: int = 0
    order: str | None = None  # C or F
    byte_order: str | None = None  # little or big; None for text and elements of one byte
    refused: str | None = None  # the message of the error
    chunked: ChunkLayout | None = None


class Info(NamedTuple):
    """The description of one file."""

    file: str  # its name as the user wrote it
    format: str
    size: int | None = None  # in bytes; None for a literal
    # the tensors to list, if there are several and none is selected
    members: tuple[FileDescription, ...] = ()
    hidden: int = 0  # the number of others
    one: FileDescription | None = None  # the selected tensor, or the only one
    tensor: Tensor | None = None  # its elements, unless only headers are read
    summary: Summary | None = None


def as_json(info: Info) -> dict[str, Any]:
    """Return the description of a file for JSON."""
    fields: dict[str, Any] = {"file": info.file, "format": info.format, "bytes": info.size}
    if info.one is None:
        return fields | {"members": [_member_json(member) for member in info.members]}
    fields |= _member_json(info.one)
    if info.summary is not None and info.tensor is not None:
        fields |= _summary_json(info.summary, info.tensor.dtype)
        fields["preview"] = _preview(info.tensor)
    return fields


def _member_json(member: FileDescription) -> dict[str, Any]:
    if member.dtype is None:
        return {"name": member.name, "error": member.refused}
    fields: dict[str, Any] = {
        "name": member.name,
        "dtype": member.dtype.name,
        "shape": member.shape,
        "data_bytes": member.nbytes,
        "order": member.order,
        "byte_order": member.byte_order,
    }
    if member.chunked is not None:
        names = ("zarr_format", "chunks", "shards", "codecs")
        fields |= zip(names, member.chunked, strict=True)
    return fields


def _summary_json(summary: Summary, dtype: DType) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, extreme in (("min", summary.minimum), ("max", summary.maximum)):
        if extreme is not None:
            fields[name] = {"value": _json_value(extreme.value, dtype), "at": extreme.at}
    if summary.mean is not None:
        fields["mean"] = _json_value(summary.mean, FLOAT64)
    counts = {
        "nan": summary.nan,
        "inf": summary.infinite,
        "true": summary.true,
        "longest": summary.longest,
    }
    fields |= {name: count for name, count in counts.items() if count is not None}
    if summary.histogram is not None:
        edges = [_json_value(edge, dtype) for edge in summary.histogram.edges]
        fields["histogram"] = {"edges": edges, "counts": summary.histogram.counts}
    return fields


def _number(value: float) -> int | float | str:
    if isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124


def _json_value(value: Any, dtype: DType) -> Any:
    """Return an element for JSON, a float with the fewest digits that identify it in its type."""
    if isinstance(value, complex):
        return [_number(value.real), _number(value.imag)]
    if dtype.kind is Kind.FLOAT and dtype.bits < 64:
        import numpy as np

        value = float(str(np.float32(value)))
    return _number(value) if isinstance(value, float) else value


def _preview(tensor: Tensor) -> list[Any]:
    block = next(tensor.blocks(MOST_PREVIEW_ELEMENTS), None)
    if block is None:
        return []
    values = type(tensor)(tensor.dtype, block).values().tolist()
    return [_json_value(value, tensor.dtype) for value in values]


def text(info: Info, *, width: int | None, precision: int) -> Text:
    """Format the description of a file, within a width if there is one."""
    from rich.text import Text

    out = Text()
    name = info.one.name if info.one else None
    out.append(clean(info.file) + (f"#{shown(name)}" if name else ""), "bold")
    size = "" if info.size is None else f"   {counted(info.size, 'byte')}"
    out.append(f"   {info.format}{size}\n")
    if info.one is None:
        _append_members(out, info.members)
        if info.hidden:
            out.append(f"  {counted(info.hidden, 'tensor')} more; -f json lists all\n", "dim")
        return out
    _append_header(out, info.one, width)
    if info.summary is None or info.tensor is None:
        return out
    from gathercli.report.grid import layout

    for heading, value in _summary_rows(info.summary, info.tensor, precision, width):
        out.append(f"{heading:<9}", "dim").append(f"  {value}\n")
    out.append("\n")
    preview = layout(
        info.tensor,
        width=width or PICTURE_WIDTH,
        precision=precision,
        rows=MOST_PREVIEW_ROWS,
        advice="",
    )
    return out.append_text(preview)


def _append_members(out: Text, members: Sequence[FileDescription]) -> None:
    rows = []
    for member in members:
        what = _typed(member) if member.dtype else clean(member.refused or "")
        bytes_ = counted(member.nbytes, "byte") if member.dtype else ""
        rows.append((clean(short(member.name or "", 60)), what, bytes_))
    names = max((len(name) for name, _, _ in rows), default=0)
    types = max((len(what) for _, what, size in rows if size), default=0)
    for name, what, size in rows:
        out.append(f"  {name.ljust(names)}", "cyan")
        out.append(f"   {what.ljust(types)}   {size}".rstrip() + "\n")
    if not rows:
        out.append("  no tensors\n", "dim")


def header_words(member: FileDescription) -> list[str]:
    """Describe the type, shape, size and layout of a tensor, a phrase each."""
    words = [
        _typed(member),
        counted(product(member.shape), "element"),
        f"{counted(member.nbytes, 'byte')} of data",
    ]
    if member.order and len(member.shape) > 1:
        words.append("Fortran order" if member.order == "F" else "C order")
    if member.byte_order:
        words.append(f"{member.byte_order}-endian")
    if member.chunked is not None:
        version, chunks, shards, codecs = member.chunked
        within = f" in shards of {cell(shards)}" if shards else ""
        words += [f"zarr {version}", f"chunks of {cell(chunks)}{within}", f"codecs {codecs}"]
    return words


def _append_header(out: Text, member: FileDescription, width: int | None) -> None:
    line = ""
    for word in header_words(member):
        if line and width is not None and len(line) + 3 + len(word) > width:
            out.append(line + "\n")
            line = ""
        line += ("   " if line else "") + word
    out.append(line + "\n")


def _typed(member: FileDescription) -> str:
    """Format type and shape as one word, ``int64[2,3]``."""
    return f"{member.dtype or ''}{cell(member.shape)}"


def summary_lines(summary: Summary, tensor: Tensor, precision: int) -> list[tuple[str, str]]:
    """Return the names and values of the fields of a summary, without its histograms."""
    from gathercli.report.grid import GridWriter

    write = GridWriter(tensor, precision)
    lines: list[tuple[str, str]] = []
    for name, extreme in (("min", summary.minimum), ("max", summary.maximum)):
        if extreme is not None:
            lines.append((name, f"{write(extreme.value)} at {cell(extreme.at)}"))
    special = bool(summary.nan or summary.infinite)
    if summary.mean is not None:
        mean = f"{summary.mean:.{precision}g}"
        lines.append(("mean", mean + (" of the finite" if special else "")))
    if summary.nan is not None and summary.infinite is not None:
        lines.append(("NaN", grouped(summary.nan)))
        lines.append(("infinite", grouped(summary.infinite)))
    if summary.true is not None:
        lines.append(("true", f"{grouped(summary.true)} of {grouped(tensor.array.size)}"))
    if summary.longest is not None:
        lines.append(("longest", counted(summary.longest, "character")))
    return lines


def _summary_rows(
    summary: Summary, tensor: Tensor, precision: int, width: int | None
) -> list[tuple[str, str]]:
    """Return the lines of a summary, and of its histogram as bars between the extremes."""
    from gathercli.report.grid import GridWriter

    lines, histogram = summary_lines(summary, tensor, precision), summary.histogram
    if histogram is None:
        return lines
    write, most, steps = GridWriter(tensor, precision), max(histogram.counts), len(_BARS) - 1
    low, high = histogram.edges[0], histogram.edges[-1]
    if summary.maximum and tensor.dtype.integral:
        high = summary.maximum.value
    # every bin but an empty one has a bar
    bars = "".join(_BARS[-(-count * steps // most)] for count in histogram.counts)
    bars = f"{write(low)} {bars} {write(high)}"
    bins = f"{counted(len(histogram.counts), 'bin')}, at most {grouped(most)} in one"
    fits = width is None or len(bars) + len(bins) + 14 <= width
    return [*lines, ("histogram", f"{bars}   {bins}" if fits else bars)]
