"""The script of a reproduction: a call in a runtime by itself, without this package.

The types that numpy lacks are stored in .npy files as unsigned integers of the same bits. They
print and compare as numbers that numpy has.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import byte_values
from gathercli.errors import UsageError
from gathercli.runtimes.calls import CONSTANT, ONE_THREAD, ONNX, OPENVINO, OWN_NAMES, X64, integers
from gathercli.spec.dtypes import BFLOAT16, STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.runtimes.calls import RuntimeCall
    from gathercli.spec.dtypes import DType

SCRIPT: Final = "reproduce.py"
PRINTED_ELEMENTS: Final = 20
"""The number of elements that the script prints."""

VALUES_FILE: Final = "values.npy"
"""A file with the value of each byte, for the types of 8 bits or less."""

ONNXRUNTIME: Final = "onnxruntime"


class ScriptRow(NamedTuple):
    """What a script of a runtime writes."""

    imports: str
    module: str  # that has the version
    tensor: str = "{}"  # makes its tensor of an array
    array: str = ""  # makes an array of a result of a type that numpy has; empty if it is one
    dtype: str = ""  # the type of a result whose bits it gives; empty if it needs `ml_dtypes`


SCRIPT_ROWS: Final = {
    OPENVINO: ScriptRow("import openvino", "openvino", dtype="result.element_type.get_type_name()"),
    ONNXRUNTIME: ScriptRow("import onnxruntime", "onnxruntime", dtype="result.data_type()"),
    "onnx.reference": ScriptRow("import onnx\nimport onnx.reference", "onnx"),
    "torch": ScriptRow(
        "import torch", "torch", "torch.from_numpy({})", "result.numpy()", "result.dtype"
    ),
    "tensorflow": ScriptRow("import tensorflow as tf", "tf", "tf.constant({})", "result.numpy()"),
    "jax": ScriptRow(
        "import jax\nimport jax.numpy as jnp", "jax", "jnp.asarray({})", "np.asarray(result)"
    ),
    "numpy": ScriptRow("", "np", array="np.asarray(result)"),
}
"""The runtimes."""

_PACKING_FUNCTIONS: Final = '''
def packed(array, width):
    """Pack elements of some bits, the first one in the lowest bits."""
    bits = np.unpackbits(array.reshape(-1, 1), axis=1, count=width, bitorder="little")
    return np.packbits(bits, bitorder="little")


def unpacked(tensor, width):
    """Unpack the elements of a tensor of OpenVINO, whose array has packed ones."""
    data = tensor.data.view(np.uint8).ravel()
    bits = np.unpackbits(data, count=tensor.size * width, bitorder="little").reshape(-1, width)
    return np.packbits(bits, axis=1, bitorder="little").reshape(tensor.shape)

'''

_WIDER_TYPES: Final = {Kind.FLOAT: "float32", Kind.INT: "int8", Kind.UINT: "uint8"}
"""The types of numpy that hold the values of those it lacks."""


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

    The attributes are as the user wrote them; nothing is expected of a version that refuses.
    """
    text = script(call, tensors, expected)
    files = {SCRIPT: ReproductionFile(text.encode(), "makes the call and prints the result")}
    for name, content in call.files(tensors, integers(attrs) or {}).items():
        doc = "the weights of the model" if name == "model.bin" else "a model with a single node"
        files[name] = ReproductionFile(content, doc)
    for name, tensor in tensors.items():
        files[f"{name}.npy"] = ReproductionFile(_npy(tensor), f"{name}, {tensor}")
    first = next(iter(tensors.values())).dtype
    values = byte_values(first) if SCRIPT_ROWS[call.runtime].dtype and first.narrow else None
    if values is not None:
        files[VALUES_FILE] = ReproductionFile(_saved(values), f"the value of each byte of {first}")
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

    UsageError says that the runtime lacks the type of a tensor.
    """
    runtime, dtypes = call.runtime, [each.dtype for each in tensors.values()]
    for each in dtypes:
        if each not in OWN_NAMES.get(runtime, (each,)):
            raise UsageError(
                f"is `{runtime}`, which has no {each.name}",
                rule="dtype",
                subject="--for",
                value=each.name,
                expected="another runtime, or another type",
            )
    row, first = SCRIPT_ROWS[runtime], dtypes[0]
    opaque = [each for each in dtypes if each.opaque]
    lines = [f'"""{call.text}, called by itself: run `python {SCRIPT}` in this folder."""', ""]
    if opaque and runtime == ONNXRUNTIME:
        lines.append("import ctypes")
    if opaque and not row.dtype:
        lines.append("import ml_dtypes")
    lines += ["import numpy as np", row.imports]
    if runtime == OPENVINO and any(each.bits < 8 for each in opaque):
        lines += _PACKING_FUNCTIONS.splitlines()
    if call.way == X64:
        lines += ["", 'jax.config.update("jax_enable_x64", True)']
    lines += [
        "",
        *(
            f"{name} = {_input(runtime, name, tensor, as_value=bool(opaque))}"
            for name, tensor in _fed(call, tensors).items()
        ),
        _print_versions(runtime),
        *_expected(runtime, first, expected),
        *_call(call, list(_fed(call, tensors)), as_arrays=not opaque),
        *_result(runtime, first),
        f'print("result  ", dtype, result.shape, result.ravel()[:{PRINTED_ELEMENTS}].tolist())',
    ]
    if expected is not None:
        nan = ", equal_nan=True" * (first.kind in (Kind.FLOAT, Kind.COMPLEX))
        lines.append(f'print("equal   ", np.array_equal(result, expected{nan}))')
    return "\n".join(lines) + "\n"


def _fed(call: RuntimeCall, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that the call gets; those of a constant are in the model."""
    return dict(list(tensors.items())[: 1 if call.way == CONSTANT else None])


def _input(runtime: str, name: str, tensor: Tensor, *, as_value: bool) -> str:
    """Return the expression of an input, for onnxruntime possibly as one of its own values."""
    dtype, array = tensor.dtype, f'np.load("{name}.npy")'
    if runtime == ONNXRUNTIME and as_value:
        make = "onnxruntime.OrtValue.ortvalue_from_numpy"
        number = OWN_NAMES[runtime][dtype]
        return f"{make}_with_onnx_type({array}, {number})" if dtype.opaque else f"{make}({array})"
    if dtype.opaque and runtime == OPENVINO:
        array = f"packed({array}, {dtype.bits})" if dtype.bits < 8 else array
        own = OWN_NAMES[runtime][dtype]
        return f"openvino.Tensor({array}, {list(tensor.shape)}, openvino.Type.{own})"
    if dtype.opaque and runtime == "torch":
        array = f"{array}.view(np.int16)" if dtype.bits > 8 else array
        return f"torch.from_numpy({array}).view(torch.{dtype.name})"
    if dtype.opaque:
        array = f"{array}.view(ml_dtypes.{dtype.name})"
    elif dtype is STRING and runtime == ONNXRUNTIME:
        array = f"{array}.astype(object)"
    return SCRIPT_ROWS[runtime].tensor.format(array)


def _print_versions(runtime: str) -> str:
    """Return the line that prints the runtime and NumPy, each with its version."""
    module = SCRIPT_ROWS[runtime].module
    own = "" if module == "np" else f'"{runtime}", {module}.__version__, '
    return f'print({own}"numpy", np.__version__, flush=True)'


def _expected(runtime: str, dtype: DType, expected: Tensor | None) -> list[str]:
    """Return the lines that print what is expected, flushed before a call that may crash."""
    if expected is None:
        return ['print("expected an error", flush=True)']
    array = 'np.load("expected.npy")'
    if dtype.opaque and SCRIPT_ROWS[runtime].dtype:
        array = _numbers(dtype, array)
    elif dtype.opaque:
        array = f"{array}.view(ml_dtypes.{dtype.name}).astype(np.{_WIDER_TYPES[dtype.kind]})"
    return [
        f"expected = {array}",
        f'print("expected", "{dtype}", expected.shape, '
        f"expected.ravel()[:{PRINTED_ELEMENTS}].tolist(), flush=True)",
    ]


def _numbers(dtype: DType, bits: str) -> str:
    """Return the expression of numbers that numpy has, of the bits of elements."""
    if dtype is BFLOAT16:
        return f"({bits}.astype(np.uint32) << 16).view(np.float32)"
    return f'np.load("{VALUES_FILE}")[{bits}]'


def _call(call: RuntimeCall, names: list[str], *, as_arrays: bool) -> list[str]:
    """Return the lines of the call, which set `result`: to an array, or to a runtime's tensor."""
    if call.op is None:
        return [f"result = {call.code}"]
    feeds = "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"
    if call.runtime == OPENVINO:
        model = "model.onnx" if call.op.framework == ONNX else "model.xml"
        threads = ', {"INFERENCE_NUM_THREADS": 1}' * (call.way == ONE_THREAD)
        lines = [
            "core = openvino.Core()",
            f'compiled = core.compile_model(core.read_model("{model}"), "CPU"{threads})',
        ]
        if as_arrays:
            return [*lines, f"result = compiled({feeds})[0]"]
        request = ["request = compiled.create_infer_request()", f"request.infer({feeds})"]
        return [*lines, *request, "result = request.get_output_tensor(0)"]
    evaluator, run = 'onnx.reference.ReferenceEvaluator("model.onnx")', "run"
    if call.runtime == ONNXRUNTIME:
        providers = 'providers=["CPUExecutionProvider"]'
        evaluator = f'onnxruntime.InferenceSession("model.onnx", {providers})'
        run = "run" if as_arrays else "run_with_ort_values"
    return [f"evaluator = {evaluator}", f"result = evaluator.{run}(None, {feeds})[0]"]


def _result(runtime: str, dtype: DType) -> Iterator[str]:
    """Yield the lines that make numbers of `result`, and set `dtype`, the type that it has."""
    row = SCRIPT_ROWS[runtime]
    if not dtype.opaque:
        if row.array:
            yield f"result = {row.array}"
        if dtype is STRING and runtime == "tensorflow":  # which gives bytes
            yield "texts = [each.decode() for each in result.ravel()]"
            yield "result = np.array(texts, str).reshape(result.shape)"
        elif dtype is STRING:
            yield "result = result.astype(str)"
        yield "dtype = result.dtype"
    elif row.dtype:
        yield f"dtype = {row.dtype}"
        yield from _bits(runtime, dtype)
        yield f"result = {_numbers(dtype, 'bits')}"
    else:
        yield f"result = {row.array or 'np.asarray(result)'}"
        yield "dtype = result.dtype"
        yield f"result = result.astype(np.{_WIDER_TYPES[dtype.kind]})"


def _bits(runtime: str, dtype: DType) -> Iterator[str]:
    """Yield the lines that set `bits` to those of `result`."""
    storage = f"np.uint{8 * dtype.itemsize}"
    if runtime == ONNXRUNTIME:
        yield f"size = int(np.prod(result.shape())) * {dtype.itemsize}"
        yield f"bits = np.frombuffer(ctypes.string_at(result.data_ptr(), size), {storage})"
        yield "bits = bits.reshape(result.shape())"
    elif runtime == "torch":
        signed = "int16" if dtype.bits > 8 else "uint8"
        yield f"bits = result.contiguous().view(torch.{signed}).numpy().view({storage})"
    elif dtype.bits < 8:
        yield f"bits = unpacked(result, {dtype.bits})"
    else:
        yield f"bits = result.data.view({storage})"
