"""`demo`: short lessons that are true, and lines to go on with that work."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from rich.cells import cell_len

from gathercli.cli.messages import Messages
from gathercli.cli.options import Limits
from gathercli.compute.run import run_arrays as run_call
from gathercli.explain.demo import LESSONS, DemoLesson, command_line, job_of, tour
from gathercli.explain.explained_call import of_job
from gathercli.io.jobs import jobs
from tests.explain.test_keys import at_a_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Program, Run

    Code = Callable[..., Any]

NAMES: Final = [lesson.name for lesson in LESSONS]
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)


# What a lesson shows


@every_lesson
def test_a_lesson_types_the_command_that_draws_its_picture(run: Run, lesson: DemoLesson) -> None:
    command = command_line(job_of(lesson.name))

    shown = run("demo", lesson.name)

    (typed,) = re.findall(r"(?ms)^\$ (gathercli .*?)\n(?=openvino|onnx)", shown.out)
    assert typed.replace(" \\\n    ", " ").replace("\n    ", "") == command
    assert run(*shlex.split(command)[1:]).out in shown.out
    assert (shown.status, shown.err) == (0, "")


def test_every_job_of_the_lessons_gives_what_it_expects(run: Run) -> None:
    path = tour("lessons.jsonl")

    ran = run("batch", path, "-q")

    assert ran.status == 0
    assert [job.id for job in jobs(path)] == NAMES


@every_lesson
def test_a_lesson_warns_asks_and_shows_the_code_of_two_libraries(lesson: DemoLesson) -> None:
    assert [*lesson.terms] == ["NumPy", "PyTorch", "Trap", "Question"]
    assert lesson.terms["Question"].endswith("?")
    assert 2 <= len(re.findall(r"\.(?= |$)", lesson.says)) <= 4


EXIT_STATUS: Final = {
    "gathercli check gather '[10,20,30,40]' 3,4,-5": 1,
    f"gathercli check {tour('encoder.onnx')}": 1,
    f"gathercli check {tour('encoder.onnx')} --to openvino,tflite": 1,
    "gathercli explain gather '[10,20,30,40]' -1,-4 -V onnx-1": 65,
    "gathercli gather '[10,20,30,40]' 3,4,-5 -V onnx-13": 65,
    "gathercli gather-elements '[[0.1,0.2,0.7],[0.6,0.3,0.1],[0.2,0.5,0.3]]' '[[2],[-100],[0]]' "
    "-a 1": 65,
}
"""The lines of lessons that show a negative answer or a refusal."""


@every_lesson
def test_a_line_to_try_works(run: Run, folder: Path, lesson: DemoLesson) -> None:
    for line, _ in lesson.tries:
        ran = run(*shlex.split(line)[1:])

        assert ran.status == EXIT_STATUS.get(line, 0), ran.err
        assert ran.out
    assert not list(folder.iterdir())


def proofs(lesson: DemoLesson) -> list[tuple[str, str]]:
    """Return the commands that show an answer, each with its output."""
    parts = re.split(r"(?m)^\$ ", lesson.proof)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


@every_lesson
@pytest.mark.usefixtures("folder")
def test_the_answer_is_what_its_command_prints(run: Run, lesson: DemoLesson) -> None:
    for command, output in proofs(lesson):
        ran = run(*shlex.split(command)[1:])

        assert f"{ran.out}{ran.err}".rstrip("\n") == output.rstrip("\n")
        assert ran.status == EXIT_STATUS.get(command, 0)


def test_every_line_with_an_exit_status_is_one_of_a_lesson() -> None:
    lines = {line for lesson in LESSONS for line, _ in lesson.tries}
    commands = {command for lesson in LESSONS for command, _ in proofs(lesson)}

    assert EXIT_STATUS.keys() <= lines | commands


# The code of other libraries. The text of each lesson is compared with the code that runs here.

NUMPY: Final[dict[str, Code]] = {
    "gather": lambda data, indices: data[indices],
    "rows": lambda data, indices: data[indices],
    "columns": lambda data, indices: np.take(data, indices, axis=1),
    "negative": lambda data, indices: data[indices],
    "outside": lambda data, indices: np.where(
        (indices < -4) | (indices > 3), 0, data[indices.clip(-4, 3)]
    ),
    "table": lambda data, indices: data[indices],
    "batch-dims": lambda data, indices: np.take_along_axis(data, indices, 1),
    "gather-elements": lambda data, indices: np.take_along_axis(data, indices, 0),
    "gather-nd": lambda data, indices: data[indices[:, 0], indices[:, 1]],
    "gather-tree": lambda step_ids, parent_ids: np.stack(
        [np.take_along_axis(step_ids[0], parent_ids[1], 1), step_ids[1]]
    ),
    "embeddings": lambda data, indices: data[indices],
    "labels": lambda data, indices: np.take_along_axis(data, indices, 1),
    "beam-search": lambda data, indices: np.take_along_axis(data, indices[..., None], 1),
    "channels": lambda data, indices: data[..., indices],
    "mask": lambda data, mask: data[np.flatnonzero(mask)],
    "models": lambda data, indices: data[indices],
}

PYTORCH: Final[dict[str, Code]] = {
    "gather": lambda torch, data, indices: data[indices],  # noqa: ARG005
    "rows": lambda torch, data, indices: data[indices],  # noqa: ARG005
    "columns": lambda torch, data, indices: data[:, indices],  # noqa: ARG005
    "negative": lambda torch, data, indices: data[indices],  # noqa: ARG005
    "outside": lambda torch, data, indices: torch.where(
        (indices < -4) | (indices > 3), 0, data[indices.clip(-4, 3)]
    ),
    "table": lambda torch, data, indices: data[indices],  # noqa: ARG005
    "batch-dims": lambda torch, data, indices: data.gather(1, indices),  # noqa: ARG005
    "gather-elements": lambda torch, data, indices: torch.gather(data, 0, indices),
    "gather-nd": lambda torch, data, indices: data[indices[:, 0], indices[:, 1]],  # noqa: ARG005
    "gather-tree": lambda torch, step_ids, parent_ids: torch.stack(
        [step_ids[0].gather(1, parent_ids[1]), step_ids[1]]
    ),
    "embeddings": lambda torch, data, indices: torch.nn.functional.embedding(indices, data),
    "labels": lambda torch, data, indices: data.gather(1, indices),  # noqa: ARG005
    "beam-search": lambda torch, data, indices: torch.take_along_dim(data, indices[..., None], 1),
    "channels": lambda torch, data, indices: data[..., indices],  # noqa: ARG005
    "mask": lambda torch, data, mask: data[mask.nonzero()[:, 0]],  # noqa: ARG005
    "models": lambda torch, data, indices: torch.nn.functional.embedding(indices, data),
}


def code_of(table: str) -> dict[str, str]:
    """Return the code of the functions in a table of this file."""
    for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == table:
            assert isinstance(node.value, ast.Dict)
            return {
                ast.literal_eval(key): ast.unparse(value.body)
                for key, value in zip(node.value.keys, node.value.values, strict=True)
                if key and isinstance(value, ast.Lambda)
            }
    raise LookupError(table)


@pytest.mark.parametrize(("label", "table"), [("NumPy", "NUMPY"), ("PyTorch", "PYTORCH")])
def test_a_lesson_prints_the_code_that_the_tests_run(label: str, table: str) -> None:
    printed = {lesson.name: lesson.terms[label] for lesson in LESSONS}

    assert {name: ast.unparse(ast.parse(code)) for name, code in printed.items()} == code_of(table)


def arrays_of(name: str, code: Code) -> tuple[list[Any], Any]:
    """Return the arrays that code takes, and the result of the lesson."""
    with of_job(job_of(name), Limits(None, None), Messages(quiet=True, color="never")) as call:
        arrays = {key: tensor.values() for key, tensor in call.bound.loaded().items()}
        if name == "mask":
            arrays["mask"] = np.isin(range(len(arrays["data"])), arrays["indices"])
        result = run_call(call.bound).whole().values()
    parameters = code.__code__.co_varnames[: code.__code__.co_argcount]
    return [arrays[key] for key in parameters if key != "torch"], result


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_numpy_does_the_same(name: str) -> None:
    arrays, result = arrays_of(name, NUMPY[name])

    np.testing.assert_array_equal(NUMPY[name](*arrays), result)


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_pytorch_does_the_same(name: str) -> None:
    torch = pytest.importorskip("torch")
    arrays, result = arrays_of(name, PYTORCH[name])

    tensors = [torch.from_numpy(np.array(array)) for array in arrays]

    np.testing.assert_array_equal(PYTORCH[name](torch, *tensors).numpy(), result)


def test_the_traps_of_numpy_are_there() -> None:
    (data, indices), _ = arrays_of("columns", NUMPY["columns"])
    assert np.take(data, indices).tolist() == [13, 10, 13]
    (data, indices), _ = arrays_of("gather", NUMPY["gather"])
    with pytest.raises(IndexError):
        data[3, 0, 3]
    assert data[[3, 0, 3]].tolist() == data[indices].tolist()
    (data, indices), _ = arrays_of("batch-dims", NUMPY["batch-dims"])
    assert data[:, indices].shape == (2, 2, 3)
    (data, indices), _ = arrays_of("gather-nd", NUMPY["gather-nd"])
    assert data[indices].shape == (3, 2, 3)
    (data, indices), _ = arrays_of("labels", NUMPY["labels"])
    assert data[:, indices[:, 0]].shape == (3, 3)
    (data, indices), result = arrays_of("channels", NUMPY["channels"])
    assert data[..., ::-1].tolist() == result.tolist()
    (data, mask), _ = arrays_of("mask", NUMPY["mask"])
    assert data[mask.astype(int)].tolist() == data[[1, 0, 0, 1]].tolist()


def test_the_traps_of_pytorch_are_there() -> None:
    torch = pytest.importorskip("torch")

    def tensors(name: str) -> list[Any]:
        return [torch.from_numpy(np.array(each)) for each in arrays_of(name, NUMPY[name])[0]]

    data, indices = tensors("rows")
    with pytest.raises(RuntimeError):
        torch.gather(data, 0, indices)
    data, indices = tensors("negative")
    with pytest.raises(IndexError):
        torch.index_select(data, 0, indices)
    with pytest.raises(RuntimeError):
        torch.gather(data, 0, indices)
    data, indices = tensors("outside")
    with pytest.raises(IndexError):
        data[indices]
    data, indices = tensors("table")
    with pytest.raises(IndexError):
        torch.index_select(data, 0, indices)
    data, indices = tensors("columns")
    assert torch.take(data, indices).tolist() == [13, 10, 13]
    data, indices = tensors("embeddings")
    assert data[-1].tolist() == data[3].tolist()
    with pytest.raises(IndexError):
        torch.nn.functional.embedding(torch.tensor([-1]), data)
    data, indices = tensors("labels")
    with pytest.raises(RuntimeError):
        data.gather(1, indices[:, 0])
    data, indices = tensors("beam-search")
    whole = torch.take_along_dim(data, indices[..., None], 1)
    assert data.gather(1, indices[..., None]).tolist() == whole[..., :1].tolist()
    data, indices = tensors("channels")
    with pytest.raises(ValueError, match="step"):
        data[..., ::-1]
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(data.numpy()[..., ::-1])
    assert data.flip(-1).tolist() == data[..., indices].tolist()
    _, mask = tensors("mask")
    assert mask.nonzero().shape == (2, 1)


# Screens


@every_lesson
@pytest.mark.parametrize("width", [80, 120])
def test_a_lesson_fits_the_screen(
    run: Run, lesson: DemoLesson, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")

    ran = run("demo", lesson.name, terminal=(1,))

    body = [line for line in ran.out.splitlines() if not re.match(r"\$ |  gathercli ", line)]
    assert max(map(cell_len, body)) <= width
    assert len(body) <= 50


@pytest.mark.parametrize("width", ["40", "60", "100"])
def test_a_folded_command_can_be_pasted(
    width: str, run: Run, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    command = command_line(job_of("embeddings"))

    (folded,) = re.findall(r"(?ms)^\$ (gathercli .*?)\n(?=openvino)", run("demo", "emb").out)

    assert "\n" in folded
    pasted = program(folded.replace("gathercli ", "$G ", 1))
    assert pasted.stdout == program(*shlex.split(command)[1:]).stdout != b""


def test_a_long_tensor_breaks_between_its_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")

    command = run("demo", "embeddings", terminal=(1,)).out.partition("$ ")[2]

    first, *rest = command.partition("\nopenvino")[0].splitlines()
    ends = [line for line in (first, *rest) if line.endswith(",")]
    assert ends
    assert all(line.endswith("],") for line in ends)


def test_the_first_lesson_needs_no_other(run: Run) -> None:
    first = run("demo").out

    assert first.startswith(run("demo", "gather").out)
    assert "$ gathercli explain gather '[10,20,30,40]' 3,0,3\n" in first
    assert "gathercli demo gather --answer   the answer" in first
    assert "gathercli demo rows   next: pick rows of a table" in first
    assert "More lessons: rows, columns," in first


def test_the_answer_stands_below_the_question(run: Run) -> None:
    asked = run("demo", "gather").out
    answered = run("demo", "gather", "--answer").out

    assert "Question  Which indices give 40, 40, 10?\nAnswer    3,3,0: an index" in answered
    assert "$ gathercli gather '[10,20,30,40]' 3,3,0\n[40,40,10]\n" in answered
    assert "Answer" not in asked


@pytest.mark.parametrize(
    ("word", "name"),
    [("2", "rows"), ("16", "models"), ("emb", "embeddings"), ("gather_nd", "gather-nd")],
)
def test_a_number_and_the_start_of_a_name_choose_a_lesson(word: str, name: str, run: Run) -> None:
    assert run("demo", word).out == run("demo", name).out


def test_the_lessons_are_listed_by_number_and_name(run: Run) -> None:
    listed = [line.split()[:2] for line in run("demo", "--list").out.splitlines()]

    assert listed == [[str(number), name] for number, name in enumerate(NAMES, 1)]


def test_a_pipe_has_every_lesson_and_the_answers_at_the_end(run: Run) -> None:
    lessons, answers = run("demo", "--all").out.split("\nAnswers\n")

    last = len(LESSONS)
    titles = [f"{n} of {last}   {each.name}: {each.title}" for n, each in enumerate(LESSONS, 1)]
    for part in (lessons, answers):
        assert re.findall(rf"(?m)^\d+ of {last} .*", part) == titles
    assert all(lesson.answer.split()[0] in answers for lesson in LESSONS)


@pytest.mark.usefixtures("folder")
def test_keys_walk_through_the_lessons_and_show_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LINES", "24")
    keys = [" ", "?", "b", "?", " ", "b", "G", "?", "?", "q"]

    status, seen = at_a_terminal(["demo", "--all"], keys, "q: quit")

    screens = seen.split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    titles = [re.findall(r"^\d+ of 16", screen) for screen in screens]
    assert titles[:6] == [["1 of 16"], [], ["1 of 16"], [], ["1 of 16"], ["2 of 16"]]
    assert "Question  Which indices give" in screens[1]
    assert "Answer" not in screens[1] + screens[5]
    assert "Answer    3,3,0" in screens[2]
    assert screens[3] == screens[1] == screens[6]
    assert "Answer    /positions/Gather" in screens[8]
    assert screens[7].split() == screens[9].replace("\x1b[?25h\x1b[?1049l", "").split()
    for screen in screens:
        assert screen.count("\n") == 23
        other = "lesson" if "\nAnswer " in screen else "answer"
        assert f"space: next   b: back   ?: {other}   g, G: " in screen.split("\n")[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("colums",), "did you mean `gathercli demo columns`?"),
        (("gather-",), "several lessons: expected gather-elements, gather-nd or gather-tree"),
        (("17",), "no lesson `17`: expected 1 to 16, gather, rows, columns,"),
        (("gather", "--all"), "exclude each other"),
        (("--answer", "--all"), "error: `--answer` and `--all` exclude each other"),
        (("--answer", "--all"), "hint: `gathercli demo --all` has the answers"),
        (("--list", "--all"), "error: `--list` and `--all` exclude each other"),
        (("all",), "did you mean `gathercli demo --all`?"),
        (("list",), "did you mean `gathercli demo --list`?"),
        (("Gather", "nd"), "did you mean `gathercli demo gather-nd`?"),
        (("2", "3"), "hint: `gathercli demo --all` shows every lesson"),
    ],
    ids=" ".join,
)
def test_a_lesson_that_is_not_there_is_a_usage_error(
    run: Run, words: tuple[str, ...], said: str
) -> None:
    ran = run("demo", *words)

    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
