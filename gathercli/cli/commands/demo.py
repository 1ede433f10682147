"""`demo`: the specifications' own examples, run and explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.cli.answer import Answer
from gathercli.cli.command import argument, flag
from gathercli.cli.groups import VIEW
from gathercli.cli.limits import Limits
from gathercli.cli.manual.lessons import LESSONS, command_line, fixture
from gathercli.cli.messages import ErrorOptions, Messages
from gathercli.errors import UsageError
from gathercli.io.descriptors import STDOUT
from gathercli.report.terminal import rendered, wants_color, width_of
from gathercli.text import closest, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.report.terminal import Styled

WIDEST: Final = 100

NAME: Final = argument("[NAME]", "The lesson; default the first.", default=None)
LIST: Final = flag(VIEW, "--list", help="List the lessons.")
ALL: Final = flag(VIEW, "--all", help="Show every lesson; on a terminal a key goes on, q stops.")


def run(
    *,
    name: str | None = NAME,
    list_lessons: bool = LIST,
    all_lessons: bool = ALL,
    errors: ErrorOptions,
) -> Answer:
    """Show one lesson, all of them, or their names."""
    if sum((name is not None, list_lessons, all_lessons)) > 1:
        raise UsageError(
            "a lesson, `--list` and `--all` exclude each other: expected one of them", rule="usage"
        )
    if list_lessons:
        return _list()
    return _all(errors) if all_lessons else _one(name)


def _list() -> Answer:
    from gathercli.report.demo import listing

    pairs = [(lesson.name, lesson.title) for lesson in LESSONS]
    return Answer(lambda _, color: rendered(listing(pairs), color=color))


def _one(name: str | None) -> Answer:
    from gathercli.report.demo import others

    first, *rest = names = [lesson.name for lesson in LESSONS]
    if name not in (None, *names):
        near = _near(name or "", names)
        raise UsageError(
            f"no lesson `{name}`: expected {listed(names)}",
            rule="usage",
            value=name,
            hint=f"did you mean `gathercli demo {near}`?" if near else None,
        )
    text = _screen(names.index(name or first))
    if name is None:
        text.append_text(others(rest, _width()))
    return Answer(lambda _, color: rendered(text, color=color))


def _near(word: str, names: list[str]) -> str | None:
    """Return the lesson of a number, or with the most similar name, or part of its name."""
    if word.isascii() and word.isdigit():
        return dict(enumerate(names, 1)).get(int(word[:9]))
    parts = (name for name in names if name.startswith(word.lower().replace("_", "-")))
    return next(parts, None) or closest(word, names)


def _all(errors: ErrorOptions) -> Answer:
    """Return every lesson; on a terminal with keys show a screen at a time instead."""
    from gathercli.cli.keys import Keys, has_keys, room
    from gathercli.report.layout import folded

    screens = list(map(_screen, range(len(LESSONS))))
    if width_of(STDOUT) is not None:
        screens = [folded(screen, _width()) for screen in screens]

    def texts(color: bool) -> list[str]:
        return [rendered(screen, color=color) for screen in screens]

    if not has_keys():
        return Answer(lambda _, color: "\n".join(texts(color)))
    lines = (text.splitlines() for text in texts(wants_color(errors.color, STDOUT)))
    pages = ["\n".join(page) for each in lines for page in _pages(each, room())]
    with Keys() as keys:
        keys.walk(len(pages), pages.__getitem__)
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
    return min(width_of(STDOUT) or WIDEST, WIDEST)


def _screen(number: int) -> Styled:
    """Explain one example."""
    from gathercli.cli.open_call import of_job
    from gathercli.jobs.job import jobs
    from gathercli.lessons.lesson import lesson_of
    from gathercli.report.demo import Screen, screen_text
    from gathercli.report.selection import Look
    from gathercli.report.view import view_of

    lesson = LESSONS[number]
    (job,) = jobs(fixture(lesson.fixture))
    with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as open_call:
        explained = lesson_of(open_call.bound)
        if explained.refusal is not None:
            open_call.context.add_to(explained.refusal)
        screen = Screen(
            f"{number + 1} of {len(LESSONS)}   {lesson.name}: {lesson.title}",
            lesson.says,
            command_line(job),
            view_of(explained).picture(explained, Look(width_of(STDOUT) and _width())),
            explained.refusal,
            lesson.tries,
            job.source,
        )
        return screen_text(screen, _width())
