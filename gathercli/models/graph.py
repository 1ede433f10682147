"""The nodes of a model that are operators of the family, and what the model says of their inputs.

::

    read(path)  ->  Model  ->  ModelNode  ->  Value  ->  Constant
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import Hint, InputError, VersionError
from gathercli.io.graph import Budget, Constant, Value
from gathercli.ops import FAMILIES, find
from gathercli.text import can_be_argument, clean, closest_member, counted, short, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gathercli.io.files import File
    from gathercli.spec.call import Call, Family
    from gathercli.spec.op import Op

OPERATOR_FAMILIES: Final[dict[str, Family]] = {
    family.ROWS[0].name: family for family in FAMILIES.values()
}
"""The operators by their names in models: ``GatherND``."""


NODE_BYTES: Final = 1200
"""Bytes of memory that a node of the family takes, as was measured, with two inputs and a name."""


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


@dataclass
class Model(Budget):
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

    @property
    def limit(self) -> int | None:
        """The most bytes of memory."""
        return self.file.limit if self.file is not None else None

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
        first = next(filter(can_be_argument, names), None)
        raise InputError(
            f"`{clean(self.path)}` has {number} of the Gather family",
            rule="format",
            value=self.path,
            expected=f"the name of one, {some(f'`{clean(each)}`' for each in names)}"
            if names
            else "one",
            hint=Hint("{source} is the first", source=f"{self.path}#{first}") if first else None,
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
        near = closest_member(name, filter(can_be_argument, known))
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
