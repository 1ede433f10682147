"""A process that lets the `onnx` package infer shapes: ``python -I`` runs this file.

It reads a model from standard input and writes the inferred types and shapes as JSON:
``{"name": [type, [2, "N", null]]}``, with null for an unknown rank or size. The package runs
compiled code on the bytes of a file, so this process has limits of memory and time, and writes
no file.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

ADDRESS_BYTES: Final = 4 << 30  # bytes of address space, much of which the interpreter reserves

CPU_SECONDS: Final = 20
ABSENT_STATUS: Final = 3  # the exit status if the package is not installed


def main() -> int:
    """Infer the shapes of the model on standard input."""
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
    try:
        import onnx
    except ImportError:
        return ABSENT_STATUS
    model = onnx.ModelProto.FromString(sys.stdin.buffer.read())
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    json.dump({name: each for name, each in _values(inferred.graph) if name}, sys.stdout)
    return 0


def _values(graph: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the types of the values of a graph, and of the bodies in it."""
    for each in (*graph.value_info, *graph.output):
        kind = each.type.tensor_type
        dims = [_size(dim) for dim in kind.shape.dim] if kind.HasField("shape") else None
        yield each.name, [kind.elem_type, dims]
    for node in graph.node:
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _values(body)


def _size(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return dim.dim_param or None


if __name__ == "__main__":
    sys.exit(main())
