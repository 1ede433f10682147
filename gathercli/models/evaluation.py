"""What follows from the constants of an ONNX model, by scope: other constants, bounds, shapes.

The bodies of loops and functions are visited once for every iteration and call, and what the visits
have in common is kept. `main` is a process of its own with limits of memory and time, which writes
no file: packages run compiled code on the bytes of a file here.
"""

from __future__ import annotations

import base64
import gc
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from gathercli.models.bounds import Bounds, Known
from gathercli.models.onnx_nodes import (
    DOMAINS,
    FAMILY,
    MOST_DEPTH,
    ExhaustedError,
    NodeEvaluator,
    OnnxBody,
    met,
    prepare,
    tensors,
    with_attributes,
)

ADDRESS_BYTES: Final = 4 << 30  # bytes of address space, much of which the interpreter reserves
CPU_SECONDS: Final = 20
POLL_SECONDS: Final = 0.1  # between two looks whether the caller still runs
MOST_ANSWERED_BYTES: Final = 64 << 20  # the most bytes of all constants in the answer
MOST_VISITS: Final = 64  # the most iterations of a loop that are visited one by one


class Fact(NamedTuple):
    """What all visits of a body know of a value."""

    known: Known
    constants: tuple[NDArray[Any], ...] = ()  # the different ones of visits that have one
    is_certain: bool = True  # whether each visit happens

    @classmethod
    def of(cls, known: Known, *, is_certain: bool) -> Fact:
        """Return the fact of one visit."""
        return cls(known, () if known.constant is None else (known.constant,), is_certain)

    def join(self, other: Fact) -> Fact:
        """Return what is known of a value in the visits of both."""
        constants = list(self.constants)
        for each in other.constants:
            if not any(_equal(each, old) for old in constants):
                constants.append(each)
        if len(constants) > MOST_VISITS or len({each.shape for each in constants}) > 1:
            constants = []
        is_certain = self.is_certain and other.is_certain
        return Fact(_joined(self.known, other.known), tuple(constants), is_certain)


class Evaluation:
    """The facts of a model, by number of a body and name of a value."""

    def __init__(self, model: onnx.ModelProto) -> None:
        numbers = iter(range(1 << 40))
        self._opsets = {each.domain: each.version for each in model.opset_import}
        self.main = OnnxBody(model.graph, numbers)
        self._functions = {
            (each.domain, each.name): OnnxBody(each, numbers) for each in model.functions
        }
        self.facts: dict[int, dict[str, Fact]] = {}
        self.attributes: dict[int, dict[str, dict[str, int] | None]] = {}
        self._nodes, self._depth = NodeEvaluator(self._opsets), 0
        self.is_exhausted = False
        self._defaults = set(self.main.inputs) if model.ir_version >= 4 else set()

    def plan(self) -> None:
        """Find the nodes that decide what the family reads."""
        for each in self._functions.values():
            each.plan(self._functions)
        self.main.plan(self._functions)

    def run(self) -> None:
        """Evaluate these nodes."""
        try:
            self._visit(self.main, {}, _Around())
        except (ExhaustedError, MemoryError, RecursionError):
            # A body may have visits that are not among its facts.
            self.is_exhausted = True
            self.facts = {0: self.facts.get(0, {})}

    def bodies(self) -> Iterator[OnnxBody]:
        """Yield all bodies, in the order of their numbers."""
        waiting = [self.main, *self._functions.values()][::-1]
        while waiting:
            yield (body := waiting.pop())
            waiting += [each for bodies in body.bodies.values() for each in bodies.values()][::-1]

    def _visit(self, body: OnnxBody, given: dict[str, Known], around: _Around) -> list[Known]:
        """Evaluate a body once; return what is known of its outputs."""
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise ExhaustedError
        scope = _Scope(body, given, around)
        if not body.is_function:
            for name, array in tensors(body.proto, body.used):
                if name not in given:
                    is_default = body is self.main and name in self._defaults
                    known = Known.of(array, is_default=is_default)
                    if is_default:  # a caller may pass another size
                        known = known._replace(dims=body.type_of(name).dims)
                    scope.values[name] = known
        for at in body.steps:
            self._step(scope, at)
        facts = self.facts.setdefault(body.number, {})
        for name in filter(None, dict.fromkeys(body.targets)):
            fact = Fact.of(scope.known(name), is_certain=around.is_certain)
            facts[name] = facts[name].join(fact) if name in facts else fact
        self._depth -= 1
        return [scope.known(name) for name in body.outputs]

    def _step(self, scope: _Scope, at: int) -> None:
        self._nodes.count()
        body = scope.body
        node = with_attributes(body.nodes[at], scope.around.attributes)
        inputs = [scope.known(name) if name else None for name in node.input]
        function = self._functions.get((node.domain, node.op_type))
        found: Sequence[Known] = ()
        if function is not None:
            found = self._call(function, node, inputs, scope)
        elif at in body.bodies:
            found = self._with_bodies(node, body.bodies[at], inputs, scope)
        elif node.domain in DOMAINS:
            if node.op_type in FAMILY:
                self._note_attributes(body, node)
            types = [body.type_of(name) for name in node.output]
            found = self._nodes.outputs(node, inputs, types)
        for name, known in zip(node.output, found, strict=False):
            if name:
                scope.values[name] = met(body.type_of(name), known)

    def _note_attributes(self, body: OnnxBody, node: onnx.NodeProto) -> None:
        """Keep the attributes that all calls of a function give a node, by its first output."""
        if not body.is_function:
            return
        own = {each.name: each.i for each in node.attribute if each.type == each.INT}
        noted = self.attributes.setdefault(body.number, {})
        name = node.output[0] if node.output else ""
        noted[name] = own if noted.get(name, own) == own else None

    # Bodies

    def _call(
        self,
        function: OnnxBody,
        node: onnx.NodeProto,
        inputs: Sequence[Known | None],
        scope: _Scope,
    ) -> list[Known]:
        """Visit a function for a call of it."""
        given = dict(zip(function.inputs, [each or Known() for each in inputs], strict=False))
        attributes = {each.name: each for each in function.proto.attribute_proto}
        attributes |= {each.name: each for each in node.attribute}
        return self._visit(function, given, _Around(None, attributes, scope.around.is_certain))

    def _with_bodies(
        self,
        node: onnx.NodeProto,
        bodies: dict[str, OnnxBody],
        inputs: list[Known | None],
        scope: _Scope,
    ) -> list[Known]:
        """Visit the bodies of a node."""
        if node.domain in DOMAINS and node.op_type == "If":
            return self._if(bodies, inputs, scope)
        if node.domain in DOMAINS and "body" in bodies:
            if node.op_type == "Loop":
                return self._loop(bodies["body"], inputs, scope)
            if node.op_type == "Scan":
                return self._scan(node, bodies["body"], inputs, scope)
        for each in bodies.values():
            self._visit(each, {}, scope.inside(is_certain=False))
        return []

    def _if(
        self, bodies: dict[str, OnnxBody], inputs: list[Known | None], scope: _Scope
    ) -> list[Known]:
        """Visit both branches; return what their outputs have in common."""
        found = {name: self._visit(body, {}, scope.inside()) for name, body in bodies.items()}
        condition = _number(inputs[0]) if inputs else None
        if condition is not None:
            return found.get("then_branch" if condition else "else_branch", [])
        branches = list(found.values())
        if len(branches) != 2:
            return []
        return [_joined(one, two) for one, two in zip(*branches, strict=False)]

    def _loop(self, body: OnnxBody, inputs: list[Known | None], scope: _Scope) -> list[Known]:
        """Visit the body of a Loop: for each iteration if there are few, else once for all."""
        trips, condition, *carried = [*inputs, None, None][: max(len(inputs), 2)]
        number, going, *names = [*body.inputs, "", ""][: max(len(body.inputs), 2)]
        states, count = [each or Known() for each in carried], _number(trips)
        goes = 1 if condition is None else _number(condition)
        count = 0 if goes == 0 else count and max(count, 0)
        if count is None or count > MOST_VISITS or goes is None:
            given = {name: body.type_of(name) for name in names}
            last = np.inf if count is None else max(count - 1, 0)
            given[number] = Known(np.dtype(np.int64), (), bounds=Bounds.of(0, last))
            self._visit(body, given, scope.inside(is_certain=False))
            return []
        is_certain, rows = True, list[list[Known]]()
        for each in range(count):
            given = dict(zip(names, states, strict=False))
            given[number] = Known.of(np.asarray(each, np.int64))
            given[going] = Known.of(np.asarray(True))
            found = self._visit(body, given, scope.inside(is_certain=is_certain))
            states = found[1 : len(states) + 1]
            rows.append(found[len(states) + 1 :])
            proceeds = _number(found[0]) if found else None
            if proceeds == 0:
                break
            is_certain &= proceeds is not None
        return [*states, *map(_stacked, zip(*rows, strict=False))] if is_certain else []

    def _scan(
        self, node: onnx.NodeProto, body: OnnxBody, inputs: list[Known | None], scope: _Scope
    ) -> list[Known]:
        """Visit the body of a Scan: for each row if there are few, else once for all."""
        values = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        known = [each or Known() for each in inputs]
        first = len(known) - values.get("num_scan_inputs", len(known) + 1)
        if self._opsets.get("", 9) < 9 or first < 0:
            self._visit(body, {}, scope.inside(is_certain=False))
            return []
        names, states, scanned = body.inputs[first:], known[:first], known[first:]
        axes = values.get("scan_input_axes", [0] * len(scanned))
        backwards = values.get("scan_input_directions", [0] * len(scanned))
        arrays = [
            None if each.constant is None else np.moveaxis(each.constant, axis, 0)[:: 1 - 2 * back]
            for each, axis, back in zip(scanned, axes, backwards, strict=True)
        ]
        count = max((len(each) for each in arrays if each is not None), default=0)
        # What is known of every row.
        common = {
            name: body.type_of(name)._replace(bounds=each.bounds and each.bounds.hull)
            for name, each in zip(names, scanned, strict=False)
        }
        if not 0 < count <= MOST_VISITS:
            states = [body.type_of(name) for name in body.inputs[:first]]
            given = dict(zip(body.inputs, states, strict=False)) | common
            self._visit(body, given, scope.inside(is_certain=False))
            return []
        rows: list[list[Known]] = []
        for at in range(count):
            given = dict(zip(body.inputs, states, strict=False)) | common
            for name, each, array in zip(names, scanned, arrays, strict=False):
                if array is not None and at < len(array):
                    given[name] = Known.of(array[at], is_default=each.is_default)
            found = self._visit(body, given, scope.inside())
            states = found[:first]
            rows.append(found[first:])
        return [*states, *map(_stacked, zip(*rows, strict=False))]


class _Around(NamedTuple):
    scope: _Scope | None = None  # none around the model's own graph, and around functions
    attributes: Mapping[str, onnx.AttributeProto] = {}  # of the call of a function
    is_certain: bool = True  # whether the body is run when the model is


class _Scope:
    """The values of a body in one visit, and those around it."""

    def __init__(self, body: OnnxBody, given: dict[str, Known], around: _Around) -> None:
        self.body, self.around = body, around
        self.values: dict[str, Known] = dict(given)

    def inside(self, *, is_certain: bool = True) -> _Around:
        """Return what is around a body of a node here."""
        around = self.around
        return _Around(self, around.attributes, around.is_certain and is_certain)

    def known(self, name: str) -> Known:
        """Return what is known of a value, which may be of a scope around this one."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            if name in scope.body.names:
                return scope.body.type_of(name)
            scope = scope.around.scope
        return Known()


def _joined(one: Known, two: Known) -> Known:
    """Return what holds of a value that is one of two."""
    dtype = one.dtype if one.dtype == two.dtype else None
    dims = None
    if one.dims is not None and two.dims is not None and len(one.dims) == len(two.dims):
        dims = tuple(a if a == b else None for a, b in zip(one.dims, two.dims, strict=True))
    is_default = one.is_default or two.is_default
    if _equal(one.constant, two.constant):
        return one._replace(is_default=is_default)
    bounds = None
    if one.range is not None and two.range is not None:
        bounds = one.range.join(two.range)
    return Known(dtype, dims, None, bounds, is_default)


def _equal(one: NDArray[Any] | None, two: NDArray[Any] | None) -> bool:
    if one is None or two is None:
        return False
    return one.dtype == two.dtype and np.array_equal(one, two)


def _stacked(rows: Sequence[Known]) -> Known:
    """Return the output of a loop: a row for each iteration."""
    arrays = [each.constant for each in rows if each.constant is not None]
    if len(arrays) == len(rows) and len({each.shape for each in arrays}) == 1:
        return Known.of(np.stack(arrays), is_default=any(each.is_default for each in rows))
    first, *others = rows
    for each in others:
        first = _joined(first, each)
    bounds = None if first.bounds is None else first.bounds.hull
    dims = None if first.dims is None else (len(rows), *first.dims)
    return Known(first.dtype, dims, None, bounds, first.is_default)


def _number(known: Known | None) -> int | None:
    if known is None or known.constant is None or known.constant.size != 1:
        return None
    return int(known.constant.reshape(-1)[0])


# The process


def main() -> int:
    """Read a model from standard input, and write its facts as JSON by number of a body.

    The first line has what is inferred, the second what follows of constants beside it. Types and
    shapes are ``{"name": [type, [2, "N", null]]}``, with null for an unknown rank or size,
    constants ``[type, shape, [elements, ...], is_default, is_same]`` in base64, of each visit that
    has others, and bounds ``[low, high]``, with null for infinite ones.
    """
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: ADDRESS_BYTES,
    }
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(OSError, ValueError):  # a system without this limit
            resource.setrlimit(kind, (limit, limit))
    gc.disable()  # which would search through all nodes, again and again
    model = onnx.ModelProto.FromString(sys.stdin.buffer.read())
    prepare(model.graph)
    for function in model.functions:
        del function.value_info[:]
    answer: dict[str, Any] = {"failed": False}
    try:
        is_old = any(not each.domain and each.version < 11 for each in model.opset_import)
        for node in _ifs(model.graph) if is_old else ():
            node.op_type = _HIDDEN  # of which it would take the shape of one branch for both
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # noqa: BLE001  (compiled code, on any file)
        answer["failed"] = True
    for node in _ifs(model.graph):
        node.op_type = "If"
    evaluation = Evaluation(model)
    evaluation.plan()
    bodies = {body.number: {"values": _types(body)} for body in evaluation.bodies()}
    sys.stdout.write(json.dumps(answer | {"exhausted": True, "bodies": bodies}) + "\n")
    sys.stdout.flush()  # what is known so far, if a node takes all of the time
    evaluation.run()
    answer |= {"exhausted": evaluation.is_exhausted, "bodies": _bodies(evaluation)}
    sys.stdout.write(json.dumps(answer))  # at once, as `dump` takes ten times as long
    return 0


_HIDDEN: Final = "If that is not inferred"


def _ifs(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the Ifs of a graph and of its bodies."""
    for node in graph.node:
        for each in node.attribute:
            yield from _ifs(each.g) if each.HasField("g") else ()
        if node.op_type in {"If", _HIDDEN}:
            yield node


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it, which may be killed."""
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def _types(body: OnnxBody) -> dict[str, Any]:
    """Return the types and shapes of what is reported of a body, as far as they are inferred."""
    known = {name: body.type_of(name) for name in body.reported & body.names}
    return {
        name: [_number_of(each.dtype), each.dims]
        for name, each in known.items()
        if each.dtype is not None or each.dims is not None
    }


def _bodies(evaluation: Evaluation) -> dict[int, dict[str, Any]]:
    """Return the facts by number of a body, without the types that were written before."""
    left, bodies = MOST_ANSWERED_BYTES, dict[int, dict[str, Any]]()
    for body in evaluation.bodies():
        entry: dict[str, Any] = {"values": {}, "constants": {}, "bounds": {}}
        for name, fact in evaluation.facts.get(body.number, {}).items():
            known = fact.known
            if known.dtype is not None and known is not body.type_of(name):
                entry["values"][name] = [_number_of(known.dtype), known.dims]
            left -= sum(each.nbytes for each in fact.constants)
            is_sure = fact.is_certain or known.constant is not None
            if fact.constants and is_sure and left > 0 and fact.constants[0].dtype.kind in "biuf":
                entry["constants"][name] = _constants(fact)
            if known.constant is None and known.bounds is not None:
                ends = (np.where(np.isfinite(k), k, np.asarray(None)) for k in known.bounds)
                entry["bounds"][name] = [each.tolist() for each in ends]
        entry["attributes"] = evaluation.attributes.get(body.number, {})
        bodies[body.number] = entry
    return bodies


@lru_cache
def _number_of(dtype: Any) -> int:
    """Return the number of a type in ONNX; 0 for one that it lacks."""
    with suppress(Exception):
        return int(helper.np_dtype_to_tensor_dtype(dtype))
    return 0


def _constants(fact: Fact) -> list[Any]:
    """Return the elements of a fact, little-endian."""
    first = fact.constants[0]
    arrays = [each.astype(each.dtype.newbyteorder("<"), order="C") for each in fact.constants]
    texts = [base64.b64encode(each.tobytes()).decode() for each in arrays]
    is_same = fact.known.constant is not None
    return [_number_of(fact.known.dtype), first.shape, texts, fact.known.is_default, is_same]
