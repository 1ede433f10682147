"""The answer of a command, which `messages` prints."""

from __future__ import annotations

from gathercli.records import NamedTuple

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
