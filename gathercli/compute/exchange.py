"""View arrays of other libraries through shared protocols, without importing the libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.storage import dtype_of, storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError
from gathercli.spec.dtypes import foreign, named

if TYPE_CHECKING:
    from gathercli.compute.storage import AnyArray

_HOSTS: Final = (1, 3, 13)
"""DLPack devices with memory that the CPU can read: CPU, CUDA pinned, CUDA managed."""

_LAZY: Final = ("resolve_conj", "resolve_neg")
"""PyTorch methods that compute a lazy conjugation or negation."""

_UINT: Final = 1
"""The DLPack type code of unsigned integers."""

_CODES: Final = {
    (4, 16): "bfloat16",
    (7, 8): "float8_e3m4",
    (8, 8): "float8_e4m3",
    (9, 8): "float8_e4m3b11fnuz",
    (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz",
    (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
    (14, 8): "float8_e8m0fnu",
}
"""Types that numpy lacks, by DLPack type code and bits."""


def viewed(value: Any) -> Tensor:
    """View an array of any library: `__array__`, the buffer protocol, or DLPack.

    Elements are copied only if necessary. A tensor that requires gradients is detached; PyTorch's
    lazy conjugation or negation is computed. Types that numpy lacks are viewed as bits. Raise
    `InputError` (``dtype``) if numpy cannot read it.
    """
    if getattr(value, "requires_grad", False) is True:
        value = value.detach()
    exports = hasattr(value, "__dlpack__")
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
        raise _unreadable(value, error) from None
    dtype = dtype_of(array.dtype) or foreign(array.dtype)
    return Tensor(dtype, array.view(storage_of(dtype)) if dtype.opaque else array)


def _unreadable(value: Any, error: Exception) -> InputError:
    return InputError(
        f"it is {type(value).__name__}, which numpy cannot read ({error})",
        rule="dtype",
        expected="an array or nested lists",
    )


def _from_dlpack(value: Any) -> Tensor:
    """View an array that an object exports by DLPack."""
    device = value.__dlpack_device__()
    if device[0] not in _HOSTS:
        raise BufferError("it is in the memory of a device, and not of the CPU")
    try:
        array: AnyArray = np.from_dlpack(value)
    except Exception:
        capsule = value.__dlpack__()
        name = _retype(capsule)
        if name is None:
            raise
        export: Any = _Export(capsule, device)
        return Tensor(named(name) or foreign(name), np.from_dlpack(export))
    return Tensor(dtype_of(array.dtype) or foreign(array.dtype), array)


class _Export:
    """A DLPack capsule with the methods that numpy calls."""

    def __init__(self, capsule: object, device: tuple[int, int]) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **_: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


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
