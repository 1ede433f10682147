"""`ops`: the operator versions, their differences, and equal calls of other frameworks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from gathercli.cli.declarations import VIEW, Answer, Options, argument, flag, option
from gathercli.cli.messages import ErrorOptions
from gathercli.cli.options import TEXT_FORMAT, VARIABLE, choice
from gathercli.errors import UsageError, VersionError
from gathercli.frameworks import every_row
from gathercli.frameworks.equivalents import call_like, equivalent, framework_named, of_framework
from gathercli.frameworks.versions import VersionMatch, find
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.report import versions
from gathercli.spec.decisions import every_decision
from gathercli.spec.op import FRAMEWORKS, Op
from gathercli.text import clean, closest, listed


class VersionsView(Options):
    """One view of the versions: all, some, a difference, an equivalent or the decisions."""

    version: str | None = argument("[ID]", default=None)
    diff: tuple[str, str] | None = option(VIEW, "--diff", metavar="A B", kind=tuple)
    like: str | None = option(VIEW, "--like", metavar="CALL")
    decisions: bool = flag(VIEW, "--decisions")
    fmt: str = TEXT_FORMAT


def run(view: VersionsView, errors: ErrorOptions) -> Answer:
    """Show the view."""
    del errors  # used by the caller
    views = {"ID": view.version, "--diff": view.diff, "--like": view.like}
    given = [name for name, value in views.items() if value is not None]
    given += ["--decisions"] * view.decisions
    if len(given) > 1:
        what = f"{listed((f'`{name}`' for name in given), 'and')} are given"
        raise UsageError(what, value=given[1], expected="one of them")
    if view.version is not None:
        name = re.sub("[-_]", "", view.version.lower())
        family = next((each for each in FAMILIES if each.replace("-", "") == name), None)
        return _list(family) if family else _sheets(view.version)
    if view.diff is not None:
        return _difference(*view.diff)
    if view.like is not None:
        return _like(view.like)
    if view.decisions:
        every = every_decision()
        write = partial(versions.decisions_text, every)
        return _answer(write, lambda: [each._asdict() for each in every])
    return _list()


def _answer(
    write: Callable[[int | None], str], as_json: Callable[[], Any], notes: Iterable[str | None] = ()
) -> Answer:
    """Return an answer with a text of any width, JSON, and notes."""

    def text(width: int | None, color: bool) -> str:
        return versions.colored(write(width), color=color)

    def line() -> str:
        import json

        return json.dumps(as_json()) + "\n"

    return Answer(text, line, notes=tuple(filter(None, notes)), paged=True)


def _list(*families: str) -> Answer:
    """List the versions of some operators, or of all."""
    defaults, by, notes = _defaults()
    ops = [op for op in OPERATORS if not families or op.family in families]
    calls = [row.op for name in families or FAMILIES for row in every_row(name)]
    return _answer(
        lambda width: versions.listing(ops, width, defaults, by, calls),
        lambda: [_object(op, defaults) for op in (*ops, *calls)],
        notes,
    )


def _defaults() -> tuple[list[Op], str, list[str]]:
    """Return the default versions, the variable that sets them or "", and its errors."""
    choices: list[VersionMatch] = []
    notes: list[str] = []
    for family in FAMILIES:
        try:
            choices.append(choice(family, None))
        except VersionError as error:
            notes.append(error.message)
    by_variable = any(each.version_from for each in choices)
    by = f"{VARIABLE}={clean(os.environ[VARIABLE])}" if by_variable else ""
    return [each.op for each in choices], by, notes


def _object(op: Op, defaults: list[Op]) -> dict[str, Any]:
    return versions.version_json(op) | {"default": op in defaults}


def _sheets(version: str) -> Answer:
    """Return the sheets of the versions that a word names."""
    matches = named(version, "gathercli ops ")
    ops = [each.op for each in matches]
    defaults, _, _ = _defaults()
    objects = [_object(op, defaults) for op in ops]
    return _answer(
        partial(versions.sheets, ops),
        lambda: objects[0] if len(objects) == 1 else objects,
        (each.note for each in matches),
    )


def _difference(a: str, b: str) -> Answer:
    """Compare two versions; of two opsets, every operator that has a version in both."""
    sides = named(a), named(b)
    pairs = [(x, y) for x in sides[0] for y in sides[1] if x.op.family == y.op.family]
    left_out = _left_out((a, b), sides) if pairs and min(map(len, sides)) > 1 else []
    if not pairs:
        pairs = [(exactly(a, sides[0])[0], exactly(b, sides[1])[0])]
    objects = [versions.difference_json(x.op, y.op) for x, y in pairs]
    return _answer(
        lambda width: "\n".join(versions.difference_text(x.op, y.op, width) for x, y in pairs),
        lambda: objects[0] if len(objects) == 1 else objects,
        [*(each.note for pair in pairs for each in pair), *left_out],
    )


def _left_out(
    words: tuple[str, str], sides: tuple[list[VersionMatch], list[VersionMatch]]
) -> list[str]:
    """Name the operators that only one of two opsets has."""
    notes = []
    for word, here, there in zip(words, sides, reversed(sides), strict=True):
        families = {each.op.family for each in there}
        if names := [each.op.name for each in here if each.op.family not in families]:
            notes.append(f"{listed(names, 'and')} left out: only {clean(word)} has a version")
    return notes


def _like(call: str) -> Answer:
    try:
        each = equivalent(clean(call))
    except UsageError as error:
        framework, _, name = call.lower().partition(".")
        names = [op.name for op in OPERATORS if op.framework == framework]
        if near := max((n for n in names if name.startswith(n.lower())), key=len, default=None):
            error.hint = f"`gathercli ops {near}` lists its versions"
        raise
    return _answer(partial(versions.equivalent_text, each), partial(versions.equivalent_json, each))


def exactly(word: str, matches: list[VersionMatch]) -> list[VersionMatch]:
    """Return the versions with the number in a word; all versions if none has it."""
    number = re.search(r"\d+$", word.strip(), re.ASCII)
    return [each for each in matches if number and each.op.version == int(number[0])] or matches


def named(version: str, prefix: str = "") -> list[VersionMatch]:
    """Return the versions that a word names; `prefix` precedes the nearest name in a hint."""
    if others := of_framework(version):
        return [VersionMatch(each.op) for each in others]
    matches: list[VersionMatch] = []
    refusals: list[VersionError] = []
    for family in FAMILIES:
        try:
            matches.append(find(version, family))
        except VersionError as error:
            refusals.append(error)
    number = int(version) if version.isascii() and version.isdigit() else 0
    if matches and len({op.framework for op in OPERATORS if op.version == number}) <= 1:
        return matches
    newest = max(each.newest_opset for each in FRAMEWORKS.values())
    if 0 < number <= newest:  # of both frameworks, or an opset
        first = refusals[0]
        first.hint = first.advice and first.advice.replace("-V ", prefix)
        raise first
    likely = next((each.advice for each in refusals if each.advice), None)
    of, call = framework_named(version), call_like(version)
    known = [each.name for each in of.rows] if of else []
    known = known or [op.full_name for op in OPERATORS]
    near = f"did you mean `{prefix}{call.name}`?" if call else _nearest(version, prefix)
    hint = near or (likely and likely.replace("-V ", prefix))
    hint = hint or "`gathercli ops` lists the versions"
    what = f"no operator version `{clean(version[:40])}`"
    expected = f"one of {' '.join(known)}"
    raise VersionError(what, rule="version", value=version, expected=expected, hint=hint)


def _nearest(version: str, prefix: str) -> str | None:
    """Suggest the versions with an operator and a number, those of the operator, or the closest."""
    key = _letters(version)
    near = [op.full_name for op in OPERATORS if key == _letters(f"{op.name}{op.version}")]
    name = key.rstrip("0123456789")  # of an operator, whose version it is not
    if not near and (op := next((op for op in OPERATORS if _letters(op.name) == name), None)):
        return f"`gathercli ops {op.name}` lists its versions"
    closely = closest(version, [name for op in OPERATORS for name in (op.full_name, op.id)])
    near = near or ([closely] if closely else [])
    return f"did you mean {listed(f'`{prefix}{each}`' for each in near)}?" if near else None


def _letters(word: str) -> str:
    """Return the letters and digits of a name: ``gather_nd-8`` and ``GatherND-8`` are one."""
    return "".join(filter(str.isalnum, word.lower()))
