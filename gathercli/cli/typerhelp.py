"""The help on a terminal, which typer draws; the only importer of typer.

Of typer are used what its documentation names: the application, the declarations of options and
arguments, the context of a callback, and the class of a command.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from gathercli.cli.declarations import HELP, REQUIRED, VERSION, Command, Parameter
from gathercli.cli.helptext import PROGRAM, PROGRAM_HELP, START, CommandHelp
from gathercli.cli.registry import COMMANDS
from gathercli.report.terminal import escaped


def draw_help(command: Command, *, every: bool) -> int:
    """Draw the help of a command, with its rare options if `every`; return the status."""
    said = CommandHelp(command, every=every)

    class DrawnCommand(TyperCommand):
        def get_usage(self, ctx: Any) -> str:
            """Name the arguments as the manual does, in every form."""
            del ctx
            return f"Usage: {f'{chr(10)}       '.join(map(''.join, said.usages))}"

    lines = (f"[dim]{escaped(shows)}[/dim]\n  {escaped(line)}" for shows, line in said.examples)
    # Arguments are drawn in few lines; the usage says what is required.
    drawn = {
        name: each if each.names else each.replace(kind=str, default=None)
        for name, each in said.parameters.items()
    }
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(
        help=said.summary,
        epilog="\n".join(("[bold]Examples[/bold]", *lines, "", *said.pointers)),
        cls=DrawnCommand,
        add_help_option=False,
    )(function_of(drawn))
    return _draw(app, f"{PROGRAM} {command.name}")


def draw_help_of_program() -> int:
    """Draw the help of the program; return the status."""
    app = typer.Typer(
        help=PROGRAM_HELP, epilog=START, add_completion=False, rich_markup_mode="rich"
    )
    program = {"version": VERSION.replace(group=None), "help": HELP.replace(group=None)}
    app.callback(add_help_option=False)(function_of(program))
    for name, entry in COMMANDS.items():
        app.command(name, help=entry.help)(function_of({}))
    return _draw(app, PROGRAM)


def _draw(app: typer.Typer, name: str) -> int:
    try:
        app([HELP.names[0]], prog_name=name)
    except SystemExit as stop:
        return 141 if stop.code else 0  # the reader has gone
    return 0


def _show(ctx: typer.Context, value: bool) -> None:
    """Draw the help, as typer's own option does."""
    if value:
        print(ctx.get_help(), end="")  # noqa: T201  (nothing, after typer has drawn)
        raise typer.Exit


def function_of(parameters: Mapping[str, Parameter]) -> Callable[..., dict[str, Any]]:
    """Return a function for typer with all parameters in its signature; it returns their values."""

    def values_of(**values: Any) -> dict[str, Any]:
        return values

    values_of.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if each.default is REQUIRED else each.default,
                annotation=Annotated[_type(each), _info(each)],
            )
            for name, each in parameters.items()
        ]
    )
    values_of.__annotations__ = {}
    return values_of


def _type(parameter: Parameter) -> Any:
    kinds: dict[type, Any] = {list: list[str], tuple: tuple[str, str]}
    kind = kinds.get(parameter.kind, parameter.kind)
    if parameter.choices:
        kind = Literal[parameter.choices]
    return kind | None if parameter.default is None else kind


def _info(parameter: Parameter) -> Any:
    """Convert the declaration of a parameter to typer."""
    if not parameter.names:
        return typer.Argument(metavar=parameter.metavar, help=parameter.help, show_default=False)
    return typer.Option(
        *parameter.names,
        metavar=parameter.metavar if parameter.count else "",
        help=parameter.help,
        min=parameter.min,
        max=parameter.max,
        hidden=parameter.hidden,
        show_default=False,
        rich_help_panel=parameter.group,
        is_eager=parameter.names == HELP.names,
        callback=_show if parameter.names == HELP.names else None,
    )
