"""Let the workers remove the unfinished output of a killed client.

A scheduler plugin notices that the client is gone and sends a message to the workers, which have
access to the files.
"""

from __future__ import annotations

import os
import shutil
from threading import Thread
from typing import TYPE_CHECKING, Any

from distributed import SchedulerPlugin
from distributed.protocol.pickle import dumps

if TYPE_CHECKING:
    from distributed import Scheduler


class Leftover(SchedulerPlugin):
    """A scheduler plugin that lets a worker remove a folder when its client is gone.

    Parameters
    ----------
    owner
        The name of the client.
    path
        The folder.
    """

    def __init__(self, owner: str, path: bytes) -> None:
        self.name, self._owner, self._path = f"gathercli-{owner}", owner, path

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Send `remove` to the workers."""
        pack: Any = dumps
        if client == self._owner:
            scheduler.remove_plugin(self.name)
            message = {"op": "run", "function": pack(remove), "args": pack((self._path,))}
            scheduler.loop.add_callback(scheduler.broadcast, msg=message, on_error="ignore")


def remove(path: bytes) -> None:
    """Remove a folder in the background, while others may still write to it.

    It is renamed first: nobody writes to the new name, and only one worker can rename it.
    """
    aside = path.removesuffix(b".tmp") + b".old"
    try:
        os.rename(path, aside)
    except OSError:
        return
    Thread(target=shutil.rmtree, args=(aside,), kwargs={"ignore_errors": True}).start()
