"""The line of progress."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.cli.messages import Messages
from gathercli.report import words
from gathercli.report.terminal import width_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


DATA = np.arange(600, dtype="f4").reshape(20, 30)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_says_how_far_how_fast_and_how_long() -> None:
    clock, shown = Clock(), list[str]()
    line = words.Progress(shown.append, 80, clock)
    line("gathered", 10, 100)
    assert shown == []
    clock.now = 2
    line("gathered", 500_000_000, 4_000_000_000)
    assert shown == ["\rgathered 500 MB of 4 GB  12 %  250 MB/s  14 s left"]
    clock.now = 2.01
    line("gathered", 600_000_000, 4_000_000_000)
    assert len(shown) == 1
    clock.now = 3
    line("read", 10_000, 0)
    assert shown[-1].rstrip() == "\rread 10 kB"  # whose rate is not known yet
    clock.now = 4
    line("read", 20_000, 0)
    assert shown[-1].rstrip() == "\rread 20 kB  20 kB/s"
    line.clear()
    assert shown[-1].strip() == ""
    line.clear()
    assert len(shown) == 4


def test_progress_fits_the_terminal() -> None:
    clock, shown = Clock(), list[str]()
    line = words.Progress(shown.append, 20, clock)
    clock.now = 2
    line("gathered", 1, 100_000)
    assert shown == ["\rgathered 1 B of 100"]


def test_a_line_is_cleared_whose_writing_was_interrupted() -> None:
    shown = list[str]()

    def write(text: str) -> None:
        shown.append(text)
        if len(shown) == 1:
            raise KeyboardInterrupt

    line = words.StatusLine(write, 80)

    with pytest.raises(KeyboardInterrupt):
        line.show("gathered")
    line.clear()

    assert shown[1:] == ["\r" + " " * 10 + "\r"]


@pytest.mark.usefixtures("in_small_blocks")
def test_progress_is_for_a_terminal_and_goes_away(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "PROGRESS_DELAY", 0.0)
    monkeypatch.setattr(words, "PROGRESS_INTERVAL", 0.0)
    monkeypatch.setattr(words, "RATE_DELAY", 0.0)
    np.save(folder / "d.npy", DATA)
    line = ("gather", "d.npy", "[1,2]", "-o", "o.npy", "-j", "1")
    ran = run(*line, terminal=(2,))
    last = ran.err.rstrip("\n").rpartition("\r")[2]
    assert re.search(r"\rgathered \d+ B of 240 B  \d+ %  .*/s  \d+ s left", ran.err)
    assert last == "wrote o.npy: f32[2,30]"
    assert "gathered" not in run(*line).err
    assert "gathered" not in run(*line, "-q", terminal=(2,)).err
    assert "gathered" not in run(*line, "--json-errors", terminal=(2,)).err
    assert "gathered" not in run("gather", "d.npy", "1", "-f", "json", terminal=(1, 2)).err
    assert "wrote 2.53 kB of 2.53 kB" in run("convert", "d.npy", "e.npy", terminal=(2,)).err
    refused = run("gather", "d.npy", "[1,99]", "-V", "onnx-13", terminal=(2,)).err
    assert "error:" in refused.rpartition("\r")[2]


def test_the_width_is_that_of_the_terminal_it_is_on() -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 34, 0, 0))
    assert width_of(theirs) == 34
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    assert width_of(theirs) == 80
    os.close(ours)
    os.close(theirs)


def test_there_is_one_line_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Messages, "_interactive", True)
    messages = Messages()
    assert messages.progress() is messages.progress()
