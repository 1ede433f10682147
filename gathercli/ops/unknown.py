"""The errors of operators and versions that do not exist, with what was probably meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gathercli.errors import Hint, UsageError, VersionError
from gathercli.ops import FAMILIES, OPERATORS, version_named
from gathercli.spec.equivalents import Equivalent, find_equivalent, not_here, of_framework
from gathercli.spec.op import FRAMEWORKS
from gathercli.text import closest, listed, shell_word, short

if TYPE_CHECKING:
    from gathercli.spec.call import Family


def operator_error(name: str, what: str = "no operator") -> UsageError:
    """Return the error for an unknown operator, with a suggestion; `what` starts the message."""
    near = closest(name.lower(), FAMILIES)
    error = foreign_name_error(name, what) or UsageError(
        f"{what} `{name[:40]}`",
        value=name,
        expected=listed(FAMILIES),
        hint=f"did you mean `{near}`?" if near else None,
        instead=(near,) if near else (),
    )
    error.is_operator = True
    return error


def foreign_name_error(name: str, what: str) -> UsageError | None:
    """Return the error for another framework's call, or a row, used as a command; else None."""
    if why := not_here(name):
        return UsageError(f"{what} `{name}`: {why}", value=name)
    word = name.strip().lower()
    for op in OPERATORS:
        if word in (op.full_name.lower(), f"{op.framework}.{op.name}".lower()):
            return UsageError(
                f"{what} `{name}`: it is {op.family} of version {op.id}",
                value=name,
                hint=Hint(f"`{op.family}` with {{version}}", version=op.id),
                instead=(op.family, "-V", op.id),
            )
    each = find_equivalent(name)
    if each is None:
        return None
    op = version_named(each.rows[0])
    settings = each.settings(op)
    options = [f"--{key.replace('_', '-')} {value}" for key, value in settings.items()]
    equal = " ".join((op.family, "-V", op.id, *options))
    but = f", except that {each.exception}" if each.exception else ""
    fields = listed((f"{{{key}}}" for key in ("version", *settings)), "and")
    return UsageError(
        f"{what} `{short(name)}`: it equals `{equal}`{but}",
        value=name,
        expected=equal,
        unsaid=True,
        hint=Hint(f"`{op.family}` with {fields}", version=op.id, **settings),
        instead=tuple(equal.split()),
    )


def version_error(text: str, family: Family, why: str | None = None) -> VersionError:
    """Return the error for an unknown version of an operator; `why` is a clause."""
    word = text[:40].strip().lower()
    other, elsewhere = _named_family(word), None
    is_ours = word.startswith(tuple(FRAMEWORKS)) or word[:1].isdigit()
    calls = [] if is_ours or not word else of_framework(word)  # which reads a file
    near = _likely_versions(re.sub(r"(?<=\d)\.0+$", "", word), family) if word and not calls else []
    hint: str | None
    frameworks = {op.framework for op in family.ROWS}
    release = re.fullmatch(_RELEASE, word)
    if other not in (None, family):
        is_row = any(op.full_name.lower() == word for op in other.ROWS)
        likely = [] if is_row else _likely_versions(word, other)
        meant = "did you mean {command} with {version}?" if likely else "did you mean {command}?"
        why, near = f"it is a version of {other.COMMAND}", []
        hint = Hint(meant, command=other.COMMAND, version=likely)
        elsewhere = other.COMMAND, likely[0] if likely else text
    elif release and release[1] in frameworks:
        why = f"{int(release[2])}.{int(release[3])} is a release, not an opset"
        hint = _release_hint(release[1], int(release[2]), int(release[3]))
    else:
        absent = (name for name in FRAMEWORKS if word.startswith(name) and name not in frameworks)
        why = why or next((f"{name} has no {family.ROWS[0].name}" for name in absent), None)
        hint = Hint("did you mean {version}?", version=near) if near else _hint(word, family, calls)
    what = f"no version `{text[:40]}` of" if text.strip() else "an empty version for"
    error = VersionError(
        f"{what} {family.COMMAND}{f' ({why})' if why else ''}",
        rule="version",
        value=text,
        expected=listed(op.id for op in family.ROWS),
        hint=hint,
    )
    error.near, error.elsewhere = near, elsewhere
    return error


# A release of a framework; its numbers are not those of its opsets.
_RELEASE: Final = rf"(?a)({'|'.join(FRAMEWORKS)})[\s:_-]?v?(\d+)\.(\d+)[.\w]*"

_FIRST_ONNX_RELEASE: Final = 2
_OPSETS_BEFORE_ONNX: Final = 5  # ONNX 1.2 has opset 7, and every minor release since then one more


def _release_hint(framework: str, major: int, minor: int) -> str:
    """Return the hint for a release, with its opset if that is known."""
    opset = minor + _OPSETS_BEFORE_ONNX
    is_known = minor >= _FIRST_ONNX_RELEASE and opset <= FRAMEWORKS["onnx"].newest_opset
    if (framework, major) == ("onnx", 1) and is_known:
        return Hint(f"release 1.{minor} has opset {opset}: {{version}}", version=f"onnx-{opset}")
    return "`gathercli ops` lists the versions"


def _named_family(word: str) -> Family | None:
    """Return the operator that a version names: ``onnx.GatherElements-12``."""
    name = re.sub(r"[\W\d_]", "", word)
    for framework in FRAMEWORKS:
        name = name.removeprefix(framework)
    return next((each for each in FAMILIES.values() if each.ROWS[0].name.lower() == name), None)


def _hint(word: str, family: Family, calls: list[Equivalent]) -> Hint | None:
    """Return a hint for a version without a guess, which may be calls of another framework."""
    if calls:
        rows = {op.full_name: op for op in family.ROWS}
        for each in calls:
            if row := rows.get(each.rows[0]):
                more = f"`gathercli ops --like {shell_word(each.name)}`"
                return Hint(f"{{version}} is nearest to {each.name}: {more}", version=row.id)
        if len(family.ROWS) == 1:
            return Hint("{version} is the only version", version=family.ROWS[0].id)
        return Hint(f"`gathercli ops --like {calls[0].name}` says which version is nearest")
    if not word:
        return Hint("{version} is the default", version=family.ROWS[0].id)
    return Hint("`gathercli ops` lists the versions") if word.isdecimal() else None


def _likely_versions(word: str, family: Family) -> list[str]:
    """Guess versions for ``Gather-8``, ``v8``, ``12``, ``onnx.Gather-12``."""
    ids = [op.id for op in family.ROWS]
    head = word.rstrip("0123456789")
    number, head = word[len(head) :], head.rstrip(" .:_-")
    framework = head.partition(".")[0]
    framework = closest(framework, FRAMEWORKS, cutoff=0.8) or framework
    oldest: dict[str, int] = {}
    for op in family.ROWS:
        oldest[op.framework] = min(op.version, oldest.get(op.framework, op.version))
    if framework in FRAMEWORKS and framework not in oldest:
        return ids[:1]
    if number and framework in FRAMEWORKS:
        return [f"{framework}-{max(oldest[framework], int(number))}"]
    if number and (head in _NUMBERED or re.sub(r"\W|_", "", head) == family.ROWS[0].name.lower()):
        opset = int(number)
        return [op.id for op in family.ROWS if op.version == opset] or [
            f"{name}-{opset}"
            for name, each in FRAMEWORKS.items()
            if oldest.get(name, opset + 1) <= opset <= each.newest_opset
        ]
    if not number and _named_family(word) is family:
        newest = (op.id for op in family.ROWS if framework in (op.framework, op.name.lower()))
        return [next(newest, ids[0])]
    near = closest(word, [*ids, *FRAMEWORKS])
    return [op.id for op in family.ROWS if near in (op.id, op.framework)][:1]


_NUMBERED: Final = ("", "v", "version", "opset")  # words that may precede the number of a version
