"""JSON text: its forms, and what is malformed."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.errors import InputError
from gathercli.io.formats import literal
from gathercli.io.formats.jsontext import parse
from tests.tensorfiles import CHARACTERS, amply, assert_refused, encoded, read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Program, Run


@amply
@given(st.text(CHARACTERS.filter(lambda c: c != "\0")))
def test_json_is_read_as_it_was_written_by_others_too(word: str) -> None:
    for text in (json.dumps([word, "x"]), json.dumps([word, "x"], ensure_ascii=False)):
        found = literal.parse(text)
        assert found is not None
        assert found.array.tolist() == [word, "x"]


NAME: Final = "property name enclosed in double quotes"


BAD_JSON: Final[dict[str, tuple[bytes, str, str]]] = {
    "open brackets": (b"[" * 200_000, "json", "nested too deeply"),
    "deep brackets": (b"[" * 100_000 + b"]" * 100_000, "json", "nested too deeply"),
    "deep objects": (b'{"a":' * 100_000, "json", "nested too deeply"),
    "a rank of 65": (b"[" * 65 + b"1" + b"]" * 65, "limit", "rank at most 64"),
    "a repeated key": (b'{"a":[1],"a":[2]}', "json", 'the key "a" is repeated'),
    "another byte order": (
        "[1]".encode("utf-16"),
        "format",
        "expected .npy, .npz, .safetensors, .pb or JSON",
    ),
    "latin-1": ('["é"]'.encode("latin-1"), "json", "byte 2 is 0xe9"),
    "a lone continuation": (b"[\x80]", "json", "byte 1 is 0x80"),
    "an integer of 10000 digits": (b"[1" + b"0" * 10_000 + b"]", "dtype", "4300 digits"),
    "an integer of 4000 digits": (b"[1" + b"0" * 4000 + b"]", "dtype", "`$[0]`"),
    "a negative one": (b"[-1" + b"0" * 4000 + b"]", "dtype", "`$[0]`"),
    "2^64": (b"[0,18446744073709551616]", "dtype", "`$[1]`"),
    "2^64-1 beside -1": (b"[18446744073709551615,-1]", "dtype", "`$[0]`"),
    "2^53+1 beside a fraction": (b"[0.5,9007199254740993]", "dtype", "`$[1]`"),
    "1e400": (b"[0,1e400]", "dtype", "`$[1]` is 1e400"),
    "-1e400": (b"[-1e400]", "dtype", "`$[0]` is -1e400"),
    "an exponent without end": (b"[1e99999999999999999999]", "dtype", "`$[0]`"),
    "trailing text": (b"[1] x", "json", "line 1, column 5"),
    "a second document": (b"[1]\n[2]", "json", "line 2, column 1"),
    "an open list": (b"[1,\n2", "json", "line 2, column 2"),
    "a trailing comma": (b"[1,]", "json", "line 1, column 4"),
    "a leading zero": (b"[01]", "json", "line 1, column 3"),
    "a comment": (b"[1] // one", "json", "line 1, column 5"),
    "null": (b"null", "json", "`$` is null"),
    "a null inside": (b"[[1],[null]]", "json", "`$[1][0]` is null"),
    "an object inside": (b'[[1],[{"a":1}]]', "json", "`$[1][0]` is an object"),
    "no tensor in the object": (b'{"a":{"b":[1]}}', "json", "`$.a`"),
    "an empty object": (b"{}", "json", "holds nothing"),
    "two tensors": (b'{"a":[1],"b":[2]}', "json", 'holds "a" and "b"'),
    "a surrogate": (b'["x","\\ud800"]', "dtype", "`$[1]`"),
    "a NUL at the end": (b'["x","a\\u0000"]', "dtype", "`$[1]`"),
    "booleans and numbers": (b"[[true],[1]]", "dtype", "`$[1][0]` is 1"),
    "numbers and strings": (b'[1,"a"]', "dtype", "`$[1]`"),
    "a short list": (b"[[1,2],[3,4],[5]]", "ragged", "`$[2]`"),
    "a number beside lists": (b"[[1],2]", "ragged", "`$[1]`"),
    "a list beside numbers": (b"[1,[2]]", "ragged", "`$"),
    "a deep short list": (b"[[[1,2],[3]]]", "ragged", "`$[0][1]`"),
    "a typed tensor without its shape's values": (
        b'{"shape":[2],"datatype":"INT64","data":[1]}',
        "json",
        "expected [2]",
    ),
    "an unknown datatype": (b'{"shape":[1],"datatype":"INT65","data":[1]}', "json", "INT65"),
    "a shape of strings": (b'{"shape":["1"],"datatype":"INT8","data":[1]}', "json", "`$.shape`"),
    "a negative size": (b'{"shape":[-1],"datatype":"INT8","data":[1]}', "json", "`$.shape`"),
    "a value its type cannot hold": (
        b'{"shape":[2],"datatype":"INT8","data":[1,128]}',
        "dtype",
        "`$.data[1]` is 128",
    ),
    "a fraction among INT64": (b'{"shape":[1],"datatype":"INT64","data":[1.5]}', "dtype", "1.5"),
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_malformed_json_is_one_error_with_the_place(case: str, run: Run, folder: Path) -> None:
    raw, rule, words = BAD_JSON[case]
    (folder / "x.json").write_bytes(raw)
    assert words in assert_refused(run("gather", "x.json", "0"), rule)
    assert words in assert_refused(run("gather", "-", "0", stdin=raw), rule)


@pytest.mark.parametrize(
    ("text", "what", "place", "rest"),
    [
        ("[1,]", "expecting value", "line 1, column 4", "`]`"),
        ("[1, \n ]", "expecting value", "line 2, column 2", "`]`"),
        ('{"a":1 , }', f"expecting {NAME}", "line 1, column 10", "`}`"),
        ('{"a":1,', f"expecting {NAME}", "line 1, column 8", ""),
        ("{a:1}", f"expecting {NAME}", "line 1, column 2", "`a:1}`"),
        ("[1 2]", "expecting ',' delimiter", "line 1, column 4", "`2]`"),
        ('{"a" 1}', "expecting ':' delimiter", "line 1, column 6", "`1}`"),
        ("[1]x", "extra data", "line 1, column 4", "`x`"),
        ('["a', "unterminated string starting", "line 1, column 2", '`"a`'),
        ('["\\x41"]', "invalid \\escape", "line 1, column 3", '`\\x41"]`'),
        ('["\\u12"]', "invalid \\uXXXX escape", "line 1, column 4", '`u12"]`'),
        ('["a\tb"]', "invalid control character", "line 1, column 4", '`\\tb"]`'),
    ],
)
def test_every_python_says_the_same_of_malformed_json(
    text: str, what: str, place: str, rest: str
) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)

    near = f"where the text has {rest}" if rest else "at the end of the text"
    assert caught.value.message == f"{what} at {place}, {near}: expected JSON"
    assert caught.value.where == place


def test_words_of_python_that_nobody_knows_yet_are_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_: object, text: str) -> None:
        raise json.JSONDecodeError("Superfluous blank", text, 1)

    monkeypatch.setattr(json.JSONDecoder, "decode", fails)

    with pytest.raises(InputError, match=r"^malformed text at line 1, column 2, where"):
        parse("[ 1]")


@pytest.mark.parametrize("stack", [256, 1024])
def test_deep_json_is_refused_on_a_small_stack(stack: int, program: Program, folder: Path) -> None:
    for name, text in (("a", "[" * 9000), ("b", '{"a":[' * 20_000), ("c", f"{'[' * 9000}1")):
        (folder / f"{name}.json").write_text(text)
    refused = "brackets are nested too deeply: expected at most 64 dimensions"
    for argv, message in (
        (["gather", "a.json", "0"], f"`data`: a.json: {refused}"),
        (["gather", "b.json", "0"], f"`data`: b.json: {refused}"),
        (["info", "c.json"], f"c.json: {refused}"),
        (["batch", "a.json"], f"a.json: {refused}"),
        (["shape", "gather", '["N",' + "[" * 9000, "[1]"], "it is not a JSON list of dimensions"),
    ):
        ran = program(f"ulimit -s {stack}; $G {shlex.join(argv)}")

        assert ran.returncode == 65
        assert message.encode() in ran.stderr


@pytest.mark.parametrize(
    ("raw", "literal_text"),
    [
        (b"\xef\xbb\xbf[1,2]", "2xi64=[1 2]"),
        (b" \n[1 ,\t2]\r\n", "2xi64=[1 2]"),
        (b"[NaN,Infinity,-Infinity,1]", "4xf64=[nan inf -inf 1.0]"),
        (b'["NaN","Infinity","-Infinity",1]', "4xf64=[nan inf -inf 1.0]"),
        (b'["NaN","-Infinity"]', "2xf64=[nan -inf]"),
        (b'["NaN","nan"]', '2xstr=["NaN" "nan"]'),
        (b'["1","2"]', '2xstr=["1" "2"]'),
        (b"[-0,-0.0]", "2xf64=[0.0 -0.0]"),
        (b"[1e-400]", "1xf64=[0.0]"),
        (b'["\\ud83d\\ude00","\\u0000x"]', '2xstr=["\U0001f600" "\\u0000x"]'),
        (b"[9007199254740992,0.5]", "2xf64=[9007199254740992.0 0.5]"),
        (b'{"x":[1]}', "1xi64=[1]"),
        (b'{"name":"t","shape":[2,1],"datatype":"UINT8","data":[1,2]}', "2x1xu8=[[1][2]]"),
        (b'{"shape":[2,1],"datatype":"UINT8","data":[[1],[2]]}', "2x1xu8=[[1][2]]"),
        (b'{"dtype":"float16","data":[0.5]}', "1xf16=[0.5]"),
        (b'{"shape":[1],"datatype":"BF16","data":[1]}', "1xbf16=[1.0]"),
        (b'{"shape":[1],"datatype":"STRING","data":["a"]}', '1xstr=["a"]'),
        (b'{"shape":[1],"datatype":"BYTES","data":["a"]}', '1xstr=["a"]'),
        (b'{"shape":[1],"datatype":"COMPLEX64","data":[[1,-0.0]]}', "1xc64=[1.0-0.0j]"),
        (b'{"shape":[0,3],"datatype":"FP32","data":[]}', "0x3xf32=[]"),
        (
            b'{"outputs":[{"name":"o","shape":[1],"datatype":"BOOL","data":[true]}]}',
            "1xbool=[true]",
        ),
    ],
)
def test_every_form_of_json_is_read(raw: bytes, literal_text: str, tmp_path: Path) -> None:
    found = read(raw, tmp_path)
    assert encoded(found, "literal").decode() == literal_text + "\n"


def test_a_malformed_json_file_gets_no_advice_about_csv(run: Run, folder: Path) -> None:
    for text in ('{"a":[1],"a":[2]}', "[1,]", "[1,2"):
        (folder / "x.json").write_text(text)
        assert "csv" not in run("gather", "x.json", "0").err


def test_an_integer_never_passes_through_a_float(run: Run) -> None:
    big = str(2**63 - 1)
    assert run("gather", f"[{big},0]", "0") == (0, big + "\n", "")
    assert run("gather", f"1xi64={big}", "0") == (0, big + "\n", "")
    refused = run("gather", "[1]", f"[{2**32},0]", "-V", "onnx-13")
    assert "index 4294967296 at `[0]`" in refused.err
    refused = run("gather", "[1]", f"1xu64={2**64 - 1}", "--out-of-range", "error")
    assert "index 18446744073709551615 at `[0]`" in refused.err
