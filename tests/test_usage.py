"""Command lines that are wrong: what is said, and the line that was probably meant."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.cli.line import CommandLine
from gathercli.cli.main import COMMANDS, _parse, load
from gathercli.cli.suggest import suggest
from gathercli.errors import GatherError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]

TO_OPTIONS: Final = "`gathercli gather --help` lists the options"
PROGRAM: Final = "`gathercli --version` prints the program's version"


def meant(line: str) -> str:
    return f"did you mean `{line}`?"


WRONG: Final[dict[str, tuple[str, str]]] = {
    # options
    "gather [1] 0 -axis 0": (
        "`-axis` has one dash: expected `--axis`",
        meant("gathercli gather '[1]' 0 --axis 0"),
    ),
    "gather [1] 0 -axis=0": (
        "`-axis` has one dash: expected `--axis`",
        meant("gathercli gather '[1]' 0 --axis=0"),
    ),
    "gather [1] 0 -format json": (
        "`-format` has one dash: expected `--format`",
        meant("gathercli gather '[1]' 0 --format json"),
    ),
    "gather [1] 0 -quiet": (
        "`-quiet` has one dash: expected `--quiet`",
        meant("gathercli gather '[1]' 0 --quiet"),
    ),
    "gather [1] 0 --axes 0": (
        "gather has no option `--axes`",
        meant("gathercli gather '[1]' 0 --axis 0"),
    ),
    "gather [1] 0 --axes=0": (
        "gather has no option `--axes`",
        meant("gathercli gather '[1]' 0 --axis=0"),
    ),
    "gather [1] 0 --dim 0": (
        "gather has no option `--dim`",
        meant("gathercli gather '[1]' 0 --axis 0"),
    ),
    "gather [[1]] [[0]] --batch_dims 1 -a 1": (
        "gather has no option `--batch_dims`",
        meant("gathercli gather '[[1]]' '[[0]]' --batch-dims 1 -a 1"),
    ),
    "gather [1] 0 --out_of_range=zero": (
        "gather has no option `--out_of_range`",
        meant("gathercli gather '[1]' 0 --out-of-range=zero"),
    ),
    "gather [1] 0 --AXIS 0": (
        "gather has no option `--AXIS`",
        meant("gathercli gather '[1]' 0 --axis 0"),
    ),
    "gather [1] 0 --opset 13": (
        "gather has no option `--opset`",
        meant("gathercli gather '[1]' 0 --version onnx-13"),
    ),
    "gather [1] 0 --quite": (
        "gather has no option `--quite`",
        meant("gathercli gather '[1]' 0 --quiet"),
    ),
    "gather [1] 0 -A 0": (
        "gather has no option `-A`",
        meant("gathercli gather '[1]' 0 -a 0"),
    ),
    "gather [1] 0 -v onnx": (
        "gather has no option `-v`",
        meant("gathercli gather '[1]' 0 -V onnx"),
    ),
    "gather [1] 0 -v": (
        "gather has no option `-v`",
        f"{PROGRAM}; `gathercli ops` lists what `-V` takes",
    ),
    "gather -v [1] 0": (
        "gather has no option `-v`",
        f"{PROGRAM}; `gathercli ops` lists what `-V` takes",
    ),
    "gather [1] 0 -aa 0": (
        "`0` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather '[1]' 0 -a 0"),
    ),
    "gather -bx 0 [1] 0": (
        "`0` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather -b 0 '[1]' 0"),
    ),
    "gather --all": ("gather has no option `--all`", TO_OPTIONS),
    "gather [1] 0 --axes --quiet": ("gather has no option `--axes`", TO_OPTIONS),
    "gather --axes 0 [1] 0": (
        "gather has no option `--axes`",
        meant("gathercli gather --axis 0 '[1]' 0"),
    ),
    "gather [1] 0 -V": (
        "`-V` has no value: expected `-V VERSION`",
        f"{PROGRAM}; `gathercli ops` lists what `-V` takes",
    ),
    "gather [1] 0 --opset 12 --dim 0": (
        "gather has no option `--opset`",
        meant("gathercli gather '[1]' 0 --version onnx-12 --axis 0"),
    ),
    "gather [1] 9 --fill zero": (
        "gather has no option `--fill`",
        meant("gathercli gather '[1]' 9 --out-of-range zero"),
    ),
    "gather [1] 9 --mode clip": (
        "gather has no option `--mode`",
        meant("gathercli gather '[1]' 9 --out-of-range clamp"),
    ),
    "gather [1] 9 --mode=wrap": (
        "gather has no option `--mode`",
        meant("gathercli gather '[1]' 9 --out-of-range=wrap"),
    ),
    "gather [1] 0 --mode raise": (
        "gather has no option `--mode`",
        meant("gathercli gather '[1]' 0 --out-of-range error"),
    ),
    "gather [1] 0 --out-of-range clip": (
        "`--out-of-range` is `clip`: expected spec, error, zero, clamp or wrap",
        meant("gathercli gather '[1]' 0 --out-of-range clamp"),
    ),
    "gather [1] 0 --to json": (
        "gather has no option `--to`",
        meant("gathercli gather '[1]' 0 --format json"),
    ),
    "gather [1] 0 --axis:0": (
        "gather has no option `--axis:0`",
        meant("gathercli gather '[1]' 0 --axis=0"),
    ),
    "gather [1] 0 axis=0": (
        "`axis=0` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather '[1]' 0 --axis=0"),
    ),
    "gather [1] 0 \u2014axis 0": (
        "`\u2014axis` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather '[1]' 0 --axis 0"),
    ),
    "gather [1] 0 -a=0": (
        "`-a=0` has an equals sign: expected `-a 0`",
        meant("gathercli gather '[1]' 0 -a 0"),
    ),
    "gather [1] 0 -help": (
        "`-help` has one dash: expected `--help`",
        meant("gathercli gather '[1]' 0 --help"),
    ),
    "-help": ("`-help` has one dash: expected `--help`", meant("gathercli --help")),
    "explain gather [1] 0 -o pic.svg": (
        "explain has no option `-o`",
        meant("gathercli explain gather '[1]' 0 --save pic.svg"),
    ),
    "explain gather [1] 0 --format svg": (
        "`--format` is `svg`: expected auto, pretty or json",
        meant("gathercli explain gather '[1]' 0 --save picture.svg"),
    ),
    "explain gather [1] 0 --save pic.png": (
        "the suffix of `pic.png` names no picture: expected .svg, .html or .txt",
        meant("gathercli explain gather '[1]' 0 --save pic.svg"),
    ),
    "convert [1] -o o.json": (
        "convert has no option `-o`",
        meant("gathercli convert '[1]' o.json"),
    ),
    "convert --out o.json [1]": (
        "convert has no option `--out`",
        meant("gathercli convert '[1]' o.json"),
    ),
    "check --job x.jsonl#two": (
        "check has no option `--job`",
        meant("gathercli explain --job 'x.jsonl#two'"),
    ),
    # arguments of other orders
    "compare gather [1,2] 0": (
        "`0` is one argument too many: expected DATA and INDICES",
        meant("gathercli compare '[1,2]' 0"),
    ),
    "gather 1 2 3 0 1": (
        "`3` is one argument too many: expected DATA and INDICES",
        "a list of numbers is one word, as in "
        "`gathercli gather '[1,2,3,4,5]' '[3,10,-20]' --quiet`",
    ),
    "gather arange:2x2 1 [0,1]": (
        "`[0,1]` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather arange:2x2 '[0,1]' -a 1"),
    ),
    "gather [1] 0 o.npy": (
        "`o.npy` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather '[1]' 0 -o o.npy"),
    ),
    "scatter [1] 0": (
        "no command `scatter`: it writes where a gather reads, and no operator here does",
        "`gathercli --help` lists the commands",
    ),
    "scatter-elements [1] 0": (
        "no command `scatter-elements`: it writes where a gather reads, and no operator here does",
        "`gathercli --help` lists the commands",
    ),
    "gather [1] 0 --nosuch": ("gather has no option `--nosuch`", TO_OPTIONS),
    "gather [1] 0 -qz": ("gather has no option `-z`", TO_OPTIONS),
    "gather [1] 0 --axis": ("`--axis` has no value: expected `--axis INT`", TO_OPTIONS),
    "ops --diff 8": (
        "`--diff` has no value: expected `--diff A B`",
        "`gathercli ops --help` lists the options",
    ),
    "gather [1] 0 --quiet=1": (
        "`--quiet` is given a value, `1`: expected none",
        meant("gathercli gather '[1]' 0 --quiet"),
    ),
    # values
    "gather [1] 0 -f jsn": (
        "`-f` is `jsn`: expected auto, pretty, json, oip, npy or literal",
        meant("gathercli gather '[1]' 0 -f json"),
    ),
    "gather [1] 0 -qfjsn": (
        "`-f` is `jsn`: expected auto, pretty, json, oip, npy or literal",
        meant("gathercli gather '[1]' 0 -qfjson"),
    ),
    "gather [1] 0 --negative=WRAP": (
        "`--negative` is `WRAP`: expected spec, wrap or error",
        meant("gathercli gather '[1]' 0 --negative=wrap"),
    ),
    "gather [1] 0 --precision x": (
        "`--precision` is `x`: expected an integer from 1 to 17",
        TO_OPTIONS,
    ),
    "gather [1] 0 --rtol -1": ("`--rtol` is `-1`: expected a number from 0 on", TO_OPTIONS),
    "gather [1] 0 -j 0": ("`-j` is `0`: expected an integer from 1 on", TO_OPTIONS),
    "completion bsh": (
        "`SHELL` is `bsh`: expected bash, zsh or fish",
        meant("gathercli completion bash"),
    ),
    # what a shell took apart
    "gather [1, 2, 3] [0, 1]": (
        "`3]` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather '[1, 2, 3]' '[0, 1]'"),
    ),
    "gather [[1, 2], [3, 4]] 0 -a 1": (
        "`[3,` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather '[[1, 2], [3, 4]]' 0 -a 1"),
    ),
    "gather 2x2xi32=[[1 2][3 4]] 0": (
        "`4]]` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather '2x2xi32=[[1 2][3 4]]' 0"),
    ),
    "gather arange:5 0, 0, 4": (
        "`0,` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather arange:5 0,0,4"),
    ),
    "gather arange:5 -1 0 4": (
        "`0` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather arange:5 -1,0,4"),
    ),
    "gather arange:5 3 0": (
        "`0` is one argument too many: expected DATA and INDICES",
        "did you mean `gathercli gather arange:5 3,0` or `gathercli gather arange:5 3 --axis 0`?",
    ),
    "gather arange:2x5 [0,1] 1": (
        "`1` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather arange:2x5 '[0,1]' --axis 1"),
    ),
    "gather arange:5 0 -V opset 13": (
        "`13` is one argument too many: expected DATA and INDICES",
        meant("gathercli gather arange:5 0 -V 'opset 13'"),
    ),
    "explain gather [1, 2] [0]": (
        "`[0]` is one argument too many: expected OP, DATA and INDICES",
        meant("gathercli explain gather '[1, 2]' '[0]'"),
    ),
    "demo gather columns": (
        "`columns` is one argument too many: expected [NAME]",
        "`gathercli demo --help` lists the options",
    ),
    # commands
    "-v": ("gathercli has no option `-v`", PROGRAM),
    "-1 0": ("gathercli has no option `-1`", "`gathercli --help` lists the commands"),
    "-V": ("gathercli has no option `-V`", PROGRAM),
    "version": ("no command `version`", meant("gathercli --version")),
    "--verson": ("gathercli has no option `--verson`", meant("gathercli --version")),
    "-V onnx-13 gather [1] 0": (
        "gathercli has no option `-V`",
        meant("gathercli gather '[1]' 0 -V onnx-13"),
    ),
    "GatherElements [1] [0] -a 0": (
        "no command `GatherElements`",
        meant("gathercli gather-elements '[1]' '[0]' -a 0"),
    ),
    "onnx.Gather-11 [1] 0": (
        "no command `onnx.Gather-11`: it is gather of version onnx-11",
        meant("gathercli gather '[1]' 0 -V onnx-11"),
    ),
    "explain OpenVINO.Gather [1] 0": (
        "no operator `OpenVINO.Gather`: it is gather of version openvino-8",
        meant("gathercli explain gather '[1]' 0 -V openvino-8"),
    ),
    "gather_nd [1] 0": (
        "no command `gather_nd`: it is GatherND, whose indices address several axes at once",
        "`gathercli --help` lists the commands",
    ),
    "hepl": ("no command `hepl`", meant("gathercli help")),
    "help gathr": ("no command `gathr`", meant("gathercli help gather")),
    "help gather shape": ("`help` is given `gather shape`: expected one command", ""),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_line_is_answered_by_the_right_one(line: str, run: Run) -> None:
    message, hint = WRONG[line]
    hint = hint or "`gathercli help gather`"

    assert run(*line.split()) == (2, "", f"error: {message}\nhint: {hint}\n")


@pytest.mark.parametrize("line", [line for line, (_, hint) in WRONG.items() if "did you" in hint])
def test_the_line_that_is_meant_works_as_it_is_printed(line: str, run: Run, folder: Path) -> None:
    (folder / "x.jsonl").write_text('{"id":"two","op":"gather","data":[1],"indices":[0]}\n')

    for words in WRONG[line][1].split("`")[1::2]:
        ran = run(*shlex.split(words)[1:])

        assert ran.status == 0
        assert ran.out or any((folder / word).exists() for word in shlex.split(words))


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("demo", "batch")])
def test_a_command_without_its_arguments_shows_an_example(command: str, run: Run) -> None:
    ran = run(command)

    if ran.status:
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.splitlines()[0].startswith("error: `")
        assert " is missing: expected " in ran.err
        assert f"`gathercli {command} " in ran.err or command == "completion"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["explain", "gather", "[1,", "2]"],
            "a shell takes words apart at blanks: `'[1, 2]'` is one",
        ),
        (["gather", "[1,", "2]"], "a shell takes words apart at blanks: `'[1, 2]'` is one"),
        (
            ["compare", "arange:5", "[0", "1]", "-a", "0", "--rtol"],
            "`gathercli compare --help` lists the options",
        ),
    ],
)
def test_a_list_that_was_taken_apart_is_seen_even_if_it_fills_the_arguments(
    words: list[str], hint: str, run: Run
) -> None:
    assert f"hint: {hint}\n" in run(*words).err


def test_help_is_the_help_of_the_program_or_of_a_command(run: Run) -> None:
    program, command = run("--help"), run("shape", "--help")

    assert (program.status, program.err) == (0, "")
    assert run() == run("--") == run("help") == program
    assert run("help", "shape") == command


def test_an_option_is_meant_alone_where_arguments_are_missing(run: Run) -> None:
    ran = run("gather", "[1]", "--quite")

    assert ran.err.splitlines()[1] == "hint: did you mean `--quiet`?"


def test_help_of_help_is_that_of_the_program(run: Run) -> None:
    assert run("help", "help") == run("help")


def test_the_end_of_a_text_is_no_value_in_json(run: Run) -> None:
    error = json.loads(run("gather", "[1,", "0", "--json-errors").err)

    assert " where the text has its end: " in error["error"]
    assert error["value"] is None


def test_a_usage_error_in_json_names_value_and_expectation(run: Run) -> None:
    found = json.loads(run("gather", "[1]", "0", "-f", "jsn", "--json-errors").err)

    assert (found["value"], found["expected"]) == (
        "jsn",
        "auto, pretty, json, oip, npy or literal",
    )
    assert found["hint"] == meant("gathercli gather '[1]' 0 -f json --json-errors")


def test_a_command_line_that_is_too_long_to_read_is_not_repeated(run: Run) -> None:
    ran = run("gather", "[1]", ",".join(["0"] * 1000), "--axes", "0")

    assert ran.err == f"error: gather has no option `--axes`\nhint: {TO_OPTIONS}\n"


def test_options_their_values_and_arguments_are_told_apart() -> None:
    words = ["a.npy", "-1,0", "-qo", "x", "--axis", "-1", "-a0", "--diff", "--", "-V"]

    line = CommandLine.read("gather", load("gather").params, words)

    assert line.arguments == ["a.npy", "-1,0", "-V"]
    assert line.options == ["-qo", "x", "--axis", "-1", "-a0", "--diff", "--"]
    assert [word.option for word in line.words if word.is_value] == ["-o", "--axis"]


WORDS: Final = """
[1, 2] [1,2] 0 -1 1, { } =[ --axis -a -axis - -- --- --=1 -= -qz -v -V -Vonnx --version --version=
torch.gather np.take onnx.Gather-13 gather gathr --job --op -f -fxml -f=json --diff 8 opset 17
--quiet=1 --json-errors --no-such --AXIS -A é `rm` -qo -oq -j0 --precision 99 --color red axis=0
""".split()  # noqa: SIM905


@given(
    st.sampled_from([*COMMANDS, "help", "torch.gather", "-1", "--no-such"]),
    st.lists(st.sampled_from(WORDS), max_size=6),
)
def test_whatever_is_typed_is_read_or_refused_in_our_words(first: str, rest: list[str]) -> None:
    words, refusals = [first, *rest], list[GatherError]()

    try:
        _parse(words)
    except GatherError as error:
        refusals.append(error)

    for refusal in refusals:
        assert refusal.rule in {"usage", "dtype", "version"}
        assert "\n" not in refusal.message + (suggest(words, refusal) or refusal.hint or "")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("token", "meaning"),
    [
        ("np.arange(12).reshape(3,4)", "arange:3x4"),
        ("arange(5)", "arange:5"),
        ("range(5)", "arange:5"),
        ("zeros((3, 4))", "zeros:3x4"),
        ("zeros:[3,4]", "zeros:3x4"),
        ("\u201c1,2\u201d", "1,2"),
        ("\u2018x.npy\u2019", "x.npy"),
        ('"x.npy"', "x.npy"),
    ],
)
def test_a_tensor_in_the_words_of_python_or_in_odd_quotes_is_translated(
    token: str, meaning: str, run: Run
) -> None:
    run("convert", "[1]", "x.npy")

    ran = run("gather", token, "0")

    assert ran.status in (65, 66)
    assert f"hint: did you mean `{meaning}`?\n" in ran.err
    assert run("gather", meaning, "0").status == 0


def test_a_shape_without_values_and_an_empty_name_are_refused_in_plain_words(run: Run) -> None:
    shape, empty = run("gather", "3x4xf32", "0"), run("gather", "", "0")

    assert "hint: there are `arange:3x4xf32`, `zeros:3x4xf32` and `rand:3x4xf32`\n" in shape.err
    assert empty.err.startswith("error: `data`: the name of the file is empty: expected a file, ")


def test_a_list_that_may_be_indices_is_a_shape_with_a_note(run: Run) -> None:
    odd, plain = run("shape", "gather", "[4,3]", "0,3,0"), run("shape", "gather", "[4,3]", "1,2")

    note = "note: `0,3,0` was read as a shape; indices of these values have the shape `[3]`\n"
    assert odd == (0, "[0,3,0,3]\n", note)
    assert plain == (0, "[1,2,3]\n", "")


def test_none_in_a_shape_is_an_unknown_size(run: Run) -> None:
    assert run("shape", "gather", "[None,3]", "[2]", "-a", "1").out == "[?,2]\n"


@pytest.mark.parametrize("command", ["explain", "check", "shape"])
def test_an_operator_that_was_forgotten_is_put_in_its_place(command: str, run: Run) -> None:
    ran = run(command, "[[1]]", "[[0]]")

    line = f"gathercli {command} gather '[[1]]' '[[0]]'"
    assert ran.err.splitlines()[1] == f"hint: did you mean `{line}`?"
    assert run(*shlex.split(line)[1:]).status == 0


def test_a_word_that_names_a_lesson_is_explained_by_it(run: Run) -> None:
    ran = run("explain", "batch_dims")

    assert ran.err.splitlines()[1] == "hint: did you mean `gathercli demo batch-dims`?"
    assert run("demo", "batch-dims").status == 0


def test_missing_indices_have_an_example_with_the_data_that_was_typed(run: Run) -> None:
    ran = run("gather", "[1,2]")

    assert ran.err.splitlines()[1] == (
        "hint: `gathercli gather '[1,2]' 0,` is an example, "
        "and `-` reads INDICES from standard input"
    )


def test_a_job_of_several_is_chosen_by_its_id(run: Run, folder: Path) -> None:
    job = {"op": "gather", "data": [1], "indices": [0]}
    jobs = [json.dumps({"id": name} | job) + "\n" for name in ("one", "two")]
    (folder / "jobs.jsonl").write_text("".join(jobs))

    ran = run("explain", "--job", "jobs.jsonl")

    assert ran.err.splitlines()[1] == "hint: `--job 'jobs.jsonl#one'` is the first"
    assert run("explain", "--job", "jobs.jsonl#one").status == 0


@pytest.mark.parametrize(
    ("member", "hint"),
    [
        ('"op":"gather_elements"', 'did you mean "gather-elements"?'),
        ('"op":"take"', '`gather` with `"version":"onnx-13"`'),
        ('"op":"gather","dim":0', 'did you mean "axis"?'),
        ('"op":"gather","expect_error":"out-of-range"', 'did you mean "index-range"?'),
        ('"op":"gather","expect_error":"x"', "the rules are version, data-dtype, "),
    ],
)
def test_a_key_or_value_of_a_job_that_is_nearly_right_is_named(
    member: str, hint: str, run: Run, folder: Path
) -> None:
    (folder / "j.jsonl").write_text("{" + member + ',"data":[1],"indices":[0]}\n')

    assert run("batch", "j.jsonl").err.splitlines()[1].startswith(f"hint: {hint}")


def test_a_version_of_the_environment_that_is_nearly_right_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATHERCLI_VERSION", "onx-12")

    ran = run("gather", "[1]", "0")

    assert ran.err.splitlines()[1].startswith(
        "hint: did you mean `export GATHERCLI_VERSION=onnx-12`? `-V openvino-8` takes precedence; "
    )


def test_the_name_of_an_operator_lists_its_versions(run: Run) -> None:
    found = json.loads(run("ops", "gather_elements", "-f", "json").out)

    assert len(found) == 3
    assert run("ops", "gather").out.startswith("Gather\n")
