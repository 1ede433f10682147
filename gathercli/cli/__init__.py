"""Words to calls to answers: options, hints, output, and the commands of the core."""

from gathercli.cli.main import main

__all__ = ["main"]
