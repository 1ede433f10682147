"""The names of element types in runtimes that have names of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.io.ir.layers import ELEMENT_TYPES
from gathercli.io.onnx.tensorproto import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.spec.dtypes import DType

_NUMBERS: Final = {each: number for number, each in enumerate(TYPES) if each is not None}

OWN_NAMES: Final[Mapping[str, Mapping[DType, str | int]]] = {
    "openvino": ELEMENT_TYPES,
    "onnxruntime": _NUMBERS,
    "onnx.reference": _NUMBERS,
}
"""The types that a runtime or its models name, each with its name or number there.

The other runtimes name types as `ml_dtypes` does, and say themselves which ones they have.
"""
