"""Decisions on questions where the specifications are silent or contradict themselves.

A test runs each decision that can be run.
"""

from __future__ import annotations

from gathercli.records import NamedTuple

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

    from gathercli.spec.op import Op


class Decision(NamedTuple):
    """The answer to an open question of a specification."""

    id: str  # a permanent short name: ``gather-8-range``
    rows: tuple[str, ...]  # the full names of the versions concerned
    question: str  # the gap or contradiction in the texts
    choice: str
    reason: str
    evidence: str  # the source of the reason


_OPENVINO_GATHER: Final = ("openvino.Gather-8", "openvino.Gather-7", "openvino.Gather-1")
_ONNX_GATHER: Final = ("onnx.Gather-13", "onnx.Gather-11", "onnx.Gather-1")
_ONNX_ELEMENTS: Final = ("onnx.GatherElements-13", "onnx.GatherElements-11")
_BATCHED: Final = _OPENVINO_GATHER[:2]
_OPENVINO_ND: Final = ("openvino.GatherND-8", "openvino.GatherND-5")
_ONNX_ND: Final = ("onnx.GatherND-13", "onnx.GatherND-12", "onnx.GatherND-11")
_ONNX_ND_BATCHED: Final = _ONNX_ND[:2]
_TREE: Final = ("openvino.GatherTree-1",)

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
    Decision(
        "nd-outside",
        (*_OPENVINO_ND, *_ONNX_ND),
        "OpenVINO's texts do not say what an index outside its range does; ONNX's call it an error "
        "and do not say what a runtime does then.",
        "The whole call is refused, naming the first such index and the axis it addresses.",
        "Nothing in data answers it, and runtimes that do not check read other rows or foreign "
        "memory.",
        "ONNX issue 2179; OpenVINO 2026.4.1, CPU plugin",
    ),
    Decision(
        "nd-5-negative",
        ("openvino.GatherND-5",),
        "Indices lie in [0, s-1]; what a negative one does is not said.",
        "It is refused. `--negative wrap` counts it from the end, as OpenVINO does.",
        "It is outside the stated range.",
        "GatherND-5, inputs; OpenVINO 2026.4.1, CPU plugin",
    ),
    Decision(
        "nd-8-negative",
        ("openvino.GatherND-8",),
        "The range is [-s, s-1], but a note says that releases before 2025.3 did not support "
        "negative indices, under the same version.",
        "A negative index counts from the end. `--negative error` refuses it, for older releases.",
        "The range is the text's own.",
        "GatherND-8, inputs and the note",
    ),
    Decision(
        "nd-empty-output",
        (*_OPENVINO_ND, *_ONNX_ND),
        "An output without elements reads nothing, whatever its indices are.",
        "They are checked all the same, and one outside its axis is refused.",
        "The texts speak of every index value. NumPy refuses too; ONNX Runtime and PyTorch do not "
        "check, and TensorFlow refuses even legal indices.",
        'ONNX: "any of the index values"',
    ),
    Decision(
        "nd-5-flattened-shape",
        ("openvino.GatherND-5",),
        "For batch_dims above 1 the text gives a shape whose batch dimensions are multiplied, and "
        "calls that shape incorrect.",
        "The batch dimensions become one, as the formula says: [2,3] becomes [6].",
        "That shape is what sets version 5 apart; version 8 keeps the dimensions.",
        "GatherND-5, Example 6; OpenVINO's tests of type propagation, gather_nd_v5_*_batch_dims2",
    ),
    Decision(
        "nd-batch-dims-equal",
        _OPENVINO_ND,
        "The batch dimensions of data and indices are called broadcastable: equal, or one of them "
        "1.",
        "They are equal, or the call is refused; 1 does not broadcast.",
        "OpenVINO's GatherND refuses 1 beside n both ways, and ONNX's text says equal.",
        'OpenVINO\'s shape inference, "must be the same"; ONNX GatherND-13, rule 2',
    ),
    Decision(
        "nd-batch-dims-lowest",
        _ONNX_ND_BATCHED,
        "batch_dims is to be less than both ranks; a lower bound is not given.",
        "It is 0 or more; a negative one is refused.",
        "The text does not say from which rank a negative one would count.",
        "ONNX pull request 8465",
    ),
    Decision(
        "nd-first-axis",
        (*_OPENVINO_ND, *_ONNX_ND_BATCHED),
        "Gathering is said to start from dimension b+1, for b batch dimensions.",
        "The first number of a tuple addresses dimension b, counted from 0.",
        "With one batch dimension the examples index the second dimension.",
        "GatherND-8, Example 5; ONNX GatherND-13, Example 5",
    ),
    Decision(
        "nd-bounds",
        _ONNX_ND_BATCHED,
        "Rule 5 bounds number i of a tuple by dimension i of data, whatever batch_dims is.",
        "The bound is the size of dimension b + i, which the number addresses.",
        "The equation reads data there.",
        "ONNX GatherND-13, rule 5; onnx-mlir pull request 1754",
    ),
    Decision(
        "nd-depth",
        _OPENVINO_ND,
        "A tuple may be as long as the rank N of data, whatever batch_dims is.",
        "It has at most N - batch_dims numbers.",
        "The formula of the shape leaves out that many dimensions of data after the batch.",
        "GatherND-8, shape of the output",
    ),
    Decision(
        "nd-empty-tuple",
        _OPENVINO_ND,
        "Whether a tuple may have no numbers, with indices.shape[-1] 0, is not said.",
        "It may: each position then gets a copy of data, or of its batch of data.",
        "The formula gives that, and TensorFlow and ONNX Runtime do it; ONNX's text asks for one "
        "number or more.",
        "GatherND-8, shape of the output; TensorFlow 2.21, tf.gather_nd",
    ),
    Decision(
        "nd-rank",
        _ONNX_ND_BATCHED,
        "The output is said to have rank q + r - k - 1, without batch_dims, and the rules slice "
        "data[0:b-1, ...].",
        "out[c, s] = data[c[:b], indices[c], s], of rank q + r - k - 1 - b.",
        "The first sentence of the same text subtracts b, and Example 5 agrees.",
        "ONNX GatherND-13, description and Example 5",
    ),
    Decision(
        "nd-5-layer",
        ("openvino.GatherND-5",),
        "The XML examples write batch_dims=0 without quotes, and name no version.",
        'They are read as batch_dims="0" and batch_dims="2" of version 5.',
        "Without quotes they are not XML.",
        "GatherND-5, the XML examples; GatherND-8 has the quotes",
    ),
    Decision(
        "tree-length",
        _TREE,
        "For max_seq_len 0 the pseudocode reads the last step, parent_ids[-1].",
        "A length of 0 or less leaves the whole sequence at end_token.",
        "There is no step to begin at; OpenVINO's C++ reference leaves such a beam alone, and "
        "TensorFlow Addons gives the same for 0.",
        "OpenVINO's C++ reference, gather_tree; TensorFlow Addons 0.23, gather_tree",
    ),
    Decision(
        "tree-parents",
        _TREE,
        "The pseudocode is Python, where a parent of -1 is the last beam; the text has no range.",
        "A parent that is used lies in [0, W-1] for W beams, or the call is refused. The parents "
        "of step 0, of steps past the length and of beams that none leads to are not used.",
        "OpenVINO refuses the same ones.",
        'OpenVINO 2026.4.1, CPU plugin, "Wrong parent index"',
    ),
    Decision(
        "tree-integers",
        _TREE,
        "T is any numeric type, floats among them, yet the inputs should have integer values only.",
        "A float type is taken; a fraction, an infinity or NaN in any input is refused.",
        "It is what the note asks for. OpenVINO computes with a parent of 0.5 as if it were 0.",
        "GatherTree-1, the note on the inputs",
    ),
    Decision(
        "tree-types",
        _TREE,
        "T is any supported numeric type, without a list.",
        "It is an integer or float type, the same for all four inputs; booleans are refused.",
        "The text has one T for all of them.",
        "GatherTree-1, types",
    ),
    Decision(
        "tree-not-tensorflow",
        _TREE,
        "It is called equivalent to TensorFlow's gather_tree.",
        "The text's own rules hold: any numeric type, and only parents that are used are checked.",
        "TensorFlow Addons takes int32 alone, and refuses parents that are not used, those of step "
        "0 too.",
        "TensorFlow Addons 0.23 with TensorFlow 2.15",
    ),
)
"""Decisions on index values, batches, the axis, types and shapes; then on GatherND, GatherTree."""


def concerning(op: Op) -> tuple[Decision, ...]:
    """Return the decisions on a version."""
    return tuple(each for each in DECISIONS if op.full_name in each.rows)
