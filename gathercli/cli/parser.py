"""Parse the words after a command by the declarations of its parameters."""

from __future__ import annotations

from gathercli.cli.declarations import ALL, HELP, REQUIRED, Command, Parameter
from gathercli.records import Any, Enum, Iterable, Iterator, Mapping, NamedTuple, Sequence


class Problem(Enum):
    """What is wrong with the words of a command line."""

    NO_OPTION = "no option"
    NO_VALUE = "no value, or one of a flag"
    ONE_DASH = "one dash"
    EQUALS_SIGN = "equals sign"
    TWICE = "twice"
    WRONG_VALUE = "wrong value"
    MISSING = "missing"
    TOO_MANY = "too many"


class WordsError(Exception):
    """Words that the declarations refuse.

    The subject of `TWICE`, `WRONG_VALUE` and `MISSING` is the parameter, of others an option's name
    or a word. `at` is the position of the word of an option.
    """

    def __init__(self, problem: Problem, subject: Any, at: int = 0) -> None:
        super().__init__(problem.value)
        self.problem, self.subject, self.at = problem, subject, at


class Word(NamedTuple):
    """A word of a command line."""

    text: str
    option: str | None = None  # its name, also for its value; None for an argument
    value: str | None = None  # of the option, if the word has it or is it
    is_value: bool = False  # whether the word is all value
    param: Any = None  # the parameter with the option; None if the command has none

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the option, if the command has it."""
        return self.param.names if self.param else ()


def parse(parameters: Mapping[str, Parameter], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of all parameters; None if the words ask for help.

    First raise `WordsError` for the options, in the order of the words; then, unless help is asked
    for, for values, for what is missing, for an argument too many.
    """
    options, texts = _sort((*parameters.values(), HELP), words)
    if HELP in options:
        return None
    values = {each: _value(each, given) for each, given in options.items()}
    for each in parameters.values():
        if not each.names and texts:
            if each.kind is list:
                values[each], texts = texts, []
            else:
                values[each], texts = _converted(each, texts[0]), texts[1:]
        elif each.default is REQUIRED and each not in values:
            raise WordsError(Problem.MISSING, each)
    if texts:
        raise WordsError(Problem.TOO_MANY, texts[0])
    return {name: values.get(each, each.default) for name, each in parameters.items()}


def _sort(
    params: Sequence[Parameter], words: Sequence[str]
) -> tuple[dict[Parameter, list[list[str]]], list[str]]:
    """Return the values of each option that is given, and the arguments."""
    options: dict[str, Any] = {name: each for each in params for name in each.names}
    given: dict[Parameter, list[list[str]]] = {}
    arguments: list[str] = []
    last: tuple[str, int, list[str], int] = "", 0, [], 0  # an option, which may lack values
    every: int | None = None  # the position of `ALL`, which only help has
    for at, word in enumerate(words_of(params, words)):
        if word.option is None:
            arguments.append(word.text)
        elif word.is_value:
            last[2].append(word.text)
        elif word.text == ALL and ALL not in options:
            every = at
        elif word.text != "--":
            for text, value in _options(word.text, options):
                _check(word.text, text, value, at, options)
                option = options[text]
                if option.once and option in given:
                    raise WordsError(Problem.TWICE, option, at)
                last = text, option.count, [] if value is None else [value], at
                given.setdefault(option, []).append(last[2])
    text, count, values, at = last
    if len(values) < count:
        raise WordsError(Problem.NO_VALUE, text, at)
    if every is not None and HELP not in given:
        raise WordsError(Problem.NO_OPTION, ALL, every)
    return given, arguments


def _check(word: str, name: str, value: str | None, at: int, options: Mapping[str, Any]) -> None:
    """Raise for an option of a word that does not exist, or is not written as it takes a value.

    ``-axis`` has one dash, and ``-a=1`` would be the value ``=1``.
    """
    if not word.startswith("--"):
        if len(word) > 2 and "-" + word.partition("=")[0] in options:
            raise WordsError(Problem.ONE_DASH, word, at)
        if word[2:3] == "=" and word[:2] in options:
            raise WordsError(Problem.EQUALS_SIGN, word, at)
    if name not in options:
        raise WordsError(Problem.NO_OPTION, name, at)
    if value is not None and not options[name].count:
        raise WordsError(Problem.NO_VALUE, name, at)


def _options(word: str, options: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Return the names of the options in a word, each with the value that is attached to it.

    >>> _options("-qa0", {"-a": HELP.replace(kind=int)}), _options("--axis=0", {})
    ([('-q', None), ('-a', '0')], [('--axis', '0')])
    """
    if word.startswith("--"):
        name, mark, value = word.partition("=")
        return [(name, value if mark else None)]
    found: list[tuple[str, str | None]] = []
    for at, letter in enumerate(word[1:], 2):
        option = options.get(f"-{letter}")
        takes_value = option is not None and option.count > 0
        found.append((f"-{letter}", (takes_value and word[at:]) or None))
        if takes_value:
            break
    return found


def words_of(params: Iterable[Parameter], args: Sequence[str]) -> Iterator[Word]:
    """Classify words by the parameters of a command; no word is refused."""
    options: dict[str, Any] = {name: each for each in params for name in each.names}
    rest, option, param = 0, "", None  # the number of values that follow, and their option
    for at, text in enumerate(args):
        if rest:
            yield Word(text, option, text, is_value=True, param=param)
            rest -= 1
        elif text == "--":
            yield Word(text, text)
            yield from map(Word, args[at + 1 :])
            return
        elif not is_option(text):
            yield Word(text)
        else:
            option, value = _options(text, options)[-1]
            param = options.get(option)
            rest = max(0, param.count - (value is not None)) if param else 0
            yield Word(text, option, value, param=param)


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
        return [str(each.metavar) for each in self.params if not each.names]

    @property
    def is_of_models(self) -> bool:
        """Whether the command is in its form for models."""
        return any(each.startswith("MODEL") for each in self.metavars)

    @property
    def required(self) -> int:
        """The number of required parameters."""
        return sum(param.is_required for param in self.params)

    def param(self, option: str) -> Any:
        """Return the parameter with an option, or None."""
        return next((param for param in self.params if option in param.names), None)

    def replace(self, at: int, *texts: str, words: int = 1) -> list[str]:
        """Return the command and its words, with `texts` in place of some `words` from `at` on."""
        head = [self.command] if self.command else []
        return [*head, *self.texts[:at], *texts, *self.texts[at + words :]]


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
    if parameter.choices and text not in parameter.choices:
        raise WordsError(Problem.WRONG_VALUE, parameter)
    if not parameter.names or parameter.kind is str:
        return text
    try:
        number = parameter.kind(text)
    except ValueError:
        raise WordsError(Problem.WRONG_VALUE, parameter) from None
    least, most = parameter.min, parameter.max
    if least is not None and not least <= number < float("inf"):  # nor is NaN
        raise WordsError(Problem.WRONG_VALUE, parameter)
    if most is not None and number > most:
        raise WordsError(Problem.WRONG_VALUE, parameter)
    return number
