"""Without the folder and the row of a slice, the core does the rest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Core = Callable[..., subprocess.CompletedProcess[str]]

ROOT: Final = Path(__file__).parents[1]


class Given(NamedTuple):
    """What a slice gives: its commands, and lines of the core with an option of its own each."""

    commands: tuple[str, ...]
    lines: tuple[str, ...]


SLICES: Final = {
    "explain": Given(
        ("explain", "demo"),
        (
            "check gather [1,2] 0, --save=x.svg",
            "compare [1,2] 0, --save=x.svg",
            "info [1,2] --save=x.svg",
            "info [1,2] --aspect=1:1",
            "info [1,2] --heat",
            "info [1,2] --window=0",
        ),
    ),
    "models": Given(
        ("model",),
        ("gather [1,2] 0, --feed=0", "check gather [1,2] 0, --sarif=x"),
    ),
    "diagnose": Given(("diagnose",), ()),
    "runtimes": Given(
        ("reproduce",),
        (
            "compare [1,2] 0, --with=numpy",
            "compare [1,2] 0, --allow-absent",
            "translate gather [1,2] 0, --to=numpy --with=numpy",
            "batch --op=gather --data=[1,2] --indices=0, --with=numpy",
            "batch --op=gather --data=[1,2] --indices=0, --allow-absent",
        ),
    ),
    "translate": Given(("translate",), ()),
}

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


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Copy the package without a slice, once for all tests."""
    copies: dict[str, Path] = {}

    def copy(name: str) -> Path:
        if name not in copies:
            copies[name] = folder = tmp_path_factory.mktemp(name)
            package = folder / "gathercli"
            shutil.copytree(
                ROOT / "gathercli", package, ignore=shutil.ignore_patterns("__pycache__", name)
            )
            with (package / "slices.py").open("a", encoding="utf-8") as rows:
                rows.write(f"SLICES = tuple(each for each in SLICES if each.name != {name!r})\n")
            shutil.copy(ROOT / "README.md", folder)
            shutil.copytree(ROOT / "fixtures" / "tour", folder / "fixtures" / "tour")
            np.save(folder / "d.npy", np.arange(6.0).reshape(2, 3))
        return copies[name]

    return copy


def run_module(folder: Path, line: str, *, module: str = "gathercli") -> tuple[int, str]:
    """Run a module of the copy in a folder; return its status and what it prints."""
    ran = subprocess.run(
        [sys.executable, "-m", module, *line.split()],
        cwd=folder,  # from which `-m` imports
        env={**os.environ, "COLUMNS": "80"},  # so that help is made, not shipped
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return ran.returncode, ran.stdout


@pytest.fixture(params=SLICES)
def absent(request: pytest.FixtureRequest) -> str:
    """Name a slice that is absent."""
    return str(request.param)


@pytest.fixture
def core(copied: Callable[[str], Path], absent: str) -> Callable[..., tuple[int, str]]:
    """Return what runs a module without the slice."""
    return partial(run_module, copied(absent))


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_core_runs_without_a_slice(
    line: str, core: Callable[..., tuple[int, str]]
) -> None:
    status, text = core(line)

    assert LINES[line] in text
    assert status == int(line.startswith("check"))  # which finds illegal indices


def test_no_hint_leads_to_an_absent_command(copied: Callable[[str], Path]) -> None:
    status, text = run_module(copied("diagnose"), "gather [1,2] 0, --expect [3]")

    assert status == 1
    assert "diagnose" not in text


def test_commands_and_options_of_an_absent_slice_are_unknown(
    absent: str, core: Callable[..., tuple[int, str]]
) -> None:
    commands, lines = SLICES[absent]

    texts = [core(line) for line in (*commands, *lines)]

    assert texts == [
        *(_unknown(f"no command `{name}`", "gathercli", "commands") for name in commands),
        *(_unknown_option(*line.split()) for line in lines),
    ]


def _unknown_option(command: str, *words: str) -> tuple[int, str]:
    option = words[-1].partition("=")[0]
    return _unknown(f"{command} has no option `{option}`", f"gathercli {command}", "options")


def _unknown(problem: str, command: str, what: str) -> tuple[int, str]:
    return 2, f"error: {problem}\nhint: `{command} --help` lists the {what}\n"


def test_help_and_manual_are_silent_about_an_absent_slice(
    absent: str, core: Callable[..., tuple[int, str]]
) -> None:
    commands, lines = SLICES[absent]
    options = {line.split()[-1].partition("=")[0] for line in lines}
    names = {line.split()[0] for line in lines}

    program, *texts = [core(line) for line in ("--help", *(f"{name} --help" for name in names))]
    texts += [core(f"man {name}") for name in names]

    assert {status for status, _ in (program, *texts)} == {0}
    assert not {*program[1].split()} & {*commands}
    assert not {word for _, text in texts for word in text.split()} & options


def test_manual_help_and_completion_scripts_are_generated_without_a_slice(
    absent: str, core: Callable[..., tuple[int, str]]
) -> None:
    status, text = core("", module="gathercli.cli.manual.generate")

    assert status == 0
    assert "wrote gathercli/cli/help/gathercli.txt" in text
    assert not [name for name in SLICES[absent].commands if f"{name}.1" in text]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("gather fixtures/tour/encoder.onnx#embeddings 1", "the input is an ONNX model: expected "),
        ("info fixtures/tour/encoder.onnx", "the input is an ONNX model: expected "),
        ("batch fixtures/tour/lessons.jsonl", "`$.node` is unknown in a gather job: expected "),
        ("check fixtures/tour/encoder.onnx", "no operator `fixtures/tour/encoder.onnx`: expected "),
    ],
)
def test_models_and_jobs_of_their_nodes_are_refused_without_the_slice_that_reads_them(
    line: str, problem: str, copied: Callable[[str], Path]
) -> None:
    status, text = run_module(copied("models"), line)

    assert status in (2, 65)
    assert problem in text
