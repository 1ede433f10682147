"""What a command prints: its answer, and on stderr errors, progress, and notes after the answer."""

from __future__ import annotations

import os

from gathercli.cli.declarations import MESSAGES, VIEW, Answer, Options, flag, option
from gathercli.errors import GatherError, TransferError
from gathercli.io.descriptors import STDERR, STDOUT, write_all
from gathercli.io.files import STDIN
from gathercli.records import Any, Callable, Final, Self, Sequence, suppress
from gathercli.report import terminal
from gathercli.text import clean

TYPE_CHECKING = False  # as in `gathercli.errors`

if TYPE_CHECKING:
    from typing import TypeVar

    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.source import Inputs
    from gathercli.report.words import Progress

    _Item = TypeVar("_Item")


class ErrorOptions(Options):
    """The options of errors."""

    color: str = option(
        VIEW,
        "--color",
        metavar="WHEN",
        choices=("auto", "always", "never"),
        default="auto",
        rare=True,
    )
    json_errors: bool = flag(MESSAGES, "--json-errors", rare=True)
    debug: bool = flag(MESSAGES, "--debug", rare=True)

    def print_error(self, error: GatherError) -> None:
        """Print an error on stderr."""
        from gathercli.report.words import error_json, error_text

        text = ""
        if self.debug:
            import traceback

            text = "".join(traceback.format_exception(error.__cause__ or error))
        if self.json_errors:
            text += error_json(error)
        else:
            text += error_text(
                error,
                color=terminal.wants_color(self.color, STDERR),
                width=terminal.width_of(STDERR),
            )
        self.write(text)

    @staticmethod
    def write(text: str) -> None:
        """Write to stderr; ignore errors, such as a closed pipe."""
        with suppress(TransferError, BrokenPipeError):
            write_all(STDERR, text.encode(errors="backslashreplace"))


class Messages(ErrorOptions):
    """The notes and the progress of a command."""

    quiet: bool = flag(MESSAGES, "--quiet", "-q")
    guarded = True  # whether a signal of a file that is truncated does not end the process

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.notes: list[str] = []
        self._progress: Progress | None = None

    def progress(self) -> Progress | None:
        """Return the progress line; None without a terminal, or with `--quiet`."""
        if self._interactive and not self.json_errors and self._progress is None:
            from gathercli.report.words import Progress

            self._progress = Progress(self.write, terminal.width_of(STDERR) or 80)
        return self._progress

    def clear(self) -> None:
        """Erase the progress line."""
        if self._progress is not None:
            self._progress.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    @property
    def is_silent(self) -> bool:
        """Whether stderr has errors alone."""
        return self.quiet or self.json_errors

    @property
    def _interactive(self) -> bool:
        """Whether stderr is a terminal and notes are wanted."""
        return not self.quiet and terminal.is_terminal(STDERR)

    def print(self) -> None:
        """Print the notes."""
        if self.notes and not self.quiet:
            self._print("".join(map(self._note, self.notes)))

    def say(self, *lines: str) -> None:
        """Print lines on a terminal only."""
        if lines and self._interactive:
            self._print("".join(f"{line}\n" for line in lines))

    def announce(self, text: str) -> None:
        """Print a note at once, even with `--quiet`; as JSON with `--json-errors`."""
        if self.json_errors:
            import json

            self.write(json.dumps({"note": text}) + "\n")
        else:
            self._print(self._note(text))

    def _note(self, text: str) -> str:
        from gathercli.report.words import note_text

        color = terminal.wants_color(self.color, STDERR)
        return note_text(text, color=color, width=terminal.width_of(STDERR))

    def inputs(
        self,
        max_bytes: int | None,
        progress: ProgressCallback | None = None,
        *,
        external: bool = False,
    ) -> Inputs:
        """Return the inputs of a command, with their notes and prompts on stderr."""
        from gathercli.io.source import Inputs

        prompt, guarded = self._prompt, self.guarded
        inputs = Inputs(max_bytes, self.notes, progress=progress, prompt=prompt, guarded=guarded)
        inputs.external = external
        return inputs

    def _prompt(self, what: str) -> None:
        if terminal.is_terminal(STDIN) and not self.is_silent:
            text = f"type {what}, such as 0,1,2 or [[0,1],[2,3]], and end it with Ctrl-D"
            self._print(self._note(text))

    def each(
        self, items: Sequence[_Item], do: Callable[[_Item], int], name: Callable[[_Item], str] = str
    ) -> int:
        """Call `do` with each item, print errors and go on; return the first nonzero status, or 0.

        An error names its item by `name`, unless it names the file already; that of the only item
        is raised.
        """
        first = 0
        for item in items:
            try:
                status = do(item)
            except GatherError as error:
                if len(items) == 1:
                    raise
                _name(error, name(item))
                self.print_error(error)
                status = error.status
            first = first or status
        return first

    def _print(self, text: str) -> None:
        self.clear()
        self.write(text)


def print_answer(answer: Answer, fmt: str, options: ErrorOptions) -> int:
    """Print an answer in a format, then the notes, and return the status."""
    notes = answer.notes
    if fmt == "json" and answer.json is not None:
        terminal.print_text(answer.json())
    elif fmt == "auto" and answer.plain is not None and not terminal.is_terminal(STDOUT):
        terminal.print_text(answer.plain)
    else:
        notes = () if answer.text_has_notes else notes
        text = answer.text(terminal.width_of(STDOUT), terminal.wants_color(options.color, STDOUT))
        if answer.paged:
            _page(text)
        else:
            terminal.print_text(text)
    messages = options if isinstance(options, Messages) else Messages(color=options.color)
    messages.say(*answer.remarks)
    if answer.error is not None:
        raise answer.error
    messages.notes += notes
    messages.print()
    return answer.status


def _name(error: GatherError, token: str) -> None:
    """Add the token of an input as the place of an error, unless a place or the value is its file.

    The place of a member is that of its file, or begins with it.
    """
    name = clean(token.removeprefix("@"))
    starts = [place for place in error.places if place.startswith(name) or name.startswith(place)]
    if not starts and str(error.value) != token:
        error.prefix(name)


# Quit if the text fits, keep colours, do not clear the screen; the user's LESS overrides it.
_LESS: Final = {"LESS": "FRX"}
_NO_PROGRAM: Final = (126, 127)  # the exit statuses of a shell that cannot run a program


def _page(text: str) -> None:
    """Print text, through $PAGER if stdout is a terminal with fewer lines.

    The default is less, if it is installed; an empty PAGER or ``cat`` means none.
    """
    command = ""
    if terminal.is_terminal(STDOUT) and not _fits(text):
        from shutil import which

        command = os.environ.get("PAGER", "less" if which("less") else "").strip()
    if command in ("", "cat") or _pipe(command, text) in _NO_PROGRAM:
        terminal.print_text(text)


def _fits(text: str) -> bool:
    """Return whether all lines and the prompt fit on the screen."""
    import re

    plain = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    width = terminal.width_of(STDOUT) or terminal.DEFAULT_WIDTH
    return sum(max(1, -(-len(line) // width)) for line in plain) < terminal.height_of(STDOUT)


def _pipe(command: str, text: str) -> int:
    """Pipe text to a pager, which may quit early; return its exit status.

    Ctrl-C is for the pager, so this process handles SIGINT with an empty function. The pager would
    inherit an ignored signal.
    """
    import signal
    from subprocess import PIPE, Popen

    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with Popen(["/bin/sh", "-c", command], stdin=PIPE, env=_LESS | os.environ) as pager:  # noqa: S603  (the user's own command)
            pager.communicate(text.encode(errors="backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode
