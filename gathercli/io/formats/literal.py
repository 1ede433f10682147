"""Tensors in arguments: literals, bare lists, generators.

=====================  =====================================================================
``2x3xi32=[[0 0 4]…]``  typed literal; flat values, a splat (``3xi64=0``), 0-D (``xf32=1.5``)
``[[0,0,4],[4,0,0]]``   JSON literal; ``3`` is 0-D
``0,0,4``               bare list; ``0,`` is one element
``arange:2x5xf32``      generator: ``arange``, ``zeros``, ``rand:4x3,seed=7``
=====================  =====================================================================
"""

from __future__ import annotations

from gathercli.compute.tensor import MOST_PACKED_VALUES, Tensor, is_packed, pack
from gathercli.errors import GatherError, Hint, InputError, LimitError
from gathercli.io.formats.content import UNSAID, ElementTypes
from gathercli.io.formats.values import tensor_of
from gathercli.records import suppress
from gathercli.spec import dtypes
from gathercli.spec.shapes import LARGEST, MAX_RANK, product
from gathercli.text import NON_FINITE, Overflow, closest, in_bytes, is_integer

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from typing import Any, Final

    from gathercli.compute.storage import AnyArray

GENERATORS: Final = ("arange", "zeros", "rand")
# Patterns are text: `re` compiles and caches those that an argument needs.
_GENERATOR_PATTERN: Final = r"(?a)([a-z]+):((?:\d+(?:x\d+)*)?)(?:x([a-z][a-z0-9_]*))?((?:,[^,]*)*)"
_TYPED_PATTERN: Final = r"(?as)((?:\d+x)+|x)([a-z][a-z0-9_]*)=(.*)"
_START_PATTERN: Final = rf"(?as)(?:(?:(?:\d+x)+|x)[a-z][a-z0-9_]*=|(?:{'|'.join(GENERATORS)}):).*"
_FLOAT_PATTERN: Final = r"(?ai)[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_COMPLEX_PATTERN: Final = r"(?ai)[-+.\deainf]*j"
_TOKEN_PATTERN: Final = (
    r"""(?s)\s*(?:(?P<open>\[)|(?P<close>\])|(?P<comma>,)|(?P<double>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<single>'[^']*')|(?P<word>[^\s\[\],"']+))"""
)
_VALUE_WORDS: Final[dict[str, float | bool]] = {
    **dict.fromkeys(("inf", "+inf", "infinity"), float("inf")),
    **dict.fromkeys(("-inf", "-infinity"), float("-inf")),
    "nan": float("nan"),
    "true": True,
    "false": False,
}
# The longest text, in characters, that is parsed one by one: no number of it overflows.
_SHORT_TEXT: Final = 200
_LIST_CHARACTERS: Final = frozenset("0123456789.-,[] ")


def _match(pattern: str, text: str) -> re.Match[str] | None:
    """Match a whole text; most arguments need no pattern, and then `re` is not imported."""
    import re

    return re.fullmatch(pattern, text)


def looks_literal(token: str) -> bool:
    """Tell whether a token can only be a literal, unless it is the name of a file."""
    generator = token.partition(":")[0]
    return bool(
        (":" in token and generator in GENERATORS)
        or _match(_TYPED_PATTERN, token)
        or is_document(token)
        or _match(r"[-+]?[.\d][-+.,\deE\s]*", token)
    )


def starts_literal(text: str) -> bool:
    """Tell whether a text starts like a typed literal or a generator."""
    return bool(_match(_START_PATTERN, text))


def parse(
    token: str,
    types: ElementTypes = UNSAID,
    max_bytes: int | None = None,
    notes: list[str] | None = None,
) -> Tensor | None:
    """Parse a literal; return None if the token has none of the forms.

    `types` are those of an untyped one; the notes are those of `jsontext.tensor`. Raise InputError
    (``literal``, ``ragged``, ``dtype``) if it has a form and is malformed, LimitError if it takes
    more than `max_bytes` of memory.
    """
    name, colon, _ = token.partition(":")
    if colon and name in GENERATORS:
        return _generate(token, max_bytes)
    if "=" in token and (match := _match(_TYPED_PATTERN, token)):
        return _typed(match, max_bytes)
    if not is_document(token):
        value = _bare_list(token)
        if value is None:
            return None
    elif (value := short_lists(token)) is None:
        from gathercli.io.formats import jsontext

        value = jsontext.parse(token, rule="literal")
        if isinstance(value, dict):
            return jsontext.tensor(value, None, types, max_bytes, notes=notes)
    return tensor_of(value, types, max_bytes=max_bytes)


def _bare_list(token: str) -> Any | None:
    """Parse a list without brackets, or one number; return None for any other token."""
    items = token.split(",")
    if len(items) == 1:  # a word such as nan or j is the name of a file
        word = token.strip()
        is_json = _match(_FLOAT_PATTERN, word) or word in ("true", "false", *NON_FINITE)
        return item(word) if is_json else None
    if not items[-1].strip():  # only the last item may be empty
        items.pop()
    values = [item(each.strip()) for each in items]
    return None if None in values or complex in map(type, values) else values


def short_lists(text: str) -> Any | None:
    """Parse short nested lists of integers and decimal fractions, without importing `json`.

    Return None for any other text.

    >>> short_lists("[[1,2],[-3, 4]]"), short_lists("[0.5,[]]"), short_lists("[1,]")
    ([[1, 2], [-3, 4]], [0.5, []], None)
    """
    if text[:1] != "[" or len(text) > _SHORT_TEXT or not _LIST_CHARACTERS.issuperset(text):
        return None
    lists: list[Any] = [[]]  # the list that is open, and those around it; the first has the value
    before = ","
    for token in text.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").split():
        is_value = before in ("[", ",")
        if token == "[" and is_value:
            lists.append([])
        elif token == "]" and before != "," and len(lists) > 1:
            lists[-2].append(lists.pop())
        elif token == "," and not is_value and len(lists) > 1:
            pass
        elif is_value and (number := _plain_number(token)) is not None:
            lists[-1].append(number)
        else:
            return None
        before = token
    return lists[0][0] if len(lists) == 1 else None


def _plain_number(word: str) -> float | None:
    whole, point, fraction = word.removeprefix("-").partition(".")
    if not whole.isdigit() or (whole[0] == "0" and whole != "0"):
        return None
    if not point:
        return int(word)
    return float(word) if fraction.isdigit() else None


def is_document(token: str) -> bool:
    """Tell whether a literal is JSON, by its first character."""
    return token.lstrip()[:1] in ("[", "{", '"')


def item(word: str) -> Any:
    """Parse a number, or a word such as nan or true; return None for any other word."""
    if is_integer(word):
        return int(word)
    if _match(_FLOAT_PATTERN, word):
        number = float(word)
        return number if abs(number) != float("inf") else Overflow(word)
    value = _VALUE_WORDS.get(word.lower())
    if value is None and _match(_COMPLEX_PATTERN, word):
        with suppress(ValueError):
            return complex(word)
    return value


def _literal_error(problem: str, expected: str, token: str, hint: str | None = None) -> InputError:
    return InputError(problem, rule="literal", value=token[:80], expected=expected, hint=hint)


def _dtype(name: str, token: str) -> dtypes.DType:
    dtype = dtypes.named(name)
    if dtype is None:
        near = closest(name, (each.short for each in dtypes.DTYPES))
        what = f"`{name}` in the literal is not a type"
        raise _literal_error(
            what, "one such as i64, f32 or bf16", token, f"did you mean `{near}`?" if near else None
        )
    return dtype


def _sizes(dims: str, token: str) -> tuple[int, ...]:
    sizes = tuple(int(size[:30]) for size in dims.split("x") if size)
    if any(size > LARGEST for size in sizes) or len(sizes) > MAX_RANK:
        what = f"the shape of `{token[:60]}` is too large"
        raise LimitError(what, expected="rank at most 64 and sizes below 2^63")
    return sizes


def _check_size(shape: tuple[int, ...], dtype: dtypes.DType, max_bytes: int | None) -> None:
    size = product(shape) * dtype.itemsize
    allowed = LARGEST if max_bytes is None else max_bytes
    if size > allowed or product([n for n in shape if n]) * dtype.itemsize > LARGEST:
        sizes = ",".join(map(str, shape))
        what = f"the tensor {dtypes.described(dtype, sizes)} takes {in_bytes(size)}"
        hint = None if max_bytes is None else Hint("{max_bytes} lifts the limit", max_bytes=0)
        raise LimitError(what, value=size, expected=f"at most {in_bytes(allowed)}", hint=hint)


def _typed(match: re.Match[str], max_bytes: int | None) -> Tensor:
    token, dims, name, body = match[0], *match.groups()
    shape, dtype = _sizes(dims, token), _dtype(name, token)
    _check_size(shape, dtype, max_bytes)
    values = parse_values(body, token)
    if len(values) == 1 and not isinstance(values[0], list):
        one = tensor_of(values[0], ElementTypes(dtype), max_bytes=max_bytes)
        return _filled(one, shape)
    if len(values) == 1:  # nested lists
        values = values[0]
    types = ElementTypes(dtype)
    return tensor_of(values, types, shape=shape, rule="literal", max_bytes=max_bytes)


def _filled(one: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor of `shape` with all elements equal to `one`, of shape ()."""
    if one.raw is not None and product(shape) <= MOST_PACKED_VALUES:
        return Tensor.of_bytes(one.dtype, shape, bytes(one.raw) * product(shape))
    import numpy as np

    return Tensor(one.dtype, np.full(shape, one.array, one.array.dtype))


def parse_values(body: str, token: str) -> list[Any]:
    """Parse values and brackets, separated by blanks or commas."""
    stack: list[list[Any]] = [[]]
    for kind, text in _tokens(body, token):
        if kind == "open":
            inner: list[Any] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif kind == "close":
            stack.pop()
            if not stack:
                raise _literal_error("a `]` in the literal closes nothing", "`[`", token)
        elif kind == "double":
            from gathercli.io.formats import jsontext

            stack[-1].append(jsontext.parse(text, rule="literal"))
        elif kind == "single":
            stack[-1].append(text[1:-1])
        else:
            value = item(text)
            if value is None:
                what = f"`{text[:40]}` in the literal is not a value"
                raise _literal_error(what, "a number, true, false or a quoted string", token)
            stack[-1].append(value)
    if len(stack) > 1:
        raise _literal_error("a `[` in the literal is not closed", "`]`", token)
    return stack[0]


def _tokens(body: str, token: str) -> Iterator[tuple[str, str]]:
    import re

    at, body, pattern = 0, body.rstrip(), re.compile(_TOKEN_PATTERN)
    while at < len(body):
        match = pattern.match(body, at)
        if match is None:
            place = f"character {len(token) - len(body) + at} of the literal"
            raise _literal_error(f"the quote at {place} is not closed", "its end", token)
        at = match.end()
        kind = match.lastgroup or ""
        if kind != "comma":
            yield kind, match[kind]


def _suggest_shape(token: str) -> Hint | None:
    """Suggest ``zeros:3x4`` for ``zeros:[3,4]``."""
    match = _match(r"(?a)([a-z]+):\s*[\[(]?(\d+(?:\s*[,x]\s*\d+)*)[\])]?", token)
    if match is None:
        return None
    sizes = "x".join(each.strip() for each in match[2].replace(",", "x").split("x"))
    return Hint("did you mean {source}?", source=f"{match[1]}:{sizes}")


def _generate(token: str, max_bytes: int | None) -> Tensor:
    """Generate the tensor of ``arange:2x5xf32``, ``zeros:3x4`` or ``rand:4x3,seed=7``."""
    match = _match(_GENERATOR_PATTERN, token)
    if match is None or not (match[2] or match[3]):
        what = f"`{token[:60]}` has no shape"
        raise _literal_error(
            what, "it after the colon, as in `arange:2x5xf32`", token, _suggest_shape(token)
        )
    name, dims, type_name, rest = match.groups()
    default = dtypes.FLOAT64 if name == "rand" else dtypes.INT64
    dtype = _dtype(type_name, token) if type_name else default
    shape, options = _sizes(dims, token), _options(name, rest, token)
    _check_size(shape, dtype, max_bytes)
    if dtype is dtypes.E8M0:
        raise _literal_error(f"{dtype} has no zero", "a type that has one", token)
    if name == "rand":
        return Tensor(dtype, _random(shape, dtype, options, token))
    if name == "zeros":
        return _zeros(dtype, shape)
    if dtype in (dtypes.BOOL, dtypes.STRING):
        raise _literal_error(f"arange counts, which {dtype} cannot", "a number type", token)
    if (count := product(shape)) <= MOST_PACKED_VALUES and (
        raw := pack(dtype, range(count), {int})
    ) is not None:
        return Tensor.of_bytes(dtype, shape, raw)
    import numpy as np

    from gathercli.compute.conversion import convert

    try:
        return convert(Tensor(dtypes.INT64, np.arange(product(shape)).reshape(shape)), dtype)
    except GatherError as error:
        error.rule, error.value, error.hint = "literal", token[:80], "a wider type counts further"
        raise


def _zeros(dtype: dtypes.DType, shape: tuple[int, ...]) -> Tensor:
    if is_packed(dtype) and product(shape) <= MOST_PACKED_VALUES:
        return Tensor.of_bytes(dtype, shape, bytes(product(shape) * dtype.itemsize))
    import numpy as np

    from gathercli.compute.storage import storage_of

    return Tensor(dtype, np.zeros(shape, storage_of(dtype)))


def _options(name: str, rest: str, token: str) -> dict[str, int]:
    allowed = {"seed", "high"} if name == "rand" else set[str]()
    options: dict[str, int] = {}
    for option in rest.split(",")[1:]:
        key, _, value = option.partition("=")
        if key not in allowed or not _match(r"(?a)\d{1,19}", value) or key in options:
            hint = None
            if _match(r"(?a)\w+:[\dx]+(,\d+)+(x[a-z]\w*)?", token):
                hint = Hint("did you mean {source}?", source=token.replace(",", "x"))
            what = f"`{option[:40]}` is not an option of {name}"
            expected = "seed=N or high=N, once" if allowed else "none"
            raise _literal_error(what, expected, token, hint)
        options[key] = int(value)
    return options


def _random(
    shape: tuple[int, ...], dtype: dtypes.DType, options: dict[str, int], token: str
) -> AnyArray:
    """Draw floats from [0, 1), integers from [0, high), or booleans, repeatably by seed."""
    import numpy as np

    from gathercli.compute.conversion import as_bits
    from gathercli.compute.storage import storage_of

    generator = np.random.default_rng(options.get("seed", 0))
    if dtype.integral:
        top = dtype.bounds[1]
        high = options.get("high")
        if high is None or not 0 < high <= top + 1:
            what, expected = f"rand of {dtype} draws from [0, high)", f"high=1 to {top + 1}"
            hint = f"`{token},high={min(10, top + 1)}`" if high is None else None
            raise _literal_error(what, expected, token, hint)
        return generator.integers(0, high, shape, storage_of(dtype).type)
    if "high" in options:
        raise _literal_error(f"high= is for integers, not {dtype}", "none", token)
    if dtype is dtypes.BOOL:
        return generator.integers(0, 2, shape, np.uint8).astype(np.bool_)
    if dtype.kind is not dtypes.Kind.FLOAT:
        raise _literal_error(f"rand draws no {dtype}", "a real type", token)
    if dtype.bits > 16:
        return generator.random(shape, storage_of(dtype).type)
    if dtype.narrow:
        from gathercli.compute.storage import steps_below_one

        steps = steps_below_one(dtype)
    else:
        steps = 2**8 if dtype is dtypes.BFLOAT16 else 2**11
    return as_bits(generator.integers(0, steps, shape) / steps, dtype)
