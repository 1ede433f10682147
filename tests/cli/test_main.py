"""The program as a process: imports, streams, signals, and failures that nobody expects."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import sysconfig
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import gathercli
from gathercli.cli.main import let_signals_unwind
from gathercli.cli.registry import COMMANDS
from gathercli.compute import native
from tests.conftest import only_error
from tests.house import absent_slice
from tests.processes import PATIENCE, wait_until

if TYPE_CHECKING:
    from tests.conftest import Program, Run


ROOT = Path(__file__).parents[2]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

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
def test_numpy_starts_no_threads() -> None:
    environ = {name: value for name, value in os.environ.items() if "OPENBLAS" not in name}

    process = subprocess.run(
        [sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True
    )

    assert process.stdout == "1\n1 1\n"


def test_a_number_of_threads_in_the_environment_is_kept() -> None:
    environ = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}

    process = subprocess.run(
        [sys.executable, "-c", CODE.replace("/proc/self/task", ".")],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )

    assert process.stdout.split()[1] == "2"


def test_the_version_of_the_program_is_one_line(run: Run) -> None:
    ran = run("--version")

    kernel = "numpy" if native.fill is None else "C"
    assert ran == (0, f"gathercli {gathercli.__version__} ({kernel} kernel)\n", "")


def test_a_bug_is_status_70_without_a_traceback_unless_debug(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("gathercli.compute.run.run", broken)
    ran = run("gather", "[1]", "0")
    assert ran.status == 70
    assert only_error(ran) == "error: a bug in gathercli: ZeroDivisionError: oops"
    debug = run("gather", "[1]", "0", "--debug")
    assert debug.status == 70
    assert "Traceback" in debug.err
    assert "broken" in debug.err


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_running_out_of_memory_or_stack_is_a_limit(
    error: type[Exception], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("gathercli.compute.run.run", broken)
    ran = run("gather", "[1]", "0")
    assert ran.status == 65
    assert ran.err.endswith("rule: limit\n")


def test_debug_shows_the_traceback_of_a_refusal(run: Run) -> None:
    ran = run("gather", "nosuch.npy", "0", "--debug")

    assert ran.status == 66
    assert "Traceback" in ran.err
    assert "error: `data`: there is no file `nosuch.npy`" in ran.err


def imported(program: Program, *words: str) -> set[str]:
    """Return the names of the top-level packages that a command imports."""
    script = (
        "import sys; from gathercli.cli.main import main; status = main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(sys.modules)); sys.exit(status)"
    )
    ran = program(" ".join([sys.executable, "-c", f'"{script}"', *(f"'{word}'" for word in words)]))
    assert ran.returncode == 0, ran.stderr
    return {name.split(".")[0] for name in ran.stderr.decode().split()}


@pytest.mark.parametrize(
    "words",
    [
        ["shape", "gather", "[N,3]", "[2]"],
        ["shape", "gather-elements", "2x3", "2x3", "-a", "0", "-f", "json"],
        ["ops"],
        ["ops", "--diff", "openvino-8", "onnx-13"],
        ["ops", "--like", "torch.gather"],
        ["ops", "--decisions"],
        ["man", "gather"],
    ],
    ids=" ".join,
)
def test_commands_without_elements_do_not_import_numpy(words: list[str], program: Program) -> None:
    assert not imported(program, *words) & {"numpy", "ml_dtypes"}


def test_a_closed_pipe_is_141_without_a_message(program: Program) -> None:
    for fmt in ("json", "npy", "literal"):
        line = (
            f"$G gather arange:100000 arange:100000 -f {fmt} | head -c 1; exit ${{PIPESTATUS[0]}}"
        )
        ran = program(line)
        assert (ran.returncode, len(ran.stdout), ran.stderr) == (141, 1, b"")


@pytest.mark.parametrize(
    "words",
    [
        "gather '[1]' 0",
        "gather '[1]' 0 -f npy",
        "--version",
        "--help",
        "gather -h",
        "man",
        "ops",
        "completion bash",
        "shape gather 2x3 2",
    ],
)
@pytest.mark.parametrize("redirection", [">&-", "> /dev/full"])
def test_an_unwritable_stdout_is_74_with_one_error(
    words: str, redirection: str, program: Program
) -> None:
    ran = program(f"$G {words} {redirection}")

    assert (ran.returncode, ran.stdout) == (74, b"")
    assert ran.stderr.startswith(b"error: ")
    assert b"a bug in" not in ran.stderr
    assert ran.stderr.endswith(b"rule: output\n")


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
def test_an_unwritable_note_does_not_fail_the_run(redirection: str, program: Program) -> None:
    ran = program(f"$G gather '[1]' 9 {redirection}")

    assert (ran.returncode, ran.stdout) == (0, b"0\n")


def test_an_unwritable_error_keeps_its_status(program: Program) -> None:
    for redirection in ("2>&-", "2> /dev/full", ">&- 2>&-"):
        assert program(f"$G gather '[1]' 9 -V onnx-13 {redirection}").returncode == 65


def waiting(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the program and return once it has read the first byte of its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gathercli", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdin is not None
    stdin = process.stdin
    stdin.write(b"[")
    stdin.flush()
    wait_until(lambda: fcntl.ioctl(stdin, termios.FIONREAD, bytes(4)) == bytes(4))
    return process


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_while_reading_ends_the_run_silently_without_an_output(
    number: signal.Signals, status: int, folder: Path
) -> None:
    with waiting(folder, "gather", "-", "0", "-o", "x.npy") as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out, err) == (status, b"", b"")
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("number", "kind", "arguments"),
    [
        (signal.SIGINT, KeyboardInterrupt, ()),
        (signal.SIGTERM, SystemExit, (143,)),
        (signal.SIGHUP, SystemExit, (129,)),
    ],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_that_would_end_the_program_unwinds_it_and_an_ignored_one_is_ignored(
    number: signal.Signals, kind: type[BaseException], arguments: tuple[int, ...]
) -> None:
    before = {each: signal.getsignal(each) for each in SIGNALS}
    try:
        for each in before:
            signal.signal(each, signal.SIG_DFL)
        let_signals_unwind()
        with pytest.raises(kind) as info:
            signal.raise_signal(number)

        signal.signal(number, signal.SIG_IGN)
        let_signals_unwind()
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

    assert info.value.args == arguments


START = """
import runpy, signal, sys
sys.argv, (start, module, handled) = ["gathercli", "gather", "[1,2]", "[0]"], sys.argv[1:]
class Interrupt:
    @staticmethod
    def find_spec(name, *_):
        if name == module:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
if handled == "ignored":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
runpy.run_path(start)
"""


def interrupted(module: str, handled: str) -> subprocess.CompletedProcess[str]:
    """Send SIGINT to the command where it imports a module."""
    command = [sys.executable, "-c", START, str(ROOT / "start.py"), module, handled]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "module",
    [
        "gathercli",
        "gathercli.__main__",
        "gathercli.cli.main",
        "gathercli.cli.parser",
        "gathercli.compute.small",
    ],
)
def test_an_interrupt_ends_the_start_silently_and_an_ignored_one_does_not(module: str) -> None:
    ended, went_on = interrupted(module, "handled"), interrupted(module, "ignored")

    assert ended.returncode in (130, -signal.SIGINT)
    assert (ended.stdout, ended.stderr) == ("", "")
    assert (went_on.returncode, went_on.stdout, went_on.stderr) == (0, "[1]\n", "")


def test_python_m_gathercli_is_the_command(program: Program) -> None:
    beside = os.path.join(sysconfig.get_path("scripts"), "gathercli")
    script = program(f"{beside} ops")

    module = program("ops", "-f", "auto")

    assert (script.stdout, script.returncode) == (module.stdout, module.returncode)


def test_the_version_option_takes_no_argument(run: Run) -> None:
    assert run("--version", "x").status == 2


EACH_COMMAND: Final = """
gather [1,2,3] [0,-1]
gather-elements [[1,2],[3,4]] [[0,0]] --axis 0
gather-nd [[1,2],[3,4]] [[0,1],[1,-1]]
gather-tree [[[1,2]],[[3,4]]] [[[0,0]],[[1,0]]] [2] 9
shape gather [2,?] 2x3
explain gather [1,2,3] [0,9]
check gather [1,2,3] [0,9]
compare [1,2,3] [0,9]
diagnose gather [1,2,3] [0,-1] [1,3]
reproduce gather [1,2,3] [0,9] --for nothing -o out
translate gather [1,2,3] [0,9] --to numpy
model encoder.onnx
batch jobs.jsonl -q
convert [1,2] -
info [1,2]
ops openvino-8
demo
man ops
completion bash
--help
gather --help
gather [1,2,3] [0,9] -V onnx-13
"""


def test_every_command_prints_the_same_with_python_oo(program: Program, folder: Path) -> None:
    (folder / "jobs.jsonl").write_text('{"id":"a","op":"gather","data":[1],"indices":[0]}\n')
    model = Path(__file__).parents[2] / "fixtures/tour/encoder.onnx"
    (folder / "encoder.onnx").write_bytes(model.read_bytes())
    each = [line for line in EACH_COMMAND.split("\n")[1:-1] if not absent_slice(line.split())]
    (folder / "each.py").write_text(
        "from gathercli.cli import main\n"
        f"for line in {each}:\n"
        "    print(line, main(line.split()), flush=True)\n"
    )
    lines = [line.split()[0] for line in each]
    assert set(COMMANDS) <= set(lines)

    plain, *others = (
        program(f"{sys.executable} {option} each.py 2>&1") for option in ("", "-O", "-OO")
    )

    text = re.sub(rb'"seconds": ?[0-9.e-]+', b"", plain.stdout)
    assert len(re.findall(rb"(?m) (?:0|1|65)$", text)) >= len(lines)
    for other in others:
        assert re.sub(rb'"seconds": ?[0-9.e-]+', b"", other.stdout) == text


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_while_numpy_is_imported_ends_the_run_silently(
    name: str, status: int, program: Program, folder: Path
) -> None:
    (folder / "shadow").mkdir()
    (folder / "shadow" / "numpy.py").write_text(
        "import os, signal, time\n"
        "try:\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        f"    time.sleep({PATIENCE})\n"
        "except BaseException:\n"
        "    raise ImportError('as the C code of NumPy does')\n"
    )

    ran = program(f"PYTHONPATH={folder}/shadow $G gather xc64=1 0, -a 0 -V onnx-13")

    assert (ran.returncode, ran.stdout, ran.stderr) == (status, b"", b"")
