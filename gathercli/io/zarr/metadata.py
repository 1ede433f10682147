"""Metadata of arrays, checked before anything acts on them.

A name in a file loads nothing: only the codecs of `version2` and `version3` are known, and none of
them runs code of a file or of a plugin.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import InputError, LimitError
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.content import check_shape
from gathercli.io.links import open_in
from gathercli.io.zarr import version2, version3
from gathercli.io.zarr.members import refused, shown
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from gathercli.io.folders import Folder
    from gathercli.io.zarr.arrayspec import ArraySpec

MAX_METADATA: Final = 16 << 20
"""Bytes of metadata accepted."""

MAX_INNER: Final = 1 << 15
"""Chunks of one shard accepted: a few bytes of metadata may promise any number."""

_PARSERS: Final = {2: version2.parse, 3: version3.parse}
_WRITERS: Final = {2: version2.described, 3: version3.described}


def document(folder: Folder, path: str) -> dict[str, Any]:
    """Read a file of metadata, strictly.

    Raises
    ------
    InputError
        ``format``: it is no JSON object in a regular file, or a link leads out of the folder.
    LimitError
        ``limit``: it is too large.
    """
    inner, name = os.path.split(path)
    try:
        fd, status = open_in(path, os.path.realpath(inner))
    except ValueError as error:
        raise refused(f"`{name}` {str(error).removeprefix('it ')}", "one with JSON text") from None
    try:
        if status.st_size > MAX_METADATA:
            raise LimitError(
                f"`{name}` has {status.st_size} bytes: expected at most {MAX_METADATA}",
                rule="limit",
                value=status.st_size,
            )
        folder.watch(path, status)
        raw = b""
        while part := os.read(fd, status.st_size - len(raw)):
            raw += part
    finally:
        os.close(fd)
    try:
        found = json.parse(raw, rule="format")
    except InputError as error:
        error.prefix(f"`{name}`")
        raise
    if not isinstance(found, dict):
        raise refused(f"`{name}` is no JSON object", "one")
    return found


def parse(found: dict[str, Any], version: int) -> ArraySpec:
    """Check the metadata of an array.

    Raises
    ------
    InputError
        ``format``, ``dtype``: it is malformed, or asks for what is not read.
    LimitError
        ``limit``: nothing can hold the tensor, or one chunk of it.
    """
    if found.get("zarr_format") != version or type(found["zarr_format"]) is not int:
        raise refused(f"the zarr_format is {shown(found.get('zarr_format'))}", f"{version}")
    spec = _PARSERS[version](found)
    check_shape("the array has", spec.shape, spec.held.itemsize)
    check_shape("a chunk of the array has", spec.grid, spec.held.itemsize)
    if product(spec.inner) > MAX_INNER:
        raise LimitError(
            f"a shard holds {product(spec.inner)} chunks: expected at most {MAX_INNER}",
            rule="limit",
            value=product(spec.inner),
        )
    return spec


def described(spec: ArraySpec) -> tuple[str, dict[str, Any]]:
    """Return the name of the file of metadata, and what is in it, of an array without shards."""
    return _WRITERS[spec.version](spec)
