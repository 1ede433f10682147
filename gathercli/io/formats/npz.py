"""Members of .npz archives, inflated within bounds.

`zipfile` does the reading. Kept outside it: members that overlap, repeat a name, lie about their
size, or use anything but the stored and deflate methods. Names are keys and never paths.
"""

from __future__ import annotations

import zipfile
from typing import IO, TYPE_CHECKING, NoReturn

from gathercli.errors import GatherError, InputError, LimitError
from gathercli.io.formats import npy
from gathercli.io.formats.content import key_hint
from gathercli.io.formats.foreign import foreign
from gathercli.io.formats.table import NPY
from gathercli.text import short, some

if TYPE_CHECKING:
    from gathercli.arrays.tensor import Tensor
    from gathercli.io.files import File
    from gathercli.io.formats.content import Layout
    from gathercli.spec.dtypes import DType

MAX_MEMBERS = 100_000
MAX_RATIO = 200
MAX_UNQUESTIONED = 256 << 20
"""Bytes up to which a member may be packed as tightly as it is."""
_ENCRYPTED = 0x1


def _refuse(what: str, expected: str, hint: str | None = None) -> NoReturn:
    raise InputError(f"{what}: expected {expected}", rule="npz", expected=expected, hint=hint)


def _name_member(error: InputError, info: zipfile.ZipInfo) -> None:
    """Say in which member a refusal of its .npy bytes came up."""
    if error.rule == "npy":
        error.prefix(f"the member `{info.filename}`")


class Archive:
    """A .npz file; `format` and the members are those of `content.Content`."""

    format = "npz"

    def __init__(self, file: File) -> None:
        """Read the directory of the archive."""
        self._file, self._name, self._limit = file, file.name, file.limit
        stream = file.stream()
        try:
            self._zip = zipfile.ZipFile(stream)
        except Exception as error:  # noqa: BLE001  (zipfile lets struct.error, ValueError… escape)
            file.check_stream()
            _refuse(f"no zip archive ({error})", "an .npz file")
        members = self._zip.infolist()
        names = [info.filename.removesuffix(".npy") for info in members]
        if any(info.filename.endswith("data.pkl") for info in members):
            scripted = any("/code/" in info.filename for info in members)
            kind = "torchscript" if scripted else "torch"
            raise foreign(file.name, "a PyTorch archive", kind)
        if len(members) > MAX_MEMBERS:
            _refuse(f"the archive has {len(members)} members", f"at most {MAX_MEMBERS}")
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

    def _chosen(self, key: str | None) -> zipfile.ZipInfo:
        if key is None and len(self._members) == 1:
            return next(iter(self._members.values()))
        for name in () if key is None else (key, key.removesuffix(".npy")):
            if name in self._members:
                return self._members[name]
        _refuse(
            f"the archive has {some(f'`{name}`' for name in self._members)}",
            f"the member `{short(key)}`" if key else "the name of one",
            key_hint(self._name, key, self._members, "member"),
        )

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Inflate only the header of a member."""
        info = self._chosen(key)
        try:
            with self._opened(info) as stream:
                return self._header(info, self._read(stream, npy.PREAMBLE)).layout(declared)
        except InputError as error:
            _name_member(error, info)
            raise

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Inflate a member.

        Raises
        ------
        InputError
            ``npz`` or ``npy``.
        LimitError
            ``limit``: larger than may be held.
        """
        del empty  # a header names the type
        info = self._chosen(key)
        try:
            return self._inflated(info, declared)
        except InputError as error:
            _name_member(error, info)
            raise

    def _inflated(self, info: zipfile.ZipInfo, declared: DType | None) -> Tensor:
        with self._opened(info) as stream:
            start = self._read(stream, npy.PREAMBLE)
            found = self._header(info, start)
            total = found.offset + found.nbytes
            if self._limit is not None and total > self._limit:
                what = f"the member `{info.filename}` inflates to {total} bytes"
                raise LimitError.over(what, total, self._limit)
            self._check_ratio(info)
            whole = bytearray(start)
            while len(whole) <= total and (more := self._read(stream, 1 << 20)):
                whole += more
        npy.check_length(found, len(whole))
        return npy.view(found.layout(declared), whole)

    def _check_ratio(self, info: zipfile.ZipInfo) -> None:
        """Refuse a large member packed tighter than tensors are, which may be a bomb."""
        if self._limit is None or info.file_size < MAX_UNQUESTIONED:
            return
        if info.file_size > MAX_RATIO * info.compress_size:
            raise LimitError.over(
                f"the member `{info.filename}` inflates from {info.compress_size} to "
                f"{info.file_size} bytes, more than {MAX_RATIO} times as many",
                info.file_size,
                MAX_RATIO * info.compress_size,
            )

    def _header(self, info: zipfile.ZipInfo, start: bytes) -> npy.Header:
        if not start.startswith(NPY):
            _refuse(f"the member `{info.filename}` is no .npy file", ".npy members")
        found = npy.header(start)
        npy.check_length(found, info.file_size)
        return found

    def _opened(self, info: zipfile.ZipInfo) -> IO[bytes]:
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
