"""Command lines that are wrong before anything is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.hostile.case import refused, used_wrongly
from tests.hostile.make import TWO

if TYPE_CHECKING:
    from tests.hostile.case import Case

TWICE: Final = "`-` is used twice"

WRONG: Final[list[tuple[str, tuple[str, ...], str]]] = [
    ("standard input twice", ("gather", "-", "-"), TWICE),
    ("standard input twice, once with a member", ("gather", "-", "-#a"), TWICE),
    ("standard input twice and no member", ("gather", "-#", "-#"), TWICE),
    ("standard input twice with an expectation", ("gather", "-", "0", "--expect", "-"), TWICE),
    ("standard input three times", ("gather", "-#a", "-#b", "--expect", "-"), TWICE),
    ("standard input twice for shapes", ("shape", "gather", "-", "-"), TWICE),
    ("standard input twice for elements", ("gather-elements", "-", "-", "-a", "0"), TWICE),
    ("no command", ("--json-error",), "has no option"),
    ("a command that is not there", ("gathr", "[1]", "0"), "gather"),
    ("a command in capitals", ("GATHER", "[1]", "0"), "GATHER"),
    ("a command of blanks", (" ", "[1]", "0"), "no command"),
    ("an empty command", ("", "[1]", "0"), "no command"),
    ("no tensor", ("gather",), "`DATA` is missing"),
    ("one tensor", ("gather", "[1]"), "`INDICES` is missing"),
    ("three tensors", ("gather", "[1]", "0", "0"), "`0` is one argument too many"),
    ("a thousand tensors", ("gather", *(["0"] * 1000)), "`0` is one argument too many"),
    ("no operator of shape", ("shape",), "`OP` is missing"),
    ("an operator that is not there", ("shape", "scatter", "2", "2"), "scatter"),
    ("an operator of shape by version", ("shape", "openvino.Gather-8", "2", "2"), ""),
    ("a long option", ("gather", "[1]", "0", f"--{'x' * 5000}"), "has no option"),
    ("an option of no name", ("gather", "[1]", "0", "---"), "has no option"),
    ("an option with an equals sign alone", ("gather", "[1]", "0", "--=1"), "has no option"),
    ("an axis without a value", ("gather", "[1]", "0", "--axis"), "has no value"),
    ("a flag with a value", ("gather", "[1]", "0", "--quiet=1"), "is given a value, `1`"),
    ("a policy in capitals", ("gather", "[1]", "0", "--negative", "WRAP"), "--negative"),
    ("an empty policy", ("gather", "[1]", "0", "--out-of-range", ""), "--out-of-range"),
    ("two policies", ("gather", "[1]", "0", "--out-of-range", "zero,wrap"), "--out-of-range"),
    ("a colour", ("gather", "[1]", "0", "--color", "red"), "--color"),
    ("a format with a dot", ("gather", "[1]", "0", "-f", ".npy"), "`-f` is `.npy`"),
    ("an npz as a format", ("gather", "[1]", "0", "-f", "npz"), "`-f` is `npz`"),
    ("a format shapes have not", ("shape", "gather", "2", "2", "-f", "npy"), "`-f` is `npy`"),
    ("no precision", ("gather", "[1]", "0", "--precision", "0"), "--precision"),
    ("a precision of 18", ("gather", "[1]", "0", "--precision", "18"), "--precision"),
    ("a precision of -1", ("gather", "[1]", "0", "--precision", "-1"), "--precision"),
    ("a precision of 2^64", ("gather", "[1]", "0", "--precision", str(2**64)), "--precision"),
    ("a precision of 999 digits", ("gather", "[1]", "0", "--precision", "9" * 999), "--precision"),
    ("a precision of 1e1", ("gather", "[1]", "0", "--precision", "1e1"), "--precision"),
    ("a precision of another script", ("gather", "[1]", "0", "--precision", "x\u0663"),
     "--precision"),
    ("a tolerance of -1", ("gather", "[1]", "0", "--rtol", "-1"), "--rtol"),
    ("a tolerance of nan", ("gather", "[1]", "0", "--rtol", "nan"), "--rtol"),
    ("a tolerance of inf", ("gather", "[1]", "0", "--atol", "inf"), "--atol"),
    ("a tolerance of 1e400", ("gather", "[1]", "0", "--atol", "1e400"), "--atol"),
    ("a tolerance of -nan", ("gather", "[1]", "0", "--atol", "-nan"), "--atol"),
    ("a tolerance that is empty", ("gather", "[1]", "0", "--atol", ""), "--atol"),
    *(
        (f"a limit of {text or 'nothing'}", ("gather", "[1]", "0", f"--max-bytes={text}"),
         "`--max-bytes` is")
        for text in (
            "", " ", "-1", "+1", "1.5G", "1e9", "0x10", "1 G", "1g", "1k", "1KB", "1Ti", "K",
            "nan", "inf", "\u0663", "\uff11", "1_000", "1,000", "9" * 19, "9" * 5000, "1G1",
            "G1", "--",
        )
    ),
    ("a version of the program with more", ("--version", "x"), "`--version` stands alone"),
]  # fmt: skip

VERSIONS: Final = (
    "", " ", "0", "1", "-1", "7.0", "8.", "999999999999999999999999", "9" * 5000, "openvin",
    "openvino-", "openvino-0", "openvino--8", "openvino-08x", "openvino.Gather-9",
    "openvino.GatherElements-6", "onnx13x", "onnx-0", "onnx.Gather", "tensorflow-1", "Gather-8",
    "openvino-\u0668", "../openvino-8", "openvino-8;touch sprung",
)  # fmt: skip

TYPES: Final = (
    "", " ", "object", "O", "<i8", "int", "float", "longdouble", "datetime64", "U", "str_", "V2",
    "int65", "int64 ", "INT64", "i\u0664", "x" * 5000,
)  # fmt: skip

CASES: Final[list[Case]] = [
    *(used_wrongly(f"usage of {sentence}", argv, words) for sentence, argv, words in WRONG),
    *(
        refused(
            f"version {at} {version[:30]!r}",
            ("gather", "[1]", "0", f"--version={version}"),
            "version",
            "expected",
            status=2,
        )
        for at, version in enumerate(VERSIONS)
    ),
    *(
        refused(
            f"type {at} {name[:30]!r}",
            ("gather", "[1]", "0", f"--data-dtype={name}"),
            "dtype",
            "expected one of bool int8",
            status=2,
        )
        for at, name in enumerate(TYPES)
    ),
    refused(
        "standard input twice for two members of which one is missing",
        ("gather", "-#a", "-#"),
        "usage",
        TWICE,
        status=2,
        stdin=TWO,
    ),
]
