"""What a hostile case is, and the short ways of writing one down."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Content = bytes | str | Callable[[], bytes]
    Row = tuple[str, Content, str, str]

DATA_REFUSED = 65


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command line, what it meets, and what must come of it.

    Attributes
    ----------
    id
        A sentence, as a slug.
    argv
        The words after the program's name.
    files, setup
        Files by name, and a function that makes what is no plain file, run in the folder.
    stdin
        The bytes at standard input.
    status, rule
        The exit status; the rule of the refusal, None for an answer.
    words
        What stderr must hold: what was found, and where.
    absent
        What it must not hold, as it would mislead.
    out
        All of stdout.
    """

    id: str
    argv: tuple[str, ...]
    words: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    files: Mapping[str, Content] = field(default_factory=dict)
    setup: Callable[[], object] | None = None
    stdin: Content = b""
    status: int = DATA_REFUSED
    rule: str | None = None
    out: str = ""

    def make(self) -> bytes:
        """Make the files in the working folder; return the bytes for standard input."""
        for name, content in self.files.items():
            Path(name).write_bytes(contents(content))
        if self.setup is not None:
            self.setup()
        return contents(self.stdin)


def contents(content: Content) -> bytes:
    """Return the bytes of a content, making it only now if it is large."""
    if isinstance(content, str):
        return content.encode()
    return content if isinstance(content, bytes) else content()


def split(line: str | tuple[str, ...]) -> tuple[str, ...]:
    """Take a command line apart at its blanks, unless it is apart already."""
    return tuple(line.split()) if isinstance(line, str) else line


def slug(*words: str) -> str:
    """Make an id of words."""
    return "-".join(" ".join(words).split())


def refused(
    sentence: str,
    line: str | tuple[str, ...],
    rule: str,
    *words: str,
    status: int = DATA_REFUSED,
    files: Mapping[str, Content] | None = None,
    setup: Callable[[], object] | None = None,
    stdin: Content = b"",
    out: str = "",
) -> Case:
    """Write down a refusal."""
    return Case(
        id=slug(sentence),
        argv=split(line),
        rule=rule,
        words=words,
        status=status,
        files=files or {},
        setup=setup,
        stdin=stdin,
        out=out,
    )


def answered(
    sentence: str,
    line: str | tuple[str, ...],
    out: str,
    *notes: str,
    files: Mapping[str, Content] | None = None,
    setup: Callable[[], object] | None = None,
    stdin: Content = b"",
) -> Case:
    """Write down an answer, and the words of its notes."""
    return Case(
        id=slug(sentence),
        argv=split(line),
        status=0,
        out=out,
        words=notes,
        files=files or {},
        setup=setup,
        stdin=stdin,
    )


def used_wrongly(sentence: str, line: str | tuple[str, ...], *words: str) -> Case:
    """Write down a usage error."""
    return refused(sentence, line, "usage", *words, status=2)


def files_refused(kind: str, name: str, rows: Iterable[Row]) -> list[Case]:
    """Write down files that are refused as `data`: a sentence, the bytes, the rule, words."""
    return [
        refused(
            f"{kind} {sentence}",
            ("gather", name, "0"),
            rule,
            f"`data`: {name}: ",
            words,
            files={name: content},
        )
        for sentence, content, rule, words in rows
    ]


def files_read(kind: str, name: str, rows: Iterable[tuple[str, Content, str]]) -> list[Case]:
    """Write down files that look odd and are read: a sentence, the bytes, the element at 0."""
    return [
        answered(f"{kind} {sentence}", ("gather", name, "0"), out + "\n", files={name: content})
        for sentence, content, out in rows
    ]
