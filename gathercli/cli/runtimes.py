"""Calls in installed runtimes, as the commands know them that can ask for some.

Who makes them is a slice. Without it the options are none, and nothing is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gathercli.cli.command import Options
from gathercli.slices import given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Final, Protocol, Self

    from gathercli.compute.groups import Comparison
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import Case
    from gathercli.report.terminal import Styled

    class RuntimeCaller(Protocol):
        """A process that calls a runtime."""

        runtime: Runtime

        def call(
            self,
            tensors: Mapping[str, Tensor],
            *,
            code: str = "",
            model: Mapping[str, bytes] | None = None,
            threads: int = 1,
        ) -> Observation:
            """Make a call: of an expression of the tensors, or of the files of a model."""


OUTSIDE: Final = "an index is outside the axis"
NEGATIVE: Final = "an index is negative"
NO_BEAM: Final = "a parent is no beam"
"""What code of ours raises for an illegal index."""


class Runtime(NamedTuple):
    """A runtime, and the Python that has it."""

    name: str
    python: str


class Absence(NamedTuple):
    """A runtime that cannot be called, and why: ``is not installed: …``."""

    runtime: str
    why: str

    def json(self) -> dict[str, Any]:
        """Return the fields of an object."""
        return {
            "runtime": self.runtime,
            "version": None,
            "call": None,
            "outcome": "absent",
            "message": self.why,
        }


def absence_notes(
    absences: Iterable[Absence], option: str = "--with", *, allowed: bool
) -> Iterator[str]:
    """Yield for each absent runtime how to name another Python, and how to do without it."""
    for each in absences:
        name = each.runtime
        without = "" if allowed else f"; with `--allow-absent` the status is 0 without {name}"
        yield f"`{option} {name}=/venv/bin/python` names a Python that has {name}{without}"


class Reason(NamedTuple):
    """The reason of a refusal.

    Attributes
    ----------
    rules
        The rules that it may be.
    indices
        The indices that the message names; none if it names none.
    takes_negative
        Whether the call that refuses takes indices from -s to -1, if it names no index.
    """

    rules: tuple[str, ...]
    indices: tuple[int, ...]
    takes_negative: bool


class Observation(NamedTuple):
    """What a runtime made of a call.

    Attributes
    ----------
    version
        The version of the runtime; None if it cannot be called.
    tensor
        The result; None if there is none.
    problem
        ``refuses``, ``dies``, ``hangs``, ``unsteady`` or ``absent``; None if all is well.
    message
        The text of an exception, the signal, the time, or why the runtime is absent, in a line.
    others
        The other results, each once, if the runs differ.
    reason
        Why it refuses; None if that is not known.
    """

    version: str | None
    tensor: Tensor | None = None
    problem: str | None = None
    message: str = ""
    others: tuple[Tensor, ...] = ()
    reason: Reason | None = None


class StartedRuntimes:
    """Processes of runtimes, here of none; a context that ends them."""

    @property
    def absences(self) -> Sequence[Absence]:
        """Why runtimes cannot be called; none for those that can."""
        return ()

    @property
    def present(self) -> Sequence[RuntimeCaller]:
        """The processes of those that can be called."""
        return ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """End the processes."""


class Addition(NamedTuple):
    """What calls in runtimes add to an answer: nothing.

    Attributes
    ----------
    fields
        Of its JSON.
    rows
        Of a table, the first one its headings.
    text
        Formats the table for a width.
    notes, status
        As in `Answer`.
    """

    fields: Mapping[str, Any] = {}
    rows: Sequence[tuple[str, ...]] = ()
    text: Callable[[int | None], Styled] | None = None
    notes: tuple[str, ...] = ()
    status: int = 0


class RuntimeOptions(Options):
    """The options by which a command also calls runtimes; here none."""

    allow_absent = False

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group of a slice in its place."""
        del command
        return given("options", cls.__name__) or cls

    def chosen(self) -> Sequence[Runtime]:
        """Return the runtimes that are named; raise `UsageError` if an option is wrong."""
        return ()

    def started(self) -> StartedRuntimes:
        """Start the runtimes."""
        return StartedRuntimes()

    def compared(
        self, comparison: Comparison, case: Case, attrs: Mapping[str, Any], *, named: bool
    ) -> Addition:
        """Call the runtimes with the inputs of a comparison.

        Parameters
        ----------
        attrs
            The attributes as the user wrote them.
        named
            Whether the user named the versions: a call whose shapes one refuses is then made, too.
        """
        del comparison, case, attrs, named
        return Addition()
