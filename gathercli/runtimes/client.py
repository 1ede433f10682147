"""Processes of runtimes: start them, send them calls, and read what they answer or how they end."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.cli.slice_options import (
    NEGATIVE,
    NO_BEAM,
    OUTSIDE,
    Absence,
    Observation,
    Reason,
    Runtime,
)
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, InputError, UsageError
from gathercli.io.source import Inputs
from gathercli.io.stream import created
from gathercli.runtimes import worker
from gathercli.runtimes.calls import MODEL_THREADS
from gathercli.runtimes.declared import Refusal, runtimes
from gathercli.spec.dtypes import DType, named
from gathercli.text import clean, closest, listed, short, table_beside

MAX_ADDRESS_BYTES: Final = 16 << 30
"""The most bytes of address space, most of which a runtime reserves and never uses; and of a file.

One with two threads needs less than a quarter of it for a small call.
"""

RUNS_OF_A_CALL: Final = 3  # how often a call is made, as some answers change from run to run
MAX_ANSWER_BYTES: Final = 1 << 20  # the most bytes of an answer
_POLL: Final = 0.1  # seconds between two looks whether a process is alive
# Variables by which glibc's allocator fills memory, without a cache of blocks that it does not.
FILLING: Final = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_PERTURB_": "165"}

_TABLE: Final = table_beside(__name__)


def runtimes_of(text: str, option: str = "--with") -> list[Runtime]:
    """Return the runtimes of a list such as ``torch,tensorflow=/venvs/tf/bin/python``."""
    chosen: dict[str, Runtime] = {}
    known = runtimes()
    for word in filter(None, map(str.strip, text.split(","))):
        name, mark, python = word.partition("=")
        if name not in known or name in chosen:
            others = (each for each, row in known.items() if name in row.aliases)
            near = None if name in chosen else next(others, closest(name, known))
            what = f"names `{clean(name[:40])}`{' twice' * (name in chosen)}"
            expected = f"{listed(known)}, each once"
            hint = f"did you mean `{near}`?" if near else None
            raise UsageError(what, subject=option, value=name, expected=expected, hint=hint)
        if mark and not (os.path.isfile(python) and os.access(python, os.X_OK)):
            what = f"names the Python `{clean(python)}` for {name}"
            expected = "a program that can be run"
            hint = f"`{option} {name}=/path/to/venv/bin/python`"
            raise UsageError(what, subject=option, value=python, expected=expected, hint=hint)
        chosen[name] = Runtime(name, os.path.abspath(python) if mark else sys.executable)
    if not chosen:
        what, hint = f"is `{clean(text[:40])}`", f"`{option} numpy`"
        raise UsageError(what, subject=option, value=text, expected=listed(known), hint=hint)
    return list(chosen.values())


def temporary_folder() -> TemporaryDirectory[str]:
    """Return a new folder, a context that removes it; raise TransferError if there can be none."""
    folder: TemporaryDirectory[str] = created(
        "folder", lambda: TemporaryDirectory(prefix="gathercli-")
    )
    return folder


class Versions(NamedTuple):
    """The versions of a runtime, of its Python and of the NumPy there."""

    runtime: str
    python: str
    numpy: str


class RuntimeProcess(AbstractContextManager["RuntimeProcess"]):
    """A process that calls a runtime, restarted after its death; a context that ends it.

    It has `seconds` for the import, and for each call. `versions` is None until it was imported.
    """

    def __init__(self, runtime: Runtime, seconds: float) -> None:
        self.runtime, self._seconds = runtime, seconds
        self._row = runtimes()[runtime.name]
        self._folder = temporary_folder()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers = -1
        self._saved: dict[str, Tensor] = {}
        self._calls = 0  # the calls that the process was sent
        self._buffer = b""
        self.versions: Versions | None = None
        self._is_imported = False
        self._absence: Absence | None = None

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(patience=0 if kind else 1)

    def close(self, *, patience: float = 1) -> None:
        """End the process, by force after `patience` seconds, and remove its files."""
        self._end(patience=patience)
        self._folder.cleanup()

    def call(
        self,
        tensors: Mapping[str, Tensor],
        *,
        code: str = "",
        model: Mapping[str, bytes] | None = None,
        threads: int = MODEL_THREADS,
        x64: bool = False,
    ) -> Observation:
        """Call an expression of tensors, or a model by its files, the first one of which it is.

        So many threads run the model. `x64` lets JAX keep 64 bits, which it cuts to 32 otherwise.
        """
        output = self._path("output.npy")
        request: dict[str, Any] = {
            "code": code,
            "threads": threads,
            "prepare": self._row.prepare.format(wide=x64),
            "inputs": {name: self._save(name, each) for name, each in tensors.items()},
            "output": output,
            "runs": RUNS_OF_A_CALL,
            "seconds": self._seconds,
        }
        for name, content in (model or {}).items():
            with open(self._path(name), "wb") as file:
                file.write(content)
            request.setdefault("model", self._path(name))
        seen, calls = self._attempt(request), self._calls
        if seen.problem == "dies" and calls > 1:  # an earlier call may be to blame
            again = self._attempt(request)
            return seen if again.problem == "absent" else again
        return seen

    def _attempt(self, request: Mapping[str, Any]) -> Observation:
        with suppress(FileNotFoundError):
            os.unlink(request["output"])
        if absence := self.absence():
            return Observation(None, None, "absent", absence.why)
        self._calls += 1
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
        answer = self._read_answer(self._seconds)
        if isinstance(answer, Observation):
            return answer
        return self._observation(answer, request["output"])

    def _observation(self, answer: Mapping[str, Any], output: str) -> Observation:
        if "refuses" in answer:
            why = str(answer["refuses"]).replace(self._folder.name + os.sep, "")
        elif (dtype := named(str(answer.get("dtype")))) is None:
            why = f"a result of the type {answer.get('dtype')}"
        else:
            more = (f"{output}.{number}" for number in range(1, 1 + answer.get("others", 0)))
            try:
                tensor, *others = (_read(path, dtype) for path in (output, *more))
            except GatherError as error:
                why = error.message
            else:
                problem = "unsteady" if others else None
                return Observation(self._version, tensor, problem, others=tuple(others))
        return refusal(self.runtime.name, self._version, why)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder.name, name)

    def _save(self, name: str, tensor: Tensor) -> tuple[str, str]:
        """Write a tensor, unless it is that of the last call; return its path and type."""
        path = self._path(f"{name}.npy")
        if self._saved.get(name) is not tensor:
            np.save(path, tensor.array.astype(tensor.storage, copy=False), allow_pickle=False)
            self._saved[name] = tensor
        return path, tensor.dtype.name

    def start(self) -> None:
        """Start the process, which begins to import the runtime, unless it runs."""
        if self._process is not None or self._absence is not None:
            return
        reader, writer = os.pipe()
        words = (json.dumps(self._row.spoken()), str(writer))
        try:
            self._process = started_worker(
                self.runtime,
                words,
                self._folder.name,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._folder.name,
                pass_fds=(writer,),
            )
        except OSError as error:
            os.close(reader)
            self._give_up(f"cannot be started: {error.strerror}")
            return
        finally:
            os.close(writer)
        self._answers, self._buffer, self._is_imported, self._calls = reader, b"", False, 0

    def absence(self) -> Absence | None:
        """Wait until the runtime is imported; return why it cannot be, once and for all."""
        self.start()
        if self._absence is None and not self._is_imported:
            self._await_import()
        return self._absence

    def _await_import(self) -> None:
        """Read the versions of the Python and of the runtime."""
        began = time.monotonic()
        first = self._read_answer(self._seconds)
        if isinstance(first, Observation) or "python" not in first:
            self._give_up(f"cannot be started: its Python {self._ended(first)}")
            return
        second = self._read_answer(max(0, began + self._seconds - time.monotonic()))
        if isinstance(second, Observation):
            self._give_up(f"cannot be started: its import {self._ended(second)}")
        elif "version" not in second:
            self._give_up(str(second.get("absent")))
        else:
            version, numpy = str(second["version"]), str(second.get("numpy"))
            self.versions = Versions(version, str(first["python"]), numpy)
            self._is_imported = True

    def _ended(self, answer: Mapping[str, Any] | Observation) -> str:
        """Describe how a process ended before it answered as it should."""
        if not isinstance(answer, Observation):
            return "gives another answer than a Python"
        is_late = answer.problem == "hangs"
        return f"takes more than {self._seconds:g} s" if is_late else f"ends {answer.message}"

    def _give_up(self, why: str) -> None:
        """End the process for good."""
        self._end(patience=0)
        self._absence = Absence(self.runtime.name, clean(shortened(why)))

    @property
    def _version(self) -> str | None:
        return self.versions and self.versions.runtime

    @property
    def full_name(self) -> str:
        """The runtime with its version."""
        return " ".join(filter(None, (self.runtime.name, self._version)))

    def _read_answer(self, seconds: float) -> dict[str, Any] | Observation:
        end = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            is_alive = self._process is not None and self._process.poll() is None
            left = end - time.monotonic()
            if is_alive and left <= 0:
                self._end(patience=0)
                message = f"no answer within {seconds:g} s"
                return Observation(self._version, None, "hangs", message)
            # Its end is no end of file if a process that it forked lives on: look for both.
            if select.select([self._answers], [], [], min(left, _POLL) if is_alive else 0)[0]:
                part = os.read(self._answers, 1 << 16)
                self._buffer += part
                is_alive = bool(part) and len(self._buffer) <= MAX_ANSWER_BYTES
            if not is_alive and b"\n" not in self._buffer:
                return Observation(self._version, None, "dies", ending_of(self._end()))
        line, _, self._buffer = self._buffer.partition(b"\n")
        with suppress(ValueError):
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer
        self._end()
        return Observation(self._version, None, "dies", "with an answer that is not JSON")

    def _end(self, *, patience: float = 1) -> int:
        """End the process and what it started, by force after `patience` s; return its status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        os.close(self._answers)
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def started_worker(
    runtime: Runtime,
    words: Iterable[str],
    home: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start the script `worker` in the Python of a runtime, as the leader of a session.

    All that it starts in turn can then be ended with it. `home` is its folder for files of its own.
    """
    own = {"GLIBC_TUNABLES": FILLING["GLIBC_TUNABLES"], **_TABLE["variables"]}
    return subprocess.Popen(  # noqa: S603  (the Python that the user names)
        [runtime.python, "-I", worker.__file__, *words, str(MAX_ADDRESS_BYTES)],
        env={**os.environ, **own, **variables, "HOME": home, "TMPDIR": home},
        start_new_session=True,
        **options,
    )


def ending_of(status: int) -> str:
    """Return how a process ended: ``by SIGFPE``, ``with status 3``."""
    if status >= 0:
        return f"with status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"


def _read(path: str, dtype: DType) -> Tensor:
    with Inputs(None, notes=[]) as inputs:
        tensor = inputs.tensor(f"@{path}", "output")
    if tensor.storage.kind != storage_of(dtype).kind:
        raise InputError(f"a result of {tensor.dtype} that should be {dtype}", rule="npy")
    return Tensor(dtype, np.array(tensor.array))


# Refusals

MAX_SHORT_LENGTH: Final = 160  # the most characters of a message in a table

_OWN: Final = tuple(Refusal("index-range", text) for text in (OUTSIDE, NEGATIVE, NO_BEAM))


def reason_of(runtime: str, message: str) -> Reason | None:
    """Return the reason that a message gives for a refusal; None if it is no known one.

    A runtime that refuses a call agrees with a version only if its reason is the version's rule.
    """
    for each in (*runtimes()[runtime].refusals, *_OWN):
        if match := re.search(each.pattern, message):
            groups = match.groupdict()
            rules = [f"{groups['input']}-dtype"] if "input" in groups else each.rules.split()
            indices = tuple(map(int, re.findall(r"-?\d+", groups.get("index", ""))))
            return Reason(tuple(rules), indices, each.takes_negative)
    return None


def refusal(runtime: str, version: str | None, message: str) -> Observation:
    """Return the observation of a refusal."""
    reason = reason_of(runtime, message)
    return Observation(version, None, "refuses", shortened(message), reason=reason)


def shortened(message: str) -> str:
    r"""Return a message on one line, without the folders of this machine.

    >>> shortened("RuntimeError: Check '/home/me/ov/x.cpp:3'\n  failed")
    "RuntimeError: Check 'x.cpp:3' failed"
    """
    for pattern in _TABLE["noise"]:
        message = re.sub(pattern, "", message)
    return short(" ".join(message.split()), MAX_SHORT_LENGTH)
