"""The causes of failures: what failures have in common whose files, values and places differ."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gathercli.jobs.fingerprints import digest

if TYPE_CHECKING:
    from gathercli.errors import GatherError

_DIFFERS: Final = re.compile(r"`[^`]*`|\d+(?:[.,]+\d+)*")
"""Names and numbers in what was expected: two files of other lengths end too early alike."""


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
