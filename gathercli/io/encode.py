"""Tensors to text and bytes: plain JSON, Open Inference Protocol, literals, .npy and .npz.

Floats are written with the shortest digits that read back to the same value of their type; those
of float16 and bfloat16 as the float32 that equals them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli.core.dims import product
from gathercli.core.dtypes import STRING, DType, Kind, Tensor
from gathercli.core.positions import coordinate
from gathercli.core.text import json_string
from gathercli.errors import InputError, LimitError
from gathercli.io import npy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np

    from gathercli.core.dtypes import AnyArray

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
    texts = list(map(str, values))
    # Readers go through float64, where a few of the shortest digits round to a neighbour.
    with np.errstate(over="ignore", under="ignore"):
        read = np.array(list(map(float, texts)), np.float64).astype(np.float32)
    for at in np.flatnonzero((read != values) & (values == values)):  # noqa: PLR0124  (no NaN)
        texts[at] = repr(float(values[at]))
    return texts


def _floats(values: AnyArray) -> list[str]:
    import numpy as np

    return digits(values.astype(np.float32) if values.dtype == np.float16 else values)


def _words(tensor: Tensor, number: dict[str, str], pair: Callable[[str, str], str]) -> list[str]:
    """Write the elements one by one; `number` renames what is not finite."""
    values = tensor.values().reshape(-1)
    dtype = tensor.dtype
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
    shape: Sequence[int], words: Sequence[str], comma: str, between: str, most: int | None
) -> Iterator[str]:
    """Put brackets around words, a few rows at a time."""
    if 0 in shape:
        lead = shape[: list(shape).index(0)]
        size = product(lead) * 3
        if most is not None and size > most:
            raise LimitError(
                f"the brackets of the empty result take {size} bytes: expected at most {most}",
                rule="limit",
                value=size,
                expected=f"at most {most} bytes",
                hint="`-f npy` writes its shape",
            )
        yield from _nested(lead, ["[]"] * product(lead), between, between, None)
        return
    if not shape:
        yield words[0]
        return
    *outer, width = shape
    rows = []
    for row in range(product(outer)):
        opened, closed = _turns(row, outer), _turns(row + 1, outer)
        rows.append(between if row else "")
        rows.append("[" * (opened + 1) + comma.join(words[row * width : (row + 1) * width]))
        rows.append("]" * (closed + 1))
        if len(rows) >= 3 * _ROWS:
            yield "".join(rows)
            rows = []
    yield "".join(rows)


def _turns(row: int, outer: Sequence[int]) -> int:
    """Count the outer lists that start (or have just ended) at a row."""
    turns = 0
    for size in reversed(outer):
        row, rest = divmod(row, size)
        if rest:
            break
        turns += 1
    return turns


def plain_json(tensor: Tensor, *, nonfinite: str, max_bytes: int | None) -> Iterator[str]:
    """Write the nested list, on one line.

    Parameters
    ----------
    nonfinite
        A key of `NONFINITE`.

    Raises
    ------
    InputError
        ``json``: a value is not finite and `nonfinite` is ``error``.
    """
    _check_finite(tensor, nonfinite)
    words = _words(tensor, NONFINITE[nonfinite], _pair)
    yield from _nested(tensor.shape, words, ",", ",", max_bytes)
    yield "\n"


def oip(tensor: Tensor, *, nonfinite: str, parameters: dict[str, Any]) -> Iterator[str]:
    """Write an Open Inference Protocol response with the one output ``output``."""
    import json

    _check_finite(tensor, nonfinite)
    dtype = tensor.dtype
    fields = {"name": "output", "shape": list(tensor.shape), "datatype": dtype.oip}
    head = json.dumps({**fields, "parameters": parameters}, separators=(",", ":"))
    yield '{"outputs":[' + head[:-1] + ',"data":['
    yield ",".join(_words(tensor, NONFINITE[nonfinite], _pair))
    yield "]}]}\n"


def literal(tensor: Tensor, *, max_bytes: int | None) -> Iterator[str]:
    """Write the typed literal that reads back to the same tensor."""
    yield "x".join([*map(str, tensor.shape), ""]) or "x"
    yield f"{tensor.dtype.short}="
    words = _words(tensor, {}, _sum)
    yield from _nested(tensor.shape, words, " ", "", max_bytes)
    yield "\n"


def _check_finite(tensor: Tensor, nonfinite: str) -> None:
    import numpy as np

    if nonfinite != "error" or tensor.dtype.kind not in (Kind.FLOAT, Kind.COMPLEX):
        return
    wrong = ~np.isfinite(tensor.values().reshape(-1))
    if wrong.any():
        at = int(wrong.argmax())
        where = f"[{','.join(map(str, coordinate(at, tensor.shape)))}]"
        value = _words(Tensor(tensor.dtype, tensor.array.reshape(-1)[at : at + 1]), {}, _sum)[0]
        raise InputError(
            f"the result has {value} at `{where}`, which `--nonfinite error` refuses: "
            "expected finite numbers",
            rule="json",
            where=where,
            value=value,
            count=int(wrong.sum()),
        )


def npy_parts(
    dtype: DType, storage: np.dtype[Any], shape: tuple[int, ...], blocks: Iterable[AnyArray]
) -> Iterator[bytes | memoryview]:
    """Write a .npy file: its header, then the bytes of every block."""
    import numpy as np

    yield npy.encode_header(dtype, storage, shape)
    for block in blocks:
        if block.size and block.dtype.itemsize:
            yield np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def npz(parts: Iterable[bytes | memoryview], write: Callable[[bytes], object]) -> None:
    """Write an archive whose one member is ``output``, the same bytes for the same tensor."""
    import zipfile

    with zipfile.ZipFile(_Sink(write), "w") as archive:
        member = zipfile.ZipInfo("output.npy")  # dated 1980, so that nothing depends on the clock
        with archive.open(member, "w", force_zip64=True) as stream:
            for part in parts:
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
