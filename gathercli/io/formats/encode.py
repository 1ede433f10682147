"""Write tensors as text: plain JSON, the Open Inference Protocol, literals.

Floats have the shortest digits that read back to the same value of their type; float16 and bfloat16
are written as float32.
"""

from __future__ import annotations

import os
import stat

from gathercli.compute.tensor import Result, Tensor, element_texts
from gathercli.errors import InputError, LimitError
from gathercli.io.descriptors import STDOUT
from gathercli.records import NamedTuple
from gathercli.spec.dtypes import BOOL, FLOAT64, INT64, STRING, UINT64, DType, Kind
from gathercli.spec.shapes import cell, coordinates, product
from gathercli.text import in_bytes, json_string

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Final, TypeAlias

    from gathercli.compute.storage import AnyArray
    from gathercli.io.formats.npy import NamedResult

_NONFINITE_WORDS: Final = ("nan", "inf", "-inf")
# The JSON of NaN and the infinities, by the value of `--nonfinite`.
NONFINITE: Final[dict[str, dict[str, str]]] = {
    "quoted": {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'},
    "bare": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"},
    "null": dict.fromkeys(_NONFINITE_WORDS, "null"),
    "error": {},
}


class TextOptions(NamedTuple):
    """Options of text formats."""

    nonfinite: str = "quoted"  # a key of `NONFINITE`
    parameters: dict[str, Any] | None = None  # of ``oip`` outputs
    max_bytes: int | None = None  # the longest text of an empty tensor


LONG_RESULT: Final = 1 << 16  # elements, or their bytes, from which orjson is worth its import
LONG_IN_C: Final = 1 << 9  # elements of these kinds from which the kernel in C is
_KINDS_IN_C: Final = (Kind.FLOAT, Kind.COMPLEX, Kind.STRING)
_MAX_ENTRY: Final = 1 << 16  # the most elements of a list written at once
# Magnitudes of floats that orjson writes as Python does: without exponent, the shortest digits.
# They also read back through float64: the shortest digits of a float32 are at most 9, and without
# an exponent they are more than half a step of float64 away from the middle between two float32.
_PLAIN_MAGNITUDES: Final = (1e-4, 1e9)
# Numbers written at a time: their text stays in the cache, and its memory is used again.
NUMBERS_AT_ONCE: Final = 1 << 15


def digits(values: AnyArray) -> list[str]:
    """Write float32 or float64 values, shape (N,), with the shortest digits that read back."""
    import numpy as np

    if len(values) >= LONG_IN_C and (write := _json_lists()):
        words = tuple(word.encode() for word in _NONFINITE_WORDS)
        return (write(np.ascontiguousarray(values), words) or b"")[1:-1].decode().split(",")
    if values.dtype.itemsize == 8:
        return list(map(repr, values.tolist()))
    # numpy computes the digits; Python formats them, as numpy's format depends on its version.
    floats = list(map(float, map(str, values)))
    texts = list(map(repr, floats))
    # Readers parse float64, from which a few of the shortest digits round to a neighbour.
    with np.errstate(over="ignore", under="ignore"):
        back = np.array(floats, np.float64).astype(np.float32)
    for at in np.flatnonzero((back != values) & (values == values)):  # noqa: PLR0124  (no NaN)
        texts[at] = repr(float(values[at]))
    return texts


Piece: TypeAlias = "bytes | memoryview"  # a piece of text, in UTF-8


class Notation(NamedTuple):
    """How elements and lists are written: in JSON, or in literals."""

    nonfinite: dict[str, str]  # the texts of NaN and the infinities
    comma: str = ","  # between elements
    between: str = ","  # between lists
    is_json: bool = True

    def texts(self, dtype: DType, block: AnyArray) -> list[str]:
        """Write the elements of a block, shape (N,), one by one."""
        values = Tensor(dtype, block).values()
        if dtype.kind is Kind.BOOL:
            return ["true" if value else "false" for value in values.tolist()]
        if dtype is STRING:
            return list(map(json_string, values.tolist()))
        if dtype.kind is Kind.FLOAT:
            return self.floats(values)
        if dtype.kind is Kind.COMPLEX:
            parts = zip(self.floats(values.real), self.floats(values.imag), strict=True)
            if self.is_json:
                return [f"[{re},{im}]" for re, im in parts]
            return [f"{re}{im if im[0] == '-' else '+' + im}j" for re, im in parts]
        return list(map(str, values.tolist()))

    def floats(self, values: AnyArray) -> list[str]:
        """Write floats, shape (N,)."""
        import numpy as np

        values = values.astype(np.float32) if values.dtype == np.float16 else values
        return [self.nonfinite.get(text, text) for text in digits(values)]

    def entries(self, dtype: DType, entries: AnyArray) -> Iterator[Piece]:
        """Write entries, shape (N, D..), element by element."""
        texts = self.texts(dtype, entries.reshape(-1))
        yield self.join(texts, entries.shape[1:]).encode()

    def long_entries(self, dtype: DType, entries: AnyArray) -> Iterator[Piece]:
        """Write entries as `entries` does, as JSON and many at once."""
        import numpy as np

        values = np.ascontiguousarray(Tensor(dtype, entries).values())
        if values.dtype.itemsize == 2 and values.dtype.kind == "f":
            values = values.astype(np.float32)
        elif values.dtype.kind == "c":  # a list of two numbers
            values = values[..., None].view(f"f{values.dtype.itemsize // 2}")
        write = _json_lists() if values.dtype.kind in "fU" else None
        words = tuple(self.nonfinite.get(word, word).encode() for word in _NONFINITE_WORDS)
        if write and (raw := write(values, words)):
            yield memoryview(raw)[1:-1]
        elif dtype is STRING:
            yield json_string(values.tolist())[1:-1].encode()
        else:
            yield from number_texts(values, self.floats)

    def join(self, texts: list[str], shape: Sequence[int]) -> str:
        """Join the texts of the elements of entries, each of shape `shape`, with brackets."""
        join = self.comma
        for size in reversed(shape):
            texts = [f"[{join.join(texts[at : at + size])}]" for at in range(0, len(texts), size)]
            join = self.between
        return join.join(texts)


_LITERAL: Final = Notation({}, " ", "", is_json=False)


def json_text(tensor: Tensor, nonfinite: str = "bare") -> str:
    """Write a tensor as JSON on a line."""
    return b"".join(plain_json([("value", tensor)], TextOptions(nonfinite))).decode().rstrip("\n")


def json_texts(tensor: Tensor) -> list[str]:
    """Write each element of a tensor, shape (N,), as JSON."""
    return Notation(NONFINITE["quoted"]).texts(tensor.dtype, tensor.array)


def number_texts(
    values: AnyArray, special: Callable[[AnyArray], list[str]]
) -> Iterator[bytes | memoryview]:
    """Write numbers or booleans as JSON entries, separated by commas, and yield the text in pieces.

    The values, shape (N, D..), are float32, float64, of an integer type or bool, in native byte
    order; `special` writes those, shape (N,), that orjson writes in another way than Python.
    """
    import numpy as np
    import orjson

    texts = list[str]()
    if values.dtype.kind == "f":
        magnitude = np.abs(values)
        is_special = ~((magnitude >= _PLAIN_MAGNITUDES[0]) & (magnitude < _PLAIN_MAGNITUDES[1])) & (
            values != 0
        )
        if is_special.any():
            texts = special(values[is_special])
            values = np.where(is_special, values.dtype.type("nan"), values)
    raw = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
    view, start = memoryview(raw), 1
    for text in texts:  # in their place is null, and there is no other "n"
        at = raw.index(b"n", start)  # a search for "null" takes 70 times as long
        yield view[start:at]
        yield text.encode()
        start = at + len("null")
    yield view[start:-1]


def _json_lists() -> Callable[[AnyArray, tuple[bytes, ...]], bytearray | None] | None:
    """Return the function in C that writes floats and text; None if built without."""
    try:
        from gathercli.compute._native import json_lists
    except ImportError:
        return None
    return json_lists


def _nested(
    result: Result, shape: Sequence[int], notation: Notation, max_bytes: int | None = None
) -> Iterator[Piece]:
    """Write a tensor as nested lists of a shape, by blocks; empty lists may take `max_bytes`."""
    dtype = result.dtype
    if 0 in shape:
        shape = shape[: shape.index(0)]
        _check_brackets(product(shape), max_bytes)
        # The innermost lists, all empty, are written as elements.
        notation = notation._replace(comma=notation.between)
        yield from _lists(
            shape, notation, lambda *of: [notation.join(["[]"] * product(of), of[1:]).encode()]
        )
        return
    texts = element_texts(dtype, result.raw, notation.nonfinite)
    if texts is not None:
        yield notation.join(texts, shape).encode()
        return
    write, size = notation.entries, product(shape)
    in_c = size >= LONG_IN_C and dtype.kind in _KINDS_IN_C and _json_lists()
    if notation.is_json and (in_c or size >= LONG_RESULT):
        write = notation.long_entries
    blocks = result.blocks()
    take = _taker(blocks)
    yield from _lists(shape, notation, lambda *of: write(dtype, take(product(of)).reshape(of)))
    next(blocks, None)  # reports the progress of the last block


def _lists(
    shape: Sequence[int], notation: Notation, write: Callable[..., Iterable[Piece]]
) -> Iterator[Piece]:
    """Write nested lists of a shape; `write` writes the next entries, N, D.., without brackets."""
    if not shape:
        yield from write(1)
        return
    size, *inner = shape
    join = (notation.between if inner else notation.comma).encode()
    is_short = product(inner) <= _MAX_ENTRY
    step = max(1, NUMBERS_AT_ONCE // product(inner)) if is_short else 1
    yield b"["
    for at in range(0, size, step):
        yield join if at else b""
        if is_short:
            yield from write(min(step, size - at), *inner)
        else:
            yield from _lists(inner, notation, write)
    yield b"]"


def _taker(blocks: Iterator[AnyArray]) -> Callable[[int], AnyArray]:
    """Return a function that returns the next elements of blocks, as many as it is asked for."""
    import numpy as np

    rest = next(blocks)

    def take(number: int) -> AnyArray:
        nonlocal rest
        parts: list[AnyArray] = []
        while rest.size < number:
            parts.append(rest.copy())  # a block is valid until the next
            number -= rest.size
            rest = next(blocks)
        part, rest = rest[:number], rest[number:]
        return np.concatenate([*parts, part]) if parts else part

    return take


def _check_brackets(count: int, limit: int | None) -> None:
    if limit is not None and count * 3 > limit:
        what = f"the brackets of the empty result take {in_bytes(count * 3)}"
        hint = "npy and oip keep its shape"
        raise LimitError(what, value=count * 3, expected=f"at most {in_bytes(limit)}", hint=hint)


def plain_json(results: Sequence[NamedResult], options: TextOptions) -> Iterator[Piece]:
    """Write one tensor as nested lists, or several as an object, on one line, block by block."""
    _check_finite(results, options.nonfinite)
    notation = Notation(NONFINITE[options.nonfinite])
    several = len(results) != 1
    for at, (name, result) in enumerate(results):
        if several:
            yield f"{',' if at else '{'}{json_string(name)}:".encode()
        yield from _nested(result, result.shape, notation, options.max_bytes)
    yield b"}\n" if several else b"\n"


def oip(results: Sequence[NamedResult], options: TextOptions) -> Iterator[Piece]:
    """Write an Open Inference Protocol response; each output has the parameters."""
    _check_finite(results, options.nonfinite)
    yield b'{"outputs":['
    for at, (name, result) in enumerate(results):
        fields = {"name": name} | _header(result)
        if options.parameters:
            fields["parameters"] = options.parameters
        yield b"," if at else b""
        yield from _flat(fields, result, options.nonfinite)
    yield b"]}\n"


def typed_json(result: Result) -> str:
    """Write ``{"shape","datatype","data"}`` with a flat list."""
    return b"".join(_flat(_header(result), result, "quoted")).decode()


def _header(result: Result) -> dict[str, Any]:
    return {"shape": list(result.shape), "datatype": result.dtype.oip}


def _flat(fields: dict[str, Any], result: Result, nonfinite: str) -> Iterator[Piece]:
    """Write an object of `fields` and a flat list of the elements, block by block."""
    import json

    yield (json.dumps(fields, separators=(",", ":"))[:-1] + ',"data":').encode()
    yield from _nested(result, (product(result.shape),), Notation(NONFINITE[nonfinite]))
    yield b"}"


def literal(results: Sequence[NamedResult], options: TextOptions) -> Iterator[Piece]:
    """Write a typed literal that reads back to the same tensor."""
    ((_, result),) = results
    sizes = "x".join([*map(str, result.shape), ""]) or "x"
    yield f"{sizes}{result.dtype.short}=".encode()
    yield from _nested(result, result.shape, _LITERAL, options.max_bytes)
    yield b"\n"


def _check_finite(results: Sequence[NamedResult], nonfinite: str) -> None:
    """Raise for NaN and the infinities before any output, if `nonfinite` is ``error``."""
    if nonfinite != "error":
        return
    import numpy as np

    for name, result in results:
        if result.dtype.kind not in (Kind.FLOAT, Kind.COMPLEX):
            continue
        start = 0
        for block in result.blocks():
            wrong = ~np.isfinite(Tensor(result.dtype, block).values())
            if wrong.any():
                at = int(wrong.argmax())
                (value,) = _LITERAL.texts(result.dtype, block[at : at + 1])
                where = cell(coordinates(start + at, result.shape))
                what = "the result" if len(results) == 1 else f"`{name}`"
                what = f"{what} has {value} at `{where}`, which `--nonfinite error` refuses"
                number = "finite numbers"
                raise InputError(what, rule="json", where=where, value=value, expected=number)
            start += block.size


def json_losses(result: Result, path: str | None, option: str) -> Iterator[str]:
    """Yield notes on what plain JSON does not store of a result."""
    text = "plain JSON cannot carry {}; `{} oip` and npy can"
    if result.dtype.kind is Kind.COMPLEX:
        yield text.format("complex numbers, written as [re, im]", option)
    elif 0 in result.shape[:-1]:
        yield text.format(f"the shape {cell(result.shape)}", option)
    elif result.dtype not in _KEPT_TYPES and (path is not None or _is_pipe(STDOUT)):
        back = FLOAT64 if result.dtype.kind is Kind.FLOAT else INT64
        comes = "may come" if result.dtype is UINT64 else "comes"  # it stays from 2^63 on
        yield text.format(f"the type {result.dtype}, which {comes} back as {back}", option)


_KEPT_TYPES: Final = (BOOL, INT64, FLOAT64, STRING)  # the types that plain JSON comes back with


def _is_pipe(fd: int) -> bool:
    """Return whether a program reads what is written, perhaps this one."""
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False
