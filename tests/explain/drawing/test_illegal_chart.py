from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli import ops
from gathercli.compute import verdicts
from gathercli.compute.tensor import Tensor
from gathercli.compute.verdicts import Case, illegal
from gathercli.explain.drawing.illegal_chart import (
    MOST_SIDE_MARKS,
    AxisOutliers,
    IllegalMap,
    Outliers,
    illegal_maps,
    number_line,
)
from gathercli.frameworks.versions import find
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import dtype
from gathercli.spec.op import IndexedAxis
from tests.explain.drawing.charts import SVG, of_elements, parse, rectangles, tooltips, words

if TYPE_CHECKING:
    from gathercli.explain.drawing.chart import Drawn
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def tensor(values: Any, name: str = "int64") -> Tensor:
    return Tensor(dtype(name), np.array(values, name))


def call_of(command: str, version: str, *inputs: Tensor, **attrs: Any) -> tuple[Call, Case]:
    def bind(row: Op) -> Call:
        return ops.bind(row, *map(Operand.of, inputs), **attrs)

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
    monkeypatch.setattr(verdicts, "BLOCK_INDICES", cells)

    (places,) = maps(call, case, most)

    bins = []
    for each in listed:
        row, column = each.at[0] * 5 + each.at[1], each.at[2]
        r = np.searchsorted(places.rows, row, "right") - 1
        bins.append((int(r), int(np.searchsorted(places.columns, column, "right") - 1)))
    counts = Counter(bins)
    assert {at: n for at, n in np.ndenumerate(places.counts) if n} == counts
    firsts = dict(reversed(list(zip(bins, listed, strict=True))))
    assert {at: each.at for at, each in places.first.items()} == {
        at: each.at for at, each in firsts.items()
    }
    assert {at: (each.value, each.does) for at, each in places.first.items()} == {
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

    (places,) = maps(call, case)

    assert places.counts.tolist() == [[0, 1], [1, 0], [1, 0]]
    assert [(each.along.axis, each.legal) for each in places.axes] == [(0, (-2, 1)), (1, (-3, 2))]
    assert places.axes[0].below == (Outliers(-3, -3, 1),)
    assert places.axes[0].above == (Outliers(2, 2, 1),)
    assert places.axes[1].above == (Outliers(9, 9, 1),)


def test_no_index_of_an_empty_axis_is_legal() -> None:
    call, case = call_of("gather", "openvino-8", tensor([], "int64"), tensor([[0, 3], [-1, 0]]))

    (places,) = maps(call, case)

    assert places.counts.tolist() == [[1, 1], [1, 1]]
    assert places.axes[0].legal is None
    assert sum(each.number for each in places.axes[0].below) == 4


def test_a_0d_index_is_a_map_of_one_bin() -> None:
    call, case = call_of("gather", "onnx-13", tensor([1, 2]), tensor(7))

    (places,) = maps(call, case)

    assert (places.counts.tolist(), places.first[0, 0].at) == ([[1]], ())


def test_parents_keep_the_values_that_were_written() -> None:
    steps = tensor(np.zeros((2, 1, 2)), "float32")
    parents = tensor([[[0, 0]], [[5e18, 1]]], "float32")
    call, case = call_of(
        "gather-tree", "openvino-1", steps, parents, tensor([2], "float32"), tensor(1, "float32")
    )

    places = maps(call, case)[-1]

    assert [each.value for each in places.first.values()] == [float(np.float32(5e18))]
    assert places.axes[0].above[0].least == float(np.float32(5e18))


ALONG = IndexedAxis("indices", 0, 5)
TIMES = "\N{MULTIPLICATION SIGN}"


def line(*below: Outliers, above: tuple[Outliers, ...] = ()) -> Drawn:
    return number_line(AxisOutliers(ALONG, (-5, 4), below, above), 0, 0)


def test_marks_stand_in_order_around_the_legal_range() -> None:
    _, drawn = line(Outliers(-90, -60, 7), Outliers(-6, -6, 1), above=(Outliers(5, 5, 2),))
    root = of_elements(list(drawn))

    assert tooltips(root) == [
        "-90..-60: 7 indices",
        "-6: 1 index",
        "5: 2 indices",
        "legal: -5 to 4",
    ]
    labels = {
        each.text: float(each.get("x", "")) for each in root.iter() if each.tag.endswith("text")
    }
    assert (
        labels["-90..-60"] < labels["-6"] < labels["-5"] < labels["0"] < labels["4"] < labels["5"]
    )
    assert {f"{TIMES}7", f"{TIMES}1", f"{TIMES}2", "from the end"} <= set(labels)


def test_many_groups_are_joined_in_the_middle_and_none_is_lost() -> None:
    groups = tuple(Outliers(4 + 2**n, 4 + 2**n, n) for n in range(1, 30))

    marks = tooltips(of_elements(list(line(above=groups)[1])))[:-1]

    assert len(marks) == MOST_SIDE_MARKS
    assert marks[0] == "6: 1 index"
    assert marks[-1] == f"{4 + 2**29}: 29 indices"
    numbers = [int(each.split(": ")[1].split()[0]) for each in marks]
    assert sum(numbers) == sum(range(1, 30))


def test_an_empty_axis_has_no_legal_range() -> None:
    axis = AxisOutliers(ALONG, None, (Outliers(0, 3, 4),), ())

    root = of_elements(list(number_line(axis, 0, 0)[1]))

    assert rectangles(root) == []
    assert "legal" not in words(root)


def test_a_range_from_zero_has_no_part_from_the_end() -> None:
    axis = AxisOutliers(ALONG, (0, 4), (), ())

    assert words(of_elements(list(number_line(axis, 0, 0)[1]))) == ["0", "4", "legal"]


def drawn(run: Run, folder: Path, *words_: str, status: int = 1) -> Any:
    ran = run("check", *words_, "--save", "x.svg")
    assert ran.status == status, ran.err
    return parse((folder / "x.svg").read_text(encoding="utf-8"))


def test_illegal_indices_are_hatched_with_their_values_and_places(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "1.5,2,3,4,5", "[[3,10],[-20,0]]")

    cells = rectangles(root, "cell")

    assert [each.texts for each in cells] == [("3",), ("10",), ("-20",), ("0",)]
    assert [each.hatched for each in cells] == [False, True, True, False]
    assert [each.tooltip for each in cells if each.tooltip] == [
        "10 at [0,1], zero-filled",
        "-20 at [1,0], zero-filled",
    ]
    assert "2 of 4 indices outside -5..4" in words(root)


@pytest.mark.parametrize(("version", "kind"), [("openvino-8", "filled"), ("onnx-13", "refused")])
def test_the_legend_and_the_line_mark_an_index_as_its_cell_does(
    run: Run, folder: Path, version: str, kind: str
) -> None:
    root = drawn(run, folder, "gather", "[1,2]", "[5]", "-V", version)

    every = [each.get("class") or "" for each in root.iter()]
    assert {f"cell small {kind}", f"swatch {kind}", f"outlier {kind}"} <= {*every}
    other = {"filled": "refused", "refused": "filled"}[kind]
    assert not [each for each in every if other in each]


def test_refused_indices_have_the_color_of_refusals(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "[1,2]", "[5]", "-V", "onnx-13")

    (group,) = (each for each in root.iter(f"{SVG}g") if "cell" in (each.get("class") or ""))
    assert group.get("class") == "cell small refused"


def test_bins_of_many_indices_count_exactly(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(2)
    indices = rng.integers(-12, 12, (3, 40, 90))
    np.save(folder / "i.npy", indices)
    listed = json.loads(run("check", "gather", "arange:10", "i.npy", "--all", "-f", "json").out)

    bins = rectangles(drawn(run, folder, "gather", "arange:10", "i.npy"), "illegal")

    numbers = [int(each.tooltip.split(" of ")[0].replace(" ", "")) for each in bins]
    assert sum(numbers) == listed["illegal"]["count"]
    assert all(each.hatched for each in bins)
    place = re.search(r"first (-?\d+) at \[(\d+),(\d+),(\d+)\]", bins[7].tooltip)
    assert place is not None
    value, *at = map(int, place.groups())
    assert indices[tuple(at)] == value


def test_a_call_without_illegal_indices_says_so(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "[1,2,3]", "[0,-1]", status=0)

    assert "all legal" in words(root)
    assert not any(each.hatched for each in rectangles(root))


def test_each_component_of_tuples_has_its_line(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather-nd", "arange:3x4", "[[0,1],[5,-9]]")

    assert [each for each in words(root, "title") if "along" in each] == [
        "component 0: values along axis 0 of size 3, not to scale",
        "component 1: values along axis 1 of size 4, not to scale",
    ]


def test_no_indices_leave_the_verdicts(run: Run, folder: Path) -> None:
    root = drawn(run, folder, "gather", "[1,2]", "[]", status=0)

    assert words(root, "title") == ["verdicts"]


@pytest.mark.parametrize("version", ["openvino-8", "onnx-13"])
def test_the_verdict_of_every_version_stands_below(run: Run, folder: Path, version: str) -> None:
    root = drawn(run, folder, "gather", "[1,2]", "[5]", "-V", version)

    assert "onnx.Gather-13" in words(root, "word")
    assert "1 zero-filled, first 5 at [0]" in words(root, "word")
