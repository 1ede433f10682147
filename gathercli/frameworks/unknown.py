"""The errors of operators and versions that do not exist, with what was probably meant."""

from __future__ import annotations

import re

from gathercli.errors import Hint, UsageError, VersionError
from gathercli.frameworks import FrameworkFile, FrameworkRow, every_row
from gathercli.frameworks.equivalents import call_like, find_equivalent, framework_named, not_here
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.records import Final
from gathercli.spec.op import FRAMEWORKS, Op
from gathercli.text import closest, listed, shell_word, short

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.spec.call import Family


def operator_error(name: str, what: str = "no operator") -> UsageError:
    """Return the error for an unknown operator, with a suggestion; `what` starts the message."""
    near = closest(name.lower(), FAMILIES)
    hint, instead = f"did you mean `{near}`?" if near else None, (near,) if near else ()
    error = foreign_name_error(name, what) or UsageError(
        f"{what} `{name[:40]}`", value=name, expected=listed(FAMILIES), hint=hint, instead=instead
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
            what = f"{what} `{name}`: it is {op.family} of version {op.id}"
            instead = op.family, "-V", op.id
            return UsageError(what, value=name, hint=_row_hint(op), instead=instead)
    each = find_equivalent(name)
    if each is None:
        return None
    equal = f"{each.op.family} -V {shell_word(each.op.id)}"
    what, instead = f"{what} `{short(name)}`: it is `{equal}`", (each.op.family, "-V", each.op.id)
    usage = UsageError(what, value=name, expected=equal, hint=_row_hint(each.op), instead=instead)
    usage.unsaid = True
    return usage


def _row_hint(op: Op) -> Hint:
    return Hint(f"`{op.family}` with {{version}}", version=op.id)


def version_error(text: str, family: Family, why: str | None = None) -> VersionError:
    """Return the error for an unknown version of an operator; `why` is a clause."""
    word = text[:40].strip().lower()
    other, elsewhere = _named_family(word), None
    of, call = framework_named(word), find_equivalent(word)
    is_foreign = bool(of and of.rows) or call is not None
    near = _likely_versions(re.sub(r"(?<=\d)\.0+$", "", word), family)
    near = near if word and not is_foreign else []
    expected = [op.id for op in family.ROWS]
    hint: str | None
    frameworks = {op.framework for op in family.ROWS}
    release = re.fullmatch(_RELEASE, word)
    if is_foreign:
        why, meant_call = _of_framework(word, family, of, call)
        if meant_call and meant_call.op.family != family.COMMAND:
            elsewhere = meant_call.op.family, meant_call.op.id
            meant = "did you mean {command} with {version}?"
            hint = Hint(meant, command=elsewhere[0], version=elsewhere[1])
        else:
            near = [meant_call.op.id] if meant_call else []
            hint = Hint("did you mean {version}?", version=near) if near else None
        if of and (own := of.of(family.COMMAND)):
            expected = [each.op.id for each in own]
    elif other not in (None, family):
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
        hint = Hint("did you mean {version}?", version=near) if near else _hint(word, family)
        if word[:1].isalpha() and not near and not word.startswith(tuple(FRAMEWORKS)):
            expected += dict.fromkeys(row.op.framework for row in every_row(family.COMMAND))
    what = f"no version `{text[:40]}` of" if text.strip() else "an empty version for"
    what, words = f"{what} {family.COMMAND}{f' ({why})' if why else ''}", listed(expected)
    error = VersionError(what, rule="version", value=text, expected=words, hint=hint)
    error.near, error.elsewhere = near, elsewhere
    return error


def _of_framework(
    word: str, family: Family, of: FrameworkFile | None, call: FrameworkRow | None
) -> tuple[str | None, FrameworkRow | None]:
    """Return why a word that begins as a framework is no version, and the call that was meant."""
    if call is not None:
        why = None if call.op.family == family.COMMAND else f"{call.name} is {call.op.family}"
        return why, call
    rows = of.of(family.COMMAND) if of else []
    if of is None or not rows:
        return f"{of.name if of else word} has no {family.COMMAND}", None
    head = re.match(r"\w*", word)
    rest = word[head.end() :] if head else ""
    if not re.search("[a-z]", rest):
        return f"the calls of {of.name} have no versions", rows[0]
    return None, call_like(word)


# A release of a framework; its numbers are not those of its opsets.
_RELEASE: Final = rf"(?a)({'|'.join(FRAMEWORKS)})[\s:_-]?v?(\d+)\.(\d+)[.\w]*"

_FIRST_ONNX_RELEASE: Final = 2
_OPSETS_BEFORE_ONNX: Final = 5  # ONNX 1.2 has opset 7, and every minor release since then one more


def _release_hint(framework: str, major: int, minor: int) -> str:
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


def _hint(word: str, family: Family) -> Hint | None:
    """Return a hint for a version without a guess."""
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
    others = dict.fromkeys(row.op.framework for row in every_row(family.COMMAND))
    near = closest(word, [*ids, *FRAMEWORKS, *others])
    if near in others:
        return [near]
    return [op.id for op in family.ROWS if near in (op.id, op.framework)][:1]


_NUMBERED: Final = ("", "v", "version", "opset")  # words that may precede the number of a version
