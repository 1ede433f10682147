"""Files of JSON text, and hints for files that are not JSON."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import GatherError, Hint, InputError
from gathercli.io.formats import fast, jsontext
from gathercli.io.formats.content import TextContent
from gathercli.io.formats.table import SNIFF_SIZE
from gathercli.spec.coordinates import path
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.io.files import File
    from gathercli.spec.dtypes import DType

_PROBE: Final = 1 << 20
"""Bytes of a stream after which its start must parse."""

_VALUE_BYTES: Final = 64
"""Bytes of memory for a parsed value: an object, and its entry in a list."""

_WIDEST: Final = 4
"""The most bytes of memory for a character."""


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
            raise InputError("the input is empty", rule="format", expected="a tensor")
        if not in_pieces and len(raw) >= fast.LONG:
            self._array = fast.plain_array(BytesIO(raw).read)
        if self._array is None:
            self._parse(raw)
            self._describe()

    def _plain_array(self) -> AnyArray | None:
        """Parse a long regular file in pieces; return None if `fast.plain_array` does."""
        file = self._file
        if file.size < fast.LONG:
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
        if len(raw) >= fast.LONG and not strict:
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
        """Return a tensor of the document.

        Raises
        ------
        InputError
            ``json``, ``dtype``, ``ragged``.
        """
        if self._array is not None:
            from gathercli.compute.storage import dtype_of
            from gathercli.compute.tensor import Tensor

            own = dtype_of(self._array.dtype)
            if key is None and own is not None and declared in (None, own) and self._array.size:
                place = path("$", 0, self._array.shape)
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
        return jsontext.tensor(
            self._value,
            key,
            declared=declared,
            empty=empty,
            max_bytes=self._file.limit,
            name=self._file.name,
            notes=self._file.notes,
        )


class Watch:
    """A check of a text while it is read: it raises for binary, or for too much memory."""

    marks: Sequence[bytes] = (b",", b"[", b":", b":")
    """Bytes that are beside every value."""

    def __init__(self, file: File) -> None:
        self.file, self._limit = file, file.limit
        self.size = self._values = 0
        self._width, self._string_width = 1, 0
        # Do not count the values of a file that fits the limit even if it is all marks.
        most = file.size * (1 + 2 * _WIDEST + 2 * _VALUE_BYTES) if file.regular else None
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
                wide = _WIDEST if b"\\u" in part else self._width
                self._string_width = max(self._string_width, wide)
            # The bytes, the text, and perhaps one long string, in which one wide character widens
            # all others.
            copies = 1 + self._width + self._string_width
            needed = self.size * copies + self._values * _VALUE_BYTES
            if self._limit is not None and needed > self._limit:
                what = f"{in_bytes(self.size)} of the text would take {needed} when parsed"
                raise self.file.over(what, needed)
        if not self._probed and self.size >= _PROBE:  # a stream may have no end
            self._probed = True
            self.probe(self.file.start(_PROBE))

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
    return _WIDEST if top >= 0xF0 else 2 if top >= 0xC4 else 1


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
        error.problem, error.expected = f"the input is {kind}", foreign.READ
        error.rule = "format"
    if error.rule == "json" and file.regular and foreign.is_bare(start):
        error.hint = foreign.pipe_hint(file.name)
    elif kind is None and error.rule == "json" and b"," in start.split(b"\n")[0]:
        error.hint = foreign.table_hint(file.name, file.start(foreign.SAMPLE), "a .csv file")
    elif kind is not None:
        error.hint = foreign.text_hint(file, kind)


def _file_name(start: bytes) -> str | None:
    """Return a text that is the name of a file."""
    name = os.fsdecode(start.strip())
    exists = os.path.isfile(name) or os.path.isfile(name.rpartition("#")[0])
    return name if exists and "\n" not in name else None
