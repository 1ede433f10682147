"""What real runtimes were seen to do with calls at the edges of the specifications.

A runtime that is not installed is skipped by name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gathercli import ops
from gathercli.compute.compare import compared
from gathercli.compute.verdicts import Case
from gathercli.io.source import Inputs
from gathercli.ops import OPERATORS
from gathercli.runtimes.verdict import Expected, Runtimes, outcome_text
from gathercli.spec.call import Operand
from tests.runtimes.peers import PEERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.spec.call import Call
    from gathercli.spec.op import Op


GARBAGE = "unsteady: three runs differ"
"""What memory holds is a result, which glibc's allocator fills otherwise in each run."""


class Observed(NamedTuple):
    """A call, and what each runtime makes of it: a pattern by the start of the call's text.

    `more` are the inputs behind the first two.
    """

    data: str
    indices: str
    version: str
    runtime: str
    outcomes: dict[str, str]
    axis: int = 0
    batch_dims: int | None = None
    more: tuple[str, ...] = ()


OBSERVED = {
    "R1 zeros": Observed(
        "3xf32=1",
        "2xi64=[0 -1]",
        "openvino.Gather-1",
        "openvino",
        {"Gather-1": r"gives \[1\.0,0\.0\], where the version refuses"},
    ),
    "R1 wraps a constant": Observed(
        "1x3xi32=[[10 20 30]]",
        "1xi64=-1",
        "openvino.Gather-7",
        "openvino",
        {"Gather-7 static": r"gives \[\[0\]\]", "Gather-7 constant": r"gives \[\[30\]\]"},
        axis=1,
    ),
    "R1 reads past the end": Observed(
        "3xi32=[10 20 30]", "2xi64=[0 -1]", "openvino.Gather-7", "openvino", {"Gather-7": GARBAGE}
    ),
    "R2 example 7 of int32": Observed(
        "5xi32=[1 2 3 4 5]",
        "3xi64=[3 10 -20]",
        "openvino.Gather-8",
        "openvino",
        {"Gather-8": GARBAGE},
    ),
    "R2 example 7 of float32": Observed(
        "5xf32=[1 2 3 4 5]",
        "3xi64=[3 10 -20]",
        "openvino.Gather-8",
        "openvino",
        {"Gather-8": "agrees$"},
    ),
    "R3": Observed(
        "0x3xf32=0",
        "0xi64=0",
        "openvino.Gather-8",
        "openvino",
        {"Gather-8 static": "dies by SIGFPE", "Gather-8 dynamic": "agrees$"},
    ),
    "R4": Observed("0x3xf32=0", "2xi64=0", "openvino.Gather-8", "openvino", {"Gather-8": GARBAGE}),
    "R4 between other axes": Observed(
        "2x0x3xf32=0", "2xi64=0", "openvino.Gather-8", "openvino", {"Gather-8": GARBAGE}, axis=1
    ),
    "R9 GatherElements on nothing": Observed(
        "0xf32=0", "2xi64=0", "openvino.GatherElements-6", "openvino", {"GatherElements-6": GARBAGE}
    ),
    "R9 empty tuples": Observed(
        "2x3xf32=1",
        "4x0xi64=0",
        "openvino.GatherND-8",
        "openvino",
        {"GatherND-8 static": GARBAGE, "GatherND-8 constant": GARBAGE},
    ),
    "R9 GatherND outside": Observed(
        "3x2xf32=[[1 2][3 4][5 6]]",
        "2x1xi64=[[3][-5]]",
        "openvino.GatherND-8",
        "openvino",
        {"GatherND-8 static": GARBAGE, "GatherND-8 constant": GARBAGE},
    ),
    "R9 beams without a length": Observed(
        "2x1x2xi64=1",
        "2x1x2xi64=0",
        "openvino.GatherTree-1",
        "openvino",
        {"GatherTree-1 static": GARBAGE, "GatherTree-1 constant": GARBAGE},
        more=("1xi64=0", "9"),
    ),
    "R5": Observed(
        "1x3x2xf32=[[[1 2][3 4][5 6]]]",
        "1x2xi64=[[0 2]]",
        "openvino.Gather-7",
        "openvino",
        {
            "Gather-7 static": "dies by SIGSEGV|unsteady|agrees$",  # as memory happens to be
            "Gather-7 dynamic": "agrees$",
        },
        axis=1,
        batch_dims=1,
    ),
    "R6": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[0 1]",
        "openvino.Gather-8",
        "openvino",
        {"Gather-8 static": GARBAGE},
        batch_dims=-2,
    ),
    "R7": Observed(
        "2x3xf32=1",
        "1x1xi64=1",
        "openvino.Gather-7",
        "openvino",
        {
            "Gather-7 static": "refuses, as the version does: Shapes",
            "Gather-7 dynamic": "gives|unsteady",
        },
        axis=1,
        batch_dims=1,
    ),
    "R8 indices": Observed(
        "3xf32=[1 2 3]",
        "1xi64=4294967296",
        "openvino.Gather-8",
        "openvino",
        {
            "Gather-8 static": r"differs from A at \[0\]: 1.0 and 0.0",
            "Gather-8 constant": "agrees$",
        },
    ),
    "R8 data": Observed(
        "2xf64=[1e300 2]",
        "1xi64=0",
        "openvino.Gather-8",
        "openvino",
        {"Gather-8": r"differs from A at \[0\]: 3.4028234663852886e\+38 and 1e\+300"},
    ),
    "R9 GatherElements wraps": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[0 -1]",
        "openvino.GatherElements-6",
        "openvino",
        {"GatherElements-6": r"gives \[1.0,3.0\], where the version refuses"},
    ),
    "R9 GatherElements refuses": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[0 7]",
        "openvino.GatherElements-6",
        "openvino",
        {
            "GatherElements-6 static": "refuses, as the version does: indices values of Gather",
            "GatherElements-6 dynamic": "refuses, as the version does: indices values of Gather",
        },
    ),
    "R9 GatherND": Observed(
        "3x2xf32=[[1 2][3 4][5 6]]",
        "2x2xi64=[[0 -1][1 2]]",
        "openvino.GatherND-5",
        "openvino",
        {
            "GatherND-5 static": r"gives \[2.0,5.0\], where the version refuses",
            "GatherND-5 dynamic": "does not take the call: .*dynamic rank",
        },
    ),
    "R10 Gather": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[0 7]",
        "onnx.Gather-13",
        "openvino",
        {"Gather-13 of ONNX": r"gives \[1.0,0.0\], where the version refuses"},
    ),
    "R10 GatherElements": Observed(
        "2x2xf32=1",
        "2x1xi64=0",
        "onnx.GatherElements-13",
        "openvino",
        {"GatherElements-13 of ONNX": "refuses: "},
    ),
    "R11": Observed(
        '2x2xstr=[["s0" "s1"]["s2" "s3"]]',
        "2xi64=[1 0]",
        "onnx.Gather-13",
        "onnxruntime",
        {"Gather-13": r'differs from A at \[0,1\]: "" and "s3"'},
    ),
    "ORT accepts a negative index at opset 1": Observed(
        "3xf32=[1 2 3]",
        "1xi64=-1",
        "onnx.Gather-1",
        "onnxruntime",
        {"Gather-1": r"gives \[3.0\], where the version refuses"},
    ),
    "ORT refuses": Observed(
        "3xf32=[1 2 3]",
        "1xi64=7",
        "onnx.Gather-13",
        "onnxruntime",
        {"Gather-13": "refuses, as the version does: indices element out of data bounds, idx=7"},
    ),
    "onnx.reference wraps": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[0 4]",
        "onnx.GatherElements-13",
        "onnx.reference",
        {"GatherElements-13": r"gives \[1.0,2.0\], where the version refuses"},
    ),
    "onnx.reference wants equal shapes": Observed(
        "2x2xf32=1",
        "2x1xi64=0",
        "onnx.GatherElements-13",
        "onnx.reference",
        {"GatherElements-13": "refuses: ValueError"},
    ),
    "R12": Observed(
        "2x3xf32=1",
        "2x2xi64=[[0 1][1 0]]",
        "openvino.Gather-7",
        "tensorflow",
        {"tf.gather": "gives values, where every version refuses"},
        batch_dims=1,
    ),
    "R12 jitted": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[-1 3]",
        "openvino.Gather-7",
        "tensorflow",
        {
            "tf.gather(data, indices, axis=0, batch_dims=0), jitted": r"gives \[1.0,3.0\]",
            "tf.gather(data, indices, axis=0, batch_dims=0)": "(refuses|gives)",
        },
    ),
    "R13": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[0 7]",
        "openvino.GatherElements-6",
        "openvino",
        {"GatherElements-6 in one thread": "unsteady|gives|dies"},
        axis=0,
    ),
    "R14 int64": Observed(
        "3xf32=[1 2 3]",
        "1x1xi64=4294967296",
        "openvino.GatherND-8",
        "openvino",
        {
            "GatherND-8 static": r"gives \[1.0\], where the version refuses",
            "GatherND-8 constant": "dies by SIGSEGV",
        },
    ),
    "R14 bfloat16": Observed(
        "3xbf16=[1 2 3]", "1xi64=2", "openvino.Gather-8", "openvino", {"Gather-8": "agrees$"}
    ),
    "torch": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[-1 0]",
        "onnx.Gather-13",
        "torch",
        {"data[indices]": "agrees$", "torch.index_select": "refuses: IndexError"},
    ),
    "torch on an empty axis": Observed(
        "0x2xf64=[]",
        "2xi64=0",
        "onnx.Gather-13",
        "torch",
        {
            "data[indices]": "refuses, as every version does: ",
            "torch.index_select": "refuses, as every version does: ",
            "torch.nn.functional.embedding": "refuses, as every version does: ",
        },
    ),
    "torch takes bytes for a mask of another shape": Observed(
        "3xf32=[1 2 3]",
        "1x1xu8=0",
        "openvino.GatherND-5",
        "torch",
        {"data": "does not take the call: IndexError: The shape of the mask"},
    ),
    "torch takes bytes for masks of more dimensions": Observed(
        "3xf32=[1 2 3]",
        "3x1x1xu8=0",
        "openvino.GatherND-5",
        "torch",
        {"data": "does not take the call: IndexError: too many indices"},
    ),
    "torch modulo": Observed(
        "3xf32=[1 2 3]",
        "1xi64=3",
        "onnx.GatherElements-13",
        "torch",
        {
            "torch.take_along_dim": r"gives \[1.0\], where every version refuses",
            "torch.gather": "refuses, as every version does: RuntimeError: index 3 is out of",
        },
    ),
    "jax fills": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[-1 3]",
        "openvino.Gather-8",
        "jax",
        {
            "jnp.take": r"differs from A at \[1\]: NaN and 0.0",
            "data[indices]": r"differs from A at \[1\]: 3.0 and 0.0",
        },
    ),
    "numpy": Observed(
        "3xf32=[1 2 3]",
        "2xi64=[-1 0]",
        "onnx.Gather-13",
        "numpy",
        {"np.take": "agrees$", "data[indices]": "agrees$"},
    ),
}
"""The observations of the specification's edges, by a name."""


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, Runtimes]]:
    """Keep the processes of runtimes for all tests."""
    processes: dict[str, Runtimes] = {}
    yield processes
    for each in processes.values():
        each.__exit__(None)


def outcomes(observed: Observed, processes: Runtimes) -> dict[str, str]:
    """Return what a runtime makes of a call, by the call's text."""
    (op,) = (op for op in OPERATORS if op.full_name == observed.version)
    attrs: dict[str, Any] = {"axis": observed.axis, "batch_dims": observed.batch_dims}
    attrs = {name: value for name, value in attrs.items() if op.attr(name) and value is not None}
    texts = (observed.data, observed.indices, *observed.more)
    with Inputs(None) as inputs:
        tensors = [
            inputs.tensor(text, each.name) for text, each in zip(texts, op.inputs, strict=True)
        ]

    def bind(row: Op) -> Call:
        return ops.bind(row, *map(Operand.of, tensors), **attrs)

    case = Case(bind, *tensors)
    expected = Expected(compared([op], case, named={op}), case)
    verdicts = processes.verdicts([op], tensors, attrs, expected)
    return {each.call.text: outcome_text(each) for each in verdicts}


@pytest.mark.parametrize("name", OBSERVED)
def test_an_observation_comes_out_as_a_line(name: str, started: dict[str, Runtimes]) -> None:
    observed = OBSERVED[name]
    if observed.runtime not in PEERS:
        pytest.skip(f"{observed.runtime} is not named")
    if observed.runtime not in started:
        started[observed.runtime] = Runtimes([PEERS[observed.runtime]], 30).__enter__()

    if started[observed.runtime].absences:
        pytest.skip(f"{observed.runtime} is not installed")

    lines = outcomes(observed, started[observed.runtime])

    for call, pattern in observed.outcomes.items():
        own = {text: line for text, line in lines.items() if text.startswith(call)}
        own = {call: own[call]} if call in own else own
        assert own
        assert {text: line for text, line in own.items() if not re.match(pattern, line)} == {}
