"""The program as a process: what it sets up before anything is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys
sys.argv = ["gathercli", "gather", "[1,2]", "0", "-q"]
leave = os._exit
def threads(status):
    print(os.environ["OPENBLAS_NUM_THREADS"], len(os.listdir("/proc/self/task")), flush=True)
    leave(status)
os._exit = threads
from gathercli.__main__ import run
run()
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system lists no threads")
def test_numpy_starts_no_threads_that_have_nothing_to_do() -> None:
    environ = {name: value for name, value in os.environ.items() if "OPENBLAS" not in name}

    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True
    )

    assert done.stdout == "1\n1 1\n"


def test_who_names_a_number_of_threads_keeps_it() -> None:
    environ = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}

    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("/proc/self/task", ".")],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split()[1] == "2"
