"""Every fixture is replayed, and the files that hold them are read as strictly as they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli import OPERATORS, ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.run import run_arrays as run
from gathercli.errors import GatherError, InputError, NoInputError
from gathercli.frameworks import every_row, names
from gathercli.frameworks.versions import find
from gathercli.io import jobs as job_files
from gathercli.io.jobs import Job, jobs
from gathercli.io.source import Inputs
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import dtype
from gathercli.spec.rules import statements
from gathercli.spec.shapes import Shape, as_shape
from tests.jobs import parse

if TYPE_CHECKING:
    from gathercli.compute.tensor import Tensor
    from gathercli.spec.op import Op

FIXTURES = Path(__file__).parent.parent / "fixtures"
TOUR = FIXTURES / "tour"
FILES = sorted(
    path
    for framework in {"onnx", "openvino", *names()}
    for path in (FIXTURES / framework).rglob("*.json")
)
JOBS = {str(path.relative_to(FIXTURES).with_suffix("")): jobs(str(path)) for path in FILES}
ALL = [pytest.param(found[0], id=name) for name, found in JOBS.items()]
KEYS = [
    *("id", "title", "source", "op", "of", "version", "data", "indices"),
    *("step_ids", "parent_ids", "max_seq_len", "end_token", "axis", "batch_dims"),
    *("negative", "out_of_range", "data_dtype", "indices_dtype", "step_ids_dtype"),
    *("parent_ids_dtype", "max_seq_len_dtype", "end_token_dtype", "expect", "expect_error"),
]
LAYER = ["layer-example"]
EXAMPLES = [f"example-{number}" for number in range(1, 8)]
TABLE = [f"table-row-{row}" for row in range(1, 5)] + ["example-axis-0", "example-axis-1"]
SPECIFIED = {
    "onnx/gather-1": TABLE,
    "onnx/gather-11": TABLE,
    "onnx/gather-13": TABLE,
    "openvino/gather-1": LAYER,
    "onnx/gather-nd-11": EXAMPLES[:4],
    "onnx/gather-nd-12": EXAMPLES[:5],
    "onnx/gather-nd-13": EXAMPLES[:5],
    "openvino/gather-8": LAYER + EXAMPLES,
    "openvino/gather-elements-6": LAYER + EXAMPLES[:3],
    "openvino/gather-nd-5": ["layer-example-1", "layer-example-2", *EXAMPLES[:6]],
    "openvino/gather-nd-8": [f"layer-example-{number}" for number in (1, 2, 3)] + EXAMPLES,
    "openvino/gather-tree-1": LAYER,
}
"""The examples that each specification text prints."""


def _row(job: Job) -> Any:
    assert job.version is not None
    return find(job.version, job.operator).op


def _inputs(job: Job) -> Inputs:
    return Inputs(None, folder=job.folder)


def _folder(op: Op) -> Path:
    """Return the folder of a row, as ``webnn/gather-elements`` or ``coreml/gather-nd-ios17``."""
    name = op.full_name.removeprefix(f"{op.framework}.")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[._]", "-", name)
    return FIXTURES / op.framework / words.lower()


def _infer(job: Job) -> Shape:
    operands = [Operand(as_shape(shape), job.types.get(name)) for name, shape in job.inputs.items()]
    return ops.bind(_row(job), *operands, shapes_only=True, **job.attrs).shape


def _run(job: Job) -> Tensor:
    inputs = _inputs(job)
    tensors = [job.tensor(name, inputs) for name in job.inputs]
    call = ops.bind(
        _row(job),
        *map(Operand.of, tensors),
        **job.attrs,
        negative=job.negative,
        out_of_range=job.out_of_range,
    )
    whole = run(BoundCall(call, *tensors)).whole()
    assert call.shape == whole.shape
    return whole


def _replay(job: Job) -> Shape | Tensor:
    return _infer(job) if job.op == job_files.SHAPE else _run(job)


@pytest.mark.parametrize("job", ALL)
def test_a_fixture_gives_what_it_expects(job: Job) -> None:
    if job.expect_error is not None:
        with pytest.raises(GatherError) as refusal:
            _replay(job)
        assert refusal.value.rule == job.expect_error
        return
    found = _replay(job)
    if isinstance(found, Shape):
        assert str(found) == str(as_shape(job.expect))
        return
    expected = job.tensor("expect", _inputs(job), assumed=found.dtype)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.values(), expected.values(), strict=True)


@pytest.mark.parametrize("job", ALL)
def test_a_fixture_lies_in_the_folder_of_the_row_that_runs_it(job: Job) -> None:
    assert Path(job.folder) == _folder(_row(job))


@pytest.mark.parametrize("path", FILES, ids=JOBS)
def test_a_fixture_is_one_job_with_its_keys_in_order_and_its_place_as_id(path: Path) -> None:
    written = json.loads(path.read_text("utf-8"))
    assert list(written) == [key for key in KEYS if key in written]
    assert written["id"] == "-".join(path.relative_to(FIXTURES).with_suffix("").parts)
    assert written["title"].endswith(".")
    assert written["source"]
    assert ("expect" in written) != ("expect_error" in written)


def test_every_id_is_there_once() -> None:
    ids = [job.id for found in JOBS.values() for job in found]
    assert len(set(ids)) == len(ids) == len(FILES)


@pytest.mark.parametrize("op", OPERATORS, ids=str)
def test_every_row_has_at_least_five_fixtures(op: Any) -> None:
    assert len(list(_folder(op).glob("*.json"))) >= 5


@pytest.mark.parametrize("op", [row.op for row in every_row()], ids=str)
def test_every_row_of_a_framework_has_an_example_a_negative_index_and_one_outside(op: Op) -> None:
    kinds = {path.name.removesuffix(".json").partition("-")[0] for path in _folder(op).iterdir()}
    assert kinds >= {"example", "negative", "outside"}


@pytest.mark.parametrize(("folder", "examples"), SPECIFIED.items(), ids=SPECIFIED)
def test_every_example_of_the_specification_is_a_fixture(folder: str, examples: list[str]) -> None:
    assert {f"{folder}/{example}" for example in examples} <= JOBS.keys()


def test_every_rule_of_the_operators_refuses_some_fixture() -> None:
    refused = {job.expect_error for (job,) in JOBS.values()} - {None}
    assert refused == statements().keys() - {"limit"}


@pytest.mark.parametrize("number", [2, 7])
@pytest.mark.parametrize("key", ["data", "indices"])
def test_the_array_beside_an_example_holds_the_same_numbers(key: str, number: int) -> None:
    written = json.loads((FIXTURES / f"openvino/gather-8/example-{number}.json").read_text("utf-8"))
    twin = np.load(FIXTURES / f"openvino/gather-8/example-{number}.{key}.npy")
    assert (twin.dtype, twin.tolist()) == (np.int64, written[key])


def test_the_embeddings_of_the_tour_are_rows_of_tenths() -> None:
    embeddings = np.load(TOUR / "embeddings.npy")
    tenths = [[row + column / 10 for column in range(4)] for row in range(6)]
    np.testing.assert_array_equal(embeddings, np.array(tenths, np.float32), strict=True)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tokens", [[0, 2, 5], [3, 3, 1]]),
        ("scores", [[71, 93, 58, 64, 80], [45, 88, 97, 62, 70], [99, 53, 60, 85, 77]]),
        ("top", [[1, 4], [2, 1], [0, 3]]),
    ],
)
def test_the_integers_of_the_tour_are_small_enough_to_read(name: str, values: Any) -> None:
    array = np.load(TOUR / f"{name}.npy")
    assert (array.dtype, array.tolist()) == (np.int64, values)


def test_the_top_of_the_tour_are_the_two_best_scores_of_each_row() -> None:
    scores, top = np.load(TOUR / "scores.npy"), np.load(TOUR / "top.npy")
    np.testing.assert_array_equal(np.argsort(-scores, axis=1)[:, :2], top)


@pytest.mark.parametrize("name", ["embeddings", "tokens"])
def test_the_archive_of_the_tour_holds_the_arrays_beside_it(name: str) -> None:
    with np.load(TOUR / "weights.npz") as archive:
        assert sorted(archive) == ["embeddings", "tokens"]
        np.testing.assert_array_equal(archive[name], np.load(TOUR / f"{name}.npy"), strict=True)


def test_the_request_of_the_tour_holds_data_and_indices() -> None:
    inputs, request = Inputs(None), f"@{TOUR / 'request.json'}"
    data = inputs.tensor(f"{request}#data", "data")
    indices = inputs.tensor(f"{request}#indices", "indices")
    assert (str(data), data.array.tolist()) == ("f32[3,2]", [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]])
    assert (str(indices), indices.array.tolist()) == ("i32[2,2]", [[2, 0], [-1, 7]])


# The reading of jobs

GATHER: dict[str, Any] = {"id": "a", "op": "gather", "data": [1, 2], "indices": [0]}
INFER: dict[str, Any] = {
    "id": "a",
    "op": "shape",
    "of": "gather",
    "data": "[2]",
    "indices": [1, "N"],
}
GATHER_KEYS = (
    "id, title, source, op, version, data, indices, data_dtype, indices_dtype, axis, batch_dims, "
    "negative, out_of_range, expect, expect_error, rtol, atol, output or node"
)
TREE_KEYS = (
    "id, title, source, op, version, step_ids, parent_ids, max_seq_len, end_token, "
    "step_ids_dtype, parent_ids_dtype, max_seq_len_dtype, end_token_dtype, axis, batch_dims, "
    "negative, out_of_range, expect, expect_error, rtol, atol, output or node"
)
SHAPE_KEYS = (
    "id, title, source, op, of, version, data, indices, data_dtype, indices_dtype, axis, "
    "batch_dims, negative, out_of_range, expect, expect_error, rtol or atol"
)
INPUT = "a list, a number, a typed tensor, or a token other than `-`"


def test_a_job_leaves_open_what_it_does_not_say() -> None:
    job = parse(GATHER, where="here")
    assert job == Job(id="a", op="gather", inputs={"data": [1, 2], "indices": [0]})
    assert (job.operator, job.version, job.attrs, job.expect) == ("gather", None, {}, None)


def test_a_job_keeps_everything_it_says() -> None:
    inputs = {"data": [1, 2], "indices": [0]}
    attrs = {"axis": [0], "batch_dims": -1}
    rest: dict[str, Any] = {
        "id": "a",
        "op": "gather",
        "title": "t",
        "source": "s",
        "version": 8,
        "negative": "wrap",
        "out_of_range": "zero",
        "expect": 3,
        "rtol": 1e-3,
        "atol": 0,
        "output": "out/a.npy",
    }
    types = {"data_dtype": "bf16", "indices_dtype": "int32"}
    text = json.dumps(rest | inputs | attrs | types)

    job = parse(text, where="here", folder="there")

    declared = {"data": dtype("bfloat16"), "indices": dtype("int32")}
    assert job == Job(**rest, inputs=inputs, attrs=attrs, types=declared, folder="there")


def test_a_shape_job_names_its_operator_and_may_leave_the_axis_unknown() -> None:
    job = parse(INFER | {"of": "gather-elements", "axis": "unknown"}, where="here")
    assert (job.operator, job.attrs) == ("gather-elements", {"axis": "unknown"})
    assert [str(as_shape(shape)) for shape in job.inputs.values()] == ["[2]", "[1,N]"]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (
            "[1",
            "here: expecting ',' delimiter at line 1, column 3, at the end of the text: "
            "expected JSON",
        ),
        (b"\xff", "here: byte 0 is 0xff: expected UTF-8 text"),
        ('{"id":"a","id":"b"}', 'here: the key "id" is repeated: expected it once'),
        ("[]", "here: the job is []: expected an object"),
        (
            GATHER | {"axes": 1},
            f"here: `$.axes` is unknown in a gather job: expected {GATHER_KEYS}",
        ),
        (
            GATHER | {"of": "gather"},
            f"here: `$.of` is unknown in a gather job: expected {GATHER_KEYS}",
        ),
        (
            INFER | {"output": "a.npy"},
            f"here: `$.output` is unknown in a shape job: expected {SHAPE_KEYS}",
        ),
        (
            {"op": "gather-nd", "data": 1, "axes": 1},
            f"here: `$.axes` is unknown in a gather-nd job: expected {GATHER_KEYS}",
        ),
        (
            {"op": "gather-tree", "data": 1},
            f"here: `$.data` is unknown in a gather-tree job: expected {TREE_KEYS}",
        ),
        (
            {"op": "gather-tree", "step_ids": 1, "parent_ids": 1, "max_seq_len": 1},
            f"here: `$.end_token` is missing: expected {INPUT}",
        ),
        ({"op": "gather"}, f"here: `$.data` is missing: expected {INPUT}"),
        (
            {"id": "a"},
            "here: `$.op` is missing: "
            "expected gather, gather-elements, gather-nd, gather-tree or shape",
        ),
        (
            {"id": "a", "op": "shape"},
            "here: `$.of` is missing: expected gather, gather-elements, gather-nd or gather-tree",
        ),
        ({"id": "a", "op": "gather", "data": 1}, f"here: `$.indices` is missing: expected {INPUT}"),
        (GATHER | {"id": 1}, "here: `$.id` is 1: expected text"),
        (GATHER | {"title": ""}, 'here: `$.title` is `""`: expected text'),
        (
            GATHER | {"op": "take"},
            'here: `$.op` is `"take"`: '
            "expected gather, gather-elements, gather-nd, gather-tree or shape",
        ),
        (
            INFER | {"of": "shape"},
            'here: `$.of` is `"shape"`: expected gather, gather-elements, gather-nd or gather-tree',
        ),
        (
            GATHER | {"version": 8.0},
            "here: `$.version` is 8.0: expected a version such as openvino-8",
        ),
        (GATHER | {"data": None}, f"here: `$.data` is null: expected {INPUT}"),
        (GATHER | {"data": "-"}, f'here: `$.data` is `"-"`: expected {INPUT}'),
        (GATHER | {"data": "bin:2xi64@-"}, f'here: `$.data` is `"bin:2xi64@-"`: expected {INPUT}'),
        (GATHER | {"indices": "-#k"}, f'here: `$.indices` is `"-#k"`: expected {INPUT}'),
        (
            INFER | {"data": {}},
            "here: `$.data` is an object: expected a shape, as text or as a list",
        ),
        (GATHER | {"axis": None}, "here: `$.axis` is null: expected an integer"),
        (INFER | {"axis": {}}, "here: `$.axis` is an object: expected an integer"),
        (GATHER | {"batch_dims": None}, "here: `$.batch_dims` is null: expected an integer"),
        (GATHER | {"axis": "1"}, 'here: `axis` is `"1"`: expected one integer'),
        (GATHER | {"axis": True}, "here: `axis` is true: expected one integer"),
        (INFER | {"axis": [0, 1]}, "here: `axis` is [0, 1]: expected one integer"),
        (GATHER | {"batch_dims": 1.5}, "here: `batch_dims` is 1.5: expected one integer"),
        (GATHER | {"batch_dims": [0]}, "here: `batch_dims` is [0]: expected one integer"),
        (
            GATHER | {"negative": "zero"},
            'here: `$.negative` is `"zero"`: expected spec, wrap or error',
        ),
        (
            GATHER | {"out_of_range": None},
            "here: `$.out_of_range` is null: expected spec, error, zero, nan, "
            "extreme, clamp or wrap",
        ),
        (
            GATHER | {"data_dtype": "f31"},
            'here: `$.data_dtype` is `"f31"`: expected a type such as int64',
        ),
        (
            GATHER | {"expect_error": False},
            "here: `$.expect_error` is false: expected the name of a rule, or true",
        ),
        (
            '{"id":"a","op":"gather","data":[1],"indices":[0],"rtol":NaN}',
            "here: `$.rtol` is nan: expected a number from 0 on",
        ),
        (GATHER | {"atol": -1}, "here: `$.atol` is -1: expected a number from 0 on"),
        (
            GATHER | {"expect_error": "index_range"},
            'here: `$.expect_error` is `"index_range"`: expected the name of a rule, or true',
        ),
        (
            GATHER | {"expect": [1], "expect_error": True},
            "here: `$.expect` and `$.expect_error` are both there: expected one of them",
        ),
    ],
    ids=lambda given: None if isinstance(given, dict | bytes) else str(given)[:60],
)
def test_a_wrong_job_is_refused_with_its_place(job: Any, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse(job, where="here")
    assert (refusal.value.message, refusal.value.rule) == (message, "job")
    assert refusal.value.where == "here"


def test_a_line_of_a_report_is_no_job() -> None:
    with pytest.raises(InputError, match="line of a report: expected a job"):
        parse(GATHER | {"status": "ok", "seconds": 0.1}, where="here")


def test_another_name_of_a_policy_is_recognised() -> None:
    with pytest.raises(InputError) as refusal:
        parse(GATHER | {"out_of_range": "clip"}, where="here")
    assert refusal.value.hint == 'did you mean "clamp"?'


def test_a_misspelt_key_is_recognised() -> None:
    with pytest.raises(InputError) as refusal:
        parse(GATHER | {"indexes": [0]}, where="here")
    assert refusal.value.hint == 'did you mean "indices"?'


def test_a_file_holds_one_job_or_a_list_of_them(tmp_path: Path) -> None:
    one, many = tmp_path / "one.json", tmp_path / "many.json"
    one.write_text(json.dumps(GATHER), "utf-8")
    many.write_text(json.dumps([GATHER, GATHER | {"id": "b"}]), "utf-8")
    assert [job.id for job in jobs(str(one))] == ["a"]
    assert [job.id for job in jobs(str(many))] == ["a", "b"]


def test_a_jsonl_file_holds_a_job_a_line_and_blank_lines(tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text(f"{json.dumps(GATHER)}\r\n\n{json.dumps(INFER)}", "utf-8")
    assert [job.op for job in jobs(str(file))] == ["gather", "shape"]


@pytest.mark.parametrize(
    ("name", "text", "place", "what"),
    [
        ("a.json", "", "", "the file is empty"),
        ("a.json", "3", "", "the job is 3"),
        ("a.json", '["{}"]', ", $[0]", 'the job is `"{}"`'),
        ("a.jsonl", f"{json.dumps(GATHER)}\n\n[]\n", ", line 3", "the job is []"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_in_it(
    tmp_path: Path, name: str, text: str, place: str, what: str
) -> None:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    with pytest.raises(InputError) as refusal:
        jobs(str(file))
    expected = "a job" if text == "" else "an object"
    assert str(refusal.value) == f"{file}{place}: {what}: expected {expected}"
    assert refusal.value.rule == "job"


@pytest.mark.parametrize(
    ("name", "rule", "what"),
    [
        ("absent.json", "missing", "cannot be read (no such file or directory)"),
        ("", "unreadable", "is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, rule: str, what: str
) -> None:
    path = str(tmp_path / name)
    with pytest.raises(NoInputError) as refusal:
        jobs(path)
    assert str(refusal.value) == f"`{path}` {what}: expected a file of jobs"
    assert refusal.value.rule == rule


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", np.array([7, 8], np.int32))
    np.savez(tmp_path / "in" / "i.npz", k=np.array([1]), n=np.array([0]))
    (tmp_path / "0,1").write_text("[5, 6]", "utf-8")
    (tmp_path / "[").write_text("[5, 6]", "utf-8")
    (tmp_path / "x.json").write_text("[5, 6]", "utf-8")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("value", "described", "values"),
    [
        ("in/a.npy", "i32[2]", [7, 8]),
        ("@in/a.npy", "i32[2]", [7, 8]),
        ("in/i.npz#k", "i64[1]", [1]),
        ("x.json", "i64[2]", [5, 6]),
        ("0,1", "i64[2]", [0, 1]),
        ("@0,1", "i64[2]", [5, 6]),
        ("[", "i64[2]", [5, 6]),
        ("arange:2xf32", "f32[2]", [0, 1]),
        ("true", "bool[]", True),
        (4, "i64[]", 4),
        ([[1], [2]], "i64[2,1]", [[1], [2]]),
        ([], "f64[0]", []),
        ({"dtype": "i8", "shape": [1], "data": [3]}, "i8[1]", [3]),
    ],
)
def test_a_tensor_of_a_job_is_a_token_a_list_or_a_typed_object(
    folder: str, value: Any, described: str, values: Any
) -> None:
    job = parse(GATHER | {"data": value}, where="here", folder=folder)
    tensor = job.tensor("data", _inputs(job))
    assert (str(tensor), tensor.array.tolist()) == (described, values)


def test_an_absolute_path_in_a_job_stays_what_it_is(folder: str) -> None:
    job = parse(GATHER | {"data": f"{folder}/in/a.npy"}, where="here", folder="elsewhere")
    assert job.tensor("data", _inputs(job)).array.tolist() == [7, 8]


@pytest.mark.parametrize(
    "value", [[1, 2], "1,2", {"datatype": "INT64", "shape": [2], "data": [1, 2]}]
)
def test_a_declared_type_converts_every_form_of_tensor(value: Any) -> None:
    job = parse(GATHER | {"data": value, "data_dtype": "float16"}, where="here")
    assert str(job.tensor("data", _inputs(job))) == "f16[2]"


def test_empty_indices_are_integers() -> None:
    job = parse(GATHER | {"indices": []}, where="here")
    assert str(job.tensor("indices", _inputs(job))) == "i64[0]"


def test_a_ragged_list_in_a_job_is_refused_with_its_path() -> None:
    job = parse(GATHER | {"data": [[1, 2], [3]]}, where="here")
    with pytest.raises(InputError) as refusal:
        job.tensor("data", _inputs(job))
    assert refusal.value.message == (
        "the list at `$.data[1]` has length 1: expected length 2, like its siblings"
    )


def test_a_missing_file_of_a_job_is_named_in_the_folder_of_the_job(folder: str) -> None:
    job = parse(GATHER | {"data": "in/b.npy"}, where="here", folder=folder)

    with pytest.raises(NoInputError) as caught:
        job.tensor("data", _inputs(job))

    assert f"there is no file `{folder}/in/b.npy`" in caught.value.message
