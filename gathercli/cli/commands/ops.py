"""`ops`: the operator versions, what sets each apart, and what corresponds to them elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from gathercli.cli.answer import Answer
from gathercli.cli.command import argument, option
from gathercli.cli.groups import VIEW
from gathercli.cli.messages import ErrorOptions
from gathercli.cli.operator import VARIABLE, Choice, choice
from gathercli.cli.options import TextFormat
from gathercli.errors import UsageError, VersionError
from gathercli.ops import FAMILIES, OPERATORS, Found, elsewhere, find
from gathercli.spec.decisions import DECISIONS
from gathercli.spec.equivalents import equivalent, of_framework
from gathercli.text import clean, closest, listed

if TYPE_CHECKING:
    from gathercli.spec.op import Op


class Written(NamedTuple):
    """What makes the text for a width, what makes the same for JSON, and what to note."""

    text: Callable[[int | None], str]
    as_json: Callable[[], Any]
    notes: tuple[str, ...] = ()


Id = Annotated[
    str | None,
    argument(
        "[ID]", "A version to write out: openvino.Gather-8, or onnx-13 for all of that opset."
    ),
]
Diff = Annotated[
    tuple[str, str] | None,
    option(
        VIEW,
        "--diff",
        metavar="A B",
        help="What two versions do differently, and what that means for a model that moves.",
    ),
]
Like = Annotated[
    str | None,
    option(
        VIEW,
        "--like",
        metavar="CALL",
        help="The versions that another framework's call equals, such as torch.gather, np.take.",
    ),
]
Decisions = Annotated[
    bool,
    option(
        VIEW,
        "--decisions",
        help="Where the specifications are silent or contradict themselves, and what is done.",
    ),
]


def run(
    *,
    version: Id = None,
    diff: Diff = None,
    like: Like = None,
    decisions: Decisions = False,
    fmt: TextFormat = "auto",
    errors: ErrorOptions,
) -> Answer:
    """Show the view that was asked for."""
    del fmt, errors  # of which the answer knows nothing
    asked = {"ID": version, "--diff": diff, "--like": like, "--decisions": decisions or None}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) > 1:
        raise UsageError(
            f"{listed((f'`{name}`' for name in given), 'and')} are given: expected one of them",
            rule="usage",
            value=given[1],
        )
    view: Callable[[], Written] = _every
    if version is not None:
        family = version.lower().replace("_", "-")
        view = partial(_every, family) if family in FAMILIES else partial(_one, version)
    elif diff is not None:
        view = partial(_difference, *diff)
    elif like is not None:
        view = partial(_like, like)
    elif decisions:
        view = _decisions
    return _answer(view())


def _answer(written: Written) -> Answer:
    def text(width: int | None, color: bool) -> str:
        from gathercli.report.versions import shown

        return shown(written.text(width), color=color)

    def as_json() -> str:
        import json

        return json.dumps(written.as_json()) + "\n"

    return Answer(text, as_json, notes=written.notes, paged=True)


def _every(*families: str) -> Written:
    """List the versions of some operators, or of all."""
    from gathercli.report import versions as rows

    defaults, by, notes = _defaults()
    ops = [op for op in OPERATORS if not families or op.family in families]
    return Written(
        lambda width: rows.listing(ops, width, defaults, by),
        lambda: [_object(op, defaults) for op in ops],
        notes,
    )


def _defaults() -> tuple[list[Op], str, tuple[str, ...]]:
    """Find the versions that run where none is named, what says so, and what is wrong with it."""
    chosen: list[Choice] = []
    notes: list[str] = []
    for family in FAMILIES:
        try:
            chosen.append(choice(family, None))
        except VersionError as error:
            notes.append(error.message)
    named = any(each.version_from for each in chosen)
    by = f"{VARIABLE}={clean(os.environ[VARIABLE])}" if named else ""
    return [each.op for each in chosen], by, tuple(notes)


def _object(op: Op, defaults: list[Op]) -> dict[str, Any]:
    from gathercli.report import versions as rows

    return rows.as_json(op) | {"default": op in defaults}


def _one(version: str) -> Written:
    from gathercli.report import versions as rows

    found = named(version, "gathercli ops ")
    ops = [each.op for each in found]
    defaults, _, _ = _defaults()
    objects = [_object(op, defaults) for op in ops]
    return Written(
        partial(rows.sheets, ops),
        lambda: objects[0] if len(objects) == 1 else objects,
        _notes(found),
    )


def _difference(a: str, b: str) -> Written:
    from gathercli.report import difference

    x, y = found = _of_one_family((a, named(a)), (b, named(b)))
    return Written(
        partial(difference.text, x.op, y.op),
        partial(difference.as_json, x.op, y.op),
        _notes(found),
    )


def _like(called: str) -> Written:
    from gathercli.report import equivalents

    each = equivalent(clean(called))
    nearest = next(op for op in OPERATORS if op.full_name == each.rows[0])
    return Written(partial(equivalents.text, each, nearest), partial(equivalents.as_json, each))


def _decisions() -> Written:
    from gathercli.report import decisions

    return Written(
        partial(decisions.text, DECISIONS), lambda: [each._asdict() for each in DECISIONS]
    )


def _of_one_family(*sides: tuple[str, list[Found]]) -> tuple[Found, Found]:
    """Choose among what two words name: rows of one operator, the first if several are.

    A row of that very version comes before one that the opset runs: openvino-6 is GatherElements-6.
    """
    first, second = (exactly(word, found) for word, found in sides)
    pairs = [(a, b) for a in first for b in second]
    return next(((a, b) for a, b in pairs if a.op.family == b.op.family), pairs[0])


def exactly(word: str, found: list[Found]) -> list[Found]:
    """Keep the rows of that very version, where there are some, of those that the opset runs."""
    number = re.search(r"\d+$", word.strip(), re.ASCII)
    return [each for each in found if number and each.op.version == int(number[0])] or found


def _notes(found: Iterable[Found]) -> tuple[str, ...]:
    return tuple(each.note for each in found if each.note)


def named(version: str, prefix: str = "") -> list[Found]:
    """Find every row that a word names; a hint puts `prefix` before the nearest name."""
    found: list[Found] = []
    refusals: list[VersionError] = []
    for family in FAMILIES:
        try:
            found.append(find(version, family))
        except VersionError as error:
            refusals.append(error)
    if found:
        return found
    if version.isdigit():  # a row of both frameworks, or of none
        first = refusals[0]
        first.hint = first.hint and first.hint.replace("-V ", prefix)
        raise first
    names = [name for op in OPERATORS for name in (op.full_name, op.id)]
    near = closest(version, names)
    hint = f"did you mean `{prefix}{near}`?" if near else None
    if others := of_framework(version):
        row, name = others[0].rows[0], others[0].name
        hint = f"`{prefix}{row}` is nearest to {name}: `gathercli ops --like {name}`"
        if refusal := elsewhere(version, "no operator version"):
            refusal.hint, refusal.instead = hint, ()
            raise refusal
    raise VersionError(
        f"no operator version `{clean(version[:40])}`: expected one of "
        f"{' '.join(op.full_name for op in OPERATORS)}",
        rule="version",
        value=version,
        hint=hint,
    )
