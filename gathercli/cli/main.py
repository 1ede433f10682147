"""From argv to an exit status: the commands' names, and the one place that catches exceptions.

The words become a request, which runs here, so that every exception arrives here.
"""

from __future__ import annotations

import sys

from gathercli.report.terminal import STDOUT, is_terminal, print_text

TYPE_CHECKING = False  # as in `gathercli.errors`; other imports wait for the lines that need them

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

    from gathercli.cli.declarations import Command, Request
    from gathercli.cli.messages import ErrorOptions


SHELLS: Final = ("bash", "zsh", "fish")
_signals: Final[list[int]] = []  # those that have arrived


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`, by default that of the process; return the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    errors: ErrorOptions | None = None
    _signals.clear()
    try:
        try:
            line = _help_words(words)
            if (text := _text_of(line)) is not None:
                print_text(text)
                return 0
            let_signals_unwind()
            request = _parse(line)
            from gathercli.cli.messages import ErrorOptions

            groups = (each for each in request.groups if isinstance(each, ErrorOptions))
            errors = next(groups, None)  # if the command has them
            return _run(request, errors or _error_options(words))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever it is, nobody gets a traceback)
            if not _signals:  # NumPy's import makes an ImportError of the exception of a signal
                return _failed(words, errors or _error_options(words), error)
    except BrokenPipeError:
        return 141
    except (KeyboardInterrupt, SystemExit) as stop:
        if not _signals:
            return 130 if isinstance(stop, KeyboardInterrupt) else int(stop.code or 0)
    return 128 + _signals[0]


def let_signals_unwind() -> None:
    """Raise an exception on SIGINT, SIGTERM and SIGHUP, unless ignored: temporary files go."""
    # `signal` wraps this in enums, which takes a fifth of the time of `python -c pass`
    import _signal  # type: ignore[import-not-found]

    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        if _signal.getsignal(number) is _signal.SIG_DFL:
            _signal.signal(number, _unwind)


def _unwind(number: int, _: object) -> None:
    """Note a signal, and raise the exception that ends the run."""
    _signals.append(number)
    if number == 2:  # SIGINT
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _text_of(words: list[str]) -> str | None:
    """Return the text that a command line prints, if nothing must be imported for it."""
    match words:
        case ["--version"]:
            from gathercli import __version__

            return f"gathercli {__version__} ({_kernel()} kernel)\n"
        case [*command, "-h" | "--help"] if len(command) <= 1:  # but not for all options
            from gathercli.cli.generated import help_text

            return help_text(*command)
        case ["completion", shell] if shell in SHELLS:
            from gathercli.cli.generated import script

            return script(shell)
        case ["__names", kind, word]:  # for the completion scripts alone
            from gathercli.cli.commands.completion import completions

            return completions(kind, word)
    return None


def _kernel() -> str:
    """Return the language of the kernel that runs: of the one in C, or of its substitute."""
    try:
        import gathercli.compute._native  # noqa: F401
    except ImportError:
        return "numpy"
    return "C"


def _failed(words: Sequence[str], errors: ErrorOptions, exception: Exception) -> int:
    """Print an exception as an error, with a better hint if there is one; return its status."""
    from gathercli.cli.hints import suggest
    from gathercli.errors import refusal_of

    error = refusal_of(exception)
    error.hint = suggest(words, error) or error.advice
    errors.print_error(error)
    return error.status


def _run(request: Request, errors: ErrorOptions) -> int:
    """Run a command, print its answer unless it has printed its own, and return the status."""
    answer = request.run()
    if isinstance(answer, int):
        return answer
    from gathercli.cli.messages import print_answer

    return print_answer(answer, request.fmt, errors)


def _error_options(words: list[str]) -> ErrorOptions:
    """Read the options of an error from words that may not parse."""
    from gathercli.cli.messages import ErrorOptions
    from gathercli.cli.parser import words_of

    options: list[Any] = [ErrorOptions.color, ErrorOptions.json_errors, ErrorOptions.debug]
    values = {word.option: word.value for word in words_of(options, words)}
    color = values.get("--color")
    return ErrorOptions(
        color=color if color in ("always", "never") else "auto",
        json_errors="--json-errors" in values,
        debug="--debug" in values,
    )


def _help_words(words: list[str]) -> list[str]:
    """Write `help [COMMAND] [--all]` and an empty line with `--help`; return other words as is."""
    if words not in ([], ["--"]) and words[0] != "help":
        return words
    topic, every = words[1:], []
    if topic[-1:] == ["--all"]:
        topic, every = topic[:-1], ["--all"]
    if topic == ["help"]:
        topic = []
    if len(topic) > 1:
        from gathercli.cli.registry import COMMANDS
        from gathercli.errors import UsageError

        what = f"is given `{' '.join(topic)[:80]}`"
        hint = f"`gathercli help {topic[0]}`" if topic[0] in COMMANDS else None
        raise UsageError(what, subject="help", value=topic[1], expected="one command", hint=hint)
    return [*topic, "--help", *every]


def _parse(words: list[str]) -> Request:
    from gathercli.cli.parser import WordsError, parse
    from gathercli.cli.registry import COMMANDS, command_of, takes_models
    from gathercli.slices import given, given_names

    marks = (each for each in given_names("words") if any(each in word for word in words))
    if (mark := next(marks, None)) is not None:
        words = given("words", mark)(words)
    if words[0] not in COMMANDS:
        return _parse_program(words)
    command = command_of(words[0], models=takes_models(words[0], words[1:]))
    try:
        values = parse(command.parameters, words[1:])
    except WordsError as error:
        from gathercli.cli.parser import CommandLine
        from gathercli.cli.usage import refusal

        raise refusal(CommandLine.of(command, words[1:]), error) from None
    if values is not None:
        return command.request(values)
    from gathercli.cli.declarations import ALL, Request

    return Request(lambda: _print_help(command, every=ALL in words))


def _parse_program(words: list[str]) -> Request:
    """Parse words that do not begin with a command: `--help`, or a mistake."""
    from gathercli.cli.declarations import Request
    from gathercli.cli.usage import program_refusal

    if words[0] == "--":
        return _parse(words[1:])
    if error := program_refusal(words):
        raise error
    return Request(_print_help)


def _print_help(command: Command | None = None, *, every: bool = False) -> int:
    """Print the help of the program, or of a command, with its rare options if `every`.

    Raise `TransferError` if stdout is closed.
    """
    if is_terminal(STDOUT):
        from gathercli.cli.typerhelp import draw_help, draw_help_of_program

        return draw_help(command, every=every) if command else draw_help_of_program()
    from shutil import get_terminal_size

    from gathercli.cli.helptext import help_of, help_of_program
    from gathercli.errors import TransferError

    width = get_terminal_size().columns
    text = help_of(command, width, every=every) if command else help_of_program(width)
    if sys.stdout is None:
        raise TransferError("stdout is closed", rule="output", expected="a place for the output")
    print_text(text)
    return 0
