"""Parse the words after a command by the declarations of its parameters."""

from __future__ import annotations

from gathercli.cli.declarations import ALL, HELP, REQUIRED, Argument, Option
from gathercli.records import NamedTuple

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Final

    from gathercli.cli.declarations import Command, Parameter

NO_OPTION: Final = "no option"
NO_VALUE: Final = "no value, or one of a flag"
ONE_DASH: Final = "one dash"
EQUALS_SIGN: Final = "equals sign"
TWICE: Final = "twice"
WRONG_VALUE: Final = "wrong value"
MISSING: Final = "missing"
TOO_MANY: Final = "too many"


class WordsError(Exception):
    """Words that the declarations refuse; `problem` is one of the constants above.

    The subject of `WRONG_VALUE` and `MISSING` is the parameter, of others an option's name or a
    word.
    """

    def __init__(self, problem: str, subject: Any = None) -> None:
        super().__init__(problem)
        self.problem, self.subject = problem, subject


class Word(NamedTuple):
    """A word of a command line."""

    text: str
    option: str | None = None  # its name, also for its value; None for an argument
    value: str | None = None  # of the option, if the word has it or is it
    is_value: bool = False  # whether the word is all value


def parse(parameters: Mapping[str, Parameter], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of all parameters; None if the words ask for help.

    First raise `WordsError` for the options, in the order of the words; then, unless help is asked
    for, for values, for what is missing, for an argument too many.
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
    parameters: Mapping[str, Parameter], words: Sequence[str]
) -> tuple[dict[str | None, list[list[str]]], list[str]]:
    """Return the values of each option that is given, and the arguments; None stands for help."""
    options: dict[str, tuple[str | None, Any]] = dict.fromkeys(HELP.names, (None, HELP))
    options |= {text: (name, each) for name, each in parameters.items() for text in each.names}
    given: dict[str | None, list[list[str]]] = {}
    arguments: list[str] = []
    last: tuple[str, Any, list[str]] = "", HELP, []  # which may lack values
    for word in words_of((*parameters.values(), HELP), words):
        if word.option is None:
            arguments.append(word.text)
        elif word.is_value:
            last[2].append(word.text)
        elif word.text != "--":
            for text, values in _options(options, word.text):
                name, option = _option(options, text, values)
                if option.once and name in given:
                    raise WordsError(TWICE, option)
                given.setdefault(name, []).append(values)
                last = text, option, values
    text, option, values = last
    if len(values) < option.count:
        raise WordsError(NO_VALUE, text)
    if ALL in given and None not in given:
        raise WordsError(NO_OPTION, ALL)
    return given, arguments


def _option(
    options: Mapping[str, tuple[str | None, Any]], text: str, values: Sequence[str]
) -> tuple[str | None, Any]:
    """Return the option with a name, which may have the attached values."""
    if text == ALL not in options and not values:
        return ALL, HELP
    if text not in options:
        raise WordsError(NO_OPTION, text)
    name, option = options[text]
    if len(values) > option.count:
        raise WordsError(NO_VALUE, text)
    return name, option


def _options(
    options: Mapping[str, tuple[str | None, Any]], word: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the options of a word, each with the value that is attached to it."""
    if word.startswith("--"):
        text, mark, value = word.partition("=")
        yield text, [value] if mark else []
        return
    if len(word) > 2 and "-" + word.partition("=")[0] in options:
        raise WordsError(ONE_DASH, word)
    if word[2:3] == "=" and word[:2] in options:
        raise WordsError(EQUALS_SIGN, word)
    for at, letter in enumerate(word[1:], 2):
        _, option = options.get(f"-{letter}", (None, HELP))
        yield f"-{letter}", [word[at:]] if option.count and word[at:] else []
        if option.count:
            return


def words_of(params: Iterable[Parameter], args: Sequence[str]) -> Iterator[Word]:
    """Classify words by the parameters of a command; no word is refused."""
    values = {
        name: param.count for param in params if isinstance(param, Option) for name in param.names
    }
    rest, option = 0, ""  # the number of values that follow, and their option
    for at, text in enumerate(args):
        if rest:
            yield Word(text, option, text, is_value=True)
            rest -= 1
        elif text == "--":
            yield Word(text, text)
            yield from map(Word, args[at + 1 :])
            return
        elif not is_option(text):
            yield Word(text)
        elif text.startswith("--"):
            option, mark, value = text.partition("=")
            rest = max(0, values.get(option, 0) - bool(mark))
            yield Word(text, option, value if mark else None)
        else:  # letters; the last may have its value attached
            attached = ""
            for n, letter in enumerate(text[1:], 2):
                option = f"-{letter}"
                if values.get(option):
                    attached = text[n:]
                    rest = values[option] - bool(attached)
                    break
            yield Word(text, option, attached or None)


class CommandLine(NamedTuple):
    """The words after a command."""

    command: str  # its name; empty for the program itself
    params: Sequence[Any]  # of `Parameter`: whether an option is meant depends on the words
    words: tuple[Word, ...]

    @classmethod
    def read(cls, command: str, params: Sequence[Parameter], args: Sequence[str]) -> CommandLine:
        """Classify the words `args` by the parameters of a command."""
        return cls(command, params, tuple(words_of(params, args)))

    @classmethod
    def of(cls, command: Command, args: Sequence[str]) -> CommandLine:
        """Classify the words after a command."""
        return cls.read(command.name, (*command.parameters.values(), HELP), args)

    @property
    def texts(self) -> list[str]:
        """All words."""
        return [word.text for word in self.words]

    @property
    def arguments(self) -> list[str]:
        """The arguments, in order."""
        return [word.text for word in self.words if word.option is None]

    @property
    def options(self) -> list[str]:
        """The options and their values, in order."""
        return [word.text for word in self.words if word.option is not None]

    @property
    def metavars(self) -> list[str]:
        """The names of the command's arguments."""
        return [str(each.metavar) for each in self.params if isinstance(each, Argument)]

    @property
    def required(self) -> int:
        """The number of required parameters."""
        return sum(param.is_required for param in self.params)

    def param(self, option: str) -> Any:
        """Return the parameter with an option, or None."""
        return next((param for param in self.params if option in param.names), None)

    def option_names(self, word: Word) -> list[str]:
        """Return every name of the option of a word."""
        param = self.param(word.option or "")
        return list(param.names) if param else []

    def position(self, word: Word) -> int:
        """Return the position of a word, compared by identity."""
        return next(at for at, each in enumerate(self.words) if each is word)

    def replace(self, word: Word, text: str) -> list[str]:
        """Return the command and its words, with `text` in place of one."""
        texts = self.texts
        texts[self.position(word)] = text
        return [self.command, *texts] if self.command else texts


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
