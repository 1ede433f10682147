"""The runtimes that tests call, in the Pythons of ``GATHERCLI_PEERS=torch=/venv/bin/python,…``."""

from __future__ import annotations

import os

from gathercli.runtimes.client import runtimes_of
from gathercli.runtimes.declared import NAMES

PEERS = {
    each.name: each for each in runtimes_of(os.environ.get("GATHERCLI_PEERS", ",".join(NAMES)))
}
"""The runtimes by their names."""
