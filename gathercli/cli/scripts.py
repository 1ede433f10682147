"""The completion scripts as they were written beforehand; neither typer nor numpy is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SCRIPTS: Final = Path(__file__).with_name("completions")


def print_script(shell: str) -> int:
    """Print a shell's script, and return the status."""
    from gathercli.cli.main import print_text

    print_text((SCRIPTS / f"gathercli.{shell}").read_text(encoding="utf-8"))
    return 0
