"""Work in numbered pieces, done by several threads of which the caller's is one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Thread


def share(
    count: int,
    worker: Callable[[], Callable[[int], None]],
    threads: int = 1,
    tick: Callable[[int], None] | None = None,
) -> None:
    """Do the pieces 0 to `count` - 1, each once, in about this order.

    Parameters
    ----------
    worker
        Makes, for every thread, what does a piece; so each thread has its own buffers.
    threads
        How many work at most.
    tick
        Is told by the caller's thread, now and then, how many pieces were taken up.

    Raises
    ------
    BaseException
        The first that a piece raised; the pieces not yet taken up are dropped.
    """
    taken = iter(range(count))  # next() on it is one step, which threads cannot share
    failed: list[BaseException] = []

    def work(told: Callable[[int], None] | None = None) -> None:
        try:
            do = worker()
            for piece in taken:
                if failed:
                    return
                do(piece)
                if told is not None:
                    told(piece + 1)
        except BaseException as error:  # noqa: BLE001  (the caller raises it)
            failed.append(error)

    others = _started(work, min(threads, count) - 1)
    try:
        work(tick)
    finally:
        for other in others:
            while other.is_alive():
                try:
                    other.join()
                except BaseException as error:  # noqa: BLE001  (a signal: they stop, then it goes on)
                    failed.append(error)
    if failed:
        raise failed[0]


def _started(work: Callable[[], None], count: int) -> list[Thread]:
    """Start threads; fewer where the system has no more."""
    started: list[Thread] = []
    if count > 0:
        from threading import Thread

        with suppress(RuntimeError):
            for _ in range(count):
                thread = Thread(target=work, daemon=True)
                thread.start()
                started.append(thread)
    return started
