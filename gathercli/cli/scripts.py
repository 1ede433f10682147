"""The generated completion scripts; reading them needs neither typer nor numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SCRIPTS: Final = Path(__file__).with_name("completions")


def script(shell: str) -> str:
    """Return the script of a shell."""
    return (SCRIPTS / f"gathercli.{shell}").read_text(encoding="utf-8")
