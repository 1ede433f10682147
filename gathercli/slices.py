"""The slices beside the core, and what each gives to it.

The core imports no slice. What a slice gives (a command, the options of a command, a picture, words
that stand for a call) has a row here with its place as text, ``module:name`` in the package; it is
imported when a line asks for it. Without the row and the folder of a slice the core does the rest.
"""

from __future__ import annotations

from gathercli.records import NamedTuple

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final


class Slice(NamedTuple):
    """What a slice gives to the core."""

    name: str  # its folder
    commands: Mapping[str, str]  # the modules of its commands, by name
    forms: Mapping[str, str] = {}  # those of commands of the core in a form for models
    takes: Mapping[str, str] = {}  # functions that tell the lines of each form from the others
    words: Mapping[str, str] = {}  # expand words of a command, by a text that one of them has
    patterns: Mapping[str, str] = {}  # jobs of `batch` from a file and `--feed`, by suffix
    jobs: Mapping[str, str] = {}  # expand jobs with a key of their own, by that key
    formats: Mapping[str, str] = {}  # readers of files, by format
    options: Mapping[str, str] = {}  # `SliceOptions`, by their role, or role and command
    # For a required option that is missing, by its metavar: its values, and a function that
    # returns one of them from the names of the files to write.
    values: Mapping[str, str] = {}
    examples: Mapping[str, str] = {}
    tests: Mapping[str, str] = {}  # what `gathercli.testing` gives, by its name
    advice: Mapping[str, str] = {}  # what `check` warns of, by its name in the report


MODEL_SUFFIXES: Final = (".onnx", ".xml")  # the suffixes of models


# Every slice, and `batch`, the last room of the core, whose rows are like theirs.
SLICES: Final = (
    Slice(
        "batch",
        commands={"batch": "batch.command"},
        options={"workers": "batch.cluster_options:ChunkClusterOptions"},
    ),
    Slice(
        "explain",
        commands={"explain": "explain.command", "demo": "explain.demo"},
        options={
            "pictures of check": "explain.pictures:IllegalPictures",
            "pictures of compare": "explain.pictures:VersionPictures",
            "pictures of diagnose": "explain.pictures:WrongPictures",
            "pictures of info": "explain.heat_options:HeatOptions",
        },
    ),
    Slice(
        "models",
        commands={"model": "models.command"},
        forms={"check": "models.check_command", "compare": "models.compare_command"},
        takes={"check": "models:is_check", "compare": "models:is_compare"},
        words=dict.fromkeys(MODEL_SUFFIXES, "models.node_call:expand"),
        patterns=dict.fromkeys(MODEL_SUFFIXES, "models.node_call:fed_call"),
        jobs={"node": "models.node_call:NodeJobs"},
        formats=dict.fromkeys(("onnx", "openvino"), "models.files:ModelContent"),
    ),
    Slice(
        "runtimes",
        commands={"reproduce": "runtimes.command"},
        options={
            "runtimes": "runtimes.command:TimedRuntimes",
            "runtimes of batch": "runtimes.command:BatchRuntimes",
        },
        values={"RUNTIME": "runtimes.declared:NAMES"},
        examples={"RUNTIME": "runtimes.command:example"},
        tests={"cases": "runtimes.conformance:cases"},
    ),
    Slice(
        "translate",
        commands={"translate": "translate.command"},
        examples={"TARGET": "translate.targets:example"},
    ),
    Slice(
        "diagnose",
        commands={"diagnose": "diagnose.command"},
        tests={"mismatch": "diagnose.python:mismatch"},
        advice={"warnings": "diagnose.warnings:warnings"},
    ),
)


# Lines of help of the commands, in their order behind those of the operators.
SUMMARIES: Final = {
    "shape": "Infer the output shape from shapes alone.",
    "explain": "Draw where every output cell came from.",
    "check": "List illegal indices of a call or in models, and what every version does.",
    "compare": "Run the same inputs through every version and compare results.",
    "diagnose": "Name what explains a wrong output, and who does that.",
    "reproduce": "Write a folder that shows what a runtime does with a call.",
    "translate": "Write the call in another framework, as code or as a graph.",
    "batch": "Run thousands of jobs from a file and report on each.",
    "convert": "Convert tensors between the formats, whole folders of them.",
    "info": "Describe files: type, shape, statistics, a preview.",
    "model": "List the Gather nodes of a model, and what each refuses.",
    "demo": "Learn the operators in short lessons, each with a question.",
    "ops": "List, describe, compare and find operator versions.",
    "man": "Show the manual.",
    "completion": "Print the completion script of a shell.",
}
# Of those that have a form for models.
SUMMARIES_OF_MODELS: Final = {
    "check": "Check the nodes of models, and what targets change.",
    "compare": "Compare the nodes of two models, and what they give.",
}


def given_names(seam: str) -> list[str]:
    """Return the names of all that slices give at a seam, a field of `Slice`."""
    return [name for each in SLICES for name in getattr(each, seam)]


def place(seam: str, what: str) -> str:
    """Return the place of what a slice gives, ``package.module:name``; blank if none gives it."""
    places = (getattr(each, seam).get(what) for each in SLICES)
    return next((f"gathercli.{each}" for each in places if each), "")


def given(seam: str, what: str) -> Any:
    """Import what a slice gives at a seam, a field of `Slice`; None if none gives it."""
    module, _, name = place(seam, what).partition(":")
    # The package `importlib` takes as long to import as most modules.
    return getattr(__import__(module, fromlist=[name]), name) if module else None
