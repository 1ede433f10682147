"""`check`: every illegal index, and what each version would make of the call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.cli import options as opt
from gathercli.cli.limits import Limits
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import Operator, Token
from gathercli.spec.op import Negative, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.lessons.verdicts import Checked, Verdict

SHOWN: Final = 20
"""Illegal indices that are listed without `--all`."""

_TOGETHER: Final = 4096
"""Pieces of a listing that are written together."""


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    op: opt.OpName,
    data: opt.Data,
    indices: opt.Indices,
    axis: opt.Axis = None,
    batch_dims: opt.BatchDims = "0",
    version: opt.Version = None,
    negative: opt.NegativeChoice = Negative.SPEC,
    out_of_range: opt.OutOfRangeChoice = OutOfRange.SPEC,
    data_dtype: opt.DataDtype = None,
    indices_dtype: opt.IndicesDtype = None,
    max_bytes: opt.MaxBytes = None,
    every: opt.EveryIndex = False,
    allow_fill: opt.AllowFill = False,
    fmt: opt.TextFormat = "auto",
    threads: opt.Threads = None,
    color: opt.Color = "auto",
    quiet: opt.Quiet = False,
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    del debug  # main finds it in the words
    return partial(
        _run,
        Operator(op, axis, batch_dims, version, negative.value, out_of_range.value),
        (data, data_dtype),
        (indices, indices_dtype),
        _Asked(Limits.parse(max_bytes), fmt, threads, every=every, allow_fill=allow_fill),
        Messages(quiet, color, json_errors=json_errors),
    )


class _Asked(NamedTuple):
    """What is asked beside the operator."""

    limits: Limits
    fmt: str
    threads: int | None
    every: bool
    allow_fill: bool


def _run(operator: Operator, data: Token, indices: Token, asked: _Asked, messages: Messages) -> int:
    from gathercli.io.source import Inputs
    from gathercli.lessons.verdicts import checked
    from gathercli.ops import family_of

    op = operator.row(messages)
    Inputs.share_stdin(data[0], indices[0])
    tick = messages.progress()
    with messages, messages.inputs(asked.limits.held, tick) as inputs:
        given, picked = operator.read(op, inputs.tensor, data, indices)
        case = operator.case(given, picked, asked.threads, tick)
        found = checked(op, family_of(op.family).ROWS, case)
        _print(found, asked, messages)
        inputs.recheck()
    chosen = found.chosen
    refused = chosen.error is not None and not chosen.refuses_index
    if not (refused and messages.json_errors):
        messages.print()
    if chosen.error is not None and refused:
        raise chosen.error
    return _status(chosen, asked)


def _status(chosen: Verdict, asked: _Asked) -> int:
    """Tell whether the answer is no."""
    return int(chosen.refuses_index or (chosen.filled > 0 and not asked.allow_fill))


def _print(found: Checked, asked: _Asked, messages: Messages) -> None:
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
        extremes = case.census()[-2:] if asked.every else ()
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
