"""The bytes of hostile files, made by hand where the libraries would refuse to."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STORED: Final = zipfile.ZIP_STORED
DEFLATED: Final = zipfile.ZIP_DEFLATED
LOCAL: Final = {"version": 4, "flags": 6, "method": 8, "crc": 14, "packed": 18, "size": 22}
"""Where the fields of a member's own header are, as distances from its start."""
ENTRY: Final = {
    "version": 6,
    "flags": 8,
    "method": 10,
    "crc": 16,
    "packed": 20,
    "size": 24,
    "name length": 28,
    "extra length": 30,
    "comment length": 32,
    "disk": 34,
    "offset": 42,
}
"""Where the fields of a member's entry in the directory are."""
END: Final = {"disk": 4, "here": 8, "entries": 10, "length": 12, "offset": 16, "comment": 20}
"""Where the fields of the end of the directory are."""


def npy(
    descr: str = "'<i8'",
    shape: str = "(3,)",
    body: bytes | None = None,
    *,
    version: tuple[int, int] = (1, 0),
    order: str = "False",
    text: str | bytes | None = None,
    length: int | None = None,
) -> bytes:
    """Make a .npy file of 5, 6, 7, or of whatever is said instead."""
    if text is None:
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    header = text.encode("latin-1") if isinstance(text, str) else text
    width = 2 if version == (1, 0) else 4
    header += b" " * (-(9 + width + len(header)) % 64) + b"\n"
    declared = len(header) if length is None else length
    body = struct.pack("<3q", 5, 6, 7) if body is None else body
    return b"\x93NUMPY" + bytes(version) + declared.to_bytes(width, "little") + header + body


def saved(array: Any) -> bytes:
    """Return what numpy writes for an array."""
    raw = io.BytesIO()
    np.save(raw, np.asarray(array))
    return raw.getvalue()


def archive(
    members: Mapping[str, bytes] | Sequence[tuple[str, bytes]],
    method: int = STORED,
    *,
    comment: bytes = b"",
) -> bytes:
    """Make an archive, repeated names and all, the same bytes at any time."""
    raw = io.BytesIO()
    pairs = members if not hasattr(members, "items") else members.items()
    with warnings.catch_warnings(), zipfile.ZipFile(raw, "w", method) as file:
        warnings.simplefilter("ignore")
        file.comment = comment
        for name, content in pairs:
            file.writestr(zipfile.ZipInfo(name), content, method)
    return raw.getvalue()


ONE: Final = archive({"a.npy": npy()})
PACKED: Final = archive({"a.npy": npy()}, DEFLATED)
TWO: Final = archive({"a.npy": npy(), "b.npy": npy(shape="(2,)", body=bytes(16))})


def changed(raw: bytes, at: int, new: bytes) -> bytes:
    """Overwrite bytes."""
    return raw[:at] + new + raw[at + len(new) :]


def little(value: int, width: int) -> bytes:
    """Write an integer as archives do."""
    return value.to_bytes(width, "little")


def entry(raw: bytes, name: str, value: int, width: int = 4, *, member: int = 0) -> bytes:
    """Overwrite a field of a member's entry in the directory."""
    at = -1
    for _ in range(member + 1):
        at = raw.index(b"PK\1\2", at + 1)
    return changed(raw, at + ENTRY[name], little(value, width))


def local(raw: bytes, name: str, value: int, width: int = 4) -> bytes:
    """Overwrite a field of the first member's own header."""
    return changed(raw, raw.index(b"PK\3\4") + LOCAL[name], little(value, width))


def both(raw: bytes, name: str, value: int, width: int = 4) -> bytes:
    """Overwrite a field in the directory and in the member's own header."""
    return local(entry(raw, name, value, width), name, value, width)


def end(raw: bytes, name: str, value: int, width: int = 4) -> bytes:
    """Overwrite a field of the end of the directory."""
    return changed(raw, raw.rindex(b"PK\5\6") + END[name], little(value, width))


def zipped(
    name: bytes,
    packed: bytes,
    size: int,
    checksum: int,
    *,
    method: int = DEFLATED,
    extra: bytes = b"",
    sizes: tuple[int, int] | None = None,
) -> bytes:
    """Make an archive of one member from its packed bytes; `sizes` are those the directory says."""
    told = sizes or (len(packed), size)
    fields = (20, 0, method, 0, 33, checksum)
    before = struct.pack("<HHHHHIIIHH", *fields, len(packed), size, len(name), 0)
    first = b"PK\3\4" + before + name
    listed = struct.pack(
        "<HHHHHHIIIHHHHHII", 20, *fields, *told, len(name), len(extra), 0, 0, 0, 0, 0
    )
    directory = b"PK\1\2" + listed + name + extra
    start = len(first) + len(packed)
    last = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), start, 0)
    return first + packed + directory + b"PK\5\6" + last


@cache
def bomb(megabytes: int, *, told: int | None = None) -> bytes:
    """Make an archive of a kilobyte a megabyte: one member of zeros, whose header is honest."""
    head = npy("'|i1'", f"({megabytes << 20},)", b"")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    front = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = front + zeros * megabytes + packer.flush()
    checksum = zlib.crc32(head)
    for _ in range(megabytes):
        checksum = zlib.crc32(bytes(1 << 20), checksum)
    size = len(head) + (megabytes << 20)
    sizes = None if told is None else (len(packed), told)
    return zipped(b"a.npy", packed, size, checksum, sizes=sizes)


def overlapping(count: int) -> bytes:
    """Make an archive whose many names are all the same packed bytes."""
    whole = ONE
    start, stop = whole.index(b"PK\1\2"), whole.rindex(b"PK\5\6")
    listed = whole[start:stop]
    directory = b"".join(
        changed(listed, 46, f"{number:05}"[:5].encode()) for number in range(count)
    )
    last = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), start, 0)
    return whole[:start] + directory + b"PK\5\6" + last


def many(count: int, content: bytes = b"") -> bytes:
    """Make an archive of many stored members named m0.npy, m1.npy…, quickly."""
    parts, entries, at = list[bytes](), list[bytes](), 0
    checksum = zlib.crc32(content)
    for number in range(count):
        name = f"m{number}.npy".encode()
        sizes = (len(content), len(content), len(name))
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, checksum, *sizes, 0)
        parts.append(b"PK\3\4" + fields + name + content)
        entries.append(
            b"PK\1\2"
            + struct.pack("<H", 20)
            + fields
            + struct.pack("<HHHII", 0, 0, 0, 0, at)
            + name
        )
        at += len(parts[-1])
    directory = b"".join(entries)
    shown = min(count, 0xFFFF)
    last = struct.pack("<HHHHIIH", 0, 0, shown, shown, len(directory), at, 0)
    if count > 0xFFFF:
        after = at + len(directory)
        wide = struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(directory), at)
        locator = struct.pack("<IQI", 0, after, 1)
        directory += b"PK\6\6" + wide + b"PK\6\7" + locator
    return b"".join(parts) + directory + b"PK\5\6" + last
