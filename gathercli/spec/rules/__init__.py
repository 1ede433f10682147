"""The rules of the operators, one small function each: `attributes` and `tensors`.

A rule takes a `Call` and raises if the row of its operator refuses it. A rank or an axis that is
not known yet refuses nothing. The name of the function is that of the rule; each family of
`gathercli.ops` lists its own. Those on the values of indices are in `adjustments`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

STATEMENTS: Final = {
    "data-dtype": "`data` has an element type of the version's list.",
    "indices-dtype": "`indices` has an integer type of the version's list.",
    "tree-dtype": "All inputs of GatherTree are numbers of one type.",
    "data-rank": "`data` has rank 1 or more.",
    "indices-rank": "`indices` of GatherElements have the rank of `data`; Gather's have any rank, "
    "GatherND's 1 or more.",
    "axis-unsupported": "No axis is given to a version that has none.",
    "axis-required": "An axis is given where the version has no default.",
    "axis-type": "The axis is one integer.",
    "axis-range": "The axis is between -r and r-1, for `data` of rank r.",
    "batch-dims-unsupported": "batch_dims is given to a version that has it.",
    "batch-dims-range": "batch_dims is between -M and M, for `indices` of rank M; of GatherND "
    "it is 0 or more, and less than both ranks.",
    "batch-dims-axis": "batch_dims is not beyond the axis, both counted from the front.",
    "indices-depth": "The last dimension of GatherND's `indices` is at most the number of "
    "dimensions of `data` behind the batch; for ONNX it is 1 or more.",
    "batch-shape": "The first batch_dims dimensions of `data` and `indices` are equal.",
    "elements-shape": "Beside the axis, the dimensions of GatherElements' `indices` fit those of "
    "`data`.",
    "tree-shape": "The inputs of GatherTree have the shapes [T,B,W], [T,B,W], [B] and [].",
    "integer-values": "The inputs of GatherTree hold whole numbers.",
    "index-negative": "No index is negative, where `--negative error` asks for that.",
    "index-range": "Every index lies on the axis, where the version or `--out-of-range` does not "
    "replace it.",
    "limit": "What is held, and a result, stays below `--max-bytes`, the rank below 65.",
}
"""What every rule says, by its name, in the order they are checked.

No docstrings, which ``-OO`` strips.
"""

VALUE_RULES: Final = ("integer-values", "index-negative", "index-range")
"""The rules that read elements; those before them only read shapes, types and attributes."""
