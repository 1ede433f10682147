"""Text from a pipe: any argument but a file name, and lists separated by blanks or lines.

=====================  ==================================================
``0,1,2``, ``0 1 2``    a list without brackets; ``0,`` has one element
``seq 0 4``             the same, an element a line
``2x3xi32=[[0 0 4]…]``  a typed literal
``arange:2x5``          a generator
=====================  ==================================================

Everything else is JSON.
"""

from __future__ import annotations

import codecs
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError
from gathercli.io.formats import fast, jsonfile, jsontext, literal
from gathercli.io.formats.content import Literal, TextContent
from gathercli.io.formats.table import SNIFF_SIZE
from gathercli.io.formats.values import tensor_of
from gathercli.spec.dtypes import FLOAT64
from gathercli.text import clean, short

if TYPE_CHECKING:
    from gathercli.io.files import File
    from gathercli.io.formats.content import Content
    from gathercli.spec.dtypes import DType

_BLANKS: Final = bytes.maketrans(b"\t\n\v\f\r", b"     ")
_SEVERAL: Final = rb"[^\s,][ \t\r\v\f,]+[^\s,]"
"""Two elements on one line."""

_CHARACTERS: Final = b"0123456789+-.,eEnNaAiIfFtTyYrRuUlLsSjJ \t\n\v\f\r" + codecs.BOM_UTF8
"""The characters of numbers, of words such as nan, and of separators."""


def read(file: File) -> Content:
    """Choose the reader of a text by its first bytes."""
    start = file.start(SNIFF_SIZE).removeprefix(codecs.BOM_UTF8).decode(errors="replace").lstrip()
    if literal.starts_literal(start):
        return _literal(file)
    word = re.match(r"[^\s,]*", start)
    if word is None or literal.item(word[0]) is None:
        return jsonfile.Document(file)
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
        if len(words) >= fast.LONG and not (b"[" in words or b"]" in words):
            self._array = fast.plain_array(BytesIO(b"[%b]" % words).read)
        self._values: Any = self._array
        if self._array is None:
            values = _elements(raw)
            is_list = len(values) > 1 or raw.rstrip().endswith(b",")
            self._values = values if is_list else values[0]

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Convert the elements."""
        if key is not None:
            raise InputError(
                f"a list has no member `{clean(short(key))}`",
                rule="literal",
                value=key,
                expected="no key",
            )
        values = self._values
        if self._array is not None:
            dtype = dtype_of(self._array.dtype)
            if dtype is not None and declared in (None, dtype):
                return Tensor(dtype, self._array, declared is not None, "$[0]")
            values = self._array.tolist()
        return tensor_of(
            values, declared=declared, empty=empty, rule="literal", max_bytes=self._limit
        )


class _Watch(jsonfile.Watch):
    """A `jsonfile.Watch` that counts the separators of elements."""

    marks = (b",", b" ", b"\n", b"\t", b"[")

    def probe(self, start: bytes) -> None:
        """Do nothing: the text is not JSON."""


class _ListWatch(_Watch):
    """A watch that raises at the first invalid character, as a stream may be endless."""

    def __call__(self, part: bytes) -> None:
        """Check the next part."""
        super().__call__(part)
        if part.translate(None, _CHARACTERS):
            _elements(self.file.start(self.size))


def _with_commas(raw: bytes) -> bytes:
    """Replace the separators of elements by commas; remove one after the last."""
    text = raw.removeprefix(codecs.BOM_UTF8).translate(_BLANKS).strip()
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
    match = re.search(_SEVERAL, text) if b"\n" in text else None
    if match is None:
        return
    line, last = text.count(b"\n", 0, match.start()) + 1, text.count(b"\n") + 1
    hint: str = "a table is written as lists in a list: `[[0,1],[2,3]]`"
    if b"," in text:
        from gathercli.io.formats.foreign import SAMPLE, table_hint

        hint = table_hint(name, raw[:SAMPLE])
    raise InputError(
        f"line {line} of {last} has several elements",
        rule="literal",
        where=f"line {line}",
        expected="all on one line, or one per line",
        hint=hint,
    )
