"""The site of the lessons, in a browser: what it asks for, checks and says, on paper too."""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import shlex
import threading
import tomllib
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.cli.messages import Messages
from gathercli.cli.options import Limits
from gathercli.compute.run import run_arrays as run_call
from gathercli.explain.demo import LESSONS, jobs_of
from gathercli.explain.explained_call import of_job
from man.site import CALLS, LIBRARIES, TOUR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.conftest import Run

ROOT: Final = Path(__file__).parents[3]
POLICY: Final = "default-src 'self'"
TYPED: Final = tomllib.loads(Path(__file__).with_name("typed.toml").read_text("utf-8"))
ROOT_OF_PICTURE: Final = "document.querySelector('[data-gathercli]').shadowRoot"
WIDTHS: Final = {360: 11, 768: 11, 1280: 12, 1920: 15}
"""Widths of pages, each with the least size of their words."""
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[each.name for each in LESSONS])


class StrictServer(SimpleHTTPRequestHandler):
    """Serves files under a policy that allows nothing within a page, or from elsewhere."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def folder_of_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from gathercli.cli import main

    folder = tmp_path_factory.mktemp("site") / "lessons"
    assert main(["demo", "--all", "--save", f"{folder}/"]) == 0
    return folder


@pytest.fixture(scope="module")
def address(folder_of_site: Path) -> Iterator[str]:
    """Serve the site."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(StrictServer, directory=str(folder_of_site))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


class Links(HTMLParser):
    """The links of a page, and what it has in itself that a policy may forbid."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.forbidden: list[str] = []
        self.feed(re.sub("<template>.*?</template>", "", text, flags=re.DOTALL))  # inert

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = dict(attrs)
        self.links |= {str(fields[key]).split("?")[0] for key in ("href", "src") if key in fields}
        is_data = fields.get("type") == "application/json"
        if tag == "style" or (tag == "script" and "src" not in fields and not is_data):
            self.forbidden.append(tag)
        self.forbidden += [key for key, _ in attrs if key == "style" or key.startswith("on")]


# What is in its files


def test_every_link_is_to_a_file_of_the_site_and_every_file_is_linked(folder_of_site: Path) -> None:
    files = {each.name for each in folder_of_site.iterdir()}
    pages = {each.name: Links(each.read_text("utf-8")) for each in folder_of_site.glob("*.html")}

    assert {*pages} == {"index.html", *(f"{each.name}.html" for each in LESSONS)}
    assert files == set().union(*(page.links for page in pages.values()))
    assert [page.forbidden for page in pages.values() if page.forbidden] == []


@every_lesson
def test_a_page_has_the_texts_of_its_lesson(folder_of_site: Path, lesson: Any) -> None:
    text = (folder_of_site / f"{lesson.name}.html").read_text("utf-8")

    said = re.sub(r"<[^>]*>", "", text)
    for words in (lesson.title, lesson.says, *lesson.terms.values(), lesson.answer):
        escaped = words.replace("`", "").replace("&", "&amp;").replace("<", "&lt;")
        escaped = escaped.replace(">", "&gt;").replace("'", "&#x27;").replace('"', "&quot;")
        assert escaped in said
    assert "$$" not in text
    assert "/fixtures/" not in text


def test_a_folder_that_cannot_be_written_is_an_error(run: Run, folder: Path) -> None:
    (folder / "site").write_text("a file")

    ran = run("demo", "--all", "--save", "site")

    assert (ran.status, ran.out) == (73, "")
    assert "`site/" in ran.err


def test_a_site_without_a_name_is_refused(run: Run, folder: Path) -> None:
    ran = run("demo", "--all", "--save", "")

    assert (ran.status, ran.out, [*folder.iterdir()]) == (73, "", [])


@pytest.mark.parametrize(
    "words", [("--all", "site"), *(("rows", f"rows.{each}") for each in ("svg", "html", "txt"))]
)
def test_no_clobber_keeps_what_was_saved(run: Run, folder: Path, words: tuple[str, str]) -> None:
    save = (words[0], "--save", words[1])
    assert run("demo", *save, "--no-clobber").status == 0
    before = _contents(folder)

    ran = run("demo", *save, "--no-clobber")

    assert (ran.status, ran.out) == (73, "")
    assert "(it exists)" in ran.err
    assert _contents(folder) == before
    assert run("demo", *save).status == 0
    assert _contents(folder) == before


@pytest.mark.parametrize("name", ["site.js", "gather.html", "index.html"])
def test_a_site_beside_other_files_replaces_its_own_alone(
    run: Run, folder: Path, name: str
) -> None:
    site = folder / "site"
    site.mkdir()
    (site / "notes.txt").write_text("mine")
    (site / name).write_text("old")

    kept = run("demo", "--all", "--save", "site", "--no-clobber")

    assert (kept.status, _contents(site)) == (73, {"notes.txt": b"mine", name: b"old"})
    assert run("demo", "--all", "--save", "site").status == 0
    assert (site / "notes.txt").read_text() == "mine"
    assert len((site / name).read_bytes()) > 100


@pytest.mark.parametrize("name", ["site.js", "gather.html", "index.html"])
def test_a_site_that_cannot_be_written_whole_leaves_what_was_there(
    run: Run, folder: Path, name: str
) -> None:
    (folder / "site" / name).mkdir(parents=True)
    (folder / "site" / "rows.html").write_text("old")

    ran = run("demo", "--all", "--save", "site")

    assert (ran.status, ran.out) == (73, "")
    assert f"`site/{name}` cannot be written" in ran.err
    assert _contents(folder / "site") == {"rows.html": b"old"}


def test_a_full_disk_leaves_the_old_site(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "site").mkdir()
    (folder / "site" / "rows.html").write_text("old")
    left = [300_000]
    write = os.write

    def limited(fd: int, content: bytes) -> int:
        left[0] -= len(content)
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, content)

    monkeypatch.setattr(os, "write", limited)
    ran = run("demo", "--all", "--save", "site")
    monkeypatch.undo()

    assert ran.status == 74
    assert left[0] < 0
    assert _contents(folder / "site") == {"rows.html": b"old"}


def _contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder."""
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}


def test_the_lessons_are_data_too(run: Run) -> None:
    every = json.loads(run("demo", "--all", "-f", "json").out)
    one = json.loads(run("demo", "rows", "-f", "json").out)

    assert [each["number"] for each in every] == [*range(1, len(LESSONS) + 1)]
    assert one == every[1]
    assert one["commands"] == [*LESSONS[1].commands]


@pytest.mark.parametrize("suffix", ["svg", "html", "txt"])
def test_the_picture_of_a_lesson_is_that_of_its_command(
    run: Run, folder: Path, suffix: str
) -> None:
    saved = run("demo", "rows", "--save", f"lesson.{suffix}")
    run(*shlex.split(LESSONS[1].commands[0])[1:], "--save", f"call.{suffix}", "-q")

    assert saved.out == run("demo", "rows").out
    drawn, called = (
        (folder / f"{name}.{suffix}").read_text("utf-8") for name in ("lesson", "call")
    )
    words = LESSONS[1].title
    assert words in drawn
    assert len(re.findall('class="cell', drawn)) == len(re.findall('class="cell', called))


def test_what_has_no_picture_is_a_usage_error(run: Run) -> None:
    assert run("demo", "--list", "--save", "x.svg").status == 2
    assert run("demo", "rows", "--save", "x.onnx").status == 2


def test_the_workflow_publishes_the_site_that_the_command_writes() -> None:
    text = (ROOT / ".github" / "workflows" / "site.yml").read_text("utf-8")
    jobs = pytest.importorskip("yaml").safe_load(text)["jobs"]

    steps = jobs["build"]["steps"]

    assert any(step.get("run") == "gathercli demo --all --save site/" for step in steps)
    assert [step["with"]["path"] for step in steps if "pages" in step.get("uses", "")] == ["site/"]
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert jobs["deploy"]["needs"] == "build"
    (step,) = jobs["deploy"]["steps"]
    assert f"steps.{step['id']}.outputs.page_url" in jobs["deploy"]["environment"]["url"]


# In a browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Any]:
    tab: Any = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.complaints = []
    for event in ("console", "pageerror"):
        tab.on(event, lambda each: tab.complaints.append(str(each)))
    yield tab
    tab.close()


LEAST: Final = """() => {
  const sizes = [];
  const walk = (root) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.shadowRoot) walk(each.shadowRoot);
      const isText = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      const isRead = each.checkVisibility() && !each.closest("svg, script");
      const { fontSize } = getComputedStyle(each);
      if (isRead && (isText || each.matches("input"))) sizes.push(parseFloat(fontSize));
    }
  };
  walk(document.body);
  return Math.min(...sizes);
}"""
"""The size of the smallest words of a page beside its pictures."""


@every_lesson
def test_a_page_fits_every_width_without_a_complaint(page: Any, address: str, lesson: Any) -> None:
    requests = list[str]()
    page.on("request", lambda request: requests.append(request.url))

    for (width, least), scheme in zip(WIDTHS.items(), ("light", "dark") * 2, strict=True):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{address}/{lesson.name}.html")

        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(LEAST) >= least
    assert page.complaints == []
    assert all(url.startswith(f"{address}/") for url in requests)


SHOWN: Final = {"gather": "", "rows": "", "columns": "axis", "table": "axis"} | dict.fromkeys(
    ("negative", "outside", "frameworks"), "version axis"
)
"""The controls of the first lessons; those after them have all of their operator."""


@every_lesson
def test_a_lesson_offers_what_is_explained_until_then(page: Any, address: str, lesson: Any) -> None:
    page.goto(f"{address}/{lesson.name}.html")
    first = page.locator("[data-gathercli]").first

    names = ("version", "axis", "batch_dims")
    words = first.locator(".fields label").evaluate_all(
        "all => all.map((each) => [each.textContent.split(' ')[0], each.checkVisibility()])"
    )
    every = [name for name, _ in words if name in names]
    shown = [name for name, is_visible in words if is_visible and name in names]
    assert shown == (SHOWN[lesson.name].split() if lesson.name in SHOWN else every)
    assert first.locator(".fates").is_visible() == ("version" in shown)


def test_a_version_that_is_chosen_in_a_lesson_refuses(page: Any, address: str) -> None:
    page.goto(f"{address}/outside.html")

    page.get_by_label("version").select_option("onnx.Gather-13")

    assert "onnx.Gather-13 refuses: index 4" in page.locator(".answer").inner_text()
    assert page.locator(".fates tr", has_text="refuses: index-range").count() == 5
    assert page.locator(".figure h2").inner_text().endswith(" --version onnx-13")


@every_lesson
def test_a_lesson_has_the_lines_of_three_libraries(folder_of_site: Path, lesson: Any) -> None:
    text = (folder_of_site / f"{lesson.name}.html").read_text("utf-8")

    section = text.partition('<section class="code">')[2].partition("</section>")[0]
    for name in ("NumPy", "PyTorch", "TensorFlow"):
        assert f">{name}</" in section
    assert section.count("<code>") >= 3


def test_the_lines_of_four_operators_make_their_pictures() -> None:
    libraries = {"NumPy": ("np", np)}
    for label, name, package in (("PyTorch", "torch", "torch"), ("TensorFlow", "tf", "tensorflow")):
        if find_spec(package):
            libraries[label] = (name, importlib.import_module(package))

    for job, lines in zip(jobs_of("choose"), CALLS["choose"].values(), strict=False):
        with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as call:
            tensors = {key: tensor.values() for key, tensor in call.bound.loaded().items()}
            expected = run_call(call.bound).whole().values().tolist()
        for label, (name, library) in libraries.items():
            made = {"NumPy": "asarray", "PyTorch": "tensor", "TensorFlow": "constant"}[label]
            given = {key: getattr(library, made)(each) for key, each in tensors.items()}
            line = lines[LIBRARIES.index(label)]
            output = eval(line, {name: library, **given})  # noqa: S307
            assert np.asarray(output).tolist() == expected, line


def test_the_picture_of_a_page_answers_to_keys_under_the_policy(page: Any, address: str) -> None:
    page.goto(f"{address}/gather.html")

    page.locator(".cell[id$=out-1]").focus()
    page.keyboard.press("ArrowRight")

    root = ROOT_OF_PICTURE
    assert page.evaluate(f"{root}.activeElement.id").endswith("out-2")
    cell = f"getComputedStyle({root}.querySelector('.cell[id$=data-3] rect'))"
    assert page.evaluate(f"{cell}.fill") not in ("none", "rgb(0, 0, 0)")
    assert not page.locator(".fates").is_visible()


JUDGED: Final = """([selector, texts]) => [...document.querySelectorAll(selector)].map((form) =>
  texts.map((text) => {
    form.querySelector("input").value = text;
    form.requestSubmit();
    return form.querySelector("output").textContent;
  }))"""
"""What each form says to each answer."""


@every_lesson
def test_answers_are_checked_in_the_page(page: Any, address: str, lesson: Any) -> None:
    page.goto(f"{address}/{lesson.name}.html")
    typed = TYPED[lesson.name]
    rights, wrongs = [*lesson.accept, *typed["right"]], [*typed["wrong"], *lesson.slips]

    said = page.evaluate(JUDGED, [".question form", [*rights, *wrongs, " "]])

    words = dict(zip([*rights, *wrongs], said[0], strict=False))
    assert [each for each in rights if words[each] != "Right."] == []
    assert [each for each in wrongs if words[each][:8] != "Not yet."] == []
    assert [words[each] for each in lesson.slips] == [
        f"Not yet. {why}" for why in lesson.slips.values()
    ]
    assert said[0][-1] == ""


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("3,4,0,0", "The numbers are right, their brackets are not."),
        ("[3,4],[0,0]", None),
        ("[[3 4]\n [0 0]]", None),
        ("[[3,0],[4,0]]", ""),
        ("[[3,4],[0,0]", "This cannot be read: write numbers, and lists in brackets, as [1,2]."),
        ("no error", ""),
    ],
)
def test_the_brackets_of_an_answer_count(
    page: Any, address: str, words: str, output: str | None
) -> None:
    page.goto(f"{address}/outside.html")
    form = page.locator(".practice form").nth(1)

    form.locator("input").fill(words)
    form.locator("input").press("Enter")

    said = "Right." if output is None else f"Not yet. {output}"
    assert form.locator("output").text_content() == said


@every_lesson
def test_an_answer_of_an_exercise_is_none_of_another(page: Any, address: str, lesson: Any) -> None:
    page.goto(f"{address}/{lesson.name}.html")
    outputs = [output.partition("\nnote: ")[0] for _, output in lesson.practice]
    outputs = ["error" if each.startswith("error") else each for each in outputs]
    typed = [*outputs, "no error", "[]"]
    typed += [changed for each in outputs for changed in (f"[{each}]", f"{each},1", each[:-1])]

    said = page.evaluate(JUDGED, [".practice form", typed])

    for output, words in zip(outputs, said, strict=True):
        rights = {text for text, each in zip(typed, words, strict=True) if each == "Right."}
        assert rights == {output}


def test_the_button_stays_beside_its_field_on_a_phone(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/choose.html")

    for form in page.locator("form").all():
        field, button = (form.locator(name).bounding_box() for name in ("input", "button"))
        assert field
        assert button
        assert abs(field["y"] - button["y"]) < 4
        assert field["x"] + field["width"] < button["x"]


@every_lesson
def test_the_output_of_each_exercise_is_its_answer(page: Any, address: str, lesson: Any) -> None:
    page.goto(f"{address}/{lesson.name}.html")

    for form, (_, output) in zip(
        page.locator(".practice form").all(), lesson.practice, strict=True
    ):
        words = output.partition("\nnote: ")[0]
        form.locator("input").fill("an error" if output.startswith("error") else words)
        form.get_by_role("button").click()
        assert form.locator("output").text_content() == "Right."


def test_keys_turn_pages_and_what_was_solved_is_marked(page: Any, address: str) -> None:
    page.goto(f"{address}/index.html")
    page.get_by_role("link", name=LESSONS[0].title).click()
    page.locator(".question input").fill("3,3,0")
    page.keyboard.press("ArrowRight")  # within the field
    page.keyboard.press("Enter")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/rows.html")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/gather.html")
    page.goto(f"{address}/index.html")

    assert page.get_by_role("link", name=f"{LESSONS[0].title} ✓").count() == 1


def test_a_tour_leads_through_its_lessons_alone(page: Any, address: str) -> None:
    page.goto(f"{address}/index.html")
    page.locator(".tour a").first.click()
    page.wait_for_url("**/gather.html?tour")

    for name in [*TOUR][1:]:
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**/{name}.html?tour")
        assert page.locator("main + nav a[rel=prev]").get_attribute("href").endswith("?tour")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**/{[*TOUR][-2]}.html?tour")


def test_escape_leaves_a_picture_to_turn_pages(page: Any, address: str) -> None:
    page.goto(f"{address}/gather.html")
    page.locator(".cell[id$=out-1]").focus()

    page.keyboard.press("ArrowRight")
    assert page.url.endswith("gather.html")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")

    page.wait_for_url("**/rows.html")


FOCUSED: Final = """() => {
  let at = document.activeElement;
  const isWithin = at.shadowRoot != null;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const box = at.matches(".cell") && at.querySelector("rect");
  const isCell = box && getComputedStyle(box).strokeWidth === "4px";
  return [at.tagName, getComputedStyle(at).outlineStyle !== "none" || isCell, isWithin];
}"""
"""The element with the focus: its name, whether that is seen, and whether it is of a picture."""


@pytest.mark.parametrize("name", ["gather", "outside", "gather-tree", "choose", "models"])
def test_a_page_is_used_with_the_keyboard_alone(page: Any, address: str, name: str) -> None:
    page.goto(f"{address}/{name}.html")
    every = page.evaluate("document.querySelectorAll('a, input, button, summary').length")

    stops = list[Any]()
    while not stops or stops[-1][0] != "BODY":
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))
        assert len(stops) < 150

    assert [stop for stop in stops[:-1] if not stop[1]] == []
    pictures = [is_within for _, _, is_within in stops[:-1]]
    assert pictures.count(False) == every
    assert True in pictures


@every_lesson
def test_assistive_technology_is_told_all_of_a_page(page: Any, address: str, lesson: Any) -> None:
    page.goto(f"{address}/{lesson.name}.html")

    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    names = [
        (each["role"]["value"], each.get("name", {}).get("value", ""))
        for each in tree
        if not each.get("ignored")
    ]
    headings = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((h) => h.tagName)")
    asked = page.evaluate(
        "[...document.querySelectorAll('form input')].map((each) =>"
        " document.getElementById(each.getAttribute('aria-describedby')).textContent)"
    )

    controls = ("button", "textbox", "combobox", "spinbutton", "link", "DisclosureTriangle")
    assert [role for role, name in names if role in controls and not name] == []
    assert len([name for role, name in names if role == "group" and "] = " in name]) == len(
        lesson.commands
    )
    assert headings[:2] == ["H1", "H2"]
    assert all(int(after[1]) <= int(before[1]) + 1 for before, after in pairwise(headings))
    assert headings.count("H1") == 1
    assert asked == [
        page.locator(".question > p").first.text_content(),
        *(f"$ {line}" for line, _ in lesson.practice),
    ]


PAPERS: Final = {"A4": 273, "Letter": 255}  # with the height between its margins, in mm


@pytest.mark.parametrize(
    ("name", "width"),
    [
        *((each.name, 1280) for each in LESSONS),
        *(
            (name, width)
            for name in ("choose", "frameworks", "gather-tree")
            for width in (360, 1920)
        ),
    ],
)
def test_a_handout_has_two_pages_at_most_and_no_answer(
    page: Any, address: str, name: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{name}.html")

    counts = {}
    for paper in PAPERS:
        counts[paper] = len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(format=paper)))

    assert {paper: n for paper, n in counts.items() if n not in (1, 2)} == {}
    page.emulate_media(media="print")
    assert not page.locator("details").first.is_visible()
    assert page.locator("h1").is_visible()


@every_lesson
def test_no_page_of_a_handout_ends_within_a_picture_or_after_a_heading(
    page: Any, address: str, lesson: Any
) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})  # what is between the margins
    page.goto(f"{address}/{lesson.name}.html")

    parts = "[...document.querySelectorAll('{}')].map((each) => {})"
    style = "[each.clientHeight, getComputedStyle(each).breakInside]"
    sections = page.evaluate(parts.format("section, tr", style))
    headings = page.evaluate(parts.format("h1, h2, thead", "getComputedStyle(each).breakAfter"))

    most = min(PAPERS.values()) * 96 / 25.4
    assert [each for each in sections if each[0] > most or each[1] != "avoid"] == []
    assert {*headings} == {"avoid"}


def test_a_picture_on_paper_is_light_in_a_dark_browser(page: Any, address: str) -> None:
    fills = []
    for scheme in ("light", "dark"):
        page.emulate_media(media="print", color_scheme=scheme)
        page.goto(f"{address}/gather.html")
        fill = "getComputedStyle({}.querySelector('.cell[id$=data-1] rect')).fill"
        fills.append(page.evaluate(fill.format(ROOT_OF_PICTURE)))

    assert fills[0] == fills[1]


def test_a_page_from_a_file_can_be_read_without_scripts(
    browser: Browser, folder_of_site: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab: Any = context.new_page()
    tab.goto((folder_of_site / "gather.html").as_uri())

    tab.get_by_text("Answer", exact=True).first.click()

    assert tab.get_by_text("an index may repeat").is_visible()
    assert not tab.locator("form").first.is_visible()
    assert tab.locator("svg .cell[data-id=out-0]").is_visible()
    context.close()
