"""Where a new zarr array may go: to a new name, or in place of an array and nothing else."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from gathercli.errors import GatherError
from gathercli.io.folders import Folder
from gathercli.io.write import real_path
from gathercli.io.zarr.stored import Node
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKED: Final = 20_000
"""Files of an array at which `kept` looks where it need not look at all of them."""

_OWN: Final = re.compile(
    r"zarr\.json|\.z(array|attrs|metadata)|c([./]\d+)*|\d+([./]\d+)*", re.ASCII
)
"""What the folder of an array holds: metadata and chunks."""


def settled(path: str) -> str:
    """Return where a path leads, without a link or ``..`` that could lead elsewhere later.

    The last part is kept as it is; it is empty where the path names no folder of its own.
    """
    folder, name = os.path.split(path.rstrip("/"))
    return os.path.join(real_path(folder), "" if name in (".", "..") else name)


def around(path: str) -> str | None:
    """Find the array in whose folder a path lies, at any depth."""
    while (folder := os.path.dirname(path)) != path:
        if os.path.lexists(os.path.join(folder, ".zarray")):
            return folder
        try:
            node = Node.at(Folder(folder, folder, None), folder)
        except (GatherError, OSError):  # metadata of which nobody can say what they are
            node = None
        if node is not None and node.is_array:
            return folder
        path = folder
    return None


def kept(path: str, most: int | None = None) -> str | None:
    """Say why what is there is not replaced; None for an array and nothing else.

    Parameters
    ----------
    most
        How many files are looked at; None for all of them.
    """
    if not os.path.isdir(path):
        return "it is a file"
    if not _is_array(path):
        return "it is a folder, and no zarr array"
    names = islice(_names(path), most)
    other = next((name for name in names if not _OWN.fullmatch(name)), None)
    return other and f"it holds `{clean(other)}`, which is no part of an array"


def _is_array(path: str) -> bool:
    """Tell whether a folder is a zarr array, all of whose metadata are sound."""
    try:
        node = Node.at(Folder(path, path, None), path)
        sound = node.spec if node is not None and node.is_array else None
    except (GatherError, OSError):
        return False
    return sound is not None


def _names(path: str) -> Iterator[str]:
    """Yield the names of all that is under a folder, those next to it first."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(path, folder)) as entries:
            found = [
                (f"{folder}{each.name}", each.is_dir(follow_symlinks=False)) for each in entries
            ]
        for name, is_folder in found:
            yield name
            if is_folder:
                folders.append(f"{name}/")
