from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.errors import OutputError
from gathercli.io import descriptors, stream
from gathercli.io import write as write_module
from gathercli.io.write import Output
from tests.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Run


GATHER: Final = ("gather", "[5,6,7]", "[2,0]")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def write(path: Path, *parts: bytes, no_clobber: bool = False) -> None:
    with Output(str(path), no_clobber=no_clobber) as output:
        output.open(sum(map(len, parts)))
        for part in parts:
            output.stream.write(part)
        output.commit()


class Shim:
    """The module os as the writer sees it, with one name replaced, or gone."""

    def __init__(self, base: Any, name: str, function: Callable[..., Any] | None) -> None:
        self._base, self._name, self._function = base, name, function

    def __getattr__(self, name: str) -> Any:
        if name != self._name:
            return getattr(self._base, name)
        if self._function is None:
            raise AttributeError(name)
        return self._function


def give(patch: pytest.MonkeyPatch, name: str, function: Callable[..., Any] | None = None) -> None:
    """Replace a name of os, for the writer alone."""
    for module in (write_module, stream, descriptors):
        patch.setattr(module, "os", Shim(vars(module)["os"], name, function))


@pytest.fixture(params=["unnamed", "named"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write through a file without a name, and where the system has none, through a named one."""
    if request.param == "named":
        give(monkeypatch, "O_TMPFILE")
    return str(request.param)


@pytest.fixture
def umask() -> Iterator[None]:
    """Let new files be readable by the group alone."""
    old = os.umask(0o027)
    yield
    os.umask(old)


# Absent, old or whole


def test_an_output_is_absent_until_it_is_whole(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    with Output(str(path)) as output:
        output.open(4)
        output.stream.write(b"ab")
        assert not path.exists()
        output.stream.write(b"cd")
        assert names(tmp_path) == [] if kind == "unnamed" else len(names(tmp_path)) == 1
        output.commit()
        assert path.read_bytes() == b"abcd"
    assert names(tmp_path) == ["x"]


@pytest.mark.usefixtures("kind")
def test_an_output_is_old_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with Output(str(path)) as output:
        output.open(4)
        output.stream.write(b"abcd")
        assert path.read_bytes() == b"old"
        output.commit()
    assert path.read_bytes() == b"abcd"
    assert names(tmp_path) == ["x"]


def test_a_temporary_file_has_a_telling_name_beside_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "O_TMPFILE")
    with Output(str(tmp_path / "x.npy")) as output:
        output.open()
        (name,) = names(tmp_path)
        assert name.startswith(".x.npy.")
        assert name.endswith(".tmp")
    assert names(tmp_path) == []


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("old", [b"old", None])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, MemoryError, ZeroDivisionError, BrokenPipeError]
)
def test_nothing_is_left_behind_whatever_ends_the_writing(
    error: type[BaseException], old: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    if old is not None:
        path.write_bytes(old)

    def interrupted() -> None:
        with Output(str(path)) as output:
            output.open(9)
            output.stream.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert names(tmp_path) == ([] if old is None else ["x"])
    assert old is None or path.read_bytes() == old


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = os.listdir("/dev/fd")
    for _ in range(3):
        write(tmp_path / "x", b"ab")
        with Output(str(tmp_path / "x")), pytest.raises(OutputError):
            write(tmp_path / "x", b"ab", no_clobber=True)
        with pytest.raises(OutputError):
            write(tmp_path / "nosuch" / "x", b"ab")
    assert len(os.listdir("/dev/fd")) == len(before)


@pytest.mark.usefixtures("kind")
def test_a_full_disk_while_writing_is_74_and_leaves_the_old_file(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.npy").write_text("old")

    def full(fd: int, part: bytes) -> int:
        if fd > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(fd, part)

    give(monkeypatch, "write", full)
    ran = run(*GATHER, "-o", "x.npy")
    assert (ran.status, ran.out) == (74, "")
    assert "no space left on device" in ran.err
    assert ran.err.endswith("rule: output\n")
    assert (folder / "x.npy").read_text() == "old"
    assert names(folder) == ["x.npy"]


CALLS: Final = ("open", "write", "fchmod", "link", "replace", "statvfs", "access", "stat", "unlink")


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("call", CALLS)
def test_whichever_call_fails_the_output_is_old_or_whole_and_nothing_is_left(
    call: str, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "x.npy"
    np.save(folder / "new.npy", np.array([7, 5]))
    whole = (folder / "new.npy").read_bytes()
    calls = 0

    def failing(*args: Any, **rest: Any) -> Any:
        nonlocal calls
        calls += not (call == "write" and args[0] < 3)
        if calls == number and not (call == "write" and args[0] < 3):
            raise OSError(errno.EIO, "Input/output error")
        return getattr(os, call)(*args, **rest)

    give(monkeypatch, call, failing)
    for number in range(1, 30):
        path.write_bytes(b"old")
        calls = 0
        ran = run(*GATHER, "-o", "x.npy")
        assert ran.status in (0, 73, 74)
        assert ran.status == 0 or ran.err.endswith("rule: output\n")
        assert path.read_bytes() == (whole if ran.status == 0 else b"old")
        assert names(folder) == ["new.npy", "x.npy"]
        if calls < number:
            return
    pytest.fail("the calls never end")


def test_a_write_that_takes_only_a_part_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "write", lambda fd, part: os.write(fd, bytes(part[:3])))
    write(tmp_path / "x", b"abcdefgh", b"", b"ijk")
    assert (tmp_path / "x").read_bytes() == b"abcdefghijk"


def test_too_little_disk_is_foreseen(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.npy").write_text("old")

    class Disk:
        f_frsize = 8
        f_bavail = 1

    give(monkeypatch, "statvfs", lambda _: Disk)
    ran = run(*GATHER, "-o", "x.npy")
    assert ran.status == 73
    assert "the result takes at least 16 bytes and the disk has 8" in ran.err
    assert (folder / "x.npy").read_text() == "old"
    assert names(folder) == ["x.npy"]
    monkeypatch.setattr(write_module, "os", os)
    assert run(*GATHER, "-o", "x.npy").status == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_that_sets_no_bytes_aside_as_it_is_full_is_73_before_the_work(
    number: int, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allocate(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    give(monkeypatch, "posix_fallocate", allocate)
    (folder / "x.npy").write_text("old")

    ran = run("gather", "zeros:2", "zeros:131072", "-o", "x.npy", "-q")

    assert ran == (
        73,
        "",
        "error: `x.npy`: the result takes 1048576 bytes and there is no room for it "
        f"({os.strerror(number).lower()}): expected room for it\n"
        "  openvino.Gather-8   data i64[2]   indices i64[131072]\n"
        "rule: output\n",
    )
    assert (folder / "x.npy").read_text() == "old"
    assert names(folder) == ["x.npy"]


def test_a_disk_that_cannot_set_bytes_aside_is_written_all_the_same(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allocate(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    give(monkeypatch, "posix_fallocate", allocate)

    assert run("gather", "zeros:2", "zeros:131072", "-o", "x.npy", "-q") == (0, "", "")
    assert np.load(folder / "x.npy").shape == (131072,)


def test_text_of_unknown_size_gets_room_ahead_of_it_and_gives_back_the_rest(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = []

    def allocate(fd: int, start: int, size: int) -> None:
        rooms.append((start, start + size))
        os.posix_fallocate(fd, start, size)

    give(monkeypatch, "posix_fallocate", allocate)
    monkeypatch.setattr(stream, "MIN_AHEAD", 1 << 16)
    monkeypatch.setattr(stream, "MOST_AHEAD", 1 << 19)

    assert run("gather", "zeros:2", "zeros:1048576", "-o", "x.json", "-q") == (0, "", "")

    starts, ends = zip(*rooms, strict=True)
    assert len(rooms) > 1
    assert starts == (0, *ends[:-1])
    assert max(ends) > 2 * 1048576 + 2 == (folder / "x.json").stat().st_size
    assert set((folder / "x.json").read_bytes()) == set(b"[0,]\n")


def test_text_is_written_where_there_is_no_room_ahead_of_it(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allocate(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    give(monkeypatch, "posix_fallocate", allocate)

    assert run("gather", "zeros:2", "zeros:1048576", "-o", "x.json", "-q") == (0, "", "")
    assert (folder / "x.json").stat().st_size == 2 * 1048576 + 2


def test_a_rest_that_cannot_be_given_back_is_74_and_leaves_nothing(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def truncate(*_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    give(monkeypatch, "ftruncate", truncate)

    ran = run("gather", "zeros:2", "zeros:1048576", "-o", "x.json", "-q")

    assert (ran.status, ran.err.splitlines()[0]) == (
        74,
        "error: `x.json` could not be finished (input/output error)",
    )
    assert names(folder) == []


# What was there


@pytest.mark.usefixtures("kind")
def test_no_clobber_leaves_a_file_alone_even_one_that_appears_late(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write(path, b"first", no_clobber=True)
    with pytest.raises(OutputError, match="it exists"):
        write(path, b"second", no_clobber=True)
    path.unlink()

    def late() -> None:
        with Output(str(path), no_clobber=True) as output:
            output.open(6)
            output.stream.write(b"second")
            path.write_bytes(b"late")
            output.commit()

    with pytest.raises(OutputError, match="it exists"):
        late()
    assert path.read_bytes() == b"late"
    assert names(tmp_path) == ["x"]


@pytest.mark.usefixtures("kind")
def test_no_clobber_leaves_links_alone_even_dangling_ones(run: Run, folder: Path) -> None:
    (folder / "x.npy").symlink_to("nowhere.npy")
    assert run(*GATHER, "-o", "x.npy", "--no-clobber").status == 73
    assert names(folder) == ["x.npy"]


@pytest.mark.usefixtures("kind")
def test_an_output_may_replace_its_own_mapped_input(run: Run, folder: Path) -> None:
    np.save(folder / "a.npy", np.arange(1000))
    assert run("gather", "a.npy", "[999,0]", "-o", "a.npy") == (0, "", "")
    assert np.load(folder / "a.npy").tolist() == [999, 0]
    assert run("gather", "a.npy", "a.npy", "--out-of-range", "clamp", "-o", "a.npy", "-q")[0] == 0
    assert np.load(folder / "a.npy").tolist() == [0, 999]


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed_once_and_stays(exists: bool, run: Run, folder: Path) -> None:
    (folder / "sub").mkdir()
    if exists:
        (folder / "target.npy").write_text("old")
    (folder / "sub" / "x.npy").symlink_to("../target.npy")
    (folder / "absolute.npy").symlink_to(folder / "target.npy")
    for link in ("sub/x.npy", "absolute.npy"):
        assert run(*GATHER, "-o", link) == (0, "", "")
        assert (folder / link).is_symlink()
        assert np.load(folder / "target.npy").tolist() == [7, 5]
    assert names(folder) == ["absolute.npy", "sub", "target.npy"]
    assert names(folder / "sub") == ["x.npy"]


def test_a_link_to_a_link_is_refused(run: Run, folder: Path) -> None:
    (folder / "target.npy").write_text("old")
    (folder / "one.npy").symlink_to("target.npy")
    (folder / "two.npy").symlink_to("one.npy")
    (folder / "loop.npy").symlink_to("loop.npy")
    for link in ("two.npy", "loop.npy"):
        ran = run(*GATHER, "-o", link)
        assert ran.status == 73
        assert f"`{link}` cannot be written" in ran.err
    assert (folder / "target.npy").read_text() == "old"


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666, 0o755])
def test_the_mode_of_the_old_file_is_kept(mode: int, run: Run, folder: Path) -> None:
    (folder / "x.npy").write_text("old")
    (folder / "x.npy").chmod(mode)
    assert run(*GATHER, "-o", "x.npy").status == 0
    assert stat.S_IMODE((folder / "x.npy").stat().st_mode) == mode


@pytest.mark.usefixtures("kind", "umask")
@pytest.mark.parametrize("words", [(), ("--no-clobber",)])
def test_the_mode_of_a_new_file_is_what_the_umask_leaves(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    assert run(*GATHER, "-o", "x.npy", *words).status == 0
    assert stat.S_IMODE((folder / "x.npy").stat().st_mode) == 0o640


@pytest.mark.usefixtures("kind")
def test_a_long_name_has_a_temporary_one_that_fits(run: Run, folder: Path) -> None:
    for name in ("x" * 251 + ".npy", "é" * 125 + ".npy"):
        assert run(*GATHER, "-o", name).status == 0
        assert run(*GATHER, "-o", name).status == 0
        assert names(folder) == [name]
        (folder / name).unlink()


def test_a_name_that_is_too_long_is_73(run: Run, folder: Path) -> None:
    for name in ("x" * 300 + ".npy", "x\0.npy"):
        assert run(*GATHER, "-o", name).status == 73
    assert names(folder) == []


def test_a_folder_that_may_not_be_written_is_73(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def refusing(path: Any, flags: int, mode: int = 0o777, **rest: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR) and not str(path).startswith("/dev/"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return os.open(path, flags, mode, **rest)

    give(monkeypatch, "open", refusing)
    ran = run(*GATHER, "-o", "x.npy")
    assert ran.status == 73
    assert "`x.npy` cannot be written (permission denied)" in ran.err
    assert ran.err.endswith("rule: output\n")
    assert names(folder) == []


def test_a_file_that_may_not_be_written_is_not_replaced_either(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.npy").write_text("old")
    give(monkeypatch, "access", lambda path, mode, **_: mode != os.W_OK and os.access(path, mode))
    ran = run(*GATHER, "-o", "x.npy")
    assert ran.status == 73
    assert "permission denied" in ran.err
    assert (folder / "x.npy").read_text() == "old"


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT])
def test_a_file_system_without_unnamed_files_gets_a_named_one(
    number: int, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unnamed = getattr(os, "O_TMPFILE", 0)

    def lacking(path: Any, flags: int, mode: int = 0o777, **rest: Any) -> int:
        if unnamed and flags & unnamed == unnamed:
            raise OSError(number, "not here")
        return os.open(path, flags, mode, **rest)

    give(monkeypatch, "open", lacking)
    ran = run(*GATHER, "-o", "x.npy")
    assert ran.status == (73 if number == errno.ENOENT else 0)
    assert names(folder) == ([] if number == errno.ENOENT else ["x.npy"])


# What changed underneath


@pytest.mark.parametrize("how", ["grown", "touched"])
@pytest.mark.parametrize("fmt", ["npy", "json"])
def test_an_input_that_changes_underneath_is_74_and_nothing_is_written(
    how: str, fmt: str, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "a.npy"
    np.save(path, np.arange(3))
    (folder / "x.out").write_text("old")
    real = Output.open

    def changed(self: Output, size: int = 0) -> None:
        if how == "grown":
            with path.open("ab") as file:
                file.write(b"\0")
        else:
            os.utime(path, ns=(0, 0))
        real(self, size)

    monkeypatch.setattr(Output, "open", changed)
    ran = run("gather", "a.npy", "[2,0]", "-o", "x.out", "-f", fmt)
    assert ran.status == 74
    assert "a.npy` changed while it was read" in ran.err
    assert (folder / "x.out").read_text() == "old"
    assert names(folder) == ["a.npy", "x.out"]


def test_a_mapped_input_replaced_by_name_is_still_the_one_that_was_opened(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(folder / "a.npy", np.array([1, 2, 3]))
    np.save(folder / "b.npy", np.array([9, 9, 9]))
    real = Output.open

    def replaced(self: Output, size: int = 0) -> None:
        (folder / "b.npy").replace(folder / "a.npy")
        real(self, size)

    monkeypatch.setattr(Output, "open", replaced)
    assert run("gather", "a.npy", "[2,0]", "-o", "x.npy") == (0, "", "")
    assert np.load(folder / "x.npy").tolist() == [3, 1]


# What is no file


@pytest.mark.parametrize("fmt", ["json", "npy"])
def test_a_folder_as_target_is_73(fmt: str, run: Run, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "link").symlink_to("sub")
    for name in ("sub", "sub/", "link", "."):
        ran = run(*GATHER, "-o", name, "-f", fmt)
        assert ran.status == 73
        assert f"`{name}` cannot be written" in ran.err
    assert names(folder) == ["link", "sub"]
    assert names(folder / "sub") == []


def test_a_name_below_a_file_is_73(run: Run, folder: Path) -> None:
    (folder / "file").write_text("old")
    ran = run(*GATHER, "-o", "file/x.npy")
    assert ran.status == 73
    assert "(not a directory)" in ran.err


@pytest.mark.parametrize("words", [(), ("--no-clobber",)])
def test_dev_null_is_a_stream_and_stays_a_device(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    (folder / "link").symlink_to("/dev/null")
    for name in ("/dev/null", "link"):
        assert run(*GATHER, "-o", name, "-f", "npy", *words) == (0, "", "")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert (folder / "link").is_symlink()


def test_a_full_device_is_74(run: Run) -> None:
    assert run(*GATHER, "-o", "/dev/full", "-f", "npy").status == 74


@pytest.mark.parametrize("fmt", ["json", "npy"])
def test_a_fifo_is_opened_once_and_written_as_a_stream(
    fmt: str, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(folder / "pipe")
    held = os.open(folder / "pipe", os.O_RDWR)  # so that no open waits for a reader
    opened: list[str] = []

    def counting(path: Any, flags: int, mode: int = 0o777, **rest: Any) -> int:
        if str(path).endswith("pipe"):
            opened.append(str(path))
        return os.open(path, flags, mode, **rest)

    give(monkeypatch, "open", counting)
    expected = run(*GATHER, "-f", fmt).raw
    assert run(*GATHER, "-o", "pipe", "-f", fmt) == (0, "", "")
    assert os.read(held, 1 << 16) == expected
    os.close(held)
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)
    assert opened == ["pipe"]


def test_a_refusal_does_not_wait_for_the_reader_of_a_fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    words = ["gather", "nosuch.npy", "0", "-o", "pipe", "-f", "json"]
    ran = subprocess.run(
        [sys.executable, "-m", "gathercli", *words],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert ran.returncode == 66


def test_dev_stdout_and_dev_fd_are_the_streams_they_name(run: Run, folder: Path) -> None:
    for name in ("/dev/stdout", "/dev/fd/1"):
        assert run(*GATHER, "-o", name, "-f", "json") == (0, "[7,5]\n", "")
    assert run(*GATHER, "-o", "/dev/stderr", "-f", "json") == (0, "", "[7,5]\n")
    assert names(folder) == []


# Other processes


def test_writers_of_one_name_at_a_time_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    contents = [bytes([n]) * 10_000 for n in range(8)]
    writers = [threading.Thread(target=write, args=(path, content)) for content in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["x"]


# A folder that a link takes the place of


@pytest.fixture
def out(folder: Path) -> Path:
    """Make two folders, one of which is to hold the output."""
    (folder / "out").mkdir()
    (folder / "elsewhere").mkdir()
    return folder / "out"


def swap(out: Path) -> None:
    """Put a link in the place of the folder."""
    out.rename(out.with_name("moved"))
    out.symlink_to("elsewhere")


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("early", [True, False], ids=["beforehand", "before it is opened"])
def test_a_link_that_leads_out_of_the_folder_of_the_output_is_refused(
    early: bool, out: Path
) -> None:
    within = str(out)  # the real path of what was looked at
    if early:
        swap(out)

    def interfere() -> None:
        with Output("out/x.npy", within=within) as output:
            if not early:
                swap(out)
            output.open(2)

    with pytest.raises(OutputError) as caught:
        interfere()
    assert str(caught.value) == (
        "`out/x.npy` cannot be written (a link leads out of the folder of the job): "
        "expected a file in it"
    )
    assert names(out.parent / "elsewhere") == names(out.parent / "moved") == []


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("old", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("no_clobber", [True, False], ids=["no-clobber", "clobber"])
def test_a_link_that_comes_while_an_output_is_written_is_not_written_through(
    no_clobber: bool, old: bool, out: Path
) -> None:
    if old and not no_clobber:
        (out / "x.npy").write_bytes(b"old")

    with Output("out/x.npy", no_clobber=no_clobber, fsync=True) as output:
        output.open(2)
        output.stream.write(b"ab")
        swap(out)
        output.commit()

    assert (out.parent / "moved/x.npy").read_bytes() == b"ab"
    assert names(out.parent / "elsewhere") == []
    assert names(out.parent / "moved") == ["x.npy"]


def test_a_link_to_a_pipe_outside_is_not_written_to(out: Path) -> None:
    os.mkfifo("pipe")
    (out / "x.npy").symlink_to("../pipe")

    with pytest.raises(OutputError, match="a link leads out of the folder of the job"):
        Output("out/x.npy", within=str(out))
