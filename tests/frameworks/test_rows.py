"""The rows of NumPy beside NumPy, by the calls of `campaigns.rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from campaigns.rows import Drawn, differences, known
from gathercli import GatherError, gather, gather_nd
from gathercli.cli.slice_options import Observation
from gathercli.compute.tensor import Tensor
from gathercli.frameworks import FrameworkRow, every_row, framework
from gathercli.ops import OPERATORS
from gathercli.runtimes.calls import RuntimeCall
from gathercli.runtimes.declared import mistakes_of
from gathercli.spec.dtypes import STRING, dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Run


def answer(drawn: Drawn) -> Observation:
    arrays = {name: each.array for name, each in drawn.tensors.items()}
    try:
        result = np.asarray(eval(drawn.call.code, {"np": np, **arrays}))  # noqa: S307
    except (IndexError, ValueError, TypeError) as error:
        return Observation(np.__version__, None, "refuses", str(error))
    name = drawn.tensors["data"].dtype
    if not name.opaque and name is not STRING:
        name = dtype(result.dtype.name)
    return Observation(np.__version__, Tensor(name, result))


@pytest.mark.parametrize("row", framework("numpy").rows, ids=lambda row: row.op.name)
def test_numpy_answers_as_its_rows(row: FrameworkRow) -> None:
    kinds = differences(row, answer, 200, seed=1)
    assert min(kinds["equal"], kinds["both refuse"]) > 40, kinds
    assert not [kind for kind in kinds if kind.startswith("!")], kinds


def test_every_mistake_is_told_by_any_call() -> None:
    scalar = Tensor(dtype("uint32"), np.array(1, np.uint32))
    versions = [FrameworkRow(op, "", op) for op in OPERATORS]
    for row in (*every_row(), *versions):
        of = framework(row.op.framework)
        tensors = {each.name: scalar for each in row.op.inputs}
        for runtime in {each.get("runtime", of.runtime) for each in of.mistakes}:
            call = Drawn(RuntimeCall(runtime, "", row.op), tensors, {"axis": 0})
            said = known(row, call, "call-rank: is 0-D", Observation("1", None, "refuses"))
            mistakes = mistakes_of(of.name, runtime)
            whats = {f"known of {each.release}: {each.what}" for each in mistakes}
            assert said in {"", *whats}


EMPTY = np.zeros((2, 0, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: gather([1, 2], [0], version="torch.embedding"), "rank 2"),
        (lambda: gather([[1, 2]], [0], axis=1, version="torch.embedding"), "0"),
        (lambda: gather([1, 2], [[0]], version="torch.index_select", axis=0), "rank 1 or less"),
        (lambda: gather([[1, 2]], np.int32(0), version="tflite.EMBEDDING_LOOKUP"), "rank 1"),
        (lambda: gather(np.zeros((1,) * 9, "f4"), [0], version="tensorrt"), "rank 8 or less"),
        (
            lambda: gather(
                np.zeros((1, 1, 1), "f4"), [[0]], axis=2, batch_dims=2, version="tensorrt"
            ),
            "1 or less",
        ),
        (lambda: gather(EMPTY, [0], axis=1, version="jax.numpy.take"), "elements on the axis"),
        (lambda: gather_nd(EMPTY, [[0]], version="tensorflow"), "elements on every axis"),
    ],
)
def test_what_the_call_of_a_framework_does_not_take_is_refused(
    call: Callable[[], object], expected: str
) -> None:
    with pytest.raises(GatherError) as refused:
        call()

    assert (refused.value.rule, refused.value.expected) == ("call-rank", expected)


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda: gather([[1, 2]], [0], axis=-2, version="torch.embedding"), [[1, 2]]),
        (lambda: gather([1, 2], np.array(1), axis=0, version="torch.index_select"), [2]),
        (lambda: gather([[1, 2], [3, 4]], [-1], version="torch.take"), [4]),
        (lambda: gather([[1, 2], [3, 4]], [-1], version="np.take"), [4]),
        (lambda: gather([[1, 2], [3, 4]], [1, 0], batch_dims=1, version="tensorflow"), [2, 3]),
        (lambda: gather(EMPTY, [5], axis=0, version="jax.numpy.take").shape, (1, 0, 3)),
        (lambda: gather_nd(EMPTY, np.zeros((0, 1), int), version="tensorflow").shape, (0, 0, 3)),
    ],
)
def test_a_row_does_to_its_inputs_what_the_call_does(
    call: Callable[[], object], values: object
) -> None:
    assert np.array_equal(np.asarray(call()), np.asarray(values))


@pytest.mark.parametrize(
    ("indices", "shape"),
    [
        ("[?,3,N]", "[?,3,N]"),
        ("[?,3,M]", "[?,3,?]"),
        ("[2,N,5]", "[2,N,5]"),
        ("[2,1,1]", "[2,1,N]"),
    ],
)
def test_unknown_sizes_may_be_1_and_repeat(indices: str, shape: str, run: Run) -> None:
    words = ["shape", "gather-elements", "[2,1,N]", indices, "-a", "0"]

    assert run(*words, "-V", "numpy.take_along_axis") == (0, f"{shape}\n", "")


@pytest.mark.parametrize("version", ["jax.numpy.take", "jax.getitem", "xla.gather"])
def test_narrow_indices_keep_their_sign(version: str, run: Run) -> None:
    ran = run("gather", "10,20,30", "2xi4=[1 -1]", "-V", version)

    assert ran.out == ("[20,10]\n" if version == "xla.gather" else "[20,30]\n")


def test_a_type_without_nan_is_filled_as_the_framework_rounds_it(run: Run) -> None:
    filled = run("gather", "2xf4e2m1fn=1", "[5,0]", "-V", "jax", "-f", "literal")
    chosen = run("gather", "2xf4e2m1fn=1", "[5,0]", "--out-of-range", "nan")

    assert filled.out == "2xf4e2m1fn=[-0.0 1.0]\n"
    assert chosen.status == 2
    assert "`out_of_range` is `nan`, which float4_e2m1fn does not have" in chosen.err
