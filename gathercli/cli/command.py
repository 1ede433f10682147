"""Commands as functions of groups of options.

A group is a class with an annotated attribute for each option, or for another group. It is declared
once; a command has its options by naming it as a parameter:

    def run(tensors: TensorOptions, operator: OperatorOptions, messages: Messages) -> Answer: ...
"""

from __future__ import annotations

from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from gathercli.cli.answer import Answer
    from gathercli.cli.messages import ErrorOptions

NAME = "command"
"""The parameter that takes the name of the command, for a function that serves several."""

REQUIRED: Final = ...
"""The default of an argument that has none."""


class Field(NamedTuple):
    """The annotation and the default of an option that a group has for one command only."""

    annotation: Any
    default: Any = REQUIRED


class Options:
    """A group of options; the defaults are attributes of the class."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group for a command; subclasses may return different groups."""
        del command
        return cls

    @classmethod
    def with_fields(cls, fields: dict[str, Field]) -> type[Options]:
        """Return the group with more options."""
        annotations = {name: field.annotation for name, field in fields.items()}
        defaults = {
            name: field.default for name, field in fields.items() if field.default is not REQUIRED
        }
        return type(cls.__name__, (cls,), {"__annotations__": annotations, **defaults})

    @classmethod
    def hidden(cls) -> type[Options]:
        """Return the group with its options hidden from help and manual."""
        hints = get_type_hints(cls, include_extras=True)
        fields = {
            name: Field(
                Annotated[each.__origin__, each.__metadata__[0]._replace(hidden=True)],
                _default(cls, name),
            )
            for name, each in hints.items()
        }
        return cls.with_fields(fields)

    def changed(self) -> dict[str, Any]:
        """Return the options of the group that differ from their defaults."""
        group: Any = type(self)
        return {
            name: value
            for name, annotation in _annotations(group, "")
            if not _is_group(annotation) and (value := getattr(self, name)) != _default(group, name)
        }


class OptionSpec(NamedTuple):
    """An option as `option` declares it."""

    names: tuple[str, ...]
    help: str
    group: str
    metavar: str | None
    min: int | None
    max: int | None
    hidden: bool
    once: bool


class ArgumentSpec(NamedTuple):
    """An argument: its name in help, and its help."""

    metavar: str
    help: str


class Parameter(NamedTuple):
    """An option or an argument of a command, with its type and its default."""

    name: str
    kind: Any
    spec: OptionSpec | ArgumentSpec
    default: Any


class Request(NamedTuple):
    """A parsed command line: a function that runs it, and how to print errors."""

    run: Callable[[], int]
    errors: ErrorOptions | None = None


def option(
    group: str,
    *names: str,
    help: str,  # noqa: A002  (as typer calls it, and the two below)
    metavar: str | None = None,
    min: int | None = None,  # noqa: A002
    max: int | None = None,  # noqa: A002
    hidden: bool = False,
    once: bool = False,
) -> OptionSpec:
    """Declare an option for `Annotated`.

    Parameters
    ----------
    group
        One of `groups.GROUPS`, under which help and manual list it.
    metavar
        The name of its value in help; None for a flag.
    min, max
        The bounds of a number.
    hidden
        Whether help and manual omit it.
    once
        Whether a second value is refused; otherwise the last one counts.
    """
    return OptionSpec(names, help, group, metavar, min, max, hidden, once)


def argument(metavar: str, help: str) -> ArgumentSpec:  # noqa: A002
    """Declare an argument for `Annotated`."""
    return ArgumentSpec(metavar, help)


class Command:
    """A command, made of the function that runs it; its parameters are those of all its groups.

    Two groups may share an option; both get its value.
    """

    def __init__(self, name: str, run: Callable[..., int | Answer]) -> None:
        self.name, self._run = name, run
        # Annotations are evaluated once, as that takes longer than anything else here.
        self._annotations = cache(partial(_annotations, command=name))

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The options and arguments by name."""
        return {each.name: each for each in self._flat(self._run)}

    def request(self, values: dict[str, Any]) -> Request:
        """Return what to do for the values of all parameters."""
        from gathercli.cli.messages import ErrorOptions

        arguments = self._filled(self._run, {NAME: self.name} | values)
        groups = (each for each in arguments.values() if isinstance(each, ErrorOptions))
        errors = next(groups, ErrorOptions())
        run = partial(self._run, **arguments)
        return Request(partial(_do, run, values.get("fmt", "auto"), errors), errors)

    def _flat(self, owner: Callable[..., Any]) -> Iterator[Parameter]:
        """Yield the parameters of a function or a group, including those of nested groups."""
        for name, annotation in self._annotations(owner):
            if _is_group(annotation):
                yield from self._flat(annotation)
            elif annotation is not str:  # which takes the name of the command
                (spec,) = annotation.__metadata__
                yield Parameter(name, annotation.__origin__, spec, _default(owner, name))

    def _filled(self, owner: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `owner`: values of options, and groups made of them."""
        return {
            name: annotation(**self._filled(annotation, values))
            if _is_group(annotation)
            else values[name]
            for name, annotation in self._annotations(owner)
        }


def _do(run: Callable[[], int | Answer], fmt: str, errors: ErrorOptions) -> int:
    """Run a command, print its answer, and return the status."""
    answer = run()
    if isinstance(answer, int):  # the command streamed its output
        return answer
    from gathercli.cli.answer import print_answer

    return print_answer(answer, fmt, errors)


def _annotations(owner: Hashable, command: str) -> list[tuple[str, Any]]:
    """Return the names and annotations of options, with groups as the command has them."""
    return [
        (name, annotation.of(command) if _is_group(annotation) else annotation)
        for name, annotation in get_type_hints(owner, include_extras=True).items()
        if name != "return"
    ]


def _default(owner: Any, name: str) -> Any:
    """Return the default of an option, or `REQUIRED`."""
    if isinstance(owner, type):
        home = next(each for each in owner.__mro__ if name in each.__annotations__)
        return vars(home).get(name, REQUIRED)
    names, defaults = owner.__code__.co_varnames, owner.__defaults__ or ()
    positional = names[: owner.__code__.co_argcount]
    values = dict(zip(reversed(positional), reversed(defaults), strict=False))
    return (values | (owner.__kwdefaults__ or {})).get(name, REQUIRED)


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)
