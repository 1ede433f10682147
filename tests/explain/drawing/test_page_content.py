from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli import explain
from gathercli.explain.drawing.lesson import scene_of
from gathercli.explain.drawing.page_content import TextTable, page_content
from gathercli.explain.look import Look

if TYPE_CHECKING:
    from collections.abc import Sequence


def content_of(*call: Any, **attributes: Any) -> dict[str, Any]:
    lesson, look = explain(*call, **attributes), Look(100)
    return page_content(lesson, look, scene_of(lesson, look))


def texts_of(templates: Sequence[Sequence[str]], lines: Sequence[str], numbers: str) -> list[str]:
    """Return lines from their numbers, as the script of the page does."""
    texts = []
    for number in numbers.split(","):
        template, *values = lines[int(number)].split(" ")
        parts = templates[int(template)]
        texts.append("".join(a + b for a, b in zip(parts, [*values, ""], strict=True)))
    return texts


@pytest.mark.parametrize(
    "lines", [["a[1,2] = 007", "a[3,4] = 1.5e-05", "1", "", "x"], ['"1 \u0663 </script>"', "0 0"]]
)
def test_lines_come_back_as_they_were(lines: list[str]) -> None:
    table = TextTable()

    numbers = table.numbers([[(text, "bold"), ("!", "")] for text in lines])

    assert texts_of([*table.templates], [*table.lines], numbers) == [f"{text}!" for text in lines]


def test_lines_that_differ_in_numbers_alone_share_a_template() -> None:
    table = TextTable()

    numbers = [table.number(text) for text in ("k is 1", "k is 23", "k is 1")]

    assert (numbers, len(table.templates), len(table.lines)) == ([0, 1, 0], 1, 2)


def test_each_drawn_cell_has_the_ids_of_its_index_and_its_source() -> None:
    content = content_of("gather", [[1, 2], [3, 4]], [1, 9])

    assert content["tensors"] == ("out", "data", "indices")
    ids = [cell.split(" ")[:3] for cell in content["cells"]]
    assert ids == [
        ["0-0-0", "2-0", "1-1-0"],
        ["0-0-1", "2-0", "1-1-1"],
        ["0-1-0", "2-1", "-"],
        ["0-1-1", "2-1", "-"],
    ]
    assert content["indices"] == {"indices-0": ["1"], "indices-1": ["9"]}


def test_only_cells_of_the_drawing_are_in_the_content() -> None:
    content = content_of("gather", np.zeros((100, 100)), np.zeros(100, int))

    assert content["total"] == "10 000"
    assert 0 < len(content["cells"]) < 1000


def test_an_index_that_a_browser_cannot_count_to_keeps_its_digits() -> None:
    content = content_of("gather", [1, 2], np.array([1, 2**63], np.uint64))

    assert content["indices"] == {"indices-0": ["1"], "indices-1": ["9223372036854775808"]}
    assert content["fates"][0]["values"][-1] == "9223372036854775808"
