"""The words of a command line: options, values and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.cli.line import CommandLine
from gathercli.cli.registry import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]


def test_a_command_line_is_read_as_options_values_and_arguments() -> None:
    words = ["a.npy", "-1,0", "-qo", "x", "--axis", "-1", "-a0", "--diff", "--", "-V"]

    line = CommandLine.read("gather", load("gather").params, words)

    assert line.arguments == ["a.npy", "-1,0", "-V"]
    assert line.options == ["-qo", "x", "--axis", "-1", "-a0", "--diff", "--"]
    assert [word.option for word in line.words if word.is_value] == ["-o", "--axis"]
