"""The nodes of a model that are operators of the family, and what the model says of their inputs.

::

    read(path)  ->  Model  ->  ModelNode  ->  Value  ->  Constant
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import Hint, InputError, LimitError, VersionError
from gathercli.ops import FAMILIES, find
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape, product
from gathercli.text import clean, closest_member, counted, in_bytes, short, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gathercli.io.files import File
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Family, Op
    from gathercli.tensor import Tensor

OPERATOR_FAMILIES: Final[dict[str, Family]] = {
    family.ROWS[0].name: family for family in FAMILIES.values()
}
"""The operators by their names in models: ``GatherND``."""


MOST_NODES: Final = 400_000
"""The most nodes of a model."""

MAX_DEPTH: Final = 64
"""The deepest body in a body."""

NODE_BYTES: Final = 1200
"""Bytes of memory that a node of the family takes, as was measured, with two inputs and a name."""

COPIES: Final = 4
"""Copies in memory of elements that are converted: the values, the result, their comparison."""


class Constant:
    """A tensor that a model stores, or that follows from one; its elements are read on demand.

    Parameters
    ----------
    dtype, shape
        The type and the shape.
    load
        A function that reads the tensor; it raises `GatherError` if the elements are malformed.
    unread
        Why the elements cannot be read: they are in a file that is not opened, or take more memory
        than `limit`. Empty if they can.
    mapped
        Whether the tensor is a view of the file; else its elements are held in memory.
    depth
        The number of nodes between a stored tensor and this one.
    limit
        The most bytes of memory that the elements may take; None for no limit.

    Attributes
    ----------
    default
        Whether the elements are the default of an input of the model, which a caller may replace.
    counts
        The counts of the elements as indices, by policies: many nodes may have the same indices.
    """

    __slots__ = (
        "_load",
        "_tensor",
        "counts",
        "default",
        "depth",
        "dtype",
        "limit",
        "mapped",
        "shape",
        "unread",
    )

    def __init__(
        self,
        dtype: DType,
        shape: tuple[int, ...],
        load: Callable[[], Tensor],
        unread: str = "",
        *,
        mapped: bool = False,
        depth: int = 0,
        limit: int | None = None,
        default: bool = False,
    ) -> None:
        self.dtype, self.shape, self.unread, self.mapped = dtype, shape, unread, mapped
        self.depth, self.limit, self.default = depth, limit, default
        self._load = load
        self._tensor: Tensor | None = None
        self.counts: dict[Any, Any] = {}
        if not unread and limit is not None and self.copied > limit:
            self.unread = f"its elements take {in_bytes(self.copied)} of memory, more than {limit}"

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes, one each for the types of less than 8 bits."""
        return product(self.shape) * self.dtype.itemsize

    @property
    def copied(self) -> int:
        """The bytes of memory that reading the elements takes; 0 if they are mapped."""
        return 0 if self.mapped else COPIES * self.nbytes

    def tensor(self) -> Tensor:
        """Return the tensor, and keep it until `forget`; stored elements are mapped, not copied."""
        if self._tensor is None:
            self._tensor = self.read()
        return self._tensor

    def read(self) -> Tensor:
        """Return the tensor without keeping it.

        Raises
        ------
        LimitError
            The elements take more memory than `limit`.
        """
        if self._tensor is not None:
            return self._tensor
        if self.limit is not None and self.copied > self.limit:
            what = f"{in_bytes(self.nbytes)} would take {self.copied} when converted"
            raise LimitError.over(what, self.copied, self.limit)
        return self._load()

    def forget(self) -> None:
        """Drop elements that are in memory: the next call of `tensor` reads them again."""
        if not self.mapped:
            self._tensor = None

    def __repr__(self) -> str:
        return f"<Constant {self.dtype.short}{Shape(self.shape)}>"


class Value(NamedTuple):
    """An input or an output of a node.

    Attributes
    ----------
    name
        The name in the model; empty for an input that is left out.
    dtype, shape
        The type, or None if it is not known, and the shape.
    constant
        The tensor, if the model decides it.
    inferred
        Whether the shape was inferred; else the model declares it.
    unread
        Why the elements are not known, though the model decides them; empty if that is not so.
    """

    name: str
    dtype: DType | None = None
    shape: Shape = Shape.of_unknown_rank()
    constant: Constant | None = None
    inferred: bool = False
    unread: str = ""

    @classmethod
    def of(cls, name: str, constant: Constant) -> Value:
        """Return the value of a constant."""
        shape = Shape(constant.shape)
        return cls(name, constant.dtype, shape, constant, unread=constant.unread)

    def unread_from(self, inputs: Iterable[Value]) -> Value:
        """Return the output of a node that could be constant, but for `inputs` that are unread."""
        inputs = list(inputs)
        reasons = [each.unread for each in inputs if each.unread]
        decided = all(each.unread or each.constant for each in inputs)
        return self._replace(unread=reasons[0]) if reasons and decided else self

    @property
    def operand(self) -> Operand:
        """The shape and type, for a call."""
        return Operand(self.shape, self.dtype)


class ModelNode(NamedTuple):
    """A node of the family.

    Attributes
    ----------
    name
        A name that no other node of the model has.
    own_name
        The name that the model gives the node; it may be empty or repeated.
    path
        The nodes and bodies around it: ``("If_3", "then_branch")``; empty in the main graph.
    framework, operator, opset
        ``onnx``, ``GatherND`` and the opset that resolves its version.
    op
        The row; None if the opset has no such operator.
    error
        Why there is no row.
    note
        A note on how the row was found.
    attributes
        The attributes as the model has them, by name; ``axis`` of an OpenVINO Gather, which is an
        input, is ``"unknown"`` unless it is constant.
    inputs
        The inputs in order; those of the row come first, then an axis that is an input.
    outputs
        The output, as the model declares it; its shape is of unknown rank if it does not.
    call
        The call, once it is bound; None if a rule refuses the node, or nobody bound it.
    """

    name: str
    own_name: str
    path: tuple[str, ...]
    framework: str
    operator: str
    opset: int
    op: Op | None
    error: VersionError | None
    note: str | None
    attributes: Mapping[str, Any]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    call: Call | None = None

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
    def unread(self) -> dict[str, str]:
        """The inputs with constants that decide but could not be read, by name, and why."""
        op = self.op or self.family.ROWS[0]
        axes = [each.name for each in op.attrs if each.is_input]
        deciding = [each.name for each in op.inputs if each.values or op.followed is not None]
        names = [each.name for each in op.inputs] + axes
        return {
            name: value.unread
            for name, value in zip(names, self.inputs, strict=False)
            if value.unread and name in (*deciding, *axes)
        }


def node(  # noqa: PLR0917  (the fields of a node)
    own_name: str,
    path: tuple[str, ...],
    framework: str,
    operator: str,
    opset: int,
    attributes: Mapping[str, Any],
    inputs: Iterable[Value],
    outputs: Iterable[Value],
) -> ModelNode:
    """Return a node with the row that its opset resolves to; `unique_names` names it."""
    op = error = note = None
    try:
        op, note = find(f"{framework}-{opset}", OPERATOR_FAMILIES[operator].COMMAND)
    except VersionError as absent:
        error = absent
    return ModelNode(
        own_name,
        own_name,
        path,
        framework,
        operator,
        opset,
        op,
        error,
        note,
        attributes,
        tuple(inputs),
        tuple(outputs),
    )


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


def check_held(nbytes: int, limit: int | None) -> None:
    """Raise LimitError if what is read of a model takes more bytes of memory than `limit`."""
    if limit is not None and nbytes > limit:
        what = f"the parts of the model take {in_bytes(nbytes)} or more to be held in memory"
        raise LimitError.over(what, nbytes, limit)


@dataclass
class Model:
    """A model.

    Attributes
    ----------
    path, format
        Its file, and ``onnx`` or ``openvino``.
    version
        The version of its format: `ir_version` of ONNX, 10 or 11 of OpenVINO.
    producer
        The program that wrote it; may be empty.
    opsets
        The opset of each domain; that of ONNX itself is ``""``. Layers of OpenVINO have one each.
    nodes
        The nodes of the family in the order of the file, each under a unique name.
    tensors
        The initializers and constants by name; the first of those with the same name.
    number
        The number of all nodes.
    notes
        Notes of the reader, for example on a missing .bin.
    file
        The open file; those beside it are closed with it.
    held
        The bytes of memory that what was read takes, about.
    """

    path: str
    format: str
    version: int
    producer: str = ""
    opsets: dict[str, int] = field(default_factory=dict)
    nodes: tuple[ModelNode, ...] = ()
    tensors: dict[str, Constant] = field(default_factory=dict)
    number: int = 0
    notes: list[str] = field(default_factory=list)
    file: File | None = None
    held: int = 0

    def hold(self, nbytes: int) -> None:
        """Count bytes of memory; raise LimitError if there are more than the file may take."""
        self.held += nbytes
        check_held(self.held, self.file.limit if self.file is not None else None)

    def count_node(self) -> None:
        """Count a node; raise LimitError if there are too many."""
        self.number += 1
        if self.number > MOST_NODES:
            raise LimitError(
                f"the model has more than {MOST_NODES} nodes", rule="limit", expected="fewer"
            )

    def close(self) -> None:
        """Close the files; mapped tensors stay valid."""
        if self.file is not None:
            self.file.close()

    def recheck(self) -> None:
        """Raise `TransferError` if a file changed since it was opened."""
        if self.file is not None:
            self.file.recheck()

    def only_node(self) -> ModelNode:
        """Return the only node; raise InputError if there are several, or none."""
        if len(self.nodes) == 1:
            return self.nodes[0]
        names = [each.name for each in self.nodes]
        number = counted(len(names), "node")
        raise InputError(
            f"`{clean(self.path)}` has {number} of the Gather family",
            rule="format",
            value=self.path,
            expected=f"the name of one, {some(f'`{clean(each)}`' for each in names)}"
            if names
            else "one",
            hint=Hint("{source} is the first", source=f"{self.path}#{names[0]}") if names else None,
        )

    def node(self, name: str) -> ModelNode:
        """Return the node of a name, or of the name that the model gives it, or its output.

        Raises
        ------
        InputError
            No node has the name, or several have.
        """
        nodes = [each for each in self.nodes if name == each.name]
        nodes = nodes or [
            each
            for each in self.nodes
            if name in (each.own_name, *(output.name for output in each.outputs))
        ]
        if len(nodes) == 1:
            return nodes[0]
        known = [each.name for each in nodes or self.nodes]
        near = closest_member(name, known)
        what = (
            f"{counted(len(nodes), 'node', exact=True)} `{clean(short(name))}`"
            if nodes
            else (f"no node `{clean(short(name))}`")
        )
        raise InputError(
            f"`{clean(self.path)}` has {what} of the Gather family",
            rule="format",
            value=name,
            expected=some(f"`{clean(each)}`" for each in known)
            if known
            else "a model that has one",
            hint=Hint("did you mean {source}?", source=f"{self.path}#{near}") if near else None,
        )
