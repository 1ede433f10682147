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
    """

    name: str
    commands: dict[str, CommandEntry]
    forms: dict[str, CommandEntry] = {}  # noqa: RUF012  (nobody changes it)


SLICES: Final = (
    Slice(
        "explain",
        commands={
            "explain": CommandEntry("explain.command", "Draw where every output cell came from."),
            "demo": CommandEntry(
                "explain.demo_command",
                "Learn the operators in short lessons, each with a question.",
            ),
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
            "check": CommandEntry(
                "models.check_command", "Check the nodes of models, and what targets change."
            )
        },
    ),
    Slice(
        "runtimes",
        commands={
            "reproduce": CommandEntry(
                "runtimes.command", "Write a folder that shows what a runtime does with a call."
            ),
        },
    ),
    Slice(
        "translate",
        commands={
            "translate": CommandEntry(
                "translate.command", "Write the call in another framework, as code or as a graph."
            ),
        },
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
"""Every slice; nothing else names one."""


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
    places = (getattr(each, seam).get(what) for each in SLICES)
    place = next(filter(None, places), None)
    if place is None:
        return None
    module, _, name = place.partition(":")
    # The package `importlib` takes as long to import as most modules.
    return getattr(__import__(f"gathercli.{module}", fromlist=[name]), name)
