"""`demo`: short lessons, each with a picture and a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.cli.answer import Answer
from gathercli.cli.command import argument, flag
from gathercli.cli.groups import VIEW
from gathercli.cli.limits import Limits
from gathercli.cli.messages import ErrorOptions, Messages
from gathercli.errors import UsageError
from gathercli.explain.demo_lessons import ANSWER, LESSONS, QUESTION, command_line, job_of
from gathercli.io.descriptors import STDOUT
from gathercli.report.terminal import rendered, wants_color, width_of
from gathercli.text import closest, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.demo_lessons import DemoLesson
    from gathercli.report.terminal import Styled

WIDEST: Final = 100

NAME: Final = argument(
    "[NAME]",
    "The name of a lesson, its start, or its number; default 1.",
    default=None,
    known=lambda: [
        *(lesson.name for lesson in LESSONS),
        *(str(number) for number in range(1, len(LESSONS) + 1)),
    ],
)
SHOW_ANSWER: Final = flag(VIEW, "--answer", help="Also answer the question of the lesson.")
LIST: Final = flag(VIEW, "--list", help="List the lessons.")
ALL: Final = flag(
    VIEW,
    "--all",
    help="Show every lesson: with keys on a terminal, elsewhere one after another, and the answers "
    "at the end.",
)


def run(
    *,
    name: str | None = NAME,
    answer: bool = SHOW_ANSWER,
    list_lessons: bool = LIST,
    all_lessons: bool = ALL,
    errors: ErrorOptions,
) -> Answer:
    """Show one lesson, all of them, or their names."""
    if sum((name is not None or answer, list_lessons, all_lessons)) > 1:
        raise _exclusive(name, answer=answer, list_lessons=list_lessons, all_lessons=all_lessons)
    if list_lessons:
        return _list()
    return _all(errors) if all_lessons else _one(name, answer=answer)


def _exclusive(
    name: str | None, *, answer: bool, list_lessons: bool, all_lessons: bool
) -> UsageError:
    """Return the error for words that exclude each other."""
    flags = {"--answer": answer, "--list": list_lessons, "--all": all_lessons}
    words = [word for word in (name, *(flag for flag in flags if flags[flag])) if word is not None]
    hint = "`gathercli demo --all` has the answers: below the lessons, or at the key `?`"
    return UsageError(
        f"{listed((f'`{word}`' for word in words), 'and')} exclude each other",
        rule="usage",
        expected="one of them",
        hint=hint if answer and all_lessons else None,
    )


def _list() -> Answer:
    from gathercli.explain.demo import listing

    pairs = [(lesson.name, lesson.title) for lesson in LESSONS]
    return Answer(lambda _, color: rendered(listing(pairs), color=color))


def _one(name: str | None, *, answer: bool) -> Answer:
    from gathercli.explain.demo import others

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
        text.append_text(others([each.name for each in LESSONS[1:]], _width()))
    return Answer(lambda _, color: rendered(text, color=color))


def _number(word: str) -> int:
    """Return the position of the lesson with a number, a name, or the start of one name.

    Raises
    ------
    UsageError
        There is none, or there are several.
    """
    names = [lesson.name for lesson in LESSONS]
    numbers = [str(n) for n in range(1, len(names) + 1)]
    key = word.lower().replace("_", "-")
    for words in (names, numbers):
        if key in words:
            return words.index(key)
    near = [name for name in names if key and name.startswith(key)]
    if len(near) == 1:
        return names.index(near[0])
    problem, expected = f"no lesson `{word}`", f"1 to {len(names)}, {listed(names)}"
    if near:
        problem, expected = f"`{word}` is the start of several lessons", listed(near)
    suggestion = near[0] if near else closest(key, names)
    hint = "`gathercli demo --list` lists the lessons"
    if key in ("all", "answer", "list"):
        hint = f"did you mean `gathercli demo --{key}`?"
    elif suggestion:
        hint = f"did you mean `gathercli demo {suggestion}`?"
    raise UsageError(problem, rule="usage", value=word, expected=expected, hint=hint)


def _all(errors: ErrorOptions) -> Answer:
    """Return every lesson; on a terminal with keys show a screen at a time instead."""
    from gathercli.cli.keys import Keys, has_keys, room
    from gathercli.explain.terminal.layout import folded
    from gathercli.explain.terminal.trace import text_of

    screens = [_screen(n, lesson.tries) for n, lesson in enumerate(LESSONS)]
    answers = list(map(_answer_screen, range(len(LESSONS))))
    if not has_keys():
        texts = [*screens, text_of([[("Answers", "bold")]]), *answers]
        return Answer(lambda _, color: "\n".join(rendered(text, color=color) for text in texts))
    color = wants_color(errors.color, STDOUT)

    def lines(text: Styled) -> list[str]:
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
    return min(width_of(STDOUT) or WIDEST, WIDEST)


def _title(number: int) -> str:
    lesson = LESSONS[number]
    return f"{number + 1} of {len(LESSONS)}   {lesson.name}: {lesson.title}"


def _answer_screen(number: int) -> Styled:
    """Return the title, the question and the answer of a lesson."""
    from gathercli.explain.demo import terms_text
    from gathercli.explain.terminal.trace import text_of

    lesson = LESSONS[number]
    text = text_of([[(_title(number), "bold")]])
    text.append_text(terms_text({QUESTION: lesson.terms[QUESTION]}, _width()))
    return text.append_text(_answer(lesson))


def _answer(lesson: DemoLesson) -> Styled:
    from gathercli.explain.demo import proof_text, terms_text

    text = terms_text({ANSWER: lesson.answer}, _width())
    return text.append_text(proof_text(lesson.proof, _width()))


def _screen(number: int, tries: Sequence[tuple[str, str]], *, answer: bool = False) -> Styled:
    """Explain one example."""
    from gathercli.cli.open_call import of_job
    from gathercli.explain.demo import Screen, screen_text
    from gathercli.explain.lesson import lesson_of
    from gathercli.explain.look import Look
    from gathercli.explain.terminal.trace import text_of
    from gathercli.explain.terminal.view import view_of

    lesson = LESSONS[number]
    job = job_of(lesson.name)
    with of_job(job, Limits(None, None), Messages(quiet=True, color="never")) as open_call:
        explained = lesson_of(open_call.bound)
        picture = view_of(explained).picture(explained, Look(width_of(STDOUT) and _width()))
    screen = Screen(
        _title(number),
        lesson.says,
        command_line(job),
        picture,
        lesson.terms,
        _answer(lesson) if answer else text_of([]),
        tries,
    )
    return screen_text(screen, _width())
