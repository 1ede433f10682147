"""OpenVINO IR: a program as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli.translate.graph import (
    Row,
    graph_of,
    zeros_from,
)

if TYPE_CHECKING:
    from gathercli.io.graph import Graph
    from gathercli.translate.program import Program, Step

_NUMPY: Final = {"auto_broadcast": "numpy"}


def _element(operator: str) -> Row:
    return Row(operator, lambda _: _NUMPY)


def _masks(step: Step) -> dict[str, str]:
    """Return the attributes of a StridedSlice that takes every start and every end."""
    none = ",".join("0" for _ in step.output.shape)
    masks = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    return dict.fromkeys(masks, none)


def _narrowed(step: Step) -> list[Any]:
    """Return the starts, the ends and the steps of a StridedSlice."""
    rank = len(step.output.shape)
    return [[0] * rank, list(step.output.shape), [1] * rank]


ROWS: Final = {
    "cast": Row("Convert", lambda _: {"destination_type": "i64"}),
    "add": _element("Add"),
    "multiply": _element("Multiply"),
    "modulo": _element("FloorMod"),
    "minimum": _element("Minimum"),
    "maximum": _element("Maximum"),
    "less": _element("Less"),
    "at_least": _element("GreaterEqual"),
    "either": _element("LogicalOr"),
    "where": _element("Select"),
    "total": Row("ReduceSum", lambda _: {"keep_dims": "false"}, lambda _: [-1]),
    "concat": Row("Concat", lambda step: {"axis": step.settings["axis"]}),
    # No Slice, which a plugin removes before a GatherElements, and then refuses the sizes.
    "narrow": Row("StridedSlice", _masks, _narrowed, takes=1),
    "merge": Row(
        "Reshape", lambda _: {"special_zero": "false"}, lambda step: [list(step.output.shape)]
    ),
    "unsqueeze": Row("Unsqueeze", constants=lambda _: [-1]),
    "transpose": Row("Transpose", constants=lambda step: [list(step.settings["order"])]),
    "gather": Row(
        "Gather",
        lambda step: {"batch_dims": step.settings["batch_dims"]},
        lambda step: [step.settings["axis"]],
    ),
    "gather_elements": Row("GatherElements", lambda step: {"axis": step.settings["axis"]}),
    "gather_nd": Row("GatherND", lambda step: {"batch_dims": step.settings["batch_dims"]}),
    "gather_tree": Row("GatherTree"),
}

OPSETS: Final = {"Gather": 8, "GatherElements": 6, "GatherND": 8, "Broadcast": 3}
"""The opsets of operators whose first version is not taken."""


_BROADCAST: Final = zeros_from("Broadcast", mode="numpy")
SPECIAL: Final = {"zeros": _BROADCAST, "no_tuples": _BROADCAST}


def ir_graph(program: Program) -> Graph:
    """Return the graph of a program."""
    return graph_of(program, ROWS, SPECIAL)
