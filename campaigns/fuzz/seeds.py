"""What the fuzzer starts from: small files and texts of every sort, and words to put into them."""

from __future__ import annotations

import io
import json as standard_json
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numcodecs
import numpy as np
import zarr
import zarr.codecs
import zarr.storage

from tests.hostile import irs, models
from tests.hostile.case import contents
from tests.modelfiles import TOUR, tour_ir, tour_onnx

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"

NUMBERS: Final = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8")
DTYPES: Final = (*NUMBERS, "c16", "U2")


def npy_bytes(
    descr: str = "'<i8'",
    shape: str = "(3,)",
    body: bytes = bytes(range(24)),
    *,
    order: str = "False",
    version: tuple[int, int] = (1, 0),
    text: str | None = None,
    length: int | None = None,
) -> bytes:
    """Write a .npy file by hand; `text` is all of its header, `length` what it says of that."""
    if text is None:
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    header = text.encode("utf-8" if version[0] > 2 else "latin-1")
    width = 2 if version == (1, 0) else 4
    header += b" " * (-(9 + width + len(header)) % 64) + b"\n"
    declared = len(header) if length is None else length
    return b"\x93NUMPY" + bytes(version) + declared.to_bytes(width, "little") + header + body


def saved(array: Any) -> bytes:
    """Write a .npy file as numpy does."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def archived(
    members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, *, comment: bytes = b""
) -> bytes:
    """Write a zip archive."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
        archive.comment = comment
    return out.getvalue()


def _arrays() -> Iterator[Any]:
    for name in DTYPES:
        held = np.dtype(name)
        values = np.arange(6).astype(held)
        yield values[:0]
        yield values.reshape(2, 3)
        yield values.reshape(3, 2).T.astype(held.newbyteorder(">"))
        yield values[1].reshape(())
    yield np.array(["é", "\U0001f600", "a\0b"])
    yield np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    yield np.zeros((1,) * 32, np.int8)
    yield np.zeros((2, 0, 3))


def npy() -> Iterator[bytes]:
    """Make .npy files."""
    yield from (path.read_bytes() for path in sorted(FIXTURES.rglob("*.npy")))
    yield from map(saved, _arrays())
    for version in ((1, 0), (2, 0), (3, 0)):
        yield npy_bytes(version=version)
    yield npy_bytes(shape="(3L,)")
    yield npy_bytes("'|V2'", body=bytes(6))
    yield npy_bytes("'<V2'", body=bytes(6))
    yield npy_bytes("'<U0'", body=b"")
    yield npy_bytes("'|b1'", body=b"\0\1\2")
    yield npy_bytes("[('a', '<i8')]")
    yield npy_bytes("('<i8', (1,))")
    yield npy_bytes("'|O'", body=b"\x80\4]\x94.")
    yield npy_bytes(shape=f"(0, {2**62})", body=b"")
    yield npy_bytes("'<U1'", "(1,)", b"\0\xd8\0\0")


def npz() -> Iterator[bytes]:
    """Make archives."""
    yield from (path.read_bytes() for path in sorted(FIXTURES.rglob("*.npz")))
    one, two = saved(np.arange(3)), saved(np.arange(6.0).reshape(2, 3))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        yield archived({"a.npy": one}, method)
        yield archived({"a.npy": one, "b.npy": two}, method, comment=b"hello")
    yield archived({})
    yield archived({"../a.npy": one, "b": two, "c.txt": b"hello"})
    yield archived({"m/data.pkl": b"\x80\2."})
    yield archived({"a.npy": bytes(1 << 16)})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, archive.open("a.npy", "w", force_zip64=True) as file:
        file.write(one)
    yield out.getvalue()


_JSON: Final = (
    "[]",
    "3",
    "[[0,0,4],[4,0,0]]",
    "[1,2.5,-0.0,1e300]",
    "[true,false]",
    '["a","é","\\ud83d\\ude00"]',
    '["NaN","Infinity","-Infinity",1]',
    "[NaN,Infinity,-Infinity]",
    "[18446744073709551615]",
    "[-9223372036854775808,9223372036854775807]",
    "[18446744073709551616]",
    "[1e400]",
    "[[1,2],[3]]",
    '{"shape":[2,1],"datatype":"UINT8","data":[1,2]}',
    '{"dtype":"bfloat16","data":[0.5,"NaN"]}',
    '{"shape":[1],"datatype":"COMPLEX64","data":[[1,-0.0]]}',
    '{"shape":[2,0,3],"datatype":"FP16","data":[]}',
    '{"inputs":[{"name":"data","shape":[1],"datatype":"BOOL","data":[true]},'
    '{"name":"indices","shape":[1],"datatype":"INT64","data":[0]}]}',
    '{"outputs":[{"name":"output","shape":[1],"datatype":"BYTES","data":["x"]}]}',
    '{"a":[1],"b":{"datatype":"INT8","data":3}}',
)


def json() -> Iterator[bytes]:
    """Make JSON documents."""
    yield (FIXTURES / "tour" / "request.json").read_bytes()
    yield from (text.encode() for text in _JSON)
    yield b"\xef\xbb\xbf[1]"
    yield b"[" * 70 + b"1" + b"]" * 70


_LITERALS: Final = (
    *("0,0,4", "0,", "-1,0", "3", "1.5,nan", "-inf,inf", "true,false", "1e400", "+1_0", "0x1", ","),
    *("2x3xi32=[[0 0 4][4 0 0]]", "2x3xf32=1 2 3 4 5 6", "3xi64=0", "xf32=1.5", "0x3xf32=[]"),
    *("2xc64=1+2j nan-infj", "2xc128=1j -0.0", "2xstr='a' \"b\\n\"", "2x2xbf16=[1,2][3,4]"),
    *("2xu64=18446744073709551615,0", "2xbool=true false", "3xi8=128", "9999999999xi8=0"),
    *("arange:2x5", "arange:2x5xf32", "arange:300xi8", "zeros:3x4xf16", "zeros:0x9999999999xi8"),
    *("rand:4x3", "rand:4x3xf32,seed=7", "rand:3xi8,high=5", "rand:3xbool,seed=1", "rand:2xbf16"),
)


def literal() -> Iterator[bytes]:
    """Make words of the tensor grammar."""
    yield from (text.encode() for text in (*_LITERALS, *_JSON))


_SHAPES: Final = (
    *("[2,?,1..5,3..,N]", "[]", "[...]", "2x5", "2x?xN", "?", "_", "-1", "max", "3..3", "0.."),
    *("..5", "[ 2 , -1 ]", '["N",2,"1..5","?",null]', '["..."]', "9223372036854775807", "5..1"),
    *("9223372036854775808", "N,M", "2,", "[[2]]", "é", "007", "1 .. 2", "\u0663"),
)


def shape() -> Iterator[bytes]:
    """Make shapes as text."""
    yield from (text.encode() for text in _SHAPES)


_JOBS: Final = (
    '{"id":"a","op":"gather","data":[1,2,3],"indices":[0],"axis":0,"expect":[1]}',
    '{"id":"b","op":"gather","data":{"dtype":"f32","data":[1]},"indices":"0,","output":"x.npy"}',
    '{"id":"c","op":"gather","data":[1],"indices":[5],"axis":[0],"expect_error":"index-range"}',
    '{"id":"d","op":"gather-elements","version":13,"data":[[1]],"indices":[[0]],"rtol":0.5,'
    '"data_dtype":"bf16","negative":"wrap","out_of_range":"zero","source":"s","title":"t"}',
    '{"id":"e","op":"shape","of":"gather","data":"[?,1..5,3]","indices":[2,"N"],"axis":"unknown",'
    '"batch_dims":1,"expect":"[?,2,3]"}',
)


def job() -> Iterator[bytes]:
    """Make files of jobs."""
    yield from (text.encode() for text in _JOBS)
    yield "\n".join(_JOBS).encode()
    yield f"[{','.join(_JOBS)}]".encode()
    for path in sorted(FIXTURES.rglob("*.json")):
        if path.parent.name != "tour":
            yield path.read_bytes()


def file() -> Iterator[bytes]:
    """Make files of every format, and of some that are refused."""
    for each in (npy, npz, json):
        yield from each()
    yield from (b"", b" \n", b"1,2\n3,4\n", b"\x89HDF\r\n\x1a\n\0\0", b"\x80\x04]\x94.", b"(lp0\n")


def _stored(version: int, codecs: Any, shape: tuple[int, ...], **options: Any) -> bytes:
    """Write an array of one chunk as zarr does: its metadata, a NUL, the chunk."""
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(options.get("dtype", "<i2"))
    store: dict[str, Any] = {}
    made = zarr.create_array(
        zarr.storage.MemoryStore(store),
        shape=shape,
        chunks=shape,
        dtype=array.dtype,
        compressors=codecs,
        zarr_format=version,  # type: ignore[arg-type]
        filters=options.get("filters"),
        shards=options.get("shards"),
    )
    made[...] = array
    document = next(text for name, text in store.items() if name in ("zarr.json", ".zarray"))
    chunk = next(raw for name, raw in store.items() if name[-1].isdigit())
    text = standard_json.dumps(standard_json.loads(document.to_bytes()), separators=(",", ":"))
    return text.encode() + b"\0" + bytes(chunk.to_bytes())


def zarr_folder() -> Iterator[bytes]:
    """Make arrays in chunks, of both versions, with every codec."""
    for dtype in ("<i2", "<f8", "|b1", "<c8"):
        yield _stored(3, None, (2, 3), dtype=dtype)
        yield _stored(2, None, (6,), dtype=dtype)
    for codec in (zarr.codecs.ZstdCodec(), zarr.codecs.GzipCodec(), zarr.codecs.BloscCodec()):
        yield _stored(3, codec, (2, 3))
        yield _stored(3, codec, (4, 4), shards=(4, 4))
    for packer in (numcodecs.Zstd(), numcodecs.Zlib(), numcodecs.LZ4(), numcodecs.Blosc()):
        yield _stored(2, packer, (6,))
        yield _stored(2, packer, (6,), filters=[numcodecs.Shuffle(2)])


def model() -> Iterator[bytes]:
    """Write ONNX models and OpenVINO IR, sound and hostile ones."""
    yield tour_onnx().SerializeToString()
    yield tour_ir().text.encode()
    for path in sorted((TOUR.parent / "models").glob("*.onnx")):
        yield path.read_bytes()
    for _, content, _ in (*models.ODD, *irs.ODD_IR):
        if len(raw := contents(content)) < 4096:
            yield raw


SEEDS: Final = {
    "npy": npy,
    "npz": npz,
    "json": json,
    "literal": literal,
    "shape": shape,
    "job": job,
    "file": file,
    "zarr": zarr_folder,
    "model": model,
}

_NPY_WORDS: Final = (
    *("\\x93NUMPY\\x01\\x00", "'descr': ", "'fortran_order': True", "'shape': ", "(3,)", "'<i8'"),
    *("'>f4'", "'|b1'", "'<U2'", "'|V2'", "'|O'", "[('a', '<i8')]", "True", "(1, 2)", "3L"),
)
_ZIP_WORDS: Final = (
    *("PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06", "PK\\x06\\x06", "PK\\x06\\x07", ".npy"),
    *("\\x08\\x00", "\\xff\\xff\\xff\\xff", "data.pkl"),
)
_JSON_WORDS: Final = (
    *("[[", "]]", "],[", '\\"', "true", "false", "null", "NaN", "-Infinity", '\\"NaN\\"', "1e400"),
    *('\\"shape\\":', '\\"datatype\\":', '\\"data\\":', '\\"inputs\\":[', '\\"name\\":', "\\\\u"),
    *('\\"INT64\\"', '\\"BYTES\\"', '\\"BF16\\"', '\\"COMPLEX64\\"', "\\\\ud800", "-0.0", "2e-45"),
)
_LITERAL_WORDS: Final = (
    *("arange:", "zeros:", "rand:", "seed=", "high=", "xf32", "xi64=", "xstr=", "xc64=", "xbf16="),
    *("0x", "3x", "nan", "inf", "+1j", "-infj", "e-5", "true", ",", "'", '\\"'),
)
_MODEL_WORDS: Final = (
    *("Gather", "GatherND", "GatherElements", "GatherTree", "Identity", "Cast", "Convert"),
    *("Reshape", "Unsqueeze", "Const", "Constant", "axis", "batch_dims", "opset1", "opset8"),
    *("<dim>", "</dim>", "<layer ", "</layer>", '=\\"-1\\"', "<edge ", "\\xff\\xff\\xff\\xff\\x01"),
)
_JOB_WORDS: Final = tuple(
    f'\\"{key}\\":'
    for key in (
        *("id", "op", "of", "version", "data", "indices", "axis", "batch_dims", "negative"),
        *("out_of_range", "data_dtype", "expect", "expect_error", "rtol", "output", "title"),
    )
)
_ZARR_WORDS: Final = (
    *(
        '\\"shape\\":[',
        '\\"chunk_shape\\":[',
        '\\"chunks\\":[',
        '\\"codecs\\":[',
        '\\"fill_value\\":',
    ),
    *(
        '\\"name\\":\\"zstd\\"',
        '\\"id\\":\\"blosc\\"',
        '\\"dtype\\":\\"|O\\"',
        '\\"order\\":\\"F\\"',
        "\\x00",
    ),
    *("\\x28\\xb5\\x2f\\xfd", "\\x1f\\x8b\\x08", "\\x78\\x9c", "\\xff\\xff\\xff\\xff", "0", "-1"),
)
WORDS: Final[dict[str, tuple[str, ...]]] = {
    "npy": _NPY_WORDS,
    "npz": (*_ZIP_WORDS, *_NPY_WORDS),
    "json": _JSON_WORDS,
    "literal": (*_LITERAL_WORDS, *_JSON_WORDS),
    "shape": ("...", "..", "?", "_", "-1", "x", "N", "[", "]", '\\"', "9223372036854775807"),
    "job": (*_JOB_WORDS, *_JSON_WORDS, '\\"gather-elements\\"', '\\"shape\\"', '\\"openvino-8\\"'),
    "file": (*_NPY_WORDS, *_ZIP_WORDS, *_JSON_WORDS),
    "zarr": (*_ZARR_WORDS, *_JSON_WORDS),
    "model": _MODEL_WORDS,
}
"""Words that a mutation is likely to miss, as a dictionary of libFuzzer spells them."""
