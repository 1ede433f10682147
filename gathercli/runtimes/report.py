"""Format verdicts on runtimes, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.runtimes import Absence, Addition, absence_notes
from gathercli.io.formats.encode import TextOptions, plain_json
from gathercli.report.verdicts import columns
from gathercli.runtimes.verdict import RuntimeOutcome
from gathercli.spec.coordinates import cell
from gathercli.spec.shapes import Shape
from gathercli.text import clean, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.text import Text

    from gathercli.compute.tensor import Tensor
    from gathercli.runtimes.verdict import RuntimeVerdict

FEW: Final = 8
"""The most elements of a result that is shown whole."""


HEADINGS: Final = ("runtime", "call", "shape", "group", "outcome")

_STYLES: Final = (
    (r"(?m)^runtime .*", "bold"),
    (r"(?<=  )agrees\b", "green"),
    (r"(?<=  )(differs|gives)\b", "yellow"),
    (r"(?<=  )(dies|does not take the call|refuses|unsteady)\b", "red"),
)


def addition(
    verdicts: Sequence[RuntimeVerdict],
    absences: Sequence[Absence],
    idle: Iterable[str],
    *,
    allow_absent: bool,
) -> Addition:
    """Return what calls in runtimes add to an answer; `idle` runtimes had no call."""
    rows = [HEADINGS, *map(runtime_words, verdicts)]
    rows += [(each.runtime, "-", "", "-", each.why) for each in absences]
    rows += [(clean(name), "-", "", "-", "has no call of these versions") for name in idle]

    def text(width: int | None) -> Text:
        from rich.text import Text

        text = Text("\n" + columns(rows, width))
        for pattern, style in _STYLES:
            text.highlight_regex(pattern, style)
        return text

    fields = [*map(runtime_json, verdicts), *map(Absence.json, absences)]
    notes = tuple(absence_notes(absences, allowed=allow_absent))
    return Addition(
        {"runtimes": fields}, rows, text, notes, int(bool(absences) and not allow_absent)
    )


def runtime_words(each: RuntimeVerdict) -> tuple[str, ...]:
    """Return the words of a call in a runtime in a table with `HEADINGS`."""
    runtime = " ".join(filter(None, (each.call.runtime, each.version)))
    shape = "" if each.result is None else str(Shape(each.result.shape))
    words = (runtime, each.call.text, shape, each.letter or _no_group(each), outcome_text(each))
    return tuple(map(clean, words))


def _no_group(each: RuntimeVerdict) -> str:
    """Return the word for no group: `none` for values, which no version gives, else a dash."""
    return "-" if each.result is None else "none"


def outcome_text(each: RuntimeVerdict, reference: str | None = None) -> str:
    """Describe what a runtime did, in a line.

    Parameters
    ----------
    reference
        The name of the version, if the call was compared with it alone; else with every version.
    """
    what = _what(each, reference)
    if each.dtype is not None and each.result is not None:
        what += f", as {each.result.dtype} in place of {each.dtype}"
    return what


_TEXTS: Final = {
    RuntimeOutcome.HANGS: "hangs: {message}",
    RuntimeOutcome.DIES: "dies {message}",
    RuntimeOutcome.UNSTEADY: "unsteady: three runs differ",
    RuntimeOutcome.REFUSES: "refuses: {message}",
    RuntimeOutcome.UNSUPPORTED: "does not take the call: {message}",
    RuntimeOutcome.VALUES: "gives {result}, where {owner} refuses",
}
"""The outcomes without a group."""


def _what(each: RuntimeVerdict, reference: str | None) -> str:
    owner = "every version" if each.call.op is None and reference is None else "the version"
    reference = reference or each.reference
    if each.outcome is RuntimeOutcome.UNSTEADY and each.at is not None:
        values = listed(map(plain, each.values or ()), "and")
        return f"{_TEXTS[each.outcome]} at {cell(each.at)}: {values}"
    if each.outcome in _TEXTS:
        result = _shown(each.result)
        return _TEXTS[each.outcome].format(message=each.message, result=result, owner=owner)
    if each.outcome is RuntimeOutcome.AGREES:
        refusal = f"refuses, as {owner} does: {each.message}"
        return refusal if each.result is None else "agrees"
    if each.reference == each.letter:
        return "agrees in values"
    if each.values is None or each.at is None:
        return f"differs from {reference} in shape"
    one, other = (plain(value) for value in each.values)
    return f"differs from {reference} at {cell(each.at)}: {one} and {other}"


def _shown(result: Tensor | None) -> str:
    return "values" if result is None or result.array.size > FEW else plain(result)


def plain(tensor: Tensor, nonfinite: str = "bare") -> str:
    """Return a tensor as JSON on a line."""
    return b"".join(plain_json([("value", tensor)], TextOptions(nonfinite))).decode().rstrip("\n")


def runtime_json(each: RuntimeVerdict, reference: str | None = None) -> dict[str, Any]:
    """Return a verdict as fields of an object; `reference` as in `outcome_text`."""
    values = each.values and [json.loads(plain(value, "quoted")) for value in each.values]
    return {
        "runtime": each.call.runtime,
        "version": each.version,
        "call": each.call.text,
        "operator": each.call.op and each.call.op.full_name,
        "way": each.call.way or None,
        "outcome": each.outcome.value,
        "group": each.letter,
        "shape": None if each.result is None else list(each.result.shape),
        "dtype": None if each.result is None else each.result.dtype.name,
        "differs_from": each.reference,
        "at": each.at,
        "values": values,
        "message": outcome_text(each, reference),
    }
