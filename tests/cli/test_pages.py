"""The pages of the manual as `man` prints them, and the examples that help and hints have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.cli.generated import styled_lines, terms

if TYPE_CHECKING:
    from tests.conftest import Run

PAGE = """\
# NAME
tool-x - does x

# HEAD
First words.

-x N
:   What it does.
-y
:   What else.

```
$ a

[0]
```

# LAST
One:

-z
:   See openvino-8 or gather-elements there.
"""


@pytest.fixture(autouse=True)
def _no_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def test_a_page_in_lines_from_its_name_to_its_last_meaning() -> None:
    assert list(styled_lines(PAGE, 80)) == [
        ("heading", "NAME"),
        ("body", "    tool-x - does x"),
        ("body", ""),
        ("heading", "HEAD"),
        ("body", "    First words."),
        ("body", ""),
        ("term", "    -x N"),
        ("body", "            What it does."),
        ("term", "    -y"),
        ("body", "            What else."),
        ("body", ""),
        ("console", "    $ a"),
        ("console", ""),
        ("console", "    [0]"),
        ("body", ""),
        ("heading", "LAST"),
        ("body", "    One:"),
        ("body", ""),
        ("term", "    -z"),
        ("body", "            See openvino-8 or gather-elements there."),
    ]


def test_lines_wrap_between_words_and_never_at_hyphens() -> None:
    lines = [line for _, line in styled_lines(PAGE, 32)]

    assert lines[-3:] == [
        "            See openvino-8 or",
        "            gather-elements",
        "            there.",
    ]


def test_lines_between_fences_stay_whole() -> None:
    long = "$ " + "x" * 100

    assert list(styled_lines(f"```\n{long}\n```\n", 40)) == [("console", f"    {long}")]


def test_a_terminal_of_a_few_columns_gets_the_page(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "5")

    ran = run("man", "shape")

    assert (ran.status, ran.err) == (0, "")
    assert "".join(ran.out.split()).startswith("NAMEgathercli-shape-infertheoutputshape")


def test_the_terms_of_a_section_are_its_own() -> None:
    assert terms(PAGE, "HEAD") == [("-x N", "What it does."), ("-y", "What else.")]
    assert terms(PAGE, "LAST") == [("-z", "See openvino-8 or gather-elements there.")]
    assert terms(PAGE, "NAME") == terms(PAGE, "NONE") == []
