"""The script of a reproduction: a call in a runtime by itself, without this package."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.errors import UsageError
from gathercli.runtimes.calls import ONNX, OPENVINO, integers
from gathercli.runtimes.ir_node import CONSTANT, ONE_THREAD
from gathercli.spec.dtypes import BFLOAT16, STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gathercli.runtimes.calls import RuntimeCall
    from gathercli.spec.dtypes import DType
    from gathercli.tensor import Tensor

SCRIPT: Final = "reproduce.py"
SHOWN: Final = 20
"""The number of elements that the script prints."""

_IMPORTS: Final = {
    OPENVINO: "import openvino",
    "onnxruntime": "import onnxruntime",
    "onnx.reference": "import onnx\nimport onnx.reference",
    "torch": "import torch",
    "tensorflow": "import tensorflow as tf",
    "jax": 'import jax\nimport jax.numpy as jnp\n\njax.config.update("jax_enable_x64", True)',
    "numpy": "",
}

_MODULES: Final = {"onnx.reference": "onnx", "tensorflow": "tf", "numpy": "np"}
"""The modules with versions that are not named like the runtime."""

_BITS: Final = "(np.load({!r}).astype(np.uint32) << 16).view(np.float32)"
"""Reads bfloat16, which a .npy file stores as unsigned integers."""


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
        A tensor has a type that the script cannot pass to the runtime.
    """
    text = script(call, tensors, expected)
    files = {SCRIPT: ReproductionFile(text.encode(), "makes the call and prints the result")}
    for name, content in call.files(tensors, integers(attrs) or {}).items():
        doc = "the weights of the model" if name == "model.bin" else "a model with a single node"
        files[name] = ReproductionFile(content, doc)
    for name, tensor in tensors.items():
        files[f"{name}.npy"] = ReproductionFile(_npy(tensor), f"{name}, {tensor}")
    if expected is not None:
        doc = f"the expected result, {expected}"
        files["expected.npy"] = ReproductionFile(_npy(expected), doc)
    return files


def _npy(tensor: Tensor) -> bytes:
    buffer = BytesIO()
    np.save(buffer, tensor.array.astype(tensor.storage, copy=False), allow_pickle=False)
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
        A tensor has a type that the script cannot pass to the runtime.
    """
    dtype = next(iter(tensors.values())).dtype
    lines = [
        f'"""{call.text}, called by itself: run `python {SCRIPT}` in this folder."""',
        "",
        "import numpy as np",
        _IMPORTS[call.runtime],
        "",
        *_inputs(call, tensors),
        f"print({', '.join(_versions(call.runtime))}, flush=True)",
        *_expected(dtype, expected),
        *_calls(call, list(tensors)),
        *_conversions(call.runtime, dtype),
        f'print("result  ", result.dtype, result.shape, result.ravel()[:{SHOWN}].tolist())',
    ]
    if expected is not None:
        nan = ", equal_nan=True" * (dtype.kind in (Kind.FLOAT, Kind.COMPLEX))
        lines.append(f'print("equal   ", np.array_equal(result, expected{nan}))')
    return "\n".join(lines) + "\n"


def _versions(runtime: str) -> list[str]:
    """Return what prints the runtime and NumPy, each with its version."""
    module = _MODULES.get(runtime, runtime)
    numpy = ['"numpy"', "np.__version__"]
    return numpy if module == "np" else [f'"{runtime}"', f"{module}.__version__", *numpy]


def _expected(dtype: DType, expected: Tensor | None) -> list[str]:
    """Return the lines that print what is expected, flushed before a call that may crash."""
    if expected is None:
        return ['print("expected an error", flush=True)']
    content = _BITS.format("expected.npy") if dtype is BFLOAT16 else 'np.load("expected.npy")'
    return [
        f"expected = {content}",
        'print("expected", expected.dtype, expected.shape, '
        f"expected.ravel()[:{SHOWN}].tolist(), flush=True)",
    ]


def _inputs(call: RuntimeCall, tensors: Mapping[str, Tensor]) -> Iterator[str]:
    """Yield a line for each input."""
    for name, tensor in tensors.items():
        if call.way != CONSTANT or name == next(iter(tensors)):
            yield f"{name} = {_input(call.runtime, name, tensor)}"


def _input(runtime: str, name: str, tensor: Tensor) -> str:
    """Return the expression of an input."""
    dtype, array = tensor.dtype, f'np.load("{name}.npy")'
    if dtype is BFLOAT16:
        return _bfloat16(runtime, array, tensor.shape)
    if dtype.opaque:
        raise _no_type(runtime, dtype)
    if runtime == "torch":
        return f"torch.from_numpy({array})"
    if runtime == "jax":
        return f"jnp.asarray({array})"
    if runtime == "tensorflow":
        return f"tf.constant({array})"
    return f"{array}.astype(object)" if dtype is STRING and runtime == "onnxruntime" else array


def _bfloat16(runtime: str, array: str, shape: tuple[int, ...]) -> str:
    if runtime == "torch":
        return f"torch.from_numpy({array}.view(np.int16)).view(torch.bfloat16)"
    if runtime == OPENVINO:
        return f"openvino.Tensor({array}, {list(shape)}, openvino.Type.bf16)"
    if runtime == "jax":
        return f"jnp.asarray({array}).view(jnp.bfloat16)"
    if runtime == "tensorflow":
        return f"tf.bitcast({array}, tf.bfloat16)"
    raise _no_type(runtime, BFLOAT16)


def _no_type(runtime: str, dtype: DType) -> UsageError:
    return UsageError(
        f"is `{runtime}`, whose script has no {dtype.name}",
        rule="dtype",
        subject="--for",
        value=dtype.name,
        expected="a type of NumPy",
    )


def _calls(call: RuntimeCall, names: list[str]) -> list[str]:
    """Return the lines of the call, which set `result`."""
    if call.op is None:
        return [f"result = {call.code}"]
    feeds = ", ".join(f'"{name}": {name}' for name in names)
    if call.runtime == OPENVINO:
        first = f'"{names[0]}": {names[0]}'
        model = "model.onnx" if call.op.framework == ONNX else "model.xml"
        threads = ', {"INFERENCE_NUM_THREADS": 1}' * (call.way == ONE_THREAD)
        return [
            "core = openvino.Core()",
            f'compiled = core.compile_model(core.read_model("{model}"), "CPU"{threads})',
            f"result = compiled({{{first if call.way == CONSTANT else feeds}}})[0]",
        ]
    if call.runtime == "onnxruntime":
        providers = 'providers=["CPUExecutionProvider"]'
        evaluator = f'onnxruntime.InferenceSession("model.onnx", {providers})'
    else:
        evaluator = 'onnx.reference.ReferenceEvaluator("model.onnx")'
    return [f"evaluator = {evaluator}", f"result = evaluator.run(None, {{{feeds}}})[0]"]


def _conversions(runtime: str, dtype: DType) -> Iterator[str]:
    """Yield the lines that convert `result` to an array that prints and compares."""
    if runtime == "torch":
        yield f"result = result{'.float()' * (dtype is BFLOAT16)}.numpy()"
    elif runtime == "tensorflow":
        yield "result = result.numpy()"
    elif runtime in ("jax", "numpy"):
        yield "result = np.asarray(result)"
    if dtype is STRING:
        yield "result = result.astype(str)"
    elif dtype is BFLOAT16 and runtime in ("jax", "tensorflow"):
        yield "result = result.astype(np.float32)"
