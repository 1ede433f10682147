"""Chunk files: regular files of bounded size below the folder of an array."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from gathercli.io.files import unreadable
from gathercli.io.links import check_place, open_in
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from gathercli.compute.storage import AnyArray
    from gathercli.io.zarr.arrayspec import ArraySpec

    FileCallback: TypeAlias = Callable[[str, os.stat_result | None], None]


class ChunkFile:
    """The open file of a chunk or a shard."""

    def __init__(self, fd: int, size: int, spec: ArraySpec) -> None:
        self._fd, self.size, self._spec = fd, size, spec
        self._content: AnyArray | None = None

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def read(self) -> AnyArray:
        """Read the whole file and cache it for `part`; raise ValueError for a wrong size."""
        self._check_size()
        if self._content is None:
            self._content = self._bytes(0, self.size)
        return self._content

    def part(self, start: int, length: int) -> AnyArray:
        """Read bytes of a shard; a negative start counts from the end.

        Raises
        ------
        ValueError
            The range is outside the file, or longer than a chunk.
        """
        self._check_size()
        first = start + self.size if start < 0 else start
        stop = first + length
        # `start` and `length` come from the index in the file, so they may have any value.
        if not 0 <= first < stop <= self.size:
            raise ValueError(f"it has {in_bytes(self.size)}, and none at {first} to {stop}")
        if length > max(self._spec.max_packed, self._spec.index_nbytes):
            raise ValueError(f"its part has {in_bytes(length)}, more than a chunk can have")
        return self._bytes(first, length) if self._content is None else self._content[first:stop]

    def rows(self, first: int, stop: int) -> AnyArray:
        """Read rows of an `ArraySpec.plain` chunk."""
        rows = np.empty((stop - first, *self._spec.chunks[1:]), self._spec.file_dtype)
        raw = rows.reshape(-1).view(np.uint8)
        self._fill(raw, first * (raw.size // len(rows)))
        return rows

    def _check_size(self) -> None:
        if not self.size and self._spec.chunk_nbytes:
            raise ValueError("it is empty")
        if self.size > self._spec.max_file:
            raise ValueError(f"it has {in_bytes(self.size)}, more than a chunk can have")

    def _bytes(self, start: int, length: int) -> AnyArray:
        out = np.empty(length, np.uint8)
        self._fill(out, start)
        return out

    def _fill(self, raw: AnyArray, start: int) -> None:
        done = 0
        while done < len(raw):  # a read may be short
            count = os.preadv(self._fd, [raw[done:].data], start + done)
            if not count:
                raise ValueError(f"it is cut before byte {start + len(raw)}")
            done += count


class ChunkFiles:
    """The chunk files in the folder of an array.

    Parameters
    ----------
    name
        The name of the array in messages.
    on_read
        Called with the path and status of each file before it is read; None for an absent file.
    """

    def __init__(
        self, folder: str, name: str, spec: ArraySpec, on_read: FileCallback | None = None
    ) -> None:
        self._folder, self._name, self._spec, self._on_read = folder, name, spec, on_read
        self._real = os.path.realpath(folder)
        self._checked_folder = ""
        """The last folder accepted by `_check_absent`."""

    def open(self, key: str) -> ChunkFile | None:
        """Open a file for reading; return None if it is absent.

        Raises
        ------
        ValueError
            The file is not regular, or a link is broken or leads out of the folder.
        NoInputError
            ``unreadable``.
        """
        path = os.path.join(self._folder, key)
        try:
            fd, status = open_in(path, self._real)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(path):
                raise ValueError("it links to nothing") from None
            self._check_absent(os.path.dirname(path))
            if self._on_read is not None:
                self._on_read(path, None)
            return None
        except OSError as error:
            raise unreadable(f"{self._name}/{key}", error) from None
        try:
            if self._on_read is not None:
                self._on_read(path, status)
        except BaseException:
            os.close(fd)
            raise
        return ChunkFile(fd, status.st_size, self._spec)

    def _check_absent(self, folder: str) -> None:
        """Raise if a file is absent because a link leads out of the folder of the array."""
        if folder != self._checked_folder:
            check_place(os.path.realpath(folder), self._real)
            self._checked_folder = folder

    def write(self, key: str, content: memoryview) -> None:
        """Write a file atomically; do not create the folder of the array, which may be gone."""
        *folders, _ = key.split("/")
        for depth in range(1, len(folders) + 1):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(self._folder, *folders[:depth]))
        path = os.path.join(self._folder, key)
        partial = f"{path}.{os.urandom(6).hex()}.partial"
        try:
            with open(partial, "xb") as file:
                file.write(content)
            os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial)
            raise
