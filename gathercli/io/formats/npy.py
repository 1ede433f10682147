"""Elements in the order of memory: raw, as ``bin:4x3xbf16@raw.bin``, or behind a .npy header.

`numpy.load` checks the length of a header after it reads it, lets TypeError, SyntaxError,
TokenError and MemoryError escape, and accepts types that hang later. This module checks the length
first, accepts the types of `spec.dtypes` alone, and compares the size of the file with the header.
"""

from __future__ import annotations

import sys

from gathercli.errors import Hint, InputError
from gathercli.io.formats import content
from gathercli.io.formats.table import NPY as MAGIC
from gathercli.records import NamedTuple, lru_cache, partial
from gathercli.spec.dtypes import PLAIN, STRING, DType, Kind, described, foreign, named
from gathercli.spec.shapes import product
from gathercli.text import clean, in_bytes, shell_word

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Final, TypeAlias

    import numpy as np

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Result, Tensor
    from gathercli.io.files import File
    from gathercli.io.stream import ByteTarget


MAX_HEADER: Final = 10_000  # the longest header in bytes; the limit of numpy
PREAMBLE: Final = len(MAGIC) + 2 + 4 + MAX_HEADER  # bytes of a file that contain its header
# By the size of a void type: its description, and a type that numpy saves as such.
_OPAQUE_TYPES: Final = {1: ("a byte", "float8_e4m3fn"), 2: ("two bytes", "bfloat16")}
# The bytes of the header's length, by the version of the format.
_LENGTH_BYTES: Final = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}
_BYTE_ORDERS: Final = "|<"  # the byte order of one byte, and of more
_VERSION_1: Final = MAGIC + b"\1\0"
# The types that headers of ordinary files name.
_DESCR_OF: Final = {
    dtype: f"{_BYTE_ORDERS[dtype.itemsize > 1]}{code}{dtype.itemsize}"
    for code, kind in (("b", Kind.BOOL), ("i", Kind.INT), ("u", Kind.UINT), ("f", Kind.FLOAT))
    for dtype in PLAIN
    if dtype.kind is kind and not dtype.opaque
}
# The types of ordinary headers, by their start.
_DTYPE_OF: Final = {f"{{'descr': '{descr}'".encode(): dtype for dtype, descr in _DESCR_OF.items()}
_GROWTH_DIGITS: Final = 21  # digits for which a header has room in its first size
_ALIGNMENT: Final = 64  # the elements start at a multiple of so many bytes
_ORDER_FIELD: Final = b", 'fortran_order': False, 'shape': ("
# The name of a tensor in a file of several, and the tensor.
NamedResult: TypeAlias = "tuple[str, Result]"
SHORT_RESULT_BYTES: Final = 1 << 17  # bytes of elements that are written at once
RAW_PREFIX: Final = "bin:"
_RAW_PATTERN: Final = r"(?as)bin:(x|(?:\d+x)*)([a-z]\w*)@(.+)"
_malformed: Final = partial(content.malformed, rule="npy")


class Npy(content.Content):
    """A .npy file."""

    format = rule = "npy"
    has = "a .npy file holds one tensor and"

    def layout(self, key: str | None, types: content.ElementTypes) -> content.Layout:
        """Read the header."""
        if key is not None:
            raise self.no_member(key, Hint("{source}", source=self._file.name))
        layout = read_header(self._file.start(PREAMBLE), types.of_untyped)
        check_length(layout, self._file.length(layout.end), has_more=self._file.has_more)
        check_type(layout)
        return layout

    def tensor(self, key: str | None, types: content.ElementTypes) -> Tensor:
        """View the elements; those of a large regular file are mapped."""
        return view(self.layout(key, types), self._file.buffer())


def read_header(start: bytes, declared: DType | None) -> content.Layout:
    """Parse the header in the first `PREAMBLE` bytes of a file, or in all of a shorter one.

    `declared` is the type of opaque elements; a type that is not read is foreign. Raise InputError
    (``npy``), or LimitError for more elements than can be addressed.
    """
    begin, end = _text_of(start)
    if (layout := ordinary_layout(start[:end])) is not None:
        return layout
    if not start[begin:end].isascii():
        at = next(at for at, byte in enumerate(start[begin:end], begin) if byte > 0x7F)
        raise _malformed(f"byte {at} is 0x{start[at]:02x}", "a header of ASCII")
    shape, fortran, file_dtype = _parse(start[len(_VERSION_1) : end], begin - len(_VERSION_1))
    dtype, file_dtype = _type_of(file_dtype, declared)
    return content.Layout(dtype, shape, file_dtype, end, fortran)


def _text_of(start: bytes) -> tuple[int, int]:
    """Return where the text of a header begins and ends."""
    fixed = len(_VERSION_1)
    version = start[len(MAGIC) : fixed]
    if len(start) < fixed:
        raise content.truncated(len(start), "a header", rule="npy")
    if version not in _LENGTH_BYTES:
        raise _malformed(f"the format version is {tuple(version)}", "1.0, 2.0 or 3.0")
    begin = fixed + _LENGTH_BYTES[version]
    length = int.from_bytes(start[fixed:begin], "little")
    if length > MAX_HEADER:
        raise _malformed(f"the header declares {in_bytes(length)}", f"at most {MAX_HEADER}")
    if len(start) < begin + length:
        expected = f"{in_bytes(begin + length)} of header"
        raise content.truncated(len(start), expected, inside="its header", rule="npy")
    return begin, begin + length


@lru_cache(maxsize=64)  # as many files have the same
def ordinary_layout(header: bytes) -> content.Layout | None:
    """Parse the header of numbers, row-major and little-endian, as numpy writes it.

    None for any other header, which numpy parses or refuses.
    """
    text = header[len(_VERSION_1) + 2 :]
    head, _, rest = text.partition(_ORDER_FIELD)
    sizes, end, padding = rest.partition(b"), }")
    dtype = _DTYPE_OF.get(head)
    if not header.startswith(_VERSION_1) or dtype is None or not end:
        return None
    if padding.lstrip(b" ") != b"\n":
        return None
    shape = tuple(
        int(size) for size in sizes.split(b",") if size.strip().isdigit() and len(size) < 20
    )
    if repr(shape).encode() != b"(%s)" % sizes:
        return None
    content.check_shape("the file declares", shape, dtype.itemsize)
    return content.Layout(dtype, shape, None, len(header))


@lru_cache(maxsize=64)
def _parse(text: bytes, width: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Parse the length of a header, `width` bytes, and its text, with a cache as above."""
    import io
    import warnings

    import numpy.lib.format as numpy_format

    read = numpy_format.read_array_header_1_0 if width == 2 else numpy_format.read_array_header_2_0
    # numpy writes float8_e5m2 as `<f1`, which it cannot read.
    text = text.replace(b"'<f1'", b"'<V1'")
    try:
        with warnings.catch_warnings():  # numpy warns of headers that Python 2 wrote
            warnings.simplefilter("ignore")
            shape, fortran_order, file_dtype = read(io.BytesIO(text), MAX_HEADER)
    except Exception as error:  # noqa: BLE001  (numpy's reader lets many kinds escape)
        import re

        words = str(error.args[0] if error.args else "").splitlines()
        reason = words[0] if words else type(error).__name__
        reason = re.sub(r"<(?:\w+\.)*(\w+) object at 0x\w+>", r"\1", reason)[:120]
        raise _malformed(
            f"numpy cannot read the header ({reason})", "a dictionary of descr, order and shape"
        ) from None
    _check_keys(text[width:])
    _check_declared(shape, file_dtype)
    return shape, fortran_order, file_dtype


def _check_keys(text: bytes) -> None:
    """Raise if a header repeats a key; numpy takes the last one."""
    import ast
    import re

    plain = re.sub(rb"(?<=\d)L\b", b"", text)  # as Python 2 wrote sizes
    tree = ast.parse(plain.strip(), mode="eval").body
    keys = [ast.literal_eval(key) for key in getattr(tree, "keys", ()) if key is not None]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise _malformed(f"the header names `{twice}` twice", "every key once")


def _check_declared(shape: tuple[int, ...], file_dtype: np.dtype[Any]) -> None:
    """Raise for a type that only pickle can load, or a shape that is too large."""
    if file_dtype.hasobject:
        raise _malformed(
            "the type is object, which only pickle can load, and pickle runs code",
            "a plain type",
            "Python, which made it, can save it with a plain type: array.astype(str) has one",
        )
    if any(type(size) is not int or size < 0 for size in shape):
        raise _malformed(f"the shape is {shape}", "sizes of 0 or more")
    content.check_shape("the file declares", shape, file_dtype.itemsize)


def _type_of(file_dtype: np.dtype[Any], declared: DType | None) -> tuple[DType, np.dtype[Any]]:
    """Return the type of a header, and that of the elements in the file."""
    import numpy as np

    from gathercli.compute.storage import dtype_of

    dtype, size = dtype_of(file_dtype), file_dtype.itemsize
    if _is_opaque(file_dtype) and declared and declared.opaque and declared.itemsize == size:
        # `|V2` has no byte order: the machines that save bfloat16 are little-endian.
        return declared, np.dtype(f"<u{size}")
    if dtype is None or size == 0 or file_dtype.subdtype:
        return foreign(file_dtype), file_dtype
    return dtype, file_dtype


def _is_opaque(file_dtype: np.dtype[Any]) -> bool:
    """Tell whether elements may be of a type that numpy lacks."""
    sized = file_dtype.itemsize in _OPAQUE_TYPES and file_dtype.names is None
    return file_dtype.kind == "V" and sized


def check_type(layout: content.Layout) -> None:
    """Raise for a type that is not read."""
    file_dtype = layout.file_dtype
    if layout.dtype.kind is not Kind.OTHER or file_dtype is None:
        return
    if _is_opaque(file_dtype):
        size, (bytes_, name) = file_dtype.itemsize, _OPAQUE_TYPES[file_dtype.itemsize]
        raise _malformed(
            f"the type is |V{size}, {bytes_} of unknown meaning",
            "a declared type",
            Hint(f"{name} is saved like this: {{data_dtype}} reads it", data_dtype=name),
        )
    expected = "bool, an integer, a float, a complex or <U strings"
    raise _malformed(f"the type is {file_dtype!s}", expected)


def check_length(layout: content.Layout, length: int, *, has_more: bool = False) -> None:
    """Raise if a file has not the bytes that its header declares; a stream may have unread ones."""
    size = length - layout.offset
    if size == layout.nbytes:
        return
    word = "truncated" if size < layout.nbytes else "longer than it says"
    raise _malformed(
        f"the file is {word}: it has {in_bytes(size)} of elements{' or more' * has_more}",
        f"{layout.nbytes}, for {described(layout.dtype, ','.join(map(str, layout.shape)))}",
    )


def view(layout: content.Layout, buffer: Any) -> Tensor:
    """View the elements in the bytes of a file; check strings."""
    tensor = layout.view(buffer, rule="npy")
    if layout.dtype is STRING:
        check_strings(tensor.array)
    return tensor


def check_strings(array: AnyArray, *, rule: str = "npy") -> None:
    """Raise for invalid code points, on which numpy fails when it reads the element."""
    import numpy as np

    width = array.dtype.itemsize // 4
    points = (
        np.ascontiguousarray(array)
        .reshape(-1)
        .view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    )
    wrong = (points > 0x10FFFF) | ((points >= 0xD800) & (points <= 0xDFFF))
    if wrong.any():
        at = int(wrong.argmax())
        what = f"element {at // width} holds the code point 0x{int(points[at]):x}"
        raise InputError(what, rule=rule, expected="characters")


@lru_cache(maxsize=64)
def encode_header(descr: str, shape: tuple[int, ...]) -> bytes:
    """Encode the header of row-major elements, byte for byte as numpy does.

    >>> encode_header("<i8", (2, 3))[10:70]
    b"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), } "
    """
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    if shape:  # room for the first size to grow
        text += " " * (_GROWTH_DIGITS - len(repr(shape[0])))
    size = len(_VERSION_1) + 2 + len(text) + 1
    text += " " * (_ALIGNMENT - size % _ALIGNMENT) + "\n"
    return _VERSION_1 + len(text).to_bytes(2, "little") + text.encode()  # 64 sizes fit 64 KiB


def npy_file(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write the header and the elements of one tensor; a type that numpy lacks is `V2` or `V1`."""
    ((_, result),) = results
    dtype = result.dtype
    descr = f"<V{dtype.itemsize}" if dtype.opaque else _DESCR_OF.get(dtype)
    descr = descr or result.storage.newbyteorder("<").str
    _write_elements(result, out, encode_header(descr, result.shape))


def losses(result: Result, path: str | None, option: str) -> Iterator[str]:
    """Yield a note on a type that numpy lacks."""
    del path, option
    if result.dtype.opaque:
        name, size = result.dtype, _OPAQUE_TYPES[result.dtype.itemsize][0]
        yield (
            f"{name} is written as <V{name.itemsize}, which numpy reads as {size} an element; "
            f"`--data-dtype {name}` reads it here"
        )


class RawDescription(NamedTuple):
    """The shape, the type and the file of a token."""

    shape: tuple[int, ...]
    dtype: DType
    path: str


def parse_raw(token: str) -> RawDescription:
    """Parse ``bin:SHAPExTYPE@FILE``; raise InputError, or LimitError for a large shape."""
    import re

    match = re.fullmatch(_RAW_PATTERN, token)
    if match is None:
        what = f"`{clean(token[:80])}` does not say what the bytes are"
        expected = "shape, type and file, as in `bin:4x3xbf16@raw.bin`"
        raise InputError(what, rule="literal", value=token[:80], expected=expected)
    dims, name, path = match.groups()
    dtype = named(name)
    if dtype is None or dtype is STRING:
        what = f"`{name[:40]}` in `{clean(token[:80])}` is not a type of raw bytes"
        raise InputError(what, rule="literal", value=name, expected="one such as f32, i64 or bf16")
    shape = tuple(int(size[:30]) for size in dims.split("x") if size)
    content.check_shape(f"`{clean(token[:80])}` declares", shape, dtype.itemsize)
    return RawDescription(shape, dtype, path)


class Raw(content.Content):
    """A file of elements."""

    format = "bin"
    has = "raw bytes hold one tensor and"

    def __init__(self, file: File, description: RawDescription) -> None:
        super().__init__(file)
        self._description = description

    def layout(self, key: str | None, types: content.ElementTypes) -> content.Layout:
        """Check the size of the file against the token."""
        del types  # the token has the type
        shape, dtype, _ = self._description
        if key is not None:
            raise self.no_member(key)
        layout = content.Layout(dtype, shape)
        size = self._file.length(layout.nbytes)
        if size != layout.nbytes:
            more = " or more" if self._file.has_more else ""
            what = f"the file has {in_bytes(size)}{more}"
            expected = f"{layout.nbytes}, for {described(dtype, ','.join(map(str, shape)))}"
            hint = None if more else self._advice(size)
            raise InputError(what, value=size, expected=expected, hint=hint)
        return layout

    def _advice(self, size: int) -> str | None:
        """Suggest a first dimension that matches the size of the file, if possible."""
        (first, *rest), dtype = self._description.shape or (1,), self._description.dtype
        row = product(rest) * dtype.itemsize
        if not row or size % row or first == size // row:
            return None
        sizes = "x".join(map(str, (size // row, *rest, dtype.short)))
        source = f"{RAW_PREFIX}{sizes}@{self._description.path}"
        return Hint("{source} has that many", source=source)

    def tensor(self, key: str | None, types: content.ElementTypes) -> Tensor:
        """View the elements; those of a large regular file are mapped."""
        layout = self.layout(key, types)
        return layout.view(self._file.buffer() if layout.nbytes else b"")


def raw_file(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write one tensor, little-endian, without a header; raise for strings, which have no size."""
    ((_, result),) = results
    if result.dtype is STRING:
        what = "strings cannot be written as raw bytes"
        expected = "numbers or booleans"
        raise InputError(what, rule="dtype", value=result.dtype.name, expected=expected)
    _write_elements(result, out)


def _write_elements(result: Result, out: ByteTarget, header: bytes = b"") -> None:
    """Write a header and the elements, little-endian, by threads if `out` allows that."""
    in_order = sys.byteorder == "little"
    if result.raw is not None and result.nbytes <= SHORT_RESULT_BYTES and in_order:
        out.write(header + result.raw)
        return
    if header:
        out.write(header)
    if in_order and out.place(result):
        return
    import numpy as np

    for block in result.blocks():
        if block.size and block.dtype.itemsize:
            array = np.ascontiguousarray(block, block.dtype.newbyteorder("<"))
            out.write(array.reshape(-1).view(np.uint8).data)


def raw_losses(result: Result, path: str | None, option: str) -> Iterator[str]:
    """Yield the token that reads a file, which has neither the shape nor the type."""
    del option
    sizes = "x".join((*map(str, result.shape), result.dtype.short))
    token = shell_word(f"{RAW_PREFIX}{sizes}@{path or '-'}")
    yield f"raw bytes carry neither type nor shape; `{token}` reads them"
