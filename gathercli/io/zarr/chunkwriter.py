"""Write chunks of a new array from any thread or process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.compute.chunks import inside, sizes, slices, tiled
from gathercli.errors import GatherError, TransferError, reason_of
from gathercli.io.folders import Folder
from gathercli.io.zarr.chunkfiles import ChunkFiles
from gathercli.io.zarr.codecs import ChunkCodec
from gathercli.io.zarr.stored import Node, grid_coordinates, reason
from gathercli.text import clean

if TYPE_CHECKING:
    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray
    from gathercli.io.zarr.arrayspec import ArraySpec


class Writer:
    """A thread-safe writer of the chunks of a new array."""

    def __init__(self, path: str, spec: ArraySpec) -> None:
        self._path, self._spec = path, spec
        self._files, self._codec = ChunkFiles(path, path, spec), ChunkCodec(spec)

    def write(self, box: Box, block: AnyArray) -> None:
        """Write a box of whole chunks, which the end of the array may cut.

        Raises
        ------
        TransferError
            ``output``.
        """
        if 0 in sizes(box):
            return
        try:
            for part in tiled(box, self._spec.chunks):
                self._write_chunk(part, block[slices(inside(part, box))])
        except FileNotFoundError:
            raise _vanished(self._path) from None
        except OSError as error:
            if isinstance(error, GatherError):
                raise
            raise TransferError(
                f"writing stopped ({reason_of(error)}), the output is not complete", rule="output"
            ) from None
        except (ValueError, TypeError, RuntimeError) as error:
            raise TransferError(
                f"a chunk cannot be packed ({reason(error)}), the output is not complete",
                rule="output",
            ) from error

    def _write_chunk(self, part: Box, elements: AnyArray) -> None:
        """Write a chunk, padded with the fill value beyond the end of the array."""
        spec = self._spec
        if elements.shape != spec.chunks:
            chunk = spec.fill_array(spec.chunks)
            chunk[slices(spec.inside_chunk(part))] = elements
            elements = chunk
        key = spec.key(grid_coordinates(part, spec.chunks))
        self._files.write(key, self._codec.encode(elements))


def writer(path: str) -> Writer:
    """Return a writer for the array at `path`, which this or another process created."""
    node = Node.at(Folder(path, path, None), path)
    if node is None or not node.is_array:
        raise _vanished(path)
    return Writer(path, node.spec)


def _vanished(path: str) -> TransferError:
    return TransferError(f"`{clean(path)}` is gone", rule="output", expected="the new array")
