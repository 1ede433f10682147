"""Members of metadata, read strictly."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final, NoReturn

from gathercli.errors import InputError
from gathercli.io.zarr.arrayspec import fill_value
from gathercli.spec.dtypes import DTYPES, STRING
from gathercli.spec.shapes import LARGEST
from gathercli.text import clean, listed, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.io.zarr.arrayspec import Codec
    from gathercli.spec.dtypes import DType

FIXED: Final = {each.name: each for each in DTYPES if not each.opaque and each is not STRING}
"""The types whose elements are of one width, by name."""


def refused(what: str, expected: str, *, rule: str = "format") -> InputError:
    """Make the error that refuses a member."""
    return InputError(f"{what}: expected {expected}", rule=rule, expected=expected)


def shown(value: object) -> str:
    """Write a value of the metadata for a message."""
    return clean(short(f"`{value}`" if isinstance(value, str) else dumps(value)))


def sizes(
    found: dict[str, Any], key: str, *, least: int, rank: int | None = None
) -> tuple[int, ...]:
    """Read a list of sizes."""
    value = found.get(key)
    good = isinstance(value, list) and all(
        type(size) is int and least <= size <= LARGEST for size in value
    )
    if not isinstance(value, list) or not good:
        raise refused(f"the {key} is {shown(value)}", f"a list of sizes from {least} on")
    if rank is not None and len(value) != rank:
        raise refused(f"the {key} has {len(value)} sizes", f"{rank}, as the shape has")
    return tuple(value)


def one_of(
    found: dict[str, Any], key: str, words: tuple[str, ...], *, default: str | None = None
) -> str:
    """Read a word of a few."""
    value = found.get(key, default)
    if value not in words or not isinstance(value, str):
        raise refused(f"the {key} is {shown(value)}", listed(f"`{word}`" for word in words))
    return value


def named(value: object, key: str) -> tuple[str, dict[str, Any]]:
    """Read a name, and the configuration that comes with it."""
    if isinstance(value, str):
        return value, {}
    told = value.get("configuration", {}) if isinstance(value, dict) else None
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("name"), str)
        or not isinstance(told, dict)
        or value.keys() - {"name", "configuration", "must_understand"}
    ):
        raise refused(f"the {key} is {shown(value)}", "an object with a name and a configuration")
    return value["name"], told


def refuse_type(value: object) -> NoReturn:
    """Refuse a type that is none of those that are read."""
    expected = f"{listed([*FIXED, 'strings of a fixed width'])}"
    raise refused(f"the type is {shown(value)}", expected, rule="dtype")


def check_fill(found: dict[str, Any], dtype: DType) -> None:
    """Refuse a fill value that is no value of the type."""
    if "fill_value" not in found:
        raise refused("the fill value is missing", f"one of {dtype}")
    value = found["fill_value"]
    if value is None:
        return
    try:
        fill_value(value, dtype)
    except (ValueError, TypeError, OverflowError):
        raise refused(f"the fill value is {shown(value)}", f"one of {dtype}") from None


def codec_of(
    name: str,
    told: dict[str, Any],
    known: Sequence[str],
    compressors: Mapping[str, Mapping[str, type]],
) -> Codec:
    """Check a codec of a few, and what a compressor is told."""
    if name not in known:
        raise refused(f"the codec is {shown(name)}", listed(f"`{each}`" for each in known))
    options = compressors.get(name)
    if options is not None:
        for key, option in told.items():
            if key not in options or type(option) is not options[key]:
                expected = listed(options, "and") if options else "nothing"
                raise refused(
                    f"the codec `{name}` is told that {shown(key)} is {shown(option)}", expected
                )
    if name == "blosc":
        one_of(told, "cname", ("lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"))
    return {"name": name, **told}
