"""Where an output may be, what its path names, and what interrupts the writing of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gathercli.errors import OutputError
from gathercli.io import write
from gathercli.io.write import Output

if TYPE_CHECKING:
    from pathlib import Path


# Signals


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(("interrupts", "calls"), [(0, 1), (1, 2), (4, 5), (9, 5)])
def test_a_removal_is_tried_five_times_and_says_that_it_was_interrupted(
    kind: type[BaseException], interrupts: int, calls: int
) -> None:
    tries: list[int] = []

    def remove() -> None:
        tries.append(0)
        if len(tries) <= interrupts:
            raise kind(len(tries))

    if interrupts:
        with pytest.raises(kind) as info:
            write.persist(remove)
        assert info.value.args == (min(interrupts, 5),)
    else:
        write.persist(remove)

    assert len(tries) == calls


# Names


@pytest.mark.parametrize(
    ("path", "fd"),
    [
        *(("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/0", 0), ("/dev/fd/12", 12)),
        *(("/proc/self/fd/7", 7), ("/dev/fd/123456789", 123456789), ("/dev/fd/1234567890", None)),
        *(("/dev/fd/", None), ("/dev/fd/x", None), ("/dev/fd/²", None), ("fd/1", None)),
        *(("1", None), ("/dev/stdin", None), ("stdout", None)),
    ],
)
def test_a_path_may_name_a_descriptor(path: str, fd: int | None) -> None:
    assert write.descriptor_of(path) == fd


def test_pipes_and_devices_are_streams(folder: Path) -> None:
    os.mkfifo("pipe")
    (folder / "file").touch()
    (folder / "link").symlink_to("pipe")

    assert all(map(write.is_stream, ["pipe", "link", "/dev/null", "/dev/stdout"]))
    assert not any(map(write.is_stream, ["file", "none", "."]))


def test_a_real_path_where_the_working_folder_is_gone_cannot_be_opened(folder: Path) -> None:
    assert write.real_path("x/../y") == str(folder.resolve() / "y")
    (folder / "gone").mkdir()
    os.chdir("gone")
    os.rmdir(folder / "gone")

    assert write.real_path("a/../b") == "/ (removed)/b"


def test_a_folder_is_made_with_its_parents_unless_it_is_there(folder: Path) -> None:
    write.make_folder("")
    write.make_folder("a/b")
    write.make_folder("a/b")
    (folder / "file").touch()

    assert (folder / "a/b").is_dir()
    with pytest.raises(OutputError) as info:
        write.make_folder("file/x")
    assert info.value.message == (
        "the folder `file/x` cannot be made (not a directory): expected one that can be written"
    )
    assert (info.value.rule, info.value.value) == ("output", "file/x")


@pytest.mark.parametrize(
    ("path", "reason", "hint"),
    [
        ("a/b/x.npy", FileNotFoundError(2, "No such file"), "`mkdir -p a/b` creates it"),
        ("x.npy", FileNotFoundError(2, "No such file"), None),
        ("here/x.npy", FileNotFoundError(2, "No such file"), None),
        ("a/b/x.npy", PermissionError(13, "Permission denied"), None),
    ],
)
@pytest.mark.usefixtures("folder")
def test_only_a_folder_that_is_not_there_is_made_by_the_hint(
    path: str, reason: OSError, hint: str | None
) -> None:
    os.mkdir("here")

    assert write.bad_folder(path, reason)[1:] == ("a folder that can be written", hint)


def test_an_output_without_a_name_is_refused() -> None:
    with pytest.raises(OutputError, match=r"\(the name is empty\): expected the name of a file"):
        Output("")


def test_an_output_is_a_terminal_if_its_stream_is_one(folder: Path) -> None:
    ours, theirs = os.openpty()
    for path, is_terminal in (
        (f"/dev/fd/{theirs}", True),
        ("/dev/null", False),
        (str(folder / "x"), False),
    ):
        with Output(path) as output:
            assert not output.is_terminal
            output.open()
            assert (output.is_terminal, output.is_stream) == (is_terminal, path[:4] == "/dev")
    os.close(ours)
    os.close(theirs)


def test_an_output_of_a_folder_that_is_not_there_makes_it_if_it_may(folder: Path) -> None:
    with Output("new/deep/x") as output, pytest.raises(OutputError, match=r"no such file"):
        output.open()
    with Output("new/deep/x") as output:
        output.open(parents=True)
        output.stream.write(b"1")
        output.commit()

    assert (folder / "new/deep/x").read_bytes() == b"1"


@pytest.mark.usefixtures("folder")
def test_an_output_may_lie_in_one_folder_alone(tmp_path: Path) -> None:
    os.makedirs("in/side")
    os.symlink(tmp_path, "in/out")
    os.symlink("../side/x", "in/side/link")
    within = str((tmp_path / "in").resolve())

    for path in ("in/x", "in/side/x", "in/side/link", "in/new/deep/x"):
        with Output(path, within=within) as output:
            output.open(parents=True)
    for path in ("x", "in/out/x", "in/../x", "in/out/new/x"):
        with (
            Output(path, within=within) as output,
            pytest.raises(OutputError, match=r"\(a link leads out of the folder of the job\)"),
        ):
            output.open(parents=True)
    assert sorted(os.listdir()) == ["in"]


@pytest.mark.usefixtures("folder")
def test_a_pipe_is_checked_again_when_it_is_open(tmp_path: Path) -> None:
    os.mkdir("in")
    os.mkfifo("in/pipe")
    os.mkfifo("outside")
    reader = os.open("outside", os.O_RDONLY | os.O_NONBLOCK)

    with Output("in/pipe", within=str((tmp_path / "in").resolve())) as output:
        os.unlink("in/pipe")
        os.symlink("../outside", "in/pipe")
        with pytest.raises(OutputError, match=r"\(a link leads out of the folder of the job\)"):
            output.open()

    os.close(reader)


@pytest.mark.parametrize(
    ("kind", "when"), [("unnamed", "opened"), ("unnamed", "written"), ("named", "opened")]
)
def test_a_file_that_appears_late_keeps_its_mode(
    kind: str, when: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)

    with Output("x") as output:
        if when == "opened":
            (folder / "x").touch(0o604)
        output.open()
        output.stream.write(b"1")
        if when == "written":
            (folder / "x").touch(0o604)
        output.commit()

    assert (folder / "x").read_bytes() == b"1"
    assert (folder / "x").stat().st_mode & 0o777 == 0o604


def test_a_file_is_no_folder(folder: Path) -> None:
    (folder / "file").touch()

    with Output("file") as output:
        output._target = "file/x"
        with pytest.raises(OutputError) as info:
            output.open()

    assert info.value.message == (
        "`file` cannot be written (not a directory): expected a folder that can be written"
    )


def test_a_folder_that_comes_before_it_is_made_is_no_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a/b").mkdir(parents=True)
    isdir, asked = os.path.isdir, list[str]()

    def absent_at_first(path: str) -> bool:
        asked.append(path)
        return len(asked) > 1 and isdir(path)

    monkeypatch.setattr(os.path, "isdir", absent_at_first)
    write.make_folder("a/b")

    assert asked[0] == "a/b"


def test_a_disk_without_room_is_tried_where_the_output_may_become_smaller() -> None:
    for packs in (True, False):
        with pytest.raises(OutputError, match=r"and the disk has \d+\): expected room") as info:
            write.check_room("x", ".", 2**62, packs=packs)

        assert (info.value.hint is not None) == packs
        assert ("before it is compressed" in str(info.value)) == packs
    write.check_room("x", "nowhere", 2**62)
    write.check_room("x", ".", 0)
