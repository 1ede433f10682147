"""Without the folder and the row of a slice, the core does the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from tests.core import copy_core, copy_without, run_tests
from tests.house import WORDS_OF_SLICES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT: Final = Path(__file__).parents[1]


LINES_OF_SLICES: Final = {
    "explain": (
        "check gather [1,2] 0, --save=x.svg",
        "compare [1,2] 0, --save=x.svg",
        "info [1,2] --save=x.svg",
        "info [1,2] --aspect=1:1",
        "info [1,2] --heat",
        "info [1,2] --window=0",
    ),
    "models": ("gather [1,2] 0, --feed=0", "check gather [1,2] 0, --sarif=x"),
    "runtimes": (
        "compare [1,2] 0, --with=numpy",
        "compare [1,2] 0, --allow-absent",
        "translate gather [1,2] 0, --to=numpy --with=numpy",
        "batch --op=gather --data=[1,2] --indices=0, --with=numpy",
        "batch --op=gather --data=[1,2] --indices=0, --allow-absent",
    ),
    "translate": (),
    "diagnose": (),
}
"""Lines of the core with an option of a slice each."""


def commands_of(name: str) -> list[str]:
    """Return the commands of a slice."""
    return [word for word in WORDS_OF_SLICES[name] if not word.startswith("-")]


QUICK: Final = ("tests/report", "tests/ops", "-k", "not laws and not random and not test_gather_nd")
"""Tests of the core that take seconds."""

LINES: Final = {
    "--version": "gathercli ",
    "gather [1,2] [1,0]": "[2,1]",
    "gather [1,2] [1,0] -f pretty": "out i64[2]",
    "gather @d.npy [1] -o out.npy": "",
    "shape gather [2,?] [3]": "[3,?]",
    "check gather [1,2] [5]": "1 of 1 index outside -2..1",
    "check gather [1,2] [5] -f json": '"illegal"',
    "compare [1,2] [1,0]": "openvino.Gather-8          [2]    A      values",
    "compare [1,2] [1,0] -f json": '"groups"',
    "info d.npy": "mean       2.5",
    "info d.npy -f json": '"mean": 2.5',
    "convert d.npy converted.json": "",
    "ops": "onnx.Gather-13",
    "man": "gathercli-info(1)",
    "man check": "--allow-fill",
    "man compare": "run the same inputs through every version",
    "man info": "describe files: type, shape, statistics, a preview",
    "man formats": "gathercli-formats",
    "batch --op gather --data [1,2] --indices [1]": "1 job: 1 ok",
    "completion fish": "complete -c gathercli",
}
"""Command lines of the core, with a piece of what they print."""


RUN_LINES: Final = """
import json, os, sys, tempfile
from gathercli.cli import main

def answer(words):
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            os._exit(main(words))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        file.seek(0)
        return status, file.read().decode()

print(json.dumps([answer(line.split()) for line in json.load(sys.stdin)]))
"""
"""A program that runs lines, each in a process that is forked from one that has loaded it."""


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Copy the package without a slice, or without any, once for all tests."""
    copies: dict[str, Path] = {}

    def copy(name: str) -> Path:
        if name not in copies:
            copies[name] = folder = tmp_path_factory.mktemp(name)
            copy_without([name], folder)
            np.save(folder / "d.npy", np.arange(6.0).reshape(2, 3))
        return copies[name]

    return copy


def run_python(folder: Path, *words: str, lines: Iterable[str] = ()) -> str:
    """Run Python in a folder, from which it imports; return what it prints."""
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},  # so that help is made, not shipped
        input=json.dumps([*lines]),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def answers(folder: Path, *lines: str) -> list[tuple[int, str]]:
    """Run lines in a copy; return the status of each and what it prints."""
    return [tuple(each) for each in json.loads(run_python(folder, "-c", RUN_LINES, lines=lines))]


@pytest.fixture(params=LINES_OF_SLICES)
def absent(request: pytest.FixtureRequest) -> str:
    """Name a slice that is absent."""
    return str(request.param)


@pytest.fixture
def core(copied: Callable[[str], Path], absent: str) -> Path:
    """Return the folder of the copy without the slice."""
    return copied(absent)


def test_the_commands_of_the_core_run_without_a_slice(core: Path) -> None:
    ran = dict(zip(LINES, answers(core, *LINES), strict=True))

    assert [line for line, (_, text) in ran.items() if LINES[line] not in text] == []
    assert {line for line, (status, _) in ran.items() if status} == {
        line
        for line in LINES
        if line.startswith("check")  # which finds illegal indices
    }


def test_no_hint_leads_to_an_absent_command(copied: Callable[[str], Path]) -> None:
    ((status, text),) = answers(copied("diagnose"), "gather [1,2] 0, --expect [3]")

    assert status == 1
    assert "diagnose" not in text


def test_commands_and_options_of_an_absent_slice_are_unknown(absent: str, core: Path) -> None:
    commands, lines = commands_of(absent), LINES_OF_SLICES[absent]

    assert answers(core, *commands, *lines) == [
        *(_unknown(f"no command `{name}`", "gathercli", "commands") for name in commands),
        *(_unknown_option(*line.split()) for line in lines),
    ]


def _unknown_option(command: str, *words: str) -> tuple[int, str]:
    option = words[-1].partition("=")[0]
    return _unknown(f"{command} has no option `{option}`", f"gathercli {command}", "options")


def _unknown(problem: str, command: str, what: str) -> tuple[int, str]:
    return 2, f"error: {problem}\nhint: `{command} --help` lists the {what}\n"


def test_help_and_manual_are_silent_about_an_absent_slice(absent: str, core: Path) -> None:
    commands, lines = commands_of(absent), LINES_OF_SLICES[absent]
    options = {line.split()[-1].partition("=")[0] for line in lines}
    names = {line.split()[0] for line in lines}

    program, *texts = answers(
        core, "--help", *(f"{name} --help" for name in names), *(f"man {name}" for name in names)
    )

    assert {status for status, _ in (program, *texts)} == {0}
    assert not {*program[1].split()} & {*commands}
    assert not {word for _, text in texts for word in text.split()} & options


def test_manual_help_and_completion_scripts_are_generated_without_a_slice(
    absent: str, core: Path
) -> None:
    cli = core / "gathercli" / "cli"
    folders = cli / "help", cli / "manual", core / "man" / "man1"

    written = {path.stem for folder in folders for path in folder.iterdir()}

    assert {"gathercli", "gathercli-gather"} <= written
    assert not written & {f"gathercli-{name}" for name in commands_of(absent)}
    assert run_python(core, "-m", "man.generate") == ""  # all of them are current
    subprocess.run(["bash", "-n", str(cli / "completions" / "gathercli.bash")], check=True)


REFUSED_WITHOUT_MODELS: Final = {
    "gather fixtures/tour/encoder.onnx#embeddings 1": "the input is an ONNX model: expected ",
    "info fixtures/tour/encoder.onnx": "the input is an ONNX model: expected ",
    "batch fixtures/tour/lessons.jsonl": "`$.node` is unknown in a gather job: expected ",
    "check fixtures/tour/encoder.onnx": "no operator `fixtures/tour/encoder.onnx`: expected ",
}


def test_models_and_jobs_of_their_nodes_are_refused_without_the_slice_that_reads_them(
    copied: Callable[[str], Path],
) -> None:
    ran = answers(copied("models"), *REFUSED_WITHOUT_MODELS)

    for (status, text), problem in zip(ran, REFUSED_WITHOUT_MODELS.values(), strict=True):
        assert status in (2, 65)
        assert problem in text


def test_the_core_passes_its_own_tests_without_any_slice(tmp_path: Path) -> None:
    """A part of them: `python -m tests.core` runs all, and takes some minutes."""
    copy_core(tmp_path)

    ran = run_tests(tmp_path, QUICK)

    assert ran.returncode == 0, ran.stdout[-5000:]
