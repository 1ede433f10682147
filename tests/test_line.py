"""The words of a command line: options, values and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.cli.line import CommandLine
from gathercli.cli.registry import command_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]


def test_a_command_line_is_read_as_options_values_and_arguments() -> None:
    words = ["a.npy", "-1,0", "-qo", "x", "--axis", "-1", "-a0", "--diff", "--", "-V"]

    line = CommandLine.of(command_of("gather"), words)

    assert line.arguments == ["a.npy", "-1,0", "-V"]
    assert line.options == ["-qo", "x", "--axis", "-1", "-a0", "--diff", "--"]
    assert [word.option for word in line.words if word.is_value] == ["-o", "--axis"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("gather 1,2 0 -o a.npy --output=b.npy", "--output"),
        ("gather 1,2 0 -qo a.npy -ob.npy", "--output"),
        ("gather-tree a b c d --expect 1, --expect 1,", "--expect"),
        ("explain gather 1,2 0,1 --cell 0 --cell=1", "--cell"),
        ("batch --op gather --data 1,2 --indices 0 -o a -o b", "--output"),
    ],
)
def test_a_second_output_expectation_or_cell_is_refused(words: str, name: str, run: Run) -> None:
    ran = run(*words.split())

    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: `{name}` is given twice: expected it once\n"


def test_the_last_value_of_other_options_counts(run: Run) -> None:
    ran = run("gather", "1,2", "0", "-f", "json", "--axis=9", "-a", "0", "-f", "literal")

    assert ran.out == "xi64=1\n"
