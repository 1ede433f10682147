"""Repeated calls give what the first call gave, whatever changed between them."""

from __future__ import annotations

import random
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gathercli
from gathercli.compute import callplan, native
from gathercli.errors import GatherError, OutOfRangeError
from tests.test_native import trial

if TYPE_CHECKING:
    from gathercli.compute.storage import AnyArray

pytestmark = pytest.mark.skipif(native.fill is None, reason="built without the kernel in C")


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """Start without plans."""
    kept: dict[Any, Any] = {}
    monkeypatch.setattr(callplan, "_plans", kept)
    return kept


def repeated(data: AnyArray, indices: AnyArray, **options: Any) -> AnyArray:
    """Return the output of a call that has a plan."""
    for _ in range(2):
        gathercli.gather(data, np.zeros_like(indices), **options)
    return gathercli.gather(data, indices, **options)


@pytest.mark.parametrize("seed", range(5))
def test_a_call_answers_alike_each_time(seed: int) -> None:
    choose = random.Random(seed)  # noqa: S311
    for _ in range(20):
        call = trial(choose)

        answers = [call.answer() for _ in range(4)]

        assert answers == answers[:1] * 4, call


def test_the_third_call_has_a_plan(plans: dict[Any, Any]) -> None:
    data, indices = np.arange(12.0).reshape(3, 4), np.array([2, 0])

    output = repeated(data, indices)

    assert any(plans.values())
    assert output.tolist() == data[[2, 0]].tolist()


def test_other_values_of_data_and_indices_give_another_output() -> None:
    repeated(np.arange(5), np.array([1, 2]))

    assert gathercli.gather(np.arange(5, 10), np.array([-1, 9])).tolist() == [9, 0]


def test_a_call_with_a_plan_refuses_an_index_as_the_first_call_does() -> None:
    data, indices = np.arange(5), np.array([[1, 2], [3, 5]])
    with pytest.raises(OutOfRangeError) as first:
        gathercli.gather(data, indices, version="onnx-13")

    with pytest.raises(OutOfRangeError) as later:
        repeated(data, indices, version="onnx-13")

    assert str(later.value) == str(first.value)


@pytest.mark.parametrize("axis", [True, 1.0, "1", np.array(1), None])
def test_an_axis_that_equals_another_is_judged_by_its_type(axis: Any) -> None:
    data, indices = np.arange(6).reshape(2, 3), np.array([1])
    first = _answer(data, indices, axis=axis)
    repeated(data, indices, axis=1)

    assert _answer(data, indices, axis=axis) == first


def _answer(data: AnyArray, indices: AnyArray, **options: Any) -> object:
    try:
        return gathercli.gather(data, indices, **options).tolist()
    except GatherError as error:
        return str(error)


def test_bytes_in_foreign_order_are_not_taken_for_native_ones() -> None:
    data, indices = np.arange(5, dtype="<i4"), np.array([1, 3])
    repeated(data, indices)

    for dtype in ("<i4", ">i4"):
        assert repeated(data.astype(dtype), indices).tolist() == [1, 3]
        assert gathercli.gather(data, indices.astype(dtype)).tolist() == [1, 3]


def test_arrays_with_gaps_and_arrays_without_are_told_apart() -> None:
    data, indices = np.arange(10).reshape(5, 2), np.array([4, 1])
    repeated(data, indices)

    for gapped in (np.asfortranarray(data), np.repeat(data, 2, 1)[:, ::2]):
        assert gathercli.gather(gapped, indices).tolist() == [[8, 9], [2, 3]]


def test_an_output_array_is_used_and_returned() -> None:
    data, indices, out = np.arange(5.0), np.array([4, 1]), np.empty(2)

    assert repeated(data, indices, out=out) is out
    assert out.tolist() == [4, 1]


@pytest.mark.parametrize(
    "out",
    [
        np.empty(3),
        np.empty(2, "f4"),
        np.empty(2, ">f8"),
        np.empty((2, 2))[:, 0],
        np.broadcast_to(np.float64(0), 2),
        [0.0, 0.0],
    ],
)
def test_an_output_array_that_does_not_fit_is_refused_as_the_first_time(out: Any) -> None:
    data, indices = np.arange(5.0), np.array([4, 1])
    first = _answer(data, indices, out=out)
    repeated(data, indices)

    assert isinstance(first, str)
    assert _answer(data, indices, out=out) == first


def test_an_output_array_that_shares_memory_is_refused() -> None:
    data, indices = np.arange(5.0), np.array([4, 1])
    repeated(data, indices)

    with pytest.raises(GatherError, match="shares memory with an input"):
        gathercli.gather(data, indices, out=data[:2])


def test_the_number_of_plans_is_limited(plans: dict[Any, Any]) -> None:
    for size in range(1, 200):
        repeated(np.arange(size), np.array([0]))

    assert len(plans) == callplan.MOST


def test_threads_repeat_more_calls_than_are_kept() -> None:
    errors: list[BaseException] = []

    def call(seed: int) -> None:
        choose = random.Random(seed)  # noqa: S311
        for _ in range(300):
            size = choose.randrange(1, 3 * callplan.MOST)
            try:
                assert gathercli.gather(np.arange(size), np.array([size - 1])).tolist() == [
                    size - 1
                ]
            except BaseException as error:  # noqa: BLE001  (a thread has no other way out)
                errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)

    assert not errors
