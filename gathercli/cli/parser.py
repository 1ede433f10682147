"""Parse the words after a command by the declarations of its parameters."""

from __future__ import annotations

from itertools import islice

from gathercli.cli.command import ALL, HELP, REQUIRED, Argument, Option

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Final

    from gathercli.cli.command import Parameter

NO_OPTION: Final = "no option"
NO_VALUE: Final = "no value, or one of a flag"
ONE_DASH: Final = "one dash"
EQUALS_SIGN: Final = "equals sign"
TWICE: Final = "twice"
WRONG_VALUE: Final = "wrong value"
MISSING: Final = "missing"
TOO_MANY: Final = "too many"


class WordsError(Exception):
    """Words that the declarations refuse.

    Attributes
    ----------
    problem
        One of the constants of this module.
    subject
        The parameter of `WRONG_VALUE` and `MISSING`; the name of an option or the word of others.
    """

    def __init__(self, problem: str, subject: Any = None) -> None:
        super().__init__(problem)
        self.problem, self.subject = problem, subject


def parse(parameters: Mapping[str, Parameter], words: Iterable[str]) -> dict[str, Any] | None:
    """Return the values of all parameters; None if the words ask for help.

    Raises
    ------
    WordsError
        What is wrong with the options, in the order of the words; then, unless they ask for help,
        with values; then what is missing; then an argument too many.
    """
    options, texts = _sort(parameters, words)
    if None in options:
        return None
    values: dict[str, Any] = {}
    for name, given in options.items():
        values[str(name)] = _value(parameters[str(name)], given)
    for name, each in parameters.items():
        if isinstance(each, Argument) and texts:
            if each.kind is list:
                values[name], texts = texts, []
            else:
                values[name], texts = _converted(each, texts[0]), texts[1:]
        elif each.default is REQUIRED and name not in values:
            raise WordsError(MISSING, each)
    if texts:
        raise WordsError(TOO_MANY, texts[0])
    return {name: values.get(name, each.default) for name, each in parameters.items()}


def _sort(
    parameters: Mapping[str, Parameter], words: Iterable[str]
) -> tuple[dict[str | None, list[list[str]]], list[str]]:
    """Return the values of each option that is given, and the arguments; None stands for help."""
    names: dict[str, str | None] = dict.fromkeys(HELP.names)
    names |= {text: name for name, each in parameters.items() for text in each.names}
    given: dict[str | None, list[list[str]]] = {}
    arguments: list[str] = []
    words = iter(words)
    for word in words:
        if word == "--":
            arguments.extend(words)
        elif not is_option(word):
            arguments.append(word)
        else:
            for text, attached in _options(names, parameters, word):
                if text == ALL not in names:
                    given.setdefault(ALL, [])
                    continue
                if text not in names:
                    raise WordsError(NO_OPTION, text)
                name = names[text]
                option: Any = HELP if name is None else parameters[name]
                if option.once and name in given:
                    raise WordsError(TWICE, option)
                given.setdefault(name, []).append(_taken(option, text, attached, words))
    if ALL in given and None not in given:
        raise WordsError(NO_OPTION, ALL)
    return given, arguments


def _options(
    names: Mapping[str, str | None], parameters: Mapping[str, Parameter], word: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the options of a word, each with the value that is attached to it."""
    if word.startswith("--"):
        text, mark, value = word.partition("=")
        yield text, [value] if mark else []
        return
    if len(word) > 2 and "-" + word.partition("=")[0] in names:
        raise WordsError(ONE_DASH, word)
    if word[2:3] == "=" and word[:2] in names:
        raise WordsError(EQUALS_SIGN, word)
    for at, letter in enumerate(word[1:], 2):
        name = names.get(f"-{letter}")
        takes_value = name is not None and parameters[name].kind is not bool
        yield f"-{letter}", [word[at:]] if takes_value and word[at:] else []
        if takes_value:
            return


def _taken(option: Option, text: str, attached: list[str], words: Iterator[str]) -> list[str]:
    """Return the values of an option: the attached one, and as many words as it takes."""
    taken = [*attached, *islice(words, max(0, option.count - len(attached)))]
    if len(taken) != option.count:
        raise WordsError(NO_VALUE, text)
    return taken


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


def _value(option: Parameter, given: list[list[str]]) -> Any:
    """Return the value of an option that is given once or more; the last counts."""
    if option.kind is bool:
        return True
    if option.kind is list:
        return [text for (text,) in given]
    return tuple(given[-1]) if option.kind is tuple else _converted(option, given[-1][0])


def _converted(parameter: Parameter, text: str) -> Any:
    """Convert the text of a value to its type."""
    if parameter.choices and text not in parameter.choices:
        raise WordsError(WRONG_VALUE, parameter)
    if not isinstance(parameter, Option) or parameter.kind is str:
        return text
    try:
        number = parameter.kind(text)
    except ValueError:
        raise WordsError(WRONG_VALUE, parameter) from None
    least, most = parameter.min, parameter.max
    if (least is None or number >= least) and (most is None or number <= most):
        return number
    raise WordsError(WRONG_VALUE, parameter)
