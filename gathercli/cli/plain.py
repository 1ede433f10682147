"""Parse ordinary command lines without importing typer, which takes as long as a small gather.

An ordinary line has one command, unabbreviated options, valid values and the right number of
arguments. Typer parses all other lines, such as help and errors, from the same declarations.
"""

from __future__ import annotations

import re
from enum import EnumMeta
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from gathercli.cli.command import REQUIRED, ArgumentSpec, OptionSpec
from gathercli.cli.line import NEGATIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.cli.command import Command, Parameter

_INTEGER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_FLOAT: Final = re.compile(r"[+-]?\d{1,18}(?:\.\d*)?(?:e[+-]?\d{1,3})?", re.ASCII)


class NotPlainError(Exception):
    """The command line is not ordinary."""


def parse(command: Command, words: Iterable[str]) -> dict[str, Any] | None:
    """Return the values of all parameters; None if `words`, after the command, are not ordinary."""
    try:
        return _parse(command, iter(words))
    except NotPlainError:
        return None


def _parse(command: Command, words: Iterator[str]) -> dict[str, Any]:
    parameters = command.parameters.values()
    options = {
        name: each
        for each in parameters
        if isinstance(each.spec, OptionSpec)
        for name in each.spec.names
    }
    values: dict[str, Any] = {}
    texts: list[str] = []
    for word in words:
        if word[:1] != "-" or word == "-" or NEGATIVE.match(word):
            texts.append(word)
            continue
        name, mark, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = options.get(name)
        if option is None or (option.kind is bool and mark):
            raise NotPlainError
        if option.kind is bool:
            values[option.name] = True
        else:
            _add(values, option, value if mark else _value_word(words))
    arguments = [each for each in parameters if isinstance(each.spec, ArgumentSpec)]
    values |= _arguments(arguments, texts)
    return {each.name: values.get(each.name, each.default) for each in parameters}


def _value_word(words: Iterator[str]) -> str:
    """Return the next word as the value of an option; raise if it may be another option."""
    word = next(words, "-?")
    if word.startswith("-") and word != "-" and not NEGATIVE.match(word):
        raise NotPlainError
    return word


def _add(values: dict[str, Any], option: Parameter, text: str) -> None:
    """Set the value of an option, or append it if the option may be repeated."""
    kind, spec = _without_none(option.kind), option.spec
    if get_origin(kind) is list:
        values.setdefault(option.name, []).append(text)
    elif option.name in values and isinstance(spec, OptionSpec) and spec.once:
        raise NotPlainError
    else:
        values[option.name] = _converted(kind, spec, text)


def _arguments(arguments: list[Parameter], texts: list[str]) -> dict[str, Any]:
    """Return the values of arguments; the last argument may have several."""
    values: dict[str, Any] = {}
    for each in arguments:
        if get_origin(_without_none(each.kind)) is list:
            if texts:
                values[each.name] = texts
            texts = []
        elif texts:
            values[each.name] = _converted(_without_none(each.kind), each.spec, texts[0])
            texts = texts[1:]
        if each.default is REQUIRED and each.name not in values:
            raise NotPlainError
    if texts:
        raise NotPlainError
    return values


def _without_none(kind: Any) -> Any:
    """Return T for ``T | None``."""
    others = [each for each in get_args(kind) if each is not type(None)]
    return others[0] if type(None) in get_args(kind) else kind


def _converted(kind: Any, spec: Any, text: str) -> Any:
    """Convert the text of a value to its type."""
    if kind is str:
        return text
    if kind in (int, float):
        if not (_INTEGER if kind is int else _FLOAT).fullmatch(text):
            raise NotPlainError
        number = kind(text)
        if (spec.min is not None and number < spec.min) or (
            spec.max is not None and number > spec.max
        ):
            raise NotPlainError
        return number
    if get_origin(kind) is Literal and text in get_args(kind):
        return text
    members: Any = kind
    if isinstance(kind, EnumMeta) and text in [each.value for each in members]:
        return kind(text)
    raise NotPlainError
