"""Format verdicts of versions on a call, as text and as JSON, for `check` and `compare`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain, islice, starmap
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from gathercli.compute.verdicts import illegal, legal_ends, number_illegal
from gathercli.errors import GatherError
from gathercli.report.header import TensorType, header
from gathercli.report.terminal import ERROR_STYLE, PICTURE_WIDTH, Report, highlighted
from gathercli.report.versions import columns, hanging
from gathercli.slices import given
from gathercli.spec.adjustments import outside_of
from gathercli.spec.shapes import cell, product
from gathercli.text import clean, counted, grouped, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from gathercli.compute.compare import Comparison
    from gathercli.compute.verdicts import Case, CheckedCall, Illegal, Verdict
    from gathercli.spec.call import Call

_STYLES: Final = (
    (r"(?m)^version .*", "bold"),
    (r"(?m)^(openvino|onnx)\.\S+", "bold"),
    (r"(?m)^warning:", "yellow"),
    (r"\S+ refuses\b", ERROR_STYLE),
    (r"\bzero-filled\b", "yellow"),
    (r"(?m)(?<=  )fine$", "green"),
)


def outcome(verdict: Verdict, plain: str) -> str:
    """Format a verdict in a line; `plain` if every index is legal."""
    error = verdict.error
    if error is not None and verdict.refuses_index and error.count:
        first = f"first {error.value} at {error.where}"
        return f"{error.rule} refuses {grouped(error.count)}, {first}"
    if error is not None:
        return f"{error.rule} refuses"
    parts = (
        f"{grouped(each.number)} {each.how}, first {each.value} at {each.where}"
        for each in verdict.adjustments
    )
    cut = "" if verdict.cut is None else f", as {verdict.cut}"
    return ("; ".join(parts) or plain) + cut


def _reasons_of(
    verdicts: Iterable[Verdict], version: str = "the version"
) -> dict[tuple[str, str], None]:
    """Return the distinct errors of the rules of shapes, types and attributes."""
    return {
        (each.error.rule, GatherError.of(each.error, version=version).message): None
        for each in verdicts
        if each.error is not None and not each.refuses_index
    }


def _reason_lines(reasons: Iterable[tuple[str, str]], width: int | None) -> str:
    return "".join(hanging(f"{rule}  ", clean(message), width) for rule, message in reasons)


# check

MOST_SHOWN_INDICES: Final = 20  # the number of illegal indices in a list without `--all`


def headline(call: Call, case: Case) -> str:
    """Say how many indices are illegal."""
    number, total = number_illegal(call, case), case.total(call.op)
    ends = legal_ends(call)
    if number:
        share = f"{grouped(number)} of {counted(total, 'index', 'indices')}"
        return f"{share} {' or '.join(dict.fromkeys(map(outside_of, ends)))}"
    ranges = " and ".join(dict.fromkeys(f"{low}..{high}" for low, high in filter(None, ends)))
    if not ranges or not total:
        return "no indices"
    return f"all {grouped(total)} in {ranges}" if total > 1 else f"the index is in {ranges}"


class Listing(NamedTuple):
    """The widths of the columns of a list of illegal indices; `legal` is 0 for one axis."""

    at: int
    value: int
    legal: int = 0

    @classmethod
    def of(
        cls, shape: Sequence[int], values: Iterable[float], ends: Sequence[tuple[int, int] | None]
    ) -> Listing:
        """Return the widths for coordinates in a shape, values and legal ranges."""
        last = cell([size - 1 for size in shape])
        ranges = ["legal", *map(_range, ends)] if len(ends) > 1 else [""]
        widest = max(map(len, ("index", *map(str, values))))
        return cls(len(last), widest, max(map(len, ranges)))

    def heading(self) -> str:
        """Format the headings of the columns."""
        axis = f"  axis  {'legal':>{self.legal}}" if self.legal else ""
        return f"{'at':<{self.at}}  {'index':>{self.value}}{axis}\n"

    def line(self, each: Illegal) -> str:
        """Format one index."""
        axis = ""
        if self.legal and each.along:
            axis = f"  {each.along.axis:>4}  {_range(each.legal):>{self.legal}}"
        return f"{cell(each.at):<{self.at}}  {each.value:>{self.value}}{axis}  {each.does}\n"


def _range(ends: tuple[int, int] | None) -> str:
    return f"{ends[0]}..{ends[1]}" if ends else "none"


def verdict_lines(checked: CheckedCall) -> list[tuple[str, str]]:
    """Return the name and the verdict of every version of the family."""
    return [(each.op.full_name, outcome(each, "fine")) for each in checked.family]


@dataclass(frozen=True)
class IllegalIndices:
    """How many indices are illegal, and the first of them or all."""

    count: int
    shown: tuple[Illegal, ...]


@dataclass(frozen=True)
class VersionVerdict:
    """What a version says of a call, with the first index that it refuses, fills or moves."""

    version: str
    verdict: str  # fine, refuses, fills, moves
    rule: str | None = None  # that refuses
    count: int | None = 0  # of such indices; None for a rule of shapes, types or attributes
    at: tuple[int, ...] | None = None
    index: float | None = None
    message: str | None = None


@dataclass(frozen=True)
class CheckWarning:
    """A likely mistake."""

    name: str
    message: str


@dataclass(frozen=True, repr=False, eq=False)
class CheckReport(Report):
    """What a version says of the indices of a call, and the verdict of every version.

    `legal` has the ends of the legal indices, a pair for each axis if there are several. `status`
    is 0 if the version takes all indices, and fills for none.
    """

    spread = "attributes", "inputs"

    operator: str
    attributes: dict[str, int | None]
    inputs: dict[str, TensorType]
    output: TensorType | None
    legal: tuple[int, int] | tuple[tuple[int, int] | None, ...] | None
    total: int
    illegal: IllegalIndices | None
    verdicts: tuple[VersionVerdict, ...]
    warnings: tuple[CheckWarning, ...]
    _checked: CheckedCall
    _advice: str  # how to see more indices

    @classmethod
    def of(
        cls, checked: CheckedCall, most: int | None = 0, advice: str = "--all lists them"
    ) -> CheckReport:
        """Report on a call, with at most so many illegal indices; None for all."""
        chosen, case, warn = checked.chosen, checked.case, given("advice", "warnings")
        call, op, found = chosen.call, chosen.op, None
        ends = tuple(legal_ends(call)) if call else ()
        names = ["axis", "batch_dims"] if op.attr("axis") else [each.name for each in op.attrs]
        if call is not None:
            first = tuple(islice(illegal(call, case), most))
            found = IllegalIndices(number_illegal(call, case), first)
        out = None if chosen.shape is None else tuple(chosen.shape.to_json())
        return cls(
            op.full_name,
            {name: getattr(call, name, None) for name in names},
            {name: TensorType.of(each) for name, each in case.named(op).items()},
            None if out is None else TensorType(out, case.data.dtype.oip),
            ends[0] if len(ends) == 1 else ends if call else None,
            case.total(op),
            found,
            tuple(map(_version_verdict, checked.family)),
            tuple(starmap(CheckWarning, warn(checked) if warn else ())),
            checked,
            advice,
        )

    @property
    def status(self) -> int:
        """The exit status of the command: whether the version refuses or fills for an index."""
        own = next(each for each in self.verdicts if each.version == self.operator)
        return int(own.verdict in {"refuses", "fills"})

    def styled(self, width: int | None) -> Text:
        """Write the call, the first illegal indices, and what every version says."""
        lines = self.lines(self.indices(MOST_SHOWN_INDICES))
        text = self.opening(width).append("".join(lines))
        return text.append_text(self.closing(width))

    def opening(self, width: int | None) -> Text:
        """Format the call and the number of illegal indices."""
        from rich.text import Text

        chosen, case = self._checked.chosen, self._checked.case
        if chosen.call is None or chosen.shape is None:
            named = case.named(chosen.op).items()
            words = (chosen.op.full_name, *(f"{name} {tensor}" for name, tensor in named))
            return Text(clean("   ".join(words)) + "\n")
        text = header(chosen.call, chosen.shape, width)
        return text.append(f"\n{headline(chosen.call, case)}\n")

    def indices(self, most: int | None) -> Iterator[Illegal]:
        """Yield the illegal indices, at most so many, in constant memory."""
        call = self._checked.chosen.call
        return iter(()) if call is None else islice(illegal(call, self._checked.case), most)

    def lines(self, indices: Iterator[Illegal], *, every: bool = False) -> Iterator[str]:
        """Yield the lines of a list of illegal indices, which are `every` one or the first."""
        call, case = self._checked.chosen.call, self._checked.case
        if call is None or self.illegal is None or not self.illegal.count:
            return
        first = list(islice(indices, MOST_SHOWN_INDICES))
        extremes: tuple[float, ...] = case.census[-2:] if every else ()
        values = [*extremes, *(each.value for each in first)]
        listing = Listing.of(case.indices.shape, values, legal_ends(call))
        yield listing.heading()
        yield from map(listing.line, chain(first, indices))
        if not every and (number := self.illegal.count - len(first)):
            yield f"{grouped(number)} more; {self._advice}\n"

    def closing(self, width: int | None) -> Text:
        """Format the verdict of every version, and the warnings."""
        checked, chosen = self._checked, self._checked.chosen
        lines = [("version", "verdict"), *verdict_lines(checked)]
        messages = (hanging("warning: ", clean(each.message), width) for each in self.warnings)
        raised = {} if chosen.refuses_index else _reasons_of([chosen])  # printed as the error
        reasons = [reason for reason in _reasons_of(checked.family) if reason not in raised]
        parts = (columns(lines, width), _reason_lines(reasons, width), "".join(messages))
        return highlighted("".join(f"\n{part}" for part in parts if part), _STYLES)

    def json_parts(self, indices: Iterable[Illegal]) -> Iterator[str]:
        """Yield one object in parts, the illegal indices one by one."""
        start, mark, end = _dumped(self.to_json()).partition('"shown":[')
        yield start + mark
        for number, each in enumerate(indices):
            yield ("," if number else "") + _dumped(each.to_json())
        yield f"{end}\n"


def _version_verdict(each: Verdict) -> VersionVerdict:
    """Return a verdict with the first index of the first adjustment."""
    name, error = each.op.full_name, each.error
    if error is not None:
        refusal = name, "refuses", error.rule, error.count
        if not each.refuses_index:
            return VersionVerdict(*refusal, message=error.message)
        at, index = tuple(json.loads(error.where or "[]")), cast("float", error.value)
        return VersionVerdict(*refusal, at, index, error.message)
    if not each.adjustments:
        return VersionVerdict(name, "fine")
    first, *_ = each.adjustments
    return VersionVerdict(
        name,
        "fills" if each.filled else "moves",
        count=sum(adjustment.number for adjustment in each.adjustments),
        at=tuple(json.loads(first.where)),
        index=first.value,
        message="; ".join(map(str, each.adjustments)),
    )


def _dumped(fields: object) -> str:
    return json.dumps(fields, separators=(",", ":"))


# compare


class ComparisonText(NamedTuple):
    """What is said of a comparison, for a terminal and a picture."""

    comparison: Comparison
    inputs: str  # and the attributes of the call
    values: Sequence[tuple[str, str]] = ()  # the two of each difference; blank if the shapes differ
    elements: Sequence[Sequence[str]] = ()  # the first of the output of each group

    def text(self, width: int | None) -> Text:
        """Format all of it: a line for each version, and for each answer of other frameworks."""
        reasons, others = self._reasons(), self._others()
        parts = (
            hanging("", clean(self.inputs), width) + "\n" + columns(self.table(), width),
            *[_reason_lines(reasons, width)] * bool(reasons),
            *["".join(hanging(*each, width) for each in others)] * bool(others),
            "".join(hanging(*each, width) for each in self._results())
            + "".join(f"{line}\n" for line in self._outputs(width)),
        )
        return highlighted("\n".join(parts), _STYLES)

    def lines(self, width: int) -> list[str]:
        """Write what a picture has below its tables."""
        reasons = [": ".join(each) for each in self._reasons()]
        words = map("".join, [*self._others(), *self._results()])
        return [*reasons, *words, *self._outputs(width)]

    def table(self) -> list[tuple[str, ...]]:
        """Return the words of each version, or of what there is in its place, below headings."""
        lines: list[tuple[str, ...]] = [("version", "shape", "group", "outcome")]
        for each, letter in self._rows():
            shape = "" if each.shape is None else str(each.shape)
            lines.append((each.op.full_name, shape, letter or "-", outcome(each, "values")))
        return lines

    def _rows(self, *, others: bool = False) -> list[tuple[Verdict, str | None]]:
        """Return what the table has, or only the groups of other frameworks, with the letters."""
        every = [*zip(self.comparison.verdicts, self.comparison.letters, strict=True)]
        versions = [each for each in every if not each[0].op.text]
        if others:
            return [each for each in every if each[0].op.text] if versions else []
        return versions or every

    def _others(self) -> list[tuple[str, str]]:
        """Return the answers of other frameworks by group, and whose they are."""
        names: dict[tuple[str, str], list[str]] = {}
        for each, letter in self._rows(others=True):
            answer = outcome(each, "values")
            for _, reason in _reasons_of([each], "it"):
                answer += f": {reason}"
            names.setdefault((letter or "", clean(answer)), []).append(each.op.full_name)
        lines = [("group  ", "other frameworks")] if names else []
        for letter, answer in sorted(names, key=lambda key: (not key[0], key[0])):
            lines.append((f"{letter or '-':<7}", answer))
            lines.append((" " * 9, ", ".join(names[letter, answer])))
        return lines

    def _reasons(self) -> list[tuple[str, str]]:
        """Return the rules that refuse versions, or leave out an operator without axis, and why."""
        reasons = [*_reasons_of(each for each, _ in self._rows())]
        for each in self.comparison.left_out:
            if each.error is not None and each.error.rule == "axis-unsupported":
                reason = GatherError.of(each.error, version=each.op.name).statement
                reasons.append((each.error.rule, f"{reason}: its versions are left out"))
        return reasons

    def _results(self) -> list[tuple[str, str]]:
        """Return the first difference of each pair of groups, or that versions agree.

        A group of other frameworks alone is compared with the first one.
        """
        results = []
        letters = {"A", *(letter for _, letter in self._rows())}
        for each, (one, other) in zip(self.comparison.differences, self.values, strict=True):
            if each.groups[0] != "A" and not letters.issuperset(each.groups):
                continue
            text = "have the shapes {} and {}".format(*each.shapes)
            if each.at is not None:
                text = f"first differ at {cell(each.at)}: {clean(one)} and {clean(other)}"
            results.append((f"{listed(each.groups, 'and')}  ", text))
        return results or [("", _agreement(self.comparison))]

    def _outputs(self, width: int | None) -> list[str]:
        """Write the beginning of the output of each group, cut to the width: ``A = [4,0,0]``."""
        from rich.text import Text

        lines = []
        for group, elements in zip(self.comparison.group_calls, self.elements, strict=True):
            line = Text(f"{group.letter} = {_beginning(elements, group.bound.shape)}")
            line.truncate(width or PICTURE_WIDTH, overflow="ellipsis")
            lines.append(line.plain)
        return lines


def _beginning(elements: Sequence[str], shape: Sequence[int]) -> str:
    """Write the first elements of a tensor as nested lists, open at the end if there are more."""
    if not product(shape):
        return "no elements"
    sizes = [product(shape[d:]) for d in range(len(shape))]
    parts = []
    for n, element in enumerate(elements):
        opened = sum(n % size == 0 for size in sizes)
        closed = sum((n + 1) % size == 0 for size in sizes)
        parts.append(f"{'[' * opened}{clean(short(element))}{']' * closed}")
    return ",".join([*parts, "…"] if len(elements) < product(shape) else parts)


def _agreement(comparison: Comparison) -> str:
    """Describe which versions agree, if no two results differ."""
    ops = [op for group in comparison.groups.values() for op in group]
    if not ops:
        return "every version refuses"
    if len(ops) == len(comparison.letters):
        return "all give the same"
    if len(ops) == 1:
        return f"only {ops[0]} gives values"
    return "all that accept give the same"
