"""Parse ordinary command lines without importing typer, which takes as long as a small gather.

An ordinary line has one command, unabbreviated options, valid values and the right number of
arguments. Typer parses all other lines, such as help and errors, from the same declarations.
"""

from __future__ import annotations

from gathercli.cli.command import REQUIRED, Argument, Option

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gathercli.cli.command import Command, Parameter


class NotPlainError(Exception):
    """The command line is not ordinary."""


def parse(command: Command, words: Iterable[str]) -> dict[str, Any] | None:
    """Return the values of all parameters; None if `words`, after the command, are not ordinary."""
    try:
        return _parse(command, iter(words))
    except NotPlainError:
        return None


def _parse(command: Command, words: Iterator[str]) -> dict[str, Any]:
    parameters = command.parameters
    names = {
        text: name
        for name, each in parameters.items()
        if isinstance(each, Option)
        for text in each.names
    }
    values: dict[str, Any] = {}
    texts: list[str] = []
    for word in words:
        if not is_option(word):
            texts.append(word)
            continue
        text, mark, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = names.get(text)
        option: Any = parameters.get(name or "")
        if name is None or option.kind is tuple or (option.kind is bool and mark):
            raise NotPlainError
        if option.kind is list:
            values.setdefault(name, []).append(value if mark else _value_word(words))
        elif option.once and name in values:
            raise NotPlainError
        elif option.kind is bool:
            values[name] = True
        else:
            values[name] = _converted(option, value if mark else _value_word(words))
    arguments = {name: each for name, each in parameters.items() if isinstance(each, Argument)}
    values |= _arguments(arguments, texts)
    if any(each.default is REQUIRED and name not in values for name, each in parameters.items()):
        raise NotPlainError
    return {name: values.get(name, each.default) for name, each in parameters.items()}


def is_option(word: str) -> bool:
    """Return whether a word is an option, unless it is the value of one."""
    return word.startswith("-") and word != "-" and not looks_negative(word)


def looks_negative(word: str) -> bool:
    """Return whether a word looks like an option, but is a tensor.

    >>> [looks_negative(word) for word in ("-1,0", "-.5", "-inf", "-#data", "-a", "--axis", "0")]
    [True, True, True, True, False, False, False]
    """
    rest = word.removeprefix("-")
    return word.startswith("-") and (
        rest.removeprefix(".")[:1].isdecimal() or rest.lower().startswith(("inf", "nan", "#"))
    )


def _value_word(words: Iterator[str]) -> str:
    """Return the next word as the value of an option; raise if it may be another option."""
    word = next(words, "-?")
    if is_option(word):
        raise NotPlainError
    return word


def _arguments(arguments: dict[str, Argument], texts: list[str]) -> dict[str, Any]:
    """Return the values of arguments; the last argument may have several."""
    values: dict[str, Any] = {}
    for name, each in arguments.items():
        if each.kind is list:
            if texts:
                values[name] = texts
            texts = []
        elif texts:
            values[name] = _converted(each, texts[0])
            texts = texts[1:]
    if texts:
        raise NotPlainError
    return values


def _converted(parameter: Parameter, text: str) -> Any:
    """Convert the text of a value to its type."""
    if parameter.choices and text not in parameter.choices:
        raise NotPlainError
    if not isinstance(parameter, Option) or parameter.kind is str:
        return text
    try:
        number = parameter.kind(text)
    except ValueError:
        raise NotPlainError from None
    least, most = parameter.min, parameter.max
    if (least is None or number >= least) and (most is None or number <= most):
        return number
    raise NotPlainError
