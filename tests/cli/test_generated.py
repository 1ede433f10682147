"""The shipped help is what the declarations say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.cli.registry import COMMANDS

if TYPE_CHECKING:
    from tests.conftest import Program, Run


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_the_shipped_help_is_what_a_pipe_of_its_width_gets(
    words: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = run(*words, "--help")

    monkeypatch.setenv("COLUMNS", "80")  # so that it is made
    made = run(*words, "--help")

    assert shipped == made
    assert shipped.status == 0


@pytest.mark.parametrize(
    "variables",
    ["FORCE_COLOR=1 PY_COLORS=1 GITHUB_ACTIONS=1", "TERMINAL_WIDTH=40", "TYPER_USE_RICH=0"],
)
def test_no_other_variable_changes_the_help_in_a_pipe(variables: str, program: Program) -> None:
    line = f"export {variables}; $G --help; $G gather -h"

    assert program(line).stdout == program(f"export COLUMNS=80; {line}").stdout


def test_the_help_in_a_pipe_is_as_wide_as_columns_says(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = run("gather", "--help").out

    monkeypatch.setenv("COLUMNS", "100")
    wide = run("gather", "--help").out

    assert len(wide.splitlines()) < len(shipped.splitlines())
    assert wide.split() == shipped.split()


@pytest.mark.parametrize(
    "name", ["nosuch", "GATHER", "../help/gather", "gathercli", "", "-", "a" * 5000]
)
def test_the_help_of_no_command_is_refused(name: str, run: Run) -> None:
    ran = run(name, "--help")

    assert (ran.status, ran.out) == (2, "")
