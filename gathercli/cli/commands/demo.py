"""`demo`: the specifications' own examples, run and explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from gathercli.cli.answer import Answer
from gathercli.cli.command import argument, option
from gathercli.cli.groups import VIEW
from gathercli.cli.limits import Limits
from gathercli.cli.main import print_text
from gathercli.cli.manual.lessons import LESSONS, command_line, fixture
from gathercli.cli.messages import ErrorOptions, Messages
from gathercli.errors import UsageError
from gathercli.io.write import STDOUT
from gathercli.report.terminal import rendered, wants_color, width_of
from gathercli.text import closest, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.report.terminal import Styled

WIDEST: Final = 100

Name = Annotated[str | None, argument("[NAME]", "The lesson; default the first.")]
List = Annotated[bool, option(VIEW, "--list", help="List the lessons.")]
All = Annotated[
    bool,
    option(VIEW, "--all", help="Show every lesson; on a terminal a key goes on, q stops."),
]


def run(
    *,
    name: Name = None,
    list_lessons: List = False,
    all_lessons: All = False,
    errors: ErrorOptions,
) -> Answer | int:
    """Show one lesson, all of them, or their names."""
    if sum((name is not None, list_lessons, all_lessons)) > 1:
        raise UsageError(
            "a lesson, `--list` and `--all` exclude each other: expected one of them", rule="usage"
        )
    if list_lessons:
        return _list()
    return _all(errors.color) if all_lessons else _one(name)


def _list() -> Answer:
    from gathercli.report.demo import listing

    pairs = [(lesson.name, lesson.title) for lesson in LESSONS]
    return Answer(lambda _, color: rendered(listing(pairs), color=color))


def _one(name: str | None) -> Answer:
    from gathercli.report.demo import others

    names = [lesson.name for lesson in LESSONS]
    wanted = names[0] if name is None else name
    if wanted not in names:
        near = closest(wanted, names)
        raise UsageError(
            f"no lesson `{wanted}`: expected {listed(names)}",
            rule="usage",
            value=wanted,
            hint=f"did you mean `gathercli demo {near}`?" if near else None,
        )
    text = _screen(names.index(wanted))
    if name is None:
        text.append_text(others(names[1:], _width()))
    return Answer(lambda _, color: rendered(text, color=color))


def _all(color: str) -> int:
    """Show every lesson; where a person sits in front, a screen at a time."""
    from gathercli.cli.manual.keys import Keys, has_keys, room
    from gathercli.report.layout import folded

    colored = wants_color(color, STDOUT)
    screens = [folded(_screen(number), _width()) for number in range(len(LESSONS))]
    texts = [rendered(screen, color=colored) for screen in screens]
    if not has_keys():
        print_text("\n".join(texts))
        return 0
    pages = ["\n".join(page) for text in texts for page in _pages(text.splitlines(), room())]
    with Keys() as keys:
        keys.walk(len(pages), pages.__getitem__)
    return 0


def _pages(lines: list[str], most: int) -> Iterator[list[str]]:
    """Divide the lines of a lesson into screens, at an empty line where there is one."""
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
    from gathercli.cli.commands.called import of_job
    from gathercli.jobs.job import jobs
    from gathercli.lessons.lesson import Lesson
    from gathercli.report.demo import Screen, drawn
    from gathercli.report.lesson import picture
    from gathercli.report.selection import Look

    shown = LESSONS[number]
    (job,) = jobs(fixture(shown.fixture))
    with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as called:
        lesson = Lesson(called.bound)
        screen = Screen(
            f"{number + 1} of {len(LESSONS)}   {shown.name}: {shown.title}",
            shown.says,
            command_line(job),
            picture(lesson, Look(width_of(STDOUT) and _width())),
            lesson.refusal,
            [*shown.tries],
            job.source,
        )
        return drawn(screen, _width())
