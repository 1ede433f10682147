"""JSON text to tensors: plain nested lists, and Open Inference Protocol tensors.

The parser of the standard library with hooks that refuse repeated keys and mark numbers beyond
float64. Every error names the place in the text.
"""

from __future__ import annotations

import codecs
import json
import re
from functools import lru_cache, partial

from gathercli.errors import Hint, InputError
from gathercli.io.formats.content import UNSAID, ElementTypes, key_hint, malformed
from gathercli.spec.dtypes import INT64, Kind, dtype_in_json
from gathercli.spec.shapes import DEEPEST, LARGEST, MAX_RANK
from gathercli.text import NON_FINITE, Overflow, clean, listed, short, some, value_text

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Any, Final

    from gathercli.compute.tensor import Tensor


_NO_VALUE: Final = "Expecting value"
_NO_NAME: Final = "Expecting property name"
# Our description of an error, by the beginning of Python's.
_DESCRIPTIONS: Final = {
    _NO_VALUE: "expecting value",
    _NO_NAME: "expecting property name enclosed in double quotes",
    "Expecting ':'": "expecting ':' delimiter",
    "Expecting ','": "expecting ',' delimiter",
    "Extra data": "extra data",
    "Unterminated string": "unterminated string starting",
    "Invalid control character": "invalid control character",
    "Invalid \\u": "invalid \\uXXXX escape",
    "Invalid \\": "invalid \\escape",
}

# Words of other languages that JSON lacks, and a hint on the JSON for each.
_JSON_HINTS: Final = (
    ("(?i)[-+]?(?:nan|inf)", "in JSON they are `NaN`, `Infinity` and `-Infinity`"),
    ("True|False", "in JSON they are `true` and `false`"),
    ("'", "in JSON strings have double quotes"),
)

# The keys of the tensors in an inference request or response, and of a typed tensor.
_MESSAGE_KEYS: Final = ("inputs", "outputs")
_TENSOR_KEYS: Final = ("name", "shape", "datatype", "dtype", "data", "parameters")

LONG_TEXT: Final = 1 << 16  # bytes of text from which orjson is worth its import
LARGE_FLOAT: Final = 2.0**63  # the smallest float that may be an integer orjson has rounded
_LIST_BYTES: Final = 8  # bytes of text for each list; with fewer the text is mostly lists
_SCAN_BYTES: Final = 1 << 16  # of text, scanned for brackets at a time: they stay in the cache
_MIN_NUMPY_BYTES: Final = 1 << 12  # bytes from which numpy counts faster than Python


class EncodingError(InputError):
    """Bytes that are not UTF-8 text."""


class JsonError(InputError):
    """Text that is not JSON."""

    what = near = ""
    line = column = 0
    is_cut = False

    def move(self, place: str) -> None:
        """Say the place in words of the caller."""
        self.problem = f"{self.what} {place}, {self.near}"


def parse(raw: bytes | str, *, rule: str = "json") -> Any:
    """Parse JSON, in UTF-8 with or without a mark; raise InputError with the line and column."""
    text = decode(raw, rule) if isinstance(raw, bytes) else raw
    try:
        return load(text, rule)
    except json.JSONDecodeError as error:
        what, error = _describe(error)
        place = f"line {error.lineno}, column {error.colno}"
        start = text[error.pos : error.pos + 10]
        excerpt = f"`{clean(start.translate(_BLANK_ESCAPES))}`"
        near = f"where the text has {excerpt}" if start else "at the end of the text"
        hint = next((hint for pattern, hint in _JSON_HINTS if re.match(pattern, start)), None)
        refusal = JsonError(
            what, rule=rule, where=place, value=start or None, expected="JSON", hint=hint
        )
        refusal.what, refusal.near, refusal.is_cut = what, near, not start
        refusal.line, refusal.column = error.lineno, error.colno
        refusal.move(f"at {place}")
        raise refusal from None
    except RecursionError:
        raise malformed(
            "brackets are nested too deeply", f"at most {MAX_RANK} dimensions", rule=rule
        ) from None
    except ValueError as error:  # the interpreter's limit on the digits of an integer
        if isinstance(error, InputError):
            raise
        raise malformed(
            "an integer has more than 4300 digits", "one that a type can hold", rule="dtype"
        ) from None


def parse_long(raw: bytes) -> Any | None:
    """Parse JSON, integers beyond 64 bits as floats; None if the standard library might differ."""
    import orjson

    if count(raw, b"[") > 1000 + len(raw) // _LIST_BYTES:  # memory matters more than time
        return None
    try:
        value = orjson.loads(raw)
    except (ValueError, RecursionError):
        return None
    # orjson keeps the last of repeated keys: then the text has more colons than keys.
    if b"{" in raw and raw.count(b":") != _keys(value):
        return None
    return value


def _keys(value: Any) -> int:
    """Count the keys of all objects in a document; return -1 if it is very deep."""
    count, level, depth = 0, [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            return -1
        inner: list[Any] = []
        for each in level:
            if type(each) is dict:
                count += len(each)
                inner += each.values()
            elif type(each) is list and each and type(each[0]) in (list, dict):
                inner += each
        level = inner
    return count


def is_certain(tensor: Tensor) -> bool:
    """Tell whether no element from `parse` can be a rounded integer of more than 64 bits."""
    import numpy as np

    if tensor.dtype is INT64:
        return int(tensor.array.min(initial=0)) > -(2**63)
    if tensor.dtype.kind not in (Kind.FLOAT, Kind.COMPLEX) or tensor.dtype.name == "float16":
        return True
    magnitude = np.abs(tensor.values())
    return not ((magnitude >= LARGE_FLOAT) & np.isfinite(magnitude)).any()


def is_deep(text: str) -> bool:
    """Tell whether JSON text has more levels of brackets than `DEEPEST`.

    >>> is_deep("[" * 501), is_deep('["' + "[" * 501)
    (True, False)
    """
    if len(text) < LONG_TEXT and text.count("[") + text.count("{") <= DEEPEST:
        return False
    import numpy as np

    raw = text.encode(errors="replace")
    if b"\\" in raw:  # the remaining quotes begin or end a string
        raw = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    strings, quoted, level = b'"' in raw, 0, 0
    for at in range(0, len(raw), _SCAN_BYTES):
        codes = np.frombuffer(raw, np.uint8, min(_SCAN_BYTES, len(raw) - at), at)
        brackets = codes | 0x20  # maps "[" and "]" to "{" and "}"
        opens, closes = brackets == ord("{"), brackets == ord("}")
        if strings:
            inside = np.cumsum(codes == ord('"'), dtype=np.int32) + quoted & 1
            quoted = int(inside[-1])
            opens &= inside == 0
            closes &= inside == 0
        opened = int(np.count_nonzero(opens))
        if level + opened > DEEPEST:
            levels = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32)
            if level + int(levels.max()) > DEEPEST:
                return True
        level += opened - int(np.count_nonzero(closes))
    return False


def count(part: bytes, mark: bytes) -> int:
    """Count a byte; in a long text with numpy, which has more overhead but counts faster."""
    if len(part) < _MIN_NUMPY_BYTES:
        return part.count(mark)
    import numpy as np

    codes, step = np.frombuffer(part, np.uint8), 1 << 18
    matches = (codes[at : at + step] == ord(mark) for at in range(0, len(part), step))
    return sum(map(int, map(np.count_nonzero, matches)))


def load(text: str, rule: str) -> Any:
    """Parse JSON text; raise JSONDecodeError, RecursionError or ValueError as `json.loads` does."""
    if is_deep(text):
        raise RecursionError
    if text.startswith("\ufeff"):
        return json.loads(text)  # which raises
    return _decoder(rule).decode(text)


@lru_cache
def _decoder(rule: str) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_constant=NON_FINITE.__getitem__,
        parse_float=_number,
        object_pairs_hook=partial(_object, rule),
    )


def decode(raw: bytes, rule: str) -> str:
    """Decode UTF-8 text, with or without a byte order mark; raise for the first wrong byte."""
    text = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        at = error.start + len(raw) - len(text)
        what = f"byte {at} is 0x{raw[at]:02x}"
        raise EncodingError(what, rule=rule, where=f"byte {at}", expected="UTF-8 text") from None


# Escapes of the blanks that would break a message.
_BLANK_ESCAPES: Final = {
    ord(blank): f"\\{letter}" for blank, letter in zip("\n\r\t", "nrt", strict=True)
}


def _describe(error: json.JSONDecodeError) -> tuple[str, json.JSONDecodeError]:
    """Return the description and the place of an error, the same for all versions of Python."""
    if error.msg.startswith("Illegal trailing comma"):  # Python 3.13 names the comma
        rest = error.doc[error.pos + 1 :].lstrip(" \t\r\n")
        wanted = _NO_NAME if rest.startswith("}") else _NO_VALUE
        error = json.JSONDecodeError(wanted, error.doc, len(error.doc) - len(rest))
    texts = (text for start, text in _DESCRIPTIONS.items() if error.msg.startswith(start))
    return next(texts, "malformed text"), error


def _number(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else Overflow(digits)


def _object(rule: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document:
            what = f"the key {json.dumps(key)} is repeated"
            raise InputError(what, rule=rule, where=key, expected="it once")
        document[key] = value
    return document


def tensor(
    value: Any,
    key: str | None,
    types: ElementTypes = UNSAID,
    max_bytes: int | None = None,
    *,
    name: str | None = None,
    notes: list[str] | None = None,
) -> Tensor:
    """Convert a parsed JSON document, or the member `key` of it, to a tensor.

    It is a plain nested list; a typed tensor ``{"shape","datatype","data"}``; an inference request
    or response of typed tensors; an object with any of these as values. `types` are those of plain
    lists. `name` is that of the document, for a hint; None for a literal. A note says which keys of
    a typed tensor nothing reads. Raise InputError: ``json``, ``dtype``, ``ragged``.
    """
    from gathercli.io.formats.values import tensor_of

    root = "$"
    if isinstance(value, dict):
        value, root = _member(value, key, name)
    elif key is not None:
        what = "the document is not an object"
        expected = f"one with the key {json.dumps(key)}"
        hint = Hint("a plain list is read without a key: {source}", source=name or "")
        raise InputError(what, rule="json", value=key, expected=expected, hint=hint)
    if isinstance(value, dict):
        found = typed_tensor(value, root, max_bytes=max_bytes)
        unknown = [f"`{clean(short(each))}`" for each in value if each not in _TENSOR_KEYS]
        text = f"the tensor at `{root}` has {some(unknown)}, which nothing reads"
        if unknown and notes is not None and text not in notes:
            notes.append(text)
        return found
    return tensor_of(value, types, root=root, max_bytes=max_bytes)


def _member(document: dict[str, Any], key: str | None, name: str | None) -> tuple[Any, str]:
    """Return a member of a document, or its only one, and the path to it."""
    if is_typed(document) and (key is None or document.get("name") == key):
        return document, "$"
    if key is not None and key in document and not is_message(document):
        return document[key], f"$.{key}"  # without the paths of all the others
    members = members_of(document)
    if key is None and len(members) == 1:
        return next(iter(members.values()))
    if key is not None and key in members:
        return members[key]
    names = some(map(json.dumps, members))
    what = f"the document holds {names}"
    expected = f"the key {json.dumps(short(key))}" if key else "one tensor, or the key of one"
    hint = key_hint(name, key, members, "tensor") if name else None
    raise InputError(what, rule="json", value=key, expected=expected, hint=hint)


def members_of(document: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """Return the tensors of a document by name, each with the path to it."""
    if not is_message(document):
        return {key: (value, f"$.{key}") for key, value in document.items()}
    members: dict[str, tuple[Any, str]] = {}
    for group in filter(document.__contains__, _MESSAGE_KEYS):
        for at, each in enumerate(document[group]):
            name, where = str(each.get("name", at)), f"$.{group}[{at}]"
            if name in members:
                what = (
                    f"the tensor at `{where}` is named {json.dumps(name)}, as the one at "
                    f"`{members[name][1]}`"
                )
                expected = "every name once"
                raise InputError(what, rule="json", where=where, value=name, expected=expected)
            members[name] = each, where
    return members


def is_message(document: dict[str, Any]) -> bool:
    """Tell whether a document is an inference request or response: lists of typed tensors."""
    groups = [document[group] for group in _MESSAGE_KEYS if group in document]
    only_groups = bool(groups) and document.keys() <= set(_MESSAGE_KEYS)
    return (any(groups) or only_groups) and all(
        isinstance(group, list) and all(isinstance(each, dict) for each in group)
        for group in groups
    )


def is_typed(value: dict[str, Any]) -> bool:
    """Tell whether an object is a typed tensor, or was meant as one."""
    return "datatype" in value or "dtype" in value or ("data" in value and "shape" in value)


def typed_tensor(value: dict[str, Any], root: str, *, max_bytes: int | None) -> Tensor:
    """Convert ``{"datatype"|"dtype","shape","data"}``, `data` nested or flat, to a tensor."""
    from gathercli.io.formats.values import tensor_of

    missing = [key for key in ("datatype", "data") if key not in value]
    if "dtype" in value:
        missing = missing[1:] if "datatype" in missing else missing
    if missing:
        keys = listed(map(json.dumps, missing), "and")
        what = f"the object at `{root}` is not a tensor"
        expected = f"the key{'s' * (len(missing) > 1)} {keys}"
        raise InputError(what, rule="json", where=root, expected=expected)
    dtype = dtype_in_json(value.get("datatype", value.get("dtype")), root)
    shape = value.get("shape")
    if shape is not None:
        shape = _shape(shape, f"{root}.shape")
    data = value["data"]
    if shape and not isinstance(data, list):
        what = f"the value at `{root}.data` is {value_text(data)}"
        where = f"{root}.data"
        raise InputError(what, rule="json", where=where, value=value_text(data), expected="a list")
    types, root = ElementTypes(dtype), f"{root}.data"
    return tensor_of(data, types, shape=shape, root=root, max_bytes=max_bytes)


def _shape(sizes: Any, where: str) -> tuple[int, ...]:
    if not isinstance(sizes, list) or not all(
        type(size) is int and 0 <= size <= LARGEST for size in sizes
    ):
        what = f"the shape at `{where}` is {value_text(sizes)}"
        raise InputError(what, rule="json", where=where, expected="a list of sizes")
    return tuple(sizes)
