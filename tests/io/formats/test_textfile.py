"""Text on standard input that is no JSON: lists without brackets, literals, generators."""

from __future__ import annotations

import os
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from tests.house import absent_slice
from tests.processes import PATIENCE

if TYPE_CHECKING:
    from tests.conftest import Program, Run


LISTS: Final = {
    "commas": (b"0,1,2", "3xi64=[0 1 2]"),
    "commas and a line end": (b"0,1,2\n", "3xi64=[0 1 2]"),
    "commas and blanks": (b" 0, 1 ,2 ", "3xi64=[0 1 2]"),
    "a comma at the end": (b"0,1,\n", "2xi64=[0 1]"),
    "one element": (b"7,", "1xi64=[7]"),
    "blanks": (b"0 1 2\n", "3xi64=[0 1 2]"),
    "many blanks and tabs": (b"  0 \t 1\t\t2   \n\n", "3xi64=[0 1 2]"),
    "an element a line": (b"0\n1\n2\n", "3xi64=[0 1 2]"),
    "an element a line of Windows": (b"0\r\n1\r\n2\r\n", "3xi64=[0 1 2]"),
    "an element and a comma a line": (b"0,\n1,\n2\n", "3xi64=[0 1 2]"),
    "a byte order mark": (b"\xef\xbb\xbf0 1", "2xi64=[0 1]"),
    "a single number": (b"7\n", "xi64=7"),
    "a number that JSON has not": (b"+7", "xi64=7"),
    "leading zeros": (b"007 010", "2xi64=[7 10]"),
    "negative ones": (b"-1 -2", "2xi64=[-1 -2]"),
    "fractions": (b"0.5 1 .25", "3xf64=[0.5 1.0 0.25]"),
    "words for numbers": (b"nan -inf 1", "3xf64=[nan -inf 1.0]"),
    "booleans": (b"true,false", "2xbool=[true false]"),
    "complex numbers": (b"1+2j 3", "2xc128=[1.0+2.0j 3.0+0.0j]"),
    "the largest integer of all": (b"18446744073709551615 0", "2xu64=[18446744073709551615 0]"),
    "a typed literal": (b"2x2xi8=[[0 1][2 3]]\n", "2x2xi8=[[0 1][2 3]]"),
    "a typed literal of nothing": (b"0x3xf32=\n", "0x3xf32=[]"),
    "a literal without dimensions": (b"xf16=1.5\n", "xf16=1.5"),
    "strings": (b"2xstr=['a b' \"c\"]\n", '2xstr=["a b" "c"]'),
    "a generator": (b"arange:2x2xi16\n", "2x2xi16=[[0 1][2 3]]"),
}


@pytest.mark.parametrize("name", LISTS)
def test_standard_input_takes_what_an_argument_takes(name: str, run: Run) -> None:
    raw, written = LISTS[name]

    ran = run("convert", "-", "-", "--to", "literal", stdin=raw)

    assert ran == (0, f"{written}\n", "")


def test_a_result_written_as_a_literal_is_read_again(run: Run) -> None:
    first = run("gather", "2x2xf16=1 2 3 4", "1,0", "-f", "literal")

    assert run("gather", "-", "0", "-f", "literal", stdin=first.raw).out == "2xf16=[3.0 4.0]\n"


@pytest.mark.parametrize(
    "line",
    [
        "echo 0,2 | $G gather '[10,20,30]' -",
        "echo 0 2 | $G gather '[10,20,30]' -",
        "seq 0 2 2 | $G gather '[10,20,30]' -",
        "$G gather '[10,20,30]' <(seq 0 2 2)",
        "echo 0 2 > i.txt; $G gather '[10,20,30]' - < i.txt",
    ],
)
def test_what_a_shell_prints_serves_as_indices(line: str, program: Program) -> None:
    ran = program(line)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"[10,30]\n", b"")


def test_the_type_of_a_list_is_declared_as_that_of_any_other_text(run: Run) -> None:
    words = ("gather", "-", "1", "-f", "literal", "--data-dtype")

    assert run(*words, "i8", stdin=b"1 2 3").out == "xi8=2\n"
    assert run(*words, "f16", stdin=b"1 0.1").out == "xf16=0.099975586\n"
    assert run(*words, "i8", stdin=b"1 300").status == 65
    assert run(*words, "i16", stdin=b"2xi8=1 2").out == "xi16=2\n"


@pytest.mark.parametrize("declared", [(), ("--data-dtype", "float32")])
@pytest.mark.parametrize("separator", [" ", ",", "\n", ", ", " \r\n"])
@pytest.mark.parametrize("kind", [int, float])
def test_a_long_list_is_read_as_a_short_one(
    kind: type, separator: str, declared: tuple[str, ...], run: Run
) -> None:
    numbers = [kind(n) / 3 if kind is float else kind(n) for n in range(20_000)]
    raw = separator.join(map(str, numbers)).encode()
    assert len(raw) > 1 << 16

    ran = run("gather", "-", "[0,19999,4711]", *declared, stdin=raw)

    expected = np.array([numbers[0], numbers[19_999], numbers[4711]])
    assert ran.status == 0
    assert np.allclose(np.array(ran.out.strip("[]\n").split(","), float), expected, rtol=1e-6)


def test_a_long_mixed_list_is_read_too(run: Run) -> None:
    raw = b" ".join([b"1", b"0.5"] * 20_000)

    assert run("gather", "-", "[-1,-2]", stdin=raw) == (0, "[0.5,1.0]\n", "")


HINT: Final = "hint: a list is written `0,1,2`, `0 1 2` or a number a line\n"
EXPECTED: Final = ": expected a number, true or false"
BAD: Final = {
    "a word": (b"1 two 3", f"the element at `$[1]` is `two`{EXPECTED}", HINT),
    "an empty element": (b"1,,3", f"the element at `$[1]` is empty{EXPECTED}", HINT),
    "null": (b"1,null", f"the element at `$[1]` is `null`{EXPECTED}", HINT),
    "brackets": (b"1 [2]", f"the element at `$[1]` is `[2]`{EXPECTED}", HINT),
    "no text": (b"1 2 3\n\xff 4", "byte 6 is 0xff: expected UTF-8 text", ""),
    "a control character": (b"1 \x1b[2J", f"the element at `$[1]` is `\\x1b[2J`{EXPECTED}", HINT),
    "a table": (
        b"1 2\n3 4\n",
        "line 1 of 2 has several elements: expected all on one line, or one per line",
        "hint: a table is written as lists in a list: `[[0,1],[2,3]]`\n",
    ),
    "a line of two": (
        b"1\n2\n3 4\n5",
        "line 3 of 4 has several elements: expected all on one line, or one per line",
        "hint: a table is written as lists in a list: `[[0,1],[2,3]]`\n",
    ),
    "a literal of no type": (
        b"2xq=1",
        "`q` in the literal is not a type: expected one such as i64, f32 or bf16",
        "",
    ),
    "a generator without a shape": (
        b"zeros:",
        "`zeros:` has no shape: expected it after the colon, as in `arange:2x5xf32`",
        "",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_list_is_refused_with_the_place(name: str, run: Run) -> None:
    raw, message, hint = BAD[name]

    ran = run("gather", "-", "0", stdin=raw)

    assert ran == (
        65,
        "",
        f"error: `data`: standard input: {message}\n  openvino.Gather-8\n{hint}rule: literal\n",
    )


def test_a_table_with_commas_is_refused_as_a_csv_file(run: Run) -> None:
    ran = run("gather", "-", "0", stdin=b"1,2\n3,4\n")

    assert "standard input: line 1 of 2 has several elements" in ran.err
    assert "converts a .csv file and writes `stdin.npy`" in ran.err


@pytest.mark.parametrize("raw", [b"1 2 3", b"2xi8=1 2", b"arange:2"])
def test_a_list_and_a_literal_have_no_member(raw: bytes, run: Run) -> None:
    ran = run("gather", "-#a", "0", stdin=raw)

    assert (ran.status, ran.out) == (65, "")
    assert " has no member `a`: expected no key\n" in ran.err


def test_numbers_that_no_type_holds_are_refused_as_anywhere(run: Run) -> None:
    ran = run("gather", "-", "0", stdin=b"1 1e400")

    assert "standard input: the value at `$[1]` is 1e400, which float64 cannot hold" in ran.err
    assert ran.err.endswith("rule: dtype\n")


def test_an_endless_list_of_words_is_refused_at_the_first_of_them(program: Program) -> None:
    ran = program("(echo 1; yes two) | $G gather - 0")

    assert ran.returncode == 65
    assert b"the element at `$[1]` is `two`" in ran.stderr


@pytest.mark.parametrize("start", ["1", "9xi8=1"])
def test_an_endless_list_is_refused_at_the_limit(start: str, program: Program) -> None:
    ran = program(f"(echo {start}; yes 1) | $G gather - 0 --max-bytes 10M")

    assert ran.returncode == 65
    assert b"when parsed: expected at most 10000000 bytes" in ran.stderr


@pytest.mark.parametrize(
    "raw",
    [
        b'{"data":[5,6,7],"indices":[2]}',
        b'{"inputs":[{"name":"data","shape":[3],"datatype":"INT64","data":[5,6,7]},'
        b'{"name":"indices","shape":[1],"datatype":"INT64","data":[2]}]}',
    ],
)
def test_a_stream_of_both_tensors_is_told_how_both_are_named(raw: bytes, run: Run) -> None:
    ran = run("gather", "-", "0", stdin=raw)

    (hint,) = (line for line in ran.err.splitlines() if line.startswith("hint: "))
    assert hint == "hint: name both tensors: `-#data -#indices`"
    both = hint.split("`")[1].split()
    assert run("gather", *both, stdin=raw) == (0, "[7]\n", "")


def test_an_archive_of_both_tensors_is_told_so_too(run: Run, folder: Path) -> None:
    np.savez(folder / "both.npz", data=[5, 6, 7], indices=[2])

    ran = run("gather", "-", "0", stdin=(folder / "both.npz").read_bytes())

    assert "\nhint: name both members: `-#data -#indices`\n" in ran.err


# At a terminal


def at_terminal(words: tuple[str, ...], typed: bytes, folder: Path) -> tuple[int, bytes, bytes]:
    """Run a command with a terminal as its standard input, into which something is typed."""
    ours, theirs = os.openpty()
    mode = termios.tcgetattr(theirs)
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    process = subprocess.Popen(
        [sys.executable, "-m", "gathercli", *words],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    os.close(theirs)
    os.write(ours, typed)
    out, err = process.communicate(timeout=PATIENCE)
    os.close(ours)
    return process.returncode, out, err


WAITS: Final = b"note: type `data`, such as 0,1,2 or [[0,1],[2,3]], and end it with Ctrl-D\n"


def test_a_command_that_waits_for_a_person_says_for_what(folder: Path) -> None:
    assert at_terminal(("gather", "-", "0"), b"5,6,7\n\x04", folder) == (0, b"5\n", WAITS)


def test_it_names_the_tensor_that_is_to_be_typed(folder: Path) -> None:
    ran = at_terminal(("gather", "[5,6,7]", "-"), b"2 0\n\x04", folder)

    assert ran == (0, b"[7,5]\n", WAITS.replace(b"data", b"indices"))


def test_it_says_so_once_where_a_stream_holds_both(folder: Path) -> None:
    typed = b'{"data":[5,6,7],"indices":[2]}\n\x04'

    assert at_terminal(("gather", "-#data", "-#indices"), typed, folder) == (0, b"[7]\n", WAITS)


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "gather", "-", "0"),
        ("check", "gather", "-", "0"),
        ("compare", "-", "0"),
        ("shape", "gather", "-", "2"),
    ],
)
def test_every_command_that_waits_says_so(words: tuple[str, ...], folder: Path) -> None:
    if absent := absent_slice(words):
        pytest.skip(f"the package is without {absent}")

    status, out, err = at_terminal(words, b"5,6,7\n\x04", folder)

    assert (status, err) == (0, WAITS)
    assert out


@pytest.mark.parametrize("words", [("info", "-"), ("convert", "-", "-")])
def test_what_has_no_role_is_a_tensor(words: tuple[str, ...], folder: Path) -> None:
    status, _, err = at_terminal(words, b"5,6,7\n\x04", folder)

    assert (status, err) == (0, WAITS.replace(b"`data`", b"a tensor"))


@pytest.mark.parametrize("option", ["-q", "--json-errors"])
def test_nothing_is_said_to_whom_wants_no_notes(option: str, folder: Path) -> None:
    ran = at_terminal(("gather", "-", "0", option), b"5,6,7\n\x04", folder)

    assert ran == (0, b"5\n", b"")


def test_nothing_is_said_where_a_file_or_a_literal_is_read(folder: Path) -> None:
    assert at_terminal(("gather", "[5,6,7]", "0"), b"", folder) == (0, b"5\n", b"")


BACK = {
    "f16": "float16, which comes back as float64",
    "bf16": "bfloat16, which comes back as float64",
    "f32": "float32, which comes back as float64",
    "i8": "int8, which comes back as int64",
    "u32": "uint32, which comes back as int64",
    "u64": "uint64, which may come back as int64",
}


@pytest.mark.parametrize("short", [*BACK, "f64", "i64", "bool", "str"])
def test_a_type_that_plain_json_does_not_keep_is_a_note(short: str, run: Run) -> None:
    value = {"str": '"a"', "bool": "true"}.get(short, "1")

    ran = run("gather", f"2x{short}={value}", "0,", "-o", "x.json")
    back = run("info", "x.json", "-f", "json").out

    if short in BACK:
        assert ran.err == (
            f"note: plain JSON cannot carry the type {BACK[short]}; `-f oip` and npy can\n"
        )
        assert BACK[short].split()[-1] in back
    else:
        assert ran.err == ""


def test_the_note_is_for_a_file_and_a_pipe_and_not_for_another_format(program: Program) -> None:
    line = "$G gather 2xf32=1 0,"
    note = b"plain JSON cannot carry the type float32"

    piped = program(f"{line} | $G info -")
    into_file = program(f"{line} > out.txt")
    typed = program(f"{line} -f oip | $G info -")
    quiet = program(f"{line} -q | $G info -")

    assert note in piped.stderr
    assert into_file.stderr == typed.stderr == quiet.stderr == b""


@pytest.mark.parametrize("where", ["file", "literal"])
def test_a_key_that_no_typed_tensor_has_is_a_note(where: str, run: Run) -> None:
    text = '{"shape":[2],"datatype":"FP32","data":[1,2],"axis":0,"axes":1}'
    Path("x.json").write_text(text, encoding="utf-8")

    ran = run("gather", "x.json" if where == "file" else text, "0,", "-f", "npy")
    quiet = run("gather", "x.json" if where == "file" else text, "0,", "-f", "npy", "-q")

    assert ran.err == "note: the tensor at `$` has `axis` and `axes`, which nothing reads\n"
    assert (quiet.err, quiet.status) == ("", 0)


def test_the_keys_of_the_protocol_are_no_note(run: Run) -> None:
    text = '{"name":"a","shape":[1],"datatype":"FP32","data":[1],"parameters":{"x":1}}'

    ran = run("gather", text, "0,", "-f", "npy")

    assert (ran.status, ran.err) == (0, "")
