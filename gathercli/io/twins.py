"""What people write who know other tools, and how it is written here.

Each form is a pattern and a function that writes it in the grammar of arguments; what comes out is
tried before it is suggested, so that a hint works when it is pasted.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from gathercli import text
from gathercli.errors import GatherError, Hint
from gathercli.io.formats import literal, raw
from gathercli.io.formats.content import LOOK, sniff
from gathercli.io.formats.table import FORMATS
from gathercli.io.formats.values import flatten
from gathercli.spec.dtypes import FLOAT64
from gathercli.text import Overflow

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST: Final = 500
"""Characters of a word that may be another form of a literal."""

_MOST: Final = 20
"""Elements that a hint writes out."""


def hint(token: str, folder: str) -> Hint | None:
    """Suggest what was probably meant by a word that is no literal and names no file.

    Parameters
    ----------
    folder
        Where relative names of files start.
    """
    if len(token) > LONGEST:
        return None
    if part := _part(token, folder):
        return part
    for pattern, written in _FORMS:
        if (form := re.fullmatch(pattern, token.strip())) and (found := written(form)):
            return Hint("did you mean {source}?", source=found) if _is_literal(found) else None
    if found := _unquoted(token, folder):
        return Hint("did you mean {source}?", source=found)
    return _generator(token)


def _generator(token: str) -> Hint | None:
    """Suggest the generators for what is like one, or a shape alone: ``3x4xf32``."""
    alone = re.fullmatch(_SHAPED, token)
    made = re.fullmatch(_MADE, f"x:{token}" if alone else token)
    if made is None:
        return None
    shape = made[2] + (made[3] or "")
    near = text.closest(made[1], literal.GENERATORS)
    if near and _is_literal(f"{near}:{shape}"):
        return Hint("did you mean {source}?", source=f"{near}:{shape}")
    return Hint(f"there are `arange:{shape}`, `zeros:{shape}` and `rand:{shape}`")


def _unquoted(token: str, folder: str) -> str | None:
    """Take off quotes that a shell does not: curly ones, and those inside others."""
    found = re.fullmatch(_QUOTED, token.strip())
    if found is None or not found[1]:
        return None
    there = os.path.exists(os.path.join(folder, found[1].partition("#")[0]))
    return found[1] if there or _is_literal(found[1]) else None


def quoted_file(token: str, folder: str) -> str | None:
    """Name the file that a text literal has in its quotes, if there is one."""
    found = re.fullmatch(r'\s*"([^"\0]+)"\s*', token)
    return found[1] if found and os.path.isfile(os.path.join(folder, found[1])) else None


def _part(token: str, folder: str) -> Hint | None:
    """Read ``w.npz:emb``, ``w.npz/emb``, ``w.npz['emb']``, ``w.bin:2x3xf32`` of a file."""
    found = re.fullmatch(r"""(.+?)(?::([^:\[\]]+)|\[\s*(["']?)([^\[\]"']+)\3\s*\])""", token)
    path, key = (found[1], found[2] or found[4]) if found else _below(token, folder)
    if not key:
        return None
    place = os.path.join(folder, path)
    try:
        if not os.path.exists(place):
            return None
        with suppress(GatherError):
            raw.parse(f"{raw.PREFIX}{key}@{path}")
            return Hint("did you mean {source}?", source=f"{raw.PREFIX}{key}@{path}")
        if _holds_one(place):
            return Hint("it holds one tensor and no members: {source}", source=path)
    except (OSError, ValueError):  # a NUL in the name
        return None
    return Hint("did you mean {source}?", source=f"{path}#{key}")


def _below(token: str, folder: str) -> tuple[str, str]:
    """Split a path behind the file in it, which is no folder; the rest is empty without one."""
    for slash in re.finditer("/", token):
        path = token[: slash.start()]
        if os.path.isfile(os.path.join(folder, path)):
            return path, token[slash.end() :]
    return token, ""


def _holds_one(path: str) -> bool:
    """Tell whether a file is of a format that has one tensor."""
    if not os.path.isfile(path):  # a pipe would wait
        return False
    with open(path, "rb") as file:
        kind = sniff(file.read(LOOK))
    return kind in FORMATS and not FORMATS[kind].several


def _is_literal(token: str) -> bool:
    """Tell whether a word is one that is read."""
    try:
        return literal.parse(token, declared=None, empty=FLOAT64, max_bytes=1 << 20) is not None
    except GatherError:
        return False


def _slice(found: re.Match[str]) -> str | None:
    """Write out ``0:2`` or ``8:0:-2``."""
    if max(map(len, filter(None, found.groups())), default=0) > len(str(_MOST)) + 16:
        return None
    start, stop, step = (int(n) if n else None for n in found.groups())
    if stop is None or step == 0:
        return None
    items = list(islice(range(start or 0, stop, step or 1), _MOST + 1))
    if len(items) > _MOST:
        return f"arange:{stop}" if not start and step in (None, 1) else None
    return _written(items) if items else None


def _called(found: re.Match[str]) -> str | None:
    """Write ``np.arange(12).reshape(3, 4)`` or ``zeros((3, 4))`` as a generator."""
    name = "arange" if found[1] == "range" else found[1]
    sizes = re.findall(r"\d+", found[2])
    if name == "arange" and len(sizes) != 1:
        return None
    shape = re.findall(r"\d+", found[3] or found[2])
    cells = math.prod(map(int, shape))
    return f"{name}:{'x'.join(shape)}" if cells == math.prod(map(int, sizes)) else None


def _ones(found: re.Match[str]) -> str:
    """Write ``ones:2x3xf32`` as a literal that repeats one value."""
    return f"{found[1]}{found[2] or 'xi64'}=1"


def _eye(found: re.Match[str]) -> str | None:
    """Write out ``eye:3``."""
    size = int(found[1])
    if size * size > _MOST:
        return None
    return _written([[int(i == j) for j in range(size)] for i in range(size)])


def _untyped(found: re.Match[str]) -> str:
    """Give ``2x3=1`` a type."""
    return f"{found[1]}x{'f64' if re.search('[.en]', found[2]) else 'i64'}={found[2]}"


def _number(found: re.Match[str]) -> str | None:
    """Write ``0x10`` and ``1_000`` in decimal digits."""
    try:
        return str(int(found[0], 0))
    except ValueError:
        return None


def _printed(found: re.Match[str]) -> str | None:
    """Write what Python prints of a tuple, a list, an array or a tensor as JSON."""
    bracketed = re.sub(r",\s*(?:dtype|device)=[^,)\]]+", "", found["body"])
    try:
        nested = literal.nested(bracketed.translate(_BRACKETS), found[0])
        _, _, kinds = flatten(nested)
    except GatherError:
        return None
    if Overflow in kinds:  # and would be written as infinite
        return None
    if len(nested) == 1 and isinstance(nested[0], list):
        (nested,) = nested
    elif found["body"][:1] in ("[", "{", "("):
        return None
    return _written(nested)


def _written(value: list[Any]) -> str | None:
    """Write nested lists, if they hold nothing but what JSON has."""
    try:
        return text.literal(value)
    except (TypeError, ValueError):
        return None


_BRACKETS: Final = str.maketrans("();", "[] ")
_MADE: Final = r"([a-z_]+):(\d+(?:x\d+)*)(x[a-z]\w*)?"
_SHAPED: Final = r"(?a)\d+(?:x\d+)*x[a-z]\w*"
_QUOTED: Final = "[\u2018-\u201f'\"](.*)[\u2018-\u201f'\"]"
_SIZES: Final = r"\s*[\[(]?\s*(\d{1,9}(?:\s*,\s*\d{1,9}){0,9})\s*,?\s*[\])]?\s*"
_FORMS: Final[tuple[tuple[str, Callable[[re.Match[str]], str | None]], ...]] = (
    (r"(?a)\[?(-?\d+)?:(-?\d+)?(?::(-?\d+)?)?\]?", _slice),
    (
        rf"(?a)(?:[a-z]+\.)?(arange|range|zeros|rand)\({_SIZES}\)(?:\.reshape\({_SIZES}\))?",
        _called,
    ),
    (r"(?a)ones:(\d+(?:x\d+)*)(x[a-z]\w*)?", _ones),
    (r"(?a)(?:eye|identity):(\d{1,9})", _eye),
    (r"(?a)((?:\d+x)*\d+)=(.+)", _untyped),
    (r"(?a)([a-z]\w*=.+)", lambda found: f"x{found[1]}"),
    (r"(?ai)[+-]?0[xob][\da-f]+|[+-]?\d+(?:_\d+)+", _number),
    (r"(?s)[A-Za-z_.]+\((?P<body>\s*[\[(].*)\)", _printed),
    (r"(?s)(?P<body>[\[(].*)", _printed),
    (r"(?as)(?P<body>[-+\d.][-+.\d\seEx;,]*)", _printed),
)
"""Forms in the order they are tried, and how each is written here."""
