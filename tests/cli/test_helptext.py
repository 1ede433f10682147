"""The help of every command: its groups, its examples, on a terminal and in a pipe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from gathercli.cli.declarations import CLUSTER, GROUPS, HELP, INPUT, OPERATOR, OUTPUT
from gathercli.cli.helptext import MOST_HELP_EXAMPLES
from gathercli.cli.registry import COMMANDS, OF_MODELS, command_of
from gathercli.frameworks.versions import find
from gathercli.io.formats.table import FORMATS, MODELS
from gathercli.ops import FAMILIES
from man.prose import EXAMPLES
from tests.house import absent_slice

if TYPE_CHECKING:
    from gathercli.cli.declarations import Parameter
    from tests.conftest import Run


FORMS: Final = (*((name,) for name in COMMANDS), *((name, "m.onnx") for name in OF_MODELS))
"""The commands, and their forms for models."""

every_command = pytest.mark.parametrize("command", COMMANDS)
every_form = pytest.mark.parametrize("form", FORMS, ids=" ".join)

MOST_LINES: Final = 60
"""The most lines of a help that is not of all options."""


def options(command: str, *more: str) -> list[Parameter]:
    """Return the options of a command that its help of all options shows."""
    return [*command_of(command, models=bool(more)).options, HELP]


def longest(option: Parameter) -> str:
    """Return the long name of an option."""
    return max(option.names, key=len)


def by_groups(text: str) -> dict[str, list[str]]:
    """Read plain help: the long names of options under each heading."""
    groups: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if heading := re.fullmatch(r"(\w[\w ]*):", line):
            name = heading[1]
            groups[name] = []
        elif name and (match := re.match(r"  (?:-\w, )?(--[\w-]+)", line)):
            groups[name].append(match[1])
    return groups


@every_form
@pytest.mark.parametrize("words", [["--help"], ["--help", "--all"], ["--all", "-h"]], ids=" ".join)
def test_the_help_lists_options_by_group_in_the_order_of_groups(
    run: Run, form: tuple[str, ...], words: list[str]
) -> None:
    groups = by_groups(run(*form, *words).out)

    names = [name for name in groups if name in GROUPS]
    listed = [each for each in options(*form) if "--all" in words or not each.rare]
    assert names == [name for name in GROUPS if name in names]
    assert set(groups) <= {"Arguments", *names, "Examples"}
    for name in names:
        assert set(groups[name]) == {longest(each) for each in listed if each.group == name}
    assert sum(map(len, groups.values())) == len(listed)


@every_form
def test_the_options_of_the_operator_come_first_and_those_of_the_output_next(
    form: tuple[str, ...],
) -> None:
    groups = list(dict.fromkeys(each.group for each in options(*form)))

    chosen = [name for name in groups if name in (OPERATOR, OUTPUT)]
    assert chosen == [name for name in (OPERATOR, OUTPUT) if name in groups]
    assert form[0] == "batch" or groups[: len(chosen)] == chosen


@every_form
def test_the_rare_options_of_a_group_come_after_the_others(form: tuple[str, ...]) -> None:
    every = options(*form)

    for name in GROUPS:
        rare = [each.rare for each in every if each.group == name and each is not HELP]
        assert rare == sorted(rare)


@every_command
def test_clusters_and_the_types_of_inputs_are_rare(command: str) -> None:
    usual = [each for each in options(command) if not each.rare]

    assert CLUSTER not in {each.group for each in usual}
    inputs = {longest(each) for each in usual if each.group == INPUT}
    assert inputs <= {"--data-dtype", "--header"}  # of files


@every_form
def test_the_help_has_at_most_sixty_lines(run: Run, form: tuple[str, ...]) -> None:
    lines = run(*form, "--help").out.splitlines()

    assert len(lines) <= MOST_LINES


@every_form
def test_the_help_ends_with_how_many_options_it_leaves_out(run: Run, form: tuple[str, ...]) -> None:
    lines = run(*form, "--help").out.rpartition("\n\n")[2].splitlines()

    rare = sum(each.rare for each in options(*form))
    words = " ".join((*form, "--help", "--all")).replace("m.onnx", "model.onnx")
    more = f"  {rare} more option{'s' * (rare > 1)}: gathercli {words}"
    manual = f"  Rules and examples: gathercli man {form[0]}"
    assert lines == [*[more] * (rare > 0), manual]
    assert run(*form, "--help", "--all").out.endswith(f"\n\n{manual}\n")


def test_all_without_help_is_no_option(run: Run) -> None:
    words = ("gather", "[1]", "0", "--all")

    assert "error: gather has no option `--all`\n" in run(*words).err
    assert run(*words, "--", "--help").status == 2
    assert "error: gather has no option `--all`\n" in run(*words, "-o", "--help").err


def test_help_all_prints_all_options_of_a_command(run: Run) -> None:
    assert run("help", "gather", "--all") == run("gather", "--help", "--all")
    assert run("help", "--all") == run("--help", "--all") == run("--help")


def test_the_help_of_check_begins_with_both_of_its_forms(run: Run) -> None:
    if absent := absent_slice(["model"]):
        pytest.skip(f"the package is without {absent}")
    lines = run("check", "--help").out.splitlines()[:5]

    assert lines == [
        "Usage: gathercli check [OPTIONS] OP DATA INDICES [MORE]...",
        "       gathercli check [OPTIONS] MODEL...",
        "",
        "  List illegal indices of a call or in models, and what every version does.",
        "  `gathercli check model.onnx --help` has the options for models.",
    ]
    assert [line.strip() for line in lines[:2]] == [
        line.strip() for line in run("check", "--help", terminal=(1,)).out.splitlines()[1:3]
    ]


@every_command
def test_the_help_has_three_examples_that_fit_a_line(run: Run, command: str) -> None:
    assert len(EXAMPLES[command]) >= MOST_HELP_EXAMPLES == 3
    examples = EXAMPLES[command][:MOST_HELP_EXAMPLES]
    assert max(len(each.command) for each in examples) <= 76
    assert all(each.shows for each in examples)

    out = run(command, "-h").out

    text = "".join(f"  {each.shows}\n    {each.command}\n" for each in examples)
    assert f"\nExamples:\n{text}\n" in out


def test_the_help_of_data_and_output_names_every_format(run: Run) -> None:
    words = " ".join(run("gather", "--help").out.split())
    data = words.partition(" DATA A file (")[2].partition("), a literal")[0]
    output = words.partition("the suffix picks ")[2].partition("; - is stdout")[0]

    suffixes = {each.suffix for name, each in FORMATS.items() if name != "literal"}
    models = {each.suffix for each in MODELS.values()}
    assert set(re.findall(r"\.[a-z]+", data)) == suffixes | models
    assert set(re.findall(r"\.[a-z]+", output)) == suffixes
    several = {each.suffix for each in FORMATS.values() if each.several} | {".zarr"} | models
    assert set(re.findall(r"(\.[a-z]+)#name", data)) == several


def test_help_does_not_offer_an_attribute_that_no_version_has(run: Run) -> None:
    words = ("gather-elements", "[[1,2]]", "[[0,1]]", "-a", "1")

    assert "--batch-dims" in run("gather", "--help").out
    assert "--batch-dims" not in run("gather-elements", "--help").out
    assert "--batch-dims" not in run("gather-elements", "--help", terminal=(1,)).out
    assert "rule: batch-dims-unsupported\n" in run(*words, "-b", "1").err


CHOICE: Final = "--version --negative --out-of-range -V"
RESULT: Final = (
    "--max-bytes --output --format --force-format --no-clobber --nonfinite --expect --rtol --atol "
    "--full --precision --color --quiet --json-errors --debug -o -f -q -h"
)
TENSORS: Final = "--external-data --feed --data-dtype --indices-dtype"
OPTIONS: Final = {
    "gather": f"--axis --batch-dims {CHOICE} {TENSORS} {RESULT} -a -b",
    "gather-elements": f"--axis {CHOICE} {TENSORS} {RESULT} -a",
    "gather-nd": f"--batch-dims {CHOICE} {TENSORS} {RESULT} -b",
    "gather-tree": (
        "--external-data --feed --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype "
        "--end-token-dtype "
        f"{CHOICE} {RESULT}"
    ),
    "shape": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --format --color --quiet --json-errors --debug"
    ),
    "explain": (
        "--job --axis --batch-dims --version --negative --out-of-range --data-dtype "
        "--indices-dtype --max-bytes --window --cell --step --ascii --save --no-clobber --format "
        "--precision --color --quiet --json-errors --debug"
    ),
    "check": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --all --allow-fill --format --threads --color --quiet --json-errors --debug"
    ),
    "compare": (
        "--axis --batch-dims --ops --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --with --timeout --format --threads --color --quiet --json-errors --debug"
    ),
    "reproduce": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --for --timeout --output --color --quiet --json-errors --debug"
    ),
    "translate": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --with --timeout --to --output --no-clobber --format --color --quiet "
        "--json-errors --debug"
    ),
    "diagnose": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--wrong-dtype --max-bytes --rtol --atol --format --color --quiet --json-errors --debug"
    ),
    "convert": (
        "--to --force-format --directory --dtype --lossy --truncate --data-dtype --max-bytes "
        "--no-clobber --fsync --nonfinite --color --quiet --json-errors --debug"
    ),
    "info": (
        "--header --data-dtype --max-bytes --format --precision --color --quiet --json-errors "
        "--debug"
    ),
    "model": (
        "--external-data --no-infer --max-bytes --all --format --color --quiet --json-errors "
        "--debug"
    ),
    "batch": (
        "--op --data --indices --step-ids --parent-ids --max-seq-len --end-token --output "
        "--expect --matrix --axis --batch-dims --version --negative --out-of-range --data-dtype "
        "--indices-dtype --rtol --atol --dry-run --allow-outside --workers --fail-fast "
        "--max-failures --retries --timeout --with --max-bytes --report --resume --resume-failed "
        "--hash --junit --format --color --quiet --json-errors --debug"
    ),
    "demo": "--answer --list --all --save --no-clobber --format --color --json-errors --debug",
    "ops": "--diff --like --decisions --format --color --json-errors --debug",
    "man": "--color --json-errors --debug",
    "completion": "--help",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_the_help_of_a_command_in_a_pipe_is_plain_and_names_every_option(
    command: str, word: str, run: Run
) -> None:
    ran = run(command, word, "--all")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: gathercli {command} ")
    assert not re.search("[\x1b\u2500-\u257f]", ran.out)
    options = [each for each in OPTIONS[command].split() if not absent_slice([each])]
    if command == "compare" and absent_slice(["--with"]):
        options.remove("--timeout")  # of the runtimes
    for option in options:
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", ran.out), option


def test_the_help_of_the_program_names_every_command(run: Run) -> None:
    ran = run("--help")

    assert (ran.status, ran.err) == (0, "")
    assert run("-h") == ran
    assert all(re.search(rf"(?m)^  {name}  ", ran.out) for name in COMMANDS)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_versions_in_the_help_of_an_operator_are_its_own(name: str) -> None:
    words = next(each.help for each in options(name) if "--version" in each.names)

    examples = re.findall(r"(?:openvino|onnx)[.\w]*-\d+", words)
    ids = [op.id for op in FAMILIES[name].ROWS]
    assert find(re.findall(r"or ([\w.-]+);", words)[0], name)
    assert set(examples) <= {*ids, FAMILIES[name].ROWS[0].full_name}
    assert ("onnx" in words) == any("onnx" in each for each in ids)


@pytest.mark.parametrize("command", ["shape", "explain", "check"])
def test_a_command_of_any_operator_says_what_each_calls_its_inputs(command: str, run: Run) -> None:
    text = " ".join(run(command, "--help").out.split())

    assert re.search(r" DATA (?:(?!INDICES).)*; STEP_IDS of gather-tree\.", text)
    assert re.search(r" INDICES [^.]*; PARENT_IDS of gather-tree\.", text)
    assert "[MORE]... MAX_SEQ_LEN and END_TOKEN of gather-tree." in text


def test_the_help_does_not_offer_a_scheduler_to_an_operator_that_refuses_it(run: Run) -> None:
    helps = {name: run(name, "--help", "--all").out for name in FAMILIES}

    assert [name for name in FAMILIES if "--scheduler" not in helps[name]] == ["gather-tree"]
    assert "Cluster:" not in helps["gather-tree"]
    assert "default like those of STEP_IDS" in helps["gather-tree"]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_help_line_of_an_operator_names_its_versions(name: str) -> None:
    rows = FAMILIES[name].ROWS
    for framework, title in (("openvino", "OpenVINO"), ("onnx", "ONNX")):
        numbers = sorted(op.version for op in rows if op.framework == framework)
        versions = f"{title} {', '.join(map(str, numbers))}"
        assert (versions in COMMANDS[name].help) == bool(numbers)


def test_help_prints_the_help_of_the_program_or_of_a_command(run: Run) -> None:
    program, command = run("--help"), run("shape", "--help")

    assert (program.status, program.err) == (0, "")
    assert run() == run("--") == run("help") == program
    assert run("help", "shape") == command


def test_help_help_prints_the_help_of_the_program(run: Run) -> None:
    assert run("help", "help") == run("help")
