"""The completion scripts as they were written beforehand; neither typer nor numpy is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPTS: Final = Path(__file__).with_name("completions")


def script(shell: str) -> Callable[[], int]:
    """Make the request that prints a shell's script."""

    def request() -> int:
        from gathercli.cli.main import print_text

        print_text((SCRIPTS / f"gathercli.{shell}").read_text(encoding="utf-8"))
        return 0

    return request
