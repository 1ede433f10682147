"""Shards: files of several chunks with an index of their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.compute.chunks import inside, sizes, slices, tiled
from gathercli.io.zarr.codecs import strip_checksum

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray
    from gathercli.io.zarr.arrayspec import ArraySpec
    from gathercli.io.zarr.chunkfiles import ChunkFile
    from gathercli.io.zarr.codecs import ChunkCodec

_ABSENT: Final = (1 << 64) - 1


def read(
    spec: ArraySpec, codec: ChunkCodec, file: ChunkFile, box: Box, absent: Callable[[Box], None]
) -> AnyArray:
    """Read a box within one shard; raise ValueError or RuntimeError if the shard is damaged.

    Parameters
    ----------
    absent
        Called with the part of the box in each chunk that the shard lacks.
    """
    if sizes(box) == spec.grid:  # read the file once: its chunks are contiguous
        file.read()
    index = _index(spec, file)
    out = spec.fill_array(sizes(box))
    for part in tiled(box, spec.chunks):
        dims = zip(part, spec.chunks, spec.chunks_per_file, strict=True)
        coordinates = tuple(first // size % count for (first, _), size, count in dims)
        start, length = index[coordinates].tolist()
        if start == length == _ABSENT:
            absent(part)
            continue
        chunk = codec.decode(file.part(start, length))
        out[slices(inside(part, box))] = chunk[slices(spec.inside_chunk(part))]
    return out


def _index(spec: ArraySpec, file: ChunkFile) -> AnyArray:
    """Read the start and length of each chunk in bytes: shape (chunks_per_file.., 2)."""
    length = spec.index_nbytes
    raw = file.part(0 if spec.index_first else -length, length)
    if len(spec.shard_index) > 1:
        raw = strip_checksum(raw)
    return raw.view("<u8").reshape(*spec.chunks_per_file, 2)
