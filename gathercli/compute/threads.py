"""Share numbered pieces of work among threads, including the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Thread

ProgressCallback: TypeAlias = "Callable[[str, int, int], None]"


def share(
    count: int,
    worker: Callable[[], Callable[[int], None]],
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Do the pieces 0 to `count` - 1, each once, in roughly this order.

    `worker` returns, for each of up to `threads` threads, a function that does a piece with its own
    buffers. The caller's thread now and then calls `progress` with the number of pieces started.
    The first exception of a piece is raised, and no further pieces are started.
    """
    pieces = iter(range(count))  # next() on it is atomic under the interpreter's lock
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
    """Wait for a thread despite signals: they are added to `errors`, which stops it."""
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
        threads.append(thread)  # first, as a signal may arrive before it runs
        try:
            thread.start()
        except RuntimeError:
            return
