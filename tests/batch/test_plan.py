"""Nothing runs before all jobs are valid, alone and together; and what is validated runs."""

from __future__ import annotations

import json
import os
import tracemalloc
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gathercli.batch import outcome
from gathercli.batch import plan as plan_module
from gathercli.batch.plan import Plan, Spool
from gathercli.errors import InputError
from gathercli.io import jobs as job_files
from gathercli.io.jobfile import JobEntry, files, read_entries
from gathercli.io.jobs import keys_of, read_again
from gathercli.text import listed
from tests.jobs import parse
from tests.rows import VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Run


pytestmark = pytest.mark.usefixtures("one_core")


def _job(name: str, **keys: Any) -> dict[str, Any]:
    return {"id": name, "op": "gather", "data": [1, 2], "indices": [0], **keys}


def _write(path: str, *jobs: dict[str, Any]) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(job) + "\n" for job in jobs)
    return path


def _refused(*jobs: dict[str, Any], **options: Any) -> str:
    """Plan the jobs of a file ``j.jsonl``, which is refused, and return the message."""
    with (
        pytest.raises(InputError) as caught,
        Plan(read_entries(_write("j.jsonl", *jobs)), **options),
    ):
        pass
    assert caught.value.rule == "job"
    return caught.value.message


def _accepted(*jobs: dict[str, Any], **options: Any) -> None:
    with Plan(read_entries(_write("j.jsonl", *jobs)), **options) as plan:
        assert len(plan) == len(jobs)


# Jobs together


@pytest.mark.parametrize(
    ("outputs", "options", "what"),
    [
        (["o/x.npy", "o/x.npy/in/b.npy"], {}, "the output of j.jsonl, line 1"),
        (["../x.npy", "../x.npy/b.npy"], {"allow_outside": True}, "the output of j.jsonl, line 1"),
        (["o.npy", "r/a.npy"], {"reserved": {"r": "the report"}}, "the report"),
    ],
)
def test_an_output_below_another_or_the_report_is_refused(
    outputs: list[str],
    options: dict[str, Any],
    what: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "in").mkdir()
    monkeypatch.chdir("in")
    assert _refused(*(_job(output, output=output) for output in outputs), **options) == (
        f"j.jsonl, line 2: `$.output` is `{outputs[1]}`, which lies below {what}: "
        "expected another file"
    )


def test_outputs_in_shared_folders_are_accepted(folder: Path) -> None:
    del folder
    _accepted(*(_job(str(n), output=f"o/{n % 3}/in/{n}.npy") for n in range(9)))


def test_the_junit_file_is_no_input(folder: Path) -> None:
    message = _refused(_job("a", data="x.npy"), reserved={"x.npy": "the JUnit file"})
    assert message == (
        f"j.jsonl, line 1: `{folder / 'x.npy'}`, which the job reads, is the JUnit file: "
        "expected another file for it"
    )


# Jobs alone


def test_a_batch_has_a_job(folder: Path) -> None:
    del folder
    assert _refused() == "there is no job: expected at least one"


def test_several_mistakes_are_said_in_the_order_of_the_jobs(run: Run) -> None:
    _write(
        "j.jsonl",
        *(_job("a", axes=0), _job("b", output="o.npy"), _job("c", op="sort")),
        *(_job("d", version="onnx13x"), _job("b"), _job("e", output="o.npy")),
    )

    ran = run("batch", "j.jsonl")

    assert ran == (
        65,
        "",
        "error: j.jsonl, line 1: `$.axes` is unknown in a gather job: "
        f"expected {listed(keys_of('gather').checks)}\n"
        'hint: did you mean "axis"?\n'
        "rule: job\n"
        'error: j.jsonl, line 3: `$.op` is `"sort"`: '
        "expected gather, gather-elements, gather-nd, gather-tree or shape\n"
        "rule: job\n"
        "error: j.jsonl, line 4: `$.version`: no version `onnx13x` of gather: expected "
        f"{VERSIONS['gather']}\n"
        'hint: did you mean `"version":"onnx-13"`?\n'
        "rule: version\n"
        'error: j.jsonl, line 5: `$.id` is `"b"`, as at j.jsonl, line 2: expected a new one\n'
        "rule: job\n"
        "error: j.jsonl, line 6: `$.output` is `o.npy`, which is the output of j.jsonl, line 2 "
        "too: expected another file\n"
        "rule: job\n",
    )


SORT = '`$.op` is `"sort"`: expected gather, gather-elements, gather-nd, gather-tree or shape'


def test_a_mistake_is_said_once_with_the_places_of_all_jobs_that_have_it(run: Run) -> None:
    wrong = [_job(str(number), op="sort") for number in range(1, 9)]
    more = [_job("a"), _job("b", version=99), _job("a"), _job("c", op="sort")]
    _write("jobs is.jsonl", *wrong, *more)
    _write("d.json", _job("d", op="sort"))

    ran = run("batch", "jobs is.jsonl", "d.json")

    assert (ran.status, ran.out) == (65, "")
    assert [line for line in ran.err.splitlines() if not line.startswith("hint: ")] == [
        f"error: jobs is.jsonl, line 1: {SORT}",
        "also: 9 more jobs: jobs is.jsonl, lines 2-8, 12; d.json",
        "rule: job",
        "error: jobs is.jsonl, line 10: `$.version`: no version `99` of gather: expected "
        + VERSIONS["gather"],
        "rule: version",
        'error: jobs is.jsonl, line 11: `$.id` is `"a"`, as at jobs is.jsonl, line 9: '
        "expected a new one",
        "rule: job",
    ]


def test_every_cause_is_said_however_often_the_others_are(run: Run) -> None:
    many = [_job(str(number), op="sort") for number in range(50)]
    few = [_job("a", rtol=-1), _job("b", axes=0), _job("c", output="c.png")]
    _write("j.jsonl", *many, *few)

    ran = run("batch", "j.jsonl")

    assert ran.err.count("error: ") == 4
    assert all(key in ran.err for key in ("`$.op`", "`$.rtol`", "`$.axes`", "`$.output`"))


def test_mistakes_are_fields_of_one_line_of_json(run: Run) -> None:
    jobs = [_job("a", version="onnx13x"), *(_job(str(n), op="sort") for n in range(9)), _job("b")]
    Path("j.json").write_text(json.dumps(jobs), "ascii")

    ran = run("batch", "j.json", "--json-errors")

    (line,) = ran.err.splitlines()
    found = json.loads(line)
    assert (ran.status, ran.out) == (65, "")
    assert (found["rule"], found["where"], found["count"]) == ("version", "j.json, $[0]", 10)
    assert found["hint"] == 'did you mean `"version":"onnx-13"`?'
    assert found["others"] == [
        dict.fromkeys(found.keys() - {"others"})
        | {
            "error": f"j.json, $[1]: {SORT}",
            "status": 65,
            "rule": "job",
            "where": "j.json, $[1]",
            "expected": "gather, gather-elements, gather-nd, gather-tree or shape",
            "number": 9,
            "rest": "j.json, $[2-9]",
        }
    ]


def test_of_very_many_mistakes_some_places_are_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "MAX_KEPT_PLACES", 50)
    names = [str(number // 2 * 2) for number in range(200)]
    _write("j.jsonl", *map(_job, names), *(_job("x", op="sort") for _ in range(200)))

    ran = run("batch", "j.jsonl")

    places = ", ".join(str(2 * number) for number in range(2, 22))
    assert f"\nalso: 99 more jobs: j.jsonl, lines {places}…\n" in ran.err
    assert "\nalso: 199 more jobs: j.jsonl, lines 202-250\n" in ran.err


def test_a_list_that_cannot_be_cut_is_a_mistake_behind_those_before_it(run: Run) -> None:
    Path("j.json").write_text(f"[{json.dumps(_job('a', op='sort'))}, 3]", "ascii")

    ran = run("batch", "j.json")

    assert ran == (
        65,
        "",
        f"error: j.json, $[0]: {SORT}\n"
        "error: j.json, $[1]: the job is 3: expected an object\n"
        "rule: job\n",
    )


def test_jobs_are_compared_though_their_list_ends_in_the_middle(run: Run) -> None:
    text = json.dumps([_job("a"), _job("a")])
    Path("j.json").write_text(f"{text[:-1]},", "ascii")

    ran = run("batch", "j.json")

    assert ran.status == 65
    assert 'error: j.json, $[1]: `$.id` is `"a"`, as at j.json, $[0]: expected a new one' in ran.err
    assert "error: j.json: expecting value at line 1" in ran.err


# Versions


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (1, "no version `1` of gather (openvino-1 and onnx-1 both have it): expected openvino"),
        (
            "torch-1",
            "no version `torch-1` of gather (the calls of torch have no versions): expected torch",
        ),
        ("onnx-0", "no version `onnx-0` of gather: expected openvino"),
    ],
)
def test_an_unknown_version_is_refused_before_any_job_is_done(
    version: str | int, message: str, run: Run
) -> None:
    _write("j.jsonl", _job("a", output="a.npy"), _job("b", version=version))

    ran = run("batch", "j.jsonl", "--report", "r.jsonl")

    assert (ran.status, ran.out) == (65, "")
    assert ran.err.startswith(f"error: j.jsonl, line 2: `$.version`: {message}")
    assert ran.err.endswith("\nrule: version\n")
    assert os.listdir() == ["j.jsonl"]


def test_an_unknown_version_may_be_what_a_job_expects_and_no_other_refusal(folder: Path) -> None:
    del folder
    _accepted(
        _job("a", version="torch-1", expect_error=True),
        _job("b", version="torch-1", expect_error="version"),
    )
    with pytest.raises(InputError) as caught:
        parse(_job("a", version="torch-1", expect_error="axis-range"), where="here")
    assert caught.value.rule == "version"


def test_the_version_of_a_shape_job_is_that_of_its_operator(folder: Path) -> None:
    del folder
    shape = {"op": "shape", "of": "gather-elements", "data": "[2]", "indices": "[2]"}
    _accepted(_job("a", **shape, version="openvino-6"))


# Ids


def test_a_job_without_an_id_is_called_by_where_it_stands(folder: Path) -> None:
    (folder / "in").mkdir()
    job = {key: value for key, value in _job("").items() if key != "id"}
    _write("in/a.jsonl", job, job | {"id": "x"}, job)
    for name, content in (("b.json", [job, job]), ("c.json", job)):
        (folder / "in" / name).write_text(json.dumps(content), "ascii")

    with Plan(chain.from_iterable(map(read_entries, files("./in")))) as plan:
        ids = [job.id for *_, job in plan.read(range(len(plan)))]

    assert ids == ["in/a.jsonl:1", "x", "in/a.jsonl:3", "in/b.json[0]", "in/b.json[1]", "in/c.json"]


def test_the_place_of_a_job_is_no_id_of_another(run: Run) -> None:
    job = {key: value for key, value in _job("").items() if key != "id"}
    assert _refused(job, job | {"id": "j.jsonl:1"}) == (
        'j.jsonl, line 2: `$.id` is `"j.jsonl:1"`, as at j.jsonl, line 1: expected a new one'
    )
    ran = run("batch", "-", "-q", stdin=json.dumps(job).encode())
    assert json.loads(ran.out)["id"] == "standard input"


@pytest.mark.parametrize("names", [["a.jsonl"], ["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"]])
def test_an_id_is_there_once_in_all_files(names: list[str], run: Run) -> None:
    last = names[-1]
    _write("a.jsonl", _job("c"), _job("x"), *([_job("x")] if names == ["a.jsonl"] else []))
    _write("b.jsonl", _job("d"), _job("e"), _job("x"))
    line = 2 if last == "a.jsonl" and len(names) > 1 else 3
    first = 3 if names[0] == "b.jsonl" else 2
    assert run("batch", *names) == (
        65,
        "",
        f'error: {last}, line {line}: `$.id` is `"x"`, as at {names[0]}, line {first}: '
        "expected a new one\n"
        "rule: job\n",
    )


def test_of_a_long_id_the_start_is_shown(folder: Path) -> None:
    del folder
    assert _refused(_job("x" * 5000), _job("x" * 5000)) == (
        f'j.jsonl, line 2: `$.id` is `"{"x" * 100}..."`, as at j.jsonl, line 1: expected a new one'
    )


def test_ids_and_paths_are_compared_and_not_their_digests_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    monkeypatch.setattr(plan_module, "digest", lambda _: bytes(8))
    monkeypatch.setattr(plan_module, "hash", lambda _: 0, raising=False)
    jobs = [_job("a", output="a.npy"), _job("b", output="b.npy", data="c.npy"), _job("c")]
    _accepted(*jobs)
    assert _refused(*jobs, _job("a")) == (
        'j.jsonl, line 4: `$.id` is `"a"`, as at j.jsonl, line 1: expected a new one'
    )


# Outputs


@pytest.mark.parametrize(
    ("output", "what"),
    [
        ("a", "`a` has no suffix: expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr"),
        (
            "a.png",
            "`a.png` has the suffix `.png`: "
            "expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr",
        ),
        ("a\0.npy", "`a\\x00.npy` holds what no name can: expected the name of a file"),
        ("\ud800.npy", "`\\ud800.npy` holds what no name can: expected the name of a file"),
        ("folder.npy", "`folder.npy` is a folder: expected the name of a file"),
        ("pipe.npy", "`pipe.npy` is a device or a pipe: expected the name of a file"),
        ("j.jsonl/a.npy", "`j.jsonl/a.npy` lies below a file: expected the name of a file"),
        (
            "loop.npy",
            "`loop.npy` cannot be a file (Too many levels of symbolic links): "
            "expected the name of a file",
        ),
        ("x" * 5000 + ".npy", "it has 5 004 characters: expected the name of a file"),
        (
            "x" * 300 + ".npy",
            f"`{'x' * 300}.npy` cannot be a file (File name too long): expected the name of a file",
        ),
    ],
)
def test_an_output_is_the_name_of_a_file_that_is_written(
    output: str, what: str, folder: Path
) -> None:
    os.mkfifo("pipe.npy")
    (folder / "folder.npy").mkdir()
    (folder / "loop.npy").symlink_to("loop.npy")
    assert _refused(_job("a", output=output)) == f"j.jsonl, line 1: `$.output`: {what}"


@pytest.mark.parametrize(
    "output",
    [
        "./o.npy",
        "in/../o.npy",
        "also/../o.npy",
        "in/up/o.npy",
        "alias.npy",
        "{}/o.npy",
        "in//../o.npy",
    ],
)
def test_two_jobs_do_not_write_one_file(output: str, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "up").symlink_to("..")
    (folder / "also").symlink_to("in")
    (folder / "alias.npy").symlink_to("o.npy")
    output = output.replace("{}", str(folder))
    assert _refused(_job("a", output="o.npy"), _job("b"), _job("c", output=output)) == (
        f"j.jsonl, line 3: `$.output` is `{output}`, which is the output of j.jsonl, line 1 too: "
        "expected another file"
    )


def test_of_two_jobs_that_write_one_file_no_other_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    read: list[bytes] = []

    def counted(record: bytes) -> job_files.Job:
        read.append(record)
        return read_again(record)

    monkeypatch.setattr(job_files, "read_again", counted)
    several = [_job(str(at), output=f"{at}.npy", data=f"in{at}.npy") for at in range(9)]

    message = _refused(*several, _job("x", output="4.npy"))

    assert "which is the output of j.jsonl, line 5 too" in message
    assert len(read) == 2


def test_files_of_one_name_in_two_folders_are_two(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "also").symlink_to("in")
    _accepted(_job("a", output="o.npy"), _job("b", output="in/o.npy"), _job("c", output="i/o.npy"))


def test_jobs_of_two_files_do_not_write_one_file(run: Run, folder: Path) -> None:
    (folder / "in").mkdir()
    _write("in/a.jsonl", _job("a", output="o.npy"))
    _write("b.jsonl", _job("b", output="in/o.npy"))
    assert run("batch", "in/a.jsonl", "b.jsonl") == (
        65,
        "",
        "error: b.jsonl, line 1: `$.output` is `in/o.npy`, which is the output of in/a.jsonl, "
        "line 1 too: expected another file\nrule: job\n",
    )


TOKENS = ["o.npy", "@o.npy", "@./o.npy", "o.npy#k", "@o.npy#k", "bin:2xi64@o.npy", "alias.npy"]


@pytest.mark.parametrize("key", ["data", "indices", "expect"])
@pytest.mark.parametrize("token", [*TOKENS, "also/o.npy", "in/../o.npy"])
def test_an_output_is_no_input_of_any_job(key: str, token: str, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "also").symlink_to(".")
    (folder / "alias.npy").symlink_to("o.npy")
    assert _refused(_job("a", output="o.npy", **{key: token})) == (
        "j.jsonl, line 1: `$.output` is `o.npy`, which is an input of the job itself: "
        "expected another file"
    )
    for number, jobs in enumerate(
        (
            [_job("a", **{key: token}), _job("b", output="o.npy")],
            [_job("b", output="o.npy"), _job("a", **{key: token})],
        )
    ):
        assert _refused(*jobs) == (
            f"j.jsonl, line {2 - number}: `$.output` is `o.npy`, which is an input of "
            f"j.jsonl, line {1 + number}: expected another file"
        )


def test_what_is_in_brackets_or_has_no_name_is_in_nobodys_way(folder: Path) -> None:
    del folder
    _accepted(
        _job("a", output="o.npy"),
        _job("b", data="[1,2]", indices="0"),
        _job("c", data="\ud800"),
        _job("d", data="a\0"),
        _job("e", data="1," * 5000),
    )


@pytest.mark.parametrize(
    "output", ["../o.npy", "{}/o.npy", "in/../../o.npy", "away/../o.npy", "out.npy"]
)
def test_an_output_outside_the_folder_is_refused_unless_it_is_allowed(
    output: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("jobs/in", "jobs-too", "else/where"):
        (folder / name).mkdir(parents=True)
    monkeypatch.chdir("jobs")
    (folder / "jobs" / "away").symlink_to("../else/where")
    (folder / "jobs" / "out.npy").symlink_to("../jobs-too/out.npy")
    job = _job("a", output=output.replace("{}", str(folder)))
    assert _refused(job) == (
        f"j.jsonl, line 1: `$.output` is `{job['output']}`, which lies outside the folder of the "
        "job: expected a file in `.`"
    )
    _accepted(job, allow_outside=True)


def test_an_output_beside_a_folder_with_a_longer_name_is_outside(run: Run, folder: Path) -> None:
    (folder / "jobs").mkdir()
    _write("jobs/j.jsonl", _job("a", output="../jobs-too/o.npy"))
    assert run("batch", "jobs/j.jsonl") == (
        65,
        "",
        "error: jobs/j.jsonl, line 1: `$.output` is `../jobs-too/o.npy`, which lies outside the "
        "folder of the job: expected a file in `jobs`\n"
        "hint: `--allow-outside` lets it be written\n"
        "rule: job\n",
    )
    assert run("batch", "jobs/j.jsonl", "--allow-outside", "-q").status == 0
    assert (folder / "jobs-too" / "o.npy").exists()


def test_an_absolute_output_within_the_folder_is_inside(folder: Path) -> None:
    _accepted(_job("a", output=f"{folder}/o.npy"))


@pytest.mark.parametrize(
    ("output", "what", "words"),
    [
        ("j.json", "a file of jobs", []),
        ("./in/../j.json", "a file of jobs", []),
        ("r.json", "the report", ["--report", "r.json"]),
        ("r.json", "the report", ["--report", "in/../r.json"]),
        ("x.json", "the JUnit file", ["--junit", "./x.json"]),
    ],
)
def test_no_job_writes_a_file_of_the_batch_itself(
    output: str, what: str, words: list[str], run: Run, folder: Path
) -> None:
    (folder / "in").mkdir()
    _write("j.json", _job("a", output=output))
    before = (folder / "j.json").read_bytes()
    assert run("batch", "j.json", *words) == (
        65,
        "",
        f"error: j.json: `$.output` is `{output}`, which is {what}: expected another file\n"
        "rule: job\n",
    )
    assert (folder / "j.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--report", "j.jsonl", "--resume"],
            "`--report` is `j.jsonl`, which is a file of jobs: expected another file",
        ),
        (
            ["--junit", "link"],
            "`--junit` is `link`, which is a file of jobs: expected another file",
        ),
        (
            ["--report", "r", "--junit", "./r"],
            "`--junit` is `./r`, which is the report: expected another file",
        ),
    ],
)
def test_the_report_is_no_file_of_jobs(
    words: list[str], message: str, run: Run, folder: Path
) -> None:
    (folder / "link").symlink_to("j.jsonl")
    _write("j.jsonl", _job("a"))
    before = (folder / "j.jsonl").read_bytes()
    assert run("batch", "j.jsonl", *words) == (2, "", f"error: {message}\n")
    assert (folder / "j.jsonl").read_bytes() == before
    assert not (folder / "r").exists()


def test_a_report_in_the_folder_of_the_jobs_holds_none(run: Run, folder: Path) -> None:
    (folder / "jobs").mkdir()
    _write("jobs/a.jsonl", _job("a"))
    for words in ([], ["--resume"]):
        ran = run("batch", "jobs", "--report", "jobs/report.jsonl", "-q", *words)
        assert (ran.status, ran.err) == (0, "")
    assert (folder / "jobs" / "report.jsonl").read_bytes().count(b"\n") == 1


# What a plan holds


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is full")
@pytest.mark.parametrize("number", [1, 1000], ids=["last", "early"])
@pytest.mark.parametrize("option", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_jobs_that_cannot_be_kept_are_no_bug(
    number: int, option: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_module, "temporary_file", partial(open, "/dev/full", "w+b"))
    _write("j.jsonl", *(_job(f"{n}") for n in range(number)))

    assert run("batch", "j.jsonl", *option) == (
        74,
        "",
        "error: the jobs could not be kept in a temporary file (No space left on device): "
        "expected a folder with room that can be written, which `TMPDIR` may name\n"
        "rule: unreadable\n",
    )


def test_what_was_validated_runs_even_if_the_file_changes(folder: Path) -> None:
    _write("j.jsonl", _job("a"), _job("b"))
    with Plan(read_entries("j.jsonl")) as plan:
        (folder / "j.jsonl").write_bytes(b"nonsense")
        (folder / "j.jsonl").unlink()
        assert [(number, job.id) for number, job in plan.read([1, 0])] == [(1, "b"), (0, "a")]
        assert plan.entry(1).where == "j.jsonl, line 2"


def test_a_name_that_is_no_text_is_kept(folder: Path) -> None:
    name = os.fsdecode(b"in\xff")
    (folder / name).mkdir()
    _write(f"{name}/j.jsonl", _job("a\ud800", output="o.npy"))
    with Plan(read_entries(f"{name}/j.jsonl")) as plan:
        assert plan.entry(0)[:2] == ("in\\xff/j.jsonl, line 1", name)
        assert [job.id for _, job in plan.read([0])] == ["a\ud800"]


def _many(count: int, **keys: str) -> Iterator[JobEntry]:
    for number in range(count):
        named = {key: text.format(number) for key, text in keys.items()}
        yield JobEntry(f"j, line {number}", "", json.dumps(_job(str(number), **named)).encode())


@pytest.mark.no_cover
@pytest.mark.parametrize("keys", [{}, {"output": "out/{}/o.npy", "data": "in/{}/i.npz#k"}])
def test_a_job_takes_few_bytes_of_memory(keys: dict[str, str], folder: Path) -> None:
    del folder
    count = 5000
    with Plan(_many(plan_module._MAX_CACHED_FOLDERS + 1, **keys)):
        pass  # what is imported, and held once
    tracemalloc.start()
    try:
        with Plan(_many(count, **keys)) as plan:
            assert len(plan) == count
            held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 200 * count


def test_a_file_of_jobs_that_is_not_there_is_named(run: Run) -> None:
    assert run("batch", "none.jsonl") == (
        66,
        "",
        "error: `none.jsonl` cannot be read (no such file or directory): expected a file of jobs\n"
        "rule: missing\n",
    )


def test_a_spool_that_was_cleared_holds_the_next_jobs_alone() -> None:
    with Spool() as spool:
        spool.add(b"a long record")
        spool.flush()

        spool.clear()
        spool.add(b"short")
        spool.flush()

        assert (len(spool), spool.record(0)) == (1, b"short")
        assert os.fstat(spool.fd).st_size == len(b"short")
