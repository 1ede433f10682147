"""The findings of a model: what its own versions refuse or fill, and what a target changes.

::

    findings(model, targets)  ->  Finding...    in the order of the nodes

`judge` tries the rules of a node's own version; the same rules are tried with the row of a target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.adjustments import are_tuples
from gathercli.arrays.check import count
from gathercli.arrays.indices import IndexPolicy
from gathercli.engine import infer
from gathercli.errors import OperatorError, OutOfRangeError, VersionError
from gathercli.models.graph import bound
from gathercli.models.portability import CLAMPED, REFUSED, UNDEFINED, ZERO
from gathercli.models.verdict import judge, widest_axes
from gathercli.ops import attributes
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.op import FROM_THE_END, IndexRange, OutOfRange
from gathercli.spec.rules.wording import interval
from gathercli.spec.shapes import LARGEST, Shape, meet, product
from gathercli.text import clean, counted, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gathercli.adjustments import Adjustment
    from gathercli.arrays.tensor import AnyArray
    from gathercli.errors import GatherError
    from gathercli.models.graph import Model, ModelNode
    from gathercli.models.portability import ConversionTarget, TargetOperator
    from gathercli.models.verdict import NodeVerdict
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis

WIDEST: Final = 2**31 - 1
"""The largest position of a kernel that counts in 32 bits."""

ERROR: Final = "error"
WARNING: Final = "warning"
NOTE: Final = "note"
"""The levels of findings: refused, changed silently, worth knowing. Notes fail no check."""

_DOES: Final = {
    REFUSED: "refuses it",
    ZERO: "gives zeros",
    CLAMPED: "takes the nearest end",
    FROM_THE_END: "counts it from the end",
    UNDEFINED: "promises nothing",
}
"""The fates of an index as what a version or a target does."""

STATEMENTS: Final = {
    "attribute": "A node has the attributes of its operator alone.",
    "inputs": "A node has the inputs of its operator.",
    "operator": "The target has the operator.",
    "output-dtype": "The declared type of the output is that of `data`.",
    "output-shape": "The declared shape of the output is the one that follows from the inputs.",
    "index-legal": "The target counts negative indices from the end, where the version does.",
    "index-width": "Every index fits in the bits that hold it.",
    "position-width": "Every position in `data` fits in 32 bits, as kernels count.",
    "batch-dims-most": "The target has as many batch dimensions.",
    "rank-most": "The ranks are within those of the target.",
    "data-width": "The target computes data in all bits of its type.",
    "unread": "The constants that decide are in the model.",
}
"""What the rules say that models have beside those of calls, by name."""


class Finding(NamedTuple):
    """One finding, of one node.

    Attributes
    ----------
    node, operator
        The name of the node in the model, and its version: ``onnx.Gather-13``.
    rule, level, message
        The rule that a version or a target breaks, one of the levels, and a sentence.
    target
        The target whose rule it is; empty for the rules of the node's own version.
    where, value, expected, number
        As in `GatherError`; `number` is its count.
    does
        What versions and targets do with an index, by name.
    """

    node: str
    operator: str
    rule: str
    level: str
    message: str
    target: str = ""
    where: str | None = None
    value: object = None
    expected: str | None = None
    number: int | None = None
    does: Mapping[str, str] = {}

    @property
    def text(self) -> str:
        """The message, with what everyone does."""
        does = [f"{name} {_DOES.get(fate, fate)}" for name, fate in self.does.items()]
        return f"{self.message}{'; ' if does else ''}{listed(does, 'and') if does else ''}"


def findings(
    model: Model, targets: Sequence[ConversionTarget] = (), *, allow_fill: bool = False
) -> Iterator[Finding]:
    """Yield the findings of a model, in the order of its nodes; then notes on all of them.

    Parameters
    ----------
    targets
        The targets that the model goes to.
    allow_fill
        Whether an index that a version fills with zeros is worth a note only.
    """
    widths: dict[tuple[str, str], list[ModelNode]] = {}
    for node in model.nodes:
        for each in node_findings(node, targets):
            filled = each.does.get(each.operator) == ZERO and not each.target
            yield each._replace(level=NOTE) if allow_fill and filled else each
        for target in targets:
            dtype = node.inputs[0].dtype if node.inputs else None
            if dtype in target.narrow:
                widths.setdefault((target.name, f"{dtype}"), []).append(node)
    for (name, word), nodes in widths.items():
        target = next(each for each in targets if each.name == name)
        narrow = next(f"{to}" for wide, to in target.narrow.items() if f"{wide}" == word)
        first, number = nodes[0], counted(len(nodes), "node")
        message = f"`data` of {number} is {word}, which {name} computes as {narrow}"
        operator = f"{first.op or first.operator}"
        yield Finding(first.name, operator, "data-width", NOTE, message, name, value=word)


def node_findings(node: ModelNode, targets: Sequence[ConversionTarget] = ()) -> Iterator[Finding]:
    """Yield the findings of a node.

    Raises
    ------
    InputError
        A constant is malformed.
    """
    number = len(node.inputs)
    most = len(node.op.inputs) + any(each.is_input for each in node.op.attrs) if node.op else 0
    if node.op is not None and not len(node.op.inputs) <= number <= most:
        names = listed((f"`{each.name}`" for each in node.op.inputs), "and")
        message = f"it has {counted(number, 'input')}: expected {names}"
        yield _own(node, "inputs", message, value=number, expected=names)
        return
    verdict = judge(node)
    if verdict.error is not None and not isinstance(verdict.error, OperatorError | VersionError):
        verdict.error.prefix(f"`{clean(short(node.name))}`")
        raise verdict.error
    yield from _unknown_attributes(node)
    if isinstance(verdict.error, OutOfRangeError):
        yield _with_fates(node, _of_error(node, verdict.error), targets)
    elif verdict.error is not None:
        yield _of_error(node, verdict.error)
    for each in verdict.adjustments:
        yield _with_fates(node, _of_adjustment(node, each), targets)
    call = verdict.call
    if call is None:
        return
    yield from _declared(node, verdict, call)
    yield from _unread(node)
    axes = {row.name: widest_axes(call, row.name) for row in call.op.inputs if row.values}
    yield from _width(node, axes)
    arrays = _constants(node)
    yield from _positions(node, call, axes, arrays)
    for target in targets:
        yield from _changes(node, call, target)
        if (runs := target.runs(call.op)) is not None:
            for name, array in arrays.items():
                yield from _moved_indices(node, call, target, runs, axes[name], array)


def _own(node: ModelNode, rule: str, message: str, level: str = ERROR, **fields: Any) -> Finding:
    """Return a finding on the node's own version."""
    return Finding(node.name, f"{node.op or node.operator}", rule, level, message, **fields)


def _of_error(node: ModelNode, error: GatherError, target: str = "") -> Finding:
    """Return a refusal as a finding."""
    return _own(
        node,
        error.rule,
        error.message,
        ERROR if not target else WARNING,
        target=target,
        where=error.where,
        value=error.value,
        expected=error.expected,
        number=error.count,
    )


def _of_adjustment(node: ModelNode, adjustment: Adjustment) -> Finding:
    """Return constant indices that the version replaces as a finding."""
    number, total = adjustment.number, adjustment.total
    message = (
        f"index {adjustment.value} at `{adjustment.where}` is {adjustment.legal} "
        f"({number} of {counted(total, 'index', 'indices')})"
    )
    where, value = adjustment.where, adjustment.value
    return _own(node, "index-range", message, WARNING, where=where, value=value, number=number)


def _with_fates(node: ModelNode, finding: Finding, targets: Sequence[ConversionTarget]) -> Finding:
    """Add what the version and the targets do with an illegal index."""
    if node.op is None:
        return finding
    signed = node.op.index_range is IndexRange.SIGNED
    negative = isinstance(finding.value, int) and finding.value < 0 and not signed
    own = node.op.out_of_range.done
    fates = {f"{node.op}": own}
    for target in targets:
        runs = target.runs(node.op)
        if runs is None:
            continue
        fate = runs.negative if negative else runs.outside
        if fate != own or runs.op.full_name != node.op.full_name:
            fates[target.name] = fate
    return finding._replace(does=fates)


def _unknown_attributes(node: ModelNode) -> Iterator[Finding]:
    """Yield attributes that no rule checks, which a runtime refuses or ignores."""
    if node.op is None or node.framework != "onnx":  # OpenVINO ignores them
        return
    for name in node.attributes.keys() - set(attributes(node.family)):
        known = listed([f"`{each.name}`" for each in node.op.attrs] or ["none"])
        message = f"{node.op} has no attribute `{clean(short(name))}`: expected {known}"
        yield _own(node, "attribute", message, value=name, expected=known)


def _declared(node: ModelNode, verdict: NodeVerdict, call: Call) -> Iterator[Finding]:
    """Yield where the declared output differs from what the inputs say."""
    value = node.outputs[0] if node.outputs else None
    if value is None or value.inferred:
        return
    name, data = clean(short(value.name)), call.data.dtype
    if value.dtype is not None and data is not None and value.dtype is not data:
        message = f"the model declares `{name}` as {value.dtype}, but `data` is {data}"
        yield _own(node, "output-dtype", message, value=f"{value.dtype}", expected=f"{data}")
    shape = verdict.shape
    if why := _conflict(value.shape, shape):
        message = (
            f"the model declares {value.shape} as the shape of `{name}`, "
            f"but {shape} follows from its inputs: {why}"
        )
        yield _own(node, "output-shape", message, value=f"{value.shape}", expected=f"{shape}")


def _conflict(declared: Shape, inferred: Shape) -> str:
    """Say where two shapes of one tensor contradict each other; empty text if nowhere."""
    if declared.rank is None or inferred.rank is None:
        return ""
    if declared.rank != inferred.rank:
        return f"expected rank {inferred.rank}"
    for d, (one, other) in enumerate(zip(declared, inferred, strict=True)):
        if meet(one, other) is None:
            return f"expected {other} as dimension {d}"
    return ""


def _unread(node: ModelNode) -> Iterator[Finding]:
    """Yield why constant indices were not checked."""
    for row in node.op.inputs if node.op else ():
        constant = node.named_inputs[row.name].constant
        if row.values and constant is not None and constant.unread:
            yield _own(node, "unread", f"`{row.name}` is not checked: {constant.unread}", NOTE)


def _width(node: ModelNode, axes: Mapping[str, Sequence[IndexedAxis]]) -> Iterator[Finding]:
    """Yield an axis that is longer than the type of its indices counts."""
    for name, of_input in axes.items():
        value = node.named_inputs[name]
        if value.dtype is None or value.dtype.bits < 32 or value.constant is not None:
            continue
        most = value.dtype.bounds[1]
        for along in of_input:
            if most < along.size - 1 < LARGEST - 1:
                message = (
                    f"axis {along.axis} of `data` has size {along.size}, "
                    f"but {value.dtype} indices end at {most}"
                )
                yield _own(node, "index-width", message, WARNING, value=along.size)


def _positions(
    node: ModelNode,
    call: Call,
    axes: Mapping[str, Sequence[IndexedAxis]],
    arrays: Mapping[str, AnyArray],
) -> Iterator[Finding]:
    """Yield data with positions that 32 bits do not count, and the index that reads one."""
    sizes = call.data.shape.sizes
    if sizes is None or product(sizes) <= WIDEST + 1:
        return
    for name, array in arrays.items():
        if len(axes[name]) != 1 or not array.size:
            continue
        (along,) = axes[name]
        inner = product(sizes[along.axis + 1 :])
        before = product(sizes) - along.size * inner  # the slices of all but the last coordinates
        # The position behind the slice of k is before + (k + 1) * inner: exact in Python alone.
        most = (WIDEST + 1 - before) // inner - 1
        k = array.astype(np.int64)
        k += (k < 0) * along.size
        beyond = (k > max(most, -1)) & (k < along.size)
        if not beyond.any():
            return
        first = int(beyond.argmax())
        last = before + (int(k.reshape(-1)[first]) + 1) * inner - 1
        where, value = cell(coordinate(first, array.shape)), int(array.reshape(-1)[first])
        message = (
            f"index {value} at `{where}` reads position {last} of `data`: "
            f"expected {WIDEST} at most where positions have 32 bits"
        )
        yield _own(node, "position-width", message, WARNING, where=where, value=value)
        return
    message = f"`data` has {product(sizes)} elements, more than 32 bits count"
    yield _own(node, "position-width", message, NOTE, value=product(sizes))


def _constants(node: ModelNode) -> dict[str, AnyArray]:
    """Return the constant indices by input; none of which only some are used."""
    if node.op is None or node.op.followed is not None:
        return {}
    constants = {
        row.name: node.named_inputs[row.name].constant for row in node.op.inputs if row.values
    }
    return {
        name: each.tensor().array
        for name, each in constants.items()
        if each is not None and not each.unread
    }


def _changes(node: ModelNode, call: Call, target: ConversionTarget) -> Iterator[Finding]:
    """Yield what shapes, types and attributes lose on the way to a target."""
    runs = target.runs(call.op)
    if runs is None:
        message = f"{target.name} has no {call.op.name}"
        yield _own(node, "operator", message, WARNING, target=target.name)
        return
    try:
        other = _bound_to(node, call, runs)
    except OperatorError as error:
        yield _of_error(node, error, target.name)._replace(does={target.name: REFUSED})
        return
    yield from _limits(node, call, target, runs)
    shape, moved = infer(call), infer(other)
    if why := _conflict(moved, shape):
        message = f"{runs.op} gives the shape {moved} in place of {shape}: {why}"
        yield _own(node, "output-shape", message, WARNING, target=target.name, value=f"{moved}")


def _bound_to(node: ModelNode, call: Call, runs: TargetOperator) -> Call:
    """Bind a node to the row of a target; the attributes keep the defaults of its own row."""
    attrs = dict(call.attrs)
    if not runs.op.has_batch_dims and call.batch_dims == 0:
        attrs.pop("batch_dims", None)
    return bound(node._replace(op=runs.op, attributes=attrs))


def _limits(
    node: ModelNode, call: Call, target: ConversionTarget, runs: TargetOperator
) -> Iterator[Finding]:
    """Yield ranks and batch dimensions beyond those of a target."""
    most, batch_dims = runs.most_batch_dims, call.batch_dims
    if most is not None and batch_dims is not None and batch_dims > most:
        message = f"`batch_dims` is {batch_dims}: {target.name} has {most} at most"
        yield _own(node, "batch-dims-most", message, WARNING, target=target.name, value=batch_dims)
    shapes = {name: each.shape for name, each in call.inputs.items()}
    for name, shape in (shapes | {"output": infer(call)}).items():
        if target.most_rank is not None and (shape.rank or 0) > target.most_rank:
            message = (
                f"`{name}` has rank {shape.rank}: {target.name} has {target.most_rank} at most"
            )
            yield _own(node, "rank-most", message, WARNING, target=target.name, value=shape.rank)


def _moved_indices(  # noqa: PLR0917  (a call, a target, and an input)
    node: ModelNode,
    call: Call,
    target: ConversionTarget,
    runs: TargetOperator,
    axes: Sequence[IndexedAxis],
    array: AnyArray,
) -> Iterator[Finding]:
    """Yield legal constant indices that a target takes for others."""
    if array.size == 0:
        return
    policies = [IndexPolicy(along.size, wraps=True, outside=OutOfRange.ERROR) for along in axes]
    sums, _ = count(array, policies, counts=True, tuples=are_tuples(axes))
    signed = call.op.index_range is IndexRange.SIGNED
    hits = [
        (each.wrapped, along) for each, along in zip(sums, axes, strict=True) if each.wrapped.number
    ]
    if signed and hits and runs.negative != FROM_THE_END:
        first, along = min(hits, key=lambda hit: hit[0].first)
        expected = "0 or more" if along.size == LARGEST else interval(0, along.size - 1)
        where = cell(coordinate(first.first, array.shape))
        number = sum(hit.number for hit, _ in hits)
        message = (
            f"index {first.value} at `{where}` counts from the end of axis {along.axis} of `data`, "
            f"whose size is {along.size}: expected {expected} for {target.name} "
            f"({number} of {counted(array.size, 'index', 'indices')})"
        )
        yield _own(
            node,
            "index-legal",
            message,
            WARNING,
            target=target.name,
            where=where,
            value=first.value,
            expected=expected,
            number=number,
            does={target.name: runs.negative},
        )
    least, most = int(array.min()), int(array.max())
    if target.most_index < max(most, -least - 1):
        value = most if most > target.most_index else least
        message = f"index {value} is cut to {target.index_bits} bits by {target.name}"
        yield _own(node, "index-width", message, WARNING, target=target.name, value=value)
