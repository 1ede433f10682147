"""What readers of models share: a node of ONNX in one loop is what the fields of it say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from gathercli.errors import GatherError
from gathercli.io.graphs import wire
from gathercli.io.graphs.onnx import NodeFields, node_fields
from gathercli.io.graphs.wire import WireReader
from gathercli.models.reading import node_texts
from tests.random_calls import moderately

if TYPE_CHECKING:
    import pytest


def by_fields(raw: bytes) -> NodeFields | str:
    """Read a node as any message; return the message of the error if it is none."""
    reader = WireReader(raw)
    try:
        return node_fields(reader, reader.whole)
    except GatherError as error:
        return f"{error}"


def in_one_loop(raw: bytes) -> NodeFields | str:
    reader = WireReader(raw)
    try:
        return node_texts(reader, reader.whole)
    except GatherError as error:
        return f"{error}"


def field(tag: int, text: bytes, *, padded: bool) -> bytes:
    """Encode a field with a length, of more bytes than it needs if `padded`."""
    low, high = len(text) & 0x7F, len(text) >> 7
    size = bytes((low | 0x80, high)) if padded or high else bytes((low,))
    return bytes((tag,)) + size + text


FIELDS = st.builds(
    field,
    st.sampled_from((0x0A, 0x12, 0x1A, 0x22, 0x2A, 0x32, 0x3A, 0x08, 0x4A)),
    st.one_of(st.binary(max_size=5), st.integers(100, 300).map(lambda n: b"n" * n)),
    padded=st.booleans(),
)


@moderately
@given(st.lists(FIELDS, max_size=6).map(b"".join), st.integers(0, 3))
def test_a_node_is_read_alike_in_one_loop_however_it_is_encoded(raw: bytes, cut: int) -> None:
    raw = raw[: len(raw) - cut]

    assert in_one_loop(raw) == by_fields(raw)


def test_a_node_counts_its_fields_towards_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = field(0x0A, b"x", padded=False) * 4
    reader = WireReader(raw)

    node_texts(reader, reader.whole)

    assert reader.count == 4
    for most in (3, 4):
        monkeypatch.setattr(wire, "MOST_FIELDS", most)
        monkeypatch.setattr("gathercli.models.reading.MOST_FIELDS", most)
        assert in_one_loop(raw) == by_fields(raw)
