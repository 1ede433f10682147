"""Long JSON texts and long lists of numbers, by way of orjson.

What comes out is what the slower ways make of it, or nothing: then those do the work, and own
every message.
"""

from __future__ import annotations

import re
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final

from gathercli.spec.dtypes import INT64, Kind
from gathercli.spec.shapes import DEEPEST, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.tensor import AnyArray, Tensor

LONG: Final = 1 << 16
"""Bytes of text, read or written, from which orjson is worth its import."""

_LARGE: Final = 2.0**63
"""Floats from here on may be integers that orjson has rounded."""

_SPARSE: Final = 8
"""Bytes a list below which lists are what the text is made of."""

_COUNTED: Final = 1 << 12
"""Bytes from which numpy counts faster."""

_ENDS: Final = 1 << 12
"""Bytes in which a text that is read fast begins with its brackets, and ends with them."""

_PIECE: Final = 1 << 15
"""Bytes of text parsed at a time."""

_SCANNED: Final = 1 << 16
"""Bytes of text whose brackets are counted at a time: what is made of them stays in the cache."""

_PLAIN: Final = (1e-4, 1e9)
"""Sizes of floats that everybody writes alike: without exponent, the shortest digits.

Nor does any of these need a second look: the shortest digits of a float32 are at most 9, and where
there is no exponent they lie farther than half a float64's step from the middle between two
float32, so that reading them as float64 and rounding again cannot go astray.
"""


def parse(raw: bytes) -> Any | None:
    """Parse JSON text; None where the standard library might make something else of it.

    Integers beyond 64 bits are the exception: they come as floats (`certain` tells them).
    """
    import orjson

    if count(raw, b"[") > 1000 + len(raw) // _SPARSE:  # all lists: memory counts more than time
        return None
    try:
        value = orjson.loads(raw)
    except (ValueError, RecursionError):
        return None
    # It keeps the last of repeated keys: then there are more colons than keys.
    if b"{" in raw and raw.count(b":") != _keys(value):
        return None
    return value


def plain_array(raw: bytes) -> AnyArray | None:
    """Read lists in lists of nothing but floats, or of nothing but integers; None for any other.

    Piece by piece, as a piece's objects stay in the cache: what is between two commas of the
    outermost list is parsed as a list of its own. If all pieces are lists, so is the whole.

    Returns
    -------
        float64 or int64.
    """
    import numpy as np
    import orjson

    found = re.match(rb"[ \t\r\n]*((?:\[[ \t\r\n]*){1,64})", raw[:_ENDS])
    end = len(raw) - 1 - len(raw[-_ENDS:]) + len(raw[-_ENDS:].rstrip(b" \t\r\n"))
    if found is None or b'"' in raw or raw[end : end + 1] != b"]":
        return None
    # Which numbers are floats, the text says: each has one point, or none has point or exponent.
    floats = b"." in raw
    if not floats and (b"e" in raw or b"E" in raw):
        return None
    closing = b"]" * (found[1].count(b"[") - 1)
    start, cut, view = raw.index(b"[") + 1, 0, memoryview(raw)
    parts: list[AnyArray] = []
    while cut >= 0:
        cut = raw.find(closing + b",", start + _PIECE, end)
        stop = end if cut < 0 else cut + len(closing)
        piece = b"".join((b"[", view[start:stop], b"]"))
        try:
            part = _flat_array(orjson.loads(piece), floats, closing)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        if part is None or not part.size or (floats and count(piece, b".") != part.size):
            return None
        if parts and part.shape[1:] != parts[0].shape[1:]:
            return None
        parts.append(part)
        start = stop + 1
    array = np.concatenate(parts)
    # What was rounded to a float, or from it to -2^63, may have been a longer integer.
    return array if array.min() > -_LARGE and array.max() < _LARGE else None


def count(part: bytes, mark: bytes) -> int:
    """Count a byte; in a long text by numpy, which is slower to start but faster to count."""
    if len(part) < _COUNTED:
        return part.count(mark)
    import numpy as np

    found, step = np.frombuffer(part, np.uint8), 1 << 18
    same = (found[at : at + step] == ord(mark) for at in range(0, len(part), step))
    return sum(map(int, map(np.count_nonzero, same)))


def largest(part: bytes) -> int:
    """Return the largest byte; in a long text by numpy, as `count` does."""
    if len(part) < _COUNTED:
        return max(part, default=0)
    import numpy as np

    return int(np.frombuffer(part, np.uint8).max())


def is_deep(text: str) -> bool:
    """Tell whether JSON text has more levels of brackets than `DEEPEST`.

    >>> is_deep("[" * 501), is_deep('["' + "[" * 501)
    (True, False)
    """
    if len(text) < LONG and text.count("[") + text.count("{") <= DEEPEST:
        return False
    import numpy as np

    raw = text.encode(errors="replace")
    if b"\\" in raw:  # then the quotes that are left begin or end a string
        raw = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    strings, quoted, level = b'"' in raw, 0, 0
    for at in range(0, len(raw), _SCANNED):
        found = np.frombuffer(raw, np.uint8, min(_SCANNED, len(raw) - at), at)
        brackets = found | 0x20  # which makes "[" and "]" to "{" and "}"
        opens, closes = brackets == ord("{"), brackets == ord("}")
        if strings:
            inside = np.cumsum(found == ord('"'), dtype=np.int32) + quoted & 1
            quoted = int(inside[-1])
            opens &= inside == 0
            closes &= inside == 0
        opened = int(np.count_nonzero(opens))
        if level + opened > DEEPEST:
            levels = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32)
            if level + int(levels.max()) > DEEPEST:
                return True
        level += opened - int(np.count_nonzero(closes))
    return False


def _flat_array(level: list[Any], floats: bool, closing: bytes) -> AnyArray | None:
    """Make an array of lists in lists, as deep as there are brackets to close; None for ragged."""
    import numpy as np

    shape, elements = [len(level)], iter(level)
    for _ in closing:
        level = list(elements)
        lengths = set(map(len, level))
        if len(lengths) != 1 or set(map(type, level)) != {list}:
            return None
        shape += lengths
        elements = chain.from_iterable(level)
    held: Any = np.float64 if floats else np.int64
    return np.fromiter(elements, held, product(shape)).reshape(shape)


def _keys(value: Any) -> int:
    """Count the keys of all objects in a document; -1 for one that is very deep."""
    count, level, depth = 0, [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            return -1
        inner: list[Any] = []
        for each in level:
            if type(each) is dict:
                count += len(each)
                inner += each.values()
            elif type(each) is list and each and type(each[0]) in (list, dict):
                inner += each
        level = inner
    return count


def certain(tensor: Tensor) -> bool:
    """Tell whether no element of what `parse` gave can have been a longer integer."""
    import numpy as np

    if tensor.dtype is INT64:
        return int(tensor.array.min(initial=0)) > -(2**63)
    if tensor.dtype.kind not in (Kind.FLOAT, Kind.COMPLEX) or tensor.dtype.name == "float16":
        return True
    size = np.abs(tensor.values())
    return not ((size >= _LARGE) & np.isfinite(size)).any()


def text(values: AnyArray, words: Callable[[AnyArray], list[str]]) -> str:
    """Write numbers or booleans as JSON, entry by entry with commas between.

    Parameters
    ----------
    values
        Shape (N, D..), float32, float64, an integer type or bool; native byte order.
    words
        Writes elements one by one: those that are not finite, and the others that need care.
    """
    import numpy as np
    import orjson

    values, odd = np.ascontiguousarray(values), []
    if values.dtype.kind == "f":
        size = np.abs(values)
        strange = ~((size >= _PLAIN[0]) & (size < _PLAIN[1])) & (values != 0)
        if strange.any():
            odd = words(values[strange])
            values = np.where(strange, values.dtype.type("nan"), values)
    written = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
    if odd:  # it wrote null for NaN, and for nothing else
        between = zip_longest(written.split(b"null"), map(str.encode, odd), fillvalue=b"")
        written = b"".join(chain.from_iterable(between))
    return str(memoryview(written)[1:-1], "ascii")


def shortest(values: AnyArray) -> list[float]:
    """Return the floats that the shortest digits of float32 values, shape (N,), stand for."""
    import numpy as np
    import orjson

    text = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
    read = orjson.loads(text)
    return [v if s is None else s for s, v in zip(read, values.tolist(), strict=True)]
