"""The options of runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.cli.command import Options, flag, option
from gathercli.cli.groups import RUNNING
from gathercli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from gathercli.runtimes.client import Absence, Runtime

DEFAULT_SECONDS = 60.0
"""The most seconds of an import and of a call, unless the user says otherwise."""

ALLOW_ABSENT: Final = flag(
    RUNNING,
    "--allow-absent",
    help="Exit with 0 though a named runtime cannot be called.",
)


def check_seconds(seconds: float) -> None:
    """Raise if `--timeout` is no positive number."""
    if not 0 < seconds < float("inf"):
        raise UsageError(
            f"is {seconds:g}", rule="usage", subject="--timeout", expected="seconds, more than 0"
        )


def absence_notes(
    absences: Iterable[Absence], option: str = "--with", *, allowed: bool
) -> Iterator[str]:
    """Yield for each absent runtime how to name another Python, and how to do without it."""
    for each in absences:
        name = each.runtime
        without = "" if allowed else f"; with `--allow-absent` the status is 0 without {name}"
        yield f"`{option} {name}=/venv/bin/python` names a Python that has {name}{without}"


class WithOptions(Options):
    """The options that name runtimes."""

    names: str | None = option(
        RUNNING,
        "--with",
        metavar="LIST",
        help="Call these runtimes too, as installed: onnxruntime, openvino, torch, tensorflow, "
        "jax, onnx.reference, numpy, with commas between; torch=/venv/bin/python names the Python "
        "that has it.",
    )

    allow_absent: bool = ALLOW_ABSENT

    def chosen(self) -> list[Runtime]:
        """Return the runtimes; none without the option."""
        if self.names is None and self.allow_absent:
            raise UsageError(
                "is given without `--with`",
                rule="usage",
                subject="--allow-absent",
                expected="the runtimes it allows for",
            )
        if self.names is None:
            return []
        from gathercli.runtimes.client import runtimes_of

        return runtimes_of(self.names)


class RuntimeOptions(WithOptions):
    """The runtimes to call, and the time that each has."""

    timeout: float | None = option(
        RUNNING,
        "--timeout",
        metavar="S",
        kind=float,
        help="Seconds that the import of a runtime of --with, and each call, may take; default 60.",
    )

    @property
    def seconds(self) -> float:
        """The most seconds of an import, and of a call."""
        seconds = DEFAULT_SECONDS if self.timeout is None else self.timeout
        if self.timeout is not None and self.names is None:
            raise UsageError(
                "is given without `--with`",
                rule="usage",
                subject="--timeout",
                expected="the runtimes that it limits",
            )
        check_seconds(seconds)
        return seconds
