"""Files of jobs: the text of each job, found without holding more than one at a time.

A .jsonl file holds a job a line, a .json file a list of them or a single one; anything else is told
by how it starts. A folder holds such files.
"""

from __future__ import annotations

import os
import re
import stat
from codecs import BOM_UTF8
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import GatherError, InputError, LimitError, NoInputError, reason_of
from gathercli.io.files import STDIN, check_kind
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.content import SNIFF_SIZE
from gathercli.spec.shapes import DEEPEST, MAX_RANK
from gathercli.text import clean, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES: Final = (".jsonl", ".ndjson")
"""Suffixes of files with a job a line."""

SUFFIXES: Final = (*LINES, ".json")
"""Suffixes of the files of jobs in a folder."""

LONGEST: Final = 256 << 20
"""Bytes that a job may have; a longer one should name files."""

LINE: Final = "line"
ITEM: Final = "item"
"""What the place of a job counts, where it is not all of the file."""

_PLACE: Final = re.compile(r"(.*), (?:line (?P<line>\d+)|\$\[(?P<item>\d+)\])", re.DOTALL)

_DESCRIPTORS: Final = ("/dev", "/dev/fd", "/proc/self/fd")
"""Folders in which nobody keeps jobs: the shell's ``<(…)`` is there, and stands for no place."""

_PART: Final = 1 << 16
_MARK: Final = re.compile(rb'[\[\]{}"]')
_NO_BRACKET: Final = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
"""All up to a bracket, or to the quote of a string whose end was not read yet."""

_BETWEEN: Final = re.compile(rb"[ \t\r\n]*+,[ \t\r\n]*+")
_BLANK: Final = b" \t\r\n"
_NO_CHARACTER: Final = bytes(range(0x80, 0xC0))
"""Bytes that go on with a character of UTF-8: columns do not count them."""


class WrittenJob(NamedTuple):
    """A job as it stands in its file.

    Attributes
    ----------
    where
        The file and the place in it, for messages: ``jobs.jsonl, line 3``.
    folder
        Where relative paths start.
    text
        JSON.
    line, column
        Where in the file the text starts, from 1.
    """

    where: str
    folder: str
    text: bytes
    line: int = 1
    column: int = 1


def place_of(where: str) -> tuple[str, str, int]:
    """Take the place of a job apart: the file, `LINE` or `ITEM` or nothing, and its number or 0.

    >>> place_of("jobs.jsonl, line 3"), place_of("job.json")
    (('jobs.jsonl', 'line', 3), ('job.json', '', 0))
    """
    found = _PLACE.fullmatch(where)
    if found is None:
        return where, "", 0
    form = found.lastgroup or ""
    return found[1], form, int(found[form])


def name_of(where: str) -> str:
    """Return what a job is called that gives itself no name, by where it stands.

    >>> name_of("./jobs.jsonl, line 3"), name_of("jobs.json, $[2]"), name_of("job.json")
    ('jobs.jsonl:3', 'jobs.json[2]', 'job.json')
    """
    file, form, number = place_of(where)
    return os.path.normpath(file) + {LINE: f":{number}", ITEM: f"[{number}]"}.get(form, "")


def files(path: str) -> list[str]:
    """List the files of jobs in a folder and the folders in it, by name; a file is itself.

    What is hidden, or in a hidden folder, is left out.

    Raises
    ------
    InputError
        ``job``: there is none.
    NoInputError
        ``unreadable``: a folder cannot be listed.
    """
    if path == "-" or not os.path.isdir(path):
        return [path]
    found: list[str] = []
    for parent, folders, names in os.walk(path, onerror=_unlisted):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            os.path.join(parent, name)
            for name in names
            if name.endswith(SUFFIXES) and not name.startswith(".")
        ]
    if not found:
        raise InputError(
            f"the folder `{clean(path)}` has no file of jobs: expected {listed(SUFFIXES)}",
            rule="job",
            value=path,
        )
    return sorted(found)


def _unlisted(error: OSError) -> None:
    raise NoInputError(
        f"the folder `{clean(str(error.filename))}` cannot be listed ({error.strerror}): "
        "expected a folder of jobs",
        rule="unreadable",
        value=str(error.filename),
    )


def written(path: str) -> Iterator[WrittenJob]:
    """Find the jobs of a file, or (``-``) of standard input.

    Raises
    ------
    InputError
        ``job``: a list of jobs that is none, with the place.
    LimitError
        ``limit``: a job is longer than `LONGEST`.
    NoInputError
        ``missing``, ``unreadable``.
    """
    name, folder = ("standard input", "") if path == "-" else (clean(path), os.path.dirname(path))
    if folder in _DESCRIPTORS:
        folder = ""
    try:
        with _opened(path) as file:
            _check_jobs(file, name, path)
            yield from _Reader(file, name, folder).jobs(lines=path.endswith(LINES))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, GatherError):
            raise
        raise NoInputError(
            f"`{name}` cannot be read ({reason_of(error)}): expected a file of jobs",
            rule="missing" if isinstance(error, FileNotFoundError) else "unreadable",
            value=path,
        ) from None


def _opened(path: str) -> IO[bytes]:
    """Open a file; what cannot be read twice is copied to an unnamed one first."""
    if path != "-":
        check_kind(path, path, "a file of jobs")
    file = open(STDIN if path == "-" else path, "rb", closefd=path != "-")  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    import shutil
    import tempfile

    with file:
        copy = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
        shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy


def _check_jobs(file: IO[bytes], name: str, path: str) -> None:
    """Refuse what is known to be no file of jobs, such as a tensor."""
    begin = file.tell()
    start = file.read(SNIFF_SIZE)
    file.seek(begin)
    if start.removeprefix(BOM_UTF8).lstrip(_BLANK)[:1] in (b"", b"{", b"["):
        return
    from gathercli.io.formats.foreign import known

    if what := known(path, start):
        raise InputError(
            f"`{name}` is {what}: expected a file of jobs",
            rule="job",
            where=name,
            hint="`gathercli man jobs` says how jobs are written; "
            "`--op gather --data 'in/*.npy' --indices …` makes them of tensors",
        )


class _Reader:
    """Finds the jobs of an open file."""

    def __init__(self, file: IO[bytes], name: str, folder: str) -> None:
        self._file, self._name, self._folder = file, name, folder
        start = file.tell()  # what another program has read of a redirected file is no part of it
        self._begin = start + len(BOM_UTF8) * (file.read(len(BOM_UTF8)) == BOM_UTF8)
        file.seek(self._begin)

    def jobs(self, *, lines: bool) -> Iterator[WrittenJob]:
        """Find them; `lines` says that there is one a line."""
        start = self._start()
        self._file.seek(self._begin)
        if start == b"[":
            return self._items()
        return self._lines() if lines or self._has_lines() else self._one()

    def _start(self) -> bytes:
        """Go to the first byte that is no blank, and return it."""
        text = b""
        while (part := self._file.read(_PART)) and not (text := part.lstrip(_BLANK)):
            pass
        self._file.seek(-len(text), os.SEEK_CUR)
        return text[:1]

    def _has_lines(self) -> bool:
        """Tell whether the first line is an object, and another follows."""
        try:
            if self._start() != b"{":
                return False
            line = self._file.readline(LONGEST)
            if not line.rstrip(_BLANK).endswith(b"}") or self._start() != b"{":
                return False
            return isinstance(json.parse(line), dict)
        except InputError:
            return False
        finally:
            self._file.seek(self._begin)

    def _lines(self) -> Iterator[WrittenJob]:
        number = 0
        while line := self._file.readline(LONGEST + 1):
            number += 1
            where = f"{self._name}, line {number}"
            if len(line) > LONGEST:
                raise _too_long(where)
            text = line.strip(_BLANK)
            if text:
                column = 1 + len(line) - len(line.lstrip(_BLANK))
                yield WrittenJob(where, self._folder, text, number, column)

    def _one(self) -> Iterator[WrittenJob]:
        text = self._whole()
        if not text.strip(_BLANK):
            raise InputError(
                f"{self._name}: the file is empty: expected a job", rule="job", where=self._name
            )
        yield WrittenJob(self._name, self._folder, text)

    def _whole(self) -> bytes:
        self._file.seek(self._begin)
        text = self._file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise _too_long(self._name)
        return text

    def _items(self) -> Iterator[WrittenJob]:
        """Cut a list of jobs where the brackets of one are closed and a comma follows.

        Nothing is parsed here; where it does not look like that, all of it is, for the message.
        """
        held = _Held(self._file)
        held.find(b"[")
        number = 0
        while True:
            where = f"{self._name}, $[{number}]"
            gap, mark = held.next_mark(where)
            if mark == b"]" and not gap.strip(_BLANK) and held.ends():
                return
            between = _BETWEEN.fullmatch(gap) if number else not gap.strip(_BLANK)
            line, column = held.line, held.column
            text = held.item(where) if mark == b"{" and between else None
            if text is None:
                break
            yield WrittenJob(where, self._folder, text, line, column)
            number += 1
        raise self._no_list(f"line {line}, column {column}")

    def _no_list(self, near: str) -> InputError:
        """Say what is wrong with a list that could not be cut; `near` is where that was."""
        try:
            found: Any = json.parse(self._whole())
        except LimitError:
            what = f"what stands before {near}, or there, is no part of a list of jobs"
            message = f"{self._name}: {what}: expected objects with commas between them"
            return InputError(message, rule="job", where=self._name)
        except InputError as error:
            return InputError(f"{self._name}: {error.message}", rule="job", where=self._name)
        at = next((at for at, job in enumerate(found) if not isinstance(job, dict)), 0)
        where = f"{self._name}, $[{at}]"
        from gathercli.text import shown

        return InputError(
            f"{where}: the job is {shown(found[at])}: expected an object",
            rule="job",
            where=where,
            expected="an object",
        )


class _Held:
    """The part of a text that is looked at; `line` and `column` are those of where it stands."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._text, self._at = file, b"", 0
        self.line = self.column = 1

    def find(self, mark: bytes) -> None:
        """Go behind the first `mark`."""
        while mark not in self._text and self._more():
            pass
        self._go(self._text.index(mark) + 1)

    def next_mark(self, where: str) -> tuple[bytes, bytes]:
        """Go to the next bracket or string; return what was before it, and its first byte."""
        while (found := _MARK.search(self._text, self._at)) is None and self._more(where):
            pass
        stop = found.start() if found else len(self._text)
        gap = self._text[self._at : stop]
        self._go(stop)
        return gap, self._text[stop : stop + 1]

    def item(self, where: str) -> bytes | None:
        """Go behind the object that starts here, and return it; None if it has no end."""
        depth = seen = 0
        while True:
            place = self._at + seen
            found = _NO_BRACKET.match(self._text, place)
            stop = found.end() if found else place
            mark = self._text[stop : stop + 1]
            seen = stop - self._at
            if mark in b'"':  # or nothing
                if not self._more(where):
                    return None
                continue
            seen += 1
            depth += 1 if mark in b"{[" else -1
            if depth > DEEPEST:
                raise InputError(
                    f"{where}: brackets are nested too deeply: "
                    f"expected at most {MAX_RANK} dimensions",
                    rule="job",
                    where=where,
                )
            if not depth:
                text = self._text[self._at : stop + 1]
                if len(text) > LONGEST:
                    raise _too_long(where)
                self._go(stop + 1)
                return text

    def ends(self) -> bool:
        """Tell whether only blanks follow the bracket that is next."""
        while not self._text[self._at + 1 :].strip(_BLANK):
            if not self._more():
                return True
        return False

    def _more(self, where: str = "") -> bool:
        """Read on, twice as much as is held; say whether there was anything."""
        rest = self._text[self._at :]
        if where and len(rest) > LONGEST:
            raise _too_long(where)
        part = self._file.read(max(_PART, len(rest)))
        self._text, self._at = rest + part, 0
        return bool(part)

    def _go(self, place: int) -> None:
        """Go forward, counting lines and columns."""
        passed = self._text[self._at : place]
        lines = passed.count(b"\n")
        last = passed[passed.rfind(b"\n") + 1 :].translate(None, _NO_CHARACTER)
        self.line += lines
        self.column = len(last) + (1 if lines else self.column)
        self._at = place


def _too_long(where: str) -> LimitError:
    return LimitError(
        f"{where}: the job has more than {LONGEST} bytes: expected at most so many",
        rule="limit",
        where=where,
        expected=f"at most {LONGEST} bytes",
        hint="a job may name files in place of long lists",
    )
