"""Split files of jobs into the text of each job, one at a time.

A .jsonl file has one job a line, a .json file has a list or a single job; other files are detected
by their content. A folder contains such files.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import count
from typing import Any, Final, NamedTuple

from gathercli.errors import GatherError, Hint, InputError, LimitError
from gathercli.io.files import STDIN, File, check_kind, unreadable
from gathercli.io.folders import raise_unlisted
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.table import SNIFF_SIZE
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
# Text up to a bracket, or up to the quote of an incomplete string.
_NO_BRACKET: Final = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_BLANKS: Final = re.compile(rb"[ \t\r\n]*+")
_SEPARATOR: Final = re.compile(rb"[ \t\r\n]*+(?:,[ \t\r\n]*+)?+")
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
    """List the files of jobs below a folder, sorted, or raise; a file lists itself."""
    if path == "-" or not os.path.isdir(path):
        return [path]
    paths: list[str] = []
    for parent, folders, names in os.walk(path, onerror=raise_unlisted):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = (name for name in names if not name.startswith("."))
        paths += [os.path.join(parent, name) for name in visible if name.endswith(JOB_SUFFIXES)]
    if not paths:
        what = f"the folder `{clean(path)}` has no file of jobs"
        raise InputError(what, rule="job", value=path, expected=listed(JOB_SUFFIXES))
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
        if path != "-":
            check_kind(path, path, "a file of jobs")
        fd = STDIN if path == "-" else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        file = File(name, fd, None)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, GatherError):
            raise
        from gathercli.io.suggest import similar_file

        refusal = unreadable(path, error, "a file of jobs")
        if refusal.rule == "missing" and (near := similar_file(path, "")):
            refusal.hint = Hint("did you mean {source}?", source=near)
        raise refusal from None
    file.guarded = True
    try:
        text = file.buffer()
        _check_jobs(text[:SNIFF_SIZE], name, path)
        yield from _JobText(text, name, folder).jobs(lines=path.endswith(LINE_SUFFIXES))
    finally:
        file.close()
        file.check_mapped()


def _check_jobs(start: bytes, name: str, path: str) -> None:
    """Raise if a text starts like another format, such as that of a tensor."""
    if start.removeprefix(BOM_UTF8).lstrip(_JSON_BLANKS)[:1] in (b"", b"{", b"["):
        return
    from gathercli.io.formats.foreign import describe

    if what := describe(path, start):
        hint = (
            "`gathercli man jobs` says how jobs are written; "
            "`--op gather --data 'in/*.npy' --indices …` makes them of tensors"
        )
        what, expected = f"`{name}` is {what}", "a file of jobs"
        raise InputError(what, rule="job", where=name, expected=expected, hint=hint)


class _JobText:
    """The text of a file of jobs, which may be mapped, with an offset and its line and column."""

    def __init__(self, text: bytes, name: str, folder: str) -> None:
        self._text, self._name, self._folder = text, name, folder
        self._begin = self._at = len(BOM_UTF8) if text[: len(BOM_UTF8)] == BOM_UTF8 else 0
        self._line = self._column = 1

    def jobs(self, *, lines: bool) -> Iterator[JobEntry]:
        """Yield the jobs; `lines` is True for one job a line."""
        start = self._end(_BLANKS, self._begin)
        if self._text[start : start + 1] == b"[":
            return self._items(start)
        return self._lines() if lines or self._has_lines(start) else self._one()

    def _end(self, pattern: re.Pattern[bytes], start: int) -> int:
        """Return the end of a match at an offset, at most `MAX_JOB_BYTES` behind it."""
        match = pattern.match(self._text, start, start + MAX_JOB_BYTES)
        return match.end() if match else start

    def _has_lines(self, start: int) -> bool:
        """Return whether the line at an offset is an object, and another object follows."""
        stop = self._text.find(b"\n", start, start + MAX_JOB_BYTES) + 1
        after = self._end(_BLANKS, stop)
        if not stop or self._text[start : start + 1] + self._text[after : after + 1] != b"{{":
            return False
        try:
            line = self._text[start:stop].rstrip(_JSON_BLANKS)
            return line.endswith(b"}") and isinstance(json.parse(line), dict)
        except InputError:
            return False

    def _lines(self) -> Iterator[JobEntry]:
        start = self._begin
        for number in count(1):
            stop = self._text.find(b"\n", start, start + MAX_JOB_BYTES) + 1
            line = self._text[start : stop or start + MAX_JOB_BYTES + 1]
            where = f"{self._name}, line {number}"
            if len(line) > MAX_JOB_BYTES:
                raise _too_long(where)
            if text := line.strip(_JSON_BLANKS):
                column = 1 + len(line) - len(line.lstrip(_JSON_BLANKS))
                yield JobEntry(where, self._folder, text, number, column)
            if not stop:
                return
            start = stop

    def _one(self) -> Iterator[JobEntry]:
        text = self._whole()
        if not text.strip(_JSON_BLANKS):
            raise job_error(self._name, "the file is empty", "a job")
        yield JobEntry(self._name, self._folder, text)

    def _whole(self) -> bytes:
        text = self._text[self._begin : self._begin + MAX_JOB_BYTES + 1]
        if len(text) > MAX_JOB_BYTES:
            raise _too_long(self._name)
        return text

    def _items(self, start: int) -> Iterator[JobEntry]:
        self._move(start + 1)
        for number in count():
            where = f"{self._name}, $[{number}]"
            has_comma = b"," in self._move(self._end(_SEPARATOR, self._at))
            mark, line, column = self._text[self._at : self._at + 1], self._line, self._column
            is_end = mark == b"]" and not has_comma
            if is_end and self._end(_BLANKS, self._at + 1) == len(self._text):
                return
            stop = self._object_end(where) if mark == b"{" and has_comma == bool(number) else 0
            if not stop:
                raise self._no_list(f"line {line}, column {column}")
            yield JobEntry(where, self._folder, self._move(stop), line, column)

    def _object_end(self, where: str) -> int:
        """Return the end of the object at the offset; 0 if it has none."""
        stop, depth = self._at, 0
        while True:
            stop = self._end(_NO_BRACKET, stop)
            mark = self._text[stop : stop + 1]
            if stop - self._at >= MAX_JOB_BYTES or mark in b'"':  # a string or the text ends here
                if len(self._text) - self._at > MAX_JOB_BYTES:
                    raise _too_long(where)
                return 0
            stop += 1
            depth += 1 if mark in b"{[" else -1
            if depth > DEEPEST:
                most = f"at most {MAX_RANK} dimensions"
                raise job_error(where, "brackets are nested too deeply", most)
            if not depth:
                return stop

    def _move(self, offset: int) -> bytes:
        """Move forward to an offset; count lines and columns, and return the text before it."""
        text = self._text[self._at : offset]
        lines = text.count(b"\n")
        last = text[text.rfind(b"\n") + 1 :].translate(None, _CONTINUATION_BYTES)
        self._line += lines
        self._column = len(last) + (1 if lines else self._column)
        self._at = offset
        return text

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


def _too_long(where: str) -> LimitError:
    what = "the job is too long"
    expected = f"at most {MAX_JOB_BYTES} bytes"
    hint = "a job may name files in place of long lists"
    return LimitError(what, places=(where,), where=where, expected=expected, hint=hint)
