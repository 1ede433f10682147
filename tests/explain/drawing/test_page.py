"""The interactive page, driven in a browser: pointing, keys, the slider, and what it may not do."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest

import gathercli
from gathercli.explain import keys
from tests import oracle, oracle_nd
from tests.explain.drawing.conftest import Tab

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.conftest import Run

    At = tuple[int, ...]

HOSTILE: Final = (
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "]]></text><!--&lt;",
    "a\u2028b\u2029c\0d",
)
"""Strings that end the element, the string or the line that holds them, if they are not escaped."""


def tokens(*arrays: Any) -> list[str]:
    return [json.dumps(np.asarray(array).tolist()) for array in arrays]


class Case(NamedTuple):
    """A call, and the index of each output cell by the formula of its version."""

    version: str
    data: Sequence[int]
    indices: Any
    index_of: Callable[[At], At]
    axis: int | None = None
    batch_dims: int = 0


CASES: Final = {
    "rows": Case("openvino.Gather-8", (4, 3), [3, -1, 9], lambda at: at[:1], 0),
    "columns": Case("onnx.Gather-13", (3, 4), [[0, -1], [2, 1]], lambda at: at[1:], 1),
    "batches": Case("openvino.Gather-8", (2, 4), [[3, 0], [-1, 7]], lambda at: at, 1, 1),
    "one": Case("openvino.Gather-7", (3,), 2, lambda _: (), 0),
    "elements": Case("onnx.GatherElements-13", (3, 2), [[2, -1], [0, 1]], lambda at: at, 0),
    "tuples": Case("openvino.GatherND-8", (2, 3, 2), [[0, -1], [1, 2]], lambda at: at[:1]),
    "tuples in batches": Case(
        "openvino.GatherND-8", (2, 3), [[[2], [0]], [[-1], [1]]], lambda at: at[:2], None, 1
    ),
}
COMMANDS: Final = {"Gather": "gather", "GatherElements": "gather-elements", "GatherND": "gather-nd"}


def words_of(case: Case, data: Any) -> list[str]:
    name = case.version.partition(".")[2].partition("-")[0]
    words = [COMMANDS[name], *tokens(data, case.indices), "-V", case.version]
    words += [] if case.axis is None else ["--axis", str(case.axis)]
    return words + (["--batch-dims", str(case.batch_dims)] if case.batch_dims else [])


def cell_id(tensor: str, at: Sequence[int]) -> str:
    return "-".join([tensor, *map(str, at)])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_pointing_at_an_output_cell_lights_its_index_and_its_source(
    case: Case, tab: Tab, saved: Callable[..., Path]
) -> None:
    # Each element is its position from 1 on, so that the output says where it comes from.
    data = np.arange(1, np.prod(case.data) + 1).reshape(case.data)
    judge = oracle_nd.run if case.axis is None else oracle.run
    out = judge(
        case.version,
        data,
        np.array(case.indices),
        oracle.Attributes(case.axis, case.batch_dims),
        data_type="int64",
        indices_type="int64",
    )
    tab.open(saved(*words_of(case, data), "-q"))

    for at, value in np.ndenumerate(out):
        tab.point(cell_id("out", at))

        expected = {cell_id("out", at): "out", cell_id("indices", case.index_of(at)): "index"}
        if value:  # zeros come from nowhere
            expected[cell_id("data", np.unravel_index(value - 1, case.data))] = "source"
        assert tab.lit == expected


@pytest.mark.parametrize(
    "case", [CASES["rows"], CASES["batches"], CASES["one"], CASES["elements"], CASES["tuples"]]
)
def test_the_trace_has_the_words_of_the_command(
    case: Case, tab: Tab, run: Run, saved: Callable[..., Path]
) -> None:
    words = words_of(case, np.arange(np.prod(case.data)).reshape(case.data))
    tab.open(saved(*words, "-q"))

    for cell in tab.page.locator(".cell[data-tensor=out]").all():
        cell.hover()

        at = cell.get_attribute("data-at") or "[]"
        steps = run("explain", *words, "-q", "--cell", at).out.splitlines()
        assert tab.trace.splitlines() == [*steps[:-1], steps[-1].strip()]


def test_pointing_at_an_index_or_at_data_lights_all_cells_of_the_output_from_it(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[[10,11],[20,21],[30,31]]", "[2,0,-1]"))

    tab.point("indices-1")
    of_index = tab.lit
    tab.point("data-2-1")
    of_data, trace = tab.lit, tab.trace.splitlines()
    tab.point("data-1-0")

    assert of_index == {
        "indices-1": "index",
        **{f"data-0-{s}": "source" for s in range(2)},
        **{f"out-1-{s}": "out" for s in range(2)},
    }
    assert of_data == {
        **{f"indices-{i}": "index" for i in (0, 2)},
        "data-2-1": "source",
        **{f"out-{i}-1": "out" for i in (0, 2)},
    }
    assert trace[-2:] == [
        "out[0,1] = data[indices[0],1] = data[2,1] = 31",
        "  out[2,1] = data[indices[2],1] = data[-1 → 2,1] = 31",
    ]
    assert (tab.lit, tab.trace) == ({"data-1-0": "alone"}, "data[1,0] is used by no cell of out")


def test_only_the_arrows_between_lit_cells_are_lit(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[[10,11],[20,21],[30,31]]", "[2,0,-1,7]", "-q"))
    read = "arrows => arrows.map(({dataset}) => [dataset.from, dataset.to])"

    ends = []
    for cell in ("out-2-1", "out-3-0"):
        tab.point(cell)
        pairs = tab.page.locator(".arrow[data-lit]").evaluate_all(read)
        ends.append({(start, end) for start, end in pairs})

    assert ends[0] == {("indices-2", "slice-data-2-_"), ("slice-data-2-_", "slice-out-2-_")}
    assert {(start, end) for start, end in ends[1] if "outside" not in start + end} == set()
    assert {start for start, _ in ends[1]} >= {"indices-3"}


STEPS: Final = "[[[2,3]],[[4,5]],[[6,7]]]"
PARENTS: Final = "[[[0,0]],[[1,0]],[[1,0]]]"


def test_a_beam_is_lit_from_its_last_step(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather-tree", STEPS, PARENTS, "[3]", "4"))

    tab.point("out-0-0-0")
    first = tab.lit
    arrows = tab.page.locator(".arrow[data-lit]").count()
    tab.point("out-2-0-1")
    last = tab.lit

    # Beam 0 has beam 1 at step 1, whose parent is beam 0; its token 5 is no end token.
    assert first == {
        "out-0-0-0": "out",
        "parent_ids-2-0-0": "index",
        "parent_ids-1-0-1": "index",
        "parent_ids-0-0-0": "place",
        "step_ids-0-0-0": "source",
    }
    assert arrows == 3  # two to the step before, one to the output
    # Beam 1 has beam 0 at step 1, whose token ends it.
    assert last == {"out-2-0-1": "out"}


def test_the_keys_step_as_those_of_the_command_do(tab: Tab, saved: Callable[..., Path]) -> None:
    names = {
        **dict.fromkeys(("\r", "\n"), "Enter"),
        "\x1b[C": "ArrowRight",
        "\x1b[D": "ArrowLeft",
        "\x1b[5~": "PageUp",
        "\x1b[6~": "PageDown",
        "\x1b[H": "Home",
        "\x1b[F": "End",
        "\x1b": "Escape",
        "\x7f": "Backspace",
        " ": "Space",
    }
    tab.open(saved("gather", "[10,20,30,40]", "[3,2,1,0,2]"))

    for word, at in {"next": 3, "back": 1, "first": 0, "last": 4, "quit": None}.items():
        for key in keys._WORDS[word]:
            if key in ("j", "k") or (key not in names and not key.isprintable()):
                continue  # up and down, Ctrl-D, and further codes of the same keys
            tab.page.locator("#out-2").click()

            tab.press(names.get(key, key))

            assert tab.here == (None if at is None else f"out-{at}"), key


@pytest.mark.parametrize(
    ("first", "pressed", "ids"),
    [
        ("out-0-0", "Down Right Down Up Left", "out-1-0 out-1-1 out-2-1 out-1-1 out-1-0"),
        ("data-1-1", "Right Up Up", "data-1-1 data-0-1 data-0-1"),
        ("indices-0", "Down Down Down", "indices-1 indices-2 indices-2"),
    ],
)
def test_the_arrow_keys_go_to_the_cell_that_is_there(
    first: str, pressed: str, ids: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[[1,2],[3,4]]", "[1,0,1]"))
    tab.page.locator(f"#{first}").click()

    walk = []
    for word in pressed.split():
        tab.press(f"Arrow{word}")
        walk.append(tab.here)

    assert walk == ids.split()


def test_the_steps_end_at_the_first_and_the_last_cell(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[[1,2],[3,4]]", "[1,0]"))
    tab.page.locator("#out-0-0").click()

    walk = []
    for key in ("b", *["n"] * 4):
        tab.press(key)
        walk.append((tab.here, tab.page.locator(".count").text_content()))

    ids = ("out-0-0", "out-0-1", "out-1-0", "out-1-1", "out-1-1")
    assert [cell for cell, _ in walk] == list(ids)
    assert walk[2][1] == "cell 3 of 4"


def test_the_trace_covers_no_cell_that_has_the_focus(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "arange:40x1", "arange:40", "--window", ":,:"))
    tab.page.locator("#out-0-0").focus()

    for n in range(1, 40):
        tab.press("ArrowDown")

        cell = tab.page.locator(f"#out-{n}-0").bounding_box()
        trace = tab.page.locator(".panel").bounding_box()
        assert cell is not None
        assert trace is not None
        assert cell["y"] + cell["height"] < trace["y"]


def test_escape_clears_and_the_arrows_go_on_from_there(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[10,20]", "[1,0,1]"))

    tab.page.locator("#out-1").click()
    tab.press("Escape")
    cleared = tab.lit
    tab.press("ArrowRight")

    assert cleared == {}
    assert tab.here == "out-2"


def test_a_cell_that_was_cleared_is_chosen_again(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[10,20]", "[1,0,1]"))
    tab.page.locator("#out-2").click()

    seen = []
    for choose in (partial(tab.press, "End"), tab.page.locator("#out-2").click):
        tab.press("Escape")
        choose()
        seen.append(tab.here)

    assert seen == ["out-2"] * 2


def test_a_cell_stays_chosen_when_the_pointer_leaves(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[10,20]", "[1,0]"))

    tab.page.locator("#out-1").click()
    tab.point("out-0")
    pointed = tab.here
    tab.page.locator(".fates").hover()

    assert (pointed, tab.here) == ("out-0", "out-1")


def test_a_finger_chooses_a_cell(browser: Browser, saved: Callable[..., Path]) -> None:
    path = saved("gather", "[10,20]", "[1,0]")
    with browser.new_context(has_touch=True) as context:
        tab = Tab(context.new_page()).open(path)

        tab.page.locator("#indices-1").tap()

        assert tab.lit == {"indices-1": "index", "data-0": "source", "out-1": "out"}


def test_tab_reaches_what_changes_the_call_then_each_tensor_and_the_value(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[[10],[20]]", "[1,0]"))

    seen = []
    for _ in range(14):
        tab.press("Tab")
        seen.append(tab.focus)
        if seen[-1].startswith(("indices-", "data-", "out-")):
            tab.press("ArrowDown")
            seen.append(tab.focus)

    at = seen.index("indices-0")
    assert seen[at - 2 : at] == ["Copy as command", "Copy link"]
    assert seen[at : at + 6] == [
        *("indices-0", "indices-1", "data-0-0", "data-1-0", "out-0-0", "out-1-0")
    ]
    assert seen[at + 6] == "value of indices[1]"


def test_the_focus_is_seen(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[10,20]", "[1,0]"))
    stroke = "cell => [...'stroke,stroke-width'.split(',')].map(n => getComputedStyle(cell)[n])"
    cell = tab.page.locator("#indices-0 rect").first

    before = cell.evaluate(stroke)
    tab.page.get_by_role("button", name="Copy link").focus()
    tab.press("Tab")

    assert tab.focus == "indices-0"
    assert cell.evaluate(stroke) != before


def verdict(version: str, size: int, k: int) -> str:
    """Return what a version of Gather makes of an index, by the oracle."""
    data = np.arange(1, size + 1)
    try:
        out = oracle.run(
            version,
            data,
            np.array([k]),
            oracle.Attributes(0),
            data_type="int64",
            indices_type="int64",
        )
    except oracle.Refused:
        return "refused"
    return str(out[0] - 1) if out[0] else "none"


def test_the_value_steps_and_each_version_says_what_it_makes_of_it(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    versions = [name for name in oracle.VERSIONS if ".Gather-" in name]
    tab.open(saved("gather", "[10,20,30]", "[1]"))
    tab.value.fill("-5")

    for k in range(-5, 5):
        assert tab.value.get_attribute("aria-valuetext") == str(k)
        assert tab.fates() == {name: verdict(name, 3, k) for name in versions}
        tab.value.press("ArrowUp")


@pytest.mark.parametrize("value", [-4, -3, -1, 2, 3])
def test_a_button_chooses_a_telling_index(value: int, tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[10,20,30]", "[1]"))

    tab.page.get_by_role("button", name=str(value), exact=True).click()

    number = tab.value
    assert number.input_value() == str(value)
    assert tab.fates()["onnx.Gather-13"] == verdict("onnx.Gather-13", 3, value)


def test_an_index_that_is_typed_marks_where_it_points(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[[10,20,30]]", "[1]", "--axis", "1"))
    marked = tab.page.locator(".cell[data-marked]")

    tab.value.fill("-1")
    ids = [cell.get_attribute("id") for cell in marked.all()]
    tab.value.fill("99")
    beyond = tab.fates()
    tab.value.blur()

    assert ids == ["data-0-2"]
    assert (marked.count(), beyond["openvino.Gather-8"]) == (0, "none")
    assert tab.value.input_value() == "99"


@pytest.mark.parametrize("policy", ["zero", "wrap"])
@pytest.mark.parametrize(
    "typed",
    [
        *("1001", "-1001", "+4000", " 12345 ", "00999123", "9007199254740993"),
        *("-9007199254740993", "100000000000000000000", "-" + "7" * 400),
    ],
)
def test_the_number_that_is_typed_is_the_one_that_is_answered(
    typed: str, policy: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "arange:1000", "[500,-1]", "--out-of-range", policy))
    number = tab.value

    number.fill(typed)
    number.blur()

    k = int(typed)
    row = tab.page.locator("tbody tr", has_text="openvino.Gather-8")
    becomes = {"zero": "none", "wrap": str(k % 1000)}[policy]
    assert row.locator("td").nth(1).text_content() == f"{k} → {becomes}"
    assert number.input_value() == typed
    assert tab.page.locator(".fates .refusal").text_content() == ""


def test_a_value_between_those_of_the_slider_is_answered(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "arange:1000", "[422,-1]"))
    number = tab.value

    seen = {}
    for k in (-700, 300, 423, 700):
        number.fill(str(k))
        seen[k] = tab.fates()
    tab.press("ArrowUp")

    assert seen == {k: {name: verdict(name, 1000, k) for name in seen[k]} for k in seen}
    assert number.input_value() == "701"
    assert tab.fates()["openvino.Gather-8"] == "701"


@pytest.mark.parametrize(
    "typed", ["1.5", "1e3", "", " ", "0x10", "1,2", "1 000", "ten", "-", "NaN", "\u0663", "<b>"]
)
def test_what_is_no_integer_is_refused_in_words(
    typed: str, tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[10,20,30,40,50]", "[1]"))
    number = tab.value
    number.fill("2")

    number.fill(typed)

    refusal = tab.page.locator(".fates .refusal")
    name = f"“{typed.strip()}”" if typed.strip() else "nothing"
    assert refusal.text_content() == f"{name} is no integer: expected digits, after a sign or none"
    assert set(tab.fates().values()) == {""}
    assert tab.page.locator(".cell[data-marked]").count() == 0
    number.fill("-1")
    assert (refusal.text_content(), tab.fates()["openvino.Gather-8"]) == ("", "4")


def test_each_number_of_a_tuple_has_its_axis(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather-nd", "[[1,2,3],[4,5,6]]", "[[0,1]]", "-V", "onnx-13"))
    tab.value.fill("2")
    first = tab.fates()

    tab.page.get_by_label("number of the tuple").select_option("1")
    tab.value.fill("2")

    assert first["onnx.GatherND-13"] == "refused"
    assert tab.fates()["onnx.GatherND-13"] == "2"


def test_the_slider_follows_the_number_of_a_tuple_that_is_no_position(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather-nd", "[[1,2,3],[4,5,6]]", "[[0,1],[1,-2],[-1,0]]"))
    axis, number = tab.page.get_by_label("number of the tuple"), tab.value

    seen = []
    for cell in ("out-1", "indices-2"):
        tab.point(cell)
        seen.append((axis.input_value(), number.input_value()))

    assert seen == [("1", "-2"), ("0", "-1")]


def test_a_version_that_refuses_the_call_says_by_which_rule(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved("gather", "[[1,2],[3,4]]", "[[0],[1]]", "-a", "1", "-b", "1"))

    row = tab.page.locator("tbody tr", has_text="onnx.Gather-13")
    expected = "refuses: batch-dims-unsupported"
    assert (row.locator("td").first.text_content() or "").startswith(expected)
    assert tab.fates()["onnx.Gather-13"] == ""


def test_the_slider_has_the_ends_of_a_large_axis(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "arange:1000", "[500,-1]"))
    number = tab.value

    seen = {}
    for k in (-1002, -1001, -1000, -1, 0, 500, 999, 1000, 1001):
        number.fill(str(k))
        seen[k] = tab.fates()["openvino.Gather-8"]

    assert seen == {k: verdict("openvino.Gather-8", 1000, k) for k in seen}


@pytest.mark.parametrize(
    "words",
    [
        ("gather", "zeros:0x3", "[]"),
        ("gather", "zeros:3x0", "[1]"),
        ("gather", "7xbool=true", "2xu64=18446744073709551615 6"),
        ("gather", "2xc64=1+2j", "-1"),
        ("gather", "arange:100x90x80", "[[5,-1],[99,100]]"),
        ("gather-nd", "[[1,2],[3,4]]", "3x0xi64="),
        ("gather-elements", "arange:4x3x2", "zeros:2x3x2xi32", "-a", "0"),
    ],
    ids=" ".join,
)
def test_a_page_of_any_call_answers(
    words: tuple[str, ...], tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.open(saved(*words, "-q"))

    for cells in (tab.page.locator(f".cell[data-tensor={name}]") for name in ("data", "out")):
        if cells.count():
            cells.last.hover()

            assert tab.here == cells.last.get_attribute("id")


def test_strings_that_would_break_a_page_stay_text(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", json.dumps(HOSTILE), "[3,2,1,0]"))

    for n, text in enumerate(reversed(HOSTILE)):
        tab.point(f"out-{n}")

        value = tab.page.locator(f"#out-{n} text:not(.letter)").text_content() or ""
        assert value[1:8] == json.dumps(text)[1:8]
        assert tab.trace.splitlines()[-1].endswith(value)
    assert tab.page.locator("img").count() == 0
    assert "broken" not in tab.page.title()


def test_a_screen_reader_finds_the_cells_by_name(tab: Tab, saved: Callable[..., Path]) -> None:
    tab.open(saved("gather", "[[10,20],[30,40]]", "[-1,0]"))

    tab.page.get_by_role("gridcell", name="out[0,1]: 40").focus()

    tree = tab.page.locator("main").aria_snapshot()
    for name in ("data", "indices", "out"):
        assert f'grid "{name}"' in tree
    for name in ("data[1,0]: 30", "indices[0]: -1", "out[0,1]: 40"):
        assert re.search(rf'gridcell "{re.escape(name)}', tree)
    assert "status: out[0,1] = data[indices[0],1] = data[-1 → 1,1] = 40" in tree
    assert "status: openvino.Gather-8 answers with shape [2,2]" in tree
    assert "[selected]" in tree
    assert tab.page.locator("html").get_attribute("lang") == "en"
    assert tab.page.title().startswith("gathercli explain: openvino.Gather-8")
    assert tab.page.get_by_role("heading", level=1).text_content() == tab.page.title()


def test_the_page_follows_a_dark_browser_and_moves_nothing(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    tab.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    tab.open(saved("gather", "[10,20]", "[1]"))
    style = "node => [getComputedStyle(node).backgroundColor, getComputedStyle(node).transition]"

    ground, _ = tab.page.locator(".panel").evaluate(style)
    _, transition = tab.page.locator("#out-0").evaluate(style)

    assert sum(map(int, re.findall(r"\d+", ground))) < 3 * 64
    assert transition in ("all", "none", "all 0s ease 0s")


def test_without_scripts_the_drawing_still_shows(
    browser: Browser, saved: Callable[..., Path]
) -> None:
    path = saved("gather", "[10,20]", "[1]")
    with browser.new_context(java_script_enabled=False) as context:
        tab = Tab(context.new_page()).open(path)

        assert tab.page.locator("g[data-id=out-0]").is_visible()


def outputs(*calls: tuple[list[Any], list[Any]]) -> str:
    """Return the page of a notebook with an output for each call."""
    cells = (f"<div>{gathercli.explain('gather', *call)._repr_html_()}</div>" for call in calls)
    return f"<!doctype html><meta charset=utf-8><title>notebook</title>{''.join(cells)}"


def test_pictures_of_one_notebook_do_not_meet(tab: Tab) -> None:
    call = ([10, 20], [1, 0])
    tab.page.set_content(outputs(call, ([7, 8, 9], [2]), call))
    pictures = tab.page.locator("[data-gathercli]").all()

    for picture in pictures:
        picture.locator("#out-0").click()
    pictures[2].locator("#out-1").click()

    here = [picture.locator("[data-here]").get_attribute("id") for picture in pictures]
    assert here == ["out-0", "out-0", "out-1"]
    assert (
        pictures[1].locator(".panel .equation").text_content()
        == "out[0] = data[indices[0]] = data[2] = 9"
    )
    assert tab.page.evaluate("document.querySelectorAll('body [id]').length") == 0
    assert tab.page.evaluate("document.styleSheets.length") == 0


def test_the_keys_of_a_cell_are_not_those_of_the_notebook(tab: Tab) -> None:
    tab.page.set_content(outputs(([10, 20], [1, 0])))
    tab.page.evaluate("() => { document.onkeydown = event => { document.title = event.key } }")

    tab.page.locator("#out-0").click()
    tab.press("n", "b", "ArrowRight")

    assert tab.here == "out-1"
    assert tab.page.title() == "notebook"


def test_a_notebook_that_moves_the_script_is_served_too(tab: Tab) -> None:
    tab.page.set_content("<div id=output></div>")

    tab.page.evaluate(
        """html => {
          const output = document.querySelector("#output");
          output.innerHTML = html;
          for (const old of output.querySelectorAll("script:not([type])")) {
            const script = document.createElement("script");
            script.textContent = old.textContent;
            document.head.append(script);
          }
        }""",
        gathercli.explain("gather", [10, 20], [1])._repr_html_(),
    )
    tab.point("out-0")

    assert tab.lit == {"out-0": "out", "indices-0": "index", "data-1": "source"}


def test_a_notebook_that_drops_scripts_shows_the_drawing(tab: Tab) -> None:
    whole = outputs(([10, 20], [1]))
    dropped = re.sub(r"(?s)<(script|style|template)\b.*?</\1>", "", whole)

    tab.page.set_content(dropped)

    image = tab.page.locator("img")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert (image.get_attribute("alt") or "").startswith("openvino.Gather-8")
    assert "indices[0] = 1 picks data[1] for out[0]." in tab.page.locator("body").inner_text()


def test_a_page_of_two_thousand_cells_is_a_few_hundred_kilobytes(
    tab: Tab, saved: Callable[..., Path]
) -> None:
    path = saved("gather", "rand:50x20xf32,seed=1", "arange:50", "--window", ":,:")

    tab.open(path)
    tab.point("out-49-19")

    assert tab.page.locator(".cell").count() == 2050
    assert path.stat().st_size < 600_000
    assert tab.lit["out-49-19"] == "out"


def test_the_same_call_gives_the_same_bytes(saved: Callable[..., Path]) -> None:
    words = ("gather-elements", "[[1,2],[3,4]]", "[[0,1]]", "-V", "onnx-13")

    assert saved(*words).read_bytes() == saved(*words).read_bytes()


def test_a_page_names_no_address_and_runs_one_script(saved: Callable[..., Path]) -> None:
    source = saved("gather", json.dumps(HOSTILE), "[3,2,1,0]").read_text(encoding="utf-8")

    assert set(re.findall(r"https?://[^\"'\s]+", source)) <= {"http://www.w3.org/2000/svg"}
    assert len(re.findall(r"<script\b", source)) == 2  # the content and the script
    assert re.search(r"default-src 'none'; script-src 'sha256-[A-Za-z0-9+/]{43}='", source)
