"""What the calls of frameworks do to their inputs before they gather.

A call is bound to the inputs as they are then; `gathercli.compute.bound` does the same to tensors.
"""

from __future__ import annotations

from gathercli.spec.call import Operand, as_integer
from gathercli.spec.dtypes import DTYPES, DType
from gathercli.spec.shapes import UNKNOWN, AnyDim, Shape, low, product

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Any

    from gathercli.spec.op import Adaptation, Op


def adapted(op: Op, how: Adaptation, inputs: dict[str, Operand], attrs: dict[str, Any]) -> None:
    """Change the inputs and attributes of a call to those that it gathers with."""
    for name, operand in inputs.items():
        values = op.input(name).values
        is_wrong = values and not op.one_type
        if is_wrong and operand.dtype is not None and not operand.dtype.integral:
            continue  # which a rule refuses, by its name
        bits = how.index_bits if values else 64
        inputs[name] = operand._replace(dtype=narrowed(operand.dtype, how, bits))
    lacks_axis = attrs.get("axis") is None
    for name, operand in inputs.items():
        flattens = how.flattens and lacks_axis and name == "data"
        if flattens or (name in how.scalars and operand.shape.rank == 0):
            sizes = operand.shape.sizes
            size = UNKNOWN if sizes is None else product(sizes)
            inputs[name] = operand._replace(shape=Shape([size]))
    if lacks_axis and (how.flattens or how.axis_of_batch):
        attrs["axis"] = attrs.get("batch_dims", 0)
    if not how.broadcasts:
        return
    data, indices = inputs["data"], inputs["indices"]
    axis, rank = as_integer(attrs.get("axis")), data.shape.rank
    if axis is not None and rank is not None and rank == indices.shape.rank:
        along = axis % rank if rank else None
        pairs = [
            (d, i) if n == along else _broadcast(d, i)
            for n, (d, i) in enumerate(zip(data.shape, indices.shape, strict=True))
        ]
        inputs["data"] = data._replace(shape=Shape([d for d, _ in pairs]))
        inputs["indices"] = indices._replace(shape=Shape([i for _, i in pairs]))


def _broadcast(d: AnyDim, i: AnyDim) -> tuple[AnyDim, AnyDim]:
    """Return two dimensions after one of size 1 has repeated; either may be, if none is known."""
    if 1 in (d, i):
        return (i, i) if d == 1 else (d, d)
    either = d != i and not isinstance(d, int) and not isinstance(i, int)
    return (UNKNOWN, UNKNOWN) if either and min(low(d), low(i)) <= 1 else (d, i)


def narrowed(dtype: DType | None, how: Adaptation, bits: int) -> DType | None:
    """Return the type that elements are cut to, those of indices to `bits`."""
    dtype = how.narrow.get(dtype, dtype) if dtype is not None else None
    if dtype is None or not dtype.integral or dtype.bits <= bits:
        return dtype
    return next(each for each in DTYPES if each.kind is dtype.kind and each.bits == bits)
