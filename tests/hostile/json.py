"""Hostile JSON: plain lists, typed tensors, inference requests."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tests.hostile.case import answered, files_read, files_refused, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.case import Case, Content, Row

MISSING: Final = object()


def typed(
    shape: Any = MISSING, datatype: Any = "INT64", data: Any = MISSING, **more: Any
) -> dict[str, Any]:
    """Return a typed tensor of 5, 6, 7, or of what is said instead; None leaves a key out."""
    whole = {
        "shape": [3] if shape is MISSING else shape,
        "datatype": datatype,
        "data": [5, 6, 7] if data is MISSING else data,
    }
    return {key: value for key, value in whole.items() if value is not None} | more


def wrong(*given: Any, **more: Any) -> bytes:
    """Write a typed tensor as JSON."""
    return json.dumps(typed(*given, **more)).encode()


def request(*tensors: dict[str, Any], **more: Any) -> bytes:
    """Write an inference request as JSON."""
    return json.dumps({"inputs": tensors, **more}).encode()


def repeated(count: int, start: bytes, middle: bytes, stop: bytes = b"") -> Callable[[], bytes]:
    """Return what makes a long text."""
    return lambda: start + middle * count + stop


def _keys(count: int) -> bytes:
    return json.dumps({f"key{n}": n for n in range(count)}).encode()


def _wide(long: int, short: int) -> bytes:
    """Make one long string beside many empty ones, which numpy holds as wide as the long one."""
    return json.dumps(["x" * long, *[""] * short]).encode()


TEXTS: Final[list[Row]] = [
    ("of 5 MB of [", repeated(5 << 20, b"", b"["), "json", "nested too deeply"),
    ("of 5 MB of {", repeated(1 << 20, b"", b'{"a":'), "json", "nested too deeply"),
    ("of 500 brackets around 1", b"[" * 500 + b"1" + b"]" * 500, "limit", "at most 64"),
    ("of 500 brackets around nothing", b"[" * 500 + b"]" * 500, "limit", "at most 64"),
    ("of 65 brackets around nothing", b"[" * 65 + b"]" * 65, "limit", "at most 64"),
    ("of 501 brackets", b"[" * 501 + b"]" * 501, "json", "nested too deeply"),
    (
        "of 501 levels of both",
        b"[" + b'{"a":' * 500 + b"1" + b"}" * 500 + b"]",
        "json",
        "too deeply",
    ),
    ("of 500 objects in each other", b'{"a":' * 500 + b"1" + b"}" * 500, "json", "`$.a`"),
    ("of brackets and braces in turn", b'[{"a":' * 3000, "json", "nested too deeply"),
    ("of closing brackets", b"]" * 1000, "json", "line 1, column 1"),
    ("of crossed brackets", b"[1,2}", "json", "line 1, column 5"),
    ("of 10 MB of [],", repeated(3_500_000, b"[", b"[],", b"1]"), "ragged", "`$[3500000]`"),
    ("with a key twice", b'{"a":[1],"a":[1]}', "json", 'the key "a" is repeated'),
    ("with a key twice, once escaped", b'{"a":1,"\\u0061":1}', "json", 'the key "a" is repeated'),
    ("with a key twice, deep", b'{"a":{"b":1,"b":1}}', "json", 'the key "b" is repeated'),
    ("with an empty key twice", b'{"":1,"":1}', "json", 'the key "" is repeated'),
    ("with a shape twice", wrong()[:-1] + b',"shape":[1]}', "json", 'the key "shape"'),
    ("with a key of a megabyte twice", b'{"%s":1,"%s":1}' % ((b"k" * 10**6,) * 2), "json", "key"),
    ("with a surrogate", b'["\\udc80"]', "dtype", "`$[0]`"),
    ("with half a pair", b'["\\ud83d"]', "dtype", "`$[0]`"),
    ("with a pair the wrong way round", b'["\\ude00\\ud83d"]', "dtype", "`$[0]`"),
    ("with a surrogate for a key", b'{"\\ud800":null}', "json", "is null"),
    ("with half an escape", b'["\\u12"]', "json", "line 1"),
    ("with an unknown escape", b'["\\x41"]', "json", "line 1, column 3"),
    ("in UTF-16", "[1,2]".encode("utf-16-le"), "format", "5b 00 31 00"),
    ("in UTF-16 with a mark", "[1,2]".encode("utf-16"), "format", "ff fe"),
    ("in UTF-32", "[1,2]".encode("utf-32-be"), "format", "00 00 00 5b"),
    ("with a mark and nothing more", b"\xef\xbb\xbf", "json", ""),
    ("with two marks", b"\xef\xbb\xbf\xef\xbb\xbf[1]", "json", "line 1, column 1"),
    ("with a mark inside", b"[1,\xef\xbb\xbf2]", "json", "line 1, column 4"),
    ("that is no UTF-8 at its first byte", b"\x80[1]", "json", "byte 0 is 0x80"),
    ("that is no UTF-8 at byte 12", b'["abcdefgh",\xff]', "json", "byte 12 is 0xff"),
    ("that is no UTF-8 after a mark", b"\xef\xbb\xbf[\xff]", "json", "byte 4 is 0xff"),
    ("with a surrogate as UTF-8", b'["\xed\xa0\x80"]', "json", "byte 2 is 0xed"),
    ("with an overlong character", b'["\xc0\xaf"]', "json", "byte 2 is 0xc0"),
    ("with half a character", b'["\xe2\x82"]', "json", "byte 2 is 0xe2"),
    ("with a character past the last", b'["\xf4\x90\x80\x80"]', "json", "byte 2 is 0xf4"),
    ("with a NUL", b"[1,\0]", "format", "5b 31 2c 00"),
    ("with a NUL after it", b"[1]\0", "format", "5b 31 5d 00"),
    ("with a NUL far behind", b"[1" + b" " * 9000 + b"\0]", "format", "5b 31 20 20"),
    ("with ESC in a string", b'["\x1b[31m"]', "json", "line 1, column 3"),
    ("with a line break in a string", b'["a\nb"]', "json", "line 1, column 4"),
    ("with ESC between values", b"[1,\x1b2]", "json", "line 1, column 4"),
    ("with a blank that is none", b"[1,\xc2\xa02]", "json", "line 1, column 4"),
    ("with a comment", b"[1, /* two */ 2]", "json", "line 1, column 5"),
    ("with a comment of a line", b"# one\n[1]", "json", "line 1, column 1"),
    ("in single quotes", b"['a']", "json", "line 1, column 2"),
    ("of a Python tuple", b"(1,2)", "json", "line 1, column 1"),
    ("of True", b"[True]", "json", "line 1, column 2"),
    ("of None", b"[None]", "json", "line 1, column 2"),
    ("of an unquoted key", b"{a:1}", "json", "line 1, column 2"),
    ("that breaks off after a key", b'{"a"', "json", "line 1, column 5"),
    ("that breaks off in a string", b'["a', "json", "line 1, column 2"),
    ("that breaks off in a word", b"[tru", "json", "line 1, column 2"),
    ("with two commas", b"[1,,2]", "json", "line 1, column 4"),
    ("with a comma first", b"[,1]", "json", "line 1, column 2"),
    ("with a semicolon", b"[1;2]", "json", "line 1, column 3"),
    ("without commas", b"[1 2]", "json", "line 1, column 4"),
    ("of lines", b"[1]\n[2]\n", "json", "line 2, column 1"),
    ("of two values side by side", b"[1][2]", "json", "line 1, column 4"),
    ("followed by a word", b"[1]x", "json", "line 1, column 4"),
    ("of nan in small letters", b"[nan]", "json", "line 1, column 2"),
    ("of NAN in capitals", b"[NAN]", "json", "line 1, column 2"),
    ("of inf", b"[inf]", "json", "line 1, column 2"),
    ("of +Infinity", b"[+Infinity]", "json", "line 1, column 2"),
    ("of -NaN", b"[-NaN]", "json", "line 1, column 2"),
    ("of +1", b"[+1]", "json", "line 1, column 2"),
    ("of .5", b"[.5]", "json", "line 1, column 2"),
    ("of 5.", b"[5.]", "json", "line 1, column 3"),
    ("of 1e", b"[1e]", "json", "line 1, column 3"),
    ("of 0x10", b"[0x10]", "json", "line 1, column 3"),
    ("of 1_000", b"[1_000]", "json", "line 1, column 3"),
    ("of digits of another script", "[\u0663]".encode(), "json", "line 1, column 2"),
    ("of wide digits", "[\uff11]".encode(), "json", "line 1, column 2"),
    ("of a digit of another script behind one", "[1\u0663]".encode(), "json", "line 1, column 3"),
    ("of a minus alone", b"[-]", "json", "line 1, column 2"),
]

VALUES: Final[list[Row]] = [
    ("of an integer of 4301 digits", b"[%s]" % (b"9" * 4301), "dtype", "more than 4300 digits"),
    ("of an integer of a million digits", repeated(10**6, b"[", b"9", b"]"), "dtype", "4300"),
    ("of an integer of 4300 digits", b"[1,%s]" % (b"9" * 4300), "dtype", "`$[1]`"),
    ("of an integer of 4300 digits and a half", b"[0.5,%s]" % (b"9" * 4300), "dtype", "`$[1]`"),
    ("of 1e400", b"[[1,1e400]]", "dtype", "`$[0][1]` is 1e400"),
    ("of 1e309", b"[1e309]", "dtype", "`$[0]` is 1e309"),
    ("of -1e400", b"[-1e400]", "dtype", "`$[0]` is -1e400"),
    ("of 2^64", b"[18446744073709551616]", "dtype", "`$[0]` is 18446744073709551616"),
    ("of -2^63 - 1", b"[0,-9223372036854775809]", "dtype", "`$[1]` is -9223372036854775809"),
    ("of 2^63 and -1", b"[9223372036854775808,-1]", "dtype", "`$[0]`"),
    ("of -1 and 2^63", b"[[-1],[9223372036854775808]]", "dtype", "`$[1][0]`"),
    ("of 2^53 + 1 and NaN", b'["NaN",9007199254740993]', "dtype", "`$[1]` is 9007199254740993"),
    ("of true and 1", b"[true,1]", "dtype", "`$[1]` is 1, among booleans"),
    ("of 1 and true", b"[[1,2],[3,true]]", "dtype", "`$[1][1]` is true, among numbers"),
    ("of 1.5 and false", b"[1.5,false]", "dtype", "`$[1]` is false, among numbers"),
    ('of "1" and 1', b'["1",1]', "dtype", "`$[1]` is 1, among strings"),
    ('of NaN and "nan"', b'[NaN,"nan"]', "dtype", '`$[1]` is `"nan"`, among numbers'),
    ('of 1 and "inf"', b'[1,"inf"]', "dtype", "`$[1]`"),
    ("of null", b"null", "json", "`$` is null"),
    ("of nulls", b"[null,null]", "json", "`$[0]` is null"),
    ("of 1 and null", b"[[1],[null]]", "json", "`$[1][0]` is null"),
    ("of an object for an element", b'[[1],[{"a":1}]]', "json", "`$[1][0]` is an object"),
    ("of an object for a list", b'[[1],{"a":1}]', "ragged", "`$[1]` is an object"),
    ("of typed tensors in a list", b"[%s]" % wrong(), "json", "`$[0]` is an object"),
    ("of an empty object in a list", b"[{}]", "json", "`$[0]` is an object"),
    ("ragged at its end", b"[[1,2],[3,4],[5]]", "ragged", "`$[2]` has length 1"),
    ("ragged at its start", b"[[],[1]]", "ragged", "`$[1]` has length 1: expected length 0"),
    ("ragged three deep", b"[[[1],[2]],[[3],[4,5]]]", "ragged", "`$[1][1]` has length 2"),
    ("ragged sixty deep", b"[" * 60 + b"[1],[]" + b"]" * 60, "ragged", "[1]` has length 0"),
    ("of lists beside an element", b"[[1],2]", "ragged", "`$[1]` is 2 beside lists"),
    ("of an element beside lists", b"[1,[2]]", "ragged", "beside lists"),
    ("of elements of two depths", b"[[1],[[1]]]", "ragged", "beside lists"),
    ("of a string beside a list", b'["ab",["a","b"]]', "ragged", "beside lists"),
    ("of nothing but lists", b"{}", "json", "holds nothing"),
    ("of a NUL at the end of a string", b'["a\\u0000"]', "dtype", "`$[0]`"),
    ("of an object of objects", b'{"a":{"b":{"c":[1]}}}', "json", "`$.a`"),
    ("of an object of two", b'{"a":[1],"b":[2]}', "json", 'holds "a" and "b"'),
    ("of an object of null", b'{"a":null}', "json", "`$.a` is null"),
    ("of 300000 keys", partial(_keys, 300_000), "json", "299 990 more"),
]

TYPED: Final[list[Row]] = [
    ("tensor of shape [4]", wrong([4]), "json", "expected [4]"),
    ("tensor of shape [2]", wrong([2]), "json", "expected [2]"),
    ("tensor of shape []", wrong([]), "json", "expected []"),
    ("tensor of shape [0]", wrong([0]), "json", "expected [0]"),
    ("tensor of shape [3,0]", wrong([3, 0]), "json", "expected [3,0]"),
    ("tensor of shape [1,3] in lists of [3,1]", wrong([1, 3], data=[[5], [6], [7]]), "json",
     "[3,1]"),
    ("tensor of shape [-3]", wrong([-3]), "json", "`$.shape` is [-3]"),
    ("tensor of shape [-1,-3]", wrong([-1, -3]), "json", "`$.shape` is [-1, -3]"),
    ("tensor of shape [3.0]", wrong([3.0]), "json", "`$.shape` is [3.0]"),
    ("tensor of shape [true,3]", wrong([True, 3]), "json", "`$.shape` is [true"),
    ('tensor of shape ["3"]', wrong(["3"]), "json", '`$.shape` is [`"3"`]'),
    ("tensor of shape [null]", wrong([None]), "json", "`$.shape` is [null]"),
    ("tensor of shape [[3]]", wrong([[3]]), "json", "`$.shape` is [[...]]"),
    ("tensor of shape 3", wrong(3), "json", "`$.shape` is 3"),
    ('tensor of shape "3"', wrong("3"), "json", '`$.shape` is `"3"`'),
    ("tensor of shape {}", wrong({}), "json", "`$.shape` is an object"),
    ("tensor of shape false", wrong(False), "json", "`$.shape` is false"),
    ("tensor of shape [2^70]", wrong([2**70]), "json", "`$.shape`"),
    ("tensor of shape [2^63]", wrong([2**63]), "json", "`$.shape`"),
    ("tensor of shape [10^4000]", wrong([10**4000]), "json", "`$.shape`"),
    ("tensor of shape [NaN]", b'{"shape":[NaN],"datatype":"INT8","data":[]}', "json", "`$.shape`"),
    ("tensor of shape [1e400]", b'{"shape":[1e400],"datatype":"INT8","data":[]}', "json", "shape"),
    ("tensor of shape [2^63-1]", wrong([2**63 - 1]), "json", "expected [9223372036854775807]"),
    ("tensor of shape [2^32,2^32]", wrong([2**32, 2**32], data=[]), "json", "4294967296"),
    ("tensor of shape [2^62,4] and no data", wrong([2**62, 4], data=[]), "json", "expected"),
    ("tensor of shape [0,2^63-1]", wrong([0, 2**63 - 1], data=[]), "limit", ""),
    ("tensor of shape [0,2^40,2^40]", wrong([0, 2**40, 2**40], data=[]), "limit", ""),
    ("tensor of rank 65", wrong([1] * 65, data=[5]), "limit", "rank at most 64"),
    ("tensor of rank 65 and no data", wrong([0] * 65, data=[]), "limit", "rank at most 64"),
    ("tensor of rank 100000", wrong([1] * 100_000, data=[5]), "limit", "rank at most 64"),
    ("tensor of a shape 400 deep", b'{"shape":%s1%s,"datatype":"INT8","data":[]}'
     % (b"[" * 400, b"]" * 400), "json", "`$.shape`"),
    ("tensor without data", wrong(data=None), "json", 'expected the key "data"'),
    ("tensor without a datatype", wrong(datatype=None), "json", 'expected the key "datatype"'),
    ("tensor of a datatype that is null", b'{"datatype":null,"data":[5]}', "json", "datatype null"),
    ("tensor of datatype INT65", wrong(datatype="INT65"), "json", "INT65"),
    ("tensor of a datatype that is empty", wrong(datatype=""), "json", "`$`"),
    ("tensor of datatype int 64", wrong(datatype="int 64"), "json", "`$`"),
    ("tensor of a datatype of blanks", wrong(datatype=" INT64 "), "json", "`$`"),
    ("tensor of a datatype that is 64", wrong(datatype=64), "json", "64"),
    ("tensor of a datatype that is a list", wrong(datatype=["INT64"]), "json", "`$`"),
    ("tensor of a datatype that is an object", wrong(datatype={"a": 1}), "json", "`$`"),
    ("tensor of a datatype that is true", wrong(datatype=True), "json", "`$`"),
    ("tensor of a datatype of numpy", wrong(datatype="<i8"), "json", "<i8"),
    ("tensor of objects", wrong(datatype="object"), "json", "object"),
    ("tensor of a datatype of a megabyte", wrong(datatype="x" * 10**6), "json", "expected one of"),
    ("tensor of a datatype 400 deep", b'{"datatype":%s1%s,"data":[]}'
     % (b"[" * 400, b"]" * 400), "json", "`$`"),
    ("tensor of data that is null", b'{"shape":[1],"datatype":"INT8","data":null}', "json",
     "`$.data` is null"),
    ("tensor of data that is text", wrong(data="567"), "json", "`$.data`"),
    ("tensor of data that is an object", wrong(data={"0": 5}), "json", "`$.data` is an object"),
    ("tensor of data with null", wrong(data=[5, None, 7]), "json", "`$.data[1]` is null"),
    ("tensor of data of two depths", wrong(data=[5, [6], 7]), "ragged", "`$.data"),
    ("tensor of UINT8 with -1", wrong(datatype="UINT8", data=[5, -1, 7]), "dtype", "`$.data[1]`"),
    ("tensor of INT8 with 128", wrong(datatype="INT8", data=[5, 6, 128]), "dtype", "`$.data[2]`"),
    ("tensor of UINT64 with 2^64", wrong(datatype="UINT64", data=[2**64, 0, 0]), "dtype", "[0]`"),
    ("tensor of INT64 with 10^4000", wrong(data=[5, 10**4000, 6]), "dtype", "`$.data[1]`"),
    ("tensor of INT64 with NaN", wrong(data=[5, float("nan"), 6]), "dtype", "`$.data[1]`"),
    ("tensor of INT64 with 1.5", wrong(data=[5, 1.5, 6]), "dtype", "`$.data[1]` is 1.5"),
    ("tensor of INT64 with true", wrong(data=[5, True, 6]), "dtype", "`$.data[1]` is true"),
    ('tensor of INT64 with "6"', wrong(data=[5, "6", 7]), "dtype", "`$.data[1]`"),
    ("tensor of BOOL with 1", wrong(datatype="BOOL", data=[True, 1, False]), "dtype", "[1]` is 1"),
    ("tensor of BYTES with 6", wrong(datatype="BYTES", data=["a", 6, "b"]), "dtype", "[1]` is 6"),
    ("tensor of FP16 with 65520", wrong(datatype="FP16", data=[5, 65520, 6]), "dtype", "65520"),
    ("tensor of FP16 with 2049", wrong(datatype="FP16", data=[5, 2049, 6]), "dtype", "2049"),
    ("tensor of FP32 with 1e39", wrong(datatype="FP32", data=[5, 1e39, 6]), "dtype", "`$.data[1]`"),
    ("tensor of BF16 with 257", wrong(datatype="BF16", data=[5, 257, 6]), "dtype", "is 257"),
    ("tensor of FP64 with 10^400", wrong(datatype="FP64", data=[5, 10**400, 6]), "dtype", "[1]`"),
    ("tensor of COMPLEX64 with triples", wrong([1], "COMPLEX64", [[1, 2, 3]]), "json", "[1,3]"),
    ("tensor of COMPLEX64 with half a pair", wrong([2], "COMPLEX64", [[1, 2], [3]]), "ragged", "1"),
    ("tensor of COMPLEX64 with text", wrong([1], "COMPLEX64", [[1, "j"]]), "dtype", '`"j"`'),
    ("request without tensors", request(), "json", "holds nothing"),
    ("request of two", request(typed(name="a"), typed(name="b")), "json", 'holds "a" and "b"'),
    ("request of two of one name", request(typed(name="a"), typed([1], data=[9], name="a")),
     "json", '"a"'),
    ("request of an input and an output of one name",
     request(typed(name="a"), outputs=[typed([1], data=[9], name="a")]), "json", '"a"'),
    ("request of null", b'{"inputs":null}', "json", "`$.inputs` is null"),
    ("request of a tensor without data", request({"name": "a", "shape": [1]}), "json", "[0]`"),
    ("request of a tensor in binary", request({**typed(data=None, name="a"),
     "parameters": {"binary_data_size": 24}}), "json", "`$.inputs[0]`"),
    ("request of a request", request({"inputs": [typed(name="a")]}), "json", "`$.inputs[0]`"),
]  # fmt: skip

READ: Final[list[tuple[str, Content, str]]] = [
    ("with a mark", b"\xef\xbb\xbf[5]", "5"),
    ("of blanks of all sorts", b" \t\r\n[ 5\r,\n6 ]\n\n", "5"),
    ("of 64 brackets", b"[" * 64 + b"5" + b"]" * 64, "[" * 63 + "5" + "]" * 63),
    ("of 2^64 - 1", b"[18446744073709551615,0]", "18446744073709551615"),
    ("of -2^63", b"[-9223372036854775808]", "-9223372036854775808"),
    ("of -0", b"[-0]", "0"),
    ("of -0.0", b"[-0.0]", "-0.0"),
    ("of 1e-400", b"[1e-400]", "0.0"),
    ("of 1E5", b"[1E5]", "100000.0"),
    ("of NaN", b"[NaN]", '"NaN"'),
    ('of "-Infinity"', b'["-Infinity",1]', '"-Infinity"'),
    ("of a fraction of 5000 digits", b"[0.%s]" % (b"3" * 5000), "0.3333333333333333"),
    ("of a fraction of a million digits", repeated(10**6, b"[0.", b"0", b"1e999]"), "0.0"),
    ("of an empty list in a list", b"[[],[]]", "[]"),
    ("of a key that is empty", b'{"":[5]}', "5"),
    ("of a key that is a surrogate", b'{"\\ud800":[5]}', "5"),
    ("of 2^53 among fractions", b"[9007199254740992,0.5]", "9007199254740992.0"),
    ("of a typed tensor without a shape", wrong(None), "5"),
    ("of a typed tensor of dtype int64", b'{"dtype":"int64","data":[5]}', "5"),
    ("of a typed tensor of whole floats", wrong(data=[5.0, 6e0, 7]), "5"),
    ("of an escaped pair", b'["\\ud83d\\ude00"]', '"\U0001f600"'),
    ("of a million blanks", repeated(10**6, b"[5", b" ", b"]"), "5"),
    ("of a string of a megabyte", repeated(10**6, b'["', b"x", b'"]'), '"' + "x" * 10**6 + '"'),
]  # fmt: skip


def _either(*names: str) -> bytes:
    return request(*(typed(name=name) for name in names))


OTHERS: Final[list[Case]] = [
    refused(
        "json of one wide string beside a thousand empty ones",
        "gather x.json 0 --max-bytes 256M",
        "limit",
        "the strings take 4004000000 bytes, each as wide as the longest",
        files={"x.json": partial(_wide, 10**6, 1000)},
    ),
    refused(
        "json of a plain list asked for a key",
        "gather x.json#a 0",
        "json",
        "the document is not an object",
        files={"x.json": b"[1]"},
    ),
    refused(
        "json of a number asked for a key",
        "gather x.json#a 0",
        "json",
        "the document is not an object",
        files={"x.json": b"1"},
    ),
    refused(
        "json of 300000 keys asked for another",
        "gather x.json#key300001 0",
        "json",
        'expected the key "key300001"',
        files={"x.json": partial(_keys, 300_000)},
    ),
    refused(
        "json of a long key asked for a longer",
        ("gather", f"x.json#{'ab' * 1000}", "0"),
        "json",
        "expected the key",
        files={"x.json": json.dumps({"ba" * 1000: 1, "b": 2})},
    ),
    answered(
        "json key with dots and brackets is a key",
        ("gather", "x.json#$.a[0]", "0"),
        "5\n",
        files={"x.json": b'{"$.a[0]":[5],"a":[6]}'},
    ),
    answered(
        "json request on standard input for both tensors",
        ("gather", "-#data", "-#indices"),
        "[6]\n",
        stdin=request(typed(name="data"), typed([1], data=[1], name="indices")),
    ),
    refused(
        "json request on standard input without indices",
        ("gather", "-#data", "-#indices"),
        "json",
        "`indices`: standard input: ",
        'holds "data" and "index"',
        stdin=_either("data", "index"),
    ),
    refused(
        "json beyond the limit",
        "gather x.json 0 --max-bytes 1K",
        "limit",
        "2049 bytes to be held",
        files={"x.json": b"[" + b" " * 2047 + b"]"},
    ),
    refused(
        "json on standard input beyond the limit",
        "gather - 0 --max-bytes 1K",
        "limit",
        "2049 bytes of the text would take 4162",
        stdin=b"[" + b" " * 2047 + b"]",
    ),
    refused(
        "json of a thousand columns and its shape alone",
        "shape gather x.json 2",
        "ragged",
        "`$[1]`",
        files={"x.json": b"[[1],[]]"},
    ),
]

FILES: Final = files_refused("json", "x.json", TEXTS + VALUES + TYPED)
CASES: Final = FILES + files_read("json", "x.json", READ) + OTHERS
