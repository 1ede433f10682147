"""A call with its tensors, made what the call of a framework gathers from."""

from __future__ import annotations

from gathercli.errors import GatherError, LimitError
from gathercli.spec.call import Call, Operand
from gathercli.spec.dtypes import DType, described
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.shapes import LARGEST, MAX_RANK, Place, known, product
from gathercli.text import counted, in_bytes

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final, TypeVar

    from gathercli.compute.tensor import ChunkedTensor, Tensor
    from gathercli.spec.op import Op

    _Tensor = TypeVar("_Tensor", bound="ChunkedTensor | Operand")

# The most indices that are read of a folder of chunks: some of them take hours.
MOST_INDICES: Final = 1 << 40


class BoundCall:
    """A call that passed every rule of shapes and types, with its tensors in the order of the row.

    They are in memory, mapped, or read chunk by chunk. With `repeated` an equal call was bound
    before, so that preparing it is worth its time.
    """

    def __init__(self, call: Call, *tensors: ChunkedTensor, repeated: bool = False) -> None:
        self.call, self.repeated, self.changes_inputs = call, repeated, False
        narrow = [each for each in tensors[1:] if each.dtype.opaque and not call.op.one_type]
        if call.op.adapts is not None or narrow:
            given, tensors = tensors, adapted(call, tensors)
            self.changes_inputs = any(a is not b for a, b in zip(given, tensors, strict=True))
        self.tensors = dict(zip(call.inputs, tensors, strict=True))

    @property
    def data(self) -> ChunkedTensor:
        """The tensor to gather from: the first input."""
        return next(iter(self.tensors.values()))

    @property
    def indices(self) -> ChunkedTensor:
        """The tensor of indices."""
        return next(self.tensors[each.name] for each in self.call.op.inputs if each.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return known(self.call.shape)

    def check_size(self, max_bytes: int | None) -> None:
        """Raise `LimitError` if the output is too large, or there are too many indices to read.

        Each index gives a byte of output or more, unless `data` has an empty dimension: then the
        indices alone, of which a file without chunks may declare any number, exceed the limit.
        """
        check_size(self.data.dtype, self.shape, self.data.storage.itemsize, max_bytes)
        if self.indices.in_memory is None:
            _check_count(product(self.indices.shape), max_bytes)

    @property
    def in_memory(self) -> tuple[Tensor, ...] | None:
        """The inputs; None if one must be read chunk by chunk."""
        tensors = tuple([whole for each in self.tensors.values() if (whole := each.in_memory)])
        return tensors if len(tensors) == len(self.tensors) else None

    def loaded(self) -> dict[str, Tensor]:
        """Return the inputs by name, all in memory."""
        from gathercli.compute.chunks import load

        return {name: each.in_memory or load(each) for name, each in self.tensors.items()}


def fill_bytes(call: Call, dtype: DType) -> bytes:
    """Return the bytes of an element that the cells of an index outside the axis get."""
    if call.fill is None:
        return bytes(dtype.itemsize)
    from gathercli.compute.conversion import store

    return store([call.fill], dtype, Place("$", ())).tobytes()


def of_one_type(op: Op, tensors: Sequence[_Tensor]) -> list[_Tensor]:
    """Convert untyped text to the type of the typed tensors, if a version requires one type.

    If no tensor is typed, empty text gets the type of the first text with elements. Raise
    `InputError` (``dtype``) if a tensor does not convert to it without loss.
    """
    if not op.one_type:
        return list(tensors)
    untyped = [not getattr(each, "typed", True) for each in tensors]
    stated = [each.dtype for each, free in zip(tensors, untyped, strict=True) if not free]
    if not any(stated):
        untyped = [
            free and each.decided_by is None for each, free in zip(tensors, untyped, strict=True)
        ]
        stated = [each.dtype for each in tensors if each.decided_by is not None]
    dtype = next(filter(None, stated), None)
    return [
        _as_type(tensor, dtype, each.name) if free else tensor
        for each, tensor, free in zip(op.inputs, tensors, untyped, strict=True)
    ]


def _as_type(tensor: Any, dtype: DType | None, name: str) -> Any:
    if dtype is None or tensor.dtype is dtype:
        return tensor
    if isinstance(tensor, Operand):
        return tensor._replace(dtype=dtype)
    from gathercli.compute.conversion import convert

    try:
        return convert(tensor, dtype)
    except GatherError as error:
        error.prefix(f"`{name}`")
        raise


def _check_count(count: int, max_bytes: int | None) -> None:
    """Raise `LimitError` for more indices than the bytes of the limit, or than can be read."""
    what = f"the indices, {counted(count, 'element', exact=True)}, are too many to be read"
    if count > MOST_INDICES:
        raise LimitError(what, rule="limit", value=count, expected=f"at most {MOST_INDICES}")
    if max_bytes is not None and count > max_bytes:
        error = LimitError.over(what, count, max_bytes)
        error.expected = f"at most {max_bytes}"
        raise error


def check_size(dtype: DType, shape: tuple[int, ...], itemsize: int, max_bytes: int | None) -> None:
    """Raise `LimitError` if a result is too large, before any of it is allocated."""
    size = product(shape) * itemsize
    spanned = size or product([n for n in shape if n]) * itemsize
    over = max_bytes is not None and size > max_bytes
    if len(shape) <= MAX_RANK and not over and spanned <= LARGEST:
        return
    what = f"the result {described(dtype, ','.join(map(str, shape)))}"
    if len(shape) > MAX_RANK:
        what, value, most = f"{what} has rank {len(shape)}", len(shape), f"{MAX_RANK}"
    elif max_bytes is not None and over:
        raise LimitError.over(f"{what} takes {in_bytes(size)}", size, max_bytes)
    else:
        what = f"{what} spans {in_bytes(spanned)}, more than can be addressed"
        value, most = spanned, f"{LARGEST} bytes"
    raise LimitError(what, rule="limit", value=value, expected=f"at most {most}")


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
    from gathercli.compute.tensor import Tensor

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
