"""The answer of a command, and the one place that prints it."""

from __future__ import annotations

from gathercli.cli.messages import ErrorOptions, Messages
from gathercli.io.descriptors import STDOUT
from gathercli.records import NamedTuple
from gathercli.report.terminal import is_terminal, print_text, wants_color, width_of

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.errors import GatherError


class Answer(NamedTuple):
    """A result as text, written once its format and its terminal are known.

    Attributes
    ----------
    text
        Writes the text, from a width (None for no limit) and whether it has colour.
    json
        Writes a line of JSON; None if the command has no such format.
    plain
        The text for a pipe, if it differs.
    notes
        Printed on stderr after the text.
    text_has_notes
        Whether `text` has the notes, so that they are printed after JSON and `plain` alone.
    remarks
        Printed after them on a terminal only.
    paged
        Whether the text goes through a pager on a terminal.
    status
        The exit status.
    error
        Raised once the text is printed, in place of the notes.
    """

    text: Callable[[int | None, bool], str]
    json: Callable[[], str] | None = None
    plain: str | None = None
    notes: tuple[str, ...] = ()
    text_has_notes: bool = False
    remarks: tuple[str, ...] = ()
    paged: bool = False
    status: int = 0
    error: GatherError | None = None


def print_answer(answer: Answer, fmt: str, options: ErrorOptions) -> int:
    """Print an answer in a format, then the notes, and return the status."""
    notes = answer.notes
    if fmt == "json" and answer.json is not None:
        print_text(answer.json())
    elif fmt == "auto" and answer.plain is not None and not is_terminal(STDOUT):
        print_text(answer.plain)
    else:
        notes = () if answer.text_has_notes else notes
        text = answer.text(width_of(STDOUT), wants_color(options.color, STDOUT))
        if answer.paged:
            from gathercli.cli.pager import show

            show(text)
        else:
            print_text(text)
    messages = options if isinstance(options, Messages) else Messages(color=options.color)
    for remark in answer.remarks:
        messages.say(remark)
    if answer.error is not None:
        raise answer.error
    messages.notes += notes
    messages.print()
    return answer.status
