from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from gathercli.batch.work import Settings, line_of
from gathercli.cli.main import main
from gathercli.cli.pages import page, pages
from gathercli.cli.prose import EXAMPLES, Block, Console, Page, Terms, text
from gathercli.cli.registry import COMMANDS, command_of
from gathercli.io import jobs as job_files
from gathercli.ops import FAMILIES
from man import generate
from man.generate import roff
from tests.house import absent_slice
from tests.jobs import parse
from tests.processes import one_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Run


PAGES: Final = {each.name: each for each in pages()}
ROFF: Final = {name: roff(each).splitlines() for name, each in PAGES.items()}
REQUESTS: Final = {'.\\"', ".TH", ".SH", ".PP", ".RS", ".RE", ".EX", ".EE", ".TP"}

every_page = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(autouse=True)
def _no_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def to_roff(*blocks: Block) -> list[str]:
    """Write blocks as the one section of a page; return the roff lines below its heading."""
    lines = roff(Page("x", "y", (("HEAD", blocks),))).splitlines()
    return lines[lines.index('.SH "HEAD"') + 1 :]


# roff


def test_a_page_in_roff_from_its_title_to_its_blocks() -> None:
    blocks = ("First words.", Terms((("-x, --long N", "What it does."),)), Console("$ a 'b'\n[0]"))

    assert roff(Page("tool-x", "does x", (("HEAD", blocks),))).splitlines()[1:] == [
        '.TH TOOL-X 1 "" "gathercli" "gathercli manual"',
        ".SH NAME",
        "tool\\-x \\- does x",
        '.SH "HEAD"',
        "First words.",
        ".TP",
        "\\fB\\-x, \\-\\-long N\\fR",
        "What it does.",
        ".PP",
        ".RS 4",
        ".EX",
        "$ a \\(aqb\\(aq",
        "[0]",
        ".EE",
        ".RE",
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (".npy files", "\\&.npy files"),
        ("'a' is quoted", "\\&\\(aqa\\(aq is quoted"),
        ("a\\b", "a\\eb"),
        ("\\.", "\\e."),
        ("--axis -1", "\\-\\-axis \\-1"),
        ("`x` ^ ~", "\\(gax\\(ga \\(ha \\(ti"),
        ('"x"', '"x"'),
        ("x…y → z", "x\\[u2026]y \\[u2192] z"),
    ],
)
def test_requests_and_escapes_of_roff_are_escaped(words: str, line: str) -> None:
    assert to_roff(words) == [line]
    assert line in to_roff(Console(words))
    assert to_roff(Terms((("t", words),)))[-1] == line


def test_every_paragraph_after_the_first_starts_with_a_request() -> None:
    assert to_roff("One.", "Two.") == ["One.", ".PP", "Two."]


@every_page
def test_every_line_that_starts_like_a_request_is_one(name: str) -> None:
    requests = {line.split(" ")[0] for line in ROFF[name] if line.startswith((".", "'"))}

    assert requests <= REQUESTS


@every_page
def test_every_tag_is_followed_by_its_words_and_their_meaning(name: str) -> None:
    lines = ROFF[name]
    for at, line in enumerate(lines):
        if line == ".TP":
            assert lines[at + 1].startswith("\\fB")
            assert lines[at + 1].endswith("\\fR")
            assert lines[at + 2]
            assert not lines[at + 2].startswith(".")


@every_page
def test_every_example_block_is_closed(name: str) -> None:
    marks = [line for line in ROFF[name] if line in (".EX", ".EE")]
    assert marks == [".EX", ".EE"] * (len(marks) // 2)
    indents = [line.split()[0] for line in ROFF[name] if line[:3] in (".RS", ".RE")]
    assert indents == [".RS", ".RE"] * (len(indents) // 2)


@every_page
def test_every_backslash_starts_an_escape_that_roff_knows(name: str) -> None:
    known = r"\\(?:e|-|&|\(aq|\(ga|\(ha|\(ti|fB|fR|\[u[0-9A-F]{4,5}\]|\"(?= Written))"

    assert [line for line in ROFF[name] if "\\" in re.sub(known, "", line)] == []


@every_page
def test_a_page_is_ascii_as_groff_reads_it_without_a_preprocessor(name: str) -> None:
    assert [line for line in ROFF[name] if not line.isascii()] == []


@every_page
def test_a_page_has_no_empty_line_and_no_bare_quote_at_a_start(name: str) -> None:
    assert [line for line in ROFF[name] if not line or line.startswith("'")] == []


# text


def test_a_page_in_text_from_its_name_to_its_blocks() -> None:
    blocks = ("First words.", Terms((("-x N", "What it does."),)), Console("$ a\n[0]"))

    assert list(text(Page("tool-x", "does x", (("HEAD", blocks),)))) == [
        ("heading", "NAME"),
        ("body", "    tool-x - does x"),
        ("body", ""),
        ("heading", "HEAD"),
        ("body", "    First words."),
        ("body", ""),
        ("term", "    -x N"),
        ("body", "            What it does."),
        ("body", ""),
        ("console", "    $ a"),
        ("console", "    [0]"),
    ]


def test_text_wraps_words_and_never_at_hyphens() -> None:
    blocks = Terms((("t", "see openvino-8 or gather-elements there"),))

    lines = [line for _, line in text(Page("x", "y", (("H", (blocks,)),)), 32)]

    assert lines[-3:] == [
        "            see openvino-8 or",
        "            gather-elements",
        "            there",
    ]


def test_text_keeps_console_lines_whole() -> None:
    long = "$ " + "x" * 100

    lines = list(text(Page("x", "y", (("H", (Console(long),)),)), 40))

    assert lines[-1] == ("console", f"    {long}")


@pytest.mark.parametrize("width", [60, 80, 100])
@every_page
def test_no_line_of_the_text_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = [line for style, line in text(PAGES[name], width) if style in ("heading", "body")]

    assert [line for line in lines if len(line) > width] == []


# contents


def terms(name: str) -> list[str]:
    """Return the terms under the arguments and options of a page."""
    blocks = dict(PAGES[name].sections)["ARGUMENTS AND OPTIONS"]
    return [term for block in blocks if isinstance(block, Terms) for term, _ in block.pairs]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_lists_every_option_of_its_command_once(command: str) -> None:
    listed = [
        word.rstrip(",")
        for term in terms(f"gathercli-{command}")
        for word in term.split()
        if word.startswith("-")
    ]
    names = [name for option in command_of(command).options for name in option.names]

    assert sorted(listed) == sorted([*names, "-h", "--help"])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_explains_every_argument_of_its_command(command: str) -> None:
    arguments = command_of(command).arguments
    assert arguments
    listed = terms(f"gathercli-{command}")
    assert [term for term in listed if not term.startswith("-")] == [p.metavar for p in arguments]


@every_page
def test_every_term_has_a_meaning_that_is_a_sentence(name: str) -> None:
    for heading, blocks in PAGES[name].sections:
        for block in blocks:
            for term, meaning in block.pairs if isinstance(block, Terms) else ():
                assert term.strip() == term
                assert meaning.strip()
                assert meaning.endswith(".") or heading == "DESCRIPTION", (term, meaning)


def test_there_is_a_page_for_the_program_and_for_every_command() -> None:
    commands = (f"gathercli-{command}" for command in COMMANDS)
    topics = (f"gathercli-{topic}" for topic in ("formats", "jobs", "operators", "planning"))

    assert list(PAGES) == ["gathercli", *commands, *topics]
    assert page("gather") == PAGES["gathercli-gather"]
    assert page(None) == PAGES["gathercli"]


def test_the_main_page_has_the_sections_that_others_refer_to() -> None:
    headings = [heading for heading, _ in PAGES["gathercli"].sections]
    lines = " ".join(line.strip() for _, line in text(PAGES["gathercli-shape"]))
    assert (
        "gathercli(1) has shapes, rules and exit statuses, gathercli-formats(5) tensors, "
        "gathercli-jobs(5) jobs, gathercli-operators(7) the versions." in lines
    )
    for heading in ("TENSORS", "SHAPES", "RULES", "EXIT STATUS"):
        assert heading in headings
    assert "TENSOR ARGUMENTS" in [heading for heading, _ in PAGES["gathercli-formats"].sections]


def topic_terms(heading: str) -> dict[str, str]:
    """Return the terms of a section of gathercli-jobs(5), and what they mean."""
    blocks = dict(PAGES["gathercli-jobs"].sections)[heading]
    return {term: text for each in blocks if isinstance(each, Terms) for term, text in each.pairs}


def test_the_page_about_jobs_lists_the_required_inputs_of_every_operator() -> None:
    words = next(each for each in PAGES["gathercli-jobs"].blocks("KEYS OF A JOB"))

    assert words == (
        "op and the inputs of the operator are required: data and indices, "
        "for gather-tree step_ids, parent_ids, max_seq_len and end_token. "
        "A job with node needs only the inputs that come at run time."
    )


@pytest.mark.parametrize(
    "phrase",
    [
        "the row that ran",
        "refuse the whole",
        "is made at a time",
        "when all are there",
        "who asked",
        "done by others",
        "what is there",
        "names no beam",
        "the step before k is",
    ],
)
def test_the_prose_of_readme_and_manual_avoids(phrase: str) -> None:
    texts = [
        path.read_text(encoding="utf-8") for path in (generate.ROOT / "gathercli").rglob("*.md")
    ]
    texts.append((generate.ROOT / "README.md").read_text(encoding="utf-8"))

    assert [text for text in texts if phrase in " ".join(text.split())] == []


def test_the_page_about_jobs_has_every_key_that_a_job_may_have() -> None:
    meanings = topic_terms("KEYS OF A JOB")
    run = {key for op in FAMILIES for key in job_files.keys_of(op).checks}
    shape = {key for of in FAMILIES for key in job_files.keys_of(job_files.SHAPE, of).checks}
    if absent_slice(["model"]):
        del meanings["node"]
    assert meanings.keys() == run | shape
    here, there = run - shape, shape - run
    assert {key for key, text in meanings.items() if "not in a shape job" in text.lower()} == here
    assert {key for key, text in meanings.items() if text.endswith("only there.")} == there


def test_the_page_about_jobs_has_every_key_of_a_line_of_report() -> None:
    text = b'{"id":"a","op":"gather","data":[1],"indices":[9],"expect":[1]}'
    settings = Settings(stamps=True)

    line = json.loads(bytes(line_of(parse(text, where="here"), text, settings)))

    keys = [key for term in topic_terms("REPORT") for key in term.split(", ")]
    others = {"output", "fault"}  # in the place of a result, and of what the system failed at
    assert [key for key in keys if key not in others] == list(line)


def test_man_prints_the_page_as_plain_text_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "ops"]) == 0
    out, err = capfd.readouterr()
    assert out == "".join(f"{line}\n" for _, line in text(PAGES["gathercli-ops"], 80))
    assert not err


def test_man_in_colour_says_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "ops", "--color", "always"]) == 0
    out = capfd.readouterr().out
    assert "\x1b[1mNAME\x1b[0m\n" in out
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    assert plain == "".join(f"{line}\n" for _, line in text(PAGES["gathercli-ops"], 80))


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


# examples


def examples(console: str) -> Iterator[tuple[str, str]]:
    """Divide lines into commands and what each prints."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, _, output = f"{part.rstrip()}\n".partition("\n")
        yield command, output


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line with the program on the PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )


TOUR: Final = Path(__file__).parents[2] / "fixtures" / "tour"

SHOWN: Final = [
    *((each.command, each.output) for every in EXAMPLES.values() for each in every),
    *(
        (command, output.rstrip("\n"))
        for topic in ("formats", "jobs", "operators")
        for console in page(topic).blocks("EXAMPLES")
        if isinstance(console, Console)
        for command, output in examples(console.text)
    ),
]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_an_example_of_the_manual_prints_what_it_says(
    command: str, output: str | None, run: Run, folder: Path
) -> None:
    if absent := absent_slice(command.replace("'", "").split()):
        pytest.skip(f"the package is without {absent}")
    for model in TOUR.glob("encoder.*"):
        (folder / model.name).write_bytes(model.read_bytes())
    (folder / "fixtures").symlink_to(generate.ROOT / "fixtures")

    if (words := one_call(command)) is not None:
        status, out, err = run(*words)
    else:
        process = shell(command, folder)
        status, out, err = process.returncode, process.stdout, process.stderr

    assert status == 0
    if output is not None:
        assert (out.rstrip("\n"), err) == (output, "")


def test_every_command_line_of_a_page_is_a_tested_example() -> None:
    consoles = [
        block.text
        for each in PAGES.values()
        for _, blocks in each.sections
        for block in blocks
        if isinstance(block, Console)
    ]
    pairs = [pair for console in consoles for pair in examples(console)]

    assert {(command, output.rstrip("\n")) for command, output in pairs} == {
        (command, output or "") for command, output in SHOWN
    }


@pytest.mark.parametrize("topic", [[], *([name] for name in COMMANDS)], ids=str)
def test_the_manual_has_a_page_for_every_command(topic: list[str], run: Run) -> None:
    ran = run("man", *topic)

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"NAME\n    {'-'.join(['gathercli', *topic])} - ")
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100
