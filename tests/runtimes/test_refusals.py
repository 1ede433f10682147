"""A refusal agrees with a version only if its reason is the version's rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gathercli import ops
from gathercli.compute.compare import compared
from gathercli.compute.verdicts import Case
from gathercli.io.source import Inputs
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.ops.gather import ONNX_13
from gathercli.runtimes import client
from gathercli.runtimes.calls import RuntimeCall, calls, integers
from gathercli.runtimes.client import RuntimeProcess, reason_of, refusal
from gathercli.runtimes.declared import NAMES, runtimes
from gathercli.runtimes.verdict import Expected, RuntimeOutcome, RuntimeVerdict, judge, outcome_text
from gathercli.spec.call import Operand
from tests.runtimes.peers import PEERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.cli.slice_options import Observation
    from gathercli.compute.tensor import Tensor
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op

LIST, TREE = "3xf32=[1 2 3]", "2x1x2xi32=1"

REFUSED: tuple[tuple[str, list[str], dict[str, int]], ...] = (
    ("gather", [LIST, "1xi64=7"], {}),
    ("gather", ["0xf32=0", "1xi64=0"], {}),
    ("gather", ["xf32=1", "1xi64=0"], {}),
    ("gather", [LIST, "1xi64=0"], {"axis": 3}),
    ("gather", [LIST, "1xi64=0"], {"batch_dims": 5}),
    ("gather", [LIST, "3xi64=0"], {"batch_dims": 1}),
    ("gather", ["3x2xf32=1", "2x1xi64=0"], {"axis": 1, "batch_dims": 2}),
    ("gather", ["3x2xf32=1", "3x1xi64=0"], {"axis": 1, "batch_dims": -3}),
    ("gather", ["3x2xf32=1", "2x1xi64=0"], {"axis": 1, "batch_dims": 1}),
    ("gather", [LIST, "1xf32=0"], {}),
    ("gather", [LIST, "1xbool=[true]"], {}),
    ("gather", ["3x2xf32=1", "1xf32=0"], {}),
    ("gather", ["3x0xf32=0", "1xi64=7"], {}),
    ("gather", ["0x2xf32=0", "1xi64=0"], {}),
    ("gather-elements", [LIST, "1xi64=7"], {"axis": 0}),
    ("gather-elements", ["xf32=1", "1xi64=0"], {"axis": 0}),
    ("gather-elements", ["xf32=1", "xi64=0"], {"axis": 0}),
    ("gather-elements", [LIST, "1xi64=0"], {"axis": 3}),
    ("gather-elements", ["3x2xf32=1", "1xi64=0"], {"axis": 1}),
    ("gather-elements", ["3x2xf32=1", "5x1xi64=0"], {"axis": 1}),
    ("gather-elements", [LIST, "1xf32=0"], {"axis": 0}),
    ("gather-elements", [LIST, "1xbool=[true]"], {"axis": 0}),
    ("gather-nd", [LIST, "1x1xi64=7"], {}),
    ("gather-nd", ["0xf32=0", "1x1xi64=0"], {}),
    ("gather-nd", ["0xf32=0", "1xi64=0"], {}),
    ("gather-nd", ["xf32=1", "1x1xi64=0"], {}),
    ("gather-nd", [LIST, "xi64=0"], {}),
    ("gather-nd", [LIST, "1x2xi64=0"], {}),
    ("gather-nd", ["3x2xf32=1", "2x1xi64=0"], {"batch_dims": 1}),
    ("gather-nd", ["3x2xf32=1", "2x1xi64=0"], {"batch_dims": 5}),
    ("gather-nd", ["3x2xf32=1", "2x1xi64=0"], {"batch_dims": -1}),
    ("gather-nd", [LIST, "1x1xf32=0"], {}),
    ("gather-tree", [TREE, "2x1x2xi32=7", "1xi32=2", "xi32=1"], {}),
    ("gather-tree", [TREE, "2x1xi32=0", "1xi32=2", "xi32=1"], {}),
    ("gather-tree", [TREE, "2x1x2xi32=0", "2xi32=2", "xi32=1"], {}),
    ("gather-tree", [TREE, "2x1x2xi32=0", "1xi32=2", "1xi32=1"], {}),
    ("gather-tree", [TREE, "2x1x2xi64=0", "1xi32=2", "xi32=1"], {}),
    ("gather-tree", ["1x1x1xbool=true", "1x1x1xbool=true", "1xbool=true", "xbool=true"], {}),
)
"""Small calls that versions refuse, by the operator: each rule that a runtime may have too."""


def tensors_of(words: list[str]) -> list[Tensor]:
    with Inputs(None) as inputs:
        return [inputs.tensor(word, "data") for word in words]


@pytest.mark.parametrize("runtime", NAMES)
def test_each_known_refusal_is_one_of_the_runtime(
    runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if runtime not in PEERS:
        pytest.skip(f"{runtime} is not named")
    unseen = {each.pattern for each in runtimes()[runtime].refusals}
    messages: list[str] = []

    def observed(runtime: str, version: str | None, message: str) -> Observation:
        messages.append(message)
        return refusal(runtime, version, message)

    monkeypatch.setattr(client, "refusal", observed)

    with RuntimeProcess(PEERS[runtime], 60) as process:
        if process.absence():
            pytest.skip(f"{runtime} is not installed")
        for family, words, attrs in REFUSED:
            tensors = dict(zip(names(family), tensors_of(words), strict=True))
            ops = [op for op in OPERATORS if op.family == family]
            for call in calls(runtime, ops, tensors, attrs):
                call.run(process, tensors, attrs)

    unseen -= {each for each in unseen for message in messages if re.search(each, message)}
    assert unseen == set()


def names(family: str) -> list[str]:
    return [each.name for each in FAMILIES[family].ROWS[0].inputs]


class Message(NamedTuple):
    """A refusal in a call of a version, and what it counts as."""

    runtime: str
    version: str
    words: list[str]
    message: str
    outcome: RuntimeOutcome
    attrs: Mapping[str, int] = {}


AGREES, REFUSES = RuntimeOutcome.AGREES, RuntimeOutcome.REFUSES
UNSUPPORTED = RuntimeOutcome.UNSUPPORTED
DYNAMIC = "Unexpected: CPU plug-in doesn't support GatherND operation with dynamic rank."
INDEX = "index {} is out of bounds for dimension 0 with size 3"
NAMELESS = "IndexError: index out of range in self"
TYPE = "Type Error: Type 'tensor(bool)' of input parameter ({}) of operator (Gather) is invalid."

MESSAGES = {
    "unsupported where the version refuses": Message(
        "openvino", "openvino.GatherND-8", [LIST, "1x1xi64=7"], DYNAMIC, UNSUPPORTED
    ),
    "unsupported where the version gives values": Message(
        "openvino", "openvino.GatherND-8", [LIST, "1x1xi64=0"], DYNAMIC, UNSUPPORTED
    ),
    "a rule of its own": Message(
        "torch", "openvino.Gather-8", [LIST, "1xi64=7"], INDEX.format(7), REFUSES
    ),
    "the index of the version": Message(
        "torch", "onnx.Gather-13", [LIST, "2xi64=[-7 -1]"], INDEX.format(-7), AGREES
    ),
    "an index that the version takes": Message(
        "torch", "onnx.Gather-13", [LIST, "2xi64=[-1 -7]"], INDEX.format(-1), UNSUPPORTED
    ),
    "no index, and one that the version alone takes": Message(
        "torch", "onnx.Gather-13", [LIST, "2xi64=[-1 7]"], NAMELESS, UNSUPPORTED
    ),
    "no index, and none that it may mean but the version's": Message(
        "torch", "onnx.Gather-13", [LIST, "2xi64=[1 7]"], NAMELESS, AGREES
    ),
    "no index, and the runtime takes negative ones": Message(
        "onnxruntime",
        "onnx.GatherElements-13",
        [LIST, "2xi64=[-1 7]"],
        "GatherElements op: Out of range value in index tensor",
        AGREES,
        {"axis": 0},
    ),
    "a tuple with an index that the version refuses": Message(
        "tensorflow",
        "onnx.GatherND-13",
        ["3x2xf32=1", "1x2xi64=[0 7]"],
        "indices[0] = [0, 7] does not index into param shape [3,2]",
        AGREES,
    ),
    "a tuple that the version takes": Message(
        "tensorflow",
        "onnx.GatherND-13",
        ["3x2xf32=1", "2x2xi64=[[0 -1][0 7]]"],
        "indices[0] = [0, -1] does not index into param shape [3,2]",
        UNSUPPORTED,
    ),
    "an index without coordinates": Message(
        "tensorflow",
        "onnx.Gather-13",
        [LIST, "xi64=7"],
        "InvalidArgumentError: indices = 7 is not in [0, 3) [Op:GatherV2]",
        AGREES,
    ),
    "a tuple without coordinates": Message(
        "tensorflow",
        "onnx.GatherND-13",
        ["3x2xf32=1", "2xi64=[0 7]"],
        "InvalidArgumentError: indices = [0, 7] does not index into param shape [3,2]",
        AGREES,
    ),
    "the type of the same input": Message(
        "onnxruntime", "onnx.Gather-13", [LIST, "1xbool=[true]"], TYPE.format("indices"), AGREES
    ),
    "the type of another input": Message(
        "onnxruntime", "onnx.Gather-13", [LIST, "1xbool=[true]"], TYPE.format("data"), UNSUPPORTED
    ),
    "the second of two rules": Message(
        "torch",
        "onnx.Gather-13",
        [LIST, "1xf32=0"],
        "Dimension out of range (expected to be in range of [-1, 0], but got 3)",
        AGREES,
        {"axis": 3},
    ),
    "the last of four rules": Message(
        "openvino",
        "openvino.Gather-8",
        ["3x2xf32=1", "2x1xf32=0"],
        "must have equal or intersecting sizes until batch_dims",
        AGREES,
        {"axis": 1, "batch_dims": 1},
    ),
    "a rule behind one that another takes for granted": Message(
        "torch",
        "onnx.GatherElements-13",
        ["3x2xf32=1", "1xf32=0"],
        "Dimension out of range (expected to be in range of [-2, 1], but got 3)",
        AGREES,
        {"axis": 3},
    ),
    "an index outside, of a type that the version alone refuses": Message(
        "torch", "onnx.Gather-13", [LIST, "2xu8=[1 7]"], INDEX.format(7), AGREES
    ),
    "an index on the axis, of a type that the version refuses": Message(
        "torch", "onnx.Gather-13", [LIST, "2xu8=[1 2]"], INDEX.format(7), UNSUPPORTED
    ),
    "an index where no indices are integers": Message(
        "torch", "onnx.Gather-13", [LIST, "2xf32=[1 7]"], INDEX.format(7), UNSUPPORTED
    ),
    "another rule": Message(
        "openvino",
        "openvino.Gather-8",
        ["xf32=1", "1xi64=0"],
        "Indices element type must be of an integral number type.",
        UNSUPPORTED,
    ),
    "an accident": Message(
        "onnx.reference",
        "onnx.GatherND-13",
        [LIST, "xi64=0"],
        "IndexError: tuple index out of range",
        UNSUPPORTED,
    ),
}


def verdict_on(each: Message) -> RuntimeVerdict:
    (op,) = (op for op in OPERATORS if op.full_name == each.version)
    tensors = tensors_of(each.words)

    def bind(row: Op) -> Call:
        return ops.bind(row, *map(Operand.of, tensors), **dict[str, Any](each.attrs))

    case = Case(bind, *tensors)
    expected = Expected(compared([op], case, named={op}), case)
    call = RuntimeCall(each.runtime, "call", op)
    return judge(call, refusal(each.runtime, "1", each.message), expected)


@pytest.mark.parametrize("name", MESSAGES)
def test_a_refusal_agrees_by_its_reason_alone(name: str) -> None:
    verdict = verdict_on(MESSAGES[name])

    assert verdict.outcome is MESSAGES[name].outcome
    assert verdict.disagrees is (verdict.outcome is not AGREES)


@pytest.mark.parametrize(
    ("outcome", "start"),
    [
        (AGREES, "refuses, as the version does: "),
        (REFUSES, "refuses: "),
        (UNSUPPORTED, "does not take the call: "),
    ],
)
def test_each_kind_of_refusal_has_its_words(outcome: RuntimeOutcome, start: str) -> None:
    each = next(each for each in MESSAGES.values() if each.outcome is outcome)

    line = outcome_text(verdict_on(each))

    assert line == f"{start}{each.message}"


@pytest.mark.parametrize(
    ("reference", "owner"), [(None, "every version"), ("the version", "the version")]
)
def test_values_where_one_version_refuses_say_nothing_of_the_others(
    reference: str | None, owner: str
) -> None:
    code = "np.take(data, indices, axis=0)"
    call = RuntimeCall("numpy", code, ONNX_13, code)
    (result,) = tensors_of(["xf32=1.5"])
    verdict = RuntimeVerdict(call, RuntimeOutcome.VALUES, result=result)

    line = outcome_text(verdict, reference)

    assert line == f"gives 1.5, where {owner} refuses"


def test_a_message_that_is_not_known_is_no_reason() -> None:
    assert {reason_of(runtime, "no") for runtime in NAMES} == {None}


def test_an_attribute_that_a_version_lacks_makes_no_call() -> None:
    ops = [op for op in OPERATORS if op.full_name in ("onnx.Gather-13", "openvino.Gather-8")]
    data, indices = tensors_of(["2x2xf32=1", "2x2xi64=0"])
    tensors, attrs = {"data": data, "indices": indices}, {"axis": 1, "batch_dims": 1}

    made = {
        runtime: [call.op and call.op.full_name for call in calls(runtime, ops, tensors, attrs)]
        for runtime in ("onnxruntime", "openvino", "numpy")
    }

    assert integers(attrs) == attrs
    assert made == {"onnxruntime": [], "openvino": ["openvino.Gather-8"] * 3, "numpy": []}
