"""What a client leaves that goes away without a word: its workers remove the folder it had begun.

A plugin of the scheduler, which notices that first, tells the workers, as they see the files.
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
    """Has a folder removed when its client is gone, if it is still there.

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
        """Tell the workers, once."""
        pack: Any = dumps
        if client == self._owner:
            scheduler.remove_plugin(self.name)
            message = {"op": "run", "function": pack(remove), "args": pack((self._path,))}
            scheduler.loop.add_callback(scheduler.broadcast, msg=message, on_error="ignore")


def remove(path: bytes) -> None:
    """Remove a folder into which others may still be writing, without waiting for the end.

    Under another name nobody can write into it; one worker can give it that.
    """
    aside = path.removesuffix(b".tmp") + b".old"
    try:
        os.rename(path, aside)
    except OSError:
        return
    Thread(target=shutil.rmtree, args=(aside,), kwargs={"ignore_errors": True}).start()
