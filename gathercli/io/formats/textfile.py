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
import os
import re
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, Hint, InputError
from gathercli.io.formats import fast, jsontext, literal
from gathercli.io.formats.content import Literal, TextContent, no_member
from gathercli.io.formats.table import SNIFF_SIZE
from gathercli.io.formats.values import tensor_of
from gathercli.spec.dtypes import FLOAT64
from gathercli.spec.shapes import Place
from gathercli.text import clean, in_bytes, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.io.files import File
    from gathercli.io.formats.content import Content
    from gathercli.spec.dtypes import DType


_PROBE_BYTES: Final = 1 << 20  # bytes of a stream after which its start must parse
_VALUE_BYTES: Final = 64  # bytes of memory for a parsed value: an object, and its entry in a list
_WIDEST_CHARACTER: Final = 4  # the most bytes of memory for a character


class Document(TextContent):
    """A file of JSON text; `format` and the members are those of `content.Content`."""

    def __init__(self, file: File) -> None:
        """Parse the text."""
        self._file = file
        self.names: Sequence[str] | None = None
        self.format = "json"
        self._value: Any = None
        self._fast = False
        watch = Watch(file)
        in_pieces = file.regular and not watch.counts
        self._array = self._plain_array() if in_pieces else None
        if self._array is not None:
            return
        raw = file.content(watch)
        if not raw.strip():
            raise InputError("the input is empty", expected="a tensor")
        if not in_pieces and len(raw) >= fast.LONG_TEXT:
            self._array = fast.plain_array(BytesIO(raw).read)
        if self._array is None:
            self._parse(raw)
            self._describe()

    def _plain_array(self) -> AnyArray | None:
        """Parse a long regular file in pieces; return None if `fast.plain_array` does."""
        file = self._file
        if file.size < fast.LONG_TEXT:
            return None
        stream = file.stream()

        def read(size: int) -> bytes:
            part = stream.read(size)
            if file.progress is not None:
                file.progress("read", stream.tell(), file.size)
            return part

        with suppress(OSError):  # `File.content` raises for the user
            return fast.plain_array(read)
        return None

    def _describe(self) -> None:
        """Set the format and the names of the tensors."""
        value: Any = self._value
        if not isinstance(value, dict):
            return
        typed = jsontext.is_typed(value)
        if not typed:
            self.names = list(jsontext.members_of(value))
        elif isinstance(value.get("name"), str):
            self.names = [value["name"]]
        if typed or jsontext.is_message(value):
            self.format = "oip"

    def _parse(self, raw: bytes, *, strict: bool = False) -> None:
        """Parse the text: a long one by the fast parser, unless it cannot or `strict` is set."""
        self._array = None
        if len(raw) >= fast.LONG_TEXT and not strict:
            self._value = fast.parse(raw)
            self._fast = self._value is not None
            if self._fast:
                return
        self._fast = False
        try:
            self._value = jsontext.parse(raw)
        except InputError as error:
            _advise(error, self._file)
            raise

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Return a tensor of the document; raise InputError (``json``, ``dtype``, ``ragged``)."""
        if self._array is not None:
            from gathercli.compute.storage import dtype_of
            from gathercli.compute.tensor import Tensor

            own = dtype_of(self._array.dtype)
            if key is None and own is not None and declared in (None, own) and self._array.size:
                place = Place("$", self._array.shape)(0)
                return Tensor(own, self._array, declared is not None, place)
            self._parse(self._file.content())
        if self._fast:
            try:
                tensor = self._convert(key, declared, empty)
            except GatherError:
                tensor = None  # the strict parser has the message
            if tensor is not None and fast.is_certain(tensor):
                return tensor
            self._parse(self._file.content(), strict=True)
        return self._convert(key, declared, empty)

    def _convert(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        file, value = self._file, self._value
        return jsontext.tensor(
            value, key, declared, empty, file.limit, name=file.name, notes=file.notes
        )


class Watch:
    """A check of a text while it is read: it raises for binary, or for too much memory."""

    marks: Sequence[bytes] = (b",", b"[", b":", b":")  # bytes that are beside every value

    def __init__(self, file: File) -> None:
        self.file, self._limit = file, file.limit
        self.size = self._values = 0
        self._width, self._string_width = 1, 0
        # Do not count the values of a file that fits the limit even if it is all marks.
        most = file.size * (1 + 2 * _WIDEST_CHARACTER + 2 * _VALUE_BYTES) if file.regular else None
        self.counts = self._limit is not None and (most is None or most > self._limit)
        self._probed = file.regular

    def __call__(self, part: bytes) -> None:
        """Check the next part."""
        if b"\0" in part:
            from gathercli.io.formats.foreign import refuse_binary

            refuse_binary(self.file, part)
        self.size += len(part)
        if self.counts:
            self._values += sum(fast.count(part, mark) for mark in self.marks)
            self._width = max(self._width, _width(part))
            if b'"' in part:
                wide = _WIDEST_CHARACTER if b"\\u" in part else self._width
                self._string_width = max(self._string_width, wide)
            # The bytes, the text, and perhaps one long string, in which one wide character widens
            # all others.
            copies = 1 + self._width + self._string_width
            needed = self.size * copies + self._values * _VALUE_BYTES
            if self._limit is not None and needed > self._limit:
                what = f"{in_bytes(self.size)} of the text would take {needed} when parsed"
                raise self.file.over(what, needed)
        if not self._probed and self.size >= _PROBE_BYTES:  # a stream may have no end
            self._probed = True
            self.probe(self.file.start(_PROBE_BYTES))

    def probe(self, start: bytes) -> None:
        """Raise if the text cannot be JSON by its start."""
        text = start.rstrip(bytes(range(0x80, 0x100)))  # it may end within a character
        try:
            jsontext.load(text.decode(errors="replace"), "json")
        except json.JSONDecodeError as error:
            if error.pos < len(text) - 100 and "Unterminated" not in error.msg:
                jsontext.parse(text)
        except (RecursionError, ValueError):
            jsontext.parse(text)


def _width(part: bytes) -> int:
    """Return the bytes of memory for each character of a UTF-8 text."""
    top = fast.largest(part)
    return _WIDEST_CHARACTER if top >= 0xF0 else 2 if top >= 0xC4 else 1


def _advise(error: InputError, file: File) -> None:
    """Add the format of the text to an error, with a hint that reads or converts it."""
    from gathercli.io.formats import foreign

    start = file.start(SNIFF_SIZE)
    if file.name == "-" and (name := _file_name(start)):
        error.hint = Hint("did you mean {source} in the place of `-`?", source=name)
        return
    kind = foreign.text_kind(file.name, start)
    if start.lstrip()[:1] in (b"[", b"{") and kind is None:
        return
    if isinstance(error, jsontext.EncodingError):
        error.hint = foreign.raw_hint(file)
    if kind is not None:
        error.problem, error.expected = f"the input is {kind}", foreign.READ_FORMATS
        error.rule = "format"
    if error.rule == "json" and file.regular and foreign.is_bare(start):
        error.hint = foreign.pipe_hint(file.name)
    elif kind is None and error.rule == "json" and b"," in start.split(b"\n")[0]:
        error.hint = foreign.table_hint(file.name, file.start(foreign.SAMPLE_BYTES), "a .csv file")
    elif kind is not None:
        error.hint = foreign.text_hint(file, kind)


def _file_name(start: bytes) -> str | None:
    """Return a text that is the name of a file."""
    name = os.fsdecode(start.strip())
    exists = os.path.isfile(name) or os.path.isfile(name.rpartition("#")[0])
    return name if exists and "\n" not in name else None


_BLANK_BYTES: Final = bytes.maketrans(b"\t\n\v\f\r", b"     ")
_TWO_ELEMENTS: Final = rb"[^\s,][ \t\r\v\f,]+[^\s,]"  # two elements on one line
# The characters of numbers, of words such as nan, and of separators.
_NUMBER_CHARACTERS: Final = b"0123456789+-.,eEnNaAiIfFtTyYrRuUlLsSjJ \t\n\v\f\r" + codecs.BOM_UTF8


def read_piped(file: File) -> Content:
    """Choose the reader of a text by its first bytes."""
    start = file.start(SNIFF_SIZE).removeprefix(codecs.BOM_UTF8).decode(errors="replace").lstrip()
    if literal.starts_literal(start):
        return _literal(file)
    word = re.match(r"[^\s,]*", start)
    if word is None or literal.item(word[0]) is None:
        return Document(file)
    return Bare(file)


def _literal(file: File) -> Literal:
    """Parse a typed literal or a generator."""
    text = jsontext.decode(file.content(_Watch(file)), "literal").strip()
    tensor = literal.parse(text, declared=None, empty=FLOAT64, max_bytes=file.limit)
    if tensor is None:
        raise LookupError(f"{text[:80]} begins as a literal and is none")
    return Literal(tensor)


class Bare(TextContent):
    """A list without brackets, a `content.Content`."""

    format = "literal"
    names = None

    def __init__(self, file: File) -> None:
        """Read the elements."""
        self._limit = file.limit
        raw = file.content(_ListWatch(file))
        _check_lines(raw, file.name)
        words = _with_commas(raw)
        self._array = None
        if len(words) >= fast.LONG_TEXT and not (b"[" in words or b"]" in words):
            self._array = fast.plain_array(BytesIO(b"[%b]" % words).read)
        self._values: Any = self._array
        if self._array is None:
            values = _elements(raw)
            is_list = len(values) > 1 or raw.rstrip().endswith(b",")
            self._values = values if is_list else values[0]

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Convert the elements."""
        if key is not None:
            raise no_member("a list has", key, rule="literal")
        values = self._values
        if self._array is not None:
            dtype = dtype_of(self._array.dtype)
            if dtype is not None and declared in (None, dtype):
                return Tensor(dtype, self._array, declared is not None, "$[0]")
            values = self._array.tolist()
        return tensor_of(
            values, declared=declared, empty=empty, rule="literal", max_bytes=self._limit
        )


class _Watch(Watch):
    """A `Watch` that counts the separators of elements."""

    marks = (b",", b" ", b"\n", b"\t", b"[")

    def probe(self, start: bytes) -> None:
        """Do nothing: the text is not JSON."""


class _ListWatch(_Watch):
    """A watch that raises at the first invalid character, as a stream may be endless."""

    def __call__(self, part: bytes) -> None:
        """Check the next part."""
        super().__call__(part)
        if part.translate(None, _NUMBER_CHARACTERS):
            _elements(self.file.start(self.size))


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
    what = f"`{clean(short(word, 40))}`" if word else "empty"
    raise InputError(
        f"the element at `$[{at}]` is {what}",
        rule="literal",
        where=f"$[{at}]",
        value=short(word, 40) or None,
        expected="a number, true or false",
        hint="a list is written `0,1,2`, `0 1 2` or a number a line",
    )


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
    raise InputError(
        f"line {line} of {last} has several elements",
        rule="literal",
        where=f"line {line}",
        expected="all on one line, or one per line",
        hint=hint,
    )
