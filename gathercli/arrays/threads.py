"""Work in numbered pieces, shared by threads, one of which is the caller's."""

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
        Returns, for each thread, a function that does a piece; so each thread has its own buffers.
    threads
        The largest number of threads.
    progress
        Called by the caller's thread, now and then, with the number of pieces begun.

    Raises
    ------
    BaseException
        The first that a piece raised; the pieces not yet begun are dropped.
    """
    pieces = iter(range(count))  # next() on it is one step, which the interpreter's lock guards
    errors: list[BaseException] = []

    def work(progress: Callable[[int], None] | None = None) -> None:
        try:
            do = worker()
            for piece in pieces:
                if errors:
                    return
                do(piece)
                if progress is not None:
                    progress(piece + 1)
        except BaseException as error:  # noqa: BLE001  (the caller raises it)
            errors.append(error)

    others: list[Thread] = []
    try:
        if min(threads, count) > 1:
            _start(work, min(threads, count) - 1, others)
        work(progress)
    except BaseException as error:  # noqa: BLE001  (a signal while the threads started)
        errors.append(error)
    for other in others:
        _join(other, errors)
    if errors:
        raise errors[0]


def _join(thread: Thread, errors: list[BaseException]) -> None:
    """Wait for a thread whatever signals come: they are errors, at which it stops."""
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:  # noqa: BLE001  (the caller raises it)
            errors.append(error)


def _start(work: Callable[[], None], count: int, threads: list[Thread]) -> None:
    """Start `count` threads and append them to `threads`; fewer if the system has no more."""
    from threading import Thread

    for _ in range(count):
        thread = Thread(target=work, daemon=True)
        threads.append(thread)  # before it runs: a signal may come between the two
        try:
            thread.start()
        except RuntimeError:
            return
