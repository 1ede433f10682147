"""Hypotheses about the call: another operator, axis or batch_dims, or a part of it left out."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import OperatorError
from gathercli.ops import FAMILIES, engine, gather, gather_elements, gather_nd
from gathercli.spec.call import Call, Operand
from gathercli.spec.shapes import Shape, product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.spec.op import Op

_ROWS: Final = {
    row.family: row for row in (gather.OPENVINO_8, gather_elements.ONNX_13, gather_nd.OPENVINO_8)
}
"""The row of each operator that refuses the fewest shapes."""


class Frame(NamedTuple):
    """A hypothesis about the call.

    Attributes
    ----------
    name, sentence
        The name, and what is called in place of the call; both empty for the call itself.
    departures
        The number of its differences from the call.
    row, attrs
        The row that is called, and its attributes.
    flat
        Whether `data` is read as one dimension.
    ignores
        What GatherTree ignores: ``lengths``, ``end`` or ``parents``.
    """

    name: str
    sentence: str
    departures: int
    row: Op
    attrs: dict[str, Any]
    flat: bool = False
    ignores: str = ""

    def call(self, inputs: dict[str, tuple[int, ...]]) -> Call | None:
        """Bind the call to inputs of these shapes; None if the row refuses them."""
        shapes = list(inputs.values())
        if self.flat:
            shapes[0] = (product(shapes[0]),)
        operands = [Operand(Shape(shape)) for shape in shapes]
        policies = {"out_of_range": "zero"} if self.row.one_type else {}
        with suppress(OperatorError):
            return engine.bind(self.row, *operands, shapes_only=True, **policies, **self.attrs)
        return None


def frames(call: Call | None, row: Op, attrs: dict[str, Any]) -> Iterator[Frame]:
    """Yield the call itself, if it is legal, and the calls that differ from it.

    Parameters
    ----------
    call
        The call, whose shapes are known; None if the version refuses it.
    row, attrs
        Its row and its attributes, as passed.
    """
    if call is not None:
        yield Frame("", "", 0, row, attrs)
    if row.one_type:
        yield from _trees(row)


def other_frames(call: Call | None, row: Op, data: tuple[int, ...], rank: int) -> Iterator[Frame]:
    """Yield the calls of operators on data and indices that differ from a call.

    Parameters
    ----------
    data, rank
        The shape of `data`, and the rank of `indices`.
    """
    if row.one_type:
        return
    axis = None if call is None else call.axis
    b = 0 if call is None or call.batch_dims is None else call.batch_dims
    for family, other in _ROWS.items():
        axes = range(len(data)) if other.attr("axis") else [None]
        batches = range(min(len(data), rank) + 1) if other.attr("batch_dims") else [None]
        for each in axes:
            for batch in batches:
                changes = _changes(row, family, (axis, each), (b, batch))
                if not changes and call is not None:
                    continue
                settings = {"axis": each, "batch_dims": batch}
                settings = {name: value for name, value in settings.items() if value is not None}
                text = "  ".join(f"{name} {value}" for name, value in settings.items())
                name = f"{FAMILIES[family].ROWS[0].name} {text}".strip()
                yield Frame(name, f"the call is {name}", max(1, len(changes)), other, settings)
    yield Frame(
        "flattened",
        "data is flattened, and gathered along its only axis",
        1,
        gather.OPENVINO_8,
        {"axis": 0},
        flat=True,
    )


def _changes(row: Op, family: str, axes: tuple[Any, Any], batches: tuple[Any, Any]) -> list[str]:
    """Return the names of what differs; an attribute that either call lacks does not."""
    changes = ["operator"] if family != row.family else []
    if None not in axes and axes[0] != axes[1]:
        changes.append("axis")
    if (batches[1] is not None or family == row.family) and batches[0] != (batches[1] or 0):
        changes.append("batch_dims")
    return changes


def _trees(row: Op) -> Iterator[Frame]:
    for ignores, sentence in (
        ("lengths", "max_seq_len is ignored"),
        ("end", "tokens after the first end token are kept"),
        ("parents", "parents are ignored"),
    ):
        yield Frame(f"{ignores} ignored", sentence, 1, row, {}, ignores=ignores)
