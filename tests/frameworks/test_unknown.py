"""Operators and versions that do not exist, and what was probably meant."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import pytest

import gathercli
from gathercli.errors import VersionError
from gathercli.frameworks import FrameworkRow
from gathercli.frameworks import every_row as framework_rows
from gathercli.frameworks.versions import find
from gathercli.ops import FAMILIES
from tests.frameworks.test_versions import SMALLEST
from tests.rows import newest

if TYPE_CHECKING:
    from tests.conftest import Run


WRONG: Final = {
    ("gather", "12"): "did you mean `-V openvino-12` or `-V onnx-12`?",
    ("gather", "1"): "did you mean `-V openvino-1` or `-V onnx-1`?",
    ("gather", "20"): "did you mean `-V onnx-20`?",
    ("gather", "v8"): "did you mean `-V openvino-8`?",
    ("gather", "Gather-8"): "did you mean `-V openvino-8`?",
    ("gather", "openvin-8"): "did you mean `-V openvino-8`?",
    ("gather", "onx"): f"did you mean `-V {newest('onnx')}`?",
    ("gather", "onnx-0"): "did you mean `-V onnx-1`?",
    ("gather", "onnx.Gather-12"): "did you mean `-V onnx-12`?",
    ("gather", "onnx.Gather"): f"did you mean `-V {newest('onnx')}`?",
    ("gather", "8.0"): "did you mean `-V openvino-8`?",
    ("gather", "2.0"): "did you mean `-V openvino-2` or `-V onnx-2`?",
    ("gather-elements", "8"): "did you mean `-V openvino-8`?",
    ("gather-elements", "onnx-1"): "did you mean `-V onnx-11`?",
    ("gather-elements", "openvino 2"): "did you mean `-V openvino-6`?",
    ("gather-nd", "onnx-10"): "did you mean `-V onnx-11`?",
    ("gather-nd", "v12"): "did you mean `-V onnx-12`?",
    ("gather-nd", "GatherND-5"): "did you mean `-V openvino-5`?",
    ("gather-nd", "onnx.GatherND"): f"did you mean `-V {newest('onnx', 'gather-nd')}`?",
    ("gather-tree", "onnx"): "did you mean `-V openvino-1`?",
    ("gather-tree", "ONNX-13"): "did you mean `-V openvino-1`?",
    ("gather-tree", "onnx-1.16"): "did you mean `-V openvino-1`?",
    ("gather-tree", "onnx.GatherTree-13"): "did you mean `-V openvino-1`?",
    ("gather-tree", "8"): "did you mean `-V openvino-8`?",
    ("gather-tree", "GatherTree"): "did you mean `-V openvino-1`?",
}


@pytest.mark.parametrize(("command", "version"), WRONG)
def test_a_version_that_nothing_answers_to_has_a_hint_that_works(
    command: str, version: str, run: Run
) -> None:
    ran = run(command, *SMALLEST[command], "-V", version)

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: no version `{version}` of {command}")
    assert ran.err.splitlines()[1] == f"hint: {WRONG[command, version]}"
    for words in ran.err.split("`")[-4::2] if " or `" in ran.err else ran.err.split("`")[-2:-1]:
        assert run(command, *SMALLEST[command], *words.split()).status == 0


def test_a_framework_without_an_operator_is_named_in_the_refusal(run: Run) -> None:
    for version in ("onnx", "onnx-13", "onnx 1.16"):
        ran = run("gather-tree", *SMALLEST["gather-tree"], "-V", version)

        assert ran.err.splitlines()[0] == (
            f"error: no version `{version}` of gather-tree (onnx has no GatherTree): "
            "expected openvino-1"
        )


@pytest.mark.parametrize("version", ["opset", "²", "x" * 1000])
def test_a_version_that_is_like_none_has_no_hint(version: str) -> None:
    with pytest.raises(VersionError) as refused:
        find(version)

    assert refused.value.hint is None


def test_an_empty_version_is_answered_by_the_default(run: Run) -> None:
    ran = run("gather", "[1]", "0", "-V", "")

    assert ran.status == 2
    assert ran.err.splitlines()[0].startswith("error: an empty version for gather: expected ")
    assert ran.err.splitlines()[1] == "hint: `-V openvino-8` is the default"


ELEMENTS: Final = {
    "gather [1] [0] -V openvino.GatherElements-6": "gather-elements '[1]' '[0]' "
    "-V openvino.GatherElements-6 --axis 0",
    "gather [1] [0] -V onnx.GatherElements-13": "gather-elements '[1]' '[0]' "
    "-V onnx.GatherElements-13",
    "gather [1] [0] -V onnx.GatherElements-12": "gather-elements '[1]' '[0]' -V onnx-12",
    "gather [1] [0] -a 0 -VGatherElements": "gather-elements '[1]' '[0]' -a 0 -Vopenvino-6",
    "explain gather [1] [0] --version=gather_elements-11": "explain gather-elements '[1]' '[0]' "
    "--version=onnx-11",
    "shape -V onnx.GatherElements-11 gather 3 2": "shape -V onnx.GatherElements-11 "
    "gather-elements 3 2",
    "gather-elements [1] [0] -V Gather-8": "gather '[1]' '[0]' -V openvino-8",
    "gather [1] [[0]] -V GatherND-5": "gather-nd '[1]' '[[0]]' -V openvino-5",
    "gather-nd [1] [0] -V GatherElements": "gather-elements '[1]' '[0]' -V openvino-6 --axis 0",
    "batch --op gather --data [1] --indices [0] -V onnx.GatherElements-13": "batch "
    "--op gather-elements --data '[1]' --indices '[0]' -V onnx.GatherElements-13",
    "batch --op=gather --data [1] --indices [0] -V onnx.GatherElements-13": "batch "
    "--op=gather-elements --data '[1]' --indices '[0]' -V onnx.GatherElements-13",
}


@pytest.mark.parametrize("line", ELEMENTS)
def test_a_version_of_another_operator_is_answered_by_the_line_that_runs_that(
    line: str, run: Run
) -> None:
    ran = run(*line.split())

    assert (ran.status, ran.out) == (2, "")
    assert " (it is a version of gather" in ran.err.splitlines()[0]
    assert ran.err.splitlines()[1] == f"hint: did you mean `gathercli {ELEMENTS[line]}`?"
    assert run(*shlex.split(ELEMENTS[line])).status == 0


def test_a_version_of_an_operator_with_other_inputs_is_named_without_a_line(run: Run) -> None:
    ran = run("gather", "[1]", "[0]", "-V", "GatherTree")

    assert ran.err.splitlines()[1] == (
        "hint: did you mean `gathercli gather-tree` with `-V openvino-1`?"
    )


def test_a_version_of_another_operator_is_named_in_the_words_of_python_and_of_jobs(
    run: Run,
) -> None:
    job = b'{"id":"a","op":"gather","data":[1],"indices":[0],"version":"onnx.GatherElements-12"}'

    with pytest.raises(VersionError) as refused:
        gathercli.gather([1], [0], version="onnx.GatherElements-13")
    ran = run("batch", "-", stdin=job)

    assert str(refused.value).endswith("\nhint: did you mean `gather_elements`?")
    assert '\nhint: did you mean `"op":"gather-elements"` with `"version":"onnx-12"`?\n' in ran.err


@pytest.mark.parametrize(
    ("command", "version", "why", "hint"),
    [
        ("gather", "torch-2.1", " (the calls of torch have no versions)", "torch.index_select"),
        ("gather-elements", "torch.gahter", "", "torch.gather"),
        ("gather", "numpi", "", "numpy"),
        ("gather", "take", "", "numpy.take"),
        ("gather-elements", "tf", " (tensorflow has no gather-elements)", None),
        ("gather", "torch.put", "", None),
        ("gather", "mxnet", "", None),
    ],
)
def test_what_is_no_call_of_a_framework_names_one_that_is(
    command: str, version: str, why: str, hint: str | None, run: Run
) -> None:
    ran = run(command, *SMALLEST[command], "-V", version)

    assert (ran.status, ran.out) == (2, "")
    said = f"error: no version `{version}` of {command}{why}: expected "
    assert ran.err.startswith(said)
    for listed in ran.err.splitlines()[0].removeprefix(said).replace(" or ", ", ").split(", "):
        assert find(listed, command)
    if hint is None:
        assert "hint" not in ran.err
    else:
        assert ran.err.splitlines()[1] == f"hint: did you mean `-V {hint}`?"
        assert run(command, *SMALLEST[command], "-V", hint).status == 0


def test_other_frameworks_are_named_where_a_version_is_like_none(run: Run) -> None:
    frameworks = dict.fromkeys(each.op.framework for each in framework_rows("gather"))

    said = run("gather", "[1]", "0", "-V", "mxnet").err.splitlines()[0]

    assert said.endswith(", ".join([*frameworks][:-1]) + f" or {[*frameworks][-1]}")


@pytest.mark.parametrize("each", framework_rows(), ids=[each.name for each in framework_rows()])
def test_a_call_of_another_operator_is_named_with_it(each: FrameworkRow) -> None:
    other = next(name for name in FAMILIES if name != each.op.family)

    with pytest.raises(VersionError) as refused:
        find(each.name, other)

    assert f"({each.name} is {each.op.family})" in str(refused.value)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ops", "10"], "did you mean `gathercli ops openvino-10` or `gathercli ops onnx-10`?"),
        (["ops", "--diff", "8", "10"], "did you mean `openvino-10` or `onnx-10`?"),
        (
            ["compare", "[1]", "[0]", "--ops", "10"],
            "did you mean `--ops openvino-10` or `--ops onnx-10`?",
        ),
    ],
)
def test_a_hint_names_the_version_as_the_command_takes_it(
    words: list[str], hint: str, run: Run
) -> None:
    ran = run(*words)

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines()[1] == f"hint: {hint}"
