from __future__ import annotations

from gathercli.explain.drawing.versions_chart import LONGEST, Table, versions_chart
from tests.explain.drawing.charts import SVG, parse, rectangles, words

TABLE = Table(
    ("version", "group", "outcome"),
    [("one", "A", "values"), ("two", "-", "word " * 40), ("three", "B", "<&>")],
)


def test_letters_stand_on_the_color_of_their_group() -> None:
    badges = rectangles(parse(versions_chart("call", [TABLE], []).svg()), "badge")

    assert [(each.kind, each.texts) for each in badges] == [
        ("group c0", ("A",)),
        ("group c1", ("B",)),
    ]


def test_every_word_is_text_and_long_ones_wrap() -> None:
    found = words(parse(versions_chart("call", [TABLE], ["a line"]).svg()), "word")

    assert found[:4] == ["version", "group", "outcome", "one"]
    assert " ".join(each for each in found if each.startswith("word")) == ("word " * 40).strip()
    assert max(map(len, found)) <= LONGEST
    assert found[-2:] == ["<&>", "a line"]


def test_the_description_has_the_whole_table() -> None:
    root = parse(versions_chart("call", [TABLE], ["a line"]).svg())

    description = root.findtext(f"{SVG}desc", "")
    assert description.startswith("one, A, values; two, -, word")
    assert description.endswith("three, B, <&>. a line")


def test_tables_stand_below_each_other() -> None:
    chart = versions_chart("call", [TABLE, TABLE], [])

    badges = rectangles(parse(chart.svg()), "badge")
    assert badges[2].y > badges[1].bottom
    assert badges[-1].bottom <= chart.box.bottom
