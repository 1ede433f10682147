"""Read and validate the metadata of arrays and groups.

A file cannot load code: only the codecs of `version2` and `version3` are accepted, no plugins.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import InputError, LimitError
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.content import check_shape
from gathercli.io.links import open_in
from gathercli.io.zarr import version2, version3
from gathercli.io.zarr.arrayspec import invalid, quote
from gathercli.spec.shapes import product
from gathercli.text import counted, in_bytes

if TYPE_CHECKING:
    from typing import Protocol

    from gathercli.io.folders import Folder
    from gathercli.io.zarr.arrayspec import ArraySpec

MAX_METADATA: Final = 16 << 20
"""The largest metadata file in bytes."""

MAX_INNER: Final = 1 << 15
"""The most chunks in a shard: a few bytes of metadata may declare any number."""

if TYPE_CHECKING:

    class Version(Protocol):
        """The module of a version of the format."""

        @property
        def FILES(self) -> tuple[str, ...]:  # noqa: N802
            """The names of the metadata files; the first that exists is read."""

        @property
        def ATTRIBUTES(self) -> str | None:  # noqa: N802
            """The name of the file of the user's attributes; None if they are in the metadata."""

        def is_array(self, name: str, members: dict[str, Any], /) -> bool:
            """Tell whether a metadata file describes an array, not a group."""

        def parse(self, members: dict[str, Any], /) -> ArraySpec:
            """Validate the metadata of an array."""

        def to_json(self, spec: ArraySpec, /) -> tuple[str, dict[str, Any]]:
            """Return the name and the members of the metadata file of an array without shards."""


VERSIONS: Final[dict[int, Version]] = {3: version3, 2: version2}
"""The modules by version, in the order of preference."""


def document(folder: Folder, path: str) -> dict[str, Any]:
    """Read a metadata file.

    Raises
    ------
    InputError
        ``format``: the content is not a JSON object, or a link leads out of the folder.
    LimitError
        ``limit``: the file is too large.
    """
    inner, name = os.path.split(path)
    try:
        fd, status = open_in(path, os.path.realpath(inner))
    except ValueError as error:
        raise invalid(f"`{name}` {str(error).removeprefix('it ')}", "one with JSON text") from None
    try:
        if status.st_size > MAX_METADATA:
            raise LimitError(
                f"`{name}` has {in_bytes(status.st_size)}",
                rule="limit",
                value=status.st_size,
                expected=f"at most {MAX_METADATA}",
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
        raise invalid(f"`{name}` is not a JSON object", "one")
    return members


def parse(members: dict[str, Any], version: int) -> ArraySpec:
    """Validate the metadata of an array.

    Raises
    ------
    InputError
        ``format``, ``dtype``: the metadata are malformed, or a feature is not supported.
    LimitError
        ``limit``: the tensor, a chunk or a shard is too large.
    """
    number = members.get("zarr_format")
    if number != version or type(number) is not int:
        raise invalid(f"the zarr_format is {quote(number)}", f"{version}")
    spec = VERSIONS[version].parse(members)
    check_shape("the array has", spec.shape, spec.file_dtype.itemsize)
    check_shape("a chunk of the array has", spec.grid, spec.file_dtype.itemsize)
    count = product(spec.chunks_per_file)
    if count > MAX_INNER:
        raise LimitError(
            f"a shard holds {counted(count, 'chunk', exact=True)}",
            rule="limit",
            value=count,
            expected=f"at most {MAX_INNER}",
        )
    return spec
