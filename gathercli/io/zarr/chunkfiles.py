"""The files of chunks: regular files below one folder, none larger than a chunk can be."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import numpy as np

from gathercli.io.files import unreadable
from gathercli.io.links import check_place, open_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import TypeAlias

    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.zarr.arrayspec import ArraySpec

    Note: TypeAlias = Callable[[str, os.stat_result | None], None]


class ChunkFile:
    """The file of a chunk or of a shard, open until the context ends."""

    def __init__(self, fd: int, size: int, spec: ArraySpec) -> None:
        self._fd, self.size, self._spec = fd, size, spec
        self._content: AnyArray | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)

    def read(self) -> AnyArray:
        """Read all of it, once.

        Raises
        ------
        ValueError
            It is longer than a chunk can be, or became shorter.
        """
        if self.size > self._spec.most:
            raise ValueError(f"it has {self.size} bytes, more than a chunk can have")
        if self._content is None:
            self._content = self._bytes(0, self.size)
        return self._content

    def part(self, start: int, length: int) -> AnyArray:
        """Read a chunk of a shard, or its index; a negative start counts from the end.

        Raises
        ------
        ValueError
            The file has no such bytes, or they are more than a chunk can have.
        """
        most = max(self._spec.packed, self._spec.index_nbytes)
        if self.size > self._spec.most:
            raise ValueError(f"it has {self.size} bytes, more than a chunk can have")
        first = start + self.size if start < 0 else start
        stop = first + length
        if not 0 <= first < stop <= self.size:
            raise ValueError(f"it has {self.size} bytes, and none at {first} to {stop}")
        if length > most:
            raise ValueError(f"its part has {length} bytes, more than a chunk can have")
        return self._bytes(first, length) if self._content is None else self._content[first:stop]

    def rows(self, first: int, stop: int) -> AnyArray:
        """Read some rows of a chunk whose elements lie in the file as they are."""
        out = np.empty((stop - first, *self._spec.chunks[1:]), self._spec.held)
        raw = out.reshape(-1).view(np.uint8)
        self._fill(raw, first * (raw.size // len(out)))
        return out

    def _bytes(self, start: int, length: int) -> AnyArray:
        out = np.empty(length, np.uint8)
        self._fill(out, start)
        return out

    def _fill(self, raw: AnyArray, start: int) -> None:
        done = 0
        while done < len(raw):
            count = os.preadv(self._fd, [raw[done:].data], start + done)
            if not count:
                raise ValueError(f"it ends before byte {start + len(raw)}")
            done += count


class ChunkFiles:
    """The files in the folder of an array.

    Parameters
    ----------
    folder, name
        The folder, and how the user calls it.
    note
        Is told the path and the state of each file that is read, None where it is absent; it may
        refuse to go on.
    """

    def __init__(self, folder: str, name: str, spec: ArraySpec, note: Note | None = None) -> None:
        self._folder, self._name, self._spec, self._note = folder, name, spec, note
        self._real = os.path.realpath(folder)
        self._absent = ""
        """The last folder in which a file was looked for and was not."""

    def open(self, key: str) -> ChunkFile | None:
        """Open a file to be read; None if there is none.

        Raises
        ------
        ValueError
            It is no regular file, or a link leads out of the folder, or to nothing.
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
            if self._note is not None:
                self._note(path, None)
            return None
        except OSError as error:
            raise unreadable(f"{self._name}/{key}", error) from None
        try:
            if self._note is not None:
                self._note(path, status)
        except BaseException:
            os.close(fd)
            raise
        return ChunkFile(fd, status.st_size, self._spec)

    def _check_absent(self, folder: str) -> None:
        """Refuse to find nothing where a link leads out of the folder."""
        if folder != self._absent:
            check_place(os.path.realpath(folder), self._real)
            self._absent = folder

    def write(self, key: str, content: memoryview) -> None:
        """Write a file, which is absent or whole; the folder is not made again when it is gone.

        Raises
        ------
        OSError
            It cannot be written.
        """
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
