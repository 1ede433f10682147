"""The runtimes, as ``[runtimes.NAME]`` of the files of `gathercli.frameworks` declares them.

======== ===================================================================================
imports  the modules that code imports, by their names there: the first has the version
aliases  other names, for hints
call     the function of `worker` that calls it, by default one for code
prepare  an expression before each call, with whether 64 bits are kept for ``{wide}``
tensor   an expression that makes a tensor of an array ``{}``
array    one that makes an array of `result`
dtype    one that has the type of `result`, if its array may lack that
models   the frameworks whose versions it runs, in models; the first is its own
refusals what its messages look like: the rules that one may be the reason of, and a pattern, the
         first one that is found. Its group `index` has the index that it names, or the tuple; its
         group `input` the input whose type it refuses. ``false`` says that the call takes no index
         from -s to -1, whichever it refuses.
======== ===================================================================================
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.frameworks import every_framework
from gathercli.io.graphs.ir import ELEMENT_TYPES
from gathercli.io.graphs.tensorproto import ONNX_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.spec.dtypes import DType

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
