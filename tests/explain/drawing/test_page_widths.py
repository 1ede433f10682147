"""The drawings of pages at the widths of phones and screens: what is too small or covered."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from gathercli.ops import FAMILIES
from tests.explain.drawing.test_answer import MODELS, draws

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.explain.drawing.conftest import Tab

WIDTHS: Final = (360, 390, 768, 1280, 1920)
CALLS: Final = 15  # of each operator
LEAST: Final = 10.99  # pixels of a text

# What cannot be read in a drawing.
MEASURED: Final = """() => [...document.querySelectorAll("[data-gathercli]")].flatMap((host) => {
  const root = host.shadowRoot;
  const names = ["svg", ".frame", ".help", ".panel"];
  const [svg, frame, help, panel] = names.map((name) => root.querySelector(name));
  const wrong = [];
  const scale = svg.getScreenCTM().a;
  for (const text of svg.querySelectorAll("text")) {
    const size = parseFloat(getComputedStyle(text).fontSize) * scale;
    if (size < LEAST) wrong.push(`“${text.textContent}” has ${size} px`);
  }
  const boxOf = (node) => node.getBoundingClientRect();
  if (boxOf(help).bottom > boxOf(panel).bottom + 1) wrong.push("the help is cut off");
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page is too wide");
  const isHinted = frame.hasAttribute("data-before") || frame.hasAttribute("data-after");
  if (frame.scrollWidth > frame.clientWidth + 3 && !isHinted) wrong.push("no hint at the rest");
  const words = [...svg.querySelectorAll(":scope > text, .grids > text")]
    .filter(({ classList }) => !classList.contains("coordinate"))
    .map((text) => [text.textContent, text.getBBox()])
    .filter(([text]) => text !== "outside");
  const isIn = (x, y, box) =>
    x > box.x && x < box.x + box.width && y > box.y + 3 && y < box.y + box.height - 3;
  const cells = [...svg.querySelectorAll(".cell")].map((cell) => {
    const { x, y, width, height } = cell.querySelector("rect").getBBox();
    return [cell.id, { x: x + 4, y: y + 1, width: width - 8, height: height - 2 }];
  });
  for (const arrow of svg.querySelectorAll(".arrow")) {
    const length = arrow.getTotalLength();
    for (let at = 0; at < length; at += 3) {
      const { x, y } = arrow.getPointAtLength(at);
      const isOutward = arrow.dataset.to.startsWith("slice-outside");
      const hit = [...words, ...(isOutward ? cells : [])].find(([, box]) => isIn(x, y, box));
      if (!hit) continue;
      wrong.push(`an arrow crosses “${hit[0]}”`);
      break;
    }
  }
  return wrong;
})""".replace("LEAST", str(LEAST))


def sized(tab: Tab, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": width * 9 // 16 if width > 1000 else 740})


@pytest.mark.no_cover
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("op", FAMILIES)
def test_a_changed_call_can_be_read_at_any_width(
    op: str, width: int, tab: Tab, saved: Callable[..., Path]
) -> None:
    rng, (inputs, attrs) = random.Random(5), MODELS[op]  # noqa: S311
    words = [json.dumps(each) for each in inputs]
    names = [each.name for each in FAMILIES[op].ROWS[0].inputs]
    sized(tab, width)
    tab.open(saved(op, *words, *(["-a", "0"] if attrs else []), "-q"))

    wrong = {}
    for _ in range(CALLS):
        tensors, given = draws(op, rng)
        parts = [f"{name}={n}" for name, n in given.items() if n is not None]
        for name, each in zip(names, tensors, strict=True):
            sizes = "".join(f"{n}x" for n in each.shape) or "x"
            values = " ".join(map(str, each.reshape(-1).tolist()))
            parts.append(f"{name}={sizes}i64={values}")
        tab.page.evaluate("hash => { location.hash = hash }", "&".join(parts))
        tab.page.wait_for_timeout(40)
        if measured := tab.page.evaluate(MEASURED):
            wrong["&".join(parts)] = measured

    assert not wrong, wrong
    assert "data-gathercli" in tab.page.content()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_arrow_of_an_index_that_points_nowhere_crosses_no_cell(
    width: int, tab: Tab, saved: Callable[..., Path]
) -> None:
    sized(tab, width)

    tab.open(saved("gather", "arange:2x4x3", "[[0,2,1],[-1,9,0]]", "-a", "1", "-b", "1"))

    assert tab.page.evaluate(MEASURED) == []


@pytest.mark.no_cover
@pytest.mark.parametrize("width", WIDTHS)
def test_a_lesson_can_be_read_at_any_width(width: int, tab: Tab, site: Path) -> None:
    sized(tab, width)

    wrong: dict[str, Any] = {}
    for path in sorted(site.glob("*.html")):
        tab.open(path)
        tab.page.wait_for_timeout(40)
        if measured := tab.page.evaluate(MEASURED):
            wrong[path.name] = measured

    assert not wrong, wrong


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from gathercli.cli import main

    folder = tmp_path_factory.mktemp("site") / "lessons"
    assert main(["demo", "--all", "--save", f"{folder}/"]) == 0
    return folder
