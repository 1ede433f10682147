"""Call other runtimes: a script for any Python, which imports nothing of the package.

``python -I worker.py RUNTIME DESCRIPTOR BYTES`` reads a call a line as JSON from standard input and
writes an answer a line to the descriptor, so that a runtime may print what it likes. BYTES limits
its address space. Tensors are .npy files. A call is an expression of tensors, possibly
with functions of a file, or a model and its inputs::

    {"code": "np.take(data, indices, axis=0)", "runs": 3, "output": "/tmp/x/output.npy",
     "inputs": {"data": ["/tmp/x/data.npy", "float32"], "indices": ["/tmp/x/indices.npy", "int64"]}}
    {"model": "/tmp/x/model.onnx", ...}

An answer is ``{"dtype": "float32"}``, the type of the tensor in the output file, with
``"unsteady": true`` if the runs differ, or ``{"refuses": "..."}``, the text of an exception.
Before the calls come ``{"python": "3.11.7"}``, which a Python alone answers, and once the runtime
is imported ``{"version": "2.4.6", "numpy": "2.3.1"}``, or ``{"absent": "..."}``, why it is not.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import runpy
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Tensors = Mapping[str, tuple[Any, str]]

LONGEST = 4000
"""The most characters of a message."""


TELEMETRY = ("openvino_telemetry",)
"""Modules that report to their makers, which OpenVINO's does when it is imported."""


def main(runtime: str, descriptor: int, memory: int) -> None:
    """Answer the calls on standard input."""
    _restrict(memory)
    answers = os.fdopen(descriptor, "w", encoding="utf-8")

    def answer(fields: Mapping[str, Any]) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    answer({"python": sys.version.split()[0]})
    module, run = RUNTIMES[runtime]
    try:
        loaded = importlib.import_module(module)
        version = str(loaded.__version__).split("-")[0]
        answer({"version": version, "numpy": importlib.import_module("numpy").__version__})
    except Exception as error:  # noqa: BLE001  (whatever an import raises)
        is_installed = not isinstance(error, ModuleNotFoundError) or error.name != module
        why = "cannot be started" if is_installed else "is not installed"
        answer({"absent": f"{why}: {_message(error)}"})
        return
    for line in sys.stdin:
        call = json.loads(line)
        _limit_time(call["seconds"])
        try:
            answer(_answer(call, loaded, run))
        except Exception as error:  # noqa: BLE001  (whatever a runtime raises)
            answer({"refuses": _message(error)})


def _restrict(memory: int) -> None:
    """Limit the address space and files, write no core file, keep Python off the network."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_FSIZE, memory)

    def refuse(event: str, _: object) -> None:
        if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            raise OSError("no network here")

    sys.addaudithook(refuse)
    for name in TELEMETRY:
        sys.modules[name] = None  # type: ignore[assignment]  # so that it cannot be imported


def _limit(kind: int, most: int) -> None:
    """Set a limit, unless the system has a lower one or none of this kind."""
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or most <= hard:
        with contextlib.suppress(ValueError, OSError):  # macOS limits no address space
            resource.setrlimit(kind, (most, hard))


def _limit_time(seconds: float) -> None:
    """Let this process end by itself if nobody is left to kill it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + (seconds + 1) * (os.cpu_count() or 1))
    _limit(resource.RLIMIT_CPU, most)


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST]


def _answer(
    call: Mapping[str, Any], module: Any, run: Callable[[Any, Mapping[str, Any], Tensors], Any]
) -> dict[str, Any]:
    """Make a call several times, and save the first result."""
    import numpy as np

    tensors = {name: (np.load(path), dtype) for name, (path, dtype) in call["inputs"].items()}
    results = []
    for number in range(call["runs"]):
        _dirty(number)
        results.append(_stored(run(module, call, tensors)))
    array, dtype = results[0]
    with open(call["output"], "wb") as file:
        np.save(file, array, allow_pickle=False)
    same = all(
        (other.shape, other.dtype, other.tobytes()) == (array.shape, array.dtype, array.tobytes())
        for other, _ in results[1:]
    )
    return {"dtype": dtype} if same else {"dtype": dtype, "unsteady": True}


def _dirty(number: int) -> None:
    """Leave other bytes in free memory at each run, so that a result made of them changes."""
    import numpy as np

    blocks = [np.full(size, 17 * (number + 1), np.uint8) for size in range(16, 4096, 16)]
    del blocks


def _stored(result: Any) -> tuple[Any, str]:
    """Return a result as an array that a .npy file stores, and the name of its type.

    A result is anything that numpy takes, or already such a pair.
    """
    import numpy as np

    if isinstance(result, tuple):
        return result
    array = np.array(result)  # a copy, as a runtime may use the memory again
    if array.dtype.kind in "OSUT":
        texts = [v.decode() if isinstance(v, bytes) else str(v) for v in array.reshape(-1).tolist()]
        return np.array(texts, dtype=np.str_).reshape(array.shape), "string"
    name = array.dtype.name
    if array.dtype.kind not in "biufc" or array.dtype.type.__module__ != "numpy":
        return array.view(f"u{array.dtype.itemsize}"), name
    return array, name


def _typed(array: Any, dtype: str) -> Any:
    """Return the array of a .npy file with the type that it stores."""
    if dtype in ("string", array.dtype.name):
        return array
    return array.view(getattr(importlib.import_module("ml_dtypes"), dtype))


# Expressions


def _evaluated(call: Mapping[str, Any], names: dict[str, Any]) -> Any:
    """Evaluate an expression, which is of our own table, or calls a function of our own file."""
    if "model" in call:
        names |= runpy.run_path(call["model"])
    return eval(call["code"], names)  # noqa: S307


def _numpy(np: Any, call: Mapping[str, Any], tensors: Tensors) -> Any:
    arrays = {name: _typed(*each) for name, each in tensors.items()}
    return _evaluated(call, {"np": np, **arrays})


def _torch(torch: Any, call: Mapping[str, Any], tensors: Tensors) -> Any:
    def tensor(array: Any, dtype: str) -> Any:
        if dtype in ("string", array.dtype.name):
            return torch.from_numpy(array)
        bits = torch.from_numpy(array.view(f"i{array.dtype.itemsize}"))
        return bits.view(getattr(torch, dtype))

    operands = {name: tensor(*each) for name, each in tensors.items()}
    result = _evaluated(call, {"torch": torch, **operands}).contiguous()
    name = str(result.dtype).rpartition(".")[2]
    try:
        return result.numpy(), name
    except TypeError:  # numpy lacks the type
        integers = {1: torch.uint8, 2: torch.int16}[result.element_size()]
        return result.view(integers).numpy().view(f"u{result.element_size()}"), name


def _jax(jax: Any, call: Mapping[str, Any], tensors: Tensors) -> Any:
    jax.config.update("jax_enable_x64", True)
    jnp = importlib.import_module("jax.numpy")
    arrays = {name: jnp.asarray(_typed(*each)) for name, each in tensors.items()}
    return _evaluated(call, {"jax": jax, "jnp": jnp, **arrays})


def _tensorflow(tf: Any, call: Mapping[str, Any], tensors: Tensors) -> Any:
    operands = {name: tf.constant(_typed(*each)) for name, each in tensors.items()}
    return _evaluated(call, {"tf": tf, **operands}).numpy()


# Models


def _openvino(ov: Any, call: Mapping[str, Any], tensors: Tensors) -> Any:
    import numpy as np

    core = ov.Core()
    model = core.read_model(call["model"])
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": call["threads"]})
    feeds = {}
    for each in compiled.inputs:
        array, dtype = tensors[each.any_name]
        kind = each.get_element_type()
        if dtype not in ("string", array.dtype.name):
            feeds[each.any_name] = ov.Tensor(array, list(array.shape), kind)
        else:
            feeds[each.any_name] = np.asarray(array, order="C")
    return compiled(feeds)[0]


def _onnxruntime(ort: Any, call: Mapping[str, Any], tensors: Tensors) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = call["threads"]
    session = ort.InferenceSession(call["model"], options, providers=["CPUExecutionProvider"])
    feeds = {}
    for name, (array, dtype) in tensors.items():
        if dtype == "string":
            feeds[name] = array.astype(object)
        elif dtype == "bfloat16":
            value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, 16)
            return _with_values(ort, session, tensors, {name: value})
        else:
            feeds[name] = array
    return session.run(None, feeds)[0]


def _with_values(ort: Any, session: Any, tensors: Tensors, values: dict[str, Any]) -> Any:
    """Run a model on values of onnxruntime, for types that numpy lacks."""
    for name, (array, _) in tensors.items():
        values.setdefault(name, ort.OrtValue.ortvalue_from_numpy(array))
    return session.run_with_ort_values(None, values)[0].numpy()


def _onnx_reference(reference: Any, call: Mapping[str, Any], tensors: Tensors) -> Any:
    del reference
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(call["model"])
    feeds = {name: _typed(*each) for name, each in tensors.items()}
    return evaluator.run(None, feeds)[0]


RUNTIMES = {
    "onnxruntime": ("onnxruntime", _onnxruntime),
    "openvino": ("openvino", _openvino),
    "torch": ("torch", _torch),
    "tensorflow": ("tensorflow", _tensorflow),
    "jax": ("jax", _jax),
    "onnx.reference": ("onnx", _onnx_reference),
    "numpy": ("numpy", _numpy),
}
"""The module that has the version of a runtime, and the function that calls it."""


def run_script(path: str, memory: int) -> None:
    """Run a script with the limits of a call."""
    _restrict(memory)
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "--script":
        run_script(sys.argv[2], int(sys.argv[3]))
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
