"""The lines of a script that pass elements of a type to a runtime, and read those of its result.

The types that numpy lacks are stored in .npy files as unsigned integers of the same bits. They
print and compare as numbers that numpy has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.compute.narrow import values
from gathercli.errors import UsageError
from gathercli.runtimes.own_names import OWN_NAMES
from gathercli.spec.dtypes import BFLOAT16, STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.spec.dtypes import DType

OPENVINO, ONNXRUNTIME = "openvino", "onnxruntime"
VALUES: Final = "values.npy"
"""A file with the value of each byte, for the types of 8 bits or less."""

_HAVE_BITS: Final = ("torch", OPENVINO, ONNXRUNTIME)
"""The runtimes that give the bits of elements, and need no `ml_dtypes`."""

_PACK: Final = '''
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

_WIDE: Final = {Kind.FLOAT: "float32", Kind.INT: "int8", Kind.UINT: "uint8"}
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
    packs = runtime == OPENVINO and any(each.opaque and each.bits < 8 for each in dtypes)
    return _PACK.splitlines() if packs else []


def table(runtime: str, dtype: DType) -> AnyArray | None:
    """Return the value of each byte, if the script takes it from a file."""
    return values(dtype) if runtime in _HAVE_BITS and dtype.narrow else None


def operand(runtime: str, name: str, tensor: Tensor, *, as_values: bool) -> str:
    """Return the expression of an input.

    Parameters
    ----------
    as_values
        Whether onnxruntime gets its own values, as it must if numpy lacks a type.
    """
    dtype, array = tensor.dtype, f'np.load("{name}.npy")'
    if runtime == ONNXRUNTIME and as_values:
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
    return f"{array}.view(ml_dtypes.{dtype.name}).astype(np.{_WIDE[dtype.kind]})"


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
        yield f"result = result.astype(np.{_WIDE[dtype.kind]})"
        return
    yield f"dtype = {_DTYPES[runtime]}"
    yield from _bits(runtime, dtype)
    yield f"result = {_numbers(dtype, 'bits')}"


_DTYPES: Final = {
    "torch": "result.dtype",
    OPENVINO: "result.element_type.get_type_name()",
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
    return f'np.load("{VALUES}")[{bits}]'
