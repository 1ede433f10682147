"""The .npz format: members, bounds, malformed archives."""

from __future__ import annotations

import io
import json
import os
import struct
import warnings
import zipfile
import zlib
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from gathercli.io.formats import npz
from gathercli.io.source import open_file
from tests.tensorfiles import ONE, STORED, archive, assert_refused, npy, patched, saved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def repeated() -> bytes:
    raw = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(raw, "w") as file:
        warnings.simplefilter("ignore")
        for _ in range(2):
            file.writestr("a.npy", saved(np.arange(3)))
    return raw.getvalue()


BAD_NPZ: Final[dict[str, tuple[bytes, str]]] = {
    "nothing but the magic": (b"PK\3\4", "npz"),
    "no directory": (ONE[:-30], "npz"),
    "no members": (archive({}), "npz"),
    "several members": (STORED, "npz"),
    "no npy inside": (archive({"a.txt": b"hello"}), "npz"),
    "a repeated name": (repeated(), "npz"),
    "one name in two spellings": (archive({"a.npy": saved(np.arange(3)), "a": b""}), "npz"),
    "bzip2": (archive({"a.npy": saved(np.arange(3))}, zipfile.ZIP_BZIP2), "npz"),
    "lzma": (archive({"a.npy": saved(np.arange(3))}, zipfile.ZIP_LZMA), "npz"),
    "an unknown method": (patched(ONE, 10, 99, 2), "npz"),
    "encryption": (patched(ONE, 8, 1, 2), "npz"),
    "a size too large": (patched(ONE, 24, 10**9, 4), "npy"),
    "a size too small": (patched(ONE, 24, 10, 4), "npy"),
    "a member on another": (patched(STORED, 42, 0, 4, member=1), "npz"),
    "a member in another": (patched(STORED, 42, 20, 4, member=1), "npz"),
    "a member beyond the end": (patched(ONE, 42, 10**6, 4), "npz"),
    "damaged bytes": (ONE[:45] + bytes([ONE[45] ^ 255]) + ONE[46:], "npz"),
    "a wrong checksum": (patched(ONE, 16, 1, 4), "npz"),
    "a PyTorch file": (archive({"m/data.pkl": b"\x80\2.", "m/data/0": b"\0" * 8}), "format"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_a_malformed_archive_is_one_error_from_a_file_and_a_pipe(
    case: str, run: Run, folder: Path
) -> None:
    raw, rule = BAD_NPZ[case]
    (folder / "x.npz").write_bytes(raw)
    for ran in (run("gather", "x.npz", "0"), run("gather", "-", "0", stdin=raw)):
        assert ran.status == 65
        assert_refused(ran, "npz" if case == "a size too small" and "npz" in ran.err else rule)
    assert os.listdir(folder) == ["x.npz"]


def test_names_of_members_are_keys_and_never_paths(run: Run, folder: Path) -> None:
    names = {"../../etc/x.npy": saved(np.arange(3)), "/abs.npy": saved(np.arange(5))}
    (folder / "x.npz").write_bytes(archive(names))
    assert run("gather", "x.npz#../../etc/x", "2") == (0, "2\n", "")
    assert run("gather", "x.npz#/abs", "4") == (0, "4\n", "")
    assert os.listdir(folder) == ["x.npz"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_is_chosen_by_name_from_a_file_and_a_pipe(
    method: int, run: Run, folder: Path
) -> None:
    raw = archive({"a.npy": saved(np.arange(3)), "b.npy": saved(np.arange(5) / 2)}, method)
    (folder / "x.npz").write_bytes(raw)
    assert run("gather", "x.npz#b", "1") == (0, "0.5\n", "")
    assert run("gather", "-#b", "1", stdin=raw) == (0, "0.5\n", "")


def test_what_numpy_compresses_is_read(run: Run, folder: Path) -> None:
    np.savez_compressed(folder / "x.npz", a=np.arange(6).reshape(2, 3).T)
    assert run("gather", "x.npz", "[2]") == (0, "[[2,5]]\n", "")


def bomb(megabytes: int) -> bytes:
    """Make an archive of a kilobyte a megabyte: one member of zeros, whose header is honest."""
    head = npy("'|i1'", f"({megabytes << 20},)", b"")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    front = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed, size = front + zeros * megabytes + packer.flush(), len(head) + (megabytes << 20)
    checksum = zlib.crc32(head)
    for _ in range(megabytes):
        checksum = zlib.crc32(bytes(1 << 20), checksum)
    fields = (20, 0, 8, 0, 33, checksum, len(packed), size, 5, 0)
    local = b"PK\3\4" + struct.pack("<HHHHHIIIHH", *fields) + b"a.npy"
    entry = b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 20, *fields, 0, 0, 0, 0, 0) + b"a.npy"
    start = len(local) + len(packed)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), start, 0)
    return local + packed + entry + end


def test_an_archive_that_inflates_a_thousandfold_past_a_moderate_size_is_refused(
    run: Run, folder: Path
) -> None:
    (folder / "x.npz").write_bytes(bomb(400))
    assert (folder / "x.npz").stat().st_size < 600_000
    assert_refused(run("gather", "x.npz", "0"), "limit")
    limited = assert_refused(run("gather", "x.npz", "0", "--max-bytes", "100M"), "limit")
    assert "expected at most 100000000" in limited


def test_a_moderate_archive_of_zeros_is_read(run: Run, folder: Path) -> None:
    (folder / "x.npz").write_bytes(bomb(1))
    assert run("gather", "x.npz", "[5]") == (0, "[0]\n", "")


def test_very_many_members_are_refused_in_moderate_time_and_words(run: Run, folder: Path) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as file:
        for number in range(20_000):
            file.writestr(zipfile.ZipInfo(f"{number}.npy"), b"")
        file.writestr(zipfile.ZipInfo("19999"), b"")
    (folder / "x.npz").write_bytes(raw.getvalue())
    assert_refused(run("gather", "x.npz#0", "0"), "npz")


def test_the_message_about_a_missing_member_stays_short(run: Run, folder: Path) -> None:
    (folder / "x.npz").write_bytes(archive({f"member{n}.npy": b"" for n in range(3000)}))
    assert_refused(run("gather", "x.npz#nosuch", "0"), "npz")
    (folder / "x.json").write_text(json.dumps({f"key{n}": [n] for n in range(3000)}))
    assert_refused(run("gather", "x.json#nosuch", "0"), "json")


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
    opaque = patched(archive({"a.npy": npy("'<V2'", shape="(13,)")}), 24, 152, 4)
    for raw, message in (
        (short, "the file is truncated: it has 24 bytes of elements: expected 32"),
        (opaque, "the file is truncated: it has 24 bytes of elements: expected 26, for |V2[13]"),
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
