"""`demo`: short lessons that are true, and lines to go on with that work."""

from __future__ import annotations

import ast
import fcntl
import json
import os
import re
import shlex
import signal
import struct
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from rich.cells import cell_len

from gathercli.cli import main
from gathercli.cli.messages import Messages
from gathercli.cli.options import Limits
from gathercli.compute.run import run_arrays as run_call
from gathercli.explain.demo import LESSONS, DemoLesson, _asked, jobs_of, tour
from gathercli.explain.explained_call import of_job
from gathercli.frameworks import every_row
from gathercli.io.jobs import jobs
from gathercli.ops import OPERATORS
from tests.explain.test_keys import Person, at_a_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Program, Run

    Code = Callable[..., Any]

NAMES: Final = [lesson.name for lesson in LESSONS]
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)


# What a lesson shows


@every_lesson
@pytest.mark.usefixtures("model")
def test_a_lesson_types_the_command_that_draws_its_picture(run: Run, lesson: DemoLesson) -> None:
    shown = run("demo", lesson.name)

    pictures = re.findall(
        r"(?ms)^\$ (gathercli .*?)\n(?=Gather|openvino|onnx)(.*?)\n\n\w", shown.out
    )
    typed = [line.replace(" \\\n    ", " ").replace("\n    ", "") for line, _ in pictures]
    assert typed == lesson.commands
    for command, (_, picture) in zip(lesson.commands, pictures, strict=True):
        explained = run(*shlex.split(command)[1:]).out
        title, _, tensors = picture.partition("\n")
        tensors = tensors.removeprefix("openvino-1\n")  # on its line below a long equation
        assert picture in explained or (lesson.brief and tensors in explained), explained
        assert not lesson.brief or not re.search(r"batch_dims 0|\[:0\]", title + tensors)
    assert (shown.status, shown.err) == (0, "")


def test_every_job_of_the_lessons_gives_what_it_expects(run: Run) -> None:
    path = tour("lessons.jsonl")

    ran = run("batch", path, "-q")

    assert ran.status == 0
    ids = [job.id.partition("/")[0] for job in jobs(path)]
    assert [*dict.fromkeys(ids)] == NAMES


@every_lesson
def test_a_lesson_warns_asks_and_shows_the_code_of_three_libraries(lesson: DemoLesson) -> None:
    code = [] if lesson.table else ["NumPy", "PyTorch", "TensorFlow"]
    further = ("Formulas", "Batches", "Versions", "Left out", "Refused")
    others = [label for label in lesson.terms if label not in further]
    assert others == [*code, "Trap", "Question"]
    assert lesson.terms["Question"].endswith("?")
    assert 2 <= len(re.findall(r"\.(?= |$)", lesson.says)) <= 5
    assert lesson.accept
    assert not set(lesson.accept) & set(lesson.slips)


EXIT_STATUS: Final = {
    "gathercli check gather '[10,20,30,40]' 3,4,-5": 1,
    "gathercli check encoder.onnx": 1,
    "gathercli check encoder.onnx --to openvino,tflite": 1,
    "gathercli explain gather '[10,20,30,40]' -1,-4 -V onnx-1": 65,
    "gathercli gather-elements '[[0.1,0.2,0.7],[0.6,0.3,0.1],[0.2,0.5,0.3]]' '[[2],[-100],[0]]' "
    "-a 1": 65,
}
"""The lines of lessons that show a negative answer or a refusal."""


@pytest.fixture
def model(folder: Path, run: Run) -> Path:
    """Return a folder with the model of the lesson on models, written as it says."""
    assert run("demo", "models", "--save", "encoder.onnx").status == 0
    return folder


@every_lesson
def test_a_line_to_try_works(run: Run, model: Path, lesson: DemoLesson) -> None:
    for line, _ in lesson.tries:
        ran = run(*shlex.split(line)[1:])

        assert ran.status == EXIT_STATUS.get(line, 0), ran.err
        assert ran.out
    assert [each.name for each in model.iterdir()] == ["encoder.onnx"]


@every_lesson
@pytest.mark.usefixtures("model")
def test_an_output_of_a_lesson_is_what_its_command_prints(run: Run, lesson: DemoLesson) -> None:
    for command, output in (*lesson.proof, *lesson.practice):
        ran = run(*shlex.split(command)[1:])

        assert f"{ran.out}{ran.err}".rstrip("\n") == output
        assert ran.status == (65 if output.startswith("error") else EXIT_STATUS.get(command, 0))


def test_every_line_with_an_exit_status_is_one_of_a_lesson() -> None:
    lines = {line for lesson in LESSONS for line, _ in lesson.tries}
    commands = {command for lesson in LESSONS for command, _ in lesson.proof}

    assert EXIT_STATUS.keys() <= lines | commands


def test_the_first_accepted_answer_is_the_one_that_is_shown() -> None:
    for lesson in LESSONS:
        shown = re.findall(r"[\w/-]+", f"{lesson.answer} {lesson.proof[0][0]}".lower())
        wanted = iter(shown)
        assert all(word in wanted for word in re.findall(r"[\w/-]+", lesson.accept[0]))


def test_the_table_of_frameworks_has_what_they_answer(run: Run) -> None:
    (lesson,) = (each for each in LESSONS if each.name == "frameworks")

    _, *rows = lesson.table
    families = {op.full_name: op.family for op in (*OPERATORS, *(each.op for each in every_row()))}
    data, checked = [10, 20, 30, 40], 0
    for _, first, second, names in rows:
        for name in names.split(", "):
            command = families[name]
            axis = ["-a", "0"] if command == "gather-elements" else []
            for index, said in (("-1", first), ("7", second)):
                ran = run(command, str(data), f"{index},", "-V", name, "-q", *axis)
                if said in ("error", "undefined"):
                    assert ran.status == 65, name
                elif said.startswith("NaN"):
                    assert ran.out == "[-2147483648]\n", name
                else:
                    assert ran.out == f"[{said.partition(':')[0]}]\n", name
                checked += 1
    assert checked > 60


CALLS: Final = {
    "Gather": ("gather", "[10,20]", "{},"),
    "GatherElements": ("gather-elements", "[10,20]", "[{}]", "-a", "0"),
    "GatherND": ("gather-nd", "[10,20]", "[[{}]]"),
    "GatherTree": ("gather-tree", "[[[7,8]],[[10,20]]]", "[[[0,0]],[[{},0]]]", "[2]", "0"),
}
"""Calls with one index of an axis of two, which gives 10, or 20; of beams 7, or 8."""


def tables_of(name: str) -> list[list[list[str]]]:
    """Return the tables of a lesson, each with its headings first."""
    (lesson,) = (each for each in LESSONS if each.name == name)
    tables: list[list[list[str]]] = [[]]
    for row in lesson.table:
        if any(row):
            tables[-1].append([*row])
        else:
            tables.append([])
    return tables


def test_the_table_of_versions_has_what_each_answers(run: Run) -> None:
    *_, (_, *rows) = tables_of("choose")

    assert [row[0] for row in rows] == [op.full_name for op in OPERATORS]
    for (version, below, outside), op in zip(rows, OPERATORS, strict=True):
        command, *words = CALLS[op.name]
        for index, said in ((-1, below), (2, outside), (-3, outside)):
            line = [word.format(index) for word in words]
            ran = run(command, *line, "-V", version, "-q")
            expected = {"from the end": "[20]\n", "zero-filled": "[0]\n", "refused": ""}[said]
            assert (ran.status, ran.out) == (0 if expected else 65, expected), (version, index)


FORMULAS: Final[dict[str, tuple[str, Code]]] = {
    "Gather, axis 0": (
        "out[i,j,k] = data[indices[i,j],k]",
        lambda data, indices, i, j, k: data[indices[i, j], k],
    ),
    "Gather, axis 1": (
        "out[k,i,j] = data[k,indices[i,j]]",
        lambda data, indices, k, i, j: data[k, indices[i, j]],
    ),
    "Gather, -a 1 -b 1": (
        "out[b,i] = data[b,indices[b,i]]",
        lambda data, indices, b, i: data[b, indices[b, i]],
    ),
    "GatherElements, axis 0": (
        "out[i,j] = data[indices[i,j],j]",
        lambda data, indices, i, j: data[indices[i, j], j],
    ),
    "GatherElements, axis 1": (
        "out[i,j] = data[i,indices[i,j]]",
        lambda data, indices, i, j: data[i, indices[i, j]],
    ),
    "GatherND, pairs": (
        "out[i] = data[r,c], r,c = indices[i]",
        lambda data, indices, i: data[tuple(indices[i])],
    ),
    "GatherND, one number": (
        "out[i,k] = data[indices[i,0],k]",
        lambda data, indices, i, k: data[indices[i, 0], k],
    ),
    "GatherND, -b 1": (
        "out[b] = data[b,indices[b,0]]",
        lambda data, indices, b: data[b, indices[b, 0]],
    ),
}
OPTIONS: Final = {
    "axis 0": ("-a", "0"),
    "axis 1": ("-a", "1"),
    "-a 1 -b 1": ("-a", "1", "-b", "1"),
    "-b 1": ("-b", "1"),
}


def test_the_formulas_of_a_table_give_what_the_operators_do(run: Run) -> None:
    (_, *rows), *_ = tables_of("choose")
    families = {op.name: op.family for op in OPERATORS}

    assert {case: words for case, words, _ in rows} == {
        case: words for case, (words, _) in FORMULAS.items()
    }
    data = np.array([[1, 2], [3, 4]])
    for line, (_, formula) in FORMULAS.items():
        operator, case = line.split(", ", maxsplit=1)
        is_single = case in ("one number", "-b 1")
        indices = np.array([[1], [0]] if is_single else [[1, 0], [0, 0]])
        words = [json.dumps(each.tolist()) for each in (data, indices)]
        out = np.array(json.loads(run(families[operator], *words, *OPTIONS.get(case, ())).out))
        for at in np.ndindex(out.shape):
            assert formula(data, indices, *at) == out[at], (line, at)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("end", [99, 22, 12, 10])
def test_the_rules_of_a_table_follow_beams_back(run: Run, length: int, end: int) -> None:
    (_, (_, *rules), _) = tables_of("choose")
    steps, parents = [[10, 11, 12], [20, 21, 22], [30, 31, 32]], [[0, 0, 0], [1, 1, 0], [2, 0, 1]]

    assert [rule for _, rule, _ in rules] == [
        "beam(last) = w",
        "beam(t-1) = parent_ids[t,b,beam(t)]",
        "out[t,b,w] = step_ids[t,b,beam(t)]",
        "out[t,b,w] = end_token",
    ]
    out = np.full((3, 1, 3), end)
    last = min(length, 3) - 1
    for w in range(3):
        beam = {last: w}
        for t in range(last, 0, -1):
            beam[t - 1] = parents[t][beam[t]]
        for t in range(last + 1):
            out[t, 0, w] = steps[t][beam[t]]
            if out[t, 0, w] == end:
                break
    words = [json.dumps([[row] for row in each]) for each in (steps, parents)]
    ran = run("gather-tree", *words, f"[{length}]", str(end))
    assert json.loads(ran.out) == out.tolist()


def test_what_a_lesson_says_of_other_sizes_is_so(run: Run) -> None:
    def status(indices: str, version: str) -> int:
        words = ("gather-elements", "[[1,2],[3,4]]", indices, "-a", "0", "-V", version)
        return run(*words).status

    larger, smaller, longer = "[[1,0,1]]", "[[1],[0]]", "[[1,0],[0,0],[1,1]]"
    assert [status(each, "openvino-6") for each in (larger, smaller, longer)] == [65, 65, 0]
    assert [status(each, "onnx-13") for each in (larger, smaller, longer)] == [65, 0, 0]


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
    "gather-tree": lambda step_ids, parent_ids: np.take_along_axis(
        step_ids,
        np.stack([np.take_along_axis(parent_ids[1], parent_ids[2], 1), parent_ids[2], [[0, 1, 2]]]),
        2,
    ),
    "embeddings": lambda data, indices: data[indices],
    "labels": lambda data, indices: np.take_along_axis(data, indices, 1),
    "beam-search": lambda data, indices: np.take_along_axis(data, indices[..., None], 1),
    "channels": lambda data, indices: data[..., indices],
    "mask": lambda data, mask: data[np.flatnonzero(mask)],
    "models": lambda data, indices: data[indices],
    "shape": lambda data, indices: np.take(data, indices, axis=1),
    "scatter": lambda indices: np.bincount(indices, np.ones(3), 4),
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
    "gather-tree": lambda torch, step_ids, parent_ids: step_ids.gather(
        2,
        torch.stack(
            [parent_ids[1].gather(1, parent_ids[2]), parent_ids[2], torch.tensor([[0, 1, 2]])]
        ),
    ),
    "embeddings": lambda torch, data, indices: torch.nn.functional.embedding(indices, data),
    "labels": lambda torch, data, indices: data.gather(1, indices),  # noqa: ARG005
    "beam-search": lambda torch, data, indices: torch.take_along_dim(data, indices[..., None], 1),
    "channels": lambda torch, data, indices: data[..., indices],  # noqa: ARG005
    "mask": lambda torch, data, mask: data[mask.nonzero()[:, 0]],  # noqa: ARG005
    "models": lambda torch, data, indices: torch.nn.functional.embedding(indices, data),
    "shape": lambda torch, data, indices: data[:, indices],  # noqa: ARG005
    "scatter": lambda torch, indices: torch.zeros(4).index_add(0, indices, torch.ones(3)),
}

TENSORFLOW: Final[dict[str, Code]] = {
    "gather": lambda tf, data, indices: tf.gather(data, indices),
    "rows": lambda tf, data, indices: tf.gather(data, indices),
    "columns": lambda tf, data, indices: tf.gather(data, indices, axis=1),
    "table": lambda tf, data, indices: tf.gather(data, indices),
    "negative": lambda tf, data, indices: tf.gather(
        data, tf.where(indices < 0, indices + 4, indices)
    ),
    "outside": lambda tf, data, indices: tf.where(
        (indices < -4) | (indices > 3), 0, tf.gather(data, indices % 4)
    ),
    "batch-dims": lambda tf, data, indices: tf.gather(data, indices, axis=1, batch_dims=1),
    "shape": lambda tf, data, indices: tf.gather(data, indices, axis=1),
    "gather-elements": lambda tf, data, indices: tf.experimental.numpy.take_along_axis(
        data, indices, 0
    ),
    "gather-nd": lambda tf, data, indices: tf.gather_nd(data, indices % [3, 3]),
    "gather-tree": lambda tf, step_ids, parent_ids: tf.gather(
        step_ids,
        tf.stack(
            [
                tf.gather(parent_ids[1], parent_ids[2], axis=1, batch_dims=1),
                parent_ids[2],
                [[0, 1, 2]],
            ]
        ),
        axis=2,
        batch_dims=2,
    ),
    "scatter": lambda tf, indices: tf.scatter_nd(indices[:, None], tf.ones(3), [4]),
    "embeddings": lambda tf, data, indices: tf.nn.embedding_lookup(data, indices),
    "labels": lambda tf, data, indices: tf.gather(data, indices, axis=1, batch_dims=1),
    "beam-search": lambda tf, data, indices: tf.gather(data, indices, axis=1, batch_dims=1),
    "channels": lambda tf, data, indices: tf.gather(data, indices, axis=-1),
    "mask": lambda tf, data, mask: tf.boolean_mask(data, mask),
    "models": lambda tf, data, indices: tf.gather(data, indices),
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


@pytest.mark.parametrize("label", ["NumPy", "PyTorch", "TensorFlow"])
def test_a_lesson_prints_the_code_that_the_tests_run(label: str) -> None:
    table = label.upper()
    printed = {each.name: each.terms[label] for each in LESSONS if label in each.terms}

    assert {name: ast.unparse(ast.parse(code)) for name, code in printed.items()} == code_of(table)


def arrays_of(name: str, code: Code) -> tuple[list[Any], Any]:
    """Return the arrays that code takes, and the result of the lesson."""
    (lesson,) = (each for each in LESSONS if each.name == name)
    (job,) = jobs_of(lesson.name)
    with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as call:
        arrays = {key: tensor.values() for key, tensor in call.bound.loaded().items()}
        if name == "mask":
            arrays["mask"] = np.isin(range(len(arrays["data"])), arrays["indices"])
        result = run_call(call.bound).whole().values()
    if name == "scatter":
        result = np.array([1, 0, 0, 2])  # as it says
    parameters = code.__code__.co_varnames[: code.__code__.co_argcount]
    return [arrays[key] for key in parameters if key not in ("torch", "tf")], result


@pytest.mark.parametrize("name", NUMPY)
def test_the_line_of_numpy_does_the_same(name: str) -> None:
    arrays, result = arrays_of(name, NUMPY[name])

    np.testing.assert_array_equal(NUMPY[name](*arrays), result)


@pytest.mark.parametrize("name", PYTORCH)
def test_the_line_of_pytorch_does_the_same(name: str) -> None:
    torch = pytest.importorskip("torch")
    arrays, result = arrays_of(name, PYTORCH[name])

    tensors = [torch.from_numpy(np.array(array)) for array in arrays]

    np.testing.assert_array_equal(PYTORCH[name](torch, *tensors).numpy(), result)


@pytest.mark.parametrize("name", TENSORFLOW)
def test_the_line_of_tensorflow_does_the_same(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    arrays, result = arrays_of(name, TENSORFLOW[name])

    tensors = [tf.constant(array) for array in arrays]

    np.testing.assert_array_equal(TENSORFLOW[name](tf, *tensors).numpy(), result)


def test_the_traps_of_numpy_are_there() -> None:
    (data, indices), _ = arrays_of("columns", NUMPY["columns"])
    assert np.take(data, indices).tolist() == [13, 10, 13]
    (data, indices), _ = arrays_of("gather", NUMPY["gather"])
    with pytest.raises(IndexError):
        data[3, 0, 2]
    assert data[[3, 0, 2]].tolist() == data[indices].tolist()
    ((indices,), back) = arrays_of("scatter", NUMPY["scatter"])
    once, each = np.zeros((2, 4))
    once[indices] += 1
    np.add.at(each, indices, 1)
    assert (once.tolist(), each.tolist()) == ([1, 0, 0, 1], back.tolist())
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


def test_the_names_that_mislead_are_what_they_are_said_to_be() -> None:
    data, indices = np.array([[1, 2], [3, 4], [5, 6]]), np.array([[2, 1], [0, 0]])
    rows, columns = np.array([2, 0]), np.array([1, 0])

    outputs = list[Any]()
    for job in jobs_of("choose")[:3]:
        with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as call:
            outputs.append(run_call(call.bound).whole().values().tolist())
    gathered, picked, tuples = outputs
    assert np.take(data, indices, axis=0).tolist() == gathered
    assert np.take_along_axis(data, indices, 0).tolist() == picked
    assert np.stack([rows, columns], -1).tolist() == indices.tolist()
    assert data[rows, columns].tolist() == tuples


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
    assert len(body) <= (120 if len(lesson.commands) > 1 else 80 if lesson.table else 60)


@pytest.mark.parametrize("width", ["40", "60", "100"])
def test_a_folded_command_can_be_pasted(
    width: str, run: Run, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    (command,) = (line for each in LESSONS if each.name == "embeddings" for line in each.commands)

    (folded,) = re.findall(r"(?ms)^\$ (gathercli .*?)\n(?=Gather\b)", run("demo", "emb").out)

    assert "\n" in folded
    pasted = program(folded.replace("gathercli ", "$G ", 1))
    assert pasted.stdout == program(*shlex.split(command)[1:]).stdout != b""


def test_a_long_tensor_breaks_between_its_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")

    command = run("demo", "embeddings", terminal=(1,)).out.partition("$ ")[2]

    first, *rest = command.partition("\nGather ")[0].splitlines()
    ends = [line for line in (first, *rest) if line.endswith(",")]
    assert ends
    assert all(line.endswith("],") for line in ends)


def test_the_first_lesson_needs_no_other(run: Run) -> None:
    first = run("demo").out

    assert first.startswith(run("demo", "gather").out)
    assert "$ gathercli explain gather '[10,20,30,40]' 3,0,2\n" in first
    assert "gathercli demo gather --answer   the answer" in first
    assert "gathercli demo rows   next: pick rows of a table" in first
    assert "More lessons: rows, columns," in first


def test_the_answer_stands_below_the_question(run: Run) -> None:
    asked = run("demo", "gather").out
    answered = run("demo", "gather", "--answer").out

    assert "Question    Which indices give 40, 40, 10?\nAnswer      3,3,0: an index" in answered
    assert "$ gathercli gather '[10,20,30,40]' 3,3,0\n[40,40,10]\n" in answered
    assert "Answer" not in asked


@pytest.mark.parametrize(
    ("word", "name"),
    [("2", "rows"), ("20", "models"), ("emb", "embeddings"), ("gather_nd", "gather-nd")],
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
    assert "/tour/" not in lessons + answers


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
def test_keys_walk_through_the_lessons_and_show_answers_with_the_pictures(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("COLUMNS", str(size[0]))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LINES", str(size[1]))
    keys = ["?", "?", " "] * 100 + ["q"]

    status, seen = at_a_terminal(["demo", "--all"], keys, "q: quit")

    screens = seen.removesuffix("\x1b[?25h\x1b[?1049l").split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    questions = [screen for screen in screens if re.search(r"(?m)(^| {4})Question ", screen)]
    answered = [screen for screen in questions if re.search(r"(?m)(^| {4})Answer ", screen)]
    asked = [screen for screen in questions if screen not in answered]
    for lesson in LESSONS:
        for found in (asked, answered):
            (screen,) = {each for each in found if f"of 20   {lesson.name}: " in each}
            assert re.search(r"(?m)^(indices|batch 0)\b", screen)
        assert lesson.answer.split()[0].strip("`") in screen
        assert lesson.proof[-1][1].splitlines()[-1][:20] in screen.replace("\n", "")
    for screen in screens:
        assert screen.count("\n") == size[1] - 1
        other = "lesson" if screen in answered else "answer"
        assert f"space: next   b: back   ?: {other}   g, G: " in screen.split("\n")[-1]


@every_lesson
@pytest.mark.parametrize("size", [(80, 24), (120, 24), (160, 50)], ids=str)
def test_a_question_and_its_answer_fit_the_screen_with_a_picture(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], lesson: DemoLesson
) -> None:
    monkeypatch.setenv("COLUMNS", str(size[0]))

    number, most = LESSONS.index(lesson), size[1] - 1
    asked, answered = (_asked(number, most, answer=each).plain for each in (False, True))

    lines = answered.splitlines()
    assert max(len(asked.splitlines()), len(lines)) <= most
    assert all(cell_len(line) <= size[0] for line in lines)
    (picture,) = re.findall(r"(?m)^(?:indices|batch 0)\b.*", answered)[:1]
    assert picture.split("    ")[0] in asked
    beside = [line for line in lines if re.search(r"\S.* {4}Question ", line)]
    assert len(beside) == (size[0] > 100)


@pytest.mark.usefixtures("folder")
def test_a_new_size_of_the_screen_lays_the_lessons_out_again() -> None:
    def resize() -> None:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        os.kill(os.getpid(), signal.SIGWINCH)

    person = Person([*[" "] * 4, resize, "?", "q"], "q: quit")
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        status = main(["demo", "--all", "--color", "never"])
    finally:
        seen = person.leave()

    screens = seen.replace("\x1b[?25h\x1b[?1049l", "").split("\x1b[2J\x1b[H")[1:]
    *_, before, after, answered = screens
    assert status == 0
    assert (before.count("\n"), after.count("\n")) == (23, 49)
    (name,) = re.findall(r"^(\d+ of 20   [\w-]+): ", after)
    assert answered.startswith(name)
    assert name in "".join(screens[:-2])
    assert re.search(r"(?m)^\S.* Question  .*$", answered)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("colums",), "did you mean `gathercli demo columns`?"),
        (("gather-",), "several lessons: expected gather-elements, gather-nd or gather-tree"),
        (("21",), "no lesson `21`: expected 1 to 20, gather, rows, columns,"),
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
