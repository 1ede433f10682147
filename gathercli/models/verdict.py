"""What the version of a node says of it, whatever comes at run time: the verdict, and findings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from gathercli.compute.check import count, follow_beams, integers_of, parent_indices, policies_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, OperatorError, OutOfRangeError, VersionError, sentence
from gathercli.frameworks import framework
from gathercli.io.graphs.graph import Constant
from gathercli.models.bounds import Bounds
from gathercli.models.facts import Possible
from gathercli.models.graph import ModelNode, bound
from gathercli.spec.adjustments import Adjustment, are_tuples, check_counts
from gathercli.spec.call import Call, CallContext
from gathercli.spec.op import FROM_THE_END, REFUSED, IndexedAxis, Op, OutOfRange
from gathercli.spec.shapes import LARGEST, UNKNOWN, Shape, product
from gathercli.text import counted, interval, listed, table_beside

ERROR: Final = "error"
WARNING: Final = "warning"
# The levels of findings: refused, changed silently, worth knowing. Notes fail no check.
NOTE: Final = "note"
FEWER_BITS: Final = "read in fewer bits"  # the fate of an index that does not fit
UNREAD: Final = "unread"  # the rule of constants that decide, but could not be read
UNPROVEN: Final = "unproven"  # the rule of indices that come at run time, if none may

# The verdicts on a node: every index is inside its axis; nobody knows before the model runs; the
# version refuses what the model decides, or fills; what decides could not be read.
PROVEN, AT_RUN_TIME, REFUSED_NODE = "proven", "at run time", "refused"
FILLS, NOT_READ = "fills", "not read"
WORDS: Final = (PROVEN, AT_RUN_TIME, REFUSED_NODE, FILLS, NOT_READ)

# What a version or a target does with an index, by its fate.
_FATE_WORDS: Final = {
    FROM_THE_END: "counts it from the end",
    REFUSED: "refuses it",
    OutOfRange.ZERO.done: "gives zeros",
    OutOfRange.NAN.done: "gives NaN",
    OutOfRange.EXTREME.done: "gives NaN or an extreme of the type",
    OutOfRange.CLAMP.done: "takes the nearest end",
    OutOfRange.WRAP.done: "takes it modulo the size",
    OutOfRange.UNDEFINED.done: "leaves it undefined",
    FEWER_BITS: "reads it in fewer bits",
}

# What is wrong, and what to do, by the name of the rule.
MODEL_STATEMENTS: Final[dict[str, str]] = table_beside(__name__)


class Finding(NamedTuple):
    """One finding, of one node; the fields without a comment are as in `GatherError`."""

    rule: str  # that a version or a target breaks
    problem: str
    level: str = ERROR
    target: str = ""  # whose rule it is; empty for the node's own version
    where: str | None = None
    value: object = None
    expected: str | None = None
    remark: str = ""  # has a field for the ``{target}``
    unsaid: bool = False
    number: int | None = None  # the count of `GatherError`
    does: Mapping[str, str] = {}  # what versions and targets do with an index, by name
    node: str = ""  # its name; empty for what is of several
    nodes: tuple[str, ...] = ()  # the names of several
    operator: str = ""  # its version: ``onnx.Gather-13``

    def on(self, node: ModelNode) -> Finding:
        """Return the finding with the name of its node."""
        return self._replace(node=node.name, operator=f"{node.op or node.operator}")

    @property
    def message(self) -> str:
        """One sentence: what is wrong, and what is expected."""
        remark = self.remark.replace("{target}", self.target)
        return sentence(self.problem, None if self.unsaid else self.expected, remark)

    @property
    def text(self) -> str:
        """The message, with what each version and target does."""
        does = [f"{name} {_FATE_WORDS.get(fate, fate)}" for name, fate in self.does.items()]
        return f"{self.message}{'; ' if does else ''}{listed(does, 'and') if does else ''}"


@dataclass(frozen=True)
class ModelFinding:
    """A finding for Python and for JSON: what a node refuses, or what a target changes."""

    node: str  # empty for what is of several
    operator: str
    rule: str
    level: str  # error, warning, note
    target: str | None  # None for the node's own version
    message: str
    where: str | None
    value: float | str | None
    expected: str | None
    count: int | None
    does: dict[str, str]  # what versions and targets do with an index, by name
    nodes: list[str]  # of several

    @classmethod
    def of(cls, each: Finding) -> ModelFinding:
        """Describe a finding."""
        own = each._asdict() | {"message": each.text, "count": each.number}
        own |= {"target": each.target or None, "does": dict(each.does), "nodes": list(each.nodes)}
        if not isinstance(each.value, int | float | None):
            own["value"] = str(each.value)
        return cls(**{name: own[name] for name in cls.__dataclass_fields__})


def finding_of(error: GatherError) -> Finding:
    """Return a refusal as a finding."""
    names = ("where", "value", "expected", "remark", "unsaid")
    same = {name: getattr(error, name) for name in names}
    return Finding(error.rule, error.statement, number=error.count, **same)


def finding_of_adjustment(adjustment: Adjustment) -> Finding:
    """Return constant indices that the version replaces as a finding."""
    where, value, number = adjustment.where, adjustment.value, adjustment.number
    message = f"an index, {value} or beyond, is {adjustment.legal}"  # of which bounds are known
    if where:
        of = f"{number} of {counted(adjustment.total, 'index', 'indices')}"
        message = f"index {value} at `{where}` is {adjustment.legal} ({of})"
    return Finding("index-range", message, WARNING, where=where, value=value, number=number)


class NodeVerdict(NamedTuple):
    """What the version of a node says of it, whatever the inputs at run time are."""

    node: ModelNode
    call: Call | None = None  # None if shapes, types or attributes are refused
    checked: tuple[str, ...] = ()  # the inputs of indices that are constant, and were checked
    adjustments: tuple[Adjustment, ...] = ()  # the treatment of known indices outside their axis
    error: GatherError | None = None  # why the node is refused; None if nothing is refused
    # of the model with its own inputs; of the function `contradictions`
    contradictions: tuple[Finding, ...] = ()
    proven: bool = False  # whether every index is inside its axis
    bounds: Bounds | None = None  # of the indices, if they are known and prove nothing

    @property
    def shape(self) -> Shape:
        """The inferred shape of the output; of unknown rank if there is no call."""
        return self.call.shape if self.call is not None else Shape.of_unknown_rank()

    @property
    def is_malformed(self) -> bool:
        """Whether the error is of a constant that could not be read, and of no rule."""
        return self.error is not None and not isinstance(self.error, OperatorError | VersionError)

    @property
    def word(self) -> str:
        """The verdict, one of `WORDS`."""
        if self.is_malformed:
            return NOT_READ
        if self.error is not None or self.contradictions:
            return REFUSED_NODE
        if any(each.how == OutOfRange.ZERO.done for each in self.adjustments):
            return FILLS
        if self.node.unread or self.call is None:
            return NOT_READ
        return PROVEN if self.proven else AT_RUN_TIME


class Judged(NamedTuple):
    """The word on a node, and of one at run time the verdict, which says what is open."""

    word: str
    verdict: NodeVerdict | None = None


def judge(node: ModelNode) -> NodeVerdict:
    """Try every rule on a node, and check what is known of its indices.

    A size, a type or an axis that is not known refuses nothing.
    """
    verdict = NodeVerdict(node)
    if node.faults:
        return verdict._replace(error=node.faults[0])
    if node.is_template:
        return verdict
    context = CallContext(node.op)
    context.inputs |= {name: value.operand for name, value in node.named_inputs.items()}
    try:
        with context:
            call = node.call or bound(node)
            verdict = verdict._replace(call=call)
            follow = _with_indices if call.op.followed is None else _with_parents
            verdict = follow(verdict, call)
            # A caller may replace the default of an input, and a claim is no proof.
            is_firm = not any(
                each.claimed or (each.constant and each.constant.default) for each in node.inputs
            )
            return verdict._replace(proven=verdict.proven and is_firm)
    except GatherError as error:
        return verdict._replace(error=error)


def _constants(node: ModelNode) -> dict[str, Constant]:
    """Return the inputs that are constant and could be read, by name."""
    return {
        name: value.constant
        for name, value in node.named_inputs.items()
        if value.constant and not value.unread
    }


def lenient_runtimes(op: Op) -> list[str]:
    """Return the runtimes that count from the end what a version refuses, by its `[[mistakes]]`."""
    asked = {"row": op.name, "refused": "index-range", "where": ["a negative index"]}
    return [
        each["runtime"]
        for each in framework(op.framework).mistakes
        if op.negative == REFUSED and asked.items() <= each.items()
    ]


def _with_parents(verdict: NodeVerdict, call: Call) -> NodeVerdict:
    """Return the verdict on a GatherTree, by its parents and its lengths alone.

    A batch of m steps uses the parents of its last step, and those on the paths back to the second
    one. So no length refuses the parents of fewer than two steps, and of an unknown length all
    parents but those of the first step may be used.
    """
    tensors = {name: each.tensor() for name, each in _constants(verdict.node).items()}
    _, parent_ids, max_seq_len, _ = call.inputs
    parents, lengths = tensors.get(parent_ids), tensors.get(max_seq_len)
    if parents is None:
        most, *others = call.shape if call.shape.rank is not None else (UNKNOWN,)
        is_short = lengths is not None and bool((integers_of(max_seq_len, lengths) <= 1).all())
        return verdict._replace(proven=is_short or most in (0, 1) or 0 in others)
    width = parents.shape[-1]
    if lengths is None:
        used = parent_indices(integers_of(parent_ids, parents)[1:], width)
        proven = bool(((used >= 0) & (used < width)).all())
        return verdict._replace(checked=(parent_ids,) * proven, proven=proven)
    zero = np.zeros((), parents.array.dtype)
    for name, shape in zip(call.inputs, (parents.shape, *[()] * 3), strict=True):
        tensors.setdefault(name, Tensor(parents.dtype, np.broadcast_to(zero, shape)))
    paths = follow_beams(
        call, IndexedAxis(parent_ids, 2, width), {name: tensors[name] for name in call.inputs}
    )
    if paths.refusal is not None:
        raise paths.refusal
    adjustments = tuple(paths.adjustments)
    return verdict._replace(checked=(parent_ids,), adjustments=adjustments, proven=True)


def _with_indices(verdict: NodeVerdict, call: Call) -> NodeVerdict:
    """Return a verdict with the inputs of constant indices, checked, and the adjustments."""
    number, name = next((n, each.name) for n, each in enumerate(call.op.inputs) if each.values)
    axes = widest_axes(call, name)
    if not axes and product(call.indices.shape.sizes or ()):
        return verdict
    is_empty = 0 in call.indices.shape or (not call.op.checks_empty and 0 in call.shape)
    constant = _constants(verdict.node).get(name)
    if constant is not None:
        adjustments = _checked(call, axes, constant)
        proven = not _moved(adjustments) and (is_empty or are_known(axes))
        verdict = verdict._replace(checked=(name,), adjustments=adjustments, proven=proven)
        if proven:
            return verdict
        array = constant.tensor().array.reshape(-1, len(axes) if are_tuples(axes) else 1)
        return verdict._replace(bounds=Bounds.of(array.min(0), array.max(0)))
    if verdict.node.named_inputs[name].unread:
        return verdict
    possible = verdict.node.possible.get(number, Possible())
    if is_empty:
        return verdict._replace(proven=True)
    return verdict._replace(**_from_possible(call, axes, possible))


def _from_possible(call: Call, axes: Sequence[IndexedAxis], possible: Possible) -> dict[str, Any]:
    """Return the fields of a verdict on indices of which some are known, or bounds."""
    for each in possible.constants:
        if _moved(adjustments := _checked(call, axes, each)):
            return {"adjustments": adjustments}
    if possible.bounds is None:
        return {}
    place = _place(call, axes, possible.bounds)
    if place is None and product(call.indices.shape.sizes or (0,)):
        return {"adjustments": _outside(call, axes, possible.bounds)}
    return {"proven": place is True and are_known(axes), "bounds": possible.bounds}


def _moved(adjustments: Sequence[Adjustment]) -> bool:
    return any(each.how in {row.done for row in OutOfRange} for each in adjustments)


def are_known(axes: Sequence[IndexedAxis]) -> bool:
    """Tell whether the size of each axis is known, not only the largest that it can have."""
    return not any(isinstance(along.size, _Size) for along in axes)


def _checked(call: Call, axes: Sequence[IndexedAxis], constant: Constant) -> tuple[Adjustment, ...]:
    """Return the adjustments of constant indices; raise OutOfRangeError if one is refused."""
    policies, tuples = tuple(policies_of(call, axes)), are_tuples(axes)
    sums = constant.counts.get((policies, tuples))
    if sums is None:
        sums, _ = count(constant.tensor().array, policies, counts=True, tuples=tuples)
        constant.counts[policies, tuples] = sums
    try:
        return tuple(check_counts(call, axes, sums, constant.shape))
    except OutOfRangeError as error:
        if error.expected == interval(0, LARGEST - 1):
            error.expected = "0 or more"
        raise


# Indices of which only bounds are known


def ends_by_axis(
    call: Call, axes: Sequence[IndexedAxis], bounds: Bounds
) -> Iterator[tuple[IndexedAxis, Bounds, int, int]]:
    """Yield each axis with the bounds of its indices, and the legal ones, the last excluded."""
    for at, along in enumerate(axes):
        part = bounds
        if len(axes) > 1 and bounds.low.ndim and bounds.low.shape[-1] == len(axes):
            part = Bounds(bounds.low[..., at], bounds.high[..., at])
        least = -along.size if call.wraps_negative else 0
        yield along, part, least, along.size


def _place(call: Call, axes: Sequence[IndexedAxis], bounds: Bounds) -> bool | None:
    """Return whether bounds are inside all axes; None if an index is outside for sure."""
    inside = True
    for _, part, least, size in ends_by_axis(call, axes, bounds):
        if (part.low > part.high).any():  # of no index
            return False
        if ((part.low >= size) | (part.high < least)).any():
            return None
        inside &= bool((part.low >= least).all() and (part.high < size).all())
    return inside


def _outside(call: Call, axes: Sequence[IndexedAxis], bounds: Bounds) -> tuple[Adjustment, ...]:
    """Return the adjustment of indices that are outside for sure; raise if they are refused."""
    for along, part, least, size in ends_by_axis(call, axes, bounds):
        wrong = (part.low >= size) | (part.high < least)
        if not wrong.any():
            continue
        at = int(np.argmax(wrong))
        low, high = part.low.reshape(-1)[at], part.high.reshape(-1)[at]
        nearest = int(low if low >= size else high)
        words = f"{low:.0f} or more" if np.isinf(high) else f"{high:.0f} or less"
        if np.isfinite(low) and np.isfinite(high):
            words = interval(int(low), int(high))
        if not call.outside.refuses:
            legal = f"outside {least}..{size - 1}"
            return (Adjustment(call.outside.done, 1, 1, nearest, "", legal),)
        data = call.op.inputs[0].name
        what = f"an index, {words}, is outside axis {along.axis} of `{data}`, whose size is {size}"
        expected = interval(least, size - 1) if size else "no index, as the axis is empty"
        raise OutOfRangeError(what, rule="index-range", value=nearest, expected=expected)
    return ()


class _Size(int):
    """The largest size of a dimension whose size is not known, for messages."""

    def __str__(self) -> str:
        return "not known" if self == LARGEST else f"at most {int(self)}"


@lru_cache(1024)
def widest_axes(call: Call, name: str) -> tuple[IndexedAxis, ...]:
    """Return the indexed axes with the largest sizes they can have; none if that is not known.

    An index outside the largest size is outside every smaller one.
    """
    if call.op.tuples and not isinstance(next(reversed(call.indices.shape), None), int):
        return ()
    if call.data.shape.rank is None or call.axis_is_unknown:
        along = IndexedAxis(name, call.axis_number or 0, _Size(LARGEST))
        return () if call.op.tuples else (along,)
    if call.data.shape.sizes is not None:
        return call.family.indexed_axes(call)
    data, *_ = call.inputs
    sizes = Shape(
        dim if isinstance(dim, int) else _Size(LARGEST if dim.high is None else dim.high)
        for dim in call.data.shape
    )
    inputs = {**call.inputs, data: call.data._replace(shape=sizes)}
    return call.family.indexed_axes(Call(call.op, call.family, inputs, call.attrs))


# The nodes of two models

_MOST_KEY_ELEMENTS: Final = 1 << 20  # elements of indices by which nodes are matched
_Key: TypeAlias = Callable[["ModelNode"], Hashable]


class NodePair(NamedTuple):
    """The verdicts on a node of each of two models, and how they were matched."""

    one: NodeVerdict
    other: NodeVerdict
    how: str


def paired(verdicts: Sequence[NodeVerdict], others: Sequence[NodeVerdict]) -> list[NodePair]:
    """Match the nodes of two models, in the order of the first.

    A name that several nodes have matches none; what has the same constants or shapes is matched
    in order.
    """
    places = {id(each): n for n, each in enumerate(verdicts)}
    left, right, found = list(verdicts), list(others), list[NodePair]()
    for how, one_key, other_key, in_order in _WAYS:
        groups = _grouped(left, one_key), _grouped(right, other_key)
        for key, ones in groups[0].items():
            twos = groups[1].get(key, [])
            if in_order or len(ones) == len(twos) == 1:
                found += [NodePair(a, b, how) for a, b in zip(ones, twos, strict=False)]
        taken = {id(each) for pair in found for each in (pair.one, pair.other)}
        left = [each for each in left if id(each) not in taken]
        right = [each for each in right if id(each) not in taken]
    return sorted(found, key=lambda pair: places[id(pair.one)])


def _grouped(verdicts: Sequence[NodeVerdict], key: _Key) -> dict[Hashable, list[NodeVerdict]]:
    """Group nodes by a key; those without one are in no group."""
    groups: dict[Hashable, list[NodeVerdict]] = {}
    for each in verdicts:
        if found := key(each.node):
            groups.setdefault(found, []).append(each)
    return groups


def _own_name(node: ModelNode) -> Hashable:
    return node.own_name


def _output_name(node: ModelNode) -> Hashable:
    return node.outputs[0].name if node.outputs else ""


def _feeding(node: ModelNode) -> Hashable:
    """Return the operator and the names of what feeds a node, if all have one."""
    names = [each.source or each.name for each in node.named_inputs.values()]
    return (node.operator, *names) if names and all(names) else None


def _shapes(node: ModelNode) -> tuple[Hashable, ...]:
    shapes = (each.shape for each in node.named_inputs.values())
    known = (
        each.rank and tuple(size if isinstance(size, int) else None for size in each)
        for each in shapes
    )
    return () if node.takes_sizes else (node.operator, *known)  # as converters make any sizes


def _elements(node: ModelNode) -> Hashable:
    """Return the shapes, and the elements of constant indices; None if no indices are constant."""
    deciding = {each.name for each in node.family.ROWS[0].inputs if each.values}
    found = [
        each.constant.read().values().astype(np.int64).tobytes()
        for name, each in node.named_inputs.items()
        if name in deciding and each.constant and not each.unread and each.constant.dtype.integral
        if product(each.constant.shape) <= _MOST_KEY_ELEMENTS
    ]
    return (*_shapes(node), *found) if found else None


# How nodes are matched: the keys of both, and whether several of one key are matched in order.
_WAYS: Final[tuple[tuple[str, _Key, _Key, bool], ...]] = (
    ("name", _own_name, _own_name, False),
    ("output", _output_name, _output_name, False),
    ("output", _output_name, _own_name, False),
    ("output", _own_name, _output_name, False),
    ("inputs", _feeding, _feeding, False),
    ("constants, in order", _elements, _elements, True),
    ("shapes, in order", _shapes, _shapes, True),
)
