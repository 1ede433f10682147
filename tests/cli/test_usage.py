"""Command lines that are wrong, beside those of the table `usage` of `tests.messages`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.cli.hints import suggest
from gathercli.cli.main import _parse
from gathercli.cli.registry import COMMANDS
from gathercli.errors import GatherError
from tests.conftest import only_error

if TYPE_CHECKING:
    from tests.conftest import Run


TO_OPTIONS: Final = "`gathercli gather --help` lists the options"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("demo", "batch")])
def test_a_command_without_its_arguments_shows_an_example(command: str, run: Run) -> None:
    ran = run(command)

    if ran.status:
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.splitlines()[0].startswith("error: `")
        assert " is missing: expected " in ran.err
        assert f"`gathercli {command} " in ran.err or command == "completion"


@pytest.mark.parametrize(
    ("line", "expected", "example"),
    [
        ("translate gather [1] 0", "expected onnx, openvino, torch", "--to onnx-13"),
        ("translate gather [1] 0 -o y.py", "expected onnx, openvino, torch", "--to torch"),
        ("reproduce gather [1] 0 -o x", "expected jax, numpy, ", "--for numpy"),
        ("reproduce gather [1] 0", "expected jax, numpy, ", "--for numpy --output new"),
    ],
)
def test_a_missing_option_is_added_to_the_line(
    line: str, expected: str, example: str, run: Run
) -> None:
    ran = run(*line.split())

    assert f" is missing: {expected}" in ran.err
    assert f"hint: `{shlex.join(['gathercli', *line.split()])} {example}` is an example" in ran.err


def test_only_the_option_is_suggested_if_arguments_are_missing(run: Run) -> None:
    ran = run("gather", "[1]", "--quite")

    assert ran.err.splitlines()[1] == "hint: did you mean `--quiet`?"


def test_a_long_command_line_is_not_repeated_in_a_hint(run: Run) -> None:
    ran = run("gather", "[1]", ",".join(["0"] * 1000), "--axes", "0")

    assert ran.err == f"error: gather has no option `--axes`\nhint: {TO_OPTIONS}\n"


WORDS: Final = """
[1, 2] [1,2] 0 -1 1, { } =[ --axis -a -axis - -- --- --=1 -= -qz -v -V -Vonnx --version --version=
torch.gather np.take onnx.Gather-13 gather gathr --job --op -f -fxml -f=json --diff 8 opset 17
--quiet=1 --json-errors --no-such --AXIS -A é `rm` -qo -oq -j0 --precision 99 --color red axis=0
""".split()  # noqa: SIM905


@given(
    st.sampled_from([*COMMANDS, "help", "torch.gather", "-1", "--no-such"]),
    st.lists(st.sampled_from(WORDS), max_size=6),
)
def test_any_words_are_parsed_or_refused_in_our_words(first: str, rest: list[str]) -> None:
    words, refusals = [first, *rest], list[GatherError]()

    try:
        _parse(words)
    except GatherError as error:
        refusals.append(error)

    for refusal in refusals:
        assert refusal.rule in {"usage", "dtype", "version"}
        assert "\n" not in refusal.message + (suggest(words, refusal) or refusal.hint or "")


def test_the_example_for_missing_indices_has_the_typed_data(run: Run) -> None:
    ran = run("gather", "[1,2]")

    assert ran.err.splitlines()[1] == (
        "hint: `gathercli gather '[1,2]' 0,` is an example, "
        "and `-` reads INDICES from standard input"
    )


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["gather", "[1]", "0", "--axsi", "1"], "--axis"),
        (["gather", "[1]", "0", "--outptu", "x"], "--output"),
        (["gather-element", "[1]", "0"], "gather-elements"),
        (["shap", "gather"], "shape"),
        (["gather", "[1]", "0", "-V", "openvino.Gather-9"], "`-V openvino-9`"),
        (["translate", "gather", "[1]", "0", "--to", "tf"], "`gathercli translate gather '[1]' 0"),
        (["reproduce", "gather", "[1]", "0", "-o", "x", "--for", "tf"], "`tensorflow`"),
    ],
)
def test_a_misspelt_word_gets_the_nearest_name(words: list[str], near: str, run: Run) -> None:
    ran = run(*words)
    assert ran.status == 2
    only_error(ran)
    assert near in ran.err.replace(words[-1], "")


@pytest.mark.parametrize(
    "words",
    [
        ["--negative", "foo"],
        ["--out-of-range", "foo"],
        ["--nonfinite", "foo"],
        ["--color", "maybe"],
        ["--precision", "0"],
        ["--precision", "x"],
        ["--rtol", "x"],
        ["--max-bytes", "-1"],
        ["--max-bytes", ""],
        ["--max-bytes", "1.5G"],
        ["--indices-dtype", "int65"],
        ["-Z"],
        ["--nosuch"],
    ],
)
def test_a_value_that_an_option_does_not_take_is_a_usage_error(words: list[str], run: Run) -> None:
    ran = run("gather", "[1]", "0", *words)
    assert ran.status == 2
    only_error(ran)


@pytest.mark.parametrize("words", [["--axes", "1"], ["--dim=1"], ["axis=1"]])
def test_an_operator_without_an_axis_suggests_none(words: list[str], run: Run) -> None:
    ran = run("gather-nd", "arange:2x2", "1,1", *words)

    assert ran.err.splitlines()[1] == "hint: `gathercli gather-nd --help` lists the options"


def test_an_argument_too_many_is_no_axis_of_a_command_without_one(run: Run) -> None:
    ran = run("gather-nd", "arange:2x3", "[[1]]", "0")

    assert (ran.status, ran.err) == (
        2,
        "error: `0` is one argument too many: expected DATA and INDICES\n"
        "hint: `gathercli gather-nd --help` lists the options\n",
    )
