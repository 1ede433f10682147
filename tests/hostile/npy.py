"""Hostile .npy files."""

from __future__ import annotations

import pickle
import struct
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.hostile.case import answered, files_read, files_refused, refused
from tests.hostile.make import npy, saved

if TYPE_CHECKING:
    from tests.hostile.case import Case, Row

FIELDS: Final = "'descr': '<i8', 'fortran_order': False, 'shape': (3,)"


class Trap:
    """An object whose pickle makes a file named `sprung` when it is loaded."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return Path("sprung").touch, ()


def _of(text: str) -> bytes:
    return npy(text=text)


HEADERS: Final[list[Row]] = [
    ("whose version is 1.1", npy(version=(1, 1)), "npy", "the format version is (1, 1)"),
    ("whose version is 2.1", npy(version=(2, 1)), "npy", "the format version is (2, 1)"),
    ("whose version is 255.255", npy(version=(255, 255)), "npy", "is (255, 255)"),
    ("that says no header follows", npy(length=0), "npy", "header"),
    ("whose length ends inside the dictionary", npy(length=20), "npy", "header"),
    ("whose length ends one byte early", npy(length=117), "npy", "it has 25 bytes of elements"),
    ("whose length is one byte more", npy(length=119), "npy", "header"),
    ("whose length swallows the elements", npy(length=142), "npy", "header"),
    ("whose length is 10001", npy(length=10_001), "npy", "declares 10001 bytes"),
    ("whose length is 65535", npy(length=65_535), "npy", "declares 65535 bytes"),
    (
        "whose length is 2^31",
        npy(version=(2, 0), length=1 << 31),
        "npy",
        "declares 2147483648 bytes",
    ),
    ("whose header calls a function", _of('exec(\'open("sprung","w")\')'), "npy", "header"),
    (
        "whose descr calls a function",
        npy("__import__('pathlib').Path('sprung').touch()"),
        "npy",
        "header",
    ),
    ("whose shape calls a function", npy(shape="(len('abc'),)"), "npy", "header"),
    ("whose shape is a sum", npy(shape="(1+2,)"), "npy", "header"),
    ("whose shape is a power", npy(shape="(9**9**9,)"), "npy", "header"),
    ("whose shape repeats a tuple", npy(shape="(1,)*99999999"), "npy", "header"),
    ("whose shape is a comprehension", npy(shape="[3 for _ in 'a']"), "npy", "header"),
    ("whose header is a lambda", _of("lambda: 0"), "npy", "header"),
    ("whose descr is a lambda", npy("(lambda: '<i8')()"), "npy", "header"),
    ("whose descr is an f-string", npy("f'<i{8}'"), "npy", "header"),
    ("whose descr is a walrus", npy("(d := '<i8')"), "npy", "header"),
    ("whose header is a set", _of("{1, 2, 3}"), "npy", "header"),
    ("whose header is a list", _of("[1, 2, 3]"), "npy", "header"),
    ("whose header is a string", _of("'abc'"), "npy", "header"),
    ("whose header is a number", _of("3"), "npy", "header"),
    ("whose header is None", _of("None"), "npy", "header"),
    ("whose header is empty", _of(""), "npy", "header"),
    ("whose header is a comment", _of("# nothing"), "npy", "header"),
    ("whose header is two dictionaries", _of(f"{{{FIELDS}}} {{{FIELDS}}}"), "npy", "header"),
    ("whose header goes on", _of(f"{{{FIELDS}}}; 1"), "npy", "header"),
    ("whose header is indented", _of(f"\n  {{{FIELDS}}}\n 1"), "npy", "header"),
    ("whose header is 9000 opening parentheses", _of("(" * 9000), "npy", "header"),
    ("whose header is 4000 pairs of parentheses", _of("(" * 4000 + ")" * 4000), "npy", "header"),
    ("whose header is 9000 opening brackets", _of("[" * 9000), "npy", "header"),
    ("whose header is 9000 opening braces", _of("{" * 9000), "npy", "header"),
    ("whose header is 1500 nested dictionaries", _of("{1:" * 1500 + "}" * 1500), "npy", "header"),
    ("whose header is 9000 minus signs", _of("-" * 9000 + "1"), "npy", "header"),
    ("whose header is 9000 tildes", _of("~" * 9000 + "1"), "npy", "header"),
    ("whose header is 9000 digits", _of("9" * 9000), "npy", "header"),
    ("whose header is 3000 sums", _of("1+" * 3000 + "1"), "npy", "header"),
    ("whose header is 3000 attributes", _of("a" + ".b" * 3000), "npy", "header"),
    ("whose header is 3000 strings", _of("'a'" * 3000), "npy", "header"),
    ("whose header is an open string", _of("{'descr': '<i8"), "npy", "header"),
    ("whose header is an open triple string", _of("'''" + "a" * 100), "npy", "header"),
    ("whose header ends in a backslash", _of(f"{{{FIELDS}}}\\"), "npy", "header"),
    ("whose header holds a NUL", _of(f"{{{FIELDS}}}\0"), "npy", "header"),
    ("whose header holds a form feed and more", _of("\f\v\x1a{"), "npy", "header"),
    ("whose header holds ESC", _of("\x1b[31m{"), "npy", "header"),
    ("whose header declares an encoding", _of("# -*- coding: rot13 -*-\n{"), "npy", "header"),
    ("whose header is utf-16", npy(text="{}".encode("utf-16")), "npy", "byte 10 is 0xff"),
    ("whose header is latin-1", npy("'<\xe98'"), "npy", "is 0xe9"),
    ("without fortran_order", _of("{'descr':'<i8','shape':(3,)}"), "npy", "header"),
    ("without descr", _of("{'fortran_order':False,'shape':(3,)}"), "npy", "header"),
    ("with a key twice", _of(f"{{'shape': (9,), {FIELDS}}}"), "npy", "names `shape` twice"),
    ("with a fourth key", _of(f"{{{FIELDS}, 'more': 1}}"), "npy", "header"),
    ("with a key that is a number", _of(f"{{{FIELDS}, 1: 1}}"), "npy", "header"),
    (
        "with keys of bytes",
        _of("{b'descr':'<i8',b'fortran_order':False,b'shape':(3,)}"),
        "npy",
        "header",
    ),
    ("whose keys cannot be hashed", _of("{[]: 1}"), "npy", "header"),
    ("whose order is None", npy(order="None"), "npy", "header"),
    ("whose order is text", npy(order="'False'"), "npy", "header"),
    ("whose order is 0", npy(order="0"), "npy", "header"),
    ("whose order is a list", npy(order="[]"), "npy", "header"),
]

SHAPES: Final[list[Row]] = [
    ("whose shape is a number", npy(shape="3"), "npy", "header"),
    ("whose shape is None", npy(shape="None"), "npy", "header"),
    ("whose shape is text", npy(shape="'3'"), "npy", "header"),
    ("whose shape is a dictionary", npy(shape="{3: 3}"), "npy", "header"),
    ("with a size that is text", npy(shape="('3',)"), "npy", "header"),
    ("with a size that is None", npy(shape="(None,)"), "npy", "header"),
    ("with a size that is a tuple", npy(shape="((3,),)"), "npy", "header"),
    ("with a complex size", npy(shape="(3j,)"), "npy", "header"),
    ("with a size of 3.0", npy(shape="(3.0,)"), "npy", "header"),
    ("with a size of 1e400", npy(shape="(1e400,)"), "npy", "header"),
    ("with a size of True", npy(shape="(True, 3)"), "npy", "(True, 3)"),
    ("with a size of -3", npy(shape="(-3,)"), "npy", "(-3,)"),
    ("with two negative sizes that multiply to 3", npy(shape="(-1, -3)"), "npy", "(-1, -3)"),
    ("with a negative size beside 0", npy(shape="(0, -1)", body=b""), "npy", "(0, -1)"),
    ("with a size of -2^63", npy(shape=f"({-(2**63)},)"), "npy", "-9223372036854775808"),
    ("with a size of 2^31", npy(shape=f"({2**31},)"), "npy", "truncated"),
    ("with a size of 2^59", npy(shape=f"({2**59},)"), "npy", "truncated"),
    ("with a size of 2^60", npy(shape=f"({2**60},)"), "limit", "[1152921504606846976]"),
    ("with a size of 2^63", npy(shape=f"({2**63},)"), "limit", "9223372036854775808"),
    ("with a size of 2^64 + 3", npy(shape=f"({2**64 + 3},)"), "limit", "18446744073709551619"),
    (
        "with sizes that multiply to 2^64",
        npy("'|i1'", shape=f"({2**32}, {2**32})", body=b""),
        "limit",
        "4294967296",
    ),
    (
        "with sizes that multiply to 2^64 + 3 bytes",
        npy("'|i1'", shape="(67280421310721, 274177)", body=b"\0"),
        "limit",
        "274177",
    ),
    ("with 65 sizes", npy(shape=f"({'1,' * 65})", body=bytes(8)), "limit", "rank at most 64"),
    ("with 3000 sizes", npy(shape=f"({'1,' * 3000})", body=bytes(8)), "limit", "rank at most 64"),
    ("with 3000 sizes of 0", npy(shape=f"({'0,' * 3000})", body=b""), "limit", "rank at most 64"),
    ("with a size of 4000 digits", npy(shape=f"(1{'0' * 4000},)"), "limit", "2^63"),
    ("with 2 elements more than it says", npy(shape="(1,)"), "npy", "longer than it says"),
    ("with 8 bytes more than its one element", npy(shape="()", body=bytes(16)), "npy", "longer"),
    ("without its one element", npy(shape="()", body=b""), "npy", "truncated"),
    ("of no elements with a byte", npy(shape="(0,)", body=b"\0"), "npy", "longer"),
    ("half a last element", npy(body=bytes(20)), "npy", "it has 20 bytes"),
    ("followed by a second file", npy() + npy(), "npy", "it has 176 bytes"),
    ("followed by an archive", npy() + b"PK\3\4" + bytes(60), "npy", "longer"),
    ("of widths that lie", npy("'<i4'"), "npy", "expected 12, for i32[3]"),
]

TYPES: Final[list[Row]] = [
    ("of objects", npy("'|O'"), "npy", "only pickle can load"),
    ("of objects of another spelling", npy("'O8'"), "npy", "only pickle can load"),
    (
        "of objects that spring a trap",
        npy("'|O'", "(1,)", pickle.dumps([Trap()])),
        "npy",
        "only pickle can load",
    ),
    ("of no objects at all", npy("'|O'", "(0,)", b""), "npy", "only pickle can load"),
    ("of a structure", npy("[('a', '<i8')]"), "npy", "the type is"),
    ("of a structure with an object", npy("[('a', '|O')]"), "npy", "only pickle can load"),
    ("of an empty structure", npy("[]", body=b""), "npy", "the type is"),
    ("of a nested structure", npy("[('a', [('b', '<i8')])]"), "npy", "the type is"),
    ("of a structure with a twice", npy("[('a', '<i4'), ('a', '<i4')]"), "npy", "header"),
    ("of a structure with ESC in a name", npy("[('\\x1b[31m', '<i8')]"), "npy", "the type is"),
    ("of a structure with a title", npy("[(('t', 'a'), '<i8')]"), "npy", "the type is"),
    ("of a structure in words", npy("'i4,i4'"), "npy", "the type is"),
    ("of a subarray", npy("('<i8', (1,))"), "npy", "the type is"),
    ("of a subarray of nothing", npy("('<i8', (0,))", body=b""), "npy", "the type is"),
    ("of a subarray in words", npy("'(2,)i4'", body=bytes(24)), "npy", "the type is"),
    ("of a huge subarray", npy("('|i1', (2147483647, 9))", body=b""), "npy", "numpy"),
    ("of a dictionary", npy("{'names': ['a'], 'formats': ['<i8']}"), "npy", "numpy"),
    ("of a type that is None", npy("None"), "npy", "numpy"),
    ("of a type that is a number", npy("8"), "npy", "numpy"),
    ("of a type without a name", npy("''"), "npy", "numpy"),
    ("of a type that is a blank", npy("' '"), "npy", "numpy"),
    ("of a type that does not exist", npy("'<q8z'"), "npy", "numpy"),
    ("of a type of many letters", npy(f"'{'x' * 5000}'"), "npy", "numpy"),
    ("of integers of 3 bytes", npy("'<i3'"), "npy", "numpy"),
    ("of integers of 0 bytes", npy("'<i0'", body=b""), "npy", ""),
    ("of integers of -8 bytes", npy("'<i-8'"), "npy", "numpy"),
    ("of dates", npy("'<M8[s]'"), "npy", "datetime64[s]"),
    ("of dates without a unit", npy("'<M8'"), "npy", "datetime64"),
    ("of durations", npy("'<m8[25ns]'"), "npy", "timedelta64[25ns]"),
    ("of byte strings", npy("'|S8'"), "npy", "the type is |S8"),
    ("of byte strings of no width", npy("'|S0'", body=b""), "npy", "the type is"),
    ("of void", npy("'|V8'"), "npy", "the type is"),
    ("of void of no width", npy("'|V0'", body=b""), "npy", ""),
    ("of two opaque bytes", npy("'|V2'", body=bytes(6)), "npy", "`--data-dtype bfloat16`"),
    ("of long floats", npy("'<f16'", body=bytes(48)), "npy", ""),
    ("of long complex numbers", npy("'<c32'", body=bytes(96)), "npy", ""),
    ("of strings of no width", npy("'<U0'", body=b""), "npy", "the type is <U0"),
    ("of 4.6e18 strings of no width", npy("'<U0'", f"({2**62},)", b""), "npy", "the type is <U0"),
    ("of strings of width -1", npy("'<U-1'"), "npy", "numpy"),
    ("of strings of width 2^29", npy(f"'<U{2**29}'", "(1,)", b""), "npy", ""),
    ("of strings of width 2^62", npy(f"'<U{2**62}'", "(1,)", b""), "npy", ""),
    (
        "of strings with a surrogate",
        npy("'<U2'", "(2,)", struct.pack("<4I", 97, 98, 99, 0xDC80)),
        "npy",
        "element 1 holds the code point 0xdc80",
    ),
    (
        "of strings with a code point past the last",
        npy("'<U1'", "(1,)", b"\xff\xff\xff\xff"),
        "npy",
        "element 0 holds the code point 0xffffffff",
    ),
    (
        "of strings of the other byte order",
        npy("'>U1'", "(1,)", struct.pack("<I", 97)),
        "npy",
        "element 0 holds the code point 0x61000000",
    ),
]

READ: Final = [
    ("of one row of no columns", npy(shape="(1, 0)", body=b""), "[]"),
    ("with a size of 0 beside the largest", npy("'|i1'", f"(1, 0, {2**63 - 1})", b""), "[]"),
    ("of rank 64", npy("'|i1'", f"({'1,' * 64})", b"\7"), "[" * 63 + "7" + "]" * 63),
    ("in Fortran order", npy("'|i1'", "(2, 3)", bytes(range(6)), order="True"), "[0,2,4]"),
    ("of big-endian integers", npy("'>i8'", body=struct.pack(">3q", 5, 6, 7)), "5"),
    ("of native integers", npy("'=i8'"), "5"),
    ("whose header has a comment", _of(f"{{{FIELDS}}} # hello"), "5"),
    ("whose header has line breaks", _of("{" + FIELDS.replace(" ", "\n") + "}"), "5"),
    ("whose sizes are hexadecimal", npy(shape="(0x3,)"), "5"),
    ("whose header is nearly the longest", npy(text="{" + FIELDS + " " * 9900 + "}"), "5"),
    ("of wide strings", npy("'<U3'", "(1,)", struct.pack("<3I", 97, 0, 98)), '"a\\u0000b"'),
    ("of bytes that are no booleans", npy("'|b1'", body=b"\xff\0\1"), "true"),
]


def _sparse(declared: int) -> None:
    """Make a file of 3 GiB that takes no room."""
    with open("x.npy", "wb") as file:
        file.write(npy("'|i1'", f"({declared},)", b""))
        file.truncate(3 << 30)


def _sparse_header() -> None:
    with open("x.npy", "wb") as file:
        file.write(npy(version=(2, 0), length=(3 << 30) - 12, body=b""))
        file.truncate(3 << 30)


SPARSE: Final[list[Case]] = [
    refused(
        "npy of 3 GiB whose header is all of it",
        "gather x.npy 0",
        "npy",
        "the header declares 3221225460 bytes",
        setup=_sparse_header,
    ),
    refused(
        "npy of 3 GiB that says it has one byte",
        "gather x.npy 0",
        "npy",
        "longer than it says: it has 3221225344 bytes of elements",
        setup=partial(_sparse, 1),
    ),
    answered(
        "npy of 3 GiB of zeros is mapped and not held",
        "gather x.npy [3221225343,0] --max-bytes 1K",
        "[0,0]\n",
        setup=partial(_sparse, (3 << 30) - 128),
    ),
    answered(
        "npy of 3 GiB has a shape",
        "shape gather x.npy 1",
        "[1]\n",
        setup=partial(_sparse, (3 << 30) - 128),
    ),
]

OTHERS: Final[list[Case]] = [
    refused(
        "npy asked for a member", "gather x.npy#a 0", "npy", "no member `a`", files={"x.npy": npy()}
    ),
    refused(
        "npy of strings as indices",
        "gather [1] x.npy",
        "indices-dtype",
        "`indices` is string",
        files={"x.npy": saved(["0"])},
    ),
    refused(
        "npy of floats as indices",
        "gather [1] x.npy",
        "indices-dtype",
        "`indices` is float64",
        files={"x.npy": saved([np.nan])},
    ),
    refused(
        "npy of booleans as indices",
        "gather [1,2] x.npy",
        "indices-dtype",
        "`indices` is bool",
        files={"x.npy": saved([True, False])},
    ),
    refused(
        "npy of 9999 opening brackets and a shape alone",
        "shape gather x.npy 0",
        "npy",
        "header",
        files={"x.npy": _of("[" * 9000)},
    ),
    refused(
        "npy truncated and its shape alone",
        "shape gather x.npy 0",
        "npy",
        "truncated",
        files={"x.npy": npy()[:-1]},
    ),
    refused(
        "npy of objects and its shape alone",
        "shape gather x.npy 0",
        "npy",
        "only pickle",
        files={"x.npy": npy("'|O'")},
    ),
    refused(
        "npy of 4.6e18 strings and its shape alone",
        "shape gather x.npy 0",
        "npy",
        "<U0",
        files={"x.npy": npy("'<U0'", f"({2**62},)", b"")},
    ),
]

FILES: Final = files_refused("npy", "x.npy", HEADERS + SHAPES + TYPES)
CASES: Final = FILES + files_read("npy", "x.npy", READ) + SPARSE + OTHERS
