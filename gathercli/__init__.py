"""Gather, GatherElements, GatherND and GatherTree, exactly as each OpenVINO and ONNX version says.

>>> import gathercli
>>> gathercli.gather([1, 2, 3, 4, 5], [3, 10, -20])
array([4, 0, 0])
>>> gathercli.gather([1, 2, 3, 4, 5], [3, 10, -20], version="onnx-13")
Traceback (most recent call last):
gathercli.errors.OutOfRangeError: index 10 at `[1]` is outside axis 0 of `data`, whose size is 5: \
expected -5 to 4 (2 of 3 indices)
hint: openvino-8 fills such slices with zeros: `version="openvino-8"`, or `out_of_range="zero"`
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from gathercli.api import (
        gather,
        gather_elements,
        gather_nd,
        gather_tree,
        infer_shape,
        load,
        save,
    )
    from gathercli.errors import (
        AxisError,
        BatchDimsError,
        DtypeError,
        ElementsShapeError,
        GatherError,
        IndicesDepthError,
        InputError,
        LimitError,
        NoInputError,
        OperatorError,
        OutOfRangeError,
        OutputError,
        RankError,
        TransferError,
        TreeShapeError,
        UsageError,
        VersionError,
    )
    from gathercli.explain.python import explain
    from gathercli.report.versions import OPERATORS
    from gathercli.spec.shapes import Shape
else:
    ModuleType = type(sys)

__version__ = "0.1.0"

__all__ = [
    "OPERATORS",
    "AxisError",
    "BatchDimsError",
    "DtypeError",
    "ElementsShapeError",
    "GatherError",
    "IndicesDepthError",
    "InputError",
    "LimitError",
    "NoInputError",
    "OperatorError",
    "OutOfRangeError",
    "OutputError",
    "RankError",
    "Shape",
    "TransferError",
    "TreeShapeError",
    "UsageError",
    "VersionError",
    "__version__",
    "explain",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_tree",
    "infer_shape",
    "load",
    "save",
]

_HOMES = {
    **dict.fromkeys(
        (
            *("gather", "gather_elements", "gather_nd", "gather_tree"),
            *("infer_shape", "load", "save"),
        ),
        "api",
    ),
    "Shape": "spec.shapes",
    "explain": "explain.python",
    "OPERATORS": "report.versions",
}


class _Package(ModuleType):
    """The package, in which a public function hides the subpackage of its name, not vice versa."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, unless it is a subpackage with the name of a public function."""
        if name not in __all__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562), so that the command starts fast."""
    if name not in __all__:
        raise AttributeError(f"module 'gathercli' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"gathercli.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
