from __future__ import annotations

import compileall
import gc
import os
import re
import select
import signal
import subprocess
import sys
import threading
import tty
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import gathercli
import tests.cases  # noqa: F401  (how many cases hypothesis draws)
from gathercli.cli import main, registry
from gathercli.cli.declarations import Command
from gathercli.compute import native
from tests.house import absent_slice
from tests.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from tests.batch.dask_cluster import Dask

    Run = Callable[..., "Ran"]
    Program = Callable[..., subprocess.CompletedProcess[bytes]]
    Array = npt.NDArray[Any]

REPR = re.compile(r"\btensor=|\barray=|\barray\(\[|DType\(|<gathercli|object at 0x")
"""What only Python writes, of an object that was printed as it is."""

ENDING = (signal.SIGTERM, signal.SIGHUP)

COLOR_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "COLORTERM")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the process that runs tests."""
    _take_signals()
    # A program makes the options of one command; here thousands of lines of each are run.
    vars(registry)["Command"] = cache(Command)
    if config.getoption("dist", "no") == "load":
        config.option.dist = "worksteal"  # half of the files each, and the fixtures of these alone
    if os.environ.get("GATHERCLI_WORDS") == "rules":
        _say_rules_alone()
    if not hasattr(config, "workerinput"):
        _compile()


@pytest.fixture(params=["C", "numpy"])
def kernel_language(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with the kernel in C, if it was built, and once more without."""
    if request.param == "numpy":
        monkeypatch.setattr(native, "fill", None)
    elif native.fill is None:
        pytest.skip("built without the kernel in C")
    return str(request.param)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count no lines where hundreds of drawn cases run what others have covered: it takes twice.

    Tests of hundreds of cases that are listed, not drawn, are marked `no_cover` themselves.
    """
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.no_cover)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepare to run the tests, or to hand them out to processes that do."""
    gc.freeze()  # thousands of tests, which no search for garbage and no fork has to visit
    plugins, tracer = session.config.pluginmanager, sys.gettrace()
    if tracer is not None:
        sys.settrace(None)
        if not plugins.hasplugin("dsession"):
            plugins.register(CountedLines(tracer))


class CountedLines:
    """A plugin that counts lines in tests and fixtures alone: pytest's own take a tenth longer."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Count the lines of a test."""
        with self._counting(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: object, request: pytest.FixtureRequest
    ) -> Iterator[None]:
        """Count the lines of a fixture."""
        del fixturedef
        with self._counting(request.node):
            return (yield)

    @contextmanager
    def _counting(self, node: pytest.Item) -> Iterator[None]:
        before = sys.gettrace()  # a fixture may ask for another
        if not node.get_closest_marker("no_cover"):
            sys.settrace(self._tracer)
        try:
            yield
        finally:
            self._tracer = sys.gettrace() or self._tracer  # a new one after a test of no lines
            sys.settrace(before)


def _say_rules_alone() -> None:
    """Let errors be their rule alone, here and in every Python that a test starts."""
    from tests.wordless import sitecustomize

    sitecustomize.install()
    os.environ["PYTHONPATH"] = os.path.dirname(sitecustomize.__file__)


def _take_signals() -> None:
    """Take a signal that is ignored, as under nohup: programs do not inherit that then."""
    for number in (*ENDING, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def _compile() -> None:
    """Compile the package, so that none of the programs that the tests start has to."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(os.path.dirname(gathercli.__file__), quiet=2)


class Ran(NamedTuple):
    """What a command left: its status, stdout and stderr."""

    status: int
    out: str
    err: str

    @property
    def raw(self) -> bytes:
        """The bytes of stdout."""
        return self.out.encode(errors="surrogateescape")


def only_error(ran: Ran) -> str:
    """Check that a command failed with one error and no traceback, and return the first line."""
    assert ran.status != 0
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("error: ") == 1
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    return ran.err.splitlines()[0]


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """Start a scheduler and two workers, for all tests of a module that harm none of them."""
    from tests.batch.dask_cluster import Dask

    with Dask(tmp_path_factory.mktemp("dask")) as found:
        found.add(2)
        found.ready(2)
        yield found


@pytest.fixture(autouse=True)
def neutral_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no variable of the person who runs the tests decide about anything."""
    for name in (*COLOR_VARIABLES, "COLUMNS", "LINES", "LESS", "GATHERCLI_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a batch of the test's own process start one process for its jobs, if not told more."""
    monkeypatch.setattr("gathercli.batch.batch_run.cores", lambda: 1)


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything that is done for long outputs happen to short ones."""
    monkeypatch.setattr("gathercli.compute.small.MOST_STEPS_WITH_NUMPY", -1)
    monkeypatch.setattr("gathercli.compute.kernel.BLOCK_BYTES", 64)
    monkeypatch.setattr("gathercli.compute.result.LEAST_SHARED_BYTES", 0)
    monkeypatch.setattr("gathercli.io.stream.MIN_ALLOCATED", 0)
    monkeypatch.setattr("gathercli.io.files.BUFFERED_BYTES", 100)
    monkeypatch.setattr("gathercli.io.files._STREAM_PART", 77)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _feed(fd: int, content: bytes) -> None:
    with suppress(BrokenPipeError), open(fd, "wb") as pipe:
        pipe.write(content)


@contextmanager
def standard_input(content: bytes) -> Iterator[None]:
    """Put a pipe that holds `content` at descriptor 0."""
    reader, writer = os.pipe()
    saved = os.dup(0)
    os.dup2(reader, 0)
    os.close(reader)
    with ExitStack() as stack:
        if len(content) <= select.PIPE_BUF:  # which a pipe takes before anybody reads
            _feed(writer, content)
        else:
            thread = threading.Thread(target=_feed, args=(writer, content))
            thread.start()
            stack.callback(thread.join)
        stack.callback(os.close, saved)
        stack.callback(os.dup2, saved, 0)
        yield


def drain(fd: int, into: list[bytes]) -> None:
    """Collect what the other side of a terminal is sent, until it is closed."""
    with suppress(OSError):  # EIO: the other side is closed
        while part := os.read(fd, 1 << 16):
            into.append(part)
    os.close(fd)


@contextmanager
def _terminal_at(fd: int, seen: list[bytes]) -> Iterator[None]:
    """Put a terminal at a descriptor and collect what it is sent."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    saved = os.dup(fd)
    os.dup2(theirs, fd)
    os.close(theirs)
    thread = threading.Thread(target=drain, args=(ours, seen))
    thread.start()
    try:
        yield
    finally:
        os.dup2(saved, fd)
        os.close(saved)
        thread.join()


@pytest.fixture
def run(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Callable[..., Ran]]:
    """Run a command line in this process, in an empty folder.

    ``run("gather", "-", "0", stdin=b"[1]")``; `terminal` names the descriptors that are terminals.
    Whatever is run, no message of it may hold a Python object as `repr` writes it.
    """
    del folder

    def command(*argv: str, stdin: bytes = b"", terminal: tuple[int, ...] = ()) -> Ran:
        if absent := absent_slice(argv):
            pytest.skip(f"the package is without {absent}")
        seen: dict[int, list[bytes]] = {fd: [] for fd in terminal}
        capfdbinary.readouterr()
        with ExitStack() as stack:
            stack.enter_context(standard_input(stdin))
            for fd in terminal:
                stack.enter_context(_terminal_at(fd, seen[fd]))
            status = main(argv)
        out, err = capfdbinary.readouterr()
        out += b"".join(seen.get(1, []))
        err += b"".join(seen.get(2, []))
        ran = Ran(
            status, out.decode(errors="surrogateescape"), err.decode(errors="backslashreplace")
        )
        shown = REPR.search(ran.err)
        assert shown is None or "--debug" in argv or shown[0] in " ".join(argv), ran.err
        return ran

    handlers = {number: signal.getsignal(number) for number in ENDING}
    yield command
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def program(folder: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run the program as a process of its own, by words or (with ``shell=True``) by a line.

    In a line, ``$G`` is the program.
    """
    own = f"{sys.executable} -m gathercli"

    def command(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-c", words[0].replace("$G", own)]
            if len(words) == 1
            else [sys.executable, "-m", "gathercli", *words],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            cwd=folder,
        )

    return command
