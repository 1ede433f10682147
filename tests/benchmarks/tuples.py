"""Measure GatherND in memory beside numpy and the runtimes that are installed.

``python -m tests.benchmarks.tuples [--rounds N] [--threads N] [--only TEXT]``.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tests.benchmarks.kernels import _settled, check
from tests.benchmarks.measure import Row, Timed, interleaved, table

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Way = Callable[[], object]
    Peer = Callable[[Array, Array, int], Way | None]


class Case(NamedTuple):
    """One gather by tuples: the shapes, and what the components are like."""

    data: tuple[int, ...]
    indices: tuple[int, ...]
    batch: int = 0
    dtype: str = "f4"
    index_type: str = "i8"
    kind: str = "random"


CASES = {
    "rows of 64 B": Case((1_000, 1_000, 16), (500_000, 2)),
    "rows of 1 KiB": Case((400, 250, 256), (60_000, 2)),
    "rows of 64 B, one index": Case((1_000_000, 16), (500_000, 1)),
    "rows of 1 KiB, one index": Case((100_000, 256), (60_000, 1)),
    "single cells": Case((2_000, 2_500), (3_000_000, 2)),
    "single cells of three": Case((100, 200, 250), (2_000_000, 3)),
    "batched rows of 64 B": Case((64, 16_000, 16), (64, 8_000, 1), 1),
    "batched rows of 1 KiB": Case((64, 1_600, 256), (64, 1_000, 1), 1),
    "batched cells": Case((1_000, 50, 100), (1_000, 2_000, 2), 1),
    "many small batches": Case((200_000, 32), (200_000, 16, 1), 1),
    "two batch dimensions": Case((200, 100, 64, 4), (200, 100, 50, 1), 2),
    "rows of 64 B, int64": Case((1_000, 1_000, 8), (500_000, 2), dtype="i8"),
    "single cells, int64": Case((2_000, 2_500), (3_000_000, 2), dtype="i8"),
    "single cells, bytes": Case((2_000, 2_500), (3_000_000, 2), dtype="u1"),
    "rows of 64 B, sorted": Case((1_000, 1_000, 16), (500_000, 2), kind="sorted"),
    "rows of 64 B, negatives": Case((1_000, 1_000, 16), (500_000, 2), kind="negative"),
    "rows of 64 B, int32 indices": Case((1_000, 1_000, 16), (500_000, 2), index_type="i4"),
    "few tuples of large slices": Case((2_000, 2, 16_384), (1_000, 2)),
}


def tensors_of(case: Case) -> tuple[Array, Array]:
    """Make the tensors of a case."""
    random = np.random.default_rng(0)
    data = random.integers(0, 100, case.data).astype(case.dtype)
    sizes = np.array(case.data[case.batch : case.batch + case.indices[-1]])
    low = -sizes if case.kind == "negative" else 0 * sizes
    indices = random.integers(low, sizes, case.indices)
    if case.kind == "sorted":
        indices = indices[np.lexsort(indices.T[::-1])]
    return data, indices.astype(case.index_type)


def by_gathercli(threads: int) -> Peer:
    """Gather into the array of the last result."""
    import gathercli

    gather_nd: Any = getattr(gathercli, "gather_nd")  # noqa: B009  (there once the operator is)

    def make(data: Array, indices: Array, batch: int) -> Way:
        gather = partial(gather_nd, data, indices, batch_dims=batch, threads=threads)
        out = gather()
        return lambda: gather(out=out)

    return make


def components(indices: Array, batch: int) -> tuple[Any, ...]:
    """Return what advanced indexing takes, the coordinates of the batches first."""
    shape = indices.shape[:-1]
    batches = np.ogrid[tuple(slice(n) for n in shape)][:batch]
    return (*batches, *(np.ascontiguousarray(indices[..., j]) for j in range(indices.shape[-1])))


def by_numpy(data: Array, indices: Array, batch: int) -> Way:
    """Index by the components, which are laid side by side beforehand."""
    at = components(indices, batch)
    return lambda: data[at]


def by_torch(threads: int) -> Peer:
    """Index by the components, which are laid side by side beforehand."""
    import torch

    torch.set_num_threads(threads)

    def make(data: Array, indices: Array, batch: int) -> Way:
        tensor = torch.from_numpy(data)
        at = tuple(torch.from_numpy(np.ascontiguousarray(a)) for a in components(indices, batch))
        return lambda: tensor[at]

    return make


def by_onnxruntime(threads: int) -> Peer:
    """Run GatherND-13 on bound arrays."""
    import onnxruntime
    from onnx import helper

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads

    def make(data: Array, indices: Array, batch: int) -> Way | None:
        if indices.dtype != np.int64:
            return None
        types = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in (data, indices)]
        values = [helper.make_tensor_value_info(n, t, None) for n, t in zip("di", types)]  # noqa: B905
        node = helper.make_node("GatherND", ["d", "i"], ["o"], batch_dims=batch)
        output = helper.make_tensor_value_info("o", types[0], None)
        model = helper.make_model(
            helper.make_graph([node], "g", values, [output]),
            opset_imports=[helper.make_opsetid("", 13)],
            ir_version=9,
        )
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, ["CPUExecutionProvider"]
        )
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
    """Run GatherND-8 on shared arrays."""
    import openvino
    from openvino import opset1, opset8

    core = openvino.Core()
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    options["INFERENCE_PRECISION_HINT"] = "f32"

    def make(data: Array, indices: Array, batch: int) -> Way:
        inputs = [opset1.parameter(a.shape, a.dtype) for a in (data, indices)]
        node = opset8.gather_nd(*inputs, batch)
        model = core.compile_model(openvino.Model([node], inputs), "CPU", options)
        request = model.create_infer_request()
        tensors = [openvino.Tensor(a, shared_memory=True) for a in (data, indices)]
        return lambda: request.infer(tensors, share_inputs=True, share_outputs=True)

    return make


def by_tensorflow(threads: int) -> Peer:
    """Run tf.gather_nd on tensors made beforehand; it refuses negatives."""
    import tensorflow as tf  # type: ignore[import-untyped,unused-ignore]

    tf.config.threading.set_intra_op_parallelism_threads(threads)

    def make(data: Array, indices: Array, batch: int) -> Way:
        tensor, at = tf.constant(data), tf.constant(indices)
        return lambda: tf.gather_nd(tensor, at, batch_dims=batch)

    return make


def peers_of(threads: int) -> dict[str, Peer]:
    """Return those that can be imported, ours first."""
    peers: dict[str, Peer] = {}
    for name, make in (
        ("gathercli", by_gathercli),
        ("numpy", lambda _: by_numpy),
        ("torch", by_torch),
        ("onnxruntime", by_onnxruntime),
        ("openvino", by_openvino),
        ("tensorflow", by_tensorflow),
    ):
        try:
            peers[name] = make(threads)
        except (ImportError, AttributeError):
            continue
    return peers


def measure(rounds: int, threads: int, only: str = "") -> list[Row]:
    """Time every case: seconds of each peer."""
    peers = peers_of(threads)
    rows = []
    for name, case in CASES.items():
        if only not in name:
            continue
        data, indices = tensors_of(case)
        ways: dict[str, Way] = {}
        for peer, make in peers.items():
            if case.kind == "negative" and peer == "tensorflow":
                continue
            try:
                way = make(data, indices, case.batch)
            except Exception:  # noqa: BLE001, S112  (a type it does not know)
                continue
            if way is not None:
                ways[peer] = way
        check({peer: way() for peer, way in ways.items()})
        timed = {peer: Timed(way, partial(_settled, way)) for peer, way in ways.items()}
        rows.append(Row(name, interleaved(timed, rounds)))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.tuples")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="the cases whose name has this in it")
    asked = parser.parse_args()
    print(table("tuples, in memory", measure(asked.rounds, asked.threads, asked.only)))


if __name__ == "__main__":
    main()
