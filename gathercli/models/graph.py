"""The nodes of a model that are operators of the family, and what the model says of them.

::

    read(path)  ->  Model  ->  ModelNode  ->  Value  ->  Constant
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import text
from gathercli.errors import GatherError, Hint, InputError, LimitError, OperatorError, VersionError
from gathercli.frameworks.versions import find
from gathercli.io.files import File
from gathercli.io.graphs.graph import Constant, Value, check_held
from gathercli.models.bounds import Bounds
from gathercli.models.facts import Possible, Scope, integers, merged
from gathercli.ops import FAMILIES, attributes, bind
from gathercli.spec.call import Call, Operand
from gathercli.spec.dtypes import DType
from gathercli.spec.op import Op
from gathercli.spec.shapes import UNKNOWN, Shape, meet, product

if TYPE_CHECKING:
    from gathercli.compute.tensor import Tensor
    from gathercli.spec.call import Family

# The operators by their names in models: `GatherND`.
OPERATOR_FAMILIES: Final[dict[str, Family]] = {
    family.ROWS[0].name: family for family in FAMILIES.values()
}

# The attributes that an operator, or a rule of it, knows.
_KNOWN_ATTRIBUTES: Final = {name: attributes(each) for name, each in OPERATOR_FAMILIES.items()}
# Bytes of memory that a node of the family takes, as was measured, with two inputs and a name.
NODE_BYTES: Final = 1200
MOST_NODES: Final = 400_000  # the most nodes of a model
MAX_DEPTH: Final = 64  # the deepest body in a body
_ERROR_BYTES: Final = 2000  # and an error with its message
_MOST_CHECKED_BYTES: Final = 1 << 16  # the most bytes of data whose elements are checked


class ModelNode(NamedTuple):
    """A node of the family.

    Its attributes are those of the model by name; ``axis`` of an OpenVINO Gather, which is an
    input, is ``"unknown"`` unless it is constant. The inputs of the row come first, then an axis
    that is an input.
    """

    own_name: str  # as the model names it; it may be empty or repeated
    path: tuple[str, ...]  # nodes and bodies around it: ("If_3", "then_branch")
    framework: str  # onnx or openvino
    operator: str  # GatherND
    opset: int  # which resolves its version
    attributes: Mapping[str, Any]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]  # as the model declares it; else its shape is of unknown rank
    name: str = ""  # that no other node of the model has
    op: Op | None = None  # the row; None if the opset has no such operator
    error: VersionError | None = None  # why there is no row
    note: str | None = None  # on how the row was found
    faults: tuple[GatherError, ...] = ()  # what of it is missing or malformed
    call: Call | None = None  # once it is bound; None if a rule refuses the node
    possible: Mapping[int, Possible] = {}  # what inputs can be, by number
    # the j of ``x[i, j]`` on axes that the exporter has merged, unless it is never negative
    merged_indices: tuple[str, ...] = ()
    takes_sizes: bool = False  # whether its data are the shape of a value

    def resolved(self) -> ModelNode:
        """Return the node with the row of its opset, or the error."""
        try:
            op, note, _ = find(f"{self.framework}-{self.opset}", self.family.COMMAND)
        except VersionError as error:
            return self._replace(error=error)
        return self._replace(op=op, note=note, faults=tuple(_wrong_ports(self, op)))

    @property
    def family(self) -> Family:
        """The operator."""
        return OPERATOR_FAMILIES[self.operator]

    @property
    def is_template(self) -> bool:
        """Whether a function gets an attribute from its caller, so that no call can be bound."""
        return self.framework == "onnx" and "unknown" in self.attributes.values()

    @property
    def settings(self) -> dict[str, Any]:
        """The attributes, and the defaults of those that the model leaves out."""
        defaults = {each.name: each.default for each in self.op.attrs} if self.op else {}
        return {k: v for k, v in defaults.items() if v is not None} | dict(self.attributes)

    def forget(self) -> None:
        """Drop the elements of constant inputs that are in memory."""
        for value in self.inputs:
            if value.constant is not None:
                value.constant.forget()

    @property
    def named_inputs(self) -> dict[str, Value]:
        """The inputs by the names of the row; fewer if the node lacks some."""
        rows = (self.op or self.family.ROWS[0]).inputs
        return {row.name: value for row, value in zip(rows, self.inputs, strict=False)}

    @property
    def run_time_inputs(self) -> dict[str, Value]:
        """The inputs that come at run time, by name."""
        return {name: each for name, each in self.named_inputs.items() if each.constant is None}

    @property
    def call_attributes(self) -> dict[str, Any]:
        """The attributes of the call; ``unknown`` for one that comes at run time."""
        return {k: v for k, v in self.settings.items() if k in ("axis", "batch_dims")}

    @property
    def version(self) -> str | None:
        """The version for `--version`, which notes a newer opset; None without a row."""
        return f"{self.framework}-{self.opset}" if self.op is not None else None

    @property
    def unread(self) -> dict[str, str]:
        """The inputs with constants that decide but could not be read, by name, and why."""
        op = self.op or self.family.ROWS[0]
        deciding = [each.name for each in op.attrs if each.is_input]
        for each in op.inputs:
            # Of GatherTree what is copied decides nothing: the first input, and the end token.
            is_copied = each.copied or each is op.inputs[0]
            if each.values or (op.followed is not None and not is_copied):
                deciding.append(each.name)
        return {
            name: value.unread
            for name, value in zip(input_names(op), self.inputs, strict=False)
            if value.unread and name in deciding
        }


def input_names(op: Op) -> list[str]:
    """Return the names of the inputs of a row, those that are attributes elsewhere last."""
    axes = [each.name for each in op.attrs if each.is_input]
    return [*(each.name for each in op.inputs), *axes]


def _wrong_ports(node: ModelNode, op: Op) -> Iterator[OperatorError]:
    """Yield a number of inputs or outputs of a node that is not that of its row."""
    names = input_names(op)
    if len(node.inputs) != len(names):
        problem = f"it has {text.counted(len(node.inputs), 'input')}"
        expected = text.listed((f"`{name}`" for name in names), "and")
        yield OperatorError(problem, rule="inputs", value=len(node.inputs), expected=expected)
    number = sum(bool(each.name) for each in node.outputs)
    if number != 1 or len(node.outputs) > 1:
        problem = f"it has {text.counted(len(node.outputs), 'output') if number else 'no output'}"
        yield OperatorError(problem, rule="outputs", value=number, expected="one")


def unread_text(node: ModelNode) -> str:
    """Say which inputs of a node were not checked, and why; empty text if all were."""
    unread = node.unread
    if not unread:
        return ""
    names = text.listed((f"`{name}`" for name in unread), "and")
    verb = "are" if len(unread) > 1 else "is"
    return f"{names} {verb} not checked: {'; '.join(dict.fromkeys(unread.values()))}"


def unordered(sources: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return values, whose sources are given, and why an earlier node cannot have them."""
    sorter, ordered = TopologicalSorter(sources), set[str]()
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        ordered.update(ready)
        sorter.done(*ready)
    later, cycle = "which a later node defines", "which comes from a cycle of nodes"
    return {name: later if name in ordered else cycle for name in sources}


def unique_names(nodes: Iterable[ModelNode]) -> tuple[ModelNode, ...]:
    """Name each node: as the model does, by its output, by its path, else with a number.

    A name is used if it is neither empty nor that of another node.
    """
    nodes = tuple(nodes)
    choices = (
        [each.own_name for each in nodes],
        [each.outputs[0].name if each.outputs else "" for each in nodes],
        ["/".join((*each.path, each.own_name or each.operator)) for each in nodes],
    )
    counts = [Counter(names) for names in choices]
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    result = []
    for n, each in enumerate(nodes):
        candidates = [
            names[n]
            for names, count in zip(choices, counts, strict=True)
            if names[n] and count[names[n]] == 1 and names[n] not in taken
        ]
        last = choices[-1][n]
        name = candidates[0] if candidates else last
        while name in taken:
            numbers[last] += 1
            name = f"{last}:{numbers[last] + 1}"
        taken.add(name)
        result.append(each._replace(name=name))
    return tuple(result)


@dataclass
class Model:
    """A model, whose `held` and `number` count the memory and the nodes of what was read."""

    path: str
    format: str  # onnx or openvino
    version: int  # of its format: `ir_version` of ONNX, 10 or 11 of OpenVINO
    producer: str = ""  # the program that wrote it
    opsets: dict[str, int] = field(default_factory=dict)  # by domain; "" is ONNX itself
    nodes: tuple[ModelNode, ...] = ()  # of the family, in the order of the file
    tensors: dict[str, Constant] = field(default_factory=dict)  # of the same name, the first
    number: int = 0
    notes: list[str] = field(default_factory=list)  # of the reader
    malformed: dict[str, GatherError] = field(default_factory=dict)  # tensors, by message
    file: File | None = None  # those beside it are closed with it
    held: int = 0

    @property
    def limit(self) -> int | None:
        """The most bytes of memory."""
        return self.file.limit if self.file is not None else None

    def hold(self, nbytes: int) -> None:
        """Count bytes of memory; raise LimitError if there are more than `limit`."""
        self.held += nbytes
        check_held(self.held, self.limit)

    def count_node(self) -> None:
        """Count a node; raise LimitError if there are too many."""
        self.number += 1
        if self.number > MOST_NODES:
            raise LimitError(f"the model has more than {MOST_NODES} nodes", expected="fewer")

    def add_malformed(self, error: GatherError) -> None:
        """Keep why a tensor is malformed, once."""
        self.hold(_ERROR_BYTES)
        self.malformed.setdefault(error.message, error)

    def close(self) -> None:
        """Close the files; mapped tensors stay valid."""
        if self.file is not None:
            self.file.close()

    def recheck(self) -> None:
        """Raise `TransferError` if a file changed since it was opened."""
        if self.file is not None:
            self.file.recheck()

    def node(self, name: str | None) -> ModelNode:
        """Return the node of a name, else that whose own name or output it is; None: the only one.

        Raise InputError if no node has the name, or several have; VersionError if the opset of the
        node lacks the operator.
        """
        nodes = [each for each in self.nodes if name in (None, each.name)]
        nodes = nodes or [
            each
            for each in self.nodes
            if name in (each.own_name, *(output.name for output in each.outputs))
        ]
        if len(nodes) != 1:
            raise self._no_single_node(name, [each.name for each in nodes])
        if nodes[0].error is not None:
            raise nodes[0].error
        return nodes[0]

    def _no_single_node(self, name: str | None, names: list[str]) -> InputError:
        """Return the error for the `names` of several nodes, or none, in place of one."""
        known = names or [each.name for each in self.nodes]
        listing = text.some(f"`{text.clean(each)}`" for each in known)
        if name is None:
            what, expected = text.counted(len(known), "node"), f"the name of one, {listing}"
            near, hint = next(filter(text.can_be_argument, known), None), "{source} is the first"
        else:
            number = text.counted(len(names), "node", exact=True) if names else "no node"
            what, expected = f"{number} `{text.clean(text.short(name))}`", listing
            near = text.closest_member(name, filter(text.can_be_argument, known))
            hint = "did you mean {source}?"
        alone = hint.replace("{source}", f"`{text.json_string(near or '')}`")  # as Python takes it
        if not known:
            expected = "one" if name is None else "a model that has one"
        value = self.path if name is None else name
        what = f"`{text.clean(self.path)}` has {what} of the Gather family"
        advice = Hint(hint, source=f"{self.path}#{near}", python=alone) if near else None
        return InputError(what, value=value, expected=expected, hint=advice)


def with_call(node: ModelNode) -> ModelNode:
    """Return a node with its call, unless a rule refuses it, or it is not whole."""
    if node.is_template or node.faults:
        return node
    try:
        return node._replace(call=bound(node))
    except GatherError:
        return node


def output_of(node: ModelNode) -> Value | None:
    """Return the output as it is declared and inferred; None for a node without a call."""
    if node.call is None or not node.outputs:
        return None
    claimed = any(each.claimed for each in node.inputs)
    inferred = Value("", node.call.data.dtype, node.call.shape, inferred=True, claimed=claimed)
    return merged(node.outputs[0], inferred)


def lacks_facts(node: ModelNode) -> bool:
    """Tell whether inference may say more of the inputs of a node."""
    return any(
        number
        or value.dtype is None
        or value.shape.rank is None
        or UNKNOWN in value.shape
        or value.claimed
        for number, value in enumerate(node.inputs)
        if value.constant is None
    )


def watched(constant: Constant, place: str, where: str) -> Constant:
    """Return a stored constant that says in the errors of its elements which one it is."""
    if constant.mapped or constant.unread:  # whose elements are never malformed, or never read
        return constant

    def load() -> Tensor:
        try:
            return constant.read()
        except GatherError as error:
            raise placed(error, place, where) from None

    return Constant(constant.dtype, constant.shape, load, limit=constant.limit)


def placed(error: GatherError, place: str, where: str) -> GatherError:
    """Add the name and the position of a tensor to an error of it."""
    error.prefix(place)
    error.where = where
    return error


def fits(node: ModelNode, dtype: DType) -> bool:
    """Tell whether the data of a node are known to fit a type, or are the sizes of a shape."""
    constant, possible = node.inputs[0].constant, node.possible.get(0)
    bounds = possible.bounds if possible else None
    if constant and not constant.unread and constant.nbytes <= _MOST_CHECKED_BYTES:
        array = constant.tensor().array
        bounds = Bounds.of(array.min(initial=0), array.max(initial=0))
    if bounds is None or not dtype.integral:
        return False
    if bounds.low.ndim == 1:  # as those of sizes have, which memory keeps below
        return bool((bounds.low >= 0).all())
    return bool((bounds.low >= dtype.bounds[0]).all() and (bounds.high <= dtype.bounds[1]).all())


def conflict(declared: Shape, inferred: Shape) -> str:
    """Say where two shapes of one tensor contradict each other; empty text if nowhere."""
    if declared.rank is None or inferred.rank is None:
        return ""
    if declared.rank != inferred.rank:
        return f"expected rank {inferred.rank}"
    for d, (one, other) in enumerate(zip(declared, inferred, strict=True)):
        if meet(one, other) is None:
            return f"expected {other} as dimension {d}"
    return ""


def bound(node: ModelNode) -> Call:
    """Bind the call of a node, whose shapes and axis may be unknown.

    Raise GatherError if a rule refuses the node, or its opset has no such operator.
    """
    if node.op is None:
        raise node.error or LookupError(node.operator)
    known = _KNOWN_ATTRIBUTES[node.operator] if node.attributes else ()
    attrs = tuple((name, value) for name, value in node.attributes.items() if name in known)
    operands = tuple(value.operand for value in node.named_inputs.values())
    # 1, 1.0 and True are one key, and lists are none.
    same = all(type(value) is int for _, value in attrs)
    return (_bind if same else _bind.__wrapped__)(node.op, operands, attrs)


@lru_cache(1024)
def _bind(op: Op, operands: tuple[Operand, ...], attrs: tuple[tuple[str, Any], ...]) -> Call:
    """Bind a call; nodes with equal operands and integers as attributes share it."""
    return bind(op, *operands, shapes_only=True, **dict(attrs))


# The index that exporters write for ``x[i, j]``: a Gather of ``i * n + j`` on merged axes

MERGING_OPERATORS: Final = ("Flatten", "Reshape")
TRACED_OPERATORS: Final = (*MERGING_OPERATORS, "Transpose", "Shape", "Gather", "Add", "Mul")
_MOST_TERMS, _MOST_FACTORS = 16, 3  # of the sum that is an index, of its sizes
_UNKNOWN_SIZE: Final = 1 << 20  # stands for a size that is not known beside one that is


def merged_indices(node: ModelNode, scope: Scope) -> tuple[str, ...]:
    """Return what is added to ``i * n`` in an index on merged axes, unless it is never negative.

    n is the size of one of those axes, or a product of sizes.
    """
    if node.operator != "Gather" or node.attributes.get("axis", 0) or len(node.inputs) < 2:
        return ()
    data = (*scope.makers.get(node.inputs[0].name, ()), "", "")[1]
    operator, *before = scope.makers.get(data, ("",))
    data = before[0] if operator == "Transpose" and before else data
    strides: list[tuple[int, str]] = []  # with the index that each belongs to
    added: list[str] = []
    for term in _terms(node.inputs[1].name, scope):
        operator, *factors = scope.makers.get(term, ("",))
        pairs = zip(factors, reversed(factors), strict=True) if operator == "Mul" else ()
        found = [(n, each) for each, size in pairs if (n := _stride(size, data, scope)) > 1]
        strides += found[:1]
        added += [] if found else [term]
    if not strides or not added:
        return ()
    _, *others = sorted(strides, reverse=True)
    later = (*(each for _, each in others), *added)
    return tuple(name for name in later if not _is_natural(name, scope))


def _terms(name: str, scope: Scope) -> list[str]:
    """Return the values whose sum a value is; of a long sum some are sums again."""
    terms, waiting = list[str](), [name]
    for each in waiting:  # which grows
        operator, *inputs = scope.makers.get(each, ("",))
        is_sum = operator == "Add" and len(waiting) < _MOST_TERMS
        (waiting if is_sum else terms).extend(inputs if is_sum else [each])
    return terms


def _stride(name: str, data: str, scope: Scope, depth: int = 0) -> int:
    """Return the product of sizes of `data` that a value is; 0 if it is none."""
    operator, *inputs = scope.makers.get(name, ("",))
    if operator == "Gather" and scope.makers.get("".join(inputs[:1])) == ("Shape", data):
        return _UNKNOWN_SIZE
    if operator == "Mul" and depth < _MOST_FACTORS:
        return product([_stride(each, data, scope, depth + 1) for each in inputs[:2]])
    sizes = [each for each in scope.value(data).shape if isinstance(each, int)]
    ends = range(len(sizes) + 1)
    products = {product(sizes[start:stop]) for start in ends for stop in ends}
    numbers = integers(scope.value(name)) or []
    return numbers[0] if len(numbers) == 1 and numbers[0] in products else 0


def _is_natural(name: str, scope: Scope) -> bool:
    """Tell whether a value is known to have no negative element."""
    numbers = integers(scope.value(name))
    possible = scope.facts.possible.get(name)
    if numbers is None and possible and possible.bounds:
        return bool((possible.bounds.low >= 0).all())
    return numbers is not None and min(numbers, default=0) >= 0
