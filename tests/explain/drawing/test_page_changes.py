"""The interactive page when its call is changed, and at each width, in each theme and policy."""

from __future__ import annotations

import json
import random
import re
import shlex
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import gathercli
from gathercli import explain
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.drawing.page import interactive, page_script
from gathercli.explain.panel import Look
from gathercli.ops import FAMILIES
from tests.explain.drawing.conftest import Tab
from tests.explain.drawing.test_answer import MODELS, draws, expected

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.conftest import Run

NO_INTEGER: Final = "is no integer: expected digits, after a sign or none"
CALL: Final = ("gather", "[[10,11],[20,21],[30,31]]", "[2,0,-1,7]")


def texts(tab: Tab, tensor: str) -> list[str]:
    """Return the texts of the cells of a tensor, row-major."""
    found = tab.page.locator(f".cell[data-tensor={tensor}]").evaluate_all(
        """cells => cells.map(({ dataset, children }) => [
          dataset.at.split(",").filter(Boolean).map(Number),
          [...children].find(({ nodeName, classList }) =>
            nodeName === "text" && !classList.contains("letter")).textContent,
        ])"""
    )
    return [text for _, text in sorted(found)]


def edit(tab: Tab, cell: str, *typed: str) -> None:
    """Type in a cell."""
    tab.page.locator(f"#{cell}").click()
    tab.press(*typed, "Enter")


def choose(tab: Tab, label: str, text: str) -> None:
    """Type in a field of the call."""
    box = tab.page.get_by_label(label, exact=True)
    box.fill(text)
    box.press("Enter")


def answer(tab: Tab) -> str:
    return tab.page.locator(".answer").text_content() or ""


def test_an_index_is_changed_where_it_stands(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved(*CALL))
    place = "rect => [rect.x.baseVal.value, rect.y.baseVal.value]"
    before = tab.page.locator("#out-3-0 rect").evaluate(place)

    edit(tab, "indices-3", "1")

    assert texts(tab, "indices") == ["2", "0", "-1 → 2", "1"]
    assert texts(tab, "out") == ["30", "31", "10", "11", "30", "31", "20", "21"]
    assert tab.page.locator("#out-3-0 rect").evaluate(place) == before
    assert answer(tab) == "openvino.Gather-8 answers with shape [4,2]"
    assert tab.lit == {
        "indices-3": "index",
        **{f"data-1-{s}": "source" for s in range(2)},
        **{f"out-3-{s}": "out" for s in range(2)},
    }
    assert tab.trace.splitlines()[-2] == "out[3,0] = data[indices[3],0] = data[1,0] = 20"
    assert tab.focus == "indices-3"


def test_arrows_and_letters_follow_a_change(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved(*CALL))

    edit(tab, "indices-0", "1")

    arrows = tab.page.locator(".arrow[data-lit]").evaluate_all(
        "arrows => arrows.map(({dataset}) => [dataset.from, dataset.to])"
    )
    letters = tab.page.locator("#data-1-0 .letter, #indices-0 .letter, #out-0-1 .letter")
    assert [start for start, _ in arrows] == ["indices-0", "slice-data-1-0--data-1-1"]
    assert len(set(letters.all_text_contents())) == 1


def test_a_value_of_data_is_changed(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved(*CALL))

    edit(tab, "data-0-1", "-", "5")

    assert texts(tab, "out")[2:4] == ["10", "-5"]


@pytest.mark.parametrize(
    ("label", "text", "answered"),
    [
        ("axis", "1", ("[3,4]", "0 10 11 0 0 20 21 0 0 30 31 0")),
        ("axis", "-1", ("[3,4]", "0 10 11 0 0 20 21 0 0 30 31 0")),
        ("indices i64", "[[1]]", ("[1,1,2]", "20 21")),
        ("indices i64", "0", ("[2]", "10 11")),
        ("indices i64", "[]", ("[0,2]", "")),
        ("data i64", "[5,6]", ("[4]", "0 5 6 0")),
    ],
)
def test_another_shape_is_drawn_anew(
    label: str, text: str, answered: tuple[str, str], tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*CALL))

    choose(tab, label, text)

    shape, out = answered
    assert answer(tab).startswith(f"openvino.Gather-8 answers with shape {shape}")
    assert texts(tab, "out") == out.split()


def test_every_version_answers_at_once(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[10,20,30]", "[1,0]"))
    cells = tab.page.locator("tbody td:nth-child(2)")

    edit(tab, "indices-0", "-", "1")
    negative = cells.all_text_contents()
    edit(tab, "indices-0", "3")

    assert [each.split("index -1")[0] for each in negative] == [
        *("shape [2]", "refuses: index-range", "refuses: index-range"),
        *("shape [2]", "shape [2]", "refuses: index-range"),
    ]
    assert [each[:2] for each in cells.all_text_contents()] == ["sh", *["re"] * 5]
    assert tab.fates()["onnx.Gather-13"] == "refused"
    reasons = tab.page.locator("tbody td:nth-child(4)").all_text_contents()
    assert reasons == [
        *("zero-filled", "outside 0 to 2", "outside 0 to 2"),
        *("outside -3 to 2", "outside -3 to 2", "outside 0 to 2"),
    ]


@pytest.mark.parametrize(
    ("label", "text", "words"),
    [
        ("axis", "5", "refuses: axis is 5, but data has rank 2, expected -2 to 1 (axis-range)"),
        ("batch_dims", "1", "refuses: batch_dims is 1, but axis is 0, expected 0 to 0"),
    ],
)
def test_a_call_that_is_refused_says_why_and_shows_its_inputs(
    label: str, text: str, words: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*CALL))

    choose(tab, label, text)

    assert words in answer(tab)
    assert texts(tab, "data") == ["10", "11", "20", "21", "30", "31"]
    assert texts(tab, "out") == []
    choose(tab, label, "0")
    assert answer(tab).startswith("openvino.Gather-8 answers with shape [4,2]")


BATCHES: Final = (
    (("gather", "arange:2x4x3", "[[0,1],[-1,9]]", "-a", "1", "-b", "1"), "[[0,2,1],[-1,9,0]]"),
    (("gather", "arange:2x4", "[[0,1],[-1,9]]", "-a", "1", "-b", "1"), "[[0,2,1],[-1,9,0]]"),
    (("gather-elements", "arange:2x2x3", "[[[0,1,1]],[[1,0,0]]]", "-a", "1"), "zeros:2x2x3"),
    (("gather-nd", "arange:2x4x3", "[[[0,1]],[[1,2]]]", "-b", "1"), "[[[3]],[[0]]]"),
    (
        ("gather-nd", "arange:2x1x4", "[[[[0]]],[[[1]]]]", "-b", "2", "-V", "openvino-5"),
        "zeros:2x1x2x1",
    ),
)


@pytest.mark.parametrize(("words", "indices"), BATCHES, ids=str)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_changed_call_has_a_panel_a_batch(
    width: int, words: tuple[str, ...], indices: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    tab.open(saved(*words, "-q", "--out-of-range", "zero"))
    before = sorted(tab.page.locator("svg .title").all_text_contents())

    tab.page.set_viewport_size({"width": width, "height": 900})
    choose(tab, "indices i64", indices)

    titles = sorted(tab.page.locator("svg .title").all_text_contents())
    heads = [each.partition("[")[2].split(",")[0] for each in titles]
    assert [each.split(",")[0] for each in titles] == [each.split(",")[0] for each in before]
    assert sorted(heads) == ["0"] * 3 + ["1"] * 3
    assert tab.page.evaluate(MEASURED) == []
    places = tab.page.locator(".slice.outside")
    assert len(set(places.evaluate_all("all => all.map(({ id }) => id)"))) == places.count()


def test_a_batch_has_its_own_place_for_indices_that_point_nowhere(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "arange:2x4", "[[0,9],[-1,9]]", "-a", "1", "-b", "1"))

    for cell, typed in (("indices-0-0", "8"), ("indices-1-1", "1")):
        edit(tab, cell, typed)
    edit(tab, "indices-1-1", "7")

    pairs = tab.page.locator(".arrow.picks.filled").evaluate_all(
        "arrows => arrows.map(({dataset}) => [dataset.from, dataset.to])"
    )
    assert sorted(pairs) == [
        ["indices-0-0", "slice-outside-0"],
        ["indices-0-1", "slice-outside-0"],
        ["indices-1-1", "slice-outside-1"],
    ]
    assert tab.page.locator("svg .note", has_text="outside").count() == 2


@pytest.mark.parametrize("words", [CALL, *(words for words, _ in BATCHES[:4])], ids=str)
def test_the_coordinates_of_what_is_chosen_are_bold(
    words: tuple[str, ...], tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*words, "-q"))
    bold = tab.page.locator(".coordinate.replaced")
    first = tab.page.locator(".cell[data-tensor=out]").first.get_attribute("id")
    tab.page.locator(f"#{first}").click()
    before = bold.all_text_contents()

    data = tab.page.locator(".cell[data-tensor=data]").first.get_attribute("id")
    edit(tab, data or "", "7", "7")
    tab.page.locator(f"#{first}").click()

    assert before
    assert bold.all_text_contents() == before


def test_cells_of_text_are_filled_with_the_empty_string(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", '["a","b"]', "[1,7]"))

    assert answer(tab).endswith(", 1 of its 2 cells filled with the empty string")


def test_another_version_refuses_an_index(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved(*CALL))

    tab.page.get_by_label("version").select_option("onnx.Gather-13")

    assert "index 7 at indices[3] is outside axis 0 of data, whose size is 3" in answer(tab)
    assert answer(tab).endswith("(index-range)")
    assert tab.page.locator("#indices-3.refused").count() == 1
    assert tab.page.locator(".heading").text_content() == "Gather   axis 0"
    notes = tab.page.locator(".note").all_text_contents()
    assert "onnx.Gather-13" in notes
    assert "openvino.Gather-8" not in notes


def test_changes_are_undone_redone_and_reset(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[10,20]", "[1,0]"))
    buttons = {
        name: tab.page.get_by_role("button", name=name) for name in ("Undo", "Redo", "Reset")
    }
    disabled = [each.is_disabled() for each in buttons.values()]

    seen = [texts(tab, "out")]
    edit(tab, "indices-0", "0")
    edit(tab, "data-0", "9")
    for act in ("Undo", "Undo", "Redo", "Redo", "Reset", "Undo"):
        buttons[act].click()
        seen.append(texts(tab, "out"))
    tab.page.locator("#out-0").click()
    tab.press("Control+z")
    seen.append(texts(tab, "out"))

    first, second, third = ["20", "10"], ["10", "10"], ["9", "9"]
    assert disabled == [True] * 3
    assert seen == [first, second, first, second, third, first, third, second]


def test_the_address_holds_what_is_changed(tab: Tab, saved: Callable[..., Path]) -> None:
    path = saved(*CALL)
    tab.open(path)
    edit(tab, "indices-0", "1")
    choose(tab, "axis", "1")
    tab.page.get_by_label("version").select_option("onnx.Gather-13")
    address, out = tab.page.url, (answer(tab), texts(tab, "out"))

    tab.page.goto("about:blank")
    tab.page.goto(address)

    assert address.endswith("#version=onnx.Gather-13&axis=1&indices=%5B1,0,-1,7%5D")
    assert (answer(tab), texts(tab, "out")) == out
    tab.page.get_by_role("button", name="Reset").click()
    assert tab.page.url == path.as_uri()


@pytest.mark.parametrize("name", ["axis", "batch_dims"])
def test_the_address_holds_an_attribute_that_is_emptied(
    name: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    words = ("gather", "[[1,2],[3,4]]", "[[1],[0]]", "-a", "1", "-b", "1")
    path = saved(*words, "-V", "openvino-8")
    tab.open(path)

    choose(tab, name, "")

    address, seen = tab.page.url, (answer(tab), texts(tab, "out"))
    tab.page.goto("about:blank")
    tab.page.goto(address)
    assert address.endswith(f"#{name}=")
    assert (answer(tab), texts(tab, "out")) == seen
    assert tab.page.get_by_label(name, exact=True).input_value() == ""
    tab.page.goto(path.as_uri())
    assert tab.page.get_by_label(name, exact=True).input_value() == "1"


@pytest.mark.parametrize("typed", ["1.5", "1e0", "-0.5"])
def test_an_attribute_that_is_no_integer_is_refused_in_words(
    typed: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*CALL))
    before = answer(tab)

    choose(tab, "axis", typed)

    refusal = tab.page.locator(".controls .refusal").text_content()
    assert refusal == f"axis: “{typed}” {NO_INTEGER}"
    assert (answer(tab), tab.page.url.endswith("page.html")) == (before, True)


@pytest.mark.parametrize(
    "fragment", ["indices=[1", "axis=x", "nothing", "version=torch.gather", "%"]
)
def test_an_address_that_is_no_call_changes_nothing(
    fragment: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    path = saved("gather", "[10,20]", "[1,0]")

    tab.page.goto(f"{path.as_uri()}#{fragment}")

    assert texts(tab, "out") == ["20", "10"]


CHANGES: Final = (
    (CALL, "indices-0", "1"),
    (("gather", "2x2xf32=1.5 0.123456789 3 4", "[1,0]", "-V", "onnx-13"), "data-0-0", "7"),
    (("gather", '3xstr="a" "b c" "it\'s"', "[2]", "--out-of-range", "zero"), "indices-0", "0"),
    (("gather-elements", "[[1,2],[3,4]]", "[[0,1]]", "-V", "onnx-13"), "indices-0-1", "0"),
    (("gather-nd", "[[1,2],[3,4]]", "[[0,1],[1,1]]"), "indices-1", "1,0"),
    (("gather-tree", "[[[2]],[[4]]]", "[[[0]],[[0]]]", "[2]", "9"), "step_ids-1-0-0", "5"),
    (("gather", "3xc64=1+2j 3 0.5-1j", "[1,0]"), "indices-0", "2"),
    (("gather", "3xf16=nan 1 -inf", "[0,2]"), "data-2", "inf"),
    (("gather", "3xbool=true false true", "[0,2]"), "data-0", "false"),
    (("gather", "zeros:2x0xi8", "[1,0]"), "indices-0", "0"),
    (("gather", "[7,8]", "[0]", "-V", "numpy.take", "-a", "0"), "indices-0", "1"),
)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_command_of_a_changed_call_gives_the_same_answer(
    change: tuple[tuple[str, ...], str, str], tab: Tab, saved: Callable[..., Path], run: Run
) -> None:
    words, cell, typed = change
    tab.open(saved(*words, "-q"))
    tab.page.locator(f"#{cell}").click()
    tab.press("F2")
    tab.page.locator(".editor").fill(typed)
    tab.press("Enter")

    tab.page.get_by_role("button", name="Copy as command").click()

    command = shlex.split(tab.page.get_by_label("copied").input_value())
    assert command[:2] == ["gathercli", "explain"]
    ran = run(*command[1:], "-f", "json")
    assert ran.status == 0, ran.err
    shown = [text.removesuffix("·").removesuffix("?") for text in texts(tab, "out")]
    again = saved(*command[2:], "-q")
    tab.page.goto("about:blank")
    tab.open(again)
    assert [text.rstrip("·?") for text in texts(tab, "out")] == shown


@pytest.mark.parametrize(
    ("cell", "typed", "words"),
    [
        (
            "indices-0",
            "1.5",
            "indices[0]: “1.5” is no integer: expected digits, after a sign or none",
        ),
        ("indices-0", "x", "indices[0]: “x” is no integer: expected digits, after a sign or none"),
        ("data-0-0", "9223372036854775808", "data[0,0]: 9223372036854775808 does not fit i64"),
    ],
)
def test_what_is_no_value_is_refused_in_words(
    cell: str, typed: str, words: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*CALL))
    tab.page.locator(f"#{cell}").click()
    tab.press("F2")

    tab.page.locator(".editor").fill(typed)
    tab.press("Enter")

    refusal = tab.page.locator(".controls .refusal")
    assert refusal.text_content() == words
    tab.press("Escape")
    assert (refusal.text_content(), tab.page.locator(".editor").count()) == ("", 0)
    assert texts(tab, "indices") == ["2", "0", "-1 → 2", "7 → none"]
    assert tab.focus == cell


def test_a_field_undoes_an_edit_unless_it_is_being_typed_in(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[10,20]", "[1,0]"))
    choose(tab, "indices i64", "[0,0]")

    tab.press("Control+z")
    undone = texts(tab, "out")
    box = tab.page.get_by_label("indices i64", exact=True)
    box.press_sequentially("9")
    tab.press("Control+z")

    assert undone == texts(tab, "out") == ["20", "10"]
    assert box.input_value() == "[1,0]"


def test_the_keys_of_a_grid_change_a_column(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved(*CALL))
    tab.page.locator("#indices-0").click()

    tab.press("1", "ArrowDown", "2", "ArrowDown", "0", "ArrowDown", "0", "Enter")

    assert texts(tab, "indices") == ["1", "2", "0", "0"]
    assert tab.focus == "indices-3"


@pytest.mark.parametrize("typed", ["[[1,2],[3]]", "[1,,2]", "[1", "1 2", "[a]", '["x"]'])
def test_a_tensor_that_is_none_is_refused_in_words(
    typed: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*CALL))

    choose(tab, "indices i64", typed)

    assert (tab.page.locator(".controls .refusal").text_content() or "").startswith("indices: ")
    assert len(texts(tab, "out")) == 8


def test_beams_follow_a_changed_parent_and_end_token(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(
        saved("gather-tree", "[[[2,3]],[[4,5]],[[6,7]]]", "[[[0,0]],[[1,0]],[[1,0]]]", "[3]", "9")
    )
    before = texts(tab, "out")

    edit(tab, "parent_ids-2-0-0", "0")
    changed = texts(tab, "out")
    choose(tab, "end_token i64", "4")
    ended = texts(tab, "out")
    choose(tab, "max_seq_len i64", "[1]")

    assert before == ["2", "3", "5", "4", "6", "7"]
    assert changed == ["3", "3", "4", "4", "6", "7"]
    assert ended == ["3", "3", "4", "4", "4", "4"]
    assert texts(tab, "out") == ["2", "3", "4", "4", "4", "4"]


def test_a_page_that_leaves_cells_out_cannot_be_changed(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "arange:100x100", "[5,-1]"))

    tab.page.locator("#indices-0").click()
    tab.press("3")

    assert tab.page.locator(".toolbar, .editor").count() == 0
    assert "too large to be changed" in (tab.page.locator(".help").text_content() or "")


def test_a_small_page_that_leaves_cells_out_draws_them_once_it_is_changed(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "arange:30", "arange:30"))
    before = len(texts(tab, "out"))
    tab.page.locator("#out-2").click()
    tab.press("n")
    following = tab.here

    edit(tab, "indices-2", "7")

    assert before < 30
    assert following not in (None, "out-2")
    assert texts(tab, "out") == [str(7 if n == 2 else n) for n in range(30)]


def test_an_element_that_is_left_as_it_is_keeps_all_digits(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[0.123456789,2.5]", "[0]"))

    tab.page.locator("#data-0").click()
    tab.press("F2", "Enter")
    edit(tab, "data-1", "3", ".", "2", "5")

    copied = tab.page.get_by_label("data f64", exact=True).input_value()
    assert copied == "[0.123456789,3.25]"
    assert texts(tab, "data") == ["0.123457", "3.25"]


def test_a_finger_changes_a_value(browser: Browser, saved: Callable[..., Path]) -> None:
    path = saved("gather", "[10,20]", "[1,0]")
    with browser.new_context(has_touch=True, offline=True) as context:
        tab = Tab(context.new_page()).open(path)
        tab.page.locator("#indices-1").tap()
        tab.page.locator("#indices-1").tap()
        tab.page.keyboard.type("1")
        tab.page.locator("#out-0").tap()

        assert texts(tab, "out") == ["20", "20"]
        assert tab.complaints == []


def test_a_button_of_a_telling_value_changes_the_index_and_keeps_the_focus(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[10,20]", "[1,0]"))
    tab.page.locator("#indices-0").click()

    tab.page.get_by_role("button", name="-2", exact=True).click()

    assert texts(tab, "indices") == ["-2 → 0", "0"]
    assert tab.focus == "-2"


def test_a_large_page_is_complete(tab: Tab, saved: Callable[..., Path]) -> None:
    path = saved("gather", "arange:50x20", "arange:50", "--window", ":,:")
    tab.open(path)

    edit(tab, "indices-49", "0")

    assert texts(tab, "out")[-3:] == ["17", "18", "19"]
    assert tab.page.locator(".cell.c0").count() > 20
    assert path.stat().st_size < 400_000


@pytest.mark.no_cover
@pytest.mark.parametrize("op", FAMILIES)
def test_a_random_call_is_drawn_as_the_command_answers_it(
    op: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    rng, (inputs, attrs) = random.Random(7), MODELS[op]  # noqa: S311
    words = [json.dumps(each) for each in inputs]
    path = saved(op, *words, *(["-a", "0"] if attrs else []), "-q")
    names = [each.name for each in FAMILIES[op].ROWS[0].inputs]
    tab.open(path)

    for _ in range(60):
        tensors, given = draws(op, rng)
        row = rng.choice(FAMILIES[op].ROWS).full_name
        parts = [f"version={row}", *(f"{name}={n}" for name, n in given.items() if n is not None)]
        parts += [
            f"{name}={'x'.join(map(str, each.shape))}xi64="
            if not each.size and each.ndim > 1
            else f"{name}={json.dumps(each.tolist())}"
            for name, each in zip(names, tensors, strict=True)
        ]
        tab.page.evaluate("hash => { location.hash = hash }", "&".join(parts))
        tab.page.wait_for_timeout(30)

        wanted = expected(op, row, tensors, {"axis": attrs.get("axis")} | drop_none(given))
        if wanted["rule"]:
            assert f"({wanted['rule']})" in answer(tab), parts
        else:
            shape = json.dumps(wanted["shape"]).replace(" ", "")
            assert f" answers with shape {shape}" in answer(tab), parts
            assert texts(tab, "out") == [value for *_, value in wanted["cells"]], parts
        assert tab.page.evaluate(MEASURED) == [], parts


def drop_none(attrs: dict[str, int | None]) -> dict[str, int]:
    return {name: value for name, value in attrs.items() if value is not None}


# What overlaps in a drawing, or leaves it.
MEASURED: Final = """() => {
  const svg = document.querySelector("[data-gathercli]").shadowRoot.querySelector("svg");
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const cells = [...svg.querySelectorAll(".cell")].map((cell) => [
    cell.id,
    cell.querySelector("rect").getBBox(),
    cell.querySelector("text:not(.letter)").getBBox(),
  ]);
  const wrong = [];
  cells.forEach(([id, box, text], n) => {
    if (box.x < 0 || box.y < 0 || box.x + box.width > width || box.y + box.height > height) {
      wrong.push(`${id} leaves the drawing`);
    }
    if (text.width > box.width) wrong.push(`the text of ${id} leaves it`);
    for (const [other, its] of cells.slice(n + 1)) {
      const apart = box.x + box.width <= its.x || its.x + its.width <= box.x ||
        box.y + box.height <= its.y || its.y + its.height <= box.y;
      if (!apart) wrong.push(`${id} covers ${other}`);
    }
  });
  for (const text of svg.querySelectorAll(":scope > text")) {
    const box = text.getBBox();
    if (box.x + box.width > width) wrong.push(`“${text.textContent}” leaves the drawing`);
  }
  for (const arrow of svg.querySelectorAll(".arrow")) {
    const box = arrow.getBBox();
    const isInside = box.x >= 0 && box.y >= 0 && box.x + box.width <= width;
    if (!isInside) wrong.push("an arrow leaves the drawing");
  }
  return wrong;
}"""


# Where it is shown


WIDTHS: Final = (360, 768, 1280, 1920)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("changed", [False, True])
def test_at_any_width_values_are_read_and_nothing_leaves_the_page(
    changed: bool, width: int, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.page.set_viewport_size({"width": width, "height": width * 9 // 16 if width > 1000 else 740})
    tab.open(saved(*CALL))
    if changed:
        choose(tab, "axis", "1")
    tab.page.locator("#out-1-0").click()

    read = """texts => texts.map(text =>
      parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
    sizes = tab.page.locator("svg text").evaluate_all(read)
    values = tab.page.locator(".cell text:not(.letter)").evaluate_all(read)
    overflow = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    frame, panel = (tab.page.locator(name).bounding_box() for name in (".frame", ".panel"))
    table, fates = (tab.page.locator(name).bounding_box() for name in ("table", ".fates"))
    assert min(sizes) >= 10
    assert min(values) >= 13
    assert overflow <= 0
    assert frame is not None
    assert panel is not None
    assert table is not None
    assert fates is not None
    assert frame["y"] + frame["height"] <= panel["y"] + 0.5
    assert table["x"] + table["width"] <= fates["x"] + fates["width"]
    if width == WIDTHS[-1] and not changed:
        assert min(values) > 15  # it grows


def served(browser: Browser, html: str, policy: str) -> tuple[Any, Tab]:
    """Open a page of a site whose every answer has a policy."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    opened = Tab(context.new_page())
    files = {"/": ("text/html", html), "/page.js": ("text/javascript", page_script())}

    def fulfil(route: Any) -> None:
        kind, body = files[re.sub(r"^https?://[^/]*", "", route.request.url)]
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Security-Policy": policy}
        route.fulfill(status=200, headers=headers, body=body)

    opened.page.route("**/*", fulfil)
    opened.page.goto("http://site.test/")
    return context, opened


def strict(*call: Any) -> str:
    """Return the element of a call, with a script in a file."""
    explanation, look = explain("gather", *call), Look(100)
    scene = scene_of(explanation, look, has_steps=False)
    return interactive(explanation, look, scene, '<script src="page.js"></script>', strict=True)


def test_a_site_with_a_strict_policy_shows_several_that_answer(browser: Browser) -> None:
    body = strict([10, 20], [1, 0]) + strict([7, 8, 9], [2])
    icon = '<link rel="icon" href="data:,">'
    html = f'<!doctype html><meta charset="utf-8"><title>site</title>{icon}{body}'

    context, tab = served(browser, html, "default-src 'self'; img-src data:")

    with context:
        hosts = tab.page.locator("[data-gathercli]").all()
        hosts[1].locator("#indices-0").click()
        tab.press("0", "Enter")
        assert hosts[1].locator("#out-0 text:not(.letter)").text_content() == "7"
        assert hosts[0].locator("#out-0 text:not(.letter)").text_content() == "20"
        fill = "rect => getComputedStyle(rect).fill"
        assert hosts[0].locator("#out-0 rect").evaluate(fill) != "rgb(0, 0, 0)"
        assert tab.complaints == []


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_page_whose_script_a_policy_forbids_is_its_drawing(
    system: Any, browser: Browser, saved: Callable[..., Path]
) -> None:
    html = saved("gather", "arange:2x4x3", "[[0,1],[-1,9]]", "-a", "1", "-b", "1").read_text(
        "utf-8"
    )

    context, tab = served(browser, html, "default-src 'self'")

    with context:
        tab.page.emulate_media(color_scheme=system)
        tab.page.set_viewport_size({"width": 390, "height": 740})
        assert tab.page.locator("main p").is_visible()
        cell = "[data-id=out-0-0-0]"
        fill, ink = (
            tab.page.locator(f"{cell} {name}").first.evaluate("node => getComputedStyle(node).fill")
            for name in ("rect", "text")
        )
        size = "node => parseFloat(getComputedStyle(node).fontSize) * node.getScreenCTM().a"
        assert len({fill, ink, "rgb(255, 255, 255)"}) == 3
        assert tab.page.locator("svg .arrow").count() > 4
        assert (
            min(map(float, tab.page.locator("svg text").evaluate_all(f"all => all.map({size})")))
            >= 11
        )
        tab.page.evaluate("scrollTo(2000, 0)")
        right = "node => node.getBoundingClientRect().right - innerWidth"
        assert tab.page.locator("svg .cell").last.evaluate(right) <= 0


def test_ids_of_two_drawings_in_a_document_do_not_meet() -> None:
    both = strict([10, 20], [1, 0]) + strict([10, 20], [0, 0])

    assert " id=" not in both
    assert both.count(" data-id=") > 10


@pytest.mark.parametrize("system", ["light", "dark"])
@pytest.mark.parametrize(
    ("ground", "theme"), [("#fff", "light"), ("#111111", "dark"), ("transparent", "light")]
)
def test_the_ground_of_a_notebook_decides_the_theme(
    ground: str, theme: str, system: Any, tab: Tab
) -> None:
    html = gathercli.explain("gather", [10, 20], [1])._repr_html_()
    tab.page.emulate_media(color_scheme=system)

    tab.page.set_content(f"<body style='background:{ground}'>{html}")

    seen = tab.page.locator(".panel").evaluate(
        "node => getComputedStyle(node.getRootNode().host).backgroundColor"
    )
    page = tab.page.locator("svg > .page").evaluate("node => getComputedStyle(node).fill")
    assert tab.page.locator("[data-gathercli]").get_attribute("data-theme") == theme
    assert seen == page == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[theme]
    tab.page.evaluate("document.body.style.background = '#222'")
    tab.page.wait_for_selector("[data-theme=dark]")


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_image_of_a_notebook_that_runs_no_scripts_is_light(system: Any, tab: Tab) -> None:
    html = gathercli.explain("gather", np.arange(4), [1])._repr_html_()
    dropped = re.sub(r"(?s)<(script|style|template)\b.*?</\1>", "", html)
    tab.page.emulate_media(color_scheme=system)

    tab.page.set_content(dropped)

    pixel = tab.page.locator("img").evaluate(
        """async image => {
          await image.decode();
          const canvas = document.createElement("canvas");
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          return [...context.getImageData(2, 2, 1, 1).data];
        }"""
    )
    assert pixel == [255] * 4


def test_a_screen_reader_finds_the_fields_and_the_answer(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*CALL))
    edit(tab, "indices-0", "1")

    tree = tab.page.locator("main").aria_snapshot()

    for part in (
        'region "Change the call"',
        'combobox "version"',
        'spinbutton "axis"',
        'textbox "indices i64"',
        'button "Undo"',
        "status: openvino.Gather-8 answers with shape [4,2]",
        'row "openvino.Gather-7',
        'gridcell "indices[0]: 1"',
    ):
        assert part in tree, part
