"""Command lines that are wrong: what is said, and the line that was probably meant."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.cli.main import _parse
from gathercli.cli.registry import COMMANDS
from gathercli.cli.suggest import suggest
from gathercli.errors import GatherError
from tests.conftest import only_error

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
    "gather [1] 0 --jobs 2": (
        "gather has no option `--jobs`",
        meant("gathercli gather '[1]' 0 --threads 2"),
    ),
    "batch --jobs 2 x.jsonl": (
        "batch has no option `--jobs`",
        meant("gathercli batch --workers 2 x.jsonl"),
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
    "explain gather [1] 0 --save pic.gif": (
        "the suffix of `pic.gif` is not a picture format: expected .svg, .png, .pdf, .html or .txt",
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
        "`--diff` has 1 of 2 values: expected `--diff A B`",
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
        "`[0]` is one argument too many: expected DATA and INDICES of gather",
        meant("gathercli explain gather '[1, 2]' '[0]'"),
    ),
    "demo gather columns": (
        "`columns` is one argument too many: expected [NAME]",
        "`gathercli demo --all` shows every lesson",
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
    "gather_nd [1] 0,": ("no command `gather_nd`", meant("gathercli gather-nd '[1]' 0,")),
    "GatherND [1] 0,": ("no command `GatherND`", meant("gathercli gather-nd '[1]' 0,")),
    "explain GatherND [1] 0,": (
        "no operator `GatherND`: expected gather, gather-elements, gather-nd or gather-tree",
        meant("gathercli explain gather-nd '[1]' 0,"),
    ),
    "check gather-tree [[[1]]] [[[0]]] [1]": (
        "`END_TOKEN` is missing: expected STEP_IDS, PARENT_IDS, MAX_SEQ_LEN and END_TOKEN of "
        "gather-tree",
        "`gathercli check gather-tree arange:2x1x2 zeros:2x1x2xi64 '[1]' xi64=9` is an example",
    ),
    "check gather-tree [1]": (
        "`PARENT_IDS` is missing: expected OP, STEP_IDS, PARENT_IDS, MAX_SEQ_LEN and END_TOKEN",
        "`gathercli check gather-tree arange:2x1x2 zeros:2x1x2xi64 '[1]' xi64=9` is an example",
    ),
    "hepl": ("no command `hepl`", meant("gathercli help")),
    "help gathr": ("no command `gathr`", meant("gathercli help gather")),
    "help gather shape": ("`help` is given `gather shape`: expected one command", ""),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_line_gets_a_message_and_the_right_line(line: str, run: Run) -> None:
    message, hint = WRONG[line]
    hint = hint or "`gathercli help gather`"

    assert run(*line.split()) == (2, "", f"error: {message}\nhint: {hint}\n")


@pytest.mark.parametrize("line", [line for line, (_, hint) in WRONG.items() if "did you" in hint])
def test_the_suggested_line_works_when_it_is_pasted(line: str, run: Run, folder: Path) -> None:
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
    ("line", "expected", "example"),
    [
        ("translate gather [1] 0", "expected onnx, openvino, torch", "--to onnx-13"),
        ("translate gather [1] 0 -o y.py", "expected onnx, openvino, torch", "--to torch"),
        ("reproduce gather [1] 0 -o x", "expected onnxruntime, ", "--for numpy"),
        ("reproduce gather [1] 0", "expected onnxruntime, ", "--for numpy --output new"),
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
    ("words", "message"),
    [
        (
            ["gathr", "[1]", "0"],
            "error: no command `gathr`\nhint: did you mean `gathercli gather '[1]' 0`?\n",
        ),
        (["nosuch"], "error: no command `nosuch`\nhint: `gathercli --help` lists the commands\n"),
        (
            ["gather", "[1]"],
            "error: `INDICES` is missing: expected DATA and INDICES\n"
            "hint: `gathercli gather '[1]' 0,` is an example, and `-` reads INDICES from "
            "standard input\n",
        ),
        (
            ["gather", "[1]", "0", "x"],
            "error: `x` is one argument too many: expected DATA and INDICES\n"
            "hint: `gathercli gather --help` lists the options\n",
        ),
        (
            ["gather", "[1]", "0", "--version"],
            "error: `--version` has no value: expected `--version VERSION`\n"
            "hint: `gathercli --version` prints the program's version; `gathercli ops` lists what "
            "`--version` takes\n",
        ),
        (
            ["gather", "[1]", "0", "-o"],
            "error: `-o` has no value: expected `-o PATH`\n"
            "hint: `gathercli gather --help` lists the options\n",
        ),
        (
            ["gather", "[1]", "0", "-f", "xml"],
            "error: `-f` is `xml`: expected auto, pretty, json, oip, npy or literal\n"
            "hint: `gathercli gather --help` lists the options\n",
        ),
        (
            ["gather", "[1]", "0", "--no-clobber=1"],
            "error: `--no-clobber` is given a value, `1`: expected none\n"
            "hint: did you mean `gathercli gather '[1]' 0 --no-clobber`?\n",
        ),
        (
            ["gather", "[1]", "0", "--data-dtype", "flot32"],
            "error: unknown dtype `flot32`: expected one of bool int8 int16 int32 int64 uint8 "
            "uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string, "
            "or one such as float8_e4m3fn, int4\n"
            "hint: did you mean `float32`?\nrule: dtype\n",
        ),
        (
            ["gather", "[1]", "0", "--max-bytes", "1Q"],
            "error: `--max-bytes` is `1Q`: expected a number of bytes, with K, M, G, Ki, Mi or "
            "Gi, or 0 for no limit\nhint: `--max-bytes 4Gi`\n",
        ),
        (
            ["gather", "[1]", "0", "-V", "openvin-8"],
            "error: no version `openvin-8` of gather: expected openvino-8, openvino-7, "
            "openvino-1, onnx-13, onnx-11 or onnx-1\n"
            "hint: did you mean `-V openvino-8`?\nrule: version\n",
        ),
    ],
)
def test_a_usage_error_is_one_message_and_status_2(
    words: list[str], message: str, run: Run
) -> None:
    assert run(*words) == (2, "", message)


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
