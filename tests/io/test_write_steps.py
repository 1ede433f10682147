"""The steps of a write: room, temporary names, synchronising, replacing."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
from typing import TYPE_CHECKING, Any, Final

import pytest

from gathercli.errors import OutputError
from gathercli.io.stream import temporary_name
from gathercli.io.write import Output
from tests.io.test_write import give, kind, names, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Run

__all__ = ["kind"]  # the fixture of the two ways of writing

GATHER: Final = ("gather", "[5,6,7]", "[2,0]")


class Disk:
    """A file system with this much room."""

    f_frsize = 8
    f_bavail = 2


@pytest.mark.parametrize(("size", "fits"), [(16, True), (17, False)])
def test_a_result_may_take_all_that_is_free(
    size: int, *, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "statvfs", lambda _: Disk)
    with Output(str(tmp_path / "x")) as output:
        if fits:
            output.open(size)
        else:
            with pytest.raises(OutputError, match="takes at least 17 bytes and the disk has 16"):
                output.open(size)


def test_an_output_of_unknown_size_needs_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Disk, "f_bavail", 0)
    give(monkeypatch, "statvfs", lambda _: Disk)
    with Output(str(tmp_path / "x")) as output:
        output.open()
        output.commit()

    assert names(tmp_path) == ["x"]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what is synchronised and when the target is replaced."""
    seen: list[str] = []

    def fsync(fd: int) -> None:
        status = os.fstat(fd)
        what = f"folder {status.st_ino}" if stat.S_ISDIR(status.st_mode) else "file"
        seen.append(f"sync {what}")
        os.fsync(fd)

    def replace(*args: Any, **rest: Any) -> None:
        seen.append("replace")
        os.replace(*args, **rest)

    give(monkeypatch, "fsync", fsync)
    give(monkeypatch, "replace", replace)
    return seen


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("name", ["x", "sub/x"])
def test_with_fsync_the_bytes_are_on_the_disk_before_the_name_and_then_the_folder(
    name: str, steps: list[str], folder: Path
) -> None:
    (folder / "sub").mkdir()
    (folder / name).write_text("old")
    open_before = len(os.listdir("/dev/fd"))
    with Output(name, fsync=True) as output:
        output.open(2)
        output.stream.write(b"ab")
        output.commit()
        inode = (folder / name).parent.stat().st_ino
        assert steps == ["sync file", "replace", f"sync folder {inode}"]

    assert len(os.listdir("/dev/fd")) == open_before


@pytest.mark.usefixtures("kind")
def test_without_fsync_nothing_waits_for_the_disk(steps: list[str], tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")

    write(tmp_path / "x", b"ab")

    assert steps == ["replace"]


@pytest.mark.usefixtures("kind")
def test_a_failure_that_only_closing_reports_leaves_the_old_file(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.npy").write_text("old")
    copies: list[int] = []

    def dup(fd: int) -> int:
        copies.append(os.dup(fd))
        return copies[-1]

    def close(fd: int) -> None:
        os.close(fd)
        if fd in copies:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")

    give(monkeypatch, "dup", dup)
    give(monkeypatch, "close", close)

    ran = run(*GATHER, "-o", "x.npy")

    assert (ran.status, ran.out) == (74, "")
    assert "`x.npy` could not be finished (disk quota exceeded)" in ran.err
    assert (folder / "x.npy").read_text() == "old"
    assert names(folder) == ["x.npy"]


def test_a_temporary_file_follows_no_link_that_has_its_name(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "O_TMPFILE")
    monkeypatch.setattr(os, "urandom", bytes)
    (folder / "precious").write_text("old")

    (folder / temporary_name("x.npy")).symlink_to("precious")

    assert run(*GATHER, "-o", "x.npy").status == 73
    assert (folder / "precious").read_text() == "old"


@pytest.mark.usefixtures("kind")
def test_a_temporary_name_that_was_given_up_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "urandom", bytes)
    with Output(str(tmp_path / "x")) as output:
        output.open(2)
        output.stream.write(b"ab")
        output.commit()
        (tmp_path / ".x.000000000000.tmp").write_text("of another writer")

    assert names(tmp_path) == [".x.000000000000.tmp", "x"]


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.npy", ".x.npy"), ("y" * 200, f".{'y' * 200}"), ("y" * 201, f".{'y' * 200}")],
)
def test_a_temporary_name_has_two_hundred_bytes_of_the_targets_and_twelve_digits(
    name: str, start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "O_TMPFILE")
    with Output(str(tmp_path / name)) as output:
        output.open()
        (found,) = names(tmp_path)
        assert re.fullmatch(rf"{re.escape(start)}\.[0-9a-f]{{12}}\.tmp", found)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Take no bit away from the mode of new files."""
    old = os.umask(0)
    yield
    os.umask(old)


@pytest.mark.usefixtures("kind", "open_umask")
def test_a_new_file_is_for_reading_and_writing_and_not_for_running(tmp_path: Path) -> None:
    write(tmp_path / "x", b"ab")

    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666


def test_a_target_that_cannot_be_replaced_is_named_for_what_it_is(run: Run, folder: Path) -> None:
    (folder / "folder.npy").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.npy")
        for name, what in (("folder", "a directory"), ("socket", "a device or socket")):
            ran = run(*GATHER, "-o", f"{name}.npy")
            assert ran.status == 73
            assert f"`{name}.npy` cannot be written (it is {what})" in ran.err


@pytest.mark.parametrize("number", [999_999_999, 9_999_999_999])
def test_a_descriptor_that_nobody_can_have_is_73(number: int, run: Run) -> None:
    ran = run(*GATHER, "-o", f"/dev/fd/{number}", "-f", "npy")

    assert (ran.status, ran.out) == (73, "")
    assert f"`/dev/fd/{number}` cannot be written" in ran.err


@pytest.fixture
def without_stdin() -> Iterator[None]:
    """Close descriptor 0, so that the next file gets it."""
    saved = os.dup(0)
    os.close(0)
    yield
    os.dup2(saved, 0)
    os.close(saved)


@pytest.mark.usefixtures("without_stdin")
def test_an_output_at_descriptor_zero_is_closed_too(tmp_path: Path) -> None:
    write(tmp_path / "x", b"ab")

    assert (tmp_path / "x").read_bytes() == b"ab"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(0)


def test_a_terminal_at_descriptor_zero_is_one(folder: Path) -> None:
    del folder
    ours, theirs = os.openpty()
    name, saved = os.ttyname(theirs), os.dup(0)
    os.close(0)
    try:
        with Output(name) as output:
            output.open()
            assert (output._fd, output.is_terminal) == (0, True)
    finally:
        os.dup2(saved, 0)
        for fd in (saved, ours, theirs):
            os.close(fd)
