"""The target of a new zarr array: a new name, or an existing array to replace."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from gathercli.errors import GatherError
from gathercli.io.folders import Folder
from gathercli.io.write import real_path
from gathercli.io.zarr.stored import Node
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NAMES: Final = 20_000
"""The most files of an array that are checked before the work; all are when it is replaced."""

_OWN: Final = re.compile(
    r"zarr\.json|\.z(array|attrs|metadata)|c([./]\d+)*|\d+([./]\d+)*", re.ASCII
)
"""The names of metadata and chunks."""


def resolve_target(path: str) -> str:
    """Resolve links and ``..`` in all but the last part of a path.

    The last part becomes empty if it is ``.`` or ``..``.
    """
    folder, name = os.path.split(path.rstrip("/"))
    return os.path.join(real_path(folder), "" if name in (".", "..") else name)


def enclosing_array(path: str) -> str | None:
    """Return the folder of the array that contains a path at any depth; None if there is none."""
    while (folder := os.path.dirname(path)) != path:
        if os.path.lexists(os.path.join(folder, ".zarray")):
            return folder
        with suppress(GatherError, OSError):  # malformed metadata describe no array
            node = Node.at(Folder(folder, folder, None), folder)
            if node is not None and node.is_array:
                return folder
        path = folder
    return None


def obstacle(path: str, most: int | None = None) -> str | None:
    """Return why a file or folder must not be replaced; None for a pure array.

    Parameters
    ----------
    most
        The number of files to check; None for all.
    """
    if not os.path.isdir(path):
        return "it is a file"
    if not _is_array(path):
        return "it is a folder, and no zarr array"
    names = islice(_names(path), most)
    other = next((name for name in names if not _OWN.fullmatch(name)), None)
    return other and f"it holds `{clean(other)}`, which is not part of an array"


def _is_array(path: str) -> bool:
    """Tell whether a folder is a zarr array with valid metadata."""
    with suppress(GatherError, OSError):
        node = Node.at(Folder(path, path, None), path)
        return node is not None and node.is_array and node.spec is not None
    return False


def _names(path: str) -> Iterator[str]:
    """Yield the relative paths of all files and folders below a folder."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(path, folder)) as scan:
            entries = list(scan)
        for entry in entries:
            yield f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{folder}{entry.name}/")
