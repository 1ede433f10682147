"""Arguments of Python callers: arrays of any library, nested lists, numbers; and their results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from inspect import CO_VARARGS
from itertools import chain, repeat
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import numpy as np

from gathercli.compute.bound import of_one_type
from gathercli.compute.storage import AnyArray, dtype_of, storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, Hint, InputError, UsageError, refusal_of
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.values import check_depth, flatten, tensor_of
from gathercli.spec.call import CallContext
from gathercli.spec.dtypes import FLOAT64, INT64, STRING, DType, Kind, described, foreign, named
from gathercli.spec.op import Input, Op
from gathercli.spec.shapes import MAX_RANK, Shape
from gathercli.text import as_written, json_string, kind_of, listed, short

if TYPE_CHECKING:
    import numpy.typing as npt

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Libraries whose tensors results become, by the package that defines their types.
_LIBRARIES: Final = {each: each for each in ("numpy", "torch", "jax", "tensorflow")}
_PACKAGES: Final = _LIBRARIES | {"jaxlib": "jax"}
_LIBRARY_OF: Final[dict[type, str | None]] = {}  # what was found
_OF_PYTHON: Final = {bool: np.bool_, int: np.int64, float: np.float64}
# What copies a tensor to the CPU.
_TO_CPU: Final = {
    "torch": "{}.cpu()",
    "jax": "jax.device_put({}, jax.devices('cpu')[0])",
    "cupy": "{}.get()",
}
# DLPack devices with memory that the CPU can read: CPU, CUDA pinned, CUDA managed.
_HOSTS: Final = (1, 3, 13)
_LAZY: Final = ("resolve_conj", "resolve_neg")  # PyTorch's for a lazy conjugation or negation
_UINT: Final = 1  # the DLPack type code of unsigned integers
# Types that numpy lacks, by DLPack type code and bits.
_FLOAT8: Final = (
    *("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz"),
    *("e5m2", "e5m2fnuz", "e8m0fnu"),
)
_CODES: Final = {(4, 16): "bfloat16"} | {
    (code, 8): f"float8_{name}" for code, name in enumerate(_FLOAT8, 7)
}


# What an argument may be, by what its annotation says; the words are for errors.
_KINDS: Final[dict[str, tuple[str, Any]]] = {
    "str": ("text", str),
    "int": ("an integer", int | np.integer),
    "float": ("a number", int | float | np.number),
    "bool": ("True or False", bool | np.bool_),
    "os.PathLike[str]": ("a path", os.PathLike),
    "Path": ("text or a path", str | os.PathLike),
    "Collection[str]": ("a list of names", list | tuple | set | frozenset),
    "tuple[str, str]": ("a pair of names", tuple),
    "None": ("None", type(None)),
}


def typed(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Refuse arguments that are not the text, numbers or paths that their annotations say."""
    code, allowed = function.__code__, {}
    for name, annotation in function.__annotations__.items():
        kinds = [_KINDS.get(each) for each in annotation.split(" | ")]
        if None not in kinds:
            allowed[name] = [each for each in kinds if each]
    names, last = code.co_varnames[: code.co_argcount], code.co_argcount + code.co_kwonlyargcount
    rest = repeat(code.co_varnames[last]) if code.co_flags & CO_VARARGS else ()

    @wraps(function)
    def checked(*args: _P.args, **named: _P.kwargs) -> _R:
        placed = zip(chain(names, rest), args, strict=False)
        for name, value in chain(placed, named.items()):
            if name in allowed and not any(isinstance(value, kind) for _, kind in allowed[name]):
                what, expected = f"is {kind_of(value)}", listed(words for words, _ in allowed[name])
                raise UsageError(what, subject=name, value=str(value), expected=expected)
        return function(*args, **named)

    return checked


def joined(names: str | Collection[str] | None) -> str | None:
    """Return names as the text with commas that a command takes."""
    return names if names is None or isinstance(names, str) else ",".join(map(str, names))


def type_word(of: Any) -> str | None:
    """Return the name of a type, which NumPy, PyTorch or text may name; None for None."""
    if of is None or isinstance(of, str):
        return of
    with suppress(TypeError):
        return str(np.dtype(of).name)
    return str(of).removeprefix("torch.")


def arguments(context: CallContext, values: Iterable[Any]) -> list[Tensor]:
    """Return tensors of the inputs of a call, and set them in the context."""
    op = context.op
    if op is None:
        raise LookupError("the inputs of no operator")
    values = tuple(values)
    check_number(op, len(values), "inputs")
    tensors = [_argument(value, each) for each, value in zip(op.inputs, values, strict=True)]
    tensors = of_one_type(op, tensors)
    context.describe(tensors)
    return tensors


def check_number(op: Op, number: int, what: str) -> None:
    """Raise if a call has more or fewer inputs, or their shapes, than its operator takes."""
    names = [each.name for each in op.inputs]
    if number != len(names):
        what = f"{op.family} takes {len(names)} {what}, not {number}"
        raise UsageError(what, value=number, expected=listed(names, "and"))


def _argument(value: Any, each: Input) -> Tensor:
    try:
        refuse_text(value)
        return as_tensor(value, INT64 if each.values else FLOAT64, each.name)
    except GatherError as error:
        error.name(each.name)
        raise


def refuse_text(value: Any) -> None:
    """Raise if text or a path stands where an array should."""
    if isinstance(value, str | os.PathLike):
        source = os.fsdecode(value)
        what, expected = f"it is the text {json_string(short(source))}", "an array or nested lists"
        hint = Hint("read what it names: {code}", code=f"gathercli.load({json_string(source)})")
        raise InputError(what, rule="dtype", value=source, expected=expected, hint=hint)


def as_tensor(value: Any, empty: DType = FLOAT64, name: str = "tensor") -> Tensor:
    """Return a tensor of an array, nested lists or a number; an empty list has the type `empty`.

    Hints call it `name`.
    """
    if isinstance(value, list | tuple | range | bool | int | float | complex | str):
        if not isinstance(value, np.generic):
            return _tensor_of_list(value, empty)
    elif isinstance(value, np.ma.MaskedArray):
        what = "it is a masked array, and a tensor has no mask"
        hint = "`array.filled(value)` decides what the masked elements are"
        raise InputError(what, rule="dtype", expected="a plain array", hint=hint)
    tensor = viewed(value, name)
    array = tensor.array
    if array.dtype == object and not hasattr(value, "__array__"):
        expected = "an array or nested lists"
        raise InputError(f"it is {kind_of(value)}", rule="dtype", expected=expected)
    if array.dtype.kind in "OT" and array.size and all(isinstance(v, str) for v in array.flat):
        return tensor_of(array.tolist(), ElementTypes(STRING))
    if array.dtype == object and _library(type(value)) == "tensorflow":  # its strings are bytes
        return as_tensor(np.char.decode(array.astype(np.bytes_), errors="replace"))
    return tensor


def viewed(value: Any, name: str = "tensor") -> Tensor:
    """View an array of any library: `__array__`, the buffer protocol, or DLPack.

    Elements are copied only if necessary; PyTorch's lazy conjugation or negation is computed. Types
    that numpy lacks are viewed as bits. Raise `InputError` (``dtype``) if numpy cannot read it, or
    if it requires gradients or is on another device, whose copy must be asked for.
    """
    exports = hasattr(value, "__dlpack__")
    _check_place(value, name, exports)
    try:
        for resolve in _LAZY:
            if hasattr(value, resolve):
                value = getattr(value, resolve)()  # the same tensor if there is nothing to do
        if exports and not hasattr(value, "__array__"):
            return _from_dlpack(value)
        array = np.asarray(value)
    except Exception as error:  # noqa: BLE001  (another library may raise anything)
        try:
            if exports and hasattr(value, "__array__"):
                return _from_dlpack(value)
        except Exception:  # noqa: BLE001, S110  (the first error is raised)
            pass
        what = f"it is {type(value).__name__}, which numpy cannot read ({error})"
        raise InputError(what, rule="dtype", expected="an array or nested lists") from None
    dtype = dtype_of(array.dtype) or foreign(array.dtype)
    return Tensor(dtype, array.view(storage_of(dtype)) if dtype.opaque else array)


def _check_place(value: Any, name: str, exports: bool) -> None:
    """Raise if a tensor requires gradients, or is in the memory of another device."""
    kind = type(value)
    if getattr(value, "requires_grad", False) is True:
        what = f"it is {kind.__name__} that requires gradients, which no result has"
        hint = Hint("{code} shares its elements without them", code=f"{name}.detach()")
        raise InputError(what, rule="dtype", expected="a detached tensor", hint=hint)
    try:
        device = value.__dlpack_device__()[0] if exports else _HOSTS[0]
    except Exception:  # noqa: BLE001  (of several devices, or of none yet: NumPy may read it)
        return
    if device not in _HOSTS:
        line = _TO_CPU.get(_library(kind) or kind.__module__.partition(".")[0])
        what = f"it is {kind.__name__} in the memory of a device"
        copy = Hint("{code} copies it there", code=line.format(name)) if line else None
        raise InputError(what, rule="dtype", expected="a tensor in that of the CPU", hint=copy)


def _from_dlpack(value: Any) -> Tensor:
    try:
        array: AnyArray = np.from_dlpack(value)
    except Exception:
        capsule, device = value.__dlpack__(), value.__dlpack_device__()
        name = _retype(capsule)
        if name is None:
            raise
        export: Any = SimpleNamespace(
            __dlpack__=lambda **_: capsule, __dlpack_device__=lambda: device
        )
        return Tensor(named(name) or foreign(name), np.from_dlpack(export))
    return Tensor(dtype_of(array.dtype) or foreign(array.dtype), array)


def _retype(capsule: object) -> str | None:
    """Change a type that numpy lacks to unsigned integers of its size; return its name."""
    import ctypes

    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    # The fields of a DLTensor: data, device type and id, ndim, then code and bits.
    start = pointer(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p) + 3 * 4
    code, bits = (ctypes.c_uint8.from_address(start + at) for at in (0, 1))
    name = _CODES.get((code.value, bits.value))
    if name is not None:
        code.value = _UINT
    return name


def _tensor_of_list(value: Any, empty: DType) -> Tensor:
    """Return a tensor of a list; NumPy values of one type in it decide its type."""
    declared = None
    check_depth(value)
    if not _is_plain(value):
        types: set[DType | None] = set()
        try:
            value = _plain(value, types)
        except RecursionError as error:
            raise refusal_of(error) from None
        declared = types.pop() if len(types) == 1 else None
    return tensor_of(value, ElementTypes(declared, empty=empty))


def _is_plain(value: Any) -> bool:
    """Return whether nested lists hold only values of Python's own types."""
    level = [value]
    for _ in range(MAX_RANK + 1):  # a list may hold itself
        kinds = set(map(type, level))
        if not kinds <= {list, tuple, bool, int, float, complex, str}:
            return False
        level = list(chain.from_iterable(each for each in level if type(each) in (list, tuple)))
    return True


def _plain(value: Any, types: set[DType | None]) -> Any:
    """Replace arrays, ranges and enumerations in a list by plain values, and add their types."""
    if isinstance(value, list | tuple | range):
        return [_plain(each, types) for each in value]
    if isinstance(value, np.generic | np.ndarray):
        types.add(dtype_of(value.dtype))
        return value.tolist()
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        tensor = as_tensor(value)
        types.add(None if tensor.dtype.kind is Kind.OTHER else tensor.dtype)
        return tensor.values().tolist()
    types.add(None)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


def as_numpy(tensor: Tensor) -> npt.NDArray[Any]:
    """Return a tensor as NumPy has it; types that NumPy lacks as those of `ml_dtypes`."""
    if not tensor.dtype.opaque:
        return tensor.array
    import ml_dtypes

    native: npt.NDArray[Any] = tensor.array.astype(tensor.storage, copy=False)
    return native.view(getattr(ml_dtypes, tensor.dtype.name))


def _library(kind: type) -> str | None:
    """Return the library of a type, or of what it derives from; None for any other."""
    if kind not in _LIBRARY_OF:
        packages = (each.__module__.partition(".")[0] for each in kind.__mro__)
        _LIBRARY_OF[kind] = next((_PACKAGES[each] for each in packages if each in _PACKAGES), None)
    return _LIBRARY_OF[kind]


def check_like(like: Any, out: Any) -> None:
    """Raise if no library has the name, or `out` says where the result goes."""
    if out is not None or not (isinstance(like, str) and like in _LIBRARIES):
        what = f"is {as_written(like)}" + ", and the result is `out`" * (out is not None)
        expected = listed(_LIBRARIES) if out is None else "None"
        raise UsageError(what, subject="like", value=str(like), expected=expected)


def given_back(result: AnyArray, data: Any, like: str | None) -> Any:
    """Return a result as the library `like` has it, or that of `data`; lists give NumPy.

    It is on the CPU and shares its memory, unless the library cannot.
    """
    if like is None:
        if type(data) in (np.ndarray, list):
            return result
        like = _library(type(data))
        if like is None and hasattr(data, "__array_namespace__"):  # of the Python array API
            take = getattr(data.__array_namespace__(), "from_dlpack", None)
            return result if take is None or _is_foreign(result) else take(result)
    if like is None or like == "numpy":
        return result
    try:
        return _OF_LIBRARY[like](sys.modules.get(like) or import_module(like), result)
    except ImportError as error:
        what, expected = f"is `{like}`, and {str(error)!r}", "an installed library"
        raise UsageError(what, subject="like", value=like, expected=expected) from None
    except Exception as error:  # noqa: BLE001  (another library may raise anything)
        name = (dtype_of(result.dtype) or foreign(result.dtype)).name
        what, hint = f"{like} cannot hold {name} ({error})", '`like="numpy"` can'
        raise InputError(what, rule="dtype", subject="like", value=name, hint=hint) from None


def _is_foreign(array: AnyArray) -> bool:
    """Return whether an array has a type of `ml_dtypes`, which DLPack cannot have from NumPy."""
    return array.dtype.isbuiltin == 2


def _as_torch(torch: Any, array: AnyArray) -> Any:
    if not _is_foreign(array):
        return torch.from_numpy(array)
    bits = array.view(f"u{array.itemsize}")
    return torch.from_numpy(bits).view(getattr(torch, array.dtype.name))


def _as_jax(jax: Any, array: AnyArray) -> Any:
    cpu = jax.devices("cpu")[0]
    result = jax.device_put(array, cpu) if _is_foreign(array) else jax.numpy.from_dlpack(array)
    if result.dtype != array.dtype:
        raise TypeError('it narrows without `jax.config.update("jax_enable_x64", True)`')
    return result


def _as_tensorflow(tensorflow: Any, array: AnyArray) -> Any:
    if array.dtype.kind in "biufc" and not _is_foreign(array):
        return tensorflow.experimental.dlpack.from_dlpack(array.__dlpack__())
    with tensorflow.device("CPU"):
        return tensorflow.convert_to_tensor(array)


_OF_LIBRARY: Final = {"torch": _as_torch, "jax": _as_jax, "tensorflow": _as_tensorflow}


def quick(value: Any) -> AnyArray | None:
    """Return an array, a tensor of PyTorch, or lists of one type as an array; None for all else.

    Nothing is raised: the usual way says what is wrong.
    """
    if type(value) is np.ndarray:
        return value
    try:
        if type(value) in (list, tuple, int, float):
            shape, flat, kinds = flatten(value)
            (kind,) = kinds
            return np.array(flat, _OF_PYTHON[kind]).reshape(shape)
        return _of_torch(value) if _library(type(value)) == "torch" else None
    except Exception:  # noqa: BLE001  (another library may raise anything)
        return None


def room(out: Any) -> Any:
    """Return the memory of a tensor of PyTorch that takes a result, as an array of NumPy."""
    if _library(type(out)) != "torch":
        return out
    _check_place(out, "out", exports=True)
    array = quick(out)
    return out if array is None else array


def _of_torch(value: Any) -> AnyArray:
    """View a tensor of PyTorch; raise whatever it raises if NumPy cannot have it."""
    dtype = named(str(value.dtype).removeprefix("torch."))
    if dtype is None or not dtype.opaque:
        array: AnyArray = value.numpy()
        return array
    torch: Any = sys.modules["torch"]
    bits = value.view(torch.uint8 if dtype.itemsize == 1 else torch.int16).numpy()
    return as_numpy(Tensor(dtype, bits.view(storage_of(dtype))))


def check_threads(threads: Any) -> int:
    """Return a number of threads; raise if it is not a positive integer."""
    if type(threads) is int and threads > 0:
        return threads
    what = f"is {as_written(threads)}"
    raise UsageError(what, subject="threads", value=str(threads), expected="an integer from 1 on")


def check_out(out: Any, wanted: Shape, *inputs: Tensor) -> None:
    """Raise if an array cannot take the result of inputs, of the shape `wanted`."""
    storage = inputs[0].storage
    dtype = dtype_of(out.dtype) if type(out) in (np.ndarray, np.memmap) else None
    expected = described(inputs[0].dtype, wanted.inner())
    if dtype is None:
        why, expected = f"is {kind_of(out)}", f"a NumPy array, {expected}"
    elif dtype is not inputs[0].dtype or out.shape != tuple(wanted):
        why = f"is {described(dtype, Shape(out.shape).inner())}"
    elif out.dtype.itemsize != storage.itemsize or not out.dtype.isnative:
        why, expected = f"is of {out.dtype.str}", f"{storage.str}, in native byte order"
    elif not out.flags.c_contiguous:
        why, expected = "is not C-ordered", "a C-ordered array"
    elif not out.flags.writeable:
        why, expected = "cannot be written to", "a writable array"
    elif any(np.may_share_memory(out, each.array) for each in inputs):
        why, expected = "shares memory with an input", "an array with memory of its own"
    else:
        return
    raise InputError(f"`out` {why}", rule="dtype", expected=expected)
