"""Results to bytes, in the format that was asked for or that the name of the file tells."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import Hint, InputError, UsageError
from gathercli.io.formats.table import BY_SUFFIX, FORMATS, Format, load
from gathercli.io.write import new_name
from gathercli.text import clean, closest, listed, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.io.formats.encode import ByteTarget, Named


STREAMED: Final = tuple(name for name in FORMATS if not FORMATS[name].chunked)
"""The formats that are one file, written from its beginning; io.chunkwise writes folders."""


def format_of(path: str) -> str:
    """Tell the format of a file by its suffix.

    Raises
    ------
    UsageError
        ``usage``: the suffix names no format.
    """
    suffix = _suffix(path)
    if suffix not in BY_SUFFIX:
        raise UsageError(
            f"`{clean(path)}` has {f'the suffix `{clean(suffix)}`' if suffix else 'no suffix'}: "
            f"expected {listed(BY_SUFFIX)}, or a format",
            rule="usage",
            value=path,
            expected=listed(BY_SUFFIX),
            hint=_known_suffix(path, suffix),
        )
    return BY_SUFFIX[suffix]


def _known_suffix(path: str, suffix: str) -> Hint:
    """Name a new file like `path`, of a suffix that names a format."""
    near = closest(suffix, BY_SUFFIX, cutoff=0.75) if suffix else None
    name = new_name(os.path.splitext(path)[0] if suffix else path, near or ".npy")
    if near:
        return Hint("did you mean {source}?", source=name)
    return Hint("{source} in its place names one", source=name)


def check_format(
    path: str | None, fmt: str | None, *, option: str, force: bool, instead: str | None = None
) -> None:
    """Refuse a format that contradicts the name of the file.

    Parameters
    ----------
    path
        The file; None for stdout.
    fmt
        The format that was asked for, a key of `FORMATS` or another; None for the suffix's own.
    option
        The one that names a format, for the message.
    force
        Whether the format is meant all the same.
    instead
        What to suggest where forcing the format would replace what is wanted.

    Raises
    ------
    UsageError
        ``usage``: the suffix is known, and of another format; or nothing is there to be forced.
    """
    if fmt is None and force:
        raise UsageError(
            f"`--force-format` is given without `{option}`: expected both", rule="usage"
        )
    suffix = _suffix(path or "")
    if fmt is None or force or suffix not in BY_SUFFIX:
        return
    if fmt not in FORMATS or FORMATS[fmt].suffix != suffix:
        raise UsageError(
            f"`{clean(path or '')}` has the suffix `{suffix}`, and the format is "
            f"`{option} {fmt}`: expected one format",
            rule="usage",
            value=path,
            hint=instead or f"`--force-format` writes {fmt} into it all the same",
        )


def _suffix(path: str) -> str:
    return os.path.splitext(path.rstrip("/"))[1].lower()


def is_binary(fmt: str) -> bool:
    """Tell whether a format is no text."""
    return fmt in FORMATS and FORMATS[fmt].binary


def write(
    fmt: str,
    results: Sequence[Named],
    out: ByteTarget,
    *,
    nonfinite: str = "quoted",
    parameters: dict[str, Any] | None = None,
    max_bytes: int | None = None,
) -> None:
    """Write results to `out`, block by block.

    Parameters
    ----------
    fmt
        One of `STREAMED`.
    results
        Tensors and their names; exactly one where the format does not hold several.
    parameters
        What ``oip`` notes about the results.
    """
    from gathercli.io.formats.encode import TextOptions

    row = FORMATS.get(fmt)
    if row is None or row.chunked:
        raise UsageError(f"no format `{fmt}`: expected {listed(STREAMED)}", rule="usage", value=fmt)
    writer = load(row.writer)
    if row.binary:
        for name, _ in results if row.named else ():
            _check_name(fmt, row, name)
        writer(results, out)
        return
    held = ""
    for piece in writer(results, TextOptions(nonfinite, parameters, max_bytes)):
        held += piece
        if len(held) >= 1 << 16:
            out.write(held.encode())
            held = ""
    out.write(held.encode())


def _check_name(fmt: str, row: Format, name: str) -> None:
    """Refuse a name that a binary format cannot keep."""
    why = next((why for pattern, why in row.unfit if re.search(pattern, name)), None)
    if not name.isascii() and re.search("[\ud800-\udfff]", name):
        why = "what is no UTF-8"
    if why is not None:
        raise InputError(
            f"the name `{short(name)}` is, or has, {why}: expected one that {fmt} can keep",
            rule="format",
            value=name,
        )
