"""The causes of failures: what failures have in common whose files, values and places differ."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final

from gathercli.batch.fingerprints import digest
from gathercli.errors import NoInputError, OutputError, TransferError

if TYPE_CHECKING:
    from gathercli.errors import GatherError

_DIFFERS: Final = re.compile(r"`[^`]*`|\d+(?:[.,]+\d+)*")
"""Names and numbers in what was expected: two files of other lengths end too early alike."""

_PLACES: Final = (
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.EEXIST, errno.ENXIO),
)
"""Errors of the system that are of the name in a job, or of what has this name."""


def is_fault(error: GatherError | None) -> bool:
    """Return whether the system failed to read or write, so that the same job may succeed later.

    A name of a directory, of a device or outside the folder is the job's mistake.
    """
    if isinstance(error, NoInputError | OutputError):
        return error.errno is not None and error.errno not in _PLACES
    return isinstance(error, TransferError)


def cause_of(error: GatherError) -> str:
    """Return a digest that the errors of one cause share.

    These break one rule, are raised by the same statements, are of one subject, expect the same but
    for names and numbers, and come from the same error of the system, if any.
    """
    parts: list[object] = [error.rule, error.subject, _DIFFERS.sub("…", error.expected or "")]
    inner: BaseException | None = error
    while inner is not None:  # an error that is worded anew has the first as its context
        parts += [_statement(inner), getattr(inner, "errno", None)]
        inner = inner.__context__
    return digest(repr(parts).encode(errors="surrogatepass")).hex()


def _statement(error: BaseException) -> tuple[str, int] | None:
    """Return the function that raised an error, and the line in it; None for one not raised."""
    trace = error.__traceback__
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    name = f"{trace.tb_frame.f_globals.get('__name__')}.{code.co_qualname}"
    return name, trace.tb_lineno - code.co_firstlineno
