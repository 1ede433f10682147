"""Names that are no files, files that are no tensors, outputs that cannot be written."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
import struct
import sys
import tarfile
from io import BytesIO
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.hostile.case import answered, files_refused, refused, used_wrongly
from tests.hostile.make import archive, npy
from tests.hostile.npy import Trap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.case import Case, Row

LINUX: Final = sys.platform == "linux"


# Names


def _link(target: str, name: str) -> Callable[[], None]:
    return lambda: os.symlink(target, name)


def _loop() -> None:
    os.symlink("b", "a")
    os.symlink("a", "b")


def _chain() -> None:
    os.symlink("nowhere", "l0")
    for number in range(60):
        os.symlink(f"l{number}", f"l{number + 1}")


def _socket() -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("x.npy")


def _folder_in_folder() -> None:
    os.makedirs("x.npy/x.npy")


LONG: Final = "n" * 300

NAMES: Final[list[tuple[str, str, str, str, Callable[[], object] | None]]] = [
    ("a folder named like a file", "x.npy", "unreadable", "is a directory", _folder_in_folder),
    ("a folder by a slash", "x.npy/", "unreadable", "is a directory", _folder_in_folder),
    ("the folder above", "..", "unreadable", "`..` is a directory", None),
    ("the root", "/", "unreadable", "`/` is a directory", None),
    ("a link to a folder", "l", "unreadable", "is a directory", _link("/", "l")),
    ("a socket", "x.npy", "unreadable", "`x.npy` is a socket", _socket),
    ("a link to a socket's absence", "l", "missing", "there is no file `l`", _link("no", "l")),
    ("a link to itself", "l", "unreadable", "`l` cannot be read", _link("l", "l")),
    ("two links in a circle", "a", "unreadable", "`a` cannot be read", _loop),
    ("a chain of 60 links", "l60", "unreadable", "`l60` cannot be read", _chain),
    ("a link to a device", "l", "unreadable", "`l` is a device", _link("/dev/zero", "l")),
    ("a file below a link to itself", "l/x", "unreadable", "`l/x` cannot", _link("l", "l")),
    ("a name of 300 letters", LONG, "unreadable", "cannot be read (file name too long)", None),
    ("a path of 4000 letters", "d/" * 2000, "missing", "there is no file", None),
    ("a path of 5000 letters", "d/" * 2500, "unreadable", "(file name too long)", None),
    ("a name of letters of two bytes", "é" * 200, "unreadable", "too long", None),
    ("a device that never ends", "/dev/zero", "unreadable", "`/dev/zero` is a device", None),
    ("a device that is full", "/dev/full", "unreadable", "`/dev/full` is a device", None),
    ("a device of nothing", "/dev/null", "unreadable", "`/dev/null` is a device", None),
    ("a device of chance", "/dev/urandom", "unreadable", "`/dev/urandom` is a device", None),
    ("a device by another path", "/dev/../dev/./zero", "unreadable", "is a device", None),
    ("a device with an at sign", "@/dev/zero", "unreadable", "`/dev/zero` is a device", None),
    ("a member of a device", "/dev/zero#a", "unreadable", "`/dev/zero` is a device", None),
    ("a terminal that is not there", "/dev/tty", "unreadable", "`/dev/tty` is a device", None),
    ("a descriptor that is not open", "/dev/fd/99999", "missing", "no file `/dev/fd/99999`", None),
    ("a file below a device", "/dev/zero/x", "missing", "no file `/dev/zero/x`", None),
    ("the memory of the process", "/proc/self/mem", "unreadable", "`/proc/self/mem`", None),
    ("a file that cannot be read", "/proc/self/clear_refs", "unreadable", "clear_refs", None),
    ("a pseudo folder", "/proc/self", "unreadable", "is a directory", None),
]
UNIX: Final = ("/proc", "/dev/full")

SYSTEM: Final[list[tuple[str, str, str, str]]] = [
    ("a pseudo file of text", "/proc/version", "json", "/proc/version: expecting value"),
    ("a pseudo file with NULs", "/proc/self/cmdline", "format", "/proc/self/cmdline: "),
    ("the program itself", sys.executable, "format", "starts with the bytes 7f 45 4c 46"),
]

ODD: Final = {
    "a hash first": "#x",
    "a hash last": "x#",
    "hashes": "a#b#c.npy",
    "an at sign first": "@x",
    "a dash first": "-x",
    "a dash alone": "-",
    "two dashes": "--",
    "an option": "--output=y.npy",
    "a colon": "arange:3",
    "an equals sign": "1xi64=5",
    "brackets": "[1]",
    "braces": "{}",
    "a comma": "0,1",
    "a number": "7",
    "blanks": " a b ",
    "a line break": "a\nb",
    "quotes": "'\"",
    "a backslash": "a\\b",
    "a pattern": "*",
    "a percent sign": "%s%n",
    "braces of a format": "{0}{x!r}",
    "a dollar sign": "$(touch sprung)",
    "a tilde": "~",
    "a true word": "true",
    "255 letters": "n" * 255,
    "a right-to-left word": "\u05d0\u05d1",
    "bytes that are no text": os.fsdecode(b"\xff\xfe"),
}


# Foreign formats


def _tar() -> bytes:
    raw = BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as file:
        info = tarfile.TarInfo("a.npy")
        info.size = len(npy())
        file.addfile(info, BytesIO(npy()))
    return raw.getvalue()


def _bmp() -> bytes:
    return b"BM" + struct.pack("<IHHI", 58, 0, 0, 54) + bytes(44)


PICKLED: Final = {"a trap": Trap(), "an array": np.arange(3), "a dictionary": {"a": [1]}}
TRAPS: Final[list[Row]] = [
    (f"of protocol {protocol} with {what}", pickle.dumps(held, protocol), "format", "a pickle")
    for what, held in PICKLED.items()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
]

FOREIGN: Final[list[Row]] = [
    ("that is empty", b"", "format", "the input is empty"),
    ("of blanks", b" \n\t\r" * 3000, "format", "the input is empty"),
    ("of NULs", bytes(5000), "format", "00 00 00 00 00 00 00 00"),
    ("of one NUL", b"\0", "format", "starts with the bytes 00"),
    ("of every byte", bytes(range(256)), "format", "00 01 02"),
    ("of 0xff", b"\xff" * 9000, "format", "ff ff ff ff"),
    ("of an old PyTorch", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "format", "an old"),
    ("of HDF5", b"\x89HDF\r\n\x1a\n" + bytes(64), "format", "an HDF5 file"),
    ("of gzip", gzip.compress(npy(), mtime=0), "format", "zcat x.dat"),
    ("of bzip2", b"BZh91AY&SY" + bytes(40), "format", "bzcat x.dat"),
    ("of xz", b"\xfd7zXZ\0" + bytes(40), "format", "xzcat x.dat"),
    ("of zstd", b"\x28\xb5\x2f\xfd" + bytes(40), "format", "zstdcat x.dat"),
    ("of 7-Zip", b"7z\xbc\xaf\x27\x1c" + bytes(40), "format", "37 7a bc af"),
    ("of tar", _tar, "format", "61 2e 6e 70 79 00"),
    ("of ELF", b"\x7fELF\2\1\1" + bytes(60), "format", "7f 45 4c 46"),
    ("of PNG", b"\x89PNG\r\n\x1a\n" + bytes(60), "format", "89 50 4e 47"),
    ("of BMP", _bmp, "format", "42 4d 3a 00"),
    ("of Parquet", b"PAR1" + bytes(60) + b"PAR1", "format", "a Parquet file"),
    ("of Arrow", b"ARROW1\0\0" + bytes(60), "format", "41 52 52 4f 57 31"),
    ("of MATLAB", b"MATLAB 5.0 MAT-file" + b" " * 105 + b"\0\1IM", "format", "4d 41 54 4c"),
    ("of SQLite", b"SQLite format 3\0" + bytes(60), "format", "53 51 4c 69"),
    ("of PDF", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "json", ""),
    ("of a magic with another case", b"\x93numpy\1\0" + bytes(120), "format", "93 6e 75"),
    ("of a magic after a blank", b" " + npy(), "format", "20 93 4e"),
    ("of a magic after a line break", b"\n" + npy(), "format", ""),
    ("of YAML", b"- 1\n- 2\n", "json", "line 1"),
    ("of TOML", b"a = [1]\n", "json", "line 1, column 1"),
    ("of XML", b"<?xml version='1.0'?><a/>", "format", "an XML file"),
    ("of HTML", b"<!doctype html><script>1</script>", "format", "an HTML page"),
    ("of Python", b"import os; os.mkdir('sprung')\n", "json", "line 1, column 1"),
    ("of shell", b"#!/bin/sh\ntouch sprung\n", "json", "line 1, column 1"),
    ("of numbers in columns", b"1 2 3\n4 5 6\n", "json", "line 1, column 3"),
    ("of numbers in lines", b"1\n2\n", "json", "line 2, column 1"),
]

CSV: Final[list[Row]] = [
    ("of numbers", b"1,2\n3,4\n", "format", "a .csv file"),
    ("of words", b"a,b\n", "format", "a .csv file"),
    ("with a mark", b"\xef\xbb\xbfa,b\n1,2\n", "format", "a .csv file"),
    ("of one formula", b'=cmd|"/C touch sprung"!A1,1\n', "format", "a .csv file"),
]


# Outputs

GATHER: Final = ("gather", "[5,6,7]", "[2,0]", "-o")


def _outputs() -> None:
    os.mkdir("folder")
    os.symlink("folder", "to-folder")
    os.symlink("nowhere.npy", "to-nothing.npy")
    os.symlink("to-nothing.npy", "to-link.npy")
    os.symlink("loop.npy", "loop.npy")
    with open("old.npy", "wb") as file:
        file.write(npy())
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.npy")


OUTPUTS: Final[list[tuple[str, tuple[str, ...], str]]] = [
    ("a folder", ("folder", "-f", "npy"), "`folder` cannot be written (it is a directory)"),
    ("a folder by a slash", ("folder/", "-f", "npy"), "it is a directory"),
    ("a folder that is not there", ("no/", "-f", "npy"), "`no/` cannot be written"),
    ("a link to a folder", ("to-folder", "-f", "json"), "it is a directory"),
    ("the folder", (".", "-f", "json"), "`.` cannot be written"),
    ("the root", ("/", "-f", "json"), "`/` cannot be written"),
    ("a file in no folder", ("no/x.npy",), "(no such file or directory)"),
    ("a file below a file", ("old.npy/x.npy",), "(not a directory)"),
    ("a file below a device", ("/dev/null/x.npy",), "(not a directory)"),
    ("a link to a link", ("to-link.npy",), "it links to a link"),
    ("a link to itself", ("loop.npy",), "`loop.npy` cannot be written"),
    ("a file below a link to itself", ("loop.npy/x.npy",), "cannot be written"),
    ("a socket", ("socket.npy",), "it is a device or socket"),
    ("a long name", (f"{LONG}.npy",), "(file name too long)"),
    ("a long path", (f"{'d/' * 2500}x.npy",), "(file name too long)"),
    ("an empty name", ("",), "the name is empty"),
    ("a folder of the kernel", ("/proc/x.npy",), "`/proc/x.npy` cannot be written"),
    ("a descriptor that is not open", ("/dev/fd/99999", "-f", "json"), "/dev/fd/99999"),
    ("a file that is there", ("old.npy", "--no-clobber"), "(it exists)"),
    ("a link that dangles", ("to-nothing.npy", "--no-clobber"), "(it exists)"),
    ("a folder that is there", ("folder", "--no-clobber", "-f", "npy"), "cannot be written"),
]

INTACT: Final[list[tuple[str, tuple[str, ...], str, str, int]]] = [
    ("an index past the end", ("gather", "old.npy", "[9]", "-V", "onnx-13"), "index-range",
     "index 9", 65),
    ("an axis it has not", ("gather", "old.npy", "0", "-a", "1"), "axis-range", "`axis` is 1", 65),
    ("an input that is missing", ("gather", "old.npy", "no.npy"), "missing", "`no.npy`", 66),
    ("an input that is a folder", ("gather", "folder", "0"), "unreadable", "`folder`", 66),
    ("a malformed literal", ("gather", "old.npy", "[0"), "literal", "line 1", 65),
    ("a limit", ("gather", "old.npy", "[0,0]", "--max-bytes", "9"), "limit", "at most 9", 65),
    ("an expectation that is malformed", ("gather", "old.npy", "0", "--expect", "[1"), "literal",
     "`expect`", 65),
    ("a number that is not finite",
     ("gather", "[NaN]", "0", "-f", "json", "--force-format", "--nonfinite", "error"), "json",
     "`--nonfinite error`", 65),
]  # fmt: skip

CASES: Final[list[Case]] = [
    *(
        refused(f"name of {sentence}", ("gather", name, "0"), rule, words, status=66, setup=setup)
        for sentence, name, rule, words, setup in NAMES
        if LINUX or not name.startswith(UNIX)
    ),
    *(
        refused(f"name of {sentence}", ("gather", name, "0"), rule, words)
        for sentence, name, rule, words in SYSTEM
        if LINUX
    ),
    *(
        answered(f"file named {sentence}", ("gather", f"@{name}", "1"), "6\n", files={name: npy()})
        for sentence, name in ODD.items()
    ),
    *(
        answered(f"file named {sentence} by its folder", ("gather", f"./{name}", "1"), "6\n",
                 files={name: npy()})
        for sentence, name in ODD.items()
    ),
    answered(
        "file named like a literal is the literal",
        "gather 0,1 1",
        "1\n",
        "`0,1` was read as a literal; the file of that name is `@0,1`",
        files={"0,1": npy()},
    ),
    answered(
        "file named like a shape is the shape",
        "shape gather [1] 2",
        "[2]\n",
        "`[1]` was read as a shape; the file of that name is `@[1]`",
        files={"[1]": npy()},
    ),
    answered(
        "file named like a malformed literal is the file",
        ("gather", "[1,", "1"),
        "6\n",
        files={"[1,": npy()},
    ),
    answered(
        "file named like a member is the file",
        "gather x.npz#a 1",
        "6\n",
        files={"x.npz#a": npy(), "x.npz": archive({"a.npy": npy(body=bytes(24))})},
    ),
    *files_refused("pickle", "x.pkl", TRAPS),
    *files_refused("pickle called npy", "x.npy", TRAPS),
    *files_refused("file", "x.dat", FOREIGN),
    *files_refused("csv", "x.csv", CSV),
    *(
        refused(f"output to {sentence}", GATHER + words, "output", shown, status=73, setup=_outputs)
        for sentence, words, shown in OUTPUTS
        if LINUX or not words[0].startswith(UNIX)
    ),
    *(
        refused(f"output to a full device as {fmt}", (*GATHER, "/dev/full", "-f", fmt), "output",
                "no space left on device", status=74)
        for fmt in ("json", "npy", "oip", "pretty", "literal")
        if LINUX
    ),
    *(
        refused(f"output over the input after {sentence}", (*argv, "-o", "old.npy"), rule, words,
                status=status, setup=_outputs)
        for sentence, argv, rule, words, status in INTACT
    ),
    *(
        used_wrongly(f"output with {sentence}", (*GATHER, name), "expected .npy, .npz, .json, ")
        for sentence, name in (
            ("no suffix", "x"),
            ("another suffix", "x.txt"),
            ("a suffix in capitals", "x.NPYZ"),
            ("a name that is a suffix", ".npy"),
            ("a suffix and a dot", "x.npy."),
            ("a suffix and a blank", "x.npy "),
        )
    ),
]  # fmt: skip
