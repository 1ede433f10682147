"""gathercli-operators(7): the operator versions, their history, and how other frameworks differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.ops import OPERATORS
from gathercli.report.manual import Console, Page, Terms
from gathercli.report.versions import table, timeline, written
from gathercli.spec.decisions import DECISIONS
from gathercli.spec.equivalents import EQUIVALENTS
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.spec.equivalents import Equivalent

NAME: Final = "operators"

INDEX: Final = (
    "An index k on an axis of size s is handled in two stages. First k < 0: `--negative error` "
    "refuses it, wrap adds s once, and spec (the default) adds s once where the version's range is "
    "[-s, s-1]. Then a k that is still outside 0 to s-1: `--out-of-range spec` does what the "
    "version says, refuse or fill with zeros; error, zero, clamp and wrap (modulo s) do what their "
    "names say. Whatever was filled, clamped or wrapped is counted in a note on stderr."
)

EXAMPLES: Final = """\
$ gathercli ops --diff openvino-7 openvino-8
openvino.Gather-7 → openvino.Gather-8
  legal indices    - [0, s-1] for an axis of size s
                   + [-s, s-1] for an axis of size s
  other indices    - refused
                   + zero-filled

to move a model
  an index from -s to -1      refused → counted from the end
  an index outside [-s, s-1]  refused → zero-filled
  to treat indices as before  --negative error --out-of-range error"""

_WIDTH: Final = 72
"""Of the lines kept as they are, which a page indents."""


def page() -> Page:
    """Make the page."""
    return Page(
        f"gathercli-{NAME}",
        "the operator versions, and where they and other frameworks disagree",
        (
            (
                "DESCRIPTION",
                (
                    "Gather copies slices of data along an axis, GatherElements single elements. "
                    "A version is written FRAMEWORK.OPERATOR-OPSET, after the opset that brought "
                    "it, and holds until the next.",
                ),
            ),
            ("HISTORY", (Console(timeline(OPERATORS, _WIDTH)),)),
            ("VERSIONS", tuple(Console(written(op, _WIDTH)) for op in OPERATORS)),
            ("INDICES", (INDEX, Console(table(OPERATORS)))),
            (
                "DECISIONS",
                (
                    "Where the specifications are silent or contradict themselves, this is done.",
                    Terms(tuple(_decisions())),
                ),
            ),
            (
                "OTHER FRAMEWORKS",
                (
                    "What equals a version as long as the indices are legal, and what it does with "
                    "the others; `gathercli ops --like` adds what makes it equal.",
                    Terms(tuple((each.name, _said(each)) for each in EQUIVALENTS)),
                ),
            ),
            ("EXAMPLES", (Console(EXAMPLES),)),
            ("SEE ALSO", ("gathercli(1), gathercli-ops(1), gathercli-formats(5)",)),
        ),
        number=7,
    )


def _decisions() -> Iterator[tuple[str, str]]:
    for each in DECISIONS:
        yield (
            each.id,
            f"{listed(each.rows, 'and')}. {each.question} Decision: {each.choice} "
            f"Why: {each.reason} Evidence: {each.evidence}.",
        )


def _said(each: Equivalent) -> str:
    sentences = (
        f"{each.call} equals {listed(each.rows, 'and')}",
        f"An index from -s to -1 is {each.negative}, one outside [-s, s-1] {each.outside}",
        *(f"{line[0].upper()}{line[1:]}" for line in each.differs),
    )
    return "".join(f"{sentence}. " for sentence in sentences).rstrip()
