"""`compare --with`: a line a runtime and way, beside those of the versions."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conftest import only_error

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run


def lines(ran: Ran) -> list[str]:
    """Return the lines about runtimes."""
    assert (ran.status, ran.err) == (0, "")
    return ran.out[ran.out.index("\nruntime ") :].splitlines()[1:]


def test_a_runtime_that_refuses_is_beside_the_versions_that_fill(run: Run) -> None:
    ran = run("compare", "[10,20,30]", "[2,-1,5]", "--ops", "8,13", "--with", "numpy")

    rows = [line.split(maxsplit=2) for line in lines(ran)]
    assert [(name, rest) for name, _, rest in rows[1:]] == [
        (
            "numpy",
            f"{call:<50}-      agrees   {outcome}: IndexError: index 5 is out of bounds for axis "
            "0 with size 3",
        )
        for call, outcome in (
            ("np.take(data, indices, axis=0)", "refuses"),
            ("data[indices]", "refuses"),
            ("np.take_along_axis(data, indices, axis=0)", "refuses, as every version does"),
        )
    ]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (0, "[2,1]  A      agrees   agrees"),
        (2, "-      departs  dies by SIGSEGV"),
        (3, "[2,1]  A      agrees   agrees"),
        (4, "[2,1]  none   departs  unsteady: three runs differ at [0,0]: 0, 1 and 2"),
        (5, "-      departs  does not take the call: ValueError: no such thing in x.cpp"),
        (6, "[2,1]  none   departs  differs from A at [0,0]: 8 and 7"),
        (7, "-      departs  dies with status 3"),
        (8, "[2,1]  A      departs  agrees in values, as float16 in place of int64"),
        (9, "[2,1]  A      agrees   agrees"),
    ],
)
def test_whatever_a_runtime_does_is_one_line(
    kind: int, expected: str, python: str, run: Run
) -> None:
    words = ("compare", f"[[{kind}],[7]]", "1,0", "--ops", "onnx.Gather-13")

    ran = run(*words, "--with", f"onnxruntime={python}")

    *_, line = lines(ran)
    assert line.startswith("onnxruntime 9.9.9  Gather-13")
    assert line.endswith(f" {expected}")


def test_another_shape_differs_in_shape(python: str, run: Run) -> None:
    words = ("compare", "[9,7]", "1,0", "--ops", "onnx.Gather-13")

    *_, line = lines(run(*words, "--with", f"onnxruntime={python}"))

    assert line.endswith("  [2,1]  none   departs  differs from A in shape")


def test_a_value_where_the_version_refuses_is_shown(python: str, run: Run) -> None:
    words = ("compare", "[0,7]", "-1,", "--ops", "onnx.Gather-1")

    *_, line = lines(run(*words, "--with", f"onnxruntime={python}"))

    assert line.endswith(
        "  [1]    none   known    gives [7], where the version refuses; known of 1.32: Gather-1 "
        "counts a negative index from the end"
    )


@pytest.mark.parametrize(
    ("data", "indices", "expected"),
    [
        ("1,2", "-1,", "agrees   agrees"),
        (
            "1,2",
            "1xu64=18446744073709551615",
            "known    differs from A at [0]: 2 and 0; known of 2.4: a uint64 index from 2^63 on "
            "is read as a negative one",
        ),
    ],
)
def test_a_call_is_beside_its_own_row(data: str, indices: str, expected: str, run: Run) -> None:
    words = ("compare", data, indices, "--ops", "onnx.Gather-13,openvino-8", "--with", "numpy")

    (line,) = [line for line in lines(run(*words)) if "  data[indices]  " in line]

    assert line.endswith(expected)


def test_an_absent_runtime_is_one_line_without_a_call(python: str, run: Run) -> None:
    ran = run("compare", "[0,7]", "1,", "--ops", "onnx.Gather-13", "--with", f"torch={python}")

    line = ran.out.splitlines()[-1]
    assert (ran.status, ran.out.count("torch")) == (1, 2)  # and the name of the library
    assert line.split(maxsplit=4) == [
        *("torch", "-", "-", "-"),
        "cannot be started: OSError: libtorch.so: cannot open",
    ]
    assert ran.err == (
        "note: `--with torch=/venv/bin/python` names a Python that has torch; "
        "with `--allow-absent` the status is 0 without torch\n"
    )


def test_the_note_on_an_absent_runtime_names_no_option_that_is_given(python: str, run: Run) -> None:
    words = ("compare", "[0,7]", "1,", "--with", f"torch={python}")

    ran = run(*words, "--allow-absent")

    assert ran.status == 0
    assert ran.err == "note: `--with torch=/venv/bin/python` names a Python that has torch\n"


def test_a_runtime_without_a_call_is_said_to_have_none(python: str, run: Run) -> None:
    words = ("compare", "[0,7]", "1,", "--ops", "openvino.Gather-8")

    line = lines(run(*words, "--with", f"onnxruntime={python}"))[-1]

    assert line.startswith("onnxruntime 9.9.9  -")
    assert line.endswith("  -      -        has no call of these versions")


def test_a_limit_of_ours_is_no_refusal_that_a_runtime_could_lack(folder: Path, run: Run) -> None:
    np.save(folder / "data.npy", np.zeros((4, 100)))
    words = ("compare", "data.npy", "0,", "--ops", "onnx.Gather-13", "--max-bytes", "64")

    ran = run(*words, "--with", "numpy")

    assert "refuses" not in ran.out[ran.out.index("\nruntime ") :]
    assert "has no call of these versions" in ran.out


def test_a_runtime_without_a_call_may_be_absent_too(python: str, run: Run) -> None:
    words = ("compare", "[0,7]", "1,", "--ops", "openvino.Gather-8", "-q", "-f", "json")

    ran = run(*words, "--with", f"onnx.reference={python}", "--timeout", "2")

    assert (ran.status, ran.err) == (1, "")
    assert json.loads(ran.out)["runtimes"] == [
        {
            "runtime": "onnx.reference",
            "version": None,
            "call": None,
            "outcome": "absent",
            "message": "cannot be started: its import takes more than 2 s",
        }
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "[0,7]", "1,", "--with"),
        ("batch", "job.json", "--with"),
        ("translate", "gather", "[0,7]", "1,", "--to", "torch", "--with"),
        ("reproduce", "gather", "[0,7]", "1,", "-o", "out", "--for"),
    ],
    ids=lambda words: words[0],
)
def test_an_absent_runtime_is_a_failure_unless_that_is_meant(
    words: tuple[str, ...], folder: Path, python: str, run: Run
) -> None:
    (folder / "job.json").write_text('{"op":"gather","data":[0,7],"indices":[1]}')

    strict = run(*words, f"torch={python}")
    shutil.rmtree(folder / "out", ignore_errors=True)
    lenient = run(*words, f"torch={python}", "--allow-absent")

    assert (strict.status, lenient.status) == (1, 0)
    for ran in (strict, lenient):
        assert (ran.out + ran.err).count("cannot be started: OSError: libtorch.so") >= 1


def test_json_has_an_object_a_call(run: Run) -> None:
    ran = run("compare", "[1,2]", "1,", "--ops", "gather", "--with", "numpy", "-f", "json")

    first, *_ = json.loads(ran.out)["runtimes"]
    assert first | {"version": ""} == {
        "runtime": "numpy",
        "version": "",
        "call": "np.take(data, indices, axis=0)",
        "operator": None,
        "way": None,
        "row": "numpy.take",
        "as_row": "agrees",
        "known": None,
        "outcome": "agrees",
        "group": "A",
        "shape": [1],
        "dtype": "int64",
        "differs_from": None,
        "at": None,
        "values": None,
        "message": "agrees",
    }


def test_json_without_runtimes_has_no_such_key(run: Run) -> None:
    assert "runtimes" not in json.loads(run("compare", "[1,2]", "1,", "-f", "json").out)


def test_shapes_that_a_version_refuses_are_tried_if_it_is_named(run: Run) -> None:
    words = ("compare", "[[1,2],[3,4]]", "[0]", "-a", "1", "--with", "numpy")

    calls = {
        ops: [line.split("  ")[1] for line in lines(run(*words, *ops))[1:]]
        for ops in ((), ("--ops", "gather,openvino-6"))
    }

    assert calls == {
        (): ["np.take(data, indices, axis=1)", "data[:, indices]"],
        ("--ops", "gather,openvino-6"): [
            "np.take(data, indices, axis=1)",
            "data[:, indices]",
            "np.take_along_axis(data, indices, axis=1)",
        ],
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--with", "numpi"], "`--with` names `numpi`: expected jax, numpy, onnxruntime, onnx"),
        (["--allow-absent"], "`--allow-absent` is given without `--with`: expected the runtimes"),
        (["--timeout", "5"], "`--timeout` is given without `--with`: expected the runtimes"),
        (["--with", "numpy", "--timeout", "-1"], "`--timeout` is -1: expected seconds"),
    ],
)
def test_options_that_name_no_runtime_or_time_are_refused(
    options: list[str], message: str, run: Run
) -> None:
    ran = run("compare", "[1,2]", "1,", *options)

    assert ran.status == 2
    assert only_error(ran).startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--of", "numpy"], "refuses, as every version does: IndexError: index 9"),
        (["--of", "jax"], "refuses: IndexError: index 9"),
        (["--of", "onnx,jax"], "refuses, as every version does: IndexError: index 9"),
    ],
)
def test_a_runtime_is_compared_with_its_own_calls_where_no_version_is(
    words: list[str], said: str, run: Run
) -> None:
    ran = run("compare", "5,6", "9", "--ops", "gather", *words, "-a", "0", "--with", "numpy")

    assert re.search(rf"np.take\(data, indices, axis=0\) +- +agrees +{said}", ran.out)
