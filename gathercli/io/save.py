"""Write results in the format of a suffix or an option."""

from __future__ import annotations

import os

from gathercli.errors import Hint, InputError, UsageError
from gathercli.io.files import new_name
from gathercli.io.formats.table import BY_SUFFIX, FORMATS, Format, load
from gathercli.records import Any, Final, Sequence
from gathercli.spec.shapes import product
from gathercli.text import clean, closest, listed, short

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.io.formats.encode import Piece
    from gathercli.io.formats.npy import NamedResult
    from gathercli.io.stream import ByteTarget
    from gathercli.io.zarr.created import Creation
    from gathercli.spec.dtypes import DType

# The formats of a single file; `io.zarr.created` writes folders.
STREAMED_FORMATS: Final = tuple(name for name in FORMATS if not FORMATS[name].chunked)
BUFFER_BYTES: Final = 1 << 16  # bytes of text to collect before a write


def format_of(path: str) -> str:
    """Return the format of the suffix of a path; raise UsageError if it is unknown."""
    suffix = _suffix(path)
    if suffix not in BY_SUFFIX:
        what = f"`{clean(path)}` has {f'the suffix `{clean(suffix)}`' if suffix else 'no suffix'}"
        expected = listed(BY_SUFFIX)
        raise UsageError(what, value=path, expected=expected, hint=_suggest_suffix(path, suffix))
    return BY_SUFFIX[suffix]


def format_of_output(path: str) -> str:
    """Return the format of an output: JSON for a pipe or a device, unless the suffix names one."""
    from gathercli.io.write import is_stream

    if _suffix(path) not in BY_SUFFIX and is_stream(path):
        return "json"
    return format_of(path)


def _suggest_suffix(path: str, suffix: str) -> Hint:
    """Suggest a new file like `path` with a known suffix."""
    near = closest(suffix, BY_SUFFIX, cutoff=0.75) if suffix else None
    name = new_name(os.path.splitext(path)[0] if suffix else path, near or ".npy")
    if near:
        return Hint("did you mean {source}?", source=name)
    return Hint("the suffix names the format, as in {source}", source=name)


def check_format(
    path: str | None, fmt: str | None, *, option: str, force: bool, instead: str | None = None
) -> None:
    """Raise UsageError if a format contradicts the suffix of the file.

    `path` is None for stdout, and `fmt`, the value of `option`, None without it; `force` is
    ``--force-format``, which requires `fmt`, and `instead` a hint in its place.
    """
    if fmt is None and force:
        raise UsageError(f"is given without `{option}`", subject="--force-format", expected="both")
    suffix = _suffix(path or "")
    if fmt is None or force or suffix not in BY_SUFFIX:
        return
    if fmt not in FORMATS or FORMATS[fmt].suffix != suffix:
        has = f"has the suffix `{suffix}`, and the format is `{option} {fmt}`"
        hint = instead or f"`--force-format` writes {fmt} into it all the same"
        what = f"`{clean(path or '')}` {has}"
        raise UsageError(what, value=path, expected="one format", hint=hint)


def _suffix(path: str) -> str:
    return os.path.splitext(path.rstrip("/"))[1].lower()


def is_binary(fmt: str) -> bool:
    """Tell whether a format is binary."""
    return fmt in FORMATS and FORMATS[fmt].binary


def least_size(fmt: str, dtype: DType, shape: Sequence[int], nbytes: int) -> int:
    """Return how many bytes a file takes at least for a tensor of `nbytes` in memory."""
    if fmt not in FORMATS:  # a view may leave out elements
        return 0
    row = FORMATS[fmt]
    if not row.binary:
        return 2 * product(shape)  # a digit, and what follows it
    return product(shape) * dtype.bits // 8 if row.packs else nbytes


def least_sum(fmt: str, results: Sequence[NamedResult]) -> int:
    """Return how many bytes a file of several tensors takes at least."""
    return sum(least_size(fmt, r.dtype, r.shape, r.nbytes) for _, r in results)


def write(
    fmt: str,
    results: Sequence[NamedResult],
    out: ByteTarget,
    *,
    nonfinite: str = "quoted",
    parameters: dict[str, Any] | None = None,
    max_bytes: int | None = None,
) -> None:
    """Write results block by block in one of `STREAMED_FORMATS`; `TextOptions` has the options."""
    row = FORMATS.get(fmt)
    if row is None or row.chunked:
        raise UsageError(f"no format `{fmt}`", value=fmt, expected=listed(STREAMED_FORMATS))
    writer = load(row.writer)
    if row.binary:
        for name, _ in results if row.named else ():
            _check_name(fmt, row, name)
        writer(results, out)
        return
    from gathercli.io.formats.encode import TextOptions

    pieces: list[Piece] = []
    size = 0
    for piece in writer(results, TextOptions(nonfinite, parameters, max_bytes)):
        pieces.append(piece)
        size += len(piece)
        if size >= BUFFER_BYTES:
            out.write(b"".join(pieces))
            pieces, size = [], 0
    out.write(b"".join(pieces))


def creator(fmt: str) -> type[Creation]:
    """Import the class of outputs of a format of chunks."""
    created: type[Creation] = load(FORMATS[fmt].writer)
    return created


def _check_name(fmt: str, row: Format, name: str) -> None:
    if name.isascii() and not row.unfit:
        return
    import re

    problem = next((text for pattern, text in row.unfit if re.search(pattern, name)), None)
    if not name.isascii() and re.search("[\ud800-\udfff]", name):
        problem = "what is not UTF-8"
    if problem is not None:
        what = f"the name `{short(name)}` is, or has, {problem}"
        raise InputError(what, value=name, expected=f"one that {fmt} can keep")
