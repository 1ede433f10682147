"""What the files of `gathercli.frameworks` declare about runtimes: how they are called, mistakes.

README.md beside these files has the fields of both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from gathercli.frameworks import every_framework, framework
from gathercli.io.graphs.ir import ELEMENT_TYPES
from gathercli.io.graphs.tensorproto import ONNX_TYPES
from gathercli.spec.dtypes import DType, dtype

OPENVINO, ONNX = "openvino", "onnx"

# The types that models name, each with its name or number there, by the framework of the models.
MODEL_TYPES: Final[Mapping[str, Mapping[DType, str | int]]] = {
    OPENVINO: ELEMENT_TYPES,
    ONNX: {each: number for number, each in enumerate(ONNX_TYPES) if each is not None},
}


class Refusal(NamedTuple):
    """What a refusal of a runtime looks like."""

    rules: str  # that it may be the reason of
    pattern: str
    takes_negative: bool = True


class RuntimeRow(NamedTuple):
    """A runtime."""

    imports: Mapping[str, str]
    refusals: Sequence[Refusal]
    aliases: Sequence[str] = ()
    call: str = "code"
    prepare: str = ""
    tensor: str = "{}"
    array: str = ""
    dtype: str = ""
    models: Sequence[str] = ()

    @property
    def module(self) -> str:
        """The module that has the version, whose package installs it."""
        return next(iter(self.imports.values()))

    @property
    def types(self) -> Mapping[DType, str | int]:
        """Its own names of types; none if it names them as `ml_dtypes` does."""
        return MODEL_TYPES[self.models[0]] if self.models else {}

    def import_lines(self) -> list[str]:
        """Return the lines of a script that import its modules, but for numpy."""
        pairs = ((each, f" as {name}" * (name != each)) for name, each in self.imports.items())
        return [f"import {each}{name}" for each, name in pairs if each != "numpy"]

    def spoken(self) -> dict[str, Any]:
        """Return what `worker` reads of it."""
        names = {dtype.name: name for dtype, name in self.types.items()}
        own = {each: getattr(self, each) for each in ("imports", "call", "tensor", "array")}
        return {**own, "types": names}


@cache
def runtimes() -> dict[str, RuntimeRow]:
    """Return the runtimes by name."""
    return {
        name: RuntimeRow(**{**row, "refusals": [Refusal(*each) for each in row["refusals"]]})
        for each in every_framework()
        for name, row in each.runtimes.items()
    }


NAMES: Final = tuple(runtimes())  # of the runtimes


# Mistakes

NAMED_TYPES: Final = ("data", "indices", "step_ids")  # inputs whose types are named
NAMED_FIELDS: Final = ("row", "way", "refused", "problem")
_NONE: Final = SimpleNamespace(shape=(), ndim=0, size=-1, dtype=None, array=None)  # no such tensor

# What is true of a call, in words; a tensor or an `output` that it does not have is `_NONE`.
FACTS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "no axis": lambda call: call.axis is None,
    "axis -1": lambda call: call.axis == -1,
    "batch_dims at axis 0": lambda call: call.batch_dims and call.axis == 0,
    "batches of one": lambda call: call.batch_dims and {*call.data.shape[: call.axis]} <= {1},
    "an empty batch": lambda call: 0 in call.data.shape[: call.batch_dims or 0],
    "empty before the axis": lambda call: 0 in call.data.shape[: call.axis or 0],
    "empty data": lambda call: call.data.size == 0,
    "empty indices": lambda call: call.indices.size == 0,
    "empty data or indices": lambda call: 0 in (call.data.size, call.indices.size),
    "empty output": lambda call: call.output.size == 0,
    "0-D data": lambda call: call.data.ndim == 0,
    "1-D data": lambda call: call.data.ndim == 1,
    "0-D indices": lambda call: call.indices.ndim == 0,
    "1-D indices": lambda call: call.indices.ndim == 1,
    "tuples without numbers": lambda call: call.indices.shape[-1:] == (0,),
    "indices smaller than data": lambda call: any(
        n < m for n, m in zip(call.indices.shape, call.data.shape, strict=False)
    ),
    "a size above 127": lambda call: max(call.data.shape, default=0) > 127,
    "at most 64 elements": lambda call: max(call.data.size, call.indices.size) <= 64,
    "a negative index": lambda call: not _within(call.indices, 0, 2**64),
    "an index beyond int32": lambda call: not _within(call.indices, -(2**31), 2**31),
    "an index beyond int64": lambda call: not _within(call.indices, -(2**63), 2**63),
    "an index with bit 31": lambda call: (
        call.indices.size > 0 and (call.indices.array >> 31 & 1).any()
    ),
    "a length of 0 or less": lambda call: (
        call.max_seq_len.size > 0 and call.max_seq_len.array.min() <= 0
    ),
    "a subnormal bfloat16": lambda call: (
        call.data.size > 0 and (call.data.array & 0x7FFF != 0)[call.data.array & 0x7F80 == 0].any()
    ),
    "output of the type of data": lambda call: call.output.dtype == call.data.dtype,
}


class Mistake(NamedTuple):
    """What a runtime does otherwise than rows say."""

    what: str
    runtime: str
    release: str  # in which it was seen
    names: Mapping[str, Collection[Any]]  # those of `NAMED_FIELDS` and `TYPES` of which it is true
    where: Sequence[str]

    def is_of(self, call: SimpleNamespace) -> bool:
        """Return whether it is true of a call."""
        named = {each: getattr(call, each) for each in NAMED_FIELDS}
        named |= {each: getattr(call, each).dtype for each in NAMED_TYPES}
        return all(named[each] in values for each, values in self.names.items()) and all(
            bool(FACTS[each.removeprefix("not ")](call)) is not each.startswith("not ")
            for each in self.where
        )


@cache
def mistakes_of(name: str, runtime: str) -> tuple[Mistake, ...]:
    """Return what a runtime does otherwise than the rows of a framework say."""
    of = framework(name)
    default = {"runtime": of.runtime, "release": of.release}
    every = [_mistake(**{**default, **fields}) for fields in of.mistakes]
    return tuple(each for each in every if each.runtime == runtime)


def _mistake(
    what: str, runtime: str, release: str, where: Sequence[str] = (), **fields: Any
) -> Mistake:
    """Return a mistake; raise `KeyError` for a field or a fact that does not exist."""
    unknown = {*fields} - {*NAMED_FIELDS, *NAMED_TYPES}
    unknown |= {each.removeprefix("not ") for each in where} - {*FACTS}
    if unknown:
        raise KeyError(*unknown)
    for each, value in fields.items():
        if each in NAMED_TYPES:
            fields[each] = tuple(map(dtype, value.split()))
        elif isinstance(value, str):
            fields[each] = (value,)
    return Mistake(what, runtime, release, fields, where)


def known_mistake(
    mistakes: Iterable[Mistake], tensors: Mapping[str, Any], output: Any, **names: Any
) -> Mistake | None:
    """Return the first mistake that is true of a call with tensors; None if it is no known one."""
    inputs = dict.fromkeys((*NAMED_TYPES, "max_seq_len"), _NONE)
    inputs |= {name: _plain(each) for name, each in tensors.items()}
    call = SimpleNamespace(**names, **inputs, output=_plain(output))
    return next((each for each in mistakes if each.is_of(call)), None)


def _plain(tensor: Any) -> SimpleNamespace:
    if tensor is None:
        return _NONE
    array = tensor.array
    shape, ndim = array.shape, array.ndim
    return SimpleNamespace(shape=shape, ndim=ndim, size=array.size, dtype=tensor.dtype, array=array)


def _within(tensor: SimpleNamespace, least: int, end: int) -> bool:
    """Return whether all integers are from `least` to before `end`; so are those of no tensor."""
    array = tensor.array
    return tensor.size <= 0 or bool(least <= array.min().item() and array.max().item() < end)
