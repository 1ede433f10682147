from __future__ import annotations

from gathercli.explain.drawing.number_line import SIDE, NumberLine
from gathercli.explain.illegal_map import AxisOutliers, Outliers
from gathercli.spec.op import IndexedAxis
from tests.explain.drawing.charts import of_elements, rectangles, tooltips, words

ALONG = IndexedAxis("indices", 0, 5)
TIMES = "\N{MULTIPLICATION SIGN}"


def line(*below: Outliers, above: tuple[Outliers, ...] = ()) -> NumberLine:
    return NumberLine(AxisOutliers(ALONG, (-5, 4), below, above), 0, 0)


def test_marks_stand_in_order_around_the_legal_range() -> None:
    drawn = line(Outliers(-90, -60, 7), Outliers(-6, -6, 1), above=(Outliers(5, 5, 2),))
    root = of_elements(list(drawn.elements()))

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

    found = tooltips(of_elements(list(line(above=groups).elements())))[:-1]

    assert len(found) == SIDE
    assert found[0] == "6: 1 index"
    assert found[-1] == f"{4 + 2**29}: 29 indices"
    numbers = [int(each.split(": ")[1].split()[0]) for each in found]
    assert sum(numbers) == sum(range(1, 30))


def test_an_empty_axis_has_no_legal_range() -> None:
    axis = AxisOutliers(ALONG, None, (Outliers(0, 3, 4),), ())

    root = of_elements(list(NumberLine(axis, 0, 0).elements()))

    assert rectangles(root) == []
    assert "legal" not in words(root)


def test_a_range_from_zero_has_no_part_from_the_end() -> None:
    axis = AxisOutliers(ALONG, (0, 4), (), ())

    assert words(of_elements(list(NumberLine(axis, 0, 0).elements()))) == ["0", "4", "legal"]
