"""`check`: every illegal index, and the verdict of each version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from gathercli.cli.call import NamedCall
from gathercli.cli.declarations import OUTPUT, Options, flag
from gathercli.cli.messages import Messages
from gathercli.cli.options import TEXT_FORMAT, THREADS
from gathercli.cli.slice_options import PictureOptions
from gathercli.frameworks.versions import family_of
from gathercli.io.descriptors import STDOUT
from gathercli.report.terminal import print_text, rendered, wants_color, width_of

if TYPE_CHECKING:
    from gathercli.compute.verdicts import CheckedCall

MOST_SHOWN_INDICES: Final = 20  # the number of illegal indices in a list without `--all`
_LINES_AT_A_TIME: Final = 4096  # lines of a list to write at a time


class CheckOptions(Options):
    """Options for the list and the exit status."""

    every: bool = flag(OUTPUT, "--all", help="List every illegal index.")
    allow_fill: bool = flag(
        OUTPUT,
        "--allow-fill",
        help="Exit 0 where indices are filled with zeros, 1 only where they are refused.",
    )
    fmt: str = TEXT_FORMAT


def run(
    call: NamedCall,
    options: CheckOptions,
    pictures: PictureOptions,
    messages: Messages,
    threads: int | None = THREADS,
) -> int:
    """Check the indices and print the result."""
    from gathercli.compute.verdicts import checked

    opened = call.open()
    op, inputs = opened.op, opened.inputs
    with pictures.opened() as saved, opened:
        case = opened.case(threads)
        result = checked(op, family_of(op.family).ROWS, case)
        if saved.files and result.chosen.call is not None:
            pictures.draw(saved.files, result, result.chosen.call)
            inputs.recheck()
            saved.commit()
        _print(result, options, messages)
        inputs.recheck()
    chosen = result.chosen
    refused = chosen.error is not None and not chosen.refuses_index
    if not refused:
        messages.clear()
        messages.say(*saved.remarks)
    if not (refused and messages.json_errors):
        messages.print()
    if chosen.error is not None and refused:
        with opened.context:
            raise chosen.error
    return int(chosen.refuses_index or (chosen.filled > 0 and not options.allow_fill))


def _print(result: CheckedCall, options: CheckOptions, messages: Messages) -> None:
    """Print the result with a list of the illegal indices."""
    from gathercli.compute.verdicts import illegal, legal_ends, number_illegal
    from gathercli.compute.warnings import warnings
    from gathercli.report import verdicts as report

    notes, call, case = list(warnings(result)), result.chosen.call, result.case
    most = None if options.every else MOST_SHOWN_INDICES
    shown = iter(()) if call is None else islice(illegal(call, case), most)
    if options.fmt == "json":
        _write(report.check_json(result, notes, shown), messages)
        return
    width, color = width_of(STDOUT), wants_color(messages.color, STDOUT)
    messages.clear()
    print_text(rendered(report.opening(result, width), color=color))
    number = 0 if call is None else number_illegal(call, case)
    if call is not None and number:
        first = list(islice(shown, MOST_SHOWN_INDICES))
        extremes: tuple[float, ...] = case.census[-2:] if options.every else ()
        listing = report.Listing.of(
            case.indices.shape, [*extremes, *(each.value for each in first)], legal_ends(call)
        )
        lines = map(listing.line, chain(first, shown))
        _write(chain([listing.heading()], lines), messages)
        print_text(report.more(0 if options.every else number - len(first)))
    messages.clear()
    print_text(rendered(report.closing(result, notes, width), color=color))


def _write(pieces: Iterable[str], messages: Messages) -> None:
    """Write the lines of a list, `_LINES_AT_A_TIME` at a time."""
    lines: Iterator[str] = iter(pieces)
    while text := "".join(islice(lines, _LINES_AT_A_TIME)):
        messages.clear()
        print_text(text)
