"""Files of text: JSON, and from a pipe any argument but a file name, and lists without brackets.

=====================  ==================================================
``0,1,2``, ``0 1 2``    a list without brackets; ``0,`` has one element
``seq 0 4``             the same, an element a line
``2x3xi32=[[0 0 4]…]``  a typed literal
``arange:2x5``          a generator
=====================  ==================================================
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import chain
from struct import error as StructError  # noqa: N812  (a class)
from struct import pack
from typing import TYPE_CHECKING, Any, Final

from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, InputError
from gathercli.io.formats import jsontext, literal
from gathercli.io.formats.content import Content, ElementTypes, Literal, truncated
from gathercli.io.formats.table import SNIFF_SIZE, beginning
from gathercli.io.formats.values import tensor_of
from gathercli.spec.dtypes import FLOAT64, INT64, DType
from gathercli.spec.shapes import Place, product
from gathercli.text import clean, in_bytes, short

if TYPE_CHECKING:
    from gathercli.compute.storage import AnyArray
    from gathercli.io.files import File


_OWN_RULES: Final = ("npy", "npz")  # the formats whose errors have a rule of their name
_PROBE_BYTES: Final = 1 << 20  # bytes of a stream after which its start must parse
_VALUE_BYTES: Final = 64  # bytes of memory for a parsed value: an object, and its entry in a list
_WIDEST_CHARACTER: Final = 4  # the most bytes of memory for a character
# Bytes at either end of a text that contain its outermost brackets.
_BRACKET_BYTES: Final = 1 << 12
_PIECE_BYTES: Final = 1 << 17  # bytes of text parsed at a time
_FRACTION: Final = rb"(?<=[0-9])[.eE][^,\]]*"  # the point or exponent of a number, and the rest
# Bytes that are beside every value: of JSON, and of other text.
_JSON_MARKS: Final = (b",", b"[", b":", b":")
_LIST_MARKS: Final = (b",", b" ", b"\n", b"\t", b"[")


class Document(Content):
    """A file of JSON text."""

    def __init__(self, file: File) -> None:
        """Parse the text."""
        super().__init__(file)
        self.format = "json"
        self._value: Any = None
        self._may_be_rounded = False
        watch = _JsonWatch(file)
        raw = None
        if file.regular and not watch.counts and file.size >= jsontext.LONG_TEXT:
            self._array = self._array_in_pieces()
        else:
            raw = file.content(watch)
            self._array = plain_array(BytesIO(raw).read) if len(raw) >= jsontext.LONG_TEXT else None
        if self._array is None:
            raw = file.content(watch) if raw is None else raw
            if not raw.strip():
                raise InputError("the input is empty", expected="a tensor")
            self._parse(raw)
        value = self._value
        if not isinstance(value, dict):
            return
        typed = jsontext.is_typed(value)
        if not typed:
            self.names = list(jsontext.members_of(value))
        elif isinstance(value.get("name"), str):
            self.names = [value["name"]]
        if typed or jsontext.is_message(value):
            self.format = "oip"

    def _array_in_pieces(self) -> AnyArray | None:
        """Parse a file as `plain_array` does, and show the progress."""
        file = self._file
        stream = file.stream()

        def read(size: int) -> bytes:
            part = stream.read(size)
            if file.progress is not None:
                file.progress("read", stream.tell(), file.size)
            return part

        with suppress(OSError):  # `File.content` raises for the user
            return plain_array(read)
        return None

    def _parse(self, raw: bytes, *, strict: bool = False) -> None:
        """Parse the text: a long one by the fast parser, unless it cannot or `strict` is set."""
        self._array = None
        value = None if strict or len(raw) < jsontext.LONG_TEXT else jsontext.parse_long(raw)
        self._may_be_rounded = value is not None
        if value is None:
            try:
                value = jsontext.parse(raw)
            except InputError as error:
                from gathercli.io.formats.foreign import advise

                advise(error, self._file, is_utf8=not isinstance(error, jsontext.EncodingError))
                raise
        self._value = value

    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        """Return a tensor of the document; raise InputError (``json``, ``dtype``, ``ragged``)."""
        if self._array is not None:
            if key is None and (tensor := _of_array(self._array, types.of_untyped)) is not None:
                return tensor
            self._parse(self._file.content())
        if self._may_be_rounded:
            with suppress(GatherError):  # the strict parser has the message
                tensor = self._convert(key, types)
                if jsontext.is_certain(tensor):
                    return tensor
            self._parse(self._file.content(), strict=True)
        return self._convert(key, types)

    def _convert(self, key: str | None, types: ElementTypes) -> Tensor:
        file, value = self._file, self._value
        return jsontext.tensor(value, key, types, file.limit, name=file.name, notes=file.notes)


def _of_array(array: AnyArray, declared: DType | None) -> Tensor | None:
    """Return the tensor of an array from `plain_array`; None if it must be converted."""
    dtype = FLOAT64 if array.dtype.kind == "f" else INT64
    if declared not in (None, dtype):
        return None
    return Tensor(dtype, array, declared is not None, Place("$", array.shape)(0))


def plain_array(read: Callable[[int], bytes]) -> AnyArray | None:
    """Parse nested lists of only floats or only integers to float64 or int64; else return None.

    The text is cut at commas of the outermost list, and each piece parsed as a list of its own: its
    text and its objects stay in the cache. If all pieces are lists, so is the whole. `read` returns
    up to so many next bytes of the text.
    """
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
        # Either every number has a point or an exponent, and is a float, or none has either.
        if floats is None:
            floats = b"." in piece or b"e" in piece
        try:
            part = _flat_array(orjson.loads(piece), floats, closing)
        except (ValueError, TypeError, StructError, RecursionError):
            return None
        if part is None or not part.size or (parts and part.shape[1:] != parts[0].shape[1:]):
            return None
        # struct takes whole numbers for floats, and true for a number.
        points = jsontext.count(piece, b".") if floats else part.size - (b"e" in piece)
        if points != part.size and not (floats and len(re.findall(_FRACTION, piece)) == part.size):
            return None
        parts.append(part)
    array = np.concatenate(parts)
    # A larger magnitude, or -2^63, may be a rounded integer of more than 64 bits, or an overflow.
    most = float("inf") if floats else jsontext.LARGE_FLOAT
    return array if array.min() > -most and array.max() < most else None


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


def _flat_array(level: list[Any], floats: bool, closing: bytes) -> AnyArray | None:
    """Convert lists nested as deep as `closing` has brackets; return None if they are ragged."""
    shape, elements = [len(level)], iter(level)
    for _ in closing:
        level = list(elements)
        lengths = set(map(len, level))
        if len(lengths) != 1 or set(map(type, level)) != {list}:
            return None
        shape += lengths
        elements = chain.from_iterable(level)
    import numpy as np

    # struct packs a list two to three times as fast as NumPy, and neither null nor floats as "q".
    raw = pack(f"{product(shape)}{'d' if floats else 'q'}", *elements)
    return np.frombuffer(raw, np.float64 if floats else np.int64).reshape(shape)


class _Watch:
    """A check of a text while it is read: it raises for binary, or for too much memory."""

    def __init__(self, file: File, marks: Sequence[bytes] = _LIST_MARKS) -> None:
        self._file, self._marks = file, marks
        self.size = self._values = 0
        self._width, self._string_width = 1, 0
        # Do not count the values of a file that fits the limit even if it is all marks.
        most = file.size * (1 + 2 * _WIDEST_CHARACTER + 2 * _VALUE_BYTES) if file.regular else None
        self.counts = file.limit is not None and (most is None or most > file.limit)

    def __call__(self, part: bytes) -> None:
        if b"\0" in part:
            from gathercli.io.formats.foreign import refuse_binary

            refuse_binary(self._file, part)
        self.size += len(part)
        if not self.counts:
            return
        self._values += sum(jsontext.count(part, mark) for mark in self._marks)
        self._width = max(self._width, _width(part))
        if b'"' in part:
            wide = _WIDEST_CHARACTER if b"\\u" in part else self._width
            self._string_width = max(self._string_width, wide)
        # The bytes, the text, and perhaps one long string, in which one wide character widens all
        # others.
        copies = 1 + self._width + self._string_width
        needed = self.size * copies + self._values * _VALUE_BYTES
        what = f"{in_bytes(self.size)} of the text would take {needed} when parsed"
        self._file.check_memory(what, needed)


class _JsonWatch(_Watch):
    """A watch that raises if the start of a stream is not JSON, as a stream may have no end."""

    def __init__(self, file: File) -> None:
        super().__init__(file, _JSON_MARKS)
        self._probed = file.regular

    def __call__(self, part: bytes) -> None:
        super().__call__(part)
        if self._probed or self.size < _PROBE_BYTES:
            return
        self._probed = True
        # The start may end within a character.
        text = self._file.start(_PROBE_BYTES).rstrip(bytes(range(0x80, 0x100)))
        try:
            jsontext.load(text.decode(errors="replace"), "json")
        except json.JSONDecodeError as error:
            if error.pos < len(text) - 100 and "Unterminated" not in error.msg:
                jsontext.parse(text)
        except (RecursionError, ValueError):
            jsontext.parse(text)


class _ListWatch(_Watch):
    """A watch that raises at the first invalid character, as a stream may have no end."""

    def __call__(self, part: bytes) -> None:
        super().__call__(part)
        if part.translate(None, _NUMBER_CHARACTERS):
            _elements(self._file.start(self.size))


def _width(part: bytes) -> int:
    """Return the bytes of memory for each character of a UTF-8 text."""
    import numpy as np

    top = int(np.frombuffer(part, np.uint8).max(initial=0))
    return _WIDEST_CHARACTER if top >= 0xF0 else 2 if top >= 0xC4 else 1


_BLANK_BYTES: Final = bytes.maketrans(b"\t\n\v\f\r", b"     ")
_TWO_ELEMENTS: Final = rb"[^\s,][ \t\r\v\f,]+[^\s,]"  # two elements on one line
# The characters of numbers, of words such as nan, and of separators.
_NUMBER_CHARACTERS: Final = b"0123456789+-.,eEnNaAiIfFtTyYrRuUlLsSjJ \t\n\v\f\r" + codecs.BOM_UTF8


def read_text(file: File) -> Content:
    """Choose the reader of text by its first bytes; from a pipe it need not be JSON."""
    from gathercli.io.formats.foreign import refuse

    raw = file.start(SNIFF_SIZE)
    if (fmt := beginning(raw, file.name)) is not None:
        raise truncated(len(raw), f"a .{fmt} file", rule=fmt if fmt in _OWN_RULES else "format")
    refuse(file, raw)
    if file.name != "-" and file.regular:
        return Document(file)
    start = raw.removeprefix(codecs.BOM_UTF8).decode(errors="replace").lstrip()
    if literal.starts_literal(start):
        text = jsontext.decode(file.content(_Watch(file)), "literal").strip()
        tensor = literal.parse(text, max_bytes=file.limit)
        if tensor is not None:
            return Literal(tensor)
    word = re.match(r"[^\s,]*", start)
    if word is None or literal.item(word[0]) is None:
        return Document(file)
    return Bare(file)


class Bare(Content):
    """A list without brackets."""

    format = rule = "literal"
    has = "a list has"

    def __init__(self, file: File) -> None:
        """Read the elements."""
        super().__init__(file)
        raw = file.content(_ListWatch(file))
        _check_lines(raw, file.name)
        words = _with_commas(raw)
        self._array = None
        if len(words) >= jsontext.LONG_TEXT and not (b"[" in words or b"]" in words):
            self._array = plain_array(BytesIO(b"[%b]" % words).read)
        self._values: Any = None
        if self._array is None:
            values = _elements(raw)
            is_list = len(values) > 1 or raw.rstrip().endswith(b",")
            self._values = values if is_list else values[0]

    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        """Convert the elements."""
        if key is not None:
            raise self.no_member(key)
        values = self._values
        if self._array is not None:
            if (tensor := _of_array(self._array, types.of_untyped)) is not None:
                return tensor
            values = self._array.tolist()
        return tensor_of(values, types, rule="literal", max_bytes=self._file.limit)


def _with_commas(raw: bytes) -> bytes:
    """Replace the separators of elements by commas; remove one after the last."""
    text = raw.removeprefix(codecs.BOM_UTF8).translate(_BLANK_BYTES).strip()
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" ,", b",").replace(b", ", b",").removesuffix(b",")
    return text.replace(b" ", b",")


def _elements(raw: bytes) -> list[Any]:
    """Parse elements one by one; raise InputError for one that is no number or boolean."""
    jsontext.decode(raw, "literal")  # raises for a byte that is not UTF-8
    words = _with_commas(raw).decode().split(",")
    values = [literal.item(word) for word in words]
    if None not in values:
        return values
    at = values.index(None)
    word = words[at]
    where, value, expected = f"$[{at}]", short(word, 40) or None, "a number, true or false"
    what = f"the element at `{where}` is {f'`{clean(value)}`' if value else 'empty'}"
    hint = "a list is written `0,1,2`, `0 1 2` or a number a line"
    raise InputError(what, rule="literal", where=where, value=value, expected=expected, hint=hint)


def _check_lines(raw: bytes, name: str) -> None:
    """Raise for a table: several lines, one of them with several elements."""
    text = raw.strip()
    match = re.search(_TWO_ELEMENTS, text) if b"\n" in text else None
    if match is None:
        return
    line, last = text.count(b"\n", 0, match.start()) + 1, text.count(b"\n") + 1
    hint: str = "a table is written as lists in a list: `[[0,1],[2,3]]`"
    if b"," in text:
        from gathercli.io.formats.foreign import SAMPLE_BYTES, table_hint

        hint = table_hint(name, raw[:SAMPLE_BYTES])
    what = f"line {line} of {last} has several elements"
    expected = "all on one line, or one per line"
    raise InputError(what, rule="literal", where=f"line {line}", expected=expected, hint=hint)
