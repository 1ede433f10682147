"""`--save` in every command that has it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


FORMS: Final = (
    ("--aspect", "16:9"),
    ("--size", "640x360"),
    ("--theme", "dark"),
    ("--bare",),
    ("--animate",),
    ("--arrows", "none"),
    ("--window", "0"),
)
COMMANDS: Final = {
    "explain": ("explain", "gather", "[1,2]", "0"),
    "info": ("info", "[[1,2],[3,4]]"),
    "check": ("check", "gather", "[1,2]", "5"),
    "compare": ("compare", "[[1,2],[3,4]]", "[[0,1]]"),
}
DIAGNOSE: Final = ("diagnose", "gather", "[1,2,3]", "[0,2]", "[1,2]")
every_command = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)


@every_command
def test_a_picture_changes_neither_output_nor_status(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    plain = run(*words)

    ran = run(*words, "--save", "a.svg", "--save", "a.html", "--save", "a.txt")

    assert (ran.status, ran.out) == (plain.status, plain.out)
    ET.fromstring((folder / "a.svg").read_text(encoding="utf-8"))  # noqa: S314
    assert (folder / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "\x1b" not in (folder / "a.txt").read_text(encoding="utf-8")


@every_command
def test_json_is_the_same_beside_a_picture(words: tuple[str, ...], run: Run, folder: Path) -> None:
    plain = json.loads(run(*words, "-f", "json").out)

    ran = run(*words, "-f", "json", "--save", "a.svg")

    assert json.loads(ran.out) == plain
    assert (folder / "a.svg").exists()


@every_command
def test_a_file_is_refused_for_the_same_reasons(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    (folder / "old.svg").write_text("old")

    unknown = run(*words, "--save", "a.gif")
    twice = run(*words, "--save", "a.svg", "--save", "./a.svg")
    exists = run(*words, "--save", "old.svg", "--no-clobber")
    lost = run(*words, "--save", "no/a.svg")

    assert (unknown.status, "is not a picture format" in unknown.err) == (2, True)
    assert (twice.status, "which are one file" in twice.err) == (2, True)
    assert (exists.status, lost.status) == (73, 73)
    assert (folder / "old.svg").read_text() == "old"
    assert not (folder / "a.svg").exists()


def test_the_hint_for_a_suffix_changes_the_option_though_a_tensor_has_the_same_name(
    run: Run,
) -> None:
    ran = run("explain", "gather", "d.npy", "i.npy", "--save", "d.npy")

    assert "`gathercli explain gather d.npy i.npy --save d.svg`" in ran.err


@every_command
def test_a_terminal_says_what_was_written(words: tuple[str, ...], run: Run) -> None:
    ran = run(*words, "--save", "a.svg", terminal=(2,))

    assert "wrote a.svg\n" in ran.err.replace("\r", "")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("info", '["a"]'), 2, 'cannot draw `["a"]`, as strings are no numbers'),
        (("info", "2x0xf32="), 2, "as it has no elements"),
        (("info", "[1]", "[2]"), 2, "`--save` draws one tensor, and there are 2 files"),
        (("info", "[1]", "--header"), 2, "`--header` and `--save` exclude each other"),
        (("info", "missing.npy"), 66, "missing.npy"),
        (("check", "gather", "[1,2]", "0.5"), 65, "indices-dtype"),
        (("compare", "[1,2]", "missing.npy"), 66, "missing.npy"),
    ],
)
def test_what_cannot_be_drawn_leaves_no_file(
    words: tuple[str, ...], status: int, message: str, run: Run, folder: Path
) -> None:
    ran = run(*words, "--save", "a.svg")

    assert (ran.status, message in ran.err) == (status, True), ran.err
    assert not (folder / "a.svg").exists()


def test_one_of_several_tensors_is_drawn_by_name(run: Run, folder: Path) -> None:
    np.savez(folder / "x.npz", a=np.arange(3), b=np.zeros(2))

    several = run("info", "x.npz", "--save", "a.svg")
    one = run("info", "x.npz#a", "--save", "a.svg")

    assert (several.status, "hint: `'x.npz#a'` is one of them" in several.err) == (2, True)
    assert one.status == 0
    assert ">x.npz#a<" in (folder / "a.svg").read_text(encoding="utf-8")


def test_the_text_of_info_has_the_heat_map(run: Run, folder: Path) -> None:
    run("info", "[[1,2],[3,4]]", "--save", "a.txt")

    assert "heat map of [0:2,0:2]\n" in (folder / "a.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("token", "names"),
    [
        ("2x2xbool=true false true true", {"false", "true"}),
        ("3xc64=1 2 3+4j", set()),
        ("xf32=1.5", {"1.5"}),
        ("[5,6,6]", {"5", "6"}),
        ("2xf32=nan nan", {"2 NaN"}),
        ("[18446744073709551615,0]", {"0"}),
        ("2xbf16=1 2", {"2"}),
    ],
)
def test_every_kind_of_number_is_drawn(token: str, names: set[str], run: Run, folder: Path) -> None:
    ran = run("info", token, "--save", "a.svg")

    root = ET.fromstring((folder / "a.svg").read_text(encoding="utf-8"))  # noqa: S314
    assert ran.status == 0, ran.err
    assert names <= {each.text for each in root.iter() if each.tag.endswith("text")}


@every_command
def test_a_slide_has_the_ratio_asked_for(words: tuple[str, ...], run: Run, folder: Path) -> None:
    run(*words, "--save", "a.svg", "--aspect", "16:9")

    root = ET.fromstring((folder / "a.svg").read_text(encoding="utf-8"))  # noqa: S314
    width, height = map(float, root.get("viewBox", "").split()[2:])
    assert width / height == pytest.approx(16 / 9, abs=0.01)


def test_a_page_of_a_chart_has_the_ratio_too(run: Run, folder: Path) -> None:
    run("info", "[1,2]", "--save", "a.svg", "--save", "a.html", "--aspect", "4:1")

    drawing = (folder / "a.svg").read_text(encoding="utf-8")
    assert drawing in (folder / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.parametrize("words", [*COMMANDS.values(), DIAGNOSE, ("demo", "1")], ids=lambda w: w[0])
def test_an_option_of_pictures_changes_every_file_or_is_refused(
    words: tuple[str, ...], form: tuple[str, ...], run: Run, folder: Path
) -> None:
    images = (".png", ".pdf") if find_spec("typst") else ()

    for suffix in (".svg", ".html", ".txt", *images):
        run(*words, "--save", f"plain{suffix}")
        ran = run(*words, *form, "--save", f"formed{suffix}")

        plain, formed = folder / f"plain{suffix}", folder / f"formed{suffix}"
        if ran.status == 2:
            assert not formed.exists()
        else:
            assert formed.read_bytes() != plain.read_bytes(), suffix


@pytest.mark.parametrize("words", [*COMMANDS.values(), DIAGNOSE, ("demo", "1")], ids=lambda w: w[0])
def test_the_number_of_a_step_is_in_the_paths_of_explain_alone(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    ran = run(*words, "--save", "p-{n}.svg")

    assert not (folder / "p-{n}.svg").exists()
    assert (folder / "p-1.svg").exists() == (words[0] == "explain")
    assert ("`--save` of {n} is of the steps of `explain`" in ran.err) == (words[0] != "explain")


@pytest.mark.skipif(find_spec("typst") is None, reason="`.[pictures]` is not installed")
@every_command
def test_every_picture_may_be_a_png_or_a_pdf(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    run(*words, "--save", "a.png", "--save", "a.pdf")

    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (folder / "a.pdf").read_bytes().startswith(b"%PDF-")
