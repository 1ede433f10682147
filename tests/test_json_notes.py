"""Notes on what JSON does not keep, and on what a JSON text has that nothing reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]
    Program = Callable[..., Any]

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
