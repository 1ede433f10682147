"""Gather, GatherElements, GatherND and GatherTree, exactly as each OpenVINO and ONNX version says.

Each function has its own help: ``help(gathercli.check)``::

    gather, gather_elements, gather_nd, gather_tree    run an operator: arrays in, an array out
    infer_shape                                        the output shape from shapes alone
    check, compare                                     illegal indices; all versions side by side
    explain                                            where each output element comes from, drawn
    diagnose, translate                                a wrong output; a call in another framework
    nodes, node, check_model                           the Gather nodes of ONNX and OpenVINO models
    load, save, convert                                tensors in files
    versions, OPERATORS                                what each version does; all of them
    Shape; GatherError, …                              a shape; the exceptions, of which it is one

What a command prints a function returns, as a report: typed fields, `to_json`, text and HTML.

>>> import gathercli
>>> gathercli.gather([1, 2, 3, 4, 5], [3, 10, -20])
array([4, 0, 0])
"""

from __future__ import annotations

import sys  # what checkers of types read is in `__init__.pyi`

__version__ = "0.1.0"

_ERRORS = (
    *("AxisError", "BatchDimsError", "DtypeError", "ElementsShapeError", "GatherError"),
    *("IndicesDepthError", "InputError", "LimitError", "NoInputError", "OperatorError"),
    *("OutOfRangeError", "OutputError", "RankError", "TransferError", "TreeShapeError"),
    *("UsageError", "VersionError"),
)
_RUNS = ("gather", "gather_elements", "gather_nd", "gather_tree", "infer_shape", "load", "save")
# The module of each public name.
_HOMES = {
    **dict.fromkeys(_RUNS, "api"),
    **dict.fromkeys(("check", "compare", "convert", "versions"), "python"),
    **dict.fromkeys(("check_model", "node", "nodes"), "models.python"),
    **{name: f"{name}.python" for name in ("diagnose", "explain", "translate")},
    **dict.fromkeys(_ERRORS, "errors"),
    "OPERATORS": "report.versions",
    "Shape": "spec.shapes",
}
# Not `__all__`, with which `help` would write out every exception: 3,000 lines.
_NAMES = list(_HOMES)


class _Package(type(sys)):  # the class of modules, whose own module takes time to import
    """The package, in which a public function hides the subpackage of its name, not vice versa."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, unless it is a subpackage with the name of a public function."""
        if name not in _NAMES or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562), so that the command starts fast."""
    if name not in _NAMES:
        raise AttributeError(f"module 'gathercli' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"gathercli.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return [*_NAMES, "__version__"]
