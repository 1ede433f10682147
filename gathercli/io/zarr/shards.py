"""Shards: files of several chunks, with an index that says where each of them lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.arrays.chunks import inside, sizes, slices, tiled
from gathercli.io.zarr.codecs import without_sum

if TYPE_CHECKING:
    from gathercli.arrays.chunks import Box
    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.zarr.arrayspec import ArraySpec
    from gathercli.io.zarr.chunkfiles import ChunkFile
    from gathercli.io.zarr.codecs import ChunkCodec

_ABSENT: Final = (1 << 64) - 1


def read(spec: ArraySpec, codec: ChunkCodec, file: ChunkFile, box: Box) -> AnyArray:
    """Read a box that lies in one shard.

    Raises
    ------
    ValueError, RuntimeError
        The shard is damaged.
    """
    if sizes(box) == spec.grid:  # at one go: the chunks lie side by side
        file.read()
    index = _index(spec, file)
    out = spec.filled(sizes(box))
    for part in tiled(box, spec.chunks):
        firsts = [start // size for (start, _), size in zip(part, spec.chunks, strict=True)]
        place = (first % count for first, count in zip(firsts, spec.inner, strict=True))
        start, length = index[tuple(place)].tolist()
        if start == length == _ABSENT:
            continue
        chunk = codec.decode(file.part(start, length))
        out[slices(inside(part, box))] = chunk[slices(spec.inside(part))]
    return out


def _index(spec: ArraySpec, file: ChunkFile) -> AnyArray:
    """Read the start and the length of each chunk, along a last axis of two."""
    length = spec.index_nbytes
    raw = file.part(0 if spec.index_first else -length, length)
    if len(spec.shard_index) > 1:
        raw = without_sum(raw)
    return raw.view("<u8").reshape(*spec.inner, 2)
