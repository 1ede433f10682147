"""A lesson of `demo` as a screen: an explanation, a command, its picture, and a question."""

from __future__ import annotations

import json
import os
import re
import shlex
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from gathercli.cli.declarations import VIEW, Answer, argument, flag
from gathercli.cli.messages import ErrorOptions, Messages
from gathercli.cli.options import LETTERS, VARIABLE, Limits
from gathercli.errors import UsageError
from gathercli.io.descriptors import STDOUT
from gathercli.ops import FAMILIES
from gathercli.report.terminal import rendered, wants_color, width_of
from gathercli.text import closest, listed, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gathercli.io.jobs import Job


_FOLDER: Final = os.path.dirname(__file__)
QUESTION: Final = "Question"
ANSWER: Final = "Answer"

_TERM_COLUMNS: Final = 10  # the columns of a label beside its text

MOST_LESSON_COLUMNS: Final = 100

SHOW_ANSWER: Final = flag(VIEW, "--answer", help="Also answer the question of the lesson.")
LIST_LESSONS: Final = flag(VIEW, "--list", help="List the lessons.")
ALL_LESSONS: Final = flag(
    VIEW,
    "--all",
    help="Show every lesson: with keys on a terminal, elsewhere one after another, and the answers "
    "at the end.",
)


class DemoLesson(NamedTuple):
    """A screen of `demo`."""

    name: str  # also the ID of its job
    title: str
    says: str  # the explanation
    terms: dict[str, str]  # labels with their text: ``NumPy``, ``PyTorch``, ``Trap``, ``Question``
    answer: str  # to the question
    proof: str  # commands after ``$`` that show the answer, and their output
    tries: Sequence[tuple[str, str]]  # further command lines, and a remark on each


def tour(name: str) -> str:
    """Return the path of a file of the tour, in the installed package or in the source tree."""
    package = os.path.dirname(_FOLDER)
    for folder in (os.path.join(package, "_data"), os.path.dirname(package)):
        if os.path.isdir(fixtures := os.path.join(folder, "fixtures")):
            return os.path.join(fixtures, "tour", name)
    raise FileNotFoundError(name)


def _lessons() -> Iterator[DemoLesson]:
    """Read the lessons, with the path of the model for its places; in commands it is quoted."""
    with open(os.path.join(_FOLDER, "lessons.json"), encoding="utf-8") as file:
        text = file.read()
    path = tour("encoder.onnx")
    for place, words in (("{model}", shell_word(path)), ("{path}", path)):
        text = text.replace(place, json.dumps(words)[1:-1])
    return (DemoLesson(**lesson) for lesson in json.loads(text))


LESSONS: Final = (*_lessons(),)

_NAMES: Final = [lesson.name for lesson in LESSONS]
_NUMBERS: Final = [str(n) for n in range(1, len(LESSONS) + 1)]


@cache
def job_of(name: str) -> Job:
    """Return the job that a lesson explains."""
    from gathercli.io.jobs import jobs

    return next(job for job in jobs(tour("lessons.jsonl")) if job.id == name)


def command_line(job: Job) -> str:
    """Return the command line that explains a job without files, or of a node."""
    words = ["gathercli", "explain"]
    if job.node is not None:
        words.append(os.path.join(job.folder, job.node))
        for word in map(_word, job.inputs.values()):
            if not word.startswith(f"@{job.node}:"):  # a constant of the model
                words += ["--feed", word]
        return shlex.join(words)
    words += [job.op, *map(_word, job.inputs.values())]
    default = FAMILIES[job.op].ROWS[0]
    options = [
        (LETTERS[each.name], job.attrs.get(each.name), each.default) for each in default.attrs
    ]
    version = None if os.environ.get(VARIABLE) else default.id
    for option, value, usual in (*options, ("-V", job.version or default.id, version)):
        if value not in (None, usual):
            words += [option, str(value)]
    return shlex.join(words)


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _terms(terms: Mapping[str, str]) -> Text:
    """Lay out labels with their text beside them; code without blanks stays on its line."""
    text = Text()
    for label, words in terms.items():
        lines = wrap(
            words, _width() - _TERM_COLUMNS, break_on_hyphens=False, break_long_words=False
        )
        text.append(label.ljust(_TERM_COLUMNS), "bold")
        text.append(f"\n{' ' * _TERM_COLUMNS}".join(lines) + "\n")
    return text


def _filled(words: str) -> str:
    return "\n".join(wrap(words, _width(), break_on_hyphens=False))


def _command(line: str) -> Text:
    return Text().append("$ ", "dim").append(_folded(line, "    ") + "\n", "bold")


def _folded(command: str, indent: str) -> str:
    """Break a command line into lines that can be pasted.

    An option stays with its value; a literal longer than a line breaks after a row if possible,
    or else after a comma.
    """
    room, lines = _width() - len(indent) - 2, [""]
    for word in re.findall(r"--?[A-Za-z][\w-]* [^-'\s]\S*|\S+", command):
        if len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f"{' ' * bool(lines[-1])}{word}"
            continue
        if len(word) <= room:
            lines[-1] += " \\"
            lines.append(word)
            continue
        lines[-1] += " "
        end = "\\"  # outside the quotes
        for part in re.findall(r".+?\],|.+", word):
            pieces = [part] if len(part) <= room else re.findall(r"[^,]+,?", part)
            for piece in pieces:
                if len(lines[-1]) + len(piece) > room:
                    lines[-1] += end
                    lines.append("")
                lines[-1] += piece
                end = ""
    return f"\n{indent}".join(lines)


LESSON_NAME: Final = argument(
    "[NAME]",
    "The name of a lesson, its start, or its number; default 1.",
    default=None,
    known=lambda: [*_NAMES, *_NUMBERS],
)


def run(
    *,
    name: str | None = LESSON_NAME,
    answer: bool = SHOW_ANSWER,
    list_lessons: bool = LIST_LESSONS,
    all_lessons: bool = ALL_LESSONS,
    errors: ErrorOptions,
) -> Answer:
    """Show one lesson, all of them, or their names."""
    if sum((name is not None or answer, list_lessons, all_lessons)) > 1:
        flags = {"--answer": answer, "--list": list_lessons, "--all": all_lessons}
        words = filter(None, (name, *(flag for flag in flags if flags[flag])))
        hint = "`gathercli demo --all` has the answers: below the lessons, or at the key `?`"
        what = f"{listed((f'`{word}`' for word in words), 'and')} exclude each other"
        expected = "one of them"
        raise UsageError(what, expected=expected, hint=hint if answer and all_lessons else None)
    if list_lessons:
        text, widest = Text(), max(map(len, _NAMES))
        for number, lesson in enumerate(LESSONS, 1):
            text.append(f"{number:2}  {lesson.name.ljust(widest)}", "cyan")
            text.append(f"   {lesson.title}\n")
        return Answer(lambda _, color: rendered(text, color=color))
    return _all(errors) if all_lessons else _one(name, answer=answer)


def _one(name: str | None, *, answer: bool) -> Answer:
    """Return a lesson with commands to try next."""
    number = 0 if name is None else _number(name)
    lesson = LESSONS[number]
    tries = list(lesson.tries)
    if not answer:
        tries.insert(0, (f"gathercli demo {lesson.name} --answer", "the answer"))
    for following in LESSONS[number + 1 : number + 2]:
        title = following.title[0].lower() + following.title[1:]
        tries.append((f"gathercli demo {following.name}", f"next: {title}"))
    text = _screen(number, tries, answer=answer)
    if name is None:
        words = f"More lessons: {', '.join(_NAMES[1:])}; `gathercli demo --all` shows them in turn."
        text.append(f"\n{_filled(words)}\n", "dim")
    return Answer(lambda _, color: rendered(text, color=color))


def _number(word: str) -> int:
    """Return the position of the lesson with a number, a name, or the start of one name.

    Raise `UsageError` if there is none, or there are several.
    """
    key = word.lower().replace("_", "-")
    for words in (_NAMES, _NUMBERS):
        if key in words:
            return words.index(key)
    near = [name for name in _NAMES if key and name.startswith(key)]
    if len(near) == 1:
        return _NAMES.index(near[0])
    problem, expected = f"no lesson `{word}`", f"1 to {len(_NAMES)}, {listed(_NAMES)}"
    if near:
        problem, expected = f"`{word}` is the start of several lessons", listed(near)
    suggestion = near[0] if near else closest(key, _NAMES)
    hint = "`gathercli demo --list` lists the lessons"
    if key in ("all", "answer", "list"):
        hint = f"did you mean `gathercli demo --{key}`?"
    elif suggestion:
        hint = f"did you mean `gathercli demo {suggestion}`?"
    raise UsageError(problem, value=word, expected=expected, hint=hint)


def _all(errors: ErrorOptions) -> Answer:
    """Return every lesson; on a terminal with keys show a screen at a time instead."""
    from gathercli.explain.keys import Keys, has_keys, room
    from gathercli.explain.terminal.layout import folded

    screens = [_screen(n, lesson.tries) for n, lesson in enumerate(LESSONS)]
    answers = [
        Text()
        .append(f"{_title(n)}\n", "bold")
        .append_text(_terms({QUESTION: lesson.terms[QUESTION]}))
        .append_text(_answer(lesson))
        for n, lesson in enumerate(LESSONS)
    ]
    if not has_keys():
        texts = [*screens, Text().append("Answers\n", "bold"), *answers]
        return Answer(lambda _, color: "\n".join(rendered(text, color=color) for text in texts))
    color = wants_color(errors.color, STDOUT)

    def lines(text: Text) -> list[str]:
        return rendered(folded(text, _width()), color=color).splitlines()

    pages = [
        ("\n".join(page), "\n".join(lines(answer)))
        for screen, answer in zip(screens, answers, strict=True)
        for page in _pages(lines(screen), room())
    ]
    with Keys() as keys:
        keys.walk(len(pages), lambda n: pages[n][0], lambda n: pages[n][1])
    return Answer(lambda *_: "")


def _pages(lines: list[str], most: int) -> Iterator[list[str]]:
    """Split the lines of a lesson into screens of at most `most`, at empty lines if possible."""
    while len(lines) > most:
        empty = [at for at, line in enumerate(lines[:most]) if at > most // 2 and not line]
        stop = empty[-1] + 1 if empty else most
        yield lines[:stop]
        lines = lines[stop:]
    yield lines


def _width() -> int:
    return min(width_of(STDOUT) or MOST_LESSON_COLUMNS, MOST_LESSON_COLUMNS)


def _title(number: int) -> str:
    lesson = LESSONS[number]
    return f"{number + 1} of {len(LESSONS)}   {lesson.name}: {lesson.title}"


def _answer(lesson: DemoLesson) -> Text:
    """Lay out an answer with its proof: commands and their output."""
    text = _terms({ANSWER: lesson.answer})
    for line in lesson.proof.splitlines():
        if line.startswith("$ "):
            text.append_text(_command(line.removeprefix("$ ")))
        else:
            text.append(f"{_filled(line)}\n")
    return text


def _screen(number: int, tries: Sequence[tuple[str, str]], *, answer: bool = False) -> Text:
    """Lay out a lesson, with sentences that fit the width and colours in the picture alone."""
    from gathercli.explain.explained_call import of_job, provenance_of
    from gathercli.explain.panel import Look
    from gathercli.explain.terminal.picture import picture_of

    lesson, width = LESSONS[number], _width()
    job = job_of(lesson.name)
    text = Text().append(f"{_title(number)}\n", "bold").append(f"{_filled(lesson.says)}\n\n")
    text.append_text(_command(command_line(job)))
    with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as open_call:
        look = Look(width_of(STDOUT) and width)
        text.append_text(picture_of(provenance_of(open_call.bound), look))
    text.append("\n").append_text(_terms(lesson.terms))
    if answer:
        text.append_text(_answer(lesson))
    if tries:
        text.append("\nTry\n", "bold")
    for line, shows in tries:
        between = "   " if len(line) + len(shows) + 7 <= width else "\n      "
        text.append("  " + _folded(line, "      "))
        text.append(f"{between}{shows}\n", "dim")
    return text
