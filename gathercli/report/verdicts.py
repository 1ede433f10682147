"""What versions make of a call, for people and as JSON: `check` and `compare`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.arrays.check import outside_of
from gathercli.lessons.verdicts import legal, number_illegal
from gathercli.report.header import header, tensor_json
from gathercli.report.versions import hanging
from gathercli.spec.coordinates import cell
from gathercli.text import clean, counted, grouped, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from gathercli.lessons.groups import Comparison, Difference
    from gathercli.lessons.verdicts import CheckedCall, Illegal, Verdict
    from gathercli.spec.op import Op

    Warning_ = tuple[str, str]

ROOM: Final = 24
"""Columns below which the last word of a line goes to a line of its own."""

_STYLES: Final = (
    (r"(?m)^version .*", "bold"),
    (r"(?m)^(openvino|onnx)\.\S+", "bold"),
    (r"(?m)^warning:", "yellow"),
    (r"\S+ refuses\b", "red"),
    (r"\bzero-filled\b", "yellow"),
    (r"(?m)(?<=  )fine$", "green"),
)


def outcome(verdict: Verdict, plain: str) -> str:
    """Say in a line what a version makes of a call; `plain` where nothing is to be said."""
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
    return "; ".join(parts) or plain


def _reasons(verdicts: Iterable[Verdict], width: int | None) -> str:
    """Write once, below a table, why rules of shapes, types and attributes refuse."""
    said = {
        (each.error.rule, each.error.message.replace(each.op.full_name, "the version")): None
        for each in verdicts
        if each.error is not None and not each.refuses_index
    }
    return "".join(hanging(f"{rule}  ", clean(message), width) for rule, message in said)


def _columns(lines: Sequence[Sequence[str]], width: int | None) -> str:
    """Align words below a heading; the last of a line wraps below itself, or below the others."""
    widths = [max(map(len, column)) for column in list(zip(*lines, strict=True))[:-1]]
    text = ""
    for line in lines:
        start = "".join(word.ljust(n + 2) for word, n in zip(line, widths, strict=False))
        if width is not None and len(start) + min(len(line[-1]), ROOM) > width:
            text += start.rstrip() + "\n"
            start = "    "
        text += hanging(start, line[-1], width)
    return text


def _styled(text: str | Text) -> Text:
    from rich.text import Text

    styled = Text(text) if isinstance(text, str) else text
    for pattern, style in _STYLES:
        styled.highlight_regex(pattern, style)
    return styled


# check


def opening(found: CheckedCall, width: int | None) -> Text:
    """Write what was checked, and how many indices are illegal."""
    from rich.text import Text

    chosen, case = found.chosen, found.case
    if chosen.call is None or chosen.shape is None:
        what = f"{chosen.op.full_name}   data {case.data}   indices {case.indices}"
        return Text(clean(what) + "\n")
    text = header(chosen.call, chosen.shape, width)
    number, total = number_illegal(chosen.call, case), case.indices.array.size
    ends = legal(chosen.call)
    if number:
        share = f"{grouped(number)} of {counted(total, 'index', 'indices')}"
        text.append(f"\n{share} {outside_of(ends)}\n")
    else:
        within = f"all {grouped(total)} in {ends[0]}..{ends[1]}" if ends and total else "no indices"
        text.append(f"\n{within}\n")
    return text


class Listing(NamedTuple):
    """The widths of the columns of illegal indices."""

    at: int
    value: int

    @classmethod
    def of(cls, shape: Sequence[int], values: Iterable[int]) -> Listing:
        """Make room for coordinates in a shape, and for values, the extreme ones at least."""
        longest = cell([size - 1 for size in shape])
        return cls(len(longest), max(map(len, ("index", *map(str, values)))))

    def heading(self) -> str:
        """Write the names of the columns."""
        return f"{'at':<{self.at}}  {'index':>{self.value}}\n"

    def line(self, each: Illegal) -> str:
        """Write one index."""
        return f"{cell(each.at):<{self.at}}  {each.value:>{self.value}}  {each.does}\n"


def more(number: int) -> str:
    """Say how many indices are not listed."""
    return f"{grouped(number)} more; --all lists them\n" if number else ""


def closing(found: CheckedCall, said: Sequence[Warning_], width: int | None) -> Text:
    """Write the verdict of every version, and the warnings."""
    lines = [("version", "verdict")]
    lines += [(each.op.full_name, outcome(each, "fine")) for each in found.family]
    text = "\n" + _columns(lines, width)
    if reasons := _reasons(found.family, width):
        text += "\n" + reasons
    for at, (_, message) in enumerate(said):
        text += ("" if at else "\n") + hanging("warning: ", clean(message), width)
    return _styled(text)


def check_json(
    found: CheckedCall, said: Sequence[Warning_], shown: Iterable[Illegal]
) -> Iterator[str]:
    """Write everything as one object, the illegal indices one after the other."""
    chosen, case = found.chosen, found.case
    call = chosen.call
    fields = {
        "operator": chosen.op.full_name,
        "axis": None if call is None else call.axis,
        "batch_dims": None if call is None else call.batch_dims,
        "data": tensor_json(case.data.dtype, case.data.shape),
        "indices": tensor_json(case.indices.dtype, case.indices.shape),
        "output": None if chosen.shape is None else tensor_json(case.data.dtype, chosen.shape),
        "legal": None if call is None else legal(call),
        "total": case.indices.array.size,
    }
    yield _dumped(fields)[:-1]
    if call is None:
        yield ',"illegal":null'
    else:
        yield f',"illegal":{{"count":{number_illegal(call, case)},"shown":['
        for number, each in enumerate(shown):
            entry = f'"at":{cell(each.at)},"index":{each.value},"does":"{each.does}"'
            yield f"{',' if number else ''}{{{entry}}}"
        yield "]}"
    rest = {
        "verdicts": [verdict_json(each) for each in found.family],
        "warnings": [{"name": name, "message": message} for name, message in said],
    }
    yield "," + _dumped(rest)[1:] + "\n"


def verdict_json(each: Verdict) -> dict[str, Any]:
    """Return what a version makes of a call; of several treatments the first index."""
    fields = {"version": each.op.full_name, "verdict": "fine", "rule": None, "count": 0}
    if each.error is not None:
        where = each.error.where if each.refuses_index else None
        return fields | {
            "verdict": "refuses",
            "rule": each.error.rule,
            "count": each.error.count,
            "at": None if where is None else json.loads(where),
            "index": each.error.value if each.refuses_index else None,
            "message": each.error.message,
        }
    if not each.adjustments:
        return fields | {"at": None, "index": None, "message": None}
    first, *_ = each.adjustments
    return fields | {
        "verdict": "fills" if each.filled else "moves",
        "count": sum(adjustments.number for adjustments in each.adjustments),
        "at": json.loads(first.where),
        "index": first.value,
        "message": "; ".join(map(str, each.adjustments)),
    }


def _dumped(fields: object) -> str:
    return json.dumps(fields, separators=(",", ":"))


# compare


def compared_text(
    found: Comparison, asked: str, values: Sequence[tuple[str, str]], width: int | None
) -> Text:
    """Write a line for every row, then where the groups differ.

    Parameters
    ----------
    asked
        The inputs and attributes.
    values
        The two values of each difference; blank where shapes differ.
    """
    lines = [("version", "shape", "group", "outcome")]
    for each, letter in zip(found.verdicts, found.letters, strict=True):
        shape = "" if each.shape is None else str(each.shape)
        lines.append((each.op.full_name, shape, letter or "-", outcome(each, "values")))
    text = hanging("", clean(asked), width) + "\n" + _columns(lines, width)
    if reasons := _reasons(found.verdicts, width):
        text += "\n" + reasons
    parts = [_parts(*each) for each in zip(found.differences, values, strict=True)]
    text += "\n" + "".join(hanging(*part, width) for part in parts or [("", _agreement(found))])
    return _styled(text)


def _agreement(found: Comparison) -> str:
    """Say who agrees, where no two results differ."""
    accepting = [
        op for op, letter in zip(found.verdicts, found.letters, strict=True) if letter is not None
    ]
    if not accepting:
        return "every version refuses"
    if len(accepting) == len(found.letters):
        return "all give the same"
    if len(accepting) == 1:
        return f"only {accepting[0].op} gives values"
    return "all that accept give the same"


def _parts(each: Difference, values: tuple[str, str]) -> tuple[str, str]:
    start = f"{listed(each.groups, 'and')}  "
    if each.at is None:
        return start, "have the shapes {} and {}".format(*each.shapes)
    return start, f"first differ at {cell(each.at)}: {clean(values[0])} and {clean(values[1])}"


def compared_json(
    found: Comparison, asked: dict[str, Any], values: Sequence[tuple[str, str]]
) -> str:
    """Write rows, groups and differences as one object; `values` are JSON themselves."""
    rows = [
        {
            "version": each.op.full_name,
            "shape": None if each.shape is None else each.shape.to_json(),
            "outcome": "values" if each.error is None else "refused",
            "rule": each.error and each.error.rule,
            "message": outcome(each, "") or None if each.error is None else each.error.message,
            "filled": each.filled,
            "group": letter,
        }
        for each, letter in zip(found.verdicts, found.letters, strict=True)
    ]
    groups = {letter: _names(ops) for letter, ops in found.groups.items()}
    differences = (_difference_json(*pair) for pair in zip(found.differences, values, strict=True))
    head = _dumped(asked | {"rows": rows, "groups": groups})[:-1]
    return f'{head},"differences":[{",".join(differences)}]}}\n'


def _difference_json(each: Difference, values: tuple[str, str]) -> str:
    groups = _dumped({"groups": each.groups})[:-1]
    if each.at is None:
        return f'{groups},"shapes":{_dumped([shape.to_json() for shape in each.shapes])}}}'
    return f'{groups},"at":{_dumped(each.at)},"values":[{",".join(values)}]}}'


def _names(ops: Iterable[Op]) -> list[str]:
    return [op.full_name for op in ops]
