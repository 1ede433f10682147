"""argv to engine to report: one file a command."""

from gathercli.cli.main import main

__all__ = ["main"]
