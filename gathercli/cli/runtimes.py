"""The options of runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.cli.command import Options, option
from gathercli.cli.groups import RUNNING
from gathercli.errors import UsageError

if TYPE_CHECKING:
    from gathercli.runtimes.client import Runtime

DEFAULT_SECONDS = 60.0
"""The most seconds of a call in a runtime, unless the user says otherwise."""


def check_seconds(seconds: float) -> None:
    """Raise if `--timeout` is no positive number."""
    if not 0 < seconds < float("inf"):
        raise UsageError(f"`--timeout` is {seconds:g}: expected seconds, more than 0", rule="usage")


class WithOptions(Options):
    """The option that names runtimes."""

    names: str | None = option(
        RUNNING,
        "--with",
        metavar="LIST",
        help="Call these runtimes too, as installed: onnxruntime, openvino, torch, tensorflow, "
        "jax, onnx.reference, numpy, with commas between; torch=/venv/bin/python names the Python "
        "that has it.",
    )

    def chosen(self) -> list[Runtime]:
        """Return the runtimes; none without the option."""
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
        help="Seconds that a call in a runtime of --with may take; default 60.",
    )

    @property
    def seconds(self) -> float:
        """The most seconds of a call."""
        seconds = DEFAULT_SECONDS if self.timeout is None else self.timeout
        if self.timeout is not None and self.names is None:
            raise UsageError(
                "`--timeout` is given without `--with`: expected the runtimes that it limits",
                rule="usage",
            )
        check_seconds(seconds)
        return seconds
