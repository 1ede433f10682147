"""Call other runtimes: a script for any Python, which imports nothing of the package.

``python -I worker.py RUNTIME DESCRIPTOR BYTES`` reads a call a line as JSON from standard input and
writes an answer a line to the descriptor, so that a runtime may print what it likes. BYTES limits
its address space. Tensors are .npy files. RUNTIME says in JSON what code imports by which name, the
function here that calls it, how it makes a tensor of an array, and an array of a result, and its
own names of types, if any.
A call is an expression of tensors, possibly with functions of a file, or a model and its inputs::

    {"imports": {"np": "numpy"}, "call": "code", "tensor": "{}", "array": "result", "types": {}}
    {"code": "np.take(data, indices, axis=0)", "runs": 3, "output": "/tmp/x/output.npy",
     "inputs": {"data": ["/tmp/x/data.npy", "float32"], "indices": ["/tmp/x/indices.npy", "int64"]}}
    {"model": "/tmp/x/model.onnx", ...}

In files and answers a type has its name in `ml_dtypes`, and a .npy file stores one that numpy lacks
as unsigned integers. An answer is ``{"dtype": "float32"}``,
the type of the tensor in the output file, with ``"others": 2`` if the runs differ: so many more
results, each once, are in files with ``.1``, ``.2`` behind the name; or
``{"refuses": "..."}``, the text of an exception. Before the calls come ``{"python": "3.11.7"}``,
which a Python alone answers, and once the runtime is imported ``{"version": "2.4.6", "numpy":
"2.3.1"}``, or ``{"absent": "..."}``, why it is not.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import math
import os
import re
import resource
import runpy
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Runtime = Mapping[str, Any]
    Tensors = Mapping[str, tuple[Any, str]]

LONGEST = 4000  # the most characters of a message
# What memory is filled with in each run; in the first one it is as it comes.
FILLS = (0, 0x5A, 0xA7)
FRAME = 1 << 20  # the bytes around a tensor that are filled
M_PERTURB = -6  # the parameter of mallopt in glibc's malloc.h
# Modules that report to their makers, which OpenVINO's does when it is imported.
TELEMETRY = ("openvino_telemetry",)


def main(runtime: Runtime, descriptor: int, memory: int) -> None:
    """Answer the calls on standard input."""
    _restrict(memory)
    answers = os.fdopen(descriptor, "w", encoding="utf-8")

    def answer(fields: Mapping[str, Any]) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    answer({"python": sys.version.split()[0]})
    module = next(iter(runtime["imports"].values()))
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
            answer(_answer(runtime, call))
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


def _answer(runtime: Runtime, call: Mapping[str, Any]) -> dict[str, Any]:
    """Make a call several times, and save each distinct result, the first one first."""
    import numpy as np

    stored = {name: (np.load(path), dtype) for name, (path, dtype) in call["inputs"].items()}
    for _, dtype in stored.values():
        if dtype not in (runtime["types"] or (dtype,)):
            raise TypeError(f"{next(iter(runtime['imports']))} has no {dtype}")
    results: dict[Any, tuple[Any, str]] = {}
    for number in range(call["runs"]):
        with _filled(FILLS[number % len(FILLS)]) as frame:
            tensors = {name: (frame(array), dtype) for name, (array, dtype) in stored.items()}
            array, dtype = _stored(CALLS[runtime["call"]](runtime, call, tensors))
            results.setdefault((array.shape, array.dtype, array.tobytes()), (array, dtype))
    for number, (array, _) in enumerate(results.values()):
        with open(call["output"] + f".{number}" * (number > 0), "wb") as file:
            np.save(file, array, allow_pickle=False)
    _, dtype = next(iter(results.values()))
    return {"dtype": dtype} if len(results) == 1 else {"dtype": dtype, "others": len(results) - 1}


@contextlib.contextmanager
def _filled(byte: int) -> Iterator[Callable[[Any], Any]]:
    """Fill memory that is allocated with a byte, so that a result made of it changes with it.

    The byte is also around each array that the function of the context copies, where a runtime
    reads that reads past its end. Only the allocator of glibc can fill; 0 leaves all as it is.
    """
    import numpy as np

    def frame(array: Any) -> Any:
        if array.dtype.kind not in "biufc":
            return array
        around = np.full(array.nbytes + 2 * FRAME, byte, np.uint8)
        inside = around[FRAME : FRAME + array.nbytes].view(array.dtype).reshape(array.shape)
        inside[...] = array
        return inside

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_PERTURB, byte ^ 0xFF if byte else 0)
    try:
        yield frame
    finally:
        if mallopt is not None:
            mallopt(M_PERTURB, 0)


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
        bits = array.view(f"u{array.dtype.itemsize}")
        return bits & (2 ** _bits(name) - 1), name  # those beyond the type's say nothing
    return array, name


def _bits(dtype: str) -> int:
    """Return the bits of a type, the first number in its name: 4 of ``float4_e2m1fn``."""
    number = re.search(r"\d+", dtype)
    return int(number[0]) if number else 8


def _is_plain(array: Any, dtype: str) -> bool:
    return dtype in ("string", array.dtype.name)


def _typed(array: Any, dtype: str) -> Any:
    if _is_plain(array, dtype):
        return array
    return array.view(getattr(importlib.import_module("ml_dtypes"), dtype))


# Expressions


def _code(runtime: Runtime, call: Mapping[str, Any], tensors: Tensors) -> Any:
    """Call an expression of tensors that a runtime makes of arrays of numpy."""

    def tensor(name: str) -> Any:
        return _evaluated(runtime["tensor"].format("array"), {**names, "array": arrays[name]})

    modules = {"np": "numpy", **runtime["imports"]}
    names = {name: importlib.import_module(each) for name, each in modules.items()}
    arrays = {name: _typed(*each) for name, each in tensors.items()}
    if call["prepare"]:
        _evaluated(call["prepare"], names)
    functions = _functions(call)  # whose file may prepare it otherwise
    result = _evaluated(call["code"], {**names, **functions, **{n: tensor(n) for n in arrays}})
    return _evaluated(runtime["array"], {**names, "result": result})


def _evaluated(code: str, names: dict[str, Any]) -> Any:
    """Evaluate an expression, which is of our own table, or calls a function of our own file."""
    return eval(code, names)  # noqa: S307


def _functions(call: Mapping[str, Any]) -> dict[str, Any]:
    """Run our own file, if there is one, and return its functions."""
    return runpy.run_path(call["model"]) if "model" in call else {}


def _torch(runtime: Runtime, call: Mapping[str, Any], tensors: Tensors) -> Any:
    del runtime
    torch = importlib.import_module("torch")

    def tensor(array: Any, dtype: str) -> Any:
        if _is_plain(array, dtype):
            return torch.from_numpy(array)
        bits = torch.from_numpy(array.view(f"i{array.dtype.itemsize}"))
        return bits.view(getattr(torch, dtype))

    operands = {name: tensor(*each) for name, each in tensors.items()}
    names = {"torch": torch, **_functions(call), **operands}
    result = _evaluated(call["code"], names).contiguous()
    name = str(result.dtype).rpartition(".")[2]
    try:
        return result.numpy(), name
    except TypeError:  # numpy lacks the type
        integers = {1: torch.uint8, 2: torch.int16}[result.element_size()]
        return result.view(integers).numpy().view(f"u{result.element_size()}"), name


# Models


def _openvino(runtime: Runtime, call: Mapping[str, Any], tensors: Tensors) -> Any:
    ov, types = importlib.import_module("openvino"), runtime["types"]
    core = ov.Core()
    model = core.read_model(call["model"])
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": call["threads"]})
    request = compiled.create_infer_request()
    feeds = []  # a request does not keep the memory of its inputs
    for each in compiled.inputs:
        array, dtype = tensors[each.any_name]
        shape = list(array.shape)
        if dtype == "string":
            feeds.append(ov.Tensor(array))
        else:
            if _bits(dtype) < 8:
                array = _packed(array, _bits(dtype))
            feeds.append(ov.Tensor(array, shape, getattr(ov.Type, types[dtype])))
        request.set_tensor(each, feeds[-1])
    request.infer()
    return _of_openvino(request.get_output_tensor(0), types)


def _of_openvino(tensor: Any, types: Mapping[str, str]) -> Any:
    """Return the elements of a tensor of OpenVINO by its own type, which its array may not have."""
    import numpy as np

    own = tensor.element_type.get_type_name()
    name = next((ours for ours, each in types.items() if each == own), own)
    shape = tuple(tensor.shape)
    if name == "string":
        return np.array(tensor.str_data, np.str_).reshape(shape), name  # float64 if it is empty
    if _bits(name) < 8:
        return _unpacked(tensor.data, _bits(name), shape), name
    array = tensor.data.copy()
    return (array if _is_plain(array, name) else array.view(f"u{array.itemsize}")), name


def _packed(array: Any, bits: int) -> Any:
    """Pack elements of less than a byte, the first one in the lowest bits."""
    import numpy as np

    single = np.unpackbits(array.reshape(-1, 1), axis=1, count=bits, bitorder="little")
    return np.packbits(single, bitorder="little")


def _unpacked(data: Any, bits: int, shape: tuple[int, ...]) -> Any:
    """Unpack elements of less than a byte; bits behind the last one say nothing."""
    import numpy as np

    count = math.prod(shape)
    single = np.unpackbits(data.view(np.uint8).reshape(-1), count=count * bits, bitorder="little")
    return np.packbits(single.reshape(count, bits), axis=1, bitorder="little").reshape(shape)


def _onnxruntime(runtime: Runtime, call: Mapping[str, Any], tensors: Tensors) -> Any:
    ort, types = importlib.import_module("onnxruntime"), runtime["types"]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = call["threads"]
    session = ort.InferenceSession(call["model"], options, providers=["CPUExecutionProvider"])
    if all(_is_plain(*each) for each in tensors.values()):
        feeds = {
            name: array.astype(object) if dtype == "string" else array
            for name, (array, dtype) in tensors.items()
        }
        return session.run(None, feeds)[0]
    make = ort.OrtValue.ortvalue_from_numpy_with_onnx_type
    values = {name: make(array, types[dtype]) for name, (array, dtype) in tensors.items()}
    return _of_onnxruntime(session.run_with_ort_values(None, values)[0], types)


def _of_onnxruntime(value: Any, types: Mapping[str, int]) -> Any:
    """Return the elements of a value of onnxruntime, whose `numpy()` refuses types numpy lacks."""
    import numpy as np

    name = next(ours for ours, each in types.items() if each == value.element_type())
    shape = tuple(value.shape())
    storage = np.dtype(name if hasattr(np, name) else f"u{_bits(name) // 8}")
    content = ctypes.string_at(value.data_ptr(), math.prod(shape) * storage.itemsize)
    return np.frombuffer(content, storage).reshape(shape), name


def _onnx_reference(runtime: Runtime, call: Mapping[str, Any], tensors: Tensors) -> Any:
    del runtime
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(call["model"])
    feeds = {name: _typed(*each) for name, each in tensors.items()}
    return evaluator.run(None, feeds)[0]


# The functions that call runtimes.
CALLS = {
    "code": _code,
    "torch": _torch,
    "openvino": _openvino,
    "onnxruntime": _onnxruntime,
    "onnx.reference": _onnx_reference,
}


if __name__ == "__main__":
    if sys.argv[1] == "--script":
        _restrict(int(sys.argv[3]))  # as a call
        runpy.run_path(sys.argv[2], run_name="__main__")
    else:
        main(json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
