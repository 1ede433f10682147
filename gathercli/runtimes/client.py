"""Processes of runtimes: start them, send them calls, and read what they answer or how they end."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.cli.additions import Absence, Observation, Runtime
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, InputError, UsageError
from gathercli.io.source import Inputs
from gathercli.io.stream import temporary_folder
from gathercli.runtimes import worker
from gathercli.runtimes.calls import MODEL_THREADS, OWN_NAMES
from gathercli.runtimes.refusals import refusal, shortened
from gathercli.spec.dtypes import DType, named
from gathercli.text import clean, closest, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

RUNTIMES: Final = tuple(worker.RUNTIMES)
"""The names of the runtimes."""

RUNTIME_PACKAGES: Final = {name: module for name, (module, _) in worker.RUNTIMES.items()}
"""The packages that install them."""

ALIASES: Final = {
    "np": "numpy",
    "onnx": "onnx.reference",
    "ort": "onnxruntime",
    "pytorch": "torch",
    "tf": "tensorflow",
}
"""Other names of the runtimes, for hints."""

MAX_ADDRESS_BYTES: Final = 16 << 30
"""The most bytes of address space, most of which a runtime reserves and never uses; and of a file.

One with two threads needs less than a quarter of it for a small call.
"""

RUNS_OF_A_CALL: Final = 3
"""How often a call is made, as some answers change from run to run."""

_MAX_ANSWER_BYTES: Final = 1 << 20
"""The most bytes of an answer."""

_POLL: Final = 0.1
"""Seconds between two looks whether a process is alive."""

FILLING: Final = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_PERTURB_": "165"}
"""Variables by which glibc's allocator fills memory, without a cache of blocks that it does not."""

_PROCESS_VARIABLES: Final = {
    "GLIBC_TUNABLES": FILLING["GLIBC_TUNABLES"],
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}
"""Variables that keep runtimes on the processor, their logs short, and their memory filled."""


def runtimes_of(text: str, option: str = "--with") -> list[Runtime]:
    """Return the runtimes of a list such as ``torch,tensorflow=/venvs/tf/bin/python``."""
    chosen: dict[str, Runtime] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        name, mark, python = word.partition("=")
        if name not in RUNTIMES or name in chosen:
            near = None if name in chosen else ALIASES.get(name) or closest(name, RUNTIMES)
            raise UsageError(
                f"names `{clean(name[:40])}`{' twice' * (name in chosen)}",
                subject=option,
                value=name,
                expected=f"{listed(RUNTIMES)}, each once",
                hint=f"did you mean `{near}`?" if near else None,
            )
        if mark and not (os.path.isfile(python) and os.access(python, os.X_OK)):
            raise UsageError(
                f"names the Python `{clean(python)}` for {name}",
                subject=option,
                value=python,
                expected="a program that can be run",
                hint=f"`{option} {name}=/path/to/venv/bin/python`",
            )
        chosen[name] = Runtime(name, os.path.abspath(python) if mark else sys.executable)
    if not chosen:
        raise UsageError(
            f"is `{clean(text[:40])}`",
            subject=option,
            value=text,
            expected=listed(RUNTIMES),
            hint=f"`{option} numpy`",
        )
    return list(chosen.values())


class Versions(NamedTuple):
    """The versions of a runtime, of its Python and of the NumPy there."""

    runtime: str
    python: str
    numpy: str


class RuntimeProcess:
    """A process that calls a runtime, restarted after its death; a context that ends it.

    It has `seconds` for the import, and for each call. `versions` is None until it was imported.
    """

    def __init__(self, runtime: Runtime, seconds: float) -> None:
        self.runtime, self._seconds = runtime, seconds
        self._folder = temporary_folder()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers = -1
        self._saved: dict[str, Tensor] = {}
        self._calls = 0
        """The calls that the process was sent."""
        self._buffer = b""
        self.versions: Versions | None = None
        self._is_imported = False
        self._absence: Absence | None = None

    def __enter__(self) -> Self:
        return self

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
            "x64": x64,
            "inputs": {name: self._save(name, each) for name, each in tensors.items()},
            "output": output,
            "runs": RUNS_OF_A_CALL,
            "seconds": self._seconds,
        }
        if self.runtime.name in OWN_NAMES:
            own = OWN_NAMES[self.runtime.name]
            request["types"] = {dtype.name: name for dtype, name in own.items()}
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
        """Make a call once."""
        with suppress(FileNotFoundError):
            os.unlink(request["output"])
        if absence := self.absence():
            return Observation(None, None, "absent", absence.why)
        self._calls += 1
        answer = self._ask(request)
        if isinstance(answer, Observation):
            return answer
        return self._observation(answer, request["output"])

    def _observation(self, answer: Mapping[str, Any], output: str) -> Observation:
        if "refuses" in answer:
            return self._refusal(str(answer["refuses"]).replace(self._folder.name + os.sep, ""))
        dtype = named(str(answer.get("dtype")))
        if dtype is None:
            return self._refusal(f"a result of the type {answer.get('dtype')}")
        try:
            tensor = _read(output, dtype)
            more = range(1, 1 + answer.get("others", 0))
            others = tuple(_read(f"{output}.{number}", dtype) for number in more)
        except GatherError as error:
            return self._refusal(error.message)
        return Observation(self._version, tensor, "unsteady" if others else None, others=others)

    def _refusal(self, message: str) -> Observation:
        return refusal(self.runtime.name, self._version, message)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder.name, name)

    def _save(self, name: str, tensor: Tensor) -> tuple[str, str]:
        """Write a tensor, unless it is that of the last call; return its path and type."""
        path = self._path(f"{name}.npy")
        if self._saved.get(name) is not tensor:
            with open(path, "wb") as file:
                np.save(file, tensor.array.astype(tensor.storage, copy=False), allow_pickle=False)
            self._saved[name] = tensor
        return path, tensor.dtype.name

    def start(self) -> None:
        """Start the process, which begins to import the runtime, unless it runs."""
        if self._process is not None or self._absence is not None:
            return
        reader, writer = os.pipe()
        words = (self.runtime.name, str(writer))
        try:
            self._process = _started(
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

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any] | Observation:
        """Send a call and return the answer, or how the process ended."""
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
        return self._read_answer(self._seconds)

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
                is_alive = bool(part) and len(self._buffer) <= _MAX_ANSWER_BYTES
            if not is_alive and b"\n" not in self._buffer:
                return Observation(self._version, None, "dies", _ending(self._end()))
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self._end()
            return Observation(self._version, None, "dies", "with an answer that is not JSON")
        return answer

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


def _started(
    runtime: Runtime,
    words: Iterable[str],
    home: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start the script `worker` in the Python of a runtime, as the leader of a session.

    All that it starts in turn can then be ended with it. `home` is its folder for files of its own.
    """
    return subprocess.Popen(  # noqa: S603  (the Python that the user names)
        [runtime.python, "-I", worker.__file__, *words, str(MAX_ADDRESS_BYTES)],
        env={**os.environ, **_PROCESS_VARIABLES, **variables, "HOME": home, "TMPDIR": home},
        start_new_session=True,
        **options,
    )


class ScriptRun(NamedTuple):
    """What a script printed, the last line of its errors, and how it ended; None for status 0."""

    output: str
    error: str
    ending: str | None


def run_script(
    runtime: Runtime, folder: str, name: str, seconds: float, *, fills: bool = False
) -> ScriptRun:
    """Run a script in a folder, with the limits of a call; `fills` memory by `FILLING`."""
    with temporary_folder() as home:
        out, err = (os.path.join(home, each) for each in ("out", "err"))
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = _started(
                runtime,
                ("--script", name),
                home,
                FILLING if fills else {},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
            )
        try:
            status: int | None = process.wait(timeout=2 * seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed, errors = (_head(path) for path in (out, err))
    ending = f"hangs: no end within {2 * seconds:g} s" if status is None else None
    if status:
        ending = f"dies {_ending(status)}"
    return ScriptRun(printed, errors.strip().rpartition("\n")[2], ending)


def _head(path: str) -> str:
    """Return the text of a file, or the first part of a long one."""
    with open(path, "rb") as file:
        return file.read(_MAX_ANSWER_BYTES).decode(errors="backslashreplace")


def _ending(status: int) -> str:
    """Return how a process ended: ``by SIGFPE``, ``with status 3``."""
    if status >= 0:
        return f"with status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"


def _read(path: str, dtype: DType) -> Tensor:
    """Read the result of a call into memory, by the same reader as any other file."""
    with Inputs(None, notes=[]) as inputs:
        tensor = inputs.tensor(f"@{path}", "output")
    if tensor.storage.kind != storage_of(dtype).kind:
        raise InputError(f"a result of {tensor.dtype} that should be {dtype}", rule="npy")
    return Tensor(dtype, np.array(tensor.array))
