"""Words have the values that typer gives them by the same declarations, and no line imports it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
import typer

from gathercli.cli import parser
from gathercli.cli.parser import CommandLine
from gathercli.cli.registry import COMMANDS, command_of
from gathercli.cli.typerhelp import function_of
from tests.house import absent_slice
from tests.random_calls import Dice

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.cli.declarations import Command
    from tests.conftest import Run

    Program = Callable[..., Any]


CHOICES = ("json", "auto", "zero", "wrap", "always", "x", "")
WORDS = ("0", "x.npy", "-1,0", "[[0,1]]", "-", "", "1.5", "onnx-13", "--full", "-q")
VALUES = {
    int: ("1", "6", "0", "x", "-1", "", "--full"),
    float: ("0", "1e-3", ".5", "-1", "x", "inf"),
}
"""Words for the values of options; not all of them fit."""


def by_typer(command: Command, words: list[str]) -> dict[str, Any] | None:
    """Return the values that typer parses; None if it refuses the words."""
    parsed: list[dict[str, Any]] = []
    function = function_of(command.parameters)

    def record(**values: Any) -> None:
        parsed.append(values)

    record.__signature__ = function.__signature__  # type: ignore[attr-defined]
    record.__annotations__ = {}
    app = typer.Typer(add_completion=False)
    app.command()(record)
    with pytest.raises(SystemExit):
        app(words)
    return parsed[0] if parsed else None


def parsed(command: Command, words: list[str]) -> dict[str, Any] | None:
    """Return the values that the parser finds; None if it refuses the words."""
    try:
        return parser.parse(command.parameters, words)
    except parser.WordsError:
        return None


@pytest.mark.parametrize(
    "line",
    [
        "gather -- -1,0 -a",
        "gather -a1 -qf json -V onnx-13 - i.npy",
        "gather --axis=1 [[1,2]] 0 --out-of-range zero --negative=wrap -q --full",
        "gather x.npy i.npy -o y.npy --rtol 1e-3 --atol 0 -j 2 --precision 3",
        "gather x.npy i.npy -a 0 --axis 1 --precision x --precision 3 -- ",
        "gather-elements [[1]] [[0]] -a 0 --expect --full",
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
        "ops --diff openvino-7 -8",
        "ops --diff=openvino-7 openvino-8",
        "man",
    ],
)
def test_words_have_the_values_that_typer_gives_them(line: str) -> None:
    name, *words = shlex.split(line)
    if absent := absent_slice([name, *words]):
        pytest.skip(f"the package is without {absent}")
    command = command_of(name)

    values = parsed(command, words)

    assert values is not None
    assert values == by_typer(command, words)


@pytest.mark.parametrize("name", COMMANDS)
def test_random_words_have_the_values_of_typer_or_both_refuse_them(name: str) -> None:
    command, dice = command_of(name), Dice(len(name))
    options = [option for option in command.options if not option.once]  # which typer lacks

    for _ in range(12):
        taken = range(dice.number(0, 1 + len(command.arguments)))
        arguments = [dice.one_of(["[1,2]", "0", "gather", "-1,0", "bash"]) for _ in taken]
        words = []
        for _ in range(dice.number(0, 3) if options else 0):
            option = dice.one_of(options)
            word = dice.one_of(option.names)
            if option.kind is bool:
                words.append(dice.one_of([word, word, f"{word}=1"]))
                continue
            value = dice.one_of(CHOICES if option.choices else VALUES.get(option.kind, WORDS))
            attached = f"{word}={value}" if word.startswith("--") else f"{word}{value or 0}"
            more = [value] * (option.count - 1)
            words += dice.one_of([[attached, *more], [word, value, *more]])

        found = parsed(command, [*arguments, *words])

        assert found == by_typer(command, [*words, "--", *arguments]), (arguments, words)


@pytest.mark.parametrize("word", ["1.0", "9" * 5000, "1e2", "nan", "٣x"])
def test_an_integer_is_what_python_reads_as_one(word: str) -> None:
    with pytest.raises(parser.WordsError) as caught:
        parser.parse(command_of("gather").parameters, ["[1]", "0", "--precision", word])

    assert caught.value.problem == parser.Problem.WRONG_VALUE


@pytest.mark.parametrize("value", ["nan", "-inf", "-0.5"])
def test_a_tolerance_that_is_not_a_number_from_0_on_is_refused(value: str, run: Run) -> None:
    ran = run("gather", "[1]", "0", "--expect", "[1]", "--rtol", value)

    assert ran.status == 2
    assert f"`--rtol` is `{value}`: expected a number from 0 on" in ran.err


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["check", "gather", "[1]", "0"], 0),
        (["compare", "[1]", "0"], 0),
        (["man", "check"], 0),
        (["gather", "[1]", "0", "-qa0"], 0),
        (["gather", "[1]", "0", "--help"], 0),
        (["gather", "[1]", "0", "--axes", "0"], 2),
        (["gather", "[1]"], 2),
        (["gather", "[1]", "7", "-V", "onnx-13"], 65),
        (["nosuch"], 2),
        (["-V"], 2),
    ],
)
def test_no_line_in_a_pipe_imports_typer(program: Program, words: list[str], status: int) -> None:
    ran = program(
        f'{sys.executable} -c "import sys; from gathercli.cli.main import main; '
        f"status = main({words}); sys.exit(99 if 'typer' in sys.modules else status)\""
    )

    assert ran.returncode == status


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
