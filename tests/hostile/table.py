"""All hostile cases, each under its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.hostile import (
    chunks,
    files,
    irs,
    json,
    literals,
    models,
    npy,
    npz,
    numbers,
    terminal,
    usage,
)

if TYPE_CHECKING:
    from tests.hostile.case import Case

SUBJECTS: Final = (numbers, literals, npy, npz, json, files, chunks, models, irs, terminal, usage)
ALL: Final = [case for subject in SUBJECTS for case in subject.CASES]
CASES: Final[dict[str, Case]] = {case.id: case for case in ALL}
SLOW: Final = {
    "json-of-10-MB-of-[],",
    "json-of-300000-keys",
    "json-of-300000-keys-asked-for-another",
    "npz-with-100000-members-and-no-key",
    "npz-with-100001-members",
    "npz-of-60000-long-names-and-none-of-them-the-key",
}
"""Those that take a second or more, and run once, as a process."""

QUICK: Final = {name: case for name, case in CASES.items() if name not in SLOW}
FILES: Final[dict[str, Case]] = {
    case.id: case for subject in (npy, npz, json) for case in subject.FILES if case.id not in SLOW
}
"""Those that are one malformed file, which standard input may hold as well."""
