from __future__ import annotations

import io
import json
import os
import pickle
import shlex
import socket
import struct
import threading
import warnings
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final, Literal

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gathercli.arrays.tensor import Tensor, storage_of
from gathercli.errors import GatherError, InputError
from gathercli.io import save
from gathercli.io.formats import literal
from gathercli.io.formats.jsontext import parse
from gathercli.io.source import Inputs
from gathercli.spec.dtypes import DTYPES, DType, Kind, dtype
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from tests.conftest import Ran

    Program = Callable[..., subprocess.CompletedProcess[bytes]]
    Run = Callable[..., Ran]
    Array = npt.NDArray[Any]

amply = settings(
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
every_type = pytest.mark.parametrize("held", DTYPES, ids=str)
CHARACTERS: Final = st.characters(exclude_categories=["Cs"])


class Collected:
    """What was written, in memory."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, part: bytes | memoryview) -> None:
        self.parts.append(bytes(part))

    def place(self, result: object) -> bool:
        del result
        return False


def encoded(tensor: Tensor, fmt: str) -> bytes:
    """Write a tensor as the command does."""
    out = Collected()
    save.write(fmt, [("output", tensor)], out)
    return b"".join(out.parts)


def read(raw: bytes, folder: Path, *, declared: DType | None = None, name: str = "x") -> Tensor:
    """Read a tensor from a file, as the command does."""
    path = folder / name
    path.unlink(missing_ok=True)  # an earlier one may still be mapped
    path.write_bytes(raw)
    with Inputs(None) as inputs:
        found = inputs.tensor(f"@{path}", "data", declared=declared)
        return Tensor(found.dtype, found.array.copy(), found.typed)


def bits(tensor: Tensor) -> bytes:
    return tensor.array.astype(tensor.storage).tobytes()


@st.composite
def tensors(draw: st.DrawFn, held: DType) -> Tensor:
    """Make tensors of any shape and any bits."""
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=4)))
    count = product(shape)
    if held.kind is Kind.STRING:
        words = draw(st.lists(st.text(CHARACTERS, max_size=4), min_size=count, max_size=count))
        words = [word.rstrip("\0") for word in words]
        return Tensor(held, np.array(words, np.str_).reshape(shape))
    if held.kind is Kind.BOOL:
        flags = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return Tensor(held, np.array(flags, np.bool_).reshape(shape))
    size = count * held.itemsize
    raw = draw(st.binary(min_size=size, max_size=size))
    elements = np.frombuffer(raw, storage_of(held)).reshape(shape)
    return Tensor(held, elements & (2**held.bits - 1) if held.narrow else elements)


def assert_same_values(got: Tensor, expected: Tensor) -> None:
    """Compare all but the payloads of NaN, which no text carries."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    ours, theirs = got.values().reshape(-1), expected.values().reshape(-1)
    if expected.dtype.kind is Kind.COMPLEX:
        ours, theirs = ours.view(ours.real.dtype), theirs.view(theirs.real.dtype)
    if expected.dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        nan = np.isnan(theirs)
        assert np.array_equal(np.isnan(ours), nan)
        ours, theirs = ours[~nan], theirs[~nan]
    assert ours.tobytes() == theirs.tobytes()


# Round trips


@every_type
@pytest.mark.parametrize("fmt", ["npy", "npz"])
@amply
@given(draw=st.data())
def test_binary_formats_keep_every_bit(
    draw: st.DataObject, fmt: str, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    raw = encoded(tensor, fmt)
    back = read(raw, tmp_path, declared=held)
    assert (back.dtype, back.shape) == (held, tensor.shape)
    assert bits(back) == bits(tensor)
    loaded = np.load(io.BytesIO(raw), allow_pickle=False)
    if fmt == "npz":
        with loaded:
            assert loaded.files == ["output"]
            loaded = loaded["output"]
    assert loaded.shape == tensor.shape
    assert loaded.tobytes() == tensor.array.tobytes()


@every_type
@pytest.mark.parametrize("fmt", ["oip", "literal"])
@amply
@given(draw=st.data())
def test_typed_text_keeps_type_shape_and_values(
    draw: st.DataObject, fmt: str, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    text = encoded(tensor, fmt)
    assert text.endswith(b"\n")
    if fmt == "oip":
        back: Tensor | None = read(text, tmp_path)
    else:
        token = text.decode().removesuffix("\n")
        assert "\n" not in token
        back = literal.parse(token, declared=None, empty=dtype("float64"), max_bytes=None)
    assert back is not None
    assert back.typed
    assert_same_values(back, tensor)


@every_type
@amply
@given(draw=st.data())
def test_plain_json_keeps_values_where_it_can(
    draw: st.DataObject, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    text = encoded(tensor, "json").decode()
    assert text.count("\n") == 1
    assert json.loads(text) is not None
    if 0 in tensor.shape[:-1]:
        return  # plain JSON does not carry such a shape
    back = read(text.encode(), tmp_path, declared=held)
    assert_same_values(back, tensor)


@amply
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_untyped_integers_are_int64_to_its_ends(numbers: list[int]) -> None:
    text = json.dumps([*numbers, 2**63 - 1, -(2**63)])
    found = literal.parse(text, declared=None, empty=dtype("float64"), max_bytes=None)
    assert found is not None
    assert found.dtype.name == "int64"
    assert found.array.tolist() == json.loads(text)


@amply
@given(st.lists(st.integers(2**63, 2**64 - 1), min_size=1), st.integers(0, 2**63))
def test_untyped_integers_are_uint64_where_they_must_be(numbers: list[int], small: int) -> None:
    text = json.dumps([*numbers, small])
    found = literal.parse(text, declared=None, empty=dtype("float64"), max_bytes=None)
    assert found is not None
    assert found.dtype.name == "uint64"
    assert found.array.tolist() == json.loads(text)


@amply
@given(st.text(CHARACTERS.filter(lambda c: c != "\0")))
def test_json_is_read_as_it_was_written_by_others_too(word: str) -> None:
    for text in (json.dumps([word, "x"]), json.dumps([word, "x"], ensure_ascii=False)):
        found = literal.parse(text, declared=None, empty=dtype("float64"), max_bytes=None)
        assert found is not None
        assert found.array.tolist() == [word, "x"]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1, 1), (1,) * 32, (1,) * 64])
@pytest.mark.parametrize("fmt", ["npy", "npz", "oip", "literal", "json"])
def test_every_rank_that_numpy_holds_is_written_and_read(
    shape: tuple[int, ...], fmt: str, tmp_path: Path
) -> None:
    tensor = Tensor(dtype("int64"), np.full(shape, 7))
    raw = encoded(tensor, fmt)
    if fmt == "literal":
        back = literal.parse(raw.decode().strip(), declared=None, empty=dtype("f64"), max_bytes=9)
    else:
        back = read(raw, tmp_path, declared=dtype("int64"))
    assert back is not None
    assert back.shape == shape
    assert back.array.tolist() == tensor.array.tolist()


# Digits


def float_of(pattern: int, name: str) -> Tensor:
    width = {"bfloat16": "u2", "float16": "u2", "float32": "u4", "float64": "u8"}[name]
    held = dtype(name)
    return Tensor(held, np.array([pattern], width).view(storage_of(held)))


@pytest.mark.parametrize(
    ("name", "pattern", "digits"),
    [
        ("float32", 0x3DCCCCCD, "0.1"),
        ("float32", 0x4B800000, "16777216.0"),
        ("float32", 0x00000001, "1e-45"),
        ("float32", 0x7F7FFFFF, "3.4028235e+38"),
        ("float32", 0x80000000, "-0.0"),
        ("float64", 0x3FB999999999999A, "0.1"),
        ("float64", 0x4340000000000000, "9007199254740992.0"),
        ("float64", 0x0000000000000001, "5e-324"),
        ("float64", 0x4415AF1D78B58C40, "1e+20"),
        ("float16", 0x2E66, "0.099975586"),
        ("float16", 0x7BFF, "65504.0"),
        ("float16", 0x0001, "5.9604645e-08"),
        ("bfloat16", 0x3DCD, "0.100097656"),
        ("bfloat16", 0x3F80, "1.0"),
        ("bfloat16", 0x7F7F, "3.3895314e+38"),
    ],
)
def test_floats_have_the_shortest_digits_of_their_type(
    name: str, pattern: int, digits: str
) -> None:
    tensor = float_of(pattern, name)
    assert float(json.loads(encoded(tensor, "json"))[0]) == float(digits)
    assert encoded(tensor, "json").decode().strip("[]\n").replace("e+", "e") == digits.replace(
        "e+", "e"
    )


@pytest.mark.parametrize("pattern", [0x15AE43FD, 0x15AE43FE, 0x95AE43FD])
@pytest.mark.parametrize("fmt", ["json", "oip", "literal"])
def test_a_float32_near_the_middle_of_two_is_not_rounded_twice(
    pattern: int, fmt: str, tmp_path: Path
) -> None:
    tensor = float_of(pattern, "float32")
    raw = encoded(tensor, fmt)
    if fmt == "literal":
        back = literal.parse(raw.decode().strip(), declared=None, empty=tensor.dtype, max_bytes=9)
    else:
        back = read(raw, tmp_path, declared=tensor.dtype)
    assert back is not None
    assert back.array.view(np.uint32).tolist() == [pattern]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_value_of_a_sixteen_bit_float_reads_back(name: str, tmp_path: Path) -> None:
    held = dtype(name)
    tensor = Tensor(held, np.arange(1 << 16, dtype=np.uint16).view(storage_of(held)))
    assert_same_values(read(encoded(tensor, "json"), tmp_path, declared=held), tensor)
    assert_same_values(read(encoded(tensor, "oip"), tmp_path), tensor)


def test_bfloat16_is_rounded_once_and_to_even(run: Run) -> None:
    exact = [1.0, 1.00390625, 1.01171875, 1.00390625 + 2**-40, 3.3895313892515355e38]
    ran = run("gather", json.dumps(exact), "arange:5", "--data-dtype", "bf16", "-f", "npy", "-q")
    assert np.frombuffer(ran.raw[-10:], "<u2").tolist() == [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x7F7F]


# .npy


def npy(
    descr: str = "'<i8'",
    shape: str = "(3,)",
    body: bytes = b"\1" + b"\0" * 23,
    *,
    version: tuple[int, int] = (1, 0),
    order: str = "False",
    text: str | None = None,
    length: int | None = None,
) -> bytes:
    """Make a .npy file by hand."""
    if text is None:
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    header = text.encode()
    width = 2 if version == (1, 0) else 4
    header += b" " * (-(9 + width + len(header)) % 64) + b"\n"
    declared = len(header) if length is None else length
    return b"\x93NUMPY" + bytes(version) + declared.to_bytes(width, "little") + header + body


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
    "a key too many": (
        npy(text="{'descr':'<i8','fortran_order':False,'shape':(3,),'x':1}"),
        "npy",
    ),
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


def assert_refused(ran: Ran, rule: str, status: int = 65) -> str:
    """Check that there was one clear error, and return its message."""
    assert (ran.status, ran.out) == (status, "")
    lines = ran.err.splitlines()
    assert lines[0].startswith("error: `data`: ")
    assert lines[-1] == f"rule: {rule}"
    assert 2 <= len(lines) <= 4
    assert len(ran.err) < 2000
    assert "Traceback" not in ran.err
    return lines[0]


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


# .npz


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, method)
    return raw.getvalue()


def saved(array: Array) -> bytes:
    raw = io.BytesIO()
    np.save(raw, array)
    return raw.getvalue()


def patched(raw: bytes, offset: int, value: int, width: int, *, member: int = 0) -> bytes:
    """Overwrite a field of a member's entry in the directory at the end."""
    at = -1
    for _ in range(member + 1):
        at = raw.index(b"PK\1\2", at + 1)
    at += offset
    return raw[:at] + value.to_bytes(width, "little") + raw[at + width :]


ONE: Final = archive({"a.npy": saved(np.arange(3))})
STORED: Final = archive(
    {"a.npy": saved(np.arange(3)), "b.npy": saved(np.arange(5))}, zipfile.ZIP_STORED
)


def repeated() -> bytes:
    raw = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(raw, "w") as file:
        warnings.simplefilter("ignore")
        for _ in range(2):
            file.writestr("a.npy", saved(np.arange(3)))
    return raw.getvalue()


BAD_NPZ: Final[dict[str, tuple[bytes, str]]] = {
    "nothing but the magic": (b"PK\3\4", "npz"),
    "no directory": (ONE[:-30], "npz"),
    "no members": (archive({}), "npz"),
    "several members": (STORED, "npz"),
    "no npy inside": (archive({"a.txt": b"hello"}), "npz"),
    "a repeated name": (repeated(), "npz"),
    "one name in two spellings": (archive({"a.npy": saved(np.arange(3)), "a": b""}), "npz"),
    "bzip2": (archive({"a.npy": saved(np.arange(3))}, zipfile.ZIP_BZIP2), "npz"),
    "lzma": (archive({"a.npy": saved(np.arange(3))}, zipfile.ZIP_LZMA), "npz"),
    "an unknown method": (patched(ONE, 10, 99, 2), "npz"),
    "encryption": (patched(ONE, 8, 1, 2), "npz"),
    "a size too large": (patched(ONE, 24, 10**9, 4), "npy"),
    "a size too small": (patched(ONE, 24, 10, 4), "npy"),
    "a member on another": (patched(STORED, 42, 0, 4, member=1), "npz"),
    "a member in another": (patched(STORED, 42, 20, 4, member=1), "npz"),
    "a member beyond the end": (patched(ONE, 42, 10**6, 4), "npz"),
    "damaged bytes": (ONE[:45] + bytes([ONE[45] ^ 255]) + ONE[46:], "npz"),
    "a wrong checksum": (patched(ONE, 16, 1, 4), "npz"),
    "a PyTorch file": (archive({"m/data.pkl": b"\x80\2.", "m/data/0": b"\0" * 8}), "format"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_a_malformed_archive_is_one_error_from_a_file_and_a_pipe(
    case: str, run: Run, folder: Path
) -> None:
    raw, rule = BAD_NPZ[case]
    (folder / "x.npz").write_bytes(raw)
    for ran in (run("gather", "x.npz", "0"), run("gather", "-", "0", stdin=raw)):
        assert ran.status == 65
        assert_refused(ran, "npz" if case == "a size too small" and "npz" in ran.err else rule)
    assert os.listdir(folder) == ["x.npz"]


def test_names_of_members_are_keys_and_never_paths(run: Run, folder: Path) -> None:
    names = {"../../etc/x.npy": saved(np.arange(3)), "/abs.npy": saved(np.arange(5))}
    (folder / "x.npz").write_bytes(archive(names))
    assert run("gather", "x.npz#../../etc/x", "2") == (0, "2\n", "")
    assert run("gather", "x.npz#/abs", "4") == (0, "4\n", "")
    assert os.listdir(folder) == ["x.npz"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_is_chosen_by_name_from_a_file_and_a_pipe(
    method: int, run: Run, folder: Path
) -> None:
    raw = archive({"a.npy": saved(np.arange(3)), "b.npy": saved(np.arange(5) / 2)}, method)
    (folder / "x.npz").write_bytes(raw)
    assert run("gather", "x.npz#b", "1") == (0, "0.5\n", "")
    assert run("gather", "-#b", "1", stdin=raw) == (0, "0.5\n", "")


def test_what_numpy_compresses_is_read(run: Run, folder: Path) -> None:
    np.savez_compressed(folder / "x.npz", a=np.arange(6).reshape(2, 3).T)
    assert run("gather", "x.npz", "[2]") == (0, "[[2,5]]\n", "")


def bomb(megabytes: int) -> bytes:
    """Make an archive of a kilobyte a megabyte: one member of zeros, whose header is honest."""
    head = npy("'|i1'", f"({megabytes << 20},)", b"")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    front = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed, size = front + zeros * megabytes + packer.flush(), len(head) + (megabytes << 20)
    checksum = zlib.crc32(head)
    for _ in range(megabytes):
        checksum = zlib.crc32(bytes(1 << 20), checksum)
    fields = (20, 0, 8, 0, 33, checksum, len(packed), size, 5, 0)
    local = b"PK\3\4" + struct.pack("<HHHHHIIIHH", *fields) + b"a.npy"
    entry = b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 20, *fields, 0, 0, 0, 0, 0) + b"a.npy"
    start = len(local) + len(packed)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), start, 0)
    return local + packed + entry + end


def test_an_archive_that_inflates_a_thousandfold_past_a_moderate_size_is_refused(
    run: Run, folder: Path
) -> None:
    (folder / "x.npz").write_bytes(bomb(400))
    assert (folder / "x.npz").stat().st_size < 600_000
    assert_refused(run("gather", "x.npz", "0"), "limit")
    limited = assert_refused(run("gather", "x.npz", "0", "--max-bytes", "100M"), "limit")
    assert "expected at most 100000000" in limited


def test_a_moderate_archive_of_zeros_is_read(run: Run, folder: Path) -> None:
    (folder / "x.npz").write_bytes(bomb(1))
    assert run("gather", "x.npz", "[5]") == (0, "[0]\n", "")


def test_very_many_members_are_refused_in_moderate_time_and_words(run: Run, folder: Path) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as file:
        for number in range(20_000):
            file.writestr(zipfile.ZipInfo(f"{number}.npy"), b"")
        file.writestr(zipfile.ZipInfo("19999"), b"")
    (folder / "x.npz").write_bytes(raw.getvalue())
    assert_refused(run("gather", "x.npz#0", "0"), "npz")


def test_the_message_about_a_missing_member_stays_short(run: Run, folder: Path) -> None:
    (folder / "x.npz").write_bytes(archive({f"member{n}.npy": b"" for n in range(3000)}))
    assert_refused(run("gather", "x.npz#nosuch", "0"), "npz")
    (folder / "x.json").write_text(json.dumps({f"key{n}": [n] for n in range(3000)}))
    assert_refused(run("gather", "x.json#nosuch", "0"), "json")


# JSON


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
        ('{"a":1,', f"expecting {NAME}", "line 1, column 8", "its end"),
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

    assert caught.value.message == f"{what} at {place}, where the text has {rest}: expected JSON"
    assert caught.value.where == place


def test_words_of_python_that_nobody_knows_yet_are_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(text: str, **_: Any) -> None:
        raise json.JSONDecodeError("Superfluous blank", text, 1)

    monkeypatch.setattr(json, "loads", fails)

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
        (["shape", "gather", '["N",' + "[" * 9000, "[1]"], "it is no JSON list of dimensions"),
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


# What is no tensor, and what is no file


def pickled(protocol: int) -> bytes:
    return pickle.dumps(np.arange(3), protocol=protocol)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["x.pkl", "x.npy", "x"])
def test_a_pickle_is_refused_unread_with_the_line_that_converts_it(
    protocol: int, name: str, run: Run, folder: Path
) -> None:
    (folder / name).write_bytes(pickled(protocol))
    ran = run("gather", name, "0")
    assert "pickle" in assert_refused(ran, "format")
    assert "allow_pickle=True" in ran.err


def test_a_pickle_runs_nothing(run: Run, folder: Path) -> None:
    for raw in (
        b"cos\nsystem\n(S'touch pwned'\ntR.",
        b"\x80\x02cos\nsystem\nU\x0btouch pwned\x85R.",
    ):
        (folder / "x.npy").write_bytes(raw)
        assert run("gather", "x.npy", "0").status == 65
    assert os.listdir(folder) == ["x.npy"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.h5", b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "h5py.File("),
        ("x.csv", b"1,2\n3,4\n", "numpy.loadtxt("),
        ("x.csv", b"a,b\n3,4\n", "numpy.loadtxt("),
        ("x.csv", b"1\n2\n", "numpy.loadtxt("),
        ("x.txt", b"1,2\n3,4\n", "numpy.loadtxt("),
        ("it's.csv", b"1,2\n", "numpy.loadtxt("),
        ("m.pt", archive({"m/data.pkl": b"\x80\2."}), "torch.load("),
    ],
)
def test_a_known_foreign_format_is_refused_with_the_line_that_converts_it(
    name: str, content: bytes, words: str, run: Run, folder: Path
) -> None:
    (folder / name).write_bytes(content)
    ran = run("gather", name, "0")
    assert ran.status == 65
    hint = next(line for line in ran.err.splitlines() if line.startswith("hint: "))
    assert words in hint


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the input is empty"),
        (b" \n\t", "the input is empty"),
        (bytes(range(256)), "starts with the bytes 00 01 02"),
        (b"\xff" * 100, "starts with the bytes ff ff"),
        (b"\x89PNG\r\n\x1a\n\0\0", "starts with the bytes 89 50 4e"),
        (b"\x1f\x8b\x08" + b"\0" * 20, "the input is compressed"),
    ],
)
def test_junk_is_refused_by_its_first_bytes(
    content: bytes, words: str, run: Run, folder: Path
) -> None:
    (folder / "x.npy").write_bytes(content)
    assert words in assert_refused(run("gather", "x.npy", "0"), "format")
    assert words in assert_refused(run("gather", "-", "0", stdin=content), "format")


@pytest.mark.parametrize(
    ("token", "rule", "words"),
    [
        ("nosuch.npy", "missing", "there is no file `nosuch.npy`"),
        ("nosuch/x.npy", "missing", "there is no file `nosuch/x.npy`"),
        ("file/x.npy", "missing", "there is no file `file/x.npy`"),
        ("@nosuch", "missing", "there is no file `nosuch`"),
        ("nosuch.npz#k", "missing", "there is no file `nosuch.npz`"),
        ("dangling", "missing", "there is no file `dangling`"),
        ("", "missing", "the name of the file is empty"),
        ("@", "missing", "the name of the file is empty"),
        (".", "unreadable", "`.` is a directory"),
        ("folder", "unreadable", "`folder` is a directory"),
        ("folder/", "unreadable", "`folder/` is a directory"),
        ("/dev/null", "unreadable", "`/dev/null` is a device"),
        ("/dev/zero", "unreadable", "`/dev/zero` is a device"),
        ("socket", "unreadable", "`socket` is a socket"),
        ("loop", "unreadable", "`loop` cannot be read"),
        ("x" * 300, "unreadable", "cannot be read"),
    ],
)
def test_what_is_absent_or_no_file_is_66(
    token: str, rule: str, words: str, run: Run, folder: Path
) -> None:
    (folder / "file").write_text("[1]")
    (folder / "folder").mkdir()
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert words in assert_refused(run("gather", token, "0"), rule, status=66)


def test_a_link_to_a_file_is_that_file(run: Run, folder: Path) -> None:
    np.save(folder / "x.npy", np.arange(3))
    (folder / "link").symlink_to("x.npy")
    assert run("gather", "link", "2") == (0, "2\n", "")


def test_an_unreadable_file_is_66(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "x.npy").write_bytes(ONE)
    real = os.open

    def refusing(path: str, flags: int, mode: int = 0o777, **rest: Any) -> int:
        if str(path).endswith("x.npy"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode, **rest)

    monkeypatch.setattr(os, "open", refusing)
    line = assert_refused(run("gather", "x.npy", "0"), "unreadable", status=66)
    assert "`x.npy` cannot be read (permission denied)" in line


def test_a_read_that_fails_on_the_way_is_74(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.json").write_bytes(b"[" + b"1," * (1 << 20) + b"1]")
    real, reads = os.read, []

    def failing(fd: int, count: int) -> bytes:
        if count < 1 << 20:
            return real(fd, count)
        reads.append(count)
        if len(reads) > 1:
            raise OSError(5, "Input/output error")
        return real(fd, count)

    monkeypatch.setattr(os, "read", failing)
    ran = run("gather", "x.json", "0")
    assert ran.status == 74
    assert "reading stopped after 2097155 bytes" in ran.err


@pytest.mark.parametrize("content", [b"[5,6,7]", saved(np.array([5, 6, 7]))])
def test_a_fifo_is_read_like_a_file(content: bytes, run: Run, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(content,))
    writer.start()
    assert run("gather", "pipe", "2") == (0, "7\n", "")
    writer.join()


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "@/dev/fd/0"])
def test_standard_input_may_be_named(name: str, run: Run) -> None:
    assert run("gather", name, "1", stdin=b"[5,6,7]") == (0, "6\n", "")


@pytest.mark.parametrize("name", ["[1].json", "a b.json", "é.json", "-x.json", "x#y.json", "1e5x"])
def test_a_file_may_have_any_name(name: str, run: Run, folder: Path) -> None:
    (folder / name).write_text("[7]")
    assert run("gather", f"@{name}", "0") == (0, "7\n", "")
    assert run("gather", f"./{name}", "0") == (0, "7\n", "")


def test_a_file_name_that_is_no_text_is_read_and_shown_escaped(run: Run, folder: Path) -> None:
    name = os.fsdecode(b"\xff.json")
    (folder / name).write_text("[7]")
    assert run("gather", name, "0") == (0, "7\n", "")
    (folder / name).write_text("[")
    assert "\\xff.json: " in run("gather", name, "0").err


# Nothing escapes


often = settings(amply, max_examples=300)


def outcome(token: str) -> Tensor | GatherError:
    """Read a token; whatever is no tensor must be one of our errors."""
    try:
        with Inputs(1 << 20) as inputs:
            return inputs.tensor(token, "data")
    except GatherError as error:
        return error


def assert_tensor_or_error(raw: bytes) -> None:
    reader, writer = os.pipe()
    with open(writer, "wb") as pipe:
        pipe.write(raw)
    try:
        found = outcome(f"/dev/fd/{reader}")
    finally:
        os.close(reader)
    if isinstance(found, GatherError):
        assert found.status == 65
        assert found.message.startswith("`data`: ")


@often
@given(
    st.binary(max_size=200).map(lambda tail: b"\x93NUMPY\1\0" + tail)
    | st.binary(max_size=200).map(lambda tail: b"PK\3\4" + tail)
    | st.binary(max_size=200)
)
def test_any_bytes_are_a_tensor_or_one_error(raw: bytes) -> None:
    assert_tensor_or_error(raw)


@often
@given(st.data())
def test_a_sound_file_with_some_bytes_changed_is_a_tensor_or_one_error(draw: st.DataObject) -> None:
    raw = bytearray(draw.draw(st.sampled_from((ONE, STORED, npy(), npy("'<U2'", "(3,)")))))
    changes = st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=4)
    for at, byte in draw.draw(changes):
        raw[at] = byte
    assert_tensor_or_error(bytes(raw[: draw.draw(st.integers(0, len(raw)))]))


@often
@given(
    st.text(st.sampled_from("0123456789-+.,:x[]{}\"'#@=ef iu8ranzeos\\jN"), max_size=20).filter(
        lambda word: not word.startswith("-")
    )
)
def test_any_word_is_a_tensor_or_one_error(word: str) -> None:
    found = outcome(word)
    if isinstance(found, GatherError):
        assert found.status in (65, 66)
        assert found.message.startswith("`data`: ")


def test_the_limit_counts_strings_as_wide_as_they_are_held(run: Run) -> None:
    wide = json.dumps(["x" * 10_000, *["y"] * 99])
    refused = run("gather", wide, "0", "--max-bytes", "1M")
    assert refused.status == 65
    assert refused.err.endswith("rule: limit\n")


@given(draw=st.data(), cells=st.integers(1, 20))
@often
def test_blocks_are_in_row_major_order_whatever_the_memory_is(
    draw: st.DataObject, cells: int
) -> None:
    shape = draw.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    array = np.asfortranarray(np.arange(np.prod(shape, dtype=int)).reshape(shape))
    array = array.transpose(draw.draw(st.permutations(range(len(shape)))))
    blocks = list(Tensor(dtype("int64"), array).blocks(cells))
    assert [n for block in blocks for n in block.tolist()] == array.reshape(-1).tolist()
    assert all(block.size <= cells for block in blocks)
