"""Results to bytes, in the format that was asked for or that the name of the file tells."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from gathercli.core.text import clean, listed
from gathercli.errors import UsageError
from gathercli.io import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.core.dtypes import Tensor
    from gathercli.engine import Run

SUFFIXES: Final = {".npy": "npy", ".npz": "npz", ".json": "json"}
FORMATS: Final = ("npy", "npz", "json", "oip", "literal")
BINARY: Final = frozenset({"npy", "npz"})


def format_of(path: str) -> str:
    """Tell the format of a file by its suffix.

    Raises
    ------
    UsageError
        ``usage``: the suffix names no format.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"`{clean(path)}` has {f'the suffix `{clean(suffix)}`' if suffix else 'no suffix'}: "
            f"expected {listed(SUFFIXES)}, or a format",
            rule="usage",
            value=path,
            expected=listed(SUFFIXES),
            hint="`-f npy` (or json, oip, literal) names the format",
        )
    return SUFFIXES[suffix]


def write(
    fmt: str,
    result: Tensor | Run,
    put: Callable[[bytes | memoryview], object],
    *,
    nonfinite: str = "quoted",
    parameters: dict[str, Any] | None = None,
    max_bytes: int | None = None,
) -> None:
    """Write a result through `put`, block by block.

    Parameters
    ----------
    fmt
        ``npy``, ``npz``, ``json``, ``oip`` or ``literal``.
    parameters
        What ``oip`` notes about the result.
    """
    if fmt not in FORMATS:
        raise UsageError(f"no format `{fmt}`: expected {listed(FORMATS)}", rule="usage", value=fmt)
    if fmt in BINARY:
        parts = encode.npy_parts(result.dtype, result.storage, result.shape, result.blocks())
        if fmt == "npz":
            encode.npz(parts, put)
        else:
            for part in parts:
                put(part)
        return
    if fmt == "json":
        text = encode.plain_json(result, nonfinite=nonfinite, max_bytes=max_bytes)
    elif fmt == "oip":
        text = encode.oip(result, nonfinite=nonfinite, parameters=parameters or {})
    else:
        text = encode.literal(result, max_bytes=max_bytes)
    held = ""
    for piece in text:
        held += piece
        if len(held) >= 1 << 16:
            put(held.encode())
            held = ""
    put(held.encode())
