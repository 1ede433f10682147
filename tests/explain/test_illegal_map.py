from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.compute import verdicts
from gathercli.compute.tensor import Tensor
from gathercli.compute.verdicts import Case, illegal
from gathercli.explain.illegal_map import IllegalMap, Outliers, illegal_maps
from gathercli.ops import engine, find
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import dtype

if TYPE_CHECKING:
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op


def tensor(values: Any, name: str = "int64") -> Tensor:
    return Tensor(dtype(name), np.array(values, name))


def call_of(command: str, version: str, *inputs: Tensor, **attrs: Any) -> tuple[Call, Case]:
    def bind(row: Op) -> Call:
        return engine.bind(row, *map(Operand.of, inputs), **attrs)

    case = Case(bind, *inputs)
    return case.bind(find(version, command).op).call, case


def maps(call: Call, case: Case, most: tuple[int, int] = (40, 60)) -> list[IllegalMap]:
    return list(illegal_maps(call, case, most))


@pytest.mark.parametrize("cells", [3, 1 << 16])
@pytest.mark.parametrize("most", [(1, 1), (2, 3), (40, 60)])
def test_every_illegal_index_is_counted_in_its_bin(
    most: tuple[int, int], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    indices = np.random.default_rng(3).integers(-9, 9, (3, 5, 7))
    call, case = call_of("gather", "openvino-8", tensor([1.5] * 5, "float64"), tensor(indices))
    listed = list(illegal(call, case))
    monkeypatch.setattr(verdicts, "CELLS", cells)

    (found,) = maps(call, case, most)

    bins = []
    for each in listed:
        row, column = each.at[0] * 5 + each.at[1], each.at[2]
        r = np.searchsorted(found.rows, row, "right") - 1
        bins.append((int(r), int(np.searchsorted(found.columns, column, "right") - 1)))
    counts = Counter(bins)
    assert {at: n for at, n in np.ndenumerate(found.counts) if n} == counts
    firsts = dict(reversed(list(zip(bins, listed, strict=True))))
    assert {at: each.at for at, each in found.first.items()} == {
        at: each.at for at, each in firsts.items()
    }
    assert {at: (each.value, each.does) for at, each in found.first.items()} == {
        at: (each.value, each.does) for at, each in firsts.items()
    }


def test_outliers_are_grouped_by_side_and_distance() -> None:
    indices = tensor([5, 6, 7, 7, 8, 1000, -6, -1, 0, -(2**63), 2**63 - 1])
    call, case = call_of("gather", "openvino-8", tensor([0] * 5), indices)

    (axis,) = maps(call, case)[0].axes

    assert axis.legal == (-5, 4)
    assert axis.below == (Outliers(-(2**63), -(2**63), 1), Outliers(-6, -6, 1))
    assert axis.above == (
        Outliers(5, 5, 1),
        Outliers(6, 7, 3),
        Outliers(8, 8, 1),
        Outliers(1000, 1000, 1),
        Outliers(2**63 - 1, 2**63 - 1, 1),
    )


def test_unsigned_indices_beyond_64_bits_with_sign_are_above() -> None:
    indices = tensor([2**64 - 1, 1], "uint64")
    call, case = call_of("gather", "openvino-8", tensor([0, 0]), indices)

    (axis,) = maps(call, case)[0].axes

    assert (axis.below, axis.above) == ((), (Outliers(2**64 - 1, 2**64 - 1, 1),))


def test_each_axis_of_tuples_has_its_own_outliers() -> None:
    indices = tensor([[0, 9], [-3, 1], [2, 2]])
    call, case = call_of("gather-nd", "onnx-13", tensor([[1, 2, 3], [4, 5, 6]]), indices)

    (found,) = maps(call, case)

    assert found.counts.tolist() == [[0, 1], [1, 0], [1, 0]]
    assert [(each.along.axis, each.legal) for each in found.axes] == [(0, (-2, 1)), (1, (-3, 2))]
    assert found.axes[0].below == (Outliers(-3, -3, 1),)
    assert found.axes[0].above == (Outliers(2, 2, 1),)
    assert found.axes[1].above == (Outliers(9, 9, 1),)


def test_no_index_of_an_empty_axis_is_legal() -> None:
    call, case = call_of("gather", "openvino-8", tensor([], "int64"), tensor([[0, 3], [-1, 0]]))

    (found,) = maps(call, case)

    assert found.counts.tolist() == [[1, 1], [1, 1]]
    assert found.axes[0].legal is None
    assert sum(each.number for each in found.axes[0].below) == 4


def test_a_0d_index_is_a_map_of_one_bin() -> None:
    call, case = call_of("gather", "onnx-13", tensor([1, 2]), tensor(7))

    (found,) = maps(call, case)

    assert (found.counts.tolist(), found.first[0, 0].at) == ([[1]], ())


def test_parents_keep_the_values_that_were_written() -> None:
    steps = tensor(np.zeros((2, 1, 2)), "float32")
    parents = tensor([[[0, 0]], [[5e18, 1]]], "float32")
    call, case = call_of(
        "gather-tree", "openvino-1", steps, parents, tensor([2], "float32"), tensor(1, "float32")
    )

    found = maps(call, case)[-1]

    assert [each.value for each in found.first.values()] == [float(np.float32(5e18))]
    assert found.axes[0].above[0].least == float(np.float32(5e18))
