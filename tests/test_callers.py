"""Many threads call at once, in processes of any origin; and what an import brings."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
from typing import Any, Final

import numpy as np
import pytest

import gathercli
from gathercli import OutOfRangeError
from tests.processes import PATIENCE

CALLERS: Final = 32


def work() -> list[str]:
    """Call from all threads at once, some of them wrongly; return what went wrong."""
    ready, wrong = threading.Barrier(CALLERS), list[str]()

    def call(number: int) -> None:
        try:
            ready.wait(PATIENCE)
            for n in range(1, 40):
                data = np.arange((n + number) * 3).reshape(-1, 3)
                at = np.arange(n)[::-1].copy()
                assert (gathercli.gather(data, at) == data[at]).all()
                assert gathercli.gather(data.tolist(), at.tolist()).tolist() == data[at].tolist()
                assert (gathercli.gather_nd(data, at[:, None]) == data[at]).all()
                out = np.empty((n, 3), int)
                assert gathercli.gather(data, at, out=out, threads=2) is out
                with pytest.raises(OutOfRangeError, match=f"index {n + number} at"):
                    gathercli.gather(data, np.array([0, n + number]), version="onnx-13")
        except BaseException as error:  # noqa: BLE001  (a thread has no other way out)
            wrong.append(repr(error))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return wrong


def report(wrong: multiprocessing.Queue[list[str]]) -> None:
    """Work in a process, and put what went wrong."""
    wrong.put(work())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_thirty_two_threads_call_at_once_in_a_process_of_either_origin(start: str) -> None:
    assert work() == []
    context: Any = multiprocessing.get_context(start)
    wrong = context.Queue()
    process = context.Process(target=report, args=(wrong,))
    process.start()

    assert wrong.get(timeout=PATIENCE) == []
    process.join(PATIENCE)
    assert process.exitcode == 0


@pytest.mark.parametrize("module", ["numpy", "gathercli.api", "torch", "jax", "tensorflow"])
def test_an_import_of_the_package_brings_nothing_with_it(module: str) -> None:
    code = f"import gathercli, sys; sys.exit({module!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_other_library_is_imported_for_calls_on_arrays() -> None:
    code = (
        "import gathercli, numpy, sys; gathercli.gather(numpy.arange(3), [1])\n"
        "sys.exit(bool({'torch', 'jax', 'tensorflow'} & sys.modules.keys()))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
