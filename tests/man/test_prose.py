"""The Markdown of the manual is read as it was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.cli.registry import COMMANDS
from gathercli.io.jobs import keys_of
from gathercli.ops import FAMILIES
from man import prose
from man.pages import page
from man.prose import Console, Terms, markdown

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
# gathercli-x(7)

what {{it}} is

## FIRST

A paragraph
of {{it}}, {stem} and {"a":1}.

a term
:   Its meaning
    on two lines.

another
:   Of {{it}}.

{{block}}

## SECOND

```
$ kept   as it is

with an empty line
```

The end.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "x.md").write_text(TEXT)
    monkeypatch.setattr(prose, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_page_is_read_from_paragraphs_terms_fenced_lines_and_placeholders() -> None:
    page = prose.page("x", {"it": "this", "block": (Console("one"), "two")})

    assert (page.name, page.number, page.summary) == ("gathercli-x", 7, "what this is")
    assert page.blocks("FIRST") == (
        'A paragraph of this, {stem} and {"a":1}.',
        Terms((("a term", "Its meaning on two lines."), ("another", "Of this."))),
        Console("one"),
        "two",
    )
    assert page.blocks("SECOND") == (Console("$ kept   as it is\n\nwith an empty line"), "The end.")


@pytest.mark.usefixtures("folder")
def test_a_placeholder_without_a_value_raises_key_error() -> None:
    with pytest.raises(KeyError, match="block"):
        prose.page("x", {"it": "this"})


def test_sections_are_written_with_a_line_for_each_paragraph_term_and_meaning() -> None:
    first = ("One.", Terms((("a", "Its meaning."), ("", "Of no term."))), Console("$ a\n\n[0]\n"))

    assert markdown([("FIRST", first), ("SECOND", ("Two.", "Three."))]) == (
        "# FIRST\nOne.\n\na\n:   Its meaning.\n\n:   Of no term.\n\n```\n$ a\n\n[0]\n```\n\n"
        "# SECOND\nTwo.\n\nThree.\n"
    )


def test_there_is_a_description_for_every_command_only() -> None:
    values = dict.fromkeys((*FAMILIES, "operators", "calls", "chunks"), "")

    assert set(prose.sections_of_all("commands", values)) == set(COMMANDS)


def test_the_page_of_jobs_has_the_keys_in_the_order_of_a_job() -> None:
    order = [key for key in keys_of("gather").checks if not key.endswith("_dtype")]

    (keys,) = (each for each in page("jobs").blocks("KEYS OF A JOB") if isinstance(each, Terms))

    assert [key for key, _ in keys.pairs if key in order] == order
