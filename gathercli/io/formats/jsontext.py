"""JSON text to tensors: plain nested lists, and Open Inference Protocol tensors.

Read strictly, with the standard library's parser and hooks: no repeated keys, no number beyond
float64, one error with the place for everything that is no tensor.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import GatherError, Hint, InputError
from gathercli.io.formats import fast
from gathercli.io.formats.content import Layout, key_hint
from gathercli.spec.coordinates import path
from gathercli.spec.dtypes import FLOAT64, dtype_in_json
from gathercli.spec.shapes import LARGEST, MAX_RANK
from gathercli.text import NON_FINITE, Overflow, clean, listed, short, shown, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.arrays.tensor import Tensor
    from gathercli.io.files import File
    from gathercli.spec.dtypes import DType


_PROBE: Final = 1 << 20
"""Bytes of a stream after which its start must make sense."""

_VALUE_BYTES: Final = 64
"""Bytes of memory that a value takes while it is parsed: an object, and its place in a list."""

_WIDEST: Final = 4
"""Bytes of memory that a character takes at most."""

_VALUE: Final = "Expecting value"
_NAME: Final = "Expecting property name"
_WORDS: Final = {
    _VALUE: "expecting value",
    _NAME: "expecting property name enclosed in double quotes",
    "Expecting ':'": "expecting ':' delimiter",
    "Expecting ','": "expecting ',' delimiter",
    "Extra data": "extra data",
    "Unterminated string": "unterminated string starting",
    "Invalid control character": "invalid control character",
    "Invalid \\u": "invalid \\uXXXX escape",
    "Invalid \\": "invalid \\escape",
}
"""What is wrong with a text, by how Python's words for it begin."""

_TWINS: Final = (
    ("(?i)[-+]?(?:nan|inf)", "in JSON they are `NaN`, `Infinity` and `-Infinity`"),
    ("True|False", "in JSON they are `true` and `false`"),
    ("'", "in JSON strings have double quotes"),
)
"""What other languages write, where JSON ends, and what it has in their place."""

_GROUPS: Final = ("inputs", "outputs")
"""Where an inference request, or a response, has its tensors."""


class Document:
    """A file of JSON text; `format` and the members are those of `content.Content`."""

    def __init__(self, file: File) -> None:
        """Parse the text."""
        self._file = file
        raw = file.content(Watch(file))
        if not raw.strip():
            raise InputError("the input is empty: expected a tensor", rule="format")
        self.names: Sequence[str] | None = None
        self.format = "json"
        self._value: Any = None
        self._quick = False
        self._array = fast.plain_array(raw) if len(raw) >= fast.LONG else None
        if self._array is not None:
            return
        self._parse(raw)
        value: Any = self._value
        one = not isinstance(value, dict) or _is_typed(value)
        if not one:
            self.names = list(_members(value))
        elif isinstance(value, dict) and isinstance(value.get("name"), str):
            self.names = [value["name"]]
        if isinstance(value, dict) and (one or _is_message(value)):
            self.format = "oip"

    def _parse(self, raw: bytes, *, strictly: bool = False) -> None:
        """Parse the text, in the strict way if the fast one is not asked or cannot."""
        self._array, self._quick = None, False
        if len(raw) >= fast.LONG and not strictly:
            self._value = fast.parse(raw)
            self._quick = self._value is not None
            if self._quick:
                return
        try:
            self._value = parse(raw)
        except InputError as error:
            _advise(error, self._file)
            raise

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Read the tensor, as text has no header."""
        tensor = self.tensor(key, declared, FLOAT64)
        return Layout(tensor.dtype, tensor.shape, tensor.storage)

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Make the tensor `key` of the document.

        Raises
        ------
        InputError
            ``json``, ``dtype``, ``ragged``.
        """
        if self._array is not None:
            from gathercli.arrays.tensor import Tensor, dtype_of

            own = dtype_of(self._array.dtype)
            if key is None and own is not None and declared in (None, own) and self._array.size:
                decided = path("$", 0, self._array.shape)
                return Tensor(own, self._array, declared is not None, decided)
            self._parse(self._file.content())
        if self._quick:
            try:
                found = self._tensor(key, declared, empty)
            except GatherError:
                found = None  # the strict way knows what to say
            if found is not None and fast.certain(found):
                return found
            self._parse(self._file.content(), strictly=True)
        return self._tensor(key, declared, empty)

    def _tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        return tensor(
            self._value,
            key,
            declared=declared,
            empty=empty,
            max_bytes=self._file.limit,
            name=self._file.name,
        )


class Watch:
    """Refuses text that is none, or is more than memory holds, before all of it is read."""

    marks: Sequence[bytes] = (b",", b"[", b":", b":")
    """What is beside every value."""

    def __init__(self, file: File) -> None:
        self.file, self._limit = file, file.limit
        self.size = self._found = 0
        self._width, self._string_width = 1, 0
        # Nothing need be counted where even nothing but marks would be let through.
        most = file.size * (1 + 2 * _WIDEST + 2 * _VALUE_BYTES) if file.regular else None
        self._counts = self._limit is not None and (most is None or most > self._limit)
        self._probed = file.regular

    def __call__(self, part: bytes) -> None:
        """Look at the next part."""
        if b"\0" in part:
            from gathercli.io.formats.foreign import refuse_binary

            refuse_binary(self.file, part)
        self.size += len(part)
        if self._counts:
            self._found += sum(fast.count(part, mark) for mark in self.marks)
            self._width = max(self._width, _width(part))
            if b'"' in part:
                wide = _WIDEST if b"\\u" in part else self._width
                self._string_width = max(self._string_width, wide)
            # As it came, as text, and perhaps as one long string, of which one character may make
            # all wide.
            copies = 1 + self._width + self._string_width
            needed = self.size * copies + self._found * _VALUE_BYTES
            if self._limit is not None and needed > self._limit:
                what = f"{self.size} bytes of the text take {needed} when they are parsed"
                raise self.file.over(what, needed)
        if not self._probed and self.size >= _PROBE:  # a stream may have no end
            self._probed = True
            self.probe(self.file.start(_PROBE))

    def probe(self, start: bytes) -> None:
        """Refuse a text whose start is none, whatever follows."""
        _probe(start)


def _width(part: bytes) -> int:
    """Return the bytes of memory that Python takes for each character of a text in UTF-8."""
    top = fast.largest(part)
    return _WIDEST if top >= 0xF0 else 2 if top >= 0xC4 else 1


def _probe(start: bytes) -> None:
    """Refuse a text whose start is no JSON, whatever follows."""
    text = start.rstrip(bytes(range(0x80, 0x100)))  # perhaps cut within a character
    try:
        _load(text.decode(errors="replace"), "json")
    except json.JSONDecodeError as error:
        if error.pos < len(text) - 100 and "Unterminated" not in error.msg:
            parse(text)
    except (RecursionError, ValueError):
        parse(text)


def _advise(error: InputError, file: File) -> None:
    """Say what is no JSON, where that is known, and how it is read or converted."""
    from gathercli.io.formats import foreign

    start = file.start(4096)
    if file.name == "-" and (name := _file_in(start)):
        error.hint = Hint("did you mean {source} in the place of `-`?", source=name)
        return
    kind = foreign.text_kind(file.name, start)
    if start.lstrip()[:1] in (b"[", b"{") and kind is None:
        return
    if "UTF-8" in error.message:
        error.hint = foreign.raw(file)
    if kind is not None:
        error.message, error.rule = f"the input is {kind}: expected {foreign.READ}", "format"
    if error.rule == "json" and file.regular and foreign.is_bare(start):
        error.hint = foreign.piped(file.name)
    elif kind is None and error.rule == "json" and b"," in start.split(b"\n")[0]:
        error.hint = foreign.table(file.name, file.start(foreign.SAMPLE), "a .csv file")
    elif kind is not None:
        error.hint = foreign.text_conversion(file, kind)


def _file_in(start: bytes) -> str | None:
    """Return the name that is all of a text, if there is such a file."""
    name = os.fsdecode(start.strip())
    there = os.path.isfile(name) or os.path.isfile(name.rpartition("#")[0])
    return name if there and "\n" not in name else None


def parse(raw: bytes | str, *, rule: str = "json") -> Any:
    """Parse JSON text.

    Parameters
    ----------
    raw
        UTF-8, with or without a byte order mark; NaN and Infinity may be bare.
    rule
        The rule to name when the text is malformed.

    Raises
    ------
    InputError
        `rule`, with the line and column or the byte.
    """
    text = decoded(raw, rule) if isinstance(raw, bytes) else raw
    try:
        return _load(text, rule)
    except json.JSONDecodeError as error:
        what, error = _malformed(error)
        place = f"line {error.lineno}, column {error.colno}"
        start = text[error.pos : error.pos + 10]
        found = f"`{clean(start.translate(_BLANKS))}`" if start else "its end"
        raise InputError(
            f"{what} at {place}, where the text has {found}: expected JSON",
            rule=rule,
            where=place,
            value=start or None,
            hint=next((hint for twin, hint in _TWINS if re.match(twin, start)), None),
        ) from None
    except RecursionError:
        raise InputError(
            f"brackets are nested too deeply: expected at most {MAX_RANK} dimensions",
            rule=rule,
            expected=f"rank at most {MAX_RANK}",
        ) from None
    except ValueError as error:  # the interpreter's limit on the digits of an integer
        if isinstance(error, InputError):
            raise
        raise InputError(
            "an integer has more than 4300 digits: expected one that a type can hold",
            rule="dtype",
        ) from None


def _load(text: str, rule: str) -> Any:
    if fast.is_deep(text):
        raise RecursionError
    return json.loads(
        text,
        parse_constant=NON_FINITE.__getitem__,
        parse_float=_number,
        object_pairs_hook=partial(_unique, rule),
    )


def decoded(raw: bytes, rule: str) -> str:
    """Decode UTF-8 text, with or without a byte order mark.

    Raises
    ------
    InputError
        `rule`, with the first byte that is none.
    """
    text = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        at = error.start + len(raw) - len(text)
        raise InputError(
            f"byte {at} is 0x{raw[at]:02x}: expected UTF-8 text",
            rule=rule,
            where=f"byte {at}",
        ) from None


_BLANKS: Final = {ord(blank): f"\\{letter}" for blank, letter in zip("\n\r\t", "nrt", strict=True)}
"""How blanks that break a message are shown in it."""


def _malformed(error: json.JSONDecodeError) -> tuple[str, json.JSONDecodeError]:
    """Say what is wrong in words that no Python changes, and at the place that all mean."""
    if error.msg.startswith("Illegal trailing comma"):  # which Python 3.13 says of the comma
        rest = error.doc[error.pos + 1 :].lstrip(" \t\r\n")
        wanted = _NAME if rest.startswith("}") else _VALUE
        error = json.JSONDecodeError(wanted, error.doc, len(error.doc) - len(rest))
    words = (ours for start, ours in _WORDS.items() if error.msg.startswith(start))
    return next(words, "malformed text"), error


def _number(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else Overflow(digits)


def _unique(rule: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(
                f"the key {json.dumps(key)} is repeated: expected it once",
                rule=rule,
                where=key,
            )
        found[key] = value
    return found


def tensor(
    value: Any,
    key: str | None,
    *,
    declared: DType | None,
    empty: DType,
    max_bytes: int | None,
    name: str | None,
) -> Tensor:
    """Make a tensor of a parsed JSON document.

    Parameters
    ----------
    value
        A plain nested list; a typed tensor ``{"shape","datatype","data"}``; an inference request
        or response of typed tensors; an object whose values are any of these.
    key
        Which tensor of a document that holds several.
    declared
        The type of plain lists that name none.
    empty
        The type of a list without elements, when none is declared.
    name
        How the user named the document, for the hint; None for a literal.

    Raises
    ------
    InputError
        ``json``, ``dtype``, ``ragged``.
    """
    from gathercli.io.formats.values import tensor_of

    root = "$"
    if isinstance(value, dict):
        value, root = _chosen(value, key, name)
    elif key is not None:
        raise InputError(
            f"the document is no object: expected one with the key {json.dumps(key)}",
            rule="json",
            value=key,
            hint=Hint("a plain list is read without a key: {source}", source=name or ""),
        )
    if isinstance(value, dict):
        return typed(value, root, max_bytes=max_bytes)
    return tensor_of(value, declared=declared, empty=empty, root=root, max_bytes=max_bytes)


def _chosen(document: dict[str, Any], key: str | None, name: str | None) -> tuple[Any, str]:
    """Find the tensor `key` of a document, or its only one; and the path that leads there."""
    if _is_typed(document) and (key is None or document.get("name") == key):
        return document, "$"
    if key is not None and key in document and not _is_message(document):
        return document[key], f"$.{key}"  # however many others there are
    members = _members(document)
    if key is None and len(members) == 1:
        return next(iter(members.values()))
    if key is not None and key in members:
        return members[key]
    names = some(map(json.dumps, members))
    raise InputError(
        f"the document holds {names}: expected "
        + (f"the key {json.dumps(short(key))}" if key else "one tensor, or the key of one"),
        rule="json",
        value=key,
        expected=names,
        hint=key_hint(name, key, members, "tensor") if name else None,
    )


def _members(document: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """Find the tensors of a document and the paths that lead to them."""
    if not _is_message(document):
        return {key: (value, f"$.{key}") for key, value in document.items()}
    members: dict[str, tuple[Any, str]] = {}
    for group in filter(document.__contains__, _GROUPS):
        for at, each in enumerate(document[group]):
            name, where = str(each.get("name", at)), f"$.{group}[{at}]"
            if name in members:
                raise InputError(
                    f"the tensor at `{where}` is named {json.dumps(name)}, "
                    f"as the one at `{members[name][1]}`: expected every name once",
                    rule="json",
                    where=where,
                    value=name,
                )
            members[name] = each, where
    return members


def _is_message(document: dict[str, Any]) -> bool:
    """Tell whether a document is an inference request or response: lists of typed tensors."""
    groups = [document[group] for group in _GROUPS if group in document]
    told = any(groups) or (bool(groups) and document.keys() <= set(_GROUPS))
    return told and all(
        isinstance(group, list) and all(isinstance(each, dict) for each in group)
        for group in groups
    )


def _is_typed(value: dict[str, Any]) -> bool:
    return "datatype" in value or "dtype" in value or ("data" in value and "shape" in value)


def typed(value: dict[str, Any], root: str, *, max_bytes: int | None) -> Tensor:
    """Make a tensor of ``{"datatype"|"dtype","shape","data"}``, `data` nested or flat."""
    from gathercli.io.formats.values import tensor_of

    missing = [key for key in ("datatype", "data") if key not in value]
    if "dtype" in value:
        missing = missing[1:] if "datatype" in missing else missing
    if missing:
        keys = listed(map(json.dumps, missing), "and")
        raise InputError(
            f"the object at `{root}` is no tensor: expected the key{'s' * (len(missing) > 1)} "
            f"{keys}",
            rule="json",
            where=root,
        )
    dtype = dtype_in_json(value.get("datatype", value.get("dtype")), root)
    shape = value.get("shape")
    if shape is not None:
        shape = _shape(shape, f"{root}.shape")
    data = value["data"]
    if shape and not isinstance(data, list):
        raise InputError(
            f"the value at `{root}.data` is {shown(data)}: expected a list",
            rule="json",
            where=f"{root}.data",
            value=shown(data),
        )
    return tensor_of(data, declared=dtype, shape=shape, root=f"{root}.data", max_bytes=max_bytes)


def _shape(sizes: Any, where: str) -> tuple[int, ...]:
    good = isinstance(sizes, list) and all(
        type(size) is int and 0 <= size <= LARGEST for size in sizes
    )
    if not good:
        raise InputError(
            f"the shape at `{where}` is {shown(sizes)}: expected a list of sizes",
            rule="json",
            where=where,
        )
    return tuple(sizes)
