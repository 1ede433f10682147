"""Small chunks in shards, read without the `zarr` package: that takes longer to begin with each.

What is in a shard, and how its chunks are packed, was checked as for the package, whose codecs
unpack here too; the results are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numcodecs.checksum32 import CRC32C
from zarr.abc.store import RangeByteRequest, SuffixByteRequest

from gathercli.arrays.chunks import inside, sizes, slices, tiled
from gathercli.io.zarr.codecs import SMALL, fill, unpacked
from gathercli.io.zarr.meta import COMPRESSORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.chunks import Box
    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.zarr.meta import Spec

_ABSENT: Final = (1 << 64) - 1


def suits(spec: Spec) -> bool:
    """Tell whether an array is in shards of small chunks; the package unpacks large ones better."""
    return spec.sharded and spec.chunk_nbytes <= SMALL


def read(spec: Spec, made: Any, key: str, box: Box) -> AnyArray | None:
    """Read a box that lies in one shard; None if there is no such file.

    Parameters
    ----------
    made
        What `codecs.array` returned.

    Raises
    ------
    ValueError, RuntimeError
        The shard is damaged.
    """
    get = _getter(made.store, key, whole=sizes(box) == spec.grid)
    length = spec.index_nbytes
    raw = get(0 if spec.index_first else -length, length)
    if raw is None:
        return None
    if len(spec.shard_index) > 1:
        raw = _without_sum(raw)
    index = raw.view("<u8").reshape(*spec.inner, 2)
    out = fill(spec, made, sizes(box))
    for part in tiled(box, spec.chunks):
        firsts = [start // size for (start, _), size in zip(part, spec.chunks, strict=True)]
        place = (first % count for first, count in zip(firsts, spec.inner, strict=True))
        start, length = index[tuple(place)].tolist()
        if start == length == _ABSENT:
            continue
        packed = get(start, length)
        if packed is None:
            return None
        chunk = _elements(spec, packed)
        at = (first * size for first, size in zip(firsts, spec.chunks, strict=True))
        whole = tuple((first, first + size) for first, size in zip(at, spec.chunks, strict=True))
        out[slices(inside(part, box))] = chunk[slices(inside(part, whole))]
    return out


def _getter(store: Any, key: str, *, whole: bool) -> Callable[[int, int], AnyArray | None]:
    """Return what gives bytes of a file, from a place on, which counts from the end if negative.

    Parameters
    ----------
    whole
        Whether all of the file is needed.
    """

    def some(start: int, length: int) -> AnyArray | None:
        asked = SuffixByteRequest(length) if start < 0 else RangeByteRequest(start, start + length)
        found = store.get_sync(key, byte_range=asked)
        return None if found is None else np.asarray(found.as_numpy_array())

    content = store.get_sync(key) if whole else None
    if content is None:
        return some
    held: AnyArray = content.as_numpy_array()

    def part(start: int, length: int) -> AnyArray:
        first = start + len(held) if start < 0 else start
        if not 0 <= first < first + length <= len(held):
            raise ValueError(f"it has {len(held)} bytes, and none at {first} to {first + length}")
        return held[first : first + length]

    return part


def _elements(spec: Spec, raw: AnyArray) -> AnyArray:
    """Unpack a chunk, as its codecs say."""
    lengths, shapes = [spec.chunk_nbytes], [spec.chunks]
    for codec in spec.codecs:
        lengths.append(lengths[-1] + 4 * (codec["name"] == "crc32c"))
        order = codec.get("order", range(len(spec.chunks)))
        shapes.append(tuple(shapes[-1][d] for d in order))
    for codec, length, shape in reversed(list(zip(spec.codecs, lengths, shapes, strict=False))):
        name = codec["name"]
        if name == "crc32c":
            raw = _without_sum(raw)
        elif name in COMPRESSORS[3]:
            raw = unpacked(name, raw, length, spec.packed)
        elif name == "bytes":
            if raw.size != spec.chunk_nbytes:
                raise ValueError(f"it has {raw.size} bytes")
            raw = raw.view(spec.held).reshape(shape)
        else:
            raw = raw.transpose(np.argsort(codec["order"]))
    return raw


def _without_sum(raw: AnyArray) -> AnyArray:
    found: AnyArray = CRC32C(location="end").decode(raw)
    return found
