"""The help on a terminal."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from gathercli.cli.helptext import MOST_HELP_EXAMPLES
from man.prose import EXAMPLES
from tests.cli.test_helptext import MOST_LINES, by_groups, every_command, every_form

if TYPE_CHECKING:
    from tests.conftest import Program, Run


@every_form
def test_the_help_on_a_terminal_has_at_most_sixty_lines(
    run: Run, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    lines = run(*form, "--help", terminal=(1,)).out.splitlines()

    assert len(lines) <= MOST_LINES


def test_the_help_of_all_options_on_a_terminal_shows_rare_options(run: Run) -> None:
    shown = run("gather", "-h", terminal=(1,)).out
    every = run("gather", "-h", "--all", terminal=(1,)).out

    assert "--scheduler-file" not in shown
    assert "--scheduler-file" in every


@every_command
@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_the_same_groups_and_examples_within_its_width(
    run: Run, command: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")

    out = run(command, "--help", terminal=(1,)).out

    panels = re.findall(r"(?m)^╭─ ([\w ]+?) ─", out)
    plain = by_groups(run(command, "--help").out)
    assert panels == [name for name in plain if name != "Examples"]
    lines = [line.rstrip() for line in out.splitlines()]
    assert max(map(len, lines)) <= width
    for each in EXAMPLES[command][:MOST_HELP_EXAMPLES]:
        assert f" {each.shows}" in lines
        assert f"   {each.command}" in lines


def test_help_on_a_terminal_is_the_rich_view(program: Program) -> None:
    script = "import pty,sys; sys.exit(pty.spawn([sys.executable,'-m','gathercli','gather','-h']))"

    ran = program(f'{sys.executable} -c "{script}"')

    assert ran.returncode == 0
    assert "╭─" in ran.stdout.decode()
