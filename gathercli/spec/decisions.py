"""The decisions made where the specifications are silent or contradict themselves.

A test runs each decision that can be run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from gathercli.spec.op import Op


class Decision(NamedTuple):
    """The answer to a question that a specification leaves open.

    Attributes
    ----------
    id
        A permanent short name: ``gather-8-range``.
    rows
        The full names of the versions it concerns.
    question
        The gap or the contradiction in the texts.
    evidence
        The source of the reason.
    """

    id: str
    rows: tuple[str, ...]
    question: str
    choice: str
    reason: str
    evidence: str


_OPENVINO_GATHER: Final = ("openvino.Gather-8", "openvino.Gather-7", "openvino.Gather-1")
_ONNX_GATHER: Final = ("onnx.Gather-13", "onnx.Gather-11", "onnx.Gather-1")
_ONNX_ELEMENTS: Final = ("onnx.GatherElements-13", "onnx.GatherElements-11")
_BATCHED: Final = _OPENVINO_GATHER[:2]

DECISIONS: Final = (
    Decision(
        "gather-8-range",
        ("openvino.Gather-8",),
        "Indices are said to lie in [-s, s-1], and indices outside are said to give zeros.",
        "Every integer is taken. Those in [-s, s-1] address data, all others give zeros, -s-1 as "
        "well as s.",
        "The range says which indices address data; the text's own last example has 10 and -20 on "
        "an axis of 5.",
        "Gather-8, Example 7; OpenVINO's C++ reference",
    ),
    Decision(
        "unsigned-negative",
        _OPENVINO_GATHER[1:],
        "Indices lie in [0, s-1]; what a negative one does is not said.",
        "It is refused, as any index outside is. `--negative wrap --out-of-range zero` gives what "
        "OpenVINO's C++ reference gives.",
        "It is outside the stated range, and runtimes disagree: some count it from the end, "
        'others give zeros. Detection models use -1 for "nothing selected".',
        "OpenVINO pull requests 1570 and 5426",
    ),
    Decision(
        "opset-1-negative",
        ("onnx.Gather-1",),
        'Indices are "within bounds"; whether a negative one is, the text does not say.',
        "It is refused. `--negative wrap` counts it from the end, as the runtimes do.",
        "Opset 11 brought negative indices as something new.",
        "ONNX pull request 2260",
    ),
    Decision(
        "error-is-refusal",
        (*_ONNX_GATHER, *_ONNX_ELEMENTS),
        'An index out of bounds "is an error", without a word on what a runtime does then.',
        "The whole call is refused, naming the first such index and how many there are.",
        "An error that still gives a result is not one.",
        "ONNX issue 2179 and pull request 2202",
    ),
    Decision(
        "empty-output",
        (*_OPENVINO_GATHER[1:], *_ONNX_GATHER),
        "An output without elements reads nothing, whatever its indices are.",
        "They are checked all the same, and one outside the axis is refused.",
        "The texts speak of every index value, not of those that are read; ONNX Runtime and NumPy "
        "refuse too.",
        'ONNX: "any of the index values"',
    ),
    Decision(
        "batch-dims-lowest",
        _BATCHED,
        "batch_dims may be as low as -min(N, M) for ranks N of data and M of indices, but a "
        "negative one is counted from the rank of indices.",
        "-M to M is taken and counted from M; it may then not be beyond the axis.",
        "For N = 1, M = 3, -3 means 0 batch dimensions, which is meaningful.",
        "OpenVINO's C++ reference; TensorFlow has the same range",
    ),
    Decision(
        "batch-dims-equal",
        _BATCHED,
        "The batch dimensions of data and indices are to be equal; 1 beside n is not spoken of.",
        "They are equal, or the call is refused; 1 does not broadcast.",
        "The formula of the shape takes them from data alone.",
        "Gather-8, shape of the output",
    ),
    Decision(
        "gathered-axis",
        _BATCHED,
        "Gathering is said to start from dimension batch_dims.",
        "It is along the axis, which may come later.",
        "The text's own example has one batch dimension and axis 2.",
        "Gather-8, Example 4",
    ),
    Decision(
        "axis-from-zero",
        _OPENVINO_GATHER,
        "Axis 1 is explained as the first dimension.",
        "Axis 0 is the first dimension, axis 1 the second.",
        "In the text's own model axis 1 replaces the second of four dimensions.",
        "Gather-8, the XML examples",
    ),
    Decision(
        "axis-in-formula",
        _OPENVINO_GATHER,
        "The formula of the shape slices with axis and batch_dims, which breaks for negative ones.",
        "Both are counted from the front first.",
        "With axis -1 the formula as written repeats all of data's dimensions.",
        "Gather-8, Example 5",
    ),
    Decision(
        "axis-one-element",
        _OPENVINO_GATHER,
        "The axis is a scalar or a 1-D tensor of a length that is not said.",
        "The length is 1; a longer or a deeper list is refused.",
        "One axis is used, and OpenVINO refuses the others.",
        "OpenVINO's tests of type propagation, incorrect_axis_shape",
    ),
    Decision(
        "axis-default",
        _OPENVINO_GATHER,
        "The axis is a required input, which a command line would have to repeat every time.",
        "Without `--axis` it is 0, and the result's header shows it.",
        "0 is what ONNX has, and no text contradicts it.",
        "ONNX operator schemas, Gather",
    ),
    Decision(
        "data-rank",
        _OPENVINO_GATHER,
        "The rank that data must have is not said.",
        "It is 1 or more.",
        "A 0-D tensor has no axis; OpenVINO refuses it.",
        "Follows from the range of the axis, [-N, N-1]",
    ),
    Decision(
        "gather-1-types",
        ("openvino.Gather-1",),
        "The text has no list of types.",
        "Data of any type, indices of any integer type; floats are refused as indices.",
        "Gather-7 and Gather-8 say so, and what runs Gather-1 refuses float indices.",
        "OpenVINO's CPU plugin; Gather-7, types",
    ),
    Decision(
        "elements-axis",
        ("openvino.GatherElements-6",),
        'The axis is called optional and, a line below, "Required: yes".',
        "It is required.",
        "No default is given, which an optional one would need.",
        "OpenVINO pull request 3304",
    ),
    Decision(
        "elements-negative",
        ("openvino.GatherElements-6",),
        "The text had [0, s-1]; from 2025.3 OpenVINO also takes negative indices, under the same "
        "version.",
        "The text of version 6 as it was first published holds: a negative index is refused. "
        "`--negative wrap` gives the newer answer.",
        "A model of version 6 may meet a runtime from before the change.",
        "OpenVINO pull requests 30800 and 30856",
    ),
    Decision(
        "elements-equal",
        ("openvino.GatherElements-6",),
        "Indices have the shape of data except on the axis, but an example shows a smaller shape.",
        "Beside the axis the dimensions are equal.",
        "The example is smaller on the axis alone: (2,3) of (3,3), axis 0.",
        "GatherElements-6, Example 3; OpenVINO's tests of type propagation",
    ),
    Decision(
        "elements-at-most",
        _ONNX_ELEMENTS,
        "How indices and data compare beside the axis is not said.",
        "Indices may be smaller there, not larger; 1 does not broadcast.",
        "The equations read data at the coordinates of indices, which must lie in it.",
        "ONNX Runtime's check; ONNX pull request 8444",
    ),
    Decision(
        "onnx-axis-default",
        _ONNX_GATHER,
        "The line of the attribute names no default for the axis.",
        "It is 0.",
        "The schema has it.",
        "ONNX operator schemas, Gather",
    ),
    Decision(
        "onnx-equation",
        _ONNX_GATHER,
        "The second equation has a bracket too many and leaves out an index.",
        "out[p, i, s] = data[p, indices[i], s], for every axis.",
        "It is what the text's examples and the first equation give.",
        "ONNX issue 5619",
    ),
    Decision(
        "not-tensorflow",
        ("openvino.Gather-8",),
        "It is called identical to TensorFlow's Gather but for negative indices.",
        "The text's own rules hold: zeros outside the axis, batch_dims refused beyond the axis.",
        "TensorFlow refuses an index outside on a CPU, and with axis 0 drops batch_dims.",
        "TensorFlow 2.21, tf.gather",
    ),
)
"""The decisions on index values, batches, the axis, types and shapes, in this order."""


def concerning(op: Op) -> tuple[Decision, ...]:
    """Return the decisions that concern a version."""
    return tuple(each for each in DECISIONS if op.full_name in each.rows)
