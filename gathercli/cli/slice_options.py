"""What slices add to commands of the core: the pictures of an answer, and calls in runtimes.

Without the slice the options are none; nothing is drawn, and nothing is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self

from gathercli.cli.declarations import SliceOptions
from gathercli.report.terminal import Styled
from gathercli.text import clean

if TYPE_CHECKING:
    from gathercli.compute.compare import Comparison
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import Case
    from gathercli.io.write import Output

    class RuntimeCaller(Protocol):
        """A process that calls a runtime."""

        runtime: Runtime

        def call(
            self,
            tensors: Mapping[str, Tensor],
            *,
            code: str = "",
            model: Mapping[str, bytes] | None = None,
            threads: int = ...,
            x64: bool = False,
        ) -> Observation:
            """Make a call: of an expression of the tensors, or of the files of a model."""


class PictureFiles(ExitStack):
    """The files of a picture; a context that opens them, and closes what is not committed."""

    def __init__(self, files: Sequence[Output] = ()) -> None:
        super().__init__()
        self.files: Sequence[Any] = files

    def __enter__(self) -> Self:
        try:
            for each in self.files:
                self.enter_context(each)
            for each in self.files:
                each.open()
        except BaseException:
            self.close()
            raise
        return super().__enter__()

    def commit(self) -> None:
        """Give the files their names."""
        for each in self.files:
            each.commit()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is said of them on a terminal."""
        return tuple(f"wrote {clean(each.path)}" for each in self.files)


class PictureOptions(SliceOptions):
    """The options of a command for pictures; none, and no file, where no slice draws its answer."""

    role = "pictures"
    paths: list[str] | None = None  # the files of the picture

    def opened(self) -> PictureFiles:
        """Return the files of the picture; raise if an option is wrong."""
        return PictureFiles()

    def draw(self, *answer: Any, **options: Any) -> None:
        """Write the picture of an answer into open files, which come first."""


OUTSIDE: Final = "an index is outside the axis"
NEGATIVE: Final = "an index is negative"
NO_BEAM: Final = "a parent is no beam"  # what code of ours raises for an illegal index


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
    """The reason of a refusal."""

    rules: tuple[str, ...]  # those that it may be
    indices: tuple[int, ...]  # those that the message names
    takes_negative: bool  # whether the call takes indices from -s to -1, if it names no index


class Observation(NamedTuple):
    """What a runtime made of a call."""

    version: str | None  # of the runtime; None if it cannot be called
    tensor: Tensor | None = None  # the result
    problem: str | None = None  # refuses, dies, hangs, unsteady or absent; None if all is well
    message: str = ""  # an exception, the signal, the time, or why the runtime is absent, in a line
    others: tuple[Tensor, ...] = ()  # the other results, each once, if the runs differ
    reason: Reason | None = None  # why it refuses, if that is known


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
    """What calls in runtimes add to an answer: nothing."""

    fields: Mapping[str, Any] = {}  # of its JSON
    rows: Sequence[tuple[str, ...]] = ()  # of a table, the first one its headings
    text: Callable[[int | None], Styled] | None = None  # formats the table for a width
    notes: tuple[str, ...] = ()
    status: int = 0


class RuntimeOptions(SliceOptions):
    """The options by which a command also calls runtimes; here none."""

    role = "runtimes"
    allow_absent = False

    def chosen(self) -> Sequence[Runtime]:
        """Return the runtimes that are named; raise `UsageError` if an option is wrong."""
        return ()

    def started(self) -> StartedRuntimes:
        """Start the runtimes."""
        return StartedRuntimes()

    def compared(
        self, comparison: Comparison, case: Case, attrs: Mapping[str, Any], *, named: bool
    ) -> Addition:
        """Call the runtimes with the inputs of a comparison, and the attributes as typed.

        If the user `named` the versions, a call whose shapes one refuses is made, too.
        """
        del comparison, case, attrs, named
        return Addition()
