"""What the refusals of runtimes look like: which rule a message is the reason of.

A runtime that refuses a call agrees with a version only if its reason is the version's rule. What
it does not support, where it fails by accident, or what is not known here is no such reason.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from gathercli.cli.additions import NEGATIVE, NO_BEAM, OUTSIDE, Observation, Reason
from gathercli.text import short

MAX_SHORT_LENGTH: Final = 160
"""The most characters of a message in a table."""

_AXIS: Final = ("axis-range", "data-rank")  # data of rank 0 has no axis
_BATCH_DIMS: Final = ("batch-dims-range", "batch-dims-axis")
_BATCH: Final = ("batch-shape",)
_DATA_RANK: Final = ("data-rank",)
_DEPTH: Final = ("indices-depth", "data-rank")
_ELEMENTS: Final = ("elements-shape",)
_INDEX: Final = ("index-range",)
_INDICES_DTYPE: Final = ("indices-dtype",)
_RANKS: Final = ("indices-rank", "data-rank")
_TREE: Final = ("tree-shape",)


class Refusal(NamedTuple):
    """A refusal of a runtime.

    The group ``index`` of the pattern of its message has the index that it names, or the tuple; the
    group ``input`` the input whose type it refuses.
    """

    pattern: str
    rules: tuple[str, ...]  # that it may be the reason of
    # whether the call takes indices from -s to -1, if it names no index
    takes_negative: bool = True


_NUMPY: Final = (
    Refusal(r"index (?P<index>-?\d+) is out of bounds for axis \d+ with size", _INDEX),
    Refusal(r"cannot do a non-empty take from an empty axes", _INDEX),
    Refusal(r"axis -?\d+ is out of bounds for array of dimension", (*_AXIS, "indices-rank")),
    Refusal(r"too many indices for array", _DEPTH),
    Refusal(r"Cannot cast array data from .* to dtype\('int64'\)", _INDICES_DTYPE),
    Refusal(r"arrays used as indices must be of integer \(or boolean\) type", _INDICES_DTYPE),
    Refusal(r"`indices` must be an integer array", _INDICES_DTYPE),
    Refusal(r"`indices` and `arr` must have the same number of dimensions", _RANKS),
    Refusal(r"indexing arrays could not be broadcast together", _ELEMENTS),
)

REFUSALS: Final = {
    "numpy": _NUMPY,
    "onnx.reference": (
        *_NUMPY[:4],
        Refusal(r"and integer or boolean arrays are valid indices", _INDICES_DTYPE),
        Refusal(r"Except for dimension .*, all dimensions of index and self", _ELEMENTS),
    ),
    "onnxruntime": (
        Refusal(r"indices element out of data bounds, idx=(?P<index>-?\d+) must be", _INDEX),
        Refusal(r"invalid index found, index = (?P<index>-?\d+)", _INDEX),
        Refusal(r"GatherElements op: Out of range value in index tensor", _INDEX),
        Refusal(r"\[ShapeInferenceError\] axis must be in \[-r, r-1\]", _AXIS),
        Refusal(r"axis -?\d+ is not in valid range", _AXIS),
        Refusal(r"data tensor must have rank >= 1", _DATA_RANK),
        Refusal(r"in GatherND op need to have rank larger than 0", _RANKS),
        Refusal(r"Rank of input 'data' needs to be equal to rank of input 'indices'", _RANKS),
        Refusal(r"must not be larger than the rank of `data` tensor", _DEPTH),
        Refusal(r"indices batch size \(\d+\) is not divisible by input batch size", _BATCH),
        Refusal(r"'indices' shape should have values within bounds of 'data' shape", _ELEMENTS),
        Refusal(r"Type '.*' of input parameter \((?P<input>\w+)\) of operator .* is invalid", ()),
    ),
    "openvino": (
        Refusal(r"indices values of GatherElement exceed data size", _INDEX),
        Refusal(r"Wrong parent index", _INDEX),
        Refusal(r"Axis -?\d+ out of the tensor rank range", _AXIS),
        Refusal(r"After normalization batch_dims must be <= axis", _BATCH_DIMS),
        Refusal(r"Number of batch dimensions must not exceed a rank of (data|ind)", _BATCH_DIMS),
        Refusal(r"must have equal or intersecting sizes until batch_dims", _BATCH),
        Refusal(r"Batch dimensions of data and indices must be the same", _BATCH),
        Refusal(r"(?i)\bdata rank must be (at least|>=) 1", _DATA_RANK),
        Refusal(r"(?i)\bindices rank must be (at least|>=) 1", _RANKS),
        Refusal(r"data and indices rank must be equal", _RANKS),
        Refusal(r"Length of a tuple with indices must not exceed a rank of data", _DEPTH),
        Refusal(r"intersecting dimensions, except for the dimension at axis index", _ELEMENTS),
        Refusal(r"ndices (element )?type (must be|is expected to be) .*integ", _INDICES_DTYPE),
        Refusal(r"indices must be of int32 or int64 type", _INDICES_DTYPE),
        Refusal(r"Inputs must have the same element type", ("tree-dtype",)),
        Refusal(r"Element type of inputs must be numeric", ("tree-dtype",)),
        Refusal(r"step_ids and parent_idx inputs must have the same shape with rank 3", _TREE),
        Refusal(r"max_seq_len input must (have rank 1|match BATCH_SIZE dimension)", _TREE),
        Refusal(r"end_token input must be scalar", _TREE),
    ),
    "tensorflow": (
        Refusal(r"indices(\[[\d,]+\])? = (?P<index>-?\d+) is not in \[0,", _INDEX),
        Refusal(r" = \[(?P<index>[-\d, ]*)\] does not index into param shape", _INDEX),
        Refusal(r"Shape must be at least rank \d+ but is rank", (*_AXIS, "indices-rank")),
        Refusal(r"Requested more than 0 entries, but params is empty", _INDEX),
        Refusal(r"params must be at least (1 dimensional|a vector)", _DATA_RANK),
        Refusal(r"indices must be at least a vector", _RANKS),
        Refusal(r"params\.shape\[\d+\]: \d+ should be equal to indices\.shape", _BATCH),
        Refusal(r"batch_dims`? (= \d+|\(\d+\)) must be less than", _BATCH_DIMS),
        Refusal(r"Expected batch_dims in the range", _BATCH_DIMS),
        Refusal(r"does not allow negative batch_dims", _BATCH_DIMS),
        Refusal(r"indices\.shape\[-1\] must be <= params\.rank", _DEPTH),
        Refusal(r"index innermost dimension length must be <= params rank", _DEPTH),
        Refusal(r"'(?:Tindices|indices)'.* not in (the )?list of allowed values", _INDICES_DTYPE),
    ),
    "jax": (
        Refusal(r"[Cc]annot do a non-empty jnp\.take\(\) from an empty axis", _INDEX),
        Refusal(r"index is out of bounds for axis \d+ with size 0", _INDEX),
        Refusal(r"gather op is out of range, must be within \[0, 0 \+ 1\)", _INDEX),
        Refusal(r"axis -?\d+ is out of bounds for array of dimension", (*_AXIS, "indices-rank")),
        Refusal(r"Too many indices: array is", _DEPTH),
        Refusal(r"indices and arr must have the same number of dimensions", _RANKS),
        Refusal(r"Incompatible shapes for broadcasting", _ELEMENTS),
        Refusal(r"Indexer must have integer or boolean type", _INDICES_DTYPE),
        Refusal(r"indices must (have an|be of) integer type", _INDICES_DTYPE),
    ),
    "torch": (
        Refusal(r"index (?P<index>-?\d+) is out of bounds for dimension \d+ with size", _INDEX),
        Refusal(r"index is out of bounds for dimension with size 0", _INDEX),
        Refusal(r"index_select\(\): self indexing axis dim should be positive", _INDEX),
        Refusal(r"index out of range in self", _INDEX, takes_negative=False),
        Refusal(r"INDICES element is out of DATA bounds, id=(?P<index>-?\d+)", _INDEX),
        Refusal(r"Dimension out of range \(expected to be in range of", _AXIS),
        Refusal(r"Dimension specified as -?\d+ but tensor has no dimensions", _AXIS),
        Refusal(r"too many indices for tensor of dimension", _DEPTH),
        Refusal(r"Expected dtype int32(/| or )int64 for index", _INDICES_DTYPE),
        Refusal(r"dtype of indices should be Long but got", _INDICES_DTYPE),
        Refusal(r"'indices' to have one of the following scalar types", _INDICES_DTYPE),
        Refusal(r"tensors used as indices must be long, int, byte or bool", _INDICES_DTYPE),
        Refusal(r"should have the same number of dimensions", _RANKS),
        Refusal(r"must have the same number of dimensions as input tensor", _RANKS),
        Refusal(r"Size does not match at dimension \d+ expected index", _ELEMENTS),
        Refusal(r"must match the size of tensor b .* at non-singleton dimension", _ELEMENTS),
    ),
}
"""The refusals of each runtime, as seen in late 2026."""

_OWN: Final = tuple(Refusal(text, _INDEX) for text in (OUTSIDE, NEGATIVE, NO_BEAM))


def reason_of(runtime: str, message: str) -> Reason | None:
    """Return the reason that a message gives for a refusal; None if it is no known one."""
    for each in (*REFUSALS[runtime], *_OWN):
        if match := re.search(each.pattern, message):
            groups = match.groupdict()
            rules = (f"{groups['input']}-dtype",) if "input" in groups else each.rules
            indices = tuple(map(int, re.findall(r"-?\d+", groups.get("index", ""))))
            return Reason(rules, indices, each.takes_negative)
    return None


def refusal(runtime: str, version: str | None, message: str) -> Observation:
    """Return the observation of a refusal."""
    reason = reason_of(runtime, message)
    return Observation(version, None, "refuses", shortened(message), reason=reason)


_NOISE: Final = (
    (re.compile(r"\n\nSummary:\n-- Conversion is failed for: .*", re.DOTALL), ""),
    (re.compile(r"^\w+: Exception from .*\n(?=[^\n]+\s*$)", re.DOTALL), ""),  # OpenVINO's stack
    (
        re.compile(
            r"^.* Status Message: (?:\S+\.cc:\d+ .*?(?:was false\. |\[with [^\]]*\] ))?", re.DOTALL
        ),
        "",  # onnxruntime's node and source file
    ),
    (re.compile(r"\{\{[^{}]*\}\}"), ""),  # TensorFlow's name of a node
    (re.compile(r"(?<![\w.])/(?:[^\s/:'\"]+/)+"), ""),  # folders of this machine
    (re.compile(r"\s+"), " "),
)


def shortened(message: str) -> str:
    r"""Return a message on one line, without the folders of this machine.

    >>> shortened("RuntimeError: Check '/home/me/ov/x.cpp:3'\n  failed")
    "RuntimeError: Check 'x.cpp:3' failed"
    """
    for pattern, replacement in _NOISE:
        message = pattern.sub(replacement, message)
    return short(message.strip(), MAX_SHORT_LENGTH)
