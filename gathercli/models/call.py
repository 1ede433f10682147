"""The call that a node of a model stands for: its constants, its version and its attributes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gathercli.models import ReadOptions, read
from gathercli.spec.dtypes import named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.io.graph import Value
    from gathercli.models.graph import Model, ModelNode

MODEL_NODE: Final = re.compile(r"(?is)@?(?P<path>.+\.(?:onnx|xml))(?:#(?P<name>.+))?")
"""A model and the name of a node; a model with one node needs no name."""


def read_node(path: str, name: str | None, options: ReadOptions) -> ModelNode:
    """Read a model and return its node of a name; None names the only one.

    Raises
    ------
    GatherError
        The model cannot be read, or has no such node, or its opset lacks the operator.
    """
    model = read(path, options)
    model.close()
    return node_of(model, name)


def node_of(model: Model, name: str | None) -> ModelNode:
    """Return the node of a name, as `read_node` does."""
    node = model.node(name) if name else model.only_node()
    if node.error is not None:
        raise node.error
    return node


def constant_token(path: str, node: ModelNode, name: str) -> str:
    """Return the tensor argument that is a constant input of a node."""
    return f"@{path}#{node.name}:{name}"


def run_time_inputs(node: ModelNode) -> dict[str, Value]:
    """Return the inputs that come at run time, by name."""
    return {name: each for name, each in node.named_inputs.items() if each.constant is None}


def dtype_of(value: Value) -> str | None:
    """Return the type of an input for `--data-dtype`; None if it is unknown or has no name."""
    known = value.dtype is not None and named(value.dtype.name)
    return known.name if known else None


def attributes_of(node: ModelNode) -> Mapping[str, Any]:
    """Return the attributes of the call; ``unknown`` for one that comes at run time."""
    return {k: v for k, v in node.settings.items() if k in ("axis", "batch_dims")}


def version_of(node: ModelNode) -> str | None:
    """Return the version for `--version`, which notes a newer opset; None without a row."""
    return f"{node.framework}-{node.opset}" if node.op is not None else None
