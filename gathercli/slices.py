"""The slices beside the core, and what each gives to it.

The core imports no slice. What a slice gives (a command, the options of a command, a picture, words
that stand for a call) has a row here with its place as text, ``module:name`` in the package; it is
imported when a line asks for it. Without the row and the folder of a slice the core does the rest.
"""

from __future__ import annotations

from gathercli.records import NamedTuple

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Any, Final


class CommandEntry(NamedTuple):
    """The module with a command's function ``run``, and a line of help."""

    module: str
    help: str


class FormEntry(NamedTuple):
    """A command of the core in its form for models, as `CommandEntry`.

    Attributes
    ----------
    suffixes, options
        The ends of the names of models, and the options that only this form has.
    """

    module: str
    help: str
    suffixes: tuple[str, ...]
    options: tuple[str, ...]


class Slice(NamedTuple):
    """What a slice gives to the core.

    Attributes
    ----------
    name
        Its folder.
    commands
        Its commands by name.
    forms
        Commands of the core in a form for models: files that stand for operator and tensors.
    words
        Functions that expand the words of a command, by a text that one of the words has.
    patterns
        What makes the jobs of `batch` from a file and `--feed`, by the suffix of the file.
    jobs
        What expands jobs with a key of their own, by that key.
    formats
        Readers of files, by the format.
    manual
        Functions that return more sections of the page of a command.
    options
        Groups of options, by the class of the core in whose place they are.
    pictures
        The `PictureOptions` of commands of the core whose answer it draws.
    values, examples
        What is said of a required option that is missing, by its metavar: its values, and a
        function that returns one, from the names of the files to write.
    """

    name: str
    commands: dict[str, CommandEntry]
    forms: dict[str, FormEntry] = {}  # noqa: RUF012  (nobody changes it, nor those below)
    words: dict[str, str] = {}  # noqa: RUF012
    patterns: dict[str, str] = {}  # noqa: RUF012
    jobs: dict[str, str] = {}  # noqa: RUF012
    formats: dict[str, str] = {}  # noqa: RUF012
    manual: dict[str, str] = {}  # noqa: RUF012
    options: dict[str, str] = {}  # noqa: RUF012
    pictures: dict[str, str] = {}  # noqa: RUF012
    values: dict[str, str] = {}  # noqa: RUF012
    examples: dict[str, str] = {}  # noqa: RUF012


MODEL_SUFFIXES: Final = (".onnx", ".xml")
"""The suffixes of models."""


SLICES: Final = (
    Slice(
        "batch",
        commands={
            "batch": CommandEntry(
                "batch.command", "Run thousands of jobs from a file and report on each."
            ),
        },
        options={"WorkerOptions": "batch.cluster_options:ChunkClusterOptions"},
    ),
    Slice(
        "explain",
        commands={
            "explain": CommandEntry("explain.command", "Draw where every output cell came from."),
            "demo": CommandEntry(
                "explain.demo_command",
                "Learn the operators in short lessons, each with a question.",
            ),
        },
        pictures={
            "check": "explain.pictures:IllegalPictures",
            "compare": "explain.pictures:VersionPictures",
            "info": "explain.heat_options:HeatOptions",
        },
    ),
    Slice(
        "models",
        commands={
            "model": CommandEntry(
                "models.command", "List the Gather nodes of a model, and what each refuses."
            ),
        },
        forms={
            "check": FormEntry(
                "models.check_command",
                "Check the nodes of models, and what targets change.",
                suffixes=MODEL_SUFFIXES,
                options=("--to", "--allow-unread", "--junit", "--sarif"),
            )
        },
        words=dict.fromkeys(MODEL_SUFFIXES, "models.node_call:expand"),
        patterns=dict.fromkeys(MODEL_SUFFIXES, "models.node_patterns:FedNode"),
        jobs={"node": "models.jobs:NodeJobs"},
        formats=dict.fromkeys(("onnx", "openvino"), "models.content:ModelContent"),
        manual={"check": "models.manual:sections"},
    ),
    Slice(
        "runtimes",
        commands={
            "reproduce": CommandEntry(
                "runtimes.command", "Write a folder that shows what a runtime does with a call."
            ),
        },
        options={
            "RuntimeOptions": "runtimes.options:TimedRuntimes",
            "JobRuntimeOptions": "runtimes.batch_options:BatchRuntimes",
        },
        values={"RUNTIME": "runtimes.client:RUNTIMES"},
        examples={"RUNTIME": "runtimes.options:example"},
    ),
    Slice(
        "translate",
        commands={
            "translate": CommandEntry(
                "translate.command", "Write the call in another framework, as code or as a graph."
            ),
        },
        examples={"TARGET": "translate.targets:example"},
    ),
    Slice(
        "diagnose",
        commands={
            "diagnose": CommandEntry(
                "diagnose.command", "Name what explains a wrong output, and who does that."
            ),
        },
    ),
)
"""Every slice; nothing else names one. `batch`, the last room of the core, gives likewise."""


def given_names(seam: str) -> list[str]:
    """Return the names of all that slices give at a seam, a field of `Slice`."""
    return [name for each in SLICES for name in getattr(each, seam)]


def place(seam: str, what: str) -> str:
    """Return the place of what a slice gives, ``package.module:name``; blank if none gives it."""
    places = (getattr(each, seam).get(what) for each in SLICES)
    found = next(filter(None, places), "")
    return found and f"gathercli.{found}"


def given(seam: str, what: str) -> Any:
    """Import what a slice gives.

    Parameters
    ----------
    seam
        A field of `Slice` that has places by name.
    what
        The name there, such as that of a command.

    Returns
    -------
        What lies at the place; None if no slice gives it.
    """
    module, _, name = place(seam, what).partition(":")
    # The package `importlib` takes as long to import as most modules.
    return getattr(__import__(module, fromlist=[name]), name) if module else None
