"""What the pages say, and their examples, which are run."""

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
from gathercli.cli.generated import styled_lines
from gathercli.cli.registry import COMMANDS, command_of
from gathercli.io import jobs as job_files
from gathercli.ops import FAMILIES
from man import generate
from man.pages import page, pages
from man.prose import EXAMPLES, FOLDER, Console, Terms, markdown
from tests.house import absent_slice
from tests.jobs import parse
from tests.processes import one_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from man.prose import Block
    from tests.conftest import Run


PAGES: Final = {each.name: each for each in pages()}

every_page = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(autouse=True)
def _no_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


# as they are shipped


def lines_of(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the lines of a block in a terminal of any width, each after its style."""
    if isinstance(block, Console):
        yield from (("console", f"    {line}".rstrip()) for line in block.text.splitlines())
    elif isinstance(block, Terms):
        for term, meaning in block.pairs:
            yield from (("term", f"    {term}"), ("body", f"            {meaning}"))
    else:
        yield "body", f"    {block}"


@every_page
def test_a_shipped_page_is_read_as_it_was_composed(name: str) -> None:
    composed: list[tuple[str, str]] = []
    for heading, blocks in PAGES[name].sections:
        composed.append(("heading", heading))
        for block in blocks:
            composed += [*lines_of(block), ("body", "")]

    read = list(styled_lines(markdown(PAGES[name].sections), 10**6))

    assert read == composed[:-1]


@pytest.mark.parametrize("width", [60, 80, 100])
@every_page
def test_no_line_of_a_page_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = styled_lines(markdown(PAGES[name].sections), width)

    too_wide = [line for style, line in lines if style in ("heading", "body") and len(line) > width]
    assert too_wide == []


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
    assert PAGES["gathercli-shape"].blocks("SEE ALSO") == (
        "gathercli(1) has shapes, rules and exit statuses, gathercli-formats(5) tensors, "
        "gathercli-jobs(5) jobs, gathercli-operators(7) the versions.",
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
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.md")]
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

    line = json.loads(bytes(line_of(parse(text, where="here"), settings)))

    keys = [key for term in topic_terms("REPORT") for key in term.split(", ")]
    others = {"output", "fault"}  # in the place of a result, and of what the system failed at
    assert [key for key in keys if key not in others] == list(line)


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
