"""The wire format of protocol buffers."""

from __future__ import annotations

import pytest

from gathercli.errors import InputError, LimitError
from gathercli.io.graphs import wire
from gathercli.io.graphs.wire import Span, WireReader, number_of, signed, span_of


def fields(raw: bytes) -> list[tuple[int, int | bytes]]:
    """Return the fields of a message, spans as their bytes."""
    reader = WireReader(raw)
    return [
        (field, reader.bytes(value) if isinstance(value, Span) else value)
        for field, value in reader.fields(reader.whole)
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", []),
        (b"\x08\x96\x01", [(1, 150)]),
        (b"\x12\x03abc", [(2, b"abc")]),
        (b"\x12\x00", [(2, b"")]),
        (b"\x0d\1\2\3\4", [(1, b"\1\2\3\4")]),
        (b"\x09" + bytes(8), [(1, bytes(8))]),
        (b"\x8a\x01\x01a", [(17, b"a")]),
        (b"\x08" + b"\xff" * 9 + b"\x01", [(1, 2**64 - 1)]),
    ],
)
def test_fields_of_every_wire_type_are_read(raw: bytes, expected: list[tuple[int, object]]) -> None:
    assert fields(raw) == expected


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x12\x04abc", "truncated: it ends at byte 5, inside the field at byte 0"),
        (b"\x12", "truncated"),
        (b"\x08\x80", "truncated"),
        (b"\x0d\1", "truncated"),
        (b"\x00\x00", "byte 0 starts a field of number 0"),
        (b"\x0b\x0c", "byte 0 starts a field of wire type 3"),
        (b"\x08" + b"\xff" * 10, "the number at byte 1 has no end"),
    ],
)
def test_what_is_no_message_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        fields(raw)

    assert message in raised.value.message


def test_a_message_in_another_runs_past_its_end_without_a_truncated_file() -> None:
    reader = WireReader(b"\x12\x05\x12\x04abc")

    with pytest.raises(InputError) as raised:
        list(reader.fields(Span(2, 7)))

    assert "the field at byte 2 runs past the end of its message at byte 7" in raised.value.message


def test_a_file_has_a_limited_number_of_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_FIELDS", 3)

    assert len(fields(b"\x08\x00" * 3)) == 3
    with pytest.raises(LimitError):
        fields(b"\x08\x00" * 4)


def test_packed_varints_are_read() -> None:
    reader = WireReader(b"\x01\x80\x01\xff\x01")

    assert list(reader.varints(reader.whole)) == [1, 128, 255]


def test_numbers_are_signed_in_64_bits() -> None:
    assert [signed(value) for value in (0, 2**63 - 1, 2**63, 2**64 - 1)] == [
        0,
        2**63 - 1,
        -(2**63),
        -1,
    ]


def test_a_field_has_the_kind_that_it_is_declared_with() -> None:
    assert (span_of(Span(1, 3), "x").size, number_of(5, "x")) == (2, 5)
    with pytest.raises(InputError, match="the name is a number"):
        span_of(5, "the name")
    with pytest.raises(InputError, match="the size is not a varint"):
        number_of(Span(0, 1), "the size")


def test_text_that_is_not_utf_8_is_kept() -> None:
    reader = WireReader(b"\xff")

    assert reader.text(reader.whole) == "\udcff"
