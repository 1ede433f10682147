"""The pages of the site of `demo`, but for their figures, which are drawn when the site is written.

A page has no script or style of its own, and relative links alone: it opens from a file, and under
a policy that allows nothing from elsewhere. Without its script everything can be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final

from gathercli.ops import FAMILIES
from man.lessons import lessons

LIBRARIES: Final = ("NumPy", "PyTorch", "TensorFlow")
REFUSED: Final = (
    *("error", "raises error", "gives error", "error raised", "index error", "value error"),
    *("refuse", "refuses", "refused", "rejected", "invalid", "illegal", "not allowed"),
    *("fail", "fails", "failure", "exception", "raises exception", "throws"),
)
"""What may be typed where a command prints an error."""

TOUR: Final = {
    "gather": "An index",
    "rows": "rows",
    "columns": "an axis",
    "outside": "past the end",
    "frameworks": "what others do",
    "gather-elements": "GatherElements",
    "gather-nd": "GatherND",
    "gather-tree": "GatherTree",
    "choose": "which of the four",
}
"""The lessons of ten minutes, each with what the index calls it."""

LINES_OF: Final = {"frameworks": "outside"}
"""A lesson whose picture is made by the lines of another."""

CALLS: Final = {
    "choose": {
        "Gather": ("data[indices]", "data[indices]", "tf.gather(data, indices)"),
        "GatherElements": (
            "np.take_along_axis(data, indices, 0)",
            "torch.gather(data, 0, indices)",
            "tf.experimental.numpy.take_along_axis(data, indices, 0)",
        ),
        "GatherND": (*["data[indices[:, 0], indices[:, 1]]"] * 2, "tf.gather_nd(data, indices)"),
    }
}
"""The lines of lessons with several pictures, by operator."""

MODEL: Final = "encoder.onnx"

_TEMPLATES: Final = Path(__file__).parent / "templates"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page; ``$figure0`` stands for its first figure."""
    every = lessons()
    for number, lesson in enumerate(every):
        yield f"{lesson['name']}.html", _filled("lesson", **_lesson(every, number))
    items = (f"<li>{_link(lesson)}</li>" for lesson in every)
    stops = (f'<a href="{name}.html?tour">{words}</a>' for name, words in TOUR.items())
    *tour, last = stops
    tour.append(f"and {last}")
    yield "index.html", _filled("index", lessons="\n".join(items), tour=",\n".join(tour))


def _filled(name: str, **fields: str) -> str:
    return Template((_TEMPLATES / f"{name}.html").read_text(encoding="utf-8")).substitute(fields)


def _lesson(every: Sequence[dict[str, Any]], number: int) -> dict[str, str]:
    """Return the parts of the page of a lesson as markup."""
    lesson = every[number]
    terms = dict(lesson["terms"])
    question = terms.pop("Question")
    terms = {label: words for label, words in terms.items() if label not in LIBRARIES}
    left_out = terms.pop("Left out", "")
    practice = "\n".join(_practice(n, *each) for n, each in enumerate(lesson["practice"]))
    op = FAMILIES.get(lesson["commands"][0].split()[2])
    inputs = ", ".join(each.name for each in op.ROWS[0].inputs) if op else ""
    tries = "\n".join(
        f"<li><code>{_line(line)}</code> {_code(shows)}</li>" for line, shows in lesson["tries"]
    )
    if MODEL in lesson["commands"][0]:
        tries += f'\n<li><a href="{MODEL}">{MODEL}</a> the model</li>'
    before, after = (_turn(every, number, step) for step in (-1, 1))
    place = f"<span>{number + 1} of {len(every)}</span>"
    return {
        "title": _safe(lesson["title"]),
        "number": str(number + 1),
        "count": str(len(every)),
        "says": _code(lesson["says"]),
        "figures": "\n".join(_figure(n, line) for n, line in enumerate(lesson["commands"])),
        "table": _table(lesson["table"]),
        "question": _code(question),
        "exercise": _exercise(
            "question",
            REFUSED if lesson["accept"] == ["error"] else lesson["accept"],
            lesson["slips"],
            lesson["answer"],
            lesson["proof"],
            is_shape=_is_shape(lesson["proof"][0][0]),
        ),
        "more": "\n".join(
            _section(name, f"<p>{_code(words)}</p>") for name, words in terms.items()
        ),
        "code": _section(
            "The same in Python",
            _lines(every, lesson["name"]) + (left_out and f"<p>{_code(left_out)}</p>"),
            "code",
        ),
        "practice": _section(
            "What do these give?",
            practice and f"<p>Inputs in order: {inputs}.</p>\n<ol>\n{practice}\n</ol>",
            "practice",
        ),
        "tries": _section("Try in a shell", tries and f"<ul>\n{tries}\n</ul>", "tries"),
        "around": f"{before}\n{after}".strip(),
        "turn": f"{before}\n{place}\n{after}".strip(),
    }


def _turn(every: Sequence[dict[str, Any]], number: int, step: int) -> str:
    """Return the link to the page before or after a lesson, with that of the tour."""
    if not 0 <= number + step < len(every):
        return ""
    rel = "next" if step > 0 else "prev"
    attributes, (lesson, *_) = f' rel="{rel}"', every[number + step :]
    stops = [n for n, each in enumerate(every) if each["name"] in TOUR and (n - number) * step > 0]
    if stops and every[number]["name"] in TOUR:
        stop = every[min(stops) if step > 0 else max(stops)]
        attributes += f' data-tour="{stop["name"]}.html" data-title="{_safe(stop["title"])}"'
    return _link(lesson, attributes)


def _lines(every: Sequence[dict[str, Any]], name: str) -> str:
    """Return the lines of three libraries that do the same as the pictures of a lesson."""
    if name in CALLS:
        groups = (
            f"<div>\n<h3>{op}</h3>\n{_terms(each)}\n</div>" for op, each in CALLS[name].items()
        )
        return "\n".join(groups)
    (terms,) = (each["terms"] for each in every if each["name"] == LINES_OF.get(name, name))
    return _terms([terms[each] for each in LIBRARIES])


def _terms(lines: Sequence[str]) -> str:
    """Return the line of each library."""
    pairs = zip(LIBRARIES, lines, strict=True)
    terms = "\n".join(f"<dt>{each}</dt><dd>{_code(f'`{line}`')}</dd>" for each, line in pairs)
    return f"<dl>\n{terms}\n</dl>"


def _section(heading: str, content: str, kind: str = "") -> str:
    """Return a section; nothing without content."""
    kind = kind or heading.lower()
    return content and f'<section class="{kind}">\n<h2>{heading}</h2>\n{content}\n</section>'


def _exercise(
    name: str,
    accept: Iterable[str],
    slips: dict[str, str],
    answer: str,
    proof: Iterable[tuple[str, str]],
    *,
    is_shape: bool,
) -> str:
    """Return a field for an answer, which the script checks, and the answer itself, hidden."""
    data = (escape(json.dumps(each, ensure_ascii=False)) for each in (accept, slips))
    shown = "\n".join(f"$$ {line}\n{output}" if line else output for line, output in proof)
    return (
        '<form data-accept="{}" data-slips="{}"{}><label>Your answer '
        '<input autocomplete="off" spellcheck="false" aria-describedby="{}"></label> '
        '<button>Check</button><output role="status"></output></form>\n'.format(
            *data, " data-shape" * is_shape, name
        )
        + f"<details><summary>Answer</summary>{answer and f'<p>{_code(answer)}</p>'}"
        f"<pre>{escape(shown, quote=False)}</pre></details>"
    )


def _figure(number: int, line: str) -> str:
    """Return the place of a figure below its command."""
    heading = f"<h2><code>$$ {_line(line)}</code></h2>"
    return f'<section class="figure">\n{heading}\n$figure{number}</section>'


def _practice(number: int, line: str, output: str) -> str:
    """Return a command whose output is asked for."""
    accept = REFUSED if output.startswith("error") else (output.partition("\nnote: ")[0],)
    name = f"practice{number}"
    exercise = _exercise(name, accept, {}, "", [("", output)], is_shape=_is_shape(line))
    return f'<li><pre id="{name}">$$ {_line(line)}</pre>\n{exercise}</li>'


def _is_shape(line: str) -> bool:
    return line.startswith("gathercli shape ")


def _table(lines: Sequence[Sequence[str]]) -> str:
    """Return tables, with a row of blanks between two; each cell can have its heading beside it."""
    if not lines:
        return ""
    for at, line in enumerate(lines):
        if not any(line):
            return f"{_table(lines[:at])}\n{_table(lines[at + 1 :])}"
    headings, *rows = lines
    head = "".join(f'<th scope="col">{_code(each)}</th>' for each in headings)
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<td data-head="{_safe(heading)}">{_code(cell)}</td>'
            for heading, cell in zip(headings, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _link(lesson: dict[str, Any], attributes: str = "") -> str:
    return f'<a href="{lesson["name"]}.html"{attributes}>{_safe(lesson["title"])}</a>'


def _safe(words: str) -> str:
    """Escape markup, and the mark of a place."""
    return escape(words).replace("$", "$$")


def _line(line: str) -> str:
    """Write a command as markup: an option stays on a line with its value."""
    return re.sub(
        r"(?<=\s)(-[A-Za-z](?: [^-\s]\S*)?)", r'<span class="option">\1</span>', _safe(line)
    )


def _code(words: str) -> str:
    """Write a text of a lesson as markup: what is in backticks is code, or the name of a lesson."""
    linked = re.sub(r"(?<=lesson )`([\w-]+)`", r'<a href="\1.html">\1</a>', _safe(words))
    return re.sub("`(.*?)`", r"<code>\1</code>", linked)
