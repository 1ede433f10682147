"""Convert nested lists to tensors, with the type inference of all text formats.

The inference of numpy turns ``[2**63, -1]`` into float64, ``[2**64]`` into objects, ``[True, 1]``
into integers and ``[]`` into float64, and is not used.
"""

from __future__ import annotations

from itertools import chain

from gathercli.compute.tensor import Tensor, pack
from gathercli.errors import InputError, LimitError
from gathercli.io.formats.content import UNSAID, ElementTypes, check_shape
from gathercli.records import Any, Final, Sequence
from gathercli.spec import dtypes
from gathercli.spec.shapes import MAX_RANK, Place, cell, product
from gathercli.text import NON_FINITE, Overflow, counted, in_bytes, value_text

# Bytes up to which an array of strings may have any amount of padding.
MAX_UNQUESTIONED_STRINGS: Final = 256 << 20
MAX_PADDING: Final = 16  # the ratio of a larger array of strings to its strings without padding
_LIST_TYPES: Final = frozenset({list, tuple})
_MOST_INT64: Final = dtypes.INT64.bounds[1]


def check_depth(value: Any, root: str = "$") -> None:
    """Raise LimitError if the first elements are lists nested deeper than `MAX_RANK`."""
    for _ in range(MAX_RANK):
        if type(value) not in _LIST_TYPES or not value:
            return
        value = value[0]
    if type(value) in _LIST_TYPES:
        what = f"the list at `{root}` is nested deeper than {MAX_RANK}"
        raise LimitError(what, where=root, expected=f"rank at most {MAX_RANK}")


def flatten(value: Any, root: str = "$") -> tuple[tuple[int, ...], list[Any], set[type]]:
    """Flatten a nested list: return its shape, its elements in row-major order, and their types.

    Raise InputError (``ragged``) for lists of different lengths, or lists beside elements, and
    LimitError for more than `MAX_RANK` dimensions.
    """
    if type(value) not in _LIST_TYPES:
        return (), [value], {type(value)}
    level, shape = value, [len(value)]
    while level:
        kinds = set(map(type, level))
        if kinds.isdisjoint(_LIST_TYPES):
            return tuple(shape), level if type(level) is list else list(level), kinds
        if level is value:
            check_depth(value, root)
        if not kinds <= _LIST_TYPES:
            at = next(i for i, each in enumerate(level) if type(each) not in _LIST_TYPES)
            raise _ragged(root, at, shape, f"is {value_text(level[at])} beside lists", "a list")
        lengths = set(map(len, level))
        if len(lengths) > 1:
            first = len(level[0])
            at = next(i for i, each in enumerate(level) if len(each) != first)
            raise _ragged(root, at, shape, f"has length {len(level[at])}", f"length {first}")
        shape += lengths
        # A single list need not be copied.
        level = level[0] if len(level) == 1 else list(chain.from_iterable(level))
    return tuple(shape), [], set()


def _ragged(root: str, at: int, shape: Sequence[int], problem: str, expected: str) -> InputError:
    where = Place(root, shape)(at)
    what, remark = f"the list at `{where}` {problem}", ", like its siblings"
    hint = "every list of a dimension has the same length"
    return InputError(what, rule="ragged", where=where, expected=expected, remark=remark, hint=hint)


def tensor_of(
    value: Any,
    types: ElementTypes = UNSAID,
    *,
    shape: tuple[int, ...] | None = None,
    root: str = "$",
    rule: str = "json",
    max_bytes: int | None = None,
) -> Tensor:
    """Convert a nested list, or a single value, to a tensor.

    The elements are booleans, integers, floats, complex numbers or strings. If `types` do not say,
    their type is int64 for integers (uint64 if one needs it), float64 if there is a fraction or a
    non-finite word, bool or string. A nested list must have `shape`, a flat one its number of
    elements, else the error is of the given rule. `root` is the path of the value in
    messages; `max_bytes` the memory that strings may take. Raise InputError (``ragged``, ``dtype``,
    ``json``) with the path of the first wrong element, or LimitError.
    """
    declared = types.of_untyped
    sizes, flat, kinds = flatten(value, root)
    if (
        declared is not None
        and declared.kind is dtypes.Kind.COMPLEX
        and sizes != shape
        and sizes[-1:] == (2,)
        and complex not in kinds
    ):
        flat, sizes, kinds = _fold(flat, declared, root, sizes), sizes[:-1], {complex}
    where = Place(root, sizes)
    if shape is not None and sizes != shape:
        _check_fit(sizes, shape, root, rule)
        check_shape(f"the tensor at `{root}` has", shape, declared.itemsize if declared else 1)
        sizes = shape
    dtype, first = (declared, 0) if declared else _infer(flat, kinds, where, types.empty)
    if declared is not None and kinds - {int, float}:
        _check_mixture(flat, where)
    if dtype is dtypes.STRING and max_bytes is not None:
        _check_strings(flat, max_bytes)
    typed, decided_by = declared is not None, where(first) if flat else None
    raw = pack(dtype, flat, kinds)
    if raw is not None:
        return Tensor.of_bytes(dtype, sizes, raw, typed, decided_by)
    from gathercli.compute.conversion import store

    return Tensor(dtype, store(flat, dtype, where, kinds).reshape(sizes), typed, decided_by)


def _fold(flat: list[Any], dtype: dtypes.DType, root: str, shape: tuple[int, ...]) -> list[complex]:
    """Combine a last axis of real and imaginary parts."""
    from gathercli.compute.conversion import PART_TYPES, store

    parts = store(flat, PART_TYPES[dtype.bits], Place(root, shape)).tolist()
    return [complex(re, im) for re, im in zip(parts[::2], parts[1::2], strict=True)]


def _check_fit(sizes: tuple[int, ...], shape: tuple[int, ...], root: str, rule: str) -> None:
    is_flat = len(sizes) == 1 and sizes[0] == product(shape)
    is_empty = 0 in sizes and sizes == shape[: len(sizes)]  # [[],[]] for [2,0,3]
    if not is_flat and not is_empty:
        what = f"the list at `{root}` has shape {cell(sizes)}"
        remark = f", or {counted(product(shape), 'value', exact=True)} in one list"
        raise InputError(what, rule=rule, where=root, expected=cell(shape), remark=remark)


def _infer(  # noqa: PLR0911  (a type each)
    flat: list[Any], kinds: set[type], where: Place, empty: dtypes.DType
) -> tuple[dtypes.DType, int]:
    """Return the type of elements, and the position of the first one that requires it."""
    if not kinds:
        return empty, 0
    if kinds == {int}:
        if max(flat) <= _MOST_INT64 or min(flat) < 0:
            return dtypes.INT64, 0
        return dtypes.UINT64, next(i for i, v in enumerate(flat) if v > _MOST_INT64)
    if kinds == {bool}:
        return dtypes.BOOL, 0
    if kinds == {str} and any(v not in NON_FINITE for v in flat):
        return dtypes.STRING, 0
    if not kinds <= {int, float}:
        _check_mixture(flat, where)
    if complex in kinds:
        return dtypes.COMPLEX128, next(i for i, v in enumerate(flat) if type(v) is complex)
    for at, v in enumerate(flat if int in kinds else ()):
        if type(v) is int and abs(v) > dtypes.EXACT:
            what = f"the integer at `{where(at)}` is {value_text(v)}, among fractions"
            expected, remark = "-2^53 to 2^53", ", where float64 is exact"
            raise InputError(
                what, rule="dtype", where=where(at), value=v, expected=expected, remark=remark
            )
    return dtypes.FLOAT64, next(i for i, v in enumerate(flat) if type(v) is not int)


def _check_mixture(flat: list[Any], where: Place) -> None:
    """Raise for an invalid element, or for elements of different kinds."""
    numeric = {int, float, Overflow, complex}
    words = NON_FINITE.keys() if numeric & set(map(type, flat)) else set()
    if not words and set(map(type, flat)) == {str}:
        return  # nothing but non-finite words: numbers
    first = None
    for at, v in enumerate(flat):
        kind = type(v)
        if kind in numeric or (kind is str and v in words):
            sort = "numbers"
        elif kind in (bool, str):
            sort = "booleans" if kind is bool else "strings"
        else:
            place, text = where(at), value_text(v)
            what = f"the value at `{place}` is {text}"
            expected = "a number, a boolean, a string or a list"
            raise InputError(what, rule="json", where=place, value=text, expected=expected)
        first = first or sort
        if sort != first:
            place, text = where(at), value_text(v)
            what = f"the value at `{place}` is {text}, among {first}"
            expected = "one sort of values, booleans or numbers or strings"
            raise InputError(what, rule="dtype", where=place, value=text, expected=expected)


def _check_strings(flat: list[str], max_bytes: int) -> None:
    lengths = [len(v) for v in flat if isinstance(v, str)]
    size = 4 * len(flat) * max(lengths, default=0)
    # Every string takes the width of the longest.
    most = min(max_bytes, max(MAX_UNQUESTIONED_STRINGS, MAX_PADDING * 4 * sum(lengths)))
    if size > most:
        what = f"the strings take {in_bytes(size)}, each as wide as the longest"
        raise LimitError.over(what, size, most)
