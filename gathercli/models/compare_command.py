"""`compare` of models: their Gather nodes in pairs, what differs, and what they give."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.cli.declarations import INPUT, OUTPUT, Answer, Options, argument, flag, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import TEXT_FORMAT, MemoryOptions
from gathercli.compute.bound import BoundCall
from gathercli.compute.compare import difference_at
from gathercli.compute.run import run as run_call
from gathercli.compute.storage import AnyArray, row_major
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, OperatorError, UsageError
from gathercli.io.formats.content import ElementTypes
from gathercli.models.command import (
    ModelOptions,
    block,
    fitting,
    heading,
    node_name,
    verdict_text,
    verdicts_of,
    wrapped,
)
from gathercli.models.graph import Model, ModelNode, conflict
from gathercli.models.node_call import feed_names, typed_token
from gathercli.models.verdict import AT_RUN_TIME, NOTE, PROVEN, NodePair, paired, widest_axes
from gathercli.ops import bind
from gathercli.report import terminal
from gathercli.report.words import cut
from gathercli.spec.adjustments import are_tuples
from gathercli.spec.call import CallContext, Operand
from gathercli.spec.dtypes import Kind
from gathercli.spec.shapes import LARGEST, cell, coordinates, product
from gathercli.text import clean, counted, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.io.graphs.graph import Constant, Value
    from gathercli.io.source import Inputs
    from gathercli.models.verdict import NodeVerdict

MODEL: Final = argument("MODEL", "An ONNX model, or an OpenVINO .xml with its .bin beside.")
OTHER: Final = argument("OTHER", "Another model, such as the first one after a conversion.")

DIFFERENCE: Final = "difference"  # the level of what is not the same
MOST_COMPARED: Final = 1 << 20  # elements of constants that are compared at a time


class ModelCompareOptions(Options):
    """What both models get at run time, and what is taken for a difference."""

    feed: list[str] | None = option(INPUT, "--feed", metavar="NAME=TENSOR", kind=list)
    allow_outside: bool = flag(OUTPUT, "--allow-outside")
    fmt: str = TEXT_FORMAT


class NodeChange(NamedTuple):
    """What differs between the nodes of a pair."""

    what: str  # axis, data, outside
    message: str
    level: str = DIFFERENCE  # or NOTE, which is none


class ComputedPair(NamedTuple):
    """What both nodes give for the same inputs."""

    message: str
    is_same: bool | None  # None if they were not computed


class ComparedPair(NamedTuple):
    """A pair with its differences, and what both give if they are fed."""

    pair: NodePair
    changes: tuple[NodeChange, ...]
    computed: ComputedPair | None = None

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but what is worth a note."""
        return self.outcome == "same"

    @property
    def outcome(self) -> str:
        """What differs, in a few words."""
        names = [each.what for each in self.changes if each.level != NOTE]
        if self.computed is not None and self.computed.is_same is False:
            names.append("output")
        return f"differs: {', '.join(dict.fromkeys(names))}" if names else "same"


class ComparedModels(NamedTuple):
    """The nodes of two models: in pairs, and those alone with why that is no difference."""

    models: tuple[Model, Model]
    pairs: Sequence[ComparedPair]
    alone: tuple[Sequence[tuple[ModelNode, str]], ...]

    @property
    def is_same(self) -> bool:
        """Whether each node has a partner that is the same, or needs none."""
        folds = [fold for nodes in self.alone for _, fold in nodes]
        return all(folds) and all(each.is_same for each in self.pairs)


def run(
    options: ModelCompareOptions,
    reading: ModelOptions,
    memory: MemoryOptions,
    messages: Messages,
    model: str = MODEL,
    other: str = OTHER,
) -> Answer:
    """Compare the nodes of two models."""
    with ExitStack() as stack:
        models = []
        for path in (model, other):
            models.append(reading.read(path, memory))
            messages.notes += models[-1].notes
            stack.callback(models[-1].close)
        inputs = stack.enter_context(messages.inputs(memory.limits.memory, messages.progress()))
        stack.enter_context(messages)
        compared = _compared(models, options, inputs, memory.limits.result)
        inputs.recheck()
        for each in models:
            each.recheck()
    text, line = partial(compared_text, compared), partial(compared_json, compared)
    notes = dict.fromkeys(n.note for each in models for n in each.nodes if n.note)
    return Answer(text, line, notes=tuple(notes), status=int(not compared.is_same))


def _compared(
    models: Sequence[Model], options: ModelCompareOptions, inputs: Inputs, most: int | None
) -> ComparedModels:
    one, other = map(verdicts_of, models)
    found = paired(one, other)
    feeds = _Feeds(found, options.feed or (), inputs)
    pairs = []
    for n, each in enumerate(found):
        found_changes = tuple(changes(each, allow_outside=options.allow_outside))
        computed = _computed(each, feeds, n, most) if options.feed else None
        pairs.append(ComparedPair(each, found_changes, computed))
    matched = {id(verdict) for pair in found for verdict in pair[:2]}
    alone = tuple(
        [(v.node, _fold(v, own, left, feeds, most)) for v in verdicts if id(v) not in matched]
        for verdicts, own, left in ((one, models[0], models[1]), (other, models[1], models[0]))
    )
    return ComparedModels((models[0], models[1]), pairs, alone)


# Changes


def changes(pair: NodePair, *, allow_outside: bool = False) -> Iterator[NodeChange]:
    """Yield what differs between two nodes; notes are no differences."""
    one, other = pair.one.node, pair.other.node
    if one.operator != other.operator:
        yield NodeChange("operator", f"it is a {one.operator} → a {other.operator}")
        return
    for name in dict.fromkeys((*one.call_attributes, *other.call_attributes)):
        yield from _attribute_change(pair, name)
    for name, value in one.named_inputs.items():
        if name in other.named_inputs:
            yield from _input_changes(pair, name, value, other.named_inputs[name])
    words = pair.one.word, pair.other.word
    if words != (PROVEN, PROVEN) and one.op and other.op:
        fates = ("outside the axis", one.op.out_of_range.done, other.op.out_of_range.done)
        for where, *does in (fates, ("from -s to -1", one.op.negative, other.op.negative)):
            if does[0] != does[1]:
                message = f"an index {where} is {_both(*does)}"
                yield NodeChange("outside", message, NOTE if allow_outside else DIFFERENCE)
    if words[0] != words[1]:
        level = NOTE if {*words} == {PROVEN, AT_RUN_TIME} else DIFFERENCE
        texts = verdict_text(pair.one), verdict_text(pair.other)
        yield NodeChange("verdict", f"the verdict is {_both(*texts)}", level)


def _attribute_change(pair: NodePair, name: str) -> Iterator[NodeChange]:
    """Yield an attribute that differs, also once both are counted from the front."""
    values = [each.node.call_attributes.get(name, 0) for each in pair[:2]]
    fronts = [getattr(each.call, name, None) for each in pair[:2]]
    known = None not in fronts and "unknown" not in values
    if values[0] == values[1] or (known and fronts[0] == fronts[1]):
        return
    texts = ["at run time" if each == "unknown" else str(each) for each in values]
    yield NodeChange(name, f"`{name}` {_both(*texts)}")


def _input_changes(pair: NodePair, name: str, one: Value, other: Value) -> Iterator[NodeChange]:
    """Yield what differs in an input: its type, its shape, whether it is constant, its elements."""
    row = next(each for each in pair.one.node.family.ROWS[0].inputs if each.name == name)
    if one.dtype and other.dtype and one.dtype is not other.dtype:
        # The type of indices changes no element of the output.
        level = NOTE if row.values else DIFFERENCE
        yield NodeChange(name, f"`{name}` {one.dtype} → {other.dtype}", level)
    are_sizes = not row.values and pair.one.node.takes_sizes and pair.other.node.takes_sizes
    if conflict(one.shape, other.shape):
        # An index of a vector gives one element, whose rank a Squeeze or an Unsqueeze changes.
        shapes = one.shape, other.shape, pair.one.shape, pair.other.shape
        is_one = all(each.sizes in {(), (1,)} for each in shapes)
        level = NOTE if is_one or are_sizes else DIFFERENCE
        yield NodeChange(name, f"`{name}` has the shape {one.shape} → {other.shape}", level)
        if not is_one:
            return
    if one.unread or other.unread:
        yield NodeChange(name, f"`{name}` is not compared: {one.unread or other.unread}")
    elif one.constant and other.constant:
        yield from _constant_changes(pair, name, one.constant, other.constant)
    elif one.constant or other.constant:
        texts = ["constant" if each.constant else "given at run time" for each in (one, other)]
        yield NodeChange(name, f"`{name}` is {_both(*texts)}", NOTE if are_sizes else DIFFERENCE)


def _constant_changes(
    pair: NodePair, name: str, one: Constant, other: Constant
) -> Iterator[NodeChange]:
    """Yield the first element that differs; a note if both are one position on the axis."""
    tensors = one.read(), other.read()
    first = _first_difference(*tensors)
    if first is None:
        return
    where = cell(coordinates(first, one.shape))
    texts = [str(each.values().reshape(-1)[first]) for each in tensors]
    message = f"`{name}` at `{where}` is {_both(*texts)}"
    ones, twos = _positions(pair.one, name, tensors[0]), _positions(pair.other, name, tensors[1])
    if ones is not None and twos is not None and np.array_equal(ones, twos):
        yield NodeChange(name, f"{message}, the same position", NOTE)
    elif None in (_first_difference(*each, rounds=True) for each in (tensors, tensors[::-1])):
        yield NodeChange(name, f"{message}, as all elements are rounded to float16", NOTE)
    else:
        yield NodeChange(name, message)


@np.errstate(over="ignore")
def _first_difference(one: Tensor, other: Tensor, *, rounds: bool = False) -> int | None:
    """Return the flat position of the first element that differs, once one is float16 if asked."""
    parts = (row_major(each.array, MOST_COMPARED) for each in (one, other))
    for n, (a, b) in enumerate(zip(*parts, strict=True)):
        own = a.astype(np.float16).astype(a.dtype) if rounds and a.dtype.kind == "f" else a
        own = np.where(np.isfinite(own), own, a) if rounds and a.dtype.kind == "f" else own
        if (at := difference_at(Tensor(one.dtype, own), Tensor(other.dtype, b))) is not None:
            return n * MOST_COMPARED + at
    return None


def _positions(verdict: NodeVerdict, name: str, tensor: Tensor) -> AnyArray | None:
    """Return constant indices counted from the front; None for data, and sizes not known."""
    call = verdict.call
    if call is None or not next(each.values for each in call.op.inputs if each.name == name):
        return None
    axes = widest_axes(call, name)
    sizes = [int(each.size) for each in axes]
    if not axes or LARGEST in sizes or call.op.followed is not None:
        return None
    k, size = tensor.values().astype(np.int64), np.asarray(sizes if are_tuples(axes) else sizes[0])
    return np.where((k < 0) & (k >= -size) & call.wraps_negative, k + size, k)


def _both(one: str, other: str) -> str:
    """Write two texts, or the one that both are."""
    return one if one == other else f"{one} → {other}"


# Nodes without a partner


def _fold(verdict: NodeVerdict, own: Model, other: Model, feeds: _Feeds, most: int | None) -> str:
    """Say why a converter leaves out or adds a node without a partner; empty text if unknown."""
    if verdict.word != PROVEN or verdict.node.takes_sizes:
        return "it takes a size of a shape" if verdict.word == PROVEN else ""
    size = product(verdict.shape.sizes or ())
    new = {n: c for n, c in other.tensors.items() if n not in own.tensors and not c.unread}
    alike = [n for n, c in new.items() if product(c.shape) == size]
    output = _output(verdict.node, feeds, -1, most) if alike else ""  # nothing is fed to -1
    if not isinstance(output, Tensor):
        return ""
    for name in alike:
        pair = output, other.tensors[name].read()
        is_alike = pair[1].dtype.kind is output.dtype.kind
        if is_alike and None in (_first_difference(*pair, rounds=each) for each in (False, True)):
            return f"`{shown(name)}` has its elements"
    return ""


# Outputs


class _Feeds:
    """The tensors that are fed, by the inputs of pairs."""

    def __init__(self, pairs: Sequence[NodePair], words: Sequence[str], inputs: Inputs) -> None:
        self._inputs, self._read = inputs, dict[tuple[str, str], Tensor]()
        self._tokens: dict[tuple[int, str], str] = {}
        known = []  # inputs of pairs, with the names by which they can be fed
        roles = ((n, p, k) for n, p in enumerate(pairs) for k in p.one.node.named_inputs)
        for n, pair, name in roles:
            nodes = [each.node for each in pair[:2] if name in each.node.named_inputs]
            names = {f"{each.name}:{name}" for each in nodes}
            for each in nodes:
                own, *others = feed_names(name, each.named_inputs[name])
                names |= {*others, *([own] if len(pairs) == 1 else [])}  # which one pair has alone
            known.append((n, name, names))
        free = ((each.one.node, each.one.node.run_time_inputs) for each in pairs)
        best = {v.source or f"{node.name}:{name}": 0 for node, vs in free for name, v in vs.items()}
        for word in words:
            name, _, token = word.partition("=")
            fed = [(n, role) for n, role, names in known if name in names]
            if not fed or not token:
                what = f"`{clean(word)}` names no input of a pair"
                expected = listed(f"`{clean(each)}=`" for each in best) if best else "a pair"
                hint = "what is computed from an input of the model is fed by its own name"
                raise UsageError(what, subject="--feed", value=word, expected=expected, hint=hint)
            self._tokens |= dict.fromkeys(fed, token)

    def tensor(self, n: int, name: str, value: Value) -> Tensor | None:
        """Return an input of a node of pair `n`, fed or constant; None if it is neither."""
        token = self._tokens.get((n, name))
        if token is None:
            return value.constant.read() if value.constant and not value.unread else None
        key = typed_token(token, value), f"{value.dtype}"
        if key not in self._read:
            types = ElementTypes(value.dtype) if value.dtype else ElementTypes()
            self._read[key] = self._inputs.tensor(key[0], name, types)
        return self._read[key]


def _computed(pair: NodePair, feeds: _Feeds, n: int, most: int | None) -> ComputedPair:
    """Compute both nodes, each by its own version, and compare the bytes of their outputs."""
    found = []
    for verdict in pair[:2]:
        output = _output(verdict.node, feeds, n, most)
        if isinstance(output, str):
            return ComputedPair(f"not computed: {output}", is_same=None)
        found.append(output)
    one, other = found
    texts = [f"refused, {e.message}" if isinstance(e, GatherError) else f"{e}" for e in found]
    if isinstance(one, GatherError) or isinstance(other, GatherError):
        same = isinstance(one, GatherError) and isinstance(other, GatherError)
        return ComputedPair(f"the output is {_both(*texts)}", is_same=same)
    if one.dtype is not other.dtype or one.shape != other.shape:
        return ComputedPair(f"the output is {_both(*texts)}", is_same=False)
    first = _first_bytes(one, other)
    if first is None:
        return ComputedPair(f"the output is the same, {one}", is_same=True)
    where = cell(coordinates(first, one.shape))
    texts = [str(each.values().reshape(-1)[first]) for each in (one, other)]
    return ComputedPair(f"the output at `{where}` is {_both(*texts)}", is_same=False)


def _output(node: ModelNode, feeds: _Feeds, n: int, most: int | None) -> Tensor | GatherError | str:
    """Return the output of a node or why it refuses its inputs; a text if it lacks some."""
    if node.op is None or "unknown" in node.call_attributes.values():
        return f"`{shown(node.name)}` has no version, or an attribute that comes at run time"
    tensors = []
    for name, value in node.named_inputs.items():
        tensor = feeds.tensor(n, name, value)
        if tensor is None:
            return f"`{name}` of `{shown(node.name)}` is not fed"
        tensors.append(tensor)
    try:
        with CallContext(node.op):
            call = bind(node.op, *map(Operand.of, tensors), **node.call_attributes)
            return run_call(BoundCall(call, *tensors), max_bytes=most).whole()
    except OperatorError as error:
        return error


def _first_bytes(one: Tensor, other: Tensor) -> int | None:
    """Return the flat position of the first element whose bytes differ; of texts, whose value."""
    if one.dtype.kind is Kind.STRING:
        return difference_at(one, other)
    raw = (np.ascontiguousarray(each.array).reshape(-1).view(np.uint8) for each in (one, other))
    differs = np.flatnonzero(np.not_equal(*raw))
    return int(differs[0]) // one.array.itemsize if differs.size else None


# Reports

_HEADINGS: Final = ("node", "matched by", "version", "verdict", "outcome")
_STYLES: Final = (
    (r"(?m)^node .*", "bold"),
    (r"(?m)(?<=  )differs: .*$", terminal.ERROR_STYLE),
    (r"(?m)(?<=  )same$", "green"),
)


def compared_text(compared: ComparedModels, width: int | None, color: bool) -> str:
    """Format a table of the pairs, a line for each difference, and the nodes without a partner."""
    numbers = [len(compared.pairs) + len(nodes) for nodes in compared.alone]
    headings = map(heading, compared.models, numbers)
    parts = [wrapped("".join(headings), width)]
    if rows := [_row(each) for each in compared.pairs]:
        table = fitting([_HEADINGS, *rows], width)
        parts.append(table or "\n".join(block(_HEADINGS, row) for row in rows))
    if lines := "".join(f"{clean(cut(line))}\n" for line in _lines(compared)):
        parts.append(wrapped(lines, width))
    parts.append(wrapped(_total(compared), width))
    text = "\n".join(parts)
    return terminal.rendered(terminal.highlighted(text, _STYLES), color=True) if color else text


def _name(pair: NodePair) -> str:
    return _both(*(node_name(each.node) for each in pair[:2]))


def _row(compared: ComparedPair) -> tuple[str, ...]:
    one, other, how = compared.pair
    texts = [(str(each.node.op or each.node.operator), verdict_text(each)) for each in (one, other)]
    versions, verdicts = (_both(*each) for each in zip(*texts, strict=True))
    return _name(compared.pair), how, versions, verdicts, compared.outcome


def _lines(compared: ComparedModels) -> Iterator[str]:
    """Yield a line for each difference, each output, and each node without a partner."""
    for each in compared.pairs:
        for change in each.changes:
            note = "note: " if change.level == NOTE else ""
            yield f"{_name(each.pair)}: {note}{change.message}"
        if each.computed is not None:
            yield f"{_name(each.pair)}: {each.computed.message}"
    for model, nodes in zip(compared.models, compared.alone, strict=True):
        for node, fold in nodes:
            line = f"only in {clean(model.path)}, {node.op or node.operator}"
            yield f"{node_name(node)}: {f'note: {line}; {fold}' if fold else line}"
    if any(each.outcome == "differs: outside" for each in compared.pairs):
        yield "hint: `--allow-outside` takes what becomes of an index outside for a note"


def _total(compared: ComparedModels) -> str:
    """Count the pairs, and the nodes without a partner."""
    words = Counter(each.is_same for each in compared.pairs)
    parts = [f"{words[same]} {word}" for same, word in ((True, "same"), (False, "different"))]
    text = f"{counted(len(compared.pairs), 'pair')}: {', '.join(parts)}"
    for model, nodes in zip(compared.models, compared.alone, strict=True):
        notes = sum(bool(fold) for _, fold in nodes)
        remark = f" ({counted(notes, 'note')})" if notes else ""
        text += f"; {counted(len(nodes), 'node')} only in {clean(model.path)}{remark}" * bool(nodes)
    return text + "\n"


def compared_json(compared: ComparedModels) -> str:
    """Format both models as one line of JSON."""
    fields = {
        "models": [each.path for each in compared.models],
        "same": compared.is_same,
        "pairs": [_pair_json(each) for each in compared.pairs],
        "alone": [[node.name for node, fold in nodes if not fold] for nodes in compared.alone],
        "folded": [{node.name: fold for node, fold in nodes if fold} for nodes in compared.alone],
    }
    return json.dumps(fields) + "\n"


def _pair_json(compared: ComparedPair) -> dict[str, Any]:
    one, other, how = compared.pair
    nodes, computed = (one.node, other.node), compared.computed
    return {
        "nodes": [each.name for each in nodes],
        "matched_by": how,
        "versions": [each.op.full_name if each.op else None for each in nodes],
        "verdicts": [one.word, other.word],
        "same": compared.is_same,
        "changes": [
            {"what": each.what, "message": each.message, "level": each.level}
            for each in compared.changes
        ],
        "computed": computed and {"message": computed.message, "same": computed.is_same},
    }
