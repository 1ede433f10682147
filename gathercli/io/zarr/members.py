"""Validate members of the metadata."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final, NoReturn

from gathercli.errors import InputError
from gathercli.io.zarr.arrayspec import parse_fill
from gathercli.spec.dtypes import DTYPES, STRING
from gathercli.spec.shapes import LARGEST
from gathercli.text import clean, counted, listed, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.io.zarr.arrayspec import Codec
    from gathercli.spec.dtypes import DType

FIXED: Final = {each.name: each for each in DTYPES if not each.opaque and each is not STRING}
"""The types that have a plain name in version 3."""


def invalid(
    what: str, expected: str, *, rule: str = "format", hint: str | None = None
) -> InputError:
    """Return the error for an invalid or missing member."""
    return InputError(what, rule=rule, expected=expected, hint=hint)


def quote(value: object) -> str:
    """Format a value of the metadata for a message."""
    return clean(short(f"`{value}`" if isinstance(value, str) else dumps(value)))


def sizes(
    members: dict[str, Any], key: str, *, least: int, rank: int | None = None
) -> tuple[int, ...]:
    """Return the member `key`, a list of sizes of at least `least`."""
    value = members.get(key)
    if not isinstance(value, list) or not all(
        type(size) is int and least <= size <= LARGEST for size in value
    ):
        raise invalid(f"the {key} is {quote(value)}", f"a list of sizes from {least} on")
    if rank is not None and len(value) != rank:
        raise invalid(
            f"the {key} has {counted(len(value), 'size', exact=True)}", f"{rank}, as the shape has"
        )
    return tuple(value)


def one_of(
    members: dict[str, Any], key: str, words: tuple[str, ...], *, default: str | None = None
) -> str:
    """Return the member `key`, one of `words`."""
    value = members.get(key, default)
    if not isinstance(value, str) or value not in words:
        raise invalid(f"the {key} is {quote(value)}", listed(f"`{word}`" for word in words))
    return value


def name_and_options(value: object, key: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the configuration in an object, or a name without configuration."""
    if isinstance(value, str):
        return value, {}
    if isinstance(value, dict) and not value.keys() - {"name", "configuration", "must_understand"}:
        name, configuration = value.get("name"), value.get("configuration", {})
        if isinstance(name, str) and isinstance(configuration, dict):
            return name, configuration
    raise invalid(f"the {key} is {quote(value)}", "an object with a name and a configuration")


def refuse_type(value: object) -> NoReturn:
    """Raise for an unsupported element type."""
    expected = listed([*FIXED, "strings of a fixed width"])
    raise invalid(f"the type is {quote(value)}", expected, rule="dtype")


def fill_of(members: dict[str, Any], dtype: DType) -> Any:
    """Return the fill value, a valid element or null."""
    if "fill_value" not in members:
        raise invalid("the fill value is missing", f"one of {dtype}")
    value = members["fill_value"]
    try:
        if value is not None:
            parse_fill(value, dtype)
    except (ValueError, TypeError, OverflowError):
        raise invalid(f"the fill value is {quote(value)}", f"one of {dtype}") from None
    return value


def codec_of(
    name: str,
    options: dict[str, Any],
    names: Sequence[str],
    option_types: Mapping[str, Mapping[str, type]],
) -> Codec:
    """Check the name of a codec, and the types of its options if `option_types` has them."""
    if name not in names:
        raise invalid(f"the codec is {quote(name)}", listed(f"`{each}`" for each in names))
    if (types := option_types.get(name)) is not None:
        for key, option in options.items():
            if type(option) is not types.get(key):
                expected = listed(types, "and") if types else "nothing"
                raise invalid(
                    f"the codec `{name}` is told that {quote(key)} is {quote(option)}", expected
                )
    if name == "blosc":
        one_of(options, "cname", ("lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"))
    return {"name": name, **options}
