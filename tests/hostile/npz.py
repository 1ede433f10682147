"""Hostile .npz archives."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import struct
import zipfile
import zlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.hostile.case import answered, files_read, files_refused, refused
from tests.hostile.make import (
    ONE,
    PACKED,
    STORED,
    TWO,
    archive,
    bomb,
    both,
    changed,
    end,
    entry,
    local,
    many,
    npy,
    overlapping,
    zipped,
)
from tests.hostile.npy import Trap

if TYPE_CHECKING:
    from tests.hostile.case import Case, Row

CRC: Final = zlib.crc32(npy())
SIZE: Final = len(npy())
ZEROS: Final = npy("'|i1'", f"({16 << 20},)", b"")
ZIP64: Final = b"\1\0\x10\0" + struct.pack("<QQ", 1 << 62, SIZE)
"""The extra field by which a directory declares a size of 2^62."""


def _bzip2() -> bytes:
    whole = ZEROS + bytes(16 << 20)
    return zipped(b"a.npy", bz2.compress(whole), len(whole), zlib.crc32(whole), method=12)


def _lzma() -> bytes:
    whole = ZEROS + bytes(16 << 20)
    filters = [{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 16}]
    packed = lzma.compress(whole, lzma.FORMAT_RAW, filters=filters)
    packed = b"\x09\4\5\0" + b"\x5d\0\0\1\0" + packed
    return zipped(b"a.npy", packed, len(whole), zlib.crc32(whole), method=14)


def _quine_like() -> bytes:
    inner = archive({"a.npy": npy()}, STORED)
    for _ in range(5):
        inner = archive({"a.npz": inner})
    return inner


def _unflushed() -> bytes:
    """Make a member whose deflated bytes break off."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(npy()) + packer.flush(zlib.Z_SYNC_FLUSH)
    return zipped(b"a.npy", packed[:-8], SIZE, CRC)


def _followed(rest: bytes) -> bytes:
    """Make a member whose deflated bytes are followed by others, counted as packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return zipped(b"a.npy", packer.compress(npy()) + packer.flush() + rest, SIZE, CRC)


def _spread() -> bytes:
    """Make a bomb that says it is packed no tighter than tensors are."""
    return entry(bomb(300), "packed", 2**31)


DIRECTORY: Final[list[Row]] = [
    ("of nothing but an end", archive({}), "npz", "nothing"),
    ("of an end with junk for a length", end(ONE, "length", 2**31), "npz", "archive"),
    ("whose directory has no length", end(ONE, "length", 0), "npz", "nothing"),
    ("whose directory is one byte short", end(ONE, "length", 50), "npz", "archive"),
    ("whose directory is one byte long", end(ONE, "length", 52), "npz", "archive"),
    ("with a comment that ends it", archive({"a.npy": npy()}, comment=b"PK\5\6"), "npz", ""),
    ("without an end", ONE[:-22], "npz", "archive"),
    ("with half an end", ONE[:-11], "npz", "archive"),
    ("whose entry has another signature", ONE.replace(b"PK\1\2", b"PK\1\3"), "npz", "archive"),
    ("whose member has another signature", b"PK\5\6" + ONE[4:], "npz", "`a.npy`"),
    ("whose entry needs version 99", entry(ONE, "version", 99, 2), "npz", "archive"),
    ("whose member is past the end", entry(ONE, "offset", 1 << 20), "npz", "`a.npy`"),
    ("whose member is at 2^31 - 1", entry(ONE, "offset", 2**31 - 1), "npz", "`a.npy`"),
    ("whose member is its directory", entry(ONE, "offset", ONE.index(b"PK\1\2")), "npz", ""),
    ("whose names differ", changed(ONE, 30, b"b"), "npz", "`a.npy`"),
    ("whose members are one", entry(TWO, "offset", 0, member=1), "npz", "overlaps"),
    ("whose members overlap by a byte", entry(TWO, "packed", SIZE + 100), "npz", "overlaps"),
    ("whose members all are one", partial(overlapping, 1000), "npz", "overlaps"),
    (
        "with a name twice",
        archive([("a.npy", npy()), ("a.npy", npy("'<f8'"))]),
        "npz",
        "`a` is there twice",
    ),
    (
        "with a name in two spellings",
        archive([("a", npy()), ("a.npy", npy())]),
        "npz",
        "`a` is there twice",
    ),
    ("with 100001 members", partial(many, 100_001), "npz", "100001 members"),
    ("with 100000 members and no key", partial(many, 100_000), "npz", "99 990 more"),
    (
        "with names that differ behind a NUL",
        archive([("a.npy", npy()), ("bXnpy", npy())]).replace(b"bXnpy", b"a\0npy"),
        "npz",
        "",
    ),
]

MISLEADING: Final[list[Row]] = [
    ("whose directory starts past the end", end(ONE, "offset", 2**31), "npz", ""),
    ("whose directory starts at 2^32 - 1", end(ONE, "offset", 2**32 - 1), "npz", ""),
    ("of 300 MB that says 2 GB hold them", _spread, "npz", "`a.npy`"),
    ("without its first half", b"PK\3\4" + ONE[len(ONE) // 2 :], "npz", ""),
]

MEMBERS: Final[list[Row]] = [
    ("of a text", archive({"a.npy": b"hello"}), "npz", "`a.npy` is not a .npy file"),
    ("of nothing", archive({"a.npy": b""}), "npz", "`a.npy` is not a .npy file"),
    ("of half a magic", archive({"a.npy": b"\x93NUM"}), "npz", "`a.npy` is not a .npy file"),
    ("of a magic", archive({"a.npy": b"\x93NUMPY"}), "npy", "ends at byte 6"),
    ("of a folder", archive({"a/": b""}), "npz", "`a/` is not a .npy file"),
    ("of an archive of archives", _quine_like, "npz", "`a.npz` is not a .npy file"),
    ("of a packed tensor", archive({"a.npy": gzip.compress(npy())}), "npz", "is not a .npy file"),
    ("of a pickle", archive({"a.npy": pickle.dumps(Trap())}), "npz", "is not a .npy file"),
    ("of objects", archive({"a.npy": npy("'|O'", body=pickle.dumps(Trap()))}), "npy", "pickle"),
    ("of a JSON text", archive({"a.json": b"[1,2]"}), "npz", "`a.json` is not a .npy file"),
    (
        "that PyTorch saved",
        archive({"m/data.pkl": pickle.dumps(Trap()), "m/version": b"3"}),
        "format",
        "a PyTorch archive",
    ),
    (
        "that PyTorch saved by another name",
        archive({"data.pkl": pickle.dumps(Trap())}),
        "format",
        "a PyTorch archive",
    ),
    ("encrypted", both(ONE, "flags", 1, 2), "npz", "`a.npy` is encrypted"),
    ("encrypted strongly", both(ONE, "flags", 0x41, 2), "npz", "`a.npy` is encrypted"),
    ("encrypted by its directory alone", entry(ONE, "flags", 1, 2), "npz", "encrypted"),
    ("that is a patch", both(ONE, "flags", 0x20, 2), "npz", "`a.npy`"),
    ("packed by bzip2 16000-fold", _bzip2, "npz", "`a.npy` is packed otherwise"),
    ("packed by lzma 4000-fold", _lzma, "npz", "`a.npy` is packed otherwise"),
    ("packed by zstd", both(ONE, "method", 93, 2), "npz", "is packed otherwise"),
    ("packed by an unknown method", both(ONE, "method", 65_535, 2), "npz", "packed otherwise"),
    ("stored that says it is packed", both(ONE, "method", 8, 2), "npz", "damaged"),
    ("packed that says it is stored", both(PACKED, "method", 0, 2), "npz", ""),
    ("whose checksum is wrong", entry(ONE, "crc", CRC ^ 1), "npz", "damaged"),
    ("whose last byte is wrong", changed(ONE, ONE.index(b"PK\1\2") - 1, b"\1"), "npz", "damaged"),
    ("whose first byte is wrong", changed(ONE, 35, b"\x92"), "npz", "damaged"),
    ("whose packed bytes are wrong", changed(PACKED, 40, b"\xff\xff"), "npz", "damaged"),
    ("whose packed bytes break off", _unflushed, "npz", "damaged"),
    ("of 0 bytes by its directory", entry(ONE, "size", 0), "npz", "damaged"),
    ("of 0 packed bytes by its directory", entry(ONE, "packed", 0), "npz", ""),
    ("of one byte less by its directory", both(ONE, "size", SIZE - 1), "npz", "damaged"),
    ("of one byte more by its directory", both(ONE, "size", SIZE + 1), "npy", "25 bytes"),
    ("of 2^32 - 2 bytes by its directory", entry(ONE, "size", 2**32 - 2), "npy", "expected 24"),
    ("of 2^32 - 1 bytes by its directory", entry(ONE, "size", 2**32 - 1), "npy", "expected 24"),
    ("packed in more bytes than there are", entry(PACKED, "packed", 2**31), "npz", "`a.npy`"),
    (
        "whose member is truncated",
        archive({"a.npy": npy()[:-1]}),
        "npy",
        "the file is truncated: it has 23 bytes",
    ),
    ("whose member is longer", archive({"a.npy": npy() + b"\0"}), "npy", "it has 25 bytes"),
    (
        "whose member has a header of brackets",
        archive({"a.npy": npy(text="[" * 9000)}),
        "npy",
        "header",
    ),
    (
        "whose member has a header of 4 GiB",
        archive({"a.npy": npy(version=(2, 0), length=2**32 - 1)}),
        "npy",
        "declares 4294967295 bytes",
    ),
    (
        "whose member has 4.6e18 strings",
        archive({"a.npy": npy("'<U0'", f"({2**62},)", b"")}),
        "npy",
        "<U0",
    ),
    (
        "whose extra field lies about 2^62 bytes",
        zipped(b"a.npy", npy(), SIZE, CRC, method=0, extra=ZIP64, sizes=(SIZE, 2**32 - 1)),
        "npy",
        "expected 24",
    ),
    (
        "whose extra field is cut off",
        zipped(b"a.npy", npy(), SIZE, CRC, method=0, extra=ZIP64[:9], sizes=(SIZE, 2**32 - 1)),
        "npz",
        "",
    ),
    (
        "whose extra field is longer than it is",
        zipped(b"a.npy", npy(), SIZE, CRC, method=0, extra=b"\1\0\xff\xff\0"),
        "npz",
        "",
    ),
    ("of 300 MB in 300 KB", partial(bomb, 300), "limit", "`a.npy` inflates from"),
    ("of 300 MB that says it has 24", partial(bomb, 300, told=24), "npz", "damaged"),
    ("of 300 MB that says it has 200", partial(bomb, 300, told=200), "npz", "damaged"),
]

READ: Final = [
    ("before which there is junk", b"PK\3\4junk" + ONE, "5"),
    ("with a comment", archive({"a.npy": npy()}, comment=b"hello" * 100), "5"),
    ("whose comment is cut off", end(ONE, "comment", 9, 2), "5"),
    ("with a NUL in a name", ONE.replace(b"a.npy", b"a\0npy"), "5"),
    ("encrypted by its own word alone", local(ONE, "flags", 1, 2), "5"),
    ("whose name is empty", archive({".npy": npy()}), "5"),
    ("packed and followed by junk", _followed(b"junk"), "5"),
    ("whose member has no suffix", archive({"a": npy()}), "5"),
    ("whose name is no UTF-8", ONE.replace(b"a.npy", b"\xff.npy"), "5"),
]

NAMES: Final = {
    "that climbs": "../../x",
    "that is absolute": "/etc/x",
    "with a drive": "C:\\x",
    "that is a dash": "-",
    "that is an option": "--output=x",
    "with a quote": "it's $(touch sprung)",
    "with a hash": "a#b",
    "of blanks": "  ",
    "of a thousand letters": "n" * 1000,
}

OTHERS: Final[list[Case]] = [
    *(
        replace(case, absent=("overlaps another", "damaged ()"))
        for case in files_refused("npz", "x.npz", MISLEADING)
    ),
    *(
        answered(
            f"npz name {sentence} is a key",
            ("gather", f"@x.npz#{name}" if "#" not in name else "x.npz", "1"),
            "6\n",
            files={"x.npz": archive({f"{name}.npy": npy()})},
        )
        for sentence, name in NAMES.items()
    ),
    refused(
        "npz of two without a key",
        "gather x.npz 0",
        "npz",
        "has `a` and `b`",
        "`'x.npz#a'`",
        files={"x.npz": TWO},
    ),
    refused(
        "npz whose names need quotes in the hint",
        "gather x.npz 0",
        "npz",
        "'x.npz#$(touch sprung)'",
        files={"x.npz": archive({"$(touch sprung).npy": npy(), "b.npy": npy()})},
    ),
    refused(
        "npz of 60000 long names and none of them the key",
        ("gather", "x.npz#m60001x", "0"),
        "npz",
        "expected the member `m60001x`",
        files={"x.npz": partial(many, 60_000)},
    ),
    refused(
        "npz beyond the limit",
        "gather x.npz 0 --max-bytes 100",
        "limit",
        "`a.npy` inflates to 152 bytes",
        "expected at most 100",
        files={"x.npz": PACKED},
    ),
    refused(
        "npz of 300 MB beyond the limit",
        "gather x.npz 0 --max-bytes 100M",
        "limit",
        "expected at most 100000000",
        files={"x.npz": partial(bomb, 300)},
    ),
    answered(
        "npz of 300 MB has a shape",
        "shape gather x.npz 2",
        "[2]\n",
        files={"x.npz": partial(bomb, 300)},
    ),
    refused(
        "npz on standard input for both tensors, one of which is not there",
        ("gather", "-#a", "-#c"),
        "npz",
        "`indices`: standard input: ",
        "expected the member `c`",
        stdin=TWO,
    ),
    answered(
        "npz on standard input for both tensors", ("gather", "-#a", "-#b"), "[5,5]\n", stdin=TWO
    ),
    answered(
        "npz with a damaged member beside the one that is read",
        "gather x.npz#a 0",
        "5\n",
        files={"x.npz": entry(TWO, "crc", 1, member=1)},
    ),
    refused(
        "npz that zipfile made with bzip2",
        "gather x.npz 0",
        "npz",
        "packed otherwise",
        files={"x.npz": archive({"a.npy": npy()}, zipfile.ZIP_BZIP2)},
    ),
]

FILES: Final = files_refused("npz", "x.npz", DIRECTORY + MEMBERS)
CASES: Final = FILES + files_read("npz", "x.npz", READ) + OTHERS
