"""Inputs and outputs however they lie in memory: every call answers as with row-major ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import gathercli
from gathercli.compute import native
from gathercli.errors import GatherError
from tests.test_kernel import LAYOUTS, unneeded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]

SIZES: Final = st.sampled_from((0, 1, 1, 2, 3))
TYPES: Final = st.sampled_from(("u1", "f2", "<i4", ">f4", "<f8", ">c16", "<U3", ">U2"))
INDEX_TYPES: Final = st.sampled_from(("i4", "i8", ">i4", ">i8"))
LAID: Final = st.sampled_from([*LAYOUTS, "read-only"])


def read_only(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def laid(array: Array, layout: str) -> Array:
    """Lay elements out otherwise; those of a broadcast array are all like the first row."""
    if layout == "read-only":
        return read_only(array)
    return LAYOUTS[layout](array) if array.ndim else array


@st.composite
def calls(draw: st.DrawFn) -> tuple[Callable[..., Array], list[Array], dict[str, Any]]:
    """Make a call of any family, each input laid out in its own way."""
    shape = draw(st.lists(SIZES, min_size=1, max_size=3))
    axis = draw(st.integers(0, len(shape) - 1))
    more = draw(st.lists(SIZES, max_size=2))
    numbers = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    family = draw(st.sampled_from(("gather", "gather_elements", "gather_nd", "gather_tree")))
    if family == "gather_tree":
        steps = [*shape, 1, 1, 1][:3]
        parents = numbers.integers(0, max(1, steps[2]), steps)
        made = [numbers.integers(0, 9, steps), parents, np.full(steps[1], steps[0])]
        inputs = [each.astype(draw(st.sampled_from((">i4", "<i4")))) for each in made]
        inputs = [each.astype(inputs[0].dtype) for each in inputs]
        end = np.asarray(9, inputs[0].dtype)
        return gathercli.gather_tree, [*(laid(e, draw(LAID)) for e in inputs), end], {}
    data = np.arange(np.prod(shape)).reshape(shape).astype(draw(TYPES))
    wanted, how, low, high = more, {"axis": axis}, -shape[axis], max(1, shape[axis])
    if family == "gather_elements":
        wanted = [n if d != axis else draw(SIZES) for d, n in enumerate(shape)]
    elif family == "gather_nd":
        wanted, how, low, high = [*more, draw(st.integers(1, len(shape)))], {}, 0, 1
    indices = numbers.integers(low, high, wanted).astype(draw(INDEX_TYPES))
    inputs = [laid(data, draw(LAID)), laid(indices, draw(LAID))]
    return getattr(gathercli, family), inputs, how


def outcome(call: Callable[..., Array], *inputs: Array, **how: Any) -> tuple[Any, ...]:
    """Return the type, shape and bytes of the output, or the rule of the refusal."""
    try:
        output = call(*inputs, **how)
    except GatherError as error:
        return (error.rule,)
    return output.dtype.newbyteorder("="), output.shape, output.tobytes()


@pytest.mark.no_cover
@pytest.mark.parametrize("kernel", ["C", "numpy"])
def test_no_layout_of_inputs_changes_an_answer(kernel: str) -> None:
    fill = native.fill if kernel == "C" else None

    @settings(max_examples=400)
    @given(made=calls(), threads=st.sampled_from((1, 3)))
    def check(made: tuple[Callable[..., Array], list[Array], dict[str, Any]], threads: int) -> None:
        call, inputs, how = made
        plain = [each.astype(each.dtype, "C", copy=True) for each in inputs]

        with patch.object(native, "fill", fill):
            answer = outcome(call, *inputs, **how, threads=threads)

        assert answer == outcome(call, *plain, **how)

    check()


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("step", [-8, 1 << 62, 3, 0], ids="step {}".format)
@pytest.mark.parametrize("kernel", ["C", "numpy"])
def test_the_stride_of_an_axis_without_a_second_element_is_never_used(
    kernel: str, step: int, size: int
) -> None:
    data = as_strided(np.full(1, 7.0), (size,), (step,))
    indices = as_strided(np.zeros(1, np.int64), (size,), (step,))

    with patch.object(native, "fill", native.fill if kernel == "C" else None):
        answer = gathercli.gather(data, indices)

    assert answer.tolist() == [7.0] * size


def test_an_array_of_one_element_may_be_reversed() -> None:
    assert gathercli.gather(np.zeros(1)[::-1], [0]).tolist() == [0.0]
    assert gathercli.gather(np.arange(3.0)[::-1][2:], np.zeros(1, int)[::-1]).tolist() == [0.0]


@pytest.mark.parametrize("layout", [np.ascontiguousarray, unneeded])
def test_an_output_is_stored_and_saved_whatever_its_unneeded_strides(
    layout: Callable[[Array], Array], tmp_path: Path
) -> None:
    out = np.zeros((1, 1))[::-1, ::-1]
    source = layout(np.full((1, 1), 5.0))

    gathercli.gather(source, [0], out=out)
    gathercli.save(tmp_path / "x.npy", source)

    assert out.tolist() == [[5.0]]
    assert np.load(tmp_path / "x.npy").tolist() == [[5.0]]
