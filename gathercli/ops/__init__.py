"""The operators: every version known, and how a version's name finds its row.

To add a version, add its row to the file of its family and to the file's ``ROWS``; to add an
operator, add a file like `gather.py` and name it in `_FAMILIES` below.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.errors import Hint, UsageError, VersionError
from gathercli.ops import gather, gather_elements, gather_nd, gather_tree
from gathercli.text import closest, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.spec.call import Call
    from gathercli.spec.op import Family, IndexedAxis, Op

_FAMILIES: tuple[Family, ...] = (gather, gather_elements, gather_nd, gather_tree)
FAMILIES: Final[dict[str, Family]] = {family.COMMAND: family for family in _FAMILIES}
"""The operators by the name of their command."""

OPERATORS: Final[tuple[Op, ...]] = tuple(op for family in _FAMILIES for op in family.ROWS)
"""Every operator version, newest first in each framework."""

NEWEST_OPSET: Final = {"openvino": 16, "onnx": 28}
"""The newest opset looked at (OpenVINO 2026.4, ONNX 1.23); later ones may change an operator."""


_FRAMEWORKS: Final = {"openvino": "OpenVINO", "onnx": "ONNX"}


def versions(rows: Iterable[Op]) -> str:
    """Name the versions of rows, the oldest of each framework first.

    >>> versions(FAMILIES["gather"].ROWS)
    'OpenVINO 1, 7, 8; ONNX 1, 11, 13'
    """
    numbers: dict[str, list[int]] = {}
    for op in rows:
        numbers.setdefault(_FRAMEWORKS.get(op.framework, op.framework), []).append(op.version)
    return "; ".join(f"{name} {', '.join(map(str, sorted(n)))}" for name, n in numbers.items())


def summary(family: Family) -> str:
    """Say what an operator does, and which versions there are."""
    return f"{family.SUMMARY}: {versions(family.ROWS)}."


def families(command: str) -> tuple[Family, ...]:
    """Return the operator of a command, or all where the command takes any of them."""
    return (FAMILIES[command],) if command in FAMILIES else tuple(FAMILIES.values())


def attributes(family: Family) -> dict[str, bool]:
    """Name the attributes that an operator takes, and tell whether one of its versions has it.

    What none has is taken where a rule of the operator refuses it.
    """
    known = dict.fromkeys(
        each.name for other in FAMILIES.values() for op in other.ROWS for each in op.attrs
    )
    refused = {rule.__name__.removesuffix("_unsupported") for rule in family.RULES}
    having = {name: any(op.attr(name) for op in family.ROWS) for name in known}
    return {name: has for name, has in having.items() if has or name in refused}


def indexed_inputs(call: Call) -> dict[str, list[IndexedAxis]]:
    """Return, for each input of indices, the axes that its elements or components count along."""
    axes = FAMILIES[call.op.family].indexed_axes(call)
    return {
        each.name: [along for along in axes if along.input == each.name]
        for each in call.op.inputs
        if each.values
    }


class Found(NamedTuple):
    """The row that answers to a version, and what the user should know of the choice."""

    op: Op
    note: str | None = None


def family_of(command: str) -> Family:
    """Return the operator of a command.

    Raises
    ------
    UsageError
        No operator has this name.
    """
    family = FAMILIES.get(command.replace("_", "-"))
    if family is None:
        raise no_operator(command)
    return family


def no_operator(name: str, what: str = "no operator") -> UsageError:
    """Make the refusal of a name that is no operator, and say which one it may stand for.

    Parameters
    ----------
    what
        The beginning of the message.
    """
    if found := elsewhere(name, what):
        return found
    near = closest(name.lower(), FAMILIES)
    return UsageError(
        f"{what} `{name[:40]}`: expected {listed(FAMILIES)}",
        rule="usage",
        value=name,
        hint=f"did you mean `{near}`?" if near else None,
        instead=(near,) if near else (),
    )


def elsewhere(name: str, what: str) -> UsageError | None:
    """Make the refusal of what is no command, but another framework's call or the name of a row."""
    from gathercli.spec.equivalents import find_equivalent, not_here

    if why := not_here(name):
        return UsageError(f"{what} `{name}`: {why}", rule="usage", value=name)
    word = name.strip().lower()
    for op in OPERATORS:
        if word in (op.full_name.lower(), f"{op.framework}.{op.name}".lower()):
            return UsageError(
                f"{what} `{name}`: it is {op.family} of version {op.id}",
                rule="usage",
                value=name,
                hint=Hint(f"`{op.family}` with {{version}}", version=op.id),
                instead=(op.family, "-V", op.id),
            )
    each = find_equivalent(name)
    if each is None:
        return None
    op = next(op for op in OPERATORS if op.full_name == each.rows[0])
    settings = each.settings(op)
    options = [f"--{key.replace('_', '-')} {value}" for key, value in settings.items()]
    equal = " ".join((op.family, "-V", op.id, *options))
    but = f", except that {each.exception}" if each.exception else ""
    fields = listed((f"{{{key}}}" for key in ("version", *settings)), "and")
    return UsageError(
        f"{what} `{short(name)}`: it equals `{equal}`{but}",
        rule="usage",
        value=name,
        expected=equal,
        hint=Hint(f"`{op.family}` with {fields}", version=op.id, **settings),
        instead=tuple(equal.split()),
    )


@lru_cache(maxsize=64)
def find(version: str | int | None, command: str = gather.COMMAND) -> Found:
    """Find the row that a framework runs under a version.

    Parameters
    ----------
    version
        A row (``openvino-8``, ``openvino.Gather-8``), an opset (``onnx-12`` runs Gather-11,
        ``opset 12`` is ONNX's), a framework (its newest row), or a bare number that is a row of
        one framework only. In any case, with or without one of ``- : _ .`` or a blank before the
        number.
    command
        The operator: ``gather`` or ``gather-elements``.

    Raises
    ------
    VersionError
        ``version``: nothing answers to it.

    Examples
    --------
    >>> find("onnx-12").op.full_name, find(8).op.full_name, find("ONNX:13").op.full_name
    ('onnx.Gather-11', 'openvino.Gather-8', 'onnx.Gather-13')
    """
    family, text = family_of(command), "" if version is None else str(version)
    word = text.strip().lower()
    for op in family.ROWS:
        if word in (op.id, op.full_name.lower()):
            return Found(op)
    if any(op.full_name.lower() == word for op in OPERATORS):
        raise _refused(text, family)
    spelt = _SPELLING.fullmatch(word)
    if spelt is None:
        raise _of_release(text, family) or _refused(text, family, _absent(word, family))
    framework = spelt["framework"] or (_OF_OPSETS if spelt["opset"] else None)
    if framework is None:
        rows = [op for op in family.ROWS if op.version == int(spelt["number"])]
        if len(rows) == 1:
            return Found(rows[0])
        both = f"{listed((op.id for op in rows), 'and')} both have it" if rows else None
        raise _refused(text, family, both)
    rows = [op for op in family.ROWS if op.framework == framework]
    if not rows:
        raise _refused(text, family, _absent(framework, family))
    if spelt["number"] is None:
        return Found(max(rows, key=lambda op: op.version))
    return _of_opset(text, family, rows, int(spelt["number"]))


_OF_OPSETS: Final = "onnx"
"""The framework that is meant where somebody speaks of an opset alone."""

_SPELLING: Final = re.compile(
    rf"(?:(?P<framework>{'|'.join(NEWEST_OPSET)})(?:[\s.:_-]?(?:opset[\s.:_-]?)?(?=\d))?"
    r"|(?P<opset>opset)[\s.:_-]?(?=\d)|(?=\d))(?P<number>[1-9]\d{0,5})?",
    re.ASCII,
)
"""How a framework, an opset of it, or a number is spelt, in lower case."""


_RELEASE: Final = re.compile(rf"({'|'.join(NEWEST_OPSET)})[\s:_-]?v?(\d+)\.(\d+)[.\w]*", re.ASCII)
"""How a release of a framework is spelt, which has several opsets or one of another number."""

_FIRST_RELEASE: Final = 2
_BEFORE: Final = 5
"""ONNX 1.2 brought opset 7, and every minor release since then one more."""


def _of_release(text: str, family: Family) -> VersionError | None:
    """Refuse a release of a framework, and name its opset if that is known."""
    release = _RELEASE.fullmatch(text.strip().lower())
    if release is None:
        return None
    framework, major, minor = release[1], int(release[2]), int(release[3])
    if all(op.framework != framework for op in family.ROWS):
        return None
    error = _refused(text, family, f"{major}.{minor} is a release, not an opset")
    error.hint = "`gathercli ops` lists the versions"
    newest = NEWEST_OPSET[_OF_OPSETS] - _BEFORE
    if framework == _OF_OPSETS and major == 1 and _FIRST_RELEASE <= minor <= newest:
        opset = f"{framework}-{minor + _BEFORE}"
        error.hint = Hint(
            f"release 1.{minor} has opset {minor + _BEFORE}: {{version}}", version=opset
        )
    return error


def _absent(word: str, family: Family) -> str | None:
    """Say that the framework with which a version begins has no version of an operator."""
    having = {op.framework for op in family.ROWS}
    absent = (name for name in NEWEST_OPSET if word.startswith(name) and name not in having)
    return next((f"{name} has no {family.ROWS[0].name}" for name in absent), None)


def _of_opset(text: str, family: Family, rows: list[Op], opset: int) -> Found:
    """Find, among the rows of one framework, the one that its opset runs."""
    older = [op for op in rows if op.version <= opset]
    if not older:
        first = min(op.version for op in rows)
        why = f"{rows[0].framework} has {rows[0].name} from opset {first} on"
        raise _refused(text, family, why)
    op = max(older, key=lambda op: op.version)
    newest = max(NEWEST_OPSET[op.framework], op.version)
    return Found(
        op,
        f"{op.framework} opset {opset} is newer than {newest}, the newest known here; "
        f"{op.full_name} was assumed"
        if opset > newest
        else None,
    )


def find_for_any(version: str, command: str) -> Found:
    """Find the row of one operator for a version that is chosen for all of them.

    A row that only another operator has stands for the opset that brought it.

    Raises
    ------
    VersionError
        ``version``: nothing answers to it.

    >>> find_for_any("openvino.Gather-8", "gather-elements").op.full_name
    'openvino.GatherElements-6'
    """
    try:
        return find(version, command)
    except VersionError:
        number = version.strip()
        having = {op.framework for op in OPERATORS if str(op.version) == number}
        for other in FAMILIES if len(having) <= 1 else ():
            with suppress(VersionError):
                return find(find(version, other).op.id, command)
        raise


def _refused(text: str, family: Family, why: str | None = None) -> VersionError:
    ids = [op.id for op in family.ROWS]
    what = f"no version `{text[:40]}` of" if text.strip() else "an empty version for"
    word = text[:40].strip().lower()
    other = _family_in(word)
    if other in (None, family):
        other, hint = None, _hint(word, family)
    else:
        why, hint = f"it is a version of {other.COMMAND}", _hint_to(word, other)
    error = VersionError(
        f"{what} {family.COMMAND}{f' ({why})' if why else ''}: expected {listed(ids)}",
        rule="version",
        value=text,
        expected=listed(ids),
        hint=hint,
    )
    if other:
        near = _written(word, other)
        error.elsewhere = (other.COMMAND, near[0] if near else text)
    return error


def _family_in(word: str) -> Family | None:
    """Find the operator whose name a version has in it: ``onnx.GatherElements-12``."""
    name = re.sub(r"[\W\d_]", "", word)
    for framework in NEWEST_OPSET:
        name = name.removeprefix(framework)
    return next((each for each in _FAMILIES if each.ROWS[0].name.lower() == name), None)


def _written(word: str, family: Family) -> list[str]:
    """Guess how an operator writes a version; nothing if it is the name of a row."""
    is_row = any(op.full_name.lower() == word for op in family.ROWS)
    return [] if is_row else _meant(word, family)


def _hint_to(word: str, family: Family) -> Hint:
    """Say which operator has a version, and how that is written if it is written otherwise."""
    near = _written(word, family)
    text = "did you mean {command} with {version}?" if near else "did you mean {command}?"
    settings = {"version": near} if near else {}
    return Hint(text, command=family.COMMAND, **settings)


def _hint(word: str, family: Family) -> Hint | None:
    """Say how the version that was meant is written, as far as that can be guessed."""
    from gathercli.spec.equivalents import of_framework

    others = of_framework(word)
    if others:
        rows = {op.full_name: op for op in family.ROWS}
        for each in others:
            if row := rows.get(each.rows[0]):
                more = f"`gathercli ops --like {each.name}`"
                return Hint(f"{{version}} is nearest to {each.name}: {more}", version=row.id)
        return Hint(f"`gathercli ops --like {others[0].name}` says which version is nearest")
    if not word:
        return Hint("{version} is the default", version=family.ROWS[0].id)
    near = _meant(re.sub(r"(?<=\d)\.0+$", "", word), family)
    return Hint("did you mean {version}?", version=near) if near else None


def _meant(word: str, family: Family) -> list[str]:
    """Guess the versions that were meant: ``Gather-8``, ``v8``, ``12``, ``onnx.Gather-12``."""
    ids = [op.id for op in family.ROWS]
    head = word.rstrip("0123456789")
    number, head = word[len(head) :], head.rstrip(" .:_-")
    framework = head.partition(".")[0]
    framework = closest(framework, NEWEST_OPSET, cutoff=0.8) or framework
    if framework in NEWEST_OPSET and all(op.framework != framework for op in family.ROWS):
        return ids[:1]
    if number and framework in NEWEST_OPSET:
        first = min(op.version for op in family.ROWS if op.framework == framework)
        return [f"{framework}-{max(first, int(number))}"]
    if number and (head in _NUMBERED or re.sub(r"\W|_", "", head) == family.ROWS[0].name.lower()):
        opset = int(number)
        return [op.id for op in family.ROWS if op.version == opset] or [
            f"{framework}-{opset}"
            for framework, newest in NEWEST_OPSET.items()
            if opset <= newest
            and any(op.framework == framework and op.version <= opset for op in family.ROWS)
        ]
    if not number and _family_in(word) is family:
        newest = (op.id for op in family.ROWS if framework in (op.framework, op.name.lower()))
        return [next(newest, ids[0])]
    near = closest(word, [*ids, *NEWEST_OPSET])
    return [op.id for op in family.ROWS if near in (op.id, op.framework)][:1]


_NUMBERED: Final = ("", "v", "version", "opset")
"""Words that people put before the number of a version."""
