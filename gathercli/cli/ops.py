"""`ops`: the operator versions and what sets each apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gathercli.cli import options as opt
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.core.text import clean, closest
from gathercli.errors import VersionError
from gathercli.ops import FAMILIES, OPERATORS, Found, find

if TYPE_CHECKING:
    from gathercli.core.spec import Op


Id = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]",
        help="A version to write out: openvino.Gather-8, or onnx-13 for all of that opset.",
        show_default=False,
    ),
]


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    version: Id = None,
    fmt: opt.TextFormat = "auto",
    color: opt.Color = "auto",
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    del json_errors, debug  # main finds them in the words
    return partial(_run, version, fmt, color)


def _run(version: str | None, fmt: str, color: str) -> int:
    from gathercli.io.write import STDOUT
    from gathercli.report import rows
    from gathercli.report.terminal import wants_color, width_of

    messages = Messages(False, color)
    colored = wants_color(color, STDOUT)
    chosen = OPERATORS if version is None else named(version, "gathercli ops ", messages)
    if fmt == "json":
        import json

        found = [rows.as_json(op) for op in chosen]
        print_text(json.dumps(found[0] if version and len(found) == 1 else found) + "\n")
        return 0
    print_text(rows.shown(chosen, width_of(STDOUT), whole=version is not None, color=colored))
    messages.print()
    return 0


def named(version: str, before: str, messages: Messages) -> tuple[Op, ...]:
    """Find the rows that answer to a version, of whatever operator.

    Parameters
    ----------
    before
        What stands before it in a hint.

    Raises
    ------
    VersionError
        ``version``: there is none, or its frameworks both have it.
    """
    found: list[Found] = []
    refusals: list[VersionError] = []
    for family in FAMILIES:
        try:
            found.append(find(version, family))
        except VersionError as error:
            refusals.append(error)
    if found:
        messages.notes += [each.note for each in found if each.note]
        return tuple(each.op for each in found)
    if version.isdigit():  # a row of both frameworks
        raise refusals[0]
    names = [name for op in OPERATORS for name in (op.full_name, op.id)]
    near = closest(version, names)
    raise VersionError(
        f"no operator version `{clean(version[:40])}`: expected one of "
        f"{' '.join(op.full_name for op in OPERATORS)}",
        rule="version",
        value=version,
        hint=f"did you mean `{before}{near}`?" if near else None,
    )
