"""Dimensions and shapes, and the coordinates of cells in them.

A dimension is an ``int`` when its size is known, else a `Dim`: an interval, a symbol, unknown. A
`Shape` is a tuple of dimensions. Its ``str`` is the text that users read and write. Flat positions
are row-major, one or an array of them: the same arithmetic serves both.
"""

from __future__ import annotations

import _operator as operator

from gathercli.errors import InputError
from gathercli.records import Any, Iterable, NamedTuple, Self, Sequence
from gathercli.text import as_written, counted

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Any, SupportsIndex, TypeAlias, overload

LARGEST = 2**63 - 1  # the largest size a framework can store
MAX_RANK = 64  # the largest rank of a numpy array

# Levels of brackets in JSON text that every Python parses at any depth of calls. Python 3.11 stops
# at 1,000 levels, callers included; from 3.12 on it goes 10,000 deep, more than the stack of 1 MB
# or less that a thread has on some systems.
DEEPEST = 500


class Dim(NamedTuple):
    """A dimension of unknown size: between `low` and `high`, or the value of a symbol.

    >>> str(Dim(1, 5)), str(Dim(3)), str(Dim()), str(Dim(name="N"))
    ('1..5', '3..', '?', 'N')
    """

    low: int = 0
    high: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.low == 0 and self.high is None:
            return "?"
        return f"{self.low}..{'' if self.high is None else self.high}"


AnyDim: TypeAlias = int | Dim
UNKNOWN = Dim()


def low(dim: AnyDim) -> int:
    """Return the smallest size `dim` can have."""
    return dim if isinstance(dim, int) else dim.low


def high(dim: AnyDim) -> int | None:
    """Return the largest size `dim` can have; None if it is unbounded."""
    return dim if isinstance(dim, int) else dim.high


def meet(data: AnyDim, indices: AnyDim) -> AnyDim | None:
    """Intersect two dimensions that must be equal; None if they cannot be.

    A number or an interval replaces a symbol. A symbol replaces ``?``, and the first of two
    symbols the other.

    >>> str(meet(Dim(1, 7), Dim(7, 10))), str(meet(Dim(name="N"), UNKNOWN)), meet(2, 3)
    ('7', 'N', None)
    """
    for one, other in ((data, indices), (indices, data)):
        if isinstance(one, Dim) and one.name is not None:
            free = isinstance(other, Dim) and (other.name is not None or other == UNKNOWN)
            return one if free else other
    bounds = [bound for bound in (high(data), high(indices)) if bound is not None]
    bottom, top = max(low(data), low(indices)), min(bounds, default=None)
    if top is None:
        return Dim(bottom)
    if bottom > top:
        return None
    return bottom if bottom == top else Dim(bottom, top)


def meet_all(data: Sequence[AnyDim], indices: Sequence[AnyDim]) -> Shape:
    """Intersect dimensions pairwise; the rules exclude pairs that cannot be equal (ValueError)."""
    shape = Shape(
        dim for pair in zip(data, indices, strict=True) if (dim := meet(*pair)) is not None
    )
    if len(shape) != len(data):
        raise ValueError(f"{Shape(data)} and {Shape(indices)} do not meet")
    return shape


def multiply(dims: Sequence[AnyDim]) -> AnyDim:
    """Multiply sizes as intervals; the product with a symbol may be any size.

    >>> str(multiply([Dim(4, 6), Dim(6, 7)])), str(multiply([Dim(3), 2])), multiply([2, 3])
    ('24..42', '6..', 6)
    """
    bottom, top = 1, 1
    unbounded = False
    for dim in dims:
        bottom *= low(dim)
        most = high(dim)
        unbounded = unbounded or most is None
        top *= 1 if most is None else most
    if unbounded and top:
        return Dim(bottom)
    return bottom if bottom == top else Dim(bottom, top)


_ANY_RANK: Any = (...,)  # the dimensions of a shape of unknown rank


class Shape(tuple[AnyDim, ...]):
    """The dimensions of a tensor; `...` is the only one of a tensor of unknown rank.

    >>> str(Shape([2, UNKNOWN, Dim(1, 5)])), str(Shape()), Shape.of_unknown_rank()
    ('[2,?,1..5]', '[]', Shape('[...]'))
    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[Any] = ()) -> Self:
        """Return the shape of dimensions, or that of a text."""
        return super().__new__(cls, parse(dims) if isinstance(dims, str) else dims)

    @classmethod
    def of_unknown_rank(cls) -> Shape:
        """Return the shape of unknown rank."""
        return cls(_ANY_RANK)

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if it is unknown."""
        return None if self == _ANY_RANK else len(self)

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The dimensions as integers; None unless all are known."""
        sizes = tuple(dim for dim in self if isinstance(dim, int))
        return sizes if len(sizes) == len(self) else None

    def inner(self) -> str:
        """Format the dimensions without brackets."""
        return "..." if self.rank is None else ",".join(map(str, self))

    def to_json(self) -> list[int | str]:
        """Return the dimensions for JSON: ``["N",2,"1..5","?"]``."""
        if self.rank is None:
            return ["..."]
        return [dim if isinstance(dim, int) else str(dim) for dim in self]

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: SupportsIndex) -> AnyDim: ...
        @overload
        def __getitem__(self, key: slice) -> Shape: ...

    def __getitem__(self, key: SupportsIndex | slice) -> AnyDim | Shape:
        if isinstance(key, slice):
            return Shape(super().__getitem__(key))
        return super().__getitem__(key)

    def __add__(self, other: tuple[AnyDim, ...]) -> Shape:  # type: ignore[override]
        return Shape((*self, *other))

    def __str__(self) -> str:
        return f"[{self.inner()}]"

    def __repr__(self) -> str:
        return f"Shape('{self}')"


_UNKNOWN = ("?", "_", "-1", "null", "None")
# A shape printed by Python, PyTorch or TensorFlow.
_PRINTED = r"(?:torch\.Size|TensorShape)\(\[(.*)\]\)|\(([^\[\]()]*)\)"


def _dimension(text: str, whole: object) -> AnyDim:
    text = text.strip()
    if text in _UNKNOWN:
        return UNKNOWN
    if text.isascii() and text.isdigit():
        return _bounded(text, whole)
    least, dots, most = (part.strip() for part in text.partition(".."))
    if dots and text.isascii() and all(each.isdigit() or not each for each in (least, most)):
        bottom = _bounded(least, whole) if least else 0
        top = _bounded(most, whole) if most else None
        if top is not None and bottom > top:
            raise _refusal(whole, f"the interval `{text}` is empty", text)
        return bottom if bottom == top else Dim(bottom, top)
    if text.isidentifier():
        return Dim(name=text)
    raise _refusal(whole, f"`{text}` is not a dimension", text)


def _bounded(digits: str, whole: object) -> int:
    digits = digits.lstrip("0") or "0"
    size = int(digits) if len(digits) <= len(str(LARGEST)) else LARGEST + 1
    if size > LARGEST:
        raise _refusal(whole, f"`{digits[:40]}` is larger than 2^63-1", digits[:40])
    return size


def _refusal(whole: object, what: str, value: object) -> InputError:
    try:
        text = str(whole)
    except ValueError:  # an integer with more digits than Python converts
        text = "…"
    return InputError(
        f"the shape `{text if len(text) <= 80 else text[:77] + '...'}`: {what}",
        rule="shape-text",
        value=value,
        expected="a size, an interval 1..5 or 3.., a symbol, or ?",
        unsaid=True,
        hint="a shape is written `[2,?,1..5,N]`, and `[...]` when its rank is unknown",
    )


def parse(text: str) -> Shape:
    """Read a shape from text, or raise `InputError`.

    With or without brackets, or ``2x5``; ``_`` and ``-1`` are ``?``; ``[]`` is 0-D and ``[...]`` of
    unknown rank. Also a JSON list, and a shape printed by Python.

    >>> str(parse("2x5")), str(parse("[ 2, -1, 3..3, N ]")), str(parse('["N",2,"1..5"]'))
    ('[2,5]', '[2,?,3,N]', '[N,2,1..5]')
    >>> str(parse("(2,)")), str(parse("torch.Size([2, 3])")), str(parse("TensorShape([None, 3])"))
    ('[2]', '[2,3]', '[?,3]')
    """
    body = text.strip()
    if body.endswith(")"):
        body = _unprinted(body)
    bracketed = body.startswith("[") and body.endswith("]")
    if bracketed:
        body = body[1:-1].strip()
        if not body:
            return Shape()
    if body in ("...", '"..."'):
        return Shape.of_unknown_rank()
    if '"' in body:
        return _parse_json(text)
    if not bracketed and "," not in body:
        parts = body.split("x")
        # `Nx3` is two dimensions, `max` one symbol: an x divides unless all parts are symbols.
        symbols = [part for part in parts if part.isidentifier() and part not in _UNKNOWN]
        if len(parts) > 1 and all(parts) and symbols != parts:
            return Shape(_dimension(part, text) for part in parts)
    return Shape(_dimension(part, text) for part in body.split(","))


def _unprinted(text: str) -> str:
    """Rewrite a shape printed by Python, PyTorch or TensorFlow; return other text as is."""
    import re

    printed = re.fullmatch(_PRINTED, text)
    if printed is None:
        return text
    inner = re.sub(r"\bNone\b", "?", printed[1] or (printed[2] or "").removesuffix(","))
    return f"[{inner}]"


def _parse_json(text: str) -> Shape:
    import json

    try:
        dims = json.loads(text) if text.count("[") + text.count("{") <= DEEPEST else None
    except (ValueError, RecursionError):
        dims = None
    if not isinstance(dims, list):
        raise _refusal(text, "it is not a JSON list of dimensions", text[:80])
    return as_shape(dims)


def as_shape(shape: str | Iterable[object] | Shape) -> Shape:
    """Read a shape from text for `parse`, or from a sequence of dimensions, or raise `InputError`.

    A dimension is an integer (-1 is ``?``), a `Dim`, text, or None for ``?``; ``["..."]`` is of
    unknown rank.
    """
    if isinstance(shape, Shape):
        return shape
    if isinstance(shape, str):
        return parse(shape)
    dimensions = getattr(shape, "ndim", 1)
    if dimensions != 1:
        what = f"the shape is an array with {counted(dimensions, 'dimension')}"
        hint = "`array.shape` is the shape of an array"
        raise InputError(what, rule="shape-text", expected="a list of sizes", hint=hint)
    if hasattr(shape, "tolist"):
        shape = shape.tolist()
    if not isinstance(shape, Sequence) or isinstance(shape, bytes | bytearray | Dim):
        raise _refusal(shape, "it is neither text nor a sequence of dimensions", str(shape))
    dims = tuple(shape)
    if len(dims) == 1 and (dims[0] is ... or dims[0] == "..."):
        return Shape.of_unknown_rank()
    return Shape(_as_dimension(dim, shape) for dim in dims)


def _as_dimension(dim: object, whole: object) -> AnyDim:
    if isinstance(dim, Dim):
        return _dimension(str(dim), whole)
    if hasattr(dim, "tolist"):
        dim = dim.tolist()
    if dim is None:
        return UNKNOWN
    if isinstance(dim, str):
        return _dimension(dim, whole)
    if hasattr(dim, "__index__") and not isinstance(dim, bool):
        size = operator.index(dim)
        if -1 <= size <= LARGEST:
            return _dimension(str(size), whole)
        raise _refusal(whole, "a size is below -1 or larger than 2^63-1", None)
    raise _refusal(whole, f"{as_written(dim)} is not a dimension", dim)


def product(sizes: Sequence[int]) -> int:
    """Multiply sizes without overflow."""
    total = 1
    for size in sizes:
        total *= size
    return total


Position: TypeAlias = "Any"  # an integer or an int64 array: the same arithmetic serves both


def known(shape: Sequence[AnyDim]) -> tuple[int, ...]:
    """Return the sizes of a shape without unknown dimensions."""
    return tuple(size for size in shape if isinstance(size, int))


def coordinates(cells: Position, shape: Sequence[AnyDim]) -> tuple[Position, ...]:
    """Unravel flat positions, one or an int64 array (C,), to one or (C,) for each dimension.

    >>> coordinates(5, (2, 3))
    (1, 2)
    """
    reversed_coordinates = []
    for size in reversed(known(shape)):
        reversed_coordinates.append(cells % size)
        cells = cells // size
    return tuple(reversed(reversed_coordinates))


def flat_positions(at: Sequence[Position], shape: Sequence[AnyDim], *, none: Any) -> Position:
    """Ravel coordinates, each one or an int64 array (C,); the position is -1 where `none` is true.

    >>> flat_positions((1, 2), (2, 3), none=False), flat_positions((1, 2), (2, 3), none=True)
    (5, -1)
    """
    position: Position = 0
    for coordinate, size in zip(at, known(shape), strict=True):
        position = position * size + coordinate
    return (position + 1) * (1 - none) - 1  # no branch, so that it serves arrays too


def letters(name: str, count: int) -> list[str]:
    """Name coordinates: ``i``, or ``i0, i1`` if there are several.

    >>> letters("p", 1), letters("s", 2)
    (['p'], ['s0', 's1'])
    """
    return [name] if count == 1 else [f"{name}{at}" for at in range(count)]


def at(tensor: str, coordinates: Sequence[str]) -> str:
    """Format a cell of a tensor.

    >>> at("data", ["p", "k"]), at("out", [])
    ('data[p, k]', 'out')
    """
    return f"{tensor}[{', '.join(coordinates)}]" if coordinates else tensor


def cell(coordinates: Sequence[int]) -> str:
    """Format coordinates.

    >>> cell((1, 2))
    '[1,2]'
    """
    return f"[{','.join(map(str, coordinates))}]"


class Place:
    """A formatter of the JSON paths of elements of nested lists: ``$[1][2]``."""

    def __init__(self, root: str, shape: Sequence[int]) -> None:
        self._root, self._shape = root, shape

    def __call__(self, at: int) -> str:
        """Return the path of the element at a flat position."""
        if not at:
            return self._root + "[0]" * len(self._shape)
        return self._root + "".join(f"[{i}]" for i in coordinates(at, self._shape))
