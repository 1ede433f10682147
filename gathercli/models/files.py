"""The models below a folder."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from gathercli.io.folders import raise_unlisted
from gathercli.io.formats.table import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIXES: Final = tuple(each.suffix for each in MODELS.values())

_IR: Final = re.compile(rb"<net[\s>]")
"""What an .xml in a folder has in its first bytes if it is a model."""

_HEAD: Final = 4096


def files_below(word: str) -> Iterator[str]:
    """Yield a file, or the models below a folder in order; links in a folder are not followed.

    Raises
    ------
    NoInputError
        ``unreadable``: a folder cannot be searched.
    """
    if not os.path.isdir(word):
        yield word
        return
    for folder, folders, names in os.walk(word, onerror=raise_unlisted):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.lower().endswith(_SUFFIXES) and _is_model(path):
                yield path


def _is_model(path: str) -> bool:
    """Return whether a file of a folder is a model, and no link or other XML."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    if not path.lower().endswith(".xml"):
        return True
    try:
        with open(path, "rb") as file:
            return _IR.search(file.read(_HEAD)) is not None
    except OSError:  # which the reader of models reports
        return True
