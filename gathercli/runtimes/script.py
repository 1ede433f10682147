"""The script of a reproduction: a call in a runtime by itself, without this package.

The types that numpy lacks are stored in .npy files as unsigned integers of the same bits. They
print and compare as numbers that numpy has.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import byte_values as values
from gathercli.errors import UsageError
from gathercli.runtimes.calls import CONSTANT, ONE_THREAD, ONNX, OPENVINO, OWN_NAMES, X64, integers
from gathercli.spec.dtypes import BFLOAT16, STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.runtimes.calls import RuntimeCall
    from gathercli.spec.dtypes import DType


_OPENVINO, ONNXRUNTIME = "openvino", "onnxruntime"
VALUES_FILE: Final = "values.npy"
"""A file with the value of each byte, for the types of 8 bits or less."""

_HAVE_BITS: Final = ("torch", _OPENVINO, ONNXRUNTIME)
"""The runtimes that give the bits of elements, and need no `ml_dtypes`."""

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


def check_type(runtime: str, dtype: DType) -> None:
    """Raise `UsageError` if a runtime has no such type."""
    if dtype not in OWN_NAMES.get(runtime, (dtype,)):
        raise UsageError(
            f"is `{runtime}`, which has no {dtype.name}",
            rule="dtype",
            subject="--for",
            value=dtype.name,
            expected="another runtime, or another type",
        )


def imports(runtime: str, dtypes: Iterable[DType]) -> Iterator[str]:
    """Yield the lines of imports and functions that the types take."""
    opaque = any(each.opaque for each in dtypes)
    if opaque and runtime == ONNXRUNTIME:
        yield "import ctypes"
    if opaque and runtime not in _HAVE_BITS:
        yield "import ml_dtypes"


def functions(runtime: str, dtypes: Iterable[DType]) -> list[str]:
    """Return the lines of the functions that the types take."""
    packs = runtime == _OPENVINO and any(each.opaque and each.bits < 8 for each in dtypes)
    return _PACKING_FUNCTIONS.splitlines() if packs else []


def table(runtime: str, dtype: DType) -> AnyArray | None:
    """Return the value of each byte, if the script takes it from a file."""
    return values(dtype) if runtime in _HAVE_BITS and dtype.narrow else None


def operand(runtime: str, name: str, tensor: Tensor, *, as_values: bool) -> str:
    """Return the expression of an input, for onnxruntime possibly as one of its own values."""
    dtype, array = tensor.dtype, f'np.load("{name}.npy")'
    if runtime == ONNXRUNTIME and as_values:
        make = "onnxruntime.OrtValue.ortvalue_from_numpy"
        number = OWN_NAMES[runtime][dtype]
        return f"{make}_with_onnx_type({array}, {number})" if dtype.opaque else f"{make}({array})"
    if dtype.opaque and runtime == _OPENVINO:
        array = f"packed({array}, {dtype.bits})" if dtype.bits < 8 else array
        own = OWN_NAMES[runtime][dtype]
        return f"openvino.Tensor({array}, {list(tensor.shape)}, openvino.Type.{own})"
    if dtype.opaque and runtime == "torch":
        array = f"{array}.view(np.int16)" if dtype.bits > 8 else array
        return f"torch.from_numpy({array}).view(torch.{dtype.name})"
    if dtype.opaque:
        array = f"{array}.view(ml_dtypes.{dtype.name})"
    if dtype is STRING and runtime == ONNXRUNTIME:
        return f"{array}.astype(object)"
    return _CONVERSIONS.get(runtime, "{}").format(array)


_CONVERSIONS: Final = {
    "torch": "torch.from_numpy({})",
    "jax": "jnp.asarray({})",
    "tensorflow": "tf.constant({})",
}


def of_expected(runtime: str, dtype: DType) -> str:
    """Return the expression of the expected result, as numbers that numpy has."""
    array = 'np.load("expected.npy")'
    if not dtype.opaque:
        return array
    if runtime in _HAVE_BITS:
        return _numbers(dtype, array)
    return f"{array}.view(ml_dtypes.{dtype.name}).astype(np.{_WIDER_TYPES[dtype.kind]})"


def of_result(runtime: str, dtype: DType) -> Iterator[str]:
    """Yield the lines that make numbers of `result`, and set `dtype`, the type that it has."""
    if not dtype.opaque:
        yield from _of_plain(runtime, dtype)
        return
    if runtime not in _HAVE_BITS:
        yield (
            "result = np.asarray(result)" if runtime != "tensorflow" else "result = result.numpy()"
        )
        yield "dtype = result.dtype"
        yield f"result = result.astype(np.{_WIDER_TYPES[dtype.kind]})"
        return
    yield f"dtype = {_DTYPES[runtime]}"
    yield from _bits(runtime, dtype)
    yield f"result = {_numbers(dtype, 'bits')}"


_DTYPES: Final = {
    "torch": "result.dtype",
    _OPENVINO: "result.element_type.get_type_name()",
    ONNXRUNTIME: "result.data_type()",
}
"""The type of a runtime's own tensor."""


def _of_plain(runtime: str, dtype: DType) -> Iterator[str]:
    if runtime in ("torch", "tensorflow"):
        yield "result = result.numpy()"
    elif runtime in ("jax", "numpy"):
        yield "result = np.asarray(result)"
    if dtype is STRING and runtime == "tensorflow":  # which gives bytes
        yield "texts = [each.decode() for each in result.ravel()]"
        yield "result = np.array(texts, str).reshape(result.shape)"
    elif dtype is STRING:
        yield "result = result.astype(str)"
    yield "dtype = result.dtype"


def _bits(runtime: str, dtype: DType) -> Iterator[str]:
    """Yield the lines that set `bits` to those of `result`."""
    storage = f"np.uint{8 * dtype.itemsize}"
    if runtime == ONNXRUNTIME:
        yield f"size = int(np.prod(result.shape())) * {dtype.itemsize}"
        yield f"bits = np.frombuffer(ctypes.string_at(result.data_ptr(), size), {storage})"
        yield "bits = bits.reshape(result.shape())"
    elif runtime == "torch":
        integers = "int16" if dtype.bits > 8 else "uint8"
        yield f"bits = result.contiguous().view(torch.{integers}).numpy().view({storage})"
    elif dtype.bits < 8:
        yield f"bits = unpacked(result, {dtype.bits})"
    else:
        yield f"bits = result.data.view({storage})"


def _numbers(dtype: DType, bits: str) -> str:
    if dtype is BFLOAT16:
        return f"({bits}.astype(np.uint32) << 16).view(np.float32)"
    return f'np.load("{VALUES_FILE}")[{bits}]'


SCRIPT: Final = "reproduce.py"
PRINTED_ELEMENTS: Final = 20
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
    if (values := table(call.runtime, first)) is not None:
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
        f'print("result  ", dtype, result.shape, result.ravel()[:{PRINTED_ELEMENTS}].tolist())',
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
        f"expected.ravel()[:{PRINTED_ELEMENTS}].tolist(), flush=True)",
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
