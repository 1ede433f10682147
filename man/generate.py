"""Generate the manual, help texts, completion scripts and README table from the declarations.

Run ``python -m man.generate``. A test checks that the committed files are current.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from gathercli.cli.generated import HELP, MANUAL, SCRIPTS, help_name
from gathercli.cli.helptext import help_of, help_of_program
from gathercli.cli.registry import COMMANDS, command_of
from gathercli.frameworks import every_row
from gathercli.ops import OPERATORS
from gathercli.report.terminal import print_text
from man.completions import bash, fish, zsh
from man.pages import examples, pages
from man.prose import markdown
from man.roff import roff

ROOT: Final = Path(__file__).parents[1]
WIDTH: Final = 80  # of a pipe's help, where COLUMNS does not say another

_MARKED: Final = re.compile(r"(<!-- indices -->\n).*?(<!-- /indices -->)", re.DOTALL)


def files() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of every generated file.

    Write each before the next is made: help and the command `demo` read the first ones.
    """
    yield Path(MANUAL, "examples.md"), markdown(examples())
    if "demo" in COMMANDS:
        from man import lessons, site

        folder = ROOT / "gathercli" / "explain"
        yield folder / "lessons.json", lessons.as_json()
        for file_name, text in site.pages():
            yield folder / "pages" / file_name, text
    for page in pages():
        name = ("NAME", (f"{page.name} - {page.summary}",))
        yield Path(MANUAL, f"{page.name}.md"), markdown((name, *page.sections))
        yield ROOT / "man" / f"man{page.number}" / page.file_name, roff(page)
    yield Path(HELP, help_name()), help_of_program(WIDTH)
    for command in COMMANDS:
        yield Path(HELP, help_name(command)), help_of(command_of(command), WIDTH)
    for shell, script in (("bash", bash), ("zsh", zsh), ("fish", fish)):
        yield Path(SCRIPTS, f"gathercli.{shell}"), script()
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    yield readme, _MARKED.sub(lambda marks: marks[1] + indices_table() + marks[2], text)


def indices_table() -> str:
    """Return the README's table of the treatment of indices by versions and other frameworks."""
    outcomes: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for op in OPERATORS:
        outcomes.setdefault((op.negative, op.out_of_range.done), ([], []))[0].append(op.full_name)
    for each in every_row():
        outcomes.setdefault((each.op.negative, each.outside), ([], []))[1].append(f"`{each.name}`")
    return _table(
        ("index from -s to -1", "any other", "versions", "calls of other frameworks"),
        ((*done, *(", ".join(names) or "-" for names in who)) for done, who in outcomes.items()),
    )


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Write the outdated files, and print their names."""
    for path, text in files():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print_text(f"wrote {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
