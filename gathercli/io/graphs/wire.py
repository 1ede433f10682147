"""The wire format of protocol buffers: read in place, and written.

A message is a run of fields: a tag, then a varint, 4 or 8 bytes, or a length and that many bytes.
Nothing is copied until it is asked for: the elements of a tensor stay in the mapped file. The
`onnx` package copies them when it parses.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

from gathercli.errors import InputError, LimitError
from gathercli.io.formats.content import malformed, truncated
from gathercli.io.graphs.graph import check_held

VARINT_TYPE: Final = 0  # the wire type of a varint,
LENGTH_TYPE: Final = 2  # and of a length with its bytes
FIXED_TYPES: Final = {1: 8, 5: 4}  # the bytes of the wire types of fixed size
MOST_FIELDS: Final = 10_000_000  # the most fields that are read of one file
SPAN_BYTES: Final = 130  # bytes of memory that a field in a list takes, as was measured
NUMBER_BYTES: Final = 40  # bytes of memory that an integer in a list takes
_LAST_SHIFT: Final = 63  # the bits before the tenth byte of a varint, which has one


class Span(NamedTuple):
    """The bytes of a field with a length: from `start` up to `stop`."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.stop - self.start


class WireReader:
    """A reader of messages in a buffer; the fields of one take at most `limit` bytes of memory."""

    def __init__(self, buffer: Any, limit: int | None = None) -> None:
        self.buffer, self.limit = buffer, limit
        self.whole = Span(0, len(buffer))
        self.count = 0  # the fields that were read

    def fields(self, message: Span) -> Iterator[tuple[int, int | Span]]:
        """Yield the number and the value of each field of a message.

        A varint is an integer below 2^64. All other values are the span of their bytes. Raise
        InputError if the bytes are no message, LimitError if the file has more than `MOST_FIELDS`
        fields, or the message more than fit into memory.
        """
        buffer, (at, stop) = self.buffer, message
        whole = message == self.whole
        most = MOST_FIELDS if self.limit is None else self.limit // SPAN_BYTES
        count = 0
        while at < stop:
            count += 1
            self.count += 1
            if count > most or self.count > MOST_FIELDS:
                self._refuse(count)
            start = at
            tag = buffer[at]
            at += 1
            if tag >= 0x80:
                tag, at = self.varint(start, stop, whole=whole)
            wire = tag & 7
            if tag < 8:
                raise malformed(f"byte {start} starts a field of number 0", "a number of 1 or more")
            if wire == VARINT_TYPE:
                value, at = self.varint(at, stop, whole=whole)
                yield tag >> 3, value
                continue
            if wire == LENGTH_TYPE:
                if at < stop and buffer[at] < 0x80:
                    size, at = buffer[at], at + 1
                else:
                    size, at = self.varint(at, stop, whole=whole)
            elif wire in FIXED_TYPES:
                size = FIXED_TYPES[wire]
            else:
                raise malformed(
                    f"byte {start} starts a field of wire type {wire}", "a type of 0, 1, 2 or 5"
                )
            if size > stop - at:
                raise _cut(start, stop, whole=whole)
            yield tag >> 3, Span(at, at + size)
            at += size

    def _refuse(self, count: int) -> NoReturn:
        check_held(count * SPAN_BYTES, self.limit)
        raise LimitError(f"the file has more than {MOST_FIELDS} fields", expected="fewer")

    def varint(self, at: int, stop: int, *, whole: bool = False) -> tuple[int, int]:
        """Return the varint at `at`, modulo 2^64, and its end; a `whole` message is the file."""
        value = shift = 0
        start = at
        while at < stop:
            byte = self.buffer[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & (2**64 - 1), at
            if shift == _LAST_SHIFT:
                raise malformed(f"the number at byte {start} has no end", "10 bytes at most")
            shift += 7
        raise _cut(start, stop, whole=whole)

    def varints(self, span: Span) -> Iterator[int]:
        """Yield the packed varints of a span."""
        check_held(NUMBER_BYTES * span.size, self.limit)
        at = span.start
        while at < span.stop:
            value, at = self.varint(at, span.stop)
            yield value

    def bytes(self, span: Span) -> bytes:
        """Copy the bytes of a span."""
        return bytes(self.buffer[span.start : span.stop])

    def text(self, span: Span) -> str:
        """Decode the text of a span; bytes that are not UTF-8 become surrogates."""
        check_held(2 * span.size, self.limit)
        return self.bytes(span).decode(errors="surrogateescape")


def signed(value: int) -> int:
    """Return the signed integer of a varint of 64 bits."""
    return value - 2**64 if value >= 2**63 else value


def span_of(value: int | Span, what: str) -> Span:
    """Return the span of a field; raise if it is a number."""
    if isinstance(value, Span):
        return value
    raise malformed(f"{what} is a number", "bytes with a length")


def number_of(value: int | Span, what: str) -> int:
    """Return the number of a field; raise if it is a span."""
    if isinstance(value, int):
        return value
    raise malformed(f"{what} is not a varint", "a number")


def _cut(start: int, stop: int, *, whole: bool) -> InputError:
    """Return the error for a field that is not whole, in the message of the file or in another."""
    if whole:
        return truncated(stop, "a whole field", inside=f"the field at byte {start}")
    what = f"the field at byte {start} runs past the end of its message at byte {stop}"
    return malformed(what, "a whole field")


# Writing


def encoded(field: int, value: bytes | str | int) -> bytes:
    """Encode a varint, or bytes or text with their length; a negative number becomes 2^64 more."""
    if isinstance(value, int):
        return _varint(field << 3) + _varint(value % 2**64)
    raw = value.encode() if isinstance(value, str) else value
    return length_head(field, len(raw)) + raw


def encoded_fields(*fields: tuple[int, bytes | str | int]) -> bytes:
    """Encode the fields of a message."""
    return b"".join(encoded(field, value) for field, value in fields)


def length_head(field: int, size: int) -> bytes:
    """Encode what precedes the `size` bytes of a field."""
    return _varint(field << 3 | LENGTH_TYPE) + _varint(size)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
