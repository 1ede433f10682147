"""The help of every command: its groups, its examples, on a terminal and in a pipe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from gathercli.cli.groups import GROUPS
from gathercli.cli.main import COMMANDS, load
from gathercli.cli.manual.examples import EXAMPLES, HELPFUL
from gathercli.io.formats.table import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]

every_command = pytest.mark.parametrize("command", COMMANDS)


def options(command: str) -> list[Any]:
    """Return the options of a command that its help shows."""
    found: list[Any] = [p for p in load(command).params if p.param_type_name == "option"]
    return [param for param in found if not param.hidden]


def by_groups(text: str) -> dict[str, list[str]]:
    """Read plain help: the long names of options under each heading."""
    groups: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if heading := re.fullmatch(r"(\w[\w ]*):", line):
            name = heading[1]
            groups[name] = []
        elif name and (found := re.match(r"  (?:-\w, )?(--[\w-]+)", line)):
            groups[name].append(found[1])
    return groups


@every_command
def test_every_option_stands_in_its_group_and_the_groups_in_their_order(
    run: Run, command: str
) -> None:
    groups = by_groups(run(command, "--help").out)

    shown = [name for name in groups if name in GROUPS]
    assert shown == [name for name in GROUPS if name in shown]
    assert set(groups) == {"Arguments", *shown, "Examples"}
    for param in options(command):
        assert max(param.opts, key=len) in groups[param.rich_help_panel]
    assert groups["Messages"][-1] == "--help"
    assert sum(map(len, groups.values())) == len(options(command)) + 1


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
    for each in EXAMPLES[command][:HELPFUL]:
        assert f" {each.shows}" in lines
        assert f"   {each.command}" in lines


@every_command
def test_the_help_has_three_examples_that_fit_a_line(run: Run, command: str) -> None:
    assert len(EXAMPLES[command]) >= HELPFUL == 3
    shown = EXAMPLES[command][:HELPFUL]
    assert max(len(each.command) for each in shown) <= 76
    assert all(each.shows for each in shown)

    out = run(command, "-h").out

    said = "".join(f"  {each.shows}\n    {each.command}\n" for each in shown)
    assert f"\nExamples:\n{said}\n" in out


def test_data_and_output_name_every_format_there_is(run: Run) -> None:
    words = " ".join(run("gather", "--help").out.split())
    data = words.partition(" DATA A file (")[2].partition("), a literal")[0]
    output = words.partition("the suffix picks ")[2].partition("; - is stdout")[0]

    suffixes = {each.suffix for name, each in FORMATS.items() if name != "literal"}
    assert set(re.findall(r"\.[a-z]+", data)) == suffixes
    assert set(re.findall(r"\.[a-z]+", output)) == suffixes
    several = {each.suffix for each in FORMATS.values() if each.several} | {".zarr"}
    assert set(re.findall(r"(\.[a-z]+)#name", data)) == several


def test_help_does_not_offer_an_attribute_that_no_version_has(run: Run) -> None:
    words = ("gather-elements", "[[1,2]]", "[[0,1]]", "-a", "1")

    assert "--batch-dims" in run("gather", "--help").out
    assert "--batch-dims" not in run("gather-elements", "--help").out
    assert "--batch-dims" not in run("gather-elements", "--help", terminal=(1,)).out
    assert "rule: batch-dims-unsupported\n" in run(*words, "-b", "1").err
