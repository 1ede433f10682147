"""The pictures of an answer, where a slice draws them."""

from __future__ import annotations

from gathercli.cli.command import Options
from gathercli.slices import given

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack
    from typing import Any

    from gathercli.io.write import Output


class PictureOptions(Options):
    """The options of a command for pictures; none, and no file, where no slice draws its answer.

    Attributes
    ----------
    paths
        The files of the picture.
    """

    paths: list[str] | None = None

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group of the slice that draws the answer of a command."""
        return given("pictures", command) or cls

    def opened(self, stack: ExitStack) -> Sequence[Output]:
        """Return the files of the picture, open until the stack is closed."""
        del stack
        return ()

    def draw(self, *answer: Any, **options: Any) -> None:
        """Write the picture of an answer into open files, which come first."""
