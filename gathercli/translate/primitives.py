"""The arithmetic of a program in NumPy, each primitive as `program` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gathercli.compute.storage import AnyArray

ARITHMETIC: Final[dict[str, Callable[..., AnyArray]]] = {
    "cast": lambda x: np.asarray(x).astype(np.int64),
    "add": np.add,
    "multiply": np.multiply,
    "modulo": np.mod,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "less": np.less,
    "at_least": np.greater_equal,
    "either": np.logical_or,
    "where": np.where,
    "total": lambda x: np.asarray(np.sum(x, axis=-1, dtype=np.int64)),
}


def sized(primitive: str, shape: Sequence[int], settings: Mapping[str, Any]) -> AnyArray:
    """Return the result of a primitive that reads only the shape of its input."""
    if primitive == "constant":
        value: Any = settings["value"]
    elif primitive == "size":
        value = shape[settings["axis"]]
    else:
        value = shape[settings["start"] : settings["stop"]]
        if primitive == "strides":
            value = [product(value[at + 1 :]) for at in range(len(value))]
    return np.array(value, np.int64)
