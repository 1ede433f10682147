"""Random bodies in each other, and what `check` says of their nodes, beside a run of the model."""

from __future__ import annotations

import random
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_gather import Gather

from gathercli.models.files import ReadOptions, read
from gathercli.models.verdict import judge
from tests.modelfiles import BOOL, FLOAT, INT64, constants, onnx_model, value

NAMES: Final = ("a", "b", "d", "e")
"""The names of values; a body may use one that the graph around it has, too."""

SIZE: Final = 5
"""The size of the axis of every node."""

DEFAULT: Final = (1, 2)
"""What the function adds unless the call says otherwise."""

MOST_DEPTH: Final = 3
RUNS: Final = 6

if TYPE_CHECKING:
    from collections.abc import Sequence

make = helper.make_node


class Generator:
    """A generator of graphs whose values are pairs of int64."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311
        self._number = 0
        # onnxruntime loads few models with many names that bodies share.
        self._shared = self.draw.choice((0, 0.05, 0.5))

    def fresh(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number}"

    def nodes(self, known: list[str], depth: int) -> tuple[list[onnx.NodeProto], str]:
        """Return nodes, and the name of the last value; `known` names those around."""
        known, own, found = list(known), list[str](), list[onnx.NodeProto]()
        for _ in range(self.draw.randint(2, 5)):
            free = [name for name in NAMES if name not in own]
            name = self.fresh("v")
            if free and self.draw.random() < self._shared:
                name = self.draw.choice(free)
            found += self._value(name, known, depth)
            if name in used(found):  # of a graph around, which runtimes do not let a body hide
                name = self.fresh("v")
                found[-1].output[0] = name
            own.append(name)
            known.append(name)
            if self.draw.random() < 0.5:
                ends = ["x", self.draw.choice(known)], [self.fresh("y")]
                found.append(make("Gather", *ends, name=self.fresh("G")))
        return found, own[-1]

    def _value(  # noqa: PLR0911  (a kind each)
        self, name: str, known: list[str], depth: int
    ) -> list[onnx.NodeProto]:
        """Return the nodes of a value."""
        kinds = ["constant", "Add", "Max", "Mod", "F"]
        kind = self.draw.choice([*kinds, "If", "Loop", "Scan"] if depth else kinds)
        one, two = self.draw.choices(known, k=2)
        if kind == "constant":
            return [make("Constant", [], [name], value_ints=self.draw.choices(range(-6, 7), k=2))]
        if kind == "Mod":
            divisor = self.fresh("m")
            number = self.draw.randint(2, 7)
            return [
                make("Constant", [], [divisor], value_ints=[number]),
                make("Mod", [one, divisor], [name]),
            ]
        if kind == "F":
            node = make("F", [one], [name], domain="f")
            if self.draw.random() < 0.5:
                addend = self.draw.choices(range(4), k=2)
                node.attribute.append(helper.make_attribute("k", addend))
            return [node]
        if kind == "If":
            names = self.fresh("then"), self.fresh("else")
            bodies = [self._body([], known, depth, each) for each in names]
            return [make("If", ["c"], [name], then_branch=bodies[0], else_branch=bodies[1])]
        if kind == "Loop":
            # `onnx.reference` runs no iteration of some loops without a condition.
            trips, going = self.fresh("t"), self.fresh("on")
            entries = [value(self.fresh("i"), INT64, []), value(self.fresh("go"), BOOL, [])]
            body = self._body(entries, known, depth, self.fresh("loop"))
            return [
                make("Constant", [], [trips], value_int=self.draw.randint(0, 3)),
                make("Constant", [], [going], value=constants(going=True)[0]),
                make("Loop", [trips, going, one], [name], body=body),
            ]
        if kind == "Scan":
            body = self._body([], known, depth, self.fresh("scan"), scans=True)
            return [make("Scan", [one, two], [name], body=body, num_scan_inputs=1)]
        return [make(kind, [one, two], [name])]

    def _body(
        self,
        entries: list[onnx.ValueInfoProto],
        known: list[str],
        depth: int,
        name: str,
        *,
        scans: bool = False,
    ) -> onnx.GraphProto:
        """Return a body with one value that is carried, but for a branch, which has no inputs."""
        inside, outputs, extra = list(known), list[onnx.ValueInfoProto](), list[onnx.NodeProto]()
        if entries:
            going = self.fresh("goes")
            extra.append(make("Identity", [entries[1].name], [going]))
            outputs.append(value(going, BOOL, []))
        if entries or scans:
            entries = [*entries, value(self.fresh("s"), INT64, [2])]
            inside.append(entries[-1].name)
        if scans:
            entries.append(value(self.fresh("row"), INT64, []))
        nodes, last = self.nodes(inside, depth - 1)
        result = self.fresh("o")
        nodes.append(make("Identity", [last], [result]))
        outputs.append(value(result, INT64, [2]))
        return helper.make_graph([*nodes, *extra], name, entries, outputs)

    def model(self) -> onnx.ModelProto:
        """Return a model with the inputs x, n and c, and a function that adds an attribute."""
        nodes, last = self.nodes(["n", "p"], MOST_DEPTH)
        nodes.append(make("Identity", [last], ["out"]))
        inputs = [value("x", FLOAT, [SIZE]), value("n", INT64, [2]), value("c", BOOL, [])]
        addend = make("Constant", [], ["k"])
        addend.attribute.add(name="value_ints", ref_attr_name="k", type=onnx.AttributeProto.INTS)
        opsets = [helper.make_opsetid("", 17)]
        body = [addend, make("Add", ["a", "k"], ["b"])]
        defaults = [helper.make_attribute("k", DEFAULT)]
        function = helper.make_function(
            "f", "F", ["a"], ["b"], body, opsets, attribute_protos=defaults
        )
        return onnx_model(
            nodes,
            inputs,
            [value("out", INT64, [2])],
            constants(p=self.draw.choices(range(-5, 5), k=2)),
            functions=[function],
            opsets=[helper.make_opsetid("f", 1)],
        )


def used(nodes: Sequence[onnx.NodeProto]) -> set[str]:
    """Return the names of the inputs of nodes, and of those in their bodies."""
    names = {name for node in nodes for name in node.input}
    bodies = (each.g for node in nodes for each in node.attribute)
    return names.union(*(used(each.node) for each in bodies))


def seen(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, bool]:
    """Run a model by `onnx.reference`; return whether an index of each node was outside."""
    found: dict[str, bool] = {}

    def run(self: Gather, data: Any, indices: Any, axis: int | None = None) -> tuple[Any]:
        name, size = self.onnx_node.name, data.shape[axis or 0]
        found[name] = found.get(name, False) or bool((abs(2 * indices + 1) > 2 * size).any())
        return (np.take(data, np.clip(indices, -size, size - 1), axis=axis or 0),)

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _fill(copy.graph)
    with patch.object(Gather, "_run", run):
        ReferenceEvaluator(copy).run(None, feeds)
    return found


def _fill(graph: onnx.GraphProto) -> None:
    """Add the attributes to calls that have the defaults, which `onnx.reference` lacks."""
    for node in graph.node:
        for each in node.attribute:
            _fill(each.g)
        if node.op_type == "F" and not node.attribute:
            node.attribute.append(helper.make_attribute("k", DEFAULT))


def stopped(model: onnx.ModelProto, feeds: dict[str, Any]) -> str:
    """Run a model by onnxruntime; return the node that refuses an index, empty text if none."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    names = ["CPUExecutionProvider"]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=names)
    except Exception as error:
        if "not acyclic" in str(error) or "single static assignment" in str(error):
            raise ImportError from error  # some names it does not let bodies share
        raise
    try:
        session.run(None, feeds)
    except Exception as error:
        match = re.findall(r"Name:'(G\d+)'", str(error))
        if not match:
            raise
        return str(match[-1])
    return ""


def verdicts(model: onnx.ModelProto) -> dict[str, str]:
    """Return the verdict on each node, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.onnx")
        path.write_bytes(model.SerializeToString())
        nodes = read(str(path), ReadOptions(infer=True)).nodes
    return {each.own_name: judge(each).word for each in nodes}


def scope(seed: int) -> str:
    """Draw a model of bodies in each other: no proven node is outside, each refused one is."""
    generator = Generator(seed)
    model = generator.model()
    words, outcome = verdicts(model), "by onnx.reference"
    for _ in range(RUNS):
        feeds = {
            "x": np.arange(SIZE, dtype=np.float32),
            "n": np.array(generator.draw.choices(range(-6, 7), k=2)),
            "c": np.array(generator.draw.random() < 0.5),
        }
        found = seen(model, feeds)
        for name, is_outside in found.items():
            assert not (is_outside and words[name] == "proven"), name
            assert is_outside or words[name] != "refused", name
        with suppress(ImportError):
            refusing = stopped(model, feeds)
            outcome = "by onnxruntime, too"
            assert bool(refusing) == any(found.values()), refusing
            assert not refusing or found[refusing], refusing
    return outcome
