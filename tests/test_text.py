"""What text shows of characters that no terminal should get, and of wrong values."""

from __future__ import annotations

import re

import pytest

from gathercli.text import _escape, clean, interval, json_string, plain_value


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0x00, 0x1F),
        (0x7F, 0x9F),
        (0xAD, 0xAD),
        (0x061C, 0x061C),
        (0x180E, 0x180E),
        (0x200B, 0x200F),
        (0x2028, 0x202E),
        (0x2060, 0x206F),
        (0xD800, 0xDFFF),
        (0xFEFF, 0xFEFF),
        (0xFFF9, 0xFFFB),
        (0xE0000, 0xE007F),
    ],
)
def test_the_ranges_of_unsafe_characters_end_where_they_should(first: int, last: int) -> None:
    codes = range(first, last + 1)
    for code in (*codes[:16], *codes[-16:]):
        assert re.fullmatch(r"\\[xuU][0-9a-f]{2,8}", clean(chr(code)))
        assert json_string(chr(code)).isascii()
    for code in {first - 1, last + 1} - {-1}:
        assert clean(chr(code)) == chr(code)
        assert json_string(f"a{chr(code)}") == f'"a{chr(code)}"'


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (0x00, "\\x00"),
        (0xFF, "\\xff"),
        (0x100, "\\u0100"),
        (0xDC7F, "\\udc7f"),
        (0xDC80, "\\x80"),
        (0xDCFF, "\\xff"),
        (0xDD00, "\\udd00"),
        (0xFFFF, "\\uffff"),
        (0x10000, "\\U00010000"),
    ],
)
def test_an_escape_has_as_many_digits_as_its_character_needs(code: int, shown: str) -> None:
    assert _escape(code) == shown


@pytest.mark.parametrize(
    ("bottom", "top", "text"), [(-2, 1, "-2 to 1"), (0, 0, "0"), (0, 1, "0 to 1")]
)
def test_an_interval_of_one_number_is_that_number(bottom: int, top: int, text: str) -> None:
    assert interval(bottom, top) == text


@pytest.mark.parametrize("value", [0, -1, "x", "", 2**256 - 1, 1 - 2**256])
def test_a_number_and_a_text_are_values_as_they_are(value: object) -> None:
    assert plain_value(value) is value


@pytest.mark.parametrize("value", [True, 1.5, [1], None, 2**256, -(2**256)], ids=str)
def test_any_other_value_is_written_as_text(value: object) -> None:
    assert isinstance(plain_value(value), str)
