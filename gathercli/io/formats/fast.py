"""Read and write long JSON texts with orjson.

A function returns the same as the slow code, or None, so that the slow code runs and raises errors.
"""

from __future__ import annotations

from itertools import chain
from struct import error as StructError  # noqa: N812  (a class)
from struct import pack

from gathercli.spec.dtypes import INT64, Kind
from gathercli.spec.shapes import DEEPEST, product

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Final

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor

LONG_TEXT: Final = 1 << 16  # bytes of text, read or written, from which orjson is worth its import
# The longest text, in characters, that is parsed one by one: no number of it overflows.
_SHORT_TEXT: Final = 200
_LIST_CHARACTERS: Final = frozenset("0123456789.-,[] ")
_LARGE_FLOAT: Final = 2.0**63  # the smallest float that may be an integer orjson has rounded
_LIST_BYTES: Final = 8  # bytes of text for each list; with fewer the text is mostly lists
_MIN_NUMPY_BYTES: Final = 1 << 12  # bytes from which numpy counts faster than Python
_BRACKET_BYTES: Final = 1 << 12  # bytes at either end of a text that contain its outermost brackets
_PIECE_BYTES: Final = 1 << 15  # bytes of text parsed at a time
# Numbers written at a time: their text stays in the cache, and its memory is used again.
NUMBERS_AT_ONCE: Final = 1 << 15
# Bytes of text scanned for brackets at a time: the arrays stay in the cache.
_SCAN_BYTES: Final = 1 << 16

# Magnitudes of floats that orjson writes as Python does: without exponent, the shortest digits.
# They also read back through float64: the shortest digits of a float32 are at most 9, and without
# an exponent they are more than half a step of float64 away from the middle between two float32.
_PLAIN_MAGNITUDES: Final = (1e-4, 1e9)


def short_lists(text: str) -> Any | None:
    """Parse short nested lists of integers and decimal fractions, without importing `json`.

    Return None for any other text.

    >>> short_lists("[[1,2],[-3, 4]]"), short_lists("[0.5,[]]"), short_lists("[1,]")
    ([[1, 2], [-3, 4]], [0.5, []], None)
    """
    if text[:1] != "[" or len(text) > _SHORT_TEXT or not _LIST_CHARACTERS.issuperset(text):
        return None
    lists: list[Any] = [[]]  # the list that is open, and those around it; the first has the value
    before = ","
    for token in text.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").split():
        is_value = before in ("[", ",")
        if token == "[" and is_value:
            lists.append([])
        elif token == "]" and before != "," and len(lists) > 1:
            lists[-2].append(lists.pop())
        elif token == "," and not is_value and len(lists) > 1:
            pass
        elif is_value and (number := _number(token)) is not None:
            lists[-1].append(number)
        else:
            return None
        before = token
    return lists[0][0] if len(lists) == 1 else None


def _number(word: str) -> float | None:
    """Parse an integer or a decimal fraction of JSON."""
    whole, point, fraction = word.removeprefix("-").partition(".")
    if not whole.isdigit() or (whole[0] == "0" and whole != "0"):
        return None
    if not point:
        return int(word)
    return float(word) if fraction.isdigit() else None


def parse(raw: bytes) -> Any | None:
    """Parse JSON text; return None if the standard library might return something else.

    Integers beyond 64 bits become floats all the same: see `is_certain`.
    """
    import orjson

    if (
        count(raw, b"[") > 1000 + len(raw) // _LIST_BYTES
    ):  # mostly lists: memory matters more than time
        return None
    try:
        value = orjson.loads(raw)
    except (ValueError, RecursionError):
        return None
    # orjson keeps the last of repeated keys: then the text has more colons than keys.
    if b"{" in raw and raw.count(b":") != _keys(value):
        return None
    return value


def plain_array(read: Callable[[int], bytes]) -> AnyArray | None:
    """Parse nested lists of only floats or only integers to float64 or int64; else return None.

    The text is cut at commas of the outermost list, and each piece parsed as a list of its own: its
    text and its objects stay in the cache. If all pieces are lists, so is the whole. `read` returns
    up to so many next bytes of the text.
    """
    import re

    import numpy as np
    import orjson

    text = read(_BRACKET_BYTES + _PIECE_BYTES)
    opening = re.match(rb"[ \t\r\n]*((?:\[[ \t\r\n]*){1,64})", text[:_BRACKET_BYTES])
    if opening is None:
        return None
    closing = b"]" * (opening[1].count(b"[") - 1)
    parts: list[AnyArray] = []
    floats = None
    for piece in _pieces(text[text.index(b"[") + 1 :], closing, read):
        # Either every number has a point, and is a float, or none has a point or an exponent.
        if floats is None:
            floats = b"." in piece
        try:
            part = _flat_array(orjson.loads(piece), floats, closing)
        except (ValueError, TypeError, StructError, RecursionError):
            return None
        if part is None or not part.size or (parts and part.shape[1:] != parts[0].shape[1:]):
            return None
        # struct takes whole numbers for floats, and true for a number.
        if count(piece, b".") != part.size if floats else b"e" in piece:
            return None
        parts.append(part)
    array = np.concatenate(parts)
    # A larger magnitude, or -2^63, may be a rounded integer of more than 64 bits.
    return array if array.min() > -_LARGE_FLOAT and array.max() < _LARGE_FLOAT else None


def _pieces(text: bytes, closing: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Cut a list at commas between its entries, and yield the pieces as lists of their own.

    `text` starts after the first bracket, and `read` returns what follows; `closing` are the
    brackets that close an entry.
    """
    while True:
        stop = text.rfind(closing + b",") + len(closing)
        if stop >= len(closing):
            yield b"".join((b"[", memoryview(text)[:stop], b"]"))
            text = text[stop + 1 :] + read(_PIECE_BYTES)
        elif more := read(max(_PIECE_BYTES, len(text))):
            text += more
        else:
            yield b"[" + text  # with the last bracket, if it is there
            return


def count(part: bytes, mark: bytes) -> int:
    """Count a byte; in a long text with numpy, which has more overhead but counts faster."""
    if len(part) < _MIN_NUMPY_BYTES:
        return part.count(mark)
    import numpy as np

    codes, step = np.frombuffer(part, np.uint8), 1 << 18
    matches = (codes[at : at + step] == ord(mark) for at in range(0, len(part), step))
    return sum(map(int, map(np.count_nonzero, matches)))


def largest(part: bytes) -> int:
    """Return the largest byte; of a long text with numpy, as `count` does."""
    if len(part) < _MIN_NUMPY_BYTES:
        return max(part, default=0)
    import numpy as np

    return int(np.frombuffer(part, np.uint8).max())


def is_deep(text: str) -> bool:
    """Tell whether JSON text has more levels of brackets than `DEEPEST`.

    >>> is_deep("[" * 501), is_deep('["' + "[" * 501)
    (True, False)
    """
    if len(text) < LONG_TEXT and text.count("[") + text.count("{") <= DEEPEST:
        return False
    import numpy as np

    raw = text.encode(errors="replace")
    if b"\\" in raw:  # the remaining quotes begin or end a string
        raw = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    strings, quoted, level = b'"' in raw, 0, 0
    for at in range(0, len(raw), _SCAN_BYTES):
        codes = np.frombuffer(raw, np.uint8, min(_SCAN_BYTES, len(raw) - at), at)
        brackets = codes | 0x20  # maps "[" and "]" to "{" and "}"
        opens, closes = brackets == ord("{"), brackets == ord("}")
        if strings:
            inside = np.cumsum(codes == ord('"'), dtype=np.int32) + quoted & 1
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
    """Convert lists nested as deep as `closing` has brackets; return None if they are ragged."""
    import numpy as np

    shape, elements = [len(level)], iter(level)
    for _ in closing:
        level = list(elements)
        lengths = set(map(len, level))
        if len(lengths) != 1 or set(map(type, level)) != {list}:
            return None
        shape += lengths
        elements = chain.from_iterable(level)
    # struct packs a list two to three times as fast as NumPy, and neither null nor floats as "q".
    raw = pack(f"{product(shape)}{'d' if floats else 'q'}", *elements)
    return np.frombuffer(raw, np.float64 if floats else np.int64).reshape(shape)


def _keys(value: Any) -> int:
    """Count the keys of all objects in a document; return -1 if it is very deep."""
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


def is_certain(tensor: Tensor) -> bool:
    """Tell whether no element from `parse` can be a rounded integer of more than 64 bits."""
    import numpy as np

    if tensor.dtype is INT64:
        return int(tensor.array.min(initial=0)) > -(2**63)
    if tensor.dtype.kind not in (Kind.FLOAT, Kind.COMPLEX) or tensor.dtype.name == "float16":
        return True
    magnitude = np.abs(tensor.values())
    return not ((magnitude >= _LARGE_FLOAT) & np.isfinite(magnitude)).any()


def text(
    values: AnyArray, special: Callable[[AnyArray], list[str]]
) -> Iterator[bytes | memoryview]:
    """Write numbers or booleans as JSON entries, separated by commas, and yield the text in pieces.

    The values, shape (N, D..), are float32, float64, of an integer type or bool, in native byte
    order; `special` writes those, shape (N,), that orjson writes in another way than Python.
    """
    import numpy as np
    import orjson

    values, texts = np.ascontiguousarray(values), list[str]()
    write = _float_lists() if values.dtype == np.float32 else None
    raw: bytes | bytearray = write(values) if write else b""
    if values.dtype.kind == "f" and (not raw or b"n" in raw):
        magnitude = np.abs(values)
        is_special = ~((magnitude >= _PLAIN_MAGNITUDES[0]) & (magnitude < _PLAIN_MAGNITUDES[1])) & (
            values != 0
        )
        if is_special.any():
            texts = special(values[is_special])
            values = values if raw else np.where(is_special, values.dtype.type("nan"), values)
    raw = raw or orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
    view, start = memoryview(raw), 1
    for text in texts:  # in their place is null, and there is no other "n"
        at = raw.index(b"n", start)  # a search for "null" takes 70 times as long
        yield view[start:at]
        yield text.encode()
        start = at + len("null")
    yield view[start:-1]


def _float_lists() -> Callable[[AnyArray], bytearray] | None:
    """Return the function in C that writes float32; None if the package was built without."""
    try:
        from gathercli.compute._native import float_lists
    except ImportError:
        return None
    return float_lists


def shortest(values: AnyArray) -> list[float]:
    """Return the values of the shortest digits of float32 values, shape (N,)."""
    import numpy as np
    import orjson

    raw = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
    floats = orjson.loads(raw)
    return [v if s is None else s for s, v in zip(floats, values.tolist(), strict=True)]
