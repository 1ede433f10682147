"""Both sides of every bound: the last value that passes and the first that does not."""

from __future__ import annotations

import errno
import json
import mmap
import os
import re
import socket
import stat
import struct
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pytest

import gathercli
from gathercli.cli.limits import RESULT, Limits
from gathercli.errors import OutputError
from gathercli.io import files
from gathercli.io.formats import npy as npy_module
from gathercli.io.formats import npz, values
from gathercli.io.formats import safetensorsfile as safetensors
from gathercli.io.opening import open_file
from gathercli.io.temporaries import temporary_name
from gathercli.io.write import Output
from gathercli.ops import FAMILIES, find
from gathercli.ops.engine import bind
from gathercli.spec import shapes as dims
from gathercli.spec.call import Call, Operand
from gathercli.spec.rules import axis_type
from gathercli.spec.shapes import parse as parse_shape
from gathercli.text import _escape, clean, json_string
from tests.tensorfiles import archive, npy, patched
from tests.test_write import give, kind, names, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]

__all__ = ["kind"]  # the fixture of the two ways of writing

GATHER: Final = ("gather", "[5,6,7]", "[2,0]")


# clean


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


# --max-bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7", 7),
        ("7K", 7_000),
        ("7M", 7_000_000),
        ("7G", 7_000_000_000),
        ("7Ki", 7_168),
        ("7Mi", 7_340_032),
        ("7Gi", 7_516_192_768),
        ("9" * 18, 999_999_999_999_999_999),
    ],
)
def test_max_bytes_limits_the_bytes_in_memory_and_in_the_output(text: str, size: int) -> None:
    assert Limits.parse(text) == Limits(size, size, explicit=True)


def test_a_limit_of_nineteen_digits_is_a_usage_error(run: Run) -> None:
    assert run(*GATHER, "--max-bytes", "9" * 18).out == "[7,5]\n"

    ran = run(*GATHER, "--max-bytes", "9" * 19)

    assert (ran.status, ran.out) == (2, "")


def test_without_a_limit_half_the_memory_is_held_and_sixteen_gibibytes_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "free_memory", lambda: 1001)

    assert Limits.parse(None) == Limits(500, RESULT)
    assert RESULT == 17_179_869_184


def test_zero_lifts_both_limits() -> None:
    assert Limits.parse("0") == Limits(None, None, explicit=True)


# The writer


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


# Indices


def test_the_lowest_index_that_counts_from_the_end_is_noted_too(run: Run) -> None:
    ran = run("gather", "[10,20,30]", "[-3]", "-V", "onnx-1", "--negative", "wrap")

    assert (ran.status, ran.out) == (0, "[10]\n")
    assert ran.err == "note: 1 of 1 index negative, counted from the end; first -3 at [0]\n"


def test_an_index_below_the_lowest_that_counts_is_not_noted_as_counted(run: Run) -> None:
    words = ("-V", "onnx-1", "--negative", "wrap", "--out-of-range", "zero")

    ran = run("gather", "[10,20,30]", "[-4,-1,0]", *words)

    assert (ran.status, ran.out) == (0, "[0,30,10]\n")
    assert ran.err == (
        "note: 1 of 3 indices negative, counted from the end; first -1 at [1]\n"
        "note: 1 of 3 indices outside -3..2, zero-filled; first -4 at [0]\n"
    )


@pytest.mark.parametrize("command", ["gather", "explain", "check"])
@pytest.mark.parametrize(
    ("words", "legal"),
    [
        (("-V", "openvino-8"), "outside -3..2"),
        (("-V", "onnx-13", "--out-of-range", "zero"), "outside -3..2"),
        (("-V", "onnx-13", "--out-of-range", "clamp"), "outside -3..2"),
        (("-V", "onnx-13", "--out-of-range", "wrap"), "outside -3..2"),
        (("-V", "onnx-13", "--negative", "wrap", "--out-of-range", "zero"), "outside -3..2"),
        (("-V", "openvino-8", "--negative", "error"), "outside 0..2"),
        (("-V", "openvino-7", "--out-of-range", "zero"), "outside 0..2"),
        (("-V", "onnx-1", "--out-of-range", "clamp"), "outside 0..2"),
    ],
)
def test_a_note_names_the_range_of_which_the_index_is_outside(
    words: tuple[str, ...], legal: str, command: str, run: Run
) -> None:
    call = ("gather",) if command == "gather" else (command, "gather")

    ran = run(*call, "[10,20,30]", "[2,7]", *words)

    said = ran.out if command == "check" else ran.err
    assert f"1 of 2 indices {legal}" in said


@pytest.mark.parametrize("negative", ["spec", "wrap"])
def test_what_is_filled_on_an_empty_axis_is_outside_of_no_range(negative: str, run: Run) -> None:
    ran = run("gather", "zeros:0", "[0,-1]", "--negative", negative)

    assert ran.err == "note: 2 of 2 indices on an empty axis, zero-filled; first 0 at [0]\n"


@pytest.mark.parametrize(("index", "advised"), [(-4, False), (-3, True), (-1, True), (3, False)])
def test_a_version_that_counts_from_the_end_is_advised_for_what_it_would_take(
    index: int, *, advised: bool, run: Run
) -> None:
    ran = run("gather", "[10,20,30]", f"[{index}]", "-V", "onnx-1")

    assert ran.status == 65
    assert ("onnx-13 counts negative indices from the end" in ran.err) is advised


def test_no_version_is_advised_for_an_index_on_an_empty_axis(run: Run) -> None:
    ran = run("gather", "zeros:0", "[0]", "-V", "onnx-1", "--out-of-range", "error")

    assert (ran.status, ran.out) == (65, "")
    assert "hint" not in ran.err


@pytest.mark.parametrize(
    ("number", "value"), [(2**255, str(2**255)), (2**256, '"an integer of 257 bits"')]
)
def test_a_number_of_more_than_256_bits_is_told_by_its_size(
    number: int, value: str, run: Run
) -> None:
    words = ("-V", "onnx-13", "--batch-dims", str(number), "--json-errors")

    ran = run("gather", "[1,2]", "[0]", *words)

    assert ran.status == 65
    assert f'"value": {value}, ' in ran.err

    shown = value.strip('"')

    assert f"`batch_dims` is {shown}, but onnx.Gather-13 has no batch_dims" in ran.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("[1,2]", "[0]", "--batch-dims", "2"), "-1 to 1"),
        (("[1,2]", "[0]", "--axis", "1"), "-1 to 0"),
        (("[[1],[2]]", "[[0]]", "--batch-dims", "1", "--axis", "0"), "0"),
        (("[1,2,3]", "[-1]", "--negative", "error"), "0 to 2"),
        (("[1,2,3]", "[3]", "-V", "openvino-7"), "0 to 2"),
        (("[1,2,3]", "[3]", "-V", "onnx-13"), "-3 to 2"),
        (("[1]", "[1]", "-V", "openvino-7"), "0"),
        (("zeros:0", "[0]", "-V", "onnx-13"), "no index at all, as the axis is empty"),
    ],
)
def test_what_is_allowed_is_said_in_the_message_and_beside_it(
    words: tuple[str, ...], expected: str, run: Run
) -> None:
    ran = run("gather", *words, "--json-errors")

    assert ran.status == 65
    assert f'"expected": "{expected}"' in ran.err
    assert re.search(rf": expected {expected}[ \"]", ran.err)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("gather", "zeros:0", "[0]", "-V", "openvino-7"),
            "hint: openvino-8 fills such slices with zeros: `-V openvino-8`, or "
            "`--out-of-range zero`",
        ),
        (
            ("gather-elements", "zeros:0", "[0]", "--axis", "0"),
            "hint: on an empty axis only `--out-of-range zero` gives an answer",
        ),
    ],
)
def test_on_an_empty_axis_the_version_that_fills_is_advised_if_there_is_one(
    words: tuple[str, ...], hint: str, run: Run
) -> None:
    ran = run(*words)

    assert ran.status == 65
    assert hint in ran.err.splitlines()


def test_batch_dims_beyond_the_axis_are_told_all_that_fit(run: Run) -> None:
    words = ("--axis", "1", "--batch-dims", "2", "--json-errors")

    ran = run("gather", "zeros:2x2x2", "zeros:2x2", *words)

    assert ran.status == 65
    assert '"expected": "0 to 1"' in ran.err
    assert 'expected 0 to 1"' in ran.err


# A call of which something is not known


def bound(data: str, indices: str, **attributes: Any) -> Call:
    op = find("openvino-8", "gather").op
    operands = Operand(parse_shape(data)), Operand(parse_shape(indices))
    return bind(op, *operands, shapes_only=True, **attributes)


def test_what_is_not_known_of_a_call_is_no_number() -> None:
    unknown = bound("[2,?]", "[3]", axis="unknown")

    assert (unknown.axis, unknown.batch_dims) == (None, 0)
    with pytest.raises(LookupError, match="the axis is not known"):
        _ = unknown.size
    with pytest.raises(LookupError, match="the axis is not known"):
        _ = unknown.normalized
    with pytest.raises(LookupError, match="the axis is not known"):
        _ = bound("[2,3]", "[...]", axis=1, batch_dims=-1).normalized
    with pytest.raises(LookupError, match="the size of the axis is not known"):
        _ = bound("[2,?]", "[3]", axis=1).size
    assert bound("[2,?]", "[3]", axis=0).size == 2


def test_a_call_is_for_values_unless_it_says_otherwise() -> None:
    op = find("openvino-8", "gather").op
    operands = Operand(parse_shape("[2]")), Operand(parse_shape("[3]"))
    inputs = dict(zip(("data", "indices"), operands, strict=True))

    with pytest.raises(gathercli.GatherError, match="only a shape can be inferred without it"):
        axis_type(Call(op, FAMILIES[op.family], inputs, {"axis": "unknown"}))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"axis": "x"}, "`axis` is `x`: expected one integer"),
        ({"axis": [0, 0]}, "expected one integer"),
        ({"axis": True}, "expected one integer"),
        ({"axis": 0.0}, "expected one integer"),
        ({"batch_dims": [0]}, "`batch_dims` is [0]: expected one integer"),
        ({"batch_dims": (0,)}, "expected one integer"),
        ({"batch_dims": np.array([0])}, "expected one integer"),
    ],
)
def test_an_attribute_of_another_sort_is_refused(attributes: Any, message: str) -> None:
    with pytest.raises(gathercli.GatherError, match=re.escape(message)):
        gathercli.gather([1, 2], [0], **attributes)


def test_an_attribute_may_be_any_one_integer() -> None:
    for axis in (0, -1, [0], (0,), np.int8(0), np.array(0), np.array([-1]), [np.array(0)]):
        assert gathercli.gather([1, 2], [1], axis=axis).tolist() == [2]
    for batch_dims in (0, np.uint8(0), np.array(0)):
        assert gathercli.gather([1, 2], [1], batch_dims=batch_dims).tolist() == [2]


# The size of a result


def test_a_result_of_rank_64_is_the_last_that_is_given(run: Run) -> None:
    deep = "x".join(["1"] * 33)

    ran = run("gather", f"zeros:{deep}", "zeros:" + deep[2:], "--axis", "0", "-f", "npy")

    assert (ran.status, ran.err) == (0, "")

    ran = run("gather", f"zeros:{deep}", f"zeros:{deep}", "--axis", "0")

    assert (ran.status, ran.out) == (65, "")
    assert "has rank 65: expected at most 64" in ran.err


@pytest.mark.parametrize(("limit", "status"), [("24", 0), ("23", 65)])
def test_a_result_may_have_as_many_bytes_as_are_allowed(limit: str, status: int, run: Run) -> None:
    ran = run("gather", "[7]", "[0,0,0]", "--max-bytes", limit, "--indices-dtype", "int32")

    assert ran.status == status

    if status:
        assert "takes 24 bytes: expected at most 23 bytes" in ran.err


@pytest.mark.parametrize(
    ("size", "refused"), [(2**57 - 1, False), (2**60, True), (2**63 - 1, True)]
)
def test_an_empty_result_spans_no_more_than_can_be_addressed(
    size: int, *, refused: bool, run: Run
) -> None:
    ran = run("gather", f"zeros:0x{size}xi8", "zeros:0x8", "--axis", "0", "-f", "npy")

    assert ran.status == (65 if refused else 0)
    assert ("spans" in ran.err) is refused


# Literals and lists


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (f"{2**63 - 1}xi8=0", "takes 9223372036854775807 bytes: expected at most 9 bytes"),
        (f"{2**63}xi8=0", "the shape of `9223372036854775808xi8=0` is too large"),
        ("1x" * 65 + "i8=0", "is too large: expected rank at most 64"),
        (f"0x{2**60}xi64=", "takes 0 bytes: expected at most 9 bytes"),
        (f"0x{2**63 - 1}xi16=", "takes 0 bytes: expected at most 9 bytes"),
        ("2xi64=0", "takes 16 bytes: expected at most 9 bytes"),
        ("10xi8=0", "takes 10 bytes: expected at most 9 bytes"),
        ("arange:10xi8", "takes 10 bytes: expected at most 9 bytes"),
    ],
)
def test_a_literal_that_is_too_large_is_refused_before_it_is_made(
    token: str, message: str, run: Run
) -> None:
    ran = run("gather", token, "0,", "--max-bytes", "9")

    assert (ran.status, ran.out) == (65, "")
    assert message in ran.err
    assert ran.err.endswith("rule: limit\n")
    assert ("`--max-bytes 0` lifts" in ran.err) is ("takes" in message)


def test_a_literal_may_take_all_that_is_allowed(run: Run) -> None:
    assert run("gather", "9xi8=1", "xi8=0", "--max-bytes", "9").out == "1\n"
    assert run("gather", "1x" * 64 + "i8=1", "xi8=0", "-f", "npy").status == 0

    ran = run("gather", f"0x{2**60 - 1}xi64=", "xi8=0", "--max-bytes", "0", "--axis", "1")

    assert (ran.status, ran.out) == (0, "[]\n")

    ran = run("gather", f"{2**63 - 1}xi64=0", "0", "--max-bytes", "0")

    assert "expected at most 9223372036854775807" in ran.err
    assert "lifts" not in ran.err


@pytest.mark.parametrize(
    ("token", "status"),
    [
        ("rand:2xi8,high=1", 0),
        ("rand:2xi8,high=128", 0),
        ("rand:2xi8,high=129", 65),
        ("rand:2xi8,high=0", 65),
        ("rand:2xu64,high=9999999999999999999", 0),
        ("rand:2xu64,high=00000000000000000001", 65),
        ("rand:2,seed=1,seed=1", 65),
        ("rand:2,high=1", 65),
        ("zeros:2,seed=1", 65),
        ("rand:2,seed", 65),
    ],
)
def test_an_option_of_a_generator_is_one_number_of_nineteen_digits(
    token: str, status: int, run: Run
) -> None:
    assert run("gather", token, "0").status == status


def test_random_tensors_are_what_they_were(run: Run) -> None:
    assert run("gather", "rand:3xi8,high=100", "0,1,2").out == "[50,75,84]\n"
    assert run("gather", "rand:3xi8,high=100,seed=0", "0,1,2").out == "[50,75,84]\n"
    assert run("gather", "rand:3xi8,high=100,seed=1", "0,1,2").out == "[99,13,47]\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[9223372036854775807]", "i64"),
        ("[9223372036854775808]", "u64"),
        ("[9223372036854775807,0]", "i64"),
        ("[0,9223372036854775808]", "u64"),
        ("[9007199254740992,0.5]", "f64"),
        ("[-9007199254740992,0.5]", "f64"),
    ],
)
def test_the_largest_integer_of_a_type_is_of_that_type(text: str, name: str, run: Run) -> None:
    ran = run("gather", text, "0", "-f", "literal")

    assert ran.status == 0
    assert ran.out.startswith(f"x{name}=")


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1])
def test_the_first_integer_that_float64_lacks_is_refused_among_fractions(
    number: int, run: Run
) -> None:
    ran = run("gather", f"[0.5,{number}]", "0")

    assert ran.status == 65
    assert f"the integer at `$[1]` is {number}, among fractions: expected -2^53 to 2^53" in ran.err


def test_a_list_of_64_brackets_is_the_deepest(run: Run) -> None:
    assert run("gather", "[" * 64 + "7" + "]" * 64, "xi8=0", "-f", "npy").status == 0

    ran = run("gather", "[" * 65 + "7" + "]" * 65, "xi8=0")

    assert ran.status == 65
    assert "is nested deeper than 64: expected rank at most 64" in ran.err


@pytest.mark.parametrize(("limit", "status"), [("24", 0), ("23", 65)])
def test_strings_count_as_wide_as_the_widest(limit: str, status: int, run: Run) -> None:
    ran = run("gather", '["ab","abc"]', "xi8=1", "--max-bytes", limit)

    assert ran.status == status
    assert ran.out == ("" if status else '"abc"\n')

    if status:
        assert (
            "the strings take 24 bytes, each as wide as the longest: expected at most 23" in ran.err
        )


# Files


@pytest.mark.parametrize(("size", "mapped"), [(1 << 16, False), ((1 << 16) + 1, True)])
def test_a_file_is_mapped_from_64_kibibytes(size: int, *, mapped: bool, folder: Path) -> None:
    (folder / "x").write_bytes(bytes(size))
    file = open_file("x", ".", None)

    found = file.buffer()

    assert (len(found), isinstance(found, mmap.mmap)) == (size, mapped)

    file.close()


def test_an_input_may_have_as_many_bytes_as_may_be_held(run: Run, folder: Path) -> None:
    for limit, status in (("152", 0), ("151", 65)):
        ran = run("gather", "-", "xi8=0", "--max-bytes", limit, stdin=npy())
        assert ran.status == status
        held = "the input has 152 bytes or more to be held in memory: expected at most 151 bytes"
        assert (held in ran.err) is bool(status)
        assert "is mapped" not in ran.err
    for name in ("x.json", "+x.json"):
        (folder / name).write_bytes(b"[1,2,3]")
        file = open_file(name, ".", 7)
        assert file.content() == b"[1,2,3]"
        file.close()
        ran = run("gather", name, "0", "--max-bytes", "6")
        assert "the input has 7 bytes to be held in memory: expected at most 6 bytes" in ran.err
        assert "lifts the limit; a .npy file is mapped and not held" in ran.err


def test_the_start_of_a_stream_is_read_without_waiting_for_more() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, b"12345678")

    file = files.File("x", reader, None)

    assert file.start(8) == b"12345678"
    assert file.start(5) == b"12345"

    os.write(writer, b"9")

    os.close(writer)

    assert (file.start(10), file.size) == (b"123456789", 9)

    file.close()


def test_a_file_at_the_start_of_which_nothing_was_read_is_regular(folder: Path) -> None:
    (folder / "x").write_bytes(b"abc")
    saved = os.dup(0)
    try:
        for read, size in ((0, 3), (1, 2), (3, 0)):
            opened = os.open("x", os.O_RDONLY)
            os.dup2(opened, 0)
            os.close(opened)
            assert os.read(0, read) == b"abc"[:read]
            file = files.File("-", 0, None)
            assert (file.regular, file.size, file.start(9)) == (not read, size, b"abc"[read:])
            file.close()
            assert os.fstat(0)
    finally:
        os.dup2(saved, 0)
        os.close(saved)


@pytest.mark.parametrize(("length", "accepted"), [(10_000, True), (10_001, False)])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_a_npy_header_has_at_most_ten_thousand_bytes(
    version: tuple[int, int], length: int, *, accepted: bool, run: Run
) -> None:
    text = "{'descr':'<i8','fortran_order':False,'shape':(3,)}"
    width = 2 if version == (1, 0) else 4
    head = b"\x93NUMPY" + bytes(version) + length.to_bytes(width, "little")
    raw = head + text.encode().ljust(length - 1) + b"\n" + bytes(24)

    ran = run("gather", "-", "0", stdin=raw)

    assert ran.status == (0 if accepted else 65)

    if not accepted:
        assert "the header declares 10001 bytes: expected at most 10000" in ran.err


@pytest.mark.parametrize("version", [(1, 1), (2, 1), (3, 1), (4, 0), (0, 0), (255, 255)])
def test_there_are_three_versions_of_npy(version: tuple[int, int], run: Run) -> None:
    ran = run("gather", "-", "0", stdin=npy(version=version))

    assert ran.status == 65
    assert f"the format version is {version}: expected 1.0, 2.0 or 3.0" in ran.err


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x93NUMPY\1", "the file is truncated: it ends at byte 7: expected a header"),
        (
            b"\x93NUMPY\1\0",
            "the file is truncated: it ends at byte 8, inside its header: expected 10 bytes",
        ),
        (
            b"\x93NUMPY\1\0\x10",
            "the file is truncated: it ends at byte 9, inside its header: expected 26 bytes",
        ),
        (
            b"\x93NUMPY\2\0\x10\0\0\0",
            "the file is truncated: it ends at byte 12, inside its header",
        ),
        (npy()[:-1], "the file is truncated: it has 23 bytes of elements: expected 24, for i64[3]"),
        (npy() + b"\0", "the file is longer than it says: it has 25 bytes of elements"),
        (npy("'<\xe9'", version=(3, 0)), "byte 24 is 0xc3: expected a header of ASCII"),
        (npy("'<\x7f\xe9'", version=(3, 0)), "byte 25 is 0xc3: expected a header of ASCII"),
        (npy("'|i1'", f"({2**63 - 1},)", b""), "truncated: it has 0 bytes of elements"),
        (npy("'|i1'", f"({2**63},)", b""), "expected rank at most 64 and less than 2^63 bytes"),
        (npy("'<i2'", f"({2**62},)", b""), "expected rank at most 64 and less than 2^63 bytes"),
        (npy("'<i2'", f"(0,{2**62},)", b""), "expected rank at most 64 and less than 2^63 bytes"),
        (npy(shape=f"({'1,' * 65})", body=bytes(8)), "expected rank at most 64"),
        (npy(shape="(-1,)"), "the shape is (-1,): expected sizes of 0 or more"),
    ],
)
def test_a_npy_file_is_refused_by_the_bound_it_passes(raw: bytes, message: str, run: Run) -> None:
    ran = run("gather", "-", "0", stdin=raw)

    assert ran.status == 65
    assert message in ran.err


def test_a_npy_header_that_names_a_key_twice_is_refused(run: Run) -> None:
    fields = "'descr': '<i8', 'fortran_order': False, 'shape': (3,), 'fortran_order': True"

    ran = run("gather", "-", "0", stdin=npy(text="{" + fields + "}"))

    assert ran.status == 65
    assert "the header names `fortran_order` twice: expected every key once" in ran.err


@pytest.mark.parametrize(
    ("header", "reason"),
    [("(", "(unexpected )?EOF in multi-line statement"), ("a b " * 99, ".{120}")],
)
def test_what_numpy_says_of_a_header_is_told_on_one_line_of_some_length(
    header: str, reason: str, run: Run
) -> None:
    ran = run("gather", "-", "0", stdin=npy(text=header))

    assert ran.status == 65
    assert re.search(rf"cannot read the header \({reason}\): expected a dictionary", ran.err)


def test_a_npy_file_at_its_bounds_is_read(run: Run) -> None:
    assert run("gather", "-", "0", stdin=npy(shape=f"({'1,' * 64})", body=bytes(8))).status == 0

    empty = npy("'|i1'", f"(0,{2**63 - 1})", b"")

    assert run("gather", "-", "0", "--axis", "1", stdin=empty).out == "[]\n"


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(
    ("code", "sound"),
    [
        (0, True),
        (0xD7FF, True),
        (0xD800, False),
        (0xDFFF, False),
        (0xE000, True),
        (0x10FFFF, True),
        (0x110000, False),
    ],
)
def test_code_points_that_are_no_characters_are_refused(
    code: int, order: Literal["little", "big"], *, sound: bool, run: Run
) -> None:
    points = (0x61, 0x62, 0x63, 0x64, 0x65, code, 0x66, code, 0x67)
    body = b"".join(point.to_bytes(4, order) for point in points)
    raw = npy("'<U3'" if order == "little" else "'>U3'", "(3,)", body)

    ran = run("gather", "-", "0", stdin=raw)

    assert ran.status == (0 if sound else 65)
    assert sound or f"element 1 holds the code point 0x{code:x}: expected characters" in ran.err


# Archives


def test_an_archive_may_have_a_hundred_thousand_members(run: Run, folder: Path) -> None:
    entry = b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, *[0] * 7, 6, *[0] * 6)
    for count, message in (
        (100_000, "`000000`, `000001`"),
        (100_001, "the archive has 100001 members: expected at most 100000"),
    ):
        listed = b"".join(entry + b"%06d" % number for number in range(count))
        size = len(listed)
        end = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, size, 4)
        end += b"PK\6\7" + struct.pack("<IQI", 0, 4 + size, 1)
        end += b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
        (folder / "x.npz").write_bytes(b"PK\3\4" + listed + end)
        ran = run("gather", "x.npz", "0")
        assert ran.status == 65
        assert message in ran.err


def claimed(size: int, packed: int) -> bytes:
    """Make an archive whose one member takes `packed` bytes and claims to hold `size`."""
    head = npy("'|i1'", f"({size - 128},)", b"")
    whole = archive({"a.npy": head + bytes(1 << 16)})
    at = whole.index(b"PK\1\2")
    body, directory = whole[:at], patched(whole[at:], 24, size, 4)
    start = 35 + packed
    end = directory.index(b"PK\5\6") + 16
    directory = patched(directory, 20, packed, 4)
    return body.ljust(start, b"\0") + directory[:end] + struct.pack("<IH", start, 0)


@pytest.mark.parametrize(
    ("size", "packed", "refused"),
    [
        (268_435_455, 300, False),
        (268_435_456, 300, True),
        (268_435_600, 1_342_178, False),
        (268_435_600, 1_342_177, True),
    ],
)
def test_from_256_mebibytes_a_member_may_inflate_two_hundredfold(
    size: int, packed: int, *, refused: bool, run: Run, folder: Path
) -> None:
    (folder / "x.npz").write_bytes(claimed(size, packed))

    ran = run("gather", "x.npz", "0", "--max-bytes", "1G")

    assert ran.status == 65
    assert ("more than 200 times as many" in ran.err) is refused
    assert (f"expected at most {200 * packed} bytes" in ran.err) is refused

    unlimited = run("gather", "x.npz", "0", "--max-bytes", "0")

    assert unlimited.status == 65
    assert "200 times" not in unlimited.err


@pytest.mark.parametrize(("limit", "status"), [("152", 0), ("151", 65)])
def test_a_member_may_inflate_to_as_many_bytes_as_may_be_held(
    limit: str, status: int, run: Run, folder: Path
) -> None:
    (folder / "x.npz").write_bytes(archive({"a.npy": npy()}))

    ran = run("gather", "x.npz", "xi8=0", "--max-bytes", limit)

    assert ran.status == status

    if status:
        assert "the member `a.npy` inflates to 152 bytes: expected at most 151" in ran.err


def test_a_member_that_holds_less_than_it_claims_is_refused(run: Run, folder: Path) -> None:
    short = patched(archive({"a.npy": npy(shape="(4,)")}), 24, 160, 4)
    wrong = patched(archive({"a.npy": npy()}), 16, 1, 4)
    for raw, message in (
        (short, "the file is truncated: it has 24 bytes of elements: expected 32"),
        (wrong, "the member `a.npy` is damaged (Bad CRC-32 for file 'a.npy')"),
    ):
        (folder / "x.npz").write_bytes(raw)
        ran = run("gather", "x.npz", "0")
        assert ran.status == 65
        assert message in ran.err


def test_of_a_member_no_more_is_inflated_than_is_asked_for(folder: Path) -> None:
    (folder / "x.npz").write_bytes(archive({"a.npy": npy(), "b.npy": npy()}))
    file = open_file("x.npz", ".", None)

    opened = npz.Archive(file)

    assert opened.names == ["a", "b"]

    with opened._zip.open("a.npy") as stream:
        assert opened._read(stream, 10) == npy()[:10]
        assert opened._read(stream, 10**6) == npy()[10:]
    file.close()


# Raw bytes


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("bin:3xi8@x", ""),
        ("bin:2xi8@x", "the file has 3 bytes: expected 2, for i8[2]"),
        ("bin:4xi8@x", "the file has 3 bytes: expected 4, for i8[4]"),
        ("bin:2xi8@x", "hint: `bin:3xi8@x` has that many"),
        ("bin:4x1xi8@x", "hint: `bin:3x1xi8@x` has that many"),
        ("bin:1x2xi8@x", "rule: format"),
        ("bin:" + "1x" * 64 + "i8@x", "the file has 3 bytes: expected 1"),
        ("bin:" + "1x" * 65 + "i8@x", "expected rank at most 64 and less than 2^63 bytes"),
        (f"bin:{2**63 - 1}xi8@x", "the file has 3 bytes: expected 9223372036854775807"),
        (f"bin:{2**63}xi8@x", "declares the shape [9223372036854775808]: expected rank"),
        (f"bin:{2**62}xi16@x", "declares the shape [4611686018427387904]: expected rank"),
        (f"bin:0x{2**62}xi16@x", "declares the shape [0, 4611686018427387904]: expected rank"),
        (f"bin:0x{2**63 - 1}xi8@x", "the file has 3 bytes: expected 0"),
    ],
)
def test_raw_bytes_are_as_many_as_the_shape_needs(
    token: str, message: str, run: Run, folder: Path
) -> None:
    (folder / "x").write_bytes(b"\1\2\3")

    ran = run("gather", token, "0")

    assert ran.status == (65 if message else 0)
    assert message in ran.err

    if token.startswith(("bin:1x2", "bin:0x")):
        assert "has that many" not in ran.err


# .safetensors


def bundle(header: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    return (len(header) if length is None else length).to_bytes(8, "little") + header + body


ONE: Final = b'{"a":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}}'


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (bundle(ONE, b"\1\2\3"), ""),
        (bundle(ONE, b"\1\2"), "expected"),
        (bundle(ONE, b"\1\2\3\4"), "expected"),
        (
            bundle(ONE, length=len(ONE) + 1),
            "the file is truncated: it ends at byte 61, inside its header: expected",
        ),
        (bundle(ONE, length=100_000_000), "expected 100000008 bytes of header"),
        (bundle(ONE, length=100_000_001), "declares 100000001 bytes: expected at most 100000000"),
        (
            bundle(
                b'{"a":{"dtype":"I8","shape":[' + b"1," * 64 + b'1],"data_offsets":[0,1]}}', b"\1"
            ),
            "expected rank at most 64",
        ),
        (
            bundle(b'{"a":{"dtype":"I16","shape":[0,%d],"data_offsets":[0,0]}}' % 2**62),
            "less than 2^63 bytes",
        ),
    ],
)
def test_a_safetensors_file_is_as_long_as_its_header_says(
    raw: bytes, message: str, run: Run, folder: Path
) -> None:
    (folder / "x.safetensors").write_bytes(raw)

    ran = run("gather", "x.safetensors", "0", "-q")

    assert ran.status == (65 if message else 0)
    assert message in ran.err


# Numbers that are the limit


def test_the_limits_are_these() -> None:
    assert (dims.LARGEST, dims.MAX_RANK) == (9_223_372_036_854_775_807, 64)
    assert (npz.MAX_MEMBERS, npz.MAX_RATIO, npz.MAX_UNQUESTIONED) == (100_000, 200, 268_435_456)
    assert (values.MAX_UNQUESTIONED, values.MAX_PADDING) == (268_435_456, 16)
    assert npy_module.MAX_HEADER == 10_000
    assert safetensors.MAX_HEADER == 100_000_000


def test_padded_strings_may_take_sixteen_times_their_own_bytes(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(values, "MAX_UNQUESTIONED", 100)

    sixteen = json.dumps(["a" * 16, *[""] * 15])

    assert run("gather", sixteen, "15").out == '""\n'

    ran = run("gather", json.dumps(["a" * 16, *[""] * 16]), "15")

    assert ran.status == 65
    assert "the strings take 1088 bytes, each as wide as the longest: expected at most 1024" in (
        ran.err
    )
    assert run("gather", json.dumps(["a" * 5, *[""] * 4]), "4").out == '""\n'
