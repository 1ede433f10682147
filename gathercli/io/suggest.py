"""Suggestions for an argument that is neither a literal nor the name of a file.

The notation of another tool is matched by a pattern and translated to the grammar of arguments. A
translation is parsed before it is suggested, so that a pasted hint works.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from itertools import islice

from gathercli import text
from gathercli.errors import GatherError, Hint, InputError, NoInputError
from gathercli.io.formats import literal, npy
from gathercli.io.formats.table import FORMATS, SNIFF_SIZE, sniff
from gathercli.io.formats.values import flatten
from gathercli.records import Any, Callable, Final
from gathercli.text import Overflow, clean, closest

# The longest argument in characters that is compared with the notations.
MAX_TOKEN_LENGTH: Final = 500
_MAX_HINT_ELEMENTS: Final = 20  # the most elements of a literal in a hint


def missing(path: str, folder: str) -> GatherError:
    """Return the error for a file that does not exist in a folder, or for a malformed literal."""
    name = clean(path) if len(path) <= 200 else clean(path[:200]) + "..."
    hint = suggest(path, folder)
    if literal.looks_literal(path):
        what = f"`{name}` is neither a literal nor the name of a file"
        expected = "a list such as 0,0,4 or '[[0,1],[2,3]]'"
        return InputError(what, rule="literal", value=path, expected=expected, hint=hint)
    if hint is None and (near := similar_file(path, folder)):
        hint = Hint("did you mean {source}?", source=near)
    shown = clean(os.path.join(folder, path)) if folder else name
    what = f"there is no file `{shown}`" if path.strip() else "the name of the file is empty"
    return NoInputError(
        what, rule="missing", value=path, expected="a file, or a literal such as 0,0,4", hint=hint
    )


def similar_file(path: str, folder: str) -> str | None:
    """Find a file with this name and a suffix, or with a similar name."""
    inner, name = os.path.split(path)
    try:
        names = sorted(os.listdir(os.path.join(folder, inner) or "."))
    except (OSError, ValueError):
        return None
    stems = {each: os.path.splitext(each)[0].lower() for each in names[:1000]}
    without_suffix = [each for each in names if os.path.splitext(each)[0] == name]
    stem = os.path.splitext(name)[0].lower()
    similar = [each for each in stems if closest(stem, [stems[each]])]  # whatever the suffix
    near = without_suffix[0] if without_suffix else closest(name, similar, cutoff=0.75)
    return os.path.join(inner, near) if near else None


def suggest(token: str, folder: str) -> Hint | None:
    """Correct an argument that is neither a literal nor the name of a file in a folder."""
    if len(token) > MAX_TOKEN_LENGTH:
        return None
    if member := _member(token, folder):
        return member
    for pattern, translate in _NOTATIONS:
        if (match := re.fullmatch(pattern, token.strip())) and (source := translate(match)):
            return Hint("did you mean {source}?", source=source) if _is_literal(source) else None
    if source := _unquoted(token, folder) or _balanced(token.strip()):
        return Hint("did you mean {source}?", source=source)
    return _generator(token)


def _generator(token: str) -> Hint | None:
    """Suggest the generator with a similar name, or all generators for a shape: ``3x4``."""
    match = re.fullmatch(
        _CALL_PATTERN, f"x:{token}" if re.fullmatch(_SHAPE_PATTERN, token) else token
    )
    if match is None:
        return None
    shape = match[2] + (match[3] or "")
    near = closest(match[1], literal.GENERATORS)
    if near and _is_literal(f"{near}:{shape}"):
        return Hint("did you mean {source}?", source=f"{near}:{shape}")
    high = ",high=10" if re.match("x[iu]", match[3] or "") else ""  # which integers require
    return Hint(f"there are `arange:{shape}`, `zeros:{shape}` and `rand:{shape}{high}`")


def _unquoted(token: str, folder: str) -> str | None:
    """Remove quotes that the shell does not: curly or nested ones."""
    match = re.fullmatch(_QUOTED_PATTERN, token.strip())
    if match is None or not match[1]:
        return None
    exists = os.path.exists(os.path.join(folder, match[1].partition("#")[0]))
    return match[1] if exists or _is_literal(match[1]) else None


def _balanced(token: str) -> str | None:
    """Add the closing brackets that lists lack, or drop those at the end that close nothing."""
    missing: list[str] = []
    for at, letter in enumerate(token):
        if letter in _CLOSING_BRACKETS:
            missing.append(_CLOSING_BRACKETS[letter])
        elif letter in _CLOSING_BRACKETS.values() and (not missing or missing.pop() != letter):
            rest = token[at:].strip("]}")
            return token[:at] if not rest and _is_literal(token[:at]) else None
    source = token + "".join(reversed(missing))
    return source if missing and _is_literal(source) else None


def check_quoted(token: str, folder: str) -> None:
    """Raise if a quoted literal is the name of a file."""
    match = re.fullmatch(r'\s*"([^"\0]+)"\s*', token)
    if match and os.path.isfile(os.path.join(folder, match[1])):
        what = f"`{token}` is a text, as a file is named without quotes of its own"
        hint = Hint("did you mean {source}?", source=match[1])
        raise InputError(what, rule="literal", value=token, expected="the name", hint=hint)


def _member(token: str, folder: str) -> Hint | None:
    """Translate ``w.npz:emb``, ``w.npz/emb``, ``w.npz['emb']`` or ``w.bin:2x3xf32``."""
    match = re.fullmatch(r"""(.+?)(?::([^:\[\]]+)|\[\s*(["']?)([^\[\]"']+)\3\s*\])""", token)
    name, key = (match[1], match[2] or match[4]) if match else _split_path(token, folder)
    if not key:
        return None
    path = os.path.join(folder, name)
    try:
        if not os.path.exists(path):
            return None
        with suppress(GatherError):
            npy.parse_raw(f"{npy.RAW_PREFIX}{key}@{name}")
            return Hint("did you mean {source}?", source=f"{npy.RAW_PREFIX}{key}@{name}")
        if _holds_one(path):
            return Hint("it holds one tensor and no members: {source}", source=name)
    except (OSError, ValueError):  # a NUL in the name
        return None
    return Hint("did you mean {source}?", source=f"{name}#{key}")


def _split_path(token: str, folder: str) -> tuple[str, str]:
    """Split a path after the first part that is a file; the rest is empty if there is none."""
    for slash in re.finditer("/", token):
        path = token[: slash.start()]
        if os.path.isfile(os.path.join(folder, path)):
            return path, token[slash.end() :]
    return token, ""


def _holds_one(path: str) -> bool:
    """Tell whether the format of a file has a single tensor."""
    if not os.path.isfile(path):  # a pipe would wait
        return False
    with open(path, "rb") as file:
        fmt = sniff(file.read(SNIFF_SIZE))
    return fmt in FORMATS and not FORMATS[fmt].several


def _is_literal(token: str) -> bool:
    try:
        return literal.parse(token, max_bytes=1 << 20) is not None
    except GatherError:
        return False


def _slice(match: re.Match[str]) -> str | None:
    """Write ``0:2`` or ``8:0:-2`` as a literal."""
    if max(map(len, filter(None, match.groups())), default=0) > len(str(_MAX_HINT_ELEMENTS)) + 16:
        return None
    start, stop, step = (int(n) if n else None for n in match.groups())
    if stop is None or step == 0:
        return None
    items = list(islice(range(start or 0, stop, step or 1), _MAX_HINT_ELEMENTS + 1))
    if len(items) > _MAX_HINT_ELEMENTS:
        return f"arange:{stop}" if not start and step in (None, 1) else None
    return _literal(items) if items else None


def _generator_call(match: re.Match[str]) -> str | None:
    """Write ``np.arange(12).reshape(3, 4)`` or ``zeros((3, 4))`` as a generator."""
    name = "arange" if match[1] == "range" else match[1]
    sizes = re.findall(r"\d+", match[2])
    if name == "arange" and len(sizes) != 1:
        return None
    shape = re.findall(r"\d+", match[3] or match[2])
    same = math.prod(map(int, shape)) == math.prod(map(int, sizes))
    return f"{name}:{'x'.join(shape)}" if same else None


def _eye(match: re.Match[str]) -> str | None:
    size = int(match[1])
    if size * size > _MAX_HINT_ELEMENTS:
        return None
    return _literal([[int(i == j) for j in range(size)] for i in range(size)])


def _number(match: re.Match[str]) -> str | None:
    try:
        return str(int(match[0], 0))
    except ValueError:
        return None


def _repr(match: re.Match[str]) -> str | None:
    """Write the repr of a tuple, a list, an array or a tensor as JSON."""
    body = re.sub(r",\s*(?:dtype|device)=[^,)\]]+", "", match["body"])
    try:
        nested = literal.parse_values(body.translate(_BRACKET_MAP), match[0])
        _, _, kinds = flatten(nested)
    except GatherError:
        return None
    if Overflow in kinds:  # JSON would have infinities instead
        return None
    if len(nested) == 1 and isinstance(nested[0], list):
        (nested,) = nested
    elif match["body"][:1] in ("[", "{", "("):
        return None
    return _literal(nested)


def _literal(value: list[Any]) -> str | None:
    """Write nested lists; return None if JSON lacks an element."""
    try:
        return text.literal(value)
    except (TypeError, ValueError):
        return None


_BRACKET_MAP: Final = str.maketrans("();", "[] ")
_CLOSING_BRACKETS: Final = {"[": "]", "{": "}"}
_CALL_PATTERN: Final = r"([a-z_]+):(\d+(?:x\d+)*)(x[a-z]\w*)?"
_SHAPE_PATTERN: Final = r"(?a)\d+(?:x\d+)*x(?:\d+|[a-z]\w*)"
_QUOTED_PATTERN: Final = "[\u2018-\u201f'\"](.*)[\u2018-\u201f'\"]"
_SIZES_PATTERN: Final = r"\s*[\[(]?\s*(\d{1,9}(?:\s*,\s*\d{1,9}){0,9})\s*,?\s*[\])]?\s*"
# The patterns and translations of the notations, in the order of precedence.
_NOTATIONS: Final[tuple[tuple[str, Callable[[re.Match[str]], str | None]], ...]] = (
    (r"(?a)\[?(-?\d+)?:(-?\d+)?(?::(-?\d+)?)?\]?", _slice),
    (
        rf"(?a)(?:[a-z]+\.)?(arange|range|zeros|rand)\({_SIZES_PATTERN}\)(?:\.reshape\({_SIZES_PATTERN}\))?",
        _generator_call,
    ),
    (r"(?a)ones:(\d+(?:x\d+)*)(x[a-z]\w*)?", lambda match: f"{match[1]}{match[2] or 'xi64'}=1"),
    (r"(?a)(?:eye|identity):(\d{1,9})", _eye),
    (r"(?a)((?:\d+x)*\d+)=(.*[.en].*)", lambda match: f"{match[1]}xf64={match[2]}"),
    (r"(?a)((?:\d+x)*\d+)=(.+)", lambda match: f"{match[1]}xi64={match[2]}"),
    (r"(?a)([a-z]\w*=.+)", lambda match: f"x{match[1]}"),
    (r"(?ai)[+-]?0[xob][\da-f]+|[+-]?\d+(?:_\d+)+", _number),
    (r"(?s)[A-Za-z_.]+\((?P<body>\s*[\[(].*)\)", _repr),
    (r"(?s)(?P<body>[\[(].*)", _repr),
    (r"(?as)(?P<body>[-+\d.][-+.\d\seEx;,]*)", _repr),
)
