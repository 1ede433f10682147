"""Mutants that no test can notice, each with the reason.

Each is a piece of a file under gathercli/, which is there once, what is put in its place, and why
nothing that a caller can see changes.
"""

from __future__ import annotations

from typing import Final

EQUIVALENT: Final[tuple[tuple[str, str, str, str], ...]] = ()
