"""The .npy format: headers, orders, malformed files."""

from __future__ import annotations

import io
import os
import pickle
import re
import warnings
from typing import TYPE_CHECKING, Final, Literal

import ml_dtypes
import numpy as np
import pytest

from gathercli.spec.dtypes import dtype
from tests.tensorfiles import archive, assert_refused, encoded, npy, read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_npy_is_read(version: tuple[int, int], tmp_path: Path) -> None:
    assert read(npy(version=version), tmp_path).array.tolist() == [1, 0, 0]


@pytest.mark.parametrize("padding", range(0, 300, 7))
def test_a_header_of_any_length_is_read(padding: int, tmp_path: Path) -> None:
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': (3,), {' ' * padding}}}"
    for version in ((1, 0), (2, 0), (3, 0)):
        assert read(npy(text=text, version=version), tmp_path).array.tolist() == [1, 0, 0]


@pytest.mark.parametrize("name", ["int16", "uint64", "float32", "complex128", "bool", "U2"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("byte_order", ["little", "big"])
def test_memory_and_byte_orders_are_read_alike_from_a_file_and_a_pipe(
    name: str,
    order: Literal["C", "F"],
    byte_order: Literal["little", "big"],
    run: Run,
    folder: Path,
) -> None:
    values = np.arange(6).reshape(2, 3).astype(name)
    raw = io.BytesIO()
    foreign = values.astype(values.dtype.newbyteorder(byte_order))
    np.save(raw, np.asarray(foreign, order=order))
    (folder / "x.npy").write_bytes(raw.getvalue())
    from_file = run("gather", "x.npy", "[1,0]", "-f", "npy")
    from_pipe = run("gather", "-", "[1,0]", "-f", "npy", stdin=raw.getvalue())
    assert from_file == from_pipe
    got = np.load(io.BytesIO(from_file.raw))
    assert got.dtype == values.dtype
    assert got.tolist() == values[[1, 0]].tolist()


def test_indices_in_a_foreign_byte_order_are_the_same_indices(run: Run, folder: Path) -> None:
    np.save(folder / "i.npy", np.array([2, -1], ">i4"))
    assert run("gather", "[5,6,7]", "i.npy") == (0, "[7,7]\n", "")


def test_a_file_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read(npy(shape="(3L,)"), tmp_path).array.tolist() == [1, 0, 0]
    assert caught == []


def test_bytes_that_are_no_bool_count_as_true(tmp_path: Path) -> None:
    found = read(npy("'|b1'", body=b"\2\0\1"), tmp_path)
    assert found.array.tolist() == [True, False, True]
    assert encoded(found, "json") == b"[true,false,true]\n"


BAD_NPY: Final[dict[str, tuple[bytes, str]]] = {
    "nothing but the magic": (b"\x93NUMPY", "npy"),
    "half a version": (b"\x93NUMPY\1", "npy"),
    "no length": (b"\x93NUMPY\1\0", "npy"),
    "half a length": (b"\x93NUMPY\1\0\x10", "npy"),
    "half a header": (npy()[:60], "npy"),
    "one byte missing": (npy()[:-1], "npy"),
    "all bytes missing": (npy(body=b""), "npy"),
    "one byte more": (npy() + b"\0", "npy"),
    "version 4": (npy(version=(4, 0)), "npy"),
    "version 0": (npy(version=(0, 1)), "npy"),
    "a long header": (npy(length=60_000), "npy"),
    "a huge header": (npy(version=(2, 0), length=2**32 - 1), "npy"),
    "a header of blanks": (npy(text=" " * 9000), "npy"),
    "a header of brackets": (npy(text="(" * 9000), "npy"),
    "a header that calls": (npy(text="__import__('os').system('touch pwned')"), "npy"),
    "a header that breaks off": (npy(text="{'descr'"), "npy"),
    "a header with a NUL": (npy(text="{'descr':'<i8\0'}"), "npy"),
    "a header of no ASCII": (npy("'<\xe98'", version=(3, 0)), "npy"),
    "a key missing": (npy(text="{'descr':'<i8','fortran_order':False}"), "npy"),
    "a key too many": (npy(text="{'descr':'<i8','fortran_order':False,'shape':(3,),'x':1}"), "npy"),
    "an order that is a number": (npy(order="1"), "npy"),
    "a shape that is a list": (npy(shape="[3]"), "npy"),
    "a shape of floats": (npy(shape="(3.0,)"), "npy"),
    "a shape of booleans": (npy(shape="(True,)"), "npy"),
    "a negative shape": (npy(shape="(-1,)"), "npy"),
    "two negatives": (npy(shape="(-3,-1)"), "npy"),
    "a shape of 5000 digits": (npy(shape=f"({'9' * 5000},)"), "npy"),
    "a shape that overflows": (npy(shape=f"({2**63 - 1},{2**63 - 1})", body=b""), "limit"),
    "an overflow hidden by zero": (npy(shape=f"(0,{2**63 - 1},9)", body=b""), "limit"),
    "a size of 2^64": (npy("'|i1'", shape=f"({2**64},)", body=b""), "limit"),
    "a rank of 65": (npy(shape=f"({'1,' * 65})", body=b"\0" * 8), "limit"),
    "objects": (npy("'|O'"), "npy"),
    "objects that are a pickle": (npy("'|O'", body=pickle.dumps([1])), "npy"),
    "a structure": (npy("[('a','<i8')]"), "npy"),
    "a structure in short": (npy("'i4,i4'"), "npy"),
    "a subarray": (npy("('<i4',(2,))"), "npy"),
    "strings without width": (npy("'<U0'", body=b""), "npy"),
    "many strings without width": (npy("'<U0'", shape=f"({2**62},)", body=b""), "npy"),
    "two opaque bytes": (npy("'|V2'", body=b"\0" * 6), "npy"),
    "three opaque bytes": (npy("'|V3'", body=b"\0" * 9), "npy"),
    "byte strings": (npy("'|S8'"), "npy"),
    "dates": (npy("'<M8[s]'"), "npy"),
    "long floats": (npy("'<f16'", body=b"\0" * 48), "npy"),
    "a surrogate": (npy("'<U1'", "(1,)", (0xD800).to_bytes(4, "little")), "npy"),
    "no character": (npy("'<U1'", "(1,)", (0x110000).to_bytes(4, "little")), "npy"),
    "no character, big-endian": (npy("'>U1'", "(1,)", (0x110000).to_bytes(4, "big")), "npy"),
}


@pytest.mark.parametrize("case", BAD_NPY)
def test_a_malformed_npy_file_is_one_error_from_a_file_a_pipe_and_an_archive(
    case: str, run: Run, folder: Path
) -> None:
    raw, rule = BAD_NPY[case]
    (folder / "x.npy").write_bytes(raw)
    (folder / "x.npz").write_bytes(archive({"x.npy": raw}))
    assert "x.npy: " in assert_refused(run("gather", "x.npy", "0"), rule)
    assert "standard input: " in assert_refused(run("gather", "-", "0", stdin=raw), rule)
    assert "x.npz: " in assert_refused(run("gather", "x.npz", "0"), rule)
    ran = run("shape", "gather", "x.npy", "0")
    if "U1" not in raw[:128].decode(errors="replace"):  # whose fault is behind the header
        assert (ran.status, ran.err.splitlines()[-1]) == (65, f"rule: {rule}")
    assert sorted(os.listdir(folder)) == ["x.npy", "x.npz"]


def test_a_sparse_file_of_three_gigabytes_costs_nothing(run: Run, folder: Path) -> None:
    with open(folder / "x.npy", "wb") as file:
        file.write(npy(version=(2, 0), length=3 << 30, body=b""))
        file.truncate(3 << 30)
    assert_refused(run("gather", "x.npy", "0"), "npy")


def test_opaque_bytes_are_bfloat16_when_declared_so(tmp_path: Path) -> None:
    expected = np.array([1.5, -0.0, np.nan], ml_dtypes.bfloat16)
    raw = io.BytesIO()
    np.save(raw, expected)
    found = read(raw.getvalue(), tmp_path, declared=dtype("bfloat16"))
    assert found.dtype.name == "bfloat16"
    assert found.array.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("length", "accepted"), [(10_000, True), (10_001, False)])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_a_npy_header_has_at_most_ten_thousand_bytes(
    version: tuple[int, int], length: int, *, accepted: bool, run: Run
) -> None:
    text = "{'descr':'<i8','fortran_order':False,'shape':(3,)}"
    width = 2 if version == (1, 0) else 4
    head = b"\x93NUMPY" + bytes(version) + length.to_bytes(width, "little")
    raw = head + text.encode().ljust(length - 1) + b"\n" + bytes(24)

    ran = run("gather", "-", "0", stdin=raw)

    assert ran.status == (0 if accepted else 65)

    if not accepted:
        assert "the header declares 10001 bytes: expected at most 10000" in ran.err


@pytest.mark.parametrize("version", [(1, 1), (2, 1), (3, 1), (4, 0), (0, 0), (255, 255)])
def test_there_are_three_versions_of_npy(version: tuple[int, int], run: Run) -> None:
    ran = run("gather", "-", "0", stdin=npy(version=version))

    assert ran.status == 65
    assert f"the format version is {version}: expected 1.0, 2.0 or 3.0" in ran.err


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x93NUMPY\1", "the file is truncated: it ends at byte 7: expected a header"),
        (
            b"\x93NUMPY\1\0",
            "the file is truncated: it ends at byte 8, inside its header: expected 10 bytes",
        ),
        (
            b"\x93NUMPY\1\0\x10",
            "the file is truncated: it ends at byte 9, inside its header: expected 26 bytes",
        ),
        (
            b"\x93NUMPY\2\0\x10\0\0\0",
            "the file is truncated: it ends at byte 12, inside its header",
        ),
        (npy()[:-1], "the file is truncated: it has 23 bytes of elements: expected 24, for i64[3]"),
        (
            npy("'<V2'", "(13,)"),
            "the file is truncated: it has 24 bytes of elements: expected 26, for |V2[13]",
        ),
        (npy() + b"\0", "the file is longer than it says: it has 25 bytes of elements"),
        (npy("'<\xe9'", version=(3, 0)), "byte 24 is 0xc3: expected a header of ASCII"),
        (npy("'<\x7f\xe9'", version=(3, 0)), "byte 25 is 0xc3: expected a header of ASCII"),
        (npy("'|i1'", f"({2**63 - 1},)", b""), "truncated: it has 0 bytes of elements"),
        (npy("'|i1'", f"({2**63},)", b""), "expected rank at most 64 and less than 2^63 bytes"),
        (npy("'<i2'", f"({2**62},)", b""), "expected rank at most 64 and less than 2^63 bytes"),
        (npy("'<i2'", f"(0,{2**62},)", b""), "expected rank at most 64 and less than 2^63 bytes"),
        (npy(shape=f"({'1,' * 65})", body=bytes(8)), "expected rank at most 64"),
        (npy(shape="(-1,)"), "the shape is (-1,): expected sizes of 0 or more"),
    ],
)
def test_a_npy_file_is_refused_by_the_bound_it_passes(raw: bytes, message: str, run: Run) -> None:
    ran = run("gather", "-", "0", stdin=raw)

    assert ran.status == 65
    assert message in ran.err


def test_a_npy_header_that_names_a_key_twice_is_refused(run: Run) -> None:
    fields = "'descr': '<i8', 'fortran_order': False, 'shape': (3,), 'fortran_order': True"

    ran = run("gather", "-", "0", stdin=npy(text="{" + fields + "}"))

    assert ran.status == 65
    assert "the header names `fortran_order` twice: expected every key once" in ran.err


@pytest.mark.parametrize(
    ("header", "reason"),
    [("(", "(unexpected )?EOF in multi-line statement"), ("a b " * 99, ".{120}")],
)
def test_what_numpy_says_of_a_header_is_told_on_one_line_of_some_length(
    header: str, reason: str, run: Run
) -> None:
    ran = run("gather", "-", "0", stdin=npy(text=header))

    assert ran.status == 65
    assert re.search(rf"cannot read the header \({reason}\): expected a dictionary", ran.err)


def test_a_npy_file_at_its_bounds_is_read(run: Run) -> None:
    assert run("gather", "-", "0", stdin=npy(shape=f"({'1,' * 64})", body=bytes(8))).status == 0

    empty = npy("'|i1'", f"(0,{2**63 - 1})", b"")

    assert run("gather", "-", "0", "--axis", "1", stdin=empty).out == "[]\n"


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(
    ("code", "sound"),
    [
        (0, True),
        (0xD7FF, True),
        (0xD800, False),
        (0xDFFF, False),
        (0xE000, True),
        (0x10FFFF, True),
        (0x110000, False),
    ],
)
def test_code_points_that_are_no_characters_are_refused(
    code: int, order: Literal["little", "big"], *, sound: bool, run: Run
) -> None:
    points = (0x61, 0x62, 0x63, 0x64, 0x65, code, 0x66, code, 0x67)
    body = b"".join(point.to_bytes(4, order) for point in points)
    raw = npy("'<U3'" if order == "little" else "'>U3'", "(3,)", body)

    ran = run("gather", "-", "0", stdin=raw)

    assert ran.status == (0 if sound else 65)
    assert sound or f"element 1 holds the code point 0x{code:x}: expected characters" in ran.err
