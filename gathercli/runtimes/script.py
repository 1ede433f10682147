"""The script of a reproduction: a call in a runtime by itself, without this package."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.runtimes.calls import ONNX, OPENVINO, X64, integers
from gathercli.runtimes.elements import (
    VALUES,
    check_type,
    functions,
    imports,
    of_expected,
    of_result,
    operand,
    table,
)
from gathercli.runtimes.single_node import CONSTANT, ONE_THREAD
from gathercli.spec.dtypes import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.runtimes.calls import RuntimeCall
    from gathercli.spec.dtypes import DType

SCRIPT: Final = "reproduce.py"
SHOWN: Final = 20
"""The number of elements that the script prints."""

_IMPORTS: Final = {
    OPENVINO: "import openvino",
    "onnxruntime": "import onnxruntime",
    "onnx.reference": "import onnx\nimport onnx.reference",
    "torch": "import torch",
    "tensorflow": "import tensorflow as tf",
    "jax": "import jax\nimport jax.numpy as jnp",
    "numpy": "",
}

_MODULES: Final = {"onnx.reference": "onnx", "tensorflow": "tf", "numpy": "np"}
"""The modules with versions that are not named like the runtime."""


class ReproductionFile(NamedTuple):
    """The content of a file, and what it is."""

    content: bytes
    doc: str


def files_of(
    call: RuntimeCall,
    tensors: Mapping[str, Tensor],
    attrs: Mapping[str, Any],
    expected: Tensor | None,
) -> dict[str, ReproductionFile]:
    """Return the files of a reproduction by name: the script, the tensors, the model.

    Parameters
    ----------
    attrs
        The attributes as the user wrote them.
    expected
        The expected result; None if the version refuses.

    Raises
    ------
    UsageError
        A tensor has a type that the runtime has not.
    """
    text = script(call, tensors, expected)
    files = {SCRIPT: ReproductionFile(text.encode(), "makes the call and prints the result")}
    for name, content in call.files(tensors, integers(attrs) or {}).items():
        doc = "the weights of the model" if name == "model.bin" else "a model with a single node"
        files[name] = ReproductionFile(content, doc)
    for name, tensor in tensors.items():
        files[f"{name}.npy"] = ReproductionFile(_npy(tensor), f"{name}, {tensor}")
    first = next(iter(tensors.values())).dtype
    if (values := table(call.runtime, first)) is not None:
        files[VALUES] = ReproductionFile(_saved(values), f"the value of each byte of {first}")
    if expected is not None:
        doc = f"the expected result, {expected}"
        files["expected.npy"] = ReproductionFile(_npy(expected), doc)
    return files


def _npy(tensor: Tensor) -> bytes:
    return _saved(tensor.array.astype(tensor.storage, copy=False))


def _saved(array: AnyArray) -> bytes:
    buffer = BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def script(call: RuntimeCall, tensors: Mapping[str, Tensor], expected: Tensor | None) -> str:
    """Return the script: it reads the inputs, makes the call, and prints the result.

    Parameters
    ----------
    expected
        The expected result; None if the version refuses.

    Raises
    ------
    UsageError
        A tensor has a type that the runtime has not.
    """
    runtime, dtypes = call.runtime, [each.dtype for each in tensors.values()]
    for each in dtypes:
        check_type(runtime, each)
    first = dtypes[0]
    lines = [
        f'"""{call.text}, called by itself: run `python {SCRIPT}` in this folder."""',
        "",
        *imports(runtime, dtypes),
        "import numpy as np",
        _IMPORTS[runtime],
        *functions(runtime, dtypes),
        *(["", 'jax.config.update("jax_enable_x64", True)'] if call.way == X64 else []),
        "",
        *_inputs(call, tensors),
        f"print({', '.join(_versions(runtime))}, flush=True)",
        *_expected(runtime, first, expected),
        *_calls(call, list(tensors), as_arrays=not any(each.opaque for each in dtypes)),
        *of_result(runtime, first),
        f'print("result  ", dtype, result.shape, result.ravel()[:{SHOWN}].tolist())',
    ]
    if expected is not None:
        nan = ", equal_nan=True" * (first.kind in (Kind.FLOAT, Kind.COMPLEX))
        lines.append(f'print("equal   ", np.array_equal(result, expected{nan}))')
    return "\n".join(lines) + "\n"


def _versions(runtime: str) -> list[str]:
    """Return what prints the runtime and NumPy, each with its version."""
    module = _MODULES.get(runtime, runtime)
    numpy = ['"numpy"', "np.__version__"]
    return numpy if module == "np" else [f'"{runtime}"', f"{module}.__version__", *numpy]


def _expected(runtime: str, dtype: DType, expected: Tensor | None) -> list[str]:
    """Return the lines that print what is expected, flushed before a call that may crash."""
    if expected is None:
        return ['print("expected an error", flush=True)']
    return [
        f"expected = {of_expected(runtime, dtype)}",
        f'print("expected", "{dtype}", expected.shape, '
        f"expected.ravel()[:{SHOWN}].tolist(), flush=True)",
    ]


def _inputs(call: RuntimeCall, tensors: Mapping[str, Tensor]) -> Iterator[str]:
    """Yield a line for each input."""
    as_values = any(each.dtype.opaque for each in tensors.values())
    for name, tensor in tensors.items():
        if call.way != CONSTANT or name == next(iter(tensors)):
            yield f"{name} = {operand(call.runtime, name, tensor, as_values=as_values)}"


def _calls(call: RuntimeCall, names: list[str], *, as_arrays: bool) -> list[str]:
    """Return the lines of the call, which set `result`: to an array, or to a runtime's tensor."""
    if call.op is None:
        return [f"result = {call.code}"]
    fed = names[:1] if call.way == CONSTANT else names
    feeds = "{" + ", ".join(f'"{name}": {name}' for name in fed) + "}"
    if call.runtime == OPENVINO:
        return _openvino_calls(call, feeds, as_arrays=as_arrays)
    run = f"run(None, {feeds})[0]"
    if call.runtime == "onnxruntime":
        providers = 'providers=["CPUExecutionProvider"]'
        evaluator = f'onnxruntime.InferenceSession("model.onnx", {providers})'
        run = run if as_arrays else f"run_with_ort_values(None, {feeds})[0]"
    else:
        evaluator = 'onnx.reference.ReferenceEvaluator("model.onnx")'
    return [f"evaluator = {evaluator}", f"result = evaluator.{run}"]


def _openvino_calls(call: RuntimeCall, feeds: str, *, as_arrays: bool) -> list[str]:
    is_onnx = call.op is not None and call.op.framework == ONNX
    model = "model.onnx" if is_onnx else "model.xml"
    threads = ', {"INFERENCE_NUM_THREADS": 1}' * (call.way == ONE_THREAD)
    lines = [
        "core = openvino.Core()",
        f'compiled = core.compile_model(core.read_model("{model}"), "CPU"{threads})',
    ]
    if as_arrays:
        return [*lines, f"result = compiled({feeds})[0]"]
    request = ["request = compiled.create_infer_request()", f"request.infer({feeds})"]
    return [*lines, *request, "result = request.get_output_tensor(0)"]
