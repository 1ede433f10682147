"""The elements of an SVG picture."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.explain import pictures
from gathercli.explain.drawing.svg import DARK, LIGHT, Theme, document, style_sheet, text
from gathercli.explain.panel import ON_FILL
from tests.explain.drawing.svgs import SVG, Picture
from tests.explain.test_palette import contrast

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


@given(words=st.text())
def test_any_text_is_well_formed(words: str) -> None:
    svg = document((10, 10), words, words, ["drawing"], [text(0, 0, words, class_=words)])

    root = ET.fromstring(svg)  # noqa: S314  (our own)

    assert root.tag == "{http://www.w3.org/2000/svg}svg"


themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


@themes
def test_text_has_a_contrast_of_four_and_a_half(theme: Theme) -> None:
    pairs = [(theme.ink, theme.page), (theme.faint, theme.page), (theme.faint, theme.cell)]
    pairs += [(theme.ink, theme.cell), (theme.refused, theme.cell)]
    pairs += [(ON_FILL, fill) for fill in theme.fills]

    assert [pair for pair in pairs if contrast(*pair) < 4.5] == []


@themes
def test_lines_of_a_colour_stand_out_from_the_page(theme: Theme) -> None:
    assert [line for line in theme.lines if contrast(line, theme.page) < 3] == []


@pytest.mark.parametrize("kind", ["drawing", "chart"])
def test_every_rule_is_of_drawings_alone(kind: str) -> None:
    sheet = style_sheet(kind).replace("@media(prefers-color-scheme:dark){", "").replace("}}", "}")

    selectors = [rule.split("{")[0] for rule in sheet.split("}") if rule]

    assert all(each.startswith(".drawing ") for rule in selectors for each in rule.split(","))


CALL = ("explain", "gather", "[[1,2],[3,4]]", "[1,0]")
installed = pytest.mark.skipif(find_spec("typst") is None, reason="`.[pictures]` is not installed")


@installed
def test_a_png_has_twice_the_size_of_the_drawing(run: Run, folder: Path) -> None:
    ran = run(*CALL, "--save", "p.png", "--save", "p.svg", "--aspect", "2:1")

    content = (folder / "p.png").read_bytes()
    width, height = struct.unpack(">2I", content[16:24])
    head = (folder / "p.svg").read_text(encoding="utf-8").split(">")[0]
    assert ran.status == 0
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert width == pytest.approx(2 * height, abs=2)
    assert f'width="{width / 2:.0f}' in head or f'width="{width // 2}' in head


@installed
def test_a_png_of_a_large_drawing_has_fewer_pixels_for_each_cell(run: Run, folder: Path) -> None:
    ran = run(*CALL, "--save", "p.png", "--aspect", "120:1")

    width, height = struct.unpack(">2I", (folder / "p.png").read_bytes()[16:24])
    assert ran.status == 0
    assert 23_500_000 < width * height < 24_500_000


@pytest.mark.parametrize("ratio", ["9999:1", "1:9999"])
@installed
def test_a_drawing_too_large_for_a_png_is_refused(run: Run, folder: Path, ratio: str) -> None:
    ran = run(*CALL, "--save", "p.png", "--save", "p.svg", "--aspect", ratio)

    assert (ran.status, [*folder.iterdir()]) == (2, [])
    assert "`p.png` cannot hold a drawing of " in ran.err
    assert "expected .svg, .pdf or a smaller drawing" in ran.err


@installed
def test_a_pdf_keeps_the_description_and_is_always_the_same(run: Run, folder: Path) -> None:
    run(*CALL, "--save", "p.pdf", "--save", "q.pdf")

    content = (folder / "p.pdf").read_bytes()
    assert content == (folder / "q.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert b"/Alt" in content
    assert b"indices[0] = 1 picks data[1,:] for out[0,:]." in content
    assert b"/Font" in content


def test_without_the_extra_the_command_that_installs_it_is_named(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)

    ran = run(*CALL, "--save", "p.png")

    assert (ran.status, ran.out, [*folder.iterdir()]) == (2, "", [])
    assert ran.err == (
        "error: the format needs the package typst: expected it to be installed\n"
        "hint: `python -m pip install 'gathercli[pictures]'`\n"
    )


@pytest.mark.parametrize("words", ["16x9", "0:9", "16:9:1", "16:-9", "inf:1", "12345:1"])
def test_a_ratio_that_is_none_is_refused(run: Run, folder: Path, words: str) -> None:
    ran = run(*CALL, "--save", "p.svg", "--aspect", words)

    assert (ran.status, ran.out, [*folder.iterdir()]) == (2, "", [])
    assert f"`--aspect` is `{words}`: expected a width and a height such as 16:9" in ran.err


def test_a_ratio_without_a_picture_is_refused(run: Run) -> None:
    ran = run(*CALL, "--aspect", "16:9")

    assert (ran.status, ran.out) == (2, "")
    assert "expected `--save` too" in ran.err


def test_styles_are_attributes_too_so_that_nothing_is_black_without_the_sheet(
    run: Run, folder: Path
) -> None:
    run("explain", "gather", "[[1,2],[3,4]]", "1,9", "-q", "--save", "p.svg")

    root = ET.parse(folder / "p.svg").getroot()  # noqa: S314  (our own)
    ink, cells = root.get("fill"), root.findall(f".//{SVG}g[@class]/{SVG}rect")
    arrows = [each for each in root.iter(f"{SVG}path") if "arrow" in each.get("class", "")]
    assert ink == LIGHT.ink
    assert {each.get("fill") for each in cells} == {LIGHT.cell, LIGHT.fills[0], "none"}
    assert {(each.get("fill"), each.get("stroke")) for each in arrows} == {
        ("none", LIGHT.lines[0]),
        ("none", LIGHT.faint),
    }


def test_an_attribute_is_what_the_sheet_says_where_that_differs_from_what_is_inherited() -> None:
    cell = '<g class="cell c7"><rect/><text>1</text></g>'
    body = [f'<g class="grids">{cell}</g>', '<path class="arrow traced"/>']

    svg = document((10, 10), "", "", ["drawing"], body)

    fill, line = LIGHT.fills[7], LIGHT.lines[7]
    assert f'<g class="cell c7"><rect fill="{fill}" stroke="{line}"/><text>1</text></g>' in svg
    assert f'font-size="19" text-anchor="middle" fill="{ON_FILL}"' in svg
    arrow = svg.splitlines()[-2]
    assert all(each in arrow for each in ('stroke-width="3.4"', f'stroke="{LIGHT.faint}"'))
    assert 'stroke-width="1.8"' not in svg


@pytest.mark.parametrize(
    ("theme", "ground"), [("light", LIGHT.page), ("dark", DARK.page), ("transparent", None)]
)
def test_a_theme_has_its_ground_and_asks_for_no_preference(
    run: Run, folder: Path, theme: str, ground: str | None
) -> None:
    run(*CALL, "--theme", theme, "--save", "p.svg")

    text = (folder / "p.svg").read_text(encoding="utf-8")
    (page,) = re.findall('<rect [^>]*class="page" fill="([^"]*)"', text) or [None]
    assert page == ground
    assert "prefers-color-scheme" not in text


@installed
def test_an_image_of_a_size_has_so_many_pixels(run: Run, folder: Path) -> None:
    run(*CALL, "--size", "1280x720", "--theme", "dark", "--save", "p.png", "--save", "p.pdf")

    assert struct.unpack(">2I", (folder / "p.png").read_bytes()[16:24]) == (1280, 720)


@pytest.mark.parametrize("size", ["1920x1080", "1366x768", "854x480"])
def test_a_size_may_have_the_ratio_that_is_asked_for(run: Run, folder: Path, size: str) -> None:
    ran = run(*CALL, "--size", size, "--aspect", "16:9", "--save", "p.svg")

    assert ran.status == 0
    width, height = size.split("x")
    assert f'width="{width}" height="{height}"' in (folder / "p.svg").read_text(encoding="utf-8")


def test_a_picture_beside_those_of_steps_has_their_places(run: Run, folder: Path) -> None:
    run(*CALL, "--aspect", "16:9", "--save", "s-{n}.svg", "--save", "all.svg")

    step, whole = (
        Picture((folder / name).read_text(encoding="utf-8")) for name in ("s-1.svg", "all.svg")
    )
    assert whole.root.attrib["viewBox"] == step.root.attrib["viewBox"]
    cells = {name: each[3:7] for name, each in whole.drawn.items() if "cell" in each.kinds}
    assert cells.items() <= {name: each[3:7] for name, each in step.drawn.items()}.items()


def test_a_picture_of_each_step_differs_in_its_path_alone(run: Run, folder: Path) -> None:
    ran = run(*CALL, "--aspect", "16:9", "--save", "s-{n}.svg", "--save", "all.svg")

    assert (ran.status, ran.err) == (0, "")
    steps = [Picture((folder / f"s-{n}.svg").read_text(encoding="utf-8")) for n in range(1, 5)]
    assert len([*folder.iterdir()]) == 5
    assert len({step.root.attrib["viewBox"] for step in steps}) == 1
    places = [{name: each[3:7] for name, each in step.drawn.items()} for step in steps]
    assert all(each == places[0] for each in places)
    traced = [
        {name for name, each in step.drawn.items() if "traced" in each.kinds} for step in steps
    ]
    assert [name for names in traced for name in names if name.startswith("out")] == [
        "out-0-0",
        "out-0-1",
        "out-1-0",
        "out-1-1",
    ]


def test_an_animation_shows_each_step_without_a_script(run: Run, folder: Path) -> None:
    ran = run(*CALL, "--animate", "--bare", "--save", "p.svg")

    assert ran.status == 0
    root = ET.parse(folder / "p.svg").getroot()  # noqa: S314  (our own)
    steps = root.findall(f"{SVG}g[@visibility]")
    assert [each.get("visibility") for each in steps] == ["visible", *["hidden"] * 3]
    assert [each.find(f"{SVG}animate") is not None for each in steps] == [True] * 4
    assert not [each for each in root.iter() if each.tag.endswith("script")]


@pytest.mark.parametrize(
    "words",
    [
        CALL,
        (*CALL, "--animate"),
        ("explain", "gather-tree", "[[[1]]]", "[[[0]]]", "[1]", "9"),
        ("check", "gather", "[1,2]", "[0,7]"),
        ("compare", "[1,2]", "[0,7]"),
        ("diagnose", "gather", "[1,2,3]", "[2,0]", "[3,2]"),
        ("info", "[[1,2],[3,4]]", "--heat"),
        ("demo", "rows"),
    ],
)
def test_a_page_may_hold_any_drawings_as_none_has_an_id(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    run(*words, "--save", "p.svg")

    root = ET.parse(folder / "p.svg").getroot()  # noqa: S314  (our own)
    assert len([*root.iter()]) > 10
    assert [each.tag for each in root.iter() if "id" in each.attrib] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "1920"], "`--size` is `1920`: expected a width and a height such as 1920x1080"),
        (
            ["--size", "16x9", "--aspect", "4:3"],
            "`--size 16x9` does not have the ratio `--aspect 4:3`: expected one of them, or two",
        ),
        (["--theme", "blue"], "expected light, dark or transparent"),
        (["--arrows", "some"], "expected auto, all, path or none"),
        (["--animate", "--save", "p.png"], "`--animate` is of drawings alone"),
        (["--save", "p-{n}.txt"], "`--save` of {n} is of drawings alone"),
        (
            ["--animate", "--save", "p-{n}.svg"],
            "`--animate` and `--save` of {n} exclude each other",
        ),
        (
            ["--theme", "dark", "--save", "p.svg", "--save", "p.html"],
            "`--theme` is of drawings alone: expected `--save` of .svg, .png or .pdf",
        ),
        (["--theme", "dark"], "`--theme` is of a saved picture: expected `--save` too"),
    ],
)
def test_a_form_that_is_none_is_refused(
    run: Run, folder: Path, words: list[str], message: str
) -> None:
    saved = () if "--save" in words or words[0] == "--theme" else ("--save", "p.svg")

    ran = run(*CALL, *words, *saved)

    assert (ran.status, ran.out, [*folder.iterdir()]) == (2, "", [])
    assert message in ran.err


def test_more_steps_than_anybody_shows_are_refused(run: Run, folder: Path) -> None:
    saved = "--save", "p-{n}.svg"

    ran = run("explain", "gather", "arange:12x12", "arange:12xi64", "--window", "0:12,0:12", *saved)

    assert (ran.status, [*folder.iterdir()]) == (2, [])
    assert "would be 144 pictures of steps: expected at most 100" in ran.err
