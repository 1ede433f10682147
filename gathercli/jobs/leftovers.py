"""The unfinished output of a client that was killed: the workers remove it.

The scheduler notices first that the client is gone; a plugin of it tells the workers, which see the
files.
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
    """A plugin that has a folder removed when its client is gone.

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
    """Remove a folder in the background while others may still write into it.

    It is renamed first: nobody writes under the new name, and only one worker can rename it.
    """
    aside = path.removesuffix(b".tmp") + b".old"
    try:
        os.rename(path, aside)
    except OSError:
        return
    Thread(target=shutil.rmtree, args=(aside,), kwargs={"ignore_errors": True}).start()
