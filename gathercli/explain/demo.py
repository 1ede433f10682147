"""A lesson of `demo`, a screen or a page: an explanation, a command, its picture, a question."""

from __future__ import annotations

import json
import os
import re
from functools import cache, partial
from itertools import zip_longest
from string import Template
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.text import Text

from gathercli.cli.declarations import OUTPUT, VIEW, Answer, Options, argument, flag, option
from gathercli.cli.messages import ErrorOptions, Messages
from gathercli.cli.options import NO_CLOBBER, TEXT_FORMAT, VARIABLE, Limits
from gathercli.errors import UsageError
from gathercli.io.descriptors import STDOUT
from gathercli.io.write import unwritable, write_files
from gathercli.report.terminal import PICTURE_WIDTH, rendered, wants_color, width_of
from gathercli.report.versions import columns
from gathercli.text import clean, closest, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gathercli.explain.provenance import Provenance
    from gathercli.io.jobs import Job


_FOLDER: Final = os.path.dirname(__file__)
QUESTION: Final = "Question"
ANSWER: Final = "Answer"

MODEL: Final = "encoder.onnx"  # of the lesson on models, which `--save` writes
_WRAP: Final[Any] = {"break_on_hyphens": False, "break_long_words": False}
_TERM_COLUMNS: Final = 12  # the columns of a label beside its text

MOST_LESSON_COLUMNS: Final = 100
_QUESTION_COLUMNS: Final = 40  # the fewest of a question beside its picture


class DemoLesson(NamedTuple):
    """A screen of `demo`."""

    name: str  # also the ID of its job
    title: str
    says: str  # the explanation
    commands: Sequence[str]  # that draw its pictures
    brief: bool  # whether these are without what later lessons explain
    table: Sequence[Sequence[str]]  # its lines, the headings first; empty for none
    terms: dict[str, str]  # labels with their text: ``NumPy``, ``Refused``, ``Trap``, ``Question``
    answer: str  # to the question
    accept: Sequence[str]  # what one may type in its place
    slips: dict[str, str]  # wrong answers, and what to say of each
    proof: Sequence[tuple[str, str]]  # command lines that show the answer, and their output
    practice: Sequence[tuple[str, str]]  # further ones, whose output is to be foretold
    tries: Sequence[tuple[str, str]]  # further command lines, and a remark on each


def tour(name: str) -> str:
    """Return the path of a file of the tour, in the installed package or in the source tree."""
    package = os.path.dirname(_FOLDER)
    for folder in (os.path.join(package, "_data"), os.path.dirname(package)):
        if os.path.isdir(fixtures := os.path.join(folder, "fixtures")):
            return os.path.join(fixtures, "tour", name)
    raise FileNotFoundError(name)


with open(os.path.join(_FOLDER, "lessons.json"), encoding="utf-8") as _file:
    LESSONS: Final = tuple(DemoLesson(**each) for each in json.load(_file))

_NAMES: Final = [lesson.name for lesson in LESSONS]
_NUMBERS: Final = [str(n) for n in range(1, len(LESSONS) + 1)]


@cache
def jobs_of(name: str) -> list[Job]:
    """Return the jobs that a lesson explains: that of its name, and those below it."""
    from gathercli.io.jobs import jobs

    return [job for job in jobs(tour("lessons.jsonl")) if job.id.partition("/")[0] == name]


def _terms(terms: Mapping[str, str], width: int) -> Text:
    """Lay out labels with their text beside them; code without blanks stays on its line."""
    text, blanks = Text(), " " * _TERM_COLUMNS
    for label, words in terms.items():
        lines = wrap(words, width, initial_indent=blanks, subsequent_indent=blanks, **_WRAP)
        text.append(label.ljust(_TERM_COLUMNS), "bold").append("\n".join(lines).lstrip() + "\n")
    return text


def _filled(words: str, width: int) -> str:
    return "\n".join(wrap(words, width, break_on_hyphens=False))


def _command(line: str, width: int) -> Text:
    return Text().append("$ ", "dim").append(_folded(line, "    ", width) + "\n", "bold")


def _folded(command: str, indent: str, width: int) -> str:
    """Break a command line into lines that can be pasted.

    An option stays with its value; a literal longer than a line breaks after a row if possible,
    or else after a comma.
    """
    room, lines = width - len(indent) - 2, [""]
    for word in re.findall(r"--?[A-Za-z][\w-]* [^-'\s]\S*|\S+", command):
        rows = [word] if len(word) <= room else re.findall(r".+?\],|.+", word)
        pieces = [[row] if len(row) <= room else re.findall(r"[^,]+,?", row) for row in rows]
        for n, piece in enumerate(piece for row in pieces for piece in row):
            joint = " " * (n == 0 and lines != [""])
            if len(lines[-1] + joint + piece) <= room:
                lines[-1] += joint + piece
            else:
                lines[-1] += " \\" * (n == 0)  # outside the quotes
                lines.append(piece)
    return f"\n{indent}".join(lines)


class LessonOptions(Options):
    """The lessons to show, and where to keep them."""

    name: str | None = argument("[NAME]", default=None, known=lambda: [*_NAMES, *_NUMBERS])
    answer: bool = flag(VIEW, "--answer")
    list_lessons: bool = flag(VIEW, "--list")
    all_lessons: bool = flag(VIEW, "--all")
    save: str | None = option(OUTPUT, "--save", metavar="PATH", once=True)
    no_clobber: bool = NO_CLOBBER
    fmt: str = TEXT_FORMAT


def run(options: LessonOptions, errors: ErrorOptions) -> Answer:
    """Show one lesson, all of them, or their names; write a picture or a site."""
    name, answer, save = options.name, options.answer, options.save
    list_lessons, all_lessons = options.list_lessons, options.all_lessons
    if sum((name is not None or answer, list_lessons, all_lessons)) > 1:
        flags = {"--answer": answer, "--list": list_lessons, "--all": all_lessons}
        words = filter(None, (name, *(flag for flag in flags if flags[flag])))
        hint = "`gathercli demo --all` has the answers: below the lessons, or at the key `?`"
        what = f"{listed((f'`{word}`' for word in words), 'and')} exclude each other"
        expected = "one of them"
        raise UsageError(what, expected=expected, hint=hint if answer and all_lessons else None)
    if save and list_lessons:
        raise UsageError("`--list` has no picture", expected="no `--save`")
    number = 0 if name is None else _number(name)
    remarks: tuple[str, ...] = ()
    if save is not None:
        saves = _saved_site if all_lessons else partial(_saved, LESSONS[number])
        remarks = saves(save, no_clobber=options.no_clobber)
    if options.fmt == "json":
        every = [{"number": n, **each._asdict()} for n, each in enumerate(LESSONS, 1)]
        made = json.dumps(every if all_lessons or list_lessons else every[number]) + "\n"
        return Answer(lambda *_: "", lambda: made, remarks=remarks)
    if all_lessons:
        return Answer(lambda *_: "", remarks=remarks) if save else _all(errors)
    shown = _names() if list_lessons else _one(number, is_first=name is None, answer=answer)
    return Answer(lambda _, color: rendered(shown, color=color), remarks=remarks)


def _saved(lesson: DemoLesson, path: str, *, no_clobber: bool) -> tuple[str, ...]:
    """Write the picture of a lesson, or its model; return what is said of the file."""
    from gathercli.explain.command import ExplainOptions, Shown
    from gathercli.explain.explained_call import view_of
    from gathercli.explain.panel import Look
    from gathercli.explain.pictures import SaveOptions

    if path.endswith(".onnx") and MODEL in lesson.commands[0]:
        with open(tour(MODEL), "rb") as model:
            write_files({path: model.read()}, no_clobber=no_clobber)
        return (f"wrote {clean(path)}",)
    with SaveOptions(paths=[path], no_clobber=no_clobber).opened() as saved:
        provenance = next(provenances(lesson))
        look, view = Look(PICTURE_WIDTH), view_of(provenance)
        Shown(provenance, view, ExplainOptions(), look, lesson.title).draw(saved.files[0])
        saved.commit()
    several = (f"{clean(path)} has the first of {len(lesson.commands)} pictures",)
    return saved.remarks + several * (len(lesson.commands) > 1)


def _saved_site(folder: str, *, no_clobber: bool) -> tuple[str, ...]:
    """Write an index, a page a lesson, and what they share; return what is said of it.

    The folder `pages` has all but the figures, whose styles are in a template of each.
    """
    from gathercli.explain.drawing.page import page_script

    site, pages = {"page.js": page_script().encode()}, os.path.join(_FOLDER, "pages")
    for path in (tour(MODEL), *(os.path.join(pages, name) for name in os.listdir(pages))):
        with open(path, "rb") as file:
            site[os.path.basename(path)] = file.read()
    style = site.pop("figure.css").decode()
    for lesson in LESSONS:
        made = (_figure(each, style, lesson) for each in provenances(lesson))
        figures = {f"figure{n}": figure for n, figure in enumerate(made)}
        page = site[f"{lesson.name}.html"].decode()
        site[f"{lesson.name}.html"] = Template(page).substitute(figures).encode()
    if not folder:
        raise unwritable(folder, "the name is empty", "the name of a folder")
    site = {"index.html": site.pop("index.html"), **site}  # which is written last
    files = {os.path.join(folder, name): content for name, content in site.items()}
    write_files(files, no_clobber=no_clobber, parents=True)
    return (f"wrote {clean(next(iter(files)))}",)


def _figure(provenance: Provenance[Any], style: str, lesson: DemoLesson) -> str:
    """Return a drawing of a lesson that can be pointed at, with further styles."""
    from gathercli.explain.drawing.explanation import scene_of
    from gathercli.explain.drawing.page import interactive
    from gathercli.explain.panel import Look

    look = Look(PICTURE_WIDTH)
    scene = scene_of(provenance, look, has_steps=False, brief=lesson.brief)
    host = interactive(provenance, look, scene, '<script src="page.js"></script>', strict=True)
    host = host.replace("@media(", "@media screen and (")  # paper is light
    host = host.replace("<div ", f'<div data-lesson="{lesson.name}" ', 1)
    return host.replace("</style></template>", f"{style}</style></template>")


def _names() -> Text:
    text, widest = Text(), max(map(len, _NAMES))
    for number, lesson in enumerate(LESSONS, 1):
        text.append(f"{number:2}  {lesson.name.ljust(widest)}", "cyan")
        text.append(f"   {lesson.title}\n")
    return text


def _one(number: int, *, is_first: bool, answer: bool) -> Text:
    lesson = LESSONS[number]
    tries = _tries(lesson)
    if not answer:
        tries.insert(0, (f"gathercli demo {lesson.name} --answer", "the answer"))
    for following in LESSONS[number + 1 : number + 2]:
        title = following.title[0].lower() + following.title[1:]
        tries.append((f"gathercli demo {following.name}", f"next: {title}"))
    text = _screen(number, tries, answer=answer)
    if is_first:
        words = f"More lessons: {', '.join(_NAMES[1:])}; `gathercli demo --all` shows them in turn."
        text.append(f"\n{_filled(words, _width())}\n", "dim")
    return text


def _tries(lesson: DemoLesson) -> list[tuple[str, str]]:
    """Return the commands to try after a lesson, each with a remark."""
    practice = ((line, "say first what it prints") for line, _ in lesson.practice)
    return [*practice, *lesson.tries]


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

    if not has_keys():
        texts = [_screen(n, _tries(lesson)) for n, lesson in enumerate(LESSONS)]
        texts.append(Text().append("Answers\n", "bold"))
        for n, lesson in enumerate(LESSONS):
            text = Text().append(f"{_title(n)}\n", "bold")
            texts.append(text.append_text(_question(lesson, _width(), answer=True)))
        return Answer(lambda _, color: "\n".join(rendered(text, color=color) for text in texts))
    color = wants_color(errors.color, STDOUT)

    def lines(text: Text) -> list[str]:
        return rendered(folded(text, width_of(STDOUT) or _width()), color=color).splitlines()

    def screens(number: int) -> Iterator[tuple[int, str]]:
        """Yield the number of a lesson with each of its screens, its question the last."""
        whole = lines(_screen(number, _tries(LESSONS[number])))
        if len(whole) > room():
            text = _screen(number, _tries(LESSONS[number]), asks=False)
            for page in _pages(lines(text), room()):
                yield number, "\n".join(page)
            whole = lines(_asked(number, room(), answer=False))
        yield number, "\n".join(whole)

    pages = [(0, "")]

    def lay(at: int) -> tuple[int, int]:
        """Lay out all screens; return where that of a lesson is now, and how many there are."""
        number, _ = pages[at]
        pages[:] = [each for n in range(len(LESSONS)) for each in screens(n)]
        return [n for n, _ in pages].index(number), len(pages)

    def answered(at: int) -> str:
        return "\n".join(lines(_asked(pages[at][0], room(), answer=True)))

    with Keys() as keys:
        keys.walk(lay, lambda at: pages[at][1], answered)
    return Answer(lambda *_: "")


def _asked(number: int, most: int, *, answer: bool) -> Text:
    """Lay out a question beside or below the pictures that leave room for its answer."""
    from gathercli.explain.panel import Look
    from gathercli.explain.terminal.picture import picture_of

    lesson, text = LESSONS[number], Text().append(f"{_title(number)}\n\n", "bold")
    columns = width_of(STDOUT) or MOST_LESSON_COLUMNS

    def pictures(width: int, count: int) -> Text:
        drawn = Text()
        for provenance in provenances(lesson):
            picture = picture_of(provenance, Look(width), brief=True)
            if f"{drawn}{picture}".count("\n") <= count:
                drawn.append_text(picture)
        return drawn

    if columns > MOST_LESSON_COLUMNS:
        lines = pictures(columns - _QUESTION_COLUMNS - 4, most - 2).split("\n")
        start = max(line.cell_len for line in lines) + 4
        words, answered = (
            _question(lesson, columns - start, answer=each).split("\n") for each in (answer, True)
        )
        if len(lines) > 1 and start <= columns - _QUESTION_COLUMNS and len(answered) < most:
            for line, more in zip_longest(lines, words, fillvalue=Text()):
                text.append_text(line).append(" " * (start - line.cell_len)).append_text(more)
                text.append("\n")
            return text
    left = most - 3 - _question(lesson, _width(), answer=True).plain.count("\n")
    text.append_text(pictures(_width(), left)).append("\n")
    return text.append_text(_question(lesson, _width(), answer=answer))


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


def _question(lesson: DemoLesson, width: int, *, answer: bool) -> Text:
    """Lay out a question, and its answer with its proof: commands and their output."""
    text = _terms({QUESTION: lesson.terms[QUESTION]}, width)
    if not answer:
        return text
    text.append_text(_terms({ANSWER: lesson.answer}, width))
    for line, output in lesson.proof:
        text.append_text(_command(line, width))
        text.append("".join(f"{_filled(words, width)}\n" for words in output.splitlines()))
    return text


def provenances(lesson: DemoLesson) -> Iterator[Provenance[Any]]:
    """Yield the provenance of each call that a lesson explains, while its inputs are open."""
    from gathercli.explain.explained_call import of_job, provenance_of

    for job in jobs_of(lesson.name):
        with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as open_call:
            yield provenance_of(open_call.bound)


def _screen(
    number: int, tries: Sequence[tuple[str, str]], *, answer: bool = False, asks: bool = True
) -> Text:
    """Lay out a lesson, with sentences that fit the width and colours in the picture alone."""
    from gathercli.explain.panel import Look
    from gathercli.explain.terminal.picture import picture_of

    lesson, width, look = LESSONS[number], _width(), Look(width_of(STDOUT) and _width())
    text = Text().append(f"{_title(number)}\n", "bold").append(f"{_filled(lesson.says, width)}\n\n")
    for line, provenance in zip(lesson.commands, provenances(lesson), strict=True):
        # A default of the environment would draw another version.
        asks_version = os.environ.get(VARIABLE) and " -V " not in line
        version = f" -V {provenance.call.op.id}" if asks_version and ".onnx" not in line else ""
        text.append_text(_command(line + version, width))
        text.append_text(picture_of(provenance, look, brief=lesson.brief)).append("\n")
    if lesson.table:
        text.append(f"{columns(lesson.table, width)}\n")
    others = {label: words for label, words in lesson.terms.items() if label != QUESTION}
    text.append_text(_terms(others, width))
    if asks:
        text.append_text(_question(lesson, width, answer=answer))
    if tries:
        text.append("\nTry\n", "bold")
    for line, shows in tries:
        between = "   " if len(line) + len(shows) + 7 <= width else "\n      "
        text.append("  " + _folded(line, "      ", width))
        text.append(f"{between}{shows}\n", "dim")
    return text
