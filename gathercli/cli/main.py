"""From argv to an exit status: the one place that catches, and the one that names commands.

typer parses the words and returns a request, a function without arguments; the request is run
outside typer, so that every failure comes here, whatever typer would make of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.errors import TransferError, UsageError, refusal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typer.core import TyperCommand

    from gathercli.cli.command import Request
    from gathercli.cli.messages import ErrorOptions
    from gathercli.errors import GatherError

SHELLS: Final = ("bash", "zsh", "fish")

NAMES: Final = "__names"
"""What the completion scripts call, and people do not."""


class CommandEntry(NamedTuple):
    """Where a command is found: the module whose ``run`` does it, and a line of help."""

    module: str
    help: str


COMMANDS: Final = {
    "gather": CommandEntry(
        "gather", "Gather slices along an axis: OpenVINO 1, 7, 8; ONNX 1, 11, 13."
    ),
    "gather-elements": CommandEntry("gather", "Gather single elements: OpenVINO 6; ONNX 11, 13."),
    "shape": CommandEntry("shape", "Infer the output shape from shapes alone."),
    "explain": CommandEntry("explain", "Draw where every output cell came from."),
    "check": CommandEntry("check", "List illegal indices, and what every version makes of a call."),
    "compare": CommandEntry("compare", "Put the same inputs through every version: who agrees."),
    "batch": CommandEntry("batch", "Do thousands of jobs from a file, and report on each."),
    "convert": CommandEntry(
        "convert", "Convert tensors between the formats, whole folders of them."
    ),
    "info": CommandEntry("info", "Describe files: type, shape, statistics, a preview."),
    "demo": CommandEntry("demo", "Show the examples of the specifications as short lessons."),
    "ops": CommandEntry("ops", "The operator versions: list, write out, compare, find."),
    "man": CommandEntry("man", "Show the manual."),
    "completion": CommandEntry("completion", "Print the completion script of a shell."),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` and return the exit status.

    Parameters
    ----------
    argv
        The words after the program's name; None for the process's own.
    """
    from gathercli.io.write import let_signals_unwind

    words = list(sys.argv[1:] if argv is None else argv)
    errors: ErrorOptions | None = None
    try:
        try:
            let_signals_unwind()
            if (run := _without_typer(words)) is None:
                run, errors = _parse(words)
            return run()
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever it is, nobody gets a traceback)
            return _failed(words, errors or _error_options(words), refusal_of(error))
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        return 130
    except SystemExit as stop:
        # typer leaves with 1 where the reader of its help went away; signals with their own status
        return stop.code if isinstance(stop.code, int) and stop.code != 1 else 141


def _without_typer(words: list[str]) -> Callable[[], int] | None:
    """Return what does a request that needs no parsing; None for all others."""
    if words == ["--version"]:
        return _version
    if words in ([], ["--"]) or words[0] == "help":
        return lambda: _help(words[1:])
    if len(words) == 2 and words[0] == "completion" and words[1] in SHELLS:
        from gathercli.cli.scripts import print_script

        return lambda: print_script(words[1])
    if len(words) == 3 and words[0] == NAMES:
        from gathercli.cli import names

        return names.request(*words[1:])
    return None


def _failed(words: Sequence[str], errors: ErrorOptions, error: GatherError) -> int:
    """Print what failed, and return its status."""
    from gathercli.cli.suggest import suggest

    error.hint = suggest(words, error) or error.hint
    errors.print_error(error)
    return error.status


def _error_options(words: list[str]) -> ErrorOptions:
    """Find how to print a refusal in words that did not parse."""
    from gathercli.cli.messages import ErrorOptions

    options = words[: words.index("--")] if "--" in words else words
    return ErrorOptions(
        color=_color_of(options),
        json_errors="--json-errors" in options,
        debug="--debug" in options,
    )


def _color_of(words: Sequence[str]) -> str:
    """Find `--color` in words that may not parse."""
    for before, word in zip(["", *words], words, strict=False):
        if before == "--color" and word in ("always", "never"):
            return word
        if word in ("--color=always", "--color=never"):
            return word.partition("=")[2]
    return "auto"


def _help(words: list[str]) -> int:
    """Show the help of the program or of a command; `help` has that of the program."""
    if words == ["help"]:
        words = []
    if len(words) > 1:
        raise UsageError(
            f"`help` is given `{' '.join(words)[:80]}`: expected one command",
            rule="usage",
            value=words[1],
            hint=f"`gathercli help {words[0]}`" if words[0] in COMMANDS else None,
        )
    return _parse([*words, "--help"]).run()


def _version() -> int:
    from gathercli import __version__

    print_text(f"gathercli {__version__}\n")
    return 0


def print_text(text: str) -> None:
    """Write text to stdout."""
    from gathercli.io.write import STDOUT, write_all

    write_all(STDOUT, text.encode(errors="backslashreplace"))


def _parse(words: list[str]) -> Request:
    """Let typer read the words; what it prints itself (help) is a request already done."""
    import typer

    from gathercli.cli.command import Request
    from gathercli.cli.group import group

    if words[:1] == ["--version"]:
        raise UsageError(
            f"`--version` stands alone, but `{words[1]}` follows it: expected nothing",
            rule="usage",
            value=words[1],
            hint="a version of an operator comes after its command, as in `gather … -V onnx-13`",
        )

    try:
        parsed = group().main(words, prog_name="gathercli", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    return parsed if isinstance(parsed, Request) else Request(lambda: _helped(parsed))


def _helped(status: object) -> int:
    """Return the status of a help page, which typer has printed; 74 when it could not be."""
    if sys.stdout is None:
        raise TransferError("stdout is closed: expected a place for the output", rule="output")
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def load(name: str) -> TyperCommand:
    """Import a command and let typer inspect its parameters."""
    from importlib import import_module

    from gathercli.cli.group import command

    found = COMMANDS[name]
    return command(name, found.help, import_module(f"gathercli.cli.commands.{found.module}").run)
