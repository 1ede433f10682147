"""One finding of a model, and the rules that only models have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import sentence
from gathercli.ops.portability import CLAMPED, REFUSED, UNDEFINED, ZERO
from gathercli.spec.op import FROM_THE_END
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.errors import GatherError
    from gathercli.models.graph import ModelNode

ERROR: Final = "error"
WARNING: Final = "warning"
NOTE: Final = "note"
"""The levels of findings: refused, changed silently, worth knowing. Notes fail no check."""

UNREAD: Final = "unread"
"""The rule of constants that decide, but could not be read."""

_DOES: Final = {
    REFUSED: "refuses it",
    ZERO: "gives zeros",
    CLAMPED: "takes the nearest end",
    FROM_THE_END: "counts it from the end",
    UNDEFINED: "leaves it undefined",
}
"""What a version or a target does with an index, by its fate."""

STATEMENTS: Final = {
    "attribute": "A node has the attributes of its operator alone.",
    "inputs": "A node has the inputs of its operator.",
    "operator": "The target has the operator.",
    "output-dtype": "The declared type of the output is that of `data`.",
    "output-shape": "The declared shape of the output is the one that follows from the inputs.",
    "index-legal": "The target takes the negative indices that the version counts from the end.",
    "index-width": "Every index fits in the bits that hold it.",
    "position-width": "Every position in `data` fits in 32 bits, as kernels count.",
    "batch-dims-most": "The target has as many batch dimensions.",
    "rank-most": "The ranks are within those of the target.",
    "data-width": "The target computes data in all bits of its type.",
    UNREAD: "Every constant that decides can be read.",
}
"""The rules that only models have, in words, by name."""


class Finding(NamedTuple):
    """One finding, of one node.

    Attributes
    ----------
    node, operator
        The name of the node in the model, and its version: ``onnx.Gather-13``.
    rule, level
        The rule that a version or a target breaks, and one of the levels.
    target
        The target whose rule it is; empty for the rules of the node's own version.
    problem, where, value, expected, remark, unsaid, number
        As in `GatherError`; `number` is its count. `remark` has a field for the ``{target}``.
    does
        What versions and targets do with an index, by name.
    """

    node: str
    operator: str
    rule: str
    level: str
    problem: str
    target: str = ""
    where: str | None = None
    value: object = None
    expected: str | None = None
    remark: str = ""
    unsaid: bool = False
    number: int | None = None
    does: Mapping[str, str] = {}

    @property
    def message(self) -> str:
        """One sentence: what is wrong, and what is expected."""
        remark = self.remark.replace("{target}", self.target)
        return sentence(self.problem, None if self.unsaid else self.expected, remark)

    @property
    def text(self) -> str:
        """The message, with what each version and target does."""
        does = [f"{name} {_DOES.get(fate, fate)}" for name, fate in self.does.items()]
        return f"{self.message}{'; ' if does else ''}{listed(does, 'and') if does else ''}"


def finding_on(
    node: ModelNode, rule: str, problem: str, level: str = ERROR, **fields: Any
) -> Finding:
    """Return a finding on the node's own version."""
    return Finding(node.name, f"{node.op or node.operator}", rule, level, problem, **fields)


def finding_of(node: ModelNode, error: GatherError, target: str = "") -> Finding:
    """Return a refusal as a finding."""
    return finding_on(
        node,
        error.rule,
        error.statement,
        ERROR if not target else WARNING,
        target=target,
        where=error.where,
        value=error.value,
        expected=error.expected,
        remark=error.remark,
        unsaid=error.unsaid,
        number=error.count,
    )
