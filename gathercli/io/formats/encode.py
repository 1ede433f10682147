"""Tensors to text and bytes: plain JSON, Open Inference Protocol, literals, .npy and .npz.

Floats are written with the shortest digits that read back to the same value of their type; those
of float16 and bfloat16 as the float32 that equals them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from gathercli.arrays.tensor import Tensor
from gathercli.errors import InputError, LimitError
from gathercli.io.formats import fast, npy
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.dtypes import STRING, DType, Kind
from gathercli.spec.shapes import product
from gathercli.text import json_string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO, Protocol

    from gathercli.arrays.result import Result
    from gathercli.arrays.tensor import AnyArray

    class ByteTarget(Protocol):
        """What takes bytes in order, and perhaps a whole result in its place."""

        def write(self, part: bytes | memoryview, /) -> object:
            """Append bytes."""

        def place(self, result: Result, /) -> bool:
            """Append the elements of a result by its threads; say if that was possible."""


Named: TypeAlias = "tuple[str, Result]"
"""A tensor and the name it has in a file of several."""

NONFINITE: Final[dict[str, dict[str, str]]] = {
    "quoted": {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'},
    "bare": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"},
    "null": dict.fromkeys(("nan", "inf", "-inf"), "null"),
    "error": {},
}
"""How JSON carries NaN and the infinities, by the value of `--nonfinite`."""


class TextOptions(NamedTuple):
    """What is asked of text.

    Attributes
    ----------
    nonfinite
        A key of `NONFINITE`.
    parameters
        What ``oip`` notes about the results.
    max_bytes
        The text of an empty tensor that is accepted; None for any.
    """

    nonfinite: str = "quoted"
    parameters: dict[str, Any] | None = None
    max_bytes: int | None = None


_ROWS: Final = 1024
"""Rows of text joined before they are handed on."""

_ENTRY: Final = 1 << 16
"""Elements up to which lists in lists are written at once."""


def digits(values: AnyArray) -> list[str]:
    """Write float32 or float64 values with the fewest digits that read back the same."""
    import numpy as np

    if values.dtype.itemsize == 8:
        return list(map(repr, values.tolist()))
    # numpy finds the digits; Python writes them, as numpy's own style varies with its version.
    many = values.nbytes >= fast.LONG
    short = fast.shortest(values) if many else list(map(float, map(str, values)))
    texts = list(map(repr, short))
    # Readers go through float64, where a few of the shortest digits round to a neighbour.
    with np.errstate(over="ignore", under="ignore"):
        read = np.array(short, np.float64).astype(np.float32)
    for at in np.flatnonzero((read != values) & (values == values)):  # noqa: PLR0124  (no NaN)
        texts[at] = repr(float(values[at]))
    return texts


def _floats(values: AnyArray) -> list[str]:
    import numpy as np

    return digits(values.astype(np.float32) if values.dtype == np.float16 else values)


Pair: TypeAlias = "Callable[[str, str], str]"


def _words(dtype: DType, block: AnyArray, number: dict[str, str], pair: Pair) -> list[str]:
    """Write the elements of a block one by one; `number` renames what is not finite."""
    values = Tensor(dtype, block).values()
    if dtype.kind is Kind.BOOL:
        return ["true" if value else "false" for value in values.tolist()]
    if dtype is STRING:
        return list(map(json_string, values.tolist()))
    if dtype.kind is Kind.FLOAT:
        return [number.get(text, text) for text in _floats(values)]
    if dtype.kind is Kind.COMPLEX:
        parts = zip(_floats(values.real), _floats(values.imag), strict=True)
        return [pair(number.get(re, re), number.get(im, im)) for re, im in parts]
    return list(map(str, values.tolist()))


def json_words(tensor: Tensor) -> list[str]:
    """Write each element of a tensor, shape (N,), as JSON."""
    return _words(tensor.dtype, tensor.array, NONFINITE["quoted"], _pair)


def _pair(re: str, im: str) -> str:
    return f"[{re},{im}]"


def _sum(re: str, im: str) -> str:
    return f"{re}{im if im[0] == '-' else '+' + im}j"


def _nested(
    result: Result, write: Callable[[AnyArray], str], lists: Lists, most: int | None
) -> Iterator[str]:
    """Write a tensor as lists in lists, block by block.

    Parameters
    ----------
    write
        Writes blocks of whole entries, shape (N, D..), as `lists` would join them.
    most
        How many bytes the brackets of an empty tensor may take.
    """
    shape = result.shape
    if 0 in shape:
        yield from _empty(list(shape[: list(shape).index(0)]), lists, most)
        return
    depth = len(shape)
    while depth > 1 and product(shape[depth - 1 :]) <= _ENTRY:
        depth -= 1
    entry = shape[depth:]
    *outer, width = shape[:depth] or (1,)
    join = lists.between if entry else lists.comma
    at = 0
    for block in _whole_entries(result.blocks(), product(entry)):
        entries = block.reshape(-1, *entry)
        pieces, start, count = list[str](), 0, len(entries)
        while start < count:
            row, column = divmod(at + start, width)
            stop = min(start + width - column, count)
            opened = _turns(row, outer) + 1 if depth and not column else 0
            pieces.append((join if column else lists.between if row else "") + "[" * opened)
            pieces.append(write(entries[start:stop]))
            ended = depth and column + stop - start == width
            pieces.append("]" * (_turns(row + 1, outer) + 1 if ended else 0))
            start = stop
        at += count
        yield "".join(filter(None, pieces))  # a single one is not copied


def _whole_entries(blocks: Iterable[AnyArray], size: int) -> Iterator[AnyArray]:
    """Cut blocks anew, so that each holds whole entries of `size` elements."""
    import numpy as np

    rest: AnyArray | None = None
    for block in blocks:
        joined = block if rest is None else np.concatenate((rest, block))
        whole = joined.size // size * size
        if whole:
            yield joined[:whole]
        rest = joined[whole:].copy() if whole < joined.size else None


class Lists(NamedTuple):
    """What stands between the elements of a list, and between lists."""

    comma: str
    between: str

    def join(self, words: list[str], shape: Sequence[int]) -> str:
        """Join the words of entries, each of `shape`."""
        join = self.comma
        for size in reversed(shape):
            words = [f"[{join.join(words[at : at + size])}]" for at in range(0, len(words), size)]
            join = self.between
        return join.join(words)


def _empty(lead: Sequence[int], lists: Lists, most: int | None) -> Iterator[str]:
    """Write the brackets of a tensor without elements, whose first dimensions are `lead`."""
    count = product(lead)
    if most is not None and count * 3 > most:
        raise LimitError(
            f"the brackets of the empty result take {count * 3} bytes: "
            f"expected at most {most} bytes",
            rule="limit",
            value=count * 3,
            expected=f"at most {most} bytes",
            hint="npy and oip keep its shape",
        )
    # a row of [] for each of the last of them, as if they were words
    *outer, width = lead or (1,)
    for row in range(count // width):
        opened, ended = (_turns(each, outer) + bool(lead) for each in (row, row + 1))
        yield (lists.between if row else "") + "[" * opened
        for start in range(0, width, _ROWS):
            words = ["[]"] * min(_ROWS, width - start)
            yield (lists.between if start else "") + lists.between.join(words)
        yield "]" * ended


def _turns(row: int, outer: Sequence[int]) -> int:
    """Count the outer lists that start (or have just ended) at a row."""
    turns = 0
    for size in reversed(outer):
        row, rest = divmod(row, size)
        if rest:
            break
        turns += 1
    return turns


_COMMAS: Final = Lists(",", ",")


def _json_writer(result: Result, number: dict[str, str]) -> Callable[[AnyArray], str]:
    """Return what writes entries of a result as JSON, shape (N, D..), with commas between."""
    dtype = result.dtype

    def one_by_one(entries: AnyArray) -> str:
        words = _words(dtype, entries.reshape(-1), number, _pair)
        return _COMMAS.join(words, entries.shape[1:])

    def at_once(entries: AnyArray) -> str:
        values = Tensor(dtype, entries).values()
        if values.dtype.itemsize == 2 and values.dtype.kind == "f":
            values = values.astype(np.float32)
        return fast.text(values, odd)

    def odd(values: AnyArray) -> list[str]:
        return [number.get(text, text) for text in digits(values)]

    if product(result.shape) < fast.LONG or dtype.kind in (Kind.COMPLEX, Kind.STRING):
        return one_by_one
    import numpy as np

    return at_once


def plain_json(results: Sequence[Named], options: TextOptions) -> Iterator[str]:
    """Write the nested list of one tensor, or an object of several, on one line, block by block.

    Raises
    ------
    InputError
        ``json``: a value is not finite and `options.nonfinite` is ``error``.
    """
    _check_finite(results, options.nonfinite)
    number = NONFINITE[options.nonfinite]
    several = len(results) != 1
    for at, (name, result) in enumerate(results):
        if several:
            yield ("," if at else "{") + json_string(name) + ":"
        yield from _nested(result, _json_writer(result, number), _COMMAS, options.max_bytes)
    yield "}\n" if several else "\n"


def oip(results: Sequence[Named], options: TextOptions) -> Iterator[str]:
    """Write an Open Inference Protocol response; the parameters go to every output, if any."""
    import json

    _check_finite(results, options.nonfinite)
    number = NONFINITE[options.nonfinite]
    yield '{"outputs":['
    for at, (name, result) in enumerate(results):
        dtype = result.dtype
        fields: dict[str, Any] = {"name": name, "shape": list(result.shape), "datatype": dtype.oip}
        if options.parameters:
            fields["parameters"] = options.parameters
        head = json.dumps(fields, separators=(",", ":"))
        yield ("," if at else "") + head[:-1] + ',"data":['
        yield from _flat(result, number)
        yield "]}"
    yield "]}\n"


def typed(result: Result) -> Iterator[str]:
    """Write ``{"shape","datatype","data"}``, the data flat, block by block."""
    import json

    fields = {"shape": list(result.shape), "datatype": result.dtype.oip}
    yield json.dumps(fields, separators=(",", ":"))[:-1] + ',"data":['
    yield from _flat(result, NONFINITE["quoted"])
    yield "]}"


def _flat(result: Result, number: dict[str, str]) -> Iterator[str]:
    """Write all elements with commas between, block by block."""
    write = _json_writer(result, number)
    for at, block in enumerate(result.blocks()):
        yield ("," if at else "") + write(block)


def literal(results: Sequence[Named], options: TextOptions) -> Iterator[str]:
    """Write the typed literal that reads back to the same tensor."""
    ((_, result),) = results
    yield "x".join([*map(str, result.shape), ""]) or "x"
    yield f"{result.dtype.short}="
    lists = Lists(" ", "")

    def write(entries: AnyArray) -> str:
        words = _words(result.dtype, entries.reshape(-1), {}, _sum)
        return lists.join(words, entries.shape[1:])

    yield from _nested(result, write, lists, options.max_bytes)
    yield "\n"


def _check_finite(results: Sequence[Named], nonfinite: str) -> None:
    """Refuse, before the first byte, a value that JSON has no number for."""
    import numpy as np

    for name, result in results if nonfinite == "error" else ():
        if result.dtype.kind not in (Kind.FLOAT, Kind.COMPLEX):
            continue
        start = 0
        for block in result.blocks():
            wrong = ~np.isfinite(Tensor(result.dtype, block).values())
            if wrong.any():
                at = int(wrong.argmax())
                (value,) = _words(result.dtype, block[at : at + 1], {}, _sum)
                where = cell(coordinate(start + at, result.shape))
                raise _not_finite("the result" if len(results) == 1 else f"`{name}`", value, where)
            start += block.size


def _not_finite(what: str, value: str, where: str) -> InputError:
    return InputError(
        f"{what} has {value} at `{where}`, which `--nonfinite error` refuses: "
        "expected finite numbers",
        rule="json",
        where=where,
        value=value,
        expected="finite numbers",
    )


def npy_file(results: Sequence[Named], out: ByteTarget) -> None:
    """Write a .npy file of one tensor."""
    ((_, result),) = results
    _npy(result, out)


def _npy(result: Result, out: ByteTarget) -> None:
    """Write a header, then the elements."""
    out.write(npy.encode_header(result.dtype, result.storage, result.shape))
    _elements(result, out)


def _elements(result: Result, out: ByteTarget) -> None:
    """Write the elements as they are in memory: at once by threads, or block by block."""
    if out.place(result):
        return
    for block in result.blocks():
        for part in raw_bytes(block):
            out.write(part)


def raw_bytes(block: AnyArray) -> Iterator[memoryview]:
    """Give the bytes of a block, if it has any."""
    import numpy as np

    if block.size and block.dtype.itemsize:
        yield np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def raw_file(results: Sequence[Named], out: ByteTarget) -> None:
    """Write a file of the bare elements of one tensor, as `raw_elements` does."""
    ((_, result),) = results
    raw_elements(result, out)


def raw_elements(result: Result, out: ByteTarget) -> None:
    """Write the bare elements, little-endian.

    Raises
    ------
    InputError
        ``dtype``: strings have no fixed size that a reader could know.
    """
    if result.dtype is STRING:
        raise InputError(
            "strings cannot be written as raw bytes: expected numbers or booleans",
            rule="dtype",
            value=result.dtype.name,
        )
    if sys.byteorder == "little":
        _elements(result, out)
        return
    for block in result.blocks():
        for part in raw_bytes(block.astype(block.dtype.newbyteorder("<"), copy=False)):
            out.write(part)


def npz(results: Sequence[Named], out: ByteTarget) -> None:
    """Write an archive of stored members, the same bytes for the same tensors."""
    import zipfile

    sink = _Sink(out)
    with zipfile.ZipFile(sink, "w") as archive:
        for name, result in results:
            info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: nothing depends on the clock
            with archive.open(info, "w", force_zip64=True) as stream, sink:
                _npy(result, _Member(stream))


class _Member:
    """A member of an archive, which takes its bytes in order."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write

    def place(self, result: Result, /) -> bool:
        """Say that it takes no blocks out of order: it counts a checksum."""
        del result
        return False


class _Sink:
    """The little of a file that zipfile needs to write forwards.

    As a context it drops what zipfile writes after a failure, which would end the archive soundly.
    """

    def __init__(self, out: ByteTarget) -> None:
        self._out: ByteTarget | None = out

    def write(self, part: bytes, /) -> int:
        """Hand `part` on."""
        if self._out is not None:
            self._out.write(part)
        return len(part)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._out = None

    def flush(self) -> None:
        """Do nothing: the writer keeps no buffer."""

    close = flush
