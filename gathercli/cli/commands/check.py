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
    from gathercli.report.verdicts import CheckReport

_LINES_AT_A_TIME: Final = 4096  # lines of a list to write at a time


class CheckOptions(Options):
    """Options for the list and the exit status."""

    every: bool = flag(OUTPUT, "--all")
    allow_fill: bool = flag(OUTPUT, "--allow-fill")
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
    from gathercli.report.verdicts import CheckReport

    opened = call.open()
    op, inputs = opened.op, opened.inputs
    with pictures.opened() as saved, opened:
        result = checked(op, family_of(op.family).ROWS, opened.case(threads))
        chosen, report = result.chosen, CheckReport.of(result)
        if saved.files and chosen.call is not None:
            pictures.draw(saved.files, result, report)
            inputs.recheck()
            saved.commit()
        _print(report, options, messages)
        inputs.recheck()
    refused = chosen.error is not None and not chosen.refuses_index
    if not refused:
        messages.clear()
        messages.say(*saved.remarks)
    if not (refused and messages.json_errors):
        messages.print()
    if chosen.error is not None and refused:
        with opened.context:
            raise chosen.error
    return report.status and int(chosen.refuses_index or not options.allow_fill)


def _print(report: CheckReport, options: CheckOptions, messages: Messages) -> None:
    """Print the result with a list of the illegal indices, part by part."""
    from gathercli.report.verdicts import MOST_SHOWN_INDICES

    indices = report.indices(None if options.every else MOST_SHOWN_INDICES)
    if options.fmt == "json":
        _write(report.json_parts(indices), messages)
        return
    width, color = width_of(STDOUT), wants_color(messages.color, STDOUT)
    lines = report.lines(indices, every=options.every)
    start, end = (rendered(part(width), color=color) for part in (report.opening, report.closing))
    _write(chain([start], lines, [end]), messages)


def _write(pieces: Iterable[str], messages: Messages) -> None:
    """Write the lines of a list, `_LINES_AT_A_TIME` at a time."""
    lines: Iterator[str] = iter(pieces)
    while text := "".join(islice(lines, _LINES_AT_A_TIME)):
        messages.clear()
        print_text(text)
