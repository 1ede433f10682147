"""The operators, and the lookup of their versions by name.

To add a version, add a row to the file of its family and to the ``ROWS`` there. To add an operator,
add a file like `gather.py` and list it in `_FAMILIES` below.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from gathercli.errors import Hint, UsageError, VersionError
from gathercli.ops import gather, gather_elements, gather_nd, gather_tree
from gathercli.records import NamedTuple
from gathercli.text import closest, listed, shell_word, short

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    from gathercli.spec.call import Call, Family
    from gathercli.spec.op import IndexedAxis, Op

_FAMILIES: tuple[Family, ...] = (gather, gather_elements, gather_nd, gather_tree)
FAMILIES: Final[dict[str, Family]] = {family.COMMAND: family for family in _FAMILIES}
"""The operators by the name of their command."""

OPERATORS: Final[tuple[Op, ...]] = tuple(op for family in _FAMILIES for op in family.ROWS)
"""Every operator version, newest first in each framework."""

NEWEST_OPSET: Final = {"openvino": 16, "onnx": 28}
"""The newest opset covered (OpenVINO 2026.4, ONNX 1.23); later ones may change an operator."""

_FRAMEWORKS: Final = {"openvino": "OpenVINO", "onnx": "ONNX"}


def versions(rows: Iterable[Op]) -> str:
    """List the versions of rows by framework, oldest first.

    >>> versions(FAMILIES["gather"].ROWS)
    'OpenVINO 1, 7, 8; ONNX 1, 11, 13'
    """
    numbers: dict[str, list[int]] = {}
    for op in rows:
        numbers.setdefault(_FRAMEWORKS.get(op.framework, op.framework), []).append(op.version)
    return "; ".join(f"{name} {', '.join(map(str, sorted(n)))}" for name, n in numbers.items())


def summary(family: Family) -> str:
    """Describe an operator in one line, with its versions."""
    return f"{family.SUMMARY}: {versions(family.ROWS)}."


def families(command: str) -> tuple[Family, ...]:
    """Return the operator of a command, or all operators if the command takes any of them."""
    return (FAMILIES[command],) if command in FAMILIES else tuple(FAMILIES.values())


def attributes(family: Family) -> dict[str, bool]:
    """Return the attributes an operator accepts, and whether any of its versions has each.

    An attribute of no version is accepted if a rule of the operator reports it.
    """
    known = dict.fromkeys(
        each.name for other in FAMILIES.values() for op in other.ROWS for each in op.attrs
    )
    refused = {rule.__name__.removesuffix("_unsupported") for rule in family.RULES}
    supported = {name: any(op.attr(name) for op in family.ROWS) for name in known}
    return {name: has for name, has in supported.items() if has or name in refused}


def indexed_inputs(call: Call) -> dict[str, list[IndexedAxis]]:
    """Return the indexed axes of each input of indices."""
    axes = call.family.indexed_axes(call)
    return {
        each.name: [along for along in axes if along.input == each.name]
        for each in call.op.inputs
        if each.values
    }


class VersionMatch(NamedTuple):
    """The row of a version, with a note for the user if the choice needs one."""

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
    """Return the error for an unknown operator, with a suggestion; `what` starts the message."""
    near = closest(name.lower(), FAMILIES)
    error = foreign_name_error(name, what) or UsageError(
        f"{what} `{name[:40]}`",
        rule="usage",
        value=name,
        expected=listed(FAMILIES),
        hint=f"did you mean `{near}`?" if near else None,
        instead=(near,) if near else (),
    )
    error.is_operator = True
    return error


def foreign_name_error(name: str, what: str) -> UsageError | None:
    """Return the error for another framework's call, or a row, used as a command; else None."""
    from gathercli.spec.framework_calls import find_equivalent, not_here

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
        unsaid=True,
        hint=Hint(f"`{op.family}` with {fields}", version=op.id, **settings),
        instead=tuple(equal.split()),
    )


@lru_cache(maxsize=64)
def find(version: str | int | None, command: str = gather.COMMAND) -> VersionMatch:
    """Return the row that a framework runs for a version.

    Parameters
    ----------
    version
        A row (``openvino-8``, ``openvino.Gather-8``), an opset (``onnx-12`` runs Gather-11,
        ``opset 12`` is ONNX's), a framework (its newest row), or a bare number that is a row of
        one framework only. Upper or lower case; one of ``- : _ .`` or a blank may precede the
        number.
    command
        The operator, such as ``gather``.

    Raises
    ------
    VersionError
        ``version``: no row matches.

    Examples
    --------
    >>> find("onnx-12").op.full_name, find(8).op.full_name, find("ONNX:13").op.full_name
    ('onnx.Gather-11', 'openvino.Gather-8', 'onnx.Gather-13')
    """
    family, text = family_of(command), "" if version is None else str(version)
    word = text.strip().lower()
    for op in family.ROWS:
        if word in (op.id, op.full_name.lower()):
            return VersionMatch(op)
    if any(op.full_name.lower() == word for op in OPERATORS):
        raise _version_error(text, family)
    import re

    parts = re.fullmatch(_VERSION, word)
    if parts is None:
        why = _absent_framework(word, family)
        raise _release_error(text, family) or _version_error(text, family, why)
    framework = parts["framework"] or (_OPSET_FRAMEWORK if parts["opset"] else None)
    if framework is None:
        rows = [op for op in family.ROWS if op.version == int(parts["number"])]
        if len(rows) == 1:
            return VersionMatch(rows[0])
        both = f"{listed((op.id for op in rows), 'and')} both have it" if rows else None
        raise _version_error(text, family, both)
    rows = [op for op in family.ROWS if op.framework == framework]
    if not rows:
        raise _version_error(text, family, _absent_framework(framework, family))
    if parts["number"] is None:
        return VersionMatch(max(rows, key=lambda op: op.version))
    return _row_of_opset(text, family, rows, int(parts["number"]))


_OPSET_FRAMEWORK: Final = "onnx"
"""The framework of ``opset 12``."""

_VERSION: Final = (
    rf"(?a)(?:(?P<framework>{'|'.join(NEWEST_OPSET)})(?:[\s.:_-]?(?:opset[\s.:_-]?)?(?=\d))?"
    r"|(?P<opset>opset)[\s.:_-]?(?=\d)|(?=\d))(?P<number>[1-9]\d{0,5})?"
)
"""A framework, one of its opsets, or a number, in lower case."""

_RELEASE: Final = rf"(?a)({'|'.join(NEWEST_OPSET)})[\s:_-]?v?(\d+)\.(\d+)[.\w]*"
"""A release of a framework; its numbers are not those of its opsets."""

_FIRST_RELEASE: Final = 2
_BEFORE: Final = 5
"""ONNX 1.2 has opset 7, and every minor release since then one more."""


def _release_error(text: str, family: Family) -> VersionError | None:
    """Return the error for a release of a framework, with its opset if that is known."""
    import re

    release = re.fullmatch(_RELEASE, text.strip().lower())
    if release is None:
        return None
    framework, major, minor = release[1], int(release[2]), int(release[3])
    if all(op.framework != framework for op in family.ROWS):
        return None
    error = _version_error(text, family, f"{major}.{minor} is a release, not an opset")
    error.hint = "`gathercli ops` lists the versions"
    newest = NEWEST_OPSET[_OPSET_FRAMEWORK] - _BEFORE
    if framework == _OPSET_FRAMEWORK and major == 1 and _FIRST_RELEASE <= minor <= newest:
        opset = f"{framework}-{minor + _BEFORE}"
        error.hint = Hint(
            f"release 1.{minor} has opset {minor + _BEFORE}: {{version}}", version=opset
        )
    return error


def _absent_framework(word: str, family: Family) -> str | None:
    """Return a clause if a version starts with a framework that lacks the operator."""
    frameworks = {op.framework for op in family.ROWS}
    absent = (name for name in NEWEST_OPSET if word.startswith(name) and name not in frameworks)
    return next((f"{name} has no {family.ROWS[0].name}" for name in absent), None)


def _row_of_opset(text: str, family: Family, rows: list[Op], opset: int) -> VersionMatch:
    """Return the row, of those of one framework, that an opset runs."""
    older = [op for op in rows if op.version <= opset]
    if not older:
        first = min(op.version for op in rows)
        why = f"{rows[0].framework} has {rows[0].name} from opset {first} on"
        raise _version_error(text, family, why)
    op = max(older, key=lambda op: op.version)
    newest = max(NEWEST_OPSET[op.framework], op.version)
    return VersionMatch(
        op,
        f"{op.framework} opset {opset} is newer than {newest}, the newest known here; "
        f"{op.full_name} was assumed"
        if opset > newest
        else None,
    )


def find_for_any(version: str, command: str) -> VersionMatch:
    """Return the row of one operator for a version that is set for all of them.

    The row of another operator means the opset that introduced it. Raise as `find` does.

    >>> find_for_any("openvino.Gather-8", "gather-elements").op.full_name
    'openvino.GatherElements-6'
    """
    try:
        return find(version, command)
    except VersionError:
        number = version.strip()
        frameworks = {op.framework for op in OPERATORS if str(op.version) == number}
        for other in FAMILIES if len(frameworks) <= 1 else ():
            with suppress(VersionError):
                return find(find(version, other).op.id, command)
        raise


def frameworks_of(version: str) -> set[str]:
    """Return the frameworks of the rows that a version names, whichever their operators.

    >>> frameworks_of("opset 17"), frameworks_of("onx-17")
    ({'onnx'}, set())
    """
    frameworks: set[str] = set()
    for command in FAMILIES:
        with suppress(VersionError):
            frameworks.add(find(version, command).op.framework)
    return frameworks


def _version_error(text: str, family: Family, why: str | None = None) -> VersionError:
    ids = [op.id for op in family.ROWS]
    what = f"no version `{text[:40]}` of" if text.strip() else "an empty version for"
    word = text[:40].strip().lower()
    other = _named_family(word)
    near: Sequence[str] = ()
    if other in (None, family):
        other, near = None, _near_versions(word, family)
        hint = Hint("did you mean {version}?", version=near) if near else _hint(word, family)
    else:
        why, hint = f"it is a version of {other.COMMAND}", _other_operator_hint(word, other)
    error = VersionError(
        f"{what} {family.COMMAND}{f' ({why})' if why else ''}",
        rule="version",
        value=text,
        expected=listed(ids),
        hint=hint,
    )
    error.near = near
    if other:
        spellings = _spellings(word, other)
        error.elsewhere = (other.COMMAND, spellings[0] if spellings else text)
    return error


def _named_family(word: str) -> Family | None:
    """Return the operator that a version names: ``onnx.GatherElements-12``."""
    import re

    name = re.sub(r"[\W\d_]", "", word)
    for framework in NEWEST_OPSET:
        name = name.removeprefix(framework)
    return next((each for each in _FAMILIES if each.ROWS[0].name.lower() == name), None)


def _spellings(word: str, family: Family) -> list[str]:
    """Return likely spellings of a version of an operator; none for the full name of a row."""
    is_row = any(op.full_name.lower() == word for op in family.ROWS)
    return [] if is_row else _likely_versions(word, family)


def _other_operator_hint(word: str, family: Family) -> Hint:
    """Suggest the operator that has a version, with the likely spellings of that."""
    near = _spellings(word, family)
    text = "did you mean {command} with {version}?" if near else "did you mean {command}?"
    settings = {"version": near} if near else {}
    return Hint(text, command=family.COMMAND, **settings)


def _near_versions(word: str, family: Family) -> list[str]:
    """Guess versions for an unknown one that is no call of another framework."""
    import re

    from gathercli.spec.framework_calls import of_framework

    if not word or of_framework(word):
        return []
    return _likely_versions(re.sub(r"(?<=\d)\.0+$", "", word), family)


def _hint(word: str, family: Family) -> Hint | None:
    """Return a hint for a version without a guess."""
    from gathercli.spec.framework_calls import of_framework

    others = of_framework(word)
    if others:
        rows = {op.full_name: op for op in family.ROWS}
        for each in others:
            if row := rows.get(each.rows[0]):
                more = f"`gathercli ops --like {shell_word(each.name)}`"
                return Hint(f"{{version}} is nearest to {each.name}: {more}", version=row.id)
        if len(family.ROWS) == 1:
            return Hint("{version} is the only version", version=family.ROWS[0].id)
        return Hint(f"`gathercli ops --like {others[0].name}` says which version is nearest")
    if not word:
        return Hint("{version} is the default", version=family.ROWS[0].id)
    return Hint("`gathercli ops` lists the versions") if word.isdecimal() else None


def _likely_versions(word: str, family: Family) -> list[str]:
    """Guess versions for ``Gather-8``, ``v8``, ``12``, ``onnx.Gather-12``."""
    import re

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
    if not number and _named_family(word) is family:
        newest = (op.id for op in family.ROWS if framework in (op.framework, op.name.lower()))
        return [next(newest, ids[0])]
    near = closest(word, [*ids, *NEWEST_OPSET])
    return [op.id for op in family.ROWS if near in (op.id, op.framework)][:1]


_NUMBERED: Final = ("", "v", "version", "opset")
"""Words that may precede the number of a version."""
