from __future__ import annotations

import inspect
import traceback
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from gathercli import errors, gather, gather_elements, gather_nd, gather_tree, infer_shape
from gathercli.spec import rules

if TYPE_CHECKING:
    from collections.abc import Callable

ORDER: Final = (
    "version",
    "data-dtype",
    "indices-dtype",
    "tree-dtype",
    "data-rank",
    "indices-rank",
    "axis-unsupported",
    "axis-required",
    "axis-type",
    "axis-range",
    "batch-dims-unsupported",
    "batch-dims-range",
    "batch-dims-axis",
    "indices-depth",
    "batch-shape",
    "elements-shape",
    "tree-shape",
    "integer-values",
    "index-negative",
    "index-range",
    "limit",
)
CLASSES: Final[dict[str, type[errors.GatherError]]] = {
    "version": errors.VersionError,
    "data-dtype": errors.DtypeError,
    "indices-dtype": errors.DtypeError,
    "tree-dtype": errors.DtypeError,
    "data-rank": errors.RankError,
    "indices-rank": errors.RankError,
    "axis-unsupported": errors.AxisError,
    "axis-required": errors.AxisError,
    "axis-type": errors.AxisError,
    "axis-range": errors.AxisError,
    "batch-dims-unsupported": errors.BatchDimsError,
    "batch-dims-range": errors.BatchDimsError,
    "batch-dims-axis": errors.BatchDimsError,
    "indices-depth": errors.IndicesDepthError,
    "batch-shape": errors.BatchDimsError,
    "elements-shape": errors.ElementsShapeError,
    "tree-shape": errors.TreeShapeError,
    "integer-values": errors.OutOfRangeError,
    "index-negative": errors.OutOfRangeError,
    "index-range": errors.OutOfRangeError,
    "limit": errors.LimitError,
}
NO_BFLOAT16: Final = np.zeros(1, ml_dtypes.bfloat16)
HUGE: Final = np.zeros((0, 2**62), np.int8)
INTEGERS: Final = "int8, int16, int32, int64, uint8, uint16, uint32 or uint64"
EVERY_TYPE: Final = (
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, "
    "float64, complex64, complex128 or string"
)
TREE: Final = ("[2,1,2]", "[2,1,2]", "[1]", "[]")
"""The shapes of the inputs of GatherTree."""
STEPS: Final = [[[1, 2]], [[3, 4]]]
PARENTS: Final = [[[0, 0]], [[1, 0]]]
MOVES: Final = "`--out-of-range zero` fills such cells with zeros, `clamp` and `wrap` move them"
VERSIONS: Final = "openvino-8, openvino-7, openvino-1, onnx-13, onnx-11 or onnx-1"


class Refusal(NamedTuple):
    """A call and the whole of its refusal."""

    sentence: str
    call: Callable[[], object]
    rule: str
    message: str
    hint: str | None = None
    where: str | None = None
    value: object = None
    many: int | None = None


REFUSALS: Final = (
    Refusal(
        "a version that no operator has",
        lambda: gather([1], [0], version="onnx-banana"),
        "version",
        f"no version `onnx-banana` of gather: expected {VERSIONS}",
        value="onnx-banana",
    ),
    Refusal(
        "a mistyped version is answered with its neighbour",
        lambda: gather([1], [0], version="openvno-8"),
        "version",
        f"no version `openvno-8` of gather: expected {VERSIONS}",
        hint="did you mean `-V openvino-8`?",
        value="openvno-8",
    ),
    Refusal(
        "version 1 is of both frameworks",
        lambda: gather([1], [0], version=1),
        "version",
        f"no version `1` of gather (openvino-1 and onnx-1 both have it): expected {VERSIONS}",
        hint="did you mean `-V openvino-1` or `-V onnx-1`?",
        value="1",
    ),
    Refusal(
        "a version before the operator's first",
        lambda: gather_elements([1], [0], version="onnx-10"),
        "version",
        "no version `onnx-10` of gather-elements (onnx has GatherElements from opset 11 on): "
        "expected openvino-6, onnx-13 or onnx-11",
        hint="did you mean `-V onnx-11`?",
        value="onnx-10",
    ),
    Refusal(
        "a version of the other operator",
        lambda: gather_elements([1], [0], version="onnx.Gather-13"),
        "version",
        "no version `onnx.Gather-13` of gather-elements (it is a version of gather): "
        "expected openvino-6, onnx-13 or onnx-11",
        hint="did you mean `gathercli gather`?",
        value="onnx.Gather-13",
    ),
    Refusal(
        "bfloat16 before ONNX had it",
        lambda: gather(NO_BFLOAT16, [0], version="onnx-11"),
        "data-dtype",
        "`data` is bfloat16, which onnx.Gather-11 does not take: expected "
        "any type but bfloat16, float8, float6, float4, int4 and int2 types",
        hint="onnx-13 takes bfloat16: `-V onnx-13`",
        value="bfloat16",
    ),
    Refusal(
        "bfloat16 before ONNX had it, in GatherElements",
        lambda: gather_elements(NO_BFLOAT16, [0], version="onnx-11"),
        "data-dtype",
        "`data` is bfloat16, which onnx.GatherElements-11 does not take: "
        "expected any type but bfloat16, float8, float6, float4, int4 and int2 types",
        hint="onnx-13 takes bfloat16: `-V onnx-13`",
        value="bfloat16",
    ),
    Refusal(
        "dates are no elements",
        lambda: gather(np.zeros(1, "M8[D]"), [0]),
        "data-dtype",
        f"`data` is datetime64[D], which openvino.Gather-8 does not take: expected {EVERY_TYPE}",
        value="datetime64[D]",
    ),
    Refusal(
        "a list of fractions names the first",
        lambda: gather([1, 2], [[0, 1], [0, 1.5]]),
        "indices-dtype",
        "`indices` is float64, first at `$[1][1]`, which openvino.Gather-8 does not take: "
        f"expected {INTEGERS}",
        where="$[1][1]",
        value="float64",
    ),
    Refusal(
        "booleans are no indices",
        lambda: gather([1, 2], [True]),
        "indices-dtype",
        "`indices` is bool, first at `$[0]`, which openvino.Gather-8 does not take: "
        f"expected {INTEGERS}",
        where="$[0]",
        value="bool",
        hint="the positions of true are `0,`",
    ),
    Refusal(
        "an array of floats may be meant as integers",
        lambda: gather([1, 2], np.zeros(1)),
        "indices-dtype",
        f"`indices` is float64, which openvino.Gather-8 does not take: expected {INTEGERS}",
        hint="as integers they are `0,`",
        value="float64",
    ),
    Refusal(
        "ONNX takes no small integers",
        lambda: gather([1, 2], np.zeros(1, np.uint8), version="onnx-13"),
        "indices-dtype",
        "`indices` is uint8, which onnx.Gather-13 does not take: expected int32 or int64",
        hint="`--indices-dtype int64` converts them without loss",
        value="uint8",
    ),
    Refusal(
        "0-D data has no axis",
        lambda: gather(3, [0]),
        "data-rank",
        "`data` is 0-D, so it has no axis: expected rank 1 or more",
        hint="a single element is 1-D when it is written as a list, such as `[3]`",
        value=0,
    ),
    Refusal(
        "an index is needed for each element",
        lambda: gather_elements([[1, 2]], [0], axis=0),
        "indices-rank",
        "`indices` has rank 1, but GatherElements takes one index per element: "
        "expected rank 2, the rank of `data`",
        hint="`gathercli gather` takes indices of any rank",
        value=1,
    ),
    Refusal(
        "OpenVINO's GatherElements has no default axis",
        lambda: gather_elements([1], [0]),
        "axis-required",
        "openvino.GatherElements-6 requires an axis and none was given: expected -1 to 0",
        hint="add `--axis 0`, the default of the ONNX versions",
    ),
    Refusal(
        "a fraction is no axis",
        lambda: gather([1], [0], axis=0.0),
        "axis-type",
        "`axis` is 0.0: expected one integer",
        value="0.0",
    ),
    Refusal(
        "a boolean is no axis",
        lambda: gather([1], [0], axis=True),
        "axis-type",
        "`axis` is True: expected one integer",
        value="True",
    ),
    Refusal(
        "two axes are one too many",
        lambda: gather([1], [0], axis=[0, 0]),
        "axis-type",
        "`axis` is [0, 0]: expected one integer",
        value="[0, 0]",
    ),
    Refusal(
        "a matrix is no axis",
        lambda: gather([1], [0], axis=np.zeros((1, 1), np.int64)),
        "axis-type",
        "`axis` is a tensor of shape [1, 1]: expected one integer",
        value="a tensor of shape [1, 1]",
    ),
    Refusal(
        "an attribute is never unknown",
        lambda: infer_shape("gather", "[2,3]", "[4]", axis="unknown", version="onnx-13"),
        "axis-type",
        "`axis` is unknown, but for onnx.Gather-13 it is an attribute, known beforehand: "
        "expected -2 to 1",
        value="unknown",
    ),
    Refusal(
        "an axis past the last",
        lambda: gather([1], [0], axis=1),
        "axis-range",
        "`axis` is 1, but `data` has rank 1: expected -1 to 0",
        hint="the last dimension is `--axis -1`",
        value=1,
    ),
    Refusal(
        "an axis before the first",
        lambda: gather_elements([[1]], [[0]], axis=-3),
        "axis-range",
        "`axis` is -3, but `data` has rank 2: expected -2 to 1",
        hint="the last dimension is `--axis -1`",
        value=-3,
    ),
    Refusal(
        "Gather-1 has no batches",
        lambda: gather([[1]], [[0]], axis=1, batch_dims=1, version="openvino-1"),
        "batch-dims-unsupported",
        "`batch_dims` is 1, but openvino.Gather-1 has no batch_dims: expected 0",
        hint="openvino-8 has batch_dims: `-V openvino-8`",
        value=1,
    ),
    Refusal(
        "ONNX has no batches",
        lambda: gather([[1]], [[0]], axis=1, batch_dims=-1, version="onnx-13"),
        "batch-dims-unsupported",
        "`batch_dims` is -1, but onnx.Gather-13 has no batch_dims: expected 0",
        hint="openvino-8 has batch_dims: `-V openvino-8`",
        value=-1,
    ),
    Refusal(
        "GatherElements has no batches",
        lambda: infer_shape("gather-elements", "[2]", "[2]", axis=0, batch_dims=1),
        "batch-dims-unsupported",
        "`batch_dims` is 1, but openvino.GatherElements-6 has no batch_dims: expected 0",
        value=1,
    ),
    Refusal(
        "more batch dimensions than indices have",
        lambda: gather([[[1]]], [0], axis=2, batch_dims=2),
        "batch-dims-range",
        "`batch_dims` is 2, but `indices` has rank 1: expected -1 to 1",
        value=2,
    ),
    Refusal(
        "batch dimensions before the first of the indices",
        lambda: gather([1], [0], batch_dims=-2),
        "batch-dims-range",
        "`batch_dims` is -2, but `indices` has rank 1: expected -1 to 1",
        value=-2,
    ),
    Refusal(
        "0-D indices have no batch",
        lambda: gather([[1]], 0, axis=1, batch_dims=1),
        "batch-dims-range",
        "`batch_dims` is 1, but `indices` has rank 0: expected 0",
        value=1,
    ),
    Refusal(
        "a fraction of a batch dimension",
        lambda: gather([[1]], [[0]], axis=1, batch_dims=0.5),
        "batch-dims-range",
        "`batch_dims` is 0.5: expected one integer",
        value="0.5",
    ),
    Refusal(
        "a batch dimension beyond the axis",
        lambda: gather([[1]], [[0]], axis=0, batch_dims=1),
        "batch-dims-axis",
        "`batch_dims` is 1, but `axis` is 0: expected 0",
        hint="`--axis 1` gathers on the first dimension after the batch",
        value=1,
    ),
    Refusal(
        "a batch dimension beyond the axis, both counted from the end",
        lambda: gather([[1, 2]], [[0]], axis=-2, batch_dims=-1),
        "batch-dims-axis",
        "`batch_dims` is -1, which is 1, but `axis` is -2, which is 0: expected 0",
        hint="`--axis 1` gathers on the first dimension after the batch",
        value=-1,
    ),
    Refusal(
        "as many batch dimensions as data has dimensions",
        lambda: gather([1], [0], batch_dims=1),
        "batch-dims-axis",
        "`batch_dims` is 1, but `axis` is 0: expected 0",
        value=1,
    ),
    Refusal(
        "batch dimensions beyond every axis",
        lambda: infer_shape("gather", "[2]", "[2]", axis="unknown", batch_dims=1),
        "batch-dims-axis",
        "`batch_dims` is 1, but `data` has rank 1, so no axis is beyond 0: expected 0",
        value=1,
    ),
    Refusal(
        "batches of different numbers",
        lambda: gather([[1], [2]], [[0], [0], [0]], axis=1, batch_dims=1),
        "batch-shape",
        "batch dimension 0 is 2 in `data` and 3 in `indices`: "
        "expected 2 in both; batch dimensions do not broadcast",
        where="dimension 0",
        value="3",
    ),
    Refusal(
        "a batch of one does not broadcast",
        lambda: gather([[1], [2]], [[0]], axis=1, batch_dims=1),
        "batch-shape",
        "batch dimension 0 is 2 in `data` and 1 in `indices`: "
        "expected 2 in both; batch dimensions do not broadcast",
        where="dimension 0",
        value="1",
    ),
    Refusal(
        "OpenVINO wants the other dimensions equal",
        lambda: gather_elements([[1, 2]], [[0]], axis=0),
        "elements-shape",
        "dimension 1 of `indices` is 1, but that of `data` is 2: expected 2, "
        "as only axis 0 may differ, and 1 does not broadcast",
        hint="onnx-13 takes smaller ones: `-V onnx-13`",
        where="dimension 1",
        value="1",
    ),
    Refusal(
        "larger indices than data, beside the axis",
        lambda: gather_elements([[1]], [[0, 0]], axis=0),
        "elements-shape",
        "dimension 1 of `indices` is 2, but that of `data` is 1: expected 1, "
        "as only axis 0 may differ, and 1 does not broadcast",
        where="dimension 1",
        value="2",
    ),
    Refusal(
        "a negative index where none is wanted",
        lambda: gather([5, 6], [[0, 1], [-1, -9]], negative="error"),
        "index-negative",
        "index -1 at `[1,0]` is negative, and `negative` is `error`: "
        "expected 0 to 1 (2 of 4 indices)",
        where="[1,0]",
        value=-1,
        many=2,
    ),
    Refusal(
        "an index past the end",
        lambda: gather([5, 6], [2], version="onnx-13"),
        "index-range",
        "index 2 at `[0]` is outside axis 0 of `data`, whose size is 2: "
        "expected -2 to 1 (1 of 1 index)",
        hint="openvino-8 fills such slices with zeros: `-V openvino-8`, or `--out-of-range zero`",
        where="[0]",
        value=2,
        many=1,
    ),
    Refusal(
        "a 0-D index past the end",
        lambda: gather([5, 6], -3, version="onnx-11"),
        "index-range",
        "index -3 at `[]` is outside axis 0 of `data`, whose size is 2: "
        "expected -2 to 1 (1 of 1 index)",
        hint="openvino-8 fills such slices with zeros: `-V openvino-8`, or `--out-of-range zero`",
        where="[]",
        value=-3,
        many=1,
    ),
    Refusal(
        "a negative index where the range starts at 0",
        lambda: gather([5, 6], [1, -1, 2], version="openvino-7"),
        "index-range",
        "index -1 at `[1]` is outside axis 0 of `data`, whose size is 2: "
        "expected 0 to 1 (2 of 3 indices)",
        hint="openvino-8 counts negative indices from the end: `-V openvino-8`",
        where="[1]",
        value=-1,
        many=2,
    ),
    Refusal(
        "an index past the end where the caller refuses it",
        lambda: gather([5, 6], [2], out_of_range="error"),
        "index-range",
        "index 2 at `[0]` is outside axis 0 of `data`, whose size is 2: "
        "expected -2 to 1 (1 of 1 index)",
        where="[0]",
        value=2,
        many=1,
    ),
    Refusal(
        "an index past the end of an axis counted from the end",
        lambda: gather([[5, 6]], np.array([2**64 - 1], np.uint64), axis=-1, out_of_range="error"),
        "index-range",
        "index 18446744073709551615 at `[0]` is outside axis -1 of `data`, whose size is 2: "
        "expected -2 to 1 (1 of 1 index)",
        where="[0]",
        value=2**64 - 1,
        many=1,
    ),
    Refusal(
        "an element's index past the end",
        lambda: gather_elements([5, 6], [2], axis=0),
        "index-range",
        "index 2 at `[0]` is outside axis 0 of `data`, whose size is 2: "
        "expected 0 to 1 (1 of 1 index)",
        hint="`--out-of-range zero` fills such cells with zeros, `clamp` and `wrap` move them",
        where="[0]",
        value=2,
        many=1,
    ),
    Refusal(
        "an element's negative index",
        lambda: gather_elements([5, 6], [-1], axis=0),
        "index-range",
        "index -1 at `[0]` is outside axis 0 of `data`, whose size is 2: "
        "expected 0 to 1 (1 of 1 index)",
        hint="onnx-13 counts negative indices from the end: `-V onnx-13`",
        where="[0]",
        value=-1,
        many=1,
    ),
    Refusal(
        "nothing to clamp to on an empty axis",
        lambda: gather([], [0], out_of_range="clamp"),
        "index-range",
        "index 0 at `[0]` is outside axis 0 of `data`, whose size is 0: "
        "expected no index at all, as the axis is empty (1 of 1 index)",
        hint="an empty axis has nothing to clamp or wrap to; `--out-of-range zero` fills",
        where="[0]",
        value=0,
        many=1,
    ),
    Refusal(
        "an index past the end of data whose output is empty",
        lambda: gather(np.zeros((2, 0)), [2], version="onnx-13"),
        "index-range",
        "index 2 at `[0]` is outside axis 0 of `data`, whose size is 2: "
        "expected -2 to 1 (1 of 1 index)",
        hint="openvino-8 fills such slices with zeros: `-V openvino-8`, or `--out-of-range zero`",
        where="[0]",
        value=2,
        many=1,
    ),
    Refusal(
        "a result that no memory can hold",
        lambda: gather(HUGE, [0, 0]),
        "limit",
        "the result i8[2,4611686018427387904] spans 9223372036854775808 bytes, more than can be "
        "addressed: expected at most 9223372036854775807 bytes",
        value=2**63,
    ),
    Refusal(
        "a framework that has no version of the operator",
        lambda: infer_shape("gather-tree", *TREE, version="onnx"),
        "version",
        "no version `onnx` of gather-tree (onnx has no GatherTree): expected openvino-1",
        hint="did you mean `-V openvino-1`?",
        value="onnx",
    ),
    Refusal(
        "ONNX's GatherND takes int64 alone",
        lambda: gather_nd([1], np.zeros((1, 1), np.int32), version="onnx-13"),
        "indices-dtype",
        "`indices` is int32, which onnx.GatherND-13 does not take: expected int64",
        hint="`--indices-dtype int64` converts them without loss",
        value="int32",
    ),
    Refusal(
        "bfloat16 before ONNX had it, in GatherND",
        lambda: gather_nd(NO_BFLOAT16, [[0]], version="onnx-12"),
        "data-dtype",
        "`data` is bfloat16, which onnx.GatherND-12 does not take: "
        "expected any type but bfloat16, float8, float6, float4, int4 and int2 types",
        hint="onnx-13 takes bfloat16: `-V onnx-13`",
        value="bfloat16",
    ),
    Refusal(
        "booleans are no tokens",
        lambda: gather_tree(*(np.ones(n, bool) for n in ((1, 1, 1), (1, 1, 1), 1, ()))),
        "tree-dtype",
        "`step_ids` is bool, which openvino.GatherTree-1 does not take: expected numbers",
        value="bool",
    ),
    Refusal(
        "parents of another type than the tokens",
        lambda: gather_tree(np.array(STEPS, "i4"), np.array(PARENTS), [2], 9),
        "tree-dtype",
        "`parent_ids` is int64, but `step_ids` is int32: expected one type for all inputs",
        hint="`--parent-ids-dtype int32` converts it without loss or not at all",
        value="int64",
    ),
    Refusal(
        "lengths of another type than the tokens",
        lambda: gather_tree(np.array(STEPS), np.array(PARENTS), np.array([2], "i4"), 9),
        "tree-dtype",
        "`max_seq_len` is int32, but `step_ids` is int64: expected one type for all inputs",
        hint="`--max-seq-len-dtype int64` converts it without loss or not at all",
        value="int32",
    ),
    Refusal(
        "an end token of another type than the tokens",
        lambda: gather_tree(np.array(STEPS), np.array(PARENTS), [2], np.float32(9)),
        "tree-dtype",
        "`end_token` is float32, but `step_ids` is int64: expected one type for all inputs",
        hint="`--end-token-dtype int64` converts it without loss or not at all",
        value="float32",
    ),
    Refusal(
        "0-D data has no axis for a tuple",
        lambda: gather_nd(3, [[0]]),
        "data-rank",
        "`data` is 0-D, so it has no axis: expected rank 1 or more",
        hint="a single element is 1-D when it is written as a list, such as `[3]`",
        value=0,
    ),
    Refusal(
        "a number is no tuple",
        lambda: gather_nd([1], 0),
        "indices-rank",
        "`indices` is 0-D, but GatherND takes tuples: expected rank 1 or more",
        hint="one tuple is 1-D, such as `[2]` or `[0,1]`",
        value=0,
    ),
    Refusal(
        "GatherND has no axis",
        lambda: infer_shape("gather-nd", "[1]", "[1,1]", axis=0),
        "axis-unsupported",
        "`axis` is 0, but openvino.GatherND-8 has no axis: expected none",
        value=0,
    ),
    Refusal(
        "GatherTree has no axis",
        lambda: infer_shape("gather-tree", *TREE, axis="unknown"),
        "axis-unsupported",
        "`axis` is `unknown`, but openvino.GatherTree-1 has no axis: expected none",
        value="unknown",
    ),
    Refusal(
        "the first GatherND of ONNX has no batches",
        lambda: gather_nd([[1]], [[0]], batch_dims=1, version="onnx-11"),
        "batch-dims-unsupported",
        "`batch_dims` is 1, but onnx.GatherND-11 has no batch_dims: expected 0",
        hint="onnx-13 has batch_dims: `-V onnx-13`",
        value=1,
    ),
    Refusal(
        "GatherTree has no batch_dims",
        lambda: infer_shape("gather-tree", *TREE, batch_dims=1),
        "batch-dims-unsupported",
        "`batch_dims` is 1, but openvino.GatherTree-1 has no batch_dims: expected 0",
        value=1,
    ),
    Refusal(
        "batch dimensions of tuples do not count from the end",
        lambda: gather_nd([[1]], [[0]], batch_dims=-1),
        "batch-dims-range",
        "`batch_dims` is -1, which is negative: expected 0 to 1",
        value=-1,
    ),
    Refusal(
        "batch dimensions that leave data no axis",
        lambda: gather_nd([1], [[0]], batch_dims=1),
        "batch-dims-range",
        "`batch_dims` is 1, which is not below the rank of `data`, 1: expected 0",
        value=1,
    ),
    Refusal(
        "batch dimensions that leave no tuples",
        lambda: gather_nd([[1]], [0], batch_dims=1),
        "batch-dims-range",
        "`batch_dims` is 1, which is not below the rank of `indices`, 1: expected 0",
        value=1,
    ),
    Refusal(
        "tuples longer than data has dimensions",
        lambda: gather_nd([1], [[0, 0]]),
        "indices-depth",
        "the last dimension of `indices`, the length of its tuples, is 2, but `data` has rank 1: "
        "expected 0 to 1",
        value=2,
    ),
    Refusal(
        "tuples longer than data has dimensions behind the batch",
        lambda: gather_nd([[1]], [[0, 0]], batch_dims=1),
        "indices-depth",
        "the last dimension of `indices`, the length of its tuples, is 2, but `data` has rank 2 "
        "and batch_dims is 1: expected 0 to 1",
        value=2,
    ),
    Refusal(
        "ONNX takes no empty tuples",
        lambda: gather_nd([1], np.zeros((1, 0), np.int64), version="onnx-13"),
        "indices-depth",
        "the last dimension of `indices`, the length of its tuples, is 0, but onnx.GatherND-13 "
        "takes no empty ones: expected 1",
        hint="openvino-8 takes empty tuples: `-V openvino-8`",
        value=0,
    ),
    Refusal(
        "a batch of one does not broadcast to tuples",
        lambda: gather_nd([[1]], [[0], [0]], batch_dims=1),
        "batch-shape",
        "batch dimension 0 is 1 in `data` and 2 in `indices`: "
        "expected 1 in both; batch dimensions do not broadcast",
        where="dimension 0",
        value="2",
    ),
    Refusal(
        "tokens without a dimension of beams",
        lambda: gather_tree([[1]], PARENTS, [2], 9),
        "tree-shape",
        "`step_ids` has rank 2: expected rank 3",
        hint="as one batch it is `'[[[1]]]'`",
        where="`step_ids`",
        value=2,
    ),
    Refusal(
        "parents without a dimension of beams",
        lambda: gather_tree(STEPS, [[0]], [2], 9),
        "tree-shape",
        "`parent_ids` has rank 2: expected rank 3",
        hint="as one batch it is `'[[[0]]]'`",
        where="`parent_ids`",
        value=2,
    ),
    Refusal(
        "one length for all batches",
        lambda: gather_tree(STEPS, PARENTS, 2, 9),
        "tree-shape",
        "`max_seq_len` has rank 0: expected rank 1",
        hint="a length for each batch is `2,`",
        where="`max_seq_len`",
        value=0,
    ),
    Refusal(
        "a list of end tokens",
        lambda: gather_tree(STEPS, PARENTS, [2], [9]),
        "tree-shape",
        "`end_token` has rank 1: expected rank 0",
        hint="one token for all is `9`",
        where="`end_token`",
        value=1,
    ),
    Refusal(
        "parents of fewer steps than the tokens",
        lambda: gather_tree(STEPS, PARENTS[:1], [2], 9),
        "tree-shape",
        "dimension 0 of `parent_ids` is 1, but dimension 0 of `step_ids` is 2: expected 2",
        where="dimension 0",
        value="1",
    ),
    Refusal(
        "more lengths than batches",
        lambda: gather_tree(STEPS, PARENTS, [2, 2], 9),
        "tree-shape",
        "dimension 0 of `max_seq_len` is 2, but dimension 1 of `step_ids` is 1: expected 1",
        where="dimension 0",
        value="2",
    ),
    Refusal(
        "half a token",
        lambda: gather_tree([[[0.5]]], [[[0.0]]], [1.0], 9.0),
        "integer-values",
        "`step_ids` is 0.5 at `[0,0,0]`, which is not an integer: expected whole numbers",
        where="[0,0,0]",
        value="0.5",
    ),
    Refusal(
        "half a parent, which nobody uses",
        lambda: gather_tree([[[1.0]]], [[[0.5]]], [1.0], 9.0),
        "integer-values",
        "`parent_ids` is 0.5 at `[0,0,0]`, which is not an integer: expected whole numbers",
        where="[0,0,0]",
        value="0.5",
    ),
    Refusal(
        "a sequence without end",
        lambda: gather_tree([[[1.0]]], [[[0.0]]], [float("inf")], 9.0),
        "integer-values",
        "`max_seq_len` is inf at `[0]`, which is not an integer: expected whole numbers",
        where="[0]",
        value="inf",
    ),
    Refusal(
        "an end token that is none",
        lambda: gather_tree([[[1.0]]], [[[0.0]]], [1.0], float("nan")),
        "integer-values",
        "`end_token` is nan at `[]`, which is not an integer: expected whole numbers",
        where="[]",
        value="nan",
    ),
    Refusal(
        "a negative number of a tuple where none is wanted",
        lambda: gather_nd([[5, 6, 7]], [[0, -1], [-1, 0]], negative="error"),
        "index-negative",
        "index -1 at `[0,1]` is negative, and `negative` is `error`: "
        "expected 0 to 2 (2 of 4 indices)",
        where="[0,1]",
        value=-1,
        many=2,
    ),
    Refusal(
        "a number of a tuple past the end of its axis",
        lambda: gather_nd(np.zeros((2, 3)), [[0, 3], [2, 0]]),
        "index-range",
        "index 3 at `[0,1]` is outside axis 1 of `data`, whose size is 3: "
        "expected -3 to 2 (2 of 4 indices)",
        hint=MOVES,
        where="[0,1]",
        value=3,
        many=2,
    ),
    Refusal(
        "a number of a tuple past the end of its axis behind the batch",
        lambda: gather_nd(np.zeros((1, 2, 3)), [[[0, 0], [0, -4]]], batch_dims=1),
        "index-range",
        "index -4 at `[0,1,1]` is outside axis 2 of `data`, whose size is 3: "
        "expected -3 to 2 (1 of 4 indices)",
        hint=MOVES,
        where="[0,1,1]",
        value=-4,
        many=1,
    ),
    Refusal(
        "a negative number of a tuple where the range starts at 0",
        lambda: gather_nd([5], [[-1]], version="openvino-5"),
        "index-range",
        "index -1 at `[0,0]` is outside axis 0 of `data`, whose size is 1: "
        "expected 0 (1 of 1 index)",
        hint="openvino-8 counts negative indices from the end: `-V openvino-8`",
        where="[0,0]",
        value=-1,
        many=1,
    ),
    Refusal(
        "a tuple past the end of data whose output is empty",
        lambda: gather_nd(np.zeros((2, 0)), [[2]], version="onnx-13"),
        "index-range",
        "index 2 at `[0,0]` is outside axis 0 of `data`, whose size is 2: "
        "expected -2 to 1 (1 of 1 index)",
        hint=MOVES,
        where="[0,0]",
        value=2,
        many=1,
    ),
    Refusal(
        "a parent that is no beam",
        lambda: gather_tree(STEPS, [[[9, 9]], [[0, 2]]], [2], 9),
        "index-range",
        "index 2 of `parent_ids` at `[1,0,1]` is outside axis 2 of `step_ids`, whose size is 2: "
        "expected 0 to 1 (1 of 2 indices)",
        hint=MOVES,
        where="[1,0,1]",
        value=2,
        many=1,
    ),
    Refusal(
        "parents of several steps that are no beams",
        lambda: gather_tree([[[1, 2]]] * 3, [[[0, 0]], [[0, 7]], [[-1, 1]]], [3], 9),
        "index-range",
        "index 7 of `parent_ids` at `[1,0,1]` is outside axis 2 of `step_ids`, whose size is 2: "
        "expected 0 to 1 (2 of 3 indices)",
        hint=MOVES,
        where="[1,0,1]",
        value=7,
        many=2,
    ),
    Refusal(
        "a negative parent where none is wanted",
        lambda: gather_tree(STEPS, [[[0, 0]], [[-1, 0]]], [2], 9, negative="error"),
        "index-negative",
        "index -1 of `parent_ids` at `[1,0,0]` is negative, and `negative` is `error`: "
        "expected 0 to 1 (1 of 2 indices)",
        where="[1,0,0]",
        value=-1,
        many=1,
    ),
)
of_each_refusal = pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.sentence)


def refused(call: Callable[[], object]) -> errors.GatherError:
    with pytest.raises(errors.GatherError) as caught:
        call()
    return caught.value


@of_each_refusal
def test_a_refusal_says_what_was_given_what_it_met_and_what_was_allowed(refusal: Refusal) -> None:
    error = refused(refusal.call)

    assert error.message == refusal.message
    assert (error.rule, error.advice) == (refusal.rule, refusal.hint)


@of_each_refusal
def test_a_refusal_carries_the_place_the_value_and_how_many(refusal: Refusal) -> None:
    error = refused(refusal.call)

    assert (error.where, error.value, error.count) == (refusal.where, refusal.value, refusal.many)


@of_each_refusal
def test_a_refusal_has_the_class_of_its_rule_and_is_a_value_error(refusal: Refusal) -> None:
    error = refused(refusal.call)

    assert type(error) is CLASSES[refusal.rule]
    assert isinstance(error, ValueError)


@of_each_refusal
def test_a_refusal_has_the_status_of_its_kind(refusal: Refusal) -> None:
    assert refused(refusal.call).status == (2 if refusal.rule == "version" else 65)


@of_each_refusal
def test_an_operators_refusal_comes_from_the_function_of_that_name(refusal: Refusal) -> None:
    frames = traceback.extract_tb(refused(refusal.call).__traceback__)
    home = str(inspect.getsourcefile(rules))
    for name in [frame.name for frame in frames if frame.filename == home][:1]:
        assert name == refusal.rule.replace("-", "_")


def test_every_rule_has_a_refused_call() -> None:
    assert {refusal.rule for refusal in REFUSALS} == set(ORDER)


def test_the_rules_of_shapes_and_types_are_tried_in_the_order_of_the_manual() -> None:
    assert [rule.__name__ for rule in rules.RULES] == [
        rule.replace("-", "_") for rule in ORDER[1:-4]
    ]


def test_what_a_rule_says_is_listed_in_the_order_of_trial() -> None:
    functions = (*rules.RULES, rules.integer_values, rules.index_negative, rules.index_range)

    names = [rule.__name__.replace("_", "-") for rule in functions]

    assert list(rules.STATEMENTS) == [*names, "limit"]


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_each_function_is_named_as_the_rule_it_raises(rule: Callable[[Any], None]) -> None:
    named = [refusal for refusal in REFUSALS if refusal.rule == rule.__name__.replace("_", "-")]
    frames = [traceback.extract_tb(refused(each.call).__traceback__)[-1] for each in named]

    assert rule.__name__ in [frame.name for frame in frames]


@pytest.mark.parametrize("rule", ["index_negative", "index_range"])
def test_the_rules_of_values_are_named_as_their_functions(rule: str) -> None:
    case = next(each for each in REFUSALS if each.rule == rule.replace("_", "-"))
    error = refused(case.call)
    assert isinstance(error, errors.OutOfRangeError)
    call = inspect.signature(getattr(rules, rule))
    assert list(call.parameters) == ["call", "along", "value", "where", "count", "total"]
    assert error.rule.replace("-", "_") == rule


SEVERAL: Final = (
    ("version", "data-dtype", lambda: gather(NO_BFLOAT16, [0], version="onnx-0")),
    ("data-dtype", "indices-dtype", lambda: gather(NO_BFLOAT16, [0.5], version="onnx-11")),
    (
        "data-dtype",
        "indices-dtype of a type that no operator has",
        lambda: gather(NO_BFLOAT16, np.array([None]), version="onnx-11"),
    ),
    ("indices-dtype", "data-rank", lambda: gather(3, [0.5])),
    ("data-rank", "indices-rank", lambda: gather_elements(3, [0], axis=0)),
    ("data-rank", "axis-required", lambda: gather_elements(3, 0)),
    ("data-rank", "axis-range", lambda: gather(3, [0], axis=5)),
    ("indices-rank", "axis-required", lambda: gather_elements([1], [[0]])),
    ("indices-dtype", "indices-rank", lambda: gather_nd([1], 0.5)),
    ("data-rank", "indices-rank of tuples", lambda: gather_nd(3, 0)),
    (
        "indices-rank",
        "axis-unsupported",
        lambda: infer_shape("gather-nd", "[1]", "[]", axis=0),
    ),
    (
        "axis-unsupported",
        "batch-dims-unsupported",
        lambda: infer_shape("gather-nd", "[1,1]", "[1,1]", axis=0, batch_dims=1, version=11),
    ),
    ("batch-dims-range", "indices-depth", lambda: gather_nd([1], [[0, 0]], batch_dims=1)),
    ("indices-depth", "batch-shape", lambda: gather_nd([[1]], [[0, 0]] * 2, batch_dims=1)),
    ("batch-shape", "index-range", lambda: gather_nd([[1]], [[7]] * 2, batch_dims=1)),
    ("tree-dtype", "tree-shape", lambda: gather_tree(STEPS, [True], [2], 9)),
    (
        "axis-unsupported",
        "tree-shape",
        lambda: infer_shape("gather-tree", "[1]", *TREE[1:], axis=0),
    ),
    (
        "batch-dims-unsupported",
        "tree-shape",
        lambda: infer_shape("gather-tree", "[1]", *TREE[1:], batch_dims=1),
    ),
    ("tree-shape", "integer-values", lambda: gather_tree([0.5], [[[0.0]]], [1.0], 9.0)),
    (
        "integer-values",
        "index-range",
        lambda: gather_tree([[[1.0]]] * 2, [[[0.0]], [[7.0]]], [2.0], 0.5),
    ),
    ("axis-required", "elements-shape", lambda: gather_elements([[1]], [[0, 0]])),
    ("axis-required", "index-range", lambda: gather_elements([1], [9])),
    (
        "axis-type",
        "batch-dims-unsupported",
        lambda: gather([1], [0], axis=0.5, batch_dims=1, version="onnx-1"),
    ),
    (
        "axis-range",
        "batch-dims-unsupported",
        lambda: gather([1], [0], axis=7, batch_dims=1, version="onnx-1"),
    ),
    ("axis-range", "batch-dims-range", lambda: gather([1], [0], axis=7, batch_dims=9)),
    (
        "batch-dims-unsupported",
        "batch-dims-range",
        lambda: gather([1], [0], batch_dims=9, version="openvino-1"),
    ),
    (
        "batch-dims-unsupported",
        "elements-shape",
        lambda: infer_shape("gather-elements", "[1,1]", "[1,2]", axis=0, batch_dims=1),
    ),
    ("batch-dims-range", "batch-dims-axis", lambda: gather([1], [0], batch_dims=2)),
    ("batch-dims-axis", "batch-shape", lambda: gather([[1]], [[0], [0]], batch_dims=1)),
    ("batch-dims-axis", "index-range", lambda: gather([[1]], [[7]], batch_dims=1, version=7)),
    (
        "batch-shape",
        "index-range",
        lambda: gather([[1]], [[7], [7]], axis=1, batch_dims=1, version=7),
    ),
    ("elements-shape", "index-range", lambda: gather_elements([[1]], [[7, 7]], axis=0)),
    (
        "index-negative",
        "an earlier index-range",
        lambda: gather([1], [7, -1], negative="error", version=7),
    ),
    ("limit", "index-negative", lambda: gather(HUGE, [-1, -1], negative="error")),
    ("limit", "index-range", lambda: gather(HUGE, [0, 0], version=7)),
)


@pytest.mark.parametrize(
    ("first", "call"),
    [pytest.param(first, call, id=f"{first} before {second}") for first, second, call in SEVERAL],
)
def test_of_two_broken_rules_the_first_is_reported(first: str, call: Callable[[], object]) -> None:
    assert refused(call).rule == first


def test_the_larger_dimension_of_onnx_gather_elements_is_refused() -> None:
    error = refused(lambda: gather_elements([[1, 2]], [[0, 0, 0]], axis=0, version="onnx-13"))

    assert (error.rule, error.where, error.value) == ("elements-shape", "dimension 1", "3")
    assert error.expected == "0 to 2"
    assert str(error).startswith(
        "dimension 1 of `indices` is 3, but that of `data` is 2: expected 0 to 2"
    )


def test_a_version_with_smaller_ones_is_not_advised_for_what_may_only_be_larger() -> None:
    error = refused(lambda: infer_shape("gather-elements", "[2,1..3]", "[2,5..]", axis=0))

    assert error.rule == "elements-shape"
    assert error.hint is None


def test_an_empty_axis_is_not_said_to_clamp_or_wrap() -> None:
    error = refused(lambda: gather_elements([], [0], axis=0))

    assert error.rule == "index-range"
    assert "clamp" not in str(error.hint)


def test_the_axis_of_a_message_is_a_number_however_it_was_passed() -> None:
    error = refused(lambda: gather_elements([[1]], [[0, 0]], axis=np.array([0])))

    assert "only axis 0 may differ" in str(error)


def test_an_unknown_axis_is_for_shapes_and_refused_by_a_run() -> None:
    assert refused(lambda: gather([1], [0], axis="unknown")).rule == "axis-type"


def test_an_axis_of_five_thousand_digits_is_out_of_range() -> None:
    assert refused(lambda: gather([1], [0], axis=10**5000)).rule == "axis-range"


def test_the_axis_of_unknown_data_is_held_against_the_rank_of_the_indices() -> None:
    error = refused(lambda: infer_shape("gather-elements", "[...]", "[2,2]", axis=5))

    assert error.rule == "axis-range"
    assert error.expected == "-2 to 1"


def test_the_elements_have_no_default_axis_in_openvinos_shapes_either() -> None:
    assert refused(lambda: infer_shape("gather-elements", "[2]", "[2]")).rule == "axis-required"


def test_a_result_of_more_dimensions_than_numpy_has_is_refused() -> None:
    error = refused(lambda: gather(np.zeros((1,) * 64), np.zeros((1, 1), np.int64)))

    assert (error.rule, error.value, error.expected) == ("limit", 65, "at most 64")
    assert str(error).endswith(" has rank 65: expected at most 64")


def test_an_empty_result_is_not_said_to_take_too_many_bytes() -> None:
    error = refused(lambda: gather(HUGE, np.zeros((2, 0), np.int64)))

    assert error.rule == "limit"
    assert "takes 0 bytes" not in str(error)


KINDS: Final = (
    errors.UsageError,
    errors.VersionError,
    errors.OperatorError,
    errors.DtypeError,
    errors.AxisError,
    errors.BatchDimsError,
    errors.RankError,
    errors.IndicesDepthError,
    errors.ElementsShapeError,
    errors.TreeShapeError,
    errors.OutOfRangeError,
    errors.LimitError,
    errors.InputError,
    errors.NoInputError,
    errors.OutputError,
    errors.TransferError,
)
STATUS: Final = {
    errors.UsageError: 2,
    errors.VersionError: 2,
    errors.NoInputError: 66,
    errors.OutputError: 73,
    errors.TransferError: 74,
}
FILES: Final = (errors.NoInputError, errors.OutputError, errors.TransferError)


@pytest.mark.parametrize("kind", KINDS)
def test_every_refusal_is_a_value_error_or_where_files_fail_an_os_error(
    kind: type[errors.GatherError],
) -> None:
    assert issubclass(kind, errors.GatherError)
    assert issubclass(kind, OSError if kind in FILES else ValueError)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_failure_has_its_exit_status(kind: type[errors.GatherError]) -> None:
    assert kind.status == STATUS.get(kind, 65)


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (errors.DtypeError, TypeError),
        (errors.OutOfRangeError, IndexError),
        (errors.LimitError, MemoryError),
    ],
)
def test_some_refusals_are_what_python_calls_them(
    kind: type[errors.GatherError], also: type[Exception]
) -> None:
    assert issubclass(kind, also)


def test_no_refusal_was_forgotten_here() -> None:
    found = {
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.GatherError)
    }

    assert found == {errors.GatherError, errors.MismatchError, *KINDS}


def test_a_refusal_knows_the_row_and_both_tensors() -> None:
    error = refused(lambda: gather([[1, 2]], [7], axis=1, version="onnx-13"))

    assert (error.operator, error.data, error.indices) == ("onnx.Gather-13", "i64[1,2]", "i64[1]")
