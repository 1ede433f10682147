"""`demo`: short lessons that are true, and lines to go on with that work."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from gathercli.cli.manual.lessons import LESSONS, DemoLesson, command_line, fixture
from gathercli.jobs.job import jobs
from tests.test_explain import at_a_terminal

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]
    Program = Callable[..., subprocess.CompletedProcess[bytes]]

every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


@every_lesson
def test_a_lesson_types_the_command_that_draws_its_picture(run: Run, lesson: DemoLesson) -> None:
    (job,) = jobs(fixture(lesson.fixture))
    ran = run("demo", lesson.name)
    assert ran.status == 0
    (typed,) = re.findall(r"(?ms)^\$ (gathercli .*?)\n(?=openvino|onnx)", ran.out)
    assert typed.replace(" \\\n    ", " ").replace("\n    ", "") == command_line(job)
    picture = run(*shlex.split(command_line(job))[1:])
    assert picture.out in ran.out
    errors = [line for line in picture.err.splitlines() if not line.startswith("note:")]
    assert "\n".join(errors) in ran.out


NOT_DONE = {
    "gathercli check gather '[1,2,3,4,5]' 3,10,-20": 1,
    "gathercli explain gather '[1,2,3,4,5]' 0,-2,-1 -V openvino-7": 65,
}
"""Lines of lessons that show an answer of no, or a refusal."""


@every_lesson
def test_what_a_lesson_says_to_try_works(run: Run, folder: Path, lesson: DemoLesson) -> None:
    for line, _ in lesson.tries:
        ran = run(*shlex.split(line)[1:])
        assert ran.status == NOT_DONE.get(line, 0), ran.err
        assert ran.out
    assert not list(folder.iterdir())


def test_a_folded_command_can_be_pasted(program: Program) -> None:
    lesson = next(lesson for lesson in LESSONS if lesson.name == "batch-and-axis")
    (job,) = jobs(fixture(lesson.fixture))
    folded = re.findall(
        r"(?ms)^\$ (gathercli .*?)\n(?=openvino)", program("demo", lesson.name).stdout.decode()
    )[0]
    assert folded.count("\n") > 1
    pasted = program(folded.replace("gathercli ", "$G ", 1))
    assert pasted.stdout == program(*shlex.split(command_line(job))[1:]).stdout != b""


def test_a_line_that_is_not_done_is_one_of_a_lesson() -> None:
    assert set(NOT_DONE) <= {line for lesson in LESSONS for line, _ in lesson.tries}


@every_lesson
@pytest.mark.parametrize("width", [80, 120])
def test_a_lesson_fits_the_screen(
    run: Run, lesson: DemoLesson, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    ran = run("demo", lesson.name, terminal=(1,))
    body = [
        line
        for line in ran.out.splitlines()
        if not re.match(r"\$ |  gathercli |error:|hint:", line)
    ]
    assert max(map(cell_len, body)) <= width
    assert len(body) <= 60


def test_the_first_lesson_says_what_is_replaced_and_what_shape_comes(run: Run) -> None:
    first = run("demo").out
    assert first.startswith(run("demo", "gather").out)
    assert "the index takes the place of coordinate 0 of data:" in first
    assert "=  [] + [2,2] + [2]  =  [2,2,2]" in first
    assert "More lessons: columns, negative," in first


def test_the_lessons_are_listed_and_shown_one_after_the_other(run: Run) -> None:
    listed = [line.split()[0] for line in run("demo", "--list").out.splitlines()]
    assert listed == [lesson.name for lesson in LESSONS]
    shown = run("demo", "--all").out
    assert shown == "\n".join(run("demo", name).out for name in listed)


@pytest.mark.usefixtures("folder")
def test_for_a_talk_a_key_goes_on_and_another_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LINES", "24")
    status, seen = at_a_terminal(["demo", "--all"], [" ", " ", " ", "b", "G", "q"], "q: quit")
    screens = seen.split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    titles = [re.findall(r"^\d+ of 12", screen) for screen in screens]
    assert titles[:3] == [["1 of 12"], [], ["2 of 12"]]  # the first lesson takes two screens
    assert titles[3] == []
    assert screens[4] == screens[2]
    assert "gathercli ops" in screens[5]  # the end of the last
    for screen in screens:
        assert screen.count("\n") == 23
        assert "space: next   b: back" in screen.split("\n")[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("colums",), "did you mean `gathercli demo columns`?"),
        (("gather", "--all"), "exclude each other"),
        (("--list", "--all"), "exclude each other"),
    ],
    ids=" ".join,
)
def test_a_lesson_that_is_not_there_is_a_usage_error(
    run: Run, words: tuple[str, ...], said: str
) -> None:
    ran = run("demo", *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize(
    ("word", "name"), [("batch", "batch-dims"), ("3", "negative"), ("gather_nd", "gather-nd")]
)
def test_a_lesson_is_suggested_by_its_number_or_the_start_of_its_name(
    word: str, name: str, run: Run
) -> None:
    ran = run("demo", word)

    assert ran.status == 2
    assert ran.err.endswith(f"hint: did you mean `gathercli demo {name}`?\n")


def test_a_long_tensor_breaks_between_its_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    command = run("demo", "batch-and-axis", terminal=(1,)).out.partition("$ ")[2]
    first, *rest = command.partition("\n\n")[0].splitlines()

    ends = [line for line in (first, *rest) if line.endswith(",")]
    assert all(line.endswith("],") for line in ends)
