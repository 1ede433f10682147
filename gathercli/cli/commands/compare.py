"""`compare`: the outputs of every version for the same inputs, by agreement."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.call import CallOptions
from gathercli.cli.commands.ops import exactly, named
from gathercli.cli.declarations import OPERATOR, Answer, Options, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import TEXT_FORMAT, THREADS, OperatorOptions
from gathercli.cli.slice_options import Addition, PictureOptions, RuntimeOptions
from gathercli.errors import UsageError, VersionError
from gathercli.frameworks import every_row
from gathercli.frameworks.equivalents import framework_named
from gathercli.frameworks.versions import VersionMatch
from gathercli.ops import FAMILIES, accepted_families
from gathercli.report.header import TensorType
from gathercli.report.terminal import PICTURE_WIDTH, Report, Styled
from gathercli.report.verdicts import ComparisonText, outcome
from gathercli.spec.call import CallContext
from gathercli.text import clean, closest, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.compute.compare import Comparison, Difference
    from gathercli.compute.verdicts import Case, Verdict
    from gathercli.spec.op import Op

# The most elements of an output to format: more than a line has room for.
MOST_ELEMENTS: Final = 512
_POLICIES: Final = ("negative", "out_of_range")

# The versions with the same inputs.
COMPARED: Final = tuple(op for family in accepted_families("compare") for op in family.ROWS)


def every_op() -> list[Op]:
    """Return the versions to compare, then those of other frameworks by family."""
    others = (row for each in accepted_families("compare") for row in every_row(each.COMMAND))
    return [*COMPARED, *(row.op for row in others)]


class ComparedOperators(OperatorOptions):
    """Every operator, or those of a list in place of a version."""

    version: str | None = option(OPERATOR, "--ops", metavar="LIST")
    frameworks: str | None = option(
        OPERATOR,
        "--of",
        metavar="LIST",
        known=lambda: dict.fromkeys(op.framework for op in every_op()),
    )

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group itself, as its versions are a list."""
        del command
        return cls

    @cached_property
    def chosen(self) -> VersionMatch:
        """The first version, which has the inputs of all; no environment variable names one."""
        return VersionMatch(COMPARED[0])

    def context(self) -> CallContext:
        """Return a context that names no operator."""
        return CallContext(None)


class ComparedCall(CallOptions):
    """A call of every version."""

    operator: ComparedOperators


def run(
    call: ComparedCall,
    running: RuntimeOptions,
    pictures: PictureOptions,
    messages: Messages,
    fmt: str = TEXT_FORMAT,
    threads: int | None = THREADS,
) -> Answer:
    """Call every version, and group those with equal output; then call the runtimes."""
    from gathercli.compute.compare import compared

    running.chosen()
    operators = call.operator
    rows, by_name = rows_of(operators.version, operators.frameworks, messages.notes)
    opened = call.open()
    with pictures.opened() as saved, opened:
        case = opened.case(threads)
        comparison = compared(rows, case, call.memory.limits.result, by_name)
        is_named = operators.version is not None
        added = running.compared(comparison, case, operators.attrs.typed, named=is_named)
        shows = bool(saved.files) or fmt != "json"
        settings = operators.attrs.typed | {name: getattr(operators, name) for name in _POLICIES}
        report = ComparisonReport.of(comparison, case, settings, added, shows=shows)
        if saved.files:
            report.draw(saved.files, pictures)
        opened.inputs.recheck()
        saved.commit()
    notes = () if fmt == "json" else added.notes
    return Answer.of(report, notes=notes, remarks=saved.remarks, status=added.status)


def rows_of(text: str | None, frameworks: str | None, notes: list[str]) -> tuple[list[Op], set[Op]]:
    """Return the rows of the frameworks and names in two lists, in the order of all rows.

    With them, those that are named by themselves or by their command.
    """
    rows = _of(frameworks)
    if text is None:
        return rows, set()
    chosen: set[Op] = set()
    by_name: set[Op] = set()
    for name in map(str.strip, re.split(r",(?![^(\[]*[)\]])", text)):  # but not at that of x[i, j]
        if not name:
            what, hint = f"is `{text[:40]}`", "`--ops gather,onnx-13`"
            of: Any = {"rule": "version", "subject": "--ops", "value": text}
            raise VersionError(what, expected="names with commas between", hint=hint, **of)
        if name in FAMILIES:
            by_name |= {*FAMILIES[name].ROWS, *(op for op in rows if op.family == name)}
            continue
        matches = exactly(name, named(name, "--ops "))
        ops = {each.op for each in matches}
        if len(ops) == 1:
            by_name |= ops
        chosen |= ops & set(rows) or ops
        notes += [each.note for each in matches if each.note]
    chosen |= by_name
    families = {op.family for op in COMPARED}
    other = next((op for op in chosen if op.family not in families), None)
    if other is not None:
        names = listed((each.name.upper() for each in other.inputs), "and")
        what = f"names {other}, which takes {names}"
        expected = "versions of DATA and INDICES"
        raise VersionError(what, rule="version", subject="--ops", value=text, expected=expected)
    if not chosen.intersection(rows):
        what = f"is `{clean(frameworks or '')}`, and `--ops` names nothing of theirs"
        expected = listed(sorted({op.framework for op in chosen}), "or")
        raise UsageError(what, subject="--of", value=frameworks, expected=expected)
    return [op for op in rows if op in chosen], by_name


def _of(text: str | None) -> list[Op]:
    """Return the rows of the frameworks in a list, or of all."""
    rows = every_op()
    if text is None:
        return rows
    known = dict.fromkeys(op.framework for op in rows)
    names = []
    for name in map(str.strip, text.split(",")):
        of = framework_named(name)
        if of is None or of.name not in known or name.lower() not in (of.name, *of.short):
            near = of.name if of and of.name in known else closest(name, known)
            what = f"names `{clean(name[:40])}`"
            hint = f"did you mean `{near}`?" if near else None
            raise UsageError(what, subject="--of", value=name, expected=listed(known), hint=hint)
        names.append(of.name)
    return [op for op in rows if op.framework in names]


@dataclass(frozen=True)
class VersionRow:
    """What a version gives for the inputs: values, or the rule that refuses."""

    version: str
    shape: list[int | str] | None
    outcome: str  # values, refused
    rule: str | None
    message: str | None
    filled: int
    group: str | None  # the letter of those with equal values

    @classmethod
    def of(cls, each: Verdict, letter: str | None) -> VersionRow:
        """Describe the verdict of a version, in the group of a letter."""
        name, error = each.op.full_name, each.error
        shape = None if each.shape is None else each.shape.to_json()
        if error is not None:
            return cls(name, shape, "refused", error.rule, error.message, each.filled, letter)
        return cls(name, shape, "values", None, outcome(each, "") or None, each.filled, letter)


@dataclass(frozen=True)
class GroupDifference:
    """The first difference of two groups: their shapes, or a cell with both of its values."""

    groups: tuple[str, str]
    shapes: tuple[list[int | str], list[int | str]] | None = None
    at: tuple[int, ...] | None = None
    values: tuple[Any, Any] | None = None

    @classmethod
    def of(cls, each: Difference) -> GroupDifference:
        """Describe a difference."""
        if each.at is None:
            one, other = each.shapes
            return cls(each.groups, shapes=(one.to_json(), other.to_json()))
        one, other = map(json.loads, _both(each, "quoted"))
        return cls(each.groups, at=each.at, values=(one, other))

    def to_json(self) -> dict[str, Any]:
        """Return the fields that say it."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, repr=False, eq=False)
class ComparisonReport(Report):
    """What every version gives for the same inputs, by agreement."""

    spread = "settings", "more"

    data: TensorType
    indices: TensorType
    settings: dict[str, Any]  # the attributes and policies, as they are passed
    rows: tuple[VersionRow, ...]
    groups: dict[str, list[str]]
    differences: tuple[GroupDifference, ...]
    more: dict[str, Any]  # what runtimes give
    _said: ComparisonText
    _added: Addition

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        case: Case,
        settings: Mapping[str, Any],
        added: Addition = Addition(),  # noqa: B008  (a tuple)
        *,
        shows: bool = True,
    ) -> ComparisonReport:
        """Report on a comparison; the text has elements of the outputs if it `shows` them."""
        return cls(
            TensorType.of(case.data),
            TensorType.of(case.indices),
            {**settings},
            tuple(map(VersionRow.of, comparison.verdicts, comparison.letters)),
            {letter: [op.full_name for op in ops] for letter, ops in comparison.groups.items()},
            tuple(map(GroupDifference.of, comparison.differences)),
            {**added.fields},
            _said(comparison, settings, case, shows=shows),
            added,
        )

    def styled(self, width: int | None) -> Styled:
        """Write a line for each version, the groups, and where they first differ."""
        shown, added = self._said.text(width), self._added.text
        return shown if added is None else shown.append_text(added(width))

    def draw(self, files: Sequence[Any], pictures: PictureOptions) -> None:
        """Write the picture into open files."""
        said = self._said
        tables = [each for each in (said.table(), self._added.rows) if each]
        pictures.draw(
            files,
            " · ".join(said.inputs.split("   ")),
            [(each[0], each[1:]) for each in tables],
            said.lines(PICTURE_WIDTH),
            partial(self.styled, PICTURE_WIDTH),
        )


def _said(
    comparison: Comparison, settings: Mapping[str, Any], case: Case, *, shows: bool
) -> ComparisonText:
    """Format the inputs, the attributes, and if `shows` the elements of the text."""
    from gathercli.compute.compare import first_elements
    from gathercli.io.formats.encode import json_texts

    call = f"data {case.data}   indices {case.indices}"
    used = {attr.name for verdict in comparison.verdicts for attr in verdict.op.attrs}
    for name, value in settings.items():
        if name in _POLICIES:
            call += f"   --{name.replace('_', '-')} {value}" * (value != "spec")
        elif name in used or value is not None:
            call += f"   {f'default {name}' if value is None else f'{name} {value}'}"
    if not shows:
        return ComparisonText(comparison, call)
    groups = comparison.group_calls
    outputs = [json_texts(first_elements(group, case, MOST_ELEMENTS)) for group in groups]
    values = [_both(each, "bare") for each in comparison.differences]
    return ComparisonText(comparison, call, values, outputs)


def _both(each: Difference, nonfinite: str) -> tuple[str, str]:
    """Format both values of a difference with full precision; blank if the shapes differ."""
    from gathercli.io.formats.encode import json_text

    if each.values is None:
        return "", ""
    one, other = (json_text(value, nonfinite) for value in each.values)
    return one, other
