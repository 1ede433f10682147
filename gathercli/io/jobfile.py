"""Split files of jobs into the text of each job, one at a time.

A .jsonl file has one job a line, a .json file has a list or a single job; other files are detected
by their content. A folder contains such files.
"""

from __future__ import annotations

import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import count
from typing import IO, Any, Final, NamedTuple

from gathercli.errors import GatherError, Hint, InputError, LimitError, NoInputError, reason_of
from gathercli.io.files import STDIN, check_kind
from gathercli.io.folders import raise_unlisted
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.table import SNIFF_SIZE
from gathercli.io.stream import temporary_file
from gathercli.spec.shapes import DEEPEST, MAX_RANK
from gathercli.text import clean, listed, value_text

LINE_SUFFIXES: Final = (".jsonl", ".ndjson")  # suffixes of files with one job a line
JOB_SUFFIXES: Final = (*LINE_SUFFIXES, ".json")  # and of all files of jobs in a folder
MAX_JOB_BYTES: Final = 256 << 20  # the most bytes of a job; a longer one should name files
# The unit of the place of a job in a file of several.
LINE: Final = "line"
ITEM: Final = "item"
_PLACE_PATTERN: Final = re.compile(r"(.*), (?:line (?P<line>\d+)|\$\[(?P<item>\d+)\])", re.DOTALL)
# Folders of the shell's ``<(…)``; paths in such jobs are relative to the working folder.
_DESCRIPTOR_FOLDERS: Final = ("/dev", "/dev/fd", "/proc/self/fd")
_WINDOW_BYTES: Final = 1 << 16
_MARK_PATTERN: Final = re.compile(rb'[\[\]{}"]')
# Text up to a bracket, or up to the quote of an incomplete string.
_NO_BRACKET: Final = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_COMMA_PATTERN: Final = re.compile(rb"[ \t\r\n]*+,[ \t\r\n]*+")
_JSON_BLANKS: Final = b" \t\r\n"
# Continuation bytes of UTF-8, which columns do not count.
_CONTINUATION_BYTES: Final = bytes(range(0x80, 0xC0))


class JobEntry(NamedTuple):
    """The text of a job, JSON, and its place in a file."""

    where: str  # for messages: ``jobs.jsonl, line 3``
    folder: str  # of relative paths
    text: bytes
    line: int = 1  # the start of the text in the file, from 1
    column: int = 1

    @classmethod
    def parse(cls, record: bytes) -> JobEntry:
        """Parse the result of `record`, which lacks line and column."""
        where, folder, text = record.split(b"\0", 2)
        return cls(os.fsdecode(where), os.fsdecode(folder), text)

    def record(self) -> bytes:
        """Serialize the entry; neither `where` nor `folder` can contain a NUL."""
        return b"\0".join((os.fsencode(self.where), os.fsencode(self.folder), self.text))


def job_error(
    where: str, what: str, expected: str, hint: str | None = None, *, value: object = None
) -> InputError:
    """Return the error for what is at a place of a file of jobs."""
    return InputError(
        what, rule="job", places=(where,), where=where, value=value, expected=expected, hint=hint
    )


def error_at(where: str, error: GatherError, *keys: str, **changes: Any) -> InputError:
    """Return an error met in a job, or in a value of it, as one at a place of a file of jobs."""
    data = {"rule": "job", "value": None, "hint": None, **changes}
    return InputError.of(error, places=(where, *keys, *error.places), where=where, **data)


def place_of(where: str) -> tuple[str, str, int]:
    """Split the place of a job into the file, the unit (or nothing) and the number (or 0).

    >>> place_of("jobs.jsonl, line 3"), place_of("job.json")
    (('jobs.jsonl', 'line', 3), ('job.json', '', 0))
    """
    match = _PLACE_PATTERN.fullmatch(where)
    if match is None:
        return where, "", 0
    form = match.lastgroup or ""
    return match[1], form, int(match[form])


def name_of(where: str) -> str:
    """Return the default ``id`` of a job by its place.

    >>> name_of("./jobs.jsonl, line 3"), name_of("jobs.json, $[2]"), name_of("job.json")
    ('jobs.jsonl:3', 'jobs.json[2]', 'job.json')
    """
    file, form, number = place_of(where)
    return os.path.normpath(file) + {LINE: f":{number}", ITEM: f"[{number}]"}.get(form, "")


def files(path: str) -> list[str]:
    """List the files of jobs below a folder, sorted and without hidden ones; a file lists itself.

    Raise InputError (``job``) if there is none, NoInputError if a folder cannot be searched.
    """
    if path == "-" or not os.path.isdir(path):
        return [path]
    paths: list[str] = []
    for parent, folders, names in os.walk(path, onerror=raise_unlisted):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = (name for name in names if not name.startswith("."))
        paths += [os.path.join(parent, name) for name in visible if name.endswith(JOB_SUFFIXES)]
    if not paths:
        raise InputError(
            f"the folder `{clean(path)}` has no file of jobs",
            rule="job",
            value=path,
            expected=listed(JOB_SUFFIXES),
        )
    return sorted(paths)


def read_entries(path: str) -> Iterator[JobEntry]:
    """Yield the jobs of a file, or of standard input (``-``).

    Raise InputError (``job``) if it is no list of jobs, LimitError if a job is longer than
    `MAX_JOB_BYTES`, NoInputError if it cannot be read.
    """
    name, folder = ("standard input", "") if path == "-" else (clean(path), os.path.dirname(path))
    if folder in _DESCRIPTOR_FOLDERS:
        folder = ""
    try:
        with _open(path) as file:
            _check_jobs(file, name, path)
            yield from _JobReader(file, name, folder).jobs(lines=path.endswith(LINE_SUFFIXES))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, GatherError):
            raise
        from gathercli.io.suggest import similar_file

        missing = isinstance(error, FileNotFoundError)
        near = similar_file(path, "") if missing else None
        raise NoInputError(
            f"`{name}` cannot be read ({reason_of(error)})",
            rule="missing" if missing else "unreadable",
            value=path,
            expected="a file of jobs",
            hint=Hint("did you mean {source}?", source=near) if near else None,
        ) from None


def _open(path: str) -> IO[bytes]:
    """Open a file; copy a pipe, which is read twice, to an unnamed file."""
    if path != "-":
        check_kind(path, path, "a file of jobs")
    file = open(STDIN if path == "-" else path, "rb", closefd=path != "-")  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    import shutil

    with file:
        copy = temporary_file()
        shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy


def _check_jobs(file: IO[bytes], name: str, path: str) -> None:
    """Raise if the content has another format, such as that of a tensor."""
    offset = file.tell()
    start = file.read(SNIFF_SIZE)
    file.seek(offset)
    if start.removeprefix(BOM_UTF8).lstrip(_JSON_BLANKS)[:1] in (b"", b"{", b"["):
        return
    from gathercli.io.formats.foreign import describe

    if what := describe(path, start):
        raise InputError(
            f"`{name}` is {what}",
            rule="job",
            where=name,
            expected="a file of jobs",
            hint="`gathercli man jobs` says how jobs are written; "
            "`--op gather --data 'in/*.npy' --indices …` makes them of tensors",
        )


class _JobReader:
    """A reader that splits an open file into jobs."""

    def __init__(self, file: IO[bytes], name: str, folder: str) -> None:
        self._file, self._name, self._folder = file, name, folder
        start = file.tell()  # another program may have read the start of a redirected file
        self._begin = start + len(BOM_UTF8) * (file.read(len(BOM_UTF8)) == BOM_UTF8)
        file.seek(self._begin)

    def jobs(self, *, lines: bool) -> Iterator[JobEntry]:
        """Yield the jobs; `lines` is True for one job a line."""
        start = self._start()
        self._file.seek(self._begin)
        if start == b"[":
            return self._items()
        return self._lines() if lines or self._has_lines() else self._one()

    def _start(self) -> bytes:
        """Seek to the first non-blank byte and return it."""
        text = b""
        while (part := self._file.read(_WINDOW_BYTES)) and not (text := part.lstrip(_JSON_BLANKS)):
            pass
        self._file.seek(-len(text), os.SEEK_CUR)
        return text[:1]

    def _has_lines(self) -> bool:
        """Return whether the first line is an object, and another object follows."""
        try:
            if self._start() != b"{":
                return False
            line = self._file.readline(MAX_JOB_BYTES)
            if not line.rstrip(_JSON_BLANKS).endswith(b"}") or self._start() != b"{":
                return False
            return isinstance(json.parse(line), dict)
        except InputError:
            return False
        finally:
            self._file.seek(self._begin)

    def _lines(self) -> Iterator[JobEntry]:
        lines = iter(lambda: self._file.readline(MAX_JOB_BYTES + 1), b"")
        for number, line in enumerate(lines, 1):
            where = f"{self._name}, line {number}"
            if len(line) > MAX_JOB_BYTES:
                raise _too_long(where)
            text = line.strip(_JSON_BLANKS)
            if text:
                column = 1 + len(line) - len(line.lstrip(_JSON_BLANKS))
                yield JobEntry(where, self._folder, text, number, column)

    def _one(self) -> Iterator[JobEntry]:
        text = self._whole()
        if not text.strip(_JSON_BLANKS):
            raise job_error(self._name, "the file is empty", "a job")
        yield JobEntry(self._name, self._folder, text)

    def _whole(self) -> bytes:
        self._file.seek(self._begin)
        text = self._file.read(MAX_JOB_BYTES + 1)
        if len(text) > MAX_JOB_BYTES:
            raise _too_long(self._name)
        return text

    def _items(self) -> Iterator[JobEntry]:
        """Split a list by its brackets and commas, without parsing.

        If that fails, the whole file is parsed for the message.
        """
        text = _Window(self._file)
        text.next_mark("")
        text.skip()
        for number in count():
            where = f"{self._name}, $[{number}]"
            gap, mark = text.next_mark(where)
            if mark == b"]" and not gap.strip(_JSON_BLANKS) and text.is_last():
                return
            separated = _COMMA_PATTERN.fullmatch(gap) if number else not gap.strip(_JSON_BLANKS)
            line, column = text.line, text.column
            item = text.item(where) if mark == b"{" and separated else None
            if item is None:
                raise self._no_list(f"line {line}, column {column}")
            yield JobEntry(where, self._folder, item, line, column)

    def _no_list(self, near: str) -> InputError:
        """Return the error for a list that cannot be split at `near`."""
        try:
            items: Any = json.parse(self._whole())
        except LimitError:
            what = f"what stands before {near}, or there, is not part of a list of jobs"
            return job_error(self._name, what, "objects with commas between them")
        except InputError as error:
            return error_at(self._name, error)
        number = next((at for at, item in enumerate(items) if not isinstance(item, dict)), 0)
        where = f"{self._name}, $[{number}]"
        return job_error(where, f"the job is {value_text(items[number])}", "an object")


class _Window:
    """A part of a file in memory, with an offset at `line` and `column` of the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._text, self._at = file, b"", 0
        self.line = self.column = 1

    def skip(self) -> None:
        """Move behind the mark at the offset."""
        self._move(self._at + 1)

    def next_mark(self, where: str) -> tuple[bytes, bytes]:
        """Move to the next bracket or quote; return the text before it and the mark."""
        while (match := _MARK_PATTERN.search(self._text, self._at)) is None and self._read_more(
            where
        ):
            pass
        stop = match.start() if match else len(self._text)
        gap = self._text[self._at : stop]
        self._move(stop)
        return gap, self._text[stop : stop + 1]

    def item(self, where: str) -> bytes | None:
        """Return the object at the offset and move behind it; None if it is incomplete."""
        depth = length = 0
        while True:
            start = self._at + length
            match = _NO_BRACKET.match(self._text, start)
            stop = match.end() if match else start
            mark = self._text[stop : stop + 1]
            length = stop - self._at
            if mark in b'"':  # an incomplete string, or the end of the window
                if not self._read_more(where):
                    return None
                continue
            length += 1
            depth += 1 if mark in b"{[" else -1
            if depth > DEEPEST:
                most = f"at most {MAX_RANK} dimensions"
                raise job_error(where, "brackets are nested too deeply", most)
            if not depth:
                text = self._text[self._at : stop + 1]
                if len(text) > MAX_JOB_BYTES:
                    raise _too_long(where)
                self._move(stop + 1)
                return text

    def is_last(self) -> bool:
        """Return whether only blanks follow the bracket at the offset."""
        while not self._text[self._at + 1 :].strip(_JSON_BLANKS):
            if not self._read_more():
                return True
        return False

    def _read_more(self, where: str = "") -> bool:
        """Extend the window to twice its size; return False at the end of the file."""
        rest = self._text[self._at :]
        if where and len(rest) > MAX_JOB_BYTES:
            raise _too_long(where)
        part = self._file.read(max(_WINDOW_BYTES, len(rest)))
        self._text, self._at = rest + part, 0
        return bool(part)

    def _move(self, offset: int) -> None:
        """Move forward to an offset; count lines and columns."""
        text = self._text[self._at : offset]
        lines = text.count(b"\n")
        last = text[text.rfind(b"\n") + 1 :].translate(None, _CONTINUATION_BYTES)
        self.line += lines
        self.column = len(last) + (1 if lines else self.column)
        self._at = offset


def _too_long(where: str) -> LimitError:
    return LimitError(
        "the job is too long",
        places=(where,),
        where=where,
        expected=f"at most {MAX_JOB_BYTES} bytes",
        hint="a job may name files in place of long lists",
    )
