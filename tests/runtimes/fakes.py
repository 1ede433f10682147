"""A Python whose onnxruntime does what the first element of `data` says.

Each of its other runtimes cannot be imported in another way.
"""

from __future__ import annotations

import os
import sysconfig
import venv
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ONNXRUNTIME = """
import ctypes, itertools, os, signal, sys, time
import numpy as np

__version__ = "9.9.9-fake"
count = itertools.count()


class SessionOptions:
    pass


class InferenceSession:
    def __init__(self, path, options=None, providers=()):
        assert os.path.getsize(path)

    def run(self, names, feeds):
        data, indices = feeds["data"], feeds["indices"]
        BEHAVIOURS[int(data.reshape(-1)[0])]()
        result = np.take(data, indices, axis=0)
        kind = int(data.reshape(-1)[0])
        if kind == 4:
            result[...] = next(count)
        if kind == 6:
            result = result + 1
        if kind == 8:
            result = result.astype(np.float16)
        if kind == 9:
            result = result.reshape(-1, 1)
        return [result]


def hang():
    time.sleep(1000)


def die():
    os.kill(os.getpid(), signal.SIGSEGV)


def chatter():
    print('{"refuses": "a line that looks like an answer"}', flush=True)
    os.write(1, b"and bytes\\xff\\n")
    os.write(2, b"and more\\n" * 100_000)


def refuse():
    raise ValueError("no\\n  such thing in /home/somebody/secret/folder/x.cpp")


def leave():
    os._exit(3)


def nothing():
    pass


def die_late():
    if next(count) >= RUNS:
        die()


BEHAVIOURS = [nothing, hang, die, chatter, nothing, refuse, nothing, leave, nothing, nothing]
BEHAVIOURS.append(die_late)
RUNS = 3
"""
"""0 is right, 1 hangs, 2 dies, 3 prints, 4 changes each time, 5 raises, 6 is wrong, 7 exits, 8 has
another type, 9 another shape, 10 dies at a
fourth run."""

ONCE = """
import os, sys

__version__ = "1"
sys.modules["jax.numpy"] = sys.modules[__name__]
once = os.path.join(os.environ["HOME"], "once")
if os.path.exists(once):
    raise OSError("only once")
open(once, "w").close()


class config:
    @staticmethod
    def update(*_):
        os.abort()
"""
"""A jax that can be imported once, and aborts when it is called."""

MODULES = {
    "onnxruntime": ONNXRUNTIME,
    "torch": "raise OSError('libtorch.so: cannot open')",
    "jax": "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
    "tensorflow": "import sys; sys.exit()",
    "openvino": "",
    "onnx": "import time; time.sleep(1000)",
}


def fake_python(folder: Path, modules: Mapping[str, str] = MODULES) -> str:
    """Make a virtual environment with fake modules; return its Python."""
    venv.create(folder, symlinks=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    site = sysconfig.get_path("purelib", "venv", paths)
    for name, text in modules.items():
        with open(os.path.join(site, f"{name}.py"), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(site, "numpy.pth"), "w", encoding="utf-8") as file:
        file.write(os.path.dirname(os.path.dirname(np.__file__)))
    return str(folder / "bin" / "python")
