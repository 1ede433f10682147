"""The lookup of an operator by its command, and of a version by its name."""

from __future__ import annotations

from gathercli.errors import UsageError, VersionError
from gathercli.ops import FAMILIES, OPERATORS, gather
from gathercli.records import Final, NamedTuple, lru_cache, suppress
from gathercli.spec.op import FRAMEWORKS, Op
from gathercli.text import kind_of, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.spec.call import Family


class VersionMatch(NamedTuple):
    """The row of a version, with a note for the user if the choice needs one."""

    op: Op
    note: str | None = None
    version_from: str | None = None  # the environment variable that named it


def family_of(command: str) -> Family:
    """Return the operator of a command, or raise `UsageError`."""
    family = FAMILIES.get(str(command).replace("_", "-"))
    if family is None:
        from gathercli.frameworks.unknown import operator_error

        raise operator_error(command)
    return family


def row_of(op: str | Op, version: str | int | None) -> Op:
    """Return a row, or that of a version of a command, by default its first."""
    if isinstance(op, Op):
        return op
    family = family_of(op)
    if not isinstance(version, str | int | None):
        what, expected = f"is {kind_of(version)}", "the name of a version"
        raise UsageError(what, subject="version", value=str(version), expected=expected)
    return find(family.ROWS[0].id if version is None else version, family.COMMAND).op


@lru_cache(maxsize=64)
def find(version: str | int | None, command: str = gather.COMMAND) -> VersionMatch:
    """Return the row of `command` that a framework runs for a version, or raise `VersionError`.

    A version is a row (``openvino-8``, ``openvino.Gather-8``), an opset (``onnx-12`` runs
    Gather-11, ``opset 12`` is ONNX's), a framework (its newest row, or its first), a bare number
    that is a row of one framework only, or the operator of another framework. Upper or lower case;
    one of ``- : _ .`` or a blank may precede the number.

    >>> find("onnx-12").op.full_name, find(8).op.full_name, find("ONNX:13").op.full_name
    ('onnx.Gather-11', 'openvino.Gather-8', 'onnx.Gather-13')
    >>> find("torch").op.full_name, find("np.take").op.full_name
    ('torch.index_select', 'numpy.take')
    """
    family, text = family_of(command), "" if version is None else str(version)
    word = text.strip().lower()
    for op in family.ROWS:
        if word in (op.id, op.full_name.lower()):
            return VersionMatch(op)
    match = _match(word, family)
    if isinstance(match, VersionMatch):
        return match
    if match is None and (row := _of_framework(word, family.COMMAND)):
        return VersionMatch(row)
    from gathercli.frameworks.unknown import version_error

    raise version_error(text, family, match)


def _match(word: str, family: Family) -> VersionMatch | str | None:
    import re

    parts = re.fullmatch(_VERSION, word)
    if parts is None:
        return None
    framework = parts["framework"] or (_OPSET_FRAMEWORK if parts["opset"] else None)
    if framework is None:
        rows = [op for op in family.ROWS if op.version == int(parts["number"])]
        if len(rows) == 1:
            return VersionMatch(rows[0])
        return f"{listed((op.id for op in rows), 'and')} both have it" if rows else None
    rows = [op for op in family.ROWS if op.framework == framework]
    if not rows:
        return f"{framework} has no {family.ROWS[0].name}"
    newest = FRAMEWORKS[framework].newest_opset
    opset = int(parts["number"] or newest)
    older = [op for op in rows if op.version <= opset]
    if not older:
        first = min(op.version for op in rows)
        return f"{framework} has {rows[0].name} from opset {first} on"
    op = max(older, key=lambda op: op.version)
    note = (
        f"{framework} opset {opset} is newer than {newest}, the newest known here; "
        f"{op.full_name} was assumed"
    )
    return VersionMatch(op, note if opset > newest else None)


def _of_framework(word: str, command: str) -> Op | None:
    """Return the operator of a framework that a word names, or its first one for its name."""
    if not word[:1].isalpha():
        return None
    from gathercli.frameworks.equivalents import SHORT, framework_named

    head = word.partition(".")[0].partition("-")[0]
    of = framework_named(head)
    if of is None:
        return None
    rows = of.of(command)
    if head in (of.name, *of.short, *SHORT) and word == head:
        return rows[0].op if rows else None
    full = SHORT.get(head, of.name) + word[len(head) :]
    return next((row.op for row in rows if full in row.names), None)


_OPSET_FRAMEWORK: Final = "onnx"  # the framework of `opset 12`

# A framework, one of its opsets, or a number, in lower case.
_VERSION: Final = (
    rf"(?a)(?:(?P<framework>{'|'.join(FRAMEWORKS)})(?:[\s.:_-]?(?:opset[\s.:_-]?)?(?=\d))?"
    r"|(?P<opset>opset)[\s.:_-]?(?=\d)|(?=\d))(?P<number>[1-9]\d{0,5})?"
)


def find_for_any(version: str, command: str) -> VersionMatch:
    """Return the row of one operator for a version that is set for all of them.

    The row of another operator means the opset that introduced it, and the call of a framework
    without versions the framework. Raise as `find` does.

    >>> find_for_any("openvino.Gather-8", "gather-elements").op.full_name
    'openvino.GatherElements-6'
    >>> find_for_any("np.take", "gather-elements").op.full_name
    'numpy.take_along_axis'
    """
    try:
        return find(version, command)
    except VersionError:
        number = version.strip()
        frameworks = {op.framework for op in OPERATORS if str(op.version) == number}
        for other in FAMILIES if len(frameworks) <= 1 else ():
            with suppress(VersionError):
                op = find(version, other).op
                return find(op.id if op.version else op.framework, command)
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
