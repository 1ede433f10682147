"""The Gather nodes of models: ONNX and OpenVINO IR, read without their frameworks.

::

    files.read(path, options)      ->  Model         every node of the family, its row, its inputs
    verdict.judge(node)            ->  NodeVerdict   what the version of a node says of it
    lint.findings(model, targets)  ->  Finding...    what is refused, filled, or changed by a target
    compare_command.paired(nodes)  ->  NodePair...   the nodes of two models that are the same

The functions here choose between the forms of a command before anything else of it is imported.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from gathercli.ops import FAMILIES
from gathercli.slices import MODEL_SUFFIXES

if TYPE_CHECKING:
    from gathercli.cli.parser import CommandLine

# The options that `check` has for models alone.
_CHECK_OPTIONS: Final = ("--to", "--allow-unread", "--junit", "--sarif")


def is_check(line: CommandLine) -> bool:
    """Return whether a line of `check` names models: files by their suffix, or folders."""
    first = next(iter(line.arguments), "")
    if first in FAMILIES:
        return False
    if any(word.text.partition("=")[0] in _CHECK_OPTIONS for word in line.words):
        return True
    return first.lower().endswith((*MODEL_SUFFIXES, "/")) or os.path.isdir(first)


def is_compare(line: CommandLine) -> bool:
    """Return whether a line of `compare` names models alone, not tensors in them."""
    words = [word.lower() for word in line.arguments]
    return bool(words) and all(word.endswith(MODEL_SUFFIXES) for word in words)
