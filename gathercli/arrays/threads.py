"""Work in numbered pieces, done by several threads of which the caller's is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Thread

    ProgressCallback = Callable[[str, int, int], None]


def share(
    count: int,
    worker: Callable[[], Callable[[int], None]],
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
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
    taken = iter(range(count))  # next() on it is one step, which the interpreter's lock guards
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

    others: list[Thread] = []
    try:
        if min(threads, count) > 1:
            _start(work, min(threads, count) - 1, others)
        work(progress)
    except BaseException as error:  # noqa: BLE001  (a signal, while they were started)
        failed.append(error)
    for other in others:
        _join(other, failed)
    if failed:
        raise failed[0]


def _join(thread: Thread, failed: list[BaseException]) -> None:
    """Wait for a thread to end, whatever signals come: it sees what failed, and stops."""
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:  # noqa: BLE001  (the caller raises it)
            failed.append(error)


def _start(work: Callable[[], None], count: int, started: list[Thread]) -> None:
    """Start threads; fewer where the system has no more."""
    from threading import Thread

    for _ in range(count):
        thread = Thread(target=work, daemon=True)
        started.append(thread)
        try:
            thread.start()
        except RuntimeError:
            return
