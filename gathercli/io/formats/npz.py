"""The .npz format: members of a zip archive, inflated within bounds.

`zipfile` reads. This module rejects members that overlap, repeat a name, declare a wrong size, or
use a method other than stored and deflate. Names are keys, not paths.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import RawIOBase
from typing import IO, Any, NoReturn

from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, InputError
from gathercli.io.files import File
from gathercli.io.formats import content, npy
from gathercli.io.formats.foreign import foreign_error
from gathercli.io.formats.npy import NamedResult
from gathercli.io.formats.table import NPY
from gathercli.io.stream import ByteTarget
from gathercli.text import counted, in_bytes

MAX_ARCHIVE_MEMBERS = 100_000
MAX_RATIO = 200
MAX_UNQUESTIONED_MEMBER = 256 << 20  # bytes up to which a member may have any compression ratio
_ENCRYPTED = 0x1
# The start and the size of the record that ends an archive, and the longest comment after it.
_END_MARK, _END_SIZE, MAX_COMMENT = b"PK\x05\x06", 22, 65535


def _refuse(what: str, expected: str) -> NoReturn:
    raise content.malformed(what, expected, rule="npz")


@contextmanager
def _name_member(info: zipfile.ZipInfo) -> Iterator[None]:
    """Prefix the errors of a .npy member with its name."""
    try:
        yield
    except InputError as error:
        if error.rule == "npy":
            error.prefix(f"the member `{info.filename}`")
        raise


class Archive(content.Content):
    """A .npz file."""

    format = rule = "npz"
    has, noun = "the archive has", "member"

    def __init__(self, file: File) -> None:
        """Read the directory of the archive."""
        super().__init__(file)
        stream = file.stream()
        try:
            self._zip = zipfile.ZipFile(stream)
        except Exception as error:  # noqa: BLE001  (zipfile lets struct.error, ValueError… escape)
            file.check_stream()
            # The record that ends an archive, whole, before a comment.
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _END_SIZE - MAX_COMMENT))
            end = stream.read()
            if not 0 <= end.rfind(_END_MARK) <= len(end) - _END_SIZE:
                expected = "the directory of the archive at its end"
                raise content.truncated(stream.seek(0, os.SEEK_END), expected, rule="npz") from None
            _refuse(f"no zip archive ({error})", "an .npz file")
        members = self._zip.infolist()
        names = [info.filename.removesuffix(".npy") for info in members]
        if any(info.filename.endswith("data.pkl") for info in members):
            scripted = any("/code/" in info.filename for info in members)
            kind = "torchscript" if scripted else "torch"
            raise foreign_error(file.name, "a PyTorch archive", kind)
        if len(members) > MAX_ARCHIVE_MEMBERS:
            _refuse(
                f"the archive has {counted(len(members), 'member', exact=True)}",
                f"at most {MAX_ARCHIVE_MEMBERS}",
            )
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member, info in zip(names, members, strict=True):
            if member in self._members:
                _refuse(f"the member `{member}` is there twice", "every name once")
            self._members[member] = info
        last = 0
        for info in sorted(members, key=lambda info: info.header_offset):
            if info.header_offset < last:
                what = "overlaps another" if last else "starts before the file"
                _refuse(f"the member `{info.filename}` {what}", "separate members")
            last = info.header_offset + info.compress_size
            if last > self._zip.start_dir:
                _refuse(f"the member `{info.filename}` ends behind the others", "a sound archive")
        self.names = list(self._members)

    def _member(self, key: str | None) -> zipfile.ZipInfo:
        if key and key not in self._members and key.removesuffix(".npy") in self._members:
            key = key.removesuffix(".npy")
        return self._members[self.find(key, self._members)]

    def layout(self, key: str | None, types: content.ElementTypes) -> content.Layout:
        """Inflate the header of a member."""
        info = self._member(key)
        with _name_member(info), self._open(info) as stream:
            return self._header(info, self._read(stream, npy.PREAMBLE), types)

    def tensor(self, key: str | None, types: content.ElementTypes) -> Tensor:
        """Inflate a member; raise LimitError if it takes more memory than allowed."""
        info = self._member(key)
        with _name_member(info), self._open(info) as stream:
            start = self._read(stream, npy.PREAMBLE)
            layout = self._header(info, start, types)
            what = f"the member `{info.filename}` inflates to {in_bytes(layout.end)}"
            content.check_limit(what, layout.end, self._file.limit)
            if self._file.limit is not None and info.file_size >= MAX_UNQUESTIONED_MEMBER:
                # Beyond the ratio of tensors it may be a bomb.
                most = MAX_RATIO * info.compress_size
                what = (
                    f"the member `{info.filename}` inflates from {info.compress_size} to "
                    f"{in_bytes(info.file_size)}, more than {MAX_RATIO} times as many"
                )
                content.check_limit(what, info.file_size, most)
            raw = bytearray(start)
            while len(raw) <= layout.end and (part := self._read(stream, 1 << 20)):
                raw += part
            npy.check_length(layout, len(raw))
            return npy.view(layout, raw)

    def _header(
        self, info: zipfile.ZipInfo, start: bytes, types: content.ElementTypes
    ) -> content.Layout:
        if not start.startswith(NPY):
            _refuse(f"the member `{info.filename}` is not a .npy file", ".npy members")
        layout = npy.read_header(start, types.of_untyped)
        npy.check_length(layout, info.file_size)
        npy.check_type(layout)
        return layout

    def _open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        if info.flag_bits & _ENCRYPTED:
            _refuse(f"the member `{info.filename}` is encrypted", "plain members")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            _refuse(f"the member `{info.filename}` is packed otherwise", "stored or deflated ones")
        try:
            return self._zip.open(info)
        except Exception as error:  # noqa: BLE001
            self._file.check_stream()
            _refuse(f"the member `{info.filename}` cannot be opened ({error})", "a sound archive")

    def _read(self, stream: IO[bytes], count: int) -> bytes:
        """Read up to `count` bytes, fewer only at the end."""
        parts: list[bytes] = []
        try:
            while count and (part := stream.read(count)):
                parts.append(part)
                count -= len(part)
        except GatherError:
            raise
        except Exception as error:  # noqa: BLE001  (zlib.error, BadZipFile, EOFError…)
            self._file.check_stream()
            _refuse(
                f"the member `{stream.name}` is damaged ({error or type(error).__name__})",
                "a sound archive",
            )
        return b"".join(parts)


def npz_file(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write an archive of stored members; the same tensors give the same bytes."""
    target = _ZipTarget(out)
    with zipfile.ZipFile(target, "w") as archive:
        for name, result in results:
            info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: nothing depends on the clock
            with archive.open(info, "w", force_zip64=True) as stream:
                try:
                    npy.npy_file([(name, result)], _MemberTarget(stream))
                except BaseException:
                    target.out = None  # zipfile would complete the archive
                    raise


class _MemberTarget(ByteTarget):
    """A member of an archive, whose bytes come in order, for the checksum."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, part: bytes | memoryview) -> None:
        self._stream.write(part)


class _ZipTarget(RawIOBase):
    """A forward-only output file for zipfile."""

    def __init__(self, out: ByteTarget) -> None:
        self.out: ByteTarget | None = out  # None to drop what is written

    def write(self, part: Any, /) -> int:
        if self.out is not None:
            self.out.write(part)
        return len(part)
