"""Where a new zarr array may go: to a new name, or in place of an array and nothing else."""

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
"""Files of an array that are looked at before the work; all are when it is replaced."""

_OWN: Final = re.compile(
    r"zarr\.json|\.z(array|attrs|metadata)|c([./]\d+)*|\d+([./]\d+)*", re.ASCII
)
"""The files and folders of an array: metadata and chunks."""


def resolve_target(path: str) -> str:
    """Return a path without links and ``..``, which could lead elsewhere later.

    The last part is not resolved; it is empty if the path ends with ``.`` or ``..``.
    """
    folder, name = os.path.split(path.rstrip("/"))
    return os.path.join(real_path(folder), "" if name in (".", "..") else name)


def enclosing_array(path: str) -> str | None:
    """Return the folder of the array that a path lies in, at any depth; None if there is none."""
    while (folder := os.path.dirname(path)) != path:
        if os.path.lexists(os.path.join(folder, ".zarray")):
            return folder
        with suppress(GatherError, OSError):  # malformed metadata are not those of an array
            node = Node.at(Folder(folder, folder, None), folder)
            if node is not None and node.is_array:
                return folder
        path = folder
    return None


def why_kept(path: str, most: int | None = None) -> str | None:
    """Return why a file or folder is not replaced; None for an array and nothing else.

    Parameters
    ----------
    most
        How many files to look at; None for all.
    """
    if not os.path.isdir(path):
        return "it is a file"
    if not _is_array(path):
        return "it is a folder, and no zarr array"
    names = islice(_names(path), most)
    other = next((name for name in names if not _OWN.fullmatch(name)), None)
    return other and f"it holds `{clean(other)}`, which is no part of an array"


def _is_array(path: str) -> bool:
    """Tell whether a folder is a zarr array with valid metadata."""
    with suppress(GatherError, OSError):
        node = Node.at(Folder(path, path, None), path)
        return node is not None and node.is_array and node.spec is not None
    return False


def _names(path: str) -> Iterator[str]:
    """Yield the names of all files and folders under a folder, those of each folder together."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(path, folder)) as scan:
            entries = list(scan)
        for entry in entries:
            yield f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{folder}{entry.name}/")
