"""Our reader beside numpy's: where both accept, the same array; we accept less, and never more."""

from __future__ import annotations

import os
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.fuzz.seeds import archived, npy_bytes, saved
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.io.source import Inputs
from tests.cases import drawn

if TYPE_CHECKING:
    from pathlib import Path

FLAT: Final = bytes(range(48))
"""A body of which every type takes what it needs."""

NAMES: Final = (
    "?",
    "b",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
)
ITEMSIZES: Final = {name: np.dtype(name).itemsize for name in NAMES}


def sized(count: int) -> bytes:
    return (FLAT * (count // len(FLAT) + 1))[:count]


def header(text: str, body: bytes = FLAT[:24], **rest: Any) -> bytes:
    return npy_bytes(text=text, body=body, **rest)


def plain() -> dict[str, bytes]:
    """Make a small file of every type in both byte orders."""
    found = {}
    for name, size in ITEMSIZES.items():
        for mark in "|<>=" if size == 1 else "<>=":
            body = b"\0\1\1\0\0\1" if name == "?" else sized(6 * size)
            found[f"{mark}{name}"] = npy_bytes(f"'{mark}{name}'", "(2, 3)", body)
    return found


I8: Final = "'descr': '<i8', 'fortran_order': False, 'shape': (3,)"
ACCEPTED: Final[dict[str, bytes]] = plain() | {
    "no byte order": npy_bytes("'i8'"),
    "a type by its name": npy_bytes("'int64'"),
    "a type by its letter": npy_bytes("'q'"),
    "a bool by its name": npy_bytes("'bool'", body=b"\0\1\1"),
    "float": npy_bytes("'float'"),
    "strings": npy_bytes("'<U2'", "(3,)", "a\0bcd\0".encode("utf-32-le")),
    "strings, big-endian": npy_bytes("'>U2'", "(3,)", "a\0bcd\0".encode("utf-32-be")),
    "strings beyond the basic plane": npy_bytes("'<U1'", "(1,)", "\U0001f600".encode("utf-32-le")),
    "Fortran order": npy_bytes("'<i8'", "(2, 3)", FLAT, order="True"),
    "Fortran order, big-endian": npy_bytes("'>f4'", "(3, 2)", FLAT[:24], order="True"),
    "Fortran order of rank 3": npy_bytes("'|u1'", "(2, 3, 4)", FLAT[:24], order="True"),
    "Fortran order of rank 0": npy_bytes("'<i8'", "()", FLAT[:8], order="True"),
    "rank 0": npy_bytes("'<i8'", "()", FLAT[:8]),
    "rank 32": npy_bytes("'|i1'", f"({'1,' * 32})", b"\7"),
    "rank 64": npy_bytes("'|i1'", f"({'1,' * 64})", b"\7"),
    "no elements": npy_bytes(shape="(0,)", body=b""),
    "no elements in the middle": npy_bytes(shape="(2, 0, 3)", body=b""),
    "no elements of a large shape": npy_bytes("'|i1'", f"(0, {2**62})", body=b""),
    "version 2": npy_bytes(version=(2, 0)),
    "version 3": npy_bytes(version=(3, 0)),
    "Python 2": npy_bytes(shape="(3L,)"),
    "Python 2, version 2": npy_bytes(shape="(3L,)", version=(2, 0)),
    "a number with underscores": npy_bytes(shape="(1_0,)", body=sized(80)),
    "a number in base 16": npy_bytes(shape="(0x3,)"),
    "a size with a plus": npy_bytes(shape="(+3,)"),
    "no blanks": header("{" + I8.replace(" ", "") + "}"),
    "double quotes": header("{" + I8.replace("'", '"') + "}"),
    "other key order": header("{'shape': (3,), 'fortran_order': False, 'descr': '<i8'}"),
    "long padding": header("{" + I8 + "}" + " " * 5000),
    "padding before": header("  {" + I8 + "}"),
    "padding with line ends": header("{" + I8 + "}\n\n\n"),
    "line ends inside": header("{" + I8.replace(", ", ",\n") + "}"),
    "a comment": header("{" + I8 + "}  # three"),
    "brackets around": header("({" + I8 + "})"),
    "joined strings": header("{" + I8.replace("'<i8'", "'<' 'i8'") + "}"),
    "an escape in a string": header("{" + I8.replace("'<i8'", "'\\x3ci8'") + "}"),
    "no line end": b"\x93NUMPY\1\0\x3c\0" + ("{" + I8 + "}").encode().ljust(60) + FLAT[:24],
    "a header that is not aligned": b"\x93NUMPY\1\0\x41\0"
    + ("{" + I8 + "}").encode().ljust(64)
    + b"\n"
    + FLAT[:24],
    "bytes that are no bool": npy_bytes("'|b1'", body=b"\0\2\xff"),
    "a NaN with a payload": npy_bytes("'<f4'", "(1,)", b"\1\0\xa0\xff"),
}

REFUSED: Final[dict[str, bytes]] = {
    "one byte more": npy_bytes() + b"\0",
    "one byte less": npy_bytes()[:-1],
    "no bytes": npy_bytes(body=b""),
    "half a header": npy_bytes()[:50],
    "a header as long as the file": npy_bytes(body=b"", length=60_000),
    "a length of 0": npy_bytes(length=0),
    "a length of 2^32-1": npy_bytes(version=(2, 0), length=2**32 - 1),
    "a header of 10001 bytes": header("{" + I8 + "}" + " " * 10_000),
    "version 1.1": npy_bytes(version=(1, 1)),
    "version 0.1": npy_bytes(version=(0, 1)),
    "version 4.0": npy_bytes(version=(4, 0)),
    "version 255.255": npy_bytes(version=(255, 255)),
    "byte strings": npy_bytes("'|S8'"),
    "opaque bytes": npy_bytes("'|V8'"),
    "bfloat16 that is not declared": npy_bytes("'|V2'", body=FLAT[:6]),
    "dates": npy_bytes("'<M8[s]'"),
    "durations": npy_bytes("'<m8[ns]'"),
    "long floats": npy_bytes("'<f16'", body=FLAT),
    "long complex": npy_bytes("'<c32'", "(1,)", FLAT[:32]),
    "objects": npy_bytes("'|O'"),
    "a structure": npy_bytes("[('a', '<i8')]"),
    "a structure of nothing": npy_bytes("[]", body=b""),
    "a structure in short": npy_bytes("'i4,i4'"),
    "a subarray": npy_bytes("('<i8', (1,))"),
    "a subarray in short": npy_bytes("'(2,)i4'"),
    "strings of no width": npy_bytes("'<U0'", body=b""),
    "strings of unknown width": npy_bytes("'<U'", body=b""),
    "an unknown type": npy_bytes("'<i7'"),
    "an empty type": npy_bytes("''"),
    "a type that is None": npy_bytes("None"),
    "a type that is a number": npy_bytes("8"),
    "a type that is bytes": npy_bytes("b'<i8'"),
    "a surrogate": npy_bytes("'<U1'", "(1,)", b"\0\xd8\0\0"),
    "no character": npy_bytes("'<U1'", "(1,)", b"\0\0\x11\0"),
    "no character, big-endian": npy_bytes("'>U1'", "(1,)", b"\0\x11\0\0"),
    "a negative size": npy_bytes(shape="(-3,)"),
    "two negative sizes": npy_bytes(shape="(-1, -3)"),
    "a size of 2^63": npy_bytes("'|i1'", f"(0, {2**63})", body=b""),
    "a size of 2^64": npy_bytes("'|i1'", f"({2**64},)", body=b""),
    "a product of 2^64": npy_bytes("'|i1'", f"({2**32}, {2**32})", body=b""),
    "bytes of 2^64": npy_bytes("'<i8'", f"({2**61},)", body=b""),
    "a rank of 65": npy_bytes("'|i1'", f"({'1,' * 65})", b"\7"),
    "a shape that is a number": npy_bytes(shape="3"),
    "a shape that is a list": npy_bytes(shape="[3]"),
    "a shape of floats": npy_bytes(shape="(3.0,)"),
    "a shape of booleans": npy_bytes(shape="(True,)", body=FLAT[:8]),
    "a shape of text": npy_bytes(shape="('3',)"),
    "a shape that is None": npy_bytes(shape="None"),
    "an order that is a number": npy_bytes(order="0"),
    "an order that is text": npy_bytes(order="'C'"),
    "an order that is None": npy_bytes(order="None"),
    "a key missing": header("{'descr': '<i8', 'shape': (3,)}"),
    "a repeated key": header("{'descr': '<f8', " + I8 + "}"),
    "a repeated key that says the same": header("{" + I8 + ", 'shape': (3,)}"),
    "a repeated key, once escaped": header("{'d\\x65scr': '<i8', " + I8 + "}"),
    "a repeated key of Python 2": header("{'shape': (9L,), " + I8.replace("3,", "3L,") + "}"),
    "a key too many": header("{" + I8 + ", 'x': 1}"),
    "a key that is bytes": header("{b" + I8 + "}"),
    "keys that do not compare": header("{" + I8 + ", 1: 2}"),
    "a list": header("[" + I8.replace(":", ",") + "]"),
    "two dictionaries": header("{" + I8 + "}, {" + I8 + "}"),
    "a call": header("dict(" + I8.replace(":", "=") + ")"),
    "an operation": header("{" + I8.replace("(3,)", "(1 + 2,)") + "}"),
    "a name": header("{" + I8.replace("False", "false") + "}"),
    "an assignment": header("x = {" + I8 + "}"),
    "nothing": header(""),
    "an open bracket": header("{" + I8),
    "brackets without end": header("(" * 5000),
    "minus signs without end": header("-" * 9000 + "1"),
    "a NUL": header("{" + I8 + "}\0"),
    "no ASCII": header("{" + I8 + "} # \xe9"),
    "no ASCII, version 3": header("{" + I8 + "} # \xe9", version=(3, 0)),
    "two files in one": npy_bytes() * 2,
}


def numpys(raw: bytes) -> np.ndarray[Any, Any] | None:
    """Read as numpy does; None where it refuses, in whatever way."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.load(BytesIO(raw), allow_pickle=False)
            return found if isinstance(found, np.ndarray) else None
    except Exception:  # noqa: BLE001  (many kinds escape it)
        return None


def ours(path: Path, raw: bytes, suffix: str = "") -> Tensor | GatherError:
    """Read as we do."""
    path.unlink(missing_ok=True)  # an earlier one may still be mapped
    path.write_bytes(raw)
    try:
        with Inputs(1 << 26) as inputs:
            found = inputs.tensor(f"@{path}{suffix}", "data")
            return Tensor(found.dtype, found.array.copy())
    except GatherError as error:
        return error


def assert_the_same(found: Tensor, theirs: np.ndarray[Any, Any] | None) -> None:
    assert theirs is not None
    assert (found.array.dtype, found.shape) == (theirs.dtype, theirs.shape)
    assert found.array.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", ACCEPTED)
def test_both_read_the_same(name: str, tmp_path: Path) -> None:
    raw = ACCEPTED[name]
    theirs = numpys(raw)
    for found in (
        ours(tmp_path / "x", raw),
        ours(tmp_path / "x", archived({"a.npy": raw, "b.npy": b""}), "#a"),
    ):
        assert isinstance(found, Tensor), found
        assert_the_same(found, theirs)


@pytest.mark.parametrize("name", REFUSED)
def test_we_refuse_what_numpy_refuses_and_more(name: str, tmp_path: Path) -> None:
    raw = REFUSED[name]
    for found in (ours(tmp_path / "x", raw), ours(tmp_path / "x", archived({"a.npy": raw}))):
        assert isinstance(found, GatherError)
        assert found.rule in ("npy", "limit")
        assert found.status == 65


def test_a_file_that_is_large_is_mapped_and_the_same(tmp_path: Path) -> None:
    for order in ("False", "True"):
        for descr in ("'<i4'", "'>f8'"):
            body = sized(300 * 200 * int(descr[-2]))
            raw = npy_bytes(descr, "(300, 200)", body, order=order)
            found = ours(tmp_path / "x", raw)
            assert isinstance(found, Tensor)
            assert_the_same(found, numpys(raw))


def test_the_table_holds_what_numpy_takes_and_what_it_does_not() -> None:
    refused_by_both = [name for name, raw in REFUSED.items() if numpys(raw) is None]
    refused_by_us = [name for name in REFUSED if name not in refused_by_both]

    assert len(ACCEPTED) + len(REFUSED) > 100
    assert len(refused_by_both) > 30
    assert len(refused_by_us) > 10


SPELLINGS: Final = st.sampled_from(
    [*(f"'{mark}{name}'" for name in ITEMSIZES for mark in "<>|="), "'<U1'", "'|V2'", "'<U3'"]
)
SHAPES: Final = st.lists(st.integers(-1, 4) | st.just(2**31), max_size=4)
BLANKS: Final = st.text(st.sampled_from(" \n\t"), max_size=4)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Make files that are mostly sound."""
    descr, sizes = draw(SPELLINGS), draw(SHAPES)
    fields = {
        "'descr'": descr,
        "'fortran_order'": draw(st.sampled_from(["True", "False", "False", "0"])),
        "'shape'": f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})",
    }
    pairs = [
        f"{key}:{draw(BLANKS)}{value}" for key, value in draw(st.permutations([*fields.items()]))
    ]
    text = draw(BLANKS) + "{" + ", ".join(pairs) + draw(st.sampled_from(["", ",", ", "])) + "}"
    try:
        count = np.dtype(descr.strip("'")).itemsize
    except TypeError:
        count = 1
    for size in sizes:
        count *= size
    length = min(max(count, 0), 4096) + draw(st.sampled_from([0] * 8 + [-1, 1, 8]))
    body = draw(st.binary(min_size=8, max_size=8)) * (max(length, 0) // 8 + 1)
    version = draw(st.sampled_from([(1, 0), (1, 0), (2, 0), (3, 0), (1, 1)]))
    return npy_bytes(text=text, body=body[: max(length, 0)], version=version)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Make files of which a byte is gone, or is another, or two."""
    raw = draw(files())
    at = draw(st.integers(6, 200))
    return raw[:at] + draw(st.binary(max_size=2)) + raw[at + 1 :]


@settings(
    drawn(200), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(raw=files() | damaged())
def test_what_we_accept_numpy_reads_the_same(raw: bytes, tmp_path: Path) -> None:
    found = ours(tmp_path / "x", raw)
    if isinstance(found, Tensor):
        assert_the_same(found, numpys(raw))
    else:
        assert found.rule in ("npy", "limit")


@pytest.mark.parametrize("compress", [True, False])
def test_archives_of_numpy_are_read_the_same(compress: bool, tmp_path: Path) -> None:
    arrays = {"a": np.arange(6).reshape(2, 3).T, "b": np.array(["x", "yz"]), "c.npy": np.ones(3)}
    save: Any = np.savez_compressed if compress else np.savez
    save(tmp_path / "x.npz", **arrays)
    raw = (tmp_path / "x.npz").read_bytes()

    with np.load(BytesIO(raw)) as theirs:
        for name in theirs.files:
            found = ours(tmp_path / "x", raw, f"#{name}")
            assert isinstance(found, Tensor), found
            assert_the_same(found, theirs[name])

    assert os.listdir(tmp_path).count("x") == 1


def test_an_array_saved_by_numpy_in_any_version_is_read_the_same(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4))
    for version in ((1, 0), (2, 0), (3, 0)):
        out = BytesIO()
        np.lib.format.write_array(out, array, version)
        found = ours(tmp_path / "x", out.getvalue())
        assert isinstance(found, Tensor)
        assert_the_same(found, numpys(saved(array)))
