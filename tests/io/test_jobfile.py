"""Files of jobs are cut as JSON says, whatever their form, and what is wrong is placed."""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.errors import GatherError, InputError, LimitError, NoInputError, TransferError
from gathercli.io import jobfile
from gathercli.io import jobs as job_files
from gathercli.io.formats.jsontext import parse
from gathercli.io.jobfile import JobEntry, files, read_entries
from tests.cases import drawn
from tests.conftest import standard_input
from tests.jobs import parse as parse_job

if TYPE_CHECKING:
    from pathlib import Path

A = b'{"id":"a"}'
B = b'{"id":"b"}'
BOM = b"\xef\xbb\xbf"
STRANGE: Any = {"id": 'a]}"\\', "data": [[1, {"[": "{"}], "\\", '"', "é\n"], "": {}}
"""Strings that hold what the cutting looks for."""


def _texts(path: str) -> list[bytes]:
    return [found.text for found in read_entries(path)]


def _refused(path: str, kind: type[GatherError] = InputError) -> str:
    """Read the jobs of a file, all of them, and return how that was refused."""
    with pytest.raises(kind) as caught:
        job_files.jobs(path)
    return caught.value.message


def _cut(text: bytes) -> list[JobEntry]:
    return list(jobfile._JobText(text, "f", "").jobs(lines=False))


# A job a line


def test_a_list_is_one_whatever_its_file_is_called(folder: Path) -> None:
    (folder / "j.jsonl").write_bytes(b"[" + A.strip() + b"]")
    assert [found.where for found in read_entries("j.jsonl")] == ["j.jsonl, $[0]"]


@pytest.mark.parametrize("name", ["j.jsonl", "j.ndjson", "j.json", "j", "j.txt"])
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (A + b"\n" + B + b"\n", [1, 2]),
        (A + b"\n" + B, [1, 2]),
        (A + b"\r\n" + B + b"\r\n", [1, 2]),
        (b"\n\n" + A + b"\n \t\r\n" + B + b"\n\n", [3, 5]),
        (b"  " + A + b"  \n\t" + B, [1, 2]),
        (BOM + A + b"\n" + B + b"\n", [1, 2]),
        (BOM + b"\r\n" + A + b"\n" + B + b"\n", [2, 3]),
    ],
)
def test_a_job_a_line_is_found_under_any_name(
    name: str, text: bytes, lines: list[int], folder: Path
) -> None:
    (folder / name).write_bytes(text)
    found = list(read_entries(name))
    assert [each.text for each in found] == [A, B]
    assert [each.line for each in found] == lines
    assert [each.where for each in found] == [f"{name}, line {line}" for line in lines]


def test_a_line_alone_is_a_job_too(folder: Path) -> None:
    (folder / "j.jsonl").write_bytes(A)
    (folder / "j.json").write_bytes(A)
    assert list(read_entries("j.jsonl")) == [JobEntry("j.jsonl, line 1", "", A)]
    assert list(read_entries("j.json")) == [JobEntry("j.json", "", A)]


def test_a_file_of_blanks_has_no_line(folder: Path) -> None:
    (folder / "j.jsonl").write_bytes(b"\n \r\n\t")
    assert _texts("j.jsonl") == []


def test_paths_start_in_the_folder_of_the_file(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "j.jsonl").write_bytes(A)
    assert next(read_entries("in/j.jsonl")).folder == "in"


# Lists and single objects


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_is_cut_into_its_jobs(indent: int | None) -> None:
    jobs = [STRANGE, {}, STRANGE | {"id": "é"}]
    for mark in (b"", BOM):
        found = _cut(mark + json.dumps(jobs, indent=indent, ensure_ascii=False).encode())
        assert [json.loads(each.text) for each in found] == jobs
        assert [each.where for each in found] == ["f, $[0]", "f, $[1]", "f, $[2]"]


amply = drawn(150)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('"\\[]{},:é😀\n ', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\]}', max_size=3), inner)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text('"\\[]{}ab', max_size=3), JSON, max_size=3)


@amply
@given(
    jobs=st.lists(OBJECTS, max_size=4),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    blanks=st.text(" \t\r\n", max_size=4),
)
def test_cutting_a_list_finds_what_json_finds_and_where(
    jobs: list[Any], indent: int | None, ascii_only: bool, blanks: str
) -> None:
    text = json.dumps(jobs, indent=indent, ensure_ascii=ascii_only)
    text = f"{blanks}[{blanks}{text[1:-1]}{blanks}]{blanks}"
    found = _cut(text.encode())
    assert [json.loads(each.text) for each in found] == jobs
    lines = text.split("\n")
    for each in found:
        rest = "\n".join([lines[each.line - 1][each.column - 1 :], *lines[each.line :]])
        assert rest.encode().startswith(each.text)


@amply
@given(
    start=st.sampled_from(['[{"a":"\\\\\\""},{"b":[1,{"}":"]"}]},\n{}]', " [{}, {} ] "]),
    changes=st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 1), st.sampled_from('[]{},"\\ \n1a:')),
        max_size=3,
    ),
)
def test_what_json_refuses_is_refused_and_nothing_else(
    start: str, changes: list[tuple[int, int, str]]
) -> None:
    text = start
    for place, cut, put in changes:
        text = text[:place] + put + text[place + cut :]
    try:
        wanted = parse(text)
        wrong = not isinstance(wanted, list) or not all(isinstance(each, dict) for each in wanted)
    except InputError:
        wrong = True
    try:
        found = [parse(each.text) for each in _cut(text.encode())]
    except InputError:
        assert wrong
    else:
        assert found == (wanted if isinstance(wanted, list) else [wanted])


def test_a_list_may_be_empty() -> None:
    assert _cut(b" [ \n ] \n") == []


def test_a_single_object_may_go_over_lines(folder: Path) -> None:
    text = json.dumps(STRANGE, indent=2).encode()
    (folder / "j.json").write_bytes(BOM + text)
    assert list(read_entries("j.json")) == [JobEntry("j.json", "", text)]


# Where a text comes from


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            A + b"\n" + B,
            [
                JobEntry("standard input, line 1", "", A),
                JobEntry("standard input, line 2", "", B, 2),
            ],
        ),
        (b"[" + A + b"]", [JobEntry("standard input, $[0]", "", A, 1, 2)]),
        (A, [JobEntry("standard input", "", A)]),
    ],
)
def test_standard_input_may_have_any_form(text: bytes, found: list[JobEntry]) -> None:
    with standard_input(text):
        assert list(read_entries("-")) == found


def test_what_another_program_has_read_of_standard_input_is_no_part_of_it(folder: Path) -> None:
    (folder / "j").write_bytes(b"read\n" + json.dumps({"id": "a"}, indent=1).encode())
    saved = os.dup(0)
    fd = os.open("j", os.O_RDONLY)
    try:
        os.dup2(fd, 0)
        os.lseek(0, 5, os.SEEK_SET)
        assert _texts("-") == [b'{\n "id": "a"\n}']
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        os.close(fd)


def test_a_pipe_with_a_name_is_read_once(folder: Path) -> None:
    os.mkfifo("p")
    writer = threading.Thread(target=(folder / "p").write_bytes, args=(A + b"\n" + B,))
    writer.start()
    assert _texts("p") == [A, B]
    writer.join()


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_paths_of_what_the_shell_substitutes_start_in_the_working_folder(name: str) -> None:
    reader, writer = os.pipe()
    os.write(writer, A)
    os.close(writer)
    name = name.format(reader)
    assert list(read_entries(name)) == [JobEntry(name, "", A)]
    os.close(reader)


def test_a_folder_holds_files_of_jobs_by_name_and_what_is_hidden_is_left_out(folder: Path) -> None:
    for name in ("b.json", "a.jsonl", "c.ndjson", "in/d.json", "x.npy", "README", ".h.json"):
        (folder / "jobs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "jobs" / name).write_bytes(A)
    (folder / "jobs" / ".git").mkdir()
    (folder / "jobs" / ".git" / "e.json").write_bytes(A)
    (folder / "jobs" / "folder.json").mkdir()
    assert files("jobs") == ["jobs/a.jsonl", "jobs/b.json", "jobs/c.ndjson", "jobs/in/d.json"]
    assert files("-") == ["-"]
    assert files("absent") == ["absent"]


def test_a_folder_without_a_file_of_jobs_is_refused(folder: Path) -> None:
    (folder / "in\x1b").mkdir()
    with pytest.raises(InputError) as caught:
        files("in\x1b")
    assert caught.value.message == (
        "the folder `in\\x1b` has no file of jobs: expected .jsonl, .ndjson or .json"
    )
    assert caught.value.rule == "job"


def test_a_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "jobs" / "shut").mkdir(parents=True)
    (folder / "jobs" / "a.json").write_bytes(A)
    scan = os.scandir

    def refuse(path: str) -> Any:
        if path == "jobs/shut":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(NoInputError) as caught:
        files("jobs")
    assert caught.value.message == (
        "the folder `jobs/shut` cannot be searched (permission denied): expected a readable folder"
    )


@pytest.mark.parametrize(
    ("name", "message", "rule"),
    [
        (
            "absent.jsonl",
            "`absent.jsonl` cannot be read (no such file or directory): expected a file of jobs",
            "missing",
        ),
        ("in", "`in` is a directory: expected a file of jobs", "unreadable"),
        ("/dev/zero", "`/dev/zero` is a device: expected a file of jobs", "unreadable"),
        (
            "j.jsonl/k",
            "`j.jsonl/k` cannot be read (not a directory): expected a file of jobs",
            "unreadable",
        ),
        (
            "loop",
            "`loop` cannot be read (too many levels of symbolic links): expected a file of jobs",
            "unreadable",
        ),
        (
            "a\0",
            "`a\\x00` cannot be read (a NUL in its name): expected a file of jobs",
            "unreadable",
        ),
    ],
)
def test_what_is_no_file_is_refused_at_once(
    name: str, message: str, rule: str, folder: Path
) -> None:
    (folder / "in").mkdir()
    (folder / "j.jsonl").write_bytes(A)
    (folder / "loop").symlink_to("loop")
    with pytest.raises(NoInputError) as caught:
        list(read_entries(name))
    assert (caught.value.message, caught.value.rule) == (message, rule)


def test_a_similar_name_is_suggested(folder: Path) -> None:
    (folder / "jobs.jsonl").write_bytes(A)

    with pytest.raises(NoInputError) as caught:
        list(read_entries("job.jsonl"))

    assert caught.value.advice == "did you mean `jobs.jsonl`?"


def test_a_file_that_is_shut_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shut(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    (folder / "j.json").write_bytes(A)
    monkeypatch.setattr(os, "open", shut)  # nothing is shut to root
    assert _refused("j.json", NoInputError) == (
        "`j.json` cannot be read (permission denied): expected a file of jobs"
    )


# What is wrong, and where


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b'[{"id":"a"} {"id":"b"}]',
            "j.json: expecting ',' delimiter at line 1, column 13, where the text has "
            '`{"id":"b"}`: expected JSON',
        ),
        (
            b"[{},\n,{}]",
            "j.json: expecting value at line 2, column 1, where the text has `,{}]`: expected JSON",
        ),
        (
            b"[{}] x",
            "j.json: extra data at line 1, column 6, where the text has `x`: expected JSON",
        ),
        (
            b"[{}\n",
            "j.json: expecting ',' delimiter at line 2, column 1, at the end of the text: "
            "expected JSON",
        ),
        (
            b"[,{}]",
            "j.json: expecting value at line 1, column 2, where the text has `,{}]`: expected JSON",
        ),
        (
            b"[",
            "j.json: expecting value at line 1, column 2, at the end of the text: expected JSON",
        ),
        (b"[{}, 3]", "j.json, $[1]: the job is 3: expected an object"),
        (b"[[1], {}]", "j.json, $[0]: the job is [1]: expected an object"),
        (b'[{}, "}{"]', 'j.json, $[1]: the job is `"}{"`: expected an object'),
        (b"3", "j.json: the job is 3: expected an object"),
        (b"", "j.json: the file is empty: expected a job"),
        (b" \n", "j.json: the file is empty: expected a job"),
        (BOM, "j.json: the file is empty: expected a job"),
        (
            b"hello\n",
            "j.json: expecting value at line 1, column 1, where the text has `hello\\n`: "
            "expected JSON",
        ),
        (b"\xff\xfe[", "j.json: byte 0 is 0xff: expected UTF-8 text"),
        (
            b'[{"a":' + b"[" * 5000 + b"]" * 5000 + b"}]",
            "j.json, $[0]: brackets are nested too deeply: expected at most 64 dimensions",
        ),
    ],
)
def test_what_is_no_list_of_jobs_is_refused_with_the_place(
    text: bytes, message: str, folder: Path
) -> None:
    (folder / "j.json").write_bytes(text)
    with pytest.raises(InputError) as caught:
        list(map(job_files.read, _skipping_jobs("j.json")))
    assert (caught.value.message, caught.value.rule) == (message, "job")


def _skipping_jobs(path: str) -> Any:
    """Find what is no empty object: nothing is wrong with that here."""
    return (each for each in read_entries(path) if each.text not in (b"{}", A))


def test_a_first_line_that_is_wrong_is_refused_whatever_follows(folder: Path) -> None:
    (folder / "j.json").write_bytes(b'{"id" "a"}\n{"id":"b"}\n')
    assert _refused("j.json") == (
        "j.json: expecting ':' delimiter at line 1, column 7, where the text has "
        '`"a"}\\n{"id"`: expected JSON'
    )


def test_a_comma_behind_the_last_job_is_refused(folder: Path) -> None:
    (folder / "j.json").write_bytes(b"[{},\n]")  # the words differ between versions of Python
    with pytest.raises(InputError, match=r"^j\.json: .* at line \d, column \d"):
        list(read_entries("j.json"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "j.jsonl",
            A.replace(b"}", b',"op":"gather","data":1,"indices":0}') + b'\n\n  {"id":"b" "op"}',
            "j.jsonl, line 3: expecting ',' delimiter at column 13, where the text has "
            '`"op"}`: expected JSON',
        ),
        (
            "j.json",
            '[{"é😀":\n  ["é"]}, {"id":}]'.encode(),
            "j.json, $[1]: expecting value at line 2, column 17, where the text has `}`: "
            "expected JSON",
        ),
        (
            "j.json",
            '[{"é😀":"é"}, {\n"id":}]'.encode(),
            "j.json, $[1]: expecting value at line 2, column 6, where the text has `}`: "
            "expected JSON",
        ),
        (
            "j.json",
            b'{\n"id": nothing\n}',
            "j.json: expecting value at line 2, column 7, where the text has `nothing\\n}`: "
            "expected JSON",
        ),
    ],
)
def test_a_fault_of_syntax_is_placed_in_the_file(
    name: str, text: bytes, message: str, folder: Path
) -> None:
    (folder / name).write_bytes(text)
    found = list(read_entries(name))[-1]
    with pytest.raises(InputError) as caught:
        job_files.read(found)
    assert caught.value.message == message.replace("'}]'", "'}'")


def test_a_word_of_a_job_that_reads_as_a_place_is_left_as_it_is() -> None:
    key = '"at line 1, column 2"'
    found = JobEntry("f, $[3]", "", f"{{{key}:1,{key}:2}}".encode(), 7, 9)
    with pytest.raises(InputError) as caught:
        job_files.read(found)
    assert caught.value.message == f"f, $[3]: the key {key} is repeated: expected it once"


# How much may be in a file


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("j.jsonl", A + b'\n{"id":"' + b"x" * 60 + b'"}', "j.jsonl, line 2"),
        ("j.json", b"[" + A + b',{"id":"' + b"x" * 60 + b'"}]', "j.json, $[1]"),
        ("j.json", b'{"id":\n"' + b"x" * 60 + b'"}', "j.json"),
    ],
)
def test_a_job_that_is_too_long_is_refused(
    name: str, text: bytes, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobfile, "MAX_JOB_BYTES", 50)
    (folder / name).write_bytes(text)
    with pytest.raises(LimitError) as caught:
        list(read_entries(name))
    assert caught.value.message == f"{message}: the job is too long: expected at most 50 bytes"
    assert caught.value.expected == "at most 50 bytes"
    assert caught.value.hint == "a job may name files in place of long lists"


def test_a_list_may_be_longer_than_a_job_and_its_fault_is_still_placed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobfile, "MAX_JOB_BYTES", 50)
    assert len(_cut(b"[" + b",\n".join([A] * 20) + b"]")) == 20
    with pytest.raises(InputError) as caught:
        _cut(b"[" + b",\n".join([A] * 20) + b"\n" + B + b"]")
    assert caught.value.message == (
        "f: what stands before line 21, column 1, or there, is not part of a list of jobs: "
        "expected objects with commas between them"
    )


@pytest.mark.parametrize(
    "text",
    [
        b'[{"a":"' + b"x" * 5_000_000 + b'"}]',
        b'[{"a":"' + b"\\n" * 2_500_000 + b'"}]',
        b'[{"a":"' + b"x" * 5_000_000,
        b'[{"a":' + b"[" * 5_000_000,
        b'[{"a":' + b'"",' * 1_000_000,
        b"[" + b" " * 5_000_000,
        b" " * 5_000_000,
        b"\n" * 5_000_000 + b"[]",
        b"[" + b"1," * 1_000_000,
    ],
    ids=[
        "string",
        "escapes",
        "open string",
        "deep",
        "strings",
        "open",
        "blanks",
        "lines",
        "numbers",
    ],
)
def test_no_byte_of_a_large_part_of_a_list_is_looked_at_often(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    end = jobfile._JobText._end

    def counted(self: jobfile._JobText, pattern: re.Pattern[bytes], start: int) -> int:
        nonlocal looked
        stop = end(self, pattern, start)
        looked += 1 + stop - start
        return stop

    monkeypatch.setattr(jobfile._JobText, "_end", counted)
    with suppress(InputError):  # some of these are right
        _cut(text)

    assert looked <= 2 * len(text) + 10


def test_a_file_that_is_cut_while_it_is_mapped_has_changed(folder: Path) -> None:
    (folder / "j.jsonl").write_bytes((A + b" " * 100 + b"\n") * 1000)
    entries = read_entries("j.jsonl")
    next(entries)

    os.truncate("j.jsonl", 0)

    with pytest.raises(TransferError, match="changed while it was read"):
        list(entries)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("x.npy", b"\x93NUMPY\x01\0", "a .npy file"),
        ("x", b"PK\x03\x04", "a .npz file"),
        ("x", b"\x08\x07\x12\x04", "an ONNX model"),
        ("x", b"PAR1\x15", "a Parquet file"),
        ("i.csv", b"1,2\n3,4\n", "a .csv file"),
        ("i.tsv", b"1\t2\n", "a .tsv file"),
        ("j.yaml", b"op: gather\n", "a YAML file"),
        ("j", b"<?xml version='1.0'?><net/>", "an XML file"),
        ("j", b"<svg/>", "an SVG picture"),
        ("j", b"<?xml version='1.0'?>\n<svg/>", "an SVG picture"),
        ("j", b"<!DOCTYPE html>", "an HTML page"),
    ],
)
def test_what_is_known_to_be_something_else_is_no_file_of_jobs(
    name: str, text: bytes, what: str, folder: Path
) -> None:
    (folder / name).write_bytes(text)

    with pytest.raises(InputError) as caught:
        list(read_entries(name))

    assert (caught.value.message, caught.value.rule, caught.value.hint) == (
        f"`{name}` is {what}: expected a file of jobs",
        "job",
        "`gathercli man jobs` says how jobs are written; "
        "`--op gather --data 'in/*.npy' --indices …` makes them of tensors",
    )


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"op": "gahter"}, '`$.op` is `"gahter"`: expected gather, '),
        ({"axes": 0, "op": "gahter"}, '`$.op` is `"gahter"`: expected gather, '),
        ({"op": 3, "status": "ok"}, "`$.op` is 3: expected gather, "),
        ({"op": "shape", "of": "gahter"}, '`$.of` is `"gahter"`: expected gather, '),
    ],
    ids=str,
)
def test_an_unknown_operator_is_said_before_the_keys_of_another(
    job: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        parse_job(job, where="here")

    assert caught.value.message.startswith(f"here: {message}")
