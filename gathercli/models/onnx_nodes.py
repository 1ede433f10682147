"""The bodies of an ONNX model, and what follows of a single node: constants, types and bounds.

`onnx.reference` evaluates a node whose inputs are constant, once it is known that its outputs are
small.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain
from math import prod
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from gathercli.models.bounds import KEEPING, Known, Operation, bounds_of

MOST_BYTES: Final = 16 << 20  # the most bytes of what a node may give
MOST_HELD_BYTES: Final = 256 << 20  # and of all constants together
MOST_STEPS: Final = 200_000  # the most nodes that are evaluated
MOST_SECONDS: Final = 12.0  # of the processor
MOST_TERMS: Final = 32  # the most values that an index is followed to through sums
MOST_SHAPE_INTEGERS: Final = 1024  # elements of a constant that may decide a shape
DOMAINS: Final = ("", "ai.onnx")
FAMILY: Final = ("Gather", "GatherElements", "GatherND")
MOST_DEPTH: Final = 64  # of bodies and functions in each other

# What no constant decides.
_RANDOM: Final = frozenset(
    (
        *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
        *("Bernoulli", "Multinomial", "Dropout"),
    )
)
_WAS_SPARSE: Final = "gathercli: was sparse"  # marks a tensor that the caller does not read
# The operators whose outputs have no more elements than their first input has, times its rank.
_SHORTER: Final = ("NonZero", "Unique", "Compress")


class ExhaustedError(Exception):
    """The steps, the time or the memory are used up."""


class NodeEvaluator:
    """An evaluator of the nodes of a model, with its limits."""

    def __init__(self, opsets: Mapping[str, int]) -> None:
        self._opset = opsets.get("", opsets.get("ai.onnx", 1))
        self._opsets = [helper.make_opsetid("", self._opset)]
        self._held = self._steps = 0

    def count(self) -> None:
        """Count a node; raise ExhaustedError if it is one too many, or too late."""
        self._steps += 1
        if self._steps > MOST_STEPS or time.process_time() > MOST_SECONDS:
            raise ExhaustedError

    def outputs(
        self, node: onnx.NodeProto, inputs: Sequence[Known | None], types: Sequence[Known]
    ) -> list[Known]:
        """Return what is known of the outputs of a node without bodies, of which `types` are."""
        if node.op_type == "Constant":
            array = _constant(node)
            return [] if array is None else [Known.of(array)]
        constants = [None if each is None else each.constant for each in inputs]
        missing = [each for each, array in zip(inputs, constants, strict=True) if array is None]
        is_constant = not any(missing) and node.op_type not in _RANDOM
        typed, sizes = list(types), [size for each in types for size in each.dims or (None,)]
        if not all(isinstance(size, int) for size in sizes):
            inferred = self._inferred(node, inputs)
            typed = [
                met(one, inferred.get(name)) for one, name in zip(types, node.output, strict=True)
            ]
        is_default = any(each is not None and each.is_default for each in inputs)
        if is_constant and self._is_small(node, constants, typed):
            return [
                one if each is None else Known.of(each, is_default=is_default)
                for one, each in zip(typed, self._run(node, constants), strict=True)
            ]
        return [
            self._bounded(node, inputs, each, number)._replace(is_default=is_default)
            for number, each in enumerate(typed)
        ]

    def _bounded(
        self, node: onnx.NodeProto, inputs: Sequence[Known | None], typed: Known, number: int
    ) -> Known:
        """Return an output with its bounds, or as the constant that they leave."""

        def run(arrays: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
            is_small = node.op_type in KEEPING or self._is_small(node, arrays, [typed])
            return self._run(node, arrays)[number] if is_small else None

        values = {each.name: value_of(each) for each in node.attribute}
        firm = [
            each._replace(constant=None) if each is not None and each.is_default else each
            for each in inputs
        ]
        bounds = bounds_of(Operation(node.op_type, firm, values, number, typed.dtype, run))
        known = typed._replace(bounds=bounds)
        ends = known.whole.bounds if known.whole is not None else None
        if ends is not None and (ends.low == ends.high).all():
            return Known.of(ends.low.astype(typed.dtype))
        return known

    def _inferred(self, node: onnx.NodeProto, inputs: Sequence[Known | None]) -> dict[str, Known]:
        """Return the types and shapes of the outputs of a node by name, none on a failure."""
        types, data = {}, {}
        for name, each in zip(node.input, inputs, strict=True):
            if each is None:
                continue
            if each.dtype is None:
                return {}
            element = helper.np_dtype_to_tensor_dtype(each.dtype)
            types[name] = helper.make_tensor_type_proto(element, each.dims)
            if each.constant is not None and each.constant.size <= MOST_SHAPE_INTEGERS:
                data[name] = numpy_helper.from_array(each.constant, name)
        try:
            schema = onnx.defs.get_schema(node.op_type, self._opset, "")
            found = shape_inference.infer_node_outputs(
                schema, node, types, data, opset_imports=self._opsets
            )
        except Exception:  # noqa: BLE001  (compiled code, on a node of any file)
            return {}
        return {name: declared(each) for name, each in found.items()}

    def _is_small(
        self, node: onnx.NodeProto, constants: Sequence[NDArray[Any] | None], typed: Sequence[Known]
    ) -> bool:
        """Tell whether the outputs of a node are known to be small before it is run."""
        total, first = 0, constants[0] if constants else None
        for each in typed:
            sizes = [size for size in each.dims or () if isinstance(size, int)]
            if each.dims is not None and len(sizes) == len(each.dims):
                total += prod(sizes) * 8
            elif node.op_type in _SHORTER and first is not None:
                total += first.size * max(first.ndim, 1) * 8
            else:
                return False
        if total > MOST_BYTES:
            return False
        self._held += total
        if self._held > MOST_HELD_BYTES:
            raise ExhaustedError
        return True

    def _run(
        self, node: onnx.NodeProto, arrays: Sequence[NDArray[Any] | None]
    ) -> list[NDArray[Any] | None]:
        """Return the outputs of a node for constant inputs; None for what the package lacks."""
        names = [name for name in dict.fromkeys(node.input) if name]
        outputs = [name for name in node.output if name]
        feeds = {n: a for n, a in zip(node.input, arrays, strict=True) if n and a is not None}
        # The package wraps indices one size after the other; an extreme of nothing is undefined.
        reaches = node.op_type == "GatherElements" and _reaches_outside(node, arrays)
        if reaches or (
            node.op_type.startswith("Reduce") and any(not a.size for a in feeds.values())
        ):
            return [None] * len(node.output)
        try:
            # The package takes no depth of the shape [1], and sorts in any case.
            if node.op_type == "OneHot" and list(node.input).count(node.input[1]) == 1:
                feeds[node.input[1]] = feeds[node.input[1]].reshape(())
            settings = {each.name: each.i for each in node.attribute}
            if node.op_type == "Unique" and not settings.get("sorted", 1):
                found = _in_order(feeds[node.input[0]], settings.get("axis"))
                return list[NDArray[Any] | None](found)[: len(node.output)]
            function = helper.make_function("gather", "node", names, outputs, [node], self._opsets)
            outcome = ReferenceEvaluator(function).run(None, feeds, attributes={})
            values = {name: np.asarray(each) for name, each in zip(outputs, outcome, strict=True)}
        except Exception:  # noqa: BLE001  (a package, on a node of any file)
            values = {}
        return [values.get(name) for name in node.output]


def _in_order(array: NDArray[Any], axis: int | None) -> list[NDArray[Any]]:
    """Return the outputs of a Unique in the order of the first positions."""
    values, first, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    order = np.argsort(first)
    values = np.take(values, order, axis or 0)
    return [values, first[order], np.argsort(order)[inverse.reshape(-1)], counts[order]]


def _reaches_outside(node: onnx.NodeProto, arrays: Sequence[NDArray[Any] | None]) -> bool:
    """Tell whether an index of a GatherElements is outside its axis, or not known."""
    data, indices = [*arrays, None, None][:2]
    axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
    if data is None or indices is None or not -data.ndim <= axis < data.ndim:
        return True
    size = data.shape[axis]
    return bool(((indices < -size) | (indices >= size)).any())


def met(one: Known, two: Known | None) -> Known:
    """Return what two sources say of one value: of each dimension, what is known best."""
    if two is None:
        return one
    dims = two.dims if one.dims is None else one.dims
    if one.dims is not None and two.dims is not None and len(one.dims) == len(two.dims):
        pairs = zip(one.dims, two.dims, strict=True)
        dims = tuple(b if isinstance(b, int) or a is None else a for a, b in pairs)
    return two._replace(dtype=two.dtype or one.dtype, dims=dims)


class OnnxBody:
    """A graph or a function, with its bodies; `number` counts them as a reader meets them."""

    def __init__(self, proto: Any, number: Iterator[int], depth: int = 0) -> None:
        if depth > 2 * MOST_DEPTH:
            raise ExhaustedError
        self.proto, self.number = proto, next(number)
        self.is_function = isinstance(proto, onnx.FunctionProto)
        self.inputs = [getattr(each, "name", each) for each in proto.input]
        self.outputs = [getattr(each, "name", each) for each in proto.output]
        self.nodes = list(proto.node)
        self._made = [tuple(node.output) for node in self.nodes]  # what each node gives
        self.bodies: dict[int, dict[str, OnnxBody]] = {}
        for at, node in enumerate(self.nodes):
            for attribute in node.attribute:
                graphs = [attribute.g] if attribute.HasField("g") else []
                for graph in (*graphs, *attribute.graphs):
                    body = OnnxBody(graph, number, depth + 1)
                    self.bodies.setdefault(at, {})[attribute.name] = body
        typed = [*proto.value_info]
        typed += [] if self.is_function else [*proto.input, *proto.output]
        self._types = {each.name: each for each in typed}
        self._known: dict[str, Known] = {}
        self.targets: list[str] = []  # what nodes of the family read
        self.steps: list[int] = []  # the nodes that decide them
        self.needed: set[str] = set()
        self.used: set[str] = set()  # those that the steps read
        self.reported: set[str] = set()  # the values whose types may be asked for

    def type_of(self, name: str) -> Known:
        """Return the type and the shape that the body declares or that were inferred."""
        if name not in self._known:
            typed = self._types.get(name)
            self._known[name] = Known() if typed is None else declared(typed.type)
        return self._known[name]

    @cached_property
    def names(self) -> set[str]:
        """The names of the values that the body itself has."""
        return {*chain.from_iterable(self._made), *self.inputs, *self._types}

    def plan(self, functions: Mapping[tuple[str, str], OnnxBody]) -> bool:
        """Find the nodes that decide what the family reads; return whether there are such."""
        found = False
        needed = set(self.outputs) if self.is_function or self.number else set()
        used, steps = set(needed), []
        for at in reversed(range(len(self.nodes))):
            node, made = self.nodes[at], self._made[at]
            has_more = at in self.bodies or functions
            is_wanted = bool(has_more) and self._is_wanted(at, node, functions)
            is_step = is_wanted or not needed.isdisjoint(made)
            if node.op_type in FAMILY and node.domain in DOMAINS:
                is_wanted, is_step = True, is_step or self.is_function
                self.targets += node.input
                self.targets += self._terms(node.input[1:2])
                self.reported.update(made)
                needed.update(node.input[1:])
                # Data matter for their shape alone, which may be known.
                data = node.input[0] if node.input else ""
                dims = self.type_of(data).dims
                if is_step or dims is None or None in dims:
                    needed.add(data)
            elif is_step and node.op_type == "Constant" and used.isdisjoint(made):
                stored = (each.name == "value" and each.HasField("t") for each in node.attribute)
                is_step = node.domain not in DOMAINS or not any(stored)  # the caller reads those
            elif is_step:
                needed.update(node.input)
            found |= is_wanted
            if is_step:
                steps.append(at)
                used.update(node.input)
            for body in self.bodies.get(at, {}).values() if is_step and has_more else ():
                needed |= body.needed
                used |= body.needed
        self.steps, self.needed, self.used = steps[::-1], needed, used
        self.reported |= needed | set(self.targets)
        return found

    def _terms(self, names: Sequence[str]) -> list[str]:
        """Return the values whose sum an index is, of which each may have bounds of its own."""
        found, waiting = list[str](), list(names)
        while waiting and len(found) < MOST_TERMS:
            node = self._makers.get(waiting.pop())
            if node is not None and node.op_type == "Add" and node.domain in DOMAINS:
                found += node.input
                waiting += node.input
        return found

    @cached_property
    def _makers(self) -> dict[str, onnx.NodeProto]:
        """The nodes by the names of their outputs."""
        pairs = zip(self.nodes, self._made, strict=True)
        return {name: node for node, made in pairs for name in made}

    def _is_wanted(
        self, at: int, node: onnx.NodeProto, functions: Mapping[tuple[str, str], OnnxBody]
    ) -> bool:
        """Tell whether a node has a body, or is a call of a function, with nodes of the family."""
        within = [body.plan(functions) for body in self.bodies.get(at, {}).values()]
        return any(within) or (node.domain, node.op_type) in functions


# The messages of ONNX


def with_attributes(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto]
) -> onnx.NodeProto:
    """Return a node of a function with the attributes of a call."""
    if not any(each.ref_attr_name for each in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for each in node.attribute:
        if not each.ref_attr_name:
            copy.attribute.append(each)
        elif each.ref_attr_name in attributes:
            given = onnx.AttributeProto()
            given.CopyFrom(attributes[each.ref_attr_name])
            given.name = each.name
            copy.attribute.append(given)
    return copy


def value_of(attribute: onnx.AttributeProto) -> Any:
    """Return the value of an attribute; a tensor as an array."""
    with suppress(Exception):
        value = helper.get_attribute_value(attribute)
        return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    return None


def _constant(node: onnx.NodeProto) -> NDArray[Any] | None:
    for each in node.attribute:
        value = value_of(each)
        if isinstance(value, np.ndarray):
            return value
        if isinstance(value, onnx.SparseTensorProto):
            return _dense(value)
        if each.name in ("value_int", "value_ints"):
            return np.asarray(value, np.int64)
        if each.name in ("value_float", "value_floats"):
            return np.asarray(value, np.float32)
    return None


def tensors(graph: onnx.GraphProto, names: set[str]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the tensors of a graph that have these names or were sparse, with their elements."""
    for each in graph.initializer:
        is_asked = each.name in names or each.doc_string == _WAS_SPARSE
        if is_asked and each.data_location != onnx.TensorProto.EXTERNAL and _has_elements(each):
            with suppress(Exception):
                yield each.name, numpy_helper.to_array(each)


def prepare(graph: onnx.GraphProto, *, is_body: bool = False) -> None:
    """Leave to shape inference only what is true, in forms that it knows.

    What the graph claims of values that its nodes decide goes. Sparse tensors become tensors, or
    inputs if they are large.
    """
    del graph.value_info[:]
    for each in (*graph.output, *(graph.input if is_body else ())):
        if each.type.HasField("tensor_type"):
            each.type.tensor_type.ClearField("shape")
    for sparse in graph.sparse_initializer:
        array, name = _dense(sparse), sparse.values.name
        if array is not None:
            graph.initializer.append(numpy_helper.from_array(array, name))
            graph.initializer[-1].doc_string = _WAS_SPARSE
        else:
            kind = sparse.values.data_type
            graph.input.append(helper.make_tensor_value_info(name, kind, list(sparse.dims)))
    del graph.sparse_initializer[:]
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else [*attribute.graphs]:
                prepare(body, is_body=True)


def _has_elements(tensor: onnx.TensorProto) -> bool:
    """Tell whether the elements of a tensor were not left out."""
    stored = (tensor.raw_data, tensor.int64_data, tensor.int32_data, tensor.float_data)
    return prod(tensor.dims) == 0 or any(
        map(len, (*stored, tensor.double_data, tensor.uint64_data))
    )


def _dense(sparse: onnx.SparseTensorProto) -> NDArray[Any] | None:
    """Return a sparse tensor with its zeros; None if it is large or malformed."""
    dims = list(sparse.dims)
    if any(n < 0 for n in dims) or prod(dims) * 8 > MOST_BYTES:
        return None
    try:
        values, places = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
        array = np.zeros(dims, values.dtype)
        if places.ndim == 2:
            array[tuple(places.T)] = values
        else:
            array.reshape(-1)[places] = values
    except Exception:  # noqa: BLE001  (a tensor of any file)
        return None
    return array


def declared(kind: onnx.TypeProto) -> Known:
    """Return the type and the shape of a declaration."""
    tensor = kind.tensor_type
    dtype = _dtype_of(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Known(dtype)
    return Known(dtype, tuple(map(size_of, tensor.shape.dim)))


@lru_cache
def _dtype_of(number: int) -> Any:
    """Return the NumPy type of a number of a type in ONNX; None if there is none."""
    with suppress(Exception):
        return np.dtype(helper.tensor_dtype_to_np_dtype(number))
    return None


def size_of(dim: Any) -> int | str | None:
    """Return a dimension: a size, a symbol of the model, or None.

    Symbols that the inference of onnx makes up are unknown sizes.
    """
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    name = str(dim.dim_param)
    return None if name.startswith("unk__") else name or None
