"""Commands as functions of groups of options.

A group is a class with an annotated attribute for each option, or for another group. It is declared
once; a command has its options by naming it as a parameter:

    def run(tensors: TensorOptions, operator: OperatorOptions, messages: Messages) -> Answer: ...
"""

from __future__ import annotations

from functools import partial
from inspect import Parameter, Signature, get_annotations, signature
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.cli.answer import Answer
    from gathercli.cli.messages import ErrorOptions

NAME = "command"
"""The parameter that takes the name of the command, for a function that serves several."""


class Field(NamedTuple):
    """The annotation and the default of an option that a group has for one command only."""

    annotation: Any
    default: Any = Parameter.empty


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
            name: field.default
            for name, field in fields.items()
            if field.default is not Parameter.empty
        }
        return type(cls.__name__, (cls,), {"__annotations__": annotations, **defaults})

    def changed(self) -> dict[str, Any]:
        """Return the options of the group that differ from their defaults."""
        group: Any = type(self)
        return {
            name: value
            for name, annotation in _annotations(group, "")
            if not _is_group(annotation) and (value := getattr(self, name)) != _default(group, name)
        }


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
) -> Any:
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
    """
    return typer.Option(
        *names,
        metavar=metavar,
        help=help,
        min=min,
        max=max,
        hidden=hidden,
        show_default=False,
        rich_help_panel=group,
    )


def argument(metavar: str, help: str) -> Any:  # noqa: A002
    """Declare an argument for `Annotated`."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def callback(name: str, run: Callable[..., int | Answer]) -> Callable[..., Request]:
    """Return the function that typer calls: its parameters are the options of all groups of `run`.

    Two groups may share an option; both get its value.
    """

    def request(**values: Any) -> Request:
        from gathercli.cli.messages import ErrorOptions

        arguments = _filled(run, name, {NAME: name} | values)
        groups = (each for each in arguments.values() if isinstance(each, ErrorOptions))
        errors = next(groups, ErrorOptions())
        return Request(
            partial(_do, partial(run, **arguments), values.get("fmt", "auto"), errors), errors
        )

    flat = {each.name: each for each in _flat(run, name) if each.annotation is not str}
    request.__signature__ = Signature([*flat.values()])  # type: ignore[attr-defined]
    request.__annotations__ = {}
    return request


def _do(run: Callable[[], int | Answer], fmt: str, errors: ErrorOptions) -> int:
    """Run a command, print its answer, and return the status."""
    answer = run()
    if isinstance(answer, int):  # the command streamed its output
        return answer
    from gathercli.cli.answer import print_answer

    return print_answer(answer, fmt, errors)


def _flat(owner: Callable[..., Any], command: str) -> Iterator[Parameter]:
    """Yield the options of a function or a group, including those of nested groups."""
    for name, annotation in _annotations(owner, command):
        if _is_group(annotation):
            yield from _flat(annotation, command)
            continue
        default = _default(owner, name)
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(owner: Callable[..., Any], name: str) -> Any:
    """Return the default of an option, or `Parameter.empty` if it is required."""
    if not isinstance(owner, type):
        return signature(owner).parameters[name].default
    home = next(each for each in owner.__mro__ if name in get_annotations(each))
    return vars(home).get(name, Parameter.empty)


def _filled(owner: Callable[..., Any], command: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `owner`: values of options, and groups made of them."""
    return {
        name: annotation(**_filled(annotation, command, values))
        if _is_group(annotation)
        else values[name]
        for name, annotation in _annotations(owner, command)
    }


def _annotations(owner: Callable[..., Any], command: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and annotations of options, with groups as the command has them."""
    for name, annotation in get_type_hints(owner, include_extras=True).items():
        if name != "return":
            yield name, annotation.of(command) if _is_group(annotation) else annotation


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)
