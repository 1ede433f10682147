"""What releases of runtimes do otherwise than a row says: ``[[mistakes]]`` of the file of the row.

`when` is a Python expression of our own files, true of the calls that are answered so. Its names:

================== ===============================================================================
row, way           the name of the row, and the way that it is called in
axis, batch_dims   the attributes of the call, None without
refused            the rule by which the row refuses the call, or nothing
problem            ``refuses``, ``dies``, ``hangs`` or ``unsteady``, or nothing
output             what it gave, or an output of the size -1
data, indices, ... the inputs; `data` and `indices` have the size -1 where there are none
================== ===============================================================================

A tensor has `array`, `shape`, `ndim`, `size`, and `dtype`, the name of its type.
"""

from __future__ import annotations

from types import SimpleNamespace

from gathercli.records import NamedTuple

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Mistake(NamedTuple):
    """What a runtime does otherwise than rows say."""

    what: str
    when: str
    runtime: str
    release: str  # in which it was seen


def known_mistake(
    mistakes: Iterable[Mistake],
    tensors: Mapping[str, Any],
    output: Any,
    **names: Any,
) -> Mistake | None:
    """Return the first mistake that is true of a call with tensors; None if it is no known one."""
    of = {"data": None, "indices": None, **tensors, "output": output}
    names |= {name: _plain(each) for name, each in of.items()}
    for each in mistakes:
        if eval(" ".join(each.when.split()), names):  # noqa: S307  (of our own files)
            return each
    return None


def _plain(tensor: Any) -> SimpleNamespace:
    if tensor is None:
        return SimpleNamespace(shape=(), ndim=0, size=-1, dtype="", array=None)
    array, dtype = tensor.array, tensor.dtype.name
    shape = array.shape
    return SimpleNamespace(shape=shape, ndim=len(shape), size=array.size, dtype=dtype, array=array)
