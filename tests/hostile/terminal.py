"""Characters that a terminal acts on, or hides, everywhere a stranger can put them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from tests.hostile.case import answered, refused
from tests.hostile.make import archive, npy, saved

if TYPE_CHECKING:
    from tests.hostile.case import Case

NASTY: Final = (
    "\x1b[31m\x9b7m\x07\r\n\t\x7f\u202e\u200b\u2066\ufeff\u2028\U000e0041[link=x]y[/link][/]"
)
"""ESC, C1, BEL, line breaks, DEL, bidi and zero-width characters, tags, markup."""

SHOWN: Final = (
    r"\x1b[31m\x9b7m\x07\x0d\x0a\x09\x7f\u202e\u200b\u2066\ufeff\u2028\U000e0041"
    "[link=x]y[/link][/]"
)
"""How all of it is shown."""

NAME: Final = NASTY.replace("/", "!")
SHOWN_NAME: Final = SHOWN.replace("/", "!")
IN_JSON: Final = json.dumps(NASTY)

KINDS: Final = {
    "ESC": ("\x1b[2J", r"\x1b[2J"),
    "a title": ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
    "C1": ("\x9b2J", r"\x9b2J"),
    "NEL": ("\x85", r"\x85"),
    "BEL": ("\x07", r"\x07"),
    "backspaces": ("a\b\bb", r"a\x08\x08b"),
    "a carriage return": ("a\rb", r"a\x0db"),
    "a line break": ("a\nerror: b", r"a\x0aerror: b"),
    "DEL": ("\x7f", r"\x7f"),
    "a bidi override": ("\u202e", r"\u202e"),
    "a bidi isolate": ("\u2067", r"\u2067"),
    "an Arabic mark": ("\u061c", r"\u061c"),
    "a zero-width joiner": ("a\u200db", r"a\u200db"),
    "a word joiner": ("a\u2060b", r"a\u2060b"),
    "a byte order mark": ("a\ufeffb", r"a\ufeffb"),
    "a line separator": ("a\u2028b", r"a\u2028b"),
    "tags": ("\U000e0061", r"\U000e0061"),
    "a vowel separator of no width": ("a\u180eb", r"a\u180eb"),
    "a control of symmetric swapping": ("a\u206ab", r"a\u206ab"),
    "an annotation of no width": ("a\ufff9b", r"a\ufff9b"),
    "a byte that is no text": ("\udcff", r"\xff"),
    "a link in markup": ("[link=x]y[/link]", "[link=x]y[/link]"),
    "markup that closes nothing": ("[/]", "[/]"),
    "markup of a colour": ("[red]x", "[red]x"),
    "a backquote": ("a`b", "a`b"),
}
"""Each in a name of a file, and how it is shown."""


def _named(kind: str, raw: str, shown: str) -> list[Case]:
    name = f"n{raw.replace('/', '!')}"
    seen = f"n{shown.replace('/', '!')}"
    return [
        refused(
            f"{kind} in the name of a missing file",
            ("gather", name, "0"),
            "missing",
            f"there is no file `{seen}`",
            status=66,
        ),
        refused(
            f"{kind} in the name of a malformed file",
            ("gather", name, "0"),
            "json",
            f"`data`: {seen}: ",
            files={name: b"[1,"},
        ),
    ]


PRETTY: Final = (
    "openvino.Gather-8   axis 0   batch_dims 0   out[i] = data[indices[i]]\n"
    "data str[1]   indices i64[1]   out str[1]\n"
    "shape  data[:0] + indices[0:] + data[1:]  =  [] + [1] + []  =  [1]\n\n[0]\n"
)


def _seen(kind: str, raw: str, shown: str) -> Case:
    return answered(
        f"{kind} in a string of the pretty view",
        "gather x.npy [0] -f pretty",
        f'{PRETTY}"{shown}"\n',
        files={"x.npy": saved([raw])},
    )


VALUES: Final[list[Case]] = [
    refused(
        "nasty characters in a list of strings as indices",
        ("gather", "[1]", json.dumps([NASTY])),
        "indices-dtype",
        "`indices` is string",
    ),
    refused(
        "nasty characters among numbers",
        ("gather", json.dumps([1, NASTY]), "0"),
        "dtype",
        "`$[1]` is",
    ),
    refused(
        "nasty characters in a value its type cannot hold",
        ("gather", json.dumps({"shape": [1], "datatype": "INT8", "data": [NASTY]}), "0"),
        "dtype",
        "`$.data[0]` is",
    ),
    refused(
        "nasty characters in a datatype",
        ("gather", json.dumps({"shape": [1], "datatype": NASTY, "data": [1]}), "0"),
        "json",
        "unknown datatype",
    ),
    refused(
        "nasty characters in a shape",
        ("gather", json.dumps({"shape": [NASTY], "datatype": "INT8", "data": [1]}), "0"),
        "json",
        "`$.shape` is",
    ),
    refused(
        "nasty characters in a repeated key",
        ("gather", "x.json", "0"),
        "json",
        "is repeated",
        files={"x.json": f"{{{IN_JSON}:1,{IN_JSON}:2}}"},
    ),
    refused(
        "nasty characters in the keys to choose from",
        ("gather", "x.json", "0"),
        "json",
        "the document holds",
        files={"x.json": json.dumps({NASTY: [1], "b": [2]})},
    ),
    refused(
        "nasty characters in the key of a value that is null",
        ("gather", "x.json", "0"),
        "json",
        SHOWN,
        files={"x.json": json.dumps({NASTY: None})},
    ),
    refused(
        "nasty characters in the names of a request",
        ("gather", "-", "0"),
        "json",
        "the document holds",
        stdin=json.dumps(
            {"inputs": [{"name": f"{n}{NASTY}", "shape": [0]} for n in range(2)]}
        ).encode(),
    ),
    refused(
        "nasty characters in the key asked for",
        ("gather", f"x.json#{NASTY}", "0"),
        "json",
        "expected the key",
        files={"x.json": b'{"a":1,"b":2}'},
    ),
    refused(
        "nasty characters where JSON breaks off",
        ("gather", f"[1,{NASTY}]", "0"),
        "literal",
        "line 1, column 4",
    ),
    refused(
        "nasty characters in a typed literal",
        ("gather", f"1xi64={NASTY.replace('[', '(')}", "0"),
        "literal",
        "is not a value",
    ),
    refused(
        "nasty characters in a generator",
        ("gather", f"zeros:{NASTY}", "0"),
        "literal",
        f"`zeros:{SHOWN}` has no shape",
    ),
    refused(
        "nasty characters in an option of a generator",
        ("gather", f"rand:3,{NASTY}", "0"),
        "literal",
        "not an option of rand",
    ),
    refused(
        "nasty characters in an axis",
        ("gather", "[1]", "0", "--axis", NASTY),
        "axis-type",
        "expected one integer",
    ),
    refused(
        "nasty characters in batch_dims",
        ("gather", "[1]", "0", "--batch-dims", NASTY),
        "batch-dims-range",
        "expected one integer",
    ),
    refused(
        "nasty characters in a shape text",
        ("shape", "gather", f"[{NASTY}]", "2"),
        "shape-text",
        "is not a dimension",
    ),
    refused(
        "nasty characters in a JSON shape",
        ("shape", "gather", json.dumps([NASTY]), "2"),
        "shape-text",
        SHOWN,
    ),
    refused(
        "nasty characters in the expected value",
        ("gather", json.dumps(["a"]), "0", "--expect", json.dumps(NASTY)),
        "expect",
        r"expected \"\u001b[31m".replace('\\"', '"'),
        status=1,
        out='"a"\n',
    ),
    refused(
        "nasty characters in the result that was not expected",
        ("gather", json.dumps([NASTY]), "0", "--expect", '"a"', "-f", "literal", "-q"),
        "expect",
        r'the result has "\u001b[31m',
        status=1,
        out='xstr="\\u001b[31m\\u009b7m\\u0007\\r\\n\\t\\u007f\\u202e\\u200b\\u2066\\ufeff\\u2028'
        '\\udb40\\udc41[link=x]y[/link][/]"\n',
    ),
]

FILES: Final[list[Case]] = [
    refused(
        "nasty characters in the names of members",
        "gather x.npz 0",
        "npz",
        f"`{SHOWN}`",
        files={"x.npz": archive({f"{NASTY}.npy": npy(), "b.npy": npy()})},
    ),
    refused(
        "nasty characters in the name of a member that is no tensor",
        "gather x.npz 0",
        "npz",
        f"the member `{SHOWN}.npy` is not a .npy file",
        files={"x.npz": archive({f"{NASTY}.npy": b"hello"})},
    ),
    refused(
        "nasty characters in the name of a member that is there twice",
        "gather x.npz 0",
        "npz",
        f"the member `{SHOWN}` is there twice",
        files={"x.npz": archive([(f"{NASTY}.npy", npy()), (f"{NASTY}.npy", npy())])},
    ),
    refused(
        "nasty characters in the member asked for",
        ("gather", f"x.npz#{NASTY}", "0"),
        "npz",
        f"expected the member `{SHOWN}`",
        files={"x.npz": archive({"a.npy": npy()})},
    ),
    refused(
        "nasty characters in the name of a damaged member",
        "gather x.npz 0",
        "npz",
        SHOWN,
        files={"x.npz": archive({f"{NASTY}.npy": npy()}).replace(b"\x05\0\0\0\0\0\0\0", bytes(8))},
    ),
    refused(
        "nasty characters in the name of a pickle",
        ("gather", NAME, "0"),
        "format",
        "the input is a pickle",
        files={NAME: b"\x80\x04."},
    ),
    refused(
        "nasty characters in the key of a .npy file",
        ("gather", f"x.npy#{NASTY}", "0"),
        "npy",
        f"no member `{SHOWN}`",
        files={"x.npy": npy()},
    ),
    refused(
        "nasty characters in the header of a .npy file",
        "gather x.npy 0",
        "npy",
        "header",
        files={"x.npy": npy(text=f"'{NASTY[:12]}'")},
    ),
    refused(
        "nasty characters in the type of a .npy file",
        "gather x.npy 0",
        "npy",
        "",
        files={"x.npy": npy(r"[('\x1b[31m\u202e[/]', '<i8')]")},
    ),
    refused(
        "nasty characters in a name of an output",
        ("gather", "[1]", "0", "-o", f"no/{NAME}.npy"),
        "output",
        f"`no/{SHOWN_NAME}.npy` cannot be written",
        status=73,
    ),
    refused(
        "nasty characters in a name of an output that is there",
        ("gather", "[1]", "0", "-o", f"{NAME}.npy", "--no-clobber"),
        "output",
        f"`{SHOWN_NAME}.npy` cannot be written (it exists)",
        status=73,
        files={f"{NAME}.npy": b"old"},
    ),
    refused(
        "nasty characters in a near name",
        ("gather", "nasty-name", "0"),
        "missing",
        r"did you mean `$'nasty\x1b\xe2\x80\xae-name'`?",
        status=66,
        files={"nasty\x1b\u202e-name": b"[1]"},
    ),
    refused(
        "bytes that are no text in a near name",
        ("gather", "nasty-names", "0"),
        "missing",
        r"did you mean `$'nasty\xff-names'`?",
        status=66,
        files={os.fsdecode(b"nasty\xff-names"): b"[1]"},
    ),
]

USAGE: Final[list[Case]] = [
    refused(f"nasty characters in {sentence}", argv, rule, words, status=2)
    for sentence, argv, rule, words in (
        ("a version", ("gather", "[1]", "0", "-V", NASTY), "version", SHOWN),
        ("a type", ("gather", "[1]", "0", "--data-dtype", NASTY), "dtype", f"`{SHOWN}`"),
        ("a format", ("gather", "[1]", "0", "-f", NASTY), "usage", ""),
        ("a policy", ("gather", "[1]", "0", "--negative", NASTY), "usage", ""),
        ("a precision", ("gather", "[1]", "0", "--precision", NASTY), "usage", ""),
        ("a tolerance", ("gather", "[1]", "0", "--rtol", NASTY), "usage", ""),
        ("a colour", ("gather", "[1]", "0", "--color", NASTY), "usage", ""),
        ("a limit", ("gather", "[1]", "0", "--max-bytes", NASTY), "usage", f"`{SHOWN}`"),
        ("an option", ("gather", "[1]", "0", f"--{NASTY}"), "usage", "has no option"),
        ("a third tensor", ("gather", "[1]", "0", NASTY), "usage", ""),
        ("a command", (NASTY,), "usage", ""),
        ("an operator", ("shape", NASTY, "2", "2"), "usage", ""),
        ("a suffix", ("gather", "[1]", "0", "-o", f"x.{NAME}"), "usage", ""),
    )
]  # fmt: skip

ANSWERS: Final[list[Case]] = [
    answered(
        "nasty characters in strings are escaped in JSON",
        ("gather", "x.npy", "[0]"),
        '["\\u001b[31m\\u009b7m\\u0007\\r\\n\\t\\u007f\\u202e\\u200b\\u2066\\ufeff\\u2028'
        '\\udb40\\udc41[link=x]y[/link][/]"]\n',
        files={"x.npy": saved([NASTY])},
    ),
    answered(
        "nasty characters in the name of a file that is read",
        ("gather", NAME, "[0]"),
        "[5]\n",
        files={NAME: npy()},
    ),
    answered(
        "nasty characters in the name of a member that is read",
        ("gather", f"x.npz#{NASTY}", "[0]"),
        "[5]\n",
        files={"x.npz": archive({f"{NASTY}.npy": npy(), "b.npy": npy()})},
    ),
]

CASES: Final[list[Case]] = [
    *(case for kind, (raw, shown) in KINDS.items() for case in _named(kind, raw, shown)),
    *(_seen(kind, *pair) for kind, pair in KINDS.items() if pair[0] != "\udcff"),
    *VALUES,
    *FILES,
    *USAGE,
    *ANSWERS,
]
