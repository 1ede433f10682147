"""Commands as functions of groups of options.

A group is a class with an attribute for each option, or for another group. It is declared once; a
command has its options by naming it as a parameter; `options.toml` says what each is for:

    class ViewOptions(Options):
        full: bool = flag(VIEW, "--full")

    def run(tensors: TensorOptions, view: ViewOptions, messages: Messages) -> Answer: ...
"""

from __future__ import annotations

import sys

from gathercli.records import Any, Callable, Final, Iterable, Iterator, NamedTuple, Self
from gathercli.slices import given
from gathercli.text import listed, table_beside

TYPE_CHECKING = False  # as in `gathercli.errors`

if TYPE_CHECKING:
    from gathercli.errors import GatherError
    from gathercli.report.terminal import Report


OPERATOR: Final = "Operator"
OUTPUT: Final = "Output"
RUNNING: Final = "Running"
REPORT: Final = "Report"
NO_FILE: Final = "Without a job file"
VIEW: Final = "View"
INPUT: Final = "Input"
MESSAGES: Final = "Messages"
CLUSTER: Final = "Cluster"

# The groups of options, in the order of help and manual.
GROUPS: Final = (OPERATOR, OUTPUT, RUNNING, REPORT, NO_FILE, VIEW, INPUT, MESSAGES, CLUSTER)
REQUIRED: Final = ...  # the default of an argument that has none


class Parameter:
    """An option, as `option` declares it, or an argument, as `argument` does.

    As an attribute of an `Options` object without a value, it has the value of its default.
    """

    metavar: str | None  # the name of its value in help
    kind: type  # of its values: bool for a flag, list for any number of words, tuple for two
    choices: tuple[str, ...]  # its values, if there are only a few
    default: Any  # `REQUIRED` if it has none
    # values to complete and to suggest, where other texts are values too
    known: Callable[[], Iterable[str]]
    names: tuple[str, ...] = ()  # of an option; an argument has none, and nothing that follows
    group: str = ""
    min: int | None = None
    max: int | None = None
    hidden: bool = False  # whether help and manual omit it
    once: bool = False
    rare: bool = False

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __get__(self, group: Options | None, owner: type[Options]) -> Any:
        """Return the default for a group of values, and the declaration itself for its class."""
        return self if group is None else self.default

    def replace(self, **attributes: Any) -> Parameter:
        """Return the declaration with other attributes."""
        return type(self)(**self.__dict__ | attributes)

    def __set_name__(self, owner: type[Options], name: str) -> None:
        self.__dict__.setdefault("place", (owner.__module__, owner.__name__, name))

    @property
    def help(self) -> str:
        """What it is for, as declared or as `options.toml` beside its class says.

        ``{known}`` in the text stands for the known values.
        """
        text: str = self.__dict__["help"]
        if not text:
            module, owner, name = self.__dict__["place"]
            text = table_beside(module, "options").get(owner, {}).get(name, "")
        return text.replace("{known}", listed(self.known())) if "{known}" in text else text

    @property
    def count(self) -> int:
        """How many words its value is."""
        return 0 if self.kind is bool else 2 if self.kind is tuple else 1

    @property
    def label(self) -> str:
        """Its names in help, the short one first, and that of its value."""
        names = ", ".join(sorted(self.names, key=len))
        if not names:
            return str(self.metavar)
        return f"{names} {self.metavar}" if self.count else names

    @property
    def is_required(self) -> bool:
        """Whether a line lacks something without it."""
        return self.default is REQUIRED


def option(
    group: str,
    *names: str,
    help: str = "",  # noqa: A002  (as typer calls it, and those below)
    metavar: str | None = None,
    kind: type = str,
    choices: tuple[str, ...] = (),
    default: Any = None,
    known: Callable[[], Iterable[str]] = tuple,
    min: int | None = None,  # noqa: A002
    max: int | None = None,  # noqa: A002
    hidden: bool = False,
    once: bool = False,
    rare: bool = False,
) -> Any:
    """Declare an option: as an attribute of a group, or as the default of a parameter.

    Help and manual list it under its `group`, one of `GROUPS`; a `rare` one after the others, and
    in the help of all options alone. `min` and `max` are the bounds of a number. Of several values
    the last one counts, or the second is refused if it comes `once`. The others are as in
    `Parameter`.
    """
    return Parameter(**locals())


def flag(group: str, *names: str, help: str = "", rare: bool = False) -> Any:  # noqa: A002
    """Declare an option without a value."""
    return option(group, *names, help=help, kind=bool, default=False, rare=rare)


def argument(
    metavar: str,
    help: str = "",  # noqa: A002
    *,
    kind: type = str,
    choices: tuple[str, ...] = (),
    default: Any = REQUIRED,
    known: Callable[[], Iterable[str]] = tuple,
) -> Any:
    """Declare an argument, as `option` does."""
    return Parameter(**locals())


# The option of every command that shows its help.
HELP: Final[Parameter] = flag(MESSAGES, "--help", "-h", help="Show this message and exit.")
ALL: Final = "--all"  # the word beside `HELP` for the help of all options
# The option of the program that stands alone.
VERSION: Final[Parameter] = flag(MESSAGES, "--version", help="Print the version of gathercli.")


class Options:
    """A group of options."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group for a command; subclasses may return different groups."""
        del command
        return cls

    @classmethod
    def with_options(cls, parameters: dict[str, Any]) -> type[Self]:
        """Return the group with more options and arguments."""
        return type(cls.__name__, (cls,), {"__annotations__": parameters, **parameters})

    @classmethod
    def replaced(cls, **attributes: Any) -> type[Self]:
        """Return the group with other attributes of its own options, such as `hidden`."""
        own = cls._own().items()
        return cls.with_options({name: each.replace(**attributes) for name, each in own})

    def changed(self) -> dict[str, Any]:
        """Return the options of the group that differ from their defaults."""
        return {
            name: value
            for name, each in self._own().items()
            if (value := getattr(self, name)) != each.default
        }

    @classmethod
    def _own(cls) -> dict[str, Parameter]:
        """Return the options and arguments of the group, without those in groups."""
        names = [name for each in reversed(cls.__mro__) for name in vars(each)]
        return {name: each for name in names if isinstance(each := getattr(cls, name), Parameter)}


class SliceOptions(Options):
    """A group that stands for one that a slice gives to a command; without it, of no options."""

    role: str  # its key in `Slice.options`

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group of the slice that gives one."""
        return given("options", f"{cls.role} of {command}") or given("options", cls.role) or cls


class Answer(NamedTuple):
    """A result as text, written once its format and its terminal are known."""

    # from a width (None for no limit) and whether it has colour
    text: Callable[[int | None, bool], str]
    json: Callable[[], str] | None = None  # a line of JSON; None if the command has no such format
    plain: str | None = None  # the text for a pipe, if it differs
    notes: tuple[str, ...] = ()  # printed on stderr after the text
    text_has_notes: bool = False  # whether they are printed after JSON and `plain` alone
    remarks: tuple[str, ...] = ()  # printed after them on a terminal only
    paged: bool = False  # whether the text goes through a pager on a terminal
    status: int = 0
    error: GatherError | None = None  # raised once the text is printed, in place of the notes

    @classmethod
    def of(cls, report: Report, **others: Any) -> Answer:
        """Return the answer that a report is; `others` are further fields."""

        def text(width: int | None, color: bool) -> str:
            from gathercli.report.terminal import rendered

            return rendered(report.styled(width), color=True) if color else report.plain(width)

        return cls(text, report.line, **others)


class Request(NamedTuple):
    """A parsed command line; `groups` are all its groups of options, those in groups too."""

    run: Callable[[], int | Answer]
    groups: Iterable[object] = ()
    fmt: str = "auto"


class Command:
    """A command, made of the function that runs it; its parameters are those of all its groups.

    Two groups may share an option; both get its value. They may share a group, which is one object.
    The `parameters` are the arguments by name, then the options in the order of help; `models` says
    whether it is the form for models of a command.
    """

    def __init__(
        self, name: str, run: Callable[..., int | Answer], *, models: bool = False
    ) -> None:
        self.name, self._run, self.models = name, run, models
        self._members = _members(run, name)
        places: dict[str, Parameter] = {}
        for key, each in _flat(self._members):
            if places.get(key) is each:  # groups share it: its place is that in the last of them
                del places[key]
            places[key] = each
        self.parameters: dict[str, Parameter] = dict(sorted(places.items(), key=_place))

    @property
    def arguments(self) -> list[Parameter]:
        """The arguments, in order."""
        return [each for each in self.parameters.values() if not each.names]

    @property
    def options(self) -> list[Parameter]:
        """The options that the manual lists."""
        return [each for each in self.parameters.values() if each.names and not each.hidden]

    def shown(self, *, every: bool) -> dict[str, Parameter]:
        """Return the parameters that help lists by name, rare options only if `every`."""
        shown = {
            name: each
            for name, each in self.parameters.items()
            if not each.names or (not each.hidden and (every or not each.rare))
        }
        return {**shown, "help": HELP}

    def request(self, values: dict[str, Any]) -> Request:
        """Return what to do for the values of all parameters."""
        groups: dict[type, Options] = {}
        arguments = _filled(self._members, values, groups)
        fmt = values.get("fmt", "auto")
        return Request(lambda: self._run(**arguments), groups.values(), fmt)


def _flat(tree: dict[str, Any]) -> Iterator[tuple[str, Parameter]]:
    """Yield the names and parameters of a tree, as `_members` returns it."""
    for name, each in tree.items():
        if isinstance(each, tuple):
            yield from _flat(each[1])
        else:
            yield name, each


def _place(item: tuple[str, Parameter]) -> tuple[int, bool]:
    """Return the place of a parameter in help: arguments first, rare options of a group last."""
    _, each = item
    return (GROUPS.index(each.group), each.rare) if each.names else (-1, False)


def _filled(
    tree: dict[str, Any], values: dict[str, Any], groups: dict[type, Options]
) -> dict[str, Any]:
    """Return the values of a tree by name, with an object for each of `groups`, which it adds."""
    filled: dict[str, Any] = {}
    for name, each in tree.items():
        if isinstance(each, tuple):
            group, members = each
            if group not in groups:  # two groups may have it in common
                groups[group] = group(**_filled(members, values, groups))
            filled[name] = groups[group]
        else:
            filled[name] = values[name]
    return filled


def _members(owner: Any, command: str) -> dict[str, Any]:
    """Return what a function takes, or a group has, by name; a group with its own members.

    Annotations are texts, of which only the names of groups are looked up: `typing` would take a
    hundred times as long to evaluate all of them.
    """
    members: dict[str, Any] = {}
    is_group = isinstance(owner, type)
    defaults = {} if is_group else _defaults(owner)
    for each in reversed(owner.__mro__) if is_group else [owner]:
        scope = vars(sys.modules[each.__module__])
        for name, annotation in getattr(each, "__annotations__", {}).items():
            default = getattr(owner, name, None) if is_group else defaults.get(name)
            group = scope.get(annotation)
            if isinstance(default, Parameter):
                members[name] = default
            elif isinstance(group, type) and issubclass(group, Options):
                group = group.of(command)
                members[name] = group, _members(group, command)
    return members


def _defaults(function: Any) -> dict[str, Any]:
    positional = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    named = zip(positional[len(positional) - len(values) :], values, strict=True)
    return {**dict(named), **(function.__kwdefaults__ or {})}
