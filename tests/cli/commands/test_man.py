"""`man`: the manual without man(1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gathercli.cli.generated import page, styled_lines
from gathercli.cli.main import main
from gathercli.cli.registry import COMMANDS

if TYPE_CHECKING:
    from tests.conftest import Run


def test_man_prints_the_page_as_plain_text_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "ops"]) == 0
    out, err = capfd.readouterr()
    assert out == "".join(f"{line}\n" for _, line in styled_lines(page("ops"), 80))
    assert not err


def test_man_in_colour_says_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "ops", "--color", "always"]) == 0
    out = capfd.readouterr().out
    assert "\x1b[1mNAME\x1b[0m\n" in out
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    assert plain == "".join(f"{line}\n" for _, line in styled_lines(page("ops"), 80))


def test_man_suggests_the_nearest_command_for_an_unknown_one(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["man", "gahter"]) == 2
    assert capfd.readouterr().err == (
        f"error: no page `gahter`: expected {', '.join(COMMANDS)}, formats, jobs, operators or "
        "planning\n"
        "hint: did you mean `gathercli man gather`?\n"
    )


@pytest.mark.parametrize("rule", ["index-range", "unreadable", "version"])
def test_man_says_where_a_rule_is_explained(rule: str, run: Run) -> None:
    ran = run("man", rule)

    assert ran.status == 2
    assert ran.err.endswith("hint: `gathercli man` explains the rules, under RULES\n")


@pytest.mark.parametrize("topic", [[], *([name] for name in COMMANDS)], ids=str)
def test_the_manual_has_a_page_for_every_command(topic: list[str], run: Run) -> None:
    ran = run("man", *topic)

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"NAME\n    {'-'.join(['gathercli', *topic])} - ")
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100
