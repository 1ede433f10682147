"""`check`: every illegal index, and what each version would make of the call."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Final

from gathercli.cli.command import Options, option
from gathercli.cli.groups import OUTPUT
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import NamedOperator, TensorOptions, read
from gathercli.cli.options import TextFormat, Threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.lessons.verdicts import CheckedCall, Verdict

SHOWN: Final = 20
"""Illegal indices that are listed without `--all`."""

_TOGETHER: Final = 4096
"""Pieces of a listing that are written together."""


class CheckOptions(Options):
    """What is listed, and what is a "no"."""

    every: Annotated[bool, option(OUTPUT, "--all", help="List every illegal index.")] = False
    allow_fill: Annotated[
        bool,
        option(
            OUTPUT,
            "--allow-fill",
            help="Exit 0 where indices are filled with zeros, 1 only where they are refused.",
        ),
    ] = False
    fmt: TextFormat = "auto"


def run(
    operator: NamedOperator,
    tensors: TensorOptions,
    memory: MemoryOptions,
    asked: CheckOptions,
    messages: Messages,
    threads: Threads = None,
) -> int:
    """Check the indices, and print what is found."""
    from gathercli.io.source import Inputs
    from gathercli.lessons.verdicts import checked
    from gathercli.ops import family_of

    op = operator.row(messages)
    tokens = tensors.tokens(family_of(op.family))
    Inputs.share_stdin(*tensors.words)
    progress = messages.progress()
    with messages, messages.inputs(memory.limits.memory, progress) as inputs:
        with (call := operator.context(op)):
            read_tensors = read(call, inputs.tensor, tokens, op.inputs)
        case = operator.case(read_tensors, threads, progress)
        found = checked(op, family_of(op.family).ROWS, case)
        _print(found, asked, messages)
        inputs.recheck()
    chosen = found.chosen
    refused = chosen.error is not None and not chosen.refuses_index
    if not (refused and messages.json_errors):
        messages.print()
    if chosen.error is not None and refused:
        with call:
            raise chosen.error
    return _status(chosen, asked)


def _status(chosen: Verdict, asked: CheckOptions) -> int:
    """Tell whether the answer is no."""
    return int(chosen.refuses_index or (chosen.filled > 0 and not asked.allow_fill))


def _print(found: CheckedCall, asked: CheckOptions, messages: Messages) -> None:
    """Print the result, the illegal indices as they are found."""
    from gathercli.io.write import STDOUT
    from gathercli.lessons.verdicts import illegal, number_illegal
    from gathercli.lessons.warnings import warnings
    from gathercli.report import verdicts as report
    from gathercli.report.terminal import rendered, wants_color, width_of

    said, call, case = list(warnings(found)), found.chosen.call, found.case
    most = None if asked.every else SHOWN
    shown = iter(()) if call is None else islice(illegal(call, case), most)
    if asked.fmt == "json":
        _write(report.check_json(found, said, shown), messages)
        return
    width, color = width_of(STDOUT), wants_color(messages.color, STDOUT)
    messages.clear()
    print_text(rendered(report.opening(found, width), color=color))
    number = 0 if call is None else number_illegal(call, case)
    if number:
        first = list(islice(shown, SHOWN))
        extremes = case.census[-2:] if asked.every else ()
        listing = report.Listing.of(
            case.indices.shape, [*extremes, *(each.value for each in first)]
        )
        lines = map(listing.line, chain(first, shown))
        _write(chain([listing.heading()], lines), messages)
        print_text(report.more(0 if asked.every else number - len(first)))
    messages.clear()
    print_text(rendered(report.closing(found, said, width), color=color))


def _write(pieces: Iterable[str], messages: Messages) -> None:
    """Write a listing piece by piece, many together."""
    rest: Iterator[str] = iter(pieces)
    while together := "".join(islice(rest, _TOGETHER)):
        messages.clear()
        print_text(together)
