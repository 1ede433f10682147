"""Every format: tensors survive each pair, and each is recognised by its first bytes."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.io import save
from gathercli.io.formats import foreign, literal
from gathercli.io.formats.table import FORMATS
from gathercli.spec.dtypes import DTYPES, DType, Kind, dtype
from tests.cases import drawn
from tests.tensorfiles import amply, assert_same_values, bits, encoded, read, tensors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


every_type = pytest.mark.parametrize("held", DTYPES, ids=str)
some = drawn(12, amply)

LACKING: Final = {
    "safetensors": (
        *("complex128", "string", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
        *("float6_e2m3fn", "float6_e3m2fn", "int4", "uint4", "int2", "uint2"),
    ),
    "bin": ("string",),
    "pb": ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
}
"""What a format has no type for."""

TEXT: Final = ("json", "oip", "literal")
"""Formats that carry no payload of NaN."""

SUFFIXES: Final = (".npy", ".npz", ".json", ".safetensors", ".pb", ".bin", ".csv", "")


def carries(fmt: str, tensor: Tensor) -> bool:
    """Tell whether a format can hold a tensor."""
    if fmt == "json" and 0 in tensor.shape[:-1]:
        return False  # plain JSON does not carry such a shape
    if fmt == "json" and len(tensor.shape) == 64 and tensor.dtype.kind is Kind.COMPLEX:
        return False  # nor a 65th pair of brackets
    if fmt == "safetensors" and tensor.dtype.bits == 4 and tensor.array.size % 2:
        return False  # nor half a byte
    return tensor.dtype.name not in LACKING.get(fmt, ())


def raw_token(tensor: Tensor, name: str) -> str:
    return f"bin:{''.join(f'{size}x' for size in tensor.shape)}{tensor.dtype.short}@{name}"


def through(tensor: Tensor, fmt: str, folder: Path) -> Tensor:
    """Write a tensor in a format and read it back."""
    raw = encoded(tensor, fmt)
    if fmt == "literal":
        back = literal.parse(raw.decode().removesuffix("\n"))
        assert back is not None
        return back
    if fmt == "bin":
        from gathercli.io.source import Inputs

        path = folder / "x"
        path.unlink(missing_ok=True)
        path.write_bytes(raw)
        with Inputs(None) as inputs:
            return inputs.tensor(raw_token(tensor, str(path)), "data")
    return read(raw, folder, declared=tensor.dtype)


def assert_same(got: Tensor, expected: Tensor, *, every_bit: bool) -> None:
    if expected.dtype.kind is Kind.STRING:
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.array.tolist() == expected.array.tolist()
    elif every_bit:
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert bits(got) == bits(expected)
    else:
        assert_same_values(got, expected)


def assert_kept_by_every_pair(tensor: Tensor, folder: Path) -> None:
    """Take a tensor from each format to each other one and back."""
    for first in filter(lambda fmt: carries(fmt, tensor), save.STREAMED_FORMATS):
        once = through(tensor, first, folder)
        assert_same(once, tensor, every_bit=first not in TEXT)
        for second in filter(lambda fmt: carries(fmt, tensor), save.STREAMED_FORMATS):
            twice = through(once, second, folder)
            assert_same(twice, tensor, every_bit=first not in TEXT and second not in TEXT)


def of_bits(held: DType, patterns: list[int], width: int) -> Tensor:
    words = np.array(patterns, f"u{width}")
    return Tensor(held, words.view(storage_of(held)))


def specials(held: DType) -> Tensor:
    """Make the values at the edges of a type."""
    patterns = {
        "float16": ([0, 0x8000, 1, 0x83FF, 0x7BFF, 0x7C00, 0xFC00, 0x7E01, 0xFD23], 2),
        "bfloat16": ([0, 0x8000, 1, 0x807F, 0x7F7F, 0x7F80, 0xFF80, 0x7FC1, 0xFFA3], 2),
        "float32": ([0, 1 << 31, 1, 0x7F7FFFFF, 0xFF800000, 0x7FC00001, 0xFFA12345], 4),
        "float64": ([0, 1 << 63, 1, (0x7FF << 52) - 1, 0x7FF << 52, (0x7FF << 52) + 5], 8),
        "complex64": ([0, 1 << 31, 1, 0x7FC00001, 0xFF800000, 0x7F7FFFFF], 4),
        "complex128": ([1 << 63, 1, (0xFFF << 52) + 5, 0x7FF << 52], 8),
    }
    if held.name in patterns:
        return of_bits(held, *patterns[held.name])
    if held.kind is Kind.BOOL:
        return Tensor(held, np.array([True, False]))
    if held.kind is Kind.STRING:
        words = ["", "a\0b", 'say "hi"', "\x1b[31m", "\u202eé", "😀", "\\n", "1.5", "-0.0"]
        return Tensor(held, np.array(words))
    if held.narrow:
        return of_bits(held, list(range(2**held.bits)), 1)
    low, high = held.bounds
    return Tensor(held, np.array([low, high, low + 1, high - 1, 0, 1], storage_of(held)))


# Every format to every format


@every_type
@some
@given(draw=st.data())
def test_a_tensor_is_the_same_after_every_pair_of_formats(
    draw: st.DataObject, held: DType, tmp_path: Path
) -> None:
    assert_kept_by_every_pair(draw.draw(tensors(held)), tmp_path)


@pytest.mark.no_cover
@every_type
def test_the_edges_of_a_type_survive_every_pair_of_formats(held: DType, tmp_path: Path) -> None:
    assert_kept_by_every_pair(specials(held), tmp_path)


@pytest.mark.no_cover
@every_type
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (0, 3), (1,) * 64], ids=str)
def test_zero_and_sixty_four_dimensions_survive_every_pair_of_formats(
    shape: tuple[int, ...], held: DType, tmp_path: Path
) -> None:
    word = "x" if held.kind is Kind.STRING else 1
    storage = "<U1" if held.kind is Kind.STRING else storage_of(held)
    assert_kept_by_every_pair(Tensor(held, np.full(shape, word, storage)), tmp_path)


@every_type
def test_convert_takes_a_file_through_all_formats_and_back(
    held: DType, run: Run, folder: Path
) -> None:
    tensor = specials(held)
    if held.kind in (Kind.FLOAT, Kind.COMPLEX):  # text carries no payload of NaN
        tensor = Tensor(held, np.array([0, 2], tensor.array.dtype))
    (folder / "0.npy").write_bytes(encoded(tensor, "npy"))
    token, declared = "0.npy", ("--data-dtype", held.name)
    for at, fmt in enumerate(save.STREAMED_FORMATS, 1):
        if fmt == "literal" or not carries(fmt, tensor):
            continue
        target = f"{at}{FORMATS[fmt].suffix}"
        ran = run("convert", token, target, "--to", fmt, *declared, "-q")
        assert ran == (0, "", "")
        token = raw_token(tensor, target) if fmt == "bin" else target
    assert run("convert", token, "end.npy", *declared, "-q") == (0, "", "")
    assert (folder / "end.npy").read_bytes() == (folder / "0.npy").read_bytes()


@every_type
@pytest.mark.parametrize("fmt", save.STREAMED_FORMATS)
def test_byte_and_memory_order_of_the_source_do_not_matter(
    fmt: str, held: DType, run: Run, folder: Path
) -> None:
    array = np.arange(6).reshape(2, 3)
    array = array.astype("<U1" if held.kind is Kind.STRING else storage_of(held))
    if not carries(fmt, Tensor(held, array)) or held.opaque:
        return
    np.save(folder / "plain.npy", array)
    np.save(folder / "other.npy", np.asfortranarray(array.astype(array.dtype.newbyteorder(">"))))
    plain = run("convert", "plain.npy", "-", "--to", fmt, "-q")
    assert plain.status == 0
    assert run("convert", "other.npy", "-", "--to", fmt, "-q") == plain


@pytest.mark.parametrize(("fmt", "held"), [(fmt, name) for fmt in LACKING for name in LACKING[fmt]])
def test_a_type_that_a_format_lacks_is_refused_before_anything_is_written(
    fmt: str, held: str, run: Run, folder: Path
) -> None:
    word = '"a"' if held == "string" else "1"
    ran = run("convert", f"2x{held}={word}", "x", "--to", fmt)
    assert (ran.status, ran.out) == (65, "")
    assert ran.err.startswith("error: ")
    assert ran.err.endswith("rule: dtype\n")
    assert os.listdir(folder) == []


# A format is told by the content


def written(fmt: str) -> bytes:
    return encoded(Tensor(dtype("int64"), np.array([[1, 2], [3, 4]])), fmt)


readable = pytest.mark.parametrize("fmt", ["npy", "npz", "json", "oip", "safetensors", "pb"])


@readable
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_name_of_a_file_does_not_tell_its_format(
    suffix: str, fmt: str, run: Run, folder: Path
) -> None:
    (folder / f"x{suffix}").write_bytes(written(fmt))
    assert run("convert", f"x{suffix}", "-") == (0, "[[1,2],[3,4]]\n", "")
    found = json.loads(run("info", "--header", "-f", "json", f"x{suffix}").out)
    assert (found["format"], found["shape"]) == (fmt, [2, 2])


@readable
def test_every_format_is_read_from_a_pipe_and_from_a_fifo(fmt: str, run: Run, folder: Path) -> None:
    assert run("convert", "-", "-", stdin=written(fmt)) == (0, "[[1,2],[3,4]]\n", "")
    os.mkfifo(folder / "pipe.csv")
    writer = threading.Thread(target=(folder / "pipe.csv").write_bytes, args=(written(fmt),))
    writer.start()
    assert run("convert", "pipe.csv", "-") == (0, "[[1,2],[3,4]]\n", "")
    writer.join()


@readable
def test_a_file_larger_than_what_is_read_at_once_is_whole(fmt: str, run: Run, folder: Path) -> None:
    many = Tensor(dtype("int32"), np.arange(50_000, dtype=np.int32))
    (folder / "x").write_bytes(encoded(many, fmt))
    assert run("gather", "x", "49999", "--data-dtype", "i32") == (0, "49999\n", "")
    raw = (folder / "x").read_bytes()
    assert run("gather", "-", "[0,-1]", "--data-dtype", "i32", stdin=raw).out == "[0,49999]\n"


SHORT_PROTO: Final[dict[str, tuple[Any, str]]] = {
    "bytes 0, 0, 123": (np.array([0, 0, 123, 9], np.uint8), "[0,0,123,9]"),
    "the float 0.98046875": (np.array([0.98046875], np.float32), "[0.98046875]"),
    "an empty tensor": (np.zeros((0, 128, 1, 123), np.int8), "[]"),
}


@pytest.mark.parametrize("case", SHORT_PROTO)
def test_no_elements_make_an_onnx_tensor_look_like_another_format(
    case: str, run: Run, folder: Path
) -> None:
    array, out = SHORT_PROTO[case]
    (folder / "x.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    assert run("convert", "x.pb", "-", "-q") == (0, f"{out}\n", "")


@some
@given(st.data())
def test_a_file_of_every_format_is_told_whatever_it_holds(draw: st.DataObject) -> None:
    from gathercli.io.formats.table import SNIFF_SIZE, sniff

    held = draw.draw(st.sampled_from(DTYPES))
    tensor = draw.draw(tensors(held))
    for fmt in ("npy", "npz", "json", "oip", "safetensors", "pb"):
        if carries(fmt, tensor) and (fmt != "json" or tensor.shape):
            found = sniff(encoded(tensor, fmt)[:SNIFF_SIZE]) or "json"
            assert found == {"oip": "json"}.get(fmt, fmt)


# Packages that are not installed


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("pipx_metadata.json", "pipx inject gathercli numcodecs"),
        ("uv-receipt.toml", "uv tool install gathercli --with numcodecs"),
        ("pyvenv.cfg", "python -m pip install 'gathercli[zarr]'"),
    ],
)
def test_a_missing_package_is_added_by_what_installed_the_program(
    file: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert foreign.not_installed("numcodecs", "zarr").hint == f"`{line}`"


def test_a_missing_package_is_named_with_the_line_that_installs_it(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x").write_bytes(written("safetensors"))
    monkeypatch.setitem(sys.modules, "safetensors", None)
    advice = (
        "the format needs the package safetensors: expected it to be installed\n"
        "hint: `python -m pip install 'gathercli[safetensors]'`\n"
    )
    assert run("convert", "x", "-") == (65, "", f"error: x: {advice}rule: format\n")
    assert run("info", "x") == (65, "", f"error: x: {advice}rule: format\n")
    gathered = run("gather", "x", "0").err.replace("  openvino.Gather-8\n", "")
    assert gathered == f"error: `data`: x: {advice}rule: format\n"


def test_safetensors_are_written_without_the_package(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    assert run("convert", "[1]", "x.safetensors") == (0, "", "")
    assert (folder / "x.safetensors").stat().st_size > 8


def test_other_formats_need_no_package(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("safetensors", "onnx", "google.protobuf.message"):
        monkeypatch.setitem(sys.modules, package, None)
    for fmt in ("npy", "npz", "json", "oip", "pb"):
        (folder / "x").write_bytes(written(fmt))
        assert run("gather", "x", "0") == (0, "[1,2]\n", "")
