"""Read the metadata of arrays and groups, and check them before anything acts on them.

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
    from typing import Protocol

    from gathercli.io.folders import Folder
    from gathercli.io.zarr.arrayspec import ArraySpec

MAX_METADATA: Final = 16 << 20
"""Bytes of metadata accepted."""

MAX_INNER: Final = 1 << 15
"""Chunks of one shard accepted: a few bytes of metadata may promise any number."""

if TYPE_CHECKING:

    class Version(Protocol):
        """What the module of each version provides."""

        @property
        def FILES(self) -> tuple[str, ...]:  # noqa: N802
            """The names of the metadata files of arrays and groups; the first found counts."""

        @property
        def ATTRIBUTES(self) -> str | None:  # noqa: N802
            """The name of the file of the user's attributes, if they have one."""

        def is_array(self, name: str, members: dict[str, Any], /) -> bool:
            """Tell whether a metadata file is that of an array, and not of a group."""

        def parse(self, members: dict[str, Any], /) -> ArraySpec:
            """Check the members of the metadata of an array."""

        def described(self, spec: ArraySpec, /) -> tuple[str, dict[str, Any]]:
            """Return the name and the members of the metadata file of an array without shards."""


VERSIONS: Final[dict[int, Version]] = {3: version3, 2: version2}
"""The modules by the version of the format, in the order in which their files are looked for."""


def document(folder: Folder, path: str) -> dict[str, Any]:
    """Read a metadata file, strictly.

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
        members = json.parse(raw, rule="format")
    except InputError as error:
        error.prefix(f"`{name}`")
        raise
    if not isinstance(members, dict):
        raise refused(f"`{name}` is no JSON object", "one")
    return members


def parse(members: dict[str, Any], version: int) -> ArraySpec:
    """Check the metadata of an array.

    Raises
    ------
    InputError
        ``format``, ``dtype``: it is malformed, or needs what is not supported.
    LimitError
        ``limit``: nothing can hold the tensor, or one chunk of it.
    """
    stated = members.get("zarr_format")
    if stated != version or type(stated) is not int:
        raise refused(f"the zarr_format is {shown(stated)}", f"{version}")
    spec = VERSIONS[version].parse(members)
    check_shape("the array has", spec.shape, spec.file_dtype.itemsize)
    check_shape("a chunk of the array has", spec.grid, spec.file_dtype.itemsize)
    count = product(spec.chunks_per_file)
    if count > MAX_INNER:
        raise LimitError(
            f"a shard holds {count} chunks: expected at most {MAX_INNER}", rule="limit", value=count
        )
    return spec
