"""Long random trials of `translate`, for `python -m campaigns`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import UsageError
from gathercli.ops import OPERATORS
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import PLAIN
from gathercli.spec.op import OUT_OF_RANGE_CHOICES, Negative, OffAxis
from gathercli.translate.proof import calls_of, prove
from gathercli.translate.targets import translation_targets
from gathercli.translate.translation import translated
from tests.random_calls import Dice

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op


def translation(seed: int) -> str:
    """Draw a call of any version and a target, and prove the translation."""
    dice = Dice(seed)
    op, target = dice.one_of(OPERATORS), dice.one_of(translation_targets())
    options: dict[str, Any] = {}
    if op.followed is None:
        options["negative"] = dice.one_of([each.value for each in Negative])
        options["out_of_range"] = dice.one_of(OUT_OF_RANGE_CHOICES)
    tensors = _tensors(op, dice, options)
    call = ops.bind(op, *map(Operand.of, tensors), **options)
    try:
        each = translated(call, target)
    except UsageError as error:
        return f"refused: {error.rule}"

    prove(each, calls_of(each, BoundCall(call, *tensors), 20, seed=seed))

    return f"to {target.name}"


def _tensors(op: Op, dice: Dice, options: dict[str, Any]) -> list[Tensor]:
    """Draw inputs whose indices are 0, and add the attributes to the options."""
    indices = next(each for each in op.inputs if each.values)
    of_data = [each for each in op.inputs[0].dtypes if each in PLAIN]
    dtype, integer = dice.one_of(of_data), dice.one_of(indices.dtypes)
    if op.followed is not None:
        t, b, w = (dice.number(0, 3) for _ in range(3))
        return [_zeros(dtype, shape) for shape in ((t, b, w), (t, b, w), (b,), ())]
    rank = dice.number(1, 3)
    data = [dice.number(0, 3) for _ in range(rank)]
    if op.tuples:
        b = dice.number(0, rank - 1) if op.has_batch_dims else 0
        k = dice.number(op.shortest_tuple, rank - b)
        shape = [*data[:b], *(dice.number(0, 3) for _ in range(dice.number(0, 2))), k]
    elif op.elementwise:
        options["axis"] = axis = dice.number(0, rank - 1)
        shape = [dice.number(0, n) if op.off_axis is OffAxis.AT_MOST else n for n in data]
        shape[axis] = dice.number(0, 3)
        b = 0
    else:
        options["axis"] = axis = dice.number(0, rank - 1)
        b = dice.number(0, axis) if op.has_batch_dims else 0
        shape = [*data[:b], *(dice.number(0, 3) for _ in range(dice.number(0, 2)))]
    if op.has_batch_dims:
        options["batch_dims"] = b
    return [_zeros(dtype, tuple(data)), _zeros(integer, tuple(shape))]


def _zeros(dtype: DType, shape: tuple[int, ...]) -> Tensor:
    return Tensor(dtype, np.zeros(shape, storage_of(dtype)))


CAMPAIGNS: Final[dict[str, Callable[[int], str]]] = {"translations": translation}
