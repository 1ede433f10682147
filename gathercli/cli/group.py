"""The group of commands, which imports one at a time and accepts tensors like `-1,0`."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, Literal

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from gathercli.cli.command import REQUIRED, Command, Option, Parameter
from gathercli.cli.groups import GROUPS, MESSAGES
from gathercli.cli.line import CommandLine, check_dashes, check_once
from gathercli.cli.plain import looks_negative
from gathercli.report.terminal import escaped, is_terminal

STDOUT: Final = 1
ARGUMENTS: Final = "Arguments"
_MARK: Final = "\0"
"""A prefix, impossible in argv, of tensors that look like options."""


@contextmanager
def _usage_errors(line: CommandLine) -> Iterator[None]:
    """Convert exceptions of typer to `UsageError`."""
    try:
        yield
    except typer.TyperException as error:
        from gathercli.cli.usage import refusal

        raise refusal(line, error) from None


class TensorCommand(TyperCommand):
    """A command that accepts negative numbers as arguments without `--` before them."""

    once: frozenset[str] = frozenset()
    """The first names of the options that may not be repeated."""
    topic = ""
    """The heading of the examples, if that is not the name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words, with a mark on those like ``-1,0``, ``-.5`` and ``-#data``."""
        line = CommandLine.read(str(self.name), self.get_params(ctx), args)
        check_dashes(line)
        check_once(line, self.once)
        marked = [
            _MARK + word.text if word.option is None and looks_negative(word.text) else word.text
            for word in line.words
        ]
        with _usage_errors(line):
            rest = super().parse_args(ctx, marked)
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = value.removeprefix(_MARK)
            elif isinstance(value, list | tuple):
                ctx.params[name] = [word.removeprefix(_MARK) for word in value]
        return rest

    def get_help_option(self, ctx: Any) -> Any:
        """Return `--help`, in the group of messages."""
        option: Any = super().get_help_option(ctx)
        option.rich_help_panel = MESSAGES
        return option

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by group in the plain view, as the rich view does."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            name = getattr(param, "rich_help_panel", None) or ARGUMENTS
            if record is not None:
                groups.setdefault(name, []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples and a pointer to the manual in the plain view."""
        with formatter.section("Examples"):
            for shows, line in examples(self.topic or str(self.name)):
                formatter.write(f"  {shows}\n    {line}\n")
        super().format_epilog(ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Name required arguments as the manual does, without braces."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class LazyGroup(TyperGroup):
    """A group with the names and help of its commands, which imports only the one that runs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command."""
        line = CommandLine.read("", self.get_params(ctx), args)
        check_dashes(line)
        with _usage_errors(line):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Import the command that the first word names."""
        from gathercli.cli.registry import COMMANDS, load, load_for_models, takes_models

        if args[0] not in COMMANDS:
            from gathercli.cli.usage import no_command

            raise no_command(args[0])
        name, stub, rest = super().resolve_command(ctx, args)
        if not name or not stub:
            return name, stub, rest
        return name, load_for_models(name) if takes_models(name, rest) else load(name), rest


def markup() -> Any:
    """Return the markup mode of typer's help: rich on a terminal, plain otherwise."""
    return "rich" if is_terminal(STDOUT) else None


def _settings() -> dict[str, Any]:
    settings: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
    if not is_terminal(STDOUT):
        settings["max_content_width"] = 100
    return settings


def group() -> TyperGroup:
    """Return the root command, with a stub for each command."""
    from gathercli.cli.registry import COMMANDS
    from gathercli.ops import OPERATORS
    from gathercli.text import listed

    names = dict.fromkeys(op.name for op in OPERATORS)
    version = TyperOption(
        param_decls=["--version"], is_flag=True, help="Print the version of gathercli."
    )
    root = LazyGroup(
        name="gathercli",
        help=f"{listed(names, 'and')}, exactly as each OpenVINO and ONNX version says.",
        epilog="Start with: gathercli demo",
        context_settings=_settings(),
        rich_markup_mode=markup(),
        no_args_is_help=False,
        params=[version],
    )
    for name, entry in COMMANDS.items():
        stub = TyperCommand(name, help=entry.help, short_help=entry.help, rich_markup_mode=markup())
        root.add_command(stub)
    return root


def typer_command(command: Command, help_line: str, topic: str = "") -> TyperCommand:
    """Convert a command to typer, with its options in the order of their groups.

    Parameters
    ----------
    topic
        The heading of its examples; empty for its name.
    """
    name = command.name
    app = typer.Typer(add_completion=False, rich_markup_mode=markup())
    app.command(
        name,
        cls=TensorCommand,
        help=help_line,
        epilog=_epilog(name, topic or name),
        context_settings=_settings(),
    )(_callback(command))
    result = get_command(app)
    if not isinstance(result, TensorCommand):
        raise TypeError(name)
    parameters = command.parameters.values()
    result.once = frozenset(
        each.names[0] for each in parameters if isinstance(each, Option) and each.once
    )
    result.params.sort(key=_place)
    result.topic = topic
    return result


def _callback(command: Command) -> Callable[..., Any]:
    """Return a function for typer, with all parameters of the command in its signature."""

    def request(**values: Any) -> Any:
        return command.request(values)

    request.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if each.default is REQUIRED else each.default,
                annotation=Annotated[_type(each), _info(each)],
            )
            for name, each in command.parameters.items()
        ]
    )
    request.__annotations__ = {}
    return request


def _type(parameter: Parameter) -> Any:
    """Return the type of a parameter for typer."""
    kinds: dict[type, Any] = {list: list[str], tuple: tuple[str, str]}
    kind = kinds.get(parameter.kind, parameter.kind)
    if parameter.choices:
        kind = Literal[parameter.choices]
    return kind | None if parameter.default is None else kind


def _info(parameter: Parameter) -> Any:
    """Convert the declaration of a parameter to typer."""
    if not isinstance(parameter, Option):
        return typer.Argument(metavar=parameter.metavar, help=parameter.help, show_default=False)
    return typer.Option(
        *parameter.names,
        metavar=parameter.metavar,
        help=parameter.help,
        min=parameter.min,
        max=parameter.max,
        hidden=parameter.hidden,
        show_default=False,
        rich_help_panel=parameter.group,
    )


def _place(param: Any) -> int:
    group = getattr(param, "rich_help_panel", None)
    return -1 if group is None else GROUPS.index(group)


def _epilog(name: str, topic: str) -> str:
    """Return a pointer to the manual, after the examples in the rich view."""
    from gathercli.cli.registry import OF_MODELS

    more = f"`gathercli man {name}` has the rules and examples."
    if name in OF_MODELS and topic == name:
        more = f"`gathercli {name} model.onnx --help` has the options for models. {more}"
    if markup() is None:
        return more
    lines = (f"[dim]{escaped(shows)}[/dim]\n  {escaped(line)}" for shows, line in examples(topic))
    return "\n".join(("[bold]Examples[/bold]", *lines, "", more))


def examples(name: str) -> list[tuple[str, str]]:
    """Return the examples in the help of a command: pairs of a description and a line."""
    from gathercli.cli.manual.examples import EXAMPLES, HELPFUL

    return [(each.shows, each.command) for each in EXAMPLES.get(name, ())[:HELPFUL]]
