"""The picture that the script of a page draws, against that of Python of the same call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.explain.drawing.test_page_changes import choose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.explain.drawing.conftest import Tab

# The words of a drawing but those of cells and coordinates, each with its kind and its bold parts.
WORDS: Final = """svg => [...svg.querySelectorAll(":scope text")].filter(text =>
  !text.closest(".cell") && !/coordinate|facet/.test(text.getAttribute("class"))
).map(text => [
  text.getAttribute("class"),
  text.textContent,
  [...text.querySelectorAll("tspan")].map(each => each.textContent).join("|"),
].join(": "))"""
# How the script sets cells and letters.
LETTERS: Final = """svg => [...svg.querySelectorAll(".cell")].map(cell => {
  const [box, letter] = [cell.querySelector("rect"), cell.querySelector(".letter")];
  const at = name => letter && Math.round(letter.getAttribute(name) - box.getAttribute(name));
  return [cell.id, letter?.textContent, at("x"), at("y"), box.getAttribute("height")].join(" ");
}).sort()"""
TREE: Final = ("gather-tree", "[[[10,11,12]],[[20,21,22]]]", "[[[0,0,0]],[[1,1,0]]]", "[2]", "9")
CASES: Final = (
    (("gather", "[10,20,30]", "[2,0,2]"), "indices i64", "[1,1,0]"),
    (("gather", "[[1,2],[3,4],[5,6]]", "[2,0]"), "indices i64", "[[1],[0]]"),
    (("gather", "[[1,2],[3,4],[5,6]]", "[2,0]"), "axis", "1"),
    (("gather-elements", "[[1,2],[3,4]]", "[[0,1]]", "-V", "13"), "indices i64", "[[-1,1]]"),
    (("gather-elements", "[[1,2],[3,4]]", "[[0,1]]", "-a", "0"), "indices i64", "[[1,1]]"),
    (("gather-nd", "[[1,2],[3,4]]", "[[0,1],[1,1]]"), "indices i64", "[[1,0],[1,1]]"),
    (("gather-nd", "[[1,2],[3,4]]", "[[0,1],[1,1]]"), "indices i64", "[[1],[0]]"),
    (TREE, "max_seq_len i64", "[1]"),
    (TREE, "end_token i64", "20"),
)


def words(tab: Tab) -> list[str]:
    found: list[str] = tab.page.locator(".frame > svg").evaluate(WORDS)
    return sorted(each for each in found if "arrows for " not in each)


@pytest.mark.parametrize(("call", "label", "text"), CASES)
def test_an_edited_call_has_the_words_and_letters_of_a_new_one(
    call: tuple[str, ...], label: str, text: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.page.set_viewport_size({"width": 1400, "height": 900})
    tab.open(saved(*call))
    choose(tab, label, text)
    made = words(tab), tab.page.locator(".frame > svg").evaluate(LETTERS)
    positions = {name: n for n, name in enumerate(("step_ids", "parent_ids", "max_seq_len"), 1)}
    positions |= {"data": 1, "indices": 2, "end_token": 4}
    fresh = [*call]
    if label == "axis":
        fresh += ["--axis", text]
    else:
        fresh[positions[label.split(maxsplit=1)[0]]] = text

    tab.open(saved(*fresh))

    assert made == (words(tab), tab.page.locator(".frame > svg").evaluate(LETTERS))


def test_a_change_that_is_undone_leaves_all_words(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved(*TREE))
    before = words(tab)

    choose(tab, "max_seq_len i64", "[1]")
    choose(tab, "max_seq_len i64", "[2]")

    assert words(tab) == before


@pytest.mark.parametrize(
    "call", [call for call, *_ in CASES[1:5:3]] + [TREE, ("gather-nd", "[[1,2],[3,4]]", "[[0,-1]]")]
)
def test_a_narrow_page_has_the_whole_picture(
    call: tuple[str, ...], tab: Tab, saved: Callable[..., Path]
) -> None:
    path = saved(*call)
    tab.page.set_viewport_size({"width": 390, "height": 800})

    tab.open(path)

    frame = tab.page.locator(".frame")
    assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
    assert frame.get_attribute("data-after") is None


def test_a_picture_that_is_cut_off_shows_where_it_goes_on(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    path = saved("gather", "arange:2x20", "[1]")
    tab.page.set_viewport_size({"width": 390, "height": 800})

    tab.open(path)

    frame = tab.page.locator(".frame")
    assert frame.evaluate("frame => frame.scrollWidth > frame.clientWidth")
    assert frame.get_attribute("data-after") == ""
    assert frame.get_attribute("data-before") is None


def test_the_versions_follow_an_index_of_the_call(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved(*TREE))

    tab.page.locator("#step_ids-1-0-2").click()
    clicked = tab.page.locator("thead th").nth(2).text_content()
    choose(tab, "max_seq_len i64", "[1]")

    assert clicked == "parent_ids[1,0,2]"
    assert "-1" not in " ".join(tab.page.locator("tbody td").all_text_contents())
