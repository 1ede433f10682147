"""`--max-bytes`: the limits of memory and of a result, but not of a .zarr, limited by the disk."""

from __future__ import annotations

from functools import cached_property

from gathercli.cli.command import Options, option
from gathercli.cli.groups import INPUT
from gathercli.errors import UsageError
from gathercli.records import NamedTuple

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

RESULT: Final = 16 << 30
"""The default for a result: 16 GiB."""

_UNITS: Final = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
}


class Limits(NamedTuple):
    """The most bytes in memory and of a result; None for no limit.

    Attributes
    ----------
    explicit
        Whether the option is set.
    """

    memory: int | None
    result: int | None
    explicit: bool = False

    @classmethod
    def parse(cls, text: str | None) -> Limits:
        """Parse the option.

        >>> Limits.parse("2Ki").memory, Limits.parse("0").memory
        (2048, None)
        """
        if text is None:
            from gathercli.io.files import free_memory

            return cls(free_memory() // 2, RESULT)
        import re

        number = re.fullmatch(r"(\d{1,18})(K|M|G|Ki|Mi|Gi|)", text, re.ASCII)
        if number is None:
            raise UsageError(
                f"is `{text}`",
                rule="usage",
                subject="--max-bytes",
                value=text,
                expected="a number of bytes, with K, M, G, Ki, Mi or Gi, or 0 for no limit",
                hint="`--max-bytes 4Gi`",
            )
        size = int(number[1]) * _UNITS[number[2]]
        return cls(size or None, size or None, explicit=True)


class MemoryOptions(Options):
    """The limits of memory and of a result."""

    max_bytes: str | None = option(
        INPUT,
        "--max-bytes",
        metavar="SIZE",
        help="Limit of what is held in memory, and of a result that is not .zarr, with K, M, "
        "G, Ki, Mi or Gi; 0 lifts it. Default half of the free memory, 16 GiB for the result.",
        rare=True,
    )

    @cached_property
    def limits(self) -> Limits:
        """The option in bytes."""
        return Limits.parse(self.max_bytes)
