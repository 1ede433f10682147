"""Make tensors what the call of a framework gathers from: `gathercli.spec.adapt` says how."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gathercli.compute.tensor import Tensor
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.shapes import known

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.compute.tensor import ChunkedTensor
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType


def conform(
    tensor: ChunkedTensor, dtype: DType, shape: tuple[int, ...], *, are_indices: bool = False
) -> ChunkedTensor:
    """Return a tensor with a type and a shape; indices that the type has, too, keep theirs."""
    if are_indices and dtype.integral and dtype.opaque:  # with which NumPy does not compute
        dtype = dtype_named(f"{dtype.kind.value}8")
    if tensor.shape == shape and tensor.dtype is dtype:
        return tensor
    import numpy as np

    from gathercli.compute.storage import storage_of

    whole = tensor.in_memory
    if whole is None:
        from gathercli.compute.chunks import load

        whole = load(tensor)
    array, own = whole.array, whole.dtype
    if dtype.integral and are_indices and array.size and not own.opaque:
        low, high = dtype.bounds
        dtype = own if low <= int(array.min()) <= int(array.max()) <= high else dtype
    if dtype is not own and dtype.integral and not own.opaque:
        array = array.astype(storage_of(dtype))  # the last bits, as frameworks cut
    elif dtype is not own:
        from gathercli.compute.conversion import cast

        array, _ = cast(whole, dtype)
    if array.shape != shape:
        repeats = array.ndim == len(shape)
        array = np.broadcast_to(array, shape) if repeats else array.reshape(shape)
    return whole if array is whole.array else Tensor(dtype, array, whole.typed)


def adapted(
    call: Call, tensors: Sequence[ChunkedTensor], made: Callable[..., ChunkedTensor] = conform
) -> tuple[ChunkedTensor, ...]:
    """Return the inputs as the call is bound to them, each by `conform`."""
    return tuple(
        made(
            tensor,
            call.inputs[each.name].dtype or tensor.dtype,
            known(call.inputs[each.name].shape),
            are_indices=each.values,
        )
        for tensor, each in zip(tensors, call.op.inputs, strict=True)
    )
