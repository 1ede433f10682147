"""Keys walk through the cells on a terminal, which is restored."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from gathercli.cli import main
from gathercli.explain import keys
from tests.conftest import drain
from tests.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Person:
    """Sits at a terminal and presses a key, or does something, whenever a screen is there."""

    def __init__(self, keys: Sequence[str | Callable[[], None]], sign: str) -> None:
        self.seen = b""
        self.waits_for = b""
        self._keys, self._sign = list(keys), sign.encode()
        self._ours, theirs = os.openpty()
        self._saved = os.dup(0), os.dup(1)
        os.dup2(theirs, 0)
        os.dup2(theirs, 1)
        os.close(theirs)
        self._thread = threading.Thread(target=self._sit)
        self._thread.start()

    def _sit(self) -> None:
        answered = 0
        with suppress(OSError):  # EIO: the other side is closed
            while part := os.read(self._ours, 1 << 16):
                self.seen += part
                ready = answered == 0 or self.waits_for in self.seen
                while ready and self._keys and self.seen.count(self._sign) > answered:
                    answered += 1
                    key = self._keys.pop(0)
                    if callable(key):
                        key()
                    else:
                        os.write(self._ours, key.encode())
        os.close(self._ours)

    def leave(self) -> str:
        os.dup2(self._saved[0], 0)
        os.dup2(self._saved[1], 1)
        for fd in self._saved:
            os.close(fd)
        self._thread.join()
        return self.seen.decode().replace("\r\n", "\n")


def at_a_terminal(words: list[str], keys: list[str], sign: str) -> tuple[int, str]:
    person = Person(keys, sign)
    try:
        status = main(words)
    finally:
        seen = person.leave()
    return status, seen


@pytest.mark.usefixtures("folder")
def test_on_a_terminal_keys_walk_through_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    words = ["explain", "gather", "[10,20,30]", "2,0,-1", "--step"]
    # Keys that mean nothing draw nothing; of several that come together each counts.
    keys = [" ", "?\x1b[Z\x1b[1;5C\x1bx\x1b[C", "b", "g", "\x1b[F", "  q"]
    status, seen = at_a_terminal(words, keys, "q: quit")
    screens = seen.split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    assert {screen.split("\n")[0] for screen in screens} == {
        "Gather   axis 0   batch_dims 0   out[i] = data[indices[i]]   openvino.Gather-8"
    }
    assert [re.findall(r"(?m)^out\[.*   i = .$", screen)[0] for screen in screens] == [
        "out[0]   i = 0",
        "out[1]   i = 1",
        "out[2]   i = 2",
        "out[1]   i = 1",
        "out[0]   i = 0",
        "out[2]   i = 2",
        "out[2]   i = 2",
        "out[2]   i = 2",
    ]
    assert "cell 2 of 3" in screens[1]
    assert "[10]" not in screens[0]
    assert "\nindices i64[3]      A[2] B 0  A -1 → 2\n" in screens[0]
    assert re.search(r"(?m)^data i64\[3\]         B 10  20  A.2\[30\]$", screens[0])
    assert "\nout i64[3]          A[30] B 10  A 30\n" in screens[0]
    assert all(screen.count("\n") == 23 for screen in screens[:-1])
    assert seen.startswith("\x1b[?1049h\x1b[?25l")
    assert seen.endswith("\x1b[?25h\x1b[?1049l")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ("gather", "arange:1000x40", "rand:500xi64,high=1000"),
        ("gather", "arange:8x12", "[[2,0,1],[5,4,3]]"),
        ("gather", "arange:3x40x5x60", "rand:30xi64,high=40", "-a", "1"),
        ("gather", "arange:9x50x30", "rand:9x40xi64,high=50", "-a", "1", "-b", "1"),
        ("gather-elements", "rand:30x30", "rand:30x40xi64,high=30", "-a", "1"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("lines", ["24", "40"])
def test_walking_shows_all_three_cells_on_any_screen(
    words: tuple[str, ...], lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", lines)
    monkeypatch.setenv("NO_COLOR", "1")
    status, seen = at_a_terminal(["explain", *words, "--step"], ["G", "q"], "q: quit")
    assert status == 0
    for screen in seen.split("\x1b[2J\x1b[H")[1:]:
        shown = screen.replace("\x1b[?25h\x1b[?1049l", "").split("\n")
        assert len(shown) == int(lines)
        assert max(map(cell_len, shown)) <= 80
        panels = re.split(r"(?m)^cell [\d ]+ of [\d ]+$|^out\[\d.*  ", "\n".join(shown))[1]
        assert len(re.findall(r"(?<![fi]64)\[-?[\d.e+-]+\]", panels)) == 3, screen


@pytest.mark.usefixtures("folder")
def test_a_heading_breaks_before_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    status, seen = at_a_terminal(
        ["explain", "gather-nd", "arange:3x4", "[[1,2],[0,-1]]", "--step"], ["q"], "q: quit"
    )
    assert status == 0
    assert "[i, 0], indices[i, 1]]\nopenvino.GatherND-8\ncell 1 of 2\n" in seen


@pytest.mark.usefixtures("folder")
def test_the_cell_it_is_at_keeps_the_colour_of_its_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["explain", "gather", "arange:100x40", "rand:90xi64,high=100", "--step"]
    status, seen = at_a_terminal(words, ["G", "q"], "q: quit")
    assert status == 0
    ground = r"(?<=\x1b\[1;)(?:\d+;)?(?:30|38;2;0;0;0|38;5;16);[\d;]+(?=m *\[)"
    grounds = re.findall(ground, seen.split("\x1b[2J\x1b[H")[-1])
    assert len(grounds) == 3
    assert len({*grounds}) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("keys", [["\x1b[C" * 30, "q"], ["\x1b[C" * 30, "\x1b"]])
def test_many_keys_at_once_are_all_keys(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The 64 bytes that are read together end within a key; Escape alone is one."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    person = Person(keys, "q: quit")
    person.waits_for = b"31 of 400"
    try:
        status = main(["explain", "gather", "arange:400", "arange:400", "--step"])
    finally:
        seen = person.leave()
    assert status == 0
    assert len(seen.split("\x1b[2J\x1b[H")) == 1 + 31


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("size", [(40, 10), (30, 24), (80, 24)], ids=str)
def test_no_line_of_a_screen_is_wider_than_it(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(size[0]))
    monkeypatch.setenv("LINES", str(size[1]))
    monkeypatch.setenv("NO_COLOR", "1")
    data = "2x3x2x2x2x2xf64=1234567.890123"
    words = ["explain", "gather", data, "[[[0,1],[1,-1]],[[1,1],[0,-3]]]", "-a", "1", "--step"]
    for command in ([*words, "--precision", "17"], ["demo", "--all"]):
        sign = "q: quit" if size[0] > 60 else "keys: space"
        status, seen = at_a_terminal(command, ["G", "q"], sign)
        assert status == 0
        for screen in seen.split("\x1b[2J\x1b[H")[1:]:
            lines = screen.replace("\x1b[?25h\x1b[?1049l", "").split("\n")
            assert len(lines) == size[1]
            assert max(map(cell_len, lines)) <= size[0]


@pytest.mark.usefixtures("folder")
def test_another_size_of_the_screen_draws_it_again() -> None:
    def resize() -> None:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 70, 0, 0))
        os.kill(os.getpid(), signal.SIGWINCH)

    person = Person([resize, "q"], "q: quit")
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        status = main(["explain", "gather", "[1,2,3]", "1,0", "--step"])
    finally:
        seen = person.leave()
    screens = seen.replace("\x1b[?25h\x1b[?1049l", "").split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    assert [screen.count("\n") + 1 for screen in screens] == [24, 12]


@pytest.mark.parametrize("end", ["q", "SIGINT", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_restored(folder: Path, end: str) -> None:
    ours, theirs = os.openpty()
    before = termios.tcgetattr(theirs)
    program = subprocess.Popen(
        [sys.executable, "-m", "gathercli", "explain", "gather", "[1,2]", "1,0", "--step"],
        stdin=theirs,
        stdout=theirs,
        cwd=folder,
        start_new_session=True,
    )
    seen = b""
    while b"q: quit" not in seen:
        seen += os.read(ours, 1 << 16)
    assert termios.tcgetattr(theirs) != before
    if end == "q":
        os.write(ours, b"q")
    else:
        program.send_signal(signal.Signals[end])
    rest: list[bytes] = []
    reader = threading.Thread(target=drain, args=(ours, rest))  # to restore waits for readers
    reader.start()
    status = program.wait(timeout=PATIENCE)
    assert termios.tcgetattr(theirs) == before
    os.close(theirs)
    reader.join()
    seen += b"".join(rest)
    assert seen.endswith(b"\x1b[?25h\x1b[?1049l")
    assert status == {"q": 0, "SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}[end]


def test_an_interrupt_while_the_screen_is_set_up_restores_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = os.openpty()
    saved, before, printed = os.dup(0), termios.tcgetattr(theirs), list[str]()

    def print_text(text: str) -> None:
        printed.append(text)
        if len(printed) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(keys, "print_text", print_text)
    os.dup2(theirs, 0)
    try:
        with pytest.raises(KeyboardInterrupt):
            keys.Keys().__enter__()
    finally:
        os.dup2(saved, 0)

    assert termios.tcgetattr(theirs) == before
    assert printed[-1] == "\x1b[?25h\x1b[?1049l"
    for fd in (ours, theirs, saved):
        os.close(fd)
