"""What other frameworks' calls correspond to: NumPy's are run beside the versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import gathercli
from gathercli.core.equivalents import EQUIVALENTS, MODULO, REFUSED, Equivalent, equivalent
from gathercli.core.spec import FROM_THE_END, OutOfRange
from gathercli.errors import UsageError
from gathercli.ops import OPERATORS
from tests.conftest import Ran

Run = Callable[..., Ran]

BY_NAME: Final = {each.name: each for each in EQUIVALENTS}
ROWS: Final = {op.full_name: op for op in OPERATORS}
NUMPY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "numpy.take": lambda data, indices: np.take(data, indices, 0),
    "numpy.take_along_axis": lambda data, indices: np.take_along_axis(data, indices, 0),
    "x[i]": lambda data, indices: data[indices],
}

every_call = pytest.mark.parametrize("each", EQUIVALENTS, ids=[e.name for e in EQUIVALENTS])


@every_call
def test_a_call_equals_versions_that_exist_and_are_of_one_operator(each: Equivalent) -> None:
    assert len({ROWS[name].family for name in each.rows}) == 1
    assert {where.split()[0].rstrip(",") for where, _ in each.fixes} <= set(ROWS)


@every_call
def test_the_lines_that_make_a_call_equal_fit_a_terminal_and_are_python(each: Equivalent) -> None:
    for _, code in each.fixes:
        compile(code, each.name, "exec")
        assert max(map(len, code.splitlines())) <= 76


@every_call
def test_a_call_is_found_by_each_of_its_names(each: Equivalent) -> None:
    for name in (each.name, *each.aliases, each.name.upper()):
        assert equivalent(name) is each


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("np.take", "numpy.take"),
        (" np.take(x, i) ", "numpy.take"),
        ("jnp.take_along_axis", "jax.numpy.take_along_axis"),
        ("torch.Tensor.gather", "torch.gather"),
        ("tf.gather(params, indices, batch_dims=1)", "tensorflow.gather"),
        ("F.embedding", "torch.embedding"),
        ("np.ndarray[i]", "x[i]"),
    ],
)
def test_a_call_is_found_as_people_write_it(written: str, name: str) -> None:
    assert equivalent(written) is BY_NAME[name]


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("torch.gahter", "did you mean `gathercli ops --like torch.gather`?"),
        ("np.takee", "did you mean `gathercli ops --like numpy.take`?"),
        ("", None),
        ("q" * 1000, None),
    ],
)
def test_an_unknown_call_is_refused_naming_the_nearest_and_all_that_are_known(
    written: str, hint: str | None
) -> None:
    with pytest.raises(UsageError) as refused:
        equivalent(written)
    assert (refused.value.rule, refused.value.hint) == ("usage", hint)
    assert "expected numpy.take, numpy.take_along_axis, " in str(refused.value)
    assert len(str(refused.value)) < 400


def test_a_call_of_an_operator_that_is_not_here_is_refused_with_the_reason(run: Run) -> None:
    ran = run("ops", "--like", "tf.gather_nd")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(
        "error: no call `tf.gather_nd` is known (it is GatherND, whose indices address several "
        "axes at once): expected numpy.take, "
    )


# what NumPy does


def done(call: Callable[[Any, Any], Any], index: int) -> str:
    """Run a call on an axis of 3 elements, and say what it did with an index outside 0 to 2."""
    data = np.array([10, 20, 30])
    try:
        (found,) = call(data, np.array([index]))
    except IndexError:
        return REFUSED
    ways = {
        FROM_THE_END if -3 <= index < 0 else MODULO: data[index % 3],
        OutOfRange.ZERO.done: 0,
        OutOfRange.CLAMP.done: data[min(max(index, 0), 2)],
    }
    (way,) = (name for name, value in ways.items() if value == found)
    return way


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_does_with_indices_what_is_said_of_it(name: str) -> None:
    each, call = BY_NAME[name], NUMPY[name]
    assert {done(call, index) for index in (-1, -2)} == {each.negative}
    assert {done(call, index) for index in (-5, 4)} == {each.outside}


@pytest.mark.parametrize("name", ROWS)
def test_versions_do_with_indices_what_their_words_say(name: str) -> None:
    op = ROWS[name]
    run = gathercli.gather if op.family == "gather" else gathercli.gather_elements

    def call(data: Any, indices: Any) -> Any:
        return run(data, indices, axis=0, version=name)

    assert {done(call, index) for index in (-1, -2)} == {op.negative}
    assert {done(call, index) for index in (-5, 4)} == {op.outside.done}


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_equals_the_versions_for_legal_indices(name: str) -> None:
    data = np.arange(12).reshape(4, 3)
    indices = np.array([[3, 0, -1], [-4, 2, 2]])
    for row in BY_NAME[name].rows:
        run = gathercli.gather if ROWS[row].family == "gather" else gathercli.gather_elements
        if name == "numpy.take_along_axis":
            expected = np.take_along_axis(data, indices, 0)
        else:
            expected = NUMPY[name](data, indices)
        assert np.array_equal(run(data, indices, axis=0, version=row), expected)


def test_numpy_differs_as_is_said() -> None:
    data = np.arange(9).reshape(3, 3)
    assert np.take(data, [4]).tolist() == [4]  # flattened
    assert np.take([1, 2, 3], [-1, 7], mode="clip").tolist() == [1, 3]
    assert np.take([1, 2, 3], [-4, 7], mode="wrap").tolist() == [3, 2]
    assert np.take(np.array(5), [0], axis=0).tolist() == [5]
    assert np.take_along_axis(data, np.array([[2, 0]]), 1).tolist() == [[2, 0], [5, 3], [8, 6]]
    with pytest.raises(IndexError):
        np.take_along_axis(data, np.array([[2], [0]]), 1)
    with pytest.raises(IndexError):
        np.take(np.zeros((3, 0)), [5], axis=0)  # checked, though nothing is read


def test_the_lines_for_numpy_make_it_equal() -> None:
    ((row, code),) = BY_NAME["numpy.take_along_axis"].fixes
    *before, call = code.splitlines()
    data, indices = np.arange(9).reshape(3, 3), np.array([[2, 0], [-1, 1]])
    for axis in (0, 1):
        values = {"np": np, "data": data, "indices": indices, "axis": axis}
        exec("\n".join(before), values)  # noqa: S102  (it is ours)
        expected = gathercli.gather_elements(data, indices, axis=axis, version=row)
        assert np.array_equal(eval(call, values), expected)  # noqa: S307  (it is ours)


# the view


def test_a_call_beside_its_nearest_version(run: Run) -> None:
    ran = run("ops", "--like", "torch.take_along_dim")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "torch.take_along_dim beside onnx.GatherElements-13\n"
        "  call                     torch.take_along_dim(data, indices, axis)\n"
        "  equals                   onnx.GatherElements-13 and onnx.GatherElements-11, for legal "
        "indices\n"
        "  index from -s to -1      counted from the end, as by the version\n"
        "  index outside [-s, s-1]  wrapped modulo s; the version: refused\n"
        "  otherwise                a dimension of 1 beside the axis broadcasts, in data and in "
        "indices\n"
        "                           beside the axis a size of indices between 1 and data's is "
        "refused\n"
        "\n"
        "to be equal to onnx.GatherElements-13\n"
        "  front = torch.where(indices < 0, indices + data.shape[axis], indices)\n"
        "  torch.gather(data, axis, front)\n"
    )


@every_call
def test_a_call_in_json_has_every_field(each: Equivalent, run: Run) -> None:
    found = json.loads(run("ops", "--like", each.name, "-f", "json").out)
    fixes = [{"equals": where, "code": code} for where, code in each.fixes]
    assert found == json.loads(json.dumps({**each._asdict(), "fixes": fixes}))
