"""Tensors to text and bytes: plain JSON, Open Inference Protocol, literals, .npy and .npz.

Floats are written with the shortest digits that read back to the same value of their type; those
of float16 and bfloat16 as the float32 that equals them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gathercli.core.dims import product
from gathercli.core.dtypes import STRING, DType, Kind, Tensor
from gathercli.core.positions import coordinate
from gathercli.core.text import json_string
from gathercli.errors import InputError, LimitError
from gathercli.io import npy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gathercli.core.dtypes import AnyArray
    from gathercli.engine import Run
    from gathercli.io.recast import Recast

Result: TypeAlias = "Tensor | Run | Recast"
Named: TypeAlias = "tuple[str, Result]"
"""A tensor and the name it has in a file of several."""

NONFINITE: Final[dict[str, dict[str, str]]] = {
    "quoted": {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'},
    "bare": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"},
    "null": dict.fromkeys(("nan", "inf", "-inf"), "null"),
    "error": {},
}
"""How JSON carries NaN and the infinities, by the value of `--nonfinite`."""

_ROWS: Final = 1024
"""Rows of text joined before they are handed on."""


def digits(values: AnyArray) -> list[str]:
    """Write float32 or float64 values with the fewest digits that read back the same."""
    import numpy as np

    if values.dtype.itemsize == 8:
        return list(map(repr, values.tolist()))
    # numpy finds the digits; Python writes them, as numpy's own style varies with its version.
    short = list(map(float, map(str, values)))
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


def _pair(re: str, im: str) -> str:
    return f"[{re},{im}]"


def _sum(re: str, im: str) -> str:
    return f"{re}{im if im[0] == '-' else '+' + im}j"


def _nested(
    shape: Sequence[int], blocks: Iterable[list[str]], comma: str, between: str, most: int | None
) -> Iterator[str]:
    """Put brackets around words that come block by block."""
    if 0 in shape:
        yield from _empty(shape[: list(shape).index(0)], between, most)
        return
    *outer, width = shape or (1,)
    at = 0
    for words in blocks:
        pieces, start = list[str](), 0
        while start < len(words):
            row, column = divmod(at + start, width)
            stop = min(start + width - column, len(words))
            opened = _turns(row, outer) + 1 if shape and not column else 0
            pieces.append((comma if column else between if row else "") + "[" * opened)
            pieces.append(comma.join(words[start:stop]))
            ended = shape and column + stop - start == width
            pieces.append("]" * (_turns(row + 1, outer) + 1 if ended else 0))
            start = stop
        at += len(words)
        yield "".join(pieces)


def _empty(lead: Sequence[int], between: str, most: int | None) -> Iterator[str]:
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
    steps = range(0, count, _ROWS)
    yield from _nested(
        lead, (["[]"] * min(_ROWS, count - start) for start in steps), between, between, None
    )


def _turns(row: int, outer: Sequence[int]) -> int:
    """Count the outer lists that start (or have just ended) at a row."""
    turns = 0
    for size in reversed(outer):
        row, rest = divmod(row, size)
        if rest:
            break
        turns += 1
    return turns


def plain_json(results: Sequence[Named], *, nonfinite: str, max_bytes: int | None) -> Iterator[str]:
    """Write the nested list of one tensor, or an object of several, on one line, block by block.

    Parameters
    ----------
    nonfinite
        A key of `NONFINITE`.

    Raises
    ------
    InputError
        ``json``: a value is not finite and `nonfinite` is ``error``.
    """
    _check_finite(results, nonfinite)
    number = NONFINITE[nonfinite]
    several = len(results) != 1
    for at, (name, result) in enumerate(results):
        if several:
            yield ("," if at else "{") + json_string(name) + ":"
        words = (_words(result.dtype, block, number, _pair) for block in result.blocks())
        yield from _nested(result.shape, words, ",", ",", max_bytes)
    yield "}\n" if several else "\n"


def oip(results: Sequence[Named], *, nonfinite: str, parameters: dict[str, Any]) -> Iterator[str]:
    """Write an Open Inference Protocol response; `parameters` go to every output, if any."""
    import json

    _check_finite(results, nonfinite)
    number = NONFINITE[nonfinite]
    yield '{"outputs":['
    for at, (name, result) in enumerate(results):
        dtype = result.dtype
        fields: dict[str, Any] = {"name": name, "shape": list(result.shape), "datatype": dtype.oip}
        if parameters:
            fields["parameters"] = parameters
        head = json.dumps(fields, separators=(",", ":"))
        yield ("," if at else "") + head[:-1] + ',"data":['
        for number_of, block in enumerate(result.blocks()):
            yield ("," if number_of else "") + ",".join(_words(dtype, block, number, _pair))
        yield "]}"
    yield "]}\n"


def literal(result: Result, *, max_bytes: int | None) -> Iterator[str]:
    """Write the typed literal that reads back to the same tensor."""
    yield "x".join([*map(str, result.shape), ""]) or "x"
    yield f"{result.dtype.short}="
    words = (_words(result.dtype, block, {}, _sum) for block in result.blocks())
    yield from _nested(result.shape, words, " ", "", max_bytes)
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
                where = f"[{','.join(map(str, coordinate(start + at, result.shape)))}]"
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


def npy_parts(result: Result) -> Iterator[bytes | memoryview]:
    """Write a .npy file: its header, then the bytes of every block."""
    yield npy.encode_header(result.dtype, result.storage, result.shape)
    for block in result.blocks():
        yield from raw_bytes(block)


def raw_bytes(block: AnyArray) -> Iterator[memoryview]:
    """Give the bytes of a block, if it has any."""
    import numpy as np

    if block.size and block.dtype.itemsize:
        yield np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def raw_parts(result: Result) -> Iterator[memoryview]:
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
    for block in result.blocks():
        yield from raw_bytes(block.astype(block.dtype.newbyteorder("<"), copy=False))


def npz(results: Sequence[Named], write: Callable[[bytes], object]) -> None:
    """Write an archive of stored members, the same bytes for the same tensors."""
    import zipfile

    with zipfile.ZipFile(_Sink(write), "w") as archive:
        for name, result in results:
            # dated 1980, so that nothing depends on the clock
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                for part in npy_parts(result):
                    stream.write(part)


class _Sink:
    """The little of a file that zipfile needs to write forwards."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    def write(self, part: bytes, /) -> int:
        """Hand `part` on."""
        self._write(part)
        return len(part)

    def flush(self) -> None:
        """Do nothing: the writer keeps no buffer."""

    close = flush
