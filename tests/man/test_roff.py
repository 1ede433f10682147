"""The pages as man(1) gets them."""

from __future__ import annotations

import re
from typing import Final

import pytest

from man.pages import pages
from man.prose import Block, Console, Page, Terms
from man.roff import roff

ROFF: Final = {each.name: roff(each).splitlines() for each in pages()}
REQUESTS: Final = {'.\\"', ".TH", ".SH", ".PP", ".RS", ".RE", ".EX", ".EE", ".TP"}

every_page = pytest.mark.parametrize("name", ROFF)


def to_roff(*blocks: Block) -> list[str]:
    """Write blocks as the one section of a page; return the roff lines below its heading."""
    lines = roff(Page("x", "y", (("HEAD", blocks),))).splitlines()
    return lines[lines.index('.SH "HEAD"') + 1 :]


def test_a_page_in_roff_from_its_title_to_its_blocks() -> None:
    blocks = ("First words.", Terms((("-x, --long N", "What it does."),)), Console("$ a 'b'\n[0]"))

    assert roff(Page("tool-x", "does x", (("HEAD", blocks),))).splitlines()[1:] == [
        '.TH TOOL-X 1 "" "gathercli" "gathercli manual"',
        ".SH NAME",
        "tool\\-x \\- does x",
        '.SH "HEAD"',
        "First words.",
        ".TP",
        "\\fB\\-x, \\-\\-long N\\fR",
        "What it does.",
        ".PP",
        ".RS 4",
        ".EX",
        "$ a \\(aqb\\(aq",
        "[0]",
        ".EE",
        ".RE",
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (".npy files", "\\&.npy files"),
        ("'a' is quoted", "\\&\\(aqa\\(aq is quoted"),
        ("a\\b", "a\\eb"),
        ("\\.", "\\e."),
        ("--axis -1", "\\-\\-axis \\-1"),
        ("`x` ^ ~", "\\(gax\\(ga \\(ha \\(ti"),
        ('"x"', '"x"'),
        ("x…y → z", "x\\[u2026]y \\[u2192] z"),
    ],
)
def test_requests_and_escapes_of_roff_are_escaped(words: str, line: str) -> None:
    assert to_roff(words) == [line]
    assert line in to_roff(Console(words))
    assert to_roff(Terms((("t", words),)))[-1] == line


def test_every_paragraph_after_the_first_starts_with_a_request() -> None:
    assert to_roff("One.", "Two.") == ["One.", ".PP", "Two."]


@every_page
def test_every_line_that_starts_like_a_request_is_one(name: str) -> None:
    requests = {line.split(" ")[0] for line in ROFF[name] if line.startswith((".", "'"))}

    assert requests <= REQUESTS


@every_page
def test_every_tag_is_followed_by_its_words_and_their_meaning(name: str) -> None:
    lines = ROFF[name]
    for at, line in enumerate(lines):
        if line == ".TP":
            assert lines[at + 1].startswith("\\fB")
            assert lines[at + 1].endswith("\\fR")
            assert lines[at + 2]
            assert not lines[at + 2].startswith(".")


@every_page
def test_every_example_block_is_closed(name: str) -> None:
    marks = [line for line in ROFF[name] if line in (".EX", ".EE")]
    assert marks == [".EX", ".EE"] * (len(marks) // 2)
    indents = [line.split()[0] for line in ROFF[name] if line[:3] in (".RS", ".RE")]
    assert indents == [".RS", ".RE"] * (len(indents) // 2)


@every_page
def test_every_backslash_starts_an_escape_that_roff_knows(name: str) -> None:
    known = r"\\(?:e|-|&|\(aq|\(ga|\(ha|\(ti|fB|fR|\[u[0-9A-F]{4,5}\]|\"(?= Written))"

    assert [line for line in ROFF[name] if "\\" in re.sub(known, "", line)] == []


@every_page
def test_a_page_is_ascii_as_groff_reads_it_without_a_preprocessor(name: str) -> None:
    assert [line for line in ROFF[name] if not line.isascii()] == []


@every_page
def test_a_page_has_no_empty_line_and_no_bare_quote_at_a_start(name: str) -> None:
    assert [line for line in ROFF[name] if not line or line.startswith("'")] == []
