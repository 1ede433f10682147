"""Bytes are written to a descriptor whole, or an error says why not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gathercli.errors import TransferError
from gathercli.io.descriptors import write_all

if TYPE_CHECKING:
    from pathlib import Path


def test_bytes_are_appended_or_written_at_a_position(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT)

    write_all(fd, b"abc")
    write_all(fd, memoryview(b"def"))
    write_all(fd, b"XY", position=1)
    os.close(fd)

    assert (tmp_path / "x").read_bytes() == b"aXYdef"


def test_a_reader_that_went_away_is_no_failure_of_writing() -> None:
    reader, writer = os.pipe()
    os.close(reader)

    with pytest.raises(BrokenPipeError):
        write_all(writer, b"x")

    os.close(writer)
    with pytest.raises(TransferError, match="bad file descriptor"):
        write_all(writer, b"x")
