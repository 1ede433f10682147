from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.storage import storage_of
from gathercli.errors import GatherError
from gathercli.io.source import Inputs
from gathercli.spec.dtypes import PLAIN, DType, Kind
from tests.io.formats.test_formats import specials
from tests.tensorfiles import amply, assert_tensor_or_error, bits, encoded, often, read, tensors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Array, Ran, Run


HELD: Final = tuple(held for held in PLAIN if held.name not in ("complex128", "string"))
every_held = pytest.mark.parametrize("held", HELD, ids=str)


def bundle(header: object, data: bytes = b"", *, length: int | None = None) -> bytes:
    """Make a file by hand; `length` is what it says of its header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype: object = "I16", shape: object = (2,), start: object = 0, end: object = 4) -> Any:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


GOOD: Final = bundle({"a": entry()}, b"\1\0\2\0")


def peer_dtype(held: DType) -> Any:
    return ml_dtypes.bfloat16 if held.name == "bfloat16" else storage_of(held)


def unpacked(raw: bytes) -> dict[str, Any]:
    """Let the package read all tensors of a file."""
    found: list[tuple[str, Any]] = safetensors.deserialize(raw)  # type: ignore[no-untyped-call]
    return dict(found)


def assert_one_error(ran: Ran, rule: str = "format", status: int = 65) -> str:
    """Check that there was one clear error, and return its first line."""
    assert (ran.status, ran.out) == (status, "")
    lines = ran.err.splitlines()
    assert lines[0].startswith("error: ")
    assert lines[-1] == f"rule: {rule}"
    assert 2 <= len(lines) <= 4
    assert len(ran.err) < 3000
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    return lines[0]


# What the package writes and reads


@every_held
@amply
@given(draw=st.data())
def test_what_the_package_wrote_is_read_bit_by_bit(
    draw: st.DataObject, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    array = tensor.array.view(peer_dtype(held)) if tensor.array.size else tensor.array
    raw = safetensors.numpy.save({"x": array.astype(peer_dtype(held), copy=False)})
    back = read(raw, tmp_path)
    assert (back.dtype, back.shape) == (held, tensor.shape)
    assert bits(back) == bits(tensor)


@every_held
@amply
@given(draw=st.data())
def test_what_we_write_is_read_by_the_package_bit_by_bit(draw: st.DataObject, held: DType) -> None:
    tensor = draw.draw(tensors(held))
    ((name, found),) = unpacked(encoded(tensor, "safetensors")).items()
    assert name == "output"
    assert found["shape"] == list(tensor.shape)
    assert found["dtype"] == ("BOOL" if held.name == "bool" else held.short.upper())
    assert bytes(found["data"]) == bits(tensor)


def test_several_tensors_go_into_one_file_under_their_names(run: Run, folder: Path) -> None:
    arrays: dict[str, Array] = {
        "w/1": np.arange(3, dtype=np.int8),
        "é.b": np.eye(2),
        "": np.array(7),
    }
    (folder / "x.json").write_text(
        json.dumps(
            {
                "outputs": [
                    {
                        "name": name,
                        "shape": list(a.shape),
                        "dtype": a.dtype.name,
                        "data": a.ravel().tolist(),
                    }
                    for name, a in arrays.items()
                ]
            }
        )
    )
    assert run("convert", "x.json", "x.safetensors") == (0, "", "")
    loaded = safetensors.numpy.load_file("x.safetensors")
    assert set(loaded) == set(arrays)
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].tolist() == array.tolist()
    assert (folder / "x.safetensors").stat().st_size == len(safetensors.numpy.save(loaded))


def test_elements_start_at_a_multiple_of_eight(run: Run) -> None:
    for name in range(1, 9):
        raw = run("convert", f"zeros:{name}x1xi8", "-", "--to", "safetensors").raw
        (length,) = struct.unpack("<Q", raw[:8])
        assert length % 8 == 0
        assert len(raw) == 8 + length + name


def test_a_tensor_is_chosen_by_name_from_a_file_and_a_pipe(run: Run, folder: Path) -> None:
    raw = safetensors.numpy.save({"a": np.array([1, 2]), "b#c": np.array([True])})
    (folder / "x.safetensors").write_bytes(raw)
    assert run("gather", "x.safetensors#a", "1").out == "2\n"
    assert run("gather", "@x.safetensors#a", "1").out == "2\n"
    assert run("gather", "-#a", "1", stdin=raw).out == "2\n"
    (folder / "x.safetensors").rename(folder / "x")
    assert run("info", "x#nosuch").status == 65


def test_a_missing_name_is_answered_with_the_names_there_are(run: Run, folder: Path) -> None:
    raw = safetensors.numpy.save({"emb": np.array([1, 2]), "other": np.array([True])})
    (folder / "x").write_bytes(raw)
    assert run("gather", "x#enb", "0").err == (
        "error: `data`: x: the file has `emb` and `other`: expected the tensor `enb`\n"
        "  openvino.Gather-8\n"
        "hint: name the tensor: `'x#emb'`\n"
        "rule: format\n"
    )
    assert run("convert", "x", "-", "--to", "npy").err == (
        "error: x: the file has `emb` and `other`: expected the name of one\n"
        "hint: name the tensor: `'x#emb'`\n"
        "rule: format\n"
    )


def test_metadata_is_no_tensor(run: Run, folder: Path) -> None:
    raw = safetensors.numpy.save({"a": np.array([1, 2])}, metadata={"format": "np", "a": "b"})
    (folder / "x").write_bytes(raw)
    assert run("gather", "x", "1") == (0, "2\n", "")
    assert "no tensors" not in run("info", "x").out
    ran = run("info", "x#__metadata__")
    assert "the file has `a`: expected the tensor `__metadata__`" in assert_one_error(ran)
    (folder / "x").write_bytes(bundle({"__metadata__": {"a": "b"}}))
    assert run("info", "x").out.endswith("  no tensors\n")


def test_a_tensor_that_is_named_like_the_metadata_is_refused_not_written_unreadably(
    run: Run, folder: Path
) -> None:
    np.savez("x.npz", __metadata__=np.arange(2), b=np.arange(3))
    ran = run("convert", "x.npz", "x.safetensors")
    assert (ran.status, ran.out) == (65, "")
    assert "`__metadata__`" in ran.err
    assert os.listdir(folder) == ["x.npz"]


def test_elements_of_a_large_file_are_mapped_not_held(run: Run, folder: Path) -> None:
    safetensors.numpy.save_file({"a": np.arange(1 << 16), "b": np.arange(3)}, "x")
    assert run("gather", "x#a", "65535", "--max-bytes", "1K") == (0, "65535\n", "")
    with Inputs(1000) as inputs:
        tensor = inputs.tensor("x#a", "data")
    assert not tensor.array.flags.writeable
    assert run("gather", "-#a", "0", "--max-bytes", "1K", stdin=(folder / "x").read_bytes()).err


def test_a_sparse_file_larger_than_memory_costs_nothing(run: Run, folder: Path) -> None:
    size = 1 << 40
    with open(folder / "x", "wb") as file:
        file.write(bundle({"a": entry("I8", [size], 0, size)}))
        try:
            file.truncate(file.tell() + size)
        except OSError:
            pytest.skip("the file system takes no such file")
    assert run("gather", "x", "[-1]", "--negative", "wrap").out == "[0]\n"
    ran = run("info", "--header", "x")
    assert f"int8[{size}]" in ran.out


# What is malformed


BAD: Final[dict[str, tuple[bytes, str, str]]] = {
    "a header longer than the file": (bundle({}, length=100), "format", "ends at byte 10, inside"),
    "a header of 100 MB and more": (bundle({}, length=10**8 + 1), "format", "declares 100000001"),
    "a header of 2^56 - 1 bytes": (bundle({}, length=2**56 - 1), "format", "at most 100000000"),
    "a header of no bytes": (struct.pack("<Q", 0) + b"{}", "format", "not a sound"),
    "a header that ends too early": (
        bundle({"a": entry()}, b"abcd", length=20),
        "format",
        "not a sound",
    ),
    "a header that runs into the data": (bundle({}, b"  {}", length=6), "format", "not a sound"),
    "a header that is a list": (bundle(b"{[]"), "format", "not a sound"),
    "a header that is no JSON": (bundle(b"{'a':1}"), "format", "not a sound"),
    "a header of no UTF-8": (bundle(b'{"\xff":1}'), "format", "not a sound"),
    "a header nested deeply": (bundle(b'{"a":' + b"[" * 90_000), "format", "not a sound"),
    "a header with text behind it": (bundle(b"{}x"), "format", "not a sound"),
    "no dtype": (bundle({"a": {"shape": [], "data_offsets": [0, 0]}}), "format", "not a sound"),
    "no shape": (bundle({"a": {"dtype": "I8", "data_offsets": [0, 0]}}), "format", "not a sound"),
    "no offsets": (bundle({"a": {"dtype": "I8", "shape": []}}), "format", "not a sound"),
    "one offset": (
        bundle({"a": entry() | {"data_offsets": [0]}}, b"abcd"),
        "format",
        "not a sound",
    ),
    "an entry that is a number": (bundle({"a": 1}), "format", "not a sound"),
    "an entry that is null": (bundle({"a": None}), "format", "not a sound"),
    "a shape that is a number": (bundle({"a": entry(shape=2)}, b"abcd"), "format", "not a sound"),
    "a negative shape": (bundle({"a": entry(shape=[-2])}, b"abcd"), "format", "not a sound"),
    "a shape of floats": (bundle({"a": entry(shape=[2.0])}, b"abcd"), "format", "not a sound"),
    "a shape beyond 2^64": (bundle({"a": entry(shape=[2**64])}, b"abcd"), "format", "not a sound"),
    "a shape that overflows": (
        bundle({"a": entry(shape=[2**33, 2**33])}, b"abcd"),
        "format",
        "not a sound",
    ),
    "an overflow hidden by zero": (
        bundle({"a": entry(shape=[2**62, 2**62, 0], end=0)}),
        "format",
        "not a sound",
    ),
    "a large size beside a zero": (bundle({"a": entry("I8", [2**63, 0], 0, 0)}), "limit", "2^63"),
    "a rank of 65": (bundle({"a": entry(shape=[1] * 65, end=2)}, b"ab"), "limit", "at most 64"),
    "offsets in reverse": (bundle({"a": entry(start=4, end=0)}, b"abcd"), "format", "not a sound"),
    "a negative offset": (bundle({"a": entry(start=-4, end=0)}, b"abcd"), "format", "not a sound"),
    "offsets of floats": (bundle({"a": entry(end=4.0)}, b"abcd"), "format", "not a sound"),
    "offsets of 2^64 - 1": (bundle({"a": entry(end=2**64 - 1)}, b"abcd"), "format", "not a sound"),
    "offsets beyond the file": (bundle({"a": entry()}, b"abc"), "format", "truncated"),
    "offsets of another size": (bundle({"a": entry(end=3)}, b"abc"), "format", "not a sound"),
    "bytes behind the last tensor": (bundle({"a": entry()}, b"abcde"), "format", "not a sound"),
    "bytes before the first tensor": (
        bundle({"a": entry(start=1, end=5)}, b"abcde"),
        "format",
        "not a sound",
    ),
    "a gap between two": (
        bundle({"a": entry(), "b": entry(start=5, end=9)}, b"abcdefghi"),
        "format",
        "not a sound",
    ),
    "two that overlap": (
        bundle({"a": entry(), "b": entry(start=2, end=6)}, b"abcdef"),
        "format",
        "not a sound",
    ),
    "two in one place": (bundle({"a": entry(), "b": entry()}, b"abcd"), "format", "not a sound"),
    "a name that is repeated": (
        bundle(b'{"a":%b,"a":%b}' % ((json.dumps(entry()).encode(),) * 2), b"abcd"),
        "format",
        'the key "a" is repeated',
    ),
    "a name repeated in other letters": (
        bundle(b'{"a":%b,"\\u0061":%b}' % ((json.dumps(entry()).encode(),) * 2), b"abcd"),
        "format",
        'the key "a" is repeated',
    ),
    "a field that is repeated": (
        bundle(b'{"a":{"dtype":"I8","dtype":"I16","shape":[2],"data_offsets":[0,4]}}', b"abcd"),
        "format",
        "not a sound",
    ),
    "metadata that is no map": (bundle({"__metadata__": [1]}), "format", "not a sound"),
    "metadata of numbers": (bundle({"__metadata__": {"a": 1}}), "format", "not a sound"),
    "a type of no known name": (bundle({"a": entry("I17")}, b"abcd"), "format", "not a sound"),
    "a type that is a number": (bundle({"a": entry(16)}, b"abcd"), "format", "not a sound"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_file_is_one_error_from_a_file_and_a_pipe(
    case: str, run: Run, folder: Path
) -> None:
    raw, rule, words = BAD[case]
    (folder / "x").write_bytes(raw)
    for command in (("convert", "x", "-"), ("info", "x"), ("info", "--header", "x")):
        ran = run(*command)
        line = assert_one_error(ran, rule)
        assert line.startswith("error: x: ")
        assert words in line
    line = assert_one_error(run("convert", "-", "-", stdin=raw), rule)
    assert line.startswith("error: standard input: ")
    assert os.listdir(folder) == ["x"]


@pytest.mark.parametrize("name", ["F6_E2M3", "F6_E3M2"])
def test_a_type_that_nothing_here_has_is_refused_by_its_name(
    name: str, run: Run, folder: Path
) -> None:
    good = {"a": entry(name, [8], 0, 6), "b": entry("U8", [1], 6, 7)}
    (folder / "x").write_bytes(bundle(good, b"abcdefe"))
    expected = (
        "expected BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, F8_E4M3, "
        "F8_E4M3FNUZ, F8_E5M2, F8_E5M2FNUZ, F8_E8M0 or F4\n"
    )
    assert run("convert", "x#a", "-").err == (
        f"error: x: the tensor `a` is of type {name}: {expected}rule: dtype\n"
    )
    assert run("gather", "x#b", "0") == (0, "101\n", "")
    assert run("info", "x").out == (
        f"x   safetensors   {(folder / 'x').stat().st_size} bytes\n"
        f"  a   the tensor `a` is of type {name}: {expected}"
        "  b   uint8[1]   1 byte\n"
    )


def test_every_file_that_is_cut_short_is_refused(run: Run, folder: Path) -> None:
    for length in range(len(GOOD)):
        (folder / "x").write_bytes(GOOD[:length])
        ran = run("convert", "x", "-")
        assert_one_error(ran, ran.err.rpartition("rule: ")[2].strip())


@often
@given(st.data())
def test_a_sound_file_with_some_bytes_changed_is_a_tensor_or_one_error(draw: st.DataObject) -> None:
    two = bundle({"a": entry(), "b": entry("BOOL", [1, 2], 4, 6), "__metadata__": {}}, b"abcdef")
    raw = bytearray(draw.draw(st.sampled_from((GOOD, two))))
    changes = st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=4)
    for at, byte in draw.draw(changes):
        raw[at] = byte
    assert_tensor_or_error(bytes(raw[: draw.draw(st.integers(0, len(raw)))]))


JSON_VALUE: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2**65) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)


@often
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "__metadata__", ""]),
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["I8", "F4", "F64", "C64", "U17"]) | JSON_VALUE,
                "shape": st.lists(st.integers(0, 3) | JSON_VALUE, max_size=3) | JSON_VALUE,
                "data_offsets": st.lists(st.integers(0, 9), min_size=2, max_size=2) | JSON_VALUE,
            }
        )
        | JSON_VALUE,
        max_size=2,
    ),
    st.binary(max_size=9),
)
def test_any_header_is_a_tensor_or_one_error(header: dict[str, Any], data: bytes) -> None:
    assert_tensor_or_error(bundle(header, data))


def test_a_file_that_shrinks_after_it_was_opened_is_one_error(folder: Path) -> None:
    (folder / "x").write_bytes(GOOD)
    with Inputs(None) as inputs:
        source = inputs.open("x")
        os.truncate("x", len(GOOD) - 1)
        source.tensor()  # of the bytes that were read when it was opened

        with pytest.raises(GatherError, match="changed while it was read"):
            inputs.recheck()


# Names


NAMES: Final = ("\x1b[31mred", "a\nb", "\u202e", "\x9b1m", "[/bold]", "../../up", "x" * 5000)


def test_no_name_goes_raw_to_the_terminal(run: Run, folder: Path) -> None:
    raw = safetensors.numpy.save({name: np.zeros(1) for name in NAMES})
    (folder / "x").write_bytes(raw)
    for words in (
        ("info", "x"),
        ("info", "x", "-f", "json"),
        ("info", "x#\x1b[31mred"),
        ("info", "x#nosuch"),
        ("gather", "x", "0"),
        ("gather", "x#\x1b[31m", "0", "--json-errors"),
        ("convert", "x", "-"),
        ("convert", "x", "-d", "out", "--to", "npy", "--json-errors"),
    ):
        for terminal in ((), (1, 2)):
            ran = run(*words, "--color", "never", terminal=terminal)
            shown = ran.out + ran.err
            assert not any(sign in shown for sign in "\x1b\x9b\u202e\r")
            assert "a\nb" not in shown
    assert not (folder.parent / "up.npy").exists()


@pytest.mark.parametrize("name", ["\ud800", "a\udcff"])
@pytest.mark.parametrize("target", ["y.safetensors", "y.npz"])
def test_a_name_that_is_no_text_is_refused_as_a_name(
    target: str, name: str, run: Run, folder: Path
) -> None:
    (folder / "x.json").write_text(json.dumps({name: [1], "b": [2]}))
    ran = run("convert", "x.json", target)
    assert ran.status == 65
    assert "bug" not in ran.err
    assert os.listdir(folder) == ["x.json"]


def test_a_whole_file_of_edges_is_what_the_package_makes_of_it(folder: Path, run: Run) -> None:
    arrays = {
        held.name: specials(held).array.view(peer_dtype(held))
        for held in HELD
        if held.kind is not Kind.COMPLEX
    }
    safetensors.numpy.save_file(arrays, "x.safetensors")
    assert run("convert", "x.safetensors", "y.safetensors") == (0, "", "")
    found = unpacked((folder / "y.safetensors").read_bytes())
    assert {name: bytes(each["data"]) for name, each in found.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


ONE: Final = b'{"a":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}}'


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (bundle(ONE, b"\1\2\3"), ""),
        (bundle(ONE, b"\1\2"), "expected"),
        (bundle(ONE, b"\1\2\3\4"), "expected"),
        (
            bundle(ONE, length=len(ONE) + 1),
            "the file is truncated: it ends at byte 61, inside its header: expected",
        ),
        (bundle(ONE, length=100_000_000), "expected 100000008 bytes of header"),
        (bundle(ONE, length=100_000_001), "declares 100000001 bytes: expected at most 100000000"),
        (
            bundle(
                b'{"a":{"dtype":"I8","shape":[' + b"1," * 64 + b'1],"data_offsets":[0,1]}}', b"\1"
            ),
            "expected rank at most 64",
        ),
        (
            bundle(b'{"a":{"dtype":"I16","shape":[0,%d],"data_offsets":[0,0]}}' % 2**62),
            "less than 2^63 bytes",
        ),
    ],
)
def test_a_safetensors_file_is_as_long_as_its_header_says(
    raw: bytes, message: str, run: Run, folder: Path
) -> None:
    (folder / "x.safetensors").write_bytes(raw)

    ran = run("gather", "x.safetensors", "0", "-q")

    assert ran.status == (65 if message else 0)
    assert message in ran.err
