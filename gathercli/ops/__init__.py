"""The operators: every version known, and how a version's name finds its row.

To add a version, add its row to the file of its family and to the file's ``ROWS``; to add an
operator, add a file like `gather.py` and name it in `_FAMILIES` below.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.core.text import closest, listed
from gathercli.errors import Hint, UsageError, VersionError
from gathercli.ops import gather, gather_elements

if TYPE_CHECKING:
    from gathercli.core.spec import Family, Op

_FAMILIES: tuple[Family, ...] = (gather, gather_elements)
FAMILIES: Final[dict[str, Family]] = {family.COMMAND: family for family in _FAMILIES}
"""The operators by the name of their command."""

OPERATORS: Final[tuple[Op, ...]] = tuple(op for family in _FAMILIES for op in family.ROWS)
"""Every operator version, newest first in each framework."""

NEWEST_OPSET: Final = {"openvino": 16, "onnx": 28}
"""The newest opset looked at (OpenVINO 2026.4, ONNX 1.23); later ones may change an operator."""


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
        near = closest(command, FAMILIES)
        raise UsageError(
            f"no operator `{command}`: expected {listed(FAMILIES)}",
            rule="usage",
            value=command,
            hint=f"did you mean `{near}`?" if near else None,
        )
    return family


@lru_cache(maxsize=64)
def find(version: str | int, command: str = gather.COMMAND) -> Found:
    """Find the row that a framework runs under a version.

    Parameters
    ----------
    version
        A row (``openvino-8``, ``openvino.Gather-8``), an opset (``onnx-12`` runs Gather-11), or
        a bare number that is a row of one framework only.
    command
        The operator: ``gather`` or ``gather-elements``.

    Raises
    ------
    VersionError
        ``version``: nothing answers to it.

    Examples
    --------
    >>> find("onnx-12").op.full_name, find(8).op.full_name
    ('onnx.Gather-11', 'openvino.Gather-8')
    """
    family, text = family_of(command), str(version)
    if found := re.fullmatch(r"([a-z]+)-([1-9]\d{0,5})", text, re.ASCII):
        framework, opset = found[1], int(found[2])
        rows = [op for op in family.ROWS if op.framework == framework]
        older = [op for op in rows if op.version <= opset]
        if older:
            op = max(older, key=lambda op: op.version)
            newest = max(NEWEST_OPSET[framework], op.version)
            return Found(
                op,
                f"{framework} opset {opset} is newer than {newest}, the newest known here; "
                f"{op.full_name} was assumed"
                if opset > newest
                else None,
            )
        if rows:
            first = min(op.version for op in rows)
            raise _refused(text, family, f"{framework} has {rows[0].name} from opset {first} on")
    elif found := re.fullmatch(r"[1-9]\d{0,5}", text, re.ASCII):
        rows = [op for op in family.ROWS if op.version == int(text)]
        if len(rows) == 1:
            return Found(rows[0])
        if rows:
            raise _refused(text, family, f"{listed((op.id for op in rows), 'and')} both have it")
    else:
        for op in OPERATORS:
            if op.full_name == text and op.family == family.COMMAND:
                return Found(op)
            if op.full_name == text:
                raise _refused(text, family, f"it is a version of `gathercli {op.family}`")
    raise _refused(text, family)


def _meant(text: str, family: Family) -> str | None:
    """Guess the version that was meant: ``Gather-8``, ``v8``, ``onnx.Gather-12``, a slip."""
    if named := re.fullmatch(r"(openvino|onnx)\.\w+-(\d{1,6})", text):
        return f"{named[1]}-{named[2]}"  # the opset, which runs an older row
    if number := re.search(r"\d{1,6}$", text):
        for op in family.ROWS:
            if op.version == int(number[0]) and not re.match(r"[a-z]+-", text):
                return op.id
    near = closest(text.lower(), [*(op.id for op in family.ROWS), *NEWEST_OPSET])
    return next((op.id for op in family.ROWS if op.framework == near), near)  # of one, the newest


def _refused(text: str, family: Family, why: str | None = None) -> VersionError:
    ids = [op.id for op in family.ROWS]
    near = _meant(text, family)
    return VersionError(
        f"no version `{text[:40]}` of {family.COMMAND}{f' ({why})' if why else ''}: "
        f"expected {listed(ids)}",
        rule="version",
        value=text,
        expected=listed(ids),
        hint=Hint("did you mean {version}?", version=near) if near and not why else None,
    )
