"""Ordinary command lines are parsed without typer, to the values that typer would give."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
import typer

from gathercli.cli import plain
from gathercli.cli.command import Command, Option
from gathercli.cli.group import typer_command
from gathercli.cli.registry import COMMANDS, command_of
from gathercli.errors import GatherError
from tests.test_laws import Dice

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Program = Callable[..., Any]
    Run = Callable[..., Ran]

CHOICES = ("json", "auto", "zero", "wrap", "always", "x")
WORDS = ("0", "x.npy", "-1,0", "[[0,1]]", "-", "", "1.5", "onnx-13")
VALUES = {
    int: ("1", "6", "0", "x", "-1", "1.0", " 2", "1_0", "9" * 5000),
    float: ("0", "1e-3", ".5", "-1", "nan", "-inf", "1e999", " 1"),
}
"""Words for the values of options; not all of them fit."""


def by_typer(command: Command, words: list[str]) -> dict[str, Any] | None:
    """Return the values that typer parses; None if it refuses the words."""
    parsed: list[dict[str, Any]] = []

    class Recorder(Command):
        def request(self, values: dict[str, Any]) -> Any:
            parsed.append(values)

    recorder = Recorder(command.name, command._run)
    try:
        typer_command(recorder, "").main(words, standalone_mode=False)
    except (GatherError, typer.TyperException):
        return None
    return parsed[0] if parsed else None


def texts(values: dict[str, Any] | None) -> dict[str, str]:
    """Return values as text, in which NaN equals NaN."""
    return {name: repr(value) for name, value in (values or {}).items()}


@pytest.mark.parametrize(
    "line",
    [
        "gather [1,2,3] [0,-1]",
        "gather - -1,0 -a 1 -b 1 -V onnx-13 -f json",
        "gather --axis=1 [[1,2]] 0 --out-of-range zero --negative=wrap -q --full",
        "gather x.npy i.npy -o y.npy --rtol 1e-3 --atol 0 -j 2 --precision 3",
        "gather-elements [[1]] [[0]] -a 0 --expect [[1]]",
        "gather-nd [[1]] [[0,0]] --indices-dtype int64",
        "gather-tree a b c d --step-ids-dtype i32",
        "shape gather [2,?] 2x3 -a unknown",
        "shape gather-tree 3x2x4 3x2x4 2 []",
        "explain gather [1] 0 --cell 0 --save a.svg --save b.txt --aspect 16:9",
        "explain --job jobs.jsonl#a",
        "check gather [1] 0 --all --allow-fill",
        "compare [1] 0 --ops gather,onnx-13",
        "batch a.jsonl b.jsonl -j 2 --fail-fast",
        "batch --op gather --data in/*.npy --indices 0 --matrix axis=0,1",
        "convert a.npy b.npz --dtype f32",
        "info a.npy b.npy",
        "demo columns",
        "ops",
        "man",
    ],
)
def test_ordinary_words_have_the_values_that_typer_gives_them(line: str) -> None:
    name, *words = shlex.split(line)
    command = command_of(name)

    values = plain.parse(command, words)

    assert values == by_typer(command, words)


@pytest.mark.parametrize("name", COMMANDS)
def test_random_words_have_the_values_of_typer_or_are_left_to_it(name: str) -> None:
    command, dice = command_of(name), Dice(len(name))
    options = [each for each in command.parameters.values() if isinstance(each, Option)]

    for _ in range(60):
        arguments = range(dice.number(0, 1 + len(command.parameters) - len(options)))
        words = [dice.one_of(["[1,2]", "0", "gather", "-1,0", "bash"]) for _ in arguments]
        for _ in range(dice.number(0, 3) if options else 0):
            option = dice.one_of(options)
            word = dice.one_of(option.names)
            if option.kind is bool:
                words.append(word)
                continue
            value = dice.one_of(CHOICES if option.choices else VALUES.get(option.kind, WORDS))
            words += dice.one_of([[f"{word}={value}"], [word, value]])

        values = plain.parse(command, words)

        assert values is None or texts(values) == texts(by_typer(command, words)), words


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["[1]", "0", "-h"],
        ["[1]"],
        ["[1]", "0", "1"],
        ["[1]", "0", "--axi", "0"],
        ["[1]", "0", "-a1"],
        ["[1]", "0", "-qf", "json"],
        ["[1]", "0", "--axis"],
        ["[1]", "0", "--axis", "--full"],
        ["[1]", "0", "--full=1"],
        ["[1]", "0", "-f", "yaml"],
        ["[1]", "0", "-j", "0"],
        ["[1]", "0", "--precision", "18"],
        ["[1]", "0", "--rtol", "x"],
        ["[1]", "0", "-o", "a.npy", "-o", "b.npy"],
        ["--", "[1]", "0"],
    ],
)
def test_help_and_all_that_is_unusual_is_left_to_typer(words: list[str]) -> None:
    assert plain.parse(command_of("gather"), words) is None


@pytest.mark.parametrize(
    "line", ["check gather [1] 0", "compare [1] 0", "ops", "info [1]", "man check"]
)
def test_an_ordinary_call_does_not_import_typer(program: Program, line: str) -> None:
    ran = program(
        f'{sys.executable} -c "import sys; from gathercli.cli.main import main; '
        f"main({line.split()}); sys.exit('typer' in sys.modules)\""
    )

    assert ran.returncode == 0
