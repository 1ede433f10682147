"""argv to engine to report: the only importer of typer, one file a command."""

from gathercli.cli.main import main

__all__ = ["main"]
