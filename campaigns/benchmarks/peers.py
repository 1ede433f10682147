"""The same gather by others, in memory: numpy, and whichever of the peers is installed.

All but `take_along_axis` put the result where the last one was, as the runtimes do by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Peer = Callable[[str, Array, Array, int, int], "Callable[[], object] | None"]


def tree(op: str, ids: Array, parents: Array) -> tuple[Array, ...]:
    """Return the inputs of GatherTree: all beams have every step, or the batches have a few each.

    The end token is one that occurs.
    """
    steps, batches, _ = ids.shape
    random = np.random.default_rng(1)
    least = steps // 2 if op.startswith("mixed") else steps
    lengths = random.integers(least, steps + 1, batches).astype(ids.dtype)
    return ids, parents, lengths, np.array(7, ids.dtype)


def by_gathercli(threads: int) -> Peer:
    import gathercli

    def make(op: str, data: Array, indices: Array, axis: int, batch: int) -> Any:
        gather: Any
        options: dict[str, Any]
        if op.endswith("beams"):
            inputs = tree(op, data, indices)
            held = gathercli.gather_tree(*inputs, threads=threads)
            return lambda: gathercli.gather_tree(*inputs, threads=threads, out=held)
        if op == "gather":
            gather, options = gathercli.gather, {"axis": axis, "batch_dims": batch}
        elif op == "tuples":
            gather, options = gathercli.gather_nd, {"batch_dims": batch}
        else:
            gather, options = gathercli.gather_elements, {"axis": axis, "version": "onnx-13"}
        options["threads"] = threads
        out = gather(data, indices, **options)
        return lambda: gather(data, indices, out=out, **options)

    return make


def components(indices: Array, batch: int) -> tuple[Array, ...]:
    """Return what advanced indexing takes for tuples, the coordinates of the batches first."""
    batches = np.ogrid[tuple(slice(n) for n in indices.shape[:-1])][:batch]
    return (*batches, *map(np.ascontiguousarray, np.moveaxis(indices, -1, 0)))


def follow(ids: Array, parents: Array, lengths: Array, end: Array) -> Array:
    """Follow beams in a loop over the steps, a `take` each; no parent is checked."""
    steps, batches, beams = ids.shape
    paths = np.arange(batches * beams)
    first = np.repeat(np.arange(0, paths.size, beams), beams)
    over = np.arange(steps)[:, None] >= np.repeat(lengths, beams)
    out, at, last = np.empty((steps, paths.size), ids.dtype), paths, np.full(paths.size, steps)
    for t in reversed(range(steps)):
        ids[t].take(at, out=out[t], mode="clip")
        last = np.where((out[t] == end) & ~over[t], t, last)
        at = np.where(over[t], paths, parents[t].take(at, mode="clip") + first)
    out[over | (np.arange(steps)[:, None] > last)] = end
    return out.reshape(ids.shape)


def by_numpy(op: str, data: Array, indices: Array, axis: int, batch: int) -> Any:
    """Do it as well as numpy can: `take` into an array, its indices not checked.

    The components of tuples are laid side by side beforehand.
    """
    if op == "tuples":
        at = components(indices, batch)
        return lambda: data[at]
    if op.endswith("beams"):
        inputs = tree(op, data, indices)
        return lambda: follow(*inputs)
    if op == "gather" and not batch:
        out = np.take(data, indices, axis)
        mode: Any = "wrap" if (indices < 0).any() else "clip"
        return lambda: np.take(data, indices, axis, out=out, mode=mode)
    wide = indices.reshape(*indices.shape, *(1,) * (data.ndim - indices.ndim))
    return lambda: np.take_along_axis(data, wide, axis)


def by_torch(threads: int) -> Peer:
    import torch

    torch.set_num_threads(threads)

    def make(op: str, data: Array, indices: Array, axis: int, batch: int) -> Any:
        if op.endswith("beams"):
            return None
        held = torch.from_numpy(data.view("i2") if data.dtype == bfloat16 else data)
        if op == "tuples":
            places = tuple(map(torch.from_numpy, components(indices, batch)))
            return lambda: held[places]
        at = torch.from_numpy(indices)
        if op == "elements":
            at = at.long()
            out = torch.gather(held, axis, at) if not (at < 0).any() else None
            return lambda: torch.gather(held, axis, at, out=out)
        if not batch:
            out = torch.index_select(held, axis, at.reshape(-1))
            return lambda: torch.index_select(held, axis, at.reshape(-1), out=out)
        size = data.shape[axis]
        flat = held.reshape(-1, *data.shape[axis + 1 :])
        shape = indices.shape[:batch]
        starts = torch.arange(int(np.prod(shape))).reshape(*shape, *(1,) * (at.ndim - batch))
        out = torch.index_select(flat, 0, (at + starts * size).reshape(-1))
        return lambda: torch.index_select(flat, 0, (at + starts * size).reshape(-1), out=out)

    return make


def by_onnxruntime(threads: int) -> Peer:
    import onnxruntime
    from onnx import helper

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads

    def make(op: str, data: Array, indices: Array, axis: int, batch: int) -> Any:
        if op.endswith("beams") or ((indices.dtype != np.int64) if op == "tuples" else batch):
            return None
        types = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in (data, indices)]
        name = {"gather": "Gather", "elements": "GatherElements", "tuples": "GatherND"}[op]
        attributes: dict[str, Any] = {"batch_dims": batch} if op == "tuples" else {"axis": axis}
        node = helper.make_node(name, ["d", "i"], ["o"], **attributes)
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info(n, t, None) for n, t in zip("di", types, strict=True)],
            [helper.make_tensor_value_info("o", types[0], None)],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9
        ).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        bound = session.io_binding()
        bound.bind_cpu_input("d", data)
        bound.bind_cpu_input("i", indices)
        result = session.run(None, {"d": data, "i": indices})[0]
        out = onnxruntime.OrtValue.ortvalue_from_numpy(result)
        bound.bind_ortvalue_output("o", out)

        def run() -> Any:
            session.run_with_iobinding(bound)
            return out

        return run

    return make


def by_openvino(threads: int) -> Peer:
    import openvino
    from openvino import opset1, opset6, opset8

    core = openvino.Core()
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    options["INFERENCE_PRECISION_HINT"] = "f32"

    def make(op: str, data: Array, indices: Array, axis: int, batch: int) -> Any:
        arrays = tree(op, data, indices) if op.endswith("beams") else (data, indices)
        inputs = [opset1.parameter(a.shape, a.dtype) for a in arrays]
        if op.endswith("beams"):
            node = opset1.gather_tree(*inputs)
        elif op == "tuples":
            node = opset8.gather_nd(*inputs, batch)
        elif op == "gather":
            node = opset8.gather(*inputs, opset1.constant(axis, np.int64), batch)
        else:
            node = opset6.gather_elements(*inputs, axis)
        model = core.compile_model(openvino.Model([node], inputs), "CPU", options)
        request = model.create_infer_request()
        tensors = [openvino.Tensor(a, shared_memory=True) for a in arrays]
        return lambda: request.infer(tensors, share_inputs=True, share_outputs=True)

    return make


def by_tensorflow(threads: int) -> Peer:
    """Gather tuples alone."""
    import tensorflow as tf  # type: ignore[import-untyped,unused-ignore]

    tf.config.threading.set_intra_op_parallelism_threads(threads)

    def make(op: str, data: Array, indices: Array, axis: int, batch: int) -> Any:
        del axis
        if op != "tuples":
            return None
        tensor, at = tf.constant(data), tf.constant(indices)
        return lambda: tf.gather_nd(tensor, at, batch_dims=batch)

    return make


def installed(threads: int) -> dict[str, Peer]:
    """Return those that can be imported."""
    found: dict[str, Peer] = {"gathercli": by_gathercli(threads), "numpy": by_numpy}
    for name, make in (
        ("torch", by_torch),
        ("onnxruntime", by_onnxruntime),
        ("openvino", by_openvino),
        ("tensorflow", by_tensorflow),
    ):
        try:
            found[name] = make(threads)
        except ImportError:
            continue
    return found
