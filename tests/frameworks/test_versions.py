"""How a version is spelt, and what runs where a command names none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

import gathercli
from gathercli.cli.options import VARIABLE
from gathercli.errors import VersionError
from gathercli.frameworks import FrameworkRow
from gathercli.frameworks import every_row as framework_rows
from gathercli.frameworks.versions import find, find_for_any
from gathercli.ops import FAMILIES, OPERATORS
from tests.rows import DEFAULT, newest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.op import Op
    from tests.conftest import Ran, Run


every_row = pytest.mark.parametrize("op", OPERATORS, ids=str)

NEWEST_ONNX: Final = newest("onnx").replace("-", ".Gather-")

SPELT: Final = {
    "onnx": NEWEST_ONNX,
    " OpenVINO ": DEFAULT["gather"],
    "ONNX-13": "onnx.Gather-13",
    "onnx13": "onnx.Gather-13",
    "onnx:13": "onnx.Gather-13",
    "onnx 13": "onnx.Gather-13",
    "ONNX opset 12": "onnx.Gather-11",
    "openvino_8": "openvino.Gather-8",
    "opset 17": "onnx.Gather-13",
    "Opset17": "onnx.Gather-13",
    "opset-12": "onnx.Gather-11",
    "OPENVINO.GATHER-7": "openvino.Gather-7",
    "onnx.gather-1": "onnx.Gather-1",
}

SMALLEST: Final = {
    "gather": ["[1]", "[0]", "-a", "0"],
    "gather-elements": ["[1]", "[0]", "-a", "0"],
    "gather-nd": ["[1]", "[[0]]"],
    "gather-tree": ["[[[1]]]", "[[[0]]]", "[1]", "0"],
}
"""A legal call of every operator."""


def ran_by(run: Run, *words: str) -> str:
    """Return the row that ran."""
    ran = run(*words, "-f", "oip")
    assert (ran.status, ran.err) == (0, "")
    parameters = json.loads(ran.out)["outputs"][0]["parameters"]
    return str(parameters["operator"])


# Spelling


@pytest.mark.parametrize("version", SPELT)
def test_a_version_is_read_as_people_write_it(version: str, run: Run) -> None:
    assert ran_by(run, "gather", "[1]", "0", "-V", version) == SPELT[version]


@every_row
@pytest.mark.parametrize(
    "write", [str.lower, str.upper, lambda name: f" {name} "], ids=["lower", "upper", "blanks"]
)
def test_names_of_rows_are_read_in_any_case(write: Callable[[str], str], op: Op) -> None:
    assert find(write(op.full_name), op.family).op == op
    assert find(write(op.id), op.family).op == op
    assert find(write(op.id.replace("-", "")), op.family).op == op


HAVING: Final = [
    (command, framework)
    for command, family in FAMILIES.items()
    for framework in dict.fromkeys(op.framework for op in family.ROWS)
]


@pytest.mark.parametrize(("command", "framework"), HAVING)
def test_a_framework_alone_is_its_newest_row(framework: str, command: str) -> None:
    newest = max(
        (op for op in FAMILIES[command].ROWS if op.framework == framework),
        key=lambda op: op.version,
    )

    assert find(framework, command).op == newest


def test_python_and_jobs_spell_versions_as_freely(run: Run) -> None:
    job = '{"id":"a","op":"gather","version":"ONNX 13","data":[1],"indices":[0]}'

    line = json.loads(run("batch", "-", "-q", stdin=job.encode()).out)

    assert line["operator"] == "onnx.Gather-13"
    assert gathercli.gather([1, 2], -1, version="ONNX:13") == 2


OTHERS: Final = {
    ("gather", "torch"): "torch.index_select",
    ("gather", "tf"): "tensorflow.gather",
    ("gather-elements", "PyTorch"): "torch.gather",
    ("gather-elements", "np.take_along_axis"): "numpy.take_along_axis",
    ("gather-nd", "jnp"): "jax.getitem_nd",
    ("gather-tree", "tfa"): "tensorflow_addons.seq2seq.gather_tree",
}


@pytest.mark.parametrize(("command", "version"), OTHERS)
def test_another_framework_is_a_version_under_its_names(command: str, version: str) -> None:
    assert find(version, command).op.full_name == OTHERS[command, version]


@pytest.mark.parametrize("each", framework_rows(), ids=[each.name for each in framework_rows()])
def test_the_names_of_a_call_are_versions_of_its_operator(each: FrameworkRow) -> None:
    for name in (each.op.id, each.name.upper()):
        assert find(name, each.op.family).op is each.op


def test_comparing_knows_the_rows_of_a_version_however_it_is_spelt(run: Run) -> None:
    usual = run("ops", "--diff", "openvino-6", "onnx-11")

    assert run("ops", "--diff", "OpenVINO:6", "onnx11").out == usual.out


# GATHERCLI_VERSION


@pytest.fixture
def variable(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set the variable."""

    def set_to(value: str) -> None:
        monkeypatch.setenv(VARIABLE, value)

    return set_to


@every_row
def test_the_variable_names_the_version_of_who_names_none(
    op: Op, variable: Callable[[str], None], run: Run
) -> None:
    variable(op.full_name)

    assert ran_by(run, op.family, *SMALLEST[op.family]) == op.full_name


def test_a_version_of_the_command_line_comes_before_the_variable(
    variable: Callable[[str], None], run: Run
) -> None:
    variable("onnx-13")

    ran = run("gather", "[1,2]", "5", "-V", "openvino-7", "--json-errors")

    assert ran_by(run, "gather", "[1]", "0", "-V", "openvino-7") == "openvino.Gather-7"
    assert json.loads(ran.err)["version_from"] is None


def test_an_empty_variable_is_none(variable: Callable[[str], None], run: Run) -> None:
    variable("")

    assert ran_by(run, "gather", "[1]", "0") == "openvino.Gather-8"


@pytest.mark.parametrize(
    ("value", "command", "row"),
    [
        ("openvino-8", "gather-elements", "openvino.GatherElements-6"),
        ("openvino.Gather-8", "gather-elements", "openvino.GatherElements-6"),
        ("8", "gather-elements", "openvino.GatherElements-6"),
        ("onnx.Gather-13", "gather-elements", "onnx.GatherElements-13"),
        ("onnx", "gather-elements", "onnx.GatherElements-13"),
        ("6", "gather", "openvino.Gather-1"),
        ("openvino.GatherElements-6", "gather", "openvino.Gather-1"),
        ("onnx.Gather-13", "gather-nd", "onnx.GatherND-13"),
        ("onnx-12", "gather-nd", "onnx.GatherND-12"),
        ("openvino.GatherElements-6", "gather-nd", "openvino.GatherND-5"),
        ("onnx.GatherND-12", "gather", "onnx.Gather-11"),
        ("8", "gather-tree", "openvino.GatherTree-1"),
        ("torch", "gather", "torch.index_select"),
        ("torch", "gather-elements", "torch.gather"),
        ("np.take", "gather-elements", "numpy.take_along_axis"),
        ("tf.gather", "gather-nd", "tensorflow.gather_nd"),
    ],
)
def test_a_version_of_another_operator_is_the_opset_of_its_framework(
    value: str, command: str, row: str, variable: Callable[[str], None], run: Run
) -> None:
    variable(value)

    assert ran_by(run, command, *SMALLEST[command]) == row


WRONG_VALUES: Final = {
    ("torhc", "gather"): ("no version `torhc` of gather", "openvino-8"),
    ("1", "gather"): (
        "no version `1` of gather (openvino-1 and onnx-1 both have it)",
        "openvino-8",
    ),
    ("onnx-1", "gather-elements"): (
        "no version `onnx-1` of gather-elements (onnx has GatherElements from opset 11 on)",
        "onnx-11",
    ),
    ("onx", "gather-nd"): ("no version `onx` of gather-nd", "openvino-8"),
}


@pytest.mark.parametrize(("value", "command"), WRONG_VALUES)
@pytest.mark.parametrize("before", [[], ["shape"], ["explain"], ["check"]], ids=str)
def test_a_wrong_variable_is_named_with_the_ways_out(
    before: list[str], value: str, command: str, variable: Callable[[str], None], run: Run
) -> None:
    variable(value)
    (why, way), default = WRONG_VALUES[value, command], FAMILIES[command].ROWS[0].id

    ran = run(*before, command, *SMALLEST[command])

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: `{VARIABLE}`: {why}: expected {default}")
    assert ran.err.endswith(
        f"`-V {way}` takes precedence; `unset {VARIABLE}` removes the variable\nrule: version\n"
    )
    inputs = (
        ["1x1x1", "1x1x1", "1", "[]"]
        if before == ["shape"] and "tree" in command
        else (SMALLEST[command])
    )
    assert run(*before, command, *inputs, "-V", way).status == 0


@pytest.mark.parametrize("value", ["onnx", "onnx-13", "opset 17", "13", "onnx.Gather-11"])
def test_the_variable_does_not_concern_an_operator_that_its_framework_lacks(
    value: str, variable: Callable[[str], None], run: Run
) -> None:
    default = run("gather-tree", *SMALLEST["gather-tree"])
    variable(value)

    ran = run("gather-tree", *SMALLEST["gather-tree"])

    assert (ran.status, ran.out) == (0, default.out)
    assert ran.err == (
        f"note: {VARIABLE}: onnx has no GatherTree; openvino.GatherTree-1 is the default\n"
    )


def test_the_variable_does_not_concern_an_operator_that_another_framework_lacks(
    variable: Callable[[str], None], run: Run
) -> None:
    variable("tf")

    ran = run("gather-elements", *SMALLEST["gather-elements"])

    assert (ran.status, ran.out) == (0, "[1]\n")
    assert ran.err == (
        f"note: {VARIABLE}: tensorflow has no gather-elements; "
        "openvino.GatherElements-6 is the default\n"
    )


@pytest.mark.parametrize("before", [["gather"], ["shape", "gather"], ["explain", "gather"]])
def test_the_header_says_that_the_version_is_from_the_variable(
    before: list[str], variable: Callable[[str], None], run: Run
) -> None:
    variable("onnx-11")

    ran = run(*before, "[1]", "[0]", "-f", "pretty")

    assert (ran.status, ran.err) == (0, "")
    title, *_ = ran.out.splitlines()
    assert title.startswith("Gather   axis 0 " if "explain" in before else "onnx.Gather-11 ")
    assert f"onnx.Gather-11 ({VARIABLE})   " in title


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (["gather", "[1,2]", "[5]"], "data i64[2]   indices i64[1]"),
        (["gather", "[1,2]", "[1]", "-a", "3"], "data i64[2]   indices i64[1]"),
        (["gather", "[1,2]", "no.npy"], "data i64[2]"),
        (["explain", "gather", "[1,2]", "[1]", "-a", "3"], "data i64[2]   indices i64[1]"),
        (["check", "gather", "[1,2]", "[1]", "-a", "3"], "data i64[2]   indices i64[1]"),
        (["shape", "gather", "[2]", "[1]", "-a", "3"], "data [2]   indices [1]"),
    ],
)
def test_a_refusal_says_that_the_version_is_from_the_variable(
    words: list[str], call: str, variable: Callable[[str], None], run: Run
) -> None:
    variable("ONNX:11")

    plain = run(*words)
    as_json = json.loads(run(*words, "--json-errors").err.splitlines()[-1])

    assert f"\n  onnx.Gather-11 ({VARIABLE})   {call}\n" in plain.err
    assert (as_json["operator"], as_json["version_from"]) == ("onnx.Gather-11", VARIABLE)


def test_a_note_of_the_version_names_the_variable(
    variable: Callable[[str], None], run: Run
) -> None:
    variable("onnx-99")

    assert run("gather", "[1,2]", "0") == (
        0,
        "1\n",
        f"note: {VARIABLE}: onnx opset 99 is newer than 28, the newest known here; "
        f"{NEWEST_ONNX} was assumed\n",
    )


def test_the_list_of_versions_marks_those_that_run_where_none_is_named(
    variable: Callable[[str], None], run: Run
) -> None:
    variable("onnx-12")

    listing, objects = run("ops"), json.loads(run("ops", "-f", "json").out)

    marked = [
        "onnx.Gather-11",
        "onnx.GatherElements-11",
        "onnx.GatherND-12",
        "openvino.GatherTree-1",
    ]
    assert [line.split()[0] for line in listing.out.splitlines() if " * " in line] == marked
    assert f"\n* runs where no version is named, by {VARIABLE}=onnx-12.\n" in listing.out
    assert [each["id"] for each in objects if each["default"]] == marked
    assert json.loads(run("ops", "onnx.Gather-11", "-f", "json").out)["default"]


def test_the_list_of_versions_is_shown_even_if_the_variable_is_wrong(
    variable: Callable[[str], None], run: Run
) -> None:
    variable("torhc")

    ran = run("ops")

    assert ran.status == 0
    assert "\n* runs where no version is named.\n" in ran.out
    assert ran.err.splitlines()[0].startswith(f"note: `{VARIABLE}`: no version `torhc` of gather: ")


def test_the_list_marks_the_calls_of_a_framework_that_the_variable_names(
    variable: Callable[[str], None], run: Run
) -> None:
    variable("torch")

    listing, objects = run("ops"), json.loads(run("ops", "-f", "json").out)

    marked = [each["id"] for each in objects if each["default"]]
    rows = dict.fromkeys(FAMILIES, "openvino.GatherTree-1")
    rows |= {
        each.op.family: each.name
        for each in reversed(framework_rows())
        if each.op.framework == "torch"
    }
    assert sorted(marked) == sorted(rows.values())
    assert all(f"{name} *" in listing.out for name in marked)


def test_comparing_all_versions_does_not_speak_of_the_variable(
    variable: Callable[[str], None], run: Run
) -> None:
    unset = run("compare", "[1,2]", "[5]")

    variable("onnx-13")

    assert run("compare", "[1,2]", "[5]") == unset


def test_jobs_and_lessons_do_not_heed_the_variable(
    variable: Callable[[str], None], run: Run
) -> None:
    job = b'{"id":"a","op":"gather","data":[1,2],"indices":[5]}'
    variable("onnx-13")

    line = json.loads(run("batch", "-", "-q", stdin=job).out)

    assert (line["status"], line["operator"]) == ("ok", "openvino.Gather-8")
    assert run("demo", "outside").out.count("-V openvino-8") == 1
    assert gathercli.gather([1, 2], 5) == 0


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=str)
def test_jobs_of_a_pattern_heed_the_variable_and_say_so(
    more: list[str], variable: Callable[[str], None], run: Run
) -> None:
    variable("onnx 13")

    ran = run("batch", "--op", "gather", "--data", "[1,2]", "--indices", "[0]", *more)

    assert (ran.status, json.loads(ran.out)["operator"]) == (0, "onnx.Gather-13")
    assert ran.err.startswith(f"note: onnx.Gather-13 runs, as {VARIABLE} says\n")


@pytest.mark.parametrize("words", [["-V", "openvino-7"], ["--matrix", "version=openvino-7"]])
def test_jobs_of_a_pattern_heed_their_options_first(
    words: list[str], variable: Callable[[str], None], run: Run
) -> None:
    variable("torch")

    ran = run("batch", "--op", "gather", "--data", "[1,2]", "--indices", "[0]", "-q", *words)

    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["operator"] == "openvino.Gather-7"


def test_a_version_for_all_operators_is_refused_as_that_of_the_one_asked_for() -> None:
    with pytest.raises(VersionError, match="no version `openvino-2` of gather-elements"):
        find_for_any("openvino-2", "gather-elements")


@pytest.mark.parametrize(
    ("version", "why", "hint"),
    [
        ("onnx-1.13", "1.13", "release 1.13 has opset 18: `-V onnx-18`"),
        ("ONNX 1.15.0", "1.15", "release 1.15 has opset 20: `-V onnx-20`"),
        ("onnx-1.99", "1.99", "`gathercli ops` lists the versions"),
        ("openvino-2024.1", "2024.1", "`gathercli ops` lists the versions"),
    ],
)
def test_a_release_of_a_framework_is_no_opset(
    version: str, why: str, hint: str, run: Callable[..., Ran]
) -> None:
    ran = run("gather", "[1]", "0", "-V", version)

    message = f"no version `{version}` of gather ({why} is a release, not an opset): expected "
    assert ran.status == 2
    assert ran.err.startswith(f"error: {message}openvino-8, ")
    assert ran.err.splitlines()[1] == f"hint: {hint}"
