"""Work that threads share."""

from __future__ import annotations

from itertools import count
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

import pytest

from gathercli.compute import threads
from tests.processes import PATIENCE

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.usefixtures("kernel_language")


def test_a_signal_while_threads_start_stops_those_that_did(monkeypatch: pytest.MonkeyPatch) -> None:
    real, join = Thread.start, Thread.join
    started, done, is_waited_for = list[Thread](), list[int](), Event()

    def start(thread: Thread) -> None:
        if started:
            raise KeyboardInterrupt
        started.append(thread)
        real(thread)

    def do(piece: int) -> None:
        done.append(piece)
        is_waited_for.wait(PATIENCE)

    def note_and_join(thread: Thread) -> None:
        is_waited_for.set()
        join(thread)

    monkeypatch.setattr(Thread, "start", start)
    monkeypatch.setattr(Thread, "join", note_and_join)
    with pytest.raises(KeyboardInterrupt):
        threads.share(1000, lambda: do, 3)
    assert not started[0].is_alive()
    assert len(done) <= 1


def test_pieces_are_each_done_once_by_all_threads() -> None:
    lock, done = Lock(), list[int]()

    def worker() -> Any:
        def do(piece: int) -> None:
            with lock:
                done.append(piece)

        return do

    threads.share(1000, worker, 4)
    assert sorted(done) == list(range(1000))


@pytest.mark.parametrize("workers", [1, 4])
def test_what_a_piece_raises_stops_the_others(workers: int) -> None:
    done = count()

    def do(piece: int) -> None:
        next(done)
        if piece == 5:
            raise ValueError(piece)

    with pytest.raises(ValueError, match="5"):
        threads.share(1_000_000, lambda: do, workers)
    assert next(done) < 1_000_000


def test_no_more_threads_than_the_system_has_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    done = list[int]()
    threads.share(3, lambda: done.append, 4)
    assert done == [0, 1, 2]
